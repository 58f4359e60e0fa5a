//! Meaning of an edit, independent of its text: the model that the new tree is checked against.

use std::collections::{HashMap, HashSet};

use super::super::node::Node;
use super::super::{Tree, Value};
use crate::span::Span;

/// The meaning of all changes, by the number of the record (as written) that each is about.
#[derive(Default)]
pub(super) struct EditModel {
    /// New content of nodes, including keys.
    pub changed: HashMap<u32, NewContent>,
    /// Items, and pairs by their keys, that go: the record after each.
    pub removed: HashMap<u32, u32>,
    /// The records below moved nodes that are written in another way than before.
    pub moved: HashMap<u32, Moved>,
    /// Additions before an item, or before the pair with this key.
    pub added_before: HashMap<u32, Vec<AddedChild>>,
    /// Additions at the end of a collection.
    pub added_last: HashMap<u32, Vec<AddedChild>>,
    /// Number of children that a collection gains or loses.
    pub growth: HashMap<u32, i64>,
    /// `true` if the directives change, and with them what every tag means.
    pub head_changes: bool,
    /// `true` if a node is changed twice.
    pub conflict: bool,
    free_text_spans: Vec<Span>,
}

/// The new content of a node.
pub(super) enum NewContent {
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
pub(super) enum AddedChild {
    Item(Value),
    Pair(Value, Value),
}

impl EditModel {
    /// A node becomes a value.
    pub(super) fn change_value(&mut self, node: Node<'_>, value: Value) {
        self.conflict |= self.changed.insert(node.written_id(), NewContent::Value(value)).is_some();
    }

    /// A node becomes a value, and what it was goes with its anchor.
    pub(super) fn replace_whole(&mut self, node: Node<'_>, value: Value) {
        self.conflict |= self.changed.insert(node.written_id(), NewContent::Instead(value)).is_some();
    }

    /// A node gets the content of its new text.
    pub(super) fn change_unread(&mut self, node: Node<'_>) {
        self.conflict |= self.changed.insert(node.written_id(), NewContent::Any).is_some();
    }

    /// A key becomes another.
    pub(super) fn rename_key(&mut self, key: Node<'_>, name: Value) {
        self.conflict |= self.changed.insert(key.written_id(), NewContent::Name(name)).is_some();
    }

    /// A pair (its key and its value) or an item (alone) goes.
    pub(super) fn remove(&mut self, parent: Node<'_>, first: Node<'_>, last: Node<'_>) {
        self.conflict |= self.removed.insert(first.written_id(), last.written_end()).is_some();
        self.add_growth(parent, if parent.is_mapping() { -2 } else { -1 });
    }

    /// A collection gets something, before the item or key with this number or at its end.
    pub(super) fn add_child(&mut self, parent: Node<'_>, before: Option<Node<'_>>, added: AddedChild) {
        self.add_growth(parent, if matches!(added, AddedChild::Pair(..)) { 2 } else { 1 });
        match before {
            Some(child) => self.added_before.entry(child.written_id()).or_default().push(added),
            None => self.added_last.entry(parent.id().0).or_default().push(added),
        }
    }

    fn add_growth(&mut self, parent: Node<'_>, by: i64) {
        *self.growth.entry(parent.id().0).or_default() += by;
    }

    /// Text is replaced by other text, and only this text defines the content.
    pub(super) fn replace_text(&mut self, tree: &Tree, span: Span, new: &str) {
        let is_comment = |text: &str| text.lines().all(|line| line.trim_start().starts_with('#') || line.trim().is_empty());
        if !(is_comment(new) && new.ends_with('\n') && span.is_empty() && starts_a_line(tree.text(), span)) {
            self.free_text_spans.push(span);
        }
    }

    /// Finds out which nodes the replaced text is of.
    pub(super) fn resolve_spans(&mut self, tree: &Tree) {
        let mut raw = std::mem::take(&mut self.free_text_spans);
        raw.sort_by_key(|span| (span.start, span.end));
        let mut raw = raw.into_iter().peekable();
        // The collections that the next record is in, and the record before it.
        let mut open: Vec<Node<'_>> = Vec::new();
        for at in 0..tree.records.len() as u32 {
            let node = Node::new(tree, at);
            while let Some(span) = raw.next_if(|span| span.start < node.full_span().start) {
                self.mark_free_text(&open, span);
            }
            if raw.peek().is_none() {
                return;
            }
            while open.last().is_some_and(|last| last.written_end() <= at) {
                open.pop();
            }
            open.push(node);
        }
        raw.for_each(|span| self.mark_free_text(&open, span));
    }

    /// Text of the innermost of these nodes that has all of it may say anything; none of them: the directives may.
    fn mark_free_text(&mut self, open: &[Node<'_>], span: Span) {
        let has = |outer: Span| {
            outer.start <= span.start
                && span.end <= outer.end
                && (outer != Span::new_u32(span.start as usize, span.start as usize))
        };
        let Some(node) = open.iter().rev().find(|node| has(node.full_span())) else {
            self.head_changes = true;
            return;
        };
        // If the node is empty, its tag is its whole text, and a replacement may give the node any content.
        let is_tag = span != node.full_span() && node.tag_span().is_some_and(has);
        let new = if is_tag { NewContent::Tag } else { NewContent::Any };
        // If two entries exist, the weaker claim wins.
        match (self.changed.get(&node.written_id()), &new) {
            (Some(NewContent::Any), _) => {}
            (Some(NewContent::Value(_) | NewContent::Instead(_) | NewContent::Name(_)), NewContent::Tag) => self.conflict = true,
            _ => drop(self.changed.insert(node.written_id(), new)),
        }
    }

    /// The records that something is said about, in order.
    pub(super) fn touched_records(&self) -> Vec<u32> {
        let known: HashSet<u32> = self
            .changed
            .keys()
            .chain(self.removed.keys())
            .chain(self.added_before.keys())
            .chain(self.added_last.keys())
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
