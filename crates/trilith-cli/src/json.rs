//! The `--json` shapes that several commands share.

use std::io::Write;

use serde_json::{Value, json};
use trilith::array::attribute::{AttributeValue, ItemAttribute};
use trilith::array::{Datatype, Field};
use trilith::bytes::spool_output;
use trilith::file::ArrayDescription;
use trilith::{Diagnostic, Error, Location, Result};
use trilith_codec::codec::stream_source;

use crate::advice::{error_remedy, error_with_advice};
use crate::output::escape_controls;

/// Writes a document that `write` writes, once it is complete: if that fails, nothing is written.
pub(crate) fn write_complete(out: &mut dyn Write, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    let document = spool_output("a document", |out| write(out))?;
    stream_source(&*document, &mut |bytes| out.write_all(bytes).map_err(|e| Error::io("writing", e)))
}

/// A codec id as text, or null if it is zero.
pub(crate) fn codec_json(id: [u8; 4]) -> Value {
    if id == [0; 4] {
        return Value::Null;
    }
    json!(String::from_utf8_lossy(&id).trim_end_matches('\0'))
}

/// The value of an attribute as JSON.
pub(crate) fn attribute_json(value: &AttributeValue) -> Result<Value> {
    serde_json::from_str(&value.to_json())
        .map_err(|error| Error::invalid_input(format!("an attribute that JSON cannot hold: {error}")))
}

/// An attribute as JSON: name, value, datatype, unit and comment.
pub(crate) fn attribute_facts(attribute: &ItemAttribute) -> Result<Value> {
    let datatype = match &attribute.value {
        AttributeValue::Number(number) => datatype_json(&number.datatype),
        value => json!(value.datatype_name()),
    };
    Ok(json!({
        "name": attribute.name, "value": attribute_json(&attribute.value)?, "datatype": datatype, "unit": attribute.unit,
        "comment": attribute.comment,
    }))
}

/// A datatype as the tree of ASDF 1.6 writes it, without byteorder.
pub(crate) fn datatype_json(datatype: &Datatype) -> Value {
    match datatype {
        Datatype::Ascii(n) | Datatype::Ucs4(n) | Datatype::Utf8(n) | Datatype::Ucs2(n) => json!([datatype.name(), n]),
        Datatype::Struct(structure) => Value::Array(structure.fields().iter().map(field_json).collect()),
        simple => json!(simple.name()),
    }
}

// Structures nest no deeper than the library allows, so this recursion is bounded.
fn field_json(field: &Field) -> Value {
    let mut value = json!({});
    if let Some(name) = &field.name {
        value["name"] = json!(name);
    }
    value["datatype"] = datatype_json(&field.datatype);
    if !field.shape.is_empty() {
        value["shape"] = json!(field.shape);
    }
    value
}

/// Adds the metadata of a layout about an item and the members of its structs.
pub(crate) fn add_layout_metadata(facts: &mut Value, found: &ArrayDescription) {
    let Some(facts) = facts.as_object_mut() else { return };
    let words = |doc: &Option<String>, unit: &Option<String>| {
        let pairs = [("doc", doc), ("unit", unit)].into_iter();
        pairs
            .filter_map(|(name, text)| Some((name.to_owned(), json!(escape_controls(text.as_deref()?)))))
            .collect::<serde_json::Map<_, _>>()
    };
    facts.extend(words(&found.doc, &found.unit));
    if !found.members.is_empty() {
        let members = found
            .members
            .iter()
            .map(|(way, doc, unit)| (way.trim_start_matches('.').to_owned(), Value::Object(words(doc, unit))));
        facts.insert("members".to_owned(), Value::Object(members.collect()));
    }
}

/// A datatype in a tree for people: as [`datatype_text`], or the fields of a structure.
pub(crate) fn fields_text(datatype: &Datatype) -> String {
    if let Some(structure) = datatype.as_struct() {
        let text = |(at, field): (usize, &Field)| {
            let shape = if field.shape.is_empty() { String::new() } else { format!(" {:?}", field.shape) };
            format!("{}: {}{shape}", field.name_or(at), fields_text(&field.datatype))
        };
        let fields: Vec<String> = structure.fields().iter().enumerate().map(text).collect();
        return format!("{{{}}}", fields.join(", "));
    }
    datatype_text(datatype)
}

/// A datatype for people: the name alone, or the JSON of what has no name.
pub(crate) fn datatype_text(datatype: &Datatype) -> String {
    match datatype_json(datatype) {
        Value::String(name) => name,
        other => other.to_string(),
    }
}

/// Returns a finding in a file, as JSON.
pub(crate) fn diagnostic_json(found: &Diagnostic) -> Value {
    let place = if found.line == 0 { (None, None) } else { (Some(found.line), Some(found.column)) };
    let message = match found.expectation.as_str() {
        "" => found.message.clone(),
        rule => format!("{}, expected {rule}", found.message),
    };
    json!({
        "severity": found.severity.to_string(),
        "where": {"path": found.path, "line": place.0, "column": place.1, "byte": found.byte, "block": null},
        "message": escape_controls(&message),
        "schema": (!found.schema.is_empty()).then_some(&found.schema),
        "hint": found.hint.as_deref().map(escape_controls),
    })
}

/// Returns the place of an error, as JSON.
pub(crate) fn where_json(error: &Error, path: Option<&str>, block: Option<usize>) -> Value {
    let (mut line, mut column, mut byte) = (None, None, None);
    let mut path = path.map(str::to_owned);
    match error.location() {
        Location::Byte(at) => byte = Some(*at),
        Location::Text { line: l, column: c } => (line, column) = (Some(*l), Some(*c)),
        Location::Path(at) => path = path.or_else(|| Some(at.clone())),
        _ => {}
    }
    json!({"path": path, "line": line, "column": column, "byte": byte, "block": block})
}

/// An error as a problem of `verify` and `validate`.
pub(crate) fn error_problem(error: &Error, path: Option<&str>, block: Option<usize>) -> Value {
    json!({
        "severity": "error", "where": where_json(error, path, block), "message": escape_controls(&error_with_advice(error)), "schema": null,
        "hint": error_remedy(error),
    })
}

/// An error as JSON.
pub(crate) fn error_json(error: &Error) -> Value {
    json!({
        "kind": error.kind().name(), "message": escape_controls(&error_with_advice(error)), "where": where_json(error, None, None),
        "hint": error_remedy(error).as_deref().map(escape_controls),
    })
}
