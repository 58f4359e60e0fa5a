//! Options about positions on the sky that are given to a command.

use std::collections::BTreeSet;
use std::sync::Mutex;

use clap::Args;
use serde_json::Value;
use trilith::bytes::read_vec;
use trilith::table::{ItemTable, TableCell};
use trilith::wcs::{PointColumn, PointTable, PositionFrame, Wcs, WcsKey};
use trilith::{Error, File, Result};
use trilith_io::error::ResultExt as _;
use trilith_io::threads::lock;

#[cfg(feature = "parquet")]
use crate::columnar_points::{read_arrow_points, read_parquet_points};
use crate::item_arg::ItemArg;
use crate::output::eprint_line;
use crate::session::{FileRole, Session};

/// The frame of positions, and the description of the coordinates.
#[derive(Debug, Args)]
pub(crate) struct PositionArgs {
    /// Reference frame of the given positions: icrs, fk5 (J2000), fk4 (B1950), galactic, or native for that of the image
    #[arg(long, value_name = "FRAME", default_value = "icrs")]
    pub(crate) sky_frame: PositionFrame,
    /// Take an alternate description of FITS headers
    #[arg(long, value_name = "A...Z", default_value = "", hide_default_value = true)]
    pub(crate) wcs_key: WcsKey,
    /// The notes on conversions that were printed.
    #[arg(skip)]
    notes: Mutex<BTreeSet<String>>,
}

impl PositionArgs {
    /// Says on standard error, once, that positions are converted to the frame of the image.
    pub(crate) fn note_conversion(&self, wcs: &Wcs, session: &Session<'_>) {
        if let Some(note) = self.sky_frame.conversion_note(wcs)
            && lock(&self.notes).insert(note.clone())
        {
            print_note(&note, session);
        }
    }
}

/// Prints a note about positions, unless only errors are to be printed.
pub(crate) fn print_note(note: &str, session: &Session<'_>) {
    if !session.args.quiet {
        eprint_line(&format!("trilith: {note}"));
    }
}

/// Reads a list of points: CSV, JSON lines, NPY, Parquet, Arrow, or a table of a file that Trilith reads, `FILE#/path` or the first
/// one.
pub(crate) fn read_points(list: &str, session: &Session<'_>) -> Result<PointTable> {
    let item = ItemArg::parse(list);
    if item.path.is_some() {
        return table_points(&session.open(&item.file, FileRole::Any)?, item.path.as_deref()).with_context(|| list);
    }
    let limits = session.limits();
    let source = session.open_source(list)?;
    let head = read_vec(&*source, 0, source.len().min(8), limits)?;
    let whole = || read_vec(&*source, 0, source.len(), limits);
    match &head[..] {
        [b'P', b'A', b'R', b'1', ..] => read_parquet_points(whole()?),
        [b'A', b'R', b'R', b'O', b'W', b'1', ..] => read_arrow_points(whole()?),
        [b'{', ..] => json_points(&whole()?),
        [b'S', b'I', b'M', b'P', b'L', b'E', ..]
        | [b'#', b'A', b'S', b'D', b'F', ..]
        | [0x89, b'H', b'D', b'F', ..]
        | [0x1f, 0x8b, ..] => table_points(&session.open(list, FileRole::Any)?, None),
        _ => PointTable::read(source, limits),
    }
    .with_context(|| list)
}

/// Refused.
#[cfg(not(feature = "parquet"))]
fn read_parquet_points(_: Vec<u8>) -> Result<PointTable> {
    Err(Error::unsupported("Parquet and Arrow were left out of this build").hint("build the command with the feature parquet"))
}

#[cfg(not(feature = "parquet"))]
use read_parquet_points as read_arrow_points;

/// The points of a table of a file: of the item at a path, or of the first table.
fn table_points(file: &File, path: Option<&str>) -> Result<PointTable> {
    let none = || Error::invalid_input("cannot read points: there is no table").hint("name the path of a table: FILE#/path");
    if let Some(path) = path {
        return Ok(ItemTable::from_item(&file.item(path)?)?.ok_or_else(none)?.points());
    }
    let root = file.root();
    let mut walk = root.walk();
    while let Some(visit) = walk.try_next()? {
        if let Some(table) = ItemTable::from_item(&visit.item)? {
            return Ok(table.points());
        }
    }
    Err(none())
}

/// The points of JSON lines, an object for each.
fn json_points(bytes: &[u8]) -> Result<PointTable> {
    let mut columns: Vec<PointColumn> = Vec::new();
    let lines = bytes.split(|byte| *byte == b'\n').enumerate().filter(|(_, line)| !line.trim_ascii().is_empty());
    for (count, (number, line)) in lines.enumerate() {
        let wrong = |what: &str| Error::malformed(format!("cannot read points: line {}: {what}", number + 1));
        let Ok(Value::Object(row)) = serde_json::from_slice(line) else { return Err(wrong("expected an object of JSON")) };
        for (name, value) in &row {
            let cell = match value {
                Value::Null => TableCell::Null,
                Value::Number(number) => TableCell::Float(number.as_f64().unwrap_or(f64::NAN)),
                Value::String(text) => TableCell::Text(text.clone()),
                other => TableCell::Text(other.to_string()),
            };
            let at = columns.iter().position(|column| column.name == *name).unwrap_or_else(|| {
                columns.push(PointColumn::new(name, None, Vec::new()));
                columns.len() - 1
            });
            columns[at].cells.resize(count, TableCell::Null);
            columns[at].cells.push(cell);
        }
        columns.iter_mut().for_each(|column| column.cells.resize(count + 1, TableCell::Null));
    }
    Ok(PointTable::from_columns(columns))
}
