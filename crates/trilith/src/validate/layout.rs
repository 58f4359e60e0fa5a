//! Validating the layout of a Dudley stream: its language, and that all addresses can be found.

use crate::diagnostic::{Diagnostic, Severity};
use crate::dudley::DudleyFile;
use crate::error::{Error, ErrorKind, Location, Result};
use crate::layout::{self, ParseOptions};
use crate::schema::ValidationReport;

/// Lists its problems.
pub(super) fn check_layout(file: &DudleyFile) -> Result<ValidationReport> {
    let layout = file.layout();
    let mut how = ParseOptions::default();
    (how.dialect, how.limits) = (Some(layout.dialect()), file.limits().clone());
    let parsed = layout::parse(layout.text().get(..layout.text_end()).unwrap_or("").as_bytes(), &how)?;
    let mut report = ValidationReport::default();
    for mut found in parsed.diagnostics {
        found.message = format!("{}: {}", found.code, found.message);
        report.push(found);
    }
    match file.locate_items().and_then(|items| items.entries().try_for_each(|entry| entry.map(drop))) {
        Err(error) if error.kind().is_request() || error.kind() == ErrorKind::Malformed => report.push(problem_of(&error)),
        done => done?,
    }
    Ok(report)
}

/// An error as one of the findings.
fn problem_of(error: &Error) -> Diagnostic {
    let mut found = Diagnostic::new(Severity::Error, error.to_string()).opt_hint(error.advice());
    match error.location() {
        Location::Byte(at) => {
            found.byte = Some(*at);
            found
        }
        Location::Text { line, column } => found.at_text((*line, *column)),
        Location::Path(at) => found.at_path(at),
        _ => found,
    }
}
