//! NumPy's `.npy` files: a header that is a Python dictionary, then the elements.
//!
//! Written are versions 1.0 (2.0 for long headers, 3.0 for field names outside Latin-1), always
//! little-endian, in C order, structs packed. Read are all three, either byte order, C and Fortran
//! order, and the padding of aligned structs. The bytes of `V` are one more axis. Not read: objects; dates and long doubles are
//! for layouts.

use std::io::Write;
use std::sync::Arc;

use super::datatype::{Byteorder, Datatype};
use super::handle::Array;
use super::python_literal::{self, PyLiteral};
use super::shape;
use super::struct_type::{Field, StructType};
use crate::bytes::{SourceRef, read_vec};
use crate::error::{Error, ErrorKind, Result, ResultExt};
use crate::limits::Limits;

const MAGIC: &[u8; 6] = b"\x93NUMPY";
/// Bytes written at once.
const BUFFER_SIZE: usize = 4 << 20;
/// A header longer than this is not read.
const MAX_HEADER_LEN: u64 = 16 << 20;

impl Array {
    /// The array as a `.npy` file; a mask is not written.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Unsupported`] for a datatype that numpy does not have,
    /// [`ErrorKind::Io`] if writing fails, and the errors of [`Array::load`].
    pub fn write_npy(&self, out: &mut dyn Write) -> Result<()> {
        let fail = |e| Error::io("writing .npy", e);
        out.write_all(&npy_header(&self.datatype, &self.shape)?).map_err(fail)?;
        self.for_each_piece(BUFFER_SIZE, |piece| out.write_all(piece).map_err(fail))
    }

    /// The array in a `.npy` file; its elements stay where they are.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`] if it is not such a file,
    /// [`ErrorKind::Unsupported`] for objects and dates.
    pub fn from_npy(source: SourceRef, limits: &Limits) -> Result<Self> {
        Self::read_npy(source, limits, &mut DtypeReader::strict())
    }

    /// Reads an array like [`Array::from_npy`], but leaves out columns that are not `known`. Returns their names
    /// and the reasons, too.
    ///
    /// # Errors
    /// Returns the errors of [`Array::from_npy`]. If no column is left, returns the error of the first one.
    pub fn from_npy_partly(source: SourceRef, limits: &Limits, known: &dyn Fn(&Datatype) -> Result<()>) -> Result<PartialArray> {
        let mut columns = DtypeReader { check: Some(known), path: Vec::new(), omitted: Vec::new(), unsupported: Vec::new() };
        let array = Self::read_npy(source, limits, &mut columns)?;
        Ok((array, columns.omitted, columns.unsupported))
    }

    fn read_npy(source: SourceRef, limits: &Limits, columns: &mut DtypeReader<'_>) -> Result<Self> {
        let start = read_vec(&*source, 0, 12.min(source.len()), limits)?;
        let (length_at, long) = match start.get(..8) {
            Some([head @ .., 1, 0]) if head == MAGIC => (8, false),
            Some([head @ .., 2 | 3, 0]) if head == MAGIC => (8, true),
            Some([head @ .., major, minor]) if head == MAGIC => {
                return Err(Error::unsupported(format!(".npy version {major}.{minor}, known are 1.0 to 3.0")));
            }
            _ => return Err(Error::malformed("no .npy file: the signature \\x93NUMPY is missing").at_byte(0)),
        };
        let field = |len| {
            start.get(length_at..length_at + len).ok_or_else(|| Error::malformed("the .npy header is cut short").at_byte(8))
        };
        let (length, begin) = if long {
            (field(4)?.iter().rev().fold(0, |n, b| n << 8 | u64::from(*b)), 12)
        } else {
            (field(2)?.iter().rev().fold(0, |n, b| n << 8 | u64::from(*b)), 10)
        };
        if length > MAX_HEADER_LEN {
            return Err(Error::limit(format!("a .npy header of {length} bytes, at most {MAX_HEADER_LEN} are read")));
        }
        let header = read_vec(&*source, begin, length, limits).with_context(|| "reading the .npy header")?;
        // Versions 1 and 2 are Latin-1, which is the first 256 code points.
        let text = if start.get(6) == Some(&3) {
            String::from_utf8(header).map_err(|_| Error::malformed("the .npy header is not UTF-8"))?
        } else {
            header.iter().map(|b| char::from(*b)).collect()
        };
        let header = python_literal::parse_literal(&text).with_context(|| "reading the .npy header")?;
        let entry = |key| header.entry(key).ok_or_else(|| Error::malformed(format!("the .npy header has no {key:?}")));
        let (datatype, byteorder, opaque) = columns.parse_descr(entry("descr")?)?;
        let mut shape: Vec<u64> = match entry("shape")? {
            PyLiteral::List(lengths) => lengths.iter().map(PyLiteral::as_u64).collect::<Option<_>>(),
            _ => None,
        }
        .ok_or_else(|| Error::malformed("the shape in the .npy header is not a tuple of lengths"))?;
        let size = opaque.unwrap_or(datatype.item_size());
        let (declared, stored) =
            (shape::element_count(&shape)?.saturating_mul(size), source.len().saturating_sub(begin + length));
        if declared > stored {
            let message =
                format!("the file is truncated: its header declares {declared} bytes of elements, and {stored} are there");
            return Err(Error::malformed(message).at_byte(begin + length));
        }
        let mut strides = match entry("fortran_order")? {
            PyLiteral::Bool(true) => shape::fortran_strides(&shape, size)?,
            _ => shape::c_strides(&shape, size)?,
        };
        if let Some(size) = opaque {
            shape.push(size);
            strides.push(1);
        }
        Self::strided(source, begin + length, datatype, byteorder, shape, strides)
    }
}

/// Returns an upper bound of the offset of the elements in a `.npy` file, by its first 12 bytes. Errors in them are
/// reported when the file is read.
#[cfg(feature = "gzip")]
pub fn npy_header_len(start: &[u8]) -> u64 {
    let wide = matches!(start.get(6), Some(2 | 3));
    let field = start.get(8..if wide { 12 } else { 10 }).unwrap_or(&[]);
    let len = field.iter().rev().fold(0u64, |n, byte| n << 8 | u64::from(*byte));
    len.min(MAX_HEADER_LEN).saturating_add(12)
}

/// Everything of a `.npy` file that is before the elements.
///
/// ```
/// use trilith_array::array::{Datatype, npy_header};
/// let header = npy_header(&Datatype::Float32, &[2, 3])?;
/// assert_eq!(header.len() % 64, 0);
/// assert!(header.starts_with(b"\x93NUMPY\x01\x00"));
/// # Ok::<(), trilith_array::Error>(())
/// ```
///
/// # Errors
/// Returns [`ErrorKind::Unsupported`] for a datatype that numpy does not have.
pub fn npy_header(datatype: &Datatype, shape: &[u64]) -> Result<Vec<u8>> {
    let lengths: Vec<String> = shape.iter().map(u64::to_string).collect();
    let comma = if shape.len() == 1 { "," } else { "" };
    let text =
        format!("{{'descr': {}, 'fortran_order': False, 'shape': ({}{comma}), }}", packed_descr(datatype)?, lengths.join(", "));
    let latin: Option<Vec<u8>> = text.chars().map(|c| u8::try_from(u32::from(c)).ok()).collect();
    let unicode = latin.is_none();
    let text = latin.unwrap_or_else(|| text.into_bytes());
    let size = |before: usize| (before + text.len() + 1).next_multiple_of(64) - before;
    let mut header = MAGIC.to_vec();
    let length = match u16::try_from(size(10)) {
        Ok(length) if !unicode => {
            header.extend([1, 0]);
            header.extend(length.to_le_bytes());
            usize::from(length)
        }
        _ => {
            let length = u32::try_from(size(12)).map_err(|_| Error::unsupported("a .npy header of more than 4 GiB"))?;
            header.extend([if unicode { 3 } else { 2 }, 0]);
            header.extend(length.to_le_bytes());
            size(12)
        }
    };
    let end = header.len() + length;
    header.extend(text);
    header.resize(end - 1, b' ');
    header.push(b'\n');
    Ok(header)
}

/// numpy's name of a packed little-endian datatype, as a Python literal.
fn packed_descr(datatype: &Datatype) -> Result<String> {
    let name = match datatype {
        Datatype::Ascii(n) | Datatype::Utf8(n) => format!("|S{n}"),
        Datatype::Ucs4(n) => format!("<U{n}"),
        Datatype::Complex32 | Datatype::Ucs2(_) => {
            return Err(Error::unsupported(format!("numpy has no datatype {datatype}")).hint("convert the array first"));
        }
        Datatype::Struct(fields) => return struct_descr(fields),
        number => number_descr(number, Byteorder::Little),
    };
    Ok(format!("'{name}'"))
}

/// Returns numpy's name of a number in a byte order.
pub fn number_descr(datatype: &Datatype, order: Byteorder) -> String {
    let size = datatype.item_size();
    let mark = if size == 1 { '|' } else { order.sign() };
    format!("{mark}{}{size}", datatype.kind_char().unwrap_or('V'))
}

fn struct_descr(fields: &StructType) -> Result<String> {
    let mut names = std::collections::HashSet::new();
    let mut parts = Vec::new();
    for (i, field) in fields.fields().iter().enumerate() {
        let name = field.name_or(i);
        let mut part = format!("({}, {}", python_literal::quote_python_string(&name), packed_descr(&field.datatype)?);
        if !field.shape.is_empty() {
            let lengths: Vec<String> = field.shape.iter().map(|len| format!("{len},")).collect();
            part.push_str(&format!(", ({})", lengths.join(" ")));
        }
        if !names.insert(name.clone()) {
            return Err(Error::unsupported(format!("numpy has no two fields of one name ({name:?})")));
        }
        parts.push(part + ")");
    }
    Ok(format!("[{}]", parts.join(", ")))
}

/// The datatype that a name of numpy, or a list of fields, represents, and its byte order.
///
/// # Errors
/// Returns [`ErrorKind::Unsupported`] for one that there is no word for here.
pub fn numpy_datatype(descr: &PyLiteral) -> Result<(Datatype, Byteorder)> {
    match DtypeReader::strict().parse_descr(descr)? {
        (datatype, order, None) => Ok((datatype, order)),
        (.., Some(size)) => Err(Error::unsupported(format!("opaque elements of {size} bytes, the numpy datatype V{size}"))),
    }
}

/// Returns numpy's name of a packed little-endian datatype.
///
/// # Errors
/// Returns the errors of [`npy_header`].
pub fn numpy_descr(datatype: &Datatype) -> Result<PyLiteral> {
    python_literal::parse_literal(&packed_descr(datatype)?)
}

/// Returns an error if a datatype may not be used.
type DatatypeTest<'k> = dyn Fn(&Datatype) -> Result<()> + 'k;

/// Reads datatypes of numpy; columns that there is no word for may be left out.
struct DtypeReader<'k> {
    /// A test of whether a datatype may be used; None if every column must be read.
    check: Option<&'k DatatypeTest<'k>>,
    /// The names of the columns around the one that is read.
    path: Vec<String>,
    /// The columns that were left out, and why.
    omitted: Vec<(String, Error)>,
    /// The elements and columns that are not what their datatypes say.
    unsupported: Vec<UnsupportedDtype>,
}

/// An array, its unreadable columns with the reasons, and the numpy datatypes without an equivalent here.
pub type PartialArray = (Array, Vec<(String, Error)>, Vec<UnsupportedDtype>);

/// A numpy datatype without an equivalent here, and the array or column that has it.
#[derive(Debug, Clone, PartialEq)]
pub struct UnsupportedDtype {
    /// The datatype in the words of numpy.
    pub name: String,
    /// The names of the column, with points between; empty for the elements of the array.
    pub field: String,
    /// The byte of an element at which the column begins.
    pub offset: u64,
    /// The order of the bytes of its numbers.
    pub order: Byteorder,
    /// Kind of the elements in numpy.
    pub kind: UnsupportedKind,
}

/// Kind of a numpy datatype without an equivalent here.
#[derive(Debug, Clone, PartialEq)]
pub enum UnsupportedKind {
    /// Nothing but a title of the column, which is in place of the name.
    Title,
    /// Dates as whole numbers: how many units a number counts, and the unit.
    Dates(u64, String),
    /// Durations as whole numbers.
    Durations,
    /// Long doubles as strings: the number of bytes of each, and whether two of them are a complex number.
    LongDouble(u64, bool),
    /// Bytes of which numpy knows no more, as one more axis.
    Opaque,
}

impl UnsupportedDtype {
    /// Returns the kind of a dtype such as `<M8[25s]`, `<m8[D]`, `<f16` or `<c32`, and the datatype of the stored elements.
    pub fn from_dtype(name: &str) -> Option<(Self, Datatype)> {
        let (order, rest) = name.split_at_checked(1)?;
        let order = match order {
            ">" => Byteorder::Big,
            "<" => Byteorder::Little,
            _ => return None,
        };
        let (kind, datatype) = match rest {
            "f16" | "f12" | "c32" | "c24" => {
                let (is_complex, size) = (rest.starts_with('c'), rest.get(1..)?.parse::<u32>().ok()?);
                (UnsupportedKind::LongDouble(u64::from(size) / if is_complex { 2 } else { 1 }, is_complex), Datatype::Ascii(size))
            }
            _ => {
                let (kind, unit) = rest.split_once("8[")?;
                let unit = unit.strip_suffix(']')?;
                let letters = unit.trim_start_matches(|c: char| c.is_ascii_digit());
                let times = unit.strip_suffix(letters)?;
                let times = if times.is_empty() { 1 } else { times.parse().ok()? };
                match kind {
                    "M" => (UnsupportedKind::Dates(times, letters.to_owned()), Datatype::Int64),
                    "m" => (UnsupportedKind::Durations, Datatype::Int64),
                    _ => return None,
                }
            }
        };
        Some((Self { name: name.to_owned(), field: String::new(), offset: 0, order, kind }, datatype))
    }
}

impl DtypeReader<'_> {
    fn strict() -> Self {
        Self { check: None, path: Vec::new(), omitted: Vec::new(), unsupported: Vec::new() }
    }

    /// Returns the datatype, its byte order, and the number of bytes of an opaque element, which are one more axis.
    fn parse_descr(&mut self, descr: &PyLiteral) -> Result<(Datatype, Byteorder, Option<u64>)> {
        match descr {
            PyLiteral::Text(name) => {
                if let Some(size) = parse_opaque_size(name) {
                    let (column, name) = (self.path.join("."), name.clone());
                    self.unsupported.push(UnsupportedDtype {
                        name,
                        field: column,
                        offset: 0,
                        order: Byteorder::Little,
                        kind: UnsupportedKind::Opaque,
                    });
                    return Ok((Datatype::Uint8, Byteorder::Little, Some(size)));
                }
                if let (Some(_), Some((named, datatype))) = (self.check, UnsupportedDtype::from_dtype(name)) {
                    let order = named.order;
                    self.unsupported.push(UnsupportedDtype { field: self.path.join("."), ..named });
                    return Ok((datatype, order, None));
                }
                let (datatype, order) = read_name(name)?;
                self.check.map_or(Ok(()), |known| known(&datatype))?;
                Ok((datatype, order, None))
            }
            // Nesting was limited when the literal was read.
            PyLiteral::List(fields) => Ok((Datatype::Struct(Arc::new(self.parse_fields(fields)?)), Byteorder::Little, None)),
            _ => Err(Error::unsupported("a datatype of numpy that is neither a name nor a list of fields")),
        }
    }

    fn parse_fields(&mut self, list: &[PyLiteral]) -> Result<StructType> {
        let (mut fields, mut end, missing) = (Vec::new(), 0u64, self.omitted.len());
        for entry in list {
            let wrong = || Error::malformed("a field of the numpy datatype is not (name, datatype) or (name, datatype, shape)");
            let PyLiteral::List(parts) = entry else { return Err(wrong()) };
            let lengths =
                |lengths: &[PyLiteral]| lengths.iter().map(PyLiteral::as_u64).collect::<Option<Vec<u64>>>().ok_or_else(wrong);
            let (name, mut descr, mut shape) = match &parts[..] {
                [name, descr] => (name, descr, Vec::new()),
                [name, descr, PyLiteral::List(list)] => (name, descr, lengths(list)?),
                [name, descr, length] => (name, descr, vec![length.as_u64().ok_or_else(wrong)?]),
                _ => return Err(wrong()),
            };
            // The elements may be arrays again: (datatype, shape).
            while let PyLiteral::List(pair) = descr
                && let [inner @ (PyLiteral::Text(_) | PyLiteral::List(_)), PyLiteral::List(list)] = &pair[..]
                && list.iter().all(|length| length.as_u64().is_some())
            {
                shape.extend(lengths(list)?);
                descr = inner;
            }
            // A title may come with the name: (title, name).
            let (name, title) = match name {
                PyLiteral::Text(name) => (name.as_str(), None),
                PyLiteral::List(both) => {
                    let title = both.first().filter(|_| both.len() > 1).and_then(PyLiteral::as_text);
                    (both.last().and_then(PyLiteral::as_text).ok_or_else(wrong)?, title)
                }
                _ => return Err(wrong()),
            };
            let past = || Error::malformed("the fields of the numpy datatype are larger than 2^64 bytes");
            let after = |end: u64, shape: &[u64], size: u64| {
                shape.iter().try_fold(size, |n, len| n.checked_mul(*len)).and_then(|n| end.checked_add(n)).ok_or_else(past)
            };
            if let ("", Some(padding)) = (name, descr.as_text().and_then(|text| text.strip_prefix("|V"))) {
                end = padding.parse().ok().and_then(|n| end.checked_add(n)).ok_or_else(past)?;
                continue;
            }
            self.path.push(name.to_owned());
            if let (Some(_), Some(title)) = (self.check, title) {
                self.unsupported.push(UnsupportedDtype {
                    name: title.to_owned(),
                    field: self.path.join("."),
                    offset: 0,
                    order: Byteorder::Little,
                    kind: UnsupportedKind::Title,
                });
            }
            let before = self.unsupported.len();
            let read = self.parse_descr(descr);
            let path = self.path.join(".");
            self.path.pop();
            let (datatype, byteorder, opaque) = match (read, item_size(descr)) {
                (Ok(read), _) => read,
                (Err(why), Some(size)) if self.check.is_some() && why.kind() == ErrorKind::Unsupported => {
                    self.omitted.push((path, why));
                    end = after(end, &shape, size)?;
                    continue;
                }
                (Err(why), _) => return Err(why),
            };
            shape.extend(opaque);
            let field = Field { name: Some(name.to_owned()), datatype, byteorder, shape, offset: end };
            self.unsupported.iter_mut().skip(before).for_each(|named| named.offset = named.offset.saturating_add(end));
            end = after(end, &field.shape, field.datatype.item_size())?;
            fields.push(field);
        }
        match self.omitted.get(missing) {
            Some((_, why)) if fields.is_empty() => Err(why.copy()),
            _ => StructType::with_offsets(fields, end),
        }
    }
}

/// The number of bytes of an element that numpy calls `|V4`.
fn parse_opaque_size(name: &str) -> Option<u64> {
    name.trim_start_matches(['<', '>', '|', '=']).strip_prefix('V')?.parse().ok()
}

/// The bytes of an element of a datatype of numpy; None if that is not fixed (objects), or not known.
fn item_size(descr: &PyLiteral) -> Option<u64> {
    let name = descr.as_text()?.trim_start_matches(['<', '>', '|', '=']);
    let (kind, size) = name.split_at_checked(1)?;
    let size: u64 = size.split('[').next().unwrap_or(size).parse().ok()?;
    match kind {
        "O" => None,
        "U" => size.checked_mul(4),
        _ => Some(size),
    }
}

fn read_name(name: &str) -> Result<(Datatype, Byteorder)> {
    let (datatype, order) =
        numpy_name(name).ok_or_else(|| Error::unsupported(format!("cannot read elements of the numpy datatype {name:?}")))?;
    let without_sign = if name.starts_with('|') { Byteorder::Little } else { Byteorder::NATIVE };
    Ok((datatype, order.unwrap_or(without_sign)))
}

/// The datatype that numpy calls so (`<f8`, `i2`, `S4`), and the byte order that its sign gives.
pub fn numpy_name(name: &str) -> Option<(Datatype, Option<Byteorder>)> {
    let (order, rest) = match name.as_bytes().first() {
        Some(b'>') => (Some(Byteorder::Big), &name[1..]),
        Some(b'<') => (Some(Byteorder::Little), &name[1..]),
        Some(b'=') => (Some(Byteorder::NATIVE), &name[1..]),
        Some(b'|') => (None, &name[1..]),
        _ => (None, name),
    };
    let (kind, size) = rest.split_at_checked(1)?;
    let size: u64 = size.parse().ok()?;
    let datatype = match kind {
        "S" | "a" => Datatype::with_length("ascii", size).ok(),
        "U" => Datatype::with_length("ucs4", size).ok(),
        number => Datatype::numeric(number.chars().next()?, size),
    };
    Some((datatype?, order))
}
