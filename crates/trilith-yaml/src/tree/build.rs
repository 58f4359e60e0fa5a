//! Events to records.

use std::collections::HashMap;

use super::key_index::KeyIndex;
use super::{NodeProps, NodeRecord, TextOrigin, Tree};
use crate::bytes::prefer_large_pages;
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::span::{Span, line_column};
use crate::yaml::{CollectionStyle, Directives, Event, EventKind, EventReceiver, read_complete, read_fast};

/// Record kinds: the low two bits of `meta`.
pub(super) const SCALAR: u32 = 0;
pub(super) const SEQUENCE: u32 = 1;
pub(super) const MAPPING: u32 = 2;
pub(super) const ALIAS: u32 = 3;
pub(super) const KIND_MASK: u32 = 3;
/// Scalars: the style in bits 2 to 4.
pub(super) const STYLE_SHIFT: u32 = 2;
/// Scalars: the text is the source, less the quotes.
pub(super) const VERBATIM_FLAG: u32 = 1 << 5;
/// Collections: in brackets.
pub(super) const FLOW_FLAG: u32 = 1 << 5;
/// Bytes of text from which on its records are expected to fill large pages.
const MIN_HUGE_BYTES: usize = 4 << 20;
/// The node has properties.
pub(super) const HAS_PROPS: u32 = 1 << 6;
/// The tag's number in the upper 24 bits.
pub(super) const TAG_SHIFT: u32 = 8;

/// Builds the records of a tree from the events of a reader.
pub(super) struct RecordBuilder<'t> {
    text: &'t str,
    head: &'t Directives,
    limits: &'t Limits,
    records: Vec<NodeRecord>,
    props: Vec<NodeProps>,
    tags: Vec<String>,
    /// Bytes of `tags`: a short tag may represent a long one.
    tags_len: u64,
    cooked: Vec<String>,
    /// The collections that are open, and how many children each has.
    open_collections: Vec<(u32, u32)>,
    children: u32,
    tag_numbers: HashMap<&'t str, u32>,
    last_tag: (&'t str, u32),
    anchors: HashMap<&'t str, u32>,
    explicit_start: bool,
    explicit_end: bool,
}

/// Allocates space for the records of N bytes of text. If untouched memory costs nothing, it is enough for nearly
/// every tree, because growing would move the records.
fn allocate_records(text: usize) -> Vec<NodeRecord> {
    let mut records = Vec::new();
    let most = if cfg!(target_family = "wasm") { text / 24 } else { text / 4 };
    if records.try_reserve_exact(most).is_ok() && text >= MIN_HUGE_BYTES {
        prefer_large_pages(&mut records);
    }
    records
}

impl<'t> RecordBuilder<'t> {
    fn new(text: &'t str, head: &'t Directives, limits: &'t Limits) -> Self {
        Self {
            text,
            head,
            limits,
            records: allocate_records(text.len()),
            props: Vec::new(),
            tags: vec![String::new()],
            tags_len: 0,
            cooked: Vec::new(),
            open_collections: Vec::new(),
            children: 0,
            tag_numbers: HashMap::new(),
            last_tag: ("", 0),
            anchors: HashMap::new(),
            explicit_start: false,
            explicit_end: false,
        }
    }

    /// Reads `text` into a finished builder.
    pub(super) fn read_text(text: &'t str, head: &'t Directives, limits: &'t Limits) -> Result<Self> {
        let mut builder = Self::new(text, head, limits);
        if read_fast(text, &mut builder)? {
            return Ok(builder);
        }
        let mut builder = Self::new(text, head, limits);
        read_complete(text, limits, &mut builder)?;
        Ok(builder)
    }

    /// Makes a finished builder of the events of a printed document.
    pub(super) fn from_printed(text: &'t str, head: &'t Directives, events: Vec<Event>, limits: &'t Limits) -> Result<Self> {
        let mut builder = Self::new(text, head, limits);
        events.into_iter().try_for_each(|event| builder.receive_event(event, None))?;
        builder.end_document(true, true)?;
        Ok(builder)
    }

    pub(super) fn into_parts(self) -> TreeParts {
        TreeParts {
            records: self.records,
            props: self.props,
            tags: self.tags,
            cooked: self.cooked,
            begins: self.explicit_start,
            ends: self.explicit_end,
        }
    }

    /// The number of a tag as written.
    fn tag_number(&mut self, raw: &'t str, at: Span) -> Result<u32> {
        if self.last_tag.0 == raw {
            return Ok(self.last_tag.1);
        }
        let number = match self.tag_numbers.get(raw) {
            Some(number) => *number,
            None => {
                let whole = self
                    .head
                    .resolve_tag(raw)
                    .ok_or_else(|| self.malformed_at(at, format!("the handle of tag {raw} is not declared")))?;
                let number = self.tags.len() as u32;
                if number >= 1 << 24 {
                    return Err(Error::limit("the tree has more than 16 million distinct tags"));
                }
                let what = "the distinct tags of the tree, handles replaced,";
                self.limits.charge_text(&mut self.tags_len, whole.len(), what)?;
                self.tags.push(whole);
                self.tag_numbers.insert(raw, number);
                number
            }
        };
        self.last_tag = (raw, number);
        Ok(number)
    }

    #[cold]
    fn malformed_at(&self, at: Span, message: String) -> Error {
        let (line, column) = line_column(self.text, at.start as usize);
        Error::malformed(message).at_text(line, column)
    }

    /// Notes properties; the bits they add to `meta`.
    #[inline(never)]
    fn record_properties(&mut self, event: &Event) -> Result<u32> {
        let node = self.records.len() as u32;
        self.props.push(NodeProps { record: node, anchor: event.anchor, tag: event.tag });
        if !event.anchor.is_empty() {
            let name = event.anchor.slice(self.text);
            self.anchors.insert(name.get(1..).unwrap_or(""), node);
        }
        let number = if event.tag.is_empty() { 0 } else { self.tag_number(event.tag.slice(self.text), event.tag)? };
        Ok(HAS_PROPS | number << TAG_SHIFT)
    }

    fn push_alias(&mut self, span: Span) -> Result<()> {
        let name = span.slice(self.text).get(1..).unwrap_or("");
        let Some(&target) = self.anchors.get(name) else {
            return Err(self.malformed_at(span, format!("alias *{name} has no anchor before it")));
        };
        self.records.push(NodeRecord { start: span.start, end: span.end, next: target, count: 0, meta: ALIAS });
        Ok(())
    }

    #[inline(always)]
    fn scalar_length(&self, span: Span) -> Result<()> {
        if span.len() as u64 > self.limits.scalar {
            let len = span.len();
            let what = format_args!("a scalar has {len} bytes");
            let (line, column) = line_column(self.text, span.start as usize);
            return Err(Limits::exceeded_error("scalar", self.limits.scalar, what).at_text(line, column));
        }
        Ok(())
    }

    #[inline(always)]
    fn open_collection(&mut self, kind: u32, layout: CollectionStyle, span: Span, extra: u32) -> Result<()> {
        let flow = if layout == CollectionStyle::Flow { FLOW_FLAG } else { 0 };
        self.open_collections.push((self.records.len() as u32, self.children));
        if self.open_collections.len() as u64 > self.limits.depth {
            let (line, column) = line_column(self.text, span.start as usize);
            return Err(Limits::exceeded_error(
                "depth",
                self.limits.depth,
                format_args!("the YAML tree nests {} deep", self.open_collections.len()),
            )
            .at_text(line, column));
        }
        self.children = 0;
        self.records.push(NodeRecord { start: span.start, end: span.end, next: 0, count: 0, meta: kind | flow | extra });
        Ok(())
    }

    #[inline(always)]
    fn close_collection(&mut self, end: u32) {
        if let Some((node, outer)) = self.open_collections.pop() {
            let next = self.records.len() as u32;
            if let Some(record) = self.records.get_mut(node as usize) {
                record.end = end.max(record.start);
                record.next = next;
                record.count = self.children;
            }
            self.children = outer;
        }
    }
}

impl EventReceiver for RecordBuilder<'_> {
    // The scanner knows the kind of each event: inlined, the match is gone.
    #[inline(always)]
    fn receive_event(&mut self, event: Event, cooked: Option<&str>) -> Result<()> {
        if event.what == EventKind::End {
            self.close_collection(event.span.end);
            return Ok(());
        }
        self.children += 1;
        let extra = if event.anchor.is_empty() && event.tag.is_empty() { 0 } else { self.record_properties(&event)? };
        match event.what {
            EventKind::Mapping(layout) => self.open_collection(MAPPING, layout, event.span, extra)?,
            EventKind::Sequence(layout) => self.open_collection(SEQUENCE, layout, event.span, extra)?,
            EventKind::Scalar { style, verbatim } => {
                self.scalar_length(event.span)?;
                let count = match cooked {
                    Some(text) => {
                        self.cooked.push(text.to_owned());
                        self.cooked.len() as u32
                    }
                    None => 0,
                };
                let meta = SCALAR | (style as u32) << STYLE_SHIFT | if verbatim { VERBATIM_FLAG } else { 0 } | extra;
                self.records.push(NodeRecord { start: event.span.start, end: event.span.end, next: 0, count, meta });
            }
            EventKind::Alias => self.push_alias(event.span)?,
            EventKind::End => {}
        }
        Ok(())
    }

    fn end_document(&mut self, begins: bool, ends: bool) -> Result<()> {
        (self.explicit_start, self.explicit_end) = (begins, ends);
        Ok(())
    }
}

/// The result of a builder.
pub(super) struct TreeParts {
    records: Vec<NodeRecord>,
    props: Vec<NodeProps>,
    tags: Vec<String>,
    cooked: Vec<String>,
    begins: bool,
    ends: bool,
}

impl TreeParts {
    pub(super) fn into_tree(mut self, text: String, head: Directives, origin: TextOrigin) -> Tree {
        self.records.shrink_to_fit();
        let TreeParts { records, props, tags, cooked, begins, ends } = self;
        Tree {
            text,
            origin,
            records,
            props,
            tags,
            cooked_texts: cooked,
            head,
            explicit_start: begins,
            explicit_end: ends,
            keys: KeyIndex::default(),
        }
    }
}
