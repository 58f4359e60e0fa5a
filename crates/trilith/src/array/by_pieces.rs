//! Parts of the rows of a compressed block: its pieces are decoded once each, several at a time.

use std::ops::Range;

use super::handle::Array;
use super::index::Index;
use super::program::Program;
use crate::bytes::{Access, Memory, Source, to_usize};
use crate::error::{Error, ErrorKind, Result};
use crate::threads::threads;

/// Decoded bytes that are held at once, besides the pieces at both ends: at most, and at least where there are so many.
const MOST: u64 = 64 << 20;
const LEAST: u64 = 8 << 20;

/// Decoded bytes of a source, from the beginning of a piece to the end of one.
struct Decoded<'s> {
    source: &'s dyn Source,
    piece: u64,
    memory: Memory,
    range: Range<u64>,
}

impl Decoded<'_> {
    /// Decodes the pieces that hold a range which begins no earlier than the one before: those that are here already stay.
    fn show(&mut self, range: &Range<u64>) -> Result<&[u8]> {
        let start = range.start / self.piece * self.piece;
        let end = range.end.div_ceil(self.piece).saturating_mul(self.piece).min(self.source.len());
        let kept = start.max(self.range.start)..self.range.end.max(start);
        let (from, len) = (to_usize(kept.start - self.range.start.min(kept.start))?, to_usize(kept.end - kept.start)?);
        let short = || Error::limit("the memory for decoded pieces is too small");
        let bytes = &mut *self.memory;
        if len > 0 {
            bytes.copy_within(from..from.checked_add(len).filter(|end| *end <= bytes.len()).ok_or_else(short)?, 0);
        }
        let size = to_usize(end.max(kept.end) - start)?;
        self.source.read_at(start + len as u64, bytes.get_mut(len..size).ok_or_else(short)?)?;
        self.range = start..end.max(kept.end);
        bytes.get(..size).ok_or_else(short)
    }
}

impl Array {
    /// Fills `into` with parts of rows that lie in several pieces of a compressed block; false, and nothing done, where the
    /// elements lie otherwise.
    pub(super) fn fill_by_pieces(&self, program: &Program, into: &mut [u8]) -> Result<bool> {
        let Some((axis, piece)) = self.axis_over_pieces()? else { return Ok(false) };
        let (rows, stride) = (self.shape()[axis], self.strides()[axis].unsigned_abs());
        let (extent, inner) = (self.extent(), self.row_extent(axis));
        // One piece for each thread, but enough of small ones for several threads to be worth it.
        let enough = (threads() as u64).max(LEAST.div_ceil(piece));
        let wide = (self.most_together() / piece).clamp(1, enough).saturating_mul(piece);
        let together = wide.saturating_sub(inner) / stride + 1;
        let span = inner.saturating_add((together - 1).saturating_mul(stride)).min(extent.end - extent.start);
        let size = span.saturating_add(piece.saturating_mul(2)).min(self.source().len());
        self.limits().charge_memory(size, "decoding pieces of a block")?;
        let source = self.source().clone();
        let mut decoded = Decoded { source: &*source, piece, memory: Memory::zeroed(to_usize(size)?)?, range: 0..0 };
        let (mut start, mut rest) = (0, into);
        while start < rows {
            let end = start.saturating_add(together).min(rows);
            let mut index = vec![Index::Range { start: None, stop: None, step: 1 }; axis];
            index.push(Index::Range { start: i64::try_from(start).ok(), stop: i64::try_from(end).ok(), step: 1 });
            let block = self.clone().without_mask().slice(&index)?;
            let (part, more) = std::mem::take(&mut rest).split_at_mut(to_usize(block.nbytes())?);
            let bytes = match decoded.show(&block.extent()) {
                Ok(bytes) => bytes,
                // Perhaps where whole pieces reach beyond what is needed: that is then read to the byte.
                Err(error) if error.kind() == ErrorKind::Malformed => return Ok(false),
                Err(error) => return Err(error),
            };
            block.fill_from(program, bytes, block.extent().start / piece * piece, part)?;
            (start, rest) = (end, more);
        }
        Ok(true)
    }

    /// Bytes from the first to the last of one row.
    fn row_extent(&self, axis: usize) -> u64 {
        let (extent, before) = (self.extent(), (self.shape()[axis] - 1).saturating_mul(self.strides()[axis].unsigned_abs()));
        (extent.end - extent.start).saturating_sub(before)
    }

    /// Bytes that are decoded at once.
    fn most_together(&self) -> u64 {
        MOST.min(self.limits().memory / 8)
    }

    /// The axis along which rows lie one behind the other, and the bytes of a piece, where parts of rows lie in several pieces
    /// that decode alone and no piece between them is without any.
    fn axis_over_pieces(&self) -> Result<Option<(usize, u64)>> {
        let source = self.source();
        let Some(axis) = self.shape().iter().position(|len| *len > 1) else { return Ok(None) };
        let stride = self.strides()[axis];
        if stride <= 0
            || self.row_extent(axis) > stride.unsigned_abs()
            || self.is_c_contiguous()
            || source.access() == Access::Requests
            || source.grid().is_some()
        {
            return Ok(None);
        }
        let extent = self.extent();
        let fits = |piece: &u64| {
            let is_split = *piece > 0 && extent.start / piece != (extent.end - 1) / piece;
            is_split && stride.unsigned_abs() <= *piece && *piece <= self.most_together() && *piece < source.len()
        };
        Ok(source.first_piece()?.filter(fits).map(|piece| (axis, piece)))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use proptest::prelude::*;

    use super::*;
    use crate::array::{Array, Byteorder, Datatype};
    use crate::bytes::{MemorySource, SourceRef};

    /// Bytes that say what was read of them, as a codec gives them; from `whole` on they cannot be decoded.
    struct Coded {
        bytes: Vec<u8>,
        piece: u64,
        whole: u64,
        read: Mutex<Vec<Range<u64>>>,
    }

    impl Source for Coded {
        fn len(&self) -> u64 {
            self.bytes.len() as u64
        }

        fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<()> {
            if offset + into.len() as u64 > self.whole {
                return Err(Error::malformed("cut off"));
            }
            into.copy_from_slice(&self.bytes[offset as usize..][..into.len()]);
            self.read.lock().unwrap().push(offset..offset + into.len() as u64);
            Ok(())
        }

        fn first_piece(&self) -> Result<Option<u64>> {
            Ok(Some(self.piece))
        }

        fn name(&self) -> &str {
            "coded"
        }
    }

    fn coded(len: usize, piece: u64) -> Arc<Coded> {
        let bytes = (0..len).map(|n| (n * 7 % 251) as u8).collect();
        Arc::new(Coded { bytes, piece, whole: u64::MAX, read: Mutex::default() })
    }

    fn plane(source: SourceRef, rows: u64, columns: u64, order: Byteorder) -> Array {
        Array::new(source, 0, Datatype::Uint16, order, vec![rows, columns]).unwrap()
    }

    proptest! {
        #[test]
        fn parts_of_rows_are_those_of_plain_bytes_and_nothing_is_read_twice(
            (rows, columns, piece) in (1u64..90, 1u64..40, 1u64..700),
            (top, height, left, width, step) in (0i64..90, 1i64..90, 0i64..40, 1i64..40, 1i64..4),
            turned: bool,
        ) {
            let source = coded((rows * columns * 2) as usize, piece);
            let part = |array: &Array| {
                let row = Index::Range { start: Some(top), stop: Some(top + height), step };
                let column = match turned {
                    false => Index::Range { start: Some(left), stop: Some(left + width), step: 1 },
                    true => Index::Range { start: Some(left + width), stop: Some(left), step: -1 },
                };
                array.slice([row, column]).unwrap()
            };
            let plain = Arc::new(MemorySource::new(source.bytes.clone(), "plain"));
            let expected = part(&plane(plain, rows, columns, Byteorder::Big)).read_bytes(Byteorder::Little).unwrap();
            let found = part(&plane(source.clone(), rows, columns, Byteorder::Big)).read_bytes(Byteorder::Little).unwrap();
            prop_assert_eq!(found, expected);
            let mut read = source.read.lock().unwrap().clone();
            read.sort_unstable_by_key(|range| range.start);
            prop_assert!(read.windows(2).all(|pair| pair[0].end <= pair[1].start), "{:?}", read);
        }
    }

    #[test]
    fn whole_pieces_are_read_and_none_that_is_not_needed() {
        let source = coded(400 * 100 * 2, 1000);
        let index =
            [Index::Range { start: Some(13), stop: Some(288), step: 1 }, Index::Range { start: Some(7), stop: Some(9), step: 1 }];
        plane(source.clone(), 400, 100, Byteorder::Little).slice(index).unwrap().read_bytes(Byteorder::Little).unwrap();
        let read = source.read.lock().unwrap();
        assert_eq!((read.first().unwrap().start, read.last().unwrap().end), (2000, 58_000));
        assert!(read.iter().all(|range| range.start % 1000 == 0 && range.end % 1000 == 0), "{read:?}");
    }
    #[test]
    fn what_lies_before_a_break_inside_of_a_piece_is_read() {
        let mut source = Arc::into_inner(coded(400 * 100 * 2, 1000)).unwrap();
        source.whole = 58_500;
        let rows = |from, to| {
            [Index::Range { start: Some(from), stop: Some(to), step: 1 }, Index::Range { start: Some(7), stop: Some(9), step: 1 }]
        };
        let array = plane(Arc::new(source), 400, 100, Byteorder::Little);
        // Row 292 ends before the break, row 293 behind it.
        assert_eq!(array.slice(rows(13, 292)).unwrap().read_bytes(Byteorder::Little).unwrap().len(), 279 * 4);
        let error = array.slice(rows(13, 294)).unwrap().read_bytes(Byteorder::Little).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Malformed);
    }

    #[test]
    fn rows_that_lie_in_each_other_are_no_rows() {
        let source = coded(64 * 1000, 1000);
        let array = Array::strided(source, 0, Datatype::Uint16, Byteorder::Little, vec![8, 8], vec![1000, 998]).unwrap();
        assert_eq!(array.axis_over_pieces().unwrap(), None);
    }
}
