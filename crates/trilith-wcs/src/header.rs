//! The keywords of a FITS header that give coordinates (FITS standard 4.0, section 8; papers I and II; SIP; TPV).

use std::collections::BTreeMap;

use crate::wcs::{Axis, Frame, Step, Wcs, degrees};
use crate::{Basis, BoundingBox, Error, Limits, Polynomial, Projection, Result, Transform, native_to_celestial, pole};

/// Axes of a header, at most; more than any instrument has.
const AXES: usize = 16;
/// Terms of SIP have powers up to this.
const ORDER: usize = 9;

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

    /// Returns `true` if a keyword is there.
    pub fn has(&self, key: &str) -> bool {
        self.numbers.contains_key(key) || self.texts.contains_key(key)
    }

    fn get(&self, key: &str) -> Option<f64> {
        self.numbers.get(key).copied()
    }

    fn said(&self, key: &str) -> &str {
        self.texts.get(key).map_or("", String::as_str)
    }

    /// Returns the coordinates that the keywords give; `None` if they give none.
    ///
    /// Axes whose values are not in proportion to pixels (`FREQ-F2W`, `WAVE-TAB`) are left out.
    ///
    /// # Errors
    /// Returns [`Error::Unsupported`] for a projection, a distortion or a unit that this crate does not evaluate, and
    /// [`Error::Invalid`] for keywords that contradict each other.
    pub fn wcs(&self, limits: &Limits) -> Result<Option<Wcs>> {
        let is_named = |axis: &usize| self.has(&format!("CTYPE{axis}")) || self.has(&format!("CRPIX{axis}"));
        let Some(named) = (1..=AXES).rev().find(is_named) else { return Ok(None) };
        let count = self.get("WCSAXES").map_or(named, |count| count as usize).clamp(named, AXES);
        let kinds: Vec<&str> = (1..=count).map(|axis| self.said(&format!("CTYPE{axis}"))).collect();
        if kinds.iter().all(|kind| kind.is_empty()) {
            return Ok(None);
        }
        Reader { keywords: self, count, kinds, limits }.wcs().map(Some)
    }
}

/// A header that is read.
struct Reader<'k> {
    keywords: &'k Keywords,
    count: usize,
    kinds: Vec<&'k str>,
    limits: &'k Limits,
}

impl Reader<'_> {
    fn number(&self, name: &str, axis: usize) -> Option<f64> {
        self.keywords.get(&format!("{name}{}", axis + 1))
    }

    fn wcs(&self) -> Result<Wcs> {
        let place = |longitude: bool| self.kinds.iter().position(|kind| is_celestial(kind, longitude));
        let sky = match (place(true), place(false)) {
            (Some(longitude), Some(latitude)) => Some((longitude, latitude)),
            (None, None) => None,
            _ => return Err(Error::Invalid("a longitude without a latitude, or the other way round".to_owned())),
        };
        self.refuse_distortions()?;
        let mut parts = vec![self.to_reference()?];
        parts.extend(self.sip()?);
        parts.push(self.to_plane(sky)?);
        // Longitude and latitude first, then the axes in proportion to pixels, in their order.
        let is_sky = |axis: usize| sky.is_some_and(|(longitude, latitude)| axis == longitude || axis == latitude);
        let linear: Vec<usize> = (0..self.count).filter(|axis| !is_sky(*axis) && !is_curved(self.kinds[*axis])).collect();
        let chosen: Vec<usize> = sky.into_iter().flat_map(|(a, b)| [a, b]).chain(linear.iter().copied()).collect();
        if chosen.is_empty() {
            return Err(Error::Unsupported(format!("axes of type {}", self.kinds.join(", "))));
        }
        parts.push(Transform::remap(chosen.clone(), self.count)?);
        let mut ways = Vec::new();
        if let Some(sky) = sky {
            ways.push(self.celestial(sky)?);
        }
        ways.extend(linear.iter().map(|axis| Transform::shift(self.number("CRVAL", *axis).unwrap_or(0.0))));
        parts.push(Transform::parallel(ways));
        let mut order: Vec<usize> = (0..chosen.len()).collect();
        order.sort_by_key(|at| chosen.get(*at).copied());
        let known: Vec<usize> = order.iter().filter_map(|at| chosen.get(*at).copied()).collect();
        parts.push(Transform::remap(order, chosen.len())?);
        let transform = Transform::chain(parts)?;

        let lengths: Option<Vec<u64>> = (0..self.count)
            .map(|axis| self.number("NAXIS", axis).filter(|length| *length >= 1.0).map(|length| length as u64))
            .collect();
        let mut frame = Frame::named("world");
        frame.axes = known.iter().map(|axis| self.axis(*axis, is_sky(*axis))).collect();
        frame.reference = self.reference(sky);
        let usual = if frame.reference.starts_with("FK4") { 1950.0 } else { 2000.0 };
        let has_equinox = frame.reference.starts_with("FK");
        frame.equinox = self.keywords.get("EQUINOX").filter(|equinox| has_equinox && *equinox != usual);
        frame.sky = sky.and_then(|(longitude, latitude)| {
            let at = |axis: usize| known.iter().position(|known| *known == axis);
            at(longitude).zip(at(latitude))
        });
        let mut pixels = Frame::named("pixel");
        let name =
            |axis: usize| ["x", "y", "z"].get(axis).map_or_else(|| format!("pixel {}", axis + 1), |name| (*name).to_owned());
        pixels.axes = (0..self.count).map(|axis| Axis::new(name(axis), "pixel", "")).collect();
        let bounds: Option<BoundingBox> = None;
        let steps = vec![Step { frame: pixels, transform: Some(transform) }, Step { frame, transform: None }];
        Wcs::new(self.keywords.said("WCSNAME"), steps, bounds, lengths, self.limits)
    }

    /// The reference frame of the sky, as `RADESYS` gives it, or the type of the axes implies it.
    fn reference(&self, sky: Option<(usize, usize)>) -> String {
        let Some((longitude, _)) = sky else { return String::new() };
        let said = self.keywords.said("RADESYS");
        let old = self.keywords.said("RADECSYS");
        let kind = self.kinds[longitude].split('-').next().unwrap_or("");
        match (kind, said, old) {
            ("GLON", ..) => "Galactic".to_owned(),
            ("RA", "", "") => match self.keywords.get("EQUINOX") {
                Some(equinox) if equinox < 1984.0 => "FK4".to_owned(),
                Some(_) => "FK5".to_owned(),
                None => "ICRS".to_owned(),
            },
            (_, "", old) => old.to_owned(),
            (_, said, _) => said.to_owned(),
        }
    }

    /// Tables of distortions, and polynomials under other names.
    fn refuse_distortions(&self) -> Result<()> {
        let others = ["CPDIS", "CQDIS", "DQ", "DP", "D2IMDIS", "CPERR", "CQERR"];
        let is_one = |key: &&String| {
            others.iter().any(|start| key.strip_prefix(start).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit())))
                && !key.starts_with("CPERR")
                && !key.starts_with("CQERR")
        };
        match self.keywords.texts.keys().find(is_one) {
            Some(key) => Err(Error::Unsupported(format!("the distortion of {key}"))),
            None => Ok(()),
        }
    }

    /// Pixels as offsets from the reference pixel. FITS counts pixels from 1.
    fn to_reference(&self) -> Result<Transform> {
        let shifts = (0..self.count).map(|axis| Transform::shift(1.0 - self.number("CRPIX", axis).unwrap_or(0.0)));
        Ok(Transform::parallel(shifts.collect()))
    }

    /// The distortion of the first two axes by SIP.
    fn sip(&self) -> Result<Option<Transform>> {
        let is_sip = self.kinds.iter().any(|kind| kind.ends_with("-SIP"));
        if !is_sip {
            if self.keywords.has("A_ORDER") || self.keywords.has("B_ORDER") {
                // Some programs apply it, some do not.
                return Err(Error::Unsupported("A_ORDER or B_ORDER without -SIP in CTYPE".to_owned()));
            }
            return Ok(None);
        }
        if self.count < 2 {
            return Err(Error::Invalid("SIP of one axis".to_owned()));
        }
        let forward = [self.terms("A", true)?, self.terms("B", false)?];
        let pair = |[a, b]: [Polynomial; 2]| {
            let both = Transform::parallel(vec![Transform::polynomial(a), Transform::polynomial(b)]);
            Transform::chain(vec![Transform::remap(vec![0, 1, 0, 1], 2)?, both])
        };
        let forward = pair(forward)?;
        let sip = if self.keywords.has("AP_ORDER") && self.keywords.has("BP_ORDER") {
            forward.with_inverse(pair([self.terms("AP", true)?, self.terms("BP", false)?])?)
        } else {
            forward.nearly_identity()
        };
        let rest = (2..self.count).map(|_| Transform::identity(1));
        Ok(Some(Transform::parallel(std::iter::once(sip).chain(rest).collect())))
    }

    /// A coordinate plus the polynomial of keywords `A_p_q`.
    fn terms(&self, name: &str, is_first: bool) -> Result<Polynomial> {
        let order = self.keywords.get(&format!("{name}_ORDER")).unwrap_or(0.0);
        if !(0.0..=ORDER as f64).contains(&order) {
            return Err(Error::Unsupported(format!("{name}_ORDER = {order} (expected 0 to {ORDER})")));
        }
        let order = (order as usize).max(1);
        let mut all = Polynomial::two(Basis::Power, &vec![0.0; (order + 1) * (order + 1)], order + 1, [None, None], self.limits)?;
        for (p, q) in (0..=order).flat_map(|p| (0..=order - p).map(move |q| (p, q))) {
            if let Some(value) = self.keywords.get(&format!("{name}_{p}_{q}")) {
                all.add_term(p, q, value);
            }
        }
        if is_first {
            all.add_term(1, 0, 1.0);
        } else {
            all.add_term(0, 1, 1.0);
        }
        Ok(all)
    }

    /// The matrix to intermediate coordinates, for positions in degrees.
    fn to_plane(&self, sky: Option<(usize, usize)>) -> Result<Transform> {
        let mut matrix = self.matrix();
        for (axis, row) in matrix.chunks_mut(self.count).enumerate() {
            if sky.is_some_and(|(longitude, latitude)| axis == longitude || axis == latitude) {
                let unit = self.unit(axis)?;
                row.iter_mut().for_each(|factor| *factor *= unit);
            }
        }
        Transform::matrix(matrix, vec![0.0; self.count])
    }

    fn unit(&self, axis: usize) -> Result<f64> {
        let unit = self.keywords.said(&format!("CUNIT{}", axis + 1));
        degrees(unit).ok_or_else(|| Error::Unsupported(format!("CUNIT{} = {unit:?} for an angle", axis + 1)))
    }

    /// `CDi_j`; else `PCi_j` or `CROTA2`, with `CDELTi`.
    fn matrix(&self) -> Vec<f64> {
        let count = self.count;
        let entry = |name: &str, i: usize, j: usize| self.keywords.get(&format!("{name}{}_{}", i + 1, j + 1));
        let pairs = || (0..count).flat_map(|i| (0..count).map(move |j| (i, j)));
        if pairs().any(|(i, j)| entry("CD", i, j).is_some()) {
            return pairs().map(|(i, j)| entry("CD", i, j).unwrap_or(0.0)).collect();
        }
        let step = |axis: usize| self.number("CDELT", axis).unwrap_or(1.0);
        let has_matrix = pairs().any(|(i, j)| entry("PC", i, j).is_some());
        let turned = self.keywords.get("CROTA2").or(self.keywords.get("CROTA1")).filter(|_| !has_matrix && count >= 2);
        let (sine, cosine) = turned.unwrap_or(0.0).to_radians().sin_cos();
        let scaled = |(i, j): (usize, usize)| match (turned.is_some(), i, j) {
            (true, 0, 0) | (true, 1, 1) => cosine * step(i),
            (true, 0, 1) => -sine * step(1),
            (true, 1, 0) => sine * step(0),
            _ => entry("PC", i, j).unwrap_or(if i == j { 1.0 } else { 0.0 }) * step(i),
        };
        pairs().map(scaled).collect()
    }

    /// From the plane of the projection to the sky.
    fn celestial(&self, (longitude, latitude): (usize, usize)) -> Result<Transform> {
        let code = |axis: usize| self.kinds[axis].get(5..8).unwrap_or("");
        let (code, other) = (code(longitude), code(latitude));
        if code != other {
            return Err(Error::Invalid(format!("projections {code} and {other} of one sky")));
        }
        let parameter = |axis: usize, number: usize| self.keywords.get(&format!("PV{}_{number}", axis + 1));
        let is_any =
            |axis: usize, numbers: std::ops::RangeInclusive<usize>| numbers.into_iter().any(|n| parameter(axis, n).is_some());
        // SCAMP writes the terms of TPV under the code TAN.
        let is_tpv = code == "TPV" || code == "TAN" && (is_any(latitude, 0..=39) || is_any(longitude, 5..=39));
        let mut parts = Vec::new();
        let projection = if is_tpv {
            let terms = |axis: usize| {
                let mut terms = [0.0; 40];
                for (number, term) in terms.iter_mut().enumerate() {
                    *term = parameter(axis, number).unwrap_or(if number == 1 { 1.0 } else { 0.0 });
                }
                terms
            };
            parts.push(Transform::tpv([terms(longitude), terms(latitude)]));
            Projection::new("TAN", &[])?
        } else {
            let given: Vec<f64> = (1..=20)
                .map_while(|number| {
                    let rest = (number..=20).any(|number| parameter(latitude, number).is_some());
                    rest.then(|| parameter(latitude, number).unwrap_or(f64::NAN))
                })
                .collect();
            Projection::new(code, &given)?
        };
        let theta = projection.reference();
        let is_moved = parameter(longitude, 0).is_some_and(|value| value != 0.0)
            || parameter(longitude, 1).is_some_and(|value| value != 0.0)
            || parameter(longitude, 2).is_some_and(|value| value != theta);
        if is_moved && !is_tpv {
            return Err(Error::Unsupported(format!(
                "PV{}_0 to PV{}_2 that move the reference point",
                longitude + 1,
                longitude + 1
            )));
        }
        let at = (
            self.number("CRVAL", longitude).unwrap_or(0.0) * self.unit(longitude)?,
            self.number("CRVAL", latitude).unwrap_or(0.0) * self.unit(latitude)?,
        );
        let own = |number: usize| parameter(longitude, number).filter(|_| !is_tpv);
        let lonpole = own(3).or(self.keywords.get("LONPOLE")).unwrap_or(if at.1 >= theta { 0.0 } else { 180.0 });
        let latpole = own(4).or(self.keywords.get("LATPOLE")).unwrap_or(90.0);
        let pole = pole(theta, at, lonpole, latpole)
            .ok_or_else(|| Error::Invalid(format!("LONPOLE = {lonpole} does not fit CRVAL = {}, {}", at.0, at.1)))?;
        parts.push(Transform::to_sphere(projection));
        parts.push(Transform::turn(native_to_celestial(pole, lonpole), [true, false]));
        Transform::chain(parts)
    }

    fn axis(&self, axis: usize, is_sky: bool) -> Axis {
        let kind = self.kinds[axis];
        let name = if is_sky { kind.split('-').next().unwrap_or("") } else { kind };
        let unit = if is_sky { "deg" } else { self.keywords.said(&format!("CUNIT{}", axis + 1)) };
        let physical = match name {
            "RA" => "pos.eq.ra",
            "DEC" => "pos.eq.dec",
            "GLON" => "pos.galactic.lon",
            "GLAT" => "pos.galactic.lat",
            "ELON" => "pos.ecliptic.lon",
            "ELAT" => "pos.ecliptic.lat",
            "WAVE" => "em.wl",
            "AWAV" => "em.wl",
            "FREQ" => "em.freq",
            "ENER" => "em.energy",
            "VELO" | "VOPT" | "VRAD" => "spect.dopplerVeloc",
            "STOKES" => "phys.polarization.stokes",
            "TIME" | "UTC" => "time",
            _ => "",
        };
        let name = if name.is_empty() { format!("axis {}", axis + 1) } else { name.to_owned() };
        Axis::new(name, unit, physical)
    }
}

/// Returns `true` if a `CTYPE` is a longitude, or else a latitude.
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

/// Returns `true` if the values of an axis are not in proportion to pixels.
fn is_curved(kind: &str) -> bool {
    kind.get(4..).is_some_and(|code| code.starts_with('-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keywords(numbers: &[(&str, f64)], texts: &[(&str, &str)]) -> Keywords {
        let mut keywords = Keywords::default();
        numbers.iter().for_each(|(key, value)| keywords.number(key, *value));
        texts.iter().for_each(|(key, value)| keywords.text(key, value));
        keywords
    }

    #[test]
    fn linear_axes_count_pixels_from_one() {
        let keywords = keywords(&[("CRPIX1", 1.0), ("CRVAL1", 5.0), ("CDELT1", 0.5)], &[("CTYPE1", "WAVE"), ("CUNIT1", "um")]);
        let wcs = keywords.wcs(&Limits::default()).unwrap().unwrap();
        assert_eq!(wcs.forward().at(&[3.0]).unwrap(), [6.5]);
        assert_eq!((wcs.world_axis(0).name.as_str(), wcs.world_axis(0).unit.as_str()), ("WAVE", "um"));
    }

    #[test]
    fn axes_that_are_not_in_proportion_to_pixels_are_left_out() {
        let texts = [("CTYPE1", "FREQ-F2W"), ("CTYPE2", "RA---TAN"), ("CTYPE3", "DEC--TAN"), ("CTYPE4", "STOKES")];
        let wcs = keywords(&[("CRVAL4", 1.0), ("CRPIX4", 1.0)], &texts).wcs(&Limits::default()).unwrap().unwrap();
        assert_eq!((wcs.pixel_axes(), wcs.world_axes(), wcs.sky()), (4, 3, Some((0, 1))));
        assert_eq!(wcs.world_axis(2).name, "STOKES");
        assert_eq!(wcs.forward().at(&[9.0, -1.0, -1.0, 2.0]).unwrap(), [0.0, 0.0, 3.0]);
    }

    #[test]
    fn what_is_not_evaluated_is_named() {
        let sky = |a: &str, b: &str, cards: &[(&str, f64)], more: &[(&str, &str)]| {
            let texts: Vec<(&str, &str)> = [("CTYPE1", a), ("CTYPE2", b)].into_iter().chain(more.iter().copied()).collect();
            keywords(cards, &texts).wcs(&Limits::default())
        };
        assert!(sky("RA---TAN", "DEC--TAN", &[], &[]).unwrap().is_some());
        assert!(sky("RA---TAN-SIP", "DEC--TAN-SIP", &[], &[]).unwrap().is_some());
        assert!(sky("", "", &[("CRPIX1", 1.0)], &[]).unwrap().is_none());
        for (found, word) in [
            (sky("RA---ZPN", "DEC--ZPN", &[], &[]), "ZPN"),
            (sky("RA---TAN", "DEC--SIN", &[], &[]), "SIN"),
            (sky("RA---TAN", "DEC--TAN", &[], &[("CPDIS1", "LOOKUP")]), "CPDIS1"),
            (sky("RA---TAN", "DEC--TAN", &[], &[("CUNIT1", "furlong")]), "furlong"),
            (sky("RA---TAN", "DEC--TAN", &[("A_ORDER", 2.0)], &[]), "-SIP"),
            (sky("RA---SIN", "DEC--SIN", &[("PV1_0", 1.0)], &[]), "PV1_0"),
        ] {
            let error = found.unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
    }
}
