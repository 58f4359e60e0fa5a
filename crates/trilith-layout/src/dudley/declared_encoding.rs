//! The encoding of the strings of an array, if an attribute declares it: `_Encoding` of netCDF.

use super::dudley_file::DudleyFile;
use crate::array::{Array, Datatype, StringEncoding, ValueDecoding, ValueTransform, physical};
use crate::error::Result;
use crate::layout::{Attribute, ItemId, LayoutEntry, LayoutLiteral, read_value};

/// The name of the attribute.
const ENCODING_ATTRIBUTE: &str = "_Encoding";

impl DudleyFile {
    /// Returns an array of a file of another format with the strings of a declared encoding as UTF-8; any other unchanged.
    ///
    /// # Errors
    /// Returns `Malformed` if the result has more than 2^63 bytes.
    #[doc(hidden)]
    pub fn with_declared_text(&self, entry: &LayoutEntry, array: Array) -> Result<Array> {
        self.decode_declared(entry.item, array)
    }

    /// Does the same for the array of an item.
    pub(super) fn decode_declared(&self, item: ItemId, array: Array) -> Result<Array> {
        // Strings of variable length declare their encoding in their datatype.
        if !self.is_foreign() || !matches!(array.datatype(), Datatype::Ascii(_)) || array.is_padded() {
            return Ok(array);
        }
        let declared = self.layout().attributes(item).find(|(name, _)| *name == ENCODING_ATTRIBUTE);
        let Some(Attribute::Value(LayoutLiteral::Text(name))) = declared.map(|(_, said)| read_value(said)) else {
            return Ok(array);
        };
        match StringEncoding::from_name(&name) {
            None => Ok(array),
            Some(encoding) => {
                let transform = ValueTransform::DecodedText(encoding);
                physical(&array, &[ValueDecoding { transform, missing_rules: Vec::new() }])
            }
        }
    }
}
