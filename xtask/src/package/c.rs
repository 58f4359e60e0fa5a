//! The C library as an archive: shared and static library, headers, and what pkg-config, CMake and Fortran want.
//!
//! It is the tree that `cargo cinstall` makes from `[package.metadata.capi]`, made here without having to
//! build that tool.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{ReleasePlace, pack_archive, third_party, unpack_archive};
use crate::c::TOUR;
use crate::command::{RELEASE_PROFILE, cargo_command, repository_root, run, run_for_output, target_dir};
use crate::fs::{copy_file, create_empty_dir, ensure_dir_exists, write_text};

/// Files that are copied unchanged, and their destinations.
const FILES: &[(&str, &str)] = &[
    ("crates/trilith-c/include/trilith.h", "include/trilith.h"),
    ("crates/trilith-c/include/trilith.hpp", "include/trilith.hpp"),
    ("crates/trilith-c/cmake/TrilithConfig.cmake", "share/cmake/Trilith/TrilithConfig.cmake"),
    ("crates/trilith-c/fortran/trilith.f90", "share/fortran/trilith.f90"),
    ("crates/trilith-c/README.md", "README.md"),
    ("CHANGELOG.md", "CHANGELOG.md"),
    ("LICENSE-MIT", "LICENSE-MIT"),
    ("LICENSE-APACHE", "LICENSE-APACHE"),
];

pub(super) fn build_c_archive(place: &ReleasePlace) -> Result<Vec<PathBuf>, String> {
    let name = name_of(place);
    let folder = target_dir().join("dist-made").join(&name);
    create_empty_dir(&folder)?;
    let private = build_c_libraries(place, &folder.join("lib"))?;
    for (from, to) in FILES {
        copy_file(&repository_root().join(from), &folder.join(to))?;
    }
    let config = format!(
        "prefix=${{pcfiledir}}/../..\nincludedir=${{prefix}}/include\nlibdir=${{prefix}}/lib\n\n\
         Name: trilith\nDescription: Self-describing scientific array files: ASDF and Dudley\nVersion: {}\n\
         Cflags: -I${{includedir}}\nLibs: -L${{libdir}} -ltrilith\nLibs.private: {private}\n",
        place.version
    );
    write_text(&folder.join("lib/pkgconfig/trilith.pc"), &config)?;
    third_party::write_licenses("trilith-c", &folder.join("THIRD-PARTY.txt"))?;
    let archive = place.dist.join(format!("{name}.tar.gz"));
    pack_archive(&folder, &archive)?;
    Ok(vec![archive])
}

/// Builds both libraries into a folder, and gives the flags of what the static one needs.
fn build_c_libraries(place: &ReleasePlace, folder: &Path) -> Result<String, String> {
    ensure_dir_exists(folder)?;
    let (version, compatible) = (&place.version, compatible_version(&place.version));
    let mut build = cargo_command(["rustc", "--locked", "--profile", RELEASE_PROFILE, "--package", "trilith-c", "--lib", "--"]);
    build.args(["--print", "native-static-libs"]);
    let built = target_dir().join(RELEASE_PROFILE);
    if cfg!(windows) {
        run(&mut build)?;
        for name in ["trilith.dll", "trilith.dll.lib", "trilith.lib"] {
            copy_file(&built.join(name), &folder.join(name))?;
        }
        return Ok(String::new());
    }
    let (file, short, link, flag) = if cfg!(target_os = "macos") {
        let name = format!("libtrilith.{compatible}.dylib");
        (format!("libtrilith.{version}.dylib"), name.clone(), "libtrilith.dylib", format!("-Wl,-install_name,@rpath/{name}"))
    } else {
        let name = format!("libtrilith.so.{compatible}");
        (format!("libtrilith.so.{version}"), name.clone(), "libtrilith.so", format!("-Wl,-soname,{name}"))
    };
    build.arg("-C").arg(format!("link-arg={flag}"));
    let said = build.output().map_err(|error| format!("cargo: {error}"))?;
    let messages = String::from_utf8_lossy(&said.stderr);
    if !said.status.success() {
        return Err(format!("the C library could not be built: {}", messages.trim()));
    }
    let private = messages.lines().find_map(|line| Some(line.split_once("native-static-libs: ")?.1.to_owned()));
    copy_file(&built.join(link), &folder.join(&file))?;
    copy_file(&built.join("libtrilith.a"), &folder.join("libtrilith.a"))?;
    #[cfg(unix)]
    for name in [short.as_str(), link].into_iter().filter(|name| *name != file) {
        std::os::unix::fs::symlink(&file, folder.join(name)).map_err(|error| format!("{name}: {error}"))?;
    }
    private.ok_or_else(|| "rustc does not say what the static library needs".to_owned())
}

/// The part of a version that programs are linked with: before 1.0 a minor release may change the interface.
fn compatible_version(version: &str) -> String {
    let parts: Vec<&str> = version.split('.').collect();
    match parts.as_slice() {
        ["0", minor, ..] => format!("0.{minor}"),
        [major, ..] => (*major).to_owned(),
        [] => version.to_owned(),
    }
}

/// Compiles the short programs by what pkg-config says, with the shared and the static library, and runs them.
pub(super) fn try_out(place: &ReleasePlace, files: &[PathBuf], fresh: &Path) -> Result<(), String> {
    for file in files {
        unpack_archive(file, fresh)?;
    }
    let prefix = fresh.join(name_of(place));
    let programs = repository_root().join("crates/trilith-c/tests/programs");
    let flags = |words: &[&str]| -> Result<Vec<String>, String> {
        let mut ask = Command::new("pkg-config");
        ask.env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig")).args(words).arg("trilith");
        Ok(run_for_output(&mut ask)?.split_whitespace().map(str::to_owned).collect())
    };
    let module = prefix.join("share/fortran/trilith.f90");
    for (compiler, standard, source, before) in [
        ("cc", "-std=c99", "tour.c", None),
        ("c++", "-std=c++17", "tour.cpp", None),
        ("gfortran", "-std=f2008", "tour.f90", Some(&module)),
    ] {
        let name = source.replace('.', "-");
        let mut build = Command::new(compiler);
        build.current_dir(fresh).arg(standard).args(before).arg(programs.join(source)).args(flags(&["--cflags", "--libs"])?);
        run(build.arg("-o").arg(fresh.join(&name)))?;
        check_tour_output(
            Command::new(fresh.join(&name)).env("LD_LIBRARY_PATH", prefix.join("lib")),
            &fresh.join(format!("{name}.asdf")),
        )?;
    }
    let mut build = Command::new("cc");
    build.current_dir(fresh).arg(programs.join("tour.c")).args(flags(&["--cflags"])?).arg(prefix.join("lib/libtrilith.a"));
    let private = flags(&["--static", "--libs-only-l"])?.into_iter().filter(|flag| flag != "-ltrilith");
    run(build.args(private).arg("-o").arg(fresh.join("static")))?;
    check_tour_output(&mut Command::new(fresh.join("static")), &fresh.join("static.asdf"))
}

fn name_of(place: &ReleasePlace) -> String {
    format!("libtrilith-{}-{}", place.version, place.triple)
}

fn check_tour_output(program: &mut Command, file: &Path) -> Result<(), String> {
    let said = run_for_output(program.arg(file))?;
    let plain = crate::c::normalize_output(&said);
    if plain == TOUR { Ok(()) } else { Err(format!("{} said {said:?}", program.get_program().to_string_lossy())) }
}
