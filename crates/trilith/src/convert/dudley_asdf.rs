//! Conversion between the families: a Dudley stream as a tree with blocks, and back.
//!
//! Dicts are mappings and lists are sequences, structs are structured datatypes, parameters are whole numbers.
//! Scalars of a mapping become attributes of its dict. A value that no attribute can hold becomes an attribute with
//! its YAML text, marked by another, `asdf_type:NAME`, so that the way back finds it. Documentation and the
//! attributes of arrays and lists are under `dudley` at the root of a tree.

use std::borrow::Cow;
use std::io::{Seek, Write};
use std::sync::Arc;

use super::ConvertOptions;
use super::array_storage::{ArrayStorage, DetachedArrays, ItemOptions};
use super::expansion_budget::AliasBudget;
use super::history;
use super::layout_metadata::LayoutMetadata;
use super::loss::{check_readable, parse_unreadable_loss, to_unreadable_loss};
use super::reserved_keys;
use super::translate::retag_value;
use crate::array::{Array, Byteorder, Datatype, has_undecodable_text};
use crate::asdf::{self, ArrayOptions, AsdfBuilder, AsdfFile, FitsContainer, Target, ndarray};
use crate::bytes::{DerivedSource, MemorySource, verify_backing};
use crate::diagnostic::Diagnostic;
use crate::dudley::{
    Draft, DudleyFile, ItemTreeId, MEANING, NewItemKind, OutlineKind, StreamItems, StreamOutline, is_applied, with_ascii_members,
};
use crate::error::{Error, Result};
use crate::file::value_of;
use crate::layout::{
    Attribute, Dialect, ItemId, LayoutEntry, LayoutLiteral, Primitive, PrimitiveKind, attribute_name, own_attribute, own_value,
    read_own, read_value,
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
    stream_to_asdf_with(
        file,
        target,
        how,
        ItemOptions { stack_lists: stack, skip_unreadable: false, physical: false, masks: false },
        out,
    )
}

/// Does the same as [`stream_to_asdf`], and lists skipped items among the losses.
pub(super) fn stream_to_asdf_with<W: Write + Seek>(
    file: &DudleyFile,
    target: &'static Target,
    how: &ArrayOptions,
    reading: ItemOptions,
    out: W,
) -> Result<Vec<Diagnostic>> {
    let _call = file.limits().call();
    let mut stored = ArrayStorage::Blocks(AsdfBuilder::new(target), how);
    let (root, losses) = tree_of(file, reading, target, &mut stored)?;
    if let ArrayStorage::Blocks(builder, _) = stored {
        builder.write_to(out, root)?;
    }
    Ok(losses)
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
    let reading = ItemOptions { stack_lists: false, skip_unreadable: true, physical: file.is_physical(), masks: false };
    let (root, losses) = tree_of(file, reading, Target::latest(), &mut stored)?;
    let left_out = losses.iter().filter_map(parse_unreadable_loss).collect();
    let text = AsdfBuilder::new(Target::latest()).tree_text(root)?;
    file.limits().charge_memory(text.len() as u64, "the tree of a stream")?;
    let text = MemorySource::new(format!("#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n{text}").into(), file.source().name());
    let made = AsdfFile::open(Arc::new(DerivedSource::new(Arc::new(text), file.source().clone())), file.limits())?;
    // The arrays are outside of the tree, like those of a FITS file.
    let container = FitsContainer { hdu: 1, offset: 0, size: file.source().len() };
    let ArrayStorage::Detached(arrays) = stored else { return Ok((made, left_out)) };
    Ok((made.with_container(container, Arc::new(DetachedArrays(arrays))), left_out))
}

/// The tree of a stream, and what it loses.
fn tree_of(
    file: &DudleyFile,
    reading: ItemOptions,
    target: &'static Target,
    stored: &mut ArrayStorage<'_>,
) -> Result<(Value, Vec<Diagnostic>)> {
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
        docs: Vec::new(),
        attributes: Vec::new(),
        params: Vec::new(),
        storage: Vec::new(),
        layout_metadata: LayoutMetadata::default(),
        losses: Vec::new(),
    };
    walk.add_layout();
    let mut root = walk.build_value(ItemTreeId::ROOT, "", 0)?.unwrap_or_else(|| Value::map::<&str, Value>([]));
    let says_items = !(walk.params.is_empty() && walk.storage.is_empty() && walk.docs.is_empty() && walk.attributes.is_empty());
    let says_more = says_items || !walk.layout_metadata.is_empty();
    walk.losses.extend(reserved_keys::rename_reserved(&mut root, says_more));
    if let ValueData::Map(pairs) = &mut root.data
        && let Some((_, history)) = pairs.iter_mut().find(|(key, _)| key.as_str() == Some(reserved_keys::HISTORY_KEY))
    {
        *history = history::in_form(std::mem::replace(history, Value::null()), target.history_is_mapping);
    }
    let mut about = Value::map([("dialect", Value::from(file.layout().dialect().name().to_owned()))]);
    if let Some(order) = file.byteorder() {
        about.set("byteorder", order.name());
    }
    if !walk.params.is_empty() {
        about.set("parameters", Value::seq(std::mem::take(&mut walk.params)));
    }
    std::mem::take(&mut walk.layout_metadata).move_into_mapping(&mut about);
    let maps = [("stored", &mut walk.storage), ("docs", &mut walk.docs), ("attributes", &mut walk.attributes)];
    for (name, pairs) in maps.map(|(name, pairs)| (name, std::mem::take(pairs))) {
        if !pairs.is_empty() {
            about.set(name, Value::map(pairs));
        }
    }
    // If an item has that name, dialect and byte order are dropped: they are only the form of the file that was read.
    if root.get("dudley").is_none() {
        root.set("dudley", about);
    }
    Ok((root, walk.losses))
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
    /// `true` if attributes that are applied to the elements are left out.
    pub(super) omits_applied: bool,
}

pub(super) struct DudleyToTree<'a, 'f, 's> {
    pub items: &'a StreamItems<'f>,
    outline: &'a StreamOutline,
    arrays: &'a mut ArrayStorage<'s>,
    item_options: ItemOptions,
    target: &'static Target,
    pub docs: Vec<(String, Value)>,
    attributes: Vec<(String, Value)>,
    /// Fixed parameters, and the stored ones with their types.
    params: Vec<String>,
    storage: Vec<(String, Value)>,
    pub layout_metadata: LayoutMetadata,
    pub losses: Vec<Diagnostic>,
}

impl DudleyToTree<'_, '_, '_> {
    /// A node and all below it; recursion is limited by [`MAX_DEPTH`]. None for an item that is skipped.
    fn build_value(&mut self, id: ItemTreeId, path: &str, depth: usize) -> Result<Option<Value>> {
        if depth > MAX_DEPTH {
            return Err(Error::limit(format!("dicts and lists nest more than {MAX_DEPTH} deep")));
        }
        let layout = self.items.file().layout();
        let item = self.outline.item(id);
        if let Some(item) = item {
            self.add_docs(item, path);
        }
        let thing = self.outline.kind(id);
        if let (OutlineKind::Dict, Some(item)) = (thing, item)
            && let Some((_, Attribute::Value(LayoutLiteral::Text(text)))) =
                layout.attributes(item).find(|(name, _)| *name == VALUE_ATTRIBUTE)
            && let Some(value) = self.parse_yaml_value(text)
        {
            return Ok(Some(value));
        }
        let mut value = match thing {
            OutlineKind::Dict => {
                let children = self.outline.children(id);
                // A tree may have very many dicts with few members each, so the capacity is exact.
                let mut map = Value::from(Vec::<(Value, Value)>::with_capacity(children.len()));
                if let Some(item) = item {
                    self.dict_attributes(item, &children, &mut map);
                }
                for (name, child) in children {
                    let mut name = name.unwrap_or("").to_owned();
                    if self.outline.is_shadowed(id, child) {
                        name.push_str(" (parameter)");
                    }
                    let inner =
                        self.build_value(child, &format!("{path}/{}", name.replace('~', "~0").replace('/', "~1")), depth + 1)?;
                    if let Some(inner) = inner {
                        map.push_pair(reserved_keys::key_of(self.is_foreign(), &name), inner);
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
                    Some(stored) => self.storage.push((path.to_owned(), Value::from(stored.name().to_owned()))),
                    None => self.params.push(path.to_owned()),
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
                        self.losses.push(Diagnostic::loss(path, message));
                    }
                    self.add_array(entry, path);
                    self.arrays.build_array_node(&array).map_err(|e| e.context(path.to_owned()))?
                }
                Ok(ArrayForm::Strings(list)) => {
                    self.add_array(entry, path);
                    list
                }
                Err(why) => {
                    self.losses.push(to_unreadable_loss(path, why, self.item_options.skip_unreadable)?);
                    return Ok(None);
                }
            },
        };
        if let Some(item) = item {
            let children = if matches!(thing, OutlineKind::Dict) { Some(self.outline.children(id)) } else { None };
            let omits_applied =
                matches!(thing, OutlineKind::Data(entry) if self.item_options.physical && self.items.file().is_packed(entry));
            let filter = AttributeFilter { children: children.as_deref(), omits_applied };
            self.collect_attributes(item, path, &filter, &mut value);
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
        if is_list(&array)? || matches!(array.datatype(), Datatype::Utf8(_)) && has_bytes(&array)? {
            return asdf::inline_write::nested(&array, "").map(ArrayForm::Strings);
        }
        // Blocks get a new checksum. An array that is held may be a copy.
        if matches!(self.arrays, ArrayStorage::Blocks(..)) {
            verify_backing(&**array.source())?;
        }
        let array = self.convert_to_asdf_datatype(&array, path)?;
        // The output must be readable as a whole.
        if self.item_options.skip_unreadable && matches!(self.arrays, ArrayStorage::Blocks(..)) {
            check_readable(&array)?;
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
        let array = self.convert_to_asdf_datatype(&array, path)?;
        self.arrays.build_array_node(&array).map(Some).map_err(|e| e.context(path.to_owned()))
    }

    /// The array in a datatype that ASDF has.
    fn convert_to_asdf_datatype(&mut self, array: &Array, path: &str) -> Result<Array> {
        let file = self.items.file();
        match array.datatype() {
            Datatype::Utf8(_) | Datatype::Ucs2(_) => Array::from_texts(&array.load_texts()?, array.shape()),
            Datatype::Complex32 => {
                self.losses.push(Diagnostic::loss(path, "complex32 becomes complex64, which holds the same values"));
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
    fn dict_attributes(&mut self, item: ItemId, children: &[(Option<&str>, ItemTreeId)], map: &mut Value) {
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
            map.set(reserved_keys::key_of(self.is_foreign(), &name), made.unwrap_or_else(|| self.attribute_value(value)));
        }
    }

    /// The value of an attribute of the layout. Integers beyond 64 bits are core/integer, or text where the target has none.
    fn attribute_value(&self, said: &Attribute) -> Value {
        let mut value = value_of(&read_value(said));
        match &mut value.data {
            ValueData::Seq(items) => items.iter_mut().for_each(|item| self.encode_big_integer(item)),
            _ => self.encode_big_integer(&mut value),
        }
        value
    }

    /// Makes a core/integer of an integer beyond 64 bits.
    fn encode_big_integer(&self, value: &mut Value) {
        let ValueData::BigInt(digits) = &value.data else { return };
        // The writer refuses what is larger.
        let Ok(number) = digits.parse::<i128>() else { return };
        if self.target.standard.is_none_or(|standard| standard < "1.3.0") {
            *value = Value::from(digits.to_string());
            return;
        }
        let [tag, array] = [INTEGER, WORDS_ARRAY_TAG].map(|tag| self.target.tag_for(tag).unwrap_or_else(|| tag.to_owned()));
        let size = number.unsigned_abs();
        let words = (0..4).map(|at| u64::from((size >> (32 * at)) as u32));
        let count = (128 - size.leading_zeros()).div_ceil(32).max(1) as usize;
        let data = Value::seq(words.take(count)).flow();
        let words = Value::map([("data", data), ("datatype", Value::from("uint32"))]).flow().tagged(array);
        let sign = Value::from(if number < 0 { "-" } else { "+" });
        *value = Value::map([("sign", sign), ("words", words)]).flow().tagged(tag);
    }

    /// Returns `true` if an attribute of a dict cannot be a member of the mapping: another member has its name, or
    /// the name means something to readers of ASDF.
    fn is_name_taken(&self, item: ItemId, name: &str, children: &[(Option<&str>, ItemTreeId)]) -> bool {
        let is_key = reserved_keys::is_key(item == ItemId::ROOT, self.is_foreign(), name);
        (is_key && !self.is_history(name)) || children.iter().any(|(child, _)| *child == Some(name))
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

    /// Collects further declarations of the layout about an item, without those that the filter leaves out.
    pub(super) fn collect_attributes(&mut self, item: ItemId, path: &str, filter: &AttributeFilter<'_>, value: &mut Value) {
        let layout = self.items.file().layout();
        let mut rest = Value::map::<&str, Value>([]);
        for raw in layout.raw_attributes(item) {
            self.losses.push(Diagnostic::loss(path, format!("its attribute `{raw}`, which is not understood")));
        }
        for (spelled, said) in layout.attributes(item) {
            match (said, file_attribute_name(item, spelled)) {
                (Attribute::Value(LayoutLiteral::Text(tag)), _)
                    if spelled == TAG_ATTRIBUTE && tag.chars().all(|c| c.is_ascii_graphic()) =>
                {
                    if value.tag.is_none() {
                        value.tag = Some(self.target.tag_for(tag).unwrap_or_else(|| tag.clone()));
                    }
                }
                _ if filter.omits_applied && is_applied(spelled) => {}
                (_, Some(name)) if filter.children.is_some_and(|children| !self.is_name_taken(item, &name, children)) => {}
                // The attribute keeps its mark, because an unmarked attribute of that name is kept, too.
                (_, Some(name)) if MEANING.contains(&&*name) => rest.set(spelled, self.attribute_value(said)),
                (_, Some(name)) => rest.set(reserved_keys::key_of(self.is_foreign(), &name), self.attribute_value(said)),
                (_, None) if MEANING.contains(&spelled) => rest.set(spelled, self.attribute_value(said)),
                (_, None) => {}
            }
        }
        if !rest.entries().is_empty() {
            self.attributes.push((path.to_owned(), rest));
        }
    }
}

/// The tags of integers beyond 64 bits, and of the array of their 32-bit words.
const INTEGER: &str = "tag:stsci.edu:asdf/core/integer-1.1.0";
const WORDS_ARRAY_TAG: &str = "tag:stsci.edu:asdf/core/ndarray-1.1.0";

/// Returns the digits of a core/integer of up to 128 bits whose words are in the tree.
fn decode_big_integer(node: Node<'_>) -> Option<String> {
    if !node.tag()?.rsplit('/').next()?.starts_with("integer-") {
        return None;
    }
    let mut value = 0u128;
    for (word, shift) in node.get("words")?.get("data")?.items().zip((0..).step_by(32)) {
        let Scalar::Int(word) = word.scalar() else { return None };
        value |= u128::from(u32::try_from(word).ok()?).checked_shl(shift)?;
    }
    match &*node.get("sign")?.text() {
        "+" => Some(value.to_string()),
        "-" => Some(format!("-{value}")),
        _ => None,
    }
}

/// Returns `true` for what an attribute has as one of its values.
fn is_word(node: Node<'_>) -> bool {
    node.is_scalar() || decode_big_integer(node).is_some()
}

/// Returns `true` for a core/integer, and for a list of numbers with one.
fn has_large(node: Node<'_>) -> bool {
    let is_list = || node.is_sequence() && node.tag().is_none() && node.items().all(is_word);
    decode_big_integer(node).is_some() || is_list() && node.items().any(|item| decode_big_integer(item).is_some())
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
    asdf_to_draft_with(file, &ConvertOptions::default())
}

/// Does the same as [`asdf_to_draft`]. With [`ConvertOptions::skip_unreadable`] it leaves out arrays that cannot be read, and
/// lists them among the losses.
pub(super) fn asdf_to_draft_with(file: &AsdfFile, options: &ConvertOptions) -> Result<(Draft, Vec<Diagnostic>)> {
    let mut walk = AsdfToDudley::new(file, options.skip_unreadable);
    let root = file.tree().root();
    let draft = walk.build_item(root, "", 0)?.unwrap_or_else(|| Draft::dict::<&str>([]));
    let mut draft = if root.is_mapping() { draft } else { Draft::dict([("", draft)]) };
    // The tag of the root only marks the root.
    draft.attributes.retain(|(name, _)| name != TAG_ATTRIBUTE);
    if let (NewItemKind::Dict(_), Some(about)) = (&draft.kind, root.get("dudley").filter(|about| is_reserved_attribute(*about))) {
        walk.restore_annotations(&mut draft, about);
    }
    match asdf::walk::unreferenced_blocks(file)?.len() {
        0 => {}
        n => walk.losses.push(Diagnostic::loss_without_path(format!("{n} blocks that no array names"))),
    }
    Ok((draft, walk.losses))
}

pub(super) struct AsdfToDudley<'a> {
    file: &'a AsdfFile,
    skip_unreadable: bool,
    pub losses: Vec<Diagnostic>,
    budget: AliasBudget<'a>,
    /// Number of open lists.
    list_budget: usize,
}

impl<'a> AsdfToDudley<'a> {
    fn new(file: &'a AsdfFile, skip: bool) -> Self {
        Self {
            file,
            skip_unreadable: skip,
            losses: Vec::new(),
            budget: AliasBudget::new(file.tree(), file.limits()),
            list_budget: 0,
        }
    }

    /// A node that is no scalar of a mapping; recursion is limited by [`MAX_DEPTH`]. None for an array that is skipped.
    fn build_item(&mut self, node: Node<'_>, path: &str, depth: usize) -> Result<Option<Draft>> {
        if depth > MAX_DEPTH {
            return Err(Error::limit(format!("the tree nests more than {MAX_DEPTH} deep")).at_path(path));
        }
        self.budget.charge_nodes(if ndarray::is_ndarray(node) { self.budget.expanded_size(node)?.nodes } else { 1 })?;
        let mut draft = if ndarray::is_ndarray(node) {
            let array = match self.read_stored_array(node) {
                Ok(array) => array,
                Err(why) => {
                    self.losses.push(to_unreadable_loss(path, why, self.skip_unreadable)?);
                    return Ok(None);
                }
            };
            self.budget.charge_array(&array)?;
            if array.mask().is_some() {
                self.losses.push(Diagnostic::loss(path, "its mask"));
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
        if self.skip_unreadable {
            check_readable(&array)?;
        }
        Ok(array)
    }

    fn build_dict(&mut self, node: Node<'_>, path: &str, depth: usize) -> Result<Draft> {
        let mut items = Vec::new();
        let mut attributes = Vec::new();
        for (key, value) in node.merged_entries() {
            let name = key.text().into_owned();
            let own = reserved_keys::name_of(&name);
            let inner = format!("{path}/{}", name.replace('~', "~0").replace('/', "~1"));
            if inner == "/asdf_library" || (inner == "/history" && super::coverage::is_format_history(value)) {
                // The writer of this file and its options; the next writer adds its own.
                continue;
            }
            if inner == "/dudley" && is_reserved_attribute(value) {
                continue;
            }
            if !matches!(key.scalar(), Scalar::Str(_)) || !key.is_scalar() {
                self.losses.push(Diagnostic::loss(&inner, "its key becomes text"));
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
            let (said, is_yaml) = node_to_attribute(value, self.file.limits())?;
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
    fn restore_annotations(&mut self, draft: &mut Draft, about: Node<'_>) {
        let listed = about.get("parameters").filter(|list| list.is_sequence());
        for (at, path) in listed.iter().flat_map(|list| list.items()).enumerate() {
            if restore_param(draft, &path.text(), None).is_none() {
                self.report_orphan("parameters", &at.to_string());
            }
        }
        for (path, kind) in about.get("stored").filter(|map| map.is_mapping()).iter().flat_map(|map| map.entries()) {
            let kind = Primitive::from_name(&kind.text(), Dialect::D2025);
            let kind = kind.filter(|kind| kind.kind() == PrimitiveKind::Signed);
            if restore_param(draft, &path.text(), kind).is_none() {
                self.report_orphan("stored", &path.text());
            }
        }
        self.restore_form(draft, about);
        for (key, lines) in about.get("docs").filter(|docs| docs.is_mapping()).iter().flat_map(|docs| docs.entries()) {
            match Self::annotation_target(draft, &key.text()) {
                Some((docs, _)) => *docs = lines.items().map(|line| line.text().into_owned()).collect(),
                None => self.report_orphan("docs", &key.text()),
            }
        }
        for (key, said) in about.get("attributes").filter(|said| said.is_mapping()).iter().flat_map(|said| said.entries()) {
            let Some((_, attributes)) = Self::annotation_target(draft, &key.text()) else {
                self.report_orphan("attributes", &key.text());
                continue;
            };
            for (name, value) in said.entries() {
                match node_to_attribute(value, self.file.limits()) {
                    Ok((value, _)) => {
                        let name = name.text();
                        // Names of words, with and without the mark, are spelled as in a layout.
                        let is_spelled = MEANING.contains(&&*read_own(&name));
                        let own = || own_attribute(&reserved_keys::name_of(&name)).into_owned();
                        let spelled = if is_spelled { name.clone().into_owned() } else { own() };
                        attributes.push((spelled, value));
                    }
                    Err(error) => {
                        let path = format!("/dudley/attributes/{}", escape_pointer_key(&key.text()));
                        self.losses.push(Diagnostic::loss(&path, error.message().to_owned()));
                    }
                }
            }
        }
        self.losses.extend(draft.reconcile());
    }

    /// The loss of what is said about an item that is not there.
    pub(super) fn report_orphan(&mut self, of: &str, path: &str) {
        let place = format!("/dudley/{of}/{}", escape_pointer_key(path));
        self.losses.push(Diagnostic::loss(&place, format!("describes an item that does not exist: {path}")));
    }
}

/// Returns `true` if the elements of an entry have a mask in a tree.
pub(super) fn has_room(entry: &LayoutEntry) -> bool {
    entry.resolved_type.primitive().is_some()
}

/// A key as a step of a JSON Pointer.
pub(super) fn escape_pointer_key(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// Returns `true` if a node is what [`stream_to_asdf`] writes next to the items of a stream; anything else under its
/// name is the user's.
fn is_reserved_attribute(about: Node<'_>) -> bool {
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
    let name = name.replace("~1", "/").replace("~0", "~");
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

/// The scalar that an attribute can hold.
fn attribute_literal(node: Node<'_>) -> Option<LayoutLiteral> {
    if let Some(digits) = decode_big_integer(node) {
        return Some(LayoutLiteral::Large(digits));
    }
    match (node.tag(), node.scalar()) {
        (None, Scalar::Int(value)) => Some(LayoutLiteral::Integer(value)),
        (None, Scalar::Float(value)) => Some(LayoutLiteral::Float(value)),
        (None, Scalar::Str(text)) => Some(LayoutLiteral::Text(text.into_owned())),
        _ => None,
    }
}

/// Returns the part of a value that an attribute can hold, and whether that is its YAML text.
fn node_to_attribute(node: Node<'_>, limits: &Limits) -> Result<(Attribute, bool)> {
    if is_word(node) {
        if node.tag().is_none() && node.is_null() {
            return Ok((Attribute::Flag, false));
        }
        if let Some(word) = attribute_literal(node) {
            return Ok((own_value(Attribute::Value(word)), false));
        }
    } else if node.is_sequence() && node.tag().is_none() && !node.is_empty() && node.items().all(is_word) {
        let words: Option<Vec<LayoutLiteral>> = node.items().map(attribute_literal).collect();
        let words = words.unwrap_or_default();
        let is_whole = |word: &LayoutLiteral| matches!(word, LayoutLiteral::Integer(_) | LayoutLiteral::Large(_));
        let kind = words.first().map(std::mem::discriminant);
        let is_one_kind = words.iter().all(|word| Some(std::mem::discriminant(word)) == kind);
        if !words.is_empty() && (is_one_kind || words.iter().all(is_whole)) {
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
