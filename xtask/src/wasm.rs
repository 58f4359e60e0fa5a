//! The library as a WebAssembly module: `tests/wasm` is built for `wasm32-unknown-unknown` and run in Node.
//!
//! The target's standard library comes with `rustup target add`. If rustup does not reach its server, it is
//! compiled from the sources of the compiler's version, which Debian has as a package. Only continuous integration
//! does either; elsewhere the installation stays unchanged.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{cargo_command, in_ci, repository_root, run, run_for_output, target_dir};
use crate::test::{PartOutcome, TierSelection};

/// The target of modules.
pub(crate) const TARGET: &str = "wasm32-unknown-unknown";

/// Builds the module and runs it.
pub(crate) fn run_wasm_tests(_: TierSelection) -> Result<PartOutcome, String> {
    if let Err(reason) = run_for_output(Command::new("node").arg("--version")) {
        return Ok(PartOutcome::Skipped(format!("no Node: {reason}")));
    }
    let library = match standard_library() {
        Ok(library) => library,
        Err(reason) => return Ok(PartOutcome::Skipped(reason)),
    };
    run(library.configure_build(&mut cargo_command(["build", "--locked", "--package", "trilith-wasm", "--target", TARGET])))?;
    let module = target_dir().join(TARGET).join("debug/trilith_wasm.wasm");
    run(Command::new("node").arg(repository_root().join("tests/wasm/run.mjs")).arg(module))?;
    Ok(PartOutcome::Passed)
}

/// The origin of the target's standard library.
pub(crate) enum Library {
    /// The toolchain has a built library.
    Installed,
    /// The toolchain has the sources of the library, which are compiled with the module.
    Source,
}

impl Library {
    /// A build for the target with this standard library.
    pub(crate) fn configure_build<'c>(&self, build: &'c mut Command) -> &'c mut Command {
        match self {
            Self::Installed => build,
            Self::Source => build.env("RUSTC_BOOTSTRAP", "1").args(["-Z", "build-std=std,panic_abort"]),
        }
    }
}

/// Returns the available standard library. Continuous integration obtains it.
pub(crate) fn standard_library() -> Result<Library, String> {
    let rustlib = Path::new(run_for_output(Command::new("rustc").args(["--print", "sysroot"]))?.trim()).join("lib/rustlib");
    let is_installed = || rustlib.join(TARGET).join("lib").is_dir();
    let is_source = || rustlib.join("src/rust/library/Cargo.lock").is_file();
    if is_installed() {
        return Ok(Library::Installed);
    }
    if !in_ci() {
        return Err(format!("the compiler has no target {TARGET}: `rustup target add {TARGET}`"));
    }
    let by_rustup = run(Command::new("rustup").args(["target", "add", TARGET]));
    if by_rustup.is_ok() && is_installed() {
        return Ok(Library::Installed);
    }
    if !is_source() {
        let because = |error| format!("no target {TARGET}: {}; and {error}", by_rustup.clone().err().unwrap_or_default());
        let sources = debian_sources().map_err(because)?;
        link_sources(&sources, &rustlib.join("src/rust")).map_err(because)?;
    }
    if is_source() { Ok(Library::Source) } else { Err("the package rust-src has no Cargo.lock of the standard library".into()) }
}

/// Suites of Debian that carry compilers newer than the stable one's.
const SUITES: &[&str] = &["trixie-backports", "testing", "sid"];

/// Returns the sources of the compiler's version, from Debian's package, unpacked under `target`. Nothing is
/// installed.
fn debian_sources() -> Result<PathBuf, String> {
    let said = run_for_output(Command::new("rustc").arg("-vV"))?;
    let version = said.lines().find_map(|line| line.strip_prefix("release: ")).ok_or("the compiler does not say its version")?;
    let folder = target_dir().join("wasm-source");
    let unpacked = folder.join("usr/src").join(format!("rustc-{version}"));
    if unpacked.is_dir() {
        return Ok(unpacked);
    }
    let settings = prepare_apt_options(&folder)?;
    let apt = |program: &str, words: &[&str]| {
        let mut command = Command::new(program);
        command.current_dir(&folder).args(&settings).args(words);
        command
    };
    // A suite that this server does not have is no reason to look in none.
    let updated = run(&mut apt("apt-get", &["update", "--quiet"]));
    let packages = run_for_output(&mut apt("apt-cache", &["madison", "rust-src"]))?;
    let package = packages
        .lines()
        .filter_map(|line| line.split('|').nth(1).map(str::trim))
        .find(|package| package.split(['+', '-', '~']).next() == Some(version))
        .ok_or_else(|| match &updated {
            Ok(()) => format!("Debian has no package rust-src of version {version}"),
            Err(error) => error.clone(),
        })?;
    run(&mut apt("apt-get", &["download", "--quiet", &format!("rust-src={package}")]))?;
    let files = std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let file = files.flatten().map(|entry| entry.path()).find(|path| path.extension().is_some_and(|end| end == "deb"));
    run(Command::new("dpkg").arg("-x").arg(file.ok_or("the package was not downloaded")?).arg(&folder))?;
    if unpacked.is_dir() { Ok(unpacked) } else { Err(format!("the package rust-src={package} has no {}", unpacked.display())) }
}

/// Returns options that make apt use separate lists: the machine's server and key, the suites of [`SUITES`].
fn prepare_apt_options(folder: &Path) -> Result<Vec<String>, String> {
    let fail = |error: std::io::Error| format!("{}: {error}", folder.display());
    for name in ["lists/partial", "cache/archives/partial"] {
        std::fs::create_dir_all(folder.join(name)).map_err(fail)?;
    }
    let known =
        run_for_output(Command::new("sh").args(["-c", "cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null || :"]))?;
    let server = known
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'))
        .flat_map(str::split_whitespace)
        .find(|word| word.starts_with("http") && word.trim_end_matches('/').ends_with("/debian"))
        .ok_or("this machine has no list of Debian's packages")?;
    let list = folder.join("debian.sources");
    let keyring = "/usr/share/keyrings/debian-archive-keyring.gpg";
    let text = format!("Types: deb\nURIs: {server}\nSuites: {}\nComponents: main\nSigned-By: {keyring}\n", SUITES.join(" "));
    std::fs::write(&list, text).map_err(fail)?;
    let settings = [
        format!("Dir::Etc::sourcelist={}", list.display()),
        "Dir::Etc::sourceparts=/dev/null".to_owned(),
        format!("Dir::State::Lists={}", folder.join("lists").display()),
        format!("Dir::Cache={}", folder.join("cache").display()),
        "Acquire::Languages=none".to_owned(),
        // Downloading as another user needs a folder that is open to all.
        "APT::Sandbox::User=root".to_owned(),
    ];
    Ok(settings.into_iter().flat_map(|setting| ["-o".to_owned(), setting]).collect())
}

/// The place in a toolchain where cargo looks for the sources leads to those.
fn link_sources(sources: &Path, place: &Path) -> Result<(), String> {
    let fail = |error: std::io::Error| format!("{}: {error}", place.display());
    if let Some(folder) = place.parent() {
        std::fs::create_dir_all(folder).map_err(fail)?;
    }
    let _ = std::fs::remove_file(place); // a link that leads nowhere any more
    #[cfg(unix)]
    std::os::unix::fs::symlink(sources, place).map_err(fail)?;
    #[cfg(not(unix))]
    return Err(format!("{} cannot be linked to {} on this system", place.display(), sources.display()));
    #[cfg(unix)]
    Ok(())
}
