//! Putting files together from blocks: explode, implode, repack.
//!
//! ASDF 1.x, "Exploded form". Blocks are copied as they are stored; in the tree only the `source` of
//! each ndarray changes, so that comments, tags and everything else survive.

mod explode;
mod part_names;
mod trim_blocks;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Seek, Write};
use std::sync::Arc;

use crate::asdf::{
    AsdfFile, Block, BlockOptions, ExpandOptions, ExpansionBudget, FileWriter, Generation, StoredBlock, TreeEvent, WriteOptions,
    chunked_array, expand_value, ndarray, walk,
};
use crate::bytes::{SourceRef, verify_backing};
use crate::codec::{self, CodecId};
use crate::diagnostic::Diagnostic;
use crate::error::{Error, ErrorKind, Result};
use crate::file::write_container;
use crate::limits::Limits;
use crate::tree::{Node, NodeId, Tree, TreePath, Value};
use crate::yaml::ValueBuilder;

pub use explode::ExplodePlan;
pub use part_names::RemovedParts;
pub(crate) use part_names::{PartNames, is_removable_part};
pub use trim_blocks::RepackPlan;

/// The source of an ndarray's elements after a file was assembled again.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum NewSource {
    /// A block of the file, by its number.
    Block(usize),
    /// The first block of another file, by its URI.
    External(String),
}

/// The codec of blocks that are copied into a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum BlockCodec {
    /// The codec that each block has: blocks are copied in their stored form.
    #[default]
    Keep,
    /// No codec: blocks are decoded.
    Uncompressed,
    /// A codec that each block is encoded with again.
    Use(CodecId),
}

/// The text of the tree with new sources for the ndarrays named.
///
/// # Errors
/// Returns the errors of [`Edit::finish`](crate::tree::Edit::finish).
pub fn with_sources(file: &AsdfFile, sources: &BTreeMap<NodeId, NewSource>) -> Result<String> {
    let nodes = walk::ndarrays_with_source(file)?;
    let new: Vec<_> = nodes.iter().filter_map(|(node, source)| Some((*source, sources.get(&node.id())?.clone()))).collect();
    tree_with_sources(file.tree(), file.limits(), &new).map(Tree::into_text)
}

/// A tree in which these nodes, the sources of ndarrays, say something else.
///
/// # Errors
/// Returns the errors of [`with_sources`].
pub(crate) fn tree_with_sources<'t>(tree: &'t Tree, limits: &Limits, sources: &[(Node<'t>, NewSource)]) -> Result<Tree> {
    let number = |new: &NewSource| if let NewSource::Block(number) = new { Some(*number as u64) } else { None };
    let numbers: Option<Vec<_>> = sources.iter().map(|(source, new)| Some((*source, number(new)?))).collect();
    if let Some(tree) = numbers.and_then(|numbers| tree.with_numbers(&numbers)) {
        return Ok(tree);
    }
    let mut edit = tree.edit();
    for (source, new) in sources {
        let value = match new {
            NewSource::Block(number) => Value::from(*number as u64),
            NewSource::External(uri) => Value::from(uri.as_str()),
        };
        edit.replace_node(*source, &value);
    }
    edit.finish(limits)
}

/// Writes a file of the same header line with this tree and these blocks, copied in their stored form.
///
/// A file without blocks takes the block header of the blocks it gets. A streamed block can only be the last;
/// before others it becomes one with sizes. A block that no block header of the header line can hold is decoded. If
/// `file` is in a FITS file, the FITS file is written around it ([`write_container`]).
///
/// Returns the damaged blocks: those that differ from the checksums that they state, and keep.
///
/// # Errors
/// Returns [`ErrorKind::Malformed`] if a damaged block has to be decoded, [`ErrorKind::Io`] if writing fails, and
/// an error if a block cannot be read.
pub fn write<W: Write + Seek>(
    file: &AsdfFile,
    tree: Option<&str>,
    blocks: &[(&AsdfFile, &Block)],
    out: W,
    options: &WriteOptions,
    codec: BlockCodec,
) -> Result<Vec<Diagnostic>> {
    let blocks: Vec<CopiedBlock<'_>> = blocks.iter().map(|(file, block)| CopiedBlock::FromFile(file, block)).collect();
    write_copied(file, tree, &blocks, out, options, codec)
}

/// The blocks that differ from the checksums which they state.
///
/// # Errors
/// Returns an error if a block cannot be read.
pub fn damaged<'a>(blocks: impl IntoIterator<Item = (&'a AsdfFile, &'a Block)>) -> Result<Vec<Diagnostic>> {
    let mut damaged = Vec::new();
    for (file, block) in blocks {
        match block.stored_source(file.sections().source()).and_then(|stored| verify_backing(&*stored)) {
            Err(error) if error.kind() == ErrorKind::Malformed => damaged.push(Diagnostic::loss_without_path(error.to_string())),
            done => done?,
        }
    }
    Ok(damaged)
}

/// A block that is copied as it is stored.
#[derive(Clone, Copy)]
pub(crate) enum CopiedBlock<'a> {
    /// A block of an existing file.
    FromFile(&'a AsdfFile, &'a Block),
    /// A block that is in no file yet.
    FromMemory(&'a StoredBlock),
}

impl<'a> CopiedBlock<'a> {
    fn block(self) -> &'a Block {
        match self {
            Self::FromFile(_, block) => block,
            Self::FromMemory(new) => &new.block,
        }
    }

    fn stored_source(self) -> Result<SourceRef> {
        match self {
            Self::FromFile(file, block) => block.stored_source(file.sections().source()),
            Self::FromMemory(new) => Ok(new.stored.clone()),
        }
    }

    fn decoded_source(self, limits: &Limits) -> Result<SourceRef> {
        match self {
            Self::FromFile(file, block) => file.block_data(block.index as i64),
            Self::FromMemory(new) => {
                codec::decoder(CodecId(new.block.compression), new.stored.clone(), new.block.data_size, limits)
            }
        }
    }

    /// Adds to an error of copying the block, the path of its array and the file.
    fn name_error(self, error: Error) -> Error {
        match self {
            Self::FromFile(file, block) => {
                walk::name_block_error(file, block.index, error).in_item(file.sections().source().name(), "")
            }
            Self::FromMemory(_) => error.context("a new block"),
        }
    }
}

/// Does the same as [`write`], also for blocks that are in no file yet.
pub(crate) fn write_copied<W: Write + Seek>(
    file: &AsdfFile,
    tree: Option<&str>,
    blocks: &[CopiedBlock<'_>],
    mut out: W,
    options: &WriteOptions,
    codec: BlockCodec,
) -> Result<Vec<Diagnostic>> {
    let _call = file.limits().call();
    // If no tree is given for a file that has one, the output is a part in a separate file.
    let is_whole = tree.is_some() || file.sections().tree().is_none();
    let has_blocks = !blocks.is_empty() || codec != BlockCodec::Keep;
    let mut damaged = Vec::new();
    let within = match is_whole {
        false => None,
        true => write_container(file, tree, has_blocks, &mut out, |asdf| {
            damaged = write_without_container(file, tree, blocks, asdf, options, codec)?;
            Ok(())
        })?,
    };
    if let Some(copied) = within {
        damaged.extend(copied);
        return Ok(damaged);
    }
    write_without_container(file, tree, blocks, out, options, codec)
}

fn write_without_container<W: Write + Seek>(
    file: &AsdfFile,
    tree: Option<&str>,
    blocks: &[CopiedBlock<'_>],
    out: W,
    options: &WriteOptions,
    codec: BlockCodec,
) -> Result<Vec<Diagnostic>> {
    let encodes = codec != BlockCodec::Keep;
    let row = generation_for(file, blocks, encodes);
    let row = row.ok_or_else(|| Error::unsupported("a file of an unknown generation"))?;
    let decoded = blocks.iter().map(|copied| copied.block()).filter(|block| encodes || !block.is_within(row));
    file.check_decoding(decoded)?;
    let mut writer = FileWriter::new(out, row, options.clone());
    writer.match_existing(file.sections())?;
    // A block in another file has "exactly the same content …, including the block header" (FINF, Exploded form).
    if let (None, Some(CopiedBlock::FromFile(other, _))) = (file.sections().first_block(), blocks.first()) {
        writer.set_magic(other.sections().is_as_documented()?);
    }
    let header = file.sections().header();
    writer.header_of_bytes(&header.line, &header.raw_comments, tree)?;
    writer.keep_unused(file.sections(), blocks.len())?;
    for (position, copied) in blocks.iter().enumerate() {
        let (block, named) = (copied.block(), |error| copied.name_error(error));
        let stored = copied.stored_source().map_err(named)?;
        if block.is_streamed() && position + 1 == blocks.len() {
            writer.copy_last_block(&stored, block)
        } else if encodes || !block.is_within(row) {
            let data = copied.decoded_source(file.limits()).map_err(named)?;
            let mut how = BlockOptions::default();
            how.codec = match codec {
                BlockCodec::Keep | BlockCodec::Uncompressed => None,
                BlockCodec::Use(id) => Some(id),
            };
            writer.block(&*data, &how)
        } else if let CopiedBlock::FromMemory(new) = copied {
            writer.write_stored_block(new)
        } else {
            writer.copy(&stored, block)
        }
        .map_err(named)?;
    }
    writer.finish()
}

/// The row of the generation table that a file with these blocks is written in: its own if it has blocks, else
/// that of the blocks, as far as they can be copied into it; otherwise any of its header line that holds them all.
fn generation_for(file: &AsdfFile, blocks: &[CopiedBlock<'_>], encodes: bool) -> Option<&'static Generation> {
    let sections = file.sections();
    let rows = &sections.header().candidate_generations;
    let own = sections.block(0).ok().map(|block| block.generation);
    if encodes && own.is_some() {
        return own;
    }
    let streams = blocks.last().is_some_and(|copied| copied.block().is_streamed());
    let holds_all = |row: &&'static Generation| {
        (!streams || row.fields.flags.is_some()) && blocks.iter().all(|copied| copied.block().is_within(row))
    };
    let of_blocks = blocks.iter().map(|copied| copied.block().generation).filter(|row| rows.contains(row));
    let found = own.into_iter().chain(of_blocks).find(holds_all);
    found.or_else(|| rows.iter().rev().copied().find(holds_all)).or(own).or_else(|| sections.generation())
}

/// An exploded file: the tree with external sources, and the file of each block.
#[derive(Debug)]
#[non_exhaustive]
pub struct ExplodedFile {
    /// The new tree.
    pub tree: String,
    /// The blocks that leave, and the names of their files.
    pub external_blocks: Vec<(usize, String)>,
    /// The blocks that stay, in their order, and empty ones in the places of those that leave if numbers
    /// must not change.
    pub kept_blocks: Vec<Block>,
    /// Number of these that no array names.
    pub unreferenced: usize,
    /// Number of these that belong to arrays in chunks, which name them by their numbers.
    pub in_chunks: usize,
}

/// The blocks of arrays in chunks.
fn chunk_blocks(file: &AsdfFile) -> Result<BTreeSet<usize>> {
    Ok(chunked_array::NamedBlocks::of_tree(file, file.tree())?.blocks)
}

/// The blocks of arrays in chunks; an error if others are to be dropped, which would change the numbers of these.
fn droppable_blocks(file: &AsdfFile, drop_unnamed: bool) -> Result<BTreeSet<usize>> {
    let named = chunked_array::NamedBlocks::of_tree(file, file.tree())?;
    if drop_unnamed && named.has_any {
        return Err(Error::unsupported("arrays in chunks name their blocks by number, so that none is dropped")
            .hint("keep the unused blocks"));
    }
    Ok(named.blocks)
}

/// Plans to move blocks into separate files, named by `name`: those of all ndarrays, or of one.
///
/// In the exploded form itself the file of the tree has no blocks. But blocks that no ndarray names stay in it, and
/// then the others keep their numbers, by which something else may name them (see [`walk::unreferenced_blocks`]). With
/// `drop_unnamed` they are left out.
///
/// # Errors
/// Returns [`ErrorKind::Malformed`] for an ndarray without block, [`ErrorKind::Unsupported`] if it is an array in
/// chunks that shall leave.
pub fn plan_explode(
    file: &AsdfFile,
    only: Option<NodeId>,
    drop_unnamed: bool,
    name: impl Fn(usize) -> String,
) -> Result<ExplodedFile> {
    let blocks = file.blocks_to_copy()?;
    if let Some(node) = only.and_then(|only| file.tree().node(only)).filter(|node| ndarray::is_chunked(*node)) {
        return Err(node
            .error("the array is in chunks, whose blocks are named by their numbers")
            .with_kind(ErrorKind::Unsupported));
    }
    let in_chunks = droppable_blocks(file, drop_unnamed)?;
    let mut unnamed = walk::fixed_number_blocks(file)?;
    let dropped = if drop_unnamed { std::mem::take(&mut unnamed) } else { BTreeSet::new() };
    let is_partial = only.is_some() || !unnamed.is_empty();
    let mut of_node = Vec::new();
    for (node, source) in walk::ndarrays_with_source(file)? {
        if let Some(number) = source.as_i64() {
            of_node.push((node.id(), file.sections().block(number)?.index));
        }
    }
    let mask_of = |id: NodeId| file.tree().node(id).and_then(|node| node.get("mask")).map(Node::id);
    let wanted = |id: &NodeId| only.is_none_or(|only| *id == only || mask_of(only) == Some(*id));
    let mut leaving: BTreeSet<usize> = of_node.iter().filter(|(id, _)| wanted(id)).map(|(_, block)| *block).collect();
    leaving.retain(|block| !in_chunks.contains(block));
    let mut staying: Vec<Block> = Vec::new();
    let last_unnamed = unnamed.last().copied();
    for block in blocks.into_iter().filter(|block| is_partial && !dropped.contains(&block.index)) {
        if !leaving.contains(&block.index) {
            staying.push(block.clone());
        } else if last_unnamed.is_some_and(|last| block.index < last) {
            staying.push(block.to_empty());
        }
    }
    let parts: BTreeMap<usize, usize> = leaving.iter().enumerate().map(|(position, index)| (*index, position)).collect();
    let places: BTreeMap<usize, usize> = staying.iter().enumerate().map(|(place, block)| (block.index, place)).collect();
    let mut sources = BTreeMap::new();
    for (id, block) in of_node {
        let new = match parts.get(&block) {
            Some(position) => NewSource::External(name(*position)),
            None => NewSource::Block(places.get(&block).copied().unwrap_or(block)),
        };
        sources.insert(id, new);
    }
    let leaving = leaving.into_iter().enumerate().map(|(position, index)| (index, name(position))).collect();
    let unnamed = unnamed.difference(&in_chunks).count();
    Ok(ExplodedFile {
        tree: with_sources(file, &sources)?,
        external_blocks: leaving,
        kept_blocks: staying,
        unreferenced: unnamed,
        in_chunks: in_chunks.len(),
    })
}

/// The tree and the blocks of a file with external blocks taken in.
#[derive(Debug)]
#[non_exhaustive]
pub struct ImplodedFile {
    /// The new tree.
    pub tree: String,
    /// Blocks that come from other files, after those of the file itself.
    pub blocks: Vec<Arc<AsdfFile>>,
}

/// Plans to take in the external blocks: all of them, or that of one ndarray.
///
/// # Errors
/// Returns [`ErrorKind::Limit`] for a source that is refused, and an error if it cannot be opened.
pub fn implode(file: &AsdfFile, only: Option<NodeId>) -> Result<ImplodedFile> {
    let own = file.blocks_to_copy()?.len();
    let mut taken: Vec<(String, Arc<AsdfFile>)> = Vec::new();
    let mut of_node = Vec::new();
    for (node, source) in walk::ndarrays_with_source(file)? {
        if source.as_i64().is_some() || only.is_some_and(|only| only != node.id()) {
            continue;
        }
        let uri = source.text().into_owned();
        if uri.starts_with("fits:") {
            continue;
        }
        if !taken.iter().any(|(known, _)| *known == uri) {
            taken.push((uri.clone(), file.external_files(&uri)?));
        }
        of_node.push((node.id(), uri));
    }
    // A streamed block can only be the last, so it goes to the end.
    taken.sort_by_key(|(_, other)| other.sections().block(0).is_ok_and(Block::is_streamed));
    let mut sources = BTreeMap::new();
    for (id, uri) in of_node {
        let position = taken.iter().position(|(known, _)| *known == uri).unwrap_or(0);
        sources.insert(id, NewSource::Block(own + position));
    }
    Ok(ImplodedFile { tree: with_sources(file, &sources)?, blocks: taken.into_iter().map(|(_, other)| other).collect() })
}

/// A tree with the targets of its references written in, and the blocks that came with them.
#[derive(Debug)]
#[non_exhaustive]
pub struct ResolvedTree {
    /// The new tree.
    pub tree: String,
    /// Blocks of other files, after those of the file itself.
    pub blocks: Vec<(Arc<AsdfFile>, usize)>,
    /// Number of references that were replaced.
    pub count: usize,
}

/// Plans to replace every `$ref` by its target. The rest of the text stays unchanged.
///
/// # Errors
/// Returns [`ErrorKind::Malformed`] for a reference that leads nowhere or into a circle, and [`ErrorKind::Limit`]
/// for one that is refused. Returns [`ErrorKind::Unsupported`] for one into a file of another family or major
/// version, whose nodes are written in other words.
pub fn resolve(file: &AsdfFile) -> Result<ResolvedTree> {
    let own = file.blocks_to_copy()?.len();
    let mut taken: Vec<(Arc<AsdfFile>, usize)> = Vec::new();
    let mut edit = file.tree().edit();
    let references = file.tree().references(file.limits())?;
    let root = walk::FoundNode::root(file);
    // All references share one budget, because each may lead to another.
    let mut budget = ExpansionBudget::from_limits(file);
    for (path, node) in &references {
        let target = walk::follow(file, &root.with_node(*node)).map_err(|e| e.at_path(path.to_string()))?;
        let mut build = BlockCollector { file, own_blocks: own, collected: &mut taken, path, open: Vec::new() };
        let mut how = ExpandOptions::default();
        (how.resolve, how.tags) = (true, true);
        let value = expand_value(file, &target, how, &mut budget, &mut |part, built| build.build_special_part(part, built));
        edit.set(path, &value.map_err(|e| e.at_path(path.to_string()))?)?;
    }
    // Nodes are copied verbatim, and have a meaning only in their own generation.
    let words =
        |file: &AsdfFile| file.sections().header().candidate_generations.first().map(|row| (row.family, row.major_version));
    let is_foreign = |other: &Arc<AsdfFile>| other.sections().tree().is_some() && words(other) != words(file);
    if let Some(other) = file.referenced_files().into_iter().find(is_foreign).filter(|_| !references.is_empty()) {
        let name = other.sections().source().name();
        let (theirs, ours) = (other.sections().generation_name(), file.sections().generation_name());
        return Err(Error::unsupported(format!(
            "cannot copy from {name}: it is of another version (expected {ours}, found {theirs})"
        ))
        .hint(format!("first convert {name} with trilith convert --to")));
    }
    Ok(ResolvedTree { tree: edit.finish(file.limits())?.into_text(), blocks: taken, count: references.len() })
}

/// Takes the blocks of other files along with the nodes that name them.
struct BlockCollector<'a> {
    file: &'a AsdfFile,
    own_blocks: usize,
    collected: &'a mut Vec<(Arc<AsdfFile>, usize)>,
    path: &'a TreePath,
    /// Open collections: for an ndarray of another file that file, otherwise `None`.
    open: Vec<Option<Arc<AsdfFile>>>,
}

impl BlockCollector<'_> {
    fn build_special_part(&mut self, part: &TreeEvent<'_>, built: &ValueBuilder) -> Result<Option<Value>> {
        match part {
            TreeEvent::Sequence(_) => self.open.push(None),
            TreeEvent::Mapping(node) => {
                let other = self.file.referenced_files().into_iter().find(|other| std::ptr::eq(other.tree(), node.tree()));
                let other = other.filter(|_| ndarray::is_ndarray(*node));
                if other.is_some() && ndarray::is_chunked(*node) {
                    let message = "an array in chunks is not taken out of another file: these are named by the numbers of blocks";
                    return Err(node.error(message).with_kind(ErrorKind::Unsupported));
                }
                self.open.push(other);
            }
            TreeEvent::End => {
                self.open.pop();
            }
            TreeEvent::Cycle(path) => return Ok(Some(Value::map([("$ref", format!("#{}{path}", self.path))]))),
            TreeEvent::Scalar(node) if built.next_key().and_then(Value::as_str) == Some("source") => {
                return self.take_source_block(*node);
            }
            _ => {}
        }
        Ok(None)
    }

    /// The source of an ndarray of another file becomes the block taken in, wherever that file has it.
    fn take_source_block(&mut self, node: Node<'_>) -> Result<Option<Value>> {
        let Some(Some(other)) = self.open.last() else { return Ok(None) };
        let (other, index) = match node.as_i64() {
            Some(number) => (other.clone(), other.sections().block(number)?.index),
            None => {
                let holder = other.external_files(&node.text())?;
                let index = holder.sections().block(0)?.index;
                (holder, index)
            }
        };
        let known = self.collected.iter().position(|(file, block)| Arc::ptr_eq(file, &other) && *block == index);
        let position = known.unwrap_or_else(|| {
            self.collected.push((other, index));
            self.collected.len() - 1
        });
        Ok(Some(Value::from((self.own_blocks + position) as u64)))
    }
}

/// The order of blocks in a file that is assembled again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum BlockOrder {
    /// The present order.
    #[default]
    Blocks,
    /// The order of the arrays in the tree, with an array's mask after it: reading the tree from top to bottom
    /// reads the file from front to back.
    Tree,
    /// The smallest first, so that small arrays are together near the tree and cost few requests.
    Size,
}

/// Returns the blocks of the file in the requested order, a streamed one last, and the tree with their new numbers.
///
/// If no array names some block ([`walk::unreferenced_blocks`]), every block keeps its number, unless `drop_unnamed` is set.
/// Blocks also keep their numbers if there are arrays in chunks. Otherwise empty blocks that no array names are left out.
///
/// # Errors
/// Returns [`ErrorKind::Malformed`] for an ndarray without block, [`ErrorKind::InvalidInput`] for another order if blocks
/// must keep their numbers, and [`ErrorKind::Unsupported`] if arrays in chunks require that.
pub fn reordered(file: &AsdfFile, order: BlockOrder, drop_unnamed: bool) -> Result<(String, Vec<usize>)> {
    let in_chunks = droppable_blocks(file, drop_unnamed)?;
    let unnamed = if drop_unnamed { 0 } else { walk::unreferenced_blocks(file)?.len() };
    if unnamed + in_chunks.len() > 0 {
        if order != BlockOrder::Blocks && !in_chunks.is_empty() {
            return Err(Error::unsupported("arrays in chunks name their blocks by number, so that these keep their order"));
        }
        if order != BlockOrder::Blocks {
            let message = format!("{unnamed} blocks are not named by any array, and may be named by number elsewhere");
            return Err(Error::invalid_input(message).hint("keep the order, or drop them"));
        }
        let all = file.sections().all_blocks()?;
        return Ok((file.tree().text().to_owned(), all.iter().map(|block| block.index).collect()));
    }
    let mut of_node = Vec::new();
    for (node, source) in walk::ndarrays_with_source(file)? {
        if let Some(number) = source.as_i64() {
            of_node.push((node.id(), number, file.sections().block(number)?));
        }
    }
    let mut kept: Vec<&Block> = Vec::new();
    let mut known = std::collections::HashSet::new();
    kept.extend(of_node.iter().map(|(.., block)| *block).filter(|block| known.insert(block.index)));
    match order {
        BlockOrder::Blocks => kept.sort_by_key(|block| block.index),
        BlockOrder::Tree => {}
        BlockOrder::Size => kept.sort_by_key(|block| (block.used, block.index)),
    }
    kept.sort_by_key(|block| block.is_streamed());
    let places: BTreeMap<usize, usize> = kept.iter().enumerate().map(|(place, block)| (block.index, place)).collect();
    let mut sources = BTreeMap::new();
    for (id, number, block) in of_node {
        // A streamed block keeps its -1.
        if let Some(place) = places.get(&block.index).filter(|_| number >= 0 || !block.is_streamed()) {
            sources.insert(id, NewSource::Block(*place));
        }
    }
    Ok((with_sources(file, &sources)?, kept.into_iter().map(|block| block.index).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn renumbered_text_eq_edited_text() {
        let limits = Limits::default();
        let renumber = |source: &str, by_edit: bool| {
            let text =
                format!("%TAG ! tag:stsci.edu:asdf/\n---\na: !core/ndarray-1.1.0\n  source: {source} # 3\n  shape: [3]\n...\n");
            let tree = Tree::parse(text, &limits).unwrap();
            let (_, node) = walk::collect_sourced(&tree, &limits).unwrap()[0];
            if by_edit {
                let mut edit = tree.edit();
                edit.replace_node(node, &Value::from(12u64));
                return Some(edit.finish(&limits).unwrap().into_text());
            }
            tree.with_numbers(&[(node, 12)]).map(Tree::into_text)
        };
        for plain in ["3", "0", "123456"] {
            assert_eq!(renumber(plain, false), renumber(plain, true), "{plain}");
        }
        for other in ["&n 3", "!!int 3", "'3'", "0x3", "03", "-1", "file.asdf"] {
            assert_eq!(renumber(other, false), None, "{other}");
        }
    }
}
