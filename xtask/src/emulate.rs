//! `cargo xtask emulate`: what another kind of processor makes of the same files.
//!
//! The library's tests and the command are compiled for it and run by qemu's emulation of a user's programs. Then the
//! command says the digests of every sample file there and here, which must be the same text.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::command::{build_program, cargo, run, target};
use crate::fs::samples;

/// A kind of processor that programs here can be run for.
struct Machine {
    /// The name in rustc.
    triple: &'static str,
    /// Compiler and linker for it.
    compiler: &'static str,
    /// Emulator for its programs.
    emulator: &'static str,
    /// Folder of the C library for the emulator, as in Debian's packages for cross compilation.
    root: &'static str,
}

const MACHINES: &[Machine] = &[
    Machine {
        triple: "s390x-unknown-linux-gnu",
        compiler: "s390x-linux-gnu-gcc",
        emulator: "qemu-s390x",
        root: "/usr/s390x-linux-gnu",
    },
    Machine {
        triple: "i686-unknown-linux-gnu",
        compiler: "i686-linux-gnu-gcc",
        emulator: "qemu-i386",
        root: "/usr/i686-linux-gnu",
    },
];

/// Number of files in one call.
const AT_ONCE: usize = 40;

/// Tests and digests on the processors that are named.
pub(crate) fn emulate(names: &[String]) -> Result<(), String> {
    let known: Vec<&str> = MACHINES.iter().map(|machine| machine.triple).collect();
    if names.is_empty() {
        return Err(format!("name one or more of {}", known.join(", ")));
    }
    for name in names {
        let found = MACHINES.iter().find(|machine| machine.triple == name.as_str());
        let machine = found.ok_or_else(|| format!("{name:?} is not known here; there are {}", known.join(", ")))?;
        println!("\n==== {name}: tests ====");
        run(&mut machine.cargo(&["test", "--package", "trilith", "--lib", "--tests"]))?;
        println!("\n==== {name}: digests ====");
        compare_digests(machine)?;
    }
    Ok(())
}

impl Machine {
    /// Cargo for this processor.
    fn cargo(&self, words: &[&str]) -> Command {
        let (word, upper) = (self.triple.replace('-', "_"), self.triple.replace('-', "_").to_uppercase());
        let mut command = cargo([]);
        command.args(words).args(["--locked", "--target", self.triple]);
        command.env(format!("CC_{word}"), self.compiler).env(format!("CARGO_TARGET_{upper}_LINKER"), self.compiler);
        command.env(format!("CARGO_TARGET_{upper}_RUNNER"), format!("{} -L {}", self.emulator, self.root));
        command
    }

    /// The emulator with a program.
    fn running(&self, program: &Path) -> Command {
        let mut command = Command::new(self.emulator);
        command.args(["-L", self.root]).arg(program);
        command
    }
}

fn compare_digests(machine: &Machine) -> Result<(), String> {
    run(&mut machine.cargo(&["build", "--package", "trilith-cli", "--bin", "trilith"]))?;
    let (here, there) = (build_program()?, target().join(machine.triple).join("debug/trilith"));
    let files = samples()?;
    let mut arrays = 0;
    for some in files.chunks(AT_ONCE) {
        let (ours, theirs) = (digests(&mut Command::new(&here), some)?, digests(&mut machine.running(&there), some)?);
        let (our_lines, their_lines) = (lines(&ours), lines(&theirs));
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

fn digests(program: &mut Command, files: &[PathBuf]) -> Result<Output, String> {
    program.arg("digest").args(files).output().map_err(|error| format!("{}: {error}", program.get_program().to_string_lossy()))
}

/// Returns the output, errors included: they name the file and the problem.
fn lines(output: &Output) -> Vec<String> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).lines().map(str::to_owned).collect::<Vec<_>>();
    [text(&output.stdout), text(&output.stderr)].concat()
}
