//! Items that are in a file but cannot be read: an item without data, with the reason as an attribute.
//!
//! A derived layout declares such an item as `NAME = {}` with an attribute, a list of the kind of the error, its
//! message and perhaps a hint. On the root the attribute is about the file as a whole, which is readable all the same.

use super::escape::read_own;
use super::grid_words::UNREADABLE;
use super::model::{Attribute, ItemId, Layout, LayoutLiteral};
use crate::error::{Error, ErrorKind};

/// The value of the attribute for an error.
pub fn reason_attribute(error: &Error) -> Attribute {
    let texts = [error.kind().name().to_owned(), error.message().to_owned()].into_iter().chain(error.advice());
    Attribute::List(texts.map(LayoutLiteral::Text).collect())
}

impl Layout {
    /// Returns `true` if items may be marked as unreadable.
    #[doc(hidden)]
    pub fn may_have_unreadable(&self) -> bool {
        self.has_attribute_name(UNREADABLE)
    }

    /// Returns the reason if an item cannot be read.
    pub fn unreadable(&self, item: ItemId) -> Option<Error> {
        let (_, value) = self.attributes(item).find(|(name, _)| *name == UNREADABLE)?;
        let values = match value {
            Attribute::List(values) => values.as_slice(),
            Attribute::Value(value) => std::slice::from_ref(value),
            Attribute::Flag => &[],
        };
        let text = |at: usize| match values.get(at) {
            Some(LayoutLiteral::Text(text)) => Some(read_own(text)),
            _ => None,
        };
        let kind = text(0).and_then(|name| ErrorKind::from_name(&name)).unwrap_or(ErrorKind::Malformed);
        let error = Error::new(kind, text(1).unwrap_or_else(|| "the layout gives no reason".into()));
        Some(match text(2) {
            Some(hint) => error.hint(hint),
            None => error,
        })
    }
}
