//! Coordinates in a table: the algorithm `-TAB` of FITS (paper III, section 6).

use std::sync::Arc;

use super::{Accuracy, Node, Transform};
use crate::{Error, Result, WcsLimits};

/// Points that are compared with a coordinate to start an iteration, at most.
const MAX_COMPARED_POINTS: usize = 4096;
/// Axes of a table, at most. An interpolation has 2 to their power of terms.
const MAX_TABLE_AXES: usize = 8;

/// World coordinates at the points of a grid, interpolated between them.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CoordinateTable {
    /// Points along each axis, the fastest first.
    lengths: Vec<usize>,
    /// Numbers that rise or fall along an axis, to be found in place of the number of the point.
    indices: Vec<Option<Vec<f64>>>,
    /// A coordinate for each axis, point after point.
    coordinates: Vec<f64>,
    /// 1 if the coordinates of a table of one axis rise, -1 if they fall.
    order: Option<f64>,
}

impl CoordinateTable {
    /// Returns a table. Lengths and index vectors are those of the axes, the fastest first.
    pub(crate) fn new(
        lengths: Vec<usize>,
        indices: Vec<Option<Vec<f64>>>,
        coordinates: Vec<f64>,
        limits: &WcsLimits,
    ) -> Result<Self> {
        let axes = lengths.len();
        let count = lengths.iter().try_fold(axes, |count, length| count.checked_mul(*length));
        if coordinates.len() > limits.table {
            return Err(Error::Limit(format!("a table of {} coordinates (at most {})", coordinates.len(), limits.table)));
        }
        if axes == 0
            || axes > MAX_TABLE_AXES
            || coordinates.is_empty()
            || count != Some(coordinates.len())
            || indices.len() != axes
        {
            return Err(Error::Invalid(format!("{} coordinates in a table of {lengths:?} points", coordinates.len())));
        }
        for (index, length) in indices.iter().zip(&lengths) {
            let Some(index) = index else { continue };
            let is_rising = index.windows(2).all(|pair| pair[0] <= pair[1]);
            let is_falling = index.windows(2).all(|pair| pair[0] >= pair[1]);
            let is_flat = *length > 1 && index.first() == index.last();
            if index.len() != *length || is_flat || !(is_rising || is_falling) {
                return Err(Error::Invalid(format!(
                    "an index vector of {} numbers for {length} points (expected as many that rise or fall)",
                    index.len()
                )));
            }
        }
        let is_ordered = |sign: &f64| axes == 1 && coordinates.windows(2).all(|pair| sign * pair[0] < sign * pair[1]);
        let order = [1.0, -1.0].into_iter().find(is_ordered);
        Ok(Self { lengths, indices, coordinates, order })
    }

    fn axes(&self) -> usize {
        self.lengths.len()
    }

    /// The place along an axis, counted from 1 at the first point. Half of a step beyond the ends is in the table.
    fn place_at(&self, axis: usize, psi: f64) -> Option<f64> {
        let length = *self.lengths.get(axis)?;
        let place = match self.indices.get(axis)? {
            Some(index) if length > 1 => place_in(index, psi)?,
            _ => psi,
        };
        (0.5..=length as f64 + 0.5).contains(&place).then_some(place)
    }

    /// The coordinates at places that are found by [`CoordinateTable::place_at`]; NaN outside of the table.
    pub(super) fn evaluate_into(&self, point: impl Fn(usize) -> f64, out: &mut [f64]) {
        out.fill(f64::NAN);
        let axes = self.axes();
        let (mut low, mut share) = ([0usize; MAX_TABLE_AXES], [0.0; MAX_TABLE_AXES]);
        for axis in 0..axes {
            let Some(place) = self.place_at(axis, point(axis)) else { return };
            (low[axis], share[axis]) = split_place(place, self.lengths[axis]);
        }
        out.fill(0.0);
        for corner in 0..1usize << axes {
            let (mut offset, mut weight) = (0, 1.0);
            for axis in (0..axes).rev() {
                let is_next = corner & (1 << axis) != 0;
                weight *= if is_next { share[axis] } else { 1.0 - share[axis] };
                let next = usize::from(is_next && self.lengths[axis] > 1);
                offset = offset * self.lengths[axis] + low[axis] + next;
            }
            if weight == 0.0 {
                continue;
            }
            let found = self.coordinates.get(offset * axes..(offset + 1) * axes).unwrap_or(&[]);
            out.iter_mut().zip(found).for_each(|(sum, x)| *sum += weight * x);
        }
    }

    /// The numbers that a point of the table is found by.
    fn index_at(&self, axis: usize, place: f64) -> f64 {
        let Some(index) = self.indices.get(axis).and_then(Option::as_ref).filter(|index| index.len() > 1) else { return place };
        let (low, share) = split_place(place, index.len());
        let value = |at: usize| index.get(at).copied().unwrap_or(f64::NAN);
        value(low) + share * (value(low + 1) - value(low))
    }

    /// Finds a coordinate in a table of one axis: exact, in the first step that has it, or half of a step beyond an end.
    fn find_in_column(&self, world: f64) -> f64 {
        let values = &self.coordinates;
        if let [only] = values[..] {
            return if only == world { self.index_at(0, 1.0) } else { f64::NAN };
        }
        let is_in = |pair: &[f64]| (pair[0] <= world && world <= pair[1]) || (pair[1] <= world && world <= pair[0]);
        let step = match self.order {
            Some(sign) => {
                let at = values.partition_point(|value| sign * value < sign * world).clamp(1, values.len() - 1);
                values.get(at - 1..=at).filter(|pair| is_in(pair)).map(|_| at - 1)
            }
            None => values.windows(2).position(is_in),
        };
        let last = values.len() - 2;
        let share = |at: usize| (world - values[at]) / (values[at + 1] - values[at]);
        let place = match step {
            Some(at) if values[at] == values[at + 1] => at as f64 + 1.0,
            Some(at) => at as f64 + 1.0 + share(at),
            None if (-0.5..0.0).contains(&share(0)) => 1.0 + share(0),
            None if (1.0..=1.5).contains(&share(last)) => last as f64 + 1.0 + share(last),
            None => return f64::NAN,
        };
        self.index_at(0, place)
    }

    /// Writes the numbers that a point near coordinates is found by.
    pub(super) fn search_into(&self, world: impl Fn(usize) -> f64, out: &mut [f64]) {
        out.fill(f64::NAN);
        let axes = self.axes();
        if axes == 1 {
            out.iter_mut().for_each(|place| *place = self.find_in_column(world(0)));
            return;
        }
        let count = self.coordinates.len() / axes;
        let mut best = (f64::INFINITY, 0);
        for point in (0..count).step_by(count.div_ceil(MAX_COMPARED_POINTS).max(1)) {
            let found = self.coordinates.get(point * axes..(point + 1) * axes).unwrap_or(&[]);
            let far = found.iter().enumerate().map(|(axis, x)| (x - world(axis)).powi(2)).sum::<f64>();
            if far < best.0 {
                best = (far, point);
            }
        }
        if best.0.is_finite() {
            let mut rest = best.1;
            for (axis, place) in out.iter_mut().enumerate() {
                let length = self.lengths.get(axis).copied().unwrap_or(1);
                *place = self.index_at(axis, (rest % length) as f64 + 1.0);
                rest /= length;
            }
        }
    }
}

/// The place of a number in numbers that rise or fall, counted from 1.
fn place_in(index: &[f64], psi: f64) -> Option<f64> {
    let (first, last) = (index.first()?, index.last()?);
    let before = if first < last { index.partition_point(|x| *x < psi) } else { index.partition_point(|x| *x > psi) };
    let at = before.clamp(1, index.len() - 1);
    let (low, high) = (index.get(at - 1)?, index.get(at)?);
    let share = (psi - low) / (high - low);
    (-0.5..=1.5).contains(&share).then_some(at as f64 + share)
}

/// The point before a place, counted from 0, and how far the place is on the way to the next.
fn split_place(place: f64, length: usize) -> (usize, f64) {
    let low = (place.floor().max(1.0) as usize).min(length.saturating_sub(1).max(1));
    (low - 1, place - low as f64)
}

impl Transform {
    /// Returns coordinates from a table: as many outputs as inputs. Its inverse is exact for one axis, and near enough to start an
    /// iteration for more.
    pub(crate) fn coordinate_table(table: CoordinateTable) -> Self {
        let (axes, table) = (table.axes(), Arc::new(table));
        let search = Self::new(Node::CoordinateSearch(table.clone()), axes, axes);
        let accuracy = if axes == 1 { Accuracy::Full } else { Accuracy::Approximate };
        Self::new(Node::Coordinates(table), axes, axes).with_given_inverse(search, accuracy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(lengths: &[usize], indices: Vec<Option<Vec<f64>>>, coordinates: &[f64]) -> Transform {
        let limits = WcsLimits::default();
        Transform::coordinate_table(CoordinateTable::new(lengths.to_vec(), indices, coordinates.to_vec(), &limits).unwrap())
    }

    #[test]
    fn column_is_interpolated_and_inverted() {
        let column = table(&[4], vec![Some(vec![10.0, 20.0, 40.0, 80.0])], &[1.0, 2.0, 4.0, 5.0]);
        let back = column.inverse().unwrap();
        for (psi, world) in [(10.0, 1.0), (15.0, 1.5), (30.0, 3.0), (80.0, 5.0), (5.0, 0.5), (99.0, 5.475)] {
            assert_eq!(column.evaluate_point(&[psi]).unwrap(), [world], "{psi}");
            assert!((back.evaluate_point(&[world]).unwrap()[0] - psi).abs() < 1e-12, "{world}");
        }
        for outside in [4.9, 100.1, f64::NAN] {
            assert!(column.evaluate_point(&[outside]).unwrap()[0].is_nan(), "{outside}");
        }
        assert!(back.evaluate_point(&[9.0]).unwrap()[0].is_nan());
        let falling = table(&[3], vec![None], &[3.0, 2.0, 0.0]);
        assert_eq!(falling.evaluate_point(&[2.5]).unwrap(), [1.0]);
        assert_eq!(falling.inverse().unwrap().evaluate_point(&[1.0]).unwrap(), [2.5]);
    }

    #[test]
    fn plane_is_interpolated() {
        // Three points along the first axis, two along the second.
        let coordinates = [0.0, 0.0, 1.0, 0.0, 3.0, 0.0, 0.0, 10.0, 1.0, 10.0, 3.0, 10.0];
        let plane = table(&[3, 2], vec![None, Some(vec![7.0, 5.0])], &coordinates);
        assert_eq!(plane.evaluate_point(&[2.5, 6.0]).unwrap(), [2.0, 5.0]);
        assert!(plane.inverse().is_err());
        assert_eq!(plane.approximate_inverse().unwrap().evaluate_point(&[2.9, 8.0]).unwrap(), [3.0, 5.0]);
    }

    #[test]
    fn invalid_tables_are_refused() {
        let limits = WcsLimits::default();
        let new = |lengths: &[usize], index: Option<Vec<f64>>, count: usize| {
            CoordinateTable::new(lengths.to_vec(), vec![index; lengths.len()], vec![0.0; count], &limits)
        };
        assert!(new(&[3], None, 3).is_ok());
        for (lengths, index, count) in [
            (&[3][..], None, 2),
            (&[][..], None, 0),
            (&[0][..], None, 0),
            (&[3][..], Some(vec![1.0, 2.0]), 3),
            (&[3][..], Some(vec![1.0, 3.0, 2.0]), 3),
            (&[3][..], Some(vec![1.0, 1.0, 1.0]), 3),
            (&[3][..], Some(vec![1.0, f64::NAN, 1.0]), 3),
            (&[1; 9][..], None, 9),
        ] {
            assert!(new(lengths, index, count).is_err(), "{lengths:?} {count}");
        }
    }
}
