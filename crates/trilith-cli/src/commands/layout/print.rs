//! `trilith layout print FILE.dud`: the layout in canonical form.

use clap::Args;
use serde_json::{Value, json};
use trilith::Result;

use super::LayoutArg;
use crate::outcome::Outcome;
use crate::session::Session;
use crate::output::Output;
use crate::outputs::{FileFormat, check_name};
use crate::output_file::OutputFile;

/// Print a layout in canonical form: one item a line, documentation and attributes kept
#[derive(Debug, Args)]
pub(super) struct Print {
    #[command(flatten)]
    input: LayoutArg,
    /// Write it to this file
    #[arg(short, long, value_name = "OUT")]
    output: Option<String>,
}

impl Print {
    /// Prints it.
    pub(super) fn run(&self, session: &Session<'_>) -> Result<Outcome> {
        let Some((layout, warnings)) = self.input.load_layout(session)? else { return Ok(Outcome::Negative) };
        self.input.print_warnings(session, layout.text(), &warnings);
        let text = layout.print();
        let report = json!({"dialect": layout.dialect().name(), "text": text});
        write_layout(self.output.as_deref(), &text, &[&self.input.file], report, session)?;
        Ok(Outcome::Success)
    }
}

/// Writes a layout to a file, or to stdout; with --json `report`, and the file if there is one, is printed.
/// `rewritten` are the inputs that may be replaced by it.
pub(super) fn write_layout(path: Option<&str>, text: &str, rewritten: &[&str], mut report: Value, session: &Session<'_>) -> Result<()> {
    if let Some(path) = path.filter(|path| *path != "-") {
        check_name(path, FileFormat::Layout, "choose another name")?;
        session.check_inputs(path, rewritten)?;
        OutputFile::write_text(path, text, session)?;
        if session.args.json {
            report["file"] = path.into();
        }
    }
    if session.args.json && path != Some("-") {
        return Output::print_json(&report);
    }
    if path.is_some_and(|path| path != "-") {
        return Ok(());
    }
    Output::print_with(|out| {
        text.split_inclusive('\n').try_for_each(|line| match line.strip_suffix('\n') {
            Some(line) => out.write_line(line),
            None => out.write_raw_text(line),
        })
    })
}
