//! Addresses: `PATH@NAME`, an attribute of an item or a value that is computed of it.
//!
//! This is the only parser of them, so that an address that one command prints works in every other one.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::array::attribute::{AttributeValue, ItemAttribute};
use crate::array::json_text;
use crate::error::{Error, Result};
use crate::glob::{self, GlobPattern};
use crate::json_pointer::unescape_key;
use crate::suggest::nearest;

/// The address of an item, of one of its attributes, or of a value that is computed of it.
///
/// ```
/// use trilith::file::{AddressName, ItemAddress};
/// let address = ItemAddress::parse("/fits/0@EXPTIME.comment")?;
/// assert_eq!(address.path, "/fits/0");
/// assert!(matches!(address.name, Some(AddressName::Attribute(_))));
/// // A word of the list of computed values is an attribute only in quotes.
/// assert!(matches!(ItemAddress::parse("/x@shape")?.name, Some(AddressName::Computed(_))));
/// assert_eq!(ItemAddress::parse("/x@\"shape\"")?.to_string(), "/x@\"shape\"");
/// # Ok::<(), trilith::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ItemAddress {
    /// The path of the item; empty for the root.
    pub path: String,
    /// The part after the `@`.
    pub name: Option<AddressName>,
}

/// The part of an address after the `@`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum AddressName {
    /// A value that is computed of the item.
    Computed(ComputedValue),
    /// An attribute.
    Attribute(AttributeSelector),
}

/// An attribute by its name, with the number among those of the same name, and one of its parts.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AttributeSelector {
    /// The name.
    pub name: String,
    /// The number among the attributes of that name, counted from 0.
    pub index: Option<usize>,
    /// The part; None is the value.
    pub part: Option<AttributePart>,
}

/// A part of an attribute besides its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AttributePart {
    /// The comment.
    Comment,
    /// The unit.
    Unit,
    /// The name of the datatype.
    Datatype,
}

/// A value that is computed of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ComputedValue {
    /// The lengths of the axes.
    Shape,
    /// The number of axes.
    Ndim,
    /// The number of elements.
    Size,
    /// The number of bytes of the decoded elements.
    Nbytes,
    /// The datatype.
    Datatype,
    /// The form of storage.
    Codec,
    /// The unit.
    Unit,
    /// The documentation.
    Doc,
    /// The tag.
    Tag,
    /// The kind of the item.
    Kind,
    /// The smallest element.
    Min,
    /// The largest element.
    Max,
    /// The mean of the elements.
    Mean,
    /// The number of the item in a list.
    Index,
    /// The corners of the image on the sky.
    Footprint,
    /// The position of the middle of the image on the sky.
    Centre,
    /// The size of a pixel on the sky.
    Scale,
}

impl ComputedValue {
    /// All values with their words.
    const VALUE_NAMES: &'static [(&'static str, Self)] = &[
        ("shape", Self::Shape),
        ("ndim", Self::Ndim),
        ("size", Self::Size),
        ("nbytes", Self::Nbytes),
        ("dtype", Self::Datatype),
        ("codec", Self::Codec),
        ("unit", Self::Unit),
        ("doc", Self::Doc),
        ("tag", Self::Tag),
        ("kind", Self::Kind),
        ("min", Self::Min),
        ("max", Self::Max),
        ("mean", Self::Mean),
        ("index", Self::Index),
        ("footprint", Self::Footprint),
        ("centre", Self::Centre),
        ("scale", Self::Scale),
    ];

    /// Returns the value of a word; None if it is not such a word.
    pub fn from_name(word: &str) -> Option<Self> {
        Self::VALUE_NAMES.iter().find(|(known, _)| *known == word).map(|(_, value)| *value)
    }

    /// Returns the word.
    pub fn name(self) -> &'static str {
        Self::VALUE_NAMES.iter().find(|(_, value)| *value == self).map_or("", |(word, _)| word)
    }

    /// Returns the words of all values.
    pub fn names() -> impl Iterator<Item = &'static str> {
        Self::VALUE_NAMES.iter().map(|(word, _)| *word)
    }

    /// Returns `true` for a property of the coordinates of an image.
    pub fn is_of_coordinates(self) -> bool {
        matches!(self, Self::Footprint | Self::Centre | Self::Scale)
    }

    /// Returns the word that is nearly this one.
    pub fn nearest_name(word: &str) -> Option<&'static str> {
        nearest(word, Self::VALUE_NAMES.iter().map(|(known, _)| *known))
    }
}

impl AttributePart {
    const NAMES: &'static [(&'static str, Self)] =
        &[("comment", Self::Comment), ("unit", Self::Unit), ("datatype", Self::Datatype)];

    /// Returns its name.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, part)| *part == self).map_or("", |(name, _)| name)
    }
}

impl ItemAddress {
    /// Reads an address. The last `@` outside of quotes begins the name; `%40` is an `@` of a path or of a name.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if what follows the `@` is not a name.
    pub fn parse(text: &str) -> Result<Self> {
        let Some((path, name)) = split_address(text) else { return Ok(Self { path: text.to_owned(), name: None }) };
        let selector = AttributeSelector::parse(name)?;
        let computed = if name.starts_with('"') { None } else { ComputedValue::from_name(name) };
        let name = computed.map_or(AddressName::Attribute(selector), AddressName::Computed);
        Ok(Self { path: path.to_owned(), name: Some(name) })
    }

    /// Returns the address of an attribute of the item at a path.
    pub fn attribute(path: impl Into<String>, name: &str, index: usize) -> Self {
        let selector = AttributeSelector { name: name.to_owned(), index: Some(index).filter(|index| *index > 0), part: None };
        Self { path: path.into(), name: Some(AddressName::Attribute(selector)) }
    }
}

/// Formats the address so that it is read as the same.
impl fmt::Display for ItemAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path)?;
        match &self.name {
            None => Ok(()),
            Some(AddressName::Computed(value)) => write!(f, "@{}", value.name()),
            Some(AddressName::Attribute(selector)) => write!(f, "@{selector}"),
        }
    }
}

impl fmt::Display for AttributeSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_plain = !self.name.is_empty()
            && !self.name.contains(['.', '[', '"', '/', '@', '%'])
            && !self.name.contains(char::is_whitespace);
        if is_plain && ComputedValue::from_name(&self.name).is_none() {
            f.write_str(&self.name)?;
        } else {
            f.write_str(&json_text(&self.name))?;
        }
        if let Some(index) = self.index {
            write!(f, "[{index}]")?;
        }
        match self.part {
            Some(part) => write!(f, ".{}", part.name()),
            None => Ok(()),
        }
    }
}

/// Splits at the last `@` outside of quotes, if a name follows it.
pub(super) fn split_address(text: &str) -> Option<(&str, &str)> {
    let mut at = None;
    let (mut is_quoted, mut is_escaped) = (false, false);
    for (place, letter) in text.char_indices() {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' if is_quoted => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            '@' if !is_quoted => at = Some(place),
            _ => {}
        }
    }
    // A quote that has no end is a letter.
    let at = if is_quoted { text.rfind('@') } else { at }?;
    let (path, name) = (text.get(..at)?, text.get(at + 1..)?);
    // The path goes on after an `@` that is a letter of one of its keys.
    let is_name = name.starts_with('"') || !name.contains('/');
    is_name.then_some((path, name))
}

impl AttributeSelector {
    /// Reads `NAME`, `"a name"`, `NAME[1]`, `NAME.comment`.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for an empty name, and for a quote without an end.
    pub fn parse(text: &str) -> Result<Self> {
        Self::read(text)
            .ok_or_else(|| Error::invalid_input(format!("{text:?} is not the name of an attribute")).hint("write /path@NAME"))
    }

    fn read(text: &str) -> Option<Self> {
        let (mut text, mut part) = (text, None);
        for (name, known) in AttributePart::NAMES {
            if let Some(rest) = text.strip_suffix(name).and_then(|rest| rest.strip_suffix('.')).filter(|rest| !rest.is_empty()) {
                (text, part) = (rest, Some(*known));
                break;
            }
        }
        let mut index = None;
        if let Some((name, digits)) = text.strip_suffix(']').and_then(|rest| rest.rsplit_once('['))
            && !name.is_empty()
            && !digits.is_empty()
            && digits.bytes().all(|byte| byte.is_ascii_digit())
        {
            (text, index) = (name, Some(digits.parse().ok()?));
        }
        let name = match text.strip_prefix('"') {
            Some(quoted) => read_quoted(quoted)?,
            None => text.to_owned(),
        };
        (!name.is_empty() || text.starts_with('"')).then_some(Self { name, index, part })
    }
}

/// The text up to the closing quote, which ends it.
fn read_quoted(text: &str) -> Option<String> {
    let inner = text.strip_suffix('"')?;
    let (mut out, mut letters) = (String::new(), inner.chars());
    while let Some(letter) = letters.next() {
        match letter {
            '"' => return None,
            '\\' => match letters.next()? {
                'n' => out.push('\n'),
                't' => out.push('\t'),
                'r' => out.push('\r'),
                'u' => {
                    let digits: String = letters.by_ref().take(4).collect();
                    out.push(char::from_u32(u32::from_str_radix(&digits, 16).ok()?)?);
                }
                letter => out.push(letter),
            },
            letter => out.push(letter),
        }
    }
    Some(out)
}

/// A pattern for items and attributes: `/fits/*@DATE`, `@CHECKSUM`, `**@unit`, a path, or a bare name at any depth.
#[derive(Debug, Clone)]
pub struct AddressPattern {
    path: PathPattern,
    name: Option<NamePattern>,
    /// `true` once the pattern, or a clone of it, has fitted anything.
    has_matched: Arc<AtomicBool>,
    text: String,
}

#[derive(Debug, Clone)]
enum PathPattern {
    /// The path of an item from the root.
    Path(GlobPattern),
    /// A name at any depth, of an item or an attribute.
    AnyDepth(String),
}

#[derive(Debug, Clone)]
struct NamePattern {
    glob: String,
    index: Option<usize>,
}

impl AddressPattern {
    /// Reads a pattern. `*` is any text within a key, `**` any number of keys.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for an empty text, and for the root.
    pub fn parse(text: &str) -> Result<Self> {
        if matches!(text, "" | "/" | "#") {
            return Err(
                Error::invalid_input("the pattern fits the root, and so everything").hint("write /path, /path@NAME or NAME")
            );
        }
        let text = text.strip_prefix("#/").map_or(text, |_| text.get(1..).unwrap_or(text));
        let (path, name) = match split_address(text) {
            Some((path, name)) => {
                let selector = AttributeSelector::parse(name)?;
                let glob = match selector.part {
                    Some(part) => format!("{}.{}", selector.name, part.name()),
                    None => selector.name,
                };
                (path, Some(NamePattern { glob, index: selector.index }))
            }
            None => (text, None),
        };
        let path = match (path, &name) {
            ("", Some(_)) => PathPattern::Path(GlobPattern::new("**")),
            (path, _) if path.starts_with('/') || path.starts_with("**") => {
                PathPattern::Path(GlobPattern::new(path.trim_end_matches('/')))
            }
            (path, Some(_)) => PathPattern::Path(GlobPattern::new(&format!("**/{path}"))),
            (name, None) => PathPattern::AnyDepth(name.to_owned()),
        };
        Ok(Self { path, name, has_matched: Arc::default(), text: text.to_owned() })
    }

    /// Returns the text of the pattern.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns `true` if the pattern has fitted anything so far.
    pub fn has_matched(&self) -> bool {
        self.has_matched.load(Ordering::Relaxed)
    }

    /// Returns the pattern with another text, which reports to this one whether it fits anything.
    pub(crate) fn with_text(&self, text: &str) -> Result<Self> {
        Ok(Self { has_matched: Arc::clone(&self.has_matched), ..Self::parse(text)? })
    }

    fn report(&self, fits: bool) -> bool {
        if fits {
            self.has_matched.store(true, Ordering::Relaxed);
        }
        fits
    }

    /// Returns `true` if the pattern fits an item at a path.
    pub fn matches_item(&self, path: &str) -> bool {
        let fits = self.name.is_none()
            && match &self.path {
                PathPattern::Path(glob) => glob.matches(path),
                PathPattern::AnyDepth(name) => {
                    let key = unescape_key(path.rsplit('/').next().unwrap_or(path));
                    !path.is_empty() && glob::fits(name, &key)
                }
            };
        self.report(fits)
    }

    /// Returns `true` if the pattern fits an attribute: its name, or its name and part (`DATE.comment`), with its number among those
    /// of that name. `/fits/0/header/DATE` fits the card `/fits/0@DATE`, too.
    pub fn matches_attribute(&self, path: &str, name: &str, index: usize) -> bool {
        let fits = match (&self.path, &self.name) {
            (PathPattern::Path(glob), Some(wanted)) => {
                wanted.index.is_none_or(|wanted| wanted == index)
                    && glob.matches(path)
                    && (name_fits(&wanted.glob, name)
                        || name.rsplit_once('.').is_some_and(|(own, part)| {
                            AttributePart::NAMES.iter().any(|(known, _)| *known == part) && name_fits(&wanted.glob, own)
                        }))
            }
            // The path of a card in the list of the header.
            (PathPattern::Path(glob), None) => self.text.contains("/header/") && glob.matches(&format!("{path}/header/{name}")),
            (PathPattern::AnyDepth(wanted), _) => name_fits(wanted, name),
        };
        self.report(fits)
    }
}

/// Returns `true` if a glob fits a name, in which `/` is a letter as any other. Keywords of FITS have no case.
fn name_fits(glob: &str, name: &str) -> bool {
    let plain = |text: &str| text.replace('/', "\u{1}");
    glob::fits(&plain(glob), &plain(name))
}

/// Returns the value of a part of an attribute.
pub fn part_value(attribute: &ItemAttribute, part: Option<AttributePart>) -> AttributeValue {
    let text = |text: Option<&str>| text.map_or(AttributeValue::Empty, AttributeValue::from);
    match part {
        None => attribute.value.clone(),
        Some(AttributePart::Comment) => text(attribute.comment.as_deref()),
        Some(AttributePart::Unit) => text(attribute.unit.as_deref()),
        Some(AttributePart::Datatype) => text(Some(&attribute.value.datatype_name())),
    }
}
