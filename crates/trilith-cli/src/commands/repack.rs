//! `trilith repack IN OUT`: without gaps and unused blocks, aligned, in the order asked for, with fresh checksums.

use clap::{Args, ValueEnum};
use serde_json::json;
use trilith_io::error::count_noun;
use trilith::asdf::{self, WriteOptions};
use trilith::assemble::{BlockCodec, BlockOrder, RepackPlan};
use trilith::bytes::{WriteBasis, is_one_file, path_of};
use trilith_codec::codec::{self, BloscCodec};
use trilith::{Error, ErrorKind, Result};

use crate::outcome::Outcome;
use crate::inputs::{ConversionFiles, FileJob};
use crate::losses::{AllowLoss, losses_json, report_refused, report_losses};
use crate::session::{FileRole, Session};
use crate::output::display_size;
use crate::outputs::{FileFormat, check_name};
use crate::output_file::OutputFile;

/// Write a file without gaps and unused blocks
///
/// Repack leaves out the content of unused space (over the same name only with --drop-gaps) and parts of blocks that no array uses. It aligns
/// the blocks, and writes checksums and the block index again. If no array names a block, something else may refer to it by number, so all
/// blocks stay, under their numbers.
#[derive(Debug, Args)]
#[command(override_usage = "trilith repack [OPTIONS] <IN> <OUT>\n       trilith repack [OPTIONS] <IN>... -o <OUT>")]
pub(crate) struct Repack {
    #[command(flatten)]
    files: ConversionFiles,
    /// Codec of every block (default: each keeps its own)
    #[arg(long, alias = "compression", value_name = "CODEC")]
    codec: Option<String>,
    /// Alignment of uncompressed blocks in bytes (default: 64, before ASDF 1.0 none)
    #[arg(long, value_name = "BYTES")]
    align: Option<u64>,
    /// The order of the blocks
    #[arg(long, value_name = "ORDER", value_enum, default_value_t)]
    order: BlockOrderArg,
    /// Leave out blocks that no array names
    #[arg(long)]
    drop_unused: bool,
    /// Drop the content of unused space, after the tree and between blocks, even if OUT is IN
    #[arg(long)]
    drop_gaps: bool,
    #[command(flatten)]
    loss: AllowLoss,
}

/// The order of the blocks.
#[derive(Debug, Clone, Copy, Default, ValueEnum)]
enum BlockOrderArg {
    /// The present order
    #[default]
    Blocks,
    /// The order of the arrays in the tree
    Tree,
    /// The smallest first
    Size,
}

impl Repack {
    /// Writes the files.
    pub(crate) fn run(&self, session: &Session<'_>) -> Result<Outcome> {
        self.files.run(session, |job, output| self.repack_input(job, output, session))
    }

    fn repack_input(&self, job: &mut FileJob<'_>, output: &str, session: &Session<'_>) -> Result<Outcome> {
        let input = &*job.name.clone();
        let file = job.open(FileRole::TreeFor(output))?.into_asdf()?;
        let codec = match self.codec.as_deref().map(codec::parse_name).transpose()? {
            None => BlockCodec::Keep,
            Some((_, BloscCodec::Zstd)) => {
                return Err(Error::invalid_input("repack writes blsc with LZ4 inside").hint("convert --codec blsc-zstd writes it with Zstandard"));
            }
            Some((id, _)) if id.is_none() => BlockCodec::Uncompressed,
            Some((id, _)) => BlockCodec::Use(id),
        };
        let order = match self.order {
            BlockOrderArg::Blocks => BlockOrder::Blocks,
            BlockOrderArg::Tree => BlockOrder::Tree,
            BlockOrderArg::Size => BlockOrder::Size,
        };
        let packed = RepackPlan::plan(&file, order, self.drop_unused).map_err(|error| match error.kind() {
            ErrorKind::InvalidInput => error.hint("--order blocks keeps them, --drop-unused drops them"),
            _ => error,
        })?;
        let mut how = WriteOptions::default();
        how.align = self.align;
        // So that rows can be added.
        how.stream_checksum = false;
        check_name(output, FileFormat::from_asdf(&file), "choose another name, or convert the file")?;
        session.check_inputs(output, &[input])?;
        session.check_replaced(output, &[input])?;
        let omission = file.sections().omission_note()?;
        if let Some(note) = omission.as_ref().filter(|_| !self.drop_gaps && is_one_file(&path_of(input), &path_of(output))) {
            return Err(Error::invalid_input(format!("cannot repack {input} over itself: {note}"))
                .hint("--drop-gaps drops it; another OUT leaves this file unchanged"));
        }
        let mut target = OutputFile::create(output, WriteBasis::SameAs(&**file.sections().source()), session)?;
        let losses = packed.write(target.writer(), &how, codec)?;
        if self.loss.is_refused(&losses) {
            return report_refused(input, output, &losses, session);
        }
        let written = target.commit_checked(Some(&file), session)?;
        report_losses(input, &losses);
        let notes: Vec<String> = omission.into_iter().chain(file.sections().missing_note()?).collect();
        session.warn_all(notes.clone());
        let dropped = file.sections().all_blocks()?.len() - packed.len();
        let unnamed = if self.drop_unused { 0 } else { asdf::unreferenced_blocks(&file)?.len() };
        let kept = match unnamed {
            0 => format!("{} dropped", count_noun(dropped, "unused block")),
            1 => "1 block that no array names is kept; --drop-unused drops it".to_owned(),
            n => format!("{n} blocks that no array names are kept; --drop-unused drops them"),
        };
        let report = json!({
            "file": output, "written": true, "size": written, "size_before": file.size(), "blocks": packed.len(),
            "dropped": dropped, "cropped": packed.cropped(), "unnamed": unnamed, "losses": losses_json(&losses), "notes": notes,
        });
        let cropped = match packed.cropped() {
            0 => String::new(),
            n => format!(", {} cut to the bytes of {} arrays", count_noun(n, "block"), if n == 1 { "its" } else { "their" }),
        };
        let line = format!("{}: {} ({} before), {kept}{cropped}", output, display_size(written), display_size(file.size()));
        job.report_written(output, report, &line)?;
        Ok(Outcome::Success)
    }
}
