//! Lists and numbers taken as one array.

use crate::array::{Array, Byteorder, Datatype};
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::yaml::Scalar;

/// The items of a list as one array with a leading axis.
pub(super) fn stack_arrays(items: impl Iterator<Item = Result<Array>>, limits: &Limits) -> Result<Array> {
    let mut arrays = Vec::new();
    for item in items {
        if arrays.len() as u64 >= limits.items {
            return Err(Limits::exceeded_error("items", limits.items, "the list has more items"));
        }
        arrays.push(item?);
    }
    Array::stack(arrays)
        .map_err(|error| Error::invalid_input(format!("not an array of one datatype: {}", error.message())).hint(FORMAT_HINT))
}

const FORMAT_HINT: &str = "write it as .json, .yaml or .txt, or name one array in it";

/// Returns a number, a boolean or a string as an array without axes.
pub(super) fn scalar_array(value: &Scalar<'_>) -> Result<Array> {
    match value {
        Scalar::Int(number) => Array::from_slice(&[*number], &[]),
        Scalar::Float(number) => Array::from_slice(&[*number], &[]),
        Scalar::Bool(truth) => Array::from_slice(&[*truth], &[]),
        Scalar::Str(text) => {
            let letters = u32::try_from(text.chars().count()).map_err(|_| not_an_array_error("text of over 2^32 characters"))?;
            let bytes = text.chars().flat_map(|c| u32::from(c).to_le_bytes()).collect();
            Array::from_bytes(bytes, Datatype::Ucs4(letters), Byteorder::Little, Vec::new())
        }
        Scalar::Null => Err(not_an_array_error("null")),
        Scalar::BigInt(_) => Err(not_an_array_error("integer of over 64 bits")),
        Scalar::Timestamp(_) => Err(not_an_array_error("date")),
        Scalar::Binary(_) => Err(not_an_array_error("binary text")),
    }
}

/// The refusal of what cannot be taken as an array.
pub(super) fn not_an_array_error(what: &str) -> Error {
    let article = if what.starts_with("a ") || matches!(what, "null") {
        ""
    } else if what.starts_with('a') {
        "an "
    } else {
        "a "
    };
    Error::invalid_input(format!("not an array of one datatype: it is {article}{what}")).hint(FORMAT_HINT)
}
