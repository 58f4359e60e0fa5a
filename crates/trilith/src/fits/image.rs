//! Images: the data unit of the primary HDU and of IMAGE extensions as an [`Array`].
//!
//! FITS Standard 4.0, sections 3.3.2, 4.4.2.5 and 5. NAXIS1 varies fastest, so that the shape of the
//! array in C order is the axes in reverse.

use std::sync::Arc;

use super::hdu::{Hdu, axes, bitpix};
use super::header::Header;
use super::scaling::{How, Linear, Number, array_of};
use crate::array::physical as physical_of;
use crate::array::{Array, Datatype};
use crate::array::{Meaning, Reading};
use crate::bytes::SourceRef;
use crate::error::Result;
use crate::limits::Limits;

/// The type that BITPIX names.
pub(super) fn number(bitpix: i64) -> Number {
    match bitpix {
        8 => Number::U8,
        16 => Number::I16,
        32 => Number::I32,
        64 => Number::I64,
        -32 => Number::F32,
        _ => Number::F64,
    }
}

/// Returns the physical type of an image's numbers: astropy's types, but 64-bit integers with BLANK alone keep
/// theirs.
pub(super) fn meaning(number: Number, linear: Linear) -> Meaning {
    let float = if matches!(number, Number::U8 | Number::I16 | Number::F32) { Datatype::Float32 } else { Datatype::Float64 };
    let mut meaning = linear.meaning(number, float.clone());
    if meaning.reading == Reading::Stored && !meaning.missing.is_empty() && number != Number::I64 {
        meaning.reading = Reading::Linear { scale: 1.0, offset: 0.0, into: float };
    }
    meaning
}

/// The integer type of another sign, if the offset means it.
pub(super) fn unsigned(number: Number, linear: Linear) -> Option<(How, Datatype)> {
    linear.unsigned(number).map(|datatype| (How::Flip, datatype))
}

/// BSCALE, BZERO and BLANK.
pub(super) fn linear(header: &Header) -> Result<Linear> {
    let scale = header.number("BSCALE")?.unwrap_or(1.0);
    let zero = header.number("BZERO")?.unwrap_or(0.0);
    // A blank that is no whole number means nothing and is passed over, as others do.
    let blank = header.integer("BLANK").ok().flatten();
    Ok(Linear { scale, zero, blank })
}

/// The shape of an image in C order; None for an HDU without data.
pub(super) fn shape(header: &Header, prefix: &str) -> Result<Option<Vec<u64>>> {
    let mut shape = axes(header, prefix)?;
    shape.reverse();
    Ok(Some(shape).filter(|shape| !shape.is_empty()))
}

/// The image of an HDU: as it is meant, or else as it is stored but with its sign.
pub(super) fn array(hdu: &Hdu, source: &SourceRef, physical: bool, limits: &Arc<Limits>) -> Result<Option<Array>> {
    let header = hdu.header();
    let Some(mut shape) = shape(header, "")? else { return Ok(None) };
    let number = number(bitpix(header, "BITPIX")?);
    // Several groups or parameters next to an image: no known program writes them, but the standard has them.
    let expected = crate::array::element_count(&shape)?.checked_mul(number.size() as u64);
    let data = hdu.data();
    if expected != Some(data.end - data.start) {
        shape = vec![(data.end - data.start) / number.size() as u64];
    }
    let linear = linear(header)?;
    if !physical {
        return array_of(source.clone(), data.start, shape, number, unsigned(number, linear), limits).map(Some);
    }
    let stored = array_of(source.clone(), data.start, shape, number, None, limits)?;
    physical_of(&stored, &[meaning(number, linear)]).map(Some)
}
