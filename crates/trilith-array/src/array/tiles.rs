//! Parts of an array that can be decoded with little waste.

use std::sync::{Arc, Mutex, PoisonError};

use super::chunk_grid::ChunkedSource;
use super::chunking::Chunking;
use super::datatype::{Byteorder, Datatype};
use super::handle::Array;
use super::shape::is_c_contiguous;
use crate::bytes::{decode_unit_len, stored_ranges};
use crate::error::{ErrorKind, Result};
use crate::threads::{for_each_concurrent, lock};

/// Number of arrays that are examined at once: each may be a request to a server.
const MAX_CONCURRENT: usize = 16;

/// Elements that decode only as a whole are one part up to this many bytes.
const MAX_WHOLE_BYTES: u64 = 64 << 20;

impl Array {
    /// Creates an array of all elements of a source in chunks.
    ///
    /// # Errors
    /// Returns the errors of [`Array::new`].
    pub fn chunked(source: Arc<ChunkedSource>, datatype: Datatype, byteorder: Byteorder, shape: Vec<u64>) -> Result<Self> {
        let chunking = Some(Arc::new(Chunking::from_source(Arc::clone(&source))));
        Ok(Self { chunking, ..Self::new(source, 0, datatype, byteorder, shape)? })
    }

    /// Returns the lengths of the chunks in which the elements of the array, or fields of them, are stored. Returns None if they
    /// are not stored in chunks, or if the array is a part of what is stored so.
    pub(super) fn stored_chunk(&self) -> Option<&[u64]> {
        let Chunking { shape, chunk, .. } = &**self.chunking.as_ref()?;
        let item = self.source().len().checked_div(self.element_count())?;
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

    /// Returns the number of decoded bytes that the source decodes together, or None if each byte is available
    /// alone.
    ///
    /// # Errors
    /// Returns the errors of [`PieceDecoding::stored_ranges`](crate::bytes::PieceDecoding::stored_ranges).
    pub fn decode_unit(&self) -> Result<Option<u64>> {
        let source = &**self.source();
        let len = source.len();
        if len < 2 {
            return Ok(None);
        }
        if let Some(piece) = decode_unit_len(source, 0..1)? {
            return Ok(Some(piece));
        }
        let first = match stored_ranges(source, 0..1) {
            Ok(first) => first,
            // Bytes of many files, say.
            Err(error) if error.kind() == ErrorKind::Unsupported => return Ok(None),
            Err(error) => return Err(error),
        };
        if first.iter().map(|range| range.end - range.start).sum::<u64>() <= 1 {
            return Ok(None);
        }
        // The longest beginning that costs no more than its first byte.
        let (mut fits, mut over) = (1, len + 1);
        while over - fits > 1 {
            let middle = fits + (over - fits) / 2;
            if stored_ranges(source, 0..middle)? == first { fits = middle } else { over = middle }
        }
        Ok(Some(fits))
    }

    /// The lengths of parts of about this number of bytes whose borders are those of what is decoded together: whole chunks of a
    /// grid, whole pieces of a compressed block if these end at rows, whole rows of anything else.
    ///
    /// # Errors
    /// Returns the errors of [`Array::decode_unit`].
    ///
    /// ```
    /// use trilith_array::array::Array;
    /// let array = Array::from_slice(&[0u8; 4000], &[40, 100])?;
    /// assert_eq!(array.tiles(1000)?, [10, 100]);
    /// # Ok::<(), trilith_array::Error>(())
    /// ```
    pub fn tiles(&self, bytes: u64) -> Result<Vec<u64>> {
        if self.is_empty() || self.shape().is_empty() {
            return Ok(self.shape().iter().map(|len| (*len).max(1)).collect());
        }
        if let Some(chunk) = self.stored_chunk() {
            return Ok(self.merge_chunks(chunk.to_vec(), bytes));
        }
        let row = self.strides().first().and_then(|stride| u64::try_from(*stride).ok()).unwrap_or(0);
        let rows = self.shape().first().copied().unwrap_or(1);
        let piece = match row > 0 && self.is_c_contiguous() {
            // A broken part shows when it is read.
            true => {
                self.decode_unit().or_else(|error| if error.kind() == ErrorKind::Malformed { Ok(None) } else { Err(error) })?
            }
            false => None,
        };
        let mut chunk = self.shape().to_vec();
        match (piece, chunk.first_mut()) {
            (Some(piece), Some(first)) if piece >= self.source().len() => {
                if self.nbytes() > MAX_WHOLE_BYTES {
                    *first = (MAX_WHOLE_BYTES / row).clamp(1, rows);
                }
            }
            (Some(piece), Some(first)) => {
                // Several pieces to a part only where a row ends with each.
                let together = if piece.is_multiple_of(row) { (bytes / piece).max(1).saturating_mul(piece) } else { piece };
                *first = (together / row).clamp(1, rows);
            }
            _ => chunk = self.merge_chunks(vec![1; self.shape().len()], bytes),
        }
        Ok(chunk)
    }

    /// [`Array::tiles`] of several arrays, which are looked at side by side.
    ///
    /// # Errors
    /// Returns the errors of [`Array::decode_unit`].
    pub fn tile_shapes(arrays: &[Self], bytes: u64) -> Result<Vec<Vec<u64>>> {
        let found = Mutex::new(vec![Vec::new(); arrays.len()]);
        let jobs = arrays.iter().enumerate().collect();
        for_each_concurrent(jobs, MAX_CONCURRENT, |(at, array): (usize, &Self)| {
            let tiles = array.tiles(bytes)?;
            if let Some(to) = lock(&found).get_mut(at) {
                *to = tiles;
            }
            Ok(())
        })?;
        Ok(found.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// The shape of what is decoded together; None if any part can be read by itself.
    ///
    /// A chunk of a grid has the lengths in the file, and may reach beyond the array. A block whose pieces do not end at rows counts
    /// as whole rows, at least one; one without pieces as a whole.
    ///
    /// # Errors
    /// Returns the errors of [`Array::decode_unit`].
    ///
    /// ```
    /// use trilith_array::array::Array;
    /// let array = Array::from_slice(&[0u8; 4000], &[40, 100])?;
    /// assert_eq!(array.chunk_shape()?, None);
    /// # Ok::<(), trilith_array::Error>(())
    /// ```
    pub fn chunk_shape(&self) -> Result<Option<Vec<u64>>> {
        if self.is_empty() || self.shape().is_empty() {
            return Ok(None);
        }
        if let Some(chunk) = self.stored_chunk() {
            return Ok(Some(chunk.to_vec()));
        }
        let Some(piece) = self.decode_unit()? else { return Ok(None) };
        let mut chunk = self.shape().to_vec();
        if let (Some(row), Some(first)) = (self.row_bytes(), chunk.first_mut()) {
            *first = (piece / row).clamp(1, *first);
        }
        Ok(Some(chunk))
    }

    /// Returns the lengths of parts of whole rows, each of about this number of bytes. If possible, a part ends at the end of a
    /// chunk, or with the last row of a sub-block of a compressed block, so that two parts share at most one sub-block. Returns
    /// None if the bytes of a row are not contiguous.
    ///
    /// # Errors
    /// Returns the errors of [`Array::decode_unit`].
    ///
    /// ```
    /// use trilith_array::array::Array;
    /// let array = Array::from_slice(&[0u8; 4000], &[40, 100])?;
    /// assert_eq!(array.row_parts(1500)?, Some(vec![15, 15, 10]));
    /// # Ok::<(), trilith_array::Error>(())
    /// ```
    pub fn row_parts(&self, bytes: u64) -> Result<Option<Vec<u64>>> {
        let (Some(row), Some(rows)) = (self.row_bytes(), self.shape().first().copied()) else { return Ok(None) };
        let (whole, chunk) = (self.nbytes(), self.stored_chunk());
        let step_of = |unit: u64| (bytes / unit.max(1)).max(1).saturating_mul(unit.max(1));
        // The ends of parts, in bytes from here on.
        let (step, from) = match chunk.and_then(|chunk| chunk.first().copied()) {
            Some(chunk) => (step_of(chunk.saturating_mul(row)), 0),
            None => match self.decode_unit()? {
                Some(piece) => (step_of(piece), self.offset()),
                None => (step_of(row), 0),
            },
        };
        let (mut parts, mut start, mut end) = (Vec::new(), 0, (from / step).saturating_add(1).saturating_mul(step));
        while end < from.saturating_add(whole) {
            let next = (end - from).div_ceil(row);
            if next > start && next < rows {
                parts.push(next - start);
                start = next;
            }
            end = end.saturating_add(step);
        }
        parts.push(rows - start);
        Ok(Some(parts))
    }

    /// Bytes of a row, if rows are one after the other and there are elements.
    fn row_bytes(&self) -> Option<u64> {
        let row = u64::try_from(*self.strides().first()?).ok().filter(|row| *row > 0)?;
        let rows = self.shape().first()?;
        (!self.is_empty() && row.checked_mul(*rows) == Some(self.nbytes())).then_some(row)
    }

    /// Chunks put together to about this number of bytes, first along the last axis.
    fn merge_chunks(&self, mut chunk: Vec<u64>, bytes: u64) -> Vec<u64> {
        let mut size = chunk.iter().fold(self.datatype().packed_size().max(1), |n, len| n.saturating_mul(*len));
        for (chunk, len) in chunk.iter_mut().zip(self.shape()).rev() {
            let count = len.div_ceil((*chunk).max(1)).max(1);
            let together = (bytes / size.max(1)).clamp(1, count);
            size = size.saturating_mul(together);
            *chunk = chunk.saturating_mul(together).clamp(1, (*len).max(1));
            if together < count {
                break;
            }
        }
        chunk
    }
}
