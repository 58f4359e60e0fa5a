//! Arrays of an ASDF file whose blocks cannot be decoded, left out when the caller asks for that.

use std::collections::HashSet;

use super::arrays::block_of;
use super::loss::skipped;
use super::{ConvertOptions, copies};
use crate::asdf::ndarray::{Ndarray, is_ndarray};
use crate::asdf::{AsdfFile, Block, Generation, Target};
use crate::diagnostic::Diagnostic;
use crate::error::{Error, Result};

/// Returns the reason if a block has to be decoded for the new file and cannot be. `row` is the generation that is
/// written, if it is another.
pub(super) fn reason(file: &AsdfFile, block: &Block, options: &ConvertOptions, row: Option<&Generation>) -> Option<Error> {
    let is_copied = match row {
        None => copies(block, options),
        Some(row) => options.codec == super::CodecChoice::Keep && block.codes == [0; 16] && block.fits_into(row),
    };
    if block.is_streamed() || is_copied {
        return None;
    }
    file.block_data(block.index as i64).err()
}

/// The same file without the arrays in blocks that cannot be decoded, and a loss for each of them; None if all can be.
///
/// # Errors
/// Returns the reason why an array cannot be read if [`ConvertOptions::skip_unreadable`] is not set.
pub(super) fn without(
    file: &AsdfFile,
    to: Option<&'static Target>,
    options: &ConvertOptions,
) -> Result<Option<(AsdfFile, Vec<Diagnostic>)>> {
    let row = to.map(|to| to.generation_as(options.write.as_documented));
    let (mut losses, mut named) = (Vec::new(), HashSet::new());
    let mut edit = file.tree().edit();
    let mut walk = file.tree().root().walk(file.limits()).as_written();
    while let Some(visit) = walk.step()? {
        let node = visit.node;
        if node.is_alias() || !is_ndarray(node) {
            continue;
        }
        let Ok(described) = Ndarray::read(node, file.limits()) else { continue };
        let block = block_of(file, &described.origin).and_then(|index| file.sections().block(index as i64).ok());
        let Some(why) = block.and_then(|block| reason(file, block, options, row)) else { continue };
        let path = walk.path();
        losses.push(skipped(&path.to_string(), why, options.skip_unreadable)?);
        named.extend(block.map(|block| block.index));
        edit.delete(&path)?;
        walk.skip_children();
    }
    // Blocks that no array is in; the name of an item is a path, theirs is a number.
    for block in file.sections().all_blocks()?.into_iter().filter(|block| !named.contains(&block.index)) {
        if let Some(why) = reason(file, block, options, row) {
            let mut loss = skipped("", why, options.skip_unreadable)?;
            loss.message = format!("block {}: {}", block.index, loss.message);
            losses.push(loss);
        }
    }
    if losses.is_empty() {
        return Ok(None);
    }
    let tree = edit.finish(file.limits())?;
    let rest = AsdfFile::open(file.sections().source().clone(), file.limits())?.with_tree(tree, file.resolver().clone());
    Ok(Some((rest, losses)))
}
