//! The content of a journal: what an update in place overwrites, and how to tell that it belongs to a file.
//!
//! ```text
//! mark                      16 bytes
//! for each region           old bytes, new bytes
//! for each sample after the old end      new bytes
//! for each region           offset, length
//! for each sample           offset, length
//! for each unchanged sector offset, length, SHA-256
//! old length, new length, number of regions, of samples, of sectors
//! SHA-256 of everything that
//! ```
//!
//! Numbers are unsigned 64-bit integers, most significant byte first. A journal knows content and nothing
//! about where the file is, so that it holds for a copy, on another device, and after a restore. It belongs
//! to a file whose length is between the two, in which every byte of every region is the old or the new one,
//! every sampled byte after the old end the new one or zero, and the unchanged sectors are what they were.

use std::fs::File;
use std::ops::Range;

use sha2::{Digest, Sha256};

use super::Cursor;
use super::platform::read_exact_at;

pub(super) const MAGIC: &[u8; 16] = b"trilith journal3";

/// Size of the unit that disks write as a whole.
pub(super) const SECTOR_SIZE: u64 = 512;

/// Numbers at the end, and the checksum after them.
const FOOTER_LEN: u64 = 5 * 8 + 32;

/// The tables of a journal; the bytes themselves stay in its file.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct JournalRecord {
    pub old_len: u64,
    pub new_len: u64,
    /// The overwritten regions: sorted, disjoint, within the old length.
    pub regions: Vec<Range<u64>>,
    /// Pieces after the old end whose new content is known.
    pub samples: Vec<Range<u64>>,
    /// Sectors that do not change, with their SHA-256.
    pub unchanged_samples: Vec<(Range<u64>, [u8; 32])>,
}

impl JournalRecord {
    /// The tables and numbers, as they are after the bytes; without the checksum.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let number = |n: u64, out: &mut Vec<u8>| out.extend_from_slice(&n.to_be_bytes());
        for range in self.regions.iter().chain(&self.samples) {
            number(range.start, &mut bytes);
            number(range.end - range.start, &mut bytes);
        }
        for (range, hash) in &self.unchanged_samples {
            number(range.start, &mut bytes);
            number(range.end - range.start, &mut bytes);
            bytes.extend_from_slice(hash);
        }
        let counts = [self.regions.len(), self.samples.len(), self.unchanged_samples.len()].map(|n| n as u64);
        for n in [self.old_len, self.new_len].into_iter().chain(counts) {
            number(n, &mut bytes);
        }
        bytes
    }

    /// Reads the tables of a journal; None if it is none, or its tables would take more than `memory`.
    pub(super) fn read_tables(journal: &File, memory: u64) -> Option<Self> {
        let len = journal.metadata().ok()?.len();
        let mut mark = [0; MAGIC.len()];
        read_exact_at(journal, 0, &mut mark).ok()?;
        let footer_at = len.checked_sub(FOOTER_LEN).filter(|_| &mark == MAGIC)?;
        let mut footer = [0; 40];
        read_exact_at(journal, footer_at, &mut footer).ok()?;
        let mut at = Cursor::new(&footer, 0);
        let (old_len, new_len) = (at.u64().ok()?, at.u64().ok()?);
        let [regions, samples, fixed] = [at.u64().ok()?, at.u64().ok()?, at.u64().ok()?];
        let tables = regions.checked_add(samples)?.checked_mul(16)?.checked_add(fixed.checked_mul(48)?)?;
        let tables_at = footer_at.checked_sub(tables).filter(|_| tables <= memory)?;
        let mut bytes = vec![0; usize::try_from(tables).ok()?];
        read_exact_at(journal, tables_at, &mut bytes).ok()?;
        let mut at = Cursor::new(&bytes, 0);
        let range = |at: &mut Cursor<'_>| -> Option<Range<u64>> {
            let start = at.u64().ok()?;
            Some(start..start.checked_add(at.u64().ok()?)?)
        };
        let mut record = Self { old_len, new_len, ..Self::default() };
        for _ in 0..regions {
            record.regions.push(range(&mut at)?);
        }
        for _ in 0..samples {
            record.samples.push(range(&mut at)?);
        }
        for _ in 0..fixed {
            let place = range(&mut at)?;
            record.unchanged_samples.push((place, at.take(32).ok()?.try_into().ok()?));
        }
        (record.is_sound() && record.bytes_end()? == tables_at).then_some(record)
    }

    /// Returns `true` if the tables make sense by themselves.
    fn is_sound(&self) -> bool {
        let sorted = |ranges: &[Range<u64>]| ranges.windows(2).all(|pair| pair[0].end <= pair[1].start);
        self.old_len <= self.new_len
            && sorted(&self.regions)
            && sorted(&self.samples)
            && self.regions.iter().all(|region| region.start < region.end && region.end <= self.old_len)
            && self.samples.iter().all(|sample| sample.start >= self.old_len && sample.end <= self.new_len)
            && self.unchanged_samples.iter().all(|(range, _)| range.end <= self.old_len && range.end - range.start <= SECTOR_SIZE)
    }

    /// Returns the start of the old bytes of each region in the journal; the new ones follow them.
    pub(super) fn old_byte_offsets(&self) -> Vec<u64> {
        let mut at = MAGIC.len() as u64;
        let place = |region: &Range<u64>| {
            let here = at;
            at = at.saturating_add((region.end - region.start).saturating_mul(2));
            here
        };
        self.regions.iter().map(place).collect()
    }

    fn samples_at(&self) -> Option<u64> {
        self.regions.iter().try_fold(MAGIC.len() as u64, |at, r| at.checked_add((r.end - r.start).checked_mul(2)?))
    }

    fn bytes_end(&self) -> Option<u64> {
        self.samples.iter().try_fold(self.samples_at()?, |at, sample| at.checked_add(sample.end - sample.start))
    }

    /// Returns `true` if the checksum at the end of the journal is that of the bytes before it, or None if it
    /// cannot be read.
    pub(super) fn checksum_ok(journal: &File) -> Option<bool> {
        let end = journal.metadata().ok()?.len().checked_sub(32)?;
        let mut hash = Sha256::new();
        for_each_piece(0..end, |at, piece| {
            read_exact_at(journal, at, piece).ok()?;
            hash.update(&*piece);
            Some(())
        })?;
        let mut sum = [0; 32];
        read_exact_at(journal, end, &mut sum).ok()?;
        Some(hash.finalize()[..] == sum)
    }

    /// Returns `true` if this is the journal of the current content of `file`, or None if that cannot be read.
    pub(super) fn fits(&self, journal: &File, file: &File) -> Option<bool> {
        let len = file.metadata().ok()?.len();
        if len < self.old_len || len > self.new_len {
            return Some(false);
        }
        for (range, expected) in &self.unchanged_samples {
            let mut bytes = vec![0; usize::try_from(range.end - range.start).ok()?];
            read_exact_at(file, range.start, &mut bytes).ok()?;
            if Sha256::digest(&bytes)[..] != *expected {
                return Some(false);
            }
        }
        let mut there = Vec::new();
        for (region, place) in self.regions.iter().zip(self.old_byte_offsets()) {
            let size = region.end - region.start;
            let fits = for_each_piece(0..size, |at, old| {
                let mut new = vec![0; old.len()];
                there.resize(old.len(), 0);
                read_exact_at(journal, place + at, old).ok()?;
                read_exact_at(journal, place + size + at, &mut new).ok()?;
                read_exact_at(file, region.start + at, &mut there).ok()?;
                let is_known = |((byte, old), new): ((&u8, &u8), &u8)| byte == old || byte == new;
                there.iter().zip(&*old).zip(&new).all(is_known).then_some(())
            });
            if fits.is_none() {
                return Some(false);
            }
        }
        let mut place = self.samples_at()?;
        for sample in &self.samples {
            let mut new = vec![0; usize::try_from(sample.end - sample.start).ok()?];
            read_exact_at(journal, place, &mut new).ok()?;
            place += sample.end - sample.start;
            let mut there = vec![0; usize::try_from(sample.end.min(len).saturating_sub(sample.start)).ok()?];
            read_exact_at(file, sample.start, &mut there).ok()?;
            if !there.iter().zip(&new).all(|(byte, new)| *byte == 0 || byte == new) {
                return Some(false);
            }
        }
        Some(true)
    }
}

/// Hands over a range in pieces of at most 64 KiB: where each begins, and room for its bytes.
pub(super) fn for_each_piece(range: Range<u64>, mut take: impl FnMut(u64, &mut [u8]) -> Option<()>) -> Option<()> {
    let mut room = Vec::new();
    let mut at = range.start;
    while at < range.end {
        let len = (range.end - at).min(64 << 10);
        room.resize(len as usize, 0);
        take(at, &mut room)?;
        at += len;
    }
    Some(())
}
