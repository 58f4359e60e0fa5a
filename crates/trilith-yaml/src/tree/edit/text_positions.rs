//! Places in a tree's text that edits need: dashes, keys, commas, ends of lines.

use super::super::node::{Node, NodeId, NodeKind};
use super::super::{CollectionStyle, Tree};
use crate::span::Span;
use crate::yaml::YamlScalarStyle;

/// An entry of a collection.
#[derive(Debug, Clone, Copy)]
pub(super) struct CollectionEntry<'t> {
    /// Key of a pair; `None` for an item.
    pub key: Option<Node<'t>>,
    pub value: Node<'t>,
    /// Offset of the dash or the `?` of the entry. Without one, the offset of its first byte.
    pub start: usize,
    /// Offset after the last byte of the entry.
    pub end: usize,
}

impl<'t> CollectionEntry<'t> {
    /// The node that it begins with.
    pub(super) fn first_node(&self) -> Node<'t> {
        self.key.unwrap_or(self.value)
    }
}

/// The entries of a collection, as written.
pub(super) fn collection_entries<'t>(parent: Node<'t>) -> Vec<CollectionEntry<'t>> {
    let text = parent.tree().text();
    let is_flow = parent.layout() == Some(CollectionStyle::Flow);
    let mut from = parent.span().start as usize + usize::from(has_brackets(parent));
    let mut parts = Vec::with_capacity(parent.len());
    let mut push = |key: Option<Node<'t>>, value: Node<'t>| {
        let first = key.unwrap_or(value).full_span().start as usize;
        let comma = if is_flow { after_byte(text, b',', from) } else { None };
        // A dash or a `?` precedes the node itself, and an empty node follows it.
        let start = skip_to_content(text, comma.unwrap_or(from)).min(first);
        let end = (value.full_span().end as usize).max(start);
        from = end;
        parts.push(CollectionEntry { key, value, start, end });
    };
    match parent.kind() {
        NodeKind::Sequence => parent.items().for_each(|item| push(None, item)),
        _ => parent.entries().for_each(|(key, value)| push(Some(key), value)),
    }
    parts
}

/// Returns `true` if a collection has explicit brackets. A block has none, nor has the pair in `[a: 1]`.
pub(super) fn has_brackets(node: Node<'_>) -> bool {
    let first = node.items().chain(node.entries().map(|(key, _)| key)).next();
    let begins_itself = first.is_none_or(|first| first.full_span().start > node.span().start);
    node.layout() == Some(CollectionStyle::Flow) && begins_itself && node.source_text().starts_with(['[', '{'])
}

/// The first byte from `at` on that is neither blank, line break nor comment.
pub(super) fn skip_to_content(text: &str, mut at: usize) -> usize {
    while let Some(byte) = text.as_bytes().get(at) {
        match byte {
            b' ' | b'\t' | b'\n' | b'\r' => at += 1,
            b'#' => at = line_end(text, at),
            _ => break,
        }
    }
    at
}

/// Returns the offset after the next byte that is not blank, if it is this one.
pub(super) fn after_byte(text: &str, wanted: u8, at: usize) -> Option<usize> {
    let next = skip_to_content(text, at);
    (text.as_bytes().get(next) == Some(&wanted)).then_some(next + 1)
}

/// Meaningless characters between words. Other blanks of Unicode are text.
pub(super) const BLANKS: [char; 4] = [' ', '\t', '\n', '\r'];

/// Returns `true` if nothing is in this text.
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

/// Returns the offset after the line break at `at`, or `at` if there is none.
pub(super) fn past_break(text: &str, at: usize) -> usize {
    match text.as_bytes().get(at..) {
        Some([b'\r', b'\n', ..]) => at + 2,
        Some([b'\n' | b'\r', ..]) => at + 1,
        _ => at,
    }
}

/// Returns the number of columns before `at` on its line.
pub(super) fn column_at(text: &str, at: usize) -> usize {
    text.get(line_start(text, at)..at).map_or(0, |before| before.chars().count())
}

/// Back over blanks and line breaks; and whether a comment ends there.
pub(super) fn before_blanks(text: &str, at: usize) -> (usize, bool) {
    let trimmed = text.get(..at).unwrap_or("").trim_end_matches(BLANKS);
    // A byte order mark may begin a later line too.
    let line = trimmed.get(line_start(text, trimmed.len())..).unwrap_or("").trim_start_matches('\u{feff}');
    let crossed = text.get(trimmed.len()..at).is_some_and(|blanks| blanks.contains(['\n', '\r']));
    // Only a line that has ended can end with a comment. At the end of the text, an extra line break does no harm.
    let left = crossed || at >= text.len();
    (trimmed.len(), left && (line.starts_with('#') || line.contains(" #") || line.contains("\t#")))
}

/// The lines from `at` on with nothing but blanks in them.
pub(super) fn blank_lines(text: &str, at: usize) -> &str {
    let rest = text.get(at..).unwrap_or("");
    let blanks = &rest[..rest.len() - rest.trim_start_matches(BLANKS).len()];
    if blanks.len() == rest.len() { blanks } else { &blanks[..blanks.rfind('\n').unwrap_or(0)] }
}

/// Returns `true` if the value of a pair, empty as it is, lacks even its colon: `? key`, `{key}`.
pub(super) fn has_no_colon(value: Node<'_>) -> bool {
    let span = value.full_span();
    let before = (span.start as usize).checked_sub(1).and_then(|at| value.tree().text().as_bytes().get(at));
    span.is_empty() && before != Some(&b':')
}

/// The lines between a node's properties and its content if there are comments in them, up to the content's line.
pub(super) fn comment_before_content(node: Node<'_>) -> Option<Span> {
    let (text, start) = (node.tree().text(), node.span().start as usize);
    let anchor = node.anchor().filter(|_| !node.is_alias()).and_then(|_| node.anchor_span());
    let end = anchor.into_iter().chain(node.tag_span()).map(|span| span.end as usize).max()?;
    let line = line_start(text, start);
    (end <= line && text.get(end..line)?.contains('#') && !node.span().is_empty()).then(|| Span::new_u32(end, line))
}

/// Returns `true` if a literal can end at `at`: what follows it would be part of its text, or of the last blank
/// lines of it.
pub(super) fn literal_may_end(text: &str, at: usize) -> bool {
    let rest = text.get(at..).unwrap_or("");
    let line = rest.get(..line_end(rest, 0)).unwrap_or("");
    let blanks = blank_lines(text, at);
    let follows = rest.get(blanks.len()..).unwrap_or("").trim_start_matches(['\n', '\r']);
    let is_comment = follows.starts_with(' ') && follows.trim_start_matches(' ').starts_with('#');
    line.is_empty() && !blanks.contains([' ', '\t']) && !is_comment
}

/// The block scalar that the text before record `at` ends with, if it does.
fn block_scalar_before(tree: &Tree, at: u32) -> Option<Node<'_>> {
    let mut records = (0..at).rev().filter_map(|at| tree.node(NodeId(at)));
    // Skips empty nodes, for which nothing is written, and block collections, which begin without text.
    let last = records
        .find(|node| !node.full_span().is_empty() && (node.is_alias() || node.layout() != Some(CollectionStyle::Block)))?;
    (!last.is_alias() && matches!(last.style(), Some(YamlScalarStyle::Literal | YamlScalarStyle::Folded))).then_some(last)
}

/// Returns the place of a new line after a block collection: past the break of its last line.
pub(super) fn end_of_block(parent: Node<'_>) -> usize {
    end_of_lines(parent.tree(), parent.span().end as usize, parent.target_record().next)
}

/// Returns the place of a new line after a node, which ends at `end` and before record `after`.
pub(super) fn end_of_lines(tree: &Tree, end: usize, after: u32) -> usize {
    let text = tree.text();
    let at = past_break(text, line_end(text, end));
    let Some(last) = block_scalar_before(tree, after).filter(|last| last.span().end as usize == end) else { return at };
    let mut behind = at;
    // The empty lines after a text that keeps them are part of it, and so are those that are longer than its indentation.
    while behind < text.len() {
        let next = line_end(text, behind);
        if !text.get(behind..next).is_some_and(is_blank) {
            break;
        }
        behind = past_break(text, next);
    }
    let is_part = keeps_breaks(last) || text.get(at..behind).is_some_and(|lines| lines.contains([' ', '\t']));
    if is_part { behind } else { at }
}

/// Returns the place of a new entry in brackets that have some, and whether a comma precedes it already.
pub(super) fn flow_end(text: &str, parent: Node<'_>) -> (usize, bool) {
    let close = (parent.span().end as usize).saturating_sub(1);
    let last = collection_entries(parent).last().map_or(close, |part| part.end);
    match after_byte(text, b',', last) {
        Some(behind) => (behind, true),
        None => (last, false),
    }
}

/// Returns the text to remove for the entries `first..=last` between brackets, which are not all of them.
pub(super) fn flow_removal(text: &str, parts: &[CollectionEntry<'_>], first: usize, last: usize) -> Option<Span> {
    let (from, to) = (parts.get(first)?, parts.get(last)?);
    let has_comment = |from: usize, to: usize| text.get(from..to).is_some_and(|gap| gap.contains('#'));
    if let Some(next) = parts.get(last + 1) {
        // The comment on its line goes too; those on the lines below are about the next one.
        let end = if has_comment(to.end, next.start) {
            line_end(text, after_byte(text, b',', to.end)?).min(next.start)
        } else {
            next.start
        };
        return Some(Span::new_u32(from.start, end));
    }
    let before = first.checked_sub(1).and_then(|at| parts.get(at));
    match before.filter(|before| !has_comment(before.end, from.start)) {
        Some(before) => Some(Span::new_u32(before.end, to.end)),
        None => Some(Span::new_u32(from.start, after_byte(text, b',', to.end).unwrap_or(to.end))),
    }
}

/// Returns the text to remove for the entries `first..=last` of a block collection, which are not all of them:
/// their lines, or their part of the first line. Also returns the replacement.
pub(super) fn block_removal(tree: &Tree, parts: &[CollectionEntry<'_>], first: usize, last: usize) -> Option<(Span, String)> {
    let text = tree.text();
    let (from, to) = (parts.get(first)?, parts.get(last)?);
    let line = line_start(text, from.start);
    let end = end_of_lines(tree, to.end, to.value.written_end());
    if !text.get(line..from.start).is_some_and(is_blank) {
        // `- a: 1` with more keys below: the next one moves up.
        let rest = text.get(end..).unwrap_or("");
        let blanks = rest.len() - rest.trim_start_matches([' ', '\n', '\r']).len();
        return Some((Span::new_u32(from.start, end + blanks), String::new()));
    }
    let scalar = block_scalar_before(tree, from.first_node().written_id());
    if let Some(scalar) = scalar.filter(|scalar| text.get(scalar.span().end as usize..line).is_some_and(is_blank)) {
        let (gap, kept) = below_block_scalar(text, scalar, end, column_at(text, from.start));
        return Some((Span::new_u32(line, end + gap), kept));
    }
    let (before, behind) = (first.checked_sub(1).and_then(|at| parts.get(at)), parts.get(last + 1));
    if before.is_some_and(|part| has_no_colon(part.value))
        && behind.is_some_and(|part| text.as_bytes().get(part.start) == Some(&b':'))
    {
        // The value of an empty key must not become that of `? key`.
        return Some((Span::new_u32(line, end), format!("{}?\n", " ".repeat(column_at(text, from.start)))));
    }
    // The last line of a text may lack its break; then the break before it goes.
    if end == text.len() && !text.ends_with(['\n', '\r']) && line > 0 {
        let breaks = if text.get(..line).is_some_and(|before| before.ends_with("\r\n")) { 2 } else { 1 };
        return Some((Span::new_u32(line.saturating_sub(breaks), end), String::new()));
    }
    Some((Span::new_u32(line, end), String::new()))
}

/// The blank lines and comments at `at`, written so that they are not part of a block scalar before them: how long
/// they were, and what is there then.
fn below_block_scalar(text: &str, scalar: Node<'_>, at: usize, column: usize) -> (usize, String) {
    let end = line_start(text, skip_to_content(text, at)).max(at);
    let gap = text.get(at..end).unwrap_or("");
    let harmless = |line: &str| line.trim_end_matches(['\n', '\r']).is_empty() && !keeps_breaks(scalar) || line.starts_with('#');
    if gap.split_inclusive('\n').all(harmless) {
        return (0, String::new());
    }
    let mut kept = String::new();
    for line in gap.split_inclusive('\n').filter(|line| !is_blank(line)) {
        kept.extend(std::iter::repeat_n(' ', column));
        kept.push_str(line.trim_start_matches(BLANKS));
    }
    (end - at, kept)
}

/// Returns `true` if a block scalar has the empty lines after it.
fn keeps_breaks(scalar: Node<'_>) -> bool {
    scalar.source_text().lines().next().is_some_and(|head| head.contains('+'))
}
