//! `trilith validate FILE…`: the rules that schemas have for a tree.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use clap::Args;
use serde_json::{Value, json};
use trilith::asdf::AsdfFile;
use trilith::check::{SchemaSet, ValidationReport, Validator};
use trilith::dudley::DudleyFile;
use trilith::{Diagnostic, Error, ErrorKind, File, Result, Severity};

use super::schema::{SchemaSources, text_of};
use crate::outcome::Outcome;
use crate::inputs::{InputFiles, FileJob};
use crate::json::diagnostic_json;
use crate::session::{FileRole, Session};
use crate::output::Output;
use crate::advice::error_with_advice;

/// Check the trees of files against the schemas of their tags
///
/// The result is that of Python asdf. For a Dudley file, the command checks the layout as `layout check` does, and that
/// it can compute all byte offsets. Exit status 1 if a file is invalid or malformed. The output has at most ten problems
/// of a file (all with --verbose). Warnings are about content that Python asdf would not write.
#[derive(Debug, Args)]
pub(crate) struct Validate {
    #[command(flatten)]
    rules: RuleArgs,
    #[command(flatten)]
    files: InputFiles,
}

/// The schemas that trees are checked against.
#[derive(Debug, Args)]
pub(crate) struct RuleArgs {
    /// A schema that the whole tree must fit, in addition: a file, or the URI of a known one
    #[arg(long, value_name = "S")]
    schema: Option<PathBuf>,
    #[command(flatten)]
    sources: SchemaSources,
    /// Treat warnings as errors
    #[arg(long)]
    strict: bool,
}

impl Validate {
    /// Prints what is wrong.
    pub(crate) fn run(&self, session: &Session<'_>) -> Result<Outcome> {
        let validators = self.rules.validators(session)?;
        self.files.run(session, |job| {
            let (outcome, value) = validators.examine(job, VerdictSubject::File)?;
            if job.session.args.json {
                job.out.write_json(&value)?;
            }
            Ok(outcome)
        })
    }
}

/// The thing that the verdict is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VerdictSubject {
    File,
    /// The tree or the layout, because other parts of the file have other verdicts. `is_damaged` if one of these is negative.
    Part { is_damaged: bool },
}

/// Validators that one thread after another takes, so that schemas are compiled once.
pub(crate) struct ValidatorPool<'a> {
    rules: &'a RuleArgs,
    schemas: SchemaSet,
    free: Mutex<Vec<Validator>>,
}

impl ValidatorPool<'_> {
    /// Checks the tree of a file, and prints the result unless it is wanted as JSON, which is given back.
    pub(crate) fn examine(&self, job: &mut FileJob<'_>, subject: VerdictSubject) -> Result<(Outcome, Value)> {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut validator = match free {
            Some(free) => free,
            None => self.rules.build_validator(self.schemas.clone(), job.session)?,
        };
        let examined = validate_file(job, &mut validator, self.rules.strict, subject);
        self.free.lock().unwrap_or_else(PoisonError::into_inner).push(validator);
        examined
    }
}

impl RuleArgs {
    /// Loads the schemas. Their faults hold for all files.
    pub(crate) fn validators(&self, session: &Session<'_>) -> Result<ValidatorPool<'_>> {
        let schemas = self.sources.load_schemas(session.limits())?;
        let first = self.build_validator(schemas.clone(), session)?;
        Ok(ValidatorPool { rules: self, schemas, free: Mutex::new(vec![first]) })
    }

    fn build_validator(&self, schemas: SchemaSet, session: &Session<'_>) -> Result<Validator> {
        let limits = session.limits();
        let mut validator = Validator::new(schemas).with_limits(limits.clone());
        if session.args.verbose > 0 {
            validator = validator.max_problems(usize::MAX);
        }
        if let Some(path) = &self.schema {
            let name = path.to_string_lossy();
            // A file, or the URI of a schema that is known.
            let text = match validator.schemas().text(&name).filter(|_| !path.exists()) {
                Some(known) => known.to_owned(),
                None => text_of(path, limits)?,
            };
            validator.add_custom(&text, &name).map_err(|e| e.context(format!("reading schema {name}")))?;
        }
        Ok(validator)
    }
}

fn validate_file(
    job: &mut FileJob<'_>,
    validator: &mut Validator,
    strict: bool,
    subject: VerdictSubject,
) -> Result<(Outcome, Value)> {
    let checked = job.open(FileRole::Any).and_then(|file| Ok((file.validate(validator, strict)?, file)));
    let (report, file) = match checked {
        Ok(found) => found,
        // A malformed file is an answer.
        Err(error) if error.kind() == ErrorKind::Malformed => return Ok((Outcome::Negative, job.report_malformed(&error)?)),
        Err(error) => return Err(error),
    };
    let mut value = Value::Null;
    if job.session.args.json {
        let problems: Vec<_> = report.problems.iter().map(diagnostic_json).collect();
        value = json!({
            "file": job.name, "valid": report.is_decided().then_some(report.is_valid()), "problems": problems,
            "errors": report.errors, "warnings": report.warnings, "notes": report.notes,
            "unchecked": report.unchecked_rules,
        });
    } else {
        print_report(&mut job.out, &job.name, (&report, subject), &file, job.session)?;
    }
    if !report.is_valid() {
        return Ok((Outcome::Negative, value));
    }
    if !report.is_decided() && report.unchecked_rules > 0 {
        let error = Error::unsupported("not all rules of the schemas could be checked")
            .hint("give the folder of the schemas that are missing with --schema-path");
        let text = error_with_advice(&error);
        job.print_note(&format!("trilith: {}{text}", job.error_prefix(&text)));
        return Ok((Outcome::Failed, value));
    }
    Ok((Outcome::Success, value))
}

fn print_report(
    out: &mut Output,
    name: &str,
    (report, subject): (&ValidationReport, VerdictSubject),
    file: &File,
    session: &Session<'_>,
) -> Result<()> {
    for problem in &report.problems {
        if problem.severity != Severity::Error && session.args.quiet {
            continue;
        }
        print_problem(out, name, problem, file)?;
    }
    let shown = report.problems.len();
    let all = report.errors + report.warnings + report.notes;
    if all > shown && !session.args.quiet {
        out.write_line(&format!("{name}: and {} more (--verbose shows all)", all - shown))?;
    }
    let count = |n: usize, what: &str| if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") };
    let mut warnings = if report.warnings > 0 { format!(", {}", count(report.warnings, "warning")) } else { String::new() };
    if report.notes > 0 && !session.args.quiet {
        warnings = format!("{warnings}, {}", count(report.notes, "note"));
    }
    let is_foreign = file.as_dudley().is_some_and(DudleyFile::is_foreign);
    // A FITS file without an ASDF file in it.
    let has_headers = file.as_asdf().and_then(AsdfFile::container).is_some_and(|found| found.hdu == 0);
    let part = match subject {
        VerdictSubject::File => "",
        // The damage may be in the headers, or in the metadata.
        VerdictSubject::Part { is_damaged: true } if (has_headers || is_foreign) && report.is_valid() => return Ok(()),
        VerdictSubject::Part { .. } if has_headers => "headers ",
        VerdictSubject::Part { .. } if file.as_asdf().is_some() => "tree ",
        VerdictSubject::Part { .. } if is_foreign => "metadata ",
        VerdictSubject::Part { .. } => "layout ",
    };
    out.write_line(&match report.is_valid() {
        true if !report.is_decided() => {
            format!("{name}: {part}not decided, {} could not be checked{warnings}", count(report.unchecked_rules, "rule"))
        }
        true => format!("{name}: {part}valid{warnings}"),
        false => format!("{name}: {part}invalid, {}{warnings}", count(report.errors, "error")),
    })
}

/// Maximum number of characters of a line that are shown.
const MAX_LINE_CHARS: usize = 100;

/// A problem in a few lines: what, where, the text with carets, and what to do.
fn print_problem(out: &mut Output, name: &str, problem: &Diagnostic, file: &File) -> Result<()> {
    if problem.severity == Severity::Note {
        let place = if problem.line > 0 { format!("{name}:{}:{}: ", problem.line, problem.column) } else { String::new() };
        let hint = problem.hint.as_ref().map_or(String::new(), |hint| format!("; {hint}"));
        return out.write_line(&format!("note: {place}{}{hint}", problem.message));
    }
    out.write_line(&format!("{}: {}", problem.severity, problem.message))?;
    if problem.line > 0 {
        let path = match problem.path.as_deref() {
            None => String::new(),
            Some("") => " at (the root)".to_owned(),
            Some(path) => format!(" at {path}"),
        };
        let number = problem.line.to_string();
        let margin = " ".repeat(number.len());
        out.write_line(&format!("{margin}--> {name}:{}:{}{path}", problem.line, problem.column))?;
        let (text, from, to) = excerpt_line(file.validated_text(), problem.span.range());
        let hint = problem.hint.as_deref().unwrap_or("");
        out.write_line(&format!("{number} | {text}"))?;
        out.write_line(format!("{margin} | {}{} {hint}", " ".repeat(from), "^".repeat((to - from).max(1))).trim_end())?;
    } else if let Some(hint) = &problem.hint {
        out.write_line(&format!("  = {hint}"))?;
    }
    if !problem.expectation.is_empty() {
        out.write_line(&format!("  = expected {}", problem.expectation))?;
    }
    if !problem.schema.is_empty() {
        out.write_line(&format!("  = by {}", problem.schema))?;
    }
    Ok(())
}

/// The line in which a span begins, and the columns of the span in it; long lines are cut around it.
fn excerpt_line(text: &str, span: std::ops::Range<usize>) -> (String, usize, usize) {
    let start = span.start.min(text.len());
    let head = text.get(..start).unwrap_or("");
    let begin = head.rfind(['\n', '\r']).map_or(0, |at| at + 1);
    let line = text.get(begin..).unwrap_or("").lines().next().unwrap_or("").trim_end();
    let column = text.get(begin..start).unwrap_or("").chars().count();
    let marked = text.get(start..span.end.min(begin + line.len())).map_or(0, |part| part.chars().count());
    let skip = if column > MAX_LINE_CHARS / 2 { column - MAX_LINE_CHARS / 4 } else { 0 };
    let mut shown: String = line.chars().skip(skip).take(MAX_LINE_CHARS).map(|c| if c == '\t' { ' ' } else { c }).collect();
    let mut from = column - skip;
    if skip > 0 {
        shown = format!("…{shown}");
        from += 1;
    }
    let to = (from + marked).min(shown.chars().count().max(from));
    (shown, from, to)
}
