//! Decoded chunks that the next read may need again: of as many bytes as there is room for, those that were used last.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// The elements of a chunk.
pub(super) type DecodedChunk = Arc<Vec<u8>>;

/// Memory that a chunk takes besides its bytes.
const ENTRY_OVERHEAD: u64 = 64;

/// Bytes that all arrays together keep.
static TOTAL_CACHED: AtomicU64 = AtomicU64::new(0);
/// Caches of the arrays that keep chunks.
static CACHES: Mutex<Vec<Weak<Mutex<ChunkCache>>>> = Mutex::new(Vec::new());

/// Counts an array among those that keep chunks.
pub(super) fn register_chunk_cache(keeper: &Arc<Mutex<ChunkCache>>) {
    let mut keepers = CACHES.lock().unwrap_or_else(PoisonError::into_inner);
    keepers.retain(|known| known.strong_count() > 0);
    keepers.push(Arc::downgrade(keeper));
}

/// Lets go of what the others keep, if all together keep more than this number of bytes: only one array is read at a time, mostly.
pub(super) fn evict_others(own: &Arc<Mutex<ChunkCache>>, most: u64) {
    if TOTAL_CACHED.load(Ordering::Relaxed) <= most {
        return;
    }
    let keepers: Vec<_> = {
        let keepers = CACHES.lock().unwrap_or_else(PoisonError::into_inner);
        keepers.iter().filter_map(Weak::upgrade).collect()
    };
    for keeper in keepers.iter().filter(|keeper| !Arc::ptr_eq(keeper, own)) {
        if TOTAL_CACHED.load(Ordering::Relaxed) <= most {
            break;
        }
        // A cache whose lock is held is skipped: its array is being read.
        if let Ok(mut kept) = keeper.try_lock() {
            kept.evict(0);
        }
    }
}

/// Chunks by their numbers, with the time when each was used last.
#[derive(Default)]
pub(super) struct ChunkCache {
    chunks: HashMap<u64, (u64, DecodedChunk)>,
    bytes: u64,
    clock: u64,
    is_registered: bool,
}

impl ChunkCache {
    /// Advances the clock: whatever is used from now on was used later than everything before.
    pub(super) fn next_tick(&mut self) {
        self.clock += 1;
    }

    /// Returns `true` if this is asked for the first time.
    pub(super) fn is_new(&mut self) -> bool {
        !std::mem::replace(&mut self.is_registered, true)
    }

    /// A chunk, which counts as used.
    pub(super) fn get(&mut self, number: u64) -> Option<DecodedChunk> {
        let (used, chunk) = self.chunks.get_mut(&number)?;
        *used = self.clock;
        Some(Arc::clone(chunk))
    }

    /// Keeps a chunk.
    pub(super) fn insert(&mut self, number: u64, chunk: DecodedChunk) {
        let size = (chunk.len() as u64).saturating_add(ENTRY_OVERHEAD);
        if self.chunks.insert(number, (self.clock, chunk)).is_none() {
            self.bytes = self.bytes.saturating_add(size);
            TOTAL_CACHED.fetch_add(size, Ordering::Relaxed);
        }
    }

    /// Lets go of the chunks that were used longest ago, if there are more than this number of bytes.
    pub(super) fn evict(&mut self, most: u64) {
        if self.bytes <= most {
            return;
        }
        let mut ages: Vec<(u64, u64)> = self.chunks.iter().map(|(number, (used, _))| (*used, *number)).collect();
        ages.sort_unstable();
        for (_, number) in ages {
            if self.bytes <= most / 2 {
                break;
            }
            if let Some((_, chunk)) = self.chunks.remove(&number) {
                let size = (chunk.len() as u64).saturating_add(ENTRY_OVERHEAD);
                self.bytes = self.bytes.saturating_sub(size);
                TOTAL_CACHED.fetch_sub(size, Ordering::Relaxed);
            }
        }
    }
}

impl Drop for ChunkCache {
    fn drop(&mut self) {
        TOTAL_CACHED.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_longest_ago_goes_first() {
        let mut kept = ChunkCache::default();
        for number in 0..10 {
            kept.next_tick();
            kept.insert(number, Arc::new(vec![0; 36]));
        }
        kept.next_tick();
        assert!(kept.get(0).is_some());
        kept.evict(1000);
        assert_eq!(kept.chunks.len(), 10);
        kept.evict(800);
        let mut left: Vec<u64> = kept.chunks.keys().copied().collect();
        left.sort_unstable();
        assert_eq!(left, [0, 7, 8, 9]);
    }

    #[test]
    fn exceeded_limit_shrinks_idle_caches() {
        let filled = || {
            let kept = Arc::new(Mutex::new(ChunkCache::default()));
            register_chunk_cache(&kept);
            (0..10).for_each(|number| kept.lock().unwrap().insert(number, Arc::new(vec![0; 1000])));
            kept
        };
        let held = |kept: &Arc<Mutex<ChunkCache>>| kept.lock().unwrap().bytes;
        let (one, other, read) = (filled(), filled(), filled());
        evict_others(&one, u64::MAX);
        assert!(held(&one) == held(&other) && held(&one) > 10_000);
        let reading = read.lock().unwrap();
        evict_others(&one, 0);
        drop(reading);
        assert_eq!(held(&other), 0);
        assert!(held(&one) > 10_000 && held(&read) > 10_000, "its own, and those that are being read");
    }
}
