//! `trilith blocks FILE`: every block, with its header fields.

use clap::Args;
use serde_json::json;
use trilith::Result;
use trilith::file::AnyFile;

use super::info::{block_json, block_table};
use crate::Outcome;
use crate::options::Options;
use crate::output::Out;

/// List the blocks of a file, or the items of a Dudley stream
#[derive(Debug, Args)]
pub struct Blocks {
    /// The file, or - for standard input
    #[arg(value_name = "FILE")]
    file: String,
}

impl Blocks {
    /// Prints the list.
    pub fn run(&self, options: &Options) -> Result<Outcome> {
        let file = match options.open_any(&self.file)? {
            AnyFile::Asdf(file) => file,
            AnyFile::Dudley(file) => return crate::stream::list(&self.file, &file, options),
        };
        let blocks = file.sections().blocks()?;
        let mut out = Out::new();
        if options.json {
            let base = file.container().map_or(0, |container| container.offset);
            let list: Vec<_> = blocks.iter().map(|block| block_json(&file, block, base)).collect();
            out.json(&json!({"file": self.file, "blocks": list}))?;
        } else {
            block_table(&file, &blocks, usize::MAX).print(&mut out)?;
        }
        options.warn_about(&file);
        out.finish()?;
        Ok(Outcome::Yes)
    }
}
