//! Small reads that are close together, answered out of larger ones.

use std::sync::{Mutex, PoisonError};

use super::source::{AccessCost, Source, SourceOrigin, SourceRef};
use crate::error::Result;

/// Bytes read at once if the reads are close together.
const WINDOW_SIZE: u64 = 64 << 10;
/// Reads farther apart than this are left alone.
const MAX_DISTANCE: u64 = 8 << 10;

/// A source for going through small things in order, such as block headers: if one follows soon after the other, they
/// are read many at a time; if they are far apart, each is read by itself, and nothing between them.
pub struct ReadAhead {
    inner: SourceRef,
    window: Mutex<ReadWindow>,
}

#[derive(Default)]
struct ReadWindow {
    start: u64,
    bytes: Vec<u8>,
    /// Offset of the first byte after the last requested range.
    last_end: Option<u64>,
}

impl ReadAhead {
    /// Reads of `inner`.
    pub fn new(inner: SourceRef) -> Self {
        Self { inner, window: Mutex::default() }
    }
}

impl ReadWindow {
    fn cached_part(&self, offset: u64, len: usize) -> Option<&[u8]> {
        let from = usize::try_from(offset.checked_sub(self.start)?).ok()?;
        self.bytes.get(from..from.checked_add(len)?)
    }
}

impl Source for ReadAhead {
    fn len(&self) -> u64 {
        self.inner.len()
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        // A remote source decides what else to read.
        if self.inner.access().cost != AccessCost::Random {
            return self.inner.read_at(offset, into);
        }
        let mut window = self.window.lock().unwrap_or_else(PoisonError::into_inner);
        let last = window.last_end.replace(offset.saturating_add(into.len() as u64));
        if let Some(part) = window.cached_part(offset, into.len()) {
            into.copy_from_slice(part);
            return Ok(());
        }
        let is_close = last.is_some_and(|last| offset >= last && offset - last <= MAX_DISTANCE);
        let size = WINDOW_SIZE.min(self.inner.len().saturating_sub(offset));
        if !is_close || size < into.len() as u64 {
            return self.inner.read_at(offset, into);
        }
        let mut bytes = std::mem::take(&mut window.bytes);
        bytes.resize(size as usize, 0);
        self.inner.read_at(offset, &mut bytes)?;
        (window.start, window.bytes) = (offset, bytes);
        if let Some(part) = window.cached_part(offset, into.len()) {
            into.copy_from_slice(part);
        }
        Ok(())
    }

    fn origin(&self) -> Option<SourceOrigin<'_>> {
        Some(SourceOrigin::Same(&*self.inner))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::bytes::MemorySource;

    #[test]
    fn read_ahead_eq_source_at_any_offset() {
        let bytes: Vec<u8> = (0..300_000u32).map(|n| (n ^ (n >> 8)) as u8).collect();
        let nearby = ReadAhead::new(Arc::new(MemorySource::new(bytes.clone(), "bytes")));
        let dense = (0..1000).map(|n| n * 290);
        for at in dense.chain([299_990, 5, 100_000, 100_100, 20, 299_000, 299_900, 299_989]) {
            let mut into = [0; 10];
            nearby.read_at(at as u64, &mut into).unwrap();
            assert_eq!(into, bytes[at..at + 10], "at {at}");
        }
        assert!(nearby.read_at(299_995, &mut [0; 10]).is_err());
    }
}
