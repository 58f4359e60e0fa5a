//! Shapes and strides: how far the elements of an array reach in its bytes.

use crate::error::{Error, Result};
pub use crate::index::unravel;

/// Maximum number of axes of an array, the same as in numpy.
pub(super) const MAX_AXES: usize = 64;

/// Returns the number of elements of a shape.
///
/// # Errors
/// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if the number does not fit in 63 bits.
pub fn element_count(shape: &[u64]) -> Result<u64> {
    if shape.contains(&0) {
        return Ok(0);
    }
    shape
        .iter()
        .try_fold(1u64, |n, len| n.checked_mul(*len))
        .filter(|n| *n <= i64::MAX as u64)
        .ok_or_else(|| Error::malformed(format!("an array of shape {shape:?} has more elements than 63 bits can count")))
}

/// Strides in bytes of packed elements in C order, the last index fastest.
///
/// ```
/// use trilith_array::array::c_strides;
/// assert_eq!(c_strides(&[2, 3, 4], 8)?, [96, 32, 8]);
/// # Ok::<(), trilith_array::Error>(())
/// ```
///
/// # Errors
/// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if the array is larger than 2⁶³ bytes.
pub fn c_strides(shape: &[u64], item_size: u64) -> Result<Vec<i64>> {
    let mut strides = packed_strides(shape.iter().rev(), shape, item_size)?;
    strides.reverse();
    Ok(strides)
}

/// Strides in bytes of packed elements in Fortran order, the first index fastest.
///
/// # Errors
/// Returns the errors of [`c_strides`].
pub fn fortran_strides(shape: &[u64], item_size: u64) -> Result<Vec<i64>> {
    packed_strides(shape.iter(), shape, item_size)
}

fn packed_strides<'a>(order: impl Iterator<Item = &'a u64>, shape: &[u64], item_size: u64) -> Result<Vec<i64>> {
    // The strides of an empty array are never used. An axis of length 0 counts as 1, as in numpy.
    let mut stride = Some(item_size);
    order
        .map(|len| {
            let this = stride.and_then(|s| i64::try_from(s).ok());
            stride = stride.and_then(|s| s.checked_mul((*len).max(1)));
            this.or_else(|| shape.contains(&0).then_some(0))
                .ok_or_else(|| Error::malformed(format!("an array of shape {shape:?} is larger than 2^63 bytes")))
        })
        .collect()
}

/// The bytes that elements at `offset` plus indices times `strides` touch, or none for an empty array.
///
/// # Errors
/// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if an element is before byte 0 or ends after
/// `available`.
pub fn element_byte_range(
    offset: u64,
    shape: &[u64],
    strides: &[i64],
    item_size: u64,
    available: u64,
) -> Result<std::ops::Range<u64>> {
    if shape.len() != strides.len() {
        return Err(Error::malformed(format!("{} strides for {} axes", strides.len(), shape.len())));
    }
    if shape.len() > MAX_AXES {
        return Err(Error::unsupported(format!("an array of {} axes, at most {MAX_AXES} are possible", shape.len())));
    }
    if offset > available {
        return Err(Error::malformed(format!("the array starts at byte {offset} of {available} bytes of data")));
    }
    if element_count(shape)? == 0 {
        return Ok(offset..offset);
    }
    // 64 axes of at most 2^126 each stay below 2^127 only if summed with saturation.
    let (mut low, mut high) = (i128::from(offset), i128::from(offset) + i128::from(item_size));
    for (len, stride) in shape.iter().zip(strides) {
        let reach = (i128::from(*len) - 1) * i128::from(*stride);
        if reach < 0 {
            low = low.saturating_add(reach);
        } else {
            high = high.saturating_add(reach);
        }
    }
    match (u64::try_from(low), u64::try_from(high)) {
        (Ok(low), Ok(high)) if high <= available => Ok(low..high),
        (Err(_), _) if low < 0 => Err(Error::malformed(format!(
            "the array reaches {} bytes before the start of its data (offset {offset}, shape {shape:?}, strides {strides:?})",
            -low
        ))),
        _ => Err(Error::malformed(format!(
            "the array ends at byte {high}, but there are {available} bytes of data (offset {offset}, shape {shape:?}, {item_size} bytes an element)"
        ))),
    }
}

/// Returns `true` if elements are one after the other in C order.
pub(super) fn is_c_contiguous(shape: &[u64], strides: &[i64], item_size: u64) -> bool {
    is_contiguous(shape.iter().zip(strides).rev(), item_size) || shape.contains(&0)
}

/// Returns `true` if elements are one after the other in Fortran order.
pub(super) fn is_fortran_contiguous(shape: &[u64], strides: &[i64], item_size: u64) -> bool {
    is_contiguous(shape.iter().zip(strides), item_size) || shape.contains(&0)
}

fn is_contiguous<'a>(fastest_first: impl Iterator<Item = (&'a u64, &'a i64)>, item_size: u64) -> bool {
    let mut expected = i128::from(item_size);
    for (len, stride) in fastest_first {
        // The stride of an axis of length 1 is never used.
        if *len != 1 {
            if i128::from(*stride) != expected {
                return false;
            }
            expected = expected.saturating_mul(i128::from(*len));
        }
    }
    true
}

/// Rows of a streamed array (`shape: ['*', …]`): as many whole ones as there are bytes for.
///
/// # Errors
/// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) for rows of no bytes, of which there would be
/// infinitely many.
pub fn stream_rows(available: u64, row_shape: &[u64], item_size: u64) -> Result<u64> {
    let row = element_count(row_shape)?.checked_mul(item_size);
    match row {
        Some(0) => Err(Error::malformed(format!("rows of shape {row_shape:?} have no bytes, so they cannot be counted"))),
        Some(row) => Ok(available / row),
        None => Ok(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extents_go_both_ways_and_stay_inside() {
        assert_eq!(element_byte_range(8, &[2, 3], &[12, 4], 4, 100).unwrap(), 8..32);
        assert_eq!(element_byte_range(8, &[3], &[-4], 4, 100).unwrap(), 0..12);
        assert_eq!(element_byte_range(0, &[1 << 40], &[0], 8, 8).unwrap(), 0..8);
        assert_eq!(element_byte_range(5, &[0, 1 << 40], &[i64::MAX, i64::MIN], 8, 8).unwrap(), 5..5);
        assert!(element_byte_range(7, &[3], &[-4], 4, 100).is_err());
        assert!(element_byte_range(0, &[26], &[4], 4, 100).is_err());
        assert!(element_byte_range(u64::MAX, &[], &[], 4, 100).is_err());
    }

    #[test]
    fn hostile_shapes_and_strides_are_errors_not_overflows() {
        assert!(element_byte_range(0, &[u64::MAX, u64::MAX], &[i64::MAX, i64::MIN], 8, u64::MAX).is_err());
        assert!(element_byte_range(0, &[1 << 62, 1, 1], &[i64::MIN, i64::MIN, 1], 8, u64::MAX).is_err());
        assert!(element_byte_range(0, &[1; 65], &[1; 65], 1, 8).is_err());
        assert!(element_byte_range(0, &[2], &[], 1, 8).is_err());
        assert!(c_strides(&[2, 1 << 40, 1 << 40], 8).is_err());
        assert_eq!(c_strides(&[1 << 40, 0, 1 << 40], 8).unwrap().len(), 3);
    }

    #[test]
    fn orders_are_told_apart() {
        assert!(is_c_contiguous(&[2, 3], &c_strides(&[2, 3], 4).unwrap(), 4));
        assert!(!is_c_contiguous(&[2, 3], &fortran_strides(&[2, 3], 4).unwrap(), 4));
        assert!(is_fortran_contiguous(&[2, 3], &[4, 8], 4));
        assert!(is_c_contiguous(&[1, 3], &[999, 4], 4));
        assert_eq!(stream_rows(100, &[3], 8).unwrap(), 4);
        assert!(stream_rows(100, &[0], 8).is_err());
    }
}
