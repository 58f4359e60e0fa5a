//! Conversion between the families: a Dudley stream as a tree with blocks, and back.
//!
//! Dicts are mappings and lists are sequences, structs are structured datatypes, parameters are whole numbers.
//! Scalars of a mapping become attributes of its dict. A value that no attribute can hold becomes an attribute with
//! its YAML text, marked by another, `asdf_type:NAME`, so that the way back finds it. Documentation and the
//! attributes of arrays and lists are under `dudley` at the root of a tree.

use std::borrow::Cow;
use std::io::{Seek, Write};
use std::sync::Arc;

use super::array_storage::{Apart, Reading, Stored};
use super::expansion_budget::Budget;
use super::history;
use super::layout_metadata::Form;
use super::loss::{read_through, skipped, unreadable};
use super::reserved_keys;
use super::translate::retag;
use crate::array::{Array, Byteorder, Datatype};
use crate::asdf::{self, ArrayOptions, AsdfFile, Builder, Container, Target, ndarray};
use crate::bytes::{Derived, MemorySource, verify_backing};
use crate::diagnostic::Diagnostic;
use crate::dudley::{Draft, DraftKind, DudleyFile, Items, MEANING, Outline, OutlineId, Thing, is_applied, with_ascii_members};
use crate::error::{Error, Result};
use crate::file::value_of;
use crate::layout::{
    Attribute, Dialect, Entry, ItemId, Literal, Primitive, PrimitiveKind, attribute_name, own_attribute, own_value, read_own,
    read_value,
};
use crate::limits::Limits;
use crate::tree::{Data, Node, PrintOptions, Scalar, Tree, Value, print_value};

/// The attribute that keeps the tag of a mapping, a sequence or an array.
const TAG: &str = "asdf_tag";
/// The prefix of the attribute that marks another as YAML text.
const TYPE: &str = "asdf_type:";
/// The attribute that keeps the YAML text of an element among arrays, and the empty item that holds its place.
const VALUE: &str = "asdf_value";
/// About as many bytes as an item of a stream takes in a tree that is to be written.
const NODE: u64 = 1600;
/// Maximum depth of nested dicts and lists.
const DEPTH: usize = 200;

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
    stream_to_asdf_with(file, target, how, Reading { stack, skip: false, physical: false, masks: false }, out)
}

/// Does the same as [`stream_to_asdf`], and lists skipped items among the losses.
pub(super) fn stream_to_asdf_with<W: Write + Seek>(
    file: &DudleyFile,
    target: &'static Target,
    how: &ArrayOptions,
    reading: Reading,
    out: W,
) -> Result<Vec<Diagnostic>> {
    let _call = file.limits().call();
    let mut stored = Stored::Blocks(Builder::new(target), how);
    let (root, losses) = tree_of(file, reading, target, &mut stored)?;
    if let Stored::Blocks(builder, _) = stored {
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
    let mut stored = Stored::Apart(Vec::new());
    let reading = Reading { stack: false, skip: true, physical: file.is_physical(), masks: false };
    let (root, losses) = tree_of(file, reading, Target::newest(), &mut stored)?;
    let left_out = losses.iter().filter_map(unreadable).collect();
    let text = Builder::new(Target::newest()).text(root)?;
    file.limits().charge_memory(text.len() as u64, "the tree of a stream")?;
    let text = MemorySource::new(format!("#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n{text}").into(), file.source().name());
    let made = AsdfFile::open(Arc::new(Derived::new(Arc::new(text), file.source().clone())), file.limits())?;
    // The arrays are outside of the tree, like those of a FITS file.
    let container = Container { hdu: 1, offset: 0, size: file.source().len() };
    let Stored::Apart(arrays) = stored else { return Ok((made, left_out)) };
    Ok((made.within(container, Arc::new(Apart(arrays))), left_out))
}

/// The tree of a stream, and what it loses.
fn tree_of(
    file: &DudleyFile,
    reading: Reading,
    target: &'static Target,
    stored: &mut Stored<'_>,
) -> Result<(Value, Vec<Diagnostic>)> {
    let items = file.items()?;
    // The one that the file keeps: with very many items a second one would take hundreds of megabytes.
    let outline = file.outline()?;
    file.limits().charge_memory(outline.node_count().saturating_mul(NODE), "the tree of a stream, to be written,")?;
    let mut walk = ToTree {
        items: &items,
        outline,
        arrays: stored,
        reading,
        target,
        docs: Vec::new(),
        attributes: Vec::new(),
        params: Vec::new(),
        stored: Vec::new(),
        form: Form::default(),
        losses: Vec::new(),
    };
    walk.tell_layout();
    let mut root = walk.value(OutlineId::ROOT, "", 0)?.unwrap_or_else(|| Value::map::<&str, Value>([]));
    let says_items = !(walk.params.is_empty() && walk.stored.is_empty() && walk.docs.is_empty() && walk.attributes.is_empty());
    let says_more = says_items || !walk.form.is_empty();
    walk.losses.extend(reserved_keys::free(&mut root, says_more));
    if let Data::Map(pairs) = &mut root.data
        && let Some((_, history)) = pairs.iter_mut().find(|(key, _)| key.as_str() == Some(reserved_keys::HISTORY))
    {
        *history = history::in_form(std::mem::replace(history, Value::null()), target.history_map);
    }
    let mut about = Value::map([("dialect", Value::from(file.layout().dialect().name().to_owned()))]);
    if let Some(order) = file.byteorder() {
        about.set("byteorder", order.name());
    }
    if !walk.params.is_empty() {
        about.set("parameters", Value::seq(std::mem::take(&mut walk.params)));
    }
    std::mem::take(&mut walk.form).write(&mut about);
    let maps = [("stored", &mut walk.stored), ("docs", &mut walk.docs), ("attributes", &mut walk.attributes)];
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
enum Held {
    Array(Array),
    /// Strings of variable length, each as long as it is.
    Strings(Value),
}

/// Returns `true` if the strings of an array become a list in a tree, because an array would be many times larger.
///
/// # Errors
/// Returns the errors of [`Array::much_padded`].
pub(super) fn is_list(array: &Array) -> Result<bool> {
    Ok(array.len() <= array.limits().nodes && array.much_padded()?.is_some())
}

pub(super) struct ToTree<'a, 'f, 's> {
    pub items: &'a Items<'f>,
    outline: &'a Outline,
    arrays: &'a mut Stored<'s>,
    reading: Reading,
    target: &'static Target,
    pub docs: Vec<(String, Value)>,
    attributes: Vec<(String, Value)>,
    /// Fixed parameters, and the stored ones with their types.
    params: Vec<String>,
    stored: Vec<(String, Value)>,
    pub form: Form,
    pub losses: Vec<Diagnostic>,
}

impl ToTree<'_, '_, '_> {
    /// A node and all below it; recursion is limited by [`DEPTH`]. None for an item that is skipped.
    fn value(&mut self, id: OutlineId, path: &str, depth: usize) -> Result<Option<Value>> {
        if depth > DEPTH {
            return Err(Error::limit(format!("dicts and lists nest more than {DEPTH} deep")));
        }
        let layout = self.items.file().layout();
        let item = self.outline.item(id);
        if let Some(item) = item {
            self.tell_docs(item, path);
        }
        let thing = self.outline.thing(id);
        if let (Thing::Dict, Some(item)) = (thing, item)
            && let Some((_, Attribute::Value(Literal::Text(text)))) = layout.attributes(item).find(|(name, _)| *name == VALUE)
            && let Some(value) = self.yaml(text)
        {
            return Ok(Some(value));
        }
        let mut value = match thing {
            Thing::Dict => {
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
                        self.value(child, &format!("{path}/{}", name.replace('~', "~0").replace('/', "~1")), depth + 1)?;
                    if let Some(inner) = inner {
                        map.push_pair(reserved_keys::key_of(self.is_foreign(), &name), inner);
                    }
                }
                map
            }
            Thing::List => match self.stacked(id, path)? {
                Some(node) => node,
                None => {
                    let mut items = Vec::new();
                    for (n, (_, child)) in self.outline.children(id).into_iter().enumerate() {
                        // The others keep their numbers.
                        items.push(self.value(child, &format!("{path}/{n}"), depth + 1)?.unwrap_or_else(Value::null));
                    }
                    Value::seq(items)
                }
            },
            Thing::Param(value, entry) => {
                match entry.and_then(|entry| entry.typed.primitive()) {
                    Some(stored) => self.stored.push((path.to_owned(), Value::from(stored.name().to_owned()))),
                    None => self.params.push(path.to_owned()),
                }
                Value::from(value)
            }
            Thing::Null => Value::null(),
            Thing::Data(entry) => match self.array(entry, path) {
                Ok(Held::Array(array)) => {
                    if !self.reading.stack && !entry.path.ends_with(']') && self.is_element(entry) {
                        let message = format!(
                            "the list of {} equal items becomes one array, as with --stack",
                            array.shape().first().unwrap_or(&0)
                        );
                        self.losses.push(Diagnostic::loss(path, message));
                    }
                    self.tell_array(entry, path);
                    self.arrays.node(&array).map_err(|e| e.context(path.to_owned()))?
                }
                Ok(Held::Strings(list)) => {
                    self.tell_array(entry, path);
                    list
                }
                Err(why) => {
                    self.losses.push(skipped(path, why, self.reading.skip)?);
                    return Ok(None);
                }
            },
        };
        if let Some(item) = item {
            let children = if matches!(thing, Thing::Dict) { Some(self.outline.children(id)) } else { None };
            let applied = matches!(thing, Thing::Data(entry) if self.reading.physical && self.items.file().is_packed(entry));
            self.own_attributes(item, path, children.as_deref(), applied, &mut value);
        }
        Ok(Some(value))
    }

    /// The array of an item, in a datatype that ASDF has.
    fn array(&mut self, entry: &Entry, path: &str) -> Result<Held> {
        let file = self.items.file();
        let is_masked = self.reading.masks && has_room(entry) && file.is_filled(entry)?;
        let array = if self.reading.physical || is_masked { file.array_of(entry)? } else { self.items.array(entry)? };
        if is_list(&array)? {
            return asdf::inline_write::nested(&array, "").map(Held::Strings);
        }
        // Blocks get a new checksum. An array that is held may be a copy.
        if matches!(self.arrays, Stored::Blocks(..)) {
            verify_backing(&**array.source())?;
        }
        let array = self.held(&array, path)?;
        // The output must be readable as a whole.
        if self.reading.skip && matches!(self.arrays, Stored::Blocks(..)) {
            read_through(&array)?;
        }
        Ok(Held::Array(array))
    }

    /// The node of the one array that the items of a list are, if that is asked for and they are equal.
    fn stacked(&mut self, id: OutlineId, path: &str) -> Result<Option<Value>> {
        let children = if self.reading.stack { self.outline.children(id) } else { Vec::new() };
        let mut arrays = Vec::with_capacity(children.len());
        for (_, child) in children {
            let Thing::Data(entry) = self.outline.thing(child) else { return Ok(None) };
            let Ok(array) = self.items.array(entry) else { return Ok(None) };
            arrays.push(array);
        }
        let Ok(array) = Array::stack(arrays) else { return Ok(None) };
        let array = self.held(&array, path)?;
        self.arrays.node(&array).map(Some).map_err(|e| e.context(path.to_owned()))
    }

    /// The array in a datatype that ASDF has.
    fn held(&mut self, array: &Array, path: &str) -> Result<Array> {
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
    fn yaml(&self, text: &str) -> Option<Value> {
        let tree = one_value(text)?;
        let mut value = tree.root().index(0)?.to_value(self.items.file().limits()).ok()?;
        retag(&mut value, self.target);
        Some(value)
    }

    /// The scalars of a mapping.
    fn dict_attributes(&mut self, item: ItemId, children: &[(Option<&str>, OutlineId)], map: &mut Value) {
        let layout = self.items.file().layout();
        let said: Vec<(&str, &Attribute)> = layout.attributes(item).collect();
        for (spelled, value) in &said {
            let Some(name) = own_of(item, spelled) else { continue };
            if self.is_taken(item, &name, children) {
                continue;
            }
            let is_yaml = said.iter().any(|(mark, _)| mark.strip_prefix(TYPE) == Some(*spelled));
            let made = match value {
                Attribute::Value(Literal::Text(text)) if is_yaml => self.yaml(text),
                _ => None,
            };
            map.set(reserved_keys::key_of(self.is_foreign(), &name), made.unwrap_or_else(|| self.attribute_value(value)));
        }
    }

    /// The value of an attribute of the layout. Integers beyond 64 bits are core/integer, or text where the target has none.
    fn attribute_value(&self, said: &Attribute) -> Value {
        let mut value = value_of(&read_value(said));
        match &mut value.data {
            Data::Seq(items) => items.iter_mut().for_each(|item| self.spread(item)),
            _ => self.spread(&mut value),
        }
        value
    }

    /// Makes a core/integer of an integer beyond 64 bits.
    fn spread(&self, value: &mut Value) {
        let Data::BigInt(digits) = &value.data else { return };
        // The writer refuses what is larger.
        let Ok(number) = digits.parse::<i128>() else { return };
        if self.target.standard.is_none_or(|standard| standard < "1.3.0") {
            *value = Value::from(digits.to_string());
            return;
        }
        let [tag, array] = [INTEGER, WORDS].map(|tag| self.target.tag_for(tag).unwrap_or_else(|| tag.to_owned()));
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
    fn is_taken(&self, item: ItemId, name: &str, children: &[(Option<&str>, OutlineId)]) -> bool {
        let is_key = reserved_keys::is_key(item == ItemId::ROOT, self.is_foreign(), name);
        (is_key && !self.is_history(name)) || children.iter().any(|(child, _)| *child == Some(name))
    }

    /// Returns `true` if an attribute of the root is the history of a tree.
    fn is_history(&self, name: &str) -> bool {
        let layout = self.items.file().layout();
        let said = || layout.attributes(ItemId::ROOT).find(|(known, _)| *known == reserved_keys::HISTORY);
        let is_yaml =
            || layout.attributes(ItemId::ROOT).any(|(known, _)| known.strip_prefix(TYPE) == Some(reserved_keys::HISTORY));
        match (name == reserved_keys::HISTORY && is_yaml()).then(said).flatten() {
            Some((_, Attribute::Value(Literal::Text(text)))) => {
                self.yaml(text).is_some_and(|value| reserved_keys::is_history(&value))
            }
            _ => false,
        }
    }

    /// Returns `true` if an entry is declared as an element of a list.
    fn is_element(&self, entry: &Entry) -> bool {
        let layout = self.items.file().layout();
        layout.parent(entry.item).is_some_and(|parent| layout.kind(parent) == crate::layout::Kind::List)
    }

    /// Returns `true` if the file has a format whose names mean nothing to readers of ASDF.
    pub(super) fn is_foreign(&self) -> bool {
        self.items.file().is_foreign()
    }

    /// Collects further declarations of the layout about an item. `children` are those of a dict, whose other
    /// attributes are members. Those that are `applied` to the elements are left out.
    pub(super) fn own_attributes(
        &mut self,
        item: ItemId,
        path: &str,
        children: Option<&[(Option<&str>, OutlineId)]>,
        applied: bool,
        value: &mut Value,
    ) {
        let layout = self.items.file().layout();
        let mut rest = Value::map::<&str, Value>([]);
        for raw in layout.raw_attributes(item) {
            self.losses.push(Diagnostic::loss(path, format!("its attribute `{raw}`, which is not understood")));
        }
        for (spelled, said) in layout.attributes(item) {
            match (said, own_of(item, spelled)) {
                (Attribute::Value(Literal::Text(tag)), _) if spelled == TAG && tag.chars().all(|c| c.is_ascii_graphic()) => {
                    if value.tag.is_none() {
                        value.tag = Some(self.target.tag_for(tag).unwrap_or_else(|| tag.clone()));
                    }
                }
                _ if applied && is_applied(spelled) => {}
                (_, Some(name)) if children.is_some_and(|children| !self.is_taken(item, &name, children)) => {}
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
const WORDS: &str = "tag:stsci.edu:asdf/core/ndarray-1.1.0";

/// Returns the digits of a core/integer of up to 128 bits whose words are in the tree.
fn large(node: Node<'_>) -> Option<String> {
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
    node.is_scalar() || large(node).is_some()
}

/// Returns `true` for a core/integer, and for a list of numbers with one.
fn has_large(node: Node<'_>) -> bool {
    let is_list = || node.is_sequence() && node.tag().is_none() && node.items().all(is_word);
    large(node).is_some() || is_list() && node.items().any(|item| large(item).is_some())
}

/// Returns the name of an attribute that an item of the file has; `None` for a word about the layout or the tree.
fn own_of(item: ItemId, spelled: &str) -> Option<Cow<'_, str>> {
    let is_mark = spelled == TAG || spelled.starts_with(TYPE) || (item == ItemId::ROOT && spelled == "dialect");
    attribute_name(spelled).filter(|_| !is_mark)
}

/// Returns a list of the one YAML value that text on one line is, if it is that.
fn one_value(text: &str) -> Option<Tree> {
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
    asdf_to_draft_with(file, false)
}

/// Does the same as [`asdf_to_draft`]. With `skip` it leaves out arrays that cannot be read, and lists them among
/// the losses.
pub(super) fn asdf_to_draft_with(file: &AsdfFile, skip: bool) -> Result<(Draft, Vec<Diagnostic>)> {
    let mut walk = ToDraft::new(file, skip);
    let root = file.tree().root();
    let draft = walk.draft(root, "", 0)?.unwrap_or_else(|| Draft::dict::<&str>([]));
    let mut draft = if root.is_mapping() { draft } else { Draft::dict([("", draft)]) };
    // The tag of the root only marks the root.
    draft.attributes.retain(|(name, _)| name != TAG);
    if let (DraftKind::Dict(_), Some(about)) = (&draft.kind, root.get("dudley").filter(|about| is_ours(*about))) {
        walk.give_back(&mut draft, about);
    }
    match asdf::walk::unnamed(file)?.len() {
        0 => {}
        n => walk.losses.push(Diagnostic::lost(format!("{n} blocks that no array names"))),
    }
    Ok((draft, walk.losses))
}

pub(super) struct ToDraft<'a> {
    file: &'a AsdfFile,
    skip: bool,
    pub losses: Vec<Diagnostic>,
    budget: Budget<'a>,
    /// Number of open lists.
    lists: usize,
}

impl<'a> ToDraft<'a> {
    fn new(file: &'a AsdfFile, skip: bool) -> Self {
        Self { file, skip, losses: Vec::new(), budget: Budget::new(file.tree(), file.limits()), lists: 0 }
    }

    /// A node that is no scalar of a mapping; recursion is limited by [`DEPTH`]. None for an array that is skipped.
    fn draft(&mut self, node: Node<'_>, path: &str, depth: usize) -> Result<Option<Draft>> {
        if depth > DEPTH {
            return Err(Error::limit(format!("the tree nests more than {DEPTH} deep")).at_path(path));
        }
        self.budget.charge(if ndarray::is_ndarray(node) { self.budget.known(node)?.nodes } else { 1 })?;
        let mut draft = if ndarray::is_ndarray(node) {
            let array = match self.array(node) {
                Ok(array) => array,
                Err(why) => {
                    self.losses.push(skipped(path, why, self.skip)?);
                    return Ok(None);
                }
            };
            self.budget.charge_array(&array)?;
            if array.mask().is_some() {
                self.losses.push(Diagnostic::loss(path, "its mask"));
            }
            Draft::data(array.without_mask())
        } else if node.is_mapping() {
            self.dict(node, path, depth)?
        } else if node.is_sequence() {
            let mut items = Vec::new();
            self.lists += 1;
            for (n, item) in node.items().enumerate() {
                let holds = !item.is_scalar() && self.budget.known(item)?.holds;
                let kept = if holds { self.draft(item, &format!("{path}/{n}"), depth + 1)? } else { None };
                items.push(if let Some(kept) = kept {
                    kept
                } else {
                    let empty = Array::from_slice::<u8>(&[], &[0])?;
                    let mut kept = Draft::dict([(VALUE, Draft::data(empty))]);
                    let text = if holds { "null".to_owned() } else { self.text(item)? };
                    kept.attributes.push((VALUE.to_owned(), Attribute::Value(Literal::Text(text))));
                    kept
                });
            }
            self.lists -= 1;
            Draft::list(items)
        } else {
            return Err(node.error("the root of this tree is a scalar, for which a Dudley stream has no place"));
        };
        let is_plain = ndarray::is_ndarray(node) || (depth == 0 && path.is_empty());
        if let Some(tag) = node.tag().filter(|_| !is_plain) {
            self.budget.charge_text(tag)?;
            let tag = Target::newest().tag_for(tag).unwrap_or_else(|| tag.to_owned());
            draft.attributes.push((TAG.to_owned(), Attribute::Value(Literal::Text(tag))));
        }
        Ok(Some(draft))
    }

    fn array(&self, node: Node<'_>) -> Result<Array> {
        let array = self.file.stored_array(node)?;
        if self.skip {
            read_through(&array)?;
        }
        Ok(array)
    }

    fn dict(&mut self, node: Node<'_>, path: &str, depth: usize) -> Result<Draft> {
        let mut items = Vec::new();
        let mut attributes = Vec::new();
        for (key, value) in node.merged_entries() {
            let name = key.text().into_owned();
            let own = reserved_keys::name_of(&name);
            let inner = format!("{path}/{}", name.replace('~', "~0").replace('/', "~1"));
            if inner == "/asdf_library" || (inner == "/history" && super::coverage::says_form_only(value)) {
                // The writer of this file and its options; the next writer adds its own.
                continue;
            }
            if inner == "/dudley" && is_ours(value) {
                continue;
            }
            if !matches!(key.scalar(), Scalar::Str(_)) || !key.is_scalar() {
                self.losses.push(Diagnostic::loss(&inner, "its key becomes text"));
            }
            self.budget.charge_text(&name)?;
            // A dict or a list without arrays takes no space, and so is not seen in a list.
            let is_item = value.is_mapping() || (value.is_sequence() && value.is_empty());
            let has_items = || (is_item && self.lists == 0) || self.budget.known(value).is_ok_and(|known| known.holds);
            let holds = !value.is_scalar() && has_items() && !has_large(value);
            if holds {
                if let Some(draft) = self.draft(value, &inner, depth + 1)? {
                    items.push((own, draft));
                }
                continue;
            }
            self.budget.charge(self.budget.known(value)?.nodes)?;
            let (said, is_yaml) = attribute(value, self.file.limits())?;
            if let Attribute::Value(Literal::Text(text)) = &said {
                self.budget.charge_text(text)?;
            }
            let spelled = own_attribute(&own);
            attributes.push((spelled.to_string(), said));
            if is_yaml {
                attributes.push((format!("{TYPE}{spelled}"), Attribute::Value(Literal::Text("yaml".into()))));
            }
        }
        let mut draft = Draft::dict(items);
        draft.attributes = attributes;
        Ok(draft)
    }

    /// A value as YAML on one line.
    fn text(&mut self, node: Node<'_>) -> Result<String> {
        self.budget.charge(self.budget.known(node)?.nodes)?;
        let text = flow_text(node, self.file.limits())?;
        self.budget.charge_text(&text)?;
        Ok(text)
    }

    /// Puts documentation, attributes and parameters back where [`stream_to_asdf`] found them.
    fn give_back(&mut self, draft: &mut Draft, about: Node<'_>) {
        let listed = about.get("parameters").filter(|list| list.is_sequence());
        for (at, path) in listed.iter().flat_map(|list| list.items()).enumerate() {
            if restore_param(draft, &path.text(), None).is_none() {
                self.stray("parameters", &at.to_string());
            }
        }
        for (path, kind) in about.get("stored").filter(|map| map.is_mapping()).iter().flat_map(|map| map.entries()) {
            let kind = Primitive::named(&kind.text(), Dialect::D2025);
            let kind = kind.filter(|kind| kind.kind() == PrimitiveKind::Signed);
            if restore_param(draft, &path.text(), kind).is_none() {
                self.stray("stored", &path.text());
            }
        }
        self.give_form(draft, about);
        for (key, lines) in about.get("docs").filter(|docs| docs.is_mapping()).iter().flat_map(|docs| docs.entries()) {
            match Self::told(draft, &key.text()) {
                Some((docs, _)) => *docs = lines.items().map(|line| line.text().into_owned()).collect(),
                None => self.stray("docs", &key.text()),
            }
        }
        for (key, said) in about.get("attributes").filter(|said| said.is_mapping()).iter().flat_map(|said| said.entries()) {
            let Some((_, attributes)) = Self::told(draft, &key.text()) else {
                self.stray("attributes", &key.text());
                continue;
            };
            for (name, value) in said.entries() {
                match attribute(value, self.file.limits()) {
                    Ok((value, _)) => {
                        let name = name.text();
                        // Names of words, with and without the mark, are spelled as in a layout.
                        let is_spelled = MEANING.contains(&&*read_own(&name));
                        let own = || own_attribute(&reserved_keys::name_of(&name)).into_owned();
                        let spelled = if is_spelled { name.clone().into_owned() } else { own() };
                        attributes.push((spelled, value));
                    }
                    Err(error) => {
                        let path = format!("/dudley/attributes/{}", pointer(&key.text()));
                        self.losses.push(Diagnostic::loss(&path, error.message().to_owned()));
                    }
                }
            }
        }
        self.losses.extend(draft.settle());
    }

    /// The loss of what is said about an item that is not there.
    pub(super) fn stray(&mut self, of: &str, path: &str) {
        let place = format!("/dudley/{of}/{}", pointer(path));
        self.losses.push(Diagnostic::loss(&place, format!("describes an item that does not exist: {path}")));
    }
}

/// Returns `true` if the elements of an entry have a mask in a tree.
pub(super) fn has_room(entry: &Entry) -> bool {
    entry.typed.primitive().is_some()
}

/// A key as a step of a JSON Pointer.
pub(super) fn pointer(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// Returns `true` if a node is what [`stream_to_asdf`] writes next to the items of a stream; anything else under its
/// name is the user's.
fn is_ours(about: Node<'_>) -> bool {
    let is_text = |node: Node<'_>| node.tag().is_none() && matches!(node.scalar(), Scalar::Str(_)) && node.is_scalar();
    let is_list = |node: Node<'_>| node.is_sequence() && node.tag().is_none() && node.items().all(is_text);
    let is_map = |node: Node<'_>, is: &dyn Fn(Node<'_>) -> bool| {
        node.is_mapping() && node.tag().is_none() && node.entries().all(|(key, value)| is_text(key) && is(value))
    };
    let is_said = |said: Node<'_>| is_map(said, &|value| !ndarray::is_ndarray(value));
    // Trilith never writes an empty list or mapping here.
    let is_known = |(key, value): (Node<'_>, Node<'_>)| match &*key.text() {
        _ if !value.is_scalar() && value.is_empty() => false,
        "dialect" => is_text(value) && Dialect::named(&value.text()).is_some(),
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
    let DraftKind::Dict(items) = &mut dict.kind else { return None };
    let found = dict.attributes.iter().position(|(known, _)| *known == name)?;
    let (_, Attribute::Value(Literal::Integer(value))) = *dict.attributes.get(found)? else { return None };
    if value < -1 {
        return None;
    }
    let is_param = |item: &Draft| matches!(item.kind, DraftKind::Param(_) | DraftKind::Stored(..));
    let after = items.iter().take_while(|(_, item)| is_param(item)).count();
    let fits = |kind: &Primitive| value <= i64::MAX >> (64 - 8 * kind.size().clamp(1, 8));
    let item = stored.filter(fits).map_or_else(|| Draft::param(value), |kind| Draft::stored(value, kind));
    items.insert(after, (name, item));
    dict.attributes.remove(found);
    Some(())
}

/// The scalar that an attribute can hold.
fn word(node: Node<'_>) -> Option<Literal> {
    if let Some(digits) = large(node) {
        return Some(Literal::Large(digits));
    }
    match (node.tag(), node.scalar()) {
        (None, Scalar::Int(value)) => Some(Literal::Integer(value)),
        (None, Scalar::Float(value)) => Some(Literal::Float(value)),
        (None, Scalar::Str(text)) => Some(Literal::Text(text.into_owned())),
        _ => None,
    }
}

/// Returns the part of a value that an attribute can hold, and whether that is its YAML text.
fn attribute(node: Node<'_>, limits: &Limits) -> Result<(Attribute, bool)> {
    if is_word(node) {
        if node.tag().is_none() && node.is_null() {
            return Ok((Attribute::Flag, false));
        }
        if let Some(word) = word(node) {
            return Ok((own_value(Attribute::Value(word)), false));
        }
    } else if node.is_sequence() && node.tag().is_none() && !node.is_empty() && node.items().all(is_word) {
        let words: Option<Vec<Literal>> = node.items().map(word).collect();
        let words = words.unwrap_or_default();
        let is_whole = |word: &Literal| matches!(word, Literal::Integer(_) | Literal::Large(_));
        let kind = words.first().map(std::mem::discriminant);
        let is_one_kind = words.iter().all(|word| Some(std::mem::discriminant(word)) == kind);
        if !words.is_empty() && (is_one_kind || words.iter().all(is_whole)) {
            return Ok((own_value(Attribute::List(words)), false));
        }
    }
    Ok((Attribute::Value(Literal::Text(flow_text(node, limits)?)), true))
}

/// A value as YAML on one line.
fn flow_text(node: Node<'_>, limits: &Limits) -> Result<String> {
    let mut options = PrintOptions::default();
    options.width = usize::MAX;
    let mut value = node.to_value(limits)?;
    retag(&mut value, Target::newest());
    let text = print_value(&flow(value, 0), 0, &options).trim().to_owned();
    if one_value(&text).is_none() {
        return Err(node.error("this value does not fit into an attribute, on one line"));
    }
    Ok(text)
}

/// The value on one line; as deep as [`Node::to_value`] goes.
fn flow(value: Value, depth: usize) -> Value {
    let mut value = value.flow();
    if depth < DEPTH {
        value.map_items(|item| flow(item, depth + 1));
    }
    value
}
