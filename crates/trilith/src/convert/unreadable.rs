//! Arrays of an ASDF file whose blocks cannot be decoded, left out if the caller permits it.

use std::collections::HashSet;

use super::block_uses::block_of;
use super::loss::to_unreadable_loss;
use super::{ConvertOptions, copies_into, is_copied_verbatim};
use crate::asdf::ndarray::{Ndarray, is_ndarray};
use crate::asdf::{AsdfFile, Block, Generation, Target};
use crate::diagnostic::Diagnostic;
use crate::error::{Error, Result};

/// Returns the reason if a block has to be decoded for the new file and cannot be. `row` is the generation that is
/// written, if it is another.
pub(super) fn undecodable_reason(
    file: &AsdfFile,
    block: &Block,
    options: &ConvertOptions,
    row: Option<&Generation>,
) -> Option<Error> {
    let is_copied = row.map_or_else(|| is_copied_verbatim(block, options), |row| copies_into(block, options, row));
    if block.is_streamed() || is_copied {
        return None;
    }
    file.block_data(block.index as i64).err()
}

/// Returns the file without the arrays in blocks that cannot be decoded, and a loss for each of them; `None` if all blocks can be
/// decoded.
///
/// # Errors
/// Returns the reason why an array cannot be read if [`ConvertOptions::skip_unreadable`] is not set.
pub(super) fn omit_undecodable(
    file: &AsdfFile,
    to: Option<&'static Target>,
    options: &ConvertOptions,
) -> Result<Option<(AsdfFile, Vec<Diagnostic>)>> {
    let row = to.map(|to| to.generation_as(options.write_options.as_documented));
    let mut unused = Vec::new();
    for block in file.sections().all_blocks()? {
        if let Some(why) = undecodable_reason(file, block, options, row) {
            unused.push((block.index, to_unreadable_loss("", why, options.skip_unreadable)?));
        }
    }
    // Nearly all files have no such block, so their trees are not walked.
    if unused.is_empty() {
        return Ok(None);
    }
    let unreadable: HashSet<usize> = unused.iter().map(|(index, _)| *index).collect();
    let mut losses = Vec::new();
    let mut edit = file.tree().edit();
    let mut walk = file.tree().root().walk(file.limits()).without_merge();
    while let Some(visit) = walk.try_next()? {
        let node = visit.node;
        if node.is_alias() || !is_ndarray(node) {
            continue;
        }
        let Ok(described) = Ndarray::parse(node, file.limits()) else { continue };
        let Some(index) = block_of(file, &described.origin).filter(|index| unreadable.contains(index)) else { continue };
        let Some(why) = undecodable_reason(file, file.sections().block(index as i64)?, options, row) else { continue };
        let path = walk.path();
        losses.push(to_unreadable_loss(&path.to_string(), why, options.skip_unreadable)?);
        unused.retain(|(unused, _)| *unused != index);
        edit.delete(&path)?;
        walk.skip_children();
    }
    // Blocks that no array is in have no path.
    losses.extend(unused.into_iter().map(|(index, mut loss)| {
        loss.message = format!("block {index}: {}", loss.message);
        loss
    }));
    let tree = edit.finish(file.limits())?;
    let rest = AsdfFile::open(file.sections().source().clone(), file.limits())?.with_tree(tree, file.resolver().clone());
    Ok(Some((rest, losses)))
}
