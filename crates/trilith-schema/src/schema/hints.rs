//! Preferences of schemas for writers: the order of keys, block or flow, the style of text.

use std::collections::VecDeque;

use super::compile::{AdditionalRule, CompiledSchemas, PartId, Rule};
use super::validate::Validator;
use crate::error::Result;
use crate::tree::{CollectionStyle, Node, YamlScalarStyle};

/// `propertyOrder`, `flowStyle` and `style` of a node that is to be written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct WriteHints {
    /// The keys of a mapping in their preferred order; others follow. Empty if no schema says.
    pub order: Vec<String>,
    /// Preferred layout of a collection.
    pub layout: Option<CollectionStyle>,
    /// Preferred style of a text.
    pub style: Option<YamlScalarStyle>,
}

/// Maximum number of parts of schemas that are followed for one node.
const MAX_PARTS: usize = 2000;

impl Validator {
    /// Returns the hints for a node with this tag, or for the node that `keys` lead to below it. Untagged mappings
    /// and sequences on the way are passed through, and a tag starts again.
    ///
    /// ```
    /// use trilith_schema::schema::{SchemaSet, Validator};
    /// let hints = Validator::new(SchemaSet::bundled()).hints("tag:stsci.edu:asdf/core/ndarray-1.1.0", &[], None)?;
    /// assert_eq!(hints.order[..3], ["source", "data", "mask"]);
    /// # Ok::<(), trilith_schema::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if a schema of the tag is broken.
    pub fn hints(&mut self, tag: &str, keys: &[&str], standard: Option<&str>) -> Result<WriteHints> {
        let parts = self.parts_of_schemas(self.schemas.of_tag(tag, standard))?;
        let program = &self.program;
        let mut parts = collect_related_parts(program, parts);
        for key in keys {
            let next = parts.iter().flat_map(|part| program.rules(*part)).flat_map(|rule| child_parts(rule, key)).collect();
            parts = collect_related_parts(program, next);
        }
        Ok(WriteHints::from_parts(program, &parts))
    }
}

impl WriteHints {
    /// Returns the hints of these parts, the first first.
    pub(super) fn from_parts(program: &CompiledSchemas, parts: &[PartId]) -> Self {
        let mut hints = WriteHints::default();
        for part in parts {
            let place = program.parts.get(part.0 as usize).map(|part| part.place);
            if let Some(node) = place.and_then(|place| program.find_node(place)) {
                hints.merge_schema(node);
            }
        }
        hints
    }

    /// Takes the parts of a schema that no earlier one had.
    fn merge_schema(&mut self, schema: Node<'_>) {
        if self.order.is_empty()
            && let Some(order) = schema.get("propertyOrder")
        {
            self.order = order.items().map(|key| key.text().into_owned()).collect();
        }
        let word = |key: &str| schema.get(key).and_then(Node::as_str);
        self.layout = self.layout.or_else(|| match &*word("flowStyle")? {
            "block" => Some(CollectionStyle::Block),
            "flow" => Some(CollectionStyle::Flow),
            _ => None,
        });
        self.style = self.style.or_else(|| match &*word("style")? {
            "inline" => Some(YamlScalarStyle::Double),
            "literal" => Some(YamlScalarStyle::Literal),
            "folded" => Some(YamlScalarStyle::Folded),
            _ => None,
        });
    }
}

/// The parts, their references and their alternatives.
pub(super) fn collect_related_parts(program: &CompiledSchemas, parts: Vec<PartId>) -> Vec<PartId> {
    let mut all: Vec<PartId> = Vec::new();
    let mut queue: VecDeque<PartId> = parts.into();
    while let Some(part) = queue.pop_front() {
        if all.contains(&part) || all.len() >= MAX_PARTS {
            continue;
        }
        all.push(part);
        for rule in program.rules(part) {
            match rule {
                Rule::Ref(other) => queue.push_back(*other),
                Rule::All(parts) | Rule::Any(parts) | Rule::One(parts) => queue.extend(parts.iter()),
                _ => {}
            }
        }
    }
    all
}

/// The parts for a child.
pub(super) fn child_parts(rule: &Rule, key: &str) -> Vec<PartId> {
    match rule {
        Rule::Object(object) => {
            let named = object.named.iter().filter(|(name, _)| **name == *key).map(|(_, part)| *part);
            let matched = object.patterns.iter().filter(|(pattern, _)| pattern.found_in(key)).map(|(_, part)| *part);
            let found: Vec<_> = named.chain(matched).collect();
            match object.rest {
                AdditionalRule::Part(rest) if found.is_empty() => vec![rest],
                _ => found,
            }
        }
        Rule::Items(part) => vec![*part],
        Rule::Tuple { items, rest } => match (key.parse().ok().and_then(|at: usize| items.get(at)), rest) {
            (Some(part), _) | (None, AdditionalRule::Part(part)) => vec![*part],
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}
