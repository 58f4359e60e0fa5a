//! Keywords of a FITS header for coordinates of any kind: exact if the standard has the transform, else a projection with SIP.

use std::fmt;

use crate::least_squares::least_squares;
use crate::rotation::{RotationMatrix, native_to_celestial, transposed};
use crate::transform::SkyProjection;
use crate::wcs::sky_offset;
use crate::{Error, HeaderKeywords, Projection, Result, Transform, Wcs, WcsLimits};

/// Points along a side that a fit is made with, and that it is checked with.
const FIT_POINTS: usize = 32;
const CHECK_POINTS: usize = 64;
/// Highest degree of SIP.
const MAX_SIP_DEGREE: usize = 9;
/// Error in pixels that is allowed if nothing else is asked for.
const DEFAULT_MAX_ERROR: f64 = 1e-3;
/// Error in pixels of what counts as exact.
const EXACT_TOLERANCE: f64 = 1e-6;

/// Choices for [`Wcs::to_fits`].
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct FitOptions {
    /// Degree of the distortion; 1 for none. By default the lowest that is good enough.
    pub degree: Option<usize>,
    /// Error in pixels that is allowed. By default 0.001, or any if a degree is given.
    pub max_error: Option<f64>,
    /// Pixels that the header is for, x first: from the outer edge of the first to that of the last. By default those of the
    /// bounding box, else of the array.
    pub region: Option<[(f64, f64); 2]>,
    /// Pixel of the coordinates that is the first of the image that gets the header, x first.
    pub origin: [f64; 2],
}

/// Value of a card.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum CardValue {
    /// Text.
    Text(String),
    /// A floating-point number.
    Number(f64),
    /// An integer.
    Integer(i64),
}

/// Card of a FITS header.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Card {
    /// Keyword.
    pub keyword: String,
    /// Value.
    pub value: CardValue,
    /// Comment.
    pub comment: &'static str,
}

/// Cards that give the coordinates of an image, and their errors.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct FitsHeader {
    /// Cards in their usual order.
    pub cards: Vec<Card>,
    /// Degree of the distortion; 1 if there is none.
    pub degree: usize,
    /// Largest difference from the coordinates, in pixels.
    pub max_error: f64,
    /// Largest error of the inverse polynomials, in pixels; `None` if there are none.
    pub inverse_error: Option<f64>,
}

impl fmt::Display for CardValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Number(number) => write!(f, "{number:?}"),
            Self::Integer(number) => write!(f, "{number}"),
        }
    }
}

impl FitsHeader {
    fn push_text(&mut self, keyword: impl Into<String>, value: impl Into<String>, comment: &'static str) {
        self.cards.push(Card { keyword: keyword.into(), value: CardValue::Text(value.into()), comment });
    }

    fn push_number(&mut self, keyword: impl Into<String>, value: f64, comment: &'static str) {
        self.cards.push(Card { keyword: keyword.into(), value: CardValue::Number(value), comment });
    }

    fn push_integer(&mut self, keyword: impl Into<String>, value: usize, comment: &'static str) {
        self.cards.push(Card { keyword: keyword.into(), value: CardValue::Integer(value as i64), comment });
    }

    /// Returns the cards as keywords, which can be evaluated.
    pub fn keywords(&self) -> HeaderKeywords {
        let mut keywords = HeaderKeywords::default();
        for card in &self.cards {
            match &card.value {
                CardValue::Text(text) => keywords.insert_text(&card.keyword, text),
                CardValue::Number(number) => keywords.insert_number(&card.keyword, *number),
                CardValue::Integer(number) => keywords.insert_number(&card.keyword, *number as f64),
            }
        }
        keywords
    }
}

impl Wcs {
    /// Returns the cards of a FITS header that give the same positions on the sky.
    ///
    /// A linear transform followed by a projection is written exactly. Anything else becomes a tangent plane at the middle, with
    /// a distortion by SIP whose degree is the lowest that is good enough.
    ///
    /// ```
    /// # let mut keywords = trilith_wcs::HeaderKeywords::default();
    /// # for (key, text) in [("CTYPE1", "RA---TAN"), ("CTYPE2", "DEC--TAN")] { keywords.insert_text(key, text); }
    /// # for (key, number) in [("CRPIX1", 50.5), ("CRPIX2", 50.5), ("CRVAL1", 10.0), ("CRVAL2", 20.0), ("CDELT1", -0.01),
    /// #     ("CDELT2", 0.01), ("NAXIS1", 100.0), ("NAXIS2", 100.0)] { keywords.insert_number(key, number); }
    /// # let wcs = keywords.wcs(&Default::default())?.expect("there are coordinates");
    /// let header = wcs.to_fits(&Default::default())?;
    /// assert!(header.degree == 1 && header.max_error < 1e-6);
    /// # Ok::<(), trilith_wcs::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::Unsupported`] if the coordinates are not positions of two pixel axes, if a pixel of the region has none, or
    /// if the error is larger than allowed; the message has the error.
    pub fn to_fits(&self, options: &FitOptions) -> Result<FitsHeader> {
        let fit = SipFit::new(self, options)?;
        fit.exact_header()?.map_or_else(|| fit.fit_polynomial_header(), Ok)
    }
}

/// Points of the image with their positions on the sky, in degrees.
struct SkyPoints {
    x: Vec<f64>,
    y: Vec<f64>,
    sky: [Vec<f64>; 2],
}

struct SipFit<'w> {
    wcs: &'w Wcs,
    options: &'w FitOptions,
    region: [(f64, f64); 2],
    /// Names of longitude and latitude in `CTYPE`, and `RADESYS`.
    names: (&'static str, &'static str, String),
    check_points: SkyPoints,
}

impl<'w> SipFit<'w> {
    fn new(wcs: &'w Wcs, options: &'w FitOptions) -> Result<Self> {
        let Some((longitude, _)) = wcs.sky() else {
            return Err(Error::Unsupported("a FITS header of coordinates that are not positions on the sky".to_owned()));
        };
        if wcs.pixel_axes() != 2 {
            return Err(Error::Unsupported(format!("a FITS header of {} pixel axes (expected 2)", wcs.pixel_axes())));
        }
        let whole = || wcs.pixel_range()?.get(..2)?.try_into().ok();
        let region: [(f64, f64); 2] = options.region.or_else(whole).ok_or_else(|| {
            Error::Unsupported("a FITS header of coordinates without a bounding box or a pixel shape".to_owned())
        })?;
        let names = axis_names(wcs, longitude)?;
        let mut fit = Self {
            wcs,
            options,
            region,
            names,
            check_points: SkyPoints { x: Vec::new(), y: Vec::new(), sky: Default::default() },
        };
        let even = |(low, high): (f64, f64)| -> Vec<f64> {
            (0..CHECK_POINTS).map(|at| low + (high - low) * at as f64 / (CHECK_POINTS - 1) as f64).collect()
        };
        fit.check_points = fit.sample_points(&even(region[0]), &even(region[1]))?;
        Ok(fit)
    }

    fn sample_points(&self, xs: &[f64], ys: &[f64]) -> Result<SkyPoints> {
        let (mut x, mut y) = (Vec::new(), Vec::new());
        for (b, a) in ys.iter().flat_map(|b| xs.iter().map(move |a| (b, a))) {
            x.push(*a);
            y.push(*b);
        }
        let sky = self.sky_positions(&self.wcs.forward, &x, &y, self.wcs.sky_units())?;
        if sky.iter().flatten().any(|value| !value.is_finite()) {
            return Err(Error::Unsupported("a FITS header of an image some pixels of which have no position".to_owned()));
        }
        Ok(SkyPoints { x, y, sky })
    }

    /// Longitudes and latitudes of pixels, in degrees.
    fn sky_positions(&self, forward: &Transform, x: &[f64], y: &[f64], units: [f64; 2]) -> Result<[Vec<f64>; 2]> {
        let world = forward.evaluate(&[x, y])?;
        let (longitude, latitude) = self.wcs.sky().unwrap_or((0, 1));
        let column = |axis: usize, unit: f64| world.get(axis).into_iter().flatten().map(|value| value * unit).collect();
        Ok([column(longitude, units[0]), column(latitude, units[1])])
    }

    fn center(&self) -> [f64; 2] {
        self.region.map(|(low, high)| (low + high) / 2.0)
    }

    /// Checks cards against the coordinates: the largest difference in pixels.
    fn max_pixel_error(&self, header: &FitsHeader) -> Result<f64> {
        let wcs = header.keywords().wcs(&WcsLimits::default())?;
        let wcs = wcs.ok_or_else(|| Error::Invalid("the cards give no coordinates".to_owned()))?;
        let moved = |column: &[f64], by: f64| column.iter().map(|value| value - by).collect::<Vec<f64>>();
        let x = moved(&self.check_points.x, self.options.origin[0]);
        let y = moved(&self.check_points.y, self.options.origin[1]);
        let found = wcs.forward().evaluate(&[&x, &y])?;
        let [a, b] = &self.check_points.sky;
        let mut worst = 0.0f64;
        // The scale differs from place to place: the neighbour of each point gives it.
        let mut steps: Option<[[f64; 2]; 2]> = None;
        for at in 0..a.len() {
            if at % 97 == 0 {
                let point = [self.check_points.x[at], self.check_points.y[at]];
                steps = self.wcs.local_offset(&point, 0)?.zip(self.wcs.local_offset(&point, 1)?).map(|(x, y)| [x, y]);
            }
            let Some([step_x, step_y]) = steps else { return Ok(f64::NAN) };
            let value = |axis: usize| found.get(axis).and_then(|column| column.get(at)).copied().unwrap_or(f64::NAN);
            let [east, north] = sky_offset([a[at], b[at]], [value(0), value(1)]);
            let determinant = step_x[0] * step_y[1] - step_x[1] * step_y[0];
            let dx = (east * step_y[1] - north * step_y[0]) / determinant;
            let dy = (north * step_x[0] - east * step_x[1]) / determinant;
            let error = dx.hypot(dy);
            if error.is_nan() {
                return Ok(f64::NAN);
            }
            worst = worst.max(error);
        }
        Ok(worst)
    }

    /// A header with what all have in common.
    fn initial_plane(&self, code: &str, suffix: &str) -> FitsHeader {
        let mut header = FitsHeader { degree: 1, ..FitsHeader::default() };
        let (longitude, latitude, _) = &self.names;
        header.push_integer("WCSAXES", 2, "number of coordinate axes");
        header.push_text("CTYPE1", format!("{longitude:-<4}-{code}{suffix}"), "longitude and its projection");
        header.push_text("CTYPE2", format!("{latitude:-<4}-{code}{suffix}"), "latitude and its projection");
        header.push_text("CUNIT1", "deg", "unit of CRVAL1 and CDi_j");
        header.push_text("CUNIT2", "deg", "unit of CRVAL2 and CDi_j");
        header
    }

    /// Reference point and matrix: pixels count from 0 at the middle of the first.
    fn write_reference(&self, header: &mut FitsHeader, at: [f64; 2], sky: [f64; 2], matrix: [[f64; 2]; 2], poles: [f64; 2]) {
        header.push_number("CRPIX1", at[0] - self.options.origin[0] + 1.0, "reference pixel, the first is 1");
        header.push_number("CRPIX2", at[1] - self.options.origin[1] + 1.0, "reference pixel, the first is 1");
        header.push_number("CRVAL1", sky[0].rem_euclid(360.0), "longitude of the reference pixel");
        header.push_number("CRVAL2", sky[1], "latitude of the reference pixel");
        for (i, row) in matrix.iter().enumerate() {
            for (j, value) in row.iter().enumerate() {
                header.push_number(format!("CD{}_{}", i + 1, j + 1), *value, "degrees a pixel");
            }
        }
        header.push_number("LONPOLE", poles[0], "native longitude of the celestial pole");
        header.push_number("LATPOLE", poles[1], "native latitude of the celestial pole");
        let system = &self.names.2;
        if !system.is_empty() {
            header.push_text("RADESYS", system.clone(), "reference frame");
        }
        let usual = match system.as_str() {
            "FK5" => Some(2000.0),
            "FK4" | "FK4-NO-E" => Some(1950.0),
            _ => None,
        };
        if let Some(usual) = usual {
            let equinox = self.wcs.frames().last().and_then(|frame| frame.equinox).unwrap_or(usual);
            header.push_number("EQUINOX", equinox, "equinox of the positions");
        }
    }

    /// The header of a linear transform that is followed by a projection.
    fn exact_header(&self) -> Result<Option<FitsHeader>> {
        if self.wcs.sky() != Some((0, 1)) || self.wcs.sky_units() != [1.0; 2] {
            return Ok(None);
        }
        let Some(SkyProjection { to_plane, projection, rotation }) = self.wcs.forward.split_projection() else {
            return Ok(None);
        };
        let plane = |x: f64, y: f64| -> Result<[f64; 2]> {
            let found = to_plane.as_ref().map_or_else(|| Ok(vec![x, y]), |to_plane| to_plane.evaluate_point(&[x, y]))?;
            Ok([found.first().copied().unwrap_or(f64::NAN), found.get(1).copied().unwrap_or(f64::NAN)])
        };
        // The error shows whether the transform is as linear as its derivatives at the middle say.
        let [x, y] = self.center();
        let (here, half) = (plane(x, y)?, 0.5 * (self.region[0].1 - self.region[0].0).max(1.0));
        let (right, left, up, down) = (plane(x + half, y)?, plane(x - half, y)?, plane(x, y + half)?, plane(x, y - half)?);
        let by = |a: f64, b: f64| (a - b) / (2.0 * half);
        let matrix = [[by(right[0], left[0]), by(up[0], down[0])], [by(right[1], left[1]), by(up[1], down[1])]];
        let Some(back) = invert_matrix2(&matrix) else { return Ok(None) };
        let [dx, dy] = multiply_matrix_vector(&back, here);
        let (pole, sky) = poles_and_reference(&projection, &rotation)?;
        let mut header = self.initial_plane(projection.code(), "");
        self.write_reference(&mut header, [x - dx, y - dy], sky, matrix, pole);
        for (number, value) in projection.parameters().iter().enumerate() {
            let number = if projection.code() == "ZPN" { number } else { number + 1 };
            header.push_number(format!("PV2_{number}"), *value, "parameter of the projection");
        }
        header.max_error = self.max_pixel_error(&header)?;
        Ok((header.max_error < EXACT_TOLERANCE).then_some(header))
    }

    /// The header of a tangent plane with polynomials.
    fn fit_polynomial_header(&self) -> Result<FitsHeader> {
        let middle = self.center();
        let sky = self.sky_positions(&self.wcs.forward, &[middle[0]], &[middle[1]], self.wcs.sky_units())?;
        let sky = [sky[0][0].rem_euclid(360.0), sky[1][0]];
        let flat = TangentPlane::new(sky)?;
        let scale = self.region.iter().map(|(low, high)| (high - low) / 2.0).fold(1.0, f64::max);
        // Chebyshev's points: the error is then about even, up to the edges.
        let nodes = |(low, high): (f64, f64)| -> Vec<f64> {
            let node = |at: usize| (std::f64::consts::PI * (at as f64 + 0.5) / FIT_POINTS as f64).cos();
            (0..FIT_POINTS).map(|at| (low + high) / 2.0 - node(at) * (high - low) / 2.0).collect()
        };
        let fitted = FitSamples::new(&self.sample_points(&nodes(self.region[0]), &nodes(self.region[1]))?, middle, scale, &flat)?;
        let checked = FitSamples::new(&self.check_points, middle, scale, &flat)?;
        let allowed =
            self.options.max_error.unwrap_or(if self.options.degree.is_some() { f64::INFINITY } else { DEFAULT_MAX_ERROR });
        let degrees = match self.options.degree {
            Some(degree) if !(1..=MAX_SIP_DEGREE).contains(&degree) => {
                return Err(Error::Unsupported(format!("SIP of degree {degree} (expected 1 to {MAX_SIP_DEGREE})")));
            }
            Some(degree) => degree..=degree,
            None => 1..=MAX_SIP_DEGREE,
        };
        let mut best: Option<(f64, usize, ForwardFit)> = None;
        for degree in degrees {
            let Some(forward) = ForwardFit::new(degree, &fitted, scale) else { break };
            let error = forward.max_pixel_error(&checked);
            if best.as_ref().is_none_or(|(known, ..)| error < *known) {
                best = Some((error, degree, forward));
            }
            if error <= allowed {
                break;
            }
        }
        let (error, degree, forward) =
            best.ok_or_else(|| Error::Unsupported("a FITS header of pixels whose positions are on one line".to_owned()))?;
        if !(error <= allowed) {
            return Err(Error::Unsupported(format!(
                "a FITS header that is off by {error:.2e} pixels with SIP of degree {degree} (allowed: {allowed:e})"
            )));
        }
        let mut header = self.initial_plane("TAN", if degree > 1 { "-SIP" } else { "" });
        self.write_reference(&mut header, middle, sky, forward.matrix, [180.0, sky[1]]);
        (header.degree, header.max_error) = (degree, error);
        if degree > 1 {
            write_terms(&mut header, ["A", "B"], degree, scale, &forward.terms, &forward.nonlinear, "SIP distortion");
            let (error, degree, terms, inverse) = fit_backward_terms(&forward, &fitted, &checked, allowed)?;
            write_terms(&mut header, ["AP", "BP"], degree, scale, &terms, &inverse, "inverse SIP distortion");
            header.inverse_error = Some(error);
            header.push_number("SIPMXERR", header.max_error, "largest error of SIP in pixels");
            header.push_number("SIPIVERR", error, "largest error of inverse SIP in pixels");
        } else {
            header.push_number("WCSMXERR", error, "largest error in pixels");
        }
        Ok(header)
    }
}

/// The tangent plane at a position.
struct TangentPlane(Transform);

impl TangentPlane {
    fn new(sky: [f64; 2]) -> Result<Self> {
        let turn = transposed(&native_to_celestial((sky[0], sky[1]), 180.0));
        let to_plane = Transform::to_plane(Projection::new("TAN", &[])?);
        Ok(Self(Transform::chain(vec![Transform::rotate_sphere(turn, [true, true]), to_plane])?))
    }
}

/// Points with their places in the tangent plane. Pixels count from the middle, in units of the scale.
struct FitSamples {
    pixel: [Vec<f64>; 2],
    tangent: [Vec<f64>; 2],
}

impl FitSamples {
    fn new(points: &SkyPoints, middle: [f64; 2], scale: f64, flat: &TangentPlane) -> Result<Self> {
        let plane = flat.0.evaluate(&[&points.sky[0], &points.sky[1]])?;
        let [x, y]: [Vec<f64>; 2] = plane.try_into().map_err(|_| Error::Invalid("a plane of two axes".to_owned()))?;
        if x.iter().chain(&y).any(|value| !value.is_finite()) {
            return Err(Error::Unsupported("a FITS header of an image that is larger than half of the sky".to_owned()));
        }
        let unit = |column: &[f64], by: f64| column.iter().map(|value| (value - by) / scale).collect();
        Ok(Self { pixel: [unit(&points.x, middle[0]), unit(&points.y, middle[1])], tangent: [x, y] })
    }
}

/// Powers of both variables, the sum of which is from 1 to a degree.
fn term_powers(degree: usize) -> Vec<(usize, usize)> {
    (1..=degree).flat_map(|sum| (0..=sum).rev().map(move |p| (p, sum - p))).collect()
}

/// The values of monomials at a point.
fn monomials(terms: &[(usize, usize)], u: f64, v: f64) -> impl Iterator<Item = f64> + '_ {
    let table = |value: f64| -> [f64; MAX_SIP_DEGREE + 1] { std::array::from_fn(|power| value.powi(power as i32)) };
    let (us, vs) = (table(u), table(v));
    terms.iter().map(move |(p, q)| us[*p] * vs[*q])
}

fn fit_term_coefficients(terms: &[(usize, usize)], at: &[Vec<f64>; 2], values: [Vec<f64>; 2]) -> Option<[Vec<f64>; 2]> {
    let matrix: Vec<f64> = at[0].iter().zip(&at[1]).flat_map(|(u, v)| monomials(terms, *u, *v)).collect();
    least_squares(terms.len(), &matrix, values)
}

/// Map from pixels to the tangent plane: polynomials that are added to the pixels, then a matrix.
struct ForwardFit {
    matrix: [[f64; 2]; 2],
    inverse_matrix: [[f64; 2]; 2],
    terms: Vec<(usize, usize)>,
    nonlinear: [Vec<f64>; 2],
    scale: f64,
}

impl ForwardFit {
    fn new(degree: usize, samples: &FitSamples, scale: f64) -> Option<Self> {
        let all = term_powers(degree);
        let [x, y] = fit_term_coefficients(&all, &samples.pixel, samples.tangent.clone())?;
        let matrix = [[x[0] / scale, x[1] / scale], [y[0] / scale, y[1] / scale]];
        let back = invert_matrix2(&matrix)?;
        let terms = all.get(2..)?.to_vec();
        let pairs = x.iter().zip(&y).skip(2).map(|(x, y)| multiply_matrix_vector(&back, [*x, *y]));
        let (a, b) = pairs.map(|[a, b]| (a, b)).unzip();
        Some(Self { matrix, inverse_matrix: back, terms, nonlinear: [a, b], scale })
    }

    /// The largest difference in pixels.
    fn max_pixel_error(&self, samples: &FitSamples) -> f64 {
        let mut worst = 0.0f64;
        for at in 0..samples.pixel[0].len() {
            let [u, v] = [samples.pixel[0][at], samples.pixel[1][at]];
            let [a, b] = normal_sums(&self.terms, &self.nonlinear, u, v);
            let [x, y] = multiply_matrix_vector(&self.inverse_matrix, [samples.tangent[0][at], samples.tangent[1][at]]);
            worst = worst.max((u * self.scale + a - x).hypot(v * self.scale + b - y));
        }
        worst
    }
}

fn normal_sums(terms: &[(usize, usize)], factors: &[Vec<f64>; 2], u: f64, v: f64) -> [f64; 2] {
    let mut sum = [0.0; 2];
    for (at, value) in monomials(terms, u, v).enumerate() {
        sum[0] += factors[0][at] * value;
        sum[1] += factors[1][at] * value;
    }
    sum
}

/// The largest error, the degree, and the terms of the polynomials from the plane to pixels.
type InverseFit = (f64, usize, Vec<(usize, usize)>, [Vec<f64>; 2]);

/// Fits the inverse: what is to be added to the plane, in pixels, to get pixels.
fn fit_backward_terms(forward: &ForwardFit, fitted: &FitSamples, checked: &FitSamples, allowed: f64) -> Result<InverseFit> {
    let scale = forward.scale;
    let intermediate = |samples: &FitSamples| -> [Vec<f64>; 2] {
        let pairs = samples.tangent[0]
            .iter()
            .zip(&samples.tangent[1])
            .map(|(x, y)| multiply_matrix_vector(&forward.inverse_matrix, [*x, *y]));
        let (u, v) = pairs.map(|[u, v]| (u / scale, v / scale)).unzip();
        [u, v]
    };
    let (at, test) = (intermediate(fitted), intermediate(checked));
    let missing = |axis: usize| -> Vec<f64> {
        fitted.pixel[axis].iter().zip(&at[axis]).map(|(pixel, plane)| (pixel - plane) * scale).collect()
    };
    let wanted = [missing(0), missing(1)];
    let mut best: Option<InverseFit> = None;
    for degree in 2..=MAX_SIP_DEGREE {
        let terms = term_powers(degree);
        let Some(found) = fit_term_coefficients(&terms, &at, wanted.clone()) else { break };
        let mut worst = 0.0f64;
        for (at, (x, y)) in test[0].iter().zip(&test[1]).enumerate() {
            let [a, b] = normal_sums(&terms, &found, *x, *y);
            let [u, v] = [(0, x), (1, y)].map(|(axis, plane)| (checked.pixel[axis][at] - plane) * scale);
            worst = worst.max((a - u).hypot(b - v));
        }
        if best.as_ref().is_none_or(|(known, ..)| worst < *known) {
            best = Some((worst, degree, terms, found));
        }
        if worst <= allowed.min(DEFAULT_MAX_ERROR) {
            break;
        }
    }
    best.ok_or_else(|| Error::Unsupported("inverse SIP of pixels whose positions are on one line".to_owned()))
}

/// Writes polynomials whose variables were in units of the scale.
fn write_terms(
    header: &mut FitsHeader,
    names: [&str; 2],
    degree: usize,
    scale: f64,
    terms: &[(usize, usize)],
    factors: &[Vec<f64>; 2],
    comment: &'static str,
) {
    for (name, factors) in names.iter().zip(factors) {
        header.push_integer(format!("{name}_ORDER"), degree, "degree of the polynomial");
        for ((p, q), factor) in terms.iter().zip(factors) {
            // A term that moves no pixel by a billionth of one says nothing.
            if factor.abs() > 1e-12 {
                header.push_number(format!("{name}_{p}_{q}"), factor / scale.powi((p + q) as i32), comment);
            }
        }
    }
}

/// `LONPOLE` and `LATPOLE`, and the position of the reference point, of a projection that is turned.
fn poles_and_reference(projection: &Projection, turn: &RotationMatrix) -> Result<([f64; 2], [f64; 2])> {
    let theta = projection.reference();
    let sphere = Transform::rotate_sphere(*turn, [true, false]);
    let at = |phi: f64, theta: f64| -> Result<[f64; 2]> {
        let found = sphere.evaluate_point(&[phi, theta])?;
        Ok([found.first().copied().unwrap_or(f64::NAN), found.get(1).copied().unwrap_or(f64::NAN)])
    };
    let sky = at(0.0, theta)?;
    let latpole = turn[2][2].clamp(-1.0, 1.0).asin().to_degrees();
    if theta == 90.0 && sky[1].abs() > 90.0 - 1e-9 {
        // Longitudes at a pole of the sky are those of the meridian.
        let meridian = at(0.0, 0.0)?[0];
        let longitude = if sky[1] > 0.0 { meridian } else { meridian - 180.0 };
        return Ok(([180.0, sky[1]], [longitude, sky[1]]));
    }
    Ok(([turn[2][1].atan2(turn[2][0]).to_degrees(), latpole], sky))
}

/// Names of longitude and latitude in `CTYPE`, and the value of `RADESYS`.
fn axis_names(wcs: &Wcs, longitude: usize) -> Result<(&'static str, &'static str, String)> {
    const CTYPE_PAIRS: [(&str, &str, &str); 8] = [
        ("RA", "DEC", "pos.eq"),
        ("GLON", "GLAT", "pos.galactic"),
        ("ELON", "ELAT", "pos.ecliptic"),
        ("HPLN", "HPLT", "custom:pos.helioprojective"),
        ("HGLN", "HGLT", "custom:pos.heliographic.stonyhurst"),
        ("CRLN", "CRLT", "custom:pos.heliographic.carrington"),
        ("TLON", "TLAT", "pos.bodyrc"),
        ("SLON", "SLAT", "pos.supergalactic"),
    ];
    let reference = wcs.frames().last().map_or("", |frame| frame.reference_frame.as_str());
    let by_frame = match reference {
        "ICRS" | "FK5" | "FK4" | "FK4-NO-E" | "GAPPT" => Some("RA"),
        "Galactic" => Some("GLON"),
        "helioprojective" => Some("HPLN"),
        "supergalactic" => Some("SLON"),
        "BarycentricMeanEcliptic" => Some("ELON"),
        _ => None,
    };
    let axis = wcs.world_axis(longitude);
    let (name, kind) = (axis.name, axis.physical_type);
    let by_axis = CTYPE_PAIRS.iter().find(|(known, ..)| *known == name).map(|(known, ..)| *known);
    let by_type = CTYPE_PAIRS.iter().find(|(.., start)| kind.starts_with(start)).map(|(known, ..)| *known);
    let found = by_axis.or(by_frame).or(if reference.is_empty() { by_type.or(Some("RA")) } else { None });
    let Some((lon, lat, _)) = CTYPE_PAIRS.iter().find(|(known, ..)| Some(*known) == found) else {
        return Err(Error::Unsupported(format!("a FITS header of positions in the frame {reference}")));
    };
    let has_equinox = wcs.frames().last().is_some_and(|frame| frame.equinox.is_some());
    let system = match *lon {
        "RA" => reference,
        "ELON" if has_equinox => "FK5",
        _ => "",
    };
    let system = system.to_owned();
    Ok((lon, lat, system))
}

fn invert_matrix2(matrix: &[[f64; 2]; 2]) -> Option<[[f64; 2]; 2]> {
    let [[a, b], [c, d]] = *matrix;
    let determinant = a * d - b * c;
    let found = [[d / determinant, -b / determinant], [-c / determinant, a / determinant]];
    found.iter().flatten().all(|value| value.is_finite()).then_some(found)
}

fn multiply_matrix_vector(matrix: &[[f64; 2]; 2], vector: [f64; 2]) -> [f64; 2] {
    matrix.map(|[a, b]| a * vector[0] + b * vector[1])
}
