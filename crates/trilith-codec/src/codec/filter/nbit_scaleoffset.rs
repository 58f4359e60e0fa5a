//! HDF5's filters that keep only the bits which numbers need: `decode_nbit` and `scaleoffset`. Their arguments are the values that
//! the file holds for the client of the filter.

use crate::byteorder::Byteorder;
use crate::bytes::to_usize;
use crate::error::{Error, Result};

/// Bytes before the packed numbers of `scaleoffset`.
const SCALEOFFSET_HEADER_LEN: usize = 21;

/// Bits one after the other, the highest of each byte first.
struct MsbBitReader<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl MsbBitReader<'_> {
    /// The next bits as a number; at most 64.
    fn read_bits(&mut self, count: u32) -> Result<u64> {
        let (mut value, mut left) = (0u64, count);
        while left > 0 {
            let byte = self.bytes.get(self.at / 8).ok_or_else(|| Error::malformed("the packed numbers end too early"))?;
            let (rest, inside) = (8 - (self.at % 8) as u32, self.at % 8);
            let now = rest.min(left);
            let bits = (u32::from(*byte) << inside & 0xff) >> (8 - now);
            value = value << now | u64::from(bits);
            self.at += now as usize;
            left -= now;
        }
        Ok(value)
    }
}

/// The arguments of a filter.
struct FilterArguments<'a> {
    name: &'a str,
    values: &'a [u64],
}

impl FilterArguments<'_> {
    fn get(&self, at: usize) -> Result<u64> {
        let missing = || Error::malformed(format!("{} has {} arguments, which are too few", self.name, self.values.len()));
        self.values.get(at).copied().ok_or_else(missing)
    }

    fn byteorder_arg(&self, at: usize) -> Result<Byteorder> {
        Ok(if self.get(at)? == 0 { Byteorder::Little } else { Byteorder::Big })
    }

    /// The bytes of a number, and how many numbers there are, which fit into this number of bytes.
    fn parse_width_and_count(&self, width: usize, count: usize, most: usize) -> Result<(usize, usize)> {
        let (width, count) = (to_usize(self.get(width)?)?, to_usize(self.get(count)?)?);
        if !(1..=8).contains(&width) {
            return Err(Error::unsupported(format!("{} of numbers of {width} bytes, known are 1 to 8", self.name)));
        }
        match count.checked_mul(width).filter(|size| *size <= most) {
            Some(_) => Ok((width, count)),
            None => Err(Error::malformed(format!("{count} numbers of {width} bytes, more than the {most} bytes of a chunk"))),
        }
    }
}

/// Appends the low bytes of a number.
fn push_low_bytes(value: u64, width: usize, order: Byteorder, out: &mut Vec<u8>) {
    let bytes = value.to_le_bytes();
    let bytes = bytes.get(..width).unwrap_or(&bytes);
    match order {
        Byteorder::Little => out.extend(bytes),
        Byteorder::Big => out.extend(bytes.iter().rev()),
    }
}

/// Numbers of which only the bits of their precision are stored.
pub(super) fn decode_nbit(bytes: Vec<u8>, values: &[u64], most: usize) -> Result<Vec<u8>> {
    let arguments = FilterArguments { name: "nbit", values };
    if arguments.get(1)? != 0 {
        // The numbers use all their bits, so they are stored unpacked.
        return Ok(bytes);
    }
    if arguments.get(3)? != 1 {
        return Err(Error::unsupported("the filter nbit of structs and of elements with axes"));
    }
    let (width, count) = arguments.parse_width_and_count(4, 2, most)?;
    let (order, precision, offset) = (arguments.byteorder_arg(5)?, arguments.get(6)?, arguments.get(7)?);
    if precision.saturating_add(offset) > 8 * width as u64 {
        return Err(Error::malformed(format!("{precision} bits at bit {offset} of numbers of {width} bytes")));
    }
    let mut bits = MsbBitReader { bytes: &bytes, at: 0 };
    let mut out = Vec::with_capacity(count * width);
    for _ in 0..count {
        let value = bits.read_bits(precision as u32)?;
        push_low_bytes(value.checked_shl(offset as u32).unwrap_or(0), width, order, &mut out);
    }
    Ok(out)
}

/// Decodes `scaleoffset`: integers as offsets from the minimum, floats after decimal scaling.
pub(super) fn decode_scaleoffset(bytes: &[u8], values: &[u64], most: usize) -> Result<Vec<u8>> {
    let arguments = FilterArguments { name: "scaleoffset", values };
    let (width, count) = arguments.parse_width_and_count(4, 2, most)?;
    let order = arguments.byteorder_arg(6)?;
    let cut = || Error::malformed("the chunk ends before its packed numbers");
    let (header, packed) = bytes.split_at_checked(SCALEOFFSET_HEADER_LEN).ok_or_else(cut)?;
    let number = |bytes: &[u8]| bytes.iter().rev().fold(0u64, |number, byte| number << 8 | u64::from(*byte));
    let bits = number(header.get(..4).unwrap_or(&[])) as u32;
    let least = number(header.get(5..5 + 8.min(usize::from(header.get(4).copied().unwrap_or(0)))).unwrap_or(&[]));
    let whole = 8 * width as u32;
    let mut out = Vec::with_capacity(count * width);
    if bits >= whole {
        if bits > whole {
            return Err(Error::malformed(format!("numbers of {bits} bits in {width} bytes")));
        }
        let plain = packed.get(..count * width).ok_or_else(cut)?;
        plain.chunks_exact(width).for_each(|bytes| push_low_bytes(number(bytes), width, order, &mut out));
        return Ok(out);
    }
    let missing = match arguments.get(7)? {
        1 => Some(fill_value_bits(values.get(8..).unwrap_or(&[]))),
        _ => None,
    };
    let decode = new_number_decoder(&arguments, width, least)?;
    let mut stored = MsbBitReader { bytes: packed, at: 0 };
    for _ in 0..count {
        let raw = stored.read_bits(bits)?;
        let value = match missing {
            Some(fill) if raw == (1u64 << bits) - 1 => fill,
            _ => decode(raw),
        };
        push_low_bytes(value, width, order, &mut out);
    }
    Ok(out)
}

/// The bits of the fill value, which come in words of 32.
fn fill_value_bits(words: &[u64]) -> u64 {
    words.first().copied().unwrap_or(0) & 0xffff_ffff | words.get(1).copied().unwrap_or(0) << 32
}

/// Returns a function that makes the bits of a number from a packed one.
fn new_number_decoder(arguments: &FilterArguments<'_>, width: usize, least: u64) -> Result<Box<dyn Fn(u64) -> u64>> {
    let power = 10f64.powi(arguments.get(1)? as u32 as i32);
    match (arguments.get(3)?, arguments.get(0)?, width) {
        (0, _, _) => Ok(Box::new(move |raw| raw.wrapping_add(least))),
        (1, 0, 4) => {
            let (power, least) = (power as f32, f32::from_bits(least as u32));
            Ok(Box::new(move |raw| (raw as u32 as i32 as f32 / power + least).to_bits().into()))
        }
        (1, 0, 8) => {
            let least = f64::from_bits(least);
            Ok(Box::new(move |raw| (raw as i64 as f64 / power + least).to_bits()))
        }
        (class, kind, width) => Err(Error::unsupported(format!("scaleoffset of class {class}, method {kind} and {width} bytes"))),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop")]
mod tests {
    use super::*;

    #[test]
    fn bits_are_taken_across_bytes() {
        let mut bits = MsbBitReader { bytes: &[0b1011_0010, 0b1111_0000, 0xff], at: 0 };
        assert_eq!(
            (bits.read_bits(3).unwrap(), bits.read_bits(7).unwrap(), bits.read_bits(6).unwrap()),
            (0b101, 0b100_1011, 0b11_0000)
        );
        assert_eq!(bits.read_bits(0).unwrap(), 0);
        assert!(bits.read_bits(9).is_err());
    }

    #[test]
    fn nbit_restores_bit_offset_in_either_byte_order() {
        // Two 12-bit numbers, each at bit 2 of 2 bytes.
        let packed = vec![0xab, 0xc1, 0x23];
        let values = |order| [8, 0, 2, 1, 2, order, 12, 2];
        assert_eq!(decode_nbit(packed.clone(), &values(0), 4).unwrap(), [0xf0, 0x2a, 0x8c, 0x04]);
        assert_eq!(decode_nbit(packed.clone(), &values(1), 4).unwrap(), [0x2a, 0xf0, 0x04, 0x8c]);
        assert!(decode_nbit(packed.clone(), &values(0), 3).is_err());
        assert!(decode_nbit(packed[..2].to_vec(), &values(0), 4).is_err());
    }

    #[test]
    fn scaleoffset_adds_minimum() {
        let mut chunk = vec![0; SCALEOFFSET_HEADER_LEN];
        (chunk[0], chunk[4], chunk[5]) = (4, 8, 100);
        chunk.extend([0x01, 0x2f]);
        let mut values = vec![2, 0, 4, 0, 2, 1, 0, 0];
        assert_eq!(decode_scaleoffset(&chunk, &values, 8).unwrap(), [100, 0, 101, 0, 102, 0, 115, 0]);
        // A number of only ones is the fill value, if there is one.
        values[7] = 1;
        values.push(7);
        assert_eq!(decode_scaleoffset(&chunk, &values, 8).unwrap(), [100, 0, 101, 0, 102, 0, 7, 0]);
        for cut in 0..chunk.len() {
            assert!(decode_scaleoffset(&chunk[..cut], &values, 8).is_err());
        }
        chunk[0] = 17;
        assert!(decode_scaleoffset(&chunk, &values, 8).is_err() && decode_scaleoffset(&chunk, &values[..3], 8).is_err());
    }
}
