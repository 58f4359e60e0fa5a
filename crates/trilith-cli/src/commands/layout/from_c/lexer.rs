//! The tokens of a C source.

use trilith::{Error, Result, line_column};

/// The kind of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenKind {
    Identifier,
    Number,
    Punctuation,
    Comment,
    /// A line that begins with `#`, with the lines that continue it.
    Directive,
}

/// A part of the source, and where it is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Token<'t> {
    pub(super) kind: TokenKind,
    pub(super) text: &'t str,
    pub(super) offset: usize,
}

/// The words, numbers, marks, comments and directives of a source.
pub(super) fn tokenize_source(text: &str) -> Result<Vec<Token<'_>>> {
    let mut found = Vec::new();
    let mut at = 0;
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    while let Some(c) = text.get(at..).and_then(|rest| rest.chars().next()) {
        let rest = text.get(at..).unwrap_or("");
        let end_of = |what: &str, skip: usize| rest.get(skip..).and_then(|r| r.find(what)).map(|n| n + skip);
        let (kind, len) = if c.is_whitespace() || is_continued(rest) {
            at += c.len_utf8();
            continue;
        } else if rest.starts_with("//") {
            (TokenKind::Comment, line_len(rest))
        } else if rest.starts_with("/*") {
            (TokenKind::Comment, end_of("*/", 2).ok_or_else(|| malformed_at(text, at, "this comment does not end"))? + 2)
        } else if c == '#' {
            (TokenKind::Directive, directive_len(rest))
        } else if let Some(len) = literal_len(rest) {
            (TokenKind::Punctuation, len)
        } else if is_word(c) {
            let len = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
            (if c.is_ascii_digit() { TokenKind::Number } else { TokenKind::Identifier }, len)
        } else {
            (TokenKind::Punctuation, c.len_utf8())
        };
        found.push(Token { kind, text: rest.get(..len).unwrap_or(""), offset: at });
        at += len.max(1);
    }
    Ok(found)
}

/// Returns `true` if a line continues on the next one.
fn is_continued(rest: &str) -> bool {
    rest.starts_with("\\\n") || rest.starts_with("\\\r\n")
}

/// Returns the length to the end of the line, or of the lines that continue it.
fn line_len(rest: &str) -> usize {
    let is_end = |(at, _): &(usize, &str)| !rest.get(..*at).unwrap_or("").trim_end_matches('\r').ends_with('\\');
    rest.match_indices('\n').find(is_end).map_or(rest.len(), |(at, _)| at)
}

/// Returns the length of a string or a character, which ends on its line.
fn literal_len(rest: &str) -> Option<usize> {
    let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let mut letters = rest.char_indices().skip(1);
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\n' => return None,
            '\\' => drop(letters.next()),
            letter if letter == quote => return Some(at + 1),
            _ => {}
        }
    }
    None
}

/// Returns the length of a directive: to the end of its line, or of the lines that continue it.
fn directive_len(text: &str) -> usize {
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let step = if rest.starts_with('\n') {
            return at;
        } else if rest.starts_with("//") {
            return at + line_len(rest);
        } else if rest.starts_with("/*") {
            rest.get(2..).and_then(|inner| inner.find("*/")).map_or(rest.len(), |end| end + 4)
        } else if is_continued(rest) {
            rest.find('\n').map_or(1, |end| end + 1)
        } else {
            literal_len(rest).unwrap_or_else(|| rest.chars().next().map_or(1, char::len_utf8))
        };
        at += step;
    }
    text.len()
}

/// Returns an error at a place.
pub(super) fn malformed_at(text: &str, at: usize, message: impl Into<String>) -> Error {
    let (line, column) = line_column(text, at);
    Error::malformed(message.into()).at_text(line, column)
}
