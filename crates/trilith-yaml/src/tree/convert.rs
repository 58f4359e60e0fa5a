//! Conversion of nodes to values.

use super::node::{Node, NodeKind};
use super::walk::TreeWalk;
use super::{CollectionStyle, Scalar, Tree, Value, ValueData, YamlScalarStyle};
use crate::error::Result;
use crate::limits::Limits;

/// Values nest at most this deep, whatever [`Limits::depth`] allows: they are dropped by recursion.
const MAX_DEPTH: usize = 1000;

/// Keys that are collections have such keys themselves at most this deep.
const MAX_KEY_DEPTH: usize = 32;

impl Node<'_> {
    /// A copy of this node and all below it, without its text: aliases expanded, merge keys applied.
    ///
    /// Layouts and quotes become hints, so that printing the value looks much like the source.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) for a node that contains itself,
    /// [`ErrorKind::Limit`](crate::ErrorKind::Limit) for more than [`Limits::nodes`] nodes or 1,000 levels.
    pub fn to_value(self, limits: &Limits) -> Result<Value> {
        build_value(&mut self.walk(limits).expand_aliases(), 0)
    }
}

/// Returns the value of a walk's start. Keys that are collections are separate values, `nested` keys deep.
fn build_value(walk: &mut TreeWalk<'_>, nested: usize) -> Result<Value> {
    if nested > MAX_KEY_DEPTH {
        return Err(Limits::exceeded_error("depth", MAX_KEY_DEPTH as u64, "keys nest too deep"));
    }
    let mut stack: Vec<(Option<Value>, Value)> = Vec::new();
    while let Some(visit) = walk.try_next()? {
        close_deeper(&mut stack, visit.depth);
        if visit.is_cycle {
            return Err(visit.node.error("an alias leads back to a node that it is part of; as a value it would be endless"));
        }
        if visit.depth >= MAX_DEPTH {
            return Err(Limits::exceeded_error("depth", MAX_DEPTH as u64, "the value nests too deep"));
        }
        let key = match visit.key {
            Some(key) if !key.is_scalar() => {
                let mut inside = walk.fork(key);
                let value = build_value(&mut inside, nested + 1)?;
                walk.return_from(&inside);
                Some(value)
            }
            key => key.map(to_shallow_value),
        };
        stack.push((key, to_shallow_value(visit.node)));
    }
    close_deeper(&mut stack, 1);
    Ok(stack.pop().map_or_else(Value::null, |(_, value)| value))
}

/// Puts every value deeper than `depth` levels into the one above it.
fn close_deeper(stack: &mut Vec<(Option<Value>, Value)>, depth: usize) {
    while stack.len() > depth.max(1) {
        let Some((key, value)) = stack.pop() else { return };
        match stack.last_mut().map(|(_, parent)| &mut parent.data) {
            Some(ValueData::Seq(items)) => items.push(value),
            Some(ValueData::Map(pairs)) => pairs.push((key.unwrap_or_default(), value)),
            _ => {}
        }
    }
}

/// A node without what is below it.
fn to_shallow_value(node: Node<'_>) -> Value {
    let data = match node.kind() {
        NodeKind::Sequence => ValueData::Seq(Vec::with_capacity(node.len())),
        NodeKind::Mapping => ValueData::Map(Vec::with_capacity(node.len())),
        NodeKind::Scalar => match node.scalar() {
            Scalar::Null => ValueData::Null,
            Scalar::Bool(value) => ValueData::Bool(value),
            Scalar::Int(value) => ValueData::Int(value),
            Scalar::BigInt(digits) => ValueData::BigInt(digits),
            Scalar::Float(value) => ValueData::Float(value),
            Scalar::Timestamp(text) => ValueData::Plain(text.into_owned()),
            Scalar::Str(text) | Scalar::Binary(text) => ValueData::Str(text.into_owned()),
        },
    };
    let style = node.style().filter(|style| *style != YamlScalarStyle::Plain && matches!(data, ValueData::Str(_)));
    let layout = node.layout().filter(|layout| *layout == CollectionStyle::Flow || matches!(data, ValueData::Seq(_)));
    Value { data, tag: node.tag().map(str::to_owned), layout, style, anchor: None }
}

impl Tree {
    /// Parses a value written in YAML under the `%TAG` handles of this tree.
    ///
    /// # Errors
    /// Returns the errors of [`Tree::parse`] and [`Node::to_value`].
    pub fn parse_value(&self, yaml: &str, limits: &Limits) -> Result<Value> {
        self.parse_under(yaml, limits)?.root().to_value(limits)
    }

    /// Parses a document under the `%TAG` handles of this tree; its text ends with `yaml`. The handle `!!` has its usual meaning, since
    /// the text does not show what the tree makes of it.
    pub fn parse_under(&self, yaml: &str, limits: &Limits) -> Result<Tree> {
        let mut text = String::from("%YAML 1.1\n");
        for (handle, prefix) in self.tag_handles().filter(|(handle, _)| *handle != "!!") {
            text.push_str(&format!("%TAG {handle} {prefix}\n"));
        }
        text.push_str("---\n");
        text.push_str(yaml);
        Tree::parse(text, limits)
    }
}
