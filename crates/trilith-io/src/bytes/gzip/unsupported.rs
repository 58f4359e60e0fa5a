//! The functions for gzip in a build without the feature `zlib`: each fails.

use std::io::{Read, Write};

use crate::bytes::source::SourceRef;
use crate::error::{Error, Result};
use crate::limits::Limits;

fn error() -> Error {
    Error::feature_disabled("gzip", "zlib")
}

/// Unpacks no gzip file.
///
/// # Errors
/// Returns [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported): build with the feature `zlib`.
pub fn gunzip(_: SourceRef, _: &Limits) -> Result<SourceRef> {
    Err(error())
}

/// Writes no gzip file.
///
/// # Errors
/// Returns the errors of [`gunzip`].
pub fn gzip(_: &mut dyn Read, _: &mut dyn Write) -> Result<()> {
    Err(error())
}

/// Refuses to decode gzip.
pub fn gunzipped(_: &[u8], _: u64) -> Result<Vec<u8>> {
    Err(error())
}

/// Refuses to write gzip.
pub fn deflated(_: u32, _: &mut dyn FnMut(&mut dyn Write) -> Result<()>) -> Result<Vec<u8>> {
    Err(error())
}
