//! Places of the elements of a dataset: data layouts, and every index of chunks.

use std::ops::Range;

use super::btree::{self, Comparison, LeafKind};
use super::external_files::ExternalRange;
use super::file::{CHECKSUM_SIZE, EntrySink, FieldReader, Hdf5File, run, visit_paged_elements};
use super::heaps::LocalHeap;
use crate::array::unravel;
use crate::error::{Error, Result};

/// The storage of a dataset.
#[derive(Debug, Clone)]
pub(super) enum DataLayout {
    /// The data are in the object header, at this address.
    Compact(u64),
    /// The data are contiguous, at this address; `None` if nothing was written.
    Contiguous(Option<u64>),
    /// The data are in chunks of this shape.
    Chunked(Chunked),
    /// Put together from other datasets, as the object of a heap at this address and with this number says; None if there are
    /// no others.
    Virtual(Option<(u64, u64)>),
    /// The data are in these external files.
    External(Vec<ExternalRange>),
    /// The data are in external files. Their bytes begin at this address of the layout.
    ExternalBytes(u64),
}

/// The index of the chunks.
#[derive(Debug, Clone)]
pub(super) struct Chunked {
    /// The lengths of a chunk.
    pub chunk: Vec<u64>,
    /// `true` if chunks that reach over the edge have no filters.
    pub unfiltered_edges: bool,
    index: ChunkIndexKind,
    address: Option<u64>,
}

#[derive(Debug, Clone)]
enum ChunkIndexKind {
    BTreeV1,
    Single(Option<(u64, u64)>),
    Implicit,
    Fixed,
    Extensible,
    BTreeV2,
}

/// A chunk that was written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ChunkEntry {
    pub address: u64,
    pub size: u64,
    pub mask: u64,
}

impl DataLayout {
    /// Reads a data layout message.
    pub(super) fn read_layout_message(file: &Hdf5File, data: &[u8], address: u64) -> Result<Self> {
        let mut at = file.field_reader(data, address);
        let version = at.uint(1)?;
        match version {
            1 | 2 => Self::read_version_1_2(&mut at, address),
            3..=5 => match at.uint(1)? {
                0 => {
                    at.skip(2)?;
                    Ok(DataLayout::Compact(address.saturating_add(at.consumed() as u64)))
                }
                1 => Ok(DataLayout::Contiguous(at.read_address()?)),
                2 if version == 3 => {
                    let rank = at.uint(1)? as usize;
                    let address = at.read_address()?;
                    let chunk = (1..rank).map(|_| at.uint(4)).collect::<Result<_>>()?;
                    Ok(DataLayout::Chunked(Chunked { chunk, unfiltered_edges: false, index: ChunkIndexKind::BTreeV1, address }))
                }
                2 => Self::read_indexed_layout(&mut at),
                3 => {
                    let (heap, number) = (at.read_address()?, at.uint(4)?);
                    Ok(DataLayout::Virtual(heap.map(|heap| (heap, number))))
                }
                other => Err(Error::unsupported(format!("a data layout of class {other}"))),
            },
            other => Err(Error::unsupported(format!("a data layout of version {other}, known are 1 to 5"))),
        }
    }

    /// Reads the list of the files that hold the data.
    pub(super) fn read_external_files(file: &Hdf5File, data: &[u8], address: u64) -> Result<Self> {
        let mut at = file.field_reader(data, address);
        let version = at.uint(1)?;
        if version != 1 {
            return Err(Error::unsupported(format!("a list of files of version {version}, known is 1")));
        }
        at.skip(5)?;
        let (count, heap) = (at.uint(2)?, at.read_defined_address("the names of the files of a dataset")?);
        let names = LocalHeap::read_local_heap(file, heap)?;
        let unlimited = u64::MAX >> (64 - 8 * file.length_size());
        let slots = (0..count).map(|_| {
            let (name, offset, len) = (at.read_length()?, at.read_length()?, at.read_length()?);
            Ok(ExternalRange { file: names.read_name(file, name)?, offset, len: (len != unlimited).then_some(len) })
        });
        Ok(DataLayout::External(slots.collect::<Result<_>>()?))
    }

    fn read_version_1_2(at: &mut FieldReader<'_>, message: u64) -> Result<Self> {
        let (rank, class) = (at.uint(1)? as usize, at.uint(1)?);
        at.skip(5)?;
        let address = if class == 0 { None } else { at.read_address()? };
        let mut dims = (0..rank).map(|_| at.uint(4)).collect::<Result<Vec<_>>>()?;
        match class {
            0 => {
                at.skip(4)?;
                Ok(DataLayout::Compact(message.saturating_add(at.consumed() as u64)))
            }
            1 => Ok(DataLayout::Contiguous(address)),
            2 => {
                // The last one is the size of an element.
                dims.pop();
                Ok(DataLayout::Chunked(Chunked { chunk: dims, unfiltered_edges: false, index: ChunkIndexKind::BTreeV1, address }))
            }
            other => Err(Error::unsupported(format!("a data layout of class {other}"))),
        }
    }

    fn read_indexed_layout(at: &mut FieldReader<'_>) -> Result<Self> {
        let (flags, rank, wide) = (at.uint(1)?, at.uint(1)? as usize, at.uint(1)? as usize);
        if wide > 8 || rank == 0 {
            return Err(Error::malformed("the lengths of chunks have a size that no number has").at_byte(at.position()));
        }
        let dims = (0..rank).map(|_| at.uint(wide)).collect::<Result<Vec<_>>>()?;
        let chunk = dims.get(..rank - 1).unwrap_or(&[]).to_vec();
        let index = match at.uint(1)? {
            1 if flags & 2 == 0 => ChunkIndexKind::Single(None),
            1 => ChunkIndexKind::Single(Some((at.read_length()?, at.uint(4)?))),
            2 => ChunkIndexKind::Implicit,
            3 => {
                at.skip(1)?;
                ChunkIndexKind::Fixed
            }
            4 => {
                at.skip(5)?;
                ChunkIndexKind::Extensible
            }
            5 => {
                at.skip(6)?;
                ChunkIndexKind::BTreeV2
            }
            other => return Err(Error::unsupported(format!("an index of chunks of kind {other}"))),
        };
        Ok(DataLayout::Chunked(Chunked { chunk, unfiltered_edges: flags & 1 != 0, index, address: at.read_address()? }))
    }
}

/// The chunks of a dataset, as its shape and its filters have them.
#[derive(Debug, Clone)]
pub(super) struct ChunkAxes {
    /// The number of chunks along each axis.
    counts: Vec<u64>,
    /// The lengths that the axes may get.
    max_dims: Vec<u64>,
    /// Bytes of a chunk without filters.
    full_size: u64,
    has_filters: bool,
}

impl ChunkAxes {
    /// Returns the number of chunks; `u64::MAX` if there are more.
    pub(super) fn count(&self) -> u64 {
        self.counts.iter().try_fold(1u64, |n, count| n.checked_mul(*count)).unwrap_or(u64::MAX)
    }

    /// Returns the number of the chunk at a place along each axis. A chunk outside of the shape, which is left from when the shape
    /// was larger, has none.
    fn chunk_number(&self, places: &[u64]) -> Option<u64> {
        if places.len() != self.counts.len() || places.iter().zip(&self.counts).any(|(place, count)| place >= count) {
            return None;
        }
        Some(places.iter().zip(&self.counts).fold(0u64, |n, (place, count)| n.saturating_mul(*count).saturating_add(*place)))
    }
}

/// A function that receives chunks, each with its number in row-major order.
pub(super) type ChunkSink<'t> = &'t mut dyn FnMut(u64, ChunkEntry) -> Result<()>;

impl Chunked {
    /// Returns `true` if there is no index of chunks, since none was written.
    pub(super) fn is_unwritten(&self) -> bool {
        self.address.is_none()
    }

    /// Returns the chunks of a shape. `full_size` is the number of bytes of a chunk without filters.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if the chunks do not fit the shape.
    pub(super) fn axes(&self, shape: &[u64], max_dims: &[u64], full_size: u64, has_filters: bool) -> Result<ChunkAxes> {
        let fits = |lengths: &[u64]| !lengths.is_empty() && lengths.len() == shape.len();
        let is_longer = max_dims.iter().zip(shape).any(|(most, len)| most < len);
        if !fits(&self.chunk) || !fits(max_dims) || self.chunk.contains(&0) || is_longer {
            return Err(Error::malformed("the chunks of a dataset do not fit its shape"));
        }
        let counts = shape.iter().zip(&self.chunk).map(|(len, chunk)| len.div_ceil(*chunk)).collect();
        Ok(ChunkAxes { counts, max_dims: max_dims.to_vec(), full_size, has_filters })
    }

    /// Returns `true` if the place of a chunk is computed, and no index is read.
    pub(super) fn has_computed_places(&self) -> bool {
        matches!(self.index, ChunkIndexKind::Implicit | ChunkIndexKind::Single(_))
    }

    /// Hands the chunks that were written to `take`: all of them, or the one of a number. Only the parts of the index are read that
    /// lead to them.
    pub(super) fn visit_chunks(&self, file: &Hdf5File, axes: &ChunkAxes, wanted: Option<u64>, take: ChunkSink<'_>) -> Result<()> {
        let Some(root) = self.address else { return Ok(()) };
        let place = wanted.map(|number| unravel(number, &axes.counts));
        let mut insert = |places: &[u64], chunk: ChunkEntry| match axes.chunk_number(places) {
            Some(number) if wanted.is_none_or(|wanted| wanted == number) => take(number, chunk),
            _ => Ok(()),
        };
        let size = axes.full_size;
        match &self.index {
            ChunkIndexKind::BTreeV1 => visit_v1_btree_chunks(file, root, &self.chunk, place.as_deref(), &mut insert),
            ChunkIndexKind::Single(stored) => {
                let (size, mask) = stored.unwrap_or((size, 0));
                insert(&vec![0; axes.counts.len()], ChunkEntry { address: root, size, mask })
            }
            ChunkIndexKind::Implicit => {
                let order = ChunkOrder::new(&axes.max_dims, &self.chunk, false);
                let numbers = wanted.map_or(0..axes.count(), |number| number..number.saturating_add(1));
                numbers.into_iter().try_for_each(|number| {
                    // The chunks are counted, because no bytes are read that would bound them.
                    file.limits.charge_work(1)?;
                    let places = unravel(number, &axes.counts);
                    let address = root.saturating_add(order.element_number(&places).saturating_mul(size));
                    insert(&places, ChunkEntry { address, size, mask: 0 })
                })
            }
            ChunkIndexKind::BTreeV2 => visit_v2_btree_chunks(file, root, axes, place.as_deref(), &mut insert),
            ChunkIndexKind::Fixed | ChunkIndexKind::Extensible => {
                let entry = ArrayEntry { filtered: axes.has_filters, offsets: file.offset_size(), full_size: size };
                let order = ChunkOrder::new(&axes.max_dims, &self.chunk, matches!(self.index, ChunkIndexKind::Extensible));
                let numbers = place.map_or(0..u64::MAX, |place| {
                    let number = order.element_number(&place);
                    number..number.saturating_add(1)
                });
                let mut element = |number: u64, at: &mut FieldReader<'_>| match entry.read_chunk(at)? {
                    Some(chunk) => insert(&order.chunk_coordinates(number), chunk),
                    None => Ok(()),
                };
                match self.index {
                    ChunkIndexKind::Fixed => visit_fixed_array(file, root, &numbers, &mut element),
                    _ => super::extensible_array::visit_extensible_array(file, root, &numbers, &mut element),
                }
            }
        }
    }
}

/// The order of the elements of an array of chunks: by the lengths that the axes may get, the one without an end
/// first.
struct ChunkOrder {
    counts: Vec<u64>,
    /// The axis that comes first.
    first: usize,
}

impl ChunkOrder {
    fn new(most: &[u64], chunk: &[u64], extensible: bool) -> Self {
        let mut counts: Vec<u64> = most.iter().zip(chunk).map(|(len, chunk)| len.div_ceil(*chunk)).collect();
        let first = if extensible { most.iter().position(|len| *len == u64::MAX).unwrap_or(0) } else { 0 };
        let count = counts.remove(first.min(counts.len().saturating_sub(1)));
        counts.insert(0, count);
        Self { counts, first }
    }

    /// Returns the number of the element of a chunk at a place along each axis.
    fn element_number(&self, places: &[u64]) -> u64 {
        let first = places.get(self.first).copied().unwrap_or(0);
        let rest = places.iter().enumerate().filter(|(axis, _)| *axis != self.first).map(|(_, place)| *place);
        let counts = self.counts.iter().skip(1);
        rest.zip(counts).fold(first, |n, (place, count)| n.saturating_mul(*count).saturating_add(place))
    }

    fn chunk_coordinates(&self, number: u64) -> Vec<u64> {
        let mut all = unravel(number, &self.counts);
        if let Some((first, rest)) = all.split_first() {
            let mut rest = rest.to_vec();
            rest.insert(self.first.min(rest.len()), *first);
            all = rest;
        }
        all
    }
}

/// Format of an element of a fixed or extensible array that indexes chunks.
struct ArrayEntry {
    filtered: bool,
    offsets: usize,
    full_size: u64,
}

impl ArrayEntry {
    fn read_chunk(&self, at: &mut FieldReader<'_>) -> Result<Option<ChunkEntry>> {
        // A size is as wide as is left between address and mask.
        let sizes = at.remaining().len().saturating_sub(self.offsets + 4);
        let address = at.read_address()?;
        let (size, mask) = if self.filtered { (at.uint(sizes.min(8))?, at.uint(4)?) } else { (self.full_size, 0) };
        Ok(address.map(|address| ChunkEntry { address, size, mask }))
    }
}

/// A function that receives chunks, each with its place along each axis.
type PlaceSink<'t> = &'t mut dyn FnMut(&[u64], ChunkEntry) -> Result<()>;

/// A B-tree of version 1: sizes, masks and offsets of elements.
fn visit_v1_btree_chunks(file: &Hdf5File, root: u64, chunk: &[u64], wanted: Option<&[u64]>, insert: PlaceSink<'_>) -> Result<()> {
    let places = |key: &mut FieldReader<'_>| chunk.iter().map(|len| Ok(key.uint(8)? / len)).collect::<Result<Vec<_>>>();
    let compare = |key: &mut FieldReader<'_>| {
        key.skip(8)?;
        Ok(places(key)?.as_slice().cmp(wanted.unwrap_or(&[])))
    };
    let compare: Option<Comparison<'_>> = if wanted.is_some() { Some(&compare) } else { None };
    btree::visit_btree_v1(file, root, LeafKind::Chunks, 8 + 8 * (chunk.len() + 1), compare, &mut |key, address| {
        let (size, mask) = (key.uint(4)?, key.uint(4)?);
        insert(&places(key)?, ChunkEntry { address, size, mask })
    })
}

/// A B-tree of version 2: addresses, sizes and masks if there are filters, and places.
fn visit_v2_btree_chunks(
    file: &Hdf5File,
    root: u64,
    axes: &ChunkAxes,
    wanted: Option<&[u64]>,
    insert: PlaceSink<'_>,
) -> Result<()> {
    let rank = axes.counts.len();
    let places = |at: &mut FieldReader<'_>| (0..rank).map(|_| at.uint(8)).collect::<Result<Vec<_>>>();
    let compare = |at: &mut FieldReader<'_>| {
        at.skip(at.remaining().len().saturating_sub(8 * rank))?;
        Ok(places(at)?.as_slice().cmp(wanted.unwrap_or(&[])))
    };
    let compare: Option<Comparison<'_>> = if wanted.is_some() { Some(&compare) } else { None };
    btree::visit_btree_v2(file, root, compare, &mut |_, at| {
        let sizes = at.remaining().len().checked_sub(file.offset_size() + 4 + 8 * rank).filter(|_| axes.has_filters);
        let address = at.read_address()?;
        let (size, mask) = match sizes {
            Some(sizes) if sizes <= 8 => (at.uint(sizes)?, at.uint(4)?),
            _ => (axes.full_size, 0),
        };
        let places = places(at)?;
        match address {
            Some(address) => insert(&places, ChunkEntry { address, size, mask }),
            None => Ok(()),
        }
    })
}

/// A fixed array, whose elements may be in pages.
fn visit_fixed_array(file: &Hdf5File, root: u64, wanted: &Range<u64>, take: EntrySink<'_>) -> Result<()> {
    let head = file.bytes_up_to(root, 64)?;
    file.check_signature(&head, b"FAHD", root)?;
    let mut at = file.field_reader(&head, root);
    at.skip(6)?;
    let (entry, bits, count) = (at.uint(1)?, at.uint(1)?, at.read_length()?);
    let block = at.read_address()?;
    file.compare_checksum(root, head.get(..at.consumed() + CHECKSUM_SIZE).unwrap_or(&[]), "the header of a fixed array")?;
    let Some(block) = block else { return Ok(()) };
    if entry == 0 || bits > 32 {
        return Err(
            Error::malformed("the header of a fixed array does not make sense").at_byte(root.saturating_add(file.base_address))
        );
    }
    let front = (6 + file.offset_size()) as u64;
    let page = 1u64 << bits;
    let start = file.read_bytes(block, front)?;
    file.check_signature(&start, b"FADB", block)?;
    let name = "the block of a fixed array";
    if count <= page {
        file.compare_checksum_at(block, front.saturating_add(count.saturating_mul(entry)), name)?;
        return run(file, block.saturating_add(front), entry, 0..count, wanted, take);
    }
    let map = file.read_bytes(block.saturating_add(front), count.div_ceil(page).div_ceil(8))?;
    file.compare_checksum_at(block, front.saturating_add(map.len() as u64), name)?;
    // A checksum follows the map.
    let from = block.saturating_add(front).saturating_add(map.len() as u64).saturating_add(4);
    visit_paged_elements(file, from, (entry, page), &map, 0..count, wanted, take)
}
