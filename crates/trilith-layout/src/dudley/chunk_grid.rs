//! Arrays in chunks: what their attributes make of the raw items that hold them.
//!
//! The annotated item is what is in the file, declared as exactly that: a list with one item for each chunk in
//! row-major order (one of length 0 if a chunk was never written), one item that is the only chunk, or
//! the table that says in the file itself where the chunks are.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use super::chunk_table::{CachedIndex, ChunkLocation, ChunkTable, Places, TableColumn};
use super::datatype::datatype_of;
use super::grid_chunks::GridChunks;
use super::grid_strings::GridStrings;
use super::virtual_array::{VirtualArraySource, VirtualSource};
use crate::array::{Array, Byteorder, Datatype, fortran_strides};
use crate::array::{ChunkShape, ChunkedSource};
#[cfg(feature = "zlib")]
use crate::bytes::WindowSource;
use crate::bytes::{SourceRef, to_usize};
#[cfg(feature = "zlib")]
use crate::codec;
use crate::codec::filter::FilterPipeline;
use crate::error::{Error, Result};
use crate::layout::{
    ChunkIndex, GridAttributes, ItemId, ItemKind, Layout, LayoutEntry, StoredChunk, StreamEntryKind, TypeAndDims,
};
use crate::limits::Limits;
use crate::progress::Progress;
use crate::threads;

/// A gridded array.
#[derive(Debug)]
pub struct ChunkedArray {
    chunking: ChunkShape,
    /// Datatype of the elements. The length of text is a part of it, and is not an axis of the shape.
    datatype: Datatype,
    order: Byteorder,
    places: Places,
    count: u64,
    filters: FilterPipeline,
    /// Bytes that go before those of each chunk.
    header_bytes: Arc<Vec<u8>>,
    mask: Arc<Vec<u64>>,
    /// The bytes of an element that was never written: as it is stored, if it is a struct with parts that are decoded.
    fill_value: Vec<u8>,
    is_column_major: bool,
    /// The number of axes that the array has besides those of its elements.
    axes: usize,
    /// The arrays of which it is put together, instead of chunks.
    slabs: Vec<VirtualSource>,
    /// Elements whose strings are elsewhere, or are padded.
    strings: Option<Arc<GridStrings>>,
}

/// The comparison of the checksums of chunks.
#[derive(Debug)]
pub struct ChunkChecksums {
    /// The filter that has the checksum.
    pub filter: String,
    /// Number of chunks that were compared.
    pub count: u64,
    /// The error of the first chunk that differs.
    pub wrong: Option<Error>,
}

/// Grids while the items of a file are gone through, by the paths of the items that are annotated.
#[derive(Default)]
pub(super) struct GridCollector {
    items: HashSet<ItemId>,
    found: Vec<(String, ItemId, Vec<LayoutEntry>)>,
    spec_by_item: HashMap<String, usize>,
}

impl GridCollector {
    /// The annotated items of a layout.
    pub(super) fn new(layout: &Layout) -> Self {
        let mut items = HashSet::new();
        if layout.may_have_grids() {
            items.extend((0..layout.item_count()).filter_map(|at| layout.item_at(at)).filter(|item| layout.is_grid(*item)));
        }
        Self { items, ..Self::default() }
    }

    /// The path of the grid that an entry is a part of, and whether it is the first.
    pub(super) fn claim_entry(&mut self, entry: &LayoutEntry, layout: &Layout) -> Option<(String, bool)> {
        let parent = layout.parent(entry.item);
        let in_struct = !parent.is_some_and(|parent| matches!(layout.kind(parent), ItemKind::Dict | ItemKind::List));
        if self.items.is_empty() || entry.kind != StreamEntryKind::Data || in_struct {
            return None;
        }
        let (item, path) = match parent {
            _ if self.items.contains(&entry.item) => (entry.item, entry.path.as_str()),
            Some(list) if self.items.contains(&list) => (list, entry.path.rsplit_once('[')?.0),
            _ => return None,
        };
        let known = self.spec_by_item.get(path).copied();
        let at = known.unwrap_or_else(|| {
            self.found.push((path.to_owned(), item, Vec::new()));
            self.spec_by_item.insert(path.to_owned(), self.found.len() - 1);
            self.found.len() - 1
        });
        if let Some((_, _, entries)) = self.found.get_mut(at) {
            // The type of all is that of the first.
            entries.push(if entries.is_empty() { entry.clone() } else { LayoutEntry { path: String::new(), ..entry.clone() } });
        }
        Some((path.to_owned(), known.is_none()))
    }

    /// The grids with their entries; why one cannot be read is in its place. `find` gives the items of the stream by
    /// their paths; `base` is the byte at which it begins, and `len` its number of bytes.
    pub(super) fn into_grids(
        self,
        find: &dyn Fn(&str) -> Option<LayoutEntry>,
        (base, len): (u64, u64),
        layout: &Layout,
        limits: &Limits,
    ) -> Result<Vec<(LayoutEntry, Result<ChunkedArray>)>> {
        let mut types = HashMap::new();
        let mut all = Vec::with_capacity(self.found.len());
        for (path, item, entries) in self.found {
            let Some(first) = entries.first() else { continue };
            let mut whole = LayoutEntry { path, item, ..first.clone() };
            whole.nbytes = Some(entries.iter().filter_map(|entry| entry.nbytes).fold(0, u64::saturating_add));
            whole.address = entries.iter().find_map(|entry| entry.address);
            let index = layout.indexed_array(item).map(|array| &array.index);
            let spec = GridSpec { item_paths: find, len, index };
            let grid = GridAttributes::from_layout(layout, item)
                .and_then(|stated| spec.build_grid(&stated, &mut whole, &entries, base, &mut types, limits));
            all.push((whole, grid));
        }
        Ok(all)
    }
}

/// The file in which a grid is.
struct GridSpec<'s> {
    item_paths: &'s dyn Fn(&str) -> Option<LayoutEntry>,
    /// Bytes of the stream.
    len: u64,
    /// The index of the chunks, if they are not items.
    index: Option<&'s Arc<dyn ChunkIndex>>,
}

impl GridSpec<'_> {
    fn build_grid(
        &self,
        stated: &GridAttributes<'_>,
        whole: &mut LayoutEntry,
        entries: &[LayoutEntry],
        base: u64,
        types: &mut HashMap<String, TypeAndDims>,
        limits: &Limits,
    ) -> Result<ChunkedArray> {
        let (mut shape, mut chunk) = (stated.shape.clone(), stated.chunk.clone());
        whole.shape.clone_from(&shape);
        if let Some(typed) = stated.element_type {
            let key = typed.to_string();
            if !types.contains_key(&key) {
                types.insert(key.clone(), typed.resolve(limits)?);
            }
            if let Some((typed, dims, spelled)) = types.get(&key) {
                whole.resolved_type = typed.clone();
                whole.datatype.clone_from(spelled);
                shape.extend(dims);
                chunk.extend(dims);
            }
        }
        whole.shape.clone_from(&shape);
        let (own, axes) = (stated.shape.len(), shape.len());
        let (datatype, order) = datatype_of(&whole.resolved_type, &mut shape)?;
        datatype.check_width(self.len)?;
        if shape.len() < axes && chunk.pop() != whole.shape.last().copied() {
            return Err(Error::malformed("the chunks of a grid cut its strings"));
        }
        let strings = match stated.parts {
            Some(parts) => {
                let size = datatype.item_size();
                Some(Arc::new(GridStrings::new(parts, stated.part_filters, stated.references, size)?))
            }
            None => None,
        };
        // Structs whose parts are decoded have the fill value as it is stored.
        let parts = strings.as_ref().filter(|_| datatype.as_struct().is_some());
        let stored_size = parts.map_or(to_usize(datatype.item_size())?, |parts| parts.element_size());
        let cut = ChunkShape { shape, chunk, item: datatype.item_size(), trims_edges: stated.trims_edges };
        let places = self.chunk_locations(stated, entries, &cut, base, limits)?;
        Ok(ChunkedArray {
            fill_value: stated.fill_bytes(&datatype, order, stored_size)?,
            datatype,
            order,
            count: cut.counts().iter().fold(1, |n: u64, count| n.saturating_mul(*count)),
            chunking: cut,
            places,
            filters: FilterPipeline::from_steps(stated.filters),
            is_column_major: stated.is_column_major,
            axes: own,
            slabs: match stated.sources {
                Some(paths) => VirtualSource::parse_spans(paths, stated.slabs, own)?,
                None => Vec::new(),
            },
            header_bytes: Arc::new(stated.header_bytes.to_vec()),
            mask: Arc::new(stated.masks.to_vec()),
            strings,
        })
    }

    /// Returns the places of the chunks.
    fn chunk_locations(
        &self,
        stated: &GridAttributes<'_>,
        entries: &[LayoutEntry],
        cut: &ChunkShape,
        base: u64,
        limits: &Limits,
    ) -> Result<Places> {
        if let Some(index) = self.index {
            return Ok(Places::Indexed(Arc::new(CachedIndex::new(Arc::clone(index), limits))));
        }
        let count = cut.counts().iter().try_fold(1u64, |n, count| n.checked_mul(*count));
        if let Some(table) = &stated.table {
            let [own] = entries else {
                return Err(Error::malformed(
                    "the byte offsets of chunks are those of a list of items, expected one that is a table",
                ));
            };
            let column = |said: &str| TableColumn::column_for(said, own, self.item_paths, base);
            return Ok(Places::Table(Box::new(ChunkTable {
                offset_column: column(table.offsets)?,
                length_column: table.lengths.map(column).transpose()?,
                mask: table.masks.map(column).transpose()?,
                base: base.saturating_add(table.base),
                default_len: cut.chunk.iter().fold(cut.item, |n, len| n.saturating_mul(*len)),
                count: count.ok_or_else(|| Error::malformed("its shape needs more chunks than any file has"))?,
                read: OnceLock::new(),
            })));
        }
        if count != Some(entries.len() as u64) {
            let wanted = count.map_or("more".to_owned(), |count| count.to_string());
            return Err(Error::malformed(format!("its shape needs chunks: {wanted}, found {}", entries.len())));
        }
        let piece = |entry: &LayoutEntry| match (entry.address, entry.nbytes) {
            (Some(at), Some(len)) => Ok(ChunkLocation { offset: at.saturating_add(base), len }),
            (None, Some(0)) => Ok(ChunkLocation { offset: 0, len: 0 }),
            _ => Err(Error::malformed("the place of a chunk is not known")),
        };
        Ok(Places::Listed(Arc::new(entries.iter().map(piece).collect::<Result<Vec<_>>>()?)))
    }
}

impl ChunkedArray {
    /// The array; no chunk is decoded.
    ///
    /// # Errors
    /// Returns the errors of [`ChunkedSource::new`].
    pub fn array(&self, source: &SourceRef, limits: &Limits) -> Result<Array> {
        let limits = Arc::new(limits.clone());
        let (datatype, shape) = (self.datatype.clone(), self.chunking.shape.clone());
        let index = self.places.read_chunk_index(source, &self.mask, &limits)?;
        if self.header_bytes.is_empty()
            && self.strings.is_none()
            && self.chunking.shape == self.chunking.chunk
            && index.count() == 1
            && let Some(piece) = index.chunk(0)?
            && let Some((source, at)) = self.single_chunk_source(source, &piece, &limits)?
        {
            // A single chunk is used directly, in either order of its elements.
            let strides = match self.is_column_major {
                true => {
                    let (own, within) = shape.split_at(self.axes.min(shape.len()));
                    let within = crate::array::c_strides(within, datatype.item_size())?;
                    fortran_strides(own, self.in_columns().item)?.into_iter().chain(within).collect()
                }
                false => crate::array::c_strides(&shape, datatype.item_size())?,
            };
            let array = Array::strided(source, at, datatype, self.order, shape, strides)?;
            return Ok(array.with_limits(limits));
        }
        let fill = self.decoded_fill(source, &limits)?;
        let stored = self.stored_chunks(source, index, &limits);
        let grid = ChunkedSource::new(self.chunking.clone(), Box::new(stored), fill, Arc::clone(&limits))?;
        Ok(Array::chunked(Arc::new(grid), datatype, self.order, shape)?.with_limits(limits))
    }

    /// The bytes of an element that was never written, as it is read.
    fn decoded_fill(&self, source: &SourceRef, limits: &Limits) -> Result<Vec<u8>> {
        match &self.strings {
            Some(strings) if self.datatype.as_struct().is_some() && self.fill_value.len() == strings.element_size() => {
                strings.decode_elements(&self.fill_value, self.datatype.item_size(), source, limits)
            }
            _ => Ok(self.fill_value.clone()),
        }
    }

    fn stored_chunks(&self, source: &SourceRef, index: Arc<dyn ChunkIndex>, limits: &Arc<Limits>) -> GridChunks {
        GridChunks {
            source: source.clone(),
            index,
            filters: self.filters.clone(),
            columns: self.is_column_major.then(|| self.in_columns()),
            strings: self.strings.clone(),
            header_bytes: Arc::clone(&self.header_bytes),
            limits: Arc::clone(limits),
        }
    }

    /// Compares the checksums that its filters have. Each chunk is decoded as far as the order of the filters needs. Returns the
    /// name of the filter, the number of chunks that state a checksum, and the error of the first one that differs; None for an array
    /// without such a filter. `progress` receives the number of bytes read.
    ///
    /// # Errors
    /// Returns the errors of [`ChunkedArray::check_index`], and those of reading.
    pub fn compare_checksums(
        &self,
        source: &SourceRef,
        limits: &Limits,
        progress: Progress<'_>,
    ) -> Result<Option<ChunkChecksums>> {
        let Some(filter) = self.filters.checksum_filter().filter(|_| !self.is_mapped()) else { return Ok(None) };
        let limits = Arc::new(limits.clone());
        let index = self.places.read_chunk_index(source, &self.mask, &limits)?;
        let mut chunks = Vec::new();
        index.for_each(&mut |number, chunk| {
            limits.charge_memory((chunks.len() as u64).saturating_mul(32), "the index of chunks")?;
            chunks.push((number, chunk));
            Ok(())
        })?;
        let stored = self.stored_chunks(source, index, &limits);
        let size = self.chunking.chunk.iter().fold(self.chunking.item, |n, len| n.saturating_mul(*len));
        let compared = threads::map_parallel(chunks, |(number, chunk)| {
            progress.add(chunk.len);
            match stored.compare_checksum(chunk, size) {
                Ok(true) => Ok(Some(Ok(()))),
                Ok(false) => Ok(None),
                Err(error) if error.kind().is_transient() => Err(error),
                Err(error) => Ok(Some(Err(error.context(format!("chunk {number}"))))),
            }
        })?;
        let compared: Vec<Result<()>> = compared.into_iter().flatten().collect();
        let count = compared.len() as u64;
        Ok(Some(ChunkChecksums { filter: filter.to_owned(), count, wrong: compared.into_iter().find_map(Result::err) }))
    }

    /// Returns `true` if the file stores bytes of the elements for which the filters have no checksum: chunks to which none was applied,
    /// or strings in a heap. `is_covered` returns `true` for a range of the file that another checksum covers.
    ///
    /// # Errors
    /// Returns the errors of [`ChunkedArray::check_index`].
    pub fn has_bytes_without_checksum(
        &self,
        source: &SourceRef,
        limits: &Limits,
        is_covered: &dyn Fn(Range<u64>) -> bool,
    ) -> Result<bool> {
        if self.is_mapped() {
            return Ok(false);
        }
        let has_heap_parts = self.strings.as_ref().is_some_and(|strings| strings.has_heap_parts());
        let index = self.places.read_chunk_index(source, &self.mask, &Arc::new(limits.clone()))?;
        let mut found = false;
        index.for_each(&mut |_, chunk| {
            let range = chunk.offset..chunk.offset.saturating_add(chunk.len);
            let has_sum = || self.filters.find_checksum(chunk.skipped_filters).is_some() || is_covered(range);
            found = found || has_heap_parts || !has_sum();
            Ok(())
        })?;
        Ok(found)
    }

    /// The bytes of the only chunk and the place of its elements, if the chunk is stored unchanged, or as a stream that is decoded
    /// from front to back.
    #[cfg_attr(not(feature = "zlib"), allow(unused_variables, clippy::unnecessary_wraps, reason = "only streams need them"))]
    fn single_chunk_source(&self, source: &SourceRef, piece: &StoredChunk, limits: &Limits) -> Result<Option<(SourceRef, u64)>> {
        if self.filters.is_empty() {
            return Ok(Some((source.clone(), piece.offset)));
        }
        #[cfg(feature = "zlib")]
        if let Some((skipped, crc)) = self.filters.of_member()
            && piece.skipped_filters == 0
        {
            let elements = self.chunking.shape.iter().try_fold(self.chunking.item, |n, len| n.checked_mul(*len));
            let Some(len) = elements.and_then(|n| n.checked_add(skipped)) else { return Ok(None) };
            if len > piece.len.saturating_mul(limits.zlib_ratio).saturating_add(1024) {
                let what = format_args!("{} bytes decode to {len}", piece.len);
                return Err(Limits::exceeded_error("zlib_ratio", limits.zlib_ratio, what));
            }
            let stored = WindowSource::new(source.clone(), piece.offset, piece.len)?;
            return Ok(Some((codec::zlib::member(Arc::new(stored), len, crc, limits), skipped)));
        }
        Ok(None)
    }

    /// The cut of arrays in columns: axes within elements are in the order of C.
    fn in_columns(&self) -> ChunkShape {
        let mut cut = self.chunking.clone();
        let within = cut.shape.split_off(self.axes.min(cut.shape.len()));
        cut.chunk.truncate(cut.shape.len());
        cut.item = within.iter().fold(cut.item, |n, len| n.saturating_mul(*len));
        cut
    }

    /// Returns `true` if it is put together of other arrays.
    pub fn is_mapped(&self) -> bool {
        !self.slabs.is_empty()
    }

    /// Returns a byte of the layout before which all chunks end, and what their elements lead to.
    pub fn end(&self) -> u64 {
        let strings = self.strings.as_ref().map_or(0, |strings| strings.base_offset());
        match &self.places {
            Places::Listed(pieces) => pieces.iter().map(|piece| piece.offset.saturating_add(piece.len)).fold(strings, u64::max),
            Places::Indexed(index) => index.end().max(strings),
            Places::Table(_) => strings,
        }
    }

    /// Reads the places of all chunks, to find out whether their index can be read.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if the index is damaged, or a chunk is not in the `len` bytes of
    /// the file.
    pub fn check_index(&self, source: &SourceRef, limits: &Limits) -> Result<()> {
        let len = source.len();
        let index = self.places.read_chunk_index(source, &self.mask, &Arc::new(limits.clone()))?;
        index.for_each(&mut |number, chunk| match chunk.offset.checked_add(chunk.len) {
            Some(end) if end <= len => Ok(()),
            _ => {
                let place = format!("chunk {number} has {} bytes at byte {}", chunk.len, chunk.offset);
                Err(Error::malformed(format!("{place}, the file has {len}")).at_byte(chunk.offset))
            }
        })
    }

    /// Refuses filters that are not available and were applied to a chunk.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for such a filter, and the errors of [`ChunkedArray::check_index`].
    pub fn check_filters(&self, source: &SourceRef, limits: &Limits) -> Result<()> {
        if self.filters.check_available(0, limits).is_ok() {
            return Ok(());
        }
        let index = self.places.read_chunk_index(source, &self.mask, &Arc::new(limits.clone()))?;
        index.for_each(&mut |_, chunk| match chunk.len {
            0 => Ok(()),
            _ => self.filters.check_available(chunk.skipped_filters, limits),
        })
    }

    /// The array that is put together of others, each of which `find` returns by its path.
    ///
    /// # Errors
    /// Returns `Malformed` if the elements of a source are others, `Unsupported` if they are not in rows.
    pub fn mapped(&self, name: &str, limits: &Limits, find: &mut dyn FnMut(&str) -> Result<Array>) -> Result<Array> {
        let shape = self.chunking.shape.get(..self.axes).unwrap_or(&self.chunking.shape);
        let inner = self.chunking.shape.get(self.axes..).unwrap_or(&[]);
        // An element may have axes; each of its parts is filled.
        let count = inner.iter().try_fold(1u64, |n, len| n.checked_mul(*len)).unwrap_or(u64::MAX);
        limits.charge_memory(count.saturating_mul(self.datatype.item_size()), "an element")?;
        let mut mapped = VirtualArraySource::new(name, shape, self.fill_value.repeat(to_usize(count)?))?;
        for slab in &self.slabs {
            let array = find(&slab.path)?;
            let own = array.shape().strip_suffix(inner);
            let is_same =
                *array.datatype() == self.datatype && (array.byteorder() == self.order || self.datatype.item_size() == 1);
            let (Some(own), true, true) = (own, is_same, array.is_c_contiguous()) else {
                return Err(Error::malformed(format!("the elements of {} are not those of what is made of them", slab.path)));
            };
            mapped.push(slab, shape, Arc::clone(array.source()), (array.offset(), own))?;
        }
        let array = Array::new(Arc::new(mapped), 0, self.datatype.clone(), self.order, self.chunking.shape.clone())?;
        Ok(array.with_limits(Arc::new(limits.clone())))
    }

    /// Returns the number of bytes of its elements, as they are decoded.
    pub fn nbytes(&self) -> u64 {
        self.chunking.shape.iter().fold(self.datatype.item_size(), |n, len| n.saturating_mul(*len))
    }

    /// Describes its storage, in a few words.
    pub fn storage(&self) -> String {
        if self.is_mapped() {
            return format!("parts of {} arrays", self.slabs.len());
        }
        let chunk: Vec<String> = self.chunking.chunk.iter().map(u64::to_string).collect();
        let count = self.count;
        let plural = if count == 1 { "" } else { "s" };
        format!("{count} chunk{plural} of [{}]", chunk.join(", "))
    }

    /// The filters of its chunks, as they are written; None without.
    pub fn filters(&self) -> Option<String> {
        let steps = self.filters.to_coding_steps();
        let words: Vec<String> = steps.iter().map(ToString::to_string).collect();
        Some(words.join(" ")).filter(|words| !words.is_empty())
    }
}
