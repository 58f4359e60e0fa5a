//! Places of changes in a tree of ASDF, whose annotations follow the items.

use super::Change;
use super::pending::PendingEdit;
use crate::asdf::annotations;
use crate::error::{Error, Result};
use crate::file::annotations::attribute_key;
use crate::file::{AddressName, ItemAddress, resolve_tree_path};
use crate::percent::leniently_decoded;
use crate::tree::{Tree, TreePath};

impl Change<'_> {
    /// Gives a key of a mapping or a card another name. The annotations of the item move with it.
    ///
    /// ```
    /// let text = b"#ASDF 1.0.0\n%YAML 1.1\n--- {a: 1}\n...\n".to_vec();
    /// let file = trilith::OpenOptions::new().open_bytes(text)?;
    /// let mut change = file.edit()?;
    /// change.rename("/a", "b")?;
    /// assert!(change.tree()?.text().contains("{b: 1}"));
    /// # Ok::<(), trilith::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) if the path leads nowhere,
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if the name is taken, and for a keyword of a FITS header that
    /// defines the HDU, and the errors of [`Edit::rename`](crate::tree::Edit::rename).
    pub fn rename(&mut self, path: impl TryInto<TreePath, Error: Into<Error>>, name: &str) -> Result<()> {
        let path = self.resolve_place(path.try_into().map_err(Into::into)?)?;
        super::card_rename::check_rename(self.current_tree(), self.file.sections().source().name(), &path, name)?;
        self.stage_change(PendingEdit::Rename(path, name.to_owned()))
    }

    /// Notes a change of an item, and those of the annotations that follow it.
    pub(super) fn stage_change(&mut self, step: PendingEdit) -> Result<()> {
        self.apply_pending_at(step.path())?;
        let mut following = super::annotation_steps::annotation_steps(self.current_tree(), &step);
        if following.iter().any(|step| !self.pending_edits.is_unaffected(step.path())) {
            self.apply_pending()?;
            following = super::annotation_steps::annotation_steps(self.current_tree(), &step);
        }
        let path = step.path().clone();
        self.stage_step(step)?;
        following.into_iter().try_for_each(|step| self.stage_step(step))?;
        // A later step at this path must see the annotations that follow, too.
        if self.pending_edits.is_unaffected(&path) { self.apply_pending() } else { Ok(()) }
    }

    /// Returns the place of a path in the tree. `PATH@NAME` is a card of a FITS header, else a key of that spelling, unless the item
    /// of the path has an attribute of that name.
    pub(super) fn resolve_place(&mut self, path: TreePath) -> Result<TreePath> {
        if !path.keys().iter().any(|key| key.contains('@')) {
            return Ok(path);
        }
        self.apply_pending()?;
        let (text, tree) = (path.to_string(), self.current_tree());
        if tree.find(&path).is_some() || tree.card_place(&path).is_some() {
            return Ok(path);
        }
        let ItemAddress { path: item, name: Some(name), .. } = ItemAddress::parse(&text)? else { return Ok(path) };
        // A card has another path, and a computed value is refused.
        let resolved = resolve_tree_path(self.file, &text)?;
        if !resolved.keys().iter().any(|key| key.contains('@')) {
            return Ok(resolved);
        }
        let AddressName::Attribute(selector) = name else { return Ok(path) };
        let known = find_item(tree, &item).and_then(|item| find_attribute_key(tree, &item, &selector.name));
        known.map_or(Ok(path), |key| {
            let message = format!("cannot change the attribute {item}@{selector} by its name");
            Err(Error::unsupported(message).hint(format!("in ASDF files it is the key {key}")))
        })
    }
}

/// The path of the item of an address, as it is written or percent-decoded.
fn find_item(tree: &Tree, path: &str) -> Option<TreePath> {
    let find = |path: &str| tree.path_of(tree.find(&TreePath::parse(path).ok()?)?.id());
    let path = if path == "/" { "" } else { path };
    find(path).or_else(|| find(&leniently_decoded(path)))
}

/// Returns the path of the key that has an attribute of an item.
fn find_attribute_key(tree: &Tree, item: &TreePath, name: &str) -> Option<TreePath> {
    let (key, mapping) = annotations::find(tree)?;
    let owner = annotations::entry_path(tree, mapping, item)?.to_string();
    let (entry, at) = (mapping.get(&owner)?, TreePath::root().join(key).join(owner));
    let names = [name, &leniently_decoded(name)].map(|name| attribute_key(name).into_owned());
    let attributes = entry.get("attributes").filter(|attributes| attributes.is_mapping());
    let found = names.iter().find_map(|name| Some((name, attributes?.get(name)?)));
    match found {
        Some((name, value)) => {
            let at = at.join("attributes").join(name.as_str());
            Some(if value.is_mapping() && value.get("value").is_some() { at.join("value") } else { at })
        }
        None if matches!(name, "unit" | "units") => entry.get("unit").map(|_| at.join("unit")),
        None => entry.get("enumeration").filter(|_| matches!(name, "enum_names" | "enum_values")).map(|_| at.join("enumeration")),
    }
}
