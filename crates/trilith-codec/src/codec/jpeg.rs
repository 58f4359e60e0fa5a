//! JPEG images: the filter `jpeg` of Dudley, which holds a whole file, and that of TIFF, whose strips and tiles may have their
//! tables in the directory.

use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

use crate::bytes::to_usize;
use crate::error::{Error, Result};
use crate::limits::Limits;

/// The colours of an image of three samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColorConversion {
    /// Red, green and blue, made of luminance and chrominance if these are stored.
    Rgb,
    /// The samples as they are stored, unless the image is a JFIF file, in which they are luminance and chrominance.
    Raw,
}

/// The shape that an image has to have, and its colours.
#[derive(Debug, Clone, Copy)]
pub struct ExpectedImage {
    /// Number of rows.
    pub rows: u64,
    /// Number of columns.
    pub columns: u64,
    /// The samples of each pixel.
    pub samples: u64,
    /// Meaning of the samples.
    pub colors: ColorConversion,
    /// `true` if it may have more rows, which are cut off.
    pub may_be_longer: bool,
}

/// The samples of an image, row by row.
///
/// # Errors
/// Returns `Malformed` for bytes that do not decode to an image of that shape, `Unsupported` for samples that are not
/// converted, `Limit`.
pub fn decode(bytes: &[u8], expected: &ExpectedImage, limits: &Limits) -> Result<Vec<u8>> {
    let ExpectedImage { rows, columns, samples, colors, may_be_longer } = *expected;
    let wanted = match samples {
        1 => ColorSpace::Luma,
        3 => ColorSpace::RGB,
        4 => ColorSpace::CMYK,
        _ => return Err(Error::unsupported(format!("a JPEG image of {samples} samples"))),
    };
    let joined = merge_tables(bytes);
    let bytes = joined.as_deref().unwrap_or(bytes);
    // Damage is an error, and no grey area.
    let options = DecoderOptions::default()
        .set_strict_mode(true)
        .set_max_width(to_usize(columns)?)
        .set_max_height(to_usize(if may_be_longer { u64::from(u16::MAX) } else { rows })?)
        .jpeg_set_out_colorspace(wanted);
    let broken = |e: zune_jpeg::errors::DecodeErrors| Error::malformed(format!("the jpeg does not decode: {e}"));
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(bytes), options);
    decoder.decode_headers().map_err(broken)?;
    let info = decoder.info().ok_or_else(|| Error::malformed("the jpeg has no header"))?;
    let (height, width, found) = (u64::from(info.height), u64::from(info.width), u64::from(info.components));
    if width != columns || found != samples || height < rows || (height > rows && !may_be_longer) {
        let shape = if samples == 1 { format!("({rows}, {columns})") } else { format!("({rows}, {columns}, {samples})") };
        return Err(Error::malformed(format!("the jpeg has the shape ({height}, {width}, {found}), expected {shape}")));
    }
    // The decoder keeps coefficients of two bytes in addition to the image.
    let size = height.saturating_mul(width).saturating_mul(samples);
    limits.charge_memory(size.saturating_mul(4), "an image")?;
    limits.charge_decoding(size)?;
    let stored = decoder.input_colorspace();
    if samples == 3 && colors == ColorConversion::Raw && !is_jfif(bytes) {
        decoder.set_options(options.jpeg_set_out_colorspace(stored.unwrap_or(ColorSpace::YCbCr)));
    } else if samples == 4 && stored != Some(ColorSpace::CMYK) {
        return Err(Error::unsupported(format!("a JPEG image with the colours {stored:?}")));
    }
    let mut out = decoder.decode().map_err(broken)?;
    if out.len() as u64 != size {
        return Err(Error::malformed(format!("the jpeg decodes to {} bytes, expected {size}", out.len())));
    }
    out.truncate(to_usize(rows.saturating_mul(columns).saturating_mul(samples))?);
    Ok(out)
}

/// The segments of a file before its first scan, as marker and content; and the bytes of what follows the last.
fn split_segments(bytes: &[u8]) -> (Vec<(u8, &[u8])>, &[u8]) {
    let (mut found, mut rest) = (Vec::new(), bytes.strip_prefix(&[0xff, 0xd8]).unwrap_or(bytes));
    while let [0xff, marker, high, low, ..] = rest
        && !matches!(marker, 0xd9 | 0xda)
    {
        let len = usize::from(*high) << 8 | usize::from(*low);
        let Some((segment, behind)) = rest.get(2..).and_then(|rest| rest.split_at_checked(len)) else { break };
        found.push((*marker, segment.get(2..).unwrap_or(&[])));
        rest = behind;
    }
    (found, rest)
}

/// One file of two, of which the first holds only tables. None for all other bytes.
fn merge_tables(bytes: &[u8]) -> Option<Vec<u8>> {
    let image = split_segments(bytes).1.strip_prefix(&[0xff, 0xd9])?.strip_prefix(&[0xff, 0xd8])?;
    let tables = bytes.get(..bytes.len().checked_sub(image.len() + 4)?)?;
    Some([tables, image].concat())
}

fn is_jfif(bytes: &[u8]) -> bool {
    split_segments(bytes).0.iter().any(|(marker, content)| *marker == 0xe0 && content.starts_with(b"JFIF\0"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_go_before_their_image() {
        let tables = [0xff, 0xd8, 0xff, 0xdb, 0, 3, 9, 0xff, 0xd9];
        let image = [0xff, 0xd8, 0xff, 0xe0, 0, 7, b'J', b'F', b'I', b'F', 0, 0xff, 0xda, 1];
        let whole = merge_tables(&[&tables[..], &image].concat()).unwrap();
        assert_eq!(whole, [&tables[..7], &image[2..]].concat());
        assert!(is_jfif(&whole) && !is_jfif(&tables) && merge_tables(&image).is_none() && merge_tables(&tables).is_none());
        assert!(merge_tables(&[]).is_none() && merge_tables(&[0xff, 0xd8, 0xff]).is_none());
    }
}
