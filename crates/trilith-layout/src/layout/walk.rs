//! Walks along an evaluated layout and returns its entries with their byte offsets, one after another.
//!
//! The walk keeps its own stack, and replays the stored values that the evaluation read; what is
//! repeated a billion times is walked only as far as it is asked for.

mod instances;

use std::collections::HashMap;
use std::collections::VecDeque;

use super::entry::{LayoutEntry, SpellError, StreamEntryKind};
use super::evaluation::LayoutEvaluation;
use super::evaluator::{Evaluator, ItemSpan, ParamValues, UNKNOWN_ADDRESS, known_address};
use super::interner::NameHasher;
use super::lexer::push_name;
use super::model::{
    AddressRule, DataItem, ElementSlot, Extension, ItemData, ItemId, LayoutStep, ListSteps, Primitive, TypeId, TypeUse,
};
use super::param_request::{EvaluationError, ParamRequest, SuppliedValue};
use super::resolved_type::{ResolvedType, StructView, TypeCache};
use super::sizes::StructLayout;
use crate::Limits;
use crate::array::FIELD_COST;
use crate::error::Error;

/// A part of the walk still to be done.
enum WalkFrame {
    /// Steps outside of lists, by number in the plan.
    Top { at: usize, to: usize },
    /// A range of steps.
    Steps {
        at: u32,
        to: u32,
        address_rule: AddressRule,
        /// Length of the path of the root or element dict that holds them.
        base: usize,
        /// The root, the element dict or the list that holds the steps.
        top: ItemId,
        /// Length of the path of the innermost open item.
        open: usize,
    },
    /// A list body, this number of times more.
    Loop { from: u32, to: u32, left: u64, address_rule: AddressRule, open: usize, list: ItemId },
    /// Instances of a struct, one after the other.
    Instances { ty: TypeId, base: u64, done: u64, at: u64, count: u64, dims: Vec<u64>, open: usize, item: ItemId },
    /// The members of one instance.
    Instance { ty: TypeId, base: u64, member: u32, place: StructLayout, open: usize, item: ItemId },
}

/// The steps that a loop repeats; they append `each` elements to a list.
struct ListLoop {
    from: u32,
    to: u32,
    address_rule: AddressRule,
    list: ItemId,
    /// The step that repeats, under which the machine keeps the stride.
    key: u32,
    appended_elements: u64,
    /// Stored parameters in it have to be read.
    is_dynamic: bool,
}

/// Makes the entries of an evaluation one by one.
pub(crate) struct EntryWalker<'e, 'l> {
    evaluation: &'e LayoutEvaluation<'l>,
    machine: Evaluator<'l>,
    stack: Vec<WalkFrame>,
    path: String,
    /// Number of elements of each list so far.
    lengths: HashMap<ItemId, u64, NameHasher>,
    ready: VecDeque<LayoutEntry>,
    /// Stored values replayed so far.
    replayed: usize,
    /// The size of the instance walked last.
    instance_size: u64,
    /// If set, yields only entries at this path.
    pub target_path: Option<String>,
    error: bool,
    resolved_structs: TypeCache,
    /// Repetitions since the last entry.
    steps_without_entry: u64,
    /// Number of repetitions of the extension that comes first that are after already.
    skipped_repetitions: u64,
}

impl<'e, 'l> EntryWalker<'e, 'l> {
    /// A walker before the first entry.
    pub(super) fn new(evaluation: &'e LayoutEvaluation<'l>, mut machine: Evaluator<'l>) -> Self {
        machine.reset(evaluation.first_address());
        let to = evaluation.param_starts.len();
        Self {
            evaluation,
            machine,
            stack: vec![WalkFrame::Top { at: 0, to }],
            path: String::new(),
            lengths: HashMap::default(),
            ready: VecDeque::new(),
            replayed: 0,
            instance_size: 0,
            target_path: None,
            error: false,
            resolved_structs: TypeCache::default(),
            steps_without_entry: 0,
            skipped_repetitions: 0,
        }
    }

    /// Walks only the top-level places `at..to`, as if those before had been walked.
    pub(super) fn seek_places(&mut self, at: usize, to: usize) {
        self.stack = vec![WalkFrame::Top { at, to }];
        self.path.clear();
    }

    /// Skips the first `passed` repetitions of the next extension, as if they had been walked.
    pub(super) fn skip_repetitions(&mut self, passed: u64) {
        self.skipped_repetitions = passed;
    }

    /// Sets the number of elements that a list has before the next part of the walk.
    pub(super) fn set_length(&mut self, list: ItemId, length: u64) {
        self.lengths.insert(list, length);
    }

    /// The next entry.
    pub(super) fn try_next_entry(&mut self) -> Result<Option<LayoutEntry>, EvaluationError> {
        while self.ready.is_empty() {
            if self.error || self.stack.is_empty() {
                return Ok(None);
            }
            if let Err(fault) = self.run_frame() {
                self.error = true;
                return Err(fault);
            }
        }
        Ok(self.ready.pop_front())
    }

    /// Does a piece of the work on top of the stack.
    fn run_frame(&mut self) -> Result<(), EvaluationError> {
        let Some(top) = self.stack.last_mut() else { return Ok(()) };
        match top {
            WalkFrame::Top { at, to } => {
                let here = *at;
                *at += 1;
                if here >= *to {
                    self.stack.pop();
                    return Ok(());
                }
                self.top_step(here)
            }
            WalkFrame::Steps { at, to, open, .. } => {
                let here = *at;
                if here >= *to {
                    self.stack.pop();
                    return Ok(());
                }
                self.path.truncate(*open);
                self.walk_step(here)
            }
            WalkFrame::Loop { from, to, left, address_rule, open, list } => {
                if *left == 0 {
                    self.stack.pop();
                    return Ok(());
                }
                *left -= 1;
                // A list of nothing, repeated: there would be no end of finding no entry.
                self.steps_without_entry += 1;
                if self.steps_without_entry > self.evaluation.limits.nodes {
                    let limit = self.evaluation.limits.nodes;
                    return Err(Limits::exceeded_error("nodes", limit, "too many list elements without an entry").into());
                }
                let steps =
                    WalkFrame::Steps { at: *from, to: *to, address_rule: *address_rule, base: *open, top: *list, open: *open };
                self.path.truncate(*open);
                self.stack.push(steps);
                Ok(())
            }
            WalkFrame::Instances { .. } => self.next_instance(),
            WalkFrame::Instance { .. } => self.next_member(),
        }
    }

    /// A step outside of lists: its path comes from its item.
    fn top_step(&mut self, place: usize) -> Result<(), EvaluationError> {
        let layout = self.machine.layout;
        let (Some(&step), Some(&start)) = (layout.plan.places.get(place), self.evaluation.param_starts.get(place)) else {
            return Ok(());
        };
        self.machine.cursor = start;
        if let Some(&ordinal) = self.evaluation.ordinals.get(place) {
            self.replayed = ordinal as usize;
        }
        let item = match layout.steps.get(step as usize) {
            Some(LayoutStep::Data(item) | LayoutStep::Param(item)) => *item,
            Some(LayoutStep::List(of)) => of.list,
            Some(LayoutStep::Extend(of)) => of.list,
            _ => return Ok(()),
        };
        self.path.clear();
        layout.push_dicts(&mut self.path, layout.item(item).parent, ItemId::ROOT);
        let open = self.path.len();
        self.stack.push(WalkFrame::Steps {
            at: step,
            to: step + 1,
            address_rule: AddressRule::Keep,
            base: 0,
            top: ItemId::ROOT,
            open,
        });
        Ok(())
    }

    /// A step of what is on top of the stack; the path is that of the open item.
    fn walk_step(&mut self, at: u32) -> Result<(), EvaluationError> {
        let layout = self.machine.layout;
        let Some(step) = layout.steps.get(at as usize) else { return Ok(()) };
        let Some(WalkFrame::Steps { at: next, address_rule, base, top, .. }) = self.stack.last_mut() else { return Ok(()) };
        *next = match step {
            LayoutStep::List(of) => of.end.max(at + 1),
            LayoutStep::Element { end, .. } => (*end).max(at + 1),
            _ => at + 1,
        };
        let (address_rule, base, top) = (*address_rule, *base, *top);
        match *step {
            LayoutStep::Enter(dict) => {
                self.path.truncate(base);
                layout.push_dicts(&mut self.path, dict, top);
                let now = self.path.len();
                if let Some(WalkFrame::Steps { open, .. }) = self.stack.last_mut() {
                    *open = now;
                }
                Ok(())
            }
            LayoutStep::Data(item) => self.walk_data(item, address_rule),
            LayoutStep::Param(item) => self.walk_param(item, address_rule),
            LayoutStep::List(ref of) => {
                let ListSteps { list, end, count, span, elements, slot, places, dynamic } = **of;
                let count = self.machine.resolve_repeat_count(count, span)?;
                self.open_list(list, at, end, slot);
                if !places || !self.leads_to_wanted() {
                    self.extend_list(list, count.saturating_mul(u64::from(elements)));
                    return self.skip_step(at, address_rule);
                }
                let again = ListLoop {
                    from: at + 1,
                    to: end,
                    address_rule,
                    list,
                    key: at,
                    appended_elements: elements.into(),
                    is_dynamic: dynamic,
                };
                self.push_loop(&again, count)
            }
            LayoutStep::Extend(ref of) => {
                let Extension { list, from, to, count, span, places, dynamic } = **of;
                let count = self.machine.resolve_repeat_count(count, span)?;
                let passed = std::mem::take(&mut self.skipped_repetitions).min(count);
                self.open_list(list, at, at, ElementSlot::Existing);
                if !places || !self.leads_to_wanted() {
                    self.extend_list(list, count);
                    return self.skip_step(at, address_rule);
                }
                let again = ListLoop {
                    from,
                    to,
                    address_rule: AddressRule::Drop,
                    list,
                    key: at,
                    appended_elements: 1,
                    is_dynamic: dynamic,
                };
                self.skip_loop(&again, passed)?;
                self.extend_list(list, passed);
                self.push_loop(&again, count - passed)
            }
            LayoutStep::Element { dict, end, slot } => {
                self.push_index(dict, slot);
                if slot == ElementSlot::New {
                    self.forget_lists(at, end);
                }
                if !self.leads_to_wanted() {
                    return self.skip_range(at + 1, end, address_rule);
                }
                let open = self.path.len();
                self.stack.push(WalkFrame::Steps { at: at + 1, to: end, address_rule, base: open, top: dict, open });
                Ok(())
            }
            LayoutStep::Type(_) | LayoutStep::Summary { .. } => Ok(()),
        }
    }

    /// Puts a loop on the stack; if one element of it is wanted, only the repetition that has it.
    fn push_loop(&mut self, again: &ListLoop, left: u64) -> Result<(), EvaluationError> {
        let ListLoop { from, to, address_rule, list, appended_elements: each, is_dynamic: dynamic, .. } = *again;
        let open = self.path.len();
        let wanted = self.target_path.as_deref().and_then(|path| path.get(open..)).and_then(leading_index);
        let have = self.lengths.get(&list).copied().unwrap_or(0);
        let (Some(wanted), false, true) = (wanted, dynamic, each > 0 && left > 1) else {
            self.stack.push(WalkFrame::Loop { from, to, left, address_rule, open, list });
            return Ok(());
        };
        let before = wanted.checked_sub(have).map_or(left, |more| (more / each).min(left));
        self.skip_loop(again, before)?;
        self.extend_list(list, before.saturating_mul(each));
        let walk = u64::from(before < left);
        self.stack.push(WalkFrame::Loop { from, to, left: walk, address_rule, open, list });
        Ok(())
    }

    /// Runs the first repetitions of a loop; without stored parameters two of them tell how long all are.
    fn skip_loop(&mut self, again: &ListLoop, count: u64) -> Result<(), EvaluationError> {
        let steps = (again.from, again.to);
        let runs = if again.is_dynamic { count } else { count.min(1) };
        for _ in 0..runs {
            self.skip_range(steps.0, steps.1, again.address_rule)?;
        }
        if count == runs || self.machine.cursor == UNKNOWN_ADDRESS {
            return Ok(());
        }
        let mut nothing = |_: &ParamRequest| Ok(SuppliedValue::Missing);
        let mut values = ParamValues { source: &mut nothing, recorded: &mut Vec::new() };
        let stride = self.machine.measure_stride(steps, again.address_rule, again.key, &mut values)?;
        let end = stride.checked_mul(count - 1).and_then(|more| self.machine.cursor.checked_add(more));
        self.machine.cursor = end.ok_or_else(|| self.machine.overflow_fault(ItemId::ROOT))?;
        Ok(())
    }

    /// Adds elements to a list.
    pub(super) fn extend_list(&mut self, list: ItemId, more: u64) {
        let length = self.lengths.entry(list).or_default();
        *length = length.saturating_add(more);
    }

    /// Appends the name or the index of a list; a list that is a new element begins empty.
    fn open_list(&mut self, list: ItemId, at: u32, end: u32, slot: ElementSlot) {
        let layout = self.machine.layout;
        if layout.item(layout.item(list).parent).kind == ItemData::List {
            self.push_index(list, slot);
            if slot == ElementSlot::New {
                self.lengths.remove(&list);
                self.forget_lists(at, end);
            }
        } else {
            self.path.push('/');
            push_name(&mut self.path, layout.name(list).unwrap_or(""));
        }
    }

    /// Appends the index of an element: the next of its list, or (2026) the one it was declared as.
    fn push_index(&mut self, element: ItemId, slot: ElementSlot) {
        let layout = self.machine.layout;
        let item = layout.item(element);
        let index = match slot {
            ElementSlot::New => {
                let length = self.lengths.entry(item.parent).or_default();
                *length += 1;
                *length - 1
            }
            ElementSlot::Existing => u64::from(item.position),
        };
        self.path.push_str(&format!("[{index}]"));
    }

    /// The lists declared in these steps are new ones.
    fn forget_lists(&mut self, from: u32, to: u32) {
        if self.lengths.is_empty() {
            return;
        }
        for step in self.machine.layout.steps.get(from as usize + 1..to as usize).unwrap_or(&[]) {
            if let LayoutStep::List(of) = step {
                self.lengths.remove(&of.list);
            }
        }
    }

    /// Returns `true` if the wanted path leads through what is open now.
    fn leads_to_wanted(&self) -> bool {
        let Some(wanted) = &self.target_path else { return true };
        if wanted.starts_with('&') {
            return true;
        }
        wanted.strip_prefix(self.path.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '[', '(', '.', '#']))
    }

    fn skip_step(&mut self, step: u32, address_rule: AddressRule) -> Result<(), EvaluationError> {
        self.replay_values(|machine, values| machine.run_step(step, address_rule, values))
    }

    fn skip_range(&mut self, from: u32, to: u32, address_rule: AddressRule) -> Result<(), EvaluationError> {
        self.replay_values(|machine, values| machine.run(from, to, address_rule, values))
    }

    /// Runs the machine on the values that the evaluation read.
    fn replay_values<V>(
        &mut self,
        run: impl FnOnce(&mut Evaluator<'l>, &mut ParamValues<'_>) -> Result<V, EvaluationError>,
    ) -> Result<V, EvaluationError> {
        let record = &self.evaluation.recorded;
        let replayed = &mut self.replayed;
        let mut source = |_: &ParamRequest| {
            let stored = record.get(*replayed).ok_or_else(|| Error::invalid_input("the walk and the evaluation differ"))?;
            *replayed += 1;
            Ok(stored.value.map_or(SuppliedValue::Unknown, SuppliedValue::Value))
        };
        run(&mut self.machine, &mut ParamValues { source: &mut source, recorded: &mut Vec::new() })
    }

    // Entries.

    /// The end of the path of an item of what is open; returns the length to go back to.
    fn push_item(&mut self, item: ItemId, reference: u32) -> usize {
        let layout = self.machine.layout;
        let before = self.path.len();
        if reference > 0 {
            self.path.clear();
            self.path.push_str(&format!("&{reference}"));
        } else if layout.item(layout.item(item).parent).kind == ItemData::List {
            self.push_index(item, ElementSlot::New);
        } else {
            self.path.push('/');
            push_name(&mut self.path, layout.name(item).unwrap_or(""));
        }
        before
    }

    fn walk_param(&mut self, item: ItemId, address_rule: AddressRule) -> Result<(), EvaluationError> {
        let layout = self.machine.layout;
        let ItemData::Param(id) = layout.item(item).kind else { return Ok(()) };
        let param = layout.param(id);
        if param.fixed_value.is_some() {
            return Ok(());
        }
        let spot = self.replay_values(|machine, values| machine.place_param(item, address_rule, values))?;
        let before = self.push_item(item, 0);
        let value = Some(self.machine.param_value(id));
        self.param_entry(param.primitive, param.order, spot, value, item);
        self.path.truncate(before);
        Ok(())
    }

    fn param_entry(
        &mut self,
        primitive: Primitive,
        order: Option<super::model::Byteorder>,
        spot: ItemSpan,
        value: Option<i64>,
        item: ItemId,
    ) {
        let mut datatype = String::new();
        self.machine.spell_primitive(primitive, order, &mut datatype);
        let entry = LayoutEntry {
            path: self.path.clone(),
            kind: StreamEntryKind::Param,
            address: known_address(spot.address),
            datatype,
            shape: Vec::new(),
            nbytes: Some(spot.size),
            value,
            item,
            resolved_type: ResolvedType::Primitive { primitive, byteorder: self.machine.order_of(primitive, order) },
            stride: None,
            is_contiguous: None,
        };
        self.push_entry(entry);
    }

    fn push_entry(&mut self, entry: LayoutEntry) {
        if self.target_path.as_deref().is_none_or(|wanted| wanted == entry.path) {
            self.steps_without_entry = 0;
            self.ready.push_back(entry);
        }
    }

    fn walk_data(&mut self, item: ItemId, address_rule: AddressRule) -> Result<(), EvaluationError> {
        let layout = self.machine.layout;
        let Some(data) = layout.data_of(item) else { return Ok(()) };
        let kept = self.path.clone();
        self.push_item(item, data.reference);
        if !self.leads_to_wanted() {
            self.replay_values(|machine, values| machine.place_data(item, address_rule, values))?;
        } else if layout.find_filter(data.filter).is_some_and(|filter| filter.compresses) {
            self.walk_compressed(item, data, address_rule)?;
        } else {
            let replayed = self.replayed;
            let spot = self.replay_values(|machine, values| machine.place_data(item, address_rule, values))?;
            self.data_entry(data.what, spot, item)?;
            if self.machine.is_stepped(data.what) && spot.size > 0 {
                self.replayed = replayed;
                // The entry below cuts the path back when the instances are done.
                return self.push_instances(data.what, spot.address, item);
            }
        }
        self.path = kept;
        Ok(())
    }

    fn walk_compressed(&mut self, item: ItemId, data: &DataItem, address_rule: AddressRule) -> Result<(), EvaluationError> {
        let at = self.replayed;
        let (length, spot) = self.replay_values(|machine, values| machine.place_compressed(item, data, address_rule, values))?;
        let value = (length.size > 0).then(|| self.evaluation.recorded.get(at).and_then(|stored| stored.value)).flatten();
        let before = self.path.len();
        self.path.push_str("#length");
        self.param_entry(Primitive::I8, None, length, value, item);
        self.path.truncate(before);
        self.data_entry(data.what, spot, item)
    }

    fn data_entry(&mut self, what: TypeUse, spot: ItemSpan, item: ItemId) -> Result<(), EvaluationError> {
        let is_alike = self.machine.has_fixed_size(what.ty);
        let is_plain = is_alike && !self.machine.is_stepped(what);
        let view = if is_plain { StructView::Plain } else { StructView::Dynamic };
        let typed = self
            .machine
            .resolve_type(what.ty, view, &mut self.resolved_structs)
            .map_err(|_| self.machine.overflow_fault(item))?;
        let plain = match typed {
            ResolvedType::Dynamic if is_alike => {
                self.machine.resolve_type(what.ty, StructView::Plain, &mut self.resolved_structs).ok()
            }
            _ => None,
        };
        let plain = plain.and_then(|plain| if let ResolvedType::Struct(plain) = plain { Some(plain) } else { None });
        let datatype = self.type_text(what.ty, is_plain, typed.all_members(), item)?;
        let mut shape = Vec::new();
        self.machine.append_shape(what, &mut shape);
        let kind = if self.machine.is_null(what.ty) { StreamEntryKind::Null } else { StreamEntryKind::Data };
        let entry = LayoutEntry {
            path: self.path.clone(),
            kind,
            address: known_address(spot.address).filter(|_| spot.size > 0),
            datatype,
            shape,
            nbytes: known_address(spot.size),
            value: None,
            item,
            resolved_type: typed,
            stride: None,
            is_contiguous: plain,
        };
        self.push_entry(entry);
        Ok(())
    }

    /// The datatype of an item in words. It counts as work, and may have only this number of members: few types are
    /// millions of them, and few lines a million items of these.
    fn type_text(&mut self, ty: TypeId, plain: bool, members: u64, item: ItemId) -> Result<String, EvaluationError> {
        let limits = &self.evaluation.limits;
        if members > limits.expansion {
            let what = format_args!("the datatype of {} has {members} members, those of its structs counted", self.path);
            return Err(Limits::exceeded_error("expansion", limits.expansion, what).into());
        }
        let text = self.machine.type_text(ty, plain, limits.text).map_err(|why| match why {
            SpellError::Overflow => self.machine.overflow_fault(item),
            SpellError::Long => {
                let what = format_args!("the datatype of {} is too long to spell", self.path);
                Limits::exceeded_error("text", limits.text, what).into()
            }
        })?;
        limits.charge_work(members.saturating_mul(FIELD_COST).saturating_add(text.len() as u64))?;
        Ok(text)
    }
}

/// The index that a path goes on with, such as 3 of `[3]/x`.
fn leading_index(rest: &str) -> Option<u64> {
    let inside = rest.strip_prefix('[')?;
    inside.get(..inside.find(']')?)?.parse().ok()
}
