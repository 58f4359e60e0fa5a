//! A coordinate system: frames, the transforms between them, a bounding box.

use std::sync::OnceLock;

use crate::transform::SplitInverse;
use crate::{BoundingBox, Error, Result, Transform, WcsLimits};

/// The moment that a time axis counts from, in the words of astropy's `Time`.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct TimeReference {
    /// The moment, for example `2011-01-01T00:00:00` or `51544.5`; empty if the values of the axis are moments themselves.
    pub value: String,
    /// Format of the moment, for example `mjd`; empty if the moment shows it.
    pub format: String,
    /// Time scale, for example `tai`; empty for that which is usual for the format.
    pub scale: String,
    /// Place of the clock in geocentric coordinates, in meters.
    pub location: Option<[f64; 3]>,
}

impl TimeReference {
    /// Returns a moment without a place.
    pub fn new(value: impl Into<String>, format: impl Into<String>, scale: impl Into<String>) -> Self {
        Self { value: value.into(), format: format.into(), scale: scale.into(), location: None }
    }
}

/// An axis of a frame.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct FrameAxis {
    /// Name, as `lon` or `RA`; empty if the frame has none.
    pub name: String,
    /// Unit of its values, as `deg` or `pixel`; empty if the frame has none.
    pub unit: String,
    /// Physical type in the words of the virtual observatory, as `pos.eq.ra`; empty if the frame has none.
    pub physical_type: String,
    /// The moment that the axis counts from, if it is one of time.
    pub time: Option<TimeReference>,
}

impl FrameAxis {
    /// Returns an axis.
    pub fn new(name: impl Into<String>, unit: impl Into<String>, physical: impl Into<String>) -> Self {
        Self { name: name.into(), unit: unit.into(), physical_type: physical.into(), time: None }
    }
}

/// A coordinate frame.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Frame {
    /// Name, as `detector` or `world`.
    pub name: String,
    /// Axes in the order of the transforms; none if only the name is known.
    pub axes: Vec<FrameAxis>,
    /// Reference frame of positions on the sky, as `ICRS`; empty if there is none.
    pub reference_frame: String,
    /// Equinox of that frame as a year: Julian, or Besselian for `FK4`. `None` if it is the usual one, J2000 or B1950.
    pub equinox: Option<f64>,
    /// The axes that are longitude and latitude on the sky.
    pub sky: Option<(usize, usize)>,
}

impl Frame {
    /// Returns a frame of which only the name is known.
    pub fn unknown_frame(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }
}

/// A frame, and the transform from it to the next one; the last has none.
#[derive(Debug, Clone, PartialEq)]
pub struct PipelineStep {
    /// The frame.
    pub frame: Frame,
    /// The transform to the frame of the next step.
    pub transform: Option<Transform>,
}

/// Way to compute pixels from world coordinates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum InverseMethod {
    /// Iterates until the forward transform gives the world coordinates, to the last digits of a double.
    #[default]
    Iterative,
    /// Evaluates the inverse that the file gives, or the analytic one, as Python's gwcs does.
    Declared,
}

/// Choices for evaluating.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct WcsOptions {
    /// `true` if points outside of the bounding box have no values.
    pub bounding_box: bool,
    /// Way to compute pixels.
    pub inverse: InverseMethod,
}

impl Default for WcsOptions {
    fn default() -> Self {
        Self { bounding_box: true, inverse: InverseMethod::Iterative }
    }
}

impl WcsOptions {
    /// Returns the choices with or without the bounding box.
    #[must_use]
    pub fn with_bounding_box(mut self, yes: bool) -> Self {
        self.bounding_box = yes;
        self
    }

    /// Returns the choices with a way to compute pixels.
    #[must_use]
    pub fn with_inverse(mut self, inverse: InverseMethod) -> Self {
        self.inverse = inverse;
        self
    }
}

/// The inverses of a transform, each made when it is first needed: which of many files hold a position needs none of most.
#[derive(Debug, Clone, Default)]
struct Inverses {
    exact: OnceLock<Result<Transform>>,
    approximate: OnceLock<Option<Transform>>,
    split: OnceLock<Option<Box<SplitInverse>>>,
}

impl PartialEq for Inverses {
    /// They follow from the transform.
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// The coordinate system of an array. Pixels are counted from 0 at the middle of the first; x, the last axis of the array, is first.
#[derive(Debug, Clone, PartialEq)]
pub struct Wcs {
    name: String,
    frames: Vec<Frame>,
    /// The transforms between the frames; none if there is only one, which is `forward`.
    transforms: Vec<Transform>,
    pub(crate) forward: Transform,
    inverses: Inverses,
    bounds: Option<BoundingBox>,
    shape: Option<Vec<u64>>,
    /// Longitude, latitude, and degrees in the unit of each.
    pub(crate) sky: Option<(usize, usize, [f64; 2])>,
    pub(crate) iterations: usize,
    /// A sentence for each axis of the description that has no world coordinate.
    pub(crate) left_out: Vec<String>,
    /// Pixel axes at the end that the array of a header does not have.
    pub(crate) flat_axes: usize,
}

/// Degrees in a unit of angle.
pub(crate) fn degrees_per_unit(unit: &str) -> Option<f64> {
    Some(match unit {
        "" | "deg" | "degree" | "degrees" => 1.0,
        "arcmin" => 1.0 / 60.0,
        "arcsec" => 1.0 / 3600.0,
        "mas" => 1.0 / 3.6e6,
        "uas" => 1.0 / 3.6e9,
        "rad" => 180.0 / std::f64::consts::PI,
        "hourangle" | "h" | "15deg" | "15 deg" => 15.0,
        _ => return None,
    })
}

/// A point that is NaN on one axis becomes NaN on all.
fn spread_nan(columns: &mut [Vec<f64>]) {
    let count = columns.iter().map(Vec::len).min().unwrap_or(0);
    for at in 0..count {
        if columns.iter().any(|column| column.get(at).is_some_and(|x| x.is_nan())) {
            columns.iter_mut().filter_map(|column| column.get_mut(at)).for_each(|x| *x = f64::NAN);
        }
    }
}

impl Wcs {
    /// Returns a coordinate system of frames and the transforms between them.
    ///
    /// `shape` is the number of pixels along each axis, x first.
    ///
    /// # Errors
    /// Returns [`Error::Invalid`] if a transform is missing, or does not fit its successor, and [`Error::Limit`] if they are too
    /// large.
    pub fn new(
        name: impl Into<String>,
        steps: Vec<PipelineStep>,
        bounds: Option<BoundingBox>,
        shape: Option<Vec<u64>>,
        limits: &WcsLimits,
    ) -> Result<Self> {
        let count = steps.len();
        let (mut frames, mut transforms) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for (number, PipelineStep { frame, transform }) in steps.into_iter().enumerate() {
            match transform {
                Some(transform) if number + 1 < count => transforms.push(transform),
                None if number + 1 < count => {
                    return Err(Error::Invalid(format!("no transform from frame {:?} to the next", frame.name)));
                }
                _ => {}
            }
            frames.push(frame);
        }
        if transforms.is_empty() {
            return Err(Error::Invalid("coordinates of fewer than two frames".to_owned()));
        }
        let parts = if transforms.len() == 1 { std::mem::take(&mut transforms) } else { transforms.clone() };
        let forward = Transform::chain(parts)?;
        forward.check(limits)?;
        let sky = frames.last().and_then(|frame| {
            let (longitude, latitude) = frame.sky?;
            let unit = |axis: usize| frame.axes.get(axis).and_then(|axis| degrees_per_unit(&axis.unit));
            let (one, two) = (unit(longitude)?, unit(latitude)?);
            (longitude.max(latitude) < forward.outputs()).then_some((longitude, latitude, [one, two]))
        });
        let (name, iterations, left_out) = (name.into(), limits.iterations, Vec::new());
        Ok(Self {
            name,
            frames,
            transforms,
            forward,
            inverses: Inverses::default(),
            bounds,
            shape,
            sky,
            iterations,
            left_out,
            flat_axes: 0,
        })
    }

    /// Returns an inverse from which an iteration can start.
    pub(crate) fn approximate_inverse(&self) -> Option<&Transform> {
        self.inverses.approximate.get_or_init(|| self.forward.approximate_inverse().ok()).as_ref()
    }

    /// Returns the inverse in two steps. A distortion of three axes is left to the general iteration.
    pub(crate) fn split_inverse(&self) -> Option<&SplitInverse> {
        let is_fast = |split: &SplitInverse| split.head.is_none() || self.forward.inputs() == 2;
        self.inverses.split.get_or_init(|| self.forward.split_inverse().filter(is_fast).map(Box::new)).as_deref()
    }

    /// The transforms between the frames.
    fn transforms(&self) -> &[Transform] {
        if self.transforms.is_empty() { std::slice::from_ref(&self.forward) } else { &self.transforms }
    }

    /// Name; empty if there is none.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Frames, from the pixels to the world.
    pub fn frames(&self) -> &[Frame] {
        &self.frames
    }

    /// Returns a sentence for each axis of a FITS header that is left out, because its values are not in proportion to pixels.
    pub fn left_out(&self) -> &[String] {
        &self.left_out
    }

    /// Number of pixel axes at the end that the array of a FITS header does not have. They are one pixel long.
    pub fn flat_axes(&self) -> usize {
        self.flat_axes
    }

    /// Number of pixel axes.
    pub fn pixel_axes(&self) -> usize {
        self.forward.inputs()
    }

    /// Number of world axes.
    pub fn world_axes(&self) -> usize {
        self.forward.outputs()
    }

    /// Axis of the world; one without names if the frame does not describe it.
    pub fn world_axis(&self, axis: usize) -> FrameAxis {
        self.frames.last().and_then(|frame| frame.axes.get(axis)).cloned().unwrap_or_default()
    }

    /// Returns the world axes that are longitude and latitude on the sky.
    pub fn sky(&self) -> Option<(usize, usize)> {
        self.sky.map(|(longitude, latitude, _)| (longitude, latitude))
    }

    /// Factors that bring longitude and latitude into degrees.
    pub fn sky_units(&self) -> [f64; 2] {
        self.sky.map_or([1.0; 2], |(_, _, units)| units)
    }

    /// Bounding box of the pixels.
    pub fn bounding_box(&self) -> Option<&BoundingBox> {
        self.bounds.as_ref()
    }

    /// Number of pixels along each axis, x first.
    pub fn pixel_shape(&self) -> Option<&[u64]> {
        self.shape.as_deref()
    }

    /// Takes the number of pixels along each axis, x first, if the coordinates themselves do not give it.
    pub fn set_pixel_shape(&mut self, shape: Vec<u64>) {
        if self.shape.is_none() && shape.len() == self.pixel_axes() {
            self.shape = Some(shape);
        }
    }

    /// Takes the number of pixels along each axis, x first, in place of the one that the coordinates state.
    pub fn replace_pixel_shape(&mut self, shape: Vec<u64>) {
        if shape.len() == self.pixel_axes() {
            self.shape = Some(shape);
        }
    }

    /// The transform from pixels to world coordinates.
    pub fn forward(&self) -> &Transform {
        &self.forward
    }

    /// Returns the transform from one frame to another, both by name.
    ///
    /// # Errors
    /// Returns [`Error::Invalid`] if there is no such frame, and [`Error::Unsupported`] if an inverse is needed that there is not.
    pub fn between(&self, from: &str, to: &str) -> Result<Transform> {
        let place = |name: &str| {
            self.frames.iter().position(|frame| frame.name == name).ok_or_else(|| {
                let names: Vec<&str> = self.frames.iter().map(|frame| frame.name.as_str()).collect();
                Error::Invalid(format!("no frame {name:?} (there are {})", names.join(", ")))
            })
        };
        let (from, to) = (place(from)?, place(to)?);
        let part = |from: usize, to: usize| Transform::chain(self.transforms().get(from..to).unwrap_or(&[]).to_vec());
        match from.cmp(&to) {
            std::cmp::Ordering::Less => part(from, to),
            std::cmp::Ordering::Greater => part(to, from)?.inverse(),
            std::cmp::Ordering::Equal => {
                let axes = self.transforms().get(from).map_or(self.world_axes(), Transform::inputs);
                Ok(Transform::identity(axes))
            }
        }
    }

    /// Returns the same coordinates with a frame in the middle as the last one.
    ///
    /// # Errors
    /// Returns [`Error::Invalid`] if there is no such frame after the first.
    pub fn ending_at(&self, frame: &str) -> Result<Self> {
        let last = self.frames.iter().skip(1).position(|known| known.name == frame);
        let Some(last) = last.map(|at| at + 1) else {
            let names: Vec<&str> = self.frames.iter().skip(1).map(|known| known.name.as_str()).collect();
            return Err(Error::Invalid(format!("no frame {frame:?} to compute (there are {})", names.join(", "))));
        };
        let steps = self.frames.iter().take(last + 1).enumerate().map(|(at, frame)| PipelineStep {
            frame: frame.clone(),
            transform: self.transforms().get(at).filter(|_| at < last).cloned(),
        });
        let limits = WcsLimits { iterations: self.iterations, ..WcsLimits::default() };
        Self::new(self.name.clone(), steps.collect(), self.bounds.clone(), self.shape.clone(), &limits)
    }

    /// Returns world coordinates of pixels: a slice for each pixel axis, a vector for each world axis.
    ///
    /// A point without coordinates is NaN in all of them, or in longitude and latitude if only the position is missing.
    ///
    /// # Errors
    /// Returns [`Error::Invalid`] if there are not as many slices as pixel axes, or if they differ in length.
    pub fn pixel_to_world(&self, pixels: &[&[f64]], options: WcsOptions) -> Result<Vec<Vec<f64>>> {
        let mut world = self.forward.evaluate(pixels)?;
        if let Some(bounds) = self.bounds.as_ref().filter(|_| options.bounding_box) {
            bounds.find_outside(pixels).into_iter().for_each(|at| set_nan(&mut world, at, |_| true));
        }
        if let Some((longitude, latitude, _)) = self.sky
            && let (Some(longitudes), Some(latitudes)) = (world.get(longitude), world.get(latitude))
        {
            let both = longitudes.iter().zip(latitudes).enumerate();
            let lost: Vec<usize> = both.filter(|(_, (a, b))| a.is_nan() || b.is_nan()).map(|(at, _)| at).collect();
            lost.into_iter().for_each(|at| set_nan(&mut world, at, |axis| axis == longitude || axis == latitude));
        }
        Ok(world)
    }

    /// Returns pixels of world coordinates: a slice for each world axis, a vector for each pixel axis.
    ///
    /// A point without a pixel is NaN in all of them: outside of the bounding box, or if no pixel has these coordinates.
    ///
    /// # Errors
    /// Returns [`Error::Invalid`] if there are not as many slices as world axes, or if they differ in length, and
    /// [`Error::Unsupported`] if there is no inverse of the kind that [`WcsOptions`] name.
    pub fn world_to_pixel(&self, world: &[&[f64]], options: WcsOptions) -> Result<Vec<Vec<f64>>> {
        if world.len() != self.world_axes() || world.iter().any(|column| column.len() != world.first().map_or(0, |c| c.len())) {
            return Err(Error::Invalid(format!("{} columns of coordinates for {} axes", world.len(), self.world_axes())));
        }
        let (mut pixels, room) = match options.inverse {
            InverseMethod::Declared => {
                let backward = self.inverses.exact.get_or_init(|| self.forward.inverse()).as_ref().map_err(Clone::clone)?;
                (backward.evaluate(world)?, vec![0.0; world.first().map_or(0, |column| column.len())])
            }
            InverseMethod::Iterative => self.solve_world_to_pixel(world)?,
        };
        let Some(bounds) = self.bounds.as_ref().filter(|_| options.bounding_box) else {
            spread_nan(&mut pixels);
            return Ok(pixels);
        };
        let mut point = vec![0.0; pixels.len()];
        let mut rooms = point.clone();
        for (at, room) in room.iter().enumerate() {
            point.iter_mut().zip(&pixels).for_each(|(x, column)| *x = column.get(at).copied().unwrap_or(f64::NAN));
            rooms.fill(*room);
            if point.iter().any(|x| x.is_nan()) || !bounds.clamp_to_edge(&mut point, &rooms) {
                point.fill(f64::NAN);
            }
            pixels.iter_mut().zip(&point).for_each(|(column, x)| {
                if let Some(place) = column.get_mut(at) {
                    *place = *x;
                }
            });
        }
        Ok(pixels)
    }

    /// Interval of each pixel axis: of the bounding box, else from the first pixel to the last. `None` if neither is known.
    pub fn pixel_range(&self) -> Option<Vec<(f64, f64)>> {
        let boxed = self.bounds.as_ref().map(BoundingBox::intervals).unwrap_or_default();
        let whole = |axis: usize| self.shape.as_ref()?.get(axis).map(|length| (-0.5, *length as f64 - 0.5));
        (0..self.pixel_axes()).map(|axis| boxed.get(axis).copied().flatten().or_else(|| whole(axis))).collect()
    }

    /// Returns how far east and north, in degrees, the next pixel along an axis is, at a pixel.
    ///
    /// # Errors
    /// Returns [`Error::Invalid`] if the pixel has not as many numbers as there are pixel axes.
    pub fn local_offset(&self, pixel: &[f64], axis: usize) -> Result<Option<[f64; 2]>> {
        let Some((longitude, latitude, units)) = self.sky else { return Ok(None) };
        let at = |by: f64| -> Result<[f64; 2]> {
            let moved: Vec<f64> = pixel.iter().enumerate().map(|(place, x)| if place == axis { x + by } else { *x }).collect();
            let world = self.forward.evaluate_point(&moved)?;
            let value = |axis: usize| world.get(axis).copied().unwrap_or(f64::NAN);
            Ok([value(longitude) * units[0], value(latitude) * units[1]])
        };
        Ok(Some(sky_offset(at(-0.5)?, at(0.5)?)))
    }

    /// Returns the derivatives of the world coordinates at a pixel, in their units: a row for each world axis.
    ///
    /// # Errors
    /// Returns [`Error::Invalid`] if the pixel has not as many numbers as there are pixel axes.
    pub fn jacobian(&self, pixel: &[f64]) -> Result<Vec<Vec<f64>>> {
        let step = 0.5;
        let mut columns = Vec::with_capacity(pixel.len());
        for axis in 0..pixel.len() {
            let moved =
                |by: f64| pixel.iter().enumerate().map(|(at, x)| if at == axis { x + by } else { *x }).collect::<Vec<f64>>();
            let (before, after) = (self.forward.evaluate_point(&moved(-step))?, self.forward.evaluate_point(&moved(step))?);
            let mut column: Vec<f64> = before.iter().zip(&after).map(|(a, b)| (b - a) / (2.0 * step)).collect();
            if let Some((longitude, _, [unit, _])) = self.sky
                && let Some(turn) = column.get_mut(longitude)
            {
                let whole = 360.0 / unit;
                *turn = (*turn + whole / 2.0).rem_euclid(whole) - whole / 2.0;
            }
            columns.push(column);
        }
        Ok((0..self.world_axes())
            .map(|row| columns.iter().map(|column| column.get(row).copied().unwrap_or(f64::NAN)).collect())
            .collect())
    }
}

fn set_nan(columns: &mut [Vec<f64>], at: usize, is_meant: impl Fn(usize) -> bool) {
    for (axis, column) in columns.iter_mut().enumerate().filter(|(axis, _)| is_meant(*axis)) {
        let _ = axis;
        if let Some(place) = column.get_mut(at) {
            *place = f64::NAN;
        }
    }
}

/// Returns the distance of a place from `from` to the east and north, for places near each other; all in degrees.
/// No digits cancel.
///
/// Places on the other half of the sky have none: the one opposite would be at distance zero.
pub(crate) fn sky_offset(from: [f64; 2], to: [f64; 2]) -> [f64; 2] {
    let turn = (to[0] - from[0]).rem_euclid(360.0);
    let turn = if turn > 180.0 { turn - 360.0 } else { turn };
    if turn.abs() + (to[1] - from[1]).abs() > 90.0 {
        let [(sin_from, cos_from), (sin_to, cos_to)] = [from[1], to[1]].map(|latitude| latitude.to_radians().sin_cos());
        if sin_from * sin_to + cos_from * cos_to * turn.to_radians().cos() <= 0.0 {
            return [f64::NAN; 2];
        }
    }
    let turn = turn.to_radians();
    let (sin_from, cos_to) = (from[1].to_radians().sin(), to[1].to_radians().cos());
    let half = (turn / 2.0).sin();
    let east = cos_to * turn.sin();
    let north = (to[1] - from[1]).to_radians().sin() + 2.0 * cos_to * sin_from * half * half;
    [east.to_degrees(), north.to_degrees()]
}
