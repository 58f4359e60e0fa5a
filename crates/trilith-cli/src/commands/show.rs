//! `trilith show FILE#/p`: an array as a picture or a plot, in the terminal or as a file.

mod drawing;
mod subject;

use clap::{Args, ValueEnum};
use serde_json::json;
use trilith::bytes::{Backing, Basis};
use trilith::{Error, Result};
use trilith_view::{ColourMap, Cuts, Interval, Resample, Stretch};

use self::drawing::Drawing;
use self::subject::Subject;
use crate::Outcome;
use crate::inputs::{Job, Parts};
use crate::options::Options;
use crate::output::size;
use crate::outputs::{Form, Outputs, check_name};
use crate::output_file::Target;
use crate::terminal::Graphics;

/// Show an array: an image, a plot, the columns of a table
///
/// An array with two axes is an image, and one with one axis is a plot. Of an array with more axes, the first plane is
/// shown, unless --slice chooses another. A structured array is a summary of its columns. Without a path, the only
/// array of the file is shown. A terminal shows graphics or characters. -o writes an image as PNG and a plot as SVG. An
/// array may be larger than the memory.
#[derive(Debug, Args)]
pub(crate) struct Show {
    #[command(flatten)]
    parts: Parts,
    /// Take the image of several arrays, if no path chooses one: the array `data`, or the largest
    #[arg(long)]
    first: bool,
    /// Draw it as this (default: chosen by the shape of the array)
    #[arg(long = "as", value_name = "WHAT")]
    what: Option<What>,
    /// Numbers that have the first and the last colour: minmax, zscale, percentile:P (the middle P percent) or
    /// percentile:LO,HI
    #[arg(long, value_name = "INTERVAL", default_value = "zscale")]
    interval: Interval,
    /// Show the values between these two numbers, in place of --interval
    #[arg(long, value_name = "LO,HI", allow_hyphen_values = true)]
    range: Option<Cuts>,
    /// Scale of the numbers between them: linear, sqrt, log, asinh, power:P
    #[arg(long, value_name = "STRETCH", default_value = "linear")]
    stretch: Stretch,
    /// The colour map: gray, viridis, plasma, inferno, magma, cividis, coolwarm; add _r to reverse it
    #[arg(long, value_name = "MAP", default_value = "gray")]
    cmap: ColourMap,
    /// Reduction of several elements to one pixel: mean, max, nearest
    #[arg(long, value_name = "HOW", default_value = "mean")]
    resample: Resample,
    /// Row of the array at the top of an image: the first (upper) or the last (lower), as on the sky
    #[arg(long, value_name = "ROW", default_value = "upper")]
    origin: Origin,
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
pub(super) enum What {
    /// An image of two axes in a color map.
    Image,
    /// Red, green and blue along the last axis.
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

/// The row at the top.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Origin {
    Upper,
    Lower,
}

impl Show {
    /// Shows the arrays.
    pub(crate) fn run(&self, options: &Options) -> Result<Outcome> {
        if let Some(width) = self.width.filter(|width| !(1..=MOST_WIDTH).contains(width)) {
            return Err(Error::invalid_input(format!("a width of {width}, from 1 to {MOST_WIDTH} are possible")));
        }
        if self.output.as_deref() == Some("-") && self.parts.is_several() {
            return Err(Error::invalid_input("several pictures cannot be written to one stream").hint("give -o a name with {stem} in it"));
        }
        self.parts.run(self.outputs(), options, |job| self.one(job))
    }

    /// Returns the outputs of the pictures.
    fn outputs(&self) -> Outputs<'_> {
        Outputs::new(self.output.as_deref()).finding()
    }

    fn one(&self, job: &mut Job<'_>) -> Result<Outcome> {
        let file = job.open()?;
        job.warn_all(file.source().backing().and_then(Backing::notice));
        let item = file.item(job.item_path());
        let Some(item) = job.found(item)? else { return Ok(Outcome::No) };
        let subject = Subject::of(&item, job.item_path(), &self.parts, self.what, self.first)?;
        let is_drawn = self.output.is_none() && !job.options.json;
        let graphics = is_drawn.then(|| self.graphics.settled());
        let drawing = Drawing::of(&subject, self, graphics)?;
        if let Some(note) = &subject.note {
            job.warn(note);
        }
        let output = self.outputs().of(&job.name, &subject.path);
        match (output, graphics) {
            (Some(output), _) => self.write(&subject, &drawing, job, &output)?,
            (None, Some(graphics)) => {
                job.heading()?;
                job.out.raw(&drawing.drawn(self, graphics)?)?;
                job.out.line(&drawing.caption(&subject))?;
            }
            (None, None) if self.output.is_some() => job.out.binary(&drawing.bytes()?)?,
            (None, None) => {
                let mut json = drawing.json(&subject);
                json["file"] = json!(job.name);
                job.out.json(&json)?;
            }
        }
        Ok(Outcome::Yes)
    }

    /// Writes the picture to a file.
    fn write(&self, subject: &Subject, drawing: &Drawing, job: &mut Job<'_>, path: &str) -> Result<()> {
        let form = drawing.form();
        let ending = if form == Form::Png { "png" } else { "svg" };
        if Form::promised(path).is_none() && !crate::outputs::is_stream(path) {
            check_name(path, form, "name it otherwise")?;
            return Err(Error::invalid_input(format!("the extension of {path} does not select a format")).hint(format!("name it .{ending}")));
        }
        check_name(path, form, &format!("{} is written as .{ending}", drawing.noun()))?;
        job.options.check_inputs(path, &[])?;
        let bytes = drawing.bytes()?;
        let mut target = Target::create(path, Basis::Nothing, job.options)?;
        target.writer().write_all(&bytes).map_err(|e| Error::io("writing", e))?;
        let written = target.commit(job.options)?;
        let mut report = drawing.json(subject);
        (report["file"], report["written"], report["size"]) = (json!(path), json!(true), json!(written));
        job.told(path, report, &format!("{path}: {}, {}", drawing.caption(subject), size(written)))
    }
}

/// The widest picture.
const MOST_WIDTH: usize = 16_384;
