//! Running other programs, and the places of files.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The crates of the library, each after those that it depends on.
pub(crate) const LIBRARY_CRATES: [&str; 8] = [
    "trilith-io",
    "trilith-yaml",
    "trilith-schema",
    "trilith-array",
    "trilith-codec",
    "trilith-fits",
    "trilith-layout",
    "trilith",
];

/// The repository's root.
pub(crate) fn repository_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap_or_else(|_| PathBuf::from("."))
}

/// Returns the folder of build outputs: `CARGO_TARGET_DIR`, or `target_dir` in the repository.
pub(crate) fn target_dir() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| repository_root().join("target"), |set| repository_root().join(set))
}

/// The material next to the repository that some tests use: `TRILITH_SHARED` or `../shared`.
pub(crate) fn shared_dir() -> Option<PathBuf> {
    let set = std::env::var_os("TRILITH_SHARED").map(PathBuf::from);
    let above = repository_root().ancestors().skip(1).map(|folder| folder.join("shared")).collect::<Vec<_>>();
    set.into_iter().chain(above).find(|folder| folder.join("corpus").is_dir())
}

/// Returns `true` in continuous integration, where nothing may be skipped: `CI` is set.
pub(crate) fn in_ci() -> bool {
    std::env::var("CI").is_ok_and(|value| !value.is_empty() && value != "false" && value != "0")
}

/// Builds the command line program.
pub(crate) fn build_program() -> Result<PathBuf, String> {
    build_for_tests()?;
    Ok(program_path("debug"))
}

/// Builds the program that writes seeds for the fuzz targets.
pub(crate) fn build_seeds() -> Result<PathBuf, String> {
    build_for_tests()?;
    Ok(target_dir().join("debug/examples").join(format!("fuzz_seeds{}", std::env::consts::EXE_SUFFIX)))
}

/// Builds the libraries for other languages, and gives their folder.
pub(crate) fn build_libraries() -> Result<PathBuf, String> {
    build_for_tests()?;
    Ok(target_dir().join("debug"))
}

/// Builds what there is, with the crates that were compiled for the tests: after these nothing but ours is left to do. For
/// one package by itself cargo chooses other features and compiles most crates again, and so it does where cbindgen,
/// which one test needs, is not among them.
fn build_for_tests() -> Result<(), String> {
    run(&mut linting_cargo([
        "build",
        "--locked",
        "--workspace",
        "--bin",
        "trilith",
        "--lib",
        "--test",
        "header",
        "--example",
        "fuzz_seeds",
    ]))
}

/// The profile of what is published. That of who installs from source is `release`, which is built sooner.
pub(crate) const RELEASE_PROFILE: &str = "dist";

/// The command line program, as a profile builds it.
pub(crate) fn program_path(profile: &str) -> PathBuf {
    target_dir().join(profile).join(format!("trilith{}", std::env::consts::EXE_SUFFIX))
}

/// The Python that environments are made with: `TRILITH_PYTHON` or `python3`.
pub(crate) fn base_python() -> String {
    std::env::var("TRILITH_PYTHON").unwrap_or_else(|_| "python3".to_owned())
}

/// The variable with the seed of samples. Tests run complete matrices if it is [`COMPLETE`], and always the same samples without it.
pub(crate) const SAMPLE: &str = "TRILITH_SAMPLE";

/// The value of [`SAMPLE`] for complete matrices.
pub(crate) const COMPLETE: &str = "all";

/// `cargo` with these arguments, in the repository's root. Tests run complete matrices.
pub(crate) fn cargo_command<const N: usize>(arguments: [&str; N]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(repository_root()).args(arguments).env(SAMPLE, COMPLETE);
    // The cargo that runs this task tells it of this package. Build scripts of dependencies that look at these variables would run
    // again, and everything that depends on them would be compiled again, whenever cargo is called without the task.
    let of_this =
        |name: &str| ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_CRATE_", "CARGO_BIN_"].iter().any(|start| name.starts_with(start));
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(of_this)) {
        command.env_remove(name);
    }
    command
}

/// The compiler that lints, of the component Clippy.
const CLIPPY: &str = "clippy-driver";

/// Returns `true` if Clippy is installed.
pub(crate) fn has_clippy() -> bool {
    static IS_CLIPPY_INSTALLED: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    *IS_CLIPPY_INSTALLED
        .get_or_init(|| Command::new(CLIPPY).arg("--version").output().is_ok_and(|output| output.status.success()))
}

/// `cargo` with these arguments, for what the tests run: Clippy's driver compiles the crates of the workspace, so that they are
/// linted on the way, and a warning is an error. `cargo clippy` by itself would check some hundred dependencies that are compiled
/// for the tests anyway, which takes minutes. The driver does not optimize as the compiler does: not for what is measured.
pub(crate) fn linting_cargo<const N: usize>(arguments: [&str; N]) -> Command {
    let mut command = cargo_command(arguments);
    if has_clippy() {
        command.env("RUSTC_WORKSPACE_WRAPPER", CLIPPY).env("CLIPPY_ARGS", "-Dwarnings__CLIPPY_HACKERY__");
    }
    // A panic names its line without them, and each of some sixty test programs is linked sooner.
    command.env("CARGO_PROFILE_DEV_DEBUG", "none");
    command
}

/// A program for cargo that needs a nightly compiler, installed under `target/tools` where it is missing.
pub(crate) fn nightly_tool(name: &str, version: &str) -> Result<PathBuf, String> {
    run_for_output(Command::new("rustc").arg("+nightly").arg("--version")).map_err(|e| {
        let reason = e.lines().next().unwrap_or_default().to_owned();
        format!("no nightly compiler (`rustup toolchain install nightly`): {reason}")
    })?;
    if let Ok(place) = run_for_output(Command::new("sh").args(["-c", &format!("command -v {name}")])) {
        return Ok(PathBuf::from(place.trim()));
    }
    let tools = target_dir().join("tools");
    let program = tools.join("bin").join(name);
    if !program.exists() {
        let mut install = cargo_command(["install", "--locked", "--quiet", name, "--version", version, "--root"]);
        run(install.arg(&tools)).map_err(|e| format!("{name} could not be installed: {e}"))?;
    }
    Ok(program)
}

/// Shows a command (on the standard error: the output may be a document), runs it and fails where it fails.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    let _ = std::io::stdout().flush();
    eprintln!("$ {}", display_command(command));
    let status = command.status().map_err(|error| format!("{}: {error}", command.get_program().to_string_lossy()))?;
    if status.success() { Ok(()) } else { Err(format!("`{}` ended with {status}", display_command(command))) }
}

/// Runs a command for what it prints.
pub(crate) fn run_for_output(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("{}: {error}", command.get_program().to_string_lossy()))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        let messages = String::from_utf8_lossy(&output.stderr);
        Err(format!("`{}` ended with {}: {}", display_command(command), output.status, messages.trim()))
    }
}

/// A command as one would type it, paths below the repository shortened.
fn display_command(command: &Command) -> String {
    let root = repository_root().to_string_lossy().into_owned() + "/";
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let line = words.map(|word| word.to_string_lossy().replace(&root, "")).collect::<Vec<_>>().join(" ");
    match line.split_once("/bin/cargo ") {
        Some((_, rest)) => format!("cargo {rest}"),
        None => line,
    }
}
