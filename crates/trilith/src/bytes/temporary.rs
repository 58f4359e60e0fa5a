//! The temporary files that this process writes, so that a signal which ends it can remove them.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use super::disk;
use crate::threads::lock;

static MADE: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// A file in the list of this process: a temporary one, or one that is worth nothing without another that is not there yet.
#[derive(Debug)]
pub(crate) struct Listed(PathBuf);

impl Listed {
    /// Adds a file to the list, until this value is dropped.
    pub fn new(path: &Path) -> Self {
        lock(&MADE).push(path.to_path_buf());
        Self(path.to_path_buf())
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        lock(&MADE).retain(|path| *path != self.0);
    }
}

/// Removes the temporary files of all new files that this process has not put in place. For a program that a signal ends.
pub fn remove_temporary_files() {
    // The last one first: a temporary file that is being renamed is gone, or its new name comes later.
    for path in lock(&MADE).drain(..).rev() {
        let _ = disk::remove(&path);
    }
}
