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
pub enum Step {
    Set(TreePath, Value),
    Array(TreePath, Array, ArrayOptions),
    Delete(TreePath),
    Rename(TreePath, String),
    History(String),
}

/// An open file, how it is opened again, and its changes.
pub struct Held {
    pub path: Option<PathBuf>,
    opening: OpenOptions,
    state: Mutex<State>,
    /// Changes wait for each other, without the interpreter.
    turn: Mutex<()>,
}

/// State that changes while a file is open.
#[derive(Default)]
pub struct State {
    file: Option<File>,
    /// The tree with the changes that were not written yet.
    pub edited: Option<Arc<Tree>>,
    /// Those changes, in their order.
    pub steps: Vec<Step>,
}

impl State {
    fn new(file: File) -> Self {
        Self { file: Some(file), ..Self::default() }
    }
}

impl Held {
    /// A file that was just opened.
    pub fn new(file: File, path: Option<PathBuf>, opening: OpenOptions) -> Self {
        Self { path, opening, state: Mutex::new(State::new(file)), turn: Mutex::new(()) }
    }

    /// The open file.
    pub fn opened(&self) -> PyResult<File> {
        self.state().file.clone().ok_or_else(|| PyValueError::new_err("this file is closed"))
    }

    /// The path of a file that can be changed.
    ///
    /// # Errors
    /// Returns `ValueError` if it was not opened by its path.
    pub fn own_path(&self) -> PyResult<&Path> {
        let refused = || PyValueError::new_err("only a file that was opened by its path can be changed");
        self.path.as_deref().ok_or_else(refused)
    }

    /// Returns `True` if it was closed.
    pub fn is_closed(&self) -> bool {
        self.state().file.is_none()
    }

    /// Closes it and drops changes that were not written.
    pub fn close(&self) {
        let old = std::mem::take(&mut *self.state());
        drop(old);
    }

    /// Held for moments only: nothing is read under it.
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The open file, and its tree with the changes that were not written yet.
    pub fn current(&self) -> trilith::Result<(File, Option<Arc<Tree>>)> {
        let state = self.state();
        let file = state.file.clone().ok_or_else(|| trilith::Error::invalid_input("this file is closed"))?;
        Ok((file, state.edited.clone()))
    }

    /// Waits until no other thread changes the file. The interpreter must not be held.
    pub fn turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens the file again after it was written.
    pub fn reopen(&self, path: &Path) -> trilith::Result<()> {
        let file = opened(self.opening.open(path)?)?;
        *self.state() = State::new(file);
        Ok(())
    }
}

/// A file whose items are known: that they can be found is checked when it is opened.
///
/// # Errors
/// Returns an error if the items of a layout cannot be found.
pub fn opened(file: File) -> trilith::Result<File> {
    if let Some(file) = file.as_dudley() {
        file.outline()?;
    }
    Ok(file)
}
