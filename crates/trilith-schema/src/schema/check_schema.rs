//! Checking schemas themselves: against their metaschema, their references and patterns, and their examples.

use std::collections::HashMap;

use super::json_view::bindable_tag;
use super::report::ValidationReport;
use super::store::{AddedDocument, SchemaSet, TagSchemas};
use super::tree_scan::TreeScan;
use super::uri::{is_uri, split_fragment};
use super::validate::Validator;
use crate::diagnostic::Severity;
use crate::error::Result;
use crate::limits::Limits;
use crate::tree::{Node, Tree};

/// The metaschema of a schema that names none.
const METASCHEMA: &str = "http://stsci.edu/schemas/yaml-schema/draft-01";

/// The URI under which a schema without `id` is known.
const ANONYMOUS_URI: &str = "without-id";

/// The schema of a manifest.
const MANIFEST_SCHEMA: &str = "asdf://asdf-format.org/core/schemas/extension_manifest-1.0.0";

/// The problems of one schema or manifest.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct SchemaReport {
    /// URI of the schema.
    pub uri: String,
    /// Violations of its metaschema.
    pub report: ValidationReport,
    /// References that lead nowhere and patterns that cannot be run, in words.
    pub notes: Vec<String>,
    /// The examples that are wrong.
    pub examples: Vec<ExampleReport>,
    /// Examples without a verdict, since no schema is known for their tags.
    pub unchecked: Vec<ExampleReport>,
    /// Number of examples.
    pub example_count: usize,
    /// Departures from the form of a schema that are not errors, in words.
    pub warnings: Vec<String>,
}

impl SchemaReport {
    /// Returns `true` if nothing is wrong.
    pub fn is_ok(&self) -> bool {
        self.report.is_valid() && self.notes.is_empty() && self.examples.is_empty()
    }
}

/// An example that does not fit, or that is not checked.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ExampleReport {
    /// Index of the example, from 0.
    pub index: usize,
    /// Title of the example.
    pub title: String,
    /// Problems of the example, or the reasons why it is not checked. Line 1 is the first line of the example.
    pub problems: Vec<String>,
}

/// Examines the schemas and manifests of a folder, which may refer to each other and to `schemas`. `None` means a file
/// that is neither, an error for one that is not YAML.
///
/// ```
/// use trilith_schema::{Limits, schema::{SchemaSet, examine_all}};
/// let text = "id: http://science.edu/schemas/F00/0.1.0/metadata\nrequiredProperties: exposure_time\n";
/// let found = examine_all(SchemaSet::bundled(), &[text, "a: 1"], &Limits::default())?;
/// let first = found[0].as_ref().unwrap().as_ref().unwrap();
/// assert!(!first.is_ok() && found[1].as_ref().unwrap().is_none());
/// # Ok::<(), trilith_schema::Error>(())
/// ```
///
/// # Errors
/// Returns [`ErrorKind::Limit`](crate::ErrorKind::Limit) if a schema is too large or too deep to be examined.
pub fn examine_all(mut schemas: SchemaSet, texts: &[&str], limits: &Limits) -> Result<Vec<Result<Option<SchemaReport>>>> {
    let mut known: HashMap<String, usize> = HashMap::new();
    let mut trees = Vec::with_capacity(texts.len());
    for text in texts {
        trees.push(schemas.add(*text, limits).and_then(|added| {
            let tree = Tree::parse(*text, limits)?;
            if let Some(id) = tree.root().get("id").and_then(Node::as_str) {
                *known.entry(split_fragment(&id).0.to_owned()).or_default() += 1;
            }
            Ok((added != AddedDocument::Other).then_some(tree))
        }));
    }
    let mut validator = Validator::new(schemas).with_limits(limits.clone());
    let examined = trees.into_iter().map(|tree| {
        let tree = match tree {
            Ok(Some(tree)) => tree,
            Ok(None) => return Ok(Ok(None)),
            Err(error) => return Ok(Err(error)),
        };
        let mut found = validator.examine(&tree)?;
        let others = known.get(&found.uri).map_or(0, |count| count - 1);
        if others > 0 {
            let files = if others == 1 { "another file".to_owned() } else { format!("{others} other files") };
            found.notes.push(format!("the id {} is also that of {files}; each schema needs a unique id", found.uri));
        }
        Ok(Ok(Some(found)))
    });
    examined.collect()
}

impl Validator {
    /// Examines a schema or manifest that has been added, from its parsed text.
    ///
    /// Each example is a pair of title and YAML, or a triple with `asdf-standard-x.y.z` between. It is under the `%TAG`
    /// handle of the standard, or that of the schema's own tag (0.1.0dev, 5.2.3), and is validated by the tags it holds. An
    /// example whose root has no tag that is known is validated against the schema itself.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if the schema refers to what is not YAML.
    pub fn examine(&mut self, tree: &Tree) -> Result<SchemaReport> {
        let root = tree.root();
        let id = root.get("id").and_then(Node::as_str);
        let mut found = SchemaReport {
            uri: id.as_deref().map_or("", |id| split_fragment(id).0).to_owned(),
            warnings: header_warnings(tree),
            ..SchemaReport::default()
        };
        if root.get("extension_uri").is_some() {
            found.report = self.validate_root(tree, MANIFEST_SCHEMA)?;
            return Ok(found);
        }
        let meta = root.get("$schema").and_then(Node::as_str);
        let is_known = |meta: &str| self.schemas.text(split_fragment(meta).0).is_some();
        if let Some(meta) = meta.as_deref().filter(|meta| !is_known(meta)) {
            found.warnings.push(format!("the $schema {meta} is not known; the schema is checked against {METASCHEMA}"));
        }
        let meta = meta.filter(|meta| is_known(meta)).map_or_else(|| METASCHEMA.to_owned(), |meta| meta.into_owned());
        found.report = self.validate_root(tree, &meta)?;
        let uri = if found.uri.is_empty() { ANONYMOUS_URI } else { &found.uri }.to_owned();
        self.replace_schema_text(&uri, tree);
        found.notes = self.compile_schema(&uri)?;
        found.notes.extend(id_problem(id.as_deref(), root.get("id").is_some()));
        let handles = handles_of(root.get("tag").and_then(Node::as_str).as_deref(), &uri);
        for (index, example) in root.get("examples").into_iter().flat_map(Node::items).enumerate() {
            found.example_count += 1;
            let title =
                example.index(0).map_or(String::new(), |title| title.text().split_whitespace().collect::<Vec<_>>().join(" "));
            let about = |problems| ExampleReport { index, title, problems };
            match self.check_example(&uri, &handles, example)? {
                Verdict::Valid => {}
                Verdict::Invalid(problems) => found.examples.push(about(problems)),
                Verdict::Undecided(reasons) => found.unchecked.push(about(reasons)),
            }
        }
        Ok(found)
    }

    /// Makes the text of this tree the one that a URI leads to, which another file of the same id may have taken.
    fn replace_schema_text(&mut self, uri: &str, tree: &Tree) {
        if self.schemas.text(uri) != Some(tree.text()) {
            self.schemas.insert(uri, tree.text().to_owned());
            self.program.forget(uri);
            self.forget_tags();
        }
    }

    fn check_example(&mut self, uri: &str, handles: &[String], example: Node<'_>) -> Result<Verdict> {
        let (standard, yaml) = match text_of_example(example) {
            Ok(parts) => parts,
            Err(problem) => return Ok(Verdict::Invalid(vec![problem])),
        };
        let version = if uri.contains("/asdf/0.1.0/") { "0.1.0/" } else { "" };
        let prefix = format!("tag:stsci.edu:asdf/{version}");
        let header = format!("%YAML 1.1\n%TAG ! {prefix}\n---\n");
        let lines = header.lines().count() as u32;
        let text = format!("{header}{}\n", yaml.trim_end());
        let parsed = Tree::parse(text, &self.limits).and_then(|tree| self.expand_own_tags(tree, &prefix, handles));
        let tree = match parsed {
            Ok(tree) => tree,
            Err(error) => return Ok(Verdict::Invalid(vec![error.to_string()])),
        };
        let mut report = self.validate(&tree, standard.as_deref())?;
        let is_known = |tag: &str| self.schemas.of_tag(tag, None) != TagSchemas::Unknown;
        if report.is_valid() && !self.is_bound(tree.root(), uri) && !bindable_tag(tree.root()).is_some_and(is_known) {
            let own = self.validate_root(&tree, uri)?;
            let open = std::mem::replace(&mut report, own);
            open.problems.into_iter().filter(|problem| problem.severity == Severity::Note).for_each(|note| report.push(note));
        }
        let said = |severity: Severity| {
            let problems = report.problems.iter().filter(|problem| problem.severity == severity).cloned();
            let said = problems.map(|mut problem| {
                problem.line = problem.line.saturating_sub(lines);
                problem.to_string()
            });
            said.collect::<Vec<_>>()
        };
        Ok(match (report.is_valid(), report.notes) {
            (false, _) => Verdict::Invalid(said(Severity::Error)),
            (true, 0) => Verdict::Valid,
            (true, _) => Verdict::Undecided(said(Severity::Note)),
        })
    }

    /// A tree whose shorthand tags that the standard does not have are those of the schema's own organisation, if that has
    /// them.
    ///
    /// # Errors
    /// Returns the errors of [`Tree::parse`].
    fn expand_own_tags(&self, tree: Tree, prefix: &str, handles: &[String]) -> Result<Tree> {
        let is_known = |tag: &str| self.schemas.of_tag(tag, None) != TagSchemas::Unknown;
        let mut meant = Vec::new();
        for node in &TreeScan::scan(&tree, &self.limits)?.tagged {
            let (Some(tag), Some(span)) = (bindable_tag(*node), node.tag_span()) else { continue };
            let short = tag.strip_prefix(prefix).filter(|_| !span.slice(tree.text()).starts_with("!<") && !is_known(tag));
            let own = short.and_then(|short| handles.iter().map(|handle| format!("{handle}{short}")).find(|tag| is_known(tag)));
            meant.extend(own.map(|own| (span, format!("!<{own}>"))));
        }
        if meant.is_empty() {
            return Ok(tree);
        }
        meant.sort_by_key(|(span, _)| std::cmp::Reverse(span.start));
        let mut text = tree.text().to_owned();
        meant.into_iter().for_each(|(span, tag)| text.replace_range(span.start as usize..span.end as usize, &tag));
        Tree::parse(text, &self.limits)
    }

    fn is_bound(&self, node: Node<'_>, uri: &str) -> bool {
        bindable_tag(node).is_some_and(
            |tag| matches!(self.schemas.of_tag(tag, None), TagSchemas::Schemas(uris) if uris.iter().any(|u| u == uri)),
        )
    }
}

/// The verdict on an example.
enum Verdict {
    Valid,
    /// The problems of the example.
    Invalid(Vec<String>),
    /// The reason why there is no verdict.
    Undecided(Vec<String>),
}

/// The standard that an example is for, if it says so, and its text; otherwise what is wrong with it (0.1.0dev, 5.1.3: "each
/// item is a pair", whose second item is "YAML content (as a string)").
fn text_of_example(example: Node<'_>) -> std::result::Result<(Option<String>, String), String> {
    const EXAMPLE_FORM: &str = "an example is a list of a title and YAML as text";
    let parts: Vec<Node<'_>> = example.items().take(4).collect();
    let (standard, yaml) = match parts.as_slice() {
        [_, yaml] => (None, yaml),
        [_, standard, yaml] => {
            let version = standard.as_str().and_then(|text| text.strip_prefix("asdf-standard-").map(str::to_owned));
            let missing = || format!("{EXAMPLE_FORM}; of three items the second is the standard, as in asdf-standard-1.6.0");
            (Some(version.ok_or_else(missing)?), yaml)
        }
        other if example.is_sequence() => {
            return Err(format!("{EXAMPLE_FORM}, but this list has {}", crate::error::count_noun(other.len(), "item")));
        }
        _ => return Err(EXAMPLE_FORM.to_owned()),
    };
    match yaml.as_str() {
        Some(text) => Ok((standard, text.into_owned())),
        None => Err(format!("{EXAMPLE_FORM}, but its content is not a string: write it after \"|\", indented")),
    }
}

/// Meanings of the `!` of an example in a schema of an organisation: the beginnings of the tag that the schema is for,
/// or of the one that its URI leads to.
fn handles_of(tag: Option<&str>, uri: &str) -> Vec<String> {
    let by_uri = || {
        let (scheme, rest) = uri.split_once("://")?;
        let (authority, name) = rest.split_once("/schemas/")?;
        Some(if scheme == "asdf" { format!("asdf://{authority}/tags/{name}") } else { format!("tag:{authority}:{name}") })
    };
    let Some(tag) = tag.map(str::to_owned).or_else(by_uri) else { return Vec::new() };
    let from = if tag.contains("://") { tag.find("://").map_or(0, |at| at + 3) } else { tag.find(':').map_or(0, |at| at + 1) };
    let ends = tag.char_indices().filter(|(at, sign)| *at >= from && matches!(sign, ':' | '/')).map(|(at, _)| at + 1);
    ends.filter_map(|end| tag.get(..end).map(str::to_owned)).collect()
}

/// Returns the problem of the id of a schema (0.1.0dev, 5.2.2: "Each schema must also have a universally unique id, which is in the
/// form of unique URI").
fn id_problem(id: Option<&str>, is_there: bool) -> Option<String> {
    match id {
        None if is_there => Some("the id is not a string, expected a URI".to_owned()),
        None => Some("the schema has no id, so no other schema can refer to it".to_owned()),
        Some(id) if !is_uri(split_fragment(id).0) => {
            Some(format!("the id {id:?} is not a URI such as asdf://example.org/schemas/name-1.0.0"))
        }
        Some(_) => None,
    }
}

/// Departures of the text from the header that a schema should begin with (0.1.0dev, 5.2.1).
fn header_warnings(tree: &Tree) -> Vec<String> {
    let directives = tree.text().lines().take_while(|line| line.trim_end() != "---");
    let versions = directives.filter_map(|line| line.strip_prefix("%YAML")).map(str::trim).filter(|version| *version != "1.1");
    versions.map(|version| format!("the schema has %YAML {version}, but is read as YAML 1.1")).collect()
}
