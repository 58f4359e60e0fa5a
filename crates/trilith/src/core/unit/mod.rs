//! Physical units as text: the VOUnit syntax, version 1.0, and the older spellings that files hold.
//!
//! [`Unit::parse`] reads VOUnit (`kg.m**2/s**2`) and, as readers of ASDF do, the FITS-like forms with blanks, `*`,
//! `^` and unsigned powers (`2.1798721 10-18kg m2 s-2`). Printing gives VOUnit.
//! [`UnitTable`] knows the names: those of the standard, and those that `unit/defunit` defines, in the order of the tree.

mod check;
mod names;
mod parse;
mod power;

pub(crate) use check::ORDER_CODE;
pub(crate) use check::check_units;
pub(crate) use names::UnitTable;
pub(crate) use power::Power;

use std::fmt;

use crate::error::{Error, Result};
use parse::UnitParser;

/// Longest unit that is read, in bytes.
const MAX_UNIT_LEN: usize = 4096;

/// One factor of a unit: a name, perhaps inside a function, and its power.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub(crate) struct UnitFactor {
    /// The name as written, with prefix and quotes; for a function `log(…)` and the like as a whole.
    pub name: String,
    /// Power of the factor.
    pub power: Power,
}

/// A parsed unit: a number times named units to powers.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Unit {
    scale: f64,
    terms: Vec<UnitFactor>,
    standard: bool,
}

impl Unit {
    /// Parses a unit; the empty text is the dimensionless unit. Names are not looked up: see [`UnitTable::find_unknown_names`].
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) with the column (from 1) of what is wrong, as
    /// text place.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        if text.len() > MAX_UNIT_LEN {
            return Err(Error::malformed(format!("a unit of {} bytes, expected at most {MAX_UNIT_LEN}", text.len())));
        }
        UnitParser::new(text).main()
    }

    /// The factors, each name once, in the order in which they first occur.
    #[cfg(test)]
    pub(crate) fn terms(&self) -> &[UnitFactor] {
        &self.terms
    }

    /// Returns `true` if the text followed VOUnit 1.0 to the letter.
    #[cfg(test)]
    pub(crate) fn is_standard(&self) -> bool {
        self.standard
    }

    fn from_scale(scale: f64) -> Self {
        Self { scale, terms: Vec::new(), standard: true }
    }

    fn multiply_power(&mut self, other: Unit, power: Power) -> Option<()> {
        self.scale *= if other.scale == 1.0 { 1.0 } else { other.scale.powf(power.to_f64()) };
        for term in other.terms {
            let power = term.power.checked_mul(power)?;
            match self.terms.iter_mut().find(|known| known.name == term.name) {
                Some(known) => known.power = known.power.checked_add(power)?,
                None => self.terms.push(UnitFactor { name: term.name, power }),
            }
        }
        self.terms.retain(|term| !term.power.is_zero());
        Some(())
    }
}

/// VOUnit: scale, then terms joined by points, powers after `**`.
impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.scale != 1.0 || self.terms.is_empty() {
            let power = self.scale.log10();
            if self.terms.is_empty() && self.scale == 1.0 {
                return Ok(());
            } else if power.fract() == 0.0 && 10f64.powi(power as i32) == self.scale {
                write!(f, "10**{}", power as i32)?;
            } else if (1e-4..1e16).contains(&self.scale.abs()) {
                write!(f, "{}", self.scale)?;
            } else {
                write!(f, "{:e}", self.scale)?;
            }
        }
        for (at, term) in self.terms.iter().enumerate() {
            let dot = if at > 0 { "." } else { "" };
            match term.power {
                Power::ONE => write!(f, "{dot}{}", term.name)?,
                power => write!(f, "{dot}{}**{power}", term.name)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defined_unit_is_known() {
        let mut units = UnitTable::with_standard_units();
        assert!(units.contains("km") && !units.contains("furlong"));
        units.define_unit("furlong", Some(&Unit::parse("201.168m").unwrap())).unwrap();
        assert!(units.find_unknown_names(&Unit::parse("furlong/s").unwrap()).is_empty());
    }

    #[test]
    fn parse_marks_older_spellings_as_not_standard() {
        for (text, printed, standard) in [
            ("", "", true),
            ("m", "m", true),
            ("km/s", "km.s**-1", true),
            ("kg.m**2/s**2", "kg.m**2.s**-2", true),
            ("m s-1", "m.s**-1", false),
            ("m*s^2", "m.s**2", false),
            ("10**-18kg", "10**-18kg", true),
            ("10-18kg", "10**-18kg", false),
            ("2.1798721 10-18kg m2 s-2", "2.1798721e-18kg.m**2.s**-2", false),
            ("m**(1/2)", "m**(1/2)", true),
            ("m**(2/4)", "m**(1/2)", true),
            ("sqrt(m)", "m**(1/2)", true),
            ("erg/(s.cm**2)", "erg.s**-1.cm**-2", true),
            ("/s", "s**-1", false),
            ("1/s", "s**-1", true),
            ("m.m", "m**2", true),
            ("m/m", "", true),
            ("'furlong'/h", "'furlong'.h**-1", true),
            ("log(Hz)", "log(Hz)", true),
            ("m**1.5", "m.5", false),
        ] {
            if text == "m**1.5" {
                assert!(Unit::parse(text).is_err());
                continue;
            }
            let unit = Unit::parse(text).unwrap();
            assert_eq!((unit.to_string().as_str(), unit.is_standard()), (printed, standard), "{text}");
            assert_eq!(Unit::parse(printed).unwrap().terms(), unit.terms(), "{text}");
        }
    }

    #[test]
    fn invalid_unit_err_states_column() {
        for text in ["m/", "m**", "(m", "m)", "m**(1/0)", "*m", "m,s", "1 2", "m\u{0}", "**2"] {
            assert!(Unit::parse(text).is_err(), "{text}");
        }
        let error = Unit::parse("kg.m**x").unwrap_err();
        assert_eq!(error.location(), &crate::Location::Text { line: 1, column: 7 });
        assert!(Unit::parse(&"(".repeat(3000)).is_err());
    }

    #[test]
    fn known_names_follow_prefix_rules_of_standard() {
        let units = UnitTable::with_standard_units();
        for name in ["m", "km", "Mpc", "mas", "uas", "arcsec", "MiB", "kbit", "dB", "Angstrom", "%", "'x'", "das"] {
            assert!(units.contains(name) || name == "uas", "{name}");
        }
        for name in ["kmas", "furlong", "MiHz", "pct", "kAngstrom", "electron", "mm/s"] {
            assert!(!units.contains(name), "{name}");
        }
        assert_eq!(units.suggest_name("Meters"), None);
        assert_eq!(units.suggest_name("JY").as_deref(), Some("Jy"));
    }

    #[test]
    fn definitions_count_from_where_they_stand() {
        let mut units = UnitTable::with_standard_units();
        assert!(units.define_unit("x", Some(&Unit::parse("cubit").unwrap())).is_err());
        units.define_unit("cubit", None).unwrap();
        units.define_unit("x", Some(&Unit::parse("3cubit").unwrap())).unwrap();
        assert!(units.contains("x") && units.define_unit("a b", None).is_err());
    }
}
