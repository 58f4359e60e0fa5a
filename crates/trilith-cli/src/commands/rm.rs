//! `trilith rm FILE#/p`: an item or a card gone.

use clap::Args;
use trilith::Result;

use crate::outcome::Outcome;
use crate::dashed_words::strip_mark;
use crate::session::Session;
use crate::save_options::{SaveArgs, apply};

/// Remove an item or a FITS card, and the blocks of arrays that nothing else refers to
///
/// ASDF files and the headers of FITS files can be edited. The attributes of an item, and of all below it, go with it. With
/// --in-place the file keeps the space of such a block for a later array. `repack` drops it.
#[derive(Debug, Args)]
#[command(alias = "delete")]
pub(crate) struct Rm {
    /// The file and the path of the item to remove. A FITS card is an attribute of its HDU: /fits/0@OBSERVER
    #[arg(value_name = "FILE#/path", value_parser = strip_mark)]
    item: String,
    #[command(flatten)]
    save: SaveArgs,
}

impl Rm {
    /// Changes the file.
    pub(crate) fn run(&self, session: &Session<'_>) -> Result<Outcome> {
        apply(&self.item, session, &self.save, "removed", |change, path| change.delete(path))
    }
}
