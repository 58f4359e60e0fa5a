//! `trilith insert FILE#/p VALUE`: a new key, or an item of a sequence (`/-` at its end).

use clap::Args;
use trilith::{Error, Result};

use crate::Outcome;
use crate::options::Options;
use crate::rewrite::{FromArray, Save, change, new_value};

/// Add a key to a mapping, or an item to a sequence: a value, or an array with a block of its own
#[derive(Debug, Args)]
pub struct Insert {
    /// The file and the path of what to add: a new key, the number to insert before, or - for the end
    #[arg(value_name = "FILE#/path", allow_hyphen_values = true)]
    item: String,
    /// The value, as YAML
    #[arg(value_name = "VALUE", allow_hyphen_values = true, required_unless_present = "from", conflicts_with = "from")]
    value: Option<String>,
    /// The whole tag of the value
    #[arg(long, value_name = "TAG")]
    tag: Option<String>,
    #[command(flatten)]
    array: FromArray,
    #[command(flatten)]
    save: Save,
}

impl Insert {
    /// Changes the file.
    pub fn run(&self, options: &Options) -> Result<Outcome> {
        change(&self.item, options, &self.save, |change, path| {
            let file = change.file();
            let value = match (self.array.array(options)?, &self.value) {
                (Some((array, how)), _) => return change.insert_array(path, &array, &how),
                (None, Some(value)) => value,
                (None, None) => return Err(Error::usage("neither a value nor --from")),
            };
            let value = new_value(file, value, self.tag.as_deref())?;
            change.add(|edit, _| edit.insert(path, &value))
        })
    }
}
