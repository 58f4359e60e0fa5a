//! World coordinates of arrays: positions on the sky, wavelengths, times.
//!
//! They are described by a GWCS in the tree (`meta/wcs` or `wcs` in the mapping that holds the array, or in one above it), or by
//! the keywords of a FITS header. [`File::wcs`](crate::File::wcs) finds them, and [`Item::wcs`] builds them from one item. The mathematics is the
//! crate [`trilith_wcs`], whose types are used as they are.
//!
//! ```
//! let text = "#ASDF 1.0.0\n%YAML 1.1\n--- {meta: {ctype1: WAVE, cunit1: um, crpix1: 1, crval1: 2.0, cdelt1: 0.5}, data: 0}\n...\n";
//! let file = trilith::OpenOptions::new().open_bytes(text.as_bytes().to_vec())?;
//! let found = file.wcs("/data")?.expect("there are coordinates");
//! assert_eq!(found.path, "/meta");
//! assert_eq!(found.wcs.forward().evaluate_point(&[4.0]).map_err(trilith::wcs::from_wcs)?, [4.0]);
//! # Ok::<(), trilith::Error>(())
//! ```

mod astropy;
mod dkist;
mod frames;
mod functions;
mod gwcs;
mod jwst;
mod keywords;
mod locate;
mod numbers;
mod points;
mod position_frame;
mod selector;
mod sky_position;
mod transforms;
mod units;

pub(crate) use keywords::card_keywords;
pub use locate::find_coordinates;
pub(crate) use locate::wcs_at;
pub use points::{PointColumn, PointTable};
pub use position_frame::{PositionFrame, WcsKey};
pub use sky_position::{BoxLength, BoxSize, PixelBox, latitude, longitude, position};
pub use trilith_wcs::{
    Card, CardValue, FitOptions, FitsHeader, Frame, FrameAxis, InverseMethod, SkyFrame, TimeReference, Wcs, WcsOptions,
};

use std::borrow::Cow;

use crate::error::{Error, ErrorKind, Result};
use crate::file::{Item, ItemKind};

/// Items of a list in a description, at most. Numbers are counted otherwise.
const MAX_LIST_LEN: usize = 1000;

/// Coordinates, and the place where the file describes them.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct FoundWcs {
    /// The coordinates.
    pub wcs: Wcs,
    /// Path of the item that describes them.
    pub path: String,
    /// Path of the array that they belong to, if a path of an array led to them.
    pub array: Option<String>,
}

/// Returns an error of the mathematics as one of the library, for `map_err`.
#[allow(clippy::needless_pass_by_value, reason = "`map_err` passes it so")]
pub fn from_wcs(error: trilith_wcs::Error) -> Error {
    let kind = match &error {
        trilith_wcs::Error::Unsupported(_) => ErrorKind::Unsupported,
        trilith_wcs::Error::Limit(_) => ErrorKind::Limit,
        _ => ErrorKind::Malformed,
    };
    Error::new(kind, error.to_string())
}

/// Points that one thread computes, at least.
const PARALLEL_POINTS: usize = 1 << 15;

/// Direction of a conversion.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WcsDirection {
    /// From pixels to world coordinates.
    ToWorld,
    /// From world coordinates to pixels.
    ToPixels,
}

/// Converts many points on all cores: a slice for each axis of the input, a vector for each axis of the output.
///
/// # Errors
/// Returns the errors of [`Wcs::pixel_to_world`] and [`Wcs::world_to_pixel`] by [`from_wcs`].
#[doc(hidden)]
pub fn convert_points(wcs: &Wcs, columns: &[&[f64]], direction: WcsDirection, options: WcsOptions) -> Result<Vec<Vec<f64>>> {
    let convert = |columns: &[&[f64]]| match direction {
        WcsDirection::ToWorld => wcs.pixel_to_world(columns, options).map_err(from_wcs),
        WcsDirection::ToPixels => wcs.world_to_pixel(columns, options).map_err(from_wcs),
    };
    let count = columns.first().map_or(0, |column| column.len());
    let share = count.div_ceil(crate::threads::threads().max(1)).max(PARALLEL_POINTS);
    // Columns that differ in length are refused in one piece.
    if count <= share || columns.iter().any(|column| column.len() != count) {
        return convert(columns);
    }
    let starts: Vec<usize> = (0..count).step_by(share).collect();
    let parts = crate::threads::map_parallel(starts, |start| {
        let end = count.min(start + share);
        let part: Vec<&[f64]> = columns.iter().map(|column| column.get(start..end).unwrap_or(&[])).collect();
        convert(&part)
    })?;
    let mut parts = parts.into_iter();
    let mut whole = parts.next().unwrap_or_default();
    for column in &mut whole {
        column.reserve_exact(count - column.len());
    }
    parts.for_each(|part| whole.iter_mut().zip(part).for_each(|(column, more)| column.extend(more)));
    Ok(whole)
}

/// Brings longitudes and latitudes among world coordinates, a column for each axis, into degrees. Longitudes around the middle of the
/// Sun are from -180 to 180.
pub fn in_degrees(wcs: &Wcs, world: &mut [Vec<f64>]) {
    let Some((longitude, latitude)) = wcs.sky() else { return };
    let units = wcs.sky_units();
    let is_sun = wcs.frames().last().is_some_and(|frame| frame.reference_frame == "helioprojective")
        || wcs.world_axis(longitude).physical_type.contains("helioprojective");
    for (axis, unit) in [longitude, latitude].into_iter().zip(units) {
        for value in world.get_mut(axis).into_iter().flatten() {
            *value *= unit;
            if is_sun && *value > 180.0 {
                *value -= 360.0;
            }
        }
    }
}

/// Returns the cards of a FITS header for an image with these coordinates, as the file contains them.
///
/// # Errors
/// Returns [`ErrorKind::Unsupported`] if the coordinates are not those of an image of the sky, or if no header is as exact as the
/// options ask.
#[doc(hidden)]
pub fn fits_cards(wcs: &Wcs, options: &FitOptions) -> Result<Vec<crate::fits::Card>> {
    let mut cards = Vec::new();
    for card in wcs.to_fits(options).map_err(from_wcs)?.cards {
        cards.push(match card.value {
            CardValue::Text(text) => crate::fits::Card::new(&card.keyword, text.as_str(), card.comment)?,
            CardValue::Number(number) => crate::fits::Card::new(&card.keyword, number, card.comment)?,
            CardValue::Integer(number) => crate::fits::Card::new(&card.keyword, number, card.comment)?,
            _ => continue,
        });
    }
    Ok(cards)
}

/// The tag of an item.
fn item_tag(item: &Item<'_>) -> Option<String> {
    item.metadata().tag.map(str::to_owned)
}

/// Name of a tag without its namespace and its version.
fn name_of(tag: &str) -> &str {
    let last = tag.rsplit('/').next().unwrap_or(tag);
    last.rsplit_once('-').filter(|(_, version)| version.starts_with(|c: char| c.is_ascii_digit())).map_or(last, |(name, _)| name)
}

/// Version of a tag, as major and minor number.
fn version_of(tag: &str) -> (u32, u32) {
    let version = tag.rsplit_once('-').map_or("", |(_, version)| version);
    let mut numbers = version.split('.').map(|number| number.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

/// The child of a mapping, with references followed; none for a null.
fn get<'f>(item: &Item<'f>, key: &str) -> Result<Option<Item<'f>>> {
    if item.kind() != ItemKind::Mapping {
        return Ok(None);
    }
    Ok(item.get(key)?.filter(|child| child.kind() != ItemKind::Null))
}

fn require_item<'f>(item: &Item<'f>, key: &str) -> Result<Item<'f>> {
    get(item, key)?
        .ok_or_else(|| Error::malformed(format!("{} without {key}", item_tag(item).unwrap_or_else(|| "mapping".to_owned()))))
}

/// The items of a list, with references followed. Lists of numbers are read by [`numbers`].
fn read_list<'f>(item: &Item<'f>) -> Result<Vec<Item<'f>>> {
    if item.kind() != ItemKind::List {
        return Ok(Vec::new());
    }
    let parts = item.owned_children()?;
    if parts.len() > MAX_LIST_LEN {
        return Err(Error::limit(format!("a list of {} items in coordinates (at most {MAX_LIST_LEN})", parts.len())));
    }
    parts.iter().map(Item::resolve).collect()
}

fn read_text<'i>(item: &'i Item<'_>) -> Result<Cow<'i, str>> {
    item.text()
}

fn read_text_list(item: &Item<'_>) -> Result<Vec<String>> {
    read_list(item)?.iter().map(|one| Ok(read_text(one)?.into_owned())).collect()
}
