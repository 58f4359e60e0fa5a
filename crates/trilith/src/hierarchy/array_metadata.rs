//! Metadata of one array, and of a dict of a layout.

use super::JsonValue;
use super::dimension_names::{DimensionConventions, StatedNames};
use super::is_file_set;
use crate::array::attribute::{AttributeValue, ItemAttribute, NumberValue};
use crate::array::{Array, Datatype, Mask};
use crate::asdf::ndarray::is_ndarray_tag;
use crate::dudley::{DudleyFile, ENCODING_ATTRIBUTE};
use crate::error::{Error, Result};
use crate::file::{Backend, Item};
use crate::layout::{FACTORS_ATTRIBUTE, VALID_ATTRIBUTE};

/// An array before its place is known.
pub(super) struct LeafArray {
    pub array: Array,
    pub attributes: Vec<(String, JsonValue)>,
    /// The names of its axes, if they are for this array alone.
    pub said: StatedNames,
    pub missing: Option<JsonValue>,
    pub is_coordinate: bool,
}

impl LeafArray {
    /// An array with what is said of it; what represents an element that is missing is an attribute.
    pub(super) fn new(array: Array, mut attributes: Vec<(String, JsonValue)>, said: StatedNames) -> Self {
        let missing = match array.mask() {
            Some(Mask::Integer(value)) => {
                Some(i64::try_from(*value).map_or_else(|_| JsonValue::BigNumber(value.to_string()), JsonValue::Int))
            }
            Some(Mask::Float(value)) => Some(JsonValue::Float(*value)),
            Some(Mask::Nan) if array.datatype().is_float() => Some(JsonValue::Float(f64::NAN)),
            _ => None,
        };
        if let Some(value) = &missing
            && !attributes.iter().any(|(name, _)| name == "_FillValue")
        {
            attributes.push(("_FillValue".to_owned(), value.clone()));
        }
        Self { array, attributes, said, missing, is_coordinate: false }
    }

    /// The array that an item is.
    ///
    /// # Errors
    /// Returns an error if the array cannot be found.
    pub(super) fn from_item(item: &Item<'_>) -> Result<Self> {
        if let Some((file, id)) = item.as_dudley().filter(|(file, _)| !file.is_physical()) {
            for (name, _) in file.storage_attributes(id)? {
                let what = match name {
                    FACTORS_ATTRIBUTE => "samples of several scales and offsets",
                    VALID_ATTRIBUTE => "pixels that a mask page marks as missing",
                    _ => continue,
                };
                return Err(Error::unsupported(format!("{what}, which no attribute of Zarr has")));
            }
        }
        let (array, is_foreign) = (item.array()?, has_lengths(item));
        // Zarr has bytes, too, which are where the file has them.
        let is_bytes = is_foreign && matches!(array.datatype(), Datatype::Ascii(_)) && !array.is_padded();
        let array = if is_bytes { array } else { item.decoder().decode_text(array)? };
        let (mut attributes, axes) = (typed_attributes(item), item.axes()?);
        // xarray decodes bytes by this attribute, and has no way to decode strings.
        if matches!(array.datatype(), Datatype::Ucs4(_)) {
            attributes.retain(|(name, _)| name != ENCODING_ATTRIBUTE);
        }
        let said = Some(axes.names).filter(|names| names.iter().any(Option::is_some));
        let notes = item.metadata();
        let unit = notes.unit.map(|unit| unit.trim().to_owned());
        // The name that the conventions of CF have for documentation.
        if let Some(doc) = notes.comment.filter(|_| is_laid_out(item.backend()))
            && !attributes.iter().any(|(name, _)| name == "long_name")
        {
            attributes.push(("long_name".to_owned(), JsonValue::Text(doc.trim().to_owned())));
        }
        // A layout spells the unit as it likes, the conventions of CF do not.
        let is_named = |attributes: &[(String, JsonValue)]| attributes.iter().any(|(name, _)| name == "units");
        match (unit, notes.tag) {
            // The attributes of other formats are those that they have.
            (Some(unit), _) if !is_foreign && !is_named(&attributes) => {
                attributes.push(("units".to_owned(), JsonValue::Text(unit)));
            }
            (_, Some(tag)) if attributes.is_empty() && !is_ndarray_tag(tag) => {
                attributes.push(("tag".to_owned(), JsonValue::Text(tag.to_owned())));
            }
            _ => {}
        }
        // Durations of numpy, which has one that is missing.
        let is_duration = |(name, value): &(String, JsonValue)| {
            name == "numpy_dtype" && matches!(value, JsonValue::Text(text) if text.get(1..4) == Some("m8["))
        };
        if attributes.iter().any(is_duration) && array.mask().is_none() && *array.datatype() == Datatype::Int64 {
            attributes.push(("_FillValue".to_owned(), JsonValue::Int(i64::MIN)));
        }
        Ok(Self { is_coordinate: axes.is_coordinate, ..Self::new(array, attributes, said) })
    }

    /// The names of its axes by what is known of its group.
    pub(super) fn stated_names(&self, key: &str, known: Option<&DimensionConventions>) -> StatedNames {
        if self.said.is_some() {
            return self.said.clone();
        }
        let names = known?.names(key, self.array.shape().len())?;
        Some(names.into_iter().map(Some).collect())
    }
}

/// Returns the attributes of a dict in a layout or in a file of another format.
pub(super) fn of_dict(item: &Item<'_>) -> Vec<(String, JsonValue)> {
    // Attributes that netCDF-4 keeps for itself.
    let is_own = |name: &str| matches!(name, "_NCProperties" | "_nc3_strict");
    typed_attributes(item).into_iter().filter(|(name, _)| !is_own(name)).collect()
}

/// Returns `true` if the numbers of a dict are lengths of axes, which arrays have anyway.
pub(super) fn has_lengths(item: &Item<'_>) -> bool {
    dict_attributes(item.backend()).is_some_and(DudleyFile::is_foreign)
}

fn dict_attributes(backend: &dyn Backend) -> Option<&DudleyFile> {
    (backend as &dyn std::any::Any).downcast_ref()
}

/// Returns `true` if a layout says where the arrays are.
fn is_laid_out(backend: &dyn Backend) -> bool {
    dict_attributes(backend).is_some() || is_file_set(backend)
}

/// The attributes of an item under a layout, with their types.
fn typed_attributes(item: &Item<'_>) -> Vec<(String, JsonValue)> {
    if !is_laid_out(item.backend()) {
        return Vec::new();
    }
    let said = item.attributes().unwrap_or_default().into_iter().filter(ItemAttribute::is_visible);
    said.map(|attribute| (attribute.name, value_to_json(&attribute.value))).collect()
}

/// The value of an attribute as JSON, an array as nested lists.
fn value_to_json(said: &AttributeValue) -> JsonValue {
    match said {
        AttributeValue::Bool(value) => JsonValue::Bool(*value),
        AttributeValue::Number(number) => match number.value {
            NumberValue::Int(value) => {
                i64::try_from(value).map_or_else(|_| JsonValue::BigNumber(value.to_string()), JsonValue::Int)
            }
            NumberValue::Float(value) => JsonValue::Float(value),
            _ => JsonValue::Text(number.to_string()),
        },
        AttributeValue::Bytes(bytes) => JsonValue::Map(vec![("base64".to_owned(), JsonValue::Text(crate::bytes::base64(bytes)))]),
        AttributeValue::Text(text) | AttributeValue::Reference(text) => JsonValue::Text(text.clone()),
        AttributeValue::List(items) => JsonValue::List(items.iter().map(value_to_json).collect()),
        AttributeValue::Array(_) => match said.to_lists() {
            Ok(lists) => value_to_json(&lists),
            Err(_) => JsonValue::Text(said.literal_text()),
        },
        AttributeValue::Unreadable(_) => JsonValue::Text(said.literal_text()),
        // An attribute that is only there.
        _ => JsonValue::Text(String::new()),
    }
}
