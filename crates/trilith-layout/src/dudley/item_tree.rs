//! The items of a stream as the tree that users see: dicts, lists, arrays, parameters.

use std::collections::{HashMap, HashSet};

use super::chunk_grid::{ChunkedArray, GridCollector};
use super::dudley_file::StreamItems;
use super::item_path::{PathStep, parse};
use crate::error::Result;
use crate::layout::{
    Attribute, ItemId, ItemKind, Layout, LayoutEntry, LayoutLiteral, OWNER_ATTRIBUTE, ResolvedType, StreamEntryKind, own_name,
    quoted_name, read_own, read_value,
};

/// The number of a node of an [`StreamOutline`]; 0 is the root dict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ItemTreeId(usize);

impl ItemTreeId {
    /// The root dict.
    pub const ROOT: ItemTreeId = ItemTreeId(0);

    /// The node with a number.
    pub fn new(index: usize) -> Self {
        Self(index)
    }

    /// The number of the node.
    pub fn index(self) -> usize {
        self.0
    }
}

/// The kind of a node.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum OutlineKind<'o> {
    /// Named items; also a struct with stored parameters.
    Dict,
    /// Items without names; also an array of structs with stored parameters.
    List,
    /// An array; also an item that cannot be read, of which [`DudleyFile::array_of`](super::DudleyFile::array_of)
    /// returns the reason.
    Data(&'o LayoutEntry),
    /// A parameter and its value.
    Param(i64, Option<&'o LayoutEntry>),
    /// An item of type `{}`.
    Null,
}

/// The kind of a child, as its dict tells a parameter from anything else of the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum ChildKind {
    /// A stored or fixed parameter.
    Param,
    /// A dict, list, array or struct.
    Item,
}

#[derive(Debug)]
struct OutlineNode {
    path_step: PathStep,
    parent: usize,
    child_kind: ChildKind,
    children: Vec<usize>,
    /// Apart, since most of the nodes above items have none.
    entry: Option<Box<LayoutEntry>>,
    item: Option<ItemId>,
    is_list: bool,
    is_grid: bool,
    /// `true` if the layout marks it as unreadable. It is then an array whose elements are an error.
    is_unreadable: bool,
    /// `true` if it is only a part of another array, which users do not see.
    is_grid_part: bool,
    /// `true` if it is an attribute of another node. It is a child of the dict that holds it only if it cannot be read.
    is_attribute: bool,
    /// `true` if its children are in [`StreamOutline::entries`].
    is_indexed: bool,
}

/// The items of a stream as a tree.
///
/// Elements of a list that hold nothing at all (an empty dict, an empty list) take part in no address and
/// are not seen.
#[derive(Debug)]
pub struct StreamOutline {
    nodes: Vec<OutlineNode>,
    /// The children of nodes that have many, but for the elements of lists in their order.
    entries: HashMap<(usize, PathStep, ChildKind), usize>,
    /// The values of fixed parameters.
    fixed_params: HashMap<usize, i64>,
    /// The nodes with entries, in the order of the text.
    order: Vec<usize>,
    /// The arrays in chunks, by their paths.
    grids: HashMap<String, Result<ChunkedArray>>,
    /// The attributes of a node that are items, with their names.
    attributes: HashMap<usize, Vec<(String, usize)>>,
}

/// About as many bytes as a node takes, with its names and its places.
const NODE_COST: u64 = 400;

/// Number of children that are looked through one by one.
const MAX_LINEAR_CHILDREN: usize = 8;

/// The children of a node: name or None, and node.
pub type OutlineChildren<'o> = Vec<(Option<&'o str>, ItemTreeId)>;

impl StreamOutline {
    pub(super) fn build(items: &StreamItems<'_>) -> Result<Self> {
        let mut outline = Self {
            nodes: Vec::new(),
            entries: HashMap::new(),
            fixed_params: HashMap::new(),
            order: Vec::new(),
            grids: HashMap::new(),
            attributes: HashMap::new(),
        };
        outline.nodes.push(OutlineNode::new(PathStep::Name(String::new()), 0, ChildKind::Item));
        if let Some(root) = outline.nodes.first_mut() {
            root.item = Some(ItemId::ROOT);
        }
        let declared = outline.enter_declared_items(items.file().layout());
        let mut grids = GridCollector::new(items.file().layout());
        for (number, entry) in items.condensed_entries().enumerate() {
            if number.is_multiple_of(1 << 14) {
                let taken = (outline.nodes.len() as u64).saturating_mul(NODE_COST);
                items.file().limits().charge_memory(taken, "the tree of a stream")?;
            }
            let entry = entry?;
            match grids.claim_entry(&entry, items.file().layout()) {
                // The first chunk gives the array its position among the items. The array is set when all chunks are known.
                Some((path, true)) => outline.insert_entry(LayoutEntry { path, ..entry }, items.file().layout(), &declared)?,
                Some((_, false)) => {}
                None => outline.insert_entry(entry, items.file().layout(), &declared)?,
            }
        }
        let find = |path: &str| outline.nodes.get(outline.find(path).ok()??.0)?.entry.as_deref().cloned();
        let file = items.file();
        let stream = (file.base_offset(), file.source().len());
        for (entry, grid) in grids.into_grids(&find, stream, file.layout(), file.limits())? {
            outline.replace_with_grid(entry, grid)?;
        }
        // The outline lives as long as the file, and a vector that grows has up to twice the space that it needs.
        outline.nodes.shrink_to_fit();
        outline.order.shrink_to_fit();
        Ok(outline)
    }

    /// Puts an array in chunks at the place of its items.
    fn replace_with_grid(&mut self, entry: LayoutEntry, grid: Result<ChunkedArray>) -> Result<()> {
        let Some(id) = self.find(&entry.path)? else { return Ok(()) };
        if let Some(node) = self.nodes.get_mut(id.0) {
            self.grids.insert(entry.path.clone(), grid);
            (node.item, node.is_list, node.is_grid) = (Some(entry.item), false, true);
            node.entry = Some(Box::new(entry));
        }
        Ok(())
    }

    /// The array in chunks at the path of an entry; why it cannot be read, if that is so.
    pub(crate) fn grid_at_path(&self, path: &str) -> Option<&Result<ChunkedArray>> {
        self.grids.get(path)
    }

    /// Returns `true` if a node is an array in chunks.
    pub fn is_grid(&self, id: ItemTreeId) -> bool {
        self.nodes.get(id.0).is_some_and(|node| node.is_grid)
    }

    /// Enters the items outside of lists, in the order of their declaration: also those that take no space. Returns the
    /// node of each item of the layout.
    fn enter_declared_items(&mut self, layout: &Layout) -> Vec<Option<usize>> {
        let mut nodes = vec![None; layout.item_count()];
        if let Some(root) = nodes.first_mut() {
            *root = Some(0);
        }
        let may_have_parts = layout.may_have_parts();
        let may_have_owners = layout.has_attribute_name(OWNER_ATTRIBUTE);
        let referenced: HashSet<ItemId> = layout.references().map(|(id, _)| id).collect();
        for id in (1..layout.item_count()).filter_map(|at| layout.item_at(at)) {
            let Some(parent) = layout.parent(id) else { continue };
            let (Some(&Some(parent_node)), ItemKind::Dict) = (nodes.get(parent.index()), layout.kind(parent)) else { continue };
            let Some(name) = layout.name(id) else { continue };
            let kind = layout.kind(id);
            if !matches!(kind, ItemKind::Dict | ItemKind::List | ItemKind::Param | ItemKind::Data) || referenced.contains(&id) {
                continue;
            }
            let child_kind = if kind == ItemKind::Param { ChildKind::Param } else { ChildKind::Item };
            let node = self.get_or_insert_child(parent_node, PathStep::Name(read_own(name).into_owned()), child_kind);
            if let Some(node) = self.nodes.get_mut(node) {
                node.item = Some(id);
                node.is_list = kind == ItemKind::List;
                node.is_grid_part = may_have_parts && layout.is_part(id);
            }
            if may_have_owners {
                self.enter_attribute(layout, id, (parent_node, node));
            }
            if let Some(value) = layout.param_of(id).and_then(|param| param.fixed_value) {
                self.fixed_params.insert(node, value);
            }
            if let Some(of) = nodes.get_mut(id.index()) {
                *of = Some(node);
            }
        }
        nodes
    }

    /// Enters an item as an attribute of the item that it names; does nothing for any other item. An attribute that cannot be read is
    /// an item as well, so that all who list items meet it.
    fn enter_attribute(&mut self, layout: &Layout, id: ItemId, (parent, node): (usize, usize)) {
        let owner = layout.attributes(id).find(|(name, _)| *name == OWNER_ATTRIBUTE).map(|(_, owner)| read_value(owner));
        let (Some(Attribute::Value(LayoutLiteral::Text(owner))), Some(name)) = (owner, layout.name(id)) else { return };
        let name = read_own(name);
        let Some(name) = name.strip_prefix(owner.as_str()).and_then(|rest| rest.strip_prefix('@')) else { return };
        let owner = match owner.as_str() {
            "" => Some(parent),
            owner => self.find_child(parent, &PathStep::Name(owner.to_owned()), ChildKind::Item),
        };
        let Some(owner) = owner else { return };
        self.attributes.entry(owner).or_default().push((name.to_owned(), node));
        if let Some(node) = self.nodes.get_mut(node) {
            node.is_attribute = true;
        }
    }

    /// Returns the attributes of a node that are items, with their names: arrays, lists of arrays, and those that cannot be read.
    pub fn attribute_items(&self, id: ItemTreeId) -> impl Iterator<Item = (&str, ItemTreeId)> {
        self.attributes.get(&id.0).into_iter().flatten().map(|(name, node)| (name.as_str(), ItemTreeId(*node)))
    }

    /// The child of a node at a step.
    fn find_child(&self, parent: usize, step: &PathStep, kind: ChildKind) -> Option<usize> {
        let node = self.nodes.get(parent)?;
        if node.is_indexed {
            return self.entries.get(&(parent, step.clone(), kind)).copied();
        }
        let of = |child: usize| self.nodes.get(child).filter(|of| of.child_kind == kind).map(|of| &of.path_step);
        if node.children.len() <= MAX_LINEAR_CHILDREN {
            return node.children.iter().copied().find(|child| of(*child) == Some(step));
        }
        // Children without an index, beyond the first few, are list elements in ascending order.
        let PathStep::Element(index) = step else { return None };
        let number = |child: &usize| match of(*child) {
            Some(PathStep::Element(number)) => *number,
            _ => u64::MAX,
        };
        node.children.binary_search_by_key(index, number).ok().and_then(|at| node.children.get(at)).copied()
    }

    /// Returns `true` if a new child can be found without an index: among few, or as the next element of a list.
    fn is_in_order(&self, parent: &OutlineNode, step: &PathStep, kind: ChildKind) -> bool {
        let element = |step: &PathStep, kind: ChildKind| match step {
            PathStep::Element(index) if kind == ChildKind::Item => Some(*index),
            _ => None,
        };
        let of = |child: &usize| self.nodes.get(*child).and_then(|of| element(&of.path_step, of.child_kind));
        match parent.children.len() {
            count if count < MAX_LINEAR_CHILDREN => true,
            MAX_LINEAR_CHILDREN => {
                let numbers: Vec<Option<u64>> = parent.children.iter().map(of).chain([element(step, kind)]).collect();
                numbers.iter().all(Option::is_some) && numbers.is_sorted_by(|a, b| a < b)
            }
            _ => element(step, kind).is_some_and(|index| parent.children.last().and_then(of) < Some(index)),
        }
    }

    /// The child of a node, made if it is missing.
    fn get_or_insert_child(&mut self, parent: usize, step: PathStep, kind: ChildKind) -> usize {
        if let Some(known) = self.find_child(parent, &step, kind) {
            return known;
        }
        let id = self.nodes.len();
        let Some(above) = self.nodes.get(parent) else { return id };
        let is_indexed = above.is_indexed || !self.is_in_order(above, &step, kind);
        if is_indexed && !above.is_indexed {
            let of = |child: usize| self.nodes.get(child).map(|of| ((parent, of.path_step.clone(), of.child_kind), child));
            self.entries.extend(above.children.iter().filter_map(|child| of(*child)));
        }
        if is_indexed {
            self.entries.insert((parent, step.clone(), kind), id);
        }
        if let Some(above) = self.nodes.get_mut(parent) {
            above.is_indexed = is_indexed;
            above.children.push(id);
            // A long list of equal dicts is seen as one dict of arrays.
            above.is_list = matches!(step, PathStep::Element(_)) || (above.is_list && !matches!(step, PathStep::Name(_)));
        }
        self.nodes.push(OutlineNode::new(step, parent, kind));
        id
    }

    fn insert_entry(&mut self, entry: LayoutEntry, layout: &Layout, declared: &[Option<usize>]) -> Result<()> {
        // The path of an item outside of lists and structs says no more than its declaration.
        match declared.get(entry.item.index()) {
            Some(Some(node)) if !entry.path.contains(['[', '.', '#']) => self.set_entry(*node, entry, layout),
            _ => self.enter_at_path(entry, layout)?,
        }
        Ok(())
    }

    fn enter_at_path(&mut self, entry: LayoutEntry, layout: &Layout) -> Result<()> {
        let mut at = 0;
        let mut way = Vec::new();
        let path = parse(&entry.path)?;
        if path.last() == Some(&PathStep::Length) {
            return Ok(());
        }
        let last = path.len().saturating_sub(1);
        let is_inside = path.iter().any(|step| matches!(step, PathStep::Member(_) | PathStep::Instance(_)));
        for (n, step) in path.into_iter().enumerate() {
            match step {
                PathStep::Instance(indices) => {
                    for index in indices {
                        at = self.get_or_insert_child(at, PathStep::Element(index), ChildKind::Item);
                    }
                }
                step => {
                    let is_param = n == last && entry.kind == StreamEntryKind::Param;
                    at = self.get_or_insert_child(at, step, if is_param { ChildKind::Param } else { ChildKind::Item });
                }
            }
            way.push(at);
        }
        if way.len() > 1 && !is_inside {
            // The dicts and lists on the way, where they are not known yet: elements of lists.
            let mut item = layout.parent(entry.item);
            for &node in way.iter().rev().skip(1) {
                match (self.nodes.get_mut(node), item) {
                    (Some(node), Some(id)) if node.item.is_none() => node.item = Some(id),
                    _ => break,
                }
                item = item.and_then(|id| layout.parent(id));
            }
        }
        self.set_entry(at, entry, layout);
        Ok(())
    }

    fn set_entry(&mut self, at: usize, mut entry: LayoutEntry, layout: &Layout) {
        if let Some(node) = self.nodes.get_mut(at) {
            node.item = Some(entry.item);
            node.is_list |= entry.resolved_type == ResolvedType::Dynamic && !entry.shape.is_empty();
            node.is_unreadable = entry.kind == StreamEntryKind::Null && layout.unreadable(entry.item).is_some();
            // A file may have very many entries, so their spare memory is released.
            entry.path.shrink_to_fit();
            entry.datatype.shrink_to_fit();
            node.entry = Some(Box::new(entry));
            self.order.push(at);
        }
    }

    /// Returns the number of nodes.
    pub fn node_count(&self) -> u64 {
        self.nodes.len() as u64
    }

    /// The node at a path.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for what is not a path.
    pub fn find(&self, path: &str) -> Result<Option<ItemTreeId>> {
        let trimmed = path.trim_end_matches('/');
        let mut at = 0;
        for step in parse(trimmed)? {
            let indices = match step {
                PathStep::Instance(indices) => indices.into_iter().map(PathStep::Element).collect(),
                step => vec![step],
            };
            for step in indices {
                let find = |kind| self.find_child(at, &step, kind);
                match find(ChildKind::Item).or_else(|| find(ChildKind::Param)) {
                    Some(next) => at = next,
                    None => return Ok(None),
                }
            }
        }
        Ok(Some(ItemTreeId(at)))
    }

    /// Returns the kind of a node. A struct whose only data is its member `""` represents that member.
    pub fn kind(&self, id: ItemTreeId) -> OutlineKind<'_> {
        let at = self.unwrap_typedef(id.0);
        let Some(node) = self.nodes.get(at) else { return OutlineKind::Null };
        match (node.entry.as_deref(), self.fixed_params.get(&at).copied()) {
            (Some(entry), _) if entry.resolved_type == ResolvedType::Dynamic => {
                if node.is_list {
                    OutlineKind::List
                } else {
                    OutlineKind::Dict
                }
            }
            (Some(entry), _) => match entry.kind {
                StreamEntryKind::Param => OutlineKind::Param(entry.value.unwrap_or(0), Some(entry)),
                StreamEntryKind::Null if node.is_unreadable => OutlineKind::Data(entry),
                StreamEntryKind::Null => OutlineKind::Null,
                StreamEntryKind::Data => OutlineKind::Data(entry),
            },
            (None, Some(value)) => OutlineKind::Param(value, None),
            (None, None) if node.is_list => OutlineKind::List,
            (None, None) => OutlineKind::Dict,
        }
    }

    /// The arrays, in the order of the text; those that cannot be read are among them.
    pub fn arrays(&self) -> impl Iterator<Item = (ItemTreeId, &LayoutEntry)> {
        let is_array = |(id, _): &(ItemTreeId, &LayoutEntry)| matches!(self.kind(*id), OutlineKind::Data(_));
        self.entries()
            .filter(|(_, entry)| entry.kind != StreamEntryKind::Param && entry.resolved_type != ResolvedType::Dynamic)
            .filter(is_array)
    }

    /// The items that have a place in the file, in the order of the text.
    pub fn entries(&self) -> impl Iterator<Item = (ItemTreeId, &LayoutEntry)> {
        self.order.iter().filter_map(|&id| {
            let node = self.nodes.get(id).filter(|node| !node.is_grid_part)?;
            Some((ItemTreeId(id), node.entry.as_deref()?))
        })
    }

    /// The children of a dict, with their names, or of a list, in order.
    pub fn children(&self, id: ItemTreeId) -> OutlineChildren<'_> {
        let Some(node) = self.nodes.get(self.unwrap_typedef(id.0)) else { return Vec::new() };
        node.children
            .iter()
            .filter_map(|&child| {
                let of = self.nodes.get(child).filter(|of| !of.is_grid_part && (!of.is_attribute || of.is_unreadable))?;
                let name = match &of.path_step {
                    PathStep::Name(name) | PathStep::Member(name) => Some(name.as_str()),
                    _ => None,
                };
                Some((name, ItemTreeId(child)))
            })
            .collect()
    }

    /// Returns `true` if a node is an attribute of another one.
    pub fn is_attribute(&self, id: ItemTreeId) -> bool {
        self.nodes.get(id.0).is_some_and(|node| node.is_attribute)
    }

    /// Returns the items of a dict that are attributes of it, or of other items in it, and none of [`StreamOutline::children`].
    pub fn attributes_in(&self, id: ItemTreeId) -> OutlineChildren<'_> {
        if self.attributes.is_empty() {
            return Vec::new();
        }
        let Some(node) = self.nodes.get(self.unwrap_typedef(id.0)) else { return Vec::new() };
        let named = |child: &usize| match self.nodes.get(*child) {
            Some(OutlineNode { is_attribute: true, is_unreadable: false, path_step: PathStep::Name(name), .. }) => {
                Some((Some(name.as_str()), ItemTreeId(*child)))
            }
            _ => None,
        };
        node.children.iter().filter_map(named).collect()
    }

    /// The child of a dict with a name: a parameter if nothing else has it.
    pub fn child_by_name(&self, id: ItemTreeId, name: &str) -> Option<ItemTreeId> {
        let parent = self.unwrap_typedef(id.0);
        let find = |step: &PathStep| {
            let found = self.find_child(parent, step, ChildKind::Item);
            found.or_else(|| self.find_child(parent, step, ChildKind::Param)).map(ItemTreeId)
        };
        find(&PathStep::Name(name.to_owned())).or_else(|| find(&PathStep::Member(name.to_owned())))
    }

    /// The path of a node, as [`StreamOutline::find`] takes it.
    pub fn path(&self, id: ItemTreeId) -> String {
        let mut steps = Vec::new();
        let mut at = id.0;
        while let Some(node) = self.nodes.get(at).filter(|_| at != 0) {
            if let Some(entry) = node.entry.as_deref() {
                steps.push(entry.path.clone());
                break;
            }
            steps.push(match &node.path_step {
                PathStep::Name(name) => format!("/{}", quoted_name(&own_name(name))),
                // Stands for what holds it.
                PathStep::Member(name) if name.is_empty() => String::new(),
                PathStep::Member(name) => format!(".{}", quoted_name(&own_name(name))),
                PathStep::Element(index) => format!("[{index}]"),
                _ => String::new(),
            });
            at = node.parent;
        }
        steps.into_iter().rev().collect()
    }

    /// Returns `true` if a node is a parameter whose name something else next to it has too.
    pub fn is_hidden(&self, id: ItemTreeId) -> bool {
        self.nodes.get(id.0).is_some_and(|node| self.is_shadowed(ItemTreeId(node.parent), id))
    }

    /// The item of the layout that declares a node; None for an element or an instance.
    pub fn item(&self, id: ItemTreeId) -> Option<ItemId> {
        self.nodes.get(id.0).and_then(|node| node.item)
    }

    /// Returns `true` if a node is a parameter whose name an array, dict or list of the same dict has too.
    pub fn is_shadowed(&self, parent: ItemTreeId, id: ItemTreeId) -> bool {
        let Some(node) = self.nodes.get(id.0).filter(|node| node.child_kind == ChildKind::Param) else { return false };
        self.find_child(self.unwrap_typedef(parent.0), &node.path_step, ChildKind::Item).is_some()
    }

    /// Section 5.9: a typedef with stored parameters is presented as its one member without a name.
    fn unwrap_typedef(&self, id: usize) -> usize {
        let mut at = id;
        loop {
            let Some(node) = self.nodes.get(at) else { return at };
            let mut data =
                node.children.iter().filter(|&&child| self.nodes.get(child).is_some_and(|of| of.child_kind == ChildKind::Item));
            let (Some(&only), None) = (data.next(), data.next()) else { return at };
            match self.nodes.get(only).map(|of| &of.path_step) {
                Some(PathStep::Member(name)) if name.is_empty() => at = only,
                _ => return at,
            }
        }
    }
}

impl OutlineNode {
    fn new(step: PathStep, parent: usize, child_kind: ChildKind) -> Self {
        Self {
            path_step: step,
            parent,
            child_kind,
            children: Vec::new(),
            entry: None,
            item: None,
            is_list: false,
            is_grid: false,
            is_unreadable: false,
            is_grid_part: false,
            is_attribute: false,
            is_indexed: false,
        }
    }
}
