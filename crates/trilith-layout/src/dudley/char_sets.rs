//! Text as the Dudley document decodes it: `S1` is cp1252, or else latin1.

use std::sync::Arc;

use crate::array::{
    Array, Byteorder, CP1252, Datatype, ElementValue, StructType, TextType, check_texts, cp1252_text, has_undecodable_text,
    undeclared_text,
};
use crate::error::{Error, Result};

/// Decodes `S1` text: cp1252, or latin1 for the whole string if a byte means nothing in cp1252.
/// NULs at the end are dropped.
///
/// ```
/// use trilith_layout::dudley::decode_s1;
/// assert_eq!(decode_s1(b"10 \x80\0\0"), "10 €");
/// assert_eq!(decode_s1(b"\x80\x81"), "\u{80}\u{81}");
/// ```
pub fn decode_s1(bytes: &[u8]) -> String {
    cp1252_text(bytes).trim_end_matches('\0').to_owned()
}

/// Encodes text as `S1`: cp1252, or else latin1; None if neither has all its characters.
///
/// ```
/// assert_eq!(trilith_layout::dudley::encode_s1("10 €"), Some(b"10 \x80".to_vec()));
/// ```
pub fn encode_s1(text: &str) -> Option<Vec<u8>> {
    let cp1252 = |c: char| match CP1252.iter().position(|high| *high == c && c != '\0') {
        Some(at) => Some(0x80 + at as u8),
        None => u8::try_from(u32::from(c)).ok().filter(|byte| !matches!(byte, 0x80..=0x9f)),
    };
    let latin1 = |c: char| u8::try_from(u32::from(c)).ok();
    text.chars().map(cp1252).collect::<Option<Vec<u8>>>().or_else(|| text.chars().map(latin1).collect())
}

/// Returns the array with its text decoded, and in a datatype that other programs have: `ascii` text with bytes above 0x7f,
/// `utf8` and `ucs2` text become `ucs4`, `complex32` becomes `complex64`. Everything else stays unchanged, also `utf8` text of
/// which an element is not UTF-8: [`ElementValue::Raw`] has the bytes of that element.
///
/// # Errors
/// Returns an error if the elements cannot be read.
pub fn decode_text(array: &Array) -> Result<Array> {
    presented_by(array, decode_s1)
}

/// Does the same as [`decode_text`] for an array of another format: its `ascii` text is of no declared encoding.
///
/// # Errors
/// Returns an error if the elements cannot be read.
pub(crate) fn presented_foreign(array: &Array) -> Result<Array> {
    presented_by(array, undeclared_text)
}

/// Does the same as [`presented_foreign`] for structs with strings of variable length, also if all are declared as ASCII.
///
/// # Errors
/// Returns an error if the elements cannot be read.
pub(crate) fn presented_varlen(array: &Array) -> Result<Array> {
    match array.datatype() {
        Datatype::Struct(fields) if array.mask().is_none() => with_strings(array, fields, WrongStrings::Utf8),
        _ => presented_foreign(array),
    }
}

/// Returns the array with its text decoded, of `ascii` by a function.
fn presented_by(array: &Array, decode: fn(&[u8]) -> String) -> Result<Array> {
    let is_padded = array.is_padded();
    match array.datatype() {
        Datatype::Ascii(_) | Datatype::Utf8(_) if is_padded => charge_wide(array)?,
        Datatype::Ascii(_) => {
            let mut plain = true;
            array.for_each_piece(1 << 20, |piece| {
                plain &= piece.is_ascii();
                Ok(())
            })?;
            if plain {
                return Ok(array.clone());
            }
        }
        Datatype::Utf8(_) | Datatype::Ucs2(_) => charge_wide(array)?,
        Datatype::Complex32 => return to_complex64(array),
        Datatype::Struct(fields) if array.mask().is_none() && has_utf8(fields) => {
            return with_strings(array, fields, WrongStrings::Utf8);
        }
        _ => return Ok(array.clone()),
    }
    if !matches!(array.datatype(), Datatype::Ascii(_)) {
        let is_decodable = !matches!(array.datatype(), Datatype::Utf8(_)) || !has_undecodable_text(array)?;
        return if is_decodable { to_ucs4(&array.load_texts()?, array.shape()) } else { Ok(array.clone()) };
    }
    let texts = array.strings().map(|bytes| Ok(decode(&bytes?))).collect::<Result<Vec<String>>>()?;
    if is_padded { to_ucs4(&texts, array.shape()) } else { Array::from_texts(&texts, array.shape()) }
}

/// A character of `ucs4` takes four bytes, also of strings that are padded to the longest.
fn charge_wide(array: &Array) -> Result<()> {
    array.limits().charge_memory(array.nbytes().saturating_mul(4), "padded strings")
}

/// Returns an array of structs in datatypes of ASDF: members whose `ascii` strings have bytes above 0x7f become `ucs4`, and those
/// with strings that are not in their declared encoding become bytes. Any other array stays unchanged.
///
/// # Errors
/// Returns an error if the elements cannot be read.
pub fn with_ascii_members(array: &Array) -> Result<Array> {
    match array.datatype() {
        Datatype::Struct(fields) if has_utf8(fields) || check_texts(array, TextType::Ascii).is_err() => {
            let made = with_strings(&array.clone().without_mask(), fields, WrongStrings::Bytes)?;
            array.mask().map_or(Ok(made.clone()), |mask| made.with_mask(mask.clone()))
        }
        _ => Ok(array.clone()),
    }
}

/// Returns `true` if a struct has strings of `utf8`. As deep as types nest.
fn has_utf8(fields: &StructType) -> bool {
    fields.fields().iter().any(|field| match &field.datatype {
        Datatype::Struct(inner) => has_utf8(inner),
        datatype => matches!(datatype, Datatype::Utf8(_)),
    })
}

/// The form of members of which a string is not in its declared encoding.
#[derive(Debug, Clone, Copy, PartialEq)]
enum WrongStrings {
    /// Strings of `utf8`, of which that one is bytes.
    Utf8,
    /// Arrays of bytes.
    Bytes,
}

/// The characters of the strings of a member.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
enum MemberText {
    Ascii,
    Other,
    /// A string is not in its declared encoding.
    Wrong,
}

/// The struct with strings of `ascii` or of `ucs4` in place of those of `utf8`, packed. Strings of `ascii` become `ucs4` if they
/// have other characters; `others` has that for each member, counted from the first. As deep as types nest.
fn without_utf8(
    fields: &StructType,
    others: &mut std::slice::Iter<'_, MemberText>,
    is_ascii: bool,
    wrong: WrongStrings,
) -> Result<StructType> {
    let mut made = Vec::new();
    for field in fields.fields() {
        let mut converted = field.clone();
        converted.datatype = match &field.datatype {
            Datatype::Struct(inner) => Datatype::Struct(Arc::new(without_utf8(inner, others, is_ascii, wrong)?)),
            datatype => match (datatype, others.next()) {
                (Datatype::Utf8(length), Some(MemberText::Wrong)) if wrong == WrongStrings::Bytes => {
                    converted.shape.push(u64::from(*length));
                    Datatype::Uint8
                }
                (Datatype::Utf8(_), Some(MemberText::Wrong)) => datatype.clone(),
                (Datatype::Utf8(length), _) if is_ascii => Datatype::Ascii(*length),
                (Datatype::Utf8(length), _) | (Datatype::Ascii(length), Some(MemberText::Other)) => Datatype::Ucs4(*length),
                (other, _) => other.clone(),
            },
        };
        converted.byteorder = Byteorder::Little;
        made.push(converted);
    }
    StructType::packed_from(made)
}

/// The number of members of a struct, those of structs in it one by one. As deep as types nest.
fn count_members(datatype: &Datatype) -> usize {
    let Datatype::Struct(fields) = datatype else { return 1 };
    fields.fields().iter().map(|field| count_members(&field.datatype)).sum()
}

/// Notes in `others` for each member of an element, from `first` on, which characters it has. As deep as types nest.
fn note_others(datatype: &Datatype, element: &ElementValue, first: usize, others: &mut [MemberText]) {
    let mut note = |found: MemberText| {
        if let Some(known) = others.get_mut(first).filter(|known| **known < found) {
            *known = found;
        }
    };
    match (datatype, element) {
        (_, ElementValue::List(parts)) => parts.iter().for_each(|part| note_others(datatype, part, first, others)),
        (Datatype::Struct(fields), ElementValue::Struct(parts)) => {
            let mut at = first;
            for (field, part) in fields.fields().iter().zip(parts) {
                note_others(&field.datatype, part, at, others);
                at += count_members(&field.datatype);
            }
        }
        (_, ElementValue::Raw(_)) => note(MemberText::Wrong),
        (_, ElementValue::Text(text)) if !text.is_ascii() => note(MemberText::Other),
        _ => {}
    }
}

/// Makes arrays of bytes of the strings of each member that has a string in another encoding. As deep as types nest.
fn to_bytes(datatype: &Datatype, element: &mut ElementValue, first: usize, others: &[MemberText]) {
    match (datatype, &mut *element) {
        (_, ElementValue::List(parts)) => parts.iter_mut().for_each(|part| to_bytes(datatype, part, first, others)),
        (Datatype::Struct(fields), ElementValue::Struct(parts)) => {
            let mut at = first;
            for (field, part) in fields.fields().iter().zip(parts) {
                to_bytes(&field.datatype, part, at, others);
                at += count_members(&field.datatype);
            }
        }
        (Datatype::Utf8(length), text) if others.get(first) == Some(&MemberText::Wrong) => {
            let mut bytes = match text {
                ElementValue::Text(text) => text.as_bytes().to_vec(),
                ElementValue::Raw(bytes) => std::mem::take(bytes),
                _ => return,
            };
            bytes.resize(usize::try_from(*length).unwrap_or(bytes.len()), 0);
            *element = ElementValue::List(bytes.into_iter().map(|byte| ElementValue::Uint(byte.into())).collect());
        }
        _ => {}
    }
}

/// An array of structs in the strings that other programs have.
fn with_strings(array: &Array, fields: &StructType, wrong: WrongStrings) -> Result<Array> {
    let mut others = vec![MemberText::Ascii; count_members(array.datatype())];
    array.for_each_scalar(|element, _| {
        note_others(array.datatype(), &element, 0, &mut others);
        Ok(())
    })?;
    let is_ascii = others.iter().all(|text| *text == MemberText::Ascii);
    let made = without_utf8(fields, &mut others.iter(), is_ascii, wrong)?;
    let datatype = Datatype::Struct(Arc::new(made));
    array.limits().charge_memory(array.element_count().saturating_mul(datatype.item_size()), "structs with strings")?;
    let mut bytes = Vec::new();
    array.for_each_scalar(|mut element, _| {
        if wrong == WrongStrings::Bytes {
            to_bytes(array.datatype(), &mut element, 0, &others);
        }
        element.encode(&datatype, Byteorder::Little, &mut bytes)
    })?;
    Array::from_bytes(bytes, datatype, Byteorder::Little, array.shape().to_vec())
}

/// An array of `ucs4` as long as the longest text.
fn to_ucs4(texts: &[String], shape: &[u64]) -> Result<Array> {
    let longest = texts.iter().map(|text| text.chars().count()).max().unwrap_or(0);
    encode_texts(texts, Datatype::with_length("ucs4", longest.max(1) as u64)?, shape)
}

/// Texts as an array of a datatype, padded with NUL.
fn encode_texts(texts: &[String], datatype: Datatype, shape: &[u64]) -> Result<Array> {
    let mut bytes = Vec::new();
    for text in texts {
        let value = match datatype {
            Datatype::Ascii(_) => {
                let stored = encode_s1(text);
                ElementValue::Raw(
                    stored.ok_or_else(|| Error::invalid_input(format!("{text:?} has characters that S1 does not have")))?,
                )
            }
            _ => ElementValue::Text(text.clone()),
        };
        value.encode(&datatype, Byteorder::Little, &mut bytes).map_err(|e| Error::invalid_input(e.message().to_owned()))?;
    }
    Array::from_bytes(bytes, datatype, Byteorder::Little, shape.to_vec())
}

/// `complex32` as `complex64`, which has all its values.
fn to_complex64(array: &Array) -> Result<Array> {
    let mut bytes = Vec::new();
    array.for_each_scalar(|scalar, _| scalar.encode(&Datatype::Complex64, Byteorder::Little, &mut bytes))?;
    Array::from_bytes(bytes, Datatype::Complex64, Byteorder::Little, array.shape().to_vec())
}

/// Returns the array in a datatype and shape of a layout that other programs have in another form: text of any encoding,
/// padded with NUL; the code units of text along one axis more; `complex64` for `complex32`, rounded. None for any other array.
///
/// # Errors
/// Returns `InvalidInput` if a text does not fit, or a number is too large.
pub(super) fn fit_width(array: &Array, datatype: &Datatype, shape: &[u64]) -> Result<Option<Array>> {
    let (given, units) = (array.datatype(), array.shape().split_last());
    let are_units = |size: u64, count: u32| {
        let is_unit = matches!((given, size), (Datatype::Uint8, 1) | (Datatype::Uint16, 2) | (Datatype::Uint32, 4));
        is_unit && units.is_some_and(|(last, rest)| rest == shape && *last == u64::from(count))
    };
    let (size, count) = match datatype {
        Datatype::Ascii(count) | Datatype::Utf8(count) => (1, *count),
        Datatype::Ucs2(count) => (2, *count),
        Datatype::Ucs4(count) => (4, *count),
        Datatype::Complex32 if array.shape() == shape && matches!(given, Datatype::Complex64 | Datatype::Complex128) => {
            return narrow_complex(array).map(Some);
        }
        _ => return Ok(None),
    };
    if given.is_text() && array.shape() == shape {
        return encode_texts(&decode_text(array)?.load_texts()?, datatype.clone(), shape).map(Some);
    }
    if !are_units(size, count) {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    array.for_each_piece_in(Byteorder::Little, 1 << 20, &mut |piece| {
        bytes.extend_from_slice(piece);
        Ok(())
    })?;
    Array::from_bytes(bytes, datatype.clone(), Byteorder::Little, shape.to_vec()).map(Some)
}

/// `complex64` or `complex128` as `complex32`; a finite number that would become infinite is refused.
fn narrow_complex(array: &Array) -> Result<Array> {
    /// The largest number of 16 bits, and half a unit in its last place.
    const MAX_F16: f64 = 65519.0;
    let mut bytes = Vec::new();
    array.for_each_scalar(|scalar, _| {
        if let ElementValue::Complex(re, im, _) = scalar
            && [re, im].iter().any(|part| part.is_finite() && part.abs() > MAX_F16)
        {
            return Err(Error::invalid_input(format!("{re}+{im}i does not fit in c4, whose largest number is 65504")));
        }
        scalar.encode(&Datatype::Complex32, Byteorder::Little, &mut bytes)
    })?;
    Array::from_bytes(bytes, Datatype::Complex32, Byteorder::Little, array.shape().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_goes_both_ways_in_cp1252_and_latin1() {
        for text in ["plain", "10 €", "naïve", "\u{81}\u{9f}"] {
            assert_eq!(decode_s1(&encode_s1(text).unwrap()), text);
        }
        assert_eq!(encode_s1("π"), None);
        assert_eq!(encode_s1("€").unwrap(), [0x80]);
    }

    #[test]
    fn what_looks_like_utf8_is_still_cp1252() {
        let array = Array::from_bytes(vec![0xc3, 0xa9, 0], Datatype::Ascii(3), Byteorder::Little, vec![]).unwrap();
        let shown = decode_text(&array).unwrap();
        assert_eq!(shown.load_texts().unwrap(), ["Ã©"]);
    }
}
