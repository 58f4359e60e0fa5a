//! Values that are built part by part.

use super::value::Value;

/// Builds a [`Value`] of parts that come in the order of a document.
///
/// ```
/// use trilith_yaml::yaml::{Value, ValueBuilder};
/// let mut built = ValueBuilder::default();
/// built.begin_collection(Value::map::<Value, Value>([]));
/// built.key("a".into());
/// built.begin_collection(Value::seq::<Value>([]));
/// built.push_value(1.into());
/// built.end_collection();
/// built.end_collection();
/// assert_eq!(built.finish(), Some(Value::map([("a", Value::seq([1]))])));
/// ```
#[derive(Debug, Default)]
pub struct ValueBuilder {
    /// The open collections, each with the key of its next value.
    open: Vec<(Value, Option<Value>)>,
    done: Option<Value>,
}

impl ValueBuilder {
    /// Begins a mapping or a list, of which `collection` has the form and the tag.
    pub fn begin_collection(&mut self, collection: Value) {
        self.open.push((collection, None));
    }

    /// Sets the key of the next value.
    pub fn key(&mut self, key: Value) {
        if let Some((_, next)) = self.open.last_mut() {
            *next = Some(key);
        }
    }

    /// Adds a value to the innermost collection.
    pub fn push_value(&mut self, value: Value) {
        match self.open.last_mut() {
            Some((outer, key)) => match key.take() {
                Some(key) => outer.push_pair(key, value),
                None => outer.push(value),
            },
            None => self.done = Some(value),
        }
    }

    /// Ends the innermost collection.
    pub fn end_collection(&mut self) {
        if let Some((value, _)) = self.open.pop() {
            self.push_value(value);
        }
    }

    /// Number of open collections.
    pub fn depth(&self) -> usize {
        self.open.len()
    }

    /// The key of the next value.
    pub fn next_key(&self) -> Option<&Value> {
        self.open.last()?.1.as_ref()
    }

    /// Ends all collections and returns the value; `None` if there was no part.
    pub fn finish(mut self) -> Option<Value> {
        while !self.open.is_empty() {
            self.end_collection();
        }
        self.done
    }
}
