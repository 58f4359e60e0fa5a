//! Content of a folder.

use std::path::Path;

use super::file_name::name_of;
use crate::error::{Error, Result};

/// The names of the regular files in a folder, in order; those that are being written are left out.
///
/// # Errors
/// Returns [`ErrorKind::Io`](crate::ErrorKind::Io) if the folder cannot be read.
pub fn files_of(folder: &Path) -> Result<Vec<String>> {
    let failed = |e| Error::io(format!("reading {}", folder.display()), e);
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = name_of(Path::new(&entry.file_name())).into_owned();
        if !name.contains(".trilith-") && entry.path().is_file() {
            names.push(name);
        }
    }
    names.sort_by(|one, other| crate::glob::natural(one, other));
    Ok(names)
}

/// Returns `true` if this is a regular file, and no link to one.
pub fn is_plain_file(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|there| there.is_file())
}
