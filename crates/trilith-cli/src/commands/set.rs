//! `trilith set FILE#/p VALUE`: one value of the tree changed, every other byte of it kept; or an array with its block.

use clap::Args;
use trilith::asdf::ndarray::is_ndarray;
use trilith::Result;

use crate::Outcome;
use crate::options::Options;
use crate::rewrite::{FromArray, Save, Typed, change};

/// Set a value in the tree, or an array; comments, key order and everything else stay unchanged
///
/// With --from an array is stored in a separate block (in an exploded file, in a separate file) and the block of
/// the replaced array is removed, unless another refers to it. With --in-place the remaining blocks are not copied:
/// the new one takes the place of the old if it fits, else it is appended.
#[derive(Debug, Args)]
pub struct Set {
    /// The file and the path of the value to set; a missing key is added
    #[arg(value_name = "FILE#/path", allow_hyphen_values = true)]
    item: String,
    #[command(flatten)]
    typed: Typed,
    #[command(flatten)]
    array: FromArray,
    #[command(flatten)]
    save: Save,
}

impl Set {
    /// Changes the file.
    pub fn run(&self, options: &Options) -> Result<Outcome> {
        change(&self.item, options, &self.save, |change, path| {
            let file = change.file();
            match self.array.array(options)? {
                Some((array, how)) => change.set_array(path, &array, &how),
                None => {
                    let value = self.typed.value(change, path)?;
                    if file.tree().find(path).is_some_and(is_ndarray) {
                        options.warn(&format!("an array at {path} is replaced by a value; --from replaces it by another array"));
                    }
                    change.edit(|edit, _| edit.set(path, &value))
                }
            }
        })
    }
}
