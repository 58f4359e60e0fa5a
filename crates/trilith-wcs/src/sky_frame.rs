//! Reference frames of the sky, and positions of one in another, as astropy converts them.

use crate::rotation::{RotationMatrix, matrix_product, rotate_vector, rotation_about, transposed};
use crate::{Frame, Wcs};

/// Days of a tropical year, and the day of B1900.
const TROPICAL_YEAR: (f64, f64) = (365.242_198_781, 2_415_020.313_52);
/// The day of J2000, and days of a Julian year.
const JULIAN_YEAR: (f64, f64) = (365.25, 2_451_545.0);

/// From FK4 without E-terms at B1950 to FK5 at J2000 (Murray 1989, equation 28), and its change in a century.
const FK4_TO_FK5: [RotationMatrix; 2] = [
    [
        [0.999_925_679_495_687_7, -0.011_181_483_220_466_2, -0.004_859_003_815_359_2],
        [0.011_181_483_239_171_7, 0.999_937_484_893_313_5, -0.000_027_162_594_714_2],
        [0.004_859_003_772_314_3, -0.000_027_170_293_744_0, 0.999_988_194_602_374_2],
    ],
    [
        [-0.002_645_526_2e-6, -1.153_991_868_9e-6, 2.111_134_619_0e-6],
        [1.154_062_816_1e-6, -0.012_904_299_7e-6, 0.023_602_147_8e-6],
        [-2.111_297_904_8e-6, -0.005_602_444_8e-6, 0.010_258_773_4e-6],
    ],
];
/// Right ascension and declination of the north Galactic pole, and the longitude of the celestial pole: in FK5 and in FK4.
const GALACTIC_POLE_FK5: [f64; 3] = [192.859_481_206_534_8, 27.128_251_180_856_22, 122.931_918_568_002_6];
const GALACTIC_POLE_FK4: [f64; 3] = [192.25, 27.4, 123.0];

/// A reference frame of positions on the sky. Equinoxes are years: Julian, or Besselian for FK4.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum SkyFrame {
    /// The International Celestial Reference System.
    Icrs,
    /// The equator and equinox of the fifth fundamental catalog.
    Fk5 {
        /// The equinox.
        equinox: f64,
    },
    /// The equator and equinox of the fourth fundamental catalog.
    Fk4 {
        /// The equinox; also the epoch of observation.
        equinox: f64,
        /// `true` if positions hold the E-terms of aberration.
        has_e_terms: bool,
    },
    /// Galactic coordinates of 1958.
    Galactic,
    /// The mean ecliptic and equinox of a date (IAU 2006).
    Ecliptic {
        /// The equinox.
        equinox: f64,
    },
}

impl SkyFrame {
    /// Returns a position of this frame in another one: longitude and latitude in degrees.
    ///
    /// ```
    /// use trilith_wcs::SkyFrame;
    ///
    /// let [l, b] = SkyFrame::Icrs.convert([10.0, 20.0], SkyFrame::Galactic);
    /// assert!((l - 119.269_367_737_602).abs() < 1e-9 && (b + 42.790_392_864_604).abs() < 1e-9);
    /// ```
    #[must_use]
    pub fn convert(self, position: [f64; 2], to: Self) -> [f64; 2] {
        if self == to || !position.iter().all(|angle| angle.is_finite()) {
            return position;
        }
        let (mut vector, from, to_plain) = (to_vector(position), self.without_e_terms(), to.without_e_terms());
        if let Self::Fk4 { equinox, has_e_terms: true } = self {
            vector = remove_e_terms(vector, equinox);
        }
        vector = match (from, to_plain) {
            (Self::Fk4 { equinox, .. }, Self::Fk4 { equinox: wanted, .. }) => {
                rotate_vector(&newcomb_precession(equinox, wanted), vector)
            }
            (Self::Fk4 { .. }, Self::Galactic) => rotate_vector(&fk4_to_galactic(from), vector),
            (Self::Galactic, Self::Fk4 { .. }) => rotate_vector(&transposed(&fk4_to_galactic(to_plain)), vector),
            _ => rotate_vector(&to_plain.icrs_rotation(), rotate_vector(&from.rotation_to_icrs(), vector)),
        };
        if let Self::Fk4 { equinox, has_e_terms: true } = to {
            vector = add_e_terms(vector, equinox);
        }
        to_position(vector)
    }

    fn without_e_terms(self) -> Self {
        match self {
            Self::Fk4 { equinox, .. } => Self::Fk4 { equinox, has_e_terms: false },
            other => other,
        }
    }

    /// The rotation from this frame to ICRS.
    fn rotation_to_icrs(self) -> RotationMatrix {
        match self {
            // The precession of Newcomb back is not the inverse to the last digit.
            Self::Fk4 { equinox, .. } => {
                let to_fk5 = matrix_product(&murray_rotation(equinox), &newcomb_precession(equinox, 1950.0));
                matrix_product(&transposed(&fk5_bias()), &to_fk5)
            }
            _ => transposed(&self.icrs_rotation()),
        }
    }

    /// The rotation from ICRS to this frame.
    fn icrs_rotation(self) -> RotationMatrix {
        let to_fk5 = fk5_bias();
        match self {
            Self::Icrs => IDENTITY,
            Self::Fk5 { equinox } => matrix_product(&capitaine_precession(equinox), &to_fk5),
            Self::Fk4 { equinox, .. } => {
                let from_fk5 = matrix_product(&newcomb_precession(1950.0, equinox), &transposed(&murray_rotation(equinox)));
                matrix_product(&from_fk5, &to_fk5)
            }
            Self::Galactic => matrix_product(&galactic_rotation(GALACTIC_POLE_FK5), &to_fk5),
            Self::Ecliptic { equinox } => {
                let [gamma, phi, psi, _] = precession_angles((equinox - 2000.0) / 100.0);
                rotation_sequence(&[('z', gamma), ('x', phi), ('z', -psi)])
            }
        }
    }
}

impl std::fmt::Display for SkyFrame {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let named = |out: &mut std::fmt::Formatter<'_>, name: &str, letter: char, equinox: f64, usual: f64| {
            if equinox == usual { out.write_str(name) } else { write!(out, "{name} of {letter}{equinox}") }
        };
        match self {
            Self::Icrs => out.write_str("ICRS"),
            Self::Fk5 { equinox } => named(out, "FK5", 'J', *equinox, 2000.0),
            Self::Fk4 { equinox, has_e_terms: true } => named(out, "FK4", 'B', *equinox, 1950.0),
            Self::Fk4 { equinox, .. } => named(out, "FK4-NO-E", 'B', *equinox, 1950.0),
            Self::Galactic => out.write_str("Galactic"),
            Self::Ecliptic { equinox } => named(out, "mean ecliptic", 'J', *equinox, 2000.0),
        }
    }
}

impl Frame {
    /// Returns the reference frame of positions on the sky; `None` if there is none, or if it is none of [`SkyFrame`].
    pub fn sky_frame(&self) -> Option<SkyFrame> {
        self.sky?;
        let equinox = |usual: f64| self.equinox.unwrap_or(usual);
        Some(match self.reference_frame.to_ascii_uppercase().as_str() {
            "ICRS" => SkyFrame::Icrs,
            "FK5" => SkyFrame::Fk5 { equinox: equinox(2000.0) },
            "FK4" => SkyFrame::Fk4 { equinox: equinox(1950.0), has_e_terms: true },
            "FK4-NO-E" => SkyFrame::Fk4 { equinox: equinox(1950.0), has_e_terms: false },
            "GALACTIC" => SkyFrame::Galactic,
            "BARYCENTRICMEANECLIPTIC" => SkyFrame::Ecliptic { equinox: equinox(2000.0) },
            _ => return None,
        })
    }
}

impl Wcs {
    /// Returns the reference frame of positions on the sky, as [`Frame::sky_frame`] of the last frame.
    pub fn sky_frame(&self) -> Option<SkyFrame> {
        self.sky()?;
        self.frames().last().and_then(Frame::sky_frame)
    }
}

const IDENTITY: RotationMatrix = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

fn to_vector([longitude, latitude]: [f64; 2]) -> [f64; 3] {
    let ((sin, cos), (sin_latitude, cos_latitude)) = (longitude.to_radians().sin_cos(), latitude.to_radians().sin_cos());
    [cos * cos_latitude, sin * cos_latitude, sin_latitude]
}

fn to_position([x, y, z]: [f64; 3]) -> [f64; 2] {
    [y.atan2(x).to_degrees().rem_euclid(360.0), z.atan2(x.hypot(y)).to_degrees()]
}

/// The product of rotations about axes by angles in degrees, the first one first.
fn rotation_sequence(turns: &[(char, f64)]) -> RotationMatrix {
    let turn = |all: RotationMatrix, (axis, angle): &(char, f64)| {
        rotation_about(*axis, *angle).map_or(all, |one| matrix_product(&one, &all))
    };
    turns.iter().fold(IDENTITY, turn)
}

/// From ICRS to FK5 at J2000 (USNO circular 179).
fn fk5_bias() -> RotationMatrix {
    let mas = 3_600_000.0;
    rotation_sequence(&[('z', -22.9 / mas), ('y', 9.1 / mas), ('x', 19.9 / mas)])
}

/// From FK4 without E-terms at B1950, observed at an epoch, to FK5 at J2000.
fn murray_rotation(epoch: f64) -> RotationMatrix {
    let century = (julian_year(besselian_day(epoch)) - 1950.0) / 100.0;
    let [mut matrix, change] = FK4_TO_FK5;
    for (row, change) in matrix.iter_mut().zip(change) {
        row.iter_mut().zip(change).for_each(|(x, change)| *x += change * century);
    }
    matrix
}

/// From equatorial to Galactic coordinates, by the pole of these.
fn galactic_rotation([longitude, latitude, origin]: [f64; 3]) -> RotationMatrix {
    rotation_sequence(&[('z', longitude), ('y', 90.0 - latitude), ('z', 180.0 - origin)])
}

fn fk4_to_galactic(frame: SkyFrame) -> RotationMatrix {
    let equinox = if let SkyFrame::Fk4 { equinox, .. } = frame { equinox } else { 1950.0 };
    matrix_product(&galactic_rotation(GALACTIC_POLE_FK4), &newcomb_precession(equinox, 1950.0))
}

fn besselian_day(year: f64) -> f64 {
    TROPICAL_YEAR.1 + (year - 1900.0) * TROPICAL_YEAR.0
}

fn julian_year(day: f64) -> f64 {
    2000.0 + (day - JULIAN_YEAR.1) / JULIAN_YEAR.0
}

/// A polynomial with coefficients in seconds of arc, in degrees.
fn angle_polynomial(coefficients: &[f64], variable: f64) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, term| sum * variable + term) / 3600.0
}

/// The angles of Fukushima and Williams for bias and precession, in degrees: IAU 2006, for centuries since J2000.
fn precession_angles(centuries: f64) -> [f64; 4] {
    [
        &[-0.052_928, 10.556_378, 0.493_204_4, -0.000_312_38, -0.000_002_788, 0.000_000_026_0],
        &[84_381.412_819, -46.811_016, 0.051_126_8, 0.000_532_89, -0.000_000_440, -0.000_000_017_6],
        &[-0.041_775, 5_038.481_484, 1.558_417_5, -0.000_185_22, -0.000_026_452, -0.000_000_014_8],
        &[84_381.406, -46.836_769, -0.000_183_1, 0.002_003_40, -0.000_000_576, -0.000_000_043_4],
    ]
    .map(|terms| angle_polynomial(terms, centuries))
}

/// Precession from J2000 to an equinox (Capitaine 2003, IAU 2006).
fn capitaine_precession(equinox: f64) -> RotationMatrix {
    if equinox == 2000.0 {
        return IDENTITY;
    }
    let biased = |year: f64| {
        let [gamma, phi, psi, epsilon] = precession_angles((year - 2000.0) / 100.0);
        rotation_sequence(&[('z', gamma), ('x', phi), ('z', -psi), ('x', -epsilon)])
    };
    matrix_product(&biased(equinox), &transposed(&biased(2000.0)))
}

/// Precession of FK4 between Besselian years, after Newcomb.
fn newcomb_precession(from: f64, to: f64) -> RotationMatrix {
    if from == to {
        return IDENTITY;
    }
    let start = (from - 1850.0) / 1000.0;
    let span = (to - 1850.0) / 1000.0 - start;
    let rate = (0.060 * start + 139.720) * start + 23_035.545;
    let zeta = ((17.995 * span + (-0.27 * start + 30.240)) * span + rate) * span / 3600.0;
    let z = ((18.325 * span + (109.480 + 0.39 * start)) * span + rate) * span / 3600.0;
    let theta = ((-41.8 * span + (-0.37 * start - 42.65)) * span + ((-0.37 * start - 85.29) * start + 20_051.12)) * span / 3600.0;
    rotation_sequence(&[('z', -zeta), ('y', theta), ('z', -z)])
}

/// The E-terms of aberration at an equinox (Explanatory Supplement 1992).
fn e_terms(equinox: f64) -> [f64; 3] {
    let day = besselian_day(equinox);
    let centuries = (day - besselian_day(1950.0)) / 36_525.0;
    let size = 0.005_693_2_f64.to_radians() * ((-0.000_000_126 * centuries - 0.000_041_93) * centuries + 0.016_730_11);
    let perigee = angle_polynomial(&[1_015_489.951, 6_190.67, 1.65, 0.012], centuries).to_radians();
    let since_2000 = (day - JULIAN_YEAR.1) / 36_525.0;
    let obliquity = angle_polynomial(&[84_381.448, -46.8150, -0.000_59, 0.001_813], since_2000).to_radians();
    let across = -size * perigee.cos();
    [size * perigee.sin(), across * obliquity.cos(), across * obliquity.sin()]
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn remove_e_terms(vector: [f64; 3], equinox: f64) -> [f64; 3] {
    let terms = e_terms(equinox);
    let along = dot(terms, vector);
    [0, 1, 2].map(|at| vector[at] - terms[at] + along * vector[at])
}

fn add_e_terms(vector: [f64; 3], equinox: f64) -> [f64; 3] {
    let terms = e_terms(equinox);
    let length = dot(vector, vector).sqrt();
    let whole = [0, 1, 2].map(|at| terms[at] + vector[at] / length);
    (0..10).fold(vector.map(|x| x / length), |found, _| {
        let along = 1.0 + dot(terms, found);
        whole.map(|x| x / along)
    })
}
