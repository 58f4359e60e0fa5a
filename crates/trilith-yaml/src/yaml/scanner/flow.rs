//! Collections between brackets.

use super::super::event::{Layout, Receiver, Style, What};
use super::token::{ENDS, LONGEST_KEY, PLAIN, begins_no_plain};
use super::{Props, Scan, Scanner, Stop, swar};
use crate::span::Span;

/// A scalar or key between brackets.
struct Plain {
    span: Span,
    style: Style,
    verbatim: bool,
    lines: bool,
    next: usize,
}

impl<R: Receiver> Scanner<'_, '_, R> {
    /// The collection whose bracket opens at `at`, in a block indented by `outer`; one past its last bracket.
    pub(super) fn brackets(&mut self, at: usize, outer: Option<usize>, props: Props) -> Scan<usize> {
        let mut at = self.open(at, props)?;
        // `true` if an entry may come next; otherwise only a comma or the closing bracket may.
        let mut entry = true;
        while let Some(mapping) = self.flow.last().copied() {
            at = self.gap(at, outer)?;
            match self.byte(at) {
                b']' | b'}' => {
                    if (self.byte(at) == b'}') != mapping {
                        return Err(Stop);
                    }
                    at += 1;
                    self.flow.pop();
                    self.emit(What::End, Span::of(at, at), Props::default())?;
                    entry = false;
                }
                b',' if !entry => {
                    at += 1;
                    entry = true;
                }
                _ if !entry => return Err(Stop),
                _ if mapping => {
                    let (next, more) = self.plain_pairs(at)?;
                    if next != at {
                        (at, entry) = (next, more);
                        continue;
                    }
                    at = self.flow_key(at, outer)?;
                    let after = at;
                    at = self.gap(at, outer)?;
                    if matches!(self.byte(at), b',' | b'}') {
                        self.scalar(Span::of(after, after), Style::Plain, true, Props::default())?;
                        entry = false;
                    } else {
                        (at, entry) = self.flow_value(at, outer)?;
                    }
                }
                _ => {
                    let (next, more) = self.plain_items(at)?;
                    (at, entry) = if next == at { self.flow_value(at, outer)? } else { (next, more) };
                }
            }
        }
        Ok(at)
    }

    /// Plain items that end on their line, one after the other; where something else is, and whether that may be an entry.
    #[inline(never)]
    fn plain_items(&mut self, mut at: usize) -> Scan<(usize, bool)> {
        while PLAIN[self.byte(at) as usize] {
            let end = self.flow_plain_end(at + 1)?;
            let after = self.byte(end);
            if !matches!(after, b',' | b']') {
                break;
            }
            let span = self.trimmed(at, end)?;
            self.scalar(span, Style::Plain, true, Props::default())?;
            if after == b']' {
                return Ok((end, false));
            }
            at = end + 1 + usize::from(self.byte(end + 1) == b' ');
        }
        Ok((at, true))
    }

    /// Plain keys with plain values on one line, one after the other; where something else is, and whether that may be
    /// an entry.
    #[inline(never)]
    fn plain_pairs(&mut self, mut at: usize) -> Scan<(usize, bool)> {
        while PLAIN[self.byte(at) as usize] {
            let colon = self.flow_plain_end(at + 1)?;
            let start = colon + 2;
            if self.byte(colon) != b':'
                || self.byte(colon + 1) != b' '
                || colon - at > LONGEST_KEY
                || !PLAIN[self.byte(start) as usize]
            {
                break;
            }
            let end = self.flow_plain_end(start + 1)?;
            let after = self.byte(end);
            if !matches!(after, b',' | b'}') {
                break;
            }
            let (key, value) = (self.trimmed(at, colon)?, self.trimmed(start, end)?);
            self.scalar(key, Style::Plain, true, Props::default())?;
            self.scalar(value, Style::Plain, true, Props::default())?;
            if after == b'}' {
                return Ok((end, false));
            }
            at = end + 1 + usize::from(self.byte(end + 1) == b' ');
        }
        Ok((at, true))
    }

    fn open(&mut self, at: usize, props: Props) -> Scan<usize> {
        let mapping = self.byte(at) == b'{';
        self.flow.push(mapping);
        let what = if mapping { What::Mapping(Layout::Flow) } else { What::Sequence(Layout::Flow) };
        self.emit(what, Span::of(at, at + 1), props)?;
        Ok(at + 1)
    }

    /// Skips blanks, line breaks and comments.
    #[inline(always)]
    fn gap(&self, at: usize, outer: Option<usize>) -> Scan<usize> {
        let start = self.skip_spaces(at);
        if matches!(self.byte(start), b'\n' | b'#') { self.gap_lines(at, outer) } else { Ok(start) }
    }

    fn gap_lines(&self, mut at: usize, outer: Option<usize>) -> Scan<usize> {
        loop {
            let mut start = self.skip_spaces(at);
            if self.byte(start) == b'#' {
                if start == at && !matches!(self.byte(at.wrapping_sub(1)), b' ' | b'\n') {
                    return Err(Stop);
                }
                start = self.line_end(start);
            }
            match self.byte(start) {
                b'\n' => {
                    at = start + 1;
                    let next = self.skip_spaces(at);
                    // Lines that are not indented are read, but oddly.
                    if !matches!(self.byte(next), b'\n' | b'#') && next - at <= outer.unwrap_or(0) {
                        return Err(Stop);
                    }
                }
                b'\t' => return Err(Stop),
                _ => return Ok(start),
            }
        }
    }

    /// A key and its colon; one past the colon.
    fn flow_key(&mut self, at: usize, outer: Option<usize>) -> Scan<usize> {
        let (start, props) = self.flow_props(at)?;
        let key = self.flow_scalar(start, outer)?;
        if key.lines {
            return Err(Stop);
        }
        let colon = self.skip_spaces(key.next);
        let adjacent = key.style != Style::Plain;
        if self.byte(colon) != b':' || colon - at > LONGEST_KEY || !(self.is_gap(colon + 1) || adjacent) {
            return Err(Stop);
        }
        self.scalar(key.span, key.style, key.verbatim, props)?;
        Ok(colon + 1)
    }

    /// An item or a value; where it ends, and whether an entry may follow at once (inside new brackets).
    #[inline]
    fn flow_value(&mut self, at: usize, outer: Option<usize>) -> Scan<(usize, bool)> {
        // Nearly every item is plain, has no properties, and ends on its line.
        if PLAIN[self.byte(at) as usize] {
            let end = self.flow_plain_end(at + 1)?;
            if self.byte(end) != b'\n' {
                let span = self.trimmed(at, end)?;
                self.scalar(span, Style::Plain, true, Props::default())?;
                return Ok((end, false));
            }
        }
        let (start, props) = self.flow_props(at)?;
        match self.byte(start) {
            b'[' | b'{' => Ok((self.open(start, props)?, true)),
            b'*' if !props.any() => {
                let span = self.name(start)?;
                self.emit(What::Alias, span, Props::default())?;
                Ok((span.end as usize, false))
            }
            _ => {
                let found = self.flow_scalar(start, outer)?;
                self.scalar(found.span, found.style, found.verbatim, props)?;
                Ok((found.next, false))
            }
        }
    }

    #[inline(always)]
    fn flow_props(&self, at: usize) -> Scan<(usize, Props)> {
        let (start, props) = self.props(at)?;
        if props.any() && matches!(self.byte(start), b'\n' | b',' | b']' | b'}' | b'#') {
            return Err(Stop);
        }
        Ok((start, props))
    }

    #[inline]
    fn flow_scalar(&mut self, at: usize, outer: Option<usize>) -> Scan<Plain> {
        match self.byte(at) {
            b'"' | b'\'' => {
                let quoted = self.quoted(at, outer)?;
                let next = quoted.span.end as usize;
                Ok(Plain { span: quoted.span, style: quoted.style, verbatim: quoted.verbatim, lines: quoted.lines, next })
            }
            first => {
                let second = self.byte(at + 1);
                if begins_no_plain(first)
                    || (matches!(first, b'-' | b'?' | b':') && (ENDS[second as usize] || matches!(second, b' ' | b'\t')))
                {
                    return Err(Stop);
                }
                self.flow_plain(at, outer)
            }
        }
    }

    #[inline]
    fn flow_plain(&mut self, start: usize, outer: Option<usize>) -> Scan<Plain> {
        let end = self.flow_plain_end(start + 1)?;
        let span = self.trimmed(start, end)?;
        if self.byte(end) == b'\n' {
            return self.flow_lines(span, end, outer);
        }
        Ok(Plain { span, style: Style::Plain, verbatim: true, lines: false, next: end })
    }

    /// The end of a plain scalar on its line.
    #[inline(always)]
    fn flow_plain_end(&self, mut at: usize) -> Scan<usize> {
        loop {
            if let Some(word) = swar::word(self.bytes, at) {
                let found = swar::first(swar::flow_ends(word));
                at += found;
                if found == 8 || !ENDS[self.byte(at) as usize] {
                    at += usize::from(found < 8);
                    continue;
                }
            } else {
                let rest = self.bytes.get(at..).unwrap_or(&[]);
                at += rest.iter().position(|byte| ENDS[*byte as usize]).ok_or(Stop)?;
            }
            match self.byte(at) {
                b':' => match self.byte(at + 1) {
                    b' ' | b'\n' => return Ok(at),
                    b'\t' | 0 | b',' | b'[' | b']' | b'{' | b'}' => return Err(Stop),
                    _ => {}
                },
                b'#' if self.byte(at - 1) != b' ' => {}
                _ => return Ok(at),
            }
            at += 1;
        }
    }

    /// Goes on with a plain scalar whose first line ends at `end`.
    fn flow_lines(&mut self, first: Span, mut end: usize, outer: Option<usize>) -> Scan<Plain> {
        let mut span = first;
        loop {
            let (line, start) = self.next_content(end);
            match self.byte(start) {
                b',' | b']' | b'}' | b'#' => break,
                _ if start - line <= outer.unwrap_or(0) => return Err(Stop),
                b'[' | b'{' | b':' | b'\t' | 0 => return Err(Stop),
                b'-' | b'?' if self.is_gap(start + 1) => return Err(Stop),
                _ => {}
            }
            end = self.flow_plain_end(start + 1)?;
            span.end = self.trimmed(start, end)?.end;
            match self.byte(end) {
                b'\n' => {}
                b':' => return Err(Stop),
                _ => return Ok(Plain { span, style: Style::Plain, verbatim: false, lines: true, next: end }),
            }
        }
        Ok(Plain { span, style: Style::Plain, verbatim: span == first, lines: true, next: end })
    }
}
