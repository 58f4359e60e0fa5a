//! The type of one element: [`Datatype`].

use std::fmt;
use std::sync::Arc;

use super::struct_type::{Field, StructType};
pub use crate::byteorder::Byteorder;
use crate::error::{Error, Result};

/// The type of one element, with the names of the ASDF standard (ndarray-1.1.0) if it has them.
///
/// ```
/// use trilith_array::array::Datatype;
/// assert_eq!(Datatype::from_name("float32"), Some(Datatype::Float32));
/// assert_eq!(Datatype::Ucs4(5).item_size(), 20);
/// assert_eq!(Datatype::Ucs4(5).to_string(), r#"["ucs4", 5]"#);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Datatype {
    /// Signed integer, 8 bits.
    Int8,
    /// Signed integer, 16 bits.
    Int16,
    /// Signed integer, 32 bits.
    Int32,
    /// Signed integer, 64 bits.
    Int64,
    /// Unsigned integer, 8 bits.
    Uint8,
    /// Unsigned integer, 16 bits.
    Uint16,
    /// Unsigned integer, 32 bits.
    Uint32,
    /// Unsigned integer, 64 bits.
    Uint64,
    /// IEEE 754 half.
    Float16,
    /// IEEE 754 single.
    Float32,
    /// IEEE 754 double.
    Float64,
    /// The 80-bit x86 number in 16 bytes that FINF drafts wrote; see [`Array::load_as`](super::Array::load_as).
    Float128,
    /// A complex number of two half-precision floats (re, im); Dudley's `c4`.
    Complex32,
    /// A complex number of two single-precision floats (re, im).
    Complex64,
    /// A complex number of two double-precision floats (re, im).
    Complex128,
    /// A complex number of two [`Datatype::Float128`] (re, im).
    Complex256,
    /// A boolean in one byte: 0 is false, anything else is true.
    Bool8,
    /// Text of this many bytes, padded with NUL.
    Ascii(u32),
    /// Text of this many UTF-32 units, padded with NUL.
    Ucs4(u32),
    /// UTF-8 text of this many bytes (Dudley's `U1`).
    Utf8(u32),
    /// Text of this many 16-bit units (Dudley's `U2`).
    Ucs2(u32),
    /// Named fields, one after the other or at stated offsets.
    Struct(Arc<StructType>),
}

/// The units of bytes that make up an element, for kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ByteUnit {
    /// Bytes without an order, as in ASCII text.
    Bytes,
    /// A boolean of one byte.
    Bool,
    /// Words of this many bytes (2, 4, 8 or 16) that have a byte order.
    Word(usize),
}

/// The names without a length, and what they name.
const NAMED_TYPES: [(&str, Datatype); 17] = [
    ("int8", Datatype::Int8),
    ("int16", Datatype::Int16),
    ("int32", Datatype::Int32),
    ("int64", Datatype::Int64),
    ("uint8", Datatype::Uint8),
    ("uint16", Datatype::Uint16),
    ("uint32", Datatype::Uint32),
    ("uint64", Datatype::Uint64),
    ("float16", Datatype::Float16),
    ("float32", Datatype::Float32),
    ("float64", Datatype::Float64),
    ("float128", Datatype::Float128),
    ("complex32", Datatype::Complex32),
    ("complex64", Datatype::Complex64),
    ("complex128", Datatype::Complex128),
    ("complex256", Datatype::Complex256),
    ("bool8", Datatype::Bool8),
];

impl Datatype {
    /// The datatype of this name; text types have a length too: [`Datatype::with_length`].
    pub fn from_name(name: &str) -> Option<Self> {
        NAMED_TYPES.iter().find(|(known, _)| *known == name).map(|(_, datatype)| datatype.clone())
    }

    /// The number of a kind, by the letter that numpy and Dudley have for it, with this number of bytes.
    #[doc(hidden)]
    pub fn numeric(kind: char, size: u64) -> Option<Self> {
        Some(match (kind, size) {
            ('i', 1) => Self::Int8,
            ('i', 2) => Self::Int16,
            ('i', 4) => Self::Int32,
            ('i', 8) => Self::Int64,
            ('u', 1) => Self::Uint8,
            ('u', 2) => Self::Uint16,
            ('u', 4) => Self::Uint32,
            ('u', 8) => Self::Uint64,
            ('f', 2) => Self::Float16,
            ('f', 4) => Self::Float32,
            ('f', 8) => Self::Float64,
            ('f', 16) => Self::Float128,
            ('c', 4) => Self::Complex32,
            ('c', 8) => Self::Complex64,
            ('c', 16) => Self::Complex128,
            ('c', 32) => Self::Complex256,
            ('b', 1) => Self::Bool8,
            _ => return None,
        })
    }

    /// Returns the letter of the kind of a number: `i`, `u`, `f`, `c`, or `b` of a boolean.
    #[doc(hidden)]
    pub fn kind_char(&self) -> Option<char> {
        match self {
            Self::Bool8 => Some('b'),
            _ if self.is_signed() => Some('i'),
            _ if self.is_integer() => Some('u'),
            _ if self.is_float() => Some('f'),
            _ if self.is_complex() => Some('c'),
            _ => None,
        }
    }

    /// The names that [`Datatype::from_name`] and [`Datatype::with_length`] know, for messages.
    pub fn known_names() -> impl Iterator<Item = &'static str> {
        NAMED_TYPES.iter().map(|(name, _)| *name).chain(["ascii", "ucs4", "utf8", "ucs2"])
    }

    /// The text type `ascii`, `ucs4`, `utf8` or `ucs2` of `length` units.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) for another name,
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for a length of 2³² or more.
    pub fn with_length(name: &str, length: u64) -> Result<Self> {
        let short = u32::try_from(length)
            .map_err(|_| Error::unsupported(format!("text elements of {length} units, at most 4294967295 are possible")))?;
        match name {
            "ascii" => Ok(Self::Ascii(short)),
            "ucs4" => Ok(Self::Ucs4(short)),
            "utf8" => Ok(Self::Utf8(short)),
            "ucs2" => Ok(Self::Ucs2(short)),
            _ => Err(Error::malformed(format!("unknown text datatype {name:?}, expected ascii or ucs4"))),
        }
    }

    /// The name in the ASDF standard, without the length of text; `struct` for structured types.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Ascii(_) => "ascii",
            Self::Ucs4(_) => "ucs4",
            Self::Utf8(_) => "utf8",
            Self::Ucs2(_) => "ucs2",
            Self::Struct(_) => "struct",
            plain => NAMED_TYPES.iter().find(|(_, datatype)| datatype == plain).map_or("", |(name, _)| name),
        }
    }

    /// Checks that elements are not wider than the `len` bytes of the file that declares them. In a smaller file, elements that
    /// were never written may have up to a mebibyte.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for wider elements.
    #[doc(hidden)]
    pub fn check_width(&self, len: u64) -> Result<()> {
        const WIDE: u64 = 1 << 20;
        let size = self.item_size();
        if size > len.max(WIDE) {
            return Err(Error::unsupported(format!("elements of {size} bytes, more than the {len} of the file")));
        }
        Ok(())
    }

    /// Number of bytes of one stored element.
    pub fn item_size(&self) -> u64 {
        match self {
            Self::Int8 | Self::Uint8 | Self::Bool8 => 1,
            Self::Int16 | Self::Uint16 | Self::Float16 => 2,
            Self::Int32 | Self::Uint32 | Self::Float32 | Self::Complex32 => 4,
            Self::Int64 | Self::Uint64 | Self::Float64 | Self::Complex64 => 8,
            Self::Float128 | Self::Complex128 => 16,
            Self::Complex256 => 32,
            Self::Ascii(n) | Self::Utf8(n) => u64::from(*n),
            Self::Ucs2(n) => 2 * u64::from(*n),
            Self::Ucs4(n) => 4 * u64::from(*n),
            Self::Struct(fields) => fields.item_size(),
        }
    }

    /// Bytes that one element takes without padding between fields.
    pub fn packed_size(&self) -> u64 {
        match self {
            Self::Struct(fields) => fields.packed_size(),
            plain => plain.item_size(),
        }
    }

    /// The fields of a structured type.
    pub fn as_struct(&self) -> Option<&StructType> {
        match self {
            Self::Struct(fields) => Some(fields),
            _ => None,
        }
    }

    /// Returns `true` if elements are signed or unsigned integers.
    pub fn is_integer(&self) -> bool {
        matches!(
            self,
            Self::Int8 | Self::Int16 | Self::Int32 | Self::Int64 | Self::Uint8 | Self::Uint16 | Self::Uint32 | Self::Uint64
        )
    }

    /// Returns `true` if elements are signed integers.
    #[doc(hidden)]
    pub fn is_signed(&self) -> bool {
        matches!(self, Self::Int8 | Self::Int16 | Self::Int32 | Self::Int64)
    }

    /// The smallest and the largest number of a type of whole numbers.
    #[doc(hidden)]
    pub fn integer_range(&self) -> Option<(i128, i128)> {
        let most = 1i128 << (8 * self.item_size()).min(64);
        self.is_integer().then_some(if self.is_signed() { (-most / 2, most / 2 - 1) } else { (0, most - 1) })
    }

    /// Returns `true` if elements are real floating-point numbers.
    pub fn is_float(&self) -> bool {
        matches!(self, Self::Float16 | Self::Float32 | Self::Float64 | Self::Float128)
    }

    /// Returns `true` if elements are complex numbers.
    pub fn is_complex(&self) -> bool {
        matches!(self, Self::Complex32 | Self::Complex64 | Self::Complex128 | Self::Complex256)
    }

    /// Returns `true` if elements are text.
    pub fn is_text(&self) -> bool {
        matches!(self, Self::Ascii(_) | Self::Ucs4(_) | Self::Utf8(_) | Self::Ucs2(_))
    }

    /// Returns the type as this library stores it when it copies: structs packed, every field in `order`.
    pub fn packed(&self, order: Byteorder) -> Self {
        match self {
            Self::Struct(fields) => Self::Struct(Arc::new(fields.packed(order))),
            plain => plain.clone(),
        }
    }

    /// Returns `true` if both mean the same values, whatever byte order, padding and offsets their fields have.
    pub fn is_equivalent(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Struct(a), Self::Struct(b)) => a.is_equivalent(b),
            (a, b) => a == b,
        }
    }

    /// The type of a mask for elements of this type: a boolean for each value, in structures of the same fields.
    ///
    /// # Errors
    /// Returns the errors of [`StructType::packed_from`].
    #[doc(hidden)]
    pub fn flags(&self) -> Result<Self> {
        // Recursion is limited with the nesting of structs.
        let Self::Struct(fields) = self else { return Ok(Self::Bool8) };
        let flags = fields.fields().iter().map(|field| {
            let made = Field { name: field.name.clone(), ..Field::without_name(field.datatype.flags()?, Byteorder::NATIVE) };
            Ok(made.with_shape(field.shape.clone()))
        });
        Ok(Self::Struct(Arc::new(StructType::packed_from(flags.collect::<Result<_>>()?)?)))
    }

    /// Returns the unit of bytes that makes up an element. A struct has none: its fields have.
    pub(super) fn byte_unit(&self) -> ByteUnit {
        match self {
            Self::Bool8 => ByteUnit::Bool,
            Self::Int16 | Self::Uint16 | Self::Float16 | Self::Complex32 | Self::Ucs2(_) => ByteUnit::Word(2),
            Self::Int32 | Self::Uint32 | Self::Float32 | Self::Complex64 | Self::Ucs4(_) => ByteUnit::Word(4),
            Self::Int64 | Self::Uint64 | Self::Float64 | Self::Complex128 => ByteUnit::Word(8),
            Self::Float128 | Self::Complex256 => ByteUnit::Word(16),
            Self::Int8 | Self::Uint8 | Self::Ascii(_) | Self::Utf8(_) | Self::Struct(_) => ByteUnit::Bytes,
        }
    }
}

impl fmt::Display for Datatype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ascii(n) | Self::Ucs4(n) | Self::Utf8(n) | Self::Ucs2(n) => write!(f, "[\"{}\", {n}]", self.name()),
            Self::Struct(fields) => fields.fmt(f),
            plain => f.write_str(plain.name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standard_names_round_trip() {
        for (name, datatype) in NAMED_TYPES {
            assert_eq!(datatype.name(), name);
            assert_eq!(Datatype::from_name(name), Some(datatype));
        }
        assert_eq!(Datatype::from_name("flaot64"), None);
        assert_eq!(Datatype::from_name("ascii"), None);
        assert_eq!(Datatype::with_length("ascii", 5).unwrap(), Datatype::Ascii(5));
        assert!(Datatype::with_length("ascii", 1 << 32).is_err());
    }

    #[test]
    fn item_sizes_match_names() {
        for (name, datatype) in NAMED_TYPES {
            let bits: u64 = name.trim_start_matches(char::is_alphabetic).parse().unwrap();
            assert_eq!(datatype.item_size() * 8, bits, "{name}");
        }
    }
}
