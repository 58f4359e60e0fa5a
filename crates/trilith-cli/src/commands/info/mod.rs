//! `trilith info FILE`: what the file is.

pub mod asdf;
mod dudley;

use clap::Args;
use serde_json::json;
use trilith::file::ItemKind;
use trilith::{File, Result};

use super::tree::found;
use crate::Outcome;
use crate::item::Item;
use crate::json::{datatype, datatype_text};
use crate::options::Options;
use crate::output::{Out, size};

/// Show what a file is: generation, sizes, tree, blocks, index
///
/// Nothing is decoded, so the time does not depend on the size of the file.
#[derive(Debug, Args)]
pub struct Info {
    /// The file, or - for standard input, with an optional #/path of one item
    #[arg(value_name = "FILE[#/path]")]
    file: String,
}

impl Info {
    /// Prints what the file is.
    pub fn run(&self, options: &Options) -> Result<Outcome> {
        let named = Item::parse(&self.file);
        let file = options.open_file(&named.file)?;
        if let Some(path) = named.path.filter(|path| !path.is_empty()) {
            return item(&file, &named.file, &path, options);
        }
        let mut out = Out::new();
        match (file.as_asdf(), file.as_dudley()) {
            (Some(file), _) if options.json => out.json(&asdf::facts(&named.file, file)?)?,
            (Some(file), _) => asdf::print(&mut out, &named.file, file, options)?,
            (_, Some(file)) => dudley::show(&mut out, &named.file, file, options)?,
            _ => show(&mut out, &named.file, &file, options)?,
        }
        options.warn_all(file.warnings());
        out.finish()?;
        Ok(Outcome::Yes)
    }
}

/// What one item is; nothing of it is decoded.
fn item(file: &File, name: &str, path: &str, options: &Options) -> Result<Outcome> {
    let Some(item) = found(file.item(path))? else { return Ok(Outcome::No) };
    let mut out = Out::new();
    if item.kind() != ItemKind::Array {
        if options.json {
            out.json(&json!({"file": name, "path": path, "kind": item.kind().name()}))?;
        } else {
            out.line(&format!("{:<12} {name}#{path}", "item"))?;
            out.line(&format!("{:<12} {}", "kind", item.kind().name()))?;
            let about = if item.kind().is_collection() { item.summary() } else { item.text()?.into_owned() };
            out.line(&format!("{:<12} {about}", "value"))?;
        }
        out.finish()?;
        return Ok(Outcome::Yes);
    }
    let facts = item.describe()?;
    if options.json {
        out.json(&json!({
            "file": name, "path": path, "kind": item.kind().name(), "datatype": datatype(&facts.datatype), "shape": facts.shape,
            "nbytes": facts.nbytes, "storage": facts.storage, "byteorder": facts.byteorder.name(), "remarks": facts.remarks,
        }))?;
    } else {
        let bytes = facts.nbytes.map_or_else(|| "unknown".to_owned(), size);
        for (fact, value) in [
            ("item", format!("{name}#{path}")),
            ("datatype", datatype_text(&facts.datatype)),
            ("shape", format!("{:?}", facts.shape)),
            ("size", bytes),
            ("stored as", facts.storage.clone()),
        ] {
            out.line(&format!("{fact:<12} {value}"))?;
        }
        for remark in &facts.remarks {
            out.line(&format!("{:<12} {remark}", "remark"))?;
        }
    }
    out.finish()?;
    Ok(Outcome::Yes)
}

/// What can be said of a file of any family.
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
    for (fact, value) in facts {
        out.line(&format!("{fact:<12} {value}"))?;
    }
    out.line(&format!("{:<12} {arrays}", "arrays"))
}
