//! Base 64 (RFC 4648, section 4), by the crate `base64`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Encodes bytes, with padding.
pub fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// Decodes text with padding, and with white space anywhere (RFC 2045, section 6.8). Returns `None` if the text is not base 64.
pub fn from_base64(text: &str) -> Option<Vec<u8>> {
    let digits: String = text.split_ascii_whitespace().collect();
    STANDARD.decode(digits).ok()
}
