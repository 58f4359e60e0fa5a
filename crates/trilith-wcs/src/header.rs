//! The keywords of a FITS header that give coordinates (FITS standard 4.0, section 8; papers I and II; SIP; TPV).

mod ctype;
mod keyword_name;
mod keywords;
mod physical_types;
mod tables;
mod time;
mod unit;

use ctype::{needs_projection, parse_celestial_ctype, standard_kind};
use keyword_name::KeywordName;
pub use keywords::HeaderKeywords;
use physical_types::physical_type;
use tables::is_tabular;
pub use tables::{ArrayReference, ReferencedArray};
use unit::{default_unit, standard_unit};

use crate::projection::wrap_180;
use crate::wcs::{Frame, FrameAxis, PipelineStep, Wcs, degrees_per_unit};
use crate::{Error, Polynomial, PolynomialBasis, Projection, Result, Transform, WcsLimits, native_to_celestial, pole};

/// Axes of a header, at most; more than any instrument has.
const MAX_AXES: usize = 16;
/// Terms of SIP have powers up to this.
const MAX_SIP_ORDER: usize = 9;

/// One of the first two axes of pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PixelAxis {
    /// The first axis.
    First,
    /// The second axis.
    Second,
}

/// A header that is read.
struct HeaderParser<'k> {
    keywords: &'k HeaderKeywords,
    count: usize,
    /// Types of the axes; those of the AIPS convention are translated to the standard.
    kinds: Vec<String>,
    limits: &'k WcsLimits,
}

impl<'k> HeaderParser<'k> {
    fn new(keywords: &'k HeaderKeywords, count: usize, limits: &'k WcsLimits) -> Self {
        let reference = keywords.get("VELREF").unwrap_or(0.0);
        let kinds = (1..=count)
            .map(|axis| standard_kind(keywords.keyword_text(KeywordName::numbered("CTYPE", axis)), reference))
            .collect();
        Self { keywords, count, kinds, limits }
    }

    fn axis_keyword_value(&self, name: &str, axis: usize) -> Option<f64> {
        self.keywords.number_value(KeywordName::numbered(name, axis + 1))
    }

    fn build_wcs(&self) -> Result<Wcs> {
        let sky = self.find_sky_axes()?;
        if let Some(axis) = self.kinds.iter().position(|kind| kind == "CUBEFACE") {
            return Err(Error::Unsupported(format!("CTYPE{} = CUBEFACE", axis + 1)));
        }
        // Longitude and latitude in a table need no projection.
        let projected = sky.filter(|(a, b)| !is_tabular(&self.kinds[*a]) && !is_tabular(&self.kinds[*b]));
        let (tabular, missing) = self.read_tabular_axes()?;
        let distortion = self.resolve_distortion(projected)?;
        // The pixels of the detector, then SIP and the arrays of CPDISj, both of the same pixels.
        let to_pixels = self.add_lookup_tables(Transform::identity(self.count), "D2IMDIS")?;
        let mut parts = vec![self.to_reference()?];
        parts.extend(self.build_sip_transform(distortion)?);
        let to_offsets = self.add_lookup_tables(Transform::chain(parts)?, "CPDIS")?;
        let mut parts = vec![to_pixels, to_offsets, self.to_plane(projected)?];
        // Longitude and latitude first, then the axes of tables, then those in proportion to pixels, in their order.
        let is_sky = |axis: usize| sky.is_some_and(|(longitude, latitude)| axis == longitude || axis == latitude);
        if let Some((axis, reason)) = missing.iter().find(|(axis, _)| is_sky(**axis)) {
            return Err(Error::Unsupported(format!("CTYPE{} = {}: {reason}", axis + 1, self.kinds[*axis])));
        }
        let linear: Vec<usize> = (0..self.count).filter(|axis| !is_sky(*axis) && !needs_projection(&self.kinds[*axis])).collect();
        let tables = tabular.iter().flat_map(|group| group.axes.iter().copied());
        let chosen: Vec<usize> =
            projected.into_iter().flat_map(|(a, b)| [a, b]).chain(tables).chain(linear.iter().copied()).collect();
        if chosen.is_empty() {
            return Err(Error::Unsupported(format!("axes of type {}", self.kinds.join(", "))));
        }
        parts.push(Transform::remap(chosen.clone(), self.count)?);
        let mut ways = Vec::new();
        if let Some(sky) = projected {
            ways.push(self.build_celestial_transform(sky, distortion)?);
        }
        ways.extend(tabular.into_iter().map(|group| group.transform));
        ways.extend(linear.iter().map(|axis| Transform::shift(self.axis_keyword_value("CRVAL", *axis).unwrap_or(0.0))));
        parts.push(Transform::parallel(ways));
        let mut order: Vec<usize> = (0..chosen.len()).collect();
        order.sort_by_key(|at| chosen.get(*at).copied());
        let known: Vec<usize> = order.iter().filter_map(|at| chosen.get(*at).copied()).collect();
        parts.push(Transform::remap(order, chosen.len())?);
        let transform = Transform::chain(parts)?;

        // An axis that the array does not have is one pixel long. A header without data says nothing about axes.
        let is_beyond = |axis: usize| self.keywords.get("NAXIS").is_some_and(|axes| axes >= 1.0 && axis as f64 >= axes);
        let length = |axis: usize| match self.axis_keyword_value("NAXIS", axis).filter(|length| *length >= 1.0) {
            Some(length) => Some(length as u64),
            None => is_beyond(axis).then_some(1),
        };
        let lengths: Option<Vec<u64>> = (0..self.count).map(length).collect();
        let mut frame = Frame::unknown_frame("world");
        frame.axes = known.iter().map(|axis| self.describe_axis(*axis, is_sky(*axis))).collect();
        frame.reference_frame = self.reference_point(sky);
        let usual = if frame.reference_frame.starts_with("FK4") { 1950.0 } else { 2000.0 };
        let has_equinox = frame.reference_frame.starts_with("FK") || frame.reference_frame.ends_with("Ecliptic");
        frame.equinox = self.equinox().filter(|equinox| has_equinox && *equinox != usual);
        frame.sky = sky.and_then(|(longitude, latitude)| {
            let at = |axis: usize| known.iter().position(|known| *known == axis);
            at(longitude).zip(at(latitude))
        });
        let mut pixels = Frame::unknown_frame("pixel");
        let name =
            |axis: usize| ["x", "y", "z"].get(axis).map_or_else(|| format!("pixel {}", axis + 1), |name| (*name).to_owned());
        pixels.axes = (0..self.count).map(|axis| FrameAxis::new(name(axis), "pixel", "")).collect();
        let steps = vec![PipelineStep { frame: pixels, transform: Some(transform) }, PipelineStep { frame, transform: None }];
        let mut wcs = Wcs::new(self.keywords.text_value("WCSNAME"), steps, None, lengths, self.limits)?;
        wcs.flat_axes = (0..self.count).filter(|axis| is_beyond(*axis)).count();
        let is_left_out = |axis: &usize| !chosen.contains(axis);
        wcs.left_out = (0..self.count).filter(is_left_out).map(|axis| self.left_out(axis, missing.get(&axis))).collect();
        Ok(wcs)
    }

    /// The axes of longitude and latitude.
    fn find_sky_axes(&self) -> Result<Option<(usize, usize)>> {
        let parts = self.kinds.iter().enumerate().filter_map(|(axis, kind)| Some((axis, parse_celestial_ctype(kind)?)));
        let found: Vec<(usize, (&str, bool))> = parts.collect();
        match found[..] {
            [] => Ok(None),
            [(longitude, (a, true)), (latitude, (b, false))] | [(latitude, (b, false)), (longitude, (a, true))] if a == b => {
                Ok(Some((longitude, latitude)))
            }
            _ => {
                let names: Vec<String> =
                    found.iter().map(|(axis, _)| format!("CTYPE{} = {}", axis + 1, self.kinds[*axis])).collect();
                Err(Error::Invalid(format!("{} (expected one longitude and the latitude of the same system)", names.join(", "))))
            }
        }
    }

    /// Says which axis is left out, and why.
    fn left_out(&self, axis: usize, missing: Option<&String>) -> String {
        let said = self.keywords.keyword_text(KeywordName::numbered("CTYPE", axis + 1));
        match missing {
            Some(reason) => format!("axis {} of type {said} is left out: {reason}", axis + 1),
            None => format!("axis {} is left out: the values of type {said} are not in proportion to pixels", axis + 1),
        }
    }

    /// The reference frame of the sky, as `RADESYS` gives it, or the equinox implies it. That of other systems than the equatorial
    /// and the Galactic has no name here.
    fn reference_point(&self, sky: Option<(usize, usize)>) -> String {
        let Some((longitude, _)) = sky else { return String::new() };
        let (said, old) = (self.keywords.text_value("RADESYS"), self.keywords.text_value("RADECSYS"));
        let system = if said.is_empty() { old } else { said };
        match (self.kinds[longitude].get(..4), self.equinox()) {
            (Some("GLON"), _) => "Galactic",
            (Some("RA--"), _) if !said.is_empty() => said,
            (Some("RA--"), _) if !old.is_empty() => old,
            (Some("RA--"), Some(equinox)) if equinox < 1984.0 => "FK4",
            (Some("RA--"), Some(_)) => "FK5",
            (Some("RA--"), None) => "ICRS",
            // The ecliptic of FK4 has no name in astropy.
            (Some("ELON"), _) if matches!(system, "ICRS" | "FK5") => "BarycentricMeanEcliptic",
            (Some("ELON"), Some(equinox)) if system.is_empty() && equinox >= 1984.0 => "BarycentricMeanEcliptic",
            (Some("ELON"), None) if system.is_empty() => "BarycentricMeanEcliptic",
            _ => "",
        }
        .to_owned()
    }

    /// `EQUINOX`, or the older keyword for it.
    fn equinox(&self) -> Option<f64> {
        self.keywords.get("EQUINOX").or(self.keywords.get("EPOCH"))
    }

    fn pv_parameter(&self, axis: usize, number: usize) -> Option<f64> {
        self.keywords.number_value(KeywordName::paired("PV", axis + 1, number))
    }

    /// The parameter of an axis with the highest number, if that is at least so high.
    fn parameter_from(&self, axis: usize, least: usize) -> Option<String> {
        let most = self.keywords.pv_parameters(axis).map(|(number, _)| number).max()?;
        (most >= least).then(|| format!("PV{}_{most}", axis + 1))
    }

    /// Decides which distortion counts if there are keywords of several, as astropy does.
    fn resolve_distortion(&self, sky: Option<(usize, usize)>) -> Result<Distortion> {
        let keywords = self.keywords;
        let refused = |text: String| Err(Error::Unsupported(text));
        let (a, b) = (keywords.get("A_ORDER"), keywords.get("B_ORDER"));
        let suffixed = |kind: &String| kind.ends_with("-SIP");
        let is_sip = self.kinds.iter().any(suffixed);
        let (code, terms) = match sky {
            Some((longitude, latitude)) => {
                let terms = self.parameter_from(longitude, 5).or_else(|| self.parameter_from(latitude, 5));
                (self.kinds[longitude].get(5..8).unwrap_or(""), terms)
            }
            None => ("", None),
        };
        // SCAMP writes the terms of TPV under the code TAN.
        if !is_sip && (code == "TPV" || code == "TAN" && terms.is_some()) {
            return Ok(Distortion::Tpv);
        }
        if !is_sip {
            if a.is_some() || b.is_some() {
                // Some programs apply SIP without `-SIP` in CTYPE, some do not.
                return refused("A_ORDER or B_ORDER without -SIP in CTYPE".to_owned());
            }
            return Ok(Distortion::None);
        }
        if code == "TPV" {
            return refused("CTYPE with both TPV and SIP".to_owned());
        }
        match (a, b) {
            (Some(a), Some(b)) if a > 1.0 && b > 1.0 => {
                // The terms of TPV, from SCAMP, describe the same distortion, so only SIP is applied.
                let is_twice = code == "TAN" && terms.is_some();
                return Ok(if is_twice { Distortion::SipAlone } else { Distortion::Sip });
            }
            (None, Some(_)) => return refused("B_ORDER without A_ORDER".to_owned()),
            (Some(_), None) => return refused("A_ORDER without B_ORDER".to_owned()),
            _ => {}
        }
        match keywords.find_nonzero_keyword(&["A_#_#", "B_#_#"]) {
            Some(key) => refused(format!("{key} of SIP without A_ORDER and B_ORDER of 2 or more")),
            None => Ok(Distortion::None),
        }
    }

    /// Pixels as offsets from the reference pixel. FITS counts pixels from 1.
    fn to_reference(&self) -> Result<Transform> {
        let shifts = (0..self.count).map(|axis| Transform::shift(1.0 - self.axis_keyword_value("CRPIX", axis).unwrap_or(0.0)));
        Ok(Transform::parallel(shifts.collect()))
    }

    /// The distortion of the first two axes by SIP.
    fn build_sip_transform(&self, distortion: Distortion) -> Result<Option<Transform>> {
        if !matches!(distortion, Distortion::Sip | Distortion::SipAlone) {
            return Ok(None);
        }
        if self.count < 2 {
            return Err(Error::Invalid("SIP of one axis".to_owned()));
        }
        let forward = [self.sip_polynomial("A", PixelAxis::First)?, self.sip_polynomial("B", PixelAxis::Second)?];
        let pair = |[a, b]: [Polynomial; 2]| {
            let both = Transform::parallel(vec![Transform::polynomial(a), Transform::polynomial(b)]);
            Transform::chain(vec![Transform::remap(vec![0, 1, 0, 1], 2)?, both])
        };
        let forward = pair(forward)?;
        let sip = if self.keywords.has("AP_ORDER") && self.keywords.has("BP_ORDER") {
            let back = [self.sip_polynomial("AP", PixelAxis::First)?, self.sip_polynomial("BP", PixelAxis::Second)?];
            forward.with_inverse(pair(back)?)
        } else {
            forward.nearly_identity()
        };
        let rest = (2..self.count).map(|_| Transform::identity(1));
        Ok(Some(Transform::parallel(std::iter::once(sip).chain(rest).collect())))
    }

    /// A coordinate plus the polynomial of keywords `A_p_q`.
    fn sip_polynomial(&self, name: &str, axis: PixelAxis) -> Result<Polynomial> {
        let order = self.keywords.number_value(KeywordName::default().with_text(name).with_text("_ORDER")).unwrap_or(0.0);
        if !(0.0..=MAX_SIP_ORDER as f64).contains(&order) {
            return Err(Error::Unsupported(format!("{name}_ORDER = {order} (expected 0 to {MAX_SIP_ORDER})")));
        }
        let order = (order as usize).max(1);
        let mut all = Polynomial::bivariate(
            PolynomialBasis::Power,
            &vec![0.0; (order + 1) * (order + 1)],
            order + 1,
            [None, None],
            self.limits,
        )?;
        for ([p, q], value) in self.keywords.sip_terms(name).filter(|([p, q], _)| p.saturating_add(*q) <= order) {
            all.add_term(p, q, value);
        }
        match axis {
            PixelAxis::First => all.add_term(1, 0, 1.0),
            PixelAxis::Second => all.add_term(0, 1, 1.0),
        }
        Ok(all)
    }

    /// The matrix to intermediate coordinates, for positions in degrees.
    fn to_plane(&self, sky: Option<(usize, usize)>) -> Result<Transform> {
        let count = self.count;
        let mut units = vec![1.0; count];
        for axis in sky.into_iter().flat_map(|(longitude, latitude)| [longitude, latitude]) {
            units[axis] = self.axis_unit_degrees(axis)?;
        }
        let (matrix, name) = match (self.find_matrix_keyword("CD"), self.find_matrix_keyword("PC")) {
            (Some(cd), Some(pc)) => {
                let (whole, product) = (self.whole_matrix(sky, &units)?, self.stepped_matrix(sky, &units)?);
                let is_same = |(a, b): (&[f64], &[f64])| {
                    let scale = a.iter().chain(b).fold(0.0f64, |most, x| most.max(x.abs()));
                    a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-12 * scale)
                };
                if !whole.chunks(count).zip(product.chunks(count)).all(is_same) {
                    return Err(Error::Invalid(format!("{cd} and {pc}, which are two different matrices")));
                }
                (whole, "CDi_j")
            }
            (Some(_), None) => (self.whole_matrix(sky, &units)?, "CDi_j"),
            (None, _) => (self.stepped_matrix(sky, &units)?, "PCi_j"),
        };
        let transform = Transform::matrix(matrix, vec![0.0; count])?;
        if transform.inverse().is_err() {
            return Err(Error::Invalid(format!(
                "the matrix of {name} is singular: pixels along a line have the same coordinates"
            )));
        }
        Ok(transform)
    }

    /// Degrees in the unit of an angle; also in the spellings that wcslib translates.
    fn axis_unit_degrees(&self, axis: usize) -> Result<f64> {
        let unit = self.keywords.keyword_text(KeywordName::numbered("CUNIT", axis + 1));
        let standard = standard_unit(unit);
        // An hour is one of time.
        let standard = if matches!(&*standard, "h" | "hourangle") { "" } else { &*standard };
        let found = degrees_per_unit(standard).filter(|_| unit.is_empty() || !standard.is_empty());
        found.ok_or_else(|| Error::Unsupported(format!("CUNIT{} = {unit:?} for an angle", axis + 1)))
    }

    fn matrix_element(&self, name: &str, i: usize, j: usize) -> Option<f64> {
        self.keywords.number_value(KeywordName::paired(name, i + 1, j + 1))
    }

    /// The first element of a matrix that the header has.
    fn find_matrix_keyword(&self, name: &str) -> Option<KeywordName> {
        let mut pairs = (0..self.count).flat_map(|i| (0..self.count).map(move |j| (i, j)));
        let (i, j) = pairs.find(|(i, j)| self.matrix_element(name, *i, *j).is_some())?;
        Some(KeywordName::paired(name, i + 1, j + 1))
    }

    /// The matrix of `CDi_j`.
    fn whole_matrix(&self, sky: Option<(usize, usize)>, units: &[f64]) -> Result<Vec<f64>> {
        let count = self.count;
        let mut matrix = vec![0.0; count * count];
        for (i, j) in (0..count).flat_map(|i| (0..count).map(move |j| (i, j))) {
            matrix[i * count + j] = self.matrix_element("CD", i, j).unwrap_or(0.0) * units[i];
        }
        for axis in 0..count {
            let row = axis * count..(axis + 1) * count;
            let present = (0..count).find(|j| self.matrix_element("CD", axis, *j).is_some());
            if let Some(j) = present.filter(|_| matrix[row].iter().all(|value| *value == 0.0)) {
                return Err(Error::Invalid(format!("CD{}_{} = 0, without another element of that axis", axis + 1, j + 1)));
            }
            let is_absent = |j: usize| {
                self.matrix_element("CD", axis, j).is_none() && self.matrix_element("CD", j, axis).unwrap_or(0.0) == 0.0
            };
            if !(0..count).all(is_absent) {
                continue;
            }
            // wcslib takes a step of 1 for an axis that no element is about.
            let is_sky = sky.is_some_and(|(longitude, latitude)| axis == longitude || axis == latitude);
            let number = axis + 1;
            match self.axis_keyword_value("CDELT", axis) {
                Some(step) if step != 1.0 => {
                    let text = format!("CD{number}_{number} is missing: CDELT{number} = {step} has no effect next to CDi_j");
                    return Err(Error::Invalid(text));
                }
                _ if is_sky => {
                    return Err(Error::Invalid(format!("CD{number}_{number} is missing, although other CDi_j are there")));
                }
                _ => matrix[axis * count + axis] = 1.0,
            }
        }
        Ok(matrix)
    }

    /// The matrix of `PCi_j` or `CROTAi` with `CDELTi`. Only the rotation of the latitude axis counts.
    fn stepped_matrix(&self, sky: Option<(usize, usize)>, units: &[f64]) -> Result<Vec<f64>> {
        let count = self.count;
        let mut steps = vec![1.0; count];
        for (axis, place) in steps.iter_mut().enumerate() {
            let step = self.axis_keyword_value("CDELT", axis).unwrap_or(1.0);
            if step == 0.0 {
                return Err(Error::Invalid(format!(
                    "CDELT{} = 0, which gives all pixels along the axis one coordinate",
                    axis + 1
                )));
            }
            *place = step * units[axis];
        }
        let mut matrix = vec![0.0; count * count];
        for (i, j) in (0..count).flat_map(|i| (0..count).map(move |j| (i, j))) {
            matrix[i * count + j] = self.matrix_element("PC", i, j).unwrap_or(if i == j { 1.0 } else { 0.0 }) * steps[i];
        }
        if let Some((longitude, latitude)) = sky.filter(|_| self.find_matrix_keyword("PC").is_none())
            && let Some(angle) = self.axis_keyword_value("CROTA", latitude)
        {
            let (sine, cosine) = angle.to_radians().sin_cos();
            matrix[longitude * count + longitude] = cosine * steps[longitude];
            matrix[longitude * count + latitude] = -sine * steps[latitude];
            matrix[latitude * count + longitude] = sine * steps[longitude];
            matrix[latitude * count + latitude] = cosine * steps[latitude];
        }
        Ok(matrix)
    }

    /// Refuses parameters that programs read in different ways.
    fn refuse_parameters(&self, (longitude, latitude): (usize, usize), code: &str) -> Result<()> {
        let refused = |key: String, why: &str| Err(Error::Unsupported(format!("{key} {why}")));
        if let Some(key) = self.parameter_from(longitude, 5) {
            return refused(key, &format!("of the longitude of projection {code}"));
        }
        if code != "TAN" {
            return Ok(());
        }
        // TAN has no parameters of its latitude: wcslib ignores those that SCAMP writes for a polynomial of degree 1, and takes those
        // of the longitude for a reference point.
        let is_neutral = |(number, value): &(usize, f64)| *value == 0.0 || (*number == 1 && *value == 1.0);
        let mut of_latitude = self.keywords.pv_parameters(latitude).peekable();
        if of_latitude.peek().is_some()
            && let Some((number, _)) = self.keywords.pv_parameters(longitude).find(|(number, _)| *number < 3)
        {
            return refused(format!("PV{}_{number}", longitude + 1), "and parameters of the latitude of projection TAN");
        }
        match of_latitude.find(|parameter| !is_neutral(parameter)) {
            Some((number, _)) => refused(format!("PV{}_{number}", latitude + 1), "of the latitude of projection TAN"),
            None => Ok(()),
        }
    }

    /// The parameters of a projection, those of the latitude axis.
    fn read_projection(&self, code: &str, latitude: usize) -> Result<Projection> {
        // PROJPm is the older keyword.
        let parameter = |number: usize| -> Result<Option<f64>> {
            let (own, old) =
                (self.pv_parameter(latitude, number), self.keywords.number_value(KeywordName::numbered("PROJP", number)));
            if let (Some(own), Some(old)) = (own, old)
                && own != old
            {
                return Err(Error::Invalid(format!("PROJP{number} = {old} and PV{}_{number} = {own}", latitude + 1)));
            }
            Ok(own.or(old))
        };
        if code == "ZPN" {
            let terms = (0..=20).map(|number| Ok(parameter(number)?.unwrap_or(0.0))).collect::<Result<Vec<f64>>>()?;
            if let Some(key) = self.parameter_from(latitude, 21) {
                return Err(Error::Unsupported(format!("{key} of projection ZPN (expected numbers up to 20)")));
            }
            let named = |error: Error| match error {
                Error::Invalid(text) => Error::Invalid(format!("CTYPE{}: {text}", latitude + 1)),
                other => other,
            };
            return Projection::new(code, &terms).map_err(named);
        }
        let mut given = [f64::NAN; 3];
        for (place, number) in given.iter_mut().zip(1..) {
            *place = parameter(number)?.unwrap_or(f64::NAN);
        }
        Projection::new(code, &given)
    }

    /// Returns the transform from the plane of the projection to the sky.
    fn build_celestial_transform(&self, sky: (usize, usize), distortion: Distortion) -> Result<Transform> {
        let (longitude, latitude) = sky;
        let code = |axis: usize| self.kinds[axis].get(5..8).unwrap_or("");
        let (code, other) = (code(longitude), code(latitude));
        if code != other {
            return Err(Error::Invalid(format!("projections {code} and {other} of one sky")));
        }
        let at = (
            self.axis_keyword_value("CRVAL", longitude).unwrap_or(0.0) * self.axis_unit_degrees(longitude)?,
            self.axis_keyword_value("CRVAL", latitude).unwrap_or(0.0) * self.axis_unit_degrees(latitude)?,
        );
        // A unit that is rounded may end beyond a pole.
        if at.1.abs() > 90.0 + 1e-9 {
            let unit = if self.axis_unit_degrees(latitude)? == 1.0 { "" } else { " degrees" };
            return Err(Error::Invalid(format!("CRVAL{} = {}{unit}, which is no latitude", latitude + 1, at.1)));
        }
        let at = (at.0, at.1.clamp(-90.0, 90.0));
        let mut parts = Vec::new();
        // Parameters that are terms of a distortion are none of the projection.
        let has_parameters = matches!(distortion, Distortion::None | Distortion::Sip);
        if has_parameters {
            self.refuse_parameters(sky, code)?;
        }
        // The names of AIPS: wcslib sets their parameters itself.
        let projection = match (distortion, code) {
            (Distortion::Tpv, _) => {
                parts.push(self.build_tpv_transform(sky)?);
                Projection::new("TAN", &[])?
            }
            (Distortion::SipAlone, _) => Projection::new(code, &[])?,
            (_, "GLS") => Projection::new("SFL", &[])?,
            (_, "NCP") if at.1 == 0.0 => return Err(Error::Invalid("projection NCP at latitude 0".to_owned())),
            (_, "NCP") => Projection::new("SIN", &[0.0, 1.0 / at.1.to_radians().tan()])?,
            _ => self.read_projection(code, latitude)?,
        };
        let own = |number: usize| self.pv_parameter(longitude, number).filter(|_| has_parameters);
        // Native coordinates of the reference point, and whether it is the origin of the plane (paper II, section 2.5).
        let (phi, theta, is_origin) = match code {
            "GLS" => (0.0, at.1, true),
            _ => (own(1).unwrap_or(0.0), own(2).unwrap_or(projection.reference()), own(0).is_some_and(|value| value != 0.0)),
        };
        if is_origin {
            let (x, y) = projection
                .to_plane(phi, theta)
                .ok_or_else(|| Error::Invalid(format!("a reference point at {phi}, {theta} that {code} does not draw")))?;
            parts.push(Transform::parallel(vec![Transform::shift(x), Transform::shift(y)]));
        }
        // wcslib takes 999 for an unknown value.
        let angle = |number: usize, key: &str| {
            let name = own(number).map_or_else(|| key.to_owned(), |_| format!("PV{}_{number}", longitude + 1));
            (name, own(number).or(self.keywords.get(key)).filter(|value| *value != 999.0))
        };
        let ((key, lonpole), (_, latpole)) = (angle(3, "LONPOLE"), angle(4, "LATPOLE"));
        let lonpole = lonpole.unwrap_or(wrap_180(phi + if at.1 >= theta { 0.0 } else { 180.0 }));
        let pole = pole(theta, at, lonpole - phi, latpole.unwrap_or(90.0)).ok_or_else(|| {
            let (longitude, latitude) = (longitude + 1, latitude + 1);
            Error::Invalid(format!("{key} = {lonpole} does not fit CRVAL{longitude} = {}, CRVAL{latitude} = {}", at.0, at.1))
        })?;
        parts.push(Transform::to_sphere(projection));
        parts.push(Transform::rotate_sphere(native_to_celestial(pole, lonpole), [true, false]));
        Transform::chain(parts)
    }

    /// The distortion of TPV in the plane, longitude first.
    fn build_tpv_transform(&self, (longitude, latitude): (usize, usize)) -> Result<Transform> {
        if let Some(key) = self.parameter_from(longitude, 40).or_else(|| self.parameter_from(latitude, 40)) {
            return Err(Error::Unsupported(format!("{key} of TPV (expected numbers up to 39)")));
        }
        let terms = |axis: usize| {
            let mut terms = [0.0; 40];
            for (number, term) in terms.iter_mut().enumerate() {
                *term = self.pv_parameter(axis, number).unwrap_or(if number == 1 { 1.0 } else { 0.0 });
            }
            terms
        };
        Ok(Transform::from_tpv_terms([terms(longitude), terms(latitude)]))
    }

    fn describe_axis(&self, axis: usize, is_sky: bool) -> FrameAxis {
        let kind = self.kinds[axis].as_str();
        let kind_name = kind.split('-').next().unwrap_or("");
        let own_name = self.keywords.keyword_text(KeywordName::numbered("CNAME", axis + 1)).trim();
        let name = match own_name {
            "" if is_sky => kind_name,
            "" => kind,
            _ => own_name,
        };
        let own_unit = self.keywords.keyword_text(KeywordName::numbered("CUNIT", axis + 1));
        let unit = match own_unit {
            _ if is_sky && !is_tabular(kind) => "deg".to_owned(),
            "" if !is_tabular(kind) => default_unit(kind_name).to_owned(),
            unit => standard_unit(unit),
        };
        let physical = physical_type(kind_name);
        let name = if name.is_empty() { format!("axis {}", axis + 1) } else { name.to_owned() };
        let mut described = FrameAxis::new(name, unit, physical);
        if physical == "time" {
            described.time = self.keywords.time_reference(kind);
        }
        described
    }
}

/// The distortion that counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Distortion {
    None,
    Sip,
    /// SIP in place of the terms of TPV, which are there too.
    SipAlone,
    /// TPV in place of SIP, if that is there too.
    Tpv,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keywords(numbers: &[(&str, f64)], texts: &[(&str, &str)]) -> HeaderKeywords {
        let mut keywords = HeaderKeywords::default();
        numbers.iter().for_each(|(key, value)| keywords.insert_number(key, *value));
        texts.iter().for_each(|(key, value)| keywords.insert_text(key, value));
        keywords
    }

    #[test]
    fn linear_axes_count_pixels_from_one() {
        let keywords = keywords(&[("CRPIX1", 1.0), ("CRVAL1", 5.0), ("CDELT1", 0.5)], &[("CTYPE1", "WAVE"), ("CUNIT1", "um")]);
        let wcs = keywords.wcs(&WcsLimits::default()).unwrap().unwrap();
        assert_eq!(wcs.forward().evaluate_point(&[3.0]).unwrap(), [6.5]);
        assert_eq!((wcs.world_axis(0).name.as_str(), wcs.world_axis(0).unit.as_str()), ("WAVE", "um"));
    }

    /// Tier: first. FITS 4.0, section 8.2, table 22: CNAMEia is the name of a world axis.
    #[test]
    fn axes_have_names_of_header() {
        let texts =
            [("CTYPE1", "RA---TAN"), ("CTYPE2", "DEC--TAN"), ("CTYPE3", "WAVE"), ("CNAME1", "Right Ascension"), ("CNAME2", " ")];
        let wcs = keywords(&[("CRPIX3", 1.0)], &texts).wcs(&WcsLimits::default()).unwrap().unwrap();
        assert_eq!([0, 1, 2].map(|axis| wcs.world_axis(axis).name), ["Right Ascension", "DEC", "WAVE"]);
        assert_eq!(wcs.sky(), Some((0, 1)));
    }

    #[test]
    fn nonlinear_axes_are_left_out() {
        let texts = [("CTYPE1", "FREQ-F2W"), ("CTYPE2", "RA---TAN"), ("CTYPE3", "DEC--TAN"), ("CTYPE4", "STOKES")];
        let wcs = keywords(&[("CRVAL4", 1.0), ("CRPIX4", 1.0)], &texts).wcs(&WcsLimits::default()).unwrap().unwrap();
        assert_eq!((wcs.pixel_axes(), wcs.world_axes(), wcs.sky()), (4, 3, Some((0, 1))));
        assert_eq!(wcs.world_axis(2).name, "STOKES");
        let world = wcs.forward().evaluate_point(&[9.0, -1.0, -1.0, 2.0]).unwrap();
        assert!(world.iter().zip([0.0, 0.0, 3.0]).all(|(found, expected)| (found - expected).abs() < 1e-12), "{world:?}");
        assert!(
            matches!(wcs.left_out(), [one] if one.contains("FREQ-F2W") && one.starts_with("axis 1 ")),
            "{:?}",
            wcs.left_out()
        );
    }

    #[test]
    fn names_of_aips_are_translated() {
        for (kind, reference, wanted) in [
            ("FREQ-LSR", 0.0, "FREQ"),
            ("FREQ-F2W", 0.0, "FREQ-F2W"),
            ("VELO-LSR", 0.0, "VOPT"),
            ("VELO-OBS", 257.0, "VRAD"),
            ("VELO-HEL", 513.0, "VELO-HEL"),
            ("VELO", 257.0, "VRAD"),
            ("VELO", 0.0, "VELO"),
            ("VELO", 300.0, "VELO"),
            ("FELO-HEL", 2.0, "VOPT-F2W"),
            ("VELOCITY", 257.0, "VELOCITY"),
            ("RA---TAN", 257.0, "RA---TAN"),
            ("é", 257.0, "é"),
        ] {
            assert_eq!(standard_kind(kind, reference), wanted, "{kind} {reference}");
        }
    }

    #[test]
    fn what_is_not_evaluated_is_named() {
        let sky = |a: &str, b: &str, cards: &[(&str, f64)], more: &[(&str, &str)]| {
            let texts: Vec<(&str, &str)> = [("CTYPE1", a), ("CTYPE2", b)].into_iter().chain(more.iter().copied()).collect();
            keywords(cards, &texts).wcs(&WcsLimits::default())
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
            (sky("RA---TAN", "DEC--TAN", &[("PV1_1", 1.0), ("PV2_1", 1.0)], &[]), "PV1_1"),
            (sky("RA---SIN", "DEC--SIN", &[("PV1_5", 1.0)], &[]), "PV1_5"),
            (sky("RA---TAN", "DEC--TAN", &[("PV2_1", 1.5)], &[]), "PV2_1"),
            (sky("RA---TPV", "DEC--TPV", &[("PV2_40", 1.5)], &[]), "PV2_40"),
            (sky("RA---TAN-SIP", "DEC--TAN-SIP", &[("A_ORDER", 2.0)], &[]), "B_ORDER"),
            (sky("RA---TAN-SIP", "DEC--TAN-SIP", &[("B_2_0", 2.0)], &[]), "B_2_0"),
            (sky("RA---TAN", "DEC--TAN", &[("CDELT2", 0.0)], &[]), "CDELT2"),
            (sky("RA---TAN", "DEC--TAN", &[("CD1_1", 1.0)], &[]), "CD2_2"),
            (sky("RA---TAN", "DEC--TAN", &[("CD1_1", 1.0), ("CD2_2", 1.0), ("CDELT3", 0.5)], &[("CTYPE3", "WAVE")]), "CD3_3"),
            (sky("RA---TAN", "DEC--TAN", &[("CD1_1", 1.0), ("CD2_2", 1.0), ("PC1_1", 0.5)], &[]), "PC1_1"),
            (sky("RA---TAN", "DEC--TAN", &[("CD1_1", 0.0), ("CD2_2", 1.0)], &[]), "CD"),
            (sky("RA---TSC", "DEC--TSC", &[], &[("CTYPE3", "CUBEFACE")]), "CUBEFACE"),
            (sky("RA---TAN", "DEC--TAN", &[], &[("CTYPE3", "GLON-TAN"), ("CTYPE4", "GLAT-TAN")]), "CTYPE3"),
            (sky("RA---TAN", "GLAT-TAN", &[], &[]), "CTYPE2"),
            (sky("RA---TAN", "DEC--TAN", &[("PROJP1", 1.0)], &[("CUNIT1", "h")]), "CUNIT1"),
        ] {
            let error = found.unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
    }
}
