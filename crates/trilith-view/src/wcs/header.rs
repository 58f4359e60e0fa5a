//! The keywords of a FITS header that give coordinates (FITS standard 4.0, section 8).

use std::collections::BTreeMap;

use super::projection::{Celestial, Projection};
use super::{Axis, Coordinate};

/// Axes of a header, at most; more than any instrument has.
const AXES: usize = 16;
/// Terms of a distortion have powers up to this.
const ORDER: i64 = 9;

/// The keywords of a header, by their names in capitals.
#[derive(Debug, Clone, Default)]
pub struct Keywords {
    numbers: BTreeMap<String, f64>,
    texts: BTreeMap<String, String>,
}

impl Keywords {
    /// Takes in a number.
    pub fn number(&mut self, key: &str, value: f64) {
        self.numbers.insert(key.trim().to_ascii_uppercase(), value);
    }

    /// Takes in a text.
    pub fn text(&mut self, key: &str, value: &str) {
        self.texts.insert(key.trim().to_ascii_uppercase(), value.trim().to_owned());
    }

    /// Whether a keyword is there.
    pub fn has(&self, key: &str) -> bool {
        self.numbers.contains_key(key) || self.texts.contains_key(key)
    }

    fn get(&self, key: &str) -> Option<f64> {
        self.numbers.get(key).copied()
    }

    fn said(&self, key: &str) -> &str {
        self.texts.get(key).map_or("", String::as_str)
    }
}

/// From pixels to coordinates.
#[derive(Debug, Clone)]
pub struct Header {
    /// The reference pixel, counted from 1, of each axis.
    reference: Vec<f64>,
    distortion: Option<[Vec<Term>; 2]>,
    /// Row by row, from pixels to intermediate coordinates.
    matrix: Vec<f64>,
    /// The coordinate at the reference pixel.
    values: Vec<f64>,
    /// Which axes are longitude and latitude, and where they are.
    celestial: Option<(usize, usize, Celestial)>,
    axes: Vec<Option<Axis>>,
}

/// A term of a distortion: coefficient and powers.
type Term = (f64, i32, i32);

impl Header {
    /// The coordinates that keywords give; None where they give none, or such as are not known here.
    pub fn new(keywords: &Keywords) -> Option<Self> {
        let named =
            (1..=AXES).rev().find(|axis| keywords.has(&format!("CTYPE{axis}")) || keywords.has(&format!("CRPIX{axis}")))?;
        let count = keywords.get("WCSAXES").map_or(named, |count| count as usize).clamp(named, AXES);
        let key = |name: &str, axis: usize| keywords.get(&format!("{name}{}", axis + 1));
        let kinds: Vec<&str> = (0..count).map(|axis| keywords.said(&format!("CTYPE{}", axis + 1))).collect();
        let place = |longitude: bool| kinds.iter().position(|kind| is_celestial(kind, longitude));
        let sky = place(true).zip(place(false));
        let is_sip = kinds.iter().any(|kind| kind.ends_with("-SIP"));
        // A distortion whose axes are not named after it: some apply it, some do not.
        let is_doubtful = !is_sip && (keywords.has("A_ORDER") || keywords.has("B_ORDER"));
        if kinds.iter().all(|kind| kind.is_empty()) || is_distorted(keywords) || is_doubtful {
            return None;
        }
        let scales: Vec<f64> = (0..count)
            .map(|axis| {
                let is_angle = sky.is_some_and(|(longitude, latitude)| axis == longitude || axis == latitude);
                if is_angle { degrees(keywords.said(&format!("CUNIT{}", axis + 1))) } else { Some(1.0) }
            })
            .collect::<Option<_>>()?;
        let mut matrix = matrix(keywords, count);
        for (row, scale) in matrix.chunks_mut(count).zip(&scales) {
            row.iter_mut().for_each(|factor| *factor *= scale);
        }
        let values: Vec<f64> = scales.iter().enumerate().map(|(axis, scale)| key("CRVAL", axis).unwrap_or(0.0) * scale).collect();
        let celestial = match sky {
            Some((longitude, latitude)) => {
                Some((longitude, latitude, celestial(keywords, &kinds, (longitude, latitude), &values)?))
            }
            None => None,
        };
        let frame = keywords.said("RADESYS");
        let axes = (0..count).map(|axis| named_axis(keywords, kinds.get(axis).copied().unwrap_or(""), axis, frame)).collect();
        Some(Self {
            reference: (0..count).map(|axis| key("CRPIX", axis).unwrap_or(0.0)).collect(),
            distortion: is_sip.then(|| [terms(keywords, 'A'), terms(keywords, 'B')]),
            matrix,
            values,
            celestial,
            axes,
        })
    }

    /// The coordinates at a pixel: its indices counted from 0, the first axis of FITS (the last of an array) first.
    pub fn at(&self, pixel: &[f64]) -> Vec<Coordinate> {
        let given = |axis: usize| pixel.get(axis).copied().unwrap_or(0.0) + 1.0;
        let mut offsets: Vec<f64> = self.reference.iter().enumerate().map(|(axis, reference)| given(axis) - reference).collect();
        if let (Some([a, b]), [u, v, ..]) = (&self.distortion, &mut *offsets) {
            let (before, other) = (*u, *v);
            let sum = |terms: &[Term]| terms.iter().map(|(factor, p, q)| factor * before.powi(*p) * other.powi(*q)).sum::<f64>();
            *u += sum(a);
            *v += sum(b);
        }
        let count = self.reference.len();
        let rows = self.matrix.chunks(count.max(1));
        let plane: Vec<f64> = rows.map(|row| row.iter().zip(&offsets).map(|(factor, offset)| factor * offset).sum()).collect();
        let mut found: Vec<Option<f64>> = plane.iter().zip(&self.values).map(|(offset, value)| Some(value + offset)).collect();
        if let Some((longitude, latitude, celestial)) = &self.celestial {
            let at = |axis: usize| plane.get(axis).copied().unwrap_or(f64::NAN);
            let sky = celestial.at(at(*longitude), at(*latitude));
            for (axis, value) in [(*longitude, sky.map(|sky| sky.0)), (*latitude, sky.map(|sky| sky.1))] {
                if let Some(place) = found.get_mut(axis) {
                    *place = value;
                }
            }
        }
        let known = self.axes.iter().zip(found).filter_map(|(axis, value)| Some((axis.clone()?, value)));
        known.map(|(axis, value)| Coordinate { axis, value: value.filter(|value| value.is_finite()) }).collect()
    }
}

/// Whether a `CTYPE` is a longitude, or else a latitude.
fn is_celestial(kind: &str, longitude: bool) -> bool {
    let name = kind.split('-').next().unwrap_or("");
    if kind.get(5..).is_none_or(|code| code.len() < 3) {
        return false;
    }
    if longitude {
        name == "RA" || name.ends_with("LON") || name.ends_with("LN")
    } else {
        name == "DEC" || name.ends_with("LAT") || name.ends_with("LT")
    }
}

/// Whether there are distortions that are not computed here: tables of them, and polynomials under other names.
fn is_distorted(keywords: &Keywords) -> bool {
    let others = ["CPDIS", "CQDIS", "DQ", "DP"];
    keywords.texts.keys().any(|key| {
        others.iter().any(|start| key.strip_prefix(start).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit())))
    })
}

/// Degrees in a unit of angle.
fn degrees(unit: &str) -> Option<f64> {
    Some(match unit {
        "" | "deg" | "degree" | "degrees" => 1.0,
        "arcmin" => 1.0 / 60.0,
        "arcsec" => 1.0 / 3600.0,
        "mas" => 1.0 / 3.6e6,
        "rad" => 180.0 / std::f64::consts::PI,
        _ => return None,
    })
}

/// The matrix from pixels to intermediate coordinates: `CDi_j`; else `PCi_j` or `CROTA2`, with `CDELTi`.
fn matrix(keywords: &Keywords, count: usize) -> Vec<f64> {
    let entry = |name: &str, i: usize, j: usize| keywords.get(&format!("{name}{}_{}", i + 1, j + 1));
    let pairs = || (0..count).flat_map(|i| (0..count).map(move |j| (i, j)));
    if pairs().any(|(i, j)| entry("CD", i, j).is_some()) {
        return pairs().map(|(i, j)| entry("CD", i, j).unwrap_or(0.0)).collect();
    }
    let step = |axis: usize| keywords.get(&format!("CDELT{}", axis + 1)).unwrap_or(1.0);
    let has_matrix = pairs().any(|(i, j)| entry("PC", i, j).is_some());
    let turned = keywords.get("CROTA2").or(keywords.get("CROTA1")).filter(|_| !has_matrix && count >= 2);
    let (sine, cosine) = turned.unwrap_or(0.0).to_radians().sin_cos();
    let scaled = |(i, j): (usize, usize)| match (turned.is_some(), i, j) {
        (true, 0, 0) | (true, 1, 1) => cosine * step(i),
        (true, 0, 1) => -sine * step(1),
        (true, 1, 0) => sine * step(0),
        _ => entry("PC", i, j).unwrap_or(if i == j { 1.0 } else { 0.0 }) * step(i),
    };
    pairs().map(scaled).collect()
}

/// The projection of two axes; None where it is not known here, or has parameters that are not.
fn celestial(keywords: &Keywords, kinds: &[&str], sky: (usize, usize), values: &[f64]) -> Option<Celestial> {
    let code = |axis: usize| kinds.get(axis)?.get(5..8);
    let (first, second) = (code(sky.0)?, code(sky.1)?);
    let parameter = |axis: usize, number: usize| keywords.get(&format!("PV{}_{number}", axis + 1)).filter(|value| *value != 0.0);
    let (longitude, latitude) = sky;
    let allowed =
        |axis: usize, number: usize| (axis == longitude && number >= 3) || (first == "CEA" && axis == latitude && number == 1);
    let is_plain = [longitude, latitude]
        .into_iter()
        .all(|axis| (0..=39).all(|number| parameter(axis, number).is_none() || allowed(axis, number)));
    if first != second || !is_plain {
        return None;
    }
    let projection = Projection::of(first, parameter(latitude, 1).unwrap_or(1.0))?;
    let pole = |name: &str, number: usize| keywords.get(&format!("PV{}_{number}", longitude + 1)).or(keywords.get(name));
    Celestial::new(projection, (*values.get(longitude)?, *values.get(latitude)?), pole("LONPOLE", 3), pole("LATPOLE", 4))
}

/// The terms of a distortion by polynomials of the pixels (SIP): `A_p_q` or `B_p_q`.
fn terms(keywords: &Keywords, name: char) -> Vec<Term> {
    let order = keywords.get(&format!("{name}_ORDER")).map_or(0, |order| order as i64).clamp(0, ORDER) as i32;
    let powers = (0..=order).flat_map(|p| (0..=order - p).map(move |q| (p, q)));
    powers.filter_map(|(p, q)| Some((keywords.get(&format!("{name}_{p}_{q}"))?, p, q))).collect()
}

/// What an axis is called; None where its values are not in proportion to what the header says.
fn named_axis(keywords: &Keywords, kind: &str, axis: usize, frame: &str) -> Option<Axis> {
    let is_sky = is_celestial(kind, true) || is_celestial(kind, false);
    if !is_sky && kind.get(4..).is_some_and(|code| code.starts_with('-')) {
        return None;
    }
    let unit = keywords.said(&format!("CUNIT{}", axis + 1));
    let name = if is_sky { kind.split('-').next().unwrap_or("") } else { kind };
    Some(Axis {
        name: if name.is_empty() { format!("axis {}", axis + 1) } else { name.to_owned() },
        unit: if is_sky { "deg".to_owned() } else { unit.to_owned() },
        frame: if is_sky { frame.to_owned() } else { String::new() },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(cards: &[(&str, f64)], texts: &[(&str, &str)]) -> Option<Header> {
        let mut keywords = Keywords::default();
        cards.iter().for_each(|(key, value)| keywords.number(key, *value));
        texts.iter().for_each(|(key, value)| keywords.text(key, value));
        Header::new(&keywords)
    }

    #[test]
    fn linear_axes_count_pixels_from_one() {
        let header =
            header(&[("CRPIX1", 1.0), ("CRVAL1", 5.0), ("CDELT1", 0.5)], &[("CTYPE1", "WAVE"), ("CUNIT1", "um")]).unwrap();
        let [at] = &header.at(&[3.0])[..] else { panic!("one axis") };
        assert_eq!((at.axis.name.as_str(), at.axis.unit.as_str(), at.value), ("WAVE", "um", Some(6.5)));
    }

    #[test]
    fn what_is_not_known_gives_nothing() {
        let sky = |a: &str, b: &str, cards: &[(&str, f64)]| header(cards, &[("CTYPE1", a), ("CTYPE2", b)]).is_some();
        assert!(sky("RA---TAN", "DEC--TAN", &[]) && sky("RA---TAN-SIP", "DEC--TAN-SIP", &[]));
        assert!(!sky("RA---HPX", "DEC--HPX", &[]) && !sky("RA---TAN", "DEC--SIN", &[]));
        assert!(!sky("RA---TAN", "DEC--TAN", &[("PV2_1", 0.1)]) && !sky("", "", &[("CRPIX1", 1.0)]));
        assert!(header(&[], &[("CTYPE1", "RA---TAN"), ("CTYPE2", "DEC--TAN"), ("CUNIT1", "furlong")]).is_none());
        assert!(header(&[], &[("CTYPE1", "RA---TAN"), ("CTYPE2", "DEC--TAN"), ("CPDIS1", "LOOKUP")]).is_none());
    }
}
