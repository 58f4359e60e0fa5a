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
            New::Value(value) | New::Instead(value) | New::Name(value) => Some(value),
            New::Tag | New::Any | New::Moved(_) => None,
        });
        let added = self.plan.before.values().chain(self.plan.last.values()).flatten().flat_map(|added| match added {
            Added::Item(item) => [Some(item), None],
            Added::Pair(key, value) => [Some(key), Some(value)],
        });
        changed.chain(added.flatten())
    }
}
