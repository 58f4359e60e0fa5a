//! A file as it was before an update that has not ended, seen through its journal.

use std::fs::File;
use std::ops::Range;
use std::path::PathBuf;

use super::backing::SourceBacking;
use super::journal_record::JournalRecord;
use super::local::leads_to;
use super::pieces::{Opaque, PieceDecoding};
use super::platform::read_exact_at;
use super::source::{Source, SourceOrigin, SourceRef, end_in_file};
use crate::error::{Error, Result};

/// A journal that belongs to a file, read on demand.
#[derive(Debug)]
pub(super) struct SavedBytes {
    pub journal: File,
    /// The name of the journal.
    path: PathBuf,
    pub record: JournalRecord,
    /// The start of the old bytes of each region.
    region_offsets: Vec<u64>,
}

impl SavedBytes {
    pub(super) fn new(journal: File, path: PathBuf, record: JournalRecord) -> Self {
        let places = record.old_byte_offsets();
        Self { journal, path, record, region_offsets: places }
    }

    /// Hands over what was there before: each region with its old bytes, in pieces.
    ///
    /// # Errors
    /// Returns an error if the journal cannot be read, and the errors of `take`.
    pub(super) fn for_each_old(&self, mut take: impl FnMut(u64, &[u8]) -> std::io::Result<()>) -> std::io::Result<()> {
        self.for_each_region(0, &mut take)
    }

    /// Hands over what the update writes into each region, in pieces.
    ///
    /// # Errors
    /// Returns the errors of [`SavedBytes::for_each_old`].
    pub(super) fn for_each_new(&self, mut take: impl FnMut(u64, &[u8]) -> std::io::Result<()>) -> std::io::Result<()> {
        self.for_each_region(1, &mut take)
    }

    fn for_each_region(&self, which: u64, take: &mut dyn FnMut(u64, &[u8]) -> std::io::Result<()>) -> std::io::Result<()> {
        for (region, place) in self.record.regions.iter().zip(&self.region_offsets) {
            let size = region.end - region.start;
            let mut failure = Ok(());
            super::journal_record::for_each_piece(0..size, |at, piece| {
                failure =
                    read_exact_at(&self.journal, place + which * size + at, piece).and_then(|()| take(region.start + at, piece));
                failure.is_ok().then_some(())
            });
            failure?;
        }
        Ok(())
    }
}

/// The old content of a file.
pub(super) struct PreUpdateSource {
    inner: SourceRef,
    saved: SavedBytes,
    /// `true` if the writer was still at work.
    follows_updates: bool,
}

impl PreUpdateSource {
    pub(super) fn new(inner: SourceRef, saved: SavedBytes, is_live: bool) -> Self {
        Self { inner, saved, follows_updates: is_live }
    }

    /// Reads bytes that the update leaves unchanged to their place in `into`, which begins at `offset` of the file.
    fn read_unchanged(&self, offset: u64, range: Range<u64>, into: &mut [u8]) -> Result<()> {
        match into.get_mut((range.start - offset) as usize..(range.end.max(range.start) - offset) as usize) {
            Some(part) if !part.is_empty() => self.inner.read_at(range.start, part),
            _ => Ok(()),
        }
    }
}

impl Source for PreUpdateSource {
    fn len(&self) -> u64 {
        self.saved.record.old_len.min(self.inner.len())
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        let end = end_in_file(offset, into.len() as u64, self.len())?;
        let regions = &self.saved.record.regions;
        let first = regions.partition_point(|region| region.end <= offset);
        // Places that the update changes are never read from the file itself, which may hold either content there.
        let mut at = offset;
        for (region, place) in regions.iter().zip(&self.saved.region_offsets).skip(first) {
            if region.start >= end {
                break;
            }
            let (from, to) = (offset.max(region.start), end.min(region.end));
            self.read_unchanged(offset, at..from, into)?;
            at = to;
            let Some(part) = into.get_mut((from - offset) as usize..(to - offset) as usize) else { continue };
            read_exact_at(&self.saved.journal, place + (from - region.start), part)
                .map_err(|e| Error::io(format!("reading the journal of {}", self.name()), e))?;
        }
        self.read_unchanged(offset, at..end, into)
    }

    fn pieces(&self) -> Option<&dyn PieceDecoding> {
        Some(&Opaque("an update of the file did not finish: part of its previous content is in a journal"))
    }

    fn origin(&self) -> Option<SourceOrigin<'_>> {
        Some(SourceOrigin::Same(&*self.inner))
    }

    fn backing(&self) -> Option<&dyn SourceBacking> {
        Some(self)
    }
}

impl SourceBacking for PreUpdateSource {
    fn inner_backing(&self) -> Option<&dyn SourceBacking> {
        self.inner.backing()
    }

    fn is_changed(&self) -> bool {
        // An update without its journal has ended, and the file no longer holds this content.
        self.inner.backing().is_some_and(SourceBacking::is_changed) || !leads_to(&self.saved.path, &self.saved.journal)
    }

    fn notice(&self) -> Option<String> {
        if self.follows_updates {
            return Some("another process is updating this file: its previous content is shown".to_owned());
        }
        let (count, size) = (self.saved.record.regions.len(), self.inner.len());
        Some(format!(
            "an update of this file did not finish: its previous content is shown, and the next writer restores it \
             ({count} places, {} of {size} bytes)",
            self.saved.record.old_len
        ))
    }
}
