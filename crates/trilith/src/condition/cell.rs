//! Values of a table, and the types that columns of them have.

use std::cmp::Ordering;

use crate::array::{Array, Datatype, FloatText};
use crate::error::Result;
use crate::yaml::Scalar;

/// Value of one cell of a table.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub enum TableCell {
    /// No value: the file has no such item, or the item is null.
    #[default]
    Null,
    /// A boolean.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A real number.
    Float(f64),
    /// Text, dates, and what has no other type.
    Text(String),
}

/// The type of all values in a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum CellType {
    /// A column without values.
    #[default]
    Null,
    /// Truth values.
    Bool,
    /// Integers.
    Int,
    /// Real numbers.
    Float,
    /// Text.
    Text,
}

impl CellType {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Float => "float",
            Self::Text => "text",
        }
    }

    /// Returns the common type of two columns: integers and floats are floats, and any other mixture is text.
    #[must_use]
    pub fn join(self, other: Self) -> Self {
        match (self, other) {
            (one, other) if one == other => one,
            (Self::Null, one) | (one, Self::Null) => one,
            (Self::Int, Self::Float) | (Self::Float, Self::Int) => Self::Float,
            _ => Self::Text,
        }
    }

    /// Returns `true` if [`TableCell::compare`] orders values of both types.
    pub(crate) fn compares_with(self, other: Self) -> bool {
        let is_number = |kind: Self| matches!(kind, Self::Int | Self::Float);
        self != Self::Null && (self == other || is_number(self) && is_number(other))
    }

    pub(crate) fn type_bit(self) -> u8 {
        1 << self as u8
    }

    pub(crate) const ALL: [Self; 5] = [Self::Null, Self::Bool, Self::Int, Self::Float, Self::Text];
}

impl TableCell {
    /// Returns the cell of a scalar. An integer beyond 64 bits becomes text, so that no digit is lost.
    pub fn of_scalar(scalar: Scalar<'_>) -> Self {
        match scalar {
            Scalar::Null => Self::Null,
            Scalar::Bool(value) => Self::Bool(value),
            Scalar::Int(value) => Self::Int(value),
            Scalar::Float(value) => Self::Float(value),
            Scalar::BigInt(text) => Self::Text(text),
            Scalar::Str(text) | Scalar::Timestamp(text) | Scalar::Binary(text) => Self::Text(text.into_owned()),
        }
    }

    /// The elements of an array, in order; None for an array whose elements are not values. A masked element is null.
    ///
    /// # Errors
    /// Returns an error if they cannot be read.
    pub(crate) fn of_elements(array: &Array) -> Result<Option<Vec<Self>>> {
        let whole = |value: u64| i64::try_from(value).map_or_else(|_| Self::Text(value.to_string()), Self::Int);
        let mut cells: Vec<Self> = match array.datatype() {
            Datatype::Bool8 => array.load_as::<u8>()?.into_iter().map(|value| Self::Bool(value != 0)).collect(),
            Datatype::Uint64 => array.load::<u64>()?.into_iter().map(whole).collect(),
            datatype if datatype.is_integer() => array.load_as::<i64>()?.into_iter().map(Self::Int).collect(),
            Datatype::Float16 | Datatype::Float32 | Datatype::Float64 => {
                array.load_as::<f64>()?.into_iter().map(Self::Float).collect()
            }
            Datatype::Ascii(_) | Datatype::Ucs4(_) | Datatype::Ucs2(_) | Datatype::Utf8(_) => {
                let mut cells = Vec::new();
                array.for_each_scalar(|element, _| {
                    cells.push(Self::Text(element.text(FloatText::Shortest)));
                    Ok(())
                })?;
                cells
            }
            _ => return Ok(None),
        };
        if let Some(mask) = array.mask_array()? {
            for (cell, is_missing) in cells.iter_mut().zip(mask.load_as::<u8>()?) {
                if is_missing != 0 {
                    *cell = Self::Null;
                }
            }
        }
        Ok(Some(cells))
    }

    /// Returns the type of the value.
    pub fn kind(&self) -> CellType {
        match self {
            Self::Null => CellType::Null,
            Self::Bool(_) => CellType::Bool,
            Self::Int(_) => CellType::Int,
            Self::Float(_) => CellType::Float,
            Self::Text(_) => CellType::Text,
        }
    }

    /// Returns the value as text, which is empty for null.
    pub fn text(&self) -> String {
        match self {
            Self::Null => String::new(),
            Self::Bool(value) => value.to_string(),
            Self::Int(value) => value.to_string(),
            Self::Float(value) if value.is_nan() => "NaN".to_owned(),
            Self::Float(value) if value.is_infinite() => if *value > 0.0 { "Infinity" } else { "-Infinity" }.to_owned(),
            Self::Float(value) => format!("{value:?}"),
            Self::Text(text) => text.clone(),
        }
    }

    /// Converts the value to the type of its column ([`CellType::join`]).
    #[must_use]
    pub fn into_type(self, kind: CellType) -> Self {
        match (self, kind) {
            (Self::Null, _) => Self::Null,
            (Self::Int(value), CellType::Float) => Self::Float(value as f64),
            (cell, CellType::Text) => Self::Text(cell.text()),
            (cell, _) => cell,
        }
    }

    /// Compares with another value. Returns None if one is null, if their types do not compare, or if one is NaN.
    pub fn compare(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Int(a), Self::Int(b)) => Some(a.cmp(b)),
            (Self::Float(a), Self::Float(b)) => a.partial_cmp(b),
            (Self::Int(a), Self::Float(b)) => crate::yaml::int_with_float(*a, *b),
            (Self::Float(a), Self::Int(b)) => crate::yaml::int_with_float(*b, *a).map(Ordering::reverse),
            (Self::Bool(a), Self::Bool(b)) => Some(a.cmp(b)),
            (Self::Text(a), Self::Text(b)) => Some(a.cmp(b)),
            _ => None,
        }
    }

    /// An order of all cells, for sorting: by type, then by value; what is not a number after the numbers, null last.
    pub(crate) fn total_cmp(&self, other: &Self) -> Ordering {
        let rank = |cell: &Self| match cell {
            Self::Bool(_) => 0,
            Self::Int(_) => 1,
            Self::Float(value) if !value.is_nan() => 1,
            Self::Float(_) => 2,
            Self::Text(_) => 3,
            Self::Null => 4,
        };
        rank(self).cmp(&rank(other)).then_with(|| self.compare(other).unwrap_or(Ordering::Equal))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_and_floats_compare_exactly() {
        let cells = [
            TableCell::Int(i64::MIN),
            TableCell::Float(-1.5),
            TableCell::Int(-1),
            TableCell::Float(0.5),
            TableCell::Int(1),
            TableCell::Float(1.5),
        ];
        for (at, one) in cells.iter().enumerate() {
            for (other_at, other) in cells.iter().enumerate() {
                assert_eq!(one.compare(other), Some(at.cmp(&other_at)), "{one:?} {other:?}");
            }
        }
        assert_eq!(TableCell::Int(i64::MAX).compare(&TableCell::Float(9_223_372_036_854_775_807.0)), Some(Ordering::Less));
        assert_eq!(TableCell::Int(1).compare(&TableCell::Float(f64::NAN)), None);
        assert_eq!(TableCell::Null.compare(&TableCell::Null), None);
    }

    #[test]
    fn types_join_in_any_order() {
        for a in CellType::ALL {
            for b in CellType::ALL {
                assert_eq!(a.join(b), b.join(a));
                for c in CellType::ALL {
                    assert_eq!(a.join(b).join(c) == CellType::Text, a.join(b.join(c)) == CellType::Text, "{a:?} {b:?} {c:?}");
                }
            }
        }
    }
}
