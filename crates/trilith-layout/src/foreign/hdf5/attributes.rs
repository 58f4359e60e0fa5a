//! Attributes: their values, and where those are.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use super::btree;
use super::datatype::{Dataspace, LayoutDatatype, StringPad, UnmappedKind, as_integer};
use super::file::Hdf5File;
use super::heaps::{FractalHeap, GlobalHeaps};
use super::linked_file::LinkedFile;
use super::object_header::{HeaderMessage, ObjectHeader, kind, resolve_shared};
use super::references::ReferenceForm;
use super::varlen::VarlenElements;
use crate::array::{Byteorder, Datatype, Field, undeclared_text};
use crate::bytes::to_usize;
use crate::codec::filter::FilterPipeline;
use crate::error::{Error, Result};
use crate::layout::{
    AttributeType, BYTES_TYPE, EMPTY_TYPE, ItemSpec, LayoutBuilder, LayoutLiteral, REFERENCE_TYPE, integer_literal,
};
use crate::limits::Limits;

/// Values of one attribute that are written into the text; more are an item.
const MAX_INLINE_VALUES: usize = 1024;

/// An attribute of a group or a dataset.
pub(super) struct Attribute {
    pub name: String,
    /// Shared by the attributes with the same message.
    pub datatype: Arc<LayoutDatatype>,
    pub dataspace: Dataspace,
    data: Vec<u8>,
    /// The offset of its value; 0 if the value has no separate place.
    pub address: u64,
}

/// An attribute that cannot be read.
pub(super) struct UnreadableAttribute {
    /// Name of the attribute; empty if the name cannot be read.
    pub name: String,
    pub reason: Error,
}

/// All attributes of an object and those that cannot be read, in the order in which they were made, if the file keeps it.
pub(super) fn read_all(file: &Hdf5File, header: &ObjectHeader) -> (Vec<Attribute>, Vec<UnreadableAttribute>) {
    let (mut found, mut refused) = (Vec::new(), Vec::new());
    let mut more = Vec::new();
    for message in &header.messages {
        if message.kind == kind::MSG_ATTRIBUTE_INFO
            && let Err(why) = read_dense(file, message, &mut more)
        {
            refused.push(UnreadableAttribute { name: String::new(), reason: why });
        }
    }
    // The index has them in the order of their hashes.
    more.sort_by_key(|(order, _)| *order);
    let apart = more.iter().map(|(_, message)| message);
    let mut known = KnownDatatypes::new();
    for message in header.messages.iter().filter(|message| message.kind == kind::MSG_ATTRIBUTE).chain(apart) {
        match read_attribute(file, message, &mut known) {
            Ok(attribute) => found.push(attribute),
            Err(error) => refused.push(error),
        }
    }
    (found, refused)
}

/// The attributes that are in a heap, if there are many, each with its number in the order in which they were made.
fn read_dense(file: &Hdf5File, message: &HeaderMessage, found: &mut Vec<(u64, HeaderMessage)>) -> Result<()> {
    let mut at = file.field_reader(&message.data, message.address);
    at.skip(1)?;
    let flags = at.uint(1)?;
    at.skip(if flags & 1 == 0 { 0 } else { 2 })?;
    let (Some(heap), Some(names)) = (at.read_address()?, at.read_address()?) else { return Ok(()) };
    let heap = FractalHeap::read_heap_header(file, heap)?;
    btree::visit_btree_v2(file, names, None, &mut |_, at| {
        if found.len() as u64 >= file.limits.items {
            return Err(Limits::exceeded_error("items", file.limits.items, "an object has more attributes"));
        }
        let (id, flags, order) = (at.take_bytes(8)?, at.uint(1)?, at.uint(4)?);
        let (data, address) = heap.read_object(file, id)?;
        found.push((order, HeaderMessage { kind: kind::MSG_ATTRIBUTE, data, address, is_shared: flags & 2 != 0 }));
        Ok(())
    })
}

/// The element types of attributes, by the bytes of their messages.
type KnownDatatypes = HashMap<Vec<u8>, Arc<LayoutDatatype>>;

fn read_attribute(
    file: &Hdf5File,
    message: &HeaderMessage,
    known: &mut KnownDatatypes,
) -> Result<Attribute, UnreadableAttribute> {
    let mut name = String::new();
    let read = match message.is_shared {
        true => resolve_shared(file, message).and_then(|message| read_message(file, &message, known, &mut name)),
        false => read_message(file, message, known, &mut name),
    };
    read.map_err(|why| UnreadableAttribute { name, reason: why })
}

/// Reads an attribute; its name is given out as soon as it is known.
fn read_message(file: &Hdf5File, message: &HeaderMessage, known: &mut KnownDatatypes, found: &mut String) -> Result<Attribute> {
    let mut at = file.field_reader(&message.data, message.address);
    let (version, flags) = (at.uint(1)?, at.uint(1)?);
    if !(1..=3).contains(&version) {
        return Err(Error::unsupported(format!("an attribute of version {version}, known are 1 to 3")));
    }
    let sizes = (at.uint(2)? as usize, at.uint(2)? as usize, at.uint(2)? as usize);
    at.skip(if version == 3 { 1 } else { 0 })?;
    let padded = |size: usize| if version == 1 { size.next_multiple_of(8) } else { size };
    let name = at.take_bytes(padded(sizes.0))?;
    let name = name.split(|byte| *byte == 0).next().unwrap_or(name);
    let name = undeclared_text(name);
    found.clone_from(&name);
    let part = |at: &mut super::file::FieldReader<'_>, size: usize, kind: u64, is_shared: bool| -> Result<HeaderMessage> {
        let address = at.position().saturating_sub(file.base_address);
        let data = at.take_bytes(padded(size))?.to_vec();
        let message = HeaderMessage { kind, data, address, is_shared };
        if is_shared { resolve_shared(file, &message) } else { Ok(message) }
    };
    let datatype = part(&mut at, sizes.1, kind::MSG_DATATYPE, version > 1 && flags & 1 != 0)?;
    let space = part(&mut at, sizes.2, kind::MSG_DATASPACE, version > 1 && flags & 2 != 0)?;
    let typed = match known.get(&datatype.data) {
        Some(typed) => typed.clone(),
        None => {
            let typed = Arc::new(LayoutDatatype::read_datatype_message(file, &datatype.data, datatype.address)?);
            known.insert(datatype.data, typed.clone());
            typed
        }
    };
    let space = Dataspace::read_dataspace_message(file, &space.data, space.address)?;
    let address = if message.address == 0 { 0 } else { at.position().saturating_sub(file.base_address) };
    Ok(Attribute { name, datatype: typed, dataspace: space, data: at.remaining().to_vec(), address })
}

/// Returns the path of a reference by its form and its bytes.
pub(super) type ReferencePaths<'p> = &'p dyn Fn(ReferenceForm, &[u8]) -> String;

/// The value of an attribute as a layout has it.
pub(super) enum AttributeValue {
    One(LayoutLiteral),
    List(Vec<LayoutLiteral>),
    /// An attribute that needs a separate item.
    Item,
}

impl Attribute {
    /// Returns the value of the attribute. `paths` turns references, to regions or to objects, into paths.
    pub(super) fn to_layout_value(
        &self,
        file: &Hdf5File,
        heaps: &GlobalHeaps,
        paths: ReferencePaths<'_>,
    ) -> Result<AttributeValue> {
        let Some(shape) = &self.dataspace.shape else { return Ok(AttributeValue::List(Vec::new())) };
        let dims = self.datatype.element_axes();
        let count = shape.iter().chain(dims).try_fold(1u64, |n, len| n.checked_mul(*len)).unwrap_or(u64::MAX);
        let axes = shape.len() + dims.len();
        if axes == 1 && self.is_opaque() {
            let width = usize::try_from(self.datatype.size).unwrap_or(usize::MAX);
            return Ok(AttributeValue::One(LayoutLiteral::Bytes(self.data.get(..width).unwrap_or(&self.data).to_vec())));
        }
        // A list without values would be an empty string.
        let is_empty = count == 0 && self.address != 0 && self.datatype.references.is_empty();
        if axes > 1 || count as usize > MAX_INLINE_VALUES || is_empty {
            return Ok(AttributeValue::Item);
        }
        let is_one = count == 1;
        let spaced = self.datatype.pads.iter().any(|(_, pad)| *pad == StringPad::SpacePadded);
        if let UnmappedKind::Sequence(element) = &self.datatype.special {
            let lists = self.varlen_lists(file, heaps)?;
            let [list] = lists.as_slice() else { return Ok(AttributeValue::Item) };
            let values: Option<Vec<LayoutLiteral>> = list.iter().map(|bytes| decode_literal(bytes, element, paths)).collect();
            return Ok(values.map_or(AttributeValue::Item, AttributeValue::List));
        }
        let mut values = Vec::new();
        if self.datatype.special == UnmappedKind::Text {
            for number in 0..count {
                values.push(self.varlen_string(file, heaps, number)?);
            }
        } else {
            let (element, data) = self.decode_elements(file, count)?;
            let width = self.datatype.references.first().map_or(element.datatype.item_size(), |part| part.size);
            let width = usize::try_from(width).unwrap_or(usize::MAX).max(1);
            for bytes in data.chunks_exact(width).take(count as usize) {
                match decode_literal(bytes, &element, paths) {
                    Some(LayoutLiteral::Text(text)) if spaced => {
                        values.push(LayoutLiteral::Text(text.trim_end_matches(' ').to_owned()));
                    }
                    Some(LayoutLiteral::Bytes(bytes)) if spaced => {
                        let end = bytes.iter().rposition(|byte| *byte != b' ').map_or(0, |last| last + 1);
                        values.push(LayoutLiteral::Bytes(bytes.get(..end).unwrap_or(&bytes).to_vec()));
                    }
                    Some(value) => values.push(value),
                    None => return Ok(AttributeValue::Item),
                }
            }
        }
        match values.pop() {
            Some(value) if is_one && values.is_empty() => Ok(AttributeValue::One(value)),
            last => {
                values.extend(last);
                Ok(AttributeValue::List(values))
            }
        }
    }

    /// Returns `true` if an element is bytes of which nothing more is known.
    fn is_opaque(&self) -> bool {
        matches!(self.datatype.special, UnmappedKind::Raw(_))
            && self.datatype.dims.len() == 1
            && self.datatype.number_filter.is_none()
    }

    /// Returns the datatype that the file states for the value.
    pub(super) fn attribute_type(&self) -> AttributeType<'_> {
        if self.dataspace.shape.is_none() {
            return AttributeType::Special(EMPTY_TYPE);
        }
        if self.is_opaque() && self.dataspace.shape.as_ref().is_some_and(Vec::is_empty) {
            return AttributeType::Special(BYTES_TYPE);
        }
        let element = match &self.datatype.special {
            UnmappedKind::Sequence(element) => element,
            _ => &*self.datatype,
        };
        match &element.special {
            UnmappedKind::Text | UnmappedKind::Sequence(_) | UnmappedKind::Raw(_) | UnmappedKind::InMember(_) => {
                AttributeType::Text
            }
            UnmappedKind::Enum(names, values) if is_boolean(names, values) => AttributeType::Number(&Datatype::Bool8),
            UnmappedKind::Enum(names, values) => AttributeType::Enum(&element.datatype, names, values),
            UnmappedKind::Reference(_) => AttributeType::Special(REFERENCE_TYPE),
            _ if element.datatype == Datatype::Bool8 => AttributeType::Number(&Datatype::Bool8),
            _ if element.datatype.is_integer() || element.datatype.is_float() => AttributeType::Number(&element.datatype),
            _ => AttributeType::Text,
        }
    }

    /// Returns the element format and the bytes of the `count` elements, decoded if necessary.
    fn decode_elements(&self, file: &Hdf5File, count: u64) -> Result<(Cow<'_, LayoutDatatype>, Cow<'_, [u8]>)> {
        let Some((datatype, word)) = &self.datatype.number_filter else {
            return Ok((Cow::Borrowed(&*self.datatype), Cow::Borrowed(&self.data)));
        };
        let (filters, size) =
            (FilterPipeline::from_steps(std::slice::from_ref(word)), count.saturating_mul(datatype.item_size()));
        let stored = to_usize(filters.stored_size(size).unwrap_or(0))?;
        let data = self.data.get(..stored).ok_or_else(|| Error::malformed("an attribute is cut short"))?;
        let decoded = filters.decode(data.to_vec(), 0, size, &file.limits)?;
        Ok((Cow::Owned(LayoutDatatype::direct(datatype.clone(), Byteorder::Little)), Cow::Owned(decoded)))
    }

    /// Writes it as an item.
    pub(super) fn write_item(&self, at: &LinkedFile, name: &str, builder: &mut LayoutBuilder) -> Result<()> {
        let (file, heaps) = (&at.file, &at.heaps);
        let shape = self.dataspace.shape.as_deref().unwrap_or(&[]);
        let mut typed = (*self.datatype).clone();
        if !typed.references.is_empty() {
            typed.resolve_references(at, &self.data)?;
        }
        let here = VarlenElements { at, file, heaps, typed: &typed, shape, bytes: &self.data };
        match &typed.special {
            UnmappedKind::Text => return here.write_strings(name, builder),
            UnmappedKind::Sequence(element) => return here.write_lists(name, element, builder),
            _ if self.address == 0 => return Err(Error::unsupported("the value of the attribute has no place in the file")),
            _ => {}
        }
        let (at, all) = (file.layout_offset(self.address), [shape, &self.datatype.dims].concat());
        if !typed.has_strings() && self.datatype.number_filter.is_none() {
            builder.write_array(name, &self.datatype.datatype, self.datatype.order, &all, at)?;
            return self.datatype.write_type_attributes(builder);
        }
        let size = shape.iter().fold(self.datatype.size, |n, len| n.saturating_mul(*len));
        builder.write_item(name, &ItemSpec::bytes(size).with_offset(at))?;
        builder.write_grid_shape(shape, &shape.iter().map(|len| (*len).max(1)).collect::<Vec<_>>())?;
        if let Some((datatype, word)) = &self.datatype.number_filter {
            builder.write_element_type(datatype, Byteorder::Little, self.datatype.element_axes())?;
            return builder.write_filters(vec![word.clone()]);
        }
        let shown = here.decoded_elements()?;
        builder.write_element_type(&shown.datatype, self.datatype.order, typed.element_axes())?;
        shown.write_element_parts(builder)
    }

    /// Writes the members of structs that are lists of variable length: attributes of the owner, each an item.
    pub(super) fn write_varlen_members(
        &self,
        at: &LinkedFile,
        name: &str,
        owner: &str,
        builder: &mut LayoutBuilder,
    ) -> Result<()> {
        let (file, heaps, typed) = (&at.file, &at.heaps, &self.datatype);
        let shape = self.dataspace.shape.as_deref().unwrap_or(&[]);
        VarlenElements { at, file, heaps, typed, shape, bytes: &self.data }.write_member_lists(name, Some(owner), builder)
    }

    /// A text of variable length.
    fn varlen_string(&self, file: &Hdf5File, heaps: &GlobalHeaps, number: u64) -> Result<LayoutLiteral> {
        let bytes = match self.read_sequence_descriptor(file, number)? {
            Some((count, address, index)) => {
                let address = heaps.locate_elements(file, (address, index), (count, 1))?;
                file.read_bytes(address, count)?
            }
            None => Vec::new(),
        };
        let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        Ok(string_literal(bytes.get(..end).unwrap_or(&bytes), self.datatype.is_utf8))
    }

    /// The datasets to whose axes a dimension scale is attached, each with the number of the axis: its value if it is
    /// REFERENCE_LIST.
    pub(super) fn parse_reference_list(&self, file: &Hdf5File) -> Vec<(u64, u64)> {
        let Some([of, axis]) = self.datatype.datatype.as_struct().map(|typed| typed.fields()) else { return Vec::new() };
        let form = self.datatype.references.first().map_or(ReferenceForm::Object, |part| part.form);
        let one = |element: &[u8]| -> Option<(u64, u64)> {
            let stored = |field: &Field| element.get(usize::try_from(field.offset).ok()?..);
            let at = |field: &Field| Some(file.field_reader(stored(field)?, self.address));
            let width = usize::try_from(axis.datatype.item_size()).ok()?.min(8);
            Some((form.object_address(file, stored(of)?).ok()??, at(axis)?.uint(width).ok()?))
        };
        let width = usize::try_from(self.datatype.size).unwrap_or(usize::MAX).max(1);
        self.data.chunks_exact(width).filter_map(one).collect()
    }

    /// Count, heap and number of a list of variable length; None for an empty one.
    fn read_sequence_descriptor(&self, file: &Hdf5File, number: u64) -> Result<Option<(u64, u64, u64)>> {
        let size = 8 + file.offset_size();
        let from = usize::try_from(number).unwrap_or(usize::MAX).saturating_mul(size);
        let bytes = self.data.get(from..from.saturating_add(size));
        let bytes = bytes.ok_or_else(|| Error::malformed("an attribute is cut short"))?;
        let mut at = file.field_reader(bytes, self.address);
        let (count, address, index) = (at.uint(4)?, at.read_address()?, at.uint(4)?);
        Ok(address.filter(|address| *address != 0 && count > 0).map(|address| (count, address, index)))
    }

    /// Returns `true` if a list of variable length has several elements. Reads no element.
    pub(super) fn has_several_in_list(&self, file: &Hdf5File) -> bool {
        let count = self.dataspace.shape.as_ref().and_then(|shape| shape.first().copied()).unwrap_or(0);
        let is_list = matches!(self.datatype.special, UnmappedKind::Sequence(_));
        is_list
            && (0..count).map_while(|number| self.read_sequence_descriptor(file, number).ok()).flatten().any(|(len, ..)| len > 1)
    }

    /// Returns the bytes of the first element, if the attribute has this datatype, byte order and shape.
    pub(super) fn element_of(&self, typed: &LayoutDatatype) -> Option<Vec<u8>> {
        let is_same =
            self.datatype.datatype == typed.datatype && self.datatype.order == typed.order && self.datatype.dims == typed.dims;
        self.data.get(..usize::try_from(typed.size).ok()?).filter(|_| is_same).map(<[u8]>::to_vec)
    }

    /// The elements of each list of variable length.
    pub(super) fn varlen_lists(&self, file: &Hdf5File, heaps: &GlobalHeaps) -> Result<Vec<Vec<Vec<u8>>>> {
        let UnmappedKind::Sequence(element) = &self.datatype.special else { return Ok(Vec::new()) };
        let count = self.dataspace.shape.iter().flatten().try_fold(1u64, |n, len| n.checked_mul(*len)).unwrap_or(u64::MAX);
        let mut lists = Vec::new();
        for number in 0..count.min(file.limits.items) {
            let mut list = Vec::new();
            if let Some((count, address, index)) = self.read_sequence_descriptor(file, number)? {
                let address = heaps.locate_elements(file, (address, index), (count, element.size))?;
                let bytes = file.read_bytes(address, count.saturating_mul(element.size))?;
                let width = usize::try_from(element.size).unwrap_or(usize::MAX).max(1);
                list.extend(bytes.chunks_exact(width).map(<[u8]>::to_vec));
            }
            lists.push(list);
        }
        Ok(lists)
    }
}

/// Returns `true` for the enumeration by which h5py and PyTables store booleans.
fn is_boolean(names: &[String], values: &[i128]) -> bool {
    let pair = |name: &str, value: i128| names.iter().zip(values).any(|(known, stored)| known == name && *stored == value);
    names.len() == 2 && pair("FALSE", 0) && pair("TRUE", 1)
}

/// The string of an attribute, whose file may declare it as UTF-8; its bytes if it is not.
fn string_literal(bytes: &[u8], is_utf8: bool) -> LayoutLiteral {
    match str::from_utf8(bytes) {
        Ok(text) => LayoutLiteral::Text(text.to_owned()),
        Err(_) if is_utf8 => LayoutLiteral::Bytes(bytes.to_vec()),
        Err(_) => LayoutLiteral::Text(undeclared_text(bytes)),
    }
}

/// Returns an element as a literal of the layout language; `None` if the language has no such value.
pub(super) fn decode_literal(bytes: &[u8], element: &LayoutDatatype, paths: ReferencePaths<'_>) -> Option<LayoutLiteral> {
    let is_direct = !element.has_varlen_members() && element.number_filter.is_none();
    match element.special {
        UnmappedKind::Reference(form) => return Some(LayoutLiteral::Text(paths(form, bytes))),
        UnmappedKind::None | UnmappedKind::Enum(..) | UnmappedKind::Raw(_) if is_direct => {}
        _ => return None,
    }
    let float = |bytes: &[u8]| -> Option<f64> {
        let mut bytes = bytes.to_vec();
        if element.order == Byteorder::Big {
            bytes.reverse();
        }
        Some(match element.datatype {
            Datatype::Float16 => half::f16::from_le_bytes(bytes.try_into().ok()?).to_f64(),
            Datatype::Float32 => f64::from(f32::from_le_bytes(bytes.try_into().ok()?)),
            _ => f64::from_le_bytes(bytes.try_into().ok()?),
        })
    };
    match &element.datatype {
        Datatype::Ascii(_) | Datatype::Utf8(_) => {
            // A NUL may be a character of a string that is filled with NULs.
            let is_terminated = element.pads.iter().any(|(_, pad)| *pad == StringPad::NulTerminated);
            let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
            let text = match bytes.iter().position(|byte| *byte == 0).filter(|first| is_terminated || *first >= end) {
                Some(first) => bytes.get(..first),
                None => bytes.get(..end),
            };
            match text.unwrap_or(bytes) {
                text if text.contains(&0) => Some(LayoutLiteral::Bytes(text.to_vec())),
                text => Some(string_literal(text, matches!(element.datatype, Datatype::Utf8(_)))),
            }
        }
        Datatype::Float16 | Datatype::Float32 | Datatype::Float64 => float(bytes).map(LayoutLiteral::Float),
        Datatype::Struct(_) | Datatype::Complex32 | Datatype::Complex64 | Datatype::Complex128 => None,
        _ => Some(integer_literal(as_integer(bytes, element))),
    }
}
