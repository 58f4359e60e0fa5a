//! The temporary files that this process writes, so that a signal which ends it can remove them.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use super::disk;
use crate::threads::lock;

static MADE: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// A temporary file in the list of this process.
#[derive(Debug)]
pub(super) struct Listed(PathBuf);

impl Listed {
    /// Adds a file to the list, until this value is dropped.
    pub fn new(path: &Path) -> Self {
        lock(&MADE).push(path.to_path_buf());
        Self(path.to_path_buf())
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        lock(&MADE).retain(|path| *path != self.0);
    }
}

/// Removes the temporary files of all new files that this process has not put in place. For a program that a signal ends.
pub fn remove_temporary_files() {
    for path in lock(&MADE).drain(..) {
        let _ = disk::remove(&path);
    }
}
