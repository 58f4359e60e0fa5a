//! Indices of an array as one number, the place of the element in memory, and back.

use super::{Node, Transform};
use crate::{Error, Result};

/// Shape of an array, and the order of its elements.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ArrayIndexing {
    shape: Vec<usize>,
    /// `true` if the last index varies fastest.
    is_last_fastest: bool,
}

impl ArrayIndexing {
    /// The axes, that of the index which varies fastest first.
    fn axes(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let count = self.shape.len();
        let axis = move |n: usize| if self.is_last_fastest { count - 1 - n } else { n };
        (0..count).map(axis).filter_map(|axis| Some((axis, *self.shape.get(axis)?)))
    }

    /// The number of the element whose indices are the rounded numbers of a point. The part of the fastest index that rounding
    /// takes away is added again. NaN outside of the array.
    pub(super) fn ravel_index(&self, point: impl Fn(usize) -> f64) -> f64 {
        let (mut number, mut factor, mut rest) = (0.0, 1.0, None);
        for (axis, length) in self.axes() {
            let x = point(axis);
            let index = x.round_ties_even();
            if !(index >= 0.0 && index < length as f64) {
                return f64::NAN;
            }
            rest = rest.or(Some(x - index));
            number += index * factor;
            factor *= length as f64;
        }
        number + rest.unwrap_or(0.0)
    }

    /// Writes the indices of the element with a number. NaN outside of the array.
    pub(super) fn unravel_index(&self, number: f64, out: &mut [f64]) {
        out.fill(f64::NAN);
        let whole = number.round_ties_even();
        let count = self.shape.iter().map(|length| *length as f64).product::<f64>();
        if !(whole >= 0.0 && whole < count) {
            return;
        }
        let (mut left, mut rest) = (whole, number - whole);
        for (axis, length) in self.axes() {
            let index = left % length as f64;
            left = (left - index) / length as f64;
            if let Some(place) = out.get_mut(axis) {
                *place = index + std::mem::take(&mut rest);
            }
        }
    }

    pub(super) fn axis_rank(&self) -> usize {
        self.shape.len()
    }
}

impl Transform {
    /// Returns the number of an element of an array from its indices, which are rounded. The inverse gives the indices.
    ///
    /// ```
    /// use trilith_wcs::Transform;
    ///
    /// let number = Transform::ravel(vec![2, 3], true)?;
    /// assert_eq!(number.evaluate_point(&[1.0, 2.0])?, [5.0]);
    /// assert_eq!(number.inverse()?.evaluate_point(&[5.0])?, [1.0, 2.0]);
    /// # Ok::<(), trilith_wcs::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::Invalid`] if the array has no elements, or more than a double counts exactly.
    pub fn ravel(shape: Vec<usize>, is_last_fastest: bool) -> Result<Self> {
        let count = shape.iter().map(|length| *length as f64).product::<f64>();
        if shape.is_empty() || !(1.0..9e15).contains(&count) {
            return Err(Error::Invalid(format!("indices of an array of shape {shape:?}")));
        }
        let inputs = shape.len();
        Ok(Self::new(Node::Ravel(ArrayIndexing { shape, is_last_fastest }), inputs, 1))
    }
}
