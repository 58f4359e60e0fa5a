//! The targets of addresses: attributes of items, and values that are computed of them.

use super::address::{AddressName, AttributePart, ComputedValue, ItemAddress, split_address};
use super::item::{File, Item};
use crate::array::attribute::ItemAttribute;
use crate::error::Result;

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
    /// Returns the target of an address. If an item has the whole text as its path, it is that item. `@NAME` without a path is an
    /// attribute of the first image, or of the root.
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
pub(super) fn resolve<'f>(
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
            let found = match item.header().find(&selector)? {
                None if address.path.is_empty() => find("")?.header().find(&selector)?,
                found => found,
            };
            match found {
                Some(found) => Ok(AddressTarget::Attribute(item, Box::new(found), selector.part)),
                None => Err(item.header().missing_error(&selector)),
            }
        }
    }
}
