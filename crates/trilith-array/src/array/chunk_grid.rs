//! Arrays that are stored as a grid of chunks, each of which is decoded separately.
//!
//! [`ChunkedSource`] is the source of the elements in C order, as if the file stored them so. The decoder of a chunk is
//! handed in. This file finds the chunks that a range of elements needs, has each decoded on any free core, puts
//! its elements into place, and keeps those chunks that the next read may need again.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::{Arc, Mutex};

use super::chunk_cache::{ChunkCache, DecodedChunk, evict_others, register_chunk_cache};
use super::shape::{element_count, unravel};
use crate::bytes::{
    Access, AccessCost, CodingStep, PieceDecoding, Source, SourceBacking, SourceEncoding, SourceOrigin, SourceRef, encoding,
    end_in, stored_ranges, to_usize, verify_backing,
};
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::threads::{lock, map_parallel};

/// Bytes of decoded chunks that are kept for the next read.
const CACHE_SIZE: u64 = 256 << 20;
/// Bytes of elements of which all chunks are kept; of more only those that were needed in part.
const CACHE_ALL_BELOW: u64 = 64 << 20;
/// Bytes of elements that are put together at once if they come from a server, or if their runs are short.
const BUFFER_SIZE: u64 = 32 << 20;
/// Runs of fewer bytes than this are short: a list of them is nearly as large as what they hold.
const MIN_RUN_BYTES: u64 = 256;
/// Bytes of memory for each run.
const RUN_OVERHEAD: u64 = 24;
/// Several threads put together at least this many bytes, even if nothing is to be decoded.
const MIN_PARALLEL_BYTES: usize = 8 << 20;

/// The chunks of a grid, in row-major order.
pub trait ChunkProvider: Send + Sync {
    /// Returns the place of a chunk in [`ChunkProvider::source`], or None if it was never written.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if the file gives an impossible place.
    fn chunk_range(&self, number: u64) -> Result<Option<Range<u64>>>;

    /// The elements of a chunk that was written, `size` bytes in C order.
    ///
    /// # Errors
    /// Returns the errors of the filters of the chunk.
    fn decode_chunk(&self, number: u64, size: u64) -> Result<Vec<u8>>;

    /// Returns the bytes of a chunk without those that pad it, if the chunk is padded. `None` if it is not.
    fn is_unpadded(&self, number: u64) -> Option<Result<Vec<u8>>> {
        let _ = number;
        None
    }

    /// Returns the encoding steps of a chunk and, for each chunk, the steps that it skipped, as bits. The list of
    /// bits is empty if no chunk skipped any. Returns None if no other program could undo the steps.
    ///
    /// # Errors
    /// Returns the errors of [`ChunkProvider::chunk_range`].
    fn encoding_steps(&self) -> Result<Option<(Vec<CodingStep>, Vec<u64>)>> {
        Ok(None)
    }

    /// Returns `true` if elements are in Fortran order within a chunk.
    fn is_in_columns(&self) -> bool {
        false
    }

    /// The bytes that the chunks are in.
    fn source(&self) -> &SourceRef;

    /// Does the same as [`SourceBacking::verify_checksum`], for everything that the chunks are made of.
    ///
    /// # Errors
    /// Returns the errors of [`SourceBacking::verify_checksum`].
    fn verify(&self) -> Result<()> {
        verify_backing(&**self.source())
    }

    /// Returns the name of a chunk in messages.
    fn display_name(&self) -> &'static str {
        "chunk"
    }
}

/// The division of an array into chunks.
#[derive(Debug, Clone)]
pub struct ChunkShape {
    /// The lengths of the axes.
    pub shape: Vec<u64>,
    /// The lengths of a whole chunk.
    pub chunk: Vec<u64>,
    /// Bytes of an element.
    pub item: u64,
    /// `true` if the chunks at the far edges have only the elements that are in the array.
    pub trims_edges: bool,
}

impl ChunkShape {
    /// Returns the number of chunks along each axis.
    pub fn counts(&self) -> Vec<u64> {
        self.shape.iter().zip(&self.chunk).map(|(len, chunk)| len.div_ceil((*chunk).max(1))).collect()
    }

    /// The lengths of a chunk.
    pub fn lengths(&self, number: u64) -> Vec<u64> {
        if self.trims_edges { self.edge_lengths(number) } else { self.chunk.clone() }
    }

    /// The lengths of that part of a chunk which is in the array.
    fn edge_lengths(&self, number: u64) -> Vec<u64> {
        let places = unravel(number, &self.counts());
        let axes = self.shape.iter().zip(&self.chunk).zip(places);
        axes.map(|((len, chunk), place)| len.saturating_sub(place.saturating_mul(*chunk)).min(*chunk)).collect()
    }

    /// Returns an equal grid with as few axes as possible: if chunks span the last axis, their rows are contiguous.
    fn merge_axes(mut self) -> Self {
        if self.trims_edges {
            self.chunk.iter_mut().zip(&self.shape).for_each(|(chunk, len)| *chunk = (*chunk).min((*len).max(1)));
        }
        while let ([.., len, last], [.., chunk, last_chunk]) = (&mut self.shape[..], &mut self.chunk[..])
            && last == last_chunk
            && let (Some(len_of_both), Some(chunk_of_both)) = (len.checked_mul(*last), chunk.checked_mul(*last))
            && *last > 0
        {
            (*len, *chunk) = (len_of_both, chunk_of_both);
            self.shape.pop();
            self.chunk.pop();
        }
        if self.shape.is_empty() {
            (self.shape, self.chunk) = (vec![1], vec![1]);
        }
        self
    }
}

/// The places and the encoding of all chunks in their file, for programs that read it without this library.
#[derive(Debug)]
pub(super) struct ChunkRanges {
    /// The lengths of the axes.
    pub shape: Vec<u64>,
    /// The lengths of a whole chunk.
    pub chunk: Vec<u64>,
    /// Bytes of an element.
    pub item: u64,
    /// `true` if the chunks at the far edges have only the elements that are in the array.
    pub cut_edges: bool,
    /// `true` if elements are in Fortran order within a chunk.
    pub columns: bool,
    /// The encoding steps of each chunk when it was written, in this order.
    pub steps: Vec<CodingStep>,
    /// Encoding steps that each chunk did not go through, as bits; empty if every chunk went through all.
    pub left_out: Vec<u64>,
    /// The place of each chunk in the file, in row-major order; None if it was never written.
    pub places: Vec<Option<Range<u64>>>,
    /// The bytes of an element that was never written.
    pub fill: Vec<u8>,
}

/// The elements of an array in chunks, in C order.
pub struct ChunkedSource {
    cut: ChunkShape,
    /// The shape and that of a chunk with all their axes, of which `cut` may have fewer.
    said: (Vec<u64>, Vec<u64>),
    counts: Vec<u64>,
    chunks: Box<dyn ChunkProvider>,
    /// The bytes of an element that was never written.
    fill: Vec<u8>,
    len: u64,
    limits: Arc<Limits>,
    kept: Arc<Mutex<ChunkCache>>,
}

/// A run of bytes in one chunk: the chunk, and of its bytes.
struct ByteRun {
    number: u64,
    chunk_offset: u64,
    len: u64,
}

/// The wanted runs of one chunk: the place of each in the chunk, and its destination.
struct ChunkPart<'a> {
    number: u64,
    runs: Vec<(u64, &'a mut [u8])>,
    destinations: u64,
    cached: Option<DecodedChunk>,
}

impl ChunkedSource {
    /// The elements; `fill` is one that was never written.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) for sizes that fit nowhere,
    /// [`ErrorKind::Limit`](crate::ErrorKind::Limit) for chunks that are too large.
    pub fn new(cut: ChunkShape, chunks: Box<dyn ChunkProvider>, fill: Vec<u8>, limits: Arc<Limits>) -> Result<Self> {
        let too_large = || Error::malformed("a grid of chunks has over 2^63 bytes");
        if cut.shape.len() != cut.chunk.len() || cut.chunk.contains(&0) || fill.len() as u64 != cut.item {
            return Err(Error::malformed("the shape of a chunk does not fit that of its array"));
        }
        let size = |shape: &[u64]| element_count(shape)?.checked_mul(cut.item).filter(|n| *n < 1 << 63).ok_or_else(too_large);
        let (len, chunk) = (size(&cut.shape)?, size(&cut.chunk)?);
        let said = if cut.shape.is_empty() { (vec![1], vec![1]) } else { (cut.shape.clone(), cut.chunk.clone()) };
        let cut = cut.merge_axes();
        let counts = cut.counts();
        // No chunk is ever decoded if the array has only one and it was not written.
        let is_unwritten = element_count(&counts)? == 1 && matches!(chunks.chunk_range(0), Ok(None));
        if !is_unwritten {
            limits.charge_memory(if cut.trims_edges { chunk.min(len) } else { chunk }, "a chunk")?;
        }
        Ok(Self { cut, said, counts, chunks, fill, len, limits, kept: Arc::default() })
    }

    /// Hands the runs of a range of the elements to `take`, in their order.
    fn for_each_run(&self, range: Range<u64>, take: &mut dyn FnMut(ByteRun) -> Result<()>) -> Result<()> {
        let Some((last, outer)) = self.cut.shape.split_last() else { return Ok(()) };
        let (chunk_last, item) = (self.cut.chunk.last().copied().unwrap_or(1), self.cut.item);
        let row = last.saturating_mul(item);
        if row == 0 {
            return Ok(());
        }
        let (columns, width) = (self.counts.last().copied().unwrap_or(1), chunk_last.saturating_mul(item));
        let mut at = range.start;
        let mut places = unravel(at / row, outer);
        while at < range.end {
            // The chunk and the row in it, along all axes but the last.
            let (mut base, mut inside) = (0u64, 0u64);
            for (axis, place) in places.iter().enumerate() {
                let chunk = self.cut.chunk[axis];
                let number = place / chunk;
                base = base.saturating_mul(self.counts[axis]).saturating_add(number);
                let length = match self.cut.trims_edges {
                    true => (outer[axis] - number * chunk).min(chunk),
                    false => chunk,
                };
                inside = inside.saturating_mul(length).saturating_add(place % chunk);
            }
            let end = range.end.min((at / row + 1).saturating_mul(row));
            while at < end {
                let column = at % row / width;
                let start = column.saturating_mul(width);
                let length = if self.cut.trims_edges { width.min(row - start) } else { width };
                let len = (end - at).min(start.saturating_add(width).min(row) - at % row);
                let from = inside.saturating_mul(length).saturating_add(at % row - start);
                take(ByteRun { number: base.saturating_mul(columns).saturating_add(column), chunk_offset: from, len })?;
                at += len;
            }
            for (place, len) in places.iter_mut().zip(outer).rev() {
                *place += 1;
                if *place < *len {
                    break;
                }
                *place = 0;
            }
        }
        Ok(())
    }

    /// The numbers of the chunks that ranges need, in ascending order.
    fn numbers(&self, ranges: &[Range<u64>]) -> Result<Vec<u64>> {
        let mut found = BTreeSet::new();
        let mut before = None;
        for range in ranges {
            self.for_each_run(range.start..range.end.min(self.len), &mut |run| {
                if before != Some(run.number) {
                    found.insert(run.number);
                    before = Some(run.number);
                }
                Ok(())
            })?;
        }
        Ok(found.into_iter().collect())
    }

    /// Returns the places of the chunks that were written.
    fn collect_chunk_ranges(&self, numbers: impl Iterator<Item = u64>) -> Result<Vec<Range<u64>>> {
        numbers.filter_map(|number| self.chunks.chunk_range(number).transpose()).collect()
    }

    /// Announces the chunks that will be read, if each would be a request.
    fn prefetch_chunks(&self, numbers: impl Iterator<Item = u64>) -> Result<()> {
        if self.chunks.source().access().cost != AccessCost::Request {
            return Ok(());
        }
        let places = self.collect_chunk_ranges(numbers)?;
        if places.len() > 1 { self.chunks.source().prefetch(&places) } else { Ok(()) }
    }

    /// The bytes of a chunk, decoded.
    fn decoded_chunk_size(&self, number: u64) -> u64 {
        self.cut.lengths(number).iter().fold(self.cut.item, |n, len| n.saturating_mul(*len))
    }

    /// A chunk, decoded; None if it was never written.
    fn decode_written_chunk(&self, number: u64) -> Result<Option<DecodedChunk>> {
        if self.chunks.chunk_range(number)?.is_none() {
            return Ok(None);
        }
        let size = self.decoded_chunk_size(number);
        self.limits.charge_decoding(size)?;
        let named = |e: Error| e.context(format!("{} {number}", self.chunks.display_name()));
        let bytes = self.chunks.decode_chunk(number, size).map_err(named)?;
        if bytes.len() as u64 != size {
            return Err(named(Error::malformed(format!("decodes to {} bytes, expected {size}", bytes.len()))));
        }
        Ok(Some(Arc::new(bytes)))
    }

    fn cache_chunk(&self, number: u64, chunk: DecodedChunk) {
        let most = CACHE_SIZE.min(self.limits.memory / 4);
        let is_first = {
            let mut kept = lock(&self.kept);
            kept.insert(number, chunk);
            kept.evict(most);
            kept.is_new()
        };
        if is_first {
            register_chunk_cache(&self.kept);
        }
        evict_others(&self.kept, CACHE_SIZE);
    }

    /// Returns the wanted part of each chunk that a range needs.
    fn collect_chunk_parts<'a>(&self, range: Range<u64>, into: &'a mut [u8]) -> Result<Vec<ChunkPart<'a>>> {
        let mut parts: Vec<ChunkPart<'a>> = Vec::new();
        let mut by_number: HashMap<u64, usize> = HashMap::new();
        let mut rest = into;
        self.for_each_run(range, &mut |run| {
            let len = to_usize(run.len)?;
            let Some((now, later)) = std::mem::take(&mut rest).split_at_mut_checked(len) else {
                return Err(Error::malformed("a chunk ends before its elements"));
            };
            rest = later;
            let at = *by_number.entry(run.number).or_insert_with(|| {
                parts.push(ChunkPart { number: run.number, runs: Vec::new(), destinations: 0, cached: None });
                parts.len() - 1
            });
            if let Some(part) = parts.get_mut(at) {
                part.runs.push((run.chunk_offset, now));
                part.destinations = part.destinations.saturating_add(run.len);
            }
            Ok(())
        })?;
        let mut kept = lock(&self.kept);
        kept.next_tick();
        parts.iter_mut().for_each(|part| part.cached = kept.get(part.number));
        Ok(parts)
    }

    /// Reads a range, each chunk of it on whatever thread is free.
    fn read_piece(&self, range: Range<u64>, into: &mut [u8]) -> Result<()> {
        let size = into.len();
        let parts = self.collect_chunk_parts(range, into)?;
        let is_new = |part: &&ChunkPart<'_>| part.cached.is_none();
        self.prefetch_chunks(parts.iter().filter(is_new).map(|part| part.number))?;
        let work = |part: ChunkPart<'_>| -> Result<()> {
            let chunk = match &part.cached {
                Some(known) => Some(Arc::clone(known)),
                None => self.decode_written_chunk(part.number)?,
            };
            let number = part.number;
            let all = self.cut.edge_lengths(part.number).iter().fold(self.cut.item, |n, len| n.saturating_mul(*len));
            let is_new_and_may_come_again = part.cached.is_none() && (part.destinations < all || self.len <= CACHE_ALL_BELOW);
            part.scatter(chunk.as_ref().map(|bytes| bytes.as_slice()), &self.fill)?;
            if let Some(chunk) = chunk.filter(|_| is_new_and_may_come_again) {
                self.cache_chunk(number, chunk);
            }
            Ok(())
        };
        // A small copy takes less time than starting threads.
        if size < MIN_PARALLEL_BYTES && !parts.iter().any(|part| is_new(&part)) {
            return parts.into_iter().try_for_each(work);
        }
        map_parallel(parts, work).map(drop)
    }

    /// Returns the lengths of the axes and those of a whole chunk.
    pub(super) fn array_and_chunk_shapes(&self) -> (&[u64], &[u64]) {
        (&self.said.0, &self.said.1)
    }

    /// Returns the `size` bytes from `offset` on without the zeros that pad them, if these bytes are one string that the
    /// source makes as long as the longest of its strings. Returns None for all other ranges.
    pub(super) fn string_at(&self, offset: u64, size: u64) -> Option<Result<Vec<u8>>> {
        let is_one = self.cut.item == size && size > 0 && self.cut.chunk.iter().all(|len| *len == 1);
        if !is_one || !offset.is_multiple_of(size) || offset >= self.len {
            return None;
        }
        let number = offset / size;
        match self.chunks.chunk_range(number) {
            Ok(Some(_)) => {
                Some(self.chunks.is_unpadded(number)?.map_err(|e| e.context(format!("{} {number}", self.chunks.display_name()))))
            }
            // Sources that pad no strings return `None` here too.
            Ok(None) => self.chunks.is_unpadded(number).map(|_| Ok(trim_trailing_zeros(&self.fill).to_vec())),
            Err(error) => Some(Err(error)),
        }
    }

    /// Returns the place of each chunk in the file, and how it is encoded there.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) if no other program could decode the chunks, with the
    /// reason, and the errors of [`ChunkProvider::chunk_range`].
    pub(super) fn chunk_ranges(&self) -> Result<ChunkRanges> {
        let SourceEncoding::Plain(start) = encoding(&**self.chunks.source())? else {
            return Err(Error::unsupported("its chunks are in data that is compressed as a whole"));
        };
        let unknown = || Error::unsupported("no other program undoes the filters of its chunks");
        let (steps, left_out) = self.chunks.encoding_steps()?.ok_or_else(unknown)?;
        let count = element_count(&self.counts)?;
        self.limits.charge_memory(count.saturating_mul(24), "the places of chunks")?;
        let moved = |place: Range<u64>| start.saturating_add(place.start)..start.saturating_add(place.end);
        Ok(ChunkRanges {
            shape: self.said.0.clone(),
            chunk: self.said.1.clone(),
            item: self.cut.item,
            cut_edges: self.cut.trims_edges,
            columns: self.chunks.is_in_columns(),
            steps,
            left_out,
            places: (0..count).map(|number| Ok(self.chunks.chunk_range(number)?.map(moved))).collect::<Result<_>>()?,
            fill: self.fill.clone(),
        })
    }

    /// Returns the number of bytes of all chunks that have the same place along the first axis. A single chunk that was never written
    /// is not decoded, so that any part of it can be read alone.
    pub(super) fn layer_bytes(&self) -> u64 {
        let is_missing = self.counts.iter().all(|count| *count == 1) && matches!(self.chunks.chunk_range(0), Ok(None));
        let length = if is_missing { 1 } else { self.cut.chunk.first().copied().unwrap_or(1) };
        let rows = self.cut.shape.iter().skip(1).fold(self.cut.item, |n, len| n.saturating_mul(*len));
        rows.saturating_mul(length).max(1)
    }

    /// Returns the end of the range that is read at once from here on: the end of a layer of chunks, if a layer is
    /// small enough.
    fn piece_end(&self, at: u64) -> u64 {
        let run = self.cut.chunk.last().copied().unwrap_or(1).saturating_mul(self.cut.item);
        let layer = self.layer_bytes();
        let step = match self.chunks.source().access().cost {
            // Each chunk is dropped after its elements are copied, because the number of chunks is unbounded.
            AccessCost::Request => layer.saturating_mul((BUFFER_SIZE / layer).max(1)),
            _ if run >= MIN_RUN_BYTES => return self.len,
            // A layer that cannot be kept would be decoded again for each piece.
            _ if layer > CACHE_SIZE / 2 && self.len / run.max(1) <= self.limits.memory / 4 / RUN_OVERHEAD => return self.len,
            _ if layer > BUFFER_SIZE => BUFFER_SIZE,
            _ => layer.saturating_mul(BUFFER_SIZE / layer),
        };
        (at / step).saturating_add(1).saturating_mul(step)
    }
}

impl ChunkPart<'_> {
    /// Puts the elements of the chunk to their places; without one, `fill` for each.
    fn scatter(self, chunk: Option<&[u8]>, fill: &[u8]) -> Result<()> {
        for (from, to) in self.runs {
            let from = to_usize(from)?;
            match (chunk, fill) {
                (Some(bytes), _) => {
                    let found = bytes.get(from..from.saturating_add(to.len()));
                    to.copy_from_slice(found.ok_or_else(|| Error::malformed("a chunk ends before its elements"))?);
                }
                (None, [first, rest @ ..]) if rest.iter().all(|byte| byte == first) => to.fill(*first),
                (None, _) => {
                    // A range may begin within an element.
                    let phase = from % fill.len().max(1);
                    to.iter_mut().zip(fill.iter().cycle().skip(phase)).for_each(|(to, from)| *to = *from);
                }
            }
        }
        Ok(())
    }
}

/// Bytes without the zeros at their end.
fn trim_trailing_zeros(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    bytes.get(..end).unwrap_or(bytes)
}

impl SourceBacking for ChunkedSource {
    fn inner_backing(&self) -> Option<&dyn SourceBacking> {
        self.chunks.source().backing()
    }

    fn verify_checksum(&self) -> Result<()> {
        self.chunks.verify()
    }
}

impl PieceDecoding for ChunkedSource {
    fn stored_ranges(&self, range: Range<u64>) -> Result<Vec<Range<u64>>> {
        let mut stored = Vec::new();
        for place in self.collect_chunk_ranges(self.numbers(&[range])?.into_iter())?.into_iter().filter(|place| !place.is_empty())
        {
            stored.extend(stored_ranges(&**self.chunks.source(), place)?);
        }
        stored.sort_unstable_by_key(|range| range.start);
        Ok(stored)
    }

    fn encoding(&self) -> Result<SourceEncoding> {
        Err(Error::unsupported("its elements are in chunks"))
    }
}

impl Source for ChunkedSource {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        let end = end_in("array", offset, into.len() as u64, self.len)?;
        let (mut at, mut rest) = (offset, into);
        while at < end {
            let next = self.piece_end(at).min(end);
            let count = to_usize(next - at)?.min(rest.len());
            let (now, later) = std::mem::take(&mut rest).split_at_mut(count);
            self.read_piece(at..next, now)?;
            (at, rest) = (next, later);
        }
        Ok(())
    }

    fn prefetch(&self, ranges: &[Range<u64>]) -> Result<()> {
        let numbers = self.numbers(ranges)?;
        // Chunks that can be kept are decoded now, on all cores; of more only the bytes are requested.
        let size = numbers.iter().fold(0u64, |sum, number| sum.saturating_add(self.decoded_chunk_size(*number)));
        if size > CACHE_SIZE.min(self.limits.memory / 4) / 2 || self.string_at(0, self.cut.item).is_some() {
            return self.chunks.source().prefetch(&self.collect_chunk_ranges(numbers.into_iter())?);
        }
        let missing: Vec<u64> = {
            let mut kept = lock(&self.kept);
            kept.next_tick();
            numbers.into_iter().filter(|number| kept.get(*number).is_none()).collect()
        };
        self.prefetch_chunks(missing.iter().copied())?;
        map_parallel(missing, |number| {
            let chunk = self.decode_written_chunk(number)?;
            chunk.into_iter().for_each(|chunk| self.cache_chunk(number, chunk));
            Ok(())
        })
        .map(drop)
    }

    fn origin(&self) -> Option<SourceOrigin<'_>> {
        Some(SourceOrigin::Made(&**self.chunks.source()))
    }

    fn backing(&self) -> Option<&dyn SourceBacking> {
        Some(self)
    }

    fn access(&self) -> Access {
        // A caller that announces its reads gets them decoded on all cores.
        let mut access = self.chunks.source().access();
        access.prefetch_helps = true;
        access
    }

    fn name(&self) -> &str {
        self.chunks.source().name()
    }

    fn pieces(&self) -> Option<&dyn PieceDecoding> {
        Some(self)
    }
}

/// Elements in Fortran order, put into C order.
pub fn from_columns(bytes: &[u8], lengths: &[u64], item: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let count: u64 = lengths.iter().product();
    for number in 0..count {
        let (mut from, mut step) = (0u64, 1u64);
        for (place, len) in unravel(number, lengths).iter().zip(lengths) {
            from += place * step;
            step *= len;
        }
        let from = usize::try_from(from).unwrap_or(usize::MAX).saturating_mul(item);
        out.extend_from_slice(bytes.get(from..from.saturating_add(item)).unwrap_or(&[]));
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::array::{Array, Byteorder, Datatype, Index};
    use crate::bytes::MemorySource;

    /// Chunks that hold the numbers of their elements; every fifth was never written.
    struct Numbered {
        cut: ChunkShape,
        source: SourceRef,
        missing: u64,
    }

    impl Numbered {
        fn element(&self, number: u64, inside: u64) -> u32 {
            let (chunk, counts) = (self.cut.lengths(number), self.cut.counts());
            let (at, within) = (unravel(number, &counts), unravel(inside, &chunk));
            let mut all = 0;
            for axis in 0..at.len() {
                let place = at[axis] * self.cut.chunk[axis] + within[axis];
                if place >= self.cut.shape[axis] {
                    return u32::MAX;
                }
                all = all * self.cut.shape[axis] + place;
            }
            all as u32
        }
    }

    impl ChunkProvider for Numbered {
        fn chunk_range(&self, number: u64) -> Result<Option<Range<u64>>> {
            Ok((number % self.missing != self.missing - 1).then_some(number..number + 1))
        }

        fn decode_chunk(&self, number: u64, size: u64) -> Result<Vec<u8>> {
            Ok((0..size / 4).flat_map(|inside| self.element(number, inside).to_be_bytes()).collect())
        }

        fn source(&self) -> &SourceRef {
            &self.source
        }
    }

    proptest! {
        #[test]
        fn slices_match_slices_of_plain_array(
            axes in proptest::collection::vec((1u64..9, 1u64..5, 0i64..9, 1i64..4), 1..4),
            cut_edges: bool,
            missing in 2u64..9,
        ) {
            let shape: Vec<u64> = axes.iter().map(|axis| axis.0).collect();
            let chunk: Vec<u64> = axes.iter().map(|axis| axis.1).collect();
            let cut = ChunkShape { shape: shape.clone(), chunk: chunk.clone(), item: 4, trims_edges: cut_edges };
            let source: SourceRef = Arc::new(MemorySource::new(vec![0; 4096], "x"));
            let chunks = Numbered { cut: cut.clone(), source, missing };
            let written = |number: u64| number % missing != missing - 1;
            let counts = cut.counts();
            let count: u64 = shape.iter().product();
            let wanted: Vec<u32> = (0..count).map(|at| {
                let places = unravel(at, &shape);
                let number = places.iter().zip(&cut.chunk).zip(&counts).fold(0, |n, ((place, chunk), count)| n * count + place / chunk);
                if written(number) { at as u32 } else { 7 }
            }).collect();
            let limits = Arc::new(Limits::default());
            let grid = ChunkedSource::new(cut, Box::new(chunks), 7u32.to_be_bytes().to_vec(), limits).unwrap();
            let array = Array::chunked(Arc::new(grid), Datatype::Uint32, Byteorder::Big, shape.clone()).unwrap();
            let whole = Array::from_slice(&wanted, &shape).unwrap();
            prop_assert_eq!(array.load::<u32>().unwrap(), wanted);
            prop_assert_eq!(array.stored_chunk(), Some(&chunk[..]));
            let index: Vec<Index> = axes.iter().map(|axis| Index::Slice { start: Some(axis.2), stop: None, step: axis.3 }).collect();
            let (got, want) = (array.slice(index.clone()).unwrap(), whole.slice(index).unwrap());
            let is_part = got.shape() != shape;
            prop_assert_eq!(got.stored_chunk(), (!is_part).then_some(&chunk[..]));
            prop_assert_eq!(got.load::<u32>().unwrap(), want.load::<u32>().unwrap());
        }
    }

    #[test]
    fn columns_become_rows() {
        assert_eq!(from_columns(&[0, 3, 1, 4, 2, 5], &[2, 3], 1), [0, 1, 2, 3, 4, 5]);
    }
}
