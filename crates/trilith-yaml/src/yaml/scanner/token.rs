//! Tokens: scalars of every style, anchors, tags, aliases.

use super::super::event::{Receiver, Style};
use super::super::scalar_text::{block_end, escape_digits};
use super::{Props, Scan, Scanner, Stop, swar};
use crate::span::Span;

/// Bytes of a key: longer ones, or those over lines, are for the complete reader.
pub(super) const LONGEST_KEY: usize = 1000;

/// A scalar with `:` after it.
#[derive(Clone, Copy)]
pub(super) struct Key {
    pub span: Span,
    pub style: Style,
    pub verbatim: bool,
    pub colon: usize,
}

/// A quoted scalar.
pub(super) struct Quoted {
    pub span: Span,
    pub style: Style,
    pub verbatim: bool,
    pub lines: bool,
}

/// Bytes that cannot begin a plain scalar.
pub(super) const fn begins_no_plain(byte: u8) -> bool {
    matches!(
        byte,
        b',' | b'['
            | b']'
            | b'{'
            | b'}'
            | b'#'
            | b'&'
            | b'*'
            | b'!'
            | b'|'
            | b'>'
            | b'\''
            | b'"'
            | b'%'
            | b'@'
            | b'`'
            | b' '
            | b'\t'
            | b'\n'
            | 0
    )
}

/// Bytes that begin a plain scalar whatever follows.
pub(super) static PLAIN: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = !begins_no_plain(byte as u8) && !matches!(byte as u8, b'-' | b'?' | b':');
        byte += 1;
    }
    table
};

/// Bytes that may end a plain scalar between brackets.
pub(super) static ENDS: [bool; 256] = {
    let mut table = [false; 256];
    let mut at = 0;
    while at < b"\0\n:#,[]{}".len() {
        table[b"\0\n:#,[]{}"[at] as usize] = true;
        at += 1;
    }
    table
};

impl<R: Receiver> Scanner<'_, '_, R> {
    /// The key at `at`, or `None` if no key is there.
    #[inline]
    pub(super) fn key(&self, at: usize) -> Scan<Option<Key>> {
        match self.byte(at) {
            b'"' | b'\'' => {
                // A quoted scalar is a key only if a colon follows on its line.
                let Some(quoted) = self.quoted_line(at)? else { return Ok(None) };
                let colon = self.skip_spaces(quoted.span.end as usize);
                if self.byte(colon) != b':' {
                    return Ok(None);
                }
                if !self.is_gap(colon + 1) {
                    return Err(Stop);
                }
                Ok(Some(Key { span: quoted.span, style: quoted.style, verbatim: quoted.verbatim, colon }))
            }
            b'[' | b'{' | b'*' | b'|' | b'>' => Ok(None),
            first => {
                self.begins_plain(first, at)?;
                let end = self.plain_end(at + 1);
                if self.byte(end) != b':' {
                    return Ok(None);
                }
                let span = self.trimmed(at, end)?;
                Ok(Some(Key { span, style: Style::Plain, verbatim: true, colon: end }))
            }
        }
    }

    /// Steps back if no plain scalar can begin.
    #[inline]
    pub(super) fn begins_plain(&self, first: u8, at: usize) -> Scan<()> {
        if begins_no_plain(first)
            || (matches!(first, b'-' | b'?' | b':') && matches!(self.byte(at + 1), b' ' | b'\n' | b'\t' | 0))
        {
            return Err(Stop);
        }
        Ok(())
    }

    /// The end of a plain scalar on its line, in a block: a line break, the colon of a key, a comment.
    #[inline(always)]
    pub(super) fn plain_end(&self, at: usize) -> usize {
        // Most plain scalars are short.
        if let Some(word) = swar::word(self.bytes, at) {
            let found = swar::first(swar::block_ends(word));
            if found < 8 && self.ends_plain(at + found) {
                return at + found;
            }
        }
        self.far_plain_end(at)
    }

    #[inline(never)]
    fn far_plain_end(&self, mut at: usize) -> usize {
        loop {
            let rest = self.bytes.get(at..).unwrap_or(&[]);
            at += memchr::memchr3(b'\n', b':', b'#', rest).unwrap_or(rest.len());
            if self.ends_plain(at) {
                return at;
            }
            at += 1;
        }
    }

    /// Returns `true` if a plain scalar in a block ends at this line break, colon, number sign or end of the text.
    #[inline(always)]
    fn ends_plain(&self, at: usize) -> bool {
        match self.byte(at) {
            b':' => matches!(self.byte(at + 1), b' ' | b'\n' | b'\t' | 0),
            b'#' => matches!(self.byte(at - 1), b' ' | b'\t'),
            _ => true,
        }
    }

    /// The span without blanks at its end; tabs are for the complete reader.
    #[inline(always)]
    pub(super) fn trimmed(&self, start: usize, mut end: usize) -> Scan<Span> {
        if self.tabs && self.bytes.get(start..end).is_some_and(|part| memchr::memchr(b'\t', part).is_some()) {
            return Err(Stop);
        }
        while end > start && self.byte(end - 1) == b' ' {
            end -= 1;
        }
        Ok(Span::of(start, end))
    }

    /// A plain scalar that is a value, over as many lines as it has; the next line.
    #[inline]
    pub(super) fn plain(&mut self, start: usize, outer: Option<usize>, props: Props) -> Scan<usize> {
        let end = self.plain_end(start + 1);
        let span = self.trimmed(start, end)?;
        if self.byte(end) != b'\n' {
            self.scalar(span, Style::Plain, true, props)?;
            return self.after_plain(end);
        }
        // Most values are followed by a line that is indented less.
        let next = self.skip_spaces(end + 1);
        if self.byte(next) != b'\n' && outer.is_some_and(|outer| next - (end + 1) <= outer) {
            self.scalar(span, Style::Plain, true, props)?;
            return Ok(end + 1);
        }
        self.plain_lines(span, end, outer, props)
    }

    /// Checks the bytes after a plain scalar that does not end with its line.
    fn after_plain(&self, end: usize) -> Scan<usize> {
        match self.byte(end) {
            0 => Ok(end),
            b'#' => Ok((self.line_end(end) + 1).min(self.bytes.len())),
            _ => Err(Stop),
        }
    }

    /// Goes on with a plain scalar whose first line ends at `end`.
    fn plain_lines(&mut self, first: Span, mut end: usize, outer: Option<usize>, props: Props) -> Scan<usize> {
        let mut span = first;
        loop {
            // Blank lines belong to it where it goes on after them.
            let (line, start) = self.next_content(end);
            let byte = self.byte(start);
            let column = start - line;
            if matches!(byte, 0 | b'#') || outer.is_some_and(|outer| column <= outer) {
                break;
            }
            if column == 0 && (matches!(byte, b'-' | b'.' | b'%')) {
                // Perhaps a document marker.
                if self.marker(start) {
                    break;
                }
                return Err(Stop);
            }
            if matches!(byte, b'\t' | b':') || (matches!(byte, b'-' | b'?') && self.is_gap(start + 1)) {
                return Err(Stop);
            }
            end = self.plain_end(start + 1);
            span.end = self.trimmed(start, end)?.end;
            if self.byte(end) != b'\n' {
                self.scalar(span, Style::Plain, false, props)?;
                return self.after_plain(end);
            }
        }
        self.scalar(span, Style::Plain, span == first, props)?;
        Ok((end + 1).min(self.bytes.len()))
    }

    /// Returns `true` if `---` or `...` is at the start of a line.
    pub(super) fn marker(&self, at: usize) -> bool {
        matches!(self.bytes.get(at..), Some([b'-', b'-', b'-', ..] | [b'.', b'.', b'.', ..])) && self.is_gap(at + 3)
    }

    /// A quoted scalar that ends on its line, or `None` if it does not.
    #[inline]
    fn quoted_line(&self, at: usize) -> Scan<Option<Quoted>> {
        let quote = self.byte(at);
        let mut verbatim = true;
        let mut end = at + 1;
        loop {
            let byte = self.byte(end);
            if byte == quote {
                if quote == b'\'' && self.byte(end + 1) == b'\'' {
                    verbatim = false;
                    end += 2;
                    continue;
                }
                break;
            }
            match byte {
                b'\n' | 0 => return Ok(None),
                b'\\' if quote == b'"' => {
                    verbatim = false;
                    end = self.escape(end)?;
                }
                _ => end += 1,
            }
        }
        let style = if quote == b'"' { Style::Double } else { Style::Single };
        Ok(Some(Quoted { span: Span::of(at, end + 1), style, verbatim, lines: false }))
    }

    /// A quoted scalar over as many lines as it has.
    pub(super) fn quoted(&self, at: usize, outer: Option<usize>) -> Scan<Quoted> {
        let quote = self.byte(at);
        let style = if quote == b'"' { Style::Double } else { Style::Single };
        let (mut verbatim, mut lines) = (true, false);
        let mut end = at + 1;
        loop {
            let rest = self.bytes.get(end..).ok_or(Stop)?;
            let found =
                if quote == b'"' { memchr::memchr3(b'"', b'\\', b'\n', rest) } else { memchr::memchr2(b'\'', b'\n', rest) };
            end += found.ok_or(Stop)?;
            match self.byte(end) {
                b'\n' => {
                    (verbatim, lines) = (false, true);
                    end = self.quoted_break(end, outer)?;
                }
                b'\\' => {
                    verbatim = false;
                    if self.byte(end + 1) == b'\n' {
                        lines = true;
                        end = self.quoted_break(end + 1, outer)?;
                    } else {
                        end = self.escape(end)?;
                    }
                }
                b'\'' if self.byte(end + 1) == b'\'' => {
                    verbatim = false;
                    end += 2;
                }
                _ => return Ok(Quoted { span: Span::of(at, end + 1), style, verbatim, lines }),
            }
        }
    }

    /// The first byte of content after a line break within quotes.
    fn quoted_break(&self, end: usize, outer: Option<usize>) -> Scan<usize> {
        let (line, start) = self.next_content(end);
        let column = start - line;
        if matches!(self.byte(start), b'\t' | 0) || column <= outer.unwrap_or(0) {
            return Err(Stop);
        }
        Ok(start)
    }

    /// Returns the offset after the escape at the backslash `at`. Surrogates and invalid escapes are left to the complete reader.
    fn escape(&self, at: usize) -> Scan<usize> {
        let kind = self.byte(at + 1);
        let digits = escape_digits(kind).filter(|_| kind != b'\t').ok_or(Stop)?;
        if digits > 0 {
            let hex = self.bytes.get(at + 2..at + 2 + digits).ok_or(Stop)?;
            let value = hex.iter().try_fold(0u32, |sum, b| char::from(*b).to_digit(16).map(|d| sum << 4 | d));
            value.and_then(char::from_u32).ok_or(Stop)?;
        }
        Ok(at + 2 + digits)
    }

    /// Anchor and tag at `at`, in any order, and the first byte after the blanks after them.
    #[inline(always)]
    pub(super) fn props(&self, at: usize) -> Scan<(usize, Props)> {
        if matches!(self.byte(at), b'&' | b'!') { self.some_props(at) } else { Ok((at, Props::default())) }
    }

    fn some_props(&self, mut at: usize) -> Scan<(usize, Props)> {
        let mut props = Props::default();
        loop {
            let end = match self.byte(at) {
                b'&' if props.anchor.is_empty() => {
                    props.anchor = self.name(at)?;
                    props.anchor.end as usize
                }
                b'!' if props.tag.is_empty() => {
                    props.tag = self.tag(at)?;
                    props.tag.end as usize
                }
                b'&' | b'!' => return Err(Stop),
                _ => return Ok((at, props)),
            };
            if !self.is_gap(end) {
                return Err(Stop);
            }
            at = self.skip_spaces(end);
        }
    }

    /// `&name` or `*name`, with the plainest names.
    pub(super) fn name(&self, at: usize) -> Scan<Span> {
        let mut end = at + 1;
        while matches!(self.byte(end), b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'-') {
            end += 1;
        }
        let closed = self.is_gap(end) || (!self.flow.is_empty() && matches!(self.byte(end), b',' | b']' | b'}'));
        if end == at + 1 || !closed {
            return Err(Stop);
        }
        Ok(Span::of(at, end))
    }

    /// `!tag`, `!!tag`, `!h!tag`, `!<tag>`, without escapes.
    fn tag(&self, at: usize) -> Scan<Span> {
        let verbatim = self.byte(at + 1) == b'<';
        let mut end = at + 1 + usize::from(verbatim);
        let start = end;
        let mut bangs = 0;
        loop {
            match self.byte(end) {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'/' | b':' | b'_' | b'+' | b'~' | b'@' => {}
                // A second one ends the handle, which is of letters.
                b'!' if !verbatim && bangs == 0 && self.is_handle(start, end) => bangs = 1,
                b',' if verbatim => {}
                _ => break,
            }
            end += 1;
        }
        if end == start + bangs || self.byte(end - 1) == b'!' {
            return Err(Stop);
        }
        if verbatim {
            if self.byte(end) != b'>' || self.byte(start) == b'!' {
                return Err(Stop);
            }
            end += 1;
        }
        Ok(Span::of(at, end))
    }

    fn is_handle(&self, start: usize, end: usize) -> bool {
        self.bytes.get(start..end).is_some_and(|name| name.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'-'))
    }

    /// `|` or `>` and its lines; the next line.
    pub(super) fn block_scalar(&mut self, at: usize, outer: Option<usize>, props: Props) -> Scan<usize> {
        let mut header = at + 1;
        if matches!(self.byte(header), b'+' | b'-') {
            header += 1;
        }
        if self.byte(self.skip_spaces(header)) == 0 {
            return Err(Stop);
        }
        let mut line = self.end_of_line(header)?;
        let mut indent = 0;
        let mut deepest_blank = 0;
        while line < self.bytes.len() {
            let start = self.skip_spaces(line);
            let column = start - line;
            if self.byte(start) == b'\n' && (indent == 0 || column <= indent) {
                deepest_blank = deepest_blank.max(column);
                line = start + 1;
                continue;
            }
            if indent == 0 {
                // The first line tells the indentation; blank ones before it may not be indented more.
                if column <= outer.unwrap_or(0) || deepest_blank > column || matches!(self.byte(start), b'\t' | 0) {
                    return Err(Stop);
                }
                indent = column;
            } else if column < indent {
                if self.byte(start) == b'\t' {
                    return Err(Stop);
                }
                if self.byte(start) == 0 {
                    line = start;
                }
                break;
            }
            line = (self.line_end(start) + 1).min(self.bytes.len());
        }
        if indent == 0 {
            return Err(Stop);
        }
        let end = block_end(self.text, at, line);
        let style = if self.byte(at) == b'|' { Style::Literal } else { Style::Folded };
        self.scalar(Span::of(at, end), style, false, props)?;
        Ok(line)
    }
}
