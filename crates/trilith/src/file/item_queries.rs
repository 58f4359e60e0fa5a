//! Questions about items that need nothing but their public methods.

use std::borrow::Cow;

use super::backend::AxisNames;
use super::columns::column_names;
use super::expand::{ExpandEvent, ExpandOptions};
use super::item::{Item, ItemKind};
use crate::error::{Error, Result};
use crate::tree::TreePath;
use crate::yaml::Scalar;

/// Hands over the item and all below it, part by part and without recursion.
///
/// # Errors
/// Returns an error if an item cannot be read, the errors of `take`, and
/// [`ErrorKind::Limit`](crate::ErrorKind::Limit) if there are too many items.
pub fn expand_item(
    item: &Item<'_>,
    options: ExpandOptions,
    mut take: impl FnMut(Option<&str>, ExpandEvent<'_>) -> Result<()>,
) -> Result<()> {
    super::expand::expand_place(item.backend(), item.location(), options, &mut take)
}

/// Returns the number of children, in words: `(3 items)`.
pub fn children_text(item: &Item<'_>) -> String {
    if let Some((_, node)) = item.as_asdf() {
        let (one, many) = if node.is_sequence() { ("item", "items") } else { ("key", "keys") };
        return format!("({} {})", node.len(), if node.len() == 1 { one } else { many });
    }
    match item.backend().children(item.location()).map_or(0, |children| children.len()) {
        1 => "(1 item)".to_owned(),
        count => format!("({count} items)"),
    }
}

/// Returns the digits of an integer that the file stores as an array of words, if the item is one.
///
/// # Errors
/// Returns the errors of [`Item::array`].
pub fn integer_digits(item: &Item<'_>) -> Result<Option<String>> {
    item.as_asdf().map_or(Ok(None), |(file, node)| super::asdf::integer_digits(file, node))
}

/// Returns the error for a path that [`Item::find`] does not find: the key that is missing, and the keys in its place.
pub fn missing_item_error(item: &Item<'_>, path: &str) -> Error {
    let (mut at, mut key) = (item.clone(), path.to_owned());
    for step in TreePath::parse(path).iter().flat_map(TreePath::keys) {
        key.clone_from(step);
        match at.get(step) {
            Ok(Some(child)) => at = child,
            _ => break,
        }
    }
    let children = at.keyed_children().unwrap_or_default();
    let count = children.len();
    let names = children.into_iter().filter_map(|(name, _)| name.map(Scalar::into_text));
    let columns = column_names(&at).unwrap_or_default().into_iter().map(Cow::Owned);
    let hdus = at.as_asdf().map_or_else(Vec::new, |(file, node)| super::hdu_paths::list_names_at(file, node));
    let names: Vec<Cow<'_, str>> = names.chain(columns).chain(hdus.into_iter().map(Cow::Owned)).collect();
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    let place = if key == path { "here".to_owned() } else { format!("on the way {path:?}") };
    let items = if names.is_empty() { count } else { 0 };
    Error::invalid_input(format!("there is no {key:?} {place}")).with_known_keys(&key, &names, items)
}

/// Returns `true` if two items are in the same file.
pub fn is_same_file(one: &Item<'_>, other: &Item<'_>) -> bool {
    one.file_address() == other.file_address()
}

impl AxisNames {
    /// Returns the coordinate along an axis of the array that an item is: the array at the root that has the name of the axis, one axis, and
    /// its length. None if there is none.
    ///
    /// # Errors
    /// Returns the errors of [`Item::array`].
    pub fn coordinate<'f>(&self, item: &Item<'f>, axis: usize) -> Result<Option<(String, Item<'f>)>> {
        let Some(Some(name)) = self.names.get(axis).cloned() else { return Ok(None) };
        let backend = item.backend();
        let Some(place) = backend.child(&backend.root(), &name)? else { return Ok(None) };
        let found = item.with_location(place);
        let is_array = found.kind() == ItemKind::Array;
        let length = item.array()?.shape().get(axis).copied();
        let fits = is_array && matches!(found.array()?.shape(), [only] if Some(*only) == length);
        Ok(fits.then_some((name, found)))
    }
}
