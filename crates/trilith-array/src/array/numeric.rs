//! Loading elements as numbers, conversion between number types, and masks by value.

use half::f16;
use half::slice::HalfFloatSliceExt;

use super::datatype::{Byteorder, Datatype};
use super::element::{ArrayElement, NumericValue};
use super::handle::Array;
use super::mask::Mask;
use crate::bytes::to_usize;
use crate::error::{Error, Result};

/// Below this size memory is mostly used again, where clearing it first costs as much as the copy; above, it comes
/// cleared from the system, and several threads fetch it faster.
const MIN_FRESH_BYTES: u64 = 32 << 20;

/// Runs `$body` with `$values`, an iterator over the numbers in native `$bytes`, as [`ElementValue`](super::ElementValue)s.
macro_rules! each_value {
    ($datatype:expr, $bytes:expr, |$values:ident| $body:expr, else $other:expr) => {{
        macro_rules! of {
            ($size:literal, $to:expr) => {{
                let $values = $bytes.as_chunks::<$size>().0.iter().map($to);
                $body
            }};
        }
        match $datatype {
            Datatype::Int8 => of!(1, |b| NumericValue::Int(i8::from_ne_bytes(*b).into())),
            Datatype::Int16 => of!(2, |b| NumericValue::Int(i16::from_ne_bytes(*b).into())),
            Datatype::Int32 => of!(4, |b| NumericValue::Int(i32::from_ne_bytes(*b).into())),
            Datatype::Int64 => of!(8, |b| NumericValue::Int(i64::from_ne_bytes(*b))),
            Datatype::Uint8 | Datatype::Bool8 => of!(1, |b| NumericValue::Uint(u8::from_ne_bytes(*b).into())),
            Datatype::Uint16 => of!(2, |b| NumericValue::Uint(u16::from_ne_bytes(*b).into())),
            Datatype::Uint32 => of!(4, |b| NumericValue::Uint(u32::from_ne_bytes(*b).into())),
            Datatype::Uint64 => of!(8, |b| NumericValue::Uint(u64::from_ne_bytes(*b))),
            Datatype::Float16 => of!(2, |b| NumericValue::Float(f16::from_ne_bytes(*b).into())),
            Datatype::Float32 => of!(4, |b| NumericValue::Float(f32::from_ne_bytes(*b).into())),
            Datatype::Float64 => of!(8, |b| NumericValue::Float(f64::from_ne_bytes(*b))),
            Datatype::Float128 => of!(16, |b| NumericValue::Float(from_extended(u128::from_ne_bytes(*b)))),
            Datatype::Complex32 => of!(4, |b| decode_complex::<2>(b, |b| f16::from_ne_bytes(b).into())),
            Datatype::Complex64 => of!(8, |b| decode_complex::<4>(b, |b| f32::from_ne_bytes(b).into())),
            Datatype::Complex128 => of!(16, |b| decode_complex::<8>(b, f64::from_ne_bytes)),
            Datatype::Complex256 => of!(32, |b| decode_complex::<16>(b, |b| from_extended(u128::from_ne_bytes(b)))),
            _ => $other,
        }
    }};
}

/// A complex number out of two parts of `W` bytes.
#[inline]
fn decode_complex<const W: usize>(bytes: &[u8], part: impl Fn([u8; W]) -> f64) -> NumericValue {
    match bytes.as_chunks::<W>().0 {
        [re, im] => NumericValue::Complex(part(*re), part(*im)),
        _ => NumericValue::Complex(f64::NAN, f64::NAN),
    }
}

/// The nearest double of an 80-bit x86 number, which has 64 bits of fraction (the first one stored)
/// below 15 bits of exponent and a sign. Doubles near 0 that have less precision may be one unit off.
pub(super) fn from_extended(bits: u128) -> f64 {
    let fraction = bits as u64;
    let high = (bits >> 64) as u16;
    let sign = if high & 0x8000 == 0 { 1.0 } else { -1.0 };
    let exponent = i32::from(high & 0x7fff);
    if exponent == 0x7fff {
        return if fraction << 1 == 0 { sign * f64::INFINITY } else { f64::NAN };
    }
    // fraction * 2^(exponent - bias - 63), in steps that a double can hold.
    let mut scale = exponent.max(1) - 16383 - 63;
    let mut value = fraction as f64;
    while scale != 0 && value != 0.0 && value.is_finite() {
        let step = scale.clamp(-1000, 1000);
        value *= 2f64.powi(step);
        scale -= step;
    }
    sign * value
}

impl Array {
    /// Returns a copy of all elements in C order.
    ///
    /// The datatype must be that of `T`. [`Array::load_as`] converts. A masked element has the value that is stored under the
    /// mask.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for another datatype,
    /// [`ErrorKind::Limit`](crate::ErrorKind::Limit) if the limits do not allow the size,
    /// [`ErrorKind::Io`](crate::ErrorKind::Io) if the source cannot be read, and
    /// [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if it does not decode.
    pub fn load<T: ArrayElement>(&self) -> Result<Vec<T>> {
        self.ensure_datatype::<T>()?;
        self.charge()?;
        if self.nbytes() < MIN_FRESH_BYTES
            && let Some(elements) = self.stored_as::<T>().and_then(T::copied)
        {
            self.limits.charge_work(self.nbytes())?;
            return Ok(elements);
        }
        let mut elements = T::zeroed(to_usize(self.element_count())?)?;
        T::read(self, &mut elements)?;
        Ok(elements)
    }

    /// [`Array::load`] into memory of the caller, which must have [`Array::element_count`] elements.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for another length, and the errors of [`Array::load`].
    pub fn read_into<T: ArrayElement>(&self, into: &mut [T]) -> Result<()> {
        self.ensure_datatype::<T>()?;
        if into.len() as u64 != self.element_count() {
            return Err(Error::invalid_input(format!(
                "memory for {} elements, but the array has {}",
                into.len(),
                self.element_count()
            )));
        }
        T::read(self, into)
    }

    /// Returns the elements without a copy, or None. This is possible if they are in memory, in C order, aligned, in the byte
    /// order of this machine, and of the datatype of `T`.
    ///
    /// `bool` has no view, because other bytes than 0 and 1 may be stored.
    pub fn view<T: ArrayElement>(&self) -> Option<&[T]> {
        T::view(self.stored_as::<T>()?)
    }

    /// The bytes in memory of a source that are the elements of `T` one after the other in C order, aligned or not.
    fn stored_as<T: ArrayElement>(&self) -> Option<&[u8]> {
        let native = self.byteorder == Byteorder::NATIVE || size_of::<T>() == 1;
        if self.datatype != T::DATATYPE || !native || !self.is_c_contiguous() {
            return None;
        }
        self.source.view(self.offset, self.nbytes())
    }

    /// Copies all elements as another number type.
    ///
    /// Whole numbers and booleans must keep their values. A float becomes a whole number only if it is one. Floats and complex
    /// numbers are rounded to the nearest value, and become infinite beyond the range. `float128` and `complex256` lose the
    /// digits that a double cannot represent.
    ///
    /// ```
    /// use trilith_array::array::Array;
    /// let array = Array::from_slice(&[1.0f64, -2.0], &[2])?;
    /// assert_eq!(array.load_as::<i16>()?, [1, -2]);
    /// assert!(array.load_as::<u8>().is_err());
    /// # Ok::<(), trilith_array::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for a value that `T` does not have or elements that
    /// are not numbers, and the errors of [`Array::load`].
    pub fn load_as<T: ArrayElement>(&self) -> Result<Vec<T>> {
        if self.datatype == T::DATATYPE {
            return self.load();
        }
        self.charge_overlap()?;
        let size = self.element_count().saturating_mul(size_of::<T>() as u64);
        self.limits.charge_memory(size, "an array")?;
        let mut elements = T::zeroed(to_usize(self.element_count())?)?;
        let not_numbers = || Error::invalid_input(format!("elements of {} are not numbers", self.datatype));
        // Said even where there are no elements.
        each_value!(self.datatype, [0u8; 0], |values| drop(values), else return Err(not_numbers()));
        let (mut done, mut wide) = (0, Vec::new());
        self.for_each_native(|bytes| {
            let into = elements.get_mut(done..).unwrap_or_default();
            let (count, failed) = if self.datatype == Datatype::Float16 {
                let singles = widen_f16_to_f32(bytes, &mut wide).iter().map(|x| NumericValue::Float(f64::from(*x)));
                store_values(into, singles)
            } else {
                each_value!(self.datatype, bytes, |values| store_values(into, values), else return Err(not_numbers()))
            };
            if let Some((at, value)) = failed {
                return Err(does_not_fit(done + at, value, &self.datatype, &T::DATATYPE));
            }
            done += count;
            Ok(())
        })?;
        Ok(elements)
    }

    pub(super) fn ensure_datatype<T: ArrayElement>(&self) -> Result<()> {
        if self.datatype == T::DATATYPE {
            return Ok(());
        }
        let message = format!("the elements are {}, not {}", self.datatype, T::DATATYPE);
        Err(Error::invalid_input(message).hint("load_as converts between numbers"))
    }
}

/// Stores values one after the other; returns their number, and the first one that `T` does not have.
#[inline]
fn store_values<T: ArrayElement>(
    into: &mut [T],
    values: impl Iterator<Item = NumericValue>,
) -> (usize, Option<(usize, NumericValue)>) {
    let mut count = 0;
    for (slot, value) in into.iter_mut().zip(values) {
        match T::from_value(value) {
            Some(element) => *slot = element,
            None => return (count, Some((count, value))),
        }
        count += 1;
    }
    (count, None)
}

/// Halves as singles, many at once if the processor can.
fn widen_f16_to_f32<'a>(bytes: &[u8], singles: &'a mut Vec<f32>) -> &'a [f32] {
    let count = bytes.len() / 2;
    singles.resize(count, 0.0);
    match bytemuck::try_cast_slice::<u8, f16>(bytes) {
        Ok(halves) => halves.convert_to_f32_slice(singles),
        // Elements of a view may be at odd addresses.
        Err(_) => {
            for (single, half) in singles.iter_mut().zip(bytes.as_chunks::<2>().0) {
                *single = f16::from_ne_bytes(*half).to_f32();
            }
        }
    }
    singles
}

#[cold]
fn does_not_fit(at: usize, value: NumericValue, from: &Datatype, to: &Datatype) -> Error {
    let shown = match value {
        NumericValue::Int(n) => n.to_string(),
        NumericValue::Uint(n) => n.to_string(),
        NumericValue::Float(x) => format!("{x:?}"),
        NumericValue::Complex(re, im) => format!("{re:?}{im:+?}j"),
    };
    Error::invalid_input(format!("element {at} of this {from} array is {shown}, which {to} cannot hold"))
}

/// The first number in packed native bytes; nothing for elements that are not numbers.
pub(super) fn first_value(datatype: &Datatype, bytes: &[u8]) -> Option<NumericValue> {
    each_value!(datatype, bytes, |values| { values }.next(), else None)
}

/// Appends 1 for each element that the mask names, else 0.
pub(super) fn append_mask(datatype: &Datatype, mask: &Mask, bytes: &[u8], marks: &mut Vec<u8>) -> Result<()> {
    let wrong = || Err(Error::unsupported(format!("a mask by value for elements of {datatype}")));
    // Floats compare after rounding to the elements' precision: 0.1 masks a float32 0.1.
    let round = |x: f64| match datatype {
        Datatype::Float16 | Datatype::Complex32 => f16::from_f64(x).to_f64(),
        Datatype::Float32 | Datatype::Complex64 => f64::from(x as f32),
        _ => x,
    };
    let (re, im) = match *mask {
        Mask::Nan => {
            let is_nan = |value| match value {
                NumericValue::Float(x) => x.is_nan(),
                NumericValue::Complex(re, im) => re.is_nan() || im.is_nan(),
                _ => false,
            };
            return each_value!(datatype, bytes, |values| { marks.extend(values.map(|v| u8::from(is_nan(v)))); Ok(()) }, else wrong());
        }
        Mask::Integer(n) if !datatype.is_float() && !datatype.is_complex() => {
            let equals = |value| match value {
                NumericValue::Int(x) => i128::from(x) == n,
                NumericValue::Uint(x) => i128::from(x) == n,
                _ => false,
            };
            return each_value!(datatype, bytes, |values| { marks.extend(values.map(|v| u8::from(equals(v)))); Ok(()) }, else wrong());
        }
        Mask::Integer(n) => (round(n as f64), 0.0),
        Mask::Float(x) => (round(x), 0.0),
        Mask::Complex(re, im) => (round(re), round(im)),
        Mask::Array(_) => return Ok(()),
    };
    let equals = |value| match value {
        // A whole number equals a double exactly or not at all.
        NumericValue::Int(x) => im == 0.0 && <i64 as ArrayElement>::from_value(NumericValue::Float(re)) == Some(x),
        NumericValue::Uint(x) => im == 0.0 && <u64 as ArrayElement>::from_value(NumericValue::Float(re)) == Some(x),
        NumericValue::Float(x) => im == 0.0 && x == re,
        NumericValue::Complex(a, b) => a == re && b == im,
    };
    each_value!(datatype, bytes, |values| { marks.extend(values.map(|v| u8::from(equals(v)))); Ok(()) }, else wrong())
}
