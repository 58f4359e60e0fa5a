//! Surveys a tree in one pass: the nodes that schemas check, and the rules of the standard that are in no schema.

use std::collections::HashSet;

use super::json_view::{JsonType, ObjectPairs, bindable_tag, json_type_of_node, surely_text};
use crate::error::Result;
use crate::limits::Limits;
use crate::tree::{Node, Scalar, Tree, YamlScalarStyle};

/// The content of a tree, as far as validation needs it.
#[derive(Debug, Default)]
pub(super) struct TreeScan<'t> {
    /// The nodes with an explicit tag, in document order.
    pub(super) tagged: Vec<Node<'t>>,
    /// Mappings with a `$ref`: they represent something else and are not looked into.
    pub(super) references: HashSet<u32>,
    /// Mappings with merge keys or duplicate keys.
    pub(super) special_mappings: HashSet<u32>,
    /// Integers that a 64-bit reader cannot hold.
    pub(super) large_integers: Vec<Node<'t>>,
    /// Keys that are neither text, integer nor boolean.
    pub(super) keys: Vec<Node<'t>>,
    /// Number of nodes.
    pub(super) count: u64,
    /// `true` if there may be aliases.
    aliases: bool,
}

/// Maximum number of findings of a kind that are kept.
const MAX_FINDINGS: usize = 1000;

impl<'t> TreeScan<'t> {
    /// Looks at every node that the root leads to: values of mappings and items of sequences, aliases
    /// once, nothing below a `$ref`.
    pub(super) fn scan(tree: &'t Tree, limits: &Limits) -> Result<Self> {
        let mut survey = Self { aliases: tree.text().contains('*'), ..Self::default() };
        let mut seen = HashSet::new();
        let mut budget = limits.nodes;
        let mut stack: Vec<PendingChildren<'t>> = Vec::new();
        survey.visit_node(tree.root(), &mut stack, &mut seen);
        while let Some(pending) = stack.last_mut() {
            let next = match pending {
                PendingChildren::Items(items) => items.next(),
                PendingChildren::Pairs(pairs) => pairs.next().map(|(_, value)| value),
            };
            let Some(node) = next else {
                stack.pop();
                continue;
            };
            budget = match budget.checked_sub(1) {
                Some(left) => left,
                None => return Err(Limits::exceeded_error("nodes", limits.nodes, "the tree has more nodes to validate")),
            };
            survey.visit_node(node, &mut stack, &mut seen);
        }
        survey.count = limits.nodes - budget;
        Ok(survey)
    }

    fn visit_node(&mut self, node: Node<'t>, stack: &mut Vec<PendingChildren<'t>>, seen: &mut HashSet<u32>) {
        let tag = bindable_tag(node);
        if node.is_scalar() && tag.is_none() {
            self.visit_scalar(node);
            return;
        }
        // Only a node with an anchor can be reached twice.
        if self.aliases && (node.is_alias() || node.anchor().is_some()) && !seen.insert(node.id().index() as u32) {
            return;
        }
        if node.is_mapping() && self.visit_mapping(node) {
            return;
        }
        if tag.is_some() {
            self.tagged.push(node);
        }
        match json_type_of_node(node) {
            JsonType::Object => stack.push(PendingChildren::Pairs(ObjectPairs::from_node(node, &self.special_mappings))),
            JsonType::Array => stack.push(PendingChildren::Items(node.items())),
            _ => {}
        }
    }

    /// Looks at the keys of a mapping; whether it is a reference.
    fn visit_mapping(&mut self, node: Node<'t>) -> bool {
        let mut reference = false;
        let mut odd = false;
        // A bit for each key: where two share one, or a key is quoted, a closer look is needed.
        let (mut bits, mut unsure) = (0u64, false);
        for (key, _) in node.entries() {
            let plain = key.is_scalar() && key.style() == Some(YamlScalarStyle::Plain);
            let raw = key.source_text();
            let bit = 1u64 << (key_hash(raw) & 63);
            unsure |= bits & bit != 0 || !plain;
            bits |= bit;
            if plain && raw == "$ref" {
                reference = true;
            } else if plain && surely_text(raw) && key.tag().is_none() {
                continue;
            }
            odd |= plain && raw == "<<";
            self.visit_key(key, &mut reference);
        }
        if odd || (unsure && has_duplicates(node)) {
            self.special_mappings.insert(node.id().index() as u32);
        }
        if reference {
            self.references.insert(node.id().index() as u32);
        }
        reference
    }

    fn visit_key(&mut self, key: Node<'t>, reference: &mut bool) {
        let right = bindable_tag(key).is_none()
            && match json_type_of_node(key) {
                JsonType::String => {
                    *reference |= key.text() == "$ref";
                    true
                }
                JsonType::Boolean => true,
                JsonType::Integer => {
                    self.visit_scalar(key);
                    true
                }
                _ => false,
            };
        if !right && self.keys.len() < MAX_FINDINGS {
            self.keys.push(key);
        }
    }

    fn visit_scalar(&mut self, node: Node<'t>) {
        // An integer of that size has at least 18 characters: `0x8000000000000000`.
        let raw = node.source_text();
        if raw.len() < 18 || !raw.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '+') {
            return;
        }
        if matches!(node.scalar(), Scalar::BigInt(_)) && self.large_integers.len() < MAX_FINDINGS {
            self.large_integers.push(node);
        }
    }
}

/// The rest of a collection.
enum PendingChildren<'t> {
    Items(crate::tree::SequenceItems<'t>),
    Pairs(ObjectPairs<'t>),
}

/// A number that differs for most keys of one mapping.
fn key_hash(raw: &str) -> usize {
    let bytes = raw.as_bytes();
    let (first, last) = (bytes.first().copied().unwrap_or(0), bytes.last().copied().unwrap_or(0));
    bytes.len() * 11 + usize::from(first) * 5 + usize::from(last) * 3
}

fn has_duplicates(node: Node<'_>) -> bool {
    if node.len() <= 12 {
        let mut entries = node.entries();
        while let Some((key, _)) = entries.next() {
            let raw = key.source_text();
            if entries
                .clone()
                .any(|(other, _)| other.source_text() == raw || (other.style() != key.style() && other.text() == key.text()))
            {
                return true;
            }
        }
        return false;
    }
    let mut seen = HashSet::with_capacity(node.len());
    node.entries().any(|(key, _)| !seen.insert(key.text()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_seen_and_what_is_not() {
        let text = "a: !<t:1> {x: !<t:2> 1}\nb: {$ref: '#/a', c: !<t:3> 1}\nd: [&n !<t:4> {e: 1}, *n]\n\
                    f: 9223372036854775808\n-9223372036854775807: 1\n1.5: 2\n? [1]\n: 3\ntrue: 4\nm: {<<: {z: !<t:5> 1}, z: 2}\n";
        let tree = Tree::parse(text, &Limits::default()).unwrap();
        let survey = TreeScan::scan(&tree, &Limits::default()).unwrap();
        let tags: Vec<_> = survey.tagged.iter().filter_map(|node| node.tag()).collect();
        assert_eq!(tags, ["t:1", "t:2", "t:4"]);
        assert_eq!(survey.large_integers.len(), 1);
        assert_eq!(survey.keys.iter().map(|key| key.source_text()).collect::<Vec<_>>(), ["1.5", "[1]"]);
        assert_eq!((survey.references.len(), survey.special_mappings.len()), (1, 1));
    }

    #[test]
    fn cycles_end() {
        let tree = Tree::parse("&a [*a, {b: *a}]", &Limits::default()).unwrap();
        assert!(TreeScan::scan(&tree, &Limits::default()).unwrap().tagged.is_empty());
    }
}
