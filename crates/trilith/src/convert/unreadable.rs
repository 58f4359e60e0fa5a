//! Arrays of an ASDF file whose blocks are missing or cannot be decoded, left out if the caller permits it.

use std::collections::HashSet;

use super::block_uses::block_of;
use super::loss::LossAccount;
use super::{ConvertOptions, copies_into, is_copied_verbatim};
use crate::asdf::ndarray::{Ndarray, is_ndarray};
use crate::asdf::{AsdfFile, Block, Generation, Target, walk};
use crate::error::{Error, Result};
use crate::tree::Edit;

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

/// Returns the file without the arrays in blocks that it does not have, which are losses; `None` if nothing is missing.
///
/// # Errors
/// Returns the reason why an array cannot be read if [`ConvertOptions::skip_unreadable`] is not set, or if the file is in another one.
pub(super) fn omit_missing(file: &AsdfFile, account: &mut LossAccount) -> Result<Option<AsdfFile>> {
    let complete = file.blocks_to_copy();
    if complete.is_ok() {
        return Ok(None);
    }
    let missing = walk::find_missing_blocks(file)?;
    if missing.is_empty() || file.container().is_some() {
        return complete.map(|_| None);
    }
    let mut edit = file.tree().edit();
    for (node, why) in missing {
        let Some(path) = file.tree().path_of(node.id()) else { continue };
        account.skip_item(&path.to_string(), why)?;
        edit.delete(&path)?;
    }
    without_items(file, edit).map(Some)
}

/// Returns the file with a tree of which items were deleted.
fn without_items(file: &AsdfFile, edit: Edit<'_>) -> Result<AsdfFile> {
    let tree = edit.finish(file.limits())?;
    Ok(AsdfFile::open(file.sections().source().clone(), file.limits())?.with_tree(tree, file.resolver().clone()))
}

/// Returns the file without the arrays in blocks that cannot be decoded, which are losses; `None` if all blocks can be decoded.
///
/// # Errors
/// Returns the reason why an array cannot be read if [`ConvertOptions::skip_unreadable`] is not set.
pub(super) fn omit_undecodable(
    file: &AsdfFile,
    to: Option<&'static Target>,
    options: &ConvertOptions,
    account: &mut LossAccount,
) -> Result<Option<AsdfFile>> {
    let row = to.map(|to| to.generation_as(options.write_options.as_documented));
    let (mut unused, mut by_block) = (Vec::new(), Vec::new());
    for block in file.sections().all_blocks()? {
        if let Some(why) = undecodable_reason(file, block, options, row) {
            unused.push(block.index);
            // An array that is in the block has a path, which is better.
            let mut without_path = LossAccount::new(options);
            without_path.skip_item("", why)?;
            by_block.extend(without_path.losses);
        }
    }
    // Nearly all files have no such block, so their trees are not walked.
    if unused.is_empty() {
        return Ok(None);
    }
    let unreadable: HashSet<usize> = unused.iter().copied().collect();
    let mut named = HashSet::new();
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
        account.skip_item(&path.to_string(), why)?;
        named.insert(index);
        edit.delete(&path)?;
        walk.skip_children();
    }
    // Blocks that no array is in have no path.
    account.losses.extend(unused.iter().zip(by_block).filter(|(index, _)| !named.contains(*index)).map(|(index, mut loss)| {
        loss.message = format!("block {index}: {}", loss.message);
        loss
    }));
    without_items(file, edit).map(Some)
}
