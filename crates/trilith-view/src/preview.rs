//! A picture of an array with good defaults, in one call: [`Glance`], and a small picture for a notebook.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use trilith::bytes::Cost;
use trilith::{Array, Datatype, Error, Index, Result};

use crate::image::picture;
use crate::{ColourMap, Colours, Cuts, Interval, Picture, Region, Resample, Statistics, Stretch, Wanted, held, is_numeric};

/// Default length of the longer side, in pixels.
const SIDE: usize = 1024;
/// Length of the longer side of a small picture, in pixels.
const SMALL: usize = 256;
/// Bytes of an array that are gone through unasked.
const UNASKED: u64 = 64 << 20;

/// Options for a picture of an array.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct How {
    /// Numbers that have the first and the last colour.
    pub interval: Interval,
    /// Scale of the numbers between them.
    pub stretch: Stretch,
    /// The colours.
    pub colours: ColourMap,
    /// Reduction of several elements to one pixel.
    pub resample: Resample,
    /// Pixels across; None for at most 1024.
    pub width: Option<usize>,
    /// `true` if the last row is at the top, as on the sky.
    pub is_lower: bool,
}

impl Default for How {
    fn default() -> Self {
        Self {
            interval: Interval::ZScale,
            stretch: Stretch::Linear,
            colours: ColourMap::default(),
            resample: Resample::Mean,
            width: None,
            is_lower: false,
        }
    }
}

/// An array to look at.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Glance {
    /// A picture of two axes, and the numbers at the ends of its colors.
    Image(Picture, Option<Cuts>),
    /// A drawing of one axis, as SVG.
    #[cfg(feature = "plot")]
    Plot(String),
}

impl Glance {
    /// An array of two axes as an image (of more, its first plane; with colours along the last axis, in those), one of one
    /// axis as a line.
    ///
    /// ```
    /// use trilith_view::glance::{Glance, How};
    /// let array = trilith::Array::from_slice(&[1u8, 2, 3, 4, 5, 6], &[2, 3])?;
    /// let Glance::Image(picture, Some(cuts)) = Glance::of(&array, &How::default())? else { panic!("an image") };
    /// assert_eq!((picture.width(), picture.height(), cuts.high), (3, 2, 6.0));
    /// # Ok::<(), trilith::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](trilith::ErrorKind::InvalidInput) if the array is empty or holds no numbers, and an
    /// error if it cannot be read.
    pub fn of(array: &Array, how: &How) -> Result<Self> {
        if !is_numeric(array.datatype()) {
            return Err(Error::invalid_input(format!("elements of {} cannot be drawn", array.datatype().name())));
        }
        if array.is_empty() {
            return Err(Error::invalid_input(format!("an array of the shape {:?} has no elements", array.shape())));
        }
        match *array.shape() {
            [] => Err(Error::invalid_input("a single number cannot be drawn")),
            [_] => line(array, how),
            [.., height, width, 3 | 4] if *array.datatype() == Datatype::Uint8 => {
                let plane = first(array, 3)?;
                let size = size(Region { x: 0, y: 0, width, height }, how);
                Ok(Self::Image(turned(Picture::of_colours(&plane, size, how.resample, None)?, how), None))
            }
            _ => {
                let plane = held(&first(array, 2)?)?;
                let region = Region::all(&plane)?;
                let cuts = how.interval.of(&plane)?;
                let colours = Colours::of(how.colours);
                let made = picture(&plane, None, size(region, how), how.resample, (cuts, how.stretch), &colours)?;
                Ok(Self::Image(turned(made, how), Some(cuts)))
            }
        }
    }
}

/// The first plane of an array of more axes.
fn first(array: &Array, axes: usize) -> Result<Array> {
    array.slice(vec![Index::At(0); array.shape().len().saturating_sub(axes)])
}

fn size(region: Region, how: &How) -> (usize, usize) {
    how.width.map_or_else(|| region.fit(SIDE, SIDE * 4), |width| (width.max(1), region.height_at(width.max(1))))
}

fn turned(picture: Picture, how: &How) -> Picture {
    if how.is_lower { picture.flipped() } else { picture }
}

#[cfg(feature = "plot")]
fn line(array: &Array, how: &How) -> Result<Glance> {
    let mut look = crate::plot::Look::default();
    if let Some(width) = how.width {
        look.width = u32::try_from(width).unwrap_or(u32::MAX);
        look.height = (look.width / 2).max(160);
    }
    let series = crate::Series::of(array, look.width as usize * 2)?;
    crate::plot::line(&series, &look).map(Glance::Plot)
}

#[cfg(not(feature = "plot"))]
fn line(_: &Array, _: &How) -> Result<Glance> {
    Err(Error::unsupported("this build draws no lines").hint("build it with the feature plot"))
}

/// A small picture and the statistics of an array as HTML, the statistics folded; None if there is nothing to draw, or
/// if it would cost much to read. Only numbers of ours come into it.
pub fn html(array: &Array) -> Option<String> {
    let is_cheap = array.nbytes() <= UNASKED && array.source().access().cost != Cost::Request;
    if !is_cheap || array.shape().len() < 2 {
        return None;
    }
    let [.., height, width] = *array.shape() else { return None };
    let (width, _) = Region { x: 0, y: 0, width, height }.fit(SMALL, SMALL);
    let Ok(Glance::Image(picture, _)) = Glance::of(array, &How { width: Some(width), ..How::default() }) else { return None };
    let png = STANDARD.encode(picture.to_png().ok()?);
    let image = format!("<img alt=\"the array as a picture\" src=\"data:image/png;base64,{png}\">");
    Some(format!("<div>{image}</div>{}", statistics(array).unwrap_or_default()))
}

/// The statistics of an array as a table that folds.
fn statistics(array: &Array) -> Result<String> {
    let found = Statistics::of(array, &Wanted::default())?;
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
            Glance::of(&Array::from_slice(&numbers, shape).unwrap(), &How::default())
        };
        let size = |shape: &[u64]| match of(shape).unwrap() {
            Glance::Image(picture, cuts) => (picture.width(), picture.height(), cuts.is_some()),
            Glance::Plot(_) => (0, 0, false),
        };
        assert_eq!(size(&[5, 7]), (7, 5, true));
        assert_eq!(size(&[2, 5, 7]), (7, 5, true));
        assert_eq!(size(&[5, 7, 3]), (7, 5, false));
        assert_eq!(size(&[9, 5, 7, 4]), (7, 5, false));
        assert!(matches!(of(&[9]).unwrap(), Glance::Plot(svg) if svg.starts_with("<svg")));
        assert!(of(&[]).is_err() && of(&[0, 4]).is_err());
    }

    #[test]
    fn html_has_picture_of_small_plane_only() {
        let text = html(&Array::from_slice(&[1f32, f32::NAN, 3.0, 4.0], &[2, 2]).unwrap()).unwrap();
        assert!(text.contains("data:image/png;base64,iVBOR") && text.contains("<th>not a number</th><td>1</td>"), "{text}");
        assert!(html(&Array::from_slice(&[1f32, 2.0], &[2]).unwrap()).is_none());
    }
}
