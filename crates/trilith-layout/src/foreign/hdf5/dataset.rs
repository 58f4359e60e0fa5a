//! Datasets: the items of a layout that they are.

use std::sync::Arc;

use super::attributes::{Attribute, decode_literal};
use super::chunk_index::DatasetIndex;
use super::data_layout::{ChunkAxes, Chunked, DataLayout};
use super::datatype::{Dataspace, DecodedNumber, LayoutDatatype, UnmappedKind};
use super::external_files::ExternalFiles;
use super::file::Hdf5File;
use super::linked_file::LinkedFile;
use super::object_header::{ObjectHeader, kind};
use super::pipeline::{read_fill_value, read_filter_pipeline};
use super::references::ReferenceForm;
use super::varlen::VarlenElements;
use crate::array::{Byteorder, Datatype};
use crate::array::{ChunkShape, ChunkedSource};
use crate::bytes::{CodingStep, Source, read_vec, to_usize};
use crate::codec::filter::FilterPipeline;
use crate::error::{Error, Result};
use crate::foreign::netcdf_fill::{fill_bytes, fill_value};
use crate::foreign::npy;
use crate::layout::{IndexedArray, ItemSpec, LayoutBuilder, LayoutLiteral, StorageField, hex_text, integer_literal};

/// Elements of variable length that become items.
const MAX_VARLEN_ELEMENTS: u64 = 1 << 20;

/// Chunks of a variable of netCDF that are listed, although some were never written.
const CHUNKS: u64 = 1 << 16;

/// Bytes of descriptors for each byte of the file: deflate makes no more of one.
const RATIO: u64 = 1032;

/// The header of a dataset.
#[derive(Clone)]
pub(super) struct Dataset {
    pub datatype: LayoutDatatype,
    pub dataspace: Dataspace,
    pub storage: DataLayout,
    /// The filters of its chunks.
    filters: Vec<CodingStep>,
    fill_value: Option<Vec<u8>>,
    /// `true` if the last axis is the length of strings, whose characters are the elements that are stored.
    is_joined: bool,
    /// `true` if a fill value was set, with which chunks begin.
    is_filled: bool,
    /// `true` if it has more elements than it stores.
    is_longer: bool,
}

impl Dataset {
    /// Reads the header.
    pub(super) fn from_header(file: &Hdf5File, header: &ObjectHeader) -> Result<Self> {
        let message =
            |kind, what: &str| header.find_message(kind).ok_or_else(|| Error::malformed(format!("a dataset without {what}")));
        let datatype = message(kind::MSG_DATATYPE, "a datatype")?;
        let typed = LayoutDatatype::read_datatype_message(file, &datatype.data, datatype.address)?;
        let space = message(kind::MSG_DATASPACE, "a shape")?;
        let layout = message(kind::MSG_DATA_LAYOUT, "a place")?;
        let storage = match header.find_message(kind::MSG_EXTERNAL_FILES) {
            Some(list) => DataLayout::read_external_files(file, &list.data, list.address)?,
            None => DataLayout::read_layout_message(file, &layout.data, layout.address)?,
        };
        let filters = match header.find_message(kind::MSG_FILTER_PIPELINE) {
            Some(message) => read_filter_pipeline(file, &message.data, message.address, typed.size)?,
            None => Vec::new(),
        };
        let fill = match (header.find_message(kind::MSG_FILL_VALUE), header.find_message(kind::MSG_FILL_VALUE_OLD)) {
            (Some(message), _) => read_fill_value(file, &message.data, message.address)?,
            (None, Some(message)) => {
                let mut at = file.field_reader(&message.data, message.address);
                let len = at.uint(4)?;
                (Some(at.take_bytes(to_usize(len)?)?.to_vec()), true)
            }
            _ => (None, true),
        };
        let (fill, is_used) = fill;
        let fill = fill.filter(|fill| fill.len() as u64 == typed.size);
        let is_filled = fill.is_some() && is_used;
        let fill = fill.filter(|fill| fill.iter().any(|byte| *byte != 0));
        let space = Dataspace::read_dataspace_message(file, &space.data, space.address)?;
        Ok(Self {
            datatype: typed,
            dataspace: space,
            storage,
            filters,
            fill_value: fill,
            is_filled,
            is_longer: false,
            is_joined: false,
        })
    }

    /// Returns `true` if its elements are characters.
    pub(super) fn is_characters(&self) -> bool {
        matches!(self.datatype.datatype, Datatype::Ascii(1) | Datatype::Utf8(1)) && self.datatype.dims.is_empty()
    }

    /// Makes bytes of characters, which may be parts of what a character is in UTF-8.
    pub(super) fn split_characters(&mut self) {
        self.datatype.datatype = Datatype::Ascii(1);
        self.datatype.pads.clear();
    }

    /// Makes strings of the characters along the last axis. Returns `false` if the chunks cut these, or there are none.
    pub(super) fn join_characters(&mut self) -> bool {
        let length = self.dataspace.shape.as_deref().and_then(<[u64]>::last).copied().unwrap_or(0);
        let is_whole = match &self.storage {
            DataLayout::Chunked(chunked) => chunked.chunk.last() == Some(&length),
            storage => !matches!(storage, DataLayout::Virtual(..)),
        };
        self.is_joined = is_whole && length > 0 && u32::try_from(length).is_ok();
        if self.is_joined {
            self.datatype.datatype = Datatype::Ascii(u32::try_from(length).unwrap_or(u32::MAX));
        }
        self.is_joined
    }

    /// Returns lengths of stored axes without that of strings.
    fn without_string_axis<'a>(&self, lengths: &'a [u64]) -> &'a [u64] {
        lengths.split_last().filter(|_| self.is_joined).map_or(lengths, |(_, axes)| axes)
    }

    /// Returns `true` if elements that were never written have the fill value of the netCDF library.
    pub(super) fn has_library_fill(&self) -> bool {
        let is_its = |fill: &Vec<u8>| fill_bytes(&self.datatype.datatype, self.datatype.order).is_some_and(|own| own == *fill);
        self.datatype.dims.is_empty() && self.fill_value.as_ref().is_some_and(is_its)
    }

    /// Makes it longer, as a variable of netCDF whose records were not all written. `fill` is the value of an attribute. Returns it
    /// as it is stored, if it is to be a part of what is longer.
    pub(super) fn extend_shape(&mut self, shape: Vec<u64>, fill: Option<Vec<u8>>) -> Option<Self> {
        let DataLayout::Chunked(chunked) = &self.storage else { return None };
        let axes = shape.iter().zip(&chunked.chunk);
        let count = axes.fold(1u64, |n, (len, chunk)| n.saturating_mul(len.div_ceil((*chunk).max(1))));
        let own = Some(()).filter(|()| self.datatype.special == UnmappedKind::None && self.datatype.dims.is_empty());
        let own = own.and_then(|()| fill_bytes(&self.datatype.datatype, self.datatype.order));
        // Elements that HDF5 does not fill are filled by the netCDF library only, and chunks at the edge may have no filters.
        let is_part = count > CHUNKS || chunked.unfiltered_edges || !self.is_filled && own.is_some();
        if is_part && self.is_direct() {
            let longer = Self {
                fill_value: if self.is_filled { self.fill_value.clone() } else { fill.or(own) },
                dataspace: Dataspace { shape: Some(shape), max_dims: self.dataspace.max_dims.clone() },
                ..self.clone()
            };
            return Some(std::mem::replace(self, longer));
        }
        (self.dataspace.shape, self.is_longer) = (Some(shape), true);
        None
    }

    /// Finds the files that hold the data, as a file in a folder names them.
    pub(super) fn find_data(&mut self, others: &mut ExternalFiles<'_>, folder: &str) -> Result<()> {
        if let (DataLayout::External(slots), Some(shape)) = (&self.storage, &self.dataspace.shape) {
            let size = shape.iter().fold(self.datatype.size, |n, len| n.saturating_mul(*len));
            self.storage = DataLayout::ExternalBytes(others.append_external_bytes(folder, slots, size)?);
        }
        Ok(())
    }

    /// Returns `true` if its elements are read as they are stored.
    pub(super) fn is_direct(&self) -> bool {
        let typed = &self.datatype;
        let is_elsewhere = matches!(typed.special, UnmappedKind::Text | UnmappedKind::Sequence(_)) || typed.has_strings();
        !is_elsewhere && typed.number_filter.is_none()
    }

    /// Finds the paths of its references, which are then read in place of them. If there are too many, or their elements are not in
    /// the file, the references are read as they are stored.
    pub(super) fn resolve_references(&mut self, at: &LinkedFile) -> Result<()> {
        let Some(shape) = self.dataspace.shape.as_ref().filter(|shape| !shape.contains(&0)) else { return Ok(()) };
        let is_here = !matches!(self.storage, DataLayout::Virtual(..) | DataLayout::External(_) | DataLayout::ExternalBytes(_));
        let count = shape.iter().try_fold(1u64, |n, len| n.checked_mul(*len)).unwrap_or(u64::MAX);
        if self.datatype.references.is_empty() || !is_here || self.fill_value.is_some() || count > MAX_VARLEN_ELEMENTS {
            return Ok(());
        }
        let bytes = self.read_descriptors(&at.file, shape)?;
        self.datatype.resolve_references(at, &bytes)
    }

    /// Writes the items.
    pub(super) fn write_items(&self, at: &LinkedFile, name: &str, builder: &mut LayoutBuilder) -> Result<()> {
        let (file, heaps) = (&at.file, &at.heaps);
        let Some(shape) = &self.dataspace.shape else {
            builder.write_item(name, &ItemSpec::null())?;
            return builder.write_doc_lines("an empty dataset: it has a datatype, but no elements");
        };
        let is_elsewhere =
            matches!(self.datatype.special, UnmappedKind::Text | UnmappedKind::Sequence(_)) || self.datatype.has_varlen_members();
        let bytes = if is_elsewhere && !shape.contains(&0) { self.read_descriptors(file, shape)? } else { Vec::new() };
        let here = VarlenElements { at, file, heaps, typed: &self.datatype, shape, bytes: &bytes };
        match &self.datatype.special {
            UnmappedKind::Text => return here.write_strings(name, builder),
            UnmappedKind::Sequence(element) => return here.write_lists(name, element, builder),
            _ if self.datatype.has_strings() => return self.write_strings(file, &here, name, builder),
            _ if self.datatype.number_filter.is_some() => {
                return self
                    .datatype
                    .number_filter
                    .iter()
                    .try_for_each(|number| self.numbers(file, shape, name, number, builder));
            }
            _ => {}
        }
        let all: Vec<u64> = self.without_string_axis(shape).iter().chain(&self.datatype.dims).copied().collect();
        let typed = ItemSpec::from_datatype(&self.datatype.datatype, self.datatype.order, &all)?;
        if shape.contains(&0) {
            return builder.write_item(name, &typed);
        }
        match &self.storage {
            DataLayout::Compact(at) | DataLayout::Contiguous(Some(at)) => {
                builder.write_item(name, &typed.with_offset(file.layout_offset(*at)))
            }
            DataLayout::ExternalBytes(at) => builder.write_item(name, &typed.with_offset(*at)),
            DataLayout::Contiguous(None) => self.write_missing_chunk(name, shape, builder),
            DataLayout::Chunked(chunked) if chunked.is_unwritten() => self.write_missing_chunk(name, shape, builder),
            DataLayout::Chunked(chunked) => {
                self.write_chunks(file, (name, shape), chunked, (true, None), builder)?;
                builder.write_element_type(&self.datatype.datatype, self.datatype.order, &self.datatype.dims)?;
                self.write_fill(builder)
            }
            DataLayout::Virtual(..) | DataLayout::External(_) => Err(external_error()),
        }
    }

    /// Writes the members of structs that are lists of variable length, each as an item.
    pub(super) fn write_varlen_members(&self, at: &LinkedFile, name: &str, builder: &mut LayoutBuilder) -> Result<()> {
        let (file, heaps) = (&at.file, &at.heaps);
        let (Some(shape), false) = (&self.dataspace.shape, self.datatype.varlen_members.is_empty()) else { return Ok(()) };
        let Ok(bytes) = self.read_descriptors(file, shape) else { return Ok(()) };
        VarlenElements { at, file, heaps, typed: &self.datatype, shape, bytes: &bytes }.write_member_lists(name, None, builder)
    }

    /// A dataset of which nothing was written: one chunk, which is missing.
    fn write_missing_chunk(&self, name: &str, shape: &[u64], builder: &mut LayoutBuilder) -> Result<()> {
        builder.write_item(name, &ItemSpec::bytes(0))?;
        builder.write_grid_shape(self.without_string_axis(shape), self.without_string_axis(shape))?;
        builder.write_element_type(&self.datatype.datatype, self.datatype.order, &self.datatype.dims)?;
        self.write_fill(builder)
    }

    fn chunk_axes(&self, chunked: &Chunked, shape: &[u64]) -> Result<ChunkAxes> {
        let whole = chunked.chunk.iter().fold(self.datatype.size, |n, len| n.saturating_mul(*len));
        chunked.axes(shape, &self.dataspace.max_dims, whole, !self.filters.is_empty())
    }

    /// The shape and its chunks, if those at its edges have no filters.
    fn unfiltered_edges(&self, chunked: &Chunked, shape: &[u64]) -> Option<ChunkShape> {
        let cut = || ChunkShape { shape: shape.to_vec(), chunk: chunked.chunk.clone(), item: 1, trims_edges: true };
        (chunked.unfiltered_edges && !self.filters.is_empty()).then(cut)
    }

    /// The index of the chunks of a shape. `added_filters` filters precede those of the dataset.
    fn index(&self, file: &Hdf5File, chunked: &Chunked, shape: &[u64], added_filters: u32) -> Result<DatasetIndex> {
        let (axes, edges) = (self.chunk_axes(chunked, shape)?, self.unfiltered_edges(chunked, shape));
        Ok(DatasetIndex::new(file, chunked, axes, edges, added_filters))
    }

    /// Writes an array whose index of chunks is read with it. `first` is a filter before all others. `is_direct` is false for elements
    /// that are made of what is stored.
    fn write_chunks(
        &self,
        file: &Hdf5File,
        (name, shape): (&str, &[u64]),
        chunked: &Chunked,
        (is_direct, first): (bool, Option<&CodingStep>),
        builder: &mut LayoutBuilder,
    ) -> Result<()> {
        let index = Arc::new(self.index(file, chunked, shape, first.map_or(0, |_| 1))?);
        builder.write_indexed_array(name, IndexedArray { index, is_direct, is_longer: self.is_longer })?;
        builder.write_grid_shape(self.without_string_axis(shape), self.without_string_axis(&chunked.chunk))?;
        builder.write_filters(first.into_iter().chain(&self.filters).cloned().collect())
    }

    pub(super) fn write_fill(&self, builder: &mut LayoutBuilder) -> Result<()> {
        let Some(fill) = &self.fill_value else { return Ok(()) };
        let size = to_usize(self.datatype.datatype.item_size())?;
        // The fill value is that of one character, so it is repeated for each character of a string.
        let fill = if self.is_joined { fill.repeat(size) } else { fill.clone() };
        // Elements with separate axes are filled one by one.
        builder.write_fill_bytes(fill.get(..size).unwrap_or(&fill))
    }

    /// The bytes of an element that was never written.
    fn fill_element(&self) -> Result<Vec<u8>> {
        Ok(self.fill_value.clone().unwrap_or(vec![0; to_usize(self.datatype.size)?]))
    }

    /// The stored elements, in C order: descriptors of what is elsewhere.
    fn read_descriptors(&self, file: &Hdf5File, shape: &[u64]) -> Result<Vec<u8>> {
        let product =
            |lengths: &[u64]| lengths.iter().try_fold(1u64, |n, len| n.checked_mul(*len)).filter(|n| *n <= MAX_VARLEN_ELEMENTS);
        let too_many = || Error::unsupported(format!("more than {MAX_VARLEN_ELEMENTS} elements of variable length"));
        let count = product(shape).ok_or_else(too_many)?;
        product(&[&[count], self.datatype.element_axes()].concat()).ok_or_else(too_many)?;
        let size = count.saturating_mul(self.datatype.size);
        if size > file.len().saturating_mul(RATIO) {
            return Err(Error::unsupported(format!("{size} bytes of elements of variable length in a file of {}", file.len())));
        }
        match &self.storage {
            DataLayout::Compact(at) | DataLayout::Contiguous(Some(at)) => file.read_bytes(*at, size),
            DataLayout::Contiguous(None) => {
                file.limits.charge_memory(size, "elements of variable length")?;
                Ok(self.fill_element()?.repeat(to_usize(count)?))
            }
            DataLayout::Chunked(chunked) => {
                let stored = self.index(file, chunked, shape, 0)?.read_chunks(FilterPipeline::from_steps(&self.filters))?;
                let (shape, chunk) = (shape.to_vec(), chunked.chunk.clone());
                let cut = ChunkShape { shape, chunk, item: self.datatype.size, trims_edges: false };
                let grid = ChunkedSource::new(cut, Box::new(stored), self.fill_element()?, Arc::new(file.limits.clone()))?;
                read_vec(&grid, 0, grid.len().min(size), &file.limits)
            }
            DataLayout::Virtual(..) | DataLayout::External(_) | DataLayout::ExternalBytes(_) => Err(external_error()),
        }
    }

    /// Writes elements with strings, as they are read.
    fn write_strings(&self, file: &Hdf5File, here: &VarlenElements<'_>, name: &str, builder: &mut LayoutBuilder) -> Result<()> {
        let shown = here.decoded_elements()?;
        if !self.write_decoded(file, (name, here.shape), (&shown.datatype, self.datatype.element_axes()), None, builder)? {
            return Ok(());
        }
        shown.write_element_parts(builder)?;
        self.write_fill(builder)
    }

    /// Writes numbers of an odd width as those that a filter makes of them.
    fn numbers(
        &self,
        file: &Hdf5File,
        shape: &[u64],
        name: &str,
        (datatype, filter): &DecodedNumber,
        builder: &mut LayoutBuilder,
    ) -> Result<()> {
        if !self.write_decoded(file, (name, shape), (datatype, self.datatype.element_axes()), Some(filter), builder)? {
            return Ok(());
        }
        // The bytes 0 are a date, too.
        let fill = &self.fill_element()?;
        let one = to_usize(self.datatype.size)? / to_usize(self.datatype.element_axes().iter().product::<u64>())?.max(1);
        let fill = FilterPipeline::from_steps(std::slice::from_ref(filter)).decode(
            fill.get(..one).unwrap_or(fill).to_vec(),
            0,
            datatype.item_size(),
            &file.limits,
        )?;
        if fill.iter().all(|byte| *byte == 0) { Ok(()) } else { builder.write_fill_bytes(&fill) }
    }

    /// Writes elements that are made of what is stored: the chunks with a filter before all others, and what comes out.
    /// Returns `false` if there are no elements.
    fn write_decoded(
        &self,
        file: &Hdf5File,
        (name, shape): (&str, &[u64]),
        (datatype, dims): (&Datatype, &[u64]),
        first: Option<&CodingStep>,
        builder: &mut LayoutBuilder,
    ) -> Result<bool> {
        if shape.contains(&0) {
            builder.write_item(name, &ItemSpec::from_datatype(datatype, Byteorder::Little, &[shape, dims].concat())?)?;
            return Ok(false);
        }
        let size = shape.iter().fold(self.datatype.size, |n, len| n.saturating_mul(*len));
        let whole = match &self.storage {
            DataLayout::Compact(at) | DataLayout::Contiguous(Some(at)) => {
                ItemSpec::bytes(size).with_offset(file.layout_offset(*at))
            }
            DataLayout::Contiguous(None) => ItemSpec::bytes(0),
            DataLayout::ExternalBytes(at) => ItemSpec::bytes(size).with_offset(*at),
            DataLayout::Chunked(chunked) => {
                self.write_chunks(file, (name, shape), chunked, (false, first), builder)?;
                builder.write_element_type(datatype, self.datatype.order, dims)?;
                return Ok(true);
            }
            DataLayout::Virtual(..) | DataLayout::External(_) => return Err(external_error()),
        };
        builder.write_item(name, &whole)?;
        builder.write_grid_shape(shape, shape)?;
        builder.write_filters(first.into_iter().cloned().collect())?;
        builder.write_element_type(datatype, self.datatype.order, dims)?;
        Ok(true)
    }

    /// Writes the fill value of the netCDF library. As the netCDF4 package has it, bytes have none unless the variable is
    /// filled.
    pub(super) fn netcdf_fill(&self, builder: &mut LayoutBuilder) -> Result<()> {
        let is_byte = matches!(self.datatype.datatype, Datatype::Int8 | Datatype::Uint8);
        let is_plain = self.datatype.special == UnmappedKind::None
            && self.datatype.dims.is_empty()
            && self.is_direct()
            && self.datatype.numpy_dtypes.is_empty();
        match fill_value(&self.datatype.datatype) {
            Some(fill) if is_plain && (!is_byte || self.is_filled) => builder.write_library_fill(fill),
            _ => Ok(()),
        }
    }

    /// Writes the fill value, unless it is 0 or the file states it elsewhere: by the attribute `_FillValue`, or as netCDF.
    pub(super) fn write_fill_value(&self, attributes: &[Attribute], builder: &mut LayoutBuilder) -> Result<()> {
        let Some(fill) = self.fill_value.as_ref().filter(|_| !self.has_library_fill()) else { return Ok(()) };
        let stated = attributes.iter().find(|attribute| attribute.name == "_FillValue");
        if stated.is_some_and(|stated| stated.element_of(&self.datatype).as_ref() == Some(fill)) {
            return Ok(());
        }
        let is_one = self.datatype.dims.is_empty() && self.datatype.references.is_empty();
        let value = if is_one { decode_literal(fill, &self.datatype, &|_, _| String::new()) } else { None };
        builder.write_field(StorageField::FillValue(value.unwrap_or_else(|| LayoutLiteral::Text(hex_text(fill)))))
    }
}

impl LayoutDatatype {
    /// Writes remarks on elements of this type besides their datatype.
    pub(super) fn write_type_attributes(&self, builder: &mut LayoutBuilder) -> Result<()> {
        self.write_string_ends(builder)?;
        npy::write_dtype_note(&self.numpy_dtypes, builder)?;
        match &self.special {
            UnmappedKind::Enum(names, values) => {
                let names: Vec<LayoutLiteral> = names.iter().map(|name| LayoutLiteral::Text(name.clone())).collect();
                builder.write_attribute("enum_names", names)?;
                let values: Vec<LayoutLiteral> = values.iter().map(|value| integer_literal(*value)).collect();
                builder.write_attribute("enum_values", values)
            }
            UnmappedKind::Reference(ReferenceForm::Object) if self.paths.is_none() => {
                builder.write_attribute("hdf5_type", "addresses of objects")
            }
            UnmappedKind::Reference(form) => builder.write_attribute("hdf5_type", form.description()),
            UnmappedKind::Raw(what) | UnmappedKind::InMember(what) => builder.write_attribute("hdf5_type", what.as_str()),
            UnmappedKind::None | UnmappedKind::Text | UnmappedKind::Sequence(_) => Ok(()),
        }
    }
}

fn external_error() -> Error {
    Error::unsupported("elements that are not read as they are stored, in a virtual dataset or in other files")
}
