//! The rule for an output that exists: data are replaced only if the caller asks for it.

use std::path::Path;

use super::file_format::is_stream;
use super::open::OpenOptions;
use crate::bytes::{SourceBacking, SourceRef, find_same_file, is_url, name_of};
use crate::error::{Error, ErrorKind, Result};

/// Refuses to replace a file whose content is of a format that is read, whatever its name is. A file that is not of such a format,
/// a pipe, a device and one of the `inputs` may be replaced.
///
/// # Errors
/// Returns [`ErrorKind::InvalidInput`] if the file holds data, or is damaged.
pub fn check_replaced(path: &Path, inputs: &[&Path], opening: &OpenOptions) -> Result<()> {
    let name = name_of(path);
    let is_input = || find_same_file(path, inputs).is_some();
    if is_url(&name) || is_stream(&name) || !path.is_file() || is_input() {
        return Ok(());
    }
    match opening.source(path).and_then(|(source, resolve)| opening.open_source(source, resolve)) {
        // A damaged file is one of a known format as well.
        Err(error) if !matches!(error.kind(), ErrorKind::Malformed | ErrorKind::Limit) => Ok(()),
        _ => Err(Error::invalid_input(format!("cannot write {name}: it already exists, and its data would be lost"))),
    }
}

/// Returns `true` if bytes were read from the file that a path names.
pub fn is_read_from(source: &SourceRef, path: &Path) -> bool {
    source.backing().and_then(SourceBacking::local_file).is_some_and(|local| local.is_at_path(path))
}
