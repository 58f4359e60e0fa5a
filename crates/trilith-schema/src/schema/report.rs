//! Results of validation, for people and programs.

use std::collections::HashSet;

use crate::diagnostic::{Diagnostic, Severity};
use crate::span::Span;
use crate::tree::TreeRule;

/// The result of validating one tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ValidationReport {
    /// The first problems, errors before warnings, each in document order.
    pub problems: Vec<Diagnostic>,
    /// Number of errors, shown or not.
    pub errors: usize,
    /// Number of warnings, shown or not.
    pub warnings: usize,
    /// Number of notes, shown or not.
    pub notes: usize,
    /// Number of rules that could not be checked: references of schemas that lead nowhere, and invalid patterns. If
    /// there are any, a tree without errors may still be invalid.
    pub unchecked_rules: usize,
}

impl ValidationReport {
    /// Returns `true` if no rule is broken, as far as the rules could be checked: see [`ValidationReport::is_decided`].
    pub fn is_valid(&self) -> bool {
        self.errors == 0
    }

    /// Removes the notes about an item.
    #[doc(hidden)]
    pub fn remove_notes_at(&mut self, path: &str) {
        let before = self.problems.len();
        self.problems.retain(|problem| problem.severity != Severity::Note || problem.path.as_deref() != Some(path));
        self.notes = self.notes.saturating_sub(before - self.problems.len());
    }

    /// Returns `true` if validation could decide whether the tree is valid.
    pub fn is_decided(&self) -> bool {
        self.errors > 0 || self.unchecked_rules == 0
    }

    /// Adds the faults that a strict YAML reader would report, if validation has not reported them yet.
    pub fn add_warnings(&mut self, warnings: Vec<Diagnostic>) {
        let told: HashSet<Span> = self.problems.iter().map(|problem| problem.span).collect();
        for warning in warnings {
            let is_checked = [TreeRule::KeyType, TreeRule::BigInteger].iter().any(|rule| rule.name() == warning.code);
            if is_checked && told.contains(&warning.span) {
                continue;
            }
            self.warnings += 1;
            self.problems.push(warning.at_path(""));
        }
    }

    /// Adds a problem, found by somebody else.
    pub fn push(&mut self, problem: Diagnostic) {
        *match problem.severity {
            Severity::Error => &mut self.errors,
            Severity::Warning => &mut self.warnings,
            _ => &mut self.notes,
        } += 1;
        self.problems.push(problem);
    }

    /// Turns the warnings into errors.
    pub fn make_strict(&mut self) {
        for problem in self.problems.iter_mut().filter(|problem| problem.severity == Severity::Warning) {
            problem.severity = Severity::Error;
            self.errors += 1;
            self.warnings = self.warnings.saturating_sub(1);
        }
    }
}
