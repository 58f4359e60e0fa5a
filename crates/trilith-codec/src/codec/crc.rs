//! The CRC-32 of ZIP and gzip.

use crate::error::Error;

/// The error for bytes that differ from their CRC-32.
#[cold]
pub fn differs(stated: u32, found: u32) -> Error {
    Error::malformed(format!("the CRC-32 is {stated:08x}, but the bytes have {found:08x}"))
}
