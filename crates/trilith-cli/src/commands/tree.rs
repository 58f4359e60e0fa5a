//! `trilith tree FILE[#/p]`: the items of a file.

use std::io::Write;

use clap::Args;
use serde_json::json;
use trilith::array::FloatText;
use trilith::array::attribute::ItemAttribute;
use trilith::bytes::BaseUri;
use trilith::file::{ArrayDescription, ExpandOptions, HduSummary, Item as Node, ItemAddress, ItemKind, ItemMetadata, ExpandEvent, children_text, expand_item};
use trilith::tree::Scalar;
use trilith::{Error, Result};

use crate::outcome::Outcome;
use crate::dashed_words::strip_mark;
use crate::commands::to_yaml::ToYaml;
use crate::inputs::{self, ArgumentKind, FileJob, FileListArgs};
use crate::item_arg::ItemArg;
use crate::json::{datatype_json, fields_text, add_layout_metadata};
use crate::session::{FileRole, Session};
use crate::output::{self, JsonEscaper, Output, escape_controls, truncate_end, json_text, json_value, display_size};
use crate::style::{StyleRole, paint_stdout as paint};
use crate::advice::error_with_advice;

/// Show the tree of a file, or the part of it at a path
///
/// A line of an array has its datatype, shape, codec and size. The command decodes blocks only with --inline.
#[derive(Debug, Args)]
#[command(visible_alias = "ls")]
pub(crate) struct Tree {
    /// Files, folders, patterns and URLs, or - for standard input; each with an optional #/path
    #[arg(value_name = "FILE[#/path]", required_unless_present = "files_from", value_parser = strip_mark)]
    item: Option<String>,
    /// More files, folders, patterns and URLs
    #[arg(value_name = "MORE")]
    more: Vec<String>,
    #[command(flatten)]
    list_args: FileListArgs,
    /// Show this many levels (not with --json)
    #[arg(short, long, value_name = "N")]
    depth: Option<usize>,
    /// Print the header and the tree of an ASDF file as YAML, byte for byte; with --inline and --resolve a new text
    #[arg(long, conflicts_with_all = ["depth", "tags", "attributes"])]
    yaml: bool,
    /// With --json or --yaml: write the elements of arrays
    #[arg(long)]
    inline: bool,
    /// With --json or --yaml: replace each $ref by its target
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
    pub(crate) fn run(&self, session: &Session<'_>) -> Result<Outcome> {
        if self.yaml {
            return self.print_yaml(session);
        }
        if (self.inline || self.resolve) && !session.args.json {
            return Err(Error::invalid_input("--inline and --resolve apply to --json and --yaml").hint("add one of them"));
        }
        inputs::run(&inputs::all_arguments(self.item.as_ref(), &self.more), ArgumentKind::Items, &self.list_args, session, |job| self.print_tree(job))
    }

    /// Prints the text of the tree of one file.
    fn print_yaml(&self, session: &Session<'_>) -> Result<Outcome> {
        let arguments = inputs::all_arguments(self.item.as_ref(), &self.more);
        let [file] = arguments.as_slice() else {
            return Err(Error::invalid_input("--yaml prints the tree of one file").hint("leave out the other files"));
        };
        let (inline, resolve) = (self.inline, self.resolve);
        match ItemArg::parse(file) {
            ItemArg { file, path: None } => ToYaml { file, inline, resolve }.run(session),
            ItemArg { path: Some(path), .. } => Err(Error::invalid_input(format!("--yaml prints the tree of a whole file, not {path}"))
                .hint(format!("trilith get '{file}' --format yaml prints one item"))),
        }
    }

    fn print_tree(&self, job: &mut FileJob<'_>) -> Result<Outcome> {
        let mut file = job.open(FileRole::Any)?;
        if self.resolve && job.session.args.json {
            // The output belongs to no folder.
            file = file.rebased_to(&BaseUri::None)?;
        }
        let item = file.item(job.item_path());
        let Some(found) = job.report_missing(item)? else { return Ok(Outcome::Negative) };
        if job.session.args.json {
            let mut how = ExpandOptions::default();
            (how.inline, how.resolve, how.inline_external) = (self.inline, self.resolve, self.resolve);
            (how.tags, how.attributes, how.errors_as_parts) = (self.tags, self.attributes, true);
            job.json_value("tree", |out| write_json(out, &found, how))?;
        } else {
            job.print_heading()?;
            let depth = self.depth.unwrap_or(usize::MAX);
            let text = TreePrinter { depth, tags: self.tags, attributes: self.attributes, width: output::terminal_columns() };
            let printed = text.print_tree(&mut job.out, &found)?;
            if self.tags && !printed.has_tags {
                job.note_lack("no tags, which --tags shows");
            }
            if self.attributes && !printed.has_attributes {
                job.note_lack("no attributes, which --attributes shows");
            }
        }
        job.warn_all(file.warnings());
        Ok(Outcome::Success)
    }
}

/// Writes an item and all below it as JSON.
pub(super) fn write_json(out: &mut dyn Write, item: &Node<'_>, mut how: ExpandOptions) -> Result<()> {
    how.unique_keys = true;
    let put = |text: &str, out: &mut dyn Write| out.write_all(text.as_bytes()).map_err(|e| Error::io("writing", e));
    // Each open collection has an entry: its closing bracket, and whether it has a member already.
    let mut open: Vec<(String, bool)> = Vec::new();
    let (mut after_key, mut attributes) = (false, None);
    expand_item(item, how, |tag, part| {
        if let ExpandEvent::End = part {
            let (close, _) = open.pop().unwrap_or_default();
            return put(&close, out);
        }
        if let ExpandEvent::Attributes(said) = part {
            attributes = Some(attributes_json(&said));
            return Ok(());
        }
        if !after_key && let Some((_, has_member)) = open.last_mut() {
            if *has_member {
                put(",", out)?;
            }
            *has_member = true;
        }
        after_key = matches!(part, ExpandEvent::Key(_));
        let attached = if after_key { None } else { attributes.take() };
        let close = if tag.is_some() || attached.is_some() { "}" } else { "" };
        match (tag.map(json_text), attached) {
            (None, None) => {}
            (Some(tag), None) => put(&format!("{{\"tag\":{tag},\"value\":"), out)?,
            (None, Some(said)) => put(&format!("{{\"attributes\":{said},\"value\":"), out)?,
            (Some(tag), Some(said)) => put(&format!("{{\"tag\":{tag},\"attributes\":{said},\"value\":"), out)?,
        }
        match part {
            ExpandEvent::Scalar(scalar) => put(&(scalar_json(&scalar) + close), out),
            ExpandEvent::Cycle(path) => put(&format!("{{\"$ref\":{}}}", json_text(&format!("#{path}"))), out),
            ExpandEvent::Array(array) => {
                array.write_json(&mut JsonEscaper::new(&mut *out), FloatText::AsDouble)?;
                put(close, out)
            }
            ExpandEvent::Unreadable(why) => put(&(json_value(&json!({"$error": {"kind": why.kind().name(), "message": escape_controls(&error_with_advice(why))}})) + close), out),
            ExpandEvent::Description(described) => put(&(json_value(&described_json(described)) + close), out),
            ExpandEvent::List => {
                open.push((format!("]{close}"), false));
                put("[", out)
            }
            ExpandEvent::Mapping => {
                open.push((format!("}}{close}"), false));
                put("{", out)
            }
            ExpandEvent::Key(name) => put(&format!("{}:", json_text(&name)), out),
            _ => Ok(()),
        }
    })
}

/// Returns the unit, the attributes and the names of the axes of an item, each as `NAME=VALUE`.
fn metadata_words(notes: &ItemMetadata<'_>) -> Vec<String> {
    let unit = notes.unit.iter().map(|unit| format!("unit={unit}"));
    let attributes = notes.attributes.iter().map(|(name, value)| format!("{name}={value}"));
    unit.chain(attributes).chain(notes.dims.iter().map(|dims| format!("dims={dims}"))).collect()
}

/// Attributes as a JSON object; those of one name are a list.
pub(super) fn attributes_json(attributes: &[ItemAttribute]) -> String {
    let mut names: Vec<(&str, Vec<String>)> = Vec::new();
    for attribute in attributes {
        let value = attribute.value.to_json();
        match names.iter_mut().find(|(name, _)| *name == attribute.name) {
            Some((_, values)) => values.push(value),
            None => names.push((&attribute.name, vec![value])),
        }
    }
    let pair = |(name, values): (&str, Vec<String>)| match values.as_slice() {
        [only] => format!("{}:{only}", json_text(name)),
        several => format!("{}:[{}]", json_text(name), several.join(",")),
    };
    format!("{{{}}}", names.into_iter().map(pair).collect::<Vec<_>>().join(","))
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
fn described_json(found: &ArrayDescription) -> serde_json::Value {
    let mut value = json!({"offset": found.offset, "datatype": datatype_json(&found.datatype), "shape": found.shape});
    add_layout_metadata(&mut value, found);
    if found.datatype.as_struct().is_none() {
        value["byteorder"] = json!(found.byteorder.name());
    }
    if let Some(filter) = &found.filter {
        value["filter"] = json!(filter);
    }
    value
}

/// The tree as indented text with arrays described.
struct TreePrinter {
    depth: usize,
    tags: bool,
    /// `true` if the attributes of each item have lines below it.
    attributes: bool,
    /// Width of the terminal; None if there is none.
    width: Option<usize>,
}

/// The parts of a tree of which at least one was printed.
#[derive(Default)]
struct PrintedParts {
    has_tags: bool,
    has_attributes: bool,
}

impl TreePrinter {
    fn print_tree(&self, out: &mut Output, root: &Node<'_>) -> Result<PrintedParts> {
        let mut walk = root.walk();
        let mut printed = PrintedParts::default();
        // The depth of the list of cards that the walk is inside of.
        let mut cards_depth = None;
        while let Some(visit) = walk.try_next()? {
            let (depth, item) = (visit.depth, &visit.item);
            if depth > self.depth || self.attributes && item.header().is_card_list(visit.name.as_deref()) {
                walk.skip_children();
                continue;
            }
            let is_card = cards_depth.is_some_and(|above| depth > above);
            if !is_card {
                cards_depth = item.header().is_card_list(visit.name.as_deref()).then_some(depth);
            }
            let mut line = TreeLine::default();
            line.push_part(None, "  ".repeat(depth.saturating_sub(1)));
            if depth > 0 {
                let name = visit.name.unwrap_or_else(|| format!("- {}", visit.index).into());
                let label = if is_card { None } else { HduSummary::label_of(item) };
                let name = if let Some(label) = label { format!("{name} ({label})").into() } else { name };
                let name = if name.is_empty() { "\"\"".into() } else { name };
                line.push_part(Some(StyleRole::Name), escape_controls(&name));
                line.push_part(None, ": ");
            }
            let notes = item.metadata();
            if let Some(tag) = notes.tag.filter(|_| self.tags) {
                printed.has_tags = true;
                line.push_part(Some(StyleRole::Tag), format!("<{}> ", escape_controls(&truncate_end(tag, MAX_TEXT_CHARS))));
            }
            let (what, is_whole) = match is_card {
                true => (escape_controls(&card_text(item)?).into_owned(), true),
                false => self.describe(item, &notes, depth)?,
            };
            line.push_part((item.kind() == ItemKind::Array).then_some(StyleRole::Array), what);
            if let Some(role) = notes.role {
                line.push_part(None, format!("  ({role})"));
            }
            let said = if self.attributes { Vec::new() } else { metadata_words(&notes) };
            if !said.is_empty() && item.kind() == ItemKind::Array {
                line.push_part(None, format!("  {}", escape_controls(&said.join(", "))));
            }
            if let Some(comment) = &notes.comment {
                line.push_part(None, format!("  ## {}", escape_controls(comment)));
            }
            if is_whole {
                walk.skip_children();
            }
            if depth > 0 || is_whole {
                out.write_raw_text(&line.render_line(self.width))?;
                out.write_raw_text("\n")?;
            } else if let Some(comment) = &notes.comment {
                out.write_raw_text(&format!("## {}\n", escape_controls(comment)))?;
            }
            self.print_members(out, depth, &notes)?;
            if self.attributes {
                let attributes = item.attributes()?;
                printed.has_attributes |= !attributes.is_empty();
                self.print_attributes(out, depth, &attributes)?;
            }
        }
        Ok(printed)
    }

    /// Prints attributes, one a line: `@NAME: value / comment`.
    fn print_attributes(&self, out: &mut Output, depth: usize, attributes: &[ItemAttribute]) -> Result<()> {
        for attribute in attributes {
            let mut line = TreeLine::default();
            line.push_part(None, "  ".repeat(depth));
            let name = ItemAddress::attribute("", &attribute.name, 0).to_string();
            line.push_part(Some(StyleRole::Name), escape_controls(&name));
            let value = match attribute.value.unreadable() {
                Some(_) => attribute.value.literal_text(),
                None => attribute.value.to_json(),
            };
            line.push_part(None, format!(": {}", escape_controls(&value)));
            if let Some(comment) = &attribute.comment {
                line.push_part(None, format!("  / {}", escape_controls(comment)));
            }
            out.write_raw_text(&line.render_line(self.width))?;
            out.write_raw_text("\n")?;
        }
        Ok(())
    }

    /// Prints the documentation of members of structs, and of the summary block of a layout.
    fn print_members(&self, out: &mut Output, depth: usize, notes: &ItemMetadata<'_>) -> Result<()> {
        for (name, said) in &notes.members {
            let mut line = TreeLine::default();
            line.push_part(None, "  ".repeat(depth));
            line.push_part(Some(StyleRole::Name), escape_controls(name));
            line.push_part(None, ":");
            let words = metadata_words(said);
            if !words.is_empty() {
                line.push_part(None, format!(" {}", escape_controls(&words.join(", "))));
            }
            if let Some(comment) = &said.comment {
                line.push_part(None, format!("  ## {}", escape_controls(comment)));
            }
            out.write_raw_text(&line.render_line(self.width))?;
            out.write_raw_text("\n")?;
        }
        Ok(())
    }

    /// Describes an item, and returns `true` if the description is complete.
    fn describe(&self, item: &Node<'_>, notes: &ItemMetadata<'_>, depth: usize) -> Result<(String, bool)> {
        Ok(match item.kind() {
            ItemKind::Array => (escape_controls(&array_text(item)).into_owned(), true),
            ItemKind::Reference => match &notes.reference {
                Some(target) => (format!("-> {}", escape_controls(target)), true),
                None => ("(alias, see above)".to_owned(), true),
            },
            ItemKind::Mapping | ItemKind::List => {
                let children = item.children()?;
                match (item.kind(), inline_scalars(&children)?) {
                    (ItemKind::List, _) if children.is_empty() => ("[]".to_owned(), true),
                    (_, _) if children.is_empty() => ("{}".to_owned(), true),
                    (ItemKind::List, Some(list)) => (escape_controls(&list).into_owned(), true),
                    _ if depth == self.depth => (children_text(item), depth > 0),
                    _ => (String::new(), false),
                }
            }
            // A terminal shows as much as it has room for.
            _ => (escape_controls(&truncate_end(&item.text()?, self.width.unwrap_or(MAX_TEXT_CHARS))).into_owned(), true),
        })
    }
}

/// A card of a FITS header in one line: `[EXPTIME, 12.5, seconds]`.
fn card_text(item: &Node<'_>) -> Result<String> {
    let parts: Vec<String> = item.children()?.iter().map(|(_, part)| Ok(part.text()?.into_owned())).collect::<Result<_>>()?;
    Ok(format!("[{}]", parts.join(", ")))
}

/// `float32 [2048, 2048]  lz4, 16.8 MB` or what is wrong with it.
fn array_text(item: &Node<'_>) -> String {
    match item.describe() {
        Err(error) => format!("(unreadable: {})", error_with_advice(&error)),
        Ok(found) => {
            let bytes = found.nbytes.map_or(String::new(), |n| format!(", {}", display_size(n)));
            let remarks: String = found.remarks.iter().map(|remark| format!(", {remark}")).collect();
            format!("{} {:?}  {}{bytes}{remarks}", fields_text(&found.datatype), found.shape, found.storage)
        }
    }
}

/// Number of characters of a text or a tag that are shown if there is no terminal to fit it to.
const MAX_TEXT_CHARS: usize = 121;

/// The parts of a line.
#[derive(Default)]
struct TreeLine(Vec<(Option<StyleRole>, String)>);

impl TreeLine {
    fn push_part(&mut self, ink: Option<StyleRole>, text: impl Into<String>) {
        self.0.push((ink, text.into()));
    }

    /// The line, in as much room as the terminal has.
    fn render_line(&self, room: Option<usize>) -> String {
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
fn inline_scalars(children: &trilith::file::ItemChildren<'_>) -> Result<Option<String>> {
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
