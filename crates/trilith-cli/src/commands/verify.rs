//! `trilith verify FILE…`: checksums and structure of the bytes.

use clap::Args;
use serde_json::{Value, json};
use trilith::asdf::ChecksumOf;
use trilith::check::Report;
use trilith_io::error::counted;
use trilith::{ErrorKind, Result};

use crate::Outcome;
use crate::conform;
use crate::inputs::{Files, Job};
use crate::json::error_problem;
use crate::options::Options;
use crate::output::clean;
use crate::style::Ink;
use crate::progress::Progress;
use crate::advice::said;

/// Check the structure and the checksums of files
///
/// The checksums are the MD5 of ASDF blocks, CHECKSUM and DATASUM of FITS HDUs, and the CRC-32 of gzip files and of the members of NPZ
/// archives. A Dudley file has none: the check is that every item is inside the file and outside of header and
/// layout. A catalog of a file set is checked with the files that it lists: each has the parameters that the catalog has for it,
/// and all of its data. A checksum of the decoded bytes, as Python asdf wrote until 5.2, is accepted and reported.
#[derive(Debug, Args)]
pub(crate) struct Verify {
    /// Decode every block as well
    #[arg(long)]
    deep: bool,
    /// Check the files against a standard instead, sentence by sentence
    #[arg(long, value_name = "DOCUMENT", conflicts_with = "deep")]
    conform: Option<String>,
    #[command(flatten)]
    files: Files,
}

impl Verify {
    /// Prints what is wrong.
    pub(crate) fn run(&self, options: &Options) -> Result<Outcome> {
        if let Some(document) = &self.conform {
            return conform::run(document, &self.files, options);
        }
        self.files.run(options, |job| self.one(job))
    }

    fn one(&self, job: &mut Job<'_>) -> Result<Outcome> {
        let report = match self.check(job) {
            Ok(report) => report,
            // A malformed file is an answer.
            Err(error) if error.kind() == ErrorKind::Malformed => return job.invalid(&error),
            Err(error) => return Err(error),
        };
        if job.options.json {
            job.out.json(&report_json(&job.name, &report))?;
        } else {
            report_text(job, &report)?;
        }
        Ok(match report.verdict() {
            Some(true) => Outcome::Yes,
            Some(false) => Outcome::No,
            None => Outcome::Failed,
        })
    }

    fn check(&self, job: &mut Job<'_>) -> Result<Report> {
        let file = job.open()?;
        let progress = Progress::bytes(if job.several { 0 } else { file.verified_size()? });
        let hear = |bytes| progress.add(bytes);
        file.verify(self.deep, trilith::Progress::new(&hear))
    }
}

fn report_json(name: &str, report: &Report) -> Value {
    let mut problems = Vec::new();
    for block in &report.blocks {
        if let Some(error) = &block.problem {
            problems.push(error_problem(error, None, Some(block.index)));
        }
    }
    for sum in report.checksums.iter().flatten() {
        if let Some(error) = &sum.problem {
            problems.push(error_problem(error, Some(&sum.path), None));
        }
    }
    problems.extend(report.structure.iter().map(|error| error_problem(error, None, None)));
    for (path, error) in &report.arrays {
        problems.push(error_problem(error, Some(path), None));
    }
    for warning in &report.warnings {
        problems.push(json!({
            "severity": "warning",
            "where": {"path": null, "line": null, "column": null, "byte": null, "block": null},
            "message": clean(warning), "schema": null, "hint": null,
        }));
    }
    let blocks = report.blocks.iter().map(|block| json!(checksum_word(block.checksum_of)));
    let others = report.checksums.iter().flatten();
    let others = others.map(|sum| json!({"where": clean(&sum.path), "kind": sum.kind, "ok": sum.problem.is_none()}));
    let checksums: Vec<_> = blocks.chain(others).collect();
    json!({"file": name, "valid": report.verdict(), "problems": problems, "checksums": checksums})
}

fn checksum_word(of: Option<ChecksumOf>) -> Option<&'static str> {
    of.map(|of| match of {
        ChecksumOf::Stored => "stored",
        ChecksumOf::Decoded => "decoded",
    })
}

fn report_text(job: &mut Job<'_>, report: &Report) -> Result<()> {
    for warning in &report.warnings {
        job.warn(&format!("{}: {warning}", job.name));
    }
    let (out, name) = (&mut job.out, &job.name);
    for block in &report.blocks {
        match (&block.problem, checksum_word(block.checksum_of)) {
            (Some(error), _) => out.line(&format!("{name}: {}", said(error)))?,
            (None, word) if job.options.verbose > 0 => {
                let word = word.map_or("no checksum".to_owned(), |word| format!("checksum of the {word} bytes OK"));
                out.line(&format!("{name}: block {}: {word}", block.index))?;
            }
            _ => {}
        }
    }
    for sum in report.checksums.iter().flatten() {
        match &sum.problem {
            Some(error) => out.line(&format!("{name}: {}", said(error)))?,
            None if job.options.verbose > 0 => {
                let place = if sum.path.is_empty() { "the file" } else { sum.path.as_str() };
                out.line(&format!("{name}: {}: {} OK", clean(place), sum.kind))?;
            }
            None => {}
        }
    }
    for error in &report.structure {
        out.line(&format!("{name}: {}", said(error)))?;
    }
    for (path, error) in &report.arrays {
        out.line(&format!("{name}: {path}: {}", said(error)))?;
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
        let blocks = Some(report.blocks.len()).filter(|count| *count > 0);
        let blocks = blocks.map(|count| format!("{}{old}{none}", counted(count, "block")));
        let sums = report.checksums.as_ref().map_or(0, Vec::len);
        let sums = Some(sums).filter(|count| *count > 0).map(|count| counted(count, "checksum"));
        let said = match (blocks, sums) {
            (None, None) if report.checksums.is_some() => " (no checksums: structure only)".to_owned(),
            (None, None) => String::new(),
            (blocks, sums) => format!(" ({})", blocks.into_iter().chain(sums).collect::<Vec<_>>().join(", ")),
        };
        out.verdict(name, Ink::Good, "OK", &said)?;
    }
    Ok(())
}
