//! Drawing of a picture or a plot, as a file or in a terminal.

use serde_json::{Value, json};
use trilith::{Array, Error, Result};
use trilith_view::image::{Flags, picture};
use trilith_view::plot::{self, Look, Panel};
use trilith_view::{
    Colours, Cuts, Histogram, Interval, Picture, Region, Resample, Series, Statistics, Wanted, text_plot, held,
};

use super::subject::Subject;
use super::{Origin, Show, What};
use crate::commands::stats::{figure, number};
use crate::json::{datatype, datatype_text};
use crate::output::Table;
use crate::outputs::Form;
use crate::terminal::{Graphics, columns};

/// Default width in pixels.
const WIDTH: usize = 1024;
/// Lines of characters of a plot.
const LINES: usize = 15;
/// Bins of a histogram.
const BINS: usize = 100;
/// Bins of a small one.
const FEW: usize = 20;

/// A finished drawing.
pub(super) enum Drawing {
    /// An image, with the numbers at the ends of its colours.
    Image(Picture, Option<Cuts>, String),
    /// A line.
    Line(Series, bool, Look),
    /// A histogram.
    Bars(Histogram, Look),
    /// The columns of a table with their statistics.
    Columns(Vec<(String, Array, Statistics)>, Look),
}

impl Drawing {
    /// Draws a subject.
    ///
    /// `graphics` is how it comes out in a terminal; None for a file.
    pub(super) fn of(subject: &Subject, show: &Show, graphics: Option<Graphics>) -> Result<Self> {
        let to_file = graphics.is_none();
        let array = &subject.array;
        let mut look = Look::default();
        look.title.clone_from(&subject.path);
        look.unit.clone_from(&subject.unit);
        if let Some(width) = show.width.filter(|_| to_file) {
            look.width = u32::try_from(width).unwrap_or(u32::MAX);
            look.height = (look.width / 2).max(160);
        }
        let across = if to_file { look.width as usize * 2 } else { text_plot::points(show.width.unwrap_or_else(columns)) };
        match subject.what {
            What::Line | What::Steps => {
                let mut series = Series::of(array, across)?;
                if let Some((name, numbers)) = &subject.along {
                    series = series.over(numbers)?;
                    look.along.clone_from(name);
                }
                Ok(Self::Line(series, subject.what == What::Steps, look))
            }
            What::Histogram => {
                let bins = if to_file { BINS } else { show.width.unwrap_or_else(columns).min(BINS) };
                let bars = histogram(array, show.range, bins)?.histogram;
                bars.map(|bars| Self::Bars(bars, look)).ok_or_else(|| Error::invalid_input("no number is finite"))
            }
            What::Table => {
                look.height = 160;
                let column = |(name, array): &(String, Array)| Ok((name.clone(), array.clone(), histogram(array, None, FEW)?));
                Ok(Self::Columns(subject.columns.iter().map(column).collect::<Result<_>>()?, look))
            }
            _ => image(subject, show, graphics),
        }
    }

    /// Returns the form of the written file.
    pub(super) fn form(&self) -> Form {
        if matches!(self, Self::Image(..)) { Form::Png } else { Form::Svg }
    }

    /// Returns the noun for it.
    pub(super) fn noun(&self) -> &'static str {
        if matches!(self, Self::Image(..)) { "an image" } else { "a plot" }
    }

    /// The file.
    pub(super) fn bytes(&self) -> Result<Vec<u8>> {
        let svg = match self {
            Self::Image(picture, ..) => return picture.to_png(),
            Self::Line(series, true, look) => plot::steps(series, look)?,
            Self::Line(series, false, look) => plot::line(series, look)?,
            Self::Bars(bars, look) => plot::histogram(bars, look)?,
            Self::Columns(all, look) => {
                let panel = |found: &Statistics| {
                    found.histogram.clone().map_or_else(|| Panel::Words("no number is finite".to_owned()), Panel::Bars)
                };
                let panels: Vec<_> = all.iter().map(|(name, _, found)| (name.clone(), panel(found))).collect();
                plot::columns(&panels, look)?
            }
        };
        Ok(svg.into_bytes())
    }

    /// Returns the output for a terminal.
    pub(super) fn drawn(&self, show: &Show, graphics: Graphics) -> Result<String> {
        let lines = |lines: Vec<String>| lines.iter().map(|line| format!("{}\n", line.trim_end())).collect();
        match self {
            Self::Image(picture, ..) => graphics.drawn(picture),
            Self::Line(series, ..) => Ok(lines(text_plot::line(series, show.width.unwrap_or_else(columns), LINES))),
            Self::Bars(bars, _) => Ok(lines(text_plot::bars(bars, LINES))),
            Self::Columns(all, _) => {
                let mut table = Table::new(&["column", "datatype", ">bad", ">min", ">max", ">mean", "histogram"]);
                for (name, array, found) in all {
                    let optional = |x: Option<f64>| x.map_or_else(|| "-".to_owned(), figure);
                    let bars = found.histogram.as_ref().map(|bars| text_plot::bars(bars, 1).concat());
                    table.row(vec![
                        name.clone(),
                        datatype_text(array.datatype()),
                        (found.count - found.finite).to_string(),
                        optional(found.min.map(trilith_view::Number::double)),
                        optional(found.max.map(trilith_view::Number::double)),
                        optional(found.mean),
                        bars.unwrap_or_default(),
                    ]);
                }
                Ok(table.text())
            }
        }
    }

    /// Describes it, in a line.
    pub(super) fn caption(&self, subject: &Subject) -> String {
        let array = &subject.array;
        let what = format!("{} {:?}", datatype_text(array.datatype()), array.shape());
        let unit = if subject.unit.is_empty() { String::new() } else { format!(" {}", subject.unit) };
        match self {
            Self::Image(picture, Some(cuts), how) => {
                let size = format!("{} x {} pixels", picture.width(), picture.height());
                format!("{what}, {size}, {how} {} to {}{unit}", figure(cuts.low), figure(cuts.high))
            }
            Self::Image(picture, None, _) => format!("{what}, {} x {} pixels", picture.width(), picture.height()),
            Self::Line(series, ..) => match series.range() {
                Some((low, high)) => format!("{what}, {} to {}{unit}", figure(low), figure(high)),
                None => format!("{what}, no number is finite"),
            },
            Self::Bars(bars, _) => format!("{what}, histogram from {} to {}{unit}", figure(bars.low), figure(bars.high)),
            Self::Columns(all, _) => {
                let rows = all.first().map_or(0, |(_, array, _)| array.shape().first().copied().unwrap_or(0));
                format!("{} of {}", trilith_io::error::counted(all.len(), "column"), trilith_io::error::counted(rows as usize, "row"))
            }
        }
    }

    /// Describes it, for a script.
    pub(super) fn json(&self, subject: &Subject) -> Value {
        let array = &subject.array;
        let mut json = json!({"path": subject.path, "datatype": datatype(array.datatype()), "shape": array.shape()});
        let mut add = |name: &str, value: Value| json[name] = value;
        match self {
            Self::Image(picture, cuts, how) => {
                add("kind", json!("image"));
                add("width", json!(picture.width()));
                add("height", json!(picture.height()));
                if let Some(cuts) = cuts {
                    add("interval", json!(how));
                    add("low", json!(cuts.low));
                    add("high", json!(cuts.high));
                }
            }
            Self::Line(series, ..) => {
                add("kind", json!("line"));
                let (low, high) = series.range().unzip();
                add("low", json!(low));
                add("high", json!(high));
            }
            Self::Bars(bars, _) => {
                add("kind", json!("histogram"));
                add("low", json!(bars.low));
                add("high", json!(bars.high));
                add("counts", json!(bars.counts));
            }
            Self::Columns(all, _) => {
                add("kind", json!("table"));
                let column = |(name, array, found): &(String, Array, Statistics)| {
                    json!({
                        "name": name, "datatype": datatype(array.datatype()), "count": found.count, "finite": found.finite,
                        "min": found.min.map(number), "max": found.max.map(number), "mean": found.mean,
                    })
                };
                add("columns", all.iter().map(column).collect());
            }
        }
        json
    }
}

/// Statistics with a histogram, and without percentiles.
fn histogram(array: &Array, range: Option<Cuts>, bins: usize) -> Result<Statistics> {
    let mut wanted = Wanted::nothing();
    (wanted.bins, wanted.range) = (bins, range);
    Statistics::of(array, &wanted)
}

/// The plane as pixels.
fn image(subject: &Subject, show: &Show, graphics: Option<Graphics>) -> Result<Drawing> {
    let mut region = Region { x: 0, y: 0, width: 0, height: 0 };
    if let [height, width, ..] = *subject.array.shape() {
        (region.width, region.height) = (width, height);
    }
    if region.width == 0 || region.height == 0 {
        return Err(Error::invalid_input(format!("an array of the shape {:?} has no elements", subject.array.shape())));
    }
    let size = match (show.width, graphics) {
        (Some(width), _) => (width, region.height_at(width)),
        (None, None) => region.fit(WIDTH, WIDTH * 4),
        (None, Some(graphics)) => region.fit(graphics.across(), graphics.across() * 2),
    };
    let array = if show.resample == Resample::Nearest { subject.array.clone() } else { held(&subject.array)? };
    let background = [0, 0, 0, 255];
    let interval = show.range.map_or(show.interval, Interval::Fixed);
    let (picture, cuts, how) = match subject.what {
        What::Colours => (Picture::of_colours(&array, size, show.resample, show.range)?, show.range, String::new()),
        What::Flags => (Flags::of(&array, None, size, u64::MAX)?.paint(background), None, String::new()),
        What::Labels => (Flags::labels(&array, None, size)?.paint_labels(background), None, String::new()),
        _ => {
            let cuts = interval.of(&array)?;
            let colours = Colours::of(show.cmap);
            let picture = picture(&array, None, size, show.resample, (cuts, show.stretch), &colours)?;
            (picture, Some(cuts), named(interval))
        }
    };
    let picture = if show.origin == Origin::Lower { picture.flipped() } else { picture };
    Ok(Drawing::Image(picture, cuts, how))
}

/// Returns the name of the interval.
fn named(interval: Interval) -> String {
    match interval {
        Interval::Fixed(_) => "range".to_owned(),
        other => other.to_string(),
    }
}
