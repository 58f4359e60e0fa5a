//! Runs the test programs of the workspace, two at a time.
//!
//! `cargo test` runs one after the other. Many of them wait for a disk, a shell or a clock, so that a second one finds time.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::Instant;

use crate::command::{linting_cargo, repository_root, run};

/// The number of programs that run at the same time. Each of them has a thread for each processor.
const PARALLEL_PROGRAMS: usize = 2;

/// A compiled test program.
#[derive(Debug, PartialEq, Eq)]
struct Program {
    /// The folder of its package, in which cargo runs it.
    folder: PathBuf,
    executable: PathBuf,
    /// The file that it is made from, for the reader.
    source: String,
}

/// Builds all test programs, runs them without the tests whose name holds one of `skipped`, and then the documentation tests.
pub(crate) fn run_all(skipped: &[&str], environment: &[(&str, String)]) -> Result<(), String> {
    let programs = build_test_programs()?;
    let (queue, failures) = (Mutex::new(programs.iter()), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..PARALLEL_PROGRAMS {
            scope.spawn(|| {
                loop {
                    let Some(program) = queue.lock().ok().and_then(|mut queue| queue.next()) else { return };
                    if let Err(failure) = run_one(program, skipped, environment)
                        && let Ok(mut failures) = failures.lock()
                    {
                        failures.push(failure);
                    }
                }
            });
        }
    });
    let mut failures = failures.into_inner().map_err(|_| "a lane stopped")?;
    if let Err(failure) = run(linting_cargo(["test", "--locked", "--workspace", "--doc"]).envs(environment.iter().cloned())) {
        failures.push(failure);
    }
    if failures.is_empty() { Ok(()) } else { Err(failures.join("; ")) }
}

/// Runs one program, prints its output in one piece, and fails if one of its tests fails.
fn run_one(program: &Program, skipped: &[&str], environment: &[(&str, String)]) -> Result<(), String> {
    let start = Instant::now();
    let mut command = Command::new(&program.executable);
    command
        .args(skipped.iter().flat_map(|name| ["--skip", name]))
        .current_dir(&program.folder)
        .env("CARGO_MANIFEST_DIR", &program.folder);
    let output = command.envs(environment.iter().cloned()).stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("{}: {error}", program.executable.display()))?;
    println!(
        "\n{} ({:.1} s)\n{}{}",
        program.source,
        start.elapsed().as_secs_f64(),
        String::from_utf8_lossy(&output.stdout).trim(),
        String::from_utf8_lossy(&output.stderr),
    );
    if output.status.success() { Ok(()) } else { Err(format!("{} ended with {}", program.source, output.status)) }
}

/// Builds the test programs, and the command that many of them run.
fn build_test_programs() -> Result<Vec<Program>, String> {
    let mut command =
        linting_cargo(["test", "--locked", "--workspace", "--no-run", "--message-format", "json-render-diagnostics"]);
    let output = command.stderr(Stdio::inherit()).output().map_err(|error| format!("cargo test --no-run: {error}"))?;
    if !output.status.success() {
        return Err(format!("`cargo test --no-run` ended with {}", output.status));
    }
    let programs: Vec<Program> = String::from_utf8_lossy(&output.stdout).lines().filter_map(parse_test_program).collect();
    if programs.is_empty() { Err("cargo names no test program".to_owned()) } else { Ok(programs) }
}

/// The test program that a message of cargo names, if it names one.
fn parse_test_program(message: &str) -> Option<Program> {
    let is_test = message.contains(r#""reason":"compiler-artifact""#) && message.contains(r#""test":true},"features""#);
    let executable = find_json_string(message, "executable").filter(|_| is_test)?;
    let folder = Path::new(&find_json_string(message, "manifest_path")?).parent()?.to_owned();
    let source = find_json_string(message, "src_path")?;
    let source = Path::new(&source).strip_prefix(repository_root()).map_or(source.clone(), |path| path.display().to_string());
    Some(Program { folder, executable: executable.into(), source })
}

/// The value of a key whose value is a string, in a JSON document where each such key occurs once. Paths need no escape but the backslash.
fn find_json_string(message: &str, key: &str) -> Option<String> {
    let (_, rest) = message.split_once(&format!(r#""{key}":""#))?;
    Some(rest.split_once('"')?.0.replace(r"\\", r"\"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cargo_messages_yield_test_executables() {
        let message = |test, executable| {
            format!(
                r#"{{"reason":"compiler-artifact","package_id":"p","manifest_path":"/r/c/Cargo.toml","target":{{"kind":["test"],"crate_types":["bin"],"name":"cases","src_path":"/r/c/tests/cases.rs","edition":"2024","doc":false,"doctest":false,"test":true}},"profile":{{"opt_level":"0","debuginfo":1,"debug_assertions":true,"overflow_checks":true,"test":{test}}},"features":[],"filenames":["/t/cases-1"],"executable":{executable},"fresh":true}}"#
            )
        };
        let found = parse_test_program(&message(true, r#""/t/cases-1""#));
        let expected =
            Program { folder: "/r/c".into(), executable: "/t/cases-1".into(), source: "/r/c/tests/cases.rs".to_owned() };
        assert_eq!(found, Some(expected));
        assert_eq!(parse_test_program(&message(false, r#""/t/trilith""#)), None);
        assert_eq!(parse_test_program(&message(true, "null")), None);
        assert_eq!(parse_test_program(r#"{"reason":"build-finished","success":true}"#), None);
    }
}
