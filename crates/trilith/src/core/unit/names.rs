//! The names of units, and what may be before them.

use std::collections::BTreeSet;

use super::Unit;
use crate::error::{Error, Result};

/// Units that take every decimal prefix.
const DECIMAL_PREFIXABLE: &[&str] = &[
    "A", "a", "adu", "arcmin", "arcsec", "barn", "beam", "bin", "C", "cd", "chan", "count", "ct", "d", "D", "deg", "erg", "eV",
    "F", "g", "G", "H", "h", "Hz", "J", "Jy", "K", "lm", "lx", "lyr", "m", "mag", "min", "mol", "N", "Ohm", "Pa", "pc", "ph",
    "photon", "pix", "pixel", "R", "rad", "Ry", "s", "S", "solLum", "solMass", "solRad", "sr", "T", "u", "V", "voxel", "W", "Wb",
    "yr",
];
/// Units that take decimal and binary prefixes.
const BINARY_PREFIXABLE: &[&str] = &["bit", "byte", "B"];
/// Units that take none.
const UNPREFIXABLE: &[&str] = &["Angstrom", "angstrom", "AU", "au", "Ba", "dB", "mas", "Sun", "%"];
const DECIMAL_PREFIXES: &[&str] =
    &["da", "y", "z", "a", "f", "p", "n", "u", "m", "c", "d", "h", "k", "M", "G", "T", "P", "E", "Z", "Y"];
const BINARY_PREFIXES: &[&str] = &["Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "Zi", "Yi"];
/// Names that prefix and unit would spell, but that mean something else.
const AMBIGUOUS_NAMES: &[&str] = &["pct", "pcount", "yd", "dbyte"];
/// Names that may precede parentheses.
pub(super) const FUNCTIONS: &[&str] = &["sqrt", "ln", "exp", "log", "mag", "dB", "dex"];

/// Letters and underscores, `%`, or a name in single quotes after an optional prefix.
pub(super) fn is_name(name: &str) -> bool {
    let letters = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_alphabetic() || c == '_');
    match name.split_once('\'') {
        None => name == "%" || letters(name),
        Some((prefix, quoted)) => {
            (prefix.is_empty() || DECIMAL_PREFIXES.contains(&prefix) || BINARY_PREFIXES.contains(&prefix))
                && quoted.strip_suffix('\'').is_some_and(letters)
        }
    }
}

/// The names of units: those of VOUnit, and the ones defined since.
#[derive(Debug, Clone, Default)]
pub(crate) struct UnitTable {
    defined: BTreeSet<String>,
}

impl UnitTable {
    /// The units of VOUnit 1.0.
    pub(crate) fn with_standard_units() -> Self {
        Self::default()
    }

    /// Returns `true` if a name, prefix included, is that of a unit. A name in quotes is anybody's own and known.
    pub(crate) fn contains(&self, name: &str) -> bool {
        if name.contains('\'') || self.defined.contains(name) || UNPREFIXABLE.contains(&name) || BINARY_PREFIXABLE.contains(&name)
        {
            return true;
        }
        if let Some((function, _)) = name.split_once('(') {
            return FUNCTIONS.contains(&function);
        }
        if AMBIGUOUS_NAMES.contains(&name) {
            return false;
        }
        if DECIMAL_PREFIXABLE.contains(&name) {
            return true;
        }
        let with = |prefixes: &[&str], bases: &[&str]| {
            prefixes.iter().any(|prefix| name.strip_prefix(prefix).is_some_and(|base| bases.contains(&base)))
        };
        with(DECIMAL_PREFIXES, DECIMAL_PREFIXABLE)
            || with(DECIMAL_PREFIXES, BINARY_PREFIXABLE)
            || with(BINARY_PREFIXES, BINARY_PREFIXABLE)
    }

    /// The names of a unit that are not known.
    pub(crate) fn find_unknown_names<'u>(&self, unit: &'u Unit) -> Vec<&'u str> {
        unit.terms.iter().map(|term| term.name.as_str()).filter(|name| !self.contains(name)).collect()
    }

    /// Defines a name, as `unit/defunit` does: for another unit, or as a new base unit.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if the name is none, or the unit uses unknown
    /// names.
    pub(crate) fn define_unit(&mut self, name: &str, unit: Option<&Unit>) -> Result<()> {
        if !is_name(name) && !name.chars().all(|c| c.is_alphanumeric() || c == '_') {
            return Err(Error::malformed(format!("{name:?} is not a name of a unit")));
        }
        if let Some(unknown) = unit.map(|unit| self.find_unknown_names(unit)).filter(|unknown| !unknown.is_empty()) {
            return Err(Error::malformed(format!(
                "the unit {name} is defined by {}, which is not known here",
                unknown.join(", ")
            )));
        }
        self.defined.insert(name.to_owned());
        Ok(())
    }

    /// The name that may have been meant: the same in another case, or without a plural s.
    pub(crate) fn suggest_name(&self, name: &str) -> Option<String> {
        let all = DECIMAL_PREFIXABLE.iter().chain(BINARY_PREFIXABLE).chain(UNPREFIXABLE).copied();
        let lower = name.to_lowercase();
        all.clone()
            .find(|known| known.to_lowercase() == lower || lower.strip_suffix('s') == Some(&known.to_lowercase()))
            .map(str::to_owned)
    }
}
