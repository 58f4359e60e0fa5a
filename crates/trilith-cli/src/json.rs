//! The `--json` shapes that several commands share.

use serde_json::{Value, json};
use trilith::array::{Datatype, Field};

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

/// A datatype as the tree of ASDF 1.6 writes it, without byteorder.
pub fn datatype(datatype: &Datatype) -> Value {
    match datatype {
        Datatype::Ascii(n) | Datatype::Ucs4(n) | Datatype::Utf8(n) | Datatype::Ucs2(n) => json!([datatype.name(), n]),
        Datatype::Struct(structure) => Value::Array(structure.fields().iter().map(field).collect()),
        simple => json!(simple.name()),
    }
}

// Structures nest no deeper than the library allows, so this recursion is bounded.
fn field(field: &Field) -> Value {
    let mut value = serde_json::Map::new();
    if let Some(name) = &field.name {
        value.insert("name".to_owned(), json!(name));
    }
    value.insert("datatype".to_owned(), datatype(&field.datatype));
    if !field.shape.is_empty() {
        value.insert("shape".to_owned(), json!(field.shape));
    }
    Value::Object(value)
}

/// A datatype for people: the name alone, or the JSON of what has no name.
pub fn datatype_text(datatype: &Datatype) -> String {
    match self::datatype(datatype) {
        Value::String(name) => name,
        other => other.to_string(),
    }
}
