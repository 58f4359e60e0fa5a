//! The items of a file of any family as a tree with blocks.

use std::borrow::Cow;

use super::dispatch::NewAsdf;
use super::dudley_asdf::encode_big_integers;
use super::loss::LossAccount;
use crate::asdf::annotations::{self, AttributeEntry, ItemAnnotation};
use crate::asdf::{ArrayOptions, AsdfBuilder, Target};
use crate::dudley::with_ascii_members;
use crate::error::{Error, Result};
use crate::file::annotations::attribute_key;
use crate::file::{File, Item, ItemKind};
use crate::tree::{Value, ValueData};
use crate::yaml::ValueBuilder;

/// Builds a file of the newest generation of ASDF of the items of a file. Metadata (comments, units, attributes) goes into the mapping
/// `annotations`.
///
/// # Errors
/// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for datatypes that the generation lacks, and an error if
/// the items cannot be read.
pub(super) fn to_asdf(file: &File, account: &mut LossAccount) -> Result<NewAsdf> {
    let builder = AsdfBuilder::new(Target::latest());
    let mut made = TreeBuilder { file_name: file.source().name(), builder, annotations: Vec::new(), account };
    let root = file.root();
    let mut built = ValueBuilder::default();
    let mut walk = root.walk();
    while let Some(visit) = walk.try_next()? {
        while built.depth() > visit.depth {
            built.end_collection();
        }
        let path = walk.path();
        made.record_metadata(&visit.item, &path)?;
        if let Some(name) = &visit.name {
            built.key(Value::from(&**name));
        }
        match visit.item.kind() {
            ItemKind::Mapping => built.begin_collection(Value::map::<Value, Value>([])),
            ItemKind::List => built.begin_collection(Value::seq::<Value>([])),
            kind => match made.build_leaf_value(&visit.item, kind, &path) {
                Ok(value) => built.push_value(value),
                Err(why) if kind == ItemKind::Array => made.account.skip_item(&path, why)?,
                Err(why) => return Err(why),
            },
        }
    }
    let mut tree = match built.finish() {
        Some(value) if matches!(value.data, ValueData::Map(_)) => value,
        value => Value::map([("items", value.unwrap_or_else(Value::null))]),
    };
    let TreeBuilder { builder, annotations: said, account, .. } = made;
    if !said.is_empty() && !annotations::insert(&mut tree, said, None) {
        account.add_loss("", "everything that the file states about its items: the keys for it are taken");
    }
    Ok(NewAsdf { builder, tree })
}

struct TreeBuilder<'a> {
    file_name: &'a str,
    builder: AsdfBuilder<'static>,
    annotations: Vec<(String, ItemAnnotation)>,
    account: &'a mut LossAccount,
}

impl TreeBuilder<'_> {
    fn build_leaf_value(&mut self, item: &Item<'_>, kind: ItemKind, path: &str) -> Result<Value> {
        match kind {
            ItemKind::Array => {
                let array = item.array()?.with_item_name(self.file_name, path);
                let array = with_ascii_members(&item.decoder().decode_text(array)?)?;
                self.account.check_readable(&array)?;
                self.builder.array(&array, &ArrayOptions::default())
            }
            ItemKind::Reference => match item.metadata().reference {
                Some(uri) => Ok(Value::map([("$ref", Value::from(uri.as_ref()))])),
                None => {
                    self.account.add_loss(path, "the reference is not written as one");
                    Ok(Value::null())
                }
            },
            _ => Ok(item.to_value().map_err(|error: Error| error.at_path(path))?.0),
        }
    }

    /// Keeps what is said about an item besides its value.
    fn record_metadata(&mut self, item: &Item<'_>, path: &str) -> Result<()> {
        let notes = item.metadata();
        let mut found = ItemAnnotation {
            doc: notes.comment.map(Cow::into_owned),
            unit: notes.unit.map(Cow::into_owned),
            ..ItemAnnotation::default()
        };
        for attribute in item.attributes()?.iter().filter(|attribute| attribute.is_visible()) {
            match AttributeEntry::from_attribute(attribute) {
                Some(mut entry) => {
                    let at = (path, attribute.name.as_str());
                    encode_big_integers(&mut entry.value, Target::latest(), at, self.account);
                    found.attributes.push(entry);
                }
                None => {
                    let message = format!("its attribute {}, an array of several axes", attribute.name);
                    self.account.add_loss(path, message);
                }
            }
        }
        for (name, text) in notes.attributes {
            if !found.attributes.iter().any(|entry| entry.name == attribute_key(&name)) {
                found.push_layout_attribute(AttributeEntry::new(name, text));
            }
        }
        // A group of a file set has the first axis of all arrays in it, which these have themselves.
        if !item.kind().is_collection() {
            found.axes = item.axes().unwrap_or_default().names;
        }
        found.collect_unit();
        if found.axes.iter().all(Option::is_none) {
            found.axes.clear();
        }
        if !found.is_empty() {
            self.annotations.push((path.to_owned(), found));
        }
        Ok(())
    }
}
