//! Blocks made of chunks that decode on their own: only those that are asked for are decoded.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use super::stored_reader::{file_byte, file_offset, whole_form};
use super::stream::check_range;
use crate::bytes::{
    AccessCost, CodedPiece, CodingStep, PieceDecoding, Source, SourceEncoding, SourceOrigin, SourceRef, read_vec, stored_ranges,
    to_usize,
};
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::threads::{lock, map_parallel, read_ahead};

/// Stored bytes of a remote block that are fetched and decoded together.
const BATCH_BYTES: u64 = 16 << 20;
/// Bytes read along if the lengths of a chunk are looked for.
const LENGTH_READ_AHEAD: u64 = 32;

/// Smallest number of decoded bytes for several threads: one thread decodes less before others are started.
const MIN_PARALLEL_BYTES: usize = 512 << 10;

/// A piece of a block that decodes independently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BlockChunk {
    /// Index of the chunk in the block, from 0.
    pub(super) index: u64,
    /// The start of its stored bytes, counted from the start of the stored block, and their number.
    pub(super) stored: (u64, u64),
    /// The start of its decoded bytes in the block, and their number.
    pub(super) decoded: (u64, u64),
}

impl BlockChunk {
    fn decoded_end(&self) -> u64 {
        self.decoded.0.saturating_add(self.decoded.1)
    }
}

/// The codec with which another program decodes the output of a codec.
pub(super) enum ExternalCodec {
    /// The other program decodes each chunk separately, together with this number of bytes before it.
    Chunks(&'static str, u64),
    /// The block as a whole.
    Whole(&'static str),
    /// No other program decodes the output.
    None,
}

/// The methods of a codec whose chunks decode independently.
pub(super) trait ChunkedCodec: Send + Sync {
    /// The chunk whose stored bytes begin at `at`, not beyond the end of `stored`, with its place
    /// after `before`; `None` if there is no more. It reads lengths and decodes nothing.
    fn locate_chunk(
        &self,
        stored: &SourceRef,
        at: u64,
        before: &BlockChunk,
        limits: &Limits,
    ) -> Result<Option<(BlockChunk, u64)>>;

    /// Returns the parameters with which another program decodes a single chunk, or the block as a whole.
    fn coding(&self) -> ExternalCodec {
        ExternalCodec::None
    }

    /// Decodes the stored bytes of one chunk into exactly as many bytes as were announced.
    fn decode_chunk(&self, chunk: &BlockChunk, bytes: &[u8], into: &mut [u8]) -> Result<()>;
}

/// A block made of chunks, as a source of its decoded bytes.
pub(super) struct ChunkedSource {
    codec: Box<dyn ChunkedCodec>,
    stored: SourceRef,
    len: u64,
    limits: Limits,
    table: Mutex<ChunkIndex>,
    /// The last chunk that was read in part: the next read often needs the rest.
    last_chunk: Mutex<Option<(BlockChunk, Arc<Vec<u8>>)>>,
}

/// The chunks found so far, in order.
#[derive(Default)]
struct ChunkIndex {
    chunks: Vec<BlockChunk>,
    /// The start of the next one in the stored bytes.
    scan_offset: u64,
    ended: bool,
    /// Ranges in which lengths were looked for already, in order.
    estimated: Vec<Range<u64>>,
}

impl ChunkedSource {
    pub(super) fn new(codec: Box<dyn ChunkedCodec>, stored: SourceRef, len: u64, limits: &Limits) -> Self {
        Self { codec, stored, len, limits: limits.clone(), table: Mutex::default(), last_chunk: Mutex::default() }
    }

    /// The chunks that hold `range`, looking no further than its end (or the end of the block).
    fn chunks_covering(&self, range: Range<u64>) -> Result<Vec<BlockChunk>> {
        let mut table = lock(&self.table);
        let whole = range.end == self.len;
        loop {
            let reached = table.chunks.last().map_or(0, BlockChunk::decoded_end);
            if (reached >= range.end && !whole) || table.ended {
                break;
            }
            self.estimate_ahead(&mut table, reached, &range)?;
            self.find_next_chunk(&mut table, reached)?;
        }
        let from = table.chunks.partition_point(|chunk| chunk.decoded_end() <= range.start);
        let to = table.chunks.partition_point(|chunk| chunk.decoded.0 < range.end);
        Ok(table.chunks.get(from..to).unwrap_or(&[]).to_vec())
    }

    /// Finds one chunk more, or that there is none.
    fn find_next_chunk(&self, table: &mut ChunkIndex, reached: u64) -> Result<()> {
        let before = table.chunks.last().copied();
        let none = BlockChunk { index: u64::MAX, stored: (0, 0), decoded: (0, 0) };
        let found = self.codec.locate_chunk(&self.stored, table.scan_offset, &before.unwrap_or(none), &self.limits)?;
        let Some((chunk, next)) = found else {
            table.ended = true;
            if reached != self.len {
                return Err(Error::malformed(format!("the block decodes to {reached} bytes, expected {}", self.len))
                    .at_byte(file_byte(&self.stored, table.scan_offset)));
            }
            return Ok(());
        };
        if chunk.decoded_end() > self.len {
            return Err(self.add_chunk_context(
                &chunk,
                Error::malformed(format!(
                    "decodes to {} bytes, but only {} are left of the block",
                    chunk.decoded.1,
                    self.len - reached
                )),
            ));
        }
        self.limits.charge_memory(32 * (table.chunks.len() as u64 + 1), "the table of a block's chunks")?;
        table.scan_offset = next;
        if chunk.decoded.1 > 0 {
            table.chunks.push(chunk);
        }
        Ok(())
    }

    /// Stored bytes for each decoded one, and decoded bytes of a chunk, as far as one can tell.
    fn estimate_ratio(&self, table: &ChunkIndex, reached: u64) -> Option<(f64, u64)> {
        let size = table.chunks.last()?.decoded.1;
        let (stored, decoded) = (self.stored.len().saturating_sub(table.scan_offset), self.len.saturating_sub(reached));
        (decoded > 0).then(|| (stored as f64 / decoded as f64, size))
    }

    /// The expected starts of the chunks up to the end of `range`, if finding each would be a request and there are at least this
    /// many. The guess is that all are of about one size. A wrong guess costs a request and no more.
    fn predict_chunk_starts(&self, table: &ChunkIndex, reached: u64, range: &Range<u64>, least: u64) -> Vec<Range<u64>> {
        if self.stored.access().cost != AccessCost::Request
            || table.estimated.iter().any(|known| known.contains(&table.scan_offset))
        {
            return Vec::new();
        }
        let Some((ratio, size)) = self.estimate_ratio(table, reached) else { return Vec::new() };
        let steps = range.end.saturating_sub(reached).div_ceil(size.max(1));
        if !(least..=1 << 16).contains(&steps) {
            return Vec::new();
        }
        let wanted = (range.end - range.start).max(size) as f64 * ratio;
        let width = (wanted as u64 / 16 / steps).clamp(2 << 10, 64 << 10);
        let end = self.stored.len();
        let around = |step: u64| {
            let place = table.scan_offset + (step as f64 * size as f64 * ratio) as u64;
            if step == 0 { place..place + LENGTH_READ_AHEAD } else { place.saturating_sub(width / 2)..place + width / 2 }
        };
        (0..steps).map(around).map(|place| place.start.min(end)..place.end.min(end)).collect()
    }

    /// Fetches the expected starts of chunks together.
    fn estimate_ahead(&self, table: &mut ChunkIndex, reached: u64, range: &Range<u64>) -> Result<()> {
        let places = self.predict_chunk_starts(table, reached, range, 2);
        if !places.is_empty() {
            self.stored.prefetch(&places)?;
            // The next guess begins after the first miss.
            table.estimated = places;
        }
        Ok(())
    }

    /// Reads from a remote block: a batch is fetched while the one before it is decoded.
    fn read_batches(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        let (end, mut at, mut rest) = (offset + into.len() as u64, offset, into);
        self.chunks_covering(offset..offset + 1)?;
        self.fetch_batch(end)?;
        while at < end {
            let (ratio, _) = self.expansion_ratio();
            let take = ((BATCH_BYTES as f64 / ratio.max(1e-6)) as u64).clamp(1, end - at);
            // Each part ends with a chunk, so that no chunk is decoded twice.
            let chunks = self.chunks_covering(at..at + take)?;
            let stop = chunks.last().map_or(at + take, |chunk| chunk.decoded_end().min(end)).max(at + 1);
            let (part, more) = std::mem::take(&mut rest).split_at_mut(to_usize(stop - at)?);
            if stop == end {
                return self.read_chunks(at, part);
            }
            let (decoded, fetched) = read_ahead(|| self.fetch_batch(end), || self.read_chunks(at, part));
            decoded?;
            fetched.unwrap_or(Ok(()))?;
            (at, rest) = (stop, more);
        }
        Ok(())
    }

    /// Stored bytes for each decoded one after what is known.
    fn expansion_ratio(&self) -> (f64, u64) {
        let table = lock(&self.table);
        let reached = table.chunks.last().map_or(0, BlockChunk::decoded_end);
        self.estimate_ratio(&table, reached)
            .map_or((self.stored.len() as f64 / self.len.max(1) as f64, reached), |(ratio, _)| (ratio, reached))
    }

    /// Requests the stored bytes after the known ones, up to a batch, but not for more than decodes to `end`.
    fn fetch_batch(&self, end: u64) -> Result<()> {
        let (ratio, reached) = self.expansion_ratio();
        let wanted = (end.saturating_sub(reached) as f64 * ratio) as u64;
        let at = lock(&self.table).scan_offset;
        let batch = at..at.saturating_add(wanted.saturating_add(wanted / 64).min(BATCH_BYTES)).min(self.stored.len());
        lock(&self.table).estimated = vec![batch.clone()];
        self.stored.prefetch(std::slice::from_ref(&batch))
    }

    /// Adds the chunk to the error.
    fn add_chunk_context(&self, chunk: &BlockChunk, error: Error) -> Error {
        error.at_byte(file_byte(&self.stored, chunk.stored.0)).context(format!("sub-block {}", chunk.index))
    }

    /// The stored bytes of a chunk, in place if they can be.
    fn stored_bytes(&self, chunk: &BlockChunk) -> Result<Cow<'_, [u8]>> {
        let (at, len) = chunk.stored;
        match self.stored.view(at, len) {
            Some(bytes) => Ok(Cow::Borrowed(bytes)),
            None => read_vec(&*self.stored, at, len, &self.limits).map(Cow::Owned),
        }
    }

    fn decode_chunk(&self, chunk: &BlockChunk, into: &mut [u8]) -> Result<()> {
        self.limits.charge_decoding(chunk.decoded.1)?;
        let bytes = self.stored_bytes(chunk)?;
        self.codec.decode_chunk(chunk, &bytes, into).map_err(|error| self.add_chunk_context(chunk, error))
    }

    /// Fills `into` with the bytes of `chunk` from its byte `skip` on.
    fn decode_part(&self, chunk: &BlockChunk, skip: u64, into: &mut [u8]) -> Result<()> {
        if skip == 0 && into.len() as u64 == chunk.decoded.1 {
            return self.decode_chunk(chunk, into);
        }
        let cached = lock(&self.last_chunk).as_ref().filter(|(other, _)| other == chunk).map(|(_, bytes)| bytes.clone());
        let bytes = match cached {
            Some(bytes) => bytes,
            None => {
                self.limits.charge_memory(chunk.decoded.1, "decoding a sub-block")?;
                let mut bytes = vec![0; to_usize(chunk.decoded.1)?];
                self.decode_chunk(chunk, &mut bytes)?;
                let bytes = Arc::new(bytes);
                *lock(&self.last_chunk) = Some((*chunk, bytes.clone()));
                bytes
            }
        };
        let skip = to_usize(skip)?;
        let part = skip.checked_add(into.len()).and_then(|end| bytes.get(skip..end));
        into.copy_from_slice(part.ok_or_else(|| Error::malformed("a sub-block is shorter than announced"))?);
        Ok(())
    }

    /// Decodes the chunks that hold the bytes from `offset` on.
    fn read_chunks(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        let chunks = self.chunks_covering(offset..offset + into.len() as u64)?;
        if chunks.len() > 1 {
            self.stored.prefetch(&merge_stored(&chunks))?;
        }
        let parallel = into.len() >= MIN_PARALLEL_BYTES && chunks.len() > 1;
        let mut jobs = Vec::with_capacity(chunks.len());
        let (mut rest, mut at) = (into, offset);
        for chunk in chunks {
            let take = to_usize((chunk.decoded_end() - at).min(rest.len() as u64))?;
            let (part, after) = std::mem::take(&mut rest).split_at_mut(take);
            jobs.push((chunk, at - chunk.decoded.0, part));
            at += take as u64;
            rest = after;
        }
        if parallel {
            map_parallel(jobs, |(chunk, skip, part)| self.decode_part(&chunk, skip, part))?;
            return Ok(());
        }
        jobs.into_iter().try_for_each(|(chunk, skip, part)| self.decode_part(&chunk, skip, part))
    }
}

impl PieceDecoding for ChunkedSource {
    fn stored_ranges(&self, range: Range<u64>) -> Result<Vec<Range<u64>>> {
        check_range(range.start, range.end.saturating_sub(range.start), self.len)?;
        if range.is_empty() {
            return Ok(Vec::new());
        }
        let mut ranges = Vec::new();
        for part in merge_stored(&self.chunks_covering(range)?) {
            ranges.extend(stored_ranges(&*self.stored, part)?);
        }
        Ok(ranges)
    }

    fn index(&self, range: Range<u64>) -> Result<Vec<Range<u64>>> {
        if range.is_empty() || self.stored.access().cost != AccessCost::Request {
            return Ok(Vec::new());
        }
        // The first chunk shows how long the others are.
        self.chunks_covering(0..1.min(self.len))?;
        let mut table = lock(&self.table);
        let reached = table.chunks.last().map_or(0, BlockChunk::decoded_end);
        if reached >= range.end {
            return Ok(Vec::new());
        }
        let places = self.predict_chunk_starts(&table, reached, &range, 1);
        let mut ranges = Vec::with_capacity(places.len());
        for place in &places {
            ranges.extend(stored_ranges(&*self.stored, place.clone())?);
        }
        // The caller announces them.
        if !places.is_empty() {
            table.estimated = places;
        }
        Ok(ranges)
    }

    fn piece_len(&self, range: Range<u64>) -> Result<Option<u64>> {
        let Some(size) = self.chunks_covering(0..1.min(self.len))?.first().map(BlockChunk::decoded_end) else { return Ok(None) };
        let is_one = |chunk: &BlockChunk| {
            chunk.decoded.0.is_multiple_of(size) && (chunk.decoded.1 == size || chunk.decoded_end() == self.len)
        };
        Ok(self.chunks_covering(range)?.iter().all(is_one).then_some(size))
    }

    fn encoding(&self) -> Result<SourceEncoding> {
        match self.codec.coding() {
            ExternalCodec::Whole(word) => whole_form(word, &self.stored, self.len),
            ExternalCodec::None => Err(Error::unsupported("no other program decodes its codec in pieces")),
            ExternalCodec::Chunks(word, before) => {
                let start = file_offset(&self.stored)?;
                let piece = |chunk: BlockChunk| {
                    let (at, len) = chunk.stored;
                    let stored = start + at - before.min(at)..start.saturating_add(at).saturating_add(len);
                    CodedPiece::new(stored, chunk.decoded.0..chunk.decoded_end())
                };
                let pieces = self.chunks_covering(0..self.len)?.into_iter().map(piece).collect();
                Ok(SourceEncoding::Coded { codec: Some(CodingStep::new(word, Vec::new())), pieces })
            }
        }
    }
}

impl Source for ChunkedSource {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        check_range(offset, into.len() as u64, self.len)?;
        if into.is_empty() {
            return Ok(());
        }
        let stored = into.len() as f64 / self.len as f64 * self.stored.len() as f64;
        if stored > BATCH_BYTES as f64 && self.stored.access().cost == AccessCost::Request {
            return self.read_batches(offset, into);
        }
        self.read_chunks(offset, into)
    }

    fn prefetch(&self, ranges: &[Range<u64>]) -> Result<()> {
        let mut chunks = Vec::new();
        for range in ranges {
            chunks.extend(self.chunks_covering(range.start..range.end.min(self.len))?);
        }
        self.stored.prefetch(&merge_stored(&chunks))
    }

    fn origin(&self) -> Option<SourceOrigin<'_>> {
        Some(SourceOrigin::Made(&*self.stored))
    }

    fn pieces(&self) -> Option<&dyn PieceDecoding> {
        Some(self)
    }
}

/// The stored ranges of chunks, neighbours joined. Between two sub-blocks is at most their length
/// field, which is read along.
fn merge_stored(chunks: &[BlockChunk]) -> Vec<Range<u64>> {
    let mut ranges: Vec<Range<u64>> = Vec::new();
    for chunk in chunks {
        let (start, end) = (chunk.stored.0, chunk.stored.0.saturating_add(chunk.stored.1));
        match ranges.last_mut() {
            Some(last) if last.end <= start && start - last.end <= 16 => last.end = end,
            _ => ranges.push(start..end),
        }
    }
    ranges
}
