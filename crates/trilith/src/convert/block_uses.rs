//! The arrays of a file that is to be converted: the block of each, and those that need a separate block.

use std::collections::{BTreeSet, HashMap};

use crate::array::{Array, Datatype};
use crate::asdf::ndarray::{ElementSource, Ndarray, ShapeDimension, check_complete, is_ndarray};
use crate::asdf::{AsdfFile, Target, chunked_array};
use crate::error::{Error, Result};
use crate::tree::{Node, TreePath};

use super::cast;
use super::loss::LossAccount;

/// An ndarray of the tree as written, and what becomes of it.
pub(super) struct ArrayUse<'t> {
    pub(super) node: Node<'t>,
    pub(super) path: TreePath,
    pub(super) ndarray: Ndarray<'t>,
    /// The block of this file that it is in.
    pub(super) block: Option<usize>,
    /// The datatype it gets, if that is another.
    pub(super) datatype: Option<Datatype>,
    /// The new `source`, if it changes.
    pub(super) source: Option<i64>,
    /// Elements of the array, if they are written into a separate block.
    pub(super) new_array: Option<Array>,
    /// `true` if its separate block is streamed.
    pub(super) streamed: bool,
}

/// The content of a block of the new file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockContent {
    /// The bytes of a block of this file.
    Block(usize),
    /// The elements of one ndarray: its number in the list of uses.
    Array(usize),
    /// No content: an empty block keeps the numbers of the blocks after it.
    Empty,
}

/// Lists every ndarray as written, in document order, and the blocks of those that stay unchanged: nodes that cannot be read as an
/// ndarray, and arrays in chunks.
pub(super) fn collect_array_uses<'t>(
    file: &'t AsdfFile,
    target: &Target,
    account: &mut LossAccount,
) -> Result<(Vec<ArrayUse<'t>>, BTreeSet<usize>)> {
    let (mut list, mut text) = (Vec::new(), 0);
    let mut unchanged = BTreeSet::new();
    let mut walk = file.tree().root().walk(file.limits()).without_merge();
    while let Some(visit) = walk.try_next()? {
        let node = visit.node;
        if node.is_alias() || !is_ndarray(node) {
            continue;
        }
        let described = match Ndarray::parse(node, file.limits()) {
            Ok(described) => described,
            Err(_) => {
                // An ndarray with a source must be complete, because no other file states the meaning of its elements.
                if node.get("source").is_some_and(|source| !source.is_null()) {
                    check_complete(node, file.limits()).map_err(|error| error.at_path(walk.path().to_string()))?;
                }
                add_blocks_of(file, node, &mut unchanged);
                continue;
            }
        };
        let path = walk.path();
        if let Some(assumption) = described.assumption {
            account.notes.push(format!("{path}: the array has {assumption}"));
        }
        file.limits().charge_text(&mut text, path.text_len(), "the paths of the arrays")?;
        let in_chunks = matches!(described.origin, ElementSource::Chunks(_));
        // The standards 1.x have these as an extension; what is outside of the file is nowhere else.
        if in_chunks && (target.standard.is_some() || described.datatype.is_none()) {
            add_blocks_of(file, node, &mut unchanged);
            continue;
        }
        let block = block_of(file, &described.origin);
        let datatype = match &described.datatype {
            Some(datatype) => cast::supported_datatype(datatype, target)?,
            None => None,
        };
        if let (Some(from), Some(to)) = (&described.datatype, &datatype) {
            account.add_loss(&path, cast::describe_cast(from, to));
        }
        let apart = match described.origin {
            ElementSource::Inline(_) => false,
            // An HDU of the FITS file around this one is left out.
            ElementSource::FitsHdu(_) => file.container().is_some(),
            ElementSource::Chunks(_) => true,
            _ => datatype.is_some(),
        };
        let own = if apart { Some(file.stored_array(node)?.without_mask().with_item_name("", &path.to_string())) } else { None };
        list.push(ArrayUse { node, path, ndarray: described, block, datatype, source: None, new_array: own, streamed: false });
    }
    Ok((list, unchanged))
}

/// Adds the blocks that a node refers to.
fn add_blocks_of(file: &AsdfFile, node: Node<'_>, blocks: &mut BTreeSet<usize>) {
    let source = node.get("source").and_then(|source| source.as_i64());
    blocks.extend(source.and_then(|number| file.sections().block(number).ok()).map(|block| block.index));
    blocks.extend(chunked_array::NamedBlocks::of_node(file, node).blocks);
}

/// Returns the number of the block of this file that an array is in, or the table of its chunks.
pub(super) fn block_of(file: &AsdfFile, origin: &ElementSource<'_>) -> Option<usize> {
    let number = match origin {
        ElementSource::Chunks(node) => node.get(chunked_array::BLOCK_MAP_KEY)?.as_i64()?,
        ElementSource::Block(number) => *number,
        _ => return None,
    };
    Some(file.sections().block(number).ok()?.index)
}

/// Returns the blocks of the new file: those of this one under their numbers, then the arrays that need a separate
/// one, the streamed one last. It sets the `source` of every use that changes. If the target has no `streams`,
/// every block has its place from the start. The blocks `unchanged` keep their bytes, because nodes that are not uses refer to them.
pub(super) fn allocate_blocks(
    file: &AsdfFile,
    uses: &mut [ArrayUse<'_>],
    unchanged: &BTreeSet<usize>,
    streams: bool,
) -> Result<Vec<BlockContent>> {
    let blocks = file.sections().all_blocks()?;
    // Arrays in chunks either all stay unchanged, or all get separate blocks.
    let in_chunks = chunked_array::NamedBlocks::of_tree(file, file.tree())?.blocks;
    let leave_chunks = uses.iter().any(|item| matches!(item.ndarray.origin, ElementSource::Chunks(_)));
    let (mut staying, mut left) = if leave_chunks { (BTreeSet::new(), in_chunks) } else { (in_chunks, BTreeSet::new()) };
    staying.extend(unchanged);
    left.retain(|block| !unchanged.contains(block));
    if let Some(lost) = uses.iter().filter_map(|item| item.block).find(|block| *block >= blocks.len()) {
        let found = format!("block {lost} is known from the index alone: the blocks before it are broken");
        return Err(Error::malformed(found).hint("repair the file first"));
    }
    let mut contents: Vec<BlockContent> = blocks.iter().map(|block| BlockContent::Block(block.index)).collect();
    let mut streamed = blocks.last().filter(|block| streams && block.is_streamed()).and_then(|_| contents.pop());
    let mut added = Vec::new();
    let mut users: HashMap<usize, Vec<usize>> = HashMap::new();
    for (place, item) in uses.iter().enumerate() {
        if let Some(block) = item.block {
            users.entry(block).or_default().push(place);
        }
    }
    for place in 0..uses.len() {
        let Some(current) = uses.get(place).filter(|item| item.new_array.is_some()) else { continue };
        let block = current.block;
        let users = block.and_then(|block| users.get(&block)).map_or(&[][..], Vec::as_slice);
        let all_leave = users.iter().all(|i| uses.get(*i).is_some_and(|u| u.new_array.is_some()));
        let is_open = current.ndarray.shape.as_ref().is_some_and(|shape| shape.first() == Some(&ShapeDimension::Streamed));
        let slot = block.and_then(|block| contents.get_mut(block));
        match slot {
            // The first of the arrays that leave a block takes its place.
            Some(slot) if all_leave && !block.is_some_and(|block| staying.contains(&block)) && users.first() == Some(&place) => {
                *slot = BlockContent::Array(place);
            }
            None if block.is_some_and(|block| !staying.contains(&block)) && users == [place] && is_open && streamed.is_some() => {
                streamed = Some(BlockContent::Array(place));
                if let Some(item) = uses.get_mut(place) {
                    item.streamed = true;
                }
            }
            _ => added.push(place),
        }
    }
    for slot in &mut contents {
        let is_used = |index: &usize| users.get(index).is_some_and(|users| !users.is_empty());
        if matches!(slot, BlockContent::Block(index) if left.contains(index) && !is_used(index)) {
            *slot = BlockContent::Empty;
        }
    }
    while contents.last() == Some(&BlockContent::Empty) {
        contents.pop();
    }
    let first = contents.len();
    for (i, place) in added.iter().enumerate() {
        if let Some(item) = uses.get_mut(*place) {
            item.source = Some((first + i) as i64);
        }
    }
    let last = streamed.map(|_| blocks.len().saturating_sub(1));
    for (place, item) in uses.iter_mut().enumerate() {
        let (ElementSource::Block(number), Some(block)) = (&item.ndarray.origin, item.block) else { continue };
        let stays = !added.contains(&place);
        // If blocks are added in between, only the streamed block is numbered from the end.
        if stays && (!added.is_empty() || !streams) && (*number < 0 || Some(block) == last) {
            let source = if Some(block) == last { -1 } else { block as i64 };
            item.source = Some(source).filter(|source| source != number);
        }
    }
    contents.extend(added.into_iter().map(BlockContent::Array));
    contents.extend(streamed);
    Ok(contents)
}
