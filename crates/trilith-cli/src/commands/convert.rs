//! `trilith convert IN OUT`: the same data, stored otherwise.

use clap::Args;
use serde_json::json;
use trilith::Result;
use trilith::convert::{CodecChoice, ConvertOptions, Converted, convert};

use crate::Outcome;
use crate::options::Options;
use crate::output::{Out, note, size};
use crate::progress::Progress;
use crate::target::Target;

/// Write a file anew: recompressed or decompressed, aligned, with fresh checksums and index
///
/// The tree is copied byte for byte: comments, key order, tags, views and masks survive. OUT is
/// written beside itself, synced and renamed, so that it may be IN.
#[derive(Debug, Args)]
pub struct Convert {
    /// The file to read, or - for standard input
    #[arg(value_name = "IN")]
    input: String,
    /// The file to write, or - for standard output
    #[arg(value_name = "OUT")]
    output: String,
    /// Codec of every block: none, zlib, bzp2, lz4, lz4f, zstd, blsc or auto (default: each keeps its own)
    #[arg(long, value_name = "CODEC")]
    codec: Option<String>,
    /// Level of the codec
    #[arg(long, value_name = "N")]
    level: Option<i32>,
    /// Bytes that the data of uncompressed blocks are aligned to
    #[arg(long, value_name = "BYTES", default_value_t = 64)]
    align: u64,
    /// Write no checksums
    #[arg(long)]
    no_checksums: bool,
}

impl Convert {
    /// Writes the file.
    pub fn run(&self, options: &Options) -> Result<Outcome> {
        let file = options.open_asdf(&self.input)?;
        let mut how = ConvertOptions::default();
        if let Some(name) = &self.codec {
            how.codec = CodecChoice::named(name)?;
        }
        how.level = self.level;
        how.write.align = self.align;
        how.write.checksums = !self.no_checksums;
        let total = file.sections().blocks()?.iter().fold(0u64, |sum, block| sum.saturating_add(block.decoded_len()));
        let progress = Progress::bytes("writing", total, options);
        let mut target = Target::create(&self.output)?;
        let done = convert(&file, target.writer(), &how, &mut |bytes| progress.at(bytes))?;
        let written = target.commit()?;
        drop(progress);
        self.tell(&done, written, options)?;
        Ok(Outcome::Yes)
    }

    fn tell(&self, done: &Converted, written: u64, options: &Options) -> Result<()> {
        if self.output == "-" {
            return Ok(());
        }
        if options.json {
            let mut out = Out::new();
            let report = json!({
                "file": self.output, "size": written, "blocks": done.blocks, "decoded": done.decoded, "stored": done.stored,
            });
            out.json(&report)?;
            return out.finish();
        }
        if !options.quiet {
            let blocks = format!("{} blocks, {} decoded, {} stored", done.blocks, size(done.decoded), size(done.stored));
            note(&format!("{}: {} ({blocks})", self.output, size(written)));
        }
        Ok(())
    }
}
