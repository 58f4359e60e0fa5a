//! `.npy` files of numpy: one array, named `data`.

use super::text::{LayoutText, spell};
use crate::array::{Array, Byteorder, Datatype, Partly, Time};
use crate::bytes::SourceRef;
use crate::codec::filter::numbers;
use crate::error::{Error, Result};
use crate::limits::Limits;

/// The layout of a `.npy` file. Columns are said by `grid_order`, since the language has rows alone.
pub(super) fn derive(source: &SourceRef, limits: &Limits) -> Result<String> {
    let read = read(source.clone(), limits)?;
    let mut text = LayoutText::new("a .npy file", limits);
    declare(&read, 0, "data", &mut text)?;
    text.finish()
}

/// Reads the header of a `.npy` file; the columns that a layout has no datatype for are left out.
pub(super) fn read(source: SourceRef, limits: &Limits) -> Result<Partly> {
    let known = |datatype: &Datatype| spell(datatype, Byteorder::Little, &[], &mut String::new());
    Array::from_npy_partly(source, limits, &known)
}

/// An array whose `.npy` file begins at a byte of the file. A column that cannot be read is the item `NAME@COLUMN`.
pub(super) fn declare((array, missing, time): &Partly, start: u64, name: &str, text: &mut LayoutText) -> Result<()> {
    let (shape, offset) = (array.shape(), start.saturating_add(array.offset()));
    let date = word(array, time.as_ref())?;
    if let Some(word) = date.filter(|_| !array.is_empty()) {
        text.item(name, &format!("u1[{}] @{offset}", array.nbytes()))?;
        text.grid(shape, shape)?;
        elements(array, true, text)?;
        text.attribute("grid_filters", word.as_str())?;
        if !array.is_c_contiguous() {
            text.attribute("grid_order", "F")?;
        }
    } else if array.is_c_contiguous() {
        text.array(name, array.datatype(), array.byteorder(), shape, offset)?;
    } else {
        // The same bytes in rows, and what they are.
        let turned: Vec<u64> = shape.iter().rev().copied().collect();
        text.array(name, array.datatype(), array.byteorder(), &turned, offset)?;
        text.grid(shape, shape)?;
        // A string has a separate length, which is not an axis of the array.
        text.elements(array.datatype(), array.byteorder(), &[])?;
        text.attribute("grid_order", "F")?;
    }
    said(time.as_ref(), text)?;
    unreadable(missing, name, text)
}

/// The filter that makes strings of dates; `None` for all other elements.
pub(super) fn word(array: &Array, time: Option<&Time>) -> Result<Option<String>> {
    let Some((times, name)) = time.and_then(|time| time.date.as_ref()) else { return Ok(None) };
    let unit = numbers::unit(name).ok_or_else(|| Error::unsupported(format!("cannot read dates in the unit {name:?}")))?;
    Ok(Some(format!("dates({},{times},{unit})", u8::from(array.byteorder() == Byteorder::Big))))
}

/// The elements of an array, or the strings that are made of them.
pub(super) fn elements(array: &Array, are_dates: bool, text: &mut LayoutText) -> Result<()> {
    if are_dates {
        return text.elements(&Datatype::with_length("ascii", numbers::DATE as u64)?, Byteorder::Little, &[]);
    }
    text.elements(array.datatype(), array.byteorder(), &[])
}

/// The attribute for dates and durations.
pub(super) fn said(time: Option<&Time>, text: &mut LayoutText) -> Result<()> {
    time.map_or(Ok(()), |time| text.attribute("numpy_dtype", time.name.as_str()))
}

/// The columns of an array that cannot be read.
pub(super) fn unreadable(missing: &[(String, Error)], name: &str, text: &mut LayoutText) -> Result<()> {
    missing.iter().try_for_each(|(column, why)| text.unreadable(&format!("{name}@{column}"), why))
}
