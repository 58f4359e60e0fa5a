//! Bits in big-endian order: the first bit of a byte is its highest.

/// Bits, the highest of each byte first.
pub struct BitReader<'a> {
    bytes: &'a [u8],
    bit_position: usize,
}

impl<'a> BitReader<'a> {
    /// Begins at the first bit.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, bit_position: 0 }
    }

    /// Goes on to the next whole byte.
    pub fn align(&mut self) {
        self.bit_position = self.bit_position.next_multiple_of(8);
    }

    /// The next 57 bits or more, the first of them the highest; None near the end of the bytes.
    fn peek_window(&self) -> Option<u64> {
        let run = self.bytes.get(self.bit_position / 8..)?.first_chunk()?;
        Some(u64::from_be_bytes(*run) << (self.bit_position % 8))
    }

    /// The next `n` bits, at most 32, as a number.
    pub fn read_bits(&mut self, n: u32) -> Option<u32> {
        if let Some(window) = self.peek_window() {
            self.bit_position += n as usize;
            return Some(window.checked_shr(64 - n).unwrap_or(0) as u32);
        }
        let value = bits_at(self.bytes, self.bit_position as u64, n)?;
        self.bit_position += n as usize;
        Some(value as u32)
    }

    /// A number in two parts: zeros up to a one, and `n` bits, less than 32, below their number.
    pub fn read_unary_split(&mut self, n: u32) -> Option<u32> {
        if let Some(window) = self.peek_window() {
            let zeros = window.leading_zeros();
            if zeros + 1 + n <= 57 {
                self.bit_position += (zeros + 1 + n) as usize;
                let low = (window << zeros << 1).checked_shr(64 - n).unwrap_or(0) as u32;
                return Some(zeros << n | low);
            }
        }
        Some(self.read_unary()?.checked_shl(n)? | self.read_bits(n)?)
    }

    /// Fills `into` with numbers in two parts, as [`BitReader::read_unary_split`] reads them, each converted by `convert`.
    pub fn read_unary_splits<T>(&mut self, n: u32, into: &mut [T], mut convert: impl FnMut(u32) -> T) -> Option<()> {
        /// Numbers that 56 bits hold, unless some of them are long.
        const NUMBERS_AT_ONCE: usize = 4;
        // The next bits, the first of them the highest, how many of them count, and the byte after those.
        let Some(mut window) = self.peek_window() else { return self.read_each_unary_split(n, into, convert) };
        let (mut count, mut at) = (56 - (self.bit_position % 8) as u32, self.bit_position / 8 + 7);
        let mut done = 0;
        while let Some(rest) = into.get_mut(done..).filter(|rest| !rest.is_empty()) {
            // Bits are filled up to 56 or more, without a branch.
            let Some(run) = self.bytes.get(at..).and_then(|rest| rest.first_chunk()) else { break };
            window |= u64::from_be_bytes(*run) >> count;
            at += ((63 - count) / 8) as usize;
            count |= 56;
            let before = done;
            for number in rest.iter_mut().take(NUMBERS_AT_ONCE) {
                let zeros = window.leading_zeros();
                let len = zeros + 1 + n;
                if len > count {
                    break;
                }
                // The one between both parts is subtracted from the first.
                *number = convert((zeros.wrapping_sub(1) << n).wrapping_add((window >> (64 - len)) as u32));
                window <<= len;
                count -= len;
                done += 1;
            }
            if done == before {
                break;
            }
        }
        self.bit_position = 8 * at - count as usize;
        self.read_each_unary_split(n, into.get_mut(done..)?, convert)
    }

    fn read_each_unary_split<T>(&mut self, n: u32, into: &mut [T], mut convert: impl FnMut(u32) -> T) -> Option<()> {
        into.iter_mut().try_for_each(|number| {
            *number = convert(self.read_unary_split(n)?);
            Some(())
        })
    }

    /// Returns the number of zeros before the next one, and takes that one, too.
    pub fn read_unary(&mut self) -> Option<u32> {
        let mut zeros = 0u32;
        loop {
            let skip = self.bit_position % 8;
            let byte = *self.bytes.get(self.bit_position / 8)? << skip;
            if byte != 0 {
                let here = byte.leading_zeros();
                self.bit_position += here as usize + 1;
                return zeros.checked_add(here);
            }
            zeros = zeros.checked_add(8 - skip as u32)?;
            self.bit_position += 8 - skip;
        }
    }
}

/// Bytes put together from runs of bits.
#[derive(Default)]
pub(super) struct BitWriter {
    bytes: Vec<u8>,
    /// The last bits, not yet a byte, in the low end.
    pending_bits: u32,
    /// Number of bits: 0 to 7.
    pending_count: u32,
}

impl BitWriter {
    /// Appends the low `n` bits of `value`, at most 64.
    pub(super) fn write_bits(&mut self, value: u64, n: u32) {
        for at in (0..n).step_by(8) {
            let take = (n - at).min(8);
            let bits = (value >> (n - at - take)) as u32 & ((1 << take) - 1);
            self.pending_bits = self.pending_bits << take | bits;
            self.pending_count += take;
            if self.pending_count >= 8 {
                self.pending_count -= 8;
                self.bytes.push((self.pending_bits >> self.pending_count) as u8);
                self.pending_bits &= (1 << self.pending_count) - 1;
            }
        }
    }

    /// Appends the bits `from..to` of `bytes`, or those of them that there are.
    pub(super) fn copy_bits(&mut self, bytes: &[u8], from: u64, to: u64) {
        let mut at = from;
        let head = (8 - (at & 7)) & 7;
        if head > 0 && to.saturating_sub(at) >= head {
            self.write_bits(bits_at(bytes, at, head as u32).unwrap_or(0), head as u32);
            at += head;
        }
        if at & 7 == 0 {
            let whole = (to.saturating_sub(at) / 8) as usize;
            let start = (at / 8) as usize;
            let run = bytes.get(start..).unwrap_or(&[]);
            let run = run.get(..whole).unwrap_or(run);
            self.write_bytes(run);
            at += 8 * run.len() as u64;
        }
        let tail = to.saturating_sub(at) as u32;
        if tail > 0 && tail < 8 {
            self.write_bits(bits_at(bytes, at, tail).unwrap_or(0), tail);
        }
    }

    fn write_bytes(&mut self, run: &[u8]) {
        if self.pending_count == 0 {
            self.bytes.extend_from_slice(run);
            return;
        }
        let shift = self.pending_count;
        let mut open = self.pending_bits;
        self.bytes.extend(run.iter().map(|byte| {
            let wide = open << 8 | u32::from(*byte);
            open = wide & ((1 << shift) - 1);
            (wide >> shift) as u8
        }));
        self.pending_bits = open;
    }

    /// The full bytes so far, taken out; the open bits stay.
    pub(super) fn take_bytes(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }

    /// Returns all bytes, with the last one padded with zero bits.
    pub(super) fn into_bytes(mut self) -> Vec<u8> {
        if self.pending_count > 0 {
            self.bytes.push((self.pending_bits << (8 - self.pending_count)) as u8);
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
                writer.copy_bits(&bytes, from as u64, to as u64);
                expected.extend_from_slice(&bits[from..to]);
            }
            expected.resize(expected.len().next_multiple_of(8), false);
            prop_assert_eq!(as_bits(&writer.into_bytes()), expected);
        }

        #[test]
        fn runs_of_numbers_match_single_ones(bytes in proptest::collection::vec(prop_oneof![Just(0), any::<u8>()], 0..60), n in 0u32..31, skip in 0u32..16, count in 0usize..40) {
            let (mut one, mut many) = (BitReader::new(&bytes), BitReader::new(&bytes));
            prop_assert_eq!(one.read_bits(skip), many.read_bits(skip));
            let expected: Option<Vec<u32>> = (0..count).map(|_| one.read_unary_split(n)).collect();
            let mut found = vec![0; count];
            let done = many.read_unary_splits(n, &mut found, |number| number);
            prop_assert_eq!(done.map(|()| found), expected.clone());
            if expected.is_some() {
                prop_assert_eq!(one.bit_position, many.bit_position);
            }
        }

        #[test]
        fn put_then_read(values in proptest::collection::vec((any::<u64>(), 1u32..57), 1..20)) {
            let mut writer = BitWriter::default();
            for (value, n) in &values {
                writer.write_bits(*value, *n);
            }
            let bytes = writer.into_bytes();
            let mut at = 0;
            for (value, n) in values {
                prop_assert_eq!(bits_at(&bytes, at, n), Some(value & (u64::MAX >> (64 - n))));
                at += u64::from(n);
            }
        }
    }
}
