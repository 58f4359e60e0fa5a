//! Comparison of a file of the ASDF family with a document, part by part.

use std::sync::Arc;

use super::report::{FindingLocation, Findings, REMEDY_BY_HAND};
use super::rule::Check;
use super::{AsdfRules, blocks, header, index, tree};
use crate::asdf::{self, AsdfFile, AsdfSections, Block};
use crate::bytes::{Resolve, SourceRef};
use crate::error::{ErrorKind, Result};
use crate::limits::Limits;

/// Remedy for a file whose blocks cannot all be read.
const REMEDY_REPAIR: &str = "recover the rest with repair";

/// Compares a file with a document of the family.
pub(super) fn check_asdf_file(
    source: &SourceRef,
    resolve: Arc<dyn Resolve>,
    law: &AsdfRules,
    limits: &Limits,
    found: &mut Findings,
) -> Result<()> {
    found.override_remedy(Some(REMEDY_BY_HAND));
    let Some(end) = header::check_header(&**source, law, limits, found)? else { return Ok(()) };
    match asdf::header::read_asdf_header(&**source, limits) {
        // The fault of the line was found.
        Err(error) if error.kind() == ErrorKind::Malformed && !found.is_empty() => return Ok(()),
        Err(error) => return found.record_error(Check::HeaderLineFirst, FindingLocation::from_error(&error), error),
        Ok(_) => {}
    }
    let sections = match AsdfSections::read_as(source.clone(), Some(law.generation()?), limits) {
        Ok(sections) => sections,
        Err(error) => return header::report_unreadable_structure(&**source, end, error, law, found),
    };
    found.override_remedy(Some(REMEDY_REPAIR));
    header::check_text(source, &sections, end, law, limits, found)?;
    let file = match AsdfFile::open(source.clone(), limits) {
        Ok(file) => Some(file.with_resolver(resolve)),
        Err(error) => {
            // A text that is wrong in a way that was found already may well not be YAML.
            if !found.has_any(&[Check::Utf8, Check::OneDocument]) {
                found.record_error(Check::Yaml, FindingLocation::from_error(&error), error)?;
            }
            None
        }
    };
    let is_sound = blocks::check_blocks(source, &sections, file.as_ref(), law, limits, found)?;
    index::check_block_index(source, &sections, law, is_sound, limits, found)?;
    if let Some(file) = &file {
        tree::check_tree(file, law, is_sound, found)?;
        let is_whole = |block: &&Block| block.check(source.len()).is_ok();
        if file.sections().all_blocks().is_ok_and(|blocks| blocks.iter().all(is_whole)) {
            found.override_remedy(None);
        }
    }
    Ok(())
}
