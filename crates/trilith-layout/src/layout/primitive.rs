//! The primitive datatypes of Dudley, the byte orders, and the dialects.

use std::fmt;

use super::spec_decisions;
use crate::array::Datatype;
use crate::error::{Error, Result};

/// A dialect of the Dudley language.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// The language of July 2025: `name = dtype[shape] @address`.
    D2025,
    /// The language of 2026: `name: dtype(shape) -> filter @address`.
    D2026,
}

impl Dialect {
    /// The name that an option or the attribute `dialect` gives it: `2025` or `2026`.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "2025" => Some(Dialect::D2025),
            "2026" => Some(Dialect::D2026),
            _ => None,
        }
    }

    /// `2025` or `2026`.
    pub fn name(self) -> &'static str {
        match self {
            Dialect::D2025 => "2025",
            Dialect::D2026 => "2026",
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The interpretation of the bytes of a primitive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PrimitiveKind {
    /// `u`: an unsigned integer.
    Unsigned,
    /// `i`: a two's complement integer.
    Signed,
    /// `f`: an IEEE 754 number.
    Float,
    /// `c`: a pair of them, real part first.
    Complex,
    /// `b`: 0 is false, all else true.
    Bool,
    /// `S`: a character of cp1252 or latin1.
    Ascii,
    /// `U`: a code unit of UTF-8, UTF-16 or UTF-32, by size.
    Unicode,
    /// `p` (2025): a pointer, treated as an unsigned integer.
    Pointer,
}

/// A predefined datatype, such as `f8`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Primitive(u8);

/// Name, kind and size in bytes of each; 2026 lacks the last two.
static TABLE: [(&str, PrimitiveKind, u8); 21] = {
    use PrimitiveKind as K;
    [
        ("u1", K::Unsigned, 1),
        ("u2", K::Unsigned, 2),
        ("u4", K::Unsigned, 4),
        ("u8", K::Unsigned, 8),
        ("i1", K::Signed, 1),
        ("i2", K::Signed, 2),
        ("i4", K::Signed, 4),
        ("i8", K::Signed, 8),
        ("f2", K::Float, 2),
        ("f4", K::Float, 4),
        ("f8", K::Float, 8),
        ("c4", K::Complex, 4),
        ("c8", K::Complex, 8),
        ("c16", K::Complex, 16),
        ("b1", K::Bool, 1),
        ("S1", K::Ascii, 1),
        ("U1", K::Unicode, 1),
        ("U2", K::Unicode, 2),
        ("U4", K::Unicode, 4),
        ("p4", K::Pointer, 4),
        ("p8", K::Pointer, 8),
    ]
};

impl Primitive {
    /// Number of primitives.
    pub(crate) const COUNT: u32 = TABLE.len() as u32;
    /// `i8`, the type of the length of a compressed array.
    pub(crate) const I8: Primitive = Primitive(7);

    /// The primitive of a name without prefix.
    ///
    /// ```
    /// use trilith_layout::layout::{Dialect, Primitive};
    /// assert_eq!(Primitive::from_name("c16", Dialect::D2025).unwrap().size(), 16);
    /// assert!(Primitive::from_name("p8", Dialect::D2026).is_none());
    /// ```
    pub fn from_name(name: &str, dialect: Dialect) -> Option<Self> {
        // First row of the table and number of rows for each kind.
        let (from, count) = match name.as_bytes() {
            [_] | [] | [_, _, _, _, ..] => return None,
            [b'u', ..] => (0, 4),
            [b'i', ..] => (4, 4),
            [b'f', ..] => (8, 3),
            [b'c', ..] => (11, 3),
            [b'b', ..] => (14, 1),
            [b'S', ..] => (15, 1),
            [b'U', ..] => (16, 3),
            [b'p', ..] => (19, 2),
            _ => return None,
        };
        let found = from + TABLE.iter().skip(from).take(count).position(|row| row.0 == name)?;
        let pointer = TABLE[found].1 == PrimitiveKind::Pointer;
        (!pointer || (dialect == Dialect::D2025 && spec_decisions::POINTERS_2025)).then_some(Self(found as u8))
    }

    pub(crate) fn from_index(number: u32) -> Self {
        Self((number % Self::COUNT) as u8)
    }

    pub(crate) fn index(self) -> u32 {
        u32::from(self.0)
    }

    /// Returns the name of the datatype, such as `f8`.
    pub fn name(self) -> &'static str {
        TABLE[self.0 as usize].0
    }

    /// Returns the interpretation of its bytes.
    pub fn kind(self) -> PrimitiveKind {
        TABLE[self.0 as usize].1
    }

    /// Returns the size in bytes.
    pub fn size(self) -> u64 {
        u64::from(TABLE[self.0 as usize].2)
    }

    /// The largest value of a parameter of this type: that of an `i8` for a larger range.
    pub(crate) fn max_param_value(self) -> i64 {
        let bits = 8 * self.size().min(8) - u64::from(self.kind() == PrimitiveKind::Signed);
        if bits >= 63 { i64::MAX } else { (1 << bits) - 1 }
    }

    /// Returns the alignment in bytes: the size, except for complex numbers, for which it depends on the dialect.
    pub fn alignment(self, dialect: Dialect) -> u64 {
        let whole = dialect == Dialect::D2025 && spec_decisions::COMPLEX_ALIGNED_TO_SIZE_2025;
        if self.kind() == PrimitiveKind::Complex && !whole { self.size() / 2 } else { self.size() }
    }

    /// Returns `true` if it is text: `S1`, `U1`, `U2` or `U4`.
    pub fn is_text(self) -> bool {
        matches!(self.kind(), PrimitiveKind::Ascii | PrimitiveKind::Unicode)
    }

    /// Returns `true` if it may be the datatype of a parameter of the dialect.
    pub(crate) fn is_param(self, dialect: Dialect) -> bool {
        match self.kind() {
            PrimitiveKind::Signed => true,
            PrimitiveKind::Unsigned => dialect == Dialect::D2026 || spec_decisions::UNSIGNED_PARAMS_2025,
            _ => false,
        }
    }
}

/// The primitive that stores elements of a datatype, without byte order; text takes one dimension more,
/// its length. None for structs.
///
/// # Errors
/// Returns [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for datatypes that Dudley lacks.
pub fn primitive_of(datatype: &Datatype) -> Result<Option<(&'static str, Option<u32>)>> {
    let (kind, size) = match datatype {
        Datatype::Ascii(n) => return Ok(Some(("S1", Some(*n)))),
        Datatype::Utf8(n) => return Ok(Some(("U1", Some(*n)))),
        Datatype::Ucs2(n) => return Ok(Some(("U2", Some(*n)))),
        Datatype::Ucs4(n) => return Ok(Some(("U4", Some(*n)))),
        Datatype::Struct(_) => return Ok(None),
        number => (number.kind_char().unwrap_or_default(), number.item_size()),
    };
    let found = TABLE.iter().find(|row| row.0.starts_with(kind) && u64::from(row.2) == size);
    let found = found.ok_or_else(|| Error::unsupported(format!("Dudley has no datatype {datatype}")))?;
    Ok(Some((found.0, None)))
}

impl fmt::Debug for Primitive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Primitive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
