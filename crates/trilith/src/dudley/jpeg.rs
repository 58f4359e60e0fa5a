//! The filter `jpeg` of 2026: an image of `u1` as a whole JPEG file. It is read; what it loses when it is
//! written we do not lose for anybody.
//!
//! Section 11 of our specification: shapes (NX,NY), (NX,NY,3) and (NX,NY,4), the first dimension counts
//! the rows.

use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

use super::inflate::Form;
use crate::bytes::to_usize;
use crate::error::{Error, Result};
use crate::limits::Limits;

/// The elements of an image.
pub(super) fn decode(bytes: &[u8], form: &Form, limits: &Limits) -> Result<Vec<u8>> {
    let (rows, columns, color) = match form.shape.as_slice() {
        [rows, columns] => (*rows, *columns, ColorSpace::Luma),
        [rows, columns, 3] => (*rows, *columns, ColorSpace::RGB),
        [rows, columns, 4] => (*rows, *columns, ColorSpace::CMYK),
        shape => return Err(Error::malformed(format!("a jpeg holds (NX,NY), (NX,NY,3) or (NX,NY,4), not {shape:?}"))),
    };
    // The decoder keeps coefficients of two bytes in addition to the image.
    limits.charge_memory(form.len.saturating_mul(4), "an image")?;
    limits.charge_work(form.len)?;
    let options = DecoderOptions::default()
        .set_max_width(to_usize(columns)?)
        .set_max_height(to_usize(rows)?)
        .jpeg_set_out_colorspace(color);
    let broken = |e: zune_jpeg::errors::DecodeErrors| Error::malformed(format!("the jpeg does not decode: {e}"));
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(bytes), options);
    decoder.decode_headers().map_err(broken)?;
    let found = decoder.info().map(|info| (u64::from(info.height), u64::from(info.width)));
    if found != Some((rows, columns)) {
        return Err(Error::malformed(format!("the jpeg is {found:?}, but the layout has {:?}", form.shape)));
    }
    let out = decoder.decode().map_err(broken)?;
    if out.len() as u64 != form.len {
        return Err(Error::malformed(format!("the jpeg decodes to {} bytes, the array has {}", out.len(), form.len)));
    }
    Ok(out)
}
