//! The values of masked elements in a data unit that is written.

use std::ops::Range;

use super::scaling::RowConversion;
use crate::array::Array;
use crate::error::Result;

/// Conversion of the elements of a masked array to a data unit.
#[derive(Debug, Clone)]
pub(super) struct MaskedWriter {
    pub rows: RowConversion,
    pub fills: Vec<FillValue>,
}

/// The value of masked elements.
#[derive(Debug, Clone)]
pub(super) struct FillValue {
    /// The field; None if the array is not a structure.
    pub field: Option<String>,
    /// Bytes of a stored row.
    pub at: Range<usize>,
    /// Bytes of one stored value.
    pub value: Vec<u8>,
}

impl MaskedWriter {
    /// Puts the values of masked elements into the stored rows of a part of the array.
    ///
    /// # Errors
    /// Returns what reading the mask returns.
    pub(super) fn fill_masked(&self, block: &Array, stored: &mut [u8]) -> Result<()> {
        for fill in self.fills.iter().filter(|fill| !fill.at.is_empty() && !fill.value.is_empty()) {
            let marks = match &fill.field {
                Some(name) => block.field(name)?.mask_bytes()?,
                None => block.mask_bytes()?,
            };
            let Some(marks) = marks else { continue };
            let each = (fill.at.len() / fill.value.len()).max(1);
            for (row, marks) in stored.chunks_exact_mut(self.rows.output_size.max(1)).zip(marks.chunks_exact(each)) {
                let Some(values) = row.get_mut(fill.at.clone()) else { continue };
                let values = values.chunks_exact_mut(fill.value.len()).zip(marks);
                values.filter(|(_, mark)| **mark != 0).for_each(|(value, _)| value.copy_from_slice(&fill.value));
            }
        }
        Ok(())
    }
}
