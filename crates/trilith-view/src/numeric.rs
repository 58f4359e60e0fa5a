//! The numbers of an array in runs, on all threads: what everything here is computed from.

use std::sync::atomic::{AtomicBool, Ordering};

use trilith::array::{Byteorder, Datatype};
use trilith::bytes::to_usize;
use trilith::interrupt::check;
use trilith::num_complex::Complex;
use trilith::{Array, Error, Result};
use trilith_io::threads::map_parallel;

/// Bytes that are read at once: a codec decodes several pieces of them at the same time.
const READ_SIZE: usize = 16 << 20;
/// Bytes of a run, independent of the number of threads, so that an array always has the same runs.
const RUN_SIZE: usize = 2 << 20;
/// Maximum number of decoded bytes that are kept for a second pass.
const MAX_IN_MEMORY: u64 = 128 << 20;

/// A type of numbers that arrays are looked at as.
pub(crate) trait Sample: Copy + PartialOrd + Send + Sync + 'static {
    /// Bits of a key.
    const KEY_BITS: u32;
    /// `true` if there are numbers that are none, or infinite.
    const CAN_BE_NON_FINITE: bool = false;

    /// The numbers in native bytes.
    fn from_bytes(bytes: &[u8]) -> impl ExactSizeIterator<Item = Self> + '_;

    /// The nearest double.
    fn to_double(self) -> f64;

    /// Two doubles whose sum is the number exactly.
    fn to_doubles(self) -> (f64, f64) {
        (self.to_double(), 0.0)
    }

    /// The nearest number of this type.
    fn from_double(x: f64) -> Self;

    /// The distance from another number, rounded once.
    fn distance_from(self, other: Self) -> f64;

    /// Returns `true` if it is finite.
    fn is_finite(self) -> bool {
        true
    }

    /// Returns `true` if it is not a number.
    fn is_nan(self) -> bool {
        false
    }

    /// A whole number in the same order as the numbers.
    fn sort_key(self) -> u64;

    /// The number of a key.
    fn from_sort_key(key: u64) -> Self;

    /// The number itself, for a report.
    fn to_number(self) -> crate::ExactNumber;

    /// Returns the mean of two numbers, with the precision that numpy's median of this type has.
    fn midpoint(a: Self, b: Self) -> f64 {
        (a.to_double() + b.to_double()) / 2.0
    }
}

macro_rules! whole {
    ($($type:ty, $bits:literal, $flip:expr, $unsigned:ty;)+) => {$(
        impl Sample for $type {
            const KEY_BITS: u32 = $bits;

            fn from_bytes(bytes: &[u8]) -> impl ExactSizeIterator<Item = Self> + '_ {
                bytes.as_chunks::<{ size_of::<$type>() }>().0.iter().map(|bytes| <$type>::from_ne_bytes(*bytes))
            }

            #[inline]
            fn to_double(self) -> f64 {
                self as f64
            }

            fn to_doubles(self) -> (f64, f64) {
                let high = self as f64;
                (high, (i128::from(self) - high as i128) as f64)
            }

            fn from_double(x: f64) -> Self {
                x.round() as $type
            }

            #[inline]
            fn distance_from(self, other: Self) -> f64 {
                let distance = self.abs_diff(other) as f64;
                if self < other { -distance } else { distance }
            }

            #[inline]
            fn sort_key(self) -> u64 {
                u64::from(self as $unsigned ^ $flip)
            }

            fn from_sort_key(key: u64) -> Self {
                (key as $unsigned ^ $flip) as $type
            }

            fn to_number(self) -> crate::ExactNumber {
                crate::ExactNumber::Integer(i128::from(self))
            }
        }
    )+};
}

whole! {
    i8, 8, 1 << 7, u8;
    i16, 16, 1 << 15, u16;
    i32, 32, 1 << 31, u32;
    i64, 64, 1 << 63, u64;
    u8, 8, 0, u8;
    u16, 16, 0, u16;
    u32, 32, 0, u32;
    u64, 64, 0, u64;
}

macro_rules! float {
    ($($type:ty, $bits:literal, $unsigned:ty;)+) => {$(
        impl Sample for $type {
            const KEY_BITS: u32 = $bits;
            const CAN_BE_NON_FINITE: bool = true;

            fn from_bytes(bytes: &[u8]) -> impl ExactSizeIterator<Item = Self> + '_ {
                bytes.as_chunks::<{ size_of::<$type>() }>().0.iter().map(|bytes| <$type>::from_ne_bytes(*bytes))
            }

            #[inline]
            fn to_double(self) -> f64 {
                self.into()
            }

            fn from_double(x: f64) -> Self {
                x as $type
            }

            #[inline]
            fn distance_from(self, other: Self) -> f64 {
                f64::from(self) - f64::from(other)
            }

            #[inline]
            fn is_finite(self) -> bool {
                self.is_finite()
            }

            #[inline]
            fn is_nan(self) -> bool {
                self.is_nan()
            }

            #[inline]
            fn sort_key(self) -> u64 {
                // Negative numbers count downwards in their bits, positive ones upwards from the middle.
                let bits = self.to_bits();
                let sign = 1 << ($bits - 1);
                u64::from(if bits & sign == 0 { bits | sign } else { !bits })
            }

            fn from_sort_key(key: u64) -> Self {
                let sign = 1 << ($bits - 1);
                let key = key as $unsigned;
                Self::from_bits(if key & sign == 0 { !key } else { key ^ sign })
            }

            fn to_number(self) -> crate::ExactNumber {
                crate::ExactNumber::Float(self.into())
            }

            fn midpoint(a: Self, b: Self) -> f64 {
                f64::from((a + b) / 2.0)
            }
        }
    )+};
}

float! {
    f32, 32, u32;
    f64, 64, u64;
}

/// Runs `$body` with `$type`, the type of the numbers that [`NumericArray`] gives.
macro_rules! with_type {
    ($numbers:expr, |$type:ident| $body:expr) => {{
        macro_rules! of {
            ($to:ty) => {{
                type $type = $to;
                $body
            }};
        }
        match $numbers.kind() {
            $crate::numeric::NumericKind::I8 => of!(i8),
            $crate::numeric::NumericKind::I16 => of!(i16),
            $crate::numeric::NumericKind::I32 => of!(i32),
            $crate::numeric::NumericKind::I64 => of!(i64),
            $crate::numeric::NumericKind::U8 => of!(u8),
            $crate::numeric::NumericKind::U16 => of!(u16),
            $crate::numeric::NumericKind::U32 => of!(u32),
            $crate::numeric::NumericKind::U64 => of!(u64),
            $crate::numeric::NumericKind::F32 => of!(f32),
            $crate::numeric::NumericKind::F64 => of!(f64),
        }
    }};
}
pub(crate) use with_type;

/// The type in which the numbers of an array are seen: booleans are 0 and 1, halves are singles, float128 are
/// doubles, and a complex number is its magnitude.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NumericKind {
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F32,
    F64,
}

impl NumericKind {
    fn from_datatype(datatype: &Datatype) -> Option<Self> {
        Some(match datatype {
            Datatype::Int8 => Self::I8,
            Datatype::Int16 => Self::I16,
            Datatype::Int32 => Self::I32,
            Datatype::Int64 => Self::I64,
            Datatype::Uint8 | Datatype::Bool8 => Self::U8,
            Datatype::Uint16 => Self::U16,
            Datatype::Uint32 => Self::U32,
            Datatype::Uint64 => Self::U64,
            Datatype::Float16 | Datatype::Float32 => Self::F32,
            plain if plain.is_float() || plain.is_complex() => Self::F64,
            _ => return None,
        })
    }
}

/// Returns `true` if elements of this datatype can be looked at as numbers.
pub fn is_numeric(datatype: &Datatype) -> bool {
    NumericKind::from_datatype(datatype).is_some()
}

/// An array of numbers.
#[derive(Debug)]
pub(crate) struct NumericArray {
    array: Array,
    kind: NumericKind,
    /// A pass over the numbers has begun.
    has_begun: AtomicBool,
}

/// Consecutive numbers in C order.
pub(crate) struct ElementRun<'a> {
    /// The place of the first one among all.
    pub(crate) start: u64,
    /// The numbers, in the byte order of this machine.
    pub(crate) bytes: &'a [u8],
    /// A byte for each: other than 0 if it is masked. Empty if there is no mask.
    pub(crate) mask: &'a [u8],
}

impl ElementRun<'_> {
    /// Counts the numbers that are finite and not masked.
    pub(crate) fn count_finite<T: Sample>(&self) -> usize {
        if self.mask.is_empty() {
            T::from_bytes(self.bytes).filter(|number| number.is_finite()).count()
        } else {
            self.unmasked_samples::<T>().filter(|(_, number)| number.is_finite()).count()
        }
    }

    /// The numbers that are not masked, with their places among all.
    pub(crate) fn unmasked_samples<T: Sample>(&self) -> impl Iterator<Item = (u64, T)> + '_ {
        let masks = self.mask.iter().copied().chain(std::iter::repeat(0));
        (self.start..).zip(T::from_bytes(self.bytes)).zip(masks).filter(|(_, mask)| *mask == 0).map(|(number, _)| number)
    }
}

impl NumericArray {
    /// The array, if its elements are numbers.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](trilith::ErrorKind::InvalidInput) if they are not.
    pub(crate) fn new(array: &Array) -> Result<Self> {
        let kind = NumericKind::from_datatype(array.datatype())
            .ok_or_else(|| Error::invalid_input(format!("elements of {} are not numbers", short_name(array.datatype()))))?;
        Ok(Self { array: array.clone(), kind, has_begun: AtomicBool::new(false) })
    }

    /// Returns the type of its numbers.
    pub(crate) fn kind(&self) -> NumericKind {
        self.kind
    }

    /// Returns the number of elements.
    pub(crate) fn len(&self) -> u64 {
        self.array.element_count()
    }

    /// Returns `true` if some may be masked.
    pub(crate) fn is_masked(&self) -> bool {
        self.array.mask().is_some()
    }

    /// The lengths of the axes.
    pub(crate) fn shape(&self) -> &[u64] {
        self.array.shape()
    }

    /// Returns the numbers prepared for several looks, like [`cache_small_array`].
    ///
    /// # Errors
    /// Returns an error if the array cannot be read.
    pub(crate) fn in_memory(self) -> Result<Self> {
        Ok(Self { array: cache_small_array(&self.array)?, ..self })
    }

    /// Gives all numbers in runs to `work`, on several threads, and what it makes of them to `take`, in order.
    /// Bytes count once towards the limit `work`, in the first pass.
    ///
    /// # Errors
    /// Returns an error if the array cannot be read, and the errors of `work` and `take`.
    pub(crate) fn for_each_run<R: Send>(
        &self,
        work: &(dyn Fn(&ElementRun<'_>) -> Result<R> + Sync),
        take: &mut dyn FnMut(R) -> Result<()>,
    ) -> Result<()> {
        if self.has_begun.swap(true, Ordering::Relaxed) {
            self.array.limits().discount_pass(self.array.nbytes());
        }
        let item = to_usize(self.array.datatype().packed_size().max(1))?;
        let mut at = 0u64;
        let mut share = |bytes: &[u8], mask: &[u8]| -> Result<()> {
            check()?;
            let most = (RUN_SIZE / item).max(1);
            let masks = mask.chunks(most).chain(std::iter::repeat(&[][..]));
            let (starts, parts) = ((at..).step_by(most), bytes.chunks(most * item));
            let jobs: Vec<_> = starts.zip(parts).zip(masks).collect();
            at += (bytes.len() / item) as u64;
            let done = map_parallel(jobs, |((start, bytes), mask)| {
                self.as_kind(bytes, &|bytes| work(&ElementRun { start, bytes, mask }))
            })?;
            done.into_iter().try_for_each(&mut *take)
        };
        if self.array.mask().is_none() {
            let size = (READ_SIZE / item).max(1) * item;
            return self.array.for_each_piece_in(Byteorder::NATIVE, size, &mut |bytes| share(bytes, &[]));
        }
        for block in self.array.row_blocks(READ_SIZE as u64) {
            // A mask by value looks at the elements: they are read once.
            let block = block.to_memory(Byteorder::NATIVE)?;
            let mask = block.mask_bytes()?.unwrap_or_default();
            let bytes = block.source().view(block.offset(), block.nbytes()).unwrap_or_default();
            share(bytes, &mask)?;
        }
        Ok(())
    }

    /// The native bytes of elements as those of [`NumericArray::kind`].
    fn as_kind<R>(&self, bytes: &[u8], work: &dyn Fn(&[u8]) -> Result<R>) -> Result<R> {
        let datatype = self.array.datatype();
        let copy = || {
            let count = bytes.len() as u64 / datatype.packed_size().max(1);
            Array::from_bytes(bytes.to_vec(), datatype.clone(), Byteorder::NATIVE, vec![count])
        };
        match datatype {
            Datatype::Float16 => work(bytemuck::cast_slice(&copy()?.load_as::<f32>()?)),
            Datatype::Float128 => work(bytemuck::cast_slice(&copy()?.load_as::<f64>()?)),
            complex if complex.is_complex() => {
                let sizes: Vec<f64> = copy()?.load_as::<Complex<f64>>()?.into_iter().map(Complex::norm).collect();
                work(bytemuck::cast_slice(&sizes))
            }
            _ => work(bytes),
        }
    }
}

/// An array for several looks: what must be read or decoded is, once, and kept in memory if it is not more than 128 MiB.
///
/// # Errors
/// Returns the errors of reading.
pub fn cache_small_array(array: &Array) -> Result<Array> {
    let extent = array.byte_range();
    let is_there = array.source().view(extent.start, extent.end - extent.start).is_some();
    if is_there || array.nbytes() > MAX_IN_MEMORY { Ok(array.clone()) } else { array.to_memory(Byteorder::NATIVE) }
}

/// A datatype for a message: that of a structured array may have a thousand fields.
fn short_name(datatype: &Datatype) -> String {
    match datatype.as_struct() {
        Some(fields) => format!("a structure of {}", trilith_io::error::count_noun(fields.fields().len(), "field")),
        None => datatype.to_string(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]

    use proptest::prelude::*;

    use super::*;

    fn keys_keep_order<T: Sample + std::fmt::Debug>(a: T, b: T) {
        assert_eq!(T::from_sort_key(a.sort_key()).sort_key(), a.sort_key());
        assert!(T::KEY_BITS == 64 || a.sort_key() >> T::KEY_BITS == 0);
        if a < b {
            assert!(a.sort_key() < b.sort_key(), "{a:?} {b:?}");
        }
    }

    /// First tier.
    #[test]
    fn several_passes_count_bytes_once() {
        let mut limits = trilith::Limits::default();
        limits.work = 1000;
        let limits = std::sync::Arc::new(limits.for_command(0));
        for in_memory in [false, true] {
            let array = Array::from_slice(&[1u64; 50], &[50]).unwrap().with_limits(limits.clone());
            let numbers = NumericArray::new(&array).unwrap();
            let numbers =
                if in_memory { NumericArray { array: array.to_memory(Byteorder::NATIVE).unwrap(), ..numbers } } else { numbers };
            for _ in 0..5 {
                let mut counts = Vec::new();
                let mut take = |count| {
                    counts.push(count);
                    Ok(())
                };
                numbers.for_each_run(&|run| Ok(run.count_finite::<u64>()), &mut take).unwrap();
                assert_eq!(counts, [50]);
            }
        }
        assert!(limits.charge_work(200).is_ok() && limits.charge_work(1).is_err());
    }

    proptest! {
        #[test]
        fn keys_keep_number_order(a: i64, b: i64, x: f64, y: f64) {
            keys_keep_order(a, b);
            keys_keep_order(a as u64, b as u64);
            keys_keep_order(a as i8, b as i8);
            keys_keep_order(a as i16, b as i16);
            keys_keep_order(a as u16, b as u16);
            keys_keep_order(a as i32, b as i32);
            keys_keep_order(a as u32, b as u32);
            keys_keep_order(x, y);
            keys_keep_order(x as f32, y as f32);
        }
    }
}
