//! Meaning of an edit, independent of its text: the model that the new tree is checked against.

use std::collections::{HashMap, HashSet};

use super::super::node::Node;
use super::super::{Tree, Value};
use crate::span::Span;

/// The meaning of all changes, by the number of the record (as written) that each is about.
#[derive(Default)]
pub(super) struct Plan {
    /// New content of nodes, including keys.
    pub changed: HashMap<u32, New>,
    /// Items, and pairs by their keys, that go: the record after each.
    pub removed: HashMap<u32, u32>,
    /// The records below moved nodes that are written in another way than before.
    pub moved: HashMap<u32, Moved>,
    /// Additions before an item, or before the pair with this key.
    pub before: HashMap<u32, Vec<Added>>,
    /// Additions at the end of a collection.
    pub last: HashMap<u32, Vec<Added>>,
    /// Number of children that a collection gains or loses.
    pub growth: HashMap<u32, i64>,
    /// `true` if the directives change, and with them what every tag means.
    pub head: bool,
    /// `true` if a node is changed twice.
    pub clash: bool,
    raw: Vec<Span>,
}

/// The new content of a node.
pub(super) enum New {
    /// A new value; the anchor of the node stays.
    Value(Value),
    /// A new value; the anchor of the node goes with the old content.
    Instead(Value),
    /// The record of this number, which is gone from its place.
    Moved(u32),
    /// A new key, without an anchor.
    Name(Value),
    /// The old content under another tag.
    Tag,
    /// Any content that the new text gives the node.
    Any,
}

/// A record of a node that is moved to an alias of it, if it is written in another way there.
#[derive(Clone, Copy)]
pub(super) enum Moved {
    /// An alias that becomes the node of this number, which it represents.
    Node(u32),
    /// A node that becomes an alias, because a copy of it was written already.
    Alias,
}

/// An addition to a collection.
pub(super) enum Added {
    Item(Value),
    Pair(Value, Value),
}

impl Plan {
    /// A node becomes a value.
    pub(super) fn change(&mut self, node: Node<'_>, value: Value) {
        self.clash |= self.changed.insert(node.written_id(), New::Value(value)).is_some();
    }

    /// A node becomes a value, and what it was goes with its anchor.
    pub(super) fn replace_whole(&mut self, node: Node<'_>, value: Value) {
        self.clash |= self.changed.insert(node.written_id(), New::Instead(value)).is_some();
    }

    /// A node gets the content of its new text.
    pub(super) fn change_unread(&mut self, node: Node<'_>) {
        self.clash |= self.changed.insert(node.written_id(), New::Any).is_some();
    }

    /// A key becomes another.
    pub(super) fn rename(&mut self, key: Node<'_>, name: Value) {
        self.clash |= self.changed.insert(key.written_id(), New::Name(name)).is_some();
    }

    /// A pair (its key and its value) or an item (alone) goes.
    pub(super) fn remove(&mut self, parent: Node<'_>, first: Node<'_>, last: Node<'_>) {
        self.clash |= self.removed.insert(first.written_id(), last.after()).is_some();
        self.grow(parent, if parent.is_mapping() { -2 } else { -1 });
    }

    /// A collection gets something, before the item or key with this number or at its end.
    pub(super) fn add(&mut self, parent: Node<'_>, before: Option<Node<'_>>, added: Added) {
        self.grow(parent, if matches!(added, Added::Pair(..)) { 2 } else { 1 });
        match before {
            Some(child) => self.before.entry(child.written_id()).or_default().push(added),
            None => self.last.entry(parent.id().0).or_default().push(added),
        }
    }

    fn grow(&mut self, parent: Node<'_>, by: i64) {
        *self.growth.entry(parent.id().0).or_default() += by;
    }

    /// Text is replaced by other text, and only this text defines the content.
    pub(super) fn replace(&mut self, tree: &Tree, span: Span, new: &str) {
        let is_comment = |text: &str| text.lines().all(|line| line.trim_start().starts_with('#') || line.trim().is_empty());
        if !(is_comment(new) && new.ends_with('\n') && span.is_empty() && starts_a_line(tree.text(), span)) {
            self.raw.push(span);
        }
    }

    /// Finds out which nodes the replaced text is of.
    pub(super) fn settle(&mut self, tree: &Tree) {
        let mut raw = std::mem::take(&mut self.raw);
        raw.sort_by_key(|span| (span.start, span.end));
        let mut raw = raw.into_iter().peekable();
        // The collections that the next record is in, and the record before it.
        let mut open: Vec<Node<'_>> = Vec::new();
        for at in 0..tree.records.len() as u32 {
            let node = Node::new(tree, at);
            while let Some(span) = raw.next_if(|span| span.start < node.whole_span().start) {
                self.free(&open, span);
            }
            if raw.peek().is_none() {
                return;
            }
            while open.last().is_some_and(|last| last.after() <= at) {
                open.pop();
            }
            open.push(node);
        }
        raw.for_each(|span| self.free(&open, span));
    }

    /// Text of the innermost of these nodes that has all of it may say anything; none of them: the directives may.
    fn free(&mut self, open: &[Node<'_>], span: Span) {
        let has = |outer: Span| {
            outer.start <= span.start && span.end <= outer.end && (outer != Span::of(span.start as usize, span.start as usize))
        };
        let Some(node) = open.iter().rev().find(|node| has(node.whole_span())) else {
            self.head = true;
            return;
        };
        // If the node is empty, its tag is its whole text, and a replacement may give the node any content.
        let is_tag = span != node.whole_span() && node.tag_span().is_some_and(has);
        let new = if is_tag { New::Tag } else { New::Any };
        // If two entries exist, the weaker claim wins.
        match (self.changed.get(&node.written_id()), &new) {
            (Some(New::Any), _) => {}
            (Some(New::Value(_) | New::Instead(_) | New::Name(_)), New::Tag) => self.clash = true,
            _ => drop(self.changed.insert(node.written_id(), new)),
        }
    }

    /// The records that something is said about, in order.
    pub(super) fn touched(&self) -> Vec<u32> {
        let known: HashSet<u32> = self
            .changed
            .keys()
            .chain(self.removed.keys())
            .chain(self.before.keys())
            .chain(self.last.keys())
            .chain(self.growth.keys())
            .copied()
            .collect();
        let mut known: Vec<u32> = known.into_iter().collect();
        known.sort_unstable();
        known
    }
}

fn starts_a_line(text: &str, span: Span) -> bool {
    let before = text.as_bytes().get(..span.start as usize).unwrap_or(&[]);
    before.is_empty() || before.ends_with(b"\n")
}

/// Returns the meaning of a node whose content is replaced: the value under the tag that it keeps.
pub(super) fn under_its_tag(node: Node<'_>, value: &Value) -> Value {
    let tag = if node.is_alias() { None } else { node.tag().map(str::to_owned) };
    Value { tag: tag.or_else(|| value.tag.clone()), ..value.clone() }
}
