//! Metadata of one array, and of a dict of a layout.

use super::Json;
use super::dimension_names::{Conventions, Said};
use super::is_family;
use crate::array::{Array, Datatype, Mask};
use crate::asdf::ndarray::is_ndarray_tag;
use crate::dudley::DudleyFile;
use crate::error::{Error, Result};
use crate::file::{Backend, Item};
use crate::layout::FACTORS;
use crate::tree::{Data, Value};

/// An array before its place is known.
pub(super) struct Leaf {
    pub array: Array,
    pub attributes: Vec<(String, Json)>,
    /// The names of its axes, if they are for this array alone.
    pub said: Said,
    pub missing: Option<Json>,
    pub is_coordinate: bool,
}

impl Leaf {
    /// An array with what is said of it; what represents an element that is missing is an attribute.
    pub(super) fn new(array: Array, mut attributes: Vec<(String, Json)>, said: Said) -> Self {
        let missing = match array.mask() {
            Some(Mask::Integer(value)) => Some(i64::try_from(*value).map_or_else(|_| Json::Digits(value.to_string()), Json::Int)),
            Some(Mask::Float(value)) => Some(Json::Float(*value)),
            Some(Mask::Nan) if array.datatype().is_float() => Some(Json::Float(f64::NAN)),
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
    pub(super) fn of(item: &Item<'_>) -> Result<Self> {
        if stream(item.backend()).is_some_and(|file| !file.is_physical()) && item.words()?.iter().any(|(name, _)| name == FACTORS)
        {
            return Err(Error::unsupported("samples of several scales and offsets, which no attribute of Zarr has"));
        }
        let (array, is_foreign) = (item.array()?, has_lengths(item));
        // Zarr has bytes, too, which are where the file has them.
        let is_bytes = is_foreign && matches!(array.datatype(), Datatype::Ascii(_)) && !array.is_padded();
        let array = if is_bytes { array } else { item.presented(array)? };
        let (mut attributes, axes) = (typed(item), item.axes()?);
        let said = Some(axes.names).filter(|names| names.iter().any(Option::is_some));
        let notes = item.notes();
        let unit = notes.unit.map(|unit| unit.trim().to_owned());
        // The name that the conventions of CF have for documentation.
        if let Some(doc) = notes.comment.filter(|_| is_laid_out(item.backend()))
            && !attributes.iter().any(|(name, _)| name == "long_name")
        {
            attributes.push(("long_name".to_owned(), Json::Text(doc.trim().to_owned())));
        }
        // A layout spells the unit as it likes, the conventions of CF do not.
        let is_named = |attributes: &[(String, Json)]| attributes.iter().any(|(name, _)| name == "units");
        match (unit, notes.tag) {
            // The attributes of other formats are those that they have.
            (Some(unit), _) if !is_foreign && !is_named(&attributes) => attributes.push(("units".to_owned(), Json::Text(unit))),
            (_, Some(tag)) if attributes.is_empty() && !is_ndarray_tag(tag) => {
                attributes.push(("tag".to_owned(), Json::Text(tag.to_owned())));
            }
            _ => {}
        }
        // Durations of numpy, which has one that is missing.
        let is_duration = |(name, value): &(String, Json)| {
            name == "numpy_dtype" && matches!(value, Json::Text(text) if text.get(1..4) == Some("m8["))
        };
        if attributes.iter().any(is_duration) && array.mask().is_none() && *array.datatype() == Datatype::Int64 {
            attributes.push(("_FillValue".to_owned(), Json::Int(i64::MIN)));
        }
        Ok(Self { is_coordinate: axes.is_coordinate, ..Self::new(array, attributes, said) })
    }

    /// The names of its axes by what is known of its group.
    pub(super) fn said_in(&self, key: &str, known: Option<&Conventions>) -> Said {
        if self.said.is_some() {
            return self.said.clone();
        }
        let names = known?.names(key, self.array.shape().len())?;
        Some(names.into_iter().map(Some).collect())
    }
}

/// Returns the attributes of a dict in a layout or in a file of another format.
pub(super) fn of_dict(item: &Item<'_>) -> Vec<(String, Json)> {
    // Attributes that netCDF-4 keeps for itself.
    let is_own = |name: &str| matches!(name, "_NCProperties" | "_nc3_strict");
    typed(item).into_iter().filter(|(name, _)| !is_own(name)).collect()
}

/// Returns `true` if the numbers of a dict are lengths of axes, which arrays have anyway.
pub(super) fn has_lengths(item: &Item<'_>) -> bool {
    stream(item.backend()).is_some_and(DudleyFile::is_foreign)
}

fn stream(backend: &dyn Backend) -> Option<&DudleyFile> {
    (backend as &dyn std::any::Any).downcast_ref()
}

/// Returns `true` if a layout says where the arrays are.
fn is_laid_out(backend: &dyn Backend) -> bool {
    stream(backend).is_some() || is_family(backend)
}

/// The attributes of an item under a layout, with their types.
fn typed(item: &Item<'_>) -> Vec<(String, Json)> {
    if !is_laid_out(item.backend()) {
        return Vec::new();
    }
    let said = item.attributes().unwrap_or_default().into_iter();
    said.map(|(name, said)| (name.into_owned(), json(&said))).collect()
}

fn json(said: &Value) -> Json {
    match &said.data {
        Data::Int(value) => Json::Int(*value),
        Data::BigInt(digits) => Json::Digits(digits.to_string()),
        Data::Float(value) => Json::Float(*value),
        Data::Str(text) | Data::Plain(text) => Json::Text(text.to_string()),
        Data::Seq(items) => Json::List(items.iter().map(json).collect()),
        // An attribute that is only there.
        _ => Json::Text(String::new()),
    }
}
