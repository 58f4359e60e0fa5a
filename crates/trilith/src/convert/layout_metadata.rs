//! The form of a layout in the mapping `dudley` of a tree.

use crate::tree::Value;

/// The form of a layout, in the mapping `dudley`.
#[derive(Default)]
pub(super) struct LayoutMetadata {
    /// The dimensions of arrays that have parameters.
    pub shapes: Vec<(String, Value)>,
    /// The types of arrays, if the layout has metadata about the type.
    pub types: Vec<(String, Value)>,
    /// Names of the stored items of the summary block.
    pub summary: Vec<String>,
}

impl LayoutMetadata {
    /// Returns `true` if there is nothing to write.
    pub(super) fn is_empty(&self) -> bool {
        self.shapes.is_empty() && self.types.is_empty() && self.summary.is_empty()
    }

    /// Moves it into the mapping.
    pub(super) fn move_into_mapping(self, about: &mut Value) {
        if !self.summary.is_empty() {
            about.set("summary", Value::seq(self.summary));
        }
        for (name, pairs) in [("shapes", self.shapes), ("types", self.types)] {
            if !pairs.is_empty() {
                about.set(name, Value::map(pairs));
            }
        }
    }
}
