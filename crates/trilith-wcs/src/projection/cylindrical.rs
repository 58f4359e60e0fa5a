//! Projections onto a cylinder and their kin: paper II, sections 5.2 and 5.3.

use std::f64::consts::{PI, SQRT_2};

use super::{EDGE_TOLERANCE, R0, asin_degrees};

pub(super) fn cyp_plane(mu: f64, lambda: f64, phi: f64, theta: f64) -> Option<(f64, f64)> {
    let (sin, cos) = theta.to_radians().sin_cos();
    let depth = mu + cos;
    (depth != 0.0).then(|| (lambda * phi, R0 * (mu + lambda) * sin / depth))
}

pub(super) fn cyp_sphere(mu: f64, lambda: f64, x: f64, y: f64) -> Option<(f64, f64)> {
    let eta = y / (R0 * (mu + lambda));
    Some((x / lambda, eta.atan().to_degrees() + asin_degrees(eta * mu / (eta * eta + 1.0).sqrt())?))
}

/// A longitude from the length of its parallel; at a pole all of them are one point.
fn longitude_from_arc(x: f64, length: f64) -> Option<f64> {
    if length.abs() > EDGE_TOLERANCE { Some(x / length) } else { (x.abs() < 1e-9).then_some(0.0) }
}

pub(super) fn sfl_sphere(x: f64, y: f64) -> Option<(f64, f64)> {
    Some((longitude_from_arc(x, y.to_radians().cos())?, y))
}

pub(super) fn par_sphere(x: f64, y: f64) -> Option<(f64, f64)> {
    let sine = y / 180.0;
    Some((longitude_from_arc(x, 1.0 - 4.0 * sine * sine)?, 3.0 * asin_degrees(sine)?))
}

pub(super) fn mol_plane(phi: f64, theta: f64) -> (f64, f64) {
    let wanted = PI * theta.abs().to_radians().sin();
    let double = match theta.abs() {
        polar if polar >= 90.0 => Some(PI),
        _ => super::find_root(0.0, PI, |double| double + double.sin() - wanted),
    };
    let (sin, cos) = (double.unwrap_or(PI) / 2.0).sin_cos();
    (2.0 * SQRT_2 / PI * phi * cos, (SQRT_2 * R0 * sin).copysign(theta))
}

pub(super) fn mol_sphere(x: f64, y: f64) -> Option<(f64, f64)> {
    let sine = y / (SQRT_2 * R0);
    let gamma = asin_degrees(sine)?.to_radians();
    let phi = longitude_from_arc(x, 2.0 * SQRT_2 / PI * gamma.cos())?;
    Some((phi, asin_degrees((2.0 * gamma + (2.0 * gamma).sin()) / PI)?))
}

pub(super) fn ait_plane(phi: f64, theta: f64) -> Option<(f64, f64)> {
    let ((sin, cos), (sin_half, cos_half)) = (theta.to_radians().sin_cos(), (phi / 2.0).to_radians().sin_cos());
    let depth = 1.0 + cos * cos_half;
    let scale = R0 * (2.0 / depth).sqrt();
    (depth > 0.0).then_some((2.0 * scale * cos * sin_half, scale * sin))
}

pub(super) fn ait_sphere(x: f64, y: f64) -> Option<(f64, f64)> {
    let (x, y) = (x / R0, y / R0);
    let square = 1.0 - (x / 4.0).powi(2) - (y / 2.0).powi(2);
    if square < 0.5 - EDGE_TOLERANCE {
        return None;
    }
    let z = square.max(0.5).sqrt();
    let (across, depth) = (z * x / 2.0, 2.0 * z * z - 1.0);
    let phi = if across == 0.0 && depth == 0.0 { 0.0 } else { 2.0 * across.atan2(depth).to_degrees() };
    Some((phi, asin_degrees(y * z)?))
}
