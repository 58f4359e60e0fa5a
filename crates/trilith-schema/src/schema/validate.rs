//! Validating a tree: every tagged node against the schemas of its tag.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::compile::{CompiledSchemas, PartId, RefSiblings};
use super::explain::Explainer;
use super::fast_check::FastChecker;
use super::json_view::bindable_tag;
use super::packages::package_of;
use super::property_order;
use super::report::ValidationReport;
use super::store::{SchemaSet, TagSchemas, missing_schema_error, version_of};
use super::tree_scan::TreeScan;
use crate::diagnostic::{Diagnostic, Severity};
use crate::error::Result;
use crate::limits::Limits;
use crate::tree::{Node, NodeId, Tree, TreePath};

/// Validates trees against a set of schemas. Each schema is compiled once, when a tag first needs it.
///
/// The rules are those of Python asdf. Each node with a tag must fit every schema of that tag. Nodes below a mapping with `$ref`
/// are not checked. A custom schema applies to the root, in addition.
///
/// ```
/// use trilith_schema::{Limits, schema::{SchemaSet, Validator}};
/// use trilith_yaml::tree::Tree;
/// let text = "%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\ndata: !core/ndarray-1.1.0\n\
///             \x20 {source: 0, datatype: flaot64, byteorder: little, shape: [2]}\n...\n";
/// let tree = Tree::parse(text, &Limits::default())?;
/// let report = Validator::new(SchemaSet::bundled()).validate(&tree, Some("1.6.0"))?;
/// assert!(!report.is_valid());
/// let problem = &report.problems[0];
/// assert_eq!(problem.path_text(), "/data/datatype");
/// assert_eq!(problem.hint.as_deref(), Some("did you mean float64?"));
/// # Ok::<(), trilith_schema::Error>(())
/// ```
#[derive(Debug)]
pub struct Validator {
    pub(super) schemas: SchemaSet,
    pub(super) program: CompiledSchemas,
    /// Parts of a tag under a version of the standard.
    bindings: HashMap<(String, Option<String>), BoundTag>,
    custom: Vec<PartId>,
    pub(super) limits: Limits,
    max_problems: usize,
}

/// The binding of a tag.
#[derive(Debug, Clone)]
enum BoundTag {
    Parts(Vec<PartId>),
    OtherStandard,
    Unknown,
}

/// The URI under which a custom schema without `id` is known.
const CUSTOM_URI: &str = "custom:schema";

impl Validator {
    /// A validator with the default limits, which reports at most ten problems.
    pub fn new(schemas: SchemaSet) -> Self {
        Self {
            schemas,
            program: CompiledSchemas::default(),
            bindings: HashMap::new(),
            custom: Vec::new(),
            limits: Limits::default(),
            max_problems: 10,
        }
    }

    /// Sets the limits.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets the maximum number of reported problems.
    #[must_use]
    pub fn max_problems(mut self, most: usize) -> Self {
        self.max_problems = most;
        self
    }

    /// Adds a schema that the root of every tree must fit, from its text; `file` names it in messages.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if the text is not YAML.
    pub fn add_custom(&mut self, text: &str, file: &str) -> Result<()> {
        let tree = Tree::parse(text, &self.limits)?;
        let uri = match tree.root().get("id").and_then(Node::as_str) {
            Some(id) => super::uri::split_fragment(&id).0.to_owned(),
            None if file.is_empty() => CUSTOM_URI.to_owned(),
            None => file.to_owned(),
        };
        self.schemas.insert(&uri, tree.into_text());
        if let Some(part) = self.program.compile_uri(&self.schemas, &uri, RefSiblings::Ignored, &self.limits)? {
            self.custom.push(part);
        }
        Ok(())
    }

    /// Returns `true` if trees must fit a schema of the caller as well.
    #[doc(hidden)]
    pub fn has_custom(&self) -> bool {
        !self.custom.is_empty()
    }

    /// The schemas.
    pub fn schemas(&self) -> &SchemaSet {
        &self.schemas
    }

    /// Validates a tree by a version of the standard (`1.6.0`; None: whatever the tags say).
    ///
    /// # Errors
    /// Returns [`ErrorKind::Limit`](crate::ErrorKind::Limit) if the tree is too large or deep to be validated,
    /// [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if a schema that it needs is broken.
    pub fn validate(&mut self, tree: &Tree, standard: Option<&str>) -> Result<ValidationReport> {
        let survey = TreeScan::scan(tree, &self.limits)?;
        let mut unknown = Vec::new();
        let mut work: Vec<(Node<'_>, PartId)> = self.custom.iter().map(|part| (tree.root(), *part)).collect();
        let mut by_tag: HashMap<&str, Vec<PartId>> = HashMap::new();
        // A tree holds each tag once: its number leads to its parts.
        let mut by_number: Vec<Option<Vec<PartId>>> = Vec::new();
        for node in &survey.tagged {
            let number = node.tag_number();
            if by_number.len() <= number {
                by_number.resize(number + 1, None);
            }
            let Some(known) = by_number.get_mut(number) else { continue };
            if known.is_none() {
                let Some(tag) = bindable_tag(*node) else { continue };
                if !by_tag.contains_key(tag) {
                    let parts = match self.binding_of(tag, standard)? {
                        BoundTag::Parts(parts) => parts,
                        other => {
                            unknown.push((*node, other));
                            Vec::new()
                        }
                    };
                    by_tag.insert(tag, parts);
                }
                *known = by_tag.get(tag).cloned();
            }
            work.extend(known.iter().flatten().map(|part| (*node, *part)));
        }
        let mut found = FindingCollector { max_problems: self.max_problems, ..FindingCollector::default() };
        self.run(tree, &survey, &work, &mut found)?;
        found.of_the_standard(tree, &survey, standard);
        if !self.custom.is_empty() {
            for ((key, value), order) in property_order::misplaced_keys(&self.program, &survey, tree.root(), &self.custom) {
                let message = format!("the key {} comes too late", key.source_text());
                found.push_warning(|| {
                    let mut problem =
                        new_warning(tree, value, message, Some(format!("propertyOrder states {}", order.join(", "))));
                    (problem.line, problem.column) = key.line_column();
                    problem.span = key.span();
                    problem
                });
            }
        }
        for (node, bound) in unknown {
            let tag = bindable_tag(node).unwrap_or("");
            // Looking for a tag that was meant takes time: for the first few it is worth it.
            let near = if found.note_count < MAX_SUGGESTED_TAGS { self.schemas.near_tag(tag, standard) } else { None };
            let near = near.map(|near| format!("did you mean {near}?"));
            found.note_tag(tree, node, &bound, standard, near);
        }
        let notes = std::mem::take(&mut self.program.notes);
        notes.into_iter().filter(|note| !self.program.gaps.contains(note)).for_each(|note| found.note_text(note));
        found.note_gaps(&self.program);
        Ok(found.into_report())
    }

    fn run<'t>(
        &self,
        tree: &'t Tree,
        survey: &TreeScan<'t>,
        work: &[(Node<'t>, PartId)],
        found: &mut FindingCollector,
    ) -> Result<()> {
        let mut check = FastChecker::new(&self.program, survey, &self.limits);
        for (node, part) in work {
            if check.node_fits(*node, *part) && check.is_stopped.is_none() {
                continue;
            }
            if check.is_stopped.is_none() && found.explained >= MIN_EXPLAINED && found.errors.len() >= found.max_problems {
                // Enough has been told: what comes is counted.
                found.error_count += 1;
            } else if check.is_stopped.is_none() {
                found.explained += 1;
                let path = found.path_of_node(tree, node.id());
                let mut explain = Explainer::new(&mut check, path);
                explain.explain_part(*node, *part);
                let reasons = explain.reasons;
                found.push_errors(reasons.into_iter().map(|reason| reason.into_diagnostic(&check)));
            }
            if let Some(error) = check.is_stopped.take() {
                let (line, column) = node.line_column();
                return Err(error.at_text(line, column));
            }
        }
        found.has_undecided.append(&mut check.has_gaps);
        Ok(())
    }

    fn binding_of(&mut self, tag: &str, standard: Option<&str>) -> Result<BoundTag> {
        let key = (tag.to_owned(), standard.map(str::to_owned));
        if let Some(known) = self.bindings.get(&key) {
            return Ok(known.clone());
        }
        let bound = match self.schemas.of_tag(tag, standard) {
            TagSchemas::Unknown => BoundTag::Unknown,
            TagSchemas::OtherStandard => BoundTag::OtherStandard,
            TagSchemas::Schemas(uris) => {
                let mut parts = Vec::with_capacity(uris.len());
                for uri in uris {
                    let part = self.program.compile_uri(&self.schemas, &uri, RefSiblings::Applied, &self.limits)?;
                    if part.is_none() {
                        let note = format!("the schema {uri} of the tag {tag} is not known, so that nothing checks it");
                        self.program.notes.push(note);
                    }
                    parts.extend(part);
                }
                BoundTag::Parts(parts)
            }
        };
        self.bindings.insert(key, bound.clone());
        Ok(bound)
    }

    /// Validates the root of a tree against one schema, and nothing else.
    ///
    /// # Errors
    /// Returns the errors of [`Validator::validate`], and [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if there is
    /// no such schema.
    pub fn validate_root(&mut self, tree: &Tree, uri: &str) -> Result<ValidationReport> {
        self.validate_node(tree, tree.root(), uri)
    }

    /// Validates a node of a tree and all below it against one schema, and nothing else.
    ///
    /// # Errors
    /// Returns the errors of [`Validator::validate_root`].
    #[doc(hidden)]
    pub fn validate_node<'t>(&mut self, tree: &'t Tree, node: Node<'t>, uri: &str) -> Result<ValidationReport> {
        let part = self.program.compile_uri(&self.schemas, uri, RefSiblings::Applied, &self.limits)?;
        let part = part.ok_or_else(|| missing_schema_error(uri))?;
        let survey = TreeScan::scan(tree, &self.limits)?;
        let mut found = FindingCollector { max_problems: self.max_problems, ..FindingCollector::default() };
        self.run(tree, &survey, &[(node, part)], &mut found)?;
        found.note_gaps(&self.program);
        Ok(found.into_report())
    }

    /// Makes every tag look for its schemas again.
    pub(super) fn forget_tags(&mut self) {
        self.bindings.clear();
    }

    /// Compiles a schema and all it refers to; what could not be compiled, in words.
    pub(super) fn compile_schema(&mut self, uri: &str) -> Result<Vec<String>> {
        let part = self.program.compile_uri(&self.schemas, uri, RefSiblings::Applied, &self.limits)?;
        part.ok_or_else(|| missing_schema_error(uri))?;
        Ok(std::mem::take(&mut self.program.notes))
    }
}

/// Problems as they come in.
#[derive(Default)]
struct FindingCollector {
    max_problems: usize,
    errors: Vec<Diagnostic>,
    warnings: Vec<Diagnostic>,
    notes: Vec<Diagnostic>,
    error_count: usize,
    warning_count: usize,
    note_count: usize,
    explained: usize,
    reported: HashSet<(String, String)>,
    /// The gaps of the program that were met.
    has_undecided: BTreeSet<u32>,
}

/// Minimum number of explained nodes. Beyond that, once there are enough problems, each node counts as one.
const MIN_EXPLAINED: usize = 1000;
/// Maximum number of unknown tags for which a similar known tag is searched.
const MAX_SUGGESTED_TAGS: usize = 100;
/// Maximum number of different problems that are remembered, so that none is reported twice.
const MAX_REMEMBERED: usize = 100_000;

impl FindingCollector {
    /// The path of a node, which costs a walk; as long as it will be told.
    fn path_of_node(&self, tree: &Tree, node: NodeId) -> TreePath {
        tree.path_of(node).unwrap_or_default()
    }

    fn push_errors(&mut self, problems: impl Iterator<Item = Diagnostic>) {
        for problem in problems {
            if self.reported.len() < MAX_REMEMBERED
                && !self.reported.insert((problem.path_text().to_owned(), problem.message.clone()))
            {
                continue;
            }
            self.error_count += 1;
            if self.errors.len() < self.max_problems {
                self.errors.push(problem);
            }
        }
    }

    fn push_warning(&mut self, problem: impl FnOnce() -> Diagnostic) {
        self.warning_count += 1;
        if self.warnings.len() < self.max_problems {
            self.warnings.push(problem());
        }
    }

    fn push_note(&mut self, problem: impl FnOnce() -> Diagnostic) {
        self.note_count += 1;
        if self.notes.len() < self.max_problems {
            self.notes.push(problem());
        }
    }

    /// Checks content that Python asdf refuses to write and only warns of on reading.
    fn of_the_standard(&mut self, tree: &Tree, survey: &TreeScan<'_>, standard: Option<&str>) {
        let restricted = standard.and_then(version_of).is_some_and(|version| version >= [1, 6, 0]);
        for node in &survey.large_integers {
            self.push_warning(|| {
                let message = format!("the integer {} does not fit int64 (64 bits with sign)", node.source_text());
                new_warning(tree, *node, message, Some("write it as !core/integer, or as a float".into()))
            });
        }
        for key in survey.keys.iter().filter(|_| restricted) {
            self.push_warning(|| {
                let message = format!("the key {} is neither a string nor an integer nor a boolean", key.source_text());
                new_warning(tree, *key, message, Some("ASDF 1.6 allows no other keys".into()))
            });
        }
    }

    fn note_tag(&mut self, tree: &Tree, node: Node<'_>, bound: &BoundTag, standard: Option<&str>, near: Option<String>) {
        let tag = bindable_tag(node).unwrap_or("");
        let (message, hint) = match bound {
            BoundTag::OtherStandard => {
                (format!("the tag {tag} is not of standard {}, so that nothing checks it", standard.unwrap_or("?")), near)
            }
            _ => {
                let package = package_of(tag)
                    .filter(|_| near.is_none())
                    .map(|package| format!("the package {package} has one: --schema-path names the folder of its schemas"));
                (format!("no schema is known for the tag {tag}"), near.or(package))
            }
        };
        self.push_note(|| {
            let mut problem = new_warning(tree, node, message, hint);
            problem.severity = Severity::Note;
            if let Some(span) = node.tag_span() {
                (problem.line, problem.column) = tree.line_column(span.start as usize);
                problem.span = span;
            }
            problem
        });
    }

    /// Reports the gaps that a verdict has met and could not check.
    fn note_gaps(&mut self, program: &CompiledSchemas) {
        for gap in self.has_undecided.clone() {
            self.note_text(program.gaps.get(gap as usize).cloned().unwrap_or_default());
        }
    }

    fn note_text(&mut self, note: String) {
        self.push_note(|| Diagnostic::new(Severity::Note, note));
    }

    fn into_report(self) -> ValidationReport {
        let mut problems = Vec::new();
        for mut list in [self.errors, self.warnings, self.notes] {
            list.sort_by_key(|problem| problem.span);
            list.truncate(self.max_problems.saturating_sub(problems.len()));
            problems.append(&mut list);
        }
        let (errors, warnings, notes) = (self.error_count, self.warning_count, self.note_count);
        ValidationReport { problems, errors, warnings, notes, unchecked_rules: self.has_undecided.len() }
    }
}

fn new_warning(tree: &Tree, node: Node<'_>, message: String, hint: Option<String>) -> Diagnostic {
    let path = tree.path_of(node.id()).map_or(String::new(), |path| path.to_string());
    Diagnostic::new(Severity::Warning, message).at_path(path).at_span(node.span()).at_text(node.line_column()).opt_hint(hint)
}
