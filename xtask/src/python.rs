//! The Python package: its wheel, built and installed into an environment of its own under `target/`,
//! and the tests that run there.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::interop::environment_for;
use crate::shell::{root, run, shared, target};
use crate::suite::Done;

/// Builds the wheel, installs it and runs the tests of the package.
pub fn python() -> Result<Done, String> {
    let package = root().join("crates/trilith-py");
    let python = match environment_for("python-venv", &package.join("tests/requirements.txt")) {
        Ok(python) => python,
        Err(reason) => return Ok(Done::Skipped(reason)),
    };
    let wheel = build(&python, &package)?;
    let mut install = Command::new(&python);
    install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--force-reinstall"]);
    run(install.arg(&wheel))?;
    let mut tests = Command::new(&python);
    // Not from the package's folder, so that what is tested is what was installed.
    tests.current_dir(target()).env("PYTHONDONTWRITEBYTECODE", "1");
    tests.args(["-m", "pytest", "--quiet", "-p", "no:cacheprovider", "--rootdir"]).arg(&package).arg(package.join("tests"));
    if let Some(shared) = shared() {
        tests.env("TRILITH_SHARED", shared);
    }
    run(&mut tests)?;
    Ok(Done::Passed)
}

/// The wheel, as the development profile builds it.
fn build(python: &Path, package: &Path) -> Result<PathBuf, String> {
    let folder = target().join("wheels-dev");
    let _ = std::fs::remove_dir_all(&folder); // whatever an earlier run left
    let mut maturin = Command::new(python);
    maturin.current_dir(package).args(["-m", "maturin", "build", "--locked", "--quiet", "--interpreter"]).arg(python);
    run(maturin.arg("--out").arg(&folder))?;
    let entries = std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut wheels = entries.flatten().map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|e| e == "whl"));
    wheels.next().ok_or_else(|| format!("maturin left no wheel in {}", folder.display()))
}
