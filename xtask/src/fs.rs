//! Files and folders, with errors that name them.

use std::path::{Path, PathBuf};

use crate::command::{repository_root, shared_dir};

/// A folder, with those above it.
pub(crate) fn ensure_dir_exists(folder: &Path) -> Result<(), String> {
    std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))
}

/// A folder with nothing in it.
pub(crate) fn create_empty_dir(folder: &Path) -> Result<(), String> {
    let _ = std::fs::remove_dir_all(folder); // whatever an earlier run left
    ensure_dir_exists(folder)
}

/// A file at another place, in a folder that is made.
pub(crate) fn copy_file(from: &Path, to: &Path) -> Result<(), String> {
    if let Some(folder) = to.parent() {
        ensure_dir_exists(folder)?;
    }
    std::fs::copy(from, to).map(drop).map_err(|error| format!("{} to {}: {error}", from.display(), to.display()))
}

/// The text of a file.
pub(crate) fn read_text(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// Writes the text of a file, in a folder that is made.
pub(crate) fn write_text(path: &Path, text: &str) -> Result<(), String> {
    if let Some(folder) = path.parent() {
        ensure_dir_exists(folder)?;
    }
    std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

/// The files that come with the project, and those of `../shared/corpus` where it is: good and broken ones of every kind.
pub(crate) fn list_sample_files() -> Result<Vec<PathBuf>, String> {
    let mut files = Vec::new();
    collect_sample_files(&repository_root().join("tests/conformance"), &mut files)?;
    if let Some(shared) = shared_dir() {
        collect_sample_files(&shared.join("corpus"), &mut files)?;
    }
    Ok(files)
}

/// The files of a folder and those below it, without what is for people and programs, and without large ones.
fn collect_sample_files(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let kind = path.extension().and_then(|ending| ending.to_str()).unwrap_or("");
        let size = path.metadata().map_or(0, |about| about.len());
        if path.is_dir() {
            collect_sample_files(&path, files)?;
        } else if !["py", "md", "json"].contains(&kind) && size < 8 << 20 {
            files.push(path);
        }
    }
    files.sort();
    Ok(())
}
