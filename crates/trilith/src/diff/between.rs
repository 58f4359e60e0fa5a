//! A Dudley stream compared with a file of the ASDF family: as conversion would write it.

use super::{DiffOptions, Difference, DifferenceKind, ignored};
use crate::asdf::AsdfFile;
use crate::error::Result;

/// What differs but for what the form alone brings along: who wrote it, and how a layout said it.
pub(super) fn diff(a: &AsdfFile, b: &AsdfFile, options: &DiffOptions) -> Result<Vec<Difference>> {
    let mut how = options.clone();
    for path in ["asdf_library", "history/extensions", "dudley/dialect", "dudley/byteorder", "dudley/stored", "dudley/docs"] {
        how.ignore.push(ignored(&format!("/{path}"))?);
    }
    let mut found = super::diff(a, b, &how)?;
    let on_one_side = |kind| matches!(kind, DifferenceKind::Added | DifferenceKind::Removed);
    found.retain(|difference| !(on_one_side(difference.kind) && matches!(difference.path.as_str(), "/dudley" | "/history")));
    Ok(found)
}
