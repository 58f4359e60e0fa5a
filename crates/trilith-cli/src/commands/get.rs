//! `trilith get FILE#/p`: the elements of an array, or the value of a node.

use std::io::Write;
use std::ops::Range;
use std::path::Path;

use clap::{Args, ValueEnum};
use serde_json::json;
use trilith::array::{Array, FloatText, Index};
use trilith::asdf::{AsdfFile, ExpandOptions, ndarray, walk};
use trilith::bytes::{self, Access};
use trilith::dudley::{self, DudleyFile};
use trilith::file::AnyFile;
use trilith::layout::ResolvedType;
use trilith::{Error, Kind, Location, Result};

use crate::Outcome;
use crate::family::{self, Family};
use crate::item::Item;
use crate::options::Options;
use crate::output::{Escaped, Out, note, size};
use crate::target::Target;

/// Print or save an array, a slice of it, or a value of the tree
///
/// A slice reads only what it must: its own bytes of a plain block, the sub-blocks that hold it of an
/// lz4 block.
#[derive(Debug, Args)]
pub struct Get {
    /// The file and the path of an item in it; with --catalog only the path
    #[arg(value_name = "FILE#/path", allow_hyphen_values = true)]
    item: String,
    /// Read the item from every file that this catalog lists, as one array with a leading axis (--layout
    /// is the layout of these files)
    #[arg(long, value_name = "C.bd", requires = "under")]
    catalog: Option<String>,
    /// With --catalog: only these of its files, counted from 0
    #[arg(long, value_name = "FIRST:END", requires = "catalog")]
    files: Option<String>,
    /// With --catalog: its files have no signature
    #[arg(long, requires = "catalog")]
    raw: bool,
    /// What to take of each axis, as numpy writes it: 0:10,5,::2
    #[arg(long, value_name = "SLICE", allow_hyphen_values = true)]
    slice: Option<String>,
    /// Take one field of a structured array
    #[arg(long, value_name = "NAME")]
    field: Option<String>,
    /// Write to a file: .npy, .csv, .json, anything else as raw little-endian bytes
    #[arg(short, long, value_name = "FILE")]
    output: Option<String>,
    /// The format, where the name of the output does not tell it
    #[arg(long, value_name = "FORMAT")]
    format: Option<Format>,
    /// Print which bytes of the file would be read, and read nothing
    #[arg(long)]
    explain: bool,
}

/// What an array is written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Readable text.
    Text,
    /// Nested lists.
    Json,
    /// numpy's file format.
    Npy,
    /// Comma-separated values, one row a line.
    Csv,
    /// The elements alone: C order, packed, little-endian.
    Raw,
}

impl Get {
    /// Prints or saves the item.
    pub fn run(&self, options: &Options) -> Result<Outcome> {
        if let Some(catalog) = &self.catalog {
            return self.read_family(catalog, options);
        }
        let item = Item::parse(&self.item);
        let file = match options.open_any(&item.file)? {
            AnyFile::Asdf(file) => file,
            AnyFile::Dudley(file) => return self.read_stream(&file, item.path(), options),
        };
        let found = match walk::find(&file, item.path()) {
            Ok(found) => found,
            Err(error) if error.kind() == Kind::Usage => {
                note(&format!("trilith: {error}"));
                return Ok(Outcome::No);
            }
            Err(error) => return Err(error),
        };
        let node = found.node(&file);
        if !ndarray::is_ndarray(node) {
            return self.value(&file, &found, options);
        }
        self.array(found.file(&file).array(node)?, options)
    }

    /// An item of a Dudley stream.
    fn read_stream(&self, file: &DudleyFile, path: &str, options: &Options) -> Result<Outcome> {
        let items = file.items()?;
        if items.located(path)?.is_some_and(|found| found.typed != ResolvedType::Dynamic) {
            let array = items.array_at(path)?;
            let as_text = matches!(self.format(options), Format::Text | Format::Json | Format::Csv);
            return self.array(if as_text && !self.explain { dudley::presented(&array)? } else { array }, options);
        }
        if self.slice.is_some() || self.field.is_some() || self.explain {
            return Err(Error::usage("this is no array, so that there is nothing to slice"));
        }
        crate::stream::tree(&items, path, options, &crate::stream::TreeOptions { json: true, ..Default::default() })
    }

    /// An item of all files of a family.
    fn read_family(&self, path: &str, options: &Options) -> Result<Outcome> {
        let layout = options.read_layout(options.under.as_deref().unwrap_or(""), &options.limits()?)?;
        let Family { catalog, how, resolve } = Family::open(path, self.raw, options)?;
        let rows = family::rows(self.files.as_deref(), catalog.len())?;
        let item = self.item.trim_start_matches('#');
        match catalog.array_at(&layout, item, rows, &how, resolve) {
            Ok(array) => self.array(array, options),
            Err(error) if error.kind() == Kind::Usage && matches!(error.location(), Location::Path(_)) => {
                note(&format!("trilith: {error}"));
                Ok(Outcome::No)
            }
            Err(error) => Err(error),
        }
    }

    fn array(&self, mut array: Array, options: &Options) -> Result<Outcome> {
        if let Some(name) = &self.field {
            array = array.field(name)?;
        }
        if let Some(slice) = &self.slice {
            array = array.slice(&Index::parse_list(slice)?)?;
        }
        if self.explain {
            return explain(&array, options);
        }
        self.write(&array, options)?;
        Ok(Outcome::Yes)
    }

    /// A part of the tree that is no array: scalars as text, the rest as JSON.
    fn value(&self, file: &AsdfFile, found: &walk::Found, options: &Options) -> Result<Outcome> {
        if self.slice.is_some() || self.field.is_some() || self.explain {
            return Err(Error::usage("this is no array, so that there is nothing to slice"));
        }
        let mut out = Out::new();
        let node = found.node(file);
        if node.is_scalar() && !options.json {
            out.lines(&node.text())?;
        } else {
            super::tree::write_json(&mut out, file, found, ExpandOptions::default(), false)?;
        }
        out.finish()?;
        Ok(Outcome::Yes)
    }

    fn format(&self, options: &Options) -> Format {
        let extension = self.output.as_deref().and_then(|name| Path::new(name).extension()?.to_str());
        match (self.format, extension) {
            (Some(format), _) => format,
            (None, _) if options.json => Format::Json,
            (None, Some("npy")) => Format::Npy,
            (None, Some("csv")) => Format::Csv,
            (None, Some("json")) => Format::Json,
            (None, _) if self.output.is_some() => Format::Raw,
            (None, _) => Format::Text,
        }
    }

    fn write(&self, array: &Array, options: &Options) -> Result<()> {
        let format = self.format(options);
        match self.output.as_deref() {
            Some(path) if path != "-" => {
                let mut target = Target::create(path)?;
                emit(array, format, &mut target.writer())?;
                let written = target.commit()?;
                if !options.quiet {
                    note(&format!("{path}: {:?}, {}", array.shape(), size(written)));
                }
                Ok(())
            }
            _ => {
                let mut out = Out::new();
                if matches!(format, Format::Npy | Format::Raw) {
                    out.binary(&[])?;
                }
                emit(array, format, &mut out)?;
                out.finish()
            }
        }
    }
}

fn emit(array: &Array, format: Format, out: &mut dyn Write) -> Result<()> {
    let failed = |e| Error::io("writing", e);
    match format {
        Format::Json => {
            array.write_json(&mut Escaped::new(&mut *out), FloatText::Shortest)?;
            out.write_all(b"\n").map_err(failed)
        }
        Format::Npy => array.write_npy(out),
        Format::Csv => array.write_csv(out),
        Format::Raw => array.for_each_piece(4 << 20, |bytes| out.write_all(bytes).map_err(failed)),
        Format::Text => text(array, out),
    }
}

/// One line for each row of the last axis; masked elements as `--`.
fn text(array: &Array, out: &mut dyn Write) -> Result<()> {
    let failed = |e| Error::io("writing to stdout", e);
    let row = array.shape().last().copied().unwrap_or(1).max(1);
    let mut column = 0;
    array.for_each_scalar(|scalar, masked| {
        if column > 0 {
            out.write_all(b" ").map_err(failed)?;
        }
        let text = if masked { "--".to_owned() } else { scalar.text(FloatText::Shortest) };
        out.write_all(crate::output::clean(&text).as_bytes()).map_err(failed)?;
        column += 1;
        if column == row {
            out.write_all(b"\n").map_err(failed)?;
            column = 0;
        }
        Ok(())
    })
}

/// Ranges in order, those that overlap or lie closer than `gap` joined.
fn merged(mut ranges: Vec<Range<u64>>, gap: u64) -> Vec<Range<u64>> {
    ranges.sort_by_key(|range| range.start);
    let mut merged: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start <= last.end.saturating_add(gap) => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

/// Which bytes would be read: of the decoded block, and of the file.
fn explain(array: &Array, options: &Options) -> Result<Outcome> {
    // Neighbours closer than this are read in one go.
    const GAP: u64 = 16 << 10;
    // Of a remote file no more is read than must be: its ranges can share a request.
    let remote = array.source().access() == Access::Requests;
    let gap = if remote { 4 << 10 } else { GAP };
    let decoded = array.plan(gap);
    let mut stored = Vec::new();
    for range in &decoded {
        stored.extend(array.source().stored(range.clone())?);
    }
    let stored = merged(stored, gap);
    let sum = |ranges: &[Range<u64>]| ranges.iter().fold(0u64, |sum, range| sum.saturating_add(range.end - range.start));
    let mut out = Out::new();
    if options.json {
        let list = |ranges: &[Range<u64>]| ranges.iter().map(|r| json!([r.start, r.end])).collect::<Vec<_>>();
        let mut plan = json!({
            "shape": array.shape(), "nbytes": array.nbytes(),
            "decoded": list(&decoded), "stored": list(&stored),
            "decoded_bytes": sum(&decoded), "stored_bytes": sum(&stored),
        });
        if let (true, Some(object)) = (remote, plan.as_object_mut()) {
            let requests = bytes::requests(&stored);
            object.insert("requests".to_owned(), requests.iter().map(|ranges| list(ranges)).collect());
        }
        out.json(&plan)?;
    } else {
        out.line(&format!("{:?}, {} wanted", array.shape(), size(array.nbytes())))?;
        out.line(&format!("{} of the array's bytes in {} ranges", size(sum(&decoded)), decoded.len()))?;
        out.line(&format!("{} of the file in {} ranges:", size(sum(&stored)), stored.len()))?;
        for range in stored.iter().take(20) {
            out.line(&format!("  {}..{}  {}", range.start, range.end, size(range.end - range.start)))?;
        }
        if stored.len() > 20 {
            out.line(&format!("  ... and {} more", stored.len() - 20))?;
        }
        if remote {
            let count = bytes::requests(&stored).len();
            out.line(&format!("{count} requests, where the server gives several ranges in one answer"))?;
        }
    }
    out.finish()?;
    Ok(Outcome::Yes)
}
