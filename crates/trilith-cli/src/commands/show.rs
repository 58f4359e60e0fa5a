//! `trilith show FILE#/p`: an array as a picture or a plot, in the terminal or as a file.

mod drawing;
mod subject;

use clap::{Args, ValueEnum};
use serde_json::json;
use trilith::bytes::{SourceBacking, WriteBasis};
use trilith::{Error, Result};
use trilith_view::{ColorMap, ImageOrigin, Limits, IntervalMethod, ResampleMethod, IntensityStretch};

use self::drawing::Drawing;
use self::subject::DrawingSource;
use crate::outcome::Outcome;
use crate::inputs::{FileJob, ArraySelection};
use crate::session::{FileRole, Session};
use crate::output::display_size;
use crate::outputs::{FileFormat, OutputTemplate, check_name};
use crate::output_file::OutputFile;
use crate::terminal::Graphics;

/// Show an array: an image, a plot, the columns of a table
///
/// An array with two axes is an image, and one with one axis is a plot. For more than two axes, the first plane is
/// shown; choose another with --slice. A structured array is a summary of its columns. Without a path, the only
/// array of the file is shown. A terminal shows graphics or characters. -o writes an image as PNG and a plot as SVG. An
/// array may be larger than the memory.
#[derive(Debug, Args)]
pub(crate) struct Show {
    #[command(flatten)]
    parts: ArraySelection,
    /// Take the image of several arrays, if no path chooses one: the array `data`, or the largest
    #[arg(long)]
    first: bool,
    /// Kind of plot (default: chosen by the shape of the array)
    #[arg(long = "as", value_name = "WHAT")]
    what: Option<DrawingKind>,
    /// Display limits: minmax, zscale, percentile:P (the middle P percent) or
    /// percentile:LO,HI
    #[arg(long, value_name = "INTERVAL", default_value = "zscale")]
    interval: IntervalMethod,
    /// Display limits LO,HI (overrides --interval)
    #[arg(long, value_name = "LO,HI", allow_hyphen_values = true)]
    range: Option<Limits>,
    /// Scale of the numbers between them: linear, sqrt, log, asinh, power:P
    #[arg(long, value_name = "STRETCH", default_value = "linear")]
    stretch: IntensityStretch,
    /// The colour map: gray, viridis, plasma, inferno, magma, cividis, coolwarm; add _r to reverse it
    #[arg(long, value_name = "MAP", default_value = "gray")]
    cmap: ColorMap,
    /// Reduction of several elements to one pixel: mean, max, nearest
    #[arg(long, value_name = "HOW", default_value = "mean")]
    resample: ResampleMethod,
    /// Place of the first row of an image: auto (the bottom for FITS images and arrays with sky coordinates, else the top), upper,
    /// lower
    #[arg(long, value_name = "ORIGIN", default_value = "auto", hide_default_value = true)]
    origin: ImageOrigin,
    /// Width in pixels, or in characters in a terminal without graphics (default: at most 1024, and what fits)
    #[arg(long, value_name = "N")]
    width: Option<usize>,
    /// Write to a file: .png for an image, .svg for a plot. In the name {stem} is the input without its
    /// extension, and {item} is the path: several inputs need it
    #[arg(short, long, value_name = "FILE")]
    output: Option<String>,
    /// Graphics protocol of the terminal
    #[arg(long, value_name = "HOW", default_value = "auto")]
    graphics: Graphics,
}

/// The kind of drawing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum DrawingKind {
    /// An image of two axes in a color map.
    Image,
    /// Red, green and blue along the last axis.
    #[value(alias = "colors")]
    Colours,
    /// Quality flags: each bit in a separate colour, the lowest one first.
    Flags,
    /// Labels: each number in a separate colour.
    Labels,
    /// A line over the index.
    Line,
    /// Steps over the index.
    Steps,
    /// Histogram of the numbers.
    Histogram,
    /// The columns of a table.
    Table,
}

impl Show {
    /// Shows the arrays.
    pub(crate) fn run(&self, session: &Session<'_>) -> Result<Outcome> {
        if let Some(width) = self.width.filter(|width| !(1..=MAX_WIDTH).contains(width)) {
            return Err(Error::invalid_input(format!("a width of {width}, from 1 to {MAX_WIDTH} are possible")));
        }
        if self.output.as_deref() == Some("-") && self.parts.is_several() {
            return Err(Error::invalid_input("several pictures cannot be written to one stream").hint("give -o a name with {stem} in it"));
        }
        self.parts.run(self.outputs(), session, |job| self.show_file(job))
    }

    /// Returns the outputs of the pictures.
    fn outputs(&self) -> OutputTemplate<'_> {
        OutputTemplate::new(self.output.as_deref()).with_recursive_search()
    }

    fn show_file(&self, job: &mut FileJob<'_>) -> Result<Outcome> {
        let file = job.open(FileRole::Any)?;
        job.warn_all(file.source().backing().and_then(SourceBacking::notice));
        let item = file.item(job.item_path());
        let Some(item) = job.report_missing(item)? else { return Ok(Outcome::Negative) };
        let mut subject = DrawingSource::select(&item, job.item_path(), &self.parts, self.what, self.first)?;
        subject.is_lower = self.origin.is_lower(file.item(&subject.path).ok().as_ref());
        let is_drawn = self.output.is_none() && !job.session.args.json;
        let graphics = is_drawn.then(|| self.graphics.resolve_auto());
        let drawing = Drawing::render(&subject, self, graphics)?;
        if let Some(note) = &subject.note {
            job.print_warning(note);
        }
        let output = self.outputs().file_for_item(&job.name, &subject.path);
        match (output, graphics) {
            (Some(output), _) => self.write_picture(&subject, &drawing, job, &output)?,
            (None, Some(graphics)) => {
                job.print_heading()?;
                job.out.write_raw_text(&drawing.to_terminal(self, graphics)?)?;
                job.out.write_line(&drawing.caption(&subject))?;
            }
            (None, None) if self.output.is_some() => job.out.write_binary(&drawing.to_file_bytes()?)?,
            (None, None) => {
                let mut json = drawing.to_json(&subject);
                json["file"] = json!(job.name);
                job.out.write_json(&json)?;
            }
        }
        Ok(Outcome::Success)
    }

    /// Writes the picture to a file.
    fn write_picture(&self, subject: &DrawingSource, drawing: &Drawing, job: &mut FileJob<'_>, path: &str) -> Result<()> {
        let form = drawing.output_format();
        let ending = if form == FileFormat::Png { "png" } else { "svg" };
        if FileFormat::from_extension(path).is_none() && !crate::outputs::is_stream(path) {
            check_name(path, form, "choose another name")?;
            return Err(Error::invalid_input(format!("the extension of {path} does not select a format")).hint(format!("name it .{ending}")));
        }
        check_name(path, form, &format!("{} is written as .{ending}", drawing.kind_name()))?;
        job.session.check_inputs(path, &[])?;
        let bytes = drawing.to_file_bytes()?;
        let mut target = OutputFile::create(path, WriteBasis::Nothing, job.session)?;
        target.writer().write_all(&bytes).map_err(|e| Error::io("writing", e))?;
        let written = target.commit(job.session)?;
        let mut report = drawing.to_json(subject);
        (report["file"], report["written"], report["size"]) = (json!(path), json!(true), json!(written));
        job.report_written(path, report, &format!("{path}: {}, {}", drawing.caption(subject), display_size(written)))
    }
}

/// The widest picture.
const MAX_WIDTH: usize = 16_384;
