//! How files are recognised whose formats have no mark, or share one with others.

use crate::bytes::Source;

/// The longest header of a safetensors file that the library of the format reads.
pub(super) const SAFETENSORS_HEADER: u64 = 100_000_000;

/// Whether a file begins with the length of a JSON object, which is there and begins with a key.
pub(super) fn is_safetensors(start: &[u8], source: &dyn Source) -> bool {
    let Some((length, text)) = start.split_first_chunk::<8>() else { return false };
    let length = u64::from_le_bytes(*length);
    let begins = text.strip_prefix(b"{").is_some_and(|rest| {
        let next = rest.iter().find(|byte| !byte.is_ascii_whitespace());
        matches!(next, Some(b'"')) || (matches!(next, Some(b'}')) && length < 64)
    });
    begins && length <= SAFETENSORS_HEADER && length.checked_add(8).is_some_and(|end| end <= source.len())
}
