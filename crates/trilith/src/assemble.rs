//! Putting files together from blocks: explode, implode, repack.
//!
//! ASDF 1.x, "Exploded form". Blocks are copied as they are stored; in the tree only the `source` of
//! each ndarray changes, so that comments, tags and everything else survive.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Seek, Write};
use std::sync::Arc;

use crate::asdf::{AsdfFile, Block, BlockOptions, ExpandOptions, FileWriter, Part, WriteOptions, ndarray, walk};
use crate::asdf::{Expansion, expand_within};
use crate::codec::CodecId;
use crate::error::{Context, Error, Result};
use crate::limits::Limits;
use crate::tree::{Node, NodeId, Tree, TreePath, Value};

/// Where an ndarray finds its elements after a file was put together anew.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NewSource {
    /// In block so-and-so of the file.
    Block(usize),
    /// In the first block of another file.
    External(String),
}

/// The text of the tree with new sources for the ndarrays named.
///
/// # Errors
/// [`Kind::Usage`](crate::Kind::Usage) where two changes touch the same bytes.
pub fn with_sources(file: &AsdfFile, sources: &BTreeMap<NodeId, NewSource>) -> Result<String> {
    tree_with_sources(file.tree(), file.limits(), sources)
}

/// As [`with_sources`], of a tree.
///
/// # Errors
/// As [`with_sources`].
pub fn tree_with_sources(tree: &Tree, limits: &Limits, sources: &BTreeMap<NodeId, NewSource>) -> Result<String> {
    let mut edit = tree.edit();
    for (node, source) in walk::sourced_in(tree, limits)? {
        match sources.get(&node.id()) {
            Some(NewSource::Block(number)) => edit.replace_node(source, &Value::from(*number as u64)),
            Some(NewSource::External(uri)) => edit.replace_node(source, &Value::from(uri.as_str())),
            None => {}
        }
    }
    edit.text()
}

/// Writes a file of the same generation with this tree and these blocks, copied as they are stored.
///
/// A streamed block can only be the last; before others it becomes one with sizes.
///
/// # Errors
/// [`Kind::Io`](crate::Kind::Io), and what reading the blocks says.
pub fn write<W: Write + Seek>(
    file: &AsdfFile,
    tree: Option<&str>,
    blocks: &[(&AsdfFile, &Block)],
    out: W,
    options: &WriteOptions,
    codec: Option<Option<CodecId>>,
) -> Result<()> {
    let generation = file.sections().generation().ok_or_else(|| Error::unsupported("a file of an unknown generation"))?;
    let mut writer = FileWriter::new(out, generation, options.clone());
    let header = file.sections().header();
    writer.header(&header.line, &header.comments, tree)?;
    for (position, (from, block)) in blocks.iter().enumerate() {
        let doing = || format!("block {} of {}", block.index, from.sections().source().name());
        let stored = block.stored(from.sections().source()).doing(doing)?;
        if block.is_streamed() {
            let mut how = BlockOptions::default();
            how.streamed = position + 1 == blocks.len();
            writer.block(&*stored, &how)
        } else if let Some(codec) = codec {
            let data = from.block_data(block.index as i64).doing(doing)?;
            let mut how = BlockOptions::default();
            how.codec = codec;
            writer.block(&*data, &how)
        } else {
            writer.copy(&*stored, block)
        }
        .doing(doing)?;
    }
    writer.finish()
}

/// A file cut up: the tree with external sources, and which block goes into which file.
#[derive(Debug)]
pub struct Exploded {
    /// The new tree.
    pub tree: String,
    /// The blocks that leave, and the names of their files.
    pub leaving: Vec<(usize, String)>,
    /// The blocks that stay, in their order, and empty ones in the places of those that leave where numbers
    /// must not change.
    pub staying: Vec<Block>,
}

/// Plans to move blocks into files of their own, named by `name`: those of all ndarrays, or of one.
///
/// Blocks that no ndarray names stay, and then all that stay keep their numbers: see [`walk::unnamed`].
///
/// # Errors
/// [`Kind::Malformed`](crate::Kind::Malformed) for an ndarray without block.
pub fn explode(file: &AsdfFile, only: Option<NodeId>, name: impl Fn(usize) -> String) -> Result<Exploded> {
    let blocks = file.sections().all_blocks()?;
    let mut of_node = Vec::new();
    for (node, source) in walk::sourced(file)? {
        if let Some(number) = source.as_i64() {
            of_node.push((node.id(), file.sections().block(number)?.index));
        }
    }
    let mask_of = |id: NodeId| file.tree().node(id).and_then(|node| node.get("mask")).map(Node::id);
    let wanted = |id: &NodeId| only.is_none_or(|only| *id == only || mask_of(only) == Some(*id));
    let named: BTreeSet<usize> = of_node.iter().filter(|(id, _)| wanted(id)).map(|(_, block)| *block).collect();
    let leaving: Vec<usize> = named.into_iter().collect();
    let mut staying: Vec<Block> = Vec::new();
    let last_unnamed = walk::unnamed(file)?.last().copied();
    for block in blocks {
        if !leaving.contains(&block.index) {
            staying.push(block.clone());
        } else if last_unnamed.is_some_and(|last| block.index < last) {
            staying.push(block.emptied());
        }
    }
    let mut sources = BTreeMap::new();
    for (id, block) in of_node {
        let new = match leaving.iter().position(|index| *index == block) {
            Some(position) => NewSource::External(name(position)),
            None => NewSource::Block(staying.iter().position(|stays| stays.index == block).unwrap_or(block)),
        };
        sources.insert(id, new);
    }
    let leaving = leaving.into_iter().enumerate().map(|(position, index)| (index, name(position))).collect();
    Ok(Exploded { tree: with_sources(file, &sources)?, leaving, staying })
}

/// The tree and the blocks of a file with external blocks taken in.
#[derive(Debug)]
pub struct Imploded {
    /// The new tree.
    pub tree: String,
    /// Blocks that come from other files, behind those of the file itself.
    pub taken: Vec<Arc<AsdfFile>>,
}

/// Plans to take in the external blocks: all of them, or that of one ndarray.
///
/// # Errors
/// [`Kind::Limit`](crate::Kind::Limit) for a source that is refused, and as opening it.
pub fn implode(file: &AsdfFile, only: Option<NodeId>) -> Result<Imploded> {
    let own = file.sections().all_blocks()?.len();
    let mut taken: Vec<(String, Arc<AsdfFile>)> = Vec::new();
    let mut of_node = Vec::new();
    for (node, source) in walk::sourced(file)? {
        if source.as_i64().is_some() || only.is_some_and(|only| only != node.id()) {
            continue;
        }
        let uri = source.text().into_owned();
        if uri.starts_with("fits:") {
            continue;
        }
        if !taken.iter().any(|(known, _)| *known == uri) {
            taken.push((uri.clone(), file.external(&uri)?));
        }
        of_node.push((node.id(), uri));
    }
    // A streamed block can only be the last: it goes behind the others.
    taken.sort_by_key(|(_, other)| other.sections().block(0).is_ok_and(Block::is_streamed));
    let mut sources = BTreeMap::new();
    for (id, uri) in of_node {
        let position = taken.iter().position(|(known, _)| *known == uri).unwrap_or(0);
        sources.insert(id, NewSource::Block(own + position));
    }
    Ok(Imploded { tree: with_sources(file, &sources)?, taken: taken.into_iter().map(|(_, other)| other).collect() })
}

/// A tree with the targets of its references written in, and the blocks that came with them.
#[derive(Debug)]
pub struct Resolved {
    /// The new tree.
    pub tree: String,
    /// Blocks of other files, behind those of the file itself.
    pub taken: Vec<(Arc<AsdfFile>, usize)>,
    /// How many references were replaced.
    pub count: usize,
}

/// Plans to write the target of every `$ref` in its place; everything else of the text stays.
///
/// # Errors
/// [`Kind::Malformed`](crate::Kind::Malformed) for a reference that leads nowhere or into a circle,
/// [`Kind::Limit`](crate::Kind::Limit) for one that is refused.
pub fn resolve(file: &AsdfFile) -> Result<Resolved> {
    let own = file.sections().all_blocks()?.len();
    let mut taken: Vec<(Arc<AsdfFile>, usize)> = Vec::new();
    let mut edit = file.tree().edit();
    let references = file.tree().references(file.limits())?;
    let root = walk::Found::root(file);
    // One for all references together: each may lead to another.
    let mut budget = Expansion::of(file);
    for (path, node) in &references {
        let target = walk::follow(file, &root.with(*node)).map_err(|e| e.at_path(path.to_string()))?;
        let mut build = Build { file, own, taken: &mut taken, path, open: Vec::new(), done: None };
        let mut how = ExpandOptions::default();
        (how.resolve, how.tags) = (true, true);
        expand_within(file, &target, how, &mut budget, &mut |part| build.take(part)).map_err(|e| e.at_path(path.to_string()))?;
        let value = build.done.take().unwrap_or_default();
        edit.set(path, &value)?;
    }
    Ok(Resolved { tree: edit.text()?, taken, count: references.len() })
}

/// Makes a value of the parts of an expanded tree.
struct Build<'a> {
    file: &'a AsdfFile,
    own: usize,
    taken: &'a mut Vec<(Arc<AsdfFile>, usize)>,
    path: &'a TreePath,
    /// Collections that are not complete, each with the key of what comes next and whether it is an ndarray of another file.
    open: Vec<(Value, Option<Value>, Option<Arc<AsdfFile>>)>,
    done: Option<Value>,
}

impl Build<'_> {
    fn take(&mut self, part: Part<'_>) -> Result<()> {
        let with_tag = |value: Value, node: Node<'_>| match node.tag() {
            Some(tag) => value.tagged(tag),
            None => value,
        };
        let value = match part {
            Part::Sequence(node) => {
                self.open.push((with_tag(Value::seq::<Value>([]), node), None, None));
                return Ok(());
            }
            Part::Mapping(node) => {
                let other = self.file.opened().into_iter().find(|other| std::ptr::eq(other.tree(), node.tree()));
                let other = other.filter(|_| ndarray::is_ndarray(node));
                self.open.push((with_tag(Value::map::<&str, Value>([]), node), None, other));
                return Ok(());
            }
            Part::Key(node) => {
                if let Some((_, key, _)) = self.open.last_mut() {
                    *key = Some(node.to_value(self.file.limits())?);
                }
                return Ok(());
            }
            Part::End => match self.open.pop() {
                Some((value, ..)) => value,
                None => return Ok(()),
            },
            Part::Cycle(path) => Value::map([("$ref", format!("#{}{path}", self.path))]),
            Part::Scalar(node) => self.scalar(node)?,
            // Arrays and integers are only written out where that was asked for.
            Part::Array(node, _) | Part::Integer(node, _) => node.to_value(self.file.limits())?,
        };
        match self.open.last_mut() {
            Some((outer, key, _)) => match key.take() {
                Some(key) => outer.push_pair(key, value),
                None => outer.push(value),
            },
            None => self.done = Some(value),
        }
        Ok(())
    }

    /// A scalar; the block number of an ndarray of another file becomes that of the block taken in.
    fn scalar(&mut self, node: Node<'_>) -> Result<Value> {
        let value = node.to_value(self.file.limits())?;
        let Some((_, Some(key), Some(other))) = self.open.last() else { return Ok(value) };
        let (Some("source"), Some(number)) = (key.as_str(), node.as_i64()) else { return Ok(value) };
        let other = other.clone();
        let index = other.sections().block(number)?.index;
        let known = self.taken.iter().position(|(file, block)| Arc::ptr_eq(file, &other) && *block == index);
        let position = known.unwrap_or_else(|| {
            self.taken.push((other, index));
            self.taken.len() - 1
        });
        Ok(Value::from((self.own + position) as u64))
    }
}

/// The order of blocks in a file that is put together anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// As they are.
    #[default]
    Blocks,
    /// That of the arrays in the tree, an array's mask behind it: who reads the tree from top to bottom reads
    /// the file from front to back.
    Tree,
    /// The smallest first, so that small arrays lie together near the tree and cost few requests.
    Size,
}

/// The blocks of the file in the order asked for, a streamed one the last, and the tree with their new numbers.
///
/// Where there are blocks that no ndarray names ([`walk::unnamed`]) every block is kept under its number, unless
/// `drop_unnamed` says that they are of no use. Empty blocks without a name are left out otherwise.
///
/// # Errors
/// [`Kind::Malformed`](crate::Kind::Malformed) for an ndarray without block, and
/// [`Kind::Usage`](crate::Kind::Usage) for another order where blocks must keep their numbers.
pub fn reordered(file: &AsdfFile, order: Order, drop_unnamed: bool) -> Result<(String, Vec<usize>)> {
    let unnamed = if drop_unnamed { 0 } else { walk::unnamed(file)?.len() };
    if unnamed > 0 {
        if order != Order::Blocks {
            let message = format!("{unnamed} blocks are named by no array: what else names them by number is not known");
            return Err(Error::usage(message).hint("keep the order, or drop them"));
        }
        let all = file.sections().all_blocks()?;
        return Ok((file.tree().text().to_owned(), all.iter().map(|block| block.index).collect()));
    }
    let mut of_node = Vec::new();
    for (node, source) in walk::sourced(file)? {
        if let Some(number) = source.as_i64() {
            of_node.push((node.id(), number, file.sections().block(number)?));
        }
    }
    let mut kept: Vec<&Block> = Vec::new();
    let mut known = std::collections::HashSet::new();
    kept.extend(of_node.iter().map(|(.., block)| *block).filter(|block| known.insert(block.index)));
    match order {
        Order::Blocks => kept.sort_by_key(|block| block.index),
        Order::Tree => {}
        Order::Size => kept.sort_by_key(|block| (block.used, block.index)),
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
