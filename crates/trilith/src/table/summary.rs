//! The least, the greatest and the mean of the elements of an array.

use std::cmp::Ordering;

use half::f16;

use crate::array::{Array, Byteorder, Datatype, ElementValue};
use crate::condition::TableCell;
use crate::error::Result;

/// Number of bytes that are gone through at a time: they stay in the cache.
const BUFFER_SIZE: usize = 1 << 18;

/// Least, greatest and mean of the elements that are numbers, not NaN and not masked.
pub(super) struct Summary {
    /// The least.
    pub min: TableCell,
    /// The greatest.
    pub max: TableCell,
    sum: f64,
    count: u64,
}

/// An element type: how it is read, compared and added.
trait SummaryNumber: Copy + PartialOrd {
    fn into_cell(self) -> TableCell;
    fn into_f64(self) -> f64;
}

macro_rules! numbers {
    ($($type:ty: $cell:expr, $value:expr;)*) => {$(
        impl SummaryNumber for $type {
            fn into_cell(self) -> TableCell {
                $cell(self)
            }

            fn into_f64(self) -> f64 {
                $value(self)
            }
        }
    )*};
}

numbers! {
    i8: |n| TableCell::Int(i64::from(n)), f64::from;
    i16: |n| TableCell::Int(i64::from(n)), f64::from;
    i32: |n| TableCell::Int(i64::from(n)), f64::from;
    i64: TableCell::Int, |n| n as f64;
    u8: |n| TableCell::Int(i64::from(n)), f64::from;
    u16: |n| TableCell::Int(i64::from(n)), f64::from;
    u32: |n| TableCell::Int(i64::from(n)), f64::from;
    u64: |n| i64::try_from(n).map_or(TableCell::Float(n as f64), TableCell::Int), |n| n as f64;
    f16: |n| TableCell::Float(f64::from(n)), f64::from;
    f32: |n| TableCell::Float(f64::from(n)), f64::from;
    f64: TableCell::Float, |n| n;
}

impl Summary {
    /// Goes through all elements; those of the usual types as plain numbers.
    pub(super) fn compute(array: &Array) -> Result<Self> {
        match array.datatype() {
            Datatype::Int8 => of_primitive(array, i8::from_ne_bytes),
            Datatype::Int16 => of_primitive(array, i16::from_ne_bytes),
            Datatype::Int32 => of_primitive(array, i32::from_ne_bytes),
            Datatype::Int64 => of_primitive(array, i64::from_ne_bytes),
            Datatype::Uint8 => of_primitive(array, u8::from_ne_bytes),
            Datatype::Bool8 => of_primitive(array, |byte: [u8; 1]| u8::from(byte != [0])),
            Datatype::Uint16 => of_primitive(array, u16::from_ne_bytes),
            Datatype::Uint32 => of_primitive(array, u32::from_ne_bytes),
            Datatype::Uint64 => of_primitive(array, u64::from_ne_bytes),
            Datatype::Float16 => of_primitive(array, f16::from_ne_bytes),
            Datatype::Float32 => of_primitive(array, f32::from_ne_bytes),
            Datatype::Float64 => of_primitive(array, f64::from_ne_bytes),
            _ => of_scalars(array),
        }
    }

    /// The mean; null if no element counts.
    pub(super) fn mean(&self) -> TableCell {
        if self.count == 0 { TableCell::Null } else { TableCell::Float(self.sum / self.count as f64) }
    }
}

/// Statistics of plain numbers.
struct RunningStats<T> {
    min_max: Option<(T, T)>,
    sum: f64,
    count: u64,
}

impl<T: SummaryNumber> RunningStats<T> {
    #[allow(clippy::eq_op, reason = "only NaN differs from itself")]
    fn add_numbers(&mut self, numbers: impl Iterator<Item = T>) {
        let mut numbers = numbers.filter(|n| n == n);
        let first = if self.min_max.is_none() { numbers.next() } else { None };
        if let Some(n) = first {
            (self.min_max, self.sum, self.count) = (Some((n, n)), self.sum + n.into_f64(), self.count + 1);
        }
        let Some((mut min, mut max)) = self.min_max else { return };
        for n in numbers {
            min = if n < min { n } else { min };
            max = if n > max { n } else { max };
            self.sum += n.into_f64();
            self.count += 1;
        }
        self.min_max = Some((min, max));
    }
}

fn of_primitive<T: SummaryNumber, const N: usize>(array: &Array, read: impl Fn([u8; N]) -> T) -> Result<Summary> {
    let mut seen = RunningStats { min_max: None, sum: 0.0, count: 0 };
    if array.mask().is_none() {
        array.for_each_piece_in(Byteorder::NATIVE, BUFFER_SIZE, &mut |bytes| {
            seen.add_numbers(bytes.as_chunks().0.iter().map(|element| read(*element)));
            Ok(())
        })?;
    } else {
        for block in array.row_blocks(BUFFER_SIZE as u64) {
            let mask = block.mask_bytes()?.unwrap_or_default();
            let bytes = block.read_bytes(Byteorder::NATIVE)?;
            let elements = bytes.as_chunks().0.iter().zip(&mask);
            seen.add_numbers(elements.filter(|(_, masked)| **masked == 0).map(|(element, _)| read(*element)));
        }
    }
    let (min, max) = seen.min_max.map_or((TableCell::Null, TableCell::Null), |(min, max)| (min.into_cell(), max.into_cell()));
    Ok(Summary { min, max, sum: seen.sum, count: seen.count })
}

/// Element by element: what is stored in a way that no machine calculates with, and what is not a number.
fn of_scalars(array: &Array) -> Result<Summary> {
    let mut found = Summary { min: TableCell::Null, max: TableCell::Null, sum: 0.0, count: 0 };
    array.for_each_scalar(|element, masked| {
        let number = match element {
            ElementValue::Float(value, _) if !masked && !value.is_nan() => value,
            _ => return Ok(()),
        };
        let cell = TableCell::Float(number);
        found.sum += number;
        found.count += 1;
        if found.min == TableCell::Null || cell.compare(&found.min).is_some_and(Ordering::is_lt) {
            found.min = cell.clone();
        }
        if found.max == TableCell::Null || cell.compare(&found.max).is_some_and(Ordering::is_gt) {
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

    fn found(array: &Array) -> (TableCell, TableCell, TableCell) {
        let summary = Summary::compute(array).unwrap();
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
                    (TableCell::Float(3.0), TableCell::Float(40.0), TableCell::Float(15.5)), stringify!($type));
                let bytes: Vec<u8> = numbers.iter().flat_map(|n| n.to_be_bytes()).collect();
                let turned = Array::from_bytes(bytes, array.datatype().clone(), Byteorder::Big, vec![4]).unwrap();
                assert_eq!(found(&turned), found(&array), stringify!($type));
            )*};
        }
        check!(u8, i16, u16, i32, u32, i64, u64, f16, f32, f64);
        let array = Array::from_slice(&[i8::MIN, 5], &[2]).unwrap();
        assert_eq!(found(&array), (TableCell::Int(-128), TableCell::Int(5), TableCell::Float(-61.5)));
    }

    #[test]
    fn what_is_nan_or_masked_does_not_count() {
        let numbers = [f64::NAN, 2.0, f64::INFINITY, -1.0];
        let array = Array::from_slice(&numbers, &[4]).unwrap();
        assert_eq!(found(&array), (TableCell::Float(-1.0), TableCell::Float(f64::INFINITY), TableCell::Float(f64::INFINITY)));
        let mask = Array::from_slice(&[0u8, 0, 1, 1], &[4]).unwrap();
        let masked = array.with_mask(Mask::Array(Arc::new(mask))).unwrap();
        assert_eq!(found(&masked), (TableCell::Float(2.0), TableCell::Float(2.0), TableCell::Float(2.0)));
        for none in [Array::from_slice(&[f64::NAN; 3], &[3]).unwrap(), Array::from_slice::<i32>(&[], &[0]).unwrap()] {
            assert_eq!(found(&none), (TableCell::Null, TableCell::Null, TableCell::Null));
        }
    }

    #[test]
    fn pieces_make_one_whole() {
        let numbers: Vec<i64> = (0..200_000).map(|n| (n * 7919) % 200_003 - 1000).collect();
        let array = Array::from_slice(&numbers, &[200_000]).unwrap();
        let (min, max) = (numbers.iter().min().unwrap(), numbers.iter().max().unwrap());
        let sum: f64 = numbers.iter().map(|n| *n as f64).sum();
        assert_eq!(found(&array), (TableCell::Int(*min), TableCell::Int(*max), TableCell::Float(sum / 200_000.0)));
    }
}
