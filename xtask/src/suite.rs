//! `cargo xtask test`: every check there is, part by part, with a table at the end.

use std::time::{Duration, Instant};

use crate::shell::{cargo, in_ci, root, run, shared};
use crate::{c, fuzz, interop, python, remote, site, wasm, web};

/// How a part ended, other than by failing.
pub enum Done {
    Passed,
    /// Could not be run here. In continuous integration this is a failure.
    Skipped(String),
    /// Needs `../shared`, which a newcomer does not have: never a failure.
    NoShared,
}

type Part = fn() -> Result<Done, String>;

const PARTS: &[(&str, Part)] = &[
    ("format", format),
    ("lints", lints),
    ("tests", tests),
    ("corpus", corpus),
    ("documentation", documentation),
    ("site", site::site),
    ("features", features),
    ("interop", interop::interop),
    ("python", python::python),
    ("remote", remote::remote),
    ("c", c::c),
    ("wasm", wasm::wasm),
    ("browser", web::browser),
    ("fuzz", fuzz::smoke),
];

/// Runs all parts, or those that are named, and says at the end what passed, failed and was skipped.
pub fn test(names: &[String]) -> Result<(), String> {
    if let Some(unknown) = names.iter().find(|name| PARTS.iter().all(|(part, _)| part != name)) {
        let known: Vec<&str> = PARTS.iter().map(|(part, _)| *part).collect();
        return Err(format!("no part {unknown:?}; there are {}", known.join(", ")));
    }
    let is_chosen = |part: &str| names.is_empty() || names.iter().any(|name| name == part);
    let (mut rows, mut beside) = (Vec::new(), None);
    for (name, part) in PARTS.iter().filter(|(part, _)| is_chosen(part)) {
        println!("\n==== {name} ====");
        let start = Instant::now();
        // The remote files and the browser are waited for more than computed with, and the fuzz targets take long to build.
        if ["remote", "browser"].contains(name) && is_chosen("fuzz") && beside.is_none() {
            beside = Some(std::thread::spawn(fuzz::build_beside));
        }
        if *name == "fuzz"
            && let Some(built) = beside.take()
        {
            let _ = built.join();
        }
        let outcome = match part() {
            Ok(Done::Skipped(reason)) if in_ci() => Err(format!("could not run, and CI is set: {reason}")),
            outcome => outcome,
        };
        if let Err(reason) = &outcome {
            println!("failed: {reason}");
        }
        rows.push((*name, outcome, start.elapsed()));
    }
    report(&rows)
}

/// Prints the table; the last line counts the parts.
fn report(rows: &[(&str, Result<Done, String>, Duration)]) -> Result<(), String> {
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    println!("\n==== summary ====");
    for (name, outcome, time) in rows {
        let (count, word, reason) = match outcome {
            Ok(Done::Passed) => (&mut passed, "passed", ""),
            Ok(Done::Skipped(reason)) => (&mut skipped, "skipped", reason.as_str()),
            Ok(Done::NoShared) => (&mut skipped, "skipped", "no ../shared/corpus beside the repository"),
            Err(reason) => (&mut failed, "failed", reason.as_str()),
        };
        *count += 1;
        println!("{name:<14} {word:<8} {:>7.1} s  {reason}", time.as_secs_f64());
    }
    println!("{passed} passed, {failed} failed, {skipped} skipped");
    if failed == 0 { Ok(()) } else { Err(format!("{failed} of {} parts failed", rows.len())) }
}

fn format() -> Result<Done, String> {
    run(&mut cargo(["fmt", "--all", "--check"]))?;
    Ok(Done::Passed)
}

fn lints() -> Result<Done, String> {
    run(&mut cargo(["clippy", "--locked", "--workspace", "--all-targets", "--", "-D", "warnings"]))?;
    Ok(Done::Passed)
}

/// Unit, property, golden and documentation tests, the floors and the tidy rules. Tests whose name
/// holds `corpus_` are the part [`corpus`].
fn tests() -> Result<Done, String> {
    run(&mut cargo(["test", "--locked", "--workspace", "--", "--skip", "corpus_"]))?;
    Ok(Done::Passed)
}

/// Everything that is compared with the sample files of `../shared/corpus`.
fn corpus() -> Result<Done, String> {
    let mut command = cargo(["test", "--locked", "--workspace", "--lib", "--bins", "--tests", "--", "corpus_", "--nocapture"]);
    if let Some(shared) = shared() {
        run(command.env("TRILITH_SHARED", shared))?;
        return Ok(Done::Passed);
    }
    run(&mut command)?; // what needs the samples skips itself; nothing else may hide behind the name
    Ok(Done::NoShared)
}

fn documentation() -> Result<Done, String> {
    // The command has the library's name, so their pages would overwrite each other: library only.
    run(cargo(["doc", "--locked", "--package", "trilith", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings"))?;
    Ok(Done::Passed)
}

/// The library without features, with each one alone, and with all.
fn features() -> Result<Done, String> {
    let manifest = root().join("crates/trilith/Cargo.toml");
    let text = std::fs::read_to_string(&manifest).map_err(|error| format!("{}: {error}", manifest.display()))?;
    let names = feature_names(&text);
    let single = names.iter().filter(|name| *name != "default").map(String::as_str);
    for features in std::iter::once("").chain(single).chain([names.join(",").as_str()]) {
        let mut command = cargo(["clippy", "--locked", "--package", "trilith", "--lib", "--no-default-features"]);
        run(command.args(["--features", features, "--", "-D", "warnings"]))?;
    }
    Ok(Done::Passed)
}

/// The names in the `[features]` table of a manifest.
fn feature_names(manifest: &str) -> Vec<String> {
    let table = manifest.lines().skip_while(|line| line.trim() != "[features]").skip(1);
    table
        .take_while(|line| !line.starts_with('['))
        .filter_map(|line| line.split_once('=').map(|(name, _)| name.trim().to_owned()))
        .filter(|name| !name.is_empty() && !name.starts_with('#'))
        .collect()
}

/// Writes the expected outputs of the cases again, and the tables of what is refused and of what conforms.
pub fn bless(_: &[String]) -> Result<(), String> {
    run(cargo(["test", "--package", "trilith-cli", "--test", "cases", "--test", "writes", "--test", "conformance"])
        .env("BLESS", "1"))?;
    run(cargo(["test", "--package", "trilith", "--test", "interface"]).env("BLESS", "1"))?;
    println!("the expected outputs are written; `git diff tests/cases docs crates/trilith/interface.txt` shows what changed");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::feature_names;

    #[test]
    fn features_are_read_from_the_manifest() {
        let manifest =
            "[package]\nname = \"x\"\n[features]\ndefault = [\"a\"]\n# why = 1\na = [\"dep:a\"]\n\n[dependencies]\nb = \"1\"\n";
        assert_eq!(feature_names(manifest), ["default", "a"]);
    }
}
