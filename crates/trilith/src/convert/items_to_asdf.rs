//! The items of a file of any family as a tree with blocks.

use std::io::{Seek, Write};

use super::loss::{check_readable, to_unreadable_loss};
use crate::asdf::{ArrayOptions, AsdfBuilder, Target};
use crate::diagnostic::Diagnostic;
use crate::dudley::with_ascii_members;
use crate::error::{Error, Result};
use crate::file::{File, Item, ItemKind};
use crate::tree::{Value, ValueData};
use crate::yaml::ValueBuilder;

/// The key of the names of the axes among what is said of an array.
const AXES: &str = "axes";

/// Writes the items of a file as a file of the ASDF family, with arrays stored as in `how`. Metadata (comments,
/// units, attributes) goes into a mapping that is named like the family, by path.
///
/// # Errors
/// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for datatypes that the generation lacks,
/// [`ErrorKind::Io`](crate::ErrorKind::Io) if writing fails, and an error if the items cannot be read.
pub(super) fn to_asdf<W: Write + Seek>(
    file: &File,
    target: &'static Target,
    how: &ArrayOptions,
    skip: bool,
    out: W,
) -> Result<Vec<Diagnostic>> {
    let mut made = TreeBuilder { builder: AsdfBuilder::new(target), options: how, annotations: Vec::new(), losses: Vec::new() };
    let root = file.root();
    let mut built = ValueBuilder::default();
    let mut walk = root.walk();
    while let Some(visit) = walk.try_next()? {
        while built.depth() > visit.depth {
            built.end_collection();
        }
        let path = walk.path();
        made.record_metadata(&visit.item, &path);
        if let Some(name) = &visit.name {
            built.key(Value::from(&**name));
        }
        match visit.item.kind() {
            ItemKind::Mapping => built.begin_collection(Value::map::<Value, Value>([])),
            ItemKind::List => built.begin_collection(Value::seq::<Value>([])),
            kind => match made.build_leaf_value(&visit.item, kind, &path, skip) {
                Ok(value) => built.push_value(value),
                Err(why) => made.losses.push(to_unreadable_loss(&path, why, skip && kind == ItemKind::Array)?),
            },
        }
    }
    let mut tree = match built.finish() {
        Some(value) if matches!(value.data, ValueData::Map(_)) => value,
        value => Value::map([("items", value.unwrap_or_else(Value::null))]),
    };
    let TreeBuilder { builder, annotations: said, mut losses, .. } = made;
    if !said.is_empty() {
        let key = file.family();
        match tree.get(key) {
            Some(_) => {
                losses.push(Diagnostic::loss(&format!("/{key}"), "an item of that name hides other content of the file"));
            }
            None => tree.set(key, Value::map([("notes", Value::map(said))])),
        }
    }
    builder.write_to(out, tree)?;
    Ok(losses)
}

struct TreeBuilder<'a> {
    builder: AsdfBuilder<'a>,
    options: &'a ArrayOptions,
    annotations: Vec<(String, Value)>,
    losses: Vec<Diagnostic>,
}

impl TreeBuilder<'_> {
    fn build_leaf_value(&mut self, item: &Item<'_>, kind: ItemKind, path: &str, skip: bool) -> Result<Value> {
        match kind {
            ItemKind::Array => {
                let array = with_ascii_members(&item.decode_text(item.array()?)?)?;
                if skip {
                    check_readable(&array)?;
                }
                self.builder.array(&array, self.options)
            }
            ItemKind::Reference => match item.metadata().reference {
                Some(uri) => Ok(Value::map([("$ref", Value::from(uri.as_ref()))])),
                None => {
                    self.losses.push(Diagnostic::loss(path, "the reference is not written as one"));
                    Ok(Value::null())
                }
            },
            _ => Ok(item.to_value().map_err(|error: Error| error.at_path(path))?.0),
        }
    }

    /// Keeps what is said about an item besides its value.
    fn record_metadata(&mut self, item: &Item<'_>, path: &str) {
        let notes = item.metadata();
        let comment = notes.comment.iter().map(|text| ("comment".to_owned(), Value::from(text.as_ref())));
        let unit = notes.unit.iter().map(|text| ("unit".to_owned(), Value::from(text.as_ref())));
        let others = notes.attributes.iter().map(|(name, text)| (name.clone().into_owned(), Value::from(text.as_str())));
        let mut said: Vec<(String, Value)> = comment.chain(unit).chain(others).collect();
        // A group of a file set has the first axis of all arrays in it, which these have themselves.
        let axes = if item.kind().is_collection() { Vec::new() } else { item.axes().unwrap_or_default().names };
        if axes.iter().any(Option::is_some) {
            let names = axes.iter().map(|name| name.as_deref().map_or(Value::null(), Value::from));
            said.push((AXES.to_owned(), Value::from(ValueData::Seq(names.collect())).flow()));
        }
        if !said.is_empty() {
            self.annotations.push((path.to_owned(), Value::map(said)));
        }
    }
}
