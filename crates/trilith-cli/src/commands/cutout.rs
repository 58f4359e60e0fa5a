//! `trilith cutout FILES… --sky LON,LAT --size S -o OUT`: the pixels around positions, with their coordinates.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use trilith::bytes::{AccessCost, CompleteFile, WriteBasis, WriteReport, is_url};
use trilith::convert::{ConvertOptions, CoordinateHeader};
use trilith_io::threads::{JobTurn, map_in_order, take_batches};
use trilith::wcs::{BoxSize, position};
use trilith::{CutoutImage, CutoutOptions, EdgeMode, Error, File, Result};
use trilith_view::ImageOrigin;
use trilith_view::preview::{Preview, PreviewOptions};

use crate::outcome::Outcome;
use crate::dashed_words::strip_mark;
use crate::inputs::{ArgumentKind as Arguments, FileJob, FileListArgs, all_arguments, run_each};
use crate::session::{FileRole, Session};
use crate::position_args::{PositionArgs, read_points};
use crate::outputs::{FileFormat, OutputTemplate};
use crate::output_file::OutputFile;

/// Cutouts that may wait for the disk at once. They are put into place together, which saves most of the syncs.
const MAX_PENDING_CUTOUTS: usize = 16;
/// Cutouts with open files at once, besides those at work: systems allow 256 files and more.
const MAX_OPEN_CUTOUTS: usize = 64;
/// Cutouts at work besides those of the cores, if they wait for servers.
const EXTRA_REMOTE_CUTOUTS: usize = 8;
/// Time that a cutout waits for others.
const MAX_SYNC_DELAY: Duration = Duration::from_millis(2);

/// Cut images out around positions on the sky
///
/// An ASDF cutout has all arrays of the shape of the image, their metadata and coordinates that are right for the cutout. A FITS
/// cutout has the images with headers that other programs read. NPY and PNG have the pixels of one image. Exit status 1 if a
/// position is in no image.
#[derive(Debug, Args)]
pub(crate) struct Cutout {
    /// Files, folders, patterns and URLs; after # the path of an image (default: the first image that has the position)
    #[arg(value_name = "FILE[#/path]", required_unless_present = "files_from", value_parser = strip_mark)]
    file: Option<String>,
    /// More files, folders, patterns and URLs
    #[arg(value_name = "MORE")]
    more: Vec<String>,
    #[command(flatten)]
    list_args: FileListArgs,
    /// Position in degrees, or in hours and degrees: 83.6,-5.4 or 05:34:24,-05:24:00; ICRS unless --sky-frame names another frame
    #[arg(long, value_name = "LON,LAT", allow_hyphen_values = true, required_unless_present = "points", conflicts_with = "points")]
    sky: Option<String>,
    /// Take the positions from a file with columns as ra and dec: CSV, JSON lines, Parquet, Arrow, a table of a FITS or ASDF file
    /// (FILE#/path, or its first one), or an NPY file
    #[arg(long, value_name = "IN")]
    points: Option<String>,
    /// Size of the cutout, one length or two: 30arcsec, 0.5arcmin, 201px or 201px,101px
    #[arg(long, value_name = "SIZE")]
    size: String,
    // clap writes a line break for an n in braces.
    /// Write to this file, .asdf, .fits, .npy or .png. In the name, {stem} is the input without its extension, and an n in
    /// braces is the number of the position, from 0 on
    #[arg(short, long, value_name = "FILE")]
    output: String,
    /// At the edge of the image: fill the pixels beyond, end there, or write nothing
    #[arg(long, value_enum, value_name = "HOW", default_value = "fill")]
    edge: EdgeArg,
    /// Value of pixels beyond the edge (default: NaN for floats, 0 for integers)
    #[arg(long, value_name = "V", allow_hyphen_values = true)]
    fill: Option<f64>,
    /// Cut only these arrays, by name: data,err
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    only: Vec<String>,
    /// Coordinates in a FITS header: with SIP polynomials, or a tangent plane alone
    #[arg(long, value_enum, value_name = "KIND", default_value = "sip")]
    wcs: HeaderKind,
    /// Place of the first row of a PNG: auto (the bottom, because a cutout has sky coordinates), upper, lower
    #[arg(long, value_name = "ORIGIN", default_value = "auto", hide_default_value = true)]
    origin: ImageOrigin,
    #[command(flatten)]
    frames: PositionArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum EdgeArg {
    Fill,
    Trim,
    Skip,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum HeaderKind {
    Sip,
    Tan,
}

impl Cutout {
    /// Writes the cutouts.
    pub(crate) fn run(&self, session: &Session<'_>) -> Result<Outcome> {
        let positions = self.read_positions(session)?;
        if positions.len() > 1 && !self.output.contains("{n}") {
            return Err(Error::invalid_input(format!("several cutouts cannot all be written to {}", self.output))
                .hint("put {n} into the name, which is the number of the position"));
        }
        let size: BoxSize = self.size.parse()?;
        let outputs = OutputTemplate::new(Some(&self.output)).with_recursive_search().with_count(positions.len());
        run_each(&all_arguments(self.file.as_ref(), &self.more), Arguments::Items, &self.list_args, outputs, session, |job| {
            let file = job.open(FileRole::Any)?;
            let path = job.path.clone().unwrap_or_default();
            job.session.check_inputs(&outputs.nth_name(0, &job.name, &path).unwrap_or_default(), &[])?;
            let is_missing = |at: &[f64; 2]| at.iter().any(|value| value.is_nan());
            // A file of which nothing is cut out needs no image.
            let image = if positions.iter().all(is_missing) { None } else { Some(file.cutout_image_by_key(&path, self.frames.wcs_key)?) };
            if let Some(image) = &image {
                self.frames.note_conversion(&image.coordinates().wcs, job.session);
            }
            let (name, session) = (job.name.clone(), job.session);
            // A cutout that waits has an open file.
            let open_files = AtomicUsize::new(0);
            let cut = |(number, at): (usize, &[f64; 2]), turn: &JobTurn| {
                if open_files.load(Ordering::Relaxed) >= MAX_OPEN_CUTOUTS {
                    turn.wait();
                }
                let Some(image) = image.as_ref().filter(|_| !is_missing(at)) else {
                    let list = self.points.as_deref().unwrap_or_default();
                    return Ok(CutoutOutcome::failed(Outcome::Negative, format!("trilith: position {number} of {list} is missing")));
                };
                match image.cutout(*at, size, self.to_cutout_options())? {
                    Some(found) => {
                        let output = outputs.nth_name(number, &name, found.path());
                        open_files.fetch_add(1, Ordering::Relaxed);
                        self.write_cutout(&file, &found, *at, output.as_deref().unwrap_or("-"), session)
                    }
                    None => self.no_overlap(image, *at, size, &name),
                }
            };
            // Requests and uploads wait for servers.
            let is_remote = file.source().access().cost == AccessCost::Request || is_url(&self.output);
            let besides = if is_remote { EXTRA_REMOTE_CUTOUTS } else { 0 };
            let mut outcome = Outcome::Success;
            take_batches(
                positions.len().min(MAX_PENDING_CUTOUTS),
                MAX_SYNC_DELAY,
                |send| map_in_order(positions.iter().enumerate(), besides, cut, |made: Result<_>| send(made?)),
                |mut batch: Vec<CutoutOutcome>| {
                    let done = commit_batch(&mut batch);
                    open_files.fetch_sub(batch.iter().filter(|made| made.output.is_some()).count(), Ordering::Relaxed);
                    for made in batch {
                        outcome = outcome.max(made.outcome);
                        made.report(job)?;
                    }
                    done
                },
            )?;
            Ok(outcome)
        })
    }

    fn to_cutout_options(&self) -> CutoutOptions {
        let mut options = CutoutOptions::default();
        options.edge = match self.edge {
            EdgeArg::Fill => EdgeMode::Fill,
            EdgeArg::Trim => EdgeMode::Trim,
            EdgeArg::Skip => EdgeMode::Skip,
        };
        options.fill = self.fill;
        options.image_only.clone_from(&self.only);
        options.position_frame = self.frames.sky_frame;
        options
    }

    fn read_positions(&self, session: &Session<'_>) -> Result<Vec<[f64; 2]>> {
        match (&self.sky, &self.points) {
            (Some(text), _) => Ok(vec![position(text)?]),
            (None, Some(list)) => {
                let [lon, lat] = read_points(list, session)?.positions(self.frames.sky_frame)?;
                Ok(lon.into_iter().zip(lat).map(|(lon, lat)| [lon, lat]).collect())
            }
            (None, None) => Err(Error::invalid_input("a cutout needs --sky or --points")),
        }
    }

    /// Says why there is no cutout at a position.
    fn no_overlap(&self, image: &CutoutImage<'_>, at: [f64; 2], size: BoxSize, name: &str) -> Result<CutoutOutcome> {
        let ([lon, lat], mut all) = (at, self.to_cutout_options());
        all.edge = EdgeMode::Trim;
        let is_over = self.edge == EdgeArg::Skip && image.cutout(at, size, all)?.is_some();
        let (outcome, why) = match is_over {
            true => (Outcome::Success, "it reaches beyond the edge of the image"),
            false => (Outcome::Negative, "the position is outside of the image"),
        };
        Ok(CutoutOutcome::failed(outcome, format!("trilith: {name}: no cutout at {lon},{lat}: {why}")))
    }

    fn write_cutout(&self, file: &File, found: &trilith::PixelCutout<'_>, at: [f64; 2], output: &str, session: &Session<'_>) -> Result<CutoutOutcome> {
        let form = match FileFormat::from_extension(output) {
            Some(form) => form,
            None if output == "-" => FileFormat::Asdf,
            None => {
                return Err(Error::invalid_input(format!("the extension of {output} does not select a format"))
                    .hint("give a name that ends in .asdf, .fits, .npy or .png"));
            }
        };
        session.check_inputs(output, &[])?;
        let mut target = OutputFile::create(output, WriteBasis::Nothing, session)?;
        let notes = if form == FileFormat::Png {
            let mut how = PreviewOptions::default();
            how.is_lower = self.origin.is_lower(file.item(found.path()).ok().as_ref());
            match Preview::new(&found.array()?, &how)? {
                Preview::Image(picture, _) => target.writer().write_all(&picture.to_png()?).map_err(|error| Error::io("writing", error))?,
                _ => return Err(Error::unsupported("cannot draw a cutout that is not an image")),
            }
            Vec::new()
        } else {
            let mut how = ConvertOptions::default();
            how.coordinates = if self.wcs == HeaderKind::Sip { CoordinateHeader::Sip } else { CoordinateHeader::Tan };
            found.write_checked(form, &how, target.file_mut())?
        };
        let (start, length) = (&found.pixels().start, &found.pixels().length);
        let record = json!({
            "file": output, "image": found.path(), "position": at, "start": start, "shape": length, "size": null, "written": true,
        });
        let lengths = length.iter().map(u64::to_string).collect::<Vec<_>>().join(" x ");
        let line = format!("{output}: {lengths} pixels of {}", found.path());
        let complete = target.finish()?;
        let output = CutoutOutput { name: output.to_owned(), record, line };
        let mut made = CutoutOutcome { outcome: Outcome::Success, notes: Vec::new(), warnings: notes, output: Some(output), file: None, written: None };
        match is_url(&self.output) {
            // An upload holds no other one back.
            true => made.written = Some(complete.commit()?),
            false => made.file = Some(complete),
        }
        Ok(made)
    }
}

/// The outcome at one position, and what is said of it when it is its turn.
struct CutoutOutcome {
    outcome: Outcome,
    notes: Vec<String>,
    warnings: Vec<String>,
    output: Option<CutoutOutput>,
    /// The complete cutout that is not in place yet.
    file: Option<CompleteFile>,
    written: Option<WriteReport>,
}

/// The words about a cutout.
struct CutoutOutput {
    name: String,
    /// The record for `--json`, whose size is known when the file is in place.
    record: Value,
    /// The line for people.
    line: String,
}

impl CutoutOutcome {
    fn failed(outcome: Outcome, why: String) -> Self {
        Self { outcome, notes: vec![why], warnings: Vec::new(), output: None, file: None, written: None }
    }

    fn report(self, job: &mut FileJob<'_>) -> Result<()> {
        self.notes.iter().for_each(|note| job.print_note(note));
        self.warnings.iter().for_each(|warning| job.print_warning(warning));
        let (Some(mut output), Some(written)) = (self.output, self.written) else { return Ok(()) };
        job.session.warn_all(written.warnings);
        output.record["size"] = json!(written.size);
        job.report_written(&output.name, output.record, &output.line)
    }
}

/// Puts the files of a batch into place. After an error, the outcomes that are not in place are removed from the batch.
fn commit_batch(batch: &mut Vec<CutoutOutcome>) -> Result<()> {
    let waiting = batch.iter_mut().enumerate().filter_map(|(at, made)| Some((at, made.file.take()?)));
    let (waiting, files): (Vec<usize>, Vec<CompleteFile>) = waiting.unzip();
    let (reports, done) = CompleteFile::commit_all(files);
    let end = waiting.get(reports.len()).copied().unwrap_or(batch.len());
    for (at, written) in waiting.into_iter().zip(reports) {
        if let Some(made) = batch.get_mut(at) {
            made.written = Some(written);
        }
    }
    batch.truncate(end);
    done
}
