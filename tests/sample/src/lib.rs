//! Random samples of what takes long when it is complete.
//!
//! Plain `cargo test` runs samples, always the same. `TRILITH_SAMPLE` is the seed of other ones, or `all`: the first tier of
//! `cargo xtask test` sets a seed, and everything else that `cargo xtask` runs sets `all`.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// Returns the seed of the samples, or None if all cases run.
pub fn seed() -> Option<u64> {
    match std::env::var("TRILITH_SAMPLE") {
        Ok(all) if all == "all" => None,
        // A name of samples is as good a seed as a number.
        Ok(seed) => Some(seed.parse().unwrap_or_else(|_| seed.bytes().fold(1, |sum, byte| sum * 31 % 65_521 + u64::from(byte)))),
        Err(_) => Some(1),
    }
}

/// Returns `true` if samples run instead of all cases.
pub fn is_sampled() -> bool {
    seed().is_some()
}

/// The samples whose figures are printed.
static SAID: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Returns one in `one_in` of the cases, at least one and in their order, or all if all cases run.
pub fn sample<T>(name: &str, all: Vec<T>, one_in: usize) -> Vec<T> {
    let Some(seed) = seed() else { return all };
    let mut state = name.bytes().fold(seed, |state, byte| state.wrapping_mul(31).wrapping_add(byte.into()));
    // SplitMix64.
    let mut random = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    let count = all.len().div_ceil(one_in);
    let mut drawn: Vec<(u64, usize, T)> = all.into_iter().enumerate().map(|(at, case)| (random(), at, case)).collect();
    drawn.sort_by_key(|(key, ..)| *key);
    if let Ok(mut said) = SAID.lock()
        && !said.iter().any(|known| known == name)
    {
        said.push(name.to_owned());
        let figure =
            format!("sample of the {name}: {count} of {} cases, seed {seed}; all: cargo xtask test --all\n", drawn.len());
        // The harness keeps back what `eprintln!` says.
        let _ = std::io::Write::write_all(&mut std::io::stderr(), figure.as_bytes());
    }
    drawn.truncate(count);
    drawn.sort_by_key(|(_, at, _)| *at);
    drawn.into_iter().map(|(.., case)| case).collect()
}

/// Returns the folder `corpus` of `TRILITH_SHARED`, or of the folder `shared` next to the repository, if it is there.
pub fn corpus() -> Option<PathBuf> {
    let given = std::env::var_os("TRILITH_SHARED").map(PathBuf::from);
    let near = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().map(|folder| folder.join("shared"));
    let found = given.into_iter().chain(near).map(|shared| shared.join("corpus")).find(|corpus| corpus.is_dir());
    if found.is_none() {
        let _ = std::io::Write::write_all(&mut std::io::stderr(), b"skipped: ../shared/corpus is not there\n");
    }
    found
}

/// Returns the name and the YAML text of each sample file with a tree.
#[allow(clippy::unwrap_used, reason = "a test may stop here")]
pub fn corpus_trees() -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut folders = Vec::from_iter(corpus());
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            if path.extension().is_some_and(|ending| ending == "md") {
                continue;
            }
            #[expect(clippy::disallowed_methods, reason = "a test reads its own material")]
            let bytes = std::fs::read(&path).unwrap();
            let end = bytes.windows(5).position(|w| w == b"\n...\n").map_or(bytes.len(), |at| at + 5);
            if let (Some(b'#' | b'%'), Ok(text)) = (bytes.first(), std::str::from_utf8(&bytes[..end])) {
                // The first line of the oldest generations is no YAML.
                let text = if text.starts_with('%') { text.split_once('\n').map_or("", |(_, rest)| rest) } else { text };
                found.push((path.display().to_string(), text.to_owned()));
            }
        }
    }
    found
}
