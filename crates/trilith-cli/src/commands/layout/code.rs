//! `trilith layout code L.dud --lang c`: a program that writes and reads the files of a layout.

use trilith::bytes::path_of;

use clap::Args;
use serde_json::json;
use trilith::dudley::{native_order, stored_text};
use trilith::layout::{Byteorder, CodeLanguage, CodeOutput};
use trilith::{Error, Result};

use crate::outcome::Outcome;
use crate::session::Session;
use crate::output::{Output, eprint_line, display_size};
use crate::outputs::check_absent;
use crate::output_file::OutputFile;

/// Write a small program that writes and reads the files of a layout, without any library
///
/// The program is a header in C99, a module in Fortran 2018, Python 3 or Rust. Its writer makes a native file with the
/// layout at its end, with the same bytes as `layout write`; with --raw the bytes of the layout alone. Its reader takes files with and
/// without the signature. A C++ program can include the header, too.
#[derive(Debug, Args)]
pub(super) struct Code {
    #[command(flatten)]
    input: super::LayoutArg,
    /// The language to write
    #[arg(long, value_name = "LANGUAGE", value_parser = languages())]
    lang: String,
    /// The file to write (default: standard output)
    #[arg(short, long, value_name = "OUT")]
    output: Option<String>,
    /// Name of the module and its functions (default: the name of OUT or of the layout)
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Let the program leave the layout out of the files that it writes
    #[arg(long)]
    bare: bool,
    /// Let the program write the bytes of the layout alone, without the signature and the layout
    #[arg(long)]
    raw: bool,
}

fn languages() -> clap::builder::PossibleValuesParser {
    clap::builder::PossibleValuesParser::new(CodeLanguage::all().map(CodeLanguage::name))
}

impl Code {
    /// Writes the program.
    pub(super) fn run(&self, session: &Session<'_>) -> Result<Outcome> {
        let Some(layout) = self.input.load_template(session)? else { return Ok(Outcome::Negative) };
        let language = CodeLanguage::from_name(&self.lang).ok_or_else(|| Error::invalid_input(format!("{} is not a language", self.lang)))?;
        let output = self.output.as_deref().filter(|path| *path != "-");
        let stem = |path: &str| path_of(path).file_stem().map(|stem| stem.to_string_lossy().into_owned());
        let name = self.name.clone().or_else(|| stem(output.unwrap_or(&self.input.file))).unwrap_or_default();
        let order: Byteorder = session.args.byteorder().or(layout.order()).unwrap_or(native_order());
        let text = stored_text(&layout);
        let content = match (self.raw, self.bare) {
            (true, _) => CodeOutput::Raw,
            (false, true) => CodeOutput::Separate,
            (false, false) => CodeOutput::Embedded(&text),
        };
        let code = layout.code_for(language, &name, order, content)?;
        if let Some(path) = output {
            check_absent([&path_of(path).into_owned()], session.args.overwrite)?;
            session.check_inputs(path, &[])?;
            let written = OutputFile::write_text(path, &code, session)?;
            if !session.args.quiet && !session.args.json {
                eprint_line(&format!("{path}: {}", display_size(written)));
            }
        }
        let mut out = Output::new();
        if session.args.json {
            out.write_json(&json!({"file": output, "language": language.name(), "code": code}))?;
        } else if output.is_none() {
            out.write_lines(code.trim_end_matches('\n'))?;
        }
        out.finish()?;
        Ok(Outcome::Success)
    }
}
