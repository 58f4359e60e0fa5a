//! `trilith header FILE[#/p]`: cards of FITS headers, attributes of other formats, what an ASDF file says about its arrays.

use clap::Args;
use serde_json::json;
use trilith::array::attribute::ItemAttribute;
use trilith::file::{HduSummary, HeaderItem, ItemAddress};
use trilith::{File, Result};

use crate::outcome::Outcome;
use crate::dashed_words::strip_mark;
use crate::inputs::{self, ArgumentKind, FileJob, FileListArgs};
use crate::json::attribute_facts;
use crate::session::{FileRole, Session};
use crate::output::escape_controls;

/// Print the headers of FITS files, and attributes of other files
///
/// FITS: the cards of each HDU. HDF5, netCDF, TIFF, Dudley: the attributes of each item. ASDF: the lines before the tree,
/// then units and descriptions of arrays. `to-yaml` prints the tree of an ASDF file.
#[derive(Debug, Args)]
pub(crate) struct Header {
    /// Files, folders, patterns and URLs, or - for standard input; each with an optional #/path
    #[arg(value_name = "FILE[#/path]", required_unless_present = "files_from", value_parser = strip_mark)]
    item: Option<String>,
    /// More files, folders, patterns and URLs
    #[arg(value_name = "MORE")]
    more: Vec<String>,
    #[command(flatten)]
    list_args: FileListArgs,
    /// Only keywords and names that match this regular expression
    #[arg(short, long, value_name = "RE")]
    key: Option<String>,
}

/// Columns of a card.
const CARD_LEN: usize = 80;

impl Header {
    /// Prints the headers.
    pub(crate) fn run(&self, session: &Session<'_>) -> Result<Outcome> {
        let items = inputs::all_arguments(self.item.as_ref(), &self.more);
        inputs::run(&items, ArgumentKind::Items, &self.list_args, session, |job| print_header(job, self.key.as_deref()))
    }
}

fn print_header(job: &mut FileJob<'_>, key: Option<&str>) -> Result<Outcome> {
    let file = job.open(FileRole::Any)?;
    let item = file.item(job.item_path());
    let Some(item) = job.report_missing(item)? else { return Ok(Outcome::Negative) };
    let items = match key {
        Some(key) => item.header().items_matching(key)?,
        None => item.header().items()?,
    };
    let lines = if job.item_path().is_empty() && key.is_none() { first_lines(&file) } else { Vec::new() };
    if job.session.args.json {
        let items = items.iter().map(item_json).collect::<Result<Vec<_>>>()?;
        let mut all = json!({"file": job.name, "items": items});
        if !lines.is_empty() {
            all["header"] = json!(lines);
        }
        job.out.write_json(&all)?;
    } else {
        job.print_heading()?;
        for line in &lines {
            job.out.write_line(&escape_controls(line))?;
        }
        // The item that was asked for needs no heading.
        let base = item.path().unwrap_or_default();
        let is_several = !lines.is_empty() || !matches!(items.as_slice(), [only] if only.path == base || is_header(only));
        for (number, item) in items.iter().enumerate() {
            let label = file.item(&item.path).ok().and_then(|found| HduSummary::label_of(&found));
            let heading = is_several.then(|| heading_text(item, label.as_deref()));
            print_item(job, item, heading, number > 0 || !lines.is_empty())?;
        }
        match key {
            _ if !items.is_empty() || !lines.is_empty() => {}
            Some(key) => job.note_lack(&format!("no keyword and no name of an attribute matches {key}")),
            None => job.note_lack("no attributes"),
        }
    }
    job.warn_all(file.warnings());
    let mut unreadable = items.iter().flat_map(|item| &item.attributes).map(|attribute| attribute.value.unreadable());
    if unreadable.any(|reason| reason.is_some()) {
        return Ok(Outcome::Failed);
    }
    let found = !items.is_empty() || !lines.is_empty();
    Ok(if found || key.is_none() { Outcome::Success } else { Outcome::Negative })
}

/// Returns `true` for the cards of a FITS header.
fn is_header(item: &HeaderItem) -> bool {
    item.attributes.iter().all(|attribute| attribute.record.is_some())
}

/// The lines before the tree of an ASDF file.
fn first_lines(file: &File) -> Vec<String> {
    let asdf = file.as_asdf().filter(|asdf| asdf.container().is_none());
    let lines = asdf.map(|asdf| asdf.sections().header());
    lines.map(|header| std::iter::once(&header.line).chain(&header.comments).cloned().collect()).unwrap_or_default()
}

fn item_json(item: &HeaderItem) -> Result<serde_json::Value> {
    let attributes = item.attributes.iter().map(attribute_facts).collect::<Result<Vec<_>>>()?;
    Ok(json!({"path": if item.path.is_empty() { "/" } else { &item.path }, "attributes": attributes}))
}

/// The path of an item: `# /fits/1 (SCI)` for an HDU, `/run/hits` for an item of another format.
fn heading_text(item: &HeaderItem, label: Option<&str>) -> String {
    let path = if item.path.is_empty() { "/" } else { &item.path };
    let mark = if is_header(item) { "# " } else { "" };
    let label = label.map_or_else(String::new, |label| format!(" ({label})"));
    escape_controls(&format!("{mark}{path}{label}")).into_owned()
}

fn print_item(job: &mut FileJob<'_>, item: &HeaderItem, heading: Option<String>, is_later: bool) -> Result<()> {
    if let Some(heading) = heading {
        if is_later {
            job.out.write_line("")?;
        }
        job.out.write_line(&heading)?;
    }
    for attribute in &item.attributes {
        match &attribute.record {
            Some(record) => {
                let letters: Vec<char> = record.chars().collect();
                for line in letters.chunks(CARD_LEN) {
                    let line: String = line.iter().collect();
                    job.out.write_line(&escape_controls(line.trim_end()))?;
                }
            }
            None => job.out.write_line(&attribute_line(attribute))?,
        }
    }
    Ok(())
}

/// `@NAME = value / unit or comment`
fn attribute_line(attribute: &ItemAttribute) -> String {
    let name = ItemAddress::attribute("", &attribute.name, 0);
    let remark = attribute.unit.as_ref().or(attribute.comment.as_ref()).map_or_else(String::new, |text| format!(" / {text}"));
    escape_controls(&format!("{name} = {}{remark}", attribute.value.literal_text())).into_owned()
}
