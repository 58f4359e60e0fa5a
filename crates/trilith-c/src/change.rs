//! Changing a file that was read.

use std::ffi::{c_char, c_void};
use std::path::Path;
use std::sync::Arc;

use library::tree::{TreePath, Value};
use library::{Array, ArrayOptions, File, Result};
use library::{Output, SaveOptions};

use crate::error::{call, trilith_error};
use crate::handle::{free, handle, look, look_mut};
use crate::open::trilith_file;
use crate::slices;
use crate::strings::{given, given_yaml, optional};
use crate::write::Given;

/// Write only the changes, if they fit into the file.
pub const TRILITH_IN_PLACE: u32 = 1;

handle! {
    /// Changes that were not saved yet. One thread at a time.
    trilith_change, b"tri:chng", {
        file: Arc<File>,
        steps: Vec<Step>,
    }
}

/// A change of a file.
pub enum Step {
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
        let file = look(file)?.file.clone();
        // Files that cannot be edited are refused at once.
        file.edit()?;
        trilith_change::give(file, Vec::new())
    })
}

/// Adds a step.
///
/// # Safety
/// See the header for the duties of the caller.
unsafe fn set(change: *mut trilith_change, path: *const c_char, value: impl Into<Value>) -> Result<()> {
    // SAFETY: as the caller promises.
    let (change, path) = unsafe { (look_mut(change)?, given(path)?) };
    change.steps.push(Step::Set(TreePath::parse(path)?, value.into()));
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
    call!(error, set(change, path, value))
}

/// Sets a number at a path.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_change_double(
    change: *mut trilith_change,
    path: *const c_char,
    value: f64,
    error: *mut *mut trilith_error,
) -> i32 {
    call!(error, set(change, path, value))
}

/// Sets a boolean at a path. Every number but 0 is true.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_change_bool(
    change: *mut trilith_change,
    path: *const c_char,
    value: i32,
    error: *mut *mut trilith_error,
) -> i32 {
    call!(error, set(change, path, value != 0))
}

/// Sets a string at a path.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_change_text(
    change: *mut trilith_change,
    path: *const c_char,
    value: *const c_char,
    error: *mut *mut trilith_error,
) -> i32 {
    call!(error, set(change, path, given(value)?))
}

/// Sets the value of a YAML text at a path.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_change_yaml(
    change: *mut trilith_change,
    path: *const c_char,
    yaml: *const c_char,
    error: *mut *mut trilith_error,
) -> i32 {
    call!(error, set(change, path, given_yaml(yaml)?))
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
        let (change, path) = (look_mut(change)?, TreePath::parse(given(path)?)?);
        let array = Given { datatype, shape: slices::list(shape, ndim)?, data, mask }.copied()?;
        let options = optional(codec)?.map_or_else(|| Ok(ArrayOptions::default()), ArrayOptions::codec)?;
        change.steps.push(Step::Array(path, Box::new(array), options));
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
        look_mut(change)?.steps.push(Step::Delete(TreePath::parse(given(path)?)?));
        Ok(())
    })
}

/// Saves the changes: at `path`, or where the file was read from if `path` is null. `flags` is 0 or TRILITH_IN_PLACE. A failure at
/// any moment leaves the old content; another process that changed the file meanwhile is an error. The file handle still has
/// the old content: open the file again to see the new one. The changes stay, and can be saved elsewhere.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_change_save(
    change: *const trilith_change,
    path: *const c_char,
    flags: u32,
    error: *mut *mut trilith_error,
) -> i32 {
    call!(error, {
        let (held, path) = (look(change)?, optional(path)?);
        let mut change = held.file.edit()?;
        for step in &held.steps {
            match step {
                Step::Set(path, value) => change.set(path.clone(), value.clone())?,
                Step::Array(path, array, options) => change.set_array(path.clone(), array, options)?,
                Step::Delete(path) => change.delete(path.clone())?,
            }
        }
        let mut options = SaveOptions::default();
        options.in_place = flags & TRILITH_IN_PLACE != 0;
        options.output = path.map(|path| Output::Path(Path::new(path).into()));
        change.save(options).map(drop)
    })
}

/// Frees changes. Null is allowed. Unsaved changes are lost.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_change_free(change: *mut trilith_change) {
    // SAFETY: the caller keeps the rules of the header.
    unsafe { free(change) }
}
