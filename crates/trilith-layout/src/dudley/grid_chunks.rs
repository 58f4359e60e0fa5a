//! The chunks of an array in chunks, as its elements are read.

use std::ops::Range;
use std::sync::Arc;

use super::grid_strings::GridStrings;
use crate::array::{ChunkProvider, ChunkShape, from_columns};
use crate::bytes::{CodingStep, SourceRef, read_vec, to_usize};
use crate::codec::filter::FilterPipeline;
use crate::error::{Error, Result};
use crate::layout::{ChunkIndex, StoredChunk};
use crate::limits::Limits;

/// The chunks of a grid in a file.
pub(super) struct GridChunks {
    pub source: SourceRef,
    pub index: Arc<dyn ChunkIndex>,
    pub filters: FilterPipeline,
    pub columns: Option<ChunkShape>,
    pub strings: Option<Arc<GridStrings>>,
    pub header_bytes: Arc<Vec<u8>>,
    pub limits: Arc<Limits>,
}

impl GridChunks {
    /// The bytes of a chunk as they were encoded.
    fn read_encoded(&self, chunk: StoredChunk) -> Result<Vec<u8>> {
        let mut bytes = read_vec(&*self.source, chunk.offset, chunk.len, &self.limits)?;
        if !self.header_bytes.is_empty() {
            bytes.splice(0..0, self.header_bytes.iter().copied());
        }
        Ok(bytes)
    }

    /// Compares the checksums of a chunk, which has `size` bytes when it is decoded; `false` if it has none.
    ///
    /// # Errors
    /// Returns the errors of [`FilterPipeline::compare_checksums`].
    pub(super) fn compare_checksum(&self, chunk: StoredChunk, size: u64) -> Result<bool> {
        self.limits.charge_work(chunk.len)?;
        let stored = self.strings.as_ref().map_or(size, |strings| strings.stored_size(size));
        self.filters.compare_checksums(self.read_encoded(chunk)?, chunk.skipped_filters, stored, &self.limits)
    }
}

impl ChunkProvider for GridChunks {
    fn chunk_range(&self, number: u64) -> Result<Option<Range<u64>>> {
        Ok(self.index.chunk(number)?.map(|chunk| chunk.offset..chunk.offset.saturating_add(chunk.len)))
    }

    fn decode_chunk(&self, number: u64, size: u64) -> Result<Vec<u8>> {
        let Some(chunk) = self.index.chunk(number)? else { return Err(Error::malformed("a chunk that was never written")) };
        let bytes = self.read_encoded(chunk)?;
        let stored = self.strings.as_ref().map_or(size, |strings| strings.stored_size(size));
        let bytes = self.filters.decode(bytes, chunk.skipped_filters, stored, &self.limits)?;
        let bytes = match &self.strings {
            Some(strings) if bytes.len() as u64 == stored => strings.decode_elements(&bytes, size, &self.source, &self.limits)?,
            _ => bytes,
        };
        let Some(cut) = &self.columns else { return Ok(bytes) };
        if bytes.len() as u64 != size {
            return Ok(bytes);
        }
        Ok(from_columns(&bytes, &cut.lengths(number), to_usize(cut.item)?))
    }

    fn is_unpadded(&self, number: u64) -> Option<Result<Vec<u8>>> {
        let filters = self
            .filters
            .without_padding()
            .filter(|_| self.columns.is_none() && self.strings.is_none() && self.header_bytes.is_empty())?;
        let read = || {
            let Some(chunk) = self.index.chunk(number)? else { return Ok(Vec::new()) };
            let bytes = read_vec(&*self.source, chunk.offset, chunk.len, &self.limits)?;
            let size = bytes.len() as u64;
            if chunk.skipped_filters != 0 {
                return Err(Error::unsupported("a padded chunk without all of its filters"));
            }
            if filters.is_empty() { Ok(bytes) } else { filters.decode(bytes, 0, size, &self.limits) }
        };
        Some(read())
    }

    fn encoding_steps(&self) -> Result<Option<(Vec<CodingStep>, Vec<u64>)>> {
        if self.strings.is_some() || !self.header_bytes.is_empty() {
            return Ok(None);
        }
        let count = self.index.count();
        self.limits.charge_memory(count.saturating_mul(8), "the filters that chunks skipped")?;
        let (mut masks, count) = (Vec::new(), to_usize(count)?);
        self.index.for_each(&mut |number, chunk| {
            if chunk.skipped_filters != 0 {
                masks.resize(count, 0);
                if let Some(mask) = usize::try_from(number).ok().and_then(|number| masks.get_mut(number)) {
                    *mask = chunk.skipped_filters;
                }
            }
            Ok(())
        })?;
        Ok(Some((self.filters.to_coding_steps(), masks)))
    }

    fn is_in_columns(&self) -> bool {
        self.columns.is_some()
    }

    fn source(&self) -> &SourceRef {
        &self.source
    }
}
