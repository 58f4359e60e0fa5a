//! Base 64 (RFC 4648, section 4), by the crate `base64`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Encodes bytes, with padding.
pub fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// Decodes text with padding. Returns `None` if the text is not base 64.
pub fn from_base64(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text.trim()).ok()
}
