//! Losses as a difference: every node of a tree that was read, minus those that the conversion took.

use std::collections::HashSet;

use crate::asdf::ndarray;
use crate::diagnostic::Diagnostic;
use crate::error::Result;
use crate::limits::Limits;
use crate::tree::{Node, NodeId, Tree};

/// The nodes of a tree that a conversion took.
#[derive(Debug, Default)]
pub(super) struct Account {
    taken: HashSet<NodeId>,
}

impl Account {
    /// Marks a node; what is below it is marked by itself.
    pub(super) fn take(&mut self, node: Node<'_>) {
        self.taken.insert(node.id());
        if let Some(target) = node.alias_target() {
            self.taken.insert(target.id());
        }
    }

    /// Marks a node and all below it.
    ///
    /// # Errors
    /// Returns the errors of [`Walk::step`](crate::tree::Walk::step).
    pub(super) fn take_all(&mut self, node: Node<'_>, limits: &Limits) -> Result<()> {
        let mut walk = node.walk(limits).expand_aliases();
        while let Some(visit) = walk.step()? {
            self.take(visit.node);
        }
        Ok(())
    }

    /// Marks what describes the elements of an ndarray; a mask is no part of it.
    ///
    /// # Errors
    /// Returns the errors of [`Account::take_all`].
    pub(super) fn take_array(&mut self, node: Node<'_>, limits: &Limits) -> Result<()> {
        self.take(node);
        if node.is_sequence() || ndarray::is_chunked(node) {
            return self.take_all(node, limits);
        }
        let entries = node.merged_entries().into_iter();
        let describing = entries.filter(|(key, _)| ndarray::ELEMENTS.contains(&&*key.text()));
        describing.map(|(_, value)| value).try_for_each(|value| self.take_all(value, limits))
    }

    /// Returns the losses: each node that was not taken, without those below it.
    ///
    /// # Errors
    /// Returns the errors of [`Walk::step`](crate::tree::Walk::step).
    pub(super) fn losses(&self, tree: &Tree, limits: &Limits, why: &str) -> Result<Vec<Diagnostic>> {
        let mut losses = Vec::new();
        let mut walk = tree.root().walk(limits);
        while let Some(visit) = walk.step()? {
            let node = visit.node;
            let is_taken = |node: Node<'_>| self.taken.contains(&node.id());
            if !is_taken(node) && !node.alias_target().is_some_and(is_taken) {
                losses.push(Diagnostic::loss(&walk.path(), why));
                walk.skip_children();
            }
        }
        Ok(losses)
    }
}

/// Returns `true` if a history holds no entry: only which extensions the file of the ASDF family needed.
pub(super) fn says_form_only(history: Node<'_>) -> bool {
    if history.is_sequence() {
        // A history that is a list holds extensions as entries with one of these keys.
        return history.items().all(|entry| super::history::NAMES.iter().any(|name| entry.get(name).is_some()));
    }
    history.is_mapping()
        && history.entries().all(|(key, value)| match &*key.text() {
            "extensions" => true,
            "entries" => value.is_sequence() && value.is_empty(),
            _ => false,
        })
}
