//! `trilith delete FILE#/p`: a key or an item gone, with the comment on its line.

use clap::Args;
use trilith::Result;

use crate::Outcome;
use crate::options::Options;
use crate::rewrite::{Save, edit};

/// Remove a key or an item from the tree; blocks stay (repack drops those that nothing refers to)
#[derive(Debug, Args)]
pub struct Delete {
    /// The file and the path of what to remove
    #[arg(value_name = "FILE#/path", allow_hyphen_values = true)]
    item: String,
    #[command(flatten)]
    save: Save,
}

impl Delete {
    /// Changes the file.
    pub fn run(&self, options: &Options) -> Result<Outcome> {
        edit(&self.item, options, &self.save, |edit, path, _| edit.delete(path))
    }
}
