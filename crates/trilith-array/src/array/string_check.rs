//! The strings of an array: whether they are text of their datatype, and the characters of bytes of no declared encoding.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use super::datatype::Datatype;
use super::handle::Array;
use super::struct_type::{Field, StructType};
use crate::error::{Error, Result};

/// The characters of cp1252 from 0x80 to 0x9f; NUL if it has none.
pub const CP1252: [char; 32] = [
    '€', '\0', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\0', 'Ž', '\0', '\0', '‘', '’', '“', '”', '•', '–', '—',
    '˜', '™', 'š', '›', 'œ', '\0', 'ž', 'Ÿ',
];

/// Decodes bytes as cp1252, or all of them as Latin-1 if cp1252 does not define one of them.
pub fn cp1252_text(bytes: &[u8]) -> String {
    let cp1252 = |byte: &u8| match byte {
        0x80..=0x9f => CP1252.get(usize::from(byte - 0x80)).copied().unwrap_or('\0'),
        _ => char::from(*byte),
    };
    let is_latin1 = bytes.iter().any(|byte| matches!(byte, 0x80..=0x9f) && cp1252(byte) == '\0');
    bytes.iter().map(|byte| if is_latin1 { char::from(*byte) } else { cp1252(byte) }).collect()
}

/// Decodes bytes whose encoding no file declares, or that are declared as ASCII and are not: UTF-8 if they are that, otherwise
/// [`cp1252_text`].
pub fn undeclared_text(bytes: &[u8]) -> String {
    // Strings of another encoding are seldom valid UTF-8 by chance.
    str::from_utf8(bytes).map_or_else(|_| cp1252_text(bytes), str::to_owned)
}

/// An encoding that a file declares for the strings of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum StringEncoding {
    /// UTF-8, and any encoding that is not known here: its strings are read only if they are UTF-8.
    Utf8,
    /// Latin-1, which defines every byte.
    Latin1,
    /// cp1252.
    Cp1252,
}

impl StringEncoding {
    /// Returns the encoding of a name that Python has for it. ASCII is `None`: strings that are declared so are decoded by
    /// [`undeclared_text`].
    ///
    /// ```
    /// use trilith_array::array::StringEncoding;
    /// assert_eq!(StringEncoding::from_name("ISO-8859-1"), Some(StringEncoding::Latin1));
    /// assert_eq!(StringEncoding::from_name("ascii"), None);
    /// ```
    pub fn from_name(name: &str) -> Option<Self> {
        let name: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
        match name.to_ascii_lowercase().as_str() {
            "" | "ascii" | "usascii" | "646" | "ansix341968" | "iso646us" => None,
            "latin1" | "latin" | "l1" | "iso88591" | "88591" | "8859" | "cp819" => Some(Self::Latin1),
            "cp1252" | "windows1252" | "1252" => Some(Self::Cp1252),
            _ => Some(Self::Utf8),
        }
    }

    /// Returns a string of the encoding as UTF-8; unchanged if it is none.
    pub fn to_utf8(self, bytes: &[u8]) -> Cow<'_, [u8]> {
        let is_defined = |byte: &u8| !matches!(byte, 0x81 | 0x8d | 0x8f | 0x90 | 0x9d);
        match self {
            Self::Latin1 if !bytes.is_ascii() => {
                Cow::Owned(bytes.iter().map(|byte| char::from(*byte)).collect::<String>().into_bytes())
            }
            Self::Cp1252 if !bytes.is_ascii() && bytes.iter().all(is_defined) => Cow::Owned(cp1252_text(bytes).into_bytes()),
            _ => Cow::Borrowed(bytes),
        }
    }

    /// Returns the largest number of bytes that a byte becomes.
    pub fn expansion(self) -> u32 {
        match self {
            Self::Utf8 => 1,
            Self::Latin1 => 2,
            Self::Cp1252 => 3,
        }
    }
}

/// A datatype of text, and what its elements may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextType {
    /// 0.1.0dev, 4.1.3, `ascii`: "all codepoints < 128".
    Ascii,
    /// 0.1.0dev, 4.1.3, `ucs4`: "unicode text in the UCS-4 encoding".
    Ucs4,
    /// Text of HDF5, netCDF and Dudley.
    Utf8,
}

/// Checks the strings of one datatype.
///
/// # Errors
/// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) with the first byte or code point that is none of its characters, and the
/// errors of [`Array::for_each_piece`].
pub fn check_texts(array: &Array, kind: TextType) -> Result<()> {
    find_wrong_text(array, kind)?.map_or(Ok(()), |wrong| Err(Error::malformed(wrong)))
}

/// Returns `true` if the array has strings whose declared encoding is UTF-8 and which are not UTF-8, also as members of structs.
///
/// # Errors
/// Returns the errors of [`Array::for_each_piece`].
#[doc(hidden)]
pub fn has_undecodable_text(array: &Array) -> Result<bool> {
    Ok(find_wrong_text(array, TextType::Utf8)?.is_some())
}

/// Returns the array with its UTF-8 strings as bytes, also in structs. Strings that the source pads are read.
///
/// # Errors
/// Returns the errors of [`Array::read_bytes`].
#[doc(hidden)]
pub fn utf8_as_bytes(array: &Array) -> Result<Array> {
    let datatype = with_ascii(&array.datatype)?;
    if array.is_padded() {
        let bytes = array.read_bytes(array.byteorder)?;
        return Array::from_bytes(bytes, datatype, array.byteorder, array.shape.clone());
    }
    Ok(Array { datatype, ..array.clone() })
}

/// Returns the datatype with `ascii` in place of `utf8`. As deep as types nest.
fn with_ascii(datatype: &Datatype) -> Result<Datatype> {
    Ok(match datatype {
        Datatype::Utf8(length) => Datatype::Ascii(*length),
        Datatype::Struct(fields) => {
            let field = |field: &Field| Ok(Field { datatype: with_ascii(&field.datatype)?, ..field.clone() });
            let made = fields.fields().iter().map(field).collect::<Result<_>>()?;
            Datatype::Struct(Arc::new(StructType::with_offsets(made, fields.item_size())?))
        }
        other => other.clone(),
    })
}

/// Returns what is wrong with the first string of one datatype that has other bytes or code points.
fn find_wrong_text(array: &Array, kind: TextType) -> Result<Option<String>> {
    let mut places = Vec::new();
    text_places(array.datatype(), kind, 0, &mut places);
    let item = usize::try_from(array.datatype().packed_size()).unwrap_or(0);
    if places.is_empty() || item == 0 {
        return Ok(None);
    }
    if array.is_padded() {
        for text in array.strings() {
            let wrong = find_wrong_string(kind, std::iter::once(&text?[..]));
            if wrong.is_some() {
                return Ok(wrong);
            }
        }
        return Ok(None);
    }
    let mut wrong = None;
    array.clone().without_mask().for_each_piece(1 << 20, |piece| {
        if wrong.is_none() {
            let strings =
                piece.chunks_exact(item).flat_map(|element| places.iter().filter_map(|place| element.get(place.clone())));
            wrong = find_wrong_string(kind, strings);
        }
        Ok(())
    })?;
    Ok(wrong)
}

/// Returns what is wrong with the first string of one kind that has other bytes or code points.
fn find_wrong_string<'t>(kind: TextType, texts: impl Iterator<Item = &'t [u8]>) -> Option<String> {
    match kind {
        TextType::Ascii => texts
            .flatten()
            .find(|byte| **byte >= 0x80)
            .map(|byte| format!("the byte {byte:#04x} in a text of the datatype ascii, expected less than 0x80")),
        TextType::Ucs4 => {
            let mut points = texts.flat_map(|text| text.as_chunks::<4>().0).map(|bytes| u32::from_le_bytes(*bytes));
            let wrong = points.find(|point| char::from_u32(*point).is_none());
            wrong.map(|point| format!("the number {point:#x} in a ucs4 string, which is not a Unicode character"))
        }
        TextType::Utf8 => {
            // NULs pad it.
            let ended = |text: &[u8]| text.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
            let mut wrong = texts.filter_map(|text| str::from_utf8(text.get(..ended(text))?).err().map(|_| text));
            wrong.next().map(|text| format!("the bytes \"{}\" in a string, which are not UTF-8", text.escape_ascii()))
        }
    }
}

/// Collects the places of the strings of one packed element.
fn text_places(datatype: &Datatype, kind: TextType, at: usize, places: &mut Vec<Range<usize>>) {
    /// Number that is looked at: a structure may repeat its fields without end.
    const MAX_CHECKED: usize = 10_000;
    let size = |datatype: &Datatype| usize::try_from(datatype.packed_size()).unwrap_or(0);
    match (datatype, kind) {
        (Datatype::Ascii(_), TextType::Ascii) | (Datatype::Ucs4(_), TextType::Ucs4) | (Datatype::Utf8(_), TextType::Utf8) => {
            places.push(at..at.saturating_add(size(datatype)));
        }
        // Structures nest no deeper than the library allows, so this recursion is bounded.
        (Datatype::Struct(structure), _) => {
            let mut at = at;
            for field in structure.fields() {
                for _ in 0..field.count() {
                    if places.len() >= MAX_CHECKED {
                        return;
                    }
                    text_places(&field.datatype, kind, at, places);
                    at = at.saturating_add(size(&field.datatype));
                }
            }
        }
        _ => {}
    }
}

/// Fills the strings at these bytes of each element with NULs, from their first NUL on.
pub(super) fn end_strings(elements: &mut [u8], element_size: usize, strings: &[Range<usize>]) {
    for element in elements.chunks_exact_mut(element_size.max(1)) {
        for place in strings {
            let string = element.get_mut(place.clone()).unwrap_or_default();
            let end = memchr::memchr(0, string).unwrap_or(string.len());
            string.get_mut(end..).unwrap_or_default().fill(0);
        }
    }
}
