//! The bytes of one item of all files of a family, as one source.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::catalog::Files;
use super::decompress::{Form, inflated};
use super::file_set_ranges::Spread;
use super::parameters::Known;
use super::signature::Signature;
use crate::bytes::{Access, Resolve, Source, SourcePieces, SourceRef, Window, by_runs, is_url, to_usize};
use crate::error::{Error, ErrorKind, Result, Setting};
use crate::layout::{Byteorder, Filter};
use crate::limits::Limits;
use crate::threads::{lock, side_by_side};

/// An item in one file.
pub(super) struct Piece {
    /// Number of the file in the catalog.
    pub row: usize,
    /// Location of the item; `None` if the file omits the item or does not exist.
    pub stored: Option<Stored>,
}

/// The place of an item in one file.
pub(super) struct Stored {
    /// Byte of the file at which it is stored; None if it has no data.
    pub offset: Option<u64>,
    /// Compressed items only: offset of the requested member in the decoded item.
    pub inside: u64,
    /// Compressed items only: number of stored bytes.
    pub stored: Option<u64>,
}

/// Numbers of files as the ranges that choose them: `0:4,7:9`.
pub(super) fn ranges(rows: impl IntoIterator<Item = usize>) -> String {
    const SHOWN: usize = 20;
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for row in rows {
        match ranges.last_mut().filter(|last| last.end == row) {
            Some(last) => last.end += 1,
            None => ranges.push(row..row + 1),
        }
    }
    let more = if ranges.len() > SHOWN { ",…" } else { "" };
    let shown: Vec<_> = ranges.iter().take(SHOWN).map(|range| format!("{}:{}", range.start, range.end)).collect();
    format!("{}{more}", shown.join(","))
}

/// A name of a catalog as a reference. A URL is one already.
pub fn uri_of(file: &str) -> String {
    if is_url(file) { file.to_owned() } else { file.replace('%', "%25") }
}

/// The difference that the order in the signature of a file makes to an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// The order in the signature makes no difference, because the layout gives the byte order.
    Fixed,
    /// The numbers of the item have the other byte order. The value is the number of bytes of each number.
    Words(u64),
    /// Structs, members of packed structs and compressed arrays are not turned.
    Refused,
}

/// The bytes of the item in all files, one file after the other; files are opened as they are read.
pub(super) struct Joined {
    pub name: String,
    pub len: u64,
    pub files: Arc<Files>,
    /// The parameters that each file must have.
    pub known: Arc<Known>,
    pub pieces: Vec<Piece>,
    pub spread: Spread,
    /// Byte value for a file that omits the item.
    pub blank: u8,
    pub filter: Option<Filter>,
    /// The item before it was compressed.
    pub whole: Option<Form>,
    pub native: bool,
    /// The order of the array.
    pub order: Option<Byteorder>,
    /// The difference that another order in the signature of a file makes.
    pub turn: Turn,
    pub limits: Limits,
    pub resolve: Arc<dyn Resolve>,
    /// The files read last: by their places in `pieces`, and the bytes that hold the item from this offset on.
    pub open: Mutex<BTreeMap<usize, Opened>>,
}

pub(super) type Opened = (SourceRef, u64);

/// Files held open at the same time: half of what systems usually allow.
const OPEN: usize = 512;

impl Joined {
    /// The bytes that hold the item in a file.
    fn piece(&self, at: usize, wanted: &[Range<u64>]) -> Result<Opened> {
        if let Some((source, start)) = self.last().get(&at) {
            return Ok((Arc::clone(source), *start));
        }
        // The lock is not held while a file is opened, so that other threads can open files meanwhile.
        let opened = self.opened(at, wanted)?;
        *self.last() = BTreeMap::from([(at, (Arc::clone(&opened.0), opened.1))]);
        Ok(opened)
    }

    fn last(&self) -> MutexGuard<'_, BTreeMap<usize, Opened>> {
        lock(&self.open)
    }

    /// Opens a file of which the bytes `wanted` of the item are read first.
    fn opened(&self, at: usize, wanted: &[Range<u64>]) -> Result<Opened> {
        let file = self.file(at);
        self.opened_as(at, file, wanted).map_err(|e| match e.kind() {
            ErrorKind::Io if self.pieces.len() > 1 => {
                let others = self.pieces.iter().enumerate().filter(|(n, _)| *n != at).map(|(_, piece)| piece.row);
                e.setting("to read the others", Setting::Files(ranges(others))).context(file.to_owned())
            }
            _ => e.context(file.to_owned()),
        })
    }

    fn opened_as(&self, at: usize, file: &str, wanted: &[Range<u64>]) -> Result<Opened> {
        let Some(Stored { offset: Some(offset), inside, stored }) = self.stored(at) else {
            return Err(Error::malformed("it holds no data of the item"));
        };
        self.limits.charge_memory(stored.unwrap_or(0), "a compressed item")?;
        // One request fetches the needed bytes of a remote file: the signature, and the item.
        let row = self.pieces.get(at).map_or(0, |piece| piece.row);
        let mut ranges = vec![0..Signature::LEN];
        match (&self.filter, stored) {
            (Some(_), stored) => ranges.push(*offset..offset.saturating_add(stored.unwrap_or(0))),
            (None, _) => {
                ranges.extend(wanted.iter().map(|part| offset.saturating_add(part.start)..offset.saturating_add(part.end)));
            }
        }
        let size = ranges.iter().map(|range| range.end).max().unwrap_or(0);
        ranges.push(self.known.extent(row, size));
        let (source, _) = self.resolve.resolve_parts(&uri_of(file), &ranges)?;
        self.files.check(file, &*source)?;
        let mut file_order = None;
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
            return Err(Error::invalid_input(message).setting("", Setting::Omit(&["raw"])));
        }
        self.known.check(row, &*source, file_order)?;
        if let (Some(order), Some(found)) = (self.order, file_order.filter(|found| Some(*found) != self.order)) {
            match self.turn {
                Turn::Fixed | Turn::Words(1) => {}
                Turn::Words(word) => return Ok((Arc::new(Turned { inner: source, start: *offset, word }), *offset)),
                Turn::Refused => {
                    let message = format!(
                        "it is {}-endian, and the set is read as {}-endian: only numbers and strings are converted",
                        found.name(),
                        order.name()
                    );
                    return Err(Error::unsupported(message).setting("choose files of one byte order", Setting::Byteorder));
                }
            }
        }
        let (Some(filter), Some(whole)) = (&self.filter, &self.whole) else { return Ok((source, *offset)) };
        let stored = stored.ok_or_else(|| Error::invalid_input("the stored length of the compressed item is not known"))?;
        let window = Window::new(source, *offset, stored)?;
        Ok((inflated(filter, Arc::new(window), whole, &self.limits)?, *inside))
    }
}

/// A file with the numbers of an item in the other byte order.
struct Turned {
    inner: SourceRef,
    /// The byte at which the item begins, and the bytes of each of its numbers.
    start: u64,
    word: u64,
}

impl Source for Turned {
    fn len(&self) -> u64 {
        self.inner.len()
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        if into.is_empty() {
            return Ok(());
        }
        // The swap needs full numbers, so these are read, and the requested part is copied.
        let skip = offset.saturating_sub(self.start) % self.word;
        let end = skip.saturating_add(into.len() as u64);
        let whole = end.checked_next_multiple_of(self.word).unwrap_or(end);
        let mut bytes = vec![0; to_usize(whole)?];
        self.inner.read_at(offset - skip, &mut bytes)?;
        bytes.chunks_exact_mut(to_usize(self.word)?).for_each(<[u8]>::reverse);
        let wanted = bytes.get(to_usize(skip)?..to_usize(end)?).unwrap_or(&[]);
        into.iter_mut().zip(wanted).for_each(|(to, from)| *to = *from);
        Ok(())
    }

    fn name(&self) -> &str {
        self.inner.name()
    }
}

/// The bytes of one file that a read needs: from which byte of its item on, and where to.
type Parts<'b> = Vec<(u64, &'b mut [u8])>;

impl Joined {
    fn read_parts(&self, at: usize, parts: Parts<'_>) -> Result<()> {
        let wanted: Vec<_> = parts.iter().map(|(from, into)| *from..from.saturating_add(into.len() as u64)).collect();
        let (source, start) = self.piece(at, &wanted)?;
        let mut parts = parts.into_iter();
        let read = parts.try_for_each(|(from, into)| source.read_at(start.saturating_add(from), into));
        read.map_err(|e| e.context(self.file(at).to_owned()))
    }

    /// Returns the name of a file.
    fn file(&self, at: usize) -> &str {
        self.pieces.get(at).and_then(|piece| self.files.names.get(piece.row)).map_or("", String::as_str)
    }

    /// Returns the place of the item in a file, or None if it is omitted.
    fn stored(&self, at: usize) -> Option<&Stored> {
        self.pieces.get(at)?.stored.as_ref()
    }
}

impl SourcePieces for Joined {
    fn stored(&self, _: Range<u64>) -> Result<Vec<Range<u64>>> {
        Err(Error::unsupported("the bytes are in many files").hint("`layout locate` says where in each"))
    }
}

impl Source for Joined {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        let mut parts: BTreeMap<usize, Parts<'_>> = BTreeMap::new();
        let run = |offset, wanted| {
            let run = self.spread.run(offset, wanted)?;
            if run.at >= self.pieces.len() {
                return Err(Error::malformed(format!("byte {offset} is after the last file")));
            }
            Ok((run, run.len))
        };
        by_runs(offset, into, run, |run, now| {
            match run.from.filter(|_| self.stored(run.at).is_some()) {
                Some(from) => parts.entry(run.at).or_default().push((from, now)),
                None => now.fill(self.blank),
            }
            Ok(())
        })?;
        side_by_side(parts.into_iter().collect(), self.resolve.at_once(), |(at, parts)| self.read_parts(at, parts))
    }

    fn prefetch(&self, ranges: &[Range<u64>]) -> Result<()> {
        // An item that must be decoded as a whole is held for one file at a time.
        if self.filter.is_some() {
            return Ok(());
        }
        let mut wanted: BTreeMap<usize, Vec<Range<u64>>> = BTreeMap::new();
        for range in ranges {
            let mut start = range.start;
            while start < range.end.min(self.len) && wanted.len() < OPEN {
                let run = self.spread.run(start, range.end - start)?;
                if let Some(from) = run.from.filter(|_| self.stored(run.at).is_some()) {
                    wanted.entry(run.at).or_default().push(from..from.saturating_add(run.len));
                }
                start = start.saturating_add(run.len);
            }
        }
        let opened = Mutex::new(BTreeMap::new());
        let done = side_by_side(wanted.into_iter().collect(), self.resolve.at_once(), |(at, wanted)| {
            let file = self.opened(at, &wanted)?;
            lock(&opened).insert(at, file);
            Ok(())
        });
        // If not all can be held open (or one is missing), reading opens one after the other, and reports it.
        let opened = opened.into_inner().unwrap_or_else(PoisonError::into_inner);
        *self.last() = if done.is_ok() { opened } else { BTreeMap::new() };
        Ok(())
    }

    fn access(&self) -> Access {
        if self.resolve.at_once() > 1 { Access::REQUEST } else { Access::RANDOM }
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn pieces(&self) -> Option<&dyn SourcePieces> {
        Some(self)
    }
}
