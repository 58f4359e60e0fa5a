//! Regions of the sky: whether coordinates hold a position.

use crate::wcs::Wcs;
use crate::{Error, Result, WcsOptions};

/// Points along each edge of the footprint, for distances from it.
const POINTS_PER_EDGE: usize = 32;

impl Wcs {
    /// Returns the pixels of positions: longitude and latitude in degrees, a vector for each pixel axis. Coordinates that are not
    /// positions, as wavelengths, are those of the middle.
    ///
    /// # Errors
    /// Returns [`Error::Unsupported`] if the world has no sky, and as [`Wcs::world_to_pixel`].
    pub fn sky_to_pixel(&self, positions: &[[f64; 2]], options: WcsOptions) -> Result<Vec<Vec<f64>>> {
        let Some((longitude, latitude, unit)) = self.sky else {
            return Err(Error::Unsupported("these coordinates have no positions on the sky".to_owned()));
        };
        let mut world = vec![vec![0.0; positions.len()]; self.world_axes()];
        if world.len() > 2 {
            let middle: Option<Vec<f64>> =
                self.pixel_range().map(|extent| extent.iter().map(|(low, high)| (low + high) / 2.0).collect());
            let middle = middle.ok_or_else(|| Error::Unsupported("the length of a pixel axis is not known".to_owned()))?;
            for (column, value) in world.iter_mut().zip(self.forward.evaluate_point(&middle)?) {
                column.fill(value);
            }
        }
        for (axis, part) in [(longitude, 0), (latitude, 1)] {
            if let Some(column) = world.get_mut(axis) {
                column.iter_mut().zip(positions).for_each(|(place, position)| *place = position[part] / unit);
            }
        }
        let columns: Vec<&[f64]> = world.iter().map(Vec::as_slice).collect();
        self.world_to_pixel(&columns, options)
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
        let edge: Vec<[f64; 3]> = self.sample_sky_outline(POINTS_PER_EDGE).into_iter().map(to_unit_vector).collect();
        let next = edge.iter().cycle().skip(1);
        let closest = edge.iter().zip(next).map(|(a, b)| to_segment(place, *a, *b)).fold(f64::INFINITY, f64::min);
        Ok(closest <= radius.to_radians())
    }

    /// Places along the edge of the extent, in degrees; those without a position are left out.
    fn sample_sky_outline(&self, along: usize) -> Vec<[f64; 2]> {
        let Some(&[x, y, ..]) = self.pixel_range().as_deref() else { return Vec::new() };
        let found = self.checked_sky(&outline_places(x, y, along)).unwrap_or_default();
        found.into_iter().filter(|place| place.iter().all(|x| x.is_finite())).collect()
    }

    /// A direction, and the cosine of an angle around it: nothing beyond is inside. `None` if the extent is large on the sky.
    fn bounding_cone(&self) -> Option<([f64; 3], f64)> {
        let [(left, right), (low, high)] = self.pixel_range()?.get(..2)?.try_into().ok()?;
        let mut places = outline_places((left, right), (low, high), 2);
        places.push(((left + right) / 2.0, (low + high) / 2.0));
        let found = self.checked_sky(&places)?;
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
