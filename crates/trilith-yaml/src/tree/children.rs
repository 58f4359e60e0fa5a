//! The children of a node: items, pairs, and pairs with merge keys applied.

use std::borrow::Cow;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use super::Scalar;
use super::build::KIND_MASK;
use super::node::{Node, NodeId, NodeKind};

/// The items of a sequence; see [`Node::items`].
#[derive(Clone, Debug)]
pub struct SequenceItems<'t> {
    next: Node<'t>,
    record: u32,
    remaining: u32,
}

impl<'t> SequenceItems<'t> {
    /// The children of `node` if it is of this kind of collection.
    pub(super) fn new(node: Node<'t>, kind: u32) -> Self {
        let record = node.target_record();
        let left = if kind != 0 && record.meta & KIND_MASK == kind { record.count } else { 0 };
        Self { next: node, record: node.id().0 + 1, remaining: left }
    }
}

impl<'t> Iterator for SequenceItems<'t> {
    type Item = Node<'t>;

    #[inline]
    fn next(&mut self) -> Option<Node<'t>> {
        self.remaining = self.remaining.checked_sub(1)?;
        let node = Node::new(self.next.tree(), self.record);
        self.record = node.written_end();
        Some(node)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.remaining as usize, Some(self.remaining as usize))
    }
}

impl ExactSizeIterator for SequenceItems<'_> {}

/// The pairs of a mapping; see [`Node::entries`].
#[derive(Clone, Debug)]
pub struct MappingEntries<'t>(pub(super) SequenceItems<'t>);

impl<'t> Iterator for MappingEntries<'t> {
    type Item = (Node<'t>, Node<'t>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        Some((self.0.next()?, self.0.next()?))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.0.len() / 2, Some(self.0.len() / 2))
    }
}

impl ExactSizeIterator for MappingEntries<'_> {}

/// Maximum number of merge keys in a chain of mappings.
const MERGE_DEPTH: usize = 64;

type NodePair<'t> = (Node<'t>, Node<'t>);

/// The identity of a key: the type and the text of a scalar, and a collection itself. `1` and `"1"` are two keys.
pub(super) type KeyIdentity<'t> = (KeyType, Cow<'t, str>);

/// The type of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum KeyType {
    Collection,
    Text,
    Null,
    Bool,
    Integer,
    Float,
    Other,
}

/// The type of a key.
pub(super) fn type_of(node: Node<'_>) -> KeyType {
    if node.kind() != NodeKind::Scalar {
        return KeyType::Collection;
    }
    type_of_scalar(&node.scalar())
}

fn type_of_scalar(scalar: &Scalar<'_>) -> KeyType {
    match scalar {
        Scalar::Str(_) => KeyType::Text,
        Scalar::Null => KeyType::Null,
        Scalar::Bool(_) => KeyType::Bool,
        Scalar::Int(_) | Scalar::BigInt(_) => KeyType::Integer,
        Scalar::Float(_) => KeyType::Float,
        Scalar::Timestamp(_) | Scalar::Binary(_) => KeyType::Other,
    }
}

/// Returns the identity of a key.
pub(super) fn key_of(node: Node<'_>) -> KeyIdentity<'_> {
    if let Some(word) = node.as_word() {
        return (KeyType::Text, Cow::Borrowed(word));
    }
    if !node.is_scalar() {
        return (KeyType::Collection, Cow::Owned(node.id().index().to_string()));
    }
    match node.scalar() {
        Scalar::Str(text) => (KeyType::Text, text),
        other => (type_of_scalar(&other), node.text()),
    }
}

/// The pairs of a mapping with merge keys applied, in the order of the reference loader: what is merged in
/// comes first, and a key is where it occurs first. Each pair and mapping that is looked at takes one
/// from `budget`; if that is used up, pairs may be missing.
pub(super) fn collect_merged_pairs<'t>(node: Node<'t>, budget: &mut u64) -> Vec<NodePair<'t>> {
    let mut found = MergedPairs { pairs: Vec::with_capacity(node.len()), index_by_key: HashMap::with_capacity(node.len()) };
    // Explicit pairs first; then the merged mappings, nearest first, each only once.
    let mut queue: Vec<(Node<'_>, usize)> = vec![(node, 0)];
    let mut seen = HashSet::new();
    let mut sources = HashMap::new();
    while let Some((mapping, depth)) = queue.pop() {
        let Some(left) = budget.checked_sub(1 + mapping.len() as u64) else {
            *budget = 0;
            break;
        };
        *budget = left;
        if depth > MERGE_DEPTH || !seen.insert(mapping.id()) {
            continue;
        }
        let nearer = found.add_mapping(mapping, budget);
        queue.extend(nearer.iter().rev().map(|source| (*source, depth + 1)));
        if !nearer.is_empty() {
            sources.insert(mapping.id(), nearer);
        }
    }
    if sources.is_empty() { found.pairs } else { found.into_key_order(node, &sources) }
}

#[derive(Default)]
struct MergedPairs<'t> {
    pairs: Vec<NodePair<'t>>,
    index_by_key: HashMap<KeyIdentity<'t>, usize>,
}

impl<'t> MergedPairs<'t> {
    /// Adds the pairs of a mapping that are new; the mappings merged into it, nearest first.
    fn add_mapping(&mut self, mapping: Node<'t>, budget: &mut u64) -> Vec<Node<'t>> {
        let own = self.pairs.len();
        let mut sources = Vec::new();
        for (key, value) in mapping.entries() {
            if key.is_merge() && !value.is_scalar() {
                // The last of several `<<` keys wins, but the first of several mappings in one list.
                let mut nearer: Vec<_> = match value.kind() {
                    NodeKind::Mapping => vec![value],
                    _ => value.items().filter(|n| n.is_mapping()).collect(),
                };
                *budget = budget.saturating_sub(nearer.len() as u64);
                nearer.append(&mut sources);
                sources = nearer;
                continue;
            }
            match self.index_by_key.entry(key_of(key)) {
                Entry::Vacant(place) => {
                    place.insert(self.pairs.len());
                    self.pairs.push((key, value));
                }
                // Within one mapping the last pair of a key wins, and between mappings the pair of the nearest.
                Entry::Occupied(place) if *place.get() >= own => {
                    if let Some(pair) = self.pairs.get_mut(*place.get()) {
                        pair.1 = value;
                    }
                }
                Entry::Occupied(_) => {}
            }
        }
        sources
    }

    /// The pairs in the order in which their keys occur, the farthest mapping first.
    fn into_key_order(self, node: Node<'t>, sources: &HashMap<NodeId, Vec<Node<'t>>>) -> Vec<NodePair<'t>> {
        let mut ordered = Vec::with_capacity(self.pairs.len());
        let mut left: Vec<Option<NodePair<'_>>> = self.pairs.into_iter().map(Some).collect();
        // Mappings to enter, and those whose sources have been taken.
        let mut stack = vec![(node, false)];
        let (mut entered, mut done) = (HashSet::new(), HashSet::new());
        while let Some((mapping, ready)) = stack.pop() {
            // A mapping that merges itself in has its own keys at that place.
            if !ready && entered.insert(mapping.id()) {
                stack.push((mapping, true));
                stack.extend(sources.get(&mapping.id()).into_iter().flatten().map(|source| (*source, false)));
            } else if done.insert(mapping.id()) {
                for (key, _) in mapping.entries() {
                    let place = self.index_by_key.get(&key_of(key)).and_then(|at| left.get_mut(*at));
                    ordered.extend(place.and_then(Option::take));
                }
            }
        }
        ordered
    }
}
