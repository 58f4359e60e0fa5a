//! Images as they are stored, with the header that says what their elements mean. Parts of them become HDUs of new files.
//!
//! FITS Standard 4.0, sections 4.4.2.5 (BSCALE, BZERO, BLANK) and 10.1 (images in compressed tiles).

use super::card::Card;
use super::fits_file::FitsFile;
use super::hdu::{Hdu, HduKind, read_bitpix};
use super::hdu_data::{HduData, cards_of_image, extension_of, is_structural};
use super::header::Header;
use super::scaling::{Scaling, StoredNumber, ValueForm};
use super::{image, tiled_image};
use crate::array::Array;
use crate::array::ValueTransform;
use crate::error::{Error, Result, ResultExt};

/// The stored elements of an image, and the header of its HDU without compression. The two belong together: without the cards
/// BSCALE, BZERO and BLANK the elements have other values.
#[derive(Debug)]
pub struct StoredImage {
    header: Header,
    array: Array,
    number: StoredNumber,
    linear: Scaling,
}

/// The stored form of a pixel that an image does not have.
#[derive(Debug, PartialEq)]
pub enum OutsidePixel {
    /// The elements mean themselves, so that any value of their datatype will do.
    Plain,
    /// An element with these bytes, little-endian.
    Element(Vec<u8>),
    /// A missing value. The image has no BLANK, so a new one is needed.
    Missing,
}

impl FitsFile {
    /// Returns the shape of the image of an HDU, compressed or not; None if it has none.
    pub fn image_shape(&self, hdu: &Hdu) -> Option<Vec<u64>> {
        let prefix = match hdu.kind() {
            HduKind::Image => "",
            HduKind::Tiles => "Z",
            _ => return None,
        };
        image::read_image_shape(hdu.header(), prefix).ok().flatten()
    }

    /// Returns the image of an HDU, compressed or not, as it is stored; None if it has none. Nothing is decoded.
    ///
    /// # Errors
    /// Returns the errors of [`FitsFile::array`].
    #[doc(hidden)]
    pub fn stored_image(&self, hdu: &Hdu) -> Result<Option<StoredImage>> {
        let read = || {
            let source = self.data_source(hdu)?;
            let header = hdu.header();
            let (array, header) = match hdu.kind() {
                HduKind::Image => (image::image_array(hdu, &source, ValueForm::Stored, self.shared_limits())?, header.clone()),
                HduKind::Tiles => {
                    let array = tiled_image::tiled_image_array(hdu, &source, ValueForm::Stored, self.shared_limits())?;
                    (Some(array), uncompressed_header(hdu)?)
                }
                _ => (None, Header::default()),
            };
            let Some(array) = array else { return Ok(None) };
            let (number, linear) =
                (image::number_from_bitpix(read_bitpix(&header, "BITPIX")?), image::read_image_scaling(&header)?);
            Ok(Some(StoredImage { header, array, number, linear }))
        };
        read().map_err(|e: Error| e.at_byte(hdu.start())).with_context(|| hdu.display_name())
    }
}

impl StoredImage {
    /// The stored elements; unsigned integers as such.
    pub fn array(&self) -> &Array {
        &self.array
    }

    /// Returns the header of the HDU without compression.
    pub fn header_mut(&mut self) -> &mut Header {
        &mut self.header
    }

    /// Returns the stored form of a pixel beyond the edge whose physical value is `given`, or by default a missing one. Integers
    /// that mean themselves have no missing value.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if no stored element has this value.
    pub fn outside_pixel(&self, given: Option<f64>) -> Result<OutsidePixel> {
        let is_integer = self.number.is_integer();
        let is_scaled = matches!(image::image_value_decoding(self.number, self.linear).transform, ValueTransform::Linear { .. });
        let unsigned = self.linear.unsigned_datatype(self.number);
        let blank = self.linear.blank.filter(|_| is_integer).map(i128::from);
        let blank = blank.filter(|n| is_in(*n, self.number.datatype().integer_range()));
        // The array has the unsigned number that BZERO makes of it.
        let blank = blank.map(|n| if unsigned.is_some() { n + self.linear.zero as i128 } else { n });
        let has_missing = is_integer && (is_scaled || blank.is_some());
        let Some(value) = given.filter(|value| !(value.is_nan() && has_missing)) else {
            return Ok(match blank {
                Some(blank) => self.encode_integer(blank),
                None if has_missing => OutsidePixel::Missing,
                None => OutsidePixel::Plain,
            });
        };
        if !is_scaled && blank.is_none() {
            return Ok(OutsidePixel::Plain);
        }
        let (scale, zero) = if is_scaled { (self.linear.scale, self.linear.zero) } else { (1.0, 0.0) };
        let stored = (value - zero) / scale;
        if !is_integer {
            return Ok(OutsidePixel::Element(match self.number {
                StoredNumber::F32 => (stored as f32).to_le_bytes().to_vec(),
                _ => stored.to_le_bytes().to_vec(),
            }));
        }
        let whole = stored.round();
        let is_exact = (whole * scale + zero - value).abs() <= 1e-9 * value.abs().max(scale.abs());
        let number = whole as i128;
        if !is_exact || !is_in(number, self.array.datatype().integer_range()) || blank == Some(number) {
            return Err(Error::invalid_input(format!("cannot fill with {value}: no stored {} means it", self.array.datatype()))
                .hint("take another value for --fill, or --edge trim"));
        }
        Ok(self.encode_integer(number))
    }

    fn encode_integer(&self, number: i128) -> OutsidePixel {
        OutsidePixel::Element(number.to_le_bytes().get(..self.number.size()).unwrap_or_default().to_vec())
    }

    /// Returns an HDU with some of the elements. Masked ones get a new BLANK.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) if no integer is free for that, and what reading the elements
    /// returns.
    pub fn build_hdu(&self, array: Array, is_primary: bool) -> Result<HduData> {
        if array.mask().is_none() {
            let mut header = self.header.clone();
            for (axis, length) in array.shape().iter().rev().enumerate() {
                header.set(&format!("NAXIS{}", axis + 1), *length, "", "NAXIS")?;
            }
            return Ok(HduData::with_data(header, Some(array)));
        }
        let Some(mut part) = HduData::masked_array("", is_primary, &array)? else {
            return Err(Error::unsupported(format!("no {} is free for pixels beyond the edge", array.datatype()))
                .hint("give their value with --fill, or leave them out with --edge trim"));
        };
        part.header.remove(|keyword| !is_structural(keyword));
        let stays = |card: &&Card| !is_structural(card.keyword()) || matches!(card.keyword(), "BSCALE" | "BZERO");
        self.header.cards().iter().filter(stays).for_each(|card| part.header.push(card.clone()));
        Ok(part)
    }
}

fn is_in(number: i128, range: Option<(i128, i128)>) -> bool {
    range.is_some_and(|(low, high)| (low..=high).contains(&number))
}

/// The header of a compressed image without that of its table.
fn uncompressed_header(hdu: &Hdu) -> Result<Header> {
    let header = hdu.header();
    let shape = image::read_image_shape(header, "Z")?.unwrap_or_default();
    let mut cards = extension_of(cards_of_image(read_bitpix(header, "ZBITPIX")?, None, &shape)?)?;
    let is_table = |card: &Card| {
        let keyword = card.keyword();
        let stem = keyword.trim_end_matches(|c: char| c.is_ascii_digit());
        let is_scale = matches!(keyword, "BSCALE" | "BZERO" | "BLANK");
        let is_column = stem == "TUNIT" && stem != keyword;
        let is_default_name = keyword == "EXTNAME" && hdu.name() == "COMPRESSED_IMAGE";
        is_structural(keyword) && !is_scale
            || keyword == "EXTEND"
            || is_column
            || is_default_name
            || tiled_image::is_keyword(keyword)
    };
    cards.extend(header.cards().iter().filter(|card| !is_table(card)).cloned());
    let mut made = Header::new(cards);
    if let (true, Some(blank)) = (header.card("BLANK").is_none(), header.integer("ZBLANK").ok().flatten())
        && read_bitpix(header, "ZBITPIX")? > 0
    {
        made.set("BLANK", blank, "missing pixels", "GCOUNT")?;
    }
    Ok(made)
}
