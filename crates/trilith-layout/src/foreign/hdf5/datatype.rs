//! Datatypes and dataspaces.

use std::sync::Arc;

use super::file::{FieldReader, Hdf5File};
use super::references::{ReferenceForm, ReferencePart, ReferenceTable};
use crate::array::{Byteorder, Datatype, Field, StructType, UnsupportedDtype, UnsupportedKind};
use crate::bytes::CodingStep;
use crate::codec::filter::number_formats;
use crate::error::{Error, Result};
use crate::foreign::npy;
use crate::layout::{LayoutBuilder, StorageField};

/// Maximum depth of nested datatypes.
const MAX_DEPTH: usize = 32;

/// The form of a datatype in a layout.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LayoutDatatype {
    pub datatype: Datatype,
    pub order: Byteorder,
    /// Axes of each element.
    pub dims: Vec<u64>,
    /// Bytes of an element as they are stored.
    pub size: u64,
    pub special: UnmappedKind,
    /// `true` if the file declares its text of variable length as UTF-8; otherwise it declares ASCII.
    pub is_utf8: bool,
    /// Bytes of a struct at which strings of variable length are led to, of members that are arrays the first, and whether they are
    /// declared as UTF-8.
    pub texts: Vec<(u64, bool)>,
    /// Fixed strings that are padded by something else than NULs, likewise; of no struct at 0.
    pub pads: Vec<(u64, StringPad)>,
    /// Members of a struct that are lists of variable length.
    pub varlen_members: Vec<VarlenMember>,
    /// Numbers of odd widths in a struct, likewise.
    pub numbers: Vec<(u64, DecodedNumber)>,
    /// The datatype of numbers of odd widths, and the filter that makes it of their bytes, which are the last axis.
    pub number_filter: Option<DecodedNumber>,
    /// References to objects and to regions, by the byte of an element at which they begin: of members that are arrays the first.
    pub references: Vec<ReferencePart>,
    /// The paths that are read in place of the references; None if the references are read as they are stored.
    pub paths: Option<ReferenceTable>,
    /// Elements, or members of a struct, that numpy has a datatype for: dates, durations and long doubles in opaque elements.
    pub numpy_dtypes: Vec<UnsupportedDtype>,
}

/// The datatype of numbers, and the filter that makes it of their bytes.
pub(super) type DecodedNumber = (Datatype, CodingStep);

/// The end of a fixed string.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum StringPad {
    /// A NUL, with anything after it.
    NulTerminated,
    /// Spaces.
    SpacePadded,
}

/// A member of a struct that is a list of variable length.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct VarlenMember {
    pub path: String,
    pub offset: u64,
    /// The lengths of the axes of a member that is an array of lists.
    pub dims: Vec<u64>,
    /// Elements of the list; `None` if the member is in an array of structs.
    pub element: Option<LayoutDatatype>,
}

/// A property that no datatype of a layout can express.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum UnmappedKind {
    None,
    /// Names and values of an enumeration.
    Enum(Vec<String>, Vec<i128>),
    /// References; except for those to objects in the old form, their bytes are the last axis.
    Reference(ReferenceForm),
    /// Bytes that mean something that no datatype here means: in words.
    Raw(String),
    /// Text of variable length.
    Text,
    /// A list of variable length of these elements.
    Sequence(Box<LayoutDatatype>),
    /// A struct that has members of variable length or references.
    InMember(String),
}

impl LayoutDatatype {
    pub(super) fn direct(datatype: Datatype, order: Byteorder) -> Self {
        let size = datatype.item_size();
        Self {
            datatype,
            order,
            dims: Vec::new(),
            size,
            special: UnmappedKind::None,
            is_utf8: false,
            texts: Vec::new(),
            pads: Vec::new(),
            varlen_members: Vec::new(),
            numbers: Vec::new(),
            number_filter: None,
            references: Vec::new(),
            paths: None,
            numpy_dtypes: Vec::new(),
        }
    }

    fn opaque(size: u64, what: impl Into<String>) -> Self {
        let special = UnmappedKind::Raw(what.into());
        Self { dims: vec![size], size, special, ..Self::direct(Datatype::Uint8, Byteorder::Little) }
    }

    /// References whose bytes are the last axis.
    fn byte_references(size: u64, form: ReferenceForm) -> Self {
        let references = vec![ReferencePart { offset: 0, size, form }];
        Self { special: UnmappedKind::Reference(form), references, ..Self::opaque(size, "") }
    }

    /// Reads a datatype message.
    pub(super) fn read_datatype_message(file: &Hdf5File, data: &[u8], address: u64) -> Result<Self> {
        let typed = Self::read_datatype(file, &mut file.field_reader(data, address), 0)?;
        typed.datatype.check_width(file.len()).map_err(|error| error.at_byte(address.saturating_add(file.base_address)))?;
        Ok(typed)
    }

    /// Reads a datatype, and goes past it.
    pub(super) fn read_datatype(file: &Hdf5File, at: &mut FieldReader<'_>, depth: usize) -> Result<Self> {
        if depth > MAX_DEPTH {
            return Err(Error::limit(format!("datatypes nest more than {MAX_DEPTH} deep")));
        }
        let first = at.uint(1)?;
        let (class, version, bits, size) = (first & 15, first >> 4, at.uint(3)?, at.uint(4)?);
        let order = if bits & 1 == 0 { Byteorder::Little } else { Byteorder::Big };
        match class {
            0 | 4 => {
                let (offset, precision) = (at.uint(2)?, at.uint(2)?);
                let signed = class == 0 && bits & 8 != 0;
                let datatype = Datatype::numeric(if signed { 'i' } else { 'u' }, size);
                if let Some(datatype) = datatype.filter(|_| offset == 0 && precision == 8 * size) {
                    return Ok(Self::direct(datatype, order));
                }
                let raw = Self::opaque(size, format!("a whole number of {precision} bits at bit {offset}"));
                // The number of the next size that a datatype has, as h5py reads it.
                let read_size = size.clamp(1, 8).next_power_of_two();
                let datatype = Datatype::numeric(if signed { 'i' } else { 'u' }, read_size);
                let word = CodingStep::new("whole", vec![size, offset, precision, u64::from(signed), bits & 1, read_size]);
                let is_known = (1..=16).contains(&size) && (1..=8 * read_size).contains(&precision);
                let decoded = datatype.filter(|_| is_known).map(|datatype| (datatype, word));
                Ok(Self { number_filter: decoded, ..raw })
            }
            1 => Self::read_float(at, bits, size, order),
            2 => {
                let precision = at.uint(2)?;
                let raw = Self::opaque(size, "a time");
                // The HDF5 library has two: seconds since 1970 as a signed number of 4 and of 8 bytes.
                let unit = number_formats::unit_index("s").unwrap_or(0);
                let word = CodingStep::new("dates", vec![bits & 1, 1, unit, size]);
                let is_known = matches!(size, 4 | 8) && precision == 8 * size;
                let datatype = Datatype::with_length("ascii", number_formats::DATE_LEN as u64)?;
                Ok(Self { number_filter: is_known.then_some((datatype, word)), ..raw })
            }
            3 => {
                let length = u32::try_from(size).unwrap_or(u32::MAX);
                let utf8 = bits >> 4 & 15 == 1;
                let datatype = if utf8 { Datatype::Utf8(length) } else { Datatype::Ascii(length) };
                let pad = match bits & 15 {
                    0 if size > 1 => Some(StringPad::NulTerminated),
                    2 => Some(StringPad::SpacePadded),
                    _ => None,
                };
                Ok(Self { pads: pad.map(|pad| (0, pad)).into_iter().collect(), ..Self::direct(datatype, Byteorder::Little) })
            }
            5 => {
                let tag = at.take_bytes((bits & 0xff) as usize)?;
                let tag = String::from_utf8_lossy(tag).trim_end_matches('\0').to_owned();
                if let Some(known) = tag.strip_prefix("NUMPY:").and_then(|name| Self::from_numpy_dtype(name, size)) {
                    return Ok(known);
                }
                Ok(Self::opaque(size, if tag.is_empty() { "opaque".to_owned() } else { format!("opaque: {tag}") }))
            }
            6 => Self::read_compound(file, at, version, bits & 0xffff, size, depth),
            7 if bits & 15 == 0 && size == file.offset_size() as u64 => {
                let datatype = Datatype::numeric('u', size).unwrap_or(Datatype::Uint64);
                let references = vec![ReferencePart { offset: 0, size, form: ReferenceForm::Object }];
                let special = UnmappedKind::Reference(ReferenceForm::Object);
                Ok(Self { special, references, ..Self::direct(datatype, Byteorder::Little) })
            }
            7 if bits & 15 == 1 && size == file.offset_size() as u64 + 4 => {
                Ok(Self::byte_references(size, ReferenceForm::Region))
            }
            // Two bytes, the length of what is in a heap, and its place there.
            7 if matches!(bits & 15, 2..=4) && size == file.offset_size() as u64 + 10 => {
                Ok(Self::byte_references(size, ReferenceForm::Revised))
            }
            7 => Ok(Self::opaque(size, "a reference of an unknown form")),
            8 => Self::read_enumeration(file, at, version, bits & 0xffff, depth),
            9 => {
                let base = Self::read_datatype(file, at, depth + 1)?;
                let special = if bits & 15 == 1 { UnmappedKind::Text } else { UnmappedKind::Sequence(Box::new(base)) };
                Ok(Self { special, is_utf8: bits >> 8 & 15 == 1, ..Self::opaque(size, "") })
            }
            10 => {
                let rank = at.uint(1)? as usize;
                at.skip(if version < 3 { 3 } else { 0 })?;
                let mut dims = (0..rank).map(|_| at.uint(4)).collect::<Result<Vec<_>>>()?;
                at.skip(if version < 3 { 4 * rank } else { 0 })?;
                let base = Self::read_datatype(file, at, depth + 1)?;
                dims.extend(&base.dims);
                Ok(Self { dims, size, ..base })
            }
            11 => {
                let base = Self::read_datatype(file, at, depth + 1)?;
                let datatype = complex_from_part(&base.datatype);
                if let (None, Some(decoded)) = (&datatype, &base.number_filter) {
                    return Ok(Self::complex_of(decoded, size));
                }
                Ok(datatype.map_or_else(|| Self::opaque(size, "a complex number"), |datatype| Self::direct(datatype, base.order)))
            }
            other => Err(Error::unsupported(format!("a datatype of class {other}"))),
        }
    }

    /// Returns a remark on it as a member of a struct.
    fn member_remark(&self, name: &str) -> Option<String> {
        match &self.special {
            UnmappedKind::None | UnmappedKind::Text | UnmappedKind::Sequence(_) => None,
            UnmappedKind::Reference(form) => Some(format!("{name} has {}", form.description())),
            UnmappedKind::Enum(names, values) => Some(format!("{name} is one of {}", join_enum_pairs(names, values))),
            UnmappedKind::Raw(what) | UnmappedKind::InMember(what) => Some(format!("{name}: {what}")),
        }
    }

    /// Returns the elements that numpy has this datatype for, if their size is right.
    fn from_numpy_dtype(name: &str, size: u64) -> Option<Self> {
        let (named, stored) = UnsupportedDtype::from_dtype(name).filter(|(_, stored)| stored.item_size() == size)?;
        let typed = match (&named.kind, npy::conversion(&named).ok()?) {
            (UnsupportedKind::Durations, _) => Self::direct(stored, named.order),
            (_, Some((word, datatype))) => Self { number_filter: Some((datatype, word)), ..Self::opaque(size, "") },
            _ => return None,
        };
        Some(Self { special: UnmappedKind::None, numpy_dtypes: vec![named], ..typed })
    }

    /// The numbers as those of another datatype, converted as the HDF5 library converts them: what is beyond a whole number becomes
    /// its smallest or largest value, and fractions are cut off.
    ///
    /// # Errors
    /// Returns `Unsupported` for elements that are not numbers.
    pub(super) fn cast_to(&self, to: &Self) -> Result<Self> {
        let number = |typed: &Self| -> Option<(u64, u64, u64)> {
            let kind = match &typed.datatype {
                Datatype::Float16 | Datatype::Float32 | Datatype::Float64 => 2,
                datatype if datatype.is_integer() => u64::from(datatype.is_signed()),
                _ => return None,
            };
            let is_number = typed.special == UnmappedKind::None && typed.dims.is_empty() && typed.numpy_dtypes.is_empty();
            is_number.then_some((kind, typed.datatype.item_size(), u64::from(typed.order == Byteorder::Big)))
        };
        let (Some((kind, size, order)), Some((to_kind, to_size, to_order))) = (number(self), number(to)) else {
            return Err(Error::unsupported(format!("its elements, {}, are converted to {}", self.datatype, to.datatype)));
        };
        let word = CodingStep::new("cast", vec![kind, size, order, to_kind, to_size, to_order]);
        let raw = Self::opaque(size, "");
        Ok(Self { number_filter: Some((to.datatype.clone(), word)), order: to.order, special: UnmappedKind::None, ..raw })
    }

    /// Returns `true` if lists of such elements can be read.
    pub(super) fn is_list_element(&self) -> bool {
        self.varlen_members.is_empty() && !matches!(self.special, UnmappedKind::Text | UnmappedKind::Sequence(_))
    }

    /// Returns `true` for a struct with members of variable length.
    pub(super) fn has_varlen_members(&self) -> bool {
        !self.texts.is_empty() || !self.varlen_members.is_empty()
    }

    /// Returns `true` if strings, or numbers in a struct, must be decoded from the stored bytes.
    pub(super) fn has_strings(&self) -> bool {
        let is_struct = self.datatype.as_struct().is_some();
        // A NUL ends the strings of structs, too: an attribute says which, so that stored structs can be read in place.
        self.has_varlen_members()
            || !self.numbers.is_empty()
            || self.paths.is_some()
            || self.pads.iter().any(|(_, pad)| !is_struct || *pad == StringPad::SpacePadded)
    }

    /// Writes which strings of structs that are read as they are stored end at their first NUL.
    pub(super) fn write_string_ends(&self, builder: &mut LayoutBuilder) -> Result<()> {
        let is_direct = self.datatype.as_struct().is_some() && !self.has_strings();
        let ends: Vec<u64> =
            self.pads.iter().filter(|(_, pad)| is_direct && *pad == StringPad::NulTerminated).map(|(at, _)| *at).collect();
        if ends.is_empty() { Ok(()) } else { builder.write_field(StorageField::StringStarts(ends)) }
    }

    /// The axes of an element.
    pub(super) fn element_axes(&self) -> &[u64] {
        match self.special {
            // The last one is that of the bytes which lead to what is elsewhere.
            UnmappedKind::Text | UnmappedKind::Sequence(_) => self.dims.split_last().map_or(&[], |(_, axes)| axes),
            UnmappedKind::Reference(form) if form.has_byte_axis() => self.dims.split_last().map_or(&[], |(_, axes)| axes),
            _ if self.number_filter.is_some() => self.dims.split_last().map_or(&[], |(_, axes)| axes),
            _ => &self.dims,
        }
    }

    fn read_float(at: &mut FieldReader<'_>, bits: u64, size: u64, order: Byteorder) -> Result<Self> {
        let (offset, precision) = (at.uint(2)?, at.uint(2)?);
        let places = (at.uint(1)?, at.uint(1)?, at.uint(1)?, at.uint(1)?, at.uint(4)?);
        let (datatype, named) = match (size, places) {
            (2, (10, 5, 0, 10, 15)) => (Datatype::Float16, None),
            (4, (23, 8, 0, 23, 127)) => (Datatype::Float32, None),
            (8, (52, 11, 0, 52, 1023)) => (Datatype::Float64, None),
            (2, (7, 8, 0, 7, 127)) => (Datatype::Uint16, Some("bfloat16")),
            (1, (2, 5, 0, 2, 15)) => (Datatype::Uint8, Some("float8_e5m2")),
            // The file does not state which bit patterns are NaNs.
            (1, (3, 4, 0, 3, 7)) => (Datatype::Uint8, Some("float8_e4m3")),
            (_, (exponent_at, exponent_bits, fraction_at, fraction_bits, bias)) => {
                let raw = Self::opaque(size, format!("a floating-point number of {precision} bits"));
                let (sign, is_stored) = (bits >> 8 & 0xff, u64::from(bits >> 4 & 3 != 2));
                let places = [sign, exponent_at, exponent_bits, fraction_at, fraction_bits, bias, is_stored];
                let word = CodingStep::new("float", [&[size, bits & 1], &places[..]].concat());
                let is_known = (1..=16).contains(&size) && bits & 0x40 == 0 && (1..=30).contains(&exponent_bits);
                let decoded = (is_known && (1..=112).contains(&fraction_bits)).then_some((Datatype::Float64, word));
                return Ok(Self { number_filter: decoded, ..raw });
            }
        };
        if bits & 0x41 > 1 || offset != 0 {
            return Ok(Self::opaque(size, "a floating-point number of VAX"));
        }
        let special = named.map_or(UnmappedKind::None, |named| UnmappedKind::Raw(named.to_owned()));
        Ok(Self { special, ..Self::direct(datatype, order) })
    }

    fn read_compound(
        file: &Hdf5File,
        at: &mut FieldReader<'_>,
        version: u64,
        count: u64,
        size: u64,
        depth: usize,
    ) -> Result<Self> {
        let mut fields = Vec::new();
        let mut within = None;
        let (mut texts, mut pads, mut lists, mut numbers) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let (mut references, mut numpy_dtypes) = (Vec::new(), Vec::new());
        for _ in 0..count {
            let before = at.consumed();
            let name = at.c_string()?;
            if version < 3 {
                at.skip((at.consumed() - before).next_multiple_of(8) - (at.consumed() - before))?;
            }
            let offset = if version < 3 { at.uint(4)? } else { at.uint(super::file::min_uint_width(size))? };
            let mut dims = Vec::new();
            if version == 1 {
                let rank = at.uint(1)?;
                at.skip(11)?;
                let all = (0..4).map(|_| at.uint(4)).collect::<Result<Vec<_>>>()?;
                dims.extend(all.into_iter().take(rank as usize));
            }
            let member = Self::read_datatype(file, at, depth + 1)?;
            dims.extend(&member.dims);
            if let (None, Some(what)) = (&within, member.member_remark(&name)) {
                within = Some(what);
            }
            match &member.special {
                UnmappedKind::Text => texts.push((offset, member.is_utf8)),
                UnmappedKind::Sequence(element) => {
                    let axes = dims.split_last().map_or(&[][..], |(_, axes)| axes).to_vec();
                    lists.push(VarlenMember { path: name.clone(), offset, dims: axes, element: Some((**element).clone()) });
                }
                _ => {}
            }
            texts.extend(member.texts.iter().map(|(at, is_utf8)| (offset.saturating_add(*at), *is_utf8)));
            pads.extend(member.pads.iter().map(|(at, pad)| (offset.saturating_add(*at), *pad)));
            numbers.extend(member.number_filter.iter().map(|decoded| (offset, decoded.clone())));
            numbers.extend(member.numbers.iter().map(|(at, decoded)| (offset.saturating_add(*at), decoded.clone())));
            lists.extend(member.varlen_members.iter().map(|list| VarlenMember {
                path: format!("{name}.{}", list.path),
                offset: offset.saturating_add(list.offset),
                dims: list.dims.clone(),
                element: list.element.clone().filter(|_| member.dims.is_empty()),
            }));
            references.extend(member.references.iter().map(|part| part.at_offset(offset)));
            numpy_dtypes.extend(member.numpy_dtypes.iter().map(|named| UnsupportedDtype {
                field: if named.field.is_empty() { name.clone() } else { format!("{name}.{}", named.field) },
                offset: offset.saturating_add(named.offset),
                ..named.clone()
            }));
            fields.push(Field::new(name, member.datatype, member.order).with_shape(dims).with_offset(offset));
        }
        let names: Vec<Option<&str>> = fields.iter().map(|field| field.name.as_deref()).collect();
        if let ([Some("r"), Some("i")], [re, im]) = (names.as_slice(), fields.as_slice())
            && re.datatype == im.datatype
            && (re.byteorder, re.offset, im.offset) == (im.byteorder, 0, size / 2)
        {
            if let Some(datatype) = complex_from_part(&re.datatype).filter(|datatype| datatype.item_size() == size) {
                return Ok(Self::direct(datatype, re.byteorder));
            }
            if let [(0, one), (_, other)] = numbers.as_slice()
                && one == other
                && one.0 == Datatype::Float64
                && re.shape == im.shape
                && re.shape == [size / 2]
            {
                return Ok(Self::complex_of(one, size));
            }
        }
        let datatype = Datatype::Struct(Arc::new(StructType::with_offsets(fields, size)?));
        let special = within.map_or(UnmappedKind::None, UnmappedKind::InMember);
        let typed = Self::direct(datatype, Byteorder::Little);
        Ok(Self { special, texts, pads, varlen_members: lists, numbers, references, numpy_dtypes, ..typed })
    }

    /// Complex numbers whose parts are numbers of odd widths.
    fn complex_of((_, word): &DecodedNumber, size: u64) -> Self {
        Self { number_filter: Some((Datatype::Complex128, word.clone())), ..Self::opaque(size, "a complex number") }
    }

    fn read_enumeration(file: &Hdf5File, at: &mut FieldReader<'_>, version: u64, count: u64, depth: usize) -> Result<Self> {
        let base = Self::read_datatype(file, at, depth + 1)?;
        let mut names = Vec::new();
        for _ in 0..count {
            let before = at.consumed();
            names.push(at.c_string()?);
            if version < 3 {
                at.skip((at.consumed() - before).next_multiple_of(8) - (at.consumed() - before))?;
            }
        }
        let width = usize::try_from(base.size).unwrap_or(usize::MAX);
        let values = (0..count).map(|_| Ok(as_integer(at.take_bytes(width)?, &base))).collect::<Result<Vec<_>>>()?;
        if is_bool(&names) && values == [0, 1] && base.size == 1 {
            return Ok(Self::direct(Datatype::Bool8, Byteorder::Little));
        }
        Ok(Self { special: UnmappedKind::Enum(names, values), ..base })
    }
}

/// Returns `true` for an enumeration that h5py writes for booleans.
fn is_bool(names: &[String]) -> bool {
    names == ["FALSE", "TRUE"]
}

fn join_enum_pairs(names: &[String], values: &[i128]) -> String {
    names.iter().zip(values).map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
}

fn complex_from_part(part: &Datatype) -> Option<Datatype> {
    Datatype::numeric('c', 2 * part.item_size()).filter(|_| part.is_float())
}

/// A whole number of at most 8 bytes.
pub(super) fn as_integer(bytes: &[u8], typed: &LayoutDatatype) -> i128 {
    let mut word = [0u8; 8];
    let len = bytes.len().min(8);
    match typed.order {
        Byteorder::Little => word.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from),
        Byteorder::Big => word.iter_mut().zip(bytes.iter().rev()).for_each(|(to, from)| *to = *from),
    }
    let value = u64::from_le_bytes(word);
    if typed.datatype.is_signed() && len > 0 && word.get(len - 1).is_some_and(|top| top & 0x80 != 0) {
        return i128::from(value) - (1i128 << (8 * len));
    }
    i128::from(value)
}

/// The shape of a dataset or an attribute.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Dataspace {
    /// The lengths of the axes; None holds nothing at all.
    pub shape: Option<Vec<u64>>,
    /// The lengths that the axes may get; `u64::MAX` for any.
    pub max_dims: Vec<u64>,
}

impl Dataspace {
    /// Reads a dataspace message.
    pub(super) fn read_dataspace_message(file: &Hdf5File, data: &[u8], address: u64) -> Result<Self> {
        let mut at = file.field_reader(data, address);
        let (version, rank, flags) = (at.uint(1)?, at.uint(1)?, at.uint(1)?);
        let kind = match version {
            1 => {
                at.skip(5)?;
                1
            }
            2 => at.uint(1)?,
            other => return Err(Error::unsupported(format!("a dataspace of version {other}, known are 1 and 2"))),
        };
        let shape = (0..rank).map(|_| at.read_length()).collect::<Result<Vec<_>>>()?;
        let all = u64::MAX >> (64 - 8 * file.length_size());
        let most = match flags & 1 {
            0 => shape.clone(),
            _ => (0..rank).map(|_| at.read_length().map(|n| if n == all { u64::MAX } else { n })).collect::<Result<Vec<_>>>()?,
        };
        Ok(Self { shape: (kind != 2).then_some(shape), max_dims: most })
    }
}
