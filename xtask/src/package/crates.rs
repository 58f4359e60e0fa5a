//! The crates, packed as `cargo publish` packs them, and built and installed from what was packed.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::{ReleasePlace, readme, unpack_archive};
use crate::command::{LIBRARY_CRATES, cargo_command, repository_root, run, target_dir};
use crate::fs::{copy_file, create_empty_dir, read_text, write_text};

/// The published crates that others depend on, in the order of publication.
fn library_crates() -> Vec<&'static str> {
    [&["trilith-wcs"], &LIBRARY_CRATES[..], &["trilith-view"]].concat()
}

/// The published crates, in the order of publication.
fn published_crates() -> Vec<&'static str> {
    [&library_crates()[..], &["trilith-cli", "trilith-c"]].concat()
}

/// Writes the file that the program of README.md reads.
const WRITER: &str = "fn main() -> trilith::Result<()> {\n    let mut writer = trilith::AsdfWriter::new();\n    \
     writer.slice(\"/roman/data\", &[1f32; 512 * 512], &[512, 512])?;\n    \
     writer.set(\"/roman/meta/filter\", \"F158\")?;\n    writer.write(\"image.asdf\")\n}\n";

pub(super) fn package_crates(place: &ReleasePlace) -> Result<Vec<PathBuf>, String> {
    // The tried crates are built from these files, so that nothing is compiled twice.
    let mut package = cargo_command(["package", "--locked", "--no-verify", "--allow-dirty", "--quiet"]);
    published_crates().iter().for_each(|name| {
        package.args(["--package", name]);
    });
    run(&mut package)?;
    let mut files = Vec::new();
    for name in published_crates() {
        let file = format!("{name}-{}.crate", place.version);
        let there = place.dist.join(&file);
        copy_file(&target_dir().join("package").join(&file), &there)?;
        files.push(there);
    }
    Ok(files)
}

/// A workspace of what the files hold, and a program that uses the library; the command is installed from it.
pub(super) fn try_out(place: &ReleasePlace, files: &[PathBuf], fresh: &Path) -> Result<(), String> {
    // Outside the repository, whose Cargo.toml would be found otherwise.
    let folder = std::env::temp_dir().join(format!("trilith-crates-{}", std::process::id()));
    create_empty_dir(&folder)?;
    for file in files {
        unpack_archive(file, &folder)?;
    }
    let version = &place.version;
    let members: Vec<String> = published_crates().iter().map(|name| format!("\"{name}-{version}\"")).collect();
    let mut manifest =
        format!("[workspace]\nresolver = \"3\"\nmembers = [{}, \"readme\"]\n\n[patch.crates-io]\n", members.join(", "));
    for name in library_crates() {
        let _ = writeln!(manifest, "{name} = {{ path = \"{name}-{version}\" }}");
    }
    // The profiles of the workspace, so that what was compiled for it can be used.
    let workspace = read_text(&repository_root().join("Cargo.toml"))?;
    let profiles = workspace.find("\n[profile.").and_then(|at| workspace.get(at..)).unwrap_or_default();
    write_text(&folder.join("Cargo.toml"), &(manifest + profiles))?;
    copy_file(&repository_root().join("Cargo.lock"), &folder.join("Cargo.lock"))?;
    let project = "[package]\nname = \"readme\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[dependencies]\n";
    write_text(&folder.join("readme/Cargo.toml"), &format!("{project}trilith = \"{version}\"\n"))?;
    write_text(&folder.join("readme/src/bin/writer.rs"), WRITER)?;
    write_text(&folder.join("readme/src/bin/reader.rs"), &readme::read_rust_program()?)?;
    let done = build_and_run(&folder, &fresh.join("command"), version);
    let _ = std::fs::remove_dir_all(&folder);
    done
}

fn build_and_run(folder: &Path, fresh: &Path, version: &str) -> Result<(), String> {
    let here = |words: &[&str]| {
        let mut command = cargo_command([]);
        command.current_dir(folder).env("CARGO_TARGET_DIR", target_dir()).args(words);
        command
    };
    run(&mut here(&["build", "--quiet", "--workspace"]))?;
    run(&mut here(&["run", "--quiet", "--package", "readme", "--bin", "writer"]))?;
    run(&mut here(&["run", "--quiet", "--package", "readme", "--bin", "reader"]))?;
    let mut install = here(&["install", "--quiet", "--debug", "--path", &format!("trilith-cli-{version}"), "--root"]);
    run(install.arg(fresh))?;
    readme::command_lines(&fresh.join("bin"), &fresh.join("work"))
}
