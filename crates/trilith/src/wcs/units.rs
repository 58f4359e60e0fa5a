//! Units of parameters: what is needed to bring numbers of one unit into another.

use std::collections::BTreeMap;

use crate::error::{Error, Result};

/// A product of powers of base units, and a factor.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ScaledUnit {
    factor: f64,
    powers: BTreeMap<String, i32>,
}

/// Names of units with the base that they are a multiple of.
const UNITS: &[(&str, &str, f64)] = &[
    ("deg", "deg", 1.0),
    ("degree", "deg", 1.0),
    ("arcmin", "deg", 1.0 / 60.0),
    ("arcsec", "deg", 1.0 / 3600.0),
    ("mas", "deg", 1.0 / 3.6e6),
    ("rad", "deg", 180.0 / std::f64::consts::PI),
    ("hourangle", "deg", 15.0),
    ("pix", "pixel", 1.0),
    ("pixel", "pixel", 1.0),
    ("m", "m", 1.0),
    ("cm", "m", 1e-2),
    ("mm", "m", 1e-3),
    ("um", "m", 1e-6),
    ("micron", "m", 1e-6),
    ("nm", "m", 1e-9),
    ("Angstrom", "m", 1e-10),
    ("AA", "m", 1e-10),
    ("km", "m", 1e3),
    ("s", "s", 1.0),
    ("ms", "s", 1e-3),
    ("min", "s", 60.0),
    ("h", "s", 3600.0),
    ("d", "s", 86400.0),
    ("Hz", "Hz", 1.0),
    ("kHz", "Hz", 1e3),
    ("MHz", "Hz", 1e6),
    ("GHz", "Hz", 1e9),
];

impl ScaledUnit {
    /// The unit of a text such as `arcsec`, `deg.pixel**-1` or `nm / pix`.
    pub(super) fn parse(text: &str) -> Result<Self> {
        // An hour angle in the words of the virtual observatory is `15deg`.
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, rest) = text.split_at(end);
        let (factor, text) = match number.parse::<f64>() {
            Ok(factor) if rest.starts_with(|c: char| c.is_alphabetic() || c == ' ') && factor > 0.0 => (factor, rest),
            _ => (1.0, text),
        };
        let mut unit = Self { factor, powers: BTreeMap::new() };
        let spaced = text.replace("**", "^").replace('/', " / ").replace(['*', '.', '(', ')'], " ");
        let mut sign = 1;
        for word in spaced.split_whitespace() {
            if word == "/" {
                sign = -1;
                continue;
            }
            let digits = word.find(|c: char| c == '^' || c == '-' || c.is_ascii_digit()).unwrap_or(word.len());
            let (name, power) = word.split_at(digits);
            let power = power.trim_start_matches('^');
            let power: i32 = if power.is_empty() { 1 } else { power.parse().map_err(|_| unsupported_unit_error(text))? };
            if name.is_empty() {
                if word != "1" {
                    return Err(unsupported_unit_error(text));
                }
                continue;
            }
            if !(-9..=9).contains(&power) {
                return Err(unsupported_unit_error(text));
            }
            let (base, factor) = UNITS.iter().find(|known| known.0 == name).map_or((name, 1.0), |known| (known.1, known.2));
            let power = power * sign;
            unit.factor *= factor.powi(power);
            unit.add_power(base, power);
            sign = 1;
        }
        Ok(unit)
    }

    fn add_power(&mut self, base: &str, power: i32) {
        let sum = self.powers.entry(base.to_owned()).or_insert(0);
        *sum += power;
        if *sum == 0 {
            self.powers.remove(base);
        }
    }

    /// Degrees.
    pub(super) fn degrees() -> Self {
        Self { factor: 1.0, powers: BTreeMap::from([("deg".to_owned(), 1)]) }
    }

    /// The unit of pure numbers.
    pub(super) fn dimensionless() -> Self {
        Self { factor: 1.0, powers: BTreeMap::new() }
    }

    pub(super) fn divided_by(&self, other: &Self) -> Self {
        let mut quotient = Self { factor: self.factor / other.factor, powers: self.powers.clone() };
        other.powers.iter().for_each(|(base, power)| quotient.add_power(base, -power));
        quotient
    }

    pub(super) fn times(&self, other: &Self) -> Self {
        let mut product = Self { factor: self.factor * other.factor, powers: self.powers.clone() };
        other.powers.iter().for_each(|(base, power)| product.add_power(base, *power));
        product
    }

    /// Returns the factor that converts numbers of this unit to another.
    pub(super) fn factor_to(&self, other: &Self) -> Result<f64> {
        if self == other {
            return Ok(1.0);
        }
        if self.powers != other.powers {
            return Err(Error::malformed(format!(
                "{} cannot be converted to {}",
                self.describe_powers(),
                other.describe_powers()
            )));
        }
        Ok(self.factor / other.factor)
    }

    fn describe_powers(&self) -> String {
        let word = |(base, power): (&String, &i32)| if *power == 1 { base.clone() } else { format!("{base}{power}") };
        let words: Vec<String> = self.powers.iter().map(word).collect();
        format!("a unit of {}", if words.is_empty() { "pure numbers".to_owned() } else { words.join(" ") })
    }
}

fn unsupported_unit_error(text: &str) -> Error {
    Error::unsupported(format!("unit {text:?} in a coordinate transform is not supported"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_products_of_powers() {
        let unit = |text: &str| ScaledUnit::parse(text).unwrap();
        assert_eq!(unit("deg.pixel**-1").times(&unit("pix")), unit("deg"));
        assert_eq!(unit("arcsec / pix"), unit("arcsec pixel-1"));
        assert!((unit("arcsec").factor_to(&unit("deg")).unwrap() * 3600.0 - 1.0).abs() < 1e-15);
        assert_eq!(unit("1"), unit(""));
        assert_eq!(unit("").divided_by(&unit("pix")), unit("1 / pix"));
        assert!(unit("um").factor_to(&unit("s")).is_err() && ScaledUnit::parse("m^x").is_err());
    }
}
