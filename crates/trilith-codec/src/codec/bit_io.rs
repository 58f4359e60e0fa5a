//! Bits in big-endian order: the first bit of a byte is its highest.

/// Bits, the highest of each byte first.
pub struct Bits<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Bits<'a> {
    /// Begins at the first bit.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Goes on to the next whole byte.
    pub fn align(&mut self) {
        self.at = self.at.next_multiple_of(8);
    }

    /// The next 57 bits or more, the first of them the highest; None near the end of the bytes.
    fn window(&self) -> Option<u64> {
        let run = self.bytes.get(self.at / 8..)?.first_chunk()?;
        Some(u64::from_be_bytes(*run) << (self.at % 8))
    }

    /// The next `n` bits, at most 32, as a number.
    pub fn take(&mut self, n: u32) -> Option<u32> {
        if let Some(window) = self.window() {
            self.at += n as usize;
            return Some(window.checked_shr(64 - n).unwrap_or(0) as u32);
        }
        let value = bits_at(self.bytes, self.at as u64, n)?;
        self.at += n as usize;
        Some(value as u32)
    }

    /// A number in two parts: zeros up to a one, and `n` bits, less than 32, below their number.
    pub fn split(&mut self, n: u32) -> Option<u32> {
        if let Some(window) = self.window() {
            let zeros = window.leading_zeros();
            if zeros + 1 + n <= 57 {
                self.at += (zeros + 1 + n) as usize;
                let low = (window << zeros << 1).checked_shr(64 - n).unwrap_or(0) as u32;
                return Some(zeros << n | low);
            }
        }
        Some(self.zeros()?.checked_shl(n)? | self.take(n)?)
    }

    /// Returns the number of zeros before the next one, and takes that one, too.
    pub fn zeros(&mut self) -> Option<u32> {
        let mut zeros = 0u32;
        loop {
            let skip = self.at % 8;
            let byte = *self.bytes.get(self.at / 8)? << skip;
            if byte != 0 {
                let here = byte.leading_zeros();
                self.at += here as usize + 1;
                return zeros.checked_add(here);
            }
            zeros = zeros.checked_add(8 - skip as u32)?;
            self.at += 8 - skip;
        }
    }
}

/// Bytes put together from runs of bits.
#[derive(Default)]
pub(super) struct BitWriter {
    bytes: Vec<u8>,
    /// The last bits, not yet a byte, in the low end.
    open: u32,
    /// Number of bits: 0 to 7.
    count: u32,
}

impl BitWriter {
    /// Appends the low `n` bits of `value`, at most 64.
    pub(super) fn put(&mut self, value: u64, n: u32) {
        for at in (0..n).step_by(8) {
            let take = (n - at).min(8);
            let bits = (value >> (n - at - take)) as u32 & ((1 << take) - 1);
            self.open = self.open << take | bits;
            self.count += take;
            if self.count >= 8 {
                self.count -= 8;
                self.bytes.push((self.open >> self.count) as u8);
                self.open &= (1 << self.count) - 1;
            }
        }
    }

    /// Appends the bits `from..to` of `bytes`, or those of them that there are.
    pub(super) fn copy(&mut self, bytes: &[u8], from: u64, to: u64) {
        let mut at = from;
        let head = (8 - (at & 7)) & 7;
        if head > 0 && to.saturating_sub(at) >= head {
            self.put(bits_at(bytes, at, head as u32).unwrap_or(0), head as u32);
            at += head;
        }
        if at & 7 == 0 {
            let whole = (to.saturating_sub(at) / 8) as usize;
            let start = (at / 8) as usize;
            let run = bytes.get(start..).unwrap_or(&[]);
            let run = run.get(..whole).unwrap_or(run);
            self.whole(run);
            at += 8 * run.len() as u64;
        }
        let tail = to.saturating_sub(at) as u32;
        if tail > 0 && tail < 8 {
            self.put(bits_at(bytes, at, tail).unwrap_or(0), tail);
        }
    }

    fn whole(&mut self, run: &[u8]) {
        if self.count == 0 {
            self.bytes.extend_from_slice(run);
            return;
        }
        let shift = self.count;
        let mut open = self.open;
        self.bytes.extend(run.iter().map(|byte| {
            let wide = open << 8 | u32::from(*byte);
            open = wide & ((1 << shift) - 1);
            (wide >> shift) as u8
        }));
        self.open = open;
    }

    /// The full bytes so far, taken out; the open bits stay.
    pub(super) fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }

    /// Returns all bytes, with the last one padded with zero bits.
    pub(super) fn finish(mut self) -> Vec<u8> {
        if self.count > 0 {
            self.bytes.push((self.open << (8 - self.count)) as u8);
        }
        self.bytes
    }
}

/// The `n` bits (at most 57) from bit `at` on, if `bytes` holds them all.
pub(super) fn bits_at(bytes: &[u8], at: u64, n: u32) -> Option<u64> {
    let start = usize::try_from(at / 8).ok()?;
    let skip = (at % 8) as u32;
    let span = (skip + n).div_ceil(8) as usize;
    let run = bytes.get(start..start.checked_add(span)?)?;
    let mut value = 0u64;
    for byte in run {
        value = value << 8 | u64::from(*byte);
    }
    let extra = span as u32 * 8 - skip - n;
    Some(if n == 0 { 0 } else { value >> extra & (u64::MAX >> (64 - n)) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn as_bits(bytes: &[u8]) -> Vec<bool> {
        bytes.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1 == 1)).collect()
    }

    proptest! {
        #[test]
        fn copied_runs_eq_original_bits(bytes in proptest::collection::vec(any::<u8>(), 1..40), cuts in proptest::collection::vec(any::<(u16, u16)>(), 1..6)) {
            let bits = as_bits(&bytes);
            let mut writer = BitWriter::default();
            let mut expected = Vec::new();
            for (a, b) in cuts {
                let (a, b) = (a as usize % (bits.len() + 1), b as usize % (bits.len() + 1));
                let (from, to) = (a.min(b), a.max(b));
                writer.copy(&bytes, from as u64, to as u64);
                expected.extend_from_slice(&bits[from..to]);
            }
            expected.resize(expected.len().next_multiple_of(8), false);
            prop_assert_eq!(as_bits(&writer.finish()), expected);
        }

        #[test]
        fn put_then_read(values in proptest::collection::vec((any::<u64>(), 1u32..57), 1..20)) {
            let mut writer = BitWriter::default();
            for (value, n) in &values {
                writer.put(*value, *n);
            }
            let bytes = writer.finish();
            let mut at = 0;
            for (value, n) in values {
                prop_assert_eq!(bits_at(&bytes, at, n), Some(value & (u64::MAX >> (64 - n))));
                at += u64::from(n);
            }
        }
    }
}
