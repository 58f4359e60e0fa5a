//! Names and what they mean, which can be taken back to a mark.

use std::collections::HashMap;

/// Meanings of names.
#[derive(Debug)]
pub(super) struct Known<T> {
    names: HashMap<String, T>,
    /// The former meanings of the names, since the last mark.
    before: Vec<(String, Option<T>)>,
}

impl<T> Default for Known<T> {
    fn default() -> Self {
        Self { names: HashMap::new(), before: Vec::new() }
    }
}

impl<T: Clone> Known<T> {
    pub(super) fn get(&self, name: &str) -> Option<&T> {
        self.names.get(name)
    }

    pub(super) fn contains_key(&self, name: &str) -> bool {
        self.names.contains_key(name)
    }

    /// Gives a name a meaning; what it meant before.
    pub(super) fn insert(&mut self, name: String, means: T) -> Option<T> {
        let old = self.names.insert(name.clone(), means);
        self.before.push((name, old.clone()));
        old
    }

    /// Takes away the meaning of a name.
    pub(super) fn remove(&mut self, name: &str) {
        if let Some(old) = self.names.remove(name) {
            self.before.push((name.to_owned(), Some(old)));
        }
    }

    /// Sets the mark: insertions from here on can be taken back.
    pub(super) fn mark(&mut self) {
        self.before.clear();
    }

    /// Takes back what was inserted since the mark.
    pub(super) fn back(&mut self) {
        while let Some((name, old)) = self.before.pop() {
            match old {
                Some(old) => self.names.insert(name, old),
                None => self.names.remove(&name),
            };
        }
    }
}
