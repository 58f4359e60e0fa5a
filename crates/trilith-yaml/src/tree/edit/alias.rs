//! Nodes that an edit takes away while aliases elsewhere refer to them: the first of these aliases becomes the node,
//! with its anchor, and the aliases after it refer to it there.

use std::collections::HashSet;

use super::super::build::{ALIAS, KIND_MASK};
use super::super::node::{Node, NodeId, NodeKind};
use super::super::{PrintOptions, Scalar, TreePath, Value, ValueData, YamlScalarStyle};
use super::plan::{Moved, NewContent};
use super::write::NodeContext;
use super::{Edit, resolve_alias, written_children};
use crate::error::Result;
use crate::limits::Limits;
use crate::yaml::{ValueBuilder, print_flow};

/// Number of other paths of a collection that a note names.
const MAX_LISTED_PATHS: usize = 4;

/// Nodes, with aliases entered, in which other paths of a node are looked for: a note need not be complete.
const MAX_SEARCHED_NODES: u64 = 1 << 20;
/// Values nest at most this deep: they are dropped by recursion.
const MAX_VALUE_DEPTH: usize = 1000;

/// Returns `true` if a path leads to `here`, perhaps by way of merge keys or of elements of their lists.
fn is_merged_path(path: &TreePath, here: &TreePath) -> bool {
    let mut rest = path.keys().iter().peekable();
    let mut wanted = here.keys().iter();
    while let Some(key) = rest.next() {
        if key != "<<" {
            if wanted.next() != Some(key) {
                return false;
            }
        } else if rest.peek().is_some_and(|index| index.parse::<usize>().is_ok())
            && wanted.as_slice().first() != rest.peek().copied()
        {
            rest.next();
        }
    }
    wanted.as_slice().is_empty()
}

impl<'t> Edit<'t> {
    /// Returns `true` if aliases outside of a node refer to it.
    pub(super) fn is_referred(&self, node: Node<'t>) -> bool {
        if node.is_alias() || node.anchor().is_none() {
            return false;
        }
        let referred = self.referred.get_or_init(|| {
            let aliases = (0..self.tree.records.len() as u32).map(|at| Node::new(self.tree, at)).filter(|node| node.is_alias());
            let is_outside = |alias: &Node<'_>| !Node::new(self.tree, alias.id().0).written_ids().contains(&alias.written_id());
            aliases.filter(is_outside).map(|alias| alias.id()).collect()
        });
        referred.contains(&node.id())
    }

    /// Notes that a change at a path is one of a collection that is at other paths as well.
    pub(super) fn note_shared(&mut self, path: &TreePath) {
        let (mut node, mut found) = (self.tree.root(), None);
        for (at, key) in path.keys().iter().enumerate() {
            let Some(child) = node.child(key) else { break };
            let is_merged = written_children(resolve_alias(node), key).is_empty();
            node = child;
            let origin = resolve_alias(node);
            if is_merged || self.is_referred(origin) {
                found = Some((at + 1, origin));
            }
        }
        let Some((depth, origin)) = found else { return };
        let here: TreePath = path.keys().iter().take(depth).cloned().collect();
        let mut limits = Limits::default();
        limits.nodes = limits.nodes.min(MAX_SEARCHED_NODES);
        // A merged node has no separate anchor: its other paths lead through aliases of the mapping around it.
        let mut walk = self.tree.root().walk(&limits).without_merge().expand_aliases();
        let mut others = Vec::new();
        while let Ok(Some(visit)) = walk.try_next() {
            if visit.node.id() == origin.id() && !is_merged_path(&walk.path(), &here) {
                others.push(walk.path().to_string());
            }
        }
        let rest = others.len().saturating_sub(MAX_LISTED_PATHS);
        others.truncate(MAX_LISTED_PATHS);
        let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
        let name = origin.anchor().map_or("merged in".to_owned(), |name| format!("anchor &{name}"));
        if !others.is_empty() {
            self.shared.insert(format!("{here} is also {}{more} ({name}): the change is in all of them", others.join(", ")));
        }
    }

    /// Writes each node that goes in the place of the first alias of it that stays.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Limit`](crate::ErrorKind::Limit) for a node that nests too deep.
    pub(super) fn hand_over(&mut self) -> Result<()> {
        if !self.tree.records.iter().any(|record| record.meta & KIND_MASK == ALIAS) {
            return Ok(());
        }
        let gone = self.mark_removed_records();
        let is_gone = |at: u32| gone.get(at as usize).copied().unwrap_or(false);
        // Nodes that have a place in the new tree again.
        let mut placed = HashSet::new();
        // The collections around the next record, with the number of children that came before it.
        let mut open: Vec<(Node<'t>, usize)> = Vec::new();
        for at in 0..self.tree.records.len() as u32 {
            let node = Node::new(self.tree, at);
            while open.last().is_some_and(|(last, _)| last.written_end() <= at) {
                open.pop();
            }
            let parent = open.last_mut().map(|(parent, children)| {
                *children += 1;
                (*parent, parent.is_mapping() && *children % 2 == 1)
            });
            if !node.is_alias() {
                if !node.is_scalar() {
                    open.push((node, 0));
                }
                continue;
            }
            let (Some((parent, is_key)), false) = (parent, is_gone(at)) else { continue };
            if !is_gone(node.id().0) || placed.contains(&node.id()) {
                continue;
            }
            let value = self.build_moved_value(node.id(), &gone, &mut placed)?;
            self.plan.changed.insert(at, NewContent::Moved(node.id().0));
            if is_key {
                let options = PrintOptions { width: usize::MAX, ..self.options.clone() };
                self.push_replacement(node.span(), print_flow(&value, &options));
            } else {
                self.write_whole(node, &value, NodeContext::of_parent(parent), None);
            }
        }
        Ok(())
    }

    /// The records that have no place in the new tree, unless an alias becomes them.
    fn mark_removed_records(&self) -> Vec<bool> {
        let mut gone = vec![false; self.tree.records.len()];
        let mut mark =
            |from: u32, to: u32| gone.get_mut(from as usize..to as usize).into_iter().flatten().for_each(|gone| *gone = true);
        for (first, after) in &self.plan.removed {
            mark(*first, *after);
        }
        for (at, new) in &self.plan.changed {
            let node = Node::new(self.tree, *at);
            match new {
                NewContent::Name(_) | NewContent::Instead(_) => mark(*at, node.written_end()),
                // The anchor of the node itself stays.
                NewContent::Value(_) if node.is_alias() => mark(*at, node.written_end()),
                NewContent::Value(_) => mark(*at + 1, node.written_end()),
                NewContent::Tag | NewContent::Any | NewContent::Moved(_) => {}
            }
        }
        gone
    }

    /// A node that is gone as a value, with the anchors, aliases and spellings that it has.
    fn build_moved_value(&mut self, id: NodeId, gone: &[bool], placed: &mut HashSet<NodeId>) -> Result<Value> {
        let mut built = ValueBuilder::default();
        // The collections that are open: the record after each, and the record that follows it in the text.
        let mut open: Vec<(u32, u32)> = Vec::new();
        // `true` for a mapping whose next child is a key.
        let mut keys: Vec<Option<bool>> = Vec::new();
        let mut at = id.0;
        loop {
            let mut node = Node::new(self.tree, at);
            let mut after = node.written_end();
            let is_key = keys.last_mut().and_then(Option::as_mut).is_some_and(|is_key| std::mem::replace(is_key, !*is_key));
            let target = node.id();
            let is_gone = gone.get(target.0 as usize).copied().unwrap_or(false);
            let value = if node.is_alias() {
                after = at + 1;
                if is_gone && !placed.contains(&target) {
                    self.plan.moved.insert(at, Moved::Node(target.0));
                    node = Node::new(self.tree, target.0);
                    None
                } else {
                    node.anchor().map(Value::alias)
                }
            } else {
                let again = node.anchor().filter(|_| placed.contains(&target)).map(Value::alias);
                if again.is_some() {
                    self.plan.moved.insert(at, Moved::Alias);
                }
                again
            };
            if value.is_none() && node.anchor().is_some() {
                placed.insert(target);
            }
            let is_open = value.is_none() && !node.is_scalar() && !is_key;
            let value = match value {
                Some(value) => value,
                // The check refuses it if there are anchors and aliases in it.
                None if is_key && !node.is_scalar() => {
                    Value { anchor: node.anchor().map(Box::from), ..node.to_value(&Limits::default())? }
                }
                None => as_written(node),
            };
            if is_open {
                if open.len() >= MAX_VALUE_DEPTH {
                    return Err(Limits::exceeded_error("depth", MAX_VALUE_DEPTH as u64, "the value nests too deep"));
                }
                open.push((node.written_end(), after));
                keys.push(node.is_mapping().then_some(true));
                built.begin_collection(value);
                at = node.written_id() + 1;
            } else {
                if is_key {
                    built.key(value);
                } else {
                    built.push_value(value);
                }
                at = after;
            }
            while let Some((end, back)) = open.last().copied()
                && at >= end
            {
                open.pop();
                keys.pop();
                built.end_collection();
                at = back;
            }
            if open.is_empty() {
                return Ok(built.finish().unwrap_or_default());
            }
        }
    }
}

/// A node without what is below it, in its spelling.
fn as_written(node: Node<'_>) -> Value {
    let style = node.style();
    let data = match node.kind() {
        NodeKind::Sequence => ValueData::Seq(Vec::with_capacity(node.len())),
        NodeKind::Mapping => ValueData::Map(Vec::with_capacity(node.len())),
        NodeKind::Scalar if node.is_merge() => ValueData::Plain(node.text().into_owned()),
        NodeKind::Scalar => match node.scalar() {
            Scalar::Null if node.text().is_empty() => ValueData::Null,
            Scalar::Str(text) | Scalar::Binary(text) => ValueData::Str(text.into_owned()),
            _ if style == Some(YamlScalarStyle::Plain) => ValueData::Plain(node.text().into_owned()),
            _ => ValueData::Str(node.text().into_owned()),
        },
    };
    let tag = if node.is_nonspecific() { Some("!") } else { node.tag() };
    Value {
        style: style.filter(|style| *style != YamlScalarStyle::Plain && matches!(data, ValueData::Str(_))),
        layout: node.layout(),
        data,
        tag: tag.map(str::to_owned),
        anchor: node.anchor().map(Box::from),
    }
}
