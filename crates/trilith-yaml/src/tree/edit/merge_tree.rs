//! Edits the text of a tree so that it has the content of another one, and comments stay.

use std::collections::HashMap;

use super::super::node::{Node, NodeId, NodeKind};
use super::super::{Scalar, Tree};
use super::Edit;
use super::write::NodeContext;
use crate::error::{ErrorKind, Result};
use crate::limits::Limits;

impl Tree {
    /// The other tree in the text of this one: what both say keeps its bytes, with comments, quotes and line
    /// breaks; what differs is set, added or removed as [`Edit`] does it. Keys that are added are last.
    ///
    /// Nothing if the result would not say the same as `other`, as with new aliases: both are compared in the
    /// end, node by node (kinds, tags, values, the order of the keys that stay, which nodes are one).
    ///
    /// ```
    /// use trilith_yaml::{Limits, tree::Tree};
    /// let limits = Limits::default();
    /// let tree = Tree::parse("a: 1 # one\nb: [x, y]   # letters\n", &limits)?;
    /// let other = Tree::parse("{a: 2, b: [x, y], c: 3}", &limits)?;
    /// let made = tree.merge_from(&other, &limits)?.unwrap();
    /// assert_eq!(made.text(), "a: 2 # one\nb: [x, y]   # letters\nc: 3\n");
    /// # Ok::<(), trilith_yaml::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`ErrorKind::Limit`] if a limit would be exceeded, and [`ErrorKind::Malformed`] for an `other` whose
    /// nodes contain themselves.
    pub fn merge_from(&self, other: &Self, limits: &Limits) -> Result<Option<Self>> {
        let mut edit = self.edit();
        let mut open = vec![(self.root(), other.root(), NodeContext::Root)];
        while let Some((old, new, context)) = open.pop() {
            edit.merge_node(old, new, context, &mut open, limits)?;
        }
        match edit.finish(limits) {
            Ok(made) => Ok(same_content(&made, other).then_some(made)),
            // Changes that touch each other, an anchor that went, or a text that cannot be changed piece by piece.
            Err(error) if error.kind().is_request() || error.kind() == ErrorKind::Unsupported => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// The order that the keys of two mappings must have to say the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeyOrder {
    /// Both have the keys in one order.
    Same,
    /// Any order.
    Any,
}

type PendingPairs<'t, 'n> = Vec<(Node<'t>, Node<'n>, NodeContext)>;

impl<'t> Edit<'t> {
    /// Changes a node into another; the children that are compared next go into `open`.
    fn merge_node<'n>(
        &mut self,
        old: Node<'t>,
        new: Node<'n>,
        context: NodeContext,
        open: &mut PendingPairs<'t, 'n>,
        limits: &Limits,
    ) -> Result<()> {
        if are_aliases(old, new) {
            return Ok(());
        }
        let alike = !is_alias(old) && !is_alias(new) && old.kind() == new.kind() && old.tag() == new.tag();
        let done = alike
            && match old.kind() {
                NodeKind::Scalar => same_scalar(old, new),
                NodeKind::Mapping => self.merge_mapping(old, new, open, limits)?,
                NodeKind::Sequence => self.merge_sequence(old, new, open, limits)?,
            };
        if !done {
            let value = new.to_value(limits)?;
            // `put` would keep a tag that is gone.
            if value.tag.is_none() && old.tag().is_some() {
                self.replace_with_props(old, &value, context);
            } else {
                self.write_value_at(old, &value, context);
            }
        }
        Ok(())
    }

    /// Returns `false` if the mapping has to be printed again.
    fn merge_mapping<'n>(
        &mut self,
        old: Node<'t>,
        new: Node<'n>,
        open: &mut PendingPairs<'t, 'n>,
        limits: &Limits,
    ) -> Result<bool> {
        let (Some(before), Some(after)) = (index_by_key(old), index_by_key(new)) else { return Ok(false) };
        // A key whose type changed, such as `1` and `"1"`, does not stay either.
        let stays = |key: &str| match (before.get(key), after.get(key)) {
            (Some((_, a, _)), Some((_, b, _))) => same_scalar(*a, *b),
            _ => false,
        };
        let pairs: Vec<_> = old.entries().filter(|(key, _)| stays(&key.text())).collect();
        let order = new.entries().filter(|(key, _)| stays(&key.text()));
        if pairs.is_empty() != old.is_empty() || !order.zip(&pairs).all(|((a, _), (b, _))| a.text() == b.text()) {
            return Ok(false);
        }
        let mut gone = Vec::new();
        for (key, value) in old.entries() {
            match after.get(&*key.text()) {
                Some((_, _, wanted)) if stays(&key.text()) => open.push((value, *wanted, NodeContext::of_parent(old))),
                _ => gone.push(value),
            }
        }
        self.remove(old, &gone);
        for (key, value) in new.entries().filter(|(key, _)| !stays(&key.text())) {
            if !matches!(key.scalar(), Scalar::Str(_)) {
                return Ok(false);
            }
            self.insert_entry(old, &key.text(), &value.to_value(limits)?);
        }
        Ok(true)
    }

    /// Returns `false` if the sequence has to be printed again.
    fn merge_sequence<'n>(
        &mut self,
        old: Node<'t>,
        new: Node<'n>,
        open: &mut PendingPairs<'t, 'n>,
        limits: &Limits,
    ) -> Result<bool> {
        let (before, after): (Vec<_>, Vec<_>) = (old.items().collect(), new.items().collect());
        if before.is_empty() || after.is_empty() {
            return Ok(before.len() == after.len());
        }
        let same = |(a, b): &(&Node<'_>, &Node<'_>)| same_value(**a, **b);
        let least = before.len().min(after.len());
        // Common items at the start and the end stay; of those between, as many as both have change into each other.
        let first = before.iter().zip(&after).take_while(same).count();
        let last = before.iter().rev().zip(after.iter().rev()).take(least - first).take_while(same).count();
        let between = least - first - last;
        for (a, b) in before.iter().zip(&after).skip(first).take(between) {
            open.push((*a, *b, NodeContext::of_parent(old)));
        }
        self.remove(old, before.get(first + between..before.len() - last).unwrap_or(&[]));
        for item in after.iter().take(after.len() - last).skip(first + between) {
            self.insert_item(old, before.len() - last, &item.to_value(limits)?);
        }
        Ok(true)
    }
}

/// The pairs of a mapping by their keys' text, with their places; nothing if some are not scalars, occur twice,
/// or merge others in.
#[allow(clippy::type_complexity, reason = "said in one line above")]
fn index_by_key(mapping: Node<'_>) -> Option<HashMap<String, (usize, Node<'_>, Node<'_>)>> {
    let mut found = HashMap::with_capacity(mapping.len());
    for (at, (key, value)) in mapping.entries().enumerate() {
        if !key.is_scalar() || key.is_merge() || found.insert(key.text().into_owned(), (at, key, value)).is_some() {
            return None;
        }
    }
    Some(found)
}

/// Returns `true` if it represents a collection elsewhere. Which scalars are one does not matter.
fn is_alias(node: Node<'_>) -> bool {
    node.is_alias() && !node.is_scalar()
}

/// Returns `true` for two aliases. Their targets are compared at the end.
fn are_aliases(a: Node<'_>, b: Node<'_>) -> bool {
    is_alias(a) && is_alias(b)
}

fn same_scalar(a: Node<'_>, b: Node<'_>) -> bool {
    a.is_scalar()
        && b.is_scalar()
        && a.tag() == b.tag()
        && match (a.scalar(), b.scalar()) {
            (Scalar::Float(a), Scalar::Float(b)) => a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan(),
            (a, b) => a == b,
        }
}

/// The children that have to say the same, in pairs; nothing if the nodes themselves differ.
fn pair_children<'a, 'b>(a: Node<'a>, b: Node<'b>, order: KeyOrder) -> Option<Vec<(Node<'a>, Node<'b>)>> {
    if a.is_scalar() || b.is_scalar() {
        return same_scalar(a, b).then(Vec::new);
    }
    if a.kind() != b.kind() || a.tag() != b.tag() || a.len() != b.len() {
        return None;
    }
    if a.is_sequence() {
        return Some(a.items().zip(b.items()).collect());
    }
    let (found, wanted) = (index_by_key(a)?, index_by_key(b)?);
    let mut children = Vec::with_capacity(2 * found.len());
    for (key, (place, name, value)) in &found {
        let (other, other_name, other_value) = wanted.get(key)?;
        if order == KeyOrder::Same && place != other {
            return None;
        }
        children.push((*name, *other_name));
        children.push((*value, *other_value));
    }
    Some(children)
}

/// Returns `true` if two nodes say the same, aliases aside.
fn same_value(a: Node<'_>, b: Node<'_>) -> bool {
    same_structure(a, b, KeyOrder::Same, |_, _| true)
}

/// Returns `true` if two trees say the same, keys in any order, with the same nodes standing in several places.
fn same_content(a: &Tree, b: &Tree) -> bool {
    let (mut there, mut back): (HashMap<NodeId, NodeId>, HashMap<NodeId, NodeId>) = (HashMap::new(), HashMap::new());
    same_structure(a.root(), b.root(), KeyOrder::Any, |a, b| {
        a.is_scalar() || *there.entry(a.id()).or_insert(b.id()) == b.id() && *back.entry(b.id()).or_insert(a.id()) == a.id()
    })
}

/// Returns `true` if two nodes say the same, and every pair of nodes below them `fits`.
fn same_structure<'a>(a: Node<'a>, b: Node<'a>, order: KeyOrder, mut fits: impl FnMut(Node<'a>, Node<'a>) -> bool) -> bool {
    let mut open = vec![(a, b)];
    while let Some((a, b)) = open.pop() {
        if !fits(a, b) {
            return false;
        }
        match pair_children(a, b, order) {
            _ if are_aliases(a, b) => {}
            Some(children) if !is_alias(a) && !is_alias(b) => open.extend(children),
            _ => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn toward(old: &str, new: &str) -> Option<String> {
        let limits = Limits::default();
        let (old, new) = (Tree::parse(old, &limits).unwrap(), Tree::parse(new, &limits).unwrap());
        old.merge_from(&new, &limits).unwrap().map(Tree::into_text)
    }

    #[test]
    fn equal_nodes_keep_their_text() {
        let old = "# top\na:   'x'   # one\nb: [1,2]  # two\nc:\n# three\n  d: 0x10\n";
        assert_eq!(toward(old, "{a: x, b: [1, 2], c: {d: 16}}").unwrap(), old);
        assert_eq!(toward(old, "{a: z, b: [1, 2], c: {d: 16}}").unwrap(), old.replace("'x'", "z"));
        assert_eq!(toward(old, "{a: x, b: [1, 3, 2], c: {d: 16}}").unwrap(), old.replace("[1,2]", "[1,3, 2]"));
        assert_eq!(toward(old, "{a: x, c: {d: 16}, e: 1}").unwrap(), old.replace("b: [1,2]  # two\n", "") + "e: 1\n");
    }

    #[test]
    fn unchanged_items_keep_their_comments() {
        let old = "- a # 1\n- b # 2\n- c # 3\n";
        assert_eq!(toward(old, "[new, a, b, c]").unwrap(), "- new\n- a # 1\n- b # 2\n- c # 3\n");
        assert_eq!(toward(old, "[a, c]").unwrap(), "- a # 1\n- c # 3\n");
        assert_eq!(toward(old, "[a, x, w, c]").unwrap(), "- a # 1\n- x # 2\n- w\n- c # 3\n");
        assert_eq!(toward(old, "[]").unwrap(), "[] # 3\n");
    }

    #[test]
    fn types_tags_and_key_order_are_distinguished() {
        assert_eq!(toward("a: 1 # c\n", "a: '1'").unwrap(), "a: '1' # c\n");
        assert_eq!(toward("a: !t m # c\n", "a: m").unwrap(), "a: m # c\n");
        assert_eq!(toward("a: m # c\n", "a: !t m").unwrap(), "a: !t m # c\n");
        assert_eq!(toward("a: .nan # c\nb: -0.0\n", "a: .NaN\nb: -0.0").unwrap(), "a: .nan # c\nb: -0.0\n");
        assert_eq!(toward("b: -0.0\n", "b: 0.0").unwrap(), "b: 0.0\n");
        assert_eq!(toward("{a: 1, b: 2}\n", "{b: 2, a: 1}").unwrap(), "{b: 2, a: 1}\n");
        assert_eq!(toward("1: a\n", "'1': a").unwrap(), "{'1': a}\n".replace(['{', '}'], ""));
        assert_eq!(toward("a: 1\n", "[1]").unwrap().trim(), "[1]");
    }

    #[test]
    fn shared_node_stays_shared_or_returns_none() {
        let old = "a: &x [1] # one\nb: *x\n";
        assert_eq!(toward(old, "a: &id001 [1]\nb: *id001").unwrap(), old);
        assert_eq!(toward(old, "a: [1]\nb: [1]").unwrap(), "a: &x [1] # one\nb: [1]\n");
        assert_eq!(toward("a: [1]\nb: [1]\n", "a: &x [1]\nb: *x"), None);
        assert_eq!(toward("a: &x [1]\nb: &y [1]\nc: *x\n", "a: &x [1]\nb: &y [1]\nc: *y"), None);
        assert_eq!(toward(old, "{b: [1]}").as_deref(), Some("b: [1]\n"));
        // Scalars may be shared in one tree and separate in the other.
        assert_eq!(toward("a: &x 1 # c\nb: *x\n", "{a: 1, b: 1}").unwrap(), "a: &x 1 # c\nb: *x\n");
        // A mapping that merges another repeats its keys.
        assert_eq!(
            toward("a: &x {p: 1}\nb: {<<: *x, q: 2} # c\n", "{a: {p: 1}, b: {p: 1, q: 2}}").unwrap(),
            "a: &x {p: 1}\nb: {p: 1, q: 2} # c\n"
        );
    }

    #[test]
    fn self_containing_node_terminates() {
        let round = "a: &x [*x] # c\n";
        assert_eq!(toward(round, "a: &y [*y]").unwrap(), round);
        let limits = Limits::default();
        let (old, new) = (Tree::parse("a: 1\n", &limits).unwrap(), Tree::parse(round, &limits).unwrap());
        assert_eq!(old.merge_from(&new, &limits).unwrap_err().kind(), ErrorKind::Malformed);
    }
}
