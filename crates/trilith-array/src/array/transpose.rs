//! Transposition of two axes: rows of the source become columns.
//!
//! If elements were copied one at a time, each would touch a separate cache line, and lines that are a power of two
//! apart evict each other. So squares of whole cache lines go through a buffer.

use super::copy_program::{ByteOp, CopyProgram, convert_in_place};
use super::strided_copy::CopyAxis;

/// Elements along the axis that is close in the target.
const TARGET_BLOCK_ELEMENTS: usize = 64;
/// Bytes along the axis that is close in the source.
const SOURCE_BLOCK_BYTES: usize = 128;

/// Copies `run` (close in the target) by `other` (close in the source).
pub(super) type TransposeKernel = fn(&CopyProgram, &[u8], usize, &mut [u8], usize, CopyAxis, CopyAxis);

/// The kernel for elements of this size, if both axes are as it needs them.
pub(super) fn select_transpose_kernel(program: &CopyProgram, run: CopyAxis, other: CopyAxis) -> Option<TransposeKernel> {
    let size = program.stored;
    program.uniform_op()?;
    if run.to != size || other.from != size as isize || run.len < 8 || other.len < 8 {
        return None;
    }
    match size {
        1 => Some(transpose_elements::<1>),
        2 => Some(transpose_elements::<2>),
        4 => Some(transpose_elements::<4>),
        8 => Some(transpose_elements::<8>),
        16 => Some(transpose_elements::<16>),
        _ => None,
    }
}

fn transpose_elements<const W: usize>(
    program: &CopyProgram,
    from: &[u8],
    from_at: usize,
    to: &mut [u8],
    to_at: usize,
    run: CopyAxis,
    other: CopyAxis,
) {
    let how = program.uniform_op().unwrap_or(ByteOp::Copy);
    let line = SOURCE_BLOCK_BYTES / W;
    let mut buffer = vec![[0u8; W]; TARGET_BLOCK_ELEMENTS * line];
    for j in (0..run.len).step_by(TARGET_BLOCK_ELEMENTS) {
        let near = TARGET_BLOCK_ELEMENTS.min(run.len - j);
        for i in (0..other.len).step_by(line) {
            let far = line.min(other.len - i);
            for (k, into) in buffer.chunks_exact_mut(line).take(near).enumerate() {
                let at = from_at.wrapping_add_signed(run.from.wrapping_mul((j + k) as isize)).wrapping_add(i * W);
                if let Some(row) = from.get(at..).and_then(|rest| rest.get(..far * W)) {
                    into.as_flattened_mut()[..far * W].copy_from_slice(row);
                }
            }
            for k in 0..far {
                let at = to_at.wrapping_add((i + k).wrapping_mul(other.to)).wrapping_add(j * W);
                let Some(row) = to.get_mut(at..).and_then(|rest| rest.get_mut(..near * W)) else { continue };
                for (out, column) in row.as_chunks_mut::<W>().0.iter_mut().zip(buffer.chunks_exact(line)) {
                    *out = column[k];
                }
                convert_in_place(how, row);
            }
        }
    }
}
