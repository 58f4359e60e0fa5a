//! Reading elements: which bytes of the source are needed, and how they come into memory.

use std::ops::Range;

use super::copy_program::{ByteOp, CopyProgram, convert_in_place};
use super::datatype::Byteorder;
use super::handle::Array;
use super::strided_copy::{CopyAxis, pack_strided};
use crate::bytes::{Access, Source, SourceEncoding, encoding, index_ranges, stored_ranges, to_usize};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;
use crate::threads::{map_parallel, read_ahead, threads};

/// Gaps up to this size are read, too: one large read costs about as much as two small ones.
const MERGE_GAP: u64 = 4096;
/// Rows far apart that are read together.
const ROWS_PER_READ: usize = 1024;
/// Bytes read at once if elements must be picked out of them.
const SCRATCH_SIZE: u64 = 8 << 20;
/// Bytes that one thread converts at once.
const BYTES_PER_THREAD: usize = 1 << 20;
/// Smallest number of bytes for which several threads share the work.
const MIN_PARALLEL_BYTES: usize = 8 << 20;
/// Bytes read at once from a source without bytes in memory: a codec decodes several pieces of it at the same time.
const READ_AHEAD: u64 = 16 << 20;
/// Bytes read at once from a file that stores them as they are: few enough for the caches of a processor.
const PLAIN_READ_SIZE: u64 = 1 << 20;
/// Bytes given on at once from a source that comes from front to back: few enough for the caches of a processor.
const STREAM_PIECE_SIZE: usize = 512 << 10;
/// Bytes held if the elements of a piece are far apart.
const TRANSPOSED_BUFFER: u64 = 64 << 20;
/// Largest number of ranges; if there are more, wider gaps are merged too.
const MAX_RANGES: u64 = 1 << 16;

/// Reads several arrays, each as [`Array::read_bytes_into`] does. The ranges of one source are requested together, and the arrays
/// are read in parallel.
///
/// ```
/// use trilith_array::array::{Array, Byteorder, Index, read_all};
/// let array = Array::from_slice(&[1u16, 2, 3, 4], &[2, 2])?;
/// let (one, two) = (array.slice(&[Index::Integer(1)])?, array.slice(&[Index::Ellipsis, Index::Integer(0)])?);
/// let (mut a, mut b) = ([0; 4], [0; 4]);
/// read_all(vec![(&one, &mut a), (&two, &mut b)], Byteorder::Big)?;
/// assert_eq!((a, b), ([0, 3, 0, 4], [0, 1, 0, 3]));
/// # Ok::<(), trilith_array::Error>(())
/// ```
///
/// # Errors
/// Returns the errors of [`Array::read_bytes_into`], for the first array that fails.
pub fn read_all(arrays: Vec<(&Array, &mut [u8])>, order: Byteorder) -> Result<()> {
    let mut rest: Vec<&Array> = arrays.iter().map(|(array, _)| *array).collect();
    while let Some(first) = rest.first().map(|array| array.source().clone()) {
        let (same, others): (Vec<&Array>, Vec<&Array>) =
            rest.into_iter().partition(|array| std::sync::Arc::ptr_eq(array.source(), &first));
        if same.len() > 1 && first.access().prefetch_helps {
            prefetch_all(&*first, &same)?;
        }
        rest = others;
    }
    map_parallel(arrays, |(array, into)| array.read_bytes_into(into, order)).map(drop)
}

/// Announces to a file the bytes that are about to be read of several of its arrays. A remote one fetches them together, and so it
/// does with the lengths of compressed pieces, which have to be known before.
pub fn announce_all(file: &dyn Source, parts: &[Array], gap: u64) -> Result<()> {
    if !file.access().prefetch_helps {
        return Ok(());
    }
    let looks: [RangeLookup; 2] = [index_ranges, stored_ranges];
    for look in looks {
        let mut ranges = Vec::new();
        for part in parts {
            for range in part.plan(gap) {
                ranges.extend(look(&**part.source(), range)?);
            }
        }
        if !ranges.is_empty() {
            ranges.sort_unstable_by_key(|range| range.start);
            file.prefetch(&ranges)?;
        }
    }
    Ok(())
}

/// A function that finds ranges of a file which a range of a source needs.
type RangeLookup = fn(&dyn Source, Range<u64>) -> Result<Vec<Range<u64>>>;

/// Announces to a source the bytes that are about to be read, as one array of all these parts would have them.
fn prefetch_all(source: &dyn Source, parts: &[&Array]) -> Result<()> {
    let mut ranges: Vec<Range<u64>> = parts.iter().flat_map(|array| array.plan(MERGE_GAP)).collect();
    ranges.sort_unstable_by_key(|range| range.start);
    ranges.dedup_by(|next, last| {
        let is_one = next.start <= last.end.saturating_add(MERGE_GAP);
        if is_one {
            last.end = last.end.max(next.end);
        }
        is_one
    });
    source.prefetch(&ranges)
}

impl Array {
    /// Copies all elements, packed in C order, in this byte order. Structs are packed field by field without
    /// padding, and booleans are 0 or 1.
    ///
    /// # Errors
    /// Returns the errors of [`Array::load`].
    pub fn read_bytes(&self, order: Byteorder) -> Result<Vec<u8>> {
        let mut bytes = allocate_zeroed_bytes(self.charged_size()?)?;
        self.read_bytes_into(&mut bytes, order)?;
        Ok(bytes)
    }

    /// [`Array::read_bytes`] into memory of the caller, which must have [`Array::nbytes`] bytes.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`] for another length, and the errors of [`Array::load`].
    pub fn read_bytes_into(&self, into: &mut [u8], order: Byteorder) -> Result<()> {
        if into.len() as u64 != self.nbytes() {
            return Err(Error::invalid_input(format!("{} bytes of memory for an array of {} bytes", into.len(), self.nbytes())));
        }
        self.limits.charge_work(self.nbytes())?;
        self.read_program_into(&CopyProgram::new(&self.datatype, self.byteorder, order)?, into)
    }

    /// Passes all elements to `take` in C order, in pieces of whole elements. Each piece has at most `max_bytes`
    /// (but at least one element) of canonical bytes: packed, little-endian, structs field by field without
    /// padding, booleans 0 or 1, text padded with NUL.
    ///
    /// Digests are made of these bytes. The length of the pieces does not change them.
    ///
    /// # Errors
    /// Returns the errors of [`Array::load`], and those of `take`.
    pub fn for_each_piece(&self, max_bytes: usize, mut take: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        self.for_each_piece_in(Byteorder::Little, max_bytes, &mut take)
    }

    /// [`Array::for_each_piece`] in pieces that fit in the cache, in the byte order of this machine.
    pub(super) fn for_each_native(&self, mut take: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        self.for_each_piece_in(Byteorder::NATIVE, 1 << 18, &mut take)
    }

    /// Does the same as [`Array::for_each_piece`], in either byte order.
    ///
    /// # Errors
    /// Returns the errors of [`Array::for_each_piece`].
    pub fn for_each_piece_in(&self, order: Byteorder, max_bytes: usize, take: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        if self.nbytes() == 0 {
            return Ok(());
        }
        self.charge_overlap()?;
        self.limits.charge_work(self.nbytes())?;
        let program = CopyProgram::new(&self.datatype, self.byteorder, order)?;
        let plain = program.uniform_op() == Some(ByteOp::Copy) && self.is_c_contiguous();
        let mut buffer = Vec::new();
        let extent = self.byte_range();
        let in_memory = self.source.view(extent.start, extent.end - extent.start).is_some();
        let is_random = || self.source.access() == Access::RANDOM;
        let size = match (self.is_transposed(), in_memory) {
            (true, _) => TRANSPOSED_BUFFER,
            (false, true) => 0,
            (false, false) if plain && is_random() && matches!(encoding(&*self.source), Ok(SourceEncoding::Plain(_))) => {
                PLAIN_READ_SIZE
            }
            (false, false) => READ_AHEAD,
        };
        let layer = Some(self.layer_bytes()).filter(|bytes| *bytes <= self.limits.memory / 8);
        let size = size.max(max_bytes as u64).max(layer.unwrap_or(0));
        let piece = (max_bytes / program.packed.max(1)).max(1).saturating_mul(program.packed);
        if self.source.access().prefetch_helps {
            let array = self.clone().without_mask();
            if let Some(how) = program.uniform_op().filter(|_| array.is_c_contiguous())
                && array.stream_pieces(
                    how,
                    piece.min((STREAM_PIECE_SIZE / program.packed.max(1)).max(1) * program.packed),
                    take,
                )?
            {
                return Ok(());
            }
            return array.read_ahead_pieces(&program, (size, piece), take);
        }
        for block in self.clone().without_mask().row_blocks(size) {
            if plain && let Some(bytes) = self.source.view(block.offset, block.nbytes()) {
                take(bytes)?;
                continue;
            }
            buffer.resize(block.charged_size()?, 0);
            block.read_program_into(&program, &mut buffer)?;
            buffer.chunks(piece).try_for_each(&mut *take)?;
        }
        Ok(())
    }

    /// The pieces of a remote array whose elements are in a row, if its source gives them so.
    fn stream_pieces(&self, how: ByteOp, piece: usize, take: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<bool> {
        let extent = self.byte_range();
        self.source.stream(extent, piece, &mut |bytes| {
            convert_in_place(how, bytes);
            take(bytes)
        })
    }

    /// The pieces of a remote array: one block of `size` bytes is fetched while the one before it is taken.
    fn read_ahead_pieces(
        &self,
        program: &CopyProgram,
        (size, piece): (u64, usize),
        take: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let fetch = |block: &Self| -> Result<Vec<u8>> {
            let mut bytes = vec![0; block.charged_size()?];
            block.read_program_into(program, &mut bytes)?;
            Ok(bytes)
        };
        let mut blocks = self.row_blocks(size);
        let Some(mut bytes) = blocks.next().map(|block| fetch(&block)).transpose()? else { return Ok(()) };
        loop {
            let Some(next) = blocks.next() else { return bytes.chunks(piece).try_for_each(&mut *take) };
            let (taken, fetched) = read_ahead(|| fetch(&next), || bytes.chunks(piece).try_for_each(&mut *take));
            taken?;
            bytes = fetched.unwrap_or_else(|| fetch(&next))?;
        }
    }

    /// Returns `true` if the last axis is not the one whose elements are closest, as in Fortran order.
    fn is_transposed(&self) -> bool {
        let mut axes = self.shape.iter().zip(&self.strides).filter(|(len, _)| **len > 1).map(|(_, stride)| stride.unsigned_abs());
        let last = axes.next_back();
        axes.any(|stride| stride != 0 && Some(stride) < last)
    }

    /// Parts of the array in C order, of at most `max_bytes` packed bytes each (but at least one
    /// element): whole rows of the first axis if one fits, parts of one row if none does.
    ///
    /// Each part has as many axes as the array. For arrays larger than memory.
    pub fn row_blocks(&self, max_bytes: u64) -> RowBlocks {
        let most = (max_bytes / self.datatype.packed_size().max(1)).max(1);
        let (mut axis, mut inner) = (self.shape.len(), 1u64);
        // The outermost axis of which at least one whole index fits in a block.
        while axis > 0 && inner.saturating_mul(self.shape[axis - 1]) <= most {
            axis -= 1;
            inner *= self.shape[axis];
        }
        if self.is_empty() || axis == 0 {
            return RowBlocks { total: u64::from(!self.is_empty()), array: self.clone(), axis: 0, step: u64::MAX, next: 0 };
        }
        let (axis, step) = (axis - 1, (most / inner).max(1));
        let outer = self.shape[..axis].iter().fold(1u64, |n, len| n.saturating_mul(*len));
        RowBlocks { total: outer.saturating_mul(self.shape[axis].div_ceil(step)), array: self.clone(), axis, step, next: 0 }
    }

    /// Returns the number of bytes of the file that reading the array costs. If the bytes are in several files, it is the number
    /// of needed bytes.
    ///
    /// # Errors
    /// Returns what [`PieceDecoding::stored_ranges`](crate::bytes::PieceDecoding::stored_ranges) returns, but for `Unsupported`.
    pub fn read_cost(&self, gap: u64) -> Result<u64> {
        let mut stored: Vec<Range<u64>> = Vec::new();
        let wanted = self.plan(gap);
        for range in &wanted {
            match stored_ranges(&*self.source, range.clone()) {
                Ok(ranges) => stored.extend(ranges),
                Err(error) if error.kind() == ErrorKind::Unsupported => {
                    return Ok(wanted.iter().fold(0, |sum, range| sum.saturating_add(range.end - range.start)));
                }
                Err(error) => return Err(error),
            }
        }
        stored.sort_by_key(|range| range.start);
        let (mut sum, mut end) = (0u64, 0u64);
        for range in stored {
            sum = sum.saturating_add(range.end.saturating_sub(range.start.max(end)));
            end = end.max(range.end);
        }
        Ok(sum)
    }

    /// The byte ranges of the source that are needed, in ascending order; ranges that are closer than
    /// `gap` bytes are one.
    pub fn plan(&self, gap: u64) -> Vec<Range<u64>> {
        if self.nbytes() == 0 {
            return Vec::new();
        }
        let mut axes: Vec<(u64, u64)> = (self.shape.iter().zip(&self.strides))
            .filter(|(len, stride)| **len > 1 && **stride != 0)
            .map(|(len, stride)| (stride.unsigned_abs(), *len))
            .collect();
        axes.sort_unstable();
        let extent = self.byte_range();
        // Axes whose parts are close together merge into one range, from the nearest outwards.
        let mut size = self.datatype.item_size();
        let mut melted = 0;
        for (stride, len) in &axes {
            let count = axes[melted..].iter().fold(1u64, |n, (_, len)| n.saturating_mul(*len));
            if stride.saturating_sub(size) > gap && count <= MAX_RANGES {
                break;
            }
            size = size.saturating_add(stride.saturating_mul(len - 1)).min(extent.end - extent.start);
            melted += 1;
        }
        let mut starts = vec![extent.start];
        for (stride, len) in axes[melted..].iter().rev() {
            starts = starts.iter().flat_map(|start| (0..*len).map(move |i| start + i * stride)).collect();
        }
        starts.sort_unstable();
        let mut ranges: Vec<Range<u64>> = Vec::new();
        for start in starts {
            let end = start.saturating_add(size).min(extent.end);
            match ranges.last_mut() {
                Some(last) if start <= last.end.saturating_add(gap) => last.end = last.end.max(end),
                _ => ranges.push(start..end),
            }
        }
        ranges
    }

    /// Announces to the source the bytes that are about to be read, so that a remote one fetches them together.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Io`] if a request fails.
    pub fn prefetch(&self, gap: u64) -> Result<()> {
        self.source.prefetch(&self.plan(gap))
    }

    /// Fills `into`, of [`Array::nbytes`] bytes, with what the program makes of the elements.
    pub(super) fn read_program_into(&self, program: &CopyProgram, into: &mut [u8]) -> Result<()> {
        self.read_unnamed_into(program, into).map_err(|error| self.name_error(error))
    }

    fn read_unnamed_into(&self, program: &CopyProgram, into: &mut [u8]) -> Result<()> {
        if into.is_empty() {
            return Ok(());
        }
        let extent = self.byte_range();
        if let Some(bytes) = self.source.view(extent.start, extent.end - extent.start) {
            if into.len() >= MIN_PARALLEL_BYTES && program.uniform_op() == Some(ByteOp::Copy) && self.is_c_contiguous() {
                return self.fill_run(into);
            }
            return self.copy_from_view(program, bytes, extent.start, into);
        }
        if self.source.access().prefetch_helps && self.prefetch_for(program, into)? {
            return Ok(());
        }
        if self.fill_by_pieces(program, into)? {
            return Ok(());
        }
        let axes = self.build_copy_axes(program.packed)?;
        let mut reader = SourceReader { source: &*self.source, program, limits: &self.limits, scratch: Vec::new() };
        reader.read_axes(self.offset, &axes, into, 0)
    }

    /// Announces to a remote source the bytes to be read, or reads it by parts, as much at a time as the
    /// source can hold, and returns true.
    fn prefetch_for(&self, program: &CopyProgram, into: &mut [u8]) -> Result<bool> {
        let ranges = self.plan(MERGE_GAP);
        // A single run is read by one call anyway.
        if ranges.len() < 2 {
            return Ok(false);
        }
        if into.len() as u64 <= READ_AHEAD || self.shape.iter().all(|len| *len < 2) {
            self.source.prefetch(&ranges)?;
            return Ok(false);
        }
        let mut rest = into;
        for block in self.clone().without_mask().row_blocks(READ_AHEAD) {
            let size = to_usize(block.element_count())?.saturating_mul(program.packed);
            let (part, more) = std::mem::take(&mut rest).split_at_mut(size.min(rest.len()));
            block.read_program_into(program, part)?;
            rest = more;
        }
        Ok(true)
    }

    /// Fills `into` with the bytes from the first element on, unchanged. Much is read rather than copied out of a
    /// map, whose pages would be fetched one after the other.
    fn fill_run(&self, into: &mut [u8]) -> Result<()> {
        let size = (into.len() / (threads() * 4)).max(MIN_PARALLEL_BYTES / 4);
        let starts = (self.offset..).step_by(size);
        map_parallel(starts.zip(into.chunks_mut(size)).collect(), |(at, part)| self.source.read_at(at, part)).map(drop)
    }

    /// Fills `into` from bytes in memory, the first of which is byte `start` of the source.
    pub(super) fn copy_from_view(&self, program: &CopyProgram, bytes: &[u8], start: u64, into: &mut [u8]) -> Result<()> {
        let threads = if into.len() < MIN_PARALLEL_BYTES { 1 } else { threads() };
        if threads == 1 {
            pack_strided(program, bytes, to_usize(self.offset - start)?, into, 0, &self.build_copy_axes(program.packed)?);
            return Ok(());
        }
        // Several parts a thread, so that no thread waits long for the last one.
        let size = (into.len() / (threads * 4)).max(MIN_PARALLEL_BYTES / 4) as u64;
        let mut parts = Vec::new();
        let mut rest = into;
        for block in self.clone().without_mask().row_blocks(size) {
            let (part, more) = std::mem::take(&mut rest).split_at_mut(to_usize(block.nbytes())?);
            parts.push((block, part));
            rest = more;
        }
        map_parallel(parts, |(block, part)| {
            pack_strided(program, bytes, to_usize(block.offset - start)?, part, 0, &block.build_copy_axes(program.packed)?);
            Ok(())
        })
        .map(drop)
    }

    /// The axes of a copy to packed elements of this size.
    fn build_copy_axes(&self, packed: usize) -> Result<Vec<CopyAxis>> {
        let mut to = packed;
        let mut axes = Vec::with_capacity(self.shape.len());
        for (len, stride) in self.shape.iter().zip(&self.strides).rev() {
            let len = to_usize(*len)?;
            let from = isize::try_from(*stride).map_err(|_| Error::limit(format!("a stride of {stride} bytes")))?;
            axes.push(CopyAxis { len, from, to });
            to = to.saturating_mul(len);
        }
        axes.reverse();
        Ok(axes)
    }
}

/// The parts of an array, see [`Array::row_blocks`].
#[derive(Debug, Clone)]
pub struct RowBlocks {
    array: Array,
    axis: usize,
    step: u64,
    next: u64,
    total: u64,
}

impl RowBlocks {
    /// Returns the number of the part that holds a byte of the packed elements, and the first byte of that part.
    pub(super) fn find(&self, offset: u64) -> (u64, u64) {
        let shape = self.array.shape();
        let inner = || shape[self.axis + 1..].iter().fold(self.array.datatype().packed_size(), |n, len| n.saturating_mul(*len));
        if self.step == u64::MAX || offset == 0 {
            return (0, 0);
        }
        let (inner, rows) = (inner().max(1), shape[self.axis].max(1));
        let (row, part) = (inner.saturating_mul(rows), inner.saturating_mul(self.step));
        let (outer, number) = (offset / row, offset % row / part);
        (outer * rows.div_ceil(self.step) + number, outer * row + number * part)
    }

    /// Returns the part with this number, if there is one.
    pub(super) fn get(&self, block: u64) -> Option<Array> {
        if block >= self.total {
            return None;
        }
        if self.step == u64::MAX {
            return Some(self.array.clone());
        }
        let shape = self.array.shape();
        let per_row = shape[self.axis].div_ceil(self.step);
        let start = block % per_row * self.step;
        let mut outer = block / per_row;
        let bounds = |start: u64, stop: u64| {
            let bound = |n| i64::try_from(n).ok();
            super::Index::Slice { start: bound(start), stop: bound(stop), step: 1 }
        };
        let mut indices = vec![bounds(start, (start + self.step).min(shape[self.axis]))];
        for len in shape[..self.axis].iter().rev() {
            indices.push(bounds(outer % len, outer % len + 1));
            outer /= len;
        }
        indices.reverse();
        self.array.slice(&indices).ok()
    }
}

impl Iterator for RowBlocks {
    type Item = Array;

    fn next(&mut self) -> Option<Array> {
        let part = self.get(self.next)?;
        self.next += 1;
        Some(part)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = usize::try_from(self.total - self.next).ok();
        (left.unwrap_or(usize::MAX), left)
    }
}

/// Memory of this many zero bytes, fresh from the system if it is much.
pub(super) fn allocate_zeroed_bytes(len: usize) -> Result<Vec<u8>> {
    bytemuck::allocation::try_zeroed_vec(len).map_err(|()| Error::limit(format!("no memory for {len} bytes")))
}

/// Reads from a source that has no bytes in memory.
struct SourceReader<'a> {
    source: &'a dyn Source,
    program: &'a CopyProgram,
    limits: &'a Limits,
    scratch: Vec<u8>,
}

impl SourceReader<'_> {
    /// Reads the elements of `axes`, the first of which starts at byte `at`, to `into[to..]`.
    ///
    /// Every call either reads or leaves one axis out or makes it shorter than a scratch buffer, so
    /// the recursion is no deeper than twice the number of axes.
    fn read_axes(&mut self, at: u64, axes: &[CopyAxis], into: &mut [u8], to: usize) -> Result<()> {
        if let (Some(how), Some(len)) = (self.program.uniform_op(), run_length(axes, self.program.packed)) {
            return self.read_run(how, at, into.get_mut(to..to + len).unwrap_or_default());
        }
        let size = self.program.stored as u64;
        let Some((widest, axis)) = axes
            .iter()
            .enumerate()
            .filter(|(_, axis)| axis.len > 1 && axis.from != 0)
            .max_by_key(|(_, axis)| axis.from.unsigned_abs())
        else {
            return self.read_gather(at, axes, into, to);
        };
        let rest: Vec<CopyAxis> = axes.iter().enumerate().filter(|(i, _)| *i != widest).map(|(_, axis)| *axis).collect();
        let (inner, stride) = (axes_byte_span(&rest, size), axis.from.unsigned_abs() as u64);
        let dense = is_dense(&rest, size) && stride.saturating_sub(inner) <= MERGE_GAP;
        if dense && axes_byte_span(axes, size) <= SCRATCH_SIZE {
            return self.read_gather(at, axes, into, to);
        }
        if let (false, Some(ByteOp::Copy), Some(len)) = (dense, self.program.uniform_op(), run_length(&rest, self.program.packed))
        {
            return self.read_rows(at, *axis, len, into.get_mut(to..).unwrap_or_default());
        }
        let group = if dense { to_usize(SCRATCH_SIZE.saturating_sub(inner) / stride + 1)? } else { 1 };
        let mut part = axes.to_vec();
        for start in (0..axis.len).step_by(group) {
            part[widest].len = group.min(axis.len - start);
            let (at, to) = (at.wrapping_add_signed(axis.from as i64 * start as i64), to + axis.to * start);
            self.read_axes(at, if group == 1 { &rest } else { &part }, into, to)?;
        }
        Ok(())
    }

    /// Rows that are far apart in the source, each of `len` bytes.
    fn read_rows(&self, at: u64, axis: CopyAxis, len: usize, into: &mut [u8]) -> Result<()> {
        let place = |row: usize| at.wrapping_add_signed(axis.from as i64 * row as i64);
        let mut rows = into.chunks_mut(axis.to.max(1)).take(axis.len).enumerate();
        loop {
            let some = rows.by_ref().take(ROWS_PER_READ).map(|(row, part)| (place(row), part.get_mut(..len).unwrap_or_default()));
            let mut parts: Vec<_> = some.collect();
            if parts.is_empty() {
                return Ok(());
            }
            self.source.read_parts(&mut parts)?;
        }
    }

    /// Elements that are one after the other on both sides.
    fn read_run(&mut self, how: ByteOp, at: u64, into: &mut [u8]) -> Result<()> {
        // Codecs decode a block fastest if all of it is read at once.
        let whole = how == ByteOp::Copy || into.len() as u64 == self.source.len();
        let size = if whole { into.len() } else { READ_AHEAD as usize };
        let mut at = at;
        for part in into.chunks_mut(size.max(1)) {
            self.source.read_at(at, part)?;
            if part.len() < MIN_PARALLEL_BYTES {
                convert_in_place(how, part);
            } else if how != ByteOp::Copy {
                map_parallel(part.chunks_mut(BYTES_PER_THREAD).collect(), |tile| {
                    convert_in_place(how, tile);
                    Ok(())
                })?;
            }
            at += part.len() as u64;
        }
        Ok(())
    }

    /// Reads the whole span from the first to the last element, and gathers the elements from it.
    fn read_gather(&mut self, at: u64, axes: &[CopyAxis], into: &mut [u8], to: usize) -> Result<()> {
        let size = axes_byte_span(axes, self.program.stored as u64);
        let before: u64 = axes
            .iter()
            .filter(|axis| axis.from < 0)
            .map(|axis| axis.from.unsigned_abs() as u64 * (axis.len as u64).saturating_sub(1))
            .sum();
        if size > SCRATCH_SIZE {
            self.limits.charge_memory(size, "one element")?;
        }
        self.scratch.resize(to_usize(size)?, 0);
        self.source.read_at(at - before, &mut self.scratch)?;
        pack_strided(self.program, &self.scratch, to_usize(before)?, into, to, axes);
        Ok(())
    }
}

/// Bytes from the first to the last element; these are inside the source, so nothing overflows.
fn axes_byte_span(axes: &[CopyAxis], size: u64) -> u64 {
    axes.iter().fold(size, |n, axis| n + axis.from.unsigned_abs() as u64 * (axis.len as u64).saturating_sub(1))
}

/// Returns `true` if no gap between the elements is wide.
fn is_dense(axes: &[CopyAxis], size: u64) -> bool {
    let mut sorted: Vec<(u64, u64)> =
        axes.iter().filter(|axis| axis.len > 1).map(|axis| (axis.from.unsigned_abs() as u64, axis.len as u64)).collect();
    sorted.sort_unstable();
    let mut reach = size;
    sorted.into_iter().all(|(stride, len)| {
        let near = stride.saturating_sub(reach) <= MERGE_GAP;
        reach += stride * (len - 1);
        near
    })
}

/// Bytes of elements that are one after the other on both sides.
fn run_length(axes: &[CopyAxis], size: usize) -> Option<usize> {
    let mut len = size;
    for axis in axes.iter().rev().filter(|axis| axis.len != 1) {
        if axis.from != len as isize || axis.to != len {
            return None;
        }
        len *= axis.len;
    }
    Some(len)
}
