//! Arrays in chunks, each in a separate block: the nodes of the extension asdf-zarr.
//!
//! Such a node has the metadata of a Zarr v2 array (`.zarray`) and the number of a block (`chunk_block_map`). That
//! block has one int32 for each chunk, in row-major order: the number of the block that holds the chunk, or -1 for
//! one that was never written. The other form (`store`) names a place outside of the file, and its elements are
//! refused.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use super::AsdfFile;
use super::block::Block;
use super::zarr_metadata::{self, STORE_KEY, ZARRAY_KEY, ZarrayMetadata, is_chunked, is_in_blocks};
use crate::array::{Array, Datatype, element_count};
use crate::array::{ChunkProvider, ChunkShape, ChunkedSource, from_columns};
use crate::bytes::{CodingStep, SourceRef, WindowSource, read_vec, to_usize, verify_backing};
use crate::codec::filter::FilterPipeline;
use crate::codec::{self, CodecId};
use crate::error::{Error, Result, ResultExt};
use crate::limits::Limits;
use crate::tree::{Node, Tree, Value};

pub(crate) use super::zarr_metadata::{BLOCK_MAP_KEY, TAG};

/// Entry of the map for a chunk that was never written.
const NO_CHUNK: i32 = -1;
/// Bytes of a number in the map.
const MAP_ENTRY_BYTES: u64 = 4;

/// The array of a node of `file`; no chunk is decoded.
pub(super) fn open_zarr_array(file: &AsdfFile, node: Node<'_>) -> Result<Array> {
    let limits = Arc::new(file.limits().clone());
    if !is_in_blocks(node) {
        let place =
            node.get(STORE_KEY).filter(|store| store.is_scalar()).map_or(String::new(), |store| format!(" ({})", store.text()));
        return Err(Error::unsupported(format!("the array is in a store of Zarr outside of the file{place}"))
            .hint("asdf-zarr opens it; Trilith reads arrays of asdf-zarr only if their chunks are in blocks of the file"));
    }
    let ZarrayMetadata { chunking: cut, datatype, byteorder, fill_value: fill, filters, is_column_major: columns } =
        ZarrayMetadata::read_zarray(node, &limits)?;
    let count = element_count(&cut.counts())?;
    let numbers = read_block_numbers(file, node)?;
    if numbers.len() as u64 != count {
        return Err(Error::malformed(format!("{BLOCK_MAP_KEY} names {} blocks for {count} chunks", numbers.len())));
    }
    let each = (size_of::<Option<ChunkLocation>>() + size_of::<Block>()) as u64;
    limits.charge_memory(count.saturating_mul(each), "the places of the chunks")?;
    let map = node.get(BLOCK_MAP_KEY).and_then(|map| map.as_i64());
    let named = map.into_iter().chain(numbers.iter().flatten().copied());
    let blocks = named.filter_map(|number| file.sections().block(number).ok());
    let blocks = blocks.filter(|block| block.checksum_rule().is_some()).cloned().collect();
    let place = |(chunk, number): (usize, Option<i64>)| match number {
        Some(number) => ChunkLocation::of_block(file, number).map(Some).with_context(|| format!("chunk {chunk}")),
        None => Ok(None),
    };
    let stored = BlockChunks {
        source: file.sections().source().clone(),
        chunk_locations: numbers.into_iter().enumerate().map(place).collect::<Result<_>>()?,
        blocks,
        filters,
        is_column_major: columns.then(|| cut.clone()),
        limits: limits.clone(),
    };
    let shape = cut.shape.clone();
    let grid = ChunkedSource::new(cut, Box::new(stored), fill, limits.clone())?;
    Ok(Array::chunked(Arc::new(grid), datatype, byteorder, shape)?.with_limits(limits))
}

/// The numbers of the blocks of all chunks, in row-major order; None for chunks that were never written.
fn read_block_numbers(file: &AsdfFile, node: Node<'_>) -> Result<Vec<Option<i64>>> {
    let map = node.require(BLOCK_MAP_KEY)?;
    let number = map.as_i64().ok_or_else(|| map.error(format!("{BLOCK_MAP_KEY} is not the number of a block")))?;
    let data = file.block_data(number).with_context(|| BLOCK_MAP_KEY.to_owned())?;
    if !data.len().is_multiple_of(MAP_ENTRY_BYTES) {
        return Err(map.error(format!(
            "the block of {BLOCK_MAP_KEY} has {} bytes, which is not a multiple of {MAP_ENTRY_BYTES}",
            data.len()
        )));
    }
    file.limits().charge_work(data.len())?;
    let bytes = read_vec(&*data, 0, data.len(), file.limits())?;
    let (numbers, _) = bytes.as_chunks();
    let number = |bytes: &[u8; 4]| match i32::from_le_bytes(*bytes) {
        NO_CHUNK => Ok(None),
        number if number < 0 => Err(map.error(format!("{BLOCK_MAP_KEY} names the block {number}"))),
        number => Ok(Some(i64::from(number))),
    };
    numbers.iter().map(number).collect()
}

/// Refuses an array in chunks if the file lacks one of the blocks that hold it.
///
/// # Errors
/// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if a block is not there, or if it cannot be known which are.
pub(super) fn check_named_blocks(file: &AsdfFile, node: Node<'_>) -> Result<()> {
    if node.is_alias() || !node.is_mapping() || !is_in_blocks(node) {
        return Ok(());
    }
    let numbers = read_block_numbers(file, node)?;
    numbers.into_iter().flatten().try_for_each(|number| file.sections().block(number).map(drop))
}

/// Refuses an array in chunks whose codecs are not available.
///
/// # Errors
/// Returns [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for a codec that is not known.
pub(crate) fn check_codecs(node: Node<'_>, limits: &Limits) -> Result<()> {
    ZarrayMetadata::read_zarray(node, limits)?.filters.check_available(0, limits).map_err(|error| node.locate(error))
}

/// Returns the number of chunks of an array, in a few words, and the codec of its first.
pub(crate) fn describe_chunk_storage(file: &AsdfFile, node: Node<'_>) -> Result<String> {
    let found = ZarrayMetadata::read_zarray(node, file.limits())?;
    let count = element_count(&found.chunking.counts())?;
    let lengths: Vec<String> = found.chunking.chunk.iter().map(u64::to_string).collect();
    let first = read_block_numbers(file, node)?.into_iter().flatten().next();
    let codec = first
        .and_then(|number| file.sections().block(number).ok())
        .filter(|block| !block.is_uncompressed())
        .map(super::codec_name);
    let words: Vec<String> = found.filters.to_coding_steps().into_iter().map(|step| step.name).chain(codec).collect();
    let plural = if count == 1 { "" } else { "s" };
    let words = if words.is_empty() { String::new() } else { format!(", {}", words.join("+")) };
    Ok(format!("{count} chunk{plural} of [{}]{words}", lengths.join(", ")))
}

/// The blocks of all arrays in chunks of a tree.
#[derive(Debug, Default)]
pub(crate) struct NamedBlocks {
    /// Numbers of the blocks: the chunks, and the maps that list them.
    pub blocks: BTreeSet<usize>,
    /// `true` if there is an array at all whose chunks are in blocks.
    pub has_any: bool,
    /// The reason why the chunks of some arrays are not known.
    pub has_unknown: Option<Error>,
}

impl NamedBlocks {
    /// Returns the blocks of the arrays in chunks of a tree, which refers to blocks by the numbers of `file`. Blocks that the
    /// file does not have are left out.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Limit`](crate::ErrorKind::Limit) for too many nodes.
    pub(crate) fn of_tree(file: &AsdfFile, tree: &Tree) -> Result<Self> {
        let (mut found, mut maps) = (Self::default(), BTreeSet::new());
        // Every writing command calls this, and few files have arrays in chunks: the tags are checked before the tree is walked.
        if !tree.tags().any(zarr_metadata::is_tag) {
            return Ok(found);
        }
        let mut walk = tree.root().walk(file.limits()).without_merge();
        while let Some(visit) = walk.try_next()? {
            found.add_node(file, visit.node, &mut maps);
        }
        Ok(found)
    }

    /// Returns the blocks of one array in chunks.
    pub(crate) fn of_node(file: &AsdfFile, node: Node<'_>) -> Self {
        let mut found = Self::default();
        found.add_node(file, node, &mut BTreeSet::new());
        found
    }

    fn add_node(&mut self, file: &AsdfFile, node: Node<'_>, maps: &mut BTreeSet<i64>) {
        if node.is_alias() || !is_chunked(node) || !node.is_mapping() || !is_in_blocks(node) {
            return;
        }
        self.has_any = true;
        let map = node.get(BLOCK_MAP_KEY).and_then(|map| map.as_i64());
        if map.is_some_and(|map| !maps.insert(map)) {
            return;
        }
        if let Some(Ok(block)) = map.map(|map| file.sections().block(map)) {
            self.blocks.insert(block.index);
        }
        match read_block_numbers(file, node) {
            Ok(numbers) => self.add_numbers(file, &numbers),
            Err(error) => self.has_unknown = Some(error),
        }
    }

    fn add_numbers(&mut self, file: &AsdfFile, numbers: &[Option<i64>]) {
        let known = numbers.iter().flatten().filter_map(|number| file.sections().block(*number).ok());
        self.blocks.extend(known.map(|block| block.index));
    }
}

/// The place of a chunk.
struct ChunkLocation {
    offset: u64,
    len: u64,
    compression: CodecId,
    data_size: u64,
}

impl ChunkLocation {
    fn of_block(file: &AsdfFile, number: i64) -> Result<Self> {
        let block = file.sections().block(number)?;
        if block.is_streamed() {
            return Err(Error::malformed(format!("block {number} is streamed, which no chunk is")));
        }
        if block.has_encoding_chain() || block.encoding_codes != [0; 16] {
            return Err(Error::unsupported(format!("block {number} is a chunk with an encoding chain")));
        }
        block.check(file.sections().source().len())?;
        Ok(Self::in_block(block))
    }

    fn in_block(block: &Block) -> Self {
        let compression = CodecId(block.compression);
        Self { offset: block.data_offset, len: block.stored_len(), compression, data_size: block.data_size }
    }

    fn byte_range(&self) -> Range<u64> {
        self.offset..self.offset.saturating_add(self.len)
    }
}

/// The chunks of an array.
struct BlockChunks {
    source: SourceRef,
    chunk_locations: Vec<Option<ChunkLocation>>,
    /// The blocks that hold them and state a checksum, and that of the map.
    blocks: Vec<Block>,
    filters: FilterPipeline,
    /// The division of the array, if its elements are in Fortran order.
    is_column_major: Option<ChunkShape>,
    limits: Arc<Limits>,
}

impl BlockChunks {
    fn get(&self, number: u64) -> Option<&ChunkLocation> {
        self.chunk_locations.get(usize::try_from(number).ok()?)?.as_ref()
    }
}

impl ChunkProvider for BlockChunks {
    fn chunk_range(&self, number: u64) -> Result<Option<Range<u64>>> {
        Ok(self.get(number).map(ChunkLocation::byte_range))
    }

    fn decode_chunk(&self, number: u64, size: u64) -> Result<Vec<u8>> {
        let place = self.get(number).ok_or_else(|| Error::malformed("it was never written"))?;
        let bytes = if place.compression.is_none() {
            read_vec(&*self.source, place.offset, place.len, &self.limits)?
        } else {
            let stored = Arc::new(WindowSource::new(self.source.clone(), place.offset, place.len)?);
            let data = codec::decoder(place.compression, stored, place.data_size, &self.limits)?;
            read_vec(&*data, 0, data.len(), &self.limits)?
        };
        let bytes = self.filters.decode(bytes, 0, size, &self.limits)?;
        match &self.is_column_major {
            Some(cut) if bytes.len() as u64 == size => Ok(from_columns(&bytes, &cut.lengths(number), to_usize(cut.item)?)),
            _ => Ok(bytes),
        }
    }

    fn encoding_steps(&self) -> Result<Option<(Vec<CodingStep>, Vec<u64>)>> {
        let mut steps = self.filters.to_coding_steps();
        let mut codecs = self.chunk_locations.iter().flatten().map(|place| place.compression);
        let codec = codecs.next().filter(|codec| !codec.is_none());
        if codecs.any(|other| Some(other).filter(|other| !other.is_none()) != codec) {
            return Ok(None);
        }
        if let Some(codec) = codec {
            let word = match &codec.0 {
                b"zlib" => "deflate",
                b"bzp2" => "bzip2",
                _ => return Ok(None),
            };
            steps.push(CodingStep::new(word, Vec::new()));
        }
        Ok(Some((steps, Vec::new())))
    }

    fn is_in_columns(&self) -> bool {
        self.is_column_major.is_some()
    }

    fn verify(&self) -> Result<()> {
        verify_backing(&*self.source)?;
        self.blocks.iter().try_for_each(|block| verify_backing(&*block.stored_source(&self.source)?))
    }

    fn source(&self) -> &SourceRef {
        &self.source
    }
}

/// The node of an array whose map is in the block `map`.
///
/// # Errors
/// Returns [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for a datatype that numpy does not have.
pub(crate) fn build_zarr_node(datatype: &Datatype, shape: &[u64], chunk: &[u64], map: usize) -> Result<Value> {
    let metadata = zarr_metadata::new_metadata(datatype, shape, chunk)?;
    Ok(Value::map([(ZARRAY_KEY, metadata), (BLOCK_MAP_KEY, Value::from(map as u64))]).tagged(TAG))
}

/// The bytes of a map of `count` chunks in blocks from `first` on; None for numbers that it has no room for.
pub(crate) fn block_map(first: usize, count: usize) -> Option<Vec<u8>> {
    let (first, end) = (i32::try_from(first).ok()?, i32::try_from(first.checked_add(count)?).ok()?);
    Some((first..end).flat_map(i32::to_le_bytes).collect())
}
