//! The static page, and the tests of both pages in a browser.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{build_program, cargo_command, in_ci, repository_root, run, run_for_output, target_dir};
use crate::interop::full_environment;
use crate::site::{build_pages, copy_dir};
use crate::test::{PartOutcome, TierSelection};
use crate::wasm::{TARGET, standard_library};

/// Names under which a browser is installed.
const BROWSERS: &[&str] = &["chromium", "chromium-browser", "google-chrome", "chrome"];

/// Additional permissions of a static page: run the module, query its worker, and read from any URL.
const POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; style-src 'self'; \
     img-src 'self' blob: data:; connect-src *; base-uri 'none'; form-action 'none'";

/// `cargo xtask web`: the folder of static files.
pub(crate) fn build_web_viewer(arguments: &[String]) -> Result<(), String> {
    let folder = match arguments {
        [] => target_dir().join("viewer"),
        [folder] => PathBuf::from(folder),
        _ => return Err("one folder at most: cargo xtask web [FOLDER]".to_owned()),
    };
    build_viewer_dir(&folder)?.map_or_else(Err, |()| {
        println!("{}", folder.display());
        Ok(())
    })
}

/// Makes the folder; the inner error says why it cannot be made here.
fn build_viewer_dir(folder: &Path) -> Result<Result<(), String>, String> {
    let flags = match standard_library() {
        Ok(flags) => flags,
        Err(reason) => return Ok(Err(reason)),
    };
    let mut build = cargo_command(["build", "--locked", "--package", "trilith-web", "--target", TARGET, "--profile", "web"]);
    // The threshold for inlining is less than a quarter of the default. That saves a tenth of the bytes and keeps loops as they are.
    build.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS", "-C llvm-args=-inline-threshold=50");
    run(flags.configure_build(&mut build))?;
    let fail = |error: std::io::Error| format!("{}: {error}", folder.display());
    // The page of the server, with another transport.
    for from in ["crates/trilith-view/page", "crates/trilith-web/page"] {
        copy_dir(&repository_root().join(from), folder)?;
    }
    let index = folder.join("index.html");
    let page = std::fs::read_to_string(&index).map_err(fail)?;
    let policy = format!("<meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">");
    std::fs::write(&index, page.replacen("<meta charset=\"utf-8\">", &policy, 1)).map_err(fail)?;
    let module = target_dir().join(TARGET).join("web/trilith_web.wasm");
    std::fs::copy(&module, folder.join("trilith.wasm")).map_err(|error| format!("{}: {error}", module.display()))?;
    Ok(Ok(()))
}

/// The test of the first tier: the page of the server, with mouse and keys.
const FIRST_TIER_TEST: &str = "the tree is walked";

/// Pictures of the tests, and the files of the documentation that they become.
const DOCUMENTATION_PICTURES: [(&str, &str); 3] = [
    ("documentation.png", "docs/view.png"),
    ("documentation-fits.png", "docs/images/view-fits.png"),
    ("documentation-hdf5.png", "docs/images/view-hdf5.png"),
];

/// Runs `tests/browser` in a browser without a window, in the first tier one test of them; pictures of the pages are kept in
/// `browser` below the target. With `BLESS` set, those of [`DOCUMENTATION_PICTURES`] become pictures of the documentation, and the pictures
/// that others are compared with are written.
pub(crate) fn run_browser_tests(share: TierSelection) -> Result<PartOutcome, String> {
    if let Err(reason) = run_for_output(Command::new("node").arg("--version")) {
        return Ok(PartOutcome::Skipped(format!("no Node: {reason}")));
    }
    let Some(browser) = find_browser().or_else(install_browser) else {
        return Ok(PartOutcome::Skipped(format!(
            "no browser: none of {} is installed (apt-get install chromium)",
            BROWSERS.join(", ")
        )));
    };
    // npm installs other packages next to the tests, so the tests are copied out of the repository.
    let tests = target_dir().join("browser-tests");
    copy_dir(&repository_root().join("tests/browser"), &tests)?;
    if !tests.join("node_modules/playwright-core").is_dir() {
        let mut packages = Command::new("npm");
        if let Err(reason) = run(packages.current_dir(&tests).args(["ci", "--no-audit", "--no-fund"])) {
            return Ok(PartOutcome::Skipped(format!("playwright-core cannot be installed: {reason}")));
        }
    }
    let program = build_program()?;
    let folder = target_dir().join("viewer");
    let mut command = Command::new("node");
    command.current_dir(&tests).args(["--test", "--test-concurrency=1"]);
    if share == TierSelection::First {
        command.args(["--test-name-pattern", FIRST_TIER_TEST, "view.test.mjs"]);
    } else {
        match build_viewer_dir(&folder)? {
            Ok(()) => drop(command.env("TRILITH_WEB", &folder)),
            Err(reason) if in_ci() => return Err(reason),
            Err(reason) => println!("the static page is not tested: {reason}"),
        }
        match full_environment() {
            Ok(python) => drop(command.env("TRILITH_SITE", build_pages(&python)?)),
            Err(reason) if in_ci() => return Err(reason),
            Err(reason) => println!("the pages of the documentation are not looked at: {reason}"),
        }
    }
    command.env("TRILITH", program).env("TRILITH_BROWSER", browser).env("TRILITH_PICTURES", target_dir().join("browser"));
    command.env("TRILITH_REFERENCE", repository_root().join("tests/browser/reference"));
    run(&mut command)?;
    if share != TierSelection::First && std::env::var_os("BLESS").is_some() {
        for (made, shown) in DOCUMENTATION_PICTURES {
            let made = target_dir().join("browser").join(made);
            std::fs::copy(&made, repository_root().join(shown)).map_err(|error| format!("{}: {error}", made.display()))?;
        }
    }
    Ok(PartOutcome::Passed)
}

/// A browser of this machine.
fn find_browser() -> Option<PathBuf> {
    let folders: Vec<PathBuf> = std::env::split_paths(&std::env::var_os("PATH")?).collect();
    BROWSERS.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name))).find(|path| path.is_file())
}

/// Installs a browser in continuous integration.
fn install_browser() -> Option<PathBuf> {
    if !in_ci() {
        return None;
    }
    for words in [&["update", "--quiet"][..], &["install", "--quiet", "--yes", "--no-install-recommends", "chromium"]] {
        run(Command::new("apt-get").args(words)).ok()?;
    }
    find_browser()
}
