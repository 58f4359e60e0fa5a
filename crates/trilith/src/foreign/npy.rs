//! `.npy` files of numpy: one array, named `data`.

use super::text::LayoutText;
use crate::array::Array;
use crate::bytes::SourceRef;
use crate::error::Result;
use crate::limits::Limits;

/// The layout of a `.npy` file. Columns are said by `grid_order`, since the language has rows alone.
pub(super) fn derive(source: &SourceRef, limits: &Limits) -> Result<String> {
    let array = Array::from_npy(source.clone(), limits)?;
    let mut text = LayoutText::new("a .npy file", limits);
    declare(&array, 0, "data", &mut text)?;
    text.finish()
}

/// An array whose `.npy` file begins at a byte of the file.
pub(super) fn declare(array: &Array, start: u64, name: &str, text: &mut LayoutText) -> Result<()> {
    let (shape, offset) = (array.shape(), start.saturating_add(array.offset()));
    if array.is_c_contiguous() {
        return text.array(name, array.datatype(), array.byteorder(), shape, offset);
    }
    // The same bytes in rows, and what they are.
    let turned: Vec<u64> = shape.iter().rev().copied().collect();
    text.array(name, array.datatype(), array.byteorder(), &turned, offset)?;
    text.grid(shape, shape)?;
    // A text has a length of its own, which is none of the array's.
    text.elements(array.datatype(), array.byteorder(), &[])?;
    text.attribute("grid_order", "F")
}
