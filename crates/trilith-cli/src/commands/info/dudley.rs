//! Output of `info` for a Dudley stream.

use serde_json::json;
use trilith_io::suggest::hex;
use trilith::dudley::{DudleyFile, LayoutOrigin};
use trilith::{ErrorKind, Result};

use super::write_facts;
use crate::session::Session;
use crate::output::{Output, display_size};

/// Prints the facts.
pub(super) fn print_info(
    out: &mut Output,
    (name, file): (&str, &DudleyFile),
    warnings: &[String],
    session: &Session<'_>,
) -> Result<()> {
    let count = match count_items(file) {
        Ok(count) => Some(count),
        Err(error) if error.kind() == ErrorKind::Limit => None,
        Err(error) => return Err(error),
    };
    let signature = file.signature().map(|signature| hex(&signature.bytes()[..8]));
    let order = file.byteorder().map(|order| order.name());
    let (at, beside) = match file.origin() {
        LayoutOrigin::Embedded(at) => (Some(*at), None),
        LayoutOrigin::Sidecar(name) => (None, Some(name.clone())),
        LayoutOrigin::Supplied => (None, session.args.under.clone()),
        LayoutOrigin::Derived(_) => (None, None),
    };
    let format = if let LayoutOrigin::Derived(format) = file.origin() { Some(*format) } else { None };
    let length = || file.layout().text_end();
    if session.args.json {
        let mut facts = json!({
            "file": name, "family": "dudley", "generation": file.generation_name(), "header": null, "standard": null,
            "comments": [], "container": null, "signature": signature, "byteorder": order,
            "dialect": file.layout().dialect().name(), "layout": {"offset": at, "length": length(), "file": beside},
            "template": file.layout().is_template(), "items": count, "blocks": [], "size": file.source().len(),
        });
        if let Some(format) = format {
            facts["format"] = format.into();
        }
        return write_facts(out, facts, warnings);
    }
    if let Some(format) = format {
        let order = order.map(|order| ("byteorder", order.to_owned()));
        let count = count.map_or("too many to count".to_owned(), |count| count.to_string());
        let facts = [("file", name.to_owned()), ("format", format.to_owned()), ("size", display_size(file.source().len()))];
        return out.name_value_lines(facts.into_iter().chain(order).chain([("items", count)]));
    }
    let layout = match (at, beside) {
        (Some(at), _) => format!("{} at byte {at}", display_size(length() as u64)),
        (None, Some(beside)) => format!("{} in {beside}", display_size(length() as u64)),
        (None, None) => display_size(length() as u64),
    };
    out.name_value_lines([
        ("file", name.to_owned()),
        ("generation", file.generation_name().to_owned()),
        ("signature", signature.unwrap_or_else(|| "none".to_owned())),
        ("byteorder", order.unwrap_or("as the layout declares for each item").to_owned()),
        ("size", display_size(file.source().len())),
        ("layout", layout),
        ("items", count.map_or("too many to count".to_owned(), |count| count.to_string())),
    ])
}

/// Describes the missing end of a file: the first item with bytes after it.
pub(super) fn find_missing_end(file: &DudleyFile) -> Option<String> {
    let (items, len) = (file.locate_items().ok()?, file.data_end());
    for entry in items.entries() {
        let entry = entry.ok()?;
        let end = file.offset_of(&entry).zip(entry.nbytes.filter(|size| *size > 0)).map(|(start, size)| start.saturating_add(size));
        if let Some(end) = end.filter(|end| *end > len) {
            return Some(format!("the file is truncated: {} ends at byte {end}, and {len} bytes are there", entry.path));
        }
    }
    None
}

/// Counts the items. In a file of another format it counts the arrays, because parts of an array are items of the derived layout.
fn count_items(file: &DudleyFile) -> Result<u64> {
    if let LayoutOrigin::Derived(_) = file.origin() {
        return Ok(file.outline()?.arrays().count() as u64);
    }
    let items = file.locate_items()?;
    let mut count = 0;
    for entry in items.entries() {
        entry?;
        count += 1;
    }
    Ok(count)
}
