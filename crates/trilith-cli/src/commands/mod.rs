//! One file per subcommand.

mod blocks;
mod describe;
mod digest;
mod info;
mod schema;
mod validate;

use clap::Subcommand;
use trilith::Result;

use crate::Outcome;
use crate::options::Options;

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    Info(info::Info),
    Blocks(blocks::Blocks),
    Digest(digest::Digest),
    Describe(describe::Describe),
    Schema(schema::Schema),
    Validate(validate::Validate),
}

impl Command {
    /// Does it.
    pub fn run(self, options: &Options) -> Result<Outcome> {
        match self {
            Command::Info(command) => command.run(options),
            Command::Blocks(command) => command.run(options),
            Command::Digest(command) => command.run(options),
            Command::Describe(command) => command.run(options),
            Command::Schema(command) => command.run(options),
            Command::Validate(command) => command.run(options),
        }
    }

    /// Whether a malformed file is an answer (exit status 1) and not a failure to answer (2).
    pub fn malformed_is_no(&self) -> bool {
        matches!(self, Command::Digest(_) | Command::Validate(_))
    }
}
