//! Files and folders, with errors that name them.

use std::path::Path;

/// A folder, with those above it.
pub fn create(folder: &Path) -> Result<(), String> {
    std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))
}

/// A folder with nothing in it.
pub fn empty(folder: &Path) -> Result<(), String> {
    let _ = std::fs::remove_dir_all(folder); // whatever an earlier run left
    create(folder)
}

/// A file at another place, in a folder that is made.
pub fn copy(from: &Path, to: &Path) -> Result<(), String> {
    if let Some(folder) = to.parent() {
        create(folder)?;
    }
    std::fs::copy(from, to).map(drop).map_err(|error| format!("{} to {}: {error}", from.display(), to.display()))
}

/// The text of a file.
pub fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// Writes the text of a file, in a folder that is made.
pub fn write(path: &Path, text: &str) -> Result<(), String> {
    if let Some(folder) = path.parent() {
        create(folder)?;
    }
    std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}
