//! Schemas as a graph of rules: each part of a schema is compiled once, `$ref` is an edge.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::cast::CastKind;
use super::document::SchemaDocument;
use super::json_view::{InstanceNumber, JsonType};
use super::regex::SchemaRegex;
use super::store::SchemaSet;
use super::uri::{TagPattern, resolve_uri_reference, split_fragment};
use crate::error::{Result, ResultExt};
use crate::limits::Limits;
use crate::tree::{Node, NodeId};

/// A compiled part of a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct PartId(pub(super) u32);

/// The rules for one node of a schema document.
#[derive(Debug)]
pub(super) struct SchemaPart {
    /// Cheap and telling rules first.
    pub(super) rules: Box<[Rule]>,
    /// Node of the schema document.
    pub(super) place: SchemaLocation,
    /// The types that can fit, as bits of [`JsonType`]: a quick no for everything else.
    pub(super) types: u8,
}

/// Mask of all JSON types. Values without a JSON type (dates, bytes, sets) are not decided by this mask.
pub(super) const ALL_TYPES: u8 = u8::MAX;

/// A node of a schema document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(super) struct SchemaLocation {
    pub(super) document: u32,
    pub(super) node: Option<NodeId>,
}

/// A keyword and its value.
#[derive(Debug)]
pub(super) enum Rule {
    Type {
        bits: u8,
        date_time: bool,
    },
    Tag(TagPattern),
    Enum(SchemaLocation),
    /// An enum of nothing but plain text.
    EnumStrings(Box<[Box<str>]>),
    Ref(PartId),
    All(Box<[PartId]>),
    Any(Box<[PartId]>),
    One(Box<[PartId]>),
    Not(PartId),
    Object(Box<ObjectRule>),
    Required(Box<[Box<str>]>),
    Properties {
        min: u64,
        max: u64,
    },
    Dependencies(Box<[(Box<str>, Dependency)]>),
    Items(PartId),
    Tuple {
        items: Box<[PartId]>,
        rest: AdditionalRule,
    },
    Length {
        min: u64,
        max: u64,
    },
    Unique,
    TextLength {
        min: u64,
        max: u64,
    },
    Pattern(Box<SchemaRegex>),
    Minimum(InstanceNumber, bool),
    Maximum(InstanceNumber, bool),
    MultipleOf(InstanceNumber),
    Dimensions {
        min: u64,
        max: u64,
    },
    Datatype(Box<DatatypeRule>),
    /// A part that could not be compiled, by its number in [`CompiledSchemas::gaps`]: it cannot be told whether it holds.
    Unchecked(u32),
}

/// `properties`, `patternProperties` and `additionalProperties`.
#[derive(Debug)]
pub(super) struct ObjectRule {
    pub(super) named: Box<[(Box<str>, PartId)]>,
    pub(super) patterns: Box<[(SchemaRegex, PartId)]>,
    pub(super) rest: AdditionalRule,
}

/// The rule for unnamed keys or items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AdditionalRule {
    Free,
    Forbidden,
    Part(PartId),
}

#[derive(Debug)]
pub(super) enum Dependency {
    Keys(Box<[Box<str>]>),
    Part(PartId),
}

#[derive(Debug)]
pub(super) struct DatatypeRule {
    pub(super) place: SchemaLocation,
    /// Required datatype; `None` if the schema names an unknown one.
    pub(super) kind: Option<CastKind>,
    pub(super) is_exact: bool,
}

/// The documents and parts that have been compiled so far.
#[derive(Debug, Default)]
pub(super) struct CompiledSchemas {
    pub(super) documents: Vec<SchemaDocument>,
    by_uri: HashMap<String, Option<u32>>,
    pub(super) parts: Vec<SchemaPart>,
    by_place: HashMap<(SchemaLocation, RefSiblings), PartId>,
    queue: VecDeque<CompileTask>,
    /// Gaps, in words: missing schemas, patterns that this engine cannot run.
    pub(super) notes: Vec<String>,
    /// Notes about a rule that is left out, which leaves the verdict open.
    pub(super) gaps: Vec<String>,
}

/// Meaning of the rules next to a `$ref`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum RefSiblings {
    /// Rules that hold too, as in Python asdf for the schemas of tags.
    Applied,
    /// Rules that do not hold, as draft-04 says, and as in Python asdf for a custom schema.
    Ignored,
}

#[derive(Debug)]
struct CompileTask {
    part: PartId,
    place: SchemaLocation,
    base: Arc<str>,
    siblings: RefSiblings,
}

impl CompiledSchemas {
    /// The part that a URI with an optional pointer leads to; None if it leads nowhere.
    pub(super) fn compile_uri(
        &mut self,
        schemas: &SchemaSet,
        uri: &str,
        siblings: RefSiblings,
        limits: &Limits,
    ) -> Result<Option<PartId>> {
        let ResolvedRef::At(place, base) = self.locate_uri(schemas, uri, None, limits)? else { return Ok(None) };
        let part = self.reserve_part(place, &base, siblings);
        let from = self.parts.len().saturating_sub(self.queue.len());
        while let Some(task) = self.queue.pop_front() {
            self.compile_task(schemas, &task, limits)?;
        }
        for number in from..self.parts.len() {
            let types = self.allowed_types(PartId(number as u32), 8);
            if let Some(part) = self.parts.get_mut(number) {
                part.types = types;
            }
        }
        Ok(Some(part))
    }

    /// The types that a part, or what it refers to, allows.
    fn allowed_types(&self, part: PartId, depth: u32) -> u8 {
        let mut types = ALL_TYPES;
        for rule in self.rules(part) {
            match rule {
                Rule::Type { bits, date_time } => types &= bits | if *date_time { JsonType::DateTime as u8 } else { 0 },
                Rule::Ref(other) if depth > 0 => types &= self.allowed_types(*other, depth - 1),
                _ => {}
            }
        }
        types
    }

    /// Makes the next use of a URI read its text again.
    pub(super) fn forget(&mut self, uri: &str) {
        self.by_uri.remove(uri);
    }

    /// The node of a place.
    pub(super) fn find_node(&self, place: SchemaLocation) -> Option<Node<'_>> {
        self.documents.get(place.document as usize)?.tree.node(place.node?)
    }

    /// URI and pointer of a place.
    pub(super) fn place_uri(&self, place: SchemaLocation) -> String {
        let Some(document) = self.documents.get(place.document as usize) else { return String::new() };
        match place.node.and_then(|node| document.tree.path_of(node)).filter(|path| !path.is_root()) {
            Some(path) => format!("{}#{path}", document.uri),
            None => document.uri.clone(),
        }
    }

    pub(super) fn rules(&self, part: PartId) -> &[Rule] {
        self.parts.get(part.0 as usize).map_or(&[], |part| &part.rules)
    }

    fn load_document(&mut self, schemas: &SchemaSet, uri: &str, limits: &Limits) -> Result<Option<u32>> {
        if let Some(known) = self.by_uri.get(uri) {
            return Ok(*known);
        }
        let number = match schemas.parse_schema(uri, limits) {
            None => None,
            Some(tree) => {
                self.documents.push(SchemaDocument::new(uri, tree?));
                Some(self.documents.len() as u32 - 1)
            }
        };
        self.by_uri.insert(uri.to_owned(), number);
        Ok(number)
    }

    /// Returns the place that a URI names, and the URI that references there are relative to. `from` is the
    /// referring document, whose parts may have their own URIs.
    fn locate_uri(&mut self, schemas: &SchemaSet, uri: &str, from: Option<u32>, limits: &Limits) -> Result<ResolvedRef> {
        let (whole, fragment) = split_fragment(uri);
        let own = from.and_then(|number| Some((number, self.documents.get(number as usize)?)));
        let found = own.and_then(|(number, held)| Some((number, held.node_named(uri, whole, fragment)?)));
        let found = match found {
            Some(found) => Some(found),
            None => match self.load_document(schemas, whole, limits)? {
                Some(number) => {
                    let held = self.documents.get(number as usize);
                    held.and_then(|held| held.node_named(uri, whole, fragment)).map(|node| (number, node))
                }
                None => {
                    let gap = self.record_gap(format!("schema {whole} is not known, so references to it are not checked"));
                    return Ok(ResolvedRef::NoReferences(gap));
                }
            },
        };
        match found {
            Some((document, (node, base))) => {
                Ok(ResolvedRef::At(SchemaLocation { document, node: Some(node) }, Arc::from(base.as_str())))
            }
            None => {
                let gap = format!("schema {whole} has no part {fragment}, so references to it are not checked");
                Ok(ResolvedRef::NoReferences(self.record_gap(gap)))
            }
        }
    }

    /// Records a gap that leaves a verdict open, and returns its number.
    fn record_gap(&mut self, text: String) -> u32 {
        let place = self.gaps.iter().position(|known| *known == text).unwrap_or_else(|| {
            self.notes.push(text.clone());
            self.gaps.push(text);
            self.gaps.len() - 1
        });
        u32::try_from(place).unwrap_or(u32::MAX)
    }

    /// The part of a place, to be compiled before the next use.
    fn reserve_part(&mut self, place: SchemaLocation, base: &Arc<str>, siblings: RefSiblings) -> PartId {
        if let Some(known) = self.by_place.get(&(place, siblings)) {
            return *known;
        }
        let part = PartId(self.parts.len() as u32);
        self.parts.push(SchemaPart { rules: Box::default(), place, types: ALL_TYPES });
        self.by_place.insert((place, siblings), part);
        self.queue.push_back(CompileTask { part, place, base: base.clone(), siblings });
        part
    }

    fn compile_task(&mut self, schemas: &SchemaSet, task: &CompileTask, limits: &Limits) -> Result<()> {
        let uri = self.documents.get(task.place.document as usize).map_or(String::new(), |d| d.uri.clone());
        // Reading needs the tree while parts are added: what a part says is taken out of it first.
        let mut reader = RuleReader {
            document: task.place.document,
            requests: Vec::new(),
            notes: Vec::new(),
            gaps: Vec::new(),
            siblings: task.siblings,
        };
        let Some(node) = self.find_node(task.place) else { return Ok(()) };
        let (sketch, base) = reader.read_schema(node, &task.base);
        let RuleReader { requests: wanted, notes, gaps, .. } = reader;
        self.notes.extend(notes.into_iter().map(|note| format!("schema {uri}: {note}")));
        let mut gaps: Vec<u32> = gaps.into_iter().map(|gap| self.record_gap(format!("schema {uri}: {gap}"))).collect();
        let mut parts = Vec::with_capacity(wanted.len());
        for want in wanted {
            parts.push(match want {
                PartRequest::Node(node) => Some(self.reserve_part(
                    SchemaLocation { document: task.place.document, node: Some(node) },
                    &base,
                    task.siblings,
                )),
                PartRequest::Uri(reference) => {
                    let whole = resolve_uri_reference(&base, &reference);
                    let found = self.locate_uri(schemas, &whole, Some(task.place.document), limits);
                    match found.with_context(|| format!("following {reference} in schema {uri}"))? {
                        ResolvedRef::At(place, base) => Some(self.reserve_part(place, &base, task.siblings)),
                        ResolvedRef::NoReferences(gap) => {
                            gaps.push(gap);
                            None
                        }
                    }
                }
            });
        }
        let mut rules: Vec<Rule> = sketch.into_iter().filter_map(|rule| resolve_rule_parts(rule, &parts)).collect();
        rules.extend(gaps.into_iter().map(Rule::Unchecked));
        rules.sort_by_key(check_cost);
        if let Some(part) = self.parts.get_mut(task.part.0 as usize) {
            part.rules = rules.into();
        }
        Ok(())
    }
}

/// The target of a URI.
enum ResolvedRef {
    /// The node that the URI names, and the base URI of its references.
    At(SchemaLocation, Arc<str>),
    /// No such node: the index of the gap that this leaves.
    NoReferences(u32),
}

/// A part that a rule needs: another node of the document, or one by reference.
enum PartRequest {
    Node(NodeId),
    Uri(String),
}

/// Reads the rules of one node; numbers of parts count in `wanted` until they are resolved.
struct RuleReader {
    document: u32,
    requests: Vec<PartRequest>,
    notes: Vec<String>,
    gaps: Vec<String>,
    siblings: RefSiblings,
}

impl RuleReader {
    fn read_schema(&mut self, node: Node<'_>, base: &Arc<str>) -> (Vec<Rule>, Arc<str>) {
        let reference = node.get("$ref").and_then(Node::as_str);
        let base = match node.get("id").and_then(Node::as_str) {
            Some(id) if reference.is_none() => Arc::from(resolve_uri_reference(base, &id).as_str()),
            _ => base.clone(),
        };
        let mut rules = Vec::new();
        if let Some(reference) = reference {
            self.requests.push(PartRequest::Uri(reference.into_owned()));
            rules.push(Rule::Ref(self.last_requested()));
            if self.siblings == RefSiblings::Ignored {
                return (rules, base);
            }
        }
        for (key, value) in node.merged_entries() {
            if let Some(keyword) = key.as_str()
                && let Some(rule) = self.read_keyword(&keyword, value, node)
            {
                rules.push(rule);
            }
        }
        if let Some(rule) = self.read_object_rule(node) {
            rules.push(rule);
        }
        (rules, base)
    }

    fn last_requested(&self) -> PartId {
        PartId((self.requests.len() as u32).saturating_sub(1))
    }

    fn request_part(&mut self, node: Node<'_>) -> PartId {
        self.requests.push(PartRequest::Node(node.id()));
        self.last_requested()
    }

    fn request_parts<'t>(&mut self, nodes: impl Iterator<Item = Node<'t>>) -> Box<[PartId]> {
        nodes.map(|node| self.request_part(node)).collect()
    }

    fn read_keyword(&mut self, keyword: &str, value: Node<'_>, schema: Node<'_>) -> Option<Rule> {
        let limit = || value.as_u64();
        Some(match keyword {
            "type" => self.read_type_rule(value, schema),
            "enum" => return self.read_enum_rule(value),
            "tag" => Rule::Tag(TagPattern::new(&value.as_str()?)),
            "allOf" => Rule::All(self.request_parts(value.items())),
            "anyOf" => Rule::Any(self.request_parts(value.items())),
            "oneOf" => Rule::One(self.request_parts(value.items())),
            "not" => Rule::Not(self.request_part(value)),
            "required" | "requiredProperties" => Rule::Required(string_list(value).or_else(|| {
                self.gaps.push(format!("{keyword} is not checked: {} is not a list of names", value.source_text()));
                None
            })?),
            "minProperties" => Rule::Properties { min: limit()?, max: u64::MAX },
            "maxProperties" => Rule::Properties { min: 0, max: limit()? },
            "dependencies" => Rule::Dependencies(self.read_dependencies(value)),
            "items" if value.is_mapping() => Rule::Items(self.request_part(value)),
            "items" => Rule::Tuple {
                items: self.request_parts(value.items()),
                rest: self.read_additional_rule(schema.get("additionalItems")),
            },
            "minItems" => Rule::Length { min: limit()?, max: u64::MAX },
            "maxItems" => Rule::Length { min: 0, max: limit()? },
            "uniqueItems" => return value.as_bool()?.then_some(Rule::Unique),
            "minLength" => Rule::TextLength { min: limit()?, max: u64::MAX },
            "maxLength" => Rule::TextLength { min: 0, max: limit()? },
            "pattern" => Rule::Pattern(Box::new(self.compile_pattern(&value.as_str()?)?)),
            "minimum" => Rule::Minimum(InstanceNumber::from_node(value)?, is_key_true(schema, "exclusiveMinimum")),
            "maximum" => Rule::Maximum(InstanceNumber::from_node(value)?, is_key_true(schema, "exclusiveMaximum")),
            "multipleOf" => Rule::MultipleOf(InstanceNumber::from_node(value)?),
            "ndim" => Rule::Dimensions { min: limit()?, max: limit()? },
            "max_ndim" => Rule::Dimensions { min: 0, max: limit()? },
            "datatype" => Rule::Datatype(Box::new(DatatypeRule {
                place: SchemaLocation { document: self.document, node: Some(value.id()) },
                kind: CastKind::from_node(value),
                is_exact: is_key_true(schema, "exact_datatype"),
            })),
            _ => return None,
        })
    }

    fn read_type_rule(&mut self, value: Node<'_>, schema: Node<'_>) -> Rule {
        let mut bits = 0;
        let mut add = |name: &str| match JsonType::bits_of(name) {
            Some(more) => bits |= more,
            None => self.notes.push(format!("{name:?} is not a type, so that nothing has it")),
        };
        if value.is_sequence() {
            value.items().for_each(|name| add(&name.text()));
        } else {
            add(&value.text());
        }
        let date_time =
            bits & JsonType::String as u8 != 0 && schema.get("format").is_some_and(|format| format.text() == "date-time");
        Rule::Type { bits, date_time }
    }

    fn read_enum_rule(&self, value: Node<'_>) -> Option<Rule> {
        if !value.is_sequence() {
            return None;
        }
        Some(match string_list(value) {
            Some(words) => Rule::EnumStrings(words),
            None => Rule::Enum(SchemaLocation { document: self.document, node: Some(value.id()) }),
        })
    }

    fn read_additional_rule(&mut self, node: Option<Node<'_>>) -> AdditionalRule {
        match node {
            None => AdditionalRule::Free,
            Some(node) if node.is_mapping() => AdditionalRule::Part(self.request_part(node)),
            Some(node) if node.as_bool() == Some(false) => AdditionalRule::Forbidden,
            Some(_) => AdditionalRule::Free,
        }
    }

    fn read_object_rule(&mut self, schema: Node<'_>) -> Option<Rule> {
        let named: Vec<_> = schema.get("properties").map_or(Vec::new(), Node::merged_entries);
        let named: Box<[_]> = named.into_iter().map(|(key, part)| (key.text().into(), self.request_part(part))).collect();
        let mut patterns = Vec::new();
        for (key, part) in schema.get("patternProperties").map_or(Vec::new(), Node::merged_entries) {
            if let Some(regex) = self.compile_pattern(&key.text()) {
                patterns.push((regex, self.request_part(part)));
            }
        }
        let mut rest = self.read_additional_rule(schema.get("additionalProperties"));
        if patterns.len() < schema.get("patternProperties").map_or(0, Node::len) {
            // The strings that an invalid pattern would allow are not known.
            rest = AdditionalRule::Free;
        }
        if named.is_empty() && patterns.is_empty() && rest == AdditionalRule::Free {
            return None;
        }
        Some(Rule::Object(Box::new(ObjectRule { named, patterns: patterns.into(), rest })))
    }

    fn read_dependencies(&mut self, value: Node<'_>) -> Box<[(Box<str>, Dependency)]> {
        let mut all = Vec::new();
        for (key, needs) in value.merged_entries() {
            let dependency = match string_list(needs) {
                Some(keys) => Dependency::Keys(keys),
                None => Dependency::Part(self.request_part(needs)),
            };
            all.push((key.text().into(), dependency));
        }
        all.into()
    }

    fn compile_pattern(&mut self, text: &str) -> Option<SchemaRegex> {
        match SchemaRegex::new(text) {
            Ok(regex) => Some(regex),
            Err(problem) => {
                self.gaps.push(format!("the pattern {text:?} is not checked: {problem}"));
                None
            }
        }
    }
}

/// Returns the strings of a list, or None if it holds anything else.
fn string_list(list: Node<'_>) -> Option<Box<[Box<str>]>> {
    if !list.is_sequence() {
        return None;
    }
    list.items().map(|item| item.as_str().map(|text| text.into())).collect()
}

fn is_key_true(schema: Node<'_>, key: &str) -> bool {
    schema.get(key).and_then(Node::as_bool) == Some(true)
}

/// A rule with the numbers of its parts; None if the part it is about is missing.
fn resolve_rule_parts(rule: Rule, parts: &[Option<PartId>]) -> Option<Rule> {
    let part = |number: PartId| parts.get(number.0 as usize).copied().flatten();
    let list = |numbers: Box<[PartId]>| numbers.into_iter().filter_map(part).collect::<Box<[_]>>();
    let rest = |rest: AdditionalRule| match rest {
        AdditionalRule::Part(number) => part(number).map_or(AdditionalRule::Free, AdditionalRule::Part),
        other => other,
    };
    Some(match rule {
        Rule::Ref(number) => Rule::Ref(part(number)?),
        Rule::All(numbers) => Rule::All(list(numbers)),
        Rule::Any(numbers) => Rule::Any(list(numbers)),
        Rule::One(numbers) => Rule::One(list(numbers)),
        Rule::Not(number) => Rule::Not(part(number)?),
        Rule::Items(number) => Rule::Items(part(number)?),
        Rule::Tuple { items, rest: others } => Rule::Tuple { items: list(items), rest: rest(others) },
        Rule::Object(object) => {
            let ObjectRule { named, patterns, rest: others } = *object;
            let named = named.into_iter().filter_map(|(key, number)| part(number).map(|id| (key, id))).collect();
            let patterns = patterns.into_iter().filter_map(|(regex, number)| part(number).map(|id| (regex, id))).collect();
            Rule::Object(Box::new(ObjectRule { named, patterns, rest: rest(others) }))
        }
        Rule::Dependencies(all) => Rule::Dependencies(
            all.into_iter()
                .filter_map(|(key, dependency)| {
                    Some((
                        key,
                        match dependency {
                            Dependency::Part(number) => Dependency::Part(part(number)?),
                            keys => keys,
                        },
                    ))
                })
                .collect(),
        ),
        other => other,
    })
}

/// The order in which rules are checked.
fn check_cost(rule: &Rule) -> u8 {
    match rule {
        Rule::Type { .. } => 0,
        Rule::Tag(_) => 1,
        Rule::EnumStrings(_) | Rule::Length { .. } | Rule::Properties { .. } | Rule::TextLength { .. } => 2,
        Rule::Minimum(..) | Rule::Maximum(..) | Rule::MultipleOf(_) | Rule::Required(_) => 3,
        Rule::Enum(_) | Rule::Dependencies(_) | Rule::Pattern(_) => 4,
        Rule::Object(_) | Rule::Items(_) | Rule::Tuple { .. } => 5,
        Rule::Ref(_) | Rule::All(_) | Rule::Any(_) | Rule::One(_) | Rule::Not(_) => 6,
        Rule::Unique | Rule::Dimensions { .. } | Rule::Datatype(_) => 7,
        Rule::Unchecked(_) => 8,
    }
}
