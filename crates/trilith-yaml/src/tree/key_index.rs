//! Keys of large mappings, found without reading all of them each time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::node::Node;

/// Smaller mappings are searched from end to end.
pub(super) const MIN_INDEXED_LEN: usize = 64;

/// Number of searches of a mapping before its keys are indexed.
const SEARCHES_BEFORE_INDEX: u32 = 4;

/// The outcome of a search in the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IndexLookup {
    /// The mapping is not indexed.
    NotIndexed,
    /// The mapping has no such key.
    Missing,
    /// The mapping has the key.
    Found {
        /// Record of the last value under the key.
        record: u32,
        /// `true` if the key occurs more than once.
        is_repeated: bool,
    },
}

/// The last value under each key, and whether others of the same name are before it.
type Places = HashMap<Box<str>, (u32, bool)>;

/// The indexed mappings of a tree; made when they pay, lost when the tree is copied.
#[derive(Default)]
pub(super) struct KeyIndex(Mutex<HashMap<u32, IndexedMapping>>);

#[derive(Default)]
struct IndexedMapping {
    searches: u32,
    positions: Option<Arc<Places>>,
}

impl KeyIndex {
    /// Finds the value under `key`.
    pub(super) fn find_value(&self, mapping: Node<'_>, key: &str) -> IndexLookup {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = known.entry(mapping.id().0).or_default();
        if entry.positions.is_none() {
            entry.searches += 1;
            if entry.searches <= SEARCHES_BEFORE_INDEX {
                return IndexLookup::NotIndexed;
            }
            // The last of duplicates wins.
            let mut places = Places::with_capacity(mapping.len());
            for (name, value) in mapping.entries().filter(|(name, _)| name.is_scalar()) {
                let place = value.written_id();
                places.entry(name.text().into()).and_modify(|known| *known = (place, true)).or_insert((place, false));
            }
            entry.positions = Some(Arc::new(places));
        }
        let Some(places) = entry.positions.clone() else { return IndexLookup::NotIndexed };
        drop(known);
        match places.get(key) {
            Some(&(record, is_repeated)) => IndexLookup::Found { record, is_repeated },
            None => IndexLookup::Missing,
        }
    }
}

impl Clone for KeyIndex {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl std::fmt::Debug for KeyIndex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("KeyIndex")
    }
}
