//! Blocks that may be made of chunks: whether they are shows only when they are looked at.

use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use super::chunks::{Chunked, Chunks};
use super::stream::{Opens, Streamed};
use crate::bytes::{Source, SourceEncoding, SourceOrigin, SourcePieces, SourceRef};
use crate::error::{ErrorKind, Result};
use crate::limits::Limits;

/// A function that finds out whether a block is made of chunks. It returns nothing if the block is one stream.
pub(super) type Look = fn(&SourceRef, u64, &Limits) -> Result<Option<Box<dyn Chunked>>>;

/// A block that is read by chunks if its frames allow it, else as one stream.
///
/// The lengths of chunks are partly assumed from the habits of encoders. If a chunk turns out to be otherwise, the
/// block is read as one stream, which is right for every block and words the errors.
pub(super) struct Framed {
    look: Look,
    stored: SourceRef,
    limits: Limits,
    chunks: OnceLock<Option<Chunks>>,
    /// The chunks were not as assumed.
    wrong: AtomicBool,
    stream: Streamed,
}

impl Framed {
    pub(super) fn new(look: Look, opens: Box<dyn Opens>, stored: SourceRef, len: u64, limits: &Limits) -> Self {
        Self {
            look,
            stored: stored.clone(),
            limits: limits.clone(),
            chunks: OnceLock::new(),
            wrong: AtomicBool::new(false),
            stream: Streamed::new(opens, stored, len, limits),
        }
    }

    fn opt_chunks(&self) -> Option<&Chunks> {
        if self.wrong.load(Ordering::Relaxed) {
            return None;
        }
        let found = self.chunks.get_or_init(|| {
            let codec = (self.look)(&self.stored, self.stream.len(), &self.limits).ok().flatten()?;
            Some(Chunks::new(codec, self.stored.clone(), self.stream.len(), &self.limits))
        });
        found.as_ref()
    }

    /// Returns the answer of the chunks, or that of the stream if there are none or they are not as assumed.
    fn either<T>(
        &self,
        by_chunks: impl FnOnce(&Chunks) -> Result<T>,
        as_stream: impl FnOnce(&Streamed) -> Result<T>,
    ) -> Result<T> {
        if let Some(chunks) = self.opt_chunks() {
            match by_chunks(chunks) {
                Err(error) if error.kind() == ErrorKind::Malformed => self.wrong.store(true, Ordering::Relaxed),
                done => return done,
            }
        }
        as_stream(&self.stream)
    }
}

impl SourcePieces for Framed {
    fn stored(&self, range: Range<u64>) -> Result<Vec<Range<u64>>> {
        self.either(|chunks| chunks.stored(range.clone()), |stream| stream.stored(range.clone()))
    }

    fn index(&self, range: Range<u64>) -> Result<Vec<Range<u64>>> {
        self.either(|chunks| chunks.index(range.clone()), |_| Ok(Vec::new()))
    }

    fn piece_len(&self, range: Range<u64>) -> Result<Option<u64>> {
        self.either(|chunks| chunks.piece_len(range.clone()), |stream| stream.piece_len(range.clone()))
    }

    fn encoding(&self) -> Result<SourceEncoding> {
        self.either(Chunks::encoding, Streamed::encoding)
    }
}

impl Source for Framed {
    fn len(&self) -> u64 {
        self.stream.len()
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        super::stream::check_range(offset, into.len() as u64, self.len())?;
        if let Some(chunks) = self.opt_chunks() {
            match chunks.read_at(offset, into) {
                Err(error) if error.kind() == ErrorKind::Malformed => self.wrong.store(true, Ordering::Relaxed),
                done => return done,
            }
        }
        self.stream.read_at(offset, into)
    }

    fn view(&self, offset: u64, len: u64) -> Option<&[u8]> {
        self.stream.view(offset, len)
    }

    fn prefetch(&self, ranges: &[Range<u64>]) -> Result<()> {
        self.either(|chunks| chunks.prefetch(ranges), |stream| stream.prefetch(ranges))
    }

    fn origin(&self) -> Option<SourceOrigin<'_>> {
        Some(SourceOrigin::Made(&self.stream))
    }

    fn name(&self) -> &str {
        self.stream.name()
    }

    fn pieces(&self) -> Option<&dyn SourcePieces> {
        Some(self)
    }
}
