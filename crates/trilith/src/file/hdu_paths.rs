//! HDUs of a FITS file by their names, in paths and patterns.

use super::address::{AddressPattern, split_address};
use super::fits::{HduArrays, hdu_arrays, listed_hdus};
use super::{Item, ItemKind};
use crate::asdf::AsdfFile;
use crate::error::{Error, Result};
use crate::fits::Hdu;
use crate::percent::leniently_decoded;
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
    path_with_number(listed_hdus(file)?, path)
}

impl<'f> Item<'f> {
    /// Returns the data of an HDU in the list of a FITS file: an HDU counts as its data where an array or a table is asked for. None for
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
    let path = listed_hdus(file).and_then(|_| file.tree().path_of(node.id()));
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

/// The error for a path with the name of an HDU that the FITS file does not have; None for any other path.
pub(super) fn missing_hdu_error(file: &AsdfFile, path: &str) -> Option<Error> {
    let hdus = listed_hdus(file)?;
    let parsed = TreePath::parse(path).ok()?;
    let [first, key, ..] = parsed.keys() else { return None };
    let is_found = |key: &str| hdus.fits.find(key).is_ok() || hdus.fits.find(without_attribute(key)).is_ok();
    if first != "fits" || is_found(key) || is_found(&leniently_decoded(key)) {
        return None;
    }
    let name = without_attribute(key);
    let names = list_hdu_names(hdus);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    Some(Error::missing_key(name, &names, 0).at_path(path))
}

/// The key before the name of an attribute: `SCI` of `SCI@EXPTIME`.
fn without_attribute(key: &str) -> &str {
    key.split('@').next().unwrap_or(key)
}

/// The names of the HDUs if a node is the list of them.
pub(super) fn list_names_at(file: &AsdfFile, list: Node<'_>) -> Vec<String> {
    hdus_of_list(file, list).map_or_else(Vec::new, list_hdu_names)
}

fn list_hdu_names(hdus: &HduArrays) -> Vec<String> {
    hdus.fits.hdus().iter().map(|hdu| hdu_name(hdus, hdu)).collect()
}

/// The name of an HDU in a path, or its number if it has no name.
fn hdu_name(hdus: &HduArrays, hdu: &Hdu) -> String {
    let is_found = |name: &str| hdus.fits.find(name).is_ok_and(|found| found.index() == hdu.index());
    let versioned = format!("{},{}", hdu.name(), hdu.version());
    let known = [hdu.name(), &versioned].into_iter().find(|name| !hdu.name().is_empty() && is_found(name)).map(str::to_owned);
    known.unwrap_or_else(|| hdu.index().to_string())
}

/// The number of the HDU that a key names, in the list of HDUs.
pub(super) fn number_of(file: &AsdfFile, list: Node<'_>, key: &str) -> Option<usize> {
    hdus_of_list(file, list)?.fits.find(key).ok().map(Hdu::index)
}

/// The HDUs of a FITS file if a node is the list of them.
fn hdus_of_list<'t>(file: &'t AsdfFile, list: Node<'_>) -> Option<&'t HduArrays> {
    let is_list = file.tree().root().get("fits").is_some_and(|fits| fits.id() == list.id());
    listed_hdus(file).filter(|_| is_list)
}
