//! What validation has found, for people and programs.

use std::collections::HashSet;
use std::fmt;

use crate::span::Span;
use crate::tree::{Rule, Tree, Warning};

/// How much a [`Problem`] matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Severity {
    /// The tree is invalid.
    Error,
    /// The tree is valid, but writers refuse to write it.
    Warning,
    /// Part of the tree could not be checked.
    Note,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        })
    }
}

/// One thing that is wrong with a tree, where, and by which rule.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// How much it matters.
    pub severity: Severity,
    /// JSON Pointer of the node; the path of the item in a Dudley stream, "" where it is about none.
    pub path: String,
    /// Line within the file, from 1; 0 where it is not known.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// The byte of the file, where that is all that is known.
    pub byte: Option<u64>,
    /// The offending text, within the tree's text.
    pub span: Span,
    /// What is wrong, in words.
    pub message: String,
    /// The rule, in words; "" where the message says it all.
    pub rule: String,
    /// URI and pointer of the rule; "" for a rule of the standard itself.
    pub schema: String,
    /// What may have been meant, or what to do.
    pub hint: Option<String>,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = if self.path.is_empty() { "the root" } else { &self.path };
        write!(f, "{path} (line {}, column {}): {}", self.line, self.column, self.message)?;
        if !self.rule.is_empty() {
            write!(f, ", expected {}", self.rule)?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "; {hint}")?;
        }
        Ok(())
    }
}

/// The result of validating one tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// The first problems, errors before warnings, each in document order.
    pub problems: Vec<Problem>,
    /// How many errors there are, shown or not.
    pub errors: usize,
    /// How many warnings there are, shown or not.
    pub warnings: usize,
    /// How many notes there are, shown or not.
    pub notes: usize,
    /// How many rules that the tree met could not be checked: references of schemas that lead nowhere, and patterns
    /// that are none. Where there are some, a tree without errors may be invalid all the same.
    pub unchecked: usize,
}

impl Report {
    /// Whether no rule is broken, as far as the rules could be checked: see [`Report::is_decided`].
    pub fn is_valid(&self) -> bool {
        self.errors == 0
    }

    /// Whether it is certain that the tree is valid or that it is not.
    pub fn is_decided(&self) -> bool {
        self.errors > 0 || self.unchecked == 0
    }

    /// Adds what a strict reader of YAML would refuse, and validating has not told yet.
    pub fn add_warnings(&mut self, warnings: Vec<Warning>) {
        let told: HashSet<Span> = self.problems.iter().map(|problem| problem.span).collect();
        for Warning { rule, message, span, line, column } in warnings {
            if matches!(rule, Rule::KeyType | Rule::BigInteger) && told.contains(&span) {
                continue;
            }
            self.warnings += 1;
            let (rule, schema) = Default::default();
            self.problems.push(Problem {
                severity: Severity::Warning,
                path: String::new(),
                line,
                column,
                byte: None,
                span,
                message,
                rule,
                schema,
                hint: None,
            });
        }
    }

    /// Adds a warning about a node, found by somebody else.
    pub fn add(&mut self, tree: &Tree, path: &str, span: Span, message: String, hint: Option<String>) {
        let (line, column) = tree.line_column(span.start as usize);
        let (path, rule, schema) = (path.to_owned(), String::new(), String::new());
        let severity = Severity::Warning;
        self.push(Problem { severity, path, line, column, byte: None, span, message, rule, schema, hint });
    }

    /// Adds a problem, found by somebody else.
    pub fn push(&mut self, problem: Problem) {
        *match problem.severity {
            Severity::Error => &mut self.errors,
            Severity::Warning => &mut self.warnings,
            Severity::Note => &mut self.notes,
        } += 1;
        self.problems.push(problem);
    }

    /// Takes the warnings that are told for errors.
    pub fn make_strict(&mut self) {
        for problem in self.problems.iter_mut().filter(|problem| problem.severity == Severity::Warning) {
            problem.severity = Severity::Error;
            self.errors += 1;
            self.warnings = self.warnings.saturating_sub(1);
        }
    }
}
