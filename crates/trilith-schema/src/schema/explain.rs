//! Reasons why a node does not fit: the failing rules, each with its node, in words.

use super::cast::{self, CastKind, NodeDatatype};
use super::compile::{AdditionalRule, Dependency, ObjectRule, PartId, Rule};
use super::fast_check::FastChecker;
use super::json_view::{JsonType, ObjectPairs, compared_tag, json_type_of_node, key_text};
use super::wording::{
    describe_value_mismatch, display_node, display_range, display_types, name_list, quote_text, tag_hint, truncate_node,
    type_hint,
};
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
    sort: FaultRank,
}

/// The severity of a mismatch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum FaultRank {
    /// A wrong type or tag.
    Kind,
    /// The right kind with a wrong value.
    Value,
    /// A value that is nearly right.
    Close,
}

/// Maximum number of reasons that are searched for in one node.
const MAX_REASONS: usize = 40;
/// Maximum number of branches of `anyOf` that are compared.
const MAX_BRANCHES: usize = 64;

impl<'t> Reason<'t> {
    pub(super) fn into_diagnostic(self, check: &FastChecker<'_, 't>) -> Diagnostic {
        let shown = self.key.unwrap_or(self.node);
        let span = if shown.span().is_empty() { shown.full_span() } else { shown.span() };
        let at = shown.tree().line_column(span.start as usize);
        let schema = check.program.parts.get(self.part.0 as usize).map(|part| check.program.place_uri(part.place));
        let mut found = Diagnostic::new(Severity::Error, self.message).at_path(self.path.to_string()).at_span(span).at_text(at);
        (found.expectation, found.schema, found.hint) = (self.rule, schema.unwrap_or_default(), self.hint);
        found
    }
}

/// Collects reasons; `path` is where the walk is.
pub(super) struct Explainer<'c, 'a, 't> {
    pub(super) check: &'c mut FastChecker<'a, 't>,
    pub(super) path: TreePath,
    pub(super) reasons: Vec<Reason<'t>>,
    depth: usize,
}

/// The deepest chain of parts that is explained.
const MAX_DEPTH: usize = 400;

impl<'c, 'a, 't> Explainer<'c, 'a, 't> {
    pub(super) fn new(check: &'c mut FastChecker<'a, 't>, path: TreePath) -> Self {
        Self { check, path, reasons: Vec::new(), depth: 0 }
    }

    /// Looks for the reasons why a node does not fit a part.
    pub(super) fn explain_part(&mut self, node: Node<'t>, part: PartId) {
        if self.reasons.len() >= MAX_REASONS || self.check.is_stopped.is_some() || self.check.is_reference(node) {
            return;
        }
        let program = self.check.program;
        let mut failed = false;
        for rule in program.rules(part) {
            if self.check.rule_holds(node, rule) {
                continue;
            }
            // A wrong type or tag breaks other rules too, which adds nothing new.
            if failed
                && matches!(
                    rule,
                    Rule::Any(_) | Rule::One(_) | Rule::Object(_) | Rule::Required(_) | Rule::EnumStrings(_) | Rule::Enum(_)
                )
                && self.is_another_kind(node)
            {
                continue;
            }
            failed = true;
            if self.depth >= MAX_DEPTH {
                self.add_reason(node, part, FaultRank::Value, "the value does not fit".into(), String::new(), None);
                continue;
            }
            self.depth += 1;
            self.explain_rule(node, rule, part);
            self.depth -= 1;
        }
    }

    fn is_another_kind(&self, node: Node<'t>) -> bool {
        self.reasons.iter().any(|reason| reason.sort == FaultRank::Kind && reason.node == node)
    }

    fn add_reason(&mut self, node: Node<'t>, part: PartId, sort: FaultRank, message: String, rule: String, hint: Option<String>) {
        let path = self.path.clone();
        self.reasons.push(Reason { node, key: None, path, message, rule, hint, part, sort });
    }

    fn explain_rule(&mut self, node: Node<'t>, rule: &'a Rule, part: PartId) {
        match rule {
            Rule::Ref(target) => self.explain_part(node, *target),
            Rule::All(parts) => parts.iter().for_each(|part| self.explain_part(node, *part)),
            Rule::Any(parts) => self.explain_nearest_branch(node, parts, part),
            Rule::One(parts) => self.explain_one_of(node, parts, part),
            Rule::Object(object) => self.explain_object(node, object, part),
            Rule::Items(item) => self.explain_items(node, std::iter::repeat(AdditionalRule::Part(*item)), part),
            Rule::Tuple { items, rest } => {
                let rules = items.iter().map(|item| AdditionalRule::Part(*item)).chain(std::iter::repeat(*rest));
                self.explain_items(node, rules, part);
            }
            Rule::Dependencies(all) => self.explain_dependencies(node, all, part),
            Rule::Required(keys) => self.explain_missing_keys(node, keys, part),
            leaf => self.explain_leaf_rule(node, leaf, part),
        }
    }

    fn with_path_key<T>(&mut self, key: impl Into<String>, look: impl FnOnce(&mut Self) -> T) -> T {
        self.path.push(key);
        let found = look(self);
        self.path.pop();
        found
    }

    fn explain_object(&mut self, node: Node<'t>, object: &'a ObjectRule, part: PartId) {
        let pairs: Vec<_> = ObjectPairs::from_node(node, &self.check.survey.special_mappings).collect();
        for (key, value) in pairs {
            let name = if key.is_scalar() { key.text().into_owned() } else { key.source_text().to_owned() };
            let text = key_text(key);
            let mut parts: Vec<PartId> = Vec::new();
            if let Some(text) = &text {
                parts.extend(object.named.iter().filter(|(known, _)| **known == **text).map(|(_, part)| *part));
                parts.extend(object.patterns.iter().filter(|(pattern, _)| pattern.found_in(text)).map(|(_, part)| *part));
            }
            if parts.is_empty() {
                match object.rest {
                    AdditionalRule::Free => {}
                    AdditionalRule::Part(rest) => parts.push(rest),
                    AdditionalRule::Forbidden => {
                        self.with_path_key(name.clone(), |this| this.explain_additional(key, value, object, part));
                    }
                }
            }
            self.with_path_key(name, |this| parts.into_iter().for_each(|part| this.explain_part(value, part)));
        }
    }

    fn explain_additional(&mut self, key: Node<'t>, value: Node<'t>, object: &'a ObjectRule, part: PartId) {
        let known = object.named.iter().map(|(name, _)| &**name);
        let name = key.text();
        let hint = nearest(&name, known.clone()).map(|near| format!("did you mean {near}?"));
        let sort = if hint.is_some() { FaultRank::Close } else { FaultRank::Value };
        let mut rule = name_list("one of the keys ", known);
        if !object.patterns.is_empty() {
            let patterns: Vec<_> = object.patterns.iter().map(|(pattern, _)| pattern.source()).collect();
            rule = format!("{rule}{}a key that matches {}", if rule.is_empty() { "" } else { ", or " }, patterns.join(" or "));
        }
        let message = format!("the key {} is not allowed here", quote_text(&name));
        self.add_reason(value, part, sort, message, rule, hint);
        if let Some(last) = self.reasons.last_mut() {
            last.key = Some(key);
        }
    }

    fn explain_items(&mut self, node: Node<'t>, rules: impl Iterator<Item = AdditionalRule>, part: PartId) {
        for ((at, item), rule) in node.items().enumerate().zip(rules) {
            match rule {
                AdditionalRule::Free => {}
                AdditionalRule::Part(each) => {
                    if !self.check.node_fits(item, each) {
                        self.with_path_key(at.to_string(), |this| this.explain_part(item, each));
                    }
                }
                AdditionalRule::Forbidden => {
                    let message = format!("the sequence has {} items", node.len());
                    self.with_path_key(at.to_string(), |this| {
                        this.add_reason(item, part, FaultRank::Value, message, format!("at most {at}"), None);
                    });
                    return;
                }
            }
            if self.reasons.len() >= MAX_REASONS {
                return;
            }
        }
    }

    fn explain_dependencies(&mut self, node: Node<'t>, all: &'a [(Box<str>, Dependency)], part: PartId) {
        for (key, dependency) in all.iter().filter(|(key, _)| self.check.contains_key(node, key)).collect::<Vec<_>>() {
            match dependency {
                Dependency::Part(needed) => self.explain_part(node, *needed),
                Dependency::Keys(keys) => {
                    for missing in keys.iter().filter(|needed| !self.check.contains_key(node, needed)).collect::<Vec<_>>() {
                        let message = format!("the key {missing} is missing, which {key} needs");
                        self.add_reason(node, part, FaultRank::Value, message, String::new(), None);
                    }
                }
            }
        }
    }

    fn explain_missing_keys(&mut self, node: Node<'t>, keys: &'a [Box<str>], part: PartId) {
        let missing: Vec<&str> = keys.iter().map(|key| &**key).filter(|key| !self.check.contains_key(node, key)).collect();
        let present: Vec<String> = ObjectPairs::from_node(node, &self.check.survey.special_mappings)
            .filter_map(|(key, _)| key_text(key))
            .filter(|name| !keys.iter().any(|key| **key == **name))
            .map(|name| name.into_owned())
            .collect();
        let hint = missing.iter().find_map(|key| {
            let near = nearest(key, present.iter().map(String::as_str))?;
            Some(format!("there is a key {near}: did you mean {key}?"))
        });
        let sort = if hint.is_some() { FaultRank::Close } else { FaultRank::Value };
        let message = match missing.as_slice() {
            [one] => format!("the key {one} is missing"),
            many => format!("the keys {} are missing", many.join(", ")),
        };
        self.add_reason(node, part, sort, message, String::new(), hint);
    }

    /// The reasons of the branch that is nearest to what was meant.
    fn explain_nearest_branch(&mut self, node: Node<'t>, parts: &'a [PartId], part: PartId) {
        let mut best: Option<(BranchScore, Vec<Reason<'t>>)> = None;
        let mut kinds: Vec<String> = Vec::new();
        let outer = std::mem::take(&mut self.reasons);
        for branch in parts.iter().take(MAX_BRANCHES) {
            self.explain_part(node, *branch);
            let reasons = std::mem::take(&mut self.reasons);
            kinds.extend(reasons.iter().filter(|r| r.sort == FaultRank::Kind && r.node == node).map(|r| r.rule.clone()));
            let score = BranchScore::from_reasons(&reasons, node);
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
                self.add_reason(
                    node,
                    part,
                    FaultRank::Kind,
                    format!("{} does not fit", display_node(node)),
                    rule.join(" or "),
                    None,
                );
            }
        }
    }

    fn explain_one_of(&mut self, node: Node<'t>, parts: &'a [PartId], part: PartId) {
        let fitting = parts.iter().filter(|part| self.check.node_fits(node, **part)).count();
        if fitting == 0 {
            return self.explain_nearest_branch(node, parts, part);
        }
        let message = format!("{} fits {fitting} of the alternatives", display_node(node));
        self.add_reason(node, part, FaultRank::Value, message, "exactly one of them".into(), None);
    }

    fn explain_leaf_rule(&mut self, node: Node<'t>, rule: &'a Rule, part: PartId) {
        let mut sort = FaultRank::Value;
        let mut hint = None;
        let (message, expected) = match rule {
            Rule::Type { bits, .. } => {
                sort = FaultRank::Kind;
                hint = type_hint(node, *bits);
                let found = if node.is_scalar() && json_type_of_node(node) != JsonType::Null {
                    display_node(node)
                } else {
                    "this".to_owned()
                };
                (format!("{found} is {}", json_type_of_node(node).display_name()), display_types(*bits))
            }
            Rule::Tag(pattern) => {
                sort = FaultRank::Kind;
                let found = compared_tag(node).map_or_else(|| "none".to_owned(), |tag| tag.into_owned());
                hint = tag_hint(&found, pattern.as_str());
                (format!("the tag is {found}"), format!("the tag {}", pattern.as_str()))
            }
            Rule::EnumStrings(words) => {
                if json_type_of_node(node) == JsonType::String {
                    let near = nearest(&node.text(), words.iter().map(|word| &**word));
                    hint = near.map(|near| format!("did you mean {near}?"));
                    sort = if near.is_some() { FaultRank::Close } else { FaultRank::Value };
                } else {
                    sort = FaultRank::Kind;
                }
                (
                    format!("{} is not an allowed value", display_node(node)),
                    name_list("one of ", words.iter().map(|word| &**word)),
                )
            }
            Rule::Enum(place) => {
                let values: Vec<String> =
                    self.check.program.find_node(*place).map_or(Vec::new(), |v| v.items().map(truncate_node).collect());
                (
                    format!("{} is not an allowed value", display_node(node)),
                    name_list("one of ", values.iter().map(String::as_str)),
                )
            }
            Rule::Datatype(wanted) => self.describe_datatype_mismatch(node, wanted.kind.as_ref(), wanted.is_exact),
            Rule::Dimensions { min: least, max: most } => {
                let found = cast::count_dimensions(node).map_or("no shape".to_owned(), |n| format!("{n} dimensions"));
                (format!("the array has {found}"), display_range(*least, *most, "dimension"))
            }
            Rule::Not(_) => (format!("{} is not allowed here", display_node(node)), String::new()),
            other => describe_value_mismatch(self.check, node, other),
        };
        self.add_reason(node, part, sort, message, expected, hint);
    }

    fn describe_datatype_mismatch(&self, node: Node<'t>, wanted: Option<&CastKind>, exact: bool) -> (String, String) {
        let found = match cast::find_datatype(node) {
            NodeDatatype::Written(datatype) => truncate_node(datatype),
            NodeDatatype::Inferred(kind) => kind.spec_name(),
            NodeDatatype::None => "not known".to_owned(),
        };
        let wanted = wanted.map_or("another datatype".to_owned(), CastKind::spec_name);
        let rule = if exact { format!("exactly {wanted}") } else { format!("{wanted}, or a type that casts to it safely") };
        (format!("the datatype of the array is {found}"), rule)
    }
}

/// The likeness of a branch: first by the right kind, then by failures deep down, by severity, and by their number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct BranchScore {
    same_kind: bool,
    depth: usize,
    near: FaultRank,
    few: std::cmp::Reverse<usize>,
}

impl BranchScore {
    fn from_reasons(reasons: &[Reason<'_>], node: Node<'_>) -> Self {
        Self {
            same_kind: !reasons.is_empty() && !reasons.iter().any(|r| r.sort == FaultRank::Kind && r.node == node),
            depth: reasons.iter().map(|r| r.path.keys().len()).max().unwrap_or(0),
            near: reasons.iter().map(|r| r.sort).min().unwrap_or(FaultRank::Kind),
            few: std::cmp::Reverse(reasons.len()),
        }
    }
}
