//! Check that a new text has the meaning of its edit: the old tree with the changes, and nothing else.
//!
//! Both trees are read once, in parallel, as they are written: aliases are compared as aliases.

use std::collections::HashMap;
use std::ops::Range;

use super::super::build::{HAS_PROPS, KIND_MASK, SCALAR, VERBATIM_FLAG};
use super::super::node::{Node, NodeKind};
use super::super::{NodeRecord, Scalar, Tree, Value, ValueData, YamlScalarStyle};
use super::plan::{AddedChild, EditModel, Moved, NewContent};
use crate::yaml::{PrintOptions, print_flow};

/// The first difference: the node of the old tree that it is at, and what differs.
pub(super) struct FirstDifference {
    pub node: u32,
    pub message: &'static str,
}

/// The tag that a node must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TagRule {
    /// The tag of the old node.
    Same,
    /// Any tag or none.
    Any,
}

/// Compares `new` with `old` and what the plan changes in it.
pub(super) fn compare_with_plan(old: &Tree, plan: &EditModel, new: &Tree) -> Result<(), FirstDifference> {
    let mut check = EditChecker::new(old, new, plan);
    match check.compare_all() {
        Ok(()) => Ok(()),
        Err(what) => {
            Err(FirstDifference { node: check.old_index.min((old.records.len() as u32).saturating_sub(1)), message: what })
        }
    }
}

/// Returns `true` if a tree has exactly this value.
pub(super) fn reads_back(value: &Value, tree: &Tree) -> bool {
    let plan = EditModel::default();
    let mut check = EditChecker::new(tree, tree, &plan);
    check.compare_value(value, None).is_ok() && check.new_index as usize == tree.records.len()
}

struct EditChecker<'a> {
    old: &'a Tree,
    new: &'a Tree,
    plan: &'a EditModel,
    /// The next record of the old tree, and the one of the new tree that must say the same.
    old_index: u32,
    new_index: u32,
    /// The collections that are given something at their end, and where that is.
    ends: Vec<(u32, u32)>,
    /// The places of nodes with anchors in the new tree.
    id_shift: HashMap<u32, u32>,
    /// The number in the new tree of each tag of the old one, once found.
    tags: Vec<Option<u32>>,
    /// A run of bytes that both trees have: its range in the old one, and how much further on it is in the new one.
    same_bytes: (Range<u32>, u32),
    /// `true` if the text alone says what became of some collection: what aliases refer to in it is not known.
    ignores_layout: bool,
}

type CompareResult = Result<(), &'static str>;

impl<'a> EditChecker<'a> {
    fn new(old: &'a Tree, new: &'a Tree, plan: &'a EditModel) -> Self {
        let (ends, moved, tags) = (Vec::new(), HashMap::new(), vec![None; old.tags.len()]);
        let same_bytes = (0..0, 0);
        Self { old, new, plan, old_index: 0, new_index: 0, ends, id_shift: moved, tags, same_bytes, ignores_layout: false }
    }

    fn compare_all(&mut self) -> CompareResult {
        let touched = self.plan.touched_records();
        let mut touched = touched.iter().copied().peekable();
        let len = self.old.records.len() as u32;
        loop {
            self.check_appended()?;
            if self.old_index >= len {
                break;
            }
            while touched.next_if(|record| *record < self.old_index).is_some() {}
            if touched.peek() == Some(&self.old_index) {
                self.compare_touched()?;
            } else {
                self.compare_kept(0)?;
            }
        }
        let markers = self.plan.head_changes
            || (self.old.explicit_start, self.old.explicit_end) == (self.new.explicit_start, self.new.explicit_end);
        if self.new_index as usize == self.new.records.len() && markers { Ok(()) } else { Err("more would come after it") }
    }

    /// Checks the additions at the ends of finished collections.
    fn check_appended(&mut self) -> CompareResult {
        while let Some((_, collection)) = self.ends.pop_if(|(end, _)| *end <= self.old_index) {
            self.compare_added(self.plan.added_last.get(&collection))?;
        }
        Ok(())
    }

    fn compare_added(&mut self, added: Option<&Vec<AddedChild>>) -> CompareResult {
        for added in added.into_iter().flatten() {
            match added {
                AddedChild::Item(item) => self.compare_value(item, None)?,
                AddedChild::Pair(key, value) => {
                    self.compare_value(key, None)?;
                    self.compare_value(value, None)?;
                }
            }
        }
        Ok(())
    }

    /// A node that the plan changes.
    fn compare_touched(&mut self) -> CompareResult {
        self.compare_added(self.plan.added_before.get(&self.old_index))?;
        if let Some(after) = self.plan.removed.get(&self.old_index) {
            self.old_index = *after;
            return Ok(());
        }
        let (old, new) = (Node::new(self.old, self.old_index), Node::new(self.new, self.new_index));
        let growth = self.plan.growth.get(&self.old_index).copied().unwrap_or(0);
        match self.plan.changed.get(&self.old_index) {
            Some(NewContent::Value(value)) => {
                let anchor = old.anchor().filter(|_| !old.is_alias());
                self.id_shift.insert(self.old_index, self.new_index);
                self.compare_value(value, anchor)?;
                self.old_index = old.written_end();
                Ok(())
            }
            Some(NewContent::Moved(from)) => self.compare_moved_node(*from),
            Some(NewContent::Name(name) | NewContent::Instead(name)) => {
                self.compare_value(name, None)?;
                self.old_index = old.written_end();
                Ok(())
            }
            Some(NewContent::Any) => {
                self.ignores_layout |= !old.is_scalar();
                self.id_shift.insert(self.old_index, self.new_index);
                (self.old_index, self.new_index) = (old.written_end(), new.written_end());
                Ok(())
            }
            Some(NewContent::Tag) => self.compare_kept_children(growth, TagRule::Any),
            None => self.compare_kept(growth),
        }
    }

    /// An alias that became the node that it represents: all of that node is here now.
    fn compare_moved_node(&mut self, from: u32) -> CompareResult {
        // The ends of the nodes that are inside of each other, and the records to go on with.
        let mut open = vec![(Node::new(self.old, from).written_end(), self.old_index + 1)];
        self.old_index = from;
        self.compare_kept(0)?;
        while let Some((end, back)) = open.last().copied() {
            if self.old_index >= end {
                open.pop();
                self.old_index = back;
                continue;
            }
            match self.plan.moved.get(&self.old_index) {
                Some(Moved::Node(target)) => {
                    open.push((Node::new(self.old, *target).written_end(), self.old_index + 1));
                    self.old_index = *target;
                    self.compare_kept(0)?;
                }
                Some(Moved::Alias) => {
                    let (old, new) = (Node::new(self.old, self.old_index), Node::new(self.new, self.new_index));
                    if !new.is_alias() || self.id_shift.get(&self.old_index) != Some(&new.id().0) {
                        return Err("the alias would mean another node");
                    }
                    self.old_index = old.written_end();
                    self.new_index += 1;
                }
                None => self.compare_kept(0)?,
            }
        }
        Ok(())
    }

    fn compare_kept(&mut self, growth: i64) -> CompareResult {
        self.compare_kept_children(growth, if self.plan.head_changes { TagRule::Any } else { TagRule::Same })
    }

    /// A node that is unchanged; its children, of which there are `growth` more, are compared next.
    #[inline]
    fn compare_kept_children(&mut self, growth: i64, tag: TagRule) -> CompareResult {
        let (old, new) = (Node::new(self.old, self.old_index), Node::new(self.new, self.new_index));
        let (Some(was), Some(is)) =
            (self.old.records.get(self.old_index as usize), self.new.records.get(self.new_index as usize))
        else {
            return Err("it would be gone");
        };
        if self.is_verbatim_same(was, is) {
            self.old_index += 1;
            self.new_index += 1;
            return Ok(());
        }
        if old.is_alias() || new.is_alias() {
            self.compare_alias(old, new)?;
        } else {
            if tag == TagRule::Same {
                self.same_tag(was.tag_number(), is.tag_number())?;
            }
            if (was.meta | is.meta) & HAS_PROPS != 0 {
                if old.anchor() != new.anchor() {
                    return Err("its anchor would change");
                }
                self.id_shift.insert(self.old_index, self.new_index);
            }
            match (old.kind(), new.kind()) {
                (NodeKind::Scalar, NodeKind::Scalar) => same_scalar(old, new)?,
                (a, b) if a == b && i64::from(was.count) + growth == i64::from(is.count) => {
                    if self.plan.added_last.contains_key(&self.old_index) {
                        self.ends.push((old.written_end(), self.old_index));
                    }
                }
                (a, b) if a == b => return Err("it would have more or fewer children"),
                _ => return Err("it would become something else"),
            }
        }
        self.old_index += 1;
        self.new_index += 1;
        Ok(())
    }

    /// The short way for most nodes: a scalar of the same few bytes in the same style, without properties.
    #[inline]
    fn is_verbatim_same(&mut self, was: &NodeRecord, is: &NodeRecord) -> bool {
        let is_verbatim = was.meta & (KIND_MASK | VERBATIM_FLAG | HAS_PROPS) == SCALAR | VERBATIM_FLAG;
        if was.meta != is.meta || !is_verbatim || is.end.wrapping_sub(is.start) != was.end.wrapping_sub(was.start) {
            return false;
        }
        let shift = is.start.wrapping_sub(was.start);
        let is_within = |run: &(Range<u32>, u32)| run.1 == shift && run.0.start <= was.start && was.end <= run.0.end;
        if !is_within(&self.same_bytes) {
            self.same_bytes = (was.start..was.start + self.common_bytes(was.start, is.start), shift);
        }
        is_within(&self.same_bytes)
    }

    /// Returns the number of bytes that are the same from these places on, as far as it looks.
    fn common_bytes(&self, old: u32, new: u32) -> u32 {
        const PIECE_SIZE: usize = 64;
        const MAX_COMPARED: usize = 4096;
        let rest = |tree: &'a Tree, at: u32| tree.text.as_bytes().get(at as usize..).unwrap_or_default();
        let (old, new) = (rest(self.old, old), rest(self.new, new));
        let most = old.len().min(new.len()).min(MAX_COMPARED);
        let (old, new) = (&old[..most], &new[..most]);
        let steps = old.chunks(PIECE_SIZE).zip(new.chunks(PIECE_SIZE)).take_while(|(old, new)| old == new);
        let same = (steps.count() * PIECE_SIZE).min(most);
        let after = old[same..].iter().zip(&new[same..]).take_while(|(old, new)| old == new).count();
        (same + after) as u32
    }

    fn compare_alias(&mut self, old: Node<'_>, new: Node<'_>) -> CompareResult {
        let is_same = match self.id_shift.get(&old.id().0) {
            Some(target) => *target == new.id().0,
            None => self.ignores_layout,
        };
        if old.is_alias() && new.is_alias() && is_same { Ok(()) } else { Err("the alias would mean another node") }
    }

    fn same_tag(&mut self, old: u32, new: u32) -> CompareResult {
        let Some(known) = self.tags.get_mut(old as usize) else { return Err("its tag would change") };
        if *known != Some(new) {
            if self.old.tags.get(old as usize) != self.new.tags.get(new as usize) {
                return Err("its tag would change");
            }
            *known = Some(new);
        }
        Ok(())
    }

    /// The next node of the new tree, with everything below it, equals a value.
    fn compare_value(&mut self, value: &Value, anchor: Option<&str>) -> CompareResult {
        let mut open = vec![value];
        let mut anchor = anchor;
        while let Some(value) = open.pop() {
            if self.new_index as usize >= self.new.records.len() {
                return Err("the new value would be missing");
            }
            let node = Node::new(self.new, self.new_index);
            let wanted = value.anchor.as_deref().or(anchor.take());
            if !equals_shallow(value, node) || (!node.is_alias() && node.anchor() != wanted) {
                return Err("the new value would be read as something else");
            }
            match &value.data {
                ValueData::Seq(items) => open.extend(items.iter().rev()),
                ValueData::Map(pairs) => open.extend(pairs.iter().rev().flat_map(|(key, value)| [value, key])),
                _ => {}
            }
            self.new_index += 1;
        }
        Ok(())
    }
}

/// Returns `true` if a node equals a value, apart from their children.
fn equals_shallow(value: &Value, node: Node<'_>) -> bool {
    if let ValueData::Alias(name) = &value.data {
        return node.alias_target().is_some_and(|target| target.anchor() == Some(name));
    }
    let tag = value.tag.as_deref().filter(|tag| *tag != "!");
    if node.is_alias() || node.tag() != tag {
        return false;
    }
    match &value.data {
        ValueData::Seq(items) => node.is_sequence() && node.len() == items.len(),
        ValueData::Map(pairs) => node.is_mapping() && node.len() == pairs.len(),
        _ if !node.is_scalar() => false,
        // If there is a tag, the tag decides the type, so only the text is compared.
        ValueData::Str(text) => node.text() == *text && (tag.is_some() || matches!(node.scalar(), Scalar::Str(_))),
        ValueData::Plain(text) => node.style() == Some(YamlScalarStyle::Plain) && node.text() == *text,
        ValueData::Null if tag.is_some() && node.text().is_empty() => true,
        _ if tag.is_some() => {
            node.text() == print_flow(&Value { tag: None, anchor: None, ..value.clone() }, &PrintOptions::default())
        }
        data => match (data, node.scalar()) {
            (ValueData::Null, Scalar::Null) => true,
            (ValueData::Bool(a), Scalar::Bool(b)) => *a == b,
            (ValueData::Int(a), Scalar::Int(b)) => *a == b,
            (ValueData::Float(a), Scalar::Float(b)) => a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan(),
            (ValueData::BigInt(_), Scalar::BigInt(_) | Scalar::Int(_)) => {
                node.text() == print_flow(value, &PrintOptions::default())
            }
            _ => false,
        },
    }
}

/// Checks that two scalars have the same text, and that the same rules decide its meaning.
#[inline]
fn same_scalar(old: Node<'_>, new: Node<'_>) -> CompareResult {
    let plain = |node: Node<'_>| node.style() == Some(YamlScalarStyle::Plain);
    let is_same = plain(old) == plain(new) && old.text() == new.text() || old.scalar() == new.scalar();
    if is_same { Ok(()) } else { Err("its value would change") }
}
