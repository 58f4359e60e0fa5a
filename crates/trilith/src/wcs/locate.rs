//! Places of descriptions: of the coordinates of an array, and of all in a file.

use std::collections::HashMap;

use super::from_wcs;
use super::keywords::CardLists;
use super::{FoundWcs, Wcs, WcsKey, astropy, gwcs, keywords};
use crate::error::{Error, Result};
use crate::file::{File, Item, ItemKind, rank};

/// Places of a GWCS below a mapping.
const GWCS_PATHS: [&str; 2] = ["/meta/wcs", "/wcs"];
/// Places of the keywords of a FITS header below a mapping.
const HEADER_PATHS: [&str; 6] = ["/header", "/meta", "/wcs", "/wcsinfo", "/meta/wcsinfo", ""];
/// Arrays of a file that are tried if no path is given.
const MAX_TRIED: usize = 1000;

impl File {
    /// Returns the coordinates of the array at a path, or those that the item at the path is or contains. Returns `None` if there
    /// are none.
    ///
    /// The empty path means the image of the file that has coordinates: an array `data`, or the largest.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) if coordinates are described by something that Trilith does
    /// not evaluate, [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if the description contradicts itself,
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if there is no such item, and [`ErrorKind::Limit`](crate::ErrorKind::Limit) if
    /// the description is too large.
    pub fn wcs(&self, path: &str) -> Result<Option<FoundWcs>> {
        self.wcs_by_key(path, WcsKey::default())
    }

    /// Does the same as [`File::wcs`], for one of the descriptions of a FITS header.
    ///
    /// # Errors
    /// Returns the errors of [`File::wcs`].
    pub fn wcs_by_key(&self, path: &str, key: WcsKey) -> Result<Option<FoundWcs>> {
        if !path.trim_matches('/').is_empty() {
            // The paths of coordinates begin with a slash, however the array is named.
            let path = if path.starts_with('/') { path } else { &format!("/{path}") };
            return of_item(&self.root(), path, &self.item(path)?, key);
        }
        self.wcs_of_image(self.every_wcs_by_key(key)?, key)
    }

    /// Returns those of [`File::every_wcs`] that [`File::wcs`] returns for the empty path.
    ///
    /// # Errors
    /// Returns the errors of [`File::wcs`].
    pub(crate) fn wcs_of_image(&self, all: Vec<Result<FoundWcs>>, key: WcsKey) -> Result<Option<FoundWcs>> {
        let described = wcs_in_mapping(&self.root(), "", key)?;
        let mut refused = None;
        for found in all {
            match found {
                Ok(found) if described.as_ref().is_none_or(|described| described.path == found.path) => return Ok(Some(found)),
                Ok(_) => {}
                Err(error) => drop(refused.get_or_insert(error)),
            }
        }
        match (described, refused) {
            (None, Some(error)) => Err(error),
            (described, _) => Ok(described),
        }
    }

    /// Returns all coordinates that the file describes for its arrays, each once. If coordinates cannot be built, it returns the
    /// error of [`File::wcs`] in their place.
    ///
    /// # Errors
    /// Returns an error if the arrays cannot be listed.
    pub fn every_wcs(&self) -> Result<Vec<Result<FoundWcs>>> {
        self.every_wcs_by_key(WcsKey::default())
    }

    /// Does the same as [`File::every_wcs`], for one of the descriptions of FITS headers.
    ///
    /// # Errors
    /// Returns the errors of [`File::every_wcs`].
    pub fn every_wcs_by_key(&self, key: WcsKey) -> Result<Vec<Result<FoundWcs>>> {
        let root = self.root();
        let mut all: Vec<Result<FoundWcs>> = Vec::new();
        // The mapping of each.
        let mut owners: Vec<String> = Vec::new();
        // The coordinates that were found in a mapping, or above it.
        let mut known: HashMap<String, Option<usize>> = HashMap::new();
        let mut arrays = Vec::new();
        let mut entries: Vec<_> = self.arrays()?.into_iter().take(MAX_TRIED).enumerate().collect();
        // Coordinates are found by the arrays next to them, before the arrays of their coefficients, which are then left out.
        entries.sort_by_key(|(_, entry)| entry.path.matches('/').count());
        for (number, entry) in entries {
            let is_part = |(found, owner): (&Result<FoundWcs>, &String)| match found {
                Ok(FoundWcs { path, .. }) => {
                    GWCS_PATHS.iter().any(|place| path.ends_with(place)) && is_descendant(&entry.path, path)
                }
                Err(_) => GWCS_PATHS.iter().any(|place| is_descendant(&entry.path, &format!("{owner}{place}"))),
            };
            if all.iter().zip(&owners).any(is_part) {
                continue;
            }
            let Ok(item) = entry.item else { continue };
            let mut passed = Vec::new();
            let mut place = None;
            for above in ancestors(&entry.path) {
                if let Some(found) = known.get(above) {
                    place = *found;
                    break;
                }
                passed.push(above.to_owned());
                if let Some(found) = wcs_in_mapping(&root, above, key).transpose() {
                    let is_same = |other: &Result<FoundWcs>| matches!((other, &found), (Ok(a), Ok(b)) if a.path == b.path);
                    place = Some(all.iter().position(is_same).unwrap_or(all.len()));
                    if place == Some(all.len()) {
                        all.push(found);
                        owners.push(above.to_owned());
                    }
                    break;
                }
            }
            known.extend(passed.into_iter().map(|above| (above, place)));
            if let (Some(place), Ok(about)) = (place, item.describe())
                && about.datatype.as_struct().is_none()
            {
                let preference = rank(&entry.path, &about.datatype, &about.shape);
                arrays.push((place, (std::cmp::Reverse(preference), number), entry.path, about.shape));
            }
        }
        // The first of those that are alike.
        arrays.sort_by_key(|(_, rank, ..)| *rank);
        let mut misfits = Vec::new();
        for (place, _, path, shape) in arrays {
            let Some(Ok(found)) = all.get_mut(place) else { continue };
            if found.array.is_some() || is_descendant(&path, &found.path) {
                continue;
            }
            if found.describes(&shape) {
                attach_array_shape(found, &path, &shape);
            } else if shape.len() >= found.wcs.pixel_axes()
                && owners.get(place).is_some_and(|owner| path == format!("{owner}/data"))
            {
                misfits.push((place, path, shape));
            }
        }
        // The extent that coordinates state may be that of another array, as of the one before it was binned.
        for (place, path, shape) in misfits {
            if let Some(Ok(found)) = all.get_mut(place)
                && found.array.is_none()
            {
                found.wcs.replace_pixel_shape(shape.iter().rev().take(found.wcs.pixel_axes()).copied().collect());
                found.array = Some(path);
            }
        }
        if all.is_empty() {
            all.extend(wcs_in_mapping(&root, "", key).transpose());
        }
        Ok(all)
    }
}

impl Item<'_> {
    /// Returns the coordinates that the item describes: a GWCS, or a mapping with the keywords of a FITS header.
    ///
    /// The coefficients in blocks are fetched together.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if it describes none, and as [`File::wcs`].
    pub fn wcs(&self) -> Result<Wcs> {
        if gwcs::is_wcs(self) {
            return gwcs::read_gwcs(self);
        }
        if astropy::is_wcs(self) {
            return astropy::read_wcs(self);
        }
        let limits = gwcs::to_wcs_limits(self.backend().limits());
        let found = keywords::read_keywords(self, CardLists::Accepted, WcsKey::default())?;
        let found = found.map(|keywords| keywords.wcs(&limits)).transpose().map_err(from_wcs)?;
        found.flatten().ok_or_else(|| {
            Error::invalid_input("this item describes no coordinates").hint("name an array, a GWCS or a FITS header")
        })
    }
}

/// Returns the coordinates of an item: those of the array, or those that the item is or contains. Returns `None` if there are
/// none.
///
/// # Errors
/// Returns the errors of [`File::wcs`].
pub fn find_coordinates(item: &Item<'_>) -> Result<Option<FoundWcs>> {
    let root = item.with_location(item.backend().root());
    item.path().map_or(Ok(None), |path| of_item(&root, &path, item, WcsKey::default()))
}

impl FoundWcs {
    /// Returns true if the last axes of an array are the pixels of the coordinates: of their shape, or about as far as their
    /// bounding box.
    pub fn describes(&self, shape: &[u64]) -> bool {
        let coordinates = &self.wcs;
        let axes = coordinates.pixel_axes();
        let last: Vec<u64> = shape.iter().rev().take(axes).copied().collect();
        // Axes of a header that the array does not have are one pixel long.
        if last.len() < axes && last.len() + coordinates.flat_axes() != axes {
            return false;
        }
        if coordinates.pixel_shape().is_some_and(|known| known.get(..last.len()) != Some(&last[..])) {
            return false;
        }
        let boxed = coordinates.bounding_box().map(|bounds| bounds.intervals()).unwrap_or_default();
        last.iter().zip(boxed).all(|(length, interval)| {
            let length = *length as f64;
            interval.is_none_or(|(low, high)| low >= -1.0 && high <= length + 0.5 && high - low >= length / 2.0)
        })
    }
}

/// Returns `true` if an item is an object of coordinates.
fn is_wcs(item: &Item<'_>) -> bool {
    gwcs::is_wcs(item) || astropy::is_wcs(item)
}

/// Returns `true` if an item is below the item at another path.
fn is_descendant(path: &str, above: &str) -> bool {
    !above.is_empty() && path.strip_prefix(above).is_some_and(|rest| rest.starts_with('/'))
}

/// Paths of the mappings above an item, the nearest first.
fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |path| (!path.is_empty()).then(|| path.rsplit_once('/').map_or("", |(above, _)| above)))
        .skip(1)
}

fn of_item(root: &Item<'_>, path: &str, item: &Item<'_>, key: WcsKey) -> Result<Option<FoundWcs>> {
    let item = item.resolve()?;
    if item.kind() == ItemKind::Mapping {
        if is_wcs(&item) {
            return Ok(Some(FoundWcs { wcs: item.wcs()?, path: path.to_owned(), array: None }));
        }
        if let Some(found) = wcs_in_mapping(root, path, key)? {
            return Ok(Some(found));
        }
    }
    for above in ancestors(path) {
        if let Some(mut found) = wcs_in_mapping(root, above, key)? {
            if let (ItemKind::Array, Ok(about)) = (item.kind(), item.describe()) {
                attach_array_shape(&mut found, path, &about.shape);
            }
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Path of the item that describes the coordinates of the array at a path, whether they can be built or not.
pub(crate) fn wcs_at(root: &Item<'_>, path: &str, key: WcsKey) -> Option<String> {
    ancestors(path).find_map(|above| {
        let mapping = find_mapping(root, above)?;
        let at = |place: &str| find_item(&mapping, above, place);
        if let Some((path, _)) = GWCS_PATHS.iter().filter_map(|place| at(place)).find(|(_, item)| is_wcs(item)) {
            return Some(path);
        }
        HEADER_PATHS.iter().filter_map(|place| at(place)).find_map(|(path, item)| {
            let found = keywords::read_keywords(&item, CardLists::for_path(&path), key).ok().flatten()?;
            let is_described = found.wcs(&trilith_wcs::WcsLimits::default()).map_or(true, |wcs| wcs.is_some());
            is_described.then_some(path)
        })
    })
}

/// The mapping at a path; `None` for any other item.
fn find_mapping<'f>(root: &Item<'f>, path: &str) -> Option<Item<'f>> {
    let item = if path.is_empty() { root.clone() } else { root.find(path).ok().flatten()? };
    item.resolve().ok().filter(|item| item.kind() == ItemKind::Mapping)
}

/// The item at a place below the mapping at a path, with its path. A column of a table is none.
fn find_item<'f>(mapping: &Item<'f>, above: &str, place: &str) -> Option<(String, Item<'f>)> {
    let mut item = mapping.clone();
    for key in place.split('/').skip(1) {
        let child = item.backend().child(item.location(), key).ok().flatten().filter(|_| item.kind() == ItemKind::Mapping)?;
        item = item.with_location(child).resolve().ok().filter(|child| child.kind() != ItemKind::Null)?;
    }
    Some((format!("{above}{place}"), item))
}

/// Adds the path and the shape of an array to its coordinates.
fn attach_array_shape(found: &mut FoundWcs, path: &str, shape: &[u64]) {
    found.wcs.set_pixel_shape(shape.iter().rev().take(found.wcs.pixel_axes()).copied().collect());
    found.array = Some(path.to_owned());
}

/// The coordinates that are described in a mapping.
fn wcs_in_mapping(root: &Item<'_>, above: &str, key: WcsKey) -> Result<Option<FoundWcs>> {
    let Some(mapping) = find_mapping(root, above) else { return Ok(None) };
    let at = |place: &str| find_item(&mapping, above, place);
    let mut worlds = GWCS_PATHS.iter().filter_map(|place| at(place));
    if let Some((path, item)) = worlds.find(|(_, item)| is_wcs(item)) {
        return Ok(Some(FoundWcs { wcs: item.wcs().map_err(|error| error.at_path(path.clone()))?, path, array: None }));
    }
    for (path, item) in HEADER_PATHS.iter().filter_map(|place| at(place)) {
        let Some(found) = keywords::read_keywords(&item, CardLists::for_path(&path), key)? else { continue };
        let limits = gwcs::to_wcs_limits(item.backend().limits());
        if let Some(wcs) = found.wcs(&limits).map_err(|error| from_wcs(error).at_path(path.clone()))? {
            return Ok(Some(FoundWcs { wcs, path, array: None }));
        }
    }
    Ok(None)
}
