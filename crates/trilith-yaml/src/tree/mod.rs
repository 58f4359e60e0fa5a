//! The tree: a YAML document that keeps its source.
//!
//! A [`Tree`] owns the text it was parsed from; its nodes are spans of that text in document order, so
//! that comments, key order, tags and the spelling of numbers survive whatever is done to it. Scalars
//! resolve (YAML 1.1) when they are asked for.
//!
//! ```
//! use trilith_yaml::{Limits, tree::Tree};
//! let tree = Tree::parse("shape: [2, 3] # rows, columns\nname: µ\n", &Limits::default())?;
//! let shape = tree.root().get("shape").unwrap();
//! assert_eq!(shape.index(1).unwrap().as_u64(), Some(3));
//! assert_eq!(tree.node_at_pointer("/name").unwrap().as_str().as_deref(), Some("µ"));
//! # Ok::<(), trilith_yaml::Error>(())
//! ```

mod build;
mod children;
mod convert;
mod de;
mod edit;
mod expanded_size;
mod fits_cards;
mod key_index;
mod lint;
mod node;
mod path;
#[cfg(test)]
mod property_tests;
mod reference;
mod renumber;
mod ser;
mod tag_content;
#[cfg(test)]
mod tests;
mod walk;

#[doc(hidden)]
pub use crate::yaml::{CollectionStyle, PrintOptions, YamlScalarStyle, print_document, print_value};
pub use crate::yaml::{Scalar, Value, ValueData};
#[doc(hidden)]
pub use children::{MappingEntries, SequenceItems};
pub use de::from_node;
pub use edit::Edit;
#[doc(hidden)]
pub use expanded_size::{Expanded, Known};
#[doc(hidden)]
pub use fits_cards::CardPlace;
#[doc(hidden)]
pub use lint::{TreeRule, surrogate_escape};
#[doc(hidden)]
pub use node::NodeId;
pub use node::{Node, NodeKind};
pub use path::TreePath;
#[doc(hidden)]
pub use path::index_of;
#[doc(hidden)]
pub use reference::{NodeReference, Places, ReferenceTarget, TreeOpener, resolve_path};
pub use ser::to_value;
pub use walk::{TreeWalk, WalkEntry};

use build::RecordBuilder;

use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::span::{Span, line_column};
use crate::yaml::{Directives, Event, print_list_with_events};

/// The key of the reason in the node of an array that cannot be read.
#[doc(hidden)]
pub const UNREADABLE: &str = "unreadable";

/// A node in 20 bytes. The records are in document order.
#[derive(Debug, Clone, Copy)]
struct NodeRecord {
    start: u32,
    end: u32,
    /// Collections: the record after their last descendant. Aliases: the node they represent.
    next: u32,
    /// Collections: how many children. Scalars: 0, or one more than the place of their text in `cooked_texts`.
    count: u32,
    /// Kind, style and flags in the low byte, the tag's number above.
    meta: u32,
}

impl NodeRecord {
    /// The number of its tag in the tree, 0 without one.
    #[inline]
    fn tag_number(&self) -> u32 {
        self.meta >> build::TAG_SHIFT
    }

    /// Returns `true` if the text of a scalar is as its span has it: without quotes, escapes and folds.
    #[inline]
    fn is_verbatim(&self) -> bool {
        self.meta & (build::VERBATIM_FLAG | 7 << build::STYLE_SHIFT) == build::VERBATIM_FLAG
    }
}

/// The properties written before a node, for the few nodes that have some.
#[derive(Debug, Clone, Copy)]
struct NodeProps {
    record: u32,
    anchor: Span,
    tag: Span,
}

/// The start of a text within its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct TextOrigin {
    /// The line of the text's first byte, from 1.
    pub line: u32,
    /// The byte of the file at which the text begins.
    pub byte: u64,
}

impl TextOrigin {
    /// Returns the start of a text at a byte and in a line of its file.
    #[doc(hidden)]
    pub const fn new(byte: u64, line: u32) -> Self {
        Self { line, byte }
    }
}

impl Default for TextOrigin {
    fn default() -> Self {
        Self { line: 1, byte: 0 }
    }
}

/// A YAML document and the text it was parsed from.
///
/// Nothing is resolved, validated or decoded on opening. Memory: the text, and 20 bytes a node.
#[derive(Debug, Clone)]
pub struct Tree {
    text: String,
    origin: TextOrigin,
    records: Vec<NodeRecord>,
    props: Vec<NodeProps>,
    /// Whole tags by their number; number 0 is for nodes without a tag.
    tags: Vec<String>,
    /// Texts that differ from their source and cannot be made from it alone.
    cooked_texts: Vec<String>,
    head: Directives,
    explicit_start: bool,
    explicit_end: bool,
    keys: key_index::KeyIndex,
}

impl Tree {
    /// Refuses a path on which a name fits several keys: see [`Node::check_name`].
    ///
    /// # Errors
    /// Returns the errors of [`Node::check_name`].
    pub fn check_path(&self, path: &TreePath) -> Result<()> {
        let mut at = Some(self.root());
        for key in path.keys() {
            let Some(node) = at else { break };
            node.check_name(key).map_err(|error| error.at_path(path.to_string()))?;
            at = node.child(key);
        }
        Ok(())
    }

    /// Parses the YAML document in `text`, directives and comment lines included.
    ///
    /// An empty text is a tree of one null. Implements chapter "Tree" of the ASDF standard on YAML 1.1.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) with line and column if `text` is not YAML or
    /// holds a second document, and [`ErrorKind::Limit`](crate::ErrorKind::Limit) if it is larger or deeper than
    /// `limits` allow.
    pub fn parse(text: impl Into<String>, limits: &Limits) -> Result<Self> {
        Self::parse_at(text, TextOrigin::default(), limits)
    }

    /// Does the same as [`Tree::parse`], for a text that begins somewhere within a file: places in errors are those
    /// of the file.
    ///
    /// # Errors
    /// Returns the errors of [`Tree::parse`].
    pub fn parse_at(text: impl Into<String>, origin: TextOrigin, limits: &Limits) -> Result<Self> {
        let text = text.into();
        check_text_len(&text, limits)?;
        let head = Directives::parse_directives(&text);
        let parts =
            RecordBuilder::read_text(&text, &head, limits).map(RecordBuilder::into_parts).map_err(|e| with_origin(e, origin))?;
        Ok(parts.into_tree(text, head, origin))
    }

    /// Returns the tree of a mapping with one entry, a list. `tags` are those of the mapping and of the list. The text is that of
    /// [`print_document`], and it is not parsed: the printer knows the nodes. No more than one item exists at a time.
    ///
    /// # Errors
    /// Returns the errors of `items`, and those of [`Tree::parse`] for a list that is over a limit, or that has an alias without its
    /// anchor.
    #[doc(hidden)]
    pub fn from_list(
        key: &str,
        tags: [&str; 2],
        items: impl Iterator<Item = Result<Value>>,
        options: &PrintOptions,
        origin: TextOrigin,
        limits: &Limits,
    ) -> Result<Self> {
        let mut failed = None;
        let items = items.map_while(|item| item.map_err(|error| failed = Some(error)).ok());
        let printed = print_list_with_events(key, tags, items, options);
        failed.map_or_else(|| Self::from_printed(printed, origin, limits), Err)
    }

    fn from_printed((text, events): (String, Vec<Event>), origin: TextOrigin, limits: &Limits) -> Result<Self> {
        check_text_len(&text, limits)?;
        let head = Directives::parse_directives(&text);
        let parts = RecordBuilder::from_printed(&text, &head, events, limits).map(RecordBuilder::into_parts)?;
        Ok(parts.into_tree(text, head, origin))
    }

    /// Does the same as [`Tree::parse_at`], for bytes that should be UTF-8.
    ///
    /// # Errors
    /// Returns the errors of [`Tree::parse`], and [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) naming the
    /// byte that is not UTF-8.
    pub fn parse_bytes(bytes: Vec<u8>, origin: TextOrigin, limits: &Limits) -> Result<Self> {
        let text = String::from_utf8(bytes).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            let found = error.as_bytes().get(at).copied().unwrap_or(0);
            Error::malformed(format!("the tree is not UTF-8: found byte 0x{found:02x}")).at_byte(origin.byte + at as u64)
        })?;
        Self::parse_at(text, origin, limits)
    }

    /// The node at the top.
    pub fn root(&self) -> Node<'_> {
        Node::new(self, 0)
    }

    /// The node at a path, or `None` if there is none. Aliases are followed on the way.
    pub fn find(&self, path: &TreePath) -> Option<Node<'_>> {
        path.keys().iter().try_fold(self.root(), |node, key| node.child(key))
    }

    /// The node at a path written as a JSON Pointer, or `None` if there is none.
    pub fn node_at_pointer(&self, pointer: &str) -> Option<Node<'_>> {
        self.find(&TreePath::parse(pointer).ok()?)
    }

    /// The node with this number.
    pub fn node(&self, id: NodeId) -> Option<Node<'_>> {
        self.records.get(id.0 as usize).map(|_| Node::new(self, id.0))
    }

    /// The node with a number, see [`NodeId::index`].
    pub fn node_at(&self, index: usize) -> Option<Node<'_>> {
        let number = u32::try_from(index).ok()?;
        self.records.get(index).map(|_| Node::new(self, number))
    }

    /// The text this tree was parsed from, byte for byte.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Gives the text back.
    pub fn into_text(self) -> String {
        self.text
    }

    /// Returns the start of the text within its file.
    pub fn origin(&self) -> TextOrigin {
        self.origin
    }

    /// Returns the number of nodes, including keys and aliases.
    pub fn node_count(&self) -> usize {
        self.records.len()
    }

    /// The version that `%YAML` names, or `None` without that directive.
    pub fn yaml_version(&self) -> Option<&str> {
        self.head.version.as_deref()
    }

    /// Handle and prefix of each `%TAG` directive.
    pub fn tag_handles(&self) -> impl Iterator<Item = (&str, &str)> {
        self.head.handles.iter().map(|(handle, prefix)| (handle.as_str(), prefix.as_str()))
    }

    /// Returns every distinct tag of the tree except the bare `!`.
    pub fn tags(&self) -> impl Iterator<Item = &str> {
        self.tags.iter().skip(1).map(String::as_str).filter(|tag| *tag != "!")
    }

    /// The nodes as they are written, keys too, whose tag is one that `is_wanted` accepts.
    #[doc(hidden)]
    pub fn tagged(&self, is_wanted: impl Fn(&str) -> bool) -> impl Iterator<Item = Node<'_>> {
        let wanted: Vec<bool> = self.tags.iter().map(|tag| is_wanted(tag)).collect();
        let is_one = move |record: &NodeRecord| {
            record.meta & build::KIND_MASK != build::ALIAS && wanted.get(record.tag_number() as usize) == Some(&true)
        };
        let found = self.records.iter().enumerate().filter(move |&(_, record)| is_one(record));
        found.map(move |(number, _)| Node::new(self, number as u32))
    }

    /// The numbers, in order, of all nodes that have such a tag or lead elsewhere: aliases, and the keys of references.
    #[doc(hidden)]
    pub fn landmarks(&self, is_wanted: impl Fn(&str) -> bool) -> Vec<u32> {
        let wanted: Vec<bool> = self.tags.iter().map(|tag| is_wanted(tag)).collect();
        let is_one = |number: &u32| {
            let Some(record) = self.records.get(*number as usize) else { return false };
            let leads_elsewhere = match record.meta & build::KIND_MASK {
                build::ALIAS => true,
                build::SCALAR => {
                    // The length rules out most keys: quotes and escapes only make a key longer.
                    let length = record.end - record.start;
                    let may_be = length == 4 || length > 4 && !record.is_verbatim();
                    may_be && Node::new(self, *number).is_key("$ref")
                }
                _ => false,
            };
            leads_elsewhere || wanted.get(record.tag_number() as usize) == Some(&true)
        };
        (0..self.records.len() as u32).filter(is_one).collect()
    }

    /// The line and column, from 1, of a byte of the text, counted within the file.
    pub fn line_column(&self, byte: usize) -> (u32, u32) {
        let (line, column) = line_column(&self.text, byte);
        (line.saturating_add(self.origin.line.saturating_sub(1)), column)
    }

    fn find_props(&self, node: u32) -> Option<&NodeProps> {
        let at = self.props.binary_search_by_key(&node, |p| p.record).ok()?;
        self.props.get(at)
    }
}

/// Refuses a text that is longer than the limits or the records of nodes allow.
fn check_text_len(text: &str, limits: &Limits) -> Result<()> {
    let longest = limits.text.min(u64::from(u32::MAX - 1));
    if text.len() as u64 > longest {
        return Err(Limits::exceeded_error("text", longest, format_args!("the tree has {} bytes of text", text.len())));
    }
    Ok(())
}

/// An error of the text as one of the file that it is in.
fn with_origin(error: Error, origin: TextOrigin) -> Error {
    if origin == TextOrigin::default() {
        return error;
    }
    match *error.location() {
        crate::error::Location::Text { line, column } => {
            let line = line.saturating_add(origin.line.saturating_sub(1));
            Error::new(error.kind(), error.message()).at_text(line, column).with_settings_of(&error)
        }
        _ => error,
    }
}
