//! The elements of a list as one array with a leading axis.

use std::sync::Arc;

use super::arrangement::span_len;
use super::datatype::datatype_of;
use super::dudley_file::StreamItems;
use crate::array::Array;
use crate::bytes::{
    CodedPiece, PieceDecoding, Source, SourceEncoding, SourceOrigin, SourceRef, TruncatedSource, encoding, split_runs,
};
use crate::error::{Error, Result};
use crate::layout::{EqualSpacing, StackResult};

impl StreamItems<'_> {
    /// The elements of a list as one array, or the same item (`/history/te`) or member (`/probes.x`) of all its
    /// elements: the first axis counts them. None if the path leads to no list, or to an empty one.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use trilith_io::bytes::MemorySource;
    /// use trilith_layout::{Limits, dudley::DudleyFile, layout::Layout};
    /// let layout = Layout::read(b"t [u1] n = u1 t [2]")?;
    /// let file = DudleyFile::open(Arc::new(MemorySource::new(vec![5, 0, 6, 7], "x")), Some(layout), &Limits::default())?;
    /// assert_eq!(file.locate_items()?.stacked("/t")?.unwrap().load::<u8>()?, [5, 6, 7]);
    /// # Ok::<(), trilith_layout::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if the elements are not alike, and the errors of
    /// [`StreamItems::array_at`].
    pub fn stacked(&self, path: &str) -> Result<Option<Array>> {
        let found = match self.evaluation().find_stack(path)? {
            StackResult::Nothing => return Ok(None),
            StackResult::Mixed(why) => {
                return Err(Error::invalid_input(format!("the elements of {path} are not one array: {why}"))
                    .at_path(path)
                    .hint("read them one by one, as NAME[0]"));
            }
            StackResult::Uniform(found) => found,
        };
        let first = found.first;
        let mut shape = first.shape.clone();
        let (datatype, order) = datatype_of(&first.typed, &mut shape)?;
        let strides = first.strides.get(..shape.len()).unwrap_or(&[]);
        let too_large = || Error::malformed(format!("E406: {path} is too large"));
        let span = span_len(&datatype, &shape, strides).ok_or_else(too_large)?;
        let runs: Vec<EqualSpacing> = found.runs.into_iter().filter(|_| span > 0).collect();
        let place =
            |run: &EqualSpacing| run.first_address.and_then(|at| at.checked_add(self.file().base_offset())).ok_or_else(too_large);
        let (source, offset, step): (SourceRef, u64, u64) = match runs.as_slice() {
            [only] => {
                let (start, last) = (place(only)?, only.stride.saturating_mul(only.count.saturating_sub(1)));
                let end = start.saturating_add(last).saturating_add(span);
                (TruncatedSource::with_declared_len(Arc::clone(self.file().source_covering(end)), end), start, only.stride)
            }
            runs => {
                self.file()
                    .limits()
                    .charge_memory((runs.len() as u64).saturating_mul(24), "the places of the elements of a list")?;
                let mut pieces = Vec::with_capacity(runs.len());
                let mut index = 0u64;
                for run in runs {
                    pieces.push(StackPiece { index, offset: place(run)?, stride: run.stride });
                    index = index.saturating_add(run.count);
                }
                let len = span.checked_mul(index).ok_or_else(too_large)?;
                let last = pieces.iter().map(|piece| piece.offset.saturating_add(piece.stride)).max().unwrap_or(0);
                (
                    Arc::new(StackedElements {
                        source: Arc::clone(self.file().source_covering(last.saturating_add(span))),
                        span,
                        len,
                        pieces,
                    }),
                    0,
                    span,
                )
            }
        };
        let mut all = vec![i64::try_from(step).map_err(|_| too_large())?];
        for stride in strides {
            all.push(i64::try_from(*stride).map_err(|_| too_large())?);
        }
        shape.insert(0, found.count);
        let array = Array::strided(source, offset, datatype, order, shape, all).map_err(|e| e.context(path.to_owned()))?;
        Ok(Some(array.with_limits(Arc::new(self.file().limits().clone()))))
    }
}

/// Elements of a list at equal distances.
struct StackPiece {
    /// Number of the first element, and its place.
    index: u64,
    offset: u64,
    stride: u64,
}

/// The bytes of the elements of a list, one after the other.
struct StackedElements {
    source: SourceRef,
    /// The bytes of one element.
    span: u64,
    len: u64,
    pieces: Vec<StackPiece>,
}

impl StackedElements {
    /// The bytes of the file that `len` bytes from `offset` on are, as far as one element goes.
    fn locate(&self, offset: u64, len: u64) -> Result<(u64, u64)> {
        let behind = || Error::malformed(format!("byte {offset} is after the last element"));
        let number = offset.checked_div(self.span).ok_or_else(behind)?;
        let from = offset - number * self.span;
        let piece = self.pieces.partition_point(|piece| piece.index <= number).checked_sub(1);
        let piece = piece.and_then(|at| self.pieces.get(at)).ok_or_else(behind)?;
        let start = (number - piece.index).checked_mul(piece.stride).and_then(|more| piece.offset.checked_add(more));
        let start = start.and_then(|start| start.checked_add(from)).ok_or_else(behind)?;
        Ok((start, len.min(self.span - from)))
    }

    /// The bytes of the file that a range is.
    fn locate_range(&self, range: &std::ops::Range<u64>) -> Result<Vec<std::ops::Range<u64>>> {
        let mut out: Vec<std::ops::Range<u64>> = Vec::new();
        let mut at = range.start;
        while at < range.end.min(self.len) {
            let (start, count) = self.locate(at, range.end - at)?;
            match out.last_mut().filter(|last| last.end == start) {
                Some(last) => last.end = start.saturating_add(count),
                None => out.push(start..start.saturating_add(count)),
            }
            at = at.saturating_add(count);
        }
        Ok(out)
    }
}

impl PieceDecoding for StackedElements {
    fn stored_ranges(&self, range: std::ops::Range<u64>) -> Result<Vec<std::ops::Range<u64>>> {
        self.locate_range(&range)
    }

    fn encoding(&self) -> Result<SourceEncoding> {
        let SourceEncoding::Plain(start) = encoding(&*self.source)? else {
            return Err(Error::unsupported("its items are in data that is compressed as a whole"));
        };
        let mut pieces = Vec::new();
        let mut at = 0;
        while at < self.len {
            let (place, count) = self.locate(at, self.span)?;
            let place = start.saturating_add(place);
            pieces.push(CodedPiece::new(place..place.saturating_add(count), at..at.saturating_add(count)));
            at = at.saturating_add(count.max(1));
        }
        Ok(SourceEncoding::Coded { codec: None, pieces })
    }
}

impl Source for StackedElements {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        split_runs(offset, into, |offset, wanted| self.locate(offset, wanted), |start, now| self.source.read_at(start, now))
    }

    fn prefetch(&self, ranges: &[std::ops::Range<u64>]) -> Result<()> {
        let mut wanted = Vec::new();
        for range in ranges {
            wanted.extend(self.locate_range(range)?);
        }
        self.source.prefetch(&wanted)
    }

    fn origin(&self) -> Option<SourceOrigin<'_>> {
        Some(SourceOrigin::Made(&*self.source))
    }

    fn pieces(&self) -> Option<&dyn PieceDecoding> {
        Some(self)
    }
}
