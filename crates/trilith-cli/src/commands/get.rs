//! `trilith get FILE#/p`: the elements of an array, or the value of a node.

mod format;

use std::io::Write;
use std::ops::Range;
use std::path::Path;

use clap::{Args, ValueEnum};
use serde_json::json;
use trilith::error::counted;
use trilith::array::{Array, Index};
use trilith::bytes::{self, Access, Base, Basis};
use trilith::file::{Item, ItemKind};
use trilith::{Error, File, Kind, Result};

use self::format::Format;
use super::tree::found;
use crate::Outcome;
use crate::item::Item as Argument;
use crate::options::Options;
use crate::output::{Out, size};
use crate::outputs::{check_name, told};
use crate::progress;
use crate::target::Target;

/// Print or save an array, a slice of it, or a value of the tree
///
/// A slice reads only what it needs: its own bytes of an uncompressed block, or the pieces of a compressed block
/// that contain it.
#[derive(Debug, Args)]
#[command(visible_alias = "cat")]
pub struct Get {
    /// The file and the path of an item in it; with --catalog only the path
    #[arg(value_name = "FILE#/path", allow_hyphen_values = true)]
    item: String,
    /// Read the item from every file that this catalog lists, as one array with a leading axis (--layout
    /// is the layout of these files)
    #[arg(long, value_name = "C.bd", requires = "under")]
    catalog: Option<String>,
    /// With --catalog: only these of its files, counted from 0; several ranges with commas: 0:10,20:
    #[arg(long, value_name = "FIRST:END", requires = "catalog")]
    files: Option<String>,
    /// With --catalog: its files have no signature
    #[arg(long, requires = "catalog")]
    raw: bool,
    /// The slice of each axis, in numpy notation: 0:10,5,::2
    #[arg(long, value_name = "SLICE", allow_hyphen_values = true)]
    slice: Option<String>,
    /// One field of a structured array
    #[arg(long, value_name = "NAME")]
    field: Option<String>,
    /// Write to a file, by its ending: .npy, .csv, .json, .yaml, .txt; raw little-endian bytes for any unknown ending
    #[arg(short, long, value_name = "FILE")]
    output: Option<String>,
    /// The format, if the name of the output does not imply it
    #[arg(long, value_name = "FORMAT")]
    format: Option<Format>,
    /// Print which bytes of the file would be read, without reading them
    #[arg(long)]
    explain: bool,
}

impl Get {
    /// Prints or saves the item.
    pub fn run(&self, options: &Options) -> Result<Outcome> {
        let (mut file, path) = match &self.catalog {
            Some(catalog) => (self.family(catalog, options)?, self.item.trim_start_matches('#').to_owned()),
            None => {
                let item = Argument::parse(&self.item);
                (options.open_file(&item.file)?, item.path().to_owned())
            }
        };
        // An update that did not finish, or a journal of something else.
        options.warn_all(file.source().notice().into_iter().collect());
        if let Some(output) = self.file() {
            // Text that goes into another folder must mean there what it means here.
            file = file.moved_to(&Base::of(output))?;
        }
        let chosen = |error: Error| match (&self.catalog, error.kind()) {
            (Some(_), Kind::Usage) if error.message().contains("shape") => error.hint("choose files of one shape: --files FIRST:END"),
            _ => error,
        };
        let Some(item) = found(file.item(&path).map_err(chosen))? else { return Ok(Outcome::No) };
        match self.as_array(&item, options)? {
            Some(array) => self.array(array, options),
            None => self.value(&item, options),
        }
    }

    /// The files that a catalog lists.
    fn family(&self, catalog: &str, options: &Options) -> Result<File> {
        let layout = options.read_layout(options.under.as_deref().unwrap_or(""), &options.limits()?)?;
        let file = options.open_family(catalog, layout, self.files.as_deref(), self.raw)?;
        if let (Some(family), Some(output)) = (file.as_family(), self.file())
            && Path::new(output).exists()
        {
            options.add_inputs_beside(catalog, family.catalog().files());
        }
        Ok(file)
    }

    /// The item as an array, if it is one or is asked for as one.
    fn as_array(&self, item: &Item<'_>, options: &Options) -> Result<Option<Array>> {
        let format = self.format(options);
        let is_text = matches!(format, Format::Text | Format::Json | Format::Csv);
        match item.array() {
            Ok(array) if is_text && !self.explain => return item.presented(array).map(Some),
            Ok(array) => return Ok(Some(array)),
            Err(error) if error.kind() != Kind::Usage || item.kind() == ItemKind::Array => return Err(error),
            Err(_) => {}
        }
        if self.slice.is_some() || self.field.is_some() || self.explain {
            return item.as_array().map(Some).map_err(|error| {
                Error::usage(format!("{}, so --slice, --field and --explain do not apply", error.message()))
            });
        }
        Ok(None)
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

    /// An item that is not an array: scalars as text, the rest as JSON.
    fn value(&self, item: &Item<'_>, options: &Options) -> Result<Outcome> {
        // What has no elements has no raw bytes either, unless they are asked for by name.
        let is_named = self.format.is_some() || self.file().and_then(Format::of_ending).is_some();
        let format = match self.format(options) {
            Format::Raw if !is_named => Format::Text,
            format => format,
        };
        self.save(format, None, options, |out| format::value(item, format, out))?;
        Ok(Outcome::Yes)
    }

    /// The format that is asked for, or that the name of the output stands for.
    fn format(&self, options: &Options) -> Format {
        let output = self.file();
        match (self.format, output.and_then(Format::of_ending)) {
            (Some(format), _) | (None, Some(format)) => format,
            (None, None) if options.json => Format::Json,
            (None, None) if self.output.is_some() => Format::Raw,
            (None, None) => Format::Text,
        }
    }

    /// The file to write; None for standard output.
    fn file(&self) -> Option<&str> {
        self.output.as_deref().filter(|path| *path != "-")
    }

    fn write(&self, array: &Array, options: &Options) -> Result<()> {
        if array.nbytes() > LONG {
            let ranges = array.plan(GAP).into_iter().map(|range| array.source().stored(range));
            let ranges: Vec<_> = ranges.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect();
            progress::expect(merged(ranges, GAP).iter().map(|range| range.end - range.start).sum());
        }
        let format = self.format(options);
        self.save(format, Some(array.shape()), options, |out| format::array(array, format, out))
    }

    /// Puts out what `emit` writes.
    fn save(
        &self,
        format: Format,
        shape: Option<&[u64]>,
        options: &Options,
        emit: impl FnOnce(&mut dyn Write) -> Result<()>,
    ) -> Result<()> {
        let Some(path) = self.file() else {
            let mut out = Out::new();
            if format.is_binary() {
                out.binary(&[])?;
            }
            emit(&mut out)?;
            return out.finish();
        };
        if self.format.is_none() {
            check_name(path, format.form(), "say with --format what to write, or name it otherwise")?;
        }
        options.check_inputs(path, &[])?;
        let mut target = Target::create(path, Basis::Nothing)?;
        emit(&mut target.writer())?;
        let written = target.commit(options)?;
        let name = format.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned());
        let report = json!({"file": path, "written": true, "size": written, "format": name, "shape": shape});
        let line = match shape {
            Some(shape) => format!("{path}: {shape:?}, {}", size(written)),
            None => format!("{path}: {}", size(written)),
        };
        told(path, &report, &line, options)
    }
}

/// Neighbours closer than this are read in one go.
const GAP: u64 = 16 << 10;
/// What is shorter is read before anybody looks how far it is.
const LONG: u64 = 32 << 20;

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
        out.line(&format!("{} of the array's bytes in {}", size(sum(&decoded)), counted(decoded.len(), "range")))?;
        out.line(&format!("{} of the file in {}:", size(sum(&stored)), counted(stored.len(), "range")))?;
        for range in stored.iter().take(20) {
            out.line(&format!("  {}..{}  {}", range.start, range.end, size(range.end - range.start)))?;
        }
        if stored.len() > 20 {
            out.line(&format!("  ... and {} more", stored.len() - 20))?;
        }
        if remote {
            let count = bytes::requests(&stored).len();
            out.line(&format!("{}, where the server gives several ranges in one answer", counted(count, "request")))?;
        }
    }
    out.finish()?;
    Ok(Outcome::Yes)
}
