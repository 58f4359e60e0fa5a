//! Datasets: the items of a layout that they are.

use std::ops::Range;
use std::sync::Arc;

use super::data_layout::{Chunk, Chunked, Storage};
use super::datatype::{Space, Special, Typed};
use super::external_files::Others;
use super::file::H5;
use super::heaps::GlobalHeaps;
use super::object_header::{Header, kind};
use super::pipeline::{fill, filters};
use super::varlen::Elsewhere;
use crate::array::{Byteorder, Datatype};
use crate::array::{ChunkedSource, Chunks, Cut};
use crate::bytes::{Source, SourceRef, read_vec, to_usize};
use crate::codec::filter::Filters;
use crate::error::{Error, Result};
use crate::foreign::layout_text::{LayoutText, hexadecimal, integer, placed, placed_bytes, spell};
use crate::foreign::netcdf_fill::{fill_bytes, fill_value};
use crate::layout::{Literal, MISSING};

/// Elements of variable length that become items.
const MOST: u64 = 1 << 20;

/// Chunks of a variable of netCDF that are listed, although some were never written.
const CHUNKS: u64 = 1 << 16;

/// Bytes of descriptors for each byte of the file: deflate makes no more of one.
const RATIO: u64 = 1032;

/// The header of a dataset.
#[derive(Clone)]
pub(super) struct Dataset {
    pub typed: Typed,
    pub space: Space,
    pub storage: Storage,
    /// The words of its filters.
    filters: String,
    count: usize,
    fill: Option<Vec<u8>>,
    /// `true` if the last axis is the length of strings, whose characters are the elements that are stored.
    is_joined: bool,
    /// `true` if a fill value was set, with which chunks begin.
    is_filled: bool,
    /// `true` if it has more elements than it stores.
    is_longer: bool,
}

/// A list of chunks, and the words of those of which not all filters were applied.
type Pieces = Vec<Option<Chunk>>;

impl Dataset {
    /// Reads the header.
    pub(super) fn read(file: &H5, header: &Header) -> Result<Self> {
        let message =
            |kind, what: &str| header.message(kind).ok_or_else(|| Error::malformed(format!("a dataset without {what}")));
        let datatype = message(kind::DATATYPE, "a datatype")?;
        let typed = Typed::read(file, &datatype.data, datatype.address)?;
        let space = message(kind::DATASPACE, "a shape")?;
        let layout = message(kind::LAYOUT, "a place")?;
        let storage = match header.message(kind::EXTERNAL) {
            Some(list) => Storage::external(file, &list.data, list.address)?,
            None => Storage::read(file, &layout.data, layout.address)?,
        };
        let (filters, count) = match header.message(kind::FILTERS) {
            Some(message) => filters(file, &message.data, message.address, typed.size)?,
            None => (String::new(), 0),
        };
        let fill = match (header.message(kind::FILL), header.message(kind::FILL_OLD)) {
            (Some(message), _) => fill(file, &message.data, message.address)?,
            (None, Some(message)) => {
                let mut at = file.fields(&message.data, message.address);
                let len = at.uint(4)?;
                (Some(at.take(to_usize(len)?)?.to_vec()), true)
            }
            _ => (None, true),
        };
        let (fill, is_used) = fill;
        let fill = fill.filter(|fill| fill.len() as u64 == typed.size);
        let is_filled = fill.is_some() && is_used;
        let fill = fill.filter(|fill| fill.iter().any(|byte| *byte != 0));
        let space = Space::read(file, &space.data, space.address)?;
        Ok(Self { typed, space, storage, filters, count, fill, is_filled, is_longer: false, is_joined: false })
    }

    /// Returns `true` if its elements are characters.
    pub(super) fn is_characters(&self) -> bool {
        matches!(self.typed.datatype, Datatype::Ascii(1) | Datatype::Utf8(1)) && self.typed.dims.is_empty()
    }

    /// Makes bytes of characters, which may be parts of what a character is in UTF-8.
    pub(super) fn split_characters(&mut self) {
        self.typed.datatype = Datatype::Ascii(1);
        self.typed.pads.clear();
    }

    /// Makes strings of the characters along the last axis. Returns `false` if the chunks cut these, or there are none.
    pub(super) fn join_characters(&mut self) -> bool {
        let length = self.space.shape.as_deref().and_then(<[u64]>::last).copied().unwrap_or(0);
        let is_whole = match &self.storage {
            Storage::Chunked(chunked) => chunked.chunk.last() == Some(&length),
            storage => !matches!(storage, Storage::Virtual(..)),
        };
        self.is_joined = is_whole && length > 0 && u32::try_from(length).is_ok();
        if self.is_joined {
            self.typed.datatype = Datatype::Ascii(u32::try_from(length).unwrap_or(u32::MAX));
        }
        self.is_joined
    }

    /// Returns lengths of stored axes without that of strings.
    fn axes<'a>(&self, lengths: &'a [u64]) -> &'a [u64] {
        lengths.split_last().filter(|_| self.is_joined).map_or(lengths, |(_, axes)| axes)
    }

    /// Returns `true` if elements that were never written have the fill value of the netCDF library.
    pub(super) fn has_library_fill(&self) -> bool {
        let is_its = |fill: &Vec<u8>| fill_bytes(&self.typed.datatype, self.typed.order).is_some_and(|own| own == *fill);
        self.typed.dims.is_empty() && self.fill.as_ref().is_some_and(is_its)
    }

    /// Makes it longer, as a variable of netCDF whose records were not all written. `fill` is the value of an attribute. Returns it
    /// as it is stored, if it is to be a part of what is longer.
    pub(super) fn lengthen(&mut self, shape: Vec<u64>, fill: Option<Vec<u8>>) -> Option<Self> {
        let Storage::Chunked(chunked) = &self.storage else { return None };
        let axes = shape.iter().zip(&chunked.chunk);
        let count = axes.fold(1u64, |n, (len, chunk)| n.saturating_mul(len.div_ceil((*chunk).max(1))));
        let own = Some(()).filter(|()| self.typed.special == Special::None && self.typed.dims.is_empty());
        let own = own.and_then(|()| fill_bytes(&self.typed.datatype, self.typed.order));
        // Elements that HDF5 does not fill are filled by the netCDF library only, and chunks at the edge may have no filters.
        let is_part = count > CHUNKS || chunked.plain_edges || !self.is_filled && own.is_some();
        if is_part && self.is_plain() {
            let longer = Self {
                fill: if self.is_filled { self.fill.clone() } else { fill.or(own) },
                space: Space { shape: Some(shape), most: self.space.most.clone() },
                ..self.clone()
            };
            return Some(std::mem::replace(self, longer));
        }
        (self.space.shape, self.is_longer) = (Some(shape), true);
        None
    }

    /// Finds the files that hold the data, as a file in a folder names them.
    pub(super) fn find_data(&mut self, others: &mut Others<'_>, folder: &str) -> Result<()> {
        if let (Storage::External(slots), Some(shape)) = (&self.storage, &self.space.shape) {
            let size = shape.iter().fold(self.typed.size, |n, len| n.saturating_mul(*len));
            self.storage = Storage::Outside(others.bytes(folder, slots, size)?);
        }
        Ok(())
    }

    /// Returns `true` if its elements are read as they are stored.
    pub(super) fn is_plain(&self) -> bool {
        let typed = &self.typed;
        let is_elsewhere = matches!(typed.special, Special::Text | Special::Sequence(_)) || typed.has_strings();
        !is_elsewhere && typed.decoded.is_none()
    }

    /// Writes the items.
    pub(super) fn write(&self, file: &H5, heaps: &GlobalHeaps, name: &str, text: &mut LayoutText) -> Result<()> {
        let Some(shape) = &self.space.shape else {
            text.item(name, "{}")?;
            return text.doc("an empty dataset: it has a datatype, but no elements");
        };
        let is_elsewhere = matches!(self.typed.special, Special::Text | Special::Sequence(_)) || self.typed.has_elsewhere();
        let bytes = if is_elsewhere && !shape.contains(&0) { self.descriptors(file, shape)? } else { Vec::new() };
        let here = Elsewhere { file, heaps, typed: &self.typed, shape, bytes: &bytes };
        match &self.typed.special {
            Special::Text => return here.texts(name, text),
            Special::Sequence(element) => return here.lists(name, element, text),
            _ if self.typed.has_strings() => return self.strings(file, &here, name, text),
            _ if self.typed.decoded.is_some() => {
                return self.typed.decoded.iter().try_for_each(|number| self.numbers(file, shape, name, number, text));
            }
            _ => {}
        }
        let all: Vec<u64> = self.axes(shape).iter().chain(&self.typed.dims).copied().collect();
        let mut typed = String::new();
        spell(&self.typed.datatype, self.typed.order, &all, &mut typed)?;
        if shape.contains(&0) {
            return text.item(name, &typed);
        }
        match &self.storage {
            Storage::Compact(at) => text.item(name, &placed(&typed, file.place(*at))),
            Storage::Contiguous(Some(at)) => text.item(name, &placed(&typed, file.place(*at))),
            Storage::Outside(at) => text.item(name, &placed(&typed, *at)),
            Storage::Contiguous(None) => self.unwritten(name, shape, text),
            Storage::Chunked(chunked) if chunked.is_unwritten() => self.unwritten(name, shape, text),
            Storage::Chunked(chunked) => {
                let pieces = self.pieces(file, chunked, shape)?;
                if pieces.iter().all(Option::is_none) {
                    return self.unwritten(name, shape, text);
                }
                self.grid(file, (name, shape), chunked, &pieces, text)
            }
            Storage::Virtual(..) | Storage::External(_) => Err(not_here()),
        }
    }

    /// Writes the members of structs that are lists of variable length, each as an item.
    pub(super) fn members(&self, file: &H5, heaps: &GlobalHeaps, name: &str, text: &mut LayoutText) -> Result<()> {
        let (Some(shape), false) = (&self.space.shape, self.typed.lists.is_empty()) else { return Ok(()) };
        let Ok(bytes) = self.descriptors(file, shape) else { return Ok(()) };
        Elsewhere { file, heaps, typed: &self.typed, shape, bytes: &bytes }.members(name, text)
    }

    /// A dataset of which nothing was written: one chunk, which is missing.
    fn unwritten(&self, name: &str, shape: &[u64], text: &mut LayoutText) -> Result<()> {
        text.item(name, "u1[0]")?;
        text.grid(self.axes(shape), self.axes(shape))?;
        text.elements(&self.typed.datatype, self.typed.order, &self.typed.dims)?;
        self.write_fill(text)
    }

    /// The chunks of a shape.
    fn pieces(&self, file: &H5, chunked: &Chunked, shape: &[u64]) -> Result<Pieces> {
        let whole = chunked.chunk.iter().fold(self.typed.size, |n, len| n.saturating_mul(*len));
        let mut pieces = chunked.find(file, shape, &self.space.most, whole, self.count > 0)?;
        if chunked.plain_edges && self.count > 0 {
            let cut = Cut { shape: shape.to_vec(), chunk: chunked.chunk.clone(), item: 1, cut_edges: true };
            for (number, piece) in pieces.iter_mut().enumerate() {
                if let Some(piece) = piece.as_mut().filter(|_| cut.lengths(number as u64) != chunked.chunk) {
                    piece.mask = u64::MAX >> 32;
                }
            }
        }
        Ok(pieces)
    }

    fn grid(
        &self,
        file: &H5,
        (name, shape): (&str, &[u64]),
        chunked: &Chunked,
        pieces: &Pieces,
        text: &mut LayoutText,
    ) -> Result<()> {
        let mut whole = String::new();
        let lengths: Vec<u64> = self.axes(&chunked.chunk).iter().chain(&self.typed.dims).copied().collect();
        spell(&self.typed.datatype, self.typed.order, &lengths, &mut whole)?;
        let spelled = |piece: &Option<Chunk>| match piece {
            None => "u1[0]".to_owned(),
            Some(chunk) if self.count == 0 => placed(&whole, file.place(chunk.address)),
            Some(chunk) => placed_bytes(chunk.size, file.place(chunk.address)),
        };
        self.chunks((name, shape), chunked, pieces, spelled, "", text)?;
        text.elements(&self.typed.datatype, self.typed.order, &self.typed.dims)?;
        if self.is_longer || pieces.iter().any(Option::is_none) {
            self.write_fill(text)?;
        }
        Ok(())
    }

    /// The items of chunks, and how they are stored.
    fn chunks(
        &self,
        (name, shape): (&str, &[u64]),
        chunked: &Chunked,
        pieces: &Pieces,
        spelled: impl Fn(&Option<Chunk>) -> String,
        first: &str,
        text: &mut LayoutText,
    ) -> Result<()> {
        match pieces.as_slice() {
            [only] => text.item(name, &spelled(only))?,
            all => text.list(name, all.iter().map(spelled))?,
        }
        text.grid(self.axes(shape), self.axes(&chunked.chunk))?;
        let words = format!("{first} {}", self.filters);
        if !words.trim().is_empty() {
            text.attribute("grid_filters", words.trim())?;
        }
        // The filter before all others was applied to each chunk.
        let shift = u32::from(!first.is_empty());
        let masks: Vec<u64> = pieces.iter().map(|piece| piece.map_or(0, |piece| piece.mask << shift)).collect();
        if masks.iter().any(|mask| *mask != 0) {
            text.attribute("grid_mask", masks.as_slice())?;
        }
        Ok(())
    }

    /// Returns `true` if some elements were never written.
    fn has_gaps(&self, file: &H5, shape: &[u64]) -> Result<bool> {
        match &self.storage {
            Storage::Chunked(chunked) => Ok(self.pieces(file, chunked, shape)?.iter().any(Option::is_none)),
            storage => Ok(matches!(storage, Storage::Contiguous(None))),
        }
    }

    pub(super) fn write_fill(&self, text: &mut LayoutText) -> Result<()> {
        let Some(fill) = &self.fill else { return Ok(()) };
        // The fill value is that of one character, so it is repeated for each character of a string.
        let digits =
            hexadecimal(&if self.is_joined { fill.repeat(to_usize(self.typed.datatype.item_size())?) } else { fill.clone() });
        // Elements with separate axes are filled one by one.
        let one = to_usize(self.typed.datatype.item_size())?.saturating_mul(2) + 2;
        text.attribute("grid_fill", digits.get(..one).unwrap_or(&digits))
    }

    /// The bytes of an element that was never written.
    fn unset(&self) -> Result<Vec<u8>> {
        Ok(self.fill.clone().unwrap_or(vec![0; to_usize(self.typed.size)?]))
    }

    /// The stored elements, in C order: descriptors of what is elsewhere.
    fn descriptors(&self, file: &H5, shape: &[u64]) -> Result<Vec<u8>> {
        let product = |lengths: &[u64]| lengths.iter().try_fold(1u64, |n, len| n.checked_mul(*len)).filter(|n| *n <= MOST);
        let too_many = || Error::unsupported(format!("more than {MOST} elements of variable length"));
        let count = product(shape).ok_or_else(too_many)?;
        product(&[&[count], self.typed.axes()].concat()).ok_or_else(too_many)?;
        let size = count.saturating_mul(self.typed.size);
        if size > file.len().saturating_mul(RATIO) {
            return Err(Error::unsupported(format!("{size} bytes of elements of variable length in a file of {}", file.len())));
        }
        match &self.storage {
            Storage::Compact(at) | Storage::Contiguous(Some(at)) => file.bytes(*at, size),
            Storage::Contiguous(None) => {
                file.limits.charge_memory(size, "elements of variable length")?;
                Ok(self.unset()?.repeat(to_usize(count)?))
            }
            Storage::Chunked(chunked) => {
                let stored = Stored {
                    pieces: self.pieces(file, chunked, shape)?,
                    source: file.source().clone(),
                    base: file.base,
                    filters: Filters::parse(&self.filters)?,
                    limits: file.limits.clone(),
                };
                let (shape, chunk) = (shape.to_vec(), chunked.chunk.clone());
                let cut = Cut { shape, chunk, item: self.typed.size, cut_edges: false };
                let grid = ChunkedSource::new(cut, Box::new(stored), self.unset()?, Arc::new(file.limits.clone()))?;
                read_vec(&grid, 0, grid.len().min(size), &file.limits)
            }
            Storage::Virtual(..) | Storage::External(_) | Storage::Outside(_) => Err(not_here()),
        }
    }

    /// Writes elements with strings, as they are read.
    fn strings(&self, file: &H5, here: &Elsewhere<'_>, name: &str, text: &mut LayoutText) -> Result<()> {
        let shown = here.shown()?;
        if !self.stored(file, (name, here.shape), (&shown.datatype, &self.typed.dims), "", text)? {
            return Ok(());
        }
        shown.write(text)?;
        if self.typed.datatype.as_struct().is_none() {
            return self.write_fill(text);
        }
        if self.fill.is_some() && self.has_gaps(file, here.shape)? {
            return Err(Error::unsupported("a fill value of structs whose members are not read as they are stored"));
        }
        Ok(())
    }

    /// Writes numbers of an odd width as those that a filter makes of them.
    fn numbers(&self, file: &H5, shape: &[u64], name: &str, number: &(Datatype, String), text: &mut LayoutText) -> Result<()> {
        let (datatype, word) = number;
        if !self.stored(file, (name, shape), (datatype, self.typed.axes()), word, text)? {
            return Ok(());
        }
        let Some(fill) = &self.fill else { return Ok(()) };
        let one = to_usize(self.typed.size)? / to_usize(self.typed.axes().iter().product::<u64>())?.max(1);
        let fill =
            Filters::parse(word)?.decode(fill.get(..one).unwrap_or(fill).to_vec(), 0, datatype.item_size(), &file.limits)?;
        text.attribute("grid_fill", hexadecimal(&fill).as_str())
    }

    /// Writes elements that are made of what is stored: the chunks with a filter before all others, and what comes out.
    /// Returns `false` if there are no elements.
    fn stored(
        &self,
        file: &H5,
        (name, shape): (&str, &[u64]),
        (datatype, dims): (&Datatype, &[u64]),
        first: &str,
        text: &mut LayoutText,
    ) -> Result<bool> {
        if shape.contains(&0) {
            let (mut typed, all) = (String::new(), [shape, dims].concat());
            spell(datatype, Byteorder::Little, &all, &mut typed)?;
            text.item(name, &typed)?;
            return Ok(false);
        }
        let size = shape.iter().fold(self.typed.size, |n, len| n.saturating_mul(*len));
        let whole = match &self.storage {
            Storage::Compact(at) | Storage::Contiguous(Some(at)) => placed_bytes(size, file.place(*at)),
            Storage::Contiguous(None) => "u1[0]".to_owned(),
            Storage::Outside(at) => placed_bytes(size, *at),
            Storage::Chunked(chunked) => {
                let pieces = self.pieces(file, chunked, shape)?;
                let spelled = |piece: &Option<Chunk>| match piece {
                    None => "u1[0]".to_owned(),
                    Some(chunk) => placed_bytes(chunk.size, file.place(chunk.address)),
                };
                self.chunks((name, shape), chunked, &pieces, spelled, first, text)?;
                text.elements(datatype, self.typed.order, dims)?;
                return Ok(true);
            }
            Storage::Virtual(..) | Storage::External(_) => return Err(not_here()),
        };
        text.item(name, &whole)?;
        text.grid(shape, shape)?;
        if !first.is_empty() {
            text.attribute("grid_filters", first)?;
        }
        text.elements(datatype, self.typed.order, dims)?;
        Ok(true)
    }

    /// Writes the fill value of the netCDF library. As the netCDF4 package has it, bytes have none unless the variable is
    /// filled.
    pub(super) fn library_fill(&self, text: &mut LayoutText) -> Result<()> {
        let is_byte = matches!(self.typed.datatype, Datatype::Int8 | Datatype::Uint8);
        let is_plain = self.typed.special == Special::None && self.typed.dims.is_empty() && self.typed.decoded.is_none();
        match fill_value(&self.typed.datatype) {
            Some(fill) if is_plain && (!is_byte || self.is_filled) => text.attribute(MISSING, fill),
            _ => Ok(()),
        }
    }

    /// Writes remarks on the elements besides their datatype.
    pub(super) fn remarks(&self, text: &mut LayoutText) -> Result<()> {
        match &self.typed.special {
            Special::Enum(names, values) => {
                let names: Vec<Literal> = names.iter().map(|name| Literal::Text(name.clone())).collect();
                text.attribute("enum_names", names)?;
                let values: Vec<Literal> = values.iter().map(|value| integer(*value)).collect();
                text.attribute("enum_values", values)
            }
            Special::Reference => text.attribute("hdf5_type", "addresses of objects"),
            Special::Raw(what) | Special::Within(what) => text.attribute("hdf5_type", what.as_str()),
            Special::None | Special::Text | Special::Sequence(_) => Ok(()),
        }
    }
}

fn not_here() -> Error {
    Error::unsupported("elements that are not read as they are stored, in a virtual dataset or in other files")
}

/// The chunks of a dataset in its file.
struct Stored {
    pieces: Pieces,
    source: SourceRef,
    base: u64,
    filters: Filters,
    limits: crate::limits::Limits,
}

impl Stored {
    fn piece(&self, number: u64) -> Option<Chunk> {
        usize::try_from(number).ok().and_then(|number| self.pieces.get(number)).copied().flatten()
    }
}

impl Chunks for Stored {
    fn place(&self, number: u64) -> Result<Option<Range<u64>>> {
        let Some(piece) = self.piece(number) else { return Ok(None) };
        let start = piece.address.saturating_add(self.base);
        Ok(Some(start..start.saturating_add(piece.size)))
    }

    fn decode(&self, number: u64, size: u64) -> Result<Vec<u8>> {
        let place = self.place(number)?.unwrap_or(0..0);
        let bytes = read_vec(&*self.source, place.start, place.end - place.start, &self.limits)?;
        self.filters.decode(bytes, self.piece(number).map_or(0, |piece| piece.mask), size, &self.limits)
    }

    fn source(&self) -> &SourceRef {
        &self.source
    }
}
