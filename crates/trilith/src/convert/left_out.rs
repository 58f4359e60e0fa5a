//! In the place of FITS files if the feature `fits` was left out: none can be opened or written.

use super::{ConvertOptions, Converted};
use crate::asdf::AsdfFile;
use crate::bytes::WriteSeek;
use crate::diagnostic::Diagnostic;
use crate::error::{Error, Result};
use crate::progress::Progress;

pub(super) fn notes(_: &AsdfFile) -> Vec<String> {
    Vec::new()
}

pub(super) fn is_copied_out(_: &AsdfFile, _: &ConvertOptions) -> bool {
    false
}

pub(super) fn out_of_fits(_: &AsdfFile, _: &mut dyn WriteSeek, _: &ConvertOptions) -> Result<Vec<Diagnostic>> {
    Err(Error::left_out("FITS", "fits"))
}

/// None: there are no such files.
pub(super) fn stored_notes(_: &AsdfFile) -> Vec<String> {
    Vec::new()
}

/// None: there are no such files.
pub(super) fn alone(_: &AsdfFile, _: &ConvertOptions) -> Result<Option<(AsdfFile, Vec<Diagnostic>)>> {
    Ok(None)
}

pub(super) fn to_fits_with(_: &AsdfFile, _: &ConvertOptions, _: &mut dyn WriteSeek, _: Progress<'_>) -> Result<Converted> {
    Err(Error::left_out("FITS", "fits"))
}
