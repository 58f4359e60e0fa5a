//! The line breaks that YAML 1.1 has and YAML 1.2 has not: next line (U+0085), line separator (U+2028) and paragraph
//! separator (U+2029).
//!
//! The complete reader is one of YAML 1.2, to which they are letters. A text that has some is shown to it with blanks and
//! a line feed in their place, as long as they are in bytes, so that all places hold; what scalars mean is then made here,
//! by the rules of YAML 1.1 (5.4, 9.1): a next line becomes a line feed, the separators stay what they are and do not fold.

use std::ops::Range;

use super::event::YamlScalarStyle;
use crate::span::Span;

/// Returns `true` if `text` has such a break.
pub(super) fn has_unicode_breaks(text: &str) -> bool {
    !text.is_ascii() && text.contains(['\u{85}', '\u{2028}', '\u{2029}'])
}

/// The text with line feeds instead, of the same length in bytes. Those between the quotes of a scalar stay: they part
/// nothing there, and YAML 1.2 wants lines indented that 1.1 does not.
pub(super) fn normalize_breaks(text: &str, quoted: &[Range<usize>]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut quoted = quoted.iter().peekable();
    for (at, letter) in text.char_indices() {
        while quoted.next_if(|range| range.end <= at).is_some() {}
        match letter {
            '\u{85}' | '\u{2028}' | '\u{2029}' if quoted.peek().is_some_and(|range| range.start <= at) => out.push(letter),
            '\u{85}' => out.push_str(" \n"),
            '\u{2028}' | '\u{2029}' => out.push_str("  \n"),
            _ => out.push(letter),
        }
    }
    out
}

/// Returns the value of the scalar at `span` of `text`; `theirs` is its value in the text with line feeds.
pub(super) fn restore_breaks(text: &str, span: Span, style: YamlScalarStyle, theirs: &str) -> String {
    let raw = span.slice(text);
    let inner = || raw.get(1..raw.len().saturating_sub(1)).unwrap_or("");
    match style {
        YamlScalarStyle::Plain => fold_lines(raw, style),
        YamlScalarStyle::Single | YamlScalarStyle::Double => fold_lines(inner(), style),
        YamlScalarStyle::Literal | YamlScalarStyle::Folded => {
            parse_block_scalar(text.get(span.start as usize..).unwrap_or(""), style == YamlScalarStyle::Folded, theirs)
        }
    }
}

/// The break that `text` begins with, as YAML keeps it, and what follows it.
fn split_break(text: &str) -> Option<(char, &str)> {
    if let Some(rest) = text.strip_prefix("\r\n") {
        return Some(('\n', rest));
    }
    let mut chars = text.chars();
    match chars.next()? {
        '\n' | '\r' | '\u{85}' => Some(('\n', chars.as_str())),
        separator @ ('\u{2028}' | '\u{2029}') => Some((separator, chars.as_str())),
        _ => None,
    }
}

/// Takes blanks and breaks from `rest` and gives the breaks.
fn take_breaks(rest: &mut &str) -> String {
    let mut breaks = String::new();
    loop {
        *rest = rest.trim_start_matches([' ', '\t']);
        let Some((found, after)) = split_break(rest) else { return breaks };
        breaks.push(found);
        *rest = after;
    }
}

/// Joins the lines of a plain or quoted scalar.
fn fold_lines(raw: &str, style: YamlScalarStyle) -> String {
    let mut out = String::with_capacity(raw.len());
    // Text that an escape made is not a blank to be trimmed.
    let (mut fixed, mut rest) = (0, raw);
    while let Some(next) = rest.chars().next() {
        if let Some((first, after)) = split_break(rest) {
            rest = after;
            let kept = out.trim_end_matches([' ', '\t']).len().max(fixed);
            out.truncate(kept);
            let breaks = take_breaks(&mut rest);
            match first {
                '\n' if breaks.is_empty() => out.push(' '),
                '\n' => {}
                separator => out.push(separator),
            }
            out.push_str(&breaks);
            // A separator is content, and so are the breaks after one.
            fixed = out.len();
            continue;
        }
        rest = rest.get(next.len_utf8()..).unwrap_or("");
        match (next, style) {
            ('\'', YamlScalarStyle::Single) => {
                rest = rest.strip_prefix('\'').unwrap_or(rest);
                out.push('\'');
                fixed = out.len();
            }
            ('\\', YamlScalarStyle::Double) => {
                match split_break(rest) {
                    Some((_, after)) => {
                        rest = after;
                        out.push_str(&take_breaks(&mut rest));
                    }
                    None => super::scalar_text::unescape(&mut rest, &mut out),
                }
                fixed = out.len();
            }
            _ => out.push(next),
        }
    }
    out
}

/// The text of the literal or folded scalar with which `text` begins.
fn parse_block_scalar(text: &str, fold: bool, theirs: &str) -> String {
    let header = text.find(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}']).unwrap_or(text.len());
    let (head, body) = text.split_at(header);
    let indicators = head.split(['#', ' ', '\t']).next().unwrap_or("");
    let mut rest = split_break(body).map_or("", |(_, after)| after);
    let Some(indent) = find_block_indentation(rest, theirs) else {
        let breaks = take_breaks(&mut rest);
        return if indicators.contains('+') { breaks } else { String::new() };
    };
    let (mut out, mut breaks, mut last) = (String::new(), String::new(), None);
    while !rest.is_empty() {
        let end = rest.find(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}']).unwrap_or(rest.len());
        let (line, after) = rest.split_at(end);
        let spaces = line.len() - line.trim_start_matches(' ').len();
        let (found, next) = split_break(after).map_or((None, ""), |(found, next)| (Some(found), next));
        if spaces == line.len() && spaces <= indent {
            breaks.extend(found);
            rest = next;
            continue;
        }
        if spaces < indent {
            break;
        }
        let content = line.get(indent..).unwrap_or("");
        let is_blank = content.starts_with([' ', '\t']);
        match last {
            // The break folds: into a blank, or away where others follow it.
            Some(('\n', false)) if fold && !is_blank && !breaks.is_empty() => {}
            Some(('\n', false)) if fold && !is_blank => out.push(' '),
            Some((found, _)) => out.push(found),
            None => {}
        }
        out.push_str(&std::mem::take(&mut breaks));
        out.push_str(content);
        last = found.map(|found| (found, is_blank));
        rest = next;
        if found.is_none() {
            break;
        }
    }
    if !indicators.contains('-') {
        out.extend(last.map(|(found, _)| found));
    }
    if indicators.contains('+') {
        out.push_str(&breaks);
    }
    out
}

/// By how many spaces the lines of a block scalar are indented: those of its first line that is not blank, less the ones
/// that belong to its content.
fn find_block_indentation(body: &str, theirs: &str) -> Option<usize> {
    let first = |text: &'_ str| {
        let mut lines = text.split(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}']);
        lines.find(|line| !line.trim_matches(' ').is_empty()).map(|line| line.len() - line.trim_start_matches(' ').len())
    };
    first(theirs).and_then(|content| first(body)?.checked_sub(content))
}
