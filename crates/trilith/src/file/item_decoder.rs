//! Elements of an item with their text decoded.

use super::item::Item;
use crate::array::Array;
use crate::dudley::widen_small_floats;
use crate::error::Result;

/// The reader of the elements of an item with their text decoded, from [`Item::decoder`].
#[derive(Debug)]
pub struct ItemDecoder<'i, 'f> {
    item: &'i Item<'f>,
}

impl<'i, 'f> ItemDecoder<'i, 'f> {
    pub(super) fn new(item: &'i Item<'f>) -> Self {
        Self { item }
    }

    /// Returns the array that the item is with its text decoded. Strings of variable length stay as they are if padding
    /// each to the length of the longest would multiply them ([`Array::much_padded`]).
    ///
    /// # Errors
    /// Returns the errors of [`Item::array`] and [`ItemDecoder::decode_text`].
    pub fn read(&self) -> Result<Array> {
        super::expand::read_decoded(self.item.backend(), self.item.location())
    }
    /// Returns the array with its text decoded.
    ///
    /// # Errors
    /// Returns an error if the text cannot be decoded.
    pub fn decode_text(&self, array: Array) -> Result<Array> {
        self.item.backend().decode_text(array)
    }
    /// The array of the item as 32-bit floats, if it has the bits of floats of 8 or 16 bits that are not a datatype here
    /// (bfloat16, the kinds of float8); any other unchanged.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for elements whose meaning is not known.
    pub fn widen_small_floats(&self, array: Array) -> Result<Array> {
        let Some((file, id)) = self.item.as_dudley() else { return Ok(array) };
        let item = file.outline()?.item(id);
        widen_small_floats(array, item.into_iter().flat_map(|item| file.layout().attributes(item)))
    }
}
