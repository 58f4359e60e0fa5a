//! Positions and sizes as people write them, and the box of pixels around a position.

use std::ops::Range;
use std::str::FromStr;

use super::from_wcs;
use super::{FoundWcs, Wcs, WcsOptions};
use crate::array::{Array, Index};
use crate::error::{Error, Result};

/// Pixels that a box may have along an axis.
const MAX_BOX_PIXELS: f64 = 1e9;

/// Reads an angle in degrees: a number, or `12:30:00` whose first part counts `whole` degrees.
fn parse_angle(text: &str, whole: f64) -> Option<f64> {
    let text = text.trim();
    if !text.contains(':') {
        return text.parse().ok();
    }
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1.0, digits),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    let part = |part: &str| part.parse().ok().filter(|part: &f64| (0.0..=360.0).contains(part));
    let parts: Vec<f64> = digits.split(':').map(part).collect::<Option<_>>()?;
    let &[first, minutes, ref seconds @ ..] = &parts[..] else { return None };
    let second = match seconds {
        [] => 0.0,
        [second] => *second,
        _ => return None,
    };
    (minutes < 60.0 && second < 60.0).then(|| sign * whole * (first + minutes / 60.0 + second / 3600.0))
}

/// Reads a longitude in degrees, or in hours as `12:30:00`.
///
/// ```
/// assert_eq!(trilith::wcs::longitude("12:30:00"), Some(187.5));
/// assert_eq!(trilith::wcs::longitude("187.5"), Some(187.5));
/// ```
pub fn longitude(text: &str) -> Option<f64> {
    parse_angle(text, 15.0).filter(|value| value.is_finite())
}

/// Reads a latitude in degrees, as a number or as `-45:10:05.5`.
pub fn latitude(text: &str) -> Option<f64> {
    parse_angle(text, 1.0).filter(|value| value.is_finite())
}

/// Reads a position `LON,LAT`: degrees, or hours and degrees as `12:30:00,-45:10:05.5`.
///
/// ```
/// assert_eq!(trilith::wcs::position("12:30:00,-45:30")?, [187.5, -45.5]);
/// # Ok::<(), trilith::Error>(())
/// ```
///
/// # Errors
/// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if the string is not a position on the sky.
pub fn position(text: &str) -> Result<[f64; 2]> {
    let parts: Vec<&str> = text.split(',').collect();
    let found = match parts[..] {
        [lon, lat] => longitude(lon).zip(latitude(lat)),
        _ => None,
    };
    match found {
        Some((lon, lat)) if lat.abs() <= 90.0 => Ok([lon, lat]),
        Some((_, lat)) => {
            Err(Error::invalid_input(format!("cannot read position {text:?}: latitude {lat} (expected -90 to 90)")))
        }
        None => Err(Error::invalid_input(format!("cannot read position {text:?}: expected LON,LAT"))
            .hint("give degrees, as 83.6,-5.4, or hours and degrees, as 05:34:24,-05:24:00")),
    }
}

/// Length of a side of a box.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum BoxLength {
    /// A number of pixels.
    Pixels(f64),
    /// An angle on the sky, in degrees.
    Degrees(f64),
}

impl FromStr for BoxLength {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let text = text.trim();
        let end = text.trim_end_matches(|c: char| c.is_alphabetic() || matches!(c, '"' | '\'' | '°')).len();
        let (number, unit) = text.split_at(end);
        let wrong = || {
            Error::invalid_input(format!("cannot read size {text:?}: expected a length above 0"))
                .hint("give an angle, as 30arcsec, 0.5arcmin or 0.1deg, or a number of pixels, as 201px")
        };
        let number: f64 =
            number.trim().parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0).ok_or_else(wrong)?;
        Ok(match unit {
            "" | "px" | "pix" | "pixel" | "pixels" => Self::Pixels(number),
            "deg" | "degree" | "degrees" | "°" => Self::Degrees(number),
            "arcmin" | "'" => Self::Degrees(number / 60.0),
            "arcsec" | "as" | "\"" => Self::Degrees(number / 3600.0),
            "mas" => Self::Degrees(number / 3.6e6),
            _ => return Err(wrong()),
        })
    }
}

/// Size of a box: its length along x and along y.
///
/// ```
/// use trilith::wcs::{BoxLength, BoxSize};
///
/// let square: BoxSize = "30arcsec".parse()?;
/// assert_eq!(square.x, square.y);
/// let wide: BoxSize = "201px,0.1deg".parse()?;
/// assert_eq!((wide.x, wide.y), (BoxLength::Pixels(201.0), BoxLength::Degrees(0.1)));
/// # Ok::<(), trilith::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct BoxSize {
    /// Length along x, the last axis of an array.
    pub x: BoxLength,
    /// Length along y.
    pub y: BoxLength,
}

impl FromStr for BoxSize {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text.split_once(',') {
            Some((x, y)) => Ok(Self { x: x.parse()?, y: y.parse()? }),
            None => text.parse().map(|side| Self { x: side, y: side }),
        }
    }
}

/// Pixels around a position. It may reach beyond the array, and be outside of it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct PixelBox {
    /// Pixel of the position: a number for each pixel axis, x first.
    pub centre: Vec<f64>,
    /// First pixel along each pixel axis, x first; negative if the box begins before the array.
    pub start: Vec<i64>,
    /// Number of pixels along each pixel axis, x first.
    pub length: Vec<u64>,
}

impl PixelBox {
    /// Returns the box in an array with this number of axes. Axes of a header that the array does not have are one pixel long, and are left out.
    #[must_use]
    pub fn for_axes(mut self, wcs: &Wcs, axes: usize) -> Self {
        if wcs.flat_axes() > 0 && axes + wcs.flat_axes() == wcs.pixel_axes() {
            self.centre.truncate(axes);
            self.start.truncate(axes);
            self.length.truncate(axes);
        }
        self
    }

    /// Returns the pixels of an array that are in the box; `None` if there are none.
    ///
    /// # Errors
    /// Returns the errors of [`Array::slice`].
    pub fn slice(&self, array: &Array) -> Result<Option<Array>> {
        let Some(ranges) = self.clip_to_shape(array.shape()) else { return Ok(None) };
        let indices: Vec<Index> = ranges.iter().map(|range| Index::from(range.start as i64..range.end as i64)).collect();
        array.slice(indices).map(Some)
    }

    /// Returns the part of the box that an array of a shape has: a range for each axis of the array, in the order of the array.
    /// `None` if there is none.
    ///
    /// An array may have more axes than there are pixel axes. The first ones are whole then.
    pub fn clip_to_shape(&self, shape: &[u64]) -> Option<Vec<Range<u64>>> {
        let more = shape.len().checked_sub(self.start.len())?;
        let mut ranges: Vec<Range<u64>> = shape.iter().take(more).map(|length| 0..*length).collect();
        for (axis, length) in shape.iter().enumerate().skip(more) {
            let place = shape.len() - 1 - axis;
            let (start, count) = (*self.start.get(place)?, *self.length.get(place)?);
            let end = start.saturating_add(i64::try_from(count).ok()?).max(0) as u64;
            let range = start.max(0) as u64..end.min(*length);
            if range.start >= range.end {
                return None;
            }
            ranges.push(range);
        }
        Some(ranges)
    }
}

impl FoundWcs {
    /// Returns the pixels of a box of a size around a position: longitude and latitude in degrees, in the frame of the coordinates.
    ///
    /// The lengths follow the pixel axes. An angle is rounded to whole pixels with the scale at the position. The bounding box does
    /// not limit the result. Axes without a position on the sky, as the wavelengths of a cube, are whole. `None` if no pixel has the
    /// position.
    ///
    /// ```
    /// let text = "#ASDF 1.0.0\n%YAML 1.1\n--- {meta: {ctype1: RA---TAN, ctype2: DEC--TAN, crpix1: 6, crpix2: 6, crval1: 10.0, crval2: 20.0, \
    ///     cdelt1: -0.001, cdelt2: 0.001, naxis1: 11, naxis2: 11}}\n...\n";
    /// let file = trilith::OpenOptions::new().open_bytes(text.as_bytes().to_vec())?;
    /// let found = file.wcs("")?.expect("there are coordinates");
    /// let pixels = found.pixel_box([10.0, 20.0], "3px".parse()?)?.expect("the position has a pixel");
    /// assert_eq!((&pixels.start[..], &pixels.length[..]), (&[4, 4][..], &[3, 3][..]));
    /// assert_eq!(pixels.clip_to_shape(&[11, 11]), Some(vec![4..7, 4..7]));
    /// # Ok::<(), trilith::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) if the coordinates have no position on the sky, or one that
    /// depends on other than two pixel axes, and [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if the box is too large.
    pub fn pixel_box(&self, position: [f64; 2], size: BoxSize) -> Result<Option<PixelBox>> {
        let wcs = &self.wcs;
        let [x, y] = sky_axes(wcs)?;
        let options = WcsOptions::default().with_bounding_box(false);
        let centre: Vec<f64> = wcs
            .sky_to_pixel(&[position], options)
            .map_err(from_wcs)?
            .iter()
            .filter_map(|column| column.first().copied())
            .collect();
        if !centre.iter().all(|x| x.is_finite()) {
            return Ok(None);
        }
        let mut found = PixelBox { start: vec![0; centre.len()], length: vec![0; centre.len()], centre };
        for axis in 0..found.centre.len() {
            let side = match axis {
                axis if axis == x => size.x,
                axis if axis == y => size.y,
                _ => {
                    found.length[axis] = axis_len(wcs, axis)?;
                    continue;
                }
            };
            let pixels = match side {
                BoxLength::Pixels(pixels) => pixels,
                BoxLength::Degrees(angle) => {
                    let step = wcs
                        .local_offset(&found.centre, axis)
                        .map_err(from_wcs)?
                        .map_or(f64::NAN, |[east, north]| east.hypot(north));
                    angle / step
                }
            };
            if pixels.is_nan() || pixels >= MAX_BOX_PIXELS {
                return Err(Error::invalid_input(format!(
                    "cannot take a box of {pixels:.0} pixels (at most {MAX_BOX_PIXELS:.0})"
                )));
            }
            let count = pixels.round().max(1.0);
            // Pixels whose middles are inside. If the edges are at middles, the lower one counts, whatever rounding makes of it.
            let start = (found.centre[axis] - count / 2.0 - 1e-6).ceil();
            if start.abs() > 1e15 {
                return Ok(None);
            }
            (found.start[axis], found.length[axis]) = (start as i64, count as u64);
        }
        Ok(Some(found))
    }
}

/// The pixel axes that a position on the sky depends on, the lower one first.
fn sky_axes(wcs: &Wcs) -> Result<[usize; 2]> {
    if wcs.sky().is_none() {
        return Err(Error::unsupported("these coordinates have no positions on the sky"));
    }
    <[usize; 2]>::try_from(wcs.sky_pixel_axes()).map_err(|axes| {
        let reason = format!("positions on the sky that depend on {} pixel axes (expected 2)", axes.len());
        Error::unsupported(format!("cannot take a box around a position: {reason}")).hint("use --slice")
    })
}

/// Number of pixels along an axis.
fn axis_len(wcs: &Wcs, axis: usize) -> Result<u64> {
    let length = wcs.pixel_shape().and_then(|shape| shape.get(axis).copied());
    length.ok_or_else(|| Error::unsupported("the length of a pixel axis is not known").hint("name an array: FILE#/path"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn angles_are_degrees_or_sexagesimal() {
        assert_eq!(parse_angle("-5.25", 15.0), Some(-5.25));
        assert_eq!(parse_angle("12:30:00", 15.0), Some(187.5));
        assert_eq!(parse_angle("-00:30", 1.0), Some(-0.5));
        assert!((parse_angle("-45:10:05.5", 1.0).unwrap() + 45.168_194_444).abs() < 1e-8);
        assert!(
            parse_angle("1:60:00", 1.0).is_none() && parse_angle("1:2:3:4", 1.0).is_none() && parse_angle("x", 1.0).is_none()
        );
        for wrong in ["10", "10,91", "10,20,30", "nan,0", "x,y"] {
            assert!(position(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn sizes_are_angles_or_pixels() {
        let side = |text: &str| text.parse::<BoxSize>().map(|size| size.x);
        assert_eq!(side("30arcsec").unwrap(), BoxLength::Degrees(30.0 / 3600.0));
        assert_eq!(side("0.5arcmin").unwrap(), BoxLength::Degrees(0.5 / 60.0));
        assert_eq!(side("201px").unwrap(), BoxLength::Pixels(201.0));
        assert_eq!(side("201,50").unwrap(), BoxLength::Pixels(201.0));
        for wrong in ["", "px", "-3px", "0", "3ly", "nan", "infdeg", "1,2,3"] {
            assert!(side(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn box_is_clipped_at_edges() {
        let pixels = PixelBox { centre: vec![0.0, 8.0], start: vec![-2, 7], length: vec![5, 3] };
        assert_eq!(pixels.clip_to_shape(&[4, 9, 20]), Some(vec![0..4, 7..9, 0..3]));
        assert_eq!(pixels.clip_to_shape(&[7, 20]), None);
        assert_eq!(pixels.clip_to_shape(&[20]), None);
    }
}
