//! The wheel and the source distribution of the Python package, each installed into a separate environment.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Place, readme, third_party};
use crate::command::{base_python, root, run, target};
use crate::fs::{copy, empty};
use crate::python::{build, documented, maturin};

/// Maximum size of a wheel with the command.
const MOST_BYTES: u64 = 12_000_000;

fn package() -> PathBuf {
    root().join("crates/trilith-py")
}

pub(super) fn wheel(place: &Place) -> Result<Vec<PathBuf>, String> {
    // `license-files` of pyproject.toml takes it into the wheel.
    third_party::licences("trilith-py", &package().join("LICENSE-THIRD-PARTY"))?;
    let wheel = build(&maturin()?, &package())?;
    let size = wheel.metadata().map_err(|error| format!("{}: {error}", wheel.display()))?.len();
    if size > MOST_BYTES {
        return Err(format!("the wheel has {size} bytes, more than {MOST_BYTES}"));
    }
    kept(place, &wheel)
}

pub(super) fn sdist(place: &Place) -> Result<Vec<PathBuf>, String> {
    let folder = target().join("dist-made/sdist");
    empty(&folder)?;
    let python = maturin()?;
    let mut maturin = Command::new(&python);
    maturin.current_dir(package()).args(["-m", "maturin", "sdist", "--out"]).arg(&folder);
    documented(&python, &package(), &mut maturin)?;
    kept(place, &folder.join(format!("trilith-{}.tar.gz", place.version)))
}

fn kept(place: &Place, file: &Path) -> Result<Vec<PathBuf>, String> {
    let there = place.dist.join(file.file_name().unwrap_or_default());
    copy(file, &there)?;
    Ok(vec![there])
}

/// Installs it as pip does, which builds a source distribution outside the repository.
pub(super) fn try_out(_: &Place, files: &[PathBuf], fresh: &Path) -> Result<(), String> {
    let environment = fresh.join("environment");
    run(Command::new(base_python()).args(["-m", "venv"]).arg(&environment))?;
    let bin = environment.join(if cfg!(windows) { "Scripts" } else { "bin" });
    let python = bin.join(format!("python{}", std::env::consts::EXE_SUFFIX));
    let mut install = Command::new(&python);
    // The code compiled for the wheel is compiled for this.
    install.current_dir(fresh).env("CARGO_TARGET_DIR", target());
    run(install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(files))?;
    readme::command_lines(&bin, &fresh.join("command"))?;
    readme::python(&python, &fresh.join("python"))
}
