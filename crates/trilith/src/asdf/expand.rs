//! The tree as a reader sees it: aliases entered, references followed, arrays written out.
//!
//! [`expand`] hands over the parts one after the other, without recursion; what becomes of them (JSON,
//! YAML, a table) is the caller's business.

use std::borrow::Cow;
use std::collections::HashSet;

use super::asdf_file::AsdfFile;
use super::ndarray;
use super::walk::{self, FoundNode, reference_target};
use crate::array::Array;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;
use crate::tree::{Expanded, Node, PrintOptions, Tree, TreePath, UNREADABLE, Value, print_value};
use crate::yaml::ValueBuilder;

/// Options for writing out items.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct ExpandOptions {
    /// Arrays as their elements, core/integer as its digits.
    pub inline: bool,
    /// The targets of `$ref`s in their place.
    pub resolve: bool,
    /// The tags are written too: if many nodes share a long prefix, that is much text.
    pub tags: bool,
    /// Arrays of other files, after a `$ref`, as their elements: their blocks are not those of this file.
    pub inline_external: bool,
    /// An array that cannot be read is handed over with the reason, and the others go on; otherwise it is an error.
    pub errors_as_parts: bool,
    /// Two keys of a mapping with the same text are an error, as where JSON is written. Otherwise the last counts.
    pub unique_keys: bool,
    /// The attributes of each item are handed over before it.
    pub attributes: bool,
}

/// A part of an expanded tree.
pub enum TreeEvent<'a> {
    /// A scalar.
    Scalar(Node<'a>),
    /// An ndarray, to be written out; the node is its description.
    Array(Node<'a>, Array),
    /// An ndarray that cannot be read, and why.
    Unreadable(Node<'a>, Error),
    /// A core/integer, in decimal digits.
    Integer(Node<'a>, String),
    /// A node that contains this place: where it is.
    Cycle(TreePath),
    /// A sequence begins.
    Sequence(Node<'a>),
    /// A mapping begins.
    Mapping(Node<'a>),
    /// The key of what comes next.
    Key(Node<'a>),
    /// The innermost sequence or mapping ends.
    End,
}

/// A collection that is being gone through.
struct ExpandLevel {
    found: FoundNode,
    /// Keys (for a mapping) and children still to come, last first.
    pending_children: Vec<(Option<FoundNode>, FoundNode)>,
}

/// Hands over `start` and all below it.
///
/// # Errors
/// Returns an error if a reference cannot be followed or an array cannot be read, and the errors of `take`. Returns
/// [`ErrorKind::Limit`] for too many nodes or too deep a nesting.
pub fn expand(
    file: &AsdfFile,
    start: &FoundNode,
    options: ExpandOptions,
    take: &mut dyn FnMut(TreeEvent<'_>) -> Result<()>,
) -> Result<()> {
    let _call = file.limits().call();
    expand_within(file, start, options, &mut ExpansionBudget::from_limits(file), take)
}

/// The amount that may still be written out of a file. An ordinary tree grows little by its aliases and references,
/// but a small file could claim to grow without bounds.
pub struct ExpansionBudget {
    nodes: u64,
    tags: u64,
}

impl ExpansionBudget {
    /// Creates the full budget that the limits of a file allow.
    pub fn from_limits(file: &AsdfFile) -> Self {
        let limits = file.limits();
        Self { nodes: (file.tree().node_count() as u64).saturating_add(limits.expansion), tags: limits.text }
    }

    fn charge_nodes(&mut self, nodes: u64, limits: &Limits) -> Result<()> {
        let left = self.nodes.checked_sub(nodes);
        let too_many = || Limits::exceeded_error("expansion", limits.expansion, "aliases and references add nodes to the tree");
        self.nodes = left.ok_or_else(too_many)?;
        Ok(())
    }

    fn charge_tag(&mut self, tag: &str, limits: &Limits) -> Result<()> {
        let left = self.tags.checked_sub(tag.len() as u64);
        let too_long = || Limits::exceeded_error("text", limits.text, "the tags of the tree, written out, have more bytes");
        self.tags = left.ok_or_else(too_long)?;
        Ok(())
    }
}

/// Does the same as [`expand`], up to the `budget`.
fn expand_within(
    file: &AsdfFile,
    start: &FoundNode,
    options: ExpandOptions,
    budget: &mut ExpansionBudget,
    take: &mut dyn FnMut(TreeEvent<'_>) -> Result<()>,
) -> Result<()> {
    let limits = file.limits();
    let keys = Expanded::new(|_| false);
    let mut levels: Vec<ExpandLevel> = Vec::new();
    let mut next = Some(start.clone());
    // The path of the next node, or of the innermost level: that of level i is its first i keys.
    let mut path = TreePath::root();
    loop {
        if let Some(mut found) = next.take() {
            let depth = levels.len();
            budget.charge_nodes(1, limits)?;
            if options.resolve {
                found = walk::follow(file, &found).map_err(|e| e.at_path(path.to_string()))?;
            }
            let node = found.node(file);
            if let Some(tag) = node.tag().filter(|_| options.tags) {
                budget.charge_tag(tag, limits)?;
            }
            let inline = options.inline || (options.inline_external && !std::ptr::eq(found.file(file), file));
            if node.is_scalar() && !ndarray::is_ndarray(node) {
                take(TreeEvent::Scalar(node))?;
            } else if let Some(outer) = levels.iter().position(|level| level.found == found) {
                take(TreeEvent::Cycle(path.keys().iter().take(outer).cloned().collect()))?;
            } else if inline && ndarray::is_ndarray(node) {
                match found.file(file).array(node) {
                    Ok(array) => take(TreeEvent::Array(node, array))?,
                    Err(why) if options.errors_as_parts && !why.kind().is_transient() => take(TreeEvent::Unreadable(node, why))?,
                    Err(why) => return Err(why.context(path.to_string())),
                }
            } else if is_unreadable(file, node)
                && let Err(why) = found.file(file).array(node)
            {
                match options.errors_as_parts && !why.kind().is_transient() {
                    true => take(TreeEvent::Unreadable(node, why))?,
                    false => return Err(why.context(path.to_string())),
                }
            } else if let (true, Some(tag)) = (inline, node.tag().filter(|tag| walk::is_integer_tag(tag))) {
                let digits = read_integer_digits(found.file(file), node).map_err(|e| e.context(format!("{path}: {tag}")))?;
                take(TreeEvent::Integer(node, digits))?;
            } else {
                let rest = collect_children(&found, file, options.unique_keys)?;
                take(if node.is_sequence() { TreeEvent::Sequence(node) } else { TreeEvent::Mapping(node) })?;
                limits.charge_depth(levels.len(), "the tree, written out,")?;
                levels.push(ExpandLevel { found, pending_children: rest });
            }
            if levels.len() == depth {
                path.pop();
            }
        }
        let Some(level) = levels.last_mut() else { return Ok(()) };
        match level.pending_children.pop() {
            Some((key, child)) => {
                let name = match &key {
                    Some(key) => key.node(file).key_text().into_owned(),
                    None => (level.found.node(file).len() - level.pending_children.len() - 1).to_string(),
                };
                path.push(name);
                if let Some(key) = key {
                    budget.charge_nodes(keys.size_of(key.node(file))?.nodes - 1, limits)?;
                    take(TreeEvent::Key(key.node(file)))?;
                }
                next = Some(child);
            }
            None => {
                levels.pop();
                path.pop();
                take(TreeEvent::End)?;
            }
        }
    }
}

/// Returns `start` and all below it as a value. `special` sees each part first: it returns the value of a part that is not to
/// have the usual one.
///
/// # Errors
/// Returns the errors of [`expand`] and of `special`.
pub fn expand_value(
    file: &AsdfFile,
    start: &FoundNode,
    options: ExpandOptions,
    budget: &mut ExpansionBudget,
    special: &mut dyn FnMut(&TreeEvent<'_>, &ValueBuilder) -> Result<Option<Value>>,
) -> Result<Value> {
    let mut built = ValueBuilder::default();
    expand_within(file, start, options, budget, &mut |part| {
        if let Some(value) = special(&part, &built)? {
            built.push_value(value);
            return Ok(());
        }
        let tagged = |node: Node<'_>, value: Value| Value { tag: node.tag().map(str::to_owned), ..value };
        match part {
            TreeEvent::Sequence(node) => built.begin_collection(tagged(node, Value::seq::<Value>([]))),
            TreeEvent::Mapping(node) => built.begin_collection(tagged(node, Value::map::<Value, Value>([]))),
            TreeEvent::Key(node) => built.key(node.to_value(file.limits())?),
            TreeEvent::End => built.end_collection(),
            TreeEvent::Unreadable(_, why) => return Err(why),
            TreeEvent::Cycle(path) => built.push_value(Value::map([("$ref", format!("#{path}"))])),
            TreeEvent::Scalar(node) | TreeEvent::Array(node, _) | TreeEvent::Integer(node, _) => {
                built.push_value(node.to_value(file.limits())?);
            }
        }
        Ok(())
    })?;
    Ok(built.finish().unwrap_or_default())
}

/// A node and all below it as a value, references followed; keys of the node itself that `left_out` names are left out.
///
/// # Errors
/// Returns the errors of [`expand`], and [`ErrorKind::Malformed`] for a node that contains itself.
pub(super) fn value_of(file: &AsdfFile, node: Node<'_>, left_out: &dyn Fn(&str) -> bool) -> Result<Value> {
    let mut budget = ExpansionBudget::from_limits(file);
    let mut whole = |node: Node<'_>| {
        let options = ExpandOptions { resolve: true, tags: true, ..ExpandOptions::default() };
        let start = FoundNode::root(file).with_node(node);
        let value = expand_value(file, &start, options, &mut budget, &mut |part, _| match part {
            TreeEvent::Cycle(_) => Err(node.error("an ndarray that contains itself")),
            _ => Ok(None),
        })?;
        Ok(if value.items().is_empty() && value.entries().is_empty() { value } else { value.flow() })
    };
    if !node.is_mapping() || reference_target(node).is_some() {
        return whole(node);
    }
    let mut value = Value::map::<Value, Value>([]);
    for (key, child) in node.merged_entries() {
        let key = key.key_text();
        if !left_out(&key) {
            value.push_pair(key.into_owned(), whole(child)?);
        }
    }
    Ok(match node.tag() {
        Some(tag) => value.tagged(tag),
        None => value,
    })
}

/// The tree of a file with its references followed; None if it has none, or if one cannot be followed.
///
/// # Errors
/// Returns the errors of [`expand`].
pub(crate) fn resolve_tree_references(file: &AsdfFile) -> Result<Option<Tree>> {
    let root = file.tree().root();
    if !walk::holds_references(root, file.limits())? {
        return Ok(None);
    }
    let value = match value_of(file, root, &|_| false) {
        Ok(value) => value,
        Err(error) if matches!(error.kind(), ErrorKind::Malformed | ErrorKind::Limit | ErrorKind::InvalidInput) => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    let text = print_value(&value, 0, &PrintOptions::default());
    Tree::parse(text, file.limits()).map(Some)
}

/// Returns `true` if a node of the derived tree of a FITS file marks its array as unreadable.
fn is_unreadable(file: &AsdfFile, node: Node<'_>) -> bool {
    file.container().is_some_and(|container| container.hdu == 0) && ndarray::is_ndarray(node) && node.get(UNREADABLE).is_some()
}

/// The children of a collection, last first; duplicates and merge keys of mappings applied.
fn collect_children(found: &FoundNode, file: &AsdfFile, unique_keys: bool) -> Result<Vec<(Option<FoundNode>, FoundNode)>> {
    let node = found.node(file);
    let mut list: Vec<_> = if node.is_sequence() {
        node.items().map(|item| (None, found.with_node(item))).collect()
    } else {
        if unique_keys {
            let mut seen = HashSet::with_capacity(node.len());
            for (key, _) in node.entries().filter(|(key, value)| !key.is_merge() || value.is_scalar()) {
                let text = key_name(key);
                if seen.contains(&text) {
                    return Err(key.error(format!("two keys of this mapping read {text:?}")));
                }
                seen.insert(text);
            }
        }
        node.merged_entries().iter().map(|(key, value)| (Some(found.with_node(*key)), found.with_node(*value))).collect()
    };
    list.reverse();
    Ok(list)
}

/// A key as JSON has it: as [`Node::key_text`], but `null` for a null key, however it is written.
pub fn key_name(key: Node<'_>) -> Cow<'_, str> {
    if key.is_null() { Cow::Borrowed("null") } else { key.key_text() }
}

/// The digits of a core/integer: its words are 32-bit pieces, the least significant first.
///
/// # Errors
/// Returns [`ErrorKind::Malformed`] if words or sign are missing, [`ErrorKind::Limit`] for more than 4,096 words.
pub(crate) fn read_integer_digits(file: &AsdfFile, node: Node<'_>) -> Result<String> {
    const MAX_SHOWN: u64 = 4096;
    let words = file.array(node.require("words")?)?;
    if words.element_count() > MAX_SHOWN {
        return Err(Error::limit(format!("an integer of {} words, at most {MAX_SHOWN} are read", words.element_count())));
    }
    let mut words: Vec<u32> = words.load_as::<u32>()?;
    let negative = match &*node.require("sign")?.text() {
        "+" => false,
        "-" => true,
        other => return Err(node.error(format!("the sign of an integer is + or -, found {other:?}"))),
    };
    let mut groups = Vec::new();
    while words.iter().any(|word| *word != 0) {
        let mut rest = 0u64;
        for word in words.iter_mut().rev() {
            let value = rest << 32 | u64::from(*word);
            *word = (value / 1_000_000_000) as u32;
            rest = value % 1_000_000_000;
        }
        groups.push(rest);
    }
    let Some((first, others)) = groups.split_last() else { return Ok("0".to_owned()) };
    let mut digits = if negative { format!("-{first}") } else { first.to_string() };
    for group in others.iter().rev() {
        digits.push_str(&format!("{group:09}"));
    }
    Ok(digits)
}
