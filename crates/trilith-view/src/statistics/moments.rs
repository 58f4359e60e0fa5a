//! Results of one pass: counts, the smallest, the greatest, mean and spread.

use crate::numeric::{ElementRun, Sample};

/// Moments of some numbers of an array.
pub(super) struct Moments<T> {
    pub(super) finite: u64,
    pub(super) nan: u64,
    pub(super) infinite: u64,
    pub(super) min: Option<T>,
    pub(super) max: Option<T>,
    mean: ExactMean,
    /// The sum of the squares of what the numbers are off the mean.
    sum_of_squares: f64,
}

impl<T> Default for Moments<T> {
    fn default() -> Self {
        Self { finite: 0, nan: 0, infinite: 0, min: None, max: None, mean: ExactMean::default(), sum_of_squares: 0.0 }
    }
}

/// A mean as a sum of two doubles. One double is off by more than the spread of numbers that are large and close together, such as
/// identifiers above 2^53.
#[derive(Clone, Copy, Default)]
struct ExactMean {
    high: f64,
    low: f64,
}

impl ExactMean {
    /// Returns the mean that is greater by `step` (the sum of Knuth, whose rounding error is the lower double).
    fn moved_by(self, step: f64) -> Self {
        let high = self.high + step;
        let part = high - self.high;
        let error = (self.high - (high - part)) + (step - part);
        Self { high, low: self.low + error }
    }

    /// The distance from another mean.
    fn distance_from(self, other: Self) -> f64 {
        (self.high - other.high) + (self.low - other.low)
    }

    fn as_f64(self) -> f64 {
        self.high + self.low
    }
}

/// Numbers that are added up before their sum meets others: sums stay exact to the last digits.
const CHUNK_LEN: usize = 4096;

impl<T: Sample> Moments<T> {
    /// Computes the moments of a run. Masked numbers and those that are not finite are left out first, so that the same finite
    /// numbers have the same moments wherever these are.
    pub(super) fn from_run(run: &ElementRun<'_>) -> Self {
        let mut all = Self::default();
        let mut numbers: Vec<T> = Vec::with_capacity(2 * CHUNK_LEN);
        for (at, bytes) in run.bytes.chunks(CHUNK_LEN * size_of::<T>()).enumerate() {
            let known = numbers.len();
            match run.mask.get(at * CHUNK_LEN..) {
                Some(mask) if !mask.is_empty() => {
                    numbers.extend(T::from_bytes(bytes).zip(mask).filter(|(_, mask)| **mask == 0).map(|(number, _)| number));
                }
                _ => numbers.extend(T::from_bytes(bytes)),
            }
            if T::CAN_BE_NON_FINITE && !numbers.iter().skip(known).all(|number| number.is_finite()) {
                all.count_and_remove_nonfinite(&mut numbers);
            }
            if let Some(full) = numbers.get(..CHUNK_LEN) {
                all.merge_moments(&Self::from_finite(full));
                numbers.drain(..CHUNK_LEN);
            }
        }
        all.merge_moments(&Self::from_finite(&numbers));
        all
    }

    fn count_and_remove_nonfinite(&mut self, numbers: &mut Vec<T>) {
        numbers.retain(|number| {
            let is_finite = number.is_finite();
            if !is_finite && number.is_nan() {
                self.nan += 1;
            } else if !is_finite {
                self.infinite += 1;
            }
            is_finite
        });
    }

    /// Computes the moments of finite numbers: the second pass corrects the mean of the first one, and both add distances, which are
    /// exact for numbers that are close together.
    fn from_finite(numbers: &[T]) -> Self {
        let Some((&first, count)) = numbers.first().zip(Some(numbers.len() as f64)) else { return Self::default() };
        let (mut min, mut max) = (first, first);
        for &number in numbers {
            min = if number < min { number } else { min };
            max = if number > max { number } else { max };
        }
        let sum = sum_mapped_samples(numbers, T::to_double);
        // A sum of doubles near their limit is infinite, their mean is not.
        let mean = if sum.is_finite() { sum / count } else { sum_mapped_samples(numbers, |number| number.to_double() / count) };
        let center = T::from_double(mean);
        let step = sum_mapped_samples(numbers, |number| number.distance_from(center)) / count;
        let squares = sum_mapped_samples(numbers, |number| number.distance_from(center).powi(2)) - step * step * count;
        let (high, low) = center.to_doubles();
        let mean = ExactMean { high, low }.moved_by(if step.is_finite() { step } else { 0.0 });
        let finite = numbers.len() as u64;
        Self { finite, min: Some(min), max: Some(max), mean, sum_of_squares: squares.max(0.0), ..Self::default() }
    }

    /// Adds others (Chan, Golub and LeVeque's formula for the squares).
    pub(super) fn merge_moments(&mut self, other: &Self) {
        self.nan += other.nan;
        self.infinite += other.infinite;
        if other.finite == 0 {
            return;
        }
        let (here, there) = (self.finite as f64, other.finite as f64);
        if self.finite == 0 {
            self.mean = other.mean;
        }
        let off = other.mean.distance_from(self.mean);
        self.sum_of_squares += other.sum_of_squares + off * off * (here * there / (here + there));
        self.mean = self.mean.moved_by(off * (there / (here + there)));
        self.finite += other.finite;
        let least = |a: T, b: T| if b < a { b } else { a };
        let most = |a: T, b: T| if b > a { b } else { a };
        self.min = self.min.zip(other.min).map(|(a, b)| least(a, b)).or(self.min).or(other.min);
        self.max = self.max.zip(other.max).map(|(a, b)| most(a, b)).or(self.max).or(other.max);
    }

    pub(super) fn mean(&self) -> Option<f64> {
        (self.finite > 0).then(|| self.mean.as_f64())
    }

    pub(super) fn std(&self) -> Option<f64> {
        (self.finite > 0).then(|| (self.sum_of_squares / self.finite as f64).sqrt())
    }
}

/// The sum of what `of` makes of the numbers, in several lanes, which a processor adds side by side.
fn sum_mapped_samples<T: Sample>(numbers: &[T], of: impl Fn(T) -> f64) -> f64 {
    const LANES: usize = 8;
    let mut lanes = [0.0f64; LANES];
    for part in numbers.chunks(LANES) {
        for (lane, number) in lanes.iter_mut().zip(part) {
            *lane += of(*number);
        }
    }
    lanes.iter().sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn compute_moments<T: Sample>(bytes: &[u8], mask: &[u8]) -> (Option<f64>, Option<f64>) {
        let found = Moments::<T>::from_run(&ElementRun { start: 0, bytes, mask });
        (found.mean(), found.std())
    }

    /// The exact mean and standard deviation of whole numbers, by integers alone but for the last division.
    fn compute_exactly(numbers: &[i64]) -> (f64, f64) {
        let (first, count) = (i128::from(numbers[0]), numbers.len() as i128);
        let offsets: Vec<i128> = numbers.iter().map(|number| i128::from(*number) - first).collect();
        let (sum, squares) = (offsets.iter().sum::<i128>(), offsets.iter().map(|n| n * n).sum::<i128>());
        let mean = (first * count + sum) as f64 / count as f64;
        (mean, ((squares * count - sum * sum) as f64).sqrt() / count as f64)
    }

    proptest! {
        #[test]
        fn close_large_numbers_have_exact_spread(
            base in prop_oneof![Just(1i64 << 53), Just((1 << 62) + 1), Just(i64::MIN), Just(i64::MAX - 5000)],
            offsets in prop::collection::vec(0i64..5000, 1..9000),
            masked in any::<u64>(),
        ) {
            let numbers: Vec<i64> = offsets.iter().map(|offset| base + offset).collect();
            let (mean, std) = compute_exactly(&numbers);
            let bytes: Vec<u8> = numbers.iter().flat_map(|n| n.to_ne_bytes()).collect();
            let found = compute_moments::<i64>(&bytes, &[]);
            prop_assert!((found.0.unwrap() - mean).abs() <= mean.abs() * f64::EPSILON, "{found:?} {mean} {std}");
            prop_assert!((found.1.unwrap() - std).abs() <= std * 1e-14, "{found:?} {mean} {std}");
            // Masked numbers between them change nothing.
            let (mut padded, mut mask) = (Vec::new(), Vec::new());
            for (at, number) in numbers.iter().enumerate() {
                if (masked >> (at % 64)) & 1 == 1 {
                    padded.extend(77i64.to_ne_bytes());
                    mask.push(1u8);
                }
                padded.extend(number.to_ne_bytes());
                mask.push(0);
            }
            prop_assert_eq!(compute_moments::<i64>(&padded, &mask), found);
            // Doubles above 2^62 hold multiples of 1024.
            let double = |offset: &i64| 2f64.powi(62) + (offset * 1024) as f64;
            let doubles: Vec<u8> = offsets.iter().flat_map(|offset| double(offset).to_ne_bytes()).collect();
            let multiples: Vec<i64> = offsets.iter().map(|offset| offset * 1024).collect();
            let (found, std) = (compute_moments::<f64>(&doubles, &[]), compute_exactly(&multiples).1);
            prop_assert!((found.1.unwrap() - std).abs() <= std * 1e-14, "{found:?} {std}");
        }
    }
}
