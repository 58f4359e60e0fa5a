//! The declarations of attributes about the strings of an array: their encoding (`_Encoding` of netCDF), and the members of
//! structs whose strings end at their first NUL.

use std::collections::BTreeSet;
use std::ops::Range;

use super::dudley_file::DudleyFile;
use crate::array::{Array, Datatype, StringEncoding, StructType, ValueDecoding, ValueTransform, physical};
use crate::bytes::to_usize;
use crate::error::{Error, Result};
use crate::layout::{Attribute, ItemId, LayoutEntry, LayoutLiteral, read_value};

/// The name of the attribute of netCDF that declares the encoding of strings.
#[doc(hidden)]
pub const ENCODING_ATTRIBUTE: &str = "_Encoding";

impl DudleyFile {
    /// Returns an array of a file of another format with the strings of a declared encoding as UTF-8, and without the bytes after
    /// the end of the strings of structs; any other unchanged.
    ///
    /// # Errors
    /// Returns `Malformed` if the result has more than 2^63 bytes.
    #[doc(hidden)]
    pub fn with_declared_text(&self, entry: &LayoutEntry, array: Array) -> Result<Array> {
        self.decode_declared(entry.item, array)
    }

    /// Does the same for the array of an item.
    pub(super) fn decode_declared(&self, item: ItemId, array: Array) -> Result<Array> {
        if let (Datatype::Struct(fields), true) = (array.datatype(), self.is_foreign()) {
            let Some(starts) = self.layout().string_starts(item) else { return Ok(array) };
            let (starts, mut places) = (starts.iter().copied().collect(), Vec::new());
            string_places(fields, 0, 0, &starts, &mut places)?;
            let transform = ValueTransform::StringEnds(places);
            return physical(&array, &[ValueDecoding { transform, missing_rules: Vec::new() }]);
        }
        // Strings of variable length declare their encoding in their datatype.
        if !self.is_foreign() || !matches!(array.datatype(), Datatype::Ascii(_)) || array.is_padded() {
            return Ok(array);
        }
        let declared = self.layout().plain_attributes(item).find(|(name, _)| *name == ENCODING_ATTRIBUTE);
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

/// Number of strings of a struct.
const MAX_STRINGS: usize = 1 << 12;

/// Collects the bytes in a packed element of the strings that begin at some bytes of the stored one. As deep as types nest.
fn string_places(
    fields: &StructType,
    stored: u64,
    mut packed: u64,
    starts: &BTreeSet<u64>,
    places: &mut Vec<Range<usize>>,
) -> Result<()> {
    for field in fields.fields() {
        let (at, size) = (stored.saturating_add(field.offset), field.datatype.packed_size());
        let is_string = starts.contains(&at) && field.datatype.is_text();
        for number in 0..field.count() {
            if places.len() >= MAX_STRINGS {
                return Err(Error::unsupported(format!("structs with more than {MAX_STRINGS} strings that end at a NUL")));
            }
            let (from, before) = (packed.saturating_add(number.saturating_mul(size)), places.len());
            match &field.datatype {
                Datatype::Struct(inner) => {
                    // Starts are those of the first struct of an array.
                    string_places(inner, at, from, starts, places)?;
                }
                _ if is_string => places.push(to_usize(from)?..to_usize(from.saturating_add(size))?),
                _ => {}
            }
            if places.len() == before {
                break;
            }
        }
        packed = packed.saturating_add(field.count().saturating_mul(size));
    }
    Ok(())
}
