//! Losses as a difference: every node of a tree that was read, minus those that the conversion took.

use std::collections::HashSet;

use crate::asdf::ndarray;
use crate::diagnostic::Diagnostic;
use crate::error::Result;
use crate::limits::Limits;
use crate::tree::{Node, NodeId, Tree};

/// The nodes of a tree that a conversion took.
#[derive(Debug, Default)]
pub(super) struct CoverageTracker {
    used_nodes: HashSet<NodeId>,
}

impl CoverageTracker {
    /// Marks a node; what is below it is marked by itself.
    pub(super) fn mark_used(&mut self, node: Node<'_>) {
        self.used_nodes.insert(node.id());
        if let Some(target) = node.alias_target() {
            self.used_nodes.insert(target.id());
        }
    }

    /// Marks a node and all below it.
    ///
    /// # Errors
    /// Returns the errors of [`TreeWalk::try_next`](crate::tree::TreeWalk::try_next).
    pub(super) fn mark_subtree(&mut self, node: Node<'_>, limits: &Limits) -> Result<()> {
        let mut walk = node.walk(limits).expand_aliases();
        while let Some(visit) = walk.try_next()? {
            self.mark_used(visit.node);
        }
        Ok(())
    }

    /// Marks what describes the elements of an ndarray; a mask is not a part of it.
    ///
    /// # Errors
    /// Returns the errors of [`CoverageTracker::mark_subtree`].
    pub(super) fn mark_ndarray(&mut self, node: Node<'_>, limits: &Limits) -> Result<()> {
        self.mark_used(node);
        if node.is_sequence() || ndarray::is_chunked(node) {
            return self.mark_subtree(node, limits);
        }
        let entries = node.merged_entries().into_iter();
        let describing = entries.filter(|(key, _)| ndarray::ELEMENT_KEYS.contains(&&*key.text()));
        describing.map(|(_, value)| value).try_for_each(|value| self.mark_subtree(value, limits))
    }

    /// Returns the losses: each node that was not taken, without those below it.
    ///
    /// # Errors
    /// Returns the errors of [`TreeWalk::try_next`](crate::tree::TreeWalk::try_next).
    pub(super) fn collect_losses(&self, tree: &Tree, limits: &Limits, why: &str) -> Result<Vec<Diagnostic>> {
        let mut losses = Vec::new();
        let mut walk = tree.root().walk(limits);
        while let Some(visit) = walk.try_next()? {
            let node = visit.node;
            let is_taken = |node: Node<'_>| self.used_nodes.contains(&node.id());
            if !is_taken(node) && !node.alias_target().is_some_and(is_taken) {
                losses.push(Diagnostic::loss(&walk.path(), why));
                walk.skip_children();
            }
        }
        Ok(losses)
    }
}

/// Returns `true` if a history holds no entry: only which extensions the file of the ASDF family needed.
pub(crate) fn is_format_history(history: Node<'_>) -> bool {
    if history.is_sequence() {
        // A history that is a list holds extensions as entries with one of these keys.
        return history.items().all(|entry| super::history::EXTENSION_KEYS.iter().any(|name| entry.get(name).is_some()));
    }
    history.is_mapping()
        && history.entries().all(|(key, value)| match &*key.text() {
            "extensions" => true,
            "entries" => value.is_sequence() && value.is_empty(),
            _ => false,
        })
}
