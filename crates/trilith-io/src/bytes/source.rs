//! Random access to bytes, whatever holds them.

use std::sync::Arc;

use super::backing::SourceBacking;
use super::huge_pages::HugePageMemory;
use super::pieces::{Opaque, PieceDecoding};
use crate::error::{Error, Result};
use crate::limits::Limits;

/// The cost of reading at a place, and the use of announcing reads.
///
/// ```
/// use trilith_io::bytes::{Access, AccessCost, MemorySource, Source};
/// assert_eq!(MemorySource::new(vec![0; 8], "memory").access(), Access::RANDOM);
/// assert_eq!((Access::REQUEST.cost, Access::REQUEST.prefetch_helps), (AccessCost::Request, true));
/// # Ok::<(), trilith_io::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Access {
    /// The cost of reading at a place.
    pub cost: AccessCost,
    /// `true` if it saves time to announce the ranges that are read soon in one [`Source::prefetch`]: a server sends them
    /// together, and a decoder uses all cores.
    pub prefetch_helps: bool,
}

/// The cost of reading at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AccessCost {
    /// Almost nothing.
    Random,
    /// A request to a server.
    Request,
    /// Sequential: reading at an offset reads everything before it.
    Sequential,
}

impl Access {
    /// Bytes at hand: memory, or a file on this machine.
    pub const RANDOM: Self = Self { cost: AccessCost::Random, prefetch_helps: false };
    /// Bytes of a server that sends any range.
    pub const REQUEST: Self = Self { cost: AccessCost::Request, prefetch_helps: true };
    /// Bytes that come from front to back only.
    pub const SEQUENTIAL: Self = Self { cost: AccessCost::Sequential, prefetch_helps: false };

    /// Returns the cost of reading what is put together of several sources: that of the most expensive one.
    #[doc(hidden)]
    pub fn join<'s>(sources: impl Iterator<Item = &'s SourceRef>) -> Self {
        sources.map(|source| source.access()).fold(Self::RANDOM, |one, other| Self {
            cost: match (one.cost, other.cost) {
                (AccessCost::Request, _) | (_, AccessCost::Request) => AccessCost::Request,
                (AccessCost::Sequential, _) | (_, AccessCost::Sequential) => AccessCost::Sequential,
                (AccessCost::Random, AccessCost::Random) => AccessCost::Random,
            },
            prefetch_helps: one.prefetch_helps || other.prefetch_helps,
        })
    }
}

/// The source that the bytes of a [`Source`] come from, and in what way.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub enum SourceOrigin<'s> {
    /// Each byte is at the same offset in the other source.
    Same(&'s dyn Source),
    /// Byte 0 is this byte of the other source, and all others follow.
    Part(&'s dyn Source, u64),
    /// The bytes are decoded, joined or computed.
    Made(&'s dyn Source),
}

impl<'s> SourceOrigin<'s> {
    /// Returns the other source.
    pub fn source(self) -> &'s dyn Source {
        match self {
            Self::Same(source) | Self::Part(source, _) | Self::Made(source) => source,
        }
    }
}

/// Fills `into` from `offset` on, where the bytes are those of runs that follow each other. `run` finds the one of an offset, and
/// how many of the bytes that are still wanted it holds; `fill` reads them.
pub fn split_runs<'b, R>(
    mut offset: u64,
    mut into: &'b mut [u8],
    run: impl Fn(u64, u64) -> Result<(R, u64)>,
    mut fill: impl FnMut(R, &'b mut [u8]) -> Result<()>,
) -> Result<()> {
    while !into.is_empty() {
        let (found, count) = run(offset, into.len() as u64)?;
        let (now, later) = std::mem::take(&mut into).split_at_mut(to_usize(count)?);
        fill(found, now)?;
        offset = offset.saturating_add(count);
        into = later;
    }
    Ok(())
}

/// Bytes that can be read at any place: a slice, a file, a map, a remote object.
///
/// Implementations hold no position, so one source serves many threads.
///
/// A source needs two methods. The others say more about it, and have defaults that fit bytes of any kind.
///
/// ```
/// use trilith_io::bytes::{Source, read_vec};
/// use trilith_io::{Error, Limits, Result};
///
/// /// The bytes of a string.
/// struct TextType(&'static str);
///
/// impl Source for TextType {
///     fn len(&self) -> u64 {
///         self.0.len() as u64
///     }
///
///     fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<()> {
///         let rest = usize::try_from(offset).ok().and_then(|offset| self.0.as_bytes().get(offset..));
///         let part = rest.and_then(|rest| rest.get(..into.len()));
///         into.copy_from_slice(part.ok_or_else(|| Error::malformed("the text is too short").at_byte(offset))?);
///         Ok(())
///     }
/// }
///
/// assert_eq!(read_vec(&TextType("0123456789"), 2, 6, &Limits::default())?, b"234567");
/// assert!(TextType("0").read_at(0, &mut [0; 2]).is_err());
/// # Ok::<(), trilith_io::Error>(())
/// ```
#[allow(clippy::len_without_is_empty, reason = "an empty source is nothing anybody asks for")]
pub trait Source: Send + Sync {
    /// Returns the number of bytes.
    fn len(&self) -> u64;

    /// Fills `into` with the bytes from `offset` on.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if the bytes end before `into` is full, and
    /// [`ErrorKind::Io`](crate::ErrorKind::Io) if they cannot be read.
    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<()>;

    /// Fills each of these buffers with the bytes from the offset next to it on, as [`Source::read_at`] does; a file checks once
    /// for all of them that it is unchanged.
    ///
    /// # Errors
    /// Returns the errors of [`Source::read_at`].
    fn read_parts(&self, parts: &mut [(u64, &mut [u8])]) -> Result<()> {
        parts.iter_mut().try_for_each(|(offset, into)| self.read_at(*offset, into))
    }

    /// Returns the number of leading bytes that are there: fewer than [`Source::len`] if the end is missing.
    fn available_len(&self) -> u64 {
        match self.origin() {
            Some(SourceOrigin::Same(inner)) => inner.available_len().min(self.len()),
            _ => self.len(),
        }
    }

    /// The bytes themselves if they are in memory, without a copy.
    fn view(&self, offset: u64, len: u64) -> Option<&[u8]> {
        let _ = (offset, len);
        None
    }

    /// Announces that these ranges will be read soon, in this order. A remote source fetches them together.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Io`](crate::ErrorKind::Io) if they cannot be fetched.
    fn prefetch(&self, ranges: &[std::ops::Range<u64>]) -> Result<()> {
        match self.origin() {
            Some(SourceOrigin::Same(inner)) => inner.prefetch(ranges),
            Some(SourceOrigin::Part(inner, start)) => {
                inner.prefetch(&ranges.iter().map(|range| shift_range(range, start)).collect::<Vec<_>>())
            }
            Some(SourceOrigin::Made(_)) | None => Ok(()),
        }
    }

    /// Gives a range to `take` from front to back, `piece` bytes at a time and fewer the last time, while the
    /// next ones are fetched; false, and nothing taken, if reading piece by piece is as good.
    ///
    /// # Errors
    /// Returns the errors of [`Source::read_at`], and those of `take`.
    fn stream(&self, range: std::ops::Range<u64>, piece: usize, take: &mut dyn FnMut(&mut [u8]) -> Result<()>) -> Result<bool> {
        let _ = (range, piece, take);
        Ok(false)
    }

    /// Returns the source that these bytes come from, and in what way. The defaults of the other methods follow it.
    fn origin(&self) -> Option<SourceOrigin<'_>> {
        None
    }

    /// Returns the way in which the bytes are decoded. Returns None if they are stored unchanged, or are those of the origin.
    fn pieces(&self) -> Option<&dyn PieceDecoding> {
        None
    }

    /// Returns the file, object or memory that the bytes come from in the end. Returns None for bytes without a file.
    fn backing(&self) -> Option<&dyn SourceBacking> {
        self.origin()?.source().backing()
    }

    /// Returns the cost of reading at a place, and the use of announcing reads.
    fn access(&self) -> Access {
        self.origin().map_or(Access::RANDOM, |origin| origin.source().access())
    }

    /// Returns the name for messages: a path or URL. Without another it is that of the origin.
    fn name(&self) -> &str {
        self.origin().map_or("", |origin| origin.source().name())
    }
}

/// A shared source.
pub type SourceRef = Arc<dyn Source>;

/// Bytes in memory.
#[derive(Debug, Clone)]
pub struct MemorySource {
    bytes: Arc<HugePageMemory>,
    name: String,
}

impl MemorySource {
    /// Bytes that this source owns, and what to call them in messages.
    pub fn new(bytes: Vec<u8>, name: impl Into<String>) -> Self {
        Self { bytes: Arc::new(HugePageMemory::Vec(bytes)), name: name.into() }
    }

    /// A copy of bytes, which reads and writes faster than a `Vec` if it is large.
    pub fn copy_of(bytes: &[u8], name: impl Into<String>) -> Self {
        Self { bytes: Arc::new(HugePageMemory::copy_of(bytes)), name: name.into() }
    }
}

impl Source for MemorySource {
    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        copy_at(&self.bytes, offset, into)
    }

    fn view(&self, offset: u64, len: u64) -> Option<&[u8]> {
        let start = usize::try_from(offset).ok()?;
        let end = start.checked_add(usize::try_from(len).ok()?)?;
        self.bytes.get(start..end)
    }

    fn pieces(&self) -> Option<&dyn PieceDecoding> {
        Some(&Opaque("its elements are in memory, or in the text of the tree, and not in a block"))
    }

    fn name(&self) -> &str {
        &self.name
    }
}

/// A part of another source, counted from its own start: a file embedded in another file.
pub struct WindowSource {
    inner: SourceRef,
    start: u64,
    len: u64,
}

impl WindowSource {
    /// The bytes `start..start + len` of `inner`.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if `inner` is shorter.
    pub fn new(inner: SourceRef, start: u64, len: u64) -> Result<Self> {
        end_in_file(start, len, inner.len())?;
        Ok(Self { inner, start, len })
    }
}

impl Source for WindowSource {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        end_in_file(offset, into.len() as u64, self.len)?;
        self.inner.read_at(self.start + offset, into)
    }

    fn read_parts(&self, parts: &mut [(u64, &mut [u8])]) -> Result<()> {
        let mut moved = Vec::with_capacity(parts.len());
        for (offset, into) in parts {
            end_in_file(*offset, into.len() as u64, self.len)?;
            moved.push((self.start + *offset, &mut **into));
        }
        self.inner.read_parts(&mut moved)
    }

    fn view(&self, offset: u64, len: u64) -> Option<&[u8]> {
        if offset.checked_add(len)? > self.len {
            return None;
        }
        self.inner.view(self.start + offset, len)
    }

    fn stream(&self, range: std::ops::Range<u64>, piece: usize, take: &mut dyn FnMut(&mut [u8]) -> Result<()>) -> Result<bool> {
        if range.start > range.end || range.end > self.len {
            return Ok(false);
        }
        self.inner.stream(self.start + range.start..self.start + range.end, piece, take)
    }

    fn origin(&self) -> Option<SourceOrigin<'_>> {
        Some(SourceOrigin::Part(&*self.inner, self.start))
    }
}

/// Bytes that were made of another source and are kept apart from it: unpacked, or a description of it. Changes and
/// remarks of the other source hold for them, too.
pub struct DerivedSource {
    bytes: SourceRef,
    origin: SourceRef,
}

impl DerivedSource {
    /// `bytes`, which were made of `from`.
    pub fn new(bytes: SourceRef, from: SourceRef) -> Self {
        Self { bytes, origin: from }
    }
}

impl Source for DerivedSource {
    fn len(&self) -> u64 {
        self.bytes.len()
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        self.bytes.read_at(offset, into)
    }

    fn view(&self, offset: u64, len: u64) -> Option<&[u8]> {
        self.bytes.view(offset, len)
    }

    fn origin(&self) -> Option<SourceOrigin<'_>> {
        Some(SourceOrigin::Made(&*self.origin))
    }

    fn access(&self) -> Access {
        // The derived bytes are at hand, whatever it cost to make them.
        self.bytes.access()
    }

    fn name(&self) -> &str {
        self.bytes.name()
    }
}

/// Reads `len` bytes from `offset` on into fresh memory, after checking that they exist and may be held.
///
/// # Errors
/// Returns the errors of [`Source::read_at`] and [`ErrorKind::Limit`](crate::ErrorKind::Limit).
pub fn read_vec(source: &dyn Source, offset: u64, len: u64, limits: &Limits) -> Result<Vec<u8>> {
    end_in_file(offset, len, source.len())?;
    limits.charge_memory(len, "reading")?;
    let mut bytes = vec![0; to_usize(len)?];
    source.read_at(offset, &mut bytes)?;
    Ok(bytes)
}

/// The way in which pieces of a source are handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PieceAccess {
    /// Bytes that are in memory are lent, others are copied.
    Borrow,
    /// All bytes are copied.
    Copy,
}

/// Gives a range of a source to `take`, at most `size` bytes at a time.
///
/// # Errors
/// Returns the errors of [`Source::read_at`], and those of `take`.
pub fn for_each_piece(
    source: &dyn Source,
    range: std::ops::Range<u64>,
    size: u64,
    access: PieceAccess,
    take: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let mut piece = Vec::new();
    let mut at = range.start;
    while at < range.end {
        let n = (range.end - at).min(size);
        let seen = match access {
            PieceAccess::Borrow => source.view(at, n),
            PieceAccess::Copy => None,
        };
        match seen {
            Some(bytes) => take(bytes)?,
            None => {
                piece.resize(to_usize(n)?, 0);
                source.read_at(at, &mut piece)?;
                take(&piece)?;
            }
        }
        at += n;
    }
    Ok(())
}

/// Returns a range of a part as a range of the whole, in which the part begins at `start`.
pub(super) fn shift_range(range: &std::ops::Range<u64>, start: u64) -> std::ops::Range<u64> {
    start.saturating_add(range.start)..start.saturating_add(range.end)
}

/// Sorts ranges and joins those that overlap or are within `gap` bytes.
pub(super) fn coalesce_ranges(mut ranges: Vec<std::ops::Range<u64>>, gap: u64) -> Vec<std::ops::Range<u64>> {
    ranges.retain(|range| range.start < range.end);
    ranges.sort_unstable_by_key(|range| (range.start, range.end));
    let mut out: Vec<std::ops::Range<u64>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match out.last_mut() {
            Some(last) if range.start <= last.end.saturating_add(gap) => last.end = last.end.max(range.end),
            _ => out.push(range),
        }
    }
    out
}

/// Copies bytes from `offset` on.
///
/// # Errors
/// Returns the errors of [`end_in_file`].
pub(super) fn copy_at(bytes: &[u8], offset: u64, into: &mut [u8]) -> Result<()> {
    let end = end_in_file(offset, into.len() as u64, bytes.len() as u64)?;
    into.copy_from_slice(bytes.get(to_usize(offset)?..to_usize(end)?).unwrap_or_default());
    Ok(())
}

/// A size that must fit in this machine's memory.
///
/// # Errors
/// Returns [`ErrorKind::Limit`](crate::ErrorKind::Limit) if it does not.
pub fn to_usize(n: u64) -> Result<usize> {
    usize::try_from(n).map_err(|_| Error::limit(format!("{n} bytes do not fit in the memory of this machine")))
}

/// Returns the end of `len` bytes from `offset` on in a file of `size` bytes.
///
/// # Errors
/// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if the file ends before.
pub(super) fn end_in_file(offset: u64, len: u64, size: u64) -> Result<u64> {
    end_in("file", offset, len, size).map_err(|error| error.at_byte(offset))
}

/// Copies as many bytes as there are on both sides, and returns their number.
#[inline]
pub fn copy(from: &[u8], to: &mut [u8]) -> usize {
    let n = from.len().min(to.len());
    if let (Some(from), Some(to)) = (from.get(..n), to.get_mut(..n)) {
        to.copy_from_slice(from);
    }
    n
}

/// Does the same as `end_in_file` in the bytes of something else, by its name.
pub fn end_in(whole: &str, offset: u64, len: u64, size: u64) -> Result<u64> {
    offset.checked_add(len).filter(|end| *end <= size).ok_or_else(|| {
        Error::malformed(format!("the {whole} ends at byte {size}, but {len} bytes are expected from byte {offset} on"))
    })
}
