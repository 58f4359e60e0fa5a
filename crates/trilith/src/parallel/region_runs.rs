//! Places of the elements of a part of an array, one run of bytes after the other.

use crate::array::Array;
use crate::error::Result;

/// The runs of bytes of a file in which the elements of a part are, in C order.
pub(super) struct ByteRuns {
    /// Offset of the next byte.
    offset: u64,
    /// Bytes in each run, and how many are left of this one.
    len: u64,
    remaining: u64,
    /// The axes outside of a run: length, distance, index.
    outer: Vec<(u64, i64, u64)>,
}

impl ByteRuns {
    /// The runs of a part of an array whose source begins at byte `begin` of the file.
    pub(super) fn new(part: &Array, begin: u64) -> Self {
        let mut len = part.datatype().packed_size();
        let mut outer: Vec<(u64, i64, u64)> = part
            .shape()
            .iter()
            .zip(part.strides())
            .filter(|(len, _)| **len != 1)
            .map(|(len, stride)| (*len, *stride, 0))
            .collect();
        while let Some((count, _, _)) = outer.pop_if(|(_, stride, _)| u64::try_from(*stride) == Ok(len)) {
            len = len.saturating_mul(count);
        }
        Self { offset: begin.saturating_add(part.offset()), len, remaining: len, outer }
    }

    /// Hands over the next bytes of the elements, with where they go.
    ///
    /// # Errors
    /// Returns the errors of `write`.
    pub(super) fn for_each_run(&mut self, mut bytes: &[u8], mut write: impl FnMut(u64, &[u8]) -> Result<()>) -> Result<()> {
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(usize::try_from(self.remaining).unwrap_or(usize::MAX).min(bytes.len()));
            write(self.offset, now)?;
            bytes = later;
            self.offset += now.len() as u64;
            self.remaining -= now.len() as u64;
            if self.remaining == 0 {
                self.advance_run();
            }
        }
        Ok(())
    }

    /// Goes to the next run.
    fn advance_run(&mut self) {
        let mut at = self.offset.wrapping_sub(self.len);
        for (len, stride, index) in self.outer.iter_mut().rev() {
            *index += 1;
            at = at.wrapping_add_signed(*stride);
            if *index < *len {
                break;
            }
            at = at.wrapping_sub((*len).wrapping_mul(*stride as u64));
            *index = 0;
        }
        (self.offset, self.remaining) = (at, self.len);
    }
}

/// One value as an array of this shape, all of whose elements are that one.
///
/// # Errors
/// Returns an error if the value cannot be read.
pub(super) fn broadcast(value: &Array, shape: &[u64]) -> Result<Array> {
    let strides = vec![0; shape.len()];
    let source = value.source().clone();
    let spread = Array::strided(source, value.offset(), value.datatype().clone(), value.byteorder(), shape.to_vec(), strides)?;
    // Elements that share bytes are what a hostile file would have; this is none.
    let mut limits = (**value.limits()).clone();
    limits.overlap = u64::MAX;
    Ok(spread.with_limits(std::sync::Arc::new(limits)))
}
