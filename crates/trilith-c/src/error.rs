//! Errors: a status, and an object with message, place and advice.

use std::ffi::{CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use library::SuggestedSetting;
use library::{Error, ErrorKind, Location, Result};

use crate::handle::{free, get_ref, handle};

/// The call succeeded.
pub const TRILITH_OK: i32 = 0;
/// The operating system or the network could not read or write.
pub const TRILITH_IO: i32 = 1;
/// The file breaks the rules of its format.
pub const TRILITH_MALFORMED: i32 = 2;
/// The file may be valid, but this library does not support it.
pub const TRILITH_UNSUPPORTED: i32 = 3;
/// The file exceeds a limit: see trilith_options_limit.
pub const TRILITH_LIMIT: i32 = 4;
/// The caller gave an invalid argument.
pub const TRILITH_USAGE: i32 = 5;
/// The call was cancelled, by trilith_cancel_now or by a progress callback.
pub const TRILITH_CANCELLED: i32 = 6;
/// A fault of this library. Free the handles that the call worked on.
pub const TRILITH_INTERNAL: i32 = 7;
/// A path, a key or a field does not exist.
pub const TRILITH_NOT_FOUND: i32 = 8;

handle! {
    /// An error of a call. It belongs to the caller, who frees it with trilith_error_free.
    trilith_error, b"tri:err\0", {
        status: i32,
        message: CString,
        advice: Option<CString>,
        path: Option<CString>,
        byte: i64,
        line: u32,
        column: u32,
    }
}

/// Returns the wording of a setting in this interface.
fn setting_text(setting: &SuggestedSetting) -> String {
    match setting {
        SuggestedSetting::Limit(name) => format!("raise the limit with trilith_options_limit(options, \"{name}=N\")"),
        other => other.to_string(),
    }
}

fn error_to_status(error: &Error) -> i32 {
    match error.kind() {
        ErrorKind::Io => TRILITH_IO,
        ErrorKind::Malformed => TRILITH_MALFORMED,
        ErrorKind::Unsupported => TRILITH_UNSUPPORTED,
        ErrorKind::Limit => TRILITH_LIMIT,
        ErrorKind::NotFound => TRILITH_NOT_FOUND,
        ErrorKind::Cancelled => TRILITH_CANCELLED,
        ErrorKind::InvalidInput => TRILITH_USAGE,
        _ => TRILITH_INTERNAL,
    }
}

/// Text for C, which ends at the first NUL.
pub fn c_text(text: &str) -> CString {
    let end = text.find('\0').unwrap_or(text.len());
    CString::new(text.get(..end).unwrap_or("")).unwrap_or_default()
}

fn into_raw_error(error: &Error) -> *mut trilith_error {
    let (mut byte, mut line, mut column, mut path) = (-1, 0, 0, None);
    match error.location() {
        Location::Byte(at) => byte = i64::try_from(*at).unwrap_or(i64::MAX),
        Location::Text { line: at, column: place } => (line, column) = (*at, *place),
        Location::Path(at) => path = Some(c_text(at)),
        _ => {}
    }
    let advice = error.advice_in(&setting_text).map(|text| c_text(&text));
    trilith_error::into_handle(error_to_status(error), c_text(&error.text_in(&setting_text)), advice, path, byte, line, column)
}

/// Does the work of a call: what it returns and what it panics with become a status and an error object.
///
/// # Safety
/// `error` is null or points to memory for a pointer.
pub unsafe fn guard(error: *mut *mut trilith_error, work: impl FnOnce() -> Result<()>) -> i32 {
    // SAFETY: null or memory for a pointer.
    let place = unsafe { error.as_mut() };
    let (status, made) = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(())) => (TRILITH_OK, std::ptr::null_mut()),
        Ok(Err(failed)) if place.is_some() => (error_to_status(&failed), into_raw_error(&failed)),
        Ok(Err(failed)) => (error_to_status(&failed), std::ptr::null_mut()),
        Err(_) if place.is_some() => {
            let message = c_text("a fault in the library trilith; please report it with the file");
            (TRILITH_INTERNAL, trilith_error::into_handle(TRILITH_INTERNAL, message, None, None, -1, 0, 0))
        }
        Err(_) => (TRILITH_INTERNAL, std::ptr::null_mut()),
    };
    if let Some(place) = place {
        *place = made;
    }
    status
}

/// Does the work of an exported function by [`guard`]. The work may use the pointers that C hands in. With `out` its value
/// is put there; that there is a place for it is checked before.
macro_rules! call {
    ($error:expr, $work:expr) => {
        // SAFETY: the caller keeps the rules of the header.
        unsafe { $crate::error::guard($error, || $work) }
    };
    ($out:expr, $error:expr, $work:expr) => {
        $crate::error::call!($error, {
            $crate::handle::check_out_pointer($out)?;
            let made = $work;
            $crate::handle::write_out($out, made)
        })
    };
}
pub(crate) use call;

/// Returns the status of an error, as the call returned it; TRILITH_USAGE for a null pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_error_status(error: *const trilith_error) -> i32 {
    // SAFETY: the caller keeps the rules of the header.
    unsafe { get_ref(error) }.map_or(TRILITH_USAGE, |error| error.status)
}

/// Returns the error with its place and advice, in one line of UTF-8. Never null; it lives as long as the error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_error_message(error: *const trilith_error) -> *const c_char {
    // SAFETY: the caller keeps the rules of the header.
    unsafe { get_ref(error) }.map_or(c"no error".as_ptr(), |error| error.message.as_ptr())
}

/// Returns advice, or null if there is none. It lives as long as the error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_error_advice(error: *const trilith_error) -> *const c_char {
    // SAFETY: the caller keeps the rules of the header.
    let advice = unsafe { get_ref(error) }.ok().and_then(|error| error.advice.as_ref());
    advice.map_or(std::ptr::null(), |text| text.as_ptr())
}

/// Returns the path in the tree at which it happened, or null. It lives as long as the error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_error_path(error: *const trilith_error) -> *const c_char {
    // SAFETY: the caller keeps the rules of the header.
    let path = unsafe { get_ref(error) }.ok().and_then(|error| error.path.as_ref());
    path.map_or(std::ptr::null(), |text| text.as_ptr())
}

/// Returns the byte of the file at which it happened, or -1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_error_byte(error: *const trilith_error) -> i64 {
    // SAFETY: the caller keeps the rules of the header.
    unsafe { get_ref(error) }.map_or(-1, |error| error.byte)
}

/// Returns the line of the text at which it happened, counted from 1, or 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_error_line(error: *const trilith_error) -> u32 {
    // SAFETY: the caller keeps the rules of the header.
    unsafe { get_ref(error) }.map_or(0, |error| error.line)
}

/// Returns the column of the text at which it happened, counted from 1, or 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_error_column(error: *const trilith_error) -> u32 {
    // SAFETY: the caller keeps the rules of the header.
    unsafe { get_ref(error) }.map_or(0, |error| error.column)
}

/// Frees an error. Null is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_error_free(error: *mut trilith_error) {
    // SAFETY: the caller keeps the rules of the header.
    unsafe { free(error) }
}
