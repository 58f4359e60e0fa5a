//! Quantities, tables and their columns: the keys without which they do not state what they hold.

use super::generation::tag_parts;
use crate::error::Result;
use crate::suggest::nearest;
use crate::tree::Node;

/// The keys of a kind of object.
struct ObjectKeys {
    /// The word for it in messages.
    noun: &'static str,
    required: &'static [&'static str],
    optional: &'static [&'static str],
}

/// Schemas unit/quantity-1.1.0 to 1.3.0.
const QUANTITY: ObjectKeys = ObjectKeys { noun: "a quantity", required: &["value", "unit"], optional: &["datatype"] };
/// Schemas core/column-1.0.0 and table/column-1.1.0 to 1.2.0.
const COLUMN: ObjectKeys =
    ObjectKeys { noun: "a column", required: &["name", "data"], optional: &["description", "unit", "meta"] };
/// Schemas core/table-1.0.0 and table/table-1.1.0 to 1.2.0.
const TABLE: ObjectKeys = ObjectKeys { noun: "a table", required: &["columns"], optional: &["meta"] };
/// Schemas table-1.0.0 to 1.3.0 of the package asdf-astropy.
const ASTROPY_TABLE: ObjectKeys =
    ObjectKeys { noun: "a table", required: &["columns", "colnames"], optional: &["qtable", "meta"] };

/// The keys of the objects with a tag.
fn keys_of(tag: &str) -> Option<&'static ObjectKeys> {
    if tag.strip_prefix("tag:astropy.org:astropy/table/table-").is_some() {
        return Some(&ASTROPY_TABLE);
    }
    match tag_parts(tag)?.0 {
        "unit/quantity" => Some(&QUANTITY),
        "core/column" | "table/column" => Some(&COLUMN),
        "core/table" | "table/table" => Some(&TABLE),
        _ => None,
    }
}

/// Returns `true` if objects with this tag have keys that they need.
pub(crate) fn needs_keys(tag: &str) -> bool {
    keys_of(tag).is_some()
}

/// Refuses a quantity, a table or a column without one of its keys, or with a null there. Any other node is right.
///
/// # Errors
/// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) with the key, and with one that is spelt nearly so.
pub(crate) fn check_required_keys(node: Node<'_>) -> Result<()> {
    let Some(keys) = node.tag().and_then(keys_of) else { return Ok(()) };
    let noun = keys.noun;
    if !node.is_mapping() {
        let expected = keys.required.join(", ");
        return Err(node.error(format!("{noun} is not a mapping")).hint(format!("expected one with the keys {expected}")));
    }
    for key in keys.required {
        match node.get(key) {
            None => return Err(node.suggest_key(node.error(format!("{noun} has no {key}")), key)),
            Some(value) if value.is_null() => {
                return Err(value.error(format!("the {key} of {noun} is null")).hint(format!("give {key} a value")));
            }
            Some(_) => {}
        }
    }
    Ok(())
}

/// Returns a key of a quantity, a table or a column that these do not have, and an optional one that is spelt nearly so.
pub(crate) fn find_misspelt_key(node: Node<'_>) -> Option<(String, &'static str)> {
    let keys = node.tag().and_then(keys_of)?;
    let known = |name: &str| keys.required.iter().chain(keys.optional).any(|key| *key == name);
    let unknown = node.entries().map(|(name, _)| name.text().into_owned()).filter(|name| !known(name));
    unknown.into_iter().find_map(|name| {
        let near = nearest(&name, keys.optional.iter().copied()).filter(|key| node.get(key).is_none())?;
        keys.optional.iter().find(|key| **key == near).map(|key| (name, *key))
    })
}
