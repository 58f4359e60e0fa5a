//! The filter `png` of 2026: an image of `u1` or `u2`, of one channel or three, as a whole PNG file.
//!
//! Section 11 of our specification: the first dimension counts the rows; numbers of two bytes are
//! big-endian inside.

use std::io::Cursor;

use super::decompress::UncompressedForm;
use crate::bytes::to_usize;
use crate::error::{Error, Result};
use crate::limits::Limits;

/// Height, width and channels of an image.
fn image_properties(form: &UncompressedForm) -> Result<(u32, u32, png::ColorType)> {
    let (rows, columns, color) = match form.shape.as_slice() {
        [rows, columns] => (rows, columns, png::ColorType::Grayscale),
        [rows, columns, 3] => (rows, columns, png::ColorType::Rgb),
        shape => return Err(Error::malformed(format!("a png holds (NX,NY) or (NX,NY,3), not {shape:?}"))),
    };
    match (u32::try_from(*rows), u32::try_from(*columns)) {
        (Ok(rows), Ok(columns)) => Ok((rows, columns, color)),
        _ => Err(Error::unsupported("an image of more than 2^32 rows or columns")),
    }
}

fn bit_depth(form: &UncompressedForm) -> Result<png::BitDepth> {
    match form.word {
        1 => Ok(png::BitDepth::Eight),
        2 => Ok(png::BitDepth::Sixteen),
        _ => Err(Error::malformed("a png holds u1 or u2")),
    }
}

/// The elements of an image, numbers big-endian.
pub(super) fn decode_png(bytes: &[u8], form: &UncompressedForm, limits: &Limits) -> Result<Vec<u8>> {
    let (height, width, color) = image_properties(form)?;
    let broken = |e: png::DecodingError| Error::malformed(format!("the png does not decode: {e}"));
    limits.charge_memory(form.len, "an image")?;
    limits.charge_decoding(form.len)?;
    let most = png::Limits { bytes: to_usize(form.len)?.saturating_add(1 << 20) };
    let mut reader = png::Decoder::new_with_limits(Cursor::new(bytes), most).read_info().map_err(broken)?;
    let info = reader.info();
    if (info.height, info.width, info.color_type, info.bit_depth) != (height, width, color, bit_depth(form)?) {
        let found = format!("{} x {} {:?} of {:?} bits", info.height, info.width, info.color_type, info.bit_depth);
        return Err(Error::malformed(format!("the png is {found}, but the layout has {:?}", form.shape)));
    }
    let mut out = vec![0; to_usize(form.len)?];
    reader.next_frame(&mut out).map_err(broken)?;
    Ok(out)
}

/// An image as a PNG file; `bytes` are its elements, numbers big-endian.
pub(super) fn encode_png(bytes: &[u8], form: &UncompressedForm, level: u8) -> Result<Vec<u8>> {
    let (height, width, color) = image_properties(form)?;
    let mut out = Vec::new();
    let mut encoder = png::Encoder::new(&mut out, width, height);
    encoder.set_color(color);
    encoder.set_depth(bit_depth(form)?);
    let deflate = if level == 0 { png::DeflateCompression::NoCompression } else { png::DeflateCompression::Level(level) };
    encoder.set_deflate_compression(deflate);
    let failed = |e: png::EncodingError| Error::invalid_input(format!("the image cannot be written as png: {e}"));
    let mut writer = encoder.write_header().map_err(failed)?;
    writer.write_image_data(bytes).map_err(failed)?;
    writer.finish().map_err(failed)?;
    Ok(out)
}
