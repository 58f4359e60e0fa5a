//! One file per subcommand.

mod append;
mod blocks;
mod convert;
mod delete;
mod diff;
mod digest;
mod edit;
mod explode;
mod get;
mod history;
mod implode;
mod info;
mod insert;
mod manual;
mod refs;
mod rename;
mod repack;
mod search;
mod set;
mod to_yaml;
mod tour;
mod tree;
mod update;
mod verify;

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
    Tree(tree::Tree),
    Get(get::Get),
    ToYaml(to_yaml::ToYaml),
    Tour(tour::Tour),
    Completions(manual::Completions),
    Man(manual::Man),
    Verify(verify::Verify),
    Convert(convert::Convert),
    Diff(diff::Diff),
    Search(search::Search),
    Append(append::Append),
    Explode(explode::Explode),
    Implode(implode::Implode),
    Repack(repack::Repack),
    Delete(delete::Delete),
    Edit(edit::Edit),
    History(history::History),
    Insert(insert::Insert),
    Refs(refs::Refs),
    Rename(rename::Rename),
    Set(set::Set),
    Update(update::Update),
}

impl Command {
    /// Does it.
    pub fn run(self, options: &Options) -> Result<Outcome> {
        match self {
            Command::Info(command) => command.run(options),
            Command::Blocks(command) => command.run(options),
            Command::Digest(command) => command.run(options),
            Command::Diff(command) => command.run(options),
            Command::Search(command) => command.run(options),
            Command::Append(command) => command.run(options),
            Command::Explode(command) => command.run(options),
            Command::Implode(command) => command.run(options),
            Command::Repack(command) => command.run(options),
            Command::Delete(command) => command.run(options),
            Command::Edit(command) => command.run(options),
            Command::History(command) => command.run(options),
            Command::Insert(command) => command.run(options),
            Command::Refs(command) => command.run(options),
            Command::Rename(command) => command.run(options),
            Command::Set(command) => command.run(options),
            Command::Update(command) => command.run(options),
            Command::Tour(command) => command.run(options),
            Command::Completions(command) => command.run(),
            Command::Man(command) => command.run(),
            Command::Tree(command) => command.run(options),
            Command::Get(command) => command.run(options),
            Command::ToYaml(command) => command.run(options),
            Command::Verify(command) => command.run(options),
            Command::Convert(command) => command.run(options),
        }
    }

    /// Whether a malformed file is an answer (exit status 1) and not a failure to answer (2).
    pub fn malformed_is_no(&self) -> bool {
        matches!(self, Command::Digest(_) | Command::Verify(_))
    }
}
