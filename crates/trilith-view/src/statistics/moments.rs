//! Results of one pass: counts, the smallest, the greatest, mean and spread.

use crate::numeric::{Run, Sample};

/// Moments of some numbers of an array.
pub(super) struct Moments<T> {
    pub(super) finite: u64,
    pub(super) nan: u64,
    pub(super) infinite: u64,
    pub(super) min: Option<T>,
    pub(super) max: Option<T>,
    mean: f64,
    /// The sum of the squares of what the numbers are off the mean.
    squares: f64,
}

impl<T> Default for Moments<T> {
    fn default() -> Self {
        Self { finite: 0, nan: 0, infinite: 0, min: None, max: None, mean: 0.0, squares: 0.0 }
    }
}

/// Numbers that are added up before their sum meets others: sums stay exact to the last digits.
const CHUNK: usize = 4096;

impl<T: Sample> Moments<T> {
    /// Computes the moments of a run.
    pub(super) fn of(run: &Run<'_>) -> Self {
        let mut all = Self::default();
        let size = size_of::<T>();
        for (at, bytes) in run.bytes.chunks(CHUNK * size).enumerate() {
            let mask = run.mask.get(at * CHUNK..).unwrap_or_default();
            let part = Run { start: 0, bytes, mask: mask.get(..CHUNK.min(mask.len())).unwrap_or_default() };
            all.add(&if part.mask.is_empty() { Self::plain(&part) } else { Self::picked(&part) });
        }
        all
    }

    /// Computes the moments of a chunk without a mask: all at once, if all numbers are finite.
    fn plain(run: &Run<'_>) -> Self {
        let mut numbers = T::all(run.bytes);
        let count = numbers.len();
        let Some(first) = numbers.next() else { return Self::default() };
        let (mut min, mut max) = (first, first);
        for number in T::all(run.bytes) {
            min = if number < min { number } else { min };
            max = if number > max { number } else { max };
        }
        let sum = sum(run.bytes, T::double);
        if T::FLOAT && !(min.is_finite() && max.is_finite() && sum.is_finite()) {
            return Self::picked(run);
        }
        let mean = sum / count as f64;
        let squares = self::sum(run.bytes, |number: T| (number.double() - mean).powi(2));
        Self { finite: count as u64, min: Some(min), max: Some(max), mean, squares, ..Self::default() }
    }

    /// Computes the moments of a chunk, number by number.
    fn picked(run: &Run<'_>) -> Self {
        let mut all = Self::default();
        for (_, number) in run.unmasked::<T>() {
            if number.is_nan() {
                all.nan += 1;
            } else if !number.is_finite() {
                all.infinite += 1;
            } else {
                all.finite += 1;
                let off = number.double() - all.mean;
                all.mean += off / all.finite as f64;
                all.squares += off * (number.double() - all.mean);
                all.min = Some(all.min.map_or(number, |min| if number < min { number } else { min }));
                all.max = Some(all.max.map_or(number, |max| if number > max { number } else { max }));
            }
        }
        all
    }

    /// Adds others (Chan, Golub and LeVeque's formula for the squares).
    pub(super) fn add(&mut self, other: &Self) {
        self.nan += other.nan;
        self.infinite += other.infinite;
        if other.finite == 0 {
            return;
        }
        let (here, there) = (self.finite as f64, other.finite as f64);
        let off = other.mean - self.mean;
        self.squares += other.squares + off * off * (here * there / (here + there));
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
        (self.finite > 0).then(|| (self.squares / self.finite as f64).sqrt())
    }
}

/// The sum of what `of` makes of the numbers, in several lanes, which a processor adds side by side.
fn sum<T: Sample>(bytes: &[u8], of: impl Fn(T) -> f64) -> f64 {
    const LANES: usize = 8;
    let mut lanes = [0.0f64; LANES];
    for part in bytes.chunks(LANES * size_of::<T>()) {
        for (lane, number) in lanes.iter_mut().zip(T::all(part)) {
            *lane += of(number);
        }
    }
    lanes.iter().sum()
}
