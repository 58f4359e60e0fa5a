//! Keys of large mappings, found without reading all of them each time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::node::Node;

/// Smaller mappings are searched from end to end.
pub(super) const MIN_INDEXED_LEN: usize = 64;

/// Number of searches of a mapping before its keys are indexed.
const SEARCHES_BEFORE_INDEX: u32 = 4;

/// The last value under each key, and whether others of the same name are before it.
type Places = HashMap<Box<str>, (u32, bool)>;

/// The indexed mappings of a tree; made when they pay, lost when the tree is copied.
#[derive(Default)]
pub(super) struct KeyIndex(Mutex<HashMap<u32, Known>>);

#[derive(Default)]
struct Known {
    searches: u32,
    positions: Option<Arc<Places>>,
}

impl KeyIndex {
    /// The record of the value under `key`, if `mapping` is indexed: `Some(None)` means that there is none.
    pub(super) fn find_value(&self, mapping: Node<'_>, key: &str) -> Option<Option<u32>> {
        self.find_all(mapping, key).map(|found| found.map(|(place, _)| place))
    }

    /// Does the same as [`KeyIndex::find_value`], and returns `true` if the key occurs more than once.
    pub(super) fn find_all(&self, mapping: Node<'_>, key: &str) -> Option<Option<(u32, bool)>> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = known.entry(mapping.id().0).or_default();
        if entry.positions.is_none() {
            entry.searches += 1;
            if entry.searches <= SEARCHES_BEFORE_INDEX {
                return None;
            }
            // The last of duplicates wins.
            let mut places = Places::with_capacity(mapping.len());
            for (name, value) in mapping.entries().filter(|(name, _)| name.is_scalar()) {
                let place = value.written_id();
                places.entry(name.text().into()).and_modify(|known| *known = (place, true)).or_insert((place, false));
            }
            entry.positions = Some(Arc::new(places));
        }
        let places = Arc::clone(entry.positions.as_ref()?);
        drop(known);
        Some(places.get(key).copied())
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
