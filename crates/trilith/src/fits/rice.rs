//! Rice coding of tiles: differences of neighbours, split into a unary and a binary part.
//!
//! FITS Standard 4.0, section 10.4.1.

use crate::codec::bit_io::BitReader;

/// Decodes `count` whole numbers of `width` (1, 2 or 4) bytes in blocks of `block`, as signed numbers;
/// None if the bytes end too early or the parameters are none of the standard's.
pub(super) fn decode_rice(bytes: &[u8], count: usize, width: usize, block: usize) -> Option<Vec<i32>> {
    let (split_bits, split_max) = match width {
        1 => (3, 6),
        2 => (4, 14),
        4 => (5, 25),
        _ => return None,
    };
    let bits = width as u32 * 8;
    let (first, rest) = bytes.split_at_checked(width)?;
    let mut last = first.iter().fold(0u32, |n, byte| n << 8 | u32::from(*byte));
    let mut input = BitReader::new(rest);
    let mut out = vec![0; count];
    for numbers in out.chunks_mut(block.max(1)) {
        // Even codes are the differences 0, 1, 2 …, odd codes are -1, -2 ….
        let mut put = |number: &mut i32, coded: u32| {
            last = last.wrapping_add((coded >> 1) ^ 0u32.wrapping_sub(coded & 1));
            *number = match width {
                1 => i32::from(last as u8),
                2 => i32::from(last as i16),
                _ => last as i32,
            };
        };
        match input.read_bits(split_bits)? {
            0 => numbers.iter_mut().for_each(|number| put(number, 0)),
            split if split - 1 == split_max => {
                for number in numbers {
                    put(number, input.read_bits(bits)?);
                }
            }
            split => {
                for number in numbers {
                    put(number, input.read_unary_split(split - 1)?);
                }
            }
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
    }
}
