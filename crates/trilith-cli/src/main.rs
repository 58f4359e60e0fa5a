//! The `trilith` command: a thin edge over the library.
//!
//! One file per subcommand in `commands/`. Exit status: 0 yes or done, 1 no (different, invalid,
//! nothing found, refused), 2 could not tell.

mod commands;
mod item;
mod json;
mod moved;
mod options;
mod output;
mod progress;
mod rewrite;
mod target;

use std::process::ExitCode;

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

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
        }
    };
    let malformed_is_no = cli.command.malformed_is_no();
    match cli.options.prepare().and_then(|()| cli.command.run(&cli.options)) {
        Ok(Outcome::Yes) => ExitCode::SUCCESS,
        Ok(Outcome::No) => ExitCode::from(1),
        // Whoever reads our output has seen enough.
        Err(error) if output::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            report(&error);
            ExitCode::from(if malformed_is_no && error.kind() == Kind::Malformed { 1 } else { 2 })
        }
    }
}

/// Prints an error for a person, on stderr.
fn report(error: &Error) {
    output::note(&format!("trilith: {error}"));
}
