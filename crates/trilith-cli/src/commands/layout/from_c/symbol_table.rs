//! Names and what they mean, which can be taken back to a mark.

use std::collections::HashMap;

/// Meanings of names.
#[derive(Debug)]
pub(super) struct SymbolTable<T> {
    names: HashMap<String, T>,
    /// The former meanings of the names, since the last mark.
    undo_log: Vec<(String, Option<T>)>,
}

impl<T> Default for SymbolTable<T> {
    fn default() -> Self {
        Self { names: HashMap::new(), undo_log: Vec::new() }
    }
}

impl<T: Clone> SymbolTable<T> {
    pub(super) fn get(&self, name: &str) -> Option<&T> {
        self.names.get(name)
    }

    pub(super) fn contains_key(&self, name: &str) -> bool {
        self.names.contains_key(name)
    }

    /// Gives a name a meaning; what it meant before.
    pub(super) fn insert(&mut self, name: String, means: T) -> Option<T> {
        let old = self.names.insert(name.clone(), means);
        self.undo_log.push((name, old.clone()));
        old
    }

    /// Takes away the meaning of a name.
    pub(super) fn remove(&mut self, name: &str) {
        if let Some(old) = self.names.remove(name) {
            self.undo_log.push((name.to_owned(), Some(old)));
        }
    }

    /// Sets the mark: insertions from here on can be taken back.
    pub(super) fn set_savepoint(&mut self) {
        self.undo_log.clear();
    }

    /// Takes back what was inserted since the mark.
    pub(super) fn rollback(&mut self) {
        while let Some((name, old)) = self.undo_log.pop() {
            match old {
                Some(old) => self.names.insert(name, old),
                None => self.names.remove(&name),
            };
        }
    }
}
