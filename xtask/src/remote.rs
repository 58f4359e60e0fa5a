//! Remote files: real servers and emulators on loopback, and the tests that ask them.

use std::path::PathBuf;
use std::process::Command;

use crate::command::{build_program, repository_root, run, target_dir};
use crate::interop::{full_environment, pytest_on_all_cores};
use crate::python;
use crate::test::{PartOutcome, TierSelection};

/// Runs the tests of `tests/remote` against nginx, or our own server if that is missing, a proxy that breaks
/// answers, and emulators of object stores: moto, Azurite, gcp-storage-emulator.
pub(crate) fn run_remote_tests(_: TierSelection) -> Result<PartOutcome, String> {
    let python = match full_environment() {
        Ok(python) => python,
        Err(reason) => return Ok(PartOutcome::Skipped(reason)),
    };
    let program = build_program()?;
    python::install_development_package(&python)?;
    let folder = repository_root().join("tests/remote");
    let mut tests = pytest_on_all_cores(&python);
    tests
        .current_dir(target_dir())
        .env("TRILITH_BIN", program)
        .env("AZURITE", install_azurite()?)
        .arg("--rootdir")
        .arg(&folder)
        .arg(&folder);
    run(&mut tests)?;
    Ok(PartOutcome::Passed)
}

/// Returns the folder in which Azurite is installed, by npm if it is not there yet. Later versions need a newer Node.
fn install_azurite() -> Result<PathBuf, String> {
    let folder = target_dir().join("azurite");
    if !folder.join("node_modules/.bin/azurite-blob").exists() {
        let mut install = Command::new("npm");
        install.args(["install", "--silent", "--no-audit", "--no-fund", "--prefix"]).arg(&folder).arg("azurite@3.35.0");
        run(&mut install)?;
    }
    Ok(folder)
}
