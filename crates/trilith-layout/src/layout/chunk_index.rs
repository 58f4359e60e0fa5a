//! The index of the chunks of an array that is in the described file itself, in a form that only the format of that file has.

use std::fmt::Debug;
use std::sync::Arc;

use crate::error::Result;

/// A chunk that was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredChunk {
    /// The byte of the layout at which the chunk begins.
    pub offset: u64,
    /// Bytes of the chunk in the file.
    pub len: u64,
    /// The filters that were not applied to the chunk, as bits; the first filter is bit 0.
    pub skipped_filters: u64,
}

/// The places of the chunks of one array. They are read on request, and only as far as needed.
///
/// Chunks are numbered in row-major order of their places in the array.
pub trait ChunkIndex: Debug + Send + Sync {
    /// Returns the number of chunks of the array, written or not. Nothing is read.
    fn count(&self) -> u64;

    /// Returns `true` if the place of a chunk is computed, so that a table of all chunks gains nothing.
    fn has_computed_places(&self) -> bool {
        false
    }

    /// Returns the byte of the layout before which all chunks end. Nothing is read.
    fn end(&self) -> u64;

    /// Returns a chunk, or None if it was never written.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if the index is damaged, and the errors of reading.
    fn chunk(&self, number: u64) -> Result<Option<StoredChunk>>;

    /// Hands each chunk that was written to `visit`, with its number, in no particular order.
    ///
    /// # Errors
    /// Returns the errors of [`ChunkIndex::chunk`] and those of `visit`.
    fn for_each(&self, visit: &mut dyn FnMut(u64, StoredChunk) -> Result<()>) -> Result<()>;
}

/// An array whose chunks are in an index.
#[derive(Debug, Clone)]
pub struct IndexedArray {
    /// The index.
    pub index: Arc<dyn ChunkIndex>,
    /// `true` if the bytes of a chunk, after its filters, are its elements.
    pub is_direct: bool,
    /// `true` if the array is longer than what was written of it.
    pub is_longer: bool,
}
