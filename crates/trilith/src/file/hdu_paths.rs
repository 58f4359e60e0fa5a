//! HDUs of a FITS file by their names, in paths and patterns.

use super::address::{AddressPattern, split_address};
use super::fits::{HduArrays, hdu_arrays};
use super::{Item, ItemKind};
use crate::asdf::AsdfFile;
use crate::error::Result;
use crate::fits::Hdu;
use crate::tree::{Node, TreePath};

/// Returns a pattern with the number of an HDU in the place of its name, `/fits/1@DATE` for `/fits/SCI@DATE`, if it has one that is in the
/// FITS file of an item.
///
/// # Errors
/// Returns the errors of [`AddressPattern::parse`].
pub(crate) fn number_hdus(item: &Item<'_>, pattern: &AddressPattern) -> Result<AddressPattern> {
    let (path, name) = split_address(pattern.text()).map_or((pattern.text(), None), |(path, name)| (path, Some(name)));
    let numbered = || path_with_number(hdu_arrays(item.as_asdf()?.0)?, path);
    match (numbered(), name) {
        (Some(path), Some(name)) => pattern.with_text(&format!("{path}@{name}")),
        (Some(path), None) => pattern.with_text(&path),
        (None, _) => Ok(pattern.clone()),
    }
}

/// The path with the number of an HDU in the place of its name: `/fits/SCI,2/data`. None if there is nothing to replace.
pub(super) fn path_by_number(file: &AsdfFile, path: &str) -> Option<String> {
    path_with_number(hdu_arrays(file).filter(|hdus| hdus.is_listing)?, path)
}

impl<'f> Item<'f> {
    /// Returns the data of an HDU in the list of a FITS file: an HDU stands for its data where an array or a table is asked for. None for
    /// any other item, and for an HDU without data.
    pub(crate) fn hdu_data(&self) -> Result<Option<Item<'f>>> {
        if self.kind() != ItemKind::Mapping || !self.as_asdf().is_some_and(|(file, node)| is_hdu(file, node)) {
            return Ok(None);
        }
        let data = self.backend().child(self.location(), "data")?;
        data.map(|place| self.with_location(place).resolve()).transpose()
    }
}

fn is_hdu(file: &AsdfFile, node: Node<'_>) -> bool {
    let path = hdu_arrays(file).filter(|hdus| hdus.is_listing).and_then(|_| file.tree().path_of(node.id()));
    path.is_some_and(|path| matches!(path.keys(), [list, _] if list == "fits"))
}

fn path_with_number(hdus: &HduArrays, path: &str) -> Option<String> {
    let path = TreePath::parse(path).ok()?;
    let [first, name, rest @ ..] = path.keys() else { return None };
    if first != "fits" || name.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let number = hdus.fits.find(name).ok()?.index();
    let root = TreePath::root().join("fits").join(number.to_string());
    Some(rest.iter().fold(root, |path, key| path.join(key.as_str())).to_string())
}

/// The number of the HDU that a key names, in the list of HDUs.
pub(super) fn number_of(file: &AsdfFile, list: Node<'_>, key: &str) -> Option<usize> {
    let hdus = hdu_arrays(file).filter(|hdus| hdus.is_listing)?;
    let is_list = file.tree().root().get("fits").is_some_and(|fits| fits.id() == list.id());
    if is_list { hdus.fits.find(key).ok().map(Hdu::index) } else { None }
}
