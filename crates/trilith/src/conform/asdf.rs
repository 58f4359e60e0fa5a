//! Comparison of a file of the ASDF family with a document, part by part.

use std::sync::Arc;

use super::report::{BY_HAND, Found, Place};
use super::rule::Check;
use super::{AsdfLaw, blocks, header, index, tree};
use crate::asdf::{self, AsdfFile, Block, Sections};
use crate::bytes::{Resolve, SourceRef};
use crate::error::{ErrorKind, Result};
use crate::limits::Limits;

/// Remedy for a file whose blocks cannot all be read.
const REPAIR: &str = "recover the rest with repair";

/// Compares a file with a document of the family.
pub(super) fn check(
    source: &SourceRef,
    resolve: Arc<dyn Resolve>,
    law: &AsdfLaw,
    limits: &Limits,
    found: &mut Found,
) -> Result<()> {
    found.instead_of_converting(Some(BY_HAND));
    let Some(end) = header::check(&**source, law, limits, found)? else { return Ok(()) };
    match asdf::header::read(&**source, limits) {
        // The fault of the line was found.
        Err(error) if error.kind() == ErrorKind::Malformed && !found.is_empty() => return Ok(()),
        Err(error) => return found.judge(Check::First, Place::of(&error), error),
        Ok(_) => {}
    }
    let sections = match Sections::read_as(source.clone(), Some(law.row()?), limits) {
        Ok(sections) => sections,
        Err(error) => return header::unreadable(&**source, end, error, law, found),
    };
    found.instead_of_converting(Some(REPAIR));
    header::text(source, &sections, end, law, limits, found)?;
    let file = match AsdfFile::open(source.clone(), limits) {
        Ok(file) => Some(file.with_resolver(resolve)),
        Err(error) => {
            // A text that is wrong in a way that was found already may well not be YAML.
            if !found.has_any(&[Check::Utf8, Check::OneDocument]) {
                found.judge(Check::Yaml, Place::of(&error), error)?;
            }
            None
        }
    };
    let is_sound = blocks::check(source, &sections, file.as_ref(), law, limits, found)?;
    index::check(source, &sections, law, is_sound, limits, found)?;
    if let Some(file) = &file {
        tree::check(file, law, is_sound, found)?;
        let is_whole = |block: &&Block| block.check(source.len()).is_ok();
        if file.sections().all_blocks().is_ok_and(|blocks| blocks.iter().all(is_whole)) {
            found.instead_of_converting(None);
        }
    }
    Ok(())
}
