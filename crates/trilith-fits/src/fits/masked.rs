//! Masked elements in a FITS file: NaN, BLANK and TNULL.
//!
//! FITS Standard 4.0, sections 4.4.2.5 (BLANK), 5.3 (NaN), 7.3.2 (TNULL) and 7.3.3 (undefined logicals, null strings).
//! Integers with masked elements are written without an offset, since readers that know the unsigned conventions do not
//! look for BLANK there.

use super::card::Card;
use super::hdu_data::{self, ColumnType, HduData};
use super::masked_fill::{FillValue, MaskedWriter};
use super::scaling::{RowConversion, StoredNumber, ValueOp};
use crate::array::{Array, Byteorder, Datatype};
use crate::bytes::to_usize;
use crate::error::Result;

/// Bytes that are read at once.
const BUFFER_SIZE: u64 = 4 << 20;

impl HduData {
    /// An extension, or the primary HDU, of an array whose masked elements are NaN, BLANK or TNULL. Returns None if no integer
    /// of FITS is free for that.
    ///
    /// # Errors
    /// Returns `InvalidInput` for datatypes that FITS cannot hold, and what reading the elements returns.
    pub fn masked_array(name: &str, is_primary: bool, array: &Array) -> Result<Option<Self>> {
        let made = if hdu_data::is_image(array.datatype()) {
            build_masked_image(array, is_primary)?
        } else {
            build_masked_table(array)?
        };
        let Some((mut cards, masked)) = made else { return Ok(None) };
        if is_primary {
            cards.push(Card::new("EXTEND", true, "")?);
        } else if !name.is_empty() {
            cards.push(Card::new("EXTNAME", name, "extension name")?);
        }
        let mut part = Self::with_data(super::Header::new(cards), Some(array.clone()));
        part.masked_fill = Some(masked);
        Ok(Some(part))
    }
}

/// Cards and elements of an image.
fn build_masked_image(array: &Array, is_primary: bool) -> Result<Option<(Vec<Card>, MaskedWriter)>> {
    let from = to_usize(array.datatype().item_size())?;
    let (bitpix, how, value, blank) = match array.datatype() {
        Datatype::Float16 => (-32, ValueOp::PromoteFloat, f32::NAN.to_be_bytes().to_vec(), None),
        Datatype::Float32 => (-32, ValueOp::Copy, f32::NAN.to_be_bytes().to_vec(), None),
        Datatype::Float64 => (-64, ValueOp::Copy, f64::NAN.to_be_bytes().to_vec(), None),
        datatype => {
            let Some((number, blank)) = choose_integer_and_blank(array)? else { return Ok(None) };
            let bitpix = i64::try_from(number.size() * 8).unwrap_or(64);
            (bitpix, widening_op(datatype, number), bytes_of(number, blank), Some(blank))
        }
    };
    let mut cards = hdu_data::cards_of_image(bitpix, None, array.shape())?;
    if let Some(blank) = blank {
        cards.push(Card::new("BLANK", blank, "masked elements")?);
    }
    if is_primary {
        cards.insert(0, Card::new("SIMPLE", true, "conforms to FITS standard")?);
    } else {
        cards = hdu_data::extension_of(cards)?;
    }
    let to = value.len();
    let masked = MaskedWriter {
        rows: RowConversion::single_value(how, from, to),
        fills: vec![FillValue { field: None, at: 0..to, value }],
    };
    Ok(Some((cards, masked)))
}

/// Cards and rows of a table.
fn build_masked_table(array: &Array) -> Result<Option<(Vec<Card>, MaskedWriter)>> {
    let (fields, _) = hdu_data::row_fields(array)?;
    let mut types = hdu_data::column_types(&fields)?;
    let is_struct = array.datatype().as_struct().is_some();
    let mut values = Vec::new();
    for (at, (field, column)) in fields.iter().zip(&mut types).enumerate() {
        let name = field.name_or(at);
        let part = if is_struct { array.field(&name)? } else { array.clone() };
        if field.datatype.is_integer() && part.masked_count()? > 0 {
            let Some((number, blank)) = choose_integer_and_blank(&part)? else { return Ok(None) };
            let code = match number {
                StoredNumber::U8 => 'B',
                StoredNumber::I16 => 'I',
                StoredNumber::I32 => 'J',
                _ => 'K',
            };
            *column = ColumnType {
                code,
                elements_per_cell: 1,
                zero: None,
                op: widening_op(&field.datatype, number),
                null: Some(blank),
            };
            values.push((name, bytes_of(number, blank)));
        } else {
            values.push((name, null_value(column)?));
        }
    }
    let mut cards = vec![Card::new("XTENSION", "BINTABLE", "binary table extension")?];
    cards.extend(hdu_data::table_cards(array, &types)?);
    let rows = hdu_data::new_table(array, &types)?;
    let fills = rows.steps.iter().zip(values).map(|(step, (name, value))| {
        let field = is_struct.then_some(name);
        FillValue { field, at: step.to.clone(), value }
    });
    let fills = fills.collect();
    Ok(Some((cards, MaskedWriter { rows, fills })))
}

/// The stored value of what is missing in a column that holds no integers; empty if it has none.
fn null_value(column: &ColumnType) -> Result<Vec<u8>> {
    Ok(match column.code {
        'E' | 'C' => f32::NAN.to_be_bytes().repeat(column.value_size()? / 4),
        'D' | 'M' => f64::NAN.to_be_bytes().repeat(column.value_size()? / 8),
        'L' | 'A' => vec![0; column.value_size()?],
        _ => Vec::new(),
    })
}

/// The type of stored integers that holds the elements of an array and one more, which no element equals.
fn choose_integer_and_blank(array: &Array) -> Result<Option<(StoredNumber, i64)>> {
    let range = unmasked_range(array)?;
    let narrowest = match array.datatype() {
        Datatype::Uint8 => StoredNumber::U8,
        Datatype::Int8 | Datatype::Int16 => StoredNumber::I16,
        Datatype::Uint16 | Datatype::Int32 => StoredNumber::I32,
        _ => StoredNumber::I64,
    };
    for number in [StoredNumber::U8, StoredNumber::I16, StoredNumber::I32, StoredNumber::I64] {
        if number.size() < narrowest.size() {
            continue;
        }
        let (low, high) = match number {
            StoredNumber::U8 => (0, i128::from(u8::MAX)),
            StoredNumber::I16 => (i16::MIN.into(), i16::MAX.into()),
            StoredNumber::I32 => (i32::MIN.into(), i32::MAX.into()),
            _ => (i64::MIN.into(), i64::MAX.into()),
        };
        let blank = match range {
            None => Some(low),
            Some((least, most)) if least < low || most > high => None,
            Some((least, _)) if least > low && number != StoredNumber::U8 => Some(low),
            Some((_, most)) if most < high => Some(high),
            Some((least, _)) if least > low => Some(low),
            _ => None,
        };
        if let Some(blank) = blank.and_then(|blank| i64::try_from(blank).ok()) {
            return Ok(Some((number, blank)));
        }
    }
    Ok(None)
}

/// The least and the greatest of the integers that are not masked.
fn unmasked_range(array: &Array) -> Result<Option<(i128, i128)>> {
    let (size, signed) = (to_usize(array.datatype().item_size())?.max(1), array.datatype().is_signed());
    let mut range: Option<(i128, i128)> = None;
    for block in array.row_blocks(BUFFER_SIZE) {
        let bytes = block.read_bytes(Byteorder::Big)?;
        let marks = block.mask_bytes()?.unwrap_or_else(|| vec![0; bytes.len() / size]);
        for (element, _) in bytes.chunks_exact(size).zip(marks).filter(|(_, mark)| *mark == 0) {
            let is_negative = signed && element.first().is_some_and(|byte| byte & 0x80 != 0);
            let n = element.iter().fold(if is_negative { -1i128 } else { 0 }, |n, byte| n << 8 | i128::from(*byte));
            range = Some(range.map_or((n, n), |(least, most)| (least.min(n), most.max(n))));
        }
    }
    Ok(range)
}

/// Returns the conversion of integers of a type to stored ones of another.
fn widening_op(datatype: &Datatype, number: StoredNumber) -> ValueOp {
    if *datatype == number.datatype() { ValueOp::Copy } else { ValueOp::Extend { signed: datatype.is_signed() } }
}

/// The last bytes of an integer, for the width of a stored number.
fn bytes_of(number: StoredNumber, n: i64) -> Vec<u8> {
    let bytes = n.to_be_bytes();
    bytes.get(8 - number.size()..).unwrap_or_default().to_vec()
}
