//! What validation has found, for people and programs.

use std::fmt;

use crate::span::Span;
use crate::tree::Warning;

/// How much a [`Problem`] matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
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
pub struct Problem {
    /// How much it matters.
    pub severity: Severity,
    /// JSON Pointer of the node.
    pub path: String,
    /// Line within the file, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
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
pub struct Report {
    /// The first problems, errors before warnings, each in document order.
    pub problems: Vec<Problem>,
    /// How many errors there are, shown or not.
    pub errors: usize,
    /// How many warnings and notes there are, shown or not.
    pub warnings: usize,
}

impl Report {
    /// Whether the tree follows its schemas.
    pub fn is_valid(&self) -> bool {
        self.errors == 0
    }

    /// Adds what a strict reader of YAML would refuse.
    pub fn add_warnings(&mut self, warnings: Vec<Warning>) {
        for Warning { message, span, line, column, .. } in warnings {
            self.warnings += 1;
            let (path, rule, schema) = Default::default();
            self.problems.push(Problem {
                severity: Severity::Warning,
                path,
                line,
                column,
                span,
                message,
                rule,
                schema,
                hint: None,
            });
        }
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

/// The name that is nearest to `word`, if one is near enough to be meant.
///
/// ```
/// use trilith::schema::nearest;
/// assert_eq!(nearest("flaot64", ["float32", "float64", "int64"]), Some("float64"));
/// assert_eq!(nearest("banana", ["float32", "int64"]), None);
/// ```
pub fn nearest<'w>(word: &str, names: impl IntoIterator<Item = &'w str>) -> Option<&'w str> {
    let length = word.chars().count();
    if length == 0 || length > 100 {
        return None;
    }
    let most = (length / 3).clamp(1, 4);
    let lower = word.to_lowercase();
    names
        .into_iter()
        .filter(|name| name.chars().count().abs_diff(length) <= most)
        .map(|name| (distance(&lower, &name.to_lowercase()), name))
        .filter(|(far, name)| *far <= most && *name != word)
        .min_by_key(|(far, _)| *far)
        .map(|(_, name)| name)
}

/// Edits between two words: insertions, deletions, changes and swaps of neighbours.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let cost = usize::from(x != y);
            let mut least = (last[j] + cost).min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && a[i - 1] == *y && b[j - 1] == *x {
                least = least.min(before[j - 1] + 1);
            }
            row.push(least);
        }
        before = last;
        last = row;
    }
    last.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_swap_is_one_edit() {
        assert_eq!(distance("flaot64", "float64"), 1);
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(nearest("Float64", ["float64"]), Some("float64"));
        assert_eq!(nearest("", ["a"]), None);
    }
}
