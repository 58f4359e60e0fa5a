//! In the place of FITS files if the feature `fits` was left out: none can be opened, so that no file is in one.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::sync::Arc;

use crate::array::Array;
use crate::asdf::{AsdfFile, Meanings};
use crate::bytes::{Resolve, SourceRef};
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::tree::Node;

/// Destination of the bytes of an embedded ASDF file.
pub type Inner = BufWriter<File>;

pub(super) fn open_fits_source(_: SourceRef, _: Arc<dyn Resolve>, _: &Limits, _: bool) -> Result<AsdfFile> {
    Err(Error::left_out("FITS", "fits"))
}

/// The file that a tree path leads into: this one.
///
/// # Errors
/// Returns no error in this build.
pub fn toward(file: AsdfFile, _: &str) -> Result<AsdfFile> {
    Ok(file)
}

/// None: there is no such list.
pub(super) fn listing_at(_: &AsdfFile, _: &str) -> Result<Option<AsdfFile>> {
    Ok(None)
}

/// None: there is no such list.
pub(super) fn numbered(_: &AsdfFile, _: &str) -> Option<String> {
    None
}

/// Nothing is known of headers.
pub(super) struct Headers;

impl Meanings for Headers {
    fn physical(&self, _: &AsdfFile, _: Node<'_>, stored: Array) -> Result<Array> {
        Ok(stored)
    }
}

/// Writes nothing: there is no FITS file around this one.
///
/// # Errors
/// Returns no error in this build.
pub fn write_around(
    _: &AsdfFile,
    _: Option<&str>,
    _: bool,
    _: &mut dyn Write,
    _: impl FnOnce(&mut Inner) -> Result<()>,
) -> Result<bool> {
    Ok(false)
}
