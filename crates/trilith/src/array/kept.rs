//! Decoded chunks that the next read may need again: of as many bytes as there is room for, those that were used last.

use std::collections::HashMap;
use std::sync::Arc;

/// The elements of a chunk.
pub(super) type Chunk = Arc<Vec<u8>>;

/// What a chunk costs besides its bytes.
const APART: u64 = 64;

/// Chunks by their numbers, with the time when each was used last.
#[derive(Default)]
pub(super) struct Kept {
    chunks: HashMap<u64, (u64, Chunk)>,
    bytes: u64,
    clock: u64,
}

impl Kept {
    /// What is used from now on was used later than all before.
    pub fn tick(&mut self) {
        self.clock += 1;
    }

    /// A chunk, which counts as used.
    pub fn get(&mut self, number: u64) -> Option<Chunk> {
        let (used, chunk) = self.chunks.get_mut(&number)?;
        *used = self.clock;
        Some(Arc::clone(chunk))
    }

    /// Keeps a chunk.
    pub fn keep(&mut self, number: u64, chunk: Chunk) {
        let size = (chunk.len() as u64).saturating_add(APART);
        if self.chunks.insert(number, (self.clock, chunk)).is_none() {
            self.bytes = self.bytes.saturating_add(size);
        }
    }

    /// Lets go of the chunks that were used longest ago, where there are more than so many bytes.
    pub fn shrink(&mut self, most: u64) {
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
                self.bytes = self.bytes.saturating_sub((chunk.len() as u64).saturating_add(APART));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_longest_ago_goes_first() {
        let mut kept = Kept::default();
        for number in 0..10 {
            kept.tick();
            kept.keep(number, Arc::new(vec![0; 36]));
        }
        kept.tick();
        assert!(kept.get(0).is_some());
        kept.shrink(1000);
        assert_eq!(kept.chunks.len(), 10);
        kept.shrink(800);
        let mut left: Vec<u64> = kept.chunks.keys().copied().collect();
        left.sort_unstable();
        assert_eq!(left, [0, 7, 8, 9]);
    }
}
