//! Check that a written file opens, before it replaces its target.

use std::sync::Arc;

use super::open::{OpenOptions, check_once};
use crate::asdf::{AsdfFile, walk};
use crate::bytes::{NoReferences, SourceRef};
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::tree::Tree;

/// Opens a written file and checks that the elements of its arrays can be found. `from` is the file that it was made from.
///
/// # Errors
/// Returns [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) if it cannot be read, though `from` can.
pub fn verify_written(written: SourceRef, from: Option<&AsdfFile>, limits: &Limits) -> Result<()> {
    let options = OpenOptions::new().limits(limits.clone());
    let opened = options.open_source(written, Arc::new(NoReferences));
    let broken = match &opened {
        Ok(file) => file.as_asdf().map_or(Ok(None), walk::first_unreadable)?,
        Err(error) => Some(error.copy()),
    };
    let Some(error) = broken else { return Ok(()) };
    // Content that was broken before may be so afterwards.
    if from.is_some_and(|from| !matches!(walk::first_unreadable(from), Ok(None))) {
        return Ok(());
    }
    Err(Error::unsupported(format!("what was written cannot be read again: {error}"))
        .hint("nothing was changed; write another form, or report it"))
}

/// Does the same as [`verify_written`], for a file that should have a known tree. If its text is the same, it is not parsed again.
///
/// # Errors
/// Returns the errors of [`verify_written`].
pub(crate) fn verify_with_tree(written: SourceRef, tree: Option<&Tree>, from: Option<&AsdfFile>, limits: &Limits) -> Result<()> {
    let open = |tree| check_once(&written, || AsdfFile::open_if_tree(written.clone(), tree, limits)).ok().flatten();
    match tree.and_then(open) {
        Some(file) if matches!(walk::first_unreadable(&file), Ok(None)) => Ok(()),
        _ => verify_written(written, from, limits),
    }
}
