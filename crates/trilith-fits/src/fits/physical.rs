//! The data of an HDU that is elsewhere, in a block of an ASDF file: what its header declares.

use super::card::CardValue;
use super::fits_file::physical_array;
use super::hdu::{Hdu, HduKind, data_size, parse_hdu_kind, read_bitpix, require_unsigned};
use super::header::Header;
use super::scaling::{Scaling, StoredNumber};
use super::tree::{card_of, node_triple};
use super::{image, table};
use crate::array::physical as physical_of;
use crate::array::{Array, Datatype};
use crate::array::{DeclaredNumber, MissingRule, ValueDecoding};
use crate::error::Result;
use crate::tree::Node;

/// Returns the physical values of an array that is under `data` next to a `header` of a `fits` list. The cards of the header are
/// applied if the elements are the stored ones that BITPIX or TFORM name, or the bytes of the whole data unit. Any other array
/// stays unchanged, because a program that writes physical values under such a header has applied the cards already.
///
/// # Errors
/// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) for a header that is none, and keywords that
/// cannot be.
pub fn to_physical(header: Node<'_>, array: Array) -> Result<Array> {
    if !header.is_sequence() {
        return Ok(array);
    }
    let mut cards = Header::default();
    for node in header.items() {
        let card = card_of(&node_triple(node)?).map_err(|e| node.error(e.to_string()))?;
        // asdf-astropy leaves out values of 0: a card without a value declares nothing.
        if *card.value() != CardValue::Undefined {
            cards.push(card);
        }
    }
    apply_header(cards, array)
}

/// The physical values of an array with this header, if its elements are those that are stored.
fn apply_header(header: Header, array: Array) -> Result<Array> {
    if !has_lengths(&header)? {
        // Without the lengths of all axes it is unknown whether the header describes this array.
        return Ok(array);
    }
    match parse_hdu_kind(&header)? {
        HduKind::Image => {
            let number = image::number_from_bitpix(read_bitpix(&header, "BITPIX")?);
            let linear = image::read_image_scaling(&header)?;
            match image::read_image_shape(&header, "")?.as_deref() == Some(array.shape()) {
                true => physical_of(
                    &array,
                    &[applicable_decoding(number, linear, array.datatype(), image::image_value_decoding(number, linear))],
                ),
                false => Ok(array),
            }
        }
        HduKind::Other => Ok(array),
        of_table if array.datatype().as_struct().is_none() => {
            // The bytes of the data unit.
            let is_whole = *array.datatype() == Datatype::Uint8 && array.shape() == [data_size(&header)?];
            if !is_whole || !array.is_c_contiguous() {
                return Ok(array);
            }
            let (start, end) = (array.offset(), array.offset().saturating_add(array.nbytes()));
            let hdu = Hdu { number: 1, header, kind: of_table, start: 0, data: start..end, problem: None };
            physical_array(&hdu, array.source(), array.limits())
        }
        HduKind::Table => {
            let columns = table::columns(&header)?;
            let Some(fields) = array.datatype().as_struct().filter(|fields| fields.fields().len() == columns.len()) else {
                return Ok(array);
            };
            let mut meanings = Vec::new();
            for (column, field) in columns.iter().zip(fields.fields()) {
                let (stored, meaning) = column.field_decoding()?;
                let linear = Scaling { scale: column.scale, zero: column.zero, blank: column.null };
                meanings.push(match column.stored_number() {
                    _ if stored.shape != field.shape => ValueDecoding::IDENTITY,
                    Some(number) => applicable_decoding(number, linear, &field.datatype, meaning),
                    None if stored.datatype == field.datatype => meaning,
                    None => ValueDecoding::IDENTITY,
                });
            }
            physical_of(&array, &meanings)
        }
        _ => Ok(array),
    }
}

/// Returns `true` if a header has the length of each axis.
fn has_lengths(header: &Header) -> Result<bool> {
    let axes = require_unsigned(header, "NAXIS")?.min(999);
    Ok((1..=axes).all(|axis| header.card(&format!("NAXIS{axis}")).is_some()))
}

/// Returns the part of a meaning that still applies to numbers of a type: all if it is the stored type, and the
/// missing values if it is the unsigned one.
fn applicable_decoding(number: StoredNumber, linear: Scaling, found: &Datatype, meaning: ValueDecoding) -> ValueDecoding {
    if *found == number.datatype() {
        return meaning;
    }
    let (Some(unsigned), Some(blank)) = (linear.unsigned_datatype(number), linear.blank) else { return ValueDecoding::IDENTITY };
    if *found != unsigned {
        return ValueDecoding::IDENTITY;
    }
    let missing = i128::from(blank) + linear.zero as i128;
    ValueDecoding { missing_rules: vec![MissingRule::Equal(DeclaredNumber::Int(missing))], ..ValueDecoding::IDENTITY }
}
