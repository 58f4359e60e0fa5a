//! An open file that may be changed: what is open, and the changes that wait for the next update.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::PyResult;
use pyo3::exceptions::PyValueError;
use trilith::array::Array;
use trilith::asdf::ArrayOptions;
use trilith::dudley::{Catalog, NewElements};
use trilith::tree::{Tree, TreePath, Value};
use trilith::{File, OpenOptions};

/// A change that waits for the next update.
#[derive(Clone)]
pub(crate) enum PendingEdit {
    Set(TreePath, Value),
    Array(TreePath, Array, ArrayOptions),
    Delete(TreePath),
    Rename(TreePath, String),
    History(String),
    /// New elements of an item under a layout, in their place.
    Elements(String, NewElements),
}

/// An open file, how it is opened again, and its changes.
pub(crate) struct OpenFile {
    pub path: Option<PathBuf>,
    open_options: OpenOptions,
    state: Mutex<OpenFileState>,
    /// Changes wait for each other, without the interpreter.
    write_lock: Mutex<()>,
}

/// State that changes while a file is open.
#[derive(Default)]
pub(crate) struct OpenFileState {
    file: Option<File>,
    /// The tree with the changes that were not written yet.
    pub has_edits: Option<Arc<Tree>>,
    /// Changes that were not written yet, in order.
    pub edits: Vec<PendingEdit>,
}

impl OpenFileState {
    fn new(file: File) -> Self {
        Self { file: Some(file), ..Self::default() }
    }
}

impl OpenFile {
    /// A file that was just opened.
    pub(crate) fn new(file: File, path: Option<PathBuf>, opening: OpenOptions) -> Self {
        Self { path, open_options: opening, state: Mutex::new(OpenFileState::new(file)), write_lock: Mutex::new(()) }
    }

    /// The open file.
    pub(crate) fn file(&self) -> PyResult<File> {
        self.lock_state().file.clone().ok_or_else(|| PyValueError::new_err("this file is closed"))
    }

    /// The path of a file that can be changed.
    ///
    /// # Errors
    /// Returns `ValueError` if it was not opened by its path.
    pub(crate) fn writable_path(&self) -> PyResult<&Path> {
        let refused = || PyValueError::new_err("only a file that was opened by its path can be changed");
        self.path.as_deref().ok_or_else(refused)
    }

    /// Returns `True` if it was closed.
    pub(crate) fn is_closed(&self) -> bool {
        self.lock_state().file.is_none()
    }

    /// Closes it and drops changes that were not written.
    pub(crate) fn close(&self) {
        let old = std::mem::take(&mut *self.lock_state());
        drop(old);
    }

    /// Held for moments only: nothing is read under it.
    pub(crate) fn lock_state(&self) -> MutexGuard<'_, OpenFileState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The open file, and its tree with the changes that were not written yet.
    pub(crate) fn current_file_and_tree(&self) -> trilith::Result<(File, Option<Arc<Tree>>)> {
        let state = self.lock_state();
        let file = state.file.clone().ok_or_else(|| trilith::Error::invalid_input("this file is closed"))?;
        Ok((file, state.has_edits.clone()))
    }

    /// Waits until no other thread changes the file. The interpreter must not be held.
    pub(crate) fn write_lock(&self) -> MutexGuard<'_, ()> {
        self.write_lock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The files of a catalog as one, if the open file is a catalog that was opened by its path.
    pub(crate) fn open_set_of_catalog(&self, file: &File) -> trilith::Result<Option<File>> {
        let (Some(path), Some(catalog)) = (&self.path, file.as_dudley()) else { return Ok(None) };
        if !Catalog::holds_layout(catalog)? {
            return Ok(None);
        }
        self.open_options.clone().open_catalog_only(false).open(path).map(Some)
    }

    /// Opens the file again after it was written.
    pub(crate) fn reopen(&self, path: &Path) -> trilith::Result<()> {
        let file = ensure_layout_outline(self.open_options.open(path)?)?;
        *self.lock_state() = OpenFileState::new(file);
        Ok(())
    }
}

/// A file whose items are known: that they can be found is checked when it is opened.
///
/// # Errors
/// Returns an error if the items of a layout cannot be found.
pub(crate) fn ensure_layout_outline(file: File) -> trilith::Result<File> {
    if let Some(file) = file.as_dudley() {
        file.outline()?;
    }
    Ok(file)
}
