//! The C interface: programs in C, C++ and Fortran, compiled with all warnings as errors and run with a sanitizer.

use std::path::PathBuf;
use std::process::Command;

use crate::command::{build_libraries, repository_root, run, run_for_output, target_dir};
use crate::fs::{self, list_sample_files};
use crate::test::{PartOutcome, TierSelection};

/// Output of each of the short programs, but for points and spaces.
pub(crate) const TOUR: &str = "3 4 masked 01 60 5";

/// Output of the program with the coordinates for `roman.asdf`.
const SKY: &str = "lon -89.934053407 deg\nlat 65.183226744 deg\npixel 2.000000 1.000000, inside 1, corner -89.934242 65.183270\n\
    WCSAXES =                    2";

/// Builds the library and runs the programs with it: first that in C, then those in C++ and Fortran and the one that misuses it.
pub(crate) fn run_c_tests(share: TierSelection) -> Result<PartOutcome, String> {
    let compilers: &[&str] = if share == TierSelection::First { &["cc"] } else { &["cc", "c++", "gfortran"] };
    for compiler in compilers {
        if let Err(reason) = run_for_output(Command::new(compiler).arg("--version")) {
            return Ok(PartOutcome::Skipped(format!("no {compiler}: {reason}")));
        }
    }
    let libraries = build_libraries()?;
    let folder = target_dir().join("c");
    fs::ensure_dir_exists(&folder)?;
    let package = repository_root().join("crates/trilith-c");
    let programs = package.join("tests/programs");
    let found = format!("-Wl,-rpath,{}", libraries.display());
    let linked = |build: &mut Command| run(build.arg("-L").arg(&libraries).args(["-ltrilith", &found]));
    let strict = ["-Wall", "-Wextra", "-Werror", "-pedantic", "-g", "-fsanitize=address"];
    let include = package.join("include");

    let tour = |compiler: &str, standard: &str, sources: &[PathBuf], name: &str| -> Result<(), String> {
        let program = folder.join(name);
        let mut build = Command::new(compiler);
        build.current_dir(&folder).arg(standard).args(strict).arg("-I").arg(&include).args(sources);
        linked(build.arg("-o").arg(&program))?;
        let said = run_for_output(Command::new(&program).arg(folder.join(format!("{name}.asdf"))))?;
        if normalize_output(&said) == TOUR { Ok(()) } else { Err(format!("{name} said {said:?}")) }
    };
    if share != TierSelection::Rest {
        tour("cc", "-std=c99", &[programs.join("tour.c")], "tour-c")?;
        let sky = folder.join("sky");
        let mut build = Command::new("cc");
        build.arg("-std=c99").args(strict).arg("-I").arg(&include).arg(programs.join("sky.c"));
        linked(build.arg("-o").arg(&sky))?;
        let said = run_for_output(Command::new(&sky).arg(programs.join("roman.asdf")).args(["/roman/data", "2", "1"]))?;
        if said.trim_end() != SKY {
            return Err(format!("sky said {said:?}"));
        }
    }
    if share == TierSelection::First {
        return Ok(PartOutcome::Passed);
    }
    tour("c++", "-std=c++17", &[programs.join("tour.cpp")], "tour-cpp")?;
    tour("gfortran", "-std=f2008", &[package.join("fortran/trilith.f90"), programs.join("tour.f90")], "tour-fortran")?;

    let misuse = folder.join("misuse");
    let mut build = Command::new("cc");
    build.arg("-std=c99").args(strict).arg("-I").arg(&include).arg(programs.join("misuse.c"));
    linked(build.arg("-o").arg(&misuse))?;
    let files = list_sample_files()?;
    println!("opening, reading and verifying {} files through C", files.len());
    for some in files.chunks(500) {
        run_for_output(Command::new(&misuse).args(some))?;
    }
    Ok(PartOutcome::Passed)
}

/// Returns the output of a program, without the parts that the languages print differently.
pub(crate) fn normalize_output(said: &str) -> String {
    said.replace(['.', ','], " ").split_whitespace().collect::<Vec<_>>().join(" ")
}
