//! The places of the items of many files in one array of all of them.

use crate::bytes::{Source, split_runs};
use crate::error::{Error, Result};

/// The arrangement of the bytes of the files, in the order of the elements of the array.
#[derive(Debug, Clone)]
pub(super) enum ByteArrangement {
    /// The files follow each other, with this number of bytes each.
    Stacked(u64),
    /// Each file is in the corner of a box.
    Padded(BoxGrid),
    /// The rows of each file after those of the file before, as often as there are rows: the byte of a row of all files at
    /// which that of each file starts, and the end.
    Concatenated(Vec<u64>),
}

/// Boxes of one size.
#[derive(Debug, Clone)]
pub(super) struct BoxGrid {
    /// Bytes of an element, or of what follows the last length that differs.
    pub size: u64,
    /// The lengths of a box, the last one that differs being the last.
    pub dims: Vec<u64>,
    /// The lengths that each file has; zeros if it omits the item.
    pub lengths: Vec<Vec<u64>>,
}

/// Bytes that are next to each other in one file and in the array.
#[derive(Clone, Copy)]
pub(super) struct ByteRun {
    /// Number of the file.
    pub file_offset: usize,
    /// The byte of its item; None if the file does not have these elements.
    pub array_offset: Option<u64>,
    pub len: u64,
}

impl ByteArrangement {
    /// The bytes of the array from `offset` on, as far as one run of at most `most` bytes goes.
    pub(super) fn run(&self, offset: u64, most: u64) -> Result<ByteRun> {
        let after = || Error::malformed(format!("byte {offset} is after the last file"));
        let number = |at: u64| usize::try_from(at).map_err(|_| after());
        match self {
            Self::Stacked(span) => {
                let at = offset.checked_div(*span).ok_or_else(after)?;
                let from = offset - at * span;
                Ok(ByteRun { file_offset: number(at)?, array_offset: Some(from), len: (span - from).min(most) })
            }
            Self::Padded(boxes) => {
                let row = boxes.row_bytes();
                let (at, within) = (offset / boxes.box_bytes(), offset % boxes.box_bytes());
                let lengths = boxes.lengths.get(number(at)?).ok_or_else(after)?;
                let (mut index, column) = (within / row, within % row);
                let (mut line, mut scale, mut is_there) = (0u64, 1u64, true);
                // The last length is that of a row.
                for (dim, length) in boxes.dims.iter().zip(lengths).rev().skip(1) {
                    let place = index % (*dim).max(1);
                    index /= (*dim).max(1);
                    is_there &= place < *length;
                    line = line.saturating_add(place.saturating_mul(scale));
                    scale = scale.saturating_mul(*length);
                }
                let width = lengths.last().map_or(0, |length| length.saturating_mul(boxes.size));
                let found = is_there && column < width;
                let from = found.then(|| line.saturating_mul(width).saturating_add(column));
                let end = if found { width } else { row };
                Ok(ByteRun { file_offset: number(at)?, array_offset: from, len: (end - column).min(most) })
            }
            Self::Concatenated(starts) => {
                let whole = starts.last().copied().unwrap_or(0);
                let line = offset.checked_div(whole).ok_or_else(after)?;
                let within = offset - line * whole;
                let at = starts.partition_point(|start| *start <= within).checked_sub(1).ok_or_else(after)?;
                let (Some(start), Some(end)) = (starts.get(at), starts.get(at + 1)) else { return Err(after()) };
                let from = line.saturating_mul(end - start).saturating_add(within - start);
                Ok(ByteRun { file_offset: at, array_offset: Some(from), len: (end - within).min(most) })
            }
        }
    }

    /// Returns the same arrangement for marks of one byte, one for each element or for what follows the last length that differs.
    pub(super) fn of_marks(&self, size: u64) -> Self {
        match self {
            Self::Stacked(_) => Self::Stacked(1),
            Self::Padded(boxes) => Self::Padded(BoxGrid { size: 1, ..boxes.clone() }),
            Self::Concatenated(starts) => Self::Concatenated(starts.iter().map(|start| start / size.max(1)).collect()),
        }
    }
}

impl BoxGrid {
    /// Bytes of a row of a box.
    fn row_bytes(&self) -> u64 {
        self.dims.last().copied().unwrap_or(1).saturating_mul(self.size).max(1)
    }

    /// Bytes of a box.
    pub(super) fn box_bytes(&self) -> u64 {
        self.dims.iter().fold(self.size, |size, dim| size.saturating_mul(*dim)).max(1)
    }
}

/// Marks of the elements that are missing: those that a file does not have, and all of a file that is omitted.
pub(super) struct MissingMask {
    pub spread: ByteArrangement,
    pub len: u64,
    pub omitted: Vec<bool>,
}

impl Source for MissingMask {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        let run = |offset, wanted| self.spread.run(offset, wanted).map(|run| (run, run.len));
        split_runs(offset, into, run, |run, now| {
            let is_missing = run.array_offset.is_none() || self.omitted.get(run.file_offset).copied().unwrap_or(true);
            now.fill(u8::from(is_missing));
            Ok(())
        })
    }

    fn name(&self) -> &str {
        "the mask of a file set"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The runs of all bytes: the file of each byte, and its byte there.
    fn places(spread: &ByteArrangement, len: u64) -> Vec<(usize, Option<u64>)> {
        let mut found = Vec::new();
        while (found.len() as u64) < len {
            let run = spread.run(found.len() as u64, len).unwrap();
            found.extend((0..run.len).map(|n| (run.file_offset, run.array_offset.map(|from| from + n))));
        }
        found
    }

    #[test]
    fn padded_files_are_in_box_corners() {
        let lengths = vec![vec![1, 2], vec![2, 1], vec![0, 0]];
        let spread = ByteArrangement::Padded(BoxGrid { size: 1, dims: vec![2, 2], lengths });
        let expected = [
            (0, Some(0)),
            (0, Some(1)),
            (0, None),
            (0, None),
            (1, Some(0)),
            (1, None),
            (1, Some(1)),
            (1, None),
            (2, None),
            (2, None),
            (2, None),
            (2, None),
        ];
        assert_eq!(places(&spread, 12), expected);
    }

    #[test]
    fn rows_of_files_follow_each_other() {
        // Two rows, in each of which the three files have 1, 0 and 2 bytes.
        let spread = ByteArrangement::Concatenated(vec![0, 1, 1, 3]);
        let expected = [(0, Some(0)), (2, Some(0)), (2, Some(1)), (0, Some(1)), (2, Some(2)), (2, Some(3))];
        assert_eq!(places(&spread, 6), expected);
        assert!(spread.run(0, 9).unwrap().len == 1);
    }
}
