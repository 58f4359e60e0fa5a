//! zscale, as astropy 8.0.2 computes it: a line through samples in order of size, fitted again without those far off.

use std::collections::HashMap;

use trilith::{Array, Error, Result};

use super::Cuts;
use crate::numeric::{Numbers, Sample, with_type};

/// Maximum number of samples.
const SAMPLES: usize = 1000;
/// Divisor of the slope of the line.
const CONTRAST: f64 = 0.25;
/// The share of samples that must be left.
const LEFT: f64 = 0.5;
/// The number of samples that must be left.
const LEAST: usize = 5;
/// Samples this many standard deviations off the line are left out.
const OFF: f64 = 2.5;
/// Maximum number of fits of the line.
const ROUNDS: usize = 5;

/// The ends for an array; None if none of its numbers is finite.
pub(super) fn of(array: &Array) -> Result<Option<Cuts>> {
    let numbers = Numbers::new(array)?.held()?;
    with_type!(numbers, |T| of_type::<T>(&numbers))
}

fn of_type<T: Sample>(numbers: &Numbers) -> Result<Option<Cuts>> {
    let Some(mut samples) = samples::<T>(numbers)? else { return Ok(None) };
    samples.sort_by_key(|number| number.key());
    let doubles: Vec<f64> = samples.iter().map(|number| number.double()).collect();
    let middle = |at: usize| samples.get(at).copied();
    let median = match (middle((samples.len() - 1) / 2), middle(samples.len() / 2)) {
        (Some(a), Some(b)) => T::halfway(a, b),
        _ => return Ok(None),
    };
    Ok(Some(line(&doubles, median)))
}

/// Samples of the finite numbers, at equal distances; None if there are none.
fn samples<T: Sample>(numbers: &Numbers) -> Result<Option<Vec<T>>> {
    let firsts = if T::FLOAT || numbers.is_masked() { Some(counted::<T>(numbers)?) } else { None };
    let total = firsts.as_ref().map_or(numbers.len(), |(total, _)| *total);
    if total == 0 {
        return Ok(None);
    }
    let stride = (total / SAMPLES as u64).max(1);
    let mut samples = Vec::with_capacity(SAMPLES);
    numbers.runs(
        &|run| {
            let all = T::all(run.bytes);
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
            let finite = run.unmasked::<T>().map(|(_, number)| number).filter(|number| number.is_finite());
            Ok(finite.skip(over).step_by(step).collect::<Vec<T>>())
        },
        &mut |mut found| {
            samples.append(&mut found);
            Ok(())
        },
    )?;
    samples.truncate(SAMPLES);
    Ok(Some(samples))
}

/// Number of finite numbers before a run, and in it, by the start of the run.
type Counts = HashMap<u64, (u64, u64)>;

/// Counts the finite numbers: all, and by the start of each run those before it and in it.
fn counted<T: Sample>(numbers: &Numbers) -> Result<(u64, Counts)> {
    let (mut total, mut firsts) = (0, HashMap::new());
    numbers.runs(&|run| Ok((run.start, run.finite::<T>() as u64)), &mut |(start, finite)| {
        firsts.insert(start, (total, finite));
        total += finite;
        Ok(())
    })?;
    Ok((total, firsts))
}

/// The ends for samples in order of size.
fn line(samples: &[f64], median: f64) -> Cuts {
    let (Some(first), Some(last)) = (samples.first(), samples.last()) else { return Cuts { low: 0.0, high: 1.0 } };
    let count = samples.len();
    let least = LEAST.max((count as f64 * LEFT) as usize);
    let grow = 1.max((count as f64 * 0.01) as usize);
    let mut bad = vec![false; count];
    let (mut good, mut good_before, mut slope) = (count, count + 1, 0.0);
    for _ in 0..ROUNDS {
        if good >= good_before || good < least {
            break;
        }
        let fit = fit(samples, &bad);
        slope = fit.1;
        let off: Vec<f64> = (0u32..).zip(samples).map(|(x, y)| y - (fit.0 + fit.1 * f64::from(x))).collect();
        let threshold = OFF * deviation(&off, &bad);
        for (bad, off) in bad.iter_mut().zip(&off) {
            *bad |= off.abs() > threshold;
        }
        bad = grown(&bad, grow);
        good_before = good;
        good = bad.iter().filter(|bad| !**bad).count();
    }
    if good < least {
        return Cuts { low: *first, high: *last };
    }
    let slope = slope / CONTRAST;
    let centre = (count - 1) / 2;
    Cuts { low: first.max(median - (centre as f64 - 1.0) * slope), high: last.min(median + (count - centre) as f64 * slope) }
}

/// The line of least squares through the good samples: its height at the first one, and its slope.
fn fit(samples: &[f64], bad: &[bool]) -> (f64, f64) {
    let good = || (0u32..).zip(samples).zip(bad).filter(|(_, bad)| !**bad).map(|((x, y), _)| (f64::from(x), *y));
    let count = good().count() as f64;
    let (x_mean, y_mean) = (good().map(|(x, _)| x).sum::<f64>() / count, good().map(|(_, y)| y).sum::<f64>() / count);
    let across: f64 = good().map(|(x, y)| (x - x_mean) * (y - y_mean)).sum();
    let along: f64 = good().map(|(x, _)| (x - x_mean).powi(2)).sum();
    let slope = if along > 0.0 { across / along } else { 0.0 };
    (y_mean - slope * x_mean, slope)
}

/// The standard deviation of the good ones.
fn deviation(off: &[f64], bad: &[bool]) -> f64 {
    let good = || off.iter().zip(bad).filter(|(_, bad)| !**bad).map(|(off, _)| *off);
    let count = good().count() as f64;
    let mean = good().sum::<f64>() / count;
    (good().map(|off| (off - mean).powi(2)).sum::<f64>() / count).sqrt()
}

/// Marks samples with a rejected sample within a centered window of `size` (dilation).
fn grown(bad: &[bool], size: usize) -> Vec<bool> {
    let window = |at: usize| {
        let from = at.saturating_sub(size / 2);
        let to = (at + size - size / 2).min(bad.len());
        bad.get(from..to).is_some_and(|window| window.contains(&true))
    };
    (0..bad.len()).map(window).collect()
}
