//! Descriptions of a node in its schemas: title, description, rules in words.

use super::bundled::words_of;
use super::compile::{PartId, RefSiblings, Rule, SchemaLocation};
use super::fast_check::FastChecker;
use super::hints::child_parts;
use super::json_view::{bindable_tag, json_type_of_node};
use super::store::TagSchemas;
use super::tree_scan::TreeScan;
use super::validate::Validator;
use crate::error::Result;
use crate::tree::{Node, NodeKind, Tree, TreePath};

/// The description of a node in one schema.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SchemaDescription {
    /// URI and pointer of the schema.
    pub schema: String,
    /// Title of the schema; "" if it has none.
    pub title: String,
    /// Description of the schema; "" if it has none.
    pub text: String,
    /// The datatype, type or values that it requires, in words; "" if it requires none.
    pub requirement: String,
}

/// Maximum number of schemas that are reported for one node.
const MAX_SCHEMAS: usize = 20;
/// Maximum number of parts that are followed for one node.
const MAX_PARTS: usize = 2000;

impl Validator {
    /// Returns the descriptions of the node at a path, nearest first: those of its tag, then those of the nodes
    /// above it. The list is empty if there are none, or if there is no such node.
    ///
    /// ```
    /// use trilith_schema::{Limits, schema::{SchemaSet, Validator}};
    /// use trilith_yaml::tree::{Tree, TreePath};
    /// let text = "%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\na: !core/ndarray-1.1.0 {source: 0, shape: [2]}\n";
    /// let tree = Tree::parse(text, &Limits::default())?;
    /// let found = Validator::new(SchemaSet::bundled()).describe(&tree, &TreePath::parse("/a/shape")?, None)?;
    /// assert_eq!(found[0].title, "How many elements there are along each dimension");
    /// # Ok::<(), trilith_schema::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`Validator::validate`].
    pub fn describe(&mut self, tree: &Tree, path: &TreePath, standard: Option<&str>) -> Result<Vec<SchemaDescription>> {
        let survey = TreeScan::scan(tree, &self.limits)?;
        // The parts that apply to the current node.
        let mut held: Vec<PartId> = Vec::new();
        let mut node = Some(tree.root());
        let mut keys = path.keys().iter();
        loop {
            let Some(here) = node else { return Ok(Vec::new()) };
            let mut parts = self.parts_of_tag(here, standard)?;
            parts.append(&mut held);
            held = self.collect_fitting_parts(&survey, here, parts);
            let Some(key) = keys.next() else { break };
            held = self.child_parts(here, key, &held);
            node = here.child(key);
        }
        let mut found: Vec<SchemaDescription> = Vec::new();
        for part in held {
            let description = self.describe_part(part);
            let says = !(description.title.is_empty() && description.text.is_empty() && description.requirement.is_empty());
            if says && !found.contains(&description) && found.len() < MAX_SCHEMAS {
                found.push(description);
            }
        }
        Ok(found)
    }

    fn parts_of_tag(&mut self, node: Node<'_>, standard: Option<&str>) -> Result<Vec<PartId>> {
        let Some(tag) = bindable_tag(node) else { return Ok(Vec::new()) };
        let found = match self.schemas.of_tag(tag, standard) {
            // A description may come from any version of the standard.
            TagSchemas::OtherStandard => self.schemas.of_tag(tag, None),
            found => found,
        };
        self.parts_of_schemas(found)
    }

    /// The parts of the schemas that a tag leads to.
    pub(super) fn parts_of_schemas(&mut self, found: TagSchemas) -> Result<Vec<PartId>> {
        let mut parts = Vec::new();
        if let TagSchemas::Schemas(uris) = found {
            for uri in uris {
                parts.extend(self.program.compile_uri(&self.schemas, &uri, RefSiblings::Applied, &self.limits)?);
            }
        }
        Ok(parts)
    }

    /// The parts, and those that they refer to or that are alternatives which the node fits.
    fn collect_fitting_parts<'t>(&self, survey: &TreeScan<'t>, node: Node<'t>, parts: Vec<PartId>) -> Vec<PartId> {
        let mut check = FastChecker::new(&self.program, survey, &self.limits);
        let mut all: Vec<PartId> = Vec::new();
        let mut queue: std::collections::VecDeque<PartId> = parts.into();
        while let Some(part) = queue.pop_front() {
            if all.contains(&part) || all.len() >= MAX_PARTS {
                continue;
            }
            all.push(part);
            for rule in self.program.rules(part) {
                match rule {
                    Rule::Ref(other) => queue.push_back(*other),
                    Rule::All(parts) => queue.extend(parts.iter()),
                    Rule::Any(parts) | Rule::One(parts) => {
                        let fitting: Vec<_> = parts.iter().filter(|part| check.node_fits(node, **part)).copied().collect();
                        // If none fits, each may be the intended one.
                        queue.extend(if fitting.is_empty() { parts.to_vec() } else { fitting });
                    }
                    _ => {}
                }
            }
        }
        all
    }

    /// The parts that hold for a child.
    fn child_parts(&self, node: Node<'_>, key: &str, parts: &[PartId]) -> Vec<PartId> {
        let rules = parts.iter().flat_map(|part| self.program.rules(*part));
        let fitting = rules.filter(|rule| match rule {
            Rule::Object(_) => node.kind() == NodeKind::Mapping,
            _ => node.is_sequence(),
        });
        fitting.flat_map(|rule| child_parts(rule, key)).collect()
    }

    fn describe_part(&self, part: PartId) -> SchemaDescription {
        let place = self.program.parts.get(part.0 as usize).map_or(SchemaLocation::default(), |part| part.place);
        let schema = self.program.place_uri(place);
        let text_of = |key: &str| {
            let text = self.program.find_node(place).and_then(|node| node.get(key)).and_then(Node::as_str);
            text.map_or(String::new(), |text| text.split_whitespace().collect::<Vec<_>>().join(" "))
        };
        let (mut title, mut text) = (text_of("title"), text_of("description"));
        if title.is_empty() && text.is_empty() {
            let (uri, pointer) = super::uri::split_fragment(&schema);
            let keys: Vec<&str> = pointer.split('/').collect();
            let property = match keys.as_slice() {
                [..] if pointer.is_empty() => Some(None),
                [.., "properties", name] => Some(Some(*name)),
                _ => None,
            };
            if let Some((own_title, own_text)) = property.and_then(|property| words_of(uri, property)) {
                (title, text) = (own_title.to_owned(), own_text.to_owned());
            }
        }
        SchemaDescription { schema, title, text, requirement: self.rule_words(part) }
    }

    fn rule_words(&self, part: PartId) -> String {
        let words: Vec<String> =
            self.program.rules(part).iter().filter_map(|rule| super::wording::rule_text(&self.program, rule)).collect();
        words.join(", ")
    }
}

/// The kind of a node in words, for a description without schema.
pub fn kind_of(node: Node<'_>) -> &'static str {
    json_type_of_node(node).display_name()
}
