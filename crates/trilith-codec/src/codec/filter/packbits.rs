//! `PackBits`: runs of one byte, and bytes verbatim.

use super::OutputLimit;
use crate::error::{Error, Result};

/// Decodes; what comes after the bytes that are expected is not looked at.
pub(super) fn decode(mut bytes: &[u8], room: &OutputLimit) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    while let Some((count, rest)) = bytes.split_first() {
        if out.len() >= room.max_len {
            break;
        }
        let cut = || Error::malformed("the packed bits are cut short");
        bytes = match count {
            0..=127 => {
                let (run, rest) = rest.split_at_checked(usize::from(*count) + 1).ok_or_else(cut)?;
                out.extend_from_slice(run);
                rest
            }
            128 => rest,
            _ => {
                let (byte, rest) = rest.split_first().ok_or_else(cut)?;
                out.extend(std::iter::repeat_n(*byte, 257 - usize::from(*count)));
                rest
            }
        };
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn format_example_decodes() {
        let packed = b"\xfe\xaa\x02\x80\x00\x2a\xfd\xaa\x03\x80\x00\x2a\x22\xf7\xaa";
        let plain = b"\xaa\xaa\xaa\x80\x00\x2a\xaa\xaa\xaa\xaa\x80\x00\x2a\x22\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa";
        assert_eq!(decode(packed, &OutputLimit { max_len: 24 }).unwrap(), plain);
        assert!(decode(b"\x05a", &OutputLimit { max_len: 9 }).is_err());
    }
}
