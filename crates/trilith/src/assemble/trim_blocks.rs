//! Blocks without the bytes before and after all arrays that are in them.
//!
//! A program that writes a view of a large array may store the whole array; the view is then a small part of its block.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Seek, Write};
use std::ops::Range;

use super::{BlockCodec, BlockOrder, CopiedBlock, chunk_blocks, reordered, write_copied};
use crate::asdf::{AsdfFile, Block, BlockOptions, StoredBlock, WriteOptions, walk};
use crate::bytes::{read_vec, verify_backing};
use crate::codec::{CodecId, opt_codec};
use crate::diagnostic::Diagnostic;
use crate::error::{ErrorKind, Result};
use crate::tree::{Node, Tree, TreePath, Value};

/// Fewer bytes are not worth a block that is not what it was.
const MIN_SAVED_BYTES: u64 = 4096;
/// Bytes that are read at once.
const BUFFER_SIZE: u64 = 4 << 20;

/// A file whose blocks are in another order, and without the bytes that no array needs.
#[derive(Debug)]
pub struct RepackPlan<'f> {
    file: &'f AsdfFile,
    tree: String,
    kept: Vec<usize>,
    cropped: BTreeMap<usize, StoredBlock>,
}

impl<'f> RepackPlan<'f> {
    /// Finds the blocks in an order ([`reordered`]). A block of which arrays need only a part, at least 4 KiB less, loses the
    /// rest, and the arrays get other offsets.
    ///
    /// # Errors
    /// Returns the errors of [`reordered`], and an error if a block that gets shorter cannot be read.
    pub fn plan(file: &'f AsdfFile, order: BlockOrder, drop_unnamed: bool) -> Result<Self> {
        file.blocks_to_copy()?;
        let (tree, kept) = reordered(file, order, drop_unnamed)?;
        let limits = file.limits();
        let _call = limits.call();
        let (mut cropped, mut moved) = (BTreeMap::new(), Vec::new());
        for (block, arrays) in used_ranges(file)? {
            let Some((made, offsets)) = trim(file, block, &arrays)? else { continue };
            cropped.insert(block.index, made);
            moved.extend(offsets);
        }
        if moved.is_empty() {
            return Ok(Self { file, tree, kept, cropped });
        }
        let parsed = Tree::parse(&tree, limits)?;
        let mut edit = parsed.edit();
        for (path, offset) in moved {
            edit.set(&path, &Value::from(offset))?;
        }
        let tree = edit.finish(limits)?.into_text();
        Ok(Self { file, tree, kept, cropped })
    }

    /// Returns the number of blocks.
    pub fn len(&self) -> usize {
        self.kept.len()
    }

    /// Returns `true` if there are no blocks.
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// Returns the number of blocks that are shorter than before.
    pub fn cropped(&self) -> usize {
        self.cropped.len()
    }

    /// Writes the file, as [`super::write`] does.
    ///
    /// # Errors
    /// Returns the errors of [`super::write`].
    pub fn write<W: Write + Seek>(&self, out: W, options: &WriteOptions, codec: BlockCodec) -> Result<Vec<Diagnostic>> {
        let all = self.file.sections().all_blocks()?;
        let block = |index: &usize| match self.cropped.get(index) {
            Some(new) => Some(CopiedBlock::FromMemory(new)),
            None => all.get(*index).map(|block| CopiedBlock::FromFile(self.file, block)),
        };
        let blocks: Vec<CopiedBlock<'_>> = self.kept.iter().filter_map(block).collect();
        let tree = self.file.sections().tree().map(|_| self.tree.as_str());
        write_copied(self.file, tree, &blocks, out, options, codec)
    }
}

/// A shorter block, and the paths of offsets in the tree with what they become.
type TrimmedBlock = (StoredBlock, Vec<(TreePath, u64)>);

/// Returns a block as short as its arrays allow, and the offsets that change in the tree; None if it stays as it is.
fn trim(file: &AsdfFile, block: &Block, arrays: &[(Node<'_>, Range<u64>)]) -> Result<Option<TrimmedBlock>> {
    let limits = file.limits();
    let start = arrays.iter().map(|(_, range)| range.start).min().unwrap_or(0);
    let end = arrays.iter().map(|(_, range)| range.end).max().unwrap_or(0);
    if block.data_size.saturating_sub(end - start) < MIN_SAVED_BYTES {
        return Ok(None);
    }
    match block.stored_source(file.sections().source()).and_then(|stored| verify_backing(&*stored)) {
        // A damaged block is copied, and reported.
        Err(error) if error.kind() == ErrorKind::Malformed => return Ok(None),
        checked => checked?,
    }
    let mut offsets = Vec::with_capacity(arrays.len());
    for (node, _) in arrays {
        let Some(path) = file.tree().path_of(node.id()) else { return Ok(None) };
        let offset = node.get("offset").and_then(Node::as_i64).and_then(|n| u64::try_from(n).ok()).unwrap_or(0);
        let Some(offset) = offset.checked_sub(start) else { return Ok(None) };
        if offset > 0 || node.get("offset").is_some() {
            offsets.push((path.join("offset"), offset));
        }
    }
    let mut how = BlockOptions::default();
    how.codec = Some(CodecId(block.compression)).filter(|codec| !codec.is_none());
    let data = file.block_data(block.index as i64)?;
    limits.charge_work(end - start)?;
    let made = StoredBlock::encode_pieces(block.generation, &how, |take| {
        let mut at = start;
        while at < end {
            let len = BUFFER_SIZE.min(end - at);
            take(&read_vec(&*data, at, len, limits)?)?;
            at += len;
        }
        Ok(())
    })?;
    Ok(Some((made, offsets)))
}

/// A block, and its arrays with the bytes of each.
type UsedBlock<'f> = (&'f Block, Vec<(Node<'f>, Range<u64>)>);

/// The blocks that may become shorter: those that nothing but ndarrays names, with the bytes of each of these.
fn used_ranges(file: &AsdfFile) -> Result<Vec<UsedBlock<'_>>> {
    let mut kept: BTreeSet<usize> = chunk_blocks(file)?;
    let (mut sources, mut arrays) = (BTreeSet::new(), BTreeMap::<usize, UsedBlock<'_>>::new());
    for (node, source) in walk::ndarrays_with_source(file)? {
        sources.insert(source.id());
        let Some(block) = source.as_i64().and_then(|number| file.sections().block(number).ok()) else { continue };
        match file.unmasked_array(node) {
            Ok(array) => arrays.entry(block.index).or_insert_with(|| (block, Vec::new())).1.push((node, array.byte_range())),
            Err(_) => drop(kept.insert(block.index)),
        }
    }
    // Objects of other tags may name a block, too.
    let tree = file.tree();
    for node in (0..tree.node_count()).filter_map(|number| tree.node_at(number)).filter(|node| node.is_mapping()) {
        let named = node.get("source").filter(|source| !sources.contains(&source.id())).and_then(Node::as_i64);
        kept.extend(named.and_then(|number| file.sections().block(number).ok()).map(|block| block.index));
    }
    let may_crop = |block: &Block| {
        let codec = CodecId(block.compression);
        let is_chain = file.encoding_names(block).is_some();
        !is_chain && !kept.contains(&block.index) && !block.is_streamed() && (codec.is_none() || opt_codec(codec).is_some())
    };
    Ok(arrays.into_values().filter(|(block, _)| may_crop(block)).collect())
}
