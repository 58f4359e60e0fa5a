//! Paths of changes: the place in the tree of an item, of an HDU by its name, or of a FITS card as an attribute.

use std::borrow::Cow;

use super::address::{AddressName, AttributePart, ComputedValue, ItemAddress};
use super::backend::Backend;
use super::default_image::find_image_path;
use super::fits::{hdu_attributes, listed_hdus, listing_at};
use super::hdu_paths::{missing_hdu_error, path_by_number};
use super::item::{Item, ItemKind};
use crate::asdf::AsdfFile;
use crate::error::{Error, Result};
use crate::json_pointer::escape_key;
use crate::percent::leniently_decoded;
use crate::tree::{Node, TreePath};

/// Returns the file that contains the item of a path, and the path in the tree of that file. A path `/fits/…` leads to the
/// headers and data of the FITS file, even if it contains an ASDF file, unless the tree of that has a key `fits`. Any other path
/// leads into `file` itself. An HDU may have its name there (`/fits/SCI,2/header`). If nothing is at the path as it is written,
/// the path is percent-decoded.
///
/// # Errors
/// Returns the errors of opening the FITS file, and of [`TreePath::parse`].
pub fn resolve_fits_path(file: AsdfFile, path: &str) -> Result<(AsdfFile, TreePath)> {
    let file = listing_at(&file, path)?.unwrap_or(file);
    let path = resolve_tree_path(&file, path)?;
    Ok((file, path))
}

/// Returns the path in the tree of the file itself, as [`resolve_fits_path`] does: an HDU may have its name there, and a card
/// may be an attribute (`/fits/SCI@EXPTIME`).
///
/// # Errors
/// Returns the errors of [`TreePath::parse`].
pub fn resolve_tree_path(file: &AsdfFile, path: &str) -> Result<TreePath> {
    let path = &*add_owner(file, path)?;
    if let Some(error) = missing_hdu_error(file, path) {
        return Err(error);
    }
    let card = card_path(file, path)?;
    let path = card.as_deref().unwrap_or(path);
    let parsed = |path: &str| TreePath::parse(path_by_number(file, path).as_deref().unwrap_or(path));
    let is_there = |path: &TreePath| file.tree().find(path).is_some();
    let written = parsed(path)?;
    let decoded = match leniently_decoded(path) {
        Cow::Owned(decoded) if decoded != path && !is_there(&written) => parsed(&decoded).ok(),
        _ => None,
    };
    let above = |path: &TreePath| path.keys().split_last().map(|(_, above)| above.iter().cloned().collect::<TreePath>());
    let has_parent = |path: &TreePath| above(path).is_some_and(|above| is_there(&above));
    let is_meant = |decoded: &TreePath| is_there(decoded) || !has_parent(&written) && has_parent(decoded);
    let meant = decoded.filter(is_meant).unwrap_or(written);
    refuse_column(file, &meant, path)?;
    refuse_element(file, &meant)?;
    Ok(meant)
}

/// Refuses `/a[0]` for a list or an array `/a`: as a key it would be next to the element that is meant.
fn refuse_element(file: &AsdfFile, path: &TreePath) -> Result<()> {
    let Some((above, key)) = path.split_last().filter(|_| file.tree().find(path).is_none()) else { return Ok(()) };
    let Some((name, indices)) = key.strip_suffix(']').and_then(|key| key.split_once('[')) else { return Ok(()) };
    let owner = above.join(name);
    let Some(node) = file.tree().find(&owner) else { return Ok(()) };
    if node.is_sequence() {
        let place = indices.split("][").collect::<Vec<_>>().join("/");
        return Err(Error::invalid_input(format!("{owner} is a list, whose items have paths with a slash"))
            .at_path(path.to_string())
            .hint(format!("write {owner}/{place}")));
    }
    if Item::new(file, super::asdf::node_location(node)).kind() != ItemKind::Array {
        return Ok(());
    }
    Err(Error::unsupported(format!("{owner} is an array, and no part of an array can be changed alone"))
        .at_path(path.to_string())
        .hint("replace the array: --from NEW.npy"))
}

/// Adds the path of the item to an attribute without one: as for reading, the first image, or the root if only that has the attribute.
fn add_owner<'t>(file: &AsdfFile, text: &'t str) -> Result<Cow<'t, str>> {
    let is_key = || file.tree().root().child(text).is_some();
    if !text.starts_with('@') || is_key() || listed_hdus(file).is_none() {
        return Ok(Cow::Borrowed(text));
    }
    let Some(image) = find_image_path(file)? else { return Ok(Cow::Borrowed(text)) };
    if let Some(AddressName::Attribute(selector)) = ItemAddress::parse(text)?.name {
        let has = |item: Item<'_>| item.header().find(&selector).map(|found| found.is_some());
        let root = Item::new(file, Backend::root(file));
        let of_image = root.find(&image)?.map_or(Ok(false), has)?;
        if !of_image && has(root)? {
            return Ok(Cow::Borrowed(text));
        }
    }
    Ok(Cow::Owned(format!("{image}{text}")))
}

/// The path of a card, or of a part of one, in the tree of a FITS file: that of `/fits/0@EXPTIME` is `/fits/0/header/EXPTIME`. None for
/// any other path.
fn card_path(file: &AsdfFile, text: &str) -> Result<Option<String>> {
    let is_there = |path: &str| TreePath::parse(path).is_ok_and(|path| file.tree().find(&path).is_some());
    if !text.contains('@') || is_there(text) {
        return Ok(None);
    }
    let ItemAddress { path, name: Some(name), .. } = ItemAddress::parse(text)? else { return Ok(None) };
    let numbered = path_by_number(file, &path).unwrap_or(path);
    let found = TreePath::parse(&numbered).ok().and_then(|path| file.tree().find(&path));
    let hdu = found.and_then(|node| super::asdf::header_owner(file, node));
    let Some(hdu) = hdu else {
        // A key of a tree may hold an @; but the name of an attribute, or a computed value, is not meant as a new key.
        return match found {
            Some(node) if find_column_cards(file, &TreePath::parse(&numbered)?).is_none() => {
                refuse_attribute(file, node, &numbered, &name).map(|()| None)
            }
            _ => refuse_column_value(file, &numbered, &name).map(|()| None),
        };
    };
    let selector = match name {
        AddressName::Attribute(selector) => selector,
        AddressName::Computed(ComputedValue::Unit) => {
            let owner = file.tree().path_of(hdu.id()).map_or_else(String::new, |path| path.to_string());
            return Err(computed_error(ComputedValue::Unit).hint(format!("set the card {owner}@BUNIT")));
        }
        AddressName::Computed(value) => {
            return Err(computed_error(value).hint(format!("@\"{}\" is the card of that name", value.name())));
        }
    };
    let owner = file.tree().path_of(hdu.id()).map_or_else(String::new, |path| path.to_string());
    let rows = hdu.get("header").into_iter().flat_map(Node::items).enumerate();
    let mut rows =
        rows.filter(|(_, row)| row.index(0).is_some_and(|keyword| keyword.text().eq_ignore_ascii_case(&selector.name)));
    let row = rows.nth(selector.index.unwrap_or(0)).map(|(number, _)| number);
    let place = match (selector.part, row) {
        (Some(AttributePart::Comment), Some(row)) => format!("{row}/2"),
        (None, Some(row)) if selector.index.is_some_and(|index| index > 0) => format!("{row}/1"),
        (None, _) => escape_key(&selector.name.to_ascii_uppercase()).into_owned(),
        (Some(part), Some(_)) => {
            return Err(Error::unsupported(format!("the {} of a card cannot be set", part.name()))
                .hint("set its value, or its comment, which begins with the unit in brackets"));
        }
        (Some(_), None) => return Err(Error::not_found(format!("there is no card {:?}", selector.name)).at_path(owner)),
    };
    Ok(Some(format!("{owner}/header/{place}")))
}

/// The refusal to set a computed value.
#[cold]
fn computed_error(value: ComputedValue) -> Error {
    Error::unsupported(format!("@{} is computed, and cannot be set", value.name()))
}

/// The place of the name and the unit of a column, which is no node of the tree at its path.
enum ColumnHolder {
    /// The path of an HDU, and the number of the column in its cards.
    Cards(String, String),
    /// The path of the object that describes the column.
    Object(String),
    /// The path of the field in the datatype of an array of structs.
    Field(String),
}

/// Returns the holder of a column of a table; None for any other path, and for a member of a member.
fn find_column_holder(file: &AsdfFile, path: &TreePath) -> Option<ColumnHolder> {
    if let Some(holder) = find_column_cards(file, path) {
        return Some(holder);
    }
    let text = path.to_string();
    let found = super::columns::resolve_path(file, &text).ok().filter(|_| file.tree().find(path).is_none())?;
    // A column of a mapping is an item of the tree, and the object that holds it describes it.
    if found.external_file.is_none() {
        let place = Item::new(file, found.place).path().unwrap_or_default();
        let (holder, _) = place.rsplit_once('/').filter(|_| place != text)?;
        return Some(ColumnHolder::Object(holder.to_owned()));
    }
    let (table, column) = path.split_last()?;
    let mut fields = file.tree().find(&table)?.get("datatype").filter(|fields| fields.is_sequence())?.items();
    let number = fields.position(|field| field.is_mapping() && field.get("name").is_some_and(|name| name.text() == column))?;
    Some(ColumnHolder::Field(format!("{table}/datatype/{number}")))
}

/// Returns the HDU of a column of a FITS table, and the number of the column.
fn find_column_cards(file: &AsdfFile, path: &TreePath) -> Option<ColumnHolder> {
    let [list, hdu, data, column] = path.keys() else { return None };
    let owner = TreePath::root().join(list.as_str()).join(hdu.as_str());
    let node = file.tree().find(&owner).filter(|_| data == "data")?;
    let cards = hdu_attributes(file, super::asdf::header_owner(file, node)?, &|keyword| keyword.starts_with("TTYPE"));
    let named = cards.iter().find(|card| card.value.as_text() == Some(column))?;
    Some(ColumnHolder::Cards(owner.to_string(), named.name.strip_prefix("TTYPE")?.to_owned()))
}

/// Refuses a change of a column, which is a part of its table. `given` is the path as it was written.
fn refuse_column(file: &AsdfFile, path: &TreePath, given: &str) -> Result<()> {
    if file.tree().card_place(path).is_some() {
        return Ok(());
    }
    let Some(holder) = find_column_holder(file, path) else { return Ok(()) };
    let line = |place: &str| format!("trilith set '{}#{place}' NEW", file.sections().source().name());
    let hint = match holder {
        ColumnHolder::Cards(owner, number) => {
            // The HDU has the name that the caller gave it.
            let depth = owner.matches('/').count();
            let named =
                given.match_indices('/').nth(depth).and_then(|(end, _)| given.get(..end)).filter(|_| given.starts_with('/'));
            let card = format!("{}@TTYPE{number}", named.unwrap_or(&owner));
            format!("a column of a FITS table is renamed by its card: {}", line(&card))
        }
        ColumnHolder::Object(holder) | ColumnHolder::Field(holder) => {
            format!("the column has its name there: {}", line(&name_place(file, &holder)))
        }
    };
    Err(Error::unsupported(format!("{given} is a column, which changes only with its whole table")).hint(hint))
}

/// The path of the name of a column: in the list `colnames` of a table, which counts for asdf-astropy, else in the object that
/// describes the column.
fn name_place(file: &AsdfFile, holder: &str) -> String {
    let listed = holder.rsplit_once("/columns/").map(|(table, number)| format!("{table}/colnames/{number}"));
    let is_there = |path: &String| TreePath::parse(path).is_ok_and(|path| file.tree().find(&path).is_some());
    listed.filter(is_there).unwrap_or_else(|| format!("{holder}/name"))
}

/// Refuses a computed value of a column, and names the card or the key that has its unit.
fn refuse_column_value(file: &AsdfFile, path: &str, name: &AddressName) -> Result<()> {
    let Some(holder) = TreePath::parse(path).ok().and_then(|path| find_column_holder(file, &path)) else { return Ok(()) };
    let AddressName::Computed(value) = name else {
        let what = format!("{path} is a column, and its attributes cannot be changed");
        return Err(Error::unsupported(what).hint("set an attribute of its table"));
    };
    let error = computed_error(*value);
    Err(match (value, holder) {
        (ComputedValue::Unit, ColumnHolder::Cards(owner, number)) => error.hint(format!("set the card {owner}@TUNIT{number}")),
        (ComputedValue::Unit, ColumnHolder::Object(holder)) => error.hint(format!("set the key {holder}/unit")),
        _ => error,
    })
}

/// Refuses what is no attribute of an item in a tree of ASDF: a computed value, and the unit or the description that a key is.
fn refuse_attribute(file: &AsdfFile, node: Node<'_>, path: &str, name: &AddressName) -> Result<()> {
    let has_key = |word: &str| match word {
        "unit" => file.unit_of(node).is_some(),
        _ => Item::new(file, super::asdf::node_location(node)).header().tree_metadata().iter().any(|known| known.name == word),
    };
    let (error, word) = match name {
        AddressName::Computed(value) => (computed_error(*value), value.name()),
        AddressName::Attribute(selector) if has_key(&selector.name) => {
            let message = format!("{path}@{selector}: it is a key of the tree, and no attribute that can be set");
            (Error::unsupported(message), selector.name.as_str())
        }
        AddressName::Attribute(_) => return Ok(()),
    };
    if has_key(word) {
        // The unit of an array in a quantity is a key of the quantity.
        let owner = if node.get(word).is_some() { path } else { path.rsplit_once('/').map_or(path, |(above, _)| above) };
        return Err(error.hint(format!("set the key {owner}/{word}")));
    }
    Err(error.hint(format!("{path}@\"{word}\" is the attribute of that name")))
}
