//! The filter `jpeg` of 2026: an image of `u1` as a whole JPEG file. It is read; what it loses when it is
//! written we do not lose for anybody.
//!
//! Section 11 of our specification: shapes (NX,NY), (NX,NY,3) and (NX,NY,4), the first dimension counts
//! the rows.

use super::decompress::UncompressedForm;
use crate::codec::jpeg::{self, ColorConversion, ExpectedImage};
use crate::error::{Error, Result};
use crate::limits::Limits;

/// The elements of an image.
pub(super) fn decode_jpeg(bytes: &[u8], form: &UncompressedForm, limits: &Limits) -> Result<Vec<u8>> {
    let (rows, columns, samples) = match form.shape.as_slice() {
        [rows, columns] => (*rows, *columns, 1),
        [rows, columns, samples @ 3..=4] => (*rows, *columns, *samples),
        shape => return Err(Error::malformed(format!("a jpeg holds (NX,NY), (NX,NY,3) or (NX,NY,4), not {shape:?}"))),
    };
    let expected = ExpectedImage { rows, columns, samples, colors: ColorConversion::Rgb, may_be_longer: false };
    let out = jpeg::decode(bytes, &expected, limits)?;
    if out.len() as u64 != form.len {
        return Err(Error::malformed(format!("the jpeg decodes to {} bytes, the array has {}", out.len(), form.len)));
    }
    Ok(out)
}
