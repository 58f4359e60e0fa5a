//! `trilith repair FILE -o OUT`: what is left of a damaged file.

use clap::Args;
use serde_json::{Value, json};
use trilith_io::error::count_noun;
use trilith::bytes::{self, BaseUri, WriteBasis, Source};
use trilith_codec::codec::stream_source;
use trilith::file::FileKind;
use trilith::check::{ArrayState, BlockState, RepairReport, salvage, salvage_stream};
use trilith::{Error, Result};

use crate::outcome::Outcome;
use crate::session::Session;
use crate::output::{Output, escape_controls};
use crate::outputs::{FileFormat, check_name};
use crate::output_file::OutputFile;

/// Recover the readable parts of a damaged or truncated file, and report the losses
///
/// Truncated arrays keep their complete rows, and arrays without any become null. Lines of the tree that are not YAML
/// are left out. If the header of a Dudley file does not lead to its layout, the command searches for the layout;
/// --layout gives a lost one. The new file is verified as by `verify --deep`, and remaining problems are reported. The
/// exit status is 1 if something was lost or is wrong. `verify --deep` shows whether a file needs repair.
#[derive(Debug, Args)]
pub(crate) struct Repair {
    /// The damaged file, or - for standard input; it is not changed
    #[arg(value_name = "FILE")]
    file: String,
    /// The file to write, or - for standard output
    #[arg(short, long, value_name = "OUT")]
    output: String,
}

impl Repair {
    /// Writes the readable parts and reports the losses.
    pub(crate) fn run(&self, session: &Session<'_>) -> Result<Outcome> {
        let limits = session.limits();
        let (source, resolve) = session.open_with_resolver(&self.file)?;
        if session.detect_kind(&*source)? == Some(FileKind::Dudley) {
            let layout = session.common_layout()?;
            let mut left = salvage_stream(&source, layout, &*resolve, limits)?;
            self.check_output(FileFormat::Dudley, session)?;
            let written = left.verified()?;
            return self.save_output(&*source, &*written, left.report(), session);
        }
        if session.args.under.is_some() {
            return Err(Error::invalid_input(format!("{} is not a native Dudley file", self.file)).hint("leave out --layout"));
        }
        let mut left = salvage(source.clone(), limits)?.moved_to(&*resolve, &BaseUri::of_file(&self.output), limits)?;
        self.check_output(if left.is_in_fits() { FileFormat::Fits } else { FileFormat::Asdf }, session)?;
        // References are looked for where the file will be.
        let resolve = if self.output == "-" { resolve } else { session.open_options()?.limits(limits.clone()).resolver(bytes::path_of(&self.output)) };
        let written = left.verified(resolve)?;
        self.save_output(&*source, &*written, left.report(), session)
    }

    fn check_output(&self, form: FileFormat, session: &Session<'_>) -> Result<()> {
        check_name(&self.output, form, "choose another name")?;
        session.check_inputs(&self.output, &[&self.file])
    }

    /// Puts the written file into place, and describes it.
    fn save_output(&self, source: &dyn Source, written: &dyn Source, report: &RepairReport, session: &Session<'_>) -> Result<Outcome> {
        let mut target = OutputFile::create(&self.output, WriteBasis::SameAs(source), session)?;
        let out = target.writer();
        stream_source(written, &mut |bytes| out.write_all(bytes).map_err(|e| Error::io("writing", e)))?;
        target.commit(session)?;
        // The output may be standard output itself.
        if self.output != "-" {
            session.print_json_or_text(|| self.report_to_json(report), |out| self.print_report(report, out))?;
        }
        Ok(if report.is_whole() { Outcome::Success } else { Outcome::Negative })
    }

    fn print_report(&self, report: &RepairReport, out: &mut Output) -> Result<()> {
        for note in &report.notes {
            out.write_line(note)?;
        }
        match &report.tree {
            None => out.write_line("there is no tree")?,
            Some(lost) => {
                for (line, why) in lost {
                    out.write_line(&format!("line {line} of the tree: {why}"))?;
                }
            }
        }
        for block in &report.blocks {
            if let Some(what) = block_text(&block.fate) {
                out.write_line(&format!("block {}: {what}", block.number))?;
            }
        }
        for (path, fate) in &report.arrays {
            match fate {
                ArrayState::Truncated { rows, total: of } => out.write_line(&format!("{path}: {rows} of {} left", count_noun(*of, "row")))?,
                ArrayState::Lost(why) if report.items.is_some() => out.write_line(&format!("{path}: lost: {why}"))?,
                ArrayState::Lost(why) => out.write_line(&format!("{path}: lost, replaced by null: {why}"))?,
                _ => {}
            }
        }
        for wrong in report.verify_problems.iter().flatten() {
            out.write_line(&format!("still wrong: {wrong}"))?;
        }
        let whole = report.blocks.iter().filter(|block| block.fate == BlockState::Whole).count();
        let all = if report.is_whole() { "nothing was lost: " } else { "" };
        if let Some(items) = report.items {
            let what = if report.arrays.is_empty() { count_noun(items, "array") } else { format!("{} not whole", report.arrays.len()) };
            return out.write_line(&format!("{}: {all}{what}", self.output));
        }
        out.write_line(&format!("{}: {all}{whole} of {} intact", self.output, count_noun(report.blocks.len(), "block")))
    }

    fn report_to_json(&self, report: &RepairReport) -> Value {
        let tree = report
            .tree
            .as_ref()
            .map(|lost| lost.iter().map(|(line, why)| json!({"line": line, "message": escape_controls(why)})).collect::<Vec<_>>());
        let blocks: Vec<Value> = report
            .blocks
            .iter()
            .map(|block| {
                let (state, have, of, why) = match &block.fate {
                    BlockState::Whole => ("whole", None, None, None),
                    BlockState::Damaged => ("damaged", None, None, None),
                    BlockState::Truncated { recovered: have, total: of } => ("part", Some(*have), Some(*of), None),
                    BlockState::Lost(why) => ("lost", None, None, Some(escape_controls(why).into_owned())),
                    _ => ("unknown", None, None, None),
                };
                json!({"block": block.number, "offset": block.offset, "state": state, "bytes": have, "of": of, "message": why})
            })
            .collect();
        let arrays: Vec<Value> = report
            .arrays
            .iter()
            .map(|(path, fate)| match fate {
                ArrayState::Truncated { rows, total: of } => json!({"path": escape_controls(path), "state": "cut", "rows": rows, "of": of}),
                ArrayState::Lost(why) => json!({"path": escape_controls(path), "state": "lost", "message": escape_controls(why)}),
                _ => json!({"path": escape_controls(path), "state": "unknown"}),
            })
            .collect();
        let notes: Vec<_> = report.notes.iter().map(|note| escape_controls(note)).collect();
        let wrong: Vec<_> = report.verify_problems.iter().flatten().map(|wrong| escape_controls(wrong)).collect();
        json!({
            "file": self.file, "output": self.output, "generation": report.generation, "whole": report.is_whole(),
            "tree": tree, "items": report.items, "blocks": blocks, "arrays": arrays, "wrong": wrong, "notes": notes,
        })
    }
}

fn block_text(fate: &BlockState) -> Option<String> {
    match fate {
        BlockState::Damaged => Some("its checksum is wrong: some bytes are damaged; they are kept unchanged".to_owned()),
        BlockState::Truncated { recovered: have, total: of } => Some(format!("{have} of {} left", count_noun(*of, "byte"))),
        BlockState::Lost(why) => Some(format!("lost: {why}")),
        _ => None,
    }
}
