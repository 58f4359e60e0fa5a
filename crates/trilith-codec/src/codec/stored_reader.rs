//! The stored bytes of a block, read from front to back.

use std::io::{BufRead, Read};

use crate::bytes::{CodedPiece, CodingStep, SourceEncoding, SourceRef, encoding, stored_ranges, to_usize};
use crate::error::{Error, Result};

/// Number of bytes read at once from a source that cannot show its bytes in place.
const BUFFER_SIZE: u64 = 256 << 10;

/// The stored bytes in order: if the source is in memory without a copy, else by pieces.
pub(super) struct StoredReader {
    source: SourceRef,
    position: u64,
    end: u64,
    /// The bytes from `at` on, already read, are `piece[taken..]`.
    buffer: Vec<u8>,
    consumed: usize,
}

impl StoredReader {
    /// Creates an input of all bytes of `source`.
    pub(super) fn new(source: SourceRef) -> Self {
        let end = source.len();
        Self { source, position: 0, end, buffer: Vec::new(), consumed: 0 }
    }

    /// The bytes that come next; none only at the end.
    pub(super) fn peek_bytes(&mut self) -> Result<&[u8]> {
        let left = self.end - self.position;
        if self.source.view(self.position, left.min(BUFFER_SIZE)).is_some() {
            return self.source.view(self.position, left.min(BUFFER_SIZE)).ok_or_else(|| Error::malformed("the bytes went away"));
        }
        if self.consumed >= self.buffer.len() && left > 0 {
            let mut piece = std::mem::take(&mut self.buffer);
            piece.resize(to_usize(left.min(BUFFER_SIZE))?, 0);
            self.source.read_at(self.position, &mut piece)?;
            self.buffer = piece;
            self.consumed = 0;
        }
        Ok(self.buffer.get(self.consumed..).unwrap_or(&[]))
    }

    /// Marks `n` of the bytes that [`StoredReader::peek_bytes`] gave as used.
    pub(super) fn skip(&mut self, n: usize) {
        self.position = self.position.saturating_add(n as u64).min(self.end);
        self.consumed = self.consumed.saturating_add(n);
    }

    /// Returns the number of stored bytes that are used up.
    pub(super) fn position(&self) -> u64 {
        self.position
    }
}

impl BufRead for StoredReader {
    fn fill_buf(&mut self) -> std::io::Result<&[u8]> {
        self.peek_bytes().map_err(std::io::Error::other)
    }

    fn consume(&mut self, n: usize) {
        self.skip(n);
    }
}

impl Read for StoredReader {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let next = self.fill_buf()?;
        let n = next.len().min(into.len());
        into[..n].copy_from_slice(&next[..n]);
        self.skip(n);
        Ok(n)
    }
}

/// The byte of the file that is byte `at` of a block's stored bytes.
pub(super) fn file_byte(stored: &SourceRef, at: u64) -> u64 {
    let at = at.min(stored.len());
    stored_ranges(&**stored, at..at).ok().and_then(|ranges| ranges.first().map(|range| range.start)).unwrap_or(at)
}

/// Returns the start of the stored bytes of a block in their file.
pub(super) fn file_offset(stored: &SourceRef) -> Result<u64> {
    match encoding(&**stored)? {
        SourceEncoding::Plain(at) => Ok(at),
        _ => Err(Error::unsupported("the block is compressed twice")),
    }
}

/// The form of a block that decodes as a whole.
pub(super) fn whole_form(word: &str, stored: &SourceRef, len: u64) -> Result<SourceEncoding> {
    let start = file_offset(stored)?;
    let piece = CodedPiece::new(start..start.saturating_add(stored.len()), 0..len);
    Ok(SourceEncoding::Coded { codec: Some(CodingStep::new(word, Vec::new())), pieces: vec![piece] })
}

/// Converts an error of a codec's library. One of our errors that passed through it comes out again.
pub(super) fn from_library(error: std::io::Error, stored: &SourceRef, at: u64) -> Error {
    match error.downcast::<Error>() {
        Ok(ours) => ours,
        Err(error) => Error::malformed(error.to_string()).at_byte(file_byte(stored, at)),
    }
}
