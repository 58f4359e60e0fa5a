//! Statistics of the numbers of an array: [`Statistics`].

mod moments;
mod percentiles;

use std::fmt;

use trilith::{Array, Error, Result};

use self::moments::Moments;
use self::percentiles::DigitCounts;
use crate::interval::Limits;
use crate::numeric::{NumericArray, Sample, with_type};

/// A number of the array, exactly: a double cannot hold all integers of 64 bits.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum ExactNumber {
    /// A whole number, or a boolean as 0 or 1.
    Integer(i128),
    /// A number with a fraction.
    Float(f64),
}

impl ExactNumber {
    /// The nearest double.
    pub fn as_f64(self) -> f64 {
        match self {
            Self::Integer(n) => n as f64,
            Self::Float(x) => x,
        }
    }
}

impl fmt::Display for ExactNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(n) => n.fmt(f),
            Self::Float(x) => x.fmt(f),
        }
    }
}

/// Results besides those that one pass over the numbers gives.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct StatisticsOptions {
    /// Percentiles, 0 to 100.
    pub percentiles: Vec<f64>,
    /// Number of bins of a histogram; 0 for none.
    pub bins: usize,
    /// Range of the histogram; without it, from the smallest number to the greatest.
    pub range: Option<Limits>,
    /// `true` if percentiles are exact. If not, the array is read once and each percentile says by how much it may
    /// be off.
    pub exact: bool,
}

impl Default for StatisticsOptions {
    /// The median, exact.
    fn default() -> Self {
        Self { percentiles: vec![50.0], bins: 0, range: None, exact: true }
    }
}

impl StatisticsOptions {
    /// Requests neither percentiles nor a histogram: one pass is enough.
    pub fn none() -> Self {
        Self { percentiles: Vec::new(), ..Self::default() }
    }

    /// Requests these percentiles.
    pub fn percentiles(percentiles: &[f64]) -> Self {
        Self { percentiles: percentiles.to_vec(), ..Self::default() }
    }

    fn ensure_valid(&self) -> Result<()> {
        if let Some(wrong) = self.percentiles.iter().find(|p| !(0.0..=100.0).contains(*p)) {
            return Err(Error::invalid_input(format!("percentile {wrong} is not between 0 and 100")));
        }
        if self.bins > MAX_BINS {
            return Err(Error::invalid_input(format!("a histogram of {} bins, at most {MAX_BINS} are possible", self.bins)));
        }
        match self.range {
            Some(Limits { low, high }) if !(low < high && (high - low).is_finite()) => {
                Err(Error::invalid_input(format!("a histogram from {low} to {high} has no room for bins")))
            }
            _ => Ok(()),
        }
    }
}

/// The most numbers that are sorted. The tables in which more are counted take longer to make than so few to sort.
const MAX_SORTED: u64 = 1 << 12;

/// The most bins of a histogram.
const MAX_BINS: usize = 1 << 20;

/// Statistics of the numbers of an array. Size, mean and order are those of the finite numbers that are not masked.
/// A complex number counts by its magnitude, a boolean as 0 or 1.
///
/// ```
/// use trilith_view::{Statistics, StatisticsOptions};
/// let array = trilith::Array::from_slice(&[1f32, 2.0, 6.0, f32::NAN], &[4])?;
/// let found = Statistics::compute(&array, &StatisticsOptions::default())?;
/// assert_eq!((found.count, found.finite, found.nan), (4, 3, 1));
/// assert_eq!((found.mean, found.median()), (Some(3.0), Some(2.0)));
/// # Ok::<(), trilith::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Statistics {
    /// Number of elements.
    pub count: u64,
    /// Number of masked elements; no other field counts them.
    pub masked: u64,
    /// Number of NaNs.
    pub nan: u64,
    /// Number of infinite numbers.
    pub infinite: u64,
    /// Number of finite numbers.
    pub finite: u64,
    /// The smallest.
    pub min: Option<ExactNumber>,
    /// The greatest.
    pub max: Option<ExactNumber>,
    /// The mean.
    pub mean: Option<f64>,
    /// The standard deviation of the population, as numpy's `std` gives it.
    pub std: Option<f64>,
    /// The percentiles that were wanted, in that order; none if no number is finite.
    pub percentiles: Vec<PercentileValue>,
    /// The histogram, if one was wanted and there are finite numbers.
    pub histogram: Option<Histogram>,
}

/// One percentile, interpolated between two numbers as numpy does it.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct PercentileValue {
    /// The percentage: 50 is the median.
    pub percent: f64,
    /// Value of the percentile.
    pub value: f64,
    /// Largest possible error of the value; 0 if it is exact.
    pub error: f64,
}

/// Counts of the numbers in several ranges of one width. The last range includes its upper end.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Histogram {
    /// Start of the first bin.
    pub low: f64,
    /// End of the last bin.
    pub high: f64,
    /// The number in each bin.
    pub counts: Vec<u64>,
    /// Number of numbers below the first bin.
    pub below: u64,
    /// Number of numbers above the last bin.
    pub above: u64,
}

impl Statistics {
    /// The statistics of an array.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](trilith::ErrorKind::InvalidInput) if the elements are not numbers or `wanted` makes no
    /// sense, and an error if they cannot be read.
    pub fn compute(array: &Array, wanted: &StatisticsOptions) -> Result<Self> {
        wanted.ensure_valid()?;
        check_budget(array)?;
        let ranks_wanted = !wanted.percentiles.is_empty();
        let again = (ranks_wanted && wanted.exact) || (wanted.bins > 0 && wanted.range.is_none());
        let numbers = NumericArray::new(array)?;
        let numbers = if again { numbers.in_memory()? } else { numbers };
        with_type!(numbers, |T| of_type::<T>(&numbers, wanted))
    }

    /// The median, if it was wanted.
    pub fn median(&self) -> Option<f64> {
        self.percentile(50.0)
    }

    /// A percentile that was wanted.
    pub fn percentile(&self, percent: f64) -> Option<f64> {
        self.percentiles.iter().find(|found| found.percent == percent).map(|found| found.value)
    }
}

/// Refuses an array that is too large for the limit `work` before it is read. Reading counts its bytes: so views of one
/// block cannot keep a reader busy.
fn check_budget(array: &Array) -> Result<()> {
    array.limits().check_work(array.nbytes())
}

fn of_type<T: Sample>(numbers: &NumericArray, wanted: &StatisticsOptions) -> Result<Statistics> {
    let mut moments = Moments::<T>::default();
    let sorts = wanted.exact && numbers.len() <= MAX_SORTED && !wanted.percentiles.is_empty();
    let mut sorted = Vec::new();
    let mut ranks = (!sorts && !wanted.percentiles.is_empty()).then(DigitCounts::<T>::new);
    // A range that is known can be counted along with the rest.
    let mut histogram = wanted.range.filter(|_| wanted.bins > 0).map(|range| Histogram::new(range, wanted.bins));
    let (begun, with_ranks) = (histogram.clone(), ranks.is_some());
    numbers.for_each_run(
        &|run| {
            let moments = Moments::<T>::from_run(run);
            let counted = with_ranks.then(|| DigitCounts::<T>::count_leading_digits(run)).transpose()?;
            let keys = if sorts { percentiles::finite_keys::<T>(run) } else { Vec::new() };
            let histogram = begun.clone().map(|histogram| histogram.add_run::<T>(run));
            Ok((moments, counted, keys, histogram))
        },
        &mut |(part, counted, mut keys, part_histogram)| {
            moments.merge_moments(&part);
            sorted.append(&mut keys);
            if let (Some(ranks), Some(counted)) = (&mut ranks, counted) {
                ranks.add_counts(counted);
            }
            if let (Some(histogram), Some(part)) = (&mut histogram, part_histogram) {
                histogram.merge_counts(&part);
            }
            Ok(())
        },
    )?;
    if let (Some(low), Some(high), true, None) = (moments.min, moments.max, wanted.bins > 0, wanted.range) {
        histogram = Some(counted_in(numbers, Histogram::range_around(low.to_double(), high.to_double(), wanted.bins))?);
    }
    let percentiles = match ranks {
        Some(ranks) => {
            let ends = moments.min.zip(moments.max).filter(|_| wanted.exact);
            ranks.percentiles(numbers, &wanted.percentiles, ends)?
        }
        None => percentiles::sorted_percentiles::<T>(sorted, &wanted.percentiles),
    };
    Ok(Statistics {
        count: numbers.len(),
        masked: numbers.len().saturating_sub(moments.finite + moments.nan + moments.infinite),
        nan: moments.nan,
        infinite: moments.infinite,
        finite: moments.finite,
        min: moments.min.map(Sample::to_number),
        max: moments.max.map(Sample::to_number),
        mean: moments.mean(),
        std: moments.std(),
        percentiles,
        histogram: histogram.filter(|_| moments.finite > 0),
    })
}

/// A histogram with the numbers in it.
fn counted_in(numbers: &NumericArray, mut histogram: Histogram) -> Result<Histogram> {
    let begun = histogram.clone();
    with_type!(numbers, |T| numbers.for_each_run(&|run| Ok(begun.clone().add_run::<T>(run)), &mut |part| {
        histogram.merge_counts(&part);
        Ok(())
    }))?;
    Ok(histogram)
}

impl Histogram {
    /// The histogram of an array between two numbers, in one pass.
    ///
    /// # Errors
    /// Returns the errors of [`Statistics::compute`].
    pub fn compute(array: &Array, range: Limits, bins: usize) -> Result<Self> {
        StatisticsOptions { bins, range: Some(range), ..StatisticsOptions::none() }.ensure_valid()?;
        check_budget(array)?;
        counted_in(&NumericArray::new(array)?, Self::new(range, bins.max(1)))
    }

    fn new(range: Limits, bins: usize) -> Self {
        Self { low: range.low, high: range.high, counts: vec![0; bins], below: 0, above: 0 }
    }

    /// Creates bins from the smallest number to the greatest. If the two are equal, adds half a unit on both sides, like numpy.
    fn range_around(low: f64, high: f64, bins: usize) -> Self {
        let (low, high) = if low < high { (low, high) } else { (low - 0.5, high + 0.5) };
        Self::new(Limits { low, high }, bins)
    }

    /// Returns the start of bin `at`.
    pub fn bin_edge(&self, at: usize) -> f64 {
        if at >= self.counts.len() {
            return self.high;
        }
        // Halves, so that the width of the range of doubles is a double.
        let width = (self.high / 2.0 - self.low / 2.0) / self.counts.len() as f64;
        self.low + width * at as f64 * 2.0
    }

    /// The bin of a number between the ends.
    fn bin_index(&self, x: f64) -> usize {
        let last = self.counts.len().saturating_sub(1);
        let share = (x / 2.0 - self.low / 2.0) / (self.high / 2.0 - self.low / 2.0);
        let at = ((share * self.counts.len() as f64) as usize).min(last);
        // The division may have rounded across an edge.
        if x < self.bin_edge(at) {
            at.saturating_sub(1)
        } else if at < last && x >= self.bin_edge(at + 1) {
            at + 1
        } else {
            at
        }
    }

    fn add_run<T: Sample>(mut self, run: &crate::numeric::ElementRun<'_>) -> Self {
        for (_, number) in run.unmasked_samples::<T>() {
            let x = number.to_double();
            if !number.is_finite() {
                continue;
            }
            if x < self.low {
                self.below += 1;
            } else if x > self.high {
                self.above += 1;
            } else {
                let bin = self.bin_index(x);
                if let Some(count) = self.counts.get_mut(bin) {
                    *count += 1;
                }
            }
        }
        self
    }

    fn merge_counts(&mut self, part: &Self) {
        self.below += part.below;
        self.above += part.above;
        self.counts.iter_mut().zip(&part.counts).for_each(|(all, part)| *all += part);
    }
}
