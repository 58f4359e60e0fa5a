//! Comparison of a file with one standard of the family, sentence by sentence.
//!
//! Reading is lenient, because existing files depart from their standards. Here the letter counts: each
//! [`StandardDocument`] is a table of [`ConformanceRule`]s, one for each sentence that a file can break, and [`conform`] lists the
//! deviations, with their places and remedies. Sentences are counted within their section: one ends with its full
//! stop, or with its paragraph or list item, and displayed content below it belongs to it.
//!
//! One file for each standard holds its table. The check of a rule is the same in all standards that have it, and
//! is in one place (`header`, `blocks`, `index`, `chain`, `tree`, and `dudley`).

mod asdf;
mod asdf_010;
mod asdf_1;
mod asdf_dev;
mod blocks;
mod chain;
mod dudley;
mod dudley_2025;
mod dudley_2026;
mod finf;
mod header;
mod index;
mod ndarray;
mod report;
mod rule;
mod tree;

use std::sync::Arc;

use crate::array::Byteorder;
use crate::asdf::Generation;
use crate::bytes::{Resolve, SourceRef};
use crate::error::{Error, Result};
use crate::layout::Dialect;
use crate::limits::Limits;

pub use report::{ConformityReport, FindingLocation, RuleDeviation, UndecidedRule};
pub use rule::ConformanceRule;

/// A document of the family.
#[derive(Debug)]
#[non_exhaustive]
pub struct StandardDocument {
    /// Name of the document on the command line: `asdf-1.x`.
    pub name: &'static str,
    /// The title.
    pub title: &'static str,
    /// Rules of the document, in its order. A sentence with several demands has several rules.
    pub rules: &'static [ConformanceRule],
    law: RuleSubject,
}

/// The subject of the rules.
#[derive(Debug)]
enum RuleSubject {
    Asdf(AsdfRules),
    Dudley(Dialect),
}

/// The common rules of the standards of FINF and ASDF, under their own numbers.
#[derive(Debug)]
struct AsdfRules {
    /// The first word of the header line.
    token: &'static str,
    /// The first number of the version.
    major: u32,
    /// The block mark.
    block_magic: &'static [u8],
    /// The row of the table of generations that has its block header.
    generation: &'static str,
    /// `true` if comment lines may be after the header line.
    comments: bool,
    /// `true` if there may be a block index, and unused space between blocks.
    index: bool,
    /// The expansion of `!`.
    prefix: &'static str,
    /// `true` if a fragment begins with a slash, as JSON Pointer has it; the example of 0.1.0dev has none.
    strict_pointers: bool,
}

impl AsdfRules {
    fn generation(&self) -> Result<&'static Generation> {
        let row = crate::asdf::GENERATIONS.iter().find(|row| row.name == self.generation);
        row.ok_or_else(|| Error::unsupported(format!("the generation {} is not in the table", self.generation)))
    }
}

/// Every document, oldest first.
pub static DOCUMENTS: &[&StandardDocument] = &[
    &finf::DOCUMENT,
    &asdf_dev::DOCUMENT,
    &asdf_010::DOCUMENT,
    &asdf_1::DOCUMENT,
    &dudley_2025::DOCUMENT,
    &dudley_2026::DOCUMENT,
];

impl StandardDocument {
    /// The document of this name.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) with the names that there are.
    ///
    /// ```
    /// use trilith::check::StandardDocument;
    /// assert_eq!(StandardDocument::from_name("finf-0.1")?.title, "FINF 0.1.0, file layout");
    /// assert!(StandardDocument::from_name("asdf-2").is_err());
    /// # Ok::<(), trilith::Error>(())
    /// ```
    pub fn from_name(name: &str) -> Result<&'static Self> {
        DOCUMENTS
            .iter()
            .copied()
            .find(|document| document.name == name)
            .ok_or_else(|| Error::unknown("document", name, DOCUMENTS.iter().map(|document| document.name)))
    }
}

/// Facts about a Dudley stream besides its bytes.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ConformOptions {
    /// The text of the layout, if it is in another file.
    pub layout: Option<Vec<u8>>,
    /// The byte order of whatever layout and signature leave open.
    pub order: Option<Byteorder>,
}

/// Compares a file with a document. `resolve` opens the files that it refers to.
///
/// For the documents of Dudley the file is a native stream, any file with the layout that is next to it or that
/// `options` give, or a layout alone.
///
/// # Errors
/// Returns [`ErrorKind::Io`](crate::ErrorKind::Io) if it cannot be read, and
/// [`ErrorKind::Limit`](crate::ErrorKind::Limit) if that exceeds a limit. Malformed content is a deviation, or is
/// listed in [`ConformityReport::undecided`].
///
/// ```
/// use std::sync::Arc;
/// use trilith::bytes::{NoReferences, MemorySource};
/// use trilith::check::{ConformOptions, StandardDocument, conform};
/// let text = "#ASDF 1.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\na: 1\n...\n";
/// let source = Arc::new(MemorySource::new(text.into(), "x.asdf"));
/// let limits = trilith::Limits::default();
/// let found = conform(source, Arc::new(NoReferences), StandardDocument::from_name("asdf-1.x")?, &ConformOptions::default(), &limits)?;
/// assert_eq!(found.conforms(), Some(false));
/// let rule = found.deviations[0].rule;
/// assert_eq!((rule.section, rule.sentence), ("Header", 9));
/// # Ok::<(), trilith::Error>(())
/// ```
#[allow(clippy::needless_pass_by_value, reason = "a stream keeps its source, a file of the ASDF family shares it")]
pub fn conform(
    source: SourceRef,
    resolve: Arc<dyn Resolve>,
    document: &'static StandardDocument,
    options: &ConformOptions,
    limits: &Limits,
) -> Result<ConformityReport> {
    let mut found = report::Findings::new(document);
    match &document.law {
        RuleSubject::Asdf(law) => asdf::check_asdf_file(&source, resolve, law, limits, &mut found)?,
        RuleSubject::Dudley(dialect) => dudley::check_layout(source, &*resolve, *dialect, options, limits, &mut found)?,
    }
    Ok(found.finish())
}
