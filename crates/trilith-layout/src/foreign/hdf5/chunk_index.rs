//! The index of the chunks of a dataset, read when the dataset is.

use std::fmt::{self, Debug, Formatter};
use std::ops::Range;
use std::sync::Mutex;

use super::data_layout::{ChunkAxes, ChunkEntry, Chunked};
use super::file::Hdf5File;
use crate::array::{ChunkProvider, ChunkShape};
use crate::bytes::{SourceRef, read_vec, to_usize};
use crate::codec::filter::FilterPipeline;
use crate::error::Result;
use crate::layout::{ChunkIndex, StoredChunk};
use crate::limits::Limits;
use crate::threads::lock;

/// The index of a dataset.
pub(super) struct DatasetIndex {
    /// The file, with the blocks of the index that were read.
    file: Mutex<Hdf5File>,
    chunked: Chunked,
    axes: ChunkAxes,
    /// The shape and its chunks, if those at its edges have no filters.
    unfiltered_edges: Option<ChunkShape>,
    /// Filters before those of the dataset, which each chunk has.
    added_filters: u32,
}

impl DatasetIndex {
    /// The index of a dataset of a file.
    pub(super) fn new(
        file: &Hdf5File,
        chunked: &Chunked,
        axes: ChunkAxes,
        unfiltered_edges: Option<ChunkShape>,
        added_filters: u32,
    ) -> Self {
        Self { file: Mutex::new(file.reopen()), chunked: chunked.clone(), axes, unfiltered_edges, added_filters }
    }

    /// Returns a chunk with the filters that it skipped.
    fn entry(&self, number: u64, chunk: ChunkEntry) -> ChunkEntry {
        let is_edge = |cut: &ChunkShape| cut.lengths(number) != cut.chunk;
        let mask = if self.unfiltered_edges.as_ref().is_some_and(is_edge) { u64::from(u32::MAX) } else { chunk.mask };
        ChunkEntry { mask, ..chunk }
    }

    fn stored_chunk(&self, file: &Hdf5File, number: u64, chunk: ChunkEntry) -> StoredChunk {
        let ChunkEntry { address, size, mask } = self.entry(number, chunk);
        StoredChunk { offset: file.layout_offset(address), len: size, skipped_filters: mask << self.added_filters }
    }

    /// Reads the whole index.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Limit`](crate::ErrorKind::Limit) for too many chunks, and the errors of [`ChunkIndex::for_each`].
    pub(super) fn read_chunks(self, filters: FilterPipeline) -> Result<DatasetChunks> {
        let file = lock(&self.file).reopen();
        let count = self.count();
        if count > file.limits.items {
            return Err(Limits::exceeded_error("items", file.limits.items, format_args!("a dataset has {count} chunks")));
        }
        let mut chunks = vec![None; to_usize(count)?];
        self.chunked.visit_chunks(&file, &self.axes, None, &mut |number, chunk| {
            if let Some(slot) = usize::try_from(number).ok().and_then(|number| chunks.get_mut(number)) {
                *slot = Some(self.entry(number, chunk));
            }
            Ok(())
        })?;
        Ok(DatasetChunks { chunks, source: file.source().clone(), base: file.base_address, filters, limits: file.limits.clone() })
    }
}

/// The chunks of a dataset in its own file, as its elements are stored.
pub(super) struct DatasetChunks {
    /// The chunks in row-major order; None for one that was never written.
    chunks: Vec<Option<ChunkEntry>>,
    source: SourceRef,
    base: u64,
    filters: FilterPipeline,
    limits: Limits,
}

impl DatasetChunks {
    fn find_chunk(&self, number: u64) -> Option<ChunkEntry> {
        usize::try_from(number).ok().and_then(|number| self.chunks.get(number)).copied().flatten()
    }
}

impl ChunkProvider for DatasetChunks {
    fn chunk_range(&self, number: u64) -> Result<Option<Range<u64>>> {
        let Some(chunk) = self.find_chunk(number) else { return Ok(None) };
        let start = chunk.address.saturating_add(self.base);
        Ok(Some(start..start.saturating_add(chunk.size)))
    }

    fn decode_chunk(&self, number: u64, size: u64) -> Result<Vec<u8>> {
        let place = self.chunk_range(number)?.unwrap_or(0..0);
        let bytes = read_vec(&*self.source, place.start, place.end - place.start, &self.limits)?;
        self.filters.decode(bytes, self.find_chunk(number).map_or(0, |chunk| chunk.mask), size, &self.limits)
    }

    fn source(&self) -> &SourceRef {
        &self.source
    }
}

impl ChunkIndex for DatasetIndex {
    fn count(&self) -> u64 {
        self.axes.count()
    }

    fn has_computed_places(&self) -> bool {
        self.chunked.has_computed_places()
    }

    fn end(&self) -> u64 {
        let file = lock(&self.file);
        file.layout_offset(file.len())
    }

    fn chunk(&self, number: u64) -> Result<Option<StoredChunk>> {
        let file = lock(&self.file);
        let mut found = None;
        self.chunked.visit_chunks(&file, &self.axes, Some(number), &mut |number, chunk| {
            found = Some(self.stored_chunk(&file, number, chunk));
            Ok(())
        })?;
        Ok(found)
    }

    fn for_each(&self, visit: &mut dyn FnMut(u64, StoredChunk) -> Result<()>) -> Result<()> {
        // The blocks of the whole index, and those of earlier lookups, are not kept.
        let file = {
            let kept = lock(&self.file);
            kept.forget_blocks();
            kept.reopen()
        };
        self.chunked
            .visit_chunks(&file, &self.axes, None, &mut |number, chunk| visit(number, self.stored_chunk(&file, number, chunk)))
    }
}

impl Debug for DatasetIndex {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("DatasetIndex").field("chunked", &self.chunked).field("axes", &self.axes).finish_non_exhaustive()
    }
}
