//! Arrays in chunks: what attributes `grid_…` make of the raw items that hold them.
//!
//! The annotated item is what is in the file, declared as exactly that: a list with one item for each chunk in
//! row-major order (one of length 0 if a chunk was never written), one item that is the only chunk, or, with `grid_at`,
//! the table that says in the file itself where the chunks are.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use super::chunk_table::{CachedIndex, ChunkLocation, ChunkTable, Places, TableColumn};
use super::datatype::datatype_of;
use super::grid_chunks::GridChunks;
use super::grid_strings::GridStrings;
use super::virtual_array::{VirtualArraySource, VirtualSource};
use crate::array::{Array, Byteorder, Datatype, fortran_strides};
use crate::array::{ChunkShape, ChunkedSource};
use crate::bytes::SourceRef;
#[cfg(feature = "zlib")]
use crate::bytes::WindowSource;
#[cfg(feature = "zlib")]
use crate::codec;
use crate::codec::filter::FilterPipeline;
use crate::error::{Error, Result};
use crate::layout::{
    Attribute, ChunkIndex, Dialect, EvaluateOptions, FACTORS_ATTRIBUTE, ItemId, ItemKind, Layout, LayoutEntry, LayoutLiteral,
    ParseOptions, ResolvedType, StoredChunk, StreamEntryKind, VALID_ATTRIBUTE, parse, read_own,
};
use crate::limits::Limits;
use crate::progress::Progress;
use crate::threads;

/// The name of the attribute that makes an item a grid, with `grid_chunk`.
const SHAPE_ATTRIBUTE: &str = "grid_shape";

/// Start of the attribute names about the storage of a grid.
pub(super) const GRID_PREFIX: &str = "grid_";

/// The attributes about the meaning of the elements.
pub const MEANING: &[&str] = &["grid_dims", "grid_float32", "grid_integers", "grid_types", FACTORS_ATTRIBUTE, VALID_ATTRIBUTE];

/// The attributes about the axes in the file: the one that became the length of strings, and those without an end.
pub(super) const AXIS_ATTRIBUTES: &[&str] = &["grid_chars", "grid_unlimited"];

/// Returns `true` if a layout may have grids.
pub(super) fn may_have_grids(layout: &Layout) -> bool {
    layout.has_attribute_name(SHAPE_ATTRIBUTE)
}

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
    /// The filters as they are written.
    attributes: String,
    /// Bytes that go before those of each chunk.
    header_bytes: Arc<Vec<u8>>,
    mask: Arc<Vec<u64>>,
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
    specs: HashMap<ItemId, HashMap<String, Attribute>>,
    found: Vec<(String, ItemId, Vec<LayoutEntry>)>,
    spec_by_item: HashMap<String, usize>,
}

impl GridCollector {
    /// The annotated items of a layout.
    pub(super) fn new(layout: &Layout) -> Self {
        let mut specs = HashMap::new();
        if may_have_grids(layout) {
            for item in (0..layout.item_count()).filter_map(|at| layout.item_at(at)) {
                let said = layout.attributes(item).filter(|(name, _)| name.starts_with(GRID_PREFIX));
                let said: HashMap<String, Attribute> = said.map(|(name, value)| (name.to_owned(), value.clone())).collect();
                if said.contains_key(SHAPE_ATTRIBUTE) && said.contains_key("grid_chunk") {
                    specs.insert(item, said);
                }
            }
        }
        Self { specs, ..Self::default() }
    }

    /// The path of the grid that an entry is a part of, and whether it is the first.
    pub(super) fn claim_entry(&mut self, entry: &LayoutEntry, layout: &Layout) -> Option<(String, bool)> {
        let parent = layout.parent(entry.item);
        let in_struct = !parent.is_some_and(|parent| matches!(layout.kind(parent), ItemKind::Dict | ItemKind::List));
        if self.specs.is_empty() || entry.kind != StreamEntryKind::Data || in_struct {
            return None;
        }
        let (item, path) = match parent {
            _ if self.specs.contains_key(&entry.item) => (entry.item, entry.path.as_str()),
            Some(list) if self.specs.contains_key(&list) => (list, entry.path.rsplit_once('[')?.0),
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
            let (Some(said), Some(first)) = (self.specs.get(&item), entries.first()) else { continue };
            let mut whole = LayoutEntry { path, item, ..first.clone() };
            whole.nbytes = Some(entries.iter().filter_map(|entry| entry.nbytes).fold(0, u64::saturating_add));
            whole.address = entries.iter().find_map(|entry| entry.address);
            let index = layout.indexed_array(item).map(|array| &array.index);
            let spec = GridSpec { attributes: said, item_paths: find, len, index };
            let grid = spec.build_grid(&mut whole, &entries, base, &mut types, limits);
            all.push((whole, grid));
        }
        Ok(all)
    }
}

/// A type and the dimensions that come with it.
type TypeAndDims = (ResolvedType, Vec<u64>, String);

/// The attributes of a grid.
struct GridSpec<'s> {
    attributes: &'s HashMap<String, Attribute>,
    item_paths: &'s dyn Fn(&str) -> Option<LayoutEntry>,
    /// Bytes of the stream.
    len: u64,
    /// The index of the chunks, if they are not items.
    index: Option<&'s Arc<dyn ChunkIndex>>,
}

impl GridSpec<'_> {
    fn build_grid(
        &self,
        whole: &mut LayoutEntry,
        entries: &[LayoutEntry],
        base: u64,
        types: &mut HashMap<String, TypeAndDims>,
        limits: &Limits,
    ) -> Result<ChunkedArray> {
        for name in ["grid_scale", "grid_offset", "grid_blank"] {
            if self.attributes.contains_key(name) {
                return Err(Error::unsupported(format!("a grid of chunks with the attribute {name}")));
            }
        }
        let (mut shape, mut chunk) = (self.parse_lengths(SHAPE_ATTRIBUTE)?, self.parse_lengths("grid_chunk")?);
        if shape.len() != chunk.len() || chunk.contains(&0) {
            return Err(Error::malformed(format!("grid_chunk {chunk:?} does not fit grid_shape {shape:?}")));
        }
        whole.shape.clone_from(&shape);
        let (typed, dims) = match self.string_attribute("grid_type")? {
            None => (whole.resolved_type.clone(), Vec::new()),
            Some(text) => {
                if !types.contains_key(text) {
                    types.insert(text.to_owned(), typed_of(text, limits)?);
                }
                let found = types.get(text).cloned();
                let (typed, dims, spelled) = found.ok_or_else(|| Error::malformed(format!("grid_type {text:?}")))?;
                whole.datatype = spelled;
                (typed, dims)
            }
        };
        whole.resolved_type = typed;
        shape.extend(&dims);
        chunk.extend(&dims);
        whole.shape.clone_from(&shape);
        let (own, axes) = (self.parse_lengths(SHAPE_ATTRIBUTE)?.len(), shape.len());
        let (datatype, order) = datatype_of(&whole.resolved_type, &mut shape)?;
        datatype.check_width(self.len)?;
        if shape.len() < axes && chunk.pop() != whole.shape.last().copied() {
            return Err(Error::malformed("the chunks of a grid cut its strings"));
        }
        let cut_edges = self.enum_attribute("grid_edge", &["full", "cut"])? == 1;
        let strings = match self.attributes.contains_key("grid_strings") {
            true => {
                let words = self.string_attribute("grid_numbers")?.unwrap_or("");
                Some(Arc::new(GridStrings::from_attribute(&self.parse_lengths("grid_strings")?, words, datatype.item_size())?))
            }
            false => None,
        };
        let cut = ChunkShape { shape, chunk, item: datatype.item_size(), trims_edges: cut_edges };
        let words = self.string_attribute("grid_filters")?.unwrap_or("");
        let places = self.chunk_locations(entries, &cut, base, limits)?;
        Ok(ChunkedArray {
            fill_value: self.fill_value(&datatype, order)?,
            datatype,
            order,
            count: cut.counts().iter().fold(1, |n: u64, count| n.saturating_mul(*count)),
            chunking: cut,
            places,
            filters: FilterPipeline::parse(words)?,
            attributes: words.to_owned(),
            header_bytes: Arc::new(self.parse_head_bytes()?),
            mask: Arc::new(if self.has_masks() { self.parse_lengths("grid_mask")? } else { Vec::new() }),
            is_column_major: self.enum_attribute("grid_order", &["C", "F"])? == 1,
            axes: own,
            slabs: self.parse_slabs(own)?,
            strings,
        })
    }

    /// Returns the places of the chunks.
    fn chunk_locations(&self, entries: &[LayoutEntry], cut: &ChunkShape, base: u64, limits: &Limits) -> Result<Places> {
        if let Some(index) = self.index {
            return Ok(Places::Indexed(Arc::new(CachedIndex::new(Arc::clone(index), limits))));
        }
        let count = cut.counts().iter().try_fold(1u64, |n, count| n.checked_mul(*count));
        if let Some(said) = self.string_attribute("grid_at")? {
            let [own] = entries else { return Err(Error::malformed("grid_at on a list of items, expected one that is a table")) };
            let column = |said: &str| TableColumn::column_for(said, own, self.item_paths, base);
            let named = |name: &str| self.string_attribute(name)?.map(column).transpose();
            let number = match self.attributes.get("grid_base") {
                None => Some(0),
                Some(Attribute::Value(LayoutLiteral::Integer(number))) => u64::try_from(*number).ok(),
                Some(_) => None,
            };
            let number = number.ok_or_else(|| Error::malformed("grid_base is not a byte of the file"))?;
            return Ok(Places::Table(Box::new(ChunkTable {
                offset_column: column(said)?,
                length_column: named("grid_bytes")?,
                mask: if self.has_masks() { None } else { named("grid_mask")? },
                base: base.saturating_add(number),
                default_len: cut.chunk.iter().fold(cut.item, |n, len| n.saturating_mul(*len)),
                count: count.ok_or_else(|| Error::malformed("its shape needs more chunks than any file has"))?,
                read: OnceLock::new(),
            })));
        }
        if let Some(name) = ["grid_bytes", "grid_base"].into_iter().find(|name| self.attributes.contains_key(*name)) {
            return Err(Error::malformed(format!("{name} without grid_at, which names the column of byte offsets")));
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

    /// The arrays of which the grid is put together.
    fn parse_slabs(&self, axes: usize) -> Result<Vec<VirtualSource>> {
        let wrong = || Error::malformed("grid_sources is not a list of paths");
        let path = |value: &LayoutLiteral| match value {
            LayoutLiteral::Text(path) => Ok(read_own(path).into_owned()),
            _ => Err(wrong()),
        };
        let paths = match self.attributes.get("grid_sources") {
            None => return Ok(Vec::new()),
            Some(Attribute::List(list)) => list.iter().map(path).collect::<Result<_>>()?,
            Some(_) => return Err(wrong()),
        };
        VirtualSource::parse_spans(paths, &self.parse_lengths("grid_slabs")?, axes)
    }

    /// Returns `true` if the masks are in the layout, and not in a column.
    fn has_masks(&self) -> bool {
        matches!(self.attributes.get("grid_mask"), Some(Attribute::List(_)))
    }

    fn parse_lengths(&self, name: &str) -> Result<Vec<u64>> {
        let wrong = || Error::malformed(format!("{name} is not a list of lengths"));
        let length = |value: &LayoutLiteral| match value {
            LayoutLiteral::Integer(value) => u64::try_from(*value).map_err(|_| wrong()),
            _ => Err(wrong()),
        };
        match self.attributes.get(name) {
            Some(Attribute::List(list)) => list.iter().map(length).collect(),
            // A grid without axes has no numbers in brackets.
            Some(Attribute::Flag) => Ok(Vec::new()),
            Some(Attribute::Value(LayoutLiteral::Text(text))) if text.is_empty() => Ok(Vec::new()),
            _ => Err(wrong()),
        }
    }

    fn string_attribute(&self, name: &str) -> Result<Option<&str>> {
        match self.attributes.get(name) {
            None => Ok(None),
            Some(Attribute::Value(LayoutLiteral::Text(text))) => Ok(Some(text)),
            Some(_) => Err(Error::malformed(format!("{name} is not a text in quotes"))),
        }
    }

    /// Returns the number of an attribute's word in a list, and the first if the attribute is left out.
    fn enum_attribute(&self, name: &str, words: &[&str]) -> Result<usize> {
        let Some(text) = self.string_attribute(name)? else { return Ok(0) };
        let known = words.iter().position(|word| *word == text);
        known.ok_or_else(|| Error::malformed(format!("{name} is {text:?}, expected {}", words.join(" or "))))
    }

    /// The bytes that go before those of each chunk.
    fn parse_head_bytes(&self) -> Result<Vec<u8>> {
        let Some(text) = self.string_attribute("grid_head")? else { return Ok(Vec::new()) };
        bytes_of(text).ok_or_else(|| Error::malformed("grid_head is not written as \"0x\" and the digits of bytes"))
    }

    /// The bytes of an element that was never written.
    fn fill_value(&self, datatype: &Datatype, order: Byteorder) -> Result<Vec<u8>> {
        let size = crate::bytes::to_usize(datatype.item_size())?;
        let wrong = |said: &LayoutLiteral| Error::malformed(format!("grid_fill {said} is not an element of the type {datatype}"));
        let said = match self.attributes.get("grid_fill") {
            None => return Ok(vec![0; size]),
            Some(Attribute::Value(said)) => said,
            Some(_) => return Err(Error::malformed("grid_fill is not one value")),
        };
        if let LayoutLiteral::Text(text) = said
            && text.starts_with("0x")
        {
            return bytes_of(text).filter(|bytes| bytes.len() == size).ok_or_else(|| wrong(said));
        }
        let float = match said {
            LayoutLiteral::Integer(value) => *value as f64,
            LayoutLiteral::Float(value) => *value,
            LayoutLiteral::Text(text) | LayoutLiteral::Large(text) => text.parse().map_err(|_| wrong(said))?,
            LayoutLiteral::Bytes(_) => return Err(wrong(said)),
        };
        let bytes = match (datatype, said) {
            (Datatype::Float16, _) => half::f16::from_f64(float).to_le_bytes().to_vec(),
            (Datatype::Float32, _) => (float as f32).to_le_bytes().to_vec(),
            (Datatype::Float64, _) => float.to_le_bytes().to_vec(),
            (_, LayoutLiteral::Integer(_) | LayoutLiteral::Large(_)) if size <= 8 && datatype.as_struct().is_none() => {
                let whole = said.to_string().parse::<i128>().map_err(|_| wrong(said))?;
                let bytes = whole.to_le_bytes();
                bytes.get(..size).unwrap_or(&bytes).to_vec()
            }
            _ => return Err(wrong(said)),
        };
        Ok(if order == Byteorder::Big { bytes.into_iter().rev().collect() } else { bytes })
    }
}

/// The bytes of digits such as `0x00ff`.
fn bytes_of(text: &str) -> Option<Vec<u8>> {
    let digits = text.strip_prefix("0x")?;
    let pair = |n: usize| digits.get(2 * n..2 * n + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok());
    (0..digits.len().div_ceil(2)).map(pair).collect()
}

/// A type as the layout language writes it, with the dimensions after it.
fn typed_of(text: &str, limits: &Limits) -> Result<TypeAndDims> {
    let wrong = || Error::malformed(format!("grid_type {text:?} is not a datatype such as \"<f8\""));
    if text.contains(['\n', '#', '@']) && !text.starts_with('{') {
        return Err(wrong());
    }
    let mut options = ParseOptions::with_dialect(Dialect::D2025);
    options.limits = limits.clone();
    let layout = parse(format!("x = {text} @0").as_bytes(), &options)?.into_layout().map_err(|_| wrong())?;
    let found = layout.evaluate_with(&EvaluateOptions::default(), &[])?;
    let entry = found.find("/x")?.filter(|entry| entry.resolved_type != ResolvedType::Dynamic).ok_or_else(wrong)?;
    Ok((entry.resolved_type, entry.shape, entry.datatype))
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
        let stored = self.stored_chunks(source, index, &limits);
        let grid = ChunkedSource::new(self.chunking.clone(), Box::new(stored), self.fill_value.clone(), Arc::clone(&limits))?;
        Ok(Array::chunked(Arc::new(grid), datatype, self.order, shape)?.with_limits(limits))
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
        let mut mapped = VirtualArraySource::new(name, shape, self.fill_value.repeat(crate::bytes::to_usize(count)?))?;
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
    pub fn filters(&self) -> Option<&str> {
        Some(self.attributes.as_str()).filter(|words| !words.is_empty())
    }
}
