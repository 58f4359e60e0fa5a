//! `trilith layout print FILE.dud`: the layout in canonical form.

use clap::Args;
use serde_json::json;
use trilith::bytes::Basis;
use trilith::{Error, Result};

use super::Input;
use crate::Outcome;
use crate::options::Options;
use crate::output::Out;
use crate::target::Target;

/// Print a layout in canonical form: one item a line, documentation and attributes kept
#[derive(Debug, Args)]
pub struct Print {
    #[command(flatten)]
    input: Input,
    /// Write it to this file
    #[arg(short, long, value_name = "OUT")]
    output: Option<String>,
}

impl Print {
    /// Prints it.
    pub fn run(&self, options: &Options) -> Result<Outcome> {
        let Some((layout, warnings)) = self.input.load(options)? else { return Ok(Outcome::No) };
        self.input.warn(options, layout.text(), &warnings);
        let text = layout.print();
        if options.json && self.output.is_none() {
            let mut out = Out::new();
            out.json(&json!({"dialect": layout.dialect().name(), "text": text}))?;
            out.finish()?;
        } else {
            write_text(self.output.as_deref(), &text, options)?;
        }
        Ok(Outcome::Yes)
    }
}

/// Writes text to a file or stdout.
pub fn write_text(path: Option<&str>, text: &str, options: &Options) -> Result<()> {
    if let Some(path) = path.filter(|path| *path != "-") {
        let mut target = Target::create(path, Basis::Nothing)?;
        target.writer().write_all(text.as_bytes()).map_err(|error| Error::io(format!("writing {path}"), error))?;
        return target.commit(options).map(drop);
    }
    let mut out = Out::new();
    for line in text.split_inclusive('\n') {
        match line.strip_suffix('\n') {
            Some(line) => out.line(line)?,
            None => out.raw(line)?,
        }
    }
    out.finish()
}
