//! `trilith to-yaml FILE`: the tree as YAML text, arrays written out if that is asked for.

use clap::Args;
use serde_json::json;
use trilith::array::Array;
use trilith::bytes::BaseUri;
use trilith::asdf::{AsdfFile, ExpandOptions, ExpansionBudget, FoundNode, TreeEvent, expand_value, inline_node, is_chunked, is_ndarray};
use trilith::tree::{PrintOptions, Value, print_document};
use trilith::{Error, Limits, Result};

use crate::outcome::Outcome;
use crate::session::{FileRole, Session};

/// Print the tree of a file as YAML
///
/// Without options the text is that of the file, byte for byte.
#[derive(Debug, Args)]
pub(crate) struct ToYaml {
    /// The file, or - for standard input
    #[arg(value_name = "FILE")]
    pub file: String,
    /// Write the elements of arrays into the tree
    #[arg(long)]
    pub inline: bool,
    /// Write the targets of $ref and aliases in their place
    #[arg(long)]
    pub resolve: bool,
}

impl ToYaml {
    /// Prints the text.
    pub(crate) fn run(&self, session: &Session<'_>) -> Result<Outcome> {
        let mut file = session.open(&self.file, FileRole::Tree)?.into_asdf()?;
        if self.resolve {
            // The output belongs to no folder.
            file = file.rebase(&BaseUri::None)?;
        }
        let mut warnings = Vec::new();
        let text = if self.resolve {
            self.print_expanded_tree(&file, &mut warnings)?
        } else if self.inline {
            inline_arrays(&file, &mut warnings)?
        } else {
            file.tree().text().to_owned()
        };
        let header = file.sections().header();
        let lines: Vec<&String> = std::iter::once(&header.line).chain(&header.comments).collect();
        session.print_json_or_text(
            || json!({"file": self.file, "header": lines, "yaml": text}),
            |out| {
                lines.iter().try_for_each(|line| out.write_line(line))?;
                out.write_file_text(&text)
            },
        )?;
        session.warn_all(warnings);
        session.warn_about(&file);
        Ok(Outcome::Success)
    }

    /// A new text: aliases and references expanded.
    fn print_expanded_tree(&self, file: &AsdfFile, warnings: &mut Vec<String>) -> Result<String> {
        let mut how = ExpandOptions::default();
        (how.inline, how.resolve, how.inline_external, how.tags) = (self.inline, true, true, true);
        // core/integer stays a separate node, only its words are written out.
        let key_name = datatype_key(file);
        let mut elements = ElementBudget::new(file);
        let root = expand_value(file, &FoundNode::root(file), how, &mut ExpansionBudget::from_limits(file), &mut |part, _| match part {
            TreeEvent::Array(node, array) => {
                elements.charge_array(array)?;
                let value = inline_node(array, key_name, &complex_tag(file))?;
                let line = node.line_column().0;
                warnings.extend(inline_problem(array, &value).map(|problem| format!("the array at line {line} {problem}")));
                Ok(Some(with_tag(value, node.tag())))
            }
            TreeEvent::Integer(node, _) => inline_integer_words(file, *node).map(Some),
            _ => Ok(None),
        })?;
        let mut how = PrintOptions::default();
        how.handles = file.tree().tag_handles().map(|(handle, prefix)| (handle.to_owned(), prefix.to_owned())).collect();
        Ok(print_document(&root, &how))
    }
}

/// The text of the file with the ndarray nodes replaced. Comments and the rest survive.
fn inline_arrays(file: &AsdfFile, warnings: &mut Vec<String>) -> Result<String> {
    let tree = file.tree();
    let mut edit = tree.edit();
    let mut elements = ElementBudget::new(file);
    let mut walk = tree.root().walk(file.limits());
    while let Some(visit) = walk.try_next()? {
        let node = visit.node;
        if is_ndarray(node) && !node.is_alias() {
            let array = file.stored_array(node).map_err(|e| e.context(walk.path().to_string()))?;
            elements.charge_array(&array)?;
            let value = inline_node(&array, datatype_key(file), &complex_tag(file))?;
            warnings.extend(inline_problem(&array, &value).map(|problem| format!("{} {problem}", walk.path())));
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

/// Returns the reason why ASDF has no inline form for an array: `data` is a list (schema core/ndarray), and integers in a tree are
/// within int64 (chapter "Tree").
fn inline_problem(array: &Array, value: &Value) -> Option<&'static str> {
    if array.shape().is_empty() {
        return Some("has no axes: as inline data it is a scalar, which the schema of ndarray refuses and Python asdf does not read");
    }
    let is_large = matches!(array.datatype(), trilith::array::Datatype::Uint64 | trilith::array::Datatype::Struct(_))
        && value.get("data").is_some_and(|data| data.check_subset().is_err());
    is_large.then_some("has integers beyond int64, which ASDF does not allow as inline data")
}

/// Number of elements that the text may still hold, of all arrays: it is built in memory.
struct ElementBudget {
    remaining: u64,
    max: u64,
}

impl ElementBudget {
    fn new(file: &AsdfFile) -> Self {
        let most = file.limits().nodes;
        Self { remaining: most, max: most }
    }

    fn charge_array(&mut self, array: &Array) -> Result<()> {
        // Memory of an element while it is a node of the new text.
        array.limits().charge_work(array.element_count().saturating_mul(128))?;
        let left = self.remaining.checked_sub(array.element_count());
        self.remaining = left.ok_or_else(|| Limits::exceeded_error("nodes", self.max, "the arrays together have elements to write"))?;
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
fn inline_integer_words(file: &AsdfFile, node: trilith::tree::Node<'_>) -> Result<Value> {
    let mut value = node.to_value(file.limits())?;
    let words = node.get("words").ok_or_else(|| Error::malformed("core/integer has no words"))?;
    // The node may be one of another file; only its own file can read its block.
    let others = file.referenced_files();
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
    let is_old = file.sections().generation().is_some_and(|g| g.major_version == 0);
    if is_old { format!("{prefix}core/complex") } else { format!("{prefix}core/complex-1.0.0") }
}
