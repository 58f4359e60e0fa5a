//! What differs between two files of any families: items by name, arrays, values.

use std::collections::HashMap;

use super::{DiffOptions, Difference, DifferenceKind, Differences};
use crate::error::Result;
use crate::file::{File, Item, ItemKind};
use crate::limits::Limits;
use crate::tree::TreePath;

/// Every difference, in the order of the first file; references are followed.
pub(super) fn diff(a: &File, b: &File, options: &DiffOptions) -> Result<Vec<Difference>> {
    let mut out = Differences { options, found: Vec::new() };
    let limit = a.limits().nodes;
    let mut left = limit;
    let mut todo = vec![TreePath::root()];
    while let Some(path) = todo.pop() {
        left = left.checked_sub(1).ok_or_else(|| Limits::exceeded("nodes", limit, "the files have more items to compare"))?;
        let at = path.to_string();
        let mut below = pair(&path, &a.item(&at)?, &b.item(&at)?, &mut out)?;
        below.reverse();
        todo.extend(below);
    }
    Ok(out.found)
}

/// Compares two items but for their children, whose paths are handed back.
fn pair(path: &TreePath, a: &Item<'_>, b: &Item<'_>, out: &mut Differences<'_>) -> Result<Vec<TreePath>> {
    let at = path.to_string();
    match (a.kind(), b.kind()) {
        (ItemKind::Array, ItemKind::Array) => out.arrays(&at, &a.array()?, &b.array()?)?,
        (ItemKind::Mapping, ItemKind::Mapping) | (ItemKind::List, ItemKind::List) => return children(path, a, b, out),
        (x, y) if x.is_collection() || y.is_collection() || x == ItemKind::Array || y == ItemKind::Array => {
            out.say(at, DifferenceKind::Type, Some(word(a)), Some(word(b)));
        }
        _ => {
            if !out.same_scalar(&a.value()?, &b.value()?) {
                out.say(at, DifferenceKind::Value, Some(a.text()?.into_owned()), Some(b.text()?.into_owned()));
            }
        }
    }
    Ok(Vec::new())
}

fn children(path: &TreePath, a: &Item<'_>, b: &Item<'_>, out: &mut Differences<'_>) -> Result<Vec<TreePath>> {
    let named = |item: &Item<'_>| -> Result<Vec<(String, String)>> {
        let children = item.children()?.into_iter().enumerate();
        Ok(children
            .map(|(n, (name, item))| (name.map_or_else(|| n.to_string(), |name| name.into_owned()), word(&item)))
            .collect())
    };
    let (left, right) = (named(a)?, named(b)?);
    let known = |list: &[(String, String)]| list.iter().map(|(name, _)| name.clone()).collect::<std::collections::HashSet<_>>();
    let (in_left, in_right) = (known(&left), known(&right));
    let mut both = Vec::new();
    let words: HashMap<_, _> = right.iter().cloned().collect();
    for (name, word) in &left {
        let below = path.join(name.as_str());
        if out.is_ignored(&below) {
            continue;
        }
        if in_right.contains(name) {
            both.push(below);
        } else {
            out.say(below.to_string(), DifferenceKind::Removed, Some(word.clone()), None);
        }
    }
    for (name, _) in right.iter().filter(|(name, _)| !in_left.contains(name)) {
        let below = path.join(name.as_str());
        if !out.is_ignored(&below) {
            out.say(below.to_string(), DifferenceKind::Added, None, words.get(name).cloned());
        }
    }
    Ok(both)
}

/// What an item is, in a few words.
fn word(item: &Item<'_>) -> String {
    match item.kind() {
        ItemKind::Scalar | ItemKind::Text | ItemKind::Null => {
            item.text().map_or_else(|_| "null".to_owned(), |text| text.into_owned())
        }
        kind => kind.name().to_owned(),
    }
}
