//! The directories of a TIFF file: tags with values of a kind, which are in the directory or somewhere else.
//!
//! TIFF Revision 6.0 (1992), section 2; `BigTIFF` has the same with addresses of 8 bytes.

use std::collections::HashSet;

use crate::array::{Byteorder, Datatype, undeclared_text};
use crate::bytes::{SourceRef, read_vec};
use crate::error::{Error, Result, ResultExt};
use crate::foreign::header_reader::HeaderReader;
use crate::layout::{ItemSpec, TypeSpec};
use crate::limits::Limits;

/// The kinds of values by their numbers: the name in a layout, and bytes. An empty name is none that is known.
const FIELD_TYPES: [(&str, u64); 19] = [
    ("", 0),
    ("u1", 1),
    ("S1", 1),
    ("u2", 2),
    ("u4", 4),
    ("", 8),
    ("i1", 1),
    ("u1", 1),
    ("i2", 2),
    ("i4", 4),
    ("", 8),
    ("f4", 4),
    ("f8", 8),
    ("u4", 4),
    ("", 0),
    ("", 0),
    ("u8", 8),
    ("i8", 8),
    ("u8", 8),
];

/// The kinds whose values are not numbers of their size: fractions, and bytes.
const RATIONAL: u64 = 5;
const UNDEFINED: u64 = 7;
const SRATIONAL: u64 = 10;

/// Numbers of a tag that are read at once at most.
const MAX_TAG_VALUES: u64 = 1 << 26;

/// A file whose directories are read.
pub(super) struct TiffFile<'s> {
    source: &'s SourceRef,
    pub limits: &'s Limits,
    pub order: Byteorder,
    /// `true` if addresses have 8 bytes.
    is_bigtiff: bool,
    first: u64,
}

/// The content of a tag.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tag {
    pub id: u64,
    field_type: u64,
    pub count: u64,
    /// The byte of the file at which its values begin.
    pub value_offset: u64,
}

/// The tags of one image.
pub(super) struct Ifd {
    pub tags: Vec<Tag>,
    /// The byte at which it begins.
    pub offset: u64,
    /// The directory of the page that is its mask.
    pub mask: Option<Box<Ifd>>,
}

/// Numbers, as a tag has them.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Values {
    Text(String),
    Whole(Vec<i128>),
    Floats(Vec<f64>),
    /// Values of the kind UNDEFINED.
    Bytes(Vec<u8>),
}

impl<'s> TiffFile<'s> {
    /// Reads the header.
    pub(super) fn open(source: &'s SourceRef, limits: &'s Limits) -> Result<Self> {
        let mut header = HeaderReader::from_offset(&**source, 0, limits);
        let order = if header.take_bytes(2)? == b"MM" { Byteorder::Big } else { Byteorder::Little };
        let mut file = Self { source, limits, order, is_bigtiff: false, first: 0 };
        file.is_bigtiff = file.read_integer(&mut header, 2)? == 43;
        if file.is_bigtiff && (file.read_integer(&mut header, 2)?, file.read_integer(&mut header, 2)?) != (8, 0) {
            return Err(Error::unsupported("a BigTIFF file whose offsets do not have 8 bytes"));
        }
        file.first = file.read_integer(&mut header, file.offset_size())?;
        Ok(file)
    }

    /// The bytes of the file.
    pub(super) fn source(&self) -> &SourceRef {
        self.source
    }

    /// Number of bytes of the file.
    pub(super) fn len(&self) -> u64 {
        self.source.len()
    }

    /// Bytes of an address.
    fn offset_size(&self) -> u64 {
        if self.is_bigtiff { 8 } else { 4 }
    }

    fn read_integer(&self, header: &mut HeaderReader<'_>, len: u64) -> Result<u64> {
        if self.order == Byteorder::Big { header.read_be(len) } else { header.read_le(len) }
    }

    /// The directories in a row that begins at a byte, those that `seen` has left out; and why the next one cannot be read.
    pub(super) fn ifd_chain(&self, first: u64, seen: &mut HashSet<u64>) -> Result<(Vec<Ifd>, Option<Error>)> {
        let (mut found, mut next) = (Vec::new(), first);
        while next != 0 && seen.insert(next) {
            if seen.len() as u64 > self.limits.items {
                return Err(Limits::exceeded_error("items", self.limits.items, "the file has more images"));
            }
            match self.read_directory(next) {
                Ok((directory, behind)) => {
                    found.push(directory);
                    next = behind;
                }
                Err(error) if error.kind().is_transient() => return Err(error),
                Err(error) => {
                    let why = Error::new(error.kind(), format!("the directory at byte {next}: {}", error.message()));
                    return Ok((found, Some(why)));
                }
            }
        }
        Ok((found, None))
    }

    /// The directories of the file.
    pub(super) fn read_directories(&self, seen: &mut HashSet<u64>) -> Result<(Vec<Ifd>, Option<Error>)> {
        self.ifd_chain(self.first, seen)
    }

    fn read_directory(&self, at: u64) -> Result<(Ifd, u64)> {
        let mut header = HeaderReader::from_offset(&**self.source, at, self.limits);
        let count = self.read_integer(&mut header, if self.is_bigtiff { 8 } else { 2 })?;
        let count = header.check_count(count, 4 + 2 * self.offset_size(), "tags")?;
        let mut tags = Vec::with_capacity(count);
        for _ in 0..count {
            let (id, kind) = (self.read_integer(&mut header, 2)?, self.read_integer(&mut header, 2)?);
            let (count, here) = (self.read_integer(&mut header, self.offset_size())?, header.position());
            let elsewhere = self.read_integer(&mut header, self.offset_size())?;
            let size = FIELD_TYPES.get(kind as usize).map_or(0, |kind| kind.1);
            let at = if count.saturating_mul(size) <= self.offset_size() { here } else { elsewhere };
            tags.push(Tag { id, field_type: kind, count, value_offset: at });
        }
        let next = self.read_integer(&mut header, self.offset_size())?;
        Ok((Ifd { tags, offset: at, mask: None }, next))
    }

    /// The type of the values of a tag, as a layout has it; None if it has none.
    pub(super) fn layout_type(&self, tag: &Tag) -> Option<ItemSpec> {
        let (name, size) = FIELD_TYPES.get(tag.field_type as usize).filter(|kind| !kind.0.is_empty())?;
        let order = match (size, self.order) {
            (1, _) => "",
            (_, Byteorder::Little) => "<",
            (_, Byteorder::Big) => ">",
        };
        Some(TypeSpec::from_name(&format!("{order}{name}")).with_shape(vec![tag.count]))
    }

    /// Returns `true` if the values of a tag are characters.
    pub(super) fn is_text(&self, tag: &Tag) -> bool {
        FIELD_TYPES.get(tag.field_type as usize).is_some_and(|kind| kind.0 == "S1")
    }

    /// The values of a tag.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if they are not in the file,
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for kinds that are not known.
    pub(super) fn read_tag_values(&self, tag: &Tag) -> Result<Values> {
        let unknown = || Error::unsupported(format!("values of kind {}", tag.field_type));
        let (name, size) = *FIELD_TYPES.get(tag.field_type as usize).filter(|kind| kind.1 > 0).ok_or_else(unknown)?;
        if tag.count > MAX_TAG_VALUES {
            return Err(Error::limit(format!("{} values of the tag {}, at most {MAX_TAG_VALUES} are read", tag.count, tag.id)));
        }
        let bytes = read_vec(&**self.source, tag.value_offset, tag.count.saturating_mul(size), self.limits)?;
        self.limits.charge_memory(tag.count.saturating_mul(16), "the values of a tag")?;
        let words = bytes.chunks_exact(size as usize);
        Ok(match (name, tag.field_type) {
            ("S1", _) => Values::Text(undeclared_text(&bytes).trim_end_matches('\0').to_owned()),
            (_, UNDEFINED) => Values::Bytes(bytes),
            ("f4", _) => Values::Floats(words.map(|word| f32::from_bits(self.as_unsigned(word) as u32).into()).collect()),
            ("f8", _) => Values::Floats(words.map(|word| f64::from_bits(self.as_unsigned(word))).collect()),
            (_, RATIONAL) => Values::Whole(self.rational_parts(&bytes, i128::from)),
            (_, SRATIONAL) => Values::Whole(self.rational_parts(&bytes, |part| i128::from(part as u32 as i32))),
            ("i1" | "i2" | "i4" | "i8", _) => {
                let unused = 64 - 8 * size as u32;
                Values::Whole(words.map(|word| i128::from((self.as_unsigned(word) << unused) as i64 >> unused)).collect())
            }
            _ => Values::Whole(words.map(|word| i128::from(self.as_unsigned(word))).collect()),
        })
    }

    /// A number without a sign.
    fn as_unsigned(&self, bytes: &[u8]) -> u64 {
        let add = |number, byte: &u8| number << 8 | u64::from(*byte);
        if self.order == Byteorder::Big { bytes.iter().fold(0, add) } else { bytes.iter().rev().fold(0, add) }
    }

    /// Returns the numerators and the denominators of fractions, in turns.
    fn rational_parts(&self, bytes: &[u8], part: impl Fn(u64) -> i128) -> Vec<i128> {
        bytes.chunks_exact(4).map(|word| part(self.as_unsigned(word))).collect()
    }
}

impl Tag {
    /// Returns `true` if each value has a numerator and a denominator.
    fn is_fraction(&self) -> bool {
        matches!(self.field_type, RATIONAL | SRATIONAL)
    }

    /// Returns `true` for bytes of the kind UNDEFINED.
    pub(super) fn is_undefined(&self) -> bool {
        self.field_type == UNDEFINED
    }

    /// The datatype of its numbers, of fractions that of both parts; None for text and bytes.
    pub(super) fn datatype(&self) -> Option<Datatype> {
        match self.field_type {
            UNDEFINED => return None,
            RATIONAL => return Some(Datatype::Uint32),
            SRATIONAL => return Some(Datatype::Int32),
            _ => {}
        }
        let (name, size) = FIELD_TYPES.get(self.field_type as usize)?;
        Datatype::numeric(name.chars().next().filter(|kind| "uif".contains(*kind))?, *size)
    }
}

impl Ifd {
    /// Returns the byte after its entries, and after the values of its tags.
    pub(super) fn end(&self, file: &TiffFile<'_>) -> u64 {
        let offset = file.offset_size();
        let entries = if file.is_bigtiff { 8 } else { 2 } + self.tags.len() as u64 * (4 + 2 * offset) + offset;
        let size = |tag: &Tag| FIELD_TYPES.get(tag.field_type as usize).map_or(0, |kind| kind.1).saturating_mul(tag.count);
        let values = self.tags.iter().map(|tag| tag.value_offset.saturating_add(size(tag)));
        values.fold(self.offset.saturating_add(entries), u64::max)
    }

    /// A tag.
    pub(super) fn find_tag(&self, id: u64) -> Option<&Tag> {
        self.tags.iter().find(|tag| tag.id == id)
    }

    /// The whole numbers of a tag, none of them below 0; None if it is not there.
    ///
    /// # Errors
    /// Returns the errors of [`TiffFile::read_tag_values`].
    pub(super) fn numbers(&self, file: &TiffFile<'_>, id: u64) -> Result<Option<Vec<u64>>> {
        let Some(tag) = self.find_tag(id) else { return Ok(None) };
        let wrong = || Error::malformed(format!("the tag {id} has no whole numbers"));
        match file.read_tag_values(tag).with_context(|| format!("reading the tag {id}"))? {
            Values::Bytes(bytes) => Ok(Some(bytes.into_iter().map(u64::from).collect())),
            Values::Whole(numbers) if !tag.is_fraction() => {
                numbers.into_iter().map(|number| u64::try_from(number).map_err(|_| wrong())).collect::<Result<_>>().map(Some)
            }
            _ => Err(wrong()),
        }
    }

    /// The first whole number of a tag, or what counts without it.
    ///
    /// # Errors
    /// Returns the errors of [`Ifd::numbers`].
    pub(super) fn read_first_integer(&self, file: &TiffFile<'_>, id: u64, without: u64) -> Result<u64> {
        Ok(self.numbers(file, id)?.and_then(|numbers| numbers.first().copied()).unwrap_or(without))
    }
}
