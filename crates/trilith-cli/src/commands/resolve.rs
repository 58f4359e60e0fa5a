//! `trilith resolve IN OUT`: the targets of `$ref`s written in their place.

use clap::Args;
use serde_json::json;
use trilith_io::error::count_noun;
use trilith::asdf::{AsdfFile, Block, WriteOptions};
use trilith::assemble::{self, BlockCodec};
use trilith::bytes::{WriteBasis, is_one_file, path_of};
use trilith::{Error, Result};

use crate::outcome::Outcome;
use crate::losses::{AllowLoss, losses_json, report_refused, report_losses};
use crate::session::{FileRole, Session};
use crate::outputs::{FileFormat, check_name, report_written};
use crate::output_file::OutputFile;

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
    pub(crate) fn run(&self, session: &Session<'_>) -> Result<Outcome> {
        let file = session.open(&self.input, FileRole::TreeFor(&self.output))?.into_asdf()?;
        let plan = assemble::resolve(&file)?;
        let mut blocks: Vec<(&AsdfFile, &Block)> = file.sections().all_blocks()?.into_iter().map(|block| (&file, block)).collect();
        if !plan.blocks.is_empty() && blocks.last().is_some_and(|(_, block)| block.is_streamed()) {
            return Err(Error::unsupported("arrays of other files after a streamed block")
                .hint("repack the file with another order of blocks first"));
        }
        for (other, index) in &plan.blocks {
            blocks.push((other, other.sections().block(*index as i64)?));
        }
        check_name(&self.output, FileFormat::from_asdf(&file), "choose another name, or convert the file")?;
        session.check_inputs(&self.output, &[&self.input])?;
        session.check_replaced(&self.output, &[&self.input])?;
        let mut target = OutputFile::create(&self.output, WriteBasis::SameAs(&**file.sections().source()), session)?;
        let tree = file.sections().tree().map(|_| plan.tree.as_str());
        let mut how = WriteOptions::default();
        how.keep_unused = is_one_file(&path_of(&self.input), &path_of(&self.output));
        let losses = assemble::write(&file, tree, &blocks, target.writer(), &how, BlockCodec::Keep)?;
        if self.loss.is_refused(&losses) {
            return report_refused(&self.input, &self.output, &losses, session);
        }
        let written = target.commit_checked(Some(&file), session)?;
        report_losses(&self.input, &losses);
        session.warn_of_omission(&file, how.keep_unused)?;
        let (count, taken) = (plan.count, plan.blocks.len());
        let report = json!({"file": self.output, "written": true, "size": written, "references": count, "taken": taken, "losses": losses_json(&losses)});
        report_written(&self.output, &report, &format!("{}: {} replaced, {} copied in", self.output, count_noun(count, "reference"), count_noun(taken, "block")), session)?;
        Ok(Outcome::Success)
    }
}
