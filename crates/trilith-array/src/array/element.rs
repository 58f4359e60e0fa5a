//! Rust types that hold one element: [`ArrayElement`].

use std::borrow::Cow;

use half::f16;
use num_complex::Complex;

use super::datatype::{Byteorder, Datatype};
use super::handle::Array;
use crate::error::{Error, Result};

mod sealed {
    #[expect(unnameable_types, reason = "the trait `Element` is sealed")]
    pub trait SealedElement {}
}

/// A Rust type that holds one element: `i8` … `u64`, [`half::f16`], `f32`, `f64`,
/// [`Complex`] of the floats, and `bool`.
pub trait ArrayElement: Copy + Default + PartialEq + Send + Sync + 'static + sealed::SealedElement {
    /// The datatype that it holds exactly.
    const DATATYPE: Datatype;

    /// `true` if every pattern of bits is one.
    #[doc(hidden)]
    const ANY_BITS_VALID: bool = true;

    /// The elements' bytes, in the byte order of this machine.
    #[doc(hidden)]
    fn bytes(elements: &[Self]) -> Cow<'_, [u8]>;

    /// Memory for this many elements.
    #[doc(hidden)]
    fn zeroed(count: usize) -> Result<Vec<Self>>;

    /// The elements that these bytes of this machine's byte order are, copied; None if not every pattern is one.
    #[doc(hidden)]
    fn copied(bytes: &[u8]) -> Option<Vec<Self>>;

    /// Reads all elements of an array of this very datatype.
    #[doc(hidden)]
    fn read(array: &Array, into: &mut [Self]) -> Result<()>;

    /// The elements where they are, if every pattern of bits is one and they are aligned.
    #[doc(hidden)]
    fn view(bytes: &[u8]) -> Option<&[Self]>;

    /// [`Element::view`] to write to.
    #[doc(hidden)]
    fn view_mut(bytes: &mut [u8]) -> Option<&mut [Self]>;

    /// Returns the number as this type, if the type has it (floats: the nearest).
    #[doc(hidden)]
    fn from_value(value: NumericValue) -> Option<Self>;
}

/// A number on its way from one type to another.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum NumericValue {
    Int(i64),
    Uint(u64),
    Float(f64),
    Complex(f64, f64),
}

macro_rules! plain {
    ($($type:ty, $datatype:ident, |$value:ident| $convert:expr;)+) => {$(
        impl sealed::SealedElement for $type {}

        impl ArrayElement for $type {
            const DATATYPE: Datatype = Datatype::$datatype;

            fn bytes(elements: &[Self]) -> Cow<'_, [u8]> {
                Cow::Borrowed(bytemuck::cast_slice(elements))
            }

            fn zeroed(count: usize) -> Result<Vec<Self>> {
                bytemuck::allocation::try_zeroed_vec(count)
                    .map_err(|()| Error::limit(format!("no memory for {count} elements")))
            }

            fn copied(bytes: &[u8]) -> Option<Vec<Self>> {
                Some(match bytemuck::try_cast_slice(bytes) {
                    Ok(aligned) => aligned.to_vec(),
                    Err(_) => bytes.chunks_exact(size_of::<Self>()).map(bytemuck::pod_read_unaligned).collect(),
                })
            }

            fn read(array: &Array, into: &mut [Self]) -> Result<()> {
                array.read_bytes_into(bytemuck::cast_slice_mut(into), Byteorder::NATIVE)
            }

            fn view(bytes: &[u8]) -> Option<&[Self]> {
                bytemuck::try_cast_slice(bytes).ok()
            }

            fn view_mut(bytes: &mut [u8]) -> Option<&mut [Self]> {
                bytemuck::try_cast_slice_mut(bytes).ok()
            }

            #[inline]
            fn from_value($value: NumericValue) -> Option<Self> {
                $convert
            }
        }
    )+};
}

macro_rules! whole {
    ($type:ty, $value:expr) => {
        match $value {
            NumericValue::Int(n) => <$type>::try_from(n).ok(),
            NumericValue::Uint(n) => <$type>::try_from(n).ok(),
            NumericValue::Float(x) => {
                // The power of two after the largest number is exact as a double; the number itself may not be.
                const UPPER_BOUND: f64 = (<$type>::MAX / 2 + 1) as f64 * 2.0;
                (x >= <$type>::MIN as f64 && x < UPPER_BOUND && x.trunc() == x).then_some(x as $type)
            }
            NumericValue::Complex(..) => None,
        }
    };
}

/// The nearest double of a real number.
#[inline]
fn value_to_f64(value: NumericValue) -> Option<f64> {
    match value {
        NumericValue::Int(n) => Some(n as f64),
        NumericValue::Uint(n) => Some(n as f64),
        NumericValue::Float(x) => Some(x),
        NumericValue::Complex(..) => None,
    }
}

/// The nearest pair of doubles.
#[inline]
pub(super) fn value_to_complex_pair(value: NumericValue) -> (f64, f64) {
    match value {
        NumericValue::Complex(re, im) => (re, im),
        other => (value_to_f64(other).unwrap_or(f64::NAN), 0.0),
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
    f16, Float16, |v| value_to_f64(v).map(f16::from_f64);
    f32, Float32, |v| match v {
        // An integer does not go through a double, which could round twice.
        NumericValue::Int(n) => Some(n as f32),
        NumericValue::Uint(n) => Some(n as f32),
        other => value_to_f64(other).map(|x| x as f32),
    };
    f64, Float64, |v| value_to_f64(v);
    Complex<f16>, Complex32, |v| Some(Complex::new(f16::from_f64(value_to_complex_pair(v).0), f16::from_f64(value_to_complex_pair(v).1)));
    Complex<f32>, Complex64, |v| Some(Complex::new(value_to_complex_pair(v).0 as f32, value_to_complex_pair(v).1 as f32));
    Complex<f64>, Complex128, |v| Some(Complex::new(value_to_complex_pair(v).0, value_to_complex_pair(v).1));
}

impl sealed::SealedElement for bool {}

impl ArrayElement for bool {
    const DATATYPE: Datatype = Datatype::Bool8;
    const ANY_BITS_VALID: bool = false;

    fn bytes(elements: &[Self]) -> Cow<'_, [u8]> {
        Cow::Owned(elements.iter().map(|x| u8::from(*x)).collect())
    }

    fn zeroed(count: usize) -> Result<Vec<Self>> {
        Ok(vec![false; count])
    }

    fn copied(_: &[u8]) -> Option<Vec<Self>> {
        None
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

    fn view_mut(_: &mut [u8]) -> Option<&mut [Self]> {
        None
    }

    fn from_value(value: NumericValue) -> Option<Self> {
        match value {
            NumericValue::Int(0) | NumericValue::Uint(0) => Some(false),
            NumericValue::Int(1) | NumericValue::Uint(1) => Some(true),
            NumericValue::Float(x) if x == 0.0 || x == 1.0 => Some(x == 1.0),
            _ => None,
        }
    }
}
