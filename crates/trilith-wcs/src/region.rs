//! Regions of the sky: the footprint of an image, and whether coordinates hold a position.

use crate::wcs::{Frame, PipelineStep, Wcs, sky_offset};
use crate::{BoundingBox, Error, Result, Transform, WcsLimits, WcsOptions};

/// Points along each edge of the footprint, for distances from it.
const POINTS_PER_EDGE: usize = 32;
/// The part of the extent of an axis at which its middle is.
const MIDDLE: f64 = 0.5;

/// An image of the sky: its pixel axes, the lower one first, and the interval of each.
#[derive(Debug, Clone, Copy)]
struct SkyImage {
    axes: [usize; 2],
    x: (f64, f64),
    y: (f64, f64),
}

impl Wcs {
    /// Returns the pixel axes that positions on the sky depend on, the lowest first.
    pub fn sky_pixel_axes(&self) -> Vec<usize> {
        let Some((longitude, latitude, _)) = self.sky else { return Vec::new() };
        let dependencies = self.forward.separability();
        let depends = |world: usize, axis: usize| dependencies.get(world).is_some_and(|row| row.get(axis) == Some(&true));
        (0..self.pixel_axes()).filter(|axis| depends(longitude, *axis) || depends(latitude, *axis)).collect()
    }

    /// Returns the two pixel axes that an image of the sky has, the lower one first. If positions depend on more, the image is the
    /// one that covers most of the sky.
    pub(crate) fn image_axes(&self) -> Option<[usize; 2]> {
        if self.pixel_axes() == 2 {
            return self.sky.map(|_| [0, 1]);
        }
        let axes = self.sky_pixel_axes();
        match axes[..] {
            [x, y] => return Some([x, y]),
            [] => return None,
            [only] => return (0..self.pixel_axes()).find(|axis| *axis != only).map(|other| [only.min(other), only.max(other)]),
            _ => {}
        }
        let (extent, middle) = (self.pixel_range()?, self.middle_pixel()?);
        let reach = |axis: usize| {
            let length = extent.get(axis).map_or(0.0, |(low, high)| high - low);
            self.local_offset(&middle, axis).ok().flatten().map(|step| step.map(|x| x * length))
        };
        let mut best = (0.0, [*axes.first()?, *axes.get(1)?]);
        for (at, x) in axes.iter().enumerate() {
            for y in axes.iter().skip(at + 1) {
                let area = reach(*x).zip(reach(*y)).map_or(0.0, |([e, n], [p, q])| (e * q - n * p).abs());
                if area > best.0 {
                    best = (area, [*x, *y]);
                }
            }
        }
        Some(best.1)
    }

    /// Returns longitudes and latitudes, in degrees, of places in two pixel axes. The others are at this part of their extent.
    fn sky_at_level(&self, axes: [usize; 2], level: f64, places: &[(f64, f64)]) -> Option<Vec<[f64; 2]>> {
        let (longitude, latitude, units) = self.sky?;
        let columns: Vec<Vec<f64>> = self
            .pixel_range()?
            .iter()
            .enumerate()
            .map(|(axis, (low, high))| match axes.iter().position(|known| *known == axis) {
                Some(0) => places.iter().map(|(x, _)| *x).collect(),
                Some(_) => places.iter().map(|(_, y)| *y).collect(),
                None => vec![low + (high - low) * level; places.len()],
            })
            .collect();
        let slices: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
        let world = self.forward.evaluate(&slices).ok()?;
        let column = |axis: usize| world.get(axis).into_iter().flatten();
        Some(column(longitude).zip(column(latitude)).map(|(a, b)| [a * units[0], b * units[1]]).collect())
    }

    /// Returns the pixel in the middle of the extent.
    fn middle_pixel(&self) -> Option<Vec<f64>> {
        self.pixel_range().map(|extent| extent.iter().map(|(low, high)| (low + high) / 2.0).collect())
    }

    /// Returns the image of the sky in two pixel axes.
    fn sky_image(&self) -> Option<SkyImage> {
        let (axes, extent) = (self.image_axes()?, self.pixel_range()?);
        Some(SkyImage { axes, x: *extent.get(axes[0])?, y: *extent.get(axes[1])? })
    }

    /// Returns longitude and latitude, in degrees, of the corners of the bounding box (else of the array): lower left, upper left,
    /// upper right, lower right. `None` if the world has no sky, or if the pixels have no extent.
    ///
    /// The corners are those of the two pixel axes that positions depend on. All other axes are in the middle.
    pub fn footprint(&self) -> Option<[[f64; 2]; 4]> {
        let SkyImage { axes, x: (left, right), y: (low, high) } = self.sky_image()?;
        let corners = self.sky_at_level(axes, MIDDLE, &[(left, low), (left, high), (right, high), (right, low)])?;
        corners.try_into().ok()
    }

    /// Returns longitude and latitude, in degrees, of the middle.
    pub fn centre(&self) -> Option<[f64; 2]> {
        let SkyImage { axes, x: (left, right), y: (low, high) } = self.sky_image()?;
        self.sky_at_level(axes, MIDDLE, &[((left + right) / 2.0, (low + high) / 2.0)])?.first().copied()
    }

    /// Returns the length of a pixel in the middle, in seconds of arc: the root of its area.
    pub fn scale(&self) -> Option<f64> {
        let SkyImage { axes, x: (left, right), y: (low, high) } = self.sky_image()?;
        let (x, y) = ((left + right) / 2.0, (low + high) / 2.0);
        let found = self.sky_at_level(axes, MIDDLE, &[(x - 0.5, y), (x + 0.5, y), (x, y - 0.5), (x, y + 0.5)])?;
        let [a, b, c, d] = found.get(..4)?.try_into().ok()?;
        let ([e, n], [p, q]) = (sky_offset(a, b), sky_offset(c, d));
        Some((e * q - n * p).abs().sqrt() * 3600.0)
    }

    /// Returns the pixels of positions: longitude and latitude in degrees, a vector for each pixel axis. Coordinates that are not
    /// positions, as wavelengths, are those of the middle.
    ///
    /// Longitudes that differ by whole turns are one place: the transform is given the one that is nearest to the longitude in the
    /// middle.
    ///
    /// # Errors
    /// Returns [`Error::Unsupported`] if the world has no sky, and as [`Wcs::world_to_pixel`].
    pub fn sky_to_pixel(&self, positions: &[[f64; 2]], options: WcsOptions) -> Result<Vec<Vec<f64>>> {
        let Some((longitude, latitude, units)) = self.sky else {
            return Err(Error::Unsupported("these coordinates have no positions on the sky".to_owned()));
        };
        let middle = self.middle_pixel();
        let known_middle =
            || middle.clone().ok_or_else(|| Error::Unsupported("the length of a pixel axis is not known".to_owned()));
        let world_middle = middle.as_ref().map(|middle| self.forward.evaluate_point(middle)).transpose()?;
        let mut world = vec![vec![0.0; positions.len()]; self.world_axes()];
        if world.len() > 2 {
            known_middle()?;
            world.iter_mut().zip(world_middle.iter().flatten()).for_each(|(column, value)| column.fill(*value));
        }
        let usual = world_middle.as_ref().and_then(|world| world.get(longitude)).map(|value| value * units[0]);
        let nearest_turn = |value: f64| match usual.filter(|usual| usual.is_finite() && (value - usual).abs() > 180.0) {
            Some(usual) => value - ((value - usual) / 360.0).round() * 360.0,
            None => value,
        };
        for (axis, part) in [(longitude, 0), (latitude, 1)] {
            if let Some(column) = world.get_mut(axis) {
                column.iter_mut().zip(positions).for_each(|(place, position)| {
                    *place = if part == 0 { nearest_turn(position[0]) } else { position[part] } / units[part];
                });
            }
        }
        let columns: Vec<&[f64]> = world.iter().map(Vec::as_slice).collect();
        let axes = if self.pixel_axes() > 2 { <[usize; 2]>::try_from(self.sky_pixel_axes()).ok() } else { None };
        let Some(axes) = axes else { return self.world_to_pixel(&columns, options) };
        // With fewer world axes no world coordinate describes a pixel axis, as one of a type that is left out.
        if self.world_axes() >= self.pixel_axes() {
            match self.world_to_pixel(&columns, options) {
                Err(Error::Unsupported(_)) => {}
                found => return found,
            }
        }
        // The positions alone have an inverse. All other axes are in the middle.
        let middle = known_middle()?;
        let image = self.positions_alone([longitude, latitude], axes, &middle)?;
        let columns = [longitude, latitude].map(|axis| columns.get(axis).copied().unwrap_or_default());
        let found = image.world_to_pixel(&columns, options)?;
        let mut pixels: Vec<Vec<f64>> = middle.iter().map(|at| vec![*at; positions.len()]).collect();
        for (axis, column) in axes.into_iter().zip(found) {
            if let Some(place) = pixels.get_mut(axis) {
                *place = column;
            }
        }
        Ok(pixels)
    }

    /// Returns the positions alone, of the image in two pixel axes, where the others are at a pixel.
    fn positions_alone(&self, [longitude, latitude]: [usize; 2], axes: [usize; 2], pixel: &[f64]) -> Result<Self> {
        let fixed = pixel.iter().copied().enumerate().filter(|(axis, _)| !axes.contains(axis)).collect();
        let transform = Transform::chain(vec![
            Transform::fix_inputs(self.forward.clone(), fixed)?,
            Transform::remap(vec![longitude, latitude], self.world_axes())?,
        ])?;
        let mut frame = self.frames().last().cloned().unwrap_or_default();
        frame.axes = [longitude, latitude].map(|axis| self.world_axis(axis)).to_vec();
        frame.sky = Some((0, 1));
        let steps = vec![
            PipelineStep { frame: Frame::unknown_frame("pixel"), transform: Some(transform) },
            PipelineStep { frame, transform: None },
        ];
        let bounds = self.bounding_box().map(|bounds| {
            let intervals = bounds.intervals();
            BoundingBox::new(axes.iter().map(|axis| intervals.get(*axis).copied().flatten()).collect())
        });
        let shape = self.pixel_shape().map(|shape| axes.iter().filter_map(|axis| shape.get(*axis).copied()).collect());
        Self::new(self.name(), steps, bounds, shape, &WcsLimits { iterations: self.iterations, ..WcsLimits::default() })
    }

    /// Returns for positions, in degrees, whether a pixel has them: inside of the bounding box, else of the array.
    ///
    /// # Errors
    /// Returns [`Error::Unsupported`] if the world has no sky, if neither a bounding box nor a shape is known, or if a position is near
    /// and there is no inverse.
    pub fn contains(&self, positions: &[[f64; 2]]) -> Result<Vec<bool>> {
        let extent = self.pixel_range();
        let Some(extent) = extent.filter(|_| self.sky.is_some()) else {
            let reason = if self.sky.is_none() { "no positions on the sky" } else { "neither a bounding box nor a shape" };
            return Err(Error::Unsupported(format!("these coordinates have {reason}")));
        };
        let cone = self.bounding_cone();
        let is_far =
            |position: &[f64; 2]| cone.is_some_and(|(middle, most)| dot_product(middle, to_unit_vector(*position)) < most);
        let near: Vec<usize> = (0..positions.len()).filter(|at| positions.get(*at).is_some_and(|place| !is_far(place))).collect();
        let asked: Vec<[f64; 2]> = near.iter().filter_map(|at| positions.get(*at).copied()).collect();
        let mut found = vec![false; positions.len()];
        if near.is_empty() {
            return Ok(found);
        }
        let pixels = self.sky_to_pixel(&asked, WcsOptions::default())?;
        for (n, at) in near.into_iter().enumerate() {
            let is_inside =
                pixels.iter().zip(&extent).all(|(column, (low, high))| column.get(n).is_some_and(|x| *x >= *low && *x <= *high));
            if let Some(place) = found.get_mut(at) {
                *place = is_inside;
            }
        }
        Ok(found)
    }

    /// Returns `true` if a pixel is within an angle, in degrees, of a position.
    ///
    /// # Errors
    /// Returns the errors of [`Wcs::contains`].
    pub fn touches(&self, position: [f64; 2], radius: f64) -> Result<bool> {
        if self.contains(&[position])?.contains(&true) {
            return Ok(true);
        }
        if !(radius > 0.0) {
            return Ok(false);
        }
        let place = to_unit_vector(position);
        let to_edge = |edge: &Vec<[f64; 3]>| {
            let next = edge.iter().cycle().skip(1);
            edge.iter().zip(next).map(|(a, b)| to_segment(place, *a, *b)).fold(f64::INFINITY, f64::min)
        };
        let closest = self.sky_outlines(POINTS_PER_EDGE).iter().map(to_edge).fold(f64::INFINITY, f64::min);
        Ok(closest <= radius.to_radians())
    }

    /// Directions along the edge of the extent, one outline after another; those without a position are left out. If positions
    /// depend on more than two pixel axes, each two of them have outlines at the start, in the middle and at the end of the others.
    fn sky_outlines(&self, along: usize) -> Vec<Vec<[f64; 3]>> {
        let (Some(extent), axes) = (self.pixel_range(), self.sky_pixel_axes()) else { return Vec::new() };
        let (pairs, levels) = match (axes.len(), self.image_axes()) {
            (0..=2, Some(pair)) => (vec![pair], &[MIDDLE][..]),
            (0..=2, None) => return Vec::new(),
            _ => {
                let pairs = axes.iter().enumerate().flat_map(|(at, x)| axes.iter().skip(at + 1).map(|y| [*x, *y]));
                (pairs.collect(), &[0.0, MIDDLE, 1.0][..])
            }
        };
        let mut outlines = Vec::new();
        for [x, y] in pairs {
            let (Some(across), Some(up)) = (extent.get(x), extent.get(y)) else { continue };
            let places = outline_places(*across, *up, along);
            outlines.extend(levels.iter().filter_map(|level| self.sky_at_level([x, y], *level, &places)));
        }
        let is_known = |place: &[f64; 2]| place.iter().all(|x| x.is_finite());
        outlines.into_iter().map(|outline| outline.into_iter().filter(is_known).map(to_unit_vector).collect()).collect()
    }

    /// A direction, and the cosine of an angle around it: nothing beyond is inside. `None` if the extent is large on the sky, or if
    /// positions depend on more than two pixel axes.
    fn bounding_cone(&self) -> Option<([f64; 3], f64)> {
        if self.pixel_axes() > 2 && self.sky_pixel_axes().len() > 2 {
            return None;
        }
        let SkyImage { axes, x: (left, right), y: (low, high) } = self.sky_image()?;
        let mut places = outline_places((left, right), (low, high), 2);
        places.push(((left + right) / 2.0, (low + high) / 2.0));
        let found = self.sky_at_level(axes, MIDDLE, &places)?;
        let (centre, edge) = found.split_last().filter(|_| found.iter().flatten().all(|x| x.is_finite()))?;
        let middle = to_unit_vector(*centre);
        let least = edge.iter().map(|place| dot_product(middle, to_unit_vector(*place))).fold(1.0, f64::min);
        // The angle is enlarged by half, because the edge is not straight.
        let angle = 1.5 * least.clamp(-1.0, 1.0).acos() + 1e-9;
        (angle < 1.0).then(|| (middle, angle.cos()))
    }
}

/// Places along the edge of a rectangle, from corner to corner: as many for each side.
fn outline_places((left, right): (f64, f64), (low, high): (f64, f64), along: usize) -> Vec<(f64, f64)> {
    let corners = [(left, low), (left, high), (right, high), (right, low)];
    let mut places = Vec::with_capacity(4 * along);
    for (a, b) in corners.iter().zip(corners.iter().cycle().skip(1)) {
        places
            .extend((0..along).map(|n| n as f64 / along as f64).map(|part| (a.0 + (b.0 - a.0) * part, a.1 + (b.1 - a.1) * part)));
    }
    places
}

fn to_unit_vector([longitude, latitude]: [f64; 2]) -> [f64; 3] {
    let ((sin_lon, cos_lon), (sin, cos)) = (longitude.to_radians().sin_cos(), latitude.to_radians().sin_cos());
    [cos * cos_lon, cos * sin_lon, sin]
}

fn dot_product(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// The angle between a direction and the nearest point of a short segment, in radians.
fn to_segment(place: [f64; 3], a: [f64; 3], b: [f64; 3]) -> f64 {
    let minus = |a: [f64; 3], b: [f64; 3]| [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
    let (along, from) = (minus(b, a), minus(place, a));
    let length = dot_product(along, along);
    let part = if length > 0.0 { (dot_product(along, from) / length).clamp(0.0, 1.0) } else { 0.0 };
    let nearest = minus(from, along.map(|x| x * part));
    2.0 * (dot_product(nearest, nearest).sqrt() / 2.0).min(1.0).asin()
}
