//! Arrays: what they are, parts of them, and their elements in a program's own memory.

use std::ffi::{CString, c_char, c_void};

use library::array::{ArrayElement, Byteorder, ElementValue, FloatText};
use library::{Array, Datatype, Error, Index, Result};

use crate::cancel::cancelled;
use crate::error::{c_text, call, trilith_error};
use crate::handle::{free, get_ref, handle};
use crate::slices;
use crate::strings::{into_c_string_strict, required_str};

/// The stored elements: records and strings packed, numbers in the byte order of this machine.
pub const TRILITH_STORED: i32 = 0;
/// One byte, 0 or 1.
pub const TRILITH_BOOL8: i32 = 1;
/// int8_t
pub const TRILITH_INT8: i32 = 2;
/// int16_t
pub const TRILITH_INT16: i32 = 3;
/// int32_t
pub const TRILITH_INT32: i32 = 4;
/// int64_t
pub const TRILITH_INT64: i32 = 5;
/// uint8_t
pub const TRILITH_UINT8: i32 = 6;
/// uint16_t
pub const TRILITH_UINT16: i32 = 7;
/// uint32_t
pub const TRILITH_UINT32: i32 = 8;
/// uint64_t
pub const TRILITH_UINT64: i32 = 9;
/// Two bytes, IEEE 754 binary16.
pub const TRILITH_FLOAT16: i32 = 10;
/// float
pub const TRILITH_FLOAT32: i32 = 11;
/// double
pub const TRILITH_FLOAT64: i32 = 12;
/// float complex: real and imaginary part
pub const TRILITH_COMPLEX64: i32 = 13;
/// double complex: real and imaginary part
pub const TRILITH_COMPLEX128: i32 = 14;
/// A record; see trilith_array_field.
pub const TRILITH_RECORD: i32 = 20;
/// Strings of a fixed length; see trilith_array_text.
pub const TRILITH_TEXT_ELEMENTS: i32 = 21;
/// A number that C has no type for, such as float128; read it as TRILITH_FLOAT64 or TRILITH_COMPLEX128.
pub const TRILITH_OTHER: i32 = 22;

/// The end of an axis, or its beginning if the step is negative.
pub const TRILITH_END: i64 = i64::MAX;

handle! {
    /// An array of a file, or a part of one: a description, whose elements are read when they are asked for. Any number of
    /// threads may use one at the same time.
    trilith_array, b"tri:arry", {
        array: Array,
        datatype: CString,
        fields: Vec<CString>,
    }
}

impl trilith_array {
    /// Hands an array over to C.
    pub fn into_raw(array: Array) -> *mut Self {
        let datatype = c_text(array.datatype().name());
        let fields = array.datatype().as_struct().map_or_else(Vec::new, |record| {
            record.fields().iter().enumerate().map(|(at, field)| c_text(&field.name_or(at))).collect()
        });
        Self::into_handle(array, datatype, fields)
    }
}

/// Runs `$do` with the Rust type that a constant names.
macro_rules! with_type {
    (@ $datatype:expr, $T:ident, $do:expr, $other:expr, $($constant:ident $type:ty),+) => {
        match $datatype {
            $($crate::array::$constant => {
                type $T = $type;
                $do
            })+
            _ => $other,
        }
    };
    ($datatype:expr, $T:ident => $do:expr, else $other:expr) => {
        $crate::array::with_type!(
            @ $datatype, $T, $do, $other,
            TRILITH_BOOL8 bool, TRILITH_INT8 i8, TRILITH_INT16 i16, TRILITH_INT32 i32, TRILITH_INT64 i64,
            TRILITH_UINT8 u8, TRILITH_UINT16 u16, TRILITH_UINT32 u32, TRILITH_UINT64 u64,
            TRILITH_FLOAT16 ::half::f16, TRILITH_FLOAT32 f32, TRILITH_FLOAT64 f64,
            TRILITH_COMPLEX64 ::num_complex::Complex<f32>, TRILITH_COMPLEX128 ::num_complex::Complex<f64>
        )
    };
}
pub(crate) use with_type;

/// The error for a number that names no datatype.
pub fn unknown_datatype(datatype: i32) -> Error {
    Error::invalid_input(format!("{datatype} is not the number of a datatype that can be read or written here"))
}

/// The library's datatype of a constant.
pub fn datatype_of(datatype: i32) -> Result<Datatype> {
    with_type!(datatype, T => Ok(T::DATATYPE), else Err(unknown_datatype(datatype)))
}

fn constant_of(datatype: &Datatype) -> i32 {
    match datatype {
        Datatype::Struct(_) => TRILITH_RECORD,
        text if text.is_text() => TRILITH_TEXT_ELEMENTS,
        plain => (TRILITH_BOOL8..=TRILITH_COMPLEX128)
            .find(|constant| datatype_of(*constant).is_ok_and(|known| known == *plain))
            .unwrap_or(TRILITH_OTHER),
    }
}

/// Number of axes; 0 for a single value, and for a handle that is not an array.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_array_ndim(array: *const trilith_array) -> usize {
    // SAFETY: the caller keeps the rules of the header.
    unsafe { get_ref(array) }.map_or(0, |array| array.array.shape().len())
}

/// The length of each axis, in C order: the last varies fastest. It lives as long as the array.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_array_shape(array: *const trilith_array) -> *const u64 {
    // SAFETY: the caller keeps the rules of the header.
    unsafe { get_ref(array) }.map_or(std::ptr::null(), |array| array.array.shape().as_ptr())
}

/// Number of elements.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_array_len(array: *const trilith_array) -> u64 {
    // SAFETY: the caller keeps the rules of the header.
    unsafe { get_ref(array) }.map_or(0, |array| array.array.element_count())
}

/// The datatype of its elements: TRILITH_FLOAT32 and so on; -1 for a handle that is not an array.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_array_datatype(array: *const trilith_array) -> i32 {
    // SAFETY: the caller keeps the rules of the header.
    unsafe { get_ref(array) }.map_or(-1, |array| constant_of(array.array.datatype()))
}

/// The name of the datatype in the ASDF standard: `float32`, `ucs4`, `struct`. It lives as long as the array.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_array_datatype_name(array: *const trilith_array) -> *const c_char {
    // SAFETY: the caller keeps the rules of the header.
    unsafe { get_ref(array) }.map_or(std::ptr::null(), |array| array.datatype.as_ptr())
}

/// Number of bytes of one element in the form TRILITH_STORED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_array_item_size(array: *const trilith_array) -> u64 {
    // SAFETY: the caller keeps the rules of the header.
    unsafe { get_ref(array) }.map_or(0, |array| array.array.datatype().packed_size())
}

/// Returns 1 if some elements may be masked, else 0: see trilith_array_read_mask.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_array_is_masked(array: *const trilith_array) -> i32 {
    // SAFETY: the caller keeps the rules of the header.
    unsafe { get_ref(array) }.map_or(0, |array| i32::from(array.array.mask().is_some()))
}

/// Number of fields of a record; 0 for everything else.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_array_field_count(array: *const trilith_array) -> usize {
    // SAFETY: the caller keeps the rules of the header.
    unsafe { get_ref(array) }.map_or(0, |array| array.fields.len())
}

/// The name of a field, counted from 0, or null if there are fewer. It lives as long as the array.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_array_field_name(array: *const trilith_array, index: usize) -> *const c_char {
    // SAFETY: the caller keeps the rules of the header.
    let name = unsafe { get_ref(array) }.ok().and_then(|array| array.fields.get(index));
    name.map_or(std::ptr::null(), |name| name.as_ptr())
}

/// Returns one field of an array of records, as an array. `outer.inner` is a field of a field.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_array_field(
    array: *const trilith_array,
    name: *const c_char,
    out: *mut *mut trilith_array,
    error: *mut *mut trilith_error,
) -> i32 {
    call!(out, error, trilith_array::into_raw(get_ref(array)?.array.field(required_str(name)?)?))
}

/// Returns a part of an array, with the same number of axes: on each of the first `count` axes from `start` up to but without `stop`, every `step`th. Negative
/// numbers count from the end, TRILITH_END means the end of the axis; `start`, `stop` and `step` may each be null, which
/// means from the beginning, to the end, and each. Nothing is read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_array_slice(
    array: *const trilith_array,
    count: usize,
    start: *const i64,
    stop: *const i64,
    step: *const i64,
    out: *mut *mut trilith_array,
    error: *mut *mut trilith_error,
) -> i32 {
    call!(out, error, {
        let array = get_ref(array)?;
        let axes = |start: *const i64| if start.is_null() { Ok(&[][..]) } else { slices::slice(start, count) };
        let (start, stop, step) = (axes(start)?, axes(stop)?, axes(step)?);
        let bound = |list: &[i64], axis| list.get(axis).copied().filter(|at| *at != TRILITH_END);
        let axes = 0..count.min(array.array.shape().len().saturating_add(1));
        let ranges: Result<Vec<Index>> = axes
            .map(|axis| match step.get(axis).copied().unwrap_or(1) {
                0 => Err(Error::invalid_input(format!("the step of axis {axis} is 0"))),
                step => Ok(Index::Slice { start: bound(start, axis), stop: bound(stop, axis), step }),
            })
            .collect();
        trilith_array::into_raw(array.array.slice(ranges?)?)
    })
}

/// Bytes that are read, converted and handed on at a time.
const BUFFER_SIZE: u64 = 8 << 20;

/// Progress callback: receives the number of bytes read since the last call. Any result but 0 cancels. Any thread may call it, one at
/// a time.
pub type trilith_progress = Option<unsafe extern "C" fn(user: *mut c_void, bytes: u64) -> i32>;

/// Options of a read: the caller's memory, and the progress callback.
struct ReadOptions<'m> {
    out: &'m mut [u8],
    strides: Option<&'m [i64]>,
    progress: trilith_progress,
    user_data: *mut c_void,
}

impl ReadOptions<'_> {
    fn report_progress(&self, bytes: u64) -> Result<()> {
        // SAFETY: the function is the caller's, with the pointer that came with it.
        match self.progress.map(|hear| unsafe { hear(self.user_data, bytes) }) {
            None | Some(0) => Ok(()),
            Some(_) => Err(cancelled()),
        }
    }

    /// The elements of `array`, each `size` bytes long where `encode` has made them.
    fn read_row_blocks(
        self,
        array: &Array,
        size: usize,
        mut encode: impl FnMut(&Array, &mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        let shape = array.shape();
        let walk = ElementPositions::new(shape, self.strides, size, self.out.len())?;
        let mut piece = Vec::new();
        let mut at = walk;
        for part in array.row_blocks(BUFFER_SIZE) {
            piece.clear();
            encode(&part, &mut piece)?;
            at.copy_strided(&piece, size, self.out)?;
            self.report_progress(part.nbytes())?;
        }
        Ok(())
    }
}

/// Places of the elements in the caller's memory, in C order.
struct ElementPositions {
    shape: Vec<u64>,
    /// Bytes from one index to the next; None if the elements are consecutive.
    strides: Option<Vec<usize>>,
    index: Vec<u64>,
    position: usize,
}

impl ElementPositions {
    fn new(shape: &[u64], strides: Option<&[i64]>, size: usize, room: usize) -> Result<Self> {
        let too_small = |needed: u64| Error::invalid_input(format!("{needed} bytes are needed, the memory has {room}"));
        let count = shape.iter().try_fold(1u64, |count, len| count.checked_mul(*len));
        let Some(strides) = strides else {
            let needed = count.and_then(|count| count.checked_mul(size as u64)).unwrap_or(u64::MAX);
            if needed > room as u64 {
                return Err(too_small(needed));
            }
            return Ok(Self { shape: shape.to_vec(), strides: None, index: Vec::new(), position: 0 });
        };
        let mut last = size as u64;
        let mut steps = Vec::with_capacity(strides.len());
        for (len, stride) in shape.iter().zip(strides) {
            let step = u64::try_from(*stride)
                .map_err(|_| Error::invalid_input("a stride is negative; let the pointer begin at the first element"))?;
            let reach = len.saturating_sub(1).checked_mul(step).and_then(|reach| last.checked_add(reach));
            last = reach.ok_or_else(|| too_small(u64::MAX))?;
            steps.push(usize::try_from(step).map_err(|_| too_small(u64::MAX))?);
        }
        if count != Some(0) && last > room as u64 {
            return Err(too_small(last));
        }
        Ok(Self { shape: shape.to_vec(), strides: Some(steps), index: vec![0; shape.len()], position: 0 })
    }

    /// Appends packed elements to those of the last call.
    fn copy_strided(&mut self, packed: &[u8], size: usize, into: &mut [u8]) -> Result<()> {
        let outside = || Error::invalid_input("the memory is too small: an element would be outside of it");
        let Some(strides) = &self.strides else {
            let end = self.position.checked_add(packed.len()).ok_or_else(outside)?;
            into.get_mut(self.position..end).ok_or_else(outside)?.copy_from_slice(packed);
            self.position = end;
            return Ok(());
        };
        for element in packed.chunks_exact(size.max(1)) {
            let end = self.position.checked_add(size).ok_or_else(outside)?;
            into.get_mut(self.position..end).ok_or_else(outside)?.copy_from_slice(element);
            // The next index, the last axis fastest.
            for ((index, len), stride) in self.index.iter_mut().zip(&self.shape).zip(strides).rev() {
                *index += 1;
                self.position = self.position.wrapping_add(*stride);
                if *index < *len {
                    break;
                }
                self.position = self.position.wrapping_sub(stride.wrapping_mul(usize::try_from(*len).unwrap_or(0)));
                *index = 0;
            }
        }
        Ok(())
    }
}

/// The elements of a part as another type, as bytes of this machine.
fn convert<T: ArrayElement>(part: &Array, into: &mut Vec<u8>) -> Result<()> {
    into.extend_from_slice(&T::bytes(&part.load_as::<T>()?));
    Ok(())
}

/// The stored elements of a part, packed, in the byte order of this machine.
fn read_stored(part: &Array, into: &mut Vec<u8>) -> Result<()> {
    *into = part.read_bytes(Byteorder::NATIVE)?;
    Ok(())
}

fn read_as_datatype(array: &Array, datatype: i32, reading: ReadOptions<'_>) -> Result<()> {
    if let Some(strides) = reading.strides
        && strides.len() != array.shape().len()
    {
        return Err(Error::invalid_input(format!("{} strides for {} axes", strides.len(), array.shape().len())));
    }
    if datatype == TRILITH_STORED {
        let size =
            usize::try_from(array.datatype().packed_size()).map_err(|_| Error::unsupported("an element larger than memory"))?;
        return reading.read_row_blocks(array, size, read_stored);
    }
    // Elements that need no conversion are copied unchanged.
    if datatype_of(datatype)? == *array.datatype() {
        let size = usize::try_from(array.datatype().item_size()).unwrap_or(0);
        return reading.read_row_blocks(array, size, read_stored);
    }
    with_type!(datatype, T => reading.read_row_blocks(array, size_of::<T>(), convert::<T>), else Err(unknown_datatype(datatype)))
}

/// Reads all elements into `buffer`, which has `size` bytes, in the byte order of this machine. `datatype` is that
/// of the memory: whole numbers must fit exactly, floats are rounded; TRILITH_STORED takes the elements as they are
/// stored. `strides` are the bytes from one index to the next on each axis, none negative; null means C order
/// without gaps. Memory between the elements is not changed. Masked elements get the value under the mask.
///
/// `hear`, which may be null, receives the progress and can cancel. If the call fails, the memory may hold some of
/// the elements.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_array_read(
    array: *const trilith_array,
    datatype: i32,
    buffer: *mut c_void,
    size: usize,
    strides: *const i64,
    hear: trilith_progress,
    user: *mut c_void,
    error: *mut *mut trilith_error,
) -> i32 {
    call!(error, {
        let array = &get_ref(array)?.array;
        let axes = array.shape().len();
        let strides = if strides.is_null() { None } else { Some(slices::slice(strides, axes)?) };
        read_as_datatype(
            array,
            datatype,
            ReadOptions { out: slices::bytes_mut(buffer, size)?, strides, progress: hear, user_data: user },
        )
    })
}

/// Reads the mask into `size` bytes, one for each element in C order: 1 if the element is masked, else 0. An array
/// without a mask gives zeros.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_array_read_mask(
    array: *const trilith_array,
    buffer: *mut u8,
    size: usize,
    error: *mut *mut trilith_error,
) -> i32 {
    call!(error, {
        let array = &get_ref(array)?.array;
        let into = slices::bytes_mut(buffer.cast(), size)?;
        let room = into.len();
        let into = usize::try_from(array.element_count())
            .ok()
            .and_then(|count| into.get_mut(..count))
            .ok_or_else(|| Error::invalid_input(format!("{} bytes are needed, the memory has {room}", array.element_count())))?;
        match array.mask_bytes()? {
            Some(mask) if mask.len() == into.len() => into.copy_from_slice(&mask),
            Some(mask) => return Err(Error::invalid_input(format!("a mask of {} elements", mask.len()))),
            None => into.fill(0),
        }
        Ok(())
    })
}

/// Returns one element as a string, by its number in C order: strings decoded, numbers in decimal, records as JSON. Free it with
/// trilith_string_free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_array_text(
    array: *const trilith_array,
    index: u64,
    out: *mut *mut c_char,
    error: *mut *mut trilith_error,
) -> i32 {
    call!(out, error, {
        let array = &get_ref(array)?.array;
        if index >= array.element_count() {
            return Err(Error::invalid_input(format!("element {index} of an array of {}", array.element_count())));
        }
        let mut left = index;
        let mut place: Vec<u64> = array
            .shape()
            .iter()
            .rev()
            .map(|len| {
                let at = left % len.max(&1);
                left /= len.max(&1);
                at
            })
            .collect();
        place.reverse();
        let text = match array.element(&place)? {
            ElementValue::Text(text) => text,
            other => other.json(FloatText::Shortest),
        };
        into_c_string_strict(&text)?
    })
}

/// Frees an array. Null is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_array_free(array: *mut trilith_array) {
    // SAFETY: the caller keeps the rules of the header.
    unsafe { free(array) }
}
