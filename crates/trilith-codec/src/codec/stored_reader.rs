//! The stored bytes of a block, read from front to back.

use std::io::{BufRead, Read};

use crate::bytes::{CodedPiece, SourceEncoding, SourceRef, Step, encoding, stored_ranges, to_usize};
use crate::error::{Error, Result};

/// Number of bytes read at once from a source that cannot show its bytes in place.
const PIECE: u64 = 256 << 10;

/// The stored bytes in order: if the source is in memory without a copy, else by pieces.
pub(super) struct Input {
    source: SourceRef,
    at: u64,
    end: u64,
    /// The bytes from `at` on, already read, are `piece[taken..]`.
    piece: Vec<u8>,
    taken: usize,
}

impl Input {
    /// Creates an input of all bytes of `source`.
    pub(super) fn new(source: SourceRef) -> Self {
        let end = source.len();
        Self { source, at: 0, end, piece: Vec::new(), taken: 0 }
    }

    /// The bytes that come next; none only at the end.
    pub(super) fn next(&mut self) -> Result<&[u8]> {
        let left = self.end - self.at;
        if self.source.view(self.at, left.min(PIECE)).is_some() {
            return self.source.view(self.at, left.min(PIECE)).ok_or_else(|| Error::malformed("the bytes went away"));
        }
        if self.taken >= self.piece.len() && left > 0 {
            let mut piece = std::mem::take(&mut self.piece);
            piece.resize(to_usize(left.min(PIECE))?, 0);
            self.source.read_at(self.at, &mut piece)?;
            self.piece = piece;
            self.taken = 0;
        }
        Ok(self.piece.get(self.taken..).unwrap_or(&[]))
    }

    /// Marks `n` of the bytes that [`Input::next`] gave as used.
    pub(super) fn skip(&mut self, n: usize) {
        self.at = self.at.saturating_add(n as u64).min(self.end);
        self.taken = self.taken.saturating_add(n);
    }

    /// Returns the number of stored bytes that are used up.
    pub(super) fn position(&self) -> u64 {
        self.at
    }
}

impl BufRead for Input {
    fn fill_buf(&mut self) -> std::io::Result<&[u8]> {
        self.next().map_err(std::io::Error::other)
    }

    fn consume(&mut self, n: usize) {
        self.skip(n);
    }
}

impl Read for Input {
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
pub(super) fn beginning(stored: &SourceRef) -> Result<u64> {
    match encoding(&**stored)? {
        SourceEncoding::Plain(at) => Ok(at),
        _ => Err(Error::unsupported("the block is compressed twice")),
    }
}

/// The form of a block that decodes as a whole.
pub(super) fn whole(word: &str, stored: &SourceRef, len: u64) -> Result<SourceEncoding> {
    let start = beginning(stored)?;
    let piece = CodedPiece::new(start..start.saturating_add(stored.len()), 0..len);
    Ok(SourceEncoding::Coded { codec: Some(Step::new(word, Vec::new())), pieces: vec![piece] })
}

/// Converts an error of a codec's library. One of our errors that passed through it comes out again.
pub(super) fn from_library(error: std::io::Error, stored: &SourceRef, at: u64) -> Error {
    match error.downcast::<Error>() {
        Ok(ours) => ours,
        Err(error) => Error::malformed(error.to_string()).at_byte(file_byte(stored, at)),
    }
}
