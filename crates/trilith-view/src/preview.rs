//! A picture of an array with good defaults, in one call: [`Preview`], and a small picture for a notebook.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use trilith::bytes::AccessCost;
use trilith::file::Item;
use trilith::{Array, Datatype, Error, Index, Result};

use crate::image::picture;
use crate::requests::row_text;
use crate::{
    ColorImage, ColorMap, ImageOrigin, IntensityStretch, IntervalMethod, Limits, Palette, PixelRegion, ResampleMethod,
    Statistics, StatisticsOptions, cache_small_array, is_numeric,
};

/// Default length of the longer side, in pixels.
const DEFAULT_SIDE: usize = 1024;
/// Length of the longer side of a small picture, in pixels.
const THUMBNAIL_SIDE: usize = 256;
/// Rows of a table that a notebook shows.
const MAX_TABLE_ROWS: u32 = 20;
/// Columns of a table that a notebook shows.
const MAX_TABLE_COLUMNS: usize = 20;
/// Characters of one cell.
const MAX_CELL_CHARS: usize = 60;
/// Bytes of an array that are gone through unasked.
const MAX_EAGER_BYTES: u64 = 64 << 20;

/// Options for a picture of an array.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PreviewOptions {
    /// Display limits.
    pub interval: IntervalMethod,
    /// Scale of the numbers between them.
    pub stretch: IntensityStretch,
    /// The colours.
    pub colours: ColorMap,
    /// Reduction of several elements to one pixel.
    pub resample: ResampleMethod,
    /// Pixels across; None for at most 1024.
    pub width: Option<usize>,
    /// `true` if the first row is at the bottom, as [`ImageOrigin::is_lower`] returns it.
    pub is_lower: bool,
}

impl Default for PreviewOptions {
    fn default() -> Self {
        Self {
            interval: IntervalMethod::ZScale,
            stretch: IntensityStretch::Linear,
            colours: ColorMap::default(),
            resample: ResampleMethod::Mean,
            width: None,
            is_lower: false,
        }
    }
}

/// An array to look at.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Preview {
    /// A picture of two axes, and the numbers at the ends of its colors.
    Image(ColorImage, Option<Limits>),
    /// A drawing of one axis, as SVG.
    #[cfg(feature = "plot")]
    Plot(String),
}

impl Preview {
    /// An array of two axes as an image (of more, its first plane; with colours along the last axis, in those), one of one
    /// axis as a line.
    ///
    /// ```
    /// use trilith_view::preview::{Preview, PreviewOptions};
    /// let array = trilith::Array::from_slice(&[1u8, 2, 3, 4, 5, 6], &[2, 3])?;
    /// let Preview::Image(picture, Some(cuts)) = Preview::new(&array, &PreviewOptions::default())? else { panic!("an image") };
    /// assert_eq!((picture.width(), picture.height(), cuts.high), (3, 2, 6.0));
    /// # Ok::<(), trilith::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](trilith::ErrorKind::InvalidInput) if the array is empty or holds no numbers, and an
    /// error if it cannot be read.
    pub fn new(array: &Array, how: &PreviewOptions) -> Result<Self> {
        if !is_numeric(array.datatype()) {
            return Err(Error::invalid_input(format!("elements of {} cannot be drawn", array.datatype().name())));
        }
        if array.is_empty() {
            return Err(Error::invalid_input(format!("an array of the shape {:?} has no elements", array.shape())));
        }
        match *array.shape() {
            [] => Err(Error::invalid_input("a single number cannot be drawn")),
            [_] => preview_line(array, how),
            [.., height, width, 3 | 4] if *array.datatype() == Datatype::Uint8 => {
                let plane = first_plane(array, 3)?;
                let size = picture_size(PixelRegion { x: 0, y: 0, width, height }, how);
                Ok(Self::Image(orient(ColorImage::from_palette_colors(&plane, size, how.resample, None)?, how), None))
            }
            _ => {
                let plane = cache_small_array(&first_plane(array, 2)?)?;
                let region = PixelRegion::full(&plane)?;
                let cuts = how.interval.limits(&plane)?;
                let colours = Palette::new(how.colours);
                let made = picture(&plane, None, picture_size(region, how), how.resample, (cuts, how.stretch), &colours)?;
                Ok(Self::Image(orient(made, how), Some(cuts)))
            }
        }
    }
}

/// The first plane of an array of more axes.
fn first_plane(array: &Array, axes: usize) -> Result<Array> {
    array.slice(vec![Index::Integer(0); array.shape().len().saturating_sub(axes)])
}

fn picture_size(region: PixelRegion, how: &PreviewOptions) -> (usize, usize) {
    how.width.map_or_else(
        || region.fit_into(DEFAULT_SIDE, DEFAULT_SIDE * 4),
        |width| (width.max(1), region.height_for_width(width.max(1))),
    )
}

fn orient(picture: ColorImage, how: &PreviewOptions) -> ColorImage {
    if how.is_lower { picture.flipped() } else { picture }
}

#[cfg(feature = "plot")]
fn preview_line(array: &Array, how: &PreviewOptions) -> Result<Preview> {
    let mut look = crate::plot::PlotStyle::default();
    if let Some(width) = how.width {
        look.width = u32::try_from(width).unwrap_or(u32::MAX);
        look.height = (look.width / 2).max(160);
    }
    let series = crate::DecimatedSeries::new(array, look.width as usize * 2)?;
    crate::plot::draw_line(&series, &look).map(Preview::Plot)
}

#[cfg(not(feature = "plot"))]
fn preview_line(_: &Array, _: &PreviewOptions) -> Result<Preview> {
    Err(Error::unsupported("this build draws no lines").hint("build it with the feature plot"))
}

/// A small picture and the statistics of an array as HTML, the statistics folded; None if there is nothing to draw, or
/// if it would cost much to read. Only numbers of ours come into it. `item` is the item of a file that the array is a part of.
pub fn html(array: &Array, item: Option<&Item<'_>>) -> Option<String> {
    if array.source().access().cost == AccessCost::Request {
        return None;
    }
    if let (Datatype::Struct(_), [rows]) = (array.datatype(), array.shape()) {
        return table_html(array, *rows).ok();
    }
    if array.nbytes() > MAX_EAGER_BYTES || array.shape().len() < 2 {
        return None;
    }
    let [.., height, width] = *array.shape() else { return None };
    let (width, _) = PixelRegion { x: 0, y: 0, width, height }.fit_into(THUMBNAIL_SIDE, THUMBNAIL_SIDE);
    let is_lower = ImageOrigin::Auto.is_lower(item);
    let options = PreviewOptions { width: Some(width), is_lower, ..PreviewOptions::default() };
    let Ok(Preview::Image(picture, _)) = Preview::new(array, &options) else { return None };
    let png = STANDARD.encode(picture.to_png().ok()?);
    let image = format!("<img alt=\"the array as a picture\" src=\"data:image/png;base64,{png}\">");
    Some(format!("<div>{image}</div>{}", statistics_html(array).unwrap_or_default()))
}

/// Returns a size for people: `512 B`, `80.3 kB`, `1.07 GB` (powers of 1000, as disks and networks count).
pub fn display_size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["kB", "MB", "GB", "TB", "PB", "EB"];
    if bytes < 1000 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1000.0;
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    let digits = if value < 9.995 {
        2
    } else if value < 99.95 {
        1
    } else {
        0
    };
    format!("{value:.digits$} {}", UNITS[unit])
}

/// Returns text as HTML: markup characters are escaped.
pub fn escape_html(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            c => html.push(c),
        }
    }
    html
}

/// The first rows of a table, one column for each field.
fn table_html(array: &Array, rows: u64) -> Result<String> {
    let shown = u32::try_from(rows).unwrap_or(MAX_TABLE_ROWS).min(MAX_TABLE_ROWS);
    let first = array.slice([Index::from(0..shown)])?;
    let mut columns = Vec::new();
    let Datatype::Struct(fields) = array.datatype() else { return Ok(String::new()) };
    for (at, field) in fields.fields().iter().enumerate().take(MAX_TABLE_COLUMNS) {
        let name = field.name_or(at);
        columns.push((escape_html(&name), row_text(&first.field(&name)?, MAX_CELL_CHARS)?));
    }
    let row = |cells: &mut dyn Iterator<Item = String>| format!("<tr>{}</tr>", cells.collect::<String>());
    let mut html =
        format!("<table><thead>{}</thead><tbody>", row(&mut columns.iter().map(|(name, _)| format!("<th>{name}</th>"))));
    for at in 0..shown as usize {
        let text =
            |cells: &[Option<String>]| cells.get(at).cloned().flatten().map_or_else(|| "–".to_owned(), |text| escape_html(&text));
        html.push_str(&row(&mut columns.iter().map(|(_, cells)| format!("<td>{}</td>", text(cells)))));
    }
    html.push_str("</tbody></table>");
    if u64::from(shown) < rows {
        html.push_str(&format!("<div>{shown} of {rows} rows</div>"));
    }
    Ok(html)
}

/// The statistics of an array as a table that folds.
fn statistics_html(array: &Array) -> Result<String> {
    let found = Statistics::compute(array, &StatisticsOptions::default())?;
    let mut rows = vec![("elements", found.count.to_string())];
    let counts = [("masked", found.masked), ("not a number", found.nan), ("infinite", found.infinite)];
    rows.extend(counts.into_iter().filter(|(_, count)| *count > 0).map(|(name, count)| (name, count.to_string())));
    rows.extend(found.min.map(|min| ("smallest", min.to_string())));
    rows.extend(found.max.map(|max| ("greatest", max.to_string())));
    let figures = [("mean", found.mean), ("standard deviation", found.std), ("median", found.median())];
    rows.extend(figures.into_iter().filter_map(|(name, x)| x.map(|x| (name, format!("{x}")))));
    let rows: String = rows.into_iter().map(|(name, text)| format!("<tr><th>{name}</th><td>{text}</td></tr>")).collect();
    Ok(format!("<details><summary>statistics</summary><table>{rows}</table></details>"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]

    use super::*;

    #[test]
    fn shape_selects_image_or_plot() {
        let of = |shape: &[u64]| {
            let count = shape.iter().product::<u64>();
            let numbers: Vec<u8> = (0..count).map(|n| n as u8).collect();
            Preview::new(&Array::from_slice(&numbers, shape).unwrap(), &PreviewOptions::default())
        };
        let size = |shape: &[u64]| match of(shape).unwrap() {
            Preview::Image(picture, cuts) => (picture.width(), picture.height(), cuts.is_some()),
            Preview::Plot(_) => (0, 0, false),
        };
        assert_eq!(size(&[5, 7]), (7, 5, true));
        assert_eq!(size(&[2, 5, 7]), (7, 5, true));
        assert_eq!(size(&[5, 7, 3]), (7, 5, false));
        assert_eq!(size(&[9, 5, 7, 4]), (7, 5, false));
        assert!(matches!(of(&[9]).unwrap(), Preview::Plot(svg) if svg.starts_with("<svg")));
        assert!(of(&[]).is_err() && of(&[0, 4]).is_err());
    }

    #[test]
    fn html_has_picture_of_small_plane_only() {
        let text = html(&Array::from_slice(&[1f32, f32::NAN, 3.0, 4.0], &[2, 2]).unwrap(), None).unwrap();
        assert!(text.contains("data:image/png;base64,iVBOR") && text.contains("<th>not a number</th><td>1</td>"), "{text}");
        assert!(html(&Array::from_slice(&[1f32, 2.0], &[2]).unwrap(), None).is_none());
    }

    #[test]
    fn sizes_print_three_digits_and_unit() {
        assert_eq!(display_size(0), "0 B");
        assert_eq!(display_size(999), "999 B");
        assert_eq!(display_size(1000), "1.00 kB");
        assert_eq!(display_size(80_307), "80.3 kB");
        assert_eq!(display_size(999_999), "1.00 MB");
        assert_eq!(display_size(1 << 30), "1.07 GB");
        assert_eq!(display_size(u64::MAX), "18.4 EB");
    }
}
