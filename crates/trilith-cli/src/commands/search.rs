//! `trilith search FILE…`: nodes by key, value, tag, datatype or shape.

use std::sync::atomic::{AtomicBool, Ordering};

use clap::Args;
use regex::Regex;
use serde_json::{Value, json};
use trilith::file::{Item, ItemKind};
use trilith::glob::Pattern;
use trilith::yaml::Scalar;
use trilith::{Error, Result};

use super::tree::scalar_json;
use crate::Outcome;
use crate::inputs::{self, Form, Job, Many};
use crate::json::{datatype, datatype_text};
use crate::options::Options;
use crate::output::clean;
use crate::words::said;

/// Find items in many files; exit status 1 if there is no match
///
/// An item must meet all conditions. In a Dudley file, names, values of parameters, datatypes and shapes are
/// searched.
#[derive(Debug, Args)]
pub struct Search {
    /// Files, folders, patterns and addresses, or - for standard input
    #[arg(value_name = "FILE", required_unless_present = "files_from")]
    files: Vec<String>,
    #[command(flatten)]
    many: Many,
    /// The key matches this regular expression; if given several times, all must match
    #[arg(long, value_name = "RE")]
    key: Vec<String>,
    /// The value matches this regular expression, or a comparison: '>5', '<=1e-3', '==text', '!=0'; where there are
    /// several, all of them
    #[arg(long, value_name = "RE|COMPARISON", allow_hyphen_values = true)]
    value: Vec<String>,
    /// The path fits this pattern; * stands for any one key, ** for any number of them: '/roman/*/time', '**/time'
    #[arg(long, value_name = "PATTERN")]
    path: Option<String>,
    /// The tag matches this pattern; * matches anything but /, ** anything
    #[arg(long, value_name = "GLOB")]
    tag: Option<String>,
    /// It is an array with this datatype
    #[arg(long, value_name = "DATATYPE")]
    datatype: Option<String>,
    /// It is an array with this shape; * matches any length: 2048,*
    #[arg(long, value_name = "SHAPE")]
    shape: Option<String>,
}

/// The conditions, ready to be tried.
struct Conditions {
    key: Vec<Regex>,
    value: Vec<ValueTest>,
    path: Option<Pattern>,
    tag: Option<Regex>,
    datatype: Option<String>,
    shape: Option<Vec<Option<u64>>>,
}

enum ValueTest {
    Matches(Regex),
    Compares(&'static str, String),
}

impl Search {
    /// Prints what is found.
    pub fn run(&self, options: &Options) -> Result<Outcome> {
        let conditions = self.conditions()?;
        let any = AtomicBool::new(false);
        let outcome = inputs::run(&self.files, Form::Files, &self.many, options, |job| {
            if one(job, &conditions)? {
                any.store(true, Ordering::Relaxed);
            }
            Ok(Outcome::Yes)
        })?;
        Ok(if outcome == Outcome::Yes && !any.into_inner() { Outcome::No } else { outcome })
    }

    fn conditions(&self) -> Result<Conditions> {
        let regex = |text: &str| Regex::new(text).map_err(|e| Error::usage(format!("{text:?} is not a regular expression: {e}")));
        let nothing = self.key.is_empty() && self.value.is_empty() && self.path.is_none();
        if nothing && self.tag.is_none() && self.datatype.is_none() && self.shape.is_none() {
            return Err(Error::usage("nothing to search for").hint("give --key, --value, --path, --tag, --datatype or --shape"));
        }
        let value = |text: &String| {
            let comparison = ["<=", ">=", "==", "!=", "<", ">"].into_iter().find_map(|op| Some((op, text.strip_prefix(op)?)));
            Ok(match comparison {
                Some((op, text)) => ValueTest::Compares(op, text.trim().to_owned()),
                None => ValueTest::Matches(regex(text)?),
            })
        };
        Ok(Conditions {
            key: self.key.iter().map(|text| regex(text)).collect::<Result<_>>()?,
            value: self.value.iter().map(value).collect::<Result<_>>()?,
            path: self.path.as_deref().map(Pattern::new),
            tag: self.tag.as_deref().map(|glob| regex(&glob_to_regex(glob))).transpose()?,
            datatype: self.datatype.clone(),
            shape: self.shape.as_deref().map(shape).transpose()?,
        })
    }
}

/// Whether anything was found in one file.
fn one(job: &mut Job<'_>, conditions: &Conditions) -> Result<bool> {
    let file = job.open()?;
    let mut matches = Vec::new();
    let mut any = false;
    let root = file.root();
    let mut walk = root.walk();
    while let Some(visit) = walk.step()? {
        if !conditions.hold(visit.name.as_deref(), &visit.item, || walk.path()) {
            continue;
        }
        any = true;
        let (path, text) = (walk.path(), describe(&visit.item));
        if job.options.json {
            matches.push(match_json(&job.name, &path, &visit.item, &text));
        } else {
            job.out.line(&format!("{}#{}: {}", job.name, clean(&path), clean(&text)))?;
        }
    }
    if job.options.json {
        job.out.json(&json!({"file": job.name, "matches": matches}))?;
    }
    Ok(any)
}

/// A match as JSON: a scalar with its value, an array with what it is.
fn match_json(name: &str, path: &str, item: &Item<'_>, text: &str) -> Value {
    let kind = item.kind();
    let value = item.value().ok().and_then(|value| serde_json::from_str::<Value>(&scalar_json(&value)).ok());
    let mut found = json!({"file": name, "path": path, "kind": kind.name(), "value": value, "text": text});
    if let (ItemKind::Array, Ok(described), Some(object)) = (kind, item.describe(), found.as_object_mut()) {
        object.insert("datatype".to_owned(), datatype(&described.datatype));
        object.insert("shape".to_owned(), json!(described.shape));
    }
    found
}

impl Conditions {
    fn hold(&self, name: Option<&str>, item: &Item<'_>, path: impl FnOnce() -> String) -> bool {
        let key_fits = self.key.iter().all(|re| name.is_some_and(|name| re.is_match(name)));
        let path_fits = || self.path.as_ref().is_none_or(|pattern| pattern.matches(&path()));
        let tag_fits = || self.tag.as_ref().is_none_or(|re| item.notes().tag.is_some_and(|tag| re.is_match(tag)));
        let value_fits = || self.value.iter().all(|test| test.holds(item));
        key_fits && tag_fits() && value_fits() && self.array_fits(item) && path_fits()
    }

    fn form_fits(&self, datatype: &str, shape: &[u64]) -> bool {
        self.datatype.as_ref().is_none_or(|wanted| datatype == wanted)
            && self.shape.as_ref().is_none_or(|wanted| {
                wanted.len() == shape.len() && wanted.iter().zip(shape).all(|(w, n)| w.is_none_or(|w| w == *n))
            })
    }

    fn array_fits(&self, item: &Item<'_>) -> bool {
        if self.datatype.is_none() && self.shape.is_none() {
            return true;
        }
        let is_array = item.kind() == ItemKind::Array;
        is_array && item.describe().is_ok_and(|found| self.form_fits(&datatype_text(&found.datatype), &found.shape))
    }
}

impl ValueTest {
    fn holds(&self, item: &Item<'_>) -> bool {
        let (Ok(value), Ok(said)) = (item.value(), item.text()) else { return false };
        let number = match value {
            Scalar::Int(number) => Some(number as f64),
            Scalar::Float(number) => Some(number),
            Scalar::BigInt(digits) => digits.parse().ok(),
            _ => None,
        };
        let said = &*said;
        match self {
            ValueTest::Matches(re) => re.is_match(said),
            ValueTest::Compares(op, text) => {
                let order = match (number, text.parse::<f64>().ok()) {
                    (Some(a), Some(b)) => a.partial_cmp(&b),
                    // Dates and words compare as text, but a word is neither more nor less than a number.
                    (None, None) => Some(said.cmp(text.as_str())),
                    _ => None,
                };
                match (*op, order) {
                    ("!=", order) => order.is_none_or(|o| o.is_ne()),
                    (_, None) => false,
                    ("==", Some(o)) => o.is_eq(),
                    ("<", Some(o)) => o.is_lt(),
                    ("<=", Some(o)) => o.is_le(),
                    (">", Some(o)) => o.is_gt(),
                    (_, Some(o)) => o.is_ge(),
                }
            }
        }
    }
}

/// What an item is, in a few words.
fn describe(item: &Item<'_>) -> String {
    match item.kind() {
        ItemKind::Array => match item.describe() {
            Ok(found) => format!("{} {:?}", datatype_text(&found.datatype), found.shape),
            Err(error) => format!("(unreadable: {})", said(&error)),
        },
        ItemKind::Scalar | ItemKind::Text | ItemKind::Null => item.text().map_or_else(|_| String::new(), |text| text.into_owned()),
        _ => item.summary(),
    }
}

/// `*` is anything but `/`, `**` is anything.
fn glob_to_regex(glob: &str) -> String {
    let pieces = glob.split("**").map(|part| part.split('*').map(regex::escape).collect::<Vec<_>>().join("[^/]*"));
    format!("^{}$", pieces.collect::<Vec<_>>().join(".*"))
}

fn shape(text: &str) -> Result<Vec<Option<u64>>> {
    let text = text.trim().trim_start_matches('[').trim_end_matches(']');
    text.split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .map(|part| match part {
            "*" => Ok(None),
            number => number.parse().map(Some).map_err(|_| Error::usage(format!("{number:?} is not a length of a shape"))),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_stop_at_slashes_unless_doubled() {
        let fits = |glob: &str, tag: &str| Regex::new(&glob_to_regex(glob)).unwrap().is_match(tag);
        assert!(fits("tag:stsci.edu:asdf/unit/*", "tag:stsci.edu:asdf/unit/unit-1.0.0"));
        assert!(!fits("tag:stsci.edu:*", "tag:stsci.edu:asdf/unit/unit-1.0.0"));
        assert!(fits("**unit-1.*", "tag:stsci.edu:asdf/unit/unit-1.0.0"));
    }
}
