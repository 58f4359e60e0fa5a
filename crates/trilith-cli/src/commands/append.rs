//! `trilith append FILE#/table ROWS.npy`: rows added to a streamed array.

use clap::Args;
use serde_json::json;
use trilith::array::Array;
use trilith_io::error::count_noun;
use trilith::asdf::append_rows;
use trilith::bytes::{path_of, retry_if_replaced};
use trilith::dudley::{DudleyFile, LayoutOrigin, Signature, append_variables};
use trilith::{Error, Result};

use crate::outcome::Outcome;
use crate::dashed_words::strip_mark;
use crate::item_arg::ItemArg;
use crate::session::{FileRole, Session, name_file};
use crate::output::{eprint_line, display_size};
use crate::outputs::report_written;

/// Add rows to a streamed array, at the end of its file; a crash leaves the old rows
///
/// In an exploded file, the rows go into the file of the array. In a Dudley file, append to a list, which gets one item
/// for each row, or to the last array, if the file stores its first dimension. NAME=ROWS.npy appends several variables, all or
/// none of them. Several processes can append to one Dudley file, because each waits for the others.
#[derive(Debug, Args)]
pub(crate) struct Append {
    /// The file and the path of a streamed array; leave the path out if the rows have names
    #[arg(value_name = "FILE#/path", value_parser = strip_mark)]
    item: String,
    /// The rows, as a .npy file of the same datatype and row shape; in a Dudley file also several, as
    /// te=te.npy time=t.npy
    #[arg(value_name = "ROWS.npy", required = true)]
    rows: Vec<String>,
}

impl Append {
    /// Adds the rows.
    pub(crate) fn run(&self, session: &Session<'_>) -> Result<Outcome> {
        let item = ItemArg::parse(&self.item);
        let file = retry_if_replaced(|| session.open(&item.file, FileRole::Any))?;
        if file.as_dudley().is_some() {
            return self.to_stream(file.into_dudley()?, &item, session);
        }
        let file = file.into_asdf()?;
        let [rows] = self.rows.as_slice() else {
            return Err(Error::invalid_input("an ASDF file takes the rows of one array at a time"));
        };
        let rows = Array::from_npy(session.open_source(rows)?, session.limits())?;
        let name = append_rows(&file, item.path(), &rows).map_err(|error| name_file(error, &item.file))?;
        let count = rows.shape().first().copied().unwrap_or(0);
        report_written(&name, &json!({"file": name, "added": count}), &format!("{name}: {} added", count_noun(count, "row")), session)?;
        Ok(Outcome::Success)
    }

    fn to_stream(&self, file: DudleyFile, item: &ItemArg, session: &Session<'_>) -> Result<Outcome> {
        let limits = session.limits();
        let mut variables = Vec::new();
        for rows in &self.rows {
            let named = rows.split_once('=').filter(|_| !path_of(rows).exists());
            let (path, name) = match named {
                Some((name, file)) => (format!("{}/{}", item.path().trim_end_matches('/'), name.trim_start_matches('/')), file),
                None if self.rows.len() == 1 => (item.path().to_owned(), rows.as_str()),
                None => return Err(Error::invalid_input(format!("{rows} does not name the variable of its records"))
                    .hint("write several as NAME=ROWS.npy")),
            };
            let rows = Array::from_npy(session.open_source(name)?, limits).map_err(|e| e.context(name.to_owned()))?;
            variables.push((path, rows));
        }
        let outside = match file.origin() {
            LayoutOrigin::Embedded(_) => None,
            LayoutOrigin::Sidecar(name) => Some(name.clone()),
            LayoutOrigin::Supplied => session.args.under.clone(),
            LayoutOrigin::Derived(format) => {
                return Err(Error::unsupported(format!("{format} files are read, but not written"))
                    .hint("convert it first: trilith convert FILE OUT.asdf"));
            }
        };
        // Closed before it is written: another may have to undo an update first.
        drop(file);
        let written = append_variables(&path_of(&item.file), &variables, &session.stream_options()?, limits)?;
        let count = variables.first().and_then(|(_, rows)| rows.shape().first().copied()).unwrap_or(0);
        let report = json!({"file": item.file, "added": count, "size": written});
        let line = format!("{}: {} added, {}", item.file, count_noun(count, "record"), display_size(written));
        report_written(&item.file, &report, &line, session)?;
        if session.args.quiet {
            return Ok(Outcome::Success);
        }
        if let Some(outside) = outside
            && Signature::read(&*session.open_source(&item.file)?)?.is_some_and(|signature| signature.layout_offset.is_some())
        {
            eprint_line(&format!("{} now has its layout at its end; {outside} still describes the old content", item.file));
        }
        Ok(Outcome::Success)
    }
}
