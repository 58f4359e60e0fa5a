//! Results of one pass: counts, the smallest, the greatest, mean and spread.

use crate::numeric::{ElementRun, Sample};

/// Moments of some numbers of an array.
pub(super) struct Moments<T> {
    pub(super) finite: u64,
    pub(super) nan: u64,
    pub(super) infinite: u64,
    pub(super) min: Option<T>,
    pub(super) max: Option<T>,
    mean: f64,
    /// The sum of the squares of what the numbers are off the mean.
    sum_of_squares: f64,
}

impl<T> Default for Moments<T> {
    fn default() -> Self {
        Self { finite: 0, nan: 0, infinite: 0, min: None, max: None, mean: 0.0, sum_of_squares: 0.0 }
    }
}

/// Numbers that are added up before their sum meets others: sums stay exact to the last digits.
const CHUNK_LEN: usize = 4096;

impl<T: Sample> Moments<T> {
    /// Computes the moments of a run.
    pub(super) fn from_run(run: &ElementRun<'_>) -> Self {
        let mut all = Self::default();
        let size = size_of::<T>();
        for (at, bytes) in run.bytes.chunks(CHUNK_LEN * size).enumerate() {
            let mask = run.mask.get(at * CHUNK_LEN..).unwrap_or_default();
            let part = ElementRun { start: 0, bytes, mask: mask.get(..CHUNK_LEN.min(mask.len())).unwrap_or_default() };
            all.merge_moments(&if part.mask.is_empty() { Self::unmasked_finite(&part) } else { Self::element_by_element(&part) });
        }
        all
    }

    /// Computes the moments of a chunk without a mask: all at once, if all numbers are finite.
    fn unmasked_finite(run: &ElementRun<'_>) -> Self {
        let mut numbers = T::from_bytes(run.bytes);
        let count = numbers.len();
        let Some(first) = numbers.next() else { return Self::default() };
        let (mut min, mut max) = (first, first);
        for number in T::from_bytes(run.bytes) {
            min = if number < min { number } else { min };
            max = if number > max { number } else { max };
        }
        let sum = sum_mapped_samples(run.bytes, T::to_double);
        if T::CAN_BE_NON_FINITE && !(min.is_finite() && max.is_finite() && sum.is_finite()) {
            return Self::element_by_element(run);
        }
        let mean = sum / count as f64;
        let squares = sum_mapped_samples(run.bytes, |number: T| (number.to_double() - mean).powi(2));
        Self { finite: count as u64, min: Some(min), max: Some(max), mean, sum_of_squares: squares, ..Self::default() }
    }

    /// Computes the moments of a chunk, number by number.
    fn element_by_element(run: &ElementRun<'_>) -> Self {
        let mut all = Self::default();
        for (_, number) in run.unmasked_samples::<T>() {
            if number.is_nan() {
                all.nan += 1;
            } else if !number.is_finite() {
                all.infinite += 1;
            } else {
                all.finite += 1;
                let off = number.to_double() - all.mean;
                all.mean += off / all.finite as f64;
                all.sum_of_squares += off * (number.to_double() - all.mean);
                all.min = Some(all.min.map_or(number, |min| if number < min { number } else { min }));
                all.max = Some(all.max.map_or(number, |max| if number > max { number } else { max }));
            }
        }
        all
    }

    /// Adds others (Chan, Golub and LeVeque's formula for the squares).
    pub(super) fn merge_moments(&mut self, other: &Self) {
        self.nan += other.nan;
        self.infinite += other.infinite;
        if other.finite == 0 {
            return;
        }
        let (here, there) = (self.finite as f64, other.finite as f64);
        let off = other.mean - self.mean;
        self.sum_of_squares += other.sum_of_squares + off * off * (here * there / (here + there));
        self.mean += off * (there / (here + there));
        self.finite += other.finite;
        let least = |a: T, b: T| if b < a { b } else { a };
        let most = |a: T, b: T| if b > a { b } else { a };
        self.min = self.min.zip(other.min).map(|(a, b)| least(a, b)).or(self.min).or(other.min);
        self.max = self.max.zip(other.max).map(|(a, b)| most(a, b)).or(self.max).or(other.max);
    }

    pub(super) fn mean(&self) -> Option<f64> {
        (self.finite > 0).then_some(self.mean)
    }

    pub(super) fn std(&self) -> Option<f64> {
        (self.finite > 0).then(|| (self.sum_of_squares / self.finite as f64).sqrt())
    }
}

/// The sum of what `of` makes of the numbers, in several lanes, which a processor adds side by side.
fn sum_mapped_samples<T: Sample>(bytes: &[u8], of: impl Fn(T) -> f64) -> f64 {
    const LANES: usize = 8;
    let mut lanes = [0.0f64; LANES];
    for part in bytes.chunks(LANES * size_of::<T>()) {
        for (lane, number) in lanes.iter_mut().zip(T::from_bytes(part)) {
            *lane += of(number);
        }
    }
    lanes.iter().sum()
}
