//! Projections around a pole: paper II, section 5.1.

use super::{EDGE_TOLERANCE, R0, asin_degrees};

/// The point at a distance from the pole.
pub(super) fn zenithal_plane(phi: f64, distance: f64) -> Option<(f64, f64)> {
    let (sin, cos) = phi.to_radians().sin_cos();
    Some((distance * sin, -distance * cos))
}

/// The native coordinates of a point, from the latitude at its distance.
pub(super) fn zenithal_sphere(x: f64, y: f64, latitude: impl Fn(f64) -> Option<f64>) -> Option<(f64, f64)> {
    let distance = x.hypot(y);
    let phi = if distance == 0.0 { 0.0 } else { x.atan2(-y).to_degrees() };
    Some((phi, latitude(distance)?))
}

/// The vector of native coordinates of a point in the plane of the gnomonic projection.
pub(crate) fn gnomonic_vector(x: f64, y: f64) -> [f64; 3] {
    let square = x * x + y * y + R0 * R0;
    let length = if square.is_finite() { square.sqrt() } else { x.hypot(y) };
    [-y / length, x / length, R0 / length]
}

/// The point in the plane of the gnomonic projection where a vector of native coordinates meets it; NaN if it is on the other half.
pub(crate) fn gnomonic_plane([x, y, z]: [f64; 3]) -> [f64; 2] {
    if z > 0.0 { [R0 * y / z, -R0 * x / z] } else { [f64::NAN; 2] }
}

/// The greater of the two latitudes whose sine with a phase is given.
fn nearest_pole(middle: f64, half: f64) -> f64 {
    let fold = |angle: f64| if angle > 90.0 { angle - 360.0 } else { angle };
    fold(middle - half).max(fold(middle + half + 180.0))
}

pub(super) fn azp_plane(mu: f64, gamma: f64, phi: f64, theta: f64) -> Option<(f64, f64)> {
    let ((sin_phi, cos_phi), (sin, cos)) = (phi.to_radians().sin_cos(), theta.to_radians().sin_cos());
    let tilt = gamma.to_radians();
    let slope = tilt.tan() * cos_phi;
    let depth = mu + sin + cos * slope;
    // Beyond the horizon of the point of projection, or where the tilted plane is parallel to the ray.
    let is_behind = mu.abs() > 1.0 && theta < (-1.0 / mu).asin().to_degrees();
    let limit = mu / (1.0 + slope * slope).sqrt();
    let is_far = (mu * tilt.cos()).abs() < 1.0
        && limit.abs() <= 1.0
        && theta < nearest_pole((-slope).atan().to_degrees(), limit.asin().to_degrees());
    if depth == 0.0 || is_behind || is_far {
        return None;
    }
    let distance = R0 * (mu + 1.0) * cos / depth;
    Some((distance * sin_phi, -distance * cos_phi / tilt.cos()))
}

pub(super) fn azp_sphere(mu: f64, gamma: f64, x: f64, y: f64) -> Option<(f64, f64)> {
    let (sin, cos) = gamma.to_radians().sin_cos();
    let along = y * cos;
    let distance = x.hypot(along);
    if distance == 0.0 {
        return Some((0.0, 90.0));
    }
    let rho = distance / (R0 * (mu + 1.0) + y * sin);
    let half = asin_degrees(rho * mu / (rho * rho + 1.0).sqrt())?;
    Some((x.atan2(-along).to_degrees(), nearest_pole(1f64.atan2(rho).to_degrees(), half)))
}

pub(super) fn szp_plane(mu: f64, xp: f64, yp: f64, zp: f64, phi: f64, theta: f64) -> Option<(f64, f64)> {
    let ((sin_phi, cos_phi), (sin, cos)) = (phi.to_radians().sin_cos(), theta.to_radians().sin_cos());
    let sigma = 1.0 - sin;
    let depth = zp - sigma;
    let is_far = (zp - 1.0).abs() < 1.0 && theta < (1.0 - zp).asin().to_degrees();
    let is_behind = mu.abs() > 1.0 && {
        let across = xp * sin_phi - yp * cos_phi;
        // This limit is that of wcslib, which leaves out a strip of up to three degrees inside the limb.
        let limit = 1.0 / ((zp - 1.0) * zp - 1.0 + across * across).sqrt();
        limit <= 1.0 && theta < nearest_pole(across.atan2(zp - 1.0).to_degrees(), limit.asin().to_degrees())
    };
    if depth == 0.0 || is_far || is_behind {
        return None;
    }
    let scale = R0 / depth;
    Some((scale * (zp * cos * sin_phi - xp * sigma), -scale * (zp * cos * cos_phi + yp * sigma)))
}

pub(super) fn szp_sphere(xp: f64, yp: f64, zp: f64, x: f64, y: f64) -> Option<(f64, f64)> {
    let (x, y) = (x / R0, y / R0);
    ray_sphere_intersection(x, y, (x - xp) / zp, (y - yp) / zp)
}

pub(super) fn sin_plane(xi: f64, eta: f64, phi: f64, theta: f64) -> Option<(f64, f64)> {
    let ((sin_phi, cos_phi), cos) = (phi.to_radians().sin_cos(), theta.to_radians().cos());
    if theta < -(xi * sin_phi - eta * cos_phi).atan().to_degrees() {
        return None;
    }
    let half = ((90.0 - theta) / 2.0).to_radians().sin();
    let sigma = 2.0 * half * half;
    Some((R0 * (cos * sin_phi + xi * sigma), -R0 * (cos * cos_phi - eta * sigma)))
}

pub(super) fn sin_sphere(xi: f64, eta: f64, x: f64, y: f64) -> Option<(f64, f64)> {
    let (x, y) = (x / R0, y / R0);
    if xi == 0.0 && eta == 0.0 {
        return zenithal_sphere(x, y, |r| {
            (r <= 1.0 + EDGE_TOLERANCE).then(|| ((1.0 - r) * (1.0 + r)).max(0.0).sqrt().atan2(r).to_degrees())
        });
    }
    ray_sphere_intersection(x, y, xi, eta)
}

/// The point where the ray from `(x, y)`, which moves by `(a, b)` for each unit of depth, meets the sphere.
///
/// The depth σ = 1 - sin θ is the smaller root of a quadratic equation, solved so that nothing cancels near the pole.
fn ray_sphere_intersection(x: f64, y: f64, a: f64, b: f64) -> Option<(f64, f64)> {
    let square = a * a + b * b + 1.0;
    let half = a * x + b * y + 1.0;
    let distance = x * x + y * y;
    let discriminant = half * half - square * distance;
    if discriminant < -EDGE_TOLERANCE {
        return None;
    }
    let root = discriminant.max(0.0).sqrt();
    // The two depths have the product distance / square; the smaller positive one is nearer to the pole.
    let depths = if half >= 0.0 {
        [distance / (half + root), (half + root) / square]
    } else {
        [(half - root) / square, distance / (half - root)]
    };
    let sigma =
        depths.into_iter().filter(|depth| (-EDGE_TOLERANCE..=2.0 + EDGE_TOLERANCE).contains(depth)).fold(f64::NAN, f64::min);
    if sigma.is_nan() {
        return None;
    }
    let sigma = sigma.clamp(0.0, 2.0);
    let (along, across) = (-(y - b * sigma), x - a * sigma);
    let phi = if across == 0.0 && along == 0.0 { 0.0 } else { across.atan2(along).to_degrees() };
    Some((phi, (1.0 - sigma).atan2((sigma * (2.0 - sigma)).max(0.0).sqrt()).to_degrees()))
}

/// The second coefficient of AIR: ln(cos ξ) / tan² ξ of half the polar distance of a latitude.
pub(super) fn air_slope(theta: f64) -> f64 {
    let half = ((90.0 - theta) / 2.0).to_radians();
    if half == 0.0 { -0.5 } else { ln_cos(half) / half.tan().powi(2) }
}

pub(super) fn air_distance(slope: f64, theta: f64) -> Option<f64> {
    let half = ((90.0 - theta) / 2.0).to_radians();
    (theta > -90.0).then(|| air_radius(slope, half))
}

/// ln(cos ξ), of which small angles lose no digits.
fn ln_cos(angle: f64) -> f64 {
    let sin = angle.sin();
    if angle < 1.0 { (-sin * sin).ln_1p() / 2.0 } else { angle.cos().ln() }
}

fn air_radius(slope: f64, half: f64) -> f64 {
    let first = if half == 0.0 { 0.0 } else { ln_cos(half) / half.tan() };
    -2.0 * R0 * (first + slope * half.tan())
}

pub(super) fn air_latitude(slope: f64, distance: f64) -> Option<f64> {
    if distance == 0.0 {
        return Some(90.0);
    }
    let half = super::find_root(0.0, std::f64::consts::FRAC_PI_2 * (1.0 - 1e-9), |half| air_radius(slope, half) - distance)?;
    Some(90.0 - 2.0 * half.to_degrees())
}
