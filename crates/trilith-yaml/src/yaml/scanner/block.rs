//! Block structure: lines, entries and items.

use super::super::event::{CollectionStyle, EventKind, EventReceiver, YamlScalarStyle};
use super::token::{MAX_KEY_LEN, STARTS_PLAIN, ScannedKey};
use super::{BlockLevel, ExpectedNode, NodeProps, ScanResult, ScanStopped, Scanner};
use crate::span::Span;

impl<R: EventReceiver> Scanner<'_, '_, R> {
    /// A line whose content begins at `start`, indented by `column`; the start of the next.
    #[inline]
    pub(super) fn scan_line(&mut self, start: usize, column: usize) -> ScanResult<usize> {
        let dash = self.byte_at(start) == b'-' && self.is_gap(start + 1);
        if let Some(wanted) = self.expected.take() {
            let top = self.levels.last().copied();
            if top.is_none_or(|top| column > top.indent) {
                return self.scan_node(start, column, wanted);
            }
            // A list may begin in the column of its key.
            if dash && top.is_some_and(|top| top.mapping && top.indent == column) {
                self.enter_sequence(start, column, wanted.props)?;
                return self.scan_sequence_item(start, column);
            }
            self.empty_scalar(wanted)?;
        }
        while self.levels.last().is_some_and(|top| top.indent > column) {
            self.leave_collection()?;
        }
        let mut top = self.levels.last().copied().ok_or(ScanStopped)?;
        if !top.mapping && !dash {
            self.leave_collection()?;
            top = self.levels.last().copied().ok_or(ScanStopped)?;
        }
        if top.indent != column || top.mapping == dash {
            return Err(ScanStopped);
        }
        match dash {
            true => self.scan_sequence_item(start, column),
            // Nearly every key is plain and has no properties.
            false if STARTS_PLAIN[self.byte_at(start) as usize] => {
                let colon = self.find_key_colon(start)?;
                self.scan_plain_entries(start, colon, column)
            }
            false => self.scan_mapping_entry(start, column),
        }
    }

    /// The colon after the plain key at `start`.
    #[inline(always)]
    fn find_key_colon(&self, start: usize) -> ScanResult<usize> {
        let colon = self.plain_end(start + 1);
        if self.byte_at(colon) == b':' && colon - start <= MAX_KEY_LEN { Ok(colon) } else { Err(ScanStopped) }
    }

    /// `key: …` of the innermost mapping with a plain key, and those that follow it at once; the start of the line after them.
    #[inline(never)]
    fn scan_plain_entries(&mut self, mut start: usize, mut colon: usize, column: usize) -> ScanResult<usize> {
        loop {
            let key = self.trim_span(start, colon)?;
            self.emit_plain_scalar(key, NodeProps::default())?;
            // Most values are plain and on the line of their key, and the next line does not continue them.
            let value = colon + 2;
            if !STARTS_PLAIN[self.byte_at(value) as usize] || self.byte_at(colon + 1) != b' ' {
                return self.scan_value(colon + 1, column);
            }
            let end = self.plain_end(value + 1);
            let line = end + 1;
            start = self.skip_spaces(line);
            let next = self.byte_at(start);
            if self.byte_at(end) != b'\n' || next == b'\n' || start - line > column {
                return self.scan_value(colon + 1, column);
            }
            let value = self.trim_span(value, end)?;
            self.emit_plain_scalar(value, NodeProps::default())?;
            // Dots at the start of a line may end the document.
            if start - line < column || !STARTS_PLAIN[next as usize] || (column == 0 && next == b'.') {
                return Ok(line);
            }
            colon = self.find_key_colon(start)?;
        }
    }

    #[inline]
    fn enter_mapping(&mut self, start: usize, indent: usize, props: NodeProps) -> ScanResult<()> {
        self.levels.push(BlockLevel { indent, mapping: true });
        self.emit(EventKind::Mapping(CollectionStyle::Block), Span::new_u32(start, start), props)
    }

    #[inline]
    fn enter_sequence(&mut self, start: usize, indent: usize, props: NodeProps) -> ScanResult<()> {
        self.levels.push(BlockLevel { indent, mapping: false });
        self.emit(EventKind::Sequence(CollectionStyle::Block), Span::new_u32(start, start), props)
    }

    /// Ends the innermost block collection, where its last node ended.
    #[inline]
    pub(super) fn leave_collection(&mut self) -> ScanResult<()> {
        self.levels.pop();
        self.emit(EventKind::End, Span::new_u32(self.last_end, self.last_end), NodeProps::default())
    }

    /// An empty scalar.
    #[inline]
    pub(super) fn empty_scalar(&mut self, wanted: ExpectedNode) -> ScanResult<()> {
        self.emit_plain_scalar(Span::new_u32(wanted.position, wanted.position), wanted.props)
    }

    /// A plain scalar whose text is its source.
    #[inline(always)]
    pub(super) fn emit_plain_scalar(&mut self, span: Span, props: NodeProps) -> ScanResult<()> {
        self.last_end = span.end as usize;
        self.emit(EventKind::Scalar { style: YamlScalarStyle::Plain, verbatim: true }, span, props)
    }

    /// A scalar whose text is made from its source.
    #[inline(always)]
    pub(super) fn emit_cooked_scalar(&mut self, span: Span, style: YamlScalarStyle, props: NodeProps) -> ScanResult<()> {
        self.last_end = span.end as usize;
        self.emit(EventKind::Scalar { style, verbatim: false }, span, props)
    }

    #[inline(always)]
    pub(super) fn emit_scalar(&mut self, span: Span, style: YamlScalarStyle, verbatim: bool, props: NodeProps) -> ScanResult<()> {
        self.last_end = span.end as usize;
        self.emit(EventKind::Scalar { style, verbatim }, span, props)
    }

    /// Leaves a node open for the next line; what is left of this one starts at `at`.
    #[inline]
    fn leave_value_open(&mut self, at: usize, wanted: ExpectedNode) -> ScanResult<usize> {
        self.expected = Some(wanted);
        self.last_end = wanted.position;
        self.end_of_line(at)
    }

    /// `- …` of the innermost sequence.
    fn scan_sequence_item(&mut self, dash: usize, column: usize) -> ScanResult<usize> {
        let start = self.skip_spaces(dash + 1);
        self.last_end = dash + 1;
        let wanted = ExpectedNode { props: NodeProps::default(), position: dash + 1 };
        if matches!(self.byte_at(start), b'\n' | b'#' | 0) {
            return self.leave_value_open(dash + 1, wanted);
        }
        self.scan_node(start, column + (start - dash), wanted)
    }

    /// `key: …` of the innermost mapping, of any kind.
    fn scan_mapping_entry(&mut self, start: usize, column: usize) -> ScanResult<usize> {
        let (at, props) = self.scan_props(start)?;
        let key = self.scan_key(at)?.ok_or(ScanStopped)?;
        self.scan_pair(start, key, props, column)
    }

    /// A key and what follows it on its line.
    fn scan_pair(&mut self, start: usize, key: ScannedKey, props: NodeProps, column: usize) -> ScanResult<usize> {
        if key.colon - start > MAX_KEY_LEN {
            return Err(ScanStopped);
        }
        self.emit_scalar(key.span, key.style, key.verbatim, props)?;
        self.scan_value(key.colon + 1, column)
    }

    /// Reads the value after `key:`, in a mapping indented by `column`.
    #[inline]
    fn scan_value(&mut self, after: usize, column: usize) -> ScanResult<usize> {
        let start = self.skip_spaces(after);
        let first = self.byte_at(start);
        if STARTS_PLAIN[first as usize] {
            return self.scan_plain_scalar(start, Some(column), NodeProps::default());
        }
        match first {
            b'\n' | b'#' | 0 => self.leave_value_open(after, ExpectedNode { props: NodeProps::default(), position: after }),
            _ => {
                let (at, props) = self.scan_props(start)?;
                if props.any() && matches!(self.byte_at(at), b'\n' | b'#' | 0) {
                    return self.leave_value_open(at, ExpectedNode { props, position: props.end() });
                }
                self.scan_inline_node(at, Some(column), props)
            }
        }
    }

    /// A node that may be a block collection, whose first byte is at `start`.
    fn scan_node(&mut self, mut start: usize, mut column: usize, mut wanted: ExpectedNode) -> ScanResult<usize> {
        // The indentation of what it is part of.
        let mut outer = self.levels.last().map(|top| top.indent);
        while self.byte_at(start) == b'-' && self.is_gap(start + 1) {
            self.enter_sequence(start, column, wanted.props)?;
            outer = Some(column);
            let next = self.skip_spaces(start + 1);
            wanted = ExpectedNode { props: NodeProps::default(), position: start + 1 };
            self.last_end = start + 1;
            if matches!(self.byte_at(next), b'\n' | b'#' | 0) {
                return self.leave_value_open(start + 1, wanted);
            }
            column += next - start;
            start = next;
        }
        let (at, props) = self.scan_props(start)?;
        if props.any() && matches!(self.byte_at(at), b'\n' | b'#' | 0) {
            return if wanted.props.any() {
                Err(ScanStopped)
            } else {
                self.leave_value_open(at, ExpectedNode { props, position: props.end() })
            };
        }
        if let Some(key) = self.scan_key(at)? {
            self.enter_mapping(start, column, wanted.props)?;
            if key.style == YamlScalarStyle::Plain && !props.any() && key.colon - start <= MAX_KEY_LEN {
                return self.scan_plain_entries(start, key.colon, column);
            }
            return self.scan_pair(start, key, props, column);
        }
        if props.any() && wanted.props.any() {
            return Err(ScanStopped);
        }
        self.scan_inline_node(at, outer, if props.any() { props } else { wanted.props })
    }

    /// Reads the rest of the line of `---`.
    pub(super) fn after_marker(&mut self, after: usize) -> ScanResult<usize> {
        let start = self.skip_spaces(after);
        if matches!(self.byte_at(start), b'\n' | b'#' | 0) {
            return self.leave_value_open(after, ExpectedNode { props: NodeProps::default(), position: after });
        }
        let (at, props) = self.scan_props(start)?;
        if props.any() && matches!(self.byte_at(at), b'\n' | b'#' | 0) {
            return self.leave_value_open(at, ExpectedNode { props, position: props.end() });
        }
        // A block collection cannot begin here.
        if self.byte_at(at) == b'-' || self.scan_key(at)?.is_some() {
            return Err(ScanStopped);
        }
        self.scan_inline_node(at, None, props)
    }

    /// A scalar, an alias or brackets, in a collection indented by `outer`; nothing but a comment may follow.
    fn scan_inline_node(&mut self, at: usize, outer: Option<usize>, props: NodeProps) -> ScanResult<usize> {
        match self.byte_at(at) {
            b'[' | b'{' => {
                let end = self.flow_collection(at, outer, props)?;
                self.last_end = end;
                self.end_of_line(end)
            }
            b'"' | b'\'' => {
                let quoted = self.scan_quoted_scalar(at, outer)?;
                self.emit_scalar(quoted.span, quoted.style, quoted.verbatim, props)?;
                self.end_of_line(quoted.span.end as usize)
            }
            b'|' | b'>' => self.block_scalar(at, outer, props),
            b'*' if !props.any() => {
                let span = self.anchor_name(at)?;
                self.last_end = span.end as usize;
                self.emit(EventKind::Alias, span, NodeProps::default())?;
                self.end_of_line(self.last_end)
            }
            first => {
                self.begins_plain(first, at)?;
                self.scan_plain_scalar(at, outer, props)
            }
        }
    }
}
