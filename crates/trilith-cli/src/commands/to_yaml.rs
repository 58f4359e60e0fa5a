//! `trilith to-yaml FILE`: the tree as YAML text, arrays written out if that is asked for.

use clap::Args;
use serde_json::json;
use trilith::array::Array;
use trilith::bytes::Base;
use trilith::asdf::{AsdfFile, ExpandOptions, Expansion, Found, Part, expand_value, inline_node, is_chunked, is_ndarray};
use trilith::tree::{PrintOptions, Value, print_document};
use trilith::{Error, Limits, Result};

use crate::Outcome;
use crate::options::Options;

/// Print the tree of a file as YAML
///
/// Without options the text is that of the file, byte for byte.
#[derive(Debug, Args)]
#[command(visible_alias = "header")]
pub(crate) struct ToYaml {
    /// The file, or - for standard input
    #[arg(value_name = "FILE")]
    file: String,
    /// Write the elements of arrays into the tree
    #[arg(long)]
    inline: bool,
    /// Write the targets of $ref and aliases in their place
    #[arg(long)]
    resolve: bool,
}

impl ToYaml {
    /// Prints the text.
    pub(crate) fn run(&self, options: &Options) -> Result<Outcome> {
        let mut file = options.open_asdf(&self.file)?;
        if self.resolve {
            // The output belongs to no folder.
            file = file.moved_to(&Base::Nowhere)?;
        }
        let text = if self.resolve {
            self.resolved(&file)?
        } else if self.inline {
            inlined(&file)?
        } else {
            file.tree().text().to_owned()
        };
        let header = file.sections().header();
        let lines: Vec<&String> = std::iter::once(&header.line).chain(&header.comments).collect();
        options.print(
            || json!({"file": self.file, "header": lines, "yaml": text}),
            |out| {
                lines.iter().try_for_each(|line| out.line(line))?;
                out.text(&text)
            },
        )?;
        options.warn_about(&file);
        Ok(Outcome::Yes)
    }

    /// A new text: aliases and references expanded.
    fn resolved(&self, file: &AsdfFile) -> Result<String> {
        let mut how = ExpandOptions::default();
        (how.inline, how.resolve, how.inline_others, how.tags) = (self.inline, true, true, true);
        // core/integer stays a separate node, only its words are written out.
        let key_name = datatype_key(file);
        let mut elements = Elements::new(file);
        let root = expand_value(file, &Found::root(file), how, &mut Expansion::of(file), &mut |part, _| match part {
            Part::Array(node, array) => {
                elements.add(array)?;
                Ok(Some(with_tag(inline_node(array, key_name, &complex_tag(file))?, node.tag())))
            }
            Part::Integer(node, _) => integer(file, *node).map(Some),
            _ => Ok(None),
        })?;
        let mut how = PrintOptions::default();
        how.handles = file.tree().tag_handles().map(|(handle, prefix)| (handle.to_owned(), prefix.to_owned())).collect();
        Ok(print_document(&root, &how))
    }
}

/// The text of the file with the ndarray nodes replaced. Comments and the rest survive.
fn inlined(file: &AsdfFile) -> Result<String> {
    let tree = file.tree();
    let mut edit = tree.edit();
    let mut elements = Elements::new(file);
    let mut walk = tree.root().walk(file.limits());
    while let Some(visit) = walk.step()? {
        let node = visit.node;
        if is_ndarray(node) && !node.is_alias() {
            let array = file.stored_array(node).map_err(|e| e.context(walk.path().to_string()))?;
            elements.add(&array)?;
            let value = inline_node(&array, datatype_key(file), &complex_tag(file))?;
            if is_chunked(node) {
                let target = trilith::change::target_of(file);
                edit.set(&walk.path(), &value.tagged(format!("{}{}", target.tree.prefix, target.tree.ndarray)))?;
            } else if node.is_sequence() {
                // A list of items in block style cannot become a mapping in place.
                edit.set(&walk.path(), &with_tag(value, node.tag()))?;
            } else {
                edit.write_out(node, &value);
            }
            walk.skip_children();
        }
    }
    // Arrays written out may be larger than a tree that is read may be.
    let mut limits = file.limits().clone();
    limits.text = u64::MAX;
    Ok(edit.finish(&limits)?.into_text())
}

/// Number of elements that the text may still hold, of all arrays: it is built in memory.
struct Elements {
    left: u64,
    most: u64,
}

impl Elements {
    fn new(file: &AsdfFile) -> Self {
        let most = file.limits().nodes;
        Self { left: most, most }
    }

    fn add(&mut self, array: &Array) -> Result<()> {
        // Memory of an element while it is a node of the new text.
        array.limits().charge_work(array.len().saturating_mul(128))?;
        let left = self.left.checked_sub(array.len());
        self.left = left.ok_or_else(|| Limits::exceeded("nodes", self.most, "the arrays together have elements to write"))?;
        Ok(())
    }
}

fn with_tag(value: Value, tag: Option<&str>) -> Value {
    match tag {
        Some(tag) => value.tagged(tag),
        None => value,
    }
}

/// A core/integer with its words written out.
fn integer(file: &AsdfFile, node: trilith::tree::Node<'_>) -> Result<Value> {
    let mut value = node.to_value(file.limits())?;
    let words = node.get("words").ok_or_else(|| Error::malformed("core/integer has no words"))?;
    // The node may be one of another file; only its own file can read its block.
    let others = file.opened();
    let owner = others.iter().find(|other| std::ptr::eq(other.tree(), node.tree())).map_or(file, |other| &**other);
    let array = owner.array(words)?;
    value.set("words", with_tag(inline_node(&array, datatype_key(file), &complex_tag(file))?, words.tag()));
    Ok(value)
}

fn datatype_key(file: &AsdfFile) -> &'static str {
    file.sections().generation().map_or("datatype", |g| g.tree.datatype_key)
}

fn complex_tag(file: &AsdfFile) -> String {
    let prefix = file.sections().generation().map_or("tag:stsci.edu:asdf/", |g| g.tree.prefix);
    let is_old = file.sections().generation().is_some_and(|g| g.major == 0);
    if is_old { format!("{prefix}core/complex") } else { format!("{prefix}core/complex-1.0.0") }
}
