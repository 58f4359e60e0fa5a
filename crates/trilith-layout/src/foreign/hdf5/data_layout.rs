//! Places of the elements of a dataset: data layouts, and every index of chunks.

use super::btree;
use super::external_files::Slot;
use super::file::{Fields, H5, Take, paged, run};
use super::heaps::LocalHeap;
use crate::array::unravel;
use crate::error::{Error, Result};
use crate::limits::Limits;

/// The storage of a dataset.
#[derive(Debug, Clone)]
pub(super) enum Storage {
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
    External(Vec<Slot>),
    /// The data are in external files. Their bytes begin at this address of the layout.
    Outside(u64),
}

/// The index of the chunks.
#[derive(Debug, Clone)]
pub(super) struct Chunked {
    /// The lengths of a chunk.
    pub chunk: Vec<u64>,
    /// `true` if chunks that reach over the edge have no filters.
    pub plain_edges: bool,
    index: Index,
    address: Option<u64>,
}

#[derive(Debug, Clone)]
enum Index {
    Tree,
    Single(Option<(u64, u64)>),
    Implicit,
    Fixed,
    Extensible,
    Tree2,
}

/// A chunk that was written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Chunk {
    pub address: u64,
    pub size: u64,
    pub mask: u64,
}

impl Storage {
    /// Reads a data layout message.
    pub(super) fn read(file: &H5, data: &[u8], address: u64) -> Result<Self> {
        let mut at = file.fields(data, address);
        let version = at.uint(1)?;
        match version {
            1 | 2 => Self::old(&mut at, address),
            3..=5 => match at.uint(1)? {
                0 => {
                    at.skip(2)?;
                    Ok(Storage::Compact(address.saturating_add(at.done() as u64)))
                }
                1 => Ok(Storage::Contiguous(at.address()?)),
                2 if version == 3 => {
                    let rank = at.uint(1)? as usize;
                    let address = at.address()?;
                    let chunk = (1..rank).map(|_| at.uint(4)).collect::<Result<_>>()?;
                    Ok(Storage::Chunked(Chunked { chunk, plain_edges: false, index: Index::Tree, address }))
                }
                2 => Self::indexed(&mut at),
                3 => {
                    let (heap, number) = (at.address()?, at.uint(4)?);
                    Ok(Storage::Virtual(heap.map(|heap| (heap, number))))
                }
                other => Err(Error::unsupported(format!("a data layout of class {other}"))),
            },
            other => Err(Error::unsupported(format!("a data layout of version {other}, known are 1 to 5"))),
        }
    }

    /// Reads the list of the files that hold the data.
    pub(super) fn external(file: &H5, data: &[u8], address: u64) -> Result<Self> {
        let mut at = file.fields(data, address);
        let version = at.uint(1)?;
        if version != 1 {
            return Err(Error::unsupported(format!("a list of files of version {version}, known is 1")));
        }
        at.skip(5)?;
        let (count, heap) = (at.uint(2)?, at.defined("the names of the files of a dataset")?);
        let names = LocalHeap::read(file, heap)?;
        let unlimited = u64::MAX >> (64 - 8 * file.length_size());
        let slots = (0..count).map(|_| {
            let (name, offset, len) = (at.length()?, at.length()?, at.length()?);
            Ok(Slot { file: names.name(file, name)?, offset, len: (len != unlimited).then_some(len) })
        });
        Ok(Storage::External(slots.collect::<Result<_>>()?))
    }

    fn old(at: &mut Fields<'_>, message: u64) -> Result<Self> {
        let (rank, class) = (at.uint(1)? as usize, at.uint(1)?);
        at.skip(5)?;
        let address = if class == 0 { None } else { at.address()? };
        let mut dims = (0..rank).map(|_| at.uint(4)).collect::<Result<Vec<_>>>()?;
        match class {
            0 => {
                at.skip(4)?;
                Ok(Storage::Compact(message.saturating_add(at.done() as u64)))
            }
            1 => Ok(Storage::Contiguous(address)),
            2 => {
                // The last one is the size of an element.
                dims.pop();
                Ok(Storage::Chunked(Chunked { chunk: dims, plain_edges: false, index: Index::Tree, address }))
            }
            other => Err(Error::unsupported(format!("a data layout of class {other}"))),
        }
    }

    fn indexed(at: &mut Fields<'_>) -> Result<Self> {
        let (flags, rank, wide) = (at.uint(1)?, at.uint(1)? as usize, at.uint(1)? as usize);
        if wide > 8 || rank == 0 {
            return Err(Error::malformed("the lengths of chunks have a size that no number has").at_byte(at.position()));
        }
        let dims = (0..rank).map(|_| at.uint(wide)).collect::<Result<Vec<_>>>()?;
        let chunk = dims.get(..rank - 1).unwrap_or(&[]).to_vec();
        let index = match at.uint(1)? {
            1 if flags & 2 == 0 => Index::Single(None),
            1 => Index::Single(Some((at.length()?, at.uint(4)?))),
            2 => Index::Implicit,
            3 => {
                at.skip(1)?;
                Index::Fixed
            }
            4 => {
                at.skip(5)?;
                Index::Extensible
            }
            5 => {
                at.skip(6)?;
                Index::Tree2
            }
            other => return Err(Error::unsupported(format!("an index of chunks of kind {other}"))),
        };
        Ok(Storage::Chunked(Chunked { chunk, plain_edges: flags & 1 != 0, index, address: at.address()? }))
    }
}

/// The chunks of a dataset while they are found.
struct Found<'a> {
    chunk: &'a [u64],
    counts: Vec<u64>,
    chunks: Vec<Option<Chunk>>,
}

impl Found<'_> {
    /// A chunk by its place along each axis; those outside of the shape are left from when it was larger.
    fn put(&mut self, places: &[u64], chunk: Chunk) {
        if places.len() != self.counts.len() || places.iter().zip(&self.counts).any(|(place, count)| place >= count) {
            return;
        }
        let number =
            places.iter().zip(&self.counts).fold(0u64, |n, (place, count)| n.saturating_mul(*count).saturating_add(*place));
        if let Some(slot) = usize::try_from(number).ok().and_then(|number| self.chunks.get_mut(number)) {
            *slot = Some(chunk);
        }
    }
}

impl Chunked {
    /// Returns `true` if there is no index of chunks, since none was written.
    pub(super) fn is_unwritten(&self) -> bool {
        self.address.is_none()
    }

    /// Every chunk in row-major order; None if one was never written. `whole` is the bytes of a chunk without
    /// filters.
    pub(super) fn find(&self, file: &H5, shape: &[u64], most: &[u64], whole: u64, filtered: bool) -> Result<Vec<Option<Chunk>>> {
        if self.chunk.len() != shape.len() || self.chunk.contains(&0) || most.len() != shape.len() {
            return Err(Error::malformed("the chunks of a dataset do not fit its shape"));
        }
        let counts: Vec<u64> = shape.iter().zip(&self.chunk).map(|(len, chunk)| len.div_ceil(*chunk)).collect();
        let count = counts.iter().try_fold(1u64, |n, count| n.checked_mul(*count)).unwrap_or(u64::MAX);
        if count > file.limits.items {
            return Err(Limits::exceeded("items", file.limits.items, format_args!("a dataset has {count} chunks")));
        }
        let mut found = Found { chunk: &self.chunk, chunks: vec![None; count as usize], counts };
        let Some(root) = self.address else { return Ok(found.chunks) };
        match &self.index {
            Index::Tree => tree(file, root, &mut found)?,
            Index::Single(stored) => {
                let (size, mask) = stored.unwrap_or((whole, 0));
                found.put(&vec![0; shape.len()], Chunk { address: root, size, mask });
            }
            Index::Implicit => {
                for number in 0..count {
                    let address = root.saturating_add(number.saturating_mul(whole));
                    let places = unravel(number, &found.counts);
                    found.put(&places, Chunk { address, size: whole, mask: 0 });
                }
            }
            Index::Tree2 => tree2(file, root, whole, filtered, &mut found)?,
            Index::Fixed | Index::Extensible => {
                let entry = Entry { filtered, offsets: file.offset_size(), whole };
                let order = Order::of(most, &self.chunk, matches!(self.index, Index::Extensible));
                let mut take = |number: u64, at: &mut Fields<'_>| {
                    if let Some(chunk) = entry.read(at)? {
                        found.put(&order.places(number), chunk);
                    }
                    Ok(())
                };
                match self.index {
                    Index::Fixed => fixed(file, root, &mut take)?,
                    _ => super::extensible_array::walk(file, root, &mut take)?,
                }
            }
        }
        Ok(found.chunks)
    }
}

/// The order of the elements of an array of chunks: by the lengths that the axes may get, the one without an end
/// first.
struct Order {
    counts: Vec<u64>,
    /// The axis that comes first.
    first: usize,
}

impl Order {
    fn of(most: &[u64], chunk: &[u64], extensible: bool) -> Self {
        let mut counts: Vec<u64> = most.iter().zip(chunk).map(|(len, chunk)| len.div_ceil(*chunk)).collect();
        let first = if extensible { most.iter().position(|len| *len == u64::MAX).unwrap_or(0) } else { 0 };
        let count = counts.remove(first.min(counts.len().saturating_sub(1)));
        counts.insert(0, count);
        Self { counts, first }
    }

    fn places(&self, number: u64) -> Vec<u64> {
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
struct Entry {
    filtered: bool,
    offsets: usize,
    whole: u64,
}

impl Entry {
    fn read(&self, at: &mut Fields<'_>) -> Result<Option<Chunk>> {
        // A size is as wide as is left between address and mask.
        let sizes = at.rest().len().saturating_sub(self.offsets + 4);
        let address = at.address()?;
        let (size, mask) = if self.filtered { (at.uint(sizes.min(8))?, at.uint(4)?) } else { (self.whole, 0) };
        Ok(address.map(|address| Chunk { address, size, mask }))
    }
}

/// A B-tree of version 1: sizes, masks and offsets of elements.
fn tree(file: &H5, root: u64, found: &mut Found<'_>) -> Result<()> {
    let rank = found.chunk.len();
    btree::v1(file, root, true, 8 + 8 * (rank + 1), &mut |key, address| {
        let (size, mask) = (key.uint(4)?, key.uint(4)?);
        let mut places = Vec::with_capacity(rank);
        for chunk in found.chunk {
            places.push(key.uint(8)? / chunk);
        }
        found.put(&places, Chunk { address, size, mask });
        Ok(())
    })
}

/// A B-tree of version 2: addresses, sizes and masks if there are filters, and places.
fn tree2(file: &H5, root: u64, whole: u64, filtered: bool, found: &mut Found<'_>) -> Result<()> {
    let rank = found.chunk.len();
    btree::v2(file, root, &mut |_, at| {
        let sizes = at.rest().len().checked_sub(file.offset_size() + 4 + 8 * rank).filter(|_| filtered);
        let address = at.address()?;
        let (size, mask) = match sizes {
            Some(sizes) if sizes <= 8 => (at.uint(sizes)?, at.uint(4)?),
            _ => (whole, 0),
        };
        let places = (0..rank).map(|_| at.uint(8)).collect::<Result<Vec<_>>>()?;
        if let Some(address) = address {
            found.put(&places, Chunk { address, size, mask });
        }
        Ok(())
    })
}

/// A fixed array, whose elements may be in pages.
fn fixed(file: &H5, root: u64, take: Take<'_>) -> Result<()> {
    let head = file.bytes_up_to(root, 64)?;
    file.signed(&head, b"FAHD", root)?;
    let mut at = file.fields(&head, root);
    at.skip(6)?;
    let (entry, bits, count) = (at.uint(1)?, at.uint(1)?, at.length()?);
    let Some(block) = at.address()? else { return Ok(()) };
    if count > file.limits.items || entry == 0 || bits > 32 {
        return Err(Limits::exceeded("items", file.limits.items, format_args!("an index has {count} chunks")));
    }
    let front = (6 + file.offset_size()) as u64;
    let page = 1u64 << bits;
    let start = file.bytes(block, front)?;
    file.signed(&start, b"FADB", block)?;
    if count <= page {
        return run(file, block.saturating_add(front), entry, 0..count, take);
    }
    let map = file.bytes(block.saturating_add(front), count.div_ceil(page).div_ceil(8))?;
    // A checksum follows the map.
    let from = block.saturating_add(front).saturating_add(map.len() as u64).saturating_add(4);
    paged(file, from, (entry, page), &map, 0..count, take)
}
