//! The n-th number in order of size, without sorting: numbers are counted by the first digits of their keys, and
//! the few that share those digits are examined again.

use trilith::{Limits, Result};

use super::Percentile;
use crate::numeric::{Numbers, Run, Sample};

/// Bits of one digit of a key.
const DIGIT: u32 = 16;
/// Values of one digit.
const VALUES: usize = 1 << DIGIT;
/// Number of numbers that are collected and put in order; more are counted by their next digit.
const COLLECTED: u64 = 4 << 20;
/// Mark of a number without a group.
const NONE: u16 = u16::MAX;

/// Counts of the numbers for each value of the first digit of their keys.
pub(super) struct Ranks<T> {
    counts: Vec<u64>,
    kind: std::marker::PhantomData<T>,
}

/// Numbers whose keys begin with the same digits.
struct Group {
    /// First digits of the keys of the group.
    prefix: u64,
    /// Number of numbers before them in order.
    before: u64,
    /// Number of numbers.
    count: u64,
}

impl<T: Sample> Ranks<T> {
    pub(super) fn new() -> Self {
        Self { counts: vec![0; VALUES], kind: std::marker::PhantomData }
    }

    /// Counts the finite numbers of a run.
    pub(super) fn count(run: &Run<'_>) -> Result<Vec<u32>> {
        let mut counts = vec![0u32; VALUES];
        let shift = T::BITS.saturating_sub(DIGIT);
        let mut add = |number: T| {
            if number.is_finite() {
                // A digit is less than the number of values.
                if let Some(count) = counts.get_mut((number.key() >> shift) as usize) {
                    *count += 1;
                }
            }
        };
        if run.mask.is_empty() {
            T::all(run.bytes).for_each(&mut add);
        } else {
            run.unmasked::<T>().for_each(|(_, number)| add(number));
        }
        Ok(counts)
    }

    pub(super) fn add(&mut self, counts: Vec<u32>) {
        self.counts.iter_mut().zip(counts).for_each(|(all, part)| *all += u64::from(part));
    }

    /// The percentiles, if there are finite numbers.
    pub(super) fn percentiles(&self, numbers: &Numbers, percents: &[f64], exact: bool) -> Result<Vec<Percentile>> {
        let total: u64 = self.counts.iter().sum();
        let Some(last) = total.checked_sub(1) else { return Ok(Vec::new()) };
        let place = |percent: &f64| percent / 100.0 * last as f64;
        let mut ranks: Vec<u64> = percents.iter().flat_map(|p| [place(p).floor() as u64, place(p).ceil() as u64]).collect();
        ranks.sort_unstable();
        ranks.dedup();
        let groups = groups_of(&self.counts, 0, 0, &ranks);
        let found = if exact { self.exactly(numbers, groups, &ranks)? } else { bounds::<T>(&groups, &ranks) };
        let of_rank = |rank: u64| ranks.binary_search(&rank).ok().and_then(|at| found.get(at)).copied().unwrap_or((0.0, 0.0));
        let percentile = |percent: &f64| {
            let place = place(percent);
            let ((low, low_error), (high, high_error)) = (of_rank(place.floor() as u64), of_rank(place.ceil() as u64));
            let value = between(low, high, place - place.floor());
            Percentile { percent: *percent, value, error: low_error.max(high_error) }
        };
        Ok(percents.iter().map(percentile).collect())
    }

    /// The numbers of these ranks, each with the error 0.
    fn exactly(&self, numbers: &Numbers, mut groups: Vec<Group>, ranks: &[u64]) -> Result<Vec<(f64, f64)>> {
        let mut known = DIGIT.min(T::BITS);
        while known < T::BITS {
            if groups.iter().map(|group| group.count).sum::<u64>() <= COLLECTED {
                return collected::<T>(numbers, &groups, known, ranks);
            }
            groups = narrowed::<T>(numbers, &groups, known, ranks)?;
            known += DIGIT;
        }
        Ok(ranks.iter().map(|rank| (group_of(&groups, *rank).map_or(0.0, |g| T::of_key(g.prefix).double()), 0.0)).collect())
    }
}

/// Interpolates between two numbers, like numpy.
fn between(low: f64, high: f64, share: f64) -> f64 {
    let width = high - low;
    if share < 0.5 { low + width * share } else { high - width * (1.0 - share) }
}

/// The groups that numbers of these ranks are in. `counts` are by the digit after `prefix`, of numbers before which
/// there are `before`.
fn groups_of(counts: &[u64], prefix: u64, before: u64, ranks: &[u64]) -> Vec<Group> {
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
            groups.push(Group { prefix: (prefix << DIGIT) | digit, before, count: *count });
        }
        before = after;
    }
    groups
}

/// The group that the number of this rank is in.
fn group_of(groups: &[Group], rank: u64) -> Option<&Group> {
    groups.iter().rfind(|group| group.before <= rank)
}

/// The middle of what the numbers of these ranks may be, and how far off that is at most.
fn bounds<T: Sample>(groups: &[Group], ranks: &[u64]) -> Vec<(f64, f64)> {
    let shift = T::BITS.saturating_sub(DIGIT);
    let bound = |rank: &u64| {
        let Some(group) = group_of(groups, *rank) else { return (0.0, 0.0) };
        let least = group.prefix << shift;
        let (low, high) = (T::of_key(least).double(), T::of_key(least | ((1 << shift) - 1)).double());
        let middle = low / 2.0 + high / 2.0;
        (middle, (high - middle).max(middle - low))
    };
    ranks.iter().map(bound).collect()
}

/// Lookup of the group of a key, of which `known` bits are known.
struct Finder {
    by_first: Vec<u16>,
    prefixes: Vec<u64>,
    shift: u32,
    first_shift: u32,
}

impl Finder {
    fn new<T: Sample>(groups: &[Group], known: u32) -> Self {
        let mut by_first = vec![NONE; VALUES];
        let deeper = known.saturating_sub(DIGIT);
        for (at, group) in (0u16..).zip(groups) {
            if let Some(slot) = by_first.get_mut((group.prefix >> deeper) as usize) {
                // The first one with this digit; the others follow.
                *slot = (*slot).min(at);
            }
        }
        let prefixes = groups.iter().map(|group| group.prefix).collect();
        Self { by_first, prefixes, shift: T::BITS - known, first_shift: T::BITS.saturating_sub(DIGIT) }
    }

    #[inline]
    fn find(&self, key: u64) -> Option<usize> {
        let first = self.by_first.get((key >> self.first_shift) as usize).copied().unwrap_or(NONE);
        if first == NONE {
            return None;
        }
        let prefix = key >> self.shift;
        let rest = self.prefixes.get(usize::from(first)..).unwrap_or_default();
        rest.iter().take_while(|known| **known <= prefix).position(|known| *known == prefix).map(|at| at + usize::from(first))
    }
}

/// Groups of the next digit.
fn narrowed<T: Sample>(numbers: &Numbers, groups: &[Group], known: u32, ranks: &[u64]) -> Result<Vec<Group>> {
    Limits::default().charge_memory((groups.len() * VALUES * 12) as u64, "the tables of percentiles")?;
    let finder = Finder::new::<T>(groups, known);
    let next = known + DIGIT;
    let mut tables = vec![vec![0u64; VALUES]; groups.len()];
    numbers.runs(
        &|run| {
            let mut counts = vec![vec![0u32; VALUES]; groups.len()];
            for (_, number) in run.unmasked::<T>().filter(|(_, number)| number.is_finite()) {
                let key = number.key();
                let digit = (key >> (T::BITS - next)) as usize & (VALUES - 1);
                if let Some(count) = finder.find(key).and_then(|at| counts.get_mut(at)).and_then(|table| table.get_mut(digit)) {
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
    let within = |group: &Group| -> Vec<u64> {
        ranks.iter().copied().filter(|rank| (group.before..group.before + group.count).contains(rank)).collect()
    };
    let narrower = |(group, table): (&Group, &Vec<u64>)| groups_of(table, group.prefix, group.before, &within(group));
    Ok(groups.iter().zip(&tables).flat_map(narrower).collect())
}

/// The numbers of these ranks, out of those of the groups put in order.
fn collected<T: Sample>(numbers: &Numbers, groups: &[Group], known: u32, ranks: &[u64]) -> Result<Vec<(f64, f64)>> {
    let finder = Finder::new::<T>(groups, known);
    let mut keys: Vec<Vec<u64>> = groups.iter().map(|_| Vec::new()).collect();
    numbers.runs(
        &|run| {
            let mut keys: Vec<Vec<u64>> = groups.iter().map(|_| Vec::new()).collect();
            let mut add = |number: T| {
                let key = number.key();
                if number.is_finite()
                    && let Some(group) = finder.find(key).and_then(|at| keys.get_mut(at))
                {
                    group.push(key);
                }
            };
            if run.mask.is_empty() {
                T::all(run.bytes).for_each(&mut add);
            } else {
                run.unmasked::<T>().for_each(|(_, number)| add(number));
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
        Some(T::of_key(*keys.select_nth_unstable(place).1).double())
    };
    Ok(ranks.iter().map(|rank| (number(rank).unwrap_or(0.0), 0.0)).collect())
}
