//! Check that a written file opens, before it replaces its target.

use std::sync::Arc;

use super::open::OpenOptions;
use crate::asdf::{AsdfFile, walk};
use crate::bytes::{NoReferences, SourceRef};
use crate::error::{Error, Result};
use crate::limits::Limits;

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
