//! The command with its manual pages, completions and desktop files, as an archive and as a Debian package.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Place, readme, tar, third_party, untar};
use crate::command::{PUBLISHED, cargo, output, program, root, run, target};
use crate::fs::{copy, create, empty, read, write};

/// Files that every archive holds.
const TEXTS: &[&str] = &["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"];

/// The archive: a tree to be copied over `/usr/local` or `~/.local`.
pub(super) fn archive(place: &Place) -> Result<Vec<PathBuf>, String> {
    let name = name_of(place);
    let folder = target().join("dist-made").join(&name);
    empty(&folder)?;
    installed(&folder, "share/zsh/site-functions")?;
    for text in TEXTS {
        copy(&root().join(text), &folder.join(text))?;
    }
    third_party::licences("trilith-cli", &folder.join("THIRD-PARTY.txt"))?;
    let archive = place.dist.join(format!("{name}.tar.gz"));
    tar(&folder, &archive)?;
    Ok(vec![archive])
}

pub(super) fn try_archive(place: &Place, files: &[PathBuf], fresh: &Path) -> Result<(), String> {
    for file in files {
        untar(file, fresh)?;
    }
    let folder = fresh.join(name_of(place));
    holds(&folder, &["share/man/man1/trilith-convert.1", "share/zsh/site-functions/_trilith", "LICENSE-MIT", "THIRD-PARTY.txt"])?;
    let work = fresh.join("work");
    readme::command_lines(&folder.join("bin"), &work)?;
    desktop(&folder, &work)
}

/// Does with the example files what a desktop does: asks for their type, and draws a thumbnail.
fn desktop(prefix: &Path, work: &Path) -> Result<(), String> {
    let thumbnailer = read(&prefix.join("share/thumbnailers/trilith.thumbnailer"))?;
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
        output(Command::new(&program).current_dir(work).args(words))?;
        holds(work, &[&picture])?;
    }
    let mut file = Command::new("file");
    file.current_dir(work).args(["--brief", "--mime-type", "-m"]).arg(prefix.join("share/trilith/magic"));
    let Ok(said) = output(file.args(["observation.asdf", "observation-plain.asdf", "observation.bd"])) else {
        println!("no file(1) here, or one that does not read the rules: not tried");
        return Ok(());
    };
    let expected = ["application/x-asdf", "application/x-asdf", "application/x-dudley"];
    if said.lines().eq(expected) { Ok(()) } else { Err(format!("file says {said:?}, not {expected:?}")) }
}

/// Makes the Debian package, if its tools are installed.
pub(super) fn deb(place: &Place) -> Result<Vec<PathBuf>, String> {
    if cfg!(not(target_os = "linux")) {
        println!("packages of Debian are made on Linux: left out");
        return Ok(Vec::new());
    }
    let architecture = output(Command::new("dpkg").arg("--print-architecture"))?.trim().to_owned();
    let folder = target().join("dist-made/deb");
    empty(&folder)?;
    installed(&folder.join("usr"), "share/zsh/vendor-completions")?;
    let documents = folder.join("usr/share/doc/trilith");
    let licence = format!("{}\nor\n\n{}", read(&root().join("LICENSE-MIT"))?, read(&root().join("LICENSE-APACHE"))?);
    write(&documents.join("copyright"), &format!("Trilith is under the MIT licence or the Apache licence 2.0.\n\n{licence}"))?;
    third_party::licences("trilith-cli", &documents.join("THIRD-PARTY.txt"))?;
    copy(&root().join("CHANGELOG.md"), &documents.join("changelog"))?;
    for folder in [documents.join("changelog"), documents.join("THIRD-PARTY.txt"), folder.join("usr/share/man/man1")] {
        run(Command::new("gzip").args(["-9", "--no-name", "--recursive"]).arg(folder))?;
    }
    let size = output(Command::new("du").args(["-sk"]).arg(folder.join("usr")))?;
    let control = format!(
        "Package: trilith\nVersion: {}\nArchitecture: {architecture}\nMaintainer: The Trilith developers\n\
         Installed-Size: {}\nDepends: {}\nSection: science\nPriority: optional\n\
         Description: look into, read, convert and verify ASDF, FITS and Dudley files\n \
         Trilith reads, checks, converts and changes self-describing scientific array\n \
         files: every version of ASDF, FITS, HDF5 and netCDF by their own metadata, and\n \
         any binary file that a layout in the Dudley language describes.\n",
        place.version,
        size.split_whitespace().next().unwrap_or("0"),
        libraries(&folder.join("usr/bin/trilith"))?,
    );
    write(&folder.join("DEBIAN/control"), &control)?;
    let file = place.dist.join(format!("trilith_{}_{architecture}.deb", place.version));
    run(Command::new("dpkg-deb").args(["--build", "--root-owner-group"]).arg(&folder).arg(&file))?;
    Ok(vec![file])
}

pub(super) fn try_deb(_: &Place, files: &[PathBuf], fresh: &Path) -> Result<(), String> {
    for file in files {
        print!("{}", output(Command::new("dpkg-deb").arg("--info").arg(file))?);
        run(Command::new("dpkg-deb").arg("--extract").arg(file).arg(fresh))?;
        holds(
            fresh,
            &["usr/share/man/man1/trilith.1.gz", "usr/share/doc/trilith/copyright", "usr/share/mime/packages/trilith.xml"],
        )?;
        readme::command_lines(&fresh.join("usr/bin"), &fresh.join("work"))?;
    }
    Ok(())
}

fn name_of(place: &Place) -> String {
    format!("trilith-{}-{}", place.version, place.triple)
}

/// The command and what goes with it, as it is installed below a prefix.
fn installed(prefix: &Path, zsh: &str) -> Result<(), String> {
    run(&mut cargo(["build", "--locked", "--profile", PUBLISHED, "--package", "trilith-cli"]))?;
    let built = program(PUBLISHED);
    let name = built.file_name().unwrap_or_default();
    copy(&built, &prefix.join("bin").join(name))?;
    let share = prefix.join("share");
    create(&share.join("man"))?;
    run(Command::new(&built).args(["--quiet", "man", "--install"]).arg(share.join("man")))?;
    for (shell, file) in [
        ("bash", "share/bash-completion/completions/trilith".to_owned()),
        ("zsh", format!("{zsh}/_trilith")),
        ("fish", "share/fish/vendor_completions.d/trilith.fish".to_owned()),
    ] {
        write(&prefix.join(file), &output(Command::new(&built).args(["completions", shell]))?)?;
    }
    let files = root().join("packaging");
    copy(&files.join("magic"), &share.join("trilith/magic"))?;
    copy(&files.join("trilith.xml"), &share.join("mime/packages/trilith.xml"))?;
    copy(&files.join("trilith.thumbnailer"), &share.join("thumbnailers/trilith.thumbnailer"))
}

fn holds(folder: &Path, files: &[&str]) -> Result<(), String> {
    match files.iter().find(|file| !folder.join(file).is_file()) {
        Some(missing) => Err(format!("{missing} is missing")),
        None => Ok(()),
    }
}

/// The packages of Debian that the program needs: the C library, as new as the newest symbol, and libgcc.
fn libraries(program: &Path) -> Result<String, String> {
    let said = output(Command::new("objdump").arg("-p").arg(program))?;
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
