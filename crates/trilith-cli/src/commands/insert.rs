//! `trilith insert FILE#/p VALUE`: a new key, or an item of a sequence (`/-` at its end).

use clap::Args;
use trilith::Result;

use crate::Outcome;
use crate::options::Options;
use crate::rewrite::{Save, edit};

/// Add a key to a mapping, or an item to a sequence
#[derive(Debug, Args)]
pub struct Insert {
    /// The file and the path of what to add: a new key, the number to insert before, or - for the end
    #[arg(value_name = "FILE#/path", allow_hyphen_values = true)]
    item: String,
    /// The value, as YAML
    #[arg(value_name = "VALUE", allow_hyphen_values = true)]
    value: String,
    /// The whole tag of the value
    #[arg(long, value_name = "TAG")]
    tag: Option<String>,
    #[command(flatten)]
    save: Save,
}

impl Insert {
    /// Changes the file.
    pub fn run(&self, options: &Options) -> Result<Outcome> {
        edit(&self.item, options, &self.save, |edit, path, file| {
            let mut value = file.tree().parse_value(&self.value, file.limits())?;
            if let Some(tag) = &self.tag {
                value.tag = Some(tag.clone());
            }
            edit.insert(path, &value)
        })
    }
}
