//! `cargo xtask peers`: the test suites of packages that build on `asdf`, as they are and with Trilith below.
//!
//! Running and comparing is `peers/suites.py`, inside an environment that has these packages: they are
//! Python, and so is the plugin that notes what became of each test.

use std::process::Command;

use crate::command::{repository_root, run, target_dir};
use crate::interop::environment_for;
use crate::python::wheel_into;

/// Makes the environment, installs the wheel as it is released, and hands the arguments on.
pub(crate) fn run_peer_suites(arguments: &[String]) -> Result<(), String> {
    let scripts = repository_root().join("xtask/peers");
    let python = environment_for("peers-venv", &["xtask/peers/requirements.txt"])?;
    wheel_into(&python)?;
    let mut suites = Command::new(python);
    suites
        .current_dir(repository_root())
        .arg("-B")
        .arg(scripts.join("suites.py"))
        .arg("--folder")
        .arg(target_dir().join("peers"));
    run(suites.args(arguments))
}
