//! zscale, as astropy 8.0.2 computes it: a line through samples in order of size, fitted again without those far off.

use std::collections::HashMap;

use trilith::{Array, Error, Result};

use super::Limits;
use crate::numeric::{NumericArray, Sample, with_type};

/// Maximum number of samples.
const MAX_SAMPLES: usize = 1000;
/// Divisor of the slope of the line.
const CONTRAST: f64 = 0.25;
/// The share of samples that must be left.
const MIN_GOOD_SHARE: f64 = 0.5;
/// The number of samples that must be left.
const MIN_GOOD_SAMPLES: usize = 5;
/// Samples this many standard deviations off the line are left out.
const KREJ: f64 = 2.5;
/// Maximum number of fits of the line.
const MAX_ITERATIONS: usize = 5;

/// The ends for an array; None if none of its numbers is finite.
pub(super) fn zscale_limits(array: &Array) -> Result<Option<Limits>> {
    let numbers = NumericArray::new(array)?.in_memory()?;
    with_type!(numbers, |T| zscale_limits_typed::<T>(&numbers))
}

fn zscale_limits_typed<T: Sample>(numbers: &NumericArray) -> Result<Option<Limits>> {
    let Some(mut samples) = collect_samples::<T>(numbers)? else { return Ok(None) };
    samples.sort_by_key(|number| number.sort_key());
    let doubles: Vec<f64> = samples.iter().map(|number| number.to_double()).collect();
    let middle = |at: usize| samples.get(at).copied();
    let median = match (middle((samples.len() - 1) / 2), middle(samples.len() / 2)) {
        (Some(a), Some(b)) => T::midpoint(a, b),
        _ => return Ok(None),
    };
    Ok(Some(limits_from_samples(&doubles, median)))
}

/// Samples of the finite numbers, at equal distances; None if there are none.
fn collect_samples<T: Sample>(numbers: &NumericArray) -> Result<Option<Vec<T>>> {
    let firsts = if T::CAN_BE_NON_FINITE || numbers.is_masked() { Some(count_finite::<T>(numbers)?) } else { None };
    let total = firsts.as_ref().map_or(numbers.len(), |(total, _)| *total);
    if total == 0 {
        return Ok(None);
    }
    let stride = (total / MAX_SAMPLES as u64).max(1);
    let mut samples = Vec::with_capacity(MAX_SAMPLES);
    numbers.for_each_run(
        &|run| {
            let all = T::from_bytes(run.bytes);
            let known = match &firsts {
                Some((_, firsts)) => firsts.get(&run.start).copied(),
                None => Some((run.start, all.len() as u64)),
            };
            let (first, finite) =
                known.ok_or_else(|| Error::unsupported("the array came in other pieces when it was read again"))?;
            let over = usize::try_from(first.next_multiple_of(stride) - first).unwrap_or(usize::MAX);
            let step = usize::try_from(stride).unwrap_or(usize::MAX);
            if finite == all.len() as u64 {
                return Ok(all.skip(over).step_by(step).collect());
            }
            let finite = run.unmasked_samples::<T>().map(|(_, number)| number).filter(|number| number.is_finite());
            Ok(finite.skip(over).step_by(step).collect::<Vec<T>>())
        },
        &mut |mut found| {
            samples.append(&mut found);
            Ok(())
        },
    )?;
    samples.truncate(MAX_SAMPLES);
    Ok(Some(samples))
}

/// Number of finite numbers before a run, and in it, by the start of the run.
type RunCounts = HashMap<u64, (u64, u64)>;

/// Counts the finite numbers: all, and by the start of each run those before it and in it.
fn count_finite<T: Sample>(numbers: &NumericArray) -> Result<(u64, RunCounts)> {
    let (mut total, mut firsts) = (0, HashMap::new());
    numbers.for_each_run(&|run| Ok((run.start, run.count_finite::<T>() as u64)), &mut |(start, finite)| {
        firsts.insert(start, (total, finite));
        total += finite;
        Ok(())
    })?;
    Ok((total, firsts))
}

/// The ends for samples in order of size.
fn limits_from_samples(samples: &[f64], median: f64) -> Limits {
    let (Some(first), Some(last)) = (samples.first(), samples.last()) else { return Limits { low: 0.0, high: 1.0 } };
    let count = samples.len();
    let least = MIN_GOOD_SAMPLES.max((count as f64 * MIN_GOOD_SHARE) as usize);
    let grow = 1.max((count as f64 * 0.01) as usize);
    let mut bad = vec![false; count];
    let (mut good, mut good_before, mut slope) = (count, count + 1, 0.0);
    for _ in 0..MAX_ITERATIONS {
        if good >= good_before || good < least {
            break;
        }
        let fit = fit_line(samples, &bad);
        slope = fit.1;
        let off: Vec<f64> = (0u32..).zip(samples).map(|(x, y)| y - (fit.0 + fit.1 * f64::from(x))).collect();
        let threshold = KREJ * standard_deviation(&off, &bad);
        for (bad, off) in bad.iter_mut().zip(&off) {
            *bad |= off.abs() > threshold;
        }
        bad = dilate(&bad, grow);
        good_before = good;
        good = bad.iter().filter(|bad| !**bad).count();
    }
    if good < least {
        return Limits { low: *first, high: *last };
    }
    let slope = slope / CONTRAST;
    let centre = (count - 1) / 2;
    Limits { low: first.max(median - (centre as f64 - 1.0) * slope), high: last.min(median + (count - centre) as f64 * slope) }
}

/// The line of least squares through the good samples: its height at the first one, and its slope.
fn fit_line(samples: &[f64], bad: &[bool]) -> (f64, f64) {
    let good = || (0u32..).zip(samples).zip(bad).filter(|(_, bad)| !**bad).map(|((x, y), _)| (f64::from(x), *y));
    let count = good().count() as f64;
    let (x_mean, y_mean) = (good().map(|(x, _)| x).sum::<f64>() / count, good().map(|(_, y)| y).sum::<f64>() / count);
    let across: f64 = good().map(|(x, y)| (x - x_mean) * (y - y_mean)).sum();
    let along: f64 = good().map(|(x, _)| (x - x_mean).powi(2)).sum();
    let slope = if along > 0.0 { across / along } else { 0.0 };
    (y_mean - slope * x_mean, slope)
}

/// The standard deviation of the good ones.
fn standard_deviation(off: &[f64], bad: &[bool]) -> f64 {
    let good = || off.iter().zip(bad).filter(|(_, bad)| !**bad).map(|(off, _)| *off);
    let count = good().count() as f64;
    let mean = good().sum::<f64>() / count;
    (good().map(|off| (off - mean).powi(2)).sum::<f64>() / count).sqrt()
}

/// Marks samples with a rejected sample within a centered window of `size` (dilation).
fn dilate(bad: &[bool], size: usize) -> Vec<bool> {
    let window = |at: usize| {
        let from = at.saturating_sub(size / 2);
        let to = (at + size - size / 2).min(bad.len());
        bad.get(from..to).is_some_and(|window| window.contains(&true))
    };
    (0..bad.len()).map(window).collect()
}
