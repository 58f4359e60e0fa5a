//! Numbers of fewer bits than their bytes have, one after the other, each row from a byte on.

use crate::bytes::to_usize;
use crate::codec::bit_io::BitReader;
use crate::error::{Error, Result};

/// The form of packed numbers.
pub(super) struct BitPacking {
    /// Bits of a number, the highest first.
    pub bits: u64,
    /// Count of numbers in a row.
    pub row: u64,
    /// `true` if the decoded numbers are big-endian.
    pub is_big: bool,
    /// `true` if the lowest byte of a number comes first. The numbers have whole bytes then.
    pub is_swapped: bool,
}

/// Returns the numbers as numbers of 1, 2 or 4 bytes.
pub(super) fn decode(bytes: &[u8], form: &BitPacking, most: usize) -> Result<Vec<u8>> {
    let BitPacking { bits, row, is_big, is_swapped } = *form;
    if !(1..=32).contains(&bits) {
        return Err(Error::unsupported(format!("numbers of {bits} bits, known are 1 to 32")));
    }
    if is_swapped && !bits.is_multiple_of(8) {
        return Err(Error::malformed(format!("numbers of {bits} bits whose bytes are swapped")));
    }
    let (bits, row) = (bits as u32, to_usize(row)?.max(1));
    let stored = row.checked_mul(bits as usize).map(|bits| bits.div_ceil(8));
    let stored = stored.ok_or_else(|| Error::malformed(format!("a row of {row} numbers of {bits} bits")))?;
    let mut out = Vec::with_capacity(most);
    for packed in bytes.chunks(stored) {
        let mut packed = BitReader::new(packed);
        for _ in 0..row {
            if out.len() >= most {
                return Ok(out);
            }
            let Some(number) = packed.read_bits(bits) else { return Ok(out) };
            let number = if is_swapped { number.swap_bytes() >> (32 - bits) } else { number };
            match (bits, is_big) {
                (1..=8, _) => out.push(number as u8),
                (9..=16, false) => out.extend_from_slice(&(number as u16).to_le_bytes()),
                (9..=16, true) => out.extend_from_slice(&(number as u16).to_be_bytes()),
                (_, false) => out.extend_from_slice(&number.to_le_bytes()),
                (_, true) => out.extend_from_slice(&number.to_be_bytes()),
            }
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_starts_at_whole_byte() {
        let unpack =
            |bytes: &[u8], bits, row, is_big, is_swapped| decode(bytes, &BitPacking { bits, row, is_big, is_swapped }, 9);
        assert_eq!(unpack(&[0b1010_0000, 0b0100_0000], 1, 3, false, false).unwrap(), [1, 0, 1, 0, 1, 0]);
        assert_eq!(unpack(&[0x12, 0x34, 0x56], 12, 2, false, false).unwrap(), [0x23, 0x01, 0x56, 0x04]);
        assert_eq!(unpack(&[0x12, 0x34, 0x56], 12, 2, true, false).unwrap(), [0x01, 0x23, 0x04, 0x56]);
        assert_eq!(unpack(&[0x12, 0x34, 0x56], 24, 1, false, false).unwrap(), [0x56, 0x34, 0x12, 0]);
        assert_eq!(unpack(&[0x12, 0x34, 0x56], 24, 1, true, true).unwrap(), [0, 0x56, 0x34, 0x12]);
        assert_eq!(unpack(&[0x12, 0x34], 8, 2, false, true).unwrap(), [0x12, 0x34]);
        assert!(unpack(&[0x12, 0x34, 0x56], 12, 2, false, true).is_err());
        assert!(unpack(&[1], 33, 1, false, false).is_err() && unpack(&[1], 0, 1, false, false).is_err());
    }
}
