//! Parts of other files in the space of addresses of a layout: attributes of the root.

use std::sync::Arc;

use crate::bytes::{ConcatenatedSource, ExternalPart, Resolve, SourceRef};
use crate::error::{Error, Result};
use crate::layout::{Attribute, FILES_AT_ATTRIBUTE, FILES_ATTRIBUTE, ItemId, Layout, LayoutLiteral, read_own};

/// The space of addresses of a layout, if it has other files than `source`.
///
/// # Errors
/// Returns `Malformed` if the attributes contradict each other, and the errors of [`Resolve::resolve`].
pub(super) fn with_external_parts(source: &SourceRef, layout: &Layout, resolve: &dyn Resolve) -> Result<Option<SourceRef>> {
    let said = |wanted: &str| -> &[LayoutLiteral] {
        match layout.attributes(ItemId::ROOT).find(|(name, _)| *name == wanted) {
            Some((_, Attribute::List(values))) => values,
            Some((_, Attribute::Value(value))) => std::slice::from_ref(value),
            _ => &[],
        }
    };
    let (files, numbers) = (said(FILES_ATTRIBUTE), said(FILES_AT_ATTRIBUTE));
    if files.is_empty() && numbers.is_empty() {
        return Ok(None);
    }
    let wrong = || Error::malformed(format!("{FILES_ATTRIBUTE} and {FILES_AT_ATTRIBUTE} do not fit"));
    let (places, []) = numbers.as_chunks::<3>() else { return Err(wrong()) };
    if places.len() != files.len() {
        return Err(wrong());
    }
    let mut others = Vec::new();
    let mut known: Vec<(&str, SourceRef)> = Vec::new();
    for (file, place) in files.iter().zip(places) {
        let LayoutLiteral::Text(text) = file else { return Err(wrong()) };
        let number = |at: usize| match place.get(at) {
            Some(LayoutLiteral::Integer(number)) => u64::try_from(*number).map_err(|_| wrong()),
            _ => Err(wrong()),
        };
        let source = match known.iter().find(|(name, _)| *name == text.as_str()) {
            Some((_, source)) => Arc::clone(source),
            None => {
                let (source, _) = resolve.resolve(&read_own(text))?;
                known.push((text.as_str(), Arc::clone(&source)));
                source
            }
        };
        others.push(ExternalPart { start: number(0)?, offset: number(1)?, len: number(2)?, source });
    }
    Ok(Some(Arc::new(ConcatenatedSource::new(Arc::clone(source), others)?)))
}
