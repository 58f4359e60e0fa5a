//! The zenithal projection whose distance from the pole is a polynomial: paper II, section 5.1.7.

use super::{MAX_PARAMETERS, R0, find_root};

/// Room at the ends of the polynomial, in radians, as wcslib has it.
const TOLERANCE: f64 = 1e-13;

/// A zenithal polynomial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Zpn {
    terms: [f64; MAX_PARAMETERS],
    degree: usize,
    /// The angle from the pole up to which the distance grows, in radians.
    last: f64,
}

impl Zpn {
    /// Returns the projection; `None` if it has no terms, or if the distance does not grow at the pole.
    pub(super) fn new(terms: &[f64; MAX_PARAMETERS]) -> Option<Self> {
        let degree = terms.iter().rposition(|term| *term != 0.0).filter(|degree| *degree > 0)?;
        let mut found = Self { terms: *terms, degree, last: std::f64::consts::PI };
        if degree < 2 {
            return Some(found);
        }
        if found.slope(0.0) <= 0.0 {
            return None;
        }
        let step = |number: u32| f64::from(number).to_radians();
        if let Some(number) = (1..180).find(|number| found.slope(step(*number)) <= 0.0) {
            found.last = find_root(step(number - 1), step(number), |angle| found.slope(angle))?;
        }
        Some(found)
    }

    fn value(&self, angle: f64) -> f64 {
        self.terms.iter().take(self.degree + 1).rev().fold(0.0, |sum, term| sum * angle + term)
    }

    fn slope(&self, angle: f64) -> f64 {
        let terms = self.terms.iter().enumerate().take(self.degree + 1).skip(1).rev();
        terms.fold(0.0, |sum, (power, term)| sum * angle + power as f64 * term)
    }

    /// Returns the distance from the pole, in degrees, of a latitude.
    pub(super) fn distance(&self, theta: f64) -> Option<f64> {
        let angle = (90.0 - theta).to_radians();
        (angle <= self.last + TOLERANCE).then(|| R0 * self.value(angle))
    }

    /// Returns the latitude at a distance from the pole, in degrees.
    pub(super) fn latitude(&self, distance: f64) -> Option<f64> {
        let radius = distance / R0;
        let angle = if self.degree == 1 {
            (radius - self.terms[0]) / self.terms[1]
        } else {
            let (least, most) = (self.value(0.0), self.value(self.last));
            match radius {
                radius if radius < least => (radius >= least - TOLERANCE).then_some(0.0)?,
                radius if radius > most => (radius <= most + TOLERANCE).then_some(self.last)?,
                radius => find_root(0.0, self.last, |angle| self.value(angle) - radius)?,
            }
        };
        (-TOLERANCE..=std::f64::consts::PI + TOLERANCE).contains(&angle).then(|| 90.0 - angle.to_degrees())
    }
}
