//! Elements of variable length: descriptors are at the place of the dataset, and the elements in a heap.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::datatype::{LayoutDatatype, StringPad};
use super::file::Hdf5File;
use super::heaps::GlobalHeaps;
use super::linked_file::LinkedFile;
use crate::array::{Byteorder, Datatype, Field, StructType};
use crate::bytes::{CodingStep, to_usize};
use crate::error::{Error, Result};
use crate::foreign::struct_strings::{self, MemberTreatment};
use crate::layout::{ElementParts, ElementSpec, ItemSpec, LayoutBuilder, OWNER_ATTRIBUTE, PartKind, PartMove, TypeSpec};

/// Elements with parts that are stored elsewhere.
pub(super) struct VarlenElements<'a> {
    /// The file, to whose objects references lead.
    pub at: &'a LinkedFile,
    pub file: &'a Hdf5File,
    pub heaps: &'a GlobalHeaps,
    pub typed: &'a LayoutDatatype,
    /// The lengths of the axes of the dataset.
    pub shape: &'a [u64],
    /// The elements as they are stored, in C order.
    pub bytes: &'a [u8],
}

/// Elements with their strings: their description in a layout.
pub(super) struct DecodedElements {
    pub datatype: Datatype,
    /// The parts of which they are made, and the filters of these.
    parts: ElementParts,
    filters: Vec<CodingStep>,
    /// References with their paths.
    references: Vec<(Vec<u8>, String)>,
}

impl DecodedElements {
    /// Writes how the elements are made.
    pub(super) fn write_element_parts(&self, builder: &mut LayoutBuilder) -> Result<()> {
        builder.write_parts(&self.parts, &self.filters, &self.references)
    }
}

impl VarlenElements<'_> {
    /// The axes of the dataset, and those of its elements.
    fn combined_axes(&self) -> Vec<u64> {
        self.shape.iter().chain(self.typed.element_axes()).copied().collect()
    }

    /// Returns the places of the elements, each of which has `size` bytes: count, byte of the file.
    fn heap_ranges(&self, bytes: &[u8], size: u64) -> Result<Vec<(u64, u64)>> {
        let mut at = self.file.field_reader(bytes, 0);
        let mut places = Vec::new();
        while at.remaining().len() >= 8 + self.file.offset_size() {
            let (count, heap, index) = (at.uint(4)?, at.read_address()?, at.uint(4)?);
            places.push(match heap.filter(|heap| *heap != 0 && count > 0) {
                Some(heap) => {
                    let address = self.heaps.locate_elements(self.file, (heap, index), (count, size))?;
                    (count, self.file.layout_offset(address))
                }
                None => (0, 0),
            });
        }
        Ok(places)
    }

    /// Writes strings of variable length: each at its place, all together an array of the longest.
    pub(super) fn write_strings(&self, name: &str, builder: &mut LayoutBuilder) -> Result<()> {
        let shape = &self.combined_axes();
        if shape.contains(&0) {
            return builder.write_item(name, &ItemSpec::from_datatype(&Datatype::Utf8(1), Byteorder::Little, shape)?);
        }
        let places = self.heap_ranges(self.bytes, 1)?;
        let most = places.iter().map(|(count, _)| *count).max().unwrap_or(0).max(1);
        let unit = if self.typed.is_utf8 { "U1" } else { "S1" };
        let spelled = |(count, at): &(u64, u64)| match count {
            0 => ItemSpec::bytes(0),
            count => TypeSpec::from_name(unit).with_shape(vec![*count]).with_offset(*at),
        };
        match (places.as_slice(), shape.as_slice()) {
            // Nothing has to be put together. Bytes that are declared as ASCII are of variable length only as a grid.
            ([only @ (1.., _)], []) if self.typed.is_utf8 => return builder.write_item(name, &spelled(only)),
            ([only], _) => builder.write_item(name, &spelled(only))?,
            (all, _) => builder.raw_list(name, all.iter().map(spelled).map(ElementSpec::from))?,
        }
        builder.write_grid_shape(shape, &vec![1; shape.len()])?;
        builder.write_type(TypeSpec::from_name(unit).with_shape(vec![most]))?;
        builder.write_filters(vec![CodingStep::new("pad", Vec::new())])
    }

    /// Writes lists of variable length: one item each.
    pub(super) fn write_lists(&self, name: &str, element: &LayoutDatatype, builder: &mut LayoutBuilder) -> Result<()> {
        self.lists_at(name, element, self.bytes, &self.combined_axes(), builder)
    }

    fn lists_at(
        &self,
        name: &str,
        element: &LayoutDatatype,
        bytes: &[u8],
        shape: &[u64],
        builder: &mut LayoutBuilder,
    ) -> Result<()> {
        if !element.is_list_element() {
            return Err(Error::unsupported("lists of variable length in lists of variable length"));
        }
        let places = if shape.contains(&0) { Vec::new() } else { self.heap_ranges(bytes, element.size)? };
        match (places.as_slice(), shape) {
            ([only], []) => self.write_one_list(Some(name), element, *only, builder),
            (_, [] | [_]) => self.write_nested_lists(Some(name), element, &places, shape, builder),
            // Only the attribute has the lengths of the axes after one of length 0.
            _ if shape.contains(&0) => {
                builder.raw_list(name, std::iter::empty())?;
                builder.write_attribute("list_shape", shape)
            }
            _ => self.write_nested_lists(Some(name), element, &places, shape, builder),
        }
    }

    /// Writes lists in lists, for each axis of the shape; a dataset has 32 at most.
    fn write_nested_lists(
        &self,
        name: Option<&str>,
        element: &LayoutDatatype,
        places: &[(u64, u64)],
        shape: &[u64],
        builder: &mut LayoutBuilder,
    ) -> Result<()> {
        let inner = shape.split_first().map_or(&[][..], |(_, inner)| inner);
        builder.open_list(name)?;
        if inner.is_empty() {
            places.iter().try_for_each(|place| self.write_one_list(None, element, *place, builder))?;
        } else {
            let count = to_usize(inner.iter().fold(1, |n: u64, len| n.saturating_mul(*len)))?.max(1);
            places.chunks(count).try_for_each(|places| self.write_nested_lists(None, element, places, inner, builder))?;
        }
        builder.close_list();
        Ok(())
    }

    /// Writes the elements of one list, which has no name in a list.
    fn write_one_list(
        &self,
        name: Option<&str>,
        element: &LayoutDatatype,
        (count, at): (u64, u64),
        builder: &mut LayoutBuilder,
    ) -> Result<()> {
        let write = |builder: &mut LayoutBuilder, item: &ItemSpec| match name {
            Some(name) => builder.write_item(name, item),
            None => builder.write_list_item(item),
        };
        let size = count.saturating_mul(element.size);
        let mut element = element.clone();
        let has_parts = !element.references.is_empty() || element.has_varlen_members();
        let bytes = if has_parts { self.file.read_bytes(self.file.address_of(at), size)? } else { Vec::new() };
        if !element.references.is_empty() {
            element.resolve_references(self.at, &bytes)?;
        }
        let shape = [count];
        if let (Some((datatype, word)), 1..) = (&element.number_filter, count) {
            write(builder, &ItemSpec::bytes(size).with_offset(at))?;
            builder.write_grid_shape(&shape, &shape)?;
            builder.write_filters(vec![word.clone()])?;
            return builder.write_element_type(datatype, element.order, element.element_axes());
        }
        if element.has_strings() && count > 0 {
            let here = VarlenElements { typed: &element, shape: &shape, bytes: &bytes, ..*self };
            let shown = here.decoded_elements()?;
            write(builder, &ItemSpec::bytes(size).with_offset(at))?;
            builder.write_grid_shape(&shape, &shape)?;
            builder.write_element_type(&shown.datatype, element.order, element.element_axes())?;
            return shown.write_element_parts(builder);
        }
        let all = [&shape, element.element_axes()].concat();
        let item = match &element.number_filter {
            None if element.paths.is_some() && element.datatype.as_struct().is_none() => {
                ItemSpec::from_datatype(&Datatype::Utf8(1), element.order, &all)?
            }
            Some((datatype, _)) => ItemSpec::from_datatype(datatype, element.order, &all)?,
            None => ItemSpec::from_datatype(&element.datatype, element.order, &[&shape, &*element.dims].concat())?,
        };
        write(builder, &if count == 0 { item } else { item.with_offset(at) })
    }

    /// Writes the members of structs that are lists of variable length: an item for each, `NAME@member`. Those of an attribute are
    /// attributes of its `owner`.
    pub(super) fn write_member_lists(&self, name: &str, owner: Option<&str>, builder: &mut LayoutBuilder) -> Result<()> {
        for list in &self.typed.varlen_members {
            let name = format!("{name}@{}", list.path);
            builder.or_unreadable(&name, |builder| {
                let element = list.element.as_ref().filter(|_| self.typed.dims.is_empty());
                let element = element.ok_or_else(|| Error::unsupported("lists of variable length in arrays of structs"))?;
                let count = list.dims.iter().fold(1u64, |n, len| n.saturating_mul(*len));
                let size = to_usize(self.descriptor_size().saturating_mul(count))?;
                let mut bytes = Vec::new();
                for stored in self.bytes.chunks_exact(to_usize(self.typed.size)?.max(1)) {
                    let from = stored.get(to_usize(list.offset)?..).unwrap_or(&[]);
                    bytes.extend_from_slice(from.get(..size).unwrap_or(from));
                }
                self.lists_at(&name, element, &bytes, &[self.shape, &*list.dims].concat(), builder)
            })?;
            if let Some(owner) = owner {
                builder.write_attribute(OWNER_ATTRIBUTE, owner)?;
            }
        }
        Ok(())
    }

    /// Returns the elements with their strings, as they are read.
    ///
    /// # Errors
    /// Returns `Unsupported` for structs of too many parts.
    pub(super) fn decoded_elements(&self) -> Result<DecodedElements> {
        let file = self.file;
        let stored = self.typed.datatype.item_size();
        let mut parts = ElementParts {
            stored_size: stored,
            address_size: file.offset_size() as u64,
            length_size: file.length_size() as u64,
            base: file.layout_offset(0),
            moves: Vec::new(),
        };
        let datatype = match (&self.typed.datatype, self.typed.pads.first()) {
            (Datatype::Struct(fields), _) => {
                let mut all = BTreeMap::new();
                self.collect_string_members(fields, 0, &[0], &mut all)?;
                let lengths = self.max_lengths(to_usize(stored)?, &all)?;
                let (fields, moves) =
                    struct_strings::decoded_struct(fields, 0, &|field, at| self.resolve_member(field, at, &lengths))?;
                parts.moves = moves;
                Datatype::Struct(Arc::new(fields))
            }
            (other, pad) => match (&self.typed.paths, self.typed.references.first()) {
                (Some(paths), Some(part)) => {
                    parts.stored_size = part.size;
                    let kind = self.reference_kind(part.size).unwrap_or(PartKind::Bytes);
                    parts.moves.push(PartMove { kind, from: 0, to: 0, len: paths.length });
                    Datatype::with_length("utf8", paths.length)?
                }
                _ => {
                    let kind = pad.map_or(PartKind::Bytes, |(_, pad)| pad.part_kind());
                    parts.moves.push(PartMove { kind, from: 0, to: 0, len: stored });
                    other.clone()
                }
            },
        };
        let numbers = self.typed.numbers.iter().map(|(_, (_, filter))| filter.clone());
        let filters = numbers.chain(self.typed.paths.iter().flat_map(|paths| paths.filters())).collect();
        let references = self.typed.paths.as_ref().map_or_else(Vec::new, |paths| paths.entries().to_vec());
        Ok(DecodedElements { datatype, parts, filters, references })
    }

    /// Returns the kind of a part for references of a size: that of their filter, which follows those of numbers.
    fn reference_kind(&self, size: u64) -> Option<PartKind> {
        let index = self.typed.paths.as_ref()?.filter_index(size)?;
        Some(PartKind::Filter((self.typed.numbers.len() + index) as u64))
    }

    fn is_text(&self, field: &Field, at: u64) -> bool {
        field.datatype == Datatype::Uint8 && self.typed.texts.iter().any(|(text, _)| *text == at)
    }

    /// The places in an element of all strings, by the place of the first of each member. As deep as types nest.
    fn collect_string_members(
        &self,
        fields: &StructType,
        first: u64,
        starts: &[u64],
        all: &mut BTreeMap<u64, Vec<u64>>,
    ) -> Result<()> {
        for field in fields.fields() {
            let at = first.saturating_add(field.offset);
            let (count, size) = match &field.datatype {
                Datatype::Struct(_) => (field.count(), field.datatype.item_size()),
                _ if self.is_text(field, at) => (self.string_count(field), self.descriptor_size()),
                _ => continue,
            };
            if count.saturating_mul(starts.len() as u64) > struct_strings::MAX_PARTS as u64 {
                return Err(Error::unsupported(format!("structs with more than {} strings", struct_strings::MAX_PARTS)));
            }
            let places = starts.iter().flat_map(|start| {
                (0..count).map(move |n| start.saturating_add(field.offset).saturating_add(n.saturating_mul(size)))
            });
            let places: Vec<u64> = places.collect();
            match &field.datatype {
                Datatype::Struct(inner) => self.collect_string_members(inner, at, &places, all)?,
                _ => drop(all.insert(at, places)),
            }
        }
        Ok(())
    }

    /// The length of the longest string of each member.
    fn max_lengths(&self, stored: usize, all: &BTreeMap<u64, Vec<u64>>) -> Result<BTreeMap<u64, u64>> {
        let mut lengths: BTreeMap<u64, u64> = all.keys().map(|at| (*at, 1)).collect();
        for element in self.bytes.chunks_exact(stored.max(1)) {
            for (member, places) in all {
                for place in places {
                    let mut at = self.file.field_reader(element.get(to_usize(*place)?..).unwrap_or(&[]), 0);
                    let (count, heap, index) = (at.uint(4)?, at.read_address()?, at.uint(4)?);
                    let Some(heap) = heap.filter(|heap| *heap != 0) else { continue };
                    if let Some(most) = lengths.get_mut(member).filter(|most| **most < count) {
                        // The width of elements follows from it, so it has to be that of a string which is there.
                        self.heaps.locate_elements(self.file, (heap, index), (count, 1))?;
                        *most = count;
                    }
                }
            }
        }
        Ok(lengths)
    }

    fn descriptor_size(&self) -> u64 {
        8 + self.file.offset_size() as u64
    }

    /// Returns the number of strings of a member.
    fn string_count(&self, field: &Field) -> u64 {
        field.count() / self.descriptor_size()
    }

    /// Returns the treatment of the member of a struct at a byte of an element.
    fn resolve_member(&self, field: &Field, at: u64, lengths: &BTreeMap<u64, u64>) -> Result<MemberTreatment> {
        let is_bytes = field.datatype == Datatype::Uint8;
        if is_bytes && self.typed.varlen_members.iter().any(|list| list.offset == at) {
            return Ok(MemberTreatment::Dropped);
        }
        let shape = field.shape.split_last().map_or(&[][..], |(_, shape)| shape).to_vec();
        if self.is_text(field, at) {
            let name = if self.typed.texts.contains(&(at, true)) { "utf8" } else { "ascii" };
            let datatype = Datatype::with_length(name, lengths.get(&at).copied().unwrap_or(1))?;
            return Ok(MemberTreatment::Derived {
                datatype,
                shape,
                kind: PartKind::Heap,
                count: self.string_count(field),
                stored: self.descriptor_size(),
            });
        }
        let part = self.typed.references.iter().find(|part| part.offset == at);
        if let (Some(part), Some(paths)) = (part, &self.typed.paths) {
            let index = self.typed.numbers.len() + paths.filter_index(part.size).unwrap_or(0);
            let shape = if part.form.has_byte_axis() { shape } else { field.shape.clone() };
            return Ok(MemberTreatment::numbers(Datatype::with_length("utf8", paths.length)?, shape, index));
        }
        if let Some(filter) = self.typed.numbers.iter().position(|(place, _)| *place == at && is_bytes)
            && let Some((_, (datatype, _))) = self.typed.numbers.get(filter)
        {
            return Ok(MemberTreatment::numbers(datatype.clone(), shape, filter));
        }
        let pad = self.typed.pads.iter().find(|(offset, _)| *offset == at);
        Ok(pad.map_or(MemberTreatment::Kept, |(_, pad)| MemberTreatment::strings_attribute(field, pad.part_kind())))
    }
}

impl StringPad {
    /// Returns the kind of a part with the padding.
    fn part_kind(self) -> PartKind {
        match self {
            StringPad::NulTerminated => PartKind::NulTerminated,
            StringPad::SpacePadded => PartKind::SpacePadded,
        }
    }
}
