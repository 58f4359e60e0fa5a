//! Check whether a node fits a part of a schema: the fast answer, without words.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};

use super::cast::{self, NodeDatatype};
use super::compile::{AdditionalRule, CompiledSchemas, DatatypeRule, Dependency, ObjectRule, PartId, Rule, SchemaLocation};
use super::json_view::{
    EqualityRule, InstanceNumber, JsonType, ObjectPairs, bindable_tag, compared_tag, deep_eq, is_surely_text, json_type_of_node,
    key_text,
};
use super::regex::SchemaRegex;
use super::tree_scan::TreeScan;
use super::unique_items;
use super::uri::matches_wildcards;
use crate::error::Error;
use crate::limits::Limits;
use crate::tree::{Node, Scalar};

/// Validating may take this number of steps for each node that a tree may have at most, …
const STEPS_PER_ALLOWED_NODE: u64 = 16;
/// … this part of them for each node that it has, …
const STEP_SHARE_PER_NODE: u64 = 1000;
/// … and this part of them whatever it has.
const STEP_SHARE_BASE: u64 = 10;

/// Checks nodes of one tree against parts of one program.
pub(super) struct FastChecker<'a, 't> {
    pub(super) program: &'a CompiledSchemas,
    pub(super) survey: &'a TreeScan<'t>,
    /// Verdicts on nodes that are reached through aliases; of those being looked at, yes.
    result_cache: HashMap<(u32, PartId), bool>,
    /// The keys of the object that was looked at last, and its number.
    keys: Vec<(Option<Cow<'t, str>>, Node<'t>)>,
    keys_of: Option<u32>,
    /// Lists to be used again.
    free_buffers: Vec<Vec<(Option<Cow<'t, str>>, Node<'t>)>>,
    /// The references being followed, with the node they are followed for.
    followed_refs: Vec<(u32, PartId)>,
    /// The last pattern and the text that it was tried on, and whether it was found: units and versions repeat.
    cycle_guard: Option<(&'a SchemaRegex, Cow<'t, str>, bool)>,
    depth: usize,
    max_depth: usize,
    steps: u64,
    max_steps: u64,
    /// The limit `nodes`, which the steps follow from.
    limit: u64,
    /// The gaps of the program that a verdict has met.
    pub(super) has_gaps: BTreeSet<u32>,
    /// Set when a limit stops the check; every answer after that is worth nothing.
    pub(super) is_stopped: Option<Error>,
}

/// The deepest chain of parts: frames on the machine's stack are bounded by it, whatever the limits say.
const MAX_DEPTH: usize = 1000;

impl<'a, 't> FastChecker<'a, 't> {
    pub(super) fn new(program: &'a CompiledSchemas, survey: &'a TreeScan<'t>, limits: &Limits) -> Self {
        let most_depth = usize::try_from(limits.depth.saturating_mul(4)).unwrap_or(MAX_DEPTH).min(MAX_DEPTH);
        Self {
            program,
            survey,
            result_cache: HashMap::new(),
            keys: Vec::new(),
            keys_of: None,
            free_buffers: Vec::new(),
            followed_refs: Vec::new(),
            cycle_guard: None,
            depth: 0,
            max_depth: most_depth,
            steps: 0,
            max_steps: (survey
                .count
                .saturating_mul(limits.nodes / STEP_SHARE_PER_NODE)
                .saturating_add(limits.nodes / STEP_SHARE_BASE))
            .min(limits.nodes.saturating_mul(STEPS_PER_ALLOWED_NODE)),
            limit: limits.nodes,
            has_gaps: BTreeSet::new(),
            is_stopped: None,
        }
    }

    /// Returns `true` if a node fits a part.
    #[inline]
    pub(super) fn node_fits(&mut self, node: Node<'t>, part: PartId) -> bool {
        let program = self.program;
        let rules = program.rules(part);
        if rules.is_empty() || self.is_reference(node) {
            return true;
        }
        if node.is_alias() {
            return self.fits_alias(node, part, rules);
        }
        self.fits_all(node, rules)
    }

    /// Returns `true` if a mapping only refers to something that is elsewhere.
    #[inline]
    pub(super) fn is_reference(&self, node: Node<'t>) -> bool {
        !self.survey.references.is_empty() && self.survey.references.contains(&(node.id().index() as u32))
    }

    fn fits_alias(&mut self, node: Node<'t>, part: PartId, rules: &'a [Rule]) -> bool {
        let key = (node.id().index() as u32, part);
        if let Some(known) = self.result_cache.get(&key) {
            return *known;
        }
        self.result_cache.insert(key, true);
        let fits = self.fits_all(node, rules);
        self.result_cache.insert(key, fits);
        fits
    }

    fn fits_all(&mut self, node: Node<'t>, rules: &'a [Rule]) -> bool {
        self.steps += 1;
        if self.depth >= self.max_depth || self.steps > self.max_steps {
            self.give_up();
            return true;
        }
        self.depth += 1;
        let fits = rules.iter().all(|rule| self.rule_holds(node, rule));
        self.depth -= 1;
        fits
    }

    #[cold]
    fn give_up(&mut self) {
        if self.is_stopped.is_none() {
            self.is_stopped = Some(if self.depth >= self.max_depth {
                Limits::exceeded_error("depth", self.max_depth as u64, "the tree nests deeper than its schema can be followed")
            } else {
                Limits::exceeded_error("nodes", self.limit, format_args!("validating takes more than {} steps", self.max_steps))
            });
        }
    }

    /// Returns `true` if one rule holds for a node.
    pub(super) fn rule_holds(&mut self, node: Node<'t>, rule: &'a Rule) -> bool {
        match rule {
            Rule::Type { bits, date_time } => has_type(node, *bits, *date_time),
            Rule::Tag(pattern) => match bindable_tag(node) {
                Some(tag) => pattern.matches_uri(tag),
                None => compared_tag(node).is_some_and(|tag| pattern.matches_uri(&tag)),
            },
            Rule::EnumStrings(words) => is_one_of(node, words),
            Rule::Enum(place) => self.is_in(node, *place),
            Rule::Ref(part) => self.follow_reference(node, *part),
            Rule::All(parts) => parts.iter().all(|part| self.node_fits(node, *part)),
            Rule::Any(parts) => self.fits_any(node, parts),
            Rule::One(parts) => parts.iter().filter(|part| self.node_fits(node, **part)).take(2).count() == 1,
            Rule::Not(part) => !self.node_fits(node, *part),
            Rule::Object(object) => self.fits_object(node, object),
            Rule::Items(part) => {
                json_type_of_node(node) != JsonType::Array || node.items().all(|item| self.node_fits(item, *part))
            }
            Rule::Tuple { items, rest } => self.fits_tuple(node, items, *rest),
            Rule::Required(_) | Rule::Properties { .. } | Rule::Dependencies(_) => self.fits_key_rule(node, rule),
            Rule::Length { min: least, max: most } => {
                json_type_of_node(node) != JsonType::Array || (*least..=*most).contains(&(node.len() as u64))
            }
            Rule::Unique => json_type_of_node(node) != JsonType::Array || self.find_duplicate_items(node).is_none(),
            Rule::Datatype(_) | Rule::Dimensions { .. } => !is_ndarray(node) || self.fits_array_rule(node, rule),
            Rule::Pattern(pattern) => self.matches_pattern(node, pattern),
            Rule::TextLength { .. } => text_holds(node, rule),
            Rule::Minimum(..) | Rule::Maximum(..) | Rule::MultipleOf(_) => number_holds(node, rule),
            Rule::Unchecked(gap) => {
                self.has_gaps.insert(*gap);
                true
            }
        }
    }

    fn fits_any(&mut self, node: Node<'t>, parts: &'a [PartId]) -> bool {
        let found = json_type_of_node(node) as u8;
        let program = self.program;
        if found == 0 || node.is_alias() {
            return parts.iter().any(|part| self.node_fits(node, *part));
        }
        // Skips alternatives for another type. The other alternatives need no check of the type.
        parts.iter().any(|part| {
            let Some(part) = program.parts.get(part.0 as usize).filter(|part| part.types & found != 0) else { return false };
            let rules = match part.rules.split_first() {
                Some((Rule::Type { .. }, rest)) => rest,
                _ => &part.rules,
            };
            rules.is_empty() || self.fits_all(node, rules)
        })
    }

    fn matches_pattern(&mut self, node: Node<'t>, pattern: &'a SchemaRegex) -> bool {
        if !node.is_scalar() {
            return true;
        }
        let Scalar::Str(text) = node.scalar() else { return true };
        if let Some((last, tried, found)) = &self.cycle_guard
            && std::ptr::eq(*last, pattern)
            && *tried == text
        {
            return *found;
        }
        let found = pattern.found_in(&text);
        self.cycle_guard = Some((pattern, text, found));
        found
    }

    /// Follows a reference, once for each node.
    fn follow_reference(&mut self, node: Node<'t>, part: PartId) -> bool {
        let id = node.id().index() as u32;
        let inside = self.followed_refs.iter().rev().take_while(|(at, _)| *at == id).any(|(_, followed)| *followed == part);
        if inside {
            return true;
        }
        self.followed_refs.push((id, part));
        let fits = self.node_fits(node, part);
        self.followed_refs.pop();
        fits
    }

    /// Lists the keys of an object, once for all rules that ask for them.
    fn list_keys(&mut self, node: Node<'t>) {
        let id = node.id().index() as u32;
        if self.keys_of != Some(id) {
            self.keys.clear();
            self.keys
                .extend(ObjectPairs::from_node(node, &self.survey.special_mappings).map(|(key, value)| (key_text(key), value)));
            self.keys_of = Some(id);
        }
    }

    fn has_key(&mut self, node: Node<'t>, wanted: &str) -> bool {
        self.list_keys(node);
        self.keys.iter().any(|(key, _)| key.as_deref() == Some(wanted))
    }

    fn fits_object(&mut self, node: Node<'t>, object: &'a ObjectRule) -> bool {
        if json_type_of_node(node) != JsonType::Object {
            return true;
        }
        self.list_keys(node);
        // Values below list their own keys meanwhile.
        let spare = self.free_buffers.pop().unwrap_or_default();
        let keys = std::mem::replace(&mut self.keys, spare);
        self.keys_of = None;
        let fits = keys.iter().all(|(key, value)| self.fits_pair(key.as_deref(), *value, object));
        self.free_buffers.push(std::mem::replace(&mut self.keys, keys));
        self.keys_of = Some(node.id().index() as u32);
        fits
    }

    fn fits_pair(&mut self, name: Option<&str>, value: Node<'t>, object: &'a ObjectRule) -> bool {
        // A key that is not text is not named anywhere.
        let Some(name) = name else { return self.check_additional(value, object.rest) };
        let mut named = false;
        if let Some((_, part)) = object.named.iter().find(|(known, _)| **known == *name) {
            named = true;
            if !self.node_fits(value, *part) {
                return false;
            }
        }
        for (pattern, part) in &object.patterns {
            if pattern.found_in(name) {
                named = true;
                if !self.node_fits(value, *part) {
                    return false;
                }
            }
        }
        named || self.check_additional(value, object.rest)
    }

    fn check_additional(&mut self, node: Node<'t>, rest: AdditionalRule) -> bool {
        match rest {
            AdditionalRule::Free => true,
            AdditionalRule::Forbidden => false,
            AdditionalRule::Part(part) => self.node_fits(node, part),
        }
    }

    fn fits_tuple(&mut self, node: Node<'t>, items: &'a [PartId], rest: AdditionalRule) -> bool {
        if json_type_of_node(node) != JsonType::Array {
            return true;
        }
        let mut parts = items.iter();
        node.items().all(|item| match parts.next() {
            Some(part) => self.node_fits(item, *part),
            None => self.check_additional(item, rest),
        })
    }

    fn fits_key_rule(&mut self, node: Node<'t>, rule: &'a Rule) -> bool {
        if json_type_of_node(node) != JsonType::Object {
            return true;
        }
        match rule {
            Rule::Required(keys) => keys.iter().all(|key| self.has_key(node, key)),
            Rule::Properties { min: least, max: most } => {
                (*least..=*most).contains(&(ObjectPairs::from_node(node, &self.survey.special_mappings).count() as u64))
            }
            Rule::Dependencies(all) => all.iter().all(|(key, dependency)| {
                !self.has_key(node, key)
                    || match dependency {
                        Dependency::Keys(keys) => keys.iter().all(|key| self.has_key(node, key)),
                        Dependency::Part(part) => self.node_fits(node, *part),
                    }
            }),
            _ => true,
        }
    }

    /// Returns `true` if an object has this key.
    pub(super) fn contains_key(&self, node: Node<'t>, wanted: &str) -> bool {
        ObjectPairs::from_node(node, &self.survey.special_mappings)
            .any(|(key, _)| key_text(key).is_some_and(|name| *name == *wanted))
    }

    fn is_in(&mut self, node: Node<'t>, place: SchemaLocation) -> bool {
        let Some(values) = self.program.find_node(place) else { return true };
        let mut budget = self.max_steps.saturating_sub(self.steps);
        let found = values.items().any(|value| deep_eq(node, value, EqualityRule::EnumValue, &mut budget));
        self.steps = self.max_steps.saturating_sub(budget);
        found
    }

    /// Returns the indices of two equal items of a sequence.
    pub(super) fn find_duplicate_items(&mut self, node: Node<'t>) -> Option<(usize, usize)> {
        let mut budget = self.max_steps.saturating_sub(self.steps);
        let found = unique_items::find_duplicate_items(node, &mut budget);
        if budget == 0 {
            self.steps = self.max_steps;
            self.give_up();
        }
        self.steps = self.max_steps.saturating_sub(budget);
        found
    }

    fn fits_array_rule(&mut self, node: Node<'t>, rule: &'a Rule) -> bool {
        match rule {
            Rule::Dimensions { min: least, max: most } => {
                cast::count_dimensions(node).is_some_and(|n| (*least..=*most).contains(&n))
            }
            Rule::Datatype(wanted) => self.fits_datatype(node, wanted),
            _ => true,
        }
    }

    fn fits_datatype(&mut self, node: Node<'t>, wanted: &DatatypeRule) -> bool {
        let found = match cast::find_datatype(node) {
            NodeDatatype::None => return false,
            NodeDatatype::Inferred(kind) => Some(kind),
            NodeDatatype::Written(datatype) => {
                if self.program.find_node(wanted.place).is_some_and(|schema| same_datatype(schema, datatype)) {
                    return true;
                }
                cast::CastKind::from_node(datatype).filter(|_| !wanted.is_exact)
            }
        };
        match (found, &wanted.kind) {
            (Some(found), Some(kind)) => found == *kind || (!wanted.is_exact && found.casts_to(kind)),
            _ => false,
        }
    }
}

/// Returns `true` if the ndarray rules are for this node.
pub(super) fn is_ndarray(node: Node<'_>) -> bool {
    bindable_tag(node).is_some_and(|tag| matches_wildcards(b"tag:stsci.edu:asdf/core/ndarray-*", tag.as_bytes()))
}

#[inline]
fn has_type(node: Node<'_>, bits: u8, date_time: bool) -> bool {
    const COLLECTIONS: u8 = JsonType::Array as u8 | JsonType::Object as u8;
    if node.is_scalar() && bits & !COLLECTIONS == 0 {
        return false;
    }
    match json_type_of_node(node) {
        JsonType::Other => false,
        JsonType::DateTime => date_time,
        found => bits & found as u8 != 0,
    }
}

fn is_one_of(node: Node<'_>, words: &[Box<str>]) -> bool {
    if !node.is_scalar() {
        return false;
    }
    let text = match is_surely_text(node) {
        true => node.text(),
        false => match node.scalar() {
            Scalar::Str(text) => text,
            _ => return false,
        },
    };
    words.iter().any(|word| **word == *text)
}

fn text_holds(node: Node<'_>, rule: &Rule) -> bool {
    if !node.is_scalar() {
        return true;
    }
    let Scalar::Str(text) = node.scalar() else { return true };
    match rule {
        Rule::TextLength { min: least, max: most } => {
            // Counting is needed only where the bytes leave it open.
            let bytes = text.len() as u64;
            if bytes <= *most && bytes / 4 >= *least {
                return true;
            }
            (*least..=*most).contains(&(text.chars().count() as u64))
        }
        _ => true,
    }
}

fn number_holds(node: Node<'_>, rule: &Rule) -> bool {
    use std::cmp::Ordering::{Equal, Greater, Less};
    let Some(number) = InstanceNumber::from_node(node) else { return true };
    match rule {
        Rule::Minimum(limit, exclusive) => match number.compare(*limit) {
            Some(Less) => false,
            Some(Equal) => !exclusive,
            _ => true,
        },
        Rule::Maximum(limit, exclusive) => match number.compare(*limit) {
            Some(Greater) => false,
            Some(Equal) => !exclusive,
            _ => true,
        },
        Rule::MultipleOf(of) => number.is_multiple(*of).unwrap_or(true),
        _ => true,
    }
}

/// Returns `true` if two datatypes are written alike; in the schema's, keys that a field does not have don't count.
fn same_datatype(schema: Node<'_>, datatype: Node<'_>) -> bool {
    const FIELD_KEYS: [&str; 4] = ["name", "datatype", "byteorder", "shape"];
    let mut budget = 10_000;
    if !schema.is_sequence() || !schema.index(0).is_some_and(Node::is_mapping) {
        return deep_eq(datatype, schema, EqualityRule::EnumValue, &mut budget);
    }
    let none = HashSet::new();
    datatype.is_sequence()
        && schema.len() == datatype.len()
        && schema.items().zip(datatype.items()).all(|(wanted, found)| {
            let kept: Vec<_> =
                ObjectPairs::from_node(wanted, &none).filter(|(key, _)| FIELD_KEYS.contains(&&*key.text())).collect();
            let mut is_same = |other: Node<'_>, value: Node<'_>| deep_eq(other, value, EqualityRule::EnumValue, &mut budget);
            found.is_mapping()
                && found.len() == kept.len()
                && kept.iter().all(|(key, value)| found.get(&key.text()).is_some_and(|other| is_same(other, *value)))
        })
}
