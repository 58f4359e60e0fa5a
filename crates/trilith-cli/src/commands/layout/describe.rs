//! `trilith layout describe X.asdf`: a layout for the bytes of an ASDF file.

use clap::Args;
use serde_json::json;
use trilith::convert::describe_layout;
use trilith::Result;

use super::print::write_layout;
use crate::outcome::Outcome;
use crate::session::{FileRole, Session};

/// Write a layout of the arrays of an ASDF file, in their present places
///
/// Uncompressed arrays become arrays, others the bytes that are stored, with attributes that give their meaning.
/// Read the file with `--layout`.
#[derive(Debug, Args)]
pub(super) struct Describe {
    /// The file to describe
    #[arg(value_name = "FILE")]
    file: String,
    /// Write the layout to this file
    #[arg(short, long, value_name = "L.dud")]
    output: Option<String>,
}

impl Describe {
    /// Writes the layout.
    pub(super) fn run(&self, session: &Session<'_>) -> Result<Outcome> {
        let file = session.open(&self.file, FileRole::Tree)?.into_asdf()?;
        let text = describe_layout(&file)?;
        write_layout(self.output.as_deref(), &text, &[], json!({"layout": text}), session)?;
        Ok(Outcome::Success)
    }
}
