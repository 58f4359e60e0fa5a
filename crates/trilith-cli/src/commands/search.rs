//! `trilith search FILE…`: nodes by key, value, tag, datatype or shape.

use std::sync::atomic::{AtomicBool, Ordering};

use clap::Args;
use serde_json::{Value, json};
use trilith::file::{Item, ItemKind, children_text};
use trilith::SearchMatch;
use trilith::SearchQuery as Conditions;
use trilith::{Error, Result};

use super::tree::scalar_json;
use crate::outcome::Outcome;
use crate::inputs::{InputFiles, FileJob};
use crate::json::{attribute_facts, datatype_json, datatype_text};
use crate::session::{FileRole, Session};
use crate::output::escape_controls;
use crate::advice::error_with_advice;

/// Find items in many files; exit status 1 if there is no match
///
/// An item must meet all conditions. --key, --value and --path look at attributes, too: cards of FITS, attributes of HDF5
/// and netCDF, tags of TIFF. In a Dudley file, names, values of parameters, datatypes and shapes are searched.
#[derive(Debug, Args)]
pub(crate) struct Search {
    #[command(flatten)]
    files: InputFiles,
    /// The key, or the name of an attribute, matches this regular expression; if given several times, all must match
    #[arg(short, long, value_name = "RE")]
    key: Vec<String>,
    /// The value matches this regular expression, or a comparison: '>5', '<=1e-3', '==text', '!=0'; if there are
    /// several, all of them
    #[arg(long, value_name = "RE|COMPARISON", allow_hyphen_values = true)]
    value: Vec<String>,
    /// The path fits this pattern; * matches any one key, ** any number of them: '/roman/*/time', '**/time'; with a name of
    /// attributes '/fits/*@EXPTIME'
    #[arg(long, value_name = "PATTERN")]
    path: Option<String>,
    /// The tag matches this pattern; * matches anything but /, ** anything
    #[arg(long, value_name = "GLOB")]
    tag: Option<String>,
    /// The item is an array with this datatype, as a tree or numpy names it: float32, f4, '["ascii", 8]'
    #[arg(long, value_name = "DATATYPE")]
    datatype: Option<String>,
    /// The item is an array with this shape; * matches any length: 2048,*
    #[arg(long, value_name = "SHAPE")]
    shape: Option<String>,
}

impl Search {
    /// Prints what is found.
    pub(crate) fn run(&self, session: &Session<'_>) -> Result<Outcome> {
        let conditions = self.parse_conditions()?;
        let any = AtomicBool::new(false);
        let outcome = self.files.run(session, |job| {
            if search_file(job, &conditions)? {
                any.store(true, Ordering::Relaxed);
            }
            Ok(Outcome::Success)
        })?;
        Ok(if outcome == Outcome::Success && !any.into_inner() { Outcome::Negative } else { outcome })
    }

    fn parse_conditions(&self) -> Result<Conditions> {
        let mut all = Conditions::new();
        for text in &self.key {
            all = all.key(text)?;
        }
        for text in &self.value {
            all = all.value(text)?;
        }
        if let Some(pattern) = &self.path {
            all = all.path(pattern)?;
        }
        if let Some(pattern) = &self.tag {
            all = all.tag(pattern)?;
        }
        if let Some(name) = &self.datatype {
            all = all.datatype(name)?;
        }
        if let Some(shape) = &self.shape {
            all = all.shape(shape)?;
        }
        if all.is_empty() {
            return Err(Error::invalid_input("nothing to search for").hint("give --key, --value, --path, --tag, --datatype or --shape"));
        }
        Ok(all)
    }
}

/// Searches one file, and returns `true` if anything was found.
fn search_file(job: &mut FileJob<'_>, conditions: &Conditions) -> Result<bool> {
    let file = job.open(FileRole::Any)?;
    let mut matches = Vec::new();
    let mut any = false;
    conditions.run(&file.root(), |found| {
        any = true;
        let text = match found.attribute {
            Some(attribute) => attribute.value.to_string(),
            None => describe_item(found.item),
        };
        if job.session.args.json {
            matches.push(match_json(&job.name, found, &text)?);
            return Ok(());
        }
        job.out.write_line(&format!("{}#{}: {}", job.name, escape_controls(&found.address), escape_controls(&text)))
    })?;
    if job.session.args.json {
        job.out.write_json(&json!({"file": job.name, "matches": matches}))?;
    }
    Ok(any)
}

/// A match as JSON: a scalar with its value, an array with its description.
fn match_json(name: &str, found: &SearchMatch<'_>, text: &str) -> Result<Value> {
    let (item, path) = (found.item, &found.path);
    if let Some(attribute) = found.attribute {
        let facts = attribute_facts(attribute)?;
        return Ok(json!({
            "file": name, "path": path, "attribute": attribute.name, "kind": "attribute", "value": facts["value"], "text": text,
            "datatype": facts["datatype"], "unit": facts["unit"], "comment": facts["comment"],
        }));
    }
    let kind = item.kind();
    let value = item.value().ok().and_then(|value| serde_json::from_str::<Value>(&scalar_json(&value)).ok());
    let mut found = json!({"file": name, "path": path, "kind": kind.name(), "value": value, "text": text});
    if let (ItemKind::Array, Ok(described)) = (kind, item.describe()) {
        (found["datatype"], found["shape"]) = (datatype_json(&described.datatype), json!(described.shape));
    }
    Ok(found)
}

/// Describes an item, in a few words.
fn describe_item(item: &Item<'_>) -> String {
    match item.kind() {
        ItemKind::Array => match item.describe() {
            Ok(found) => format!("{} {:?}", datatype_text(&found.datatype), found.shape),
            Err(error) => format!("(unreadable: {})", error_with_advice(&error)),
        },
        ItemKind::Scalar | ItemKind::Text | ItemKind::Null => item.text().map_or_else(|_| String::new(), |text| text.into_owned()),
        _ => children_text(item),
    }
}
