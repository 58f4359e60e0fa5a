//! Pixels beyond the edge of an image.

use crate::array::Datatype;
use crate::error::{Error, Result};

/// Copies an array into a larger one, from the index `begin` on; both are contiguous.
pub(super) fn copy_into_region(from: &[u8], from_shape: &[u64], into: &mut [u8], into_shape: &[u64], begin: &[u64], item: usize) {
    let row = from_shape.last().map_or(item, |length| *length as usize * item);
    if row == 0 {
        return;
    }
    let rows = from.len() / row;
    for number in 0..rows {
        // The index of the row, from the last axis but one on.
        let (mut rest, mut place, mut stride) =
            (number as u64, begin.last().copied().unwrap_or(0), into_shape.last().copied().unwrap_or(1));
        for axis in (0..from_shape.len().saturating_sub(1)).rev() {
            let index = rest % from_shape[axis];
            rest /= from_shape[axis];
            place += (index + begin[axis]) * stride;
            stride *= into_shape[axis];
        }
        let at = place as usize * item;
        if let (Some(target), Some(source)) = (into.get_mut(at..at + row), from.get(number * row..(number + 1) * row)) {
            target.copy_from_slice(source);
        }
    }
}

/// The bytes, little-endian, of an element to fill with.
pub(super) fn fill_bytes(datatype: &Datatype, given: Option<f64>) -> Result<Vec<u8>> {
    let size = usize::try_from(datatype.packed_size()).unwrap_or(0);
    let refused = |value: f64| {
        Error::invalid_input(format!("cannot fill with {value}: {datatype} does not hold it"))
            .hint("take another value for --fill, or --edge trim")
    };
    let is_float = datatype.is_float() || matches!(datatype, Datatype::Complex32 | Datatype::Complex64 | Datatype::Complex128);
    let value = match given {
        Some(value) => value,
        None if is_float => f64::NAN,
        None => return Ok(vec![0; size]),
    };
    let whole = |low: i128, high: i128| -> Result<[u8; 16]> {
        let number = value as i128;
        let fits = value.fract() == 0.0 && (low..=high).contains(&number);
        if fits { Ok(number.to_le_bytes()) } else { Err(refused(value)) }
    };
    let integer = |bytes: [u8; 16]| bytes.get(..size).unwrap_or(&bytes).to_vec();
    if let Some((low, high)) = datatype.integer_range() {
        return Ok(integer(whole(low, high)?));
    }
    Ok(match datatype {
        Datatype::Bool8 => integer(whole(0, u8::MAX.into())?),
        Datatype::Float16 => half::f16::from_f64(value).to_le_bytes().to_vec(),
        Datatype::Float32 => (value as f32).to_le_bytes().to_vec(),
        Datatype::Float64 => value.to_le_bytes().to_vec(),
        Datatype::Complex32 => half::f16::from_f64(value).to_le_bytes().repeat(2),
        Datatype::Complex64 => (value as f32).to_le_bytes().repeat(2),
        Datatype::Complex128 => value.to_le_bytes().repeat(2),
        _ if given.is_some_and(|value| value != 0.0) => return Err(refused(value)),
        _ => vec![0; size],
    })
}
