//! Lists of all arrays of a file, with their paths.

use std::ffi::{CString, c_char};

use library::Error;
use library::file::{ListedArray, listed_arrays};

use crate::array::trilith_array;
use crate::error::{c_text, call, trilith_error};
use crate::handle::{free, get_ref, handle};
use crate::item::{FileRef, trilith_item};
use crate::open::trilith_file;
use crate::strings::required_str;

handle! {
    /// The arrays of a file. Any number of threads may use one at the same time.
    trilith_arrays, b"tri:arrs", {
        reach: FileRef,
        listed: Vec<(CString, ListedArray)>,
    }
}

/// Lists every array of a file with its path, in the order of the file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_list_arrays(
    file: *const trilith_file,
    out: *mut *mut trilith_arrays,
    error: *mut *mut trilith_error,
) -> i32 {
    call!(out, error, {
        let reach = FileRef::This(get_ref(file)?.file.clone());
        let listed = listed_arrays(reach.backend())?.into_iter().map(|array| (c_text(&array.path), array)).collect();
        trilith_arrays::into_handle(reach, listed)
    })
}

/// Number of arrays.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_arrays_count(arrays: *const trilith_arrays) -> usize {
    // SAFETY: the caller keeps the rules of the header.
    unsafe { get_ref(arrays) }.map_or(0, |arrays| arrays.listed.len())
}

/// Returns the path of one, counted from 0, or null if there are fewer. It lives as long as the list.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_arrays_path(arrays: *const trilith_arrays, index: usize) -> *const c_char {
    // SAFETY: the caller keeps the rules of the header.
    let path = unsafe { get_ref(arrays) }.ok().and_then(|arrays| arrays.listed.get(index));
    path.map_or(std::ptr::null(), |(path, _)| path.as_ptr())
}

/// Returns the item of one, counted from 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_arrays_item(
    arrays: *const trilith_arrays,
    index: usize,
    out: *mut *mut trilith_item,
    error: *mut *mut trilith_error,
) -> i32 {
    call!(out, error, {
        let arrays = get_ref(arrays)?;
        let none = || Error::invalid_input(format!("array {index} of a list of {}", arrays.listed.len()));
        let (_, listed) = arrays.listed.get(index).ok_or_else(none)?;
        arrays.reach.wrap_target(match &listed.target {
            Ok(found) => found.clone(),
            // The search is repeated to return a separate error to the caller.
            Err(_) => arrays.reach.backend().find(&listed.path)?,
        })
    })
}

/// Frees a list. Null is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_arrays_free(arrays: *mut trilith_arrays) {
    // SAFETY: the caller keeps the rules of the header.
    unsafe { free(arrays) }
}

/// Returns the array at a path, as trilith_item_at and trilith_item_array do.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_array_at(
    file: *const trilith_file,
    path: *const c_char,
    out: *mut *mut trilith_array,
    error: *mut *mut trilith_error,
) -> i32 {
    call!(out, error, trilith_array::into_raw(get_ref(file)?.file.array(required_str(path)?)?))
}
