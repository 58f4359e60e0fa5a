//! Drawing of a picture or a plot, as a file or in a terminal.

use serde_json::{Value, json};
use trilith::{Array, Error, Result};
use trilith_view::image::{FlagRaster, picture};
use trilith_view::plot::{self, PlotStyle, ColumnPanel};
use trilith_view::{
    Palette, Limits, Histogram, IntervalMethod, ColorImage, PixelRegion, ResampleMethod, DecimatedSeries, Statistics, StatisticsOptions, text_plot, cache_small_array,
};

use super::subject::DrawingSource;
use super::{Show, DrawingKind};
use crate::commands::stats::{format_short, number_json};
use crate::json::{datatype_json, datatype_text};
use crate::output::TextTable;
use crate::outputs::FileFormat;
use crate::terminal::{Graphics, columns_or_default};

/// Default width in pixels.
const DEFAULT_WIDTH: usize = 1024;
/// Lines of characters of a plot.
const PLOT_LINES: usize = 15;
/// Bins of a histogram.
const HISTOGRAM_BINS: usize = 100;
/// Bins of a small one.
const SMALL_HISTOGRAM_BINS: usize = 20;

/// A finished drawing.
pub(super) enum Drawing {
    /// An image, with the numbers at the ends of its colours.
    Image(ColorImage, Option<Limits>, String),
    /// A line.
    Line(DecimatedSeries, bool, PlotStyle),
    /// A histogram.
    Bars(Histogram, PlotStyle),
    /// The columns of a table with their statistics.
    Columns(Vec<(String, Array, Statistics)>, PlotStyle),
}

impl Drawing {
    /// Draws a subject.
    ///
    /// `graphics` is how it comes out in a terminal; None for a file.
    pub(super) fn render(subject: &DrawingSource, show: &Show, graphics: Option<Graphics>) -> Result<Self> {
        let to_file = graphics.is_none();
        let array = &subject.array;
        let mut look = PlotStyle::default();
        look.title.clone_from(&subject.path);
        look.unit.clone_from(&subject.unit);
        if let Some(width) = show.width.filter(|_| to_file) {
            look.width = u32::try_from(width).unwrap_or(u32::MAX);
            look.height = (look.width / 2).max(160);
        }
        let across = if to_file { look.width as usize * 2 } else { text_plot::points(show.width.unwrap_or_else(columns_or_default)) };
        match subject.what {
            DrawingKind::Line | DrawingKind::Steps => {
                let mut series = DecimatedSeries::new(array, across)?;
                if let Some(along) = &subject.along {
                    series = series.with_coordinate(&along.numbers)?;
                    look.along = along.label();
                }
                Ok(Self::Line(series, subject.what == DrawingKind::Steps, look))
            }
            DrawingKind::Histogram => {
                let bins = if to_file { HISTOGRAM_BINS } else { show.width.unwrap_or_else(columns_or_default).min(HISTOGRAM_BINS) };
                let bars = compute_histogram(array, show.range, bins)?.histogram;
                bars.map(|bars| Self::Bars(bars, look)).ok_or_else(|| Error::invalid_input("no number is finite"))
            }
            DrawingKind::Table => {
                look.height = 160;
                let column = |(name, array): &(String, Array)| Ok((name.clone(), array.clone(), compute_histogram(array, None, SMALL_HISTOGRAM_BINS)?));
                Ok(Self::Columns(subject.columns.iter().map(column).collect::<Result<_>>()?, look))
            }
            _ => draw_image(subject, show, graphics),
        }
    }

    /// Returns the form of the written file.
    pub(super) fn output_format(&self) -> FileFormat {
        if matches!(self, Self::Image(..)) { FileFormat::Png } else { FileFormat::Svg }
    }

    /// Returns the noun for it.
    pub(super) fn kind_name(&self) -> &'static str {
        if matches!(self, Self::Image(..)) { "an image" } else { "a plot" }
    }

    /// The file.
    pub(super) fn to_file_bytes(&self) -> Result<Vec<u8>> {
        let svg = match self {
            Self::Image(picture, ..) => return picture.to_png(),
            Self::Line(series, true, look) => plot::draw_steps(series, look)?,
            Self::Line(series, false, look) => plot::draw_line(series, look)?,
            Self::Bars(bars, look) => plot::draw_histogram(bars, look)?,
            Self::Columns(all, look) => {
                let panel = |found: &Statistics| {
                    found.histogram.clone().map_or_else(|| ColumnPanel::Message("no number is finite".to_owned()), ColumnPanel::Bars)
                };
                let panels: Vec<_> = all.iter().map(|(name, _, found)| (name.clone(), panel(found))).collect();
                plot::draw_columns(&panels, look)?
            }
        };
        Ok(svg.into_bytes())
    }

    /// Returns the output for a terminal.
    pub(super) fn to_terminal(&self, show: &Show, graphics: Graphics) -> Result<String> {
        let lines = |lines: Vec<String>| lines.iter().map(|line| format!("{}\n", line.trim_end())).collect();
        match self {
            Self::Image(picture, ..) => graphics.encode(picture),
            Self::Line(series, ..) => Ok(lines(text_plot::line(series, show.width.unwrap_or_else(columns_or_default), PLOT_LINES))),
            Self::Bars(bars, _) => Ok(lines(text_plot::bars(bars, PLOT_LINES))),
            Self::Columns(all, _) => {
                let mut table = TextTable::new(&["column", "datatype", ">bad", ">min", ">max", ">mean", "histogram"]);
                for (name, array, found) in all {
                    let optional = |x: Option<f64>| x.map_or_else(|| "-".to_owned(), format_short);
                    let bars = found.histogram.as_ref().map(|bars| text_plot::bars(bars, 1).concat());
                    table.push_row(vec![
                        name.clone(),
                        datatype_text(array.datatype()),
                        (found.count - found.finite).to_string(),
                        optional(found.min.map(trilith_view::ExactNumber::as_f64)),
                        optional(found.max.map(trilith_view::ExactNumber::as_f64)),
                        optional(found.mean),
                        bars.unwrap_or_default(),
                    ]);
                }
                Ok(table.to_text())
            }
        }
    }

    /// Describes it, in a line.
    pub(super) fn caption(&self, subject: &DrawingSource) -> String {
        let array = &subject.array;
        let what = format!("{} {:?}", datatype_text(array.datatype()), array.shape());
        let unit = if subject.unit.is_empty() { String::new() } else { format!(" {}", subject.unit) };
        match self {
            Self::Image(picture, Some(cuts), how) => {
                let size = format!("{} x {} pixels", picture.width(), picture.height());
                format!("{what}, {size}, {how} {} to {}{unit}", format_short(cuts.low), format_short(cuts.high))
            }
            Self::Image(picture, None, _) => format!("{what}, {} x {} pixels", picture.width(), picture.height()),
            Self::Line(series, ..) => match series.range() {
                Some((low, high)) => format!("{what}, {} to {}{unit}", format_short(low), format_short(high)),
                None => format!("{what}, no number is finite"),
            },
            Self::Bars(bars, _) => format!("{what}, histogram from {} to {}{unit}", format_short(bars.low), format_short(bars.high)),
            Self::Columns(all, _) => {
                let rows = all.first().map_or(0, |(_, array, _)| array.shape().first().copied().unwrap_or(0));
                format!("{} of {}", trilith_io::error::count_noun(all.len(), "column"), trilith_io::error::count_noun(rows as usize, "row"))
            }
        }
    }

    /// Describes it, for a script.
    pub(super) fn to_json(&self, subject: &DrawingSource) -> Value {
        let array = &subject.array;
        let mut json = json!({"path": subject.path, "datatype": datatype_json(array.datatype()), "shape": array.shape()});
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
                        "name": name, "datatype": datatype_json(array.datatype()), "count": found.count, "finite": found.finite,
                        "min": found.min.map(number_json), "max": found.max.map(number_json), "mean": found.mean,
                    })
                };
                add("columns", all.iter().map(column).collect());
            }
        }
        json
    }
}

/// Statistics with a histogram, and without percentiles.
fn compute_histogram(array: &Array, range: Option<Limits>, bins: usize) -> Result<Statistics> {
    let mut wanted = StatisticsOptions::none();
    (wanted.bins, wanted.range) = (bins, range);
    Statistics::compute(array, &wanted)
}

/// The plane as pixels.
fn draw_image(subject: &DrawingSource, show: &Show, graphics: Option<Graphics>) -> Result<Drawing> {
    let mut region = PixelRegion { x: 0, y: 0, width: 0, height: 0 };
    if let [height, width, ..] = *subject.array.shape() {
        (region.width, region.height) = (width, height);
    }
    if region.width == 0 || region.height == 0 {
        return Err(Error::invalid_input(format!("an array of the shape {:?} has no elements", subject.array.shape())));
    }
    let size = match (show.width, graphics) {
        (Some(width), _) => (width, region.height_for_width(width)),
        (None, None) => region.fit_into(DEFAULT_WIDTH, DEFAULT_WIDTH * 4),
        (None, Some(graphics)) => region.fit_into(graphics.width_in_pixels(), graphics.width_in_pixels() * 2),
    };
    let array = if show.resample == ResampleMethod::Nearest { subject.array.clone() } else { cache_small_array(&subject.array)? };
    let background = [0, 0, 0, 255];
    let interval = show.range.map_or(show.interval, IntervalMethod::Fixed);
    let (picture, cuts, how) = match subject.what {
        DrawingKind::Colours => (ColorImage::from_palette_colors(&array, size, show.resample, show.range)?, show.range, String::new()),
        DrawingKind::Flags => (FlagRaster::read(&array, None, size, u64::MAX)?.to_picture(background), None, String::new()),
        DrawingKind::Labels => (FlagRaster::read_labels(&array, None, size)?.paint_labels(background), None, String::new()),
        _ => {
            let cuts = interval.limits(&array)?;
            let colours = Palette::new(show.cmap);
            let picture = picture(&array, None, size, show.resample, (cuts, show.stretch), &colours)?;
            (picture, Some(cuts), interval_name(interval))
        }
    };
    let picture = if subject.is_lower { picture.flipped() } else { picture };
    Ok(Drawing::Image(picture, cuts, how))
}

/// Returns the name of the interval.
fn interval_name(interval: IntervalMethod) -> String {
    match interval {
        IntervalMethod::Fixed(_) => "range".to_owned(),
        other => other.to_string(),
    }
}
