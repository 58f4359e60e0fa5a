//! The elements of a list as one array with a leading axis: where each of them is.

use super::entry::LayoutEntry;
use super::evaluation::LayoutEvaluation;
use super::evaluator::Evaluator;
use super::find::{ArrayLocation, canonical};
use super::model::{ItemId, LayoutStep};
use super::param_request::EvaluationError;
use super::walk::EntryWalker;
use crate::Limits;

/// An array that every element of a list has.
#[derive(Debug, Clone)]
pub(crate) struct StackedArray {
    /// The array in the first element.
    pub first: ArrayLocation,
    /// Number of elements.
    pub count: u64,
    /// Addresses of the array in the elements, in order.
    pub runs: Vec<EqualSpacing>,
}

/// Elements that are equally far from each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EqualSpacing {
    pub count: u64,
    /// Address of the first element; `None` if it has no data.
    pub first_address: Option<u64>,
    pub stride: u64,
}

/// The result of [`LayoutEvaluation::find_stack_with_machine`].
pub(crate) enum StackResult {
    /// The path leads to no list, or to one without elements.
    Nothing,
    /// The array is the same in all elements.
    Uniform(StackedArray),
    /// The array is not the same in all of them: what is said about it.
    Mixed(String),
}

impl LayoutEvaluation<'_> {
    /// The array at a path that leads to a list outside of lists (`/te`), to the items of its elements
    /// (`/history/te`) or to the members of theirs (`/probes.x`).
    pub(crate) fn find_stack_with_machine(&self, machine: &Evaluator<'_>, path: &str) -> Result<StackResult, EvaluationError> {
        let Some(path) = canonical(path) else { return Ok(StackResult::Nothing) };
        let layout = self.layout();
        let Some((list, inner)) = layout.list_on(&path).filter(|(_, inner)| !inner.starts_with(['[', '(', '#'])) else {
            return Ok(StackResult::Nothing);
        };
        let mut walk = StackBuilder { list: layout.path(list), inner_path: inner, found: None, runs: Vec::new(), count: 0 };
        let from = layout.plan.step_by_list.partition_point(|(known, _)| *known < list);
        let places = layout.plan.step_by_list.get(from..).unwrap_or(&[]).iter().take_while(|(known, _)| *known == list);
        let mut length = 0u64;
        for &(_, place) in places {
            let mut walker = EntryWalker::new(self, machine.clone());
            walker.set_length(list, length);
            walker.seek_places(place as usize, place as usize + 1);
            let more = super::find::list_growth(layout, machine, place)?;
            if let Some(why) = walk.stack_place(self, &mut walker, more, is_regular(self, place, list))? {
                return Ok(StackResult::Mixed(why));
            }
            length = length.saturating_add(more);
            if walk.count != length {
                return Ok(if walk.count == 0 {
                    StackResult::Nothing
                } else {
                    StackResult::Mixed(format!("not every element of {path} has it"))
                });
            }
        }
        Ok(match walk.found {
            Some(first) => StackResult::Uniform(StackedArray { first, count: walk.count, runs: walk.runs }),
            None => StackResult::Nothing,
        })
    }
}

/// Returns `true` if a place appends the same element again and again, without stored parameters in it.
fn is_regular(evaluation: &LayoutEvaluation<'_>, place: u32, list: ItemId) -> bool {
    let layout = evaluation.layout();
    match layout.plan.places.get(place as usize).and_then(|&step| layout.steps.get(step as usize)) {
        Some(LayoutStep::List(of)) => of.list == list && of.elements == 1 && !of.dynamic,
        Some(LayoutStep::Extend(of)) => of.list == list && !of.dynamic,
        _ => false,
    }
}

struct StackBuilder<'p> {
    list: String,
    inner_path: &'p str,
    found: Option<ArrayLocation>,
    runs: Vec<EqualSpacing>,
    count: u64,
}

impl StackBuilder<'_> {
    /// The elements of one place of the text; why they cannot be stacked, if so.
    fn stack_place(
        &mut self,
        evaluation: &LayoutEvaluation<'_>,
        walker: &mut EntryWalker<'_, '_>,
        more: u64,
        is_regular: bool,
    ) -> Result<Option<String>, EvaluationError> {
        let mut here: Vec<Option<u64>> = Vec::new();
        while let Some(entry) = walker.try_next_entry()? {
            let Some((index, found)) = self.wanted_array(&entry) else { continue };
            let Some(found) = found else {
                // A member that the first elements lack, those like them lack as well.
                if is_regular && index > self.count.saturating_add(2) {
                    return Ok(None);
                }
                continue;
            };
            if is_filtered(evaluation, &found) {
                return Ok(Some(format!("{} is stored compressed", found.path)));
            }
            if let Some(first) = self.found.as_ref().filter(|first| first.typed != found.typed || first.shape != found.shape) {
                return Ok(Some(format!("{} has another datatype or shape than {}", found.path, first.path)));
            }
            here.push(found.address);
            self.found.get_or_insert(found);
            // The distances are equal from the second element on, so the rest is not walked.
            if let (true, [_, Some(second), Some(third)]) = (is_regular, here.as_slice()) {
                let stride = third.saturating_sub(*second);
                let (first, second) = (here.first().copied().flatten(), *second);
                self.push(first);
                match self
                    .runs
                    .last_mut()
                    .filter(|run| run.count == 1 && run.first_address.map(|at| at.saturating_add(stride)) == Some(second))
                {
                    Some(run) => (run.count, run.stride) = (more, stride),
                    None => self.runs.push(EqualSpacing { count: more - 1, first_address: Some(second), stride }),
                }
                self.count = self.count.saturating_add(more - 1);
                return Ok(None);
            }
            if self.count.saturating_add(here.len() as u64) > evaluation.limits.items {
                let limit = evaluation.limits.items;
                return Err(Limits::exceeded_error("items", limit, format_args!("{} has more elements", self.list)).into());
            }
        }
        here.into_iter().for_each(|address| self.push(address));
        Ok(None)
    }

    /// Returns the index of the list element that holds the entry, and the requested array if the entry contains it.
    fn wanted_array(&self, entry: &LayoutEntry) -> Option<(u64, Option<ArrayLocation>)> {
        let rest = entry.path.strip_prefix(self.list.as_str())?.strip_prefix('[')?;
        let (index, way) = rest.split_once(']')?;
        let members = self.inner_path.strip_prefix(way);
        let found = members.and_then(|way| {
            if way.is_empty() {
                Some(ArrayLocation::from_entry(entry))
            } else {
                ArrayLocation::from_entry_members(entry).into_member(way)
            }
        });
        Some((index.parse().ok()?, found))
    }

    /// Adds an element. Extends the last stretch if the spacing is equal.
    fn push(&mut self, address: Option<u64>) {
        self.count = self.count.saturating_add(1);
        if let (Some(last), Some(at)) = (self.runs.last_mut(), address)
            && let Some(start) = last.first_address
        {
            let end = last.stride.checked_mul(last.count).and_then(|more| start.checked_add(more));
            if last.count == 1 && at > start {
                last.stride = at - start;
                last.count = 2;
                return;
            }
            if end == Some(at) && last.count > 1 {
                last.count += 1;
                return;
            }
        }
        self.runs.push(EqualSpacing { count: 1, first_address: address, stride: 0 });
    }
}

/// Returns `true` if an array is stored compressed.
fn is_filtered(evaluation: &LayoutEvaluation<'_>, found: &ArrayLocation) -> bool {
    evaluation.layout().filter_of(found.item).is_some_and(|filter| filter.compresses)
}
