//! Edits that keep every other byte of a tree's text.

mod place;
#[cfg(test)]
mod tests;
mod toward;
mod write;

use std::cmp::Reverse;
use std::collections::HashSet;

use super::cards::CardPath;
use super::node::{Node, NodeId, NodeKind};
use super::path::index_of;
use super::{PrintOptions, Tree, TreePath, Value};
use crate::error::{Error, Kind, Result};
use crate::limits::Limits;
use crate::span::Span;
use crate::yaml::print_flow;
use write::Context;

/// Changes to a tree, applied together; paths and spans are those of the tree before any of them.
///
/// ```
/// use trilith::{Limits, tree::{Tree, TreePath}};
/// let tree = Tree::parse("a: 1 # one\nb: {c: [x]}\n", &Limits::default())?;
/// let mut edit = tree.edit();
/// edit.set(&TreePath::parse("/a")?, &"yes".into())?;
/// edit.insert(&TreePath::parse("/b/c/-")?, &2.5.into())?;
/// edit.insert(&TreePath::parse("/d")?, &trilith::tree::Value::seq([1, 2]))?;
/// let tree = edit.finish(&Limits::default())?;
/// assert_eq!(tree.text(), "a: 'yes' # one\nb: {c: [x, 2.5]}\nd: [1, 2]\n");
/// # Ok::<(), trilith::Error>(())
/// ```
pub struct Edit<'t> {
    tree: &'t Tree,
    changes: Vec<Change>,
    options: PrintOptions,
    /// Empty brackets that have been given something.
    filled: HashSet<NodeId>,
}

/// One span of the old text, and what stands there in the new one.
struct Change {
    span: Span,
    /// The indentation of a line that is added.
    column: usize,
    text: String,
}

impl Tree {
    /// Begins to edit this tree.
    pub fn edit(&self) -> Edit<'_> {
        let handles = self.tag_handles().map(|(handle, prefix)| (handle.to_owned(), prefix.to_owned())).collect();
        Edit {
            tree: self,
            changes: Vec::new(),
            filled: HashSet::new(),
            options: PrintOptions { handles, ..PrintOptions::default() },
        }
    }
}

impl<'t> Edit<'t> {
    /// The options that new text is printed with; the handles are the tree's.
    pub fn options_mut(&mut self) -> &mut PrintOptions {
        &mut self.options
    }

    /// Replaces a span of the text by other text, whatever it holds.
    pub fn replace(&mut self, span: Span, text: impl Into<String>) {
        self.changes.push(Change { span, column: 0, text: text.into() });
    }

    /// Replaces a node's content by a value on one line; the fast way to patch many nodes of one tree.
    pub fn replace_node(&mut self, node: Node<'t>, value: &Value) {
        let mut text = print_flow(value, &self.options);
        let start = node.span().start as usize;
        let before = self.tree.text().get(place::line_start(self.tree.text(), start)..start);
        if before.is_some_and(place::is_blank) {
            // The dashes of a list may stand right below its key; anything else stands further in.
            text.insert(0, ' ');
        }
        self.replace(node.span(), text);
    }

    /// Sets the value at a path; a key that its mapping does not have is added.
    ///
    /// A value without a tag takes the tag of the node that it replaces, where that is of the same kind (and
    /// the value not null): `!unit m` set to `s` stays a unit.
    ///
    /// # Errors
    /// [`Kind::Usage`](crate::Kind::Usage) where the path leads nowhere.
    pub fn set(&mut self, path: &TreePath, value: &Value) -> Result<()> {
        if let Some(card) = CardPath::find(self.tree, path)? {
            return card.set(self, value);
        }
        let Some((above, key)) = path.split_last() else {
            self.put(self.tree.root(), value, Context::Root);
            return Ok(());
        };
        let parent = target(self.tree.find(&above).ok_or_else(|| absent(&above))?);
        match own_child(parent, key) {
            Some(node) => {
                self.put(node, value, Context::of(parent));
                Ok(())
            }
            None => self.insert(path, value),
        }
    }

    /// Sets or adds a key of a mapping node, as [`Edit::set`]; no path is searched, for edits of many nodes.
    ///
    /// # Errors
    /// [`Kind::Usage`](crate::Kind::Usage) where the node is no mapping.
    pub fn set_key(&mut self, mapping: Node<'t>, key: &str, value: &Value) -> Result<()> {
        let parent = target(mapping);
        if !parent.is_mapping() {
            let (line, column) = mapping.line_column();
            return Err(Error::usage(format!("expected a mapping to set {key:?} in")).at_text(line, column));
        }
        match own_child(parent, key) {
            Some(node) => self.put(node, value, Context::of(parent)),
            None => self.insert_entry(parent, key, value),
        }
        Ok(())
    }

    /// Removes a key of a mapping node, or an item of a sequence by its number, as [`Edit::delete`]; no path is
    /// searched. Does nothing where it is missing.
    pub fn delete_key(&mut self, parent: Node<'t>, key: &str) {
        let parent = target(parent);
        if let Some(node) = own_child(parent, key) {
            self.remove(parent, node);
        }
    }

    /// Sets the value at a path, from YAML text under the tree's `%TAG` handles, as [`Edit::set`].
    ///
    /// # Errors
    /// As [`Edit::set`] and [`Tree::parse_value`].
    pub fn set_yaml(&mut self, path: &TreePath, yaml: &str, tag: Option<&str>, limits: &Limits) -> Result<()> {
        let mut value = self.tree.parse_value(yaml, limits)?;
        if let Some(tag) = tag {
            value.tag = Some(tag.to_owned());
        }
        self.set(path, &value)
    }

    /// Adds a key to a mapping, or an item to a sequence before the one with that number (`-`: at the end).
    ///
    /// # Errors
    /// [`Kind::Usage`](crate::Kind::Usage) where the parent is missing, is a scalar, or has the key already.
    pub fn insert(&mut self, path: &TreePath, value: &Value) -> Result<()> {
        if let Some(card) = CardPath::find(self.tree, path)? {
            return card.insert(self, value);
        }
        let Some((above, key)) = path.split_last() else {
            return Err(Error::usage("the root exists already").hint("set it instead"));
        };
        let parent = target(self.tree.find(&above).ok_or_else(|| absent(&above))?);
        match parent.kind() {
            // Nothing becomes the mapping that is asked for.
            NodeKind::Scalar if parent.is_null() => self.set(&above, &Value::map([(key, value.clone())])),
            NodeKind::Scalar => Err(Error::usage(format!("a scalar has no place for {key:?}")).at_path(above.to_string())),
            NodeKind::Mapping if parent.entries().any(|(k, _)| k.is_key(key)) => {
                Err(Error::usage(format!("the key {key:?} exists already")).at_path(above.to_string()))
            }
            _ if parent.is_empty() => {
                let item = if parent.is_mapping() { Value::map([(key, value.clone())]) } else { Value::seq([value.clone()]) };
                self.set(&above, &item)
            }
            NodeKind::Mapping => {
                self.insert_entry(parent, key, value);
                Ok(())
            }
            NodeKind::Sequence if key == "-" => {
                self.insert_item(parent, parent.len(), value);
                Ok(())
            }
            NodeKind::Sequence => match index_of(key).filter(|index| *index <= parent.len()) {
                Some(index) => {
                    self.insert_item(parent, index, value);
                    Ok(())
                }
                None => Err(Error::usage(format!("{key:?} is no place in a sequence of {} items", parent.len()))
                    .at_path(above.to_string())
                    .hint("write a number, or - for the end")),
            },
        }
    }

    /// Adds an item at the end of a sequence.
    ///
    /// # Errors
    /// As [`Edit::insert`].
    pub fn append(&mut self, sequence: &TreePath, value: &Value) -> Result<()> {
        match self.tree.find(sequence) {
            Some(node) if !node.is_sequence() => {
                Err(Error::usage("expected a sequence to append to").at_path(sequence.to_string()))
            }
            _ => self.insert(&sequence.join("-"), value),
        }
    }

    /// Removes a key with its value, or an item, with the comment on its line.
    ///
    /// # Errors
    /// [`Kind::Usage`](crate::Kind::Usage) where the path leads nowhere or is the root.
    pub fn delete(&mut self, path: &TreePath) -> Result<()> {
        if let Some(card) = CardPath::find(self.tree, path)? {
            return card.delete(self);
        }
        let (above, key) = path.split_last().ok_or_else(|| Error::usage("the root cannot be deleted"))?;
        let parent = target(self.tree.find(&above).ok_or_else(|| absent(&above))?);
        match own_child(parent, key) {
            Some(node) => {
                self.remove(parent, node);
                Ok(())
            }
            None if parent.child(key).is_some() => Err(merged_in(path)),
            None => Err(absent(path)),
        }
    }

    /// Gives a key of a mapping another name.
    ///
    /// # Errors
    /// [`Kind::Usage`](crate::Kind::Usage) where the path leads nowhere or to no key, or the name is taken.
    pub fn rename(&mut self, path: &TreePath, name: &str) -> Result<()> {
        if let Some(card) = CardPath::find(self.tree, path)? {
            return card.rename(self, name);
        }
        let (above, key) = path.split_last().ok_or_else(|| Error::usage("the root has no name"))?;
        let parent = target(self.tree.find(&above).ok_or_else(|| absent(&above))?);
        if !parent.is_mapping() {
            return Err(Error::usage("items of a sequence have no names").at_path(path.to_string()));
        }
        if parent.entries().any(|(k, _)| k.is_key(name)) {
            return Err(Error::usage(format!("the key {name:?} exists already")).at_path(above.to_string()));
        }
        let found = parent.entries().filter(|(k, _)| k.is_key(key)).last();
        let (node, _) = found.ok_or_else(|| if parent.get(key).is_some() { merged_in(path) } else { absent(path) })?;
        let text = print_flow(&Value::from(name), &self.options);
        // A key that is empty has no colon that could stay.
        if node.whole_span().is_empty() {
            return Err(Error::usage("this key is empty and cannot be renamed").at_path(path.to_string()));
        }
        self.replace(node.whole_span(), text);
        Ok(())
    }

    /// The text with all changes.
    ///
    /// # Errors
    /// [`Kind::Usage`](crate::Kind::Usage) where two changes touch the same bytes.
    pub fn text(&self) -> Result<String> {
        let mut order: Vec<&Change> = self.changes.iter().collect();
        // Of lines added at one place the innermost come first; else the order is that of asking.
        order.sort_by_key(|change| (change.span.start, change.span.end, Reverse(change.column)));
        let grown: usize = self.changes.iter().map(|change| change.text.len()).sum();
        let source = self.tree.text();
        let breaks_are_two = memchr::memchr(b'\n', source.as_bytes()).is_some_and(|at| source[..at].ends_with('\r'));
        let mut out = String::with_capacity(source.len() + grown);
        let mut at = 0;
        for Change { span, text, .. } in order {
            let kept = (span.start as usize >= at).then(|| source.get(at..span.start as usize)).flatten();
            let kept =
                kept.ok_or_else(|| Error::usage("two changes touch the same place").hint("make them one after the other"))?;
            out.push_str(kept);
            if breaks_are_two && text.contains('\n') {
                out.push_str(&text.replace('\n', "\r\n"));
            } else {
                out.push_str(text);
            }
            at = span.end as usize;
        }
        out.push_str(source.get(at..).ok_or_else(|| Error::usage("a change lies outside the text"))?);
        Ok(out)
    }

    /// The tree with all changes, parsed anew.
    ///
    /// # Errors
    /// As [`Edit::text`]; [`Kind::Usage`](crate::Kind::Usage) where the changes leave no valid tree (a
    /// deleted anchor that an alias needs, say), [`Kind::Limit`](crate::Kind::Limit).
    pub fn finish(self, limits: &Limits) -> Result<Tree> {
        Tree::parse_at(self.text()?, self.tree.origin(), limits).map_err(|error| match error.kind() {
            Kind::Malformed => Error::usage(error.message().to_owned())
                .at(error.location().clone())
                .context("the tree would break by this change"),
            _ => error,
        })
    }
}

/// The child under a key, or with a number, as written: nothing merged in, aliases not followed.
fn own_child<'t>(parent: Node<'t>, key: &str) -> Option<Node<'t>> {
    match parent.kind() {
        NodeKind::Mapping => parent.entries().filter(|(name, _)| name.is_key(key)).last().map(|(_, value)| value),
        NodeKind::Sequence => index_of(key).and_then(|index| parent.index(index)),
        NodeKind::Scalar => None,
    }
}

/// The node that a collection's children are written in.
fn target(node: Node<'_>) -> Node<'_> {
    node.alias_target().unwrap_or(node)
}

#[cold]
fn absent(path: &TreePath) -> Error {
    Error::usage("there is nothing at this path").at_path(path.to_string())
}

#[cold]
fn merged_in(path: &TreePath) -> Error {
    Error::usage("this key is merged in from another mapping")
        .at_path(path.to_string())
        .hint("set it to override it, or edit that mapping")
}
