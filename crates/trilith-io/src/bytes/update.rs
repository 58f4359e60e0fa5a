//! Plan of an update in place: a list of writes, made before the first byte is touched.

use std::fs::File;
use std::io::Write;
use std::ops::Range;

use sha2::{Digest, Sha256};

use super::journal_record::{JournalRecord, SECTOR_SIZE};
use super::platform::read_exact_at;
use super::source::{Source, SourceRef, copy_at};
use super::spool::SpoolBuffer;
use super::to_usize;
use crate::error::{Error, Result};

/// Bytes that are handled at once: a multiple of the sector.
const BUFFER_SIZE: u64 = 64 << 10;

/// Number of pieces of the appended bytes that are remembered, and their minimum distance.
const MAX_SAMPLES: u64 = 1024;
const SAMPLE_EVERY: u64 = 64 << 10;

/// Number of unchanged sectors that are remembered at each end of the file, and in between.
const UNCHANGED_AT_ENDS: u64 = 4;
const UNCHANGED_BETWEEN: u64 = 16;

/// Changes to a file in place: bytes that are overwritten or appended, all or none of them.
///
/// ```
/// use trilith_io::bytes::{WriteBasis, AtomicFile, FileUpdate, open, read_text};
/// # use std::io::Write as _;
/// # let folder = std::env::temp_dir().join(format!("trilith-update-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder).unwrap();
/// # let path = folder.join("x");
/// # let mut file = AtomicFile::create(&path, WriteBasis::Nothing)?;
/// # file.write_all(b"one two three").unwrap();
/// # file.commit()?;
/// let read = open(&path, Default::default())?;
/// let mut update = FileUpdate::new();
/// update.write(4, b"TWO".to_vec());
/// update.write(13, b" four".to_vec());
/// update.commit(&*read)?;
/// assert_eq!(read_text(&path, 100)?, b"one TWO three four");
/// # std::fs::remove_dir_all(&folder).unwrap();
/// # Ok::<(), trilith_io::Error>(())
/// ```
#[derive(Default)]
pub struct FileUpdate {
    writes: Vec<(u64, WriteContent)>,
    scratch: Vec<Range<u64>>,
    expected: Vec<(u64, Vec<u8>)>,
    spool: SpoolBuffer,
}

/// Bytes that an [`FileUpdate`] writes: held in memory, or read from where they are.
pub struct WriteContent(ContentKind);

enum ContentKind {
    Bytes(Vec<u8>),
    Source(SourceRef),
    /// Offset and length of bytes that [`FileUpdate::write_piece`] received.
    Spooled(u64, u64),
}

impl From<Vec<u8>> for WriteContent {
    fn from(bytes: Vec<u8>) -> Self {
        Self(ContentKind::Bytes(bytes))
    }
}

impl From<SourceRef> for WriteContent {
    fn from(source: SourceRef) -> Self {
        Self(ContentKind::Source(source))
    }
}

impl WriteContent {
    fn len(&self) -> u64 {
        match &self.0 {
            ContentKind::Bytes(bytes) => bytes.len() as u64,
            ContentKind::Source(source) => source.len(),
            ContentKind::Spooled(_, len) => *len,
        }
    }
}

impl std::fmt::Debug for FileUpdate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let writes: Vec<_> = self.writes.iter().map(|(at, content)| *at..at.saturating_add(content.len())).collect();
        f.debug_struct("Update").field("writes", &writes).field("scratch", &self.scratch).finish_non_exhaustive()
    }
}

impl FileUpdate {
    /// Creates an update without changes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Overwrites bytes from `at` on, or appends after the end of the file. If writes overlap, the later one
    /// counts.
    pub fn write(&mut self, at: u64, content: impl Into<WriteContent>) {
        let content = content.into();
        if content.len() > 0 {
            self.writes.push((at, content));
        }
    }

    /// Does the same as [`FileUpdate::write`], for content that is made piece by piece. Large content waits in a
    /// temporary file.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Io`](crate::ErrorKind::Io) if the temporary file cannot be written.
    pub fn write_piece(&mut self, at: u64, bytes: &[u8]) -> Result<()> {
        let from = self.spool.len();
        self.spool.write_all(bytes).map_err(|e| Error::io("writing a temporary file", e))?;
        let more = bytes.len() as u64;
        match self.writes.last_mut() {
            Some((start, WriteContent(ContentKind::Spooled(first, len)))) if *start + *len == at && *first + *len == from => {
                *len += more;
            }
            _ => self.write(at, WriteContent(ContentKind::Spooled(from, more))),
        }
        Ok(())
    }

    /// Marks bytes as meaningless, such as unused space: overwriting them need not be undone.
    pub fn scratch(&mut self, region: Range<u64>) {
        if !region.is_empty() {
            self.scratch.push(region);
        }
    }

    /// Sets the expected content at a place: the file is left alone if something else is there.
    pub fn expect(&mut self, at: u64, bytes: Vec<u8>) {
        self.expected.push((at, bytes));
    }

    /// Returns the number of bytes that the update writes into the file, without its journal.
    pub fn written_size(&self) -> u64 {
        self.writes.iter().map(|(_, content)| content.len()).sum()
    }

    /// Reads from content of this update.
    fn read_content(&self, content: &WriteContent, at: u64, into: &mut [u8]) -> Result<()> {
        match &content.0 {
            ContentKind::Bytes(bytes) => copy_at(bytes, at, into),
            ContentKind::Source(source) => source.read_at(at, into),
            ContentKind::Spooled(first, _) => {
                self.spool.read_at(first + at, into).map_err(|e| Error::io("reading a temporary file", e))
            }
        }
    }

    /// Length of a file of `old_len` bytes afterwards.
    fn new_len(&self, old_len: u64) -> u64 {
        self.writes.iter().map(|(at, content)| at.saturating_add(content.len())).fold(old_len, u64::max)
    }

    /// The sectors that are written to, within the old length, and the writes that touch each run of them.
    fn touched_sectors(&self, old_len: u64) -> Vec<(Range<u64>, Vec<usize>)> {
        let mut order: Vec<usize> = (0..self.writes.len()).collect();
        order.sort_by_key(|index| self.writes.get(*index).map_or(0, |(at, _)| *at));
        let mut runs: Vec<(Range<u64>, Vec<usize>)> = Vec::new();
        for index in order {
            let Some((at, content)) = self.writes.get(index) else { continue };
            if *at >= old_len {
                continue;
            }
            let end = at.saturating_add(content.len()).min(old_len);
            let sectors = at / SECTOR_SIZE * SECTOR_SIZE..end.div_ceil(SECTOR_SIZE).saturating_mul(SECTOR_SIZE).min(old_len);
            match runs.last_mut().filter(|(run, _)| sectors.start <= run.end) {
                Some((run, writes)) => {
                    run.end = run.end.max(sectors.end);
                    writes.push(index);
                }
                None => runs.push((sectors, vec![index])),
            }
        }
        for (_, writes) in &mut runs {
            writes.sort_unstable();
        }
        runs
    }

    /// The bytes within the old length that become others: what is written into these regions, or into scratch.
    pub(super) fn changed_ranges(&self, regions: &[Range<u64>], old_len: u64) -> Vec<Range<u64>> {
        let mut touched = Vec::new();
        for (at, content) in &self.writes {
            let end = at.saturating_add(content.len()).min(old_len);
            let both = |place: &Range<u64>| place.start.max(*at)..place.end.min(end);
            touched.extend(regions.iter().chain(&self.scratch).map(both).filter(|part| part.start < part.end));
        }
        touched
    }

    /// Lays the writes with these numbers over bytes that begin at `at`.
    fn overlay_writes(&self, writes: &[usize], at: u64, bytes: &mut [u8]) -> Result<()> {
        let end = at + bytes.len() as u64;
        for (start, content) in writes.iter().filter_map(|index| self.writes.get(*index)) {
            let (from, to) = ((*start).max(at), start.saturating_add(content.len()).min(end));
            if from < to
                && let Some(part) = bytes.get_mut((from - at) as usize..(to - at) as usize)
            {
                self.read_content(content, from - start, part)?;
            }
        }
        Ok(())
    }

    /// A range without the scratch in it.
    fn without_scratch(&self, range: Range<u64>) -> Vec<Range<u64>> {
        let mut kept = vec![range];
        for scratch in &self.scratch {
            kept = kept
                .into_iter()
                .flat_map(|part| [part.start..part.end.min(scratch.start), part.start.max(scratch.end)..part.end])
                .filter(|part| part.start < part.end)
                .collect();
        }
        kept.sort_by_key(|part| part.start);
        kept
    }

    /// Gives `put` the old and the new bytes of each change, with their offset.
    ///
    /// # Errors
    /// Returns an error if the file or the new content cannot be read, and the errors of `put`.
    pub(super) fn save_changes(
        &self,
        file: &File,
        old_len: u64,
        put: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<JournalRecord> {
        let mut record = JournalRecord { old_len, new_len: self.new_len(old_len), ..JournalRecord::default() };
        let touched = self.touched_sectors(old_len);
        for (run, writes) in &touched {
            for part in self.without_scratch(run.clone()) {
                self.save_part(file, part, writes, &mut record, put)?;
            }
        }
        self.save_samples(&mut record, put)?;
        self.save_fixed(file, &touched, &mut record)?;
        Ok(record)
    }

    /// Saves the sectors of a part that become others.
    fn save_part(
        &self,
        file: &File,
        part: Range<u64>,
        writes: &[usize],
        record: &mut JournalRecord,
        put: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let mut at = part.start;
        while at < part.end {
            // Pieces end where sectors do.
            let end = ((at / SECTOR_SIZE * SECTOR_SIZE).saturating_add(BUFFER_SIZE)).min(part.end);
            let mut old = vec![0; to_usize(end - at)?];
            read_exact_at(file, at, &mut old).map_err(read_error)?;
            let mut new = old.clone();
            self.overlay_writes(writes, at, &mut new)?;
            for differing in find_differing_ranges(at, &old, &new) {
                let here = (differing.start - at) as usize..(differing.end - at) as usize;
                put(old.get(here.clone()).unwrap_or(&[]))?;
                put(new.get(here).unwrap_or(&[]))?;
                record.regions.push(differing);
            }
            at = end;
        }
        Ok(())
    }

    /// Saves samples of what is appended.
    fn save_samples(&self, record: &mut JournalRecord, put: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let (start, end) = (record.old_len, record.new_len);
        let every = SAMPLE_EVERY.max((end - start) / MAX_SAMPLES).next_multiple_of(SECTOR_SIZE);
        let behind = |(at, content): &(u64, WriteContent)| at.saturating_add(content.len()) > start;
        let writes: Vec<usize> =
            self.writes.iter().enumerate().filter(|(_, write)| behind(write)).map(|(index, _)| index).collect();
        let mut at = start;
        while at < end {
            let sector_end = (at / SECTOR_SIZE + 1).saturating_mul(SECTOR_SIZE);
            let sample = at..sector_end.min(end);
            let mut bytes = vec![0; (sample.end - sample.start) as usize];
            self.overlay_writes(&writes, sample.start, &mut bytes)?;
            put(&bytes)?;
            record.samples.push(sample);
            let last = (end - 1) / SECTOR_SIZE * SECTOR_SIZE;
            at = if sector_end >= end { end } else { (at / SECTOR_SIZE * SECTOR_SIZE + every).min(last.max(sector_end)) };
        }
        Ok(())
    }

    /// Remembers sectors that stay unchanged: at both ends, and here and there between.
    fn save_fixed(&self, file: &File, touched: &[(Range<u64>, Vec<usize>)], record: &mut JournalRecord) -> Result<()> {
        let sectors = record.old_len.div_ceil(SECTOR_SIZE);
        let step = (sectors / UNCHANGED_BETWEEN).max(1);
        let mut numbers: Vec<u64> = (0..UNCHANGED_AT_ENDS.min(sectors)).collect();
        numbers.extend((0..sectors).step_by(usize::try_from(step).unwrap_or(usize::MAX)));
        numbers.extend(sectors.saturating_sub(UNCHANGED_AT_ENDS)..sectors);
        numbers.sort_unstable();
        numbers.dedup();
        let meets = |place: &Range<u64>, range: &Range<u64>| place.start < range.end && range.start < place.end;
        for number in numbers {
            let place = number * SECTOR_SIZE..((number + 1) * SECTOR_SIZE).min(record.old_len);
            let changes = touched.iter().any(|(run, _)| meets(&place, run));
            if changes || self.scratch.iter().any(|scratch| meets(&place, scratch)) {
                continue;
            }
            let mut bytes = vec![0; (place.end - place.start) as usize];
            read_exact_at(file, place.start, &mut bytes).map_err(read_error)?;
            record.unchanged_samples.push((place, Sha256::digest(&bytes).into()));
        }
        Ok(())
    }

    /// Writes what needs no saving: into scratch, and after the old end.
    ///
    /// # Errors
    /// Returns an error if the content cannot be read, and the errors of `write`.
    pub(super) fn write_unsaved(&self, old_len: u64, write: &mut dyn FnMut(u64, &[u8]) -> Result<()>) -> Result<()> {
        for (at, content) in &self.writes {
            let end = at.saturating_add(content.len());
            let inside = |scratch: &Range<u64>| (*at).max(scratch.start)..end.min(scratch.end).min(old_len);
            let mut parts: Vec<Range<u64>> = self.scratch.iter().map(inside).collect();
            parts.push((*at).max(old_len)..end);
            for part in parts.into_iter().filter(|part| part.start < part.end) {
                let mut here = part.start;
                let mut piece = Vec::new();
                while here < part.end {
                    piece.resize(to_usize((part.end - here).min(4 << 20))?, 0);
                    self.read_content(content, here - at, &mut piece)?;
                    write(here, &piece)?;
                    here += piece.len() as u64;
                }
            }
        }
        Ok(())
    }

    /// Returns the bytes that must be in the file: those that the caller has, and those of the source at
    /// overwritten places.
    ///
    /// # Errors
    /// Returns an error if the source cannot be read.
    pub(super) fn read_expected(&self, read: &dyn Source) -> Result<ExpectedBytes> {
        let mut list = self.expected.clone();
        let len = read.len();
        let runs = self.touched_sectors(len).into_iter().map(|(run, _)| run.start..run.end.min(run.start + 8 * SECTOR_SIZE));
        for part in runs.chain([0..len.min(SECTOR_SIZE), len.saturating_sub(SECTOR_SIZE)..len]) {
            let mut bytes = vec![0; to_usize(part.end - part.start)?];
            read.read_at(part.start, &mut bytes)?;
            list.push((part.start, bytes));
        }
        Ok(ExpectedBytes(list))
    }
}

/// Bytes that must be at their places.
pub(super) struct ExpectedBytes(Vec<(u64, Vec<u8>)>);

impl ExpectedBytes {
    /// Returns `true` if they are.
    pub(super) fn is_in(&self, file: &File) -> bool {
        self.0.iter().all(|(at, bytes)| {
            let mut there = vec![0; bytes.len()];
            read_exact_at(file, *at, &mut there).is_ok() && there == *bytes
        })
    }
}

fn read_error(error: std::io::Error) -> Error {
    Error::io("reading what will be overwritten", error)
}

/// Returns the runs of sectors in which two byte strings of the same length, which begin at `at`, differ.
fn find_differing_ranges(at: u64, old: &[u8], new: &[u8]) -> Vec<Range<u64>> {
    let mut runs: Vec<Range<u64>> = Vec::new();
    let mut done = 0;
    while done < old.len() {
        let here = at + done as u64;
        let end = (done + (SECTOR_SIZE - here % SECTOR_SIZE) as usize).min(old.len());
        if old.get(done..end) != new.get(done..end) {
            match runs.last_mut().filter(|run| run.end == here) {
                Some(run) => run.end = at + end as u64,
                None => runs.push(here..at + end as u64),
            }
        }
        done = end;
    }
    runs
}
