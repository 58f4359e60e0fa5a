//! LZW, as TIFF has it: codes of 9 to 12 bits, the highest bit first, which get longer one code early.
//!
//! TIFF Revision 6.0, section 13.

use super::OutputLimit;
use crate::codec::bit_io::BitReader;
use crate::error::{Error, Result};

/// The codes that represent no bytes.
const CLEAR_CODE: usize = 256;
const EOI_CODE: usize = 257;
/// Codes of 12 bits.
const MAX_CODES: usize = 4096;

/// Decodes; what comes after the bytes that are expected is not looked at.
pub(super) fn decode(bytes: &[u8], room: &OutputLimit) -> Result<Vec<u8>> {
    if let [0, second, ..] = bytes
        && second & 1 == 1
    {
        return Err(Error::unsupported("LZW with the lowest bit first, as before TIFF 5.0"));
    }
    let wrong = || Error::malformed("a code of LZW that was not defined");
    let mut codes = BitReader::new(bytes);
    // Start and length of each string in the output. A string is that of an earlier code and the next byte.
    let mut strings: Vec<(usize, usize)> = Vec::with_capacity(MAX_CODES);
    let (mut out, mut bits, mut before) = (Vec::with_capacity(room.max_len), 9, None::<(usize, usize)>);
    while out.len() < room.max_len {
        let Some(code) = codes.read_bits(bits) else { break };
        let code = code as usize;
        match code {
            CLEAR_CODE => {
                strings.clear();
                (bits, before) = (9, None);
                continue;
            }
            EOI_CODE => break,
            _ => {}
        }
        let start = out.len();
        match (code, before) {
            (byte @ 0..256, _) => out.push(byte as u8),
            (_, None) => return Err(wrong()),
            (_, Some(before)) => {
                let known = strings.get(code - 258).copied();
                // The string that is being defined: the one before, and its first byte again.
                let (from, len) = match known {
                    Some(known) => known,
                    None if code - 258 == strings.len() => (before.0, before.1 + 1),
                    None => return Err(wrong()),
                };
                let len = len.min(room.max_len - start);
                for at in from..from + len {
                    let byte = *out.get(at).ok_or_else(wrong)?;
                    out.push(byte);
                }
            }
        }
        if let Some((from, len)) = before
            && strings.len() + 258 < MAX_CODES
        {
            strings.push((from, len + 1));
        }
        before = Some((start, out.len() - start));
        // TIFF writers widen the code one entry early.
        bits = match strings.len() + 258 + 1 {
            0..=511 => 9,
            512..=1023 => 10,
            1024..=2047 => 11,
            _ => 12,
        };
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Writes codes of nine bits.
    fn nine(codes: &[usize]) -> Vec<u8> {
        let mut bits: Vec<u8> = codes.iter().flat_map(|code| (0..9).rev().map(move |at| (code >> at & 1) as u8)).collect();
        bits.resize(bits.len().next_multiple_of(8), 0);
        bits.chunks(8).map(|byte| byte.iter().fold(0, |n, bit| n << 1 | bit)).collect()
    }

    #[test]
    fn specification_example_decodes() {
        let codes = [CLEAR_CODE, 7, 258, 8, 8, 258, 6, 6, EOI_CODE];
        assert_eq!(decode(&nine(&codes), &OutputLimit { max_len: 99 }).unwrap(), [7, 7, 7, 8, 8, 7, 7, 6, 6]);
        assert_eq!(decode(&nine(&codes), &OutputLimit { max_len: 2 }).unwrap(), [7, 7]);
        assert!(decode(&nine(&[CLEAR_CODE, 7, 300]), &OutputLimit { max_len: 99 }).is_err());
        assert!(decode(&nine(&[CLEAR_CODE, 258]), &OutputLimit { max_len: 99 }).is_err());
    }

    proptest! {
        #[test]
        fn nothing_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200), most in 0usize..4000) {
            let _ = decode(&bytes, &OutputLimit { max_len: most });
        }
    }
}
