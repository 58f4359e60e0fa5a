//! Random groups: an array of structures, each with parameters and an image.
//!
//! FITS Standard 4.0, section 6. The names of the parameters are those of PTYPE; of several equal ones, in capitals or not, all
//! but the first have `_` before them, as astropy calls them.

use std::sync::Arc;

use super::hdu::{Hdu, read_axis_lengths, read_bitpix, require_unsigned};
use super::header::Header;
use super::image;
use super::scaling::Scaling;
use crate::array::ValueDecoding;
use crate::array::physical;
use crate::array::{Array, Byteorder, Datatype, Field, StructType};
use crate::bytes::SourceRef;
use crate::error::{Error, Result};
use crate::limits::Limits;

/// Largest number of parameters that is read, equal to the limit for columns of a table.
const MAX_PARAMETERS: u64 = 999;

/// The groups of an HDU: a field for each parameter, and `DATA`.
pub(super) fn random_groups_array(hdu: &Hdu, source: &SourceRef, limits: &Arc<Limits>) -> Result<Array> {
    let header = hdu.header();
    let number = image::number_from_bitpix(read_bitpix(header, "BITPIX")?);
    let (count, groups) = (unsigned_or_default(header, "PCOUNT", 0)?, unsigned_or_default(header, "GCOUNT", 1)?);
    if count > MAX_PARAMETERS {
        return Err(Error::unsupported(format!("random groups of {count} parameters, at most {MAX_PARAMETERS} are read")));
    }
    let field = |name: String, shape| Field::new(name, number.datatype(), Byteorder::Big).with_shape(shape);
    let (mut fields, mut meanings): (Vec<Field>, Vec<ValueDecoding>) = (Vec::new(), Vec::new());
    for n in 1..=count {
        let mut name = header.text(&format!("PTYPE{n}")).map(str::trim).unwrap_or_default().to_owned();
        while fields.iter().any(|known| known.name.as_ref().is_some_and(|known| known.eq_ignore_ascii_case(&name))) {
            name.insert(0, '_');
        }
        let scale = header.float(&format!("PSCAL{n}"))?.unwrap_or(1.0);
        let zero = header.float(&format!("PZERO{n}"))?.unwrap_or(0.0);
        fields.push(field(name, Vec::new()));
        meanings.push(Scaling { scale, zero, blank: None }.value_decoding(number, Datatype::Float64));
    }
    let shape: Vec<u64> = read_axis_lengths(header, "")?.into_iter().skip(1).rev().collect();
    fields.push(field("DATA".to_owned(), shape));
    meanings.push(image::read_image_scaling(header)?.value_decoding(number, Datatype::Float64));
    let row = Datatype::Struct(Arc::new(StructType::packed_from(fields)?));
    let array = Array::new(source.clone(), hdu.data().start, row, Byteorder::Big, vec![groups])?;
    physical(&array.with_limits(Arc::clone(limits)), &meanings)
}

fn unsigned_or_default(header: &Header, keyword: &str, default: u64) -> Result<u64> {
    if header.card(keyword).is_some() { require_unsigned(header, keyword) } else { Ok(default) }
}
