//! Going through an evaluated layout: its entries in the order of the text, or one by its path.

use super::diagnostic::DiagnosticCode;
use super::entry::{LayoutEntry, StreamEntryKind};
use super::evaluation::LayoutEvaluation;
use super::find;
use super::model::{Dialect, ItemId, ItemKind, LayoutStep};
use super::param_request::EvaluationError;
use super::stack::StackResult;
use super::walk::EntryWalker;
use crate::Limits;
use crate::diagnostic::Diagnostic;

/// Number of equal arrays from which on a list is shown as one array.
pub const MIN_CONDENSED_LIST: u64 = 100_000;

/// Number of declarations in an element of such a list at most.
const MAX_CONDENSED_BODY: usize = 10_000;

/// The extent of a layout along a longer one that begins with it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct WalkExtent {
    /// Number of steps outside of lists that occupy the stream that are the same.
    pub places: usize,
    /// Number of repetitions of the next step, an extension, that both layouts share.
    pub again: u64,
}

impl<'l> LayoutEvaluation<'l> {
    /// Returns all items with data, in the order of the text: one entry for each element of a list, and for each member of a
    /// struct of indeterminate length. The iterator is lazy, so a list of 10⁹ elements costs only the entries that are read.
    pub fn entries(&self) -> LayoutEntries<'_, 'l> {
        LayoutEntries { walker: EntryWalker::new(self, self.machine.clone()) }
    }

    /// Returns entries like [`LayoutEvaluation::entries`], but a list of at least `least` equal arrays is one entry: its path is that of the
    /// list, and its first dimension counts the elements. A list of equal dicts is one entry for each array in them, `/list/x`.
    pub fn condensed(&self, least: u64) -> CondensedEntries<'_, 'l> {
        let walker = EntryWalker::new(self, self.machine.clone());
        CondensedEntries { evaluation: self, walker, at: 0, least, is_begun: false, ready: Vec::new().into_iter() }
    }

    /// Returns the list that begins at a place of the text, how many elements it has and how many places, if the same array or
    /// dict of arrays is put into it again and again, and nothing else.
    fn find_uniform_list(&self, at: usize) -> Option<(ItemId, u64, usize)> {
        let layout = self.layout();
        let step = |at: usize| Some((at, layout.steps.get(*layout.plan.places.get(at)? as usize)?));
        let (_, LayoutStep::List(of)) = step(at)? else { return None };
        let body = layout.steps.get(*layout.plan.places.get(at)? as usize + 1..of.end as usize)?;
        let is_outside = layout.kind(layout.parent(of.list)?) == ItemKind::Dict;
        if of.elements != 1 || of.dynamic || !is_outside || layout.dialect != Dialect::D2025 {
            return None;
        }
        let from = layout.plan.step_by_list.partition_point(|(list, _)| *list < of.list);
        let places = layout.plan.step_by_list.get(from..)?.iter().take_while(|(list, _)| *list == of.list).count();
        let more = match (places, step(at + 1)) {
            (1, _) => 0,
            (2, Some((_, LayoutStep::Extend(more)))) if more.list == of.list => {
                find::list_growth(layout, &self.machine, at as u32 + 1).ok()?
            }
            _ => return None,
        };
        if body.len() > MAX_CONDENSED_BODY || body.iter().any(|step| matches!(step, LayoutStep::List(_) | LayoutStep::Extend(_)))
        {
            return None;
        }
        Some((of.list, find::list_growth(layout, &self.machine, at as u32).ok()?.checked_add(more)?, places))
    }

    /// Returns the stored parameters with their paths, without the lengths of compressed arrays. Items without any are skipped.
    pub(crate) fn collect_params(&self) -> Result<Vec<LayoutEntry>, EvaluationError> {
        let layout = self.layout();
        let mut walker = EntryWalker::new(self, self.machine.clone());
        let mut found = Vec::new();
        for (at, step) in layout.plan.places.iter().enumerate() {
            // In 2026 a list may continue inside another one, so that only a walk finds its length.
            let (is_walked, list) = match layout.steps.get(*step as usize) {
                Some(LayoutStep::Data(item)) => (layout.data_of(*item).is_some_and(|data| layout.ty(data.what.ty).dynamic), None),
                Some(LayoutStep::List(of)) => (of.dynamic, Some(of.list)),
                Some(LayoutStep::Extend(of)) => (of.dynamic, Some(of.list)),
                _ => (true, None),
            };
            if !is_walked && layout.dialect == Dialect::D2025 {
                if let Some(list) = list {
                    walker.extend_list(list, find::list_growth(layout, &self.machine, at as u32)?);
                }
                continue;
            }
            walker.seek_places(at, at + 1);
            while let Some(entry) = walker.try_next_entry()? {
                if entry.kind == StreamEntryKind::Param && !layout.filter_of(entry.item).is_some_and(|filter| filter.compresses) {
                    found.push(entry);
                }
            }
        }
        Ok(found)
    }

    /// The entries after those of a layout that is a beginning of this one.
    pub(crate) fn entries_after(&self, reached: WalkExtent) -> Result<LayoutEntries<'_, 'l>, EvaluationError> {
        let layout = self.layout();
        let mut walker = EntryWalker::new(self, self.machine.clone());
        for &(list, place) in layout.plan.step_by_list.iter().filter(|(_, place)| (*place as usize) < reached.places) {
            walker.extend_list(list, find::list_growth(layout, &self.machine, place)?);
        }
        walker.seek_places(reached.places, self.param_starts.len());
        walker.skip_repetitions(reached.again);
        Ok(LayoutEntries { walker })
    }

    /// Returns the extent of this layout.
    pub(crate) fn walk_extent(&self) -> WalkExtent {
        WalkExtent { places: self.param_starts.len(), again: 0 }
    }

    /// Returns the number of elements of a list outside of lists.
    pub(crate) fn list_len(&self, list: ItemId) -> Result<u64, EvaluationError> {
        let layout = self.layout();
        let places = layout.plan.step_by_list.iter().filter(|(known, _)| *known == list);
        places
            .map(|(_, place)| find::list_growth(layout, &self.machine, *place))
            .try_fold(0u64, |sum, more| Ok(sum.saturating_add(more?)))
    }

    /// The entry at a path such as `/group/list[3]/x`, found without walking what is before it.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Limit`](crate::ErrorKind::Limit) if finding it costs too much.
    pub fn find(&self, path: &str) -> Result<Option<LayoutEntry>, EvaluationError> {
        find::find_entry(self, self.machine.clone(), path)
    }

    /// The array that a path means in every element of a list.
    ///
    /// # Errors
    /// Returns the errors of [`LayoutEvaluation::find`].
    pub(crate) fn find_stack(&self, path: &str) -> Result<StackResult, EvaluationError> {
        self.find_stack_with_machine(&self.machine, path)
    }

    /// Items that overlap (W11), for those who look for mistakes: overlaps are legal.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Limit`](crate::ErrorKind::Limit) if there are more than
    /// [`Limits::items`](crate::Limits) entries.
    pub fn overlaps(&self) -> Result<Vec<Diagnostic>, EvaluationError> {
        let mut spots = Vec::new();
        for entry in self.condensed(MIN_CONDENSED_LIST) {
            if spots.len() as u64 >= self.limits.items {
                let limit = self.limits.items;
                return Err(Limits::exceeded_error("items", limit, format_args!("the layout has over {limit} items")).into());
            }
            let entry = entry?;
            // Members of instances are in their struct, items of the dicts of a long list between each other, and derived layouts
            // have columns of one table.
            let is_column = self.layout().column(entry.item).is_some();
            let is_member = is_column || self.layout().member_of_struct(entry.item) || entry.stride.is_some();
            if let (Some(address), Some(size), false) = (entry.address, entry.nbytes, is_member) {
                spots.push((address, size, entry));
            }
        }
        spots.sort_by_key(|(address, ..)| *address);
        let mut found: Vec<Diagnostic> = Vec::new();
        let mut last: Option<(u64, &LayoutEntry)> = None;
        for (address, size, entry) in &spots {
            let end = address.saturating_add(*size);
            if let Some((before, other)) = last
                && *address < before
                && found.len() < 1000
            {
                let message = format!("{} at {address} begins inside of {}, which ends at {before}", entry.path, other.path);
                found.push(
                    DiagnosticCode::W11.to_diagnostic(self.layout().span(entry.item), message).locate(self.layout().text()),
                );
            }
            if last.is_none_or(|(before, _)| end > before) {
                last = Some((end, entry));
            }
        }
        found.sort_by_key(|diagnostic| diagnostic.span.start);
        Ok(found)
    }
}

/// The entries of an [`LayoutEvaluation`], in the order of the text.
pub struct LayoutEntries<'e, 'l> {
    walker: EntryWalker<'e, 'l>,
}

impl Iterator for LayoutEntries<'_, '_> {
    type Item = Result<LayoutEntry, EvaluationError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.walker.try_next_entry().transpose()
    }
}

/// The entries of an [`LayoutEvaluation`], with long lists of equal arrays as one.
pub struct CondensedEntries<'e, 'l> {
    evaluation: &'e LayoutEvaluation<'l>,
    walker: EntryWalker<'e, 'l>,
    /// The next place of the text.
    at: usize,
    least: u64,
    is_begun: bool,
    /// Entries of a list that are next.
    ready: std::vec::IntoIter<LayoutEntry>,
}

impl CondensedEntries<'_, '_> {
    fn try_next_entry(&mut self) -> Result<Option<LayoutEntry>, EvaluationError> {
        loop {
            if let Some(entry) = self.ready.next() {
                return Ok(Some(entry));
            }
            if self.is_begun
                && let Some(entry) = self.walker.try_next_entry()?
            {
                return Ok(Some(entry));
            }
            self.is_begun = true;
            let count = self.evaluation.param_starts.len();
            if self.at >= count {
                return Ok(None);
            }
            if let Some((list, count, places)) =
                self.evaluation.find_uniform_list(self.at).filter(|(_, count, _)| *count >= self.least)
                && let Some(entries) = self.condense_list(list, count, places)?
            {
                self.ready = entries.into_iter();
                continue;
            }
            // In 2026 a list may continue inside another one, so that everything that follows is walked at once.
            let next = if self.evaluation.layout().dialect == Dialect::D2025 { self.at + 1 } else { count };
            self.walker.seek_places(self.at, next);
            self.at = next;
        }
    }

    /// The entries of a list as a whole, unless its first elements are not equally far from each other.
    fn condense_list(&mut self, list: ItemId, count: u64, places: usize) -> Result<Option<Vec<LayoutEntry>>, EvaluationError> {
        let name = self.evaluation.layout().path(list);
        self.walker.seek_places(self.at, self.at + places);
        // The spacing is equal from the second element on, so three elements suffice.
        let mut elements: [Vec<LayoutEntry>; 3] = Default::default();
        while let Some(entry) = self.walker.try_next_entry()? {
            let index = entry.path.get(name.len() + 1..).and_then(|rest| rest.split(']').next()?.parse::<usize>().ok());
            match index.and_then(|index| elements.get_mut(index)) {
                Some(element) => element.push(entry),
                None => break,
            }
        }
        self.walker.set_length(list, 0);
        let [first, second, third] = elements;
        if first.len() != second.len() || first.len() != third.len() {
            return Ok(None);
        }
        let mut whole = Vec::with_capacity(first.len());
        for ((mut entry, second), third) in first.into_iter().zip(&second).zip(&third) {
            let gap = |from: &LayoutEntry, to: &LayoutEntry| from.address.zip(to.address).map(|(from, to)| to.checked_sub(from));
            let (stride, next) = (gap(&entry, second), gap(second, third));
            let Some(nbytes) = entry.nbytes.and_then(|size| size.checked_mul(count)) else { return Ok(None) };
            if stride != next || stride == Some(None) || entry.kind != StreamEntryKind::Data {
                return Ok(None);
            }
            entry.stride = stride.flatten().filter(|stride| Some(*stride) != entry.nbytes);
            let inside = entry.path.get(name.len()..).and_then(|rest| rest.split_once(']')).map_or("", |(_, inside)| inside);
            entry.path = format!("{name}{inside}");
            entry.shape.insert(0, count);
            entry.nbytes = Some(nbytes);
            whole.push(entry);
        }
        self.walker.set_length(list, count);
        self.walker.seek_places(self.at, self.at);
        self.at += places;
        Ok(Some(whole))
    }
}

impl Iterator for CondensedEntries<'_, '_> {
    type Item = Result<LayoutEntry, EvaluationError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.try_next_entry().transpose()
    }
}
