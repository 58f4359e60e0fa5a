//! The fuzz targets: ten seconds each in `test`, longer by `cargo xtask fuzz`.

use std::path::PathBuf;
use std::process::Command;

use crate::shell::{cargo, output, root, run, target};
use crate::suite::Done;

/// Builds every target and runs each for ten seconds.
pub fn smoke() -> Result<Done, String> {
    let cargo_fuzz = match cargo_fuzz() {
        Ok(path) => path,
        Err(reason) => return Ok(Done::Skipped(reason)),
    };
    run_targets(&cargo_fuzz, &targets()?, 10)?;
    Ok(Done::Passed)
}

/// `cargo xtask fuzz [--minutes N] [TARGET…]`: the minutes are shared by the targets.
pub fn fuzz(arguments: &[String]) -> Result<(), String> {
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
    let known = targets()?;
    if let Some(unknown) = chosen.iter().find(|name| !known.contains(name)) {
        return Err(format!("no target {unknown:?}; there are {}", known.join(", ")));
    }
    let chosen = if chosen.is_empty() { known } else { chosen };
    let seconds = (minutes * 60.0 / chosen.len().max(1) as f64).max(1.0) as u64;
    run_targets(&cargo_fuzz()?, &chosen, seconds)
}

fn run_targets(cargo_fuzz: &PathBuf, targets: &[String], seconds: u64) -> Result<(), String> {
    let mut build = Command::new(cargo_fuzz);
    run(build.current_dir(root()).env("RUSTUP_TOOLCHAIN", "nightly").args(["build", "--fuzz-dir", "fuzz"]))?;
    let mut failed = Vec::new();
    for name in targets {
        let mut command = Command::new(cargo_fuzz);
        command.current_dir(root()).env("RUSTUP_TOOLCHAIN", "nightly").args(["run", "--fuzz-dir", "fuzz", name, "--"]);
        command.args([
            &format!("-max_total_time={seconds}"),
            "-timeout=10",
            "-rss_limit_mb=4096",
            "-print_final_stats=1",
            "-verbosity=0",
        ]);
        if let Err(reason) = run(&mut command) {
            failed.push(format!("{name}: {reason}; the input is in fuzz/artifacts/{name}"));
        }
    }
    if failed.is_empty() { Ok(()) } else { Err(failed.join("\n")) }
}

/// The names of the targets: the files of `fuzz/targets`.
fn targets() -> Result<Vec<String>, String> {
    let folder = root().join("fuzz/targets");
    let entries = std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut names: Vec<String> =
        entries.flatten().filter_map(|entry| entry.file_name().to_str()?.strip_suffix(".rs").map(str::to_owned)).collect();
    names.sort();
    Ok(names)
}

/// The program `cargo-fuzz`, installed under `target/tools` where it is missing. It needs a nightly compiler.
fn cargo_fuzz() -> Result<PathBuf, String> {
    output(Command::new("rustc").arg("+nightly").arg("--version")).map_err(|e| {
        let reason = e.lines().next().unwrap_or_default().to_owned();
        format!("no nightly compiler (`rustup toolchain install nightly`): {reason}")
    })?;
    if let Ok(place) = output(Command::new("sh").args(["-c", "command -v cargo-fuzz"])) {
        return Ok(PathBuf::from(place.trim()));
    }
    let tools = target().join("tools");
    let program = tools.join("bin/cargo-fuzz");
    if !program.exists() {
        let mut install = cargo(["install", "--locked", "--quiet", "cargo-fuzz", "--version", "^0.13", "--root"]);
        run(install.arg(&tools)).map_err(|e| format!("cargo-fuzz could not be installed: {e}"))?;
    }
    Ok(program)
}
