//! Values of attributes that a program writes into a layout.

use std::fmt::Write as _;

use super::model::{Attribute, LayoutLiteral};

/// The value of an attribute, as the metadata of a file have it.
pub(crate) struct NoteValue(pub Attribute);

impl From<&str> for NoteValue {
    fn from(text: &str) -> Self {
        NoteValue(Attribute::Value(LayoutLiteral::Text(text.to_owned())))
    }
}

impl From<&[u64]> for NoteValue {
    fn from(values: &[u64]) -> Self {
        NoteValue::from(values.iter().map(|value| integer_literal(*value)).collect::<Vec<_>>())
    }
}

impl From<Vec<LayoutLiteral>> for NoteValue {
    fn from(values: Vec<LayoutLiteral>) -> Self {
        NoteValue(Attribute::List(values))
    }
}

impl From<LayoutLiteral> for NoteValue {
    fn from(value: LayoutLiteral) -> Self {
        NoteValue(Attribute::Value(value))
    }
}

impl From<i64> for NoteValue {
    fn from(value: i64) -> Self {
        NoteValue(Attribute::Value(LayoutLiteral::Integer(value)))
    }
}

/// Bytes as attributes have them: `0x` and digits.
pub(crate) fn hex_text(bytes: &[u8]) -> String {
    let mut text = "0x".to_owned();
    bytes.iter().for_each(|byte| {
        let _ = write!(text, "{byte:02x}");
    });
    text
}

/// A whole number as an attribute has it.
pub(crate) fn integer_literal(value: impl Into<i128>) -> LayoutLiteral {
    let value = value.into();
    i64::try_from(value).map_or_else(|_| LayoutLiteral::Large(value.to_string()), LayoutLiteral::Integer)
}

/// Returns about as many bytes as a layout spells a value with.
pub(super) fn attribute_len(value: &Attribute) -> usize {
    let one = |value: &LayoutLiteral| match value {
        LayoutLiteral::Text(text) | LayoutLiteral::Large(text) => text.len() + 2,
        LayoutLiteral::Bytes(bytes) => bytes.len() + 2,
        LayoutLiteral::Integer(_) | LayoutLiteral::Float(_) => 8,
    };
    match value {
        Attribute::Flag => 0,
        Attribute::Value(value) => one(value),
        Attribute::List(values) => values.iter().map(one).sum(),
    }
}
