//! The fuzz targets: five seconds each in `test`, longer by `cargo xtask fuzz`.
//!
//! Each begins with seeds, small files that the library's own writer makes (`examples/fuzz_seeds.rs`), of which
//! only those are kept that reach code no other reaches; and with a dictionary where `fuzz/README.md` names one.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::command::{build_seeds, nightly_tool, repository_root, run, run_for_output, target_dir};
use crate::fs;
use crate::interop::full_environment;
use crate::test::{PartOutcome, TierSelection};

/// Builds every target and runs each for five seconds.
pub(crate) fn run_smoke_test(_: TierSelection) -> Result<PartOutcome, String> {
    let cargo_fuzz = match cargo_fuzz() {
        Ok(path) => path,
        Err(reason) => return Ok(PartOutcome::Skipped(reason)),
    };
    // A fixed seed gives the same inputs on every run, so the result does not depend on chance. `cargo xtask fuzz` finds bugs.
    run_targets(&cargo_fuzz, &list_targets()?, 5, Some(1))?;
    Ok(PartOutcome::Passed)
}

/// Builds every target at a low priority and without a word, for [`run_smoke_test`] to find them built: that says what is wrong.
pub(crate) fn build_beside() {
    let Ok(cargo_fuzz) = cargo_fuzz() else { return };
    let build = fuzz_command(&cargo_fuzz, &["build"]);
    let mut calm = Command::new("nice");
    calm.arg("-n10").arg(build.get_program()).args(build.get_args()).current_dir(repository_root());
    for (name, value) in build.get_envs() {
        calm.env(name, value.unwrap_or_default());
    }
    let _ = run_for_output(&mut calm);
}

/// `cargo fuzz` with these words, the first of which is its own command.
fn fuzz_command(cargo_fuzz: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(cargo_fuzz);
    command
        .current_dir(repository_root())
        .env("RUSTUP_TOOLCHAIN", "nightly")
        .args(words.iter().take(1))
        .args(["--fuzz-dir", "fuzz"]);
    command.args(words.iter().skip(1));
    crate::sanitize::set_c_flags(&mut command);
    command
}

/// `cargo xtask fuzz [--minutes N] [TARGET…]`: the minutes are shared by the targets.
pub(crate) fn run_fuzzing(arguments: &[String]) -> Result<(), String> {
    let mut minutes = 10.0;
    let mut chosen = Vec::new();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--minutes" => {
                let value = words.next().ok_or("--minutes needs a number")?;
                minutes = value.parse().map_err(|_| format!("--minutes {value}: not a number"))?;
            }
            name => chosen.push(name.to_owned()),
        }
    }
    let known = list_targets()?;
    if let Some(unknown) = chosen.iter().find(|name| !known.contains(name)) {
        return Err(format!("no target {unknown:?}; there are {}", known.join(", ")));
    }
    let chosen = if chosen.is_empty() { known } else { chosen };
    let seconds = (minutes * 60.0 / chosen.len().max(1) as f64).max(1.0) as u64;
    run_targets(&cargo_fuzz()?, &chosen, seconds, None)
}

fn run_targets(cargo_fuzz: &Path, targets: &[String], seconds: u64, seed: Option<u32>) -> Result<(), String> {
    run(&mut fuzz_command(cargo_fuzz, &["build"]))?;
    let seeds = target_dir().join("fuzz-seeds");
    run(Command::new(build_seeds()?).arg(&seeds))?;
    if seed.is_none() && targets.iter().any(|name| ["foreign", "hdf5"].contains(&name.as_str())) {
        match full_environment() {
            Ok(python) => run(Command::new(python).arg(repository_root().join("fuzz/foreign_seeds.py")).arg(&seeds))?,
            Err(reason) => println!("no seeds of other formats: {reason}"),
        }
    }
    // A target runs on one processor. Longer runs are for one person at one target, who reads what it prints.
    let lanes = if seed.is_some() { std::thread::available_parallelism().map_or(1, usize::from) } else { 1 };
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..lanes {
            scope.spawn(|| {
                while let Some(name) = targets.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(reason) = run_target(cargo_fuzz, name, &seeds, seconds, seed) {
                        let reason = format!("{name}: {reason}; the input is in fuzz/artifacts/{name}");
                        failed.lock().unwrap_or_else(PoisonError::into_inner).push(reason);
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
    if failed.is_empty() { Ok(()) } else { Err(failed.join("\n")) }
}

/// Runs one target, which is built, on the seeds that reach more code than its corpus.
fn run_target(cargo_fuzz: &Path, name: &str, seeds: &Path, seconds: u64, seed: Option<u32>) -> Result<(), String> {
    let fuzz = |words: &[&str]| fuzz_command(cargo_fuzz, words);
    let (corpus, own) = (repository_root().join("fuzz/corpus").join(name), seeds.join(name));
    if own.is_dir() {
        fs::ensure_dir_exists(&corpus)?;
        run(fuzz(&["run", name]).arg(&corpus).arg(&own).args(["--", "-merge=1", "-verbosity=0"]))?;
    }
    let mut command = fuzz(&["run", name, "--"]);
    command.args([
        &format!("-max_total_time={seconds}"),
        // Seconds by the clock: a busy machine is slow, not at fault.
        "-timeout=30",
        "-rss_limit_mb=4096",
        // Memory that a thread keeps is taken for lost while the thread ends.
        "-detect_leaks=0",
        "-print_final_stats=1",
        "-verbosity=0",
    ]);
    if let Some(seed) = seed {
        command.arg(format!("-seed={seed}"));
    }
    if let Some(words) = find_dictionary(name) {
        command.arg(format!("-dict={}", words.display()));
    }
    run(&mut command)
}

/// Returns the dictionary of a target's inputs: that of its name, or of the format that it reads.
fn find_dictionary(name: &str) -> Option<PathBuf> {
    let format = match name {
        "open" | "blocks" | "index" | "chains" | "external" | "repair" => "asdf",
        "tree" | "edits" | "schema" | "yaml" => "yaml",
        "layout_resolve" | "bd" | "grid" => "layout",
        own => own,
    };
    let words = repository_root().join("fuzz/dictionaries").join(format!("{format}.dict"));
    words.exists().then_some(words)
}

/// The names of the targets: the files of `fuzz/targets`.
fn list_targets() -> Result<Vec<String>, String> {
    let folder = repository_root().join("fuzz/targets");
    let entries = std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut names: Vec<String> =
        entries.flatten().filter_map(|entry| entry.file_name().to_str()?.strip_suffix(".rs").map(str::to_owned)).collect();
    names.sort();
    Ok(names)
}

fn cargo_fuzz() -> Result<PathBuf, String> {
    nightly_tool("cargo-fuzz", "^0.13")
}
