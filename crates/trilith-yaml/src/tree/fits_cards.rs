//! Cards of a FITS header by their keyword: `/fits/0/header/OBJECT` is the value of that card.
//!
//! The `fits` list of a tree (ASDF 0.1.0dev, section 4.2) has a list of rows `[keyword, value, comment]` for each
//! header. A key after `header` that is not a number names the first row of that keyword, `OBJECT/2` the second,
//! and `OBJECT/-` one more. Numbers lead to rows as in any list.

use super::edit::Edit;
use super::node::Node;
use super::path::index_of;
use super::{Tree, TreePath, Value};
use crate::error::{Error, Result};

/// A card that a path names by its keyword, whether there is one or not.
pub(super) struct CardLocator<'t> {
    /// The path as it was given.
    given: TreePath,
    header: TreePath,
    rows: Node<'t>,
    keyword: String,
    which: CardOccurrence,
}

/// The card of a keyword that is meant.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CardOccurrence {
    /// The first; or, for an insertion, one that is not there yet.
    Plain,
    /// The one of this number, from 1.
    Number(usize),
    /// A new card after all others.
    New,
}

impl Tree {
    /// The path in which every key is one of the tree itself: a card that is named by its keyword is replaced by the
    /// place of its value, any other path stays.
    ///
    /// ```
    /// use trilith_yaml::{Limits, tree::{Tree, TreePath}};
    /// let tree = Tree::parse("fits: [{header: [[SIMPLE, true], [OBJECT, M31, a galaxy]]}]", &Limits::default())?;
    /// let path = tree.card_path(&TreePath::parse("/fits/0/header/OBJECT")?)?;
    /// assert_eq!(path.to_string(), "/fits/0/header/1/1");
    /// # Ok::<(), trilith_yaml::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if the header has no such card, or the card has no
    /// value.
    pub fn card_path(&self, path: &TreePath) -> Result<TreePath> {
        let Some(card) = CardLocator::resolve_card(self, path)? else { return Ok(path.clone()) };
        let (at, row) = card.card_row()?;
        if row.len() < 2 {
            return Err(Error::invalid_input(format!("the card {} has no value", card.keyword)).at_path(path.to_string()));
        }
        Ok(card.row_path(at).join("1"))
    }
}

/// The target of a path in a FITS header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CardPlace {
    /// The value of a card; with `list` also a row, whose item of this number is the value.
    Value {
        /// The index of the value in a list with its comment.
        list: Option<usize>,
    },
    /// A keyword, a comment, or the text of a commentary card.
    Text,
}

impl Tree {
    /// Returns what a path in a FITS header represents; None for any other path.
    pub fn card_place(&self, path: &TreePath) -> Option<CardPlace> {
        let ([list, hdu, header, key] | [list, hdu, header, key, _]) = path.keys() else { return None };
        if list != "fits" || header != "header" {
            return None;
        }
        let above: TreePath = [list, hdu, header].into_iter().cloned().collect();
        let rows = self.find(&above).filter(|rows| rows.is_sequence())?;
        let row = index_of(key);
        if row.is_none() && key != "-" {
            let is_text = is_commentary(&key.to_ascii_uppercase());
            return Some(if is_text { CardPlace::Text } else { CardPlace::Value { list: Some(0) } });
        }
        let keyword = row.and_then(|row| rows.index(row)).and_then(keyword_of);
        match path.keys().get(4).map(String::as_str) {
            None => Some(CardPlace::Value { list: Some(1) }),
            Some("1") if !keyword.is_some_and(|keyword| is_commentary(&keyword)) => Some(CardPlace::Value { list: None }),
            Some(_) => Some(CardPlace::Text),
        }
    }
}

impl<'t> CardLocator<'t> {
    /// The card that a path names by its keyword; None for any other path.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for what follows the keyword and is not a number from 1
    /// on.
    pub(super) fn resolve_card(tree: &'t Tree, path: &TreePath) -> Result<Option<Self>> {
        let ([list, hdu, header, keyword] | [list, hdu, header, keyword, _]) = path.keys() else { return Ok(None) };
        if list != "fits" || header != "header" || index_of(keyword).is_some() || keyword == "-" {
            return Ok(None);
        }
        let above: TreePath = [list, hdu, header].into_iter().cloned().collect();
        let Some(rows) = tree.find(&above).filter(|rows| rows.is_sequence()) else { return Ok(None) };
        let which = match path.keys().get(4).map(String::as_str) {
            None => CardOccurrence::Plain,
            Some("-") => CardOccurrence::New,
            Some(number) => match index_of(number).filter(|number| *number > 0) {
                Some(number) => CardOccurrence::Number(number),
                None => {
                    let message = format!("the cards of one keyword are counted from 1: found {number:?}");
                    return Err(Error::invalid_input(message).at_path(path.to_string()));
                }
            },
        };
        let keyword = keyword.strip_prefix("HIERARCH ").unwrap_or(keyword).trim().to_owned();
        let mut card = Self { given: path.clone(), header: above, rows, keyword, which };
        // Keywords are written in capitals; only those of HIERARCH cards may have other letters.
        let capitals = card.keyword.to_ascii_uppercase();
        if card.matching_rows().is_empty() && card.places_of(&capitals).next().is_some() {
            card.keyword = capitals;
        }
        Ok(Some(card))
    }

    /// The rows of a keyword, by number.
    fn places_of<'a>(&self, keyword: &'a str) -> impl Iterator<Item = (usize, Node<'t>)> + use<'a, 't> {
        let is_meant = move |row: &Node<'t>| keyword_of(*row).is_some_and(|found| found == keyword);
        self.rows.items().enumerate().filter(move |(_, row)| is_meant(row))
    }

    fn matching_rows(&self) -> Vec<(usize, Node<'t>)> {
        self.places_of(&self.keyword).collect()
    }

    /// The row that is meant, and its number in the header.
    fn card_row(&self) -> Result<(usize, Node<'t>)> {
        let places = self.matching_rows();
        let number = match self.which {
            CardOccurrence::Plain => 1,
            CardOccurrence::Number(number) => number,
            CardOccurrence::New => usize::MAX,
        };
        places.get(number - 1).copied().ok_or_else(|| self.missing_card_error(places.len()))
    }

    #[cold]
    fn missing_card_error(&self, count: usize) -> Error {
        let message = match count {
            0 => format!("the header has no card {}", self.keyword),
            1 => format!("the header has one card {}", self.keyword),
            n => format!("the header has {n} cards {}", self.keyword),
        };
        Error::invalid_input(message).at_path(self.given.to_string())
    }

    fn row_path(&self, row: usize) -> TreePath {
        self.header.join(row.to_string())
    }

    /// Returns `true` if its keyword takes text and may occur any number of times.
    fn is_commentary(&self) -> bool {
        is_commentary(&self.keyword)
    }

    /// Sets the value, or adds the card; a list [value, comment] gives both.
    pub(super) fn set_card_value(&self, edit: &mut Edit<'t>, value: &Value) -> Result<()> {
        let count = self.matching_rows().len();
        match (self.card_row(), self.which) {
            (Ok((at, row)), _) if row.len() < 2 || !value.items().is_empty() => {
                edit.set(&self.row_path(at), &self.new_row(value))
            }
            (Ok((at, _)), _) => edit.set(&self.row_path(at).join("1"), value),
            (Err(_), CardOccurrence::Plain | CardOccurrence::New) => self.insert_card(edit, value),
            (Err(_), CardOccurrence::Number(number)) if number == count + 1 => self.insert_card(edit, value),
            (Err(error), _) => Err(error),
        }
    }

    /// Adds a card that is not there; COMMENT and HISTORY, and those with a number, next to others of the name.
    pub(super) fn insert(&self, edit: &mut Edit<'t>, value: &Value) -> Result<()> {
        let count = self.matching_rows().len();
        match self.which {
            CardOccurrence::Plain if count > 0 && !self.is_commentary() => {
                Err(Error::invalid_input(format!("the header has a card {} already", self.keyword))
                    .at_path(self.given.to_string())
                    .hint(format!("set changes its value, and {}/- adds another", self.keyword)))
            }
            CardOccurrence::Number(number) if number <= count => {
                let (at, _) = self.card_row()?;
                edit.insert(&self.row_path(at), &self.new_row(value))
            }
            CardOccurrence::Number(number) if number > count + 1 => Err(self.missing_card_error(count)),
            _ => self.insert_card(edit, value),
        }
    }

    /// Removes the card.
    pub(super) fn delete(&self, edit: &mut Edit<'t>) -> Result<()> {
        let (at, _) = self.card_row()?;
        edit.delete(&self.row_path(at))
    }

    /// Gives the card another keyword.
    pub(super) fn rename(&self, edit: &mut Edit<'t>, name: &str) -> Result<()> {
        let (at, _) = self.card_row()?;
        if !is_commentary(name) && self.places_of(name).next().is_some() {
            return Err(Error::invalid_input(format!("the header has a card {name} already")).at_path(self.given.to_string()));
        }
        edit.set(&self.row_path(at).join("0"), &Value::from(name))
    }

    /// Adds a card after the others of its keyword. The first card of a keyword goes after the last card that is not blank.
    fn insert_card(&self, edit: &mut Edit<'t>, value: &Value) -> Result<()> {
        let last = self.matching_rows().last().map(|(at, _)| *at);
        let filled = || self.rows.items().enumerate().filter(|(_, row)| !row.is_empty()).last().map(|(at, _)| at);
        let at = last.or_else(filled).map_or(0, |at| at + 1);
        edit.insert(&self.row_path(at), &self.new_row(value))
    }

    /// The row of this keyword with a value, or with value and comment if that is a list of both.
    fn new_row(&self, value: &Value) -> Value {
        let given = match value.items() {
            [] => std::slice::from_ref(value),
            items => items,
        };
        Value::seq(std::iter::once(Value::from(self.keyword.as_str())).chain(given.iter().cloned())).flow()
    }
}

fn keyword_of(row: Node<'_>) -> Option<std::borrow::Cow<'_, str>> {
    if !row.is_sequence() {
        return None;
    }
    Some(row.index(0).map_or(std::borrow::Cow::Borrowed(""), |keyword| keyword.text()))
}

fn is_commentary(keyword: &str) -> bool {
    matches!(keyword, "COMMENT" | "HISTORY" | "")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Limits;

    const TEXT: &str = "fits:\n- header:\n  - [SIMPLE, true]\n  - [OBJECT, M31, a galaxy]\n  - [HISTORY, one]\n  - [HISTORY, two]\n  \
         - [ESO DET, 5]\n  - [NOTHING]\n  - []\n";

    fn edited(make: impl FnOnce(&mut Edit<'_>) -> Result<()>) -> Result<String> {
        let tree = Tree::parse(TEXT, &Limits::default()).unwrap();
        let mut edit = tree.edit();
        make(&mut edit)?;
        edit.apply_changes()
    }

    fn at(key: &str) -> TreePath {
        TreePath::parse(&format!("/fits/0/header/{key}")).unwrap()
    }

    #[test]
    fn keyword_path_resolves_to_card_value() {
        let tree = Tree::parse(TEXT, &Limits::default()).unwrap();
        let found = |key: &str| tree.card_path(&at(key)).map(|path| path.to_string());
        assert_eq!(found("OBJECT").unwrap(), "/fits/0/header/1/1");
        assert_eq!(found("object").unwrap(), "/fits/0/header/1/1");
        assert_eq!(found("OBJECT/1").unwrap(), "/fits/0/header/1/1");
        assert_eq!(found("HISTORY/2").unwrap(), "/fits/0/header/3/1");
        assert_eq!(found("ESO DET").unwrap(), "/fits/0/header/4/1");
        assert_eq!(found("HIERARCH ESO DET").unwrap(), "/fits/0/header/4/1");
        assert_eq!(found("1/2").unwrap(), "/fits/0/header/1/2");
        for key in ["NOTHING", "MISSING", "OBJECT/2", "OBJECT/0", "OBJECT/x", "HISTORY/-"] {
            assert_eq!(found(key).unwrap_err().kind(), crate::ErrorKind::InvalidInput, "{key}");
        }
    }

    #[test]
    fn edits_change_one_row() {
        let set = |key: &str, value: Value| edited(|edit| edit.set(&at(key), &value)).unwrap();
        assert_eq!(set("OBJECT", "M32".into()), TEXT.replace("M31", "M32"));
        assert_eq!(set("OBJECT", Value::seq(["M32", "another"])), TEXT.replace("M31, a galaxy", "M32, another"));
        assert_eq!(set("NOTHING", 1.into()), TEXT.replace("[NOTHING]", "[NOTHING, 1]"));
        let grown = TEXT.replace("  - []\n", "  - [EXPTIME, 2.5]\n  - []\n");
        assert_eq!(set("EXPTIME", 2.5.into()), grown);
        assert_eq!(set("HISTORY/3", "three".into()), TEXT.replace("two]\n", "two]\n  - [HISTORY, three]\n"));
        let insert = |key: &str, value: Value| edited(|edit| edit.insert(&at(key), &value));
        assert_eq!(insert("EXPTIME", 2.5.into()).unwrap(), grown);
        assert_eq!(insert("HISTORY", "x".into()).unwrap(), TEXT.replace("two]\n", "two]\n  - [HISTORY, x]\n"));
        assert_eq!(insert("OBJECT/-", "x".into()).unwrap(), TEXT.replace("galaxy]\n", "galaxy]\n  - [OBJECT, x]\n"));
        assert_eq!(insert("OBJECT/1", "x".into()).unwrap(), TEXT.replace("  - [OBJECT", "  - [OBJECT, x]\n  - [OBJECT"));
        assert!(insert("OBJECT", 1.into()).is_err());
        assert!(insert("OBJECT/3", 1.into()).is_err());
        assert_eq!(edited(|edit| edit.delete(&at("HISTORY/2"))).unwrap(), TEXT.replace("  - [HISTORY, two]\n", ""));
        assert!(edited(|edit| edit.delete(&at("MISSING"))).is_err());
        assert_eq!(edited(|edit| edit.rename(&at("OBJECT"), "TARGET")).unwrap(), TEXT.replace("OBJECT", "TARGET"));
        assert!(edited(|edit| edit.rename(&at("OBJECT"), "SIMPLE")).is_err());
    }
}
