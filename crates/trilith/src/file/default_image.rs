//! The image of a file: the array that a user most likely means.

use super::File;
use super::backend::{Backend, ListedArray};
use super::expand::listed_arrays;
use super::item::Item;
use crate::array::Datatype;
use crate::error::Result;

/// Arrays that are looked at.
const MAX_TRIED: usize = 1000;

/// The rank of an array among the images of its file; that of the image is the greatest.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ImageRank {
    /// `true` if the array has at least two axes and is not a table.
    is_image: bool,
    /// `true` if the name of the array is `data`.
    is_data: bool,
    /// Number of elements.
    element_count: u64,
}

/// The rank of an array among the images of its file: an array `data` comes before others, a larger one before a smaller one, and a
/// table last.
#[doc(hidden)]
pub fn rank(path: &str, datatype: &Datatype, shape: &[u64]) -> ImageRank {
    ImageRank {
        is_image: shape.len() > 1 && datatype.as_struct().is_none(),
        is_data: path.rsplit('/').next() == Some("data"),
        element_count: shape.iter().fold(1u64, |product, length| product.saturating_mul(*length)),
    }
}

/// Does the same as [`File::image`], for a file by its backend.
pub(super) fn find_image_path(backend: &dyn Backend) -> Result<Option<String>> {
    let mut best = None;
    for ListedArray { path, target } in listed_arrays(backend)?.into_iter().take(MAX_TRIED) {
        let Ok(Ok(about)) = target.map(|target| Item::from_path_target(backend, target).describe()) else { continue };
        let is_image = about.shape.iter().filter(|length| **length > 1).count() > 1 && about.datatype.as_struct().is_none();
        let rank = rank(&path, &about.datatype, &about.shape);
        if is_image && best.as_ref().is_none_or(|(known, _)| rank > *known) {
            best = Some((rank, path));
        }
    }
    Ok(best.map(|(_, path)| path))
}

impl File {
    /// Returns the path of the image of the file: an array `data` with at least two axes, or else the largest array that has them.
    /// `None` if no array has. Nothing but descriptions of arrays is read.
    ///
    /// # Errors
    /// Returns the error that listing the arrays ends with.
    #[doc(hidden)]
    pub fn image(&self) -> Result<Option<String>> {
        find_image_path(self.backend())
    }
}
