//! The wheel and the source distribution of the Python package, each installed into a separate environment.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{ReleasePlace, readme, third_party};
use crate::command::{base_python, repository_root, run, target_dir};
use crate::fs::{copy_file, create_empty_dir};
use crate::python::{build_wheel, maturin_environment, run_with_documented_stub};

/// Maximum size of a wheel. It contains the command, which is most of it.
const MOST_BYTES: u64 = 14_000_000;

fn package_dir() -> PathBuf {
    repository_root().join("crates/trilith-py")
}

pub(super) fn package_wheel(place: &ReleasePlace) -> Result<Vec<PathBuf>, String> {
    // `license-files` of pyproject.toml takes it into the wheel.
    third_party::write_licenses("trilith-py", &package_dir().join("LICENSE-THIRD-PARTY"))?;
    let wheel = build_wheel(&maturin_environment()?, &package_dir())?;
    let size = wheel.metadata().map_err(|error| format!("{}: {error}", wheel.display()))?.len();
    if size > MOST_BYTES {
        return Err(format!("the wheel has {size} bytes, more than {MOST_BYTES}"));
    }
    copy_to_dist(place, &wheel)
}

pub(super) fn package_sdist(place: &ReleasePlace) -> Result<Vec<PathBuf>, String> {
    let folder = target_dir().join("dist-made/sdist");
    create_empty_dir(&folder)?;
    let python = maturin_environment()?;
    let mut maturin = Command::new(&python);
    maturin.current_dir(package_dir()).args(["-m", "maturin", "sdist", "--out"]).arg(&folder);
    run_with_documented_stub(&python, &package_dir(), &mut maturin)?;
    copy_to_dist(place, &folder.join(format!("trilith-{}.tar.gz", place.version)))
}

fn copy_to_dist(place: &ReleasePlace, file: &Path) -> Result<Vec<PathBuf>, String> {
    let there = place.dist.join(file.file_name().unwrap_or_default());
    copy_file(file, &there)?;
    Ok(vec![there])
}

/// Installs it as pip does, which builds a source distribution outside the repository.
pub(super) fn try_out(_: &ReleasePlace, files: &[PathBuf], fresh: &Path) -> Result<(), String> {
    let environment = fresh.join("environment");
    run(Command::new(base_python()).args(["-m", "venv"]).arg(&environment))?;
    let bin = environment.join(if cfg!(windows) { "Scripts" } else { "bin" });
    let python = bin.join(format!("python{}", std::env::consts::EXE_SUFFIX));
    let mut install = Command::new(&python);
    // The code compiled for the wheel is compiled for this.
    install.current_dir(fresh).env("CARGO_TARGET_DIR", target_dir());
    run(install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(files))?;
    readme::command_lines(&bin, &fresh.join("command"))?;
    readme::run_python_program(&python, &fresh.join("python"))
}
