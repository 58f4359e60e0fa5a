//! The file's history, which is a list of entries before ASDF 1.2 and a mapping from then on.

use crate::error::Result;
use crate::limits::Limits;
use crate::tree::{Node, Value, ValueData};

/// Tags of the two kinds of records, of every standard 1.x.
const HISTORY_ENTRY_TAG: &str = "tag:stsci.edu:asdf/core/history_entry-1.0.0";
const EXTENSION_TAG: &str = "tag:stsci.edu:asdf/core/extension_metadata-1.0.0";
/// The keys that name an extension.
pub(super) const EXTENSION_KEYS: [&str; 2] = ["extension_uri", "extension_class"];

/// The history in its other form; None if it has the right one already.
///
/// An extension becomes an entry that keeps all its keys and has a description besides, and such an
/// entry becomes an extension again: nothing is lost either way.
///
/// # Errors
/// Returns an error if the node cannot be copied.
pub(super) fn translate_history(node: Node<'_>, map: bool, limits: &Limits) -> Result<Option<Value>> {
    let is_map = || node.is_mapping() && (node.get("entries").is_some() || node.get("extensions").is_some() || node.is_empty());
    let is_other = if map { node.is_sequence() } else { is_map() };
    if is_other { Ok(Some(in_form(node.to_value(limits)?, map))) } else { Ok(None) }
}

/// A history in the form that a generation has.
pub(super) fn in_form(history: Value, map: bool) -> Value {
    match (&history.data, map) {
        (ValueData::Seq(_), true) => as_map(history),
        (ValueData::Map(_), false) => as_list(history),
        _ => history,
    }
}

fn as_map(list: Value) -> Value {
    let (mut entries, mut extensions) = (Vec::new(), Vec::new());
    let ValueData::Seq(items) = list.data else { return list };
    for mut item in items {
        let described = item.get("description").and_then(Value::as_str).map(str::to_owned);
        let ours = described.is_some_and(|text| text == describe_extension(&item));
        if ours && EXTENSION_KEYS.iter().any(|key| item.get(key).is_some()) {
            item.remove("description");
            extensions.push(item.tagged(EXTENSION_TAG));
        } else {
            entries.push(item);
        }
    }
    let mut map = Value::map::<&str, Value>([]);
    if !entries.is_empty() || extensions.is_empty() {
        map.set("entries", Value::seq(entries));
    }
    if !extensions.is_empty() {
        map.set("extensions", Value::seq(extensions));
    }
    map
}

fn as_list(map: Value) -> Value {
    let mut list = Vec::new();
    let ValueData::Map(pairs) = map.data else { return map };
    for (key, value) in pairs {
        let name = key.as_str().unwrap_or_default().to_owned();
        match (name.as_str(), value.data) {
            ("entries", ValueData::Seq(items)) => list.extend(items),
            ("extensions", ValueData::Seq(items)) => list.extend(items.into_iter().map(|item| {
                let mut pairs = vec![(Value::from("description"), Value::from(describe_extension(&item)))];
                match item.data {
                    ValueData::Map(rest) => pairs.extend(rest),
                    other => pairs.push((Value::from("extension"), Value::from(other))),
                }
                Value::from(ValueData::Map(pairs)).tagged(HISTORY_ENTRY_TAG)
            })),
            // Any other content of the history becomes an entry that keeps it.
            (_, data) => {
                let kept = Value { data, ..value };
                let text = format!("{name} of the history");
                list.push(Value::map([(Value::from("description"), Value::from(text)), (key, kept)]).tagged(HISTORY_ENTRY_TAG));
            }
        }
    }
    Value::seq(list)
}

/// Describes an extension in an entry: `extension asdf://… of asdf 6.0.0`.
fn describe_extension(extension: &Value) -> String {
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let name = EXTENSION_KEYS.iter().find_map(|key| text(extension, key)).unwrap_or_default();
    let mut said = format!("extension {name}");
    if let Some(software) = extension.get("software").or_else(|| extension.get("package")) {
        let by: Vec<String> = ["name", "version"].iter().filter_map(|key| text(software, key)).collect();
        if !by.is_empty() {
            said = format!("{said} of {}", by.join(" "));
        }
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::{PrintOptions, Tree, print_value};

    const MAP: &str = "entries:\n- !<tag:stsci.edu:asdf/core/history_entry-1.0.0> {description: made, time: 2026-01-02 03:04:05}\n\
        extensions:\n- !<tag:stsci.edu:asdf/core/extension_metadata-1.0.0>\n  extension_class: asdf.extension.BuiltinExtension\n  \
        software: {name: asdf, version: 2.15.2}\n";

    #[test]
    fn extensions_become_entries_and_extensions_again() {
        let limits = Limits::default();
        let tree = Tree::parse(MAP, &limits).unwrap();
        let list = translate_history(tree.root(), false, &limits).unwrap().unwrap();
        let said: Vec<_> = list.items().iter().filter_map(|item| item.get("description")?.as_str()).collect();
        assert_eq!(said, ["made", "extension asdf.extension.BuiltinExtension of asdf 2.15.2"]);
        let text = |value: &Value| print_value(value, 0, &PrintOptions::default());
        assert_eq!(text(&as_map(list)), text(&tree.root().to_value(&limits).unwrap()));
    }

    #[test]
    fn list_with_undescribed_extension_stays_under_entries() {
        let limits = Limits::default();
        let tree = Tree::parse("- {description: a}\n- {description: b, extension_uri: x}\n", &limits).unwrap();
        let map = translate_history(tree.root(), true, &limits).unwrap().unwrap();
        assert_eq!(map.get("entries").map(|entries| entries.items().len()), Some(2));
        assert!(map.get("extensions").is_none());
        assert!(translate_history(tree.root(), false, &limits).unwrap().is_none());
    }
}
