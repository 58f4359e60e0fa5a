//! `trilith verify FILE…`: checksums and structure of the bytes.

use clap::Args;
use serde_json::{Value, json};
use trilith::asdf::checksum::ChecksumOf;
use trilith::verify::Report;
use trilith::error::counted;
use trilith::{Error, Kind, Location, Result};

use crate::Outcome;
use crate::conform;
use crate::options::Options;
use crate::paint::Ink;
use crate::output::{Out, clean};
use crate::progress::Progress;
use crate::words::{advice, said};

/// Check the structure and the checksums of files
///
/// A Dudley stream has no checksums: for it, whether every item lies in the file and outside of header
/// and layout. A checksum of the decoded bytes, as Python asdf wrote until 5.2, is accepted and reported.
#[derive(Debug, Args)]
pub struct Verify {
    /// Decode every block as well
    #[arg(long)]
    deep: bool,
    /// Hold the files against a document instead, sentence by sentence: finf-0.1, asdf-0.1-dev, asdf-0.1, asdf-1.x,
    /// dudley-2025 or dudley-2026
    #[arg(long, value_name = "DOCUMENT", conflicts_with = "deep")]
    conform: Option<String>,
    /// The files, or - for standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<String>,
}

impl Verify {
    /// Prints what is wrong.
    pub fn run(&self, options: &Options) -> Result<Outcome> {
        if let Some(document) = &self.conform {
            return conform::run(document, &self.files, options);
        }
        let mut out = Out::new();
        let mut outcome = Outcome::Yes;
        let mut list = Vec::new();
        for name in &self.files {
            let report = match self.check(name, options) {
                Ok(report) => report,
                // One malformed file of several does not hide the others.
                Err(error) if error.kind() == Kind::Malformed => {
                    outcome = Outcome::No;
                    if options.json {
                        list.push(json!({"file": name, "valid": false, "problems": [problem_json(&error, None, None)]}));
                    } else {
                        out.line(&format!("{name}: {}", said(&error)))?;
                    }
                    continue;
                }
                Err(error) => return Err(error),
            };
            if !report.is_ok() {
                outcome = Outcome::No;
            }
            if options.json {
                list.push(report_json(name, &report));
            } else {
                report_text(&mut out, name, &report, options)?;
            }
        }
        if options.json {
            let single = if list.len() == 1 { list.pop() } else { None };
            out.json(&single.unwrap_or(Value::Array(list)))?;
        }
        out.finish()?;
        Ok(outcome)
    }

    fn check(&self, name: &str, options: &Options) -> Result<Report> {
        let file = options.open_file(name)?;
        let progress = Progress::bytes(file.verified_size()?);
        file.verify(self.deep, &|bytes| progress.add(bytes))
    }
}

fn problem_json(error: &Error, path: Option<&str>, block: Option<usize>) -> Value {
    let (mut line, mut column, mut byte) = (None, None, None);
    let mut path = path.map(str::to_owned);
    match error.location() {
        Location::Byte(at) => byte = Some(*at),
        Location::Text { line: l, column: c } => (line, column) = (Some(*l), Some(*c)),
        Location::Path(at) => path = path.or_else(|| Some(at.clone())),
        _ => {}
    }
    json!({
        "severity": "error",
        "where": {"path": path, "line": line, "column": column, "byte": byte, "block": block},
        "message": clean(&said(error)),
        "schema": null,
        "hint": advice(error),
    })
}

fn report_json(name: &str, report: &Report) -> Value {
    let mut problems = Vec::new();
    for block in &report.blocks {
        if let Some(error) = &block.problem {
            problems.push(problem_json(error, None, Some(block.index)));
        }
    }
    problems.extend(report.structure.iter().map(|error| problem_json(error, None, None)));
    for (path, error) in &report.arrays {
        problems.push(problem_json(error, Some(path), None));
    }
    for warning in &report.warnings {
        problems.push(json!({
            "severity": "warning",
            "where": {"path": null, "line": null, "column": null, "byte": null, "block": null},
            "message": clean(warning), "schema": null, "hint": null,
        }));
    }
    let checksums: Vec<_> = report.blocks.iter().map(|block| json!(checksum_word(block.checksum_of))).collect();
    json!({"file": name, "valid": report.is_ok(), "problems": problems, "checksums": checksums})
}

fn checksum_word(of: Option<ChecksumOf>) -> Option<&'static str> {
    of.map(|of| match of {
        ChecksumOf::Stored => "stored",
        ChecksumOf::Decoded => "decoded",
    })
}

fn report_text(out: &mut Out, name: &str, report: &Report, options: &Options) -> Result<()> {
    for block in &report.blocks {
        match (&block.problem, checksum_word(block.checksum_of)) {
            (Some(error), _) => out.line(&format!("{name}: {}", said(error)))?,
            (None, word) if options.verbose > 0 => {
                let word = word.map_or("no checksum".to_owned(), |word| format!("checksum of the {word} bytes OK"));
                out.line(&format!("{name}: block {}: {word}", block.index))?;
            }
            _ => {}
        }
    }
    for error in &report.structure {
        out.line(&format!("{name}: {}", said(error)))?;
    }
    for (path, error) in &report.arrays {
        out.line(&format!("{name}: {path}: {}", said(error)))?;
    }
    for warning in &report.warnings {
        options.warn(&format!("{name}: {warning}"));
    }
    if report.is_ok() {
        let count = |of| report.blocks.iter().filter(|block| block.checksum_of == of).count();
        let old = match count(Some(ChecksumOf::Decoded)) {
            0 => String::new(),
            n => format!(", {n} of the decoded bytes as Python asdf wrote until 5.2"),
        };
        let none = match count(None) {
            0 => String::new(),
            n => format!(", {n} without checksum"),
        };
        // A Dudley stream has no blocks, and no checksums.
        let said = if report.blocks.is_empty() { String::new() } else { format!(" ({}{old}{none})", counted(report.blocks.len(), "block")) };
        out.verdict(name, Ink::Good, "OK", &said)?;
    }
    Ok(())
}
