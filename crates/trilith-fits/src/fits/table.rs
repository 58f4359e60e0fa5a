//! Tables: the rows of BINTABLE and TABLE extensions as an [`Array`] of structs.
//!
//! FITS Standard 4.0, sections 7.2 and 7.3.

use std::sync::Arc;

use super::card::{Card, CardValue};
use super::hdu::{Hdu, HduKind, missing_card_error, require_unsigned};
use super::header::{Header, integer_of, number_of};
use super::image::unsigned_conversion;
use super::scaling::{RowConversion, RowStep, Scaling, StoredNumber, ValueOp, convert_source_rows};
use crate::array::physical;
use crate::array::{Array, Byteorder, Datatype, Field, StructType, element_count};
use crate::array::{MissingRule, ValueDecoding, ValueTransform};
use crate::bytes::{SourceRef, to_usize};
use crate::error::{Error, Result, ResultExt};
use crate::limits::Limits;

/// One column of a binary table.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Column {
    /// TTYPE; empty if there is none.
    pub name: String,
    /// The letter of TFORM: one of `LXBIJKAEDCMPQ`.
    pub code: char,
    /// The number before the letter, 1 unless given.
    pub repeat: u64,
    /// TDIM, fastest first; empty if there is none that fits.
    pub dim: Vec<u64>,
    /// TSCAL.
    pub scale: f64,
    /// TZERO.
    pub zero: f64,
    /// TNULL: the whole number that marks a missing value.
    pub null: Option<i64>,
    /// TUNIT.
    pub unit: Option<String>,
    /// Bytes from the start of the row.
    pub offset: u64,
    /// The text after the letter: the width of substrings, or the type and length of a heap array.
    rest: String,
    form: String,
    dim_text: String,
}

/// The cards of each column, before they are put together.
type ColumnCards<'h> = Vec<[Option<&'h Card>; 7]>;
const COLUMN_KEYWORDS: [&str; 7] = ["TTYPE", "TFORM", "TDIM", "TSCAL", "TZERO", "TNULL", "TUNIT"];

/// The cards of every column, in one pass over the header.
fn column_cards<'h>(header: &'h Header, count: usize) -> ColumnCards<'h> {
    let mut cards: ColumnCards<'h> = vec![[None; 7]; count];
    for card in header.cards() {
        let digits = card.keyword().trim_start_matches(|c: char| c.is_ascii_alphabetic());
        let Some(name) = card.keyword().strip_suffix(digits) else { continue };
        let Some(at) = COLUMN_KEYWORDS.iter().position(|keyword| *keyword == name) else { continue };
        let number = digits.parse::<usize>().ok().and_then(|n| n.checked_sub(1));
        if let Some(slot) = number.and_then(|n| cards.get_mut(n)).and_then(|slots| slots.get_mut(at)) {
            slot.get_or_insert(card);
        }
    }
    cards
}

fn card_text(card: Option<&Card>) -> Option<&str> {
    match card?.value() {
        CardValue::Text(text) => Some(text.trim()),
        _ => None,
    }
}

/// Returns the number of columns that a table declares.
fn column_count(header: &Header) -> Result<usize> {
    let count = require_unsigned(header, "TFIELDS")?;
    if count > 999 {
        return Err(Error::malformed(format!("TFIELDS is {count}, at most 999 columns are possible")));
    }
    to_usize(count)
}

/// The columns of a binary table.
///
/// # Errors
/// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) for a missing or wrong TFORM, and for columns that
/// need more bytes than a row has.
pub fn columns(header: &Header) -> Result<Vec<Column>> {
    let width = require_unsigned(header, "NAXIS1")?;
    let mut offset = 0u64;
    let mut columns = Vec::new();
    for (i, cards) in column_cards(header, column_count(header)?).into_iter().enumerate() {
        card_text(cards[1]).ok_or_else(|| missing_card_error(header, &format!("TFORM{}", i + 1)))?;
        let column = Column::from_cards(cards, offset).with_context(|| format!("column {}", i + 1))?;
        offset = column.row_bytes().and_then(|n| n.checked_add(offset)).filter(|end| *end <= width).ok_or_else(|| {
            Error::malformed(format!("column {} ({}) ends beyond the {width} bytes of a row", i + 1, column.form))
        })?;
        columns.push(column);
    }
    Ok(columns)
}

/// The lengths that TDIM gives; none if they are not those of at most `count` values, as others do. Further values of a cell are filling
/// (FITS Standard 4.0, section 7.3.2).
fn parse_tdim(text: &str, count: u64) -> Vec<u64> {
    let list = text.strip_prefix('(').and_then(|list| list.strip_suffix(')'));
    let sizes: Option<Vec<u64>> = list.and_then(|list| list.split(',').map(|n| n.trim().parse().ok()).collect());
    sizes.filter(|sizes| element_count(sizes).is_ok_and(|n| n == count || (1..count).contains(&n))).unwrap_or_default()
}

impl Column {
    fn from_cards([name, form, dim, scale, zero, null, unit]: [Option<&Card>; 7], offset: u64) -> Result<Self> {
        let form = card_text(form).unwrap_or_default();
        let digits = form.len() - form.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (repeat, rest) = form.split_at(digits);
        let repeat = if repeat.is_empty() { Some(1) } else { repeat.parse::<u64>().ok() };
        let code = rest.chars().next().filter(|c| "LXBIJKAEDCMPQ".contains(*c));
        let (Some(repeat), Some(code)) = (repeat, code) else {
            return Err(Error::malformed(format!("TFORM is {form:?}, expected a number and one of LXBIJKAEDCMPQ")));
        };
        let dim_text = card_text(dim).unwrap_or_default().to_owned();
        let dim = parse_tdim(&dim_text, repeat);
        Ok(Self {
            name: card_text(name).unwrap_or_default().to_owned(),
            code,
            repeat,
            dim,
            scale: scale.map(number_of).transpose()?.unwrap_or(1.0),
            zero: zero.map(number_of).transpose()?.unwrap_or(0.0),
            null: null.and_then(|card| integer_of(card).ok()),
            unit: card_text(unit).map(str::to_owned),
            offset,
            rest: rest.get(1..).unwrap_or_default().trim().to_owned(),
            form: form.to_owned(),
            dim_text,
        })
    }

    /// TFORM as it is written.
    pub fn tform(&self) -> &str {
        &self.form
    }

    /// TDIM as it is written; empty if there is none.
    pub fn dim_text(&self) -> &str {
        &self.dim_text
    }

    /// Returns `true` if TDIM gives fewer values than a cell has.
    pub(super) fn has_filling(&self) -> bool {
        !self.dim.is_empty() && element_count(&self.dim).is_ok_and(|n| n < self.repeat)
    }

    /// Bytes of one value in the heap.
    pub(super) fn heap_unit(&self) -> u64 {
        match self.rest.chars().next() {
            Some('I') => 2,
            Some('J' | 'E') => 4,
            Some('K' | 'D' | 'C') => 8,
            Some('M') => 16,
            _ => 1,
        }
    }

    /// Bytes of this number of values in the heap.
    pub(super) fn heap_bytes(&self, count: u64) -> Option<u64> {
        if self.rest.starts_with('X') { Some(count.div_ceil(8)) } else { count.checked_mul(self.heap_unit()) }
    }

    /// The column that one cell in the heap would be, with `count` values.
    pub(super) fn heap_cell_column(&self, count: u64) -> Self {
        let code = self.rest.chars().next().unwrap_or('B');
        // Text is one string, everything else a list, even of one value.
        let mut dim = if code == 'A' { Vec::new() } else { parse_tdim(&self.dim_text, count) };
        if dim.is_empty() && code != 'A' {
            dim.push(count);
        }
        Self { code, repeat: count, dim, rest: String::new(), offset: 0, ..self.clone() }
    }

    /// The type of values in the heap as they are stored; None for bits and unknown letters.
    pub(super) fn heap_type(&self) -> Option<Datatype> {
        Some(match self.rest.chars().next()? {
            'L' | 'A' => Datatype::Ascii(1),
            letter => return number_type(letter),
        })
    }

    /// Bytes of one value that is converted.
    pub(super) fn number_size(&self) -> usize {
        self.stored_number().map_or(1, StoredNumber::size)
    }

    /// Returns `true` if the values are in the heap, and the rows hold only their number and place.
    pub fn in_heap(&self) -> bool {
        matches!(self.code, 'P' | 'Q')
    }

    /// Bytes that it takes in every row; None for more than there can be.
    pub(super) fn row_bytes(&self) -> Option<u64> {
        match self.code {
            'X' => Some(self.repeat.div_ceil(8)),
            _ => self.repeat.checked_mul(self.unit_size()),
        }
    }

    fn unit_size(&self) -> u64 {
        match self.code {
            'I' => 2,
            'J' | 'E' => 4,
            'K' | 'D' | 'C' | 'P' => 8,
            'M' | 'Q' => 16,
            _ => 1,
        }
    }

    /// The shape of a value in every row, and its datatype as it is stored.
    fn stored_datatype_and_shape(&self) -> Result<(Datatype, Vec<u64>)> {
        let datatype = match self.code {
            'L' => Datatype::Int8,
            'A' => return self.text_type(),
            'X' => return Ok((Datatype::Uint8, vec![self.repeat.div_ceil(8)])),
            'P' => return Ok((Datatype::Int32, self.shape_with(2))),
            letter => match number_type(letter) {
                Some(datatype) => datatype,
                None => return Ok((Datatype::Int64, self.shape_with(2))),
            },
        };
        Ok((datatype, self.value_shape()))
    }

    /// Returns the shape of the values in a row. A single value needs no axis.
    fn value_shape(&self) -> Vec<u64> {
        match (self.dim.is_empty(), self.repeat) {
            (true, 1) => Vec::new(),
            (true, n) => vec![n],
            (false, _) => self.dim.iter().rev().copied().collect(),
        }
    }

    fn shape_with(&self, last: u64) -> Vec<u64> {
        if self.repeat == 1 { vec![last] } else { vec![self.repeat, last] }
    }

    /// Text of `repeat` bytes; its first dimension, or the width after the letter, is that of one string.
    fn text_type(&self) -> Result<(Datatype, Vec<u64>)> {
        let (width, shape) = match self.dim.split_first() {
            Some((width, others)) => (*width, others.iter().rev().copied().collect()),
            None => match self.rest.parse::<u64>() {
                Ok(width) if width > 0 && width < self.repeat && self.repeat.is_multiple_of(width) => {
                    (width, vec![self.repeat / width])
                }
                _ => (self.repeat, Vec::new()),
            },
        };
        Ok((Datatype::with_length("ascii", width)?, shape))
    }

    pub(super) fn stored_number(&self) -> Option<StoredNumber> {
        Some(match self.code {
            'B' => StoredNumber::U8,
            'I' => StoredNumber::I16,
            'J' => StoredNumber::I32,
            'K' => StoredNumber::I64,
            'E' => StoredNumber::F32,
            'D' => StoredNumber::F64,
            _ => return None,
        })
    }

    /// The values of a cell as they are stored, filling included, but with their sign.
    fn stored_type(&self) -> Result<StoredType> {
        if self.has_filling() {
            return Self { dim: Vec::new(), ..self.clone() }.stored_type();
        }
        let (datatype, shape) = self.stored_datatype_and_shape()?;
        let linear = Scaling { scale: self.scale, zero: self.zero, blank: None };
        Ok(match self.stored_number().and_then(|number| unsigned_conversion(number, linear)) {
            Some((op, datatype)) => StoredType { datatype, shape, op },
            None => StoredType { datatype, shape, op: ValueOp::Copy },
        })
    }

    /// The values as they are stored, as a field of their rows, and what they mean.
    pub(super) fn field_decoding(&self) -> Result<(Field, ValueDecoding)> {
        let (datatype, shape) = self.stored_datatype_and_shape()?;
        let name = Some(self.name.clone()).filter(|name| !name.is_empty());
        let mut field = Field::without_name(datatype, Byteorder::Big).with_shape(shape).with_offset(self.offset);
        field.name = name;
        let linear = Scaling { scale: self.scale, zero: self.zero, blank: self.null };
        let (scale, offset) = (self.scale, self.zero);
        let reading = |reading| ValueDecoding { transform: reading, missing_rules: Vec::new() };
        let meaning = match (self.code, self.stored_number()) {
            (_, Some(number)) => linear.value_decoding(number, Datatype::Float64),
            ('L', _) => ValueDecoding { transform: ValueTransform::Boolean, missing_rules: vec![MissingRule::NotBoolean] },
            ('X', _) => reading(ValueTransform::Flags { shape: self.value_shape() }),
            ('A', _) => reading(ValueTransform::Text),
            ('C' | 'M', _) if (scale, offset) != (1.0, 0.0) => {
                reading(ValueTransform::Linear { scale, offset, into: Datatype::Complex128 })
            }
            _ => ValueDecoding::IDENTITY,
        };
        Ok((field, meaning))
    }
}

/// The values of a cell: their type, shape and conversion.
struct StoredType {
    /// Datatype of a value.
    datatype: Datatype,
    /// Shape of a cell.
    shape: Vec<u64>,
    /// Conversion of the stored bytes to that datatype.
    op: ValueOp,
}

/// The fields of the rows, and how the stored rows become them.
pub(super) fn row_type(columns: &[Column], width: u64) -> Result<(StructType, RowConversion)> {
    let mut fields = Vec::new();
    let mut rows = RowConversion { input_size: to_usize(width)?, ..RowConversion::default() };
    for column in columns {
        let StoredType { datatype, shape, op } = column.stored_type()?;
        let before = to_usize(column.row_bytes().unwrap_or(0))?;
        let after = to_usize(element_count(&shape)?.saturating_mul(datatype.item_size()))?;
        let from = to_usize(column.offset)?;
        let end = rows.output_size.checked_add(after).ok_or_else(|| Error::malformed("a row has more bytes than memory has"))?;
        // The size does not matter for complex numbers, because none is converted.
        let size = column.number_size();
        rows.steps.push(RowStep { op, from: from..from + before, to: rows.output_size..end, size });
        let mut field = Field::without_name(datatype, Byteorder::Big).with_shape(shape);
        field.name = Some(column.name.clone()).filter(|name| !name.is_empty());
        fields.push(field);
        rows.output_size = end;
    }
    Ok((StructType::packed_from(fields)?, rows))
}

/// The rows of a binary table as they are meant, without the columns whose values are in the heap.
pub(super) fn table_array(hdu: &Hdu, source: &SourceRef, limits: &Arc<Limits>) -> Result<Array> {
    if hdu.kind() == HduKind::TextTable {
        return text_array(hdu, source, limits);
    }
    let columns = columns(hdu.header())?;
    let fixed = columns.iter().filter(|column| !column.in_heap());
    let (fields, meanings): (Vec<Field>, Vec<ValueDecoding>) =
        fixed.map(Column::field_decoding).collect::<Result<Vec<_>>>()?.into_iter().unzip();
    physical(&rows_array(hdu, source, fields, limits)?, &meanings)
}

/// The rows of a table, of which the fields are parts.
pub(super) fn rows_array(hdu: &Hdu, source: &SourceRef, fields: Vec<Field>, limits: &Arc<Limits>) -> Result<Array> {
    let (width, count) = (require_unsigned(hdu.header(), "NAXIS1")?, require_unsigned(hdu.header(), "NAXIS2")?);
    let fields = Datatype::Struct(Arc::new(StructType::with_offsets(fields, width)?));
    let array = Array::new(source.clone(), hdu.data().start, fields, Byteorder::Big, vec![count])?;
    Ok(array.with_limits(Arc::clone(limits)))
}

/// The rows of a binary table as they are stored, but with their signs.
pub(super) fn stored_array(hdu: &Hdu, source: &SourceRef, limits: &Arc<Limits>) -> Result<Array> {
    let header = hdu.header();
    let (width, count) = (require_unsigned(header, "NAXIS1")?, require_unsigned(header, "NAXIS2")?);
    let columns = columns(header)?;
    let (fields, rows) = row_type(&columns, width)?;
    let at = hdu.data().start;
    if !rows.is_identity() && rows.steps.iter().all(|step| step.op == ValueOp::Copy) {
        // Bytes between the last column and the end of the row: the fields are in it unchanged.
        return rows_array(hdu, source, fields.fields().to_vec(), limits);
    }
    let source =
        if rows.is_identity() { source.clone() } else { convert_source_rows(source.clone(), at, count, rows.clone(), limits)? };
    let at = if rows.is_identity() { at } else { 0 };
    let array = Array::new(source, at, Datatype::Struct(Arc::new(fields)), Byteorder::Big, vec![count])?;
    Ok(array.with_limits(Arc::clone(limits)))
}

/// The type that a letter represents in rows and in the heap alike; None for the others.
fn number_type(letter: char) -> Option<Datatype> {
    Some(match letter {
        'B' => Datatype::Uint8,
        'I' => Datatype::Int16,
        'J' => Datatype::Int32,
        'K' => Datatype::Int64,
        'E' => Datatype::Float32,
        'D' => Datatype::Float64,
        'C' => Datatype::Complex64,
        'M' => Datatype::Complex128,
        _ => return None,
    })
}

/// The rows of a text table as they are meant: numbers as such.
fn text_array(hdu: &Hdu, source: &SourceRef, limits: &Arc<Limits>) -> Result<Array> {
    let header = hdu.header();
    let (mut fields, mut meanings) = (Vec::new(), Vec::new());
    for (i, cards) in column_cards(header, column_count(header)?).into_iter().enumerate() {
        let form = card_text(cards[1]).ok_or_else(|| missing_card_error(header, &format!("TFORM{}", i + 1)))?;
        let wrong = || Error::malformed(format!("TFORM{} is {form:?}, expected a letter and a width", i + 1));
        let mut parts = form.get(1..).unwrap_or_default().split(['.', 'E']);
        let chars = parts.next().and_then(|digits| digits.parse::<u64>().ok()).ok_or_else(wrong)?;
        let decimals = parts.next().map_or(Ok(0), |digits| digits.trim().parse::<u16>().map_err(|_| wrong()))?;
        let start = require_unsigned(header, &format!("TBCOL{}", i + 1))?.saturating_sub(1);
        let mut field = Field::without_name(Datatype::with_length("ascii", chars)?, Byteorder::Big).with_offset(start);
        field.name = card_text(cards[0]).filter(|name| !name.is_empty()).map(str::to_owned);
        fields.push(field);
        let (scale, offset) =
            (cards[3].map(number_of).transpose()?.unwrap_or(1.0), cards[4].map(number_of).transpose()?.unwrap_or(0.0));
        let null = cards[5].map(|card| MissingRule::Text(null_text(card).into_bytes()));
        let into = match (form.as_bytes().first(), chars) {
            (Some(b'A'), _) => None,
            (Some(b'I'), _) if (scale, offset) != (1.0, 0.0) => Some(Datatype::Float64),
            // Width that CFITSIO and astropy choose.
            (Some(b'I'), ..=4) => Some(Datatype::Int16),
            (Some(b'I'), ..=9) => Some(Datatype::Int32),
            (Some(b'I'), _) => Some(Datatype::Int64),
            (Some(b'F' | b'E' | b'D'), _) => Some(Datatype::Float64),
            _ => return Err(Error::malformed(format!("TFORM{} is {form:?}, expected one of A, I, F, E and D", i + 1))),
        };
        let reading = into.map_or(ValueTransform::TrimmedText, |into| ValueTransform::ParsedText {
            scale,
            offset,
            decimals: decimals.into(),
            into,
        });
        meanings.push(ValueDecoding { transform: reading, missing_rules: null.into_iter().collect() });
    }
    physical(&rows_array(hdu, source, fields, limits)?, &meanings)
}

/// TNULL of a text table, which is text.
fn null_text(card: &Card) -> String {
    match card.value() {
        CardValue::Text(text) => text.clone(),
        other => other.to_string(),
    }
}
