//! The `--json` shapes that several commands share.

use serde_json::{Value, json};

/// Lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// A codec id as text, or null where it is zero.
pub fn codec(id: [u8; 4]) -> Value {
    if id == [0; 4] {
        return Value::Null;
    }
    json!(String::from_utf8_lossy(&id).trim_end_matches('\0'))
}
