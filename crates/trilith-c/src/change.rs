//! Changing a file that was read.

use std::ffi::{c_char, c_void};
use std::path::Path;
use std::sync::Arc;

use library::file::{check_replaced, is_read_from};
use library::tree::{TreePath, Value};
use library::{Array, ArrayOptions, File, OpenOptions, Result};
use library::{SaveOptions, SaveTarget};

use crate::error::{call, trilith_error};
use crate::handle::{free, get_mut, get_ref, handle};
use crate::open::trilith_file;
use crate::slices;
use crate::strings::{optional_str, parse_yaml_arg, required_str};
use crate::write::CallerArray;

/// Write only the changes, if they fit into the file.
pub const TRILITH_IN_PLACE: u32 = 1;

/// Replace a file at `path` that holds data of any format that is read.
pub const TRILITH_OVERWRITE: u32 = 2;

handle! {
    /// Changes that were not saved yet. One thread at a time.
    trilith_change, b"tri:chng", {
        file: Arc<File>,
        steps: Vec<Edit>,
    }
}

/// A change of a file.
pub enum Edit {
    Set(TreePath, Value),
    Array(TreePath, Box<Array>, ArrayOptions),
    Delete(TreePath),
}

/// Begins changes of a file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_change_new(
    file: *const trilith_file,
    out: *mut *mut trilith_change,
    error: *mut *mut trilith_error,
) -> i32 {
    call!(out, error, {
        let file = get_ref(file)?.file.clone();
        // Files that cannot be edited are refused at once.
        file.edit()?;
        trilith_change::into_handle(file, Vec::new())
    })
}

/// Adds a step.
///
/// # Safety
/// See the header for the duties of the caller.
unsafe fn push_set_step(change: *mut trilith_change, path: *const c_char, value: impl Into<Value>) -> Result<()> {
    // SAFETY: as the caller promises.
    let (change, path) = unsafe { (get_mut(change)?, required_str(path)?) };
    change.steps.push(Edit::Set(TreePath::parse(path)?, value.into()));
    Ok(())
}

/// Sets an integer at a path. A missing key is added. The path is checked when the
/// changes are saved, and so for all later calls.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_change_int(
    change: *mut trilith_change,
    path: *const c_char,
    value: i64,
    error: *mut *mut trilith_error,
) -> i32 {
    call!(error, push_set_step(change, path, value))
}

/// Sets a number at a path.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_change_double(
    change: *mut trilith_change,
    path: *const c_char,
    value: f64,
    error: *mut *mut trilith_error,
) -> i32 {
    call!(error, push_set_step(change, path, value))
}

/// Sets a boolean at a path. Every number but 0 is true.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_change_bool(
    change: *mut trilith_change,
    path: *const c_char,
    value: i32,
    error: *mut *mut trilith_error,
) -> i32 {
    call!(error, push_set_step(change, path, value != 0))
}

/// Sets a string at a path.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_change_text(
    change: *mut trilith_change,
    path: *const c_char,
    value: *const c_char,
    error: *mut *mut trilith_error,
) -> i32 {
    call!(error, push_set_step(change, path, required_str(value)?))
}

/// Sets the value of a YAML text at a path.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_change_yaml(
    change: *mut trilith_change,
    path: *const c_char,
    yaml: *const c_char,
    error: *mut *mut trilith_error,
) -> i32 {
    call!(error, push_set_step(change, path, parse_yaml_arg(yaml)?))
}

/// Sets an array at a path. It is copied. `codec` is that of its block, or null. The other arguments are those of
/// trilith_writer_array.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_change_array(
    change: *mut trilith_change,
    path: *const c_char,
    datatype: i32,
    ndim: usize,
    shape: *const u64,
    data: *const c_void,
    mask: *const u8,
    codec: *const c_char,
    error: *mut *mut trilith_error,
) -> i32 {
    call!(error, {
        let (change, path) = (get_mut(change)?, TreePath::parse(required_str(path)?)?);
        let array = CallerArray { datatype, shape: slices::slice(shape, ndim)?, data, mask }.copy_array()?;
        let options = optional_str(codec)?.map_or_else(|| Ok(ArrayOptions::default()), ArrayOptions::codec)?;
        change.steps.push(Edit::Array(path, Box::new(array), options));
        Ok(())
    })
}

/// Removes the item at a path, and its block if nothing else refers to it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_change_delete(
    change: *mut trilith_change,
    path: *const c_char,
    error: *mut *mut trilith_error,
) -> i32 {
    call!(error, {
        get_mut(change)?.steps.push(Edit::Delete(TreePath::parse(required_str(path)?)?));
        Ok(())
    })
}

/// Saves the changes: at `path`, or where the file was read from if `path` is null. `flags` is 0, TRILITH_IN_PLACE or
/// TRILITH_OVERWRITE. Without the latter another file that holds data is not replaced. A failure at any moment leaves the old
/// content; another process that changed the file meanwhile is an error. The file handle still has the old content: open the file
/// again to see the new one. The changes stay, and can be saved elsewhere.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_change_save(
    change: *const trilith_change,
    path: *const c_char,
    flags: u32,
    error: *mut *mut trilith_error,
) -> i32 {
    call!(error, {
        let (held, path) = (get_ref(change)?, optional_str(path)?);
        if let Some(path) = path.map(Path::new).filter(|path| !is_read_from(held.file.source(), path))
            && flags & TRILITH_OVERWRITE == 0
        {
            check_replaced(path, &[], &OpenOptions::new())
                .map_err(|error| error.hint("set TRILITH_OVERWRITE in flags to replace it"))?;
        }
        let mut change = held.file.edit()?;
        for step in &held.steps {
            match step {
                Edit::Set(path, value) => change.set(path.clone(), value.clone())?,
                Edit::Array(path, array, options) => change.set_array(path.clone(), array, options)?,
                Edit::Delete(path) => change.delete(path.clone())?,
            }
        }
        let mut options = SaveOptions::default();
        options.in_place = flags & TRILITH_IN_PLACE != 0;
        options.output = path.map(|path| SaveTarget::Path(Path::new(path).into()));
        change.save(options).map(drop)
    })
}

/// Frees changes. Null is allowed. Unsaved changes are lost.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_change_free(change: *mut trilith_change) {
    // SAFETY: the caller keeps the rules of the header.
    unsafe { free(change) }
}
