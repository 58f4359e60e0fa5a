//! The array of an item with attributes that change its declaration.
//!
//! the item is an array of structs as far apart as the records of its file, and the array is
//! this member of each of them.
//!
//! `safetensors_dtype="BF16"` or `hdf5_type="bfloat16"`: the elements are the bits of floats that no datatype of a
//! layout has. They are widened on request.

use crate::array::{Array, SmallFloat};
use crate::error::{Error, Result};
use crate::layout::{Attribute, ItemId, Layout, LayoutLiteral};

/// The words that name a datatype of another format.
const FOREIGN_DTYPE_ATTRIBUTES: &[&str] = &["safetensors_dtype", "hdf5_type"];

/// An array as 32-bit floats, if its attributes name a float of 8 or 16 bits of which it has the bits; any other array as
/// it is.
///
/// # Errors
/// Returns [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for a name whose meaning is not known.
pub fn widen_small_floats<'a>(array: Array, attributes: impl IntoIterator<Item = (&'a str, &'a Attribute)>) -> Result<Array> {
    let named = attributes.into_iter().find_map(|(name, said)| match said {
        Attribute::Value(LayoutLiteral::Text(text)) if FOREIGN_DTYPE_ATTRIBUTES.contains(&name) => Some(text),
        _ => None,
    });
    let Some(named) = named else { return Ok(array) };
    let unknown = || Error::unsupported(format!("elements of the type {named} are not widened to float32"));
    SmallFloat::from_name(named).ok_or_else(unknown)?.widen_array(&array)
}

/// The array of an item as its attributes say.
///
/// # Errors
/// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if they do not fit the item.
pub(super) fn apply_attributes(layout: &Layout, item: ItemId, array: Array) -> Result<Array> {
    let Some(name) = layout.column(item) else { return Ok(array) };
    if array.datatype().as_struct().is_none() {
        return Err(Error::malformed(format!("the item is the member {name:?} of structs, but not an array of structs")));
    }
    array.field(name).map_err(|e| e.context("the member that the item is"))
}
