//! The data of an HDU that is elsewhere, in a block of an ASDF file: what its header declares.

use super::card::CardValue;
use super::fits_file::meant_of;
use super::hdu::{Hdu, HduKind, bitpix, data_size, kind, required};
use super::header::Header;
use super::scaling::{Linear, Number};
use super::tree::{card_of, given};
use super::{image, table};
use crate::array::physical as physical_of;
use crate::array::{Array, Datatype};
use crate::array::{Declared, Meaning, Missing};
use crate::error::Result;
use crate::tree::Node;

/// The physical values of an array that is under `data` next to a `header` of a `fits` list: what the header declares is
/// applied if the elements are the stored ones that BITPIX or TFORM name, or the bytes of the whole data unit. Any
/// other array is what it is: who wrote physical values under such a header has applied it.
///
/// # Errors
/// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) for a header that is none, and keywords that
/// cannot be.
pub fn meant(header: Node<'_>, array: Array) -> Result<Array> {
    if !header.is_sequence() {
        return Ok(array);
    }
    let mut cards = Header::default();
    for node in header.items() {
        let card = card_of(&given(node)?).map_err(|e| node.error(e.to_string()))?;
        // asdf-astropy leaves out values of 0: a card without a value declares nothing.
        if *card.value() != CardValue::Undefined {
            cards.push(card);
        }
    }
    physical(cards, array)
}

/// The physical values of an array with this header, if its elements are those that are stored.
fn physical(header: Header, array: Array) -> Result<Array> {
    if !has_lengths(&header)? {
        // Without the lengths of all axes it is unknown whether the header describes this array.
        return Ok(array);
    }
    match kind(&header)? {
        HduKind::Image => {
            let number = image::number(bitpix(&header, "BITPIX")?);
            let linear = image::linear(&header)?;
            match image::shape(&header, "")?.as_deref() == Some(array.shape()) {
                true => physical_of(&array, &[applied(number, linear, array.datatype(), image::meaning(number, linear))]),
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
            meant_of(&hdu, array.source(), array.limits())
        }
        HduKind::Table => {
            let columns = table::columns(&header)?;
            let Some(fields) = array.datatype().as_struct().filter(|fields| fields.fields().len() == columns.len()) else {
                return Ok(array);
            };
            let mut meanings = Vec::new();
            for (column, field) in columns.iter().zip(fields.fields()) {
                let (stored, meaning) = column.meant()?;
                let linear = Linear { scale: column.scale, zero: column.zero, blank: column.null };
                meanings.push(match column.number() {
                    _ if stored.shape != field.shape => Meaning::STORED,
                    Some(number) => applied(number, linear, &field.datatype, meaning),
                    None if stored.datatype == field.datatype => meaning,
                    None => Meaning::STORED,
                });
            }
            physical_of(&array, &meanings)
        }
        _ => Ok(array),
    }
}

/// Returns `true` if a header has the length of each axis.
fn has_lengths(header: &Header) -> Result<bool> {
    let axes = required(header, "NAXIS")?.min(999);
    Ok((1..=axes).all(|axis| header.card(&format!("NAXIS{axis}")).is_some()))
}

/// Returns the part of a meaning that still applies to numbers of a type: all if it is the stored type, and the
/// missing values if it is the unsigned one.
fn applied(number: Number, linear: Linear, found: &Datatype, meaning: Meaning) -> Meaning {
    if *found == number.datatype() {
        return meaning;
    }
    let (Some(unsigned), Some(blank)) = (linear.unsigned(number), linear.blank) else { return Meaning::STORED };
    if *found != unsigned {
        return Meaning::STORED;
    }
    let missing = i128::from(blank) + linear.zero as i128;
    Meaning { missing: vec![Missing::Equal(Declared::Int(missing))], ..Meaning::STORED }
}
