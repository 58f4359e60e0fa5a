//! `trilith convert IN OUT`: the same data, stored otherwise.

use clap::Args;
use serde_json::json;
use trilith::asdf::{self, ArrayOptions, AsdfFile, chain};
use trilith::bytes::{Base, Basis};
use trilith::codec::Blosc;
use trilith::convert::{self, CodecChoice, ConvertOptions, Converted, Loss, Plan, asdf_to_draft, stream_to_asdf};
use trilith::dudley::{DudleyFile, Rewrite};
use trilith::file::{AnyFile, FileKind};
use trilith::fits::FitsFile;
use trilith::layout::{ByteOrder, Dialect};
use trilith::{Error, Kind, Result};

use crate::Outcome;
use crate::options::Options;
use crate::output::{Out, note, size};
use crate::outputs::{Form, check_name, told};
use crate::progress::Progress;
use crate::target::Target;

/// Write a file anew: in another generation, recompressed or decompressed, aligned, with fresh checksums
///
/// Without --to the tree is copied byte for byte: comments, key order, tags, views and masks survive.
/// With --to it is translated by edits of its text, arrays stay equal in value, and what the other
/// generation cannot hold is listed; the file is then written only with --allow-loss (exit status 1
/// otherwise). OUT is written beside itself, synced and renamed, so that it may be IN.
#[derive(Debug, Args)]
pub struct Convert {
    /// The file to read, or - for standard input
    #[arg(value_name = "IN")]
    input: String,
    /// The file to write, or - for standard output
    #[arg(value_name = "OUT")]
    output: String,
    /// Generation to write: finf-0.1, asdf-0.1-dev, asdf-0.1, asdf-1.0 to asdf-1.6, dudley-2025, dudley-2026 (default: that of IN,
    /// or the newest of the family that the extension of OUT names)
    #[arg(long, value_name = "GENERATION")]
    to: Option<String>,
    /// Encoding chain of every block, for asdf-0.1: '[[tile, {shape: [32, 32]}], [quantize, {quality: 4}], zlib]'
    ///
    /// Steps that the array of a block cannot have (tile of another rank, quantize of anything but
    /// float32 and float64) are left out for it. quantize is lossy and needs --allow-loss; with
    /// `dither: true` it rounds at random.
    #[arg(long, value_name = "CHAIN")]
    encode: Option<String>,
    /// Write the block mark as the documents before 2015 spelt it (0x89) instead of as all code did (0xd3)
    #[arg(long)]
    as_documented: bool,
    /// Write a FITS file that is BASE.fits with IN as the ASDF file in it: arrays that equal an HDU are stored there only
    #[arg(long, value_name = "BASE.fits", conflicts_with_all = ["to", "encode", "codec"])]
    embed: Option<String>,
    /// Write the file although OUT cannot hold everything; what is lost is reported
    #[arg(long)]
    allow_loss: bool,
    /// Codec of every block: none, zlib, bzp2, lz4, lz4f, zstd, blsc, blsc-zstd or auto (default: each keeps its own)
    ///
    /// auto takes none, lz4 or blsc for each block, by a sample of it: noise stays as it is, and can be sliced in place.
    /// blsc shuffles bytes and compresses them with lz4, blsc-zstd with zstd: Python asdf reads both with the package
    /// asdf-compression.
    #[arg(long, value_name = "CODEC")]
    codec: Option<String>,
    /// Level of the codec
    #[arg(long, value_name = "N")]
    level: Option<i32>,
    /// Bytes that the data of uncompressed blocks are aligned to (default: 64; generations before 1.0: none)
    #[arg(long, value_name = "BYTES")]
    align: Option<u64>,
    /// Write no checksums
    #[arg(long)]
    no_checksums: bool,
}

impl Convert {
    /// Writes the file.
    pub fn run(&self, options: &Options) -> Result<Outcome> {
        if let Some(outcome) = self.fits(options)? {
            return Ok(outcome);
        }
        let named = self.to.as_deref().is_some_and(|to| to.starts_with("dudley"));
        let to_stream = named || (self.to.is_none() && extension(&self.output) == Some("bd"));
        let file = match options.open_any(&self.input)? {
            AnyFile::Dudley(file) if to_stream => return self.rewrite_stream(&file, options),
            AnyFile::Dudley(file) => return self.read_stream(&file, options),
            AnyFile::Asdf(file) => file,
        };
        if to_stream {
            return self.to_stream(&file, options);
        }
        let file = options.for_output(file, &Base::of(&self.output))?;
        let to = self.target(&file)?;
        let mut how = ConvertOptions::default();
        self.choose(&mut how)?;
        if let Some(text) = &self.encode {
            // The chain is the caller's: what is wrong with it is no fault of a file.
            let steps = chain::parse(text, &options.limits()?).map_err(|error| match error.kind() {
                Kind::Malformed => Error::usage(error.message()).context("--encode"),
                _ => error,
            })?;
            how.encode = Some(steps);
        }
        how.level = self.level;
        how.allow_loss = self.allow_loss;
        let early = to.is_some_and(|to| to.standard.is_none());
        how.write.align = self.align.unwrap_or(if early { 1 } else { 64 });
        how.write.checksums = !self.no_checksums;
        how.write.as_documented = self.as_documented;
        let total = file.sections().blocks()?.iter().fold(0u64, |sum, block| sum.saturating_add(block.decoded_len()));
        let plan = to.map(|to| Plan::new(&file, to, &how)).transpose()?;
        if let Some(plan) = &plan
            && !plan.losses().is_empty()
            && !self.allow_loss
        {
            self.refuse(plan.losses(), options)?;
            return Ok(Outcome::No);
        }
        let progress = Progress::bytes("writing", total, options);
        let mut target = self.create(Form::Asdf, Basis::Read(&**file.sections().source()), options)?;
        let done = match plan {
            Some(plan) => plan.write(target.writer(), &mut |bytes| progress.at(bytes))?,
            None => convert::convert(&file, target.writer(), &how, &mut |bytes| progress.at(bytes))?,
        };
        let written = target.commit(options)?;
        drop(progress);
        self.tell(&done, written, options)?;
        Ok(Outcome::Yes)
    }

    /// Sets the codec that is asked for.
    fn choose(&self, how: &mut ConvertOptions) -> Result<()> {
        match self.codec.as_deref() {
            None => {}
            Some("blsc-zstd") => (how.codec, how.blosc) = (CodecChoice::named("blsc")?, Blosc::Zstd),
            Some(name) => how.codec = CodecChoice::named(name)?,
        }
        Ok(())
    }

    /// From FITS or to it; None where neither side is.
    fn fits(&self, options: &Options) -> Result<Option<Outcome>> {
        if let Some(base) = &self.embed {
            let base = FitsFile::open(options.open(base)?, &options.limits()?)?;
            let file = options.open_asdf_for(&self.input, &self.output)?;
            let mut target = self.create(Form::Fits, Basis::Read(&**base.source()), options)?;
            convert::embed(&file, &base, &mut target.writer())?;
            return self.finish(target, &[], options).map(Some);
        }
        let extension = |name: &str| std::path::Path::new(name).extension().is_some_and(|e| e.eq_ignore_ascii_case("fits"));
        let to_fits = extension(&self.output);
        let mut start = [0; 9];
        let from_fits = self.input != "-" && {
            let source = options.open(&self.input)?;
            source.len() >= 9 && source.read_at(0, &mut start).is_ok() && FileKind::detect(&start) == Some(FileKind::Fits)
        };
        if !to_fits && !from_fits {
            return Ok(None);
        }
        if self.to.is_some() || self.encode.is_some() {
            // An ASDF file inside a FITS file is one like any other; its HDUs come along as blocks.
            if !to_fits && options.open_asdf(&self.input)?.container().is_some_and(|container| container.hdu > 0) {
                return Ok(None);
            }
            return Err(
                Error::usage("FITS files are converted to and from ASDF 1.6 only").hint("convert the ASDF file once more")
            );
        }
        let mut how = ConvertOptions::default();
        self.choose(&mut how)?;
        how.level = self.level;
        how.write.align = self.align.unwrap_or(64);
        how.write.checksums = !self.no_checksums;
        let file = options.open_asdf_for(&self.input, &self.output)?;
        let mut target = self.create(if to_fits { Form::Fits } else { Form::Asdf }, Basis::Read(&**file.sections().source()), options)?;
        match (from_fits, to_fits) {
            (true, true) => return Err(Error::usage("both are FITS files: copy it")),
            (_, true) => {
                let losses = convert::to_fits(&file, &mut target.writer())?;
                return self.finish(target, &losses, options).map(Some);
            }
            // HDU 0 never holds an ASDF file: it stands for a plain FITS file.
            _ if file.container().is_some_and(|container| container.hdu > 0) => convert::take_out(&file, target.writer(), &how)?,
            _ => convert::from_fits(&FitsFile::open(options.open(&self.input)?, &options.limits()?)?, target.writer(), &how)?,
        }
        self.finish(target, &[], options).map(Some)
    }

    /// Starts the output, if it may be written.
    fn create(&self, form: Form, basis: Basis<'_>, options: &Options) -> Result<Target> {
        if self.to.is_none() {
            check_name(&self.output, form, "say what to write with --to, or name it otherwise")?;
        }
        let base = self.embed.as_deref().unwrap_or(&self.input);
        options.check_inputs(&self.output, &[&self.input, base])?;
        Target::create(&self.output, basis)
    }

    /// A Dudley stream as a file of the ASDF family.
    fn read_stream(&self, file: &DudleyFile, options: &Options) -> Result<Outcome> {
        let target = match (self.to.as_deref(), extension(&self.output)) {
            (Some(name), _) => asdf::Target::named(name)?,
            (None, Some("finf")) => asdf::Target::named("finf-0.1")?,
            _ => asdf::Target::newest(),
        };
        let mut how = ArrayOptions::default();
        if let Some(CodecChoice::Set(id)) = self.codec.as_deref().map(CodecChoice::named).transpose()? {
            (how.codec, how.level) = (Some(id), self.level);
        }
        let mut out = self.create(Form::Asdf, Basis::Read(&**file.source()), options)?;
        let losses = stream_to_asdf(file, target, &how, out.writer())?;
        self.finish(out, &losses, options)
    }

    /// A file of the ASDF family as a native Dudley file.
    fn to_stream(&self, file: &AsdfFile, options: &Options) -> Result<Outcome> {
        let (draft, losses) = asdf_to_draft(file)?;
        let mut out = self.create(Form::Dudley, Basis::Read(&**file.sections().source()), options)?;
        let order = options.order().unwrap_or(ByteOrder::Little);
        let dialect = self.dialect()?.unwrap_or(Dialect::D2025);
        draft.write_as(dialect, order, &options.limits()?, &mut out.writer())?;
        self.finish(out, &losses, options)
    }

    /// A Dudley stream written anew: compact, in the byte order and the dialect given.
    fn rewrite_stream(&self, file: &DudleyFile, options: &Options) -> Result<Outcome> {
        let mut how = Rewrite::default();
        (how.dialect, how.order) = (self.dialect()?, options.order());
        let mut out = self.create(Form::Dudley, Basis::Read(&**file.source()), options)?;
        let losses = file.rewrite(&how, &mut out.writer())?;
        let losses: Vec<Loss> = losses.into_iter().map(|loss| Loss { path: Some(loss.path), message: loss.message }).collect();
        self.finish(out, &losses, options)
    }

    /// The dialect that --to names.
    fn dialect(&self) -> Result<Option<Dialect>> {
        match self.to.as_deref().map(|to| to.strip_prefix("dudley").unwrap_or(to)) {
            None | Some("") => Ok(None),
            Some(rest) => match rest.strip_prefix('-').and_then(Dialect::named) {
                Some(dialect) => Ok(Some(dialect)),
                None => {
                    Err(Error::usage(format!("there is no dialect dudley{rest}")).hint("dudley-2025 and dudley-2026 there are"))
                }
            },
        }
    }

    /// Puts the file into place, unless something is lost that may not be.
    fn finish(&self, out: Target, losses: &[Loss], options: &Options) -> Result<Outcome> {
        if !losses.is_empty() && !self.allow_loss {
            self.refuse(losses, options)?;
            return Ok(Outcome::No);
        }
        let written = out.commit(options)?;
        for loss in losses {
            note(&format!("trilith: {}: lost: {loss}", self.input));
        }
        let report = json!({ "file": self.output, "size": written, "written": true, "losses": listed(losses) });
        told(&self.output, &report, &format!("{}: {}", self.output, size(written)), options)?;
        Ok(Outcome::Yes)
    }

    /// The generation to write; None keeps that of the file.
    fn target(&self, file: &AsdfFile) -> Result<Option<&'static asdf::Target>> {
        if let Some(name) = &self.to {
            return asdf::Target::named(name).map(Some);
        }
        let generation = file.sections().generation();
        if self.encode.is_some() && generation.is_some_and(|generation| generation.encoded) {
            return asdf::Target::named("asdf-0.1").map(Some);
        }
        if self.encode.is_some() {
            return Err(Error::usage("this generation has no encoding chains").hint("write it with --to asdf-0.1"));
        }
        let family = generation.map_or("", |generation| generation.family);
        let extension = std::path::Path::new(&self.output).extension().and_then(|extension| extension.to_str());
        match (extension, family) {
            (Some("finf"), "asdf") => asdf::Target::named("finf-0.1").map(Some),
            (Some("asdf"), "finf") => Ok(Some(asdf::Target::newest())),
            _ => Ok(None),
        }
    }

    /// Lists what would be lost, on stderr or as JSON.
    fn refuse(&self, losses: &[Loss], options: &Options) -> Result<()> {
        for loss in losses {
            note(&format!("trilith: {}: loss: {loss}", self.input));
        }
        note("trilith: nothing was written; --allow-loss writes it all the same");
        if options.json {
            let mut out = Out::new();
            out.json(&json!({ "file": self.output, "written": false, "losses": listed(losses) }))?;
            out.finish()?;
        }
        Ok(())
    }

    fn tell(&self, done: &Converted, written: u64, options: &Options) -> Result<()> {
        for loss in &done.losses {
            note(&format!("trilith: {}: loss: {loss}", self.input));
        }
        for text in &done.notes {
            options.warn(text);
        }
        if self.output == "-" {
            return Ok(());
        }
        if options.json {
            let mut out = Out::new();
            let report = json!({
                "file": self.output, "size": written, "blocks": done.blocks, "decoded": done.decoded, "stored": done.stored,
                "written": true, "losses": listed(&done.losses), "notes": done.notes,
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

fn extension(path: &str) -> Option<&str> {
    std::path::Path::new(path).extension().and_then(|extension| extension.to_str())
}

/// Losses as `--json` shows them.
fn listed(losses: &[Loss]) -> Vec<serde_json::Value> {
    losses.iter().map(|loss| json!({ "path": loss.path, "message": loss.message })).collect()
}
