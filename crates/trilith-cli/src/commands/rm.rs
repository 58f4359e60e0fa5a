//! `trilith rm FILE#/p`: a key or an item gone, with the comment on its line.

use clap::Args;
use trilith::Result;

use crate::outcome::Outcome;
use crate::dashed_words::strip_mark;
use crate::session::Session;
use crate::save_options::{SaveArgs, apply};

/// Remove a key or an item from the tree, and the blocks of its arrays that nothing else refers to
///
/// With --in-place the file keeps the space of such a block for a later array. `repack` drops it.
#[derive(Debug, Args)]
#[command(alias = "delete")]
pub(crate) struct Rm {
    /// The file and the path of the key or item to remove
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
