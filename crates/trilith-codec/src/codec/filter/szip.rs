//! szip as HDF5 has it: differences of neighbours, in blocks each of which is coded in the way that makes it shortest.
//!
//! CCSDS 121.0-B-3, *Lossless Data Compression*: sections 3 (the codes) and 4 (the differences). In front of the bits HDF5
//! writes how many bytes they decode to; numbers of 4 and 8 bytes are coded as their bytes, those of one weight together.

use crate::bytes::to_usize;
use crate::codec::bit_io::BitReader;
use crate::error::{Error, Result};

/// The most significant byte of a number comes first.
const MSB_OPTION: u64 = 16;
/// Differences of neighbours are coded, not the numbers.
const NN_OPTION: u64 = 32;
/// Number of blocks of zeros that means the rest of a segment.
const REMAINDER_OF_SEGMENT: u64 = 5;
/// Blocks of a segment.
const BLOCKS_PER_SEGMENT: u64 = 64;
/// The largest code of a pair of numbers.
const MAX_PAIR_CODE: u32 = 90;

/// The arguments of the filter.
struct SzipParams {
    is_big: bool,
    has_differences: bool,
    /// Numbers of a block, and blocks from one number that is stored as it is to the next.
    block: usize,
    blocks: usize,
    /// Bits of a number, and bytes where it is decoded.
    bits: u32,
    size: usize,
    /// Numbers of a line; it is filled up to whole blocks.
    line: usize,
    /// Bytes of the words whose bytes were put apart.
    word: usize,
}

/// Decodes at most this number of bytes.
pub(super) fn decode(bytes: &[u8], arguments: &[u64], most: usize) -> Result<Vec<u8>> {
    let form = SzipParams::from_arguments(arguments)?;
    let cut = || Error::malformed("the bits are cut short");
    let (front, rest) = bytes.split_first_chunk::<4>().ok_or_else(cut)?;
    let len = u32::from_le_bytes(*front) as usize;
    if len > most {
        return Err(Error::malformed(format!("decodes to {len} bytes, expected {most}")));
    }
    let out = form.decode_lines(rest, len).ok_or_else(cut)?;
    if form.word == 1 {
        return Ok(out);
    }
    let mut words = vec![0; out.len()];
    super::shuffle::unshuffle(form.word, &out, &mut words);
    Ok(words)
}

impl SzipParams {
    fn from_arguments(arguments: &[u64]) -> Result<Self> {
        let [options, block, bits, line, ..] = *arguments else {
            return Err(Error::malformed("options, numbers of a block, bits and numbers of a line are expected in parentheses"));
        };
        let known = matches!(bits, 1..=24 | 32 | 64) && (1..=256).contains(&block) && block % 2 == 0 && line >= block;
        if !known {
            let said = format!("blocks of {block} numbers of {bits} bits, in lines of {line}");
            return Err(Error::unsupported(said));
        }
        let word = if bits > 24 { bits / 8 } else { 1 };
        let bits = if word > 1 { 8 } else { bits as u32 };
        Ok(Self {
            is_big: options & MSB_OPTION != 0,
            has_differences: options & NN_OPTION != 0,
            block: to_usize(block)?,
            blocks: to_usize(line.div_ceil(block))?,
            bits,
            size: match bits {
                1..=8 => 1,
                9..=16 => 2,
                _ => 4,
            },
            line: to_usize(line)?,
            word: to_usize(word)?,
        })
    }

    /// Decodes line after line; None if the bits end too early or have no meaning.
    fn decode_lines(&self, bytes: &[u8], len: usize) -> Option<Vec<u8>> {
        let mut input = BitReader::new(bytes);
        let mut out = Vec::with_capacity(len);
        while out.len() < len {
            let wanted = self.line.min((len - out.len()).div_ceil(self.size));
            let mut numbers = self.decode_scanline(&mut input, wanted)?;
            if self.has_differences {
                self.undo_differences(&mut numbers);
            }
            for number in numbers.iter().take(wanted) {
                let bytes = if self.is_big { number.to_be_bytes() } else { number.to_le_bytes() };
                out.extend_from_slice(if self.is_big { bytes.get(4 - self.size..)? } else { bytes.get(..self.size)? });
            }
        }
        out.truncate(len);
        Some(out)
    }

    /// The coded numbers of a line, at least the required number.
    fn decode_scanline(&self, input: &mut BitReader<'_>, wanted: usize) -> Option<Vec<u32>> {
        let whole = self.block.checked_mul(self.blocks)?;
        let bits_of_id = match self.bits {
            1..=8 => 3,
            9..=16 => 4,
            _ => 5,
        };
        let as_they_are = (1 << bits_of_id) - 1;
        let mut numbers = Vec::with_capacity(wanted.min(1 << 16));
        while numbers.len() < wanted {
            let begun = numbers.len();
            let id = input.read_bits(bits_of_id)?;
            let is_pair = if id == 0 { Some(input.read_bits(1)? == 1) } else { None };
            let is_first = self.has_differences && begun == 0;
            if is_first && id != as_they_are {
                numbers.push(input.read_bits(self.bits)?);
            }
            match (id, is_pair) {
                (_, Some(true)) => self.decode_pairs(input, begun, &mut numbers)?,
                (_, Some(false)) => {
                    let done = begun / self.block;
                    let count = match u64::from(input.read_unary()?) + 1 {
                        REMAINDER_OF_SEGMENT => {
                            let left = BLOCKS_PER_SEGMENT - done as u64 % BLOCKS_PER_SEGMENT;
                            (self.blocks - done).min(usize::try_from(left).ok()?)
                        }
                        more if more > REMAINDER_OF_SEGMENT => usize::try_from(more - 1).ok()?,
                        few => usize::try_from(few).ok()?,
                    };
                    let end = begun.checked_add(count.checked_mul(self.block)?).filter(|end| *end <= whole)?;
                    numbers.resize(end, 0);
                }
                (id, None) if id == as_they_are => {
                    for _ in 0..self.block {
                        numbers.push(input.read_bits(self.bits)?);
                    }
                }
                (id, None) => self.decode_split_block(input, id - 1, begun, &mut numbers)?,
            }
        }
        Some(numbers)
    }

    /// A block of numbers whose low bits are after their high parts.
    fn decode_split_block(&self, input: &mut BitReader<'_>, low: u32, begun: usize, numbers: &mut Vec<u32>) -> Option<()> {
        let from = numbers.len();
        while numbers.len() < begun + self.block {
            numbers.push(input.read_unary()?.checked_shl(low)?);
        }
        for number in numbers.get_mut(from..)? {
            *number |= input.read_bits(low)?;
        }
        Some(())
    }

    /// A block of small numbers, two of which are one code.
    fn decode_pairs(&self, input: &mut BitReader<'_>, begun: usize, numbers: &mut Vec<u32>) -> Option<()> {
        while numbers.len() < begun + self.block {
            let code = input.read_unary().filter(|code| *code <= MAX_PAIR_CODE)?;
            // Pairs are numbered by their sums, those of one sum by the second of them.
            let mut sum = 0;
            while (sum + 1) * (sum + 2) / 2 <= code {
                sum += 1;
            }
            let second = code - sum * (sum + 1) / 2;
            if (numbers.len() - begun).is_multiple_of(2) {
                numbers.push(sum - second);
            }
            numbers.push(second);
        }
        Some(())
    }

    /// Numbers out of differences: small ones to both sides, larger ones to the side that has room.
    fn undo_differences(&self, numbers: &mut [u32]) {
        let most = ((1u64 << self.bits) - 1) as u32;
        let Some((first, rest)) = numbers.split_first_mut() else { return };
        let mut last = *first & most;
        for number in rest {
            let coded = *number;
            let is_high = last > most / 2;
            let room = if is_high { most - last } else { last };
            let half = (coded >> 1) + (coded & 1);
            last = match (half <= room, coded & 1 == 1, is_high) {
                (true, false, _) => last.wrapping_add(coded >> 1),
                (true, true, _) => last.wrapping_sub(half),
                (false, _, true) => most.wrapping_sub(coded),
                (false, _, false) => coded,
            } & most;
            *number = last;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_kind_of_block() {
        // Blocks of two numbers of 8 bits: uncompressed, split at 1 bit, zeros to the end of the line.
        let stream = [6, 0, 0, 0, 0b1110_0000, 0b1010_0000, 0b0110_1010, 0b1110_0001];
        assert_eq!(decode(&stream, &[0, 2, 8, 6], 6).unwrap(), [5, 3, 1, 3, 0, 0]);
        // A pair: the sum 1, of which the second has 1.
        assert_eq!(decode(&[2, 0, 0, 0, 0b0001_0010], &[0, 2, 8, 2], 2).unwrap(), [0, 1]);
        assert!(decode(&stream, &[0, 2, 8, 6], 5).is_err() && decode(&stream[..6], &[0, 2, 8, 6], 6).is_err());
        assert!(decode(&stream, &[0, 3, 8, 6], 6).is_err() && decode(&stream, &[0, 2], 6).is_err());
    }

    proptest! {
        #[test]
        fn nothing_panics(
            bytes in proptest::collection::vec(any::<u8>(), 0..200),
            options in 0u64..256, block in 0u64..40, bits in 0u64..70, line in 0u64..500,
        ) {
            let mut stream = vec![200, 1, 0, 0];
            stream.extend(bytes);
            let _ = decode(&stream, &[options, block, bits, line], 500);
        }
    }
}
