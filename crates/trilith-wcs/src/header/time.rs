//! Time axes (FITS standard 4.0, section 9): the moment that they count from.

use super::HeaderKeywords;
use crate::wcs::TimeReference;

/// Time scales as types of axes, and their names in astropy.
const SCALES: &[(&str, &str)] = &[
    ("UTC", "utc"),
    ("GMT", "utc"),
    ("UT", "utc"),
    ("TAI", "tai"),
    ("IAT", "tai"),
    ("TT", "tt"),
    ("TDT", "tt"),
    ("ET", "tt"),
    ("UT1", "ut1"),
    ("TCG", "tcg"),
    ("TCB", "tcb"),
    ("TDB", "tdb"),
    ("LOCAL", "local"),
    // TAI is 19 seconds ahead of GPS.
    ("GPS", "tai"),
];
const GPS_DELAY: f64 = 19.0 / 86_400.0;
/// The Julian Date at the start of MJD.
const MJD_START: f64 = 2_400_000.5;

/// Returns `true` for the type of a time axis.
pub(super) fn is_time(name: &str) -> bool {
    name == "TIME" || SCALES.iter().any(|(kind, _)| *kind == name)
}

impl HeaderKeywords {
    /// Returns the moment that an axis of a type counts from: that of MJDREF, JDREF or DATEREF, or MJD 0. `None` if the time scale is
    /// unknown.
    pub(super) fn time_reference(&self, kind: &str) -> Option<TimeReference> {
        let kind = kind.split('-').next().unwrap_or("").to_ascii_uppercase();
        let system = self.text_value("TIMESYS").to_ascii_uppercase();
        let kind = match (kind.as_str(), system.as_str()) {
            ("TIME", "") => "UTC",
            ("TIME", system) => system.split('(').next().unwrap_or(""),
            (kind, _) => kind,
        };
        let (_, scale) = SCALES.iter().find(|(name, _)| *name == kind)?;
        let delay = if kind == "GPS" { GPS_DELAY } else { 0.0 };
        let mut found = match (self.reference_day(), self.text_value("DATEREF")) {
            (Some((day, fraction)), _) => TimeReference::new(to_decimal(day, fraction + delay), "mjd", *scale),
            (None, "") => TimeReference::new(to_decimal(0.0, delay), "mjd", *scale),
            (None, _) if delay != 0.0 => return None,
            (None, date) => TimeReference::new(date, "", *scale),
        };
        let place = self.text_value("TREFPOS").to_ascii_uppercase();
        found.location = match place.as_str() {
            "GEOCENTER" => Some([0.0; 3]),
            _ if place.starts_with("TOPOCENT") => self.observatory(),
            _ => None,
        };
        Some(found)
    }

    /// The reference time as a day of MJD and its fraction.
    fn reference_day(&self) -> Option<(f64, f64)> {
        let pair = |name: &str, start: f64| {
            let (day, fraction) = (self.get(&format!("{name}I")), self.get(&format!("{name}F")));
            match (day.or(fraction), self.get(name)) {
                (Some(_), _) => Some((day.unwrap_or(0.0), fraction.unwrap_or(0.0))),
                (None, Some(day)) => Some((day.trunc(), day.fract())),
                (None, None) => None,
            }
            .map(|(day, fraction)| (day - start.trunc(), fraction - start.fract()))
        };
        pair("MJDREF", 0.0).or_else(|| pair("JDREF", MJD_START))
    }

    fn observatory(&self) -> Option<[f64; 3]> {
        Some([self.get("OBSGEO-X")?, self.get("OBSGEO-Y")?, self.get("OBSGEO-Z")?])
    }
}

/// The sum of a day and a fraction in decimal digits, without rounding to one double.
fn to_decimal(day: f64, fraction: f64) -> String {
    let whole = day.trunc() + (day.fract() + fraction).floor();
    let part = (day.fract() + fraction) - (day.fract() + fraction).floor();
    let digits = format!("{part}");
    match digits.strip_prefix("0.") {
        Some(digits) if whole >= 0.0 => format!("{whole}.{digits}"),
        _ if part == 0.0 => format!("{whole}"),
        _ => format!("{}", whole + part),
    }
}

#[cfg(test)]
mod tests {
    use super::super::HeaderKeywords;

    fn reference(numbers: &[(&str, f64)], texts: &[(&str, &str)], kind: &str) -> Option<(String, String, String)> {
        let mut keywords = HeaderKeywords::default();
        numbers.iter().for_each(|(key, value)| keywords.insert_number(key, *value));
        texts.iter().for_each(|(key, value)| keywords.insert_text(key, value));
        keywords.time_reference(kind).map(|found| (found.value, found.format, found.scale))
    }

    /// FITS standard 4.0, sections 9.2.1 and 9.2.2.
    #[test]
    fn reference_time_follows_its_keywords() {
        let known = |value: &str, format: &str, scale: &str| Some((value.to_owned(), format.to_owned(), scale.to_owned()));
        let split = [("MJDREFI", 51_544.0), ("MJDREFF", 0.000_742_870_370_370_37)];
        assert_eq!(reference(&split, &[], "TIME"), known("51544.00074287037037037", "mjd", "utc"));
        assert_eq!(reference(&split, &[("TIMESYS", "TDB")], "TIME"), known("51544.00074287037037037", "mjd", "tdb"));
        assert_eq!(reference(&[("MJDREF", 50_000.25)], &[], "TT"), known("50000.25", "mjd", "tt"));
        assert_eq!(reference(&[("JDREF", 2_451_545.0)], &[], "TAI"), known("51544.5", "mjd", "tai"));
        assert_eq!(reference(&[], &[("DATEREF", "2001-02-03")], "UTC"), known("2001-02-03", "", "utc"));
        assert_eq!(reference(&[], &[], "TDT"), known("0", "mjd", "tt"));
        assert_eq!(reference(&[], &[("TIMESYS", "MARS")], "TIME"), None);
        assert_eq!(reference(&[("MJDREF", 0.5)], &[], "GPS"), known("0.5002199074074074", "mjd", "tai"));
    }
}
