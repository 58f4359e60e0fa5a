//! The physical values of an array, by the attributes of the conventions of netCDF: `scale_factor`, `add_offset`,
//! `_FillValue`, `missing_value`, `valid_range`, `valid_min`, `valid_max`, `_Unsigned`; and by `GDAL_NODATA` of a
//! TIFF file. Another attribute is the fill value of the library that wrote the file, which counts if there is no `_FillValue`; of a
//! struct, it is a list of members, each with its value. One more has a scale and an offset for each sample of an image, and
//! the last one names the mask page of an image, in place of the number of no data.
//!
//! Files of other formats are read so, as the netCDF4 package does with `set_auto_maskandscale`. A layout that a
//! user writes has no such conventions.

use super::dudley_file::DudleyFile;
use super::item_tree::{ItemTreeId, OutlineKind, StreamOutline};
use std::sync::Arc;

use crate::array::attribute::{AttributeRole, AttributeValue, ItemAttribute};
use crate::array::{Array, Datatype, Field, Mask, StructType, physical};
use crate::array::{DeclaredNumber, MissingRule, ValueDecoding, ValueTransform};
use crate::bytes::to_usize;
use crate::error::{Error, Result};
use crate::layout::{
    Attribute, ItemId, Layout, LayoutEntry, LayoutLiteral, LibraryFill, StorageField, is_attribute_type, read_value,
    selected_attributes, split_attribute_type, stated_attribute_type,
};

impl DudleyFile {
    /// Returns the array of an entry. If the array ends after the end of the file, it has the part before the end. In a file of
    /// another format, it has the physical values.
    ///
    /// # Errors
    /// Returns the errors of [`DudleyFile::array_at`].
    pub fn array_of(&self, entry: &LayoutEntry) -> Result<Array> {
        self.to_physical(entry.item, self.stored_array_of(entry)?).map_err(|e| e.context(entry.path.clone()))
    }

    /// Returns the attributes of an item, with the datatypes that its file states, in the order of the layout. Attributes that
    /// physical elements already follow have the role [`AttributeRole::Applied`]. Words that describe how an array is stored
    /// ([`DudleyFile::storage_attributes`]) are not among them.
    ///
    /// # Errors
    /// Returns the errors of [`DudleyFile::outline`].
    pub fn attributes(&self, id: ItemTreeId) -> Result<Vec<ItemAttribute>> {
        self.selected_attributes(id, &|_| true)
    }

    /// Does the same as [`DudleyFile::attributes`] for the attributes whose names fit; no other one is read.
    ///
    /// # Errors
    /// Returns the errors of [`DudleyFile::attributes`].
    #[doc(hidden)]
    pub fn selected_attributes(&self, id: ItemTreeId, fits: &dyn Fn(&str) -> bool) -> Result<Vec<ItemAttribute>> {
        let outline = self.outline()?;
        let Some(item) = outline.item(id) else { return Ok(Vec::new()) };
        let datatype = match outline.kind(id) {
            OutlineKind::Data(entry) => self.stored_array_of(entry).ok().map(|array| array.datatype().clone()),
            _ => None,
        };
        let mut all = selected_attributes(self.layout(), item, datatype.as_ref(), fits);
        if let Some(datatype) = datatype.filter(|_| self.is_physical)
            && !value_decodings(&AttributeValues::new(self.layout(), item), &datatype).is_empty()
        {
            let applied = applied_names(&AttributeValues::new(self.layout(), item), &datatype);
            for attribute in all.iter_mut().filter(|attribute| applied.contains(&attribute.name.as_str())) {
                attribute.role = AttributeRole::Applied;
            }
        }
        for (name, id) in outline.attribute_items(id).filter(|(name, _)| fits(name)) {
            if let Some(value) = self.item_value(outline, id)? {
                all.push(ItemAttribute::new(name, value));
            }
        }
        Ok(all)
    }

    /// Returns an item as the value of an attribute: an array, or nested lists of arrays, which are no deeper than the layout. `None` for
    /// any other item.
    fn item_value(&self, outline: &StreamOutline, id: ItemTreeId) -> Result<Option<AttributeValue>> {
        match outline.kind(id) {
            OutlineKind::Data(entry) => match self.array_of(entry).and_then(|array| self.decoded(&array)) {
                Ok(array) => Ok(Some(AttributeValue::Array(Box::new(array)))),
                Err(error) if error.kind().is_transient() => Err(error),
                Err(why) => Ok(Some(AttributeValue::Unreadable(Arc::new(why)))),
            },
            OutlineKind::List => {
                let children = outline.children(id).into_iter().map(|(_, child)| self.item_value(outline, child));
                Ok(Some(AttributeValue::List(children.filter_map(Result::transpose).collect::<Result<_>>()?)))
            }
            _ => Ok(None),
        }
    }

    /// Returns the names of the attributes that the physical elements of an entry follow, and of those that describe these.
    #[doc(hidden)]
    pub fn applied_attributes(&self, entry: &LayoutEntry) -> Vec<&str> {
        let Ok(stored) = self.stored_array_of(entry) else { return Vec::new() };
        let mut names = applied_names(&AttributeValues::new(self.layout(), entry.item), stored.datatype());
        let about =
            self.layout().plain_attributes(entry.item).filter_map(|(name, _)| Some((name, split_attribute_type(name)?.1)));
        let about: Vec<&str> = about.filter(|(_, about)| names.contains(about)).map(|(name, _)| name).collect();
        names.extend(about);
        names
    }

    /// Returns `true` if the elements of an entry are not the stored ones.
    pub fn has_meaning(&self, entry: &LayoutEntry) -> bool {
        self.is_physical && !AttributeValues::new(self.layout(), entry.item).is_empty()
    }

    /// Returns `true` if the physical values of an entry are not the stored ones. NaN that marks NaN changes none, and
    /// neither does the fill value that every file of a library has.
    pub fn is_packed(&self, entry: &LayoutEntry) -> bool {
        if !self.has_meaning(entry) {
            return false;
        }
        let is_nan = |missing: &MissingRule| matches!(missing, MissingRule::Equal(number) if number.float().is_nan());
        if self.layout().sample_factors(entry.item).is_ok_and(|factors| factors.is_some()) {
            return true;
        }
        let same =
            |meaning: &ValueDecoding| meaning.transform == ValueTransform::Identity && meaning.missing_rules.iter().all(is_nan);
        let Ok(stored) = self.stored_array_of(entry) else { return false };
        let given = AttributeValues { library_fill: None, ..AttributeValues::new(self.layout(), entry.item) };
        !value_decodings(&given, stored.datatype()).iter().all(same)
    }

    /// The conversion of an array by the factors of its samples, which are along the axis of this name.
    fn build_sample_reading(&self, item: ItemId, factors: Vec<(f64, f64)>, stored: &Array) -> Result<ValueTransform> {
        let datatype = stored.datatype();
        let is_number = datatype.is_integer() || matches!(datatype, Datatype::Float32 | Datatype::Float64);
        if !is_number || factors.iter().any(|(scale, offset)| !scale.is_finite() || !offset.is_finite()) {
            let message = format!("{datatype} samples with scale and offset (the values {factors:?})");
            return Err(Error::unsupported(message).hint("--stored (Python: stored=True) gives the stored numbers"));
        }
        let dims = self.layout().declared_dims(item).filter(|dims| dims.len() == stored.shape().len());
        let axis = dims.and_then(|dims| dims.iter().position(|name| name == "sample"));
        let after = axis.and_then(|axis| stored.shape().get(axis..)).and_then(<[u64]>::split_first);
        match after {
            Some((samples, inner)) if *samples == factors.len() as u64 => {
                Ok(ValueTransform::Each { factors, inner: inner.iter().fold(1, |n, len| n.saturating_mul(*len)) })
            }
            _ => Err(Error::malformed(format!(
                "the layout has scales and offsets of {} samples, which the array has not",
                factors.len()
            ))),
        }
    }

    /// Returns `true` if an entry has missing elements that only the library of its format knows, since its attributes declare
    /// nothing about them: elements of netCDF that were never written, or durations. Arrays that may have some are read.
    ///
    /// # Errors
    /// Returns the errors of [`DudleyFile::array_of`], and of reading all elements.
    pub fn is_filled(&self, entry: &LayoutEntry) -> Result<bool> {
        let has_fill = || self.layout().library_fill(entry.item).is_some();
        if !self.is_physical || !has_fill() || self.is_packed(entry) {
            return Ok(false);
        }
        Ok(self.array_of(entry)?.masked_count()? > 0)
    }

    /// The array of an item with the values that its attributes declare.
    pub(super) fn to_physical(&self, item: ItemId, stored: Array) -> Result<Array> {
        if !self.is_physical {
            return Ok(stored);
        }
        if stored.datatype().as_struct().is_some() {
            let stored = self.decode_declared(item, stored)?;
            let Datatype::Struct(fields) = stored.datatype() else { return Ok(stored) };
            return match of_members(self.layout().library_fill(item), fields)? {
                Some(meanings) => physical(&stored, &meanings),
                None => Ok(stored),
            };
        }
        let mut meanings = value_decodings(&AttributeValues::new(self.layout(), item), stored.datatype());
        if let Some(factors) = self.layout().sample_factors(item)?.map(<[_]>::to_vec) {
            let missing = meanings.pop().map_or_else(Vec::new, |meaning| meaning.missing_rules);
            meanings
                .push(ValueDecoding { transform: self.build_sample_reading(item, factors, &stored)?, missing_rules: missing });
        }
        let array = meanings.into_iter().try_fold(stored, |array, meaning| physical(&array, &[meaning]))?;
        let array = self.decode_declared(item, array)?;
        self.with_mask_page(item, array)
    }

    /// The array of an item with the mask page that its attributes name; unchanged if they name none.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) for a mask that does not fit, and an error if it cannot be read.
    #[doc(hidden)]
    pub fn with_mask_page(&self, item: ItemId, array: Array) -> Result<Array> {
        let Some(path) = self.layout().mask_path(item)? else { return Ok(array) };
        let wrong = || Error::malformed(format!("the mask page {path} is not an array of integers that fits"));
        let outline = self.outline()?;
        let Some(OutlineKind::Data(entry)) = outline.find(path)?.map(|id| outline.kind(id)) else {
            return Err(wrong());
        };
        let valid = self.stored_array_of(entry)?;
        if !valid.datatype().is_integer() || valid.datatype().is_signed() {
            return Err(wrong());
        }
        let zeros = ValueDecoding {
            transform: ValueTransform::Identity,
            missing_rules: vec![MissingRule::Below(DeclaredNumber::Int(1))],
        };
        let Some(Mask::Array(zeros)) = physical(&valid, &[zeros])?.mask().cloned() else { return Err(wrong()) };
        let samples = self.layout().declared_dims(item).and_then(|dims| dims.iter().position(|dim| dim == "sample"));
        let (mut shape, mut strides) = (zeros.shape().to_vec(), zeros.strides().to_vec());
        if let Some(at) = samples.filter(|at| shape.len() + 1 == array.shape().len() && *at <= shape.len()) {
            // The mask of a pixel is that of each of its samples.
            shape.insert(at, array.shape().get(at).copied().unwrap_or_default());
            strides.insert(at, 0);
        }
        if shape != array.shape() {
            return Err(wrong());
        }
        let (source, datatype) = (zeros.source().clone(), zeros.datatype().clone());
        let mask = Array::strided(source, zeros.offset(), datatype, zeros.byteorder(), shape, strides)?;
        let mask = mask.with_limits(Arc::clone(zeros.limits()));
        array.with_mask(Mask::Array(Arc::new(mask)))
    }

    /// Returns `true` if the attributes of an entry name a mask page.
    #[doc(hidden)]
    pub fn has_mask_page(&self, entry: &LayoutEntry) -> bool {
        self.layout().mask_path(entry.item).is_ok_and(|path| path.is_some())
    }
}

/// The attributes that say what elements mean.
const CF_ATTRIBUTES: &[&str] = &[
    "scale_factor",
    "add_offset",
    "_FillValue",
    "missing_value",
    "valid_range",
    "valid_min",
    "valid_max",
    "_Unsigned",
    "GDAL_NODATA",
];

/// Returns `true` if an attribute defines the meaning of elements.
fn is_applied(name: &str) -> bool {
    CF_ATTRIBUTES.contains(&name)
}

/// Returns the names of the attributes and properties that physical elements of a datatype follow. An attribute whose value means
/// nothing for these elements is not among them.
fn applied_names<'a>(said: &AttributeValues<'a>, stored: &Datatype) -> Vec<&'a str> {
    let is_followed = |name: &str| match name {
        "valid_range" => said.missing_values(name, stored, None).is_some_and(|limits| limits.len() == 2),
        "_FillValue" | "missing_value" | "valid_min" | "valid_max" => said.missing_values(name, stored, None).is_some(),
        "scale_factor" | "add_offset" => said.parse_factor("scale_factor").is_ok() && said.parse_factor("add_offset").is_ok(),
        "_Unsigned" => said.is_unsigned() && stored.is_signed(),
        "GDAL_NODATA" => !said.has_mask_page && !said.numbers(name).is_empty(),
        name => is_applied(name),
    };
    said.attributes.iter().map(|(name, _)| *name).filter(|name| is_followed(name)).chain(said.words.iter().copied()).collect()
}

/// Returns the declarations of the attributes of an array about elements of its datatype, one after the other.
fn value_decodings(said: &AttributeValues<'_>, datatype: &Datatype) -> Vec<ValueDecoding> {
    let is_number = datatype.is_integer() || matches!(datatype, Datatype::Float32 | Datatype::Float64);
    if !is_number || said.is_empty() {
        return Vec::new();
    }
    let is_turned = said.is_unsigned() && datatype.is_signed();
    let unsigned = if is_turned { Datatype::numeric('u', datatype.item_size()) } else { None };
    let elements = unsigned.as_ref().unwrap_or(datatype);
    let last = ValueDecoding {
        transform: said.value_transform(elements),
        missing_rules: said.missing_rules(datatype, unsigned.as_ref()),
    };
    let first = unsigned
        .clone()
        .map(|unsigned| ValueDecoding { transform: ValueTransform::Reinterpret(unsigned), missing_rules: Vec::new() });
    first.into_iter().chain(Some(last)).filter(|meaning| !meaning.is_stored()).collect()
}

/// Returns the declarations about the members of structs, one for each member; `None` if there are none.
fn of_members(fill: Option<&LibraryFill>, fields: &StructType) -> Result<Option<Vec<ValueDecoding>>> {
    let Some(LibraryFill::Members(members)) = fill else { return Ok(None) };
    let mut meanings = vec![ValueDecoding::IDENTITY; fields.fields().len()];
    for (member, number) in members {
        let missing = MissingRule::Equal(*number);
        let Some((at, missing)) = member_of(fields, member, missing)? else {
            return Err(Error::malformed(format!("a fill value is that of the member {member}, which the structs have not")));
        };
        if let Some(meaning) = meanings.get_mut(at) {
            meaning.missing_rules.push(missing);
        }
    }
    Ok(Some(meanings))
}

/// The number of the member of a struct that a path leads to or through, and the mark as one of that member. As deep as types nest.
fn member_of(fields: &StructType, path: &str, missing: MissingRule) -> Result<Option<(usize, MissingRule)>> {
    for (number, field) in fields.fields().iter().enumerate() {
        let Some(rest) = field.name.as_deref().and_then(|name| path.strip_prefix(name)) else { continue };
        match (&field.datatype, rest.strip_prefix('.')) {
            (_, None) if rest.is_empty() => return Ok(Some((number, missing))),
            (Datatype::Struct(inner), Some(rest)) => {
                let Some((at, missing)) = member_of(inner, rest, missing.clone())? else { continue };
                let width = |field: &Field| {
                    Ok((field.count() * field.datatype.packed_size(), field.count() * field.datatype.flags()?.packed_size()))
                };
                let widths = inner.fields().iter().map(width).collect::<Result<Vec<(u64, u64)>>>()?;
                let sum = |widths: &[(u64, u64)]| -> Result<(usize, usize)> {
                    let add = |(a, b): (u64, u64), (c, d): &(u64, u64)| (a.saturating_add(*c), b.saturating_add(*d));
                    let (bytes, flags) = widths.iter().fold((0, 0), add);
                    Ok((to_usize(bytes)?, to_usize(flags)?))
                };
                let (start, end) = (sum(widths.get(..at).unwrap_or(&[]))?, sum(widths.get(..=at).unwrap_or(&[]))?);
                let (size, flags) = sum(&widths)?;
                let datatype = inner.fields().get(at).map_or(Datatype::Uint8, |field| field.datatype.clone());
                let (at, flag) = (start.0..end.0, start.1..end.1);
                return Ok(Some((number, MissingRule::Member { size, flags, at, flag, datatype, missing: Box::new(missing) })));
            }
            _ => {}
        }
    }
    Ok(None)
}

/// The attributes and properties of an item that say what its elements mean.
struct AttributeValues<'a> {
    /// The attributes of the conventions, and the datatypes of attributes.
    attributes: Vec<(&'a str, Attribute)>,
    /// The names of the properties.
    words: Vec<&'a str>,
    library_fill: Option<&'a LibraryFill>,
    has_mask_page: bool,
    /// The attributes that are numbers of 32 bits, and integers of a datatype.
    float32: &'a [String],
    integers: &'a [(String, Datatype)],
}

impl<'a> AttributeValues<'a> {
    fn new(layout: &'a Layout, item: ItemId) -> Self {
        let attributes = layout.plain_attributes(item).filter(|(name, _)| is_applied(name) || is_attribute_type(name));
        let mut all = Self {
            attributes: attributes.map(|(name, said)| (name, read_value(said))).collect(),
            words: Vec::new(),
            library_fill: None,
            has_mask_page: false,
            float32: &[],
            integers: &[],
        };
        for field in layout.storage_fields(item) {
            match field {
                StorageField::LibraryFill(fill) => all.library_fill = Some(fill),
                StorageField::MaskPath(_) => all.has_mask_page = true,
                StorageField::Float32Attributes(names) => all.float32 = names,
                StorageField::IntegerAttributes(pairs) => all.integers = pairs,
                StorageField::SampleFactors(_) => {}
                _ => continue,
            }
            all.words.push(field.word());
        }
        all
    }

    /// Returns `true` if nothing says what elements mean.
    fn is_empty(&self) -> bool {
        self.words.is_empty() && self.attributes.iter().all(|(name, _)| is_attribute_type(name))
    }

    fn find_literals(&self, name: &str) -> &[LayoutLiteral] {
        match self.attributes.iter().rev().find(|(known, _)| *known == name) {
            Some((_, Attribute::Value(value))) => std::slice::from_ref(value),
            Some((_, Attribute::List(list))) => list,
            _ => &[],
        }
    }

    /// The numbers of an attribute; a string may be one.
    fn numbers(&self, name: &str) -> Vec<DeclaredNumber> {
        self.find_literals(name).iter().filter_map(parse_number).collect()
    }

    /// The numbers of an attribute that marks stored elements, as elements of their type. As the netCDF4 package has it, an
    /// attribute of which that type does not have every number marks nothing.
    fn missing_values(&self, name: &str, stored: &Datatype, unsigned: Option<&Datatype>) -> Option<Vec<DeclaredNumber>> {
        let literals = self.find_literals(name);
        let numbers: Vec<DeclaredNumber> =
            literals.iter().filter_map(typed_number).filter(|number| fits(*number, stored)).collect();
        let bits = |number| unsigned.map_or(number, |unsigned| same_bits(number, unsigned));
        (numbers.len() == literals.len() && !numbers.is_empty()).then(|| numbers.into_iter().map(bits).collect())
    }

    fn is_unsigned(&self) -> bool {
        matches!(self.find_literals("_Unsigned"), [LayoutLiteral::Text(text)] if matches!(text.as_str(), "true" | "True"))
    }

    /// The factor of a name, if there is one; an error if it is not one number.
    fn parse_factor(&self, name: &str) -> std::result::Result<Option<DeclaredNumber>, ()> {
        match (self.find_literals(name), self.numbers(name).as_slice()) {
            ([], _) => Ok(None),
            ([_], [one]) => Ok(Some(*one)),
            _ => Err(()),
        }
    }

    /// The datatype of a factor in the file.
    fn type_of(&self, name: &str, factor: DeclaredNumber) -> Datatype {
        let typed = self.attributes.iter().map(|(name, said)| (*name, said));
        if let Some(stated) = stated_attribute_type(typed, name) {
            match factor {
                DeclaredNumber::Int(_) if stated.is_integer() => return stated,
                DeclaredNumber::Float(_) if matches!(stated, Datatype::Float32 | Datatype::Float64) => return stated,
                _ => {}
            }
        }
        let integer = self.integers.iter().find(|(known, _)| known == name).map(|(_, typed)| typed.clone());
        match factor {
            DeclaredNumber::Int(_) => integer.unwrap_or(Datatype::Int64),
            DeclaredNumber::Float(_) if self.float32.iter().any(|known| known == name) => Datatype::Float32,
            DeclaredNumber::Float(_) => Datatype::Float64,
        }
    }

    /// The datatype of `elements * scale_factor + add_offset`: the one that numpy has for elements and factors.
    fn value_transform(&self, elements: &Datatype) -> ValueTransform {
        let (Ok(scale), Ok(offset)) = (self.parse_factor("scale_factor"), self.parse_factor("add_offset")) else {
            return ValueTransform::Identity;
        };
        let is_neutral = scale.is_none_or(|n| n.float() == 1.0) && offset.is_none_or(|n| n.float() == 0.0);
        let (by, plus) = (scale.map(|n| self.type_of("scale_factor", n)), offset.map(|n| self.type_of("add_offset", n)));
        let into = match (by, plus) {
            // Elements get the type of the factor, although it changes no value, if that type has them.
            (Some(by), Some(_)) if is_neutral => {
                if by.is_float() || common_float(elements, &by) == by {
                    by
                } else {
                    return ValueTransform::Identity;
                }
            }
            _ if is_neutral => return ValueTransform::Identity,
            (by, plus) => by.into_iter().chain(plus).fold(elements.clone(), |into, factor| common_float(&into, &factor)),
        };
        if is_neutral && into == *elements {
            return ValueTransform::Identity;
        }
        let whole = |declared: Option<DeclaredNumber>, neutral: i64| match declared {
            Some(DeclaredNumber::Int(n)) => i64::try_from(n).ok(),
            Some(DeclaredNumber::Float(_)) => None,
            None => Some(neutral),
        };
        match (whole(scale, 1), whole(offset, 0)) {
            (Some(scale), Some(offset)) if into.is_integer() => ValueTransform::LinearInteger { scale, offset, into },
            _ => {
                let (scale, offset) = (scale.map_or(1.0, DeclaredNumber::float), offset.map_or(0.0, DeclaredNumber::float));
                ValueTransform::Linear { scale, offset, into: if into.is_integer() { Datatype::Float64 } else { into } }
            }
        }
    }

    /// Returns the marks of missing elements. Without a `_FillValue` the fill value of the library is one; elements that are
    /// read as unsigned never have it.
    fn missing_rules(&self, stored: &Datatype, unsigned: Option<&Datatype>) -> Vec<MissingRule> {
        let marks = |name: &str| self.missing_values(name, stored, unsigned);
        let unset = || match self.library_fill {
            Some(LibraryFill::Numbers(numbers)) if unsigned.is_none() => numbers.clone(),
            _ => Vec::new(),
        };
        // A mask page counts in place of the number of no data, as GDAL has it.
        let no_data = if self.has_mask_page { Vec::new() } else { self.numbers("GDAL_NODATA") };
        let equal = [marks("missing_value").unwrap_or_default(), marks("_FillValue").unwrap_or_else(unset), no_data];
        let mut missing: Vec<MissingRule> = Vec::new();
        for number in equal.into_iter().flatten() {
            if !missing.contains(&MissingRule::Equal(number)) {
                missing.push(MissingRule::Equal(number));
            }
        }
        let (low, high) = match marks("valid_range").as_deref() {
            Some([low, high]) => (Some(*low), Some(*high)),
            _ => {
                let one = |name: &str| marks(name).and_then(|numbers| numbers.first().copied());
                (one("valid_min"), one("valid_max"))
            }
        };
        missing.extend(low.map(MissingRule::Below));
        missing.extend(high.map(MissingRule::Above));
        missing
    }
}

/// The datatype that numpy has for results of two numbers: the smallest that holds both, where 64 bits of a float hold any
/// integer.
fn common_float(a: &Datatype, b: &Datatype) -> Datatype {
    if a == b {
        return a.clone();
    }
    let (wide, narrow) = if a.item_size() >= b.item_size() { (a, b) } else { (b, a) };
    match (a.is_float() || b.is_float(), wide.item_size()) {
        (true, _) => {
            let is_short =
                |datatype: &Datatype| *datatype == Datatype::Float32 || datatype.is_integer() && datatype.item_size() <= 2;
            if is_short(a) && is_short(b) { Datatype::Float32 } else { Datatype::Float64 }
        }
        (false, _) if wide.is_signed() == narrow.is_signed() => wide.clone(),
        (false, size) if wide.is_signed() && size > narrow.item_size() => wide.clone(),
        (false, 1) => Datatype::Int16,
        (false, 2) => Datatype::Int32,
        (false, 4) => Datatype::Int64,
        (false, _) => Datatype::Float64,
    }
}

/// Returns `true` if a datatype has a number exactly.
fn fits(number: DeclaredNumber, datatype: &Datatype) -> bool {
    match datatype {
        Datatype::Float32 => {
            let float = number.float();
            float.is_nan() || f64::from(float as f32) == float
        }
        Datatype::Float64 => true,
        whole => number.integer_in(whole).is_some(),
    }
}

/// A signed number of an attribute as the unsigned one that has its bits.
fn same_bits(declared: DeclaredNumber, datatype: &Datatype) -> DeclaredNumber {
    match declared {
        DeclaredNumber::Int(n @ ..0) => DeclaredNumber::Int(n + (1i128 << datatype.item_size().saturating_mul(8).min(64))),
        other => other,
    }
}

/// A number, or a text that is one, as GDAL writes it.
fn parse_number(literal: &LayoutLiteral) -> Option<DeclaredNumber> {
    typed_number(literal).or_else(|| match literal {
        LayoutLiteral::Text(text) => DeclaredNumber::from_text(text),
        _ => None,
    })
}

/// A number.
fn typed_number(literal: &LayoutLiteral) -> Option<DeclaredNumber> {
    match literal {
        LayoutLiteral::Integer(n) => Some(DeclaredNumber::Int((*n).into())),
        LayoutLiteral::Large(digits) => digits.parse().ok().map(DeclaredNumber::Int),
        LayoutLiteral::Float(x) => Some(DeclaredNumber::Float(*x)),
        LayoutLiteral::Text(_) | LayoutLiteral::Bytes(_) => None,
    }
}
