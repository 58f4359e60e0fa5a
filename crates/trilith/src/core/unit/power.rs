//! Powers of units.

use std::fmt;

/// A power: a fraction in lowest terms, or a decimal number.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub(crate) enum Power {
    /// Numerator and denominator; the denominator is positive.
    Fraction(i64, i64),
    /// A number written with a decimal point.
    Decimal(f64),
}

impl Power {
    pub(super) const ONE: Power = Power::Fraction(1, 1);

    pub(super) fn from_fraction(numerator: i64, denominator: i64) -> Option<Self> {
        if denominator == 0 {
            return None;
        }
        let (mut a, mut b) = (numerator.unsigned_abs(), denominator.unsigned_abs());
        while b != 0 {
            (a, b) = (b, a % b);
        }
        let divisor = i64::try_from(a.max(1)).ok()?.checked_mul(denominator.signum())?;
        Some(Power::Fraction(numerator.checked_div(divisor)?, denominator.checked_div(divisor)?))
    }

    pub(super) fn to_f64(self) -> f64 {
        match self {
            Power::Fraction(a, b) => a as f64 / b as f64,
            Power::Decimal(value) => value,
        }
    }

    pub(super) fn checked_mul(self, other: Self) -> Option<Self> {
        match (self, other) {
            (Power::Fraction(a, b), Power::Fraction(c, d)) => Self::from_fraction(a.checked_mul(c)?, b.checked_mul(d)?),
            _ => Some(Power::Decimal(self.to_f64() * other.to_f64())),
        }
    }

    pub(super) fn checked_add(self, other: Self) -> Option<Self> {
        match (self, other) {
            (Power::Fraction(a, b), Power::Fraction(c, d)) => {
                Self::from_fraction(a.checked_mul(d)?.checked_add(c.checked_mul(b)?)?, b.checked_mul(d)?)
            }
            _ => Some(Power::Decimal(self.to_f64() + other.to_f64())),
        }
    }

    pub(super) fn is_zero(self) -> bool {
        self.to_f64() == 0.0
    }
}

impl fmt::Display for Power {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Power::Fraction(a, 1) => write!(f, "{a}"),
            Power::Fraction(a, b) => write!(f, "({a}/{b})"),
            Power::Decimal(value) => write!(f, "({value:?})"),
        }
    }
}
