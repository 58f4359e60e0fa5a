//! The text that a scalar represents, made from its source: unescaped, folded, chomped.
//!
//! Serves the scalars of the fast scanner (line breaks are LF, block scalars find their indentation by
//! themselves); the complete reader hands its own text over.

use super::event::YamlScalarStyle;
use crate::span::Span;

/// The text of the scalar written at `span` of `text` (quotes and block header included).
pub(crate) fn scalar_text(text: &str, span: Span, style: YamlScalarStyle) -> String {
    let raw = span.slice(text);
    let inner = || raw.get(1..raw.len().saturating_sub(1)).unwrap_or("");
    match style {
        YamlScalarStyle::Plain => fold_lines(raw, EscapeStyle::None),
        YamlScalarStyle::Single => fold_lines(inner(), EscapeStyle::Quote),
        YamlScalarStyle::Double => fold_lines(inner(), EscapeStyle::Backslash),
        YamlScalarStyle::Literal | YamlScalarStyle::Folded => cook_block_scalar(text, span.start as usize, style),
    }
}

#[derive(Clone, Copy, PartialEq)]
enum EscapeStyle {
    None,
    /// `''` is a quote.
    Quote,
    /// `\n`, `\x41`, …
    Backslash,
}

/// Joins lines: one break becomes a blank, more breaks one less; blanks around them vanish.
fn fold_lines(raw: &str, escapes: EscapeStyle) -> String {
    let mut out = String::with_capacity(raw.len());
    // Text that an escape made is not a blank to be trimmed.
    let mut fixed = 0;
    let mut rest = raw;
    loop {
        let next = match escapes {
            EscapeStyle::None => memchr::memchr(b'\n', rest.as_bytes()),
            EscapeStyle::Quote => memchr::memchr2(b'\n', b'\'', rest.as_bytes()),
            EscapeStyle::Backslash => memchr::memchr2(b'\n', b'\\', rest.as_bytes()),
        };
        let Some(at) = next else {
            out.push_str(rest);
            return out;
        };
        out.push_str(&rest[..at]);
        let special = rest.as_bytes()[at];
        rest = &rest[at + 1..];
        match special {
            b'\n' => {
                let kept = out.trim_end_matches([' ', '\t']).len().max(fixed);
                out.truncate(kept);
                let breaks = skip_breaks(&mut rest);
                if breaks == 0 {
                    out.push(' ');
                }
                out.extend(std::iter::repeat_n('\n', breaks));
            }
            b'\'' => {
                out.push('\'');
                rest = rest.strip_prefix('\'').unwrap_or(rest);
                fixed = out.len();
            }
            _ => {
                if let Some(after) = rest.strip_prefix('\n') {
                    rest = after;
                    let breaks = skip_breaks(&mut rest);
                    out.extend(std::iter::repeat_n('\n', breaks));
                } else {
                    unescape(&mut rest, &mut out);
                }
                fixed = out.len();
            }
        }
    }
}

/// Skips blanks and line breaks, and counts the breaks.
fn skip_breaks(rest: &mut &str) -> usize {
    let mut breaks = 0;
    loop {
        *rest = rest.trim_start_matches([' ', '\t']);
        match rest.strip_prefix('\n') {
            Some(after) => {
                *rest = after;
                breaks += 1;
            }
            None => return breaks,
        }
    }
}

/// Returns the number of hexadecimal digits after `byte`, if that may follow a backslash.
pub(super) fn escape_digits(byte: u8) -> Option<usize> {
    match byte {
        b'x' => Some(2),
        b'u' => Some(4),
        b'U' => Some(8),
        b'0' | b'a' | b'b' | b't' | b'\t' | b'n' | b'v' | b'f' | b'r' | b'e' | b' ' | b'"' | b'/' | b'\\' | b'N' | b'_'
        | b'L' | b'P' => Some(0),
        _ => None,
    }
}

/// Appends what the escape after a backslash means.
pub(super) fn unescape(rest: &mut &str, out: &mut String) {
    let mut chars = rest.chars();
    let Some(kind) = chars.next() else { return };
    *rest = chars.as_str();
    let simple = match kind {
        '0' => '\0',
        'a' => '\x07',
        'b' => '\x08',
        't' | '\t' => '\t',
        'n' => '\n',
        'v' => '\x0b',
        'f' => '\x0c',
        'r' => '\r',
        'e' => '\x1b',
        'N' => '\u{85}',
        '_' => '\u{a0}',
        'L' => '\u{2028}',
        'P' => '\u{2029}',
        'x' | 'u' | 'U' => {
            let digits = escape_digits(kind as u8).unwrap_or(0).min(rest.len());
            let (hex, after) = rest.split_at_checked(digits).unwrap_or(("", rest));
            *rest = after;
            u32::from_str_radix(hex, 16).ok().and_then(char::from_u32).unwrap_or('\u{fffd}')
        }
        other => other,
    };
    out.push(simple);
}

/// The header after `|` or `>`: the treatment of the end, and the start of the lines.
pub(super) struct BlockScalarHeader {
    /// `-` strips the last break, `+` keeps all.
    pub chomping: Option<u8>,
    /// An indentation digit was given.
    pub indentation_indicator: bool,
    /// First byte after the line of the header.
    pub first_line: usize,
}

/// Reads the header of the block scalar at `start` of `text`.
pub(super) fn block_head(text: &str, start: usize) -> BlockScalarHeader {
    let bytes = text.as_bytes();
    let mut head = BlockScalarHeader { chomping: None, indentation_indicator: false, first_line: bytes.len() };
    let mut at = start + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'-' | b'+' => head.chomping = Some(*byte),
            b'0'..=b'9' => head.indentation_indicator = true,
            _ => break,
        }
        at += 1;
    }
    if let Some(line) = bytes.get(at..).and_then(|rest| memchr::memchr2(b'\n', b'\r', rest)) {
        head.first_line = at + line + 1;
        if bytes.get(at + line) == Some(&b'\r') && bytes.get(head.first_line) == Some(&b'\n') {
            head.first_line += 1;
        }
    }
    head
}

/// Returns the end of the block scalar that begins at `start`: after its last line that is not blank, without the
/// break. `bound` is a place in or after the blank lines that follow it.
pub(super) fn block_end(text: &str, start: usize, bound: usize) -> usize {
    let head = block_head(text, start);
    let bytes = text.as_bytes();
    let body = bytes.get(head.first_line..bound).unwrap_or(&[]);
    let blank = body.iter().rev().take_while(|b| matches!(b, b' ' | b'\t' | b'\n' | b'\r')).count();
    // An empty one ends with its header.
    let from = if blank == body.len() { start } else { head.first_line + body.len() - blank };
    let rest = bytes.get(from..).unwrap_or(&[]);
    from + memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len())
}

/// The text of a literal or folded scalar that begins at `start` and finds its own indentation.
fn cook_block_scalar(text: &str, start: usize, style: YamlScalarStyle) -> String {
    let fold = style == YamlScalarStyle::Folded;
    let head = block_head(text, start);
    let mut rest = text.get(head.first_line..).unwrap_or("");
    let mut out = String::new();
    let mut indent = None;
    let mut pending = 0; // breaks since the last line
    let mut last_blank = true; // the line before began with a blank: its break is kept
    let mut any = false;
    while !rest.is_empty() {
        let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
        let spaces = line.len() - line.trim_start_matches(' ').len();
        let wanted = indent.unwrap_or(usize::MAX);
        if spaces == line.len() && spaces <= wanted {
            // Blanks at the end of the text make no line.
            pending += usize::from(line.len() < rest.len());
            rest = after;
            continue;
        }
        let wanted = *indent.get_or_insert(spaces);
        if spaces < wanted || wanted == 0 {
            break;
        }
        let content = &line[wanted..];
        let blank = content.starts_with([' ', '\t']);
        if any && fold && !last_blank && !blank {
            if pending == 1 {
                out.push(' ');
            }
            pending -= 1;
        }
        out.extend(std::iter::repeat_n('\n', pending));
        out.push_str(content);
        (any, last_blank, pending) = (true, blank, 1);
        rest = after;
    }
    let breaks = match head.chomping {
        Some(b'-') => 0,
        Some(b'+') => pending,
        _ => pending.min(usize::from(any)),
    };
    out.extend(std::iter::repeat_n('\n', breaks));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(raw: &str, style: YamlScalarStyle) -> String {
        scalar_text(raw, Span::new_u32(0, raw.len()), style)
    }

    #[test]
    fn folding_joins_lines_and_keeps_empty_lines() {
        assert_eq!(text("a  \n   b\n\n\n c", YamlScalarStyle::Plain), "a b\n\nc");
        assert_eq!(text("'it''s \n so'", YamlScalarStyle::Single), "it's so");
    }

    #[test]
    fn escapes_are_undone_and_protect_their_blanks() {
        assert_eq!(text(r#""\x41\u00e9\U0001F600\t\_""#, YamlScalarStyle::Double), "Aé😀\t\u{a0}");
        assert_eq!(text("\"a\\ \n b\"", YamlScalarStyle::Double), "a  b");
        assert_eq!(text("\"a \\\n  b\"", YamlScalarStyle::Double), "a b");
        assert_eq!(text("\"a\\\n\n b\"", YamlScalarStyle::Double), "a\nb");
    }

    #[test]
    fn blocks_find_their_indentation_and_are_chomped() {
        assert_eq!(text("|\n  a\n   b\n\n  c\n\n\n", YamlScalarStyle::Literal), "a\n b\n\nc\n");
        assert_eq!(text("|-\n  a\n\n", YamlScalarStyle::Literal), "a");
        assert_eq!(text("|+\n  a\n\n", YamlScalarStyle::Literal), "a\n\n");
        assert_eq!(text(">\n a\n b\n\n c\n  d\n e\n", YamlScalarStyle::Folded), "a b\nc\n d\ne\n");
        assert_eq!(text("|\n  a\nb: 1\n", YamlScalarStyle::Literal), "a\n");
    }
}
