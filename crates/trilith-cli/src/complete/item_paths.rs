//! The keys after `FILE#/`, read from the file within a second.

use std::sync::mpsc;
use std::time::Duration;

use trilith::bytes::{self, LocalOptions};
use trilith::file::{ComputedValue, Item, ItemAddress};
use trilith::layout::Layout;
use trilith::{Limits, OpenOptions, Result};

use super::MAX_CANDIDATES;

/// Maximum time for the answer to a key press.
const TIMEOUT: Duration = Duration::from_secs(1);

/// Returns the candidates for a word that has a `#`, or that names a file, or None if the shell should complete
/// file names.
pub(super) fn path_candidates(typed: &str, layout: Option<&str>) -> Option<Vec<(String, String)>> {
    let (file, path) = match typed.split_once('#') {
        Some((file, path)) => (file.to_owned(), path.to_owned()),
        None if is_local(typed) => (typed.to_owned(), String::new()),
        None => return None,
    };
    if !is_local(&file) {
        return Some(Vec::new());
    }
    let layout = layout.map(str::to_owned);
    let (give, take) = mpsc::sync_channel(1);
    // The thread ends with the process, which does not wait for it.
    std::thread::spawn(move || {
        let _ = give.send(complete_keys(&file, &path, layout.as_deref()));
    });
    Some(take.recv_timeout(TIMEOUT).ok().and_then(Result::ok).unwrap_or_default())
}

/// Returns `true` for a local regular file. A key press must not fetch anything or wait.
fn is_local(name: &str) -> bool {
    std::fs::metadata(expand_home(name)).is_ok_and(|there| there.is_file())
}

/// `~/x` as the shell means it.
fn expand_home(name: &str) -> std::path::PathBuf {
    match (name.strip_prefix("~/"), std::env::var_os("HOME")) {
        (Some(rest), Some(home)) => std::path::Path::new(&home).join(rest),
        _ => name.into(),
    }
}

fn read_layout(path: &str, limits: &Limits) -> Result<Layout> {
    let source = bytes::open(expand_home(path), LocalOptions::from_limits(limits))?;
    Layout::read(&bytes::read_vec(&*source, 0, source.len(), limits)?)
}

/// The items whose path begins so, as whole words.
fn complete_keys(name: &str, path: &str, layout: Option<&str>) -> Result<Vec<(String, String)>> {
    let mut limits = Limits::default();
    (limits.memory, limits.text, limits.nodes) = (1 << 30, 64 << 20, 1_000_000);
    let options = OpenOptions::new().limits(limits.for_command(0)).memory_map(false);
    let layout = layout.map(|path| read_layout(path, &limits)).transpose()?;
    let file = options.layout(layout).open(expand_home(name))?;
    if let Some((path, typed)) = path.rsplit_once('@').filter(|(_, typed)| !typed.contains('/')) {
        return Ok(find_names(&file.item(path)?, path, typed)?
            .into_iter()
            .map(|(path, about)| (format!("{name}#{path}"), about))
            .collect());
    }
    let cut = path.rfind('/').unwrap_or(0);
    let (parent, typed) = (path.get(..cut).unwrap_or(""), path.get(cut..).unwrap_or(""));
    let above = find_children(&file.item(parent)?, parent, typed.trim_start_matches('/'))?;
    // A complete name of a collection offers its items.
    let found = match above.as_slice() {
        [(only, _)] if only == path => match file.item(path) {
            Ok(item) if item.kind().is_collection() => find_children(&item, path, "")?,
            _ => above,
        },
        _ => above,
    };
    Ok(found.into_iter().map(|(path, about)| (format!("{name}#{path}"), about)).collect())
}

/// The paths of the children whose key begins so, each with what it is.
fn find_children(item: &Item<'_>, parent: &str, typed: &str) -> Result<Vec<(String, String)>> {
    let mut found = Vec::new();
    if !item.kind().is_collection() {
        return Ok(found);
    }
    let backend = item.backend();
    let wanted = format!("{parent}/{typed}");
    for (index, child) in backend.children(item.location())?.iter().enumerate() {
        let path = backend.child_path(parent, child, index);
        if path.starts_with(&wanted) {
            found.push((path, backend.kind(&child.place).name().to_owned()));
        }
        if found.len() == MAX_CANDIDATES {
            break;
        }
    }
    Ok(found)
}

/// The addresses of the attributes of an item, and of what is computed of it, whose name begins so.
fn find_names(item: &Item<'_>, path: &str, typed: &str) -> Result<Vec<(String, String)>> {
    let mut found: Vec<(String, String)> = Vec::new();
    for attribute in item.attributes()? {
        let address = ItemAddress::attribute(path, &attribute.name, 0).to_string();
        if !found.iter().any(|(known, _)| *known == address) {
            found.push((address, "attribute".to_owned()));
        }
    }
    found.extend(ComputedValue::names().map(|name| (format!("{path}@{name}"), "computed".to_owned())));
    let typed = format!("{path}@{typed}");
    found.retain(|(address, _)| address.starts_with(&typed));
    Ok(found)
}
