//! Block structure: lines, entries and items.

use super::super::event::{Layout, Receiver, Style, What};
use super::token::Key;
use super::{Level, Line, Props, Scan, Scanner, Stop, Wanted};
use crate::span::Span;

impl<R: Receiver> Scanner<'_, '_, R> {
    /// A line whose content begins at `start`, indented by `column`.
    #[inline]
    pub(super) fn line(&mut self, start: usize, column: usize, wanted: Option<Wanted>) -> Scan<Line> {
        let dash = self.byte(start) == b'-' && self.is_gap(start + 1);
        if let Some(wanted) = wanted {
            let top = self.levels.last().copied();
            if top.is_none_or(|top| column > top.indent) {
                return self.node(start, column, wanted);
            }
            // A list may stand where its key does.
            if dash && top.is_some_and(|top| top.mapping && top.indent == column) {
                self.enter(false, start, column, wanted.props)?;
                return self.item(start, column);
            }
            self.empty(wanted)?;
        }
        while self.levels.last().is_some_and(|top| top.indent > column) {
            self.leave()?;
        }
        let mut top = self.levels.last().copied().ok_or(Stop::Back)?;
        if !top.mapping && !dash {
            self.leave()?;
            top = self.levels.last().copied().ok_or(Stop::Back)?;
        }
        if top.indent != column || top.mapping == dash {
            return Err(Stop::Back);
        }
        if dash { self.item(start, column) } else { self.entry(start, column) }
    }

    #[inline]
    fn enter(&mut self, mapping: bool, start: usize, indent: usize, props: Props) -> Scan<()> {
        self.levels.push(Level { indent, mapping });
        let what = if mapping { What::Mapping(Layout::Block) } else { What::Sequence(Layout::Block) };
        self.emit(what, Span::of(start, start), props)
    }

    /// Ends the innermost block collection.
    #[inline]
    pub(super) fn leave(&mut self) -> Scan<()> {
        self.levels.pop();
        // Its end is that of its last node; the receiver knows.
        let end = Span::of(self.last, self.last);
        self.emit(What::End, end, Props::default())
    }

    /// An empty scalar.
    #[inline]
    pub(super) fn empty(&mut self, wanted: Wanted) -> Scan<()> {
        self.scalar(Span::of(wanted.at, wanted.at), Style::Plain, true, wanted.props)
    }

    #[inline]
    pub(super) fn scalar(&mut self, span: Span, style: Style, verbatim: bool, props: Props) -> Scan<()> {
        self.last = span.end as usize;
        self.emit(What::Scalar { style, verbatim }, span, props)
    }

    /// `- …` of the innermost sequence.
    fn item(&mut self, dash: usize, column: usize) -> Scan<Line> {
        let start = self.skip_spaces(dash + 1);
        self.last = dash + 1;
        let wanted = Wanted { props: Props::default(), at: dash + 1 };
        if matches!(self.byte(start), b'\n' | b'#' | 0) {
            return Ok(Line { next: self.end_of_line(dash + 1)?, wanted: Some(wanted) });
        }
        self.node(start, column + (start - dash), wanted)
    }

    /// `key: …` of the innermost mapping.
    #[inline]
    fn entry(&mut self, start: usize, column: usize) -> Scan<Line> {
        let (at, props) = self.props(start)?;
        let key = self.key(at)?.ok_or(Stop::Back)?;
        self.pair(start, key, props, column)
    }

    /// A key and what follows it on its line.
    #[inline]
    fn pair(&mut self, start: usize, key: Key, props: Props, column: usize) -> Scan<Line> {
        // Keys over lines, or long ones, are for the complete reader.
        if key.colon - start > 1000 {
            return Err(Stop::Back);
        }
        self.scalar(key.span, key.style, key.verbatim, props)?;
        let after = key.colon + 1;
        self.last = after;
        self.value(after, column)
    }

    /// What follows `key:`, in a mapping indented by `column`.
    #[inline]
    fn value(&mut self, after: usize, column: usize) -> Scan<Line> {
        let start = self.skip_spaces(after);
        let wanted = Wanted { props: Props::default(), at: after };
        match self.byte(start) {
            b'\n' => Ok(Line { next: start + 1, wanted: Some(wanted) }),
            b'#' | 0 => Ok(Line { next: self.end_of_line(after)?, wanted: Some(wanted) }),
            _ => {
                let (at, props) = self.props(start)?;
                if props.any() && matches!(self.byte(at), b'\n' | b'#' | 0) {
                    return self.props_alone(at, props);
                }
                self.inline(at, Some(column), props)
            }
        }
    }

    /// A line that ends after anchor and tag.
    fn props_alone(&mut self, at: usize, props: Props) -> Scan<Line> {
        let end = props.anchor.end.max(props.tag.end) as usize;
        self.last = end;
        Ok(Line { next: self.end_of_line(at)?, wanted: Some(Wanted { props, at: end }) })
    }

    /// A node that may be a block collection, whose first byte is at `start`.
    fn node(&mut self, mut start: usize, mut column: usize, mut wanted: Wanted) -> Scan<Line> {
        // The indentation of what it is part of.
        let mut outer = self.levels.last().map(|top| top.indent);
        while self.byte(start) == b'-' && self.is_gap(start + 1) {
            self.enter(false, start, column, wanted.props)?;
            outer = Some(column);
            let next = self.skip_spaces(start + 1);
            wanted = Wanted { props: Props::default(), at: start + 1 };
            self.last = start + 1;
            if matches!(self.byte(next), b'\n' | b'#' | 0) {
                return Ok(Line { next: self.end_of_line(start + 1)?, wanted: Some(wanted) });
            }
            column += next - start;
            start = next;
        }
        let (at, props) = self.props(start)?;
        if props.any() && matches!(self.byte(at), b'\n' | b'#' | 0) {
            return if wanted.props.any() { Err(Stop::Back) } else { self.props_alone(at, props) };
        }
        if let Some(key) = self.key(at)? {
            self.enter(true, start, column, wanted.props)?;
            return self.pair(start, key, props, column);
        }
        if props.any() && wanted.props.any() {
            return Err(Stop::Back);
        }
        self.inline(at, outer, if props.any() { props } else { wanted.props })
    }

    /// What stands on the line of `---`.
    pub(super) fn after_marker(&mut self, after: usize) -> Scan<Line> {
        let start = self.skip_spaces(after);
        let wanted = Wanted { props: Props::default(), at: after };
        if matches!(self.byte(start), b'\n' | b'#' | 0) {
            return Ok(Line { next: self.end_of_line(after)?, wanted: Some(wanted) });
        }
        let (at, props) = self.props(start)?;
        if props.any() && matches!(self.byte(at), b'\n' | b'#' | 0) {
            return self.props_alone(at, props);
        }
        // A block collection cannot begin here.
        if self.byte(at) == b'-' || self.key(at)?.is_some() {
            return Err(Stop::Back);
        }
        self.inline(at, None, props)
    }

    /// A scalar, an alias or brackets, in a collection indented by `outer`; nothing but a comment may follow.
    #[inline]
    fn inline(&mut self, at: usize, outer: Option<usize>, props: Props) -> Scan<Line> {
        let next = match self.byte(at) {
            b'[' | b'{' => {
                let end = self.brackets(at, outer, props)?;
                self.last = end;
                self.end_of_line(end)?
            }
            b'"' | b'\'' => {
                let quoted = self.quoted(at, outer)?;
                self.scalar(quoted.span, quoted.style, quoted.verbatim, props)?;
                self.end_of_line(quoted.span.end as usize)?
            }
            b'|' | b'>' => self.block_scalar(at, outer, props)?,
            b'*' if !props.any() => {
                let span = self.name(at)?;
                self.last = span.end as usize;
                self.emit(What::Alias, span, Props::default())?;
                self.end_of_line(self.last)?
            }
            _ => {
                let (span, verbatim, next) = self.plain_value(at, outer)?;
                self.scalar(span, Style::Plain, verbatim, props)?;
                next
            }
        };
        Ok(Line { next, wanted: None })
    }
}
