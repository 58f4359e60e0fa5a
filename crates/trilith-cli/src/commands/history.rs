//! `trilith history add FILE TEXT`: an entry of the history.

use clap::{Args, Subcommand};
use trilith::Result;

use crate::Outcome;
use crate::options::Options;
use crate::save_options::{SaveArgs, apply};

/// Add to the history of a file
#[derive(Debug, Args)]
pub(crate) struct History {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Add an entry with the current time (or SOURCE_DATE_EPOCH)
    Add {
        /// The file to change
        #[arg(value_name = "FILE")]
        file: String,
        /// Description of the change
        #[arg(value_name = "TEXT")]
        text: String,
        #[command(flatten)]
        save: SaveArgs,
    },
}

impl History {
    /// Changes the file.
    pub(crate) fn run(&self, options: &Options) -> Result<Outcome> {
        let Action::Add { file, text, save } = &self.action;
        apply(&format!("{file}#"), options, save, |change, _| change.add_history(text))
    }
}
