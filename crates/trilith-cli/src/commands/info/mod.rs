//! `trilith info FILE`: what the file is.

pub mod asdf;
mod dudley;

use clap::Args;
use serde_json::json;
use trilith::{File, Result};

use crate::Outcome;
use crate::options::Options;
use crate::output::{Out, size};

/// Show what a file is: generation, sizes, tree, blocks, index
///
/// Nothing is decoded, so the time does not depend on the size of the file.
#[derive(Debug, Args)]
pub struct Info {
    /// The file, or - for standard input
    #[arg(value_name = "FILE")]
    file: String,
}

impl Info {
    /// Prints what the file is.
    pub fn run(&self, options: &Options) -> Result<Outcome> {
        let file = options.open_file(&self.file)?;
        let mut out = Out::new();
        match (file.as_asdf(), file.as_dudley()) {
            (Some(file), _) if options.json => out.json(&asdf::facts(&self.file, file)?)?,
            (Some(file), _) => asdf::print(&mut out, &self.file, file, options)?,
            (_, Some(file)) => dudley::show(&mut out, &self.file, file, options)?,
            _ => show(&mut out, &self.file, &file, options)?,
        }
        options.warn_all(file.warnings());
        out.finish()?;
        Ok(Outcome::Yes)
    }
}

/// What can be said of a file of any family.
fn show(out: &mut Out, name: &str, file: &File, options: &Options) -> Result<()> {
    let arrays = file.arrays()?.len();
    if options.json {
        let facts = json!({
            "file": name, "family": file.family(), "generation": file.family(), "items": arrays, "blocks": [],
            "size": file.source().len(),
        });
        return out.json(&facts);
    }
    let facts = [("file", name.to_owned()), ("family", file.family().to_owned()), ("size", size(file.source().len()))];
    for (fact, value) in facts {
        out.line(&format!("{fact:<12} {value}"))?;
    }
    out.line(&format!("{:<12} {arrays}", "arrays"))
}
