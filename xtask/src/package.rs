//! `cargo xtask package`: what a release consists of, made and then tried in fresh places.
//!
//! A part is a row of [`PACKAGE_PARTS`]: a function that makes its files in `dist` below the target, and one that installs
//! them where nothing else of Trilith is and runs the first lines of README.md with them.

mod c;
mod command;
mod crates;
mod python;
mod readme;
mod third_party;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::command::{repository_root, run, run_for_output, target_dir};
use crate::fs::{create_empty_dir, ensure_dir_exists, read_text};

/// A part of a release.
struct PackagePart {
    name: &'static str,
    /// Makes the files in [`ReleasePlace::dist`].
    make: fn(&ReleasePlace) -> Result<Vec<PathBuf>, String>,
    /// Installs them into a folder that is empty, and runs something with them.
    try_out: fn(&ReleasePlace, &[PathBuf], &Path) -> Result<(), String>,
}

const PACKAGE_PARTS: &[PackagePart] = &[
    PackagePart { name: "crates", make: crates::package_crates, try_out: crates::try_out },
    PackagePart { name: "archive", make: command::build_command_archive, try_out: command::try_archive },
    PackagePart { name: "deb", make: command::build_debian_package, try_out: command::try_deb },
    PackagePart { name: "wheel", make: python::package_wheel, try_out: python::try_out },
    PackagePart { name: "sdist", make: python::package_sdist, try_out: python::try_out },
    PackagePart { name: "c", make: c::build_c_archive, try_out: c::try_out },
];

/// The folder and the target of a release.
struct ReleasePlace {
    /// The files of the release.
    dist: PathBuf,
    /// The version of the workspace.
    version: String,
    /// The target of the compiler, such as `x86_64-unknown-linux-gnu`.
    triple: String,
}

/// Makes the parts that are named, or all, and tries them.
pub(crate) fn build_packages(arguments: &[String]) -> Result<(), String> {
    let names: Vec<&String> = arguments.iter().filter(|word| *word != "--no-try").collect();
    if let Some(unknown) = names.iter().find(|name| PACKAGE_PARTS.iter().all(|part| part.name != name.as_str())) {
        let known: Vec<&str> = PACKAGE_PARTS.iter().map(|part| part.name).collect();
        return Err(format!(
            "{unknown:?} is not a part; the parts are {}, and --no-try leaves out trying them",
            known.join(", ")
        ));
    }
    let place = ReleasePlace { dist: target_dir().join("dist"), version: read_workspace_version()?, triple: host_triple()? };
    ensure_dir_exists(&place.dist)?;
    let mut made = Vec::new();
    for part in PACKAGE_PARTS.iter().filter(|part| names.is_empty() || names.iter().any(|name| part.name == name.as_str())) {
        println!("\n==== {} ====", part.name);
        let start = Instant::now();
        let files = (part.make)(&place).map_err(|reason| format!("{}: {reason}", part.name))?;
        made.push((part, files, start.elapsed()));
    }
    println!("\n==== what was made ====");
    for (part, files, time) in &made {
        for file in files {
            let size = file.metadata().map_err(|error| format!("{}: {error}", file.display()))?.len();
            println!("{:<8} {:>7.2} MB {:>6.0} s  {}", part.name, size as f64 / 1e6, time.as_secs_f64(), file.display());
        }
    }
    if arguments.iter().any(|word| word == "--no-try") {
        return Ok(());
    }
    for (part, files, _) in &made {
        println!("\n==== {}: trying it ====", part.name);
        let fresh = target_dir().join("dist-tried").join(part.name);
        create_empty_dir(&fresh)?;
        (part.try_out)(&place, files, &fresh)
            .map_err(|reason| format!("{}, installed in {}: {reason}", part.name, fresh.display()))?;
    }
    println!("\nmade and tried: {}", made.iter().map(|(part, ..)| part.name).collect::<Vec<_>>().join(", "));
    Ok(())
}

/// Prints what the changelog says of a version, as the notes of its release, after comparing all places that name one.
pub(crate) fn print_release_notes(arguments: &[String]) -> Result<(), String> {
    let [wanted] = arguments else {
        return Err("one version: cargo xtask notes 0.1.0".to_owned());
    };
    let wanted = wanted.strip_prefix('v').unwrap_or(wanted);
    let here = read_workspace_version()?;
    if here != wanted {
        return Err(format!("Cargo.toml says version {here}, not {wanted}"));
    }
    let citation = read_text(&repository_root().join("CITATION.cff"))?;
    if !citation.lines().any(|line| line == format!("version: {wanted}")) {
        return Err(format!("CITATION.cff does not say `version: {wanted}`"));
    }
    print!("{}", find_changelog_section(&read_text(&repository_root().join("CHANGELOG.md"))?, wanted)?);
    Ok(())
}

/// The text under `## VERSION - YYYY-MM-DD`.
fn find_changelog_section(changelog: &str, version: &str) -> Result<String, String> {
    let mut lines = changelog.lines().skip_while(|line| line.strip_prefix("## ").is_none_or(|title| !title.starts_with(version)));
    let title = lines.next().ok_or_else(|| format!("CHANGELOG.md has no section `## {version} - YYYY-MM-DD`"))?;
    let date = title.strip_prefix(&format!("## {version} - ")).unwrap_or("");
    let dated = date.len() == 10 && date.split('-').map(str::len).eq([4, 2, 2]) && date.replace('-', "").parse::<u32>().is_ok();
    if !dated {
        return Err(format!("{title:?} in CHANGELOG.md is not `## {version} - YYYY-MM-DD`"));
    }
    let text: Vec<&str> = lines.take_while(|line| !line.starts_with("## ")).collect();
    Ok(text.join("\n").trim().to_owned() + "\n")
}

/// The version of the workspace.
fn read_workspace_version() -> Result<String, String> {
    let manifest = read_text(&repository_root().join("Cargo.toml"))?;
    let mut lines = manifest.lines().skip_while(|line| *line != "[workspace.package]");
    let version = lines.find_map(|line| line.strip_prefix("version = \"")?.strip_suffix('"'));
    version.map(str::to_owned).ok_or_else(|| "no version in the workspace's Cargo.toml".to_owned())
}

fn host_triple() -> Result<String, String> {
    let said = run_for_output(Command::new("rustc").arg("-vV"))?;
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| "rustc -vV names no host".to_owned())
}

/// Packs a folder with everything in it, under its own name, so that the same files give the same archive.
fn pack_archive(folder: &Path, archive: &Path) -> Result<(), String> {
    let (Some(above), Some(name)) = (folder.parent(), folder.file_name()) else {
        return Err(format!("{} cannot be packed", folder.display()));
    };
    let mut tar = Command::new("tar");
    if cfg!(target_os = "linux") {
        let date = run_for_output(Command::new("git").current_dir(repository_root()).args(["log", "-1", "--format=%ct"]))?;
        tar.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner"]).arg(format!("--mtime=@{}", date.trim()));
    }
    run(tar.arg("-czf").arg(archive).arg("-C").arg(above).arg(name))
}

/// Unpacks an archive into a folder.
fn unpack_archive(archive: &Path, folder: &Path) -> Result<(), String> {
    run(Command::new("tar").arg("-xzf").arg(archive).arg("-C").arg(folder))
}

#[cfg(test)]
mod tests {
    use super::find_changelog_section;

    #[test]
    fn release_notes_require_dated_version_section() {
        let text = "# Changelog\n\n## Unreleased\n\n## 0.2.0 - 2026-12-01\n\n### Added\n\n- A\n\n## 0.1.0\n\n- B\n";
        assert_eq!(find_changelog_section(text, "0.2.0"), Ok("### Added\n\n- A\n".to_owned()));
        assert!(find_changelog_section(text, "0.1.0").is_err_and(|reason| reason.contains("YYYY-MM-DD")));
        assert!(find_changelog_section(text, "0.3.0").is_err_and(|reason| reason.contains("has no section")));
    }
}
