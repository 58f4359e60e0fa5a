//! `trilith repack IN OUT`: without gaps and unused blocks, aligned, in the order asked for, with fresh checksums.

use clap::{Args, ValueEnum};
use serde_json::json;
use trilith_io::error::count_noun;
use trilith::asdf::{self, WriteOptions};
use trilith::assemble::{BlockCodec, BlockOrder, RepackPlan};
use trilith::bytes::WriteBasis;
use trilith_codec::codec::{self, BloscCodec};
use trilith::{Error, ErrorKind, Result};

use crate::Outcome;
use crate::losses::{AllowLoss, losses_json, report_refused, report_losses as report_losses};
use crate::options::Options;
use crate::output::display_size;
use crate::outputs::{FileFormat, check_name, report_written};
use crate::output_file::OutputFile;

/// Write a file without gaps and unused blocks
///
/// The command aligns the blocks, and writes checksums and the block index again. A block of which the arrays need only a
/// part loses the rest. If no array names a block, something else may refer to it by number, so all blocks stay, under
/// their numbers.
#[derive(Debug, Args)]
pub(crate) struct Repack {
    /// The file to read, or - for standard input
    #[arg(value_name = "IN")]
    input: String,
    /// The file to write, which may be IN, or - for standard output
    #[arg(value_name = "OUT")]
    output: String,
    /// Codec of every block (default: each keeps its own)
    #[arg(long, value_name = "CODEC")]
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
    /// Writes the file.
    pub(crate) fn run(&self, options: &Options) -> Result<Outcome> {
        let file = options.open_asdf_for(&self.input, &self.output)?;
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
        check_name(&self.output, FileFormat::from_asdf(&file), "name it otherwise, or convert the file")?;
        options.check_inputs(&self.output, &[&self.input])?;
        options.check_replaced(&self.output, &[&self.input])?;
        let mut target = OutputFile::create(&self.output, WriteBasis::SameAs(&**file.sections().source()), options)?;
        let losses = packed.write(target.writer(), &how, codec)?;
        if self.loss.is_refused(&losses) {
            return report_refused(&self.input, &self.output, &losses, options);
        }
        let written = target.commit_checked(Some(&file), options)?;
        report_losses(&self.input, &losses);
        let dropped = file.sections().all_blocks()?.len() - packed.len();
        let unnamed = if self.drop_unused { 0 } else { asdf::unreferenced_blocks(&file)?.len() };
        let kept = match unnamed {
            0 => format!("{} dropped", count_noun(dropped, "unused block")),
            1 => "1 block that no array names is kept; --drop-unused drops it".to_owned(),
            n => format!("{n} blocks that no array names are kept; --drop-unused drops them"),
        };
        let report = json!({
            "file": self.output, "written": true, "size": written, "size_before": file.size(), "blocks": packed.len(),
            "dropped": dropped, "cropped": packed.cropped(), "unnamed": unnamed, "losses": losses_json(&losses),
        });
        let cropped = match packed.cropped() {
            0 => String::new(),
            n => format!(", {} cut to the bytes of {} arrays", count_noun(n, "block"), if n == 1 { "its" } else { "their" }),
        };
        let line = format!("{}: {} ({} before), {kept}{cropped}", self.output, display_size(written), display_size(file.size()));
        report_written(&self.output, &report, &line, options)?;
        Ok(Outcome::Success)
    }
}
