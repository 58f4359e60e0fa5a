//! Places of descriptions: of the coordinates of an array, and of all in a file.

use std::collections::HashMap;

use super::{Found, Wcs, keywords, nodes};
use crate::error::{Error, Result};
use crate::file::{File, Item, ItemKind};

/// Places of a GWCS below a mapping.
const WORLDS: [&str; 2] = ["/meta/wcs", "/wcs"];
/// Places of the keywords of a FITS header below a mapping.
const HEADERS: [&str; 6] = ["/header", "/meta", "/wcs", "/wcsinfo", "/meta/wcsinfo", ""];
/// Arrays of a file that are tried if no path is given.
const TRIED: usize = 1000;

impl File {
    /// Returns the coordinates of the array at a path, or those that the item at the path is or holds; `None` if there are none.
    ///
    /// The empty path represents the first array of the file that has coordinates.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) if coordinates are described by something that Trilith does
    /// not evaluate, [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if the description contradicts itself,
    /// [`ErrorKind::Usage`](crate::ErrorKind::Usage) if there is no such item, and [`ErrorKind::Limit`](crate::ErrorKind::Limit) if
    /// the description is too large.
    pub fn wcs(&self, path: &str) -> Result<Option<Found>> {
        if !path.trim_matches('/').is_empty() {
            return of_item(&self.root(), path, &self.item(path)?);
        }
        let root = self.root();
        if let Some(found) = below(&root, "")? {
            if found.wcs.extent().is_some() {
                return Ok(Some(found));
            }
            // An array gives the number of pixels.
            let with_array = self.every_wcs()?.into_iter().flatten().find(|other| other.path == found.path);
            return Ok(Some(with_array.unwrap_or(found)));
        }
        let mut refused = None;
        for entry in self.arrays()?.into_iter().take(TRIED) {
            let Ok(item) = entry.item else { continue };
            match of_item(&root, &entry.path, &item) {
                Ok(Some(found)) => return Ok(Some(found)),
                Ok(None) => {}
                Err(error) => {
                    refused.get_or_insert(error);
                }
            }
        }
        refused.map_or(Ok(None), Err)
    }

    /// Returns all coordinates that the file describes for its arrays, each once; in place of those that cannot be built the reason,
    /// as [`File::wcs`] gives it.
    ///
    /// # Errors
    /// Returns an error if the arrays cannot be listed.
    pub fn every_wcs(&self) -> Result<Vec<Result<Found>>> {
        let root = self.root();
        let mut all = Vec::new();
        // Coordinates found in a mapping, or above it.
        let mut known: HashMap<String, bool> = HashMap::new();
        for entry in self.arrays()?.into_iter().take(TRIED) {
            let Ok(item) = entry.item else { continue };
            let mut passed = Vec::new();
            let mut is_there = false;
            for above in aboves(&entry.path) {
                if let Some(found) = known.get(above) {
                    is_there = *found;
                    break;
                }
                passed.push(above.to_owned());
                if let Some(mut found) = below(&root, above).transpose() {
                    if let Ok(found) = &mut found {
                        shaped(found, &entry.path, &item);
                    }
                    all.push(found);
                    is_there = true;
                    break;
                }
            }
            known.extend(passed.into_iter().map(|above| (above, is_there)));
        }
        if all.is_empty() {
            all.extend(below(&root, "").transpose());
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
    /// Returns [`ErrorKind::Usage`](crate::ErrorKind::Usage) if it describes none, and as [`File::wcs`].
    pub fn wcs(&self) -> Result<Wcs> {
        if nodes::is_wcs(self) {
            return nodes::wcs(self);
        }
        let limits = nodes::limits(self.backend().limits());
        let found = keywords::of(self, true)?.map(|keywords| keywords.wcs(&limits)).transpose()?;
        found
            .flatten()
            .ok_or_else(|| Error::usage("this item describes no coordinates").hint("name an array, a GWCS or a FITS header"))
    }

    /// Returns the coordinates of the array that the item is, or those that it is or holds; `None` if there are none.
    ///
    /// # Errors
    /// Returns the errors of [`File::wcs`].
    pub fn coordinates(&self) -> Result<Option<Found>> {
        let root = self.at(self.backend().root());
        self.path().map_or(Ok(None), |path| of_item(&root, &path, self))
    }
}

impl Found {
    /// Returns true if the last axes of an array are the pixels of the coordinates: of their shape, or about as far as their
    /// bounding box.
    pub fn describes(&self, shape: &[u64]) -> bool {
        let coordinates = &self.wcs;
        let axes = coordinates.pixel_axes();
        let last: Vec<u64> = shape.iter().rev().take(axes).copied().collect();
        if last.len() < axes {
            return false;
        }
        if coordinates.pixel_shape().is_some_and(|known| known != last) {
            return false;
        }
        let boxed = coordinates.bounding_box().map(|bounds| bounds.intervals()).unwrap_or_default();
        last.iter().zip(boxed).all(|(length, interval)| {
            let length = *length as f64;
            interval.is_none_or(|(low, high)| low >= -1.0 && high <= length + 0.5 && high - low >= length / 2.0)
        })
    }
}

/// Paths of the mappings above an item, the nearest first.
fn aboves(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |path| (!path.is_empty()).then(|| path.rsplit_once('/').map_or("", |(above, _)| above)))
        .skip(1)
}

fn of_item(root: &Item<'_>, path: &str, item: &Item<'_>) -> Result<Option<Found>> {
    let item = item.follow()?;
    if item.kind() == ItemKind::Mapping {
        if nodes::is_wcs(&item) {
            return Ok(Some(Found { wcs: item.wcs()?, path: path.to_owned(), array: None }));
        }
        if let Some(found) = below(root, path)? {
            return Ok(Some(found));
        }
    }
    for above in aboves(path) {
        if let Some(mut found) = below(root, above)? {
            shaped(&mut found, path, &item);
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Adds what an array is to its coordinates.
fn shaped(found: &mut Found, path: &str, item: &Item<'_>) {
    let shape = if item.kind() == ItemKind::Array { item.describe().ok().map(|about| about.shape) } else { None };
    let pixels: Vec<u64> = shape.iter().flatten().rev().take(found.wcs.pixel_axes()).copied().collect();
    found.wcs.set_pixel_shape(pixels);
    found.array = shape.is_some().then(|| path.to_owned());
}

/// The coordinates that are described in a mapping.
fn below(root: &Item<'_>, above: &str) -> Result<Option<Found>> {
    let at = |place: &str| {
        let path = format!("{above}{place}");
        let item = if path.is_empty() { Some(root.clone()) } else { root.find(&path).ok().flatten() };
        item.and_then(|item| item.follow().ok()).map(|item| (path, item))
    };
    let mut worlds = WORLDS.iter().filter_map(|place| at(place));
    if let Some((path, item)) = worlds.find(|(_, item)| nodes::is_wcs(item)) {
        return Ok(Some(Found { wcs: item.wcs().map_err(|error| error.context(path.clone()))?, path, array: None }));
    }
    for (path, item) in HEADERS.iter().filter_map(|place| at(place)) {
        let is_cards = path.ends_with("/header");
        let Some(found) = keywords::of(&item, is_cards)? else { continue };
        let limits = nodes::limits(item.backend().limits());
        if let Some(wcs) = found.wcs(&limits).map_err(|error| Error::from(error).context(path.clone()))? {
            return Ok(Some(Found { wcs, path, array: None }));
        }
    }
    Ok(None)
}
