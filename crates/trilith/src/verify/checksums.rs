//! The checksums that each format has, in one table, and their comparison.
//!
//! A row is a kind of checksum of a format. `verify` compares all rows of the format of a file. Commands that write the covered bytes
//! elsewhere, and edits, call [`SourceBacking::verify_checksum`](crate::bytes::SourceBacking::verify_checksum) of the source of an
//! array or block first, which calls the same comparison. Decoders compare the rows that [`ChecksumKind::is_decoded`] marks.

use std::collections::BTreeMap;
use std::ops::Range;

use super::{BlockReport, VerifyReport};
use crate::asdf::AsdfFile;
use crate::dudley::{DudleyFile, LayoutOrigin, StreamItems};
use crate::error::{Error, ErrorKind, Result, count_noun};
use crate::file::File;
use crate::fits::{FitsFile, Hdu};
use crate::foreign::{self, MetadataChecksums};
use crate::layout::{LayoutEntry, StreamEntryKind};
use crate::progress::Progress;
use crate::threads;

/// A kind of checksum.
#[derive(Debug)]
#[non_exhaustive]
pub struct ChecksumKind {
    /// The format, or `any` if a file of each format may have it.
    pub format: &'static str,
    /// The name, which [`Checksum::kind`] repeats.
    pub name: &'static str,
    /// The bytes that it covers.
    pub covers: &'static str,
    /// `true` if every reader of these bytes compares it, because decoding computes it anyway.
    pub is_decoded: bool,
}

/// The checksums of each format.
pub const CHECKSUMS: &[ChecksumKind] = &[
    row("any", "CRC-32", "a file that is compressed with gzip as a whole", true),
    row("ASDF", "MD5", "the stored bytes of a block", false),
    row("FITS", "DATASUM", "the data unit of an HDU, with its padding", false),
    row("FITS", "CHECKSUM", "an HDU: header, data and padding", false),
    row("FITS", "ZDATASUM", "the decoded image of a losslessly compressed HDU", false),
    row("FITS", "CRC-32", "a tile that is compressed with gzip", true),
    row(
        "HDF5",
        "lookup3",
        "a structure of metadata: superblock of version 2, object header of version 2, B-tree, heap, index of chunks",
        false,
    ),
    row("HDF5", "fletcher32", "a stored chunk", true),
    row("NPZ", "CRC-32", "a deflated member", true),
    row("NPZ", "CRC-32", "a stored member, also by `get` and `digest` of the whole array", false),
    row("Dudley", "fletcher32", "a stored chunk of an array with grid_filters", true),
    row("Dudley", "crc32c", "a stored chunk of an array with grid_filters", true),
    row("Dudley", "crc32", "a decoded chunk of an array with grid_filters", true),
    row("Dudley", "gzip", "a decoded chunk of an array with grid_filters", true),
];

const fn row(format: &'static str, name: &'static str, covers: &'static str, is_decoded: bool) -> ChecksumKind {
    ChecksumKind { format, name, covers, is_decoded }
}

/// Checksums of one kind that were compared.
#[derive(Debug)]
#[non_exhaustive]
pub struct Checksum {
    /// The path of the covered item: an HDU of a FITS file, an array, or a member of an archive; `block 0` for a block of an ASDF file,
    /// and empty for the whole file.
    pub path: String,
    /// The name of a row of [`CHECKSUMS`].
    pub kind: &'static str,
    /// Number of checksums that were compared: that of the chunks of an array.
    pub count: u64,
    /// The problem.
    pub problem: Option<Error>,
}

impl Checksum {
    fn one(path: String, kind: &'static str, problem: Option<Error>) -> Self {
        Self { path, kind, count: 1, problem }
    }
}

/// The parts of a file that may have a checksum, of one kind, and those that no checksum covers.
#[derive(Debug)]
#[non_exhaustive]
pub struct ChecksumCoverage {
    /// The kind of part: `block`, `HDU`, `header` of an HDU, `dataset` of HDF5, `array` or `member`.
    pub part: &'static str,
    /// Number of parts.
    pub total: usize,
    /// The paths of the parts without a checksum; `block 0` for a block of an ASDF file.
    pub without_checksum: Vec<String>,
}

/// Returns the name of the row of a checksum.
fn kind_named(format: &str, name: &str) -> Option<&'static str> {
    CHECKSUMS.iter().find(|row| row.format == format && row.name == name).map(|row| row.name)
}

impl VerifyReport {
    /// Returns the number of compared checksums, those of blocks included.
    pub fn checksum_count(&self) -> u64 {
        let blocks = self.blocks.iter().filter(|block| block.is_compared()).count() as u64;
        self.checksums.iter().fold(blocks, |count, sum| count.saturating_add(sum.count))
    }

    /// Describes the parts that no checksum covers, for example `1 of 3 HDUs has none`; empty if each part has a checksum.
    pub fn coverage_text(&self) -> String {
        let partial = self.coverage.iter().filter(|of| !of.without_checksum.is_empty());
        let texts = partial.map(|of| {
            let count = of.without_checksum.len();
            let verb = if count == 1 { "has" } else { "have" };
            format!("{count} of {} {verb} none", count_noun(of.total, of.part))
        });
        texts.collect::<Vec<_>>().join(", ")
    }
}

/// The blocks of an ASDF file. The checksum of an HDU covers the blocks in it.
pub(super) fn block_coverage(file: &AsdfFile, reports: &[BlockReport], is_covered: bool) -> Result<Option<ChecksumCoverage>> {
    let blocks = file.sections().blocks()?;
    let stored = |number: usize| blocks.iter().find(|block| block.index == number).is_none_or(|block| block.stored_len() > 0);
    let is_bare =
        |report: &&BlockReport| !is_covered && !report.is_compared() && report.problem.is_none() && stored(report.index);
    let without_checksum = reports.iter().filter(is_bare).map(|report| format!("block {}", report.index)).collect();
    Ok((!reports.is_empty()).then_some(ChecksumCoverage { part: "block", total: reports.len(), without_checksum }))
}

/// The CRC of a file that is compressed as a whole, which was compared when it was opened.
pub(super) fn compare_gzip(file: &File) -> Result<Vec<Checksum>> {
    let is_packed = crate::bytes::is_packed(&**file.source())?;
    Ok(is_packed.then(|| Checksum::one(String::new(), "CRC-32", None)).into_iter().collect())
}

/// The sums of the HDUs of a FITS file, the HDUs without any, and the headers without one: only CHECKSUM covers the header.
pub(super) fn compare_hdus(fits: &FitsFile, progress: Progress<'_>) -> Result<(Vec<Checksum>, Vec<ChecksumCoverage>)> {
    let compared = threads::map_parallel(fits.hdus().iter().collect(), |hdu: &Hdu| {
        let len = hdu.end().min(fits.source().len()).saturating_sub(hdu.start());
        fits.limits().charge_work(len)?;
        let sums = fits.compare_checksums(hdu)?;
        progress.add(len);
        let path = format!("/fits/{}", hdu.index());
        let sums: Vec<_> = sums.into_iter().map(|(kind, problem)| Checksum::one(path.clone(), kind, problem)).collect();
        Ok((path, sums))
    })?;
    let coverage = |part| ChecksumCoverage { part, total: compared.len(), without_checksum: Vec::new() };
    let (mut hdus, mut headers) = (coverage("HDU"), coverage("header"));
    for (path, sums) in &compared {
        if sums.is_empty() {
            hdus.without_checksum.push(path.clone());
        } else if sums.iter().all(|sum| sum.kind != "CHECKSUM") {
            headers.without_checksum.push(format!("{path}/header"));
        }
    }
    let checksums = compared.into_iter().flat_map(|(_, sums)| sums).collect();
    Ok((checksums, vec![hdus, headers]))
}

/// The checksums of a file under a layout that are not those of the chunks of one array, and the parts without a checksum.
pub(super) fn compare_parts(
    file: &DudleyFile,
    items: &StreamItems<'_>,
    progress: Progress<'_>,
) -> Result<(Vec<Checksum>, Option<ChecksumCoverage>)> {
    match file.origin() {
        LayoutOrigin::Derived("NPZ") => {
            let members = foreign::compare_members(file.source(), file.limits(), progress)?;
            let coverage = ChecksumCoverage { part: "member", total: members.len(), without_checksum: Vec::new() };
            let compared = members.into_iter().map(|(path, compared)| Checksum::one(path, "CRC-32", compared.err()));
            Ok((compared.collect(), Some(coverage)))
        }
        LayoutOrigin::Derived("HDF5") => {
            let MetadataChecksums { mut ranges, wrong, .. } = foreign::compare_metadata(file.source(), file.limits())?;
            let right = ranges.len().saturating_sub(wrong.len()) as u64;
            let right = (right > 0).then(|| Checksum { path: String::new(), kind: "lookup3", count: right, problem: None });
            let wrong = wrong.into_iter().map(|error| Checksum::one(String::new(), "lookup3", Some(error)));
            ranges.sort_by_key(|range| range.start);
            Ok((right.into_iter().chain(wrong).collect(), Some(array_coverage(file, items, "dataset", &ranges)?)))
        }
        LayoutOrigin::Derived(_) => Ok((Vec::new(), None)),
        // Without chunks a Dudley file has no place for checksums.
        _ if !file.has_grids() => Ok((Vec::new(), None)),
        _ => Ok((Vec::new(), Some(array_coverage(file, items, "array", &[])?))),
    }
}

/// The arrays of a file under a layout, and those of which some stored bytes have no checksum. `ranges` are the bytes that other
/// checksums cover, in order: an HDF5 dataset may be a part of its object header.
fn array_coverage(
    file: &DudleyFile,
    items: &StreamItems<'_>,
    part: &'static str,
    ranges: &[Range<u64>],
) -> Result<ChecksumCoverage> {
    let is_covered = |bytes: Range<u64>| {
        let before = ranges.partition_point(|range| range.start <= bytes.start);
        before.checked_sub(1).and_then(|at| ranges.get(at)).is_some_and(|range| bytes.end <= range.end)
    };
    let mut coverage = ChecksumCoverage { part, total: 0, without_checksum: Vec::new() };
    let outline = if file.has_grids() { Some(file.outline()?) } else { None };
    let grids = outline.iter().flat_map(|outline| outline.entries().filter(|(id, _)| outline.is_grid(*id)));
    let grids: BTreeMap<&str, &LayoutEntry> = grids.map(|(_, entry)| (entry.path.as_str(), entry)).collect();
    // The chunks of an array, and the elements of a list, are entries, too.
    let mut last = (String::new(), true);
    for entry in items.entries() {
        let entry = entry?;
        let path = entry.path.split('[').next().unwrap_or_default();
        let is_chunk = grids.contains_key(path);
        let place = entry.address.and_then(|at| at.checked_add(file.base_offset()));
        let Some(start) = place.filter(|_| !is_chunk && entry.kind == StreamEntryKind::Data && !entry.is_empty()) else {
            continue;
        };
        let has_sum = entry.nbytes.is_some_and(|size| is_covered(start..start.saturating_add(size)));
        if last.0 != path {
            coverage.total += 1;
            last = (path.to_owned(), true);
        }
        if !has_sum && last.1 {
            last.1 = false;
            coverage.without_checksum.push(path.to_owned());
        }
    }
    for (path, entry) in grids {
        coverage.total += 1;
        // The index and the filters are checked with the array.
        match file.has_chunks_without_checksum(entry, &is_covered) {
            Ok(true) => coverage.without_checksum.push(path.to_owned()),
            Ok(false) => {}
            Err(error) if matches!(error.kind(), ErrorKind::Unsupported | ErrorKind::Malformed) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(coverage)
}

/// The checksums of the chunks of an array.
pub(super) fn compare_chunks(file: &DudleyFile, entry: &LayoutEntry, progress: Progress<'_>) -> Result<Option<Checksum>> {
    let format = match file.origin() {
        // The members are compared as a whole.
        LayoutOrigin::Derived("NPZ") => return Ok(None),
        LayoutOrigin::Derived(format) => *format,
        _ => "Dudley",
    };
    let compared = match file.compare_chunk_checksums(entry, progress) {
        Ok(compared) => compared,
        // A filter that is not read here hides the checksum before it; the index is checked with the array.
        Err(error) if matches!(error.kind(), ErrorKind::Unsupported | ErrorKind::Malformed) => None,
        Err(error) => return Err(error),
    };
    let Some(sums) = compared.filter(|sums| sums.count > 0) else { return Ok(None) };
    let Some(kind) = kind_named(format, &sums.filter).or_else(|| kind_named("Dudley", &sums.filter)) else { return Ok(None) };
    let problem = sums.wrong.map(|error| error.context(entry.path.clone()));
    Ok(Some(Checksum { path: entry.path.clone(), kind, count: sums.count, problem }))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop")]
mod tests {
    use super::*;

    /// First tier. The page for users has the same table.
    #[test]
    fn documented_checksums_are_those_of_table() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/how-to/checksums.md");
        let text = std::fs::read_to_string(page).unwrap();
        for ChecksumKind { format, name, covers, is_decoded } in CHECKSUMS {
            let by = if *is_decoded { "by every reader" } else { "by `verify`, and before bytes are written" };
            let row = format!("| {format} | {name} | {covers} | {by} |");
            assert!(text.contains(&row), "the page lacks {row}");
        }
        let rows = text.lines().filter(|line| line.contains("| by every reader |") || line.contains("| by `verify`, and"));
        assert_eq!(rows.count(), CHECKSUMS.len());
    }
}
