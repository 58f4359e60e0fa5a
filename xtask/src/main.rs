//! Development tasks: `cargo xtask help` lists them.
//!
//! One table: name, function, help line. Every job of continuous integration is one of these tasks,
//! so whatever runs there runs on a developer's machine by the same words.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a task talks to the person who runs it")]
#![allow(clippy::disallowed_methods, reason = "the rule is for the library, which must not open files on its own")]

mod bench;
mod bench_compare;
mod c;
mod campaign;
mod command;
mod emulate;
mod fs;
mod fuzz;
mod interface;
mod interop;
mod names;
mod package;
mod peers;
mod prose_lint;
mod python;
mod remote;
mod sanitize;
mod site;
mod test;
mod test_binaries;
mod wasm;
mod web;

use std::process::ExitCode;

/// A task: it takes the arguments after its name.
type Task = fn(&[String]) -> Result<(), String>;

const TASKS: &[(&str, Task, &str)] = &[
    (
        "test",
        test::run_test_parts,
        "the first tier, in ten minutes; --all: everything; --rest: what the first tier left out; PART…: these, whole; --seed N: \
         other samples",
    ),
    ("bless", test::bless_outputs, "write the expected outputs of tests/cases again; read the diff before you commit it"),
    ("fuzz", fuzz::run_fuzzing, "run the fuzz targets: [--minutes N] [TARGET…]"),
    (
        "campaign",
        campaign::run_campaign,
        "a large random test, run once, with a report in target/campaigns: NAME [--cases N] [--seed N]; without NAME the list of them",
    ),
    ("sanitize", sanitize::run_sanitized_tests, "the tests of maps and codecs under AddressSanitizer (nightly): [FILTER…]"),
    (
        "bench",
        bench::run_benchmarks,
        "compare with the peers on files made for it: [--json] [--small] [--runs N] [--callgrind] [GROUP…|WORK…]; \
         or with another commit: --against COMMIT [--at-least RATIO] [--small] [--runs N]",
    ),
    (
        "package",
        package::build_packages,
        "what a release consists of, in target/dist, each installed in a fresh place and tried: crates, archive, deb, wheel, sdist, c \
         [--no-try] [PART…]",
    ),
    (
        "notes",
        package::print_release_notes,
        "what the changelog says of a version, after comparing where versions are written: VERSION",
    ),
    (
        "peers",
        peers::run_peer_suites,
        "the test suites of packages that build on asdf, with Trilith and without: [--plain-from-last] [SUITE…]",
    ),
    (
        "emulate",
        emulate::run_emulated_tests,
        "the library's tests and the digests of all sample files on another kind of processor, by qemu: s390x-unknown-linux-gnu \
         (big-endian), i686-unknown-linux-gnu (32 bits)",
    ),
    ("docs", site::build_docs, "build the documentation site in target/site and check its links"),
    ("web", web::build_web_viewer, "the viewer without a server, as a folder of static files: [FOLDER]"),
    ("help", print_help, "this list"),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (name, rest) = match arguments.split_first() {
        Some((name, rest)) => (name.as_str(), rest),
        None => ("help", &[][..]),
    };
    let name = if matches!(name, "-h" | "--help") { "help" } else { name };
    let Some((_, task, _)) = TASKS.iter().find(|(known, ..)| *known == name) else {
        eprintln!("xtask: no task {name:?}; `cargo xtask help` lists them");
        return ExitCode::from(2);
    };
    match task(rest) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask {name}: {message}");
            ExitCode::FAILURE
        }
    }
}

fn print_help(_: &[String]) -> Result<(), String> {
    println!("cargo xtask TASK\n");
    for (name, _, line) in TASKS {
        println!("  {name:<8} {line}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{TASKS, command::repository_root};

    #[test]
    fn workflows_name_tasks_that_exist() {
        let folder = repository_root().join(".github/workflows");
        let mut called = 0;
        for name in ["test.yml", "release.yml"] {
            let text = std::fs::read_to_string(folder.join(name)).unwrap_or_default();
            for task in text.split("cargo xtask ").skip(1).filter_map(|rest| rest.split_whitespace().next()) {
                assert!(
                    TASKS.iter().any(|(known, ..)| *known == task),
                    "{name} calls `cargo xtask {task}`, which does not exist"
                );
                called += 1;
            }
        }
        assert!(called > 5, "only {called} calls were found");
    }
}
