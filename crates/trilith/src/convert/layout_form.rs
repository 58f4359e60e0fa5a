//! The form of a layout that a tree keeps, so that the way back gives the same layout.

use crate::asdf::annotations::ItemAnnotation;
use crate::tree::Value;

/// The form of a layout: what belongs to none of its items alone.
#[derive(Default)]
pub(super) struct LayoutForm {
    /// The parameters, by path, and the types of those that are stored.
    pub parameters: Vec<String>,
    pub stored: Vec<(String, Value)>,
    /// The dimensions of arrays that have parameters.
    pub shapes: Vec<(String, Value)>,
    /// The types of arrays, if the layout has metadata about the type.
    pub types: Vec<(String, Value)>,
    /// Names of the stored items of the summary block.
    pub summary: Vec<String>,
    /// Documentation and attributes of types, by name, and of the summary block.
    pub named: Vec<(String, ItemAnnotation)>,
}

impl LayoutForm {
    /// The form as the value of the key `layout`, after the dialect and the byte order of a native file; None if it is empty.
    pub(super) fn into_value(self, native: Vec<(&str, Value)>) -> Option<Value> {
        let mut all = Value::map(native);
        for (name, list) in [("parameters", self.parameters), ("summary", self.summary)] {
            if !list.is_empty() {
                all.set(name, Value::seq(list));
            }
        }
        let named = self.named.into_iter().map(|(name, item)| (name, item.into_value())).collect();
        for (name, pairs) in [("stored", self.stored), ("shapes", self.shapes), ("types", self.types), ("named", named)] {
            if !pairs.is_empty() {
                all.set(name, Value::map(pairs));
            }
        }
        Some(all).filter(|all| !all.entries().is_empty())
    }
}
