//! Arrays of one axis, brought to as many points as can be seen: [`DecimatedSeries`].

use trilith::bytes::to_usize;
use trilith::{Array, Error, Result};

use crate::numeric::{NumericArray, Sample, with_type};

/// A row of numbers in at most this number of points: each with the smallest, the greatest and the mean of the finite numbers
/// that it covers, so that no peak is lost.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct DecimatedSeries {
    /// Number of elements.
    pub count: u64,
    /// The points, in order.
    pub points: Vec<SeriesPoint>,
    /// The coordinate of each point, if it is not its index.
    pub coordinate: Option<Vec<f64>>,
}

/// One number, or several consecutive numbers, as one point of a line.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct SeriesPoint {
    /// The index of the first element.
    pub first: u64,
    /// The smallest; NaN if no element is finite.
    pub low: f64,
    /// The greatest; NaN if no element is finite.
    pub high: f64,
    /// The mean; NaN if no element is finite.
    pub mean: f64,
}

#[derive(Clone, Copy)]
struct PointAccumulator {
    low: f64,
    high: f64,
    sum: f64,
    count: u64,
}

impl PointAccumulator {
    const EMPTY: Self = Self { low: f64::INFINITY, high: f64::NEG_INFINITY, sum: 0.0, count: 0 };

    fn merge_sum(&mut self, other: Self) {
        self.low = self.low.min(other.low);
        self.high = self.high.max(other.high);
        self.sum += other.sum;
        self.count += other.count;
    }
}

impl DecimatedSeries {
    /// An array of one axis in at most `points` points.
    ///
    /// ```
    /// let array = trilith::Array::from_slice(&[1i16, 5, 2, 2], &[4])?;
    /// let series = trilith_view::DecimatedSeries::new(&array, 2)?;
    /// assert_eq!((series.points[0].low, series.points[0].high, series.points[1].mean), (1.0, 5.0, 2.0));
    /// # Ok::<(), trilith::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](trilith::ErrorKind::InvalidInput) if the array has another number of axes or its
    /// elements are not numbers, and an error if it cannot be read.
    pub fn new(array: &Array, points: usize) -> Result<Self> {
        let [count] = *array.shape() else {
            return Err(Error::invalid_input(format!(
                "a line is drawn of one axis, this array has the shape {:?}",
                array.shape()
            ))
            .hint("choose one by a slice"));
        };
        let numbers = NumericArray::new(array)?;
        let points = to_usize(count)?.min(points.max(1));
        let mut sums = vec![PointAccumulator::EMPTY; points];
        if points > 0 {
            with_type!(numbers, |T| add_all::<T>(&numbers, &mut sums))?;
        }
        let point = |(at, sum): (u64, PointAccumulator)| {
            let first = (u128::from(at) * u128::from(count)).div_ceil((points as u128).max(1)) as u64;
            if sum.count == 0 {
                return SeriesPoint { first, low: f64::NAN, high: f64::NAN, mean: f64::NAN };
            }
            SeriesPoint { first, low: sum.low, high: sum.high, mean: sum.sum / sum.count as f64 }
        };
        Ok(Self { count, points: (0..).zip(sums).map(point).collect(), coordinate: None })
    }

    /// The series over a coordinate, which has a number for each element.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](trilith::ErrorKind::InvalidInput) if it has not, and an error if it cannot be read.
    pub fn with_coordinate(mut self, coordinate: &Array) -> Result<Self> {
        if coordinate.shape() != [self.count] {
            return Err(Error::invalid_input(format!(
                "a coordinate of the shape {:?} for {} numbers",
                coordinate.shape(),
                self.count
            )));
        }
        let all = coordinate.load_as::<f64>()?;
        let place = |point: &SeriesPoint| to_usize(point.first).ok().and_then(|at| all.get(at)).copied().unwrap_or(f64::NAN);
        self.coordinate = Some(self.points.iter().map(place).collect());
        Ok(self)
    }

    /// The place of each point along the horizontal axis, and the least and the greatest.
    #[cfg(feature = "plot")]
    pub(crate) fn x_positions(&self) -> (Vec<f64>, std::ops::Range<f64>) {
        let places = self.coordinate.clone().unwrap_or_else(|| self.points.iter().map(|point| point.first as f64).collect());
        let finite = || places.iter().copied().filter(|place| place.is_finite());
        let range = finite().fold(f64::INFINITY, f64::min)..finite().fold(f64::NEG_INFINITY, f64::max);
        (places, range)
    }

    /// The smallest and the greatest of all; None if nothing is finite.
    pub fn range(&self) -> Option<(f64, f64)> {
        let all = self.points.iter().filter(|point| !point.low.is_nan());
        all.map(|point| (point.low, point.high)).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
    }

    /// Returns `true` if each point is one element.
    pub fn is_exact(&self) -> bool {
        self.points.len() as u64 == self.count
    }
}

fn add_all<T: Sample>(numbers: &NumericArray, sums: &mut [PointAccumulator]) -> Result<()> {
    let (count, points) = (u128::from(numbers.len()), sums.len() as u128);
    let place = |at: u64| (u128::from(at) * points / count.max(1)) as usize;
    numbers.for_each_run(
        &|run| {
            let first = place(run.start);
            let len = T::from_bytes(run.bytes).len() as u64;
            let mut part = vec![PointAccumulator::EMPTY; place((run.start + len).saturating_sub(1)) + 1 - first];
            for (at, number) in run.unmasked_samples::<T>().filter(|(_, number)| number.is_finite()) {
                let x = number.to_double();
                if let Some(sum) = part.get_mut(place(at) - first) {
                    sum.merge_sum(PointAccumulator { low: x, high: x, sum: x, count: 1 });
                }
            }
            Ok((first, part))
        },
        &mut |(first, part)| {
            sums.iter_mut().skip(first).zip(part).for_each(|(all, part)| all.merge_sum(part));
            Ok(())
        },
    )
}
