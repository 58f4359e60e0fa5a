//! Block structure: lines, entries and items.

use super::super::event::{Layout, Receiver, Style, What};
use super::token::{Key, LONGEST_KEY, PLAIN};
use super::{Level, Props, Scan, Scanner, Stop, Wanted};
use crate::span::Span;

impl<R: Receiver> Scanner<'_, '_, R> {
    /// A line whose content begins at `start`, indented by `column`; the start of the next.
    #[inline]
    pub(super) fn line(&mut self, start: usize, column: usize) -> Scan<usize> {
        let dash = self.byte(start) == b'-' && self.is_gap(start + 1);
        if let Some(wanted) = self.wanted.take() {
            let top = self.levels.last().copied();
            if top.is_none_or(|top| column > top.indent) {
                return self.node(start, column, wanted);
            }
            // A list may begin in the column of its key.
            if dash && top.is_some_and(|top| top.mapping && top.indent == column) {
                self.enter(false, start, column, wanted.props)?;
                return self.item(start, column);
            }
            self.empty(wanted)?;
        }
        while self.levels.last().is_some_and(|top| top.indent > column) {
            self.leave()?;
        }
        let mut top = self.levels.last().copied().ok_or(Stop)?;
        if !top.mapping && !dash {
            self.leave()?;
            top = self.levels.last().copied().ok_or(Stop)?;
        }
        if top.indent != column || top.mapping == dash {
            return Err(Stop);
        }
        match dash {
            true => self.item(start, column),
            // Nearly every key is plain and has no properties.
            false if PLAIN[self.byte(start) as usize] => {
                let colon = self.colon(start)?;
                self.entries(start, colon, column)
            }
            false => self.entry(start, column),
        }
    }

    /// The colon after the plain key at `start`.
    #[inline(always)]
    fn colon(&self, start: usize) -> Scan<usize> {
        let colon = self.plain_end(start + 1);
        if self.byte(colon) == b':' && colon - start <= LONGEST_KEY { Ok(colon) } else { Err(Stop) }
    }

    /// `key: …` of the innermost mapping with a plain key, and those that follow it at once; the start of the line after them.
    #[inline(never)]
    fn entries(&mut self, mut start: usize, mut colon: usize, column: usize) -> Scan<usize> {
        loop {
            let key = self.trimmed(start, colon)?;
            self.scalar(key, Style::Plain, true, Props::default())?;
            // Most values are plain and on the line of their key, and the next line does not continue them.
            let value = colon + 2;
            if !PLAIN[self.byte(value) as usize] || self.byte(colon + 1) != b' ' {
                return self.value(colon + 1, column);
            }
            let end = self.plain_end(value + 1);
            let line = end + 1;
            start = self.skip_spaces(line);
            let next = self.byte(start);
            if self.byte(end) != b'\n' || next == b'\n' || start - line > column {
                return self.value(colon + 1, column);
            }
            let value = self.trimmed(value, end)?;
            self.scalar(value, Style::Plain, true, Props::default())?;
            // Dots at the start of a line may end the document.
            if start - line < column || !PLAIN[next as usize] || (column == 0 && next == b'.') {
                return Ok(line);
            }
            colon = self.colon(start)?;
        }
    }

    #[inline]
    fn enter(&mut self, mapping: bool, start: usize, indent: usize, props: Props) -> Scan<()> {
        self.levels.push(Level { indent, mapping });
        let what = if mapping { What::Mapping(Layout::Block) } else { What::Sequence(Layout::Block) };
        self.emit(what, Span::of(start, start), props)
    }

    /// Ends the innermost block collection, where its last node ended.
    #[inline]
    pub(super) fn leave(&mut self) -> Scan<()> {
        self.levels.pop();
        self.emit(What::End, Span::of(self.last, self.last), Props::default())
    }

    /// An empty scalar.
    #[inline]
    pub(super) fn empty(&mut self, wanted: Wanted) -> Scan<()> {
        self.scalar(Span::of(wanted.at, wanted.at), Style::Plain, true, wanted.props)
    }

    #[inline(always)]
    pub(super) fn scalar(&mut self, span: Span, style: Style, verbatim: bool, props: Props) -> Scan<()> {
        self.last = span.end as usize;
        self.emit(What::Scalar { style, verbatim }, span, props)
    }

    /// Leaves a node open for the next line; what is left of this one starts at `at`.
    #[inline]
    fn leave_open(&mut self, at: usize, wanted: Wanted) -> Scan<usize> {
        self.wanted = Some(wanted);
        self.last = wanted.at;
        self.end_of_line(at)
    }

    /// `- …` of the innermost sequence.
    fn item(&mut self, dash: usize, column: usize) -> Scan<usize> {
        let start = self.skip_spaces(dash + 1);
        self.last = dash + 1;
        let wanted = Wanted { props: Props::default(), at: dash + 1 };
        if matches!(self.byte(start), b'\n' | b'#' | 0) {
            return self.leave_open(dash + 1, wanted);
        }
        self.node(start, column + (start - dash), wanted)
    }

    /// `key: …` of the innermost mapping, of any kind.
    fn entry(&mut self, start: usize, column: usize) -> Scan<usize> {
        let (at, props) = self.props(start)?;
        let key = self.key(at)?.ok_or(Stop)?;
        self.pair(start, key, props, column)
    }

    /// A key and what follows it on its line.
    fn pair(&mut self, start: usize, key: Key, props: Props, column: usize) -> Scan<usize> {
        if key.colon - start > LONGEST_KEY {
            return Err(Stop);
        }
        self.scalar(key.span, key.style, key.verbatim, props)?;
        self.value(key.colon + 1, column)
    }

    /// Reads the value after `key:`, in a mapping indented by `column`.
    #[inline]
    fn value(&mut self, after: usize, column: usize) -> Scan<usize> {
        let start = self.skip_spaces(after);
        let first = self.byte(start);
        if PLAIN[first as usize] {
            return self.plain(start, Some(column), Props::default());
        }
        match first {
            b'\n' | b'#' | 0 => self.leave_open(after, Wanted { props: Props::default(), at: after }),
            _ => {
                let (at, props) = self.props(start)?;
                if props.any() && matches!(self.byte(at), b'\n' | b'#' | 0) {
                    return self.leave_open(at, Wanted { props, at: props.end() });
                }
                self.inline(at, Some(column), props)
            }
        }
    }

    /// A node that may be a block collection, whose first byte is at `start`.
    fn node(&mut self, mut start: usize, mut column: usize, mut wanted: Wanted) -> Scan<usize> {
        // The indentation of what it is part of.
        let mut outer = self.levels.last().map(|top| top.indent);
        while self.byte(start) == b'-' && self.is_gap(start + 1) {
            self.enter(false, start, column, wanted.props)?;
            outer = Some(column);
            let next = self.skip_spaces(start + 1);
            wanted = Wanted { props: Props::default(), at: start + 1 };
            self.last = start + 1;
            if matches!(self.byte(next), b'\n' | b'#' | 0) {
                return self.leave_open(start + 1, wanted);
            }
            column += next - start;
            start = next;
        }
        let (at, props) = self.props(start)?;
        if props.any() && matches!(self.byte(at), b'\n' | b'#' | 0) {
            return if wanted.props.any() { Err(Stop) } else { self.leave_open(at, Wanted { props, at: props.end() }) };
        }
        if let Some(key) = self.key(at)? {
            self.enter(true, start, column, wanted.props)?;
            if key.style == Style::Plain && !props.any() && key.colon - start <= LONGEST_KEY {
                return self.entries(start, key.colon, column);
            }
            return self.pair(start, key, props, column);
        }
        if props.any() && wanted.props.any() {
            return Err(Stop);
        }
        self.inline(at, outer, if props.any() { props } else { wanted.props })
    }

    /// Reads the rest of the line of `---`.
    pub(super) fn after_marker(&mut self, after: usize) -> Scan<usize> {
        let start = self.skip_spaces(after);
        if matches!(self.byte(start), b'\n' | b'#' | 0) {
            return self.leave_open(after, Wanted { props: Props::default(), at: after });
        }
        let (at, props) = self.props(start)?;
        if props.any() && matches!(self.byte(at), b'\n' | b'#' | 0) {
            return self.leave_open(at, Wanted { props, at: props.end() });
        }
        // A block collection cannot begin here.
        if self.byte(at) == b'-' || self.key(at)?.is_some() {
            return Err(Stop);
        }
        self.inline(at, None, props)
    }

    /// A scalar, an alias or brackets, in a collection indented by `outer`; nothing but a comment may follow.
    fn inline(&mut self, at: usize, outer: Option<usize>, props: Props) -> Scan<usize> {
        match self.byte(at) {
            b'[' | b'{' => {
                let end = self.brackets(at, outer, props)?;
                self.last = end;
                self.end_of_line(end)
            }
            b'"' | b'\'' => {
                let quoted = self.quoted(at, outer)?;
                self.scalar(quoted.span, quoted.style, quoted.verbatim, props)?;
                self.end_of_line(quoted.span.end as usize)
            }
            b'|' | b'>' => self.block_scalar(at, outer, props),
            b'*' if !props.any() => {
                let span = self.name(at)?;
                self.last = span.end as usize;
                self.emit(What::Alias, span, Props::default())?;
                self.end_of_line(self.last)
            }
            first => {
                self.begins_plain(first, at)?;
                self.plain(at, outer, props)
            }
        }
    }
}
