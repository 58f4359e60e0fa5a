//! `trilith blocks FILE`: the stored pieces of a file and where they are.

use clap::Args;
use serde_json::{Value, json};
use trilith::asdf::AsdfFile;
use trilith::dudley::DudleyFile;
use trilith::file::{ArrayEntry, HduSummary, hdu_summaries};
use trilith::layout::{LayoutEntry, StreamEntryKind};
use trilith::{File, Result};

use super::info::asdf::{block_json, block_table};
use crate::outcome::Outcome;
use crate::inputs::{InputFiles, FileJob};
use crate::json::datatype_text;
use crate::session::{FileRole, Session};
use crate::output::TextTable;

/// List the blocks of a file, or the items or HDUs of other formats
#[derive(Debug, Args)]
pub(crate) struct Blocks {
    #[command(flatten)]
    files: InputFiles,
}

impl Blocks {
    /// Prints the list.
    pub(crate) fn run(&self, session: &Session<'_>) -> Result<Outcome> {
        self.files.run(session, |job| {
            let file = job.open(FileRole::Any)?;
            print_file_blocks(job, &file)
        })
    }
}

/// Prints the stored pieces of a file.
pub(super) fn print_file_blocks(job: &mut FileJob<'_>, file: &File) -> Result<Outcome> {
    if !job.session.args.json {
        job.print_heading()?;
    }
    match (file.as_asdf(), file.as_dudley()) {
        (Some(file), _) => print_blocks(job, file)?,
        (_, Some(file)) => dudley_entries(job, file)?,
        _ => print_arrays(job, file)?,
    }
    job.warn_all(file.warnings());
    Ok(Outcome::Success)
}

fn print_blocks(job: &mut FileJob<'_>, file: &AsdfFile) -> Result<()> {
    let hdus: Vec<HduSummary> = hdu_summaries(file).collect();
    let blocks = file.sections().blocks()?;
    if job.session.args.json {
        let base = file.container().map_or(0, |container| container.offset);
        let list: Vec<_> = blocks.iter().map(|block| block_json(file, block, base)).collect();
        let mut listed = json!({"file": job.name, "blocks": list});
        if !hdus.is_empty() {
            listed["hdus"] = hdus.iter().map(hdu_json).collect();
        }
        return job.out.write_json(&listed);
    }
    // A FITS file has HDUs in place of blocks.
    let table = if hdus.is_empty() { block_table(file, &blocks, usize::MAX) } else { hdu_table(&hdus) };
    print_listing(job, &table, "no blocks")
}

/// The place of an HDU as JSON.
fn hdu_json(hdu: &HduSummary) -> Value {
    json!({
        "number": hdu.number, "name": hdu.name, "version": hdu.version, "offset": hdu.offset, "data_offset": hdu.data.start,
        "data_size": hdu.data.end.saturating_sub(hdu.data.start),
    })
}

/// The headers and the data of HDUs, each with its place.
fn hdu_table(hdus: &[HduSummary]) -> TextTable {
    let mut table = TextTable::new(&[">HDU", "name", ">byte", ">data byte", ">data bytes"]);
    for hdu in hdus {
        let size = hdu.data.end.saturating_sub(hdu.data.start);
        let place = if size == 0 { "-".to_owned() } else { hdu.data.start.to_string() };
        table.push_row(vec![hdu.number.to_string(), hdu.label().unwrap_or_default(), hdu.offset.to_string(), place, size.to_string()]);
    }
    table
}

/// Prints a table; for one without rows, a note on stderr says what the file lacks.
fn print_listing(job: &mut FileJob<'_>, table: &TextTable, lack: &str) -> Result<()> {
    if table.is_empty() {
        job.note_lack(lack);
        return Ok(());
    }
    table.print(&mut job.out)
}

/// The items of a stream, parameters among them.
fn dudley_entries(job: &mut FileJob<'_>, file: &DudleyFile) -> Result<()> {
    let listed = if file.is_foreign() { Some(file.with_listed_chunks()?) } else { None };
    let file = listed.as_ref().unwrap_or(file);
    let items = file.locate_items()?;
    let place = |entry: &LayoutEntry| file.offset_of(entry);
    if job.session.args.json {
        let mut list = Vec::new();
        for entry in items.entries() {
            let entry = entry?;
            let mut value = json!({
                "path": entry.path, "kind": entry.kind.name(), "address": entry.address, "offset": place(&entry),
                "datatype": entry.datatype, "shape": entry.shape, "nbytes": entry.nbytes,
            });
            if entry.kind == StreamEntryKind::Param {
                value["value"] = json!(entry.value);
            }
            list.push(value);
        }
        return job.out.write_json(&json!({"file": job.name, "items": list}));
    }
    let mut table = TextTable::new(&[">byte", ">bytes", "datatype", "shape", "<item"]);
    for entry in items.entries() {
        let entry = entry?;
        let value = entry.value.map_or(String::new(), |value| format!(" = {value}"));
        let shape = format!("{:?}", entry.shape);
        let item = format!("{}{value}", entry.path);
        table.push_row(vec![optional_number(place(&entry)), optional_number(entry.nbytes), entry.datatype, shape, item]);
    }
    print_listing(job, &table, "no items")
}

/// The arrays of any other file.
fn print_arrays(job: &mut FileJob<'_>, file: &File) -> Result<()> {
    let mut table = TextTable::new(&[">byte", ">bytes", "datatype", "shape", "<item"]);
    let mut list = Vec::new();
    for ArrayEntry { path, item } in file.arrays()? {
        let found = item?.describe()?;
        let kind = datatype_text(&found.datatype);
        list.push(json!({
            "path": path, "kind": "array", "offset": found.offset, "datatype": kind, "shape": found.shape, "nbytes": found.nbytes,
        }));
        table.push_row(vec![optional_number(found.offset), optional_number(found.nbytes), kind, format!("{:?}", found.shape), path]);
    }
    if job.session.args.json { job.out.write_json(&json!({"file": job.name, "items": list})) } else { print_listing(job, &table, "no arrays") }
}

fn optional_number(n: Option<u64>) -> String {
    n.map_or_else(|| "-".to_owned(), |n| n.to_string())
}
