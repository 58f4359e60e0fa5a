//! Parts of other files in the space of addresses of a layout: attributes of the root.

use std::sync::Arc;

use crate::bytes::{ConcatenatedSource, ExternalPart, Resolve, SourceRef};
use crate::error::Result;
use crate::layout::Layout;

/// The space of addresses of a layout, if it has other files than `source`.
///
/// # Errors
/// Returns `Malformed` if the attributes contradict each other, and the errors of [`Resolve::resolve`].
pub(super) fn with_external_parts(source: &SourceRef, layout: &Layout, resolve: &dyn Resolve) -> Result<Option<SourceRef>> {
    let declared = layout.file_parts()?;
    if declared.is_empty() {
        return Ok(None);
    }
    let mut others = Vec::new();
    let mut known: Vec<(&str, SourceRef)> = Vec::new();
    for part in declared {
        let source = match known.iter().find(|(name, _)| *name == part.file) {
            Some((_, source)) => Arc::clone(source),
            None => {
                let (source, _) = resolve.resolve(part.file)?;
                known.push((part.file, Arc::clone(&source)));
                source
            }
        };
        let [start, offset, len] = part.place;
        others.push(ExternalPart { start, offset, len, source });
    }
    Ok(Some(Arc::new(ConcatenatedSource::new(Arc::clone(source), others)?)))
}
