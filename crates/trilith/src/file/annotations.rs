//! The mapping `annotations` of a tree as attributes of items, and attributes as entries of the mapping.

use std::borrow::Cow;
use std::sync::Arc;

use crate::array::attribute::{AttributeValue, EnumNames, ItemAttribute, NumberValue};
use crate::array::{Array, Byteorder, Datatype};
use crate::asdf::annotations::{AttributeEntry, ItemAnnotation};
use crate::asdf::inline_read;
use crate::bytes::{MemorySource, base64, from_base64};
use crate::layout::{
    BYTES_TYPE, DIMS_ATTRIBUTE, ELEMENT_ATTRIBUTES, EMPTY_TYPE, ENUM_NAMES_PREFIX, ENUM_VALUES_PREFIX, FLOAT32_ATTRIBUTE,
    INTEGERS_ATTRIBUTE, REFERENCE_TYPE, TYPE_PREFIX, TYPES_ATTRIBUTE, attribute_name as layout_attribute_name, is_attribute_type,
    marked_name, own_attribute, read_own, split_attribute_type,
};
use crate::tree::{Value, ValueData};

/// The attributes of a layout with the names and the values of an enumeration.
const ENUM_NAMES: &str = "enum_names";
const ENUM_VALUES: &str = "enum_values";

/// A mapping with this key is a reference, for every reader of ASDF.
const REFERENCE_KEY: &str = "$ref";
/// The tag of complex numbers.
const COMPLEX_TAG: &str = "tag:stsci.edu:asdf/core/complex-1.0.0";
/// The start of a name with a mark.
const MARK: &str = "own:";

/// Returns the key of an attribute in the mapping: its name, with a mark if the name means something there.
pub(crate) fn attribute_key(name: &str) -> Cow<'_, str> {
    if name == REFERENCE_KEY || name.starts_with(MARK) || ELEMENT_ATTRIBUTES.contains(&name) || is_attribute_type(name) {
        return Cow::Owned(marked_name(name));
    }
    Cow::Borrowed(name)
}

/// Returns the key of an attribute of a layout in the mapping, by the name that the layout spells; None for a word about the elements.
pub(crate) fn layout_attribute_key(spelled: &str) -> Option<String> {
    if let Some((prefix, about)) = split_attribute_type(spelled) {
        return Some(format!("{prefix}{}", attribute_key(&layout_attribute_name(about)?)));
    }
    Some(attribute_key(&layout_attribute_name(spelled)?).into_owned())
}

/// Returns the name of an attribute by its key in the mapping.
pub(crate) fn attribute_name(key: &str) -> Cow<'_, str> {
    if key.starts_with(MARK) { read_own(key) } else { Cow::Borrowed(key) }
}

impl AttributeEntry {
    /// Returns the entry of an attribute; None for an array of structs, for which the mapping has no place, and for one that cannot be
    /// read.
    pub(crate) fn from_attribute(attribute: &ItemAttribute) -> Option<Self> {
        let value = plain_value(&attribute.value)?;
        let mut entry = Self::new(attribute_key(&attribute.name), value);
        match (&attribute.value, first_element(&attribute.value)) {
            (_, Some(AttributeValue::Number(number))) => {
                entry.datatype = Some(number.datatype.name().to_owned());
                let names = number.names.iter().flat_map(|names| &names.0);
                entry.names = names.map(|(name, value)| (name.clone(), whole_value(*value))).collect();
            }
            (AttributeValue::Reference(path), _) => entry.reference = Some(path.clone()),
            (_, Some(AttributeValue::Reference(_))) => entry.datatype = Some(REFERENCE_TYPE.to_owned()),
            (AttributeValue::Array(array), _) if !array.datatype().is_text() => {
                entry.datatype = Some(array.datatype().name().to_owned());
            }
            _ => {}
        }
        (entry.comment, entry.unit) = (attribute.comment.clone(), attribute.unit.clone());
        Some(entry)
    }
}

/// The first value of nested lists, or the value itself.
fn first_element(value: &AttributeValue) -> Option<&AttributeValue> {
    let mut value = value;
    while let AttributeValue::List(values) = value {
        value = values.first()?;
    }
    Some(value)
}

/// A whole number, also beyond 64 bits.
fn whole_value(value: i128) -> Value {
    i64::try_from(value).map_or_else(|_| Value::from(ValueData::BigInt(value.to_string())), Value::from)
}

/// The value of an attribute as one of a tree, an array as nested lists; None for an array of structs, or one that cannot be read.
fn plain_value(value: &AttributeValue) -> Option<Value> {
    Some(match value {
        AttributeValue::Bool(value) => Value::from(*value),
        AttributeValue::Text(text) | AttributeValue::Reference(text) => Value::from(text.as_str()),
        AttributeValue::Bytes(bytes) => Value::binary(base64(bytes)),
        AttributeValue::Number(number) => match number.value {
            NumberValue::Int(value) => whole_value(value),
            NumberValue::Float(value) => Value::from(value),
            _ => Value::from(number.to_string()).tagged(COMPLEX_TAG),
        },
        AttributeValue::List(values) => Value::seq(values.iter().map(plain_value).collect::<Option<Vec<_>>>()?).flow(),
        AttributeValue::Unreadable(_) => return None,
        AttributeValue::Array(array) if array.datatype().as_struct().is_some() => return None,
        AttributeValue::Array(_) => plain_value(&value.to_lists().ok()?)?,
        _ => Value::null(),
    })
}

impl ItemAnnotation {
    /// Takes in an attribute of an item as a layout has it: the names of axes, an enumeration and datatypes have their own place.
    pub(crate) fn push_layout_attribute(&mut self, entry: AttributeEntry) {
        match entry.name.as_str() {
            DIMS_ATTRIBUTE => {
                let name = |name: &Value| name.as_str().filter(|name| !name.is_empty()).map(str::to_owned);
                self.axes = entry.value.items().iter().map(name).collect();
            }
            _ => self.attributes.push(entry),
        }
    }

    /// Moves the words of a layout about other attributes to these attributes.
    pub(crate) fn collect_layout_words(&mut self) {
        self.collect_attribute_types();
        for word in [FLOAT32_ATTRIBUTE, INTEGERS_ATTRIBUTE, TYPES_ATTRIBUTE] {
            let Some(at) = self.attributes.iter().position(|entry| entry.name == word) else { continue };
            let list: Vec<String> =
                self.attributes.remove(at).value.items().iter().filter_map(|text| Some(text.as_str()?.to_owned())).collect();
            let step = if word == FLOAT32_ATTRIBUTE { 1 } else { 2 };
            for pair in list.chunks(step) {
                let [name, rest @ ..] = pair else { continue };
                let datatype = rest.first().map_or("float32", String::as_str);
                if let Some(entry) = self.attributes.iter_mut().find(|entry| entry.name == *name) {
                    entry.datatype = Some(datatype.to_owned());
                }
            }
        }
        self.collect_unit();
        let list = |name: &str| self.attributes.iter().find(|entry| entry.name == name).map(|entry| entry.value.items());
        let (Some(names), Some(values)) = (list(ENUM_NAMES), list(ENUM_VALUES)) else { return };
        let named: Vec<(String, Value)> =
            names.iter().zip(values).filter_map(|(name, value)| Some((name.as_str()?.to_owned(), value.clone()))).collect();
        let is_unique = (1..named.len()).all(|at| named[..at].iter().all(|(known, _)| *known != named[at].0));
        if named.len() == names.len() && names.len() == values.len() && is_unique {
            self.enumeration = named;
            self.attributes.retain(|entry| !matches!(entry.name.as_str(), ENUM_NAMES | ENUM_VALUES));
        }
    }

    /// Moves the datatypes of attributes, and the names of their values, to these attributes.
    fn collect_attribute_types(&mut self) {
        let described = |name: &str| split_attribute_type(name).map(|(prefix, name)| (prefix, name.to_owned()));
        let is_there = |list: &[AttributeEntry], name: &str| list.iter().any(|entry| entry.name == name);
        let (words, rest): (Vec<_>, Vec<_>) = std::mem::take(&mut self.attributes)
            .into_iter()
            .map(|entry| (described(&entry.name), entry))
            .partition(|(about, _)| about.is_some());
        self.attributes = rest.into_iter().map(|(_, entry)| entry).collect();
        for (about, word) in words {
            let Some((prefix, name)) = about else { continue };
            if !is_there(&self.attributes, &name) {
                self.attributes.push(word);
                continue;
            }
            let Some(entry) = self.attributes.iter_mut().find(|entry| entry.name == name) else { continue };
            match (prefix, word.value.as_str()) {
                (TYPE_PREFIX, Some(REFERENCE_TYPE)) if entry.value.as_str().is_some() => {
                    entry.reference = entry.value.as_str().map(str::to_owned);
                }
                (TYPE_PREFIX, Some(BYTES_TYPE)) => {
                    let bytes = |value: &Value| match value.as_str().filter(|_| !value.is_binary()) {
                        Some(text) => Value::binary(base64(text.as_bytes())),
                        None => value.clone(),
                    };
                    entry.value = match &entry.value.data {
                        ValueData::Seq(items) => Value::seq(items.iter().map(bytes)).flow(),
                        _ => bytes(&entry.value),
                    };
                }
                (TYPE_PREFIX, Some(datatype)) => entry.datatype = Some(datatype.to_owned()),
                (ENUM_NAMES_PREFIX, _) => {
                    let texts = word.value.items().iter().filter_map(Value::as_str);
                    entry.names = texts.map(|text| (text.to_owned(), Value::null())).collect();
                }
                _ => {
                    for (pair, value) in entry.names.iter_mut().zip(word.value.items()) {
                        pair.1 = value.clone();
                    }
                }
            }
        }
    }

    /// Returns the attributes of the item with their datatypes, as those of the other format.
    pub(crate) fn item_attributes(&self) -> Vec<ItemAttribute> {
        let entry = |name: &str| self.attributes.iter().find(|entry| attribute_name(&entry.name) == name);
        let all = self.file_attributes().into_iter().map(|(name, value)| {
            let entry = entry(&name);
            let typed = match entry.and_then(|entry| entry.reference.clone()) {
                Some(path) => AttributeValue::Reference(path),
                None => typed_value(&value, entry),
            };
            let mut attribute = ItemAttribute::new(name.into_owned(), typed);
            attribute.comment = entry.and_then(|entry| entry.comment.clone());
            attribute.unit = entry.and_then(|entry| entry.unit.clone());
            attribute
        });
        all.collect()
    }

    /// Takes the unit from the attributes. An attribute `units` stays, since that is its name in the file.
    pub(crate) fn collect_unit(&mut self) {
        let is_text = |entry: &AttributeEntry| {
            entry.value.as_str().is_some() && !entry.value.is_binary() && entry.datatype.is_none() && entry.reference.is_none()
        };
        let text = |list: &[AttributeEntry], name: &str| list.iter().position(|entry| entry.name == name && is_text(entry));
        match (text(&self.attributes, "unit"), text(&self.attributes, "units")) {
            (Some(at), None) => {
                let value = self.attributes.remove(at).value;
                self.unit = value.as_str().map(str::to_owned);
            }
            (at, units) => {
                let entry = at.or(units).and_then(|at| self.attributes.get(at));
                self.unit = entry.and_then(|entry| entry.value.as_str()).map(str::to_owned).or(self.unit.take());
            }
        }
    }

    /// The attributes that the file of the other format has, by name, in its order. An enumeration is first.
    pub(crate) fn file_attributes(&self) -> Vec<(Cow<'_, str>, Value)> {
        let mut all: Vec<(Cow<'_, str>, Value)> = Vec::new();
        if !self.enumeration.is_empty() {
            let names = Value::seq(self.enumeration.iter().map(|(name, _)| name.as_str())).flow();
            let values = Value::seq(self.enumeration.iter().map(|(_, value)| value.clone())).flow();
            all.extend([(ENUM_NAMES.into(), names), (ENUM_VALUES.into(), values)]);
        }
        let own = self.attributes.iter().filter(|entry| !ELEMENT_ATTRIBUTES.contains(&entry.name.as_str()));
        all.extend(own.map(|entry| (attribute_name(&entry.name), entry.value.clone())));
        let is_unit =
            |name: &str, value: &Value| name == "unit" || name == "units" && value.as_str().is_some() && !value.is_binary();
        if let Some(unit) = &self.unit
            && !all.iter().any(|(name, value)| is_unit(name, value))
        {
            all.push(("unit".into(), Value::from(unit.as_str())));
        }
        all
    }

    /// The words of a layout about the elements and axes.
    pub(crate) fn layout_words(&self) -> Vec<(Cow<'_, str>, Value)> {
        let mut all: Vec<(Cow<'_, str>, Value)> = Vec::new();
        if self.axes.iter().any(Option::is_some) {
            let names = self.axes.iter().map(|name| name.as_deref().unwrap_or(""));
            all.push((DIMS_ATTRIBUTE.into(), Value::seq(names).flow()));
        }
        for entry in &self.attributes {
            let word = |prefix: &str| Cow::Owned(format!("{prefix}{}", own_attribute(&attribute_name(&entry.name))));
            let is_text = |bytes: Vec<u8>| String::from_utf8(bytes).is_ok();
            let is_like_text = |value: &Value| value.is_binary() && value.as_str().and_then(from_base64).is_some_and(is_text);
            let bytes = (is_like_text(&entry.value) || entry.value.items().iter().any(is_like_text)).then_some(BYTES_TYPE);
            let special = entry.reference.as_ref().map(|_| REFERENCE_TYPE).or(bytes);
            if let Some(datatype) = special.or(entry.datatype.as_deref()) {
                all.push((word(TYPE_PREFIX), Value::from(datatype)));
            }
            if !entry.names.is_empty() {
                let (names, values): (Vec<_>, Vec<_>) = entry.names.iter().cloned().unzip();
                all.push((word(ENUM_NAMES_PREFIX), Value::seq(names).flow()));
                all.push((word(ENUM_VALUES_PREFIX), Value::seq(values).flow()));
            }
        }
        let others = self.attributes.iter().filter(|entry| ELEMENT_ATTRIBUTES.contains(&entry.name.as_str()));
        all.extend(others.map(|entry| (Cow::Borrowed(entry.name.as_str()), entry.value.clone())));
        all
    }

    /// The unit of the item.
    pub(crate) fn unit_text(&self) -> Option<&str> {
        let named = || self.attributes.iter().find(|entry| matches!(entry.name.as_str(), "unit" | "units"))?.value.as_str();
        self.unit.as_deref().or_else(named)
    }

    /// The parts of an attribute that [`ItemAnnotation::file_attributes`] and [`ItemAnnotation::layout_words`] leave out, in words.
    pub(crate) fn attribute_details(entry: &AttributeEntry) -> Vec<&'static str> {
        let parts = [(entry.comment.is_some(), "comment"), (entry.unit.is_some(), "unit")];
        parts.into_iter().filter_map(|(is_lost, name)| is_lost.then_some(name)).collect()
    }
}

/// Returns the value of an attribute with the datatype that its entry states.
fn typed_value(value: &Value, entry: Option<&AttributeEntry>) -> AttributeValue {
    let stated = entry.and_then(|entry| entry.datatype.as_deref());
    let names = entry.filter(|entry| !entry.names.is_empty()).map(|entry| {
        let pairs = entry.names.iter().filter_map(|(name, value)| match &value.data {
            ValueData::Int(value) => Some((name.clone(), (*value).into())),
            ValueData::BigInt(digits) => Some((name.clone(), digits.parse().ok()?)),
            _ => None,
        });
        Arc::new(EnumNames(pairs.collect()))
    });
    element_value(value, stated, stated.and_then(Datatype::from_name).as_ref(), names.as_ref())
}

/// Returns a value, or one of a list of values; lists nest no deeper than the tree.
fn element_value(
    value: &Value,
    stated: Option<&str>,
    datatype: Option<&Datatype>,
    names: Option<&Arc<EnumNames>>,
) -> AttributeValue {
    let number = |value| AttributeValue::from_number(value, datatype, names);
    match &value.data {
        ValueData::Bool(value) => AttributeValue::Bool(*value),
        ValueData::Int(value) => number(NumberValue::Int((*value).into())),
        ValueData::BigInt(digits) => {
            digits.parse().map_or_else(|_| AttributeValue::Text(digits.clone()), |value| number(NumberValue::Int(value)))
        }
        ValueData::Float(value) => number(NumberValue::Float(*value)),
        ValueData::Str(text) if value.is_binary() => {
            from_base64(text).map_or_else(|| AttributeValue::Text(text.clone()), AttributeValue::Bytes)
        }
        ValueData::Str(text) | ValueData::Plain(text) => match stated {
            Some(EMPTY_TYPE) => AttributeValue::Empty,
            Some(REFERENCE_TYPE) => AttributeValue::Reference(text.clone()),
            _ => {
                let is_complex = value.tag.as_deref().is_some_and(|tag| tag.contains("core/complex"));
                let complex = if is_complex { inline_read::complex(text) } else { None };
                complex.map_or_else(|| AttributeValue::Text(text.clone()), |(re, im)| number(NumberValue::Complex(re, im)))
            }
        },
        ValueData::Seq(items) => {
            let empty = || {
                let source = Arc::new(MemorySource::new(Vec::new(), "an attribute without elements"));
                Array::new(source, 0, datatype?.clone(), Byteorder::Little, vec![0]).ok()
            };
            match items.is_empty().then(empty).flatten() {
                Some(empty) => AttributeValue::Array(Box::new(empty)),
                None => AttributeValue::List(items.iter().map(|item| element_value(item, stated, datatype, names)).collect()),
            }
        }
        _ => AttributeValue::Empty,
    }
}

/// Returns the names of the axes of an item in one line, with `-` for an axis without one.
pub(super) fn dims_line<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let names: Vec<&str> = names.map(|name| if name.is_empty() { "-" } else { name }).collect();
    format!("[{}]", names.join(", "))
}
