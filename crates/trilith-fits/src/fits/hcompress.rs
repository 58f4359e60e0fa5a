//! HCOMPRESS coding of tiles: the H-transform (a two-dimensional Haar transform of sums and differences of
//! 2 by 2 values), its coefficients bit plane by bit plane as quadtrees with Huffman codes.
//!
//! FITS Standard 4.0, section 10.4.4, and R. L. White et al., "Compression and its use for FITS images"
//! (1992). The smoothing that a reader may do is not done.

use crate::codec::bit_io::BitReader;

/// Returns the cost of each byte of a tile's values, in bytes that are copied. The inverse transform passes over
/// all of them repeatedly, and every stored bit plane is one more pass.
pub(super) fn cost_per_byte(bytes: &[u8]) -> u64 {
    let planes = bytes.get(22..25).unwrap_or_default();
    24 + planes.iter().map(|n| u64::from(*n)).sum::<u64>() / 4
}

/// Decodes a tile of `count` values; None if the bytes are cut short, or of another size.
pub(super) fn decode_hcompress(bytes: &[u8], count: usize) -> Option<Vec<i32>> {
    let rest = bytes.strip_prefix(&[0xdd, 0x99])?;
    let (head, rest) = rest.split_at_checked(23)?;
    let number = |at: usize| head.get(at..at + 4).and_then(|b| b.first_chunk()).map(|b| i32::from_be_bytes(*b));
    let (rows, columns, scale) = (usize::try_from(number(0)?).ok()?, usize::try_from(number(4)?).ok()?, number(8)?);
    let sum = i64::from_be_bytes(*head.get(12..20)?.first_chunk()?);
    let planes: [u8; 3] = *head.get(20..23)?.first_chunk()?;
    if rows.checked_mul(columns)? != count || count == 0 || planes.iter().any(|n| *n > 62) {
        return None;
    }
    let mut image = CoefficientImage { values: vec![0; count], columns };
    let mut bits = BitReader::new(rest);
    let (top, left) = (rows.div_ceil(2), columns.div_ceil(2));
    let quarters = [
        (0, top, left, planes[0]),
        (left, top, columns / 2, planes[1]),
        (columns * top, rows / 2, left, planes[1]),
        (columns * top + left, rows / 2, columns / 2, planes[2]),
    ];
    for (start, rows, columns, planes) in quarters {
        for plane in (0..planes).rev() {
            image.read_plane(&mut bits, start, (rows, columns), plane)?;
        }
    }
    if bits.read_bits(4)? != 0 {
        return None;
    }
    bits.align();
    for value in image.values.iter_mut().filter(|value| **value != 0) {
        if bits.read_bits(1)? == 1 {
            *value = -*value;
        }
    }
    *image.values.first_mut()? = sum;
    if scale > 1 {
        for value in &mut image.values {
            *value = value.wrapping_mul(i64::from(scale));
        }
    }
    image.invert_transform(rows)?;
    Some(image.values.iter().map(|value| *value as i32).collect())
}

/// The exponent of the power of two that holds `n`.
fn ceil_log2(n: usize) -> u32 {
    n.max(1).next_power_of_two().trailing_zeros()
}

/// The lengths of one axis from coarse to fine: each is half the next, rounded up.
fn level_lengths(len: usize, log: u32) -> impl Iterator<Item = usize> {
    (0..log).rev().map(move |k| len.div_ceil(1 << k).max(1))
}

/// A code of four bits for a square of 2 by 2: its upper left is the highest bit.
fn decode_huffman_code(bits: &mut BitReader<'_>) -> Option<u8> {
    let three = bits.read_bits(3)?;
    if three < 4 {
        return Some(1 << three);
    }
    let four = three << 1 | bits.read_bits(1)?;
    if let Some(code) = [3, 5, 10, 12, 15].get(four as usize - 8) {
        return Some(*code);
    }
    let five = four << 1 | bits.read_bits(1)?;
    if let Some(code) = [6, 7, 9, 11, 13].get(five as usize - 26) {
        return Some(*code);
    }
    Some(if bits.read_bits(1)? == 0 { 0 } else { 14 })
}

struct CoefficientImage {
    values: Vec<i64>,
    columns: usize,
}

impl CoefficientImage {
    /// Reads one bit plane of a quarter that begins at `start`.
    fn read_plane(&mut self, bits: &mut BitReader<'_>, start: usize, (rows, columns): (usize, usize), plane: u8) -> Option<()> {
        let (half_rows, half_columns) = (rows.div_ceil(2), columns.div_ceil(2));
        let codes = match bits.read_bits(4)? {
            // Written uncompressed, four bits for each square.
            0 => (0..half_rows * half_columns).map(|_| bits.read_bits(4).map(|code| code as u8)).collect::<Option<Vec<_>>>()?,
            0xf => decode_quadtree(bits, rows, columns)?,
            _ => return None,
        };
        for (square, code) in codes.iter().enumerate().filter(|(_, code)| **code != 0) {
            let (row, column) = (square / half_columns.max(1) * 2, square % half_columns.max(1) * 2);
            for (bit, (down, right)) in [(3, (0, 0)), (2, (0, 1)), (1, (1, 0)), (0, (1, 1))] {
                if code >> bit & 1 == 1 && row + down < rows && column + right < columns {
                    *self.values.get_mut(start + (row + down) * self.columns + column + right)? |= 1 << plane;
                }
            }
        }
        Some(())
    }

    /// The inverse transform, from coarse to fine.
    fn invert_transform(&mut self, rows: usize) -> Option<()> {
        let log = ceil_log2(rows.max(self.columns));
        if log == 0 {
            return Some(());
        }
        let mut step = BitRounding::new(log);
        if let Some(first) = self.values.first_mut() {
            *first = BitRounding::round_to_bit(*first, step.bit0 << 2);
        }
        let passes: Vec<(usize, usize)> = level_lengths(rows, log).zip(level_lengths(self.columns, log)).collect();
        for (pass, (rows, columns)) in passes.iter().enumerate() {
            step.is_last = pass + 1 == passes.len();
            for row in 0..*rows {
                self.interleave_line(row * self.columns, 1, *columns)?;
            }
            for column in 0..*columns {
                self.interleave_line(column, self.columns, *rows)?;
            }
            self.unsplit_squares(*rows, *columns, &step)?;
            step.bit0 >>= 1;
        }
        Some(())
    }

    /// Puts the second half of a line between the values of the first.
    fn interleave_line(&mut self, start: usize, stride: usize, len: usize) -> Option<()> {
        let line = (0..len).map(|i| self.values.get(start + i * stride).copied()).collect::<Option<Vec<_>>>()?;
        let half = len.div_ceil(2);
        for (i, value) in line.into_iter().enumerate() {
            let place = if i < half { 2 * i } else { 2 * (i - half) + 1 };
            *self.values.get_mut(start + place * stride)? = value;
        }
        Some(())
    }

    /// Sums and differences of each square become its values.
    fn unsplit_squares(&mut self, rows: usize, columns: usize, step: &BitRounding) -> Option<()> {
        for row in (0..rows).step_by(2) {
            for column in (0..columns).step_by(2) {
                let at = row * self.columns + column;
                let (has_below, has_right) = (row + 1 < rows, column + 1 < columns);
                let coefficient = |place: usize, is_there: bool| if is_there { self.values.get(place).copied() } else { Some(0) };
                let sum = coefficient(at, true)?;
                let below = coefficient(at + self.columns, has_below)?;
                let right = coefficient(at + 1, has_right)?;
                let cross = coefficient(at + self.columns + 1, has_below && has_right)?;
                let made = match (has_below, has_right) {
                    (true, true) => step.unsplit_square(sum, below, right, cross),
                    (true, false) => {
                        let [a, b] = step.unsplit_pair(sum, below);
                        [a, 0, b, 0]
                    }
                    (false, true) => {
                        let [a, b] = step.unsplit_pair(sum, right);
                        [a, b, 0, 0]
                    }
                    (false, false) => [step.shift_right(sum), 0, 0, 0],
                };
                for (value, (down, next)) in made.into_iter().zip([(0, 0), (0, 1), (1, 0), (1, 1)]) {
                    if row + down < rows && column + next < columns {
                        *self.values.get_mut(at + down * self.columns + next)? = value;
                    }
                }
            }
        }
        Some(())
    }
}

/// The squares of 2 by 2 of one bit plane, from one square down to all.
fn decode_quadtree(bits: &mut BitReader<'_>, rows: usize, columns: usize) -> Option<Vec<u8>> {
    let log = ceil_log2(rows.max(columns));
    let mut codes = vec![decode_huffman_code(bits)?];
    let mut before = 1;
    let sizes: Vec<(usize, usize)> =
        level_lengths(rows, log).zip(level_lengths(columns, log)).take(log.saturating_sub(1) as usize).collect();
    for (rows, columns) in sizes {
        // Each bit of a code states whether a square of the next level has a separate code; the last square comes first.
        let mut next = vec![0u8; rows * columns];
        for (i, code) in next.iter_mut().enumerate().rev() {
            let (row, column) = (i / columns, i % columns);
            let above = *codes.get(row / 2 * before + column / 2)?;
            let bit = 3 - (row % 2 * 2 + column % 2);
            *code = if above >> bit & 1 == 1 { decode_huffman_code(bits)? } else { 0 };
        }
        before = columns;
        codes = next;
    }
    Some(codes)
}

/// Rounding of coefficients to whole numbers, at one level.
struct BitRounding {
    bit0: i64,
    is_last: bool,
}

impl BitRounding {
    fn new(log: u32) -> Self {
        Self { bit0: 1 << (log - 1), is_last: false }
    }

    /// The nearest multiple of a power of two; halves away from zero.
    fn round_to_bit(value: i64, bit: i64) -> i64 {
        let half = bit >> 1;
        value.wrapping_add(if value >= 0 { half } else { (half - 1).max(0) }) & bit.wrapping_neg()
    }

    fn shift_right(&self, value: i64) -> i64 {
        value >> if self.is_last { 2 } else { 1 }
    }

    /// Values from the sum of all four, the differences down and to the right, and the cross difference.
    fn unsplit_square(&self, mut sum: i64, down: i64, right: i64, cross: i64) -> [i64; 4] {
        let (bit0, bit1) = (self.bit0, self.bit0 << 1);
        let (down, right) = (Self::round_to_bit(down, bit1), Self::round_to_bit(right, bit1));
        let cross = Self::round_to_bit(cross, bit0);
        let low = cross & bit0;
        let pulled = |value: i64| if value >= 0 { value.wrapping_sub(low) } else { value.wrapping_add(low) };
        let (down, right) = (pulled(down), pulled(right));
        let lost = (cross ^ down ^ right) & bit1;
        sum = match sum >= 0 {
            true => sum.wrapping_add(low).wrapping_sub(lost),
            false if low == 0 => sum.wrapping_add(lost),
            false => sum.wrapping_add(low).wrapping_sub(lost),
        };
        let total = |a: i64, b: i64, c: i64| self.shift_right(sum.wrapping_add(a).wrapping_add(b).wrapping_add(c));
        let (no_down, no_right, no_cross) = (down.wrapping_neg(), right.wrapping_neg(), cross.wrapping_neg());
        [
            total(no_down, no_right, cross),
            total(no_down, right, no_cross),
            total(down, no_right, no_cross),
            total(down, right, cross),
        ]
    }

    /// Returns two values at an edge, from their sum and difference.
    fn unsplit_pair(&self, sum: i64, difference: i64) -> [i64; 2] {
        let bit1 = self.bit0 << 1;
        let difference = Self::round_to_bit(difference, bit1);
        let lost = difference & bit1;
        let sum = if sum >= 0 { sum.wrapping_sub(lost) } else { sum.wrapping_add(lost) };
        [self.shift_right(sum.wrapping_sub(difference)), self.shift_right(sum.wrapping_add(difference))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flat_tile_decodes_from_sum_alone() {
        // 4 by 4, scale 0, no bit planes: every value is the sum divided by the square root of their number twice.
        let mut bytes = vec![0xdd, 0x99];
        for number in [4i32, 4, 0] {
            bytes.extend(number.to_be_bytes());
        }
        bytes.extend((7i64 * 16 / 2).to_be_bytes());
        bytes.extend([0, 0, 0, 0]);
        let made = decode_hcompress(&bytes, 16).unwrap();
        assert!(made.iter().all(|value| *value == made[0]), "{made:?}");
    }

    #[test]
    fn what_ends_early_is_nothing() {
        assert_eq!(decode_hcompress(&[0xdd, 0x99, 0], 1), None);
        assert_eq!(decode_hcompress(&[0; 40], 1), None);
    }

    #[test]
    fn every_code_is_found() {
        let codes =
            [(0b000u32, 3), (0b001, 3), (0b010, 3), (0b011, 3), (0b1000, 4), (0b1001, 4), (0b1010, 4), (0b1011, 4), (0b1100, 4)];
        let longer = [(0b11010u32, 5), (0b11011, 5), (0b11100, 5), (0b11101, 5), (0b11110, 5), (0b11_1110, 6), (0b11_1111, 6)];
        let mut seen: Vec<u8> = codes
            .iter()
            .chain(&longer)
            .map(|(code, len)| {
                let byte = [(code << (8 - len)) as u8, 0];
                decode_huffman_code(&mut BitReader::new(&byte)).unwrap()
            })
            .collect();
        assert_eq!(seen, [1, 2, 4, 8, 3, 5, 10, 12, 15, 6, 7, 9, 11, 13, 0, 14]);
        seen.sort_unstable();
        assert!(seen.iter().enumerate().all(|(i, code)| usize::from(*code) == i));
    }
}
