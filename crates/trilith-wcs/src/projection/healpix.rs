//! HEALPix, and its polar form (Calabretta and Roukema 2007; Calabretta and Lowe 2013).

use super::{EDGE_TOLERANCE, wrap_180};

/// The middle of the facet that a longitude or an x is in.
fn facet_center(h: f64, x: f64, is_odd: bool) -> f64 {
    let omega = if is_odd { 1.0 } else { 0.0 };
    -180.0 + (2.0 * ((x + 180.0) * h / 360.0 + (1.0 - omega) / 2.0).floor() + omega) * 180.0 / h
}

/// √(k (1 - |sin θ|)), without cancelling near the pole.
fn sigma(k: f64, theta: f64) -> f64 {
    (2.0 * k).sqrt() * ((90.0 - theta.abs()) / 2.0).to_radians().sin()
}

fn latitude_from_sigma(k: f64, sigma: f64) -> f64 {
    90.0 - 2.0 * (sigma / (2.0 * k).sqrt()).clamp(-1.0, 1.0).asin().to_degrees()
}

pub(super) fn healpix_plane(h: f64, k: f64, phi: f64, theta: f64) -> (f64, f64) {
    let sin = theta.to_radians().sin();
    if sin.abs() <= (k - 1.0) / k {
        return (phi, 90.0 * k / h * sin);
    }
    let sigma = sigma(k, theta);
    let middle = facet_center(h, phi, k % 2.0 == 1.0 || theta > 0.0);
    (middle + (phi - middle) * sigma, (180.0 / h * ((k + 1.0) / 2.0 - sigma)).copysign(theta))
}

pub(super) fn healpix_sphere(h: f64, k: f64, x: f64, y: f64) -> Option<(f64, f64)> {
    if y.abs() <= 90.0 * (k - 1.0) / h {
        return Some((x, super::asin_degrees(y * h / (90.0 * k))?));
    }
    let sigma = (k + 1.0) / 2.0 - y.abs() * h / 180.0;
    if sigma < -EDGE_TOLERANCE {
        return None;
    }
    let middle = facet_center(h, x, k % 2.0 == 1.0 || y > 0.0);
    let off = x - middle;
    let phi = match sigma {
        pole if pole < EDGE_TOLERANCE => middle,
        _ if off.abs() > 180.0 / h * sigma + 1e-9 => return None,
        sigma => middle + off / sigma,
    };
    Some((phi, latitude_from_sigma(k, sigma.max(0.0)).copysign(y)))
}

/// Signs of ξ and η in x and y, in each quarter from -180 degrees.
const QUADRANT_SIGNS: [[f64; 4]; 4] =
    [[-1.0, 1.0, -1.0, -1.0], [1.0, 1.0, -1.0, 1.0], [1.0, -1.0, 1.0, 1.0], [-1.0, -1.0, 1.0, -1.0]];

pub(super) fn polar_plane(phi: f64, theta: f64) -> (f64, f64) {
    let turn = wrap_180(phi);
    let turn = if turn >= 180.0 { turn - 360.0 } else { turn } + 180.0;
    let quarter = (turn / 90.0).floor().clamp(0.0, 3.0);
    let psi = turn - 90.0 * quarter;
    let sin = theta.to_radians().sin();
    let (xi, eta) = if sin.abs() <= 2.0 / 3.0 {
        (psi - 45.0, 67.5 * sin - 90.0)
    } else {
        let sigma = sigma(3.0, theta);
        ((psi - 45.0) * sigma, (45.0 * (2.0 - sigma)).copysign(theta) - 90.0)
    };
    let [a, b, c, d] = QUADRANT_SIGNS[quarter as usize];
    ((a * xi + b * eta) * std::f64::consts::FRAC_1_SQRT_2, (c * xi + d * eta) * std::f64::consts::FRAC_1_SQRT_2)
}

pub(super) fn polar_sphere(x: f64, y: f64) -> Option<(f64, f64)> {
    let quarter = match (x, y) {
        (x, y) if x <= 0.0 && y > 0.0 => 0,
        (x, y) if x < 0.0 && y <= 0.0 => 1,
        (x, y) if x >= 0.0 && y < 0.0 => 2,
        _ => 3,
    };
    // The matrix of signs is orthogonal, up to the factor 2 that the root of one half takes twice.
    let [a, b, c, d] = QUADRANT_SIGNS[quarter];
    let xi = (a * x + c * y) * std::f64::consts::FRAC_1_SQRT_2;
    let eta = (b * x + d * y) * std::f64::consts::FRAC_1_SQRT_2 + 90.0;
    let start = -180.0 + 90.0 * quarter as f64 + 45.0;
    if eta.abs() > 90.0 + EDGE_TOLERANCE {
        return None;
    }
    if eta.abs() <= 45.0 {
        return (xi.abs() <= 45.0 + 1e-9).then_some((start + xi, super::asin_degrees(eta / 67.5)?));
    }
    let sigma = ((90.0 - eta.abs()) / 45.0).max(0.0);
    let off = if sigma < EDGE_TOLERANCE { 0.0 } else { xi / sigma };
    (off.abs() <= 45.0 + 1e-9).then(|| (start + off, latitude_from_sigma(3.0, sigma).copysign(eta)))
}
