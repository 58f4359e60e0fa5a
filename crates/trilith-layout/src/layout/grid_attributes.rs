//! The storage of arrays in chunks, and the other properties of items by name.
//!
//! Readers of other formats write properties with the methods of [`LayoutBuilder`]; those of an array in chunks are read
//! together, as [`GridAttributes`].

use std::sync::OnceLock;

use super::builder::LayoutBuilder;
use super::detect::{ParseOptions, parse};
use super::grid_words::{
    CHUNKING_WORDS, FILES_AT_ATTRIBUTE, FILES_ATTRIBUTE, GRID_PREFIX, OFFSETS_ATTRIBUTE, PART_ATTRIBUTE, PARTS_ATTRIBUTE,
    SLABS_ATTRIBUTE, SOURCES_ATTRIBUTE, UNREADABLE, find_unknown_word, word,
};
use super::item_spec::{ItemSpec, check_numbers};
use super::model::{Annotation, AnnotationKind, Attribute, ItemId, Layout, StorageNote};
use super::note_value::attribute_len;
use super::param_request::EvaluateOptions;
use super::primitive::Dialect;
use super::resolved_type::ResolvedType;
use super::storage_field::{
    DeclaredType, ElementParts, ElementType, FillValue, LibraryFill, PartKind, StorageField, UnreadableReason,
};
use crate::array::{Byteorder, Datatype, DeclaredNumber};
use crate::bytes::{CodingStep, to_usize};
use crate::error::{Error, Result};
use crate::limits::Limits;

/// The storage of an array in chunks.
#[derive(Debug, Default)]
pub struct GridAttributes<'a> {
    /// The lengths of the axes, without those of the elements.
    pub shape: Vec<u64>,
    /// The lengths of a chunk.
    pub chunk: Vec<u64>,
    /// The type of an element; `None` if it is that of the item.
    pub element_type: Option<&'a ElementType>,
    /// The filters of the chunks.
    pub filters: &'a [CodingStep],
    /// Bytes that go before those of each chunk.
    pub header_bytes: &'a [u8],
    /// `true` if chunks at the edges have only the elements of the array.
    pub trims_edges: bool,
    /// `true` if the first axis is contiguous.
    pub is_column_major: bool,
    /// The filters that each chunk skipped, as bits.
    pub masks: &'a [u64],
    /// The parts of which elements are made.
    pub parts: Option<&'a ElementParts>,
    /// The filters of parts.
    pub part_filters: &'a [CodingStep],
    /// The paths of references by their bytes.
    pub references: &'a [(Vec<u8>, String)],
    /// The table of the chunks in the file.
    pub table: Option<GridTable<'a>>,
    /// The paths of the arrays of which it is put together.
    pub sources: Option<&'a [String]>,
    /// The numbers of the elements of these arrays.
    pub slabs: &'a [u64],
    fill: Option<&'a StorageField>,
}

/// The columns of a table of chunks.
#[derive(Debug, Default)]
pub struct GridTable<'a> {
    /// The path of the byte offsets; the item itself if it is empty.
    pub offsets: &'a str,
    /// The path of the lengths.
    pub lengths: Option<&'a str>,
    /// The path of the filters that each chunk skipped.
    pub masks: Option<&'a str>,
    /// The byte from which offsets count.
    pub base: u64,
}

/// A type, the dimensions that come with it, and its name.
pub type TypeAndDims = (ResolvedType, Vec<u64>, String);

/// A part of another file in the space of addresses of a layout.
#[derive(Debug)]
#[doc(hidden)]
pub struct DeclaredFilePart<'a> {
    /// The file, as a relative reference.
    pub file: &'a str,
    /// The first byte in the layout and in the file, and the number of bytes.
    pub place: [u64; 3],
}

#[doc(hidden)]
impl Layout {
    /// Returns `true` if the layout may have arrays in chunks.
    pub fn may_have_grids(&self) -> bool {
        CHUNKING_WORDS.iter().any(|name| self.has_attribute_name(name))
    }

    /// Returns `true` if an item is an array in chunks.
    pub fn is_grid(&self, item: ItemId) -> bool {
        self.property_names(item).any(|name| CHUNKING_WORDS.contains(&name))
    }

    /// The names of the attributes and of the properties of an item.
    fn property_names(&self, item: ItemId) -> impl Iterator<Item = &str> {
        self.notes_of(item).iter().filter_map(|note| match &note.said {
            AnnotationKind::Attribute(name, _) | AnnotationKind::Storage(name, _) => Some(self.names.resolve(*name)),
            _ => None,
        })
    }

    /// Returns `true` if items may be marked as parts of other ones.
    pub fn may_have_parts(&self) -> bool {
        self.has_attribute_name(PART_ATTRIBUTE)
    }

    /// Returns `true` if items may be marked as unreadable.
    pub fn may_have_unreadable(&self) -> bool {
        self.has_attribute_name(UNREADABLE)
    }

    /// Returns `true` if an item is marked as a part of another one.
    pub fn is_part(&self, item: ItemId) -> bool {
        self.storage_fields(item).any(|field| matches!(field, StorageField::Part))
    }

    /// Returns `true` if the elements of an array have strings of variable length as parts.
    pub fn has_varlen_parts(&self, item: ItemId) -> bool {
        let is_varlen = |field: &StorageField| matches!(field, StorageField::Parts(parts) if parts.moves.iter().any(|part| part.kind == PartKind::Heap));
        self.storage_fields(item).any(is_varlen)
    }

    /// Returns the names of the axes of an item; None if none are declared.
    pub fn declared_dims(&self, item: ItemId) -> Option<&[String]> {
        self.storage_fields(item).find_map(|field| match field {
            StorageField::Dims(names) if !names.is_empty() => Some(names.as_slice()),
            _ => None,
        })
    }

    /// Returns the fill value of the library that wrote an item.
    pub fn library_fill(&self, item: ItemId) -> Option<&LibraryFill> {
        self.storage_fields(item).find_map(|field| match field {
            StorageField::LibraryFill(fill) => Some(fill),
            _ => None,
        })
    }

    /// Returns the bytes of a struct at which strings begin that end at their first NUL; None if none are declared.
    pub fn string_starts(&self, item: ItemId) -> Option<&[u64]> {
        self.storage_fields(item).find_map(|field| match field {
            StorageField::StringStarts(starts) => Some(starts.as_slice()),
            _ => None,
        })
    }

    /// Returns the scale and the offset of each sample, if they differ.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if the layout does not have two numbers for each sample.
    pub fn sample_factors(&self, item: ItemId) -> Result<Option<&[(f64, f64)]>> {
        self.require_field(item, super::grid_words::FACTORS_ATTRIBUTE, &|field| match field {
            StorageField::SampleFactors(factors) => Some(factors.as_slice()),
            _ => None,
        })
    }

    /// Returns the path of the mask page of an item.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if the layout does not have one path.
    pub fn mask_path(&self, item: ItemId) -> Result<Option<&str>> {
        self.require_field(item, super::grid_words::VALID_ATTRIBUTE, &|field| match field {
            StorageField::MaskPath(path) => Some(path.as_str()),
            _ => None,
        })
    }

    /// Returns the parts of other files in the space of addresses of the layout.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if the layout does not have a place for each file.
    pub fn file_parts(&self) -> Result<Vec<DeclaredFilePart<'_>>> {
        let files = self.require_field(ItemId::ROOT, FILES_ATTRIBUTE, &|field| match field {
            StorageField::Files(files) => Some(files.as_slice()),
            _ => None,
        })?;
        let places = self.require_field(ItemId::ROOT, FILES_AT_ATTRIBUTE, &|field| match field {
            StorageField::FilePlaces(places) => Some(places.as_slice()),
            _ => None,
        })?;
        let (files, places) = (files.unwrap_or(&[]), places.unwrap_or(&[]));
        if files.len() != places.len() {
            return Err(Error::malformed(format!("{FILES_ATTRIBUTE} and {FILES_AT_ATTRIBUTE} do not fit")));
        }
        Ok(files.iter().zip(places).map(|(file, place)| DeclaredFilePart { file, place: *place }).collect())
    }

    /// Returns the parts of the described file that the layout does not describe, in words.
    pub fn omissions(&self) -> impl Iterator<Item = &str> {
        self.storage_fields(ItemId::ROOT)
            .flat_map(|field| match field {
                StorageField::Omissions(parts) => parts.as_slice(),
                _ => &[],
            })
            .map(String::as_str)
    }

    /// Returns a property; an error if there is an attribute of its name with another value.
    fn require_field<'l, T>(
        &'l self,
        item: ItemId,
        name: &str,
        pick: &dyn Fn(&'l StorageField) -> Option<T>,
    ) -> Result<Option<T>> {
        if let Some(found) = self.storage_fields(item).find_map(pick) {
            return Ok(Some(found));
        }
        match self.plain_attributes(item).find(|(known, _)| *known == name) {
            Some((_, value)) => StorageField::from_attribute(name, value).map(|_| None),
            None => Ok(None),
        }
    }
}

impl ElementType {
    /// Returns the type with the dimensions that come with it.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if the text is not a type.
    pub fn resolve(&self, limits: &Limits) -> Result<TypeAndDims> {
        let wrong = || Error::malformed(format!("{} \"{self}\" is not a datatype such as \"<f8\"", word::TYPE));
        let layout = match self {
            Self::Declared(DeclaredType(spec)) => {
                let mut builder = LayoutBuilder::new("a type", limits);
                builder.write_item("x", &spec.clone().with_offset(0))?;
                builder.finish()
            }
            Self::Written(text) if text.contains(['\n', '#', '@']) && !text.starts_with('{') => return Err(wrong()),
            Self::Written(text) => {
                let mut options = ParseOptions::with_dialect(Dialect::D2025);
                options.limits = limits.clone();
                parse(format!("x = {text} @0").as_bytes(), &options)?.into_layout().map_err(|_| wrong())?
            }
        };
        let found = layout.evaluate_with(&EvaluateOptions::default(), &[])?;
        let entry = found.find("/x")?.filter(|entry| entry.resolved_type != ResolvedType::Dynamic).ok_or_else(wrong)?;
        Ok((entry.resolved_type, entry.shape, entry.datatype))
    }
}

impl<'a> GridAttributes<'a> {
    /// Returns the storage of an array in chunks.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if a property is missing, not known, or not what it has to be, and
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for properties of a scale.
    pub fn from_layout(layout: &'a Layout, item: ItemId) -> Result<Self> {
        let (mut found, mut table) = (Self::default(), GridTable::default());
        let (mut has_offsets, mut only_in_table) = (false, None);
        for (name, value) in layout.plain_attributes(item).filter(|(name, _)| name.starts_with(GRID_PREFIX)) {
            if word::REFUSED.contains(&name) {
                return Err(Error::unsupported(format!("a grid of chunks with the attribute {name}")));
            }
            if CHUNKING_WORDS.contains(&name) {
                StorageField::from_attribute(name, value)?;
            }
        }
        check_complete(layout.property_names(item).filter(|name| name.starts_with(GRID_PREFIX)).collect())?;
        for field in layout.storage_fields(item) {
            match field {
                StorageField::Shape(lengths) => found.shape.clone_from(lengths),
                StorageField::Chunk(lengths) => found.chunk.clone_from(lengths),
                StorageField::ElementType(typed) => found.element_type = Some(typed),
                StorageField::Filters(filters) => found.filters = filters,
                StorageField::Fill(_) => found.fill = Some(field),
                StorageField::Masks(masks) => found.masks = masks,
                StorageField::MaskColumn(column) => {
                    (table.masks, only_in_table) = (Some(column.as_str()), Some(field.word()));
                }
                StorageField::ChunkHeader(bytes) => found.header_bytes = bytes,
                StorageField::TrimmedEdges(is_trimmed) => found.trims_edges = *is_trimmed,
                StorageField::ColumnMajor(is_column_major) => found.is_column_major = *is_column_major,
                StorageField::OffsetColumn(column) => (table.offsets, has_offsets) = (column, true),
                StorageField::LengthColumn(column) => {
                    (table.lengths, only_in_table) = (Some(column.as_str()), Some(field.word()));
                }
                StorageField::OffsetBase(base) => (table.base, only_in_table) = (*base, Some(field.word())),
                StorageField::Parts(parts) => found.parts = Some(parts),
                StorageField::PartFilters(filters, references) => (found.part_filters, found.references) = (filters, references),
                StorageField::Sources(paths) => found.sources = Some(paths),
                StorageField::Slabs(slabs) => found.slabs = slabs,
                _ => {}
            }
        }
        let Self { shape, chunk, .. } = &found;
        if shape.len() != chunk.len() || chunk.contains(&0) {
            return Err(Error::malformed(format!("{} {chunk:?} does not fit {} {shape:?}", word::CHUNK, word::SHAPE)));
        }
        match (has_offsets, only_in_table) {
            (true, _) => found.table = Some(table),
            (false, Some(name)) => {
                let message = format!("{name} without {OFFSETS_ATTRIBUTE}, which names the column of byte offsets");
                return Err(Error::malformed(message));
            }
            (false, None) => {}
        }
        Ok(found)
    }

    /// Returns the bytes of an element that was never written. `stored_size` is the number of bytes before its parts are decoded: a fill
    /// value may be as it is stored.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if the fill value is not an element of the datatype.
    pub fn fill_bytes(&self, datatype: &Datatype, order: Byteorder, stored_size: usize) -> Result<Vec<u8>> {
        let size = to_usize(datatype.item_size())?;
        let Some(StorageField::Fill(fill)) = self.fill else { return Ok(vec![0; stored_size]) };
        let wrong = || {
            let spelled = self.fill.map_or(Attribute::Flag, StorageField::to_attribute);
            Error::malformed(format!("{} {spelled} is not an element of the type {datatype}", word::FILL))
        };
        let number = match fill {
            FillValue::Bytes(bytes) if [size, stored_size].contains(&bytes.len()) => return Ok(bytes.clone()),
            FillValue::Bytes(_) => return Err(wrong()),
            FillValue::Number(number) => *number,
        };
        let bytes = match (datatype, number) {
            (Datatype::Float16, _) => half::f16::from_f64(number.float()).to_le_bytes().to_vec(),
            (Datatype::Float32, _) => (number.float() as f32).to_le_bytes().to_vec(),
            (Datatype::Float64, _) => number.float().to_le_bytes().to_vec(),
            (_, DeclaredNumber::Int(integer)) if size <= 8 && datatype.as_struct().is_none() => {
                let bytes = integer.to_le_bytes();
                bytes.get(..size).unwrap_or(&bytes).to_vec()
            }
            _ => return Err(wrong()),
        };
        Ok(if order == Byteorder::Big { bytes.into_iter().rev().collect() } else { bytes })
    }
}

/// Refuses words that are not known, and words without another one that they need: a default would be a guess at how the elements
/// are stored.
fn check_complete(mut names: Vec<&str>) -> Result<()> {
    names.sort_unstable();
    if let Some((name, near)) = names.iter().find_map(|name| Some((name, find_unknown_word(name)?))) {
        // The error is copied with the item, and copies have no hint.
        let hint = near.map_or_else(String::new, |near| format!(": did you mean {near}?"));
        return Err(Error::malformed(format!("{name} is not an attribute of an array in chunks{hint}")));
    }
    let needed = [
        ("an array in chunks", word::SHAPE),
        ("an array in chunks", word::CHUNK),
        (SOURCES_ATTRIBUTE, SLABS_ATTRIBUTE),
        (SLABS_ATTRIBUTE, SOURCES_ATTRIBUTE),
        (word::NUMBERS, PARTS_ATTRIBUTE),
    ];
    let is_missing = |(by, name): &(&str, &str)| (!by.starts_with(GRID_PREFIX) || names.contains(by)) && !names.contains(name);
    match needed.iter().find(|row| is_missing(row)) {
        Some((by, name)) => Err(Error::malformed(format!("{by} has no {name}")).hint(format!("add {name} to the layout"))),
        None => Ok(()),
    }
}

/// The properties of the preceding item.
///
/// # Errors
/// All return the errors of [`LayoutBuilder::write_field`].
impl LayoutBuilder {
    /// A property of the item before, or of the root if there is none.
    ///
    /// # Errors
    /// Returns the errors of [`LayoutBuilder::open_dict`].
    pub(crate) fn write_field(&mut self, field: StorageField) -> Result<()> {
        let name = field.word();
        self.charge(name.len() + field_len(&field))?;
        let name = self.layout.names.intern(name);
        let note = Box::new(StorageNote { field, spelled: OnceLock::new() });
        self.notes.push(Annotation { item: self.target, said: AnnotationKind::Storage(name, note) });
        Ok(())
    }

    /// Marks the item as an array of this shape, in chunks of that one.
    pub(crate) fn write_grid_shape(&mut self, shape: &[u64], chunk: &[u64]) -> Result<()> {
        self.write_field(StorageField::Shape(shape.to_vec()))?;
        self.write_field(StorageField::Chunk(chunk.to_vec()))
    }

    /// The type of the elements; `dims` are the lengths of elements that are arrays themselves.
    pub(crate) fn write_element_type(&mut self, datatype: &Datatype, order: Byteorder, dims: &[u64]) -> Result<()> {
        self.write_type(ItemSpec::from_datatype(datatype, order, dims)?)
    }

    /// The type of the elements, as an item without a place.
    pub(crate) fn write_type(&mut self, typed: ItemSpec) -> Result<()> {
        check_numbers(&typed)?;
        self.write_field(StorageField::ElementType(ElementType::Declared(DeclaredType(typed))))
    }

    /// The filters of the chunks, in the order in which they were applied; nothing if there are none.
    pub(crate) fn write_filters(&mut self, filters: Vec<CodingStep>) -> Result<()> {
        if filters.is_empty() { Ok(()) } else { self.write_field(StorageField::Filters(filters)) }
    }

    /// The bytes of an element that was never written.
    pub(crate) fn write_fill_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        self.write_field(StorageField::Fill(FillValue::Bytes(bytes.to_vec())))
    }

    /// The table of the chunks, which the item is: it has the byte offsets, and an item of this name the lengths.
    pub(crate) fn write_chunk_table(&mut self, lengths: &str) -> Result<()> {
        self.write_field(StorageField::OffsetColumn(String::new()))?;
        self.write_field(StorageField::LengthColumn(format!("/{lengths}")))
    }

    /// The parts of which elements are made, the filters of these, and the paths of references by their bytes.
    pub(crate) fn write_parts(
        &mut self,
        parts: &ElementParts,
        filters: &[CodingStep],
        references: &[(Vec<u8>, String)],
    ) -> Result<()> {
        self.write_field(StorageField::Parts(parts.clone()))?;
        if filters.is_empty() && references.is_empty() {
            return Ok(());
        }
        self.write_field(StorageField::PartFilters(filters.to_vec(), references.to_vec()))
    }

    /// The fill value of a library.
    pub(crate) fn write_library_fill(&mut self, value: DeclaredNumber) -> Result<()> {
        self.write_field(StorageField::LibraryFill(LibraryFill::Numbers(vec![value])))
    }

    /// The names of the axes.
    pub(crate) fn write_dims<S: Into<String>>(&mut self, names: impl IntoIterator<Item = S>) -> Result<()> {
        self.write_field(StorageField::Dims(names.into_iter().map(Into::into).collect()))
    }

    /// The names of the axes without an end.
    pub(crate) fn write_unlimited_dims<S: Into<String>>(&mut self, names: impl IntoIterator<Item = S>) -> Result<()> {
        self.write_field(StorageField::UnlimitedDims(names.into_iter().map(Into::into).collect()))
    }

    /// Other files, and for each its first byte here, its first byte there and its length.
    pub(super) fn write_files(&mut self, parts: &[(String, [u64; 3])]) -> Result<()> {
        let (files, places) = parts.iter().cloned().unzip();
        self.write_field(StorageField::Files(files))?;
        self.write_field(StorageField::FilePlaces(places))
    }

    /// The reason for which the item cannot be read.
    pub(super) fn write_reason(&mut self, why: &Error) -> Result<()> {
        self.write_field(StorageField::Unreadable(UnreadableReason::from_error(why)))
    }
}

/// Returns about as many bytes as a layout spells a property with.
fn field_len(field: &StorageField) -> usize {
    let texts = |texts: &[String]| texts.iter().map(|text| text.len() + 2).sum::<usize>();
    let steps = |steps: &[CodingStep]| steps.iter().map(|step| step.name.len() + 8 * step.arguments.len() + 2).sum::<usize>();
    match field {
        StorageField::Shape(numbers) | StorageField::Chunk(numbers) | StorageField::Masks(numbers) => 8 * numbers.len(),
        StorageField::Slabs(numbers) | StorageField::StringStarts(numbers) => 8 * numbers.len(),
        StorageField::Fill(FillValue::Bytes(bytes)) | StorageField::ChunkHeader(bytes) | StorageField::UserBlock(bytes) => {
            2 * bytes.len() + 2
        }
        StorageField::Parts(parts) => 32 * (parts.moves.len() + 1),
        StorageField::PartFilters(filters, references) => {
            steps(filters) + references.iter().map(|(key, path)| 2 * key.len() + path.len() + 2).sum::<usize>()
        }
        StorageField::Filters(filters) => steps(filters),
        StorageField::Sources(all) | StorageField::Dims(all) | StorageField::UnlimitedDims(all) => texts(all),
        StorageField::Files(all) | StorageField::Omissions(all) | StorageField::Float32Attributes(all) => texts(all),
        StorageField::FilePlaces(places) => 24 * places.len(),
        StorageField::SampleFactors(factors) => 16 * factors.len(),
        StorageField::Fill(FillValue::Number(_)) | StorageField::OffsetBase(_) | StorageField::Part => 8,
        StorageField::MaskColumn(text) | StorageField::OffsetColumn(text) | StorageField::LengthColumn(text) => text.len() + 2,
        StorageField::Column(text) | StorageField::MaskPath(text) | StorageField::ScaleName(text) => text.len() + 2,
        StorageField::StringAxis(text) => text.len() + 2,
        other => attribute_len(&other.to_attribute()),
    }
}
