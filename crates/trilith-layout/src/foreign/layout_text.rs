//! What the derivations of layouts share besides the builder.

use std::fmt::Write as _;

pub(crate) use crate::layout::{AttributeValue, ElementSpec, ItemSpec, LayoutBuilder as LayoutText, TypeSpec};

/// Bytes as `grid_fill` and `grid_head` have them.
pub(crate) fn to_hex_text(bytes: &[u8]) -> String {
    let mut text = "0x".to_owned();
    bytes.iter().for_each(|byte| {
        let _ = write!(text, "{byte:02x}");
    });
    text
}

/// A whole number.
pub(crate) fn to_integer_literal(value: i128) -> crate::layout::LayoutLiteral {
    crate::layout::integer_literal(value)
}
