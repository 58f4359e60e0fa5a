//! `trilith tree FILE[#/p]`: the items of a file.

use std::borrow::Cow;
use std::io::Write;

use clap::Args;
use serde_json::json;
use trilith::array::FloatText;
use trilith::bytes::Base;
use trilith::file::{Description, ExpandOptions, Item as Node, ItemKind, Notes, Part};
use trilith::tree::{Data, Value};
use trilith::tree::Scalar;
use trilith::{Error, Result};

use crate::Outcome;
use crate::inputs::{self, Form, Job, Many};
use crate::json::{datatype, fields_text, tell};
use crate::options::Options;
use crate::output::{self, Escaped, Out, clean, cut, json_text, json_value, size};
use crate::style::{Ink, out as paint};
use crate::advice::said;

/// Show the tree of a file, or the part of it at a path
///
/// Arrays are shown with datatype, shape, codec and size; blocks are decoded only with --inline.
#[derive(Debug, Args)]
#[command(visible_alias = "ls")]
pub(crate) struct Tree {
    /// Files, folders, patterns and URLs, or - for standard input; each with an optional #/path
    #[arg(value_name = "FILE[#/path]", required_unless_present = "files_from", allow_hyphen_values = true)]
    item: Option<String>,
    /// More files, folders, patterns and URLs
    #[arg(value_name = "MORE")]
    more: Vec<String>,
    #[command(flatten)]
    many: Many,
    /// Show this many levels (not with --json)
    #[arg(long, value_name = "N")]
    depth: Option<usize>,
    /// With --json: write the elements of arrays
    #[arg(long)]
    inline: bool,
    /// With --json: replace each $ref by its target
    #[arg(long)]
    resolve: bool,
    /// Show tags
    #[arg(long)]
    tags: bool,
    /// Show the attributes of groups and arrays
    #[arg(long)]
    attributes: bool,
}

impl Tree {
    /// Prints the tree.
    pub(crate) fn run(&self, options: &Options) -> Result<Outcome> {
        if (self.inline || self.resolve) && !options.json {
            return Err(Error::invalid_input("--inline and --resolve apply to --json").hint("add --json, or take to-yaml"));
        }
        inputs::run(&inputs::joined(self.item.as_ref(), &self.more), Form::Items, &self.many, options, |job| self.one(job))
    }

    fn one(&self, job: &mut Job<'_>) -> Result<Outcome> {
        let mut file = job.open()?;
        if self.resolve && job.options.json {
            // The output belongs to no folder.
            file = file.moved_to(&Base::Nowhere)?;
        }
        let item = file.item(job.item_path());
        let Some(found) = job.found(item)? else { return Ok(Outcome::No) };
        if job.options.json {
            let mut how = ExpandOptions::default();
            (how.inline, how.resolve, how.inline_others) = (self.inline, self.resolve, self.resolve);
            (how.tags, how.attributes, how.errors) = (self.tags, self.attributes, true);
            job.json_value("tree", |out| write_json(out, &found, how))?;
        } else {
            job.heading()?;
            let depth = self.depth.unwrap_or(usize::MAX);
            let text = Text { depth, tags: self.tags, attributes: self.attributes, room: output::columns() };
            text.print(&mut job.out, &found)?;
        }
        job.warn_all(file.warnings());
        Ok(Outcome::Yes)
    }
}

/// Writes an item and all below it as JSON.
pub(super) fn write_json(out: &mut dyn Write, item: &Node<'_>, mut how: ExpandOptions) -> Result<()> {
    how.unique_keys = true;
    let put = |text: &str, out: &mut dyn Write| out.write_all(text.as_bytes()).map_err(|e| Error::io("writing", e));
    // Each open collection has an entry: its closing bracket, and whether it has a member already.
    let mut open: Vec<(String, bool)> = Vec::new();
    let (mut after_key, mut attributes) = (false, None);
    item.expand(how, |tag, part| {
        if let Part::End = part {
            let (close, _) = open.pop().unwrap_or_default();
            return put(&close, out);
        }
        if let Part::Attributes(said) = part {
            attributes = Some(attributes_json(&said));
            return Ok(());
        }
        if !after_key && let Some((_, has_member)) = open.last_mut() {
            if *has_member {
                put(",", out)?;
            }
            *has_member = true;
        }
        after_key = matches!(part, Part::Key(_));
        let attached = if after_key { None } else { attributes.take() };
        let close = if tag.is_some() || attached.is_some() { "}" } else { "" };
        match (tag.map(json_text), attached) {
            (None, None) => {}
            (Some(tag), None) => put(&format!("{{\"tag\":{tag},\"value\":"), out)?,
            (None, Some(said)) => put(&format!("{{\"attributes\":{said},\"value\":"), out)?,
            (Some(tag), Some(said)) => put(&format!("{{\"tag\":{tag},\"attributes\":{said},\"value\":"), out)?,
        }
        match part {
            Part::Scalar(scalar) => put(&(scalar_json(&scalar) + close), out),
            Part::Cycle(path) => put(&format!("{{\"$ref\":{}}}", json_text(&format!("#{path}"))), out),
            Part::Array(array) => {
                array.write_json(&mut Escaped::new(&mut *out), FloatText::AsDouble)?;
                put(close, out)
            }
            Part::Unreadable(why) => put(&(json_value(&json!({"$error": {"kind": why.kind().name(), "message": clean(&said(why))}})) + close), out),
            Part::Description(described) => put(&(json_value(&described_json(described)) + close), out),
            Part::List => {
                open.push((format!("]{close}"), false));
                put("[", out)
            }
            Part::Mapping => {
                open.push((format!("}}{close}"), false));
                put("{", out)
            }
            Part::Key(name) => put(&format!("{}:", json_text(&name)), out),
            _ => Ok(()),
        }
    })
}

/// Attributes as a JSON object.
pub(super) fn attributes_json(attributes: &[(Cow<'_, str>, Value)]) -> String {
    let pairs: Vec<String> =
        attributes.iter().map(|(name, value)| format!("{}:{}", json_text(name), attribute_json(value))).collect();
    format!("{{{}}}", pairs.join(","))
}

/// The value of an attribute as JSON; as deep as lists in it nest.
pub(super) fn attribute_json(value: &Value) -> String {
    match &value.data {
        Data::Bool(value) => value.to_string(),
        Data::Int(value) => value.to_string(),
        Data::BigInt(digits) => digits.clone(),
        Data::Float(value) => scalar_json(&Scalar::Float(*value)),
        Data::Str(text) | Data::Plain(text) => json_text(text),
        Data::Seq(items) => format!("[{}]", items.iter().map(attribute_json).collect::<Vec<_>>().join(",")),
        _ => "null".to_owned(),
    }
}

/// A scalar as JSON: numbers in full, what JSON has no number for as text.
pub(super) fn scalar_json(scalar: &Scalar<'_>) -> String {
    match scalar {
        Scalar::Null => "null".to_owned(),
        Scalar::Bool(value) => value.to_string(),
        Scalar::Int(value) => value.to_string(),
        Scalar::BigInt(digits) => digits.clone(),
        Scalar::Float(value) if value.is_nan() => "\"NaN\"".to_owned(),
        Scalar::Float(value) if value.is_infinite() => if *value > 0.0 { "\"Infinity\"" } else { "\"-Infinity\"" }.to_owned(),
        Scalar::Float(value) => format!("{value:?}"),
        Scalar::Str(text) | Scalar::Timestamp(text) | Scalar::Binary(text) => json_text(text),
    }
}

/// An array as JSON: what it is and at which byte of the file it is.
fn described_json(found: &Description) -> serde_json::Value {
    let mut value = json!({"offset": found.offset, "datatype": datatype(&found.datatype), "shape": found.shape});
    tell(&mut value, found);
    if found.datatype.as_struct().is_none() {
        value["byteorder"] = json!(found.byteorder.name());
    }
    if let Some(filter) = &found.filter {
        value["filter"] = json!(filter);
    }
    value
}

/// The tree as indented text with arrays described.
struct Text {
    depth: usize,
    tags: bool,
    /// `true` if the attributes of each item have lines below it.
    attributes: bool,
    /// Width of the terminal; None if there is none.
    room: Option<usize>,
}

impl Text {
    fn print(&self, out: &mut Out, root: &Node<'_>) -> Result<()> {
        let mut walk = root.walk();
        while let Some(visit) = walk.step()? {
            let (depth, item) = (visit.depth, &visit.item);
            if depth > self.depth {
                walk.skip_children();
                continue;
            }
            let mut line = Line::default();
            line.push(None, "  ".repeat(depth.saturating_sub(1)));
            if depth > 0 {
                let name = visit.name.unwrap_or_else(|| format!("- {}", visit.index).into());
                let name = if name.is_empty() { "\"\"".into() } else { name };
                line.push(Some(Ink::Name), clean(&name));
                line.push(None, ": ");
            }
            let notes = item.notes();
            if let Some(tag) = notes.tag.filter(|_| self.tags) {
                line.push(Some(Ink::Tag), format!("<{}> ", clean(&cut(tag, LONGEST))));
            }
            let (what, is_whole) = self.what(item, &notes, depth)?;
            line.push((item.kind() == ItemKind::Array).then_some(Ink::Array), what);
            if let Some(role) = notes.role {
                line.push(None, format!("  ({role})"));
            }
            let unit = notes.unit.iter().map(|unit| format!("unit={unit}"));
            let said: Vec<_> = unit.filter(|_| !self.attributes).chain(notes.attributes.iter().filter(|_| !self.attributes).map(|(name, value)| format!("{name}={value}")))
                .collect();
            if !said.is_empty() && item.kind() == ItemKind::Array {
                line.push(None, format!("  {}", clean(&said.join(", "))));
            }
            if let Some(comment) = &notes.comment {
                line.push(None, format!("  ## {}", clean(comment)));
            }
            if is_whole {
                walk.skip_children();
            }
            if depth > 0 || is_whole {
                out.raw(&line.text(self.room))?;
                out.raw("\n")?;
            } else if let Some(comment) = &notes.comment {
                out.raw(&format!("## {}\n", clean(comment)))?;
            }
            self.members(out, depth, &notes)?;
            if self.attributes {
                for (name, value) in item.attributes()? {
                    let mut line = Line::default();
                    line.push(None, "  ".repeat(depth));
                    line.push(Some(Ink::Name), clean(&format!("@{name}")));
                    line.push(None, format!(": {}", clean(&attribute_json(&value))));
                    out.raw(&line.text(self.room))?;
                    out.raw("\n")?;
                }
            }
        }
        Ok(())
    }

    /// Prints the documentation of members of structs, and of the summary block of a layout.
    fn members(&self, out: &mut Out, depth: usize, notes: &Notes<'_>) -> Result<()> {
        for (name, said) in &notes.members {
            let mut line = Line::default();
            line.push(None, "  ".repeat(depth));
            line.push(Some(Ink::Name), clean(name));
            line.push(None, ":");
            let unit = said.unit.iter().map(|unit| format!("unit={unit}"));
            let words: Vec<_> = unit.chain(said.attributes.iter().map(|(name, value)| format!("{name}={value}"))).collect();
            if !words.is_empty() {
                line.push(None, format!(" {}", clean(&words.join(", "))));
            }
            if let Some(comment) = &said.comment {
                line.push(None, format!("  ## {}", clean(comment)));
            }
            out.raw(&line.text(self.room))?;
            out.raw("\n")?;
        }
        Ok(())
    }

    /// Describes an item, and returns `true` if the description is complete.
    fn what(&self, item: &Node<'_>, notes: &Notes<'_>, depth: usize) -> Result<(String, bool)> {
        Ok(match item.kind() {
            ItemKind::Array => (clean(&array_text(item)).into_owned(), true),
            ItemKind::Reference => match &notes.reference {
                Some(target) => (format!("-> {}", clean(target)), true),
                None => ("(alias, see above)".to_owned(), true),
            },
            ItemKind::Mapping | ItemKind::List => {
                let children = item.children()?;
                match (item.kind(), short(&children)?) {
                    (ItemKind::List, _) if children.is_empty() => ("[]".to_owned(), true),
                    (_, _) if children.is_empty() => ("{}".to_owned(), true),
                    (ItemKind::List, Some(list)) => (clean(&list).into_owned(), true),
                    _ if depth == self.depth => (item.summary(), depth > 0),
                    _ => (String::new(), false),
                }
            }
            // A terminal shows as much as it has room for.
            _ => (clean(&cut(&item.text()?, self.room.unwrap_or(LONGEST))).into_owned(), true),
        })
    }
}

/// `float32 [2048, 2048]  lz4, 16.8 MB` or what is wrong with it.
fn array_text(item: &Node<'_>) -> String {
    match item.describe() {
        Err(error) => format!("(unreadable: {})", said(&error)),
        Ok(found) => {
            let bytes = found.nbytes.map_or(String::new(), |n| format!(", {}", size(n)));
            let remarks: String = found.remarks.iter().map(|remark| format!(", {remark}")).collect();
            format!("{} {:?}  {}{bytes}{remarks}", fields_text(&found.datatype), found.shape, found.storage)
        }
    }
}

/// Number of characters of a text or a tag that are shown if there is no terminal to fit it to.
const LONGEST: usize = 121;

/// The parts of a line.
#[derive(Default)]
struct Line(Vec<(Option<Ink>, String)>);

impl Line {
    fn push(&mut self, ink: Option<Ink>, text: impl Into<String>) {
        self.0.push((ink, text.into()));
    }

    /// The line, in as much room as the terminal has.
    fn text(&self, room: Option<usize>) -> String {
        let is_cut = room.is_some_and(|room| self.0.iter().map(|(_, text)| text.chars().count()).sum::<usize>() > room);
        let mut left = room.filter(|_| is_cut).map_or(usize::MAX, |room| room.saturating_sub(1));
        let mut line = String::new();
        for (ink, text) in &self.0 {
            let end = if is_cut { text.char_indices().nth(left).map_or(text.len(), |(at, _)| at) } else { text.len() };
            let shown = &text[..end];
            if is_cut {
                left -= shown.chars().count();
            }
            match ink {
                Some(ink) => line.push_str(&paint(*ink, shown)),
                None => line.push_str(shown),
            }
        }
        if is_cut {
            line.push('…');
        }
        line.truncate(line.trim_end().len());
        line
    }
}

/// A few short scalars on one line; None for anything else.
fn short(children: &trilith::file::Children<'_>) -> Result<Option<String>> {
    if children.len() > 16 {
        return Ok(None);
    }
    let mut texts = Vec::new();
    for (_, child) in children {
        if !matches!(child.kind(), ItemKind::Scalar | ItemKind::Text | ItemKind::Null) {
            return Ok(None);
        }
        let text = child.text()?;
        if text.len() >= 40 {
            return Ok(None);
        }
        texts.push(text.into_owned());
    }
    Ok(Some(format!("[{}]", texts.join(", "))))
}
