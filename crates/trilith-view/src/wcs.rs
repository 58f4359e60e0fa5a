//! World coordinates: where on the sky, or at which wavelength or time, an element of an array is.
//!
//! [`trilith::wcs`] finds and computes them, for GWCS and for the keywords of FITS headers; here they are written for people.

use trilith::wcs::WcsOptions;
use trilith::{File, Result};

/// An axis of the coordinates.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorldAxis {
    /// The name in the header: `RA`, `DEC`, `GLON`, `WAVE`.
    pub name: String,
    /// Degrees for positions on the sky.
    pub unit: String,
    /// The reference frame of a position on the sky, if it is given: `ICRS`, `FK5`.
    pub frame: String,
}

/// A coordinate of an element.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct WorldCoordinate {
    /// The axis.
    pub axis: WorldAxis,
    /// Value in the unit of the axis; `None` outside of the sky that a projection draws.
    pub value: Option<f64>,
}

impl WorldCoordinate {
    /// The value as people write it: right ascension in hours, other angles of the sky in degrees, minutes and seconds.
    pub fn text(&self) -> String {
        let Some(value) = self.value else { return "–".to_owned() };
        match self.axis.name.as_str() {
            "RA" => format_sexagesimal(value.rem_euclid(360.0) / 15.0, ["h", "m", "s"], 3),
            "DEC" => format!("{}{}", if value < 0.0 { '−' } else { '+' }, format_sexagesimal(value.abs(), ["°", "′", "″"], 2)),
            _ => format!("{} {}", (value * 1e9).round() / 1e9, self.axis.unit).trim_end().to_owned(),
        }
    }
}

/// A number in units, sixtieths and sixtieths of these, which carry if the last is rounded up.
fn format_sexagesimal(value: f64, [unit, minute, second]: [&str; 3], digits: usize) -> String {
    let scale = 10f64.powi(i32::try_from(digits).unwrap_or(0));
    let all = (value * 3600.0 * scale).round();
    let (whole, seconds) = ((all / (3600.0 * scale)).floor(), all.rem_euclid(60.0 * scale) / scale);
    let minutes = ((all / (60.0 * scale)).floor()).rem_euclid(60.0);
    format!("{whole:02}{unit}{minutes:02}{minute}{seconds:0width$.digits$}{second}", width = digits + 3)
}

/// The directions of north and east at an element: unit vectors, the last axis first.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct SkyDirections {
    /// Direction of growing latitude.
    pub north: [f64; 2],
    /// Direction of growing longitude.
    pub east: [f64; 2],
}

/// The world coordinates of an array.
#[derive(Debug, Clone)]
pub struct ArrayWcs(trilith::wcs::Wcs);

impl ArrayWcs {
    /// The coordinates of the array at a path of a file, if there are any that Trilith computes.
    ///
    /// ```
    /// let file = trilith::OpenOptions::new().open_bytes(
    ///     b"#ASDF 1.0.0\n%YAML 1.1\n--- {meta: {ctype1: WAVE, cunit1: um, crpix1: 1, crval1: 2.0, cdelt1: 0.5}, data: 0}\n...\n".to_vec(),
    /// )?;
    /// let wcs = trilith_view::ArrayWcs::open(&file, "/data").ok_or(trilith::Error::invalid_input("no coordinates"))?;
    /// assert_eq!(wcs.world_at(&[4]).first().map(|found| found.text()).as_deref(), Some("4 um"));
    /// # Ok::<(), trilith::Error>(())
    /// ```
    pub fn open(file: &File, path: &str) -> Option<Self> {
        file.wcs(path).ok().flatten().map(|found| Self(found.wcs))
    }

    /// Returns true if two of the axes are a position on the sky.
    pub fn is_celestial(&self) -> bool {
        self.0.sky().is_some()
    }

    /// Returns the pixel of a position on the sky, longitude and latitude in degrees: x first. `None` if no pixel has it.
    ///
    /// # Errors
    /// Returns the error of the inverse transform.
    pub fn pixel_at(&self, position: [f64; 2]) -> Result<Option<[f64; 2]>> {
        let found = self.0.sky_to_pixel(&[position], WcsOptions::default()).map_err(trilith::wcs::from_wcs)?;
        let of = |axis: usize| found.get(axis).and_then(|column| column.first()).copied().filter(|x| x.is_finite());
        Ok(of(0).zip(of(1)).map(|(x, y)| [x, y]))
    }

    /// Returns the directions of north and east at an element, in elements along the last axis and along the one before it; `None` if the
    /// array has no position on the sky there.
    pub fn directions_at(&self, index: &[u64]) -> Option<SkyDirections> {
        let pixel = self.pixel(index);
        let [ex, nx] = self.0.local_offset(&pixel, 0).ok()??;
        let [ey, ny] = self.0.local_offset(&pixel, 1).ok()??;
        let turn = ex * ny - ey * nx;
        let unit = |[x, y]: [f64; 2]| {
            let length = x.hypot(y);
            (length.is_finite() && length > 0.0).then(|| [x / length, y / length])
        };
        Some(SkyDirections { north: unit([-ey / turn, ex / turn])?, east: unit([ny / turn, -nx / turn])? })
    }

    /// The pixel of an element, x first: the last axes of the array; one that has fewer is at the first pixel of the others.
    fn pixel(&self, index: &[u64]) -> Vec<f64> {
        index.iter().rev().map(|at| *at as f64).chain(std::iter::repeat(0.0)).take(self.0.pixel_axes()).collect()
    }

    /// The coordinates of an element: `index` counts from 0, in the order of the array's axes.
    pub fn world_at(&self, index: &[u64]) -> Vec<WorldCoordinate> {
        let pixels = self.pixel(index);
        let columns: Vec<&[f64]> = pixels.iter().map(std::slice::from_ref).collect();
        let world = self.0.pixel_to_world(&columns, WcsOptions::default()).unwrap_or_default();
        let reference = self.0.frames().last().map_or("", |frame| frame.reference_frame.as_str());
        let coordinate = |(number, column): (usize, &Vec<f64>)| {
            let axis = self.0.world_axis(number);
            let is_sky = self.0.sky().is_some_and(|(longitude, latitude)| number == longitude || number == latitude);
            // The names of GWCS say less than the physical types.
            let name = match axis.physical_type.as_str() {
                "pos.eq.ra" => "RA".to_owned(),
                "pos.eq.dec" => "DEC".to_owned(),
                _ if axis.name.is_empty() => format!("axis {}", number + 1),
                _ => axis.name,
            };
            let frame = if is_sky { reference.to_owned() } else { String::new() };
            let value = column.first().copied().filter(|value| value.is_finite());
            WorldCoordinate { axis: WorldAxis { name, unit: axis.unit, frame }, value }
        };
        world.iter().enumerate().map(coordinate).collect()
    }
}
