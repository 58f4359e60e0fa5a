//! The targets of addresses: attributes of items, and values that are computed of them.

use std::borrow::Cow;

use super::address::{AddressName, AttributePart, AttributeSelector, ComputedValue, ItemAddress, split_address};
use super::item::{File, Item};
use crate::array::attribute::ItemAttribute;
use crate::asdf::AsdfFile;
use crate::error::{Error, Result};
use crate::percent::leniently_decoded;
use crate::tree::Node;

/// The target of an address.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum AddressTarget<'f> {
    /// An item.
    Item(Item<'f>),
    /// An attribute of an item, and the part of it that is meant.
    Attribute(Item<'f>, Box<ItemAttribute>, Option<AttributePart>),
    /// A value that is computed of an item.
    Computed(Item<'f>, ComputedValue),
}

impl File {
    /// Returns the target of an address: the item that has the whole text as its path, else what the parts of the text say. `@NAME`
    /// without a path is that of the first image, else of the root.
    ///
    /// ```
    /// use trilith::file::AddressTarget;
    /// let mut card = vec![b' '; 2880];
    /// for (at, text) in ["SIMPLE  =                    T", "BITPIX  =                    8", "NAXIS   =                    0",
    ///     "EXPTIME =                 12.5 / [s] exposure", "END"].iter().enumerate() {
    ///     card[80 * at..80 * at + text.len()].copy_from_slice(text.as_bytes());
    /// }
    /// let file = trilith::OpenOptions::new().open_bytes(card)?;
    /// let AddressTarget::Attribute(_, exposure, _) = file.resolve_address("/fits/0@exptime")? else { panic!() };
    /// assert_eq!((exposure.value.to_string(), exposure.unit.as_deref()), ("12.5".to_owned(), Some("s")));
    /// # Ok::<(), trilith::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) with the names that exist if there is no such item or attribute.
    pub fn resolve_address(&self, text: &str) -> Result<AddressTarget<'_>> {
        let found = self.item(text);
        resolve(text, found, &|path| self.item(path), &|| self.image())
    }
}

/// Resolves an address by the item that has the whole text as its path, if there is one, and by a finder of items.
fn resolve<'f>(
    text: &str,
    found: Result<Item<'f>>,
    find: &dyn Fn(&str) -> Result<Item<'f>>,
    image: &dyn Fn() -> Result<Option<String>>,
) -> Result<AddressTarget<'f>> {
    let missing = match found {
        Ok(item) => return Ok(AddressTarget::Item(item)),
        Err(error) if error.kind().is_request() && split_address(text).is_some() => error,
        Err(error) => return Err(error),
    };
    let address = ItemAddress::parse(text)?;
    let Some(name) = address.name else { return Err(missing) };
    let item = match address.path.as_str() {
        "" => find(&image()?.unwrap_or_default())?,
        "/" => find("")?,
        path => find(path)?,
    };
    match name {
        AddressName::Computed(value) => Ok(AddressTarget::Computed(item, value)),
        AddressName::Attribute(selector) => {
            let found = match item.find_attribute(&selector)? {
                None if address.path.is_empty() => find("")?.find_attribute(&selector)?,
                found => found,
            };
            match found {
                Some(found) => Ok(AddressTarget::Attribute(item, Box::new(found), selector.part)),
                None => Err(item.missing_attribute(&selector)),
            }
        }
    }
}

impl<'f> Item<'f> {
    /// Returns the attributes of the item and those that it has from the item which holds it: the data of an HDU have the cards of
    /// its header.
    ///
    /// # Errors
    /// Returns the errors of [`Item::attributes`].
    pub fn all_attributes(&self) -> Result<Vec<ItemAttribute>> {
        let mut all = self.attributes()?;
        if let Some(owner) = self.header_owner() {
            all.extend(owner.attributes()?);
        }
        Ok(all)
    }

    /// Returns an attribute of the item, or else of the item that holds it. Keywords of FITS are found without their case.
    ///
    /// # Errors
    /// Returns the errors of [`Item::attributes`].
    pub fn find_attribute(&self, selector: &AttributeSelector) -> Result<Option<ItemAttribute>> {
        // A layout may have very many attributes.
        let decoded = leniently_decoded(&selector.name);
        let fits = |known: &str| known == selector.name || known == decoded;
        let all = match self.as_dudley() {
            Some((file, id)) => file.selected_attributes(id, &fits)?,
            None => self.all_attributes()?,
        };
        let ignores_case = self.backend().family() == "fits";
        let find = |name: &str| {
            let is_it = |known: &&ItemAttribute| known.name == name || ignores_case && known.name.eq_ignore_ascii_case(name);
            all.iter().filter(is_it).nth(selector.index.unwrap_or(0)).cloned()
        };
        Ok(find(&selector.name).or_else(|| match &decoded {
            Cow::Owned(decoded) => find(decoded),
            Cow::Borrowed(_) => None,
        }))
    }

    /// Returns the target of an address from this item on, as [`File::resolve_address`].
    ///
    /// # Errors
    /// Returns the errors of [`File::resolve_address`].
    pub fn resolve_address(&self, text: &str) -> Result<AddressTarget<'f>> {
        let find = |path: &str| -> Result<Item<'f>> {
            if path.is_empty() {
                return Ok(self.clone());
            }
            self.find(path)?.ok_or_else(|| self.missing_error(path))
        };
        resolve(text, find(text), &find, &|| Ok(None))
    }

    /// Returns `true` if the item is the list of the cards of a FITS header, which are attributes of its HDU, too. `name` is its key.
    pub fn is_card_list(&self, name: Option<&str>) -> bool {
        let is_listing = |(file, node): (&AsdfFile, Node<'_>)| {
            file.container().is_some_and(|container| container.hdu == 0) && node.is_sequence()
        };
        name == Some("header") && self.as_asdf().is_some_and(is_listing)
    }

    /// Returns the error for an attribute that the item does not have, with the names of those that it has.
    pub(crate) fn missing_attribute(&self, selector: &AttributeSelector) -> Error {
        let all = self.all_attributes().unwrap_or_default();
        let names: Vec<&str> = all.iter().map(|attribute| attribute.name.as_str()).collect();
        if let Some(count) = Some(names.iter().filter(|name| **name == selector.name).count()).filter(|count| *count > 0) {
            return Error::not_found(format!("there are {count} attributes {}, counted from 0", selector.name));
        }
        let what = format!("there is no attribute {:?}", selector.name);
        if names.is_empty() {
            return Error::not_found(format!("{what}: the item has no attributes"));
        }
        Error::not_found(what).with_known_keys(&selector.name, &names, 0)
    }
}
