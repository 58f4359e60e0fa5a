//! Parts of an array that can be decoded with little waste.

use std::sync::{Mutex, PoisonError};

use super::handle::Array;
use crate::bytes::Form;
use crate::error::{ErrorKind, Result};
use crate::threads::{lock, side_by_side};

/// How many arrays are looked at at once: each may be a request to a server.
const AT_ONCE: usize = 16;

/// Elements that decode only as a whole are one part up to this many bytes.
const WHOLE: u64 = 64 << 20;

impl Array {
    /// How many decoded bytes of the source are decoded together; None where each byte can be had alone.
    ///
    /// # Errors
    /// As [`Source::stored`](crate::bytes::Source::stored).
    pub fn piece(&self) -> Result<Option<u64>> {
        let source = self.source();
        let len = source.len();
        if len < 2 {
            return Ok(None);
        }
        if let Some(piece) = source.first_piece()? {
            return Ok(Some(piece));
        }
        let first = match source.stored(0..1) {
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
            if source.stored(0..middle)? == first { fits = middle } else { over = middle }
        }
        Ok(Some(fits))
    }

    /// The lengths of parts of about so many bytes whose borders are those of what is decoded together: whole chunks of a
    /// grid, whole pieces of a compressed block where these end at rows, whole rows of anything else.
    ///
    /// # Errors
    /// As [`Array::piece`].
    ///
    /// ```
    /// use trilith::array::Array;
    /// let array = Array::from_slice(&[0u8; 4000], &[40, 100])?;
    /// assert_eq!(array.tiles(1000)?, [10, 100]);
    /// # Ok::<(), trilith::Error>(())
    /// ```
    pub fn tiles(&self, bytes: u64) -> Result<Vec<u64>> {
        if self.is_empty() || self.shape().is_empty() {
            return Ok(self.shape().iter().map(|len| (*len).max(1)).collect());
        }
        if let Some(chunk) = self.grid_chunk() {
            return Ok(self.grown(chunk, bytes));
        }
        let row = self.strides().first().and_then(|stride| u64::try_from(*stride).ok()).unwrap_or(0);
        let rows = self.shape().first().copied().unwrap_or(1);
        let piece = match row > 0 && self.is_c_contiguous() {
            // What is broken shows when it is read.
            true => self.piece().or_else(|error| if error.kind() == ErrorKind::Malformed { Ok(None) } else { Err(error) })?,
            false => None,
        };
        let mut chunk = self.shape().to_vec();
        match (piece, chunk.first_mut()) {
            (Some(piece), Some(first)) if piece >= self.source().len() => {
                if self.nbytes() > WHOLE {
                    *first = (WHOLE / row).clamp(1, rows);
                }
            }
            (Some(piece), Some(first)) => {
                // Several pieces to a part only where a row ends with each.
                let together = if piece.is_multiple_of(row) { (bytes / piece).max(1).saturating_mul(piece) } else { piece };
                *first = (together / row).clamp(1, rows);
            }
            _ => chunk = self.grown(vec![1; self.shape().len()], bytes),
        }
        Ok(chunk)
    }

    /// [`Array::tiles`] of several arrays, which are looked at side by side.
    ///
    /// # Errors
    /// As [`Array::piece`].
    pub fn tiles_of_all(arrays: &[Self], bytes: u64) -> Result<Vec<Vec<u64>>> {
        let found = Mutex::new(vec![Vec::new(); arrays.len()]);
        let jobs = arrays.iter().enumerate().collect();
        side_by_side(jobs, AT_ONCE, |(at, array): (usize, &Self)| {
            let tiles = array.tiles(bytes)?;
            if let Some(to) = lock(&found).get_mut(at) {
                *to = tiles;
            }
            Ok(())
        })?;
        Ok(found.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// The lengths of the chunks of a grid that the array is.
    fn grid_chunk(&self) -> Option<Vec<u64>> {
        match self.source().form() {
            Ok(Form::Grid(grid)) if grid.shape == self.shape() && self.offset() == 0 => Some(grid.chunk),
            _ => None,
        }
    }

    /// Chunks put together to about so many bytes, first along the last axis.
    fn grown(&self, mut chunk: Vec<u64>, bytes: u64) -> Vec<u64> {
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
