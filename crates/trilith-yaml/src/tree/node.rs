//! One node of a tree.

use std::borrow::Cow;

use super::build::{ALIAS, FLOW_FLAG, HAS_PROPS, KIND_MASK, MAPPING, SCALAR, SEQUENCE, STYLE_SHIFT, TAG_SHIFT, VERBATIM_FLAG};
use super::children::{MappingEntries, SequenceItems, type_of};
use super::key_index::{IndexLookup, MIN_INDEXED_LEN};
use super::{CollectionStyle, NodeRecord, PrintOptions, Scalar, Tree, TreePath, YamlScalarStyle, print_value};
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::span::Span;
use crate::suggest::nearest;
use crate::yaml::{BINARY_TAG, scalar, scalar_text};

/// The kind of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NodeKind {
    /// Text, a number, a boolean, null.
    Scalar,
    /// A list of nodes.
    Sequence,
    /// Pairs of nodes.
    Mapping,
}

/// The number of a node in its tree, in document order; an alias shares the number of its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub(super) u32);

impl NodeId {
    /// The number, from 0 for the root, below [`Tree::node_count`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A node of a [`Tree`]; an alias is followed by every accessor but those that say otherwise.
///
/// ```
/// use trilith_yaml::{Limits, tree::{NodeKind, Tree}};
/// let tree = Tree::parse("%TAG ! tag:stsci.edu:asdf/\n---\nq: !unit/unit-1.0.0 m\n", &Limits::default())?;
/// let unit = tree.node_at_pointer("/q").unwrap();
/// assert_eq!(unit.kind(), NodeKind::Scalar);
/// assert_eq!(unit.tag(), Some("tag:stsci.edu:asdf/unit/unit-1.0.0"));
/// assert_eq!((unit.source_text(), unit.line_column()), ("m", (3, 4)));
/// # Ok::<(), trilith_yaml::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Node<'t> {
    tree: &'t Tree,
    /// The record as written, which may be an alias.
    record_index: u32,
}

/// Keys to which aliases add more nodes than these have their text as written for a name.
const MAX_NAMED_ALIASES: u64 = 1000;

/// The content for a missing record; no node leads there.
static NULL_RECORD: NodeRecord = NodeRecord { start: 0, end: 0, next: 0, count: 0, meta: SCALAR | VERBATIM_FLAG };

impl<'t> Node<'t> {
    #[inline]
    pub(super) fn new(tree: &'t Tree, written: u32) -> Self {
        Self { tree, record_index: written }
    }

    /// The tree that this node is of.
    pub fn tree(self) -> &'t Tree {
        self.tree
    }

    #[inline]
    fn record_index(self) -> &'t NodeRecord {
        self.tree.records.get(self.record_index as usize).unwrap_or(&NULL_RECORD)
    }

    /// The record that counts: the target of an alias.
    #[inline]
    pub(super) fn target_record(self) -> &'t NodeRecord {
        let record = self.record_index();
        if record.meta & KIND_MASK == ALIAS {
            self.tree.records.get(record.next as usize).unwrap_or(&NULL_RECORD)
        } else {
            record
        }
    }

    #[inline]
    fn target_index(self) -> u32 {
        let record = self.record_index();
        if record.meta & KIND_MASK == ALIAS { record.next } else { self.record_index }
    }

    /// Returns the number of the record as written. An alias has a separate one, by which [`Tree::node_at`] finds it.
    #[doc(hidden)]
    pub fn written_id(self) -> u32 {
        self.record_index
    }

    /// The numbers of this node and all below it, as written.
    #[doc(hidden)]
    pub fn written_ids(self) -> std::ops::Range<u32> {
        self.record_index..self.written_end()
    }

    /// The record after this node, as written.
    #[inline]
    pub(super) fn written_end(self) -> u32 {
        let record = self.record_index();
        if matches!(record.meta & KIND_MASK, SEQUENCE | MAPPING) { record.next } else { self.record_index + 1 }
    }

    /// Scalar, sequence or mapping.
    #[inline]
    pub fn kind(self) -> NodeKind {
        match self.target_record().meta & KIND_MASK {
            SEQUENCE => NodeKind::Sequence,
            MAPPING => NodeKind::Mapping,
            _ => NodeKind::Scalar,
        }
    }

    /// Returns `true` if this is a mapping.
    pub fn is_mapping(self) -> bool {
        self.kind() == NodeKind::Mapping
    }

    /// Returns `true` if this is a sequence.
    pub fn is_sequence(self) -> bool {
        self.kind() == NodeKind::Sequence
    }

    /// Returns `true` if this is a scalar.
    pub fn is_scalar(self) -> bool {
        self.kind() == NodeKind::Scalar
    }

    /// Returns the identity of the node: two nodes with the same number are one node, reached through an alias.
    pub fn id(self) -> NodeId {
        NodeId(self.target_index())
    }

    /// Returns `true` if it is written as an alias, `*name`.
    #[inline]
    pub fn is_alias(self) -> bool {
        self.record_index().meta & KIND_MASK == ALIAS
    }

    /// The node that an alias refers to, or `None` if this is not an alias.
    pub fn alias_target(self) -> Option<Node<'t>> {
        self.is_alias().then(|| Node::new(self.tree, self.target_index()))
    }

    /// The name of its anchor, or `None` without one.
    pub fn anchor(self) -> Option<&'t str> {
        let anchor = self.tree.find_props(self.target_index())?.anchor;
        anchor.slice(&self.tree.text).get(1..)
    }

    /// The whole tag, `%TAG` handles expanded, or `None` without one.
    ///
    /// `!` alone counts as none: it leaves a node to the rules of YAML 1.1 (see [`Node::scalar`]).
    #[inline]
    pub fn tag(self) -> Option<&'t str> {
        match self.target_record().meta >> TAG_SHIFT {
            0 => None,
            number => self.tree.tags.get(number as usize).map(String::as_str).filter(|tag| *tag != "!"),
        }
    }

    /// The error for a child that is missing at a path, with the keys that are there.
    #[cold]
    #[doc(hidden)]
    pub fn missing_child(self, key: &str, path: &TreePath) -> Error {
        let keys: Vec<_> = self.entries().map(|(key, _)| key.key_text()).collect();
        let keys: Vec<&str> = keys.iter().map(AsRef::as_ref).collect();
        let items = if self.is_sequence() { self.len() } else { 0 };
        Error::missing_key(key, &keys, items).at_path(path.to_string())
    }

    /// Returns `true` if the tag says that the node is bytes, as base 64 (`!!binary`).
    pub fn is_binary(self) -> bool {
        self.tag() == Some(BINARY_TAG)
    }

    /// The number of its tag in the tree, 0 without one: nodes with one number have one tag.
    #[inline]
    #[doc(hidden)]
    pub fn tag_number(self) -> usize {
        (self.target_record().meta >> TAG_SHIFT) as usize
    }

    /// Returns `true` if it is written with the tag `!` alone.
    #[inline]
    #[doc(hidden)]
    pub fn is_nonspecific(self) -> bool {
        self.target_record().meta >> TAG_SHIFT != 0 && self.tag().is_none()
    }

    /// Returns the place of its content in the text, without anchor and tag. For an alias, returns that of the alias itself.
    pub fn span(self) -> Span {
        let record = self.record_index();
        Span::new(record.start, record.end)
    }

    /// Returns the place of [`Node::span`], extended to its anchor and tag if it has them.
    pub fn full_span(self) -> Span {
        let mut span = self.span();
        if self.record_index().meta & HAS_PROPS != 0
            && let Some(props) = self.tree.find_props(self.record_index)
        {
            for part in [props.anchor, props.tag] {
                if !part.is_empty() {
                    span.start = span.start.min(part.start);
                    span.end = span.end.max(part.end);
                }
            }
        }
        span
    }

    /// Returns the place of its tag in the text, or `None` without one.
    pub fn tag_span(self) -> Option<Span> {
        let props = self.tree.find_props(self.record_index)?;
        (!props.tag.is_empty()).then_some(props.tag)
    }

    /// Returns the place of its anchor in the text, or `None` without one.
    pub(super) fn anchor_span(self) -> Option<Span> {
        let props = self.tree.find_props(self.record_index)?;
        (!props.anchor.is_empty()).then_some(props.anchor)
    }

    /// Line and column, from 1, of its content (or of its tag or anchor), within the file.
    pub fn line_column(self) -> (u32, u32) {
        self.tree.line_column(self.full_span().start as usize)
    }

    /// The content as written, quotes and brackets included; for an alias that of its target.
    pub fn source_text(self) -> &'t str {
        let record = self.target_record();
        Span::new(record.start, record.end).slice(&self.tree.text)
    }

    /// Block or flow, or `None` for a scalar.
    pub fn layout(self) -> Option<CollectionStyle> {
        let meta = self.target_record().meta;
        match meta & KIND_MASK {
            SEQUENCE | MAPPING => Some(if meta & FLOW_FLAG == 0 { CollectionStyle::Block } else { CollectionStyle::Flow }),
            _ => None,
        }
    }

    /// Returns the style of a scalar, or `None` for a collection.
    pub fn style(self) -> Option<YamlScalarStyle> {
        let meta = self.target_record().meta;
        if meta & KIND_MASK != SCALAR {
            return None;
        }
        Some(match meta >> STYLE_SHIFT & 7 {
            0 => YamlScalarStyle::Plain,
            1 => YamlScalarStyle::Single,
            2 => YamlScalarStyle::Double,
            3 => YamlScalarStyle::Literal,
            _ => YamlScalarStyle::Folded,
        })
    }

    /// The text of a scalar, unquoted and unfolded; "" for a collection.
    pub fn text(self) -> Cow<'t, str> {
        let record = self.target_record();
        let Some(style) = self.style() else { return Cow::Borrowed("") };
        if record.meta & VERBATIM_FLAG != 0 {
            let raw = self.source_text();
            return Cow::Borrowed(match style {
                YamlScalarStyle::Single | YamlScalarStyle::Double => raw.get(1..raw.len().saturating_sub(1)).unwrap_or(""),
                _ => raw,
            });
        }
        match record.count.checked_sub(1) {
            Some(at) => Cow::Borrowed(self.tree.cooked_texts.get(at as usize).map_or("", String::as_str)),
            None => Cow::Owned(scalar_text(&self.tree.text, Span::new(record.start, record.end), style)),
        }
    }

    /// Returns the value of a scalar by its tag, its style and the rules of YAML 1.1; null for a collection.
    ///
    /// Quoted text is text, and so is a scalar with any tag that is not YAML's own. After `!` alone, with which
    /// Python asdf writes timestamps between brackets, the text decides, whatever its quotes are. If nothing
    /// follows the `!`, it is the empty text.
    pub fn scalar(self) -> Scalar<'t> {
        let Some(style) = self.style() else { return Scalar::Null };
        let text = self.text();
        match self.tag() {
            None if style == YamlScalarStyle::Plain && text.is_empty() && self.is_nonspecific() => Scalar::Str(text),
            None if style == YamlScalarStyle::Plain || self.is_nonspecific() => scalar::resolve(text),
            None => Scalar::Str(text),
            Some(tag) => parse_tagged_scalar(tag.strip_prefix("tag:yaml.org,2002:").unwrap_or(""), text),
        }
    }

    /// Returns the value of [`Node::scalar`], whatever its tag is.
    pub fn untagged(self) -> Scalar<'t> {
        match self.style() {
            None => Scalar::Null,
            Some(YamlScalarStyle::Plain) => scalar::resolve(self.text()),
            Some(_) => Scalar::Str(self.text()),
        }
    }

    /// The text of a plain scalar without properties whose first letter is that of no word for null or a boolean, so that it is a string.
    /// Most keys are such words.
    pub(super) fn as_word(self) -> Option<&'t str> {
        let record = self.target_record();
        if record.meta & KIND_MASK != SCALAR || record.meta & HAS_PROPS != 0 || !record.is_verbatim() {
            return None;
        }
        let text = self.source_text();
        let first = text.bytes().next().filter(u8::is_ascii_alphabetic)?.to_ascii_lowercase();
        (!matches!(first, b'n' | b'y' | b't' | b'f' | b'o')).then_some(text)
    }

    /// The text if this is a string, else `None`.
    pub fn as_str(self) -> Option<Cow<'t, str>> {
        match self.scalar() {
            Scalar::Str(text) if self.is_scalar() => Some(text),
            _ => None,
        }
    }

    /// The number if this is an integer of 64 bits with sign, else `None`.
    pub fn as_i64(self) -> Option<i64> {
        match self.scalar() {
            Scalar::Int(value) => Some(value),
            _ => None,
        }
    }

    /// The number if this is an integer of 64 bits without sign, else `None`.
    pub fn as_u64(self) -> Option<u64> {
        match self.scalar() {
            Scalar::Int(value) => value.try_into().ok(),
            Scalar::BigInt(digits) => digits.parse().ok(),
            _ => None,
        }
    }

    /// The number if this is a float or an integer, else `None`.
    pub fn as_f64(self) -> Option<f64> {
        match self.scalar() {
            Scalar::Float(value) => Some(value),
            Scalar::Int(value) => Some(value as f64),
            Scalar::BigInt(digits) => digits.parse().ok(),
            _ => None,
        }
    }

    /// Returns the boolean if this is one, else `None`.
    pub fn as_bool(self) -> Option<bool> {
        match self.scalar() {
            Scalar::Bool(value) => Some(value),
            _ => None,
        }
    }

    /// Returns `true` if this is nothing.
    pub fn is_null(self) -> bool {
        // Without a tag the text decides, and this cheap test rules out most strings.
        let may_be = self.target_record().meta >> TAG_SHIFT != 0 || scalar::is_null(&self.text());
        self.is_scalar() && may_be && self.scalar() == Scalar::Null
    }

    /// Returns the number of items or pairs, as written; 0 for a scalar.
    pub fn len(self) -> usize {
        let record = self.target_record();
        match record.meta & KIND_MASK {
            SEQUENCE => record.count as usize,
            MAPPING => record.count as usize / 2,
            _ => 0,
        }
    }

    /// Returns `true` if it has no children.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The items of a sequence, in order; none for anything else.
    pub fn items(self) -> SequenceItems<'t> {
        SequenceItems::new(self, SEQUENCE)
    }

    /// The pairs of a mapping as written: duplicates and `<<` included; none for anything else.
    pub fn entries(self) -> MappingEntries<'t> {
        MappingEntries(SequenceItems::new(self, MAPPING))
    }

    /// The item of a sequence with this number, from 0.
    pub fn index(self, index: usize) -> Option<Node<'t>> {
        let record = self.target_record();
        if record.meta & KIND_MASK != SEQUENCE || index >= record.count as usize {
            return None;
        }
        // If no item has children, its place is known.
        let first = self.target_index() + 1;
        if record.next - first == record.count {
            return Some(Node::new(self.tree, first + index as u32));
        }
        self.items().nth(index)
    }

    /// The value of a mapping's key, as YAML 1.1 reads it: the last of duplicates wins, and explicit keys
    /// win over those merged with `<<`. Keys are compared by their text.
    pub fn get(self, key: &str) -> Option<Node<'t>> {
        if self.len() >= MIN_INDEXED_LEN {
            match self.tree.keys.find_value(self, key) {
                IndexLookup::Found { record, .. } => return Some(Node::new(self.tree, record)),
                IndexLookup::Missing
                    if self.tree.keys.find_value(self, "<<") == IndexLookup::Missing && !key.ends_with([']', '}']) =>
                {
                    return None;
                }
                _ => {}
            }
        }
        let mut found = None;
        let mut merges = false;
        for (name, value) in self.entries() {
            if name.is_key(key) {
                found = Some(value);
            }
            merges |= name.is_merge();
        }
        if found.is_none() && merges {
            return self.merged_entries().into_iter().find(|(name, _)| name.has_name(key)).map(|(_, value)| value);
        }
        // Keys that are collections are rare, and end with a bracket.
        if found.is_none() && key.ends_with([']', '}']) {
            return self.entries().filter(|(name, _)| name.has_name(key)).last().map(|(_, value)| value);
        }
        found
    }

    /// [`Node::get`] of several keys at once, in one pass over a mapping of a few pairs.
    pub fn get_each<const N: usize>(self, keys: [&str; N]) -> [Option<Node<'t>>; N] {
        if self.len() >= MIN_INDEXED_LEN {
            return keys.map(|key| self.get(key));
        }
        let mut found = [None; N];
        for (name, value) in self.entries() {
            if name.is_merge() {
                return keys.map(|key| self.get(key));
            }
            if name.is_scalar()
                && let text = name.text()
                && let Some(place) = keys.iter().position(|key| *key == text)
            {
                found[place] = Some(value);
            }
        }
        found
    }

    /// Returns the value of [`Node::get`], which must exist.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) naming the key and this node's place if it is missing, and a key
    /// that is spelled nearly so.
    pub fn require(self, key: &str) -> Result<Node<'t>> {
        self.get(key).ok_or_else(|| {
            let what = if self.is_mapping() { "key is missing" } else { "mapping is missing that has the key" };
            self.suggest_key(self.error(format!("{what}: {key}")), key)
        })
    }

    /// Adds the key that is spelled nearly like `key`, which this mapping lacks, to an error.
    #[doc(hidden)]
    pub fn suggest_key(self, error: Error, key: &str) -> Error {
        let near = self.entries().map(|(name, _)| name.text()).find(|name| nearest(name, [key]).is_some());
        match near {
            Some(name) => error.hint(format!("{name}: did you mean {key}?")),
            None => error,
        }
    }

    /// The child under this key or, in a sequence, with this number.
    pub fn child(self, key: &str) -> Option<Node<'t>> {
        match self.kind() {
            NodeKind::Mapping => self.get(key),
            NodeKind::Sequence => super::path::index_of(key).and_then(|index| self.index(index)),
            NodeKind::Scalar => None,
        }
    }

    /// Refuses a name that fits several keys of a mapping, which differ in their types: `1` and `"1"`.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if the name fits several keys.
    pub fn check_name(self, name: &str) -> Result<()> {
        // Texts that are nothing else in YAML, as nearly all keys are, fit one key at most.
        if !self.is_mapping() || matches!(crate::yaml::resolve(name.into()), Scalar::Str(_)) {
            return Ok(());
        }
        let mut types = self.merged_entries().into_iter().filter(|(key, _)| key.has_name(name)).map(|(key, _)| type_of(key));
        let first = types.next();
        if types.all(|other| Some(other) == first) {
            return Ok(());
        }
        Err(Error::invalid_input(format!("{name} fits two keys, which differ in their types: {name} and \"{name}\""))
            .hint("rename one of them with a text editor, or with PyYAML"))
    }

    /// The pairs of a mapping as YAML 1.1 reads them: duplicates gone (the last value, at the first's place),
    /// `<<` merged in where explicit keys leave room; as in the reference loader what is merged comes first.
    pub fn merged_entries(self) -> Vec<(Node<'t>, Node<'t>)> {
        // The budget bounds the work: no honest mapping is merged from more than the whole tree.
        super::children::collect_merged_pairs(self, &mut (2 * self.tree.records.len() as u64))
    }

    /// Reads the node, and all below it, into a custom type, as [`from_node`](super::from_node) does.
    ///
    /// # Errors
    /// Returns the errors of [`from_node`](super::from_node).
    pub fn deserialize<T: serde::de::DeserializeOwned>(self) -> Result<T> {
        super::from_node(self)
    }

    /// Returns the pairs of [`Node::merged_entries`], without the cost of merging if nothing is to be merged.
    pub fn pairs(self) -> Vec<(Node<'t>, Node<'t>)> {
        if super::walk::needs_merge(self) { self.merged_entries() } else { self.entries().collect() }
    }

    /// An error about this node: of the file, with its line and column.
    #[cold]
    pub fn error(self, message: impl Into<String>) -> Error {
        let (line, column) = self.line_column();
        Error::malformed(message).at_text(line, column)
    }

    /// Adds the place of this node to an error that has none.
    #[doc(hidden)]
    pub fn locate(self, error: Error) -> Error {
        let (line, column) = self.line_column();
        error.at_text(line, column)
    }

    /// Returns `true` if it is a scalar with this text.
    #[inline]
    pub(super) fn is_key(self, key: &str) -> bool {
        let record = self.target_record();
        if record.meta & KIND_MASK != SCALAR {
            return false;
        }
        if record.is_verbatim() {
            // Bytes are compared without asking whether the span has whole characters, as all spans have.
            return self.tree.text.as_bytes().get(Span::new(record.start, record.end).range()) == Some(key.as_bytes());
        }
        self.text() == key
    }

    /// The text that names this key in a path: that of a scalar, or a collection on one line, as `[1, 2]`.
    ///
    /// A collection to which aliases add very many nodes goes by its text as written.
    pub fn key_text(self) -> Cow<'t, str> {
        if self.is_scalar() {
            return self.text();
        }
        let options = PrintOptions { width: usize::MAX, ..PrintOptions::default() };
        let mut limits = Limits::default();
        limits.nodes = MAX_NAMED_ALIASES + self.source_text().len() as u64;
        match self.to_value(&limits) {
            Ok(value) => Cow::Owned(print_value(&value.flow(), 0, &options)),
            Err(_) => Cow::Borrowed(self.source_text()),
        }
    }

    /// Returns `true` if this key goes by this name: [`Node::key_text`] compared, and nothing printed if that is not needed.
    pub(super) fn has_name(self, name: &str) -> bool {
        self.is_key(name) || !self.is_scalar() && name.ends_with([']', '}']) && self.key_text() == name
    }

    /// The values under a key as they are written: nothing merged in, and all of a key that occurs more than once.
    pub(super) fn written_values(self, name: &str) -> Vec<Node<'t>> {
        if self.len() >= MIN_INDEXED_LEN && !name.ends_with([']', '}']) {
            match self.tree.keys.find_value(self, name) {
                IndexLookup::Found { record, is_repeated: false } => return vec![Node::new(self.tree, record)],
                IndexLookup::Missing => return Vec::new(),
                _ => {}
            }
        }
        self.entries().filter(|(key, _)| key.has_name(name)).map(|(_, value)| value).collect()
    }

    /// Returns `true` if it is the plain key `<<`, or tagged as a merge key.
    pub fn is_merge(self) -> bool {
        let record = self.target_record();
        match self.tag() {
            None => {
                record.meta & (KIND_MASK | 7 << STYLE_SHIFT) == SCALAR
                    && record.end - record.start == 2
                    && self.source_text() == "<<"
            }
            Some(tag) => tag == "tag:yaml.org,2002:merge",
        }
    }
}

/// A scalar under one of YAML's own tags; text that does not fit it stays text.
fn parse_tagged_scalar<'t>(tag: &str, text: Cow<'t, str>) -> Scalar<'t> {
    let found = match tag {
        "null" => Some(Scalar::Null),
        "bool" => scalar::boolean_of_any_case(&text).map(Scalar::Bool),
        // The reference loader forgives blanks around numbers.
        "int" => scalar::parse_integer(text.trim()),
        "float" => scalar::parse_float(text.trim()).or_else(|| scalar::any_float(text.trim())).map(Scalar::Float),
        "binary" => return Scalar::Binary(text),
        "timestamp" if scalar::is_timestamp(text.as_bytes()) => return Scalar::Timestamp(text),
        _ => None,
    };
    found.unwrap_or(Scalar::Str(text))
}

impl PartialEq for Node<'_> {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.tree, other.tree) && self.target_index() == other.target_index()
    }
}

impl Eq for Node<'_> {}

impl std::fmt::Debug for Node<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (line, column) = self.line_column();
        let raw: String = self.source_text().chars().take(40).collect();
        write!(f, "{:?} {raw:?} at {line}:{column}", self.kind())
    }
}
