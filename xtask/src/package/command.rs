//! The command with its manual pages, completions and desktop files, as an archive and as a Debian package.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{ReleasePlace, pack_archive, readme, third_party, unpack_archive};
use crate::command::{RELEASE_PROFILE, cargo_command, program_path, repository_root, run, run_for_output, target_dir};
use crate::fs::{copy_file, create_empty_dir, ensure_dir_exists, read_text, write_text};

/// Files that every archive holds.
const TEXTS: &[&str] = &["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"];

/// The archive: a tree to be copied over `/usr/local` or `~/.local`.
pub(super) fn build_command_archive(place: &ReleasePlace) -> Result<Vec<PathBuf>, String> {
    let name = name_of(place);
    let folder = target_dir().join("dist-made").join(&name);
    create_empty_dir(&folder)?;
    install_command(&folder, "share/zsh/site-functions")?;
    for text in TEXTS {
        copy_file(&repository_root().join(text), &folder.join(text))?;
    }
    third_party::write_licenses("trilith-cli", &folder.join("THIRD-PARTY.txt"))?;
    let archive = place.dist.join(format!("{name}.tar.gz"));
    pack_archive(&folder, &archive)?;
    Ok(vec![archive])
}

pub(super) fn try_archive(place: &ReleasePlace, files: &[PathBuf], fresh: &Path) -> Result<(), String> {
    for file in files {
        unpack_archive(file, fresh)?;
    }
    let folder = fresh.join(name_of(place));
    check_contains(
        &folder,
        &["share/man/man1/trilith-convert.1", "share/zsh/site-functions/_trilith", "LICENSE-MIT", "THIRD-PARTY.txt"],
    )?;
    let work = fresh.join("work");
    readme::command_lines(&folder.join("bin"), &work)?;
    try_desktop_files(&folder, &work)
}

/// Does with the example files what a desktop does: asks for their type, and draws a thumbnail.
fn try_desktop_files(prefix: &Path, work: &Path) -> Result<(), String> {
    let thumbnailer = read_text(&prefix.join("share/thumbnailers/trilith.thumbnailer"))?;
    let line = thumbnailer.lines().find_map(|line| line.strip_prefix("Exec=trilith ")).ok_or("the thumbnailer calls nothing")?;
    let program = prefix.join("bin/trilith");
    for name in ["observation.asdf", "observation.fits", "observation.bd"] {
        let picture = format!("{name}.png");
        let words = line.split(' ').map(|word| match word {
            "%i" => name,
            "%o" => &picture,
            "%s" => "128",
            word => word,
        });
        run_for_output(Command::new(&program).current_dir(work).args(words))?;
        check_contains(work, &[&picture])?;
    }
    let mut file = Command::new("file");
    file.current_dir(work).args(["--brief", "--mime-type", "-m"]).arg(prefix.join("share/trilith/magic"));
    let Ok(said) = run_for_output(file.args(["observation.asdf", "observation-plain.asdf", "observation.bd"])) else {
        println!("no file(1) here, or one that does not read the rules: not tried");
        return Ok(());
    };
    let expected = ["application/x-asdf", "application/x-asdf", "application/x-dudley"];
    if said.lines().eq(expected) { Ok(()) } else { Err(format!("file says {said:?}, not {expected:?}")) }
}

/// Makes the Debian package, if its tools are installed.
pub(super) fn build_debian_package(place: &ReleasePlace) -> Result<Vec<PathBuf>, String> {
    if cfg!(not(target_os = "linux")) {
        println!("packages of Debian are made on Linux: left out");
        return Ok(Vec::new());
    }
    let architecture = run_for_output(Command::new("dpkg").arg("--print-architecture"))?.trim().to_owned();
    let folder = target_dir().join("dist-made/deb");
    create_empty_dir(&folder)?;
    install_command(&folder.join("usr"), "share/zsh/vendor-completions")?;
    let documents = folder.join("usr/share/doc/trilith");
    let licence = format!(
        "{}\nor\n\n{}",
        read_text(&repository_root().join("LICENSE-MIT"))?,
        read_text(&repository_root().join("LICENSE-APACHE"))?
    );
    write_text(
        &documents.join("copyright"),
        &format!("Trilith is under the MIT licence or the Apache licence 2.0.\n\n{licence}"),
    )?;
    third_party::write_licenses("trilith-cli", &documents.join("THIRD-PARTY.txt"))?;
    copy_file(&repository_root().join("CHANGELOG.md"), &documents.join("changelog"))?;
    for folder in [documents.join("changelog"), documents.join("THIRD-PARTY.txt"), folder.join("usr/share/man/man1")] {
        run(Command::new("gzip").args(["-9", "--no-name", "--recursive"]).arg(folder))?;
    }
    let size = run_for_output(Command::new("du").args(["-sk"]).arg(folder.join("usr")))?;
    let control = format!(
        "Package: trilith\nVersion: {}\nArchitecture: {architecture}\nMaintainer: The Trilith developers\n\
         Installed-Size: {}\nDepends: {}\nSection: science\nPriority: optional\n\
         Description: look into, read, convert and verify ASDF, FITS and Dudley files\n \
         Trilith reads, checks, converts and changes self-describing scientific array\n \
         files: every version of ASDF, FITS, HDF5 and netCDF by their own metadata, and\n \
         any binary file that a layout in the Dudley language describes.\n",
        place.version,
        size.split_whitespace().next().unwrap_or("0"),
        find_debian_dependencies(&folder.join("usr/bin/trilith"))?,
    );
    write_text(&folder.join("DEBIAN/control"), &control)?;
    let file = place.dist.join(format!("trilith_{}_{architecture}.deb", place.version));
    run(Command::new("dpkg-deb").args(["--build", "--root-owner-group"]).arg(&folder).arg(&file))?;
    Ok(vec![file])
}

pub(super) fn try_deb(_: &ReleasePlace, files: &[PathBuf], fresh: &Path) -> Result<(), String> {
    for file in files {
        print!("{}", run_for_output(Command::new("dpkg-deb").arg("--info").arg(file))?);
        run(Command::new("dpkg-deb").arg("--extract").arg(file).arg(fresh))?;
        check_contains(
            fresh,
            &["usr/share/man/man1/trilith.1.gz", "usr/share/doc/trilith/copyright", "usr/share/mime/packages/trilith.xml"],
        )?;
        readme::command_lines(&fresh.join("usr/bin"), &fresh.join("work"))?;
    }
    Ok(())
}

fn name_of(place: &ReleasePlace) -> String {
    format!("trilith-{}-{}", place.version, place.triple)
}

/// The command and what goes with it, as it is installed below a prefix.
fn install_command(prefix: &Path, zsh: &str) -> Result<(), String> {
    run(&mut cargo_command(["build", "--locked", "--profile", RELEASE_PROFILE, "--package", "trilith-cli"]))?;
    let built = program_path(RELEASE_PROFILE);
    let name = built.file_name().unwrap_or_default();
    copy_file(&built, &prefix.join("bin").join(name))?;
    let share = prefix.join("share");
    ensure_dir_exists(&share.join("man"))?;
    run(Command::new(&built).args(["--quiet", "man", "--install"]).arg(share.join("man")))?;
    for (shell, file) in [
        ("bash", "share/bash-completion/completions/trilith".to_owned()),
        ("zsh", format!("{zsh}/_trilith")),
        ("fish", "share/fish/vendor_completions.d/trilith.fish".to_owned()),
    ] {
        write_text(&prefix.join(file), &run_for_output(Command::new(&built).args(["completions", shell]))?)?;
    }
    let files = repository_root().join("packaging");
    copy_file(&files.join("magic"), &share.join("trilith/magic"))?;
    copy_file(&files.join("trilith.xml"), &share.join("mime/packages/trilith.xml"))?;
    copy_file(&files.join("trilith.thumbnailer"), &share.join("thumbnailers/trilith.thumbnailer"))
}

fn check_contains(folder: &Path, files: &[&str]) -> Result<(), String> {
    match files.iter().find(|file| !folder.join(file).is_file()) {
        Some(missing) => Err(format!("{missing} is missing")),
        None => Ok(()),
    }
}

/// The packages of Debian that the program needs: the C library, as new as the newest symbol, and libgcc.
fn find_debian_dependencies(program: &Path) -> Result<String, String> {
    let said = run_for_output(Command::new("objdump").arg("-p").arg(program))?;
    let versions = said.split("GLIBC_").skip(1).filter_map(|text| {
        let text = text.split_whitespace().next()?;
        let (major, minor) = text.split_once('.')?;
        Some((major.parse::<u32>().ok()?, minor.split('.').next()?.parse::<u32>().ok()?))
    });
    let (major, minor) = versions.max().ok_or("the program names no version of the C library")?;
    let known = ["libc.so", "libm.so", "libdl.so", "libpthread.so", "librt.so", "ld-linux", "libgcc_s.so"];
    let mut needed = said.lines().filter_map(|line| line.trim().strip_prefix("NEEDED"));
    if let Some(other) = needed.find(|name| !known.iter().any(|known| name.trim().starts_with(known))) {
        return Err(format!("the program needs {}, of which the package does not say where it comes from", other.trim()));
    }
    Ok(format!("libc6 (>= {major}.{minor}), libgcc-s1"))
}
