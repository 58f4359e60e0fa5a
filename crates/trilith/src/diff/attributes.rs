//! Differences between the attributes of two items.

use std::collections::HashMap;

use super::{Comparer, DifferenceKind, Differences, ItemPair};
use crate::array::attribute::{AttributeValue, ItemAttribute, NumberValue};
use crate::error::Result;
use crate::file::{Item, ItemAddress};

impl Comparer<'_> {
    /// Compares the attributes by their names, those of one name in their order, and the commentary of a FITS header as sequences.
    pub(super) fn compare_attributes(&mut self, pair: &ItemPair<'_>) -> Result<()> {
        if !has_comparable_attributes(pair) {
            return Ok(());
        }
        let (a, b) = (comparable_attributes(&pair.a)?, comparable_attributes(&pair.b)?);
        if a.is_empty() && b.is_empty() {
            return Ok(());
        }
        let mut groups: Vec<AttributeGroup<'_>> = Vec::new();
        let mut known: HashMap<&str, usize> = HashMap::new();
        for (attribute, is_first) in a.iter().map(|one| (one, true)).chain(b.iter().map(|one| (one, false))) {
            let at = *known.entry(attribute.name.as_str()).or_insert_with(|| {
                groups.push(AttributeGroup::default());
                groups.len() - 1
            });
            if let Some(group) = groups.get_mut(at) {
                if is_first { &mut group.a } else { &mut group.b }.push(attribute);
            }
        }
        for group in &mut groups {
            group.compare(pair, &mut self.out);
        }
        Ok(())
    }
}

impl Differences<'_> {
    fn is_attribute_ignored(&self, path: &str, name: &str, index: usize) -> bool {
        let fitting = self.options.ignore.iter().filter(|pattern| pattern.matches_attribute(path, name, index));
        !self.options.ignore.is_empty() && fitting.count() > 0
    }

    /// Returns `true` if two values of attributes are the same, numbers within the tolerances.
    fn same_value(&self, a: &AttributeValue, b: &AttributeValue) -> bool {
        match (a, b) {
            (AttributeValue::Number(a), AttributeValue::Number(b)) => match (a.value, b.value) {
                (NumberValue::Float(a), NumberValue::Float(b)) => self.same_number(a, b),
                (NumberValue::Int(a), NumberValue::Int(b)) if self.has_tolerance() => self.same_number(a as f64, b as f64),
                (NumberValue::Int(int), NumberValue::Float(float)) | (NumberValue::Float(float), NumberValue::Int(int)) => {
                    self.same_number(int as f64, float)
                }
                (a, b) => a == b,
            },
            (AttributeValue::List(a), AttributeValue::List(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| self.same_value(a, b))
            }
            (a, b) => a == b,
        }
    }
}

/// Returns `false` if an item is in a tree: the attributes that a conversion keeps are compared as a part of that.
pub(super) fn has_comparable_attributes(pair: &ItemPair<'_>) -> bool {
    let is_tree = |item: &Item<'_>| item.as_asdf().is_some() && item.backend().family() != "fits";
    !is_tree(&pair.a) && !is_tree(&pair.b)
}

/// Returns `true` if an item is an attribute of another one.
pub(super) fn is_attribute_item(item: &Item<'_>) -> bool {
    item.as_dudley().is_some_and(|(file, id)| file.outline().is_ok_and(|outline| outline.is_attribute(id)))
}

/// The attributes that are compared: those of the user, without what the elements and their description tell. With them are the names
/// of the axes.
fn comparable_attributes(item: &Item<'_>) -> Result<Vec<ItemAttribute>> {
    let mut all = item.attributes()?;
    all.retain(ItemAttribute::is_visible);
    all.extend(item.metadata().dims.map(|dims| ItemAttribute::new("dims", AttributeValue::Text(dims))));
    Ok(all)
}

/// The attributes of one name in both files.
#[derive(Default)]
struct AttributeGroup<'a> {
    a: Vec<&'a ItemAttribute>,
    b: Vec<&'a ItemAttribute>,
}

impl AttributeGroup<'_> {
    fn compare(&mut self, pair: &ItemPair<'_>, out: &mut Differences<'_>) {
        let Some(name) = self.a.first().or(self.b.first()).map(|attribute| attribute.name.clone()) else { return };
        let is_commentary = matches!(name.as_str(), "COMMENT" | "HISTORY" | "");
        let mut start = 0;
        if is_commentary && self.a.len() != self.b.len() {
            // A card that was put in, or taken out, moves those after it.
            let same = |(a, b): (&&ItemAttribute, &&ItemAttribute)| a.value == b.value;
            start = self.a.iter().zip(&self.b).take_while(|pair| same((pair.0, pair.1))).count();
            let (behind_a, behind_b) = (self.a.get(start..).unwrap_or(&[]), self.b.get(start..).unwrap_or(&[]));
            let end = behind_a.iter().rev().zip(behind_b.iter().rev()).take_while(|pair| same((pair.0, pair.1))).count();
            self.a.truncate(self.a.len() - end);
            self.b.truncate(self.b.len() - end);
        }
        for index in start..self.a.len().max(self.b.len()) {
            if out.is_attribute_ignored(&pair.path, &name, index) {
                continue;
            }
            let address = ItemAddress::attribute(pair.path.as_str(), &name, index).to_string();
            match (self.a.get(index), self.b.get(index)) {
                (Some(a), Some(b)) => {
                    let is_unreadable = a.value.unreadable().or(b.value.unreadable()).is_some();
                    if is_unreadable {
                        let reason = |value: &AttributeValue| value.unreadable().map(|why| why.message().to_owned());
                        out.push_difference(address.clone(), DifferenceKind::Unreadable, reason(&a.value), reason(&b.value));
                    } else if !out.same_value(&a.value, &b.value) {
                        out.push_difference(address.clone(), DifferenceKind::Value, value_text(&a.value), value_text(&b.value));
                    }
                    if a.comment != b.comment && !out.is_attribute_ignored(&pair.path, &format!("{name}.comment"), index) {
                        let (a, b) = (a.comment.clone(), b.comment.clone());
                        out.push_difference(format!("{address}.comment"), DifferenceKind::Value, a, b);
                    }
                }
                (Some(a), None) => out.push_difference(address, DifferenceKind::Removed, value_text(&a.value), None),
                (None, Some(b)) => out.push_difference(address, DifferenceKind::Added, None, value_text(&b.value)),
                (None, None) => {}
            }
        }
    }
}

fn value_text(value: &AttributeValue) -> Option<String> {
    Some(value.literal_text())
}
