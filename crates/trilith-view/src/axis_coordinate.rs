//! The coordinate along an axis of an array: [`AxisCoordinate`].

use trilith::array::Index;
use trilith::file::Item;
use trilith::{Array, Result};

use crate::numeric::is_numeric;

/// The coordinate along an axis of an array: the dimension scale of HDF5, the coordinate variable of netCDF, the array of that name
/// in a file under a layout.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct AxisCoordinate {
    /// The name of the axis.
    pub name: String,
    /// The unit; empty if it has none.
    pub unit: String,
    /// The numbers, one for each element along the axis.
    pub numbers: Array,
}

impl AxisCoordinate {
    /// Returns the coordinate along the last axis that `indices` leave of the array which an item is; `None` if the file has none, or
    /// if it is not made of numbers.
    ///
    /// # Errors
    /// Returns an error if the coordinate cannot be read or sliced.
    pub fn along_last_axis(item: &Item<'_>, mut indices: Vec<Index>) -> Result<Option<Self>> {
        let axes = item.axes()?.names.len();
        if let Some(at) = indices.iter().position(|index| matches!(index, Index::Ellipsis)) {
            let left = (axes + 1).saturating_sub(indices.len());
            drop(indices.splice(at..=at, std::iter::repeat_n(Index::ALL, left)));
        }
        let is_left = |axis: &usize| !matches!(indices.get(*axis), Some(Index::Integer(_)));
        let Some(axis) = (0..axes).rev().find(is_left) else { return Ok(None) };
        Self::along_axis(item, axis, indices.get(axis).copied())
    }

    /// Returns the coordinate along an axis, or the part of it that an index selects.
    ///
    /// # Errors
    /// Returns an error if the coordinate cannot be read or sliced.
    pub fn along_axis(item: &Item<'_>, axis: usize, index: Option<Index>) -> Result<Option<Self>> {
        let Some((name, coordinate)) = item.axes()?.coordinate(item, axis)? else { return Ok(None) };
        let mut numbers = coordinate.array()?;
        if !is_numeric(numbers.datatype()) || numbers.mask().is_some() {
            return Ok(None);
        }
        if let Some(index) = index {
            numbers = numbers.slice([index])?;
        }
        let unit = coordinate.unit().map(|unit| unit.trim().to_owned()).unwrap_or_default();
        Ok(Some(Self { name, unit, numbers }))
    }

    /// Returns the name with the unit in parentheses.
    pub fn label(&self) -> String {
        if self.unit.is_empty() { self.name.clone() } else { format!("{} ({})", self.name, self.unit) }
    }
}
