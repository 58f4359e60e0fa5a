//! Remote files: real servers on loopback, and the tests that ask them.

use std::process::Command;

use crate::interop::environment_for;
use crate::python;
use crate::shell::{build_program, root, run, shared, target};
use crate::suite::Done;

/// Runs the tests of `tests/remote` against nginx, or a server of their own where that is missing, a proxy that breaks
/// answers, and a service that speaks S3.
pub fn remote() -> Result<Done, String> {
    let python = match environment_for("remote-venv", &root().join("tests/remote/requirements.txt")) {
        Ok(python) => python,
        Err(reason) => return Ok(Done::Skipped(reason)),
    };
    let program = build_program()?;
    let wheel = python::build(&python, &root().join("crates/trilith-py"), false)?;
    let mut install = Command::new(&python);
    install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--force-reinstall"]);
    run(install.arg(&wheel))?;
    let mut tests = Command::new(&python);
    tests.current_dir(target()).env("PYTHONDONTWRITEBYTECODE", "1").env("TRILITH_BIN", program);
    let folder = root().join("tests/remote");
    tests.args(["-m", "pytest", "--quiet", "-p", "no:cacheprovider", "--rootdir"]).arg(&folder).arg(&folder);
    if let Some(shared) = shared() {
        tests.env("TRILITH_SHARED", shared);
    }
    run(&mut tests)?;
    Ok(Done::Passed)
}
