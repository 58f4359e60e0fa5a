//! Transforms that labels choose, as of the slices of an integral field unit: `regions_selector` and `label_mapper`.

use trilith_wcs::{SelectorKey, Transform};

use super::from_wcs;
use super::numbers::read_numbers;
use super::transforms::{BuiltTransform, TransformBuilder};
use super::units::ScaledUnit;
use super::{get, read_list, require_item};
use crate::error::{Error, Result, ResultExt as _};
use crate::file::{Item, ItemKind};

/// The tag of an ordered mapping.
const ORDERED_MAPPING: &str = "tag:yaml.org,2002:omap";
/// The tolerance for keys of a node that has none.
const KEY_TOLERANCE: f64 = 1e-8;

impl TransformBuilder {
    /// The transform of the region that holds a point.
    pub(super) fn build_regions_selector(
        &mut self,
        item: &Item<'_>,
        units: &[Option<ScaledUnit>],
        depth: usize,
    ) -> Result<BuiltTransform> {
        let mapper = require_item(item, "label_mapper")?;
        let (key, _) = self.build_transform(&mapper, units, depth + 1).with_context(|| "label_mapper")?;
        let selector = require_item(item, "selector")?;
        let labels = read_list(&ordered_item(&selector, "labels")?)?;
        let nodes = read_list(&ordered_item(&selector, "transforms")?)?;
        if labels.len() != nodes.len() {
            return Err(Error::malformed(format!("{} labels of {} transforms", labels.len(), nodes.len())));
        }
        let (mut cases, mut outputs) = (Vec::with_capacity(nodes.len()), Vec::new());
        for (label, node) in labels.iter().zip(&nodes) {
            let label = read_label(label)?;
            let (case, units) = self.build_transform(node, units, depth + 1)?;
            if !cases.is_empty() && units != outputs {
                return Err(Error::unsupported("regions whose values differ in their units are not supported"));
            }
            outputs = units;
            cases.push((SelectorKey::Label(label), case));
        }
        let fallback = match get(item, "undefined_transform_value")? {
            Some(value) => read_numbers(&value, 1)?.only_value()?,
            None => f64::NAN,
        };
        Ok((Transform::selector(key, cases, fallback).map_err(from_wcs)?, outputs))
    }

    /// The label of a point.
    pub(super) fn build_label_mapper(
        &mut self,
        item: &Item<'_>,
        units: &[Option<ScaledUnit>],
        depth: usize,
    ) -> Result<BuiltTransform> {
        let mapper = require_item(item, "mapper")?;
        let chosen = match get(item, "inputs_mapping")? {
            Some(node) => Some(self.build_transform(&node, units, depth + 1).with_context(|| "inputs_mapping")?.0),
            None => None,
        };
        let after = |chosen: Option<Transform>, label: Transform| match chosen {
            Some(chosen) => Transform::chain(vec![chosen, label]).map_err(from_wcs),
            None => Ok(label),
        };
        // A label of a pixel is not a quantity.
        let tag = super::item_tag(&mapper);
        let is_plain = tag.as_ref().is_none_or(|tag| tag.starts_with("tag:yaml.org"));
        let is_list = mapper.kind() == ItemKind::List && tag.as_deref() != Some(ORDERED_MAPPING);
        if mapper.kind() == ItemKind::Array || is_list {
            let found = self.read_parameter(item, "mapper").with_context(|| "labels of pixels that are not numbers")?;
            let &[_, width] = &found.shape[..] else {
                return Err(Error::unsupported(format!("labels in an array of shape {:?} are not supported", found.shape)));
            };
            let labels = Transform::label_array(width, found.values, &self.limits).map_err(from_wcs)?;
            return Ok((after(chosen, labels)?, vec![None]));
        }
        if !is_plain {
            let (label, _) = self.build_transform(&mapper, units, depth + 1)?;
            return Ok((after(chosen, label)?, vec![None]));
        }
        let labels = read_list(&ordered_item(&mapper, "labels")?)?;
        let nodes = read_list(&ordered_item(&mapper, "models")?)?;
        if labels.len() != nodes.len() {
            return Err(Error::malformed(format!("{} keys of {} transforms", labels.len(), nodes.len())));
        }
        let tolerance = match get(item, "atol")? {
            Some(tolerance) => read_numbers(&tolerance, 1)?.only_value()?,
            None => KEY_TOLERANCE,
        };
        let mut cases = Vec::with_capacity(nodes.len());
        for (label, node) in labels.iter().zip(&nodes) {
            let key = match &read_numbers(label, 2)?.values[..] {
                [value] => SelectorKey::Value(*value, tolerance),
                [low, high] => SelectorKey::Between(*low, *high),
                _ => return Err(Error::malformed("a key that is neither a number nor a range")),
            };
            cases.push((key, self.build_transform(node, units, depth + 1)?.0));
        }
        let inputs = cases.first().map_or(1, |(_, case)| case.inputs());
        let key = chosen.unwrap_or_else(|| Transform::identity(inputs));
        Ok((Transform::selector(key, cases, 0.0).map_err(from_wcs)?, vec![None]))
    }
}

/// The child of a mapping, or of an ordered one, which YAML has as a list of mappings of one key.
fn ordered_item<'f>(item: &Item<'f>, key: &str) -> Result<Item<'f>> {
    if item.kind() != ItemKind::List {
        return require_item(item, key);
    }
    let parts = read_list(item)?;
    let found = parts.iter().map(|part| get(part, key)).find_map(Result::transpose).transpose()?;
    found.ok_or_else(|| Error::malformed(format!("an ordered mapping without {key}")))
}

/// The label of a region, which is a number.
fn read_label(label: &Item<'_>) -> Result<f64> {
    let found = read_numbers(label, 1).and_then(|found| found.only_value());
    found.map_err(|_| Error::unsupported("regions whose labels are strings are not supported"))
}
