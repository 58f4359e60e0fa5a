//! Projections onto a cone: paper II, sections 5.4 and 5.5.

use super::{EDGE_TOLERANCE, R0, asin_degrees, wrap_180};

/// A projection onto a cone: its kind decides how far a latitude is from the apex.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Conic {
    kind: ConicKind,
    /// The latitude in the middle, and half the distance of the two standard parallels.
    theta_a: f64,
    eta: f64,
    /// Turns of the cone for a turn of the sphere.
    constant: f64,
    /// Distance of the apex above the reference point.
    apex: f64,
    /// Two coefficients, whose meaning depends on the kind.
    a: f64,
    b: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConicKind {
    Perspective,
    EqualArea,
    Equidistant,
    Orthomorphic,
}

impl Conic {
    pub(super) fn new(kind: ConicKind, middle: f64, half: f64) -> Option<Self> {
        let mut conic = Self { kind, theta_a: middle, eta: half, constant: 0.0, apex: 0.0, a: 0.0, b: 0.0 };
        let (sin, cos) = middle.to_radians().sin_cos();
        let eta = half.to_radians();
        match kind {
            ConicKind::Perspective => {
                conic.constant = sin;
                conic.a = R0 * eta.cos();
                conic.b = cos / sin;
                conic.apex = conic.a * conic.b;
            }
            ConicKind::EqualArea => {
                let (one, two) = ((middle - half).to_radians().sin(), (middle + half).to_radians().sin());
                let gamma = one + two;
                conic.constant = gamma / 2.0;
                (conic.a, conic.b) = (gamma, 1.0 + one * two);
                conic.apex = conic.distance_from_apex(middle)?;
            }
            ConicKind::Equidistant => {
                conic.constant = if eta == 0.0 { sin } else { sin * eta.sin() / eta };
                conic.apex = R0 * cos / sin * if eta == 0.0 { 1.0 } else { eta / eta.tan() };
            }
            ConicKind::Orthomorphic => {
                let tan = |theta: f64| ((90.0 - theta) / 2.0).to_radians().tan();
                let (one, two) = (middle - half, middle + half);
                let cosines = (one.to_radians().cos(), two.to_radians().cos());
                conic.constant = if half == 0.0 { sin } else { (cosines.1 / cosines.0).ln() / (tan(two) / tan(one)).ln() };
                conic.a = R0 * cosines.0 / (conic.constant * tan(one).powf(conic.constant));
                conic.apex = conic.distance_from_apex(middle)?;
            }
        }
        (conic.constant != 0.0).then_some(conic)
    }

    pub(super) fn is_finite(&self) -> bool {
        [self.constant, self.apex, self.a, self.b].iter().all(|number| number.is_finite())
    }

    pub(super) fn theta_a(&self) -> f64 {
        self.theta_a
    }

    /// Returns the distance of a latitude from the apex: negative for a cone that opens to the north.
    fn distance_from_apex(&self, theta: f64) -> Option<f64> {
        match self.kind {
            ConicKind::Perspective => {
                let off = (theta - self.theta_a).to_radians();
                let distance = self.a * (self.b - off.tan());
                (off.cos().abs() > EDGE_TOLERANCE && distance * self.constant >= 0.0).then_some(distance)
            }
            ConicKind::EqualArea => {
                let square = self.b - self.a * theta.to_radians().sin();
                (square > -EDGE_TOLERANCE).then(|| 2.0 * R0 / self.a * square.max(0.0).sqrt())
            }
            ConicKind::Equidistant => Some(self.apex + self.theta_a - theta),
            ConicKind::Orthomorphic => {
                let tan = ((90.0 - theta) / 2.0).to_radians().tan();
                match theta {
                    south if south <= -90.0 => (self.constant < 0.0).then_some(0.0),
                    north if north >= 90.0 => (self.constant > 0.0).then_some(0.0),
                    _ => Some(self.a * tan.powf(self.constant)),
                }
            }
        }
    }

    fn latitude_at_distance(&self, distance: f64) -> Option<f64> {
        match self.kind {
            ConicKind::Perspective => Some(self.theta_a + (self.b - distance / self.a).atan().to_degrees()),
            ConicKind::EqualArea => asin_degrees(self.b / self.a - self.a * (distance / (2.0 * R0)).powi(2)),
            ConicKind::Equidistant => Some(self.theta_a + self.apex - distance),
            ConicKind::Orthomorphic if distance == 0.0 => Some(90f64.copysign(self.constant)),
            ConicKind::Orthomorphic => Some(90.0 - 2.0 * (distance / self.a).powf(1.0 / self.constant).atan().to_degrees()),
        }
    }

    pub(super) fn to_plane(self, phi: f64, theta: f64) -> Option<(f64, f64)> {
        let distance = self.distance_from_apex(theta)?;
        let (sin, cos) = (self.constant * phi).to_radians().sin_cos();
        Some((distance * sin, self.apex - distance * cos))
    }

    pub(super) fn to_sphere(self, x: f64, y: f64) -> Option<(f64, f64)> {
        let (distance, angle) = apex_polar_coordinates(self.theta_a, self.apex, x, y);
        Some((angle / self.constant, self.latitude_at_distance(distance)?))
    }
}

/// Distance from the apex with the sign of a latitude, and the angle there.
fn apex_polar_coordinates(sign: f64, apex: f64, x: f64, y: f64) -> (f64, f64) {
    let down = apex - y;
    let distance = x.hypot(down).copysign(sign);
    (distance, if distance == 0.0 { 0.0 } else { (x / distance).atan2(down / distance).to_degrees() })
}

pub(super) fn bon_plane(_parallel: f64, apex: f64, phi: f64, theta: f64) -> (f64, f64) {
    let distance = apex - theta;
    if distance == 0.0 {
        return (0.0, apex);
    }
    let (sin, cos) = (phi * theta.to_radians().cos() / distance).sin_cos();
    (distance * sin, apex - distance * cos)
}

pub(super) fn bon_sphere(parallel: f64, apex: f64, x: f64, y: f64) -> Option<(f64, f64)> {
    let (distance, angle) = apex_polar_coordinates(parallel, apex, x, y);
    let theta = apex - distance;
    let cos = theta.to_radians().cos();
    if theta.abs() > 90.0 + 1e-9 {
        return None;
    }
    Some((if cos.abs() < EDGE_TOLERANCE { 0.0 } else { angle.to_radians() * distance / cos }, theta))
}

pub(super) fn pco_plane(phi: f64, theta: f64) -> (f64, f64) {
    let (sin, cos) = theta.to_radians().sin_cos();
    if sin.abs() < 1e-10 {
        // sin(φ sin θ) / tan θ with its limit at the equator.
        return (phi * cos, theta + phi.to_radians() * phi * sin / 2.0);
    }
    let turn = phi.to_radians() * sin;
    let half = (turn / 2.0).sin();
    (R0 * cos / sin * turn.sin(), theta + R0 * cos / sin * 2.0 * half * half)
}

pub(super) fn pco_sphere(x: f64, y: f64) -> Option<(f64, f64)> {
    let y = if y.abs() < 1e-13 { 0.0 } else { y };
    if y == 0.0 {
        return Some((x, 0.0));
    }
    // x² + (y - θ)² - 2 (y - θ) r₀ cot θ, times sin θ: between the equator and y it changes its sign once.
    let up = y.abs();
    let fault = |theta: f64| {
        let (sin, cos) = theta.to_radians().sin_cos();
        sin * (x * x + (up - theta).powi(2)) - 2.0 * R0 * (up - theta) * cos
    };
    let theta = super::find_root(0.0, up.min(90.0), fault)?;
    let (sin, cos) = theta.to_radians().sin_cos();
    let turn = (x * sin).atan2(R0 * cos - (up - theta) * sin);
    let phi = if sin == 0.0 { x } else { (turn / sin).to_degrees() };
    (phi == wrap_180(phi) || phi.abs() < 180.0 + 1e-9).then(|| (phi, theta.copysign(y)))
}
