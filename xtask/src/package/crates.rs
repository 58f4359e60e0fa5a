//! The crates, packed as `cargo publish` packs them, and built and installed from what was packed.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::{Place, readme, untar};
use crate::command::{LIBRARY_CRATES, cargo, root, run, target};
use crate::fs::{copy, empty, read, write};

/// The published crates that others depend on, in the order of publication.
fn libraries() -> Vec<&'static str> {
    [&["trilith-wcs"], &LIBRARY_CRATES[..], &["trilith-view"]].concat()
}

/// The published crates, in the order of publication.
fn crates() -> Vec<&'static str> {
    [&libraries()[..], &["trilith-cli", "trilith-c"]].concat()
}

/// Writes the file that the program of README.md reads.
const WRITER: &str = "fn main() -> trilith::Result<()> {\n    let mut writer = trilith::Writer::new();\n    \
     writer.slice(\"/roman/data\", &[1f32; 512 * 512], &[512, 512])?;\n    \
     writer.set(\"/roman/meta/filter\", \"F158\")?;\n    writer.write(\"image.asdf\")\n}\n";

pub(super) fn make(place: &Place) -> Result<Vec<PathBuf>, String> {
    // The tried crates are built from these files, so that nothing is compiled twice.
    let mut package = cargo(["package", "--locked", "--no-verify", "--allow-dirty", "--quiet"]);
    crates().iter().for_each(|name| {
        package.args(["--package", name]);
    });
    run(&mut package)?;
    let mut files = Vec::new();
    for name in crates() {
        let file = format!("{name}-{}.crate", place.version);
        let there = place.dist.join(&file);
        copy(&target().join("package").join(&file), &there)?;
        files.push(there);
    }
    Ok(files)
}

/// A workspace of what the files hold, and a program that uses the library; the command is installed from it.
pub(super) fn try_out(place: &Place, files: &[PathBuf], fresh: &Path) -> Result<(), String> {
    // Outside the repository, whose Cargo.toml would be found otherwise.
    let folder = std::env::temp_dir().join(format!("trilith-crates-{}", std::process::id()));
    empty(&folder)?;
    for file in files {
        untar(file, &folder)?;
    }
    let version = &place.version;
    let members: Vec<String> = crates().iter().map(|name| format!("\"{name}-{version}\"")).collect();
    let mut manifest =
        format!("[workspace]\nresolver = \"3\"\nmembers = [{}, \"readme\"]\n\n[patch.crates-io]\n", members.join(", "));
    for name in libraries() {
        let _ = writeln!(manifest, "{name} = {{ path = \"{name}-{version}\" }}");
    }
    // The profiles of the workspace, so that what was compiled for it can be used.
    let workspace = read(&root().join("Cargo.toml"))?;
    let profiles = workspace.find("\n[profile.").and_then(|at| workspace.get(at..)).unwrap_or_default();
    write(&folder.join("Cargo.toml"), &(manifest + profiles))?;
    copy(&root().join("Cargo.lock"), &folder.join("Cargo.lock"))?;
    let project = "[package]\nname = \"readme\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[dependencies]\n";
    write(&folder.join("readme/Cargo.toml"), &format!("{project}trilith = \"{version}\"\n"))?;
    write(&folder.join("readme/src/bin/writer.rs"), WRITER)?;
    write(&folder.join("readme/src/bin/reader.rs"), &readme::rust()?)?;
    let done = build_and_run(&folder, &fresh.join("command"), version);
    let _ = std::fs::remove_dir_all(&folder);
    done
}

fn build_and_run(folder: &Path, fresh: &Path, version: &str) -> Result<(), String> {
    let here = |words: &[&str]| {
        let mut command = cargo([]);
        command.current_dir(folder).env("CARGO_TARGET_DIR", target()).args(words);
        command
    };
    run(&mut here(&["build", "--quiet", "--workspace"]))?;
    run(&mut here(&["run", "--quiet", "--package", "readme", "--bin", "writer"]))?;
    run(&mut here(&["run", "--quiet", "--package", "readme", "--bin", "reader"]))?;
    let mut install = here(&["install", "--quiet", "--debug", "--path", &format!("trilith-cli-{version}"), "--root"]);
    run(install.arg(fresh))?;
    readme::command_lines(&fresh.join("bin"), &fresh.join("work"))
}
