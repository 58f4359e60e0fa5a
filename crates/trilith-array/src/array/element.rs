//! Rust types that hold one element: [`Element`].

use std::borrow::Cow;

use half::f16;
use num_complex::Complex;

use super::datatype::{Byteorder, Datatype};
use super::handle::Array;
use crate::error::{Error, Result};

mod sealed {
    #[expect(unnameable_types, reason = "the trait `Element` is sealed")]
    pub trait Sealed {}
}

/// A Rust type that holds one element: `i8` … `u64`, [`half::f16`], `f32`, `f64`,
/// [`Complex`] of the floats, and `bool`.
pub trait Element: Copy + Default + PartialEq + Send + Sync + 'static + sealed::Sealed {
    /// The datatype that it holds exactly.
    const DATATYPE: Datatype;

    /// `true` if every pattern of bits is one.
    #[doc(hidden)]
    const PLAIN: bool = true;

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
    fn from_value(value: Value) -> Option<Self>;
}

/// A number on its way from one type to another.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
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
                // The power of two after the largest number is exact as a double; the number itself may not be.
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
pub(super) fn pair(value: Value) -> (f64, f64) {
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
        // An integer does not go through a double, which could round twice.
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
    const PLAIN: bool = false;

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

    fn from_value(value: Value) -> Option<Self> {
        match value {
            Value::Int(0) | Value::Uint(0) => Some(false),
            Value::Int(1) | Value::Uint(1) => Some(true),
            Value::Float(x) if x == 0.0 || x == 1.0 => Some(x == 1.0),
            _ => None,
        }
    }
}
