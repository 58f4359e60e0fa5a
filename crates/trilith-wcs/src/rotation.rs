//! Rotations of the sphere, as matrices of row vectors.

use crate::{Error, Result};

/// Matrix that turns directions.
pub type RotationMatrix = [[f64; 3]; 3];

const IDENTITY: RotationMatrix = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

pub(crate) fn matrix_product(a: &RotationMatrix, b: &RotationMatrix) -> RotationMatrix {
    let column = |j: usize| [b[0][j], b[1][j], b[2][j]];
    let entry = |row: &[f64; 3], j: usize| row.iter().zip(column(j)).map(|(x, y)| x * y).sum();
    a.map(|row| [entry(&row, 0), entry(&row, 1), entry(&row, 2)])
}

/// Returns the vector that a matrix makes of another.
pub(crate) fn rotate_vector(matrix: &RotationMatrix, vector: [f64; 3]) -> [f64; 3] {
    matrix.map(|row| row.iter().zip(vector).map(|(a, b)| a * b).sum())
}

/// Rotation of the frame about an axis (`x`, `y` or `z`) by an angle in degrees.
pub(crate) fn rotation_about(axis: char, angle: f64) -> Option<RotationMatrix> {
    let (s, c) = angle.to_radians().sin_cos();
    Some(match axis {
        'x' => [[1.0, 0.0, 0.0], [0.0, c, s], [0.0, -s, c]],
        'y' => [[c, 0.0, -s], [0.0, 1.0, 0.0], [s, 0.0, c]],
        'z' => [[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]],
        _ => return None,
    })
}

/// Returns the product of rotations of the frame about the named axes, the first angle first. Angles are in degrees.
///
/// # Errors
/// Returns [`Error::Invalid`] if an axis is not `x`, `y` or `z`, or if there are more angles than axes or fewer.
pub fn sequence(angles: &[f64], axes: &str) -> Result<RotationMatrix> {
    if angles.len() != axes.chars().count() {
        return Err(Error::Invalid(format!("{} angles for the axes {axes:?}", angles.len())));
    }
    let mut all = IDENTITY;
    for (angle, axis) in angles.iter().zip(axes.chars()) {
        let one = rotation_about(axis, *angle)
            .ok_or_else(|| Error::Invalid(format!("rotation about {axis:?} (expected x, y or z)")))?;
        all = matrix_product(&one, &all);
    }
    Ok(all)
}

/// Returns the rotation from native to celestial coordinates.
///
/// `pole` is the celestial longitude and latitude of the native pole, and `lonpole` the native longitude of the celestial pole,
/// in degrees (paper II, section 2.3).
pub fn native_to_celestial(pole: (f64, f64), lonpole: f64) -> RotationMatrix {
    let angles = [lonpole - 90.0, -(90.0 - pole.1), -(90.0 + pole.0)];
    angles
        .iter()
        .zip(['z', 'x', 'z'])
        .fold(IDENTITY, |all, (angle, axis)| rotation_about(axis, *angle).map_or(all, |one| matrix_product(&one, &all)))
}

/// Returns the opposite rotation.
pub fn transposed(matrix: &RotationMatrix) -> RotationMatrix {
    let column = |j: usize| [matrix[0][j], matrix[1][j], matrix[2][j]];
    [column(0), column(1), column(2)]
}

/// Celestial coordinates of the native pole of a projection whose reference point is at `(longitude, latitude)`.
///
/// `theta` is the native latitude of the reference point, `lonpole` and `latpole` are the values of `LONPOLE` and `LATPOLE` in
/// degrees. Returns `None` if they contradict each other (paper II, section 2.4).
pub fn pole(theta: f64, at: (f64, f64), lonpole: f64, latpole: f64) -> Option<(f64, f64)> {
    if theta == 90.0 {
        return Some(at);
    }
    let ((sin_turn, cos_turn), (sin_at, cos_at)) = (lonpole.to_radians().sin_cos(), at.1.to_radians().sin_cos());
    let (sin_theta, cos_theta) = theta.to_radians().sin_cos();
    // The native longitude of the reference point is 0, so that the angle between both is LONPOLE.
    let across = cos_theta * cos_turn;
    let middle = sin_theta.atan2(across).to_degrees();
    let reach = (1.0 - (cos_theta * sin_turn).powi(2)).max(0.0).sqrt();
    let latitude = if reach < 1e-12 {
        // Any latitude fits here, so LATPOLE decides.
        if sin_at.abs() > 1e-12 {
            return None;
        }
        latpole.clamp(-90.0, 90.0)
    } else {
        let cosine = sin_at / reach;
        if cosine.abs() > 1.0 + 1e-12 {
            return None;
        }
        // If LONPOLE is 0, both angles are known to the last digit.
        let (middle, spread) =
            if lonpole == 0.0 { (theta, 90.0 - at.1) } else { (middle, cosine.clamp(-1.0, 1.0).acos().to_degrees()) };
        let around = |latitude: f64| match latitude {
            latitude if latitude > 180.0 => latitude - 360.0,
            latitude if latitude < -180.0 => latitude + 360.0,
            latitude => latitude,
        };
        let [one, two] = [middle + spread, middle - spread].map(around);
        let is_there = |latitude: &f64| latitude.abs() <= 90.0 + 1e-9;
        // If two latitudes are equally near to LATPOLE, wcslib takes the second.
        let ordered = if (one - latpole).abs() < (two - latpole).abs() { [one, two] } else { [two, one] };
        ordered.into_iter().find(is_there)?.clamp(-90.0, 90.0)
    };
    let (sin_pole, cos_pole) = latitude.to_radians().sin_cos();
    let longitude = if cos_at.abs() < 1e-12 {
        at.0
    } else if latitude >= 90.0 - 1e-10 {
        at.0 + lonpole - 180.0
    } else if latitude <= -90.0 + 1e-10 {
        at.0 - lonpole
    } else {
        let y = sin_turn * cos_theta / cos_at;
        let x = (sin_theta - sin_pole * sin_at) / (cos_pole * cos_at);
        at.0 - y.atan2(x).to_degrees()
    };
    Some((longitude, latitude))
}
