//! Projections onto the faces of a cube: paper II, section 5.6.

use super::EDGE_TOLERANCE;

/// Longitude and latitude of the middle of each face, as they are drawn.
const FACE_CENTERS: [(f64, f64); 6] = [(0.0, 90.0), (0.0, 0.0), (90.0, 0.0), (180.0, 0.0), (270.0, 0.0), (0.0, -90.0)];

/// The face that a direction meets, and its components there: right, up, and out of the face.
fn find_cube_face(l: f64, m: f64, n: f64) -> (usize, [f64; 3]) {
    let outs = [n, l, m, -l, -m, -n];
    let face = (1..6).fold(0, |best, face| if outs[face] > outs[best] { face } else { best });
    let [right, up] = match face {
        0 => [m, -l],
        1 => [m, n],
        2 => [-l, n],
        3 => [-m, n],
        4 => [l, n],
        _ => [m, l],
    };
    (face, [right, up, outs[face]])
}

fn face_to_direction(face: usize, [right, up, out]: [f64; 3]) -> [f64; 3] {
    match face {
        0 => [-up, right, out],
        1 => [out, right, up],
        2 => [-right, out, up],
        3 => [-out, -right, up],
        4 => [right, -out, up],
        _ => [up, right, -out],
    }
}

/// Draws a direction; `draw` takes the components at the face to places between -1 and 1.
pub(super) fn cube_plane(phi: f64, theta: f64, draw: impl Fn([f64; 3]) -> (f64, f64)) -> Option<(f64, f64)> {
    let ((sin_phi, cos_phi), (sin, cos)) = (phi.to_radians().sin_cos(), theta.to_radians().sin_cos());
    let (face, components) = find_cube_face(cos * cos_phi, cos * sin_phi, sin);
    let ((x, y), middle) = (draw(components), FACE_CENTERS[face]);
    let inside = x.abs() <= 1.0 + 1e-6 && y.abs() <= 1.0 + 1e-6;
    inside.then_some((middle.0 + 45.0 * x, middle.1 + 45.0 * y))
}

/// The direction that is drawn at a point; `undraw` takes places on a face to components there.
pub(super) fn cube_sphere(x: f64, y: f64, undraw: impl Fn(f64, f64) -> [f64; 3]) -> Option<(f64, f64)> {
    let (mut x, mut y) = (x / 45.0, y / 45.0);
    let edge = 1.0 + EDGE_TOLERANCE;
    let is_drawn = (y.abs() <= edge && x.abs() <= 7.0 + EDGE_TOLERANCE) || (x.abs() <= edge && y.abs() <= 3.0 + EDGE_TOLERANCE);
    if !is_drawn {
        return None;
    }
    if x < -edge {
        x += 8.0;
    }
    let face = if x > 5.0 {
        x -= 6.0;
        4
    } else if x > 3.0 {
        x -= 4.0;
        3
    } else if x > edge {
        x -= 2.0;
        2
    } else if y > edge {
        y -= 2.0;
        0
    } else if y < -edge {
        y += 2.0;
        5
    } else {
        1
    };
    let [l, m, n] = face_to_direction(face, undraw(x, y));
    let phi = if l == 0.0 && m == 0.0 { 0.0 } else { m.atan2(l).to_degrees() };
    Some((phi, n.atan2(l.hypot(m)).to_degrees()))
}

pub(super) fn tsc_plane([right, up, out]: [f64; 3]) -> (f64, f64) {
    (right / out, up / out)
}

pub(super) fn tsc_face(x: f64, y: f64) -> [f64; 3] {
    [x, y, 1.0]
}

pub(super) fn csc_plane([right, up, out]: [f64; 3]) -> (f64, f64) {
    let (chi, psi) = (right / out, up / out);
    (csc_polynomial(chi, psi), csc_polynomial(psi, chi))
}

pub(super) fn csc_face(x: f64, y: f64) -> [f64; 3] {
    [csc_inverse_polynomial(x, y), csc_inverse_polynomial(y, x), 1.0]
}

/// The polynomial of the COBE quadrilateralised cube (Chan and O'Neill 1975, constants of paper II).
fn csc_polynomial(a: f64, b: f64) -> f64 {
    let (a2, b2) = (a * a, b * b);
    let cross = 0.141189631152
        + a2 * (0.0809701286525 - 0.178251207466 * a2)
        + b2 * (-0.281528535557 + 0.106959469314 * b2)
        + a2 * b2 * 0.15384112876;
    let first = -0.13161671474 + (0.004869491981 + 0.13161671474) * a2 + (1.0 - b2) * cross;
    let second = -0.159596235474 - (1.0 - a2) * (0.0759196200467 - 0.0217762490699 * a2);
    a * 1.37484847732 - 0.37484847732 * a * a2 + a * (1.0 - a2) * (b2 * first + a2 * second)
}

/// The polynomial backwards, which fits to 0.01 of a pixel of COBE only; row `j` is of `y^2j`.
const CSC_INVERSE: [[f64; 7]; 7] = [
    [-0.27292696, -0.07629969, -0.22797056, 0.54852384, -0.62930065, 0.25795794, 0.02584375],
    [-0.02819452, -0.01471565, 0.48051509, -1.74114454, 1.71547508, -0.53022337, 0.0],
    [0.27058160, -0.56800938, 0.30803317, 0.98938102, -0.83180469, 0.0, 0.0],
    [-0.60441560, 1.50880086, -0.93678576, 0.08693841, 0.0, 0.0, 0.0],
    [0.93412077, -1.41601920, 0.33887446, 0.0, 0.0, 0.0, 0.0],
    [-0.63915306, 0.52032238, 0.0, 0.0, 0.0, 0.0, 0.0],
    [0.14381585, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
];

fn csc_inverse_polynomial(x: f64, y: f64) -> f64 {
    let (x2, y2) = (x * x, y * y);
    let row = |row: &[f64; 7]| row.iter().rev().fold(0.0, |sum, term| sum * x2 + term);
    let sum = CSC_INVERSE.iter().rev().fold(0.0, |sum, terms| sum * y2 + row(terms));
    x + x * (1.0 - x2) * sum
}

pub(super) fn qsc_plane([right, up, out]: [f64; 3]) -> (f64, f64) {
    let is_wide = right.abs() > up.abs();
    let (long, short) = if is_wide { (right, up) } else { (up, right) };
    if long == 0.0 {
        return (0.0, 0.0);
    }
    let omega = short / long;
    // 1 - ζ without cancelling.
    let depth = (long * long + short * short) / (1.0 + out);
    let u = (depth / (1.0 - 1.0 / (2.0 + omega * omega).sqrt())).max(0.0).sqrt().copysign(long);
    let v = u * (omega.atan() - (omega / (2.0 * (1.0 + omega * omega)).sqrt()).asin()).to_degrees() / 15.0;
    if is_wide { (u, v) } else { (v, u) }
}

pub(super) fn qsc_face(x: f64, y: f64) -> [f64; 3] {
    let is_wide = x.abs() > y.abs();
    let (u, v) = if is_wide { (x, y) } else { (y, x) };
    if u == 0.0 {
        return [0.0, 0.0, 1.0];
    }
    let (sin, cos) = (15.0 * v / u).to_radians().sin_cos();
    let omega = sin / (cos - std::f64::consts::FRAC_1_SQRT_2);
    let depth = u * u * (1.0 - 1.0 / (2.0 + omega * omega).sqrt());
    let long = (depth * (2.0 - depth) / (1.0 + omega * omega)).max(0.0).sqrt().copysign(u);
    let short = long * omega;
    if is_wide { [long, short, 1.0 - depth] } else { [short, long, 1.0 - depth] }
}
