//! Indices of elements by their number.

/// The index along each axis of element `number` in C order.
pub fn unravel(mut number: u64, shape: &[u64]) -> Vec<u64> {
    let mut index = vec![0; shape.len()];
    for (at, len) in index.iter_mut().zip(shape).rev() {
        *at = number % (*len).max(1);
        number /= (*len).max(1);
    }
    index
}
