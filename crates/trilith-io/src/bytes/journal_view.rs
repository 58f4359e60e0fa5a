//! A file as it was before an update that has not ended, seen through its journal.

use std::fs::File;
use std::ops::Range;
use std::path::PathBuf;

use super::backing::Backing;
use super::journal_record::Record;
use super::local::leads_to;
use super::pieces::{Opaque, SourcePieces};
use super::platform::read_exact_at;
use super::source::{Source, SourceOrigin, SourceRef, end_in_file};
use crate::error::{Error, Result};

/// A journal that belongs to a file, read on demand.
#[derive(Debug)]
pub(super) struct Saved {
    pub journal: File,
    /// The name of the journal.
    path: PathBuf,
    pub record: Record,
    /// The start of the old bytes of each region.
    places: Vec<u64>,
}

impl Saved {
    pub(super) fn new(journal: File, path: PathBuf, record: Record) -> Self {
        let places = record.places();
        Self { journal, path, record, places }
    }

    /// Hands over what was there before: each region with its old bytes, in pieces.
    ///
    /// # Errors
    /// Returns an error if the journal cannot be read, and the errors of `take`.
    pub(super) fn each_old(&self, mut take: impl FnMut(u64, &[u8]) -> std::io::Result<()>) -> std::io::Result<()> {
        self.each(0, &mut take)
    }

    /// Hands over what the update writes into each region, in pieces.
    ///
    /// # Errors
    /// Returns the errors of [`Saved::each_old`].
    pub(super) fn each_new(&self, mut take: impl FnMut(u64, &[u8]) -> std::io::Result<()>) -> std::io::Result<()> {
        self.each(1, &mut take)
    }

    fn each(&self, which: u64, take: &mut dyn FnMut(u64, &[u8]) -> std::io::Result<()>) -> std::io::Result<()> {
        for (region, place) in self.record.regions.iter().zip(&self.places) {
            let size = region.end - region.start;
            let mut failure = Ok(());
            super::journal_record::pieces(0..size, |at, piece| {
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
pub(super) struct Before {
    inner: SourceRef,
    saved: Saved,
    /// `true` if the writer was still at work.
    is_live: bool,
}

impl Before {
    pub(super) fn new(inner: SourceRef, saved: Saved, is_live: bool) -> Self {
        Self { inner, saved, is_live }
    }

    /// Reads bytes that the update leaves unchanged to their place in `into`, which begins at `offset` of the file.
    fn read_unchanged(&self, offset: u64, range: Range<u64>, into: &mut [u8]) -> Result<()> {
        match into.get_mut((range.start - offset) as usize..(range.end.max(range.start) - offset) as usize) {
            Some(part) if !part.is_empty() => self.inner.read_at(range.start, part),
            _ => Ok(()),
        }
    }
}

impl Source for Before {
    fn len(&self) -> u64 {
        self.saved.record.old_len.min(self.inner.len())
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        let end = end_in_file(offset, into.len() as u64, self.len())?;
        let regions = &self.saved.record.regions;
        let first = regions.partition_point(|region| region.end <= offset);
        // Places that the update changes are never read from the file itself, which may hold either content there.
        let mut at = offset;
        for (region, place) in regions.iter().zip(&self.saved.places).skip(first) {
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

    fn pieces(&self) -> Option<&dyn SourcePieces> {
        Some(&Opaque("an update of the file did not finish: part of its previous content is in a journal"))
    }

    fn origin(&self) -> Option<SourceOrigin<'_>> {
        Some(SourceOrigin::Same(&*self.inner))
    }

    fn backing(&self) -> Option<&dyn Backing> {
        Some(self)
    }
}

impl Backing for Before {
    fn inner(&self) -> Option<&dyn Backing> {
        self.inner.backing()
    }

    fn is_changed(&self) -> bool {
        // An update without its journal has ended, and the file no longer holds this content.
        self.inner.backing().is_some_and(Backing::is_changed) || !leads_to(&self.saved.path, &self.saved.journal)
    }

    fn notice(&self) -> Option<String> {
        if self.is_live {
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
