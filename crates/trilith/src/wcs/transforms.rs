//! Transforms of a GWCS: each tagged node becomes a [`Transform`]; an unknown tag is named.

use trilith_wcs::{
    Basis, Limits, Map, Method, Operation, Outside, Polynomial, Projection, Table, Table2, Transform, native_to_celestial,
    sequence, transposed,
};

use super::from_wcs;
use super::numbers::{Numbers, intervals, numbers, whole, wholes};
use super::units::Unit;
use super::{get, list, name_of, require, tag, text, texts, version_of};
use crate::error::{Context as _, Error, ErrorKind, Result};
use crate::file::{Item, ItemKind};

/// The unit of each output, if it has one.
pub(super) type Units = Vec<Option<Unit>>;

const TRANSFORM: &str = "tag:stsci.edu:asdf/transform/";
const GWCS: &str = "tag:stsci.edu:gwcs/";
const DKIST: &str = "asdf://dkist.nso.edu/tags/";

/// Names of the schemas of projections, their codes, and their parameters in the order of `PVi_1`, ….
const PROJECTIONS: &[(&str, &str, &[&str])] = &[
    ("zenithal_perspective", "AZP", &["mu", "gamma"]),
    ("slant_zenithal_perspective", "SZP", &["mu", "phi0", "theta0"]),
    ("gnomonic", "TAN", &[]),
    ("stereographic", "STG", &[]),
    ("slant_orthographic", "SIN", &["xi", "eta"]),
    ("zenithal_equidistant", "ARC", &[]),
    ("zenithal_equal_area", "ZEA", &[]),
    ("airy", "AIR", &["theta_b"]),
    ("cylindrical_perspective", "CYP", &["mu", "lam"]),
    ("cylindrical_equal_area", "CEA", &["lam"]),
    ("plate_carree", "CAR", &[]),
    ("mercator", "MER", &[]),
    ("sanson_flamsteed", "SFL", &[]),
    ("parabolic", "PAR", &[]),
    ("molleweide", "MOL", &[]),
    ("hammer_aitoff", "AIT", &[]),
    ("conic_perspective", "COP", &["sigma", "delta"]),
    ("conic_equal_area", "COE", &["sigma", "delta"]),
    ("conic_equidistant", "COD", &["sigma", "delta"]),
    ("conic_orthomorphic", "COO", &["sigma", "delta"]),
    ("bonne_equal_area", "BON", &["theta1"]),
    ("polyconic", "PCO", &[]),
    ("tangential_spherical_cube", "TSC", &[]),
    ("cobe_quad_spherical_cube", "CSC", &[]),
    ("quad_spherical_cube", "QSC", &[]),
    ("healpix", "HPX", &["H", "X"]),
    ("healpix_polar", "XPH", &[]),
];

/// Keys that Python's asdf fills in if they are missing in a file of a standard before 1.6: the name of the tag, the key, the default
/// in the schema, and the last version of the tag that such a file may have. It fills in numbers, too, but with the values that
/// the models have anyway.
const FILLED: &[(&str, &str, &str, (u32, u32))] = &[
    ("rotate3d", "direction", "native2celestial", (1, 3)),
    ("healpix", "direction", "pix2sky", (1, 2)),
    ("healpix_polar", "direction", "pix2sky", (1, 2)),
    ("tabular", "method", "linear", (1, 2)),
    ("tabular", "bounds_error", "true", (1, 2)),
    ("spherical_cartesian", "wrap_lon_at", "360", (1, 1)),
];

/// Keys of a node that cost nothing.
const KEYS: usize = 32;

/// Makes transforms of nodes, and counts what they cost.
#[derive(Debug)]
pub(super) struct Builder {
    pub(super) limits: Limits,
    nodes: usize,
    coefficients: usize,
    /// Terms of polynomials, each of which costs time for each point.
    terms: usize,
    has_quantities: bool,
    /// Missing keys have the defaults of the schemas.
    is_filled: bool,
}

/// A transform with the units of its outputs.
pub(super) type Built = (Transform, Units);

impl Builder {
    pub(super) fn new(limits: Limits, is_filled: bool) -> Self {
        Self { limits, nodes: 0, coefficients: 0, terms: 0, has_quantities: false, is_filled }
    }

    /// Returns `true` if a parameter had a unit.
    pub(super) fn has_quantities(&self) -> bool {
        self.has_quantities
    }

    /// The transform of a node, for inputs of these units; inputs without one are plain numbers.
    pub(super) fn build(&mut self, item: &Item<'_>, units: &[Option<Unit>], depth: usize) -> Result<Built> {
        if depth > self.limits.depth {
            return Err(Error::limit(format!("a transform of coordinates with more than {} nodes deep", self.limits.depth)));
        }
        // A node that aliases lead to is looked through each time.
        self.count(1 + item.parts()?.len() / KEYS)?;
        let tag = tag(item).unwrap_or_default();
        let known = [TRANSFORM, GWCS, DKIST].into_iter().find(|namespace| tag.starts_with(namespace));
        let name = name_of(&tag).to_owned();
        let (transform, outputs) = match known {
            Some(TRANSFORM) => self.standard(item, &tag, &name, units, depth),
            Some(GWCS) => self.gwcs(item, &tag, &name, units),
            Some(_) => self.dkist(item, &tag, &name, units, depth),
            None => Err(unsupported(&tag)),
        }
        .doing(|| name.clone())?;
        let Some(given) = get(item, "inverse")? else { return Ok((transform, outputs)) };
        match self.inverse(&given, &outputs, units, depth + 1) {
            Ok(inverse) => Ok((transform.with_inverse(inverse), outputs)),
            // The way to the sky does not need it.
            Err(error) if error.kind() == ErrorKind::Unsupported => {
                Ok((transform.without_inverse(format!("{name}/inverse: {error}")), outputs))
            }
            Err(error) => Err(error.context(format!("{name}/inverse"))),
        }
    }

    /// The inverse that a node has, from the units of its outputs to those of its inputs.
    fn inverse(&mut self, given: &Item<'_>, from: &[Option<Unit>], to: &[Option<Unit>], depth: usize) -> Result<Transform> {
        let (inverse, mut back) = self.build(given, from, depth)?;
        Transform::chain(vec![inverse, converted(&mut back, to)?]).map_err(from_wcs)
    }

    /// A word of a node; if it is missing in an old file, the default of the schema.
    fn word(&self, item: &Item<'_>, tag: &str, key: &str) -> Result<String> {
        if let Some(found) = get(item, key)? {
            return Ok(text(&found)?.into_owned());
        }
        let is_it = |row: &&(&str, &str, &str, (u32, u32))| row.0 == name_of(tag) && row.1 == key && version_of(tag) <= row.3;
        match FILLED.iter().find(is_it).filter(|_| self.is_filled) {
            Some(row) => Ok(row.2.to_owned()),
            None => Err(Error::malformed(format!("{tag} without {key}"))),
        }
    }

    /// Charges nodes to the limits.
    pub(super) fn count(&mut self, nodes: usize) -> Result<()> {
        self.nodes = self.nodes.saturating_add(nodes);
        if self.nodes > self.limits.nodes {
            return Err(Error::limit(format!("a transform of coordinates with more than {} nodes in all", self.limits.nodes)));
        }
        Ok(())
    }

    /// A transform of the standard. Those that hold others are here, so that little is on the stack for each level.
    fn standard(&mut self, item: &Item<'_>, tag: &str, name: &str, units: &[Option<Unit>], depth: usize) -> Result<Built> {
        match name {
            "compose" => {
                let [first, second] = pair(item)?;
                let (first, between) = self.build(&first, units, depth + 1)?;
                let (second, outputs) = self.build(&second, &between, depth + 1)?;
                Ok((Transform::chain(vec![first, second]).map_err(from_wcs)?, outputs))
            }
            "concatenate" => {
                let [left, right] = pair(item)?;
                let (left, mut outputs) = self.build(&left, units, depth + 1)?;
                let (right, others) = self.build(&right, units.get(left.inputs()..).unwrap_or(&[]), depth + 1)?;
                outputs.extend(others);
                Ok((Transform::parallel(vec![left, right]), outputs))
            }
            "add" => self.arithmetic(Operation::Add, item, name, units, depth),
            "subtract" => self.arithmetic(Operation::Subtract, item, name, units, depth),
            "multiply" => self.arithmetic(Operation::Multiply, item, name, units, depth),
            "divide" => self.arithmetic(Operation::Divide, item, name, units, depth),
            "power" => self.arithmetic(Operation::Power, item, name, units, depth),
            "fix_inputs" => self.fixed(item, units, depth),
            _ => self.simple(item, tag, name, units),
        }
    }

    fn arithmetic(
        &mut self,
        operation: Operation,
        item: &Item<'_>,
        name: &str,
        units: &[Option<Unit>],
        depth: usize,
    ) -> Result<Built> {
        let [left, right] = pair(item)?;
        let (left, outputs) = self.build(&left, units, depth + 1)?;
        let (right, mut others) = self.build(&right, units, depth + 1)?;
        let is_sum = matches!(operation, Operation::Add | Operation::Subtract);
        let has_units = outputs.iter().chain(&others).any(Option::is_some);
        if has_units && !is_sum {
            return Err(Error::unsupported(format!("{name} of transforms whose values have units is not supported")));
        }
        let right = Transform::chain(vec![right, converted(&mut others, &outputs)?]).map_err(from_wcs)?;
        Ok((Transform::arithmetic(operation, left, right).map_err(from_wcs)?, outputs))
    }

    /// A transform that holds no others.
    fn simple(&mut self, item: &Item<'_>, tag: &str, name: &str, units: &[Option<Unit>]) -> Result<Built> {
        let unit = || units.first().cloned().flatten();
        if let Some((_, code, parameters)) = PROJECTIONS.iter().find(|row| row.0 == name) {
            let projection = self.projection(item, code, parameters)?;
            return self.directed(item, tag, projection, units);
        }
        match name {
            "remap_axes" => {
                let mapping = wholes(&require(item, "mapping")?)?;
                let inputs = match get(item, "n_inputs")? {
                    Some(count) => whole(&count)?,
                    None => mapping.iter().max().map_or(0, |most| most + 1),
                };
                if mapping.len().max(inputs) > self.limits.axes {
                    return Err(Error::limit(format!("a mapping of more than {} axes", self.limits.axes)));
                }
                let outputs = mapping.iter().map(|from| units.get(*from).cloned().flatten()).collect();
                Ok((Transform::remap(mapping, inputs).map_err(from_wcs)?, outputs))
            }
            "identity" => {
                let count = get(item, "n_dims")?.map_or(Ok(1), |count| whole(&count))?;
                if count == 0 || count > self.limits.axes {
                    return Err(Error::limit(format!("an identity of {count} axes (at most {})", self.limits.axes)));
                }
                Ok((Transform::identity(count), (0..count).map(|axis| units.get(axis).cloned().flatten()).collect()))
            }
            "shift" => {
                let offset = self.parameter(item, "offset")?;
                let factor = factor(&offset.unit, &unit())?;
                Ok((Transform::shift(offset.single()? * factor), vec![unit().or(offset.unit)]))
            }
            "scale" => Ok((Transform::scale(self.parameter(item, "factor")?.single()?), vec![unit()])),
            "multiplyscale" => {
                let found = self.parameter(item, "factor")?;
                let product = match (unit(), &found.unit) {
                    (Some(input), Some(by)) => Some(input.times(by)),
                    (None, by) => by.clone(),
                    (input, None) => input,
                };
                Ok((Transform::scale(found.single()?), vec![product]))
            }
            "linear1d" => {
                let (slope, intercept) = (self.parameter(item, "slope")?, self.parameter(item, "intercept")?);
                let product = match (unit(), &slope.unit) {
                    (Some(input), Some(by)) => Some(input.times(by)),
                    (input, _) => input,
                };
                // The unit of the sum is that of the intercept, if it has one.
                let factor = factor(&product.filter(|_| intercept.unit.is_some()), &intercept.unit)?;
                Ok((Transform::linear(slope.single()? * factor, intercept.single()?), vec![intercept.unit]))
            }
            "constant" => {
                let value = self.parameter(item, "value")?;
                let dimensions =
                    if version_of(tag) < (1, 4) { 1 } else { get(item, "dimensions")?.map_or(Ok(1), |count| whole(&count))? };
                if !(1..=2).contains(&dimensions) {
                    return Err(Error::malformed(format!("a constant of {dimensions} dimensions (expected 1 or 2)")));
                }
                Ok((Transform::constant(value.single()?, dimensions), vec![value.unit]))
            }
            "polynomial" => {
                // Before version 1.2 "domain" had another meaning, and no effect.
                self.polynomial(item, Basis::Power, version_of(tag) >= (1, 2))
            }
            "ortho_polynomial" => {
                let kind = require(item, "polynomial_type")?;
                let basis = match &*text(&kind)? {
                    "chebyshev" => Basis::Chebyshev,
                    "legendre" => Basis::Legendre,
                    "hermite" => Basis::Hermite,
                    other => return Err(Error::unsupported(format!("polynomial_type {other:?} is not supported"))),
                };
                self.polynomial(item, basis, true)
            }
            "planar2d" => {
                let [x, y, c] = ["slope_x", "slope_y", "intercept"].map(|key| self.parameter(item, key));
                let (x, y, c) = (x?, y?, c?);
                // The unit of the sum is that of the intercept, if it has one.
                let product = |slope: &Numbers, axis: usize| match (units.get(axis).cloned().flatten(), &slope.unit) {
                    (Some(input), Some(by)) => Some(input.times(by)),
                    (input, _) => input,
                };
                let factors = [factor(&product(&x, 0), &c.unit)?, factor(&product(&y, 1), &c.unit)?];
                if c.unit.is_none() && [product(&x, 0), product(&y, 1)].iter().any(Option::is_some) {
                    return Err(Error::unsupported(
                        "planar2d of values with units and an intercept without one is not supported",
                    ));
                }
                let slopes = vec![x.single()? * factors[0], y.single()? * factors[1]];
                Ok((Transform::matrix(slopes, vec![c.single()?]).map_err(from_wcs)?, vec![c.unit]))
            }
            "affine" => self.affine(item, units),
            "rotate2d" => {
                let (sin, cos) = self.angle(item, "angle")?.to_radians().sin_cos();
                let turn = Transform::matrix(vec![cos, -sin, sin, cos], vec![0.0; 2]).map_err(from_wcs)?;
                Ok((turn, vec![unit(), unit()]))
            }
            "rotate3d" => {
                let [phi, theta, psi] = ["phi", "theta", "psi"].map(|key| self.angle(item, key));
                let (phi, theta, psi) = (phi?, theta?, psi?);
                let turn = match &*self.word(item, tag, "direction")? {
                    "native2celestial" => Transform::turn(native_to_celestial((phi, theta), psi), [true, false]),
                    "celestial2native" => Transform::turn(transposed(&native_to_celestial((phi, theta), psi)), [false, false]),
                    axes => Transform::turn(sequence(&[phi, theta, psi], axes).map_err(from_wcs)?, [true, true]),
                };
                self.on_sphere(turn, units)
            }
            "rotate_sequence_3d" => {
                let angles = self.parameter(item, "angles")?;
                let axes = require(item, "axes_order")?;
                let matrix = sequence(&angles.values, &text(&axes)?).map_err(from_wcs)?;
                let kind = get(item, "rotation_type")?;
                match kind.as_ref().map(|kind| text(kind)).transpose()?.as_deref() {
                    None | Some("cartesian") => Ok((Transform::rotation(matrix), vec![None; 3])),
                    Some("spherical") => self.on_sphere(Transform::turn(matrix, [true, true]), units),
                    Some(other) => Err(Error::unsupported(format!("rotation_type {other:?} is not supported"))),
                }
            }
            "tabular" => self.tabular(item, tag, units),
            _ => self.function(item, tag, name, units),
        }
    }

    fn gwcs(&mut self, item: &Item<'_>, tag: &str, name: &str, units: &[Option<Unit>]) -> Result<Built> {
        match name {
            "spherical_cartesian" => {
                let half = match &*self.word(item, tag, "wrap_lon_at")? {
                    "180" => true,
                    "360" => false,
                    other => return Err(Error::malformed(format!("wrap_lon_at {other:?} (expected 180 or 360)"))),
                };
                let kind = require(item, "transform_type")?;
                match &*text(&kind)? {
                    "spherical_to_cartesian" => {
                        let to_degrees = in_degrees(units)?;
                        Ok((Transform::chain(vec![to_degrees, Transform::to_cartesian(half)]).map_err(from_wcs)?, vec![None; 3]))
                    }
                    "cartesian_to_spherical" => Ok((Transform::to_spherical(half), vec![None; 2])),
                    other => Err(Error::unsupported(format!("transform_type {other:?} is not supported"))),
                }
            }
            "fitswcs_imaging" => {
                let [crpix, cdelt, crval, pc] = ["crpix", "cdelt", "crval", "pc"].map(|key| self.parameter(item, key));
                let (crpix, cdelt, crval, pc) = (crpix?.values, cdelt?.values, crval?.values, pc?.values);
                let (&[x, y], &[dx, dy], &[lon, lat], [a, b, c, d]) = (&crpix[..], &cdelt[..], &crval[..], &pc[..]) else {
                    return Err(Error::malformed("crpix, cdelt, crval and pc of other than two axes"));
                };
                let node = require(item, "projection")?;
                let projection = self.nested_projection(&node)?;
                let lonpole = if projection.reference() == 90.0 || lat < projection.reference() { 180.0 } else { 0.0 };
                let parts = vec![
                    Transform::parallel(vec![Transform::shift(-x), Transform::shift(-y)]),
                    Transform::matrix(vec![*a, *b, *c, *d], vec![0.0; 2]).map_err(from_wcs)?,
                    Transform::parallel(vec![Transform::scale(dx), Transform::scale(dy)]),
                    Transform::to_sphere(projection),
                    Transform::turn(native_to_celestial((lon, lat), lonpole), [true, false]),
                ];
                Ok((Transform::chain(parts).map_err(from_wcs)?, vec![Some(Unit::degrees()); 2]))
            }
            _ => Err(unsupported(tag)),
        }
    }

    /// A parameter of numbers, charged to the limits.
    pub(super) fn parameter(&mut self, item: &Item<'_>, key: &str) -> Result<Numbers> {
        let found = require(item, key)?;
        let found = numbers(&found, self.limits.table.saturating_sub(self.coefficients)).doing(|| key.to_owned())?;
        self.coefficients += found.values.len();
        self.has_quantities |= found.unit.is_some();
        Ok(found)
    }

    /// An angle in degrees.
    fn angle(&mut self, item: &Item<'_>, key: &str) -> Result<f64> {
        let found = self.parameter(item, key)?;
        let factor = found.unit.as_ref().map_or(Ok(1.0), |unit| unit.to(&Unit::degrees()))?;
        Ok(found.single()? * factor)
    }

    pub(super) fn nested_projection(&mut self, node: &Item<'_>) -> Result<Projection> {
        let kind = tag(node).unwrap_or_default();
        let row = PROJECTIONS.iter().find(|row| kind.starts_with(TRANSFORM) && row.0 == name_of(&kind));
        let (_, code, parameters) = row.ok_or_else(|| unsupported(&kind))?;
        self.projection(node, code, parameters)
    }

    fn projection(&mut self, item: &Item<'_>, code: &str, keys: &[&str]) -> Result<Projection> {
        let mut parameters = Vec::with_capacity(keys.len());
        for key in keys {
            let key = if *key == "lam" && get(item, "lam")?.is_none() { "lambda" } else { *key };
            let is_there = get(item, key)?.is_some();
            parameters.push(match is_there {
                true => self.angle_or_number(item, key)?,
                // The default of the model; FITS has none.
                false if code == "BON" => 0.0,
                false => f64::NAN,
            });
        }
        Projection::new(code, &parameters).map_err(from_wcs)
    }

    fn angle_or_number(&mut self, item: &Item<'_>, key: &str) -> Result<f64> {
        let found = self.parameter(item, key)?;
        let factor = found.unit.as_ref().and_then(|unit| unit.to(&Unit::degrees()).ok()).unwrap_or(1.0);
        Ok(found.single()? * factor)
    }

    /// A projection in the direction that its node names.
    fn directed(&self, item: &Item<'_>, tag: &str, projection: Projection, units: &[Option<Unit>]) -> Result<Built> {
        let transform = match &*self.word(item, tag, "direction")? {
            "pix2sky" => Transform::to_sphere(projection),
            "sky2pix" => Transform::to_plane(projection),
            other => return Err(Error::malformed(format!("direction {other:?} (expected pix2sky or sky2pix)"))),
        };
        self.on_sphere(transform, units)
    }

    /// A transform of two angles in degrees.
    #[allow(clippy::unused_self, reason = "as its neighbours")]
    fn on_sphere(&self, transform: Transform, units: &[Option<Unit>]) -> Result<Built> {
        let has_units = units.iter().take(2).any(Option::is_some);
        let outputs = if has_units { vec![Some(Unit::degrees()); 2] } else { vec![None; 2] };
        Ok((Transform::chain(vec![in_degrees(units)?, transform]).map_err(from_wcs)?, outputs))
    }

    fn polynomial(&mut self, item: &Item<'_>, basis: Basis, has_domain: bool) -> Result<Built> {
        let found = self.parameter(item, "coefficients")?;
        if found.unit.is_some() {
            return Err(Error::unsupported("a polynomial whose coefficients have units is not supported"));
        }
        self.terms = self.terms.saturating_add(found.values.len());
        if self.terms > self.limits.terms {
            return Err(Error::limit(format!("polynomials of more than {} terms in all", self.limits.terms)));
        }
        let (domains, windows) =
            if has_domain { (intervals(item, "domain")?, intervals(item, "window")?) } else { (Vec::new(), Vec::new()) };
        let map = |axis: usize| -> Option<Map> {
            let domain = domains.get(axis).copied().flatten()?;
            Some((domain, windows.get(axis).copied().flatten().unwrap_or((-1.0, 1.0))))
        };
        let polynomial = match found.shape[..] {
            [_] => Polynomial::one(basis, &found.values, map(0), &self.limits).map_err(from_wcs)?,
            [_, columns] if basis == Basis::Hermite && columns > 2 => {
                return Err(Error::unsupported(
                    "hermite polynomials of degree 2 or more in the second variable are not supported: astropy computes others",
                ));
            }
            [rows, columns] if rows == columns || basis != Basis::Power => {
                Polynomial::two(basis, &found.values, columns, [map(0), map(1)], &self.limits).map_err(from_wcs)?
            }
            _ => return Err(Error::malformed(format!("a polynomial with coefficients of shape {:?}", found.shape))),
        };
        Ok((Transform::polynomial(polynomial), vec![None]))
    }

    fn affine(&mut self, item: &Item<'_>, units: &[Option<Unit>]) -> Result<Built> {
        let matrix = self.parameter(item, "matrix")?;
        let shift = if get(item, "translation")?.is_some() { Some(self.parameter(item, "translation")?) } else { None };
        let unit = units.first().cloned().flatten();
        let offset = match &shift {
            Some(shift) => {
                let factor = factor(&shift.unit, &unit)?;
                shift.values.iter().map(|value| value * factor).collect()
            }
            None => vec![0.0; 2],
        };
        if matrix.values.len() != 4 || offset.len() != 2 {
            return Err(Error::malformed("an affine transform of other than two axes"));
        }
        let output = unit.or_else(|| shift.and_then(|shift| shift.unit));
        Ok((Transform::matrix(matrix.values, offset).map_err(from_wcs)?, vec![output.clone(), output]))
    }

    fn tabular(&mut self, item: &Item<'_>, tag: &str, units: &[Option<Unit>]) -> Result<Built> {
        let table = self.parameter(item, "lookup_table")?;
        let axes = require(item, "points")?.parts()?;
        let mut points = Vec::with_capacity(axes.len().min(self.limits.axes));
        // A table of one axis may have its points in a list of numbers.
        if axes.iter().all(|axis| axis.kind() == ItemKind::Scalar) {
            points.push(self.parameter(item, "points")?);
        } else {
            for (number, axis) in axes.iter().enumerate().take(self.limits.axes) {
                let mut found = numbers(&axis.follow()?, self.limits.table.saturating_sub(self.coefficients))?;
                self.coefficients += found.values.len();
                self.has_quantities |= found.unit.is_some();
                let factor = factor(&found.unit, &units.get(number).cloned().flatten())?;
                found.values.iter_mut().for_each(|point| *point *= factor);
                points.push(found);
            }
        }
        let method = match &*self.word(item, tag, "method")? {
            "linear" => Method::Linear,
            "nearest" => Method::Nearest,
            other => return Err(Error::unsupported(format!("tables of method {other:?} are not supported"))),
        };
        let must_be_inside = self.word(item, tag, "bounds_error")?.eq_ignore_ascii_case("true");
        let fill = get(item, "fill_value")?.map(|fill| numbers(&fill, 1).and_then(|fill| fill.single())).transpose()?;
        let outside = match fill {
            _ if must_be_inside => Outside::Fill(f64::NAN),
            Some(value) => Outside::Fill(value),
            None => Outside::Extrapolate,
        };
        let output = vec![table.unit];
        let points: Vec<Vec<f64>> = points.into_iter().map(|axis| axis.values).collect();
        match <[Vec<f64>; 2]>::try_from(points) {
            Ok(axes) => {
                Ok((Transform::table2(Table2::new(axes, table.values, method, outside, &self.limits).map_err(from_wcs)?), output))
            }
            Err(mut axes) if axes.len() == 1 => {
                let axis = axes.pop().unwrap_or_default();
                Ok((Transform::table(Table::new(axis, table.values, method, outside, &self.limits).map_err(from_wcs)?), output))
            }
            Err(axes) => Err(Error::unsupported(format!("tables of {} axes are not supported", axes.len()))),
        }
    }

    fn fixed(&mut self, item: &Item<'_>, units: &[Option<Unit>], depth: usize) -> Result<Built> {
        let [node, fixed] = pair(item)?;
        let names = get(&node, "inputs")?.map(|names| texts(&names)).transpose()?.unwrap_or_default();
        let values = self.parameter(&fixed, "values")?;
        let keys = list(&require(&fixed, "keys")?)?;
        if values.unit.is_some() || keys.len() != values.values.len() {
            return Err(Error::unsupported("fixed inputs with units, or without a value, are not supported"));
        }
        let mut all = Vec::with_capacity(keys.len());
        for (key, value) in keys.iter().zip(values.values) {
            let name = text(key)?;
            let place = names.iter().position(|known| *known == name).or_else(|| name.parse().ok());
            all.push((place.ok_or_else(|| Error::malformed(format!("no input {name:?} to fix")))?, value));
        }
        let mut inner: Units = units.to_vec();
        let mut order: Vec<usize> = all.iter().map(|(place, _)| *place).collect();
        order.sort_unstable();
        order.into_iter().for_each(|place| inner.insert(place.min(inner.len()), None));
        let (transform, outputs) = self.build(&node, &inner, depth + 1)?;
        Ok((Transform::fixed(transform, all).map_err(from_wcs)?, outputs))
    }
}

/// The refusal of a transform, by its tag.
pub(super) fn unsupported(tag: &str) -> Error {
    let what = if tag.is_empty() { "a transform without a tag".to_owned() } else { format!("transform {tag}") };
    Error::unsupported(format!("cannot compute coordinates: {what} is not supported"))
}

/// The two transforms of a compound.
pub(super) fn pair<'f>(item: &Item<'f>) -> Result<[Item<'f>; 2]> {
    let parts = list(&require(item, "forward")?)?;
    let count = parts.len();
    parts.try_into().map_err(|_| Error::malformed(format!("a compound of {count} transforms (expected two)")))
}

/// Returns the factor that converts numbers of one unit to another; 1 if one of them has no unit.
fn factor(from: &Option<Unit>, to: &Option<Unit>) -> Result<f64> {
    match (from, to) {
        (Some(from), Some(to)) => from.to(to),
        _ => Ok(1.0),
    }
}

/// The way of two angles into degrees.
pub(super) fn in_degrees(units: &[Option<Unit>]) -> Result<Transform> {
    let degrees = Some(Unit::degrees());
    let factors = [0, 1].map(|axis| factor(&units.get(axis).cloned().flatten(), &degrees));
    let [first, second] = factors;
    Ok(scaled(&[first?, second?]))
}

fn scaled(factors: &[f64]) -> Transform {
    if factors.iter().all(|factor| *factor == 1.0) {
        return Transform::identity(factors.len());
    }
    Transform::parallel(factors.iter().map(|factor| Transform::scale(*factor)).collect())
}

/// The way from some units to others, which take their place.
pub(super) fn converted(units: &mut Units, wanted: &[Option<Unit>]) -> Result<Transform> {
    let mut factors = Vec::with_capacity(units.len());
    for (axis, unit) in units.iter_mut().enumerate() {
        let wanted = wanted.get(axis).cloned().flatten();
        factors.push(factor(unit, &wanted)?);
        *unit = wanted.or_else(|| unit.take());
    }
    Ok(scaled(&factors))
}
