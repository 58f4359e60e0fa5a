//! The chunks that the elements of an array are stored in.

use std::sync::Arc;

use super::datatype::{Byteorder, Datatype};
use super::grid::ChunkedSource;
use super::handle::Array;
use super::shape::is_c_contiguous;
use crate::error::Result;

/// The division of the elements of a source into chunks, for an array of some or all of them.
pub(super) struct Chunking {
    /// The lengths of the axes of all elements of the source.
    shape: Vec<u64>,
    /// The lengths of a whole chunk.
    chunk: Vec<u64>,
    /// See [`Array::layer_bytes`].
    layer_bytes: u64,
    /// The source; None if its elements are computed from those in chunks.
    stored: Option<Arc<ChunkedSource>>,
}

impl Chunking {
    /// Returns the same chunks of elements that are computed one by one: `size` bytes each, of `stored` bytes each.
    pub(super) fn computed(&self, stored: u64, size: u64) -> Self {
        Self {
            shape: self.shape.clone(),
            chunk: self.chunk.clone(),
            layer_bytes: (self.layer_bytes / stored.max(1)).saturating_mul(size),
            stored: None,
        }
    }
}

impl Array {
    /// Creates an array of all elements of a source in chunks.
    ///
    /// # Errors
    /// Returns the errors of [`Array::new`].
    pub(crate) fn chunked(source: Arc<ChunkedSource>, datatype: Datatype, byteorder: Byteorder, shape: Vec<u64>) -> Result<Self> {
        let (all, chunk) = source.cut();
        let chunking = Chunking {
            shape: all.to_vec(),
            chunk: chunk.to_vec(),
            layer_bytes: source.layer_bytes(),
            stored: Some(Arc::clone(&source)),
        };
        Ok(Self { chunking: Some(Arc::new(chunking)), ..Self::new(source, 0, datatype, byteorder, shape)? })
    }

    /// Returns the lengths of the chunks in which the elements of the array, or fields of them, are stored. Returns None if they
    /// are not stored in chunks, or if the array is a part of what is stored so.
    pub(super) fn stored_chunk(&self) -> Option<&[u64]> {
        let Chunking { shape, chunk, .. } = &**self.chunking.as_ref()?;
        let item = self.source().len().checked_div(self.len())?;
        let is_all = shape == self.shape() && self.offset() < item && is_c_contiguous(shape, self.strides(), item);
        is_all.then_some(chunk)
    }

    /// Returns the source in chunks, if the elements are its bytes.
    pub(super) fn chunked_source(&self) -> Option<&ChunkedSource> {
        self.chunking.as_ref()?.stored.as_deref()
    }

    /// Returns the number of bytes of the source that share the work of decoding, which is the preferred size of reads. Returns 0
    /// if it makes no difference.
    pub(super) fn layer_bytes(&self) -> u64 {
        self.chunking.as_ref().map_or(0, |chunking| chunking.layer_bytes)
    }
}
