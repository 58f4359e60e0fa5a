//! Regions of an array, and what none of them holds.

use std::collections::BTreeSet;

use crate::array::{Index, resolve_axes};
use crate::error::Result;

/// The part of one axis in a region: N indices, `step` apart, in ascending order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct AxisSteps {
    pub first: u64,
    pub count: u64,
    pub step: u64,
}

impl AxisSteps {
    fn full(len: u64) -> Self {
        Self { first: 0, count: len, step: 1 }
    }

    /// Returns the index after the last one.
    fn end(self) -> u64 {
        self.first + (self.count - 1) * self.step + 1
    }
}

/// A region: what it has of each axis. None of them is empty.
pub(super) type Region = Vec<AxisSteps>;

/// The region that indices take of an array of this shape; None if it is empty.
///
/// # Errors
/// Returns the errors of [`Array::slice`](crate::Array::slice).
pub(super) fn region_from_indices(shape: &[u64], indices: &[Index]) -> Result<Option<Region>> {
    let taken = resolve_axes(shape, indices)?;
    if taken.iter().any(|axis| axis.count == 0) {
        return Ok(None);
    }
    let steps = taken.iter().map(|axis| {
        let step = axis.step.unsigned_abs();
        let back = if axis.step < 0 { (axis.count - 1).saturating_mul(step) } else { 0 };
        // The step of a single index means nothing.
        let step = if axis.count == 1 { 1 } else { step };
        AxisSteps { first: axis.start.saturating_sub(back), count: axis.count, step }
    });
    Ok(Some(steps.collect()))
}

/// The indices that take a region.
pub(super) fn region_to_indices(region: &[AxisSteps]) -> Vec<Index> {
    let number = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    let index = |steps: &AxisSteps| Index::Slice {
        start: Some(number(steps.first)),
        stop: Some(number(steps.end())),
        step: number(steps.step),
    };
    region.iter().map(index).collect()
}

/// Returns the number of elements of a region.
pub(super) fn count_elements(region: &[AxisSteps]) -> u64 {
    region.iter().fold(1, |n, steps| n.saturating_mul(steps.count))
}

/// A region in a note.
pub(super) fn print_region(region: &[AxisSteps]) -> String {
    let axes: Vec<String> = region.iter().map(|s| format!("{}:{}:{}", s.first, s.count, s.step)).collect();
    axes.join(" ")
}

/// The region of a note, for an array of this shape; None if it is none.
pub(super) fn parse_region(shape: &[u64], text: &str) -> Option<Region> {
    let axis = |(text, len): (&str, &u64)| {
        let numbers: Vec<u64> = text.split(':').map(|part| part.parse().ok()).collect::<Option<_>>()?;
        let [first, count, step] = numbers[..] else { return None };
        let last = count.checked_sub(1)?.checked_mul(step)?.checked_add(first)?;
        (step > 0 && last < *len).then_some(AxisSteps { first, count, step })
    };
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    if words.len() != shape.len() {
        return None;
    }
    words.into_iter().zip(shape).map(axis).collect()
}

/// Hands over what none of the regions has of an array of this shape, as regions that do not overlap.
///
/// # Errors
/// Returns the errors of `take`, and [`ErrorKind::Cancelled`](crate::ErrorKind::Cancelled) if the work is
/// interrupted.
pub(super) fn uncovered(shape: &[u64], regions: &[Region], take: &mut dyn FnMut(&[AxisSteps]) -> Result<()>) -> Result<()> {
    if shape.contains(&0) {
        return Ok(());
    }
    let all: Vec<&Region> = regions.iter().collect::<BTreeSet<_>>().into_iter().collect();
    UncoveredSearch { shape, take }.search_axis(&all, &mut Vec::new())
}

struct UncoveredSearch<'a> {
    shape: &'a [u64],
    take: &'a mut dyn FnMut(&[AxisSteps]) -> Result<()>,
}

impl UncoveredSearch<'_> {
    /// Passes on the uncovered part for which the first axes are `at` and only these regions reach.
    fn search_axis(&mut self, regions: &[&Region], at: &mut Vec<AxisSteps>) -> Result<()> {
        crate::interrupt::check()?;
        let axis = at.len();
        let rest = self.shape.get(axis..).unwrap_or_default();
        if regions.is_empty() {
            let whole: Vec<AxisSteps> = at.iter().copied().chain(rest.iter().map(|len| AxisSteps::full(*len))).collect();
            return (self.take)(&whole);
        }
        let has_all = |region: &&Region| region.iter().skip(axis).zip(rest).all(|(steps, len)| *steps == AxisSteps::full(*len));
        let Some(len) = rest.first() else { return Ok(()) };
        if regions.iter().any(has_all) {
            return Ok(());
        }
        for (from, to, here) in split_axis(regions, axis, *len) {
            self.search_range(&here, from, to, at)?;
        }
        Ok(())
    }

    /// Passes on the uncovered part for the indices `from..to` of the next axis, between which no region begins or ends.
    fn search_range(&mut self, regions: &[&Region], from: u64, to: u64, at: &mut Vec<AxisSteps>) -> Result<()> {
        let axis = at.len();
        let step = |region: &Region| region.get(axis).map_or(1, |steps| steps.step);
        // The regions of an index repeat with this period.
        let period = regions.iter().fold(1u64, |n, region| lcm(n, step(region)).min(to - from));
        for offset in 0..period {
            let first = from + offset;
            let here: Vec<&Region> = regions
                .iter()
                .filter(|region| region.get(axis).is_none_or(|s| (first.abs_diff(s.first)).is_multiple_of(s.step)))
                .copied()
                .collect();
            at.push(AxisSteps { first, count: (to - first).div_ceil(period), step: period });
            let done = self.search_axis(&here, at);
            at.pop();
            done?;
        }
        Ok(())
    }
}

/// An axis cut where a region begins or ends: from where to where, and the regions there.
fn split_axis<'r>(regions: &[&'r Region], axis: usize, len: u64) -> Vec<(u64, u64, Vec<&'r Region>)> {
    let span = |region: &Region| region.get(axis).map_or((0, len), |steps| (steps.first, steps.end()));
    let mut begins: Vec<(u64, usize)> = regions.iter().enumerate().map(|(n, region)| (span(region).0, n)).collect();
    let mut ends: Vec<(u64, usize)> = regions.iter().enumerate().map(|(n, region)| (span(region).1, n)).collect();
    begins.sort_unstable();
    ends.sort_unstable();
    let cuts: BTreeSet<u64> = begins.iter().chain(&ends).map(|(at, _)| *at).chain([0, len]).collect();
    let cuts: Vec<u64> = cuts.into_iter().collect();
    let (mut begins, mut ends) = (begins.into_iter().peekable(), ends.into_iter().peekable());
    let mut open = BTreeSet::new();
    let mut found = Vec::new();
    for pair in cuts.windows(2) {
        let [from, to] = *pair else { continue };
        while let Some((_, number)) = begins.next_if(|(at, _)| *at <= from) {
            open.insert(number);
        }
        while let Some((_, number)) = ends.next_if(|(at, _)| *at <= from) {
            open.remove(&number);
        }
        found.push((from, to, open.iter().filter_map(|number| regions.get(*number).copied()).collect()));
    }
    found
}

fn lcm(a: u64, b: u64) -> u64 {
    let (mut x, mut y) = (a, b);
    while y > 0 {
        (x, y) = (y, x % y);
    }
    (a / x.max(1)).saturating_mul(b)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns the indices of all elements of a region.
    fn elements(region: &[AxisSteps]) -> Vec<Vec<u64>> {
        region.iter().fold(vec![Vec::new()], |all, steps| {
            let longer = |index: &Vec<u64>| {
                let index = index.clone();
                (0..steps.count).map(move |n| [index.clone(), vec![steps.first + n * steps.step]].concat())
            };
            all.iter().flat_map(longer).collect()
        })
    }

    fn axis(len: u64) -> impl Strategy<Value = AxisSteps> {
        (0..len, 1..=4u64).prop_flat_map(move |(first, step)| {
            let most = (len - first).div_ceil(step);
            (1..=most).prop_map(move |count| AxisSteps { first, count, step: if count == 1 { 1 } else { step } })
        })
    }

    fn problem() -> impl Strategy<Value = (Vec<u64>, Vec<Region>)> {
        prop::collection::vec(1..=6u64, 0..=3).prop_flat_map(|shape| {
            let region: Vec<_> = shape.iter().map(|len| axis(*len)).collect();
            (Just(shape), prop::collection::vec(region, 0..=6))
        })
    }

    proptest! {
        #[test]
        fn left_over_eq_complement_of_regions((shape, regions) in problem()) {
            let mut left = Vec::new();
            uncovered(&shape, &regions, &mut |region| {
                left.extend(elements(region));
                Ok(())
            }).unwrap();
            let all: Vec<AxisSteps> = shape.iter().map(|len| AxisSteps::full(*len)).collect();
            let written: BTreeSet<Vec<u64>> = regions.iter().flat_map(|region| elements(region)).collect();
            let mut expected: Vec<Vec<u64>> = elements(&all);
            expected.retain(|index| !written.contains(index));
            left.sort();
            prop_assert_eq!(left, expected);
            for region in &regions {
                prop_assert_eq!(parse_region(&shape, &print_region(region)), Some(region.clone()));
                prop_assert_eq!(region_from_indices(&shape, &region_to_indices(region)).unwrap(), Some(region.clone()));
            }
        }
    }

    #[test]
    fn left_over_scales_to_100_000_regions() {
        let rows: Vec<Region> =
            (0..100_000).map(|n| vec![AxisSteps { first: n, count: 1, step: 1 }, AxisSteps::full(4088)]).collect();
        let tile = |n: u64| {
            vec![AxisSteps { first: n / 300 * 10, count: 10, step: 1 }, AxisSteps { first: n % 300 * 10, count: 10, step: 1 }]
        };
        let tiles: Vec<Region> = (0..90_000).filter(|n| *n != 77).map(tile).collect();
        let mut left = 0;
        uncovered(&[100_000, 4088], &rows, &mut |_| unreachable!()).unwrap();
        uncovered(&[3000, 3000], &tiles, &mut |region| {
            left += count_elements(region);
            Ok(())
        })
        .unwrap();
        assert_eq!(left, 100);
    }

    #[test]
    fn parse_of_region_outside_array_returns_none() {
        for text in ["", "0:1:1", "0:1:1 0:4:1", "0:1:0 0:3:1", "0:0:1 0:3:1", "1:1:1 0:9223372036854775807:4", "x:1:1 0:1:1"] {
            assert_eq!(parse_region(&[1, 3], text), None, "{text}");
        }
    }
}
