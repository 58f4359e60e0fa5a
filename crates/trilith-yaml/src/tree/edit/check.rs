//! Check that a new text has the meaning of its edit: the old tree with the changes, and nothing else.
//!
//! Both trees are read once, in parallel, as they are written: aliases are compared as aliases.

use std::collections::HashMap;

use super::super::build::{KIND, PROPS, SCALAR, VERBATIM};
use super::super::node::{Node, NodeKind};
use super::super::{Data, Record, Scalar, Style, Tree, Value};
use super::plan::{Added, Moved, New, Plan};
use crate::span::Span;
use crate::yaml::{PrintOptions, print_flow};

/// The first difference: the node of the old tree that it is at, and what differs.
pub(super) struct Difference {
    pub node: u32,
    pub what: &'static str,
}

/// Compares `new` with `old` and what the plan changes in it.
pub(super) fn check(old: &Tree, plan: &Plan, new: &Tree) -> Result<(), Difference> {
    let mut check = Check::new(old, new, plan);
    match check.all() {
        Ok(()) => Ok(()),
        Err(what) => Err(Difference { node: check.at.min((old.records.len() as u32).saturating_sub(1)), what }),
    }
}

/// Returns `true` if a tree has exactly this value.
pub(super) fn reads_back(value: &Value, tree: &Tree) -> bool {
    let plan = Plan::default();
    let mut check = Check::new(tree, tree, &plan);
    check.value(value, None).is_ok() && check.to as usize == tree.records.len()
}

struct Check<'a> {
    old: &'a Tree,
    new: &'a Tree,
    plan: &'a Plan,
    /// The next record of the old tree, and the one of the new tree that must say the same.
    at: u32,
    to: u32,
    /// The collections that are given something at their end, and where that is.
    ends: Vec<(u32, u32)>,
    /// The places of nodes with anchors in the new tree.
    moved: HashMap<u32, u32>,
    /// The number in the new tree of each tag of the old one, once found.
    tags: Vec<Option<u32>>,
    /// `true` if the text alone says what became of some collection: what aliases refer to in it is not known.
    is_loose: bool,
}

type Compared = Result<(), &'static str>;

impl<'a> Check<'a> {
    fn new(old: &'a Tree, new: &'a Tree, plan: &'a Plan) -> Self {
        let (ends, moved, tags) = (Vec::new(), HashMap::new(), vec![None; old.tags.len()]);
        Self { old, new, plan, at: 0, to: 0, ends, moved, tags, is_loose: false }
    }

    fn all(&mut self) -> Compared {
        let touched = self.plan.touched();
        let mut touched = touched.iter().copied().peekable();
        let len = self.old.records.len() as u32;
        loop {
            self.closed()?;
            if self.at >= len {
                break;
            }
            while touched.next_if(|record| *record < self.at).is_some() {}
            if touched.peek() == Some(&self.at) {
                self.touched()?;
            } else {
                self.kept(0)?;
            }
        }
        let markers = self.plan.head || (self.old.begins, self.old.ends) == (self.new.begins, self.new.ends);
        if self.to as usize == self.new.records.len() && markers { Ok(()) } else { Err("more would come after it") }
    }

    /// Checks the additions at the ends of finished collections.
    fn closed(&mut self) -> Compared {
        while let Some((_, collection)) = self.ends.pop_if(|(end, _)| *end <= self.at) {
            self.added(self.plan.last.get(&collection))?;
        }
        Ok(())
    }

    fn added(&mut self, added: Option<&Vec<Added>>) -> Compared {
        for added in added.into_iter().flatten() {
            match added {
                Added::Item(item) => self.value(item, None)?,
                Added::Pair(key, value) => {
                    self.value(key, None)?;
                    self.value(value, None)?;
                }
            }
        }
        Ok(())
    }

    /// A node that the plan changes.
    fn touched(&mut self) -> Compared {
        self.added(self.plan.before.get(&self.at))?;
        if let Some(after) = self.plan.removed.get(&self.at) {
            self.at = *after;
            return Ok(());
        }
        let (old, new) = (Node::new(self.old, self.at), Node::new(self.new, self.to));
        let growth = self.plan.growth.get(&self.at).copied().unwrap_or(0);
        match self.plan.changed.get(&self.at) {
            Some(New::Value(value)) => {
                let anchor = old.anchor().filter(|_| !old.is_alias());
                self.moved.insert(self.at, self.to);
                self.value(value, anchor)?;
                self.at = old.after();
                Ok(())
            }
            Some(New::Moved(from)) => self.moved(*from),
            Some(New::Name(name) | New::Instead(name)) => {
                self.value(name, None)?;
                self.at = old.after();
                Ok(())
            }
            Some(New::Any) => {
                self.is_loose |= !old.is_scalar();
                self.moved.insert(self.at, self.to);
                (self.at, self.to) = (old.after(), new.after());
                Ok(())
            }
            Some(New::Tag) => self.kept_under(growth, true),
            None => self.kept(growth),
        }
    }

    /// An alias that became the node that it represents: all of that node is here now.
    fn moved(&mut self, from: u32) -> Compared {
        // The ends of the nodes that are inside of each other, and the records to go on with.
        let mut open = vec![(Node::new(self.old, from).after(), self.at + 1)];
        self.at = from;
        self.kept(0)?;
        while let Some((end, back)) = open.last().copied() {
            if self.at >= end {
                open.pop();
                self.at = back;
                continue;
            }
            match self.plan.moved.get(&self.at) {
                Some(Moved::Node(target)) => {
                    open.push((Node::new(self.old, *target).after(), self.at + 1));
                    self.at = *target;
                    self.kept(0)?;
                }
                Some(Moved::Alias) => {
                    let (old, new) = (Node::new(self.old, self.at), Node::new(self.new, self.to));
                    if !new.is_alias() || self.moved.get(&self.at) != Some(&new.id().0) {
                        return Err("the alias would mean another node");
                    }
                    self.at = old.after();
                    self.to += 1;
                }
                None => self.kept(0)?,
            }
        }
        Ok(())
    }

    fn kept(&mut self, growth: i64) -> Compared {
        self.kept_under(growth, self.plan.head)
    }

    /// A node that is unchanged; its children, of which there are `growth` more, are compared next.
    #[inline]
    fn kept_under(&mut self, growth: i64, any_tag: bool) -> Compared {
        let (old, new) = (Node::new(self.old, self.at), Node::new(self.new, self.to));
        let (Some(was), Some(is)) = (self.old.records.get(self.at as usize), self.new.records.get(self.to as usize)) else {
            return Err("it would be gone");
        };
        if self.is_verbatim_same(was, is) {
            self.at += 1;
            self.to += 1;
            return Ok(());
        }
        if old.is_alias() || new.is_alias() {
            self.alias(old, new)?;
        } else {
            if !any_tag {
                self.same_tag(was.tag_number(), is.tag_number())?;
            }
            if (was.meta | is.meta) & PROPS != 0 {
                if old.anchor() != new.anchor() {
                    return Err("its anchor would change");
                }
                self.moved.insert(self.at, self.to);
            }
            match (old.kind(), new.kind()) {
                (NodeKind::Scalar, NodeKind::Scalar) => same_scalar(old, new)?,
                (a, b) if a == b && i64::from(was.count) + growth == i64::from(is.count) => {
                    if self.plan.last.contains_key(&self.at) {
                        self.ends.push((old.after(), self.at));
                    }
                }
                (a, b) if a == b => return Err("it would have more or fewer children"),
                _ => return Err("it would become something else"),
            }
        }
        self.at += 1;
        self.to += 1;
        Ok(())
    }

    /// The short way for most nodes: a scalar of the same few bytes in the same style, without properties.
    #[inline]
    fn is_verbatim_same(&self, was: &Record, is: &Record) -> bool {
        was.meta == is.meta
            && was.meta & (KIND | VERBATIM | PROPS) == SCALAR | VERBATIM
            && Span::new(was.start, was.end).slice(&self.old.text) == Span::new(is.start, is.end).slice(&self.new.text)
    }

    fn alias(&mut self, old: Node<'_>, new: Node<'_>) -> Compared {
        let is_same = match self.moved.get(&old.id().0) {
            Some(target) => *target == new.id().0,
            None => self.is_loose,
        };
        if old.is_alias() && new.is_alias() && is_same { Ok(()) } else { Err("the alias would mean another node") }
    }

    fn same_tag(&mut self, old: u32, new: u32) -> Compared {
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
    fn value(&mut self, value: &Value, anchor: Option<&str>) -> Compared {
        let mut open = vec![value];
        let mut anchor = anchor;
        while let Some(value) = open.pop() {
            if self.to as usize >= self.new.records.len() {
                return Err("the new value would be missing");
            }
            let node = Node::new(self.new, self.to);
            let wanted = value.anchor.as_deref().or(anchor.take());
            if !is_said(value, node) || (!node.is_alias() && node.anchor() != wanted) {
                return Err("the new value would be read as something else");
            }
            match &value.data {
                Data::Seq(items) => open.extend(items.iter().rev()),
                Data::Map(pairs) => open.extend(pairs.iter().rev().flat_map(|(key, value)| [value, key])),
                _ => {}
            }
            self.to += 1;
        }
        Ok(())
    }
}

/// Returns `true` if a node equals a value, apart from their children.
fn is_said(value: &Value, node: Node<'_>) -> bool {
    if let Data::Alias(name) = &value.data {
        return node.alias_target().is_some_and(|target| target.anchor() == Some(name));
    }
    let tag = value.tag.as_deref().filter(|tag| *tag != "!");
    if node.is_alias() || node.tag() != tag {
        return false;
    }
    match &value.data {
        Data::Seq(items) => node.is_sequence() && node.len() == items.len(),
        Data::Map(pairs) => node.is_mapping() && node.len() == pairs.len(),
        _ if !node.is_scalar() => false,
        // If there is a tag, the tag decides the type, so only the text is compared.
        Data::Str(text) => node.text() == *text && (tag.is_some() || matches!(node.scalar(), Scalar::Str(_))),
        Data::Plain(text) => node.style() == Some(Style::Plain) && node.text() == *text,
        Data::Null if tag.is_some() && node.text().is_empty() => true,
        _ if tag.is_some() => {
            node.text() == print_flow(&Value { tag: None, anchor: None, ..value.clone() }, &PrintOptions::default())
        }
        data => match (data, node.scalar()) {
            (Data::Null, Scalar::Null) => true,
            (Data::Bool(a), Scalar::Bool(b)) => *a == b,
            (Data::Int(a), Scalar::Int(b)) => *a == b,
            (Data::Float(a), Scalar::Float(b)) => a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan(),
            (Data::BigInt(_), Scalar::BigInt(_) | Scalar::Int(_)) => node.text() == print_flow(value, &PrintOptions::default()),
            _ => false,
        },
    }
}

/// Checks that two scalars have the same text, and that the same rules decide its meaning.
#[inline]
fn same_scalar(old: Node<'_>, new: Node<'_>) -> Compared {
    let plain = |node: Node<'_>| node.style() == Some(Style::Plain);
    let is_same = plain(old) == plain(new) && old.text() == new.text() || old.scalar() == new.scalar();
    if is_same { Ok(()) } else { Err("its value would change") }
}
