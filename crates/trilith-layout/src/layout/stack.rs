//! The elements of a list as one array with a leading axis: where each of them is.

use super::entry::Entry;
use super::evaluation::Evaluation;
use super::evaluator::Machine;
use super::find::{Located, canonical};
use super::model::{ItemId, Step};
use super::param_request::Fault;
use super::walk::Walker;
use crate::Limits;

/// An array that every element of a list has.
#[derive(Debug, Clone)]
pub(crate) struct Stacked {
    /// The array in the first element.
    pub first: Located,
    /// Number of elements.
    pub count: u64,
    /// Addresses of the array in the elements, in order.
    pub runs: Vec<Stretch>,
}

/// Elements that are equally far from each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub count: u64,
    /// Address of the first element; `None` if it has no data.
    pub address: Option<u64>,
    pub stride: u64,
}

/// The result of [`Evaluation::stacked`].
pub(crate) enum Stack {
    /// The path leads to no list, or to one without elements.
    Nothing,
    /// The array is the same in all elements.
    Alike(Stacked),
    /// The array is not the same in all of them: what is said about it.
    Unlike(String),
}

impl Evaluation<'_> {
    /// The array at a path that leads to a list outside of lists (`/te`), to the items of its elements
    /// (`/history/te`) or to the members of theirs (`/probes.x`).
    pub(crate) fn stacked(&self, machine: &Machine<'_>, path: &str) -> Result<Stack, Fault> {
        let Some(path) = canonical(path) else { return Ok(Stack::Nothing) };
        let layout = self.layout();
        let Some((list, inner)) = layout.list_on(&path).filter(|(_, inner)| !inner.starts_with(['[', '(', '#'])) else {
            return Ok(Stack::Nothing);
        };
        let mut walk = Stacking { list: layout.path(list), inner, found: None, runs: Vec::new(), count: 0 };
        let from = layout.plan.of_list.partition_point(|(known, _)| *known < list);
        let places = layout.plan.of_list.get(from..).unwrap_or(&[]).iter().take_while(|(known, _)| *known == list);
        let mut length = 0u64;
        for &(_, place) in places {
            let mut walker = Walker::new(self, machine.clone());
            walker.set_length(list, length);
            walker.seek(place as usize, place as usize + 1);
            let more = super::find::grown(layout, machine, place)?;
            if let Some(why) = walk.place(self, &mut walker, more, is_regular(self, place, list))? {
                return Ok(Stack::Unlike(why));
            }
            length = length.saturating_add(more);
            if walk.count != length {
                return Ok(if walk.count == 0 {
                    Stack::Nothing
                } else {
                    Stack::Unlike(format!("not every element of {path} has it"))
                });
            }
        }
        Ok(match walk.found {
            Some(first) => Stack::Alike(Stacked { first, count: walk.count, runs: walk.runs }),
            None => Stack::Nothing,
        })
    }
}

/// Returns `true` if a place appends the same element again and again, without stored parameters in it.
fn is_regular(evaluation: &Evaluation<'_>, place: u32, list: ItemId) -> bool {
    let layout = evaluation.layout();
    match layout.plan.places.get(place as usize).and_then(|&step| layout.steps.get(step as usize)) {
        Some(Step::List(of)) => of.list == list && of.elements == 1 && !of.dynamic,
        Some(Step::Extend(of)) => of.list == list && !of.dynamic,
        _ => false,
    }
}

struct Stacking<'p> {
    list: String,
    inner: &'p str,
    found: Option<Located>,
    runs: Vec<Stretch>,
    count: u64,
}

impl Stacking<'_> {
    /// The elements of one place of the text; why they cannot be stacked, if so.
    fn place(
        &mut self,
        evaluation: &Evaluation<'_>,
        walker: &mut Walker<'_, '_>,
        more: u64,
        is_regular: bool,
    ) -> Result<Option<String>, Fault> {
        let mut here: Vec<Option<u64>> = Vec::new();
        while let Some(entry) = walker.advance()? {
            let Some((index, found)) = self.taken(&entry) else { continue };
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
                    .filter(|run| run.count == 1 && run.address.map(|at| at.saturating_add(stride)) == Some(second))
                {
                    Some(run) => (run.count, run.stride) = (more, stride),
                    None => self.runs.push(Stretch { count: more - 1, address: Some(second), stride }),
                }
                self.count = self.count.saturating_add(more - 1);
                return Ok(None);
            }
            if self.count.saturating_add(here.len() as u64) > evaluation.limits.items {
                let limit = evaluation.limits.items;
                return Err(Limits::exceeded("items", limit, format_args!("{} has more elements", self.list)).into());
            }
        }
        here.into_iter().for_each(|address| self.push(address));
        Ok(None)
    }

    /// Returns the index of the list element that holds the entry, and the requested array if the entry contains it.
    fn taken(&self, entry: &Entry) -> Option<(u64, Option<Located>)> {
        let rest = entry.path.strip_prefix(self.list.as_str())?.strip_prefix('[')?;
        let (index, way) = rest.split_once(']')?;
        let members = self.inner.strip_prefix(way);
        let found =
            members.and_then(|way| if way.is_empty() { Some(Located::of(entry)) } else { Located::inside(entry).members(way) });
        Some((index.parse().ok()?, found))
    }

    /// Adds an element. Extends the last stretch if the spacing is equal.
    fn push(&mut self, address: Option<u64>) {
        self.count = self.count.saturating_add(1);
        if let (Some(last), Some(at)) = (self.runs.last_mut(), address)
            && let Some(start) = last.address
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
        self.runs.push(Stretch { count: 1, address, stride: 0 });
    }
}

/// Returns `true` if an array is stored compressed.
fn is_filtered(evaluation: &Evaluation<'_>, found: &Located) -> bool {
    evaluation.layout().filter_of(found.item).is_some_and(|filter| filter.compresses)
}
