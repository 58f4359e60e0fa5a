//! The Python package, installed into a separate environment under `target/`, and the tests that run there.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{RELEASE_PROFILE, build_libraries, build_program, repository_root, run, target_dir};
use crate::fs::{read_text, write_text};
use crate::interop::{core_environment, environment_for, full_environment, older_environment, pytest_on_all_cores};
use crate::test::{PartOutcome, TierSelection};

/// Modules of the first tier: they need nothing but numpy, asdf and pytest, and end soon.
const CORE_TESTS: [&str; 4] = ["test_asdf.py", "test_reading.py", "test_seeing.py", "test_trust.py"];

/// Builds the package, installs it and runs its tests: first the modules of [`CORE_TESTS`], then the others, and those of
/// `trilith.asdf` with the older asdf too.
pub(crate) fn run_python_tests(share: TierSelection) -> Result<PartOutcome, String> {
    let package = repository_root().join("crates/trilith-py");
    let tests = package.join("tests");
    let python = match if share == TierSelection::First { core_environment() } else { full_environment() } {
        Ok(python) => python,
        Err(reason) => return Ok(PartOutcome::Skipped(reason)),
    };
    install_development_package(&python)?;
    let core = CORE_TESTS.map(|name| tests.join(name));
    let without: Vec<String> = core.iter().map(|path| format!("--ignore={}", path.display())).collect();
    match share {
        TierSelection::First => {
            run_tests(&python, &package, &core, &[])?;
            return Ok(PartOutcome::Passed);
        }
        TierSelection::Rest => run_tests(&python, &package, std::slice::from_ref(&tests), &without)?,
        TierSelection::Whole => run_tests(&python, &package, std::slice::from_ref(&tests), &[])?,
    }
    let older = older_environment()?;
    install_development_package(&older)?;
    // The laws ask nothing of asdf's version.
    run_tests(&older, &package, &[tests.join("test_asdf.py")], &["-m", "not hypothesis"].map(str::to_owned))?;
    Ok(PartOutcome::Passed)
}

/// Builds the wheel as it is released and installs it into the environment of a Python.
pub(crate) fn wheel_into(python: &Path) -> Result<(), String> {
    let package = repository_root().join("crates/trilith-py");
    install_wheel(python, &build_wheel(&maturin_environment()?, &package)?)
}

/// The Python of the environment that builds wheels.
pub(crate) fn maturin_environment() -> Result<PathBuf, String> {
    environment_for("maturin-venv", &["crates/trilith-py/benches/requirements.txt"])
}

/// Installs a wheel into the environment of a Python.
fn install_wheel(python: &Path, wheel: &Path) -> Result<(), String> {
    let mut install = Command::new(python);
    install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--force-reinstall"]);
    run(install.arg(wheel))
}

/// Puts the package into the environment of a Python, built with the rest of the workspace: a wheel is built by itself, for
/// which cargo compiles most crates again. `cargo xtask package` tries the wheel.
pub(crate) fn install_development_package(python: &Path) -> Result<(), String> {
    let (before, after) = (std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let library = build_libraries()?.join(format!("{before}_trilith{after}"));
    run(Command::new(python)
        .arg(repository_root().join("xtask/develop.py"))
        .arg(repository_root().join("crates/trilith-py"))
        .arg(library))
}

/// Runs tests with what is installed.
fn run_tests(python: &Path, package: &Path, what: &[PathBuf], only: &[String]) -> Result<(), String> {
    // Tests that run the command many hundred times do so without starting Python each time.
    let program = build_program()?;
    // The tests run outside of the package's folder, so that they import the installed package.
    let mut tests = pytest_on_all_cores(python);
    tests.current_dir(target_dir()).env("TRILITH_BIN", program).arg("--rootdir").arg(package).args(what).args(only);
    run(&mut tests)
}

/// The wheel, as it is released.
pub(crate) fn build_wheel(python: &Path, package: &Path) -> Result<PathBuf, String> {
    let folder = target_dir().join("wheels");
    let _ = std::fs::remove_dir_all(&folder); // whatever an earlier run left
    let mut maturin = Command::new(python);
    maturin
        .current_dir(package)
        .args(["-m", "maturin", "build", "--locked", "--quiet", "--profile", RELEASE_PROFILE, "--interpreter"])
        .arg(python);
    run_with_documented_stub(python, package, maturin.arg("--out").arg(&folder))?;
    let entries = std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut wheels = entries.flatten().map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|e| e == "whl"));
    wheels.next().ok_or_else(|| format!("maturin left no wheel in {}", folder.display()))
}

/// Runs a command on the package while its stub has the documentation of the sources.
pub(crate) fn run_with_documented_stub(python: &Path, package: &Path, command: &mut Command) -> Result<(), String> {
    let stub = package.join("python/trilith/_trilith.pyi");
    let plain = read_text(&stub)?;
    let script = repository_root().join("xtask/document_stubs.py");
    let done = run(Command::new(python).arg(script).arg(package).arg(&stub)).and_then(|()| run(command));
    write_text(&stub, &plain)?;
    done
}
