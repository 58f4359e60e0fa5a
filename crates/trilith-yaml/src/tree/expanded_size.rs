//! Size of a node with its aliases written out: counted before that is done.

use std::cell::RefCell;
use std::collections::HashMap;

use super::node::Node;
use super::{NodeId, Tree};
use crate::error::{Error, Result};

/// Maximum depth of a value, with aliases expanded.
const MAX_DEPTH: usize = 1000;

/// Counts of a node and all below it, with aliases expanded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// Number of these nodes, including keys.
    pub nodes: u64,
    /// `true` if a node that was looked for is among them, but for keys.
    pub has_marked: bool,
}

impl Known {
    fn add_counts(&mut self, other: Self) {
        self.nodes = self.nodes.saturating_add(other.nodes);
        self.has_marked |= other.has_marked;
    }
}

/// Counts nodes through aliases. Each is looked at once, however many aliases lead to it.
pub struct Expanded {
    marked_nodes: fn(Node<'_>) -> bool,
    cache: RefCell<HashMap<(*const Tree, NodeId), Known>>,
}

impl Expanded {
    /// Returns an empty set of counts; `looked_for` selects the nodes that are counted.
    pub fn new(looked_for: fn(Node<'_>) -> bool) -> Self {
        Self { marked_nodes: looked_for, cache: RefCell::default() }
    }

    /// Returns the counts of a node.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Limit`](crate::ErrorKind::Limit) for nodes that nest too deep.
    pub fn size_of(&self, node: Node<'_>) -> Result<Known> {
        self.visit(node, 0)
    }

    fn visit(&self, node: Node<'_>, depth: usize) -> Result<Known> {
        let found = Known { nodes: 1, has_marked: (self.marked_nodes)(node) };
        if node.is_scalar() {
            return Ok(found);
        }
        let place = (std::ptr::from_ref(node.tree()), node.id());
        if let Some(known) = self.cache.borrow().get(&place) {
            return Ok(*known);
        }
        if depth > MAX_DEPTH {
            return Err(Error::limit(format!("the tree, aliases expanded, nests more than {MAX_DEPTH} deep")));
        }
        // A node that is part of itself counts once; who writes it out finds the circle.
        self.cache.borrow_mut().insert(place, found);
        let mut sum = found;
        if node.is_sequence() {
            for item in node.items() {
                sum.add_counts(self.visit(item, depth + 1)?);
            }
        } else {
            for (key, value) in node.entries() {
                sum.add_counts(Known { has_marked: false, ..self.visit(key, depth + 1)? });
                sum.add_counts(self.visit(value, depth + 1)?);
            }
        }
        self.cache.borrow_mut().insert(place, sum);
        Ok(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Limits;

    fn known(text: &str, key: &str) -> Known {
        let tree = Tree::parse(text, &Limits::default()).unwrap();
        Expanded::new(|node| node.tag() == Some("!n")).size_of(tree.root().get(key).unwrap()).unwrap()
    }

    #[test]
    fn node_count_follows_aliases_in_values_and_keys() {
        assert_eq!(known("a: [1, 2]\n", "a"), Known { nodes: 3, has_marked: false });
        assert_eq!(known("a: &a [1, 2]\nb: [*a, *a]\n", "b").nodes, 7);
        assert_eq!(known("a: &a [1, 2]\nb: {? *a : *a}\n", "b").nodes, 7);
        let mut bomb = "a0: &a0 [1]\n".to_owned();
        for n in 1..100 {
            bomb.push_str(&format!("a{n}: &a{n} [*a{0}, *a{0}]\n", n - 1));
        }
        assert_eq!(known(&bomb, "a99").nodes, u64::MAX);
        assert_eq!(known("a: &a [*a, 1]\n", "a").nodes, 3, "a circle ends");
    }

    #[test]
    fn search_follows_aliases_but_ignores_keys() {
        let tree = "a: &a [!n [1]]\nb: [*a]\nc: {? *a : [1]}\n";
        assert!(known(tree, "b").has_marked && !known(tree, "c").has_marked);
    }
}
