//! Differences between neighbours of a row, instead of the numbers themselves.

use crate::bytes::to_usize;
use crate::error::{Error, Result};

/// Numbers whose rows hold differences.
pub(super) struct DeltaRows {
    /// Bytes of a number.
    width: usize,
    /// Bytes of a row.
    row: usize,
    /// Distance between the two numbers of a difference.
    step: usize,
    is_big: bool,
}

impl DeltaRows {
    /// Reads the arguments of a filter: bytes of a number; numbers of a row, 0 for one row; distance of the
    /// compared numbers, 1 unless given; 1 if the most significant byte comes first.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for other lengths than 1, 2, 4 and 8.
    pub(super) fn from_arguments(arguments: &[u64], len: usize) -> Result<Self> {
        Self::check_arguments(arguments, len, &[1, 2, 4, 8])
    }

    /// Does the same as [`DeltaRows::from_arguments`], for the bytes of floats.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for other lengths than 2, 3, 4 and 8.
    pub(super) fn from_float_arguments(arguments: &[u64], len: usize) -> Result<Self> {
        Self::check_arguments(arguments, len, &[2, 3, 4, 8])
    }

    fn check_arguments(arguments: &[u64], len: usize, widths: &[usize]) -> Result<Self> {
        let argument = |at: usize, without: u64| to_usize(arguments.get(at).copied().unwrap_or(without));
        let width = argument(0, 0)?;
        if !widths.contains(&width) {
            return Err(Error::unsupported(format!("differences of numbers of {width} bytes, known are {widths:?}")));
        }
        let row = match argument(1, 0)?.saturating_mul(width) {
            0 => len.max(1),
            row => row,
        };
        Ok(Self { width, row, step: argument(2, 1)?.max(1), is_big: argument(3, 0)? == 1 })
    }

    /// The numbers. The first ones of each row are unchanged.
    pub(super) fn decode(&self, mut bytes: Vec<u8>) -> Vec<u8> {
        for row in bytes.chunks_mut(self.row) {
            match (self.width, self.is_big) {
                (1, _) => self.prefix_sums(row, u8::from_le_bytes, u8::wrapping_add, u8::to_le_bytes),
                (2, false) => self.prefix_sums(row, u16::from_le_bytes, u16::wrapping_add, u16::to_le_bytes),
                (2, true) => self.prefix_sums(row, u16::from_be_bytes, u16::wrapping_add, u16::to_be_bytes),
                (4, false) => self.prefix_sums(row, u32::from_le_bytes, u32::wrapping_add, u32::to_le_bytes),
                (4, true) => self.prefix_sums(row, u32::from_be_bytes, u32::wrapping_add, u32::to_be_bytes),
                (_, false) => self.prefix_sums(row, u64::from_le_bytes, u64::wrapping_add, u64::to_le_bytes),
                (_, true) => self.prefix_sums(row, u64::from_be_bytes, u64::wrapping_add, u64::to_be_bytes),
            }
        }
        bytes
    }

    /// Adds to each number the one `step` before it.
    fn prefix_sums<const N: usize, T>(
        &self,
        row: &mut [u8],
        read: fn([u8; N]) -> T,
        add: fn(T, T) -> T,
        write: fn(T) -> [u8; N],
    ) {
        let (numbers, _) = row.as_chunks_mut::<N>();
        for at in self.step..numbers.len() {
            if let Some(before) = numbers.get(at - self.step).copied()
                && let Some(number) = numbers.get_mut(at)
            {
                *number = write(add(read(*number), read(before)));
            }
        }
    }

    /// Does the same as [`DeltaRows::decode`], for floats. A row has the first bytes of all numbers first, the most
    /// significant ones, and the differences of all its bytes. The output is big-endian.
    pub(super) fn decode_floats(&self, bytes: Vec<u8>) -> Vec<u8> {
        let whole = Self { width: 1, row: self.row, step: self.step, is_big: false };
        let planes = whole.decode(bytes);
        let mut out = vec![0; planes.len()];
        for (from, to) in planes.chunks(self.row).zip(out.chunks_mut(self.row)) {
            super::shuffle::unshuffle(self.width, from, to);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn undo(bytes: &[u8], arguments: &[u64]) -> Result<Vec<u8>> {
        Ok(DeltaRows::from_arguments(arguments, bytes.len())?.decode(bytes.to_vec()))
    }

    #[test]
    fn each_row_begins_anew() {
        assert_eq!(undo(&[1, 1, 255, 5, 1, 1], &[1, 3]).unwrap(), [1, 2, 1, 5, 6, 7]);
        assert_eq!(undo(&[255, 0, 1, 0], &[2, 0]).unwrap(), [255, 0, 0, 1]);
        assert_eq!(undo(&[0, 255, 0, 1], &[2, 0, 1, 1]).unwrap(), [0, 255, 1, 0]);
        assert_eq!(undo(&[1, 2, 3, 1, 1, 1], &[1, 0, 3]).unwrap(), [1, 2, 3, 2, 3, 4]);
        assert!(undo(&[1], &[3, 0]).is_err() && undo(&[1], &[]).is_err());
    }

    #[test]
    fn floats_have_their_first_bytes_first() {
        // The two 16-bit numbers 0x0102 and 0x0304 are the planes 01 03 02 04, and their differences are 01 02 ff 02.
        let rows = DeltaRows::from_float_arguments(&[2, 2], 4).unwrap();
        assert_eq!(rows.decode_floats(vec![1, 2, 255, 2]), [1, 2, 3, 4]);
        let rows = DeltaRows::from_float_arguments(&[3, 2], 6).unwrap();
        assert_eq!(rows.decode_floats(vec![1, 3, 254, 3, 254, 3]), [1, 2, 3, 4, 5, 6]);
        assert!(DeltaRows::from_float_arguments(&[1, 2], 4).is_err() && DeltaRows::from_float_arguments(&[0, 2], 4).is_err());
    }
}
