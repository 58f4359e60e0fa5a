//! `trilith history add FILE TEXT`: an entry of the history.

use clap::{Args, Subcommand};
use trilith::bytes::path_of;
use trilith::{Error, Result};

use crate::outcome::Outcome;
use crate::session::Session;
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
    pub(crate) fn run(&self, session: &Session<'_>) -> Result<Outcome> {
        let Action::Add { file, text, save } = &self.action;
        if path_of(text).is_file() {
            return Err(Error::invalid_input(format!("cannot add {text:?} to the history: it is the name of a file"))
                .hint("history add takes one FILE and a description of the change"));
        }
        apply(&format!("{file}#"), session, save, "entry added to the history", |change, _| change.add_history(text))
    }
}
