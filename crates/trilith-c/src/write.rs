//! Writing a new file.

use std::ffi::{c_char, c_void};
use std::sync::Arc;

use library::array::{ArrayElement, Byteorder, Mask};
use library::bytes::MemorySource;
use library::{Array, Datatype, Error, Result};

use crate::array::{datatype_of, unknown_datatype, with_type};
use crate::error::{call, trilith_error};
use crate::handle::{free, get_mut, handle};
use crate::slices;
use crate::strings::{optional_str, parse_yaml_arg, required_str};

handle! {
    /// A file that is being put together. One thread at a time.
    trilith_writer, b"tri:writ", {
        /// `None` after the file was written.
        writer: Option<library::AsdfWriter<'static>>,
    }
}

fn require_writer(held: &mut trilith_writer) -> Result<&mut library::AsdfWriter<'static>> {
    held.writer.as_mut().ok_or_else(|| Error::invalid_input("this file was written already"))
}

/// Begins a file of a generation such as `asdf-1.5` or `finf-0.1`; null means the newest standard.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_writer_new(
    generation: *const c_char,
    out: *mut *mut trilith_writer,
    error: *mut *mut trilith_error,
) -> i32 {
    call!(out, error, {
        let writer = match optional_str(generation)? {
            Some(name) => library::AsdfWriter::generation(name)?,
            None => library::AsdfWriter::new(),
        };
        trilith_writer::into_handle(Some(writer))
    })
}

/// Compresses the arrays that are added from now on: `lz4`, `zlib`, `bzp2`, `zstd`, `blsc`, or `none`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_writer_codec(
    writer: *mut trilith_writer,
    codec: *const c_char,
    error: *mut *mut trilith_error,
) -> i32 {
    call!(error, {
        let (held, codec) = (get_mut(writer)?, required_str(codec)?);
        // The codec is known before the writer is taken apart.
        if codec != "none" {
            library::ArrayOptions::codec(codec)?;
        }
        let writer = held.writer.take().ok_or_else(|| Error::invalid_input("this file was written already"))?;
        held.writer = Some(writer.codec(codec)?);
        Ok(())
    })
}

/// Sets an integer at a path such as `/meta/count`. Missing mappings are added.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_writer_int(
    held: *mut trilith_writer,
    path: *const c_char,
    value: i64,
    error: *mut *mut trilith_error,
) -> i32 {
    call!(error, require_writer(get_mut(held)?)?.set(required_str(path)?, &value))
}

/// Sets a number at a path.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_writer_double(
    held: *mut trilith_writer,
    path: *const c_char,
    value: f64,
    error: *mut *mut trilith_error,
) -> i32 {
    call!(error, require_writer(get_mut(held)?)?.set(required_str(path)?, &value))
}

/// Sets a boolean at a path. Every number but 0 is true.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_writer_bool(
    held: *mut trilith_writer,
    path: *const c_char,
    value: i32,
    error: *mut *mut trilith_error,
) -> i32 {
    call!(error, require_writer(get_mut(held)?)?.set(required_str(path)?, &(value != 0)))
}

/// Sets a string at a path.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_writer_text(
    held: *mut trilith_writer,
    path: *const c_char,
    value: *const c_char,
    error: *mut *mut trilith_error,
) -> i32 {
    call!(error, require_writer(get_mut(held)?)?.set(required_str(path)?, required_str(value)?))
}

/// Sets the value of a YAML text at a path: a mapping, a list, or any value without explicit tags.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_writer_yaml(
    held: *mut trilith_writer,
    path: *const c_char,
    yaml: *const c_char,
    error: *mut *mut trilith_error,
) -> i32 {
    call!(error, require_writer(get_mut(held)?)?.value(required_str(path)?, parse_yaml_arg(yaml)?))
}

/// A description of a program's array.
pub struct CallerArray<'m> {
    pub datatype: i32,
    pub shape: &'m [u64],
    pub data: *const c_void,
    pub mask: *const u8,
}

impl CallerArray<'_> {
    fn element_count(&self) -> Result<usize> {
        let count = self.shape.iter().try_fold(1u64, |count, len| count.checked_mul(*len));
        count
            .and_then(|count| usize::try_from(count).ok())
            .ok_or_else(|| Error::invalid_input("more elements than memory can have"))
    }

    /// Returns the elements in their place.
    ///
    /// # Safety
    /// `data` points to the elements of the shape, which do not change during `'a`.
    unsafe fn as_elements<'a, T: ArrayElement>(&self) -> Result<&'a [T]> {
        // SAFETY: as the caller promises; `list` checks that they are aligned.
        unsafe { slices::slice(self.data.cast::<T>(), self.element_count()?) }
    }

    /// A copy.
    ///
    /// # Safety
    /// `data`, and `mask` where it is not null, point to as many elements as the shape has.
    pub unsafe fn copy_array(&self) -> Result<Array> {
        let datatype = datatype_of(self.datatype)?;
        let size = usize::try_from(datatype.item_size()).unwrap_or(0).checked_mul(self.element_count()?);
        let size = size.ok_or_else(|| Error::invalid_input("more bytes than memory can have"))?;
        // SAFETY: as the caller promises.
        let bytes = unsafe { slices::bytes(self.data, size) }?;
        let array = in_memory(bytes, datatype, self.shape)?;
        if self.mask.is_null() {
            return Ok(array);
        }
        // SAFETY: as the caller promises.
        let mask = unsafe { slices::bytes(self.mask.cast(), self.element_count()?) }?;
        let mask: Vec<u8> = mask.iter().map(|byte| u8::from(*byte != 0)).collect();
        array.with_mask(Mask::Array(Arc::new(in_memory(&mask, Datatype::Bool8, self.shape)?)))
    }
}

fn in_memory(bytes: &[u8], datatype: Datatype, shape: &[u64]) -> Result<Array> {
    Array::new(Arc::new(MemorySource::copy_of(bytes, "memory")), 0, datatype, Byteorder::NATIVE, shape.to_vec())
}

/// Adds an array in C order at a path. `datatype` is that of its elements, TRILITH_FLOAT32 and so on; `shape` has `ndim` lengths.
///
/// Without a mask the elements are not copied: they must stay unchanged until trilith_writer_write or trilith_writer_free. `mask`
/// may be null. Otherwise it has one byte for each element, a byte other than 0 masks its element, and everything is copied.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_writer_array(
    held: *mut trilith_writer,
    path: *const c_char,
    datatype: i32,
    ndim: usize,
    shape: *const u64,
    data: *const c_void,
    mask: *const u8,
    error: *mut *mut trilith_error,
) -> i32 {
    call!(error, {
        let (writer, path) = (require_writer(get_mut(held)?)?, required_str(path)?);
        let given = CallerArray { datatype, shape: slices::slice(shape, ndim)?, data, mask };
        if !mask.is_null() || datatype == crate::array::TRILITH_BOOL8 {
            // Bytes that are neither 0 nor 1 are not booleans in Rust: they are copied, not borrowed.
            return writer.array(path, &given.copy_array()?);
        }
        with_type!(datatype, T => writer.slice::<T>(path, given.as_elements::<T>()?, given.shape), else Err(unknown_datatype(datatype)))
    })
}

/// Writes a file next to `path`, syncs it, and renames it: a failure leaves the old file unchanged. After that the writer can only be
/// freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_writer_write(
    held: *mut trilith_writer,
    path: *const c_char,
    error: *mut *mut trilith_error,
) -> i32 {
    call!(error, {
        let (held, path) = (get_mut(held)?, required_str(path)?);
        held.writer.take().ok_or_else(|| Error::invalid_input("this file was written already"))?.write(path)
    })
}

/// Frees a writer. Null is allowed. Unwritten data are lost.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_writer_free(writer: *mut trilith_writer) {
    // SAFETY: the caller keeps the rules of the header.
    unsafe { free(writer) }
}
