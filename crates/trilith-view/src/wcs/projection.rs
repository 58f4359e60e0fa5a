//! From the plane of a picture to the sky: projections and the rotation after them (Calabretta and Greisen 2002).
//!
//! All angles are in degrees.

use std::f64::consts::{PI, SQRT_2};

/// A way to draw a sphere on a plane.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Projection {
    /// Gnomonic.
    Tan,
    /// Orthographic.
    Sin,
    /// Zenithal equidistant.
    Arc,
    /// Stereographic.
    Stg,
    /// Zenithal equal-area.
    Zea,
    /// Plate carrée.
    Car,
    /// Cylindrical equal-area, with its λ.
    Cea(f64),
    /// Mercator.
    Mer,
    /// Sanson-Flamsteed.
    Sfl,
    /// Parabolic.
    Par,
    /// Mollweide.
    Mol,
    /// Hammer-Aitoff.
    Ait,
}

impl Projection {
    /// The projection of a code, as in the last three letters of `CTYPE`. `lambda` is the parameter of `CEA`.
    pub fn of(code: &str, lambda: f64) -> Option<Self> {
        Some(match code {
            "TAN" => Self::Tan,
            "SIN" => Self::Sin,
            "ARC" => Self::Arc,
            "STG" => Self::Stg,
            "ZEA" => Self::Zea,
            "CAR" => Self::Car,
            "CEA" => Self::Cea(lambda),
            "MER" => Self::Mer,
            "SFL" => Self::Sfl,
            "PAR" => Self::Par,
            "MOL" => Self::Mol,
            "AIT" => Self::Ait,
            _ => return None,
        })
    }

    /// The native latitude of the reference point: that of the pole for zenithal projections, else that of the equator.
    fn reference(self) -> f64 {
        match self {
            Self::Tan | Self::Sin | Self::Arc | Self::Stg | Self::Zea => 90.0,
            _ => 0.0,
        }
    }

    /// Native longitude and latitude of a point of the plane; None outside of what the projection draws.
    fn native(self, x: f64, y: f64) -> Option<(f64, f64)> {
        let (u, v) = (x.to_radians(), y.to_radians());
        let distance = u.hypot(v);
        let around = if distance == 0.0 { 0.0 } else { u.atan2(-v).to_degrees() };
        let zenithal = |theta: f64| (around, theta.to_degrees());
        Some(match self {
            Self::Tan => zenithal(1f64.atan2(distance)),
            Self::Sin => zenithal(acos(distance)?),
            Self::Arc if distance <= PI => zenithal(PI / 2.0 - distance),
            Self::Arc => return None,
            Self::Stg => zenithal(PI / 2.0 - 2.0 * (distance / 2.0).atan()),
            Self::Zea => zenithal(PI / 2.0 - 2.0 * asin(distance / 2.0)?),
            Self::Car => (x, y),
            Self::Cea(lambda) => (x, asin(v * lambda)?.to_degrees()),
            Self::Mer => (x, 2.0 * v.exp().atan().to_degrees() - 90.0),
            Self::Sfl if y.abs() < 90.0 => (x / v.cos(), y),
            Self::Sfl => return None,
            Self::Par => {
                let theta = 3.0 * asin(y / 180.0)?.to_degrees();
                (x / (1.0 - 4.0 * (y / 180.0).powi(2)), theta)
            }
            Self::Mol => {
                let gamma = asin(v / SQRT_2)?;
                let theta = asin((2.0 * gamma + (2.0 * gamma).sin()) / PI)?;
                (PI * x / (2.0 * SQRT_2 * gamma.cos()), theta.to_degrees())
            }
            Self::Ait => {
                let square = 1.0 - (u / 4.0).powi(2) - (v / 2.0).powi(2);
                if square < 0.5 {
                    return None;
                }
                let z = square.sqrt();
                (2.0 * (z * u / 2.0).atan2(2.0 * square - 1.0).to_degrees(), asin(v * z)?.to_degrees())
            }
        })
        .filter(|(longitude, latitude)| {
            self.reference() > 0.0 || longitude.abs() <= 180.0 + 1e-9 && latitude.abs() <= 90.0 + 1e-9
        })
    }
}

/// The arc whose sine this is; None where there is none, with some room for rounding.
fn asin(sine: f64) -> Option<f64> {
    (sine.abs() <= 1.0 + 1e-12).then(|| sine.clamp(-1.0, 1.0).asin())
}

/// As [`asin`], of a cosine.
fn acos(cosine: f64) -> Option<f64> {
    (cosine.abs() <= 1.0 + 1e-12).then(|| cosine.clamp(-1.0, 1.0).acos())
}

/// A projection that was put on the sky.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Celestial {
    projection: Projection,
    /// Longitude and latitude of the native pole.
    pole: (f64, f64),
    /// The native longitude of the celestial pole.
    longitude: f64,
}

impl Celestial {
    /// A projection whose reference point is at `(longitude, latitude)`. `lonpole` and `latpole` are the values of
    /// `LONPOLE` and `LATPOLE`, where they are given. None where these contradict each other.
    pub fn new(projection: Projection, at: (f64, f64), lonpole: Option<f64>, latpole: Option<f64>) -> Option<Self> {
        let theta = projection.reference();
        let longitude = lonpole.unwrap_or(if at.1 >= theta { 0.0 } else { 180.0 });
        let pole = if theta == 90.0 { at } else { pole(at, longitude, latpole.unwrap_or(90.0))? };
        Some(Self { projection, pole, longitude })
    }

    /// Longitude (0 to 360) and latitude of a point of the plane.
    pub fn at(&self, x: f64, y: f64) -> Option<(f64, f64)> {
        let (phi, theta) = self.projection.native(x, y)?;
        let (sin_turn, cos_turn) = (phi - self.longitude).to_radians().sin_cos();
        let (sin_theta, cos_theta) = theta.to_radians().sin_cos();
        let (sin_pole, cos_pole) = self.pole.1.to_radians().sin_cos();
        let across = -cos_theta * sin_turn;
        let along = sin_theta * cos_pole - cos_theta * sin_pole * cos_turn;
        let longitude = self.pole.0 + across.atan2(along).to_degrees();
        let latitude = asin(sin_theta * sin_pole + cos_theta * cos_pole * cos_turn)?;
        Some((longitude.rem_euclid(360.0), latitude.to_degrees()))
    }
}

/// Where the native pole of a projection is whose reference point is on its equator (paper II, section 2.4).
fn pole(at: (f64, f64), lonpole: f64, latpole: f64) -> Option<(f64, f64)> {
    let (sin_turn, cos_turn) = lonpole.to_radians().sin_cos();
    let (sin_at, cos_at) = at.1.to_radians().sin_cos();
    // atan2(0, cos): the meridian of the pole is this side of it or the other.
    let middle = if cos_turn.abs() < 1e-12 { f64::NAN } else { 0f64.atan2(cos_turn).to_degrees() };
    let latitude = if middle.is_nan() {
        // Both are on the equator: any latitude fits, and LATPOLE says which.
        if sin_at.abs() > 1e-12 { return None } else { latpole }
    } else {
        let spread = acos(sin_at / cos_turn.abs())?.to_degrees();
        let candidates = [middle + spread, middle - spread].map(|latitude| (latitude + 180.0).rem_euclid(360.0) - 180.0);
        let nearest = candidates.into_iter().filter(|latitude| latitude.abs() <= 90.0 + 1e-9);
        nearest.min_by(|a, b| (a - latpole).abs().total_cmp(&(b - latpole).abs()))?.clamp(-90.0, 90.0)
    };
    let (sin_pole, cos_pole) = latitude.to_radians().sin_cos();
    let longitude = if cos_at.abs() < 1e-12 {
        at.0
    } else if latitude >= 90.0 - 1e-10 {
        at.0 + lonpole - 180.0
    } else if latitude <= -90.0 + 1e-10 {
        at.0 - lonpole
    } else {
        at.0 - (sin_turn / cos_at).atan2(-sin_pole * sin_at / (cos_pole * cos_at)).to_degrees()
    };
    Some((longitude, latitude))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_point_is_where_it_is_said_to_be() {
        for code in ["TAN", "SIN", "ARC", "STG", "ZEA", "CAR", "CEA", "MER", "SFL", "PAR", "MOL", "AIT"] {
            let projection = Projection::of(code, 1.0).unwrap();
            for at in [(0.0, 0.0), (10.0, 20.0), (359.0, -80.0), (123.0, 0.0), (200.0, 45.0)] {
                let sky = Celestial::new(projection, at, None, None).unwrap();
                let (longitude, latitude) = sky.at(0.0, 0.0).unwrap();
                let off = (longitude - at.0 + 180.0).rem_euclid(360.0) - 180.0;
                assert!(off.abs() < 1e-9 && (latitude - at.1).abs() < 1e-9, "{code} {at:?}: {longitude} {latitude}");
            }
        }
    }

    #[test]
    fn what_is_not_drawn_has_no_place() {
        let at = |code: &str, x, y| Celestial::new(Projection::of(code, 1.0).unwrap(), (0.0, 0.0), None, None).unwrap().at(x, y);
        assert_eq!(at("SIN", 60.0, 60.0), None);
        assert_eq!(at("AIT", 170.0, 80.0), None);
        assert_eq!(at("CAR", 181.0, 0.0), None);
        assert!(Projection::of("HPX", 1.0).is_none());
    }
}
