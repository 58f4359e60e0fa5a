//! Transforms of the spectrographs of the James Webb Space Telescope, as the package stdatamodels defines them.

use trilith_wcs::{ArithmeticOperation, SelectorKey, Transform, sequence};

use super::from_wcs;
use super::numbers::read_numbers;
use super::transforms::{BuiltTransform, TransformBuilder, unsupported_transform_error};
use super::units::ScaledUnit;
use super::{get, read_list, read_text, require_item};
use crate::error::{Error, Result, ResultExt as _};
use crate::file::{Item, ItemKind};

/// Place of the number of a slit in its description, and the number of a slit that has only a name.
const SLIT_NUMBER: (usize, f64) = (19, -9999.0);

/// Transforms of which one is chosen by the number of a slit.
struct SlitModels {
    /// Inputs of the whole: the number is the one at `number`, the others are those of a model.
    inputs: usize,
    number: usize,
    /// Outputs of the whole, likewise; `None` if the number is left out.
    output_number: Option<usize>,
}

impl TransformBuilder {
    pub(super) fn build_jwst_transform(
        &mut self,
        item: &Item<'_>,
        tag: &str,
        name: &str,
        depth: usize,
    ) -> Result<BuiltTransform> {
        let transform = match name {
            "coords" => match &*read_text(&require_item(item, "model_type")?)? {
                "to_dircos" | "unitless2directional" => build_directions()?.with_inverse(build_plane_points()?),
                "from_dircos" | "directional2unitless" => build_plane_points()?.with_inverse(build_directions()?),
                other => return Err(Error::unsupported(format!("model_type {other:?} is not supported"))),
            },
            "rotation_sequence" => {
                let (angles, axes) = (self.read_parameter(item, "angles")?, require_item(item, "axes_order")?);
                let axes = read_text(&axes)?;
                if angles.unit.is_some() || angles.values.len() != axes.chars().count() {
                    return Err(Error::malformed(format!("{} angles for the axes {axes:?}", angles.values.len())));
                }
                let turn = |(angle, axis): (f64, char)| rotate_direction(axis, angle);
                let forward = angles.values.iter().copied().zip(axes.chars()).map(turn).collect::<Result<Vec<_>>>()?;
                let backwards = angles.values.iter().rev().map(|angle| -angle).zip(axes.chars().rev());
                let back = backwards.map(turn).collect::<Result<Vec<_>>>()?;
                let back = Transform::chain(back).map_err(from_wcs)?;
                Transform::chain(forward).map_err(from_wcs)?.with_inverse(back)
            }
            "grating_equation" => {
                let [density, order] = self.unitless_params(item, ["groove_density", "order"])?;
                match &*read_text(&require_item(item, "output")?)? {
                    "wavelength" => Transform::chain(vec![
                        Transform::matrix(vec![-1.0, 0.0, -1.0], vec![0.0]).map_err(from_wcs)?,
                        Transform::scale(density * order).inverse().map_err(from_wcs)?,
                    ])
                    .map_err(from_wcs)?,
                    "angle" => build_unit_vector(vec![-density * order, -1.0, 0.0, 0.0, 0.0, 0.0, -1.0, 0.0])?,
                    other => return Err(Error::unsupported(format!("output {other:?} is not supported"))),
                }
            }
            "gwa_to_slit" | "slit_to_gwa" => {
                self.build_slits(item, depth, &SlitModels { inputs: 4, number: 0, output_number: Some(0) })?
            }
            "slit_to_msa" => {
                // The old form leaves the number out.
                let outputs = get(item, "outputs")?.map(|outputs| read_list(&outputs)).transpose()?;
                let output_number = (outputs.map_or(3, |outputs| outputs.len()) != 2).then_some(2);
                self.build_slits(item, depth, &SlitModels { inputs: 3, number: 0, output_number })?
            }
            "msa_to_slit" => self.build_slits(item, depth, &SlitModels { inputs: 3, number: 2, output_number: Some(0) })?,
            "logical" => {
                let [limit, value] = self.unitless_params(item, ["compareto", "value"])?;
                let (all, replaced) = (SelectorKey::Between(f64::NEG_INFINITY, f64::INFINITY), Transform::constant(value, 1));
                let unchanged = Transform::identity(1);
                // The last key that fits counts.
                let cases = match &*read_text(&require_item(item, "condition")?)?.to_ascii_uppercase() {
                    "GT" => vec![(all, unchanged), (SelectorKey::Between(limit, f64::INFINITY), replaced)],
                    "LT" => vec![(all, unchanged), (SelectorKey::Between(f64::NEG_INFINITY, limit), replaced)],
                    "EQ" => vec![(all, unchanged), (SelectorKey::Label(limit), replaced)],
                    "NE" => vec![(all, replaced), (SelectorKey::Label(limit), unchanged)],
                    other => return Err(Error::malformed(format!("condition {other:?} (expected GT, LT, EQ or NE)"))),
                };
                Transform::selector(Transform::identity(1), cases, f64::NAN).map_err(from_wcs)?
            }
            "miri_ab2slice" => {
                let [zero, width, channel] = self.unitless_params(item, ["beta_zero", "beta_del", "channel"])?;
                Transform::chain(vec![
                    Transform::shift(-zero),
                    Transform::scale(width).inverse().map_err(from_wcs)?,
                    // The nearest number, upwards from the middle.
                    Transform::shift(channel * 100.0 + 1.5),
                    Transform::fix_inputs(require_function("floor_divide")?, vec![(1, 1.0)]).map_err(from_wcs)?,
                ])
                .map_err(from_wcs)?
            }
            _ => return Err(unsupported_transform_error(tag)),
        };
        let outputs: Vec<Option<ScaledUnit>> = vec![None; transform.outputs()];
        Ok((transform, outputs))
    }

    /// A transform for each slit. The inverse chooses by the number as well.
    fn build_slits(&mut self, item: &Item<'_>, depth: usize, slits: &SlitModels) -> Result<Transform> {
        let numbers = read_list(&require_item(item, "slits")?)?;
        let nodes = read_list(&require_item(item, "models")?)?;
        if numbers.len() != nodes.len() {
            return Err(Error::malformed(format!("{} slits of {} transforms", numbers.len(), nodes.len())));
        }
        let mut cases = Vec::with_capacity(nodes.len());
        for (slit, node) in numbers.iter().zip(&nodes) {
            let (model, _) = self.build_transform(node, &[], depth + 1)?;
            cases.push((read_slit_number(slit)?, model));
        }
        let forward = slits.select(&cases)?;
        let Some(output_number) = slits.output_number else { return Ok(forward) };
        let invert = |(number, model): &(f64, Transform)| Ok((*number, model.inverse().map_err(from_wcs)?));
        let backward: Result<Vec<_>> = cases.iter().map(invert).collect();
        let outputs = forward.outputs();
        match backward {
            Ok(cases) => {
                let back = SlitModels { inputs: outputs, number: output_number, output_number: Some(slits.number) };
                Ok(forward.with_inverse(back.select(&cases)?))
            }
            Err(error) => Ok(forward.without_inverse(error.to_string())),
        }
    }
}

impl SlitModels {
    /// The transform that chooses among models by the number of a slit.
    fn select(&self, cases: &[(f64, Transform)]) -> Result<Transform> {
        let key = Transform::remap(vec![self.number], self.inputs).map_err(from_wcs)?;
        let others = (0..self.inputs).filter(|input| *input != self.number);
        // The number comes first, then the inputs of a model.
        let order: Vec<usize> = std::iter::once(self.number).chain(others).collect();
        let cases = cases.iter().map(|(number, model)| {
            let both = Transform::parallel(vec![Transform::identity(1), model.clone()]);
            let count = both.outputs();
            let place = self.output_number.map(|place| place.min(count.saturating_sub(1)));
            let mut outputs: Vec<usize> = (1..count).collect();
            if let Some(place) = place {
                outputs.insert(place, 0);
            }
            let case = Transform::chain(vec![
                Transform::remap(order.clone(), self.inputs).map_err(from_wcs)?,
                both,
                Transform::remap(outputs, count).map_err(from_wcs)?,
            ]);
            Ok((SelectorKey::Label(*number), case.map_err(from_wcs)?))
        });
        Transform::selector(key, cases.collect::<Result<_>>()?, f64::NAN).map_err(from_wcs)
    }
}

/// The number of a slit: itself, or a part of its description.
fn read_slit_number(slit: &Item<'_>) -> Result<f64> {
    let number = |item: &Item<'_>| {
        let found = read_numbers(item, 1).and_then(|found| found.only_value());
        found.map_err(|_| Error::unsupported("slits whose names are strings are not supported"))
    };
    if slit.kind() != ItemKind::List {
        return number(slit);
    }
    let parts = read_list(slit)?;
    if let Some(found) = parts.get(SLIT_NUMBER.0) {
        let found = number(found)?;
        if found != SLIT_NUMBER.1 {
            return Ok(found);
        }
    }
    parts.first().map_or_else(|| Err(Error::malformed("a slit without a name")), number).with_context(|| "slits")
}

/// A function of numbers, which is known.
fn require_function(name: &str) -> Result<Transform> {
    Transform::function(name).ok_or_else(|| unsupported_transform_error(name))
}

/// The root of 1 plus a factor times the sum of two squares.
fn build_root_of_squares(factor: f64) -> Result<Transform> {
    Transform::chain(vec![
        Transform::parallel(vec![require_function("square")?, require_function("square")?]),
        Transform::matrix(vec![factor; 2], vec![1.0]).map_err(from_wcs)?,
        require_function("sqrt")?,
    ])
    .map_err(from_wcs)
}

/// The direction whose first two numbers are the product with two rows of a matrix, and whose third number makes its length 1.
fn build_unit_vector(rows: Vec<f64>) -> Result<Transform> {
    Transform::chain(vec![
        Transform::matrix(rows, vec![0.0; 2]).map_err(from_wcs)?,
        Transform::remap(vec![0, 1, 0, 1], 2).map_err(from_wcs)?,
        Transform::parallel(vec![Transform::identity(2), build_root_of_squares(-1.0)?]),
    ])
    .map_err(from_wcs)
}

/// A rotation about an axis. The third number is that of a vector of length 1 with the first two, and so never negative.
fn rotate_direction(axis: char, angle: f64) -> Result<Transform> {
    let [x, y, _] = sequence(&[angle], &axis.to_string()).map_err(from_wcs)?;
    build_unit_vector([x, y].concat())
}

/// The direction of (x, y, 1).
fn build_directions() -> Result<Transform> {
    let length = build_root_of_squares(1.0)?;
    let part = |of: Transform| Transform::arithmetic(ArithmeticOperation::Divide, of, length.clone()).map_err(from_wcs);
    let [x, y] = [0, 1].map(|axis| Transform::remap(vec![axis], 2).map_err(from_wcs));
    Transform::chain(vec![
        Transform::remap(vec![0, 1, 0, 1, 0, 1], 2).map_err(from_wcs)?,
        Transform::parallel(vec![part(x?)?, part(y?)?, part(Transform::constant(1.0, 2))?]),
    ])
    .map_err(from_wcs)
}

/// The place where a direction meets the plane at distance 1.
fn build_plane_points() -> Result<Transform> {
    Transform::chain(vec![
        Transform::remap(vec![0, 2, 1, 2], 3).map_err(from_wcs)?,
        Transform::parallel(vec![require_function("divide")?, require_function("divide")?]),
    ])
    .map_err(from_wcs)
}
