//! Check whether a node fits a part of a schema: the fast answer, without words.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};

use super::cast::{self, Found};
use super::compile::{DatatypeRule, Dependency, ObjectRule, PartId, Place, Program, Rest, Rule};
use super::json_view::{Json, Number, Pairs, compared_tag, is_surely_text, json, key_text, own_tag, same};
use super::regex::Regex;
use super::tree_scan::Survey;
use super::unique_items;
use super::uri::matches;
use crate::error::Error;
use crate::limits::Limits;
use crate::tree::{Node, Scalar};

/// Validating may take this number of steps for each node that a tree may have at most, …
const STEPS: u64 = 16;
/// … this part of them for each node that it has, …
const PER_NODE: u64 = 1000;
/// … and this part of them whatever it has.
const AT_ALL: u64 = 10;

/// Checks nodes of one tree against parts of one program.
pub(super) struct Check<'a, 't> {
    pub(super) program: &'a Program,
    pub(super) survey: &'a Survey<'t>,
    /// Verdicts on nodes that are reached through aliases; of those being looked at, yes.
    known: HashMap<(u32, PartId), bool>,
    /// The keys of the object that was looked at last, and its number.
    keys: Vec<(Option<Cow<'t, str>>, Node<'t>)>,
    keys_of: Option<u32>,
    /// Lists to be used again.
    spare: Vec<Vec<(Option<Cow<'t, str>>, Node<'t>)>>,
    /// The references being followed, with the node they are followed for.
    following: Vec<(u32, PartId)>,
    /// The last pattern and the text that it was tried on, and whether it was found: units and versions repeat.
    tried: Option<(&'a Regex, Cow<'t, str>, bool)>,
    depth: usize,
    most_depth: usize,
    steps: u64,
    most_steps: u64,
    /// The limit `nodes`, which the steps follow from.
    limit: u64,
    /// The gaps of the program that a verdict has met.
    pub(super) open: BTreeSet<u32>,
    /// Set when a limit stops the check; every answer after that is worth nothing.
    pub(super) stopped: Option<Error>,
}

/// The deepest chain of parts: frames on the machine's stack are bounded by it, whatever the limits say.
const DEPTH: usize = 1000;

impl<'a, 't> Check<'a, 't> {
    pub(super) fn new(program: &'a Program, survey: &'a Survey<'t>, limits: &Limits) -> Self {
        let most_depth = usize::try_from(limits.depth.saturating_mul(4)).unwrap_or(DEPTH).min(DEPTH);
        Self {
            program,
            survey,
            known: HashMap::new(),
            keys: Vec::new(),
            keys_of: None,
            spare: Vec::new(),
            following: Vec::new(),
            tried: None,
            depth: 0,
            most_depth,
            steps: 0,
            most_steps: (survey.count.saturating_mul(limits.nodes / PER_NODE).saturating_add(limits.nodes / AT_ALL))
                .min(limits.nodes.saturating_mul(STEPS)),
            limit: limits.nodes,
            open: BTreeSet::new(),
            stopped: None,
        }
    }

    /// Returns `true` if a node fits a part.
    #[inline]
    pub(super) fn fits(&mut self, node: Node<'t>, part: PartId) -> bool {
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
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        self.known.insert(key, true);
        let fits = self.fits_all(node, rules);
        self.known.insert(key, fits);
        fits
    }

    fn fits_all(&mut self, node: Node<'t>, rules: &'a [Rule]) -> bool {
        self.steps += 1;
        if self.depth >= self.most_depth || self.steps > self.most_steps {
            self.stop();
            return true;
        }
        self.depth += 1;
        let fits = rules.iter().all(|rule| self.holds(node, rule));
        self.depth -= 1;
        fits
    }

    #[cold]
    fn stop(&mut self) {
        if self.stopped.is_none() {
            self.stopped = Some(if self.depth >= self.most_depth {
                Limits::exceeded("depth", self.most_depth as u64, "the tree nests deeper than its schema can be followed")
            } else {
                Limits::exceeded("nodes", self.limit, format_args!("validating takes more than {} steps", self.most_steps))
            });
        }
    }

    /// Returns `true` if one rule holds for a node.
    pub(super) fn holds(&mut self, node: Node<'t>, rule: &'a Rule) -> bool {
        match rule {
            Rule::Type { bits, date_time } => has_type(node, *bits, *date_time),
            Rule::Tag(pattern) => match own_tag(node) {
                Some(tag) => pattern.matches(tag),
                None => compared_tag(node).is_some_and(|tag| pattern.matches(&tag)),
            },
            Rule::Words(words) => is_one_of(node, words),
            Rule::Enum(place) => self.is_in(node, *place),
            Rule::Ref(part) => self.follow(node, *part),
            Rule::All(parts) => parts.iter().all(|part| self.fits(node, *part)),
            Rule::Any(parts) => self.any(node, parts),
            Rule::One(parts) => parts.iter().filter(|part| self.fits(node, **part)).take(2).count() == 1,
            Rule::Not(part) => !self.fits(node, *part),
            Rule::Object(object) => self.object(node, object),
            Rule::Items(part) => json(node) != Json::Array || node.items().all(|item| self.fits(item, *part)),
            Rule::Tuple { items, rest } => self.tuple(node, items, *rest),
            Rule::Required(_) | Rule::Properties { .. } | Rule::Dependencies(_) => self.keys(node, rule),
            Rule::Length { least, most } => json(node) != Json::Array || (*least..=*most).contains(&(node.len() as u64)),
            Rule::Unique => json(node) != Json::Array || self.duplicate(node).is_none(),
            Rule::Datatype(_) | Rule::Dimensions { .. } => !is_ndarray(node) || self.array(node, rule),
            Rule::Pattern(pattern) => self.pattern(node, pattern),
            Rule::TextLength { .. } => text_holds(node, rule),
            Rule::Minimum(..) | Rule::Maximum(..) | Rule::MultipleOf(_) => number_holds(node, rule),
            Rule::Unchecked(gap) => {
                self.open.insert(*gap);
                true
            }
        }
    }

    fn any(&mut self, node: Node<'t>, parts: &'a [PartId]) -> bool {
        let found = json(node) as u8;
        let program = self.program;
        if found == 0 || node.is_alias() {
            return parts.iter().any(|part| self.fits(node, *part));
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

    fn pattern(&mut self, node: Node<'t>, pattern: &'a Regex) -> bool {
        if !node.is_scalar() {
            return true;
        }
        let Scalar::Str(text) = node.scalar() else { return true };
        if let Some((last, tried, found)) = &self.tried
            && std::ptr::eq(*last, pattern)
            && *tried == text
        {
            return *found;
        }
        let found = pattern.found_in(&text);
        self.tried = Some((pattern, text, found));
        found
    }

    /// Follows a reference, once for each node.
    fn follow(&mut self, node: Node<'t>, part: PartId) -> bool {
        let id = node.id().index() as u32;
        let inside = self.following.iter().rev().take_while(|(at, _)| *at == id).any(|(_, followed)| *followed == part);
        if inside {
            return true;
        }
        self.following.push((id, part));
        let fits = self.fits(node, part);
        self.following.pop();
        fits
    }

    /// Lists the keys of an object, once for all rules that ask for them.
    fn list_keys(&mut self, node: Node<'t>) {
        let id = node.id().index() as u32;
        if self.keys_of != Some(id) {
            self.keys.clear();
            self.keys.extend(Pairs::of(node, &self.survey.odd).map(|(key, value)| (key_text(key), value)));
            self.keys_of = Some(id);
        }
    }

    fn has_key(&mut self, node: Node<'t>, wanted: &str) -> bool {
        self.list_keys(node);
        self.keys.iter().any(|(key, _)| key.as_deref() == Some(wanted))
    }

    fn object(&mut self, node: Node<'t>, object: &'a ObjectRule) -> bool {
        if json(node) != Json::Object {
            return true;
        }
        self.list_keys(node);
        // Values below list their own keys meanwhile.
        let spare = self.spare.pop().unwrap_or_default();
        let keys = std::mem::replace(&mut self.keys, spare);
        self.keys_of = None;
        let fits = keys.iter().all(|(key, value)| self.pair(key.as_deref(), *value, object));
        self.spare.push(std::mem::replace(&mut self.keys, keys));
        self.keys_of = Some(node.id().index() as u32);
        fits
    }

    fn pair(&mut self, name: Option<&str>, value: Node<'t>, object: &'a ObjectRule) -> bool {
        // A key that is no text is not named anywhere.
        let Some(name) = name else { return self.rest(value, object.rest) };
        let mut named = false;
        if let Some((_, part)) = object.named.iter().find(|(known, _)| **known == *name) {
            named = true;
            if !self.fits(value, *part) {
                return false;
            }
        }
        for (pattern, part) in &object.patterns {
            if pattern.found_in(name) {
                named = true;
                if !self.fits(value, *part) {
                    return false;
                }
            }
        }
        named || self.rest(value, object.rest)
    }

    fn rest(&mut self, node: Node<'t>, rest: Rest) -> bool {
        match rest {
            Rest::Free => true,
            Rest::Forbidden => false,
            Rest::Part(part) => self.fits(node, part),
        }
    }

    fn tuple(&mut self, node: Node<'t>, items: &'a [PartId], rest: Rest) -> bool {
        if json(node) != Json::Array {
            return true;
        }
        let mut parts = items.iter();
        node.items().all(|item| match parts.next() {
            Some(part) => self.fits(item, *part),
            None => self.rest(item, rest),
        })
    }

    fn keys(&mut self, node: Node<'t>, rule: &'a Rule) -> bool {
        if json(node) != Json::Object {
            return true;
        }
        match rule {
            Rule::Required(keys) => keys.iter().all(|key| self.has_key(node, key)),
            Rule::Properties { least, most } => (*least..=*most).contains(&(Pairs::of(node, &self.survey.odd).count() as u64)),
            Rule::Dependencies(all) => all.iter().all(|(key, dependency)| {
                !self.has_key(node, key)
                    || match dependency {
                        Dependency::Keys(keys) => keys.iter().all(|key| self.has_key(node, key)),
                        Dependency::Part(part) => self.fits(node, *part),
                    }
            }),
            _ => true,
        }
    }

    /// Returns `true` if an object has this key.
    pub(super) fn has(&self, node: Node<'t>, wanted: &str) -> bool {
        Pairs::of(node, &self.survey.odd).any(|(key, _)| key_text(key).is_some_and(|name| *name == *wanted))
    }

    fn is_in(&mut self, node: Node<'t>, place: Place) -> bool {
        let Some(values) = self.program.node(place) else { return true };
        let mut budget = self.most_steps.saturating_sub(self.steps);
        let found = values.items().any(|value| same(node, value, false, &mut budget));
        self.steps = self.most_steps.saturating_sub(budget);
        found
    }

    /// Returns the indices of two equal items of a sequence.
    pub(super) fn duplicate(&mut self, node: Node<'t>) -> Option<(usize, usize)> {
        let mut budget = self.most_steps.saturating_sub(self.steps);
        let found = unique_items::duplicate(node, &mut budget);
        if budget == 0 {
            self.steps = self.most_steps;
            self.stop();
        }
        self.steps = self.most_steps.saturating_sub(budget);
        found
    }

    fn array(&mut self, node: Node<'t>, rule: &'a Rule) -> bool {
        match rule {
            Rule::Dimensions { least, most } => cast::dimensions(node).is_some_and(|n| (*least..=*most).contains(&n)),
            Rule::Datatype(wanted) => self.datatype(node, wanted),
            _ => true,
        }
    }

    fn datatype(&mut self, node: Node<'t>, wanted: &DatatypeRule) -> bool {
        let found = match cast::datatype(node) {
            Found::None => return false,
            Found::Inferred(kind) => Some(kind),
            Found::Written(datatype) => {
                if self.program.node(wanted.place).is_some_and(|schema| same_datatype(schema, datatype)) {
                    return true;
                }
                cast::Kind::read(datatype).filter(|_| !wanted.exact)
            }
        };
        match (found, &wanted.kind) {
            (Some(found), Some(kind)) => found == *kind || (!wanted.exact && found.casts_to(kind)),
            _ => false,
        }
    }
}

/// Returns `true` if the ndarray rules are for this node.
pub(super) fn is_ndarray(node: Node<'_>) -> bool {
    own_tag(node).is_some_and(|tag| matches(b"tag:stsci.edu:asdf/core/ndarray-*", tag.as_bytes()))
}

#[inline]
fn has_type(node: Node<'_>, bits: u8, date_time: bool) -> bool {
    const COLLECTIONS: u8 = Json::Array as u8 | Json::Object as u8;
    if node.is_scalar() && bits & !COLLECTIONS == 0 {
        return false;
    }
    match json(node) {
        Json::Other => false,
        Json::DateTime => date_time,
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
        Rule::TextLength { least, most } => {
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
    let Some(number) = Number::of(node) else { return true };
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
    const FIELD: [&str; 4] = ["name", "datatype", "byteorder", "shape"];
    let mut budget = 10_000;
    if !schema.is_sequence() || !schema.index(0).is_some_and(Node::is_mapping) {
        return same(datatype, schema, false, &mut budget);
    }
    let none = HashSet::new();
    datatype.is_sequence()
        && schema.len() == datatype.len()
        && schema.items().zip(datatype.items()).all(|(wanted, found)| {
            let kept: Vec<_> = Pairs::of(wanted, &none).filter(|(key, _)| FIELD.contains(&&*key.text())).collect();
            found.is_mapping()
                && found.len() == kept.len()
                && kept
                    .iter()
                    .all(|(key, value)| found.get(&key.text()).is_some_and(|other| same(other, *value, false, &mut budget)))
        })
}
