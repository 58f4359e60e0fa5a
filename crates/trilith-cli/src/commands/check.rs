//! `trilith check FILE…`: bytes, tree and specification in one.

use clap::Args;
use serde_json::{Value, json};
use trilith::{Error, ErrorKind, Result};
use trilith::check::StandardDocument;

use super::validate::{self, VerdictSubject};
use super::verify;
use crate::outcome::Outcome;
use crate::advice::error_with_advice;
use crate::conform;
use crate::inputs::{FileJob, InputFiles};
use crate::json::error_problem;
use crate::session::Session;
use crate::style::StyleRole;

/// Check files completely: structure, checksums, and the schemas of their tags
///
/// The command does what `verify` and `validate` do, and with --spec also compares the files with a standard, as `verify --conform`
/// does. Exit status 1 if one of them finds a problem, also in a file that is too damaged to be opened. Exit status 2 if a check
/// could not be made.
#[derive(Debug, Args)]
pub(crate) struct Check {
    /// Decode every block as well
    #[arg(long)]
    deep: bool,
    /// Also check the files against this standard, sentence by sentence
    #[arg(long, value_name = "DOCUMENT")]
    spec: Option<String>,
    #[command(flatten)]
    rules: validate::RuleArgs,
    #[command(flatten)]
    files: InputFiles,
}

impl Check {
    /// Prints what is wrong.
    pub(crate) fn run(&self, session: &Session<'_>) -> Result<Outcome> {
        let document = self.spec.as_deref().map(StandardDocument::from_name).transpose()?;
        let validators = self.rules.validators(session)?;
        self.files.run(session, |job| self.check_file(job, &validators, document))
    }

    fn check_file(
        &self,
        job: &mut FileJob<'_>,
        validators: &validate::ValidatorPool<'_>,
        document: Option<&'static StandardDocument>,
    ) -> Result<Outcome> {
        let verified = match verify::examine(job, self.deep, VerdictSubject::Part { is_damaged: false }) {
            Ok(examined) => examined,
            // The other checks may still find what is wrong.
            Err(error) if is_undecided(&error) => {
                let mut value = report_undecided(job, &error);
                value["checksums"] = json!([]);
                value["coverage"] = json!([]);
                verify::ExaminedBytes { outcome: Outcome::Failed, value, is_open: false }
            }
            Err(error) => return Err(error),
        };
        // A file that cannot be opened has no tree, and its problem is printed already.
        let is_malformed = !verified.is_open && verified.outcome == Outcome::Negative;
        let validated = match verified.is_open || is_malformed && job.session.args.json {
            true => match validators.examine(job, VerdictSubject::Part { is_damaged: verified.outcome == Outcome::Negative }) {
                Ok(part) => Some(part),
                Err(error) if is_undecided(&error) => Some((Outcome::Failed, report_undecided(job, &error))),
                Err(error) => return Err(error),
            },
            false => None,
        };
        let conforming = match document {
            Some(document) => Some(conform::examine(job, document)?),
            None => None,
        };
        let outcomes = [Some(verified.outcome), validated.as_ref().map(|part| part.0), conforming.as_ref().map(|part| part.0)];
        // A problem that one check found counts, even if another check could not be made.
        let is_wrong = outcomes.iter().flatten().any(|outcome| *outcome == Outcome::Negative);
        let outcome = if is_wrong { Outcome::Negative } else { outcomes.into_iter().flatten().max().unwrap_or(Outcome::Success) };
        if job.session.args.json {
            let ok = match outcome {
                Outcome::Success => Some(true),
                Outcome::Negative => Some(false),
                Outcome::Failed => None,
            };
            let value = |part: Option<(Outcome, Value)>| part.map(|(_, value)| value);
            job.out.write_json(&json!({
                "file": job.name, "ok": ok, "verify": verified.value, "validate": value(validated), "conform": value(conforming),
            }))?;
        } else {
            match outcome {
                // The verdicts of the parts are the last lines.
                Outcome::Success => {}
                Outcome::Negative => job.out.print_verdict(&job.name, StyleRole::Error, "failed", "")?,
                Outcome::Failed => job.out.print_verdict(&job.name, StyleRole::Warning, "not decided", "")?,
            }
        }
        Ok(outcome)
    }
}

/// Prints why a check could not be made, and returns its JSON.
fn report_undecided(job: &mut FileJob<'_>, error: &Error) -> Value {
    let text = error_with_advice(error);
    job.print_note(&format!("trilith: {}{text}", job.error_prefix(&text)));
    json!({"file": job.name, "valid": null, "problems": [error_problem(error, None, None)]})
}

/// Returns `true` if the file may be right, but this library cannot tell.
fn is_undecided(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Unsupported | ErrorKind::Limit)
}
