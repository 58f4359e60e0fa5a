//! Reasons why an edit cannot be made, with kind, place and remedy.

use super::super::node::{Node, NodeId};
use super::super::{Tree, Value, print_document};
use super::Edit;
use super::check::{FirstDifference, reads_back};
use super::plan::{AddedChild, NewContent};
use crate::error::Error;
use crate::limits::Limits;
use crate::yaml::PrintOptions;

/// Remedy if the layout of the text prevents the edit.
const LAYOUT_REMEDY: &str = "nothing was changed; set the mapping or list around it as a whole instead";

impl Edit<'_> {
    /// The new text is a tree with other content.
    #[cold]
    pub(super) fn content_changed_error(&self, difference: &FirstDifference, limits: &Limits) -> Error {
        self.user_error(limits).unwrap_or_else(|| {
            let node = Node::new(self.tree, difference.node);
            let (line, column) = node.line_column();
            let at = self.tree.path_of(NodeId(difference.node)).map_or(String::new(), |path| format!(" at {path}"));
            Error::unsupported(format!(
                "this edit would change more than it should, because of how the tree is written{at}: {}",
                difference.message
            ))
            .at_text(line, column)
            .hint(LAYOUT_REMEDY)
        })
    }

    /// The new text is not a tree.
    #[cold]
    pub(super) fn unreadable_error(&self, error: &Error, limits: &Limits) -> Error {
        self.user_error(limits).unwrap_or_else(|| {
            Error::unsupported(format!("this edit would leave a text that is not YAML: {}", error.message()))
                .with_location(error.location().clone())
                .hint(LAYOUT_REMEDY)
        })
    }

    /// Returns an error that the caller can fix.
    fn user_error(&self, limits: &Limits) -> Option<Error> {
        let options = PrintOptions { handles: self.options.handles.clone(), ..PrintOptions::default() };
        let reads_back =
            |value: &Value| Tree::parse(print_document(value, &options), limits).is_ok_and(|tree| reads_back(value, &tree));
        let wrong = self.new_values().find(|value| !reads_back(value))?;
        let shown: String = format!("{:?}", wrong.data).chars().take(60).collect();
        Some(Error::invalid_input(format!("this value cannot be written as YAML: {shown}")))
    }

    /// The values that the edit brings.
    fn new_values(&self) -> impl Iterator<Item = &Value> {
        let changed = self.plan.changed.values().filter_map(|new| match new {
            NewContent::Value(value) | NewContent::Instead(value) | NewContent::Name(value) => Some(value),
            NewContent::Tag | NewContent::Any | NewContent::Moved(_) => None,
        });
        let added =
            self.plan.added_before.values().chain(self.plan.added_last.values()).flatten().flat_map(|added| match added {
                AddedChild::Item(item) => [Some(item), None],
                AddedChild::Pair(key, value) => [Some(key), Some(value)],
            });
        changed.chain(added.flatten())
    }
}
