//! `trilith layout from FILE`: the layout of a file of another format, from its own metadata.

use clap::Args;
use serde_json::json;
use trilith::Result;

use super::print::write_layout;
use crate::outcome::Outcome;
use crate::session::Session;

/// Write the layout of a file of another format, derived from the file's own metadata
///
/// It is the layout under which every command reads such a file: groups become dicts, attributes are in #:
/// comments. Given back with --layout it reads the same arrays.
#[derive(Debug, Args)]
pub(super) struct FromFile {
    /// The file
    #[arg(value_name = "FILE")]
    input: String,
    /// Write the layout to this file (default: standard output)
    #[arg(short, long, value_name = "OUT.dud")]
    output: Option<String>,
}

impl FromFile {
    /// Writes the layout.
    pub(super) fn run(&self, session: &Session<'_>) -> Result<Outcome> {
        let (source, resolve) = session.open_with_resolver(&self.input)?;
        let derived = session.open_options()?.layout_from(&source, &*resolve)?;
        let report = json!({"format": derived.format, "dialect": "2025", "text": derived.text});
        write_layout(self.output.as_deref(), &derived.text, &[], report, session)?;
        Ok(Outcome::Success)
    }
}
