//! Transforms of a GWCS: each tagged node becomes a [`Transform`]; an unknown tag is named.

use trilith_wcs::{
    ArithmeticOperation, DomainMap, Interpolation, OutOfBounds, Polynomial, PolynomialBasis, Projection, Tabular1D, Tabular2D,
    Transform, WcsLimits, native_to_celestial, sequence, transposed,
};

use super::from_wcs;
use super::numbers::{NumericData, as_usize, integers, read_intervals, read_numbers};
use super::units::ScaledUnit;
use super::{get, item_tag, name_of, read_list, read_text, read_text_list, require_item, version_of};
use crate::error::{Error, ErrorKind, Result, ResultExt as _};
use crate::file::{Item, ItemKind};

/// The unit of each output, if it has one.
pub(super) type OutputUnits = Vec<Option<ScaledUnit>>;

const TRANSFORM_TAG_PREFIX: &str = "tag:stsci.edu:asdf/transform/";
const GWCS_TAG_PREFIX: &str = "tag:stsci.edu:gwcs/";
const DKIST_TAG_PREFIX: &str = "asdf://dkist.nso.edu/tags/";
const JWST_TAG_PREFIX: &str = "tag:stsci.edu:jwst_pipeline/";

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

/// The Stokes parameters I, Q, U and V in early files of DKIST. The package dkist reads them as 1 to 4, their numbers in FITS.
const OLD_STOKES: [f64; 4] = [0.0, 1.0, 2.0, 3.0];

/// Keys of a node that cost nothing.
const FREE_KEYS: usize = 32;

/// Makes transforms of nodes, and counts what they cost.
#[derive(Debug)]
pub(super) struct TransformBuilder {
    pub(super) limits: WcsLimits,
    nodes: usize,
    coefficients: usize,
    /// Terms of polynomials, each of which costs time for each point.
    terms: usize,
    has_quantities: bool,
    /// Missing keys have the defaults of the schemas.
    is_filled: bool,
    /// Tables of the Stokes parameters count from 0, as DKIST wrote them at first.
    has_old_stokes: bool,
}

/// Domain of the variables of a polynomial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PolynomialDomain {
    /// Map from the domain to the window that the node declares.
    Declared,
    /// Variables as they are.
    Unmapped,
}

/// A transform with the units of its outputs.
pub(super) type BuiltTransform = (Transform, OutputUnits);

impl TransformBuilder {
    pub(super) fn new(limits: WcsLimits, is_filled: bool, has_old_stokes: bool) -> Self {
        Self { limits, nodes: 0, coefficients: 0, terms: 0, has_quantities: false, is_filled, has_old_stokes }
    }

    /// Returns `true` if a parameter had a unit.
    pub(super) fn has_quantities(&self) -> bool {
        self.has_quantities
    }

    /// The transform of a node, for inputs of these units; inputs without one are plain numbers.
    pub(super) fn build_transform(
        &mut self,
        item: &Item<'_>,
        units: &[Option<ScaledUnit>],
        depth: usize,
    ) -> Result<BuiltTransform> {
        if depth > self.limits.depth {
            return Err(Error::limit(format!("a transform of coordinates with more than {} nodes deep", self.limits.depth)));
        }
        // A node that aliases lead to is looked through each time.
        self.charge_nodes(1 + item.owned_children()?.len() / FREE_KEYS)?;
        let tag = item_tag(item).unwrap_or_default();
        let known = [TRANSFORM_TAG_PREFIX, GWCS_TAG_PREFIX, DKIST_TAG_PREFIX, JWST_TAG_PREFIX]
            .into_iter()
            .find(|namespace| tag.starts_with(namespace));
        let name = name_of(&tag).to_owned();
        let (transform, outputs) = match known {
            Some(TRANSFORM_TAG_PREFIX) => self.build_standard_transform(item, &tag, &name, units, depth),
            Some(_) if name == "regions_selector" => self.build_regions_selector(item, units, depth),
            Some(_) if name == "label_mapper" => self.build_label_mapper(item, units, depth),
            Some(_) if name == "lookuptable" => self.build_lookup_table(item),
            Some(GWCS_TAG_PREFIX) => self.build_gwcs_transform(item, &tag, &name, units),
            Some(JWST_TAG_PREFIX) => self.build_jwst_transform(item, &tag, &name, depth),
            Some(_) => self.build_dkist_transform(item, &tag, &name, units, depth),
            None => Err(unsupported_transform_error(&tag)),
        }
        .with_context(|| name.clone())?;
        let Some(given) = get(item, "inverse")? else { return Ok((transform, outputs)) };
        match self.build_inverse(&given, &outputs, units, depth + 1) {
            Ok(inverse) => Ok((transform.with_inverse(inverse), outputs)),
            // The way to the sky does not need it.
            Err(error) if error.kind() == ErrorKind::Unsupported => {
                Ok((transform.without_inverse(format!("{name}/inverse: {error}")), outputs))
            }
            Err(error) => Err(error.context(format!("{name}/inverse"))),
        }
    }

    /// The inverse that a node has, from the units of its outputs to those of its inputs.
    fn build_inverse(
        &mut self,
        given: &Item<'_>,
        from: &[Option<ScaledUnit>],
        to: &[Option<ScaledUnit>],
        depth: usize,
    ) -> Result<Transform> {
        let (inverse, mut back) = self.build_transform(given, from, depth)?;
        Transform::chain(vec![inverse, convert_units(&mut back, to)?]).map_err(from_wcs)
    }

    /// A word of a node; if it is missing in an old file, the default of the schema.
    fn read_word(&self, item: &Item<'_>, tag: &str, key: &str) -> Result<String> {
        if let Some(found) = get(item, key)? {
            return Ok(read_text(&found)?.into_owned());
        }
        let is_it = |row: &&(&str, &str, &str, (u32, u32))| row.0 == name_of(tag) && row.1 == key && version_of(tag) <= row.3;
        match FILLED.iter().find(is_it).filter(|_| self.is_filled) {
            Some(row) => Ok(row.2.to_owned()),
            None => Err(Error::malformed(format!("{tag} without {key}"))),
        }
    }

    /// Charges nodes to the limits.
    pub(super) fn charge_nodes(&mut self, nodes: usize) -> Result<()> {
        self.nodes = self.nodes.saturating_add(nodes);
        if self.nodes > self.limits.nodes {
            return Err(Error::limit(format!("a transform of coordinates with more than {} nodes in all", self.limits.nodes)));
        }
        Ok(())
    }

    /// A transform of the standard. Those that hold others are here, so that little is on the stack for each level.
    fn build_standard_transform(
        &mut self,
        item: &Item<'_>,
        tag: &str,
        name: &str,
        units: &[Option<ScaledUnit>],
        depth: usize,
    ) -> Result<BuiltTransform> {
        match name {
            "compose" => {
                let [first, second] = read_transform_pair(item)?;
                let (first, between) = self.build_transform(&first, units, depth + 1)?;
                let (second, outputs) = self.build_transform(&second, &between, depth + 1)?;
                Ok((Transform::chain(vec![first, second]).map_err(from_wcs)?, outputs))
            }
            "concatenate" => {
                let [left, right] = read_transform_pair(item)?;
                let (left, mut outputs) = self.build_transform(&left, units, depth + 1)?;
                let (right, others) = self.build_transform(&right, units.get(left.inputs()..).unwrap_or(&[]), depth + 1)?;
                outputs.extend(others);
                Ok((Transform::parallel(vec![left, right]), outputs))
            }
            "add" => self.build_arithmetic(ArithmeticOperation::Add, item, name, units, depth),
            "subtract" => self.build_arithmetic(ArithmeticOperation::Subtract, item, name, units, depth),
            "multiply" => self.build_arithmetic(ArithmeticOperation::Multiply, item, name, units, depth),
            "divide" => self.build_arithmetic(ArithmeticOperation::Divide, item, name, units, depth),
            "power" => self.build_arithmetic(ArithmeticOperation::Power, item, name, units, depth),
            "fix_inputs" => self.build_fixed_inputs(item, units, depth),
            _ => self.leaf_transform(item, tag, name, units),
        }
    }

    fn build_arithmetic(
        &mut self,
        operation: ArithmeticOperation,
        item: &Item<'_>,
        name: &str,
        units: &[Option<ScaledUnit>],
        depth: usize,
    ) -> Result<BuiltTransform> {
        let [left, right] = read_transform_pair(item)?;
        let (left, outputs) = self.build_transform(&left, units, depth + 1)?;
        let (right, mut others) = self.build_transform(&right, units, depth + 1)?;
        let plain = ScaledUnit::dimensionless();
        let combine =
            |pair: (Option<ScaledUnit>, &Option<ScaledUnit>), join: fn(&ScaledUnit, &ScaledUnit) -> ScaledUnit| match pair {
                (None, None) => None,
                (left, right) => Some(join(left.as_ref().unwrap_or(&plain), right.as_ref().unwrap_or(&plain))),
            };
        let (right, outputs) = match operation {
            ArithmeticOperation::Multiply => {
                (right, outputs.into_iter().zip(&others).map(|pair| combine(pair, ScaledUnit::times)).collect())
            }
            ArithmeticOperation::Divide => {
                (right, outputs.into_iter().zip(&others).map(|pair| combine(pair, ScaledUnit::divided_by)).collect())
            }
            ArithmeticOperation::Add | ArithmeticOperation::Subtract => {
                let right = Transform::chain(vec![right, convert_units(&mut others, &outputs)?]).map_err(from_wcs)?;
                (right, outputs)
            }
            _ if outputs.iter().chain(&others).any(Option::is_some) => {
                return Err(Error::unsupported(format!("{name} of transforms whose values have units is not supported")));
            }
            _ => (right, outputs),
        };
        Ok((Transform::arithmetic(operation, left, right).map_err(from_wcs)?, outputs))
    }

    /// A transform that holds no others.
    fn leaf_transform(&mut self, item: &Item<'_>, tag: &str, name: &str, units: &[Option<ScaledUnit>]) -> Result<BuiltTransform> {
        let unit = || units.first().cloned().flatten();
        if let Some((_, code, parameters)) = PROJECTIONS.iter().find(|row| row.0 == name) {
            let projection = self.build_projection(item, code, parameters)?;
            return self.oriented_projection(item, tag, projection, units);
        }
        match name {
            "remap_axes" => {
                let mapping = integers(&require_item(item, "mapping")?)?;
                let inputs = match get(item, "n_inputs")? {
                    Some(count) => as_usize(&count)?,
                    None => mapping.iter().max().map_or(0, |most| most + 1),
                };
                if mapping.len().max(inputs) > self.limits.axes {
                    return Err(Error::limit(format!("a mapping of more than {} axes", self.limits.axes)));
                }
                let outputs = mapping.iter().map(|from| units.get(*from).cloned().flatten()).collect();
                Ok((Transform::remap(mapping, inputs).map_err(from_wcs)?, outputs))
            }
            "identity" => {
                let count = get(item, "n_dims")?.map_or(Ok(1), |count| as_usize(&count))?;
                if count == 0 || count > self.limits.axes {
                    return Err(Error::limit(format!("an identity of {count} axes (at most {})", self.limits.axes)));
                }
                Ok((Transform::identity(count), (0..count).map(|axis| units.get(axis).cloned().flatten()).collect()))
            }
            "shift" => {
                let offset = self.read_parameter(item, "offset")?;
                let factor = unit_conversion_factor(&offset.unit, &unit())?;
                Ok((Transform::shift(offset.only_value()? * factor), vec![unit().or(offset.unit)]))
            }
            "scale" => {
                let found = self.read_parameter(item, "factor")?;
                // A number is brought into the unit of the factor, which is that of the product.
                let (by, output) = match (unit(), found.unit.clone()) {
                    (Some(input), Some(own)) => (input_conversion_factor(item, &input, &own)?, Some(own)),
                    (input, _) => (1.0, input),
                };
                Ok((Transform::scale(found.only_value()? * by), vec![output]))
            }
            "multiplyscale" => {
                let found = self.read_parameter(item, "factor")?;
                let product = match (unit(), &found.unit) {
                    (Some(input), Some(by)) => Some(input.times(by)),
                    (None, by) => by.clone(),
                    (input, None) => input,
                };
                Ok((Transform::scale(found.only_value()?), vec![product]))
            }
            "linear1d" => {
                let (slope, intercept) = (self.read_parameter(item, "slope")?, self.read_parameter(item, "intercept")?);
                let product = match (unit(), &slope.unit) {
                    (Some(input), Some(by)) => Some(input.times(by)),
                    (input, _) => input,
                };
                // The unit of the sum is that of the intercept, if it has one.
                let factor = unit_conversion_factor(&product.filter(|_| intercept.unit.is_some()), &intercept.unit)?;
                Ok((Transform::linear(slope.only_value()? * factor, intercept.only_value()?), vec![intercept.unit]))
            }
            "constant" => {
                let value = self.read_parameter(item, "value")?;
                let dimensions = if version_of(tag) < (1, 4) {
                    1
                } else {
                    get(item, "dimensions")?.map_or(Ok(1), |count| as_usize(&count))?
                };
                if !(1..=2).contains(&dimensions) {
                    return Err(Error::malformed(format!("a constant of {dimensions} dimensions (expected 1 or 2)")));
                }
                Ok((Transform::constant(value.only_value()?, dimensions), vec![value.unit]))
            }
            "polynomial" => {
                // Before version 1.2 "domain" had another meaning, and no effect.
                let domain = if version_of(tag) >= (1, 2) { PolynomialDomain::Declared } else { PolynomialDomain::Unmapped };
                self.build_polynomial(item, PolynomialBasis::Power, domain)
            }
            "ortho_polynomial" => {
                let kind = require_item(item, "polynomial_type")?;
                let basis = match &*read_text(&kind)? {
                    "chebyshev" => PolynomialBasis::Chebyshev,
                    "legendre" => PolynomialBasis::Legendre,
                    "hermite" => PolynomialBasis::Hermite,
                    other => return Err(Error::unsupported(format!("polynomial_type {other:?} is not supported"))),
                };
                self.build_polynomial(item, basis, PolynomialDomain::Declared)
            }
            "planar2d" => {
                let [x, y, c] = ["slope_x", "slope_y", "intercept"].map(|key| self.read_parameter(item, key));
                let (x, y, c) = (x?, y?, c?);
                // The unit of the sum is that of the intercept, if it has one.
                let product = |slope: &NumericData, axis: usize| match (units.get(axis).cloned().flatten(), &slope.unit) {
                    (Some(input), Some(by)) => Some(input.times(by)),
                    (input, _) => input,
                };
                let factors =
                    [unit_conversion_factor(&product(&x, 0), &c.unit)?, unit_conversion_factor(&product(&y, 1), &c.unit)?];
                if c.unit.is_none() && [product(&x, 0), product(&y, 1)].iter().any(Option::is_some) {
                    return Err(Error::unsupported(
                        "planar2d of values with units and an intercept without one is not supported",
                    ));
                }
                let slopes = vec![x.only_value()? * factors[0], y.only_value()? * factors[1]];
                Ok((Transform::matrix(slopes, vec![c.only_value()?]).map_err(from_wcs)?, vec![c.unit]))
            }
            "affine" => self.build_affine(item, units),
            "rotate2d" => {
                let (sin, cos) = self.read_angle(item, "angle")?.to_radians().sin_cos();
                let turn = Transform::matrix(vec![cos, -sin, sin, cos], vec![0.0; 2]).map_err(from_wcs)?;
                // Both numbers are turned in the unit of the first.
                let factor = unit_conversion_factor(&units.get(1).cloned().flatten(), &unit())?;
                let turn = Transform::chain(vec![build_axis_scaling(&[1.0, factor]), turn]).map_err(from_wcs)?;
                Ok((turn, vec![unit(), unit()]))
            }
            "rotate3d" => {
                let [phi, theta, psi] = ["phi", "theta", "psi"].map(|key| self.read_angle(item, key));
                let (phi, theta, psi) = (phi?, theta?, psi?);
                let turn = match &*self.read_word(item, tag, "direction")? {
                    "native2celestial" => Transform::rotate_sphere(native_to_celestial((phi, theta), psi), [true, false]),
                    "celestial2native" => {
                        Transform::rotate_sphere(transposed(&native_to_celestial((phi, theta), psi)), [false, false])
                    }
                    axes => Transform::rotate_sphere(sequence(&[phi, theta, psi], axes).map_err(from_wcs)?, [true, true]),
                };
                self.on_sphere(turn, units)
            }
            "rotate_sequence_3d" => {
                let angles = self.read_parameter(item, "angles")?;
                let axes = require_item(item, "axes_order")?;
                let matrix = sequence(&angles.values, &read_text(&axes)?).map_err(from_wcs)?;
                let kind = get(item, "rotation_type")?;
                match kind.as_ref().map(|kind| read_text(kind)).transpose()?.as_deref() {
                    None | Some("cartesian") => Ok((Transform::rotation(matrix), vec![None; 3])),
                    Some("spherical") => self.on_sphere(Transform::rotate_sphere(matrix, [true, true]), units),
                    Some(other) => Err(Error::unsupported(format!("rotation_type {other:?} is not supported"))),
                }
            }
            "tabular" => self.build_tabular(item, tag, units),
            _ => self.build_function(item, tag, name, units),
        }
    }

    fn build_gwcs_transform(
        &mut self,
        item: &Item<'_>,
        tag: &str,
        name: &str,
        units: &[Option<ScaledUnit>],
    ) -> Result<BuiltTransform> {
        match name {
            "spherical_cartesian" => {
                let half = match &*self.read_word(item, tag, "wrap_lon_at")? {
                    "180" => true,
                    "360" => false,
                    other => return Err(Error::malformed(format!("wrap_lon_at {other:?} (expected 180 or 360)"))),
                };
                let kind = require_item(item, "transform_type")?;
                match &*read_text(&kind)? {
                    "spherical_to_cartesian" => {
                        let to_degrees = in_degrees(units)?;
                        Ok((Transform::chain(vec![to_degrees, Transform::to_cartesian(half)]).map_err(from_wcs)?, vec![None; 3]))
                    }
                    "cartesian_to_spherical" => Ok((Transform::to_spherical(half), vec![None; 2])),
                    other => Err(Error::unsupported(format!("transform_type {other:?} is not supported"))),
                }
            }
            "fitswcs_imaging" => {
                let [crpix, cdelt, crval, pc] = ["crpix", "cdelt", "crval", "pc"].map(|key| self.read_parameter(item, key));
                let (crpix, cdelt, crval, pc) = (crpix?.values, cdelt?.values, crval?.values, pc?.values);
                let (&[x, y], &[dx, dy], &[lon, lat], [a, b, c, d]) = (&crpix[..], &cdelt[..], &crval[..], &pc[..]) else {
                    return Err(Error::malformed("crpix, cdelt, crval and pc of other than two axes"));
                };
                let node = require_item(item, "projection")?;
                let projection = self.nested_projection(&node)?;
                let lonpole = if projection.reference() == 90.0 || lat < projection.reference() { 180.0 } else { 0.0 };
                let parts = vec![
                    Transform::parallel(vec![Transform::shift(-x), Transform::shift(-y)]),
                    Transform::matrix(vec![*a, *b, *c, *d], vec![0.0; 2]).map_err(from_wcs)?,
                    Transform::parallel(vec![Transform::scale(dx), Transform::scale(dy)]),
                    Transform::to_sphere(projection),
                    Transform::rotate_sphere(native_to_celestial((lon, lat), lonpole), [true, false]),
                ];
                // Plain pixels give plain degrees.
                let unit = units.iter().take(2).any(Option::is_some).then(ScaledUnit::degrees);
                Ok((Transform::chain(parts).map_err(from_wcs)?, vec![unit; 2]))
            }
            _ => Err(unsupported_transform_error(tag)),
        }
    }

    /// A parameter of numbers, charged to the limits.
    pub(super) fn read_parameter(&mut self, item: &Item<'_>, key: &str) -> Result<NumericData> {
        let found = require_item(item, key)?;
        let found = read_numbers(&found, self.limits.table.saturating_sub(self.coefficients)).with_context(|| key.to_owned())?;
        self.coefficients += found.values.len();
        self.has_quantities |= found.unit.is_some();
        Ok(found)
    }

    /// An angle in degrees.
    fn read_angle(&mut self, item: &Item<'_>, key: &str) -> Result<f64> {
        let found = self.read_parameter(item, key)?;
        let factor = found.unit.as_ref().map_or(Ok(1.0), |unit| unit.factor_to(&ScaledUnit::degrees()))?;
        Ok(found.only_value()? * factor)
    }

    pub(super) fn nested_projection(&mut self, node: &Item<'_>) -> Result<Projection> {
        let kind = item_tag(node).unwrap_or_default();
        let row = PROJECTIONS.iter().find(|row| kind.starts_with(TRANSFORM_TAG_PREFIX) && row.0 == name_of(&kind));
        let (_, code, parameters) = row.ok_or_else(|| unsupported_transform_error(&kind))?;
        self.build_projection(node, code, parameters)
    }

    fn build_projection(&mut self, item: &Item<'_>, code: &str, keys: &[&str]) -> Result<Projection> {
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
        Projection::new(code, &parameters).map(Projection::without_edges).map_err(from_wcs)
    }

    fn angle_or_number(&mut self, item: &Item<'_>, key: &str) -> Result<f64> {
        let found = self.read_parameter(item, key)?;
        let factor = found.unit.as_ref().and_then(|unit| unit.factor_to(&ScaledUnit::degrees()).ok()).unwrap_or(1.0);
        Ok(found.only_value()? * factor)
    }

    /// A projection in the direction that its node names.
    fn oriented_projection(
        &self,
        item: &Item<'_>,
        tag: &str,
        projection: Projection,
        units: &[Option<ScaledUnit>],
    ) -> Result<BuiltTransform> {
        let transform = match &*self.read_word(item, tag, "direction")? {
            "pix2sky" => Transform::to_sphere(projection),
            "sky2pix" => Transform::to_plane(projection),
            other => return Err(Error::malformed(format!("direction {other:?} (expected pix2sky or sky2pix)"))),
        };
        self.on_sphere(transform, units)
    }

    /// A transform of two angles in degrees.
    #[allow(clippy::unused_self, reason = "as its neighbours")]
    fn on_sphere(&self, transform: Transform, units: &[Option<ScaledUnit>]) -> Result<BuiltTransform> {
        let has_units = units.iter().take(2).any(Option::is_some);
        let outputs = if has_units { vec![Some(ScaledUnit::degrees()); 2] } else { vec![None; 2] };
        Ok((Transform::chain(vec![in_degrees(units)?, transform]).map_err(from_wcs)?, outputs))
    }

    fn build_polynomial(&mut self, item: &Item<'_>, basis: PolynomialBasis, domain: PolynomialDomain) -> Result<BuiltTransform> {
        let found = self.read_parameter(item, "coefficients")?;
        if found.unit.is_some() {
            return Err(Error::unsupported("a polynomial whose coefficients have units is not supported"));
        }
        self.terms = self.terms.saturating_add(found.values.len());
        if self.terms > self.limits.terms {
            return Err(Error::limit(format!("polynomials of more than {} terms in all", self.limits.terms)));
        }
        let (domains, windows) = match domain {
            PolynomialDomain::Declared => (read_intervals(item, "domain")?, read_intervals(item, "window")?),
            PolynomialDomain::Unmapped => (Vec::new(), Vec::new()),
        };
        let map = |axis: usize| -> Option<DomainMap> {
            let domain = domains.get(axis).copied().flatten()?;
            Some((domain, windows.get(axis).copied().flatten().unwrap_or((-1.0, 1.0))))
        };
        let polynomial = match found.shape[..] {
            [_] => Polynomial::univariate(basis, &found.values, map(0), &self.limits).map_err(from_wcs)?,
            [_, columns] if basis == PolynomialBasis::Hermite && columns > 2 => {
                return Err(Error::unsupported(
                    "hermite polynomials of degree 2 or more in the second variable are not supported: astropy computes others",
                ));
            }
            [rows, columns] if rows == columns || basis != PolynomialBasis::Power => {
                Polynomial::bivariate(basis, &found.values, columns, [map(0), map(1)], &self.limits).map_err(from_wcs)?
            }
            _ => return Err(Error::malformed(format!("a polynomial with coefficients of shape {:?}", found.shape))),
        };
        Ok((Transform::polynomial(polynomial), vec![None]))
    }

    fn build_affine(&mut self, item: &Item<'_>, units: &[Option<ScaledUnit>]) -> Result<BuiltTransform> {
        let mut matrix = self.read_parameter(item, "matrix")?.values;
        let shift = if get(item, "translation")?.is_some() { Some(self.read_parameter(item, "translation")?) } else { None };
        let (offset, own) = shift.map_or((vec![0.0; 2], None), |shift| (shift.values, shift.unit));
        if matrix.len() != 4 || offset.len() != 2 {
            return Err(Error::malformed("an affine transform of other than two axes"));
        }
        // Numbers are brought into the unit of the translation, which is that of the sum.
        if let Some(own) = &own {
            for (axis, input) in units.iter().enumerate().take(2) {
                let Some(input) = input else { continue };
                let factor = input_conversion_factor(item, input, own)?;
                matrix.iter_mut().skip(axis).step_by(2).for_each(|entry| *entry *= factor);
            }
        }
        let output = own.or_else(|| units.first().cloned().flatten());
        Ok((Transform::matrix(matrix, offset).map_err(from_wcs)?, vec![output.clone(), output]))
    }

    fn build_tabular(&mut self, item: &Item<'_>, tag: &str, units: &[Option<ScaledUnit>]) -> Result<BuiltTransform> {
        let mut table = self.read_parameter(item, "lookup_table")?;
        let axes = require_item(item, "points")?.owned_children()?;
        let mut points = Vec::with_capacity(axes.len().min(self.limits.axes));
        // A table of one axis may have its points in a list of numbers.
        if axes.iter().all(|axis| axis.kind() == ItemKind::Scalar) {
            points.push(self.read_parameter(item, "points")?);
        } else {
            for (number, axis) in axes.iter().enumerate().take(self.limits.axes) {
                let mut found = read_numbers(&axis.resolve()?, self.limits.table.saturating_sub(self.coefficients))?;
                self.coefficients += found.values.len();
                self.has_quantities |= found.unit.is_some();
                let factor = unit_conversion_factor(&found.unit, &units.get(number).cloned().flatten())?;
                found.values.iter_mut().for_each(|point| *point *= factor);
                points.push(found);
            }
        }
        let method = match &*self.read_word(item, tag, "method")? {
            "linear" => Interpolation::Linear,
            "nearest" => Interpolation::Nearest,
            other => return Err(Error::unsupported(format!("tables of method {other:?} are not supported"))),
        };
        let must_be_inside = self.read_word(item, tag, "bounds_error")?.eq_ignore_ascii_case("true");
        let fill = get(item, "fill_value")?.map(|fill| read_numbers(&fill, 1).and_then(|fill| fill.only_value())).transpose()?;
        let outside = match fill {
            _ if must_be_inside => OutOfBounds::Fill(f64::NAN),
            Some(value) => OutOfBounds::Fill(value),
            None => OutOfBounds::Extrapolate,
        };
        let output = vec![table.unit];
        let points: Vec<Vec<f64>> = points.into_iter().map(|axis| axis.values).collect();
        if self.has_old_stokes && table.values == OLD_STOKES && points == [OLD_STOKES] {
            table.values.iter_mut().for_each(|value| *value += 1.0);
        }
        match <[Vec<f64>; 2]>::try_from(points) {
            Ok(axes) => Ok((
                Transform::table2(Tabular2D::new(axes, table.values, method, outside, &self.limits).map_err(from_wcs)?),
                output,
            )),
            Err(mut axes) if axes.len() == 1 => {
                let axis = axes.pop().unwrap_or_default();
                Ok((
                    Transform::table(Tabular1D::new(axis, table.values, method, outside, &self.limits).map_err(from_wcs)?),
                    output,
                ))
            }
            Err(axes) => Err(Error::unsupported(format!("tables of {} axes are not supported", axes.len()))),
        }
    }

    fn build_fixed_inputs(&mut self, item: &Item<'_>, units: &[Option<ScaledUnit>], depth: usize) -> Result<BuiltTransform> {
        let [node, fixed] = read_transform_pair(item)?;
        let names = get(&node, "inputs")?.map(|names| read_text_list(&names)).transpose()?.unwrap_or_default();
        let values = self.read_parameter(&fixed, "values")?;
        let keys = read_list(&require_item(&fixed, "keys")?)?;
        if values.unit.is_some() || keys.len() != values.values.len() {
            return Err(Error::unsupported("fixed inputs with units, or without a value, are not supported"));
        }
        let mut all = Vec::with_capacity(keys.len());
        for (key, value) in keys.iter().zip(values.values) {
            let name = read_text(key)?;
            let place = names.iter().position(|known| *known == name).or_else(|| name.parse().ok());
            all.push((place.ok_or_else(|| Error::malformed(format!("no input {name:?} to fix")))?, value));
        }
        let mut inner: OutputUnits = units.to_vec();
        let mut order: Vec<usize> = all.iter().map(|(place, _)| *place).collect();
        order.sort_unstable();
        order.into_iter().for_each(|place| inner.insert(place.min(inner.len()), None));
        let (transform, outputs) = self.build_transform(&node, &inner, depth + 1)?;
        Ok((Transform::fix_inputs(transform, all).map_err(from_wcs)?, outputs))
    }
}

/// The refusal of a transform, by its tag.
pub(super) fn unsupported_transform_error(tag: &str) -> Error {
    let what = if tag.is_empty() { "a transform without a tag".to_owned() } else { format!("transform {tag}") };
    Error::unsupported(format!("cannot compute coordinates: {what} is not supported"))
}

/// The two transforms of a compound.
pub(super) fn read_transform_pair<'f>(item: &Item<'f>) -> Result<[Item<'f>; 2]> {
    let parts = read_list(&require_item(item, "forward")?)?;
    let count = parts.len();
    parts.try_into().map_err(|_| Error::malformed(format!("a compound of {count} transforms (expected two)")))
}

/// Returns the factor that converts numbers of one unit to another; 1 if one of them has no unit.
fn unit_conversion_factor(from: &Option<ScaledUnit>, to: &Option<ScaledUnit>) -> Result<f64> {
    match (from, to) {
        (Some(from), Some(to)) => from.factor_to(to),
        _ => Ok(1.0),
    }
}

/// Returns the factor that converts an input of a transform; also from pixels by the `pixel_scale` that its node names.
fn input_conversion_factor(item: &Item<'_>, from: &ScaledUnit, to: &ScaledUnit) -> Result<f64> {
    let error = match from.factor_to(to) {
        Ok(factor) => return Ok(factor),
        Err(error) => error,
    };
    let Some(inputs) = get(item, "input_units_equivalencies")? else { return Err(error) };
    for input in inputs.owned_children()? {
        for equivalency in read_list(&input.resolve()?)? {
            let is_scale = get(&equivalency, "name")?.is_some_and(|name| name.text().is_ok_and(|name| name == "pixel_scale"));
            let Some(values) = get(&equivalency, "kwargs_values")?.filter(|_| is_scale) else { continue };
            let Some(scale) = read_list(&values)?.into_iter().next() else { continue };
            let scale = read_numbers(&scale, 1)?;
            if let Some(unit) = &scale.unit
                && let Ok(factor) = from.times(unit).factor_to(to)
            {
                return Ok(factor * scale.only_value()?);
            }
        }
    }
    Err(error)
}

/// The way of two angles into degrees.
pub(super) fn in_degrees(units: &[Option<ScaledUnit>]) -> Result<Transform> {
    let degrees = Some(ScaledUnit::degrees());
    let factors = [0, 1].map(|axis| unit_conversion_factor(&units.get(axis).cloned().flatten(), &degrees));
    let [first, second] = factors;
    Ok(build_axis_scaling(&[first?, second?]))
}

fn build_axis_scaling(factors: &[f64]) -> Transform {
    if factors.iter().all(|factor| *factor == 1.0) {
        return Transform::identity(factors.len());
    }
    Transform::parallel(factors.iter().map(|factor| Transform::scale(*factor)).collect())
}

/// The way from some units to others, which take their place.
pub(super) fn convert_units(units: &mut OutputUnits, wanted: &[Option<ScaledUnit>]) -> Result<Transform> {
    let mut factors = Vec::with_capacity(units.len());
    for (axis, unit) in units.iter_mut().enumerate() {
        let wanted = wanted.get(axis).cloned().flatten();
        factors.push(unit_conversion_factor(unit, &wanted)?);
        *unit = wanted.or_else(|| unit.take());
    }
    Ok(build_axis_scaling(&factors))
}
