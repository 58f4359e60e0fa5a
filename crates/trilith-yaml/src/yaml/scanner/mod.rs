//! The fast reader: one pass over the checked subset of YAML that real files use.
//!
//! Indentation by spaces, scalars of every style, flow collections over any number of lines, tags,
//! anchors, aliases, comments, the directives `%YAML 1.x` and `%TAG`. At anything else (tabs between
//! tokens, `?` keys, CR, odd characters, and whatever is wrong) it steps back, and the complete reader
//! takes the whole text: it gives the same events as that one, or none that count.

mod block;
mod flow;
mod swar;
mod token;

#[cfg(test)]
pub(super) mod tests;

use super::event::{Event, EventKind, EventReceiver};
use crate::error::{Error, Result};
use crate::span::Span;

/// The scanner stops early: at something outside the subset, or for the receiver's error.
///
/// This type has no size, so that results travel in registers; an error waits in the scanner.
#[derive(Debug, Clone, Copy)]
pub(super) struct ScanStopped;

pub(super) type ScanResult<T> = Result<T, ScanStopped>;

/// Reads `text` if all of it is in the subset; `false` means that the complete reader must read it.
///
/// # Errors
/// Returns the errors of `receiver`.
pub(crate) fn read_fast<R: EventReceiver>(text: &str, receiver: &mut R) -> Result<bool> {
    let Some(tabs) = classify_bytes(text.as_bytes()) else { return Ok(false) };
    let mut scanner = Scanner {
        text,
        bytes: text.as_bytes(),
        tabs,
        receiver,
        levels: Vec::with_capacity(16),
        expected: None,
        last_end: 0,
        flow: Vec::new(),
        error: None,
    };
    match (scanner.scan_document(), scanner.error) {
        (Ok(()), _) => Ok(true),
        (Err(ScanStopped), None) => Ok(false),
        (Err(ScanStopped), Some(error)) => Err(error),
    }
}

/// Returns `true` if there are tabs, or `None` if a byte needs the complete reader: controls, CR, byte order marks,
/// line breaks of YAML 1.1 alone, characters that YAML cannot print.
fn classify_bytes(bytes: &[u8]) -> Option<bool> {
    let (mut odd, mut tabs, mut high) = (false, false, 0u8);
    for chunk in bytes.chunks(256) {
        let (mut chunk_odd, mut chunk_tabs) = (0u8, 0u8);
        for &byte in chunk {
            chunk_odd |= u8::from((byte < 0x20) & (byte != b'\n') & (byte != b'\t')) | u8::from(byte == 0x7f);
            chunk_tabs |= u8::from(byte == b'\t');
            high |= byte;
        }
        odd |= chunk_odd != 0;
        tabs |= chunk_tabs != 0;
    }
    if odd {
        return None;
    }
    if high >= 0x80 {
        // U+0080..U+009F begin with C2; U+2028 and U+2029 with E2; U+FEFF, U+FFFE and U+FFFF with EF.
        for at in memchr::memchr3_iter(0xc2, 0xe2, 0xef, bytes) {
            match bytes.get(at..)? {
                [0xc2, 0x80..=0x9f, ..]
                | [0xe2, 0x80, 0xa8 | 0xa9, ..]
                | [0xef, 0xbb, 0xbf, ..]
                | [0xef, 0xbf, 0xbe | 0xbf, ..] => return None,
                _ => {}
            }
        }
    }
    Some(tabs)
}

/// A block collection that is open.
#[derive(Clone, Copy)]
pub(super) struct BlockLevel {
    indent: usize,
    mapping: bool,
}

/// Anchor and tag written before a node; empty spans if there are none.
#[derive(Clone, Copy, Default)]
pub(super) struct NodeProps {
    anchor: Span,
    tag: Span,
}

impl NodeProps {
    #[inline]
    fn any(&self) -> bool {
        self.anchor.end | self.tag.end != 0
    }

    /// Returns the offset after the last property.
    fn end(&self) -> usize {
        self.anchor.end.max(self.tag.end) as usize
    }
}

/// A node that is asked for but has not begun on the line.
#[derive(Clone, Copy)]
pub(super) struct ExpectedNode {
    props: NodeProps,
    /// Offset of the node if it is empty.
    position: usize,
}

pub(super) struct Scanner<'t, 'r, R> {
    text: &'t str,
    bytes: &'t [u8],
    /// `true` if the text has tabs anywhere.
    tabs: bool,
    receiver: &'r mut R,
    levels: Vec<BlockLevel>,
    /// The node that the line before left open.
    expected: Option<ExpectedNode>,
    /// The end of the last token.
    last_end: usize,
    /// The brackets that are open: whether each is a mapping.
    flow: Vec<bool>,
    /// The receiver's error.
    error: Option<Error>,
}

/// The first content after blank lines and comments.
enum Content {
    /// Offset and indentation of the content.
    At(usize, usize),
    /// The end of the text, or `...` whose rest is at this byte.
    End(Option<usize>),
}

impl<R: EventReceiver> Scanner<'_, '_, R> {
    /// The byte at `at`, or 0 after the last: the text holds no 0.
    #[inline(always)]
    pub(super) fn byte_at(&self, at: usize) -> u8 {
        self.bytes.get(at).copied().unwrap_or(0)
    }

    /// Returns `true` if a blank, a line break or the end is at `at`.
    #[inline(always)]
    pub(super) fn is_gap(&self, at: usize) -> bool {
        matches!(self.byte_at(at), b' ' | b'\n' | 0)
    }

    /// The first line after the line break `end` that is not blank, and the first byte in it that is not a space.
    #[inline(always)]
    pub(super) fn next_content(&self, end: usize) -> (usize, usize) {
        let mut line = end + 1;
        let mut start = self.skip_spaces(line);
        while self.byte_at(start) == b'\n' {
            line = start + 1;
            start = self.skip_spaces(line);
        }
        (line, start)
    }

    #[inline(always)]
    pub(super) fn skip_spaces(&self, mut at: usize) -> usize {
        while let Some(word) = swar::load_word(self.bytes, at) {
            let count = swar::blank_bytes(word);
            at += count;
            if count < 8 {
                return at;
            }
        }
        while self.byte_at(at) == b' ' {
            at += 1;
        }
        at
    }

    /// The line break at or after `at`, or the end.
    #[inline]
    pub(super) fn line_end(&self, at: usize) -> usize {
        self.bytes.get(at..).and_then(|rest| memchr::memchr(b'\n', rest)).map_or(self.bytes.len(), |found| at + found)
    }

    #[inline(always)]
    pub(super) fn emit(&mut self, what: EventKind, span: Span, props: NodeProps) -> ScanResult<()> {
        match self.receiver.receive_event(Event { what, span, anchor: props.anchor, tag: props.tag }, None) {
            Ok(()) => Ok(()),
            Err(error) => self.fail(error),
        }
    }

    #[cold]
    fn fail(&mut self, error: Error) -> ScanResult<()> {
        self.error = Some(error);
        Err(ScanStopped)
    }

    /// The whole text.
    fn scan_document(&mut self) -> ScanResult<()> {
        let (mut at, begins) = self.scan_document_head()?;
        let ends = loop {
            match self.find_content(at)? {
                Content::At(start, column) => at = self.scan_line(start, column)?,
                Content::End(rest) => break rest,
            }
        };
        if let Some(wanted) = self.expected.take() {
            // An empty document is rare and odd.
            if self.levels.is_empty() {
                return Err(ScanStopped);
            }
            self.empty_scalar(wanted)?;
        }
        while !self.levels.is_empty() {
            self.leave_collection()?;
        }
        if let Some(rest) = ends {
            self.nothing_after(rest)?;
        }
        match self.receiver.end_document(begins, ends.is_some()) {
            Ok(()) => Ok(()),
            Err(error) => self.fail(error),
        }
    }

    /// Skips blank lines and comments from the start of a line.
    #[inline]
    fn find_content(&self, mut at: usize) -> ScanResult<Content> {
        loop {
            let start = self.skip_spaces(at);
            match self.byte_at(start) {
                b'\n' => at = start + 1,
                b'#' => at = (self.line_end(start) + 1).min(self.bytes.len()),
                0 => return Ok(Content::End(None)),
                b'.' | b'-' | b'%' if start == at => {
                    return match self.bytes.get(at..) {
                        Some([b'.', b'.', b'.', ..]) if self.is_gap(at + 3) => Ok(Content::End(Some(at + 3))),
                        Some([b'-', b'-', b'-', ..]) if self.is_gap(at + 3) => Err(ScanStopped),
                        Some([b'%', ..]) => Err(ScanStopped),
                        _ => Ok(Content::At(start, 0)),
                    };
                }
                _ => return Ok(Content::At(start, start - at)),
            }
        }
    }

    /// Checks that only comments follow `...`.
    fn nothing_after(&self, at: usize) -> ScanResult<()> {
        let next = self.end_of_line(at)?;
        let mut at = next;
        loop {
            let start = self.skip_spaces(at);
            match self.byte_at(start) {
                b'\n' => at = start + 1,
                b'#' => at = (self.line_end(start) + 1).min(self.bytes.len()),
                0 => return Ok(()),
                _ => return Err(ScanStopped),
            }
        }
    }

    /// The start of the next line if only blanks and a comment are left of this one.
    #[inline]
    pub(super) fn end_of_line(&self, at: usize) -> ScanResult<usize> {
        let start = self.skip_spaces(at);
        match self.byte_at(start) {
            b'\n' => Ok(start + 1),
            0 => Ok(start),
            b'#' if start > at || self.byte_at(at.wrapping_sub(1)) == b' ' => {
                Ok((self.line_end(start) + 1).min(self.bytes.len()))
            }
            _ => Err(ScanStopped),
        }
    }

    /// Comments, directives and `---`: where the content begins, and whether there was a marker.
    fn scan_document_head(&mut self) -> ScanResult<(usize, bool)> {
        let mut at = 0;
        let mut handles: Vec<&[u8]> = Vec::new();
        let (mut version, mut directives) = (false, false);
        loop {
            let start = self.skip_spaces(at);
            let line = self.line_end(start);
            let rest = self.bytes.get(start..line).unwrap_or(&[]);
            match rest {
                [] if line == self.bytes.len() => return Err(ScanStopped),
                [] | [b'#', ..] => {}
                [b'%', b'Y', b'A', b'M', b'L', b' ', b'1', b'.', b'0'..=b'9'] if start == at && !version => {
                    (version, directives) = (true, true);
                }
                [b'%', b'T', b'A', b'G', b' ', words @ ..] if start == at => {
                    let handle = simple_tag_directive(words).ok_or(ScanStopped)?;
                    if handles.contains(&handle) {
                        return Err(ScanStopped);
                    }
                    handles.push(handle);
                    directives = true;
                }
                [b'%', ..] => return Err(ScanStopped),
                [b'-', b'-', b'-', ..] if start == at && self.is_gap(at + 3) => {
                    return Ok((self.after_marker(at + 3)?, true));
                }
                _ if directives => return Err(ScanStopped),
                _ => {
                    self.expected = Some(ExpectedNode { props: NodeProps::default(), position: start });
                    return Ok((at, false));
                }
            }
            at = (line + 1).min(self.bytes.len());
        }
    }
}

/// The handle in `!h! prefix`, if both are of the plainest kind.
fn simple_tag_directive(words: &[u8]) -> Option<&[u8]> {
    let split = words.iter().position(|b| *b == b' ')?;
    let (handle, prefix) = words.split_at_checked(split)?;
    let prefix = prefix.get(1..)?;
    let word = |b: &u8| b.is_ascii_alphanumeric() || *b == b'-';
    let named = match handle {
        [b'!'] | [b'!', b'!'] => true,
        [b'!', name @ .., b'!'] => name.iter().all(word),
        _ => false,
    };
    let first = *prefix.first()?;
    let plain = prefix.iter().all(|b| word(b) || b":/._~@".contains(b));
    (named && plain && first.is_ascii_alphanumeric()).then_some(handle)
}
