//! Copies of bytes at any strides into packed bytes: the walk over the axes around [`CopyProgram`].

use super::copy_program::{CopyProgram, StridedRun};
use super::transpose;

/// An axis of a copy: its length and its strides in bytes on both sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CopyAxis {
    pub len: usize,
    pub from: isize,
    pub to: usize,
}

/// Side of the square of elements in which two axes change places, so that cache lines are used whole.
const TILE_SIDE: usize = 64;
/// A run shorter than this changes places with the longest axis around it.
const MIN_RUN_LEN: usize = 16;

/// Copies the elements of `axes` (C order, the last fastest) from `from[from_at..]` to `to[to_at..]`.
///
/// Every element must be inside both slices; what does not is left out.
pub(super) fn pack_strided(program: &CopyProgram, from: &[u8], from_at: usize, to: &mut [u8], to_at: usize, axes: &[CopyAxis]) {
    let mut axes = merge_axes(axes);
    if axes.iter().any(|axis| axis.len == 0) {
        return;
    }
    // A run without gaps on both sides becomes one longer element.
    let mut rows = None;
    if let Some(last) = axes.last()
        && last.from == program.stored as isize
        && last.to == program.packed
    {
        rows = program.for_rows(last.len);
        if rows.is_some() {
            axes.pop();
        }
    }
    let program = rows.as_ref().unwrap_or(program);
    let Some(run) = axes.pop() else {
        let (source, target) = (StridedRun { offset: from_at, stride: 0 }, StridedRun { offset: to_at, stride: 0 });
        return program.convert_elements(from, source, to, target, 1);
    };
    let partner = tile_partner(&axes, run).map(|i| axes.remove(i));
    let turned = partner.and_then(|other| transpose::select_transpose_kernel(program, run, other));
    let mut index = vec![0; axes.len()];
    let (mut a, mut b) = (from_at, to_at);
    loop {
        let (source, target) = (StridedRun { offset: a, stride: run.from }, StridedRun { offset: b, stride: run.to as isize });
        match (partner, turned) {
            (None, _) => program.convert_elements(from, source, to, target, run.len),
            (Some(other), Some(turn)) => turn(program, from, a, to, b, run, other),
            (Some(other), None) => gather_tiles(program, from, source, to, target, run, other),
        }
        // The next index, the last axis fastest.
        let mut level = axes.len();
        loop {
            if level == 0 {
                return;
            }
            level -= 1;
            let axis = axes[level];
            index[level] += 1;
            a = a.wrapping_add_signed(axis.from);
            b = b.wrapping_add(axis.to);
            if index[level] < axis.len {
                break;
            }
            index[level] = 0;
            a = a.wrapping_add_signed(axis.from.wrapping_mul(axis.len as isize).wrapping_neg());
            b = b.wrapping_sub(axis.to.wrapping_mul(axis.len));
        }
    }
}

/// Drops axes of length 1 and joins neighbours that go on where the other ends.
fn merge_axes(axes: &[CopyAxis]) -> Vec<CopyAxis> {
    let mut merged: Vec<CopyAxis> = Vec::with_capacity(axes.len());
    for axis in axes.iter().filter(|axis| axis.len != 1) {
        if let Some(outer) = merged.last_mut() {
            let goes_on =
                axis.from.checked_mul(axis.len as isize) == Some(outer.from) && axis.to.checked_mul(axis.len) == Some(outer.to);
            if let (true, Some(len)) = (goes_on, outer.len.checked_mul(axis.len)) {
                *outer = CopyAxis { len, ..*axis };
                continue;
            }
        }
        merged.push(*axis);
    }
    merged
}

/// The axis to walk in squares with `run`: one whose elements are closer, or a longer one if the run is short.
fn tile_partner(axes: &[CopyAxis], run: CopyAxis) -> Option<usize> {
    let (closest, axis) =
        axes.iter().enumerate().filter(|(_, axis)| axis.from != 0).min_by_key(|(_, axis)| axis.from.unsigned_abs())?;
    if axis.from.unsigned_abs() < run.from.unsigned_abs() {
        return Some(closest);
    }
    let (longest, axis) = axes.iter().enumerate().max_by_key(|(_, axis)| axis.len)?;
    (run.len < MIN_RUN_LEN && axis.len > run.len).then_some(longest)
}

/// Copies along two axes at once, square by square; the run goes along the longer axis.
fn gather_tiles(
    program: &CopyProgram,
    from: &[u8],
    source: StridedRun,
    to: &mut [u8],
    target: StridedRun,
    run: CopyAxis,
    other: CopyAxis,
) {
    let (inner, outer) = if run.len < MIN_RUN_LEN && other.len > run.len { (other, run) } else { (run, other) };
    let step = if inner.len >= TILE_SIDE && outer.len >= TILE_SIDE { TILE_SIDE } else { TILE_SIDE * MIN_RUN_LEN };
    for j in (0..inner.len).step_by(step) {
        let n = step.min(inner.len - j);
        for i in 0..outer.len {
            let at = |base: usize, near: isize, far: isize| {
                base.wrapping_add_signed(near.wrapping_mul(j as isize)).wrapping_add_signed(far.wrapping_mul(i as isize))
            };
            let source = StridedRun { offset: at(source.offset, inner.from, outer.from), stride: inner.from };
            let target =
                StridedRun { offset: at(target.offset, inner.to as isize, outer.to as isize), stride: inner.to as isize };
            program.convert_elements(from, source, to, target, n);
        }
    }
}
