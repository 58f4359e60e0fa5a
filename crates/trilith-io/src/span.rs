//! Places in a text: byte spans, and the line and column that people read.

use std::ops::Range;

/// A range of bytes in a text, `start..end`.
///
/// Texts are at most 4 GiB (the default limit is 256 MB), so that a span is eight bytes.
///
/// ```
/// use trilith_io::Span;
/// let span = Span::new(2, 5);
/// assert_eq!(span.slice("a: 1.5"), " 1.");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// End of the span: one past the last byte.
    pub end: u32,
}

impl Span {
    /// The span `start..end`.
    pub const fn new(start: u32, end: u32) -> Self {
        Self { start, end }
    }

    /// The span `start..end` of a text that is known to be shorter than 4 GiB.
    #[doc(hidden)]
    pub fn new_u32(start: usize, end: usize) -> Self {
        debug_assert!(end <= u32::MAX as usize);
        Self { start: start as u32, end: end as u32 }
    }

    /// The bytes as a `usize` range.
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// The text of this span, or "" if the span is not in `text`.
    pub fn slice(self, text: &str) -> &str {
        text.get(self.range()).unwrap_or("")
    }

    /// Returns the number of bytes.
    pub fn len(self) -> usize {
        self.end.saturating_sub(self.start) as usize
    }

    /// Returns `true` if it holds no byte.
    pub fn is_empty(self) -> bool {
        self.end <= self.start
    }
}

/// The line and column (both from 1, columns in characters) of a byte of `text`.
///
/// LF, CR LF and a lone CR end a line.
///
/// ```
/// assert_eq!(trilith_io::line_column("a: 1\nb: µ2", 9), (2, 5));
/// ```
pub fn line_column(text: &str, byte: usize) -> (u32, u32) {
    let bytes = text.as_bytes();
    let byte = byte.min(bytes.len());
    let (mut line, mut start) = (1u32, 0usize);
    for at in memchr::memchr2_iter(b'\n', b'\r', &bytes[..byte]) {
        if bytes[at] == b'\r' && bytes.get(at + 1) == Some(&b'\n') {
            continue;
        }
        line = line.saturating_add(1);
        start = at + 1;
    }
    // A byte is the start of a character unless it is a UTF-8 continuation.
    let column = bytes[start..byte].iter().filter(|b| (**b & 0xc0) != 0x80).count();
    (line, (column as u32).saturating_add(1))
}
