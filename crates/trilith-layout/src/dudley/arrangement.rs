//! The arrangement of an item of many files as one array: its shape, its bytes, and what is masked.

use std::sync::Arc;

use super::file_set_ranges::{BoxGrid, ByteArrangement, MissingMask};
use super::file_set_source::FilePiece;
use crate::array::{Array, Byteorder, Datatype};
use crate::error::Result;

/// The bytes of all files as those of one array.
pub(super) struct ArrayArrangement {
    pub spread: ByteArrangement,
    pub shape: Vec<u64>,
    /// Strides in bytes; `None` if the elements are contiguous.
    pub strides: Option<Vec<i64>>,
    /// Number of bytes.
    pub len: u64,
    pub mask: Option<Array>,
}

/// The shape of the item in the first file that has it, and in each.
pub(super) type FileShapes<'s> = (&'s [u64], &'s [Vec<u64>]);

/// Items of one shape along a new axis; None if they are too large.
pub(super) fn stack_items(
    shape: &[u64],
    strides: &[u64],
    pieces: &[FilePiece],
    datatype: &Datatype,
) -> Result<Option<ArrayArrangement>> {
    let count = pieces.len() as u64;
    let found = || {
        let span = span_len(datatype, shape, strides)?;
        let strides = std::iter::once(&span).chain(strides).map(|stride| i64::try_from(*stride).ok());
        Some((span, strides.collect::<Option<Vec<_>>>()?, span.checked_mul(count)?))
    };
    let Some((span, strides, len)) = found() else { return Ok(None) };
    let mask = mask_of(pieces, shape.len())?;
    let shape = std::iter::once(count).chain(shape.iter().copied()).collect();
    Ok(Some(ArrayArrangement { spread: ByteArrangement::Stacked(span), shape, strides: Some(strides), len, mask }))
}

/// Items joined along an axis; None if they are too large.
pub(super) fn concatenated(
    axis: usize,
    (first, shapes): FileShapes<'_>,
    pieces: &[FilePiece],
    size: u64,
) -> Result<Option<ArrayArrangement>> {
    let mut shape = first.to_vec();
    let found = || {
        let inner = first.iter().skip(axis + 1).try_fold(size, |size, dim| size.checked_mul(*dim))?;
        let outer = first.iter().take(axis).try_fold(1u64, |count, dim| count.checked_mul(*dim))?;
        let (mut starts, mut end) = (vec![0u64], 0u64);
        for shape in shapes {
            let row = shape.get(axis).copied().filter(|_| !shape.contains(&0)).unwrap_or(0);
            end = end.checked_add(row.checked_mul(inner)?)?;
            starts.push(end);
        }
        Some((inner, starts, end, end.checked_mul(outer)?))
    };
    let Some((inner, starts, end, len)) = found() else { return Ok(None) };
    let mut marks = vec![1u64; shape.len()];
    if let (Some(length), Some(mark)) = (shape.get_mut(axis), marks.get_mut(axis)) {
        *length = end.checked_div(inner).unwrap_or(0);
        *mark = *length;
    }
    let spread = ByteArrangement::Concatenated(starts);
    // A file that is not there has a place, one that omits the item has none.
    let has_place = |shape: &Vec<u64>| !shape.is_empty() && !shape.contains(&0);
    let is_missing = pieces.iter().zip(shapes).any(|(piece, shape)| piece.stored.is_none() && has_place(shape));
    let mask = is_missing.then(|| build_gap_mask(spread.of_marks(inner), pieces, marks)).transpose()?;
    Ok(Some(ArrayArrangement { spread, shape, strides: None, len, mask }))
}

/// Items of several shapes along a new axis, each in a box of the greatest lengths; None if they are too large.
pub(super) fn pad_items((first, shapes): FileShapes<'_>, pieces: &[FilePiece], size: u64) -> Result<Option<ArrayArrangement>> {
    let (axes, count) = (first.len(), pieces.len() as u64);
    // The last length of text is that of each string, and no axis.
    let of_file = |shape: &Vec<u64>| match shape.get(..axes) {
        Some(lengths) if !shape.contains(&0) => lengths.to_vec(),
        _ => vec![0; axes],
    };
    let mut lengths: Vec<Vec<u64>> = shapes.iter().map(of_file).collect();
    let greatest = |axis: usize| lengths.iter().filter_map(|all| all.get(axis)).max().copied().unwrap_or(0);
    let dims: Vec<u64> = (0..axes).map(greatest).collect();
    // The lengths after the last one that differs are part of the elements.
    let differs = |axis: &usize| lengths.iter().any(|all| all.iter().any(|one| *one > 0) && all.get(*axis) != dims.get(*axis));
    let kept = (0..axes).rev().find(differs).map_or(1, |axis| axis + 1).min(axes);
    let all = || dims.iter().try_fold(size.checked_mul(count)?, |size, dim| size.checked_mul(*dim));
    let Some(len) = all() else { return Ok(None) };
    let size = dims.iter().skip(kept).fold(size, |size, dim| size.saturating_mul(*dim));
    lengths.iter_mut().for_each(|lengths| lengths.truncate(kept));
    let marks = std::iter::once(count).chain(dims.iter().enumerate().map(|(axis, dim)| if axis < kept { *dim } else { 1 }));
    let marks: Vec<u64> = marks.collect();
    let spread = ByteArrangement::Padded(BoxGrid { size, dims: dims.iter().take(kept).copied().collect(), lengths });
    let mask = Some(build_gap_mask(spread.of_marks(1), pieces, marks)?);
    let shape = std::iter::once(count).chain(dims).collect();
    Ok(Some(ArrayArrangement { spread, shape, strides: None, len, mask }))
}

/// The mask of elements that files do not have, of this shape.
fn build_gap_mask(spread: ByteArrangement, pieces: &[FilePiece], shape: Vec<u64>) -> Result<Array> {
    let len = shape.iter().fold(1u64, |len, dim| len.saturating_mul(*dim));
    let omitted = pieces.iter().map(|piece| piece.stored.is_none()).collect();
    Array::new(Arc::new(MissingMask { spread, len, omitted }), 0, Datatype::Bool8, Byteorder::NATIVE, shape)
}

/// A mask of the pieces that are not stored, for items with this number of axes; None if all are.
fn mask_of(pieces: &[FilePiece], axes: usize) -> Result<Option<Array>> {
    if pieces.iter().all(|piece| piece.stored.is_some()) {
        return Ok(None);
    }
    let truths: Vec<bool> = pieces.iter().map(|piece| piece.stored.is_none()).collect();
    let shape: Vec<u64> = std::iter::once(truths.len() as u64).chain(std::iter::repeat_n(1, axes)).collect();
    Array::from_slice(&truths, &shape).map(Some)
}

/// Returns the number of bytes from the first element to the end of the last.
pub(super) fn span_len(datatype: &Datatype, shape: &[u64], strides: &[u64]) -> Option<u64> {
    let mut span = datatype.item_size();
    for (dim, stride) in shape.iter().zip(strides) {
        match dim.checked_sub(1) {
            None => return Some(0),
            Some(more) => span = span.checked_add(more.checked_mul(*stride)?)?,
        }
    }
    Some(span)
}
