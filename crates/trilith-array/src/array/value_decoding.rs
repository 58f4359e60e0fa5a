//! Declarations of files about stored numbers: scale, offset, missing values, other types of the same bytes; and
//! the conversion of stored elements to physical values.
//!
//! Each format expresses its declarations as one [`ValueDecoding`] for an array, or as one for each field of its
//! structures. All formats share this one rule, and `array/applied.rs` makes arrays of it.

use std::ops::Range;

use super::datatype::{Byteorder, Datatype};
use super::mask::Mask;
use super::string_check::{StringEncoding, end_strings};
use crate::bytes::{copy, to_usize};
use crate::error::{Error, Result};

/// A number that a file declares.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum DeclaredNumber {
    /// A whole number.
    Int(i128),
    /// A floating-point number.
    Float(f64),
}

impl DeclaredNumber {
    /// Returns the number that a text is, with blanks around it or not: GDAL writes numbers so.
    pub fn from_text(text: &str) -> Option<Self> {
        let text = text.trim();
        let whole = text.parse::<i128>().ok().map(Self::Int);
        whole.or_else(|| text.parse::<f64>().ok().map(Self::Float))
    }

    /// Returns the integer that it is, if an integer type has that.
    pub fn integer_in(self, datatype: &Datatype) -> Option<i128> {
        let (low, high) = datatype.integer_range()?;
        let whole = match self {
            Self::Int(n) => n,
            Self::Float(x) if x.fract() == 0.0 => x as i128,
            Self::Float(_) => return None,
        };
        (low..=high).contains(&whole).then_some(whole)
    }

    /// Returns the number as a 64-bit float, rounded if necessary.
    pub fn float(self) -> f64 {
        match self {
            Self::Int(n) => n as f64,
            Self::Float(x) => x,
        }
    }
}

/// A mark of a missing stored element.
#[derive(Debug, Clone, PartialEq)]
pub enum MissingRule {
    /// The number itself; NaN marks every NaN.
    Equal(DeclaredNumber),
    /// Every number that is smaller.
    Below(DeclaredNumber),
    /// Every number that is larger.
    Above(DeclaredNumber),
    /// A byte that is neither `T` nor `F`.
    NotBoolean,
    /// A string that is equal to this one, apart from blanks around it.
    Text(Vec<u8>),
    /// A member of the structs that the element is.
    Member {
        /// Bytes of a packed struct.
        size: usize,
        /// Bytes of the flags of a struct.
        flags: usize,
        /// The bytes of the member within the packed struct.
        at: Range<usize>,
        /// The flags of the member within those of the struct.
        flag: Range<usize>,
        /// The datatype of the member.
        datatype: Datatype,
        /// The mark of a missing value of the member.
        missing: Box<MissingRule>,
    },
}

/// The interpretation of a stored element.
#[derive(Debug, Clone, PartialEq)]
pub enum ValueTransform {
    /// Itself.
    Identity,
    /// An element of another type of the same size, with the bits of the stored one.
    Reinterpret(Datatype),
    /// The integer of the other sign, half the range away: FITS stores unsigned integers so.
    SignFlip(Datatype),
    /// `stored * scale + offset`, computed in the type that comes out: `float32`, `float64` or `complex128`.
    Linear {
        /// The factor of the stored number.
        scale: f64,
        /// The summand after the multiplication.
        offset: f64,
        /// The type of the result.
        into: Datatype,
    },
    /// Like `Linear`, in 64-bit floats, with a scale and an offset for each place along one axis. Requires a whole array.
    Each {
        /// Scale and offset of each place.
        factors: Vec<(f64, f64)>,
        /// Number of elements at each place before the next one.
        inner: u64,
    },
    /// Like `Linear`, computed in integers for an integer type.
    LinearInteger {
        /// The factor of the stored number.
        scale: i64,
        /// The summand after the multiplication.
        offset: i64,
        /// The type of the result.
        into: Datatype,
    },
    /// A boolean: `T` is true.
    Boolean,
    /// Truth values, the highest bit of a byte first.
    Flags {
        /// The shape of the booleans of one element.
        shape: Vec<u64>,
    },
    /// Text that ends at its first NUL.
    Text,
    /// Structs whose strings in these bytes of a packed element end at their first NUL.
    StringEnds(Vec<Range<usize>>),
    /// Text of a declared encoding, as UTF-8. A string of other bytes stays unchanged.
    DecodedText(StringEncoding),
    /// Text whose trailing blanks do not count.
    TrimmedText,
    /// A number written as text, with this number of decimals if it has no point: `int16`, `int32`, `int64` or `float64`. A blank
    /// text is 0.
    ParsedText {
        /// The factor of the number in the text.
        scale: f64,
        /// The summand after the multiplication.
        offset: f64,
        /// Number of decimals of a text without a point.
        decimals: i32,
        /// The type of the result.
        into: Datatype,
    },
}

/// The declarations of a file about an array, or about one field of its structures.
#[derive(Debug, Clone, PartialEq)]
pub struct ValueDecoding {
    /// The conversion of a stored element.
    pub transform: ValueTransform,
    /// The marks of missing stored elements.
    pub missing_rules: Vec<MissingRule>,
}

impl ValueDecoding {
    /// Elements mean themselves.
    pub const IDENTITY: Self = Self { transform: ValueTransform::Identity, missing_rules: Vec::new() };

    /// Returns `true` if there is nothing to do.
    pub fn is_stored(&self) -> bool {
        self.transform == ValueTransform::Identity && self.missing_rules.is_empty()
    }

    /// Returns `true` if the elements keep their values, perhaps with another sign or as shorter strings.
    pub fn is_identity_for(&self) -> bool {
        self.missing_rules.is_empty()
            && matches!(self.transform, ValueTransform::Identity | ValueTransform::SignFlip(_) | ValueTransform::Text)
    }

    /// Datatype and shape of what a field means.
    pub fn type_of(&self, datatype: &Datatype, shape: &[u64]) -> (Datatype, Vec<u64>) {
        let datatype = match &self.transform {
            ValueTransform::Identity | ValueTransform::StringEnds(_) | ValueTransform::Text | ValueTransform::TrimmedText => {
                datatype.packed(Byteorder::NATIVE)
            }
            ValueTransform::Reinterpret(into)
            | ValueTransform::SignFlip(into)
            | ValueTransform::Linear { into, .. }
            | ValueTransform::LinearInteger { into, .. }
            | ValueTransform::ParsedText { into, .. } => into.clone(),
            ValueTransform::DecodedText(encoding) => {
                let width = u32::try_from(datatype.item_size()).unwrap_or(u32::MAX);
                Datatype::Utf8(width.saturating_mul(encoding.expansion()))
            }
            ValueTransform::Each { .. } => Datatype::Float64,
            ValueTransform::Boolean => Datatype::Bool8,
            ValueTransform::Flags { shape } => return (Datatype::Bool8, shape.clone()),
        };
        (datatype, shape.to_vec())
    }
}

/// A field, or the whole element.
#[derive(Debug)]
pub(super) struct FieldDecoding {
    pub meaning: ValueDecoding,
    pub stored: Datatype,
    /// Bytes of a packed element before and after, and of the mask.
    pub from: Range<usize>,
    pub to: Range<usize>,
    pub mask_index: Range<usize>,
}

/// Runs `$body` with `$values`, the stored numbers in the byte order of this machine, and `$number` as their type.
macro_rules! stored_numbers {
    ($datatype:expr, $bytes:expr, |$values:ident: $number:ident| $body:expr, else $other:expr) => {{
        macro_rules! of {
            ($type:ty) => {{
                #[allow(dead_code, reason = "not every body names the type")]
                type $number = $type;
                let $values = $bytes.as_chunks::<{ size_of::<$type>() }>().0.iter().map(|b| <$type>::from_ne_bytes(*b));
                $body
            }};
        }
        match $datatype {
            Datatype::Int8 => of!(i8),
            Datatype::Int16 => of!(i16),
            Datatype::Int32 => of!(i32),
            Datatype::Int64 => of!(i64),
            Datatype::Uint8 | Datatype::Bool8 => of!(u8),
            Datatype::Uint16 => of!(u16),
            Datatype::Uint32 => of!(u32),
            Datatype::Uint64 => of!(u64),
            Datatype::Float32 => of!(f32),
            Datatype::Float64 => of!(f64),
            _ => $other,
        }
    }};
}

impl FieldDecoding {
    /// Values out of stored ones that are side by side, the first of which has this number in the array.
    pub(super) fn convert_elements(&self, first: u64, from: &[u8], to: &mut [u8]) -> Result<()> {
        match &self.meaning.transform {
            ValueTransform::Identity | ValueTransform::Reinterpret(_) => _ = copy(from, to),
            ValueTransform::SignFlip(_) => {
                copy(from, to);
                let size = to_usize(self.stored.item_size())?.max(1);
                let highest = if cfg!(target_endian = "little") { size - 1 } else { 0 };
                to.iter_mut().skip(highest).step_by(size).for_each(|byte| *byte ^= 0x80);
            }
            ValueTransform::Linear { scale, offset, into } => {
                apply_linear_scaling(&self.stored, (*scale, *offset), into, from, to);
                self.fill_missing_with_nan(from, to, into);
            }
            ValueTransform::Each { factors, inner } => {
                apply_scaling_per_index(&self.stored, (factors, *inner, first), from, to);
                self.fill_missing_with_nan(from, to, &Datatype::Float64);
            }
            ValueTransform::LinearInteger { scale, offset, into } => {
                // Elements that are missing have no value that could be too large.
                let mut marks = vec![0; self.mark_field(from)];
                self.mark_missing(from, &mut marks)?;
                decode_linear_integer(&self.stored, (*scale, *offset), into, (from, to), &marks)?;
            }
            ValueTransform::Boolean => to.iter_mut().zip(from).for_each(|(to, from)| *to = u8::from(*from == b'T')),
            ValueTransform::Flags { .. } => {
                for (i, bit) in to.iter_mut().enumerate() {
                    *bit = from.get(i / 8).map_or(0, |byte| byte >> (7 - i % 8) & 1);
                }
            }
            ValueTransform::StringEnds(strings) => {
                copy(from, to);
                end_strings(to, to_usize(self.stored.packed_size())?, strings);
            }
            ValueTransform::DecodedText(encoding) => {
                let width = to_usize(self.stored.item_size())?.max(1);
                let wide = width.saturating_mul(encoding.expansion() as usize);
                for (text, to) in from.chunks_exact(width).zip(to.chunks_exact_mut(wide)) {
                    let end = text.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
                    let text = encoding.to_utf8(text.get(..end).unwrap_or(text));
                    to.fill(0);
                    to.iter_mut().zip(text.iter()).for_each(|(to, from)| *to = *from);
                }
            }
            ValueTransform::Text => {
                copy_trimmed_strings(&self.stored, from, to, |text| memchr::memchr(0, text).unwrap_or(text.len()))?;
            }
            ValueTransform::TrimmedText => {
                copy_trimmed_strings(&self.stored, from, to, |text| {
                    let end = memchr::memchr(0, text).unwrap_or(text.len());
                    text.get(..end).unwrap_or_default().trim_ascii_end().len()
                })?;
            }
            ValueTransform::ParsedText { scale, offset, decimals, into } => {
                let width = to_usize(self.stored.item_size())?.max(1);
                let size = to_usize(into.item_size())?.max(1);
                for (text, to) in from.chunks_exact(width).zip(to.chunks_exact_mut(size)) {
                    let missing = self.meaning.missing_rules.iter().any(|missing| missing.is_text(text));
                    let number = if missing { ParsedNumber::Integer(0) } else { parse_fits_number(text, *decimals)? };
                    number.store_physical(*scale, *offset, into, to).ok_or_else(|| not_a_number(text))?;
                }
            }
        }
        Ok(())
    }

    /// Floats whose stored numbers are missing become NaN.
    fn fill_missing_with_nan(&self, from: &[u8], to: &mut [u8], into: &Datatype) {
        if self.meaning.missing_rules.is_empty() {
            return;
        }
        let mut marks = vec![0; self.mark_field(from)];
        let Ok(()) = self.mark_missing(from, &mut marks) else { return };
        let nan: &[u8] = match into {
            Datatype::Float32 => &f32::NAN.to_ne_bytes(),
            Datatype::Float64 => &f64::NAN.to_ne_bytes(),
            _ => return,
        };
        for (to, _) in to.chunks_exact_mut(nan.len()).zip(marks).filter(|(_, mark)| *mark != 0) {
            to.copy_from_slice(nan);
        }
    }

    fn mark_field(&self, from: &[u8]) -> usize {
        from.len() / usize::try_from(self.stored.item_size()).unwrap_or(1).max(1)
    }

    /// 1 for each stored element that is missing, else 0.
    pub(super) fn mark_missing(&self, from: &[u8], marks: &mut [u8]) -> Result<()> {
        marks.fill(0);
        self.meaning.missing_rules.iter().try_for_each(|missing| missing.mark_missing(&self.stored, from, marks))
    }
}

impl MissingRule {
    /// Adds 1 for each stored element that it marks.
    fn mark_missing(&self, stored: &Datatype, from: &[u8], marks: &mut [u8]) -> Result<()> {
        match self {
            MissingRule::NotBoolean => {
                marks.iter_mut().zip(from).for_each(|(mark, byte)| *mark |= u8::from(!matches!(byte, b'T' | b'F')));
            }
            MissingRule::Text(_) => {
                let width = to_usize(stored.item_size())?.max(1);
                let texts = from.chunks_exact(width);
                marks.iter_mut().zip(texts).for_each(|(mark, text)| *mark |= u8::from(self.is_text(text)));
            }
            MissingRule::Member { size, flags, at, flag, datatype, missing } => {
                for (from, marks) in from.chunks_exact((*size).max(1)).zip(marks.chunks_exact_mut((*flags).max(1))) {
                    if let (Some(from), Some(marks)) = (from.get(at.clone()), marks.get_mut(flag.clone())) {
                        missing.mark_missing(datatype, from, marks)?;
                    }
                }
            }
            MissingRule::Equal(n) | MissingRule::Below(n) | MissingRule::Above(n) => {
                stored_numbers!(stored, from, |values: Number| {
                    let bound = <Number as NumericBound>::from_declared(*n, self);
                    let is = |value: Number| match (self, bound) {
                        (_, ComparedNumber::None) => false,
                        (_, ComparedNumber::All) => true,
                        (MissingRule::Equal(_), ComparedNumber::With(n)) => value == n || value.is_void() && n.is_void(),
                        (MissingRule::Below(_), ComparedNumber::With(n)) => value < n,
                        (_, ComparedNumber::With(n)) => value > n,
                    };
                    marks.iter_mut().zip(values).for_each(|(mark, value)| *mark |= u8::from(is(value)));
                }, else {});
            }
        }
        Ok(())
    }

    fn is_text(&self, text: &[u8]) -> bool {
        let Self::Text(null) = self else { return false };
        let trimmed = |text: &[u8]| -> Vec<u8> {
            let end = memchr::memchr(0, text).unwrap_or(text.len());
            text.get(..end).unwrap_or_default().trim_ascii().to_vec()
        };
        trimmed(text) == trimmed(null)
    }
}

impl DeclaredNumber {
    /// The mask of the elements that are this number; `None` if the datatype does not have it.
    pub fn mask_rule(self, datatype: &Datatype) -> Option<Mask> {
        if datatype.is_float() {
            return Some(Mask::Float(self.float()));
        }
        let same = MissingRule::Equal(self);
        stored_numbers!(datatype, [], |_values: Number| {
            match <Number as NumericBound>::from_declared(self, &same) {
                ComparedNumber::With(number) => Some(Mask::Integer(number as i128)),
                ComparedNumber::None | ComparedNumber::All => None,
            }
        }, else None)
    }
}

/// A declared number as one of the type of the stored numbers, for a test.
#[derive(Debug, Clone, Copy, PartialEq)]
enum ComparedNumber<T> {
    /// The test is true of no number of the type.
    None,
    /// The test is true of every number of the type.
    All,
    /// Stored numbers are compared with this one.
    With(T),
}

/// Numbers that are compared with a declared one.
trait NumericBound: Sized + Copy + PartialOrd {
    fn from_declared(declared: DeclaredNumber, test: &MissingRule) -> ComparedNumber<Self>;

    fn is_void(self) -> bool {
        false
    }
}

macro_rules! bounds {
    ($($type:ty),*) => {$(
        impl NumericBound for $type {
            fn from_declared(declared: DeclaredNumber, test: &MissingRule) -> ComparedNumber<Self> {
                let n = match declared {
                    DeclaredNumber::Int(n) => n,
                    DeclaredNumber::Float(x) if x.is_nan() => return ComparedNumber::None,
                    DeclaredNumber::Float(x) => match test {
                        MissingRule::Equal(_) if x.fract() != 0.0 => return ComparedNumber::None,
                        MissingRule::Below(_) => x.ceil() as i128,
                        _ => x.floor() as i128,
                    },
                };
                match (Self::try_from(n), test) {
                    (Ok(n), _) => ComparedNumber::With(n),
                    // A limit beyond the numbers of the type is on one side of all of them.
                    (Err(_), MissingRule::Below(_)) if n > 0 => ComparedNumber::All,
                    (Err(_), MissingRule::Above(_)) if n < 0 => ComparedNumber::All,
                    (Err(_), _) => ComparedNumber::None,
                }
            }
        }
    )*};
}

bounds!(i8, i16, i32, i64, u8, u16, u32, u64);

impl NumericBound for f32 {
    fn from_declared(declared: DeclaredNumber, _: &MissingRule) -> ComparedNumber<Self> {
        ComparedNumber::With(declared.float() as Self)
    }

    fn is_void(self) -> bool {
        self.is_nan()
    }
}

impl NumericBound for f64 {
    fn from_declared(declared: DeclaredNumber, _: &MissingRule) -> ComparedNumber<Self> {
        ComparedNumber::With(declared.float())
    }

    fn is_void(self) -> bool {
        self.is_nan()
    }
}

/// `stored * scale + offset`; an offset of 0 is not added, so that -0 stays.
fn apply_linear_scaling(stored: &Datatype, (scale, offset): (f64, f64), into: &Datatype, from: &[u8], to: &mut [u8]) {
    macro_rules! into {
        ($float:ty, $values:ident) => {{
            let (scale, offset) = (scale as $float, offset as $float);
            let to = to.as_chunks_mut::<{ size_of::<$float>() }>().0.iter_mut();
            if offset == 0.0 {
                to.zip($values).for_each(|(to, n)| *to = (n as $float * scale).to_ne_bytes());
            } else {
                to.zip($values).for_each(|(to, n)| *to = (n as $float * scale + offset).to_ne_bytes());
            }
        }};
    }
    match (stored, into) {
        // The offset is a real number.
        (Datatype::Complex64 | Datatype::Complex128, _) => {
            let halves: Vec<f64> = match stored {
                Datatype::Complex64 => from.as_chunks().0.iter().map(|b| f32::from_ne_bytes(*b).into()).collect(),
                _ => from.as_chunks().0.iter().map(|b| f64::from_ne_bytes(*b)).collect(),
            };
            let to = to.as_chunks_mut::<8>().0.iter_mut();
            for (i, (to, half)) in to.zip(halves).enumerate() {
                *to = (half * scale + if i % 2 == 0 { offset } else { 0.0 }).to_ne_bytes();
            }
        }
        (Datatype::Int64, Datatype::Float64) if scale == 1.0 && is_integer(offset) => {
            let values = from.as_chunks().0.iter().map(|b| i64::from_ne_bytes(*b).into());
            add_integer(values, offset, to);
        }
        (Datatype::Uint64, Datatype::Float64) if scale == 1.0 && is_integer(offset) => {
            let values = from.as_chunks().0.iter().map(|b| u64::from_ne_bytes(*b).into());
            add_integer(values, offset, to);
        }
        (_, Datatype::Float32) => stored_numbers!(stored, from, |values: Number| into!(f32, values), else {}),
        _ => stored_numbers!(stored, from, |values: Number| into!(f64, values), else {}),
    }
}

/// Returns `true` if an offset other than 0 is an integer of at most 64 bits, or close to it.
fn is_integer(offset: f64) -> bool {
    offset != 0.0 && offset.fract() == 0.0 && offset.abs() < 1e20
}

/// `stored + offset`, rounded once: integers of 64 bits may have more digits than a float.
fn add_integer(values: impl Iterator<Item = i128>, offset: f64, to: &mut [u8]) {
    /// The integers up to this one are floats.
    const MAX_EXACT: i128 = 1 << 53;
    let sum = |n: i128| if n.abs() <= MAX_EXACT { n as f64 + offset } else { (n + offset as i128) as f64 };
    to.as_chunks_mut::<8>().0.iter_mut().zip(values).for_each(|(to, n)| *to = sum(n).to_ne_bytes());
}

/// `stored * scale + offset` with the factors of the place of each element.
fn apply_scaling_per_index(stored: &Datatype, (factors, inner, first): (&[(f64, f64)], u64, u64), from: &[u8], to: &mut [u8]) {
    let count = (factors.len() as u64).max(1);
    stored_numbers!(stored, from, |values: Number| {
        for ((to, n), number) in to.as_chunks_mut::<8>().0.iter_mut().zip(values).zip(first..) {
            let place = usize::try_from(number / inner.max(1) % count).unwrap_or(0);
            let (scale, offset) = factors.get(place).copied().unwrap_or((1.0, 0.0));
            *to = (n as f64 * scale + offset).to_ne_bytes();
        }
    }, else {});
}

fn decode_linear_integer(
    stored: &Datatype,
    (scale, offset): (i64, i64),
    into: &Datatype,
    (from, to): (&[u8], &mut [u8]),
    marks: &[u8],
) -> Result<()> {
    let (scale, offset) = (i128::from(scale), i128::from(offset));
    let size = to_usize(into.item_size())?.max(1);
    stored_numbers!(stored, from, |values: Stored| {
        for ((to, n), mark) in to.chunks_exact_mut(size).zip(values).zip(marks) {
            let value = (n as i128).checked_mul(scale).and_then(|n| n.checked_add(offset));
            let done = value.and_then(|value| ParsedNumber::Integer(value).store_physical(1.0, 0.0, into, to));
            if done.is_none() && *mark == 0 {
                let message = format!("{n} * {scale} + {offset} is beyond {into}, the type of elements and factors");
                return Err(Error::unsupported(message).hint("--stored (Python: stored=True) gives the stored numbers"));
            }
        }
    }, else {});
    Ok(())
}

/// Strings up to the end that `end` returns, filled with NUL.
fn copy_trimmed_strings(stored: &Datatype, from: &[u8], to: &mut [u8], end: impl Fn(&[u8]) -> usize) -> Result<()> {
    let width = to_usize(stored.item_size())?.max(1);
    for (from, to) in from.chunks_exact(width).zip(to.chunks_exact_mut(width)) {
        let text = from.get(..end(from)).unwrap_or_default();
        copy(text, to);
        to.iter_mut().skip(text.len()).for_each(|byte| *byte = 0);
    }
    Ok(())
}

/// A number that was written as text.
#[derive(Debug, Clone, Copy)]
enum ParsedNumber {
    Integer(i128),
    Float(f64),
}

impl ParsedNumber {
    /// Puts it down as an element of a type; None if the type does not have it.
    fn store_physical(self, scale: f64, offset: f64, into: &Datatype, to: &mut [u8]) -> Option<()> {
        macro_rules! put {
            ($type:ty) => {{
                let Self::Integer(n) = self else { return None };
                to.copy_from_slice(&<$type>::try_from(n).ok()?.to_ne_bytes());
            }};
        }
        match into {
            Datatype::Int8 => put!(i8),
            Datatype::Int16 => put!(i16),
            Datatype::Int32 => put!(i32),
            Datatype::Int64 => put!(i64),
            Datatype::Uint8 => put!(u8),
            Datatype::Uint16 => put!(u16),
            Datatype::Uint32 => put!(u32),
            Datatype::Uint64 => put!(u64),
            _ => {
                let value = match self {
                    Self::Integer(n) => n as f64,
                    Self::Float(x) => x,
                };
                let value = if (scale, offset) == (1.0, 0.0) { value } else { value * scale + offset };
                to.copy_from_slice(&value.to_ne_bytes());
            }
        }
        Some(())
    }
}

/// Returns the number of a string in a FITS table: `12`, `-1.5`, `.5`, `2.E3`, `1.0D-7`, `1.0-7`; blanks are 0.
fn parse_fits_number(text: &[u8], decimals: i32) -> Result<ParsedNumber> {
    let end = memchr::memchr(0, text).unwrap_or(text.len());
    let trimmed = text.get(..end).unwrap_or_default().trim_ascii();
    if trimmed.is_empty() {
        return Ok(ParsedNumber::Integer(0));
    }
    let text = std::str::from_utf8(trimmed).map_err(|_| not_a_number(trimmed))?;
    if let Ok(n) = text.parse::<i128>() {
        return Ok(if decimals == 0 { ParsedNumber::Integer(n) } else { ParsedNumber::Float(n as f64 / 10f64.powi(decimals)) });
    }
    if !text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'+' | b'-' | b'.' | b'E' | b'D' | b'e' | b'd')) {
        return Err(not_a_number(trimmed));
    }
    let mut digits = text.replace(['D', 'd', 'e'], "E");
    // Fortran leaves the letter out where the exponent has three digits.
    let sign = digits.rfind(['+', '-']).filter(|at| *at > 0 && !digits.contains('E'));
    if let Some(at) = sign {
        digits.insert(at, 'E');
    }
    let value = digits.parse::<f64>().map_err(|_| not_a_number(trimmed))?;
    Ok(ParsedNumber::Float(if digits.contains('.') { value } else { value / 10f64.powi(decimals) }))
}

#[cold]
fn not_a_number(text: &[u8]) -> Error {
    Error::malformed(format!("cannot read \"{}\" as a number", text.escape_ascii()))
        .hint("--stored (Python: stored=True) gives the stored text")
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop")]
mod tests {
    use super::*;

    /// Returns which stored numbers a rule marks as missing.
    fn marks(rule: &MissingRule, datatype: &Datatype, bytes: &[u8], count: usize) -> Vec<u8> {
        let mut marks = vec![0; count];
        rule.mark_missing(datatype, bytes, &mut marks).unwrap();
        marks
    }

    #[test]
    fn limit_beyond_integers_marks_all_or_none() {
        use DeclaredNumber::{Float, Int};
        let (low, high) = (i16::MIN.to_ne_bytes(), i16::MAX.to_ne_bytes());
        let signed = [low, [0, 0], high].concat();
        for above in [Int(32_768), Int(i128::MAX), Float(32_767.5), Float(1e300), Float(f64::INFINITY)] {
            assert_eq!(marks(&MissingRule::Below(above), &Datatype::Int16, &signed, 3), [1; 3], "below {above:?}");
            assert_eq!(marks(&MissingRule::Above(above), &Datatype::Int16, &signed, 3), [0; 3], "above {above:?}");
            assert_eq!(marks(&MissingRule::Below(above), &Datatype::Uint8, &[0, 255], 2), [1; 2], "below {above:?}");
        }
        for below in [Int(-32_769), Int(i128::MIN), Float(-32_768.5), Float(-1e300), Float(f64::NEG_INFINITY)] {
            assert_eq!(marks(&MissingRule::Above(below), &Datatype::Int16, &signed, 3), [1; 3], "above {below:?}");
            assert_eq!(marks(&MissingRule::Below(below), &Datatype::Int16, &signed, 3), [0; 3], "below {below:?}");
            assert_eq!(marks(&MissingRule::Above(below), &Datatype::Uint8, &[0, 255], 2), [1; 2], "above {below:?}");
        }
        // The largest and the smallest number are valid limits themselves.
        assert_eq!(marks(&MissingRule::Below(Int(32_767)), &Datatype::Int16, &signed, 3), [1, 1, 0]);
        assert_eq!(marks(&MissingRule::Above(Int(-32_768)), &Datatype::Int16, &signed, 3), [0, 1, 1]);
        assert_eq!(marks(&MissingRule::Below(Float(f64::NAN)), &Datatype::Int16, &signed, 3), [0; 3]);
    }
}
