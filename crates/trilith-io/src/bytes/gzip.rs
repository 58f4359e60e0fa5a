//! Files compressed as a whole (`.fits.gz`): unpacked before anything is looked for, and packed again when they are
//! written.

#[cfg(feature = "gzip")]
mod codec;
#[cfg(not(feature = "gzip"))]
#[path = "gzip/unsupported.rs"]
mod codec;

use std::path::Path;

use super::source::Source;
use crate::error::Result;

pub use codec::deflated;
pub use codec::gunzipped;
pub use codec::{gunzip, gzip};

/// Returns `true` if bytes begin like a gzip file (RFC 1952).
pub fn is_gzip(start: &[u8]) -> bool {
    start.starts_with(&[0x1f, 0x8b, 8])
}

/// Returns `true` for the name of a gzip file: it ends in `.gz`.
pub fn has_gzip_name(name: impl AsRef<Path>) -> bool {
    name.as_ref().extension().is_some_and(|ending| ending.eq_ignore_ascii_case("gz"))
}

/// Returns `true` if what a source was made of, at the bottom, is a gzip file.
///
/// # Errors
/// Returns [`ErrorKind::Io`](crate::ErrorKind::Io) if the operating system reports an error.
pub fn is_packed(source: &dyn Source) -> Result<bool> {
    let mut bottom = source;
    while let Some(origin) = bottom.origin() {
        bottom = origin.source();
    }
    let mut start = [0; 3];
    if bottom.len() < 3 {
        return Ok(false);
    }
    bottom.read_at(0, &mut start)?;
    Ok(is_gzip(&start))
}
