//! The children of a node: items, pairs, and pairs with merge keys applied.

use std::borrow::Cow;
use std::collections::HashMap;

use super::build::KIND;
use super::node::{Node, NodeKind};

/// The items of a sequence; see [`Node::items`].
#[derive(Clone, Debug)]
pub struct Items<'t> {
    next: Node<'t>,
    at: u32,
    left: u32,
}

impl<'t> Items<'t> {
    /// The children of `node` where it is of this kind of collection.
    pub(super) fn of(node: Node<'t>, kind: u32) -> Self {
        let record = node.record();
        let left = if kind != 0 && record.meta & KIND == kind { record.count } else { 0 };
        Self { next: node, at: node.id().0 + 1, left }
    }
}

impl<'t> Iterator for Items<'t> {
    type Item = Node<'t>;

    #[inline]
    fn next(&mut self) -> Option<Node<'t>> {
        self.left = self.left.checked_sub(1)?;
        let node = Node::new(self.next.tree(), self.at);
        self.at = node.after();
        Some(node)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }
}

impl ExactSizeIterator for Items<'_> {}

/// The pairs of a mapping; see [`Node::entries`].
#[derive(Clone, Debug)]
pub struct Entries<'t>(pub(super) Items<'t>);

impl<'t> Iterator for Entries<'t> {
    type Item = (Node<'t>, Node<'t>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        Some((self.0.next()?, self.0.next()?))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.0.len() / 2, Some(self.0.len() / 2))
    }
}

impl ExactSizeIterator for Entries<'_> {}

/// How far merge keys may lead from mapping to mapping.
const MERGE_DEPTH: usize = 64;

type Pair<'t> = (Node<'t>, Node<'t>);

/// What makes two keys the same: their text, or for collections the node itself.
pub(super) fn key_of(node: Node<'_>) -> (bool, Cow<'_, str>) {
    match node.kind() {
        NodeKind::Scalar => (true, node.text()),
        _ => (false, Cow::Owned(node.id().index().to_string())),
    }
}

/// The pairs of a mapping with merge keys applied; at most `budget` pairs are looked at.
pub(super) fn merged(node: Node<'_>, depth: usize, mut budget: usize) -> Vec<Pair<'_>> {
    let mut pairs: Vec<Pair<'_>> = Vec::with_capacity(node.len());
    let mut places = HashMap::with_capacity(node.len());
    // Explicit pairs first; then the merged mappings, nearest first, each only where it leads nowhere twice.
    let mut queue: Vec<(Node<'_>, usize)> = vec![(node, depth)];
    let mut seen = Vec::new();
    while let Some((mapping, depth)) = queue.pop() {
        let explicit = seen.is_empty();
        if depth > MERGE_DEPTH || seen.contains(&mapping.id()) {
            continue;
        }
        seen.push(mapping.id());
        let own = pairs.len();
        let mut sources = Vec::new();
        for (key, value) in mapping.entries() {
            if budget == 0 {
                return pairs;
            }
            budget -= 1;
            if key.is_merge() && matches!(value.kind(), NodeKind::Mapping | NodeKind::Sequence) {
                // Of several `<<` the last wins, of the mappings in one list the first.
                let mut nearer = match value.kind() {
                    NodeKind::Mapping => vec![(value, depth + 1)],
                    _ => value.items().filter(|n| n.is_mapping()).map(|n| (n, depth + 1)).collect(),
                };
                nearer.append(&mut sources);
                sources = nearer;
                continue;
            }
            match places.entry(key_of(key)) {
                std::collections::hash_map::Entry::Vacant(place) => {
                    place.insert(pairs.len());
                    pairs.push((key, value));
                }
                // Within one mapping the last wins, and between mappings the nearest.
                std::collections::hash_map::Entry::Occupied(place) => {
                    if explicit || *place.get() >= own {
                        pairs[*place.get()].1 = value;
                    }
                }
            }
        }
        queue.extend(sources.into_iter().rev());
    }
    pairs
}
