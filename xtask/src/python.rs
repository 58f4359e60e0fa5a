//! The Python package, installed into a separate environment under `target/`, and the tests that run there.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{PUBLISHED, build_libraries, build_program, root, run, target};
use crate::fs::{read, write};
use crate::interop::{core_environment, environment, environment_for, older_environment, pytest_on_all_cores};
use crate::test::{Done, Share};

/// Modules of the first tier: they need nothing but numpy, asdf and pytest, and end soon.
const CORE_TESTS: [&str; 4] = ["test_asdf.py", "test_reading.py", "test_seeing.py", "test_trust.py"];

/// Builds the package, installs it and runs its tests: first the modules of [`CORE_TESTS`], then the others, and those of
/// `trilith.asdf` with the older asdf too.
pub(crate) fn python(share: Share) -> Result<Done, String> {
    let package = root().join("crates/trilith-py");
    let tests = package.join("tests");
    let python = match if share == Share::First { core_environment() } else { environment() } {
        Ok(python) => python,
        Err(reason) => return Ok(Done::Skipped(reason)),
    };
    develop(&python)?;
    let core = CORE_TESTS.map(|name| tests.join(name));
    let without: Vec<String> = core.iter().map(|path| format!("--ignore={}", path.display())).collect();
    match share {
        Share::First => {
            run_tests(&python, &package, &core, &[])?;
            return Ok(Done::Passed);
        }
        Share::Rest => run_tests(&python, &package, std::slice::from_ref(&tests), &without)?,
        Share::Whole => run_tests(&python, &package, std::slice::from_ref(&tests), &[])?,
    }
    let older = older_environment()?;
    develop(&older)?;
    // The laws ask nothing of asdf's version.
    run_tests(&older, &package, &[tests.join("test_asdf.py")], &["-m", "not hypothesis"].map(str::to_owned))?;
    Ok(Done::Passed)
}

/// Builds the wheel as it is released and installs it into the environment of a Python.
pub(crate) fn wheel_into(python: &Path) -> Result<(), String> {
    let package = root().join("crates/trilith-py");
    install(python, &build(&maturin()?, &package)?)
}

/// The Python of the environment that builds wheels.
pub(crate) fn maturin() -> Result<PathBuf, String> {
    environment_for("maturin-venv", &["crates/trilith-py/benches/requirements.txt"])
}

/// Installs a wheel into the environment of a Python.
fn install(python: &Path, wheel: &Path) -> Result<(), String> {
    let mut install = Command::new(python);
    install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--force-reinstall"]);
    run(install.arg(wheel))
}

/// Puts the package into the environment of a Python, built with the rest of the workspace: a wheel is built by itself, for
/// which cargo compiles most crates again. `cargo xtask package` tries the wheel.
pub(crate) fn develop(python: &Path) -> Result<(), String> {
    let (before, after) = (std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let library = build_libraries()?.join(format!("{before}_trilith{after}"));
    run(Command::new(python).arg(root().join("xtask/develop.py")).arg(root().join("crates/trilith-py")).arg(library))
}

/// Runs tests with what is installed.
fn run_tests(python: &Path, package: &Path, what: &[PathBuf], only: &[String]) -> Result<(), String> {
    // Tests that run the command many hundred times do so without starting Python each time.
    let program = build_program()?;
    // The tests run outside of the package's folder, so that they import the installed package.
    let mut tests = pytest_on_all_cores(python);
    tests.current_dir(target()).env("TRILITH_BIN", program).arg("--rootdir").arg(package).args(what).args(only);
    run(&mut tests)
}

/// The wheel, as it is released.
pub(crate) fn build(python: &Path, package: &Path) -> Result<PathBuf, String> {
    let folder = target().join("wheels");
    let _ = std::fs::remove_dir_all(&folder); // whatever an earlier run left
    let mut maturin = Command::new(python);
    maturin
        .current_dir(package)
        .args(["-m", "maturin", "build", "--locked", "--quiet", "--profile", PUBLISHED, "--interpreter"])
        .arg(python);
    documented(python, package, maturin.arg("--out").arg(&folder))?;
    let entries = std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut wheels = entries.flatten().map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|e| e == "whl"));
    wheels.next().ok_or_else(|| format!("maturin left no wheel in {}", folder.display()))
}

/// Runs a command on the package while its stub has the documentation of the sources.
pub(crate) fn documented(python: &Path, package: &Path, command: &mut Command) -> Result<(), String> {
    let stub = package.join("python/trilith/_trilith.pyi");
    let plain = read(&stub)?;
    let script = root().join("xtask/document_stubs.py");
    let done = run(Command::new(python).arg(script).arg(package).arg(&stub)).and_then(|()| run(command));
    write(&stub, &plain)?;
    done
}
