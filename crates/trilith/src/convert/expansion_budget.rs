//! Limits on writing a tree with its aliases expanded.

use crate::array::Array;
use crate::asdf::ndarray;
use crate::error::Result;
use crate::limits::Limits;
use crate::tree::{Expanded, Known, Node, Tree};

/// The amount that may still be written.
pub(super) struct AliasBudget<'a> {
    limits: &'a Limits,
    nodes: u64,
    text: u64,
    work: u64,
    expanded: Expanded,
}

impl<'a> AliasBudget<'a> {
    /// Allows the nodes of the tree, and those that its aliases may add ([`Limits::expansion`]).
    pub(super) fn new(tree: &Tree, limits: &'a Limits) -> Self {
        let nodes = (tree.node_count() as u64).saturating_add(limits.expansion);
        Self { limits, nodes, text: 0, work: 0, expanded: Expanded::new(ndarray::is_ndarray) }
    }

    /// Returns the number of nodes of a node with all below it, and whether arrays are among them.
    pub(super) fn expanded_size(&self, node: Node<'_>) -> Result<Known> {
        self.expanded.size_of(node)
    }

    /// Counts nodes that are written.
    pub(super) fn charge_nodes(&mut self, nodes: u64) -> Result<()> {
        let left = self.nodes.checked_sub(nodes);
        self.nodes =
            left.ok_or_else(|| Limits::exceeded_error("expansion", self.limits.expansion, "aliases add nodes to the tree"))?;
        Ok(())
    }

    /// Counts text that is written: what many nodes share, as the prefix of their tags, is written for each.
    pub(super) fn charge_text(&mut self, text: &str) -> Result<()> {
        self.limits.charge_text(&mut self.text, text.len(), "names, tags and attributes of the layout")
    }

    /// Refuses arrays that together are more than the command may go through, before the first is written.
    pub(super) fn charge_array(&mut self, array: &Array) -> Result<()> {
        self.work = self.work.saturating_add(array.nbytes());
        self.limits.check_work(self.work)
    }
}
