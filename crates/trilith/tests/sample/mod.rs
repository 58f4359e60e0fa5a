//! Random samples of what takes long when it is complete.
//!
//! The first tier of `cargo xtask test` sets `TRILITH_SAMPLE` to the seed of its samples. Everywhere else all cases run.

#![allow(dead_code, reason = "each test program uses a part of it")]

use std::sync::Mutex;

/// Returns the seed of the samples, or None where all cases run.
pub fn seed() -> Option<u64> {
    std::env::var("TRILITH_SAMPLE").ok()?.parse().ok()
}

/// Returns `true` if samples run instead of all cases.
pub fn is_sampled() -> bool {
    seed().is_some()
}

/// The samples whose figures are printed.
static SAID: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Returns one in `one_in` of the cases, at least one and in their order, or all where all cases run.
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
