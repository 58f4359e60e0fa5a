//! The n-th number in order of size, without sorting: numbers are counted by the first digits of their keys, and
//! the few that share those digits are examined again.

use trilith::{Limits, Result};

use super::PercentileValue;
use crate::numeric::{ElementRun, NumericArray, Sample};

/// Bits of one digit of a key.
const DIGIT_BITS: u32 = 16;
/// Values of one digit.
const DIGIT_VALUES: usize = 1 << DIGIT_BITS;
/// Number of numbers that are collected and put in order; more are counted by their next digit.
const MAX_COLLECTED: u64 = 4 << 20;
/// Mark of a number without a group.
const NO_GROUP: u16 = u16::MAX;

/// Counts of the numbers for each value of the first digit of their keys.
pub(super) struct DigitCounts<T> {
    counts: Vec<u64>,
    kind: std::marker::PhantomData<T>,
}

/// Numbers whose keys begin with the same digits.
struct KeyGroup {
    /// First digits of the keys of the group.
    prefix: u64,
    /// Number of numbers before them in order.
    before: u64,
    /// Number of numbers.
    count: u64,
}

impl<T: Sample> DigitCounts<T> {
    pub(super) fn new() -> Self {
        Self { counts: vec![0; DIGIT_VALUES], kind: std::marker::PhantomData }
    }

    /// Counts the finite numbers of a run.
    pub(super) fn count_leading_digits(run: &ElementRun<'_>) -> Result<Vec<u32>> {
        let mut counts = vec![0u32; DIGIT_VALUES];
        let shift = T::KEY_BITS.saturating_sub(DIGIT_BITS);
        let mut add = |number: T| {
            if number.is_finite() {
                // A digit is less than the number of values.
                if let Some(count) = counts.get_mut((number.sort_key() >> shift) as usize) {
                    *count += 1;
                }
            }
        };
        if run.mask.is_empty() {
            T::from_bytes(run.bytes).for_each(&mut add);
        } else {
            run.unmasked_samples::<T>().for_each(|(_, number)| add(number));
        }
        Ok(counts)
    }

    pub(super) fn add_counts(&mut self, counts: Vec<u32>) {
        self.counts.iter_mut().zip(counts).for_each(|(all, part)| *all += u64::from(part));
    }

    /// The percentiles, if there are finite numbers.
    pub(super) fn percentiles(&self, numbers: &NumericArray, percents: &[f64], exact: bool) -> Result<Vec<PercentileValue>> {
        let total: u64 = self.counts.iter().sum();
        let Some(last) = total.checked_sub(1) else { return Ok(Vec::new()) };
        let place = |percent: &f64| percent / 100.0 * last as f64;
        let mut ranks: Vec<u64> = percents.iter().flat_map(|p| [place(p).floor() as u64, place(p).ceil() as u64]).collect();
        ranks.sort_unstable();
        ranks.dedup();
        let groups = group_table(&self.counts, 0, 0, &ranks);
        let found =
            if exact { self.exact_percentile(numbers, groups, &ranks)? } else { estimate_rank_values::<T>(&groups, &ranks) };
        let of_rank = |rank: u64| ranks.binary_search(&rank).ok().and_then(|at| found.get(at)).copied().unwrap_or((0.0, 0.0));
        let percentile = |percent: &f64| {
            let place = place(percent);
            let ((low, low_error), (high, high_error)) = (of_rank(place.floor() as u64), of_rank(place.ceil() as u64));
            let value = interpolate_between(low, high, place - place.floor());
            PercentileValue { percent: *percent, value, error: low_error.max(high_error) }
        };
        Ok(percents.iter().map(percentile).collect())
    }

    /// The numbers of these ranks, each with the error 0.
    fn exact_percentile(&self, numbers: &NumericArray, mut groups: Vec<KeyGroup>, ranks: &[u64]) -> Result<Vec<(f64, f64)>> {
        let mut known = DIGIT_BITS.min(T::KEY_BITS);
        while known < T::KEY_BITS {
            if groups.iter().map(|group| group.count).sum::<u64>() <= MAX_COLLECTED {
                return collect_group::<T>(numbers, &groups, known, ranks);
            }
            groups = refine::<T>(numbers, &groups, known, ranks)?;
            known += DIGIT_BITS;
        }
        Ok(ranks
            .iter()
            .map(|rank| (group_of(&groups, *rank).map_or(0.0, |g| T::from_sort_key(g.prefix).to_double()), 0.0))
            .collect())
    }
}

/// Interpolates between two numbers, like numpy.
fn interpolate_between(low: f64, high: f64, share: f64) -> f64 {
    let width = high - low;
    if share < 0.5 { low + width * share } else { high - width * (1.0 - share) }
}

/// The groups that numbers of these ranks are in. `counts` are by the digit after `prefix`, of numbers before which
/// there are `before`.
fn group_table(counts: &[u64], prefix: u64, before: u64, ranks: &[u64]) -> Vec<KeyGroup> {
    let mut groups = Vec::new();
    let (mut before, mut ranks) = (before, ranks.iter().peekable());
    for (digit, count) in (0u64..).zip(counts) {
        let after = before + count;
        if ranks.peek().is_none() {
            break;
        }
        let mut wanted = false;
        while ranks.next_if(|rank| **rank < after).is_some() {
            wanted = true;
        }
        if wanted {
            groups.push(KeyGroup { prefix: (prefix << DIGIT_BITS) | digit, before, count: *count });
        }
        before = after;
    }
    groups
}

/// The group that the number of this rank is in.
fn group_of(groups: &[KeyGroup], rank: u64) -> Option<&KeyGroup> {
    groups.iter().rfind(|group| group.before <= rank)
}

/// The middle of what the numbers of these ranks may be, and how far off that is at most.
fn estimate_rank_values<T: Sample>(groups: &[KeyGroup], ranks: &[u64]) -> Vec<(f64, f64)> {
    let shift = T::KEY_BITS.saturating_sub(DIGIT_BITS);
    let bound = |rank: &u64| {
        let Some(group) = group_of(groups, *rank) else { return (0.0, 0.0) };
        let least = group.prefix << shift;
        let (low, high) = (T::from_sort_key(least).to_double(), T::from_sort_key(least | ((1 << shift) - 1)).to_double());
        let middle = low / 2.0 + high / 2.0;
        (middle, (high - middle).max(middle - low))
    };
    ranks.iter().map(bound).collect()
}

/// Lookup of the group of a key, of which `known` bits are known.
struct GroupLookup {
    by_first: Vec<u16>,
    prefixes: Vec<u64>,
    shift: u32,
    first_shift: u32,
}

impl GroupLookup {
    fn new<T: Sample>(groups: &[KeyGroup], known: u32) -> Self {
        let mut by_first = vec![NO_GROUP; DIGIT_VALUES];
        let deeper = known.saturating_sub(DIGIT_BITS);
        for (at, group) in (0u16..).zip(groups) {
            if let Some(slot) = by_first.get_mut((group.prefix >> deeper) as usize) {
                // The first one with this digit; the others follow.
                *slot = (*slot).min(at);
            }
        }
        let prefixes = groups.iter().map(|group| group.prefix).collect();
        Self { by_first, prefixes, shift: T::KEY_BITS - known, first_shift: T::KEY_BITS.saturating_sub(DIGIT_BITS) }
    }

    #[inline]
    fn find_group_index(&self, key: u64) -> Option<usize> {
        let first = self.by_first.get((key >> self.first_shift) as usize).copied().unwrap_or(NO_GROUP);
        if first == NO_GROUP {
            return None;
        }
        let prefix = key >> self.shift;
        let rest = self.prefixes.get(usize::from(first)..).unwrap_or_default();
        rest.iter().take_while(|known| **known <= prefix).position(|known| *known == prefix).map(|at| at + usize::from(first))
    }
}

/// Groups of the next digit.
fn refine<T: Sample>(numbers: &NumericArray, groups: &[KeyGroup], known: u32, ranks: &[u64]) -> Result<Vec<KeyGroup>> {
    Limits::default().charge_memory((groups.len() * DIGIT_VALUES * 12) as u64, "the tables of percentiles")?;
    let finder = GroupLookup::new::<T>(groups, known);
    let next = known + DIGIT_BITS;
    let mut tables = vec![vec![0u64; DIGIT_VALUES]; groups.len()];
    numbers.for_each_run(
        &|run| {
            let mut counts = vec![vec![0u32; DIGIT_VALUES]; groups.len()];
            for (_, number) in run.unmasked_samples::<T>().filter(|(_, number)| number.is_finite()) {
                let key = number.sort_key();
                let digit = (key >> (T::KEY_BITS - next)) as usize & (DIGIT_VALUES - 1);
                if let Some(count) =
                    finder.find_group_index(key).and_then(|at| counts.get_mut(at)).and_then(|table| table.get_mut(digit))
                {
                    *count += 1;
                }
            }
            Ok(counts)
        },
        &mut |counts| {
            for (table, counts) in tables.iter_mut().zip(counts) {
                table.iter_mut().zip(counts).for_each(|(all, part)| *all += u64::from(part));
            }
            Ok(())
        },
    )?;
    let within = |group: &KeyGroup| -> Vec<u64> {
        ranks.iter().copied().filter(|rank| (group.before..group.before + group.count).contains(rank)).collect()
    };
    let narrower = |(group, table): (&KeyGroup, &Vec<u64>)| group_table(table, group.prefix, group.before, &within(group));
    Ok(groups.iter().zip(&tables).flat_map(narrower).collect())
}

/// The numbers of these ranks, out of those of the groups put in order.
fn collect_group<T: Sample>(numbers: &NumericArray, groups: &[KeyGroup], known: u32, ranks: &[u64]) -> Result<Vec<(f64, f64)>> {
    let finder = GroupLookup::new::<T>(groups, known);
    let mut keys: Vec<Vec<u64>> = groups.iter().map(|_| Vec::new()).collect();
    numbers.for_each_run(
        &|run| {
            let mut keys: Vec<Vec<u64>> = groups.iter().map(|_| Vec::new()).collect();
            let mut add = |number: T| {
                let key = number.sort_key();
                if number.is_finite()
                    && let Some(group) = finder.find_group_index(key).and_then(|at| keys.get_mut(at))
                {
                    group.push(key);
                }
            };
            if run.mask.is_empty() {
                T::from_bytes(run.bytes).for_each(&mut add);
            } else {
                run.unmasked_samples::<T>().for_each(|(_, number)| add(number));
            }
            Ok(keys)
        },
        &mut |part| {
            keys.iter_mut().zip(part).for_each(|(all, mut part)| all.append(&mut part));
            Ok(())
        },
    )?;
    let mut number = |rank: &u64| {
        let at = groups.iter().rposition(|group| group.before <= *rank)?;
        let (group, keys) = (groups.get(at)?, keys.get_mut(at)?);
        let place = usize::try_from(rank - group.before).ok().filter(|place| *place < keys.len())?;
        Some(T::from_sort_key(*keys.select_nth_unstable(place).1).to_double())
    };
    Ok(ranks.iter().map(|rank| (number(rank).unwrap_or(0.0), 0.0)).collect())
}
