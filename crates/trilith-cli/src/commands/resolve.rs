//! `trilith resolve IN OUT`: the targets of `$ref`s written in their place.

use clap::Args;
use trilith::bytes::Basis;
use trilith::asdf::{AsdfFile, Block, WriteOptions};
use trilith::file::check_name;
use trilith::{Error, Result, assemble};

use crate::Outcome;
use crate::options::Options;
use crate::output::note;
use crate::target::Target;

/// Write what each $ref leads to in its place; arrays of other files are taken in
#[derive(Debug, Args)]
pub struct Resolve {
    /// The file to read, or - for standard input
    #[arg(value_name = "IN")]
    input: String,
    /// The file to write, or - for standard output
    #[arg(value_name = "OUT")]
    output: String,
}

impl Resolve {
    /// Writes the file.
    pub fn run(&self, options: &Options) -> Result<Outcome> {
        let file = options.open_asdf(&self.input)?;
        check_name(file.container().is_some(), &self.output)?;
        let plan = assemble::resolve(&file)?;
        let mut blocks: Vec<(&AsdfFile, &Block)> = file.sections().all_blocks()?.into_iter().map(|block| (&file, block)).collect();
        if !plan.taken.is_empty() && blocks.last().is_some_and(|(_, block)| block.is_streamed()) {
            return Err(Error::unsupported("arrays of other files behind a streamed block")
                .hint("repack the file with another order of blocks first"));
        }
        for (other, index) in &plan.taken {
            blocks.push((other, other.sections().block(*index as i64)?));
        }
        let mut target = Target::create(&self.output, Basis::Read(&**file.sections().source()))?;
        let tree = file.sections().tree().map(|_| plan.tree.as_str());
        assemble::write(&file, tree, &blocks, target.writer(), &WriteOptions::default(), None)?;
        target.commit(options)?;
        if !options.quiet && self.output != "-" {
            note(&format!("{}: {} references, {} blocks taken in", self.output, plan.count, plan.taken.len()));
        }
        Ok(Outcome::Yes)
    }
}
