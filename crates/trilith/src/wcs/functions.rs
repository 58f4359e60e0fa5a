//! Functions of numbers without units: the ones of numpy, and those with parameters.

use std::f64::consts::TAU;

use trilith_wcs::Transform;

use super::from_wcs;
use super::transforms::{BuiltTransform, TransformBuilder, unsupported_transform_error};
use super::units::ScaledUnit;
use super::{read_text, require_item};
use crate::error::{Error, Result};
use crate::file::Item;

impl TransformBuilder {
    /// A function, by the name of its tag.
    pub(super) fn build_function(
        &mut self,
        item: &Item<'_>,
        tag: &str,
        name: &str,
        units: &[Option<ScaledUnit>],
    ) -> Result<BuiltTransform> {
        let numpy = |name: &str| Transform::function(name).ok_or_else(|| unsupported_transform_error(tag));
        let transform = match name {
            "math_functions" => {
                let function = require_item(item, "func_name")?;
                let function = read_text(&function)?;
                Transform::function(&function).ok_or_else(|| {
                    Error::unsupported(format!("cannot compute coordinates: function {function} is not supported"))
                })?
            }
            "sine1d" | "tangent1d" => {
                let [amplitude, frequency, phase] = self.unitless_params(item, ["amplitude", "frequency", "phase"])?;
                let function = numpy(if name == "sine1d" { "sin" } else { "tan" })?;
                // The phase is added before the factor 2π, as in astropy.
                let turns = [Transform::linear(frequency, phase), Transform::scale(TAU)];
                Transform::chain(turns.into_iter().chain([function, Transform::scale(amplitude)]).collect()).map_err(from_wcs)?
            }
            "cosine1d" => {
                let [amplitude, frequency, phase] = self.unitless_params(item, ["amplitude", "frequency", "phase"])?;
                let turns = [Transform::linear(frequency, phase), Transform::scale(TAU)];
                Transform::chain(turns.into_iter().chain([numpy("cos")?, Transform::scale(amplitude)]).collect())
                    .map_err(from_wcs)?
            }
            "arcsine1d" | "arccosine1d" | "arctangent1d" => {
                let [amplitude, frequency, phase] = self.unitless_params(item, ["amplitude", "frequency", "phase"])?;
                let function = numpy(match name {
                    "arcsine1d" => "arcsin",
                    "arccosine1d" => "arccos",
                    _ => "arctan",
                })?;
                let divided = |by: f64| Transform::scale(by).inverse();
                Transform::chain(vec![
                    divided(amplitude).map_err(from_wcs)?,
                    function,
                    divided(TAU).map_err(from_wcs)?,
                    Transform::shift(-phase),
                    divided(frequency).map_err(from_wcs)?,
                ])
                .map_err(from_wcs)?
            }
            "logarithmic1d" => {
                let [amplitude, tau] = self.unitless_params(item, ["amplitude", "tau"])?;
                Transform::chain(vec![
                    Transform::scale(tau).inverse().map_err(from_wcs)?,
                    numpy("log")?,
                    Transform::scale(amplitude),
                ])
                .map_err(from_wcs)?
            }
            "redshift_scale_factor" => {
                let [z] = self.unitless_params(item, ["z"])?;
                return Ok((Transform::scale(1.0 + z), vec![units.first().cloned().flatten()]));
            }
            _ => return Err(unsupported_transform_error(tag)),
        };
        if units.iter().take(transform.inputs()).any(Option::is_some) {
            return Err(Error::unsupported(format!("{name} of values with units is not supported")));
        }
        Ok((transform, vec![None]))
    }

    /// Parameters that are numbers without units.
    pub(super) fn unitless_params<const N: usize>(&mut self, item: &Item<'_>, keys: [&str; N]) -> Result<[f64; N]> {
        let mut found = [0.0; N];
        for (place, key) in found.iter_mut().zip(keys) {
            let parameter = self.read_parameter(item, key)?;
            if parameter.unit.is_some() {
                return Err(Error::unsupported(format!("{key} with a unit is not supported")));
            }
            *place = parameter.only_value()?;
        }
        Ok(found)
    }
}
