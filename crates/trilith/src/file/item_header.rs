//! The attributes of an item together with those of the item that holds it, and the output of `header`.

use std::borrow::Cow;

use super::address::AttributeSelector;
use super::address_target::{AddressTarget, resolve};
use super::backend::ItemLocation;
use super::fits::surrounding_hdus;
use super::item::{Item, ItemKind};
use super::item_queries::missing_item_error;
use crate::array::attribute::{AttributeValue, ItemAttribute};
use crate::asdf::AsdfFile;
use crate::error::{Error, Result};
use crate::percent::leniently_decoded;
use crate::tree::Node;

/// An item with its attributes.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct HeaderItem {
    /// The path from the root of the file.
    pub path: String,
    /// The attributes.
    pub attributes: Vec<ItemAttribute>,
}

/// The attributes of an item together with those of its parent, from [`Item::header`]: the data of an HDU have the cards of its
/// header.
#[derive(Debug)]
pub struct ItemHeader<'i, 'f> {
    item: &'i Item<'f>,
}

impl<'i, 'f> ItemHeader<'i, 'f> {
    pub(super) fn new(item: &'i Item<'f>) -> Self {
        Self { item }
    }

    /// Returns the item whose attributes count for this one, too: the HDU that has the header of an array, and the first HDU for a
    /// FITS file.
    pub fn owner(&self) -> Option<Item<'f>> {
        let (file, node) = self.item.as_asdf()?;
        let hdu = super::asdf::header_owner(file, node)?;
        (hdu.id() != node.id()).then(|| self.item.with_location(ItemLocation::Node(hdu.id().index())))
    }

    /// Returns the attributes of the item and those that it has from its parent: the data of an HDU have the cards of its header.
    ///
    /// # Errors
    /// Returns the errors of [`Item::attributes`].
    pub fn attributes(&self) -> Result<Vec<ItemAttribute>> {
        self.selected_attributes(&|_| true)
    }

    /// Returns those of [`ItemHeader::attributes`] whose names are wanted. Others are not built: a header has many cards.
    fn selected_attributes(&self, is_wanted: &dyn Fn(&str) -> bool) -> Result<Vec<ItemAttribute>> {
        let own = self.item.backend().attributes(self.item.location(), is_wanted)?;
        Ok(match self.owner() {
            Some(owner) => [own, owner.backend().attributes(owner.location(), is_wanted)?].concat(),
            None => own,
        })
    }

    /// Returns an attribute of the item, or else of its parent. FITS keywords are case-insensitive.
    ///
    /// # Errors
    /// Returns the errors of [`Item::attributes`].
    pub fn find(&self, selector: &AttributeSelector) -> Result<Option<ItemAttribute>> {
        let decoded = leniently_decoded(&selector.name);
        let ignores_case = self.item.backend().family() == "fits";
        let fits_name = |known: &str, name: &str| known == name || ignores_case && known.eq_ignore_ascii_case(name);
        let all = self.selected_attributes(&|known| fits_name(known, &selector.name) || fits_name(known, &decoded))?;
        let find = |name: &str| all.iter().filter(|known| fits_name(&known.name, name)).nth(selector.index.unwrap_or(0)).cloned();
        Ok(find(&selector.name).or_else(|| match &decoded {
            Cow::Owned(decoded) => find(decoded),
            Cow::Borrowed(_) => None,
        }))
    }

    /// Returns the target of an address from this item on, as [`File::resolve_address`](crate::File::resolve_address).
    ///
    /// # Errors
    /// Returns the errors of [`File::resolve_address`](crate::File::resolve_address).
    pub fn resolve_address(&self, text: &str) -> Result<AddressTarget<'f>> {
        let find = |path: &str| -> Result<Item<'f>> {
            if path.is_empty() {
                return Ok(self.item.clone());
            }
            self.item.find(path)?.ok_or_else(|| missing_item_error(self.item, path))
        };
        resolve(text, find(text), &find, &|| Ok(None))
    }

    /// Returns `true` if the item is the list of the cards of a FITS header, which are attributes of its HDU, too. `name` is its key.
    pub fn is_card_list(&self, name: Option<&str>) -> bool {
        let is_listing = |(file, node): (&AsdfFile, Node<'_>)| {
            file.container().is_some_and(|container| container.hdu == 0) && node.is_sequence()
        };
        name == Some("header") && self.item.as_asdf().is_some_and(is_listing)
    }

    /// Returns the error for an attribute that the item does not have, with the names of those that it has.
    pub(crate) fn missing_error(&self, selector: &AttributeSelector) -> Error {
        let all = self.attributes().unwrap_or_default();
        let names: Vec<&str> = all.iter().map(|attribute| attribute.name.as_str()).collect();
        if let Some(count) = Some(names.iter().filter(|name| **name == selector.name).count()).filter(|count| *count > 0) {
            return Error::not_found(format!(
                "there is no attribute {selector}: the item has {count} of this name, counted from 0"
            ));
        }
        let what = format!("there is no attribute {:?}", selector.name);
        if names.is_empty() {
            return Error::not_found(format!("{what}: the item has no attributes"));
        }
        Error::not_found(what).with_known_keys(&selector.name, &names, 0)
    }

    /// Returns the attributes of the item and of all below it, for each item that has some. A file of ASDF has no attributes: its arrays
    /// are listed with their units and descriptions. The HDUs of a FITS file around it follow.
    ///
    /// # Errors
    /// Returns an error if the items cannot be found, and [`ErrorKind::Limit`](crate::ErrorKind::Limit) if there are too many.
    pub fn items(&self) -> Result<Vec<HeaderItem>> {
        let mut list = Vec::new();
        let base = self.item.path().unwrap_or_default();
        let inherited = if self.item.attributes()?.is_empty() { self.owner() } else { None };
        if let Some(owner) = inherited.filter(|_| !base.is_empty()) {
            list.push(HeaderItem { path: base, attributes: owner.attributes()? });
            return Ok(list);
        }
        let mut walk = self.item.walk();
        while let Some(visit) = walk.try_next()? {
            let item = &visit.item;
            if item.header().is_card_list(visit.name.as_deref()) {
                walk.skip_children();
                continue;
            }
            let mut attributes = item.attributes()?;
            if attributes.is_empty() {
                attributes = item.header().tree_metadata();
            }
            if !attributes.is_empty() {
                list.push(HeaderItem { path: format!("{base}{}", walk.path()), attributes });
            }
        }
        if let Some(hdus) = surrounding_hdus(self.item)? {
            list.extend(hdus.header().items()?);
        }
        Ok(list)
    }

    /// Returns the unit and the description of an array in a tree of ASDF, which are keys next to it or of the object that holds it.
    pub fn tree_metadata(&self) -> Vec<ItemAttribute> {
        if self.item.kind() != ItemKind::Array || self.item.as_asdf().is_none() || self.owner().is_some() {
            return Vec::new();
        }
        let text = |name: &str, text: String| ItemAttribute::new(name, AttributeValue::Text(text));
        let unit = self.item.unit().map(|unit| text("unit", unit));
        let described = || {
            let (holder, _) = self.item.parent()?;
            let is_object = holder.metadata().tag.is_some_and(|tag| tag.contains("/column-") || tag.contains("/quantity-"));
            let said = holder.get("description").ok()??;
            (is_object && said.kind() == ItemKind::Text)
                .then(|| said.text().ok().map(|said| text("description", said.into_owned())))?
        };
        unit.into_iter().chain(described()).collect()
    }
}
