//! Walks along an evaluated layout and returns its entries with their byte offsets, one after another.
//!
//! The walk keeps its own stack, and replays the stored values that the evaluation read; what is
//! repeated a billion times is walked only as far as it is asked for.

mod instances;

use std::collections::HashMap;
use std::collections::VecDeque;

use super::entry::{Entry, EntryKind, Unspelled};
use super::evaluation::Evaluation;
use super::evaluator::{Machine, Spot, UNKNOWN, Values, known};
use super::interner::Mixer;
use super::lexer::push_name;
use super::model::{Data, Extension, ItemId, ItemKind, Listing, Primitive, Step, TypeId, Use};
use super::param_request::{Fault, ParamRequest, Supply};
use super::resolved_type::{Known, ResolvedType};
use super::sizes::Members;
use crate::Limits;
use crate::array::FIELD_COST;
use crate::error::Error;

/// A part of the walk still to be done.
enum Work {
    /// Steps outside of lists, by number in the plan.
    Top { at: usize, to: usize },
    /// A range of steps.
    Steps {
        at: u32,
        to: u32,
        drop_at: bool,
        /// Length of the path of the root or element dict that holds them.
        base: usize,
        /// The root, the element dict or the list that holds the steps.
        top: ItemId,
        /// Length of the path of the innermost open item.
        open: usize,
    },
    /// A list body, this number of times more.
    Loop { from: u32, to: u32, left: u64, drop_at: bool, open: usize, list: ItemId },
    /// Instances of a struct, one after the other.
    Instances { ty: TypeId, base: u64, done: u64, at: u64, count: u64, dims: Vec<u64>, open: usize, item: ItemId },
    /// The members of one instance.
    Instance { ty: TypeId, base: u64, member: u32, place: Members, open: usize, item: ItemId },
}

/// The steps that a loop repeats; they append `each` elements to a list.
struct Again {
    from: u32,
    to: u32,
    drop_at: bool,
    list: ItemId,
    /// The step that repeats, under which the machine keeps the stride.
    key: u32,
    each: u64,
    /// Stored parameters in it have to be read.
    dynamic: bool,
}

/// Makes the entries of an evaluation one by one.
pub(crate) struct Walker<'e, 'l> {
    evaluation: &'e Evaluation<'l>,
    machine: Machine<'l>,
    stack: Vec<Work>,
    path: String,
    /// Number of elements of each list so far.
    lengths: HashMap<ItemId, u64, Mixer>,
    ready: VecDeque<Entry>,
    /// Stored values replayed so far.
    replayed: usize,
    /// The size of the instance walked last.
    instance_size: u64,
    /// If set, yields only entries at this path.
    pub wanted: Option<String>,
    failed: bool,
    known: Known,
    /// Repetitions since the last entry.
    idle: u64,
    /// Number of repetitions of the extension that comes first that are after already.
    passed: u64,
}

impl<'e, 'l> Walker<'e, 'l> {
    /// A walker before the first entry.
    pub(super) fn new(evaluation: &'e Evaluation<'l>, mut machine: Machine<'l>) -> Self {
        machine.reset(evaluation.begin());
        let to = evaluation.starts.len();
        Self {
            evaluation,
            machine,
            stack: vec![Work::Top { at: 0, to }],
            path: String::new(),
            lengths: HashMap::default(),
            ready: VecDeque::new(),
            replayed: 0,
            instance_size: 0,
            wanted: None,
            failed: false,
            known: Known::default(),
            idle: 0,
            passed: 0,
        }
    }

    /// Walks only the top-level places `at..to`, as if those before had been walked.
    pub(super) fn seek(&mut self, at: usize, to: usize) {
        self.stack = vec![Work::Top { at, to }];
        self.path.clear();
    }

    /// Skips the first `passed` repetitions of the next extension, as if they had been walked.
    pub(super) fn pass(&mut self, passed: u64) {
        self.passed = passed;
    }

    /// Sets the number of elements that a list has before the next part of the walk.
    pub(super) fn set_length(&mut self, list: ItemId, length: u64) {
        self.lengths.insert(list, length);
    }

    /// The next entry.
    pub(super) fn advance(&mut self) -> Result<Option<Entry>, Fault> {
        while self.ready.is_empty() {
            if self.failed || self.stack.is_empty() {
                return Ok(None);
            }
            if let Err(fault) = self.work() {
                self.failed = true;
                return Err(fault);
            }
        }
        Ok(self.ready.pop_front())
    }

    /// Does a piece of the work on top of the stack.
    fn work(&mut self) -> Result<(), Fault> {
        let Some(top) = self.stack.last_mut() else { return Ok(()) };
        match top {
            Work::Top { at, to } => {
                let here = *at;
                *at += 1;
                if here >= *to {
                    self.stack.pop();
                    return Ok(());
                }
                self.top_step(here)
            }
            Work::Steps { at, to, open, .. } => {
                let here = *at;
                if here >= *to {
                    self.stack.pop();
                    return Ok(());
                }
                self.path.truncate(*open);
                self.step(here)
            }
            Work::Loop { from, to, left, drop_at, open, list } => {
                if *left == 0 {
                    self.stack.pop();
                    return Ok(());
                }
                *left -= 1;
                // A list of nothing, repeated: there would be no end of finding no entry.
                self.idle += 1;
                if self.idle > self.evaluation.limits.nodes {
                    let limit = self.evaluation.limits.nodes;
                    return Err(Limits::exceeded("nodes", limit, "too many list elements without an entry").into());
                }
                let steps = Work::Steps { at: *from, to: *to, drop_at: *drop_at, base: *open, top: *list, open: *open };
                self.path.truncate(*open);
                self.stack.push(steps);
                Ok(())
            }
            Work::Instances { .. } => self.next_instance(),
            Work::Instance { .. } => self.next_member(),
        }
    }

    /// A step outside of lists: its path comes from its item.
    fn top_step(&mut self, place: usize) -> Result<(), Fault> {
        let layout = self.machine.layout;
        let (Some(&step), Some(&start)) = (layout.plan.places.get(place), self.evaluation.starts.get(place)) else {
            return Ok(());
        };
        self.machine.cursor = start;
        if let Some(&ordinal) = self.evaluation.ordinals.get(place) {
            self.replayed = ordinal as usize;
        }
        let item = match layout.steps.get(step as usize) {
            Some(Step::Data(item) | Step::Param(item)) => *item,
            Some(Step::List(of)) => of.list,
            Some(Step::Extend(of)) => of.list,
            _ => return Ok(()),
        };
        self.path.clear();
        layout.push_dicts(&mut self.path, layout.item(item).parent, ItemId::ROOT);
        let open = self.path.len();
        self.stack.push(Work::Steps { at: step, to: step + 1, drop_at: false, base: 0, top: ItemId::ROOT, open });
        Ok(())
    }

    /// A step of what is on top of the stack; the path is that of the open item.
    fn step(&mut self, at: u32) -> Result<(), Fault> {
        let layout = self.machine.layout;
        let Some(step) = layout.steps.get(at as usize) else { return Ok(()) };
        let Some(Work::Steps { at: next, drop_at, base, top, .. }) = self.stack.last_mut() else { return Ok(()) };
        *next = match step {
            Step::List(of) => of.end.max(at + 1),
            Step::Element { end, .. } => (*end).max(at + 1),
            _ => at + 1,
        };
        let (drop_at, base, top) = (*drop_at, *base, *top);
        match *step {
            Step::Enter(dict) => {
                self.path.truncate(base);
                layout.push_dicts(&mut self.path, dict, top);
                let now = self.path.len();
                if let Some(Work::Steps { open, .. }) = self.stack.last_mut() {
                    *open = now;
                }
                Ok(())
            }
            Step::Data(item) => self.data(item, drop_at),
            Step::Param(item) => self.param(item, drop_at),
            Step::List(ref of) => {
                let Listing { list, end, count, span, elements, fresh, places, dynamic } = **of;
                let count = self.machine.repeats(count, span)?;
                self.open_list(list, at, end, fresh);
                if !places || !self.is_wanted_below() {
                    self.lengthen(list, count.saturating_mul(u64::from(elements)));
                    return self.skip(at, drop_at);
                }
                let again = Again { from: at + 1, to: end, drop_at, list, key: at, each: elements.into(), dynamic };
                self.narrow(&again, count)
            }
            Step::Extend(ref of) => {
                let Extension { list, from, to, count, span, places, dynamic } = **of;
                let count = self.machine.repeats(count, span)?;
                let passed = std::mem::take(&mut self.passed).min(count);
                self.open_list(list, at, at, false);
                if !places || !self.is_wanted_below() {
                    self.lengthen(list, count);
                    return self.skip(at, drop_at);
                }
                let again = Again { from, to, drop_at: true, list, key: at, each: 1, dynamic };
                self.skip_loop(&again, passed)?;
                self.lengthen(list, passed);
                self.narrow(&again, count - passed)
            }
            Step::Element { dict, end, fresh } => {
                self.push_index(dict, fresh);
                if fresh {
                    self.forget_lists(at, end);
                }
                if !self.is_wanted_below() {
                    return self.skip_range(at + 1, end, drop_at);
                }
                let open = self.path.len();
                self.stack.push(Work::Steps { at: at + 1, to: end, drop_at, base: open, top: dict, open });
                Ok(())
            }
            Step::Type(_) | Step::Summary { .. } => Ok(()),
        }
    }

    /// Puts a loop on the stack; if one element of it is wanted, only the repetition that has it.
    fn narrow(&mut self, again: &Again, left: u64) -> Result<(), Fault> {
        let Again { from, to, drop_at, list, each, dynamic, .. } = *again;
        let open = self.path.len();
        let wanted = self.wanted.as_deref().and_then(|path| path.get(open..)).and_then(leading_index);
        let have = self.lengths.get(&list).copied().unwrap_or(0);
        let (Some(wanted), false, true) = (wanted, dynamic, each > 0 && left > 1) else {
            self.stack.push(Work::Loop { from, to, left, drop_at, open, list });
            return Ok(());
        };
        let before = wanted.checked_sub(have).map_or(left, |more| (more / each).min(left));
        self.skip_loop(again, before)?;
        self.lengthen(list, before.saturating_mul(each));
        let walk = u64::from(before < left);
        self.stack.push(Work::Loop { from, to, left: walk, drop_at, open, list });
        Ok(())
    }

    /// Runs the first repetitions of a loop; without stored parameters two of them tell how long all are.
    fn skip_loop(&mut self, again: &Again, count: u64) -> Result<(), Fault> {
        let steps = (again.from, again.to);
        let runs = if again.dynamic { count } else { count.min(1) };
        for _ in 0..runs {
            self.skip_range(steps.0, steps.1, again.drop_at)?;
        }
        if count == runs || self.machine.cursor == UNKNOWN {
            return Ok(());
        }
        let mut nothing = |_: &ParamRequest| Ok(Supply::Missing);
        let mut values = Values { source: &mut nothing, record: &mut Vec::new() };
        let stride = self.machine.stride(steps, again.drop_at, again.key, &mut values)?;
        let end = stride.checked_mul(count - 1).and_then(|more| self.machine.cursor.checked_add(more));
        self.machine.cursor = end.ok_or_else(|| self.machine.overflow(ItemId::ROOT))?;
        Ok(())
    }

    /// Adds elements to a list.
    pub(super) fn lengthen(&mut self, list: ItemId, more: u64) {
        let length = self.lengths.entry(list).or_default();
        *length = length.saturating_add(more);
    }

    /// Appends the name or the index of a list; a list that is a new element begins empty.
    fn open_list(&mut self, list: ItemId, at: u32, end: u32, fresh: bool) {
        let layout = self.machine.layout;
        if layout.item(layout.item(list).parent).kind == ItemKind::List {
            self.push_index(list, fresh);
            if fresh {
                self.lengths.remove(&list);
                self.forget_lists(at, end);
            }
        } else {
            self.path.push('/');
            push_name(&mut self.path, layout.name(list).unwrap_or(""));
        }
    }

    /// Appends the index of an element: the next of its list, or (2026) the one it was declared as.
    fn push_index(&mut self, element: ItemId, fresh: bool) {
        let layout = self.machine.layout;
        let item = layout.item(element);
        let index = if fresh {
            let length = self.lengths.entry(item.parent).or_default();
            *length += 1;
            *length - 1
        } else {
            u64::from(item.position)
        };
        self.path.push_str(&format!("[{index}]"));
    }

    /// The lists declared in these steps are new ones.
    fn forget_lists(&mut self, from: u32, to: u32) {
        if self.lengths.is_empty() {
            return;
        }
        for step in self.machine.layout.steps.get(from as usize + 1..to as usize).unwrap_or(&[]) {
            if let Step::List(of) = step {
                self.lengths.remove(&of.list);
            }
        }
    }

    /// Returns `true` if the wanted path leads through what is open now.
    fn is_wanted_below(&self) -> bool {
        let Some(wanted) = &self.wanted else { return true };
        if wanted.starts_with('&') {
            return true;
        }
        wanted.strip_prefix(self.path.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '[', '(', '.', '#']))
    }

    fn skip(&mut self, step: u32, drop_at: bool) -> Result<(), Fault> {
        self.replay(|machine, values| machine.run_step(step, drop_at, values))
    }

    fn skip_range(&mut self, from: u32, to: u32, drop_at: bool) -> Result<(), Fault> {
        self.replay(|machine, values| machine.run(from, to, drop_at, values))
    }

    /// Runs the machine on the values that the evaluation read.
    fn replay<V>(&mut self, run: impl FnOnce(&mut Machine<'l>, &mut Values<'_>) -> Result<V, Fault>) -> Result<V, Fault> {
        let record = &self.evaluation.record;
        let replayed = &mut self.replayed;
        let mut source = |_: &ParamRequest| {
            let stored = record.get(*replayed).ok_or_else(|| Error::invalid_input("the walk and the evaluation differ"))?;
            *replayed += 1;
            Ok(stored.value.map_or(Supply::Unknown, Supply::Value))
        };
        run(&mut self.machine, &mut Values { source: &mut source, record: &mut Vec::new() })
    }

    // Entries.

    /// The end of the path of an item of what is open; returns the length to go back to.
    fn push_item(&mut self, item: ItemId, reference: u32) -> usize {
        let layout = self.machine.layout;
        let before = self.path.len();
        if reference > 0 {
            self.path.clear();
            self.path.push_str(&format!("&{reference}"));
        } else if layout.item(layout.item(item).parent).kind == ItemKind::List {
            self.push_index(item, true);
        } else {
            self.path.push('/');
            push_name(&mut self.path, layout.name(item).unwrap_or(""));
        }
        before
    }

    fn param(&mut self, item: ItemId, drop_at: bool) -> Result<(), Fault> {
        let layout = self.machine.layout;
        let ItemKind::Param(id) = layout.item(item).kind else { return Ok(()) };
        let param = layout.param(id);
        if param.fixed.is_some() {
            return Ok(());
        }
        let spot = self.replay(|machine, values| machine.place_param(item, drop_at, values))?;
        let before = self.push_item(item, 0);
        let value = Some(self.machine.value(id));
        self.param_entry(param.primitive, param.order, spot, value, item);
        self.path.truncate(before);
        Ok(())
    }

    fn param_entry(
        &mut self,
        primitive: Primitive,
        order: Option<super::model::Byteorder>,
        spot: Spot,
        value: Option<i64>,
        item: ItemId,
    ) {
        let mut datatype = String::new();
        self.machine.spell_primitive(primitive, order, &mut datatype);
        let entry = Entry {
            path: self.path.clone(),
            kind: EntryKind::Param,
            address: known(spot.address),
            datatype,
            shape: Vec::new(),
            nbytes: Some(spot.size),
            value,
            item,
            typed: ResolvedType::Primitive { primitive, byteorder: self.machine.order_of(primitive, order) },
            stride: None,
            plain: None,
        };
        self.give(entry);
    }

    fn give(&mut self, entry: Entry) {
        if self.wanted.as_deref().is_none_or(|wanted| wanted == entry.path) {
            self.idle = 0;
            self.ready.push_back(entry);
        }
    }

    fn data(&mut self, item: ItemId, drop_at: bool) -> Result<(), Fault> {
        let layout = self.machine.layout;
        let Some(data) = layout.data_of(item) else { return Ok(()) };
        let kept = self.path.clone();
        self.push_item(item, data.reference);
        if !self.is_wanted_below() {
            self.replay(|machine, values| machine.place_data(item, drop_at, values))?;
        } else if layout.filter(data.filter).is_some_and(|filter| filter.compresses) {
            self.compressed(item, data, drop_at)?;
        } else {
            let replayed = self.replayed;
            let spot = self.replay(|machine, values| machine.place_data(item, drop_at, values))?;
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

    fn compressed(&mut self, item: ItemId, data: &Data, drop_at: bool) -> Result<(), Fault> {
        let at = self.replayed;
        let (length, spot) = self.replay(|machine, values| machine.place_compressed(item, data, drop_at, values))?;
        let value = (length.size > 0).then(|| self.evaluation.record.get(at).and_then(|stored| stored.value)).flatten();
        let before = self.path.len();
        self.path.push_str("#length");
        self.param_entry(Primitive::I8, None, length, value, item);
        self.path.truncate(before);
        self.data_entry(data.what, spot, item)
    }

    fn data_entry(&mut self, what: Use, spot: Spot, item: ItemId) -> Result<(), Fault> {
        let is_alike = self.machine.is_alike(what.ty);
        let is_plain = is_alike && !self.machine.is_stepped(what);
        let typed = self.machine.typed(what.ty, is_plain, &mut self.known).map_err(|_| self.machine.overflow(item))?;
        let plain = match typed {
            ResolvedType::Dynamic if is_alike => self.machine.typed(what.ty, true, &mut self.known).ok(),
            _ => None,
        };
        let plain = plain.and_then(|plain| if let ResolvedType::Struct(plain) = plain { Some(plain) } else { None });
        let datatype = self.spelled(what.ty, is_plain, typed.all_members(), item)?;
        let mut shape = Vec::new();
        self.machine.shape(what, &mut shape);
        let kind = if self.machine.is_null(what.ty) { EntryKind::Null } else { EntryKind::Data };
        let entry = Entry {
            path: self.path.clone(),
            kind,
            address: known(spot.address).filter(|_| spot.size > 0),
            datatype,
            shape,
            nbytes: known(spot.size),
            value: None,
            item,
            typed,
            stride: None,
            plain,
        };
        self.give(entry);
        Ok(())
    }

    /// The datatype of an item in words. It counts as work, and may have only this number of members: few types are
    /// millions of them, and few lines a million items of these.
    fn spelled(&mut self, ty: TypeId, plain: bool, members: u64, item: ItemId) -> Result<String, Fault> {
        let limits = &self.evaluation.limits;
        if members > limits.expansion {
            let what = format_args!("the datatype of {} has {members} members, those of its structs counted", self.path);
            return Err(Limits::exceeded("expansion", limits.expansion, what).into());
        }
        let text = self.machine.spell(ty, plain, limits.text).map_err(|why| match why {
            Unspelled::Overflow => self.machine.overflow(item),
            Unspelled::Long => {
                let what = format_args!("the datatype of {} is too long to spell", self.path);
                Limits::exceeded("text", limits.text, what).into()
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
