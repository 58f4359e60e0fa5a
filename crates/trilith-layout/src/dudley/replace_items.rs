//! New values for items of a file under a layout, in their place: the file stays byte for byte what the layout says.

use std::path::Path;

use super::append::open_for_append;
use super::datatype::datatype_of;
use super::dudley_file::{DudleyFile, LayoutOrigin, StreamOptions};
use super::encode_elements::write_array_bytes;
use crate::array::{Array, Byteorder, Datatype};
use crate::bytes::{self, FileUpdate};
use crate::error::{Error, Result};
use crate::layout::StreamEntryKind;
use crate::limits::Limits;

/// The new content of an item.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum NewElements {
    /// An array of the datatype and shape of the item.
    Array(Array),
    /// One element for each element of the item, or the value of a single one.
    Fill(String),
    /// The value of an item that is a single element.
    Value(String),
}

/// Replaces the elements of items of the file at `path` in place, all items or none. The file may be native or have no signature.
/// `how` has the layout if the file does not contain it.
///
/// # Errors
/// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if a path leads to no item, or the content does not fit the
/// item. Returns [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for a stored parameter, which decides about the places of
/// other items, for a compressed item, and for files of other formats.
pub fn replace_elements(path: &Path, items: &[(String, NewElements)], how: &StreamOptions, limits: &Limits) -> Result<()> {
    bytes::retry_if_replaced(|| try_replace(path, items, how.clone(), limits))
}

/// Checks that [`replace_elements`] can replace the elements of items of an open file.
///
/// # Errors
/// Returns the errors of [`replace_elements`].
#[doc(hidden)]
pub fn check_elements(file: &DudleyFile, items: &[(String, NewElements)]) -> Result<()> {
    encode_replacement(file, items).map(drop)
}

fn try_replace(path: &Path, items: &[(String, NewElements)], how: StreamOptions, limits: &Limits) -> Result<()> {
    let file = open_for_append(path, how, limits)?;
    encode_replacement(&file, items)?.commit(&**file.source()).map(drop)
}

/// Returns the bytes of new elements in their places.
fn encode_replacement(file: &DudleyFile, items: &[(String, NewElements)]) -> Result<FileUpdate> {
    if let LayoutOrigin::Derived(format) = file.origin() {
        return Err(Error::unsupported(format!("{format} files are read, but not written"))
            .hint("convert it first: trilith convert FILE OUT.asdf"));
    }
    let found = file.locate_items()?;
    let mut update = FileUpdate::new();
    for (item, content) in items {
        let entry = found.evaluation().find(item)?.ok_or_else(|| match found.located(item) {
            Ok(Some(_)) => Error::unsupported(format!("{item} is a part of an item, whose elements are not next to each other"))
                .hint("replace the whole item"),
            _ => found.no_item(item),
        })?;
        let refuse = |why: &str, hint: &'static str| Err(Error::unsupported(format!("cannot set {item}: {why}")).hint(hint));
        if entry.kind != StreamEntryKind::Data {
            return refuse(
                "it is a parameter, which decides about the lengths and places of arrays",
                "`append` adds to the last array; `layout write` writes another file",
            );
        }
        if file.layout().filter_of(entry.item).is_some_and(|filter| filter.compresses) {
            return refuse("it is stored compressed, as one whole", "`convert` writes another file");
        }
        let Some(address) = entry.address else {
            return refuse("it has no elements in this file", "the parameters of the file decide how many it has");
        };
        let mut shape = entry.shape.clone();
        let (datatype, order) = datatype_of(&entry.resolved_type, &mut shape)?;
        let array = match content {
            NewElements::Array(array) => array.clone(),
            NewElements::Value(_) if !shape.is_empty() => {
                return refuse("it is an array", "--fill writes VALUE into each element, --from replaces the elements");
            }
            NewElements::Fill(text) | NewElements::Value(text) => {
                parse_element(text, &datatype).and_then(|one| one.broadcast_to(&shape)).map_err(|e| e.context(item.clone()))?
            }
        };
        if array.shape() != shape {
            return Err(Error::invalid_input(format!(
                "{item} has the shape {shape:?} in this file, and the new elements have {:?}",
                array.shape()
            )));
        }
        let at = address.checked_add(file.base_offset()).ok_or_else(|| Error::invalid_input("E406: an address is too large"))?;
        let mut next = at;
        write_array_bytes(&array, &datatype, order, &shape, &mut |bytes| {
            let here = next;
            next = next.saturating_add(bytes.len() as u64);
            update.write_piece(here, bytes)
        })
        .map_err(|e| e.context(item.clone()))?;
        if next > file.source().len() {
            return Err(Error::malformed(format!(
                "{item} ends at byte {next}, after the end of the file of {} bytes",
                file.source().len()
            )));
        }
    }
    Ok(update)
}

/// Returns a single element of a datatype.
fn parse_element(text: &str, datatype: &Datatype) -> Result<Array> {
    let wrong = || Error::invalid_input(format!("{text:?} is not of the datatype {datatype}"));
    let text = text.trim();
    if datatype.is_text() {
        return Array::from_texts(&[text], &[]);
    }
    let size = bytes::to_usize(datatype.item_size())?;
    let content = match datatype {
        Datatype::Bool8 => match text {
            "true" | "1" => vec![1],
            "false" | "0" => vec![0],
            _ => return Err(wrong()),
        },
        known if known.is_integer() => {
            let value: i128 = text.parse().map_err(|_| wrong())?;
            let is_signed = matches!(known, Datatype::Int8 | Datatype::Int16 | Datatype::Int32 | Datatype::Int64);
            let bits = u32::try_from(8 * size).unwrap_or(64).min(64);
            let range = if is_signed { -(1i128 << (bits - 1))..1i128 << (bits - 1) } else { 0..1i128 << bits };
            if !range.contains(&value) {
                return Err(Error::invalid_input(format!("{value} does not fit in {datatype}")));
            }
            value.to_le_bytes().get(..size).unwrap_or(&[]).to_vec()
        }
        Datatype::Float32 => {
            let value: f64 = text.parse().map_err(|_| wrong())?;
            #[allow(clippy::cast_possible_truncation, reason = "the nearest number is stored")]
            let stored = value as f32;
            if value.is_finite() && !stored.is_finite() {
                return Err(Error::invalid_input(format!("{text} does not fit in {datatype}")));
            }
            stored.to_le_bytes().to_vec()
        }
        Datatype::Float64 => text.parse::<f64>().map_err(|_| wrong())?.to_le_bytes().to_vec(),
        _ => {
            return Err(
                Error::unsupported(format!("{text:?} is not a value of {datatype}")).hint("give the elements as an array")
            );
        }
    };
    Array::from_bytes(content, datatype.clone(), Byteorder::Little, Vec::new())
}
