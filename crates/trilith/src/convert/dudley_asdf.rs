//! Conversion between the families: a Dudley stream as a tree with blocks, and back.
//!
//! Dicts are mappings and lists are sequences, structs are structured datatypes, parameters are whole numbers.
//! Scalars of a mapping become attributes of its dict. A value that no attribute can hold becomes an attribute with
//! its YAML text, marked by another, `asdf_type:NAME`, so that the way back finds it. Documentation, the attributes of arrays
//! and lists, and all attributes of files of other formats are in the mapping `annotations` of a tree.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{Seek, Write};
use std::sync::Arc;

use super::array_storage::{ArrayStorage, DetachedArrays, ItemOptions};
use super::dispatch::NewAsdf;
use super::expansion_budget::AliasBudget;
use super::history;
use super::layout_form::LayoutForm;
use super::loss::{LossAccount, parse_unreadable_loss};
use super::reserved_keys;
use super::translate::retag_value;
use crate::array::attribute::{AttributeValue, ItemAttribute};
use crate::array::{Array, Byteorder, Datatype, has_undecodable_text};
use crate::asdf::annotations::{self, AttributeEntry, ItemAnnotation};
use crate::asdf::{self, ArrayOptions, AsdfBuilder, AsdfFile, FitsContainer, Target, big_integer, ndarray};
use crate::bytes::{DerivedSource, MemorySource, from_base64};
use crate::diagnostic::Diagnostic;
use crate::dudley::{Draft, DudleyFile, ItemTreeId, NewItemKind, OutlineKind, StreamItems, StreamOutline, with_ascii_members};
use crate::error::{Error, Result};
use crate::file::annotations::{attribute_name as read_name, layout_attribute_key};
use crate::file::value_of;
use crate::json_pointer::{escape_key, unescape_key};
use crate::layout::{
    Attribute, Dialect, ELEMENT_ATTRIBUTES, ItemId, LayoutEntry, LayoutLiteral, Primitive, PrimitiveKind, attribute_name,
    own_attribute, own_value, read_own, read_value,
};
use crate::limits::Limits;
use crate::tree::{Node, PrintOptions, Scalar, Tree, Value, ValueData, print_value};

/// The attribute that keeps the tag of a mapping, a sequence or an array.
const TAG_ATTRIBUTE: &str = "asdf_tag";
/// The prefix of the attribute that marks another as YAML text.
const TYPE_PREFIX: &str = "asdf_type:";
/// The attribute that keeps the YAML text of an element among arrays, and the empty item that holds its place.
const VALUE_ATTRIBUTE: &str = "asdf_value";
/// About as many bytes as an item of a stream takes in a tree that is to be written.
const NODE_COST: u64 = 1600;
/// The key of the mapping of earlier versions, which held what `annotations` holds.
pub(super) const EARLY_KEY: &str = "dudley";
/// Maximum depth of nested dicts and lists.
const MAX_DEPTH: usize = 200;

/// Writes a Dudley stream as a file of the ASDF family; `how` are the options for arrays. With `stack` a list of equal
/// arrays is written as one array with a leading axis.
///
/// # Errors
/// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for datatypes that the generation lacks, what reading the
/// arrays says, and [`ErrorKind::Io`](crate::ErrorKind::Io).
pub fn stream_to_asdf<W: Write + Seek>(
    file: &DudleyFile,
    target: &'static Target,
    how: &ArrayOptions,
    stack: bool,
    out: W,
) -> Result<Vec<Diagnostic>> {
    let reading = ItemOptions { stack_lists: stack, physical: false, masks: false };
    let mut account = LossAccount::default();
    let NewAsdf { builder, tree } = build_asdf(file, target, how, reading, &mut account)?;
    builder.write_to(out, tree)?;
    Ok(account.losses)
}

/// Builds a file of the ASDF family of a Dudley stream.
///
/// # Errors
/// Returns the errors of [`stream_to_asdf`].
pub(super) fn build_asdf(
    file: &DudleyFile,
    target: &'static Target,
    how: &ArrayOptions,
    reading: ItemOptions,
    account: &mut LossAccount,
) -> Result<NewAsdf> {
    let _call = file.limits().call();
    let mut stored = ArrayStorage::Blocks(AsdfBuilder::new(target), how);
    let tree = tree_of(file, reading, target, &mut stored, account)?;
    let ArrayStorage::Blocks(builder, _) = stored else { return Err(Error::invalid_input("arrays without a file")) };
    Ok(NewAsdf { builder, tree })
}

/// Returns a Dudley file as one of the ASDF family, without writing it: its arrays stay in the file, and have the values
/// with which the file was opened. With it come the paths of items that are left out because they cannot be read, and the
/// reasons.
///
/// # Errors
/// Returns the errors of [`stream_to_asdf`].
pub(crate) fn stream_as_asdf(file: &DudleyFile) -> Result<(AsdfFile, Vec<(String, String)>)> {
    let _call = file.limits().call();
    let mut stored = ArrayStorage::Detached(Vec::new());
    let reading = ItemOptions { stack_lists: false, physical: file.is_physical(), masks: false };
    let mut account = LossAccount { skip_unreadable: true, ..LossAccount::default() };
    let root = tree_of(file, reading, Target::latest(), &mut stored, &mut account)?;
    let left_out = account.losses.iter().filter_map(parse_unreadable_loss).collect();
    let text = AsdfBuilder::new(Target::latest()).tree_text(root)?;
    file.limits().charge_memory(text.len() as u64, "the tree of a stream")?;
    let text = MemorySource::new(format!("#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n{text}").into(), file.source().name());
    let made = AsdfFile::open(Arc::new(DerivedSource::new(Arc::new(text), file.source().clone())), file.limits())?;
    // The arrays are outside of the tree, like those of a FITS file.
    let container = FitsContainer { hdu: 1, offset: 0, size: file.source().len() };
    let ArrayStorage::Detached(arrays) = stored else { return Ok((made, left_out)) };
    Ok((made.with_container(container, Arc::new(DetachedArrays(arrays))), left_out))
}

/// The tree of a stream.
fn tree_of(
    file: &DudleyFile,
    reading: ItemOptions,
    target: &'static Target,
    stored: &mut ArrayStorage<'_>,
    account: &mut LossAccount,
) -> Result<Value> {
    let items = file.locate_items()?;
    // The one that the file keeps: with very many items a second one would take hundreds of megabytes.
    let outline = file.outline()?;
    file.limits().charge_memory(outline.node_count().saturating_mul(NODE_COST), "the tree of a stream, to be written,")?;
    let mut walk = DudleyToTree {
        items: &items,
        outline,
        arrays: stored,
        item_options: reading,
        target,
        annotations: Vec::new(),
        attribute_arrays: HashMap::new(),
        layout_form: LayoutForm::default(),
        account,
    };
    walk.add_layout();
    let mut root = walk.build_value(ItemTreeId::ROOT, "", 0)?.unwrap_or_else(|| Value::map::<&str, Value>([]));
    let renamed = reserved_keys::rename_reserved(&mut root, walk.account);
    if let ValueData::Map(pairs) = &mut root.data
        && let Some((_, history)) = pairs.iter_mut().find(|(key, _)| key.as_str() == Some(reserved_keys::HISTORY_KEY))
    {
        *history = history::in_form(std::mem::replace(history, Value::null()), target.history_is_mapping);
    }
    let is_foreign = walk.is_foreign();
    let mut native = Vec::new();
    if !is_foreign {
        native.push(("dialect", Value::from(file.layout().dialect().name().to_owned())));
        native.extend(file.byteorder().map(|order| ("byteorder", Value::from(order.name()))));
    }
    let (mut form, mut items) = (walk.layout_form, walk.annotations);
    for (name, key) in renamed {
        let (old, new) = (format!("/{}", escape_key(&name)), format!("/{}", escape_key(&key)));
        let paths = items.iter_mut().map(|(path, _)| path).chain(&mut form.parameters);
        let paths =
            paths.chain([&mut form.stored, &mut form.shapes, &mut form.types].into_iter().flatten().map(|(path, _)| path));
        for path in paths {
            if let Some(rest) = path.strip_prefix(&old).filter(|rest| rest.is_empty() || rest.starts_with('/')) {
                *path = format!("{new}{rest}");
            }
        }
    }
    let form = form.into_value(native);
    // Without the mapping, a key `dudley` of the data might look like that of earlier versions.
    if (form.is_some() || !items.is_empty() || root.get(EARLY_KEY).is_some()) && !annotations::insert(&mut root, items, form) {
        walk.account.add_loss("", "everything that the file states about its items: the keys for it are taken");
    }
    Ok(root)
}

/// The form of an array in a tree.
enum ArrayForm {
    Array(Array),
    /// Strings of variable length, each as long as it is, or strings of which some are bytes.
    Strings(Value),
}

/// Returns `true` if the strings of an array become a list in a tree, because an array would be many times larger.
///
/// # Errors
/// Returns the errors of [`Array::much_padded`].
pub(super) fn is_list(array: &Array) -> Result<bool> {
    Ok(array.element_count() <= array.limits().nodes && array.much_padded()?.is_some())
}

/// Returns `true` if some strings of an array are not in their declared encoding. They are bytes in a tree, and strings with such
/// bytes a list.
///
/// # Errors
/// Returns the errors of reading all elements.
pub(super) fn has_bytes(array: &Array) -> Result<bool> {
    let is_text = matches!(array.datatype(), Datatype::Utf8(_) | Datatype::Struct(_));
    Ok(is_text && has_undecodable_text(array)?)
}

/// The attributes of an item that are not collected; by default none.
#[derive(Default)]
pub(super) struct AttributeFilter<'a> {
    /// The children of a dict, whose other attributes are members.
    pub(super) children: Option<&'a [(Option<&'a str>, ItemTreeId)]>,
    /// The names of attributes that are left out, because the elements follow them.
    pub(super) applied: Vec<&'a str>,
}

pub(super) struct DudleyToTree<'a, 'f, 's> {
    pub items: &'a StreamItems<'f>,
    outline: &'a StreamOutline,
    arrays: &'a mut ArrayStorage<'s>,
    pub item_options: ItemOptions,
    target: &'static Target,
    annotations: Vec<(String, ItemAnnotation)>,
    /// The attributes that are items of the layout, which were looked at: the arrays that annotations keep.
    attribute_arrays: HashMap<ItemTreeId, Option<Array>>,
    pub layout_form: LayoutForm,
    pub account: &'a mut LossAccount,
}

impl DudleyToTree<'_, '_, '_> {
    /// A node and all below it; recursion is limited by [`MAX_DEPTH`]. None for an item that is skipped.
    fn build_value(&mut self, id: ItemTreeId, path: &str, depth: usize) -> Result<Option<Value>> {
        if depth > MAX_DEPTH {
            return Err(Error::limit(format!("dicts and lists nest more than {MAX_DEPTH} deep")));
        }
        let layout = self.items.file().layout();
        let item = self.outline.item(id);
        let thing = self.outline.kind(id);
        if let (OutlineKind::Dict, Some(item)) = (thing, item)
            && let Some((_, Attribute::Value(LayoutLiteral::Text(text)))) =
                layout.attributes(item).find(|(name, _)| *name == VALUE_ATTRIBUTE)
            && let Some(value) = self.parse_yaml_value(text)
        {
            return Ok(Some(value));
        }
        let mut children = if matches!(thing, OutlineKind::Dict) { Some(self.outline.children(id)) } else { None };
        if let Some(children) = &mut children {
            // An attribute that is not a small array is an item.
            let outline = self.outline;
            children.extend(outline.attributes_in(id).into_iter().filter(|(_, child)| !self.is_kept_attribute(*child)));
        }
        self.annotate_array_attributes(id, path);
        if let Some(item) = item.filter(|_| !matches!(thing, OutlineKind::Data(_))) {
            // An attribute of a dict of a file of another format is not an item.
            let members = children.as_deref().filter(|_| !self.is_foreign());
            self.annotate(item, path, &AttributeFilter { children: members, applied: Vec::new() });
        }
        let mut value = match thing {
            OutlineKind::Dict => {
                let children = children.unwrap_or_default();
                // A tree may have very many dicts with few members each, so the capacity is exact.
                let mut map = Value::from(Vec::<(Value, Value)>::with_capacity(children.len()));
                if let Some(item) = item.filter(|_| !self.is_foreign()) {
                    self.dict_attributes(item, path, &children, &mut map);
                }
                for (name, child) in children {
                    let mut name = name.unwrap_or("").to_owned();
                    if self.outline.is_shadowed(id, child) {
                        name.push_str(" (parameter)");
                    }
                    let key = reserved_keys::key_of(self.is_foreign(), &name);
                    if let Some(inner) = self.build_value(child, &format!("{path}/{}", escape_key(&key)), depth + 1)? {
                        map.push_pair(key, inner);
                    }
                }
                map
            }
            OutlineKind::List => match self.stacked_list(id, path)? {
                Some(node) => node,
                None => {
                    let mut items = Vec::new();
                    for (n, (_, child)) in self.outline.children(id).into_iter().enumerate() {
                        // The others keep their numbers.
                        items.push(self.build_value(child, &format!("{path}/{n}"), depth + 1)?.unwrap_or_else(Value::null));
                    }
                    Value::seq(items)
                }
            },
            OutlineKind::Param(value, entry) => {
                match entry.and_then(|entry| entry.resolved_type.primitive()) {
                    Some(stored) => self.layout_form.stored.push((path.to_owned(), Value::from(stored.name().to_owned()))),
                    None => self.layout_form.parameters.push(path.to_owned()),
                }
                Value::from(value)
            }
            OutlineKind::Null => Value::null(),
            OutlineKind::Data(entry) => match self.convert_array(entry, path) {
                Ok(ArrayForm::Array(array)) => {
                    if !self.item_options.stack_lists && !entry.path.ends_with(']') && self.is_element(entry) {
                        let message = format!(
                            "the list of {} equal items becomes one array, as with --stack",
                            array.shape().first().unwrap_or(&0)
                        );
                        self.account.add_loss(path, message);
                    }
                    self.add_array(entry, path);
                    self.arrays.build_array_node(&array).map_err(|error| error.in_item("", path))?
                }
                Ok(ArrayForm::Strings(list)) => {
                    self.add_array(entry, path);
                    list
                }
                Err(why) => {
                    self.account.skip_item(path, why)?;
                    return Ok(None);
                }
            },
        };
        if let Some(item) = item
            && value.tag.is_none()
        {
            value.tag = self.tag_of(item);
        }
        Ok(Some(value))
    }

    /// The array of an item, in a datatype that ASDF has.
    fn convert_array(&mut self, entry: &LayoutEntry, path: &str) -> Result<ArrayForm> {
        let file = self.items.file();
        let is_masked = self.item_options.masks && has_room(entry) && file.is_filled(entry)?;
        let array = match self.item_options {
            ItemOptions { physical, .. } if physical || is_masked => file.array_of(entry)?,
            ItemOptions { masks, .. } => {
                let array = file.with_declared_text(entry, self.items.array(entry)?)?;
                if masks { file.with_mask_page(entry.item, array)? } else { array }
            }
        };
        let array = array.with_item_name(file.source().name(), path);
        if is_list(&array)? || matches!(array.datatype(), Datatype::Utf8(_)) && has_bytes(&array)? {
            return asdf::inline_write::nested(&array, "").map(ArrayForm::Strings);
        }
        // Blocks get a new checksum. An array that is held may be a copy.
        if matches!(self.arrays, ArrayStorage::Blocks(..)) {
            array.verify_checksum()?;
        }
        let array = self.convert_to_asdf_datatype(&array, path)?;
        // The output must be readable as a whole.
        if matches!(self.arrays, ArrayStorage::Blocks(..)) {
            self.account.check_readable(&array)?;
        }
        Ok(ArrayForm::Array(array))
    }

    /// The node of the one array that the items of a list are, if that is asked for and they are equal.
    fn stacked_list(&mut self, id: ItemTreeId, path: &str) -> Result<Option<Value>> {
        let children = if self.item_options.stack_lists { self.outline.children(id) } else { Vec::new() };
        let mut arrays = Vec::with_capacity(children.len());
        for (_, child) in children {
            let OutlineKind::Data(entry) = self.outline.kind(child) else { return Ok(None) };
            let Ok(array) = self.items.array(entry) else { return Ok(None) };
            arrays.push(array);
        }
        let Ok(array) = Array::stack(arrays) else { return Ok(None) };
        let array = array.with_item_name(self.items.file().source().name(), path);
        let array = self.convert_to_asdf_datatype(&array, path)?;
        self.arrays.build_array_node(&array).map(Some).map_err(|error| error.in_item("", path))
    }

    /// The array in a datatype that ASDF has.
    fn convert_to_asdf_datatype(&mut self, array: &Array, path: &str) -> Result<Array> {
        let file = self.items.file();
        match array.datatype() {
            Datatype::Utf8(_) | Datatype::Ucs2(_) => Array::from_texts(&array.load_texts()?, array.shape()),
            Datatype::Complex32 => {
                self.account.add_loss(path, "complex32 becomes complex64, which holds the same values");
                Array::from_slice(&array.load_as::<num_complex::Complex32>()?, array.shape())
            }
            _ => with_ascii_members(&file.decoded(array)?),
        }
    }

    /// The value of YAML text on one line, with the tags of the target.
    fn parse_yaml_value(&self, text: &str) -> Option<Value> {
        let tree = single_value(text)?;
        let mut value = tree.root().index(0)?.to_value(self.items.file().limits()).ok()?;
        retag_value(&mut value, self.target);
        Some(value)
    }

    /// The scalars of a mapping.
    fn dict_attributes(&mut self, item: ItemId, path: &str, children: &[(Option<&str>, ItemTreeId)], map: &mut Value) {
        let layout = self.items.file().layout();
        let said: Vec<(&str, &Attribute)> = layout.attributes(item).collect();
        for (spelled, value) in &said {
            let Some(name) = file_attribute_name(item, spelled) else { continue };
            if self.is_name_taken(item, &name, children) {
                continue;
            }
            let is_yaml = said.iter().any(|(mark, _)| mark.strip_prefix(TYPE_PREFIX) == Some(*spelled));
            let made = match value {
                Attribute::Value(LayoutLiteral::Text(text)) if is_yaml => self.parse_yaml_value(text),
                _ => None,
            };
            let made = made.unwrap_or_else(|| self.attribute_value(value, path, &name));
            map.set(reserved_keys::key_of(self.is_foreign(), &name), made);
        }
    }

    /// The value of an attribute of the layout. Integers beyond 64 bits are core/integer; without it, they are a loss.
    fn attribute_value(&mut self, said: &Attribute, path: &str, name: &str) -> Value {
        let mut value = value_of(&read_value(said));
        encode_big_integers(&mut value, self.target, (path, name), self.account);
        value
    }

    /// Returns `true` if an attribute of a dict cannot be a member of the mapping: another member has its name, or
    /// the name means something to readers of ASDF.
    fn is_name_taken(&self, item: ItemId, name: &str, children: &[(Option<&str>, ItemTreeId)]) -> bool {
        (reserved_keys::is_root_key(item == ItemId::ROOT, name) && !self.is_history(name))
            || children.iter().any(|(child, _)| *child == Some(name))
    }

    /// Returns `true` if an attribute of the root is the history of a tree.
    fn is_history(&self, name: &str) -> bool {
        let layout = self.items.file().layout();
        let said = || layout.attributes(ItemId::ROOT).find(|(known, _)| *known == reserved_keys::HISTORY_KEY);
        let is_yaml = || {
            layout.attributes(ItemId::ROOT).any(|(known, _)| known.strip_prefix(TYPE_PREFIX) == Some(reserved_keys::HISTORY_KEY))
        };
        match (name == reserved_keys::HISTORY_KEY && is_yaml()).then(said).flatten() {
            Some((_, Attribute::Value(LayoutLiteral::Text(text)))) => {
                self.parse_yaml_value(text).is_some_and(|value| reserved_keys::is_history(&value))
            }
            _ => false,
        }
    }

    /// Returns `true` if an entry is declared as an element of a list.
    fn is_element(&self, entry: &LayoutEntry) -> bool {
        let layout = self.items.file().layout();
        layout.parent(entry.item).is_some_and(|parent| layout.kind(parent) == crate::layout::ItemKind::List)
    }

    /// Returns `true` if the file has a format whose names mean nothing to readers of ASDF.
    pub(super) fn is_foreign(&self) -> bool {
        self.items.file().is_foreign()
    }

    /// The tag of a tree that a layout keeps for an item.
    fn tag_of(&self, item: ItemId) -> Option<String> {
        let layout = self.items.file().layout();
        let (_, Attribute::Value(LayoutLiteral::Text(tag))) = layout.attributes(item).find(|(name, _)| *name == TAG_ATTRIBUTE)?
        else {
            return None;
        };
        let is_tag = tag.chars().all(|c| c.is_ascii_graphic());
        is_tag.then(|| self.target.tag_for(tag).unwrap_or_else(|| tag.clone()))
    }

    /// Keeps what the layout declares about an item, without the attributes that the filter leaves out.
    pub(super) fn annotate(&mut self, item: ItemId, path: &str, filter: &AttributeFilter<'_>) {
        let found = self.annotation_of(item, path, filter);
        self.push_annotation(path, found);
    }

    /// Keeps the attributes of an item that are arrays of numbers or strings, as nested lists.
    fn annotate_array_attributes(&mut self, id: ItemTreeId, path: &str) {
        let mut kept = ItemAnnotation::default();
        for (name, attribute) in self.outline.attribute_items(id) {
            let Some(array) = self.attribute_arrays.get(&attribute).cloned().unwrap_or_else(|| self.attribute_array(attribute))
            else {
                continue;
            };
            let value = AttributeValue::Array(Box::new(array));
            let Some(mut entry) = AttributeEntry::from_attribute(&ItemAttribute::new(name, value)) else { continue };
            entry.names = self.enum_names(attribute);
            encode_big_integers(&mut entry.value, self.target, (path, name), self.account);
            kept.attributes.push(entry);
        }
        if !kept.is_empty() {
            self.annotations.push((path.to_owned(), kept));
        }
    }

    /// The names of the values of an attribute that is an item.
    fn enum_names(&self, attribute: ItemTreeId) -> Vec<(String, Value)> {
        let mut said = ItemAnnotation::default();
        let layout = self.items.file().layout();
        for (name, value) in self.outline.item(attribute).into_iter().flat_map(|item| layout.attributes(item)) {
            said.push_layout_attribute(AttributeEntry::new(name, value_of(&read_value(value))));
        }
        said.collect_layout_words();
        said.enumeration
    }

    /// Returns `true` if an attribute is kept by the item that has it, and is not an item of the tree.
    fn is_kept_attribute(&mut self, attribute: ItemTreeId) -> bool {
        let found = self.attribute_array(attribute);
        let is_kept = found.is_some();
        self.attribute_arrays.insert(attribute, found);
        is_kept
    }

    /// Returns an attribute that is a small array of numbers or strings; None for any other, which is an item of the tree.
    fn attribute_array(&self, attribute: ItemTreeId) -> Option<Array> {
        /// Elements of an attribute that a tree holds as text.
        const MAX_ELEMENTS: u64 = 1 << 16;
        let file = self.items.file();
        let OutlineKind::Data(entry) = self.outline.kind(attribute) else { return None };
        let array = file.array_of(entry).and_then(|array| file.decoded(&array)).ok()?;
        let is_small = array.datatype().as_struct().is_none() && array.element_count() <= MAX_ELEMENTS;
        is_small.then_some(array)
    }

    /// Keeps an annotation that says something, with what is kept of the item already.
    pub(super) fn push_annotation(&mut self, path: &str, mut found: ItemAnnotation) {
        if let Some((_, kept)) = self.annotations.pop_if(|(known, _)| known == path) {
            found.attributes.extend(kept.attributes);
        }
        if !found.is_empty() {
            self.annotations.push((path.to_owned(), found));
        }
    }

    /// Returns what the layout declares about an item.
    pub(super) fn annotation_of(&mut self, item: ItemId, path: &str, filter: &AttributeFilter<'_>) -> ItemAnnotation {
        let layout = self.items.file().layout();
        // A layout puts a blank before each line.
        let docs: Vec<&str> = layout.docs(item).map(|line| line.strip_prefix(' ').unwrap_or(line)).collect();
        let mut found = ItemAnnotation { doc: (!docs.is_empty()).then(|| docs.join("\n")), ..ItemAnnotation::default() };
        for raw in layout.raw_attributes(item) {
            self.account.add_loss(path, format!("its attribute `{raw}`, which is not understood"));
        }
        for (spelled, said) in layout.attributes(item) {
            let name = match file_attribute_name(item, spelled) {
                _ if filter.applied.contains(&spelled) => continue,
                Some(name) if filter.children.is_some_and(|children| !self.is_name_taken(item, &name, children)) => continue,
                Some(_) => match layout_attribute_key(spelled) {
                    Some(key) => key,
                    None => continue,
                },
                None if ELEMENT_ATTRIBUTES.contains(&spelled) => spelled.to_owned(),
                None => continue,
            };
            let value = self.attribute_value(said, path, &name);
            found.push_layout_attribute(AttributeEntry::new(name, value));
        }
        found.collect_layout_words();
        found
    }
}

/// Makes core/integers of integers beyond 64 bits in the value of the attribute `name` of an item, which may be nested lists.
pub(super) fn encode_big_integers(
    value: &mut Value,
    target: &'static Target,
    (path, name): (&str, &str),
    account: &mut LossAccount,
) {
    match &mut value.data {
        ValueData::Seq(items) => items.iter_mut().for_each(|item| encode_big_integers(item, target, (path, name), account)),
        ValueData::BigInt(digits) => {
            *value = big_integer::encode(digits, target).unwrap_or_else(|| {
                let lost = format!("the integer {digits} in its attribute {name}, which becomes a string");
                account.add_loss(path, format!("{lost}: {} has no form for it", target.name));
                Value::from(digits.as_str())
            });
        }
        _ => {}
    }
}

/// Returns `true` for what an attribute has as one of its values.
fn is_word(node: Node<'_>) -> bool {
    node.is_scalar() || big_integer::decode(node).is_some()
}

/// Returns `true` for a core/integer, and for a list of numbers with one.
fn has_large(node: Node<'_>) -> bool {
    let is_list = || node.is_sequence() && node.tag().is_none() && node.items().all(is_word);
    big_integer::decode(node).is_some() || is_list() && node.items().any(|item| big_integer::decode(item).is_some())
}

/// Returns the name of an attribute that an item of the file has; `None` for a word about the layout or the tree.
fn file_attribute_name(item: ItemId, spelled: &str) -> Option<Cow<'_, str>> {
    let is_mark = spelled == TAG_ATTRIBUTE || spelled.starts_with(TYPE_PREFIX) || (item == ItemId::ROOT && spelled == "dialect");
    attribute_name(spelled).filter(|_| !is_mark)
}

/// Returns a list of the one YAML value that text on one line is, if it is that.
fn single_value(text: &str) -> Option<Tree> {
    if text.contains(['\n', '\r']) || text.contains(" #") || text.trim() != text {
        return None;
    }
    let tree = |text: String| {
        Tree::parse(text, &Limits::default()).ok().filter(|tree| tree.root().is_sequence() && tree.root().len() == 1)
    };
    tree(format!("[{text}]\n"))?;
    tree(format!("- {text}\n"))
}

/// The tree of a file of the ASDF family as a dict that [`Draft::write`] writes, and what is lost on the way.
///
/// # Errors
/// Returns [`ErrorKind::Limit`](crate::ErrorKind::Limit) for a tree that nests too deeply or has too many nodes,
/// and an error if an array cannot be resolved.
pub fn asdf_to_draft(file: &AsdfFile) -> Result<(Draft, Vec<Diagnostic>)> {
    let mut account = LossAccount::default();
    Ok((asdf_to_draft_with(file, &mut account)?, account.losses))
}

/// Does the same as [`asdf_to_draft`], with losses in an account.
pub(super) fn asdf_to_draft_with(file: &AsdfFile, account: &mut LossAccount) -> Result<Draft> {
    let mut walk = AsdfToDudley::new(file, account);
    let root = file.tree().root();
    let draft = walk.build_item(root, "", 0)?.unwrap_or_else(|| Draft::dict::<&str>([]));
    let mut draft = if root.is_mapping() { draft } else { Draft::dict([("", draft)]) };
    // The tag of the root only marks the root.
    draft.attributes.retain(|(name, _)| name != TAG_ATTRIBUTE);
    if let (NewItemKind::Dict(_), Some((key, mapping))) = (&draft.kind, walk.mapping) {
        let items = if key == EARLY_KEY { early_items(mapping) } else { walk.annotated_items(key, mapping)? };
        let form = if key == EARLY_KEY { Some(mapping) } else { mapping.get(annotations::LAYOUT_KEY) };
        walk.restore_annotations(&mut draft, form, items);
    }
    match asdf::walk::unreferenced_blocks(file)?.len() {
        0 => {}
        n => walk.account.losses.push(Diagnostic::loss_without_path(format!("{n} blocks that no array names"))),
    }
    Ok(draft)
}

pub(super) struct AsdfToDudley<'a> {
    file: &'a AsdfFile,
    /// The mapping `annotations`, or that of earlier versions, with its key.
    mapping: Option<(&'static str, Node<'a>)>,
    account: &'a mut LossAccount,
    budget: AliasBudget<'a>,
    /// Number of open lists.
    list_budget: usize,
}

impl<'a> AsdfToDudley<'a> {
    fn new(file: &'a AsdfFile, account: &'a mut LossAccount) -> Self {
        let early = || Some((EARLY_KEY, file.tree().root().get(EARLY_KEY).filter(|about| is_early_mapping(*about))?));
        Self {
            file,
            mapping: annotations::find(file.tree()).or_else(early),
            account,
            budget: AliasBudget::new(file.tree(), file.limits()),
            list_budget: 0,
        }
    }

    /// A node that is not a scalar of a mapping; recursion is limited by [`MAX_DEPTH`]. None for an array that is skipped.
    fn build_item(&mut self, node: Node<'_>, path: &str, depth: usize) -> Result<Option<Draft>> {
        if depth > MAX_DEPTH {
            return Err(Error::limit(format!("the tree nests more than {MAX_DEPTH} deep")).at_path(path));
        }
        self.budget.charge_nodes(if ndarray::is_ndarray(node) { self.budget.expanded_size(node)?.nodes } else { 1 })?;
        let mut draft = if ndarray::is_ndarray(node) {
            let array = match self.read_stored_array(node) {
                Ok(array) => array,
                Err(why) => {
                    self.account.skip_item(path, why)?;
                    return Ok(None);
                }
            };
            self.budget.charge_array(&array)?;
            if array.mask().is_some() {
                self.account.add_loss(path, "its mask");
            }
            Draft::data(array.without_mask())
        } else if node.is_mapping() {
            self.build_dict(node, path, depth)?
        } else if node.is_sequence() {
            let mut items = Vec::new();
            self.list_budget += 1;
            for (n, item) in node.items().enumerate() {
                let holds = !item.is_scalar() && self.budget.expanded_size(item)?.has_marked;
                let kept = if holds { self.build_item(item, &format!("{path}/{n}"), depth + 1)? } else { None };
                items.push(if let Some(kept) = kept {
                    kept
                } else {
                    let empty = Array::from_slice::<u8>(&[], &[0])?;
                    let mut kept = Draft::dict([(VALUE_ATTRIBUTE, Draft::data(empty))]);
                    let text = if holds { "null".to_owned() } else { self.yaml_line(item)? };
                    kept.attributes.push((VALUE_ATTRIBUTE.to_owned(), Attribute::Value(LayoutLiteral::Text(text))));
                    kept
                });
            }
            self.list_budget -= 1;
            Draft::list(items)
        } else {
            return Err(node.error("the root of this tree is a scalar, for which a Dudley stream has no place"));
        };
        let is_plain = ndarray::is_ndarray(node) || (depth == 0 && path.is_empty());
        if let Some(tag) = node.tag().filter(|_| !is_plain) {
            self.budget.charge_text(tag)?;
            let tag = Target::latest().tag_for(tag).unwrap_or_else(|| tag.to_owned());
            draft.attributes.push((TAG_ATTRIBUTE.to_owned(), Attribute::Value(LayoutLiteral::Text(tag))));
        }
        Ok(Some(draft))
    }

    fn read_stored_array(&self, node: Node<'_>) -> Result<Array> {
        let array = self.file.stored_array(node)?;
        self.account.check_readable(&array)?;
        Ok(array)
    }

    fn build_dict(&mut self, node: Node<'_>, path: &str, depth: usize) -> Result<Draft> {
        let mut items = Vec::new();
        let mut attributes = Vec::new();
        for (key, value) in node.merged_entries() {
            let name = key.text().into_owned();
            let own = reserved_keys::name_of(&name);
            let inner = format!("{path}/{}", escape_key(&name));
            if inner == "/asdf_library" || (inner == "/history" && super::coverage::is_format_history(value)) {
                // The writer of this file and its options; the next writer adds its own.
                continue;
            }
            if self.mapping.is_some_and(|(_, mapping)| mapping.id() == value.id() && path.is_empty()) {
                continue;
            }
            if !matches!(key.scalar(), Scalar::Str(_)) || !key.is_scalar() {
                self.account.add_loss(&inner, "its key becomes text");
            }
            self.budget.charge_text(&name)?;
            // A dict or a list without arrays takes no space, and so is not seen in a list.
            let is_item = value.is_mapping() || (value.is_sequence() && value.is_empty());
            let has_items =
                || (is_item && self.list_budget == 0) || self.budget.expanded_size(value).is_ok_and(|known| known.has_marked);
            let holds = !value.is_scalar() && has_items() && !has_large(value);
            if holds {
                if let Some(draft) = self.build_item(value, &inner, depth + 1)? {
                    items.push((own, draft));
                }
                continue;
            }
            self.budget.charge_nodes(self.budget.expanded_size(value)?.nodes)?;
            let (said, is_yaml) = node_to_attribute(value, false, self.file.limits())?;
            if let Attribute::Value(LayoutLiteral::Text(text)) = &said {
                self.budget.charge_text(text)?;
            }
            let spelled = own_attribute(&own);
            attributes.push((spelled.to_string(), said));
            if is_yaml {
                attributes.push((format!("{TYPE_PREFIX}{spelled}"), Attribute::Value(LayoutLiteral::Text("yaml".into()))));
            }
        }
        let mut draft = Draft::dict(items);
        draft.attributes = attributes;
        Ok(draft)
    }

    /// A value as YAML on one line.
    fn yaml_line(&mut self, node: Node<'_>) -> Result<String> {
        self.budget.charge_nodes(self.budget.expanded_size(node)?.nodes)?;
        let text = flow_text(node, self.file.limits())?;
        self.budget.charge_text(&text)?;
        Ok(text)
    }

    /// Puts documentation, attributes and parameters back where [`stream_to_asdf`] found them.
    fn restore_annotations(&mut self, draft: &mut Draft, form: Option<Node<'_>>, items: Vec<AnnotatedPath<'_>>) {
        let list = |key: &str| form.and_then(|form| form.get(key)).filter(|list| list.is_sequence());
        let map = |key: &str| form.and_then(|form| form.get(key)).filter(|map| map.is_mapping());
        for (at, path) in list("parameters").iter().flat_map(|list| list.items()).enumerate() {
            if restore_param(draft, &file_path(&path.text()), None).is_none() {
                self.report_orphan("parameters", &at.to_string());
            }
        }
        for (path, kind) in map("stored").iter().flat_map(|map| map.entries()) {
            let kind = Primitive::from_name(&kind.text(), Dialect::D2025);
            let kind = kind.filter(|kind| kind.kind() == PrimitiveKind::Signed);
            if restore_param(draft, &file_path(&path.text()), kind).is_none() {
                self.report_orphan("stored", &path.text());
            }
        }
        if let Some(form) = form {
            self.restore_form(draft, form);
        }
        for item in items {
            let Some((docs, attributes)) = Self::annotation_target(draft, &item.key) else {
                let message = format!("describes an item that does not exist: {}", item.key);
                self.account.add_loss(&item.place, message);
                continue;
            };
            docs.extend(item.docs);
            attributes.extend(item.words);
            for (name, value) in item.attributes {
                match node_to_attribute(value, true, self.file.limits()) {
                    Ok((value, is_yaml)) => {
                        if is_yaml {
                            let name = read_own(&name);
                            self.account.add_loss(&item.place, format!("its attribute {name}, whose value becomes text"));
                        }
                        attributes.push((name, value));
                    }
                    Err(error) => self.account.add_loss(&item.place, error.message()),
                }
            }
            item.lost.into_iter().for_each(|what| self.account.add_loss(&item.place, what));
        }
        for loss in draft.reconcile() {
            self.report_form_loss(loss.path_text(), loss.message.clone());
        }
    }

    /// The items of the mapping `annotations`, and the types and the summary block of a layout.
    fn annotated_items(&self, root_key: &str, mapping: Node<'a>) -> Result<Vec<AnnotatedPath<'a>>> {
        let named = mapping.get(annotations::LAYOUT_KEY).and_then(|form| form.get("named"));
        let named = named.filter(|named| named.is_mapping()).map_or_else(Vec::new, Node::pairs);
        let is_path = |key: &str| key.is_empty() || key.starts_with('/');
        let items = mapping.pairs().into_iter().filter(|(key, _)| is_path(&key.text()));
        let mut all = Vec::new();
        for (key, said) in named.into_iter().chain(items).filter(|(_, said)| said.is_mapping()) {
            let known = ItemAnnotation::from_node(said, self.file.limits())?;
            let text = key.text().into_owned();
            let place = format!("/{root_key}/{}", escape_key(&text));
            let attributes = said.get("attributes").filter(|all| all.is_mapping()).map_or_else(Vec::new, Node::pairs);
            let attributes = attributes.into_iter().map(|(name, value)| {
                let is_long = value.is_mapping() && value.tag().is_none();
                let name = name.text();
                let spelled = if ELEMENT_ATTRIBUTES.contains(&&*name) {
                    name
                } else {
                    own_attribute(&read_name(&name)).into_owned().into()
                };
                (spelled.into_owned(), value.get("value").filter(|_| is_long).unwrap_or(value))
            });
            let mut words: Vec<(String, Attribute)> = Vec::new();
            let is_stored = |name: &str| known.attributes.iter().any(|entry| read_name(&entry.name) == name);
            let others = known.file_attributes().into_iter().filter(|(name, _)| !is_stored(name));
            words.extend(others.map(|(name, value)| (name.into_owned(), word_attribute(&value))));
            let others = known.layout_words().into_iter().filter(|(name, _)| !is_stored(name));
            words.extend(others.map(|(name, value)| (name.into_owned(), word_attribute(&value))));
            let lost = known.attributes.iter().flat_map(|entry| {
                let parts = ItemAnnotation::attribute_details(entry);
                parts.into_iter().map(|part| format!("the {part} of its attribute {}", entry.name))
            });
            all.push(AnnotatedPath {
                key: file_path(&text),
                place,
                docs: known.doc.iter().flat_map(|doc| doc.split('\n')).map(doc_line).collect(),
                attributes: attributes.collect(),
                words,
                lost: lost.collect(),
            });
        }
        Ok(all)
    }

    /// The loss of what is said about an item that is not there.
    pub(super) fn report_orphan(&mut self, of: &str, path: &str) {
        let place = format!("{of}/{}", escape_key(path));
        self.report_form_loss(&place, format!("describes an item that does not exist: {path}"));
    }

    /// A loss of a part of the form of the layout.
    pub(super) fn report_form_loss(&mut self, part: &str, message: String) {
        let place = match self.mapping {
            Some((EARLY_KEY, _)) | None => format!("/{EARLY_KEY}/{part}"),
            Some((key, _)) => format!("/{key}/{}/{part}", annotations::LAYOUT_KEY),
        };
        self.account.add_loss(&place, message);
    }
}

/// Metadata that a tree keeps for one item of a file, or for a type of its layout.
struct AnnotatedPath<'t> {
    /// The path with the names of the file, or the name of the type.
    key: String,
    /// The place in the tree.
    place: String,
    docs: Vec<String>,
    attributes: Vec<(String, Node<'t>)>,
    /// Attributes of a layout that other parts of the mapping state.
    words: Vec<(String, Attribute)>,
    /// Parts of attributes that a layout does not have.
    lost: Vec<String>,
}

/// The items of the mapping that earlier versions wrote.
fn early_items(about: Node<'_>) -> Vec<AnnotatedPath<'_>> {
    let pairs = |key: &str| about.get(key).filter(|map| map.is_mapping()).map_or_else(Vec::new, Node::pairs);
    let item = |of: &str, key: Node<'_>| AnnotatedPath {
        key: key.text().into_owned(),
        place: format!("/{EARLY_KEY}/{of}/{}", escape_key(&key.text())),
        docs: Vec::new(),
        attributes: Vec::new(),
        words: Vec::new(),
        lost: Vec::new(),
    };
    let docs = pairs("docs").into_iter().map(|(key, lines)| {
        let docs = lines.items().map(|line| line.text().into_owned()).collect();
        AnnotatedPath { docs, ..item("docs", key) }
    });
    let attributes = pairs("attributes").into_iter().map(|(key, said)| {
        let spelled = |name: &str| {
            // Names of words, with and without the mark, are spelled as in a layout.
            let is_spelled = ELEMENT_ATTRIBUTES.contains(&&*read_own(name));
            if is_spelled { name.to_owned() } else { own_attribute(&reserved_keys::name_of(name)).into_owned() }
        };
        let attributes = said.entries().map(|(name, value)| (spelled(&name.text()), value)).collect();
        AnnotatedPath { attributes, ..item("attributes", key) }
    });
    docs.chain(attributes).collect()
}

/// The path of an item with the names that it has in a file, from its path in a tree.
pub(super) fn file_path(path: &str) -> String {
    let step = |step: &str| escape_key(&reserved_keys::name_of(&unescape_key(step))).into_owned();
    path.split('/').map(step).collect::<Vec<_>>().join("/")
}

/// A line of documentation as a layout has it.
fn doc_line(line: &str) -> String {
    if line.is_empty() { String::new() } else { format!(" {line}") }
}

/// A word of a layout as an attribute.
fn word_attribute(value: &Value) -> Attribute {
    let one = |value: &Value| match &value.data {
        ValueData::Int(number) => LayoutLiteral::Integer(*number),
        ValueData::BigInt(digits) => LayoutLiteral::Large(digits.clone()),
        ValueData::Float(number) => LayoutLiteral::Float(*number),
        _ => LayoutLiteral::Text(value.as_str().unwrap_or("").to_owned()),
    };
    own_value(match &value.data {
        ValueData::Seq(items) => Attribute::List(items.iter().map(one).collect()),
        _ => Attribute::Value(one(value)),
    })
}

/// Returns `true` if the elements of an entry have a mask in a tree.
pub(super) fn has_room(entry: &LayoutEntry) -> bool {
    entry.resolved_type.primitive().is_some()
}

/// Returns `true` if a node is what earlier versions wrote next to the items of a stream; anything else under its name is the
/// user's.
pub(super) fn is_early_mapping(about: Node<'_>) -> bool {
    let is_text = |node: Node<'_>| node.tag().is_none() && matches!(node.scalar(), Scalar::Str(_)) && node.is_scalar();
    let is_list = |node: Node<'_>| node.is_sequence() && node.tag().is_none() && node.items().all(is_text);
    let is_map = |node: Node<'_>, is: &dyn Fn(Node<'_>) -> bool| {
        node.is_mapping() && node.tag().is_none() && node.entries().all(|(key, value)| is_text(key) && is(value))
    };
    let is_said = |said: Node<'_>| is_map(said, &|value| !ndarray::is_ndarray(value));
    // Trilith never writes an empty list or mapping here.
    let is_known = |(key, value): (Node<'_>, Node<'_>)| match &*key.text() {
        _ if !value.is_scalar() && value.is_empty() => false,
        "dialect" => is_text(value) && Dialect::from_name(&value.text()).is_some(),
        "byteorder" => is_text(value) && Byteorder::from_name(&value.text()).is_some(),
        "parameters" => is_list(value),
        "stored" => is_map(value, &is_text),
        "docs" | "shapes" => is_map(value, &is_list),
        "types" => is_map(value, &is_text),
        "summary" => is_list(value),
        "attributes" => is_map(value, &is_said),
        _ => false,
    };
    about.is_mapping() && about.tag().is_none() && about.get("dialect").is_some() && about.entries().all(is_known)
}

/// Makes a whole number of a mapping a parameter again, stored if it has a type that holds it; None if there is no such number.
fn restore_param(draft: &mut Draft, path: &str, stored: Option<Primitive>) -> Option<()> {
    let (parent, name) = path.rsplit_once('/')?;
    let name = unescape_key(name);
    let (dict, _) = draft.told_at(parent)?;
    let NewItemKind::Dict(items) = &mut dict.kind else { return None };
    let found = dict.attributes.iter().position(|(known, _)| *known == name)?;
    let (_, Attribute::Value(LayoutLiteral::Integer(value))) = *dict.attributes.get(found)? else { return None };
    if value < -1 {
        return None;
    }
    let is_param = |item: &Draft| matches!(item.kind, NewItemKind::Param(_) | NewItemKind::StoredParam(..));
    let after = items.iter().take_while(|(_, item)| is_param(item)).count();
    let fits = |kind: &Primitive| value <= i64::MAX >> (64 - 8 * kind.size().clamp(1, 8));
    let item = stored.filter(fits).map_or_else(|| Draft::fixed_param(value), |kind| Draft::stored_param(value, kind));
    items.insert(after, (name, item));
    dict.attributes.remove(found);
    Some(())
}

/// The scalar that an attribute can hold. With `is_typed` another attribute states its datatype.
fn attribute_literal(node: Node<'_>, is_typed: bool) -> Option<LayoutLiteral> {
    if let Some(digits) = big_integer::decode(node) {
        return Some(LayoutLiteral::Large(digits));
    }
    if node.is_binary() {
        // Bytes that are text would be read as text again, unless their datatype is stated.
        let is_kept = |bytes: &Vec<u8>| is_typed || std::str::from_utf8(bytes).is_err();
        return from_base64(&node.text()).filter(is_kept).map(LayoutLiteral::Bytes);
    }
    match (node.tag(), node.scalar()) {
        (None, Scalar::Int(value)) => Some(LayoutLiteral::Integer(value)),
        (None, Scalar::Float(value)) => Some(LayoutLiteral::Float(value)),
        (None, Scalar::Str(text)) => Some(LayoutLiteral::Text(text.into_owned())),
        _ => None,
    }
}

/// Returns the part of a value that an attribute can hold, and whether that is its YAML text.
fn node_to_attribute(node: Node<'_>, is_typed: bool, limits: &Limits) -> Result<(Attribute, bool)> {
    if is_word(node) {
        if node.tag().is_none() && node.is_null() {
            return Ok((Attribute::Flag, false));
        }
        if let Some(word) = attribute_literal(node, is_typed) {
            return Ok((own_value(Attribute::Value(word)), false));
        }
    } else if node.is_sequence() && node.tag().is_none() && !node.is_empty() && node.items().all(is_word) {
        let words: Option<Vec<LayoutLiteral>> = node.items().map(|item| attribute_literal(item, is_typed)).collect();
        let words = words.unwrap_or_default();
        let is_whole = |word: &LayoutLiteral| matches!(word, LayoutLiteral::Integer(_) | LayoutLiteral::Large(_));
        let is_string = |word: &LayoutLiteral| matches!(word, LayoutLiteral::Text(_) | LayoutLiteral::Bytes(_));
        let is_number = |word: &LayoutLiteral| matches!(word, LayoutLiteral::Float(_));
        if !words.is_empty() && (words.iter().all(is_string) || words.iter().all(is_number) || words.iter().all(is_whole)) {
            return Ok((own_value(Attribute::List(words)), false));
        }
    }
    Ok((Attribute::Value(LayoutLiteral::Text(flow_text(node, limits)?)), true))
}

/// A value as YAML on one line.
fn flow_text(node: Node<'_>, limits: &Limits) -> Result<String> {
    let mut options = PrintOptions::default();
    options.width = usize::MAX;
    let mut value = node.to_value(limits)?;
    retag_value(&mut value, Target::latest());
    let text = print_value(&to_flow_style(value, 0), 0, &options).trim().to_owned();
    if single_value(&text).is_none() {
        return Err(node.error("this value does not fit into an attribute, on one line"));
    }
    Ok(text)
}

/// The value on one line; as deep as [`Node::to_value`] goes.
fn to_flow_style(value: Value, depth: usize) -> Value {
    let mut value = value.flow();
    if depth < MAX_DEPTH {
        value.map_items(|item| to_flow_style(item, depth + 1));
    }
    value
}
