//! Text that comes from C, and text that goes there.

use std::ffi::{CStr, CString, c_char};

use library::tree::{Tree, Value};
use library::{Error, Limits, Result};

use crate::error::c_text;

/// The text that C handed in; None for a null pointer.
///
/// # Safety
/// `text` is null, or ends in NUL and outlives `'a`.
pub unsafe fn optional_str<'a>(text: *const c_char) -> Result<Option<&'a str>> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: not null, and as the caller promises.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map(Some).map_err(|error| Error::invalid_input(format!("text that is not UTF-8: {error}")))
}

/// The text that C handed in.
///
/// # Safety
/// As [`optional_str`].
pub unsafe fn required_str<'a>(text: *const c_char) -> Result<&'a str> {
    // SAFETY: as the caller promises.
    unsafe { optional_str(text) }?.ok_or_else(|| Error::invalid_input("a null pointer in place of text"))
}

/// The value of a YAML text that C handed in.
///
/// # Safety
/// As [`optional_str`].
pub unsafe fn parse_yaml_arg(text: *const c_char) -> Result<Value> {
    let limits = Limits::from_env()?;
    // SAFETY: as the caller promises.
    Tree::parse(unsafe { required_str(text) }?, &limits)?.root().to_value(&limits)
}

/// Text for C, as [`into_c_string`], all of which C can show.
pub fn into_c_string_strict(text: &str) -> Result<*mut c_char> {
    match text.contains('\0') {
        true => Err(Error::unsupported("a text that holds NUL, which C cannot show")),
        false => Ok(into_c_string(text)),
    }
}

/// Text for C, which frees it with trilith_string_free.
pub fn into_c_string(text: &str) -> *mut c_char {
    c_text(text).into_raw()
}

/// Frees a string that a call returned. Null is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_string_free(text: *mut c_char) {
    if !text.is_null() {
        // SAFETY: it came from `into_c_string`, as the header asks.
        drop(unsafe { CString::from_raw(text) });
    }
}
