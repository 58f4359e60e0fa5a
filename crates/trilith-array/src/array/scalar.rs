//! An element as a value or as text: [`ElementValue`].

use std::fmt::Write as _;

use half::f16;

use super::datatype::{Byteorder, Datatype};
use super::element::NumericValue;
use super::handle::Array;
use super::mask::Mask;
use super::numeric::first_value;
use super::string_check::undeclared_text;
use super::struct_type::Field;
use crate::bytes::{base64, to_usize};
use crate::error::{Error, Result};
use crate::limits::Limits;

/// The precision with which a number was stored. It decides how many digits its text needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FloatPrecision {
    /// `float16`.
    Half,
    /// `float32`.
    Single,
    /// `float64`, and what is left of `float128`.
    Double,
}

/// Number of digits in the text of a float.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum FloatText {
    /// The fewest digits that give the same number at the same precision again: a float32 0.1 is `0.1`.
    #[default]
    Shortest,
    /// Digits of the equal double: a float32 0.1 is `0.10000000149011612`.
    AsDouble,
}

/// One element.
///
/// ```
/// use trilith_array::array::{Array, FloatText};
/// let array = Array::from_slice(&[0.1f32], &[])?;
/// let scalar = array.scalar()?;
/// assert_eq!(scalar.text(FloatText::Shortest), "0.1");
/// assert_eq!(scalar.text(FloatText::AsDouble), "0.10000000149011612");
/// # Ok::<(), trilith_array::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ElementValue {
    /// A signed integer.
    Int(i64),
    /// An unsigned integer.
    Uint(u64),
    /// A real number.
    Float(f64, FloatPrecision),
    /// A complex number (re, im).
    Complex(f64, f64, FloatPrecision),
    /// A boolean.
    Bool(bool),
    /// Text without the NULs that pad it.
    Text(String),
    /// The bytes of a string that are not in its declared encoding, without the NULs that pad it.
    Raw(Vec<u8>),
    /// The fields of a struct, in their order.
    Struct(Vec<ElementValue>),
    /// The values of a field that is an array, axis by axis.
    List(Vec<ElementValue>),
    /// A value of a structure that is masked.
    Missing,
}

/// A step of a walk through an array as nested lists, see [`Array::for_each_nested`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum NestedEvent {
    /// A list begins.
    Open,
    /// A list ends.
    Close,
    /// An element.
    Element(ElementValue),
    /// An element under the mask.
    Masked,
}

impl ElementValue {
    /// The element that packed bytes in the byte order of this machine hold.
    fn decode_packed(datatype: &Datatype, bytes: &mut &[u8], limits: &Limits) -> Result<Self> {
        Self::decode_part(datatype, bytes, &mut ValueBudget { remaining: limits.nodes, total: limits.nodes })
    }

    fn decode_part(datatype: &Datatype, bytes: &mut &[u8], budget: &mut ValueBudget) -> Result<Self> {
        if let Datatype::Struct(fields) = datatype {
            // Recursion is limited with the nesting of structs.
            return fields
                .fields()
                .iter()
                .map(|field| decode_field(field, bytes, budget))
                .collect::<Result<_>>()
                .map(Self::Struct);
        }
        let size = to_usize(datatype.item_size())?;
        let (own, rest) = bytes
            .split_at_checked(size)
            .ok_or_else(|| Error::malformed(format!("{} bytes of an element of {size}", bytes.len())))?;
        *bytes = rest;
        let precision = match datatype {
            Datatype::Float16 | Datatype::Complex32 => FloatPrecision::Half,
            Datatype::Float32 | Datatype::Complex64 => FloatPrecision::Single,
            _ => FloatPrecision::Double,
        };
        Ok(match (datatype, first_value(datatype, own)) {
            (Datatype::Bool8, _) => Self::Bool(own != [0]),
            (_, Some(NumericValue::Int(n))) => Self::Int(n),
            (_, Some(NumericValue::Uint(n))) => Self::Uint(n),
            (_, Some(NumericValue::Float(x))) => Self::Float(x, precision),
            (_, Some(NumericValue::Complex(re, im))) => Self::Complex(re, im, precision),
            (text, None) => element_from_text_bytes(text, own.to_vec()),
        })
    }

    /// The values that a mask by field marks become [`ElementValue::Missing`]; `marks` has a byte for each value.
    fn apply_field_mask(&mut self, marks: &mut std::slice::Iter<'_, u8>) {
        match self {
            // Recursion is bounded by the nesting of the decoded struct.
            Self::Struct(parts) | Self::List(parts) => parts.iter_mut().for_each(|part| part.apply_field_mask(marks)),
            value => {
                if marks.next().is_some_and(|mark| *mark != 0) {
                    *value = Self::Missing;
                }
            }
        }
    }

    /// The element as text for people and tables: `1.5`, `NaN`, `inf`, `1+2j`, `true`; structs and
    /// lists as `[1, 2.5]`.
    pub fn text(&self, floats: FloatText) -> String {
        match self {
            Self::Int(n) => n.to_string(),
            Self::Uint(n) => n.to_string(),
            Self::Float(x, precision) => float_text(*x, *precision, floats),
            Self::Complex(re, im, precision) => complex_text(*re, *im, *precision, floats),
            Self::Bool(x) => x.to_string(),
            Self::Text(text) => text.clone(),
            Self::Raw(bytes) => bytes.escape_ascii().to_string(),
            Self::Missing => "--".to_owned(),
            Self::Struct(parts) | Self::List(parts) => {
                let parts: Vec<String> = parts.iter().map(|part| part.text(floats)).collect();
                format!("[{}]", parts.join(", "))
            }
        }
    }

    /// The element as JSON: floats keep a point or exponent, `"NaN"`, `"Infinity"`, `"-Infinity"` and
    /// complex numbers are strings, structs are lists, the bytes of a string that cannot be decoded `{"base64": "…"}`.
    pub fn json(&self, floats: FloatText) -> String {
        match self {
            Self::Float(x, _) if x.is_nan() => "\"NaN\"".to_owned(),
            Self::Float(x, _) if x.is_infinite() => if *x > 0.0 { "\"Infinity\"" } else { "\"-Infinity\"" }.to_owned(),
            Self::Int(_) | Self::Uint(_) | Self::Float(..) | Self::Bool(_) => self.text(floats),
            Self::Complex(..) | Self::Text(_) => json_text(&self.text(floats)),
            Self::Raw(bytes) => format!("{{\"base64\": {}}}", json_text(&base64(bytes))),
            Self::Missing => "null".to_owned(),
            Self::Struct(parts) | Self::List(parts) => {
                let parts: Vec<String> = parts.iter().map(|part| part.json(floats)).collect();
                format!("[{}]", parts.join(", "))
            }
        }
    }
}

/// Number of values that an element may still have. Some have no bytes, so bytes do not limit them.
struct ValueBudget {
    remaining: u64,
    total: u64,
}

fn decode_field(field: &Field, bytes: &mut &[u8], budget: &mut ValueBudget) -> Result<ElementValue> {
    let count = field.count();
    // An empty list counts too.
    budget.remaining = budget.remaining.checked_sub(count.max(1)).ok_or_else(|| {
        Limits::exceeded_error("nodes", budget.total, format_args!("an element of more than {} values", budget.total))
    })?;
    if field.shape.is_empty() {
        return ElementValue::decode_part(&field.datatype, bytes, budget);
    }
    let values: Vec<ElementValue> =
        (0..count).map(|_| ElementValue::decode_part(&field.datatype, bytes, budget)).collect::<Result<_>>()?;
    // Lists are built from the innermost axis outwards: lists become the elements of lists.
    let mut level = values;
    for len in field.shape.iter().skip(1).rev() {
        let len = to_usize(*len)?.max(1);
        level = level.chunks(len).map(|part| ElementValue::List(part.to_vec())).collect();
    }
    Ok(ElementValue::List(level))
}

/// Text without the NULs at its end; nothing if the bytes are not text.
fn decode_text(datatype: &Datatype, bytes: &[u8]) -> Option<String> {
    let text = match datatype {
        Datatype::Ucs4(_) => {
            bytes.as_chunks::<4>().0.iter().map(|unit| char::from_u32(u32::from_ne_bytes(*unit))).collect::<Option<String>>()?
        }
        Datatype::Ucs2(_) => {
            let units = bytes.as_chunks::<2>().0.iter().map(|unit| u16::from_ne_bytes(*unit));
            char::decode_utf16(units).collect::<Result<String, _>>().ok()?
        }
        // Declared as ASCII, or not at all.
        Datatype::Ascii(_) => undeclared_text(bytes),
        _ => String::from_utf8(bytes.to_vec()).ok()?,
    };
    Some(text.trim_end_matches('\0').to_owned())
}

/// The text of a float: always with a point, an exponent, or letters (`NaN`, `inf`, `-inf`).
pub(super) fn float_text(x: f64, precision: FloatPrecision, floats: FloatText) -> String {
    match (precision, floats) {
        (FloatPrecision::Single, FloatText::Shortest) => format!("{:?}", x as f32),
        (FloatPrecision::Half, FloatText::Shortest) if x.is_finite() => half_text(x),
        _ => format!("{x:?}"),
    }
}

/// The shortest decimal that rounds to this half.
fn half_text(x: f64) -> String {
    let digits = (0..5).map(|digits| format!("{x:.digits$e}"));
    let shortest = digits.into_iter().find_map(|text| {
        let back = text.parse::<f64>().ok()?;
        (f16::from_f64(back).to_bits() == f16::from_f64(x).to_bits()).then_some(back)
    });
    format!("{:?}", shortest.unwrap_or(x))
}

/// A complex number in the notation of core/complex: `1+2j`, `-0.5-infj`.
pub fn complex_text(re: f64, im: f64, precision: FloatPrecision, floats: FloatText) -> String {
    let part = |x: f64| {
        let text = float_text(x, precision, floats).to_ascii_lowercase();
        text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
    };
    let (re, im) = (part(re), part(im));
    let sign = if im.starts_with('-') { "" } else { "+" };
    format!("{re}{sign}{im}j")
}

/// A JSON string with its quotes.
pub fn json_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            // JSON requires this for characters below a space; the rest control terminals, or reverse the order of text.
            c if c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}') => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Returns the string of a datatype that bytes are: as long as they are, and no longer.
pub(super) fn element_from_text_bytes(datatype: &Datatype, bytes: Vec<u8>) -> ElementValue {
    match decode_text(datatype, &bytes) {
        Some(text) => ElementValue::Text(text),
        None if matches!(datatype, Datatype::Ucs2(_) | Datatype::Ucs4(_)) => ElementValue::Raw(bytes),
        None => {
            let mut bytes = bytes;
            bytes.truncate(bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1));
            ElementValue::Raw(bytes)
        }
    }
}

/// Bytes of work that an element is worth which is taken by itself: it costs many times more than its bytes do.
pub(super) const SCALAR_COST: u64 = 16;

impl Array {
    /// The only element of an array without axes (or of one with a single element).
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for another number of elements, and the errors of
    /// [`Array::load`].
    pub fn scalar(&self) -> Result<ElementValue> {
        if self.element_count() != 1 {
            return Err(Error::invalid_input(format!("an array of shape {:?} is not one element", self.shape)));
        }
        let bytes = self.read_bytes(Byteorder::NATIVE)?;
        ElementValue::decode_packed(&self.datatype, &mut &bytes[..], &self.limits)
    }

    /// The element at these indices.
    ///
    /// # Errors
    /// Returns the errors of [`Array::scalar_at`] and [`Array::load`].
    pub fn element(&self, index: &[u64]) -> Result<ElementValue> {
        self.scalar_at(index)?.scalar()
    }

    /// Gives all elements in C order to `take`, with whether they are masked, reading a piece at a time. Of structures with a
    /// mask for each field, the values that are masked are [`ElementValue::Missing`].
    ///
    /// # Errors
    /// Returns the errors of [`Array::load`] and [`Array::mask_bytes`], and those of `take`.
    pub fn for_each_scalar(&self, mut take: impl FnMut(ElementValue, bool) -> Result<()>) -> Result<()> {
        self.charge_element_visits()?;
        self.limits.charge_work(self.element_count().saturating_mul(SCALAR_COST))?;
        if self.is_padded() {
            return self.for_each_unpadded(&mut take);
        }
        let (size, is_by_field) = (to_usize(self.mask_bytes_per_element())?, self.mask.as_ref().is_some_and(Mask::is_by_field));
        for block in self.row_blocks(1 << 18) {
            let mask = block.mask_bytes()?;
            let bytes = block.read_bytes(Byteorder::NATIVE)?;
            let mut rest = &bytes[..];
            for i in 0..to_usize(block.element_count())? {
                let mut element = ElementValue::decode_packed(&self.datatype, &mut rest, &self.limits)?;
                let marks = mask.as_ref().and_then(|mask| mask.get(i * size..)).unwrap_or_default();
                if is_by_field {
                    element.apply_field_mask(&mut marks.iter());
                }
                take(element, !is_by_field && marks.first() == Some(&1))?;
            }
        }
        Ok(())
    }

    /// Walks through the array as nested lists: what inline data and JSON are made of.
    ///
    /// ```
    /// use trilith_array::array::{Array, FloatText, NestedEvent};
    /// let array = Array::from_slice(&[1i8, 2, 3, 4], &[2, 2])?;
    /// let mut steps = 0;
    /// array.for_each_nested(|_| { steps += 1; Ok(()) })?;
    /// assert_eq!(steps, 4 + 2 * 3);
    /// # Ok::<(), trilith_array::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`Array::for_each_scalar`].
    pub fn for_each_nested(&self, mut take: impl FnMut(NestedEvent) -> Result<()>) -> Result<()> {
        if self.is_empty() {
            return self.close_empty_axes(&mut take);
        }
        let mut index = vec![0u64; self.shape.len()];
        // Number of lists that begin before the next element.
        let mut opening = self.shape.len();
        self.for_each_scalar(|scalar, masked| {
            for _ in 0..opening {
                take(NestedEvent::Open)?;
            }
            take(if masked { NestedEvent::Masked } else { NestedEvent::Element(scalar) })?;
            opening = 0;
            for (at, len) in index.iter_mut().zip(&self.shape).rev() {
                *at += 1;
                if *at < *len {
                    break;
                }
                *at = 0;
                opening += 1;
            }
            for _ in 0..opening {
                take(NestedEvent::Close)?;
            }
            Ok(())
        })
    }

    /// The lists of an array without elements, down to its first axis of length 0.
    fn close_empty_axes(&self, take: &mut dyn FnMut(NestedEvent) -> Result<()>) -> Result<()> {
        let depth = self.shape.iter().position(|len| *len == 0).unwrap_or(0);
        let count = self.shape[..depth].iter().fold(1u64, |n, len| n.saturating_mul(*len));
        if count > self.limits.nodes {
            return Err(Limits::exceeded_error("nodes", self.limits.nodes, format_args!("{count} empty lists")));
        }
        for i in 0..count {
            let mut size = 1;
            let ends = self.shape[..depth].iter().rev().map(|len| {
                size *= len;
                size
            });
            let ends: Vec<u64> = ends.collect();
            for _ in ends.iter().filter(|size| i % **size == 0) {
                take(NestedEvent::Open)?;
            }
            take(NestedEvent::Open)?;
            take(NestedEvent::Close)?;
            for _ in ends.iter().filter(|size| (i + 1) % **size == 0) {
                take(NestedEvent::Close)?;
            }
        }
        Ok(())
    }

    /// The array as JSON: nested lists, masked elements `null`.
    ///
    /// # Errors
    /// Returns the errors of [`Array::for_each_scalar`], and [`ErrorKind::Io`](crate::ErrorKind::Io) if writing to
    /// `out` fails.
    pub fn write_json(&self, out: &mut dyn std::io::Write, floats: FloatText) -> Result<()> {
        let mut follows = false;
        self.for_each_nested(|step| {
            let comma = if follows && step != NestedEvent::Close { ", " } else { "" };
            follows = step != NestedEvent::Open;
            match step {
                NestedEvent::Open => write!(out, "{comma}["),
                NestedEvent::Close => write!(out, "]"),
                NestedEvent::Masked => write!(out, "{comma}null"),
                NestedEvent::Element(scalar) => write!(out, "{comma}{}", scalar.json(floats)),
            }
            .map_err(|e| Error::io("writing", e))
        })
    }
}
