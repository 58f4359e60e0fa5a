//! `trilith mv FILE#/p NAME`: a key under another name, at its place.

use clap::Args;
use trilith::{Error, Result};

use crate::outcome::Outcome;
use crate::dashed_words::strip_mark;
use crate::session::Session;
use crate::save_options::{SaveArgs, apply};

/// Rename an item or a FITS card
///
/// ASDF files and the headers of FITS files can be edited. The attributes of an item, and of all below it, move with it, and
/// references and names of axes in the attributes of other items follow.
#[derive(Debug, Args)]
#[command(alias = "rename")]
pub(crate) struct Mv {
    /// The file and the path of the item. A FITS card is an attribute of its HDU: /fits/0@OBSERVER
    #[arg(value_name = "FILE#/path", value_parser = strip_mark)]
    item: String,
    /// The new name of the item or the card; no path
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    save: SaveArgs,
}

impl Mv {
    /// Changes the file.
    pub(crate) fn run(&self, session: &Session<'_>) -> Result<Outcome> {
        if self.name.contains('/') {
            let message = format!("cannot rename to {:?}: NAME is a key of the same mapping, not a path", self.name);
            return Err(Error::invalid_input(message).hint("set FILE#/path --from FILE#/path copies an array to another place"));
        }
        let done = format!("renamed to {}", self.name);
        apply(&self.item, session, &self.save, &done, |change, path| change.rename(path, &self.name))
    }
}
