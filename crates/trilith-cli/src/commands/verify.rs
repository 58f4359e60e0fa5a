//! `trilith verify FILE…`: checksums and structure of the bytes.

use clap::Args;
use serde_json::{Value, json};
use trilith::asdf::ChecksumScope;
use trilith::check::{VerifyDepth, VerifyReport};
use trilith_io::error::count_noun;
use trilith::{ErrorKind, Result};

use super::validate::VerdictSubject;
use crate::outcome::Outcome;
use crate::conform;
use crate::inputs::{InputFiles, FileJob};
use crate::json::error_problem;
use crate::session::{FileRole, Session};
use crate::output::escape_controls;
use crate::style::StyleRole;
use crate::progress::ProgressPart;

/// Check the structure and the checksums of files
///
/// The checksums are the MD5 of ASDF blocks, CHECKSUM, DATASUM and ZDATASUM of FITS HDUs, the checksums of the metadata and the
/// fletcher32 of the chunks of HDF5, and the CRC-32 of gzip files and of the members of NPZ archives. The command decodes a chunk only
/// as far as its checksum needs. The result includes the number of blocks, HDUs or datasets without a checksum, and -v lists them. A
/// Dudley file has no checksums: each of its items must be inside the file and outside of header and layout. For a catalog, each file
/// that it lists must have the parameters in the catalog, and all of its data. A checksum of the decoded bytes, as Python asdf wrote
/// until 5.2, is accepted and reported.
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
    pub(crate) fn run(&self, session: &Session<'_>) -> Result<Outcome> {
        if let Some(document) = &self.conform {
            return conform::run(document, &self.files, session);
        }
        self.files.run(session, |job| {
            let examined = examine(job, self.deep, VerdictSubject::File)?;
            if job.session.args.json {
                job.out.write_json(&examined.value)?;
            }
            Ok(examined.outcome)
        })
    }
}

/// The result of comparing the bytes of a file.
pub(crate) struct ExaminedBytes {
    pub outcome: Outcome,
    /// The result as JSON; null if it was printed.
    pub value: Value,
    /// `false` if the file is too damaged to be opened.
    pub is_open: bool,
}

/// Compares structure and checksums, and prints the result unless it is wanted as JSON.
pub(crate) fn examine(job: &mut FileJob<'_>, deep: bool, subject: VerdictSubject) -> Result<ExaminedBytes> {
    let report = match read_report(job, deep) {
        Ok(report) => report,
        // A malformed file is an answer.
        Err(error) if error.kind() == ErrorKind::Malformed => {
            let mut value = job.report_malformed(&error)?;
            if let Some(value) = value.as_object_mut() {
                value.insert("checksums".to_owned(), json!([]));
                value.insert("coverage".to_owned(), json!([]));
            }
            return Ok(ExaminedBytes { outcome: Outcome::Negative, value, is_open: false });
        }
        Err(error) => return Err(error),
    };
    let value = if job.session.args.json { report_json(&job.name, &report) } else { Value::Null };
    if !job.session.args.json {
        report_text(job, &report, subject)?;
    }
    let outcome = match report.verdict() {
        Some(true) => Outcome::Success,
        Some(false) => Outcome::Negative,
        None => Outcome::Failed,
    };
    Ok(ExaminedBytes { outcome, value, is_open: true })
}

fn read_report(job: &mut FileJob<'_>, deep: bool) -> Result<VerifyReport> {
    let file = job.open_to_check(FileRole::Any)?;
    let progress = ProgressPart::bytes(if job.is_one_of_many { 0 } else { file.verified_size()? });
    let hear = |bytes| progress.add(bytes);
    let depth = if deep { VerifyDepth::Decoded } else { VerifyDepth::Structure };
    file.verify(depth, trilith::Progress::new(&hear))
}

fn report_json(name: &str, report: &VerifyReport) -> Value {
    let mut problems = Vec::new();
    for block in &report.blocks {
        if let Some(error) = &block.problem {
            problems.push(error_problem(error, None, Some(block.index)));
        }
    }
    for sum in &report.checksums {
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
    let coverage = report.coverage.iter().map(|of| {
        let places: Vec<_> = of.without_checksum.iter().map(|path| escape_controls(path)).collect();
        json!({"part": of.part, "total": of.total, "without_checksum": places.len(), "where": places})
    });
    json!({
        "file": name, "valid": report.verdict(), "problems": problems, "checksums": checksums_json(report),
        "coverage": coverage.collect::<Vec<_>>(),
    })
}

/// Each compared checksum, those of blocks first.
fn checksums_json(report: &VerifyReport) -> Vec<Value> {
    let entry = |path: &str, kind: &str, ok: bool| json!({"where": escape_controls(path), "kind": kind, "ok": ok});
    let blocks = report.blocks.iter().filter(|block| block.is_compared()).map(|block| {
        let mut found = entry(&format!("block {}", block.index), "MD5", block.checksum_of.is_some());
        if block.checksum_of == Some(ChecksumScope::Decoded) {
            found["of"] = "decoded".into();
        }
        found
    });
    let others = report.checksums.iter().map(|sum| {
        let mut found = entry(&sum.path, sum.kind, sum.problem.is_none());
        if sum.count > 1 {
            found["count"] = sum.count.into();
        }
        found
    });
    blocks.chain(others).collect()
}

fn checksum_word(of: Option<ChecksumScope>) -> Option<&'static str> {
    of.map(|of| match of {
        ChecksumScope::Stored => "stored",
        ChecksumScope::Decoded => "decoded",
    })
}

fn report_text(job: &mut FileJob<'_>, report: &VerifyReport, subject: VerdictSubject) -> Result<()> {
    for warning in &report.warnings {
        job.print_warning(&format!("{}: {warning}", job.name));
    }
    let problem = |job: &mut FileJob<'_>, path: &str, error| {
        let line = job.problem_line(path, error);
        job.out.write_line(&line)
    };
    for block in &report.blocks {
        match (&block.problem, checksum_word(block.checksum_of)) {
            (Some(error), _) => problem(job, "", error)?,
            (None, word) if job.session.args.verbose > 0 => {
                let word = word.map_or("no checksum".to_owned(), |word| format!("checksum of the {word} bytes OK"));
                job.out.write_line(&format!("{}: block {}: {word}", job.name, block.index))?;
            }
            _ => {}
        }
    }
    for sum in &report.checksums {
        match &sum.problem {
            Some(error) => problem(job, "", error)?,
            None if job.session.args.verbose > 0 => {
                let place = if sum.path.is_empty() { "the file" } else { sum.path.as_str() };
                let count = if sum.count > 1 { format!(" of {} parts", sum.count) } else { String::new() };
                job.out.write_line(&format!("{}: {}: {}{count} OK", job.name, escape_controls(place), sum.kind))?;
            }
            None => {}
        }
    }
    if job.session.args.verbose > 0 {
        // A block has a line above.
        let others = report.coverage.iter().filter(|of| of.part != "block");
        for path in others.flat_map(|of| &of.without_checksum) {
            job.out.write_line(&format!("{}: {}: no checksum", job.name, escape_controls(path)))?;
        }
    }
    for error in &report.structure {
        problem(job, "", error)?;
    }
    for (path, error) in &report.arrays {
        problem(job, path, error)?;
    }
    let (out, name) = (&mut job.out, &job.name);
    if report.is_ok() {
        let count = |of| report.blocks.iter().filter(|block| block.checksum_of == of).count();
        let old = match count(Some(ChecksumScope::Decoded)) {
            0 => String::new(),
            n => format!(", {n} of the decoded bytes as Python asdf wrote until 5.2"),
        };
        let blocks = Some(report.blocks.len()).filter(|count| *count > 0);
        let blocks = blocks.map(|count| format!("{}{old}, ", count_noun(count, "block"))).unwrap_or_default();
        let coverage = match report.coverage_text() {
            text if text.is_empty() => text,
            text => format!("; {text}"),
        };
        let said = match usize::try_from(report.checksum_count()).unwrap_or(usize::MAX) {
            0 => " (no checksums: structure only)".to_owned(),
            count => format!(" ({blocks}{}{coverage})", count_noun(count, "checksum")),
        };
        let word = if subject != VerdictSubject::File { "bytes OK" } else { "OK" };
        out.print_verdict(name, StyleRole::Success, word, &said)?;
    }
    Ok(())
}
