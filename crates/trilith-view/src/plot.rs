//! Plots as SVG: [`draw_line`], [`draw_steps`], [`draw_histogram`], and [`draw_columns`] of a table.

use std::fmt::Display;

use plotters::coord::Shift;
use plotters::prelude::*;
use trilith::{Error, Result};

use crate::decimate::{DecimatedSeries, SeriesPoint};
use crate::statistics::Histogram;

/// The look of a plot.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlotStyle {
    /// Pixels from left to right.
    pub width: u32,
    /// Pixels from top to bottom.
    pub height: u32,
    /// The title above it.
    pub title: String,
    /// The label of the vertical axis: the unit.
    pub unit: String,
    /// The label of the horizontal axis: the coordinate and its unit.
    pub along: String,
}

impl Default for PlotStyle {
    fn default() -> Self {
        Self { width: 800, height: 400, title: String::new(), unit: String::new(), along: String::new() }
    }
}

/// The least and the most pixels of a side.
const SIDE_RANGE: std::ops::RangeInclusive<u32> = 64..=16_384;
/// The colour of lines and bars.
const LINE_COLOR: RGBColor = RGBColor(0x1f, 0x5f, 0xa8);

/// A series as a line over the index, with a vertical bar from the smallest to the greatest number of a point.
///
/// ```
/// use trilith_view::{DecimatedSeries, plot};
/// let array = trilith::Array::from_slice(&[0f32, 1.0, 4.0, 9.0], &[4])?;
/// let svg = plot::draw_line(&DecimatedSeries::new(&array, 800)?, &plot::PlotStyle::default())?;
/// assert!(svg.starts_with("<svg") && svg.contains("polyline"));
/// # Ok::<(), trilith::Error>(())
/// ```
///
/// # Errors
/// Returns [`ErrorKind::InvalidInput`](trilith::ErrorKind::InvalidInput) for an impossible size.
pub fn draw_line(series: &DecimatedSeries, look: &PlotStyle) -> Result<String> {
    render_svg(look, |area| draw_series(area, series, look, SeriesShape::Line))
}

/// Does the same as [`draw_line`], with each number as a step of its width.
///
/// # Errors
/// Returns the errors of [`draw_line`].
pub fn draw_steps(series: &DecimatedSeries, look: &PlotStyle) -> Result<String> {
    render_svg(look, |area| draw_series(area, series, look, SeriesShape::Steps))
}

/// A histogram as bars.
///
/// # Errors
/// Returns the errors of [`draw_line`].
pub fn draw_histogram(histogram: &Histogram, look: &PlotStyle) -> Result<String> {
    render_svg(look, |area| draw_bars(area, histogram, look))
}

/// The drawing of a column of a table.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ColumnPanel {
    /// A line over the row.
    Line(DecimatedSeries),
    /// A histogram of the numbers.
    Bars(Histogram),
    /// Text for a column that cannot be drawn.
    Message(String),
}

/// The columns of a table, by their names, below each other; the height of the look is that of one column.
///
/// # Errors
/// Returns the errors of [`draw_line`].
pub fn draw_columns(panels: &[(String, ColumnPanel)], look: &PlotStyle) -> Result<String> {
    let count = u32::try_from(panels.len().max(1)).unwrap_or(u32::MAX);
    let whole = PlotStyle { height: look.height.saturating_mul(count), ..look.clone() };
    render_svg(&whole, |area| {
        for ((name, panel), area) in panels.iter().zip(area.split_evenly((panels.len().max(1), 1))) {
            let look = PlotStyle { title: name.clone(), ..look.clone() };
            match panel {
                ColumnPanel::Line(series) => draw_series(&area, series, &look, SeriesShape::Line)?,
                ColumnPanel::Bars(histogram) => draw_bars(&area, histogram, &look)?,
                ColumnPanel::Message(words) => {
                    let text = format!("{name}: {words}");
                    let middle = i32::try_from(look.height / 2).unwrap_or(0);
                    area.draw(&Text::new(text, (16, middle), ("sans-serif", 16))).map_err(plot_error)?;
                }
            }
        }
        Ok(())
    })
}

type SvgArea<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// The SVG that `draw` draws.
fn render_svg(look: &PlotStyle, draw: impl FnOnce(&SvgArea<'_>) -> Result<()>) -> Result<String> {
    if !SIDE_RANGE.contains(&look.width) || !SIDE_RANGE.contains(&look.height) {
        let message = format!("a plot of {} by {} pixels", look.width, look.height);
        return Err(Error::invalid_input(message).hint(format!(
            "from {} to {} are possible",
            SIDE_RANGE.start(),
            SIDE_RANGE.end()
        )));
    }
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, (look.width, look.height)).into_drawing_area();
        area.fill(&WHITE).map_err(plot_error)?;
        draw(&area)?;
        area.present().map_err(plot_error)?;
    }
    Ok(svg)
}

fn plot_error(error: impl Display) -> Error {
    Error::unsupported(format!("the plot cannot be drawn: {error}"))
}

/// A little more than from `low` to `high`, so that nothing touches the frame.
fn with_margin(low: f64, high: f64) -> std::ops::Range<f64> {
    let width = high / 2.0 - low / 2.0;
    let room = if width > 0.0 { width * 0.1 } else { low.abs().max(1.0) * 0.1 };
    (low - room).max(f64::MIN / 4.0)..(high + room).min(f64::MAX / 4.0)
}

/// The shape of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SeriesShape {
    /// A line from number to number.
    Line,
    /// A step of its width for each number.
    Steps,
}

fn draw_series(area: &SvgArea<'_>, series: &DecimatedSeries, look: &PlotStyle, shape: SeriesShape) -> Result<()> {
    let steps = shape == SeriesShape::Steps;
    let (low, high) = series.range().unwrap_or((0.0, 1.0));
    let (places, range) = series.x_positions();
    let end = if steps { series.count } else { series.count.saturating_sub(1) }.max(1) as f64;
    let across = if series.coordinate.is_some() && range.start < range.end { range } else { 0.0..end };
    let mut chart = draw_axes(area, across, with_margin(low, high), look)?;
    let points: Vec<(f64, &SeriesPoint)> = places.into_iter().zip(&series.points).collect();
    let is_gap = |(place, point): &(f64, &SeriesPoint)| point.low.is_nan() || !place.is_finite();
    for run in points.split(is_gap).filter(|run| !run.is_empty()) {
        let mut corners: Vec<(f64, f64)> = Vec::with_capacity(run.len() * 2);
        for &(x, point) in run {
            if steps {
                let width = if series.is_exact() { 1.0 } else { series.count as f64 / series.points.len().max(1) as f64 };
                corners.extend([(x, point.mean), (x + width, point.mean)]);
            } else if point.low == point.high {
                corners.push((x, point.mean));
            } else {
                corners.extend([(x, point.low), (x, point.high)]);
            }
        }
        if let [(x, y)] = corners[..] {
            chart.draw_series([Circle::new((x, y), 2, LINE_COLOR.filled())]).map_err(plot_error)?;
        } else {
            chart.draw_series(LineSeries::new(corners, LINE_COLOR.stroke_width(1))).map_err(plot_error)?;
        }
    }
    Ok(())
}

fn draw_bars(area: &SvgArea<'_>, histogram: &Histogram, look: &PlotStyle) -> Result<()> {
    let most = histogram.counts.iter().copied().max().unwrap_or(0).max(1) as f64;
    let mut chart = draw_axes(area, histogram.low..histogram.high, 0.0..most * 1.05, look)?;
    let bars = histogram.counts.iter().enumerate().filter(|(_, count)| **count > 0);
    let bars = bars.map(|(at, count)| {
        Rectangle::new([(histogram.bin_edge(at), 0.0), (histogram.bin_edge(at + 1), *count as f64)], LINE_COLOR.mix(0.8).filled())
    });
    chart.draw_series(bars).map_err(plot_error)?;
    Ok(())
}

type Chart<'a, 'b> =
    ChartContext<'a, SVGBackend<'b>, Cartesian2d<plotters::coord::types::RangedCoordf64, plotters::coord::types::RangedCoordf64>>;

/// Axes with their numbers.
fn draw_axes<'a, 'b>(
    area: &'a SvgArea<'b>,
    x: std::ops::Range<f64>,
    y: std::ops::Range<f64>,
    look: &PlotStyle,
) -> Result<Chart<'a, 'b>> {
    let mut builder = ChartBuilder::on(area);
    builder.margin(12).x_label_area_size(if look.along.is_empty() { 28 } else { 44 }).y_label_area_size(72);
    if !look.title.is_empty() {
        builder.caption(&look.title, ("sans-serif", 16));
    }
    let (x_step, y_step) = (x.end - x.start, y.end - y.start);
    let mut chart = builder.build_cartesian_2d(x, y).map_err(plot_error)?;
    let rows = (look.height / 60).clamp(2, 12) as usize;
    let mut mesh = chart.configure_mesh();
    let (x_text, y_text) = (|x: &f64| format_tick_label(*x, x_step), |y: &f64| format_tick_label(*y, y_step));
    mesh.x_label_formatter(&x_text).y_label_formatter(&y_text).y_labels(rows).x_labels(10);
    mesh.light_line_style(TRANSPARENT).bold_line_style(BLACK.mix(0.1));
    if !look.unit.is_empty() {
        mesh.y_desc(look.unit.clone());
    }
    if !look.along.is_empty() {
        mesh.x_desc(look.along.clone());
    }
    mesh.draw().map_err(plot_error)?;
    Ok(chart)
}

/// A number at an axis of this length: as many digits as tell its neighbours apart.
fn format_tick_label(x: f64, length: f64) -> String {
    let size = x.abs().max(length.abs());
    // A zero that a sum of steps missed by a rounding.
    let x = if x.abs() < length.abs() * 1e-9 { 0.0 } else { x };
    if !(1e-3..1e6).contains(&size) {
        let digits = (x.abs().max(f64::MIN_POSITIVE) / length.abs().max(f64::MIN_POSITIVE)).log10().max(0.0).ceil();
        return if x == 0.0 { "0".to_owned() } else { format!("{x:.*e}", (digits as usize + 1).min(16)) };
    }
    let digits = (2.0 - length.abs().max(f64::MIN_POSITIVE).log10().floor()).clamp(0.0, 16.0);
    let text = format!("{x:.*}", digits as usize);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}
