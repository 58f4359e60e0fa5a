//! Results of a comparison: deviations, and undecided questions.

use super::StandardDocument;
use super::rule::{Check, ConformanceRule};
use crate::error::{Error, ErrorKind, Location, Result};

/// Words of remedies that only help a file which can be read as a whole.
const WHOLE_FILE_REMEDIES: [&str; 2] = ["convert it with", "with repack"];
/// Remedy for a file that no command can read.
pub(super) const REMEDY_BY_HAND: &str = "correct these bytes by hand, because no command can read the file";

/// Number of deviations that are enough.
const MAX_DEVIATIONS: usize = 1000;

/// The place of a deviation from a standard.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FindingLocation {
    /// The node of the tree, or the item of the layout.
    pub path: Option<String>,
    /// Line of the file, or of the layout, from 1.
    pub line: Option<u32>,
    /// Column in characters, from 1.
    pub column: Option<u32>,
    /// Byte of the file, from 0.
    pub byte: Option<u64>,
    /// Number of the block.
    pub block: Option<usize>,
}

impl FindingLocation {
    /// A byte of the file.
    pub(super) fn from_byte(at: u64) -> Self {
        Self { byte: Some(at), ..Self::default() }
    }

    /// A byte in the block of this number.
    pub(super) fn from_block(number: usize, at: u64) -> Self {
        Self { byte: Some(at), block: Some(number), ..Self::default() }
    }

    /// A line and column of the text.
    pub(super) fn at_text(line: u32, column: u32) -> Self {
        Self { line: Some(line), column: Some(column), ..Self::default() }
    }

    /// Adds the path of a node or item to the place.
    #[must_use]
    pub(super) fn at_path(mut self, path: impl Into<String>) -> Self {
        self.path = Some(path.into());
        self
    }

    /// Returns the place of an error.
    pub(super) fn from_error(error: &Error) -> Self {
        match error.location() {
            Location::Byte(at) => Self::from_byte(*at),
            Location::Text { line, column } => Self::at_text(*line, *column),
            Location::Path(path) => Self::default().at_path(path.clone()),
            _ => Self::default(),
        }
    }
}

impl std::fmt::Display for FindingLocation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let block = self.block.map(|number| format!("block {number}"));
        let path = self.path.as_ref().map(|path| if path.is_empty() { "the root".to_owned() } else { path.clone() });
        let text = self.line.map(|line| format!("line {line}, column {}", self.column.unwrap_or(1)));
        let byte = self.byte.filter(|_| text.is_none()).map(|at| format!("byte {at}"));
        let parts: Vec<String> = [path, block, text, byte].into_iter().flatten().collect();
        f.write_str(&parts.join(", "))
    }
}

/// Departure of a file from one rule of a document.
#[derive(Debug)]
#[non_exhaustive]
pub struct RuleDeviation {
    /// The rule.
    pub rule: &'static ConformanceRule,
    /// The place.
    pub place: FindingLocation,
    /// The finding.
    pub message: String,
    /// Remedy: [`ConformanceRule::remedy`], unless this file needs something else.
    pub remedy: &'static str,
}

/// Question that the document leaves open, or that could not be checked.
#[derive(Debug)]
#[non_exhaustive]
pub struct UndecidedRule {
    /// The place.
    pub place: FindingLocation,
    /// The question, and the reason why it is undecided.
    pub message: String,
}

/// The result of comparing a file with a standard.
#[derive(Debug)]
#[non_exhaustive]
pub struct ConformityReport {
    /// The document.
    pub document: &'static StandardDocument,
    /// Deviations, in the order of its rules, each in the order of the file; at most 1,000.
    pub deviations: Vec<RuleDeviation>,
    /// UndecidedRule questions.
    pub undecided: Vec<UndecidedRule>,
}

impl ConformityReport {
    /// Returns `true` if the file conforms, or None if this cannot be decided.
    pub fn conforms(&self) -> Option<bool> {
        match (self.deviations.is_empty(), self.undecided.is_empty()) {
            (false, _) => Some(false),
            (true, true) => Some(true),
            (true, false) => None,
        }
    }
}

/// Collects what is found.
pub(super) struct Findings {
    document: &'static StandardDocument,
    deviations: Vec<(usize, RuleDeviation)>,
    undecided: Vec<UndecidedRule>,
    remedy_override: Option<&'static str>,
}

impl Findings {
    pub(super) fn new(document: &'static StandardDocument) -> Self {
        Self { document, deviations: Vec::new(), undecided: Vec::new(), remedy_override: None }
    }

    /// Notes a deviation, if the document has a rule about it.
    pub(super) fn add_deviation(&mut self, check: Check, place: FindingLocation, message: impl Into<String>) {
        self.add_with_remedy(check, place, message, None);
    }

    /// Notes a deviation that may need another remedy than the one of its rule.
    pub(super) fn add_with_remedy(
        &mut self,
        check: Check,
        place: FindingLocation,
        message: impl Into<String>,
        mend: Option<&'static str>,
    ) {
        let Some(at) = self.document.rules.iter().position(|rule| rule.check == check) else { return };
        let Some(rule) = self.document.rules.get(at).filter(|_| self.deviations.len() < MAX_DEVIATIONS) else { return };
        self.deviations.push((at, RuleDeviation { rule, place, message: message.into(), remedy: mend.unwrap_or(rule.remedy) }));
    }

    /// Replaces the remedy of conversion for a file that cannot be converted in its present form.
    pub(super) fn override_remedy(&mut self, mend: Option<&'static str>) {
        self.remedy_override = mend;
    }

    /// Returns `true` if the document has a rule about it.
    pub(super) fn has_rule(&self, check: Check) -> bool {
        self.document.rules.iter().any(|rule| rule.check == check)
    }

    /// Notes what cannot be decided.
    pub(super) fn leave_undecided(&mut self, place: FindingLocation, message: impl Into<String>) {
        if self.undecided.len() < MAX_DEVIATIONS {
            self.undecided.push(UndecidedRule { place, message: message.into() });
        }
    }

    /// Notes an error: what is malformed departs from the rule, what is unsupported or refused stays open.
    ///
    /// # Errors
    /// Returns the error itself if the file could not be read, so that nothing can be stated about it.
    pub(super) fn record_error(&mut self, check: Check, place: FindingLocation, error: Error) -> Result<()> {
        match error.kind() {
            ErrorKind::Io => return Err(error),
            ErrorKind::Malformed | ErrorKind::InvalidInput if self.has_rule(check) => {
                self.add_deviation(check, place, error.message());
            }
            _ => self.leave_undecided(place, error.to_string()),
        }
        Ok(())
    }

    /// Returns the number of deviations found so far.
    pub(super) fn deviation_count(&self) -> usize {
        self.deviations.len()
    }

    /// Returns `true` if one of these was found.
    pub(super) fn has_any(&self, checks: &[Check]) -> bool {
        self.deviations.iter().any(|(_, deviation)| checks.contains(&deviation.rule.check))
    }

    /// Returns `true` if something was found in a block.
    pub(super) fn has_blocks(&self) -> bool {
        self.deviations.iter().any(|(_, deviation)| deviation.place.block.is_some())
    }

    /// Returns `true` if nothing was found so far.
    pub(super) fn is_empty(&self) -> bool {
        self.deviations.is_empty() && self.undecided.is_empty()
    }

    pub(super) fn finish(mut self) -> ConformityReport {
        self.deviations.sort_by_key(|(at, _)| *at);
        let mut deviations: Vec<RuleDeviation> = self.deviations.into_iter().map(|(_, deviation)| deviation).collect();
        if let Some(instead) = self.remedy_override {
            let is_whole =
                |deviation: &&mut RuleDeviation| WHOLE_FILE_REMEDIES.iter().any(|words| deviation.remedy.contains(words));
            for deviation in deviations.iter_mut().filter(is_whole) {
                // No command can restore the header line.
                let of_line = matches!(deviation.rule.check, Check::Token | Check::Major | Check::Minor | Check::Version);
                deviation.remedy = if of_line { REMEDY_BY_HAND } else { instead };
            }
        }
        ConformityReport { document: self.document, deviations, undecided: self.undecided }
    }
}
