//! Decoders of the two small formats inside of Blosc that no other codec here uses: BloscLZ and Snappy.

/// Copies `len` bytes from `distance` back to the end of what is there; the two may overlap.
fn copy_back_reference(out: &mut [u8], at: &mut usize, distance: usize, len: usize) -> Option<()> {
    let from = at.checked_sub(distance).filter(|_| distance > 0)?;
    let end = at.checked_add(len).filter(|end| *end <= out.len())?;
    if distance == 1 {
        let byte = *out.get(from)?;
        out.get_mut(*at..end)?.fill(byte);
    } else {
        // Copied bytes may be copied again: each step doubles them.
        let mut done = *at;
        while done < end {
            let take = (done - from).min(end - done);
            out.copy_within(from..from + take, done);
            done += take;
        }
    }
    *at = end;
    Some(())
}

/// Copies the next `len` bytes of the input.
fn copy_literal(input: &mut &[u8], out: &mut [u8], at: &mut usize, len: usize) -> Option<()> {
    let (bytes, rest) = input.split_at_checked(len)?;
    out.get_mut(*at..at.checked_add(len)?)?.copy_from_slice(bytes);
    *input = rest;
    *at += len;
    Some(())
}

fn take_byte(input: &mut &[u8]) -> Option<usize> {
    let (first, rest) = input.split_first()?;
    *input = rest;
    Some(usize::from(*first))
}

/// Decodes BloscLZ (a variant of FastLZ): how many bytes came out, nothing if it is broken.
pub(super) fn decode_blosclz(mut input: &[u8], out: &mut [u8]) -> Option<usize> {
    /// Distances from here on take two bytes more.
    const MAX_DISTANCE: usize = 8191;
    let mut at = 0;
    let mut control = take_byte(&mut input)? & 31;
    loop {
        if control < 32 {
            copy_literal(&mut input, out, &mut at, control + 1)?;
        } else {
            let mut len = (control >> 5) - 1;
            if len == 6 {
                loop {
                    let more = take_byte(&mut input)?;
                    len += more;
                    if more != 255 {
                        break;
                    }
                }
            }
            let (high, low) = ((control & 31) << 8, take_byte(&mut input)?);
            let mut distance = high + low;
            if distance == MAX_DISTANCE {
                distance += take_byte(&mut input)? << 8 | take_byte(&mut input)?;
            }
            copy_back_reference(out, &mut at, distance + 1, len + 3)?;
        }
        match take_byte(&mut input) {
            Some(next) => control = next,
            None => return Some(at),
        }
    }
}

/// Decodes raw Snappy: how many bytes came out, nothing if it is broken.
pub(super) fn decode_snappy(mut input: &[u8], out: &mut [u8]) -> Option<usize> {
    // The length comes first, as a varint.
    let (mut len, mut shift) = (0usize, 0);
    loop {
        let next = take_byte(&mut input)?;
        len |= (next & 127) << shift;
        shift += 7;
        if next < 128 {
            break;
        }
        if shift > 28 {
            return None;
        }
    }
    let number = |input: &mut &[u8], n: u32| (0..n).try_fold(0usize, |all, at| Some(all | take_byte(input)? << (8 * at)));
    let mut at = 0;
    while !input.is_empty() {
        let tag = take_byte(&mut input)?;
        match tag & 3 {
            0 => {
                let size = match tag >> 2 {
                    n @ 0..60 => n,
                    n => number(&mut input, n as u32 - 59)?,
                };
                copy_literal(&mut input, out, &mut at, size.checked_add(1)?)?;
            }
            1 => {
                let distance = (tag >> 5) << 8 | take_byte(&mut input)?;
                copy_back_reference(out, &mut at, distance, (tag >> 2 & 7) + 4)?;
            }
            kind => {
                let distance = number(&mut input, if kind == 2 { 2 } else { 4 })?;
                copy_back_reference(out, &mut at, distance, (tag >> 2) + 1)?;
            }
        }
    }
    (at == len).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn snappy_by_hand() {
        // 20 bytes: literal "abcd", copy of 16 from 4 back (two-byte form).
        let mut out = [0; 20];
        assert_eq!(decode_snappy(&[20, 3 << 2, b'a', b'b', b'c', b'd', 15 << 2 | 2, 4, 0], &mut out), Some(20));
        assert_eq!(&out, b"abcdabcdabcdabcdabcd");
        assert_eq!(decode_snappy(&[20, 15 << 2 | 2, 4, 0], &mut out), None);
    }

    #[test]
    fn blosclz_by_hand() {
        let mut out = [0; 20];
        // literal "ab", then 8 bytes from 2 back, then literal "z"
        assert_eq!(decode_blosclz(&[1, b'a', b'b', 6 << 5, 1, 0, b'z'], &mut out), Some(11));
        assert_eq!(&out[..11], b"ababababab\x7a");
    }

    proptest! {
        #[test]
        fn nothing_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200), len in 0usize..400) {
            let mut out = vec![0; len];
            let _ = decode_blosclz(&bytes, &mut out);
            let _ = decode_snappy(&bytes, &mut out);
        }
    }
}
