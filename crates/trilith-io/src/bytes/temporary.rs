//! The temporary files that this process writes, so that a signal which ends it can remove them.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use super::fs;
use crate::threads::lock;

static TEMPORARY_FILES: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// A file in the list of this process: a temporary one, or one that is worth nothing without another that is not there yet.
#[derive(Debug)]
pub struct TemporaryGuard(PathBuf);

impl TemporaryGuard {
    /// Adds a file to the list, until this value is dropped.
    pub fn new(path: &Path) -> Self {
        lock(&TEMPORARY_FILES).push(path.to_path_buf());
        Self(path.to_path_buf())
    }

    /// Creates a file and adds it to the list in one step: a signal finds either the listed file or none.
    ///
    /// # Errors
    /// Returns the error of `create`.
    pub fn create<F>(path: &Path, create: impl FnOnce() -> io::Result<F>) -> io::Result<(F, Self)> {
        let mut made = lock(&TEMPORARY_FILES);
        let file = create()?;
        made.push(path.to_path_buf());
        Ok((file, Self(path.to_path_buf())))
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TemporaryGuard {
    fn drop(&mut self) {
        let mut made = lock(&TEMPORARY_FILES);
        // Another thread may have listed the same name since the file was put in place.
        if let Some(at) = made.iter().position(|path| *path == self.0) {
            made.remove(at);
        }
    }
}

/// Removes the temporary files of all new files that this process has not put in place. For a program that a signal ends: a
/// thread that creates another temporary file afterwards waits for the end of the process.
pub fn remove_temporary_files() {
    let mut made = lock(&TEMPORARY_FILES);
    // The last one first: a temporary file that is being renamed is gone, or its new name comes later.
    for path in made.drain(..).rev() {
        let _ = fs::remove(&path);
    }
    // The lock stays held: otherwise another thread could create a file that nothing would remove.
    std::mem::forget(made);
}
