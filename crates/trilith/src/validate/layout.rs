//! Validating the layout of a Dudley stream: its language, and that all addresses can be found.

use crate::dudley::DudleyFile;
use crate::error::{Error, ErrorKind, Location, Result};
use crate::layout::{self, ParseOptions};
use crate::schema::{Problem, Report, Severity};
use crate::span::Span;

/// What is wrong with it.
pub(super) fn check(file: &DudleyFile) -> Result<Report> {
    let layout = file.layout();
    let how = ParseOptions { dialect: Some(layout.dialect()), limits: file.limits().clone() };
    let parsed = layout::parse(layout.text().get(..layout.text_end()).unwrap_or("").as_bytes(), &how)?;
    let mut report = Report::default();
    for found in parsed.diagnostics {
        let severity = if found.code.is_warning() { Severity::Warning } else { Severity::Error };
        report.push(Problem {
            severity,
            path: String::new(),
            line: found.line,
            column: found.column,
            byte: None,
            span: found.span,
            message: format!("{}: {}", found.code, found.message),
            rule: String::new(),
            schema: String::new(),
            hint: Some(found.hint).filter(|hint| !hint.is_empty()),
        });
    }
    match file.items().and_then(|items| items.entries().try_for_each(|entry| entry.map(drop))) {
        Err(error) if matches!(error.kind(), ErrorKind::Malformed | ErrorKind::Usage) => report.push(problem_of(&error)),
        done => done?,
    }
    Ok(report)
}

/// An error as a problem.
fn problem_of(error: &Error) -> Problem {
    let (mut line, mut column, mut byte, mut path) = (0, 0, None, String::new());
    match error.location() {
        Location::Byte(at) => byte = Some(*at),
        Location::Text { line: l, column: c } => (line, column) = (*l, *c),
        Location::Path(at) => path.clone_from(at),
        _ => {}
    }
    Problem {
        severity: Severity::Error,
        path,
        line,
        column,
        byte,
        span: Span::default(),
        message: error.to_string(),
        rule: String::new(),
        schema: String::new(),
        hint: error.advice(),
    }
}
