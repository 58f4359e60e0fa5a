//! Rice coding of tiles: differences of neighbours, split into a unary and a binary part.
//!
//! FITS Standard 4.0, section 10.4.1.

use crate::codec::bit_io::BitReader;

/// Decodes `count` whole numbers of `width` (1, 2 or 4) bytes in blocks of `block`, as signed numbers;
/// None if the bytes end too early or the parameters are none of the standard's.
pub(super) fn decode_rice(bytes: &[u8], count: usize, width: usize, block: usize) -> Option<Vec<i32>> {
    match width {
        1 => decode_blocks(bytes, count, block, &RICE_1, |number| i32::from(number as u8)),
        2 => decode_blocks(bytes, count, block, &RICE_2, |number| i32::from(number as i16)),
        4 => decode_blocks(bytes, count, block, &RICE_4, |number| number as i32),
        _ => None,
    }
}

/// Does the same as [`decode_rice`] for numbers of two bytes, which stay such numbers, big-endian.
pub(super) fn decode_rice_shorts(bytes: &[u8], count: usize, block: usize) -> Option<Vec<u8>> {
    decode_blocks(bytes, count, block, &RICE_2, |number| (number as u16).to_be_bytes()).map(Vec::into_flattened)
}

/// The parameters of numbers of one width.
struct RiceParams {
    /// Bytes of a number.
    width: usize,
    /// Bits of the number that says how the codes of a block are split.
    split_bits: u32,
    /// That number, less one, for codes that are not split.
    split_max: u32,
}

const RICE_1: RiceParams = RiceParams { width: 1, split_bits: 3, split_max: 6 };
const RICE_2: RiceParams = RiceParams { width: 2, split_bits: 4, split_max: 14 };
const RICE_4: RiceParams = RiceParams { width: 4, split_bits: 5, split_max: 25 };

/// Decodes numbers, each of which `convert` makes of its low bits.
#[inline(always)]
fn decode_blocks<T: Clone + Default>(
    bytes: &[u8],
    count: usize,
    block: usize,
    params: &RiceParams,
    convert: impl Fn(u32) -> T,
) -> Option<Vec<T>> {
    let (first, rest) = bytes.split_at_checked(params.width)?;
    let mut last = first.iter().fold(0u32, |n, byte| n << 8 | u32::from(*byte));
    let mut input = BitReader::new(rest);
    let mut out = vec![T::default(); count];
    for numbers in out.chunks_mut(block.max(1)) {
        // Even codes are the differences 0, 1, 2 …, odd codes are -1, -2 ….
        let mut next_number = |coded: u32| {
            last = last.wrapping_add((coded >> 1) ^ 0u32.wrapping_sub(coded & 1));
            convert(last)
        };
        match input.read_bits(params.split_bits)? {
            0 => numbers.fill(next_number(0)),
            split if split - 1 == params.split_max => {
                for number in numbers {
                    *number = next_number(input.read_bits(8 * params.width as u32)?);
                }
            }
            split => input.read_unary_splits(split - 1, numbers, next_number)?,
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decode_handles_three_kinds_of_blocks() {
        // First value 10; a block without differences (0); one split at 0 bits: 2, -1 as 4 and 1.
        let bytes = [0, 10, 0b0000_0001, 0b0000_1010];
        assert_eq!(decode_rice(&bytes, 4, 2, 2), Some(vec![10, 10, 12, 11]));
        // Uncompressed differences: split 14 + 1, then 16 bits each.
        let bytes = [0, 10, 0b1111_0000, 0b0000_0000, 0b0100_0000];
        assert_eq!(decode_rice(&bytes, 1, 2, 2), Some(vec![12]));
    }

    #[test]
    fn what_ends_early_is_nothing() {
        assert_eq!(decode_rice(&[0, 1], 1, 2, 32), None);
        assert_eq!(decode_rice(&[0], 1, 2, 32), None);
        assert_eq!(decode_rice(&[0, 0, 0b0001_0000, 0, 0], 1, 2, 32), None);
        assert_eq!(decode_rice(&[0; 8], 1, 3, 32), None);
        assert_eq!(decode_rice(&[7, 0], 2, 1, 0), Some(vec![7, 7]));
        assert_eq!(decode_rice_shorts(&[0, 1, 0, 0], 2, 32), Some(vec![0, 1, 0, 1]));
        assert_eq!(decode_rice_shorts(&[0, 1], 1, 32), None);
    }
}
