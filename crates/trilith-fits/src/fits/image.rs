//! Images: the data unit of the primary HDU and of IMAGE extensions as an [`Array`].
//!
//! FITS Standard 4.0, sections 3.3.2, 4.4.2.5 and 5. NAXIS1 varies fastest, so that the shape of the
//! array in C order is the axes in reverse.

use std::sync::Arc;

use super::hdu::{Hdu, read_axis_lengths, read_bitpix};
use super::header::Header;
use super::scaling::{Scaling, StoredNumber, ValueForm, ValueOp, array_of};
use crate::array::physical as physical_of;
use crate::array::{Array, Datatype};
use crate::array::{ValueDecoding, ValueTransform};
use crate::bytes::SourceRef;
use crate::error::Result;
use crate::limits::Limits;

/// The type that BITPIX names.
pub(super) fn number_from_bitpix(bitpix: i64) -> StoredNumber {
    match bitpix {
        8 => StoredNumber::U8,
        16 => StoredNumber::I16,
        32 => StoredNumber::I32,
        64 => StoredNumber::I64,
        -32 => StoredNumber::F32,
        _ => StoredNumber::F64,
    }
}

/// Returns the physical type of an image's numbers: astropy's types, but 64-bit integers with BLANK alone keep
/// theirs.
pub(super) fn image_value_decoding(number: StoredNumber, linear: Scaling) -> ValueDecoding {
    let float = if matches!(number, StoredNumber::U8 | StoredNumber::I16 | StoredNumber::F32) {
        Datatype::Float32
    } else {
        Datatype::Float64
    };
    let mut meaning = linear.value_decoding(number, float.clone());
    if meaning.transform == ValueTransform::Identity && !meaning.missing_rules.is_empty() && number != StoredNumber::I64 {
        meaning.transform = ValueTransform::Linear { scale: 1.0, offset: 0.0, into: float };
    }
    meaning
}

/// The integer type of another sign, if the offset means it.
pub(super) fn unsigned_conversion(number: StoredNumber, linear: Scaling) -> Option<(ValueOp, Datatype)> {
    linear.unsigned_datatype(number).map(|datatype| (ValueOp::FlipSign, datatype))
}

/// BSCALE, BZERO and BLANK.
pub(super) fn read_image_scaling(header: &Header) -> Result<Scaling> {
    let scale = header.float("BSCALE")?.unwrap_or(1.0);
    let zero = header.float("BZERO")?.unwrap_or(0.0);
    // A blank that is not a whole number means nothing and is passed over, as others do.
    let blank = header.integer("BLANK").ok().flatten();
    Ok(Scaling { scale, zero, blank })
}

/// The shape of an image in C order; None for an HDU without data.
pub(super) fn read_image_shape(header: &Header, prefix: &str) -> Result<Option<Vec<u64>>> {
    let mut shape = read_axis_lengths(header, prefix)?;
    shape.reverse();
    Ok(Some(shape).filter(|shape| !shape.is_empty()))
}

/// The image of an HDU: as it is meant, or else as it is stored but with its sign.
pub(super) fn image_array(hdu: &Hdu, source: &SourceRef, form: ValueForm, limits: &Arc<Limits>) -> Result<Option<Array>> {
    let header = hdu.header();
    let Some(mut shape) = read_image_shape(header, "")? else { return Ok(None) };
    let number = number_from_bitpix(read_bitpix(header, "BITPIX")?);
    // Several groups or parameters next to an image: no known program writes them, but the standard has them.
    let expected = crate::array::element_count(&shape)?.checked_mul(number.size() as u64);
    let data = hdu.data();
    if expected != Some(data.end - data.start) {
        shape = vec![(data.end - data.start) / number.size() as u64];
    }
    let linear = read_image_scaling(header)?;
    if form == ValueForm::Stored {
        return array_of(source.clone(), data.start, shape, number, unsigned_conversion(number, linear), limits).map(Some);
    }
    let stored = array_of(source.clone(), data.start, shape, number, None, limits)?;
    physical_of(&stored, &[image_value_decoding(number, linear)]).map(Some)
}
