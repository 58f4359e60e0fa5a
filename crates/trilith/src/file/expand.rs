//! An item and all below it, part by part: what JSON, YAML and tables are written from.

use std::any::Any;
use std::borrow::Cow;

use super::backend::{ArrayDescription, Backend, ChildItem, EventSink, ItemLocation, ListedArray, ResolvedItem};
use super::columns::ColumnFile;
use super::item::{ItemKind, MetadataParts};
use crate::array::Array;
use crate::array::attribute::ItemAttribute;
use crate::asdf::{AsdfFile, inline_write};
use crate::dudley::DudleyFile;
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::tree::Value;
use crate::yaml::{Scalar, ValueBuilder, ValueData};

pub use crate::asdf::ExpandOptions;

/// One part of an item that [`expand_item`](super::expand_item) hands over.
#[derive(Debug)]
#[non_exhaustive]
pub enum ExpandEvent<'a> {
    /// A scalar, a text or a null.
    Scalar(Scalar<'a>),
    /// An array, to be written out.
    Array(&'a Array),
    /// An array whose elements are not asked for.
    Description(&'a ArrayDescription),
    /// An array that cannot be read, and why; only with [`ExpandOptions::errors_as_parts`].
    Unreadable(&'a Error),
    /// A mapping begins.
    Mapping,
    /// A list begins.
    List,
    /// The name of what comes next.
    Key(Cow<'a, str>),
    /// The innermost mapping or list ends.
    End,
    /// An item that contains this place: its path.
    Cycle(String),
    /// The attributes of the item that comes next, by name; only with [`ExpandOptions::attributes`].
    Attributes(Vec<ItemAttribute>),
}

/// The part of an array that is handed over.
enum ArrayContent {
    Elements(Array),
    Description(ArrayDescription),
}

/// Returns a backend as a file of the ASDF family.
fn as_asdf(backend: &dyn Backend) -> Option<&AsdfFile> {
    (backend as &dyn Any).downcast_ref()
}

/// Returns the array of an item as people read it: with its text decoded. Strings of variable length stay as they are if padding
/// would multiply them.
pub(super) fn read_decoded(backend: &dyn Backend, at: &ItemLocation) -> Result<Array> {
    let any: &dyn Any = backend;
    if let Some(file) = any.downcast_ref::<DudleyFile>() {
        return super::dudley::read_decoded(file, at);
    }
    if let Some(column) = any.downcast_ref::<ColumnFile>() {
        return Ok(column.decoded_array());
    }
    let array = backend.array(at)?;
    if array.much_padded()?.is_some() { Ok(array) } else { backend.decode_text(array) }
}

/// Lists every array with its path, in the order of the file.
///
/// # Errors
/// Returns [`ErrorKind::Limit`](crate::ErrorKind::Limit) if there are too many.
#[doc(hidden)]
pub fn listed_arrays(backend: &dyn Backend) -> Result<Vec<ListedArray>> {
    let any: &dyn Any = backend;
    if let Some(file) = any.downcast_ref::<AsdfFile>() {
        return super::asdf::arrays(file);
    }
    match any.downcast_ref::<DudleyFile>() {
        Some(file) => super::dudley::arrays(file),
        None => list_arrays(backend),
    }
}

/// Hands over an item and all below it, part by part.
pub(super) fn expand_place(backend: &dyn Backend, at: &ItemLocation, options: ExpandOptions, take: EventSink<'_>) -> Result<()> {
    match as_asdf(backend) {
        Some(file) => super::asdf::expand(file, at, options, take),
        None => expand_plain(backend, at, options, take),
    }
}

/// Hands over an item of a family that has no references.
fn expand_plain(backend: &dyn Backend, at: &ItemLocation, options: ExpandOptions, take: EventSink<'_>) -> Result<()> {
    let limits = backend.limits();
    let mut left = limits.nodes;
    let mut levels: Vec<std::vec::IntoIter<ChildItem<'_>>> = Vec::new();
    let mut next = Some(at.clone());
    loop {
        if let Some(place) = next.take() {
            left = left
                .checked_sub(1)
                .ok_or_else(|| Limits::exceeded_error("nodes", limits.nodes, "the file has more items to write out"))?;
            let tag = if options.tags { backend.metadata(&place, MetadataParts::TAG)?.tag } else { None };
            if options.attributes {
                take(None, ExpandEvent::Attributes(backend.attributes(&place, &|_| true)?))?;
            }
            match backend.kind(&place) {
                ItemKind::Array => {
                    let read = match options.inline {
                        true => read_decoded(backend, &place).map(ArrayContent::Elements),
                        false => backend.describe(&place).map(ArrayContent::Description),
                    };
                    match read {
                        Ok(ArrayContent::Elements(array)) => take(tag, ExpandEvent::Array(&array))?,
                        Ok(ArrayContent::Description(found)) => take(tag, ExpandEvent::Description(&found))?,
                        Err(why) if options.errors_as_parts && !why.kind().is_transient() => {
                            take(tag, ExpandEvent::Unreadable(&why))?;
                        }
                        Err(why) => return Err(why),
                    }
                }
                kind @ (ItemKind::Mapping | ItemKind::List | ItemKind::Reference) => {
                    take(tag, if kind == ItemKind::List { ExpandEvent::List } else { ExpandEvent::Mapping })?;
                    limits.charge_depth(levels.len(), "the tree, written out,")?;
                    levels.push(backend.children(&place)?.into_iter());
                }
                _ => take(tag, ExpandEvent::Scalar(backend.value(&place)?))?,
            }
        }
        let Some(level) = levels.last_mut() else { return Ok(()) };
        match level.next() {
            Some(child) => {
                if let Some(name) = child.name {
                    take(None, ExpandEvent::Key(name))?;
                }
                next = Some(child.place);
            }
            None => {
                levels.pop();
                take(None, ExpandEvent::End)?;
            }
        }
    }
}

/// An item as a value that can be printed as YAML, and the handles of its tags.
pub(super) fn to_value(backend: &dyn Backend, at: &ItemLocation) -> Result<(Value, Vec<(String, String)>)> {
    match as_asdf(backend) {
        Some(file) => super::asdf::to_value(file, at),
        None => Ok((plain_value(backend, at)?, Vec::new())),
    }
}

/// An item as a value, arrays as nested lists.
fn plain_value(backend: &dyn Backend, at: &ItemLocation) -> Result<Value> {
    let options = ExpandOptions { inline: true, tags: true, ..ExpandOptions::default() };
    let mut built = ValueBuilder::default();
    expand_plain(backend, at, options, &mut |tag, part| {
        let tagged = |value: Value| Value { tag: value.tag.or_else(|| tag.map(str::to_owned)), ..value };
        match part {
            ExpandEvent::Mapping => built.begin_collection(tagged(Value::map::<Value, Value>([]))),
            ExpandEvent::List => built.begin_collection(tagged(Value::seq::<Value>([]))),
            ExpandEvent::Key(name) => built.key(name.into_owned().into()),
            ExpandEvent::End => built.end_collection(),
            ExpandEvent::Scalar(scalar) => built.push_value(tagged(scalar_value(scalar))),
            ExpandEvent::Array(array) => {
                built.push_value(tagged(inline_write::nested(array, "tag:stsci.edu:asdf/core/complex-1.0.0")?.flow()));
            }
            ExpandEvent::Description(found) => {
                let shape = Value::seq(found.shape.iter().copied()).flow();
                built.push_value(Value::map([("datatype", Value::from(found.datatype.to_string())), ("shape", shape)]));
            }
            ExpandEvent::Unreadable(why) => return Err(why.copy()),
            // Attributes are not requested by these options.
            ExpandEvent::Attributes(_) => {}
            ExpandEvent::Cycle(path) => built.push_value(Value::map([("$ref", format!("#{path}"))])),
        }
        Ok(())
    })?;
    Ok(built.finish().unwrap_or_default())
}

fn scalar_value(scalar: Scalar<'_>) -> Value {
    Value::from(match scalar {
        Scalar::Null => ValueData::Null,
        Scalar::Bool(value) => ValueData::Bool(value),
        Scalar::Int(value) => ValueData::Int(value),
        Scalar::BigInt(digits) => ValueData::BigInt(digits),
        Scalar::Float(value) => ValueData::Float(value),
        Scalar::Str(text) => ValueData::Str(text.into_owned()),
        Scalar::Timestamp(text) | Scalar::Binary(text) => ValueData::Plain(text.into_owned()),
    })
}

/// The path of an item of a family that does not know it: its items are compared.
pub(super) fn path_of<B: Backend + ?Sized>(backend: &B, at: &ItemLocation) -> Option<String> {
    let number = match at {
        ItemLocation::Array { path, .. } => return Some(path.to_string()),
        ItemLocation::Node(number) => *number,
    };
    let mut left = backend.limits().nodes;
    let mut todo = vec![(String::new(), backend.root())];
    while let Some((path, place)) = todo.pop() {
        left = left.checked_sub(1)?;
        if matches!(place, ItemLocation::Node(found) if found == number) {
            return Some(path);
        }
        let children = backend.children(&place).ok()?.into_iter().enumerate();
        todo.extend(children.map(|(n, child)| (backend.child_path(&path, &child, n), child.place)));
    }
    None
}

/// Lists all arrays of a family that has no references.
fn list_arrays(backend: &dyn Backend) -> Result<Vec<ListedArray>> {
    let limits = backend.limits();
    let mut left = limits.nodes;
    let mut list: Vec<ListedArray> = Vec::new();
    let mut todo = vec![(String::new(), backend.root())];
    while let Some((path, place)) = todo.pop() {
        left = left
            .checked_sub(1)
            .ok_or_else(|| Limits::exceeded_error("nodes", limits.nodes, "the file has more items to visit"))?;
        match backend.kind(&place) {
            ItemKind::Array => {
                if list.len() as u64 >= limits.items {
                    return Err(Limits::exceeded_error("items", limits.items, "the file has more arrays"));
                }
                list.push(ListedArray { path, target: Ok(ResolvedItem::same_file(place)) });
            }
            kind if kind.is_collection() => {
                let children = backend.children(&place)?.into_iter().enumerate();
                let mut below: Vec<_> = children.map(|(n, child)| (backend.child_path(&path, &child, n), child.place)).collect();
                below.reverse();
                todo.extend(below);
            }
            _ => {}
        }
    }
    Ok(list)
}
