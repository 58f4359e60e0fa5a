//! `propertyOrder`: keys that do not have the order that a schema states.
//!
//! 0.1.0dev, 5.1.2: the object "must have its properties presented in the given order", with the remark that it is
//! not clear whether the keyword is necessary. So it is a warning, and only for a schema that the caller gives: for
//! Python asdf it is a hint to writers ([`WriteHints`]).

use std::collections::HashSet;

use super::compile::{CompiledSchemas, PartId};
use super::hints::{WriteHints, child_parts, collect_related_parts};
use super::json_view::{JsonType, ObjectPairs, json_type_of_node, key_text};
use super::tree_scan::TreeScan;
use crate::tree::Node;

/// A key and its value.
type KeyValue<'t> = (Node<'t>, Node<'t>);

/// Maximum number of findings.
const MAX_FINDINGS: usize = 1000;

/// The first key of each mapping that comes too late, and the order that was stated.
pub(super) fn misplaced_keys<'t>(
    program: &CompiledSchemas,
    survey: &TreeScan<'t>,
    root: Node<'t>,
    parts: &[PartId],
) -> Vec<(KeyValue<'t>, Vec<String>)> {
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    let mut todo = vec![(root, collect_related_parts(program, parts.to_vec()))];
    while let Some((node, parts)) = todo.pop() {
        let is_reference = survey.references.contains(&(node.id().index() as u32));
        if parts.is_empty() || is_reference || !seen.insert(node.id().index()) || found.len() >= MAX_FINDINGS {
            continue;
        }
        match json_type_of_node(node) {
            JsonType::Object => {
                let pairs: Vec<_> = ObjectPairs::from_node(node, &survey.special_mappings).collect();
                let order = WriteHints::from_parts(program, &parts).order;
                found.extend(late_key(&pairs, &order).map(|late| (late, order.clone())));
                for (key, value) in pairs.into_iter().rev() {
                    if let Some(name) = key_text(key) {
                        todo.push((value, parts_of_child(program, &parts, &name)));
                    }
                }
            }
            JsonType::Array => {
                let items: Vec<_> = node.items().enumerate().collect();
                todo.extend(items.into_iter().rev().map(|(at, item)| (item, parts_of_child(program, &parts, &at.to_string()))));
            }
            _ => {}
        }
    }
    found
}

/// The parts that hold for a child.
fn parts_of_child(program: &CompiledSchemas, parts: &[PartId], key: &str) -> Vec<PartId> {
    let next = parts.iter().flat_map(|part| program.rules(*part)).flat_map(|rule| child_parts(rule, key)).collect();
    collect_related_parts(program, next)
}

/// The first key, with its value, that is named before one that it follows.
fn late_key<'t>(pairs: &[KeyValue<'t>], order: &[String]) -> Option<KeyValue<'t>> {
    let mut last = 0;
    for (key, value) in pairs {
        let Some(place) = key_text(*key).and_then(|name| order.iter().position(|known| **known == *name)) else { continue };
        if place < last {
            return Some((*key, *value));
        }
        last = place;
    }
    None
}
