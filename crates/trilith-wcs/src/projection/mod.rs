//! Projections of the sphere onto a plane (Calabretta and Greisen 2002, and the HEALPix papers).
//!
//! All angles and all coordinates in the plane are in degrees.

mod conic;
mod cube;
mod cylindrical;
mod healpix;
mod zenithal;
mod zpn;

use crate::{Error, Result};

use conic::{Conic, ConicKind};
pub(crate) use zenithal::{gnomonic_plane, gnomonic_vector};
use zpn::Zpn;

/// Degrees in a radian.
pub(crate) const R0: f64 = 180.0 / std::f64::consts::PI;

/// Room for rounding at the edge of a projection.
const EDGE_TOLERANCE: f64 = 1e-12;

/// A projection with its parameters. Build one with [`Projection::new`].
///
/// ```
/// use trilith_wcs::Projection;
///
/// let projection = Projection::new("TAN", &[])?;
/// let (x, y) = projection.to_plane(0.0, 45.0).expect("a point in front of the plane");
/// let (phi, theta) = projection.to_sphere(x, y).expect("every point of the plane is on the sphere");
/// assert!(phi.abs() < 1e-12 && (theta - 45.0).abs() < 1e-12);
/// # Ok::<(), trilith_wcs::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Projection(ProjectionKind, ProjectionSpec);

/// The projection as it was asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
struct ProjectionSpec {
    code: &'static str,
    parameters: [f64; MAX_PARAMETERS],
    count: usize,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum ProjectionKind {
    Azp { mu: f64, gamma: f64 },
    Szp { mu: f64, xp: f64, yp: f64, zp: f64 },
    Tan,
    Stg,
    Sin { xi: f64, eta: f64 },
    Arc,
    Zea,
    Air { slope: f64 },
    Cyp { mu: f64, lambda: f64 },
    Cea { lambda: f64 },
    Car,
    EndlessCar,
    Mer,
    Sfl,
    Par,
    Mol,
    Ait,
    Conic(Conic),
    Bon { theta: f64, apex: f64 },
    Pco,
    Tsc,
    Csc,
    Qsc,
    Hpx { h: f64, k: f64 },
    Xph,
    Zpn(Zpn),
}

/// Codes of all projections, with the number and the defaults of their parameters, in the order of `PVi_1`, `PVi_2`, …
const CODES: &[(&str, &[f64])] = &[
    ("AZP", &[0.0, 0.0]),
    ("SZP", &[0.0, 0.0, 90.0]),
    ("TAN", &[]),
    ("STG", &[]),
    ("SIN", &[0.0, 0.0]),
    ("ARC", &[]),
    ("ZEA", &[]),
    ("AIR", &[90.0]),
    ("CYP", &[1.0, 1.0]),
    ("CEA", &[1.0]),
    ("CAR", &[]),
    ("MER", &[]),
    ("SFL", &[]),
    ("PAR", &[]),
    ("MOL", &[]),
    ("AIT", &[]),
    ("COP", &[f64::NAN, 0.0]),
    ("COE", &[f64::NAN, 0.0]),
    ("COD", &[f64::NAN, 0.0]),
    ("COO", &[f64::NAN, 0.0]),
    ("BON", &[f64::NAN]),
    ("PCO", &[]),
    ("TSC", &[]),
    ("CSC", &[]),
    ("QSC", &[]),
    ("HPX", &[4.0, 3.0]),
    ("XPH", &[]),
    // The first is `PVi_0`.
    ("ZPN", &[0.0; MAX_PARAMETERS]),
];

/// Parameters that a projection has, at most.
const MAX_PARAMETERS: usize = 21;

impl Projection {
    /// Returns the projection of a code of three letters, as in `CTYPE`.
    ///
    /// The parameters are those of `PVi_1`, `PVi_2`, … of the latitude axis, and of ZPN from `PVi_0` on. Those that are missing or NaN have the defaults of
    /// the standard.
    ///
    /// # Errors
    /// Returns [`Error::Unsupported`] for an unknown code, and [`Error::Invalid`] for parameters without a projection.
    pub fn new(code: &str, parameters: &[f64]) -> Result<Self> {
        let Some((code, defaults)) = CODES.iter().find(|(name, _)| *name == code) else {
            return Err(Error::Unsupported(format!("the projection {code} is not supported")));
        };
        let mut p = [0.0; MAX_PARAMETERS];
        for (place, (number, default)) in p.iter_mut().zip(defaults.iter().enumerate()) {
            *place = parameters.get(number).copied().filter(|value| !value.is_nan()).unwrap_or(*default);
            if !place.is_finite() {
                return Err(Error::Invalid(format!("the projection {code} lacks parameter {}", number + 1)));
            }
        }
        let form = Self::form_from_code(code, &p).filter(|form| form.is_finite());
        let given = ProjectionSpec { code, parameters: p, count: defaults.len() };
        form.map(|form| Self(form, given)).ok_or_else(|| {
            Error::Invalid(format!(
                "the projection {code} has parameters without a projection: {:?}",
                p.get(..defaults.len()).unwrap_or(&p)
            ))
        })
    }

    /// Returns the projection without the checks of its edges that astropy's models lack: `CAR` takes any numbers.
    #[must_use]
    pub fn without_edges(self) -> Self {
        match self.0 {
            ProjectionKind::Car => Self(ProjectionKind::EndlessCar, self.1),
            _ => self,
        }
    }

    /// Returns the code of three letters, as in `CTYPE`.
    pub fn code(&self) -> &'static str {
        self.1.code
    }

    /// Returns the parameters in the order of `PVi_1`, `PVi_2`, …, with the defaults of those that were missing.
    pub fn parameters(&self) -> &[f64] {
        self.1.parameters.get(..self.1.count).unwrap_or(&[])
    }

    fn form_from_code(code: &str, p: &[f64; MAX_PARAMETERS]) -> Option<ProjectionKind> {
        let (sin, cos) = (|angle: f64| angle.to_radians().sin(), |angle: f64| angle.to_radians().cos());
        Some(match code {
            "AZP" if p[0] != -1.0 && cos(p[1]).abs() > EDGE_TOLERANCE => ProjectionKind::Azp { mu: p[0], gamma: p[1] },
            "SZP" => {
                let (mu, across) = (p[0], cos(p[2]));
                let zp = mu * sin(p[2]) + 1.0;
                if zp == 0.0 {
                    return None;
                }
                ProjectionKind::Szp { mu, xp: -mu * across * sin(p[1]), yp: mu * across * cos(p[1]), zp }
            }
            "TAN" => ProjectionKind::Tan,
            "STG" => ProjectionKind::Stg,
            "SIN" => ProjectionKind::Sin { xi: p[0], eta: p[1] },
            "ARC" => ProjectionKind::Arc,
            "ZEA" => ProjectionKind::Zea,
            "AIR" if p[0] > -90.0 && p[0] <= 90.0 => ProjectionKind::Air { slope: zenithal::air_slope(p[0]) },
            "CYP" if p[1] != 0.0 && p[0] != -p[1] => ProjectionKind::Cyp { mu: p[0], lambda: p[1] },
            "CEA" if p[0] > 0.0 && p[0] <= 1.0 => ProjectionKind::Cea { lambda: p[0] },
            "CAR" => ProjectionKind::Car,
            "MER" => ProjectionKind::Mer,
            "SFL" => ProjectionKind::Sfl,
            "PAR" => ProjectionKind::Par,
            "MOL" => ProjectionKind::Mol,
            "AIT" => ProjectionKind::Ait,
            "COP" => ProjectionKind::Conic(Conic::new(ConicKind::Perspective, p[0], p[1])?),
            "COE" => ProjectionKind::Conic(Conic::new(ConicKind::EqualArea, p[0], p[1])?),
            "COD" => ProjectionKind::Conic(Conic::new(ConicKind::Equidistant, p[0], p[1])?),
            "COO" => ProjectionKind::Conic(Conic::new(ConicKind::Orthomorphic, p[0], p[1])?),
            // The cone of this one is open to the cylinder of SFL.
            "BON" if p[0] == 0.0 => ProjectionKind::Sfl,
            "BON" if p[0].abs() <= 90.0 => ProjectionKind::Bon { theta: p[0], apex: R0 / p[0].to_radians().tan() + p[0] },
            "PCO" => ProjectionKind::Pco,
            "TSC" => ProjectionKind::Tsc,
            "CSC" => ProjectionKind::Csc,
            "QSC" => ProjectionKind::Qsc,
            "HPX" if p[0] >= 1.0 && p[1] >= 1.0 && p[0].fract() == 0.0 && p[1].fract() == 0.0 => {
                ProjectionKind::Hpx { h: p[0], k: p[1] }
            }
            "XPH" => ProjectionKind::Xph,
            "ZPN" => ProjectionKind::Zpn(Zpn::new(p)?),
            _ => return None,
        })
    }

    /// Native latitude of the reference point; its native longitude is 0.
    pub fn reference(&self) -> f64 {
        match self.0 {
            ProjectionKind::Azp { .. }
            | ProjectionKind::Szp { .. }
            | ProjectionKind::Tan
            | ProjectionKind::Stg
            | ProjectionKind::Sin { .. } => 90.0,
            ProjectionKind::Arc
            | ProjectionKind::Zea
            | ProjectionKind::Air { .. }
            | ProjectionKind::Xph
            | ProjectionKind::Zpn(_) => 90.0,
            ProjectionKind::Conic(conic) => conic.theta_a(),
            _ => 0.0,
        }
    }

    /// Returns `true` for the gnomonic projection, TAN.
    pub(crate) fn is_gnomonic(&self) -> bool {
        self.0 == ProjectionKind::Tan
    }

    /// Returns native longitude and latitude of a point in the plane, or `None` if no point of the sphere is there.
    pub fn to_sphere(&self, x: f64, y: f64) -> Option<(f64, f64)> {
        if !(x.is_finite() && y.is_finite()) {
            return None;
        }
        let found = match self.0 {
            ProjectionKind::EndlessCar => return Some((x, y)),
            ProjectionKind::Azp { mu, gamma } => zenithal::azp_sphere(mu, gamma, x, y),
            ProjectionKind::Szp { xp, yp, zp, .. } => zenithal::szp_sphere(xp, yp, zp, x, y),
            ProjectionKind::Sin { xi, eta } => zenithal::sin_sphere(xi, eta, x, y),
            ProjectionKind::Tan => zenithal::zenithal_sphere(x, y, |r| Some(R0.atan2(r).to_degrees())),
            ProjectionKind::Stg => zenithal::zenithal_sphere(x, y, |r| Some(90.0 - 2.0 * (r / (2.0 * R0)).atan().to_degrees())),
            ProjectionKind::Arc => zenithal::zenithal_sphere(x, y, |r| (r <= 180.0 + EDGE_TOLERANCE).then_some(90.0 - r)),
            ProjectionKind::Zea => zenithal::zenithal_sphere(x, y, |r| Some(90.0 - 2.0 * asin_degrees(r / (2.0 * R0))?)),
            ProjectionKind::Air { slope } => zenithal::zenithal_sphere(x, y, |r| zenithal::air_latitude(slope, r)),
            ProjectionKind::Cyp { mu, lambda } => cylindrical::cyp_sphere(mu, lambda, x, y),
            ProjectionKind::Cea { lambda } => Some((x, asin_degrees(y / R0 * lambda)?)),
            ProjectionKind::Car => Some((x, y)),
            ProjectionKind::Mer => Some((x, 2.0 * (y / R0).exp().atan().to_degrees() - 90.0)),
            ProjectionKind::Sfl => cylindrical::sfl_sphere(x, y),
            ProjectionKind::Par => cylindrical::par_sphere(x, y),
            ProjectionKind::Mol => cylindrical::mol_sphere(x, y),
            ProjectionKind::Ait => cylindrical::ait_sphere(x, y),
            ProjectionKind::Conic(conic) => conic.to_sphere(x, y),
            ProjectionKind::Bon { theta, apex } => conic::bon_sphere(theta, apex, x, y),
            ProjectionKind::Pco => conic::pco_sphere(x, y),
            ProjectionKind::Tsc => cube::cube_sphere(x, y, cube::tsc_face),
            ProjectionKind::Csc => cube::cube_sphere(x, y, cube::csc_face),
            ProjectionKind::Qsc => cube::cube_sphere(x, y, cube::qsc_face),
            ProjectionKind::Hpx { h, k } => healpix::healpix_sphere(h, k, x, y),
            ProjectionKind::Xph => healpix::polar_sphere(x, y),
            ProjectionKind::Zpn(zpn) => zenithal::zenithal_sphere(x, y, |distance| zpn.latitude(distance)),
        };
        let (phi, theta) = found?;
        let is_there = phi.abs() <= 180.0 + 1e-9 && theta.abs() <= 90.0 + 1e-9;
        is_there.then(|| (phi.clamp(-180.0, 180.0), theta.clamp(-90.0, 90.0)))
    }

    /// Returns the point in the plane for native longitude and latitude, or `None` if the projection does not draw it.
    ///
    /// The longitude is not reduced, so that a map whose plane is a cylinder is drawn around it more than once.
    pub fn to_plane(&self, phi: f64, theta: f64) -> Option<(f64, f64)> {
        if self.0 == ProjectionKind::EndlessCar {
            return Some((phi, theta));
        }
        if !phi.is_finite() || theta.is_nan() || theta.abs() > 90.0 + 1e-9 {
            return None;
        }
        let theta = theta.clamp(-90.0, 90.0);
        match self.0 {
            ProjectionKind::Azp { mu, gamma } => zenithal::azp_plane(mu, gamma, phi, theta),
            ProjectionKind::Szp { mu, xp, yp, zp } => zenithal::szp_plane(mu, xp, yp, zp, phi, theta),
            ProjectionKind::Sin { xi, eta } => zenithal::sin_plane(xi, eta, phi, theta),
            ProjectionKind::Tan => zenithal::zenithal_plane(phi, (theta > 0.0).then(|| R0 / theta.to_radians().tan())?),
            ProjectionKind::Stg => {
                let half = (90.0 - theta) / 2.0;
                zenithal::zenithal_plane(phi, (half < 90.0).then(|| 2.0 * R0 * half.to_radians().tan())?)
            }
            ProjectionKind::Arc => zenithal::zenithal_plane(phi, 90.0 - theta),
            ProjectionKind::Zea => zenithal::zenithal_plane(phi, 2.0 * R0 * ((90.0 - theta) / 2.0).to_radians().sin()),
            ProjectionKind::Air { slope } => zenithal::zenithal_plane(phi, zenithal::air_distance(slope, theta)?),
            ProjectionKind::Cyp { mu, lambda } => cylindrical::cyp_plane(mu, lambda, phi, theta),
            ProjectionKind::Cea { lambda } => Some((phi, R0 * theta.to_radians().sin() / lambda)),
            ProjectionKind::Car | ProjectionKind::EndlessCar => Some((phi, theta)),
            ProjectionKind::Mer => (theta.abs() < 90.0).then(|| (phi, R0 * ((90.0 + theta) / 2.0).to_radians().tan().ln())),
            ProjectionKind::Sfl => Some((phi * theta.to_radians().cos(), theta)),
            ProjectionKind::Par => {
                let (third, two) = ((theta / 3.0).to_radians(), (2.0 * theta / 3.0).to_radians());
                Some((phi * (2.0 * two.cos() - 1.0), 180.0 * third.sin()))
            }
            ProjectionKind::Mol => Some(cylindrical::mol_plane(phi, theta)),
            ProjectionKind::Ait => cylindrical::ait_plane(phi, theta),
            ProjectionKind::Conic(conic) => conic.to_plane(phi, theta),
            ProjectionKind::Bon { theta: parallel, apex } => Some(conic::bon_plane(parallel, apex, phi, theta)),
            ProjectionKind::Pco => Some(conic::pco_plane(phi, theta)),
            ProjectionKind::Tsc => cube::cube_plane(phi, theta, cube::tsc_plane),
            ProjectionKind::Csc => cube::cube_plane(phi, theta, cube::csc_plane),
            ProjectionKind::Qsc => cube::cube_plane(phi, theta, cube::qsc_plane),
            ProjectionKind::Hpx { h, k } => Some(healpix::healpix_plane(h, k, phi, theta)),
            ProjectionKind::Xph => Some(healpix::polar_plane(phi, theta)),
            ProjectionKind::Zpn(zpn) => zenithal::zenithal_plane(phi, zpn.distance(theta)?),
        }
    }
}

impl ProjectionKind {
    /// Returns `true` if the parameters give numbers to compute with.
    fn is_finite(&self) -> bool {
        match self {
            Self::Conic(conic) => conic.is_finite(),
            Self::Bon { apex, .. } => apex.is_finite(),
            Self::Air { slope } => slope.is_finite(),
            _ => true,
        }
    }
}

/// Arc of a sine in degrees, or `None` if there is none; with room for rounding.
fn asin_degrees(sine: f64) -> Option<f64> {
    (sine.abs() <= 1.0 + EDGE_TOLERANCE).then(|| sine.clamp(-1.0, 1.0).asin().to_degrees())
}

/// Angle brought to the interval from -180 to 180 by whole turns, for numbers that are not in it.
pub(crate) fn wrap_180(angle: f64) -> f64 {
    if (-180.0..=180.0).contains(&angle) { angle } else { (angle + 180.0).rem_euclid(360.0) - 180.0 }
}

/// Finds where a function is zero between two places at which it has different signs.
///
/// Bisection with secants: each round at least halves what three rounds of bisection would.
fn find_root(mut low: f64, mut high: f64, f: impl Fn(f64) -> f64) -> Option<f64> {
    let (mut at_low, mut at_high) = (f(low), f(high));
    if at_low == 0.0 {
        return Some(low);
    }
    if at_high == 0.0 {
        return Some(high);
    }
    if !(at_low * at_high < 0.0) {
        return None;
    }
    for round in 0..200 {
        let share = if round % 3 == 2 { 0.5 } else { at_low / (at_low - at_high) };
        let middle = low + (high - low) * share;
        if middle == low || middle == high || (high - low).abs() <= f64::EPSILON * middle.abs() {
            return Some(if at_low.abs() < at_high.abs() { low } else { high });
        }
        let value = f(middle);
        if value == 0.0 {
            return Some(middle);
        }
        if value * at_low < 0.0 {
            (high, at_high) = (middle, value);
        } else {
            (low, at_low) = (middle, value);
        }
    }
    Some(if at_low.abs() < at_high.abs() { low } else { high })
}
