//! `trilith get FILE#/p`: the elements of an array, or the value of a node.

mod format;

use std::io::{IsTerminal, Write};
use std::ops::Range;

use clap::{Args, ValueEnum};
use serde_json::json;
use trilith::array::Array;
use trilith::bytes::{self, Backing, Base, Basis, Cost, path_of, stored_ranges, verify_backing};
use trilith::dudley::Omission;
use trilith_io::error::counted;
use trilith::file::{Item, ItemKind};
use trilith::wcs::{self, Size};
use trilith::{Error, File, Result};

use self::format::Format;
use crate::Outcome;
use crate::inputs::{self, Form, Job, Parts};
use crate::options::Options;
use crate::output::{clean, is_no, note, size};
use crate::outputs::{Outputs, check_name};
use crate::progress;
use crate::output_file::Target;

/// Print or save an array, a slice of it, or a value of the tree
///
/// A slice reads only the necessary bytes: its own bytes of an uncompressed block, or the pieces of a compressed
/// block that contain it. With --catalog the argument is only the path of an item.
#[derive(Debug, Args)]
#[command(visible_alias = "cat")]
pub(crate) struct Get {
    #[command(flatten)]
    parts: Parts,
    /// Take the pixels around this position on the sky, in degrees or as 12:30:00,-45:10:05.5; a box that reaches beyond
    /// the array is cut at its edge
    #[arg(long, value_name = "LON,LAT", requires = "size", conflicts_with_all = ["slice", "catalog"], allow_hyphen_values = true)]
    sky: Option<String>,
    /// With --sky: length of the box along x and y, as 30arcsec, 0.5arcmin, 201px, or W,H for both
    #[arg(long, value_name = "SIZE", requires = "sky")]
    size: Option<String>,
    /// The catalog of the files to read, if --layout has to give their layout because the catalog does not hold it; the
    /// item of all files is one array with a leading axis, in which files that omit it, or are missing, are masked
    #[arg(long, value_name = "C.bd")]
    catalog: Option<String>,
    /// With --catalog: its files have no signature, if the catalog does not record it
    #[arg(long, requires = "catalog")]
    raw: bool,
    /// Write to a file, by its extension: .npy, .csv, .json, .yaml, .txt; raw little-endian bytes for any other. In
    /// the name {stem} is the input without its extension, and {item} is the path: several inputs need it
    #[arg(short, long, value_name = "FILE")]
    output: Option<String>,
    /// The format, if the name of the output does not imply it
    #[arg(long, value_name = "FORMAT")]
    format: Option<Format>,
    /// Convert bfloat16 and float8 elements to float32 (default: the integers of their bits)
    #[arg(long)]
    widen: bool,
    /// Print the bytes of the file that would be read, without reading them
    #[arg(long)]
    explain: bool,
}

impl Get {
    /// Prints or saves the item.
    pub(crate) fn run(&self, options: &Options) -> Result<Outcome> {
        if let Some(catalog) = &self.catalog {
            let items = self.parts.items();
            let [item] = items.as_slice() else {
                return Err(Error::invalid_input("with --catalog there is one path of an item"));
            };
            let item = format!("-#{}", item.trim_start_matches('#'));
            return inputs::run(&[item], Form::Items, &self.parts.many, options, |job| {
                self.one(job, self.family(catalog, options)?)
            });
        }
        let is_printed = self.outputs().file().is_none() && !self.explain;
        if self.parts.is_several() && is_printed && !matches!(self.format(options), Format::Text | Format::Json) {
            return Err(
                Error::invalid_input("of several files only text and JSON can be printed").hint("give -o a name with {stem} in it")
            );
        }
        self.parts.run(self.outputs(), options, |job| {
            let file = job.open()?;
            self.one(job, file)
        })
    }

    /// Returns the outputs of the items.
    fn outputs(&self) -> Outputs<'_> {
        Outputs::new(self.output.as_deref())
    }

    fn one(&self, job: &mut Job<'_>, mut file: File) -> Result<Outcome> {
        // An update that did not finish, or a journal of something else.
        job.warn_all(file.source().backing().and_then(Backing::notice));
        let output = self.outputs().of(&job.name, job.item_path());
        if let Some(output) = &output {
            // Text that goes into another folder must mean there what it means here.
            file = file.moved_to(&Base::of(output))?;
        }
        if let (Some(family), Some(output)) = (file.as_family(), self.outputs().file())
            && path_of(output).exists()
        {
            job.options.add_inputs_beside(self.catalog.as_deref().unwrap_or(&job.name), family.catalog().files());
        }
        let item = file.item(job.item_path());
        let Some(item) = job.found(item)? else { return Ok(Outcome::No) };
        let array = self.as_array(&item, job.options)?;
        if let (Some(family), true) = (file.as_family(), array.as_ref().is_some_and(|array| array.mask().is_some())) {
            let omitted = family.omitted(job.item_path())?;
            job.warn_all(Omission::warnings(job.item_path(), &omitted));
        }
        match (array, &self.sky) {
            (Some(array), Some(position)) => match self.around(position, array, &file, job)? {
                Some(part) => self.array(&part, job, output.as_deref()),
                None => Ok(Outcome::No),
            },
            (Some(array), None) => {
                let is_padded = array.much_padded()?.is_some();
                let part = self.parts.of(array)?;
                let part = if is_padded { self.unpadded(&item, part, job)? } else { part };
                self.array(&part, job, output.as_deref())
            }
            (None, _) => self.value(&item, job, output.as_deref()),
        }
    }

    /// The files that a catalog lists.
    fn family(&self, catalog: &str, options: &Options) -> Result<File> {
        let limits = options.limits()?;
        let layout = options.under.as_deref().map(|path| options.read_layout(path, &limits)).transpose()?;
        options.open_family(catalog, layout, self.raw)
    }

    /// The item as an array, if it is one or is asked for as one.
    fn as_array(&self, item: &Item<'_>, options: &Options) -> Result<Option<Array>> {
        let format = self.format(options);
        // Raw bytes are those of the file; any other form has its own words for text and numbers.
        let is_text = format != Format::Raw;
        match item.array() {
            Ok(array) if self.widen => return item.widened(array).map(Some),
            Ok(_) if is_text && !self.explain => return item.legible().map(Some),
            Ok(array) => return Ok(Some(array)),
            Err(error) if !is_no(&error) || item.kind() == ItemKind::Array => return Err(error),
            Err(_) => {}
        }
        if self.is_part() || self.explain {
            return item.as_array().map(Some).map_err(|error| {
                Error::invalid_input(format!("{}, so --slice, --sky, --field and --explain do not apply", error.message()))
            });
        }
        Ok(None)
    }

    /// The part of an array of strings of variable length: as it is for text, where each costs what it holds, and as other
    /// programs have strings for the other formats.
    fn unpadded(&self, item: &Item<'_>, part: Array, job: &Job<'_>) -> Result<Array> {
        let format = self.format(job.options);
        match part.much_padded()? {
            Some(_) if self.explain || !format.is_binary() => return Ok(part),
            Some(held) => {
                // A character of numpy takes four bytes.
                let times = if format == Format::Npy { 4 } else { 1 };
                let (label, form, padded) = (job.label(), format.form().name(), size(part.nbytes().saturating_mul(times)));
                let advice = "CSV and JSON keep the length of each";
                job.options.warn(&format!(
                    "{label}: strings of {} take {padded} in {form}, which pads each to the longest; {advice}",
                    size(held)
                ));
            }
            None => {}
        }
        if format == Format::Raw { Ok(part) } else { item.presented(part) }
    }

    /// The pixels of an array around a position; `None` if it has none there.
    fn around(&self, position: &str, array: Array, file: &File, job: &Job<'_>) -> Result<Option<Array>> {
        let (place, size): (_, Size) = (wcs::position(position)?, self.size.as_deref().unwrap_or_default().parse()?);
        let array = self.parts.of(array)?;
        let found = file.wcs(job.item_path())?.ok_or_else(|| {
            let message = format!("cannot find position {position}: {} has no coordinates", job.label());
            Error::unsupported(message).hint("use --slice, or name an array with coordinates: FILE#/path")
        })?;
        job.options.warn_all(found.wcs.left_out().to_vec());
        let pixels = found.pixel_box(place, size)?;
        let part = match &pixels {
            Some(pixels) => pixels.slice(&array)?,
            None => None,
        };
        if part.is_none() {
            note(&format!("trilith: position {position} is outside of {}", job.label()));
        }
        Ok(part)
    }

    /// Returns `true` if only a part of an array is selected.
    fn is_part(&self) -> bool {
        self.parts.is_part() || self.sky.is_some()
    }

    fn array(&self, array: &Array, job: &mut Job<'_>, output: Option<&str>) -> Result<Outcome> {
        if self.explain {
            return explain(array, job);
        }
        if array.nbytes() > LONG {
            progress::expect(array.cost(GAP)?);
        }
        let format = self.format(job.options);
        if output.is_some() && !self.is_part() && array.source().access().cost != Cost::Request {
            // The new file would no longer show that the block is damaged. A server would send everything twice.
            verify_backing(&**array.source()).map_err(|error| error.hint("--slice ... prints the elements unchanged"))?;
        }
        if output.is_none() && format == Format::Text {
            if array.len() > MOST_ON_TERMINAL && std::io::stdout().is_terminal() {
                let what = format!("the array has {} elements and stdout is a terminal", array.len());
                return Err(Error::invalid_input(what).hint("take a part of it with --slice, write it to a file with -o, or pipe it"));
            }
            if job.several {
                job.heading()?;
            }
        }
        self.save(format, Some(array.shape()), job, output, |out| format::array(array, format, out))?;
        if format.is_binary() {
            let masked = array.masked_count()?;
            if masked > 0 {
                let (label, form, masked) = (job.label(), format.form().name(), counted(masked as usize, "masked element"));
                job.options.warn(&format!(
                    "{label}: {masked} written without the mask, because there are no masks in {form}; write CSV, JSON or text to keep it"
                ));
            }
        }
        Ok(Outcome::Yes)
    }

    /// An item that is not an array: scalars as text, the rest as JSON.
    fn value(&self, item: &Item<'_>, job: &mut Job<'_>, output: Option<&str>) -> Result<Outcome> {
        // An item without elements has no raw bytes either, unless they are requested by name.
        let is_named = self.format.is_some() || self.outputs().file().and_then(Format::of_ending).is_some();
        let format = match self.format(job.options) {
            Format::Raw if !is_named => Format::Text,
            format => format,
        };
        if output.is_none() && job.several && format == Format::Text {
            let label = job.label();
            job.out.raw(&format!("{}: ", clean(&label)))?;
        }
        // An item that is no scalar is JSON as text, too.
        let ends = matches!((format, item.kind()), (Format::Text, kind) if !is_one_line(kind));
        self.save(format, None, job, output, |out| {
            format::value(item, format, out)?;
            if ends { out.write_all(b"\n").map_err(|e| Error::io("writing", e)) } else { Ok(()) }
        })?;
        Ok(Outcome::Yes)
    }

    /// The format that is asked for, or that the extension of the output selects.
    fn format(&self, options: &Options) -> Format {
        let output = self.outputs().file();
        match (self.format, output.and_then(Format::of_ending)) {
            (Some(format), _) | (None, Some(format)) => format,
            (None, None) if options.json => Format::Json,
            (None, None) if self.output.is_some() => Format::Raw,
            (None, None) => Format::Text,
        }
    }

    /// Puts out what `emit` writes.
    fn save(
        &self,
        format: Format,
        shape: Option<&[u64]>,
        job: &mut Job<'_>,
        output: Option<&str>,
        emit: impl FnOnce(&mut dyn Write) -> Result<()>,
    ) -> Result<()> {
        let Some(path) = output else {
            if format.is_binary() {
                job.out.binary(&[])?;
            }
            return if format == Format::Json { job.json_value("value", emit) } else { emit(&mut job.out) };
        };
        if self.format.is_none() {
            check_name(path, format.form(), "select the format with --format, or change the extension")?;
        }
        job.options.check_inputs(path, &[])?;
        let mut target = Target::create(path, Basis::Nothing, job.options)?;
        emit(&mut target.writer())?;
        if format == Format::Json {
            target.writer().write_all(b"\n").map_err(|e| Error::io("writing", e))?;
        }
        let written = target.commit(job.options)?;
        let name = format.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned());
        let report = json!({"file": path, "written": true, "size": written, "format": name, "shape": shape});
        let line = match shape {
            Some(shape) => format!("{path}: {shape:?}, {}", size(written)),
            None => format!("{path}: {}", size(written)),
        };
        job.told(path, report, &line)
    }
}

/// Neighbours closer than this are read in one go.
const GAP: u64 = 16 << 10;
/// Number of elements that are printed on a terminal; more would run through it for minutes.
const MOST_ON_TERMINAL: u64 = 100_000;
/// Minimum number of bytes for a progress bar: less is read before anybody could look at one.
const LONG: u64 = 32 << 20;
/// Returns `true` if an item is written as a line of text.
fn is_one_line(kind: ItemKind) -> bool {
    matches!(kind, ItemKind::Scalar | ItemKind::Text | ItemKind::Null)
}

/// Ranges in order, joined if they overlap or are closer than `gap`.
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

/// Lists the bytes that would be read: of the decoded block, and of the file.
fn explain(array: &Array, job: &mut Job<'_>) -> Result<Outcome> {
    // The plan for a remote file has narrow gaps, because several ranges can share a request.
    let remote = array.source().access().cost == Cost::Request;
    let gap = if remote { 4 << 10 } else { GAP };
    let decoded = array.plan(gap);
    let mut stored = Vec::new();
    for range in &decoded {
        stored.extend(stored_ranges(&**array.source(), range.clone())?);
    }
    let stored = merged(stored, gap);
    let sum = |ranges: &[Range<u64>]| ranges.iter().fold(0u64, |sum, range| sum.saturating_add(range.end - range.start));
    if job.options.json {
        let list = |ranges: &[Range<u64>]| ranges.iter().map(|r| json!([r.start, r.end])).collect::<Vec<_>>();
        let mut plan = json!({
            "shape": array.shape(), "nbytes": array.nbytes(),
            "decoded": list(&decoded), "stored": list(&stored),
            "decoded_bytes": sum(&decoded), "stored_bytes": sum(&stored),
        });
        if remote {
            plan["requests"] = bytes::requests(&stored).iter().map(|ranges| list(ranges)).collect();
        }
        if job.several {
            (plan["file"], plan["path"]) = (json!(job.name), json!(job.item_path()));
        }
        job.out.json(&plan)?;
    } else {
        job.heading()?;
        let out = &mut job.out;
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
    Ok(Outcome::Yes)
}
