//! Units of the axes of a header: spellings that wcslib translates, and units of axes without one.

/// Spellings of units, and the standard one. wcslib (`wcsutrn`) and so astropy translate these.
const SPELLINGS: &[(&str, &[&str])] = &[
    ("Angstrom", &["Angstroms", "angstrom", "angstroms", "ANGSTROM", "ANGSTROMS"]),
    ("arcmin", &["arcmins", "ARCMIN", "ARCMINS"]),
    ("arcsec", &["arcsecs", "ARCSEC", "ARCSECS"]),
    ("d", &["day", "days", "DAY", "DAYS"]),
    ("deg", &["degree", "degrees", "Deg", "Degree", "Degrees", "DEG", "DEGREE", "DEGREES"]),
    ("GHz", &["GHZ"]),
    ("h", &["hr", "HR"]),
    ("Hz", &["hz", "HZ"]),
    ("kHz", &["KHZ"]),
    ("Jy", &["JY"]),
    ("K", &["kelvin", "kelvins", "Kelvin", "Kelvins", "KELVIN", "KELVINS"]),
    ("km", &["KM"]),
    ("m", &["metre", "meter", "metres", "meters", "M", "METRE", "METER", "METRES", "METERS"]),
    ("MHz", &["MHZ"]),
    ("min", &["MIN"]),
    ("rad", &["radian", "radians", "RAD", "RADIAN", "RADIANS"]),
    ("s", &["sec", "second", "seconds", "SEC", "SECOND", "SECONDS"]),
    ("yr", &["year", "years", "YR", "YEAR", "YEARS"]),
];

/// Returns a unit with the standard spellings of its parts: `KM/SEC` is `km/s`.
pub(super) fn standard_unit(unit: &str) -> String {
    let mut standard = String::with_capacity(unit.len());
    let mut rest = unit;
    while let Some(first) = rest.chars().next() {
        let is_letter = |c: char| c.is_alphabetic() == first.is_alphabetic();
        let (part, after) = rest.split_at(rest.find(|c: char| !is_letter(c)).unwrap_or(rest.len()));
        standard.push_str(SPELLINGS.iter().find(|(_, known)| known.contains(&part)).map_or(part, |(name, _)| name));
        rest = after;
    }
    standard
}

/// Returns the unit of an axis of a type whose header gives none (FITS standard 4.0, table 25); empty for a number.
pub(super) fn default_unit(kind: &str) -> &'static str {
    match kind {
        "FREQ" => "Hz",
        "ENER" => "J",
        "WAVN" => "/m",
        "VRAD" | "VOPT" | "VELO" => "m/s",
        "WAVE" | "AWAV" => "m",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tier: first. wcslib's `wcsutrn` translates the parts of a unit.
    #[test]
    fn spellings_are_translated_in_parts() {
        for (unit, wanted) in [
            ("KHZ", "kHz"),
            ("KM/SEC", "km/s"),
            ("km/s", "km/s"),
            ("10**3 HZ", "10**3 Hz"),
            ("DEGREES", "deg"),
            ("um", "um"),
            ("", ""),
        ] {
            assert_eq!(standard_unit(unit), wanted, "{unit}");
        }
    }
}
