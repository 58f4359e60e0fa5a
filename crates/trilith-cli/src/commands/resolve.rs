//! `trilith resolve IN OUT`: the targets of `$ref`s written in their place.

use clap::Args;
use serde_json::json;
use trilith_io::error::counted;
use trilith::asdf::{AsdfFile, Block, WriteOptions};
use trilith::bytes::Basis;
use trilith::{Error, Result, assemble};

use crate::Outcome;
use crate::losses::{AllowLoss, listed, refuse, report as report_losses};
use crate::options::Options;
use crate::outputs::{Form, check_name, told};
use crate::output_file::Target;

/// Replace each $ref by its target, including arrays of other files
#[derive(Debug, Args)]
pub(crate) struct Resolve {
    /// The file to read, or - for standard input
    #[arg(value_name = "IN")]
    input: String,
    /// The file to write, or - for standard output
    #[arg(value_name = "OUT")]
    output: String,
    #[command(flatten)]
    loss: AllowLoss,
}

impl Resolve {
    /// Writes the file.
    pub(crate) fn run(&self, options: &Options) -> Result<Outcome> {
        let file = options.open_asdf_for(&self.input, &self.output)?;
        let plan = assemble::resolve(&file)?;
        let mut blocks: Vec<(&AsdfFile, &Block)> = file.sections().all_blocks()?.into_iter().map(|block| (&file, block)).collect();
        if !plan.taken.is_empty() && blocks.last().is_some_and(|(_, block)| block.is_streamed()) {
            return Err(Error::unsupported("arrays of other files after a streamed block")
                .hint("repack the file with another order of blocks first"));
        }
        for (other, index) in &plan.taken {
            blocks.push((other, other.sections().block(*index as i64)?));
        }
        check_name(&self.output, Form::of(&file), "name it otherwise, or convert the file")?;
        options.check_inputs(&self.output, &[&self.input])?;
        options.check_replaced(&self.output, &[&self.input])?;
        let mut target = Target::create(&self.output, Basis::Read(&**file.sections().source()), options)?;
        let tree = file.sections().tree().map(|_| plan.tree.as_str());
        let losses = assemble::write(&file, tree, &blocks, target.writer(), &WriteOptions::default(), None)?;
        if self.loss.refuses(&losses) {
            return refuse(&self.input, &self.output, &losses, options);
        }
        let written = target.commit_checked(Some(&file), options)?;
        report_losses(&self.input, &losses);
        let (count, taken) = (plan.count, plan.taken.len());
        let report = json!({"file": self.output, "written": true, "size": written, "references": count, "taken": taken, "losses": listed(&losses)});
        told(&self.output, &report, &format!("{}: {} replaced, {} copied in", self.output, counted(count, "reference"), counted(taken, "block")), options)?;
        Ok(Outcome::Yes)
    }
}
