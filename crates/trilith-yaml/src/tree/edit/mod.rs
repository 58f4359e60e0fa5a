//! Edits that keep every other byte of a tree's text, and are checked before anybody sees them.
//!
//! Each change has two parts: the new text (`write`, `place`), and its intended content (`plan`).
//! The text is parsed and compared with the old tree and what was meant (`check`, `refuse`).

mod alias;
mod check;
mod edit_error;
mod merge_tree;
mod plan;
mod strict_yaml;
#[cfg(test)]
mod tests;
mod text_positions;
mod write;

use std::cell::OnceCell;
use std::cmp::Reverse;
use std::collections::{BTreeSet, HashSet};

use super::fits_cards::CardLocator;
use super::node::{Node, NodeId, NodeKind};
use super::path::index_of;
use super::{PrintOptions, Tree, TreePath, Value};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;
use crate::span::Span;
use crate::yaml::print_flow;
use plan::{EditModel, under_its_tag};
use write::NodeContext;

/// Changes to a tree, applied together; paths and spans are those of the tree before any of them.
///
/// [`Edit::finish`] checks the new text: if it would say anything but the old tree with these changes (values,
/// tags, keys and their order, what aliases refer to) there is an error instead of a tree.
///
/// ```
/// use trilith_yaml::{Limits, tree::{Tree, TreePath}};
/// let tree = Tree::parse("a: 1 # one\nb: {c: [x]}\n", &Limits::default())?;
/// let mut edit = tree.edit();
/// edit.set(&TreePath::parse("/a")?, &"yes".into())?;
/// edit.insert(&TreePath::parse("/b/c/-")?, &2.5.into())?;
/// edit.insert(&TreePath::parse("/d")?, &trilith_yaml::tree::Value::seq([1, 2]))?;
/// let tree = edit.finish(&Limits::default())?;
/// assert_eq!(tree.text(), "a: 'yes' # one\nb: {c: [x, 2.5]}\nd: [1, 2]\n");
/// # Ok::<(), trilith_yaml::Error>(())
/// ```
pub struct Edit<'t> {
    tree: &'t Tree,
    changes: Vec<TextChange>,
    plan: EditModel,
    options: PrintOptions,
    /// Empty brackets that have been given something.
    reserved_spans: HashSet<NodeId>,
    /// The nodes that aliases outside of them refer to, once they are needed.
    referred: OnceCell<HashSet<NodeId>>,
    /// The changes of collections that are in several places.
    shared: BTreeSet<String>,
}

/// Replacement of a span of the old text.
struct TextChange {
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
            plan: EditModel::default(),
            reserved_spans: HashSet::new(),
            referred: OnceCell::new(),
            shared: BTreeSet::new(),
            options: PrintOptions { handles, ..PrintOptions::default() },
        }
    }
}

impl<'t> Edit<'t> {
    /// The options that new text is printed with; the handles are the tree's.
    pub fn options_mut(&mut self) -> &mut PrintOptions {
        &mut self.options
    }

    /// Replaces a span of the text by other text, whatever it holds: a tag, the text of a node, directives.
    ///
    /// The innermost node that has all of the span may say anything then; everything else is checked.
    #[doc(hidden)]
    pub fn replace(&mut self, span: Span, text: impl Into<String>) {
        let text = text.into();
        self.plan.replace_text(self.tree, span, &text);
        self.push_replacement(span, text);
    }

    /// Notes on changes of collections that are in several places of the tree, and change in all of them.
    #[doc(hidden)]
    pub fn shared(&mut self) -> BTreeSet<String> {
        std::mem::take(&mut self.shared)
    }

    /// Replaces a span of the text; what that means is said elsewhere.
    fn push_replacement(&mut self, span: Span, text: impl Into<String>) {
        self.changes.push(TextChange { span, column: 0, text: text.into() });
    }

    /// Replaces a node's content by a value on one line; the fast way to patch many nodes of one tree.
    pub fn replace_node(&mut self, node: Node<'t>, value: &Value) {
        self.plan.change_value(node, under_its_tag(node, value));
        self.write_content(node, value);
    }

    /// Does the same as [`Edit::replace_node`], for values too large to be kept until the end. It checks that
    /// everything else stays and that the text is YAML, but it does not read the value back.
    pub fn write_out(&mut self, node: Node<'t>, value: &Value) {
        self.plan.change_unread(node);
        self.write_content(node, value);
    }

    fn write_content(&mut self, node: Node<'t>, value: &Value) {
        let mut text = print_flow(value, &self.options);
        let start = node.span().start as usize;
        let before = self.tree.text().get(text_positions::line_start(self.tree.text(), start)..start);
        if before.is_some_and(text_positions::is_blank) {
            // The dashes of a list may be right below its key; anything else is indented further.
            text.insert(0, ' ');
        }
        self.push_replacement(node.span(), text);
    }

    /// Sets the value at a path; a key that its mapping does not have is added.
    ///
    /// If aliases elsewhere refer to the old value, the first of them gets it with its anchor: only this path changes.
    ///
    /// A value without a tag takes the tag of the node that it replaces, if that is of the same kind (and
    /// the value not null): `!unit m` set to `s` stays a unit.
    ///
    /// # Errors
    /// Returns [`ErrorKind::NotFound`] if the path leads nowhere, and
    /// [`ErrorKind::InvalidInput`] if its last key has no place there, or if the content of the value does not fit its tag.
    pub fn set(&mut self, path: &TreePath, value: &Value) -> Result<()> {
        value.check_tags()?;
        if let Some(card) = CardLocator::resolve_card(self.tree, path)? {
            return card.set_card_value(self, value);
        }
        let Some((above, key)) = path.split_last() else {
            self.write_value_at(self.tree.root(), value, NodeContext::Root);
            return Ok(());
        };
        let parent = self.find_parent(&above, key)?.1;
        match written_child(parent, key) {
            Some(node) => {
                self.write_value_at(node, value, NodeContext::of_parent(parent));
                Ok(())
            }
            None => self.insert(path, value),
        }
    }

    /// Sets or adds a key of a mapping node, as [`Edit::set`]; no path is searched, for edits of many nodes.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`] if the node is not a mapping.
    pub fn set_key(&mut self, mapping: Node<'t>, key: &str, value: &Value) -> Result<()> {
        let parent = resolve_alias(mapping);
        if !parent.is_mapping() {
            let (line, column) = mapping.line_column();
            return Err(Error::invalid_input(format!("expected a mapping to set {key:?} in")).at_text(line, column));
        }
        match written_child(parent, key) {
            Some(node) => self.write_value_at(node, value, NodeContext::of_parent(parent)),
            None => self.insert_entry(parent, key, value),
        }
        Ok(())
    }

    /// Removes a key of a mapping node, or an item of a sequence by its number, as [`Edit::delete`]; no path is
    /// searched. Does nothing if it is missing.
    pub fn delete_key(&mut self, parent: Node<'t>, key: &str) {
        let parent = resolve_alias(parent);
        self.remove(parent, &written_children(parent, key));
    }

    /// Adds a key to a mapping, or an item to a sequence before the one with that number (`-`: at the end).
    ///
    /// # Errors
    /// Returns [`ErrorKind::NotFound`] if the parent is missing, and
    /// [`ErrorKind::InvalidInput`] if it is a scalar or has the key already, or if the content of the value does not fit its tag.
    pub fn insert(&mut self, path: &TreePath, value: &Value) -> Result<()> {
        value.check_tags()?;
        if let Some(card) = CardLocator::resolve_card(self.tree, path)? {
            return card.insert(self, value);
        }
        let Some((above, key)) = path.split_last() else {
            return Err(Error::invalid_input("the root exists already").hint("set it instead"));
        };
        let (written, parent) = self.find_parent(&above, key)?;
        // Empty brackets are rewritten as lines, except those seen in several places or with a comment in them.
        let fits_anywhere = parent.is_empty()
            && !written.is_alias()
            && !self.is_referred(parent)
            && !parent.source_text().contains('#')
            && self.is_written_at(&above);
        match parent.kind() {
            // A null parent becomes a mapping with the new pair.
            NodeKind::Scalar if parent.is_null() => return self.set(&above, &Value::map([(key, value.clone())])),
            NodeKind::Scalar => {
                return Err(Error::invalid_input(format!("a scalar has no place for {key:?}")).at_path(above.to_string()));
            }
            NodeKind::Mapping if !parent.written_values(key).is_empty() => {
                return Err(Error::invalid_input(format!("the key {key:?} exists already")).at_path(above.to_string()));
            }
            NodeKind::Mapping if fits_anywhere => {
                let tag = parent.tag().map(str::to_owned);
                return self.set(&above, &Value { tag, ..Value::map([(key, value.clone())]) });
            }
            NodeKind::Mapping => self.insert_entry(parent, key, value),
            NodeKind::Sequence => {
                let index = if key == "-" { Some(parent.len()) } else { index_of(key).filter(|index| *index <= parent.len()) };
                let index = index.ok_or_else(|| {
                    Error::invalid_input(format!("expected a place in a sequence of {} items, found {key:?}", parent.len()))
                        .at_path(above.to_string())
                        .hint("write a number, or - for the end")
                })?;
                if fits_anywhere {
                    let tag = parent.tag().map(str::to_owned);
                    return self.set(&above, &Value { tag, ..Value::seq([value.clone()]) });
                }
                self.insert_item(parent, index, value);
            }
        }
        Ok(())
    }

    /// Adds an item at the end of a sequence.
    ///
    /// # Errors
    /// Returns the errors of [`Edit::insert`].
    pub fn append(&mut self, sequence: &TreePath, value: &Value) -> Result<()> {
        match self.tree.find(sequence) {
            Some(node) if !node.is_sequence() => {
                Err(Error::invalid_input("expected a sequence to append to").at_path(sequence.to_string()))
            }
            _ => self.insert(&sequence.join("-"), value),
        }
    }

    /// Removes a key with its value, or an item, with the comment on its line.
    ///
    /// If aliases elsewhere refer to the value, the first of them gets it with its anchor.
    ///
    /// # Errors
    /// Returns [`ErrorKind::NotFound`] if the path leads nowhere, and
    /// [`ErrorKind::InvalidInput`] if it is the root or leads to a merged key.
    pub fn delete(&mut self, path: &TreePath) -> Result<()> {
        if let Some(card) = CardLocator::resolve_card(self.tree, path)? {
            return card.delete(self);
        }
        let (above, key) = path.split_last().ok_or_else(|| Error::invalid_input("the root cannot be deleted"))?;
        let parent = self.find_parent(&above, key)?.1;
        let own = written_children(parent, key);
        match parent.child(key) {
            None => return Err(missing_path_error(self.tree, path)),
            Some(_) if own.is_empty() => return Err(merged_in(path)),
            Some(_) if is_shadowing(parent, key) => return Err(is_merged(path)),
            Some(_) => self.remove(parent, &own),
        }
        Ok(())
    }

    /// Gives a key of a mapping another name.
    ///
    /// # Errors
    /// Returns [`ErrorKind::NotFound`] if the path leads nowhere, and
    /// [`ErrorKind::InvalidInput`] if it leads to no key or the name is taken.
    pub fn rename(&mut self, path: &TreePath, name: &str) -> Result<()> {
        if let Some(card) = CardLocator::resolve_card(self.tree, path)? {
            return card.rename(self, name);
        }
        let (above, key) = path.split_last().ok_or_else(|| Error::invalid_input("the root has no name"))?;
        let parent = self.find_parent(&above, key)?.1;
        if !parent.is_mapping() {
            return Err(Error::invalid_input("items of a sequence have no names").at_path(path.to_string()));
        }
        if !parent.written_values(name).is_empty() {
            return Err(Error::invalid_input(format!("the key {name:?} exists already")).at_path(above.to_string()));
        }
        let found: Vec<_> = parent.entries().filter(|(k, _)| k.has_name(key)).collect();
        if found.is_empty() {
            return Err(if parent.get(key).is_some() { merged_in(path) } else { missing_path_error(self.tree, path) });
        }
        if is_shadowing(parent, key) {
            return Err(is_merged(path));
        }
        // If a key occurs more than once, the last counts: all become the new one.
        for (node, _) in found {
            self.rename_key(node, name);
        }
        Ok(())
    }

    /// Returns the tree with all changes, parsed again and checked: it is the old tree with these changes.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`] if two changes touch the same bytes, or a value
    /// cannot be written as YAML. Returns [`ErrorKind::Unsupported`] if the new text would mean
    /// anything else than requested, and [`ErrorKind::Limit`] if a limit would be exceeded.
    pub fn finish(mut self, limits: &Limits) -> Result<Tree> {
        self.plan.resolve_spans(self.tree);
        self.hand_over()?;
        let text = self.apply_changes()?;
        match Tree::parse_at(text, self.tree.origin(), limits) {
            Ok(new) => match check::compare_with_plan(self.tree, &self.plan, &new) {
                Ok(()) => check_strict(self.tree, new, limits),
                Err(difference) => Err(self.content_changed_error(&difference, limits)),
            },
            Err(error) if error.kind() == ErrorKind::Malformed => Err(self.unreadable_error(&error, limits)),
            Err(error) => Err(error),
        }
    }

    /// Does the same as [`Edit::finish`], if the changes only add: all content of the tree is still in it
    /// afterwards. Null and empty collections may get content.
    ///
    /// # Errors
    /// Returns the errors of [`Edit::finish`], and [`ErrorKind::Unsupported`] if a
    /// change would replace or remove something.
    pub fn finish_adding(self, limits: &Limits) -> Result<Tree> {
        let tree = self.tree;
        let is_nothing = |id: &u32| {
            let node = Node::new(tree, *id);
            if node.is_scalar() { node.is_null() } else { node.is_empty() }
        };
        let mut changed = self.plan.changed.keys();
        if !self.plan.removed.is_empty() || self.plan.head_changes || !changed.all(is_nothing) {
            return Err(Error::unsupported("this would replace or remove something, where something is to be added")
                .hint("set and delete change what is there"));
        }
        self.finish(limits)
    }

    /// The collection at `above` that has, or gets, the child `key`: as written, and with an alias followed.
    fn find_parent(&mut self, above: &TreePath, key: &str) -> Result<(Node<'t>, Node<'t>)> {
        self.tree.check_path(&above.join(key))?;
        let written = self.tree.find(above).ok_or_else(|| missing_path_error(self.tree, above))?;
        self.note_shared(above);
        Ok((written, resolve_alias(written)))
    }

    /// Returns `true` if the last key of a path is one of its mapping, not one that is merged in.
    fn is_written_at(&self, path: &TreePath) -> bool {
        let Some((above, key)) = path.split_last() else { return true };
        self.tree.find(&above).is_some_and(|parent| !written_children(resolve_alias(parent), key).is_empty())
    }

    /// The text with all changes, unchecked.
    pub(super) fn apply_changes(&self) -> Result<String> {
        let clash = || Error::invalid_input("two changes touch the same place").hint("make them one after the other");
        if self.plan.conflict {
            return Err(clash());
        }
        let mut order: Vec<&TextChange> = self.changes.iter().collect();
        // Among lines added at one place, the innermost come first. Other changes at one place keep the order of the calls.
        order.sort_by_key(|change| (change.span.start, change.span.end, Reverse(change.column)));
        let grown: usize = self.changes.iter().map(|change| change.text.len()).sum();
        let source = self.tree.text();
        let breaks_are_two = memchr::memchr(b'\n', source.as_bytes()).is_some_and(|at| source[..at].ends_with('\r'));
        let mut out = String::with_capacity(source.len() + grown);
        let mut at = 0;
        for TextChange { span, text, .. } in order {
            let kept = (span.start as usize >= at).then(|| source.get(at..span.start as usize)).flatten();
            out.push_str(kept.ok_or_else(clash)?);
            if breaks_are_two && text.contains('\n') {
                out.push_str(&text.replace('\n', "\r\n"));
            } else {
                out.push_str(text);
            }
            at = span.end as usize;
        }
        out.push_str(source.get(at..).ok_or_else(|| Error::invalid_input("a change is outside the text"))?);
        Ok(out)
    }
}

/// Refuses what plain readers of YAML 1.1 cannot read, unless it was there before.
fn check_strict(old: &Tree, new: Tree, limits: &Limits) -> Result<Tree> {
    let Some((node, why)) = strict_yaml::first_refused(&new, limits) else { return Ok(new) };
    if strict_yaml::first_refused(old, limits).is_some() {
        return Ok(new);
    }
    let (line, column) = node.line_column();
    Err(Error::unsupported(format!("other readers of YAML could not read the new text: {why}")).at_text(line, column))
}

/// The child under a key, or with a number, as written: nothing merged in, aliases not followed.
fn written_child<'t>(parent: Node<'t>, key: &str) -> Option<Node<'t>> {
    match parent.kind() {
        NodeKind::Mapping => written_children(parent, key).pop(),
        NodeKind::Sequence => index_of(key).and_then(|index| parent.index(index)),
        NodeKind::Scalar => None,
    }
}

/// Does the same as [`written_child`]. Returns all values of a key that occurs more than once.
fn written_children<'t>(parent: Node<'t>, key: &str) -> Vec<Node<'t>> {
    match parent.kind() {
        NodeKind::Mapping => parent.written_values(key),
        _ => written_child(parent, key).into_iter().collect(),
    }
}

/// Returns `true` if a key would still be there without the pairs of the mapping itself: another one is merged in
/// that has it.
fn is_shadowing(parent: Node<'_>, key: &str) -> bool {
    let merges = parent.entries().filter(|(name, _)| name.is_merge() && !name.has_name(key));
    merges.map(|(_, source)| source).any(|source| match source.kind() {
        NodeKind::Mapping => source.get(key).is_some(),
        _ => source.items().any(|item| item.is_mapping() && item.get(key).is_some()),
    })
}

/// The node that a collection's children are written in.
fn resolve_alias(node: Node<'_>) -> Node<'_> {
    node.alias_target().unwrap_or(node)
}

/// The error for a path that leads nowhere: the first key that is missing, and those that are there.
#[cold]
fn missing_path_error(tree: &Tree, path: &TreePath) -> Error {
    let mut node = tree.root();
    for key in path.keys() {
        match node.child(key) {
            Some(child) => node = child,
            None => return node.missing_child(key, path),
        }
    }
    Error::not_found("there is nothing at this path").at_path(path.to_string())
}

#[cold]
fn is_merged(path: &TreePath) -> Error {
    Error::invalid_input("this key is also merged in from another mapping: its value there would reappear")
        .at_path(path.to_string())
        .hint("set it to another value, or edit that mapping")
}

#[cold]
fn merged_in(path: &TreePath) -> Error {
    Error::invalid_input("this key is merged in from another mapping")
        .at_path(path.to_string())
        .hint("set it to override it, or edit that mapping")
}
