//! Arrays cut into chunks, each in a separate block: the form of the extension asdf-zarr.
//!
//! The chunks go after all existing blocks, so that these keep their numbers, and the block of the array becomes
//! the map that names its chunks.

use std::collections::{BTreeMap, HashMap};
use std::io::{Seek, Write};
use std::sync::Arc;

use super::{BlockHint, CodecChoice, ConvertOptions, ConvertReport, block_hints, choose, is_copied_verbatim, write_old};
use crate::array::{Array, Byteorder, Datatype, Index, numpy_descr, unravel};
use crate::asdf::ndarray::{self, ElementSource, Ndarray};
use crate::asdf::{AsdfFile, Block, BlockOptions, FileWriter, TARGETS, chunked_array, walk};
use crate::bytes::{MemorySource, to_usize};
use crate::codec::{CodecId, opt_codec};
use crate::error::{Error, Result, count_noun};
use crate::limits::Limits;
use crate::progress::Progress;
use crate::tree::{Edit, Node, TreePath, Value};

/// An array that is to be cut.
struct ChunkedArray {
    array: Array,
    /// The lengths of a chunk.
    chunk: Vec<u64>,
    /// Number of chunks along each axis.
    counts: Vec<u64>,
    /// The number of the block of its first chunk, and how many there are.
    first_block: usize,
    count: usize,
    codec: Option<CodecId>,
}

/// The changes of a file.
struct ChunkingPlan {
    tree: String,
    /// Arrays that are cut, by the number of the block that holds each.
    arrays: BTreeMap<usize, ChunkedArray>,
    notes: Vec<String>,
}

/// Refuses what has no chunks, whatever the file holds.
pub(super) fn check_chunk_options(options: &ConvertOptions) -> Result<()> {
    let Some(lengths) = &options.chunks else { return Ok(()) };
    if lengths.is_empty() || lengths.contains(&0) {
        return Err(Error::invalid_input(format!("chunks of {lengths:?}, expected the length of a chunk along each axis")));
    }
    if options.rows.is_some() || options.encode.is_some() {
        return Err(Error::invalid_input("chunks exclude pieces of whole rows and encoding chains").hint("choose one of them"));
    }
    if !options.to.supports_chunks() {
        return Err(Error::invalid_input("only files of ASDF 1.x have arrays in chunks").hint("name the output .asdf"));
    }
    Ok(())
}

/// Writes `file` with the arrays in chunks that have as many axes as `options.chunks` has lengths. Blocks that keep their codec have that
/// of `codecs`, if it names one.
///
/// # Errors
/// Returns the errors of [`super::convert`], and [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for a file of
/// another generation than ASDF 1.x.
pub(super) fn convert_to_chunks<W: Write + Seek>(
    file: &AsdfFile,
    codecs: &HashMap<usize, CodecId>,
    lengths: &[u64],
    out: W,
    options: &ConvertOptions,
    progress: Progress<'_>,
) -> Result<ConvertReport> {
    let _call = file.limits().call();
    let sections = file.sections();
    let generation = sections.generation().filter(|row| row.name == "asdf-1.x");
    let generation = generation.ok_or_else(|| {
        Error::invalid_input(format!("a file of {} has no arrays in chunks", sections.generation_name()))
            .hint("convert it to ASDF 1.x with --to as well")
    })?;
    let cuts = ChunkingPlan::plan_chunking(file, codecs, lengths)?;
    let with_codec = |id: &CodecId| ConvertOptions { codec: CodecChoice::Fixed(*id), ..options.clone() };
    let kept = codecs.iter().filter(|_| options.codec == CodecChoice::Keep);
    let kept: HashMap<usize, ConvertOptions> = kept.map(|(index, id)| (*index, with_codec(id))).collect();
    let options_of = |block: &Block| kept.get(&block.index).unwrap_or(options);
    let blocks = sections.all_blocks()?;
    file.check_decoding(
        blocks
            .iter()
            .copied()
            .filter(|block| cuts.arrays.contains_key(&block.index) || !is_copied_verbatim(block, options_of(block))),
    )?;
    let hints = block_hints(file)?;
    let mut writer = FileWriter::new(out, generation, options.write_options.clone());
    writer.match_existing(sections)?;
    writer.header_of_bytes(
        &sections.header().line,
        &sections.header().raw_comments,
        sections.tree().map(|_| cuts.tree.as_str()),
    )?;
    writer.keep_unused(sections, blocks.len() + cuts.arrays.values().map(|cut| cut.count).sum::<usize>())?;
    let mut done = ConvertReport { notes: cuts.notes.clone(), ..ConvertReport::default() };
    let (streamed, sized): (Vec<_>, Vec<_>) = blocks.into_iter().partition(|block| block.is_streamed());
    for block in sized {
        match cuts.arrays.get(&block.index) {
            Some(cut) => {
                let too_many = || Error::invalid_input("more chunks than a map has numbers for");
                let map = chunked_array::block_map(cut.first_block, cut.count).ok_or_else(too_many)?;
                let written = writer.block(&MemorySource::new(map, "a map"), &BlockOptions::default())?;
                done.count_block(&written);
            }
            None => write_old(file, &mut writer, block, options_of(block), &hints, &mut done, progress)?,
        }
    }
    // Chunks were numbered in the order of the tree.
    let mut in_order: Vec<_> = cuts.arrays.iter().collect();
    in_order.sort_by_key(|(_, cut)| cut.first_block);
    for (block, cut) in in_order {
        cut.write_chunks(&mut writer, options, hints.get(block), &mut done, progress)
            .map_err(|error| walk::name_block_error(file, *block, error))?;
    }
    for block in streamed {
        write_old(file, &mut writer, block, options, &hints, &mut done, progress)?;
    }
    done.losses.extend(writer.finish()?);
    Ok(done)
}

impl ChunkingPlan {
    /// Returns the arrays that are cut, and the tree that names their maps.
    fn plan_chunking(file: &AsdfFile, codecs: &HashMap<usize, CodecId>, lengths: &[u64]) -> Result<Self> {
        let blocks = file.sections().all_blocks()?;
        let streamed = blocks.last().filter(|block| block.is_streamed());
        let mut next = blocks.len() - usize::from(streamed.is_some());
        let (mut edit, mut notes, mut arrays) = (file.tree().edit(), Vec::new(), BTreeMap::new());
        let users = block_users(file)?;
        let mut walk = file.tree().root().walk(file.limits()).without_merge();
        while let Some(visit) = walk.try_next()? {
            let node = visit.node;
            if node.is_alias() || !ndarray::is_ndarray(node) {
                continue;
            }
            // A mask stays what it is.
            walk.skip_children();
            let path = walk.path();
            let (block, array) = match classify_array(file, node, lengths.len(), &users)? {
                Candidate::OtherRank => continue,
                Candidate::Skipped(why) => {
                    notes.push(format!("{path} stays unchanged: {why}"));
                    continue;
                }
                Candidate::WholeBlock(block, array) => (block, array),
            };
            let old = codecs.get(&block).copied().unwrap_or(CodecId(file.sections().block(block as i64)?.compression));
            let cut = ChunkedArray::new(array, old, lengths, next)?;
            edit.set(&path, &chunked_array::build_zarr_node(cut.array.datatype(), cut.array.shape(), &cut.chunk, block)?)?;
            next += cut.count;
            arrays.insert(block, cut);
        }
        if arrays.is_empty() {
            let axes = if lengths.len() == 1 { "1 axis".to_owned() } else { format!("{} axes", lengths.len()) };
            notes.push(format!("nothing is in chunks: there is no array with {axes} that has a separate block"));
            return Ok(Self { tree: file.tree().text().to_owned(), arrays, notes });
        }
        notes.push(format!("{} in chunks: readers need the package asdf-zarr, or Trilith", count_noun(arrays.len(), "array")));
        for (_, source) in walk::ndarrays_with_source(file)? {
            let number = source.as_i64().filter(|number| *number >= 0).and_then(|number| usize::try_from(number).ok());
            if number.is_some() && number == streamed.map(|block| block.index) {
                edit.replace_node(source, &Value::from(-1));
            }
        }
        name_extension(file, &mut edit)?;
        Ok(Self { tree: edit.finish(file.limits())?.into_text(), arrays, notes })
    }
}

/// Returns for each block the number of arrays with elements in it.
fn block_users(file: &AsdfFile) -> Result<HashMap<usize, usize>> {
    let mut users = HashMap::new();
    for (_, source) in walk::ndarrays_with_source(file)? {
        if let Some(block) = source.as_i64().and_then(|number| file.sections().block(number).ok()) {
            *users.entry(block.index).or_default() += 1;
        }
    }
    for block in chunked_array::NamedBlocks::of_tree(file, file.tree())?.blocks {
        *users.entry(block).or_default() += 1;
    }
    Ok(users)
}

/// An array that can be cut, or the reason why it cannot.
enum Candidate {
    /// An array with another number of axes, or one that cannot be read.
    OtherRank,
    /// An array that cannot be cut, with the reason.
    Skipped(String),
    /// An array that can be cut and fills the block of this number.
    WholeBlock(usize, Array),
}

fn classify_array(file: &AsdfFile, node: Node<'_>, axes: usize, users: &HashMap<usize, usize>) -> Result<Candidate> {
    let left = |why: &str| Ok(Candidate::Skipped(why.to_owned()));
    let Ok(described) = Ndarray::parse(node, file.limits()) else { return Ok(Candidate::OtherRank) };
    if described.shape.as_ref().is_none_or(|shape| shape.len() != axes) {
        return Ok(Candidate::OtherRank);
    }
    let number = match described.origin {
        ElementSource::Block(number) => number,
        ElementSource::Chunks(_) => return left("it is in chunks already"),
        ElementSource::Inline(_) => return left("its elements are in the tree"),
        ElementSource::External(_) | ElementSource::FitsHdu(_) => return left("it is in another file"),
    };
    let block = file.sections().block(number)?;
    if described.mask.is_some() {
        return left("it has a mask, and Zarr arrays have none");
    }
    if block.is_streamed() {
        return left("it is streamed");
    }
    if users.get(&block.index).is_some_and(|users| *users > 1) {
        return left("other arrays are in the same block");
    }
    let array = match file.stored_array(node) {
        Ok(array) => array,
        Err(error) if error.kind() == crate::ErrorKind::Unsupported => return Ok(Candidate::Skipped(error.to_string())),
        Err(error) => return Err(error),
    };
    if array.is_empty() {
        return left("it has no elements");
    }
    if array.nbytes() != block.decoded_len() {
        return left("its block has other bytes besides its elements");
    }
    match numpy_descr(array.datatype()) {
        Ok(_) => Ok(Candidate::WholeBlock(block.index, array)),
        Err(error) => Ok(Candidate::Skipped(error.message().to_owned())),
    }
}

/// Lists the extension in the history, where readers look whether they have it.
fn name_extension(file: &AsdfFile, edit: &mut Edit<'_>) -> Result<()> {
    let (key, standard) = ("history", file.standard());
    let Some(target) = TARGETS.iter().find(|target| target.history_is_mapping && target.standard == standard.as_deref()) else {
        return Ok(());
    };
    let tag = format!("{}core/extension_metadata-1.0.0", target.tree.prefix);
    let entry = Value::map([("extension_class", "asdf_zarr.extensions.ZarrExtension"), ("extension_uri", chunked_array::TAG)])
        .tagged(tag);
    let (history, list) = (TreePath::root().join(key), TreePath::root().join(key).join("extensions"));
    match (file.tree().find(&history), file.tree().find(&list)) {
        (_, Some(extensions)) if extensions.is_sequence() => {
            let is_named = |item: Node<'_>| item.get("extension_uri").is_some_and(|uri| uri.text() == chunked_array::TAG);
            if !extensions.items().any(is_named) {
                edit.append(&list, &entry)?;
            }
            Ok(())
        }
        (None, _) if file.tree().root().is_mapping() => edit.set(&history, &Value::map([("extensions", Value::seq([entry]))])),
        _ => Ok(()),
    }
}

impl ChunkedArray {
    fn new(array: Array, old: CodecId, lengths: &[u64], first: usize) -> Result<Self> {
        let chunk: Vec<u64> = lengths.iter().zip(array.shape()).map(|(chunk, len)| *chunk.min(len)).collect();
        let counts: Vec<u64> = array.shape().iter().zip(&chunk).map(|(len, chunk)| len.div_ceil(*chunk)).collect();
        let (count, most) = (counts.iter().fold(1u64, |n, count| n.saturating_mul(*count)), array.limits().items);
        if count > most || (first as u64).saturating_add(count) > i32::MAX as u64 {
            return Err(Limits::exceeded_error("items", most, format_args!("an array of {count} chunks, each a block,")));
        }
        let codec = Some(old).filter(|codec| !codec.is_none() && opt_codec(*codec).is_some());
        Ok(Self { array, chunk, counts, first_block: first, count: to_usize(count)?, codec })
    }

    fn write_chunks<W: Write + Seek>(
        &self,
        writer: &mut FileWriter<W>,
        options: &ConvertOptions,
        hint: Option<&BlockHint>,
        done: &mut ConvertReport,
        progress: Progress<'_>,
    ) -> Result<()> {
        self.array.verify_checksum()?;
        let (rows, height) = (self.array.shape().first().copied().unwrap_or(1), self.chunk.first().copied().unwrap_or(1));
        let across = self.counts.get(1..).unwrap_or_default();
        let mut how = BlockOptions::default();
        (how.encode.level, how.encode.blosc) = (options.level, options.blosc);
        how.encode.item_size = to_usize(self.element_size())?.max(1);
        how.encode.row_bytes =
            self.chunk.get(1..).map(|inner| inner.iter().fold(self.element_size(), |n, len| n.saturating_mul(*len)));
        for start in (0..rows).step_by(to_usize(height)?) {
            let strip = self.read_rows(start, height.min(rows - start))?;
            for number in 0..across.iter().product() {
                let bytes = self.chunk_of(&strip, &unravel(number, across))?;
                let data = Arc::new(MemorySource::new(bytes, "a chunk"));
                how.codec = match options.codec {
                    CodecChoice::Fixed(id) => Some(id),
                    CodecChoice::Uncompressed => None,
                    CodecChoice::Keep => self.codec,
                    CodecChoice::Auto => choose(&(data.clone() as _), hint)?,
                };
                done.count_block(&writer.block(&*data, &how)?);
            }
            progress.add(strip.nbytes());
        }
        Ok(())
    }

    /// Bytes of a packed element.
    fn element_size(&self) -> u64 {
        self.array.datatype().packed_size()
    }

    /// Returns some rows, in memory if there is room: chunks need each byte once, but in another order.
    fn read_rows(&self, start: u64, count: u64) -> Result<Array> {
        let part = self.array.rows(start, count)?;
        if part.nbytes() > part.limits().memory / 4 {
            return Ok(part);
        }
        let limits = part.limits().clone();
        limits.charge_memory(part.nbytes(), "a row of chunks")?;
        let packed = Datatype::packed(part.datatype(), Byteorder::Little);
        let strip = Array::from_bytes(part.read_bytes(Byteorder::Little)?, packed, Byteorder::Little, part.shape().to_vec())?;
        Ok(strip.with_limits(limits))
    }

    /// The whole chunk at a place of a strip: what is not in the array is zeros, the fill value.
    fn chunk_of(&self, strip: &Array, across: &[u64]) -> Result<Vec<u8>> {
        let mut indices = vec![Index::from(..)];
        let inner = across.iter().zip(self.chunk.iter().zip(self.array.shape()).skip(1));
        indices.extend(inner.map(|(at, (chunk, len))| {
            let start = at * chunk;
            Index::from(start as i64..start.saturating_add(*chunk).min(*len) as i64)
        }));
        let part = strip.slice(&indices)?;
        let bytes = part.read_bytes(Byteorder::Little)?;
        if part.shape() == self.chunk {
            return Ok(bytes);
        }
        let whole = self.chunk.iter().fold(self.element_size(), |n, len| n.saturating_mul(*len));
        part.limits().charge_memory(whole, "a chunk")?;
        let (Some((width, outer)), Some(pitch)) = (part.shape().split_last(), self.chunk.last()) else { return Ok(bytes) };
        let (run, pitch) = (to_usize(width * self.element_size())?, pitch * self.element_size());
        let mut out = vec![0; to_usize(whole)?];
        for (row, from) in bytes.chunks_exact(run.max(1)).enumerate() {
            let place = unravel(row as u64, outer).iter().zip(&self.chunk).fold(0, |at, (place, len)| at * len + place);
            let at = to_usize(place * pitch)?;
            if let Some(to) = out.get_mut(at..at + run) {
                to.copy_from_slice(from);
            }
        }
        Ok(out)
    }
}
