//! Places in a tree's text that edits need: dashes, keys, commas, ends of lines.

use super::super::node::{Node, NodeId, NodeKind};
use super::super::{Layout, Tree};
use crate::span::Span;
use crate::yaml::Style;

/// One entry of a collection.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    /// Its dash, its key or, between brackets, its first byte.
    pub start: usize,
    /// One past its value.
    pub end: usize,
    /// Its value as written.
    pub value: Span,
}

/// The entries of a collection, as written.
pub(super) fn parts(parent: Node<'_>) -> Vec<Part> {
    let text = parent.tree().text();
    let block = parent.layout() == Some(Layout::Block);
    let mut from = parent.span().start as usize + usize::from(!block);
    let mut parts = Vec::with_capacity(parent.len());
    let mut add = |first: Span, value: Span| {
        let wanted: &[u8] = if parent.is_sequence() && block { b"-" } else { b"?" };
        // A dash, or the `?` of a complex key, stands before the node itself.
        let start = indicator(text, from, first.start as usize, wanted).unwrap_or(first.start as usize);
        let end = (value.end as usize).max(start);
        parts.push(Part { start, end, value });
        from = end;
    };
    match parent.kind() {
        NodeKind::Sequence => parent.items().for_each(|item| add(item.whole_span(), item.whole_span())),
        _ => parent.entries().for_each(|(key, value)| add(key.whole_span(), value.whole_span())),
    }
    parts
}

/// The first of `wanted` in `from..to`, over blanks, breaks, commas and comments.
fn indicator(text: &str, from: usize, to: usize, wanted: &[u8]) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = from;
    while at < to {
        match bytes.get(at)? {
            byte if wanted.contains(byte) => return Some(at),
            b' ' | b'\t' | b'\n' | b'\r' | b',' => at += 1,
            b'#' => at = line_end(text, at),
            _ => return None,
        }
    }
    None
}

/// What stands between words and means nothing; other blanks of Unicode are text.
pub(super) const BLANKS: [char; 4] = [' ', '\t', '\n', '\r'];

/// Whether nothing stands in this text.
pub(super) fn is_blank(text: &str) -> bool {
    text.trim_matches(BLANKS).is_empty()
}

/// The first byte of the line that holds `at`; a byte order mark in front of all belongs to none.
pub(super) fn line_start(text: &str, at: usize) -> usize {
    let before = text.as_bytes().get(..at).unwrap_or(&[]);
    let first = if before.starts_with("\u{feff}".as_bytes()) { 3 } else { 0 };
    memchr::memrchr2(b'\n', b'\r', before).map_or(first, |found| found + 1)
}

/// The line break after `at`, or the end of the text.
pub(super) fn line_end(text: &str, at: usize) -> usize {
    let after = text.as_bytes().get(at..).unwrap_or(&[]);
    memchr::memchr2(b'\n', b'\r', after).map_or(text.len(), |found| at + found)
}

/// One past the line break that begins at `at`.
pub(super) fn past_break(text: &str, at: usize) -> usize {
    match text.as_bytes().get(at..) {
        Some([b'\r', b'\n', ..]) => at + 2,
        Some([b'\n' | b'\r', ..]) => at + 1,
        _ => at,
    }
}

/// How many columns stand before `at` on its line.
pub(super) fn column(text: &str, at: usize) -> usize {
    text.get(line_start(text, at)..at).map_or(0, |before| before.chars().count())
}

/// Back over blanks and line breaks; and whether a comment ends there.
pub(super) fn before_blanks(text: &str, at: usize) -> (usize, bool) {
    let trimmed = text.get(..at).unwrap_or("").trim_end_matches(BLANKS);
    // A byte order mark may begin a later line too.
    let line = trimmed.get(line_start(text, trimmed.len())..).unwrap_or("").trim_start_matches('\u{feff}');
    let crossed = text.get(trimmed.len()..at).is_some_and(|blanks| blanks.contains(['\n', '\r']));
    // On a line that was left, only a comment can hold this; at the end of the text a new line does no harm.
    let left = crossed || at >= text.len();
    (trimmed.len(), left && (line.starts_with('#') || line.contains(" #") || line.contains("\t#")))
}

/// The lines from `at` on with nothing but blanks in them.
pub(super) fn blank_lines(text: &str, at: usize) -> &str {
    let rest = text.get(at..).unwrap_or("");
    let blanks = &rest[..rest.len() - rest.trim_start_matches(BLANKS).len()];
    if blanks.len() == rest.len() { blanks } else { &blanks[..blanks.rfind('\n').unwrap_or(0)] }
}

/// Whether an empty value stands after a colon, as it does not in `{a}`; items of a list have none to miss.
pub(super) fn follows_colon(text: &str, span: Span) -> bool {
    let before = text.get(..span.start as usize).unwrap_or("").trim_end_matches(BLANKS);
    before.ends_with([':', ',', '[', '{'])
}

/// Where a new line goes after a block collection: past the break of its last line.
pub(super) fn end_of_block(tree: &Tree, parent: Node<'_>) -> usize {
    let text = tree.text();
    let mut at = past_break(text, line_end(text, parent.span().end as usize));
    let last = last_leaf(parent);
    let keeps = matches!(last.style(), Some(Style::Literal | Style::Folded))
        && last.raw().lines().next().is_some_and(|head| head.contains('+'));
    // The empty lines after a text that keeps them are part of it.
    while keeps && at < text.len() {
        let next = line_end(text, at);
        if !text.get(at..next).is_some_and(is_blank) {
            break;
        }
        at = past_break(text, next);
    }
    at
}

/// The last node written within another.
fn last_leaf(node: Node<'_>) -> Node<'_> {
    let last = node.record().next.saturating_sub(1);
    node.tree().node(NodeId(last)).unwrap_or(node)
}

/// Where a new entry goes in brackets that have some, and whether a comma stands before it already.
pub(super) fn flow_end(text: &str, parent: Node<'_>) -> (usize, bool) {
    let close = (parent.span().end as usize).saturating_sub(1);
    let last = parts(parent).last().map_or(close, |part| part.end);
    let mut at = last;
    while at < close {
        match text.as_bytes().get(at) {
            Some(b',') => return (at + 1, true),
            Some(b'#') => at = line_end(text, at),
            _ => at += 1,
        }
    }
    (last, false)
}

/// What to remove for entry `index` between brackets.
pub(super) fn flow_removal(text: &str, parent: Node<'_>, parts: &[Part], index: usize) -> Span {
    let part = |at: usize| parts.get(at).copied();
    let Some(this) = part(index) else { return Span::default() };
    if let Some(next) = part(index + 1) {
        return Span::of(this.start, next.start);
    }
    let (after, comma) = flow_end(text, parent);
    match index.checked_sub(1).and_then(part) {
        Some(before) => Span::of(before.end, this.end),
        None => Span::of(this.start, if comma { after } else { this.end }),
    }
}

/// What to remove for entry `index` of a block collection: its lines, or what it has of its first line.
pub(super) fn block_removal(text: &str, parts: &[Part], index: usize) -> Span {
    let Some(this) = parts.get(index) else { return Span::default() };
    let line = line_start(text, this.start);
    let end = past_break(text, line_end(text, this.end));
    let alone = text.get(line..this.start).is_some_and(is_blank);
    if alone {
        // The last line of a text may lack its break; then the break before it goes.
        if end == text.len() && !text.ends_with(['\n', '\r']) && line > 0 {
            let mut start = line - 1;
            if text.get(..line).is_some_and(|t| t.ends_with("\r\n")) {
                start -= 1;
            }
            return Span::of(start, end);
        }
        return Span::of(line, end);
    }
    // `- a: 1` with more keys below: the next one moves up.
    let rest = text.get(end..).unwrap_or("");
    let blanks = rest.len() - rest.trim_start_matches([' ', '\n', '\r']).len();
    Span::of(this.start, end + blanks)
}
