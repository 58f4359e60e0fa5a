//! Reduction of many elements to one pixel: the array is read once, in runs, on all threads.

use trilith::bytes::to_usize;
use trilith::{Array, Index, Result};

use super::Raster;
use crate::numeric::{Numbers, Run, Sample, with_type};

/// A running reduction of the elements of a pixel.
pub(super) trait Reduce: Copy + Default + Send {
    /// Takes in finite elements, one after the other in a row; false if some are not finite, and nothing is taken in.
    fn take_all<T: Sample>(&mut self, bytes: &[u8]) -> bool;

    /// Takes in one finite element.
    fn take(&mut self, x: f64);

    /// Takes in what was kept of others.
    fn add(&mut self, other: &Self);

    /// The number of the pixel; None if no element was finite.
    fn value(&self) -> Option<f64>;
}

/// The mean.
#[derive(Clone, Copy, Default)]
pub(super) struct Mean {
    sum: f64,
    count: u64,
}

impl Reduce for Mean {
    #[inline]
    fn take_all<T: Sample>(&mut self, bytes: &[u8]) -> bool {
        let numbers = T::all(bytes);
        let count = numbers.len() as u64;
        let sum: f64 = numbers.map(T::double).sum();
        if T::FLOAT && !sum.is_finite() {
            return false;
        }
        self.sum += sum;
        self.count += count;
        true
    }

    fn take(&mut self, x: f64) {
        self.sum += x;
        self.count += 1;
    }

    fn add(&mut self, other: &Self) {
        self.sum += other.sum;
        self.count += other.count;
    }

    fn value(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }
}

/// The greatest.
#[derive(Clone, Copy, Default)]
pub(super) struct Most(Option<f64>);

impl Reduce for Most {
    fn take_all<T: Sample>(&mut self, bytes: &[u8]) -> bool {
        if T::FLOAT && T::all(bytes).any(|number| !number.is_finite()) {
            return false;
        }
        let most = T::all(bytes).reduce(|a, b| if b > a { b } else { a });
        if let Some(most) = most {
            self.take(most.double());
        }
        true
    }

    fn take(&mut self, x: f64) {
        if self.0.is_none_or(|most| x > most) {
            self.0 = Some(x);
        }
    }

    fn add(&mut self, other: &Self) {
        if let Some(x) = other.0 {
            self.take(x);
        }
    }

    fn value(&self) -> Option<f64> {
        self.0
    }
}

/// A pixel in the making.
#[derive(Clone, Copy, Default)]
struct Cell<R> {
    kept: R,
    /// The infinite number with the largest part among those that are not finite; NaN if one is not a number.
    other: Option<f64>,
}

impl<R: Reduce> Cell<R> {
    fn odd(&mut self, x: f64) {
        self.other = Some(match self.other {
            Some(known) if known.is_nan() || x.is_nan() => f64::NAN,
            Some(known) => known.max(x),
            None => x,
        });
    }

    fn add(&mut self, other: &Self) {
        self.kept.add(&other.kept);
        if let Some(x) = other.other {
            self.odd(x);
        }
    }
}

/// Returns the first source index of each pixel, for the rows or columns of the source.
fn bounds(from: usize, to: usize) -> Vec<usize> {
    // Pixel p has the indices i with i * to / from == p.
    (0..=to).map(|pixel| (pixel * from).div_ceil(to)).collect()
}

/// A plane with no fewer elements than pixels.
pub(super) fn reduced<R: Reduce>(numbers: &Numbers, columns: usize, rows: usize) -> Result<Raster> {
    with_type!(numbers, |T| reduced_from::<T, R>(numbers, columns, rows))
}

fn reduced_from<T: Sample, R: Reduce>(numbers: &Numbers, columns: usize, rows: usize) -> Result<Raster> {
    let [height, width] = *numbers.shape() else { return Ok(blank(columns, rows)) };
    let (height, width) = (to_usize(height)?, to_usize(width)?);
    let plan = Plan { width, height, rows, bounds: bounds(width, columns) };
    let mut cells = vec![Cell::<R>::default(); columns * rows];
    numbers.runs(&|run| plan.of_run::<T, R>(run), &mut |(first, part)| {
        for (all, part) in cells.iter_mut().skip(first * columns).zip(&part) {
            all.add(part);
        }
        Ok(())
    })?;
    let is_masked = |cell: &Cell<R>| cell.kept.value().is_none() && cell.other.is_none();
    let masked = if cells.iter().any(is_masked) { cells.iter().map(is_masked).collect() } else { Vec::new() };
    let values = cells.iter().map(|cell| cell.kept.value().or(cell.other).unwrap_or(f64::NAN)).collect();
    Ok(Raster { width: columns, height: rows, values, masked })
}

fn blank(width: usize, height: usize) -> Raster {
    Raster { width, height, values: vec![f64::NAN; width * height], masked: Vec::new() }
}

/// The conversion of a plane to pixels.
struct Plan {
    width: usize,
    height: usize,
    rows: usize,
    /// The first column of each pixel, and the number of columns.
    bounds: Vec<usize>,
}

impl Plan {
    /// The pixels that a run adds to, and the row of the first of them.
    fn of_run<T: Sample, R: Reduce>(&self, run: &Run<'_>) -> Result<(usize, Vec<Cell<R>>)> {
        let columns = self.bounds.len() - 1;
        let (start, count) = (to_usize(run.start)?, T::all(run.bytes).len());
        let row_of = |at: usize| (at / self.width * self.rows) / self.height;
        let first = row_of(start);
        let last = row_of((start + count).saturating_sub(1));
        let mut cells = vec![Cell::default(); (last + 1 - first) * columns];
        let (mut at, size) = (0, size_of::<T>());
        while at < count {
            let column = (start + at) % self.width;
            let len = (self.width - column).min(count - at);
            let bytes = run.bytes.get(at * size..(at + len) * size).unwrap_or_default();
            let mask = if run.mask.is_empty() { &[] } else { run.mask.get(at..at + len).unwrap_or_default() };
            let row = row_of(start + at) - first;
            let cells = cells.get_mut(row * columns..(row + 1) * columns).unwrap_or_default();
            self.of_row::<T, R>(column, bytes, mask, cells);
            at += len;
        }
        Ok((first, cells))
    }

    /// A row, or a part of one from `column` on.
    fn of_row<T: Sample, R: Reduce>(&self, column: usize, bytes: &[u8], mask: &[u8], cells: &mut [Cell<R>]) {
        let size = size_of::<T>();
        let end = column + bytes.len() / size;
        let first = self.bounds.partition_point(|bound| *bound <= column).saturating_sub(1);
        let pixels = self.bounds.windows(2).zip(cells).skip(first);
        for (bound, cell) in pixels {
            let [from, to] = *bound else { continue };
            if from >= end {
                break;
            }
            let part = from.max(column) - column..to.min(end) - column;
            let bytes = bytes.get(part.start * size..part.end * size).unwrap_or_default();
            if mask.is_empty() && cell.kept.take_all::<T>(bytes) {
                continue;
            }
            let masks = mask.get(part).unwrap_or_default().iter().copied().chain(std::iter::repeat(0));
            for (number, masked) in T::all(bytes).zip(masks) {
                match (masked, number.is_finite()) {
                    (0, true) => cell.kept.take(number.double()),
                    (0, false) => cell.odd(number.double()),
                    _ => {}
                }
            }
        }
    }
}

/// Reads one element for each pixel, the one in its middle.
pub(super) fn nearest(array: &Array, columns: usize, rows: usize) -> Result<Raster> {
    let [height, width] = *array.shape() else { return Ok(blank(columns, rows)) };
    let mut raster = blank(columns, rows);
    let of_plane = |step: u64, offset: u64| Index::Range {
        start: i64::try_from(offset).ok(),
        stop: None,
        step: i64::try_from(step).unwrap_or(i64::MAX),
    };
    // If pixels are equally far apart, one strided view has them all; else a row is read whole.
    let (row_step, column_step) = (height / rows as u64, width / columns as u64);
    let is_even = |len: u64, pixels: usize| len.is_multiple_of(pixels as u64);
    if is_even(height, rows) && is_even(width, columns) {
        let view = array.slice([of_plane(row_step, row_step / 2), of_plane(column_step, column_step / 2)])?;
        return reduced::<Most>(&Numbers::new(&view)?, columns, rows);
    }
    let middle = |pixel: usize, len: u64, pixels: usize| (2 * pixel as u64 + 1) * len / (2 * pixels as u64);
    for row in 0..rows {
        let at = i64::try_from(middle(row, height, rows)).unwrap_or(i64::MAX);
        let line = array.slice([Index::Range { start: Some(at), stop: Some(at + 1), step: 1 }])?;
        let line = reduced::<Most>(&Numbers::new(&line)?, to_usize(width)?, 1)?;
        raster.copy_row(row, &line, |column| middle(column, width, columns) as usize);
    }
    Ok(raster)
}

impl Raster {
    /// Takes a row out of a wider one.
    fn copy_row(&mut self, row: usize, line: &Self, column_of: impl Fn(usize) -> usize) {
        let (width, pixels) = (self.width, self.width * self.height);
        for column in 0..width {
            let (from, to) = (column_of(column), row * width + column);
            if let (Some(value), Some(slot)) = (line.values.get(from), self.values.get_mut(to)) {
                *slot = *value;
            }
            if line.masked.get(from) == Some(&true) {
                self.masked.resize(pixels, false);
                if let Some(slot) = self.masked.get_mut(to) {
                    *slot = true;
                }
            }
        }
    }
}
