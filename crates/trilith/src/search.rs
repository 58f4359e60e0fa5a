//! Finding items of a file by key, path, value, tag, datatype or shape.
//!
//! ```
//! use trilith::SearchQuery;
//! let text = b"#ASDF 1.0.0\n%YAML 1.1\n--- {meta: {exposure: 139.8, filter: F106}}\n...\n";
//! let file = trilith::OpenOptions::new().open_bytes(text.to_vec())?;
//! let mut paths = Vec::new();
//! SearchQuery::new().key("^expo")?.value(">100")?.run(&file.root(), |found| {
//!     paths.push(found.address.clone());
//!     Ok(())
//! })?;
//! assert_eq!(paths, ["/meta/exposure"]);
//! # Ok::<(), trilith::Error>(())
//! ```

use std::collections::HashMap;

use regex::Regex;

use crate::array::attribute::{AttributeValue, ItemAttribute, NumberValue};
use crate::array::{Datatype, numpy_name};
use crate::error::{Error, Result};
use crate::file::{AddressPattern, HeaderItem, Item, ItemAddress, ItemHeader, ItemKind, number_hdus, surrounding_hdus};
use crate::yaml::Scalar;

/// Conditions that an item must meet, all of them.
#[derive(Debug, Default)]
pub struct SearchQuery {
    key: Vec<Regex>,
    value: Vec<ValueCondition>,
    path: Option<AddressPattern>,
    tag: Option<Regex>,
    datatype: Option<String>,
    shape: Option<Vec<Option<u64>>>,
}

/// An item or an attribute that meets the conditions of a search.
#[derive(Debug)]
#[non_exhaustive]
pub struct SearchMatch<'m> {
    /// The path of the item from the start of the search.
    pub path: String,
    /// The item, or the item that has the attribute.
    pub item: &'m Item<'m>,
    /// The attribute; None if the item itself meets the conditions.
    pub attribute: Option<&'m ItemAttribute>,
    /// The path, of an attribute with its name: `/fits/0@EXPTIME`.
    pub address: String,
}

#[derive(Debug)]
enum ValueCondition {
    Matches(Regex),
    Compares(&'static str, String),
}

impl SearchQuery {
    /// Creates a search without conditions, which every item meets.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns `true` if there is no condition.
    pub fn is_empty(&self) -> bool {
        let by_name = self.key.is_empty() && self.value.is_empty() && self.path.is_none();
        by_name && self.tag.is_none() && self.datatype.is_none() && self.shape.is_none()
    }

    /// The key matches a regular expression.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if the text is not one.
    pub fn key(mut self, text: &str) -> Result<Self> {
        self.key.push(compile_regex(text)?);
        Ok(self)
    }

    /// The value matches a regular expression, or a comparison: `>5`, `<=1e-3`, `==text`, `!=0`. Numbers compare with
    /// numbers, other values as text.
    ///
    /// # Errors
    /// Returns the errors of [`SearchQuery::key`].
    pub fn value(mut self, text: &str) -> Result<Self> {
        let comparison = ["<=", ">=", "==", "!=", "<", ">"].into_iter().find_map(|op| Some((op, text.strip_prefix(op)?)));
        self.value.push(match comparison {
            Some((op, text)) => ValueCondition::Compares(op, text.trim().to_owned()),
            None => ValueCondition::Matches(compile_regex(text)?),
        });
        Ok(self)
    }

    /// The path fits a pattern; `*` represents any one key, `**` for any number of them: `/roman/*/time`, `**/time`. With a name after
    /// an `@` it fits attributes: `/fits/*@EXPTIME`, `@CHECKSUM`.
    ///
    /// # Errors
    /// Returns the errors of [`AddressPattern::parse`].
    pub fn path(mut self, pattern: &str) -> Result<Self> {
        self.path = Some(AddressPattern::parse(pattern)?);
        Ok(self)
    }

    /// The tag matches a pattern; `*` matches anything but `/`, `**` anything.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if it is too long to be one.
    pub fn tag(mut self, pattern: &str) -> Result<Self> {
        self.tag = Some(compile_regex(&glob_to_regex(pattern))?);
        Ok(self)
    }

    /// Requires an array with this datatype, as a tree spells it, or numpy: `float32`, `f4`, `["ascii", 8]`.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for a word that is the name of no datatype.
    pub fn datatype(mut self, name: &str) -> Result<Self> {
        let is_word = name.bytes().all(|byte| byte.is_ascii_alphanumeric());
        self.datatype = Some(match (Datatype::from_name(name), numpy_name(name)) {
            (Some(found), _) | (None, Some((found, _))) => strip_datatype_spaces(&found.to_string()),
            _ if is_word => {
                // A type of strings has a length.
                let known = Datatype::known_names().filter(|known| Datatype::from_name(known).is_some());
                return Err(Error::unknown("datatype", name, known));
            }
            _ => strip_datatype_spaces(name),
        });
        Ok(self)
    }

    /// Requires an array with this shape. `*` matches any length: `2048,*`.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if the text is not a shape.
    pub fn shape(mut self, text: &str) -> Result<Self> {
        self.shape = Some(parse_shape(text)?);
        Ok(self)
    }

    /// Passes every item and attribute that meets the conditions to `take`, from `start` down, in the order of the file. An item
    /// precedes its attributes. References are not followed. The cards of a FITS header are attributes of their HDU. Those of a
    /// FITS file around an ASDF file follow.
    ///
    /// # Errors
    /// Returns an error if the items cannot be found, [`ErrorKind::Limit`](crate::ErrorKind::Limit) if there are
    /// too many, and the errors of `take`.
    pub fn run(&self, start: &Item<'_>, mut take: impl FnMut(&SearchMatch<'_>) -> Result<()>) -> Result<()> {
        let pattern = self.path.as_ref().map(|pattern| number_hdus(start, pattern)).transpose()?;
        let mut walk = start.walk();
        while let Some(visit) = walk.try_next()? {
            let item = &visit.item;
            if item.header().is_card_list(visit.name.as_deref()) {
                walk.skip_children();
                continue;
            }
            if self.matches(visit.name.as_deref(), item, pattern.as_ref(), || walk.path()) {
                take(&SearchMatch { path: walk.path(), item, attribute: None, address: walk.path() })?;
            }
            self.search_attributes(item, pattern.as_ref(), || walk.path(), &mut take)?;
        }
        if self.has_attribute_conditions()
            && let Some(hdus) = surrounding_hdus(start)?
        {
            for (number, (_, hdu)) in hdus.keyed_children()?.into_iter().enumerate() {
                self.search_attributes(&hdu, pattern.as_ref(), || format!("/fits/{number}"), &mut take)?;
            }
        }
        Ok(())
    }

    /// Hands over the attributes of an item that meet the conditions.
    fn search_attributes(
        &self,
        item: &Item<'_>,
        pattern: Option<&AddressPattern>,
        path: impl Fn() -> String,
        take: &mut impl FnMut(&SearchMatch<'_>) -> Result<()>,
    ) -> Result<()> {
        if !self.has_attribute_conditions() {
            return Ok(());
        }
        let mut known = None;
        let is_wanted = |name: &str| self.key.iter().all(|re| re.is_match(name));
        for (index, attribute) in number_attributes(item.backend().attributes(item.location(), &is_wanted)?) {
            if !self.value.iter().all(|test| test.attribute_matches(&attribute.value)) {
                continue;
            }
            let path = known.get_or_insert_with(&path);
            if pattern.is_some_and(|pattern| !pattern.matches_attribute(path, &attribute.name, index)) {
                continue;
            }
            let address = ItemAddress::attribute(path.as_str(), &attribute.name, index).to_string();
            take(&SearchMatch { path: path.clone(), item, attribute: Some(&attribute), address })?;
        }
        Ok(())
    }

    /// Returns `true` if attributes can meet the conditions: they have a name, a value and an address.
    fn has_attribute_conditions(&self) -> bool {
        let has_any = !self.key.is_empty() || !self.value.is_empty() || self.path.is_some();
        has_any && self.tag.is_none() && self.datatype.is_none() && self.shape.is_none()
    }

    /// Returns `true` if an item of this name meets the conditions; its path is asked for if it matters.
    fn matches(
        &self,
        name: Option<&str>,
        item: &Item<'_>,
        pattern: Option<&AddressPattern>,
        path: impl FnOnce() -> String,
    ) -> bool {
        let key_fits = self.key.iter().all(|re| name.is_some_and(|name| re.is_match(name)));
        let path_fits = || pattern.is_none_or(|pattern| pattern.matches_item(&path()));
        let tag_fits = || self.tag.as_ref().is_none_or(|re| item.metadata().tag.is_some_and(|tag| re.is_match(tag)));
        let value_fits = || self.value.iter().all(|test| test.value_matches(item));
        key_fits && tag_fits() && value_fits() && self.array_fits(item) && path_fits()
    }

    fn form_fits(&self, datatype: &str, shape: &[u64]) -> bool {
        self.datatype.as_ref().is_none_or(|wanted| strip_datatype_spaces(datatype) == *wanted)
            && self.shape.as_ref().is_none_or(|wanted| {
                wanted.len() == shape.len() && wanted.iter().zip(shape).all(|(w, n)| w.is_none_or(|w| w == *n))
            })
    }

    fn array_fits(&self, item: &Item<'_>) -> bool {
        if self.datatype.is_none() && self.shape.is_none() {
            return true;
        }
        let is_array = item.kind() == ItemKind::Array;
        is_array && item.describe().is_ok_and(|found| self.form_fits(&found.datatype.to_string(), &found.shape))
    }
}

/// The number that a text spells, with all its digits.
fn parse_number(text: &str) -> Option<Scalar<'static>> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) {
        let digits = digits.trim_start_matches('0');
        let sign = if text.starts_with('-') { "-" } else { "" };
        let whole = if digits.is_empty() { "0".to_owned() } else { format!("{sign}{digits}") };
        return Some(whole.parse().map_or(Scalar::BigInt(whole), Scalar::Int));
    }
    text.parse().ok().map(Scalar::Float)
}

impl ValueCondition {
    fn value_matches(&self, item: &Item<'_>) -> bool {
        let (Ok(value), Ok(said)) = (item.value(), item.text()) else { return false };
        self.scalar_matches(&value, &said)
    }

    /// Returns `true` if the value of an attribute, or one of its values, meets the condition.
    fn attribute_matches(&self, value: &AttributeValue) -> bool {
        match value {
            AttributeValue::List(values) => values.iter().any(|value| self.attribute_matches(value)),
            AttributeValue::Number(number) => {
                if let (NumberValue::Float(float), Datatype::Float16 | Datatype::Float32) = (number.value, &number.datatype) {
                    // Both spellings are usual: 0.1, and 0.10000000149011612 as 64 bits have it.
                    let shown = number.to_string();
                    let short = self.scalar_matches(&Scalar::Float(shown.parse().unwrap_or(float)), &shown);
                    let exact = self.scalar_matches(&Scalar::Float(float), &float.to_string());
                    let is_unequal = matches!(self, ValueCondition::Compares("!=", _));
                    return if is_unequal { short && exact } else { short || exact };
                }
                let scalar = match number.value {
                    NumberValue::Int(whole) => {
                        i64::try_from(whole).map_or_else(|_| Scalar::BigInt(whole.to_string()), Scalar::Int)
                    }
                    NumberValue::Float(float) => Scalar::Float(float),
                    _ => Scalar::Str(number.to_string().into()),
                };
                let name = number.enum_name().map(|name| Scalar::Str(name.into()));
                self.scalar_matches(&scalar, &number.to_string())
                    || name.is_some_and(|name| self.scalar_matches(&name, number.enum_name().unwrap_or_default()))
            }
            AttributeValue::Bool(value) => self.scalar_matches(&Scalar::Bool(*value), &value.to_string()),
            AttributeValue::Text(text) | AttributeValue::Reference(text) => self.scalar_matches(&Scalar::Str(text.into()), text),
            _ => false,
        }
    }

    fn scalar_matches(&self, value: &Scalar<'_>, said: &str) -> bool {
        let is_number = matches!(value, Scalar::Int(_) | Scalar::Float(_) | Scalar::BigInt(_));
        match self {
            ValueCondition::Matches(re) => re.is_match(said),
            ValueCondition::Compares(op, text) => {
                let order = match (is_number, parse_number(text)) {
                    (true, Some(wanted)) => value.compare(&wanted),
                    // Dates and words compare as text, but a word is neither more nor less than a number.
                    (false, None) => Some(said.cmp(text.as_str())),
                    _ => None,
                };
                match (*op, order) {
                    ("!=", order) => order.is_none_or(|o| o.is_ne()),
                    (_, None) => false,
                    ("==", Some(o)) => o.is_eq(),
                    ("<", Some(o)) => o.is_lt(),
                    ("<=", Some(o)) => o.is_le(),
                    (">", Some(o)) => o.is_gt(),
                    (_, Some(o)) => o.is_ge(),
                }
            }
        }
    }
}

impl ItemHeader<'_, '_> {
    /// Returns [`ItemHeader::items`] with only those attributes whose names match a regular expression.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if `key` is not a regular expression, and the errors of
    /// [`ItemHeader::items`].
    pub fn items_matching(&self, key: &str) -> Result<Vec<HeaderItem>> {
        let key = compile_regex(key)?;
        let mut list = self.items()?;
        list.iter_mut().for_each(|item| item.attributes.retain(|attribute| key.is_match(&attribute.name)));
        list.retain(|item| !item.attributes.is_empty());
        Ok(list)
    }
}

/// Returns attributes, each with its number among those of its name.
fn number_attributes(all: Vec<ItemAttribute>) -> impl Iterator<Item = (usize, ItemAttribute)> {
    let mut counts: HashMap<String, usize> = HashMap::new();
    all.into_iter().map(move |attribute| {
        let count = counts.entry(attribute.name.clone()).or_insert(0);
        *count += 1;
        (*count - 1, attribute)
    })
}

fn compile_regex(text: &str) -> Result<Regex> {
    Regex::new(text).map_err(|e| Error::invalid_input(format!("{text:?} is not a regular expression: {e}")))
}

/// A datatype without the spaces that may be between its parts.
fn strip_datatype_spaces(datatype: &str) -> String {
    datatype.replace(' ', "")
}

/// `*` is anything but `/`, `**` is anything.
fn glob_to_regex(glob: &str) -> String {
    let pieces = glob.split("**").map(|part| part.split('*').map(regex::escape).collect::<Vec<_>>().join("[^/]*"));
    format!("^{}$", pieces.collect::<Vec<_>>().join(".*"))
}

fn parse_shape(text: &str) -> Result<Vec<Option<u64>>> {
    let text = text.trim().trim_start_matches(['[', '(']).trim_end_matches([']', ')']);
    text.split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .map(|part| match part {
            "*" => Ok(None),
            number => number
                .parse()
                .map(Some)
                .map_err(|_| Error::invalid_input(format!("invalid shape {text:?}: {number:?} is not a number or *"))),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_stop_at_slashes_unless_doubled() {
        let fits = |glob: &str, tag: &str| Regex::new(&glob_to_regex(glob)).unwrap().is_match(tag);
        assert!(fits("tag:stsci.edu:asdf/unit/*", "tag:stsci.edu:asdf/unit/unit-1.0.0"));
        assert!(!fits("tag:stsci.edu:*", "tag:stsci.edu:asdf/unit/unit-1.0.0"));
        assert!(fits("**unit-1.*", "tag:stsci.edu:asdf/unit/unit-1.0.0"));
    }
}
