//! Going through the tree across references: every array with its path, and the node at a path.
//!
//! Aliases and `$ref`s (into this file or another) count at each place where they are; if one
//! would close a cycle it is entered once. The number of nodes is bounded by [`Limits::nodes`].

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use super::asdf_file::AsdfFile;
use super::block::Block;
use super::sections::REPAIR_HINT;
use super::{chunked_array, ndarray, zarr_metadata};
use crate::error::{Error, Result};
use crate::json_pointer::push_key;
use crate::limits::Limits;
use crate::tree::{self, Node, NodeId, Places, Tree, TreePath};

/// A node, in this file or one that it refers to.
#[derive(Debug, Clone)]
pub struct FoundNode {
    external: Option<Arc<AsdfFile>>,
    node: NodeId,
}

impl FoundNode {
    /// The file whose tree holds the node: the other one, or `this`.
    pub fn file<'a>(&'a self, this: &'a AsdfFile) -> &'a AsdfFile {
        self.external.as_deref().unwrap_or(this)
    }

    /// The node.
    pub fn node<'a>(&'a self, this: &'a AsdfFile) -> Node<'a> {
        let tree = self.file(this).tree();
        tree.node(self.node).unwrap_or_else(|| tree.root())
    }

    /// The other file, if the node is in one.
    pub fn external_file(&self) -> Option<&Arc<AsdfFile>> {
        self.external.as_ref()
    }

    /// Returns the place of another node of the same file.
    #[must_use]
    pub fn with_node(&self, node: Node<'_>) -> Self {
        Self { external: self.external.clone(), node: node.id() }
    }

    /// The root of a file's own tree.
    pub fn root(file: &AsdfFile) -> Self {
        Self { external: None, node: file.tree().root().id() }
    }
}

impl PartialEq for FoundNode {
    fn eq(&self, other: &Self) -> bool {
        let file = |found: &Self| found.external.as_ref().map(Arc::as_ptr);
        self.node == other.node && file(self) == file(other)
    }
}

/// An array in a listing: its path, and where it is or why it cannot be reached.
#[derive(Debug)]
#[non_exhaustive]
pub struct ListedNdarray {
    /// JSON Pointer from the root of the file that was asked.
    pub path: String,
    /// The ndarray node.
    pub location: Result<FoundNode>,
}

/// Returns the target of a `$ref`.
pub(crate) fn reference_target(node: Node<'_>) -> Option<Cow<'_, str>> {
    // A reference is a small mapping; large ones are not searched for the key.
    if node.len() > 8 {
        return None;
    }
    node.reference_text()
}

/// Returns `true` if a reference is below a node, aliases included.
pub(super) fn holds_references(node: Node<'_>, limits: &Limits) -> Result<bool> {
    let mut walk = node.walk(limits);
    while let Some(visit) = walk.try_next()? {
        if !visit.node.is_scalar() && reference_target(visit.node).is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The nodes of a file and of those that it refers to.
struct OpenTrees<'a>(&'a AsdfFile);

impl Places for OpenTrees<'_> {
    type Place = FoundNode;

    fn find_reference(&self, at: &FoundNode) -> Option<String> {
        reference_target(at.node(self.0)).map(Cow::into_owned)
    }

    fn open_root(&mut self, at: &FoundNode, uri: &str) -> Result<FoundNode> {
        let other = match uri {
            "" => at.external.clone(),
            name => Some(at.file(self.0).external_files(name)?),
        };
        Ok(FoundNode { node: other.as_deref().unwrap_or(self.0).tree().root().id(), external: other })
    }

    fn find_child(&self, at: &FoundNode, key: &str, path: &TreePath) -> Result<FoundNode> {
        let node = at.node(self.0);
        node.check_name(key).map_err(|error| error.at_path(path.to_string()))?;
        match node.child(key) {
            Some(child) => Ok(at.with_node(child)),
            // `FILE#/` is the key "" by the letter, but who writes it means the root.
            None if key.is_empty() && path.keys().len() == 1 => Ok(at.clone()),
            None => Err(node.missing_child(key, path)),
        }
    }
}

/// Follows the `$ref` of a node, and those of its targets, to a node without one.
///
/// # Errors
/// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) for a circle of references and if a target does
/// not exist, [`ErrorKind::Limit`](crate::ErrorKind::Limit) if it is refused.
pub fn follow(this: &AsdfFile, from: &FoundNode) -> Result<FoundNode> {
    tree::resolve_path(&mut OpenTrees(this), from.clone(), &TreePath::root())
}

/// The node at a JSON Pointer of `file`; references on the way, and at the end, are followed. A card of a FITS
/// header may be named by its keyword ([`Tree::card_path`]).
///
/// # Errors
/// Returns [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) with the existing keys if `pointer` leads nowhere,
/// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if it is not a pointer, and the errors of [`follow`].
pub fn find(file: &AsdfFile, pointer: &str) -> Result<FoundNode> {
    let path = file.tree().card_path(&TreePath::parse(pointer)?)?;
    tree::resolve_path(&mut OpenTrees(file), FoundNode::root(file), &path)
}

/// A node still to be visited.
struct PendingNode {
    found: FoundNode,
    /// Length of the path to the parent, and the addition for this node.
    parent: usize,
    key: ParentKey,
    depth: usize,
    via_reference: bool,
}

enum ParentKey {
    Root,
    Index(usize),
    /// The node of the key, in the file of the parent.
    Name(FoundNode),
}

/// Every ndarray of a file, in document order.
///
/// # Errors
/// Returns [`ErrorKind::Limit`](crate::ErrorKind::Limit) after [`Limits::nodes`] nodes or [`Limits::items`] arrays.
pub fn arrays(file: &AsdfFile) -> Result<Vec<ListedNdarray>> {
    let mut list = Vec::new();
    let (limit, items) = (file.limits().nodes, file.limits().items);
    let mut budget = limit;
    let (mut path, mut text) = (String::new(), 0);
    let mut inside: Vec<FoundNode> = Vec::new();
    // Most metadata lead to no array, so they are not entered.
    let landmarks = file.tree().landmarks(ndarray::is_ndarray_tag);
    // The first landmark that is not before the last node. Nodes come in order, except for those that are merged in.
    let mut ahead = 0;
    let mut leads_on = |step: &PendingNode, node: Node<'_>| {
        let numbers = node.written_ids();
        if step.found.external.is_none() {
            let is_before = |at: usize| landmarks.get(at).is_some_and(|number| *number < numbers.start);
            if !(ahead == 0 || is_before(ahead - 1)) || is_before(ahead) && is_before(ahead + 1) {
                ahead = landmarks.partition_point(|number| *number < numbers.start);
            } else if is_before(ahead) {
                ahead += 1;
            }
            if landmarks.get(ahead).is_none_or(|number| *number >= numbers.end) {
                return false;
            }
        }
        !node.is_scalar() || ndarray::is_ndarray(node)
    };
    // Nodes that are not entered count all the same, and keys are nodes, too.
    let passed = |node: Node<'_>| (node.written_ids().len() as u64 / 2).max(1);
    let mut stack =
        vec![PendingNode { found: FoundNode::root(file), parent: 0, key: ParentKey::Root, depth: 0, via_reference: false }];
    while let Some(step) = stack.pop() {
        budget = budget
            .checked_sub(1)
            .ok_or_else(|| Limits::exceeded_error("nodes", limit, "the tree, references expanded, has more nodes to visit"))?;
        path.truncate(step.parent);
        let name = if let ParentKey::Name(key) = &step.key { Some(key_of(key.node(file))) } else { None };
        match (&step.key, &name) {
            (ParentKey::Index(index), _) => push_key(&mut path, &index.to_string()),
            (_, Some(name)) => push_key(&mut path, name),
            (_, None) => {}
        }
        inside.truncate(step.depth);
        let node = step.found.node(file);
        if list.len() as u64 >= items && (ndarray::is_ndarray(node) || reference_target(node).is_some()) {
            return Err(Limits::exceeded_error("items", items, "the tree, references expanded, has more arrays"));
        }
        let mut charge = || file.limits().charge_text(&mut text, path.len(), "the paths of the arrays");
        if ndarray::is_ndarray(node) {
            charge()?;
            // A path that leads to two arrays names none.
            let checked = name.zip(inside.last()).map_or(Ok(()), |(name, above)| above.node(file).check_name(&name));
            list.push(ListedNdarray { path: path.clone(), location: checked.map(|()| step.found) });
            continue;
        }
        if node.is_scalar() || node.tag().is_some_and(is_integer_tag) {
            continue;
        }
        if reference_target(node).is_some() {
            match follow(file, &step.found) {
                Ok(found) => {
                    stack.push(PendingNode {
                        found,
                        parent: path.len(),
                        key: ParentKey::Root,
                        depth: step.depth,
                        via_reference: true,
                    });
                }
                Err(error) => {
                    charge()?;
                    list.push(ListedNdarray { path: path.clone(), location: Err(error) });
                }
            }
            continue;
        }
        if step.via_reference && inside.contains(&step.found) {
            continue;
        }
        inside.push(step.found.clone());
        let (parent, depth, first) = (path.len(), inside.len(), stack.len());
        let push = |stack: &mut Vec<PendingNode>, child: Node<'_>, key: ParentKey| {
            let found = FoundNode { external: step.found.external.clone(), node: child.id() };
            stack.push(PendingNode { found, parent, key, depth, via_reference: child.is_alias() });
        };
        if node.is_sequence() {
            for (index, item) in node.items().enumerate() {
                let is_entered = leads_on(&step, item);
                if is_entered {
                    push(&mut stack, item, ParentKey::Index(index));
                }
                budget = budget.saturating_sub(if is_entered { 1 } else { passed(item) });
            }
        } else {
            let merges = node.entries().any(|(key, _)| key.source_text() == "<<");
            let entries = if merges { node.merged_entries() } else { node.entries().collect() };
            for (key, value) in entries {
                let is_entered = leads_on(&step, value);
                if is_entered {
                    push(&mut stack, value, ParentKey::Name(step.found.with_node(key)));
                }
                budget = budget.saturating_sub(if is_entered { 1 } else { passed(value) });
            }
        }
        // Last in, first out: turned round, the children come in the order of the document.
        stack[first..].reverse();
    }
    Ok(list)
}

/// core/integer keeps its words in an ndarray that is not an array of the user's.
pub(crate) fn is_integer_tag(tag: &str) -> bool {
    tag.strip_prefix("tag:stsci.edu:asdf/core/integer-").is_some()
}

/// Every ndarray node of a file's own tree that has a `source`, masks included, each once.
///
/// # Errors
/// Returns [`ErrorKind::Limit`](crate::ErrorKind::Limit) for too many nodes.
pub(crate) fn ndarrays_with_source(file: &AsdfFile) -> Result<Vec<(Node<'_>, Node<'_>)>> {
    let tree = file.tree();
    check_count(tree, file.limits())?;
    let known = file.cached_sources().get_or_init(|| source_block_numbers(tree));
    let node = |number: u32| tree.node_at(number as usize);
    Ok(known.iter().filter_map(|(array, source)| Some((node(*array)?, node(*source)?))).collect())
}

/// Adds to the error of reading a block its number, and the path of the first array in it.
pub(crate) fn name_block_error(file: &AsdfFile, index: usize, error: Error) -> Error {
    let is_there = |source: &Node<'_>| {
        source.as_i64().is_some_and(|number| file.sections().block(number).is_ok_and(|block| block.index == index))
    };
    let named = ndarrays_with_source(file).unwrap_or_default().into_iter().find(|(_, source)| is_there(source));
    let in_chunks = |node: &Node<'_>| chunked_array::NamedBlocks::of_node(file, *node).blocks.contains(&index);
    let found = named.map(|(node, _)| node).or_else(|| file.tree().tagged(zarr_metadata::is_tag).find(in_chunks));
    let path = found.and_then(|node| file.tree().path_of(node.id())).map(|path| path.to_string());
    error.in_item("", &format!("block {index}")).in_item("", &path.unwrap_or_default())
}

/// Returns the ndarrays of a file's own tree that name a block which the file does not have, or an array in chunks without some of
/// its blocks, each with the reason.
///
/// # Errors
/// Returns [`ErrorKind::Limit`](crate::ErrorKind::Limit) for too many nodes, and `Io` if the blocks cannot be read.
pub(crate) fn find_missing_blocks(file: &AsdfFile) -> Result<Vec<(Node<'_>, Error)>> {
    let mut missing = Vec::new();
    let mut note = |node, found: Result<()>| match found {
        Err(error) if error.kind().is_transient() => Err(error),
        Err(error) => {
            missing.push((node, error));
            Ok(())
        }
        Ok(()) => Ok(()),
    };
    let count = file.sections().all_blocks().map_or(0, |blocks| blocks.len() as i64);
    for (node, source) in ndarrays_with_source(file)? {
        // The reason is asked for where there is none of that number.
        if let Some(number) = source.as_i64().filter(|number| !(-count..count).contains(number)) {
            note(node, file.sections().block(number).map(drop))?;
        }
    }
    for node in file.tree().tagged(zarr_metadata::is_tag) {
        note(node, chunked_array::check_named_blocks(file, node))?;
    }
    Ok(missing)
}

impl AsdfFile {
    /// Returns every block, in order, for a copy of the whole file: nothing that the tree names is missing.
    ///
    /// # Errors
    /// Returns the errors of [`all_blocks`](super::AsdfSections::all_blocks), and [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if the tree has
    /// no end, or with the path of an array whose block is not there.
    pub fn blocks_to_copy(&self) -> Result<Vec<&Block>> {
        let all = self.sections().blocks_to_copy()?;
        if self.completeness.get().is_some() {
            return Ok(all);
        }
        match find_missing_blocks(self)?.into_iter().next() {
            None => {
                let _ = self.completeness.set(());
                Ok(all)
            }
            Some((node, error)) => {
                let path = self.tree().path_of(node.id()).map(|path| path.to_string()).unwrap_or_default();
                Err(error.at_path(path).context(self.sections().source().name()).hint(REPAIR_HINT))
            }
        }
    }
}

/// The first array of a file whose elements cannot be found, though they are in the file: None if all can.
///
/// # Errors
/// Returns [`ErrorKind::Limit`](crate::ErrorKind::Limit) for too many nodes.
pub(crate) fn first_unreadable(file: &AsdfFile) -> Result<Option<Error>> {
    for (node, source) in ndarrays_with_source(file)? {
        let is_here = source.as_i64().is_some() || source.text().starts_with("fits:");
        match file.unmasked_array(node) {
            Err(error) if is_here && error.kind() == crate::ErrorKind::Malformed => return Ok(Some(error)),
            _ => {}
        }
    }
    Ok(None)
}

/// Does the same as [`ndarrays_with_source`], for a tree.
///
/// # Errors
/// Returns [`ErrorKind::Limit`](crate::ErrorKind::Limit) for too many nodes.
pub(crate) fn collect_sourced<'t>(tree: &'t Tree, limits: &Limits) -> Result<Vec<(Node<'t>, Node<'t>)>> {
    check_count(tree, limits)?;
    Ok(with_source(tree).collect())
}

/// Refuses a tree of too many nodes.
pub(super) fn check_count(tree: &Tree, limits: &Limits) -> Result<()> {
    // Keys are nodes, too.
    if tree.node_count() as u64 / 2 > limits.nodes {
        return Err(Limits::exceeded_error("nodes", limits.nodes, "the tree has more nodes to visit"));
    }
    Ok(())
}

/// Every ndarray of a tree that has a `source`, with it.
pub(super) fn with_source(tree: &Tree) -> impl Iterator<Item = (Node<'_>, Node<'_>)> {
    tree.tagged(ndarray::is_ndarray_tag).filter_map(|node| Some((node, source_node(node)?)))
}

/// The numbers, as they are written, of the ndarrays that have a source, and of these sources.
pub(super) fn source_block_numbers(tree: &Tree) -> Vec<(u32, u32)> {
    with_source(tree).map(|(node, source)| (node.written_id(), source.written_id())).collect()
}

/// The `source` of a node that is an ndarray.
pub(super) fn source_node(node: Node<'_>) -> Option<Node<'_>> {
    if ndarray::is_ndarray(node) { node.get("source") } else { None }
}

/// Returns the numbers of the blocks that are not empty, although no array of the tree names them.
///
/// Something else may refer to them by number: the tree, the bytes of another block, or another file. A rewrite of the file
/// therefore keeps them, and the numbers of all blocks (`fixed_number_blocks`).
///
/// # Errors
/// Returns [`ErrorKind::Limit`](crate::ErrorKind::Limit) for too many nodes.
pub fn unreferenced_blocks(file: &AsdfFile) -> Result<BTreeSet<usize>> {
    unreferenced_except(file, &chunked_array::NamedBlocks::of_tree(file, file.tree())?.blocks)
}

/// Returns the unreferenced blocks, where `in_chunks` are those that chunked arrays reference.
fn unreferenced_except(file: &AsdfFile, in_chunks: &BTreeSet<usize>) -> Result<BTreeSet<usize>> {
    let mut numbers: BTreeSet<usize> =
        file.sections().all_blocks()?.iter().filter(|block| block.stored_len() > 0).map(|block| block.index).collect();
    for (_, source) in ndarrays_with_source(file)? {
        if let Some(block) = source.as_i64().and_then(|number| file.sections().block(number).ok()) {
            numbers.remove(&block.index);
        }
    }
    numbers.retain(|number| !in_chunks.contains(number));
    Ok(numbers)
}

/// Returns the numbers of the blocks that must keep their number in a rewrite of the file: those that no array
/// names ([`unreferenced_blocks`]), and those of [arrays in chunks](super::ndarray::is_chunked), which the bytes of another
/// block name.
///
/// # Errors
/// Returns [`ErrorKind::Limit`](crate::ErrorKind::Limit) for too many nodes.
pub(crate) fn fixed_number_blocks(file: &AsdfFile) -> Result<BTreeSet<usize>> {
    let in_chunks = chunked_array::NamedBlocks::of_tree(file, file.tree())?.blocks;
    let mut numbers = unreferenced_except(file, &in_chunks)?;
    numbers.extend(in_chunks);
    Ok(numbers)
}

/// Returns the part that a key adds to a path.
fn key_of(key: Node<'_>) -> Cow<'_, str> {
    if key.is_scalar() { key.text() } else { key.source_text().into() }
}
