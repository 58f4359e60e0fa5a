//! A column of a table: where its values are in a file, and how they are read.

use std::cell::OnceCell;

use super::summary::Summary;
use crate::condition::Cell;
use crate::error::{Error, Result};
use crate::file::{File, Item, ItemKind};
use crate::suggest::nearest;
use crate::wcs::{Found, Wcs};
use crate::yaml::{PrintOptions, print_value};

/// Queries after `@` for properties of an item besides its value.
const ASPECTS: &[(&str, Aspect)] = &[
    ("shape", Aspect::Shape),
    ("ndim", Aspect::Ndim),
    ("size", Aspect::Size),
    ("nbytes", Aspect::Nbytes),
    ("dtype", Aspect::Datatype),
    ("codec", Aspect::Codec),
    ("unit", Aspect::Unit),
    ("tag", Aspect::Tag),
    ("kind", Aspect::Kind),
    ("min", Aspect::Min),
    ("max", Aspect::Max),
    ("mean", Aspect::Mean),
    ("index", Aspect::Index),
    ("footprint", Aspect::Footprint),
    ("centre", Aspect::Centre),
    ("scale", Aspect::Scale),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Aspect {
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

impl Aspect {
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
    aspect: Aspect,
}

/// The subject of a row.
#[derive(Clone, Copy)]
pub(super) struct Place<'f> {
    pub file: &'f File,
    /// The item of the row, and its number; None if the row is of the whole file.
    pub item: Option<(&'f Item<'f>, usize)>,
    /// The coordinates of the image of the file, once a column has asked for them.
    pub image: &'f OnceCell<Option<Found>>,
}

impl Column {
    /// Reads `NAME=/path`, `NAME=/path@aspect` or a path alone, whose last key is the name.
    pub(super) fn parse(text: &str) -> Result<Self> {
        match text.split_once('=') {
            Some((name, place)) if !name.contains('/') => Self::at(name.trim(), place),
            _ => Self::at(text.trim_matches('/').rsplit('/').next().unwrap_or_default(), text),
        }
    }

    /// A column of this name, whose values are at `/path` or `/path@aspect`.
    pub(super) fn at(name: &str, place: &str) -> Result<Self> {
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
    pub(super) fn read(&self, place: Place<'_>) -> Result<Cell> {
        let item = match place.item {
            Some((_, index)) if self.aspect == Aspect::Index => return Ok(Cell::Int(index.try_into().unwrap_or(i64::MAX))),
            Some((item, _)) if !self.from_root => below(item, &self.path)?,
            _ if self.is_of_image() => {
                let found = match place.image.get() {
                    Some(found) => found,
                    None => {
                        let found = place.file.wcs("")?;
                        place.image.get_or_init(|| found)
                    }
                };
                return Ok(found.as_ref().map_or(Cell::Null, |found| self.of_wcs(&found.wcs)));
            }
            _ => match place.file.item(&self.path) {
                Ok(item) => Some(item.follow()?),
                Err(error) if error.kind().is_request() => None,
                Err(error) => return Err(error),
            },
        };
        item.map_or(Ok(Cell::Null), |item| self.of_item(&item))
    }

    fn of_item(&self, item: &Item<'_>) -> Result<Cell> {
        let is_array = item.kind() == ItemKind::Array;
        Ok(match self.aspect {
            Aspect::Value => value(item)?,
            Aspect::Kind => Cell::Text(item.kind().name().to_owned()),
            Aspect::Tag => item.notes().tag.map_or(Cell::Null, |tag| Cell::Text(tag.to_owned())),
            Aspect::Unit => item.notes().unit.map_or(Cell::Null, |unit| Cell::Text(unit.into_owned())),
            Aspect::Index => Cell::Null,
            aspect if aspect.is_of_coordinates() => item.coordinates()?.map_or(Cell::Null, |found| self.of_wcs(&found.wcs)),
            _ if !is_array => Cell::Null,
            Aspect::Shape => Cell::Text(format!("{:?}", item.describe()?.shape)),
            Aspect::Ndim => whole(item.describe()?.shape.len() as u64),
            Aspect::Size => whole(item.describe()?.shape.iter().fold(1, |product: u64, n| product.saturating_mul(*n))),
            Aspect::Nbytes => item.describe()?.nbytes.map_or(Cell::Null, whole),
            Aspect::Datatype => Cell::Text(item.describe()?.datatype.to_string()),
            Aspect::Codec => Cell::Text(item.describe()?.storage),
            Aspect::Min => Summary::of(&item.array()?)?.min,
            Aspect::Max => Summary::of(&item.array()?)?.max,
            Aspect::Mean => Summary::of(&item.array()?)?.mean(),
            _ => Cell::Null,
        })
    }

    /// Returns a property of the coordinates: positions in degrees as lists, a scale in seconds of arc.
    fn of_wcs(&self, wcs: &Wcs) -> Cell {
        match self.aspect {
            Aspect::Footprint => wcs.footprint().map_or(Cell::Null, |corners| Cell::Text(format!("{corners:?}"))),
            Aspect::Centre => wcs.centre().map_or(Cell::Null, |centre| Cell::Text(format!("{centre:?}"))),
            _ => wcs.scale().map_or(Cell::Null, Cell::Float),
        }
    }
}

/// Splits the aspect off a path. A key may hold an `@`, so only what is, or is nearly, a known word counts.
fn aspect_of(place: &str) -> Result<(&str, Aspect)> {
    let Some((path, word)) = place.rsplit_once('@') else { return Ok((place, Aspect::Value)) };
    if let Some((_, aspect)) = ASPECTS.iter().find(|(known, _)| *known == word) {
        return Ok((path, *aspect));
    }
    match nearest(word, ASPECTS.iter().map(|(known, _)| *known)) {
        Some(known) => Err(Error::invalid_input(format!("unknown @{word} of a column")).hint(format!("did you mean @{known}?"))),
        None => Ok((place, Aspect::Value)),
    }
}

/// The item at a path below another.
fn below<'f>(item: &'f Item<'f>, path: &str) -> Result<Option<Item<'f>>> {
    let mut at = item.follow()?;
    for key in path.split('/').skip(1) {
        let key = key.replace("~1", "/").replace("~0", "~");
        let next = {
            let children = at.children()?;
            let number = key.parse::<usize>().ok();
            let named = children.iter().position(|(name, _)| name.as_deref() == Some(key.as_str()));
            let is_list = at.kind() == ItemKind::List;
            named.or_else(|| number.filter(|n| is_list && *n < children.len()))
        };
        let Some(child) = next.map_or(Ok(None), |index| at.child(index))? else { return Ok(None) };
        at = child.follow()?;
    }
    Ok(Some(at))
}

fn whole(number: u64) -> Cell {
    i64::try_from(number).map_or_else(|_| Cell::Text(number.to_string()), Cell::Int)
}

/// The element of an array without axes; text if it is no number that a cell holds.
fn single(item: &Item<'_>) -> Result<Cell> {
    let array = item.presented(item.array()?)?;
    if array.mask().is_some() {
        return Ok(Cell::Text(format!("{} {:?}", array.datatype(), array.shape())));
    }
    let cells = Cell::of_elements(&array)?;
    let described = || Cell::Text(format!("{} {:?}", array.datatype(), array.shape()));
    Ok(cells.map_or_else(described, |cells| cells.into_iter().next().unwrap_or_default()))
}

/// The value of an item: that of a scalar, the text of a collection, what an array is.
fn value(item: &Item<'_>) -> Result<Cell> {
    match item.kind() {
        ItemKind::Scalar | ItemKind::Text | ItemKind::Null => Ok(Cell::of_scalar(item.value()?)),
        ItemKind::Array => {
            let found = item.describe()?;
            if found.shape.is_empty() && found.datatype.as_struct().is_none() {
                return single(item);
            }
            Ok(Cell::Text(format!("{} {:?}", found.datatype, found.shape)))
        }
        _ => {
            let (value, _) = item.to_value()?;
            let mut how = PrintOptions::default();
            (how.width, how.literals) = (usize::MAX, false);
            Ok(Cell::Text(print_value(&value.flow(), 0, &how).trim().to_owned()))
        }
    }
}
