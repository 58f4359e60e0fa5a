//! The header of a foreign file, read from front to back: a window that grows over a source, so that a header of any length
//! costs few requests and no more memory than it has bytes.

use crate::bytes::{Source, read_vec, to_usize};
use crate::error::{Error, Result};
use crate::limits::Limits;

/// Number of bytes read at first; each further read takes twice as much.
const FIRST_READ: u64 = 8 << 10;
/// The most that is read ahead at once.
const MAX_READ_AHEAD: u64 = 4 << 20;

/// Reads the fields of a header one after the other; every error names the byte.
pub(super) struct HeaderReader<'s> {
    source: &'s dyn Source,
    limits: &'s Limits,
    /// The bytes from `start` on that have been read.
    window: Vec<u8>,
    start: u64,
    at: u64,
    ahead: u64,
}

impl<'s> HeaderReader<'s> {
    /// A header that begins at a byte of the file.
    pub(super) fn from_offset(source: &'s dyn Source, at: u64, limits: &'s Limits) -> Self {
        Self { source, limits, window: Vec::new(), start: at, at, ahead: FIRST_READ }
    }

    /// The byte of the file at which the next field begins.
    pub(super) fn position(&self) -> u64 {
        self.at
    }

    /// Returns the number of bytes left in the file.
    pub(super) fn remaining(&self) -> u64 {
        self.source.len().saturating_sub(self.at)
    }

    /// The next bytes.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if the file ends before,
    /// [`ErrorKind::Limit`](crate::ErrorKind::Limit) if there are more than may be held.
    pub(super) fn take_bytes(&mut self, len: u64) -> Result<&[u8]> {
        if len > self.remaining() {
            return Err(Error::malformed(format!("the header goes on for {len} bytes, but {} are left", self.remaining()))
                .at_byte(self.at));
        }
        let end = self.start + self.window.len() as u64;
        if self.at + len > end {
            let more = len.max(self.ahead).min(self.remaining());
            self.ahead = (self.ahead * 2).min(MAX_READ_AHEAD);
            self.window = read_vec(self.source, self.at, more, self.limits)?;
            self.start = self.at;
        }
        let from = to_usize(self.at - self.start)?;
        let taken = self.window.get(from..from + to_usize(len)?);
        self.at += len;
        taken.ok_or_else(|| Error::malformed("the header is cut short").at_byte(self.at))
    }

    /// Passes bytes that say nothing.
    ///
    /// # Errors
    /// Returns the errors of [`HeaderReader::take_bytes`].
    pub(super) fn skip(&mut self, len: u64) -> Result<()> {
        self.take_bytes(len).map(|_| ())
    }

    /// A big-endian whole number of up to 8 bytes.
    ///
    /// # Errors
    /// Returns the errors of [`HeaderReader::take_bytes`].
    pub(super) fn read_be(&mut self, len: u64) -> Result<u64> {
        Ok(self.take_bytes(len)?.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    /// A little-endian whole number of up to 8 bytes.
    ///
    /// # Errors
    /// Returns the errors of [`HeaderReader::take_bytes`].
    pub(super) fn read_le(&mut self, len: u64) -> Result<u64> {
        Ok(self.take_bytes(len)?.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    /// Refuses a count of things that the rest of the file cannot hold, each of which takes `least` bytes, or that is over
    /// the limit of things.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if the file is too short for them, and
    /// [`ErrorKind::Limit`](crate::ErrorKind::Limit) if a limit would be exceeded.
    pub(super) fn check_count(&self, count: u64, least: u64, what: &str) -> Result<usize> {
        if count.checked_mul(least.max(1)).is_none_or(|bytes| bytes > self.remaining()) {
            return Err(Error::malformed(format!("{count} {what} are declared, but {} bytes are left", self.remaining()))
                .at_byte(self.at));
        }
        if count > self.limits.items {
            return Err(Limits::exceeded_error("items", self.limits.items, format_args!("the file has {count} {what}")));
        }
        to_usize(count)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop")]
mod tests {
    use super::*;
    use crate::bytes::MemorySource;

    #[test]
    fn fields_across_buffer_ends_are_contiguous() {
        let bytes: Vec<u8> = (0..100_000u32).map(|n| (n % 251) as u8).collect();
        let source = MemorySource::new(bytes.clone(), "x");
        let limits = Limits::default();
        let mut header = HeaderReader::from_offset(&source, 0, &limits);
        let mut at = 0;
        for len in (1u64..).map(|n| n * 37 % 2003).take_while(|len| {
            at += len;
            at < 100_000
        }) {
            let from = header.position() as usize;
            assert_eq!(header.take_bytes(len).unwrap(), &bytes[from..from + len as usize]);
        }
        assert!(header.take_bytes(1 << 40).is_err() && header.check_count(1 << 40, 4, "things").is_err());
        let mut numbers = HeaderReader::from_offset(&source, 1, &limits);
        assert_eq!((numbers.read_be(2).unwrap(), numbers.read_le(2).unwrap(), numbers.position()), (0x0102, 0x0403, 5));
    }
}
