//! `trilith layout …`: Dudley layouts without their streams, or with one.

mod catalog;
mod check;
mod code;
mod describe;
mod from_file;
mod from_c;
mod locate;
mod new;
mod print;
mod resolve;
mod translate;
mod write;

use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value, json};
use trilith::bytes::read_vec;
use trilith::dudley::{Catalog, Signature};
use trilith::layout::{self, Dialect, ParseOptions, ParseResult};
use trilith::{Diagnostic, Error, File, Limits, Location, Result, Severity};

use crate::outcome::Outcome;
use crate::session::{FileRole, Session};
use crate::output::{Output, escape_controls};
use crate::advice::{error_remedy, error_with_advice};

/// Write, check and convert Dudley layouts; write files, catalogs and programs of a layout
#[derive(Debug, Args)]
pub(crate) struct Layout {
    #[command(subcommand)]
    command: LayoutCommand,
}

#[derive(Debug, Subcommand)]
enum LayoutCommand {
    Check(check::Check),
    Resolve(resolve::Resolve),
    Print(print::Print),
    Translate(translate::Translate),
    Describe(describe::Describe),
    Locate(locate::Locate),
    New(new::New),
    From(from_file::FromFile),
    Write(write::Write),
    Catalog(catalog::CatalogArgs),
    Code(code::Code),
}

impl Layout {
    /// Returns `true` for `write`, whose `--param` gives the values of stored parameters.
    pub(crate) fn has_own_params(&self) -> bool {
        matches!(self.command, LayoutCommand::Write(_))
    }

    /// Runs the subcommand.
    pub(crate) fn run(&self, session: &Session<'_>) -> Result<Outcome> {
        match &self.command {
            LayoutCommand::Check(command) => command.run(session),
            LayoutCommand::Resolve(command) => command.run(session),
            LayoutCommand::Print(command) => command.run(session),
            LayoutCommand::Translate(command) => command.run(session),
            LayoutCommand::Describe(command) => command.run(session),
            LayoutCommand::Locate(command) => command.run(session),
            LayoutCommand::New(command) => command.run(session),
            LayoutCommand::From(command) => command.run(session),
            LayoutCommand::Write(command) => command.run(session),
            LayoutCommand::Catalog(command) => command.run(session),
            LayoutCommand::Code(command) => command.run(session),
        }
    }
}

/// A dialect of the language.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DialectArg {
    /// July 2025: `name = dtype[shape] @address`
    #[value(name = "2025")]
    D2025,
    /// 2026: `name: dtype(shape) -> filter @address`
    #[value(name = "2026")]
    D2026,
}

impl From<DialectArg> for Dialect {
    fn from(name: DialectArg) -> Self {
        match name {
            DialectArg::D2025 => Dialect::D2025,
            DialectArg::D2026 => Dialect::D2026,
        }
    }
}

/// A layout to read.
#[derive(Debug, Args)]
pub(super) struct LayoutArg {
    /// The layout, or a native file that contains one, or - for standard input
    #[arg(value_name = "FILE.dud")]
    pub file: String,
    /// Dialect of the layout (default: detected)
    #[arg(long, value_name = "DIALECT")]
    pub dialect: Option<DialectArg>,
}

impl LayoutArg {
    /// Returns `true` for a native file, which has its data as well.
    pub(super) fn is_native(&self, session: &Session<'_>) -> Result<bool> {
        Ok(self.file != "-" && Signature::read(&*session.open_source(&self.file)?)?.is_some())
    }

    /// Reads and parses the layout.
    pub(super) fn parse_layout(&self, session: &Session<'_>) -> Result<ParseResult> {
        let limits = session.limits();
        let source = session.open_source(&self.file)?;
        let bytes = match Signature::read(&*source)? {
            // A native file: the layout that it holds.
            Some(_) => trilith::dudley::layout_text(&source, &*session.open_options()?.resolver(trilith::bytes::path_of(&self.file)), limits)?,
            None if source.len() > limits.text => {
                return Err(Limits::exceeded_error("text", limits.text, format_args!("{} is {} bytes long", self.file, source.len())));
            }
            None => read_vec(&*source, 0, source.len(), limits)?,
        };
        let mut how = ParseOptions::with_dialect(self.dialect.map(Dialect::from));
        how.limits = limits.clone();
        layout::parse(&bytes, &how)
    }

    /// Reads a layout that has to be right to go on; otherwise its errors are shown.
    pub(super) fn load_layout(&self, session: &Session<'_>) -> Result<Option<(layout::Layout, Vec<Diagnostic>)>> {
        let parsed = self.parse_layout(session)?;
        if let Some(layout) = parsed.layout {
            return Ok(Some((layout, parsed.diagnostics)));
        }
        let errors: Vec<Diagnostic> = parsed.diagnostics.into_iter().filter(|d| d.severity == Severity::Error).collect();
        self.print_errors(session, &parsed.text, &errors)?;
        Ok(None)
    }

    /// The catalog that the file is, if it is one that holds the layout of its files.
    pub(super) fn read_catalog(&self, session: &Session<'_>) -> Result<Option<Catalog>> {
        if !self.is_native(session)? {
            return Ok(None);
        }
        let catalog = session.open(&self.file, FileRole::Catalog).and_then(File::into_dudley).and_then(|stream| Catalog::read(&stream));
        Ok(catalog.ok().filter(|catalog| catalog.template().is_some()))
    }

    /// Reads the layout of files: of a catalog that holds it, this one.
    pub(super) fn load_template(&self, session: &Session<'_>) -> Result<Option<layout::Layout>> {
        match self.read_catalog(session)?.and_then(|catalog| catalog.template().cloned()) {
            Some(template) => Ok(Some(template)),
            None => Ok(self.load_layout(session)?.map(|(layout, _)| layout)),
        }
    }

    /// Shows errors: as JSON on stdout, for people with their lines on stderr.
    pub(super) fn print_errors(&self, session: &Session<'_>, text: &str, errors: &[Diagnostic]) -> Result<()> {
        if session.args.json {
            return Output::print_json(&json!({"errors": diagnostics_json(errors)}));
        }
        for error in errors {
            error.render(text, &self.file).trim_end().lines().for_each(crate::output::eprint_line);
        }
        Ok(())
    }

    /// Shows warnings on stderr, unless `--quiet`.
    pub(super) fn print_warnings(&self, session: &Session<'_>, text: &str, warnings: &[Diagnostic]) {
        if !session.args.quiet {
            for warning in warnings {
                warning.render(text, &self.file).trim_end().lines().for_each(crate::output::eprint_line);
            }
        }
    }
}

/// An error with a code of the language, such as E404, is an answer; any other is handed on.
pub(super) fn report_layout_error(error: Error, session: &Session<'_>) -> Result<Outcome> {
    let is_code = |code: &str| code.len() == 4 && code.starts_with('E') && code[1..].bytes().all(|b| b.is_ascii_digit());
    let Some((code, message)) = error.message().split_once(": ").filter(|(code, _)| is_code(code)) else { return Err(error) };
    if !session.args.json {
        crate::output::eprint_line(&format!("trilith: {}", error_with_advice(&error)));
        return Ok(Outcome::Negative);
    }
    // A fault of a stream has no place in the text of the layout.
    let (line, column) = match error.location() {
        Location::Text { line, column } => (Some(*line), Some(*column)),
        _ => (None, None),
    };
    let hint = error_remedy(&error).unwrap_or_default();
    let fault = json!({"code": code, "line": line, "column": column, "message": escape_controls(message), "hint": hint});
    Output::print_json(&json!({"errors": [fault]}))?;
    Ok(Outcome::Negative)
}

/// Diagnostics as a list of objects.
pub(super) fn diagnostics_json(diagnostics: &[Diagnostic]) -> Value {
    diagnostics.iter().map(diagnostic_to_json).collect()
}

fn diagnostic_to_json(diagnostic: &Diagnostic) -> Value {
    json!({
        "code": diagnostic.code,
        "line": diagnostic.line,
        "column": diagnostic.column,
        "message": escape_controls(&diagnostic.message),
        "hint": diagnostic.hint.as_deref().unwrap_or(""),
    })
}
