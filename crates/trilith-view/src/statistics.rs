//! Statistics of the numbers of an array: [`Statistics`].

mod moments;
mod percentiles;

use std::fmt;

use trilith::{Array, Error, Result};

use self::moments::Moments;
use self::percentiles::Ranks;
use crate::interval::Cuts;
use crate::numeric::{Numbers, Sample, with_type};

/// A number of the array, exactly: a double cannot hold all integers of 64 bits.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Number {
    /// A whole number, or a boolean as 0 or 1.
    Whole(i128),
    /// A number with a fraction.
    Real(f64),
}

impl Number {
    /// The nearest double.
    pub fn double(self) -> f64 {
        match self {
            Self::Whole(n) => n as f64,
            Self::Real(x) => x,
        }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(n) => n.fmt(f),
            Self::Real(x) => x.fmt(f),
        }
    }
}

/// Results besides those that one pass over the numbers gives.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Wanted {
    /// Percentiles, 0 to 100.
    pub percentiles: Vec<f64>,
    /// Number of bins of a histogram; 0 for none.
    pub bins: usize,
    /// Range of the histogram; without it, from the smallest number to the greatest.
    pub range: Option<Cuts>,
    /// `true` if percentiles are exact. If not, the array is read once and each percentile says by how much it may
    /// be off.
    pub exact: bool,
}

impl Default for Wanted {
    /// The median, exact.
    fn default() -> Self {
        Self { percentiles: vec![50.0], bins: 0, range: None, exact: true }
    }
}

impl Wanted {
    /// Requests neither percentiles nor a histogram: one pass is enough.
    pub fn nothing() -> Self {
        Self { percentiles: Vec::new(), ..Self::default() }
    }

    /// Requests these percentiles.
    pub fn percentiles(percentiles: &[f64]) -> Self {
        Self { percentiles: percentiles.to_vec(), ..Self::default() }
    }

    fn check(&self) -> Result<()> {
        if let Some(wrong) = self.percentiles.iter().find(|p| !(0.0..=100.0).contains(*p)) {
            return Err(Error::invalid_input(format!("percentile {wrong} is not between 0 and 100")));
        }
        if self.bins > MOST_BINS {
            return Err(Error::invalid_input(format!("a histogram of {} bins, at most {MOST_BINS} are possible", self.bins)));
        }
        match self.range {
            Some(Cuts { low, high }) if !(low < high && (high - low).is_finite()) => {
                Err(Error::invalid_input(format!("a histogram from {low} to {high} has no room for bins")))
            }
            _ => Ok(()),
        }
    }
}

/// The most bins of a histogram.
const MOST_BINS: usize = 1 << 20;

/// Statistics of the numbers of an array. Size, mean and order are those of the finite numbers that are not masked.
/// A complex number counts by its magnitude, a boolean as 0 or 1.
///
/// ```
/// use trilith_view::{Statistics, Wanted};
/// let array = trilith::Array::from_slice(&[1f32, 2.0, 6.0, f32::NAN], &[4])?;
/// let found = Statistics::of(&array, &Wanted::default())?;
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
    pub min: Option<Number>,
    /// The greatest.
    pub max: Option<Number>,
    /// The mean.
    pub mean: Option<f64>,
    /// The standard deviation of the population, as numpy's `std` gives it.
    pub std: Option<f64>,
    /// The percentiles that were wanted, in that order; none if no number is finite.
    pub percentiles: Vec<Percentile>,
    /// The histogram, if one was wanted and there are finite numbers.
    pub histogram: Option<Histogram>,
}

/// One percentile, interpolated between two numbers as numpy does it.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Percentile {
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
    pub fn of(array: &Array, wanted: &Wanted) -> Result<Self> {
        wanted.check()?;
        charge(array)?;
        let ranks_wanted = !wanted.percentiles.is_empty();
        let again = (ranks_wanted && wanted.exact) || (wanted.bins > 0 && wanted.range.is_none());
        let numbers = Numbers::new(array)?;
        let numbers = if again { numbers.held()? } else { numbers };
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

/// Counts the bytes of an array that are gone through towards the limit `work`, as those that are decoded: so views of one
/// block cannot keep a reader busy, and no file is refused whose arrays are read.
fn charge(array: &Array) -> Result<()> {
    array.limits().charge_work(array.nbytes())
}

fn of_type<T: Sample>(numbers: &Numbers, wanted: &Wanted) -> Result<Statistics> {
    let mut moments = Moments::<T>::default();
    let mut ranks = (!wanted.percentiles.is_empty()).then(Ranks::<T>::new);
    // A range that is known can be counted along with the rest.
    let mut histogram = wanted.range.filter(|_| wanted.bins > 0).map(|range| Histogram::new(range, wanted.bins));
    let (begun, with_ranks) = (histogram.clone(), ranks.is_some());
    numbers.runs(
        &|run| {
            let moments = Moments::<T>::of(run);
            let counted = with_ranks.then(|| Ranks::<T>::count(run)).transpose()?;
            let histogram = begun.clone().map(|histogram| histogram.counted::<T>(run));
            Ok((moments, counted, histogram))
        },
        &mut |(part, counted, part_histogram)| {
            moments.add(&part);
            if let (Some(ranks), Some(counted)) = (&mut ranks, counted) {
                ranks.add(counted);
            }
            if let (Some(histogram), Some(part)) = (&mut histogram, part_histogram) {
                histogram.add(&part);
            }
            Ok(())
        },
    )?;
    if let (Some(low), Some(high), true, None) = (moments.min, moments.max, wanted.bins > 0, wanted.range) {
        histogram = Some(counted_in(numbers, Histogram::around(low.double(), high.double(), wanted.bins))?);
    }
    let percentiles = match ranks {
        Some(ranks) => ranks.percentiles(numbers, &wanted.percentiles, wanted.exact)?,
        None => Vec::new(),
    };
    Ok(Statistics {
        count: numbers.len(),
        masked: numbers.len().saturating_sub(moments.finite + moments.nan + moments.infinite),
        nan: moments.nan,
        infinite: moments.infinite,
        finite: moments.finite,
        min: moments.min.map(Sample::exact),
        max: moments.max.map(Sample::exact),
        mean: moments.mean(),
        std: moments.std(),
        percentiles,
        histogram: histogram.filter(|_| moments.finite > 0),
    })
}

/// A histogram with the numbers in it.
fn counted_in(numbers: &Numbers, mut histogram: Histogram) -> Result<Histogram> {
    let begun = histogram.clone();
    with_type!(numbers, |T| numbers.runs(&|run| Ok(begun.clone().counted::<T>(run)), &mut |part| {
        histogram.add(&part);
        Ok(())
    }))?;
    Ok(histogram)
}

impl Histogram {
    /// The histogram of an array between two numbers, in one pass.
    ///
    /// # Errors
    /// Returns the errors of [`Statistics::of`].
    pub fn of(array: &Array, range: Cuts, bins: usize) -> Result<Self> {
        Wanted { bins, range: Some(range), ..Wanted::nothing() }.check()?;
        charge(array)?;
        counted_in(&Numbers::new(array)?, Self::new(range, bins.max(1)))
    }

    fn new(range: Cuts, bins: usize) -> Self {
        Self { low: range.low, high: range.high, counts: vec![0; bins], below: 0, above: 0 }
    }

    /// Creates bins from the smallest number to the greatest. If the two are equal, adds half a unit on both sides, like numpy.
    fn around(low: f64, high: f64, bins: usize) -> Self {
        let (low, high) = if low < high { (low, high) } else { (low - 0.5, high + 0.5) };
        Self::new(Cuts { low, high }, bins)
    }

    /// Returns the start of bin `at`.
    pub fn edge(&self, at: usize) -> f64 {
        if at >= self.counts.len() {
            return self.high;
        }
        // Halves, so that the width of the range of doubles is a double.
        let width = (self.high / 2.0 - self.low / 2.0) / self.counts.len() as f64;
        self.low + width * at as f64 * 2.0
    }

    /// The bin of a number between the ends.
    fn bin(&self, x: f64) -> usize {
        let last = self.counts.len().saturating_sub(1);
        let share = (x / 2.0 - self.low / 2.0) / (self.high / 2.0 - self.low / 2.0);
        let at = ((share * self.counts.len() as f64) as usize).min(last);
        // The division may have rounded across an edge.
        if x < self.edge(at) {
            at.saturating_sub(1)
        } else if at < last && x >= self.edge(at + 1) {
            at + 1
        } else {
            at
        }
    }

    fn counted<T: Sample>(mut self, run: &crate::numeric::Run<'_>) -> Self {
        for (_, number) in run.unmasked::<T>() {
            let x = number.double();
            if !number.is_finite() {
                continue;
            }
            if x < self.low {
                self.below += 1;
            } else if x > self.high {
                self.above += 1;
            } else {
                let bin = self.bin(x);
                if let Some(count) = self.counts.get_mut(bin) {
                    *count += 1;
                }
            }
        }
        self
    }

    fn add(&mut self, part: &Self) {
        self.below += part.below;
        self.above += part.above;
        self.counts.iter_mut().zip(&part.counts).for_each(|(all, part)| *all += part);
    }
}
