//! Python's asdf as the peer: an environment of its own under `target/`, and the tests that run in it.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::files::{read, write};
use crate::shell::{base_python, build_program, output, root, run, shared, target};
use crate::suite::Done;

/// Python writes and Trilith reads, Trilith writes and Python reads.
pub fn interop() -> Result<Done, String> {
    let python = match environment() {
        Ok(python) => python,
        Err(reason) => return Ok(Done::Skipped(reason)),
    };
    let program = build_program()?;
    let mut tests = pytest_on_all_cores(&python);
    tests.current_dir(root()).args(["-W", "ignore", "tests/interop"]).env("TRILITH_BIN", &program);
    run(&mut tests)?;
    // With zarr before 3, and asdf would load it in each of the other tests.
    let folder = root().join("tests/asdf-zarr");
    let python = environment_for("asdf-zarr-venv", &folder.join("requirements.txt"))?;
    let mut tests = pytest(&python);
    run(tests.current_dir(root()).args(["-W", "ignore"]).arg(folder).env("TRILITH_BIN", &program))?;
    Ok(Done::Passed)
}

/// Tests in an environment that has pytest-xdist, one process for each core.
pub fn pytest_on_all_cores(python: &Path) -> Command {
    let mut tests = pytest(python);
    tests.args(["-n", "auto", "--dist", "worksteal", "-o", "verbosity_subtests=0"]);
    tests
}

/// Tests in an environment that has pytest, with a line for each that is skipped.
pub fn pytest(python: &Path) -> Command {
    let mut tests = Command::new(python);
    tests.args(["-m", "pytest", "--quiet", "-rs", "-p", "no:cacheprovider"]);
    // Gigabytes of temporary files otherwise stay of three runs.
    tests.args(["-o", "tmp_path_retention_policy=failed"]);
    tests.env("PYTHONDONTWRITEBYTECODE", "1");
    if let Some(shared) = shared() {
        tests.env("TRILITH_SHARED", shared);
    }
    tests
}

/// The Python of an environment with the peers of `tests/interop/requirements.txt`, made where it is
/// missing or was made from other requirements. The error says why there is none.
pub fn environment() -> Result<PathBuf, String> {
    environment_for("interop-venv", &root().join("tests/interop/requirements.txt"))
}

/// As [`environment`], for another list of requirements, in a folder of its own below `target/`.
pub fn environment_for(name: &str, list: &Path) -> Result<PathBuf, String> {
    let (base, version) = new_enough()?;
    let wanted = format!("# Python {version}\n{}", requirements(list)?);
    let folder = target().join(name);
    let python = folder.join("bin/python");
    let stamp = folder.join("made-from.txt");
    if python.exists() && std::fs::read_to_string(&stamp).is_ok_and(|made| made == wanted) {
        return Ok(python);
    }
    run(Command::new(base).args(["-m", "venv", "--clear"]).arg(&folder))
        .map_err(|e| format!("{e} (is python3-venv installed?)"))?;
    run(Command::new(&python).args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"]).arg(list))?;
    write(&stamp, &wanted)?;
    Ok(python)
}

/// The text of a list of requirements, with the lists beside it that it names (`-r`).
fn requirements(list: &Path) -> Result<String, String> {
    let text = read(list)?;
    let mut all = text.clone();
    for name in text.lines().filter_map(|line| line.strip_prefix("-r ")) {
        all.push_str(&requirements(&list.with_file_name(name.trim()))?);
    }
    Ok(all)
}

/// `TRILITH_PYTHON` or `python3`, if it is new enough for asdf 6, and its version.
fn new_enough() -> Result<(String, String), String> {
    let python = base_python();
    let check = "import sys; print(sys.version_info >= (3, 11), sys.version.split()[0])";
    let said = output(Command::new(&python).args(["-c", check])).map_err(|e| format!("no Python: {e}"))?;
    match said.trim().split_once(' ') {
        Some(("True", version)) => Ok((python, version.to_owned())),
        _ => Err(format!("asdf 6.0.0 needs Python 3.11 or newer, `{python}` says {}", said.trim())),
    }
}
