//! Keywords of FITS headers: in a mapping, or in the list of cards of an HDU.

use trilith_wcs::Keywords;

use crate::error::Result;
use crate::file::{Item, ItemKind};
use crate::yaml::Scalar;

/// Keywords of a header that are read, at most.
const MOST: usize = 100_000;

/// The keywords of a header; `None` for an item that cannot be one.
pub(super) fn of(item: &Item<'_>, is_cards: bool) -> Result<Option<Keywords>> {
    if item.kind() != ItemKind::Mapping && !(is_cards && item.kind() == ItemKind::List) {
        return Ok(None);
    }
    let mut found = Keywords::default();
    for (name, child) in item.children()?.into_iter().take(MOST) {
        if let Some(name) = name {
            put(&mut found, &name, &child);
        } else if let [(_, key), (_, value), ..] = &child.children()?[..]
            && let Ok(key) = key.text()
        {
            put(&mut found, &key, value);
        }
    }
    Ok(Some(found))
}

/// Takes in a keyword, if it is a number or a string.
fn put(keywords: &mut Keywords, key: &str, item: &Item<'_>) {
    match item.value() {
        Ok(Scalar::Float(number)) => keywords.number(key, number),
        Ok(Scalar::Int(number)) => keywords.number(key, number as f64),
        Ok(Scalar::Str(text)) => keywords.text(key, &text),
        _ => {}
    }
}
