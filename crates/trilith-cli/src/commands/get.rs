//! `trilith get FILE#/p`: the elements of an array, or the value of a node.

mod format;

use std::io::{IsTerminal, Write};
use std::ops::Range;

use clap::{Args, ValueEnum};
use serde_json::json;
use trilith::array::{Array, has_undecodable_text};
use trilith::bytes::{self, SourceBacking, BaseUri, WriteBasis, AccessCost, path_of, stored_ranges};
use trilith::dudley::OmittedFile;
use trilith_io::error::count_noun;
use trilith::array::attribute::{AttributeNumber, AttributeValue};
use trilith::file::{AddressTarget, Item, ItemKind, part_value, table_columns};
use trilith::table::TableCell;
use trilith::wcs::{self, BoxSize};
use trilith::{Error, File, Result};

use self::format::Format;
use crate::outcome::Outcome;
use crate::inputs::{self, ArgumentKind, FileJob, ArraySelection};
use crate::session::{FileRole, Session};
use crate::output::{escape_controls, is_negative_result, eprint_line, display_size};
use crate::outputs::{OutputTemplate, check_name};
use crate::position_args::PositionArgs;
use crate::progress;
use crate::output_file::OutputFile;

/// Print or save an array, a slice of it, or a value of the tree
///
/// A slice reads only the necessary bytes: its own bytes of an uncompressed block, or the pieces of a compressed
/// block that contain it. With --catalog the argument is only the path of an item.
#[derive(Debug, Args)]
#[command(visible_alias = "cat")]
pub(crate) struct Get {
    #[command(flatten)]
    parts: ArraySelection,
    /// Take the pixels around this position on the sky, ICRS in degrees or as 12:30:00,-45:10:05.5; a box that reaches beyond
    /// the array is cut at its edge
    #[arg(long, value_name = "LON,LAT", requires = "size", conflicts_with_all = ["slice", "catalog"], allow_hyphen_values = true)]
    sky: Option<String>,
    /// Size of the box of --sky along x and y, as 30arcsec, 0.5arcmin, 201px, or W,H for both
    #[arg(long, value_name = "SIZE", requires = "sky")]
    size: Option<String>,
    /// Only the first N elements along the first axis: rows of a table
    #[arg(short = 'n', value_name = "N", conflicts_with_all = ["slice", "sky"])]
    first: Option<u64>,
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
    #[command(flatten)]
    frames: PositionArgs,
    /// The catalog of the files to read, if --layout has to give their layout because the catalog does not contain it; the
    /// item of all files is one array with a leading axis, in which files that omit it, or are missing, are masked
    #[arg(long, value_name = "C.bd")]
    catalog: Option<String>,
    /// With --catalog: its files have no signature, if the catalog does not record it
    #[arg(long, requires = "catalog")]
    raw: bool,
}

/// A value that is computed, as that of an attribute.
fn cell_value(cell: TableCell) -> AttributeValue {
    match cell {
        TableCell::Null => AttributeValue::Empty,
        TableCell::Bool(value) => AttributeValue::Bool(value),
        TableCell::Int(value) => AttributeNumber::from(value).into(),
        TableCell::Float(value) => AttributeNumber::from(value).into(),
        TableCell::Text(text) => AttributeValue::Text(text),
        _ => AttributeValue::Empty,
    }
}

impl Get {
    /// Prints or saves the item.
    pub(crate) fn run(mut self, session: &Session<'_>) -> Result<Outcome> {
        if let Some(count) = self.first {
            self.parts.take_first(count);
        }
        if let Some(catalog) = &self.catalog {
            let items = self.parts.item_arguments();
            let [item] = items.as_slice() else {
                return Err(Error::invalid_input("with --catalog there is one path of an item"));
            };
            let item = format!("-#{}", item.trim_start_matches('#'));
            return inputs::run(&[item], ArgumentKind::Items, &self.parts.many, session, |job| {
                self.get_from_file(job, self.open_family(catalog, session)?)
            });
        }
        let is_printed = self.outputs().output_path().is_none() && !self.explain;
        if self.parts.is_several() && is_printed && !matches!(self.select_format(session), Format::Text | Format::Json) {
            return Err(
                Error::invalid_input("of several files only text and JSON can be printed").hint("give -o a name with {stem} in it")
            );
        }
        self.parts.run(self.outputs(), session, |job| {
            let file = job.open(FileRole::Any)?;
            self.get_from_file(job, file)
        })
    }

    /// Returns the outputs of the items.
    fn outputs(&self) -> OutputTemplate<'_> {
        OutputTemplate::new(self.output.as_deref())
    }

    fn get_from_file(&self, job: &mut FileJob<'_>, mut file: File) -> Result<Outcome> {
        // An update that did not finish, or a journal of something else.
        job.warn_all(file.source().backing().and_then(SourceBacking::notice));
        let output = self.outputs().file_for_item(&job.name, job.item_path());
        if let Some(output) = &output {
            // Text that goes into another folder must mean there what it means here.
            file = file.rebased_to(&BaseUri::of_file(output))?;
        }
        if let (Some(family), Some(output)) = (file.as_family(), self.outputs().output_path())
            && path_of(output).exists()
        {
            job.session.add_inputs_beside(self.catalog.as_deref().unwrap_or(&job.name), family.catalog().files());
        }
        let target = file.resolve_address(job.item_path());
        let Some(target) = job.report_missing(target)? else { return Ok(Outcome::Negative) };
        let item = match target {
            AddressTarget::Item(item) => item,
            AddressTarget::Attribute(_, attribute, part) => {
                return self.output_attribute(&part_value(&attribute, part), &file, job, output.as_deref());
            }
            AddressTarget::Computed(item, value) => {
                let cell = value.compute(&item)?;
                if cell == TableCell::Null {
                    job.print_warning(&format!("{}: the {} has no {}", job.label(), item.kind().name(), value.name()));
                }
                return self.output_attribute(&cell_value(cell), &file, job, output.as_deref());
            }
            _ => return Err(Error::unsupported("an address of a kind that is not known")),
        };
        let (item, field) = self.parts.column_of(item)?;
        item.check_required_keys()?;
        let array = self.as_array(&item, job.session)?;
        let array = array.map(|array| array.with_item_name(file.source().name(), job.item_path()));
        if let (Some(family), true) = (file.as_family(), array.as_ref().is_some_and(|array| array.mask().is_some())) {
            let omitted = family.omitted(job.item_path())?;
            job.warn_all(OmittedFile::warnings(job.item_path(), &omitted));
        }
        match (array, &self.sky) {
            (Some(array), Some(position)) => match self.crop_around(position, array, &file, job)? {
                Some(part) => self.output_array(&part, &file, job, output.as_deref()),
                None => Ok(Outcome::Negative),
            },
            (Some(array), None) => {
                let is_padded = array.much_padded()?.is_some();
                let part = self.parts.apply(array, field)?;
                let part = if is_padded { self.print_unpadded_strings(&item, part, job)? } else { part };
                warn_of_bytes(&part, job)?;
                self.output_array(&part, &file, job, output.as_deref())
            }
            (None, _) => self.output_value(&item, job, output.as_deref()),
        }
    }

    /// The files that a catalog lists.
    fn open_family(&self, catalog: &str, session: &Session<'_>) -> Result<File> {
        let layout = session.common_layout()?;
        session.open(catalog, FileRole::FileSet { layout: layout.as_ref(), is_raw: self.raw })
    }

    /// The item as an array, if it is one or is asked for as one.
    fn as_array(&self, item: &Item<'_>, session: &Session<'_>) -> Result<Option<Array>> {
        let format = self.select_format(session);
        // Raw bytes are those of the file; any other form has its own words for text and numbers.
        let is_text = format != Format::Raw;
        match item.array() {
            Ok(array) if self.widen => return item.decoder().widen_small_floats(array).map(Some),
            Ok(_) if is_text && !self.explain => return item.decoder().read().map(Some),
            Ok(array) => return Ok(Some(array)),
            Err(error) if !is_negative_result(&error) || item.kind() == ItemKind::Array => return Err(error),
            Err(_) => {}
        }
        if self.has_selection() || self.explain {
            return item.as_array().map(Some).map_err(|error| {
                let what = format!("{}, so --slice, --sky, --field and --explain do not apply", error.message());
                let error = Error::invalid_input(what);
                match table_columns(item) {
                    Ok(Some(_)) => error.hint("name a column (#/path/COLUMN), or print rows: trilith table FILE#/path --rows 0:10"),
                    _ => error,
                }
            });
        }
        Ok(None)
    }

    /// The part of an array of strings of variable length: as it is for text, where each costs what it holds, and as other
    /// programs have strings for the other formats.
    fn print_unpadded_strings(&self, item: &Item<'_>, part: Array, job: &FileJob<'_>) -> Result<Array> {
        let format = self.select_format(job.session);
        match part.much_padded()? {
            Some(_) if self.explain || !format.is_binary() => return Ok(part),
            Some(held) => {
                // A character of numpy takes four bytes.
                let times = if format == Format::Npy { 4 } else { 1 };
                let (label, form, padded) = (job.label(), format.output_format().name(), display_size(part.nbytes().saturating_mul(times)));
                let advice = "CSV and JSON keep the length of each";
                job.session.warn(&format!(
                    "{label}: strings of {} take {padded} in {form}, which pads each to the longest; {advice}",
                    display_size(held)
                ));
            }
            None => {}
        }
        if format == Format::Raw { Ok(part) } else { item.decoder().decode_text(part) }
    }

    /// The pixels of an array around a position; `None` if it has none there.
    fn crop_around(&self, position: &str, array: Array, file: &File, job: &FileJob<'_>) -> Result<Option<Array>> {
        let (place, size): (_, BoxSize) = (wcs::position(position)?, self.size.as_deref().unwrap_or_default().parse()?);
        let array = self.parts.apply(array, self.parts.field.as_deref())?;
        let found = file.wcs_by_key(job.item_path(), self.frames.wcs_key)?.ok_or_else(|| {
            let message = format!("cannot find position {position}: {} has no coordinates", job.label());
            Error::unsupported(message).hint("use --slice, or name an array with coordinates: FILE#/path")
        })?;
        job.session.warn_all(found.wcs.left_out().to_vec());
        self.frames.note_conversion(&found.wcs, job.session);
        let pixels = found.pixel_box(self.frames.sky_frame.to_native(&found.wcs, place), size)?;
        let part = match pixels {
            Some(pixels) => pixels.for_axes(&found.wcs, array.shape().len()).slice(&array)?,
            None => None,
        };
        if part.is_none() {
            eprint_line(&format!("trilith: position {position} is outside of {}", job.label()));
        }
        Ok(part)
    }

    /// Returns `true` if only a part of an array is selected.
    fn has_selection(&self) -> bool {
        self.parts.is_part() || self.sky.is_some()
    }

    fn output_array(&self, array: &Array, file: &File, job: &mut FileJob<'_>, output: Option<&str>) -> Result<Outcome> {
        if self.explain {
            return print_read_plan(array, job);
        }
        if array.nbytes() > MIN_PROGRESS_BYTES {
            progress::add_expected(array.read_cost(MERGE_GAP)?);
        }
        let format = self.select_format(job.session);
        // No decoder compares the CRC-32 of a stored member of an archive, which is read to its end here.
        let is_compared = output.is_some() || file.format() == "NPZ";
        if is_compared && !self.has_selection() && array.source().access().cost != AccessCost::Request {
            // The new file would no longer show that the block is damaged. A server would send everything twice.
            array.verify_checksum().map_err(|error| error.hint("--slice ... prints the elements unchanged"))?;
        }
        if output.is_none() && format == Format::Text {
            if array.element_count() > MAX_TERMINAL_ELEMENTS && std::io::stdout().is_terminal() {
                let what = format!("the array has {} elements and stdout is a terminal", array.element_count());
                return Err(Error::invalid_input(what).hint("take a part of it with --slice, write it to a file with -o, or pipe it"));
            }
            if job.is_one_of_many {
                job.print_heading()?;
            }
        }
        self.write_output(format, Some(array.shape()), job, output, |out| format::write_array(array, format, out))?;
        if format.is_binary() {
            // A mask by value looks at the elements again.
            array.limits().discount_pass(array.nbytes());
            let masked = array.masked_count()?;
            if masked > 0 {
                let (label, form, masked) = (job.label(), format.output_format().name(), count_noun(masked as usize, "masked element"));
                job.session.warn(&format!(
                    "{label}: {masked} written without the mask, because there are no masks in {form}; write CSV, JSON or text to keep it"
                ));
            }
        }
        Ok(Outcome::Success)
    }

    /// An item that is not an array: scalars as text, the rest as JSON.
    fn output_value(&self, item: &Item<'_>, job: &mut FileJob<'_>, output: Option<&str>) -> Result<Outcome> {
        // An item without elements has no raw bytes either, unless they are requested by name.
        let is_named = self.format.is_some() || self.outputs().output_path().and_then(Format::from_extension).is_some();
        let format = match self.select_format(job.session) {
            Format::Raw if !is_named && item.kind() != ItemKind::Text => Format::Text,
            format => format,
        };
        if output.is_none() && job.is_one_of_many && format == Format::Text {
            let label = job.label();
            job.out.write_raw_text(&format!("{}: ", escape_controls(&label)))?;
        }
        // An item that is not a scalar is JSON as text, too.
        let ends = matches!((format, item.kind()), (Format::Text, kind) if !is_one_line(kind));
        self.write_output(format, None, job, output, |out| {
            format::write_value(item, format, out)?;
            if ends { out.write_all(b"\n").map_err(|e| Error::io("writing", e)) } else { Ok(()) }
        })?;
        Ok(Outcome::Success)
    }

    /// The value of an attribute, or a value that is computed: an array as any array, everything else as text or JSON.
    fn output_attribute(
        &self,
        value: &AttributeValue,
        file: &File,
        job: &mut FileJob<'_>,
        output: Option<&str>,
    ) -> Result<Outcome> {
        if let Some(why) = value.unreadable() {
            return Err(why.copy());
        }
        if let AttributeValue::Array(array) = value {
            let part = self.parts.apply((**array).clone(), None)?;
            return self.output_array(&part, file, job, output);
        }
        if self.has_selection() || self.explain {
            return Err(Error::invalid_input(format!("{} is one value, so -n, --slice, --sky, --field and --explain do not apply", job.label())));
        }
        let is_raw = self.select_format(job.session) == Format::Raw;
        let format = if is_raw { Format::Text } else { self.select_format(job.session) };
        if output.is_none() && job.is_one_of_many && format == Format::Text {
            let label = job.label();
            job.out.write_raw_text(&format!("{}: ", escape_controls(&label)))?;
        }
        let text = match format {
            Format::Text => {
                let text = value.to_string();
                if output.is_none() { escape_controls(&text).into_owned() } else { text }
            }
            _ => value.to_json(),
        };
        // The bytes of a string are its UTF-8 alone.
        let ends = if is_raw || output.is_none() && format != Format::Text { "" } else { "\n" };
        self.write_output(format, None, job, output, |out| {
            out.write_all(format!("{text}{ends}").as_bytes()).map_err(|e| Error::io("writing", e))
        })?;
        Ok(Outcome::Success)
    }

    /// The format that is asked for, or that the extension of the output selects.
    fn select_format(&self, session: &Session<'_>) -> Format {
        let output = self.outputs().output_path();
        match (self.format, output.and_then(Format::from_extension)) {
            (Some(format), _) | (None, Some(format)) => format,
            (None, None) if session.args.json => Format::Json,
            (None, None) if self.output.is_some() => Format::Raw,
            (None, None) => Format::Text,
        }
    }

    /// Puts out what `emit` writes.
    fn write_output(
        &self,
        format: Format,
        shape: Option<&[u64]>,
        job: &mut FileJob<'_>,
        output: Option<&str>,
        emit: impl FnOnce(&mut dyn Write) -> Result<()>,
    ) -> Result<()> {
        let Some(path) = output else {
            if format.is_binary() {
                job.out.write_binary(&[])?;
            }
            return if format == Format::Json { job.json_value("value", emit) } else { emit(&mut job.out) };
        };
        if self.format.is_none() {
            check_name(path, format.output_format(), "select the format with --format, or change the extension")?;
        }
        job.session.check_inputs(path, &[])?;
        let mut target = OutputFile::create(path, WriteBasis::Nothing, job.session)?;
        emit(&mut target.writer())?;
        if format == Format::Json {
            target.writer().write_all(b"\n").map_err(|e| Error::io("writing", e))?;
        }
        let written = target.commit(job.session)?;
        let name = format.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned());
        let report = json!({"file": path, "written": true, "size": written, "format": name, "shape": shape});
        let line = match shape {
            Some(shape) => format!("{path}: {shape:?}, {}", display_size(written)),
            None => format!("{path}: {}", display_size(written)),
        };
        job.report_written(path, report, &line)
    }
}

/// Warns of strings that are not in their declared encoding. Those that padding would multiply are not looked through.
fn warn_of_bytes(array: &Array, job: &FileJob<'_>) -> Result<()> {
    if array.much_padded()?.is_none() && has_undecodable_text(array)? {
        job.session.warn(&format!("{}: strings that are not in their declared encoding are shown as bytes", job.label()));
    }
    Ok(())
}

/// Neighbours closer than this are read in one go.
const MERGE_GAP: u64 = 16 << 10;
/// Number of elements that are printed on a terminal; more would run through it for minutes.
const MAX_TERMINAL_ELEMENTS: u64 = 100_000;
/// Minimum number of bytes for a progress bar: less is read before anybody could look at one.
const MIN_PROGRESS_BYTES: u64 = 32 << 20;
/// Returns `true` if an item is written as a line of text.
fn is_one_line(kind: ItemKind) -> bool {
    matches!(kind, ItemKind::Scalar | ItemKind::Text | ItemKind::Null)
}

/// Ranges in order, joined if they overlap or are closer than `gap`.
fn merge_ranges(mut ranges: Vec<Range<u64>>, gap: u64) -> Vec<Range<u64>> {
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
fn print_read_plan(array: &Array, job: &mut FileJob<'_>) -> Result<Outcome> {
    // The plan for a remote file has narrow gaps, because several ranges can share a request.
    let remote = array.source().access().cost == AccessCost::Request;
    let gap = if remote { 4 << 10 } else { MERGE_GAP };
    let decoded = array.plan(gap);
    let mut stored = Vec::new();
    for range in &decoded {
        stored.extend(stored_ranges(&**array.source(), range.clone())?);
    }
    let stored = merge_ranges(stored, gap);
    let sum = |ranges: &[Range<u64>]| ranges.iter().fold(0u64, |sum, range| sum.saturating_add(range.end - range.start));
    if job.session.args.json {
        let list = |ranges: &[Range<u64>]| ranges.iter().map(|r| json!([r.start, r.end])).collect::<Vec<_>>();
        let mut plan = json!({
            "shape": array.shape(), "nbytes": array.nbytes(),
            "decoded": list(&decoded), "stored": list(&stored),
            "decoded_bytes": sum(&decoded), "stored_bytes": sum(&stored),
        });
        if remote {
            plan["requests"] = bytes::requests(&stored).iter().map(|ranges| list(ranges)).collect();
        }
        if job.is_one_of_many {
            (plan["file"], plan["path"]) = (json!(job.name), json!(job.item_path()));
        }
        job.out.write_json(&plan)?;
    } else {
        job.print_heading()?;
        let out = &mut job.out;
        out.write_line(&format!("{:?}, {} wanted", array.shape(), display_size(array.nbytes())))?;
        out.write_line(&format!("{} of the array's bytes in {}", display_size(sum(&decoded)), count_noun(decoded.len(), "range")))?;
        out.write_line(&format!("{} of the file in {}:", display_size(sum(&stored)), count_noun(stored.len(), "range")))?;
        for range in stored.iter().take(20) {
            out.write_line(&format!("  {}..{}  {}", range.start, range.end, display_size(range.end - range.start)))?;
        }
        if stored.len() > 20 {
            out.write_line(&format!("  ... and {} more", stored.len() - 20))?;
        }
        if remote {
            let count = bytes::requests(&stored).len();
            out.write_line(&format!("{}, where the server gives several ranges in one answer", count_noun(count, "request")))?;
        }
    }
    Ok(Outcome::Success)
}
