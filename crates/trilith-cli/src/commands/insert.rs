//! `trilith insert FILE#/p VALUE`: a new key, or an item of a sequence (`/-` at its end).

use clap::Args;
use trilith::Result;

use crate::outcome::Outcome;
use crate::dashed_words::strip_mark;
use crate::session::Session;
use crate::save_options::{ArrayArg, SaveArgs, ValueArg, apply};

/// Add a key to a mapping, or an item to a sequence: a value, or an array in a separate block
#[derive(Debug, Args)]
pub(crate) struct Insert {
    /// The file and the path of the addition: a new key, the number to insert before, or - for the end. A FITS card is an
    /// attribute of its HDU: /fits/0@OBSERVER
    #[arg(value_name = "FILE#/path", value_parser = strip_mark)]
    item: String,
    #[command(flatten)]
    typed: ValueArg,
    #[command(flatten)]
    array: ArrayArg,
    #[command(flatten)]
    save: SaveArgs,
}

impl Insert {
    /// Changes the file.
    pub(crate) fn run(&self, session: &Session<'_>) -> Result<Outcome> {
        let done = if self.array.describe_change().is_some() { "array inserted".to_owned() } else { self.typed.describe_change("inserted") };
        apply(&self.item, session, &self.save, &done, |change, path| {
            if let Some((array, how)) = self.array.open_array(session)? {
                return change.insert_array(path, &array, &how);
            }
            let value = self.typed.parse_value(change, path)?;
            change.insert(path, value)
        })
    }
}
