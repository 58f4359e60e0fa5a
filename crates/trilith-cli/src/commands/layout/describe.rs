//! `trilith layout describe X.asdf`: a layout for the bytes of an ASDF file.

use clap::Args;
use trilith::bytes::Basis;
use trilith::convert::describe_layout;
use trilith::{Error, Result};

use crate::Outcome;
use crate::options::Options;
use crate::output::Out;
use crate::target::Target;

/// Write a layout whose items lie at the very bytes of the blocks of an ASDF file
///
/// Uncompressed arrays become arrays, others the bytes that are stored, with attributes that say what
/// they mean. Read the file with `--layout`.
#[derive(Debug, Args)]
pub struct Describe {
    /// The file to describe
    #[arg(value_name = "FILE")]
    file: String,
    /// Write the layout here
    #[arg(short, long, value_name = "L.dud")]
    output: Option<String>,
}

impl Describe {
    /// Writes the layout.
    pub fn run(&self, options: &Options) -> Result<Outcome> {
        let file = options.open_asdf(&self.file)?;
        let text = describe_layout(&file)?;
        match self.output.as_deref() {
            Some(path) if path != "-" => {
                let mut target = Target::create(path, Basis::Nothing)?;
                target.writer().write_all(text.as_bytes()).map_err(|e| Error::io("writing", e))?;
                target.commit(options)?;
            }
            _ => {
                let mut out = Out::new();
                out.raw(&text)?;
                out.finish()?;
            }
        }
        Ok(Outcome::Yes)
    }
}
