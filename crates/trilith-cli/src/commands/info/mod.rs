//! `trilith info FILE`: what the file is.

pub(super) mod asdf;
mod dudley;

use clap::Args;
use serde_json::json;
use trilith::file::ItemKind;
use trilith::{File, Item, Result};

use crate::Outcome;
use crate::inputs::{self, Form, Job, Many};
use crate::json::{datatype, datatype_text, tell};
use crate::options::Options;
use crate::commands::tree::{attribute_json, attributes_json};
use crate::output::{Out, clean, size};

/// Show the kind of a file: generation, sizes, tree, blocks, index
///
/// Nothing is decoded, so the time does not depend on the size of the file.
#[derive(Debug, Args)]
pub(crate) struct Info {
    /// Files, folders, patterns and URLs, or - for standard input; each with an optional #/path of one item
    #[arg(value_name = "FILE[#/path]", required_unless_present = "files_from")]
    files: Vec<String>,
    #[command(flatten)]
    many: Many,
}

impl Info {
    /// Prints what the file is.
    pub(crate) fn run(&self, options: &Options) -> Result<Outcome> {
        inputs::run(&self.files, Form::Items, &self.many, options, |job| {
            let file = job.open()?;
            if !options.json {
                job.gap()?;
            }
            if let Some(path) = job.path.clone().filter(|path| !path.is_empty()) {
                return item(&file, &path, job);
            }
            let (out, name) = (&mut job.out, &job.name);
            match (file.as_asdf(), file.as_dudley()) {
                (Some(file), _) if options.json => out.json(&asdf::facts(name, file)?)?,
                (Some(file), _) => asdf::print(out, name, file, options)?,
                (_, Some(file)) => dudley::show(out, name, file, options)?,
                _ => show(out, name, &file, options)?,
            }
            job.warn_all(file.warnings());
            Ok(Outcome::Yes)
        })
    }
}

/// Describes one item, and decodes nothing of it.
fn item(file: &File, path: &str, job: &mut Job<'_>) -> Result<Outcome> {
    let Some(item) = job.found(file.item(path))? else { return Ok(Outcome::No) };
    let (options, name, out) = (job.options, &job.name, &mut job.out);
    if item.kind() != ItemKind::Array {
        if options.json {
            let mut facts = json!({"file": name, "path": path, "kind": item.kind().name(), "attributes": attributes(&item)?});
            if let Some(doc) = item.doc() {
                facts["doc"] = json!(clean(&doc));
            }
            out.json(&facts)?;
        } else {
            out.facts([("item", &*format!("{name}#{path}")), ("kind", item.kind().name())])?;
            let about = if item.kind().is_collection() { item.summary() } else { item.text()?.into_owned() };
            out.facts([("value", about)])?;
            out.facts(item.doc().map(|doc| ("doc", clean(&doc).into_owned())))?;
            print_attributes(out, &item)?;
        }
        return Ok(Outcome::Yes);
    }
    let facts = item.describe()?;
    if options.json {
        let mut said = json!({
            "file": name, "path": path, "kind": item.kind().name(), "datatype": datatype(&facts.datatype), "shape": facts.shape,
            "nbytes": facts.nbytes, "storage": facts.storage, "byteorder": facts.byteorder.name(), "remarks": facts.remarks,
            "attributes": attributes(&item)?,
        });
        tell(&mut said, &facts);
        out.json(&said)?;
    } else {
        let bytes = facts.nbytes.map_or_else(|| "unknown".to_owned(), size);
        out.facts([
            ("item", format!("{name}#{path}")),
            ("datatype", datatype_text(&facts.datatype)),
            ("shape", format!("{:?}", facts.shape)),
            ("size", bytes),
            ("stored as", facts.storage.clone()),
        ])?;
        out.facts(facts.remarks.iter().map(|remark| ("remark", remark)))?;
        for (fact, text) in [("doc", &facts.doc), ("unit", &facts.unit)] {
            out.facts(text.iter().map(|text| (fact, clean(text))))?;
        }
        for (way, doc, unit) in &facts.members {
            let unit = unit.as_ref().map(|unit| format!(" [{unit}]")).unwrap_or_default();
            let doc = doc.as_ref().map(|doc| format!("  ## {doc}")).unwrap_or_default();
            out.facts([("member", clean(&format!("{way}{unit}{doc}")))])?;
        }
        print_attributes(out, &item)?;
    }
    Ok(Outcome::Yes)
}

/// The attributes of an item as JSON.
fn attributes(item: &Item<'_>) -> Result<serde_json::Value> {
    let text = attributes_json(&item.attributes()?);
    serde_json::from_str(&text).map_err(|error| trilith::Error::invalid_input(format!("an attribute that JSON cannot hold: {error}")))
}

/// Prints the attributes of an item, one a line.
fn print_attributes(out: &mut Out, item: &Item<'_>) -> Result<()> {
    let attributes = item.attributes()?.into_iter();
    out.facts(attributes.map(|(name, value)| ("attribute", format!("{} = {}", clean(&name), clean(&attribute_json(&value))))))
}

/// Shows facts about a file of any family.
fn show(out: &mut Out, name: &str, file: &File, options: &Options) -> Result<()> {
    let arrays = file.arrays()?.len();
    if options.json {
        let facts = json!({
            "file": name, "family": file.family(), "generation": file.family(), "items": arrays, "blocks": [],
            "size": file.source().len(),
        });
        return out.json(&facts);
    }
    let facts = [("file", name.to_owned()), ("family", file.family().to_owned()), ("size", size(file.source().len()))];
    out.facts(facts)?;
    out.facts([("arrays", arrays)])
}
