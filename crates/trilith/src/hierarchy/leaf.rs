//! Metadata of one array, and of a dict of a layout.

#[cfg(feature = "dudley")]
use std::borrow::Cow;

use super::Json;
use super::dims::{Conventions, Said};
use crate::array::{Array, Mask};
use crate::asdf::ndarray::is_ndarray_tag;
#[cfg(feature = "dudley")]
use crate::dudley::{DudleyFile, LayoutOrigin, OutlineId};
use crate::error::Result;
#[cfg(feature = "dudley")]
use crate::file::Place;
use crate::file::{Backend, Item};
#[cfg(feature = "dudley")]
use crate::layout::{Attribute, Literal};

/// An array before its place is known.
pub(super) struct Leaf {
    pub array: Array,
    pub attributes: Vec<(String, Json)>,
    /// The names of its axes, if they are for this array alone.
    pub said: Said,
    pub missing: Option<Json>,
}

impl Leaf {
    /// An array with what is said of it; what represents an element that is missing is an attribute.
    pub fn new(array: Array, mut attributes: Vec<(String, Json)>, said: Said) -> Self {
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
        Self { array, attributes, said, missing }
    }

    /// The array that an item is.
    ///
    /// # Errors
    /// Returns an error if the array cannot be found.
    pub fn of(item: &Item<'_>) -> Result<Self> {
        let array = item.presented(item.array()?)?;
        let (mut attributes, said) = said_of(item.backend(), item);
        let notes = item.notes();
        let unit = notes.unit.map(|unit| unit.into_owned());
        let is_named =
            |attributes: &[(String, Json)]| attributes.iter().any(|(name, _)| matches!(name.as_str(), "unit" | "units"));
        match (unit, notes.tag) {
            (Some(unit), _) if !is_named(&attributes) => attributes.push(("units".to_owned(), Json::Text(unit))),
            (_, Some(tag)) if attributes.is_empty() && !is_ndarray_tag(tag) => {
                attributes.push(("tag".to_owned(), Json::Text(tag.to_owned())));
            }
            _ => {}
        }
        Ok(Self::new(array, attributes, said))
    }

    /// The names of its axes by what is known of its group.
    pub fn said_in(&self, key: &str, known: Option<&Conventions>) -> Said {
        if self.said.is_some() {
            return self.said.clone();
        }
        let names = known?.names(key, self.array.shape().len())?;
        Some(names.into_iter().map(Some).collect())
    }
}

/// Returns the attributes of a dict in a layout or in a file of another format.
#[cfg(feature = "dudley")]
pub(super) fn of_dict(item: &Item<'_>) -> Vec<(String, Json)> {
    // Attributes that netCDF-4 keeps for itself.
    let is_own = |name: &str| matches!(name, "_NCProperties" | "_nc3_strict");
    let said = typed(item.backend(), item);
    said.into_iter().filter(|(name, _)| !is_own(name)).map(|(name, said)| (name.into_owned(), json(&said))).collect()
}

/// Returns `true` if the numbers of a dict are lengths of axes, which arrays have anyway.
#[cfg(feature = "dudley")]
pub(super) fn has_lengths(item: &Item<'_>) -> bool {
    stream(item.backend()).is_some_and(|file| matches!(file.origin(), LayoutOrigin::Derived(_)))
}

#[cfg(feature = "dudley")]
fn stream(backend: &dyn Backend) -> Option<&DudleyFile> {
    (backend as &dyn std::any::Any).downcast_ref()
}

#[cfg(feature = "dudley")]
fn typed<'b>(backend: &'b dyn Backend, item: &Item<'_>) -> Vec<(Cow<'b, str>, Attribute)> {
    match (stream(backend), item.place()) {
        (Some(file), Place::Node(number)) => file.remaining_attributes(OutlineId::of(*number)).unwrap_or_default(),
        _ => Vec::new(),
    }
}

/// The attributes of an array, and the names of its axes.
#[cfg(feature = "dudley")]
fn said_of(backend: &dyn Backend, item: &Item<'_>) -> (Vec<(String, Json)>, Said) {
    let name = |value: &Literal| match value {
        Literal::Text(text) => Some(text.clone()).filter(|text| !text.is_empty()),
        other => Some(other.to_string()),
    };
    let words = match (stream(backend), item.place()) {
        (Some(file), Place::Node(number)) => file.words(OutlineId::of(*number)).unwrap_or_default(),
        _ => Vec::new(),
    };
    let names = words.iter().find(|(name, _)| *name == "grid_dims").and_then(|(_, said)| match said {
        Attribute::List(list) => Some(list.iter().map(name).collect()),
        _ => None,
    });
    let attributes = typed(backend, item).into_iter();
    (attributes.map(|(name, said)| (name.into_owned(), json(&said))).collect(), names)
}

#[cfg(feature = "dudley")]
fn json(said: &Attribute) -> Json {
    let one = |value: &Literal| match value {
        Literal::Integer(value) => Json::Int(*value),
        Literal::Float(value) => Json::Float(*value),
        Literal::Text(text) => Json::Text(text.clone()),
    };
    match said {
        Attribute::Flag => Json::Text(String::new()),
        Attribute::Value(value) => one(value),
        Attribute::List(list) => Json::List(list.iter().map(one).collect()),
    }
}

#[cfg(not(feature = "dudley"))]
pub(super) fn of_dict(_: &Item<'_>) -> Vec<(String, Json)> {
    Vec::new()
}

#[cfg(not(feature = "dudley"))]
pub(super) fn has_lengths(_: &Item<'_>) -> bool {
    false
}

#[cfg(not(feature = "dudley"))]
fn said_of(_: &dyn Backend, _: &Item<'_>) -> (Vec<(String, Json)>, Said) {
    (Vec::new(), None)
}
