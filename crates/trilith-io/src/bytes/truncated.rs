//! Bytes whose end is missing.

use std::ops::Range;
use std::sync::Arc;

use super::origins::stored_ranges;
use super::pieces::{PieceDecoding, SourceEncoding};
use super::source::{Source, SourceOrigin, SourceRef};
use crate::error::{Error, Result};

/// Bytes whose end is missing: what is there can be read, at the same places as in the file.
pub struct TruncatedSource {
    inner: SourceRef,
    len: u64,
}

impl TruncatedSource {
    /// `inner`, extended to the bytes that there should be, if it has fewer.
    pub fn with_declared_len(inner: SourceRef, len: u64) -> SourceRef {
        if len <= inner.len() { inner } else { Arc::new(Self { inner, len }) }
    }
}

impl TruncatedSource {
    /// Refuses a range whose end is missing.
    fn check_range(&self, offset: u64, len: u64) -> Result<()> {
        let (name, end) = (self.inner.name(), self.available_len());
        let is_present = offset.checked_add(len).is_some_and(|last| last <= end);
        is_present.then_some(()).ok_or_else(|| {
            Error::malformed(format!("{name} is truncated at byte {end}: {len} bytes are expected from byte {offset} on"))
                .at_byte(offset)
        })
    }
}

impl PieceDecoding for TruncatedSource {
    fn stored_ranges(&self, range: Range<u64>) -> Result<Vec<Range<u64>>> {
        self.check_range(range.start, range.end.saturating_sub(range.start))?;
        stored_ranges(&*self.inner, range)
    }

    fn encoding(&self) -> Result<SourceEncoding> {
        Err(Error::unsupported(format!("{} is truncated at byte {} of {}", self.inner.name(), self.available_len(), self.len)))
    }
}

impl Source for TruncatedSource {
    fn len(&self) -> u64 {
        self.len
    }

    fn available_len(&self) -> u64 {
        self.inner.len()
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        self.check_range(offset, into.len() as u64)?;
        self.inner.read_at(offset, into)
    }

    fn view(&self, offset: u64, len: u64) -> Option<&[u8]> {
        offset.checked_add(len).filter(|end| *end <= self.available_len())?;
        self.inner.view(offset, len)
    }

    fn prefetch(&self, ranges: &[Range<u64>]) -> Result<()> {
        let there: Vec<_> = ranges.iter().filter(|range| range.end <= self.available_len()).cloned().collect();
        self.inner.prefetch(&there)
    }

    fn pieces(&self) -> Option<&dyn PieceDecoding> {
        Some(self)
    }

    fn origin(&self) -> Option<SourceOrigin<'_>> {
        Some(SourceOrigin::Same(&*self.inner))
    }
}
