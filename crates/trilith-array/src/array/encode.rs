//! Encoding of values as bytes: [`ElementValue::encode`], and arrays of text.

use half::f16;

use super::datatype::{Byteorder, Datatype};
use super::element::{ArrayElement, NumericValue};
use super::handle::Array;
use super::scalar::ElementValue;
use super::shape::element_count;
use crate::error::{Error, Result};

impl ElementValue {
    /// Appends the element as packed bytes of `datatype`, in `order`. Elements of inline arrays are encoded in this way.
    ///
    /// Whole numbers must fit, and floats are rounded to the nearest. A string must not be longer than the datatype, and is
    /// padded with NUL. A struct takes a list with one value for each field.
    ///
    /// ```
    /// use trilith_array::array::{Byteorder, Datatype, ElementValue};
    /// let mut bytes = Vec::new();
    /// ElementValue::Int(258).encode(&Datatype::Uint16, Byteorder::Big, &mut bytes)?;
    /// ElementValue::Text("a".into()).encode(&Datatype::Ascii(3), Byteorder::Big, &mut bytes)?;
    /// assert_eq!(bytes, b"\x01\x02a\0\0");
    /// assert!(ElementValue::Int(-1).encode(&Datatype::Uint8, Byteorder::Big, &mut bytes).is_err());
    /// # Ok::<(), trilith_array::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) for a value that the datatype does not have.
    /// `out` then ends in a part of the element.
    pub fn encode(&self, datatype: &Datatype, order: Byteorder, out: &mut Vec<u8>) -> Result<()> {
        match (datatype, self) {
            (Datatype::Struct(fields), Self::Struct(parts) | Self::List(parts)) => {
                if parts.len() != fields.fields().len() {
                    let message =
                        format!("{} values for the {} fields of a structured element", parts.len(), fields.fields().len());
                    return Err(Error::malformed(message));
                }
                // Recursion is limited with the nesting of structs.
                let mut pairs = fields.fields().iter().zip(parts);
                pairs.try_for_each(|(field, part)| part.encode_list(&field.shape, &field.datatype, order, out))
            }
            (Datatype::Struct(_), _) => Err(self.type_error(datatype)),
            (text, _) if text.is_text() => self.encode_text(text, order, out),
            _ => self.encode_number(datatype, order, out),
        }
    }

    /// Appends nested lists of this shape; recursion is limited by the number of axes of a field.
    fn encode_list(&self, shape: &[u64], datatype: &Datatype, order: Byteorder, out: &mut Vec<u8>) -> Result<()> {
        let Some((len, inner)) = shape.split_first() else { return self.encode(datatype, order, out) };
        match self {
            Self::List(parts) if parts.len() as u64 == *len => {
                parts.iter().try_for_each(|part| part.encode_list(inner, datatype, order, out))
            }
            // A list without elements may omit its inner lists.
            Self::List(parts) if parts.is_empty() && inner.contains(&0) => Ok(()),
            Self::List(parts) => Err(Error::malformed(format!("a list of {} values, expected {len}", parts.len()))),
            _ => Err(Error::malformed(format!("a single value, expected a list of {len}"))),
        }
    }

    fn encode_text(&self, datatype: &Datatype, order: Byteorder, out: &mut Vec<u8>) -> Result<()> {
        let units: Vec<u8> = match (self, datatype) {
            (Self::Text(text), Datatype::Ucs4(_)) => {
                text.chars().flat_map(|c| to_byteorder(u32::from(c).to_le_bytes(), order)).collect()
            }
            (Self::Text(text), Datatype::Ucs2(_)) => {
                text.encode_utf16().flat_map(|unit| to_byteorder(unit.to_le_bytes(), order)).collect()
            }
            (Self::Text(text), Datatype::Ascii(_)) if !text.is_ascii() => {
                return Err(Error::malformed(format!("{text:?} is not ASCII text")));
            }
            (Self::Text(text), _) => text.as_bytes().to_vec(),
            (Self::Raw(bytes), Datatype::Ascii(_) | Datatype::Utf8(_)) => bytes.clone(),
            _ => return Err(self.type_error(datatype)),
        };
        let size = datatype.item_size();
        let missing = size.checked_sub(units.len() as u64).ok_or_else(|| {
            Error::malformed(format!("text of {} bytes in an element of {datatype}, which has {size}", units.len()))
        })?;
        out.extend(units);
        // The element is the caller's, who has room for as many as there are.
        out.resize(out.len().saturating_add(crate::bytes::to_usize(missing)?), 0);
        Ok(())
    }

    fn encode_number(&self, datatype: &Datatype, order: Byteorder, out: &mut Vec<u8>) -> Result<()> {
        let value = match *self {
            Self::Int(n) => NumericValue::Int(n),
            Self::Uint(n) => NumericValue::Uint(n),
            Self::Float(x, _) => NumericValue::Float(x),
            Self::Complex(re, im, _) => NumericValue::Complex(re, im),
            Self::Bool(x) => NumericValue::Uint(x.into()),
            _ => return Err(self.type_error(datatype)),
        };
        macro_rules! put {
            ($type:ty) => {
                <$type>::from_value(value).map(|x| out.extend(to_byteorder(x.to_le_bytes(), order)))
            };
        }
        let real = |part: f64| Self::Float(part, super::FloatPrecision::Double);
        let done = match datatype {
            Datatype::Int8 => put!(i8),
            Datatype::Int16 => put!(i16),
            Datatype::Int32 => put!(i32),
            Datatype::Int64 => put!(i64),
            Datatype::Uint8 => put!(u8),
            Datatype::Uint16 => put!(u16),
            Datatype::Uint32 => put!(u32),
            Datatype::Uint64 => put!(u64),
            Datatype::Float16 => put!(f16),
            Datatype::Float32 => put!(f32),
            Datatype::Float64 => put!(f64),
            Datatype::Float128 => f64::from_value(value).map(|x| out.extend(to_byteorder(to_extended(x).to_le_bytes(), order))),
            Datatype::Bool8 => bool::from_value(value).map(|x| out.push(x.into())),
            complex => {
                let part = match complex {
                    Datatype::Complex32 => Datatype::Float16,
                    Datatype::Complex64 => Datatype::Float32,
                    Datatype::Complex128 => Datatype::Float64,
                    _ => Datatype::Float128,
                };
                let (re, im) = super::element::value_to_complex_pair(value);
                real(re).encode_number(&part, order, out)?;
                Some(real(im).encode_number(&part, order, out)?)
            }
        };
        done.ok_or_else(|| self.type_error(datatype))
    }

    #[cold]
    fn type_error(&self, datatype: &Datatype) -> Error {
        let kind = match self {
            Self::Text(_) | Self::Raw(_) => "the text ",
            Self::Struct(_) | Self::List(_) => "the list ",
            _ => "",
        };
        let mut text = self.text(super::FloatText::Shortest);
        if let Some((end, _)) = text.char_indices().nth(60) {
            text.truncate(end);
            text.push('…');
        }
        Error::malformed(format!("{kind}{text} is not an element of {datatype}"))
    }
}

/// Little-endian bytes in either order.
fn to_byteorder<const N: usize>(mut bytes: [u8; N], order: Byteorder) -> [u8; N] {
    if order == Byteorder::Big {
        bytes.reverse();
    }
    bytes
}

/// The 80-bit x86 number that a double equals.
fn to_extended(x: f64) -> u128 {
    let bits = x.to_bits();
    let sign = u128::from(bits >> 63) << 79;
    let (exponent, fraction) = ((bits >> 52 & 0x7ff) as u32, bits << 12 >> 1);
    let (exponent, fraction) = match exponent {
        0x7ff => (0x7fff, 1 << 63 | fraction),
        0 if fraction == 0 => (0, 0),
        // A double below its normal range has no stored first bit; here there is room to shift it up.
        0 => {
            let shift = fraction.leading_zeros();
            (16383 - 1022 - shift, fraction << shift)
        }
        normal => (normal + 16383 - 1023, 1 << 63 | fraction),
    };
    sign | u128::from(exponent) << 64 | u128::from(fraction)
}

impl Array {
    /// Texts as an array of `ucs4` (of `ascii` if all of them are) as long as the longest.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if `shape` has another number of elements.
    pub fn from_texts(texts: &[impl AsRef<str>], shape: &[u64]) -> Result<Self> {
        if element_count(shape)? != texts.len() as u64 {
            return Err(Error::invalid_input(format!("{} strings do not fit an array of shape {shape:?}", texts.len())));
        }
        let plain = texts.iter().all(|text| text.as_ref().is_ascii());
        let longest = texts.iter().map(|text| text.as_ref().chars().count()).max().unwrap_or(0);
        let datatype = Datatype::with_length(if plain { "ascii" } else { "ucs4" }, longest as u64)?;
        let mut bytes = Vec::new();
        for text in texts {
            ElementValue::Text(text.as_ref().to_owned()).encode(&datatype, Byteorder::Little, &mut bytes)?;
        }
        Self::from_bytes(bytes, datatype, Byteorder::Little, shape.to_vec())
    }

    /// Copies all strings in C order, without the NULs that pad them.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if the elements are not strings,
    /// [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if their bytes are not text, and the errors of
    /// [`Array::load`].
    pub fn load_texts(&self) -> Result<Vec<String>> {
        if !self.datatype.is_text() {
            return Err(Error::invalid_input(format!("elements of {} are not text", self.datatype)));
        }
        let mut texts = Vec::new();
        self.for_each_scalar(|scalar, _| match scalar {
            ElementValue::Text(text) => {
                texts.push(text);
                Ok(())
            }
            other => {
                let shown = other.text(super::FloatText::Shortest);
                Err(Error::malformed(format!(
                    "element {} holds the bytes {shown:?}, which are not {} text",
                    texts.len(),
                    self.datatype.name()
                )))
            }
        })?;
        Ok(texts)
    }
}
