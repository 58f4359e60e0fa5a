//! Walking a tree, node after node, without recursion.

use std::collections::HashSet;

use super::TreePath;
use super::children::{collect_merged_pairs, key_of, type_of};
use super::node::{Node, NodeKind};
use super::{NodeId, Tree};
use crate::error::Result;
use crate::limits::Limits;

/// One step of a [`TreeWalk`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct WalkEntry<'t> {
    /// The key in the parent mapping; `None` for items and the root.
    pub key: Option<Node<'t>>,
    /// The node.
    pub node: Node<'t>,
    /// Number of steps below the start.
    pub depth: usize,
    /// `true` if the node is one of those that the walk is inside of already; it is not entered again.
    pub is_cycle: bool,
}

/// Walks a node and all below it in document order; see [`Node::walk`].
///
/// ```
/// use trilith_yaml::{Limits, tree::Tree};
/// let tree = Tree::parse("a: {b: [1, 2]}\n", &Limits::default())?;
/// let limits = Limits::default();
/// let mut walk = tree.root().walk(&limits);
/// let mut paths = Vec::new();
/// while let Some(visit) = walk.try_next()? {
///     if visit.node.is_scalar() {
///         paths.push(walk.path().to_string());
///     }
/// }
/// assert_eq!(paths, ["/a/b/0", "/a/b/1"]);
/// # Ok::<(), trilith_yaml::Error>(())
/// ```
pub struct TreeWalk<'t> {
    stack: Vec<WalkLevel<'t>>,
    /// The nodes of the stack, once it leads through an alias or a merged mapping. Until then each node of it is
    /// in the one before, and places in the document tell what is inside of what.
    open_nodes: Option<HashSet<NodeId>>,
    /// The node to enter at the next step.
    descends: Option<Node<'t>>,
    start: Option<Node<'t>>,
    expands_aliases: bool,
    merges_keys: bool,
    budget: u64,
    limit: u64,
}

/// A collection that the walk is inside of.
struct WalkLevel<'t> {
    node: Node<'t>,
    children: ChildIter<'t>,
    key: Option<Node<'t>>,
    index: usize,
}

enum ChildIter<'t> {
    Items(super::SequenceItems<'t>),
    Entries(super::MappingEntries<'t>),
    Merged(std::vec::IntoIter<(Node<'t>, Node<'t>)>),
}

impl<'t> Node<'t> {
    /// Walks this node and all below it: pairs as YAML 1.1 reads them, aliases not entered.
    pub fn walk(self, limits: &Limits) -> TreeWalk<'t> {
        TreeWalk {
            stack: Vec::new(),
            open_nodes: None,
            descends: None,
            start: Some(self),
            expands_aliases: false,
            merges_keys: true,
            budget: limits.nodes,
            limit: limits.nodes,
        }
    }
}

impl<'t> TreeWalk<'t> {
    /// Enters aliases too, as often as they occur; cycles are entered once.
    #[must_use]
    pub fn expand_aliases(mut self) -> Self {
        self.expands_aliases = true;
        self
    }

    /// Takes the pairs of mappings as written, duplicates and `<<` included.
    #[must_use]
    pub fn without_merge(mut self) -> Self {
        self.merges_keys = false;
        self
    }

    /// The next node, or `None` at the end.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Limit`](crate::ErrorKind::Limit) after [`Limits::nodes`] nodes.
    pub fn try_next(&mut self) -> Result<Option<WalkEntry<'t>>> {
        if let Some(node) = self.descends.take() {
            self.enter_node(node);
        }
        let (key, node) = match self.start.take() {
            Some(start) => (None, start),
            None => match self.next_node() {
                Some(next) => next,
                None => return Ok(None),
            },
        };
        self.budget = match self.budget.checked_sub(1) {
            Some(left) => left,
            None => {
                return Err(Limits::exceeded_error("nodes", self.limit, "the tree, aliases expanded, has more nodes to visit"));
            }
        };
        let cycle = !node.is_scalar() && self.is_inside(node);
        if !node.is_scalar() && !cycle && (self.expands_aliases || !node.is_alias()) {
            self.descends = Some(node);
        }
        Ok(Some(WalkEntry { key, node, depth: self.stack.len(), is_cycle: cycle }))
    }

    /// A walk of another node in the same way, with what is left of the budget.
    pub(super) fn fork(&self, start: Node<'t>) -> Self {
        TreeWalk {
            stack: Vec::new(),
            open_nodes: None,
            descends: None,
            start: Some(start),
            expands_aliases: self.expands_aliases,
            merges_keys: self.merges_keys,
            budget: self.budget,
            limit: self.limit,
        }
    }

    /// Counts what a walk aside has visited.
    pub(super) fn return_from(&mut self, aside: &Self) {
        self.budget = aside.budget;
    }

    /// Leaves out what is below the node of the last step.
    pub fn skip_children(&mut self) {
        self.descends = None;
    }

    /// The path, from the start of the walk, of the node of the last step.
    pub fn path(&self) -> TreePath {
        self.stack
            .iter()
            .map(|level| match level.key {
                Some(key) => key.key_text().into_owned(),
                None => level.index.saturating_sub(1).to_string(),
            })
            .collect()
    }

    /// Returns `true` if the walk is inside of this node.
    fn is_inside(&self, node: Node<'t>) -> bool {
        match (&self.open_nodes, self.stack.first()) {
            (Some(inside), _) => inside.contains(&node.id()),
            (None, Some(start)) if node.is_alias() => {
                let target = node.id();
                (target.0..node.target_record().next).contains(&node.written_id()) && target >= start.node.id()
            }
            _ => false,
        }
    }

    fn enter_node(&mut self, node: Node<'t>) {
        let children = match node.kind() {
            NodeKind::Sequence => ChildIter::Items(node.items()),
            _ if self.merges_keys && needs_merge(node) => {
                ChildIter::Merged(collect_merged_pairs(node, &mut self.budget).into_iter())
            }
            _ => ChildIter::Entries(node.entries()),
        };
        if self.open_nodes.is_none() && (node.is_alias() || matches!(children, ChildIter::Merged(_))) {
            self.open_nodes = Some(self.stack.iter().map(|level| level.node.id()).collect());
        }
        if let Some(inside) = &mut self.open_nodes {
            inside.insert(node.id());
        }
        self.stack.push(WalkLevel { node, children, key: None, index: 0 });
    }

    fn next_node(&mut self) -> Option<(Option<Node<'t>>, Node<'t>)> {
        loop {
            let level = self.stack.last_mut()?;
            let next = match &mut level.children {
                ChildIter::Items(items) => items.next().map(|node| (None, node)),
                ChildIter::Entries(entries) => entries.next().map(|(key, value)| (Some(key), value)),
                ChildIter::Merged(entries) => entries.next().map(|(key, value)| (Some(key), value)),
            };
            match next {
                Some((key, node)) => {
                    level.key = key;
                    level.index += 1;
                    return Some((key, node));
                }
                None => {
                    if let Some(inside) = &mut self.open_nodes {
                        inside.remove(&level.node.id());
                    }
                    self.stack.pop();
                }
            }
        }
    }
}

/// Returns `true` if the pairs of a mapping differ from those as written.
pub(super) fn needs_merge(node: Node<'_>) -> bool {
    if node.len() < 8 {
        let keys: Vec<_> = node.entries().map(|(key, _)| key).collect();
        return keys
            .iter()
            .enumerate()
            .any(|(at, key)| key.is_merge() || keys.iter().take(at).any(|before| same_key(*before, *key)));
    }
    if node.entries().any(|(key, _)| key.is_merge()) {
        return true;
    }
    // Sorting costs less than hashing, and least where the keys are in order already.
    let mut keys: Vec<_> = node.entries().map(|(key, _)| key_of(key)).collect();
    keys.sort_unstable();
    keys.windows(2).any(|pair| matches!(pair, [a, b] if a == b))
}

fn same_key(a: Node<'_>, b: Node<'_>) -> bool {
    if a.is_scalar() && b.is_scalar() { a.text() == b.text() && type_of(a) == type_of(b) } else { a.id() == b.id() }
}

impl Tree {
    /// The path at which a node is first reached, or `None` if it is only part of a key.
    pub fn path_of(&self, id: NodeId) -> Option<TreePath> {
        let limits = Limits::default();
        let mut walk = self.root().walk(&limits).without_merge();
        while let Ok(Some(visit)) = walk.try_next() {
            if visit.node.id() == id {
                return Some(walk.path());
            }
            // Only the branch that holds the node is entered.
            let record = visit.node.target_record();
            if visit.node.is_alias() || id.0 < visit.node.id().0 || id.0 >= record.next {
                walk.skip_children();
            }
        }
        None
    }
}
