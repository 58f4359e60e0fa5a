//! `trilith layout check FILE.dud`: all errors and warnings of a layout.

use clap::Args;
use serde_json::{Value, json};
use trilith::{Diagnostic, Severity};
use trilith::Result;
use trilith_io::error::count_noun;
use trilith::layout::{DiagnosticCode, LineCorrection, Dialect, EvaluationError, EvaluateOptions as Evaluate, SuppliedValue};

use super::{LayoutArg, diagnostic_to_json};
use crate::outcome::Outcome;
use crate::session::Session;
use crate::output::{Output, escape_controls};

/// A diagnostic, and the correction of what is wrong.
type DiagnosticFix = (Diagnostic, Option<LineCorrection>);

/// Diagnostics as a list of objects, those that can be corrected with the corrected line.
fn diagnostics_to_json(all: &[DiagnosticFix]) -> Vec<Value> {
    let object = |(found, correction): &DiagnosticFix| {
        let mut object = diagnostic_to_json(found);
        if let Some(made) = correction {
            object["write"] = json!({"line": made.line, "text": escape_controls(&made.text)});
        }
        object
    };
    all.iter().map(object).collect()
}

/// Show all errors and warnings of a layout
///
/// Exit status 1 if there are errors. Layouts that need no parameters are also searched for items that overlap.
///
/// After `write:` is the corrected line, if only one correction of a common mistake makes the layout right.
#[derive(Debug, Args)]
pub(super) struct Check {
    #[command(flatten)]
    input: LayoutArg,
}

impl Check {
    /// Prints what is wrong.
    pub(super) fn run(&self, session: &Session<'_>) -> Result<Outcome> {
        let mut parsed = self.input.parse_layout(session)?;
        if let Some(layout) = &parsed.layout {
            let mut how = Evaluate::default();
            how.limits = session.limits().clone();
            match layout.evaluate(&how, |_| Ok(SuppliedValue::Missing)) {
                Ok(found) => {
                    if let Ok(overlaps) = found.overlaps() {
                        parsed.diagnostics.extend(overlaps);
                    }
                }
                // Faults other than missing values (E409) do not depend on the parameters.
                Err(EvaluationError::Text(fault)) if fault.code != DiagnosticCode::E409.name() => parsed.diagnostics.push(*fault),
                Err(_) => {}
            }
        }
        let has_errors = parsed.has_errors();
        let corrections = parsed.corrections(session.limits())?;
        let all: Vec<DiagnosticFix> = parsed.diagnostics.into_iter().zip(corrections).collect();
        let (warnings, errors): (Vec<DiagnosticFix>, Vec<DiagnosticFix>) =
            all.into_iter().partition(|(diagnostic, _)| diagnostic.severity == Severity::Warning);
        let mut out = Output::new();
        if session.args.json {
            out.write_json(&json!({"dialect": parsed.dialect.name(), "errors": diagnostics_to_json(&errors), "warnings": diagnostics_to_json(&warnings)}))?;
        } else {
            let shown = errors.iter().chain(warnings.iter().filter(|_| !session.args.quiet));
            for (diagnostic, correction) in shown {
                for line in diagnostic.render(&parsed.text, &self.input.file).lines() {
                    out.write_line(line)?;
                }
                if let Some(made) = correction {
                    let place = if made.line == diagnostic.line { String::new() } else { format!(" in line {}", made.line) };
                    let margin = " ".repeat(diagnostic.line.to_string().len());
                    out.write_line(&format!("{margin} = write{place}: {}", escape_controls(&made.text)))?;
                }
            }
            if has_errors && parsed.is_guessed && !session.args.quiet {
                let other = if parsed.dialect == Dialect::D2025 { Dialect::D2026 } else { Dialect::D2025 };
                out.write_line(&format!(
                    "{}: read as the dialect of {}; --dialect {other} reads it as the other",
                    self.input.file, parsed.dialect
                ))?;
            }
            if !has_errors {
                let items = parsed.layout.as_ref().map_or(0, |layout| layout.item_count() - 1);
                out.write_line(&format!("{}: a layout of {}, {}", self.input.file, parsed.dialect, count_noun(items, "item")))?;
            }
        }
        out.finish()?;
        Ok(if has_errors { Outcome::Negative } else { Outcome::Success })
    }
}
