//! Numbers in a description: single, in lists, in arrays, with or without a unit.

use super::units::ScaledUnit;
use super::{get, item_tag, name_of, read_list, read_text};
use crate::error::{Error, ErrorKind, Result};
use crate::file::{Item, ItemKind};
use crate::yaml::Scalar;

/// Axes of an array that is written as lists in lists, and quantities in each other.
const MAX_DEPTH: usize = 32;

/// Numbers with their shape.
#[derive(Debug, Clone)]
pub(super) struct NumericData {
    pub(super) values: Vec<f64>,
    pub(super) shape: Vec<usize>,
    pub(super) unit: Option<ScaledUnit>,
}

impl NumericData {
    /// The only number.
    pub(super) fn only_value(&self) -> Result<f64> {
        match self.values[..] {
            [value] => Ok(value),
            _ => Err(Error::malformed(format!("{} numbers (expected one)", self.values.len()))),
        }
    }
}

/// Returns `true` if an item is a quantity.
pub(super) fn is_quantity(item: &Item<'_>) -> bool {
    item_tag(item).is_some_and(|tag| name_of(&tag) == "quantity")
}

/// The numbers of an item: a scalar, a list, an array, or a quantity of one of these. `most` numbers are read.
pub(super) fn read_numbers(item: &Item<'_>, most: usize) -> Result<NumericData> {
    nested_lists(item, most, 0)
}

/// The numbers of an item that is in others. A reference may lead back to one of these.
fn nested_lists(item: &Item<'_>, most: usize, depth: usize) -> Result<NumericData> {
    if depth > MAX_DEPTH {
        return Err(Error::limit(format!("numbers in more than {MAX_DEPTH} lists")));
    }
    if is_quantity(item) {
        let value = super::require_item(item, "value")?;
        let mut found = nested_lists(&value, most, depth + 1)?;
        let unit = super::require_item(item, "unit")?;
        found.unit = Some(ScaledUnit::parse(&read_text(&unit)?)?);
        return Ok(found);
    }
    match item.kind() {
        ItemKind::Array => {
            let array = item.array()?;
            if array.element_count() > most as u64 {
                return Err(Error::limit(format!("an array of {} coefficients (at most {most})", array.element_count())));
            }
            array.charge()?;
            let shape = array.shape().iter().map(|length| *length as usize).collect();
            // Labels of an instrument may be strings.
            let values = array.load_as::<f64>().map_err(|error| match error.kind() {
                ErrorKind::InvalidInput => error.with_kind(ErrorKind::Unsupported),
                _ => error,
            })?;
            Ok(NumericData { values, shape, unit: None })
        }
        ItemKind::List => {
            let mut all = NumericData { values: Vec::new(), shape: Vec::new(), unit: None };
            let parts = item.owned_children()?;
            let count = parts.len();
            if count == 0 && depth > 0 {
                return Err(Error::malformed("an empty list in a list of numbers"));
            }
            let mut inner: Option<Vec<usize>> = None;
            for (number, part) in parts.iter().enumerate() {
                let one = nested_lists(&part.resolve()?, most - all.values.len().min(most), depth + 1)?;
                if inner.get_or_insert_with(|| one.shape.clone()) != &one.shape {
                    return Err(Error::malformed("a list of numbers with rows of different lengths"));
                }
                let factor = match (&all.unit, &one.unit) {
                    (Some(unit), Some(own)) => own.factor_to(unit)?,
                    (None, None) => 1.0,
                    _ if number == 0 => 1.0,
                    _ => return Err(Error::malformed("a list of numbers, some of which have a unit")),
                };
                all.unit = all.unit.or(one.unit);
                all.values.extend(one.values.iter().map(|value| value * factor));
            }
            all.shape = std::iter::once(count).chain(inner.unwrap_or_default()).collect();
            Ok(all)
        }
        _ => {
            let value = match item.value()? {
                Scalar::Float(value) => value,
                Scalar::Int(value) => value as f64,
                Scalar::BigInt(digits) => digits.parse().map_err(|_| Error::malformed(format!("{digits:?} is not a number")))?,
                _ => return Err(Error::malformed(format!("{:?} (expected a number)", read_text(item).unwrap_or_default()))),
            };
            if most == 0 {
                return Err(Error::limit("too many coefficients"));
            }
            Ok(NumericData { values: vec![value], shape: Vec::new(), unit: None })
        }
    }
}

/// A whole number that is not negative.
pub(super) fn as_usize(item: &Item<'_>) -> Result<usize> {
    match item.value()? {
        Scalar::Int(value) => usize::try_from(value).map_err(|_| Error::malformed(format!("{value} (expected a number from 0)"))),
        _ => Err(Error::malformed(format!("{:?} (expected a whole number)", read_text(item).unwrap_or_default()))),
    }
}

/// Reads a list of non-negative integers. Its length is limited like that of any list in coordinates.
pub(super) fn integers(item: &Item<'_>) -> Result<Vec<usize>> {
    read_list(item)?.iter().map(as_usize).collect()
}

/// An interval: a list of two numbers.
pub(super) fn read_interval(item: &Item<'_>, unit: Option<&ScaledUnit>) -> Result<(f64, f64)> {
    let ends: Vec<NumericData> = read_list(item)?.iter().map(|end| read_numbers(end, 1)).collect::<Result<_>>()?;
    let end = |end: &NumericData| -> Result<f64> {
        let factor = match (&end.unit, unit) {
            (Some(from), Some(to)) => from.factor_to(to)?,
            _ => 1.0,
        };
        Ok(end.only_value()? * factor)
    };
    match &ends[..] {
        [low, high] => Ok((end(low)?, end(high)?)),
        _ => Err(Error::malformed(format!("an interval of {} numbers", ends.len()))),
    }
}

/// A list of intervals, or one; each may be null.
pub(super) fn read_intervals(item: &Item<'_>, key: &str) -> Result<Vec<Option<(f64, f64)>>> {
    let Some(all) = get(item, key)? else { return Ok(Vec::new()) };
    let parts = read_list(&all)?;
    if parts.iter().all(|part| matches!(part.kind(), ItemKind::Scalar)) {
        return Ok(vec![Some(read_interval(&all, None)?)]);
    }
    parts.iter().map(|part| if part.kind() == ItemKind::Null { Ok(None) } else { read_interval(part, None).map(Some) }).collect()
}
