//! `trilith rm FILE#/p`: an item or an attribute gone.

use clap::Args;
use trilith::Result;

use crate::outcome::Outcome;
use crate::dashed_words::strip_mark;
use crate::session::Session;
use crate::save_options::{SaveArgs, apply};

/// Remove an item, an attribute or a FITS card, and the blocks of arrays that nothing else refers to
///
/// ASDF files and the headers of FITS files can be edited. FILE#/path@NAME is an attribute or a card. The attributes of an
/// item, and of all below it, go with it. With --in-place the file keeps the space of such a block for a later array. `repack` drops it.
#[derive(Debug, Args)]
#[command(alias = "delete")]
pub(crate) struct Rm {
    /// The file and the path of the item to remove; FILE#/path@NAME removes an attribute or a card
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
