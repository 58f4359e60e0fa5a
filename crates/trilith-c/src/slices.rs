//! Memory that C lends for a call.

use std::ffi::c_void;

use library::{Error, Result};

fn null_pointer_error() -> Error {
    Error::invalid_input("a null pointer in place of memory")
}

fn too_large() -> Error {
    Error::invalid_input("memory of more bytes than a program can have")
}

/// Returns bytes to read from.
///
/// # Safety
/// `start` points to `size` bytes that do not change during `'a`; null is right for none.
pub unsafe fn bytes<'a>(start: *const c_void, size: usize) -> Result<&'a [u8]> {
    match (start.is_null(), size) {
        (_, 0) => Ok(&[]),
        (true, _) => Err(null_pointer_error()),
        (_, size) if isize::try_from(size).is_err() => Err(too_large()),
        // SAFETY: not null, no larger than memory can be, and as the caller promises.
        _ => Ok(unsafe { std::slice::from_raw_parts(start.cast(), size) }),
    }
}

/// Returns bytes to write to.
///
/// # Safety
/// `start` points to `size` bytes that are used for nothing else during `'a`; null is right for none.
pub unsafe fn bytes_mut<'a>(start: *mut c_void, size: usize) -> Result<&'a mut [u8]> {
    match (start.is_null(), size) {
        (_, 0) => Ok(&mut []),
        (true, _) => Err(null_pointer_error()),
        (_, size) if isize::try_from(size).is_err() => Err(too_large()),
        // SAFETY: not null, no larger than memory can be, and as the caller promises.
        _ => Ok(unsafe { std::slice::from_raw_parts_mut(start.cast(), size) }),
    }
}

/// Numbers to read: one for each axis.
///
/// # Safety
/// As [`bytes`], and aligned for a `T`.
pub unsafe fn slice<'a, T: Copy>(start: *const T, count: usize) -> Result<&'a [T]> {
    if count == 0 {
        return Ok(&[]);
    }
    if start.is_null() {
        return Err(null_pointer_error());
    }
    if !start.is_aligned() {
        return Err(Error::invalid_input(format!("memory that is not aligned to {} bytes", align_of::<T>())));
    }
    if count.checked_mul(size_of::<T>()).is_none_or(|size| isize::try_from(size).is_err()) {
        return Err(too_large());
    }
    // SAFETY: neither null nor misaligned, no larger than memory can be, and as the caller promises.
    Ok(unsafe { std::slice::from_raw_parts(start, count) })
}
