//! The index of the chunks of a dataset, read when the dataset is.

use std::fmt::{self, Debug, Formatter};
use std::sync::Mutex;

use super::data_layout::{ChunkAxes, ChunkEntry, Chunked};
use super::file::Hdf5File;
use crate::array::ChunkShape;
use crate::error::Result;
use crate::layout::{ChunkIndex, StoredChunk};
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

    fn stored_chunk(&self, file: &Hdf5File, number: u64, chunk: ChunkEntry) -> StoredChunk {
        let is_edge = |cut: &ChunkShape| cut.lengths(number) != cut.chunk;
        let mask = if self.unfiltered_edges.as_ref().is_some_and(is_edge) { u64::from(u32::MAX) } else { chunk.mask };
        let (offset, skipped_filters) = (file.layout_offset(chunk.address), mask << self.added_filters);
        StoredChunk { offset, len: chunk.size, skipped_filters }
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
