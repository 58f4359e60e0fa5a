//! `cargo xtask bench`: the same work by the peers and by Trilith, in turns, on files made for it.
//!
//! The measuring itself is `bench/harness.py`, with one file of works next to it for each group:
//! Python's `os.wait4` tells the CPU time and the peak memory of each process, for which the standard
//! library here has no words.

use std::process::Command;

use crate::command::{RELEASE_PROFILE, base_python, cargo_command, program_path, repository_root, run, target_dir};
use crate::fs;
use crate::interop::environment_for;
use crate::python::wheel_into;

/// Builds the command as it is published and hands the arguments on.
pub(crate) fn run_benchmarks(arguments: &[String]) -> Result<(), String> {
    // The help needs no build and no installation.
    if arguments.iter().any(|word| word == "-h" || word == "--help") {
        println!(
            "with --against COMMIT [--at-least RATIO] [--small] [--runs N]: this against another commit, without Python; otherwise"
        );
        return run(Command::new(base_python()).current_dir(repository_root()).args(["-B", "xtask/bench/harness.py", "--help"]));
    }
    if arguments.iter().any(|word| word == "--against") {
        return crate::bench_compare::compare_with_commit(arguments);
    }
    let python = environment_for("bench-venv", &["xtask/bench/requirements.txt"])?;
    // The output may be a document for another program: messages of cargo go elsewhere.
    let built =
        cargo_command(["build", "--locked", "--quiet", "--profile", RELEASE_PROFILE, "--package", "trilith-cli"]).status();
    if !built.is_ok_and(|status| status.success()) {
        return Err("the command could not be built".to_owned());
    }
    // The package takes minutes to build; what another group needs, it does not.
    let wheel = |word: &String| {
        ["cluster", "fits-", "opening", "python", "remote", "update", "values", "zarr"]
            .iter()
            .any(|group| word.starts_with(group))
    };
    if arguments.iter().all(|word| word.starts_with('-')) || arguments.iter().any(wheel) {
        wheel_into(&python)?;
    }
    let folder = target_dir().join("bench");
    fs::ensure_dir_exists(&folder)?;
    let mut measure = Command::new(python);
    measure.current_dir(repository_root()).args(["-B", "xtask/bench/harness.py"]).args(arguments);
    measure.arg("--program").arg(program_path(RELEASE_PROFILE)).arg("--folder").arg(folder);
    let status = measure.status().map_err(|error| format!("harness.py: {error}"))?;
    if status.success() { Ok(()) } else { Err("some work could not be measured".to_owned()) }
}
