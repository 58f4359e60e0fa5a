//! Validating a tree: every tagged node against the schemas of its tag.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::compile::{PartId, Program};
use super::explain::Explain;
use super::fast_check::Check;
use super::json_view::own_tag;
use super::packages::package_of;
use super::property_order;
use super::report::Report;
use super::store::{Schemas, Tagged, missing, version_of};
use super::tree_scan::Survey;
use crate::diagnostic::{Diagnostic, Severity};
use crate::error::Result;
use crate::limits::Limits;
use crate::tree::{Node, NodeId, Tree, TreePath};

/// Validates trees against a set of schemas, each of which is compiled once, when a tag first needs it.
///
/// The rules are those of Python asdf: each node with a tag must fit every schema of that tag; below a
/// mapping with `$ref` nothing is looked at. A custom schema holds for the root, in addition.
///
/// ```
/// use trilith::{Limits, check::{Schemas, Validator}, tree::Tree};
/// let text = "%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\ndata: !core/ndarray-1.1.0\n\
///             \x20 {source: 0, datatype: flaot64, byteorder: little, shape: [2]}\n...\n";
/// let tree = Tree::parse(text, &Limits::default())?;
/// let report = Validator::new(Schemas::bundled()).validate(&tree, Some("1.6.0"))?;
/// assert!(!report.is_valid());
/// let problem = &report.problems[0];
/// assert_eq!(problem.path_text(), "/data/datatype");
/// assert_eq!(problem.hint.as_deref(), Some("did you mean float64?"));
/// # Ok::<(), trilith::Error>(())
/// ```
#[derive(Debug)]
pub struct Validator {
    pub(super) schemas: Schemas,
    pub(super) program: Program,
    /// Parts of a tag under a version of the standard.
    bound: HashMap<(String, Option<String>), Bound>,
    custom: Vec<PartId>,
    pub(super) limits: Limits,
    most: usize,
}

/// The binding of a tag.
#[derive(Debug, Clone)]
enum Bound {
    Parts(Vec<PartId>),
    OtherStandard,
    Unknown,
}

/// The URI under which a custom schema without `id` is known.
const CUSTOM: &str = "custom:schema";

impl Validator {
    /// A validator with the default limits, which reports at most ten problems.
    pub fn new(schemas: Schemas) -> Self {
        Self {
            schemas,
            program: Program::default(),
            bound: HashMap::new(),
            custom: Vec::new(),
            limits: Limits::default(),
            most: 10,
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
    pub fn at_most(mut self, most: usize) -> Self {
        self.most = most;
        self
    }

    /// Adds a schema that the root of every tree must fit, from its text; `file` names it in messages.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if the text is no YAML.
    pub fn add_custom(&mut self, text: &str, file: &str) -> Result<()> {
        let tree = Tree::parse(text, &self.limits)?;
        let uri = match tree.root().get("id").and_then(Node::as_str) {
            Some(id) => super::uri::split_fragment(&id).0.to_owned(),
            None if file.is_empty() => CUSTOM.to_owned(),
            None => file.to_owned(),
        };
        self.schemas.put(&uri, tree.into_text());
        if let Some(part) = self.program.part(&self.schemas, &uri, false, &self.limits)? {
            self.custom.push(part);
        }
        Ok(())
    }

    /// The schemas.
    pub fn schemas(&self) -> &Schemas {
        &self.schemas
    }

    /// Validates a tree by a version of the standard (`1.6.0`; None: whatever the tags say).
    ///
    /// # Errors
    /// Returns [`ErrorKind::Limit`](crate::ErrorKind::Limit) if the tree is too large or deep to be validated,
    /// [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if a schema that it needs is broken.
    pub fn validate(&mut self, tree: &Tree, standard: Option<&str>) -> Result<Report> {
        let survey = Survey::of(tree, &self.limits)?;
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
                let Some(tag) = own_tag(*node) else { continue };
                if !by_tag.contains_key(tag) {
                    let parts = match self.bound_to(tag, standard)? {
                        Bound::Parts(parts) => parts,
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
        let mut found = Findings { most: self.most, ..Findings::default() };
        self.run(tree, &survey, &work, &mut found)?;
        found.of_the_standard(tree, &survey, standard);
        if !self.custom.is_empty() {
            for ((key, value), order) in property_order::misplaced(&self.program, &survey, tree.root(), &self.custom) {
                let message = format!("the key {} comes too late", key.raw());
                found.warn(|| {
                    let mut problem = warning(tree, value, message, Some(format!("propertyOrder states {}", order.join(", "))));
                    (problem.line, problem.column) = key.line_column();
                    problem.span = key.span();
                    problem
                });
            }
        }
        for (node, bound) in unknown {
            let tag = own_tag(node).unwrap_or("");
            // Looking for a tag that was meant takes time: for the first few it is worth it.
            let near = if found.note_count < NEAR { self.schemas.near_tag(tag, standard) } else { None };
            let near = near.map(|near| format!("did you mean {near}?"));
            found.note_tag(tree, node, &bound, standard, near);
        }
        let notes = std::mem::take(&mut self.program.notes);
        notes.into_iter().filter(|note| !self.program.gaps.contains(note)).for_each(|note| found.note_text(note));
        found.note_gaps(&self.program);
        Ok(found.into_report())
    }

    fn run<'t>(&self, tree: &'t Tree, survey: &Survey<'t>, work: &[(Node<'t>, PartId)], found: &mut Findings) -> Result<()> {
        let mut check = Check::new(&self.program, survey, &self.limits);
        for (node, part) in work {
            if check.fits(*node, *part) && check.stopped.is_none() {
                continue;
            }
            if check.stopped.is_none() && found.explained >= EXPLAINED && found.errors.len() >= found.most {
                // Enough has been told: what comes is counted.
                found.error_count += 1;
            } else if check.stopped.is_none() {
                found.explained += 1;
                let path = found.path(tree, node.id());
                let mut explain = Explain::new(&mut check, path);
                explain.part(*node, *part);
                let reasons = explain.reasons;
                found.errors(reasons.into_iter().map(|reason| reason.tell(&check)));
            }
            if let Some(error) = check.stopped.take() {
                let (line, column) = node.line_column();
                return Err(error.at_text(line, column));
            }
        }
        found.open.append(&mut check.open);
        Ok(())
    }

    fn bound_to(&mut self, tag: &str, standard: Option<&str>) -> Result<Bound> {
        let key = (tag.to_owned(), standard.map(str::to_owned));
        if let Some(known) = self.bound.get(&key) {
            return Ok(known.clone());
        }
        let bound = match self.schemas.of_tag(tag, standard) {
            Tagged::Unknown => Bound::Unknown,
            Tagged::OtherStandard => Bound::OtherStandard,
            Tagged::Schemas(uris) => {
                let mut parts = Vec::with_capacity(uris.len());
                for uri in uris {
                    let part = self.program.part(&self.schemas, &uri, true, &self.limits)?;
                    if part.is_none() {
                        let note = format!("the schema {uri} of the tag {tag} is not known, so that nothing checks it");
                        self.program.notes.push(note);
                    }
                    parts.extend(part);
                }
                Bound::Parts(parts)
            }
        };
        self.bound.insert(key, bound.clone());
        Ok(bound)
    }

    /// Validates the root of a tree against one schema, and nothing else.
    ///
    /// # Errors
    /// Returns the errors of [`Validator::validate`], and [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if there is
    /// no such schema.
    pub fn validate_root(&mut self, tree: &Tree, uri: &str) -> Result<Report> {
        let part = self.program.part(&self.schemas, uri, true, &self.limits)?.ok_or_else(|| missing(uri))?;
        let survey = Survey::of(tree, &self.limits)?;
        let mut found = Findings { most: self.most, ..Findings::default() };
        self.run(tree, &survey, &[(tree.root(), part)], &mut found)?;
        found.note_gaps(&self.program);
        Ok(found.into_report())
    }

    /// Makes every tag look for its schemas again.
    pub(super) fn forget_tags(&mut self) {
        self.bound.clear();
    }

    /// Compiles a schema and all it refers to; what could not be compiled, in words.
    pub(super) fn compile(&mut self, uri: &str) -> Result<Vec<String>> {
        self.program.part(&self.schemas, uri, true, &self.limits)?.ok_or_else(|| missing(uri))?;
        Ok(std::mem::take(&mut self.program.notes))
    }
}

/// Problems as they come in.
#[derive(Default)]
struct Findings {
    most: usize,
    errors: Vec<Diagnostic>,
    warnings: Vec<Diagnostic>,
    notes: Vec<Diagnostic>,
    error_count: usize,
    warning_count: usize,
    note_count: usize,
    explained: usize,
    told: HashSet<(String, String)>,
    /// The gaps of the program that were met.
    open: BTreeSet<u32>,
}

/// Minimum number of explained nodes. Beyond that, once there are enough problems, each node counts as one.
const EXPLAINED: usize = 1000;
/// Maximum number of unknown tags for which a similar known tag is searched.
const NEAR: usize = 100;
/// Maximum number of different problems that are remembered, so that none is reported twice.
const REMEMBERED: usize = 100_000;

impl Findings {
    /// The path of a node, which costs a walk; as long as it will be told.
    fn path(&self, tree: &Tree, node: NodeId) -> TreePath {
        tree.path_of(node).unwrap_or_default()
    }

    fn errors(&mut self, problems: impl Iterator<Item = Diagnostic>) {
        for problem in problems {
            if self.told.len() < REMEMBERED && !self.told.insert((problem.path_text().to_owned(), problem.message.clone())) {
                continue;
            }
            self.error_count += 1;
            if self.errors.len() < self.most {
                self.errors.push(problem);
            }
        }
    }

    fn warn(&mut self, problem: impl FnOnce() -> Diagnostic) {
        self.warning_count += 1;
        if self.warnings.len() < self.most {
            self.warnings.push(problem());
        }
    }

    fn note(&mut self, problem: impl FnOnce() -> Diagnostic) {
        self.note_count += 1;
        if self.notes.len() < self.most {
            self.notes.push(problem());
        }
    }

    /// Checks content that Python asdf refuses to write and only warns of on reading.
    fn of_the_standard(&mut self, tree: &Tree, survey: &Survey<'_>, standard: Option<&str>) {
        let restricted = standard.and_then(version_of).is_some_and(|version| version >= [1, 6, 0]);
        for node in &survey.large {
            self.warn(|| {
                let message = format!("the integer {} does not fit int64 (64 bits with sign)", node.raw());
                warning(tree, *node, message, Some("write it as !core/integer, or as a float".into()))
            });
        }
        for key in survey.keys.iter().filter(|_| restricted) {
            self.warn(|| {
                let message = format!("the key {} is neither a string nor an integer nor a boolean", key.raw());
                warning(tree, *key, message, Some("ASDF 1.6 allows no other keys".into()))
            });
        }
    }

    fn note_tag(&mut self, tree: &Tree, node: Node<'_>, bound: &Bound, standard: Option<&str>, near: Option<String>) {
        let tag = own_tag(node).unwrap_or("");
        let (message, hint) = match bound {
            Bound::OtherStandard => {
                (format!("the tag {tag} is not of standard {}, so that nothing checks it", standard.unwrap_or("?")), near)
            }
            _ => {
                let package = package_of(tag)
                    .filter(|_| near.is_none())
                    .map(|package| format!("the package {package} has one: install it, and name its folder of schemas"));
                (format!("no schema is known for the tag {tag}"), near.or(package))
            }
        };
        self.note(|| {
            let mut problem = warning(tree, node, message, hint);
            problem.severity = Severity::Note;
            if let Some(span) = node.tag_span() {
                (problem.line, problem.column) = tree.line_column(span.start as usize);
                problem.span = span;
            }
            problem
        });
    }

    /// Reports the gaps that a verdict has met and could not check.
    fn note_gaps(&mut self, program: &Program) {
        for gap in self.open.clone() {
            self.note_text(program.gaps.get(gap as usize).cloned().unwrap_or_default());
        }
    }

    fn note_text(&mut self, note: String) {
        self.note(|| Diagnostic::new(Severity::Note, note));
    }

    fn into_report(self) -> Report {
        let mut problems = Vec::new();
        for mut list in [self.errors, self.warnings, self.notes] {
            list.sort_by_key(|problem| problem.span);
            list.truncate(self.most.saturating_sub(problems.len()));
            problems.append(&mut list);
        }
        let (errors, warnings, notes) = (self.error_count, self.warning_count, self.note_count);
        Report { problems, errors, warnings, notes, unchecked: self.open.len() }
    }
}

fn warning(tree: &Tree, node: Node<'_>, message: String, hint: Option<String>) -> Diagnostic {
    let path = tree.path_of(node.id()).map_or(String::new(), |path| path.to_string());
    Diagnostic::new(Severity::Warning, message).at_path(path).at_span(node.span()).at_text(node.line_column()).maybe_hint(hint)
}
