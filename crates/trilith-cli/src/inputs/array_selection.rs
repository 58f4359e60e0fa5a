//! Items and what is taken of them: the arguments that commands on arrays share.

use clap::Args;
use trilith::array::Index;
use trilith::file::{Item, ItemKind, missing_column_error, table_columns};
use trilith::{Array, Error, Result};

use super::{ArgumentKind, FileJob, FileListArgs, ItemCheck, all_arguments, is_several, run_checked};
use crate::dashed_words::strip_mark;
use crate::item_arg::ItemArg;
use crate::outcome::Outcome;
use crate::outputs::{ClaimedOutputs, OutputTemplate};
use crate::session::Session;

/// The items that a command works on, and the part of each array that it takes.
#[derive(Debug, Args)]
pub(crate) struct ArraySelection {
    /// Files, folders, patterns and URLs, each with an optional #/path
    #[arg(value_name = "FILE#/path", required_unless_present = "files_from", value_parser = strip_mark)]
    item: Option<String>,
    /// More files, folders, patterns and URLs
    #[arg(value_name = "MORE")]
    more: Vec<String>,
    #[command(flatten)]
    pub many: FileListArgs,
    /// The slice of each axis, in numpy notation: 0:10,5,::2
    #[arg(short, long, value_name = "SLICE", allow_hyphen_values = true)]
    slice: Option<String>,
    /// One field of a structured array, or one column of a table
    #[arg(long, value_name = "NAME")]
    pub field: Option<String>,
}

impl ArraySelection {
    /// The arguments that name items.
    pub(crate) fn item_arguments(&self) -> Vec<String> {
        all_arguments(self.item.as_ref(), &self.more)
    }

    /// Returns `true` if there may be several files.
    pub(crate) fn is_several(&self) -> bool {
        is_several(&self.item_arguments(), ArgumentKind::Items, &self.many)
    }

    /// The slice that is asked for.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](trilith::ErrorKind::InvalidInput) if it is not one.
    pub(crate) fn parse_slice(&self) -> Result<Option<Vec<Index>>> {
        self.slice.as_deref().map(Index::parse_list).transpose()
    }

    /// Takes only the first elements along the first axis.
    pub(crate) fn take_first(&mut self, count: u64) {
        self.slice = Some(format!("0:{count}"));
    }

    /// Returns `true` if only a part of an array is selected.
    pub(crate) fn is_part(&self) -> bool {
        self.slice.is_some() || self.field.is_some()
    }

    /// Returns the column of `--field` if the item is a table of separate columns, else the item; and the field that is still to
    /// be taken of its array.
    ///
    /// # Errors
    /// Returns an error if the table has no such column.
    pub(crate) fn column_of<'f>(&self, item: Item<'f>) -> Result<(Item<'f>, Option<&str>)> {
        match &self.field {
            Some(name) if item.kind() == ItemKind::Mapping && table_columns(&item)?.is_some() => match item.get(name)? {
                Some(column) => Ok((column, None)),
                None => Err(explain_one_field(missing_column_error(&item, name), name)),
            },
            field => Ok((item, field.as_deref())),
        }
    }

    /// The part of an array: first a field, then the slice.
    ///
    /// # Errors
    /// Returns an error if the array has no such field, or no such elements.
    pub(crate) fn apply(&self, mut array: Array, field: Option<&str>) -> Result<Array> {
        if let Some(name) = field {
            array = array.field(name).map_err(|error| explain_one_field(error, name))?;
        }
        match self.parse_slice()? {
            Some(slice) => array.slice(&slice),
            None => Ok(array),
        }
    }

    /// Does `work` on each item. If `outputs` names files, each item has a separate one: no two are written to the
    /// same, and none of them may be read.
    ///
    /// # Errors
    /// Returns the errors of [`run_checked`], and [`ErrorKind::InvalidInput`](trilith::ErrorKind::InvalidInput) if several items
    /// have one output.
    pub(crate) fn run(
        &self,
        outputs: OutputTemplate<'_>,
        session: &Session<'_>,
        work: impl Fn(&mut FileJob<'_>) -> Result<Outcome> + Sync,
    ) -> Result<Outcome> {
        run_each(&self.item_arguments(), ArgumentKind::Items, &self.many, outputs, session, work)
    }
}

/// Adds to the error of a field that is missing that a list of fields is none.
fn explain_one_field(error: Error, name: &str) -> Error {
    if !name.contains(',') || !error.kind().is_request() {
        return error;
    }
    let columns: Vec<String> = name.split(',').map(|part| format!("-c {}", part.trim())).collect();
    error.add_hint(format!("--field takes one column; for several run trilith table FILE#/path {}", columns.join(" ")))
}

/// Does the same as [`run_checked`], for a command that writes a file for each item: no two are written to the same,
/// and none of them may be read.
///
/// # Errors
/// Returns the errors of [`run_checked`], and [`ErrorKind::InvalidInput`](trilith::ErrorKind::InvalidInput) if several items have
/// one output.
pub(crate) fn run_each(
    arguments: &[String],
    form: ArgumentKind,
    many: &FileListArgs,
    outputs: OutputTemplate<'_>,
    session: &Session<'_>,
    work: impl Fn(&mut FileJob<'_>) -> Result<Outcome> + Sync,
) -> Result<Outcome> {
    if is_several(arguments, form, many) {
        outputs.check_several()?;
    }
    let mut claims = ClaimedOutputs::new(outputs);
    let mut admit = |item: &ItemArg| claims.claim_outputs(item);
    let admit: Option<ItemCheck<'_>> = if outputs.output_path().is_some() { Some(&mut admit) } else { None };
    run_checked(arguments, form, many, session, admit, work)
}
