//! Keys of a tree that mean something to every reader of ASDF: no item of a file of another format may have one.
//!
//! Attributes move to the mapping `annotations`, items get the mark of [`own_name`](crate::layout::own_name).

use std::borrow::Cow;

use super::loss::LossAccount;
use crate::layout::{marked_name, read_own};
use crate::tree::{Value, ValueData};

/// The key under which an ASDF file keeps the program that wrote it.
const LIBRARY_KEY: &str = "asdf_library";
pub(super) const HISTORY_KEY: &str = "history";
/// The key of the metadata in trees of earlier versions, in which an item of this name has a mark.
const EARLY_KEY: &str = "dudley";
/// A mapping with this key is a reference.
const REFERENCE_KEY: &str = "$ref";

/// Returns `true` if no attribute may become a key of this name.
pub(super) fn is_root_key(is_root: bool, name: &str) -> bool {
    is_root && matches!(name, LIBRARY_KEY | HISTORY_KEY)
}

/// Returns the key of an item or an attribute in a tree. [`rename_reserved`] looks after the keys of the root.
pub(super) fn key_of(is_foreign: bool, name: &str) -> String {
    if (is_foreign && name == REFERENCE_KEY) || has_prefix(name) { marked_name(name) } else { name.to_owned() }
}

/// Returns the name that a key in a tree has in the file.
pub(super) fn name_of(key: &str) -> String {
    if has_prefix(key) { read_own(key).into_owned() } else { key.to_owned() }
}

/// Returns `true` if a name is that of a reserved key with the mark, perhaps with several.
fn has_prefix(name: &str) -> bool {
    let mut name = Cow::Borrowed(name);
    let mut is_marked = false;
    loop {
        let own = match read_own(&name) {
            Cow::Owned(own) => own,
            Cow::Borrowed(_) => return is_marked && matches!(&*name, LIBRARY_KEY | HISTORY_KEY | EARLY_KEY | REFERENCE_KEY),
        };
        (name, is_marked) = (Cow::Owned(own), true);
    }
}

/// Gives the items at the root names that mean nothing else. Returns each name with the key that it got.
pub(super) fn rename_reserved(root: &mut Value, account: &mut LossAccount) -> Vec<(String, String)> {
    let mut renamed = Vec::new();
    if root.get(LIBRARY_KEY).is_some_and(is_library) {
        root.remove(LIBRARY_KEY);
        account.add_loss("/asdf_library", "the item: in an ASDF file this key names the program that wrote the file");
    }
    let ValueData::Map(pairs) = &mut root.data else { return renamed };
    for (key, value) in pairs {
        let is_taken = match key.as_str() {
            Some(LIBRARY_KEY) => true,
            Some(HISTORY_KEY) => !is_history(value),
            _ => false,
        };
        if let Some(name) = key.as_str().filter(|_| is_taken).map(str::to_owned) {
            let marked = marked_name(&name);
            *key = Value::from(marked.as_str());
            renamed.push((name, marked));
        }
    }
    renamed
}

fn is_library(value: &Value) -> bool {
    ["name", "version"]
        .iter()
        .all(|key| value.get(key).is_some_and(|value| matches!(value.data, ValueData::Str(_) | ValueData::Plain(_))))
}

/// Returns `true` if a value is a history as the schema of ASDF has it: entries, or entries and extensions. Nothing, and what holds
/// arrays, is an item that has this name.
pub(super) fn is_history(value: &Value) -> bool {
    let is_list = |value: &Value| match &value.data {
        ValueData::Seq(items) => items.iter().all(|item| matches!(item.data, ValueData::Map(_)) && !holds_array(item)),
        _ => false,
    };
    match &value.data {
        ValueData::Map(pairs) => {
            !pairs.is_empty()
                && pairs.iter().all(|(key, value)| matches!(key.as_str(), Some("extensions" | "entries")) && is_list(value))
        }
        ValueData::Seq(items) => !items.is_empty() && is_list(value),
        _ => false,
    }
}

fn holds_array(value: &Value) -> bool {
    if value.tag.as_deref().is_some_and(crate::asdf::ndarray::is_ndarray_tag) {
        return true;
    }
    match &value.data {
        ValueData::Seq(items) => items.iter().any(holds_array),
        ValueData::Map(pairs) => pairs.iter().any(|(_, value)| holds_array(value)),
        _ => false,
    }
}
