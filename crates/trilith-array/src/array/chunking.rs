//! The chunks that the elements of an array are stored in.

use std::sync::Arc;

use super::chunk_grid::ChunkedSource;

/// The division of the elements of a source into chunks, for an array of some or all of them.
pub(super) struct Chunking {
    /// The lengths of the axes of all elements of the source.
    pub(super) shape: Vec<u64>,
    /// The lengths of a whole chunk.
    pub(super) chunk: Vec<u64>,
    /// Bytes of the source that share the work of decoding, which is the preferred size of reads.
    pub(super) layer_bytes: u64,
    /// The source; None if its elements are computed from those in chunks.
    pub(super) stored: Option<Arc<ChunkedSource>>,
}

impl Chunking {
    /// Returns the chunks of a source.
    pub(super) fn from_source(source: Arc<ChunkedSource>) -> Self {
        let (shape, chunk) = source.array_and_chunk_shapes();
        Self { shape: shape.to_vec(), chunk: chunk.to_vec(), layer_bytes: source.layer_bytes(), stored: Some(source) }
    }

    /// Returns the same chunks of elements that are computed one by one: `size` bytes each, of `stored` bytes each.
    pub(super) fn for_computed_elements(&self, stored: u64, size: u64) -> Self {
        Self {
            shape: self.shape.clone(),
            chunk: self.chunk.clone(),
            layer_bytes: (self.layer_bytes / stored.max(1)).saturating_mul(size),
            stored: None,
        }
    }
}
