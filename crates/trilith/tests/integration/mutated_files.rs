//! Files of other formats with bytes that were changed: they are read or refused, and no process ends.
//!
//! `TRILITH_CAMPAIGN` is the number of files, `TRILITH_CAMPAIGN_SEED` the seed and `TRILITH_SEEDS` a folder with more files to change.
//! `cargo xtask campaign mutations --cases N` sets the first two.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test may stop, and looks at files as others do")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use trilith::bytes::{MemorySource, NoReferences};
use trilith::{Limits, OpenOptions};

/// Files that are changed, of each format whose layout is derived from metadata of several levels.
const SEEDS: &[&str] = &["arrays.npz", "one.npy", "page.tif", "run.h5", "t3.nc", "t4.nc"];

/// Values that are at an edge of something.
const EDGES: &[u8] = &[0, 1, 2, 4, 8, 0x10, 0x20, 0x40, 0x7f, 0x80, 0xfe, 0xff];

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }
}

/// Returns the bytes with one to eight changes.
fn mutated(seed: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for _ in 0..=random.below(8) {
        let at = random.below(bytes.len());
        match random.below(8) {
            0 => bytes[at] ^= 1 << random.below(8),
            1 | 2 => bytes[at] = EDGES[random.below(EDGES.len())],
            3 => bytes[at] = random.next() as u8,
            4 => {
                // A number of several bytes.
                let (len, byte) = (1 << random.below(4), EDGES[random.below(EDGES.len())]);
                bytes.iter_mut().skip(at).take(len).for_each(|place| *place = byte);
            }
            5 => {
                // Bytes of another place.
                let (from, len) = (random.below(bytes.len()), 1 + random.below(16));
                let block: Vec<u8> = bytes.iter().skip(from).take(len).copied().collect();
                bytes.iter_mut().skip(at).zip(block).for_each(|(to, from)| *to = from);
            }
            6 if random.below(4) == 0 => bytes.truncate(at.max(1)),
            _ => {
                let place = &mut bytes[at];
                *place = place.wrapping_add(if random.below(2) == 0 { 1 } else { 255 });
            }
        }
    }
    bytes
}

fn limits() -> Limits {
    let mut limits = Limits::default();
    for assignment in ["memory=64M", "nodes=20000", "text=1M", "ratio=1000", "items=20000", "work=64M"] {
        limits.set(assignment).unwrap();
    }
    limits
}

/// Reads all of a file: its layout, its items with their attributes, and its arrays.
fn read_all(bytes: Vec<u8>) {
    let source = Arc::new(MemorySource::new(bytes, "mutated"));
    let Ok(file) = OpenOptions::new().limits(limits()).open_source(source, Arc::new(NoReferences)) else { return };
    let _ = file.digest();
    let root = file.root();
    let mut walk = root.walk();
    while let Ok(Some(entry)) = walk.try_next() {
        let _ = entry.item.header().attributes();
        let _ = entry.item.axes();
        if let Ok(array) = entry.item.array() {
            let _ = array.masked_count();
        }
    }
}

#[test]
fn mutated_files_are_read_or_refused() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/compatibility/51ec5374");
    let mut paths: Vec<PathBuf> = SEEDS.iter().map(|name| folder.join(name)).collect();
    if let Some(more) = std::env::var_os("TRILITH_SEEDS") {
        let mut found: Vec<PathBuf> = std::fs::read_dir(more).unwrap().map(|entry| entry.unwrap().path()).collect();
        found.sort();
        paths.extend(found);
    }
    let seeds: Vec<Vec<u8>> = paths.iter().map(|path| std::fs::read(path).unwrap()).collect();
    let (count, first) = (number("TRILITH_CAMPAIGN").unwrap_or(600), number("TRILITH_CAMPAIGN_SEED").unwrap_or(1));
    let next = AtomicU64::new(0);
    let work = || {
        loop {
            let case = next.fetch_add(1, Ordering::Relaxed);
            if case >= count {
                return;
            }
            let mut random = Random(first.wrapping_mul(0x0100_0000_01b3).wrapping_add(case));
            let seed = &seeds[case as usize % seeds.len()];
            let bytes = mutated(seed, &mut random);
            let failed = std::panic::catch_unwind(|| read_all(bytes.clone())).is_err();
            assert!(
                !failed,
                "case {case} of seed {first}: {} changed so: {bytes:02x?}",
                paths[case as usize % paths.len()].display()
            );
        }
    };
    std::thread::scope(|scope| (0..2).for_each(|_| drop(scope.spawn(work))));
}
