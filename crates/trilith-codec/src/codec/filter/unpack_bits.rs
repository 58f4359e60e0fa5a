//! Numbers of fewer bits than their bytes have, one after the other, each row from a byte on.

use crate::bytes::to_usize;
use crate::codec::bit_io::BitReader;
use crate::error::{Error, Result};

/// Numbers of `bits` bits, the highest first, as numbers of 1 or 2 bytes, the latter little-endian; `row` of them are a row.
pub(super) fn decode(bytes: &[u8], bits: u64, row: u64, is_big: bool, most: usize) -> Result<Vec<u8>> {
    if !(1..=32).contains(&bits) {
        return Err(Error::unsupported(format!("numbers of {bits} bits, known are 1 to 32")));
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
        assert_eq!(decode(&[0b1010_0000, 0b0100_0000], 1, 3, false, 9).unwrap(), [1, 0, 1, 0, 1, 0]);
        assert_eq!(decode(&[0x12, 0x34, 0x56], 12, 2, false, 9).unwrap(), [0x23, 0x01, 0x56, 0x04]);
        assert_eq!(decode(&[0x12, 0x34, 0x56], 12, 2, true, 9).unwrap(), [0x01, 0x23, 0x04, 0x56]);
        assert_eq!(decode(&[0x12, 0x34, 0x56], 24, 1, false, 9).unwrap(), [0x56, 0x34, 0x12, 0]);
        assert!(decode(&[1], 33, 1, false, 9).is_err() && decode(&[1], 0, 1, false, 9).is_err());
    }
}
