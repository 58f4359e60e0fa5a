//! Attributes: their values, and where those are.

use std::borrow::Cow;

use super::btree;
use super::datatype::{Element, Pad, Space, Special, Typed, whole};
use super::file::H5;
use super::heaps::{FractalHeap, GlobalHeaps};
use super::object_header::{Header, Message, kind, shared};
use super::varlen::Elsewhere;
use crate::array::{Byteorder, Datatype, Field, undeclared_text};
use crate::bytes::to_usize;
use crate::codec::filter::Filters;
use crate::error::{Error, Result};
use crate::foreign::layout_text::{LayoutText, placed_bytes};
use crate::layout::Literal;
use crate::limits::Limits;

/// Values of one attribute that are written into the text; more are an item.
const MOST: usize = 1024;

/// An attribute of a group or a dataset.
pub(super) struct Attribute {
    pub name: String,
    pub typed: Typed,
    pub space: Space,
    data: Vec<u8>,
    /// The offset of its value; 0 if the value has no separate place.
    pub address: u64,
}

/// An attribute that cannot be read.
pub(super) struct Refused {
    /// Name of the attribute; empty if the name cannot be read.
    pub name: String,
    pub why: Error,
}

/// All attributes of an object and those that cannot be read, in the order in which they were made, if the file keeps it.
pub(super) fn all(file: &H5, header: &Header) -> (Vec<Attribute>, Vec<Refused>) {
    let (mut found, mut refused) = (Vec::new(), Vec::new());
    let mut more = Vec::new();
    for message in &header.messages {
        if message.kind == kind::ATTRIBUTE_INFO
            && let Err(why) = in_heap(file, message, &mut more)
        {
            refused.push(Refused { name: String::new(), why });
        }
    }
    // The index has them in the order of their hashes.
    more.sort_by_key(|(order, _)| *order);
    let apart = more.iter().map(|(_, message)| message);
    for message in header.messages.iter().filter(|message| message.kind == kind::ATTRIBUTE).chain(apart) {
        match read(file, message) {
            Ok(attribute) => found.push(attribute),
            Err(error) => refused.push(error),
        }
    }
    (found, refused)
}

/// The attributes that are in a heap, if there are many, each with its number in the order in which they were made.
fn in_heap(file: &H5, message: &Message, found: &mut Vec<(u64, Message)>) -> Result<()> {
    let mut at = file.fields(&message.data, message.address);
    at.skip(1)?;
    let flags = at.uint(1)?;
    at.skip(if flags & 1 == 0 { 0 } else { 2 })?;
    let (Some(heap), Some(names)) = (at.address()?, at.address()?) else { return Ok(()) };
    let heap = FractalHeap::read(file, heap)?;
    btree::v2(file, names, &mut |_, at| {
        if found.len() as u64 >= file.limits.items {
            return Err(Limits::exceeded("items", file.limits.items, "an object has more attributes"));
        }
        let (id, flags, order) = (at.take(8)?, at.uint(1)?, at.uint(4)?);
        let (data, address) = heap.object(file, id)?;
        found.push((order, Message { kind: kind::ATTRIBUTE, data, address, is_shared: flags & 2 != 0 }));
        Ok(())
    })
}

fn read(file: &H5, message: &Message) -> Result<Attribute, Refused> {
    let mut name = String::new();
    let read = match message.is_shared {
        true => shared(file, message).and_then(|message| read_message(file, &message, &mut name)),
        false => read_message(file, message, &mut name),
    };
    read.map_err(|why| Refused { name, why })
}

/// Reads an attribute; its name is given out as soon as it is known.
fn read_message(file: &H5, message: &Message, found: &mut String) -> Result<Attribute> {
    let mut at = file.fields(&message.data, message.address);
    let (version, flags) = (at.uint(1)?, at.uint(1)?);
    if !(1..=3).contains(&version) {
        return Err(Error::unsupported(format!("an attribute of version {version}, known are 1 to 3")));
    }
    let sizes = (at.uint(2)? as usize, at.uint(2)? as usize, at.uint(2)? as usize);
    at.skip(if version == 3 { 1 } else { 0 })?;
    let padded = |size: usize| if version == 1 { size.next_multiple_of(8) } else { size };
    let name = at.take(padded(sizes.0))?;
    let name = name.split(|byte| *byte == 0).next().unwrap_or(name);
    let name = undeclared_text(name);
    found.clone_from(&name);
    let part = |at: &mut super::file::Fields<'_>, size: usize, kind: u64, is_shared: bool| -> Result<Message> {
        let address = at.position().saturating_sub(file.base);
        let data = at.take(padded(size))?.to_vec();
        let message = Message { kind, data, address, is_shared };
        if is_shared { shared(file, &message) } else { Ok(message) }
    };
    let datatype = part(&mut at, sizes.1, kind::DATATYPE, version > 1 && flags & 1 != 0)?;
    let space = part(&mut at, sizes.2, kind::DATASPACE, version > 1 && flags & 2 != 0)?;
    let typed = Typed::read(file, &datatype.data, datatype.address)?;
    let space = Space::read(file, &space.data, space.address)?;
    let address = if message.address == 0 { 0 } else { at.position().saturating_sub(file.base) };
    Ok(Attribute { name, typed, space, data: at.rest().to_vec(), address })
}

/// The value of an attribute as a layout has it.
pub(super) enum Value {
    One(Literal),
    List(Vec<Literal>),
    /// An attribute that needs a separate item.
    Item,
}

impl Attribute {
    /// Returns the value of the attribute. `paths` turns references into paths.
    pub(super) fn value(&self, file: &H5, heaps: &GlobalHeaps, paths: &dyn Fn(u64) -> String) -> Result<Value> {
        let Some(shape) = &self.space.shape else { return Ok(Value::List(Vec::new())) };
        let dims = self.typed.axes();
        let count = shape.iter().chain(dims).try_fold(1u64, |n, len| n.checked_mul(*len)).unwrap_or(u64::MAX);
        let axes = shape.len() + dims.len();
        if axes > 1 || count as usize > MOST {
            return Ok(Value::Item);
        }
        let is_one = count == 1;
        let spaced = self.typed.pads.iter().any(|(_, pad)| *pad == Pad::Spaced);
        if let Special::Sequence(element) = &self.typed.special {
            let lists = self.sequences(file, heaps)?;
            let [list] = lists.as_slice() else { return Ok(Value::Item) };
            let values: Option<Vec<Literal>> = list.iter().map(|bytes| literal(bytes, element, paths)).collect();
            return Ok(values.map_or(Value::Item, Value::List));
        }
        let mut values = Vec::new();
        if self.typed.special == Special::Text {
            for number in 0..count {
                values.push(Literal::Text(self.text(file, heaps, number)?));
            }
        } else {
            let (element, data) = self.elements(file, count)?;
            let width = usize::try_from(element.datatype.item_size()).unwrap_or(usize::MAX).max(1);
            for bytes in data.chunks_exact(width).take(count as usize) {
                match literal(bytes, &element, paths) {
                    Some(Literal::Text(text)) if spaced => values.push(Literal::Text(text.trim_end_matches(' ').to_owned())),
                    Some(value) => values.push(value),
                    None => return Ok(Value::Item),
                }
            }
        }
        match values.pop() {
            Some(value) if is_one && values.is_empty() => Ok(Value::One(value)),
            last => {
                values.extend(last);
                Ok(Value::List(values))
            }
        }
    }

    /// Returns the element format and the bytes of the `count` elements, decoded if necessary.
    fn elements(&self, file: &H5, count: u64) -> Result<(Element, Cow<'_, [u8]>)> {
        let Some((datatype, word)) = &self.typed.decoded else { return Ok((self.typed.element(), Cow::Borrowed(&self.data))) };
        let (filters, size) = (Filters::parse(word)?, count.saturating_mul(datatype.item_size()));
        let stored = to_usize(filters.stored_size(size).unwrap_or(0))?;
        let data = self.data.get(..stored).ok_or_else(|| Error::malformed("an attribute is cut short"))?;
        let decoded = filters.decode(data.to_vec(), 0, size, &file.limits)?;
        Ok((Typed::plain(datatype.clone(), Byteorder::Little).element(), Cow::Owned(decoded)))
    }

    /// Writes it as an item.
    pub(super) fn write(&self, file: &H5, heaps: &GlobalHeaps, name: &str, text: &mut LayoutText) -> Result<()> {
        let shape = self.space.shape.as_deref().unwrap_or(&[]);
        let here = Elsewhere { file, heaps, typed: &self.typed, shape, bytes: &self.data };
        match &self.typed.special {
            Special::Text => return here.texts(name, text),
            Special::Sequence(element) => return here.lists(name, element, text),
            _ if self.address == 0 => return Err(Error::unsupported("the value of the attribute has no place in the file")),
            _ => {}
        }
        let (at, all) = (file.place(self.address), [shape, &self.typed.dims].concat());
        if !self.typed.has_strings() && self.typed.decoded.is_none() {
            return text.array(name, &self.typed.datatype, self.typed.order, &all, at);
        }
        let size = shape.iter().fold(self.typed.size, |n, len| n.saturating_mul(*len));
        text.item(name, &placed_bytes(size, at))?;
        text.grid(shape, &shape.iter().map(|len| (*len).max(1)).collect::<Vec<_>>())?;
        if let Some((datatype, word)) = &self.typed.decoded {
            text.elements(datatype, Byteorder::Little, self.typed.axes())?;
            return text.attribute("grid_filters", word.as_str());
        }
        let shown = here.shown()?;
        text.elements(&shown.datatype, self.typed.order, &self.typed.dims)?;
        shown.write(text)?;
        here.members(name, text)
    }

    /// A text of variable length.
    fn text(&self, file: &H5, heaps: &GlobalHeaps, number: u64) -> Result<String> {
        let bytes = match self.descriptor(file, number)? {
            Some((count, address, index)) => {
                let address = heaps.elements(file, (address, index), (count, 1))?;
                file.bytes(address, count)?
            }
            None => Vec::new(),
        };
        Ok(text_of(&bytes, self.typed.is_utf8).trim_end_matches('\0').to_owned())
    }

    /// The datasets to whose axes a dimension scale is attached, each with the number of the axis: its value if it is
    /// REFERENCE_LIST.
    pub(super) fn users(&self, file: &H5) -> Vec<(u64, u64)> {
        let Some([of, axis]) = self.typed.datatype.as_struct().map(|typed| typed.fields()) else { return Vec::new() };
        let one = |element: &[u8]| -> Option<(u64, u64)> {
            let at = |field: &Field| Some(file.fields(element.get(usize::try_from(field.offset).ok()?..)?, self.address));
            let width = usize::try_from(axis.datatype.item_size()).ok()?.min(8);
            Some((at(of)?.address().ok()??, at(axis)?.uint(width).ok()?))
        };
        let width = usize::try_from(self.typed.size).unwrap_or(usize::MAX).max(1);
        self.data.chunks_exact(width).filter_map(one).collect()
    }

    /// Count, heap and number of a list of variable length; None for an empty one.
    fn descriptor(&self, file: &H5, number: u64) -> Result<Option<(u64, u64, u64)>> {
        let size = 8 + file.offset_size();
        let from = usize::try_from(number).unwrap_or(usize::MAX).saturating_mul(size);
        let bytes = self.data.get(from..from.saturating_add(size));
        let bytes = bytes.ok_or_else(|| Error::malformed("an attribute is cut short"))?;
        let mut at = file.fields(bytes, self.address);
        let (count, address, index) = (at.uint(4)?, at.address()?, at.uint(4)?);
        Ok(address.filter(|address| *address != 0 && count > 0).map(|address| (count, address, index)))
    }

    /// Returns the bytes of the first element, if the attribute has this datatype, byte order and shape.
    pub(super) fn element_of(&self, typed: &Typed) -> Option<Vec<u8>> {
        let is_same = self.typed.datatype == typed.datatype && self.typed.order == typed.order && self.typed.dims == typed.dims;
        self.data.get(..usize::try_from(typed.size).ok()?).filter(|_| is_same).map(<[u8]>::to_vec)
    }

    /// The elements of each list of variable length.
    pub(super) fn sequences(&self, file: &H5, heaps: &GlobalHeaps) -> Result<Vec<Vec<Vec<u8>>>> {
        let Special::Sequence(element) = &self.typed.special else { return Ok(Vec::new()) };
        let count = self.space.shape.iter().flatten().try_fold(1u64, |n, len| n.checked_mul(*len)).unwrap_or(u64::MAX);
        let mut lists = Vec::new();
        for number in 0..count.min(file.limits.items) {
            let mut list = Vec::new();
            if let Some((count, address, index)) = self.descriptor(file, number)? {
                let address = heaps.elements(file, (address, index), (count, element.size))?;
                let bytes = file.bytes(address, count.saturating_mul(element.size))?;
                let width = usize::try_from(element.size).unwrap_or(usize::MAX).max(1);
                list.extend(bytes.chunks_exact(width).map(<[u8]>::to_vec));
            }
            lists.push(list);
        }
        Ok(lists)
    }
}

/// The text of an attribute, whose file may declare it as UTF-8.
fn text_of(bytes: &[u8], is_utf8: bool) -> String {
    if is_utf8 { String::from_utf8_lossy(bytes).into_owned() } else { undeclared_text(bytes) }
}

/// Returns an element as a literal of the layout language; `None` if the language has no such value.
fn literal(bytes: &[u8], element: &Element, paths: &dyn Fn(u64) -> String) -> Option<Literal> {
    if !element.is_plain {
        return None;
    }
    let typed = Typed::of(element);
    if element.is_reference {
        return Some(Literal::Text(paths(u64::try_from(whole(bytes, &typed)).unwrap_or(u64::MAX))));
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
            let text = bytes.split(|byte| *byte == 0).next().unwrap_or(bytes);
            Some(Literal::Text(text_of(text, matches!(element.datatype, Datatype::Utf8(_)))))
        }
        Datatype::Float16 | Datatype::Float32 | Datatype::Float64 => float(bytes).map(Literal::Float),
        Datatype::Struct(_) | Datatype::Complex32 | Datatype::Complex64 | Datatype::Complex128 => None,
        _ => Some(super::super::layout_text::integer(whole(bytes, &typed))),
    }
}
