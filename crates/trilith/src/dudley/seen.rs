//! How the array of an item is seen, where an attribute says more of it than its declaration.
//!
//! `grid_member="data"`: the item is an array of structs that lie as far apart as the records of its file, and the array is
//! this member of each of them.

use crate::array::Array;
use crate::error::{Error, Result};
use crate::layout::{Attribute, ItemId, Layout, Literal};

/// The word that names the member of an item which is its array.
const MEMBER: &str = "grid_member";

fn member(layout: &Layout, item: ItemId) -> Option<&str> {
    // The last one of a name counts.
    match layout.attributes(item).filter(|(name, _)| *name == MEMBER).last() {
        Some((_, Attribute::Value(Literal::Text(name)))) => Some(name),
        _ => None,
    }
}

/// Whether an attribute says how the array of an item is seen.
pub(crate) fn is_seen_otherwise(layout: &Layout, item: ItemId) -> bool {
    member(layout, item).is_some()
}

/// The array of an item as its attributes say.
///
/// # Errors
/// [`ErrorKind::Usage`](crate::ErrorKind::Usage) where they do not fit the item.
pub(super) fn seen(layout: &Layout, item: ItemId, array: Array) -> Result<Array> {
    let Some(name) = member(layout, item) else { return Ok(array) };
    if array.datatype().as_struct().is_none() {
        return Err(Error::malformed(format!("{MEMBER}={name:?}, but the item is not an array of structs")));
    }
    array.field(name).map_err(|e| e.context(MEMBER))
}
