//! The output of `header`: the attributes of each item, and the units and descriptions in a tree of ASDF.

use super::item::{Item, ItemKind};
use crate::array::attribute::{AttributeValue, ItemAttribute};
use crate::error::Result;

/// An item with its attributes.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct HeaderItem {
    /// The path from the root of the file.
    pub path: String,
    /// The attributes.
    pub attributes: Vec<ItemAttribute>,
}

impl Item<'_> {
    /// Returns the attributes of the item and of all below it, for each item that has some. A file of ASDF has no attributes: its arrays
    /// are listed with their units and descriptions.
    ///
    /// # Errors
    /// Returns an error if the items cannot be found, and [`ErrorKind::Limit`](crate::ErrorKind::Limit) if there are too many.
    pub fn header_items(&self) -> Result<Vec<HeaderItem>> {
        let mut list = Vec::new();
        let base = self.path().unwrap_or_default();
        let inherited = if self.attributes()?.is_empty() { self.header_owner() } else { None };
        if let Some(owner) = inherited.filter(|_| !base.is_empty()) {
            list.push(HeaderItem { path: base, attributes: owner.attributes()? });
            return Ok(list);
        }
        let mut walk = self.walk();
        while let Some(visit) = walk.try_next()? {
            let item = &visit.item;
            if item.is_card_list(visit.name.as_deref()) {
                walk.skip_children();
                continue;
            }
            let mut attributes = item.attributes()?;
            if attributes.is_empty() {
                attributes = item.tree_metadata();
            }
            if !attributes.is_empty() {
                list.push(HeaderItem { path: format!("{base}{}", walk.path()), attributes });
            }
        }
        Ok(list)
    }

    /// Returns the unit and the description of an array in a tree of ASDF, which are keys next to it or of the object that holds it.
    pub fn tree_metadata(&self) -> Vec<ItemAttribute> {
        if self.kind() != ItemKind::Array || self.as_asdf().is_none() || self.header_owner().is_some() {
            return Vec::new();
        }
        let text = |name: &str, text: String| ItemAttribute::new(name, AttributeValue::Text(text));
        let unit = self.unit().map(|unit| text("unit", unit));
        let described = || {
            let (holder, _) = self.parent()?;
            let is_object = holder.metadata().tag.is_some_and(|tag| tag.contains("/column-") || tag.contains("/quantity-"));
            let said = holder.get("description").ok()??;
            (is_object && said.kind() == ItemKind::Text)
                .then(|| said.text().ok().map(|said| text("description", said.into_owned())))?
        };
        unit.into_iter().chain(described()).collect()
    }
}
