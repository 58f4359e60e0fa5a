//! Coordinate frames of a GWCS.

use trilith_wcs::{Frame, FrameAxis, TimeReference};

use super::numbers::{integers, read_numbers};
use super::units::ScaledUnit;
use super::{get, item_tag, name_of, read_list, read_text, read_text_list, require_item};
use crate::error::{Error, Result};
use crate::file::{Item, ItemKind};

/// Axes that a frame may have.
const MAX_AXES: usize = 32;

/// The frame of an item: an object, or its name alone.
pub(super) fn read_frame(item: &Item<'_>) -> Result<Frame> {
    if item.kind() != ItemKind::Mapping {
        return Ok(Frame::unknown_frame(read_text(item)?.into_owned()));
    }
    let kind = item_tag(item).unwrap_or_default();
    let name = get(item, "name")?.map(|name| read_text(&name).map(|name| name.into_owned())).transpose()?.unwrap_or_default();
    let mut frame = Frame::unknown_frame(name);
    if name_of(&kind) == "composite_frame" {
        let parts = get(item, "frames")?.map(|frames| read_list(&frames)).transpose()?.unwrap_or_default();
        for part in parts.iter().take(MAX_AXES) {
            append_frame_axes(&mut frame, part)?;
        }
    } else {
        append_frame_axes(&mut frame, item)?;
    }
    Ok(frame)
}

/// Puts the axes of a simple frame to their places.
fn append_frame_axes(frame: &mut Frame, item: &Item<'_>) -> Result<()> {
    let tag = item_tag(item).unwrap_or_default();
    let kind = name_of(&tag);
    let strings = |key: &str| -> Result<Vec<String>> {
        get(item, key)?.map(|found| read_text_list(&found)).transpose().map(Option::unwrap_or_default)
    };
    let (mut names, mut units, mut types) = (strings("axes_names")?, strings("unit")?, strings("axis_physical_types")?);
    let order = get(item, "axes_order")?.map(|order| integers(&order)).transpose()?;
    let count = match kind {
        "frame2d" | "celestial_frame" => 2.max(names.len()),
        "spectral_frame" | "temporal_frame" | "stokes_frame" => 1,
        _ => names.len().max(units.len()).max(order.as_ref().map_or(0, Vec::len)),
    };
    let order =
        order.filter(|order| order.len() == count).unwrap_or_else(|| (frame.axes.len()..frame.axes.len() + count).collect());
    if kind == "celestial_frame" && is_latitude(names.first(), types.first()) {
        // gwcs 1.0 lists the axes in the order of the coordinates, and not longitude first as `axes_order` has them.
        [&mut names, &mut units, &mut types].into_iter().for_each(|list| list.reverse());
    }
    let reference_frame = get(item, "reference_frame")?;
    let reference = reference_frame.as_ref().and_then(item_tag).map(|tag| reference_name(&tag));
    let fallback = |axis: usize| match (kind, axis) {
        ("celestial_frame", 0) => ("lon", "deg", "pos.eq.ra"),
        ("celestial_frame", 1) => ("lat", "deg", "pos.eq.dec"),
        ("spectral_frame", _) => ("", "", "em"),
        ("temporal_frame", _) => ("", "s", "time"),
        ("stokes_frame", _) => ("stokes", "", "phys.polarization.stokes"),
        _ => ("", "", ""),
    };
    for (axis, place) in order.iter().enumerate() {
        if *place >= MAX_AXES {
            return Err(Error::limit(format!("a frame with axis {place} (at most {MAX_AXES} axes)")));
        }
        if frame.axes.len() <= *place {
            frame.axes.resize(place + 1, FrameAxis::default());
        }
        let (name, unit, physical) = fallback(axis);
        let chosen = |list: &[String], fallback: &str| {
            list.get(axis).filter(|text| !text.is_empty()).map_or_else(|| fallback.to_owned(), Clone::clone)
        };
        // The types of a position that is in no equatorial frame are not those of one that is.
        let is_known = kind != "celestial_frame"
            || reference.as_deref().is_none_or(|name| matches!(name, "ICRS" | "FK5" | "FK4" | "FK4-NO-E"));
        let physical = if is_known { physical } else { "" };
        if let Some(there) = frame.axes.get_mut(*place) {
            *there = FrameAxis::new(chosen(&names, name), chosen(&units, unit), chosen(&types, physical));
            if kind == "temporal_frame" {
                // Numbers of the axis do not need the moment.
                there.time = reference_frame.as_ref().and_then(|found| read_time(found).ok().flatten());
            }
        }
    }
    if kind == "celestial_frame"
        && let [longitude, latitude, ..] = order[..]
        && frame.sky.is_none()
    {
        frame.sky = Some((longitude, latitude));
        frame.reference_frame = reference.unwrap_or_default();
        let has_equinox = frame.reference_frame.starts_with("FK") || frame.reference_frame.ends_with("Ecliptic");
        if let Some(found) = reference_frame.filter(|_| has_equinox) {
            set_equinox(frame, &found)?;
        }
    }
    Ok(())
}

/// Returns `true` if the first axis of a frame on the sky is its latitude.
fn is_latitude(name: Option<&String>, kind: Option<&String>) -> bool {
    match kind.map(String::as_str) {
        Some("") | None => name.is_some_and(|name| matches!(name.to_ascii_lowercase().as_str(), "lat" | "dec")),
        Some(kind) => kind.ends_with(".dec") || kind.ends_with(".lat"),
    }
}

/// Takes over the equinox of a reference frame. One whose year is not known becomes part of the name, so that it differs from any other.
fn set_equinox(frame: &mut Frame, reference: &Item<'_>) -> Result<()> {
    let Some(attributes) = get(reference, "frame_attributes")? else { return Ok(()) };
    let time = |key: &str| -> Result<Option<(String, Option<f64>)>> {
        let Some(found) = get(&attributes, key)? else { return Ok(None) };
        let format = match found.kind() {
            ItemKind::Mapping => {
                get(&found, "format")?.map(|format| read_text(&format).map(|text| text.into_owned())).transpose()?
            }
            _ => None,
        };
        let value = get(&found, "value")?.unwrap_or(found);
        let text = value.text().unwrap_or_default().trim().to_owned();
        let date = julian_date(&text, format.as_deref().unwrap_or_default());
        Ok(Some((text, date)))
    };
    let Some((said, date)) = time("equinox")? else { return Ok(()) };
    if let Some((observed, moment)) = time("obstime")?
        && observed != said
        && (date.is_none() || moment != date)
    {
        // FK4 turns, so that positions of another epoch of observation are others.
        frame.reference_frame = format!("{} observed at {observed}", frame.reference_frame);
        return Ok(());
    }
    let is_besselian = frame.reference_frame.starts_with("FK4");
    let usual = if is_besselian { 1950.0 } else { 2000.0 };
    let year = date.map(|date| if is_besselian { BESSELIAN.year_of(date) } else { JULIAN.year_of(date) });
    // A year of three digits after the point that went through a date is that year.
    let year = year.map(|year| if (year * 1e3 - (year * 1e3).round()).abs() < 1e-4 { (year * 1e3).round() / 1e3 } else { year });
    match year {
        Some(year) => frame.equinox = (year != usual).then_some(year),
        None => frame.reference_frame = format!("{} of {said}", frame.reference_frame),
    }
    Ok(())
}

/// Years from an epoch, by Julian date and days of a year (Lieske 1979; astropy's `jyear` and `byear`).
struct YearCount {
    year: f64,
    date: f64,
    days: f64,
}

const JULIAN: YearCount = YearCount { year: 2000.0, date: 2_451_545.0, days: 365.25 };
const BESSELIAN: YearCount = YearCount { year: 1900.0, date: 2_415_020.313_52, days: 365.242_198_781 };

impl YearCount {
    fn year_of(&self, date: f64) -> f64 {
        self.year + (date - self.date) / self.days
    }

    fn date_of(&self, year: f64) -> f64 {
        self.date + (year - self.year) * self.days
    }
}

/// Returns the Julian date of a moment in a format of astropy's `Time`: a year with its letter, a number, or a date.
fn julian_date(text: &str, format: &str) -> Option<f64> {
    let number = |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite());
    if let Some(year) = text.strip_prefix('J').and_then(number) {
        return Some(JULIAN.date_of(year));
    }
    if let Some(year) = text.strip_prefix('B').and_then(number) {
        return Some(BESSELIAN.date_of(year));
    }
    if let Some(value) = number(text) {
        return match format {
            "jd" => Some(value),
            "mjd" => Some(value + 2_400_000.5),
            "jyear" => Some(JULIAN.date_of(value)),
            "byear" => Some(BESSELIAN.date_of(value)),
            "decimalyear" if (0.0..10_000.0).contains(&value) => {
                let first = |year: i64| day_number(year, 1, 1) as f64 - 0.5;
                let year = value.floor() as i64;
                Some(first(year) + (value - value.floor()) * (first(year + 1) - first(year)))
            }
            _ => None,
        };
    }
    let (date, clock) = text.split_once(['T', ' ']).unwrap_or((text, "0"));
    let parts: Vec<i64> = date.split('-').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    let [year, month @ 1..=12, day @ 1..=31] = parts[..] else { return None };
    let clock: Vec<f64> = clock.split(':').map(number).collect::<Option<_>>()?;
    let seconds = clock.iter().zip([3600.0, 60.0, 1.0]).map(|(part, length)| part * length).sum::<f64>();
    let is_clock = clock.len() <= 3 && clock.iter().zip([24.0, 60.0, 61.0]).all(|(part, most)| (0.0..most).contains(part));
    ((0..10_000).contains(&year) && is_clock).then(|| day_number(year, month, day) as f64 - 0.5 + seconds / 86_400.0)
}

/// Returns the Julian day number of the noon of a date in the Gregorian calendar.
fn day_number(year: i64, month: i64, day: i64) -> i64 {
    let early = i64::from(month < 3);
    let (year, month) = (year + 4800 - early, month + 12 * early - 3);
    day + (153 * month + 2) / 5 + 365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) - 32_045
}

/// The moment of a time: a string, or a mapping with format, scale and location. `None` for several moments.
fn read_time(item: &Item<'_>) -> Result<Option<TimeReference>> {
    let is_moment = |item: &Item<'_>| matches!(item.kind(), ItemKind::Scalar | ItemKind::Text);
    if is_moment(item) {
        return Ok(Some(TimeReference::new(read_text(item)?.trim(), "", "")));
    }
    if item.kind() != ItemKind::Mapping {
        return Ok(None);
    }
    let text = |key: &str| -> Result<String> {
        get(item, key)?.map(|found| read_text(&found).map(|text| text.into_owned())).transpose().map(Option::unwrap_or_default)
    };
    let value = match get(item, "value")? {
        Some(value) if is_moment(&value) => read_text(&value)?.trim().to_owned(),
        // An empty array: the axis has no zero point.
        Some(value) if read_numbers(&value, 1).is_ok_and(|numbers| numbers.values.is_empty()) => String::new(),
        _ => return Ok(None),
    };
    let mut time = TimeReference::new(value, text("format")?, text("scale")?);
    if let Some(place) = get(item, "location")? {
        let metre = ScaledUnit::parse("m")?;
        let common = get(&place, "unit")?.map(|unit| ScaledUnit::parse(&read_text(&unit)?)).transpose()?;
        let mut at = [0.0; 3];
        for (part, key) in at.iter_mut().zip(["x", "y", "z"]) {
            let length = read_numbers(&require_item(&place, key)?, 1)?;
            let unit = length.unit.as_ref().or(common.as_ref()).unwrap_or(&metre);
            *part = length.only_value()? * unit.factor_to(&metre)?;
        }
        time.location = Some(at);
    }
    Ok(Some(time))
}

/// The name of a reference frame, by its tag.
fn reference_name(tag: &str) -> String {
    match name_of(tag) {
        "icrs" => "ICRS".to_owned(),
        "fk5" => "FK5".to_owned(),
        "fk4" => "FK4".to_owned(),
        "fk4noeterms" => "FK4-NO-E".to_owned(),
        "galactic" => "Galactic".to_owned(),
        "barycentricmeanecliptic" => "BarycentricMeanEcliptic".to_owned(),
        other => other.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tier: first. astropy's `Time(value, format=format).jd` of these moments.
    #[test]
    fn moments_have_julian_dates() {
        for (text, format, date) in [
            ("J2000.000", "", 2_451_545.0),
            ("B1950.000", "", 2_433_282.423_459_051),
            ("2451545.0", "jd", 2_451_545.0),
            ("51544.5", "mjd", 2_451_545.0),
            ("1975.0", "jyear", 2_442_413.75),
            ("1950", "byear", 2_433_282.423_459_051),
            ("2000.5", "decimalyear", 2_451_727.5),
            ("2000-01-01 12:00:00.000", "iso", 2_451_545.0),
            ("2015-07-02T06:00:00", "isot", 2_457_205.75),
        ] {
            let found = julian_date(text, format).unwrap();
            assert!((found - date).abs() < 1e-8, "{text} {format}: {found}");
        }
        for text in ["", "noon", "2000-13-01", "5"] {
            assert_eq!(julian_date(text, ""), None, "{text}");
        }
    }
}
