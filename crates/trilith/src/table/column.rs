//! A column of a table: where its values are in a file, and how they are read.

use std::cell::OnceCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use super::computed::{attribute_cell, coordinate_cell};
use crate::condition::TableCell;
use crate::error::{Error, Result};
use crate::file::{AddressName, ComputedValue, File, Item, ItemAddress, ItemKind, part_value};
use crate::suggest::nearest;
use crate::threads::lock;
use crate::tree::TreePath;
use crate::wcs::FoundWcs;
use crate::yaml::{PrintOptions, print_value};

/// A column: its name, and where its values are.
#[derive(Debug, Clone)]
pub(super) struct Column {
    pub name: String,
    /// The keys on the way, from the root of the file or from the item of a row.
    path: String,
    /// The keys on the way, if an `@` is a letter of the last one.
    full_path: String,
    from_root: bool,
    /// The part of the item that is read; None is its value.
    part: Option<AddressName>,
    state: Arc<ColumnState>,
}

/// The state of a column after some rows.
#[derive(Debug, Default)]
struct ColumnState {
    /// `true` if a row was read.
    was_read: AtomicBool,
    /// `true` if any row has a value.
    has_values: AtomicBool,
    /// The name that is nearest to the one that a row does not have.
    suggestion: Mutex<Option<String>>,
}

/// The subject of a row.
#[derive(Clone, Copy)]
pub(super) struct RowSubject<'f> {
    pub file: &'f File,
    /// The item of the row, and its number; None if the row is of the whole file.
    pub item: Option<(&'f Item<'f>, usize)>,
    /// The coordinates of the image of the file, once a column has asked for them.
    pub image: &'f OnceCell<Option<FoundWcs>>,
}

impl Column {
    /// Reads `NAME=/path`, `NAME=/path@aspect` or a path alone, whose last key is the name.
    pub(super) fn parse(text: &str) -> Result<Self> {
        match text.split_once('=') {
            Some((name, place)) if !name.contains('/') => Self::from_name_and_path(name.trim(), place),
            _ => Self::from_name_and_path(text.trim_matches('/').rsplit('/').next().unwrap_or_default(), text),
        }
    }

    /// A column of this name, whose values are at `/path` or `/path@aspect`.
    pub(super) fn from_name_and_path(name: &str, place: &str) -> Result<Self> {
        let ItemAddress { path, name: part, .. } = ItemAddress::parse(place)?;
        let (from_root, full_path) = match place.strip_prefix("//") {
            Some(rest) => (true, format!("/{rest}")),
            None => (false, place.to_owned()),
        };
        let path = match path.strip_prefix("//") {
            Some(rest) => format!("/{rest}"),
            None if path == "." => String::new(),
            None => path,
        };
        if !path.is_empty() && !path.starts_with('/') {
            let what = format!("the path {place:?} of the column {name} does not begin with /");
            let as_attribute = format!("@{place} for an attribute or a FITS card, or ");
            let as_attribute = if path.contains('/') || part.is_some() { String::new() } else { as_attribute };
            return Err(Error::invalid_input(what).hint(format!("write {as_attribute}/{place}")));
        }
        if name.is_empty() {
            return Err(Error::invalid_input(format!("the column {place:?} has no name")).hint("write NAME=/path"));
        }
        Ok(Self { name: name.to_owned(), path, full_path, from_root, part, state: Arc::default() })
    }

    /// Returns `true` for a property of the coordinates of the image of the file.
    pub(super) fn is_of_image(&self) -> bool {
        matches!(self.part, Some(AddressName::Computed(value)) if value.is_of_coordinates()) && self.path.is_empty()
    }

    /// Returns `true` if the values may be in the lists `header` of FITS files. Attributes of other items are not.
    pub(super) fn needs_card_rows(&self) -> bool {
        let is_attribute = matches!(self.part, Some(AddressName::Attribute(_)));
        !(self.is_of_image() || is_attribute && !self.path.contains("header"))
    }

    /// Returns the reason why the column is empty in all rows that were read; None if it is not.
    pub(super) fn empty_reason(&self) -> Option<String> {
        if self.state.has_values.load(Ordering::Relaxed) || !self.state.was_read.load(Ordering::Relaxed) {
            return None;
        }
        let advice = lock(&self.state.suggestion).clone().map_or_else(String::new, |advice| format!("; {advice}"));
        let place = if self.part.is_some() { &self.full_path } else { &self.path };
        Some(format!("column {} is empty in every file: nothing is at {place}{advice}", self.name))
    }

    /// The value in a row: null if there is no such item.
    pub(super) fn read_cell(&self, place: RowSubject<'_>) -> Result<TableCell> {
        self.state.was_read.store(true, Ordering::Relaxed);
        let cell = self.cell_of(place)?;
        if cell != TableCell::Null {
            self.state.has_values.store(true, Ordering::Relaxed);
        }
        Ok(cell)
    }

    fn cell_of(&self, place: RowSubject<'_>) -> Result<TableCell> {
        if let (Some((_, index)), Some(AddressName::Computed(ComputedValue::Index))) = (place.item, &self.part) {
            return Ok(TableCell::Int(index.try_into().unwrap_or(i64::MAX)));
        }
        if let (true, Some(AddressName::Computed(value))) =
            (self.is_of_image() && (place.item.is_none() || self.from_root), &self.part)
        {
            let found = match place.image.get() {
                Some(found) => found,
                None => {
                    let found = place.file.wcs("")?;
                    place.image.get_or_init(|| found)
                }
            };
            return Ok(found.as_ref().map_or(TableCell::Null, |found| coordinate_cell(&found.wcs, *value)));
        }
        if matches!(self.part, Some(AddressName::Attribute(_)))
            && let Some(item) = self.item_at(place, &self.full_path, false)?
        {
            return self.with_value(item_value(&item)?);
        }
        let lacks_suggestion = self.lacks_suggestion();
        let Some(item) = self.item_at(place, &self.path, true)? else {
            if lacks_suggestion
                && self.part.is_none()
                && let Some(known) = self.find_attribute(place).ok().flatten()
            {
                self.suggest(format!("did you mean {known}?"));
            }
            return Ok(TableCell::Null);
        };
        match &self.part {
            None => self.with_value(item_value(&item)?),
            Some(AddressName::Computed(value)) => {
                let cell = value.compute(&item)?;
                if cell == TableCell::Null && self.lacks_suggestion() {
                    let mut all = item.header().attributes()?.into_iter();
                    if all.any(|attribute| attribute.name == value.name()) {
                        self.suggest(format!("the attribute of this name is @{:?}", value.name()));
                    }
                }
                Ok(cell)
            }
            Some(AddressName::Attribute(selector)) => {
                let is_of_image = self.path.is_empty() && place.item.is_none();
                let item = match if is_of_image { place.file.image()? } else { None } {
                    Some(image) => place.file.item(&image)?,
                    None => item,
                };
                let found = match item.header().find(selector)? {
                    None if self.path.is_empty() => place.file.root().header().find(selector)?,
                    found => found,
                };
                if let Some(why) = found.as_ref().and_then(|found| found.value.unreadable()) {
                    return Err(why.copy());
                }
                match found {
                    Some(found) => self.with_value(attribute_cell(&part_value(&found, selector.part))),
                    None => {
                        if self.lacks_suggestion() {
                            let all = item.header().attributes()?;
                            let names = all.iter().map(|attribute| attribute.name.as_str());
                            let known = nearest(&selector.name, names).map(str::to_owned);
                            let known = known.or_else(|| ComputedValue::nearest_name(&selector.name).map(str::to_owned));
                            known.into_iter().for_each(|known| self.suggest(format!("did you mean @{known}?")));
                        }
                        Ok(TableCell::Null)
                    }
                }
            }
        }
    }

    /// Returns the address of an attribute that has the name of a missing item.
    fn find_attribute(&self, place: RowSubject<'_>) -> Result<Option<String>> {
        let Some((parent, name)) = self.path.rsplit_once('/') else { return Ok(None) };
        let address = format!("{parent}@{name}");
        let Some(AddressName::Attribute(selector)) = ItemAddress::parse(&address)?.name else { return Ok(None) };
        let mut owners: Vec<Item<'_>> = self.item_at(place, parent, false)?.into_iter().collect();
        if parent.is_empty() && place.item.is_none() {
            owners.extend(place.file.image()?.map(|image| place.file.item(&image)).transpose()?);
        }
        for owner in owners {
            if owner.header().find(&selector)?.is_some() {
                return Ok(Some(address));
            }
        }
        Ok(None)
    }

    /// Notes that a row has the item or the attribute, even if its value is null.
    fn with_value(&self, cell: TableCell) -> Result<TableCell> {
        self.state.has_values.store(true, Ordering::Relaxed);
        Ok(cell)
    }

    fn lacks_suggestion(&self) -> bool {
        !self.state.has_values.load(Ordering::Relaxed) && lock(&self.state.suggestion).is_none()
    }

    fn suggest(&self, advice: String) {
        *lock(&self.state.suggestion) = Some(advice);
    }

    /// The item of a row at a path; notes the keys that there are if it is missing and was to be there.
    fn item_at<'f>(&self, place: RowSubject<'f>, path: &str, is_expected: bool) -> Result<Option<Item<'f>>> {
        match place.item {
            Some((item, _)) if !self.from_root => item_below(item, path),
            _ => match place.file.item(path) {
                Ok(item) => Ok(Some(item.resolve()?)),
                Err(error) if error.kind().is_request() => {
                    if is_expected
                        && self.lacks_suggestion()
                        && let Some(advice) = error.advice()
                    {
                        self.suggest(advice.to_string());
                    }
                    Ok(None)
                }
                Err(error) => Err(error),
            },
        }
    }
}

/// The item at a path below another.
fn item_below<'f>(item: &Item<'f>, path: &str) -> Result<Option<Item<'f>>> {
    let mut at = item.resolve()?;
    for key in TreePath::parse(path)?.keys() {
        let Some(child) = at.get(key)? else { return Ok(None) };
        at = child;
    }
    Ok(Some(at))
}

/// The element of an array without axes; text if it is not a number that a cell holds.
fn scalar_cell(item: &Item<'_>) -> Result<TableCell> {
    let array = item.decoder().decode_text(item.array()?)?;
    if array.mask().is_some() {
        return Ok(TableCell::Text(format!("{} {:?}", array.datatype(), array.shape())));
    }
    let cells = TableCell::of_elements(&array)?;
    let described = || TableCell::Text(format!("{} {:?}", array.datatype(), array.shape()));
    Ok(cells.map_or_else(described, |cells| cells.into_iter().next().unwrap_or_default()))
}

/// The value of an item: that of a scalar, the text of a collection, what an array is.
fn item_value(item: &Item<'_>) -> Result<TableCell> {
    match item.kind() {
        ItemKind::Scalar | ItemKind::Text | ItemKind::Null => Ok(TableCell::of_scalar(item.value()?)),
        ItemKind::Array => {
            let found = item.describe()?;
            if found.shape.is_empty() && found.datatype.as_struct().is_none() {
                return scalar_cell(item);
            }
            Ok(TableCell::Text(format!("{} {:?}", found.datatype, found.shape)))
        }
        _ => {
            let (value, _) = item.to_value()?;
            let mut how = PrintOptions::default();
            (how.width, how.literals) = (usize::MAX, false);
            Ok(TableCell::Text(print_value(&value.flow(), 0, &how).trim().to_owned()))
        }
    }
}
