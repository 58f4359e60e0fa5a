//! `trilith layout new IN`: a layout for data that have none yet.

use std::path::Path;

use clap::Args;
use serde_json::json;
use trilith::array::Array;
use trilith::bytes::{WriteBasis, name_of, path_of, read_vec};
use trilith::dudley::{Draft, native_order};
use trilith_layout::foreign::npz_arrays;
use trilith_io::glob::natural;
use trilith::layout::{Dialect, ItemKind, Layout, ParseOptions, parse};
use trilith::{Error, ErrorKind, Limits, Location, Result};

use super::DialectArg;
use super::from_c::{CModel, Converted, LengthMember, read_c};
use crate::outcome::Outcome;
use crate::session::Session;
use crate::advice::{error_remedy, error_with_advice};
use crate::output::{Output, display_size, eprint_line, escape_controls};
use crate::outputs::{FileFormat, check_absent, check_name};
use crate::output_file::OutputFile;

/// Write a layout for the arrays of .npz and .npy files, or for C structs
///
/// Names of an archive with / in them, and folders in a folder, become dicts. Any other file is read as C: its
/// structs become named types, declarations outside of them items, comments documentation. Conditions such as `#ifdef` are
/// evaluated for the macros of the file and those of -D. A condition that depends on other macros is an error. If a variable has no
/// layout, the exit status is 1, because the layout then does not describe all of the file. A variable after it is an error.
#[derive(Debug, Args)]
pub(super) struct New {
    /// A .npz or .npy file, a folder, or a C source (- is one on standard input)
    #[arg(value_name = "IN")]
    input: String,
    /// Write the layout to this file (default: standard output)
    #[arg(short, long, value_name = "OUT.dud")]
    output: Option<String>,
    /// The dialect to write
    #[arg(long, value_name = "DIALECT", default_value = "2025")]
    dialect: DialectArg,
    /// Write the arrays too, into this native file with the layout at its end
    #[arg(long, value_name = "OUT.bd")]
    data: Option<String>,
    /// C: the size of a long in bytes, 8 on UNIX and 4 on Windows
    #[arg(long, value_name = "BYTES", default_value = "8", value_parser = clap::value_parser!(u8).range(4..=8))]
    long: u8,
    /// C: this member of the struct at the beginning of the file is a length, such as nx=mesh.nx; its struct becomes the
    /// summary block of a template
    #[arg(long = "length", value_name = "NAME=STRUCT.MEMBER")]
    lengths: Vec<LengthMember>,
    /// C: define a macro (1 without VALUE), as a compiler does; LAYOUT is defined
    #[arg(short = 'D', value_name = "NAME[=VALUE]")]
    defines: Vec<String>,
}

impl New {
    /// Writes the layout.
    pub(super) fn run(&self, session: &Session<'_>) -> Result<Outcome> {
        let limits = session.limits();
        let dialect = Dialect::from(self.dialect);
        let draft = self.read_draft(session, limits)?;
        if draft.is_some() && !self.lengths.is_empty() {
            return Err(Error::invalid_input("--length is for C source, whose structs have members"));
        }
        if draft.is_some() && !self.defines.is_empty() {
            return Err(Error::invalid_input("-D is for C source, which has conditions"));
        }
        let mut outcome = Outcome::Success;
        let old = match &draft {
            Some(draft) => draft.layout()?.0,
            None => match self.read_c(session, limits) {
                Ok((text, lacks_variable)) => {
                    // The layout does not describe all of the file.
                    outcome = if lacks_variable { Outcome::Negative } else { Outcome::Success };
                    text
                }
                Err(error) if error.kind() == ErrorKind::Unsupported => return report_refusal(&error, session),
                Err(error) => return Err(error),
            },
        };
        let layout = parse_layout_text(&old, limits)?;
        let (text, layout) = if dialect == layout.dialect() {
            (old, layout)
        } else {
            let text = layout.translate(dialect).text;
            let layout = parse_layout_text(&text, limits)?;
            (text, layout)
        };
        let outputs = [&self.output, &self.data].into_iter().flatten().filter(|path| *path != "-");
        check_absent(&outputs.map(|path| path_of(path).into_owned()).collect::<Vec<_>>(), session.args.overwrite)?;
        if let Some(path) = &self.data {
            check_name(path, FileFormat::Dudley, "choose another name")?;
            let draft = draft.ok_or_else(|| Error::invalid_input("C source holds no data to write"))?;
            let mut target = OutputFile::create(path, WriteBasis::Nothing, session)?;
            let order = session.args.byteorder().unwrap_or(native_order());
            draft.write_as(dialect, order, limits, &mut target.writer())?;
            let written = target.commit(session)?;
            if !session.args.quiet && !session.args.json && path != "-" {
                eprint_line(&format!("{path}: {}", display_size(written)));
            }
        }
        if let Some(path) = self.output.as_deref().filter(|path| *path != "-") {
            check_name(path, FileFormat::Layout, "choose another name")?;
            session.check_inputs(path, &[])?;
            let written = OutputFile::write_text(path, &text, session)?;
            if !session.args.quiet && !session.args.json {
                eprint_line(&format!("{path}: {}", display_size(written)));
            }
        }
        let mut out = Output::new();
        if session.args.json && self.data.as_deref() != Some("-") {
            let items = (1..layout.item_count()).filter_map(|at| layout.item_at(at));
            let paths: Vec<String> = items
                .filter(|id| layout.kind(*id) == ItemKind::Data)
                .filter(|id| layout.parent(*id).is_some_and(|parent| layout.kind(parent) != ItemKind::Type))
                .map(|id| layout.path(id))
                .collect();
            out.write_json(
                &json!({"file": self.output, "data": self.data, "dialect": dialect.name(), "items": paths, "layout": text}),
            )?;
        } else if self.output.as_deref().is_none_or(|path| path == "-") && self.data.as_deref() != Some("-") {
            out.write_lines(text.trim_end_matches('\n'))?;
        }
        out.finish()?;
        Ok(outcome)
    }

    /// The arrays, unless the input is C.
    fn read_draft(&self, session: &Session<'_>, limits: &Limits) -> Result<Option<Draft>> {
        let path = &*path_of(&self.input);
        if self.input != "-" && path.is_dir() {
            let mut draft = Draft::dict::<&str>([]);
            if collect_npy_files(path, "", session, limits, &mut draft)? == 0 {
                return Err(Error::invalid_input(format!("there is no .npy file in {}", self.input)).hint("give a folder of .npy files"));
            }
            return Ok(Some(draft));
        }
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("npz") => {
                let mut draft = Draft::dict::<&str>([]);
                for (name, array) in npz_arrays(&session.open_source(&self.input)?, limits)? {
                    draft.insert_at_path(&name, array)?;
                }
                Ok(Some(draft))
            }
            Some("npy") => {
                let name = path.file_stem().map_or_else(|| "data".to_owned(), |stem| stem.to_string_lossy().into_owned());
                let mut draft = Draft::dict::<&str>([]);
                draft.insert_at_path(&name, Array::from_npy(session.open_source(&self.input)?, limits)?)?;
                Ok(Some(draft))
            }
            _ => Ok(None),
        }
    }

    /// Names on stderr what a layout cannot say of a C source; one of which nothing is left is refused.
    fn warn_left_out(&self, made: Converted) -> Result<(String, bool)> {
        let is_empty = made.text.lines().count() < 2;
        let mut left_out = made.left_out.into_iter();
        if is_empty && let Some(error) = left_out.next() {
            return Err(error.context(self.input.clone()));
        }
        made.notes.iter().for_each(|said| eprint_line(&format!("{}: {said}", self.input)));
        left_out.for_each(|why| eprint_line(&format!("{}: left out: {}", self.input, error_with_advice(&why))));
        Ok((made.text, made.lacks_variable))
    }

    /// Returns the layout of a C source, and `true` if variables are left out.
    fn read_c(&self, session: &Session<'_>, limits: &Limits) -> Result<(String, bool)> {
        let source = session.open_source(&self.input)?;
        let bytes = read_vec(&*source, 0, source.len(), limits)?;
        let text =
            String::from_utf8(bytes).map_err(|_| Error::invalid_input(format!("{} is neither an archive nor text", self.input)))?;
        let model = CModel { long: self.long, ..CModel::default() };
        self.warn_left_out(read_c(&text, model, &self.lengths, &self.defines).map_err(|e| e.context(self.input.clone()))?)
    }
}

/// Shows that a C source has no layout, and where.
fn report_refusal(error: &Error, session: &Session<'_>) -> Result<Outcome> {
    if session.args.json {
        let (line, column) = match error.location() {
            Location::Text { line, column } => (Some(*line), Some(*column)),
            _ => (None, None),
        };
        let hint = error_remedy(error).unwrap_or_default();
        let fault = json!({"code": null, "line": line, "column": column, "message": escape_controls(error.message()), "hint": hint});
        Output::print_json(&json!({"errors": [fault]}))?;
    } else {
        eprint_line(&format!("trilith: {}", error_with_advice(error)));
    }
    Ok(Outcome::Negative)
}

/// A layout that was made here.
fn parse_layout_text(text: &str, limits: &Limits) -> Result<Layout> {
    let mut options = ParseOptions::default();
    options.limits = limits.clone();
    let parsed = parse(text.as_bytes(), &options)?;
    let first = parsed.diagnostics.into_iter().find(|diagnostic| !diagnostic.is_harmless);
    parsed.layout.ok_or_else(|| {
        let why = first.map_or_else(String::new, |diagnostic| format!(": {}", diagnostic.message));
        Error::invalid_input(format!("no layout can be made of this{why}"))
    })
}

/// Maximum depth of folders.
const MAX_DEPTH: usize = 64;

/// The `.npy` files of a folder and those below it, in the order of their names, and how many they are.
fn collect_npy_files(folder: &Path, prefix: &str, session: &Session<'_>, limits: &Limits, draft: &mut Draft) -> Result<usize> {
    if prefix.matches('/').count() > MAX_DEPTH {
        return Err(Error::limit(format!("folders nest more than {MAX_DEPTH} deep")));
    }
    let failed = |e| Error::io(format!("reading {}", folder.display()), e);
    let (mut paths, mut count) = (Vec::new(), 0);
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        paths.push(entry.map_err(failed)?.path());
    }
    paths.sort_by(|one, other| natural(&name_of(one), &name_of(other)));
    for path in paths {
        let name = |part: Option<&std::ffi::OsStr>| format!("{prefix}{}", part.unwrap_or_default().to_string_lossy());
        if path.is_dir() {
            count += collect_npy_files(&path, &format!("{}/", name(path.file_name())), session, limits, draft)?;
        } else if path.extension().is_some_and(|extension| extension == "npy") {
            let array = Array::from_npy(session.open_source(&name_of(&path))?, limits);
            draft.insert_at_path(&name(path.file_stem()), array.map_err(|e| e.context(path.display().to_string()))?)?;
            count += 1;
        }
    }
    Ok(count)
}
