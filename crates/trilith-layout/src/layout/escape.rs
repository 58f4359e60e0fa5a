//! Names and strings of a file that its layout cannot spell unchanged.
//!
//! `own:` marks a name or a string that belongs to the described file. The rest is percent-encoded. A derived layout marks
//!
//! - names of attributes that mean something to a layout: `own:grid_mapping` is the attribute `grid_mapping` of the file,
//! - control characters, which would end the line: `own:a%0Ab`,
//! - strings that would otherwise be read as numbers: the string `nan` is `own:nan`, and `nan` is the number,
//! - strings that are not in their declared encoding, as bytes: `own:25 %B0C`,
//! - the member `_pad` of a struct: without the mark, it fills the struct up to its size,
//! - names and strings that begin with `own:` themselves.

use std::borrow::Cow;

use super::grid_words::GRID_PREFIX;
use super::model::{Attribute, ESCAPE_PREFIX, LayoutLiteral, escape_bytes};
use crate::percent::{strict_bytes, strictly_decoded};

/// Names of further attributes that have a meaning for a reader of layouts.
const RESERVED_ATTRIBUTES: &[&str] = &[
    "dialect",
    "asdf_tag",
    "asdf_value",
    "hdf5_type",
    LINK_ATTRIBUTE,
    "hdf5_external_link",
    "safetensors_dtype",
    "enum_names",
    "enum_values",
    "list_shape",
    OWNER_ATTRIBUTE,
    "dudley_family",
    "dudley_signature",
];

/// The name of the attribute that makes an item an attribute of another one: the name of that, or an empty text for the dict.
pub const OWNER_ATTRIBUTE: &str = "attribute_of";

/// The name of the attribute that has the path to which a link leads.
pub const LINK_ATTRIBUTE: &str = "hdf5_link";

/// The prefix of an attribute of a conversion that describes another one.
const ASDF_TYPE_PREFIX: &str = "asdf_type:";

/// The prefix of the attribute that has the datatype of another one.
pub const TYPE_PREFIX: &str = "type:";
/// The prefix of the attribute that has the names of the values of another one.
pub const ENUM_NAMES_PREFIX: &str = "enum_names:";
/// The prefix of the attribute that has the values for these names.
pub const ENUM_VALUES_PREFIX: &str = "enum_values:";

/// The member that fills a struct up to its size.
pub const PADDING_NAME: &str = "_pad";

/// Returns `true` if an attribute says something about another attribute.
pub fn is_attribute_type(name: &str) -> bool {
    split_attribute_type(name).is_some()
}

/// Splits the name of an attribute that says something about another one into the prefix and the name of the other.
pub fn split_attribute_type(name: &str) -> Option<(&'static str, &str)> {
    let prefixes = [TYPE_PREFIX, ENUM_NAMES_PREFIX, ENUM_VALUES_PREFIX];
    prefixes.into_iter().find_map(|prefix| Some((prefix, name.strip_prefix(prefix)?)))
}

/// Returns the name of an item, or of a member of a struct, as a layout spells it.
pub fn own_name(name: &str) -> Cow<'_, str> {
    with_marker(name, name == PADDING_NAME)
}

/// Returns the name of an attribute of a file as a layout spells it.
pub fn own_attribute(name: &str) -> Cow<'_, str> {
    let is_word = name.starts_with(GRID_PREFIX) || name.starts_with(ASDF_TYPE_PREFIX) || is_attribute_type(name);
    with_marker(name, is_word || RESERVED_ATTRIBUTES.contains(&name))
}

/// Returns a string as a layout spells it in an attribute.
fn escape_string(text: &str) -> Cow<'_, str> {
    with_marker(text, parse_non_finite(text).is_some())
}

/// Returns a name with the mark, whatever it is.
pub fn marked_name(name: &str) -> String {
    add_marker(name)
}

/// Marks a text if it is a word that means something to a layout, or cannot be spelled unchanged.
fn with_marker(text: &str, is_word: bool) -> Cow<'_, str> {
    if is_word || text.starts_with(ESCAPE_PREFIX) || text.contains(is_odd) {
        return Cow::Owned(add_marker(text));
    }
    Cow::Borrowed(text)
}

/// Returns `true` for a character that a layout cannot spell unchanged.
fn is_odd(c: char) -> bool {
    c.is_control() && c != '\t'
}

fn add_marker(text: &str) -> String {
    let mut out = ESCAPE_PREFIX.to_owned();
    for c in text.chars() {
        match c {
            c if c == '%' || is_odd(c) => {
                let mut bytes = [0; 4];
                for byte in c.encode_utf8(&mut bytes).bytes() {
                    out.push_str(&format!("%{byte:02X}"));
                }
            }
            c => out.push(c),
        }
    }
    out
}

/// Returns the string of an attribute that a layout spells.
fn read_string(text: &str) -> LayoutLiteral {
    let bytes = || strict_bytes(text.strip_prefix(ESCAPE_PREFIX)?);
    match bytes().map(String::from_utf8) {
        Some(Ok(own)) => LayoutLiteral::Text(own),
        Some(Err(error)) => LayoutLiteral::Bytes(error.into_bytes()),
        None => LayoutLiteral::Text(text.to_owned()),
    }
}

/// Returns the name or the string that a layout spells.
pub fn read_own(text: &str) -> Cow<'_, str> {
    match text.strip_prefix(ESCAPE_PREFIX).and_then(strictly_decoded) {
        Some(own) => Cow::Owned(own),
        None => Cow::Borrowed(text),
    }
}

/// Returns the name of an attribute without its mark, or `None` for a word that describes how an array is stored.
pub fn attribute_name(name: &str) -> Option<Cow<'_, str>> {
    if name.starts_with(GRID_PREFIX) || name == OWNER_ATTRIBUTE { None } else { Some(read_own(name)) }
}

/// Returns the value of an attribute as a layout spells it: finite, of one kind, with its strings marked.
pub fn own_value(value: Attribute) -> Attribute {
    let one = |value: LayoutLiteral| match value {
        LayoutLiteral::Float(number) if !number.is_finite() => LayoutLiteral::Text(number.to_string().to_ascii_lowercase()),
        LayoutLiteral::Text(text) => LayoutLiteral::Text(escape_string(&text).into_owned()),
        LayoutLiteral::Bytes(bytes) => LayoutLiteral::Text(escape_bytes(&bytes)),
        value => value,
    };
    let values = match value {
        Attribute::Flag => return Attribute::Flag,
        Attribute::Value(value) => return Attribute::Value(one(value)),
        Attribute::List(values) => values.into_iter().map(one).collect::<Vec<_>>(),
    };
    let is_text = |value: &LayoutLiteral| matches!(value, LayoutLiteral::Text(_) | LayoutLiteral::Bytes(_));
    if values.iter().all(is_text) || !values.iter().any(is_text) {
        return Attribute::List(values);
    }
    let text = |value: LayoutLiteral| match value {
        LayoutLiteral::Text(text) => LayoutLiteral::Text(text),
        number => LayoutLiteral::Text(number.to_string()),
    };
    Attribute::List(values.into_iter().map(text).collect())
}

/// A number that the language cannot write as one.
fn parse_non_finite(text: &str) -> Option<f64> {
    match text {
        "nan" | "NaN" => Some(f64::NAN),
        "inf" => Some(f64::INFINITY),
        "-inf" => Some(f64::NEG_INFINITY),
        _ => None,
    }
}

/// Returns the value of an attribute with its strings unmarked, and with the numbers that the language has no spelling for.
pub fn read_value(said: &Attribute) -> Attribute {
    let one = |value: &LayoutLiteral| match value {
        LayoutLiteral::Text(text) => parse_non_finite(text).map_or_else(|| read_string(text), LayoutLiteral::Float),
        value => value.clone(),
    };
    match said {
        Attribute::Flag => Attribute::Flag,
        Attribute::Value(value) => Attribute::Value(one(value)),
        Attribute::List(values) => Attribute::List(numbers(values).unwrap_or_else(|| values.iter().map(one).collect())),
    }
}

/// The numbers of a list that is written as strings because one of them is not finite.
fn numbers(values: &[LayoutLiteral]) -> Option<Vec<LayoutLiteral>> {
    let is_odd = |value: &LayoutLiteral| matches!(value, LayoutLiteral::Text(text) if parse_non_finite(text).is_some());
    if !values.iter().any(is_odd) {
        return None;
    }
    let number = |value: &LayoutLiteral| match value {
        LayoutLiteral::Text(text) => parse_non_finite(text).or_else(|| text.parse().ok()).map(LayoutLiteral::Float),
        value => Some(value.clone()),
    };
    values.iter().map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_marked_is_read_back() {
        for text in ["", "a", "grid_mapping", "own:", "own:grid_x", "a\nb", "a%20b", "own:%", "\u{85}\0", "nan", "tab\t", "_pad"]
        {
            for marked in [own_name(text), own_attribute(text), escape_string(text)] {
                assert_eq!(read_own(&marked), text, "{marked}");
                assert!(!marked.contains(['\n', '\0']));
            }
            assert_eq!(attribute_name(&own_attribute(text)).as_deref(), Some(text));
            let said = Attribute::Value(LayoutLiteral::Text(escape_string(text).into_owned()));
            assert_eq!(read_value(&said), Attribute::Value(LayoutLiteral::Text(text.to_owned())));
        }
        for bytes in [&b"25 \xb0C"[..], b"\xff\"\\%\n"] {
            let said = own_value(Attribute::Value(LayoutLiteral::Bytes(bytes.to_vec())));
            assert_eq!(said, Attribute::Value(LayoutLiteral::Text(escape_bytes(bytes))));
            assert_eq!(read_value(&said), Attribute::Value(LayoutLiteral::Bytes(bytes.to_vec())));
        }
        assert_eq!(own_name("a b%"), "a b%");
        assert_eq!(own_attribute("grid_type"), "own:grid_type");
        assert_eq!(attribute_name("grid_type"), None);
        assert_eq!(read_own("own:%zz"), "own:%zz");
    }
}
