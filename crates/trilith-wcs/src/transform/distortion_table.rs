//! Tables of what is added to pixels: `CPDISj` and `D2IMDISj` of FITS, as the Hubble Space Telescope uses them.

use super::{Accuracy, ArithmeticOperation, Node, Transform};
use crate::{Error, Result};

/// The values that are added to a pixel coordinate, at the points of a grid. Between them it is interpolated. Beyond them the value at the edge
/// counts.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DistortionTable {
    /// Number of points along x and y.
    lengths: [usize; 2],
    /// Rows along x.
    values: Vec<f64>,
    /// Grid point, counted from 1, pixel there, counted from 1, and pixels between two points.
    axes: [GridAxis; 2],
}

/// Places of the points of a grid along a pixel axis, in pixels that count from 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct GridAxis {
    /// A point, counted from 1.
    pub(crate) point: f64,
    /// The pixel of that point.
    pub(crate) pixel: f64,
    /// Pixels from one point to the next.
    pub(crate) step: f64,
}

impl DistortionTable {
    /// Returns a table of rows along x.
    pub(crate) fn new(lengths: [usize; 2], values: Vec<f64>, axes: [GridAxis; 2]) -> Result<Self> {
        let [x, y] = lengths;
        if values.is_empty() || x.checked_mul(y) != Some(values.len()) {
            return Err(Error::Invalid(format!("{} values at {x} x {y} points", values.len())));
        }
        if axes.iter().any(|axis| axis.step == 0.0) {
            return Err(Error::Invalid("CDELT of 0 in the array of a distortion".to_owned()));
        }
        Ok(Self { lengths, values, axes })
    }

    /// The value at a pixel that counts from 0.
    fn value_at(&self, x: f64, y: f64) -> f64 {
        let place = |axis: usize, at: f64| {
            let grid = self.axes[axis];
            let found = (at + 1.0 - grid.pixel) / grid.step + grid.point - 1.0;
            let low = found.clamp(0.0, (self.lengths[axis] - 1) as f64);
            (low.floor() as usize, low - low.floor())
        };
        let ((i, p), (j, q)) = (place(0, x), place(1, y));
        let value = |i: usize, j: usize| {
            let (i, j) = (i.min(self.lengths[0] - 1), j.min(self.lengths[1] - 1));
            self.values.get(j * self.lengths[0] + i).copied().unwrap_or(f64::NAN)
        };
        (1.0 - p) * (1.0 - q) * value(i, j)
            + (1.0 - p) * q * value(i, j + 1)
            + p * (1.0 - q) * value(i + 1, j)
            + p * q * value(i + 1, j + 1)
    }
}

/// The values that two tables add to the first two pixel axes.
pub(super) fn evaluate_tables(tables: &[Option<DistortionTable>; 2], x: f64, y: f64) -> [f64; 2] {
    tables.each_ref().map(|table| table.as_ref().map_or(0.0, |table| table.value_at(x, y)))
}

impl Transform {
    /// Returns the sum of the transform and what tables give at its first two inputs. A table adds little, so that an iteration may
    /// start from the inverse of the transform.
    pub(crate) fn add_tables(self, tables: [Option<DistortionTable>; 2]) -> Result<Self> {
        if self.inputs < 2 || self.inputs != self.outputs {
            return Err(Error::Invalid("a distortion in tables of one axis".to_owned()));
        }
        let others = (2..self.inputs).map(|_| Self::constant(0.0, 1));
        let tables = Self::new(Node::Distortion(Box::new(tables)), 2, 2);
        let added = Self::parallel(std::iter::once(tables).chain(others).collect());
        let inverse = self.approximate_inverse();
        let sum = Self::arithmetic(ArithmeticOperation::Add, self, added)?;
        Ok(match inverse {
            Ok(inverse) => sum.with_given_inverse(inverse, Accuracy::Approximate),
            Err(_) => sum,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_interpolated_and_end_at_edges() {
        let axis = GridAxis { point: 1.0, pixel: 1.0, step: 10.0 };
        let table = DistortionTable::new([3, 2], vec![0.0, 1.0, 2.0, 10.0, 11.0, 12.0], [axis; 2]).unwrap();
        for (x, y, wanted) in
            [(0.0, 0.0, 0.0), (5.0, 0.0, 0.5), (5.0, 5.0, 5.5), (20.0, 10.0, 12.0), (99.0, -9.0, 2.0), (-9.0, 99.0, 10.0)]
        {
            assert_eq!(table.value_at(x, y), wanted, "{x} {y}");
        }
        assert!(table.value_at(f64::NAN, 0.0).is_nan());
        assert!(DistortionTable::new([3, 3], vec![0.0; 6], [axis; 2]).is_err());
        let sum = Transform::shift(1.0);
        assert!(sum.add_tables([None, None]).is_err());
        let sum = Transform::identity(3).add_tables([Some(table), None]).unwrap();
        assert_eq!(sum.evaluate_point(&[5.0, 5.0, 7.0]).unwrap(), [10.5, 5.0, 7.0]);
        assert!(sum.inverse().is_err());
        assert!(sum.approximate_inverse().is_ok());
    }
}
