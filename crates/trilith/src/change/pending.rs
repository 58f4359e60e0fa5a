//! Edits that wait to be made together: the tree is parsed and checked once for all of them.

use std::collections::{BTreeSet, HashSet};

use crate::asdf::ndarray::is_ndarray;
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::tree::{Edit, Tree, TreePath, Value};

/// One edit of a tree by a path.
pub(super) enum PendingEdit {
    /// Puts a value in place of what is there, or adds a key.
    Set(TreePath, Value),
    /// Adds a key or an item.
    Insert(TreePath, Value),
    /// Removes a key or an item.
    Delete(TreePath),
    /// Gives a key another name.
    Rename(TreePath, String),
}

impl PendingEdit {
    pub(super) fn path(&self) -> &TreePath {
        match self {
            PendingEdit::Set(path, _)
            | PendingEdit::Insert(path, _)
            | PendingEdit::Delete(path)
            | PendingEdit::Rename(path, _) => path,
        }
    }

    /// Returns the path that an item has after the step, if the step gives it another one.
    fn new_path(&self) -> Option<TreePath> {
        let PendingEdit::Rename(path, name) = self else { return None };
        Some(path.split_last()?.0.join(name.as_str()))
    }

    fn apply(&self, edit: &mut Edit<'_>) -> Result<()> {
        match self {
            PendingEdit::Set(path, value) => edit.set(path, value),
            PendingEdit::Insert(path, value) => edit.insert(path, value),
            PendingEdit::Delete(path) => edit.delete(path),
            PendingEdit::Rename(path, name) => edit.rename(path, name),
        }
    }

    /// Refuses an empty key, and an index among the keys that describe an array: both are slips.
    fn check_key(&self, tree: &Tree) -> Result<()> {
        let (Self::Set(path, _) | Self::Insert(path, _)) = self else { return Ok(()) };
        let Some((above, key)) = path.split_last() else { return Ok(()) };
        let Some(parent) = tree.find(&above) else { return Ok(()) };
        let parent = parent.alias_target().unwrap_or(parent);
        if !parent.is_mapping() || parent.child(key).is_some() {
            return Ok(());
        }
        if key.is_empty() {
            let hint = format!("name the key after the last `/`: {path}KEY");
            return Err(Error::invalid_input("a new key is empty").at_path(path.to_string()).hint(hint));
        }
        let is_index = key == "-" || key.bytes().all(|byte| byte.is_ascii_digit());
        if is_ndarray(parent) && is_index {
            let what = format!("`{key}` would be a key of the description of an array, not an element");
            return Err(Error::invalid_input(what).at_path(path.to_string()).hint("put a whole array in its place"));
        }
        Ok(())
    }

    /// Returns the sequence in which this step moves the items after it, if it does.
    fn shifts_items_of(&self, tree: &Tree) -> Option<TreePath> {
        let (above, key) = self.path().split_last()?;
        let is_set = matches!(self, PendingEdit::Set(..) | PendingEdit::Rename(..));
        let parent = tree.find(&above)?;
        let parent = parent.alias_target().unwrap_or(parent);
        (parent.is_sequence() && !(is_set && parent.child(key).is_some())).then_some(above)
    }
}

/// Steps that do not depend on each other: each has a path of the same tree.
#[derive(Default)]
pub(super) struct PendingEdits {
    steps: Vec<PendingEdit>,
    /// The paths of all steps.
    paths: HashSet<TreePath>,
    /// Ancestors of the paths of all steps.
    parent_paths: HashSet<TreePath>,
    /// Sequences whose items have other numbers after a step.
    shifted_lists: HashSet<TreePath>,
    /// Notes on changes of collections that are in several places.
    pub shared: BTreeSet<String>,
}

impl PendingEdits {
    /// Returns `true` if there is nothing to do.
    pub(super) fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Returns `true` if a path means the same before and after the steps, and none of them is at, above or below it.
    pub(super) fn is_unaffected(&self, path: &TreePath) -> bool {
        if self.parent_paths.contains(path) {
            return false;
        }
        let is_touched = |path: &TreePath| self.paths.contains(path) || self.shifted_lists.contains(path);
        let mut path = path.clone();
        loop {
            if is_touched(&path) {
                return false;
            }
            if path.pop().is_none() {
                return true;
            }
        }
    }

    /// Adds a step, or gives it back if it depends on the others.
    ///
    /// # Errors
    /// Returns the error of [`Edit`] if the step cannot be made in `tree`.
    pub(super) fn try_add_step(&mut self, step: PendingEdit, tree: &Tree) -> Result<Option<PendingEdit>> {
        let moved = step.shifts_items_of(tree);
        let moves_others = moved.as_ref().is_some_and(|list| self.parent_paths.contains(list));
        let new_path = step.new_path();
        let is_affected = || !self.is_unaffected(step.path()) || new_path.as_ref().is_some_and(|path| !self.is_unaffected(path));
        if !self.is_empty() && (moves_others || is_affected()) {
            return Ok(Some(step));
        }
        // A fault of the path is reported now, not when the file is saved.
        step.check_key(tree)?;
        let mut edit = tree.edit();
        step.apply(&mut edit)?;
        self.shared.append(&mut edit.shared());
        let mut above = step.path().clone();
        while above.pop().is_some() && self.parent_paths.insert(above.clone()) {}
        self.shifted_lists.extend(moved);
        self.paths.insert(step.path().clone());
        self.paths.extend(new_path);
        self.steps.push(step);
        Ok(None)
    }

    /// Returns the tree with all steps; none are left.
    ///
    /// # Errors
    /// Returns the error of [`Edit::finish`] for the first step that cannot be made.
    pub(super) fn apply_all(&mut self, tree: &Tree, limits: &Limits) -> Result<Tree> {
        let steps = std::mem::take(self).steps;
        let finish =
            |edit: Edit<'_>, steps: &[PendingEdit]| match steps.iter().all(|step| matches!(step, PendingEdit::Insert(..))) {
                true => edit.finish_adding(limits),
                false => edit.finish(limits),
            };
        let together = || {
            let mut edit = tree.edit();
            steps.iter().try_for_each(|step| step.apply(&mut edit))?;
            finish(edit, &steps)
        };
        let error = match together() {
            Ok(tree) => return Ok(tree),
            Err(error) if steps.len() == 1 => return Err(error),
            Err(error) => error,
        };
        // Some steps touch the same bytes, such as the end of one mapping in braces, and are applied one after the other.
        let mut made: Option<Tree> = None;
        for step in &steps {
            let now = made.as_ref().unwrap_or(tree);
            let mut edit = now.edit();
            step.apply(&mut edit)?;
            made = Some(finish(edit, std::slice::from_ref(step)).map_err(|error: Error| error.at_path(step.path().to_string()))?);
        }
        made.ok_or(error)
    }
}
