//! `trilith verify FILE…`: checksums and structure of the bytes.

use clap::Args;
use serde_json::{Value, json};
use trilith::asdf::ChecksumScope;
use trilith::check::{VerifyDepth, VerifyReport};
use trilith_io::error::count_noun;
use trilith::{ErrorKind, Result};

use crate::Outcome;
use crate::conform;
use crate::inputs::{InputFiles, FileJob};
use crate::json::error_problem;
use crate::options::Options;
use crate::output::escape_controls;
use crate::style::StyleRole;
use crate::progress::ProgressPart;
use crate::advice::error_with_advice;

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
    files: InputFiles,
}

impl Verify {
    /// Prints what is wrong.
    pub(crate) fn run(&self, options: &Options) -> Result<Outcome> {
        if let Some(document) = &self.conform {
            return conform::run(document, &self.files, options);
        }
        self.files.run(options, |job| self.verify_file(job))
    }

    fn verify_file(&self, job: &mut FileJob<'_>) -> Result<Outcome> {
        let report = match self.read_report(job) {
            Ok(report) => report,
            // A malformed file is an answer.
            Err(error) if error.kind() == ErrorKind::Malformed => return job.report_invalid(&error),
            Err(error) => return Err(error),
        };
        if job.options.json {
            job.out.write_json(&report_json(&job.name, &report))?;
        } else {
            report_text(job, &report)?;
        }
        Ok(match report.verdict() {
            Some(true) => Outcome::Success,
            Some(false) => Outcome::Negative,
            None => Outcome::Failed,
        })
    }

    fn read_report(&self, job: &mut FileJob<'_>) -> Result<VerifyReport> {
        let file = job.open_file()?;
        let progress = ProgressPart::bytes(if job.is_one_of_many { 0 } else { file.verified_size()? });
        let hear = |bytes| progress.add(bytes);
        let depth = if self.deep { VerifyDepth::Decoded } else { VerifyDepth::Structure };
        file.verify(depth, trilith::Progress::new(&hear))
    }
}

fn report_json(name: &str, report: &VerifyReport) -> Value {
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
            "message": escape_controls(warning), "schema": null, "hint": null,
        }));
    }
    let blocks = report.blocks.iter().map(|block| json!(checksum_word(block.checksum_of)));
    let others = report.checksums.iter().flatten();
    let others = others.map(|sum| json!({"where": escape_controls(&sum.path), "kind": sum.kind, "ok": sum.problem.is_none()}));
    let checksums: Vec<_> = blocks.chain(others).collect();
    json!({"file": name, "valid": report.verdict(), "problems": problems, "checksums": checksums})
}

fn checksum_word(of: Option<ChecksumScope>) -> Option<&'static str> {
    of.map(|of| match of {
        ChecksumScope::Stored => "stored",
        ChecksumScope::Decoded => "decoded",
    })
}

fn report_text(job: &mut FileJob<'_>, report: &VerifyReport) -> Result<()> {
    for warning in &report.warnings {
        job.print_warning(&format!("{}: {warning}", job.name));
    }
    let (out, name) = (&mut job.out, &job.name);
    for block in &report.blocks {
        match (&block.problem, checksum_word(block.checksum_of)) {
            (Some(error), _) => out.write_line(&format!("{name}: {}", error_with_advice(error)))?,
            (None, word) if job.options.verbose > 0 => {
                let word = word.map_or("no checksum".to_owned(), |word| format!("checksum of the {word} bytes OK"));
                out.write_line(&format!("{name}: block {}: {word}", block.index))?;
            }
            _ => {}
        }
    }
    for sum in report.checksums.iter().flatten() {
        match &sum.problem {
            Some(error) => out.write_line(&format!("{name}: {}", error_with_advice(error)))?,
            None if job.options.verbose > 0 => {
                let place = if sum.path.is_empty() { "the file" } else { sum.path.as_str() };
                out.write_line(&format!("{name}: {}: {} OK", escape_controls(place), sum.kind))?;
            }
            None => {}
        }
    }
    for error in &report.structure {
        out.write_line(&format!("{name}: {}", error_with_advice(error)))?;
    }
    for (path, error) in &report.arrays {
        out.write_line(&format!("{name}: {path}: {}", error_with_advice(error)))?;
    }
    if report.is_ok() {
        let count = |of| report.blocks.iter().filter(|block| block.checksum_of == of).count();
        let old = match count(Some(ChecksumScope::Decoded)) {
            0 => String::new(),
            n => format!(", {n} of the decoded bytes as Python asdf wrote until 5.2"),
        };
        let none = match count(None) {
            0 => String::new(),
            n => format!(", {n} without checksum"),
        };
        let blocks = Some(report.blocks.len()).filter(|count| *count > 0);
        let blocks = blocks.map(|count| format!("{}{old}{none}", count_noun(count, "block")));
        let sums = report.checksums.as_ref().map_or(0, Vec::len);
        let sums = Some(sums).filter(|count| *count > 0).map(|count| count_noun(count, "checksum"));
        let said = match (blocks, sums) {
            (None, None) if report.checksums.is_some() => " (no checksums: structure only)".to_owned(),
            (None, None) => String::new(),
            (blocks, sums) => format!(" ({})", blocks.into_iter().chain(sums).collect::<Vec<_>>().join(", ")),
        };
        out.print_verdict(name, StyleRole::Success, "OK", &said)?;
    }
    Ok(())
}
