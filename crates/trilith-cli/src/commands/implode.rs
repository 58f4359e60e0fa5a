//! `trilith implode FILE`: external blocks taken into one file.

use clap::Args;
use serde_json::json;
use trilith_io::error::count_noun;
use trilith::asdf::{AsdfFile, Block, WriteOptions};
use trilith::Result;
use trilith::assemble::{self, BlockCodec};
use trilith::bytes::{WriteBasis, name_of, is_one_file, path_of};

use super::explode::one_array;
use crate::outcome::Outcome;
use crate::dashed_words::strip_mark;
use crate::item_arg::ItemArg;
use crate::losses::{AllowLoss, losses_json, report_refused, report_losses};
use crate::session::{FileRole, Session};
use crate::outputs::{FileFormat, check_absent, check_name, report_written, split_extension};
use crate::output_file::OutputFile;

/// Join an exploded file: write its external blocks into one file
#[derive(Debug, Args)]
pub(crate) struct Implode {
    /// The file with the tree, with an optional #/path of the one array to take in
    #[arg(value_name = "FILE[#/path]", value_parser = strip_mark)]
    item: String,
    /// The file to write (default: NAME_all next to it)
    #[arg(short, long, value_name = "OUT")]
    output: Option<String>,
    #[command(flatten)]
    loss: AllowLoss,
}

impl Implode {
    /// Writes the file.
    pub(crate) fn run(&self, session: &Session<'_>) -> Result<Outcome> {
        let item = ItemArg::parse(&self.item);
        let output = self.output.clone().unwrap_or_else(|| default_name(&item.file));
        let file = session.open(&item.file, FileRole::TreeFor(&output))?.into_asdf()?;
        let plan = assemble::implode(&file, one_array(&file, &item)?)?;
        let mut blocks: Vec<(&AsdfFile, &Block)> = file.sections().all_blocks()?.into_iter().map(|block| (&file, block)).collect();
        for other in &plan.blocks {
            blocks.push((other, other.sections().block(0)?));
        }
        check_name(&output, FileFormat::from_asdf(&file), "choose another name")?;
        session.check_inputs(&output, &[&item.file])?;
        if self.output.is_none() {
            check_absent([&path_of(&output).into_owned()], session.args.overwrite)?;
        }
        let mut target = OutputFile::create(&output, WriteBasis::SameAs(&**file.sections().source()), session)?;
        let mut how = WriteOptions::default();
        how.keep_unused = is_one_file(&path_of(&item.file), &path_of(&output));
        let losses = assemble::write(&file, Some(&plan.tree), &blocks, target.writer(), &how, BlockCodec::Keep)?;
        if self.loss.is_refused(&losses) {
            return report_refused(&item.file, &output, &losses, session);
        }
        let written = target.commit_checked(Some(&file), session)?;
        report_losses(&item.file, &losses);
        session.warn_of_omission(&file, how.keep_unused)?;
        let (count, taken) = (blocks.len(), plan.blocks.len());
        let report = json!({"file": output, "written": true, "size": written, "blocks": count, "taken": taken, "losses": losses_json(&losses)});
        report_written(&output, &report, &format!("{output}: {}, {taken} copied in", count_noun(count, "block")), session)?;
        Ok(Outcome::Success)
    }
}

fn default_name(file: &str) -> String {
    let (stem, ending) = split_extension(file);
    name_of(&path_of(file).with_file_name(&*path_of(&format!("{stem}_all.{ending}")))).into_owned()
}
