//! The `trilith` command: a thin edge over the library, as a function that the binary and the Python
//! package call.
//!
//! One file per subcommand in `commands/`. Exit status: 0 yes or done, 1 no (different, invalid,
//! nothing found, refused), 2 could not tell.

mod commands;
mod conform;
mod item;
mod json;
mod options;
mod output;
mod outputs;
mod progress;
mod rewrite;
mod target;
mod words;

use std::ffi::OsString;

use clap::Parser;
use trilith::{Error, Kind};

use crate::commands::Command;
use crate::options::Options;

/// What a command found, for the exit status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// Yes, or done: exit status 0.
    Yes,
    /// No: different, invalid, nothing found, refused: exit status 1.
    No,
}

/// Look into, read, convert and verify self-describing scientific array files.
#[derive(Debug, Parser)]
#[command(name = "trilith", version, propagate_version = true, max_term_width = 100)]
struct Cli {
    #[command(flatten)]
    options: Options,
    #[command(subcommand)]
    command: Command,
}

/// The command with all its subcommands and options, for tests that must not forget one.
#[must_use]
pub fn command() -> clap::Command {
    <Cli as clap::CommandFactory>::command()
}

/// Runs the command with these words, its own name first, and returns the exit status.
pub fn run(words: impl IntoIterator<Item = OsString>) -> u8 {
    let mut cli = match Cli::try_parse_from(words) {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            return if error.use_stderr() { 2 } else { 0 };
        }
    };
    let malformed_is_no = cli.command.malformed_is_no();
    cli.options.whole = cli.command.reads_all();
    cli.options.instead = cli.command.instead();
    let done = cli.options.prepare().and_then(|()| cli.command.run(&cli.options));
    cli.options.warn_of_references();
    match done {
        Ok(Outcome::Yes) => 0,
        Ok(Outcome::No) => 1,
        // Whoever reads our output has seen enough.
        Err(error) if output::is_broken_pipe(&error) => 0,
        Err(error) => {
            report(&error);
            if malformed_is_no && error.kind() == Kind::Malformed { 1 } else { 2 }
        }
    }
}

/// Prints an error for a person, on stderr.
fn report(error: &Error) {
    output::note(&format!("trilith: {}", words::said(error)));
}
