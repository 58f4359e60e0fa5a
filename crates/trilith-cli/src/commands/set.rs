//! `trilith set FILE#/p VALUE`: one value of the tree changed, every other byte of it kept.

use clap::Args;
use trilith::Result;

use crate::Outcome;
use crate::options::Options;
use crate::rewrite::{Save, edit};

/// Set a value in the tree; comments, key order and everything else stay as they are
#[derive(Debug, Args)]
pub struct Set {
    /// The file and the path of what to set; a missing key is added
    #[arg(value_name = "FILE#/path", allow_hyphen_values = true)]
    item: String,
    /// The value, as YAML: 3, 1.5, text, '[1, 2]', '{a: 1}'
    #[arg(value_name = "VALUE", allow_hyphen_values = true)]
    value: String,
    /// The whole tag of the value
    #[arg(long, value_name = "TAG")]
    tag: Option<String>,
    #[command(flatten)]
    save: Save,
}

impl Set {
    /// Changes the file.
    pub fn run(&self, options: &Options) -> Result<Outcome> {
        edit(&self.item, options, &self.save, |edit, path, file| {
            edit.set_yaml(path, &self.value, self.tag.as_deref(), file.limits())
        })
    }
}
