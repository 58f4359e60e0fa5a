//! Values that are computed of an item, as a cell of a table has them.

use super::summary::Summary;
use crate::array::attribute::{AttributeValue, NumberValue};
use crate::condition::TableCell;
use crate::error::Result;
use crate::file::{ComputedValue, Item, ItemKind};
use crate::wcs::{Wcs, find_coordinates};

impl ComputedValue {
    /// Computes a value of the item; null if it has none, such as the shape of a text.
    ///
    /// # Errors
    /// Returns the errors of [`Item::describe`], and of reading the elements.
    pub fn compute(self, item: &Item<'_>) -> Result<TableCell> {
        let text = |text: Option<String>| text.map_or(TableCell::Null, TableCell::Text);
        let is_array = item.kind() == ItemKind::Array;
        if !is_array
            && self.is_array_property()
            && let Some(data) = item.hdu_data()?
        {
            return self.compute(&data);
        }
        Ok(match self {
            ComputedValue::Kind => TableCell::Text(item.kind().name().to_owned()),
            ComputedValue::Tag => text(item.metadata().tag.map(str::to_owned)),
            ComputedValue::Unit => text(item.unit()),
            ComputedValue::Doc => text(item.metadata().comment.map(std::borrow::Cow::into_owned)),
            ComputedValue::Footprint | ComputedValue::Centre | ComputedValue::Scale => {
                find_coordinates(item)?.map_or(TableCell::Null, |found| coordinate_cell(&found.wcs, self))
            }
            _ if !is_array => TableCell::Null,
            ComputedValue::Shape => TableCell::Text(format!("{:?}", item.describe()?.shape)),
            ComputedValue::Ndim => integer_cell(item.describe()?.shape.len() as u64),
            ComputedValue::Size => {
                integer_cell(item.describe()?.shape.iter().fold(1, |product: u64, n| product.saturating_mul(*n)))
            }
            ComputedValue::Nbytes => item.describe()?.nbytes.map_or(TableCell::Null, integer_cell),
            ComputedValue::Datatype => TableCell::Text(item.describe()?.datatype.to_string()),
            ComputedValue::Codec => TableCell::Text(item.describe()?.storage),
            ComputedValue::Min => Summary::compute(&item.array()?)?.min,
            ComputedValue::Max => Summary::compute(&item.array()?)?.max,
            ComputedValue::Mean => Summary::compute(&item.array()?)?.mean(),
            // An item alone has no number.
            ComputedValue::Index => TableCell::Null,
        })
    }

    /// Returns `true` for a value that arrays alone have.
    fn is_array_property(self) -> bool {
        !matches!(self, ComputedValue::Kind | ComputedValue::Tag | ComputedValue::Doc | ComputedValue::Index)
    }
}

/// Returns a property of coordinates: positions in degrees as lists, a scale in seconds of arc.
pub(super) fn coordinate_cell(wcs: &Wcs, value: ComputedValue) -> TableCell {
    match value {
        ComputedValue::Footprint => wcs.footprint().map_or(TableCell::Null, |corners| TableCell::Text(format!("{corners:?}"))),
        ComputedValue::Centre => wcs.centre().map_or(TableCell::Null, |centre| TableCell::Text(format!("{centre:?}"))),
        _ => wcs.scale().map_or(TableCell::Null, TableCell::Float),
    }
}

/// Returns the value of an attribute as a cell.
pub(super) fn attribute_cell(value: &AttributeValue) -> TableCell {
    match value {
        AttributeValue::Empty => TableCell::Null,
        AttributeValue::Bool(value) => TableCell::Bool(*value),
        AttributeValue::Number(number) => match number.value {
            NumberValue::Int(whole) => i64::try_from(whole).map_or_else(|_| TableCell::Text(whole.to_string()), TableCell::Int),
            // A 32-bit float has fewer digits than a 64-bit one.
            NumberValue::Float(float) => TableCell::Float(number.to_string().parse().unwrap_or(float)),
            _ => TableCell::Text(number.to_string()),
        },
        other => TableCell::Text(other.to_string()),
    }
}

pub(super) fn integer_cell(number: u64) -> TableCell {
    i64::try_from(number).map_or_else(|_| TableCell::Text(number.to_string()), TableCell::Int)
}
