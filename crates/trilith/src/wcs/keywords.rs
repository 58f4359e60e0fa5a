//! Keywords of FITS headers: in a mapping, or in the list of cards of an HDU.

use trilith_wcs::HeaderKeywords;

use super::WcsKey;
use crate::error::Result;
use crate::file::{Item, ItemKind};
use crate::yaml::Scalar;

/// Keywords of a header that are read, at most.
const MAX_KEYWORDS: usize = 100_000;

/// Handling of an item that is a list, not a mapping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CardLists {
    /// A list holds the cards of a header.
    Accepted,
    /// A list is not a header.
    Refused,
}

impl CardLists {
    /// Accepts a list at a path whose last key is that of the header of an HDU.
    pub(super) fn for_path(path: &str) -> Self {
        if path.ends_with("/header") { Self::Accepted } else { Self::Refused }
    }
}

/// The keywords of a header; `None` for an item that cannot be one.
pub(super) fn read_keywords(item: &Item<'_>, lists: CardLists, key: WcsKey) -> Result<Option<HeaderKeywords>> {
    match item.kind() {
        ItemKind::Mapping => {}
        ItemKind::List if lists == CardLists::Accepted => {}
        _ => return Ok(None),
    }
    let mut found = KeywordCollector::default();
    for (name, child) in item.children()?.into_iter().take(MAX_KEYWORDS) {
        if let Some(name) = name {
            found.insert(&name, &child);
        } else if let [(_, key), (_, value), ..] = &child.children()?[..]
            && let Ok(key) = key.text()
        {
            found.insert(&key, value);
        }
    }
    let found = found.into_keywords();
    Ok(Some(match key.letter() {
        None => found,
        Some(letter) => found.alternate(letter),
    }))
}

/// Keywords as they are read.
#[derive(Default)]
struct KeywordCollector {
    keywords: HeaderKeywords,
    /// The header is that of a table with the compressed tiles of an image: ZIMAGE is true.
    is_compressed: bool,
    /// ZNAXISn, the lengths of the axes of a compressed image, without the Z.
    lengths: Vec<(String, f64)>,
}

impl KeywordCollector {
    /// Takes in a keyword, if it is a number or a string.
    fn insert(&mut self, key: &str, item: &Item<'_>) {
        match item.value() {
            Ok(Scalar::Float(number)) => self.put_number(key, number),
            Ok(Scalar::Int(number)) => self.put_number(key, number as f64),
            Ok(Scalar::Str(text)) => self.keywords.insert_text(key, &text),
            Ok(Scalar::Bool(true)) => self.is_compressed |= key.eq_ignore_ascii_case("ZIMAGE"),
            _ => {}
        }
    }

    fn put_number(&mut self, key: &str, number: f64) {
        self.keywords.insert_number(key, number);
        if let Some(('Z' | 'z', rest)) = key.chars().next().zip(key.get(1..)) {
            self.lengths.push((rest.to_owned(), number));
        }
    }

    /// The keywords of the image: FITS Standard 4.0, section 10.1.
    fn into_keywords(mut self) -> HeaderKeywords {
        for (key, number) in
            self.lengths.iter().filter(|(key, _)| self.is_compressed && key.to_ascii_uppercase().starts_with("NAXIS"))
        {
            self.keywords.insert_number(key, *number);
        }
        self.keywords
    }
}
