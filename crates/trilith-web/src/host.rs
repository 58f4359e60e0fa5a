//! Files that the worker reads: what is near what was asked for comes along, and is kept for a while.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use trilith::bytes::{Access, Source};
use trilith::{Error, Result};

/// Bytes that cost as much as a request to a URL, and as one to a local file.
const REMOTE: u64 = 256 << 10;
const LOCAL: u64 = 64 << 10;
/// Ranges that are this near are read together.
const MERGE_GAP: u64 = 64 << 10;
/// Bytes that are kept of each file, and the most that are read at once.
const MAX_CACHED_BYTES: u64 = 48 << 20;
const MAX_READ_BYTES: u64 = 8 << 20;

unsafe extern "C" {
    /// Reads `len` bytes of a file at `offset` into the memory at `into`; 0 when that is done.
    safe fn host_read(handle: u32, offset: f64, into: *mut u8, len: usize) -> i32;
}

/// A file of the worker.
pub struct HostFile {
    handle: u32,
    size: u64,
    is_remote: bool,
    name: String,
    kept: Mutex<VecDeque<(u64, Vec<u8>)>>,
}

impl HostFile {
    /// The file that the worker knows by this handle.
    pub fn new(handle: u32, size: u64, is_remote: bool, name: &str) -> Self {
        Self { handle, size, is_remote, name: name.to_owned(), kept: Mutex::default() }
    }

    fn lock_cache(&self) -> MutexGuard<'_, VecDeque<(u64, Vec<u8>)>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fetch(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        match host_read(self.handle, offset as f64, into.as_mut_ptr(), into.len()) {
            0 => Ok(()),
            _ => {
                let why = if self.is_remote {
                    "the server did not send this part: it must allow ranges, and requests of other sites (CORS)"
                } else {
                    "the browser could not read it: it may have been changed or removed"
                };
                Err(Error::io(format!("reading {} bytes of {}", into.len(), self.name), std::io::Error::other(why))
                    .at_byte(offset))
            }
        }
    }

    /// Reads a range, and keeps it.
    fn fetch_and_cache(&self, range: Range<u64>) -> Result<()> {
        let len = usize::try_from(range.end.saturating_sub(range.start))
            .map_err(|_| Error::invalid_input("a range of too many bytes"))?;
        let mut bytes = vec![0; len];
        self.fetch(range.start, &mut bytes)?;
        let mut kept = self.lock_cache();
        kept.push_back((range.start, bytes));
        while kept.iter().map(|(_, bytes)| bytes.len() as u64).sum::<u64>() > MAX_CACHED_BYTES && kept.len() > 1 {
            kept.pop_front();
        }
        Ok(())
    }

    /// Takes bytes from what is kept.
    fn read_cached(&self, offset: u64, into: &mut [u8]) -> bool {
        let kept = self.lock_cache();
        let part = kept.iter().rev().find_map(|(start, bytes)| {
            let from = usize::try_from(offset.checked_sub(*start)?).ok()?;
            bytes.get(from..from.checked_add(into.len())?)
        });
        part.map(|part| into.copy_from_slice(part)).is_some()
    }
}

impl Source for HostFile {
    fn len(&self) -> u64 {
        self.size
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        let end = offset.checked_add(into.len() as u64).filter(|end| *end <= self.size);
        let end = end.ok_or_else(|| {
            Error::malformed(format!("{} ends before byte {}", self.name, offset.saturating_add(into.len() as u64)))
        })?;
        if into.is_empty() || self.read_cached(offset, into) {
            return Ok(());
        }
        let least = if self.is_remote { REMOTE } else { LOCAL };
        if end - offset >= least {
            return self.fetch(offset, into);
        }
        self.fetch_and_cache(offset..offset.saturating_add(least).min(self.size).max(end))?;
        if self.read_cached(offset, into) { Ok(()) } else { self.fetch(offset, into) }
    }

    fn prefetch(&self, ranges: &[Range<u64>]) -> Result<()> {
        if !self.is_remote {
            return Ok(());
        }
        let mut sorted: Vec<Range<u64>> = ranges.iter().filter(|range| !range.is_empty()).cloned().collect();
        sorted.sort_by_key(|range| range.start);
        let mut merged: Vec<Range<u64>> = Vec::new();
        for range in sorted {
            match merged.last_mut() {
                Some(last)
                    if range.start <= last.end.saturating_add(MERGE_GAP)
                        && range.end.max(last.end) - last.start <= MAX_READ_BYTES =>
                {
                    last.end = last.end.max(range.end);
                }
                _ => merged.push(range),
            }
        }
        let mut room = MAX_CACHED_BYTES;
        for range in merged {
            let end = range.end.min(self.size);
            // Bytes that are read in one go are not kept twice, and no more is fetched than can be kept.
            if end <= range.start || end - range.start > MAX_READ_BYTES || end - range.start > room {
                continue;
            }
            room -= end - range.start;
            self.fetch_and_cache(range.start..end)?;
        }
        Ok(())
    }

    fn access(&self) -> Access {
        if self.is_remote { Access::REQUEST } else { Access::RANDOM }
    }

    fn name(&self) -> &str {
        &self.name
    }
}
