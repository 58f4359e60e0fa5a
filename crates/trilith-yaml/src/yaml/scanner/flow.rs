//! Collections between brackets.

use super::super::event::{CollectionStyle, EventKind, EventReceiver, YamlScalarStyle};
use super::token::{ENDS_FLOW_PLAIN, MAX_KEY_LEN, STARTS_PLAIN, cannot_start_plain};
use super::{NodeProps, ScanResult, ScanStopped, Scanner, swar};
use crate::span::Span;

/// A scalar or key between brackets.
struct PlainScalar {
    span: Span,
    style: YamlScalarStyle,
    verbatim: bool,
    lines: bool,
    next: usize,
}

impl<R: EventReceiver> Scanner<'_, '_, R> {
    /// The collection whose bracket opens at `at`, in a block indented by `outer`; one past its last bracket.
    pub(super) fn flow_collection(&mut self, at: usize, outer: Option<usize>, props: NodeProps) -> ScanResult<usize> {
        let mut at = self.open_collection(at, props)?;
        // `true` if an entry may come next; otherwise only a comma or the closing bracket may.
        let mut entry = true;
        while let Some(mapping) = self.flow.last().copied() {
            at = self.skip_gap(at, outer)?;
            match self.byte_at(at) {
                b']' | b'}' => {
                    if (self.byte_at(at) == b'}') != mapping {
                        return Err(ScanStopped);
                    }
                    at += 1;
                    self.flow.pop();
                    self.emit(EventKind::End, Span::new_u32(at, at), NodeProps::default())?;
                    entry = false;
                }
                b',' if !entry => {
                    at += 1;
                    entry = true;
                }
                _ if !entry => return Err(ScanStopped),
                _ if mapping => {
                    let (next, more) = self.plain_pairs(at)?;
                    if next != at {
                        (at, entry) = (next, more);
                        continue;
                    }
                    at = self.flow_key(at, outer)?;
                    let after = at;
                    at = self.skip_gap(at, outer)?;
                    if matches!(self.byte_at(at), b',' | b'}') {
                        self.emit_plain_scalar(Span::new_u32(after, after), NodeProps::default())?;
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
    fn plain_items(&mut self, mut at: usize) -> ScanResult<(usize, bool)> {
        while STARTS_PLAIN[self.byte_at(at) as usize] {
            let end = self.flow_plain_end(at + 1)?;
            let after = self.byte_at(end);
            if !matches!(after, b',' | b']') {
                break;
            }
            let span = self.trim_span(at, end)?;
            self.emit_plain_scalar(span, NodeProps::default())?;
            if after == b']' {
                return Ok((end, false));
            }
            at = end + 1 + usize::from(self.byte_at(end + 1) == b' ');
        }
        Ok((at, true))
    }

    /// Plain keys with plain values on one line, one after the other; where something else is, and whether that may be
    /// an entry.
    #[inline(never)]
    fn plain_pairs(&mut self, mut at: usize) -> ScanResult<(usize, bool)> {
        while STARTS_PLAIN[self.byte_at(at) as usize] {
            let colon = self.flow_plain_end(at + 1)?;
            let start = colon + 2;
            if self.byte_at(colon) != b':'
                || self.byte_at(colon + 1) != b' '
                || colon - at > MAX_KEY_LEN
                || !STARTS_PLAIN[self.byte_at(start) as usize]
            {
                break;
            }
            let end = self.flow_plain_end(start + 1)?;
            let after = self.byte_at(end);
            if !matches!(after, b',' | b'}') {
                break;
            }
            let (key, value) = (self.trim_span(at, colon)?, self.trim_span(start, end)?);
            self.emit_plain_scalar(key, NodeProps::default())?;
            self.emit_plain_scalar(value, NodeProps::default())?;
            if after == b'}' {
                return Ok((end, false));
            }
            at = end + 1 + usize::from(self.byte_at(end + 1) == b' ');
        }
        Ok((at, true))
    }

    fn open_collection(&mut self, at: usize, props: NodeProps) -> ScanResult<usize> {
        let mapping = self.byte_at(at) == b'{';
        self.flow.push(mapping);
        let what = if mapping { EventKind::Mapping(CollectionStyle::Flow) } else { EventKind::Sequence(CollectionStyle::Flow) };
        self.emit(what, Span::new_u32(at, at + 1), props)?;
        Ok(at + 1)
    }

    /// Skips blanks, line breaks and comments.
    #[inline(always)]
    fn skip_gap(&self, at: usize, outer: Option<usize>) -> ScanResult<usize> {
        let start = self.skip_spaces(at);
        if matches!(self.byte_at(start), b'\n' | b'#') { self.gap_lines(at, outer) } else { Ok(start) }
    }

    fn gap_lines(&self, mut at: usize, outer: Option<usize>) -> ScanResult<usize> {
        loop {
            let mut start = self.skip_spaces(at);
            if self.byte_at(start) == b'#' {
                if start == at && !matches!(self.byte_at(at.wrapping_sub(1)), b' ' | b'\n') {
                    return Err(ScanStopped);
                }
                start = self.line_end(start);
            }
            match self.byte_at(start) {
                b'\n' => {
                    at = start + 1;
                    let next = self.skip_spaces(at);
                    // Lines that are not indented are read, but oddly.
                    if !matches!(self.byte_at(next), b'\n' | b'#') && next - at <= outer.unwrap_or(0) {
                        return Err(ScanStopped);
                    }
                }
                b'\t' => return Err(ScanStopped),
                _ => return Ok(start),
            }
        }
    }

    /// A key and its colon; one past the colon.
    fn flow_key(&mut self, at: usize, outer: Option<usize>) -> ScanResult<usize> {
        let (start, props) = self.flow_props(at)?;
        let key = self.flow_scalar(start, outer)?;
        if key.lines {
            return Err(ScanStopped);
        }
        let colon = self.skip_spaces(key.next);
        let adjacent = key.style != YamlScalarStyle::Plain;
        if self.byte_at(colon) != b':' || colon - at > MAX_KEY_LEN || !(self.is_gap(colon + 1) || adjacent) {
            return Err(ScanStopped);
        }
        self.emit_scalar(key.span, key.style, key.verbatim, props)?;
        Ok(colon + 1)
    }

    /// An item or a value; where it ends, and whether an entry may follow at once (inside new brackets).
    #[inline]
    fn flow_value(&mut self, at: usize, outer: Option<usize>) -> ScanResult<(usize, bool)> {
        // Nearly every item is plain, has no properties, and ends on its line.
        if STARTS_PLAIN[self.byte_at(at) as usize] {
            let end = self.flow_plain_end(at + 1)?;
            if self.byte_at(end) != b'\n' {
                let span = self.trim_span(at, end)?;
                self.emit_plain_scalar(span, NodeProps::default())?;
                return Ok((end, false));
            }
        }
        let (start, props) = self.flow_props(at)?;
        match self.byte_at(start) {
            b'[' | b'{' => Ok((self.open_collection(start, props)?, true)),
            b'*' if !props.any() => {
                let span = self.anchor_name(start)?;
                self.emit(EventKind::Alias, span, NodeProps::default())?;
                Ok((span.end as usize, false))
            }
            _ => {
                let found = self.flow_scalar(start, outer)?;
                self.emit_scalar(found.span, found.style, found.verbatim, props)?;
                Ok((found.next, false))
            }
        }
    }

    #[inline(always)]
    fn flow_props(&self, at: usize) -> ScanResult<(usize, NodeProps)> {
        let (start, props) = self.scan_props(at)?;
        if props.any() && matches!(self.byte_at(start), b'\n' | b',' | b']' | b'}' | b'#') {
            return Err(ScanStopped);
        }
        Ok((start, props))
    }

    #[inline]
    fn flow_scalar(&mut self, at: usize, outer: Option<usize>) -> ScanResult<PlainScalar> {
        match self.byte_at(at) {
            b'"' | b'\'' => {
                let quoted = self.scan_quoted_scalar(at, outer)?;
                let next = quoted.span.end as usize;
                Ok(PlainScalar { span: quoted.span, style: quoted.style, verbatim: quoted.verbatim, lines: quoted.lines, next })
            }
            first => {
                let second = self.byte_at(at + 1);
                if cannot_start_plain(first)
                    || (matches!(first, b'-' | b'?' | b':')
                        && (ENDS_FLOW_PLAIN[second as usize] || matches!(second, b' ' | b'\t')))
                {
                    return Err(ScanStopped);
                }
                self.flow_plain(at, outer)
            }
        }
    }

    #[inline]
    fn flow_plain(&mut self, start: usize, outer: Option<usize>) -> ScanResult<PlainScalar> {
        let end = self.flow_plain_end(start + 1)?;
        let span = self.trim_span(start, end)?;
        if self.byte_at(end) == b'\n' {
            return self.flow_lines(span, end, outer);
        }
        Ok(PlainScalar { span, style: YamlScalarStyle::Plain, verbatim: true, lines: false, next: end })
    }

    /// The end of a plain scalar on its line.
    #[inline(always)]
    fn flow_plain_end(&self, mut at: usize) -> ScanResult<usize> {
        loop {
            if let Some(word) = swar::load_word(self.bytes, at) {
                let found = swar::first_marked(swar::flow_ends(word));
                at += found;
                if found == 8 || !ENDS_FLOW_PLAIN[self.byte_at(at) as usize] {
                    at += usize::from(found < 8);
                    continue;
                }
            } else {
                let rest = self.bytes.get(at..).unwrap_or(&[]);
                at += rest.iter().position(|byte| ENDS_FLOW_PLAIN[*byte as usize]).ok_or(ScanStopped)?;
            }
            match self.byte_at(at) {
                b':' => match self.byte_at(at + 1) {
                    b' ' | b'\n' => return Ok(at),
                    b'\t' | 0 | b',' | b'[' | b']' | b'{' | b'}' => return Err(ScanStopped),
                    _ => {}
                },
                b'#' if self.byte_at(at - 1) != b' ' => {}
                _ => return Ok(at),
            }
            at += 1;
        }
    }

    /// Goes on with a plain scalar whose first line ends at `end`.
    fn flow_lines(&mut self, first: Span, mut end: usize, outer: Option<usize>) -> ScanResult<PlainScalar> {
        let mut span = first;
        loop {
            let (line, start) = self.next_content(end);
            match self.byte_at(start) {
                b',' | b']' | b'}' | b'#' => break,
                _ if start - line <= outer.unwrap_or(0) => return Err(ScanStopped),
                b'[' | b'{' | b':' | b'\t' | 0 => return Err(ScanStopped),
                b'-' | b'?' if self.is_gap(start + 1) => return Err(ScanStopped),
                _ => {}
            }
            end = self.flow_plain_end(start + 1)?;
            span.end = self.trim_span(start, end)?.end;
            match self.byte_at(end) {
                b'\n' => {}
                b':' => return Err(ScanStopped),
                _ => return Ok(PlainScalar { span, style: YamlScalarStyle::Plain, verbatim: false, lines: true, next: end }),
            }
        }
        Ok(PlainScalar { span, style: YamlScalarStyle::Plain, verbatim: span == first, lines: true, next: end })
    }
}
