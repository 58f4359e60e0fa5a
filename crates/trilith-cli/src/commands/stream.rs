//! `trilith stream FILE#/path`: rows from standard input, kept in a streamed block as they come.

use std::io::{IsTerminal, stdin};
use trilith::bytes::path_of;
use std::time::Duration;

use clap::Args;
use serde_json::json;
use trilith::asdf::{ArrayOptions, Target, datatype_named};
use trilith::change::{RowReport, RowOptions, RowWriter, finalise};
use trilith_io::limits::parse_size;
use trilith::{Error, ErrorKind, Result};

use crate::outcome::Outcome;
use crate::dashed_words::strip_mark;
use crate::item_arg::ItemArg;
use crate::session::{FileRole, Session};
use crate::output::display_size;
use crate::outputs::{FileFormat, check_name, is_stream, report_written};

/// Add rows from standard input to a streamed array, and create the array if it does not exist
///
/// Standard input contains only the elements, row after row in C order. The command writes them at checkpoints, and syncs
/// each one. A crash leaves the complete rows of the last checkpoint. The file must be new, or have no streamed block
/// yet. --finalise gives the block its sizes, a checksum and a place in the block index, for readers that do not support
/// streamed blocks.
#[derive(Debug, Args)]
pub(crate) struct Stream {
    /// The file, and the path of the array in its tree
    #[arg(value_name = "FILE#/path", value_parser = strip_mark)]
    item: String,
    /// Datatype of the elements: float32, [ascii, 8], a list of fields as in a tree, or numpy's name (>f4)
    #[arg(long, value_name = "TYPE")]
    dtype: Option<String>,
    /// Shape of one row, such as 3,4 (default: rows are single elements)
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    row_shape: Option<Vec<u64>>,
    /// Version of a new file (default: asdf-1.6)
    #[arg(long, value_name = "GENERATION")]
    to: Option<String>,
    /// Take the rows from this file instead of standard input
    #[arg(long, value_name = "ROWS")]
    from: Option<String>,
    /// Make a checkpoint after this many bytes
    #[arg(long, value_name = "BYTES", default_value = "64M")]
    every_bytes: String,
    /// Make a checkpoint at most this many seconds after a row
    #[arg(long, value_name = "SECONDS", default_value_t = 5.0)]
    every_seconds: f64,
    /// At the end, turn the block into one with sizes and a checksum, listed in the block index
    #[arg(long, alias = "finalize")]
    finalise: bool,
    /// Codec of the finished block
    #[arg(long, value_name = "CODEC", requires = "finalise")]
    codec: Option<String>,
    /// Compression level
    #[arg(long, value_name = "N", requires = "codec")]
    level: Option<i32>,
}

impl Stream {
    /// Adds the rows.
    pub(crate) fn run(&self, session: &Session<'_>) -> Result<Outcome> {
        let item = ItemArg::parse(&self.item);
        let path = item.path.as_deref().filter(|path| !path.is_empty());
        let path = path.ok_or_else(|| Error::invalid_input("name the array: FILE#/path"))?;
        if is_stream(&item.file) {
            return Err(Error::invalid_input(format!("{} cannot grow at its end", item.file)).hint("name a file"));
        }
        if path_of(&item.file).extension().is_some_and(|ending| ending == "bd") && self.to.is_none() {
            return Err(Error::unsupported("a Dudley file has no streamed blocks").hint("trilith append adds records to its lists"));
        }
        check_name(&item.file, FileFormat::Asdf, "choose another name")?;
        let (rows, stored) = (self.to_row_options(session)?, self.array_options()?);
        let source = self.from.as_deref().map(|from| session.open_source(from)).transpose()?;
        let is_piped = source.is_none() && !stdin().is_terminal();
        if source.is_none() && !is_piped && !self.finalise {
            return Err(Error::invalid_input("rows are read from standard input, which is a terminal").hint("pipe them in, or use --from"));
        }
        session.check_inputs(&item.file, &[])?;
        let mut writer = RowWriter::open(path_of(&item.file), path, rows, session.open_options()?.byteorder(None))?;
        match source {
            Some(source) => writer.add_all(&*source)?,
            None if is_piped => writer.push_input(stdin())?,
            None => {}
        }
        let added = writer.finish()?;
        let finished = if self.finalise { Some(self.finalize_array(&item.file, path, &stored, session)?) } else { None };
        self.report_rows(&item.file, path, added, finished, session)?;
        Ok(Outcome::Success)
    }

    /// Returns the type of the rows.
    fn to_row_options(&self, session: &Session<'_>) -> Result<RowOptions> {
        let mut rows = RowOptions::default();
        let limits = session.limits();
        let datatype = self.dtype.as_deref().map(|text| datatype_named(text, session.args.byteorder(), limits)).transpose();
        rows.datatype = datatype.map_err(|error| error.with_kind(ErrorKind::InvalidInput).context("--dtype"))?;
        rows.row_shape = self.row_shape.clone();
        rows.target = self.to.as_deref().map(find_streaming_target).transpose()?;
        rows.checkpoint_bytes = parse_size(&self.every_bytes).map_err(|error| error.context("--every-bytes"))?;
        let seconds = Duration::try_from_secs_f64(self.every_seconds);
        rows.checkpoint_interval = seconds.map_err(|_| Error::invalid_input("seconds must not be negative").context("--every-seconds"))?;
        Ok(rows)
    }

    /// Returns the form of storage of the finished block.
    fn array_options(&self) -> Result<ArrayOptions> {
        let mut how = self.codec.as_deref().map(ArrayOptions::codec).transpose()?.unwrap_or_default();
        how.level = self.level;
        Ok(how)
    }

    fn finalize_array(&self, file: &str, path: &str, how: &ArrayOptions, session: &Session<'_>) -> Result<(u64, u64)> {
        let opened = session.open(file, FileRole::Tree)?.into_asdf()?;
        finalise(&opened, file, path, how)
    }

    fn report_rows(&self, file: &str, path: &str, added: RowReport, finished: Option<(u64, u64)>, session: &Session<'_>) -> Result<()> {
        let report = json!({
            "file": file, "path": path, "added": added.rows, "rows": added.total, "checkpoints": added.checkpoints,
            "begun": added.created, "finalised": finished.is_some(), "size": finished.map(|(_, size)| size),
        });
        let done = finished.map_or_else(String::new, |(_, bytes)| format!(", finalised, {}", display_size(bytes)));
        report_written(file, &report, &format!("{file}: {} rows added, {} in all{done}", added.rows, added.total), session)
    }
}

/// A generation that has streamed blocks.
fn find_streaming_target(name: &str) -> Result<&'static Target> {
    if name.starts_with("dudley") {
        return Err(Error::unsupported(format!("{name} has no streamed blocks"))
            .hint(format!("{} has them; trilith append adds records to a list of a Dudley file", Target::latest().name)));
    }
    Target::from_name(name)
}
