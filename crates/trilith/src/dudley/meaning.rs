//! The physical values of an array, by the attributes of the conventions of netCDF: `scale_factor`, `add_offset`,
//! `_FillValue`, `missing_value`, `valid_range`, `valid_min`, `valid_max`, `_Unsigned`; and by `GDAL_NODATA` of a
//! TIFF file.
//!
//! Files of other formats are read so, as the netCDF4 package does with `set_auto_maskandscale`. A layout that a
//! user writes has no such conventions.

use std::borrow::Cow;

use super::outline::{OutlineId, Thing};
use super::read::DudleyFile;
use crate::array::meaning::{Declared, Meaning, Missing, Reading};
use crate::array::{Array, Datatype, physical};
use crate::error::Result;
use crate::layout::{Attribute, Entry, ItemId, Literal, read_own};

impl DudleyFile {
    /// The array that an entry of this stream is; what is there of one that ends after the end of the file. In a file of
    /// another format that was opened for it, with its physical values.
    ///
    /// # Errors
    /// Returns the errors of [`DudleyFile::array_at`].
    pub fn array_of(&self, entry: &Entry) -> Result<Array> {
        self.meant(entry.item, self.stored_array_of(entry)?).map_err(|e| e.context(entry.path.clone()))
    }

    /// Returns the attributes of [`DudleyFile::attributes`], without those that are applied to the elements of its
    /// array.
    ///
    /// # Errors
    /// Returns the errors of [`DudleyFile::outline`].
    pub fn remaining_attributes(&self, id: OutlineId) -> Result<Vec<(Cow<'_, str>, Attribute)>> {
        let mut all = self.attributes(id)?;
        let datatype = match self.outline()?.thing(id) {
            Thing::Data(entry) if self.is_physical => self.stored_array_of(entry).ok().map(|array| array.datatype().clone()),
            _ => None,
        };
        let item = self.outline()?.item(id);
        if let (Some(item), Some(datatype)) = (item, datatype)
            && !of(self.layout().attributes(item), &datatype).is_empty()
        {
            all.retain(|(name, _)| !is_applied(name));
        }
        Ok(all)
    }

    /// Returns `true` if the elements of an entry are not the stored ones.
    pub(crate) fn has_meaning(&self, entry: &Entry) -> bool {
        self.is_physical && self.layout().attributes(entry.item).any(|(name, _)| is_applied(name))
    }

    /// Returns `true` if the physical values of an entry are not the stored ones. NaN that marks NaN changes none.
    pub(crate) fn is_packed(&self, entry: &Entry) -> bool {
        if !self.has_meaning(entry) {
            return false;
        }
        let is_nan = |missing: &Missing| matches!(missing, Missing::Equal(number) if number.float().is_nan());
        let same = |meaning: &Meaning| meaning.reading == Reading::Stored && meaning.missing.iter().all(is_nan);
        let Ok(stored) = self.stored_array_of(entry) else { return false };
        !of(self.layout().attributes(entry.item), stored.datatype()).iter().all(same)
    }

    /// The array of an item with the values that its attributes declare.
    pub(super) fn meant(&self, item: ItemId, stored: Array) -> Result<Array> {
        if !self.is_physical {
            return Ok(stored);
        }
        let meanings = of(self.layout().attributes(item), stored.datatype());
        meanings.into_iter().try_fold(stored, |array, meaning| physical(&array, &[meaning]))
    }
}

/// The attributes that say what elements mean.
const APPLIED: &[&str] = &[
    "scale_factor",
    "add_offset",
    "_FillValue",
    "missing_value",
    "valid_range",
    "valid_min",
    "valid_max",
    "_Unsigned",
    "GDAL_NODATA",
    "grid_float32",
];

/// Returns `true` if an attribute defines the meaning of elements.
pub(crate) fn is_applied(name: &str) -> bool {
    APPLIED.contains(&name)
}

/// Returns the declarations of the attributes of an array about elements of its datatype, one after the other.
fn of<'a>(attributes: impl Iterator<Item = (&'a str, &'a Attribute)>, datatype: &Datatype) -> Vec<Meaning> {
    let is_number = datatype.is_integer() || matches!(datatype, Datatype::Float32 | Datatype::Float64);
    let said: Vec<(&str, &Attribute)> = attributes.filter(|(name, _)| is_number && is_applied(name)).collect();
    if said.is_empty() {
        return Vec::new();
    }
    let said = Said(said);
    let unsigned = if said.is_unsigned() { other_sign(datatype) } else { None };
    let elements = unsigned.as_ref().unwrap_or(datatype);
    let last = Meaning { reading: said.reading(elements), missing: said.missing(elements, unsigned.is_some()) };
    let first = unsigned.clone().map(|unsigned| Meaning { reading: Reading::Bits(unsigned), missing: Vec::new() });
    first.into_iter().chain(Some(last)).filter(|meaning| !meaning.is_stored()).collect()
}

fn other_sign(datatype: &Datatype) -> Option<Datatype> {
    Some(match datatype {
        Datatype::Int8 => Datatype::Uint8,
        Datatype::Int16 => Datatype::Uint16,
        Datatype::Int32 => Datatype::Uint32,
        Datatype::Int64 => Datatype::Uint64,
        _ => return None,
    })
}

struct Said<'a>(Vec<(&'a str, &'a Attribute)>);

impl Said<'_> {
    fn literals(&self, name: &str) -> &[Literal] {
        match self.0.iter().rev().find(|(known, _)| *known == name) {
            Some((_, Attribute::Value(value))) => std::slice::from_ref(value),
            Some((_, Attribute::List(list))) => list,
            _ => &[],
        }
    }

    fn numbers(&self, name: &str) -> Vec<Declared> {
        self.literals(name).iter().filter_map(number).collect()
    }

    fn is_unsigned(&self) -> bool {
        matches!(self.literals("_Unsigned"), [Literal::Text(text)] if matches!(text.as_str(), "true" | "True"))
    }

    /// The factor of a name, if there is one number of it that changes something.
    fn factor(&self, name: &str, neutral: f64) -> Option<Declared> {
        match self.numbers(name).as_slice() {
            [one] if one.float() != neutral => Some(*one),
            _ => None,
        }
    }

    fn reading(&self, elements: &Datatype) -> Reading {
        let (scale, offset) = (self.factor("scale_factor", 1.0), self.factor("add_offset", 0.0));
        let singles = self.literals("grid_float32");
        let is_single = |name: &str| singles.iter().any(|one| matches!(one, Literal::Text(text) if text == name));
        // As numpy has it: the type that holds elements and factors.
        let is_short =
            matches!(elements, Datatype::Int8 | Datatype::Uint8 | Datatype::Int16 | Datatype::Uint16 | Datatype::Float32);
        let wide = |declared: Option<Declared>, name: &str| matches!(declared, Some(Declared::Float(_))) && !is_single(name);
        let is_wide = wide(scale, "scale_factor") || wide(offset, "add_offset") || !is_short;
        let float = if is_wide { Datatype::Float64 } else { Datatype::Float32 };
        match (scale, offset) {
            (None, None) => Reading::Stored,
            (Some(Declared::Int(_)) | None, Some(Declared::Int(_)) | None) if elements.is_integer() => {
                let whole = |declared: Option<Declared>, neutral: i64| match declared {
                    Some(Declared::Int(n)) => i64::try_from(n).ok(),
                    _ => Some(neutral),
                };
                match (whole(scale, 1), whole(offset, 0)) {
                    (Some(scale), Some(offset)) => Reading::Whole { scale, offset },
                    _ => Reading::Stored,
                }
            }
            _ => Reading::Linear {
                scale: scale.map_or(1.0, Declared::float),
                offset: offset.map_or(0.0, Declared::float),
                into: float,
            },
        }
    }

    /// Returns the marks of missing elements. Numbers that the datatype does not have mark none.
    fn missing(&self, datatype: &Datatype, is_unsigned: bool) -> Vec<Missing> {
        let numbers = |name: &str| -> Vec<Declared> {
            let all = self.numbers(name).into_iter();
            all.map(|number| if is_unsigned { same_bits(number, datatype) } else { number }).collect()
        };
        let names = ["_FillValue", "missing_value", "GDAL_NODATA"].into_iter();
        let mut missing: Vec<Missing> = names.flat_map(numbers).map(Missing::Equal).collect();
        let (low, high) = match numbers("valid_range").as_slice() {
            [low, high] => (Some(*low), Some(*high)),
            _ => (numbers("valid_min").first().copied(), numbers("valid_max").first().copied()),
        };
        missing.extend(low.map(Missing::Below));
        missing.extend(high.map(Missing::Above));
        missing
    }
}

/// A signed number of an attribute as the unsigned one that has its bits.
fn same_bits(declared: Declared, datatype: &Datatype) -> Declared {
    match declared {
        Declared::Int(n @ ..0) => Declared::Int(n + (1i128 << datatype.item_size().saturating_mul(8).min(64))),
        other => other,
    }
}

/// A number, or a text that is one, as GDAL writes it.
fn number(literal: &Literal) -> Option<Declared> {
    match literal {
        Literal::Integer(n) => Some(Declared::Int((*n).into())),
        Literal::Float(x) => Some(Declared::Float(*x)),
        Literal::Text(text) => {
            let text = read_own(text);
            let text = text.trim();
            let whole = text.parse::<i128>().ok().map(Declared::Int);
            whole.or_else(|| text.parse::<f64>().ok().map(Declared::Float))
        }
    }
}
