//! Elements as Rust numbers: [`Element`], loading, and conversion between number types.

use half::f16;
use num_complex::Complex;

use super::datatype::{Byteorder, Datatype};
use super::handle::Array;
use super::mask::Mask;
use crate::bytes::to_usize;
use crate::error::{Error, Result};

mod sealed {
    pub trait Sealed {}
}

/// A Rust type that holds one element: `i8` … `u64`, [`half::f16`], `f32`, `f64`,
/// [`Complex`] of the floats, and `bool`.
pub trait Element: Copy + Default + PartialEq + Send + Sync + 'static + sealed::Sealed {
    /// The datatype that it holds exactly.
    const DATATYPE: Datatype;

    /// The elements' bytes, in the byte order of this machine.
    #[doc(hidden)]
    fn bytes(elements: &[Self]) -> Vec<u8>;

    /// Memory for this many elements.
    #[doc(hidden)]
    fn zeroed(count: usize) -> Result<Vec<Self>>;

    /// Reads all elements of an array of this very datatype.
    #[doc(hidden)]
    fn read(array: &Array, into: &mut [Self]) -> Result<()>;

    /// The elements where they lie, if every pattern of bits is one and they are aligned.
    #[doc(hidden)]
    fn view(bytes: &[u8]) -> Option<&[Self]>;

    /// The same number, if this type has it (floats: the nearest).
    #[doc(hidden)]
    fn from_value(value: Value) -> Option<Self>;
}

/// A number on its way from one type to another.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub enum Value {
    Int(i64),
    Uint(u64),
    Float(f64),
    Complex(f64, f64),
}

macro_rules! plain {
    ($($type:ty, $datatype:ident, |$value:ident| $convert:expr;)+) => {$(
        impl sealed::Sealed for $type {}

        impl Element for $type {
            const DATATYPE: Datatype = Datatype::$datatype;

            fn bytes(elements: &[Self]) -> Vec<u8> {
                bytemuck::cast_slice(elements).to_vec()
            }

            fn zeroed(count: usize) -> Result<Vec<Self>> {
                bytemuck::allocation::try_zeroed_vec(count)
                    .map_err(|()| Error::limit(format!("no memory for {count} elements")))
            }

            fn read(array: &Array, into: &mut [Self]) -> Result<()> {
                array.read_bytes_into(bytemuck::cast_slice_mut(into), Byteorder::NATIVE)
            }

            fn view(bytes: &[u8]) -> Option<&[Self]> {
                bytemuck::try_cast_slice(bytes).ok()
            }

            #[inline]
            fn from_value($value: Value) -> Option<Self> {
                $convert
            }
        }
    )+};
}

macro_rules! whole {
    ($type:ty, $value:expr) => {
        match $value {
            Value::Int(n) => <$type>::try_from(n).ok(),
            Value::Uint(n) => <$type>::try_from(n).ok(),
            Value::Float(x) => {
                // The power of two behind the largest number is exact as a double, the number itself may not be.
                const BEHIND: f64 = (<$type>::MAX / 2 + 1) as f64 * 2.0;
                (x >= <$type>::MIN as f64 && x < BEHIND && x.trunc() == x).then_some(x as $type)
            }
            Value::Complex(..) => None,
        }
    };
}

/// The nearest double of a real number.
#[inline]
fn real(value: Value) -> Option<f64> {
    match value {
        Value::Int(n) => Some(n as f64),
        Value::Uint(n) => Some(n as f64),
        Value::Float(x) => Some(x),
        Value::Complex(..) => None,
    }
}

/// The nearest pair of doubles.
#[inline]
fn pair(value: Value) -> (f64, f64) {
    match value {
        Value::Complex(re, im) => (re, im),
        other => (real(other).unwrap_or(f64::NAN), 0.0),
    }
}

plain! {
    i8, Int8, |v| whole!(i8, v);
    i16, Int16, |v| whole!(i16, v);
    i32, Int32, |v| whole!(i32, v);
    i64, Int64, |v| whole!(i64, v);
    u8, Uint8, |v| whole!(u8, v);
    u16, Uint16, |v| whole!(u16, v);
    u32, Uint32, |v| whole!(u32, v);
    u64, Uint64, |v| whole!(u64, v);
    f16, Float16, |v| real(v).map(f16::from_f64);
    f32, Float32, |v| match v {
        // Not by way of a double: that could round twice.
        Value::Int(n) => Some(n as f32),
        Value::Uint(n) => Some(n as f32),
        other => real(other).map(|x| x as f32),
    };
    f64, Float64, |v| real(v);
    Complex<f16>, Complex32, |v| Some(Complex::new(f16::from_f64(pair(v).0), f16::from_f64(pair(v).1)));
    Complex<f32>, Complex64, |v| Some(Complex::new(pair(v).0 as f32, pair(v).1 as f32));
    Complex<f64>, Complex128, |v| Some(Complex::new(pair(v).0, pair(v).1));
}

impl sealed::Sealed for bool {}

impl Element for bool {
    const DATATYPE: Datatype = Datatype::Bool8;

    fn bytes(elements: &[Self]) -> Vec<u8> {
        elements.iter().map(|x| u8::from(*x)).collect()
    }

    fn zeroed(count: usize) -> Result<Vec<Self>> {
        Ok(vec![false; count])
    }

    fn read(array: &Array, into: &mut [Self]) -> Result<()> {
        let mut rest = into;
        array.for_each_native(|bytes| {
            for (to, from) in rest.iter_mut().zip(bytes) {
                *to = *from != 0;
            }
            rest = std::mem::take(&mut rest).get_mut(bytes.len()..).unwrap_or_default();
            Ok(())
        })
    }

    fn view(_: &[u8]) -> Option<&[Self]> {
        None
    }

    fn from_value(value: Value) -> Option<Self> {
        match value {
            Value::Int(0) | Value::Uint(0) => Some(false),
            Value::Int(1) | Value::Uint(1) => Some(true),
            Value::Float(x) if x == 0.0 || x == 1.0 => Some(x == 1.0),
            _ => None,
        }
    }
}

/// Runs `$body` with `$values`, an iterator over the numbers in native `$bytes`, as [`Value`]s.
macro_rules! each_value {
    ($datatype:expr, $bytes:expr, |$values:ident| $body:expr, else $other:expr) => {{
        macro_rules! of {
            ($size:literal, $to:expr) => {{
                let $values = $bytes.as_chunks::<$size>().0.iter().map($to);
                $body
            }};
        }
        match $datatype {
            Datatype::Int8 => of!(1, |b| Value::Int(i8::from_ne_bytes(*b).into())),
            Datatype::Int16 => of!(2, |b| Value::Int(i16::from_ne_bytes(*b).into())),
            Datatype::Int32 => of!(4, |b| Value::Int(i32::from_ne_bytes(*b).into())),
            Datatype::Int64 => of!(8, |b| Value::Int(i64::from_ne_bytes(*b))),
            Datatype::Uint8 | Datatype::Bool8 => of!(1, |b| Value::Uint(u8::from_ne_bytes(*b).into())),
            Datatype::Uint16 => of!(2, |b| Value::Uint(u16::from_ne_bytes(*b).into())),
            Datatype::Uint32 => of!(4, |b| Value::Uint(u32::from_ne_bytes(*b).into())),
            Datatype::Uint64 => of!(8, |b| Value::Uint(u64::from_ne_bytes(*b))),
            Datatype::Float16 => of!(2, |b| Value::Float(f16::from_ne_bytes(*b).into())),
            Datatype::Float32 => of!(4, |b| Value::Float(f32::from_ne_bytes(*b).into())),
            Datatype::Float64 => of!(8, |b| Value::Float(f64::from_ne_bytes(*b))),
            Datatype::Float128 => of!(16, |b| Value::Float(from_extended(u128::from_ne_bytes(*b)))),
            Datatype::Complex32 => of!(4, |b| complex::<2>(b, |b| f16::from_ne_bytes(b).into())),
            Datatype::Complex64 => of!(8, |b| complex::<4>(b, |b| f32::from_ne_bytes(b).into())),
            Datatype::Complex128 => of!(16, |b| complex::<8>(b, f64::from_ne_bytes)),
            Datatype::Complex256 => of!(32, |b| complex::<16>(b, |b| from_extended(u128::from_ne_bytes(b)))),
            _ => $other,
        }
    }};
}

/// A complex number out of two parts of `W` bytes.
#[inline]
fn complex<const W: usize>(bytes: &[u8], part: impl Fn([u8; W]) -> f64) -> Value {
    match bytes.as_chunks::<W>().0 {
        [re, im] => Value::Complex(part(*re), part(*im)),
        _ => Value::Complex(f64::NAN, f64::NAN),
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
    /// A copy of all elements in C order.
    ///
    /// The datatype must be the one that `T` holds; [`Array::load_as`] converts. Masked elements are
    /// loaded with the value that stands under the mask.
    ///
    /// # Errors
    /// [`Kind::Usage`](crate::Kind::Usage) for another datatype, [`Kind::Limit`](crate::Kind::Limit),
    /// and what reading the source gives: [`Kind::Io`](crate::Kind::Io),
    /// [`Kind::Malformed`](crate::Kind::Malformed) where it does not decode.
    pub fn load<T: Element>(&self) -> Result<Vec<T>> {
        self.expect::<T>()?;
        self.limits.charge_memory(self.nbytes(), "an array")?;
        let mut elements = T::zeroed(to_usize(self.len())?)?;
        T::read(self, &mut elements)?;
        Ok(elements)
    }

    /// [`Array::load`] into memory of the caller, which must have [`Array::len`] elements.
    ///
    /// # Errors
    /// [`Kind::Usage`](crate::Kind::Usage) for another length, and as [`Array::load`].
    pub fn read_into<T: Element>(&self, into: &mut [T]) -> Result<()> {
        self.expect::<T>()?;
        if into.len() as u64 != self.len() {
            return Err(Error::usage(format!("memory for {} elements, but the array has {}", into.len(), self.len())));
        }
        T::read(self, into)
    }

    /// The elements where they lie, without a copy: in C order, aligned, in the byte order of this
    /// machine, of the datatype that `T` holds, in a source that has its bytes in memory.
    ///
    /// `bool` has no view, because other bytes than 0 and 1 may be stored.
    pub fn view<T: Element>(&self) -> Option<&[T]> {
        let native = self.byteorder == Byteorder::NATIVE || size_of::<T>() == 1;
        if self.datatype != T::DATATYPE || !native || !self.is_c_contiguous() {
            return None;
        }
        T::view(self.source.view(self.offset, self.nbytes())?)
    }

    /// A copy of all elements as another number type.
    ///
    /// Whole numbers and truth values must be the same afterwards. A float becomes a whole number
    /// only if it is one. Into floats and complex numbers values are rounded to the nearest (beyond
    /// their range: infinity); `float128` and `complex256` lose what a double cannot hold.
    ///
    /// ```
    /// use trilith::array::Array;
    /// let array = Array::from_slice(&[1.0f64, -2.0], &[2])?;
    /// assert_eq!(array.load_as::<i16>()?, [1, -2]);
    /// assert!(array.load_as::<u8>().is_err());
    /// # Ok::<(), trilith::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Kind::Usage`](crate::Kind::Usage) for a value that `T` does not have or elements that are no
    /// numbers, and as [`Array::load`].
    pub fn load_as<T: Element>(&self) -> Result<Vec<T>> {
        if self.datatype == T::DATATYPE {
            return self.load();
        }
        let size = self.len().saturating_mul(size_of::<T>() as u64);
        self.limits.charge_memory(size, "an array")?;
        let mut elements = Vec::new();
        elements.try_reserve_exact(to_usize(self.len())?).map_err(|_| Error::limit(format!("no memory for {size} bytes")))?;
        let not_numbers = || Error::usage(format!("elements of {} are no numbers", self.datatype));
        // Said even where there are no elements.
        each_value!(self.datatype, [0u8; 0], |values| drop(values), else return Err(not_numbers()));
        self.for_each_native(|bytes| {
            each_value!(self.datatype, bytes, |values| append(&mut elements, values, &self.datatype), else Err(not_numbers()))
        })?;
        Ok(elements)
    }

    fn expect<T: Element>(&self) -> Result<()> {
        if self.datatype == T::DATATYPE {
            return Ok(());
        }
        let message = format!("the elements are {}, not {}", self.datatype, T::DATATYPE);
        Err(Error::usage(message).hint("load_as converts between numbers"))
    }
}

fn append<T: Element>(elements: &mut Vec<T>, values: impl Iterator<Item = Value>, datatype: &Datatype) -> Result<()> {
    for value in values {
        match T::from_value(value) {
            Some(element) => elements.push(element),
            None => {
                let shown = match value {
                    Value::Int(n) => n.to_string(),
                    Value::Uint(n) => n.to_string(),
                    Value::Float(x) => format!("{x:?}"),
                    Value::Complex(re, im) => format!("{re:?}{im:+?}j"),
                };
                let message =
                    format!("element {} of this {datatype} array is {shown}, which {} cannot hold", elements.len(), T::DATATYPE);
                return Err(Error::usage(message));
            }
        }
    }
    Ok(())
}

/// The first number in packed native bytes; nothing for elements that are no numbers.
#[allow(dead_code)]
pub(super) fn first_value(datatype: &Datatype, bytes: &[u8]) -> Option<Value> {
    each_value!(datatype, bytes, |values| { values }.next(), else None)
}

/// Appends 1 for each element that the mask names, else 0.
pub(super) fn mark(datatype: &Datatype, mask: &Mask, bytes: &[u8], marks: &mut Vec<u8>) -> Result<()> {
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
                Value::Float(x) => x.is_nan(),
                Value::Complex(re, im) => re.is_nan() || im.is_nan(),
                _ => false,
            };
            return each_value!(datatype, bytes, |values| { marks.extend(values.map(|v| u8::from(is_nan(v)))); Ok(()) }, else wrong());
        }
        Mask::Integer(n) if !datatype.is_float() && !datatype.is_complex() => {
            let equals = |value| match value {
                Value::Int(x) => i128::from(x) == n,
                Value::Uint(x) => i128::from(x) == n,
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
        Value::Int(x) => im == 0.0 && <i64 as Element>::from_value(Value::Float(re)) == Some(x),
        Value::Uint(x) => im == 0.0 && <u64 as Element>::from_value(Value::Float(re)) == Some(x),
        Value::Float(x) => im == 0.0 && x == re,
        Value::Complex(a, b) => a == re && b == im,
    };
    each_value!(datatype, bytes, |values| { marks.extend(values.map(|v| u8::from(equals(v)))); Ok(()) }, else wrong())
}
