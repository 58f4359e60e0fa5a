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
use super::zarr_metadata::{self, METADATA, Metadata, is_chunked, is_here};
use crate::array::{Array, Datatype, element_count};
use crate::array::{ChunkedSource, Chunks, Cut, from_columns};
use crate::bytes::{SourceRef, Step, Window, read_vec, to_usize, verify_backing};
use crate::codec::filter::Filters;
use crate::codec::{self, CodecId};
use crate::error::{Context, Error, Result};
use crate::limits::Limits;
use crate::tree::{Node, Tree, Value};

pub(crate) use super::zarr_metadata::{MAP, TAG};

/// Entry of the map for a chunk that was never written.
const MISSING: i32 = -1;
/// Bytes of a number in the map.
const NUMBER: u64 = 4;

/// The array of a node of `file`; no chunk is decoded.
pub(super) fn array(file: &AsdfFile, node: Node<'_>) -> Result<Array> {
    let limits = Arc::new(file.limits().clone());
    if !is_here(node) {
        let place =
            node.get("store").filter(|store| store.is_scalar()).map_or(String::new(), |store| format!(" ({})", store.text()));
        return Err(Error::unsupported(format!("the array is in a store of Zarr outside of the file{place}"))
            .hint("asdf-zarr opens it; Trilith reads arrays of asdf-zarr only if their chunks are in blocks of the file"));
    }
    let Metadata { cut, datatype, byteorder, fill, filters, columns } = Metadata::read(node, &limits)?;
    let count = element_count(&cut.counts())?;
    let numbers = numbers(file, node)?;
    if numbers.len() as u64 != count {
        return Err(Error::malformed(format!("{MAP} names {} blocks for {count} chunks", numbers.len())));
    }
    let each = (size_of::<Option<Place>>() + size_of::<Block>()) as u64;
    limits.charge_memory(count.saturating_mul(each), "the places of the chunks")?;
    let map = node.get(MAP).and_then(|map| map.as_i64());
    let named = map.into_iter().chain(numbers.iter().flatten().copied());
    let blocks = named.filter_map(|number| file.sections().block(number).ok());
    let blocks = blocks.filter(|block| block.sum().is_some()).cloned().collect();
    let place = |(chunk, number): (usize, Option<i64>)| match number {
        Some(number) => Place::of(file, number).map(Some).doing(|| format!("chunk {chunk}")),
        None => Ok(None),
    };
    let stored = InBlocks {
        source: file.sections().source().clone(),
        places: numbers.into_iter().enumerate().map(place).collect::<Result<_>>()?,
        blocks,
        filters,
        columns: columns.then(|| cut.clone()),
        limits: limits.clone(),
    };
    let shape = cut.shape.clone();
    let grid = ChunkedSource::new(cut, Box::new(stored), fill, limits.clone())?;
    Ok(Array::chunked(Arc::new(grid), datatype, byteorder, shape)?.with_limits(limits))
}

/// The numbers of the blocks of all chunks, in row-major order; None for chunks that were never written.
fn numbers(file: &AsdfFile, node: Node<'_>) -> Result<Vec<Option<i64>>> {
    let Some(map) = node.get(MAP) else { return Ok(Vec::new()) };
    let number = map.as_i64().ok_or_else(|| map.error(format!("{MAP} is not the number of a block")))?;
    let data = file.block_data(number).doing(|| MAP.to_owned())?;
    if !data.len().is_multiple_of(NUMBER) {
        return Err(map.error(format!("the block of {MAP} has {} bytes, which is not a multiple of {NUMBER}", data.len())));
    }
    file.limits().charge_work(data.len())?;
    let bytes = read_vec(&*data, 0, data.len(), file.limits())?;
    let (numbers, _) = bytes.as_chunks();
    let number = |bytes: &[u8; 4]| match i32::from_le_bytes(*bytes) {
        MISSING => Ok(None),
        number if number < 0 => Err(map.error(format!("{MAP} names the block {number}"))),
        number => Ok(Some(i64::from(number))),
    };
    numbers.iter().map(number).collect()
}

/// Returns the number of chunks of an array, in a few words, and the codec of its first.
pub(crate) fn storage(file: &AsdfFile, node: Node<'_>) -> Result<String> {
    let found = Metadata::read(node, file.limits())?;
    let count = element_count(&found.cut.counts())?;
    let lengths: Vec<String> = found.cut.chunk.iter().map(u64::to_string).collect();
    let first = numbers(file, node)?.into_iter().flatten().next();
    let codec =
        first.and_then(|number| file.sections().block(number).ok()).filter(|block| !block.is_plain()).map(super::codec_name);
    let words: Vec<String> = found.filters.steps().into_iter().map(|step| step.name).chain(codec).collect();
    let plural = if count == 1 { "" } else { "s" };
    let words = if words.is_empty() { String::new() } else { format!(", {}", words.join("+")) };
    Ok(format!("{count} chunk{plural} of [{}]{words}", lengths.join(", ")))
}

/// The blocks of all arrays in chunks of a tree.
#[derive(Debug, Default)]
pub(crate) struct Named {
    /// Numbers of the blocks: the chunks, and the maps that list them.
    pub blocks: BTreeSet<usize>,
    /// `true` if there is an array at all whose chunks are in blocks.
    pub any: bool,
    /// The reason why the chunks of some arrays are not known.
    pub unknown: Option<Error>,
}

impl Named {
    /// Returns the blocks of the arrays in chunks of a tree, which refers to blocks by the numbers of `file`. Blocks that the
    /// file does not have are left out.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Limit`](crate::ErrorKind::Limit) for too many nodes.
    pub(crate) fn of(file: &AsdfFile, tree: &Tree) -> Result<Self> {
        let (mut found, mut maps) = (Self::default(), BTreeSet::new());
        // Every writing command calls this, and few files have arrays in chunks: the tags are checked before the tree is walked.
        if !tree.tags().any(zarr_metadata::is_tag) {
            return Ok(found);
        }
        let mut walk = tree.root().walk(file.limits()).as_written();
        while let Some(visit) = walk.step()? {
            let node = visit.node;
            if node.is_alias() || !is_chunked(node) || !node.is_mapping() || !is_here(node) {
                continue;
            }
            found.any = true;
            if let Some(map) = node.get(MAP).and_then(|map| map.as_i64())
                && maps.insert(map)
                && let Ok(block) = file.sections().block(map)
            {
                found.blocks.insert(block.index);
                match numbers(file, node) {
                    Ok(numbers) => found.take(file, &numbers),
                    Err(error) => found.unknown = Some(error),
                }
            }
        }
        Ok(found)
    }

    fn take(&mut self, file: &AsdfFile, numbers: &[Option<i64>]) {
        let known = numbers.iter().flatten().filter_map(|number| file.sections().block(*number).ok());
        self.blocks.extend(known.map(|block| block.index));
    }
}

/// The place of a chunk.
struct Place {
    at: u64,
    len: u64,
    compression: CodecId,
    data_size: u64,
}

impl Place {
    fn of(file: &AsdfFile, number: i64) -> Result<Self> {
        let block = file.sections().block(number)?;
        if block.is_streamed() {
            return Err(Error::malformed(format!("block {number} is streamed, which no chunk is")));
        }
        if block.is_encoded() || block.codes != [0; 16] {
            return Err(Error::unsupported(format!("block {number} is a chunk with an encoding chain")));
        }
        block.check(file.sections().source().len())?;
        Ok(Self::in_block(block))
    }

    fn in_block(block: &Block) -> Self {
        let compression = CodecId(block.compression);
        Self { at: block.data_offset, len: block.stored_len(), compression, data_size: block.data_size }
    }

    fn range(&self) -> Range<u64> {
        self.at..self.at.saturating_add(self.len)
    }
}

/// The chunks of an array.
struct InBlocks {
    source: SourceRef,
    places: Vec<Option<Place>>,
    /// The blocks that hold them and state a checksum, and that of the map.
    blocks: Vec<Block>,
    filters: Filters,
    /// The division of the array, if its elements are in Fortran order.
    columns: Option<Cut>,
    limits: Arc<Limits>,
}

impl InBlocks {
    fn get(&self, number: u64) -> Option<&Place> {
        self.places.get(usize::try_from(number).ok()?)?.as_ref()
    }
}

impl Chunks for InBlocks {
    fn place(&self, number: u64) -> Result<Option<Range<u64>>> {
        Ok(self.get(number).map(Place::range))
    }

    fn decode(&self, number: u64, size: u64) -> Result<Vec<u8>> {
        let place = self.get(number).ok_or_else(|| Error::malformed("it was never written"))?;
        let bytes = if place.compression.is_none() {
            read_vec(&*self.source, place.at, place.len, &self.limits)?
        } else {
            let stored = Arc::new(Window::new(self.source.clone(), place.at, place.len)?);
            let data = codec::decoder(place.compression, stored, place.data_size, &self.limits)?;
            read_vec(&*data, 0, data.len(), &self.limits)?
        };
        let bytes = self.filters.decode(bytes, 0, size, &self.limits)?;
        match &self.columns {
            Some(cut) if bytes.len() as u64 == size => Ok(from_columns(&bytes, &cut.lengths(number), to_usize(cut.item)?)),
            _ => Ok(bytes),
        }
    }

    fn steps(&self) -> Option<(Vec<Step>, Vec<u64>)> {
        let mut steps = self.filters.steps();
        let mut codecs = self.places.iter().flatten().map(|place| place.compression);
        let codec = codecs.next().filter(|codec| !codec.is_none());
        if codecs.any(|other| Some(other).filter(|other| !other.is_none()) != codec) {
            return None;
        }
        if let Some(codec) = codec {
            let word = match &codec.0 {
                b"zlib" => "deflate",
                b"bzp2" => "bzip2",
                _ => return None,
            };
            steps.push(Step::new(word, Vec::new()));
        }
        Some((steps, Vec::new()))
    }

    fn is_in_columns(&self) -> bool {
        self.columns.is_some()
    }

    fn verify(&self) -> Result<()> {
        verify_backing(&*self.source)?;
        self.blocks.iter().try_for_each(|block| verify_backing(&*block.stored(&self.source)?))
    }

    fn source(&self) -> &SourceRef {
        &self.source
    }
}

/// The node of an array whose map is in the block `map`.
///
/// # Errors
/// Returns [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for a datatype that numpy does not have.
pub(crate) fn node(datatype: &Datatype, shape: &[u64], chunk: &[u64], map: usize) -> Result<Value> {
    let metadata = zarr_metadata::value(datatype, shape, chunk)?;
    Ok(Value::map([(METADATA, metadata), (MAP, Value::from(map as u64))]).tagged(TAG))
}

/// The bytes of a map of `count` chunks in blocks from `first` on; None for numbers that it has no room for.
pub(crate) fn map_of(first: usize, count: usize) -> Option<Vec<u8>> {
    let (first, end) = (i32::try_from(first).ok()?, i32::try_from(first.checked_add(count)?).ok()?);
    Some((first..end).flat_map(i32::to_le_bytes).collect())
}
