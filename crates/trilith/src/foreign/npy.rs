//! `.npy` files of numpy: one array, named `data`.

use super::text::{LayoutText, spell};
use crate::array::{Array, Byteorder, Datatype};
use crate::bytes::SourceRef;
use crate::error::{Error, Result};
use crate::limits::Limits;

/// The layout of a `.npy` file. Columns are said by `grid_order`, since the language has rows alone.
pub(super) fn derive(source: &SourceRef, limits: &Limits) -> Result<String> {
    let read = read(source.clone(), limits)?;
    let mut text = LayoutText::new("a .npy file", limits);
    declare(&read, 0, "data", &mut text)?;
    text.finish()
}

/// An array, and the columns of it that cannot be read.
pub(super) type Read = (Array, Vec<(String, Error)>);

/// Reads the header of a `.npy` file; the columns that a layout has no datatype for are left out.
pub(super) fn read(source: SourceRef, limits: &Limits) -> Result<Read> {
    let known = |datatype: &Datatype| spell(datatype, Byteorder::Little, &[], &mut String::new());
    Array::from_npy_partly(source, limits, &known)
}

/// An array whose `.npy` file begins at a byte of the file. A column that cannot be read is the item `NAME@COLUMN`.
pub(super) fn declare((array, missing): &Read, start: u64, name: &str, text: &mut LayoutText) -> Result<()> {
    let (shape, offset) = (array.shape(), start.saturating_add(array.offset()));
    if array.is_c_contiguous() {
        text.array(name, array.datatype(), array.byteorder(), shape, offset)?;
    } else {
        // The same bytes in rows, and what they are.
        let turned: Vec<u64> = shape.iter().rev().copied().collect();
        text.array(name, array.datatype(), array.byteorder(), &turned, offset)?;
        text.grid(shape, shape)?;
        // A text has a length of its own, which is none of the array's.
        text.elements(array.datatype(), array.byteorder(), &[])?;
        text.attribute("grid_order", "F")?;
    }
    unreadable(missing, name, text)
}

/// The columns of an array that cannot be read.
pub(super) fn unreadable(missing: &[(String, Error)], name: &str, text: &mut LayoutText) -> Result<()> {
    missing.iter().try_for_each(|(column, why)| text.unreadable(&format!("{name}@{column}"), why))
}
