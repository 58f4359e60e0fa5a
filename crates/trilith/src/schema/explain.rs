//! Reasons why a node does not fit: the failing rules, each with its node, in words.

use super::cast::{self, Found, Kind};
use super::compile::{Dependency, ObjectRule, PartId, Rest, Rule};
use super::fast_check::Check;
use super::json_view::{Json, Pairs, compared_tag, json, key_text};
use super::wording::{cut, listed, measured, quoted, range, shown, tag_hint, type_hint, types};
use crate::diagnostic::{Diagnostic, Severity};
use crate::suggest::nearest;
use crate::tree::{Node, TreePath};

/// The reason of a mismatch, before it becomes a diagnostic.
#[derive(Debug, Clone)]
pub(super) struct Reason<'t> {
    node: Node<'t>,
    /// The key that is wrong, if it is not the value.
    key: Option<Node<'t>>,
    path: TreePath,
    message: String,
    rule: String,
    hint: Option<String>,
    part: PartId,
    /// Likeness to the intention: the branch of `anyOf` whose worst reason is best is reported.
    sort: Sort,
}

/// The severity of a mismatch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Sort {
    /// A wrong type or tag.
    Kind,
    /// The right kind with a wrong value.
    Value,
    /// A value that is nearly right.
    Near,
}

/// Maximum number of reasons that are searched for in one node.
const MOST: usize = 40;
/// Maximum number of branches of `anyOf` that are compared.
const BRANCHES: usize = 64;

impl<'t> Reason<'t> {
    pub(super) fn tell(self, check: &Check<'_, 't>) -> Diagnostic {
        let shown = self.key.unwrap_or(self.node);
        let span = if shown.span().is_empty() { shown.whole_span() } else { shown.span() };
        let at = shown.tree().line_column(span.start as usize);
        let schema = check.program.parts.get(self.part.0 as usize).map(|part| check.program.address(part.place));
        let mut found = Diagnostic::new(Severity::Error, self.message).at_path(self.path.to_string()).at_span(span).at_text(at);
        (found.rule, found.schema, found.hint) = (self.rule, schema.unwrap_or_default(), self.hint);
        found
    }
}

/// Collects reasons; `path` is where the walk is.
pub(super) struct Explain<'c, 'a, 't> {
    pub(super) check: &'c mut Check<'a, 't>,
    pub(super) path: TreePath,
    pub(super) reasons: Vec<Reason<'t>>,
    depth: usize,
}

/// The deepest chain of parts that is explained.
const DEPTH: usize = 400;

impl<'c, 'a, 't> Explain<'c, 'a, 't> {
    pub(super) fn new(check: &'c mut Check<'a, 't>, path: TreePath) -> Self {
        Self { check, path, reasons: Vec::new(), depth: 0 }
    }

    /// Looks for the reasons why a node does not fit a part.
    pub(super) fn part(&mut self, node: Node<'t>, part: PartId) {
        if self.reasons.len() >= MOST || self.check.stopped.is_some() || self.check.is_reference(node) {
            return;
        }
        let program = self.check.program;
        let mut failed = false;
        for rule in program.rules(part) {
            if self.check.holds(node, rule) {
                continue;
            }
            // A wrong type or tag breaks other rules too, which adds nothing new.
            if failed
                && matches!(
                    rule,
                    Rule::Any(_) | Rule::One(_) | Rule::Object(_) | Rule::Required(_) | Rule::Words(_) | Rule::Enum(_)
                )
                && self.is_another_kind(node)
            {
                continue;
            }
            failed = true;
            if self.depth >= DEPTH {
                self.add(node, part, Sort::Value, "the value does not fit".into(), String::new(), None);
                continue;
            }
            self.depth += 1;
            self.rule(node, rule, part);
            self.depth -= 1;
        }
    }

    fn is_another_kind(&self, node: Node<'t>) -> bool {
        self.reasons.iter().any(|reason| reason.sort == Sort::Kind && reason.node == node)
    }

    fn add(&mut self, node: Node<'t>, part: PartId, sort: Sort, message: String, rule: String, hint: Option<String>) {
        let path = self.path.clone();
        self.reasons.push(Reason { node, key: None, path, message, rule, hint, part, sort });
    }

    fn rule(&mut self, node: Node<'t>, rule: &'a Rule, part: PartId) {
        match rule {
            Rule::Ref(target) => self.part(node, *target),
            Rule::All(parts) => parts.iter().for_each(|part| self.part(node, *part)),
            Rule::Any(parts) => self.best(node, parts, part),
            Rule::One(parts) => self.one(node, parts, part),
            Rule::Object(object) => self.object(node, object, part),
            Rule::Items(item) => self.items(node, std::iter::repeat(Rest::Part(*item)), part),
            Rule::Tuple { items, rest } => {
                let rules = items.iter().map(|item| Rest::Part(*item)).chain(std::iter::repeat(*rest));
                self.items(node, rules, part);
            }
            Rule::Dependencies(all) => self.dependencies(node, all, part),
            Rule::Required(keys) => self.required(node, keys, part),
            leaf => self.leaf(node, leaf, part),
        }
    }

    fn at<T>(&mut self, key: impl Into<String>, look: impl FnOnce(&mut Self) -> T) -> T {
        self.path.push(key);
        let found = look(self);
        self.path.pop();
        found
    }

    fn object(&mut self, node: Node<'t>, object: &'a ObjectRule, part: PartId) {
        let pairs: Vec<_> = Pairs::of(node, &self.check.survey.odd).collect();
        for (key, value) in pairs {
            let name = if key.is_scalar() { key.text().into_owned() } else { key.raw().to_owned() };
            let text = key_text(key);
            let mut parts: Vec<PartId> = Vec::new();
            if let Some(text) = &text {
                parts.extend(object.named.iter().filter(|(known, _)| **known == **text).map(|(_, part)| *part));
                parts.extend(object.patterns.iter().filter(|(pattern, _)| pattern.found_in(text)).map(|(_, part)| *part));
            }
            if parts.is_empty() {
                match object.rest {
                    Rest::Free => {}
                    Rest::Part(rest) => parts.push(rest),
                    Rest::Forbidden => self.at(name.clone(), |this| this.extra(key, value, object, part)),
                }
            }
            self.at(name, |this| parts.into_iter().for_each(|part| this.part(value, part)));
        }
    }

    fn extra(&mut self, key: Node<'t>, value: Node<'t>, object: &'a ObjectRule, part: PartId) {
        let known = object.named.iter().map(|(name, _)| &**name);
        let name = key.text();
        let hint = nearest(&name, known.clone()).map(|near| format!("did you mean {near}?"));
        let sort = if hint.is_some() { Sort::Near } else { Sort::Value };
        let mut rule = listed("one of the keys ", known);
        if !object.patterns.is_empty() {
            let patterns: Vec<_> = object.patterns.iter().map(|(pattern, _)| pattern.source()).collect();
            rule = format!("{rule}{}a key that matches {}", if rule.is_empty() { "" } else { ", or " }, patterns.join(" or "));
        }
        let message = format!("the key {} is not allowed here", quoted(&name));
        self.add(value, part, sort, message, rule, hint);
        if let Some(last) = self.reasons.last_mut() {
            last.key = Some(key);
        }
    }

    fn items(&mut self, node: Node<'t>, rules: impl Iterator<Item = Rest>, part: PartId) {
        for ((at, item), rule) in node.items().enumerate().zip(rules) {
            match rule {
                Rest::Free => {}
                Rest::Part(each) => {
                    if !self.check.fits(item, each) {
                        self.at(at.to_string(), |this| this.part(item, each));
                    }
                }
                Rest::Forbidden => {
                    let message = format!("the sequence has {} items", node.len());
                    self.at(at.to_string(), |this| this.add(item, part, Sort::Value, message, format!("at most {at}"), None));
                    return;
                }
            }
            if self.reasons.len() >= MOST {
                return;
            }
        }
    }

    fn dependencies(&mut self, node: Node<'t>, all: &'a [(Box<str>, Dependency)], part: PartId) {
        for (key, dependency) in all.iter().filter(|(key, _)| self.check.has(node, key)).collect::<Vec<_>>() {
            match dependency {
                Dependency::Part(needed) => self.part(node, *needed),
                Dependency::Keys(keys) => {
                    for missing in keys.iter().filter(|needed| !self.check.has(node, needed)).collect::<Vec<_>>() {
                        let message = format!("the key {missing} is missing, which {key} needs");
                        self.add(node, part, Sort::Value, message, String::new(), None);
                    }
                }
            }
        }
    }

    fn required(&mut self, node: Node<'t>, keys: &'a [Box<str>], part: PartId) {
        let missing: Vec<&str> = keys.iter().map(|key| &**key).filter(|key| !self.check.has(node, key)).collect();
        let present: Vec<String> = Pairs::of(node, &self.check.survey.odd)
            .filter_map(|(key, _)| key_text(key))
            .filter(|name| !keys.iter().any(|key| **key == **name))
            .map(|name| name.into_owned())
            .collect();
        let hint = missing.iter().find_map(|key| {
            let near = nearest(key, present.iter().map(String::as_str))?;
            Some(format!("there is a key {near}: did you mean {key}?"))
        });
        let sort = if hint.is_some() { Sort::Near } else { Sort::Value };
        let message = match missing.as_slice() {
            [one] => format!("the key {one} is missing"),
            many => format!("the keys {} are missing", many.join(", ")),
        };
        self.add(node, part, sort, message, String::new(), hint);
    }

    /// The reasons of the branch that is nearest to what was meant.
    fn best(&mut self, node: Node<'t>, parts: &'a [PartId], part: PartId) {
        let mut best: Option<(Score, Vec<Reason<'t>>)> = None;
        let mut kinds: Vec<String> = Vec::new();
        let outer = std::mem::take(&mut self.reasons);
        for branch in parts.iter().take(BRANCHES) {
            self.part(node, *branch);
            let reasons = std::mem::take(&mut self.reasons);
            kinds.extend(reasons.iter().filter(|r| r.sort == Sort::Kind && r.node == node).map(|r| r.rule.clone()));
            let score = Score::of(&reasons, node);
            if best.as_ref().is_none_or(|(known, _)| score > *known) {
                best = Some((score, reasons));
            }
        }
        self.reasons = outer;
        match best {
            Some((score, reasons)) if score.same_kind => self.reasons.extend(reasons),
            // Every branch requires another type or tag.
            _ => {
                kinds.retain(|kind| !kind.is_empty());
                let mut rule: Vec<String> = Vec::new();
                for kind in kinds {
                    if !rule.contains(&kind) {
                        rule.push(kind);
                    }
                }
                self.add(node, part, Sort::Kind, format!("{} does not fit", shown(node)), rule.join(" or "), None);
            }
        }
    }

    fn one(&mut self, node: Node<'t>, parts: &'a [PartId], part: PartId) {
        let fitting = parts.iter().filter(|part| self.check.fits(node, **part)).count();
        if fitting == 0 {
            return self.best(node, parts, part);
        }
        let message = format!("{} fits {fitting} of the alternatives", shown(node));
        self.add(node, part, Sort::Value, message, "exactly one of them".into(), None);
    }

    fn leaf(&mut self, node: Node<'t>, rule: &'a Rule, part: PartId) {
        let mut sort = Sort::Value;
        let mut hint = None;
        let (message, expected) = match rule {
            Rule::Type { bits, .. } => {
                sort = Sort::Kind;
                hint = type_hint(node, *bits);
                let found = if node.is_scalar() && json(node) != Json::Null { shown(node) } else { "this".to_owned() };
                (format!("{found} is {}", json(node).words()), types(*bits))
            }
            Rule::Tag(pattern) => {
                sort = Sort::Kind;
                let found = compared_tag(node).map_or_else(|| "none".to_owned(), |tag| tag.into_owned());
                hint = tag_hint(&found, pattern.as_str());
                (format!("the tag is {found}"), format!("the tag {}", pattern.as_str()))
            }
            Rule::Words(words) => {
                if json(node) == Json::String {
                    let near = nearest(&node.text(), words.iter().map(|word| &**word));
                    hint = near.map(|near| format!("did you mean {near}?"));
                    sort = if near.is_some() { Sort::Near } else { Sort::Value };
                } else {
                    sort = Sort::Kind;
                }
                (format!("{} is not an allowed value", shown(node)), listed("one of ", words.iter().map(|word| &**word)))
            }
            Rule::Enum(place) => {
                let values: Vec<String> = self.check.program.node(*place).map_or(Vec::new(), |v| v.items().map(cut).collect());
                (format!("{} is not an allowed value", shown(node)), listed("one of ", values.iter().map(String::as_str)))
            }
            Rule::Datatype(wanted) => self.datatype(node, wanted.kind.as_ref(), wanted.exact),
            Rule::Dimensions { least, most } => {
                let found = cast::dimensions(node).map_or("no shape".to_owned(), |n| format!("{n} dimensions"));
                (format!("the array has {found}"), range(*least, *most, "dimension"))
            }
            Rule::Not(_) => (format!("{} is not allowed here", shown(node)), String::new()),
            other => measured(self.check, node, other),
        };
        self.add(node, part, sort, message, expected, hint);
    }

    fn datatype(&self, node: Node<'t>, wanted: Option<&Kind>, exact: bool) -> (String, String) {
        let found = match cast::datatype(node) {
            Found::Written(datatype) => cut(datatype),
            Found::Inferred(kind) => kind.words(),
            Found::None => "not known".to_owned(),
        };
        let wanted = wanted.map_or("another datatype".to_owned(), Kind::words);
        let rule = if exact { format!("exactly {wanted}") } else { format!("{wanted}, or a type that casts to it safely") };
        (format!("the datatype of the array is {found}"), rule)
    }
}

/// The likeness of a branch: first by the right kind, then by failures deep down, by severity, and by their number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Score {
    same_kind: bool,
    depth: usize,
    near: Sort,
    few: std::cmp::Reverse<usize>,
}

impl Score {
    fn of(reasons: &[Reason<'_>], node: Node<'_>) -> Self {
        Self {
            same_kind: !reasons.is_empty() && !reasons.iter().any(|r| r.sort == Sort::Kind && r.node == node),
            depth: reasons.iter().map(|r| r.path.keys().len()).max().unwrap_or(0),
            near: reasons.iter().map(|r| r.sort).min().unwrap_or(Sort::Kind),
            few: std::cmp::Reverse(reasons.len()),
        }
    }
}
