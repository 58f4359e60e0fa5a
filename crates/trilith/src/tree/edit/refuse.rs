//! Reasons why an edit cannot be made, with kind, place and remedy.

use super::super::node::{Node, NodeId};
use super::super::{Tree, Value, print_document};
use super::Edit;
use super::check::{Difference, reads_back};
use super::plan::{Added, New};
use crate::error::Error;
use crate::limits::Limits;
use crate::yaml::PrintOptions;

/// Remedy if the layout of the text prevents the edit.
const INSTEAD: &str = "nothing was changed; set the mapping or list around it as a whole instead";

impl Edit<'_> {
    /// The new text is a tree with other content.
    #[cold]
    pub(super) fn refused(&self, difference: &Difference, limits: &Limits) -> Error {
        self.fault(limits).unwrap_or_else(|| {
            let node = Node::new(self.tree, difference.node);
            let (line, column) = node.line_column();
            let at = self.tree.path_of(NodeId(difference.node)).map_or(String::new(), |path| format!(" at {path}"));
            Error::unsupported(format!(
                "this edit would change more than it should, because of how the tree is written{at}: {}",
                difference.what
            ))
            .at_text(line, column)
            .hint(INSTEAD)
        })
    }

    /// The new text is no tree.
    #[cold]
    pub(super) fn unreadable(&self, error: &Error, limits: &Limits) -> Error {
        self.fault(limits).unwrap_or_else(|| {
            Error::unsupported(format!("this edit would leave a text that is not YAML: {}", error.message()))
                .at(error.location().clone())
                .hint(INSTEAD)
        })
    }

    /// Returns an error that the caller can fix.
    fn fault(&self, limits: &Limits) -> Option<Error> {
        if let Some(alias) = self.left_alone() {
            let (line, column) = alias.line_column();
            let name = alias.anchor().unwrap_or("");
            return Some(
                Error::invalid_input(format!("this takes away the node &{name}, but the alias *{name} refers to it"))
                    .at_text(line, column)
                    .hint("set or delete the node at that alias first"),
            );
        }
        let options = PrintOptions { handles: self.options.handles.clone(), ..PrintOptions::default() };
        let reads_back =
            |value: &Value| Tree::parse(print_document(value, &options), limits).is_ok_and(|tree| reads_back(value, &tree));
        let wrong = self.values().find(|value| !reads_back(value))?;
        let shown: String = format!("{:?}", wrong.data).chars().take(60).collect();
        Some(Error::invalid_input(format!("this value cannot be written as YAML: {shown}")))
    }

    /// The values that the edit brings.
    fn values(&self) -> impl Iterator<Item = &Value> {
        let changed = self.plan.changed.values().filter_map(|new| match new {
            New::Value(value) | New::Name(value) => Some(value),
            New::Tag | New::Any => None,
        });
        let added = self.plan.before.values().chain(self.plan.last.values()).flatten().flat_map(|added| match added {
            Added::Item(item) => [Some(item), None],
            Added::Pair(key, value) => [Some(key), Some(value)],
        });
        changed.chain(added.flatten())
    }

    /// An alias that stays while the node that it represents goes.
    fn left_alone(&self) -> Option<Node<'_>> {
        // Of each record whether it goes.
        let mut gone = vec![false; self.tree.records.len()];
        let mut mark =
            |from: u32, to: u32| gone.get_mut(from as usize..to as usize).into_iter().flatten().for_each(|gone| *gone = true);
        for (first, after) in &self.plan.removed {
            mark(*first, *after);
        }
        for (at, new) in &self.plan.changed {
            let node = Node::new(self.tree, *at);
            match new {
                New::Name(_) => mark(*at, node.after()),
                // The anchor of the node itself stays.
                New::Value(_) if node.is_alias() => mark(*at, node.after()),
                New::Value(_) => mark(*at + 1, node.after()),
                New::Tag | New::Any => {}
            }
        }
        let is_gone = |at: u32| gone.get(at as usize).copied().unwrap_or(false);
        let mut aliases = (0..self.tree.records.len() as u32).map(|at| Node::new(self.tree, at)).filter(|node| node.is_alias());
        aliases.find(|alias| !is_gone(alias.written_id()) && is_gone(alias.id().0))
    }
}
