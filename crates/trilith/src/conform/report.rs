//! Results of a comparison: deviations, and undecided questions.

use super::Document;
use super::rule::{Check, Rule};
use crate::error::{Error, ErrorKind, Location, Result};

/// Words of remedies that only help a file which can be read as a whole.
const WHOLE: [&str; 2] = ["convert it with", "with repack"];
/// Remedy for a file that no command can read.
pub(super) const BY_HAND: &str = "correct these bytes by hand, because no command can read the file";

/// Number of deviations that are enough.
const MOST: usize = 1000;

/// The place of a deviation from a standard.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Place {
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

impl Place {
    /// A byte of the file.
    pub(super) fn byte(at: u64) -> Self {
        Self { byte: Some(at), ..Self::default() }
    }

    /// A byte in the block of this number.
    pub(super) fn block(number: usize, at: u64) -> Self {
        Self { byte: Some(at), block: Some(number), ..Self::default() }
    }

    /// A line and column of the text.
    pub(super) fn text(line: u32, column: u32) -> Self {
        Self { line: Some(line), column: Some(column), ..Self::default() }
    }

    /// Adds the path of a node or item to the place.
    #[must_use]
    pub(super) fn at_path(mut self, path: impl Into<String>) -> Self {
        self.path = Some(path.into());
        self
    }

    /// Returns the place of an error.
    pub(super) fn of(error: &Error) -> Self {
        match error.location() {
            Location::Byte(at) => Self::byte(*at),
            Location::Text { line, column } => Self::text(*line, *column),
            Location::Path(path) => Self::default().at_path(path.clone()),
            _ => Self::default(),
        }
    }
}

impl std::fmt::Display for Place {
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
pub struct Deviation {
    /// The rule.
    pub rule: &'static Rule,
    /// The place.
    pub place: Place,
    /// The finding.
    pub message: String,
    /// Remedy: [`Rule::mend`], unless this file needs something else.
    pub mend: &'static str,
}

/// Question that the document leaves open, or that could not be checked.
#[derive(Debug)]
#[non_exhaustive]
pub struct Open {
    /// The place.
    pub place: Place,
    /// The question, and the reason why it is undecided.
    pub message: String,
}

/// The result of comparing a file with a standard.
#[derive(Debug)]
#[non_exhaustive]
pub struct Conformity {
    /// The document.
    pub document: &'static Document,
    /// Deviations, in the order of its rules, each in the order of the file; at most 1,000.
    pub deviations: Vec<Deviation>,
    /// Undecided questions.
    pub open: Vec<Open>,
}

impl Conformity {
    /// Returns `true` if the file conforms, or None if that cannot be told.
    pub fn conforms(&self) -> Option<bool> {
        match (self.deviations.is_empty(), self.open.is_empty()) {
            (false, _) => Some(false),
            (true, true) => Some(true),
            (true, false) => None,
        }
    }
}

/// Collects what is found.
pub(super) struct Found {
    document: &'static Document,
    deviations: Vec<(usize, Deviation)>,
    open: Vec<Open>,
    instead: Option<&'static str>,
}

impl Found {
    pub(super) fn new(document: &'static Document) -> Self {
        Self { document, deviations: Vec::new(), open: Vec::new(), instead: None }
    }

    /// Notes a deviation, if the document has a rule about it.
    pub(super) fn add(&mut self, check: Check, place: Place, message: impl Into<String>) {
        self.add_mended(check, place, message, None);
    }

    /// Notes a deviation that may need another remedy than the one of its rule.
    pub(super) fn add_mended(&mut self, check: Check, place: Place, message: impl Into<String>, mend: Option<&'static str>) {
        let Some(at) = self.document.rules.iter().position(|rule| rule.check == check) else { return };
        let Some(rule) = self.document.rules.get(at).filter(|_| self.deviations.len() < MOST) else { return };
        self.deviations.push((at, Deviation { rule, place, message: message.into(), mend: mend.unwrap_or(rule.mend) }));
    }

    /// Replaces the remedy of conversion for a file that cannot be converted in its present form.
    pub(super) fn instead_of_converting(&mut self, mend: Option<&'static str>) {
        self.instead = mend;
    }

    /// Returns `true` if the document has a rule about it.
    pub(super) fn asks(&self, check: Check) -> bool {
        self.document.rules.iter().any(|rule| rule.check == check)
    }

    /// Notes what cannot be decided.
    pub(super) fn leave(&mut self, place: Place, message: impl Into<String>) {
        if self.open.len() < MOST {
            self.open.push(Open { place, message: message.into() });
        }
    }

    /// Notes an error: what is malformed departs from the rule, what is unsupported or refused stays open.
    ///
    /// # Errors
    /// Returns the error itself if the file could not be read, so that nothing can be stated about it.
    pub(super) fn judge(&mut self, check: Check, place: Place, error: Error) -> Result<()> {
        match error.kind() {
            ErrorKind::Io => return Err(error),
            ErrorKind::Malformed | ErrorKind::InvalidInput if self.asks(check) => self.add(check, place, error.message()),
            _ => self.leave(place, error.to_string()),
        }
        Ok(())
    }

    /// Returns the number of deviations found so far.
    pub(super) fn count(&self) -> usize {
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
        self.deviations.is_empty() && self.open.is_empty()
    }

    pub(super) fn finish(mut self) -> Conformity {
        self.deviations.sort_by_key(|(at, _)| *at);
        let mut deviations: Vec<Deviation> = self.deviations.into_iter().map(|(_, deviation)| deviation).collect();
        if let Some(instead) = self.instead {
            let is_whole = |deviation: &&mut Deviation| WHOLE.iter().any(|words| deviation.mend.contains(words));
            for deviation in deviations.iter_mut().filter(is_whole) {
                // No command can restore the header line.
                let of_line = matches!(deviation.rule.check, Check::Token | Check::Major | Check::Minor | Check::Version);
                deviation.mend = if of_line { BY_HAND } else { instead };
            }
        }
        Conformity { document: self.document, deviations, open: self.open }
    }
}
