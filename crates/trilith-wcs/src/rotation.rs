//! Rotations of the sphere, as matrices of row vectors.

use std::f64::consts::PI;

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

/// Sine and cosine of an angle in degrees, exact for whole quarters of a turn.
fn sin_cos_degrees(angle: f64) -> (f64, f64) {
    if angle % 90.0 != 0.0 {
        return (angle * PI / 180.0).sin_cos();
    }
    match angle.rem_euclid(360.0) {
        90.0 => (1.0, 0.0),
        180.0 => (0.0, -1.0),
        270.0 => (-1.0, 0.0),
        _ => (0.0, 1.0),
    }
}

/// Celestial coordinates of the native pole of a projection whose reference point is at `(longitude, latitude)`.
///
/// `theta` is the native latitude of the reference point, `lonpole` and `latpole` are the values of `LONPOLE` and `LATPOLE` in
/// degrees. Returns `None` if they contradict each other (paper II, section 2.4).
pub fn pole(theta: f64, at: (f64, f64), lonpole: f64, latpole: f64) -> Option<(f64, f64)> {
    if theta == 90.0 {
        return Some(at);
    }
    // Two latitudes may be equally near to LATPOLE, and then the last digit decides. It is that of wcslib if angles are converted in
    // its two steps, which round twice, and if angles of whole quarters are exact.
    let ((sin_turn, cos_turn), (sin_at, cos_at)) = (sin_cos_degrees(lonpole), sin_cos_degrees(at.1));
    let (sin_theta, cos_theta) = sin_cos_degrees(theta);
    // The native longitude of the reference point is 0, so that the angle between both is LONPOLE.
    let across = cos_theta * cos_turn;
    let middle = sin_theta.atan2(across) * 180.0 / PI;
    let reach = (across * across + sin_theta * sin_theta).sqrt();
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
            if lonpole == 0.0 { (theta, 90.0 - at.1) } else { (middle, cosine.clamp(-1.0, 1.0).acos() * 180.0 / PI) };
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

#[cfg(test)]
mod tests {
    use super::*;

    /// First tier. wcslib 8.5: where two latitudes of the pole are as far from LATPOLE as each other, its rounding decides.
    #[test]
    fn equally_near_poles_match_wcslib() {
        let cases = [
            (-17.242092516345323, 180.0, (10.0, 72.75790748365466)),
            (-17.242092516345323, 135.0, (322.236309462118, 65.21674798728593)),
            (-17.242092516345323, -120.0, (75.06342986611035, 53.64265259370022)),
            (-78.7519928926327, 180.0, (190.0, -11.248007107367243)),
            (33.7, 0.0, (10.0, -56.3)),
            (-12.3, 180.0, (190.0, -77.69999999999999)),
            (-12.3, 135.0, (323.63758372788726, 72.46607403324111)),
            (-12.3, -120.0, (127.57921941155625, -64.78217465616598)),
            (-45.5, 180.0, (10.0, 44.5)),
            (5.125, 0.0, (10.0, -84.875)),
            (-3.3, 180.0, (190.0, -86.69999999999999)),
            (-3.3, -120.0, (70.16524306096795, 83.38898894486054)),
        ];
        for (latitude, lonpole, wanted) in cases {
            let found = pole(0.0, (10.0, latitude), lonpole, 0.0).unwrap();
            let turn = (found.0 - wanted.0).rem_euclid(360.0);
            assert!(turn.min(360.0 - turn) < 1e-12, "{latitude} {lonpole}: {found:?}");
            assert!((found.1 - wanted.1).abs() < 1e-12, "{latitude} {lonpole}: {found:?}");
        }
        // The FITS standard, paper II, section 2.4: LATPOLE alone is the latitude if LONPOLE is a right angle.
        assert_eq!(pole(0.0, (10.0, 0.0), 90.0, -63.5), Some((-80.0, -63.5)));
    }
}
