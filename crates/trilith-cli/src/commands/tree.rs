//! `trilith tree FILE[#/p]`: what the tree says.

use std::io::Write;

use clap::Args;
use trilith::array::FloatText;
use trilith::bytes::Base;
use trilith::asdf::{AsdfFile, ExpandOptions, Part, expand, key_name, key_text, ndarray, walk};
use trilith::file::{AnyFile, toward};
use trilith::tree::{Node, NodeKind, Scalar};
use trilith::{Error, Result};

use crate::Outcome;
use crate::item::Item;
use crate::json::datatype_text;
use crate::options::Options;
use crate::output::{Escaped, Out, clean, json_text, size};
use crate::stream::TreeOptions;

/// Show the tree of a file, or the part of it at a path
///
/// Arrays are shown with datatype, shape, codec and size; no block is decoded unless --inline asks for it.
#[derive(Debug, Args)]
pub struct Tree {
    /// The file, or - for standard input, with an optional #/path
    #[arg(value_name = "FILE[#/path]", allow_hyphen_values = true)]
    item: String,
    /// Show so many levels (text only)
    #[arg(long, value_name = "N")]
    depth: Option<usize>,
    /// Write the elements of arrays out
    #[arg(long)]
    inline: bool,
    /// Put the targets of $ref in their place
    #[arg(long)]
    resolve: bool,
    /// Show tags
    #[arg(long)]
    tags: bool,
}

impl Tree {
    /// Prints the tree.
    pub fn run(&self, options: &Options) -> Result<Outcome> {
        let item = Item::parse(&self.item);
        let file = match options.open_any(&item.file)? {
            // What is written out belongs to no folder.
            AnyFile::Asdf(file) if self.resolve && options.json => toward(file.moved_to(&Base::Nowhere)?, item.path())?,
            AnyFile::Asdf(file) => toward(file, item.path())?,
            AnyFile::Dudley(file) => {
                let how = TreeOptions { json: options.json, inline: self.inline, depth: self.depth, ..TreeOptions::default() };
                let outcome = crate::stream::tree(&file.items()?, item.path(), options, &how);
                options.warn_all(file.warnings());
                return outcome;
            }
        };
        let found = match walk::find(&file, item.path()) {
            Ok(found) => found,
            Err(error) if error.kind() == trilith::Kind::Usage => {
                crate::output::note(&format!("trilith: {error}"));
                return Ok(Outcome::No);
            }
            Err(error) => return Err(error),
        };
        let mut out = Out::new();
        if options.json {
            let mut how = ExpandOptions::default();
            (how.inline, how.resolve, how.inline_others) = (self.inline, self.resolve, self.resolve);
            how.tags = self.tags;
            write_json(&mut out, &file, &found, how, self.tags)?;
        } else {
            Text { file: &file, options, depth: self.depth.unwrap_or(usize::MAX), tags: self.tags }.print(&mut out, &found)?;
        }
        options.warn_about(&file);
        out.finish()?;
        Ok(Outcome::Yes)
    }
}

/// Writes a node and all below it as JSON.
pub fn write_json(out: &mut dyn Write, file: &AsdfFile, found: &walk::Found, mut how: ExpandOptions, tags: bool) -> Result<()> {
    how.unique_keys = true;
    let put = |text: &str, out: &mut dyn Write| out.write_all(text.as_bytes()).map_err(|e| Error::io("writing", e));
    // For each open collection: its closing bracket, and whether it has a member already.
    let mut open: Vec<(&str, bool)> = Vec::new();
    let mut after_key = false;
    expand(file, found, how, &mut |part| {
        if let Part::End = part {
            let (close, _) = open.pop().unwrap_or(("", false));
            return put(close, out);
        }
        if !after_key && let Some((_, has_member)) = open.last_mut() {
            if *has_member {
                put(",", out)?;
            }
            *has_member = true;
        }
        after_key = false;
        let tag = match &part {
            Part::Scalar(node) | Part::Array(node, _) | Part::Integer(node, _) | Part::Sequence(node) | Part::Mapping(node) => {
                node.tag().filter(|_| tags)
            }
            _ => None,
        };
        if let Some(tag) = tag {
            put(&format!("{{\"tag\":{},\"value\":", json_text(tag)), out)?;
        }
        let close = if tag.is_some() { "}" } else { "" };
        match part {
            Part::Scalar(node) => put(&(scalar_json(node) + close), out),
            Part::Integer(_, digits) => put(&(digits + close), out),
            Part::Cycle(path) => put(&format!("{{\"$ref\":{}}}", json_text(&format!("#{path}"))), out),
            Part::Array(_, array) => {
                array.write_json(&mut Escaped::new(&mut *out), FloatText::AsDouble)?;
                put(close, out)
            }
            Part::Sequence(_) => {
                open.push((if tag.is_some() { "]}" } else { "]" }, false));
                put("[", out)
            }
            Part::Mapping(_) => {
                open.push((if tag.is_some() { "}}" } else { "}" }, false));
                put("{", out)
            }
            Part::Key(node) => {
                after_key = true;
                put(&format!("{}:", json_text(&key_name(node))), out)
            }
            Part::End => Ok(()),
        }
    })?;
    put("\n", out)
}

/// A scalar as JSON: numbers in full, what JSON has no number for as text.
fn scalar_json(node: Node<'_>) -> String {
    match node.scalar() {
        Scalar::Null => "null".to_owned(),
        Scalar::Bool(value) => value.to_string(),
        Scalar::Int(value) => value.to_string(),
        Scalar::BigInt(digits) => digits,
        Scalar::Float(value) if value.is_nan() => "\"NaN\"".to_owned(),
        Scalar::Float(value) if value.is_infinite() => if value > 0.0 { "\"Infinity\"" } else { "\"-Infinity\"" }.to_owned(),
        Scalar::Float(value) => format!("{value:?}"),
        Scalar::Str(text) | Scalar::Timestamp(text) | Scalar::Binary(text) => json_text(&text),
    }
}

/// The tree as indented text with arrays described.
struct Text<'a> {
    file: &'a AsdfFile,
    options: &'a Options,
    depth: usize,
    tags: bool,
}

impl Text<'_> {
    fn print(&self, out: &mut Out, found: &walk::Found) -> Result<()> {
        let root = found.node(self.file);
        let limits = found.file(self.file).limits();
        let mut walk = root.walk(limits);
        while let Some(visit) = walk.step()? {
            let depth = visit.depth;
            if depth > self.depth {
                walk.skip_children();
                continue;
            }
            let name = match visit.key {
                Some(key) => key_text(key).into_owned(),
                None if depth == 0 => String::new(),
                None => format!("- {}", walk.path().keys().last().cloned().unwrap_or_default()),
            };
            let node = visit.node;
            let mut line = "  ".repeat(depth.saturating_sub(1));
            if !name.is_empty() {
                line.push_str(&self.paint("36", &clean(&name)));
                line.push_str(": ");
            }
            if let Some(tag) = node.tag().filter(|_| self.tags) {
                line.push_str(&self.paint("35", &format!("<{}> ", clean(tag))));
            }
            if node.is_alias() && !node.is_scalar() {
                line.push_str("(alias, see above)");
                walk.skip_children();
            } else if ndarray::is_ndarray(node) {
                line.push_str(&self.paint("32", &clean(&self.array(found, node))));
                walk.skip_children();
            } else if let Some(target) = node.get("$ref").filter(|_| node.is_mapping()) {
                line.push_str(&format!("-> {}", clean(&target.text())));
                walk.skip_children();
            } else {
                line.push_str(&clean(&self.summary(node, depth)));
                if is_short(node) {
                    walk.skip_children();
                }
            }
            if depth > 0 || node.is_scalar() || ndarray::is_ndarray(node) || is_short(node) {
                out.raw(line.trim_end())?;
                out.raw("\n")?;
            }
        }
        Ok(())
    }

    fn summary(&self, node: Node<'_>, depth: usize) -> String {
        match node.kind() {
            NodeKind::Scalar => {
                let text = node.text();
                let short: String = text.chars().take(120).collect::<String>().replace('\n', "\\n");
                if short.len() < text.len() { format!("{short}…") } else { short }
            }
            NodeKind::Sequence if node.is_empty() => "[]".to_owned(),
            NodeKind::Mapping if node.is_empty() => "{}".to_owned(),
            NodeKind::Sequence if is_short(node) => {
                let items: Vec<_> = node.items().map(|item| item.text().into_owned()).collect();
                format!("[{}]", items.join(", "))
            }
            NodeKind::Sequence if depth == self.depth => format!("({} items)", node.len()),
            NodeKind::Mapping if depth == self.depth => format!("({} keys)", node.len()),
            _ => String::new(),
        }
    }

    /// `float32 [2048, 2048]  lz4, 16.8 MB` or what is wrong with it.
    fn array(&self, found: &walk::Found, node: Node<'_>) -> String {
        let file = found.file(self.file);
        match file.array(node) {
            Err(error) => format!("(unreadable: {error})"),
            Ok(array) => {
                let storage = match node.get("source") {
                    None => "inline".to_owned(),
                    Some(source) => match source.as_i64().map(|n| file.sections().block(n)) {
                        Some(Ok(block)) if block.is_streamed() => "streamed".to_owned(),
                        Some(Ok(block)) => match file.encoding_names(block) {
                            Some(chain) => chain.join("+"),
                            None => crate::json::codec(block.compression).as_str().unwrap_or("plain").to_owned(),
                        },
                        _ => format!("in {}", source.text()),
                    },
                };
                let masked = if array.mask().is_some() { ", masked" } else { "" };
                let kind = datatype_text(array.datatype());
                format!("{kind} {:?}  {storage}, {}{masked}", array.shape(), size(array.nbytes()))
            }
        }
    }

    fn paint(&self, code: &str, text: &str) -> String {
        if self.options.colored() { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

/// A list of a few scalars, shown on one line.
fn is_short(node: Node<'_>) -> bool {
    node.is_sequence() && node.len() <= 16 && node.items().all(|item| item.is_scalar() && item.raw().len() < 40)
}
