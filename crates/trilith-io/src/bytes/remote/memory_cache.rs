//! Bytes of one file that were fetched already, in memory: the longest unused go first.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// Cost of an entry besides its bytes.
const OVERHEAD: u64 = 96;

/// Pieces of a file that do not overlap, by the place where they begin.
#[derive(Debug, Default)]
pub(super) struct MemoryCache {
    pieces: BTreeMap<u64, CachedRange>,
    total_bytes: u64,
    capacity: u64,
    clock: u64,
}

#[derive(Debug)]
struct CachedRange {
    bytes: Arc<[u8]>,
    last_used: u64,
}

impl MemoryCache {
    /// Holds `most` bytes.
    pub(super) fn new(most: u64) -> Self {
        Self { capacity: most, ..Self::default() }
    }

    /// The first piece that ends after `at`, and those after it.
    fn pieces_from(&self, at: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
        let first = self.pieces.range(..=at).next_back().map_or(at, |(start, _)| *start);
        let ends = self.pieces.range(first..).map(|(start, piece)| (*start, start + piece.bytes.len() as u64));
        ends.skip_while(move |(_, end)| *end <= at)
    }

    /// The parts of a range that are not here.
    pub(super) fn missing_ranges(&self, range: Range<u64>) -> Vec<Range<u64>> {
        let mut missing = Vec::new();
        let mut at = range.start;
        for (start, end) in self.pieces_from(range.start).take_while(|(start, _)| *start < range.end) {
            if start > at {
                missing.push(at..start);
            }
            at = at.max(end);
        }
        if at < range.end {
            missing.push(at..range.end);
        }
        missing
    }

    /// Copies what is here into `into`, the first byte of which is byte `offset`; returns what is not.
    pub(super) fn copy_cached(&mut self, offset: u64, into: &mut [u8]) -> Vec<Range<u64>> {
        let range = offset..offset + into.len() as u64;
        let missing = self.missing_ranges(range.clone());
        let overlapping: Vec<u64> =
            self.pieces_from(offset).take_while(|(start, _)| *start < range.end).map(|(start, _)| start).collect();
        self.clock += 1;
        for start in overlapping {
            let Some(piece) = self.pieces.get_mut(&start) else { continue };
            piece.last_used = self.clock;
            let (from, to) = (range.start.max(start), range.end.min(start + piece.bytes.len() as u64));
            let source = piece.bytes.get((from - start) as usize..(to - start) as usize);
            let target = into.get_mut((from - offset) as usize..(to - offset) as usize);
            if let (Some(source), Some(target)) = (source, target) {
                target.copy_from_slice(source);
            }
        }
        missing
    }

    /// Keeps bytes that begin at `offset`, as far as they are not here yet.
    pub(super) fn insert(&mut self, offset: u64, bytes: &[u8]) {
        self.clock += 1;
        for part in self.missing_ranges(offset..offset + bytes.len() as u64) {
            let Some(bytes) = bytes.get((part.start - offset) as usize..(part.end - offset) as usize) else { continue };
            self.total_bytes += bytes.len() as u64 + OVERHEAD;
            self.pieces.insert(part.start, CachedRange { bytes: bytes.into(), last_used: self.clock });
        }
        if self.total_bytes > self.capacity {
            self.evict();
        }
    }

    /// Drops the longest unused until three quarters are left, but never what came last.
    fn evict(&mut self) {
        let mut ages: Vec<(u64, u64)> = self.pieces.iter().map(|(start, piece)| (piece.last_used, *start)).collect();
        ages.sort_unstable();
        for (used, start) in ages {
            if self.total_bytes <= self.capacity / 4 * 3 || used == self.clock {
                return;
            }
            if let Some(piece) = self.pieces.remove(&start) {
                self.total_bytes -= piece.bytes.len() as u64 + OVERHEAD;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copy_returns_inserted_bytes_and_missing_ranges() {
        let mut cache = MemoryCache::new(1 << 20);
        cache.insert(10, b"abcdef");
        cache.insert(20, b"uvw");
        cache.insert(14, b"EFGH");
        let mut into = [b'.'; 16];
        assert_eq!(cache.copy_cached(9, &mut into), [9..10, 18..20, 23..25]);
        assert_eq!(&into, b".abcdefGH..uvw..");
        assert_eq!(cache.missing_ranges(11..15), []);
        assert_eq!(cache.missing_ranges(0..5), [0..5]);
        assert_eq!(cache.missing_ranges(30..31), [30..31]);
    }

    #[test]
    fn eviction_drops_least_recent_keeps_newest() {
        let mut cache = MemoryCache::new(1000);
        for n in 0..100 {
            cache.insert(n * 100, &[n as u8; 100]);
            assert!(cache.total_bytes <= 1000);
            let mut first = [0; 10];
            if cache.copy_cached(0, &mut first).is_empty() {
                assert_eq!(first, [0; 10]);
            }
            assert_eq!(cache.missing_ranges(n * 100..n * 100 + 100), [], "the newest");
        }
        assert_eq!(cache.missing_ranges(0..100), [], "used again and again");
        assert_eq!(cache.missing_ranges(100..200), [100..200]);
        cache.insert(50_000, &[1; 5000]);
        assert_eq!(cache.missing_ranges(50_000..55_000), [], "larger than all, but what is wanted now");
    }

    proptest::proptest! {
        #[test]
        fn copy_never_returns_wrong_bytes(parts in proptest::collection::vec((0u64..500, 1u64..80), 1..60), most in 100u64..3000) {
            let mut cache = MemoryCache::new(most);
            let byte = |at: u64| (at * 7 + at / 256) as u8;
            for (start, len) in parts {
                let mut into = vec![0; len as usize];
                let missing = cache.copy_cached(start, &mut into);
                for (at, got) in (start..).zip(&into) {
                    if !missing.iter().any(|range| range.contains(&at)) {
                        proptest::prop_assert_eq!(*got, byte(at));
                    }
                }
                cache.insert(start, &(start..start + len).map(byte).collect::<Vec<_>>());
            }
        }
    }
}
