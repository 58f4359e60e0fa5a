//! `trilith convert IN OUT`: the same data, stored otherwise.

use std::io::Seek;

use clap::Args;
use serde_json::json;
use trilith::asdf::{self, ArrayOptions, AsdfFile, chain};
use trilith::bytes::{self, Base, Basis};
use trilith::codec::Blosc;
use trilith::convert::{self, CodecChoice, ConvertOptions, Converted, Loss, Plan, asdf_to_draft, stream_to_asdf};
use trilith::dudley::{DudleyFile, Rewrite};
use trilith::file::{fits_around, open_fits_file};
use trilith::layout::{Byteorder, Dialect, Packing, StoredAs};
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
    /// Codec of every block: none, zlib, bzp2, lz4, lz4f, zstd, blsc, blsc-zstd or auto (default: each keeps its own; a Dudley
    /// file of 2026 has none and zlib, one of 2025 only none)
    ///
    /// auto takes none, lz4 or blsc for each block, by a sample of it: noise stays as it is, and can be sliced in place.
    /// blsc shuffles bytes and compresses them with lz4, blsc-zstd with zstd: Python asdf reads both with the package
    /// asdf-compression.
    #[arg(long, value_name = "CODEC")]
    codec: Option<String>,
    /// Level of the codec
    #[arg(long, value_name = "N")]
    level: Option<i32>,
    /// Bytes that the data of uncompressed blocks are aligned to (default: 64; generations before 1.0: none), or
    /// the items of a Dudley file (1, 2, 4, 8 or 16)
    #[arg(long, value_name = "BYTES")]
    align: Option<u64>,
    /// Of a Dudley file: write a list of equal arrays as one array with a leading axis
    #[arg(long)]
    stack: bool,
    /// Write no checksums
    #[arg(long)]
    no_checksums: bool,
}

impl Convert {
    /// Writes the file.
    pub fn run(&self, options: &Options) -> Result<Outcome> {
        if let Some(base) = &self.embed {
            return self.put_into(base, options);
        }
        let named = self.to.as_deref().is_some_and(|to| to.starts_with("dudley"));
        let to_stream = named || (self.to.is_none() && extension(&self.output).as_deref() == Some("bd"));
        let opened = options.open_file(&self.input)?;
        let mut file = match opened.as_dudley() {
            Some(_) if matches!(extension(&self.output).as_deref(), Some("fits" | "fit" | "fts")) => {
                return Err(Error::unsupported("a Dudley stream is not converted to FITS")
                    .hint("convert it to ASDF, and that to FITS"));
            }
            None if self.stack => {
                return Err(Error::usage("--stack joins the lists of a Dudley file, and this is not one").hint("leave out --stack"));
            }
            Some(_) if to_stream && self.stack => {
                return Err(Error::usage("--stack joins lists on the way to ASDF").hint("give OUT a name that ends in .asdf"));
            }
            Some(stream) if to_stream => return self.rewrite_stream(stream, options),
            Some(stream) if !self.is_stored_otherwise() => return self.read_stream(stream, options),
            Some(stream) => match self.as_asdf(stream, options)? {
                Ok(file) => file,
                Err(losses) => {
                    self.refuse(&losses, options)?;
                    return Ok(Outcome::No);
                }
            },
            None => options.for_output(opened.into_asdf()?, &Base::of(&self.output))?,
        };
        if matches!(extension(&self.output).as_deref(), Some("fits" | "fit" | "fts")) {
            return self.to_fits(&file, options);
        }
        if let Some(fits) = fits_around(&file) {
            options.warn_all(fits.warnings().to_vec());
            if self.is_plain_copy(&file, to_stream)? {
                return self.out_of_fits(&file, options);
            }
            file = convert::standing_alone(file)?;
        }
        if to_stream {
            return self.to_stream(&file, options);
        }
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

    /// As the ASDF file in another FITS file.
    fn put_into(&self, base: &str, options: &Options) -> Result<Outcome> {
        let base = open_fits_file(options.open(base)?, &options.limits()?)?;
        let file = options.open_asdf_for(&self.input, &self.output)?;
        let mut target = self.create(Form::Fits, Basis::Read(&**base.source()), options)?;
        convert::embed(&file, &base, &mut target.writer())?;
        self.finish(target, &[], options)
    }

    /// As a FITS file; what is one already is copied, and the ASDF file in it written anew.
    fn to_fits(&self, file: &AsdfFile, options: &Options) -> Result<Outcome> {
        if let Some(option) = self.to.as_ref().map(|_| "--to").or_else(|| self.encode.as_ref().map(|_| "--encode")) {
            return Err(Error::usage(format!("{} is to be a FITS file, which has no place for {option}", self.output))
                .hint(format!("leave out {option}, or give OUT a name that ends in .asdf")));
        }
        let mut how = ConvertOptions::default();
        self.choose(&mut how)?;
        how.level = self.level;
        how.write.align = self.align.unwrap_or(64);
        how.write.checksums = !self.no_checksums;
        let mut target = self.create(Form::Fits, Basis::Read(&**file.sections().source()), options)?;
        let losses = match fits_around(file) {
            Some(fits) => {
                options.warn_all(fits.warnings().to_vec());
                convert::convert(file, target.writer(), &how, &mut |_| {})?;
                Vec::new()
            }
            None if how.codec != CodecChoice::Keep => {
                return Err(Error::usage("the data of a FITS file have no codec").hint("leave out --codec"));
            }
            None => convert::to_fits(file, &mut target.writer())?,
        };
        self.finish(target, &losses, options)
    }

    /// Whether what a FITS file holds can be written at once, in the form that it has there.
    fn is_plain_copy(&self, file: &AsdfFile, to_stream: bool) -> Result<bool> {
        let mut how = ConvertOptions::default();
        self.choose(&mut how)?;
        let is_plain = file.container().is_some_and(|container| container.hdu == 0);
        let is_direct = match how.codec {
            CodecChoice::Keep => self.level.is_none(),
            CodecChoice::Auto => false,
            // What lies in an embedded ASDF file has codecs of its own.
            CodecChoice::Plain | CodecChoice::Set(_) => is_plain,
        };
        Ok(is_direct && !to_stream && self.encode.is_none() && self.to.is_none() && extension(&self.output).as_deref() != Some("finf"))
    }

    /// What a FITS file holds as a file of its own.
    fn out_of_fits(&self, file: &AsdfFile, options: &Options) -> Result<Outcome> {
        let mut how = ConvertOptions::default();
        self.choose(&mut how)?;
        how.level = self.level;
        how.write.align = self.align.unwrap_or(64);
        how.write.checksums = !self.no_checksums;
        how.write.as_documented = self.as_documented;
        let mut target = self.create(Form::Asdf, Basis::Read(&**file.sections().source()), options)?;
        convert::out_of_fits(file, target.writer(), &how)?;
        self.finish(target, &[], options)
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
        let target = match (self.to.as_deref(), extension(&self.output).as_deref()) {
            (Some(name), _) => asdf::Target::named(name)?,
            (None, Some("finf")) => asdf::Target::named("finf-0.1")?,
            _ => asdf::Target::newest(),
        };
        let mut how = ArrayOptions::default();
        let mut chosen = ConvertOptions::default();
        self.choose(&mut chosen)?;
        match chosen.codec {
            CodecChoice::Set(id) => (how.codec, how.level, how.blosc) = (Some(id), self.level, chosen.blosc),
            _ if self.level.is_some() => return Err(Error::usage("the level of no codec").hint("give --codec too")),
            _ => {}
        }
        let mut out = self.create(Form::Asdf, Basis::Read(&**file.source()), options)?;
        let losses = stream_to_asdf(file, target, &how, self.stack, out.writer())?;
        self.finish(out, &losses, options)
    }

    /// A file of the ASDF family as a native Dudley file.
    fn to_stream(&self, file: &AsdfFile, options: &Options) -> Result<Outcome> {
        let (draft, losses) = asdf_to_draft(file)?;
        let mut out = self.create(Form::Dudley, Basis::Read(&**file.sections().source()), options)?;
        let order = options.order().unwrap_or(Byteorder::Little);
        let dialect = self.dialect()?.unwrap_or(Dialect::D2025);
        draft.write_stored(dialect, &self.stored_as(dialect)?, order, &options.limits()?, &mut out.writer())?;
        self.finish(out, &losses, options)
    }

    /// A Dudley stream written anew: compact, in the byte order and the dialect given.
    fn rewrite_stream(&self, file: &DudleyFile, options: &Options) -> Result<Outcome> {
        let mut how = Rewrite::default();
        (how.dialect, how.order) = (self.dialect()?, options.order());
        how.stored = self.stored_as(how.dialect.unwrap_or(file.layout().dialect()))?;
        let mut out = self.create(Form::Dudley, Basis::Read(&**file.source()), options)?;
        let losses = file.rewrite(&how, &mut out.writer())?;
        let losses: Vec<Loss> = losses.into_iter().map(|loss| Loss { path: Some(loss.path), message: loss.message }).collect();
        self.finish(out, &losses, options)
    }

    /// How a Dudley file stores its arrays; what it cannot do is refused.
    fn stored_as(&self, dialect: Dialect) -> Result<StoredAs> {
        let refuse = |what: &str, why: &str| Err(Error::usage(format!("a file of dudley-{dialect} has no {what}")).hint(why.to_owned()));
        if self.encode.is_some() || self.as_documented {
            return refuse("encoding chains and one spelling of its signature", "leave --encode and --as-documented away");
        }
        let mut how = StoredAs::default();
        let level = self.level.map(i64::from);
        how.packing = match (self.codec.as_deref(), dialect) {
            (None, _) if level.is_some() => return refuse("level without a codec", "give --codec zlib too"),
            (None, _) => Packing::Keep,
            (Some("none"), _) if level.is_none() => Packing::Plain,
            (Some("zlib"), Dialect::D2026) if level.is_none_or(|level| (-1..=9).contains(&level)) => Packing::Gzip(level),
            (Some("zlib"), Dialect::D2026) => return refuse(&format!("level {} of zlib", level.unwrap_or(0)), "levels are -1 to 9"),
            (Some(name), Dialect::D2026) => return refuse(&format!("codec {name}"), "--codec zlib or none there are"),
            (Some(name), Dialect::D2025) => return refuse(&format!("codec {name}"), "2025 stores arrays plain; --to dudley-2026 has zlib"),
        };
        if let Some(align) = self.align {
            if !matches!(align, 1 | 2 | 4 | 8 | 16) {
                return refuse(&format!("alignment to {align} bytes"), "1, 2, 4, 8 and 16 there are");
            }
            how.align = Some(align);
        }
        Ok(how)
    }

    /// Whether a stream is to be stored as only an ASDF file can be: it becomes one first.
    fn is_stored_otherwise(&self) -> bool {
        let codec = matches!(self.codec.as_deref(), Some("auto"));
        codec || self.encode.is_some() || self.as_documented || self.align.is_some() || self.no_checksums
    }

    /// A stream as a file of the ASDF family, in a temporary file.
    fn as_asdf(&self, file: &DudleyFile, options: &Options) -> Result<std::result::Result<AsdfFile, Vec<Loss>>> {
        let limits = options.limits()?;
        let mut made = bytes::unnamed_file().map_err(|e| Error::io("making a temporary file", e))?;
        let losses = stream_to_asdf(file, asdf::Target::newest(), &ArrayOptions::default(), self.stack, &mut made)?;
        if !losses.is_empty() && !self.allow_loss {
            return Ok(Err(losses));
        }
        for loss in &losses {
            note(&format!("trilith: {}: lost: {loss}", self.input));
        }
        made.rewind().map_err(|e| Error::io("reading a temporary file", e))?;
        let source = bytes::spool(made, file.source().name(), limits.spool)?;
        AsdfFile::open(source, &limits).map(Ok)
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
        match (extension(&self.output).as_deref(), family) {
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

/// What the name of a file says that it is, in lower case; that of a gzip file says it before `.gz`.
fn extension(path: &str) -> Option<String> {
    let path = path.to_ascii_lowercase();
    let path = std::path::Path::new(path.strip_suffix(".gz").unwrap_or(&path));
    path.extension().and_then(|extension| extension.to_str()).map(str::to_owned)
}

/// Losses as `--json` shows them.
fn listed(losses: &[Loss]) -> Vec<serde_json::Value> {
    losses.iter().map(|loss| json!({ "path": loss.path, "message": loss.message })).collect()
}
