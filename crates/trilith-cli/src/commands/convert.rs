//! `trilith convert IN OUT`: the same data, stored otherwise.

use std::path::{Component, Path};

use clap::Args;
use serde_json::json;
use trilith::asdf::{self, AsdfFile};
use trilith::bytes::{BaseUri, WriteBasis, name_of, is_one_file, path_of};
use trilith::convert::{self, CoordinateHeader, ConvertOptions, ConvertReport, TargetForm};
use trilith_io::error::count_noun;
use trilith::file::{FileSet, open_fits_file};
use trilith::{Error, ErrorKind, File, Result};

use crate::outcome::Outcome;
use crate::inputs::{ConversionFiles, FileJob};
use crate::losses::{AllowLoss, losses_json, report_refused, report_losses};
use crate::session::{FileRole, Session};
use crate::output::{eprint_line, display_size};
use crate::outputs::{FileFormat, check_name, make_folder, report_written};
use crate::output_file::OutputFile;
use crate::advice::error_with_advice;

/// Convert a file: to another version or format, recompressed, decompressed or realigned
///
/// Without --to the tree is copied byte for byte. With --to its text is edited, so that comments and the order of keys
/// stay, and arrays keep their values. Losses are listed, and then the file is written only with --allow-loss (exit
/// status 1 otherwise). OUT is written to a temporary file and renamed, so it may be IN.
/// Any other file with data is replaced only with --overwrite. Several inputs need -o with {stem} in the name. The files of a
/// catalog become one file, or one ASDF file each in the folder OUT/.
#[derive(Debug, Clone, Args)]
#[command(override_usage = "trilith convert [OPTIONS] <IN> <OUT>\n       trilith convert [OPTIONS] <IN>... -o <OUT>")]
pub(crate) struct Convert {
    #[command(flatten)]
    files: ConversionFiles,
    /// Version to write (default: that of IN, or the newest one for the extension of OUT)
    #[arg(long, value_name = "GENERATION")]
    to: Option<String>,
    /// Codec of every block (default: each keeps its own; a Dudley file of 2026 has none and zlib, one of 2025 only none)
    ///
    /// auto chooses none, lz4 or blsc for each block by a sample. Noise stays uncompressed, and can be sliced in place.
    /// blsc shuffles bytes and compresses them with lz4, blsc-zstd with zstd: Python asdf reads both with
    /// the package asdf-compression.
    #[arg(long, alias = "compression", value_name = "CODEC")]
    codec: Option<String>,
    /// Compression level
    #[arg(long, value_name = "N")]
    level: Option<i32>,
    #[command(flatten)]
    loss: AllowLoss,
    /// Leave out items that cannot be read, and list them; without it one such item is an error
    #[arg(long, visible_alias = "skip")]
    skip_unreadable: bool,
    /// Compress the blocks with lz4 in sub-blocks of N rows of their arrays, each of which can be read alone, as a Zarr
    /// chunk
    ///
    /// Every reader of lz4 blocks reads them. A block has the usual pieces if its array does not begin at its start, or
    /// is not in C order.
    #[arg(long, value_name = "N")]
    rows: Option<u64>,
    /// Cut arrays with this number of axes into chunks of these lengths, each a block, as the package asdf-zarr
    /// stores them
    ///
    /// Readers need asdf-zarr, or Trilith. Other arrays stay unchanged, and so do those with a mask, streamed ones,
    /// and those that share their block. --codec compresses each chunk separately.
    #[arg(long, value_name = "N,M,…", value_delimiter = ',', num_args = 1, conflicts_with_all = ["rows", "encode"])]
    chunks: Option<Vec<u64>>,
    /// Alignment of uncompressed blocks in bytes (default: 64, before ASDF 1.0 none), or of the items of a Dudley file
    /// (1, 2, 4, 8 or 16)
    #[arg(long, value_name = "BYTES")]
    align: Option<u64>,
    /// From a Dudley file: write a list of equal arrays as one array with a leading axis
    #[arg(long)]
    stack: bool,
    /// Write physical values, with scale, offset and missing values applied, not the stored ones; from a FITS file under the
    /// names of the HDUs
    #[arg(long, conflicts_with = "embed")]
    physical: bool,
    /// Leave coordinates out of the headers of a FITS file
    ///
    /// By default an image with a GWCS gets celestial cards: exact ones, or a tangent plane with SIP polynomials that are within
    /// 0.001 pixel.
    #[arg(long)]
    no_wcs: bool,
    /// Copy the HDUs of BASE.fits and add IN as an ASDF file; arrays that equal an HDU are stored only there
    #[arg(long, value_name = "BASE.fits", conflicts_with_all = ["to", "encode", "codec", "rows", "chunks"])]
    embed: Option<String>,
    /// Write no checksums
    #[arg(long)]
    no_checksums: bool,
    /// Encoding chain of every block, for asdf-0.1: '[[tile, {shape: [32, 32]}], [quantize, {quality: 4}], zlib]'
    ///
    /// Steps that do not fit the array of a block are left out (tile of another rank, quantize of anything but float32
    /// and float64). quantize is lossy and needs --allow-loss. With `dither: true` it rounds at random.
    #[arg(long, value_name = "CHAIN")]
    encode: Option<String>,
    /// Write the magic bytes that the specifications before 2015 define (0x89), not those that all programs wrote
    /// (0xd3)
    #[arg(long)]
    as_documented: bool,
}

/// Returns `true` if a name promises bytes without any format.
fn has_raw_extension(name: &str) -> bool {
    let name = path_of(name);
    let extension = name.extension().and_then(|extension| extension.to_str()).map(str::to_ascii_lowercase);
    matches!(extension.as_deref(), Some("raw" | "bin" | "dat"))
}

impl Convert {
    /// Writes the files.
    pub(crate) fn run(&self, session: &Session<'_>) -> Result<Outcome> {
        self.files.run(session, |job, output| self.convert_input(job, output, session))
    }

    fn convert_input(&self, job: &mut FileJob<'_>, output: &str, session: &Session<'_>) -> Result<Outcome> {
        if let Some(base) = &self.embed {
            return self.embed_in_fits(base, job, output, session);
        }
        // A file that is written over keeps its name.
        if self.to.is_none() && has_raw_extension(output) && !is_one_file(&path_of(&job.name), &path_of(output)) {
            return Err(Error::invalid_input(format!("cannot write {output}: its extension means raw bytes, which convert does not write"))
                .hint(format!(
                    "get {}#/path -o {output} writes the elements of one item; layout write L.dud {output} --raw writes a file under a layout",
                    job.name
                )));
        }
        let file = job.open(FileRole::Any)?;
        if let Some(set) = file.as_family().filter(|_| output.ends_with('/')) {
            return self.convert_each_file(set, &job.name, output, session);
        }
        let done = self.convert_file(file, &job.name, output, session)?;
        report(job, output, done)
    }

    /// Writes each file of a set into the folder that is the output, under its name with the extension of ASDF.
    fn convert_each_file(&self, set: &FileSet, input: &str, output: &str, session: &Session<'_>) -> Result<Outcome> {
        if trilith::bytes::is_url(input) || trilith::bytes::is_url(output) {
            return Err(Error::unsupported("the files of a set on a server are not converted one by one")
                .hint("convert the set to one file"));
        }
        let (catalog, target) = (path_of(input), path_of(output));
        let folder = catalog.parent().unwrap_or(Path::new(""));
        let mut outcome = Outcome::Success;
        for (row, name) in set.rows().iter().cloned().flatten().filter_map(|row| Some((row, set.catalog().files().get(row)?))) {
            if !Path::new(name).components().all(|part| matches!(part, Component::Normal(_))) {
                return Err(Error::invalid_input(format!("{name:?} in the catalog leads out of its folder")));
            }
            let path = folder.join(name);
            let output = target.join(name).with_extension("asdf");
            if let Some(above) = output.parent() {
                make_folder(above)?;
            }
            let (input, output) = (name_of(&path).into_owned(), name_of(&output).into_owned());
            let done = session.open(&input, FileRole::Member { set, row }).and_then(|file| self.convert_file(file, &input, &output, session));
            let done = done.and_then(|done| match done {
                Some((json, line)) => report_written(&output, &json, &line, session).map(|()| Outcome::Success),
                None => Ok(Outcome::Negative),
            });
            // A file that is missing or damaged does not stop the others.
            let done = match done {
                Err(error) if error.kind() != ErrorKind::Cancelled => {
                    eprint_line(&format!("trilith: {}", error_with_advice(&error.context(name.clone()))));
                    Outcome::Failed
                }
                done => done?,
            };
            outcome = outcome.max(done);
        }
        Ok(outcome)
    }

    /// Returns the report on the new file, or None if it was refused.
    fn convert_file(&self, file: File, input: &str, output: &str, session: &Session<'_>) -> Result<Option<WrittenReport>> {
        let mut how = self.to_convert_options(output, session)?;
        how.write_options.keep_unused = is_one_file(&path_of(input), &path_of(output));
        let file = session.for_output(file, &BaseUri::of_file(output))?;
        if let Some(set) = file.as_family().filter(|_| path_of(output).exists()) {
            session.add_inputs_beside(input, set.catalog().files());
        }
        let mut target = self.create_target(FileFormat::from(&how.to), WriteBasis::SameAs(&**file.source()), (input, output), session)?;
        let done = file.convert_into(&how, target.writer(), trilith::Progress::default())?;
        if done.written {
            commit(target, &done, file.as_asdf(), (input, output), session).map(Some)
        } else {
            report_refused(input, output, &done.losses, session).map(|_| None)
        }
    }

    /// Returns the options of the conversion.
    fn to_convert_options(&self, output: &str, session: &Session<'_>) -> Result<ConvertOptions> {
        let mut how = ConvertOptions::default();
        how.to = match (&self.to, TargetForm::of_name(output)) {
            (Some(_), TargetForm::Fits) => {
                return Err(Error::invalid_input(format!("{output} is to be a FITS file, which has no place for --to"))
                    .hint("leave out --to, or give OUT a name that ends in .asdf"));
            }
            (Some(name), _) => TargetForm::from_name(name)?,
            (None, to) => to,
        };
        if let Some(name) = &self.codec {
            how.set_codec(name)?;
        }
        if let Some(text) = &self.encode {
            // The chain is the caller's: what is wrong with it is not a fault of a file.
            let steps = asdf::parse_chain(text, session.limits()).map_err(|error| match error.kind() {
                ErrorKind::Malformed => Error::invalid_input(error.message()).context("--encode"),
                _ => error,
            })?;
            how.encode = Some(steps);
        }
        (how.level, how.allow_loss, how.stack) = (self.level, self.loss.allow_loss, self.stack);
        (how.rows, how.physical_values, how.skip_unreadable) = (self.rows, self.physical, self.skip_unreadable);
        if self.no_wcs {
            how.coordinates = CoordinateHeader::None;
        }
        how.chunks.clone_from(&self.chunks);
        how.byteorder = session.args.byteorder();
        how.write_options.align = self.align;
        how.write_options.checksums = !self.no_checksums;
        how.write_options.as_documented = self.as_documented;
        Ok(how)
    }

    /// Converts to the ASDF file in another FITS file.
    fn embed_in_fits(&self, base: &str, job: &mut FileJob<'_>, output: &str, session: &Session<'_>) -> Result<Outcome> {
        let base = open_fits_file(session.open_source(base)?, session.limits())?;
        let input = job.name.clone();
        let file = job.open(FileRole::TreeFor(output))?.into_asdf()?;
        let mut target = self.create_target(FileFormat::Fits, WriteBasis::SameAs(&**base.source()), (&input, output), session)?;
        let mut done = ConvertReport::default();
        done.losses = convert::embed(&file, &base, &mut target.writer())?;
        if self.loss.is_refused(&done.losses) {
            return report_refused(&input, output, &done.losses, session);
        }
        done.notes.extend(file.sections().copy_notes(false)?);
        let done = commit(target, &done, Some(&file), (&input, output), session)?;
        report(job, output, Some(done))
    }

    /// Starts the output, if it may be written.
    fn create_target(
        &self,
        form: FileFormat,
        basis: WriteBasis<'_>,
        (input, output): (&str, &str),
        session: &Session<'_>,
    ) -> Result<OutputFile> {
        if self.to.is_none() {
            check_name(output, form, "select the format with --to, or change the extension")?;
        }
        let base = self.embed.as_deref().unwrap_or(input);
        session.check_inputs(output, &[input, base])?;
        session.check_replaced(output, &[input, base])?;
        OutputFile::create(output, basis, session)
    }
}

/// A report on a new file: as JSON and as a line.
type WrittenReport = (serde_json::Value, String);

/// Prints the report on a new file.
fn report(job: &mut FileJob<'_>, output: &str, done: Option<WrittenReport>) -> Result<Outcome> {
    let Some((json, line)) = done else { return Ok(Outcome::Negative) };
    job.report_written(output, json, &line)?;
    Ok(Outcome::Success)
}

/// Puts the file into place, and returns the report on it.
fn commit(
    target: OutputFile,
    done: &ConvertReport,
    from: Option<&AsdfFile>,
    (input, output): (&str, &str),
    session: &Session<'_>,
) -> Result<WrittenReport> {
    // A copy can be read if what was copied can.
    let written = if done.is_copy { target.commit(session)? } else { target.commit_checked(from, session)? };
    report_losses(input, &done.losses);
    for text in &done.notes {
        session.warn(text);
    }
    let losses = losses_json(&done.losses);
    let whole = format!("{output}: {}", display_size(written));
    Ok(if done.has_sizes {
        let report = json!({
            "file": output, "size": written, "blocks": done.blocks, "decoded": done.decoded_bytes, "stored": done.stored_bytes,
            "written": true, "losses": losses, "notes": done.notes,
        });
        let (decoded, stored) = (display_size(done.decoded_bytes), display_size(done.stored_bytes));
        (report, format!("{whole} ({}, {decoded} decoded, {stored} stored)", count_noun(done.blocks, "block")))
    } else {
        (json!({ "file": output, "size": written, "written": true, "losses": losses, "notes": done.notes }), whole)
    })
}
