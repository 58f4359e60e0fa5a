//! `trilith info FILE`: what the file is.

pub(super) mod asdf;
mod dudley;

use clap::Args;
use serde_json::{Value, json};
use trilith::array::attribute::ItemAttribute;
use trilith::file::{ItemKind, children_text};
use trilith::{Error, File, Item, Result};

use crate::outcome::Outcome;
use crate::inputs::{self, ArgumentKind, FileJob, FileListArgs};
use crate::json::{datatype_json, datatype_text, add_layout_metadata};
use crate::session::{FileRole, Session};
use crate::commands::blocks;
use crate::commands::tree::attributes_json;
use crate::output::{Output, escape_controls, display_size};

/// Show format, version, size and blocks of a file
///
/// The command decodes nothing, so its time does not depend on the size of the file.
#[derive(Debug, Args)]
pub(crate) struct Info {
    /// Files, folders, patterns and URLs, or - for standard input; each with an optional #/path of one item
    #[arg(value_name = "FILE[#/path]", required_unless_present = "files_from")]
    files: Vec<String>,
    #[command(flatten)]
    list_args: FileListArgs,
    /// List the blocks of a file, or the items or HDUs of other formats, with byte offsets
    #[arg(long)]
    blocks: bool,
}

impl Info {
    /// Prints what the file is.
    pub(crate) fn run(&self, session: &Session<'_>) -> Result<Outcome> {
        inputs::run(&self.files, ArgumentKind::Items, &self.list_args, session, |job| {
            let file = job.open(FileRole::Any)?;
            if self.blocks {
                if let Some(path) = job.path.as_deref().filter(|path| !path.is_empty()) {
                    let message = format!("--blocks lists the blocks of a whole file, not of {path}");
                    return Err(Error::invalid_input(message).hint("leave out #/path"));
                }
                return blocks::print_file_blocks(job, &file);
            }
            if !session.args.json {
                job.print_separator()?;
            }
            if let Some(path) = job.path.clone().filter(|path| !path.is_empty()) {
                return print_item(&file, &path, job);
            }
            let warnings = file_warnings(&file);
            let (out, name) = (&mut job.out, &job.name);
            match (file.as_asdf(), file.as_dudley()) {
                (Some(file), _) if session.args.json => write_facts(out, asdf::info_json(name, file)?, &warnings)?,
                (Some(file), _) => asdf::print_asdf_info(out, name, file, session)?,
                (_, Some(file)) => dudley::print_info(out, (name, file), &warnings, session)?,
                _ => print_info(out, (name, &file), &warnings, session)?,
            }
            job.warn_all(warnings);
            Ok(Outcome::Success)
        })
    }
}

/// The warnings about a file, with the one that its end is missing.
fn file_warnings(file: &File) -> Vec<String> {
    if let Some(file) = file.as_asdf() {
        // An error of the blocks is that of the facts about them.
        let _ = file.sections().blocks();
    }
    let mut warnings = file.warnings();
    if file.damage().is_none() {
        warnings.extend(file.as_dudley().and_then(dudley::find_missing_end));
    }
    warnings
}

/// Writes facts as JSON, with the warnings about the file if there are any.
fn write_facts(out: &mut Output, mut facts: Value, warnings: &[String]) -> Result<()> {
    if !warnings.is_empty() {
        facts["warnings"] = warnings.iter().map(|warning| json!(escape_controls(warning))).collect();
    }
    out.write_json(&facts)
}

/// Describes one item, and decodes nothing of it.
fn print_item(file: &File, path: &str, job: &mut FileJob<'_>) -> Result<Outcome> {
    let Some(item) = job.report_missing(file.item(path))? else { return Ok(Outcome::Negative) };
    let (session, name, out) = (job.session, &job.name, &mut job.out);
    if item.kind() != ItemKind::Array {
        if session.args.json {
            let mut facts = json!({"file": name, "path": path, "kind": item.kind().name(), "attributes": attributes_to_value(&item)?});
            if let Some(doc) = item.metadata().comment {
                facts["doc"] = json!(escape_controls(&doc));
            }
            out.write_json(&facts)?;
        } else {
            out.name_value_lines([("item", &*format!("{name}#{path}")), ("kind", item.kind().name())])?;
            let about = if item.kind().is_collection() { children_text(&item) } else { item.text()?.into_owned() };
            out.name_value_lines([("value", about)])?;
            out.name_value_lines(item.metadata().comment.map(|doc| ("doc", escape_controls(&doc).into_owned())))?;
            print_attributes(out, &item)?;
        }
        return Ok(Outcome::Success);
    }
    let mut facts = item.describe()?;
    facts.unit = facts.unit.or_else(|| item.unit());
    if session.args.json {
        let mut said = json!({
            "file": name, "path": path, "kind": item.kind().name(), "datatype": datatype_json(&facts.datatype), "shape": facts.shape,
            "nbytes": facts.nbytes, "storage": facts.storage, "byteorder": facts.byteorder.name(), "remarks": facts.remarks,
            "attributes": attributes_to_value(&item)?,
        });
        add_layout_metadata(&mut said, &facts);
        out.write_json(&said)?;
    } else {
        let bytes = facts.nbytes.map_or_else(|| "unknown".to_owned(), display_size);
        out.name_value_lines([
            ("item", format!("{name}#{path}")),
            ("datatype", datatype_text(&facts.datatype)),
            ("shape", format!("{:?}", facts.shape)),
            ("size", bytes),
            ("stored as", facts.storage.clone()),
        ])?;
        out.name_value_lines(facts.remarks.iter().map(|remark| ("remark", remark)))?;
        for (fact, text) in [("doc", &facts.doc), ("unit", &facts.unit)] {
            out.name_value_lines(text.iter().map(|text| (fact, escape_controls(text))))?;
        }
        for (way, doc, unit) in &facts.members {
            let unit = unit.as_ref().map(|unit| format!(" [{unit}]")).unwrap_or_default();
            let doc = doc.as_ref().map(|doc| format!("  ## {doc}")).unwrap_or_default();
            out.name_value_lines([("member", escape_controls(&format!("{way}{unit}{doc}")))])?;
        }
        print_attributes(out, &item)?;
    }
    Ok(Outcome::Success)
}

/// The attributes of an item as JSON.
fn attributes_to_value(item: &Item<'_>) -> Result<Value> {
    let text = attributes_json(&item.attributes()?);
    serde_json::from_str(&text).map_err(|error| Error::invalid_input(format!("an attribute that JSON cannot hold: {error}")))
}

/// Prints the attributes of an item, one a line.
fn print_attributes(out: &mut Output, item: &Item<'_>) -> Result<()> {
    let attributes = item.attributes()?.into_iter();
    let text = |attribute: ItemAttribute| format!("{} = {}", escape_controls(&attribute.name), escape_controls(&attribute.value.to_json()));
    out.name_value_lines(attributes.map(|attribute| ("attribute", text(attribute))))
}

/// Shows facts about a file of any family.
fn print_info(out: &mut Output, (name, file): (&str, &File), warnings: &[String], session: &Session<'_>) -> Result<()> {
    let arrays = file.arrays()?.len();
    if session.args.json {
        let facts = json!({
            "file": name, "family": file.family(), "generation": file.family(), "items": arrays, "blocks": [],
            "size": file.source().len(),
        });
        return write_facts(out, facts, warnings);
    }
    let facts = [("file", name.to_owned()), ("family", file.family().to_owned()), ("size", display_size(file.source().len()))];
    out.name_value_lines(facts)?;
    out.name_value_lines([("arrays", arrays)])
}
