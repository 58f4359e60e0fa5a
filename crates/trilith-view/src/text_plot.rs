//! Plots out of characters, for terminals: [`line`](fn@line) and [`bars`]; nothing in them is coloured.

use crate::decimate::DecimatedSeries;
use crate::statistics::Histogram;

/// Heights of a bar in one character.
const BAR_CHARS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Dots in a character of Braille: two columns, four rows from the top.
const BRAILLE_DOTS: [[u32; 4]; 2] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]];

/// Returns the number of points that a series needs to be drawn in this many characters.
pub const fn points(width: usize) -> usize {
    width * 2
}

/// A series as lines of Braille dots, `width` by `height` characters, the greatest at the top. Empty if nothing is
/// finite.
///
/// ```
/// let array = trilith::Array::from_slice(&[0f32, 1.0, 2.0, 3.0], &[4])?;
/// let series = trilith_view::DecimatedSeries::new(&array, trilith_view::text_plot::points(2))?;
/// assert_eq!(trilith_view::text_plot::line(&series, 2, 1), ["⡠⠊"]);
/// # Ok::<(), trilith::Error>(())
/// ```
pub fn line(series: &DecimatedSeries, width: usize, height: usize) -> Vec<String> {
    let Some((low, high)) = series.range() else { return Vec::new() };
    let rows = height.max(1) * 4;
    let row = |x: f64| {
        let share = if high > low { (x - low) / (high - low) } else { 0.5 };
        ((1.0 - share) * (rows - 1) as f64).round() as usize
    };
    let mut cells = vec![vec![0u32; width]; height.max(1)];
    let mut dot = |column: usize, row: usize| {
        let cell = cells.get_mut(row / 4).and_then(|line| line.get_mut(column / 2));
        if let (Some(cell), Some(bit)) = (cell, BRAILLE_DOTS.get(column % 2).and_then(|dots| dots.get(row % 4))) {
            *cell |= bit;
        }
    };
    let columns = points(width);
    let mut before: Option<(usize, usize)> = None;
    for column in 0..columns {
        // If there are fewer points than columns, points repeat, and the line has steps.
        let at = column * series.points.len() / columns.max(1);
        let Some(point) = series.points.get(at).filter(|point| !point.low.is_nan()) else {
            before = None;
            continue;
        };
        let (mut top, mut bottom) = (row(point.high), row(point.low));
        let own = (top, bottom);
        // The column extends to the previous one, so that the line does not break.
        if let Some((above, below)) = before {
            if below + 1 < top {
                top = below + 1;
            } else if above > bottom + 1 {
                bottom = above - 1;
            }
        }
        (top..=bottom).for_each(|row| dot(column, row));
        before = Some(own);
    }
    let text = |line: Vec<u32>| line.into_iter().filter_map(|dots| char::from_u32(0x2800 + dots)).collect();
    cells.into_iter().map(text).collect()
}

/// A histogram as bars, `height` lines of a character for each bin; a bin with anything in it is never empty.
///
/// ```
/// use trilith_view::{Limits, Histogram, text_plot};
/// let array = trilith::Array::from_slice(&[1u8, 1, 2, 4], &[4])?;
/// let histogram = Histogram::compute(&array, Limits { low: 1.0, high: 4.0 }, 3)?;
/// assert_eq!(text_plot::bars(&histogram, 1), ["█▄▄"]);
/// # Ok::<(), trilith::Error>(())
/// ```
pub fn bars(histogram: &Histogram, height: usize) -> Vec<String> {
    let most = histogram.counts.iter().copied().max().unwrap_or(0).max(1);
    let full = (height.max(1) * 8) as f64;
    let eighths = |count: u64| {
        let part = (count as f64 / most as f64 * full).round() as usize;
        if count > 0 { part.max(1) } else { 0 }
    };
    let line = |row: usize| {
        let below = (height.max(1) - 1 - row) * 8;
        let bar = |count: &u64| BAR_CHARS.get(eighths(*count).saturating_sub(below).min(8)).copied().unwrap_or(' ');
        histogram.counts.iter().map(bar).collect()
    };
    (0..height.max(1)).map(line).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]

    use trilith::Array;

    use super::*;

    #[test]
    fn line_is_continuous_and_skips_nan() {
        let array = Array::from_slice(&[0f32, 9.0, 0.0, f32::NAN, 5.0, 5.0], &[6]).unwrap();
        let drawn = line(&DecimatedSeries::new(&array, points(3)).unwrap(), 3, 2);
        assert_eq!(drawn.len(), 2);
        assert!(drawn.iter().all(|line| line.chars().count() == 3));
        let nothing = Array::from_slice(&[f32::NAN], &[1]).unwrap();
        assert!(line(&DecimatedSeries::new(&nothing, 8).unwrap(), 4, 2).is_empty());
        let level = Array::from_slice(&[1e300f64; 4], &[4]).unwrap();
        assert_eq!(line(&DecimatedSeries::new(&level, 4).unwrap(), 2, 1), ["⠤⠤"]);
    }
}
