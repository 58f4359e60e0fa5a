//! Arrays in chunks: what attributes `grid_…` make of the raw items that hold them.
//!
//! The annotated item is what is in the file, declared as exactly that: a list with one item for each chunk in
//! row-major order (one of length 0 if a chunk was never written), one item that is the only chunk, or, with `grid_at`,
//! the table that says in the file itself where the chunks are.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use super::chunk_table::{Column, Piece, Places, Table};
use super::datatype::datatype_of;
use super::grid_strings::Strings;
use super::virtual_array::{Mapped, Slab};
use crate::array::{Array, Byteorder, Datatype, fortran_strides};
use crate::array::{ChunkedSource, Chunks, Cut, from_columns};
#[cfg(feature = "zlib")]
use crate::bytes::Window;
use crate::bytes::{SourceRef, Step, read_vec};
#[cfg(feature = "zlib")]
use crate::codec;
use crate::codec::filter::Filters;
use crate::error::{Error, Result};
use crate::layout::{
    Attribute, Dialect, Entry, EntryKind, FACTORS, ItemId, Kind, Layout, Literal, Options, ParseOptions, ResolvedType, parse,
    read_own,
};
use crate::limits::Limits;

/// The name of the attribute that makes an item a grid, with `grid_chunk`.
const SHAPE: &str = "grid_shape";

/// Start of the attribute names about the storage of a grid.
pub(super) const PREFIX: &str = "grid_";

/// The attributes about the meaning of the elements.
pub const MEANING: &[&str] = &["grid_dims", "grid_float32", "grid_integers", FACTORS];

/// The attributes about the axes in the file: the one that became the length of strings, and those without an end.
pub(super) const AXES: &[&str] = &["grid_chars", "grid_unlimited"];

/// Returns `true` if a layout may have grids.
pub(super) fn may_be_in(layout: &Layout) -> bool {
    layout.text().contains(SHAPE)
}

/// A gridded array.
#[derive(Debug)]
pub struct GridArray {
    cut: Cut,
    /// Datatype of the elements. The length of text is a part of it, and is no axis of the shape.
    datatype: Datatype,
    order: Byteorder,
    places: Places,
    count: u64,
    filters: Filters,
    /// The filters as they are written.
    words: String,
    /// Bytes that go before those of each chunk.
    head: Arc<Vec<u8>>,
    mask: Arc<Vec<u64>>,
    fill: Vec<u8>,
    columns: bool,
    /// The number of axes that the array has besides those of its elements.
    axes: usize,
    /// The arrays of which it is put together, instead of chunks.
    slabs: Vec<Slab>,
    /// Elements whose strings are elsewhere, or are padded.
    strings: Option<Arc<Strings>>,
}

/// Grids while the items of a file are gone through, by the paths of the items that are annotated.
#[derive(Default)]
pub(super) struct Collected {
    specs: HashMap<ItemId, HashMap<String, Attribute>>,
    found: Vec<(String, ItemId, Vec<Entry>)>,
    at: HashMap<String, usize>,
}

impl Collected {
    /// The annotated items of a layout.
    pub(super) fn of(layout: &Layout) -> Self {
        let mut specs = HashMap::new();
        if may_be_in(layout) {
            for item in (0..layout.item_count()).filter_map(|at| layout.item_at(at)) {
                let said = layout.attributes(item).filter(|(name, _)| name.starts_with(PREFIX));
                let said: HashMap<String, Attribute> = said.map(|(name, value)| (name.to_owned(), value.clone())).collect();
                if said.contains_key(SHAPE) && said.contains_key("grid_chunk") {
                    specs.insert(item, said);
                }
            }
        }
        Self { specs, ..Self::default() }
    }

    /// The path of the grid that an entry is a part of, and whether it is the first.
    pub(super) fn take(&mut self, entry: &Entry, layout: &Layout) -> Option<(String, bool)> {
        let parent = layout.parent(entry.item);
        let in_struct = !parent.is_some_and(|parent| matches!(layout.kind(parent), Kind::Dict | Kind::List));
        if self.specs.is_empty() || entry.kind != EntryKind::Data || in_struct {
            return None;
        }
        let (item, path) = match parent {
            _ if self.specs.contains_key(&entry.item) => (entry.item, entry.path.as_str()),
            Some(list) if self.specs.contains_key(&list) => (list, entry.path.rsplit_once('[')?.0),
            _ => return None,
        };
        let known = self.at.get(path).copied();
        let at = known.unwrap_or_else(|| {
            self.found.push((path.to_owned(), item, Vec::new()));
            self.at.insert(path.to_owned(), self.found.len() - 1);
            self.found.len() - 1
        });
        if let Some((_, _, entries)) = self.found.get_mut(at) {
            // The type of all is that of the first.
            entries.push(if entries.is_empty() { entry.clone() } else { Entry { path: String::new(), ..entry.clone() } });
        }
        Some((path.to_owned(), known.is_none()))
    }

    /// The grids with their entries; why one cannot be read is in its place. `find` gives the items of the stream by
    /// their paths; `base` is the byte at which it begins, and `len` its number of bytes.
    pub(super) fn finish(
        self,
        find: &dyn Fn(&str) -> Option<Entry>,
        (base, len): (u64, u64),
        limits: &Limits,
    ) -> Result<Vec<(Entry, Result<GridArray>)>> {
        let mut types = HashMap::new();
        let mut all = Vec::with_capacity(self.found.len());
        for (path, item, entries) in self.found {
            let (Some(said), Some(first)) = (self.specs.get(&item), entries.first()) else { continue };
            let mut whole = Entry { path, item, ..first.clone() };
            whole.nbytes = Some(entries.iter().filter_map(|entry| entry.nbytes).fold(0, u64::saturating_add));
            whole.address = entries.iter().find_map(|entry| entry.address);
            let grid = Spec { said, find, len }.grid(&mut whole, &entries, base, &mut types, limits);
            all.push((whole, grid));
        }
        Ok(all)
    }
}

/// A type and the dimensions that come with it.
type Typed = (ResolvedType, Vec<u64>, String);

/// The attributes of a grid.
struct Spec<'s> {
    said: &'s HashMap<String, Attribute>,
    find: &'s dyn Fn(&str) -> Option<Entry>,
    /// Bytes of the stream.
    len: u64,
}

impl Spec<'_> {
    fn grid(
        &self,
        whole: &mut Entry,
        entries: &[Entry],
        base: u64,
        types: &mut HashMap<String, Typed>,
        limits: &Limits,
    ) -> Result<GridArray> {
        for name in ["grid_scale", "grid_offset", "grid_blank"] {
            if self.said.contains_key(name) {
                return Err(Error::unsupported(format!("a grid of chunks with the attribute {name}")));
            }
        }
        let (mut shape, mut chunk) = (self.lengths(SHAPE)?, self.lengths("grid_chunk")?);
        if shape.len() != chunk.len() || chunk.contains(&0) {
            return Err(Error::malformed(format!("grid_chunk {chunk:?} does not fit grid_shape {shape:?}")));
        }
        whole.shape.clone_from(&shape);
        let (typed, dims) = match self.text("grid_type")? {
            None => (whole.typed.clone(), Vec::new()),
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
        whole.typed = typed;
        shape.extend(&dims);
        chunk.extend(&dims);
        whole.shape.clone_from(&shape);
        let (own, axes) = (self.lengths(SHAPE)?.len(), shape.len());
        let (datatype, order) = datatype_of(&whole.typed, &mut shape)?;
        datatype.check_width(self.len)?;
        if shape.len() < axes && chunk.pop() != whole.shape.last().copied() {
            return Err(Error::malformed("the chunks of a grid cut its strings"));
        }
        let cut_edges = self.word("grid_edge", &["full", "cut"])? == 1;
        let strings = match self.said.contains_key("grid_strings") {
            true => {
                let words = self.text("grid_numbers")?.unwrap_or("");
                Some(Arc::new(Strings::of(&self.lengths("grid_strings")?, words, datatype.item_size())?))
            }
            false => None,
        };
        let cut = Cut { shape, chunk, item: datatype.item_size(), cut_edges };
        let words = self.text("grid_filters")?.unwrap_or("");
        let places = self.places(entries, &cut, base)?;
        Ok(GridArray {
            fill: self.fill(&datatype, order)?,
            datatype,
            order,
            count: cut.counts().iter().product(),
            cut,
            places,
            filters: Filters::parse(words)?,
            words: words.to_owned(),
            head: Arc::new(self.head()?),
            mask: Arc::new(if self.has_masks() { self.lengths("grid_mask")? } else { Vec::new() }),
            columns: self.word("grid_order", &["C", "F"])? == 1,
            axes: own,
            slabs: self.slabs(own)?,
            strings,
        })
    }

    /// Returns the places of the chunks.
    fn places(&self, entries: &[Entry], cut: &Cut, base: u64) -> Result<Places> {
        let count = cut.counts().iter().try_fold(1u64, |n, count| n.checked_mul(*count));
        if let Some(said) = self.text("grid_at")? {
            let [own] = entries else { return Err(Error::malformed("grid_at on a list of items, expected one that is a table")) };
            let column = |said: &str| Column::named(said, own, self.find, base);
            let named = |name: &str| self.text(name)?.map(column).transpose();
            let number = match self.said.get("grid_base") {
                None => Some(0),
                Some(Attribute::Value(Literal::Integer(number))) => u64::try_from(*number).ok(),
                Some(_) => None,
            };
            let number = number.ok_or_else(|| Error::malformed("grid_base is not a byte of the file"))?;
            return Ok(Places::Table(Box::new(Table {
                at: column(said)?,
                bytes: named("grid_bytes")?,
                mask: if self.has_masks() { None } else { named("grid_mask")? },
                base: base.saturating_add(number),
                whole: cut.chunk.iter().fold(cut.item, |n, len| n.saturating_mul(*len)),
                count: count.ok_or_else(|| Error::malformed("its shape needs more chunks than any file has"))?,
                read: OnceLock::new(),
            })));
        }
        if let Some(name) = ["grid_bytes", "grid_base"].into_iter().find(|name| self.said.contains_key(*name)) {
            return Err(Error::malformed(format!("{name} without grid_at, which names the column of byte offsets")));
        }
        if count != Some(entries.len() as u64) {
            let wanted = count.map_or("more".to_owned(), |count| count.to_string());
            return Err(Error::malformed(format!("its shape needs chunks: {wanted}, found {}", entries.len())));
        }
        let piece = |entry: &Entry| match (entry.address, entry.nbytes) {
            (Some(at), Some(len)) => Ok(Piece { at: at.saturating_add(base), len }),
            (None, Some(0)) => Ok(Piece { at: 0, len: 0 }),
            _ => Err(Error::malformed("the place of a chunk is not known")),
        };
        Ok(Places::Listed(Arc::new(entries.iter().map(piece).collect::<Result<Vec<_>>>()?)))
    }

    /// The arrays of which the grid is put together.
    fn slabs(&self, axes: usize) -> Result<Vec<Slab>> {
        let wrong = || Error::malformed("grid_sources is not a list of paths");
        let path = |value: &Literal| match value {
            Literal::Text(path) => Ok(read_own(path).into_owned()),
            _ => Err(wrong()),
        };
        let paths = match self.said.get("grid_sources") {
            None => return Ok(Vec::new()),
            Some(Attribute::List(list)) => list.iter().map(path).collect::<Result<_>>()?,
            Some(_) => return Err(wrong()),
        };
        Slab::all(paths, &self.lengths("grid_slabs")?, axes)
    }

    /// Returns `true` if the masks are in the layout, and not in a column.
    fn has_masks(&self) -> bool {
        matches!(self.said.get("grid_mask"), Some(Attribute::List(_)))
    }

    fn lengths(&self, name: &str) -> Result<Vec<u64>> {
        let wrong = || Error::malformed(format!("{name} is not a list of lengths"));
        let length = |value: &Literal| match value {
            Literal::Integer(value) => u64::try_from(*value).map_err(|_| wrong()),
            _ => Err(wrong()),
        };
        match self.said.get(name) {
            Some(Attribute::List(list)) => list.iter().map(length).collect(),
            // A grid without axes has no numbers in brackets.
            Some(Attribute::Flag) => Ok(Vec::new()),
            Some(Attribute::Value(Literal::Text(text))) if text.is_empty() => Ok(Vec::new()),
            _ => Err(wrong()),
        }
    }

    fn text(&self, name: &str) -> Result<Option<&str>> {
        match self.said.get(name) {
            None => Ok(None),
            Some(Attribute::Value(Literal::Text(text))) => Ok(Some(text)),
            Some(_) => Err(Error::malformed(format!("{name} is not a text in quotes"))),
        }
    }

    /// Returns the number of an attribute's word in a list, and the first if the attribute is left out.
    fn word(&self, name: &str, words: &[&str]) -> Result<usize> {
        let Some(text) = self.text(name)? else { return Ok(0) };
        let known = words.iter().position(|word| *word == text);
        known.ok_or_else(|| Error::malformed(format!("{name} is {text:?}, expected {}", words.join(" or "))))
    }

    /// The bytes that go before those of each chunk.
    fn head(&self) -> Result<Vec<u8>> {
        let Some(text) = self.text("grid_head")? else { return Ok(Vec::new()) };
        bytes_of(text).ok_or_else(|| Error::malformed("grid_head is not written as \"0x\" and the digits of bytes"))
    }

    /// The bytes of an element that was never written.
    fn fill(&self, datatype: &Datatype, order: Byteorder) -> Result<Vec<u8>> {
        let size = crate::bytes::to_usize(datatype.item_size())?;
        let wrong = |said: &Literal| Error::malformed(format!("grid_fill {said} is not an element of the type {datatype}"));
        let said = match self.said.get("grid_fill") {
            None => return Ok(vec![0; size]),
            Some(Attribute::Value(said)) => said,
            Some(_) => return Err(Error::malformed("grid_fill is not one value")),
        };
        if let Literal::Text(text) = said
            && text.starts_with("0x")
        {
            return bytes_of(text).filter(|bytes| bytes.len() == size).ok_or_else(|| wrong(said));
        }
        let float = match said {
            Literal::Integer(value) => *value as f64,
            Literal::Float(value) => *value,
            Literal::Text(text) | Literal::Large(text) => text.parse().map_err(|_| wrong(said))?,
        };
        let bytes = match (datatype, said) {
            (Datatype::Float16, _) => half::f16::from_f64(float).to_le_bytes().to_vec(),
            (Datatype::Float32, _) => (float as f32).to_le_bytes().to_vec(),
            (Datatype::Float64, _) => float.to_le_bytes().to_vec(),
            (_, Literal::Integer(_) | Literal::Large(_)) if size <= 8 && datatype.as_struct().is_none() => {
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
fn typed_of(text: &str, limits: &Limits) -> Result<Typed> {
    let wrong = || Error::malformed(format!("grid_type {text:?} is not a datatype such as \"<f8\""));
    if text.contains(['\n', '#', '@']) && !text.starts_with('{') {
        return Err(wrong());
    }
    let mut options = ParseOptions::of(Dialect::D2025);
    options.limits = limits.clone();
    let layout = parse(format!("x = {text} @0").as_bytes(), &options)?.into_layout().map_err(|_| wrong())?;
    let found = layout.evaluate_with(&Options::default(), &[])?;
    let entry = found.find("/x")?.filter(|entry| entry.typed != ResolvedType::Dynamic).ok_or_else(wrong)?;
    Ok((entry.typed, entry.shape, entry.datatype))
}

impl GridArray {
    /// The array; no chunk is decoded.
    ///
    /// # Errors
    /// Returns the errors of [`ChunkedSource::new`].
    pub fn array(&self, source: &SourceRef, limits: &Limits) -> Result<Array> {
        let limits = Arc::new(limits.clone());
        let (datatype, shape) = (self.datatype.clone(), self.cut.shape.clone());
        let read = self.places.read(source, &self.mask, &limits)?;
        if let ([piece], true) = (read.pieces.as_slice(), self.head.is_empty() && self.strings.is_none())
            && self.cut.shape == self.cut.chunk
            && piece.len > 0
            && let Some((source, at)) = self.whole(source, piece, &limits)?
        {
            // A single chunk is used directly, in either order of its elements.
            let strides = match self.columns {
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
        let stored = Stored {
            source: source.clone(),
            pieces: read.pieces,
            filters: self.filters.clone(),
            mask: read.masks,
            columns: self.columns.then(|| self.in_columns()),
            strings: self.strings.clone(),
            head: Arc::clone(&self.head),
            limits: Arc::clone(&limits),
        };
        let grid = ChunkedSource::new(self.cut.clone(), Box::new(stored), self.fill.clone(), Arc::clone(&limits))?;
        Ok(Array::chunked(Arc::new(grid), datatype, self.order, shape)?.with_limits(limits))
    }

    /// The bytes of the only chunk and the place of its elements, if the chunk is stored unchanged, or as a stream that is decoded
    /// from front to back.
    #[cfg_attr(not(feature = "zlib"), allow(unused_variables, clippy::unnecessary_wraps, reason = "only streams need them"))]
    fn whole(&self, source: &SourceRef, piece: &Piece, limits: &Limits) -> Result<Option<(SourceRef, u64)>> {
        if self.filters.is_empty() {
            return Ok(Some((source.clone(), piece.at)));
        }
        #[cfg(feature = "zlib")]
        if let Some((skipped, crc)) = self.filters.of_member()
            && self.mask.is_empty()
        {
            let elements = self.cut.shape.iter().try_fold(self.cut.item, |n, len| n.checked_mul(*len));
            let Some(len) = elements.and_then(|n| n.checked_add(skipped)) else { return Ok(None) };
            if len > piece.len.saturating_mul(limits.zlib_ratio).saturating_add(1024) {
                let what = format_args!("{} bytes decode to {len}", piece.len);
                return Err(Limits::exceeded("zlib_ratio", limits.zlib_ratio, what));
            }
            let stored = Window::new(source.clone(), piece.at, piece.len)?;
            return Ok(Some((codec::zlib::member(Arc::new(stored), len, crc, limits), skipped)));
        }
        Ok(None)
    }

    /// The cut of arrays in columns: axes within elements are in the order of C.
    fn in_columns(&self) -> Cut {
        let mut cut = self.cut.clone();
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
        let strings = self.strings.as_ref().map_or(0, |strings| strings.base());
        match &self.places {
            Places::Listed(pieces) => pieces.iter().map(|piece| piece.at.saturating_add(piece.len)).fold(strings, u64::max),
            Places::Table(_) => strings,
        }
    }

    /// The array that is put together of others, each of which `find` returns by its path.
    ///
    /// # Errors
    /// Returns `Malformed` if the elements of a source are others, `Unsupported` if they are not in rows.
    pub fn mapped(&self, name: &str, limits: &Limits, find: &mut dyn FnMut(&str) -> Result<Array>) -> Result<Array> {
        let shape = self.cut.shape.get(..self.axes).unwrap_or(&self.cut.shape);
        let inner = self.cut.shape.get(self.axes..).unwrap_or(&[]);
        // An element may have axes; each of its parts is filled.
        let count = inner.iter().try_fold(1u64, |n, len| n.checked_mul(*len)).unwrap_or(u64::MAX);
        limits.charge_memory(count.saturating_mul(self.datatype.item_size()), "an element")?;
        let mut mapped = Mapped::new(name, shape, self.fill.repeat(crate::bytes::to_usize(count)?))?;
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
        let array = Array::new(Arc::new(mapped), 0, self.datatype.clone(), self.order, self.cut.shape.clone())?;
        Ok(array.with_limits(Arc::new(limits.clone())))
    }

    /// Describes its storage, in a few words.
    pub fn storage(&self) -> String {
        if self.is_mapped() {
            return format!("parts of {} arrays", self.slabs.len());
        }
        let chunk: Vec<String> = self.cut.chunk.iter().map(u64::to_string).collect();
        let count = self.count;
        let plural = if count == 1 { "" } else { "s" };
        format!("{count} chunk{plural} of [{}]", chunk.join(", "))
    }

    /// The filters of its chunks, as they are written; None without.
    pub fn filters(&self) -> Option<&str> {
        Some(self.words.as_str()).filter(|words| !words.is_empty())
    }
}

/// The chunks of a grid in a file.
struct Stored {
    source: SourceRef,
    pieces: Arc<Vec<Piece>>,
    filters: Filters,
    mask: Arc<Vec<u64>>,
    columns: Option<Cut>,
    strings: Option<Arc<Strings>>,
    head: Arc<Vec<u8>>,
    limits: Arc<Limits>,
}

impl Chunks for Stored {
    fn place(&self, number: u64) -> Result<Option<Range<u64>>> {
        let piece = usize::try_from(number).ok().and_then(|number| self.pieces.get(number)).filter(|piece| piece.len > 0);
        Ok(piece.map(|piece| piece.at..piece.at.saturating_add(piece.len)))
    }

    fn decode(&self, number: u64, size: u64) -> Result<Vec<u8>> {
        let place = self.place(number)?.unwrap_or(0..0);
        let mut bytes = read_vec(&*self.source, place.start, place.end - place.start, &self.limits)?;
        if !self.head.is_empty() {
            bytes.splice(0..0, self.head.iter().copied());
        }
        let mask = usize::try_from(number).ok().and_then(|number| self.mask.get(number)).copied().unwrap_or(0);
        let stored = self.strings.as_ref().map_or(size, |strings| strings.stored_size(size));
        let bytes = self.filters.decode(bytes, mask, stored, &self.limits)?;
        let bytes = match &self.strings {
            Some(strings) if bytes.len() as u64 == stored => strings.read(&bytes, size, &self.source, &self.limits)?,
            _ => bytes,
        };
        let Some(cut) = &self.columns else { return Ok(bytes) };
        if bytes.len() as u64 != size {
            return Ok(bytes);
        }
        Ok(from_columns(&bytes, &cut.lengths(number), crate::bytes::to_usize(cut.item)?))
    }

    fn unpadded(&self, number: u64) -> Option<Result<Vec<u8>>> {
        let filters = self
            .filters
            .without_padding()
            .filter(|_| self.columns.is_none() && self.strings.is_none() && self.head.is_empty())?;
        let read = || {
            let place = self.place(number)?.unwrap_or(0..0);
            let bytes = read_vec(&*self.source, place.start, place.end - place.start, &self.limits)?;
            let size = bytes.len() as u64;
            if usize::try_from(number).is_ok_and(|number| self.mask.get(number).is_some_and(|mask| *mask != 0)) {
                return Err(Error::unsupported("a padded chunk without all of its filters"));
            }
            if filters.is_empty() { Ok(bytes) } else { filters.decode(bytes, 0, size, &self.limits) }
        };
        Some(read())
    }

    fn steps(&self) -> Option<(Vec<Step>, Vec<u64>)> {
        (self.strings.is_none() && self.head.is_empty()).then(|| (self.filters.steps(), self.mask.to_vec()))
    }

    fn is_in_columns(&self) -> bool {
        self.columns.is_some()
    }

    fn source(&self) -> &SourceRef {
        &self.source
    }
}
