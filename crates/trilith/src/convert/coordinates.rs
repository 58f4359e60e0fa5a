//! Coordinates of images in FITS headers.

use std::collections::HashMap;

use super::CoordinateHeader;
use crate::array::Array;
use crate::asdf::AsdfFile;
use crate::error::{Error, Result};
use crate::file::{Backend, Item};
use crate::fits::{Card, HduData};
use crate::wcs::{FitOptions, Wcs, find_coordinates, fits_cards};

/// Headers of the coordinates of a file. Arrays of one shape that share coordinates have one header, which is computed once.
pub(super) struct CoordinateHeaders {
    options: CoordinateHeader,
    cached: HashMap<(String, Vec<u64>), std::result::Result<Vec<Card>, Error>>,
}

impl CoordinateHeaders {
    pub(super) fn new(how: CoordinateHeader) -> Self {
        Self { options: how, cached: HashMap::new() }
    }

    /// Adds cards to the header of an image of a file, if it has coordinates. Returns why there are none, if there could be.
    pub(super) fn add_coordinate_cards(
        &mut self,
        file: &AsdfFile,
        path: &str,
        array: &Array,
        part: &mut HduData,
    ) -> Result<Option<String>> {
        if self.options == CoordinateHeader::None || array.shape().len() < 2 || array.datatype().as_struct().is_some() {
            return Ok(None);
        }
        let backend: &dyn Backend = file;
        let root = Item::new(backend, backend.root());
        let Some(item) = root.find(path)? else { return Ok(None) };
        let found = match find_coordinates(&item) {
            Ok(Some(found)) if found.wcs.sky().is_some() => found,
            Ok(_) => return Ok(None),
            Err(error) if error.kind().is_transient() => return Err(error),
            Err(error) => return Ok(Some(skip_note(path, &error))),
        };
        if !found.describes(array.shape()) {
            return Ok(None);
        }
        let pixels = array.shape().iter().rev().take(found.wcs.pixel_axes()).copied().collect();
        let how = self.options;
        let cards = self.cached.entry((found.path, pixels)).or_insert_with(|| fit_cards(&found.wcs, how));
        match cards {
            Ok(cards) => {
                cards.iter().for_each(|card| part.header.push(card.clone()));
                Ok(None)
            }
            Err(error) => Ok(Some(skip_note(path, error))),
        }
    }
}

/// The cards of coordinates.
fn fit_cards(coordinates: &Wcs, how: CoordinateHeader) -> Result<Vec<Card>> {
    let mut options = FitOptions::default();
    options.degree = (how == CoordinateHeader::Tan).then_some(1);
    fits_cards(coordinates, &options)
}

/// Returns the paths of the coordinates in a tree, which headers have in their own form.
pub(super) fn coordinate_paths(file: &AsdfFile) -> Result<Vec<String>> {
    let (mut found, tree) = (Vec::new(), file.tree());
    if !tree.text().contains("gwcs/wcs-") {
        return Ok(found);
    }
    let mut walk = tree.root().walk(file.limits());
    while let Some(visit) = walk.try_next()? {
        if visit.node.tag().is_some_and(|tag| tag.contains("gwcs/wcs-")) {
            found.push(format!("{}/", walk.path()));
            walk.skip_children();
        }
    }
    Ok(found)
}

fn skip_note(path: &str, error: &Error) -> String {
    format!("{path}: no coordinates in the FITS header: {}", error.message())
}
