//! An open file that may be changed: what is open, and the changes that wait for the next update.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::PyResult;
use pyo3::exceptions::PyValueError;
use trilith::array::Array;
use trilith::asdf::ArrayOptions;
use trilith::tree::{Tree, TreePath, Value};
use trilith::{File, OpenOptions};

/// A change that waits for the next update.
#[derive(Clone)]
pub(crate) enum Step {
    Set(TreePath, Value),
    Array(TreePath, Array, ArrayOptions),
    Delete(TreePath),
    Rename(TreePath, String),
    History(String),
}

/// An open file, how it is opened again, and its changes.
pub(crate) struct Held {
    pub path: Option<PathBuf>,
    opening: OpenOptions,
    state: Mutex<State>,
    /// Changes wait for each other, without the interpreter.
    turn: Mutex<()>,
}

/// State that changes while a file is open.
#[derive(Default)]
pub(crate) struct State {
    file: Option<File>,
    /// The tree with the changes that were not written yet.
    pub edited: Option<Arc<Tree>>,
    /// Changes that were not written yet, in order.
    pub steps: Vec<Step>,
}

impl State {
    fn new(file: File) -> Self {
        Self { file: Some(file), ..Self::default() }
    }
}

impl Held {
    /// A file that was just opened.
    pub(crate) fn new(file: File, path: Option<PathBuf>, opening: OpenOptions) -> Self {
        Self { path, opening, state: Mutex::new(State::new(file)), turn: Mutex::new(()) }
    }

    /// The open file.
    pub(crate) fn opened(&self) -> PyResult<File> {
        self.state().file.clone().ok_or_else(|| PyValueError::new_err("this file is closed"))
    }

    /// The path of a file that can be changed.
    ///
    /// # Errors
    /// Returns `ValueError` if it was not opened by its path.
    pub(crate) fn own_path(&self) -> PyResult<&Path> {
        let refused = || PyValueError::new_err("only a file that was opened by its path can be changed");
        self.path.as_deref().ok_or_else(refused)
    }

    /// Returns `True` if it was closed.
    pub(crate) fn is_closed(&self) -> bool {
        self.state().file.is_none()
    }

    /// Closes it and drops changes that were not written.
    pub(crate) fn close(&self) {
        let old = std::mem::take(&mut *self.state());
        drop(old);
    }

    /// Held for moments only: nothing is read under it.
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The open file, and its tree with the changes that were not written yet.
    pub(crate) fn current(&self) -> trilith::Result<(File, Option<Arc<Tree>>)> {
        let state = self.state();
        let file = state.file.clone().ok_or_else(|| trilith::Error::invalid_input("this file is closed"))?;
        Ok((file, state.edited.clone()))
    }

    /// Waits until no other thread changes the file. The interpreter must not be held.
    pub(crate) fn turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens the file again after it was written.
    pub(crate) fn reopen(&self, path: &Path) -> trilith::Result<()> {
        let file = opened(self.opening.open(path)?)?;
        *self.state() = State::new(file);
        Ok(())
    }
}

/// A file whose items are known: that they can be found is checked when it is opened.
///
/// # Errors
/// Returns an error if the items of a layout cannot be found.
pub(crate) fn opened(file: File) -> trilith::Result<File> {
    if let Some(file) = file.as_dudley() {
        file.outline()?;
    }
    Ok(file)
}
