//! The bytes of one item of all files of a family, as one source.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::byte_swap::{ByteSwap, SwappedSource};
use super::catalog::FileNames;
use super::decompress::{UncompressedForm, decompress_array};
use super::file_set_ranges::ByteArrangement;
use super::parameters::FirstFileParams;
use super::signature::Signature;
use crate::bytes::{Access, PieceDecoding, Resolve, Source, SourceRef, WindowSource, is_url, split_runs};
use crate::error::{Error, ErrorKind, Result, SuggestedSetting};
use crate::layout::{Byteorder, LayoutFilter};
use crate::limits::Limits;
use crate::threads::{for_each_concurrent, lock};

/// An item in one file.
pub(super) struct FilePiece {
    /// Number of the file in the catalog.
    pub row: usize,
    /// Location of the item; `None` if the file omits the item or does not exist.
    pub stored: Option<ItemLocation>,
}

/// The place of an item in one file.
pub(super) struct ItemLocation {
    /// Byte of the file at which it is stored; None if it has no data.
    pub offset: Option<u64>,
    /// Compressed items only: offset of the requested member in the decoded item.
    pub member_offset: u64,
    /// Compressed items only: number of stored bytes.
    pub stored_len: Option<u64>,
}

/// Numbers of files as the ranges that choose them: `0:4,7:9`.
pub(super) fn index_ranges(rows: impl IntoIterator<Item = usize>) -> String {
    const MAX_NAMED_FILES: usize = 20;
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for row in rows {
        match ranges.last_mut().filter(|last| last.end == row) {
            Some(last) => last.end += 1,
            None => ranges.push(row..row + 1),
        }
    }
    let more = if ranges.len() > MAX_NAMED_FILES { ",…" } else { "" };
    let shown: Vec<_> = ranges.iter().take(MAX_NAMED_FILES).map(|range| format!("{}:{}", range.start, range.end)).collect();
    format!("{}{more}", shown.join(","))
}

/// A name of a catalog as a reference. A URL is one already.
pub fn uri_of(file: &str) -> String {
    if is_url(file) { file.to_owned() } else { file.replace('%', "%25") }
}

/// The bytes of the item in all files, one file after the other; files are opened as they are read.
pub(super) struct FileSetSource {
    pub name: String,
    pub len: u64,
    pub files: Arc<FileNames>,
    /// The parameters that each file must have.
    pub expected_params: Arc<FirstFileParams>,
    pub pieces: Vec<FilePiece>,
    pub spread: ByteArrangement,
    /// Byte value for a file that omits the item.
    pub fill_element: u8,
    pub filter: Option<LayoutFilter>,
    /// The item before it was compressed.
    pub uncompressed_item: Option<UncompressedForm>,
    pub native: bool,
    /// The order of the array.
    pub array_order: Option<Byteorder>,
    /// The difference that another byte order of a file makes.
    pub byte_swap: ByteSwap,
    pub limits: Limits,
    pub resolve: Arc<dyn Resolve>,
    /// The files read last: by their places in `pieces`, and the bytes that hold the item from this offset on.
    pub open_files: Mutex<BTreeMap<usize, CachedFile>>,
}

pub(super) type CachedFile = (SourceRef, u64);

/// Files held open at the same time: half of what systems usually allow.
const MAX_OPEN_FILES: usize = 512;

impl FileSetSource {
    /// The bytes that hold the item in a file.
    fn file_source(&self, at: usize, wanted: &[Range<u64>]) -> Result<CachedFile> {
        if let Some((source, start)) = self.lock_last().get(&at) {
            return Ok((Arc::clone(source), *start));
        }
        // The lock is not held while a file is opened, so that other threads can open files meanwhile.
        let opened = self.open_file(at, wanted)?;
        *self.lock_last() = BTreeMap::from([(at, (Arc::clone(&opened.0), opened.1))]);
        Ok(opened)
    }

    fn lock_last(&self) -> MutexGuard<'_, BTreeMap<usize, CachedFile>> {
        lock(&self.open_files)
    }

    /// Opens a file of which the bytes `wanted` of the item are read first.
    fn open_file(&self, at: usize, wanted: &[Range<u64>]) -> Result<CachedFile> {
        let file = self.file_name(at);
        self.opened_as(at, file, wanted).map_err(|e| match e.kind() {
            ErrorKind::Io if self.pieces.len() > 1 => {
                let others = self.pieces.iter().enumerate().filter(|(n, _)| *n != at).map(|(_, piece)| piece.row);
                e.setting("to read the others", SuggestedSetting::Files(index_ranges(others))).context(file.to_owned())
            }
            _ => e.context(file.to_owned()),
        })
    }

    fn opened_as(&self, at: usize, file: &str, wanted: &[Range<u64>]) -> Result<CachedFile> {
        let Some(ItemLocation { offset: Some(offset), member_offset: inside, stored_len: stored }) = self.stored_ranges(at)
        else {
            return Err(Error::malformed("it holds no data of the item"));
        };
        self.limits.charge_memory(stored.unwrap_or(0), "a compressed item")?;
        // One request fetches the needed bytes of a remote file: the signature, and the item.
        let row = self.pieces.get(at).map_or(0, |piece| piece.row);
        let mut ranges = vec![0..Signature::SIGNATURE_LEN];
        match (&self.filter, stored) {
            (Some(_), stored) => ranges.push(*offset..offset.saturating_add(stored.unwrap_or(0))),
            (None, _) => {
                ranges.extend(wanted.iter().map(|part| offset.saturating_add(part.start)..offset.saturating_add(part.end)));
            }
        }
        let size = ranges.iter().map(|range| range.end).max().unwrap_or(0);
        ranges.push(self.expected_params.param_bytes(row, size));
        let (source, _) = self.resolve.resolve_parts(&uri_of(file), &ranges)?;
        self.files.check_file_version(file, &*source)?;
        let mut file_order = self.expected_params.settings.order(row);
        if self.native {
            let found = Signature::read(&*source)?;
            let missing = || {
                Error::malformed("E404: it has no Dudley signature")
                    .at_byte(0)
                    .hint("files without a signature are read as raw ones")
            };
            let found = found.ok_or_else(missing)?;
            file_order = Some(found.order);
        } else if Signature::read(&*source).ok().flatten().is_some() {
            let message = "it has a Dudley signature, but was to be read as a file without one";
            return Err(Error::invalid_input(message).setting("", SuggestedSetting::Remove(&["raw"])));
        }
        self.expected_params.check_params(row, &*source, file_order)?;
        if let (Some(order), Some(found)) = (self.array_order, file_order.filter(|found| Some(*found) != self.array_order)) {
            match &self.byte_swap {
                ByteSwap::None => {}
                ByteSwap::Words(words) => {
                    return Ok((Arc::new(SwappedSource { inner: source, start: *offset, words: Arc::clone(words) }), *offset));
                }
                ByteSwap::Refused => {
                    let message = format!(
                        "it is {}-endian, and the set is read as {}-endian: a compressed item is not converted",
                        found.name(),
                        order.name()
                    );
                    return Err(
                        Error::unsupported(message).setting("choose files of one byte order", SuggestedSetting::Byteorder)
                    );
                }
            }
        }
        let (Some(filter), Some(whole)) = (&self.filter, &self.uncompressed_item) else { return Ok((source, *offset)) };
        let stored = stored.ok_or_else(|| Error::invalid_input("the stored length of the compressed item is not known"))?;
        let window = WindowSource::new(source, *offset, stored)?;
        Ok((decompress_array(filter, Arc::new(window), whole, &self.limits)?, *inside))
    }
}

/// The bytes of one file that a read needs: from which byte of its item on, and where to.
type FileRanges<'b> = Vec<(u64, &'b mut [u8])>;

impl FileSetSource {
    fn read_parts(&self, at: usize, parts: FileRanges<'_>) -> Result<()> {
        let wanted: Vec<_> = parts.iter().map(|(from, into)| *from..from.saturating_add(into.len() as u64)).collect();
        let (source, start) = self.file_source(at, &wanted)?;
        let mut parts = parts.into_iter();
        let read = parts.try_for_each(|(from, into)| source.read_at(start.saturating_add(from), into));
        read.map_err(|e| e.context(self.file_name(at).to_owned()))
    }

    /// Returns the name of a file.
    fn file_name(&self, at: usize) -> &str {
        self.pieces.get(at).and_then(|piece| self.files.names.get(piece.row)).map_or("", String::as_str)
    }

    /// Returns the place of the item in a file, or None if it is omitted.
    fn stored_ranges(&self, at: usize) -> Option<&ItemLocation> {
        self.pieces.get(at)?.stored.as_ref()
    }
}

impl PieceDecoding for FileSetSource {
    fn stored_ranges(&self, _: Range<u64>) -> Result<Vec<Range<u64>>> {
        Err(Error::unsupported("the bytes are in many files").hint("`layout locate` says where in each"))
    }
}

impl Source for FileSetSource {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        let mut parts: BTreeMap<usize, FileRanges<'_>> = BTreeMap::new();
        let run = |offset, wanted| {
            let run = self.spread.run(offset, wanted)?;
            if run.file_offset >= self.pieces.len() {
                return Err(Error::malformed(format!("byte {offset} is after the last file")));
            }
            Ok((run, run.len))
        };
        split_runs(offset, into, run, |run, now| {
            match run.array_offset.filter(|_| self.stored_ranges(run.file_offset).is_some()) {
                Some(from) => parts.entry(run.file_offset).or_default().push((from, now)),
                None => now.fill(self.fill_element),
            }
            Ok(())
        })?;
        for_each_concurrent(parts.into_iter().collect(), self.resolve.parallelism(), |(at, parts)| self.read_parts(at, parts))
    }

    fn prefetch(&self, ranges: &[Range<u64>]) -> Result<()> {
        // An item that must be decoded as a whole is held for one file at a time.
        if self.filter.is_some() {
            return Ok(());
        }
        let mut wanted: BTreeMap<usize, Vec<Range<u64>>> = BTreeMap::new();
        for range in ranges {
            let mut start = range.start;
            while start < range.end.min(self.len) && wanted.len() < MAX_OPEN_FILES {
                let run = self.spread.run(start, range.end - start)?;
                if let Some(from) = run.array_offset.filter(|_| self.stored_ranges(run.file_offset).is_some()) {
                    wanted.entry(run.file_offset).or_default().push(from..from.saturating_add(run.len));
                }
                start = start.saturating_add(run.len);
            }
        }
        let opened = Mutex::new(BTreeMap::new());
        let done = for_each_concurrent(wanted.into_iter().collect(), self.resolve.parallelism(), |(at, wanted)| {
            let file = self.open_file(at, &wanted)?;
            lock(&opened).insert(at, file);
            Ok(())
        });
        // If not all can be held open (or one is missing), reading opens one after the other, and reports it.
        let opened = opened.into_inner().unwrap_or_else(PoisonError::into_inner);
        *self.lock_last() = if done.is_ok() { opened } else { BTreeMap::new() };
        Ok(())
    }

    fn access(&self) -> Access {
        if self.resolve.parallelism() > 1 { Access::REQUEST } else { Access::RANDOM }
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn pieces(&self) -> Option<&dyn PieceDecoding> {
        Some(self)
    }
}
