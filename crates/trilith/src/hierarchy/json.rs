//! Values as JSON has them.

use std::fmt;

use crate::array::json_text;
use crate::yaml::Scalar;

/// A JSON value. Values that JSON does not have are strings: dates as they are written, bytes in base 64, and
/// non-finite numbers by their names in Zarr, `NaN`, `Infinity` and `-Infinity`.
///
/// ```
/// use trilith::hierarchy::JsonValue;
/// let value = JsonValue::Map(vec![("a".into(), JsonValue::List(vec![JsonValue::Int(1), JsonValue::Float(0.5), JsonValue::Float(f64::NAN)]))]);
/// assert_eq!(value.to_string(), r#"{"a": [1, 0.5, "NaN"]}"#);
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum JsonValue {
    /// A null.
    Null,
    /// A boolean.
    Bool(bool),
    /// A whole number of 64 bits.
    Int(i64),
    /// Digits of a larger one, with a sign only if it is negative.
    BigNumber(String),
    /// A floating-point number.
    Float(f64),
    /// A text.
    Text(String),
    /// Values in order.
    List(Vec<JsonValue>),
    /// Values by name, in order.
    Map(Vec<(String, JsonValue)>),
}

impl JsonValue {
    /// A whole number that is not negative.
    pub fn from_u64(number: u64) -> Self {
        i64::try_from(number).map_or_else(|_| Self::BigNumber(number.to_string()), Self::Int)
    }

    /// A scalar of a file.
    pub(super) fn from_scalar(scalar: Scalar<'_>) -> Self {
        match scalar {
            Scalar::Null => Self::Null,
            Scalar::Bool(value) => Self::Bool(value),
            Scalar::Int(value) => Self::Int(value),
            Scalar::BigInt(digits) => Self::BigNumber(digits),
            Scalar::Float(value) => Self::Float(value),
            Scalar::Str(text) | Scalar::Timestamp(text) | Scalar::Binary(text) => Self::Text(text.into_owned()),
        }
    }

    /// The text, if it is one.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the value under a name, if this is a mapping that has it.
    pub fn get(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Map(pairs) => pairs.iter().find(|(key, _)| key == name).map(|(_, value)| value),
            _ => None,
        }
    }
}

impl fmt::Display for JsonValue {
    // Trees nest no deeper than `Limits::depth`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(value) => write!(f, "{value}"),
            Self::Int(value) => write!(f, "{value}"),
            Self::BigNumber(digits) => f.write_str(digits),
            Self::Float(value) if value.is_nan() => f.write_str("\"NaN\""),
            Self::Float(value) if value.is_infinite() => f.write_str(if *value > 0.0 { "\"Infinity\"" } else { "\"-Infinity\"" }),
            Self::Float(value) => write!(f, "{value:?}"),
            Self::Text(text) => f.write_str(&json_text(text)),
            Self::List(items) => {
                f.write_str("[")?;
                for (number, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", if number == 0 { "" } else { ", " })?;
                }
                f.write_str("]")
            }
            Self::Map(pairs) => write_pairs(f, pairs),
        }
    }
}

fn write_pairs(f: &mut fmt::Formatter<'_>, pairs: &[(String, JsonValue)]) -> fmt::Result {
    f.write_str("{")?;
    for (number, (name, value)) in pairs.iter().enumerate() {
        write!(f, "{}{}: {value}", if number == 0 { "" } else { ", " }, json_text(name))?;
    }
    f.write_str("}")
}
