//! The least, the greatest and the mean of the elements of an array.

use std::cmp::Ordering;

use half::f16;

use crate::array::{Array, Byteorder, Datatype, ElementValue};
use crate::condition::Cell;
use crate::error::Result;

/// Number of bytes that are gone through at a time: they stay in the cache.
const PIECE: usize = 1 << 18;

/// Least, greatest and mean of the elements that are numbers, not NaN and not masked.
pub(super) struct Summary {
    /// The least.
    pub min: Cell,
    /// The greatest.
    pub max: Cell,
    sum: f64,
    count: u64,
}

/// An element type: how it is read, compared and added.
trait Number: Copy + PartialOrd {
    fn cell(self) -> Cell;
    fn value(self) -> f64;
}

macro_rules! numbers {
    ($($type:ty: $cell:expr, $value:expr;)*) => {$(
        impl Number for $type {
            fn cell(self) -> Cell {
                $cell(self)
            }

            fn value(self) -> f64 {
                $value(self)
            }
        }
    )*};
}

numbers! {
    i8: |n| Cell::Int(i64::from(n)), f64::from;
    i16: |n| Cell::Int(i64::from(n)), f64::from;
    i32: |n| Cell::Int(i64::from(n)), f64::from;
    i64: Cell::Int, |n| n as f64;
    u8: |n| Cell::Int(i64::from(n)), f64::from;
    u16: |n| Cell::Int(i64::from(n)), f64::from;
    u32: |n| Cell::Int(i64::from(n)), f64::from;
    u64: |n| i64::try_from(n).map_or(Cell::Float(n as f64), Cell::Int), |n| n as f64;
    f16: |n| Cell::Float(f64::from(n)), f64::from;
    f32: |n| Cell::Float(f64::from(n)), f64::from;
    f64: Cell::Float, |n| n;
}

impl Summary {
    /// Goes through all elements; those of the usual types as plain numbers.
    pub(super) fn of(array: &Array) -> Result<Self> {
        match array.datatype() {
            Datatype::Int8 => plain(array, i8::from_ne_bytes),
            Datatype::Int16 => plain(array, i16::from_ne_bytes),
            Datatype::Int32 => plain(array, i32::from_ne_bytes),
            Datatype::Int64 => plain(array, i64::from_ne_bytes),
            Datatype::Uint8 => plain(array, u8::from_ne_bytes),
            Datatype::Bool8 => plain(array, |byte: [u8; 1]| u8::from(byte != [0])),
            Datatype::Uint16 => plain(array, u16::from_ne_bytes),
            Datatype::Uint32 => plain(array, u32::from_ne_bytes),
            Datatype::Uint64 => plain(array, u64::from_ne_bytes),
            Datatype::Float16 => plain(array, f16::from_ne_bytes),
            Datatype::Float32 => plain(array, f32::from_ne_bytes),
            Datatype::Float64 => plain(array, f64::from_ne_bytes),
            _ => any(array),
        }
    }

    /// The mean; null if no element counts.
    pub(super) fn mean(&self) -> Cell {
        if self.count == 0 { Cell::Null } else { Cell::Float(self.sum / self.count as f64) }
    }
}

/// Statistics of plain numbers.
struct Seen<T> {
    ends: Option<(T, T)>,
    sum: f64,
    count: u64,
}

impl<T: Number> Seen<T> {
    #[allow(clippy::eq_op, reason = "only NaN differs from itself")]
    fn add(&mut self, numbers: impl Iterator<Item = T>) {
        let mut numbers = numbers.filter(|n| n == n);
        let first = if self.ends.is_none() { numbers.next() } else { None };
        if let Some(n) = first {
            (self.ends, self.sum, self.count) = (Some((n, n)), self.sum + n.value(), self.count + 1);
        }
        let Some((mut min, mut max)) = self.ends else { return };
        for n in numbers {
            min = if n < min { n } else { min };
            max = if n > max { n } else { max };
            self.sum += n.value();
            self.count += 1;
        }
        self.ends = Some((min, max));
    }
}

fn plain<T: Number, const N: usize>(array: &Array, read: impl Fn([u8; N]) -> T) -> Result<Summary> {
    let mut seen = Seen { ends: None, sum: 0.0, count: 0 };
    if array.mask().is_none() {
        array.pieces(Byteorder::NATIVE, PIECE, &mut |bytes| {
            seen.add(bytes.as_chunks().0.iter().map(|element| read(*element)));
            Ok(())
        })?;
    } else {
        for block in array.row_blocks(PIECE as u64) {
            let mask = block.mask_bytes()?.unwrap_or_default();
            let bytes = block.read_bytes(Byteorder::NATIVE)?;
            let elements = bytes.as_chunks().0.iter().zip(&mask);
            seen.add(elements.filter(|(_, masked)| **masked == 0).map(|(element, _)| read(*element)));
        }
    }
    let (min, max) = seen.ends.map_or((Cell::Null, Cell::Null), |(min, max)| (min.cell(), max.cell()));
    Ok(Summary { min, max, sum: seen.sum, count: seen.count })
}

/// Element by element: what is stored in a way that no machine calculates with, and what is no number.
fn any(array: &Array) -> Result<Summary> {
    let mut found = Summary { min: Cell::Null, max: Cell::Null, sum: 0.0, count: 0 };
    array.for_each_scalar(|element, masked| {
        let number = match element {
            ElementValue::Float(value, _) if !masked && !value.is_nan() => value,
            _ => return Ok(()),
        };
        let cell = Cell::Float(number);
        found.sum += number;
        found.count += 1;
        if found.min == Cell::Null || cell.compare(&found.min).is_some_and(Ordering::is_lt) {
            found.min = cell.clone();
        }
        if found.max == Cell::Null || cell.compare(&found.max).is_some_and(Ordering::is_gt) {
            found.max = cell;
        }
        Ok(())
    })?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    use crate::array::Mask;

    fn found(array: &Array) -> (Cell, Cell, Cell) {
        let summary = Summary::of(array).unwrap();
        (summary.min.clone(), summary.max.clone(), summary.mean())
    }

    #[test]
    fn min_max_mean_match_for_every_type() {
        macro_rules! check {
            ($($type:ty),*) => {$(
                let numbers: Vec<$type> = [7u8, 3, 40, 12].map(<$type>::from).to_vec();
                let array = Array::from_slice(&numbers, &[2, 2]).unwrap();
                let (min, max, mean) = found(&array);
                assert_eq!((min.into_type(crate::table::CellType::Float), max.into_type(crate::table::CellType::Float), mean),
                    (Cell::Float(3.0), Cell::Float(40.0), Cell::Float(15.5)), stringify!($type));
                let bytes: Vec<u8> = numbers.iter().flat_map(|n| n.to_be_bytes()).collect();
                let turned = Array::from_bytes(bytes, array.datatype().clone(), Byteorder::Big, vec![4]).unwrap();
                assert_eq!(found(&turned), found(&array), stringify!($type));
            )*};
        }
        check!(u8, i16, u16, i32, u32, i64, u64, f16, f32, f64);
        let array = Array::from_slice(&[i8::MIN, 5], &[2]).unwrap();
        assert_eq!(found(&array), (Cell::Int(-128), Cell::Int(5), Cell::Float(-61.5)));
    }

    #[test]
    fn what_is_nan_or_masked_does_not_count() {
        let numbers = [f64::NAN, 2.0, f64::INFINITY, -1.0];
        let array = Array::from_slice(&numbers, &[4]).unwrap();
        assert_eq!(found(&array), (Cell::Float(-1.0), Cell::Float(f64::INFINITY), Cell::Float(f64::INFINITY)));
        let mask = Array::from_slice(&[0u8, 0, 1, 1], &[4]).unwrap();
        let masked = array.with_mask(Mask::Array(Arc::new(mask))).unwrap();
        assert_eq!(found(&masked), (Cell::Float(2.0), Cell::Float(2.0), Cell::Float(2.0)));
        for none in [Array::from_slice(&[f64::NAN; 3], &[3]).unwrap(), Array::from_slice::<i32>(&[], &[0]).unwrap()] {
            assert_eq!(found(&none), (Cell::Null, Cell::Null, Cell::Null));
        }
    }

    #[test]
    fn pieces_make_one_whole() {
        let numbers: Vec<i64> = (0..200_000).map(|n| (n * 7919) % 200_003 - 1000).collect();
        let array = Array::from_slice(&numbers, &[200_000]).unwrap();
        let (min, max) = (numbers.iter().min().unwrap(), numbers.iter().max().unwrap());
        let sum: f64 = numbers.iter().map(|n| *n as f64).sum();
        assert_eq!(found(&array), (Cell::Int(*min), Cell::Int(*max), Cell::Float(sum / 200_000.0)));
    }
}
