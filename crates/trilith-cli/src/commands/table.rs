//! `trilith table FILE… -c NAME=/path`: values of many files as one table. `trilith table FILE#/path`: the rows of one table.

#[cfg(feature = "parquet")]
mod columnar;
#[cfg(not(feature = "parquet"))]
#[path = "table/unsupported.rs"]
mod columnar;

use std::io::{IsTerminal, Write};
use std::sync::{Mutex, PoisonError};

use clap::{Args, ValueEnum};
use serde_json::json;
use trilith::bytes::{SourceBacking, WriteBasis};
use trilith::array::Index;
use trilith::file::{Item, ItemKind};
use trilith::table::{CellForm, CellType, ItemTable, Query, RowSelection, Table as Found, TableCell, TableColumnInfo};
use trilith::{Error, Result};

use super::tree::scalar_json;
use crate::outcome::Outcome;
use crate::inputs::{self, ItemCheck, InputFiles, ArgumentKind as Names};
use crate::item_arg::ItemArg;
use crate::json::datatype_text;
use crate::session::{FileRole, Session};
use crate::output::{self, ColumnStyle, JsonEscaper, Output, TextTable, json_text, json_value, display_size};
use crate::outputs::{FileFormat, check_name};
use crate::position_args::{PositionArgs, print_note};
use crate::output_file::OutputFile;

/// Print the rows of a table, or values of many files as a table
///
/// FILE#/path prints the rows of the table at this path: a FITS table, compound data, a structured array, a table of ASDF.
/// Without a path there is a row for each file and a column for each -c NAME=/path. The first column is the file. Values keep their types. A missing value is empty (null). Mixed
/// integers and floats become floats, any other mix becomes strings. With --each there is a row for each item of a list. The
/// rows are held in memory, the files are not.
#[derive(Debug, Args)]
pub(crate) struct Table {
    #[command(flatten)]
    files: InputFiles,
    /// A column: its name and the path of its values, which may end in @shape, @dtype, @ndim, @size, @nbytes, @codec,
    /// @min, @max or @mean for an array, and in @unit, @tag or @kind for any item. Coordinates have @centre, @footprint
    /// (degrees) and @scale (arcsec), also without a path for the first image
    ///
    /// With FILE#/path: the name of a column of the table (default: all)
    #[arg(short, long = "column", value_name = "NAME=/path")]
    columns: Vec<String>,
    /// With FILE#/path: only these rows, in numpy notation: 0:10, ::2
    #[arg(long, value_name = "SLICE", allow_hyphen_values = true)]
    rows: Option<String>,
    /// With FILE#/path: only the first N rows that meet the condition
    #[arg(short = 'n', long = "first", value_name = "N")]
    first: Option<u64>,
    /// Keep only files with an image that contains this position (ICRS, in degrees or as 12:30:00,-45:10:05.5), or is
    /// within RADIUS of it, such as 30arcsec
    #[arg(long, value_name = "LON,LAT[,RADIUS]", allow_hyphen_values = true)]
    covers: Option<String>,
    #[command(flatten)]
    frames: PositionArgs,
    /// Keep only rows that meet this condition: comparisons (==, !=, <, <=, >, >=), and, or, not, parentheses; text in
    /// double quotes. A comparison with null is false
    #[arg(long = "where", value_name = "EXPR")]
    condition: Option<String>,
    /// Sort by a column, or by several separated by commas; in descending order with :desc
    #[arg(long, value_name = "COLUMN[:desc]")]
    sort: Option<String>,
    /// Make a row for each item of this list. Paths of columns start at the item: . is the item itself, and @index its
    /// number. //path starts at the root of the file
    #[arg(long, value_name = "/list")]
    each: Option<String>,
    /// Write to a file: .csv, .jsonl, .parquet or .arrow; - for CSV on standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<String>,
    /// The format, if the name of the output does not imply it
    #[arg(long, value_name = "FORMAT")]
    format: Option<Format>,
}

/// The output format of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Aligned columns.
    Text,
    /// Comma-separated values.
    Csv,
    /// JSON lines, an object for each row.
    Jsonl,
    /// Parquet.
    Parquet,
    /// An Arrow file (IPC).
    Arrow,
}

impl Format {
    fn from_file_format(form: FileFormat) -> Option<Self> {
        Some(match form {
            FileFormat::Text => Self::Text,
            FileFormat::Csv => Self::Csv,
            FileFormat::Lines => Self::Jsonl,
            FileFormat::Parquet => Self::Parquet,
            FileFormat::Arrow => Self::Arrow,
            _ => return None,
        })
    }

    fn output_format(self) -> FileFormat {
        match self {
            Self::Text => FileFormat::Text,
            Self::Csv => FileFormat::Csv,
            Self::Jsonl => FileFormat::Lines,
            Self::Parquet => FileFormat::Parquet,
            Self::Arrow => FileFormat::Arrow,
        }
    }
}

impl Table {
    /// Writes the table.
    pub(crate) fn run(&self, session: &Session<'_>) -> Result<Outcome> {
        let item = self.item_arg()?;
        let format = self.select_format(session)?;
        if let Some(item) = item {
            return self.print_rows(&item, format, session);
        }
        let query = self.build_query()?;
        let table = Mutex::new(Found::new(&query));
        // An output must be none of the files.
        let mut admit = |_: &_| Ok(());
        let admit: Option<ItemCheck<'_>> = if self.output_path().is_some() { Some(&mut admit) } else { None };
        let outcome = inputs::run_checked(&self.files.files, Names::Files, &self.files.list_args, session, admit, |job| {
            let file = job.open(FileRole::Any)?;
            let found = query.rows(&job.name, &file)?;
            job.warn_all(file.source().backing().and_then(SourceBacking::notice));
            table.lock().unwrap_or_else(PoisonError::into_inner).add_file(job.index, found);
            Ok(Outcome::Success)
        })?;
        let table = table.into_inner().unwrap_or_else(PoisonError::into_inner);
        session.warn_all(table.column_warnings());
        query.check_condition()?;
        query.position_notes().iter().for_each(|note| print_note(note, session));
        self.write_table(&table.finished(), format, session)?;
        Ok(outcome)
    }

    /// The table whose rows are asked for; None for a table of values of files.
    fn item_arg(&self) -> Result<Option<ItemArg>> {
        let mut items = self.files.files.iter().map(|file| ItemArg::parse(file)).filter(|item| item.path.is_some());
        let item = match (items.next(), self.files.files.len()) {
            (Some(item), 1) if !self.files.list_args.is_given() => Some(item),
            (Some(_), _) => {
                return Err(Error::invalid_input("the rows of one table are printed, but there are several files")
                    .hint("for values of many files leave out the paths, and name columns with -c NAME=/path"));
            }
            (None, _) => None,
        };
        if item.is_some() && (self.covers.is_some() || self.each.is_some()) {
            return Err(Error::invalid_input("--covers and --each are for tables of values of files, not for the rows of one table")
                .hint("leave out #/path"));
        }
        if item.is_none() && (self.rows.is_some() || self.first.is_some()) {
            return Err(Error::invalid_input("--rows and -n are for the rows of one table").hint("name the table: FILE#/path"));
        }
        if item.is_none() && self.columns.is_empty() && self.covers.is_none() {
            return Err(Error::invalid_input("no column is given: a table of values of files needs -c NAME=/path")
                .hint("for the rows of one table name its path: FILE#/path"));
        }
        Ok(item)
    }

    /// Prints the rows of one table.
    fn print_rows(&self, item: &ItemArg, format: Format, session: &Session<'_>) -> Result<Outcome> {
        let mut selection = RowSelection::default();
        selection.columns.clone_from(&self.columns);
        selection.rows = match self.rows.as_deref().map(Index::parse_list).transpose()?.as_deref() {
            None => None,
            Some([rows]) => Some(*rows),
            Some(_) => return Err(Error::invalid_input("--rows takes one slice").hint("select columns with -c NAME")),
        };
        (selection.condition, selection.sort, selection.limit) = (self.condition.clone(), self.sort.clone(), self.first);
        inputs::run(&self.files.files, Names::Items, &self.files.list_args, session, |job| {
            let file = job.open(FileRole::Any)?;
            job.warn_all(file.source().backing().and_then(SourceBacking::notice));
            let found = file.item(item.path());
            let Some(found) = job.report_missing(found)? else { return Ok(Outcome::Negative) };
            let Some(table) = ItemTable::from_item(&found)? else {
                let what = format!("{} is not a table: it is {}", job.label(), kind_text(&found));
                return Err(Error::invalid_input(what).hint("a table is a FITS table, compound data, a structured array or a table of \
                    ASDF; get prints other items"));
            };
            let table = table.read(&selection)?;
            session.warn_all(table.column_warnings());
            self.write_table(&table, format, session)?;
            Ok(Outcome::Success)
        })
    }

    /// Returns `true` if a value may be in the list of the cards of a FITS file.
    pub(crate) fn needs_card_rows(&self) -> bool {
        let is_of_rows = self.item_arg().map_or(true, |item| item.is_some());
        is_of_rows || self.build_query().map_or(true, |query| query.needs_card_rows())
    }

    fn build_query(&self) -> Result<Query> {
        let mut query = Query::new(&self.columns)?;
        if let Some(each) = &self.each {
            query = query.rows_of(each)?;
        }
        if let Some(position) = &self.covers {
            query = query.covers_text(position)?.position_frame(self.frames.sky_frame).wcs_key(self.frames.wcs_key);
        }
        if let Some(condition) = &self.condition {
            query = query.filter(condition)?;
        }
        match &self.sort {
            Some(sort) => query.sort(sort),
            None => Ok(query),
        }
    }

    /// The file to write; None for standard output.
    fn output_path(&self) -> Option<&str> {
        self.output.as_deref().filter(|path| *path != "-")
    }

    fn select_format(&self, session: &Session<'_>) -> Result<Format> {
        let promised = self.output_path().and_then(FileFormat::from_extension).and_then(Format::from_file_format);
        let format = match (self.format, promised, self.output_path()) {
            (Some(format), ..) | (None, Some(format), _) => format,
            (None, None, Some(path)) => {
                // A column that means something else keeps a clear name.
                check_name(path, FileFormat::Csv, "write .csv, .jsonl, .parquet or .arrow, or select the format with --format")?;
                return Err(Error::invalid_input(format!("the extension of {path} does not select a format"))
                    .hint("write .csv, .jsonl, .parquet or .arrow, or select the format with --format"));
            }
            (None, None, None) if session.args.json => Format::Jsonl,
            (None, None, None) if self.output.is_some() => Format::Csv,
            (None, None, None) => Format::Text,
        };
        if self.format.is_none()
            && let Some(path) = self.output_path()
        {
            check_name(path, format.output_format(), "select the format with --format, or change the extension")?;
        }
        if format == Format::Text && self.output_path().is_some() {
            return Err(Error::invalid_input("aligned text goes to standard output only").hint("leave out -o, or write .csv"));
        }
        if matches!(format, Format::Parquet | Format::Arrow) {
            columnar::ensure_supported()?;
            if self.output_path().is_none() && std::io::stdout().is_terminal() {
                return Err(Error::invalid_input("this is binary data and stdout is a terminal").hint("name a file with -o"));
            }
        }
        Ok(format)
    }

    fn write_table(&self, table: &Found, format: Format, session: &Session<'_>) -> Result<()> {
        if table.is_empty() && !session.args.json {
            let is_selected = self.condition.is_some() || self.covers.is_some();
            print_note(if is_selected { "no row meets the condition" } else { "no rows" }, session);
        }
        let Some(path) = self.output_path() else {
            let mut out = Output::new();
            match format {
                Format::Text => print_aligned(&mut out, table)?,
                format => write_in_format(&mut out, table, format)?,
            }
            return out.finish();
        };
        session.check_inputs(path, &[])?;
        let mut target = OutputFile::create(path, WriteBasis::Nothing, session)?;
        write_in_format(&mut target.writer(), table, format)?;
        let written = target.commit(session)?;
        let name = format.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned());
        let columns: Vec<_> = table
            .names()
            .iter()
            .zip(table.types())
            .map(|(name, kind)| json!({"name": name, "type": kind.name()}))
            .collect();
        let report = json!({
            "file": path, "written": true, "size": written, "format": name, "rows": table.len(), "columns": columns,
        });
        if session.args.json {
            let mut out = Output::new();
            out.write_raw_text(&(json_value(&report) + "\n"))?;
            return out.finish();
        }
        if !session.args.quiet {
            let rows = table.len();
            let rows = if rows == 1 { "1 row".to_owned() } else { format!("{rows} rows") };
            output::eprint_line(&format!("{path}: {rows}, {}", display_size(written)));
        }
        Ok(())
    }
}

/// The kind of an item, and the datatype of an array.
fn kind_text(item: &Item<'_>) -> String {
    match item.describe() {
        Ok(found) if item.kind() == ItemKind::Array => format!("an array of {} {:?}", datatype_text(&found.datatype), found.shape),
        _ => format!("a {}", item.kind().name()),
    }
}

fn write_error(error: std::io::Error) -> Error {
    Error::io("writing", error)
}

fn write_in_format(out: &mut dyn Write, table: &Found, format: Format) -> Result<()> {
    match format {
        Format::Csv | Format::Text => write_csv(out, table),
        Format::Jsonl => write_json_lines(&mut JsonEscaper::new(out), table),
        Format::Parquet => columnar::write_parquet(out, table),
        Format::Arrow => columnar::write_arrow(out, table),
    }
}

fn write_csv(out: &mut dyn Write, table: &Found) -> Result<()> {
    let mut line = String::new();
    let names = table.names().iter().map(|name| TableCell::Text(name.clone())).collect();
    for row in std::iter::once(names).chain(table.rows()) {
        line.clear();
        for (at, cell) in row.iter().enumerate() {
            if at > 0 {
                line.push(',');
            }
            match cell {
                // An empty string differs from a missing value.
                TableCell::Text(text) if text.is_empty() || text.contains([',', '"', '\n', '\r']) || text.trim() != text => {
                    line.push('"');
                    line.push_str(&text.replace('"', "\"\""));
                    line.push('"');
                }
                cell => line.push_str(&table.cell_text(at, cell)),
            }
        }
        line.push('\n');
        out.write_all(line.as_bytes()).map_err(write_error)?;
    }
    Ok(())
}

fn write_json_lines(out: &mut dyn Write, table: &Found) -> Result<()> {
    let names: Vec<String> = table.names().iter().map(|name| json_text(name)).collect();
    for row in table.rows() {
        let members: Vec<String> =
            names.iter().zip(&row).zip(table.columns()).map(|((name, cell), column)| format!("{name}:{}", cell_json(cell, column.form))).collect();
        out.write_all(format!("{{{}}}\n", members.join(",")).as_bytes()).map_err(write_error)?;
    }
    Ok(())
}

fn cell_json(cell: &TableCell, form: CellForm) -> String {
    use trilith::tree::Scalar;
    match cell {
        TableCell::Float(value) if form == CellForm::Single && value.is_finite() => format!("{:?}", *value as f32),
        TableCell::Text(text) if form == CellForm::Json => text.clone(),
        TableCell::Bool(value) => value.to_string(),
        TableCell::Int(value) => value.to_string(),
        TableCell::Float(value) => scalar_json(&Scalar::Float(*value)),
        TableCell::Text(text) => json_text(text),
        _ => "null".to_owned(),
    }
}

/// Aligned columns, numbers flush right.
fn print_aligned(out: &mut Output, table: &Found) -> Result<()> {
    let column = |(at, (column, kind)): (usize, (&TableColumnInfo, CellType))| {
        let unit = column.unit.as_ref().map(|unit| format!(" [{unit}]")).unwrap_or_default();
        let style = match kind {
            CellType::Int | CellType::Float => ColumnStyle::Number,
            // A table of values of files begins with their names.
            _ if at == 0 && column.name == "file" => ColumnStyle::Path,
            _ => ColumnStyle::Text,
        };
        (format!("{}{unit}", column.name), style)
    };
    let mut shown = TextTable::with_columns(table.columns().iter().zip(table.types()).enumerate().map(column).collect());
    for row in table.rows() {
        let text = |(at, cell): (usize, &TableCell)| if *cell == TableCell::Null { "-".to_owned() } else { table.cell_text(at, cell) };
        shown.push_row(row.iter().enumerate().map(text).collect());
    }
    shown.print(out)
}
