//! Text as the Dudley document decodes it: `S1` is cp1252, or else latin1.

use crate::array::{Array, Datatype, ElementValue};
use crate::error::Result;

/// The characters of cp1252 from 0x80 to 0x9f; NUL where it has none.
const HIGH: [char; 32] = [
    '€', '\0', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\0', 'Ž', '\0', '\0', '‘', '’', '“', '”', '•', '–', '—',
    '˜', '™', 'š', '›', 'œ', '\0', 'ž', 'Ÿ',
];

/// Decodes `S1` text: cp1252, or latin1 for the whole string where a byte means nothing in cp1252.
/// NULs at the end are dropped.
///
/// ```
/// use trilith::dudley::s1_text;
/// assert_eq!(s1_text(b"10 \x80\0\0"), "10 €");
/// assert_eq!(s1_text(b"\x80\x81"), "\u{80}\u{81}");
/// ```
pub fn s1_text(bytes: &[u8]) -> String {
    let cp1252 = |byte: &u8| match byte {
        0x80..=0x9f => HIGH.get(usize::from(byte - 0x80)).copied().unwrap_or('\0'),
        _ => char::from(*byte),
    };
    let latin1 = bytes.iter().any(|byte| matches!(byte, 0x80..=0x9f) && cp1252(byte) == '\0');
    let text: String = bytes.iter().map(|byte| if latin1 { char::from(*byte) } else { cp1252(byte) }).collect();
    text.trim_end_matches('\0').to_owned()
}

/// Encodes text as `S1`: cp1252, or else latin1; None where neither has all its characters.
///
/// ```
/// assert_eq!(trilith::dudley::s1_bytes("10 €"), Some(b"10 \x80".to_vec()));
/// ```
pub fn s1_bytes(text: &str) -> Option<Vec<u8>> {
    let cp1252 = |c: char| match HIGH.iter().position(|high| *high == c && c != '\0') {
        Some(at) => Some(0x80 + at as u8),
        None => u8::try_from(u32::from(c)).ok().filter(|byte| !matches!(byte, 0x80..=0x9f)),
    };
    let latin1 = |c: char| u8::try_from(u32::from(c)).ok();
    text.chars().map(cp1252).collect::<Option<Vec<u8>>>().or_else(|| text.chars().map(latin1).collect())
}

/// The array with its text decoded: `ascii` text with bytes above 0x7f becomes `ucs4`, everything else
/// stays as it is.
///
/// # Errors
/// What reading the elements says.
pub fn presented(array: &Array) -> Result<Array> {
    if !matches!(array.datatype(), Datatype::Ascii(_)) {
        return Ok(array.clone());
    }
    let mut plain = true;
    array.for_each_piece(1 << 20, |piece| {
        plain &= piece.is_ascii();
        Ok(())
    })?;
    if plain {
        return Ok(array.clone());
    }
    let mut texts = Vec::new();
    array.for_each_scalar(|scalar, _| {
        texts.push(match scalar {
            // What happens to be UTF-8 was taken for it.
            ElementValue::Text(text) => s1_text(text.as_bytes()),
            ElementValue::Raw(bytes) => s1_text(&bytes),
            other => other.text(crate::array::FloatText::Shortest),
        });
        Ok(())
    })?;
    Array::from_texts(&texts, array.shape())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::Byteorder;

    #[test]
    fn text_goes_both_ways_in_cp1252_and_latin1() {
        for text in ["plain", "10 €", "naïve", "\u{81}\u{9f}"] {
            assert_eq!(s1_text(&s1_bytes(text).unwrap()), text);
        }
        assert_eq!(s1_bytes("π"), None);
        assert_eq!(s1_bytes("€").unwrap(), [0x80]);
    }

    #[test]
    fn what_looks_like_utf8_is_still_cp1252() {
        let array = Array::from_bytes(vec![0xc3, 0xa9, 0], Datatype::Ascii(3), Byteorder::Little, vec![]).unwrap();
        let shown = presented(&array).unwrap();
        assert_eq!(shown.load_texts().unwrap(), ["Ã©"]);
    }
}
