//! Values that a FITS file holds twice: in its headers and HDUs, and in the tree of the ASDF file in it. An edit changes one of
//! them, and names the other.

use std::collections::BTreeMap;

use crate::asdf::{AsdfFile, walk};
use crate::error::{ErrorKind, Result};
use crate::file::container_fits;
use crate::fits::{CardValue, FitsFile, Hdu, is_structural};
use crate::tree::{Node, Scalar, Tree};

/// Number of cards or paths that a warning names.
const MAX_LISTED: usize = 4;
/// Whole numbers up to this one are in many cards by chance.
const MAX_COMMON_INTEGER: i128 = 100;
/// Keys of a tree that no card repeats.
const UNSHARED_KEYS: [&str; 4] = ["asdf_library", "history", "_fits_hash", "extensions"];

/// Warnings on values that a change leaves as they were in the other half of a FITS file: the headers and HDUs if the tree of the
/// ASDF file changes, that tree if a header changes. A tree that is too large to be compared gives none.
///
/// # Errors
/// Returns an error if the file cannot be read.
pub(super) fn find_stale_copies(file: &AsdfFile, new: &Tree) -> Result<Vec<String>> {
    match compare_halves(file, new) {
        Err(error) if error.kind() == ErrorKind::Limit => Ok(Vec::new()),
        compared => compared,
    }
}

fn compare_halves(file: &AsdfFile, new: &Tree) -> Result<Vec<String>> {
    let (Some(fits), Some(container)) = (container_fits(file), file.container()) else { return Ok(Vec::new()) };
    if new.text() == file.tree().text() {
        return Ok(Vec::new());
    }
    if container.hdu > 0 {
        let mut stale = stale_hdus(file, fits, new)?;
        stale.extend(stale_cards(file, fits, new)?);
        return Ok(stale);
    }
    match fits.asdf() {
        Some(hdu) => stale_nodes(file, new, &AsdfFile::open(fits.asdf_source(hdu)?, file.limits())?),
        None => Ok(Vec::new()),
    }
}

/// HDUs with the data of arrays that the new tree no longer takes from them.
fn stale_hdus(file: &AsdfFile, fits: &FitsFile, new: &Tree) -> Result<Vec<String>> {
    let named = |node: Node<'_>| {
        let source = node.text();
        let name = source.strip_prefix("fits:")?;
        fits.find(name).ok().map(Hdu::index)
    };
    let used: Vec<usize> = walk::collect_sourced(new, file.limits())?.iter().filter_map(|(_, source)| named(*source)).collect();
    let mut stale = BTreeMap::new();
    for (node, source) in walk::ndarrays_with_source(file)? {
        if let Some(index) = named(source).filter(|index| !used.contains(index)) {
            let path = file.tree().path_of(node.id()).map_or_else(String::new, |path| path.to_string());
            stale.entry(index).or_insert(path);
        }
    }
    let hdus = stale.into_iter().filter_map(|(index, path)| Some((fits.hdus().get(index)?, path)));
    Ok(hdus
        .map(|(hdu, path)| {
            format!(
                "{} keeps its data, which {path} no longer shows: programs that read only FITS see the old array",
                hdu.display_name()
            )
        })
        .collect())
}

/// Cards with the old values of nodes of the tree.
fn stale_cards(file: &AsdfFile, fits: &FitsFile, new: &Tree) -> Result<Vec<String>> {
    let mut stale = Vec::new();
    for ScalarChange { path, key, old, new } in changed_scalars(file, new)? {
        let mut found = Vec::new();
        for hdu in fits.hdus().iter().filter(|hdu| !hdu.is_asdf()) {
            let cards = hdu.header().cards().iter().filter(|card| !card.is_commentary() && !is_structural(card.keyword()));
            for card in cards.filter(|card| is_copy(card.keyword(), card.value(), &key, &old, new.as_ref())) {
                found.push((is_same_name(card.keyword(), &key), card.keyword(), hdu, card.value()));
            }
        }
        if let Some(what) = list(found, |keyword, hdu, value| format!("{keyword} of {} ({value})", hdu.display_name())) {
            stale.push(format!("{path} is changed in the tree of the ASDF file only: the old value stays in card {what}"));
        }
    }
    Ok(stale)
}

/// Nodes of the ASDF file with the old values of cards.
fn stale_nodes(file: &AsdfFile, new: &Tree, inner: &AsdfFile) -> Result<Vec<String>> {
    let mut stale = Vec::new();
    for (hdu, keyword, old, new) in changed_cards(file, new) {
        let mut found = Vec::new();
        let mut walk = inner.tree().root().walk(inner.limits());
        while let Some(visit) = walk.try_next()? {
            let path = walk.path();
            let Some(key) = path.keys().last().filter(|_| visit.node.is_scalar()) else { continue };
            if path.keys().first().is_some_and(|first| UNSHARED_KEYS.contains(&first.as_str())) {
                continue;
            }
            let value = SharedValue::from_node(visit.node);
            if is_copy(&keyword, &value.to_card_value(), key, &old, new.as_ref()) {
                found.push((is_same_name(&keyword, key), path.to_string(), (), visit.node.text().into_owned()));
            }
        }
        if let Some(what) = list(found, |path, (), value| format!("{path} ({value})")) {
            let hash = match inner.tree().root().get("_fits_hash") {
                Some(_) => "; _fits_hash does not fit any more, so that stdatamodels takes its values from the cards",
                None => "",
            };
            stale.push(format!(
                "card {keyword} of HDU {hdu} is changed in the header only: the old value stays in the tree of the ASDF file at \
                 {what}{hash}"
            ));
        }
    }
    Ok(stale)
}

/// Lists what holds an old value: under the same name if there is any, else everywhere.
fn list<K, H, V>(mut found: Vec<(bool, K, H, V)>, show: impl Fn(K, H, V) -> String) -> Option<String> {
    if found.iter().any(|(is_same_name, ..)| *is_same_name) {
        found.retain(|(is_same_name, ..)| *is_same_name);
    }
    let rest = found.len().saturating_sub(MAX_LISTED);
    let shown: Vec<String> = found.into_iter().take(MAX_LISTED).map(|(_, name, place, value)| show(name, place, value)).collect();
    let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    (!shown.is_empty()).then(|| shown.join(", ") + &more)
}

/// A scalar of the tree that an edit changes or removes.
struct ScalarChange {
    path: String,
    key: String,
    old: SharedValue,
    new: Option<SharedValue>,
}

/// The scalars of the old tree that are other ones in the new tree, or are gone.
fn changed_scalars(file: &AsdfFile, new: &Tree) -> Result<Vec<ScalarChange>> {
    let mut changed = Vec::new();
    let mut walk = file.tree().root().walk(file.limits());
    while let Some(visit) = walk.try_next()? {
        if crate::asdf::is_ndarray(visit.node) {
            walk.skip_children();
            continue;
        }
        let path = walk.path();
        let (Some(key), true) = (path.keys().last(), visit.node.is_scalar()) else { continue };
        if path.keys().first().is_some_and(|first| UNSHARED_KEYS.contains(&first.as_str())) {
            continue;
        }
        let after = new.find(&path);
        if after.is_some_and(|after| after.is_scalar() && after.text() == visit.node.text()) {
            continue;
        }
        changed.push(ScalarChange {
            key: key.clone(),
            path: path.to_string(),
            old: SharedValue::from_node(visit.node),
            new: after.filter(|after| after.is_scalar()).map(SharedValue::from_node),
        });
    }
    Ok(changed)
}

/// The cards of a listing that an edit changes or removes: the HDU, the keyword, the old and the new value.
fn changed_cards(file: &AsdfFile, new: &Tree) -> Vec<(usize, String, SharedValue, Option<SharedValue>)> {
    let (Some(old), Some(new)) = (file.tree().root().get("fits"), new.root().get("fits")) else { return Vec::new() };
    let mut changed = Vec::new();
    for (hdu, (before, after)) in old.items().zip(new.items()).enumerate() {
        let (before, after) = (first_values(before), first_values(after));
        for (keyword, old) in before {
            match after.get(&keyword) {
                Some(new) if *new == old => {}
                new => changed.push((hdu, keyword, old, new.cloned())),
            }
        }
    }
    changed
}

/// The value of the first card of each keyword in an HDU of a listing.
fn first_values(hdu: Node<'_>) -> BTreeMap<String, SharedValue> {
    let mut values = BTreeMap::new();
    for row in hdu.get("header").into_iter().flat_map(Node::items) {
        let mut parts = row.items();
        let (Some(keyword), Some(value)) = (parts.next(), parts.next()) else { continue };
        if !["COMMENT", "HISTORY", "CHECKSUM", "DATASUM", ""].contains(&&*keyword.text()) {
            values.entry(keyword.text().into_owned()).or_insert_with(|| SharedValue::from_node(value));
        }
    }
    values
}

/// A value that cards and trees can hold.
#[derive(Debug, Clone, PartialEq)]
enum SharedValue {
    Boolean(bool),
    Integer(i128),
    Float(f64),
    Text(String),
    Unshared,
}

impl SharedValue {
    fn from_node(node: Node<'_>) -> Self {
        match node.untagged() {
            Scalar::Bool(value) => Self::Boolean(value),
            Scalar::Int(value) => Self::Integer(value.into()),
            Scalar::Float(value) => Self::Float(value),
            Scalar::Str(_) | Scalar::Timestamp(_) => Self::Text(node.text().trim_end().to_owned()),
            _ => Self::Unshared,
        }
    }

    fn to_card_value(&self) -> CardValue {
        match self {
            Self::Boolean(value) => CardValue::Logical(*value),
            Self::Integer(value) => CardValue::Integer(*value),
            Self::Float(value) => CardValue::Float(*value),
            Self::Text(value) => CardValue::Text(value.clone()),
            Self::Unshared => CardValue::Undefined,
        }
    }

    /// Returns `true` if a card has this value.
    fn equals(&self, card: &CardValue) -> bool {
        match (self, card) {
            (Self::Boolean(a), CardValue::Logical(b)) => a == b,
            (Self::Integer(a), CardValue::Integer(b)) => a == b,
            (Self::Integer(a), CardValue::Float(b)) | (Self::Float(b), CardValue::Integer(a)) => *a as f64 == *b,
            (Self::Float(a), CardValue::Float(b)) => a == b,
            (Self::Text(a), CardValue::Text(b)) => a == b,
            _ => false,
        }
    }

    /// Returns `true` for a value that is unlikely to be in another card by chance.
    fn is_distinctive(&self) -> bool {
        match self {
            Self::Boolean(_) | Self::Unshared => false,
            Self::Integer(value) => value.abs() > MAX_COMMON_INTEGER,
            Self::Float(value) => value.fract() != 0.0 || value.abs() > MAX_COMMON_INTEGER as f64,
            Self::Text(value) => value.chars().count() > 2,
        }
    }
}

/// Returns `true` if a card and a key of the tree hold one value, of which only one half changed: they have the same name, or the
/// value is distinctive.
fn is_copy(keyword: &str, value: &CardValue, key: &str, old: &SharedValue, new: Option<&SharedValue>) -> bool {
    !new.is_some_and(|new| new.equals(value)) && old.equals(value) && (is_same_name(keyword, key) || old.is_distinctive())
}

/// Returns `true` if a keyword of at most eight characters is the name of a key.
fn is_same_name(keyword: &str, key: &str) -> bool {
    let letters =
        |name: &str| name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_uppercase()).collect::<String>();
    let (keyword, key) = (letters(keyword), letters(key));
    !keyword.is_empty() && (keyword == key || keyword.len() == 8 && key.starts_with(&keyword))
}
