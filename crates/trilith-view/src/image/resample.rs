//! Reduction of many elements to one pixel: the array is read once, in runs, on all threads.

use trilith::bytes::to_usize;
use trilith::{Array, Index, Result};

use super::ValueRaster;
use crate::numeric::{ElementRun, NumericArray, Sample, with_type};

/// A running reduction of the elements of a pixel.
pub(super) trait Reducer: Copy + Default + Send {
    /// Takes in finite elements, one after the other in a row; false if some are not finite, and nothing is taken in.
    fn add_all<T: Sample>(&mut self, bytes: &[u8]) -> bool;

    /// Takes in one finite element.
    fn add_one(&mut self, x: f64);

    /// Takes in what was kept of others.
    fn merge_reduction(&mut self, other: &Self);

    /// The number of the pixel; None if no element was finite.
    fn to_pixel_value(&self) -> Option<f64>;
}

/// The mean.
#[derive(Clone, Copy, Default)]
pub(super) struct MeanReducer {
    sum: f64,
    count: u64,
}

impl Reducer for MeanReducer {
    #[inline]
    fn add_all<T: Sample>(&mut self, bytes: &[u8]) -> bool {
        let numbers = T::from_bytes(bytes);
        let count = numbers.len() as u64;
        let sum: f64 = numbers.map(T::to_double).sum();
        if T::CAN_BE_NON_FINITE && !sum.is_finite() {
            return false;
        }
        self.sum += sum;
        self.count += count;
        true
    }

    fn add_one(&mut self, x: f64) {
        self.sum += x;
        self.count += 1;
    }

    fn merge_reduction(&mut self, other: &Self) {
        self.sum += other.sum;
        self.count += other.count;
    }

    fn to_pixel_value(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }
}

/// The greatest.
#[derive(Clone, Copy, Default)]
pub(super) struct MaxReducer(Option<f64>);

impl Reducer for MaxReducer {
    fn add_all<T: Sample>(&mut self, bytes: &[u8]) -> bool {
        if T::CAN_BE_NON_FINITE && T::from_bytes(bytes).any(|number| !number.is_finite()) {
            return false;
        }
        let most = T::from_bytes(bytes).reduce(|a, b| if b > a { b } else { a });
        if let Some(most) = most {
            self.add_one(most.to_double());
        }
        true
    }

    fn add_one(&mut self, x: f64) {
        if self.0.is_none_or(|most| x > most) {
            self.0 = Some(x);
        }
    }

    fn merge_reduction(&mut self, other: &Self) {
        if let Some(x) = other.0 {
            self.add_one(x);
        }
    }

    fn to_pixel_value(&self) -> Option<f64> {
        self.0
    }
}

/// A pixel in the making.
#[derive(Clone, Copy, Default)]
struct PixelAccumulator<R> {
    finite: R,
    /// The infinite number with the largest part among those that are not finite; NaN if one is not a number.
    infinite: Option<f64>,
}

impl<R: Reducer> PixelAccumulator<R> {
    fn add_checked(&mut self, x: f64) {
        self.infinite = Some(match self.infinite {
            Some(known) if known.is_nan() || x.is_nan() => f64::NAN,
            Some(known) => known.max(x),
            None => x,
        });
    }

    fn merge_cell(&mut self, other: &Self) {
        self.finite.merge_reduction(&other.finite);
        if let Some(x) = other.infinite {
            self.add_checked(x);
        }
    }
}

/// Returns the first source index of each pixel, for the rows or columns of the source.
fn pixel_boundaries(from: usize, to: usize) -> Vec<usize> {
    // Pixel p has the indices i with i * to / from == p.
    (0..=to).map(|pixel| (pixel * from).div_ceil(to)).collect()
}

/// A plane with no fewer elements than pixels.
pub(super) fn reduce_plane<R: Reducer>(numbers: &NumericArray, columns: usize, rows: usize) -> Result<ValueRaster> {
    with_type!(numbers, |T| reduced_from::<T, R>(numbers, columns, rows))
}

fn reduced_from<T: Sample, R: Reducer>(numbers: &NumericArray, columns: usize, rows: usize) -> Result<ValueRaster> {
    let [height, width] = *numbers.shape() else { return Ok(empty_raster(columns, rows)) };
    let (height, width) = (to_usize(height)?, to_usize(width)?);
    let plan = ResamplePlan { width, height, rows, bounds: pixel_boundaries(width, columns) };
    let mut cells = vec![PixelAccumulator::<R>::default(); columns * rows];
    numbers.for_each_run(&|run| plan.reduce_run::<T, R>(run), &mut |(first, part)| {
        for (all, part) in cells.iter_mut().skip(first * columns).zip(&part) {
            all.merge_cell(part);
        }
        Ok(())
    })?;
    let is_masked = |cell: &PixelAccumulator<R>| cell.finite.to_pixel_value().is_none() && cell.infinite.is_none();
    let masked = if cells.iter().any(is_masked) { cells.iter().map(is_masked).collect() } else { Vec::new() };
    let values = cells.iter().map(|cell| cell.finite.to_pixel_value().or(cell.infinite).unwrap_or(f64::NAN)).collect();
    Ok(ValueRaster { width: columns, height: rows, values, masked })
}

fn empty_raster(width: usize, height: usize) -> ValueRaster {
    ValueRaster { width, height, values: vec![f64::NAN; width * height], masked: Vec::new() }
}

/// The conversion of a plane to pixels.
struct ResamplePlan {
    width: usize,
    height: usize,
    rows: usize,
    /// The first column of each pixel, and the number of columns.
    bounds: Vec<usize>,
}

impl ResamplePlan {
    /// The pixels that a run adds to, and the row of the first of them.
    fn reduce_run<T: Sample, R: Reducer>(&self, run: &ElementRun<'_>) -> Result<(usize, Vec<PixelAccumulator<R>>)> {
        let columns = self.bounds.len() - 1;
        let (start, count) = (to_usize(run.start)?, T::from_bytes(run.bytes).len());
        let row_of = |at: usize| (at / self.width * self.rows) / self.height;
        let first = row_of(start);
        let last = row_of((start + count).saturating_sub(1));
        let mut cells = vec![PixelAccumulator::default(); (last + 1 - first) * columns];
        let (mut at, size) = (0, size_of::<T>());
        while at < count {
            let column = (start + at) % self.width;
            let len = (self.width - column).min(count - at);
            let bytes = run.bytes.get(at * size..(at + len) * size).unwrap_or_default();
            let mask = if run.mask.is_empty() { &[] } else { run.mask.get(at..at + len).unwrap_or_default() };
            let row = row_of(start + at) - first;
            let cells = cells.get_mut(row * columns..(row + 1) * columns).unwrap_or_default();
            self.reduce_row::<T, R>(column, bytes, mask, cells);
            at += len;
        }
        Ok((first, cells))
    }

    /// A row, or a part of one from `column` on.
    fn reduce_row<T: Sample, R: Reducer>(&self, column: usize, bytes: &[u8], mask: &[u8], cells: &mut [PixelAccumulator<R>]) {
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
            if mask.is_empty() && cell.finite.add_all::<T>(bytes) {
                continue;
            }
            let masks = mask.get(part).unwrap_or_default().iter().copied().chain(std::iter::repeat(0));
            for (number, masked) in T::from_bytes(bytes).zip(masks) {
                match (masked, number.is_finite()) {
                    (0, true) => cell.finite.add_one(number.to_double()),
                    (0, false) => cell.add_checked(number.to_double()),
                    _ => {}
                }
            }
        }
    }
}

/// Reads one element for each pixel, the one in its middle.
pub(super) fn sample_nearest(array: &Array, columns: usize, rows: usize) -> Result<ValueRaster> {
    let [height, width] = *array.shape() else { return Ok(empty_raster(columns, rows)) };
    let mut raster = empty_raster(columns, rows);
    let of_plane = |step: u64, offset: u64| Index::Slice {
        start: i64::try_from(offset).ok(),
        stop: None,
        step: i64::try_from(step).unwrap_or(i64::MAX),
    };
    // If pixels are equally far apart, one strided view has them all; else a row is read whole.
    let (row_step, column_step) = (height / rows as u64, width / columns as u64);
    let is_even = |len: u64, pixels: usize| len.is_multiple_of(pixels as u64);
    if is_even(height, rows) && is_even(width, columns) {
        let view = array.slice([of_plane(row_step, row_step / 2), of_plane(column_step, column_step / 2)])?;
        return reduce_plane::<MaxReducer>(&NumericArray::new(&view)?, columns, rows);
    }
    let middle = |pixel: usize, len: u64, pixels: usize| (2 * pixel as u64 + 1) * len / (2 * pixels as u64);
    for row in 0..rows {
        let at = i64::try_from(middle(row, height, rows)).unwrap_or(i64::MAX);
        let line = array.slice([Index::Slice { start: Some(at), stop: Some(at + 1), step: 1 }])?;
        let line = reduce_plane::<MaxReducer>(&NumericArray::new(&line)?, to_usize(width)?, 1)?;
        raster.copy_row(row, &line, |column| middle(column, width, columns) as usize);
    }
    Ok(raster)
}

impl ValueRaster {
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
