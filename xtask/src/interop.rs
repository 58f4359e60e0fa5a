//! The environments of Python below `target/`, and the tests with its asdf as the peer.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{base_python, build_program, repository_root, run, run_for_output, shared_dir, target_dir};
use crate::fs::{read_text, write_text};
use crate::python::install_development_package;
use crate::test::{PartOutcome, TierSelection};

/// Python writes and Trilith reads, Trilith writes and Python reads.
pub(crate) fn run_interop_tests(_: TierSelection) -> Result<PartOutcome, String> {
    let python = match full_environment() {
        Ok(python) => python,
        Err(reason) => return Ok(PartOutcome::Skipped(reason)),
    };
    let program = build_program()?;
    // The matrix of metadata asks the package too.
    install_development_package(&python)?;
    let mut tests = pytest_on_all_cores(&python);
    tests.current_dir(repository_root()).args(["-W", "ignore", "tests/interop"]).env("TRILITH_BIN", &program);
    run(&mut tests)?;
    // asdf-zarr has a separate environment: it needs zarr before 3, and asdf would load it in each of the other tests.
    let mut tests = pytest_command(&older_environment()?);
    run(tests.current_dir(repository_root()).args(["-W", "ignore", "tests/asdf-zarr"]).env("TRILITH_BIN", &program))?;
    Ok(PartOutcome::Passed)
}

/// Tests in an environment that has pytest-xdist, one process for each core.
pub(crate) fn pytest_on_all_cores(python: &Path) -> Command {
    let mut tests = pytest_command(python);
    tests.args(["-n", "auto", "--dist", "worksteal", "-o", "verbosity_subtests=0"]);
    tests
}

/// Tests in an environment that has pytest, with a line for each that is skipped.
pub(crate) fn pytest_command(python: &Path) -> Command {
    let mut tests = Command::new(python);
    tests.args(["-m", "pytest", "--quiet", "-rs", "-p", "no:cacheprovider"]);
    // Gigabytes of temporary files otherwise stay of three runs.
    tests.args(["-o", "tmp_path_retention_policy=failed"]);
    tests.env("PYTHONDONTWRITEBYTECODE", "1");
    if let Some(shared) = shared_dir() {
        tests.env("TRILITH_SHARED", shared);
    }
    tests
}

/// Tests of the Python package: numpy, asdf and pytest.
pub(crate) const CORE_REQUIREMENTS: &str = "crates/trilith-py/tests/requirements.txt";

/// Packages that build on ours, the peers of the formats, servers, and the builder of the documentation.
const EXTRA_REQUIREMENTS: [&str; 4] = [
    "crates/trilith-py/tests/requirements-ecosystem.txt",
    "tests/interop/requirements.txt",
    "tests/remote/requirements.txt",
    "docs/site/requirements.txt",
];

/// asdf 5 and zarr 2, which do not go together with what is newer.
const OLDER_REQUIREMENTS: [&str; 2] = ["crates/trilith-py/tests/requirements-asdf5.txt", "tests/asdf-zarr/requirements.txt"];

/// Returns the Python of the environment with [`CORE_REQUIREMENTS`] alone, or with more if that was installed before.
pub(crate) fn core_environment() -> Result<PathBuf, String> {
    environment_for("python-venv", &[CORE_REQUIREMENTS])
}

/// Returns the Python of the environment with everything that tests need, but for old versions.
pub(crate) fn full_environment() -> Result<PathBuf, String> {
    environment_for("python-venv", &[&[CORE_REQUIREMENTS], &EXTRA_REQUIREMENTS[..]].concat())
}

/// Returns the Python of the environment with old versions of asdf and zarr.
pub(crate) fn older_environment() -> Result<PathBuf, String> {
    environment_for("python-older-venv", &OLDER_REQUIREMENTS)
}

/// Returns the Python of an environment below `target/` that has these lists of requirements.
///
/// Lists that it lacks are added to it. It is made again if one of its lists has changed.
///
/// # Errors
/// Returns the reason why there is no environment.
pub(crate) fn environment_for(name: &str, lists: &[&str]) -> Result<PathBuf, String> {
    let (base, version) = new_enough()?;
    let folder = target_dir().join(name);
    let python = folder.join("bin/python");
    let stamp = |list: &str| folder.join("made-from").join(list.replace('/', "-"));
    let mut wanted = vec![("version".to_owned(), version)];
    for list in lists {
        wanted.push(((*list).to_owned(), read_text(&repository_root().join(list))?));
    }
    let made = |list: &str| std::fs::read_to_string(stamp(list)).ok();
    let is_old = wanted.iter().any(|(list, text)| made(list).is_some_and(|made| made != *text));
    if is_old || !python.exists() || made("version").is_none() {
        run(Command::new(base).args(["-m", "venv", "--clear"]).arg(&folder))
            .map_err(|e| format!("{e} (is python3-venv installed?)"))?;
    } else if wanted.iter().all(|(list, _)| made(list).is_some()) {
        return Ok(python);
    }
    let mut pip = Command::new(&python);
    pip.current_dir(repository_root()).args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    run(pip.args(lists.iter().flat_map(|list| ["-r", list])))?;
    wanted.iter().try_for_each(|(list, text)| write_text(&stamp(list), text))?;
    Ok(python)
}

/// `TRILITH_PYTHON` or `python3`, if it is new enough for asdf 6, and its version.
fn new_enough() -> Result<(String, String), String> {
    let python = base_python();
    let check = "import sys; print(sys.version_info >= (3, 11), sys.version.split()[0])";
    let said = run_for_output(Command::new(&python).args(["-c", check])).map_err(|e| format!("no Python: {e}"))?;
    match said.trim().split_once(' ') {
        Some(("True", version)) => Ok((python, version.to_owned())),
        _ => Err(format!("asdf 6.0.0 needs Python 3.11 or newer, `{python}` says {}", said.trim())),
    }
}
