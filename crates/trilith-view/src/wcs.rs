//! World coordinates: where on the sky, or at which wavelength or time, an element of an array is.
//!
//! They are given by the keywords of FITS headers (`CTYPE1`, `CRPIX1`, …), which stand in the header of an HDU, or in a
//! dictionary beside the array: `header`, `meta`, `wcs`, `wcsinfo` or `meta/wcsinfo`, as instruments write them.

mod header;
mod projection;

use trilith::File;
use trilith::file::{Item, ItemKind};
use trilith::yaml::Scalar;

use self::header::{Header, Keywords};

/// Keywords of a header that are looked at, at most.
const MOST: usize = 100_000;

/// An axis of the coordinates.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Axis {
    /// As the header names it: `RA`, `DEC`, `GLON`, `WAVE`.
    pub name: String,
    /// Degrees for positions on the sky.
    pub unit: String,
    /// The reference frame of a position on the sky, where it is given: `ICRS`, `FK5`.
    pub frame: String,
}

/// A coordinate of an element.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Coordinate {
    /// Which one.
    pub axis: Axis,
    /// Its value, in the unit of the axis; None outside of the sky that a projection draws.
    pub value: Option<f64>,
}

impl Coordinate {
    /// The value as people write it: right ascension in hours, other angles of the sky in degrees, minutes and seconds.
    pub fn text(&self) -> String {
        let Some(value) = self.value else { return "–".to_owned() };
        match self.axis.name.as_str() {
            "RA" => sexagesimal(value.rem_euclid(360.0) / 15.0, ["h", "m", "s"], 3),
            "DEC" => format!("{}{}", if value < 0.0 { '−' } else { '+' }, sexagesimal(value.abs(), ["°", "′", "″"], 2)),
            _ => format!("{} {}", (value * 1e9).round() / 1e9, self.axis.unit).trim_end().to_owned(),
        }
    }
}

/// A number in units, sixtieths and sixtieths of these, which carry where the last is rounded up.
fn sexagesimal(value: f64, [unit, minute, second]: [&str; 3], digits: usize) -> String {
    let scale = 10f64.powi(i32::try_from(digits).unwrap_or(0));
    let all = (value * 3600.0 * scale).round();
    let (whole, seconds) = ((all / (3600.0 * scale)).floor(), all.rem_euclid(60.0 * scale) / scale);
    let minutes = ((all / (60.0 * scale)).floor()).rem_euclid(60.0);
    format!("{whole:02}{unit}{minutes:02}{minute}{seconds:0width$.digits$}{second}", width = digits + 3)
}

/// The world coordinates of an array.
#[derive(Debug, Clone)]
pub struct Wcs(Header);

impl Wcs {
    /// The coordinates of the array at a path of a file, where there are any that are known here.
    ///
    /// ```
    /// let file = trilith::OpenOptions::new().open_bytes(
    ///     b"#ASDF 1.0.0\n%YAML 1.1\n--- {meta: {ctype1: WAVE, cunit1: um, crpix1: 1, crval1: 2.0, cdelt1: 0.5}, data: 0}\n...\n".to_vec(),
    /// )?;
    /// let wcs = trilith_view::Wcs::of(&file, "/data").ok_or(trilith::Error::usage("no coordinates"))?;
    /// assert_eq!(wcs.at(&[4]).first().map(|found| found.text()).as_deref(), Some("4 um"));
    /// # Ok::<(), trilith::Error>(())
    /// ```
    pub fn of(file: &File, path: &str) -> Option<Self> {
        let mut above = path;
        loop {
            above = above.rsplit_once('/').map_or("", |(before, _)| before);
            let places = ["/header", "/meta", "/wcs", "/wcsinfo", "/meta/wcsinfo", ""];
            let headers = places.iter().filter_map(|place| keywords(file, &format!("{above}{place}")));
            if let Some(found) = headers.filter_map(|keywords| Header::new(&keywords)).next() {
                return Some(Self(found));
            }
            if above.is_empty() {
                return None;
            }
        }
    }

    /// The coordinates of an element: `index` counts from 0, in the order of the array's axes.
    pub fn at(&self, index: &[u64]) -> Vec<Coordinate> {
        let pixel: Vec<f64> = index.iter().rev().map(|at| *at as f64).collect();
        self.0.at(&pixel)
    }
}

/// The keywords of a header: a dictionary, or the list of cards of an HDU.
fn keywords(file: &File, path: &str) -> Option<Keywords> {
    let item = if path.is_empty() { file.root() } else { file.item(path).ok()? };
    let item = item.follow().ok()?;
    let is_cards = item.kind() == ItemKind::List && path.ends_with("/header");
    if item.kind() != ItemKind::Mapping && !is_cards {
        return None;
    }
    let mut found = Keywords::default();
    for (name, child) in item.children().ok()?.into_iter().take(MOST) {
        if let Some(name) = name {
            put(&mut found, &name, &child);
        } else if let [(_, key), (_, value), ..] = &child.children().ok()?[..]
            && let Ok(key) = key.text()
        {
            put(&mut found, &key, value);
        }
    }
    Some(found)
}

/// Takes in a keyword, where it is a number or a text.
fn put(keywords: &mut Keywords, key: &str, item: &Item<'_>) {
    match item.value() {
        Ok(Scalar::Float(number)) => keywords.number(key, number),
        Ok(Scalar::Int(number)) => keywords.number(key, number as f64),
        Ok(Scalar::Str(text)) => keywords.text(key, &text),
        _ => {}
    }
}
