//! Constructs that plain readers of YAML 1.1 cannot read, though this library can: no edit brings them into a file.

use super::super::build::{KIND_MASK, SCALAR};
use super::super::node::Node;
use super::super::{CollectionStyle, Tree};
use crate::limits::Limits;

/// The first node of a tree that PyYAML refuses, and why; `None` if there is none.
pub(super) fn first_refused<'t>(tree: &'t Tree, limits: &Limits) -> Option<(Node<'t>, &'static str)> {
    if !may_violate(tree) {
        return None;
    }
    let mut walk = tree.root().walk(limits).without_merge();
    while let Ok(Some(visit)) = walk.try_next() {
        let node = visit.node;
        if !node.is_mapping() || node.is_alias() {
            continue;
        }
        for (key, value) in node.entries() {
            let is_merged = |value: Node<'_>| value.is_mapping() || value.is_sequence() && value.items().all(Node::is_mapping);
            if key.is_merge() && !is_merged(value) {
                return Some((key, "the merge key << takes a mapping, or a list of mappings"));
            }
            if node.layout() == Some(CollectionStyle::Flow) && key.is_scalar() && key.full_span().is_empty() {
                return Some((key, "a key within braces cannot be left out"));
            }
        }
    }
    None
}

/// Returns `false` if a tree has neither a merge key nor a scalar of no characters.
fn may_violate(tree: &Tree) -> bool {
    tree.tags().any(|tag| tag == "tag:yaml.org,2002:merge")
        || memchr::memmem::find(tree.text().as_bytes(), b"<<").is_some()
        || tree.records.iter().any(|record| record.meta & KIND_MASK == SCALAR && record.start == record.end)
}
