//! Checking schemas themselves: against their metaschema, their references and patterns, and their examples.

use super::instance::own_tag;
use super::report::Report;
use super::store::Tagged;
use super::uri::split_fragment;
use super::validate::Validator;
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::tree::{Node, Tree};

/// The metaschema of a schema that names none.
const METASCHEMA: &str = "http://stsci.edu/schemas/yaml-schema/draft-01";

/// The schema of a manifest.
const MANIFEST: &str = "asdf://asdf-format.org/core/schemas/extension_manifest-1.0.0";

/// The problems of one schema or manifest.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Examination {
    /// URI of the schema.
    pub uri: String,
    /// Violations of its metaschema.
    pub report: Report,
    /// References that lead nowhere and patterns that cannot be run, in words.
    pub notes: Vec<String>,
    /// The examples that are wrong.
    pub examples: Vec<Example>,
    /// Number of examples.
    pub example_count: usize,
}

impl Examination {
    /// Returns `true` if nothing is wrong.
    pub fn is_ok(&self) -> bool {
        self.report.is_valid() && self.notes.is_empty() && self.examples.is_empty()
    }
}

/// An example that does not fit.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Example {
    /// Its number, from 0.
    pub index: usize,
    /// Its title.
    pub title: String,
    /// Its problems, in words; line 1 is the first of the example.
    pub problems: Vec<String>,
}

impl Validator {
    /// Examines a schema or manifest that has been added, from its parsed text.
    ///
    /// Each example is a pair of title and YAML, or a triple with `asdf-standard-x.y.z` between; it is
    /// under the `%TAG` handle of the standard and is validated by the tags it holds. An example without a
    /// tag is validated against the schema itself.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if the schema has no `id`, or refers to what
    /// is no YAML.
    pub fn examine(&mut self, tree: &Tree) -> Result<Examination> {
        let root = tree.root();
        let id = root.get("id").and_then(Node::as_str).ok_or_else(|| Error::malformed("the schema has no id"))?;
        let uri = split_fragment(&id).0.to_owned();
        if root.get("extension_uri").is_some() {
            let report = self.validate_root(tree, MANIFEST)?;
            return Ok(Examination { uri, report, ..Examination::default() });
        }
        let meta = match root.get("$schema").and_then(Node::as_str) {
            Some(meta) if self.schemas.text(split_fragment(&meta).0).is_some() => meta.into_owned(),
            _ => METASCHEMA.to_owned(),
        };
        let report = self.validate_root(tree, &meta)?;
        let notes = self.compile(&uri)?;
        let mut examination = Examination { uri, report, notes, ..Examination::default() };
        for (index, example) in root.get("examples").into_iter().flat_map(Node::items).enumerate() {
            examination.example_count += 1;
            if let Some(problems) = self.example(&examination.uri, example)? {
                let title =
                    example.index(0).map_or(String::new(), |title| title.text().split_whitespace().collect::<Vec<_>>().join(" "));
                examination.examples.push(Example { index, title, problems });
            }
        }
        Ok(examination)
    }

    /// Returns the problems of an example, or None if there are none or if it is no text.
    fn example(&mut self, uri: &str, example: Node<'_>) -> Result<Option<Vec<String>>> {
        let mut parts = example.items().skip(1);
        let (Some(second), third) = (parts.next(), parts.next()) else {
            return Ok(Some(vec!["an example is a list of a title and a text".into()]));
        };
        let (standard, yaml) = match third {
            Some(yaml) => (second.text().strip_prefix("asdf-standard-").map(str::to_owned), yaml),
            None => (None, second),
        };
        let Some(yaml) = yaml.as_str() else { return Ok(None) };
        let version = if uri.contains("/asdf/0.1.0/") { "0.1.0/" } else { "" };
        let header = format!("%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/{version}\n---\n");
        let lines = header.lines().count() as u32;
        let limits = Limits::default();
        let tree = match Tree::parse(format!("{header}{}\n", yaml.trim_end()), &limits) {
            Ok(tree) => tree,
            Err(error) => return Ok(Some(vec![error.to_string()])),
        };
        let mut report = self.validate(&tree, standard.as_deref())?;
        if report.is_valid() && !self.is_bound(tree.root(), uri) && own_tag(tree.root()).is_none() {
            report = self.validate_root(&tree, uri)?;
        }
        let problems: Vec<String> = report
            .problems
            .into_iter()
            .take(report.errors)
            .map(|mut problem| {
                problem.line = problem.line.saturating_sub(lines);
                problem.to_string()
            })
            .collect();
        Ok((!problems.is_empty()).then_some(problems))
    }

    fn is_bound(&self, node: Node<'_>, uri: &str) -> bool {
        own_tag(node)
            .is_some_and(|tag| matches!(self.schemas.of_tag(tag, None), Tagged::Schemas(uris) if uris.iter().any(|u| u == uri)))
    }
}
