//! Items that are in a file but cannot be read: an item without data, with the reason as an attribute.
//!
//! A derived layout declares such an item as `NAME = {}` with an attribute, a list of the kind of the error, its
//! message and perhaps a hint. On the root the attribute is about the file as a whole, which is readable all the same.

use super::model::{ItemId, Layout};
use super::storage_field::StorageField;
use crate::error::Error;

impl Layout {
    /// Returns the reason if an item cannot be read.
    pub fn unreadable(&self, item: ItemId) -> Option<Error> {
        self.storage_fields(item).find_map(|field| match field {
            StorageField::Unreadable(reason) => Some(reason.to_error()),
            _ => None,
        })
    }
}
