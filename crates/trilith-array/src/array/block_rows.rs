//! Parts of the rows of a compressed block: each of its pieces is decoded once, several at the same time, each by a thread
//! that hands out what it holds.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use super::copy_program::CopyProgram;
use super::handle::Array;
use super::index::Index;
use crate::bytes::{HugePageMemory, decode_unit_len, to_usize};
use crate::error::{Error, ErrorKind, Result};
use crate::threads::{map_parallel, threads};

/// Decoded bytes that a thread holds at once: smaller pieces are decoded several together.
#[cfg(not(test))]
const MIN_THREAD_BYTES: u64 = 256 << 10;
#[cfg(test)]
const MIN_THREAD_BYTES: u64 = 1;

/// Bytes of rows that are in two jobs, at most.
const MAX_SPLIT_BYTES: u64 = 64 << 20;

/// Consecutive rows that do not overlap.
struct RowRange {
    axis: usize,
    /// The first byte of the first one.
    first: u64,
    /// Bytes from the beginning of one row to that of the next.
    stride: u64,
    /// Bytes from the first to the last of one, of which some may not be wanted.
    inner: u64,
    count: u64,
}

impl RowRange {
    fn row_start(&self, row: u64) -> u64 {
        self.first.saturating_add(row.saturating_mul(self.stride))
    }

    fn row_end(&self, row: u64) -> u64 {
        self.row_start(row).saturating_add(self.inner)
    }

    /// Returns how many rows end at or before a byte.
    fn rows_before(&self, byte: u64) -> u64 {
        byte.checked_sub(self.row_end(0)).map_or(0, |more| (more / self.stride + 1).min(self.count))
    }
}

/// The work that one thread does at once.
struct RowJob<'o, 't> {
    /// The decoded bytes: whole pieces.
    bytes: Range<u64>,
    rows: Range<u64>,
    output: &'o mut [u8],
    /// The end of a row that begins in the job before, and the beginning of one that ends in the next.
    tail_rows: Option<&'t mut [u8]>,
    head_rows: Option<&'t mut [u8]>,
}

impl Array {
    /// Fills `into` with parts of rows that are in several pieces of a compressed block; false if the elements are
    /// otherwise, or a piece is damaged, perhaps where nothing is wanted of it.
    pub(super) fn fill_by_pieces(&self, program: &CopyProgram, into: &mut [u8]) -> Result<bool> {
        let Some((rows, piece, size)) = self.rows_over_pieces()? else { return Ok(false) };
        let array = self.clone().without_mask();
        let row_bytes = into.len() / to_usize(rows.count)?;
        let jobs = rows.row_end(rows.count - 1).div_ceil(size) - rows.first / size;
        let torn_bytes = jobs.saturating_mul(rows.inner);
        let held = size.saturating_mul(jobs.min(threads() as u64)).saturating_add(torn_bytes);
        if torn_bytes > MAX_SPLIT_BYTES || held > self.limits().memory / 8 {
            return Ok(false);
        }
        let mut torn_rows = HugePageMemory::zeroed(to_usize(torn_bytes)?)?;
        let (jobs, torn) = plan_jobs(&rows, piece, size, self.source().len(), (into, row_bytes), &mut torn_rows)?;
        let memories = Mutex::new(Vec::new());
        let lock = || memories.lock().unwrap_or_else(PoisonError::into_inner);
        let done = map_parallel(jobs, |job| {
            if decode_unit_len(&**self.source(), job.bytes.clone())? != Some(piece) {
                // The pieces looked equal when the jobs were planned. Another thread has decoded one of another size since.
                return Err(Error::malformed("its pieces are not of one size"));
            }
            let kept = lock().pop();
            let mut memory = kept.map_or_else(|| HugePageMemory::scratch(to_usize(size)?), Ok)?;
            let bytes = job_part(&mut memory, 0, to_usize(job.bytes.end - job.bytes.start)?)?;
            self.source().read_at(job.bytes.start, bytes)?;
            if let Some(ends) = job.tail_rows {
                ends.copy_from_slice(job_part(bytes, 0, ends.len())?);
            }
            if let Some(begins) = job.head_rows {
                begins.copy_from_slice(job_part(bytes, bytes.len().saturating_sub(begins.len()), begins.len())?);
            }
            if !job.rows.is_empty() {
                array.axis_part(rows.axis, job.rows)?.copy_from_view(program, bytes, job.bytes.start, job.output)?;
            }
            lock().push(memory);
            Ok(())
        });
        match done {
            // The needed bytes are then read exactly.
            Err(error) if error.kind() == ErrorKind::Malformed => return Ok(false),
            done => done?,
        };
        let mut rest: &mut [u8] = &mut torn_rows;
        for (row, out) in torn {
            let bytes = split_front(&mut rest, to_usize(rows.inner)?)?;
            array.axis_part(rows.axis, row..row + 1)?.copy_from_view(program, bytes, rows.row_start(row), out)?;
        }
        Ok(true)
    }

    /// A part of one axis.
    fn axis_part(&self, axis: usize, wanted: Range<u64>) -> Result<Self> {
        let mut index = vec![Index::Slice { start: None, stop: None, step: 1 }; axis];
        index.push(Index::Slice { start: i64::try_from(wanted.start).ok(), stop: i64::try_from(wanted.end).ok(), step: 1 });
        self.slice(&index)
    }

    /// The rows, the bytes of a piece, and how many bytes a thread decodes at once, if parts of rows are in several pieces
    /// that decode alone and no piece between them is without any.
    fn rows_over_pieces(&self) -> Result<Option<(RowRange, u64, u64)>> {
        let source = self.source();
        let Some(axis) = self.shape().iter().position(|len| *len > 1) else { return Ok(None) };
        let (count, stride, extent) = (self.shape()[axis], self.strides()[axis].unsigned_abs(), self.byte_range());
        let inner = (extent.end - extent.start).saturating_sub((count - 1).saturating_mul(stride));
        let lie_apart = self.strides()[axis] > 0 && inner <= stride;
        if !lie_apart || self.is_c_contiguous() || source.access().prefetch_helps {
            return Ok(None);
        }
        let piece = match decode_unit_len(&**source, extent.clone()) {
            Ok(Some(piece)) if piece >= stride && piece < source.len() => piece,
            // Reading them one by one reports the damaged place.
            Err(error) if error.kind() != ErrorKind::Malformed => return Err(error),
            _ => return Ok(None),
        };
        if extent.start / piece == (extent.end - 1) / piece {
            return Ok(None);
        }
        // A job has at least four times the bytes of a row, so that few rows are in two jobs.
        let size = MIN_THREAD_BYTES.max(inner.saturating_mul(4)).div_ceil(piece).saturating_mul(piece);
        Ok(Some((RowRange { axis, first: extent.start, stride, inner, count }, piece, size)))
    }
}

/// Rows that are in two jobs, each with the place of its elements.
type SplitRows<'a> = Vec<(u64, &'a mut [u8])>;

/// Plans the decoding: which thread fills which rows. Each torn row gets its share of `torn_rows`.
fn plan_jobs<'o, 't>(
    rows: &RowRange,
    piece: u64,
    size: u64,
    len: u64,
    (mut into, row_bytes): (&'o mut [u8], usize),
    mut torn_rows: &'t mut [u8],
) -> Result<(Vec<RowJob<'o, 't>>, SplitRows<'o>)> {
    let (mut jobs, mut torn) = (Vec::new(), Vec::new());
    let (mut row, mut at, mut ends) = (0, rows.first / size * size, None);
    while row < rows.count || ends.is_some() {
        let stop = at.saturating_add(size);
        let (whole, begins_here) = (rows.rows_before(stop).max(row), |row| row < rows.count && rows.row_start(row) < stop);
        let is_torn = begins_here(whole);
        let first = if ends.is_some() { at } else { rows.row_start(row) };
        let last = match (is_torn, whole > row) {
            (true, _) => stop,
            (false, true) => rows.row_end(whole - 1),
            (false, false) => at.saturating_add(ends.as_ref().map_or(0, |ends: &&mut [u8]| ends.len() as u64)),
        };
        let bytes = first / piece * piece..last.div_ceil(piece).saturating_mul(piece).min(len);
        let out = split_front(&mut into, to_usize(whole - row)?.saturating_mul(row_bytes))?;
        let mut job = RowJob { bytes, rows: row..whole, output: out, tail_rows: ends.take(), head_rows: None };
        row = whole;
        if is_torn {
            job.head_rows = Some(split_front(&mut torn_rows, to_usize(stop - rows.row_start(row))?)?);
            ends = Some(split_front(&mut torn_rows, to_usize(rows.row_end(row) - stop)?)?);
            torn.push((row, split_front(&mut into, row_bytes)?));
            row += 1;
        }
        if !job.bytes.is_empty() {
            jobs.push(job);
        }
        at = stop;
    }
    Ok((jobs, torn))
}

#[cold]
fn too_short_error() -> Error {
    Error::limit("the memory for decoded pieces is too small")
}

/// The first bytes, which are then taken off.
fn split_front<'a>(rest: &mut &'a mut [u8], count: usize) -> Result<&'a mut [u8]> {
    let (taken, more) = std::mem::take(rest).split_at_mut_checked(count).ok_or_else(too_short_error)?;
    *rest = more;
    Ok(taken)
}

fn job_part(bytes: &mut [u8], from: usize, len: usize) -> Result<&mut [u8]> {
    from.checked_add(len).and_then(|end| bytes.get_mut(from..end)).ok_or_else(too_short_error)
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use proptest::prelude::*;

    use super::*;
    use crate::array::{Array, Byteorder, Datatype};
    use crate::bytes::{MemorySource, PieceDecoding, Source, SourceRef};

    /// Bytes that say what was read of them, as a codec gives them; from `whole` on they cannot be decoded, and from `equal`
    /// on, once a byte of that was read, the pieces are of other sizes.
    struct Coded {
        bytes: Vec<u8>,
        piece: u64,
        whole: u64,
        equal: u64,
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

        fn pieces(&self) -> Option<&dyn PieceDecoding> {
            Some(self)
        }

        fn name(&self) -> &str {
            "coded"
        }
    }

    impl PieceDecoding for Coded {
        fn stored_ranges(&self, range: Range<u64>) -> Result<Vec<Range<u64>>> {
            Ok(vec![range])
        }

        fn piece_len(&self, _range: Range<u64>) -> Result<Option<u64>> {
            let is_found = self.read.lock().unwrap().iter().any(|read| read.end > self.equal);
            Ok((!is_found).then_some(self.piece))
        }
    }

    fn coded(len: usize, piece: u64) -> Arc<Coded> {
        let bytes = (0..len).map(|n| (n * 7 % 251) as u8).collect();
        Arc::new(Coded { bytes, piece, whole: u64::MAX, equal: u64::MAX, read: Mutex::default() })
    }

    fn plane(source: SourceRef, rows: u64, columns: u64, order: Byteorder) -> Array {
        Array::new(source, 0, Datatype::Uint16, order, vec![rows, columns]).unwrap()
    }

    proptest! {
        #[test]
        fn partial_rows_match_plain_bytes_and_read_once(
            (rows, columns, piece) in (1u64..90, 1u64..40, 1u64..700),
            (top, height, left, width, step) in (0i64..90, 1i64..90, 0i64..40, 1i64..40, 1i64..4),
            turned: bool,
        ) {
            let source = coded((rows * columns * 2) as usize, piece);
            let part = |array: &Array| {
                let row = Index::Slice { start: Some(top), stop: Some(top + height), step };
                let column = match turned {
                    false => Index::Slice { start: Some(left), stop: Some(left + width), step: 1 },
                    true => Index::Slice { start: Some(left + width), stop: Some(left), step: -1 },
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
    fn slice_reads_only_needed_whole_chunks() {
        let source = coded(400 * 100 * 2, 1000);
        let index = Index::parse_list("13:288,7:9").unwrap();
        plane(source.clone(), 400, 100, Byteorder::Little).slice(index).unwrap().read_bytes(Byteorder::Little).unwrap();
        let read = source.read.lock().unwrap();
        assert_eq!((read.first().unwrap().start, read.last().unwrap().end), (2000, 58_000));
        assert!(read.iter().all(|range| range.start % 1000 == 0 && range.end % 1000 == 0), "{read:?}");
    }
    #[test]
    fn rows_before_damage_within_chunk_are_read() {
        let mut source = Arc::into_inner(coded(400 * 100 * 2, 1000)).unwrap();
        source.whole = 58_500;
        let array = plane(Arc::new(source), 400, 100, Byteorder::Little);
        // Row 292 ends before the break, row 293 after it.
        assert_eq!(
            array.slice(Index::parse_list("13:292,7:9").unwrap()).unwrap().read_bytes(Byteorder::Little).unwrap().len(),
            279 * 4
        );
        let error = array.slice(Index::parse_list("13:294,7:9").unwrap()).unwrap().read_bytes(Byteorder::Little).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Malformed);
    }

    #[test]
    fn unequal_chunks_fall_back_to_exact_read() {
        let mut source = Arc::into_inner(coded(4000 * 100 * 2, 1000)).unwrap();
        source.equal = 5000;
        let source = Arc::new(source);
        let index = Index::parse_list(":,7:9").unwrap();
        let array = plane(source.clone(), 4000, 100, Byteorder::Little).slice(index).unwrap();
        let expected: Vec<u8> = source.bytes.chunks(200).flat_map(|row| &row[14..18]).copied().collect();
        assert_eq!(array.read_bytes(Byteorder::Little).unwrap(), expected);
        let whole = source.read.lock().unwrap().iter().filter(|read| read.start % 1000 == 0 && read.end % 1000 == 0).count();
        assert!(whole <= 5 + 2 * threads(), "{whole}");
        assert!(array.rows_over_pieces().unwrap().is_none());
    }

    #[test]
    fn overlapping_rows_return_none() {
        let source = coded(64 * 1000, 1000);
        let array = Array::strided(source, 0, Datatype::Uint16, Byteorder::Little, vec![8, 8], vec![1000, 998]).unwrap();
        assert!(array.rows_over_pieces().unwrap().is_none());
    }
}
