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
const MAX_COLLECTED: u64 = if cfg!(test) { 16 } else { 4 << 20 };
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
    /// The key of all of them, if it is known that they are equal.
    key: Option<u64>,
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

    /// The percentiles, if there are finite numbers. They are exact if `ends`, the smallest and the greatest number, are there.
    pub(super) fn percentiles(
        &self,
        numbers: &NumericArray,
        percents: &[f64],
        ends: Option<(T, T)>,
    ) -> Result<Vec<PercentileValue>> {
        let ranks = wanted_ranks(self.counts.iter().sum(), percents);
        let mut groups = group_table(&self.counts, 0, 0, &ranks);
        let found = match ends {
            Some((least, most)) => {
                // Zeros of both signs, which are equal, have different keys, and are in two groups.
                if let ([group], true) = (groups.as_mut_slice(), least == most)
                    && group.count == self.counts.iter().sum::<u64>()
                {
                    group.key = Some(least.sort_key());
                }
                self.exact_percentile(numbers, groups, &ranks)?
            }
            None => estimate_rank_values::<T>(&groups, &ranks),
        };
        Ok(interpolate_ranks(self.counts.iter().sum(), percents, &ranks, &found))
    }

    /// The numbers of these ranks, each with the error 0.
    fn exact_percentile(&self, numbers: &NumericArray, groups: Vec<KeyGroup>, ranks: &[u64]) -> Result<Vec<(f64, f64)>> {
        let (mut equal, mut open): (Vec<_>, Vec<_>) = groups.into_iter().partition(|group| group.key.is_some());
        let (mut known, mut keys) = (DIGIT_BITS.min(T::KEY_BITS), Vec::new());
        while known < T::KEY_BITS && !open.is_empty() {
            if open.iter().map(|group| group.count).sum::<u64>() <= MAX_COLLECTED {
                keys = collect_keys::<T>(numbers, &open, known)?;
                break;
            }
            let narrower = refine::<T>(numbers, &open, known, ranks)?;
            let (more, rest): (Vec<_>, Vec<_>) = narrower.into_iter().partition(|group| group.key.is_some());
            equal.extend(more);
            open = rest;
            known += DIGIT_BITS;
        }
        let mut key = |rank: u64| {
            if let Some(group) = equal.iter().find(|group| group.has_rank(rank)) {
                return group.key;
            }
            let at = open.iter().position(|group| group.has_rank(rank))?;
            let (group, Some(keys)) = (open.get(at)?, keys.get_mut(at)) else { return open.get(at).map(|group| group.prefix) };
            let place = usize::try_from(rank - group.before).ok().filter(|place| *place < keys.len())?;
            Some(*keys.select_nth_unstable(place).1)
        };
        Ok(ranks.iter().map(|rank| (key(*rank).map_or(0.0, |key| T::from_sort_key(key).to_double()), 0.0)).collect())
    }
}

impl KeyGroup {
    /// Returns `true` if the number of this rank is in the group.
    fn has_rank(&self, rank: u64) -> bool {
        (self.before..self.before + self.count).contains(&rank)
    }
}

/// The keys of the finite numbers of a run.
pub(super) fn finite_keys<T: Sample>(run: &ElementRun<'_>) -> Vec<u64> {
    run.unmasked_samples::<T>().filter(|(_, number)| number.is_finite()).map(|(_, number)| number.sort_key()).collect()
}

/// The percentiles of all finite numbers, of which these are the keys.
pub(super) fn sorted_percentiles<T: Sample>(mut keys: Vec<u64>, percents: &[f64]) -> Vec<PercentileValue> {
    keys.sort_unstable();
    let total = keys.len() as u64;
    let ranks = wanted_ranks(total, percents);
    let value = |rank: &u64| {
        usize::try_from(*rank).ok().and_then(|at| keys.get(at)).map_or(0.0, |key| T::from_sort_key(*key).to_double())
    };
    let found: Vec<(f64, f64)> = ranks.iter().map(|rank| (value(rank), 0.0)).collect();
    interpolate_ranks(total, percents, &ranks, &found)
}

/// The rank of a percentile among `total` numbers, with a fraction.
fn fractional_rank(total: u64, percent: f64) -> f64 {
    percent / 100.0 * total.saturating_sub(1) as f64
}

/// The ranks of the numbers on both sides of each percentile, in ascending order; none without numbers.
fn wanted_ranks(total: u64, percents: &[f64]) -> Vec<u64> {
    if total == 0 {
        return Vec::new();
    }
    let places = percents.iter().map(|percent| fractional_rank(total, *percent));
    let mut ranks: Vec<u64> = places.flat_map(|place| [place.floor() as u64, place.ceil() as u64]).collect();
    ranks.sort_unstable();
    ranks.dedup();
    ranks
}

/// The percentiles between the numbers of these ranks, of which each has an error; none without numbers.
fn interpolate_ranks(total: u64, percents: &[f64], ranks: &[u64], found: &[(f64, f64)]) -> Vec<PercentileValue> {
    if total == 0 {
        return Vec::new();
    }
    let of_rank = |rank: u64| ranks.binary_search(&rank).ok().and_then(|at| found.get(at)).copied().unwrap_or((0.0, 0.0));
    let percentile = |percent: &f64| {
        let place = fractional_rank(total, *percent);
        let ((low, low_error), (high, high_error)) = (of_rank(place.floor() as u64), of_rank(place.ceil() as u64));
        let value = interpolate_between(low, high, place - place.floor());
        PercentileValue { percent: *percent, value, error: low_error.max(high_error) }
    };
    percents.iter().map(percentile).collect()
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
            groups.push(KeyGroup { prefix: (prefix << DIGIT_BITS) | digit, before, count: *count, key: None });
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

/// The counts by the next digit of the numbers of a group, and the ends of their keys.
struct GroupCounts<C> {
    by_digit: Vec<C>,
    least: u64,
    most: u64,
}

impl<C: Clone + Default> GroupCounts<C> {
    fn of_groups(count: usize) -> Vec<Self> {
        (0..count).map(|_| Self { by_digit: vec![C::default(); DIGIT_VALUES], least: u64::MAX, most: 0 }).collect()
    }
}

/// Groups of the next digit. A group whose numbers are equal stays as it is, with their key.
fn refine<T: Sample>(numbers: &NumericArray, groups: &[KeyGroup], known: u32, ranks: &[u64]) -> Result<Vec<KeyGroup>> {
    Limits::default().charge_memory((groups.len() * DIGIT_VALUES * 12) as u64, "the tables of percentiles")?;
    let finder = GroupLookup::new::<T>(groups, known);
    let next = known + DIGIT_BITS;
    let mut tables = GroupCounts::<u64>::of_groups(groups.len());
    numbers.for_each_run(
        &|run| {
            let mut parts = GroupCounts::<u32>::of_groups(groups.len());
            for (_, number) in run.unmasked_samples::<T>().filter(|(_, number)| number.is_finite()) {
                let key = number.sort_key();
                let digit = (key >> (T::KEY_BITS - next)) as usize & (DIGIT_VALUES - 1);
                if let Some(part) = finder.find_group_index(key).and_then(|at| parts.get_mut(at))
                    && let Some(count) = part.by_digit.get_mut(digit)
                {
                    *count += 1;
                    part.least = part.least.min(key);
                    part.most = part.most.max(key);
                }
            }
            Ok(parts)
        },
        &mut |parts| {
            for (table, part) in tables.iter_mut().zip(parts) {
                table.by_digit.iter_mut().zip(part.by_digit).for_each(|(all, part)| *all += u64::from(part));
                table.least = table.least.min(part.least);
                table.most = table.most.max(part.most);
            }
            Ok(())
        },
    )?;
    let narrower = |(group, table): (&KeyGroup, GroupCounts<u64>)| -> Vec<KeyGroup> {
        if table.least == table.most {
            return vec![KeyGroup { key: Some(table.least), ..*group }];
        }
        let within: Vec<u64> = ranks.iter().copied().filter(|rank| group.has_rank(*rank)).collect();
        group_table(&table.by_digit, group.prefix, group.before, &within)
    };
    Ok(groups.iter().zip(tables).flat_map(narrower).collect())
}

/// The keys of the numbers of each group, in any order.
fn collect_keys<T: Sample>(numbers: &NumericArray, groups: &[KeyGroup], known: u32) -> Result<Vec<Vec<u64>>> {
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
    Ok(keys)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]

    use proptest::prelude::*;
    use trilith::Array;

    use super::*;

    /// The percentiles of an array by tables of digits.
    fn by_digits(numbers: &[f64], percents: &[f64]) -> Vec<PercentileValue> {
        let numbers = NumericArray::new(&Array::from_slice(numbers, &[numbers.len() as u64]).unwrap()).unwrap();
        let (mut ranks, mut ends) = (DigitCounts::<f64>::new(), None::<(f64, f64)>);
        numbers
            .for_each_run(
                &|run| {
                    let finite: Vec<f64> = run.unmasked_samples::<f64>().map(|(_, x)| x).filter(|x| x.is_finite()).collect();
                    Ok((DigitCounts::<f64>::count_leading_digits(run)?, finite))
                },
                &mut |(counts, finite)| {
                    ranks.add_counts(counts);
                    for x in finite {
                        ends = Some(ends.map_or((x, x), |(low, high)| (low.min(x), high.max(x))));
                    }
                    Ok(())
                },
            )
            .unwrap();
        ranks.percentiles(&numbers, percents, Some(ends.unwrap_or((0.0, 1.0)))).unwrap()
    }

    proptest! {
        /// First tier.
        #[test]
        fn digit_tables_find_what_sorting_finds(
            numbers in prop::collection::vec(prop_oneof![
                4 => Just(0.0f64), 1 => Just(-0.0), 1 => Just(1.0), 2 => 1.0..1.000_001f64, 1 => any::<f64>(),
            ], 0..120),
            percents in prop::collection::vec(0.0..=100.0f64, 1..6),
        ) {
            let keys: Vec<u64> = numbers.iter().filter(|x| x.is_finite()).map(|x| x.sort_key()).collect();
            let (sorted, counted) = (sorted_percentiles::<f64>(keys, &percents), by_digits(&numbers, &percents));
            prop_assert_eq!(sorted.len(), counted.len());
            for (sorted, counted) in sorted.iter().zip(&counted) {
                prop_assert_eq!(sorted.value.to_bits(), counted.value.to_bits());
            }
        }
    }

    /// First tier.
    #[test]
    fn equal_numbers_need_one_more_pass() {
        let numbers: Vec<f64> = (0..200).map(|n| if n % 50 == 7 { f64::from(n) } else { 0.0 }).collect();
        let array = NumericArray::new(&Array::from_slice(&numbers, &[200]).unwrap()).unwrap();
        let zeros = KeyGroup { prefix: 0f64.sort_key() >> 48, before: 0, count: 196, key: None };
        let narrower = refine::<f64>(&array, &[zeros], DIGIT_BITS, &[0, 100, 195]).unwrap();
        let found: Vec<_> = narrower.iter().map(|group| (group.before, group.count, group.key)).collect();
        assert_eq!(found, [(0, 196, Some(0f64.sort_key()))]);
    }
}
