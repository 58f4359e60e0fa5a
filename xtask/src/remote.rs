//! Remote files: real servers on loopback, and the tests that ask them.

use crate::interop::{environment, pytest_on_all_cores};
use crate::python;
use crate::shell::{build_program, root, run, target};
use crate::suite::{Done, Share};

/// Runs the tests of `tests/remote` against nginx, or our own server if that is missing, a proxy that breaks
/// answers, and a service that speaks S3.
pub fn remote(_: Share) -> Result<Done, String> {
    let python = match environment() {
        Ok(python) => python,
        Err(reason) => return Ok(Done::Skipped(reason)),
    };
    let program = build_program()?;
    python::develop(&python)?;
    let folder = root().join("tests/remote");
    let mut tests = pytest_on_all_cores(&python);
    tests.current_dir(target()).env("TRILITH_BIN", program).arg("--rootdir").arg(&folder).arg(&folder);
    run(&mut tests)?;
    Ok(Done::Passed)
}
