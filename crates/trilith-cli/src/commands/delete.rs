//! `trilith delete FILE#/p`: a key or an item gone, with the comment on its line.

use clap::Args;
use trilith::Result;

use crate::Outcome;
use crate::options::Options;
use crate::save_options::{SaveArgs, apply};

/// Remove a key or an item from the tree, and the blocks of its arrays that nothing else refers to
///
/// With --in-place the space of such a block is kept for a later array; repack drops it.
#[derive(Debug, Args)]
pub(crate) struct Delete {
    /// The file and the path of the key or item to remove
    #[arg(value_name = "FILE#/path", allow_hyphen_values = true)]
    item: String,
    #[command(flatten)]
    save: SaveArgs,
}

impl Delete {
    /// Changes the file.
    pub(crate) fn run(&self, options: &Options) -> Result<Outcome> {
        apply(&self.item, options, &self.save, |change, path| change.delete(path))
    }
}
