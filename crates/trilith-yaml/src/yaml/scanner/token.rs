//! Tokens: scalars of every style, anchors, tags, aliases.

use super::super::event::{EventReceiver, YamlScalarStyle};
use super::super::scalar_text::{block_end, escape_digits};
use super::{NodeProps, ScanResult, ScanStopped, Scanner, swar};
use crate::span::Span;

/// Bytes of a key: longer ones, or those over lines, are for the complete reader.
pub(super) const MAX_KEY_LEN: usize = 1000;

/// A scalar with `:` after it.
#[derive(Clone, Copy)]
pub(super) struct ScannedKey {
    pub span: Span,
    pub style: YamlScalarStyle,
    pub verbatim: bool,
    pub colon: usize,
}

/// A quoted scalar.
pub(super) struct QuotedScalar {
    pub span: Span,
    pub style: YamlScalarStyle,
    pub verbatim: bool,
    pub lines: bool,
}

/// Bytes that cannot begin a plain scalar.
pub(super) const fn cannot_start_plain(byte: u8) -> bool {
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
pub(super) static STARTS_PLAIN: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = !cannot_start_plain(byte as u8) && !matches!(byte as u8, b'-' | b'?' | b':');
        byte += 1;
    }
    table
};

/// Bytes that may end a plain scalar between brackets.
pub(super) static ENDS_FLOW_PLAIN: [bool; 256] = {
    let mut table = [false; 256];
    let mut at = 0;
    while at < b"\0\n:#,[]{}".len() {
        table[b"\0\n:#,[]{}"[at] as usize] = true;
        at += 1;
    }
    table
};

impl<R: EventReceiver> Scanner<'_, '_, R> {
    /// The key at `at`, or `None` if no key is there.
    #[inline]
    pub(super) fn scan_key(&self, at: usize) -> ScanResult<Option<ScannedKey>> {
        match self.byte_at(at) {
            b'"' | b'\'' => {
                // A quoted scalar is a key only if a colon follows on its line.
                let Some(quoted) = self.quoted_line(at)? else { return Ok(None) };
                let colon = self.skip_spaces(quoted.span.end as usize);
                if self.byte_at(colon) != b':' {
                    return Ok(None);
                }
                if !self.is_gap(colon + 1) {
                    return Err(ScanStopped);
                }
                Ok(Some(ScannedKey { span: quoted.span, style: quoted.style, verbatim: quoted.verbatim, colon }))
            }
            b'[' | b'{' | b'*' | b'|' | b'>' => Ok(None),
            first => {
                self.begins_plain(first, at)?;
                let end = self.plain_end(at + 1);
                if self.byte_at(end) != b':' {
                    return Ok(None);
                }
                let span = self.trim_span(at, end)?;
                Ok(Some(ScannedKey { span, style: YamlScalarStyle::Plain, verbatim: true, colon: end }))
            }
        }
    }

    /// Steps back if no plain scalar can begin.
    #[inline]
    pub(super) fn begins_plain(&self, first: u8, at: usize) -> ScanResult<()> {
        if cannot_start_plain(first)
            || (matches!(first, b'-' | b'?' | b':') && matches!(self.byte_at(at + 1), b' ' | b'\n' | b'\t' | 0))
        {
            return Err(ScanStopped);
        }
        Ok(())
    }

    /// The end of a plain scalar on its line, in a block: a line break, the colon of a key, a comment.
    #[inline(always)]
    pub(super) fn plain_end(&self, at: usize) -> usize {
        // Most plain scalars are short.
        if let Some(word) = swar::load_word(self.bytes, at) {
            let found = swar::first_marked(swar::block_ends(word));
            if found < 8 && self.ends_plain(at + found) {
                return at + found;
            }
        }
        self.plain_end_slow(at)
    }

    #[inline(never)]
    fn plain_end_slow(&self, mut at: usize) -> usize {
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
        match self.byte_at(at) {
            b':' => matches!(self.byte_at(at + 1), b' ' | b'\n' | b'\t' | 0),
            b'#' => matches!(self.byte_at(at - 1), b' ' | b'\t'),
            _ => true,
        }
    }

    /// The span without blanks at its end; tabs are for the complete reader.
    #[inline(always)]
    pub(super) fn trim_span(&self, start: usize, mut end: usize) -> ScanResult<Span> {
        if self.tabs && self.bytes.get(start..end).is_some_and(|part| memchr::memchr(b'\t', part).is_some()) {
            return Err(ScanStopped);
        }
        while end > start && self.byte_at(end - 1) == b' ' {
            end -= 1;
        }
        Ok(Span::new_u32(start, end))
    }

    /// A plain scalar that is a value, over as many lines as it has; the next line.
    #[inline]
    pub(super) fn scan_plain_scalar(&mut self, start: usize, outer: Option<usize>, props: NodeProps) -> ScanResult<usize> {
        let end = self.plain_end(start + 1);
        let span = self.trim_span(start, end)?;
        if self.byte_at(end) != b'\n' {
            self.emit_plain_scalar(span, props)?;
            return self.after_plain(end);
        }
        // Most values are followed by a line that is indented less.
        let next = self.skip_spaces(end + 1);
        if self.byte_at(next) != b'\n' && outer.is_some_and(|outer| next - (end + 1) <= outer) {
            self.emit_plain_scalar(span, props)?;
            return Ok(end + 1);
        }
        self.plain_lines(span, end, outer, props)
    }

    /// Checks the bytes after a plain scalar that does not end with its line.
    fn after_plain(&self, end: usize) -> ScanResult<usize> {
        match self.byte_at(end) {
            0 => Ok(end),
            b'#' => Ok((self.line_end(end) + 1).min(self.bytes.len())),
            _ => Err(ScanStopped),
        }
    }

    /// Goes on with a plain scalar whose first line ends at `end`.
    fn plain_lines(&mut self, first: Span, mut end: usize, outer: Option<usize>, props: NodeProps) -> ScanResult<usize> {
        let mut span = first;
        loop {
            // Blank lines belong to it where it goes on after them.
            let (line, start) = self.next_content(end);
            let byte = self.byte_at(start);
            let column = start - line;
            if matches!(byte, 0 | b'#') || outer.is_some_and(|outer| column <= outer) {
                break;
            }
            if column == 0 && (matches!(byte, b'-' | b'.' | b'%')) {
                // Perhaps a document marker.
                if self.is_document_marker(start) {
                    break;
                }
                return Err(ScanStopped);
            }
            if matches!(byte, b'\t' | b':') || (matches!(byte, b'-' | b'?') && self.is_gap(start + 1)) {
                return Err(ScanStopped);
            }
            end = self.plain_end(start + 1);
            span.end = self.trim_span(start, end)?.end;
            if self.byte_at(end) != b'\n' {
                self.emit_cooked_scalar(span, YamlScalarStyle::Plain, props)?;
                return self.after_plain(end);
            }
        }
        self.emit_scalar(span, YamlScalarStyle::Plain, span == first, props)?;
        Ok((end + 1).min(self.bytes.len()))
    }

    /// Returns `true` if `---` or `...` is at the start of a line.
    pub(super) fn is_document_marker(&self, at: usize) -> bool {
        matches!(self.bytes.get(at..), Some([b'-', b'-', b'-', ..] | [b'.', b'.', b'.', ..])) && self.is_gap(at + 3)
    }

    /// A quoted scalar that ends on its line, or `None` if it does not.
    #[inline]
    fn quoted_line(&self, at: usize) -> ScanResult<Option<QuotedScalar>> {
        let quote = self.byte_at(at);
        let mut verbatim = true;
        let mut end = at + 1;
        loop {
            let byte = self.byte_at(end);
            if byte == quote {
                if quote == b'\'' && self.byte_at(end + 1) == b'\'' {
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
                    end = self.skip_escape(end)?;
                }
                _ => end += 1,
            }
        }
        let style = if quote == b'"' { YamlScalarStyle::Double } else { YamlScalarStyle::Single };
        Ok(Some(QuotedScalar { span: Span::new_u32(at, end + 1), style, verbatim, lines: false }))
    }

    /// A quoted scalar over as many lines as it has.
    pub(super) fn scan_quoted_scalar(&self, at: usize, outer: Option<usize>) -> ScanResult<QuotedScalar> {
        let quote = self.byte_at(at);
        let style = if quote == b'"' { YamlScalarStyle::Double } else { YamlScalarStyle::Single };
        let (mut verbatim, mut lines) = (true, false);
        let mut end = at + 1;
        loop {
            let rest = self.bytes.get(end..).ok_or(ScanStopped)?;
            let found =
                if quote == b'"' { memchr::memchr3(b'"', b'\\', b'\n', rest) } else { memchr::memchr2(b'\'', b'\n', rest) };
            end += found.ok_or(ScanStopped)?;
            match self.byte_at(end) {
                b'\n' => {
                    (verbatim, lines) = (false, true);
                    end = self.quoted_break(end, outer)?;
                }
                b'\\' => {
                    verbatim = false;
                    if self.byte_at(end + 1) == b'\n' {
                        lines = true;
                        end = self.quoted_break(end + 1, outer)?;
                    } else {
                        end = self.skip_escape(end)?;
                    }
                }
                b'\'' if self.byte_at(end + 1) == b'\'' => {
                    verbatim = false;
                    end += 2;
                }
                _ => return Ok(QuotedScalar { span: Span::new_u32(at, end + 1), style, verbatim, lines }),
            }
        }
    }

    /// The first byte of content after a line break within quotes.
    fn quoted_break(&self, end: usize, outer: Option<usize>) -> ScanResult<usize> {
        let (line, start) = self.next_content(end);
        let column = start - line;
        if matches!(self.byte_at(start), b'\t' | 0) || column <= outer.unwrap_or(0) {
            return Err(ScanStopped);
        }
        Ok(start)
    }

    /// Returns the offset after the escape at the backslash `at`. Surrogates and invalid escapes are left to the complete reader.
    fn skip_escape(&self, at: usize) -> ScanResult<usize> {
        let kind = self.byte_at(at + 1);
        let digits = escape_digits(kind).filter(|_| kind != b'\t').ok_or(ScanStopped)?;
        if digits > 0 {
            let hex = self.bytes.get(at + 2..at + 2 + digits).ok_or(ScanStopped)?;
            let value = hex.iter().try_fold(0u32, |sum, b| char::from(*b).to_digit(16).map(|d| sum << 4 | d));
            value.and_then(char::from_u32).ok_or(ScanStopped)?;
        }
        Ok(at + 2 + digits)
    }

    /// Anchor and tag at `at`, in any order, and the first byte after the blanks after them.
    #[inline(always)]
    pub(super) fn scan_props(&self, at: usize) -> ScanResult<(usize, NodeProps)> {
        if matches!(self.byte_at(at), b'&' | b'!') { self.props_after_first(at) } else { Ok((at, NodeProps::default())) }
    }

    fn props_after_first(&self, mut at: usize) -> ScanResult<(usize, NodeProps)> {
        let mut props = NodeProps::default();
        loop {
            let end = match self.byte_at(at) {
                b'&' if props.anchor.is_empty() => {
                    props.anchor = self.anchor_name(at)?;
                    props.anchor.end as usize
                }
                b'!' if props.tag.is_empty() => {
                    props.tag = self.scan_tag(at)?;
                    props.tag.end as usize
                }
                b'&' | b'!' => return Err(ScanStopped),
                _ => return Ok((at, props)),
            };
            if !self.is_gap(end) {
                return Err(ScanStopped);
            }
            at = self.skip_spaces(end);
        }
    }

    /// `&name` or `*name`, with the plainest names.
    pub(super) fn anchor_name(&self, at: usize) -> ScanResult<Span> {
        let mut end = at + 1;
        while matches!(self.byte_at(end), b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'-') {
            end += 1;
        }
        let closed = self.is_gap(end) || (!self.flow.is_empty() && matches!(self.byte_at(end), b',' | b']' | b'}'));
        if end == at + 1 || !closed {
            return Err(ScanStopped);
        }
        Ok(Span::new_u32(at, end))
    }

    /// `!tag`, `!!tag`, `!h!tag`, `!<tag>`, without escapes.
    fn scan_tag(&self, at: usize) -> ScanResult<Span> {
        let verbatim = self.byte_at(at + 1) == b'<';
        let mut end = at + 1 + usize::from(verbatim);
        let start = end;
        let mut bangs = 0;
        loop {
            match self.byte_at(end) {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'/' | b':' | b'_' | b'+' | b'~' | b'@' => {}
                // A second one ends the handle, which is of letters.
                b'!' if !verbatim && bangs == 0 && self.is_handle(start, end) => bangs = 1,
                b',' if verbatim => {}
                _ => break,
            }
            end += 1;
        }
        if end == start + bangs || self.byte_at(end - 1) == b'!' {
            return Err(ScanStopped);
        }
        if verbatim {
            if self.byte_at(end) != b'>' || self.byte_at(start) == b'!' {
                return Err(ScanStopped);
            }
            end += 1;
        }
        Ok(Span::new_u32(at, end))
    }

    fn is_handle(&self, start: usize, end: usize) -> bool {
        self.bytes.get(start..end).is_some_and(|name| name.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'-'))
    }

    /// `|` or `>` and its lines; the next line.
    pub(super) fn block_scalar(&mut self, at: usize, outer: Option<usize>, props: NodeProps) -> ScanResult<usize> {
        let mut header = at + 1;
        if matches!(self.byte_at(header), b'+' | b'-') {
            header += 1;
        }
        if self.byte_at(self.skip_spaces(header)) == 0 {
            return Err(ScanStopped);
        }
        let mut line = self.end_of_line(header)?;
        let mut indent = 0;
        let mut deepest_blank = 0;
        while line < self.bytes.len() {
            let start = self.skip_spaces(line);
            let column = start - line;
            if self.byte_at(start) == b'\n' && (indent == 0 || column <= indent) {
                deepest_blank = deepest_blank.max(column);
                line = start + 1;
                continue;
            }
            if indent == 0 {
                // The first line tells the indentation; blank ones before it may not be indented more.
                if column <= outer.unwrap_or(0) || deepest_blank > column || matches!(self.byte_at(start), b'\t' | 0) {
                    return Err(ScanStopped);
                }
                indent = column;
            } else if column < indent {
                if self.byte_at(start) == b'\t' {
                    return Err(ScanStopped);
                }
                if self.byte_at(start) == 0 {
                    line = start;
                }
                break;
            }
            line = (self.line_end(start) + 1).min(self.bytes.len());
        }
        if indent == 0 {
            return Err(ScanStopped);
        }
        let end = block_end(self.text, at, line);
        let style = if self.byte_at(at) == b'|' { YamlScalarStyle::Literal } else { YamlScalarStyle::Folded };
        self.emit_cooked_scalar(Span::new_u32(at, end), style, props)?;
        Ok(line)
    }
}
