//! Blocks that may be made of chunks: whether they are shows only when they are looked at.

use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use super::chunks::{ChunkedCodec, ChunkedSource};
use super::stream::{StreamCodec, StreamSource};
use crate::bytes::{PieceDecoding, Source, SourceEncoding, SourceOrigin, SourceRef};
use crate::error::{ErrorKind, Result};
use crate::limits::Limits;

/// A function that finds out whether a block is made of chunks. It returns nothing if the block is one stream.
pub(super) type ChunkDetector = fn(&SourceRef, u64, &Limits) -> Result<Option<Box<dyn ChunkedCodec>>>;

/// A block that is read by chunks if its frames allow it, else as one stream.
///
/// The lengths of chunks are partly assumed from the habits of encoders. If a chunk turns out to be otherwise, the
/// block is read as one stream, which is right for every block and words the errors.
pub(super) struct MaybeChunkedSource {
    detect: ChunkDetector,
    stored: SourceRef,
    limits: Limits,
    chunks: OnceLock<Option<ChunkedSource>>,
    /// The chunks were not as assumed.
    is_not_chunked: AtomicBool,
    stream: StreamSource,
}

impl MaybeChunkedSource {
    pub(super) fn new(look: ChunkDetector, opens: Box<dyn StreamCodec>, stored: SourceRef, len: u64, limits: &Limits) -> Self {
        Self {
            detect: look,
            stored: stored.clone(),
            limits: limits.clone(),
            chunks: OnceLock::new(),
            is_not_chunked: AtomicBool::new(false),
            stream: StreamSource::new(opens, stored, len, limits),
        }
    }

    fn chunks(&self) -> Option<&ChunkedSource> {
        if self.is_not_chunked.load(Ordering::Relaxed) {
            return None;
        }
        let found = self.chunks.get_or_init(|| {
            let codec = (self.detect)(&self.stored, self.stream.len(), &self.limits).ok().flatten()?;
            Some(ChunkedSource::new(codec, self.stored.clone(), self.stream.len(), &self.limits))
        });
        found.as_ref()
    }

    /// Returns the answer of the chunks, or that of the stream if there are none or they are not as assumed.
    fn try_chunks_or_stream<T>(
        &self,
        by_chunks: impl FnOnce(&ChunkedSource) -> Result<T>,
        as_stream: impl FnOnce(&StreamSource) -> Result<T>,
    ) -> Result<T> {
        if let Some(chunks) = self.chunks() {
            match by_chunks(chunks) {
                Err(error) if error.kind() == ErrorKind::Malformed => self.is_not_chunked.store(true, Ordering::Relaxed),
                done => return done,
            }
        }
        as_stream(&self.stream)
    }
}

impl PieceDecoding for MaybeChunkedSource {
    fn stored_ranges(&self, range: Range<u64>) -> Result<Vec<Range<u64>>> {
        self.try_chunks_or_stream(|chunks| chunks.stored_ranges(range.clone()), |stream| stream.stored_ranges(range.clone()))
    }

    fn index(&self, range: Range<u64>) -> Result<Vec<Range<u64>>> {
        self.try_chunks_or_stream(|chunks| chunks.index(range.clone()), |_| Ok(Vec::new()))
    }

    fn piece_len(&self, range: Range<u64>) -> Result<Option<u64>> {
        self.try_chunks_or_stream(|chunks| chunks.piece_len(range.clone()), |stream| stream.piece_len(range.clone()))
    }

    fn encoding(&self) -> Result<SourceEncoding> {
        self.try_chunks_or_stream(ChunkedSource::encoding, StreamSource::encoding)
    }
}

impl Source for MaybeChunkedSource {
    fn len(&self) -> u64 {
        self.stream.len()
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        super::stream::check_range(offset, into.len() as u64, self.len())?;
        if let Some(chunks) = self.chunks() {
            match chunks.read_at(offset, into) {
                Err(error) if error.kind() == ErrorKind::Malformed => self.is_not_chunked.store(true, Ordering::Relaxed),
                done => return done,
            }
        }
        self.stream.read_at(offset, into)
    }

    fn view(&self, offset: u64, len: u64) -> Option<&[u8]> {
        self.stream.view(offset, len)
    }

    fn prefetch(&self, ranges: &[Range<u64>]) -> Result<()> {
        self.try_chunks_or_stream(|chunks| chunks.prefetch(ranges), |stream| stream.prefetch(ranges))
    }

    fn origin(&self) -> Option<SourceOrigin<'_>> {
        Some(SourceOrigin::Made(&self.stream))
    }

    fn name(&self) -> &str {
        self.stream.name()
    }

    fn pieces(&self) -> Option<&dyn PieceDecoding> {
        Some(self)
    }
}
