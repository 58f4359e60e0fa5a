//! `cargo xtask emulate`: what another kind of processor makes of the same files.
//!
//! The library's tests and the command are compiled for it and run by qemu's emulation of a user's programs. Then the
//! command says the digests of every sample file there and here, which must be the same text.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::command::{build_program, cargo_command, run, target_dir};
use crate::fs::list_sample_files;

/// A kind of processor that programs here can be run for.
struct EmulatedTarget {
    /// The name in rustc.
    triple: &'static str,
    /// Compiler and linker for it.
    compiler: &'static str,
    /// Emulator for its programs.
    emulator: &'static str,
    /// Folder of the C library for the emulator, as in Debian's packages for cross compilation.
    root: &'static str,
}

const MACHINES: &[EmulatedTarget] = &[
    EmulatedTarget {
        triple: "s390x-unknown-linux-gnu",
        compiler: "s390x-linux-gnu-gcc",
        emulator: "qemu-s390x",
        root: "/usr/s390x-linux-gnu",
    },
    EmulatedTarget {
        triple: "i686-unknown-linux-gnu",
        compiler: "i686-linux-gnu-gcc",
        emulator: "qemu-i386",
        root: "/usr/i686-linux-gnu",
    },
];

/// Number of files in one call.
const FILES_PER_CALL: usize = 40;

/// Tests and digests on the processors that are named.
pub(crate) fn run_emulated_tests(names: &[String]) -> Result<(), String> {
    let known: Vec<&str> = MACHINES.iter().map(|machine| machine.triple).collect();
    if names.is_empty() {
        return Err(format!("name one or more of {}", known.join(", ")));
    }
    for name in names {
        let found = MACHINES.iter().find(|machine| machine.triple == name.as_str());
        let machine = found.ok_or_else(|| format!("{name:?} is not known here; there are {}", known.join(", ")))?;
        println!("\n==== {name}: tests ====");
        run(&mut machine.cross_cargo_command(&["test", "--package", "trilith", "--lib", "--tests"]))?;
        println!("\n==== {name}: digests ====");
        compare_digests(machine)?;
    }
    Ok(())
}

impl EmulatedTarget {
    /// Cargo for this processor.
    fn cross_cargo_command(&self, words: &[&str]) -> Command {
        let (word, upper) = (self.triple.replace('-', "_"), self.triple.replace('-', "_").to_uppercase());
        let mut command = cargo_command([]);
        command.args(words).args(["--locked", "--target", self.triple]);
        command.env(format!("CC_{word}"), self.compiler).env(format!("CARGO_TARGET_{upper}_LINKER"), self.compiler);
        command.env(format!("CARGO_TARGET_{upper}_RUNNER"), format!("{} -L {}", self.emulator, self.root));
        command
    }

    /// The emulator with a program.
    fn emulator_command(&self, program: &Path) -> Command {
        let mut command = Command::new(self.emulator);
        command.args(["-L", self.root]).arg(program);
        command
    }
}

fn compare_digests(machine: &EmulatedTarget) -> Result<(), String> {
    run(&mut machine.cross_cargo_command(&["build", "--package", "trilith-cli", "--bin", "trilith"]))?;
    let (here, there) = (build_program()?, target_dir().join(machine.triple).join("debug/trilith"));
    let files = list_sample_files()?;
    let mut arrays = 0;
    for some in files.chunks(FILES_PER_CALL) {
        let (ours, theirs) =
            (run_digest(&mut Command::new(&here), some)?, run_digest(&mut machine.emulator_command(&there), some)?);
        let (our_lines, their_lines) = (output_lines(&ours), output_lines(&theirs));
        if let Some((our, their)) = our_lines.iter().zip(&their_lines).find(|(our, their)| our != their) {
            return Err(format!("here {our:?}, on {} {their:?}", machine.triple));
        }
        if our_lines.len() != their_lines.len() || ours.status.code() != theirs.status.code() {
            let first = some.first().map(|file| file.display().to_string()).unwrap_or_default();
            return Err(format!("{} says more or less about the files from {first} on", machine.triple));
        }
        arrays += our_lines.len();
    }
    println!("{} files, {arrays} lines, the same on both", files.len());
    Ok(())
}

fn run_digest(program: &mut Command, files: &[PathBuf]) -> Result<Output, String> {
    program.arg("digest").args(files).output().map_err(|error| format!("{}: {error}", program.get_program().to_string_lossy()))
}

/// Returns the output, errors included: they name the file and the problem.
fn output_lines(output: &Output) -> Vec<String> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).lines().map(str::to_owned).collect::<Vec<_>>();
    [text(&output.stdout), text(&output.stderr)].concat()
}
