//! Differences between neighbours of a row, instead of the numbers themselves.

use crate::bytes::to_usize;
use crate::error::{Error, Result};

/// The numbers of `width` bytes, little-endian, of which each row of `row` has its first one as it is; 0 is one row.
pub(super) fn undo(mut bytes: Vec<u8>, width: u64, row: u64) -> Result<Vec<u8>> {
    let width = to_usize(width)?;
    if !matches!(width, 1 | 2 | 4 | 8) {
        return Err(Error::unsupported(format!("differences of numbers of {width} bytes, known are 1, 2, 4 and 8")));
    }
    let row = match to_usize(row)?.saturating_mul(width) {
        0 => bytes.len().max(1),
        row => row,
    };
    for row in bytes.chunks_mut(row) {
        let mut sum = 0u64;
        for number in row.chunks_exact_mut(width) {
            let mut word = [0; 8];
            word.iter_mut().zip(number.iter()).for_each(|(to, from)| *to = *from);
            sum = sum.wrapping_add(u64::from_le_bytes(word));
            number.iter_mut().zip(sum.to_le_bytes()).for_each(|(to, from)| *to = from);
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_begins_anew() {
        assert_eq!(undo(vec![1, 1, 255, 5, 1, 1], 1, 3).unwrap(), [1, 2, 1, 5, 6, 7]);
        assert_eq!(undo(vec![255, 0, 1, 0], 2, 0).unwrap(), [255, 0, 0, 1]);
        assert!(undo(vec![1], 3, 0).is_err());
    }
}
