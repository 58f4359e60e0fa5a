//! `uniqueItems`: two items of a list that are the same, found by hashing.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher as _, Hash, Hasher};

use super::json_view::{
    EqualityRule, InstanceNumber, JsonType, MAX_DEPTH, ObjectPairs, bindable_tag, deep_eq, json_type_of_node,
};
use crate::tree::{Node, Scalar};

/// Returns the indices of two equal items of a sequence. At most `budget` nodes are visited.
pub(super) fn find_duplicate_items(node: Node<'_>, budget: &mut u64) -> Option<(usize, usize)> {
    // Random, so that no file can have items that all have the same hash.
    let state = RandomState::new();
    let mut seen: HashMap<u64, Vec<(usize, Node<'_>)>> = HashMap::new();
    for (at, item) in node.items().enumerate() {
        let alike = seen.entry(hash_node(item, &state, 0, budget)).or_default();
        if let Some((before, _)) = alike.iter().find(|(_, other)| deep_eq(*other, item, EqualityRule::UniqueItems, budget)) {
            return Some((*before, at));
        }
        alike.push((at, item));
        if *budget == 0 {
            return None;
        }
    }
    None
}

/// Returns a hash that is equal for nodes that [`deep_eq`] takes for equal.
fn hash_node(node: Node<'_>, state: &RandomState, depth: usize, budget: &mut u64) -> u64 {
    *budget = budget.saturating_sub(1);
    let mut hasher = state.build_hasher();
    bindable_tag(node).hash(&mut hasher);
    // Deeper values are different anyway.
    if depth > MAX_DEPTH || *budget == 0 {
        return hasher.finish();
    }
    match json_type_of_node(node) {
        JsonType::Array => {
            ('[', node.len()).hash(&mut hasher);
            for item in node.items() {
                hash_node(item, state, depth + 1, budget).hash(&mut hasher);
            }
        }
        JsonType::Object => {
            // The order of the keys does not count.
            let none = std::collections::HashSet::new();
            let mut sum = 0u64;
            for (key, value) in ObjectPairs::from_node(node, &none) {
                let pair = (hash_node(key, state, depth + 1, budget), hash_node(value, state, depth + 1, budget));
                sum = sum.wrapping_add(state.hash_one(pair));
            }
            ('{', sum).hash(&mut hasher);
        }
        _ => hash_scalar(&node.scalar(), &mut hasher),
    }
    hasher.finish()
}

fn hash_scalar(scalar: &Scalar<'_>, hasher: &mut impl Hasher) {
    match InstanceNumber::of_scalar(scalar) {
        // 1 and 1.0 are the same.
        Some(InstanceNumber::Int(value)) => value.hash(hasher),
        Some(InstanceNumber::Float(value)) if value.trunc() == value && value.abs() < 1.6e38 => (value as i128).hash(hasher),
        Some(InstanceNumber::Float(value)) => value.to_bits().hash(hasher),
        None => {
            std::mem::discriminant(scalar).hash(hasher);
            match scalar {
                Scalar::Str(text) | Scalar::Timestamp(text) | Scalar::Binary(text) => text.hash(hasher),
                Scalar::Bool(value) => value.hash(hasher),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Limits;
    use crate::tree::Tree;

    #[test]
    fn hashing_finds_what_comparing_finds() {
        let text = "[true, 1, 1.0, -0.0, 0, .inf, 1e300, 18446744073709551616, 1.8446744073709551616e19, \
                    2001-12-14, '2001-12-14', x, !t x, ! '1', [1, 2], [1.0, 2], [2, 1], {a: 1, b: 2}, {b: 2, a: 1.0}, \
                    {a: 1}, {}, [], null, '', {? [1] : 2}, {? [1.0] : 2.0}, &a [x, 3], *a]";
        let tree = Tree::parse(text, &Limits::default()).unwrap();
        let items: Vec<_> = tree.root().items().collect();
        let state = RandomState::new();
        for (n, a) in items.iter().enumerate() {
            for b in items.iter().skip(n) {
                let equal = hash_node(*a, &state, 0, &mut 1000) == hash_node(*b, &state, 0, &mut 1000);
                let is_same = deep_eq(*a, *b, EqualityRule::UniqueItems, &mut 1000);
                assert_eq!(is_same, equal, "{} {}", a.source_text(), b.source_text());
            }
        }
        assert_eq!(find_duplicate_items(tree.root(), &mut 10_000), Some((1, 2)));
    }

    #[test]
    fn many_items_are_gone_through_once() {
        let text: String = (0..20_000).map(|n| format!("- {{k: {n}, l: [{n}]}}\n")).collect();
        let tree = Tree::parse(&text, &Limits::default()).unwrap();
        let mut budget = 200_000;
        assert_eq!(find_duplicate_items(tree.root(), &mut budget), None);
        assert!(budget > 0);
    }
}
