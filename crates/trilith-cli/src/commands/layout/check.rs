//! `trilith layout check FILE.dud`: all errors and warnings of a layout.

use clap::Args;
use serde_json::{Value, json};
use trilith::{Diagnostic, Severity};
use trilith::Result;
use trilith_io::error::counted;
use trilith::layout::{Code, Correction, Dialect, Fault, Options as Evaluate, Supply};

use super::{Input, diagnostic};
use crate::Outcome;
use crate::options::Options;
use crate::output::{Out, clean};

/// A diagnostic, and the correction of what is wrong.
type Corrected = (Diagnostic, Option<Correction>);

/// Diagnostics as a list of objects, those that can be corrected with the corrected line.
fn objects(all: &[Corrected]) -> Vec<Value> {
    let object = |(found, correction): &Corrected| {
        let mut object = diagnostic(found);
        if let Some(made) = correction {
            object["write"] = json!({"line": made.line, "text": clean(&made.text)});
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
    input: Input,
}

impl Check {
    /// Prints what is wrong.
    pub(super) fn run(&self, options: &Options) -> Result<Outcome> {
        let mut parsed = self.input.parse(options)?;
        if let Some(layout) = &parsed.layout {
            let mut how = Evaluate::default();
            how.limits = options.limits()?;
            match layout.evaluate(&how, |_| Ok(Supply::Missing)) {
                Ok(found) => {
                    if let Ok(overlaps) = found.overlaps() {
                        parsed.diagnostics.extend(overlaps);
                    }
                }
                // Faults other than missing values (E409) do not depend on the parameters.
                Err(Fault::Text(fault)) if fault.code != Code::E409.name() => parsed.diagnostics.push(*fault),
                Err(_) => {}
            }
        }
        let has_errors = parsed.has_errors();
        let corrections = parsed.corrections(&options.limits()?)?;
        let all: Vec<Corrected> = parsed.diagnostics.into_iter().zip(corrections).collect();
        let (warnings, errors): (Vec<Corrected>, Vec<Corrected>) =
            all.into_iter().partition(|(diagnostic, _)| diagnostic.severity == Severity::Warning);
        let mut out = Out::new();
        if options.json {
            out.json(&json!({"dialect": parsed.dialect.name(), "errors": objects(&errors), "warnings": objects(&warnings)}))?;
        } else {
            let shown = errors.iter().chain(warnings.iter().filter(|_| !options.quiet));
            for (diagnostic, correction) in shown {
                for line in diagnostic.render(&parsed.text, &self.input.file).lines() {
                    out.line(line)?;
                }
                if let Some(made) = correction {
                    let place = if made.line == diagnostic.line { String::new() } else { format!(" in line {}", made.line) };
                    let margin = " ".repeat(diagnostic.line.to_string().len());
                    out.line(&format!("{margin} = write{place}: {}", clean(&made.text)))?;
                }
            }
            if has_errors && parsed.is_guessed && !options.quiet {
                let other = if parsed.dialect == Dialect::D2025 { Dialect::D2026 } else { Dialect::D2025 };
                out.line(&format!(
                    "{}: read as the dialect of {}; --dialect {other} reads it as the other",
                    self.input.file, parsed.dialect
                ))?;
            }
            if !has_errors {
                let items = parsed.layout.as_ref().map_or(0, |layout| layout.item_count() - 1);
                out.line(&format!("{}: a layout of {}, {}", self.input.file, parsed.dialect, counted(items, "item")))?;
            }
        }
        out.finish()?;
        Ok(if has_errors { Outcome::No } else { Outcome::Yes })
    }
}
