//! The kinds of axes that `CTYPEi` gives.

/// A `CTYPE` in the words of the standard: those of the AIPS convention for spectra are translated, as wcslib does with `VELREF`.
pub(super) fn standard_kind(kind: &str, reference: f64) -> String {
    let (name, frame) = kind.split_at_checked(4).unwrap_or((kind, ""));
    let (code, velocity) = (reference.rem_euclid(256.0), (reference / 256.0).floor());
    let has_frame = matches!(frame, "-LSR" | "-HEL" | "-OBS");
    let has_code = (1.0..=7.0).contains(&code);
    match name {
        _ if !frame.is_empty() && !has_frame => kind.to_owned(),
        "FREQ" => "FREQ".to_owned(),
        "FELO" => "VOPT-F2W".to_owned(),
        "VELO" if has_frame || has_code => match velocity {
            0.0 => "VOPT".to_owned(),
            1.0 => "VRAD".to_owned(),
            _ => kind.to_owned(),
        },
        _ => kind.to_owned(),
    }
}

/// The system of a `CTYPE` of the sky, and whether it is the longitude.
pub(super) fn parse_celestial_ctype(kind: &str) -> Option<(&str, bool)> {
    let (name, code) = kind.split_at_checked(4)?;
    if code.len() < 4 || !code.starts_with('-') {
        return None;
    }
    Some(match name {
        "RA--" => ("RA", true),
        "DEC-" => ("RA", false),
        _ => {
            let system = |ends: [&str; 2]| ends.into_iter().find_map(|end| name.strip_suffix(end));
            let longitude = system(["LON", "LN"]).map(|system| (system, true));
            longitude.or_else(|| system(["LAT", "LT"]).map(|system| (system, false)))?
        }
    })
}

/// Returns `true` if the values of an axis are not in proportion to pixels.
pub(super) fn needs_projection(kind: &str) -> bool {
    kind.get(4..).is_some_and(|code| code.starts_with('-'))
}
