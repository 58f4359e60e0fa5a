//! The C interface: opaque handles, status codes, and an error object with details.
//!
//! `include/trilith.h` is made from these files and documents the interface for users; a test keeps it up to date.
//! There is no logic here: every call is one of the library's, with its arguments checked. No panic crosses into C.
//!
//! C cannot promise the following, so it is required once, here: a pointer to a handle is null or came from this
//! library and was not freed; text ends in NUL; memory has the size that is passed with it. Null pointers and
//! handles of another kind are errors, and a handle that was freed is one as long as its memory was not used again.

mod array;
mod arrays;
mod cancel;
mod change;
mod error;
mod handle;
mod item;
mod open;
mod slices;
mod strings;
mod verify;
mod wcs;
mod write;

use std::ffi::c_char;

/// The version of this library, such as `0.1.0`.
///
/// Any thread, at any time.
#[unsafe(no_mangle)]
pub extern "C" fn trilith_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}
