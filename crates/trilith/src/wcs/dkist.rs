//! Transforms of the Daniel K. Inouye Solar Telescope.

use trilith_wcs::{Interpolation, OutOfBounds, Tabular1D, Transform, native_to_celestial};

use super::from_wcs;
use super::numbers::{NumericData, as_usize, integers};
use super::transforms::{BuiltTransform, TransformBuilder, in_degrees, read_transform_pair, unsupported_transform_error};
use super::units::ScaledUnit;
use super::{get, read_text, require_item};
use crate::error::{Error, Result};
use crate::file::Item;

/// Nodes that an element of a varying transform costs: it holds a transform and its inverse, in five kilobytes.
const NODES_PER_ELEMENT: usize = 4;

impl TransformBuilder {
    pub(super) fn build_dkist_transform(
        &mut self,
        item: &Item<'_>,
        tag: &str,
        name: &str,
        units: &[Option<ScaledUnit>],
        depth: usize,
    ) -> Result<BuiltTransform> {
        match name {
            "coupled_compound_model" => {
                let [left, right] = read_transform_pair(item)?;
                let shared = as_usize(&require_item(item, "shared_inputs")?)?;
                let (left, mut outputs) = self.build_transform(&left, units, depth + 1)?;
                let after = left.inputs().saturating_sub(shared);
                let (right, others) = self.build_transform(&right, units.get(after..).unwrap_or(&[]), depth + 1)?;
                outputs.extend(others);
                Ok((Transform::coupled(left, right, shared).map_err(from_wcs)?, outputs))
            }
            "asymmetric_mapping_model" => {
                let [forward, backward] = ["forward_mapping", "backward_mapping"].map(|key| integers(&require_item(item, key)?));
                let (forward, backward) = (forward?, backward?);
                let count = |key: &str, fallback: usize| get(item, key)?.map_or(Ok(fallback), |count| as_usize(&count));
                let least = |mapping: &[usize]| mapping.iter().max().map_or(0, |most| most + 1);
                let inputs = count("forward_n_inputs", least(&forward))?;
                let others = count("backward_n_inputs", least(&backward))?;
                if inputs.max(others).max(forward.len()).max(backward.len()) > self.limits.axes {
                    return Err(Error::limit(format!("a mapping of more than {} axes", self.limits.axes)));
                }
                let outputs = forward.iter().map(|from| units.get(*from).cloned().flatten()).collect();
                let back = Transform::remap(backward, others).map_err(from_wcs)?;
                Ok((Transform::remap(forward, inputs).map_err(from_wcs)?.with_inverse(back), outputs))
            }
            "varying_celestial_transform" => Ok((self.build_varying_celestial(item)?.0, vec![Some(ScaledUnit::degrees()); 2])),
            "inverse_varying_celestial_transform" => {
                let (_, backward) = self.build_varying_celestial(item)?;
                let pixel = Some(ScaledUnit::parse("pix")?);
                Ok((
                    Transform::chain(vec![in_degrees_and(units, backward.inputs())?, backward]).map_err(from_wcs)?,
                    vec![pixel; 2],
                ))
            }
            // The position along the slit is the index of the tables, too.
            "varying_celestial_transform_slit" => {
                let (forward, _) = self.build_varying_celestial(item)?;
                let inputs = forward.inputs().saturating_sub(1);
                let mapping = (0..2).chain(std::iter::once(1)).chain(2..inputs).collect();
                // The way back is that of the package dkist: the position along the slit is known already.
                let back = Transform::remap(vec![0], 2).map_err(from_wcs)?;
                let along_slit = Transform::remap(mapping, inputs).map_err(from_wcs)?.with_inverse(back);
                Ok((Transform::chain(vec![along_slit, forward]).map_err(from_wcs)?, vec![Some(ScaledUnit::degrees()); 2]))
            }
            "ravel_model" => {
                let shape = integers(&require_item(item, "array_shape")?)?;
                if shape.len() > self.limits.axes {
                    return Err(Error::limit(format!("an array of more than {} axes", self.limits.axes)));
                }
                let order = get(item, "order")?;
                let is_last_fastest = match order.as_ref().map(|order| read_text(order)).transpose()?.as_deref() {
                    None | Some("C") => true,
                    Some("F") => false,
                    Some(other) => return Err(Error::malformed(format!("order {other:?} (expected C or F)"))),
                };
                Ok((Transform::ravel(shape, is_last_fastest).map_err(from_wcs)?, vec![units.first().cloned().flatten()]))
            }
            _ => Err(unsupported_transform_error(tag)),
        }
    }

    /// A table whose element a rounded index chooses: `LookupTable`, which early files of DKIST have.
    pub(super) fn build_lookup_table(&mut self, item: &Item<'_>) -> Result<BuiltTransform> {
        let table = self.read_parameter(item, "lookup_table")?;
        let count = table.values.len();
        self.charge_nodes(count.saturating_mul(NODES_PER_ELEMENT))?;
        let cases = table.values.iter().map(|value| Transform::constant(*value, 1)).collect();
        let copies = Transform::remap(vec![0, 0], 1).map_err(from_wcs)?;
        let chosen = Transform::per_element(vec![count], cases).map_err(from_wcs)?;
        let forward = Transform::chain(vec![copies, chosen]).map_err(from_wcs)?;
        let indices = (0..count).map(|index| index as f64).collect();
        let line = Tabular1D::new(indices, table.values, Interpolation::Linear, OutOfBounds::Fill(f64::NAN), &self.limits);
        let back = line.and_then(|line| Transform::table(line).inverse());
        Ok((back.map_or_else(|_| forward.clone(), |back| forward.clone().with_inverse(back)), vec![table.unit]))
    }

    /// A celestial transform whose parameters are in tables, for each element another one; and the way back for known indices.
    fn build_varying_celestial(&mut self, item: &Item<'_>) -> Result<(Transform, Transform)> {
        let crpix = match get(item, "crpix_table")? {
            Some(_) => self.read_parameter(item, "crpix_table")?,
            None => self.read_parameter(item, "crpix")?,
        };
        let [cdelt, crval, pc, pole] = ["cdelt", "crval_table", "pc_table", "lon_pole"].map(|key| self.read_parameter(item, key));
        let (cdelt, crval, pc, pole) = (cdelt?, crval?, pc?, pole?);
        let projection = self.nested_projection(&require_item(item, "projection")?)?;
        let degrees = ScaledUnit::degrees();
        let to_degrees = |unit: &Option<ScaledUnit>, pixels: bool| -> Result<f64> {
            let Some(unit) = unit else { return Ok(1.0) };
            let wanted = if pixels { degrees.times(&ScaledUnit::parse("pix-1")?) } else { degrees.clone() };
            unit.factor_to(&wanted).or_else(|_| unit.factor_to(&degrees))
        };
        let (step, at, turn) = (to_degrees(&cdelt.unit, true)?, to_degrees(&crval.unit, false)?, to_degrees(&pole.unit, false)?);
        // The shape of the tables, without the axes of one element.
        let tables = [(&crpix, 1), (&crval, 1), (&pc, 2)];
        let shape = tables.iter().map(|(table, own)| table.shape.get(..table.shape.len().saturating_sub(*own)).unwrap_or(&[]));
        let shape = shape.max_by_key(|shape| shape.len()).unwrap_or(&[]).to_vec();
        let most = self.limits.nodes / NODES_PER_ELEMENT;
        let count = shape.iter().try_fold(1usize, |count, length| count.checked_mul(*length)).filter(|count| *count <= most);
        let Some(count) = count.filter(|count| *count > 0) else {
            return Err(Error::limit(format!("a transform that varies over {shape:?} (at most {most} elements)")));
        };
        self.charge_nodes(count.saturating_mul(NODES_PER_ELEMENT))?;
        let row = |table: &NumericData, size: usize, number: usize| -> Result<Vec<f64>> {
            let start = if table.values.len() == size { 0 } else { number.saturating_mul(size) };
            let found = table.values.get(start..start.saturating_add(size));
            found.map(<[f64]>::to_vec).ok_or_else(|| Error::malformed("tables of a varying transform that differ in shape"))
        };
        let mut cases = Vec::with_capacity(count);
        for number in 0..count {
            let (crpix, crval, pc, cdelt) =
                (row(&crpix, 2, number)?, row(&crval, 2, number)?, row(&pc, 4, number)?, row(&cdelt, 2, 0)?);
            let (&[x, y], &[lon, lat], &[dx, dy]) = (&crpix[..], &crval[..], &cdelt[..]) else {
                return Err(Error::malformed("tables of a varying transform that differ in shape"));
            };
            let &[a, b, c, d] = &pc[..] else {
                return Err(Error::malformed("tables of a varying transform that differ in shape"));
            };
            // One matrix for all of it, since there may be many elements.
            let (dx, dy) = (dx * step, dy * step);
            let matrix = vec![dx * a, dx * b, dy * c, dy * d];
            let offset = vec![-dx * (a * x + b * y), -dy * (c * x + d * y)];
            cases.push(
                Transform::chain(vec![
                    Transform::matrix(matrix, offset).map_err(from_wcs)?,
                    Transform::to_sphere(projection),
                    Transform::rotate_sphere(native_to_celestial((lon * at, lat * at), pole.only_value()? * turn), [true, false]),
                ])
                .map_err(from_wcs)?,
            );
        }
        let back = cases.iter().map(Transform::inverse).collect::<std::result::Result<_, _>>().map_err(from_wcs)?;
        Ok((
            Transform::per_element(shape.clone(), cases).map_err(from_wcs)?,
            Transform::per_element(shape, back).map_err(from_wcs)?,
        ))
    }
}

/// The way of two angles into degrees, next to inputs that stay.
fn in_degrees_and(units: &[Option<ScaledUnit>], inputs: usize) -> Result<Transform> {
    let rest = inputs.saturating_sub(2);
    let angles = in_degrees(units)?;
    Ok(if rest == 0 { angles } else { Transform::parallel(vec![angles, Transform::identity(rest)]) })
}
