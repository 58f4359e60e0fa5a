//! The complete reader: all of YAML, by a library that is never visible outside this file.

use std::borrow::Cow;

use granit_parser::{ErrorKind, Parser, ScalarStyle, ScanError, StructureStyle};

use super::event::{CollectionStyle, Event, EventKind, EventReceiver, YamlScalarStyle};
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::span::Span;

/// Reads the one document of `text` and sends its events to `receiver`.
///
/// # Errors
/// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if it is not YAML or holds two documents, and
/// [`ErrorKind::Limit`](crate::ErrorKind::Limit) if it nests too deep, and what `receiver` returns.
pub(crate) fn read_complete<R: EventReceiver>(text: &str, limits: &Limits, receiver: &mut R) -> Result<()> {
    let depth = usize::try_from(limits.depth).unwrap_or(usize::MAX);
    let options = granit_parser::options! {
        emit_anchor_events: true,
        emit_comments: false,
        flow_nesting_limit: depth,
        block_nesting_limit: depth,
        max_directive_bytes: 65536,
        max_reserved_directive_params: 1024,
    };
    let without = super::line_breaks::has_unicode_breaks(text).then(|| {
        let quoted = find_quoted_ranges(Parser::new_from_str_with_options(text, options.clone()));
        super::line_breaks::normalize_breaks(text, &quoted)
    });
    let (written, text) = (text, without.as_deref().unwrap_or(text));
    let mut parser = Parser::new_from_str_with_options(text, options);
    // A byte order mark is not a token.
    let last = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let written = without.is_some().then_some(written);
    let mut adapter = EventAdapter {
        text,
        tag_spans: written,
        last_end: last,
        stack: Vec::new(),
        pending: None,
        documents: 0,
        begins: false,
        ends: false,
    };
    while let Some(next) = parser.next_event() {
        let (event, span) = next.map_err(|error| translate_error(&error, limits))?;
        adapter.handle_event(event, span, receiver)?;
    }
    adapter.flush(receiver)?;
    if adapter.documents == 0 {
        // A text of comments only is an empty document.
        let at = Span::new_u32(text.len(), text.len());
        receiver
            .receive_event(Event::without_props(EventKind::Scalar { style: YamlScalarStyle::Plain, verbatim: true }, at), None)?;
    }
    receiver.end_document(adapter.begins, adapter.ends)
}

/// Returns the places of the quoted scalars, up to the first error.
fn find_quoted_ranges<'t>(mut parser: Parser<'t, granit_parser::StrInput<'t>>) -> Vec<std::ops::Range<usize>> {
    let mut found = Vec::new();
    while let Some(Ok((event, span))) = parser.next_event() {
        if let granit_parser::Event::Scalar(_, ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted, ..) = event {
            found.extend(span.byte_range());
        }
    }
    found
}

/// A node whose anchor may still follow.
struct PendingNode {
    event: Event,
    cooked: Option<String>,
}

/// A collection that is open.
struct OpenCollection {
    is_mapping: bool,
    is_flow: bool,
    start: usize,
    /// Number of nodes that have begun in it.
    children: usize,
}

/// Turns the library's events into ours: exact spans, anchors on their nodes, nothing for empty text.
struct EventAdapter<'t> {
    text: &'t str,
    /// The text as it is written, if `text` has other line breaks in their place.
    tag_spans: Option<&'t str>,
    /// The end of the last token seen.
    last_end: usize,
    /// The collections that are open.
    stack: Vec<OpenCollection>,
    pending: Option<PendingNode>,
    documents: usize,
    begins: bool,
    ends: bool,
}

impl EventAdapter<'_> {
    fn handle_event<R: EventReceiver>(
        &mut self,
        event: granit_parser::Event<'_>,
        at: granit_parser::Span,
        to: &mut R,
    ) -> Result<()> {
        use granit_parser::Event as Theirs;
        let range = at.byte_range().unwrap_or(0..0);
        if let Theirs::Anchor(..) = event {
            if let Some(ahead) = &mut self.pending {
                ahead.event.anchor = Span::new_u32(range.start, range.end);
                if ahead.event.span.is_empty()
                    && matches!(ahead.event.what, EventKind::Scalar { style: YamlScalarStyle::Plain, .. })
                {
                    let end = ahead.event.span.start.max(ahead.event.anchor.end);
                    ahead.event.span = Span::new(end, end);
                }
                self.last_end = self.last_end.max(range.end);
            }
            return Ok(());
        }
        self.flush(to)?;
        let tag = at.tag_span().and_then(|t| t.byte_range()).map_or(Span::default(), |r| Span::new_u32(r.start, r.end));
        self.last_end = self.last_end.max(tag.end as usize);
        match event {
            Theirs::DocumentStart(explicit, _) => {
                self.documents += 1;
                if self.documents > 1 {
                    let (line, column) = crate::span::line_column(self.text, range.start);
                    return Err(Error::malformed("a second YAML document begins, but a tree is one document")
                        .at_text(line, column)
                        .hint("end the file at `...`"));
                }
                self.begins = explicit;
                if explicit {
                    self.last_end = range.start + 3;
                }
            }
            Theirs::DocumentEnd => self.ends = !range.is_empty(),
            Theirs::Alias(_) => self.defer_node(EventKind::Alias, range, tag, None),
            Theirs::Scalar(value, style, ..) => self.open_scalar(&value, style, range, tag),
            Theirs::SequenceStart(style, ..) => {
                let range = self.sequence_start(style, range);
                self.enter_collection(EventKind::Sequence(to_layout(style)), range, tag);
            }
            Theirs::MappingStart(style, ..) => {
                self.enter_collection(EventKind::Mapping(to_layout(style)), range, tag);
            }
            Theirs::SequenceEnd | Theirs::MappingEnd => {
                self.stack.pop();
                // A block collection ends where its last node does.
                let end = if range.is_empty() { self.last_end } else { range.end };
                self.last_end = end;
                to.receive_event(Event::without_props(EventKind::End, Span::new_u32(end, end)), None)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Holds a node back until it is known whether an anchor follows.
    fn defer_node(&mut self, what: EventKind, range: std::ops::Range<usize>, tag: Span, cooked: Option<String>) {
        if let Some(parent) = self.stack.last_mut() {
            parent.children += 1;
        }
        self.last_end = range.end.max(self.last_end);
        let event = Event { what, span: Span::new_u32(range.start, range.end), anchor: Span::default(), tag };
        self.pending = Some(PendingNode { event, cooked });
    }

    fn enter_collection(&mut self, what: EventKind, range: std::ops::Range<usize>, tag: Span) {
        let start = range.start;
        self.defer_node(what, range, tag, None);
        let is_flow = matches!(what, EventKind::Sequence(CollectionStyle::Flow) | EventKind::Mapping(CollectionStyle::Flow));
        self.stack.push(OpenCollection { is_mapping: matches!(what, EventKind::Mapping(_)), is_flow, start, children: 0 });
    }

    fn flush<R: EventReceiver>(&mut self, to: &mut R) -> Result<()> {
        match self.pending.take() {
            Some(ahead) => to.receive_event(ahead.event, ahead.cooked.as_deref()),
            None => Ok(()),
        }
    }

    fn open_scalar(&mut self, value: &str, style: ScalarStyle, range: std::ops::Range<usize>, tag: Span) {
        let style = match style {
            ScalarStyle::Plain => YamlScalarStyle::Plain,
            ScalarStyle::SingleQuoted => YamlScalarStyle::Single,
            ScalarStyle::DoubleQuoted => YamlScalarStyle::Double,
            ScalarStyle::Literal => YamlScalarStyle::Literal,
            ScalarStyle::Folded => YamlScalarStyle::Folded,
        };
        if style == YamlScalarStyle::Plain && range.is_empty() {
            let at = if tag.is_empty() { self.empty_at(range.start) } else { tag.end as usize };
            return self.defer_node(EventKind::Scalar { style, verbatim: true }, at..at, tag, None);
        }
        let range = match style {
            YamlScalarStyle::Literal | YamlScalarStyle::Folded => {
                let start = self.skip_to(b"|>").unwrap_or(range.start);
                let mut end = super::scalar_text::block_end(self.text, start, range.end);
                // Blanks in the place of a break are not part of it.
                while self.tag_spans.is_some_and(|written| !written.is_char_boundary(end)) {
                    end -= 1;
                }
                start..end
            }
            _ => range,
        };
        let span = Span::new_u32(range.start, range.end);
        let raw = span.slice(self.tag_spans.unwrap_or(self.text));
        let is_1_1 = self.tag_spans.filter(|_| {
            super::line_breaks::has_unicode_breaks(raw) || matches!(style, YamlScalarStyle::Literal | YamlScalarStyle::Folded)
        });
        let value = match is_1_1 {
            Some(text) => Cow::Owned(super::line_breaks::restore_breaks(text, span, style, value)),
            None => Cow::Borrowed(value),
        };
        let inner = match style {
            YamlScalarStyle::Plain => Some(raw),
            YamlScalarStyle::Single | YamlScalarStyle::Double => raw.get(1..raw.len().saturating_sub(1)),
            YamlScalarStyle::Literal | YamlScalarStyle::Folded => None,
        };
        let verbatim = inner == Some(&*value);
        self.defer_node(EventKind::Scalar { style, verbatim }, range, tag, (!verbatim).then(|| value.into_owned()));
    }

    /// Returns the place of an empty node: right after the `-`, `?` or `:` that needs it; else before the `:` after
    /// a key, or after the key that has no value. The place that the library gives may be at the next token.
    fn empty_at(&self, at: usize) -> usize {
        let Some(parent) = self.stack.last() else { return at };
        if !parent.is_mapping {
            return if parent.is_flow { at } else { self.after_byte(b'-', self.last_end).unwrap_or(at) };
        }
        if parent.children % 2 == 1 {
            return self.after_byte(b':', self.last_end).filter(|colon| self.is_of(parent, colon - 1)).unwrap_or(self.last_end);
        }
        let from = if parent.children == 0 { self.last_end.max(parent.start) } else { self.last_end };
        let comma = if parent.is_flow { self.after_byte(b',', from).unwrap_or(from) } else { from };
        self.after_byte(b'?', comma).unwrap_or_else(|| self.skip_to_content(comma))
    }

    /// Returns `true` if a colon is of this mapping, not of one around it.
    fn is_of(&self, mapping: &OpenCollection, colon: usize) -> bool {
        let line = |at: usize| {
            let before = self.text.as_bytes().get(..at).unwrap_or(&[]);
            let first = if before.starts_with("\u{feff}".as_bytes()) { 3 } else { 0 };
            memchr::memrchr2(b'\n', b'\r', before).map_or(first, |found| found + 1)
        };
        let column = |at: usize| at.saturating_sub(line(at));
        mapping.is_flow || line(self.last_end) == line(colon) || column(colon) == column(mapping.start)
    }

    /// The first byte from `at` on that is neither blank, line break nor comment.
    fn skip_to_content(&self, mut at: usize) -> usize {
        let bytes = self.text.as_bytes();
        while let Some(byte) = bytes.get(at) {
            match byte {
                b' ' | b'\t' | b'\n' | b'\r' => at += 1,
                b'#' => at = memchr::memchr2(b'\n', b'\r', bytes.get(at..).unwrap_or(&[])).map_or(bytes.len(), |n| at + n),
                _ => break,
            }
        }
        at
    }

    /// Returns the offset after the next byte of content if that byte is `wanted`.
    fn after_byte(&self, wanted: u8, at: usize) -> Option<usize> {
        let next = self.skip_to_content(at);
        (self.text.as_bytes().get(next) == Some(&wanted)).then_some(next + 1)
    }

    /// Returns the start of a sequence: its first `-`, even if it is not indented.
    fn sequence_start(&self, style: StructureStyle, range: std::ops::Range<usize>) -> std::ops::Range<usize> {
        if style == StructureStyle::Flow || !self.stack.last().is_some_and(|parent| parent.is_mapping) {
            return range;
        }
        match self.skip_to(b"-") {
            Some(dash) if dash < range.start => dash..dash,
            _ => range,
        }
    }

    /// The first of `wanted` after the last token, over blanks, line breaks, comments and the indicators between.
    fn skip_to(&self, wanted: &[u8]) -> Option<usize> {
        let bytes = self.text.as_bytes();
        let mut at = self.last_end;
        while let Some(byte) = bytes.get(at) {
            match byte {
                b if wanted.contains(b) => return Some(at),
                b' ' | b'\t' | b'\n' | b'\r' | b':' | b'-' | b'?' => at += 1,
                b'#' => at += memchr::memchr2(b'\n', b'\r', bytes.get(at..)?)?,
                // The anchor comes after the node in the library's order.
                b'&' => at += bytes.get(at..)?.iter().position(|b| matches!(b, b' ' | b'\t' | b'\n' | b'\r'))?,
                _ => return None,
            }
        }
        None
    }
}

fn to_layout(style: StructureStyle) -> CollectionStyle {
    match style {
        StructureStyle::Block => CollectionStyle::Block,
        StructureStyle::Flow => CollectionStyle::Flow,
    }
}

/// The library's error as ours.
#[cold]
fn translate_error(error: &ScanError, limits: &Limits) -> Error {
    let place = error.marker();
    let line = u32::try_from(place.line()).unwrap_or(u32::MAX);
    let column = u32::try_from(place.col()).unwrap_or(u32::MAX).saturating_add(1);
    let made = match error.kind() {
        ErrorKind::RecursionLimitExceeded => Limits::exceeded_error("depth", limits.depth, "the YAML tree nests too deep"),
        _ => Error::malformed(format!("invalid YAML: {}", normalize_message(&error.info()))),
    };
    made.at_text(line, column)
}

/// The library's message in our form: lower case, no full stop.
fn normalize_message(message: &str) -> String {
    let trimmed = message.trim().trim_end_matches('.');
    let mut chars = trimmed.chars();
    match chars.next() {
        Some(first) => first.to_lowercase().chain(chars).collect(),
        None => "unexpected text".to_owned(),
    }
}
