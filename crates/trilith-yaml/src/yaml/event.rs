//! Events of a reader of YAML text, one at a time.

use crate::error::Result;
use crate::span::Span;

/// The layout of a collection: by indentation or between brackets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CollectionStyle {
    /// `- item` and `key: value` lines.
    Block,
    /// `[…]` and `{…}`.
    Flow,
}

/// The style of a scalar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
#[non_exhaustive]
pub enum YamlScalarStyle {
    /// A scalar without quotes.
    Plain = 0,
    /// `'…'`.
    Single = 1,
    /// `"…"` with backslash escapes.
    Double = 2,
    /// `|`: lines kept unchanged.
    Literal = 3,
    /// `>`: lines joined to paragraphs.
    Folded = 4,
}

/// The kind of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EventKind {
    /// A mapping begins.
    Mapping(CollectionStyle),
    /// A sequence begins.
    Sequence(CollectionStyle),
    /// The innermost collection ends at `span.end`.
    End,
    /// A scalar; with `verbatim` its text is the source itself, less the quotes.
    Scalar {
        /// Style of the scalar.
        style: YamlScalarStyle,
        /// `true` if the text needs no unescaping or folding.
        verbatim: bool,
    },
    /// `*name`.
    Alias,
}

/// An event: its kind, its span, and the properties written before it (empty spans if there are none).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Event {
    pub what: EventKind,
    /// The content: brackets, quotes and block indicators included, properties excluded. The end of a
    /// collection is only known from its [`EventKind::End`].
    pub span: Span,
    /// `&name`.
    pub anchor: Span,
    /// `!tag`.
    pub tag: Span,
}

impl Event {
    /// An event without properties.
    pub(crate) fn without_props(what: EventKind, span: Span) -> Self {
        Self { what, span, anchor: Span::default(), tag: Span::default() }
    }
}

/// A receiver of the events of a reader. A reader that steps back calls nothing any more, and the receiver is
/// discarded.
pub(crate) trait EventReceiver {
    /// One event; `cooked` is the text of a scalar that is not verbatim if the reader had to make it,
    /// `None` if `cook` makes the same from the source.
    ///
    /// # Errors
    /// Returns any error, which stops the reader.
    fn receive_event(&mut self, event: Event, cooked: Option<&str>) -> Result<()>;

    /// The document ended; `explicit` if with `...`.
    ///
    /// # Errors
    /// Returns any error, which stops the reader.
    fn end_document(&mut self, begins: bool, ends: bool) -> Result<()>;
}
