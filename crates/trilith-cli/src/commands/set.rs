//! `trilith set FILE#/p VALUE`: one value of the tree changed, every other byte of it kept; or an array with its block.

use clap::Args;
use trilith::asdf::is_ndarray;
use trilith::bytes::path_of;
use trilith::dudley::{NewElements, replace_elements};
use trilith_io::error::count_noun;
use trilith::tree::{Scalar, Tree};
use trilith::{Error, Result, TreePath};

use crate::outcome::Outcome;
use crate::dashed_words::strip_mark;
use crate::item_arg::ItemArg;
use crate::session::Session;
use crate::output::Output;
use crate::save_options::{ArrayArg, SaveArgs, ValueArg, apply, print_change};

/// Set a value in the tree, or an array; comments, key order and everything else stay unchanged
///
/// ASDF files, the headers of FITS files and elements under a Dudley layout can be edited. With --from an array is stored in a
/// separate block (in an exploded file, in a separate file) and the block of the replaced array is removed, unless another refers
/// to it. With --in-place the remaining blocks are not copied: the new one takes the place of the old if it fits, else it is
/// appended. An item of a Dudley file, or of a raw file under --layout, gets its new elements in their place. A VALUE replaces no array unless --replace is given; --fill writes it into each element.
#[derive(Debug, Args)]
pub(crate) struct Set {
    /// The file and the path of the value to set; a missing key is added. A FITS card is an attribute of its HDU: /fits/0@OBSERVER
    #[arg(value_name = "FILE#/path", value_parser = strip_mark)]
    item: String,
    #[command(flatten)]
    typed: ValueArg,
    /// Let VALUE replace an array, or a mapping or list with arrays in it, which are removed
    #[arg(long, conflicts_with = "from")]
    replace: bool,
    /// Write VALUE into every element of an array; datatype and shape stay, and its mask is removed
    #[arg(long, conflicts_with_all = ["from", "replace", "tag"])]
    fill: bool,
    #[command(flatten)]
    array: ArrayArg,
    #[command(flatten)]
    save: SaveArgs,
}

impl Set {
    /// Changes the file.
    pub(crate) fn run(&self, session: &Session<'_>) -> Result<Outcome> {
        if let Some(outcome) = self.set_in_stream(session)? {
            return Ok(outcome);
        }
        apply(&self.item, session, &self.save, &self.describe_change(), |change, path| {
            match self.array.open_array(session)? {
                Some((array, how)) => change.set_array(path, &array, &how),
                None => {
                    let value = self.typed.parse_value(change, path)?;
                    if self.fill {
                        return change.fill_array(path, &value);
                    }
                    if !self.replace {
                        check_arrays(change.tree()?, path)?;
                    }
                    let before = scalar_type(change.tree()?, path);
                    change.set(path, value)?;
                    let after = scalar_type(change.tree()?, path);
                    if !self.typed.is_string() {
                        self.warn_of_type(before, after, session);
                    }
                    Ok(())
                }
            }
        })
    }
}

impl Set {
    /// Says what is done with the item.
    fn describe_change(&self) -> String {
        let verb = if self.fill { "every element set to" } else { "set to" };
        self.array.describe_change().unwrap_or_else(|| self.typed.describe_change(verb))
    }

    /// Warns if a scalar that was a number is text now, or the like: a program that reads it may not expect that.
    fn warn_of_type(&self, before: Option<ScalarType>, after: Option<ScalarType>, session: &Session<'_>) {
        if let (Some(before), Some(after)) = (before, after)
            && before.name != after.name
            && !(before.is_number && after.is_number)
        {
            session.warn(&format!("{}: the type changed from {} to {}", self.item, before.name, after.name));
        }
    }

    /// Replaces the elements of an item of a file under a layout; returns None for any other file.
    fn set_in_stream(&self, session: &Session<'_>) -> Result<Option<Outcome>> {
        let item = ItemArg::parse(&self.item);
        let Some(path) = item.path.as_deref() else { return Ok(None) };
        if !session.is_dudley(&item.file) {
            return Ok(None);
        }
        self.save.check_in_place(&item.file)?;
        let content = match (self.array.open_array(session)?, self.typed.text()) {
            (Some((array, _)), _) => NewElements::Array(array),
            (None, Some(text)) if self.fill => NewElements::Fill(text.to_owned()),
            (None, Some(text)) => NewElements::Value(text.to_owned()),
            (None, None) => return Err(Error::invalid_input("neither a value nor --from")),
        };
        let limits = session.limits();
        replace_elements(&path_of(&item.file), &[(path.to_owned(), content)], &session.stream_options()?, limits)?;
        if session.args.json {
            Output::print_json(&serde_json::json!({"file": item.file, "changed": true, "in_place": true}))?;
        } else {
            print_change(&item.file, path, &format!("{} in place", self.describe_change()), session);
        }
        Ok(Some(Outcome::Success))
    }
}

/// The type of a scalar in the words of messages.
struct ScalarType {
    name: &'static str,
    is_number: bool,
}

/// The type of a scalar, or of the value of a card; None for null, and for anything else.
fn scalar_type(tree: &Tree, path: &TreePath) -> Option<ScalarType> {
    let node = tree.find(&tree.card_path(path).unwrap_or_else(|_| path.clone())).filter(|node| node.is_scalar())?;
    let (name, is_number) = match node.scalar() {
        Scalar::Int(_) | Scalar::BigInt(_) => ("integer", true),
        Scalar::Float(_) => ("float", true),
        Scalar::Bool(_) => ("boolean", false),
        Scalar::Str(_) | Scalar::Timestamp(_) => ("text", false),
        _ => return None,
    };
    Some(ScalarType { name, is_number })
}

/// Refuses to put a value in the place of arrays, whose elements would be lost.
fn check_arrays(tree: &Tree, path: &TreePath) -> Result<()> {
    let Some(node) = tree.find(path) else { return Ok(()) };
    let limits = trilith::Limits::default();
    let mut walk = node.walk(&limits);
    let mut arrays = 0;
    while let Some(visit) = walk.try_next()? {
        if is_ndarray(visit.node) {
            arrays += 1;
            walk.skip_children();
        }
    }
    let what = match arrays {
        0 => return Ok(()),
        _ if is_ndarray(node) => "an array is there".to_owned(),
        _ => format!("{} would be removed", count_noun(arrays, "array")),
    };
    Err(Error::unsupported(format!("cannot set {path} to a value: {what}"))
        .hint("--fill writes VALUE into each element, --from replaces an array by another one, --replace removes it"))
}
