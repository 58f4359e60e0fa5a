//! Datatypes of attributes: `type:NAME` next to the attribute `NAME`, and what its value shows without it.

use std::sync::Arc;

use super::escape::{
    ENUM_NAMES_PREFIX, ENUM_VALUES_PREFIX, TYPE_PREFIX, attribute_name, is_attribute_type, read_value, split_attribute_type,
};
use super::model::{Attribute, ItemId, Layout, LayoutLiteral};
use crate::array::Datatype;
use crate::array::attribute::{AttributeValue, EnumNames, ItemAttribute, NumberValue};

/// The datatype of an attribute without a value.
pub const EMPTY_TYPE: &str = "empty";
/// The datatype of an attribute that is the path of an item.
pub const REFERENCE_TYPE: &str = "reference";

/// The datatype of an attribute that is bytes, which may look like text.
pub const BYTES_TYPE: &str = "bytes";

/// Attributes whose numbers are stored elements. They should have the datatype of these, but need not.
const ELEMENT_ATTRIBUTES: &[&str] =
    &["_FillValue", "missing_value", "valid_min", "valid_max", "valid_range", "flag_values", "flag_masks"];

/// The datatype that a file states for an attribute.
pub(crate) enum AttributeType<'a> {
    /// Text, which has no other form in a layout.
    Text,
    /// Numbers.
    Number(&'a Datatype),
    /// Numbers with names.
    Enum(&'a Datatype, &'a [String], &'a [i128]),
    /// A word in place of a datatype.
    Special(&'static str),
}

/// Returns the datatype of a numeric attribute whose layout does not state it.
pub(super) fn default_attribute_type(name: &str, elements: Option<&Datatype>, number: &Datatype) -> Datatype {
    let is_number = |datatype: &&Datatype| datatype.is_integer() || matches!(datatype, Datatype::Float32 | Datatype::Float64);
    match elements.filter(is_number) {
        Some(elements) if ELEMENT_ATTRIBUTES.contains(&name) => elements.clone(),
        _ if number.is_integer() => Datatype::Int64,
        _ => Datatype::Float64,
    }
}

/// Returns the datatype that the layout states for a numeric attribute; None if it states none.
pub fn stated_attribute_type<'l>(attributes: impl Iterator<Item = (&'l str, &'l Attribute)>, name: &str) -> Option<Datatype> {
    let mut stated = attributes.filter(|(known, _)| known.strip_prefix(TYPE_PREFIX) == Some(name));
    match stated.next() {
        Some((_, Attribute::Value(LayoutLiteral::Text(text)))) => Datatype::from_name(text),
        _ => None,
    }
}

/// The attributes of an item of a file with their datatypes, in the order of the layout; without those that describe how an array is
/// stored. `elements` is the datatype of its stored elements, if it is an array.
pub fn typed_attributes(layout: &Layout, item: ItemId, elements: Option<&Datatype>) -> Vec<ItemAttribute> {
    selected_attributes(layout, item, elements, &|_| true)
}

/// Does the same as [`typed_attributes`] for the attributes whose names fit.
pub fn selected_attributes(
    layout: &Layout,
    item: ItemId,
    elements: Option<&Datatype>,
    fits: &dyn Fn(&str) -> bool,
) -> Vec<ItemAttribute> {
    let stated = StatedTypes::new(layout, item);
    let said = layout.attributes(item).filter(move |(name, _)| !(item == ItemId::ROOT && *name == "dialect"));
    let named = said.filter_map(|(name, value)| Some((name, attribute_name(name)?, value)));
    named
        .filter(|(spelled, name, _)| fits(name) && !stated.describes(spelled))
        .map(|(spelled, name, value)| {
            let value = stated.typed_value(spelled, &name, &read_value(value), elements);
            ItemAttribute::new(name.into_owned(), value)
        })
        .collect()
}

/// The statements of a layout about the attributes of one item: the attributes, ordered by [`StatedTypes::key`]; none if nothing is
/// stated.
struct StatedTypes<'l>(Vec<(StatementKey<'l>, &'l Attribute)>);

/// The attribute that a statement is about, and the prefix of its name; `""` for an attribute itself.
type StatementKey<'l> = (&'l str, &'l str);

impl<'l> StatedTypes<'l> {
    fn new(layout: &'l Layout, item: ItemId) -> Self {
        if !layout.attributes(item).any(|(name, _)| is_attribute_type(name)) {
            return Self(Vec::new());
        }
        let mut known: Vec<_> = layout.attributes(item).map(|(name, value)| (Self::key(name), value)).collect();
        known.sort_by_key(|(key, _)| *key);
        Self(known)
    }

    fn key(name: &str) -> StatementKey<'_> {
        split_attribute_type(name).map_or((name, ""), |(prefix, about)| (about, prefix))
    }

    fn get(&self, key: StatementKey<'_>) -> Option<&'l Attribute> {
        // The last of several attributes of one name counts.
        let end = self.0.partition_point(|(known, _)| *known <= key);
        let (known, value) = self.0.get(end.checked_sub(1)?)?;
        (*known == key).then_some(*value)
    }

    /// Returns `true` if an attribute says something about another one that exists.
    fn describes(&self, name: &str) -> bool {
        split_attribute_type(name).is_some_and(|(_, about)| self.get(Self::key(about)).is_some())
    }

    fn find(&self, prefix: &str, name: &str) -> Option<&'l Attribute> {
        self.get((name, prefix))
    }

    fn typed_value(&self, spelled: &str, name: &str, value: &Attribute, elements: Option<&Datatype>) -> AttributeValue {
        let word = match self.find(TYPE_PREFIX, spelled) {
            Some(Attribute::Value(LayoutLiteral::Text(word))) => Some(word.as_str()),
            _ => None,
        };
        if word == Some(EMPTY_TYPE) {
            return AttributeValue::Empty;
        }
        let datatype = word.and_then(Datatype::from_name);
        let names = self.enum_names(spelled);
        let one = |literal: &LayoutLiteral| typed_literal(literal, name, word, (datatype.as_ref(), elements), names.as_ref());
        match value {
            Attribute::Flag => AttributeValue::Empty,
            Attribute::Value(literal) => one(literal),
            Attribute::List(literals) => AttributeValue::List(literals.iter().map(one).collect()),
        }
    }

    fn enum_names(&self, name: &str) -> Option<Arc<EnumNames>> {
        let list = |value: &Attribute| match read_value(value) {
            Attribute::List(list) => list,
            Attribute::Value(one) => vec![one],
            Attribute::Flag => Vec::new(),
        };
        let (names, values) = (list(self.find(ENUM_NAMES_PREFIX, name)?), list(self.find(ENUM_VALUES_PREFIX, name)?));
        let pairs = names.into_iter().zip(values).filter_map(|pair| match pair {
            (LayoutLiteral::Text(name), LayoutLiteral::Integer(value)) => Some((name, value.into())),
            (LayoutLiteral::Text(name), LayoutLiteral::Large(digits)) => Some((name, digits.parse().ok()?)),
            _ => None,
        });
        Some(Arc::new(EnumNames(pairs.collect())))
    }
}

fn typed_literal(
    literal: &LayoutLiteral,
    name: &str,
    word: Option<&str>,
    (stated, elements): (Option<&Datatype>, Option<&Datatype>),
    names: Option<&Arc<EnumNames>>,
) -> AttributeValue {
    let number = |value: NumberValue, plain: Datatype| {
        let datatype = stated.cloned().unwrap_or_else(|| default_attribute_type(name, elements, &plain));
        AttributeValue::from_number(value, Some(&datatype), names)
    };
    match literal {
        LayoutLiteral::Integer(value) => number(NumberValue::Int((*value).into()), Datatype::Int64),
        LayoutLiteral::Large(digits) => match digits.parse() {
            Ok(value) => number(NumberValue::Int(value), Datatype::Uint64),
            Err(_) => AttributeValue::Text(digits.clone()),
        },
        LayoutLiteral::Float(value) => number(NumberValue::Float(*value), Datatype::Float64),
        LayoutLiteral::Text(text) if word == Some(REFERENCE_TYPE) => AttributeValue::Reference(text.clone()),
        LayoutLiteral::Text(text) if word == Some(BYTES_TYPE) => AttributeValue::Bytes(text.clone().into_bytes()),
        LayoutLiteral::Text(text) => AttributeValue::Text(text.clone()),
        LayoutLiteral::Bytes(bytes) => AttributeValue::Bytes(bytes.clone()),
    }
}
