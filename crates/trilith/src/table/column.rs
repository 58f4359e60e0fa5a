//! A column of a table: where its values are in a file, and how they are read.

use std::cell::OnceCell;

use super::summary::Summary;
use crate::condition::TableCell;
use crate::error::{Error, Result};
use crate::file::{File, Item, ItemKind};
use crate::suggest::nearest;
use crate::tree::TreePath;
use crate::wcs::{FoundWcs, Wcs};
use crate::yaml::{PrintOptions, print_value};

/// Queries after `@` for properties of an item besides its value.
const ASPECTS: &[(&str, ColumnAspect)] = &[
    ("shape", ColumnAspect::Shape),
    ("ndim", ColumnAspect::Ndim),
    ("size", ColumnAspect::Size),
    ("nbytes", ColumnAspect::Nbytes),
    ("dtype", ColumnAspect::Datatype),
    ("codec", ColumnAspect::Codec),
    ("unit", ColumnAspect::Unit),
    ("tag", ColumnAspect::Tag),
    ("kind", ColumnAspect::Kind),
    ("min", ColumnAspect::Min),
    ("max", ColumnAspect::Max),
    ("mean", ColumnAspect::Mean),
    ("index", ColumnAspect::Index),
    ("footprint", ColumnAspect::Footprint),
    ("centre", ColumnAspect::Centre),
    ("scale", ColumnAspect::Scale),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ColumnAspect {
    Value,
    Shape,
    Ndim,
    Size,
    Nbytes,
    Datatype,
    Codec,
    Unit,
    Tag,
    Kind,
    Min,
    Max,
    Mean,
    /// The number of the item of `--each`.
    Index,
    /// Corners of the image on the sky, by its coordinates.
    Footprint,
    Centre,
    Scale,
}

impl ColumnAspect {
    fn is_of_coordinates(self) -> bool {
        matches!(self, Self::Footprint | Self::Centre | Self::Scale)
    }
}

/// A column: its name, and where its values are.
#[derive(Debug, Clone)]
pub(super) struct Column {
    pub name: String,
    /// The keys on the way, from the root of the file or from the item of a row.
    path: String,
    from_root: bool,
    aspect: ColumnAspect,
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
        let (path, aspect) = aspect_of(place)?;
        let (from_root, path) = match path.strip_prefix("//") {
            Some(rest) => (true, format!("/{rest}")),
            None if path == "." => (false, String::new()),
            None => (false, path.to_owned()),
        };
        if !path.is_empty() && !path.starts_with('/') {
            let what = format!("the path {place:?} of the column {name} does not begin with /");
            return Err(Error::invalid_input(what).hint(format!("write /{place}")));
        }
        if name.is_empty() {
            return Err(Error::invalid_input(format!("the column {place:?} has no name")).hint("write NAME=/path"));
        }
        Ok(Self { name: name.to_owned(), path, from_root, aspect })
    }

    /// Returns `true` for a property of the coordinates of the image of the file.
    pub(super) fn is_of_image(&self) -> bool {
        self.aspect.is_of_coordinates() && self.path.is_empty()
    }

    /// The value in a row: null if there is no such item.
    pub(super) fn read_cell(&self, place: RowSubject<'_>) -> Result<TableCell> {
        let item = match place.item {
            Some((_, index)) if self.aspect == ColumnAspect::Index => {
                return Ok(TableCell::Int(index.try_into().unwrap_or(i64::MAX)));
            }
            Some((item, _)) if !self.from_root => item_below(item, &self.path)?,
            _ if self.is_of_image() => {
                let found = match place.image.get() {
                    Some(found) => found,
                    None => {
                        let found = place.file.wcs("")?;
                        place.image.get_or_init(|| found)
                    }
                };
                return Ok(found.as_ref().map_or(TableCell::Null, |found| self.of_wcs(&found.wcs)));
            }
            _ => match place.file.item(&self.path) {
                Ok(item) => Some(item.resolve()?),
                Err(error) if error.kind().is_request() => None,
                Err(error) => return Err(error),
            },
        };
        item.map_or(Ok(TableCell::Null), |item| self.of_item(&item))
    }

    fn of_item(&self, item: &Item<'_>) -> Result<TableCell> {
        let is_array = item.kind() == ItemKind::Array;
        Ok(match self.aspect {
            ColumnAspect::Value => item_value(item)?,
            ColumnAspect::Kind => TableCell::Text(item.kind().name().to_owned()),
            ColumnAspect::Tag => item.metadata().tag.map_or(TableCell::Null, |tag| TableCell::Text(tag.to_owned())),
            ColumnAspect::Unit => item.unit().map_or(TableCell::Null, TableCell::Text),
            ColumnAspect::Index => TableCell::Null,
            aspect if aspect.is_of_coordinates() => item.coordinates()?.map_or(TableCell::Null, |found| self.of_wcs(&found.wcs)),
            _ if !is_array => TableCell::Null,
            ColumnAspect::Shape => TableCell::Text(format!("{:?}", item.describe()?.shape)),
            ColumnAspect::Ndim => integer_cell(item.describe()?.shape.len() as u64),
            ColumnAspect::Size => {
                integer_cell(item.describe()?.shape.iter().fold(1, |product: u64, n| product.saturating_mul(*n)))
            }
            ColumnAspect::Nbytes => item.describe()?.nbytes.map_or(TableCell::Null, integer_cell),
            ColumnAspect::Datatype => TableCell::Text(item.describe()?.datatype.to_string()),
            ColumnAspect::Codec => TableCell::Text(item.describe()?.storage),
            ColumnAspect::Min => Summary::compute(&item.array()?)?.min,
            ColumnAspect::Max => Summary::compute(&item.array()?)?.max,
            ColumnAspect::Mean => Summary::compute(&item.array()?)?.mean(),
            _ => TableCell::Null,
        })
    }

    /// Returns a property of the coordinates: positions in degrees as lists, a scale in seconds of arc.
    fn of_wcs(&self, wcs: &Wcs) -> TableCell {
        match self.aspect {
            ColumnAspect::Footprint => wcs.footprint().map_or(TableCell::Null, |corners| TableCell::Text(format!("{corners:?}"))),
            ColumnAspect::Centre => wcs.centre().map_or(TableCell::Null, |centre| TableCell::Text(format!("{centre:?}"))),
            _ => wcs.scale().map_or(TableCell::Null, TableCell::Float),
        }
    }
}

/// Splits the aspect off a path. A key may hold an `@`, so only what is, or is nearly, a known word counts.
fn aspect_of(place: &str) -> Result<(&str, ColumnAspect)> {
    let Some((path, word)) = place.rsplit_once('@') else { return Ok((place, ColumnAspect::Value)) };
    if let Some((_, aspect)) = ASPECTS.iter().find(|(known, _)| *known == word) {
        return Ok((path, *aspect));
    }
    match nearest(word, ASPECTS.iter().map(|(known, _)| *known)) {
        Some(known) => Err(Error::invalid_input(format!("unknown @{word} of a column")).hint(format!("did you mean @{known}?"))),
        None => Ok((place, ColumnAspect::Value)),
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

fn integer_cell(number: u64) -> TableCell {
    i64::try_from(number).map_or_else(|_| TableCell::Text(number.to_string()), TableCell::Int)
}

/// The element of an array without axes; text if it is no number that a cell holds.
fn scalar_cell(item: &Item<'_>) -> Result<TableCell> {
    let array = item.decode_text(item.array()?)?;
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
