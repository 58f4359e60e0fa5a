//! Validating any open file: an ASDF tree against the schemas of its tags, a Dudley layout against its language.

use crate::asdf::{AsdfFile, deviation};
use crate::core::unit;
use crate::dudley::DudleyFile;
use crate::error::{Error, Kind, Location, Result};
use crate::file::File;
use crate::layout::{self, ParseOptions};
use crate::schema::{Problem, Report, Severity, Validator};
use crate::span::Span;

impl File {
    /// Validates what the file says. Of the ASDF family: its tree against the schemas of its tags, the tag of its
    /// root and its units. Of a Dudley stream: that its layout has no error and all addresses can be found. With
    /// `strict` warnings count as errors.
    ///
    /// ```
    /// use trilith::schema::{Schemas, Validator};
    /// let file = trilith::OpenOptions::new().open_bytes(b"#ASDF 1.0.0\n%YAML 1.1\n--- {a: 1}\n...\n".to_vec())?;
    /// let report = file.validate(&mut Validator::new(Schemas::bundled()), false)?;
    /// // The root has no tag.
    /// assert_eq!((report.is_valid(), report.warnings), (true, 1));
    /// # Ok::<(), trilith::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Kind::Unsupported`](crate::Kind::Unsupported) for a family that has no rules, and what reading the file says.
    pub fn validate(&self, validator: &mut Validator, strict: bool) -> Result<Report> {
        let mut report = match (self.as_asdf(), self.as_dudley()) {
            (Some(file), _) => of_tree(file, validator)?,
            (_, Some(file)) => of_layout(file)?,
            _ => {
                return Err(Error::unsupported(format!("there are no schemas for files of the family {}", self.family()))
                    .hint("verify checks the bytes of any file"));
            }
        };
        if strict {
            report.make_strict();
        }
        Ok(report)
    }

    /// The text that problems of [`File::validate`] are about: the tree, or the layout.
    pub fn validated_text(&self) -> &str {
        match (self.as_asdf(), self.as_dudley()) {
            (Some(file), _) => file.tree().text(),
            (_, Some(file)) => file.layout().text(),
            _ => "",
        }
    }
}

fn of_tree(file: &AsdfFile, validator: &mut Validator) -> Result<Report> {
    let tree = file.tree();
    let mut report = validator.validate(tree, file.standard().as_deref())?;
    report.add_warnings(tree.warnings());
    if let Some(message) = deviation::of_root(file) {
        let root = tree.root();
        report.add(tree, "", root.tag_span().unwrap_or_else(|| root.span()), message, None);
    }
    for finding in unit::check(tree, file.limits())? {
        report.add(tree, &finding.path, finding.span, finding.message, finding.hint);
    }
    Ok(report)
}

fn of_layout(file: &DudleyFile) -> Result<Report> {
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
        Err(error) if matches!(error.kind(), Kind::Malformed | Kind::Usage) => report.push(problem_of(&error)),
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
