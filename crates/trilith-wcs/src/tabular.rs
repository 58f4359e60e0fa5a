//! Tables that are interpolated.

use crate::{Error, Result, WcsLimits};

/// Way from the points of a table to the places between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Interpolation {
    /// Straight lines.
    Linear,
    /// The value of the nearest point; of the lower one in the middle.
    Nearest,
}

/// Value of a table beyond its points.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum OutOfBounds {
    /// The line through the last two points goes on.
    Extrapolate,
    /// A fixed number.
    Fill(f64),
}

/// A table of one axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Tabular1D {
    axis: Vec<f64>,
    values: Vec<f64>,
    interpolation: Interpolation,
    out_of_bounds: OutOfBounds,
    /// Room beyond the first and the last point that counts as rounding.
    rounding_room: f64,
}

impl Tabular1D {
    /// Returns a table of values at points, which rise or fall strictly.
    ///
    /// # Errors
    /// Returns [`Error::Limit`] if it has too many points, and [`Error::Invalid`] if they are fewer than two, are in no order, or
    /// are not as many as the values.
    pub fn new(
        mut axis: Vec<f64>,
        mut values: Vec<f64>,
        method: Interpolation,
        outside: OutOfBounds,
        limits: &WcsLimits,
    ) -> Result<Self> {
        if axis.len() != values.len() {
            return Err(Error::Invalid(format!("a table of {} values at {} points", values.len(), axis.len())));
        }
        if sort_ascending(&mut axis, limits)? {
            values.reverse();
        }
        Ok(Self { axis, values, interpolation: method, out_of_bounds: outside, rounding_room: 0.0 })
    }

    pub(crate) fn value_at(&self, x: f64) -> f64 {
        let x = self.clamp_to_ends(x);
        let Some((at, share)) = locate(&self.axis, x, self.out_of_bounds) else {
            return out_of_bounds_value(x, self.out_of_bounds);
        };
        let value = |at: usize| self.values.get(at).copied().unwrap_or(f64::NAN);
        match self.interpolation {
            Interpolation::Nearest => value(if share <= 0.5 { at } else { at + 1 }),
            Interpolation::Linear => value(at) * (1.0 - share) + value(at + 1) * share,
        }
    }

    /// Moves a value that is beyond the ends by rounding alone to the end.
    fn clamp_to_ends(&self, x: f64) -> f64 {
        match (self.axis.first(), self.axis.last()) {
            (Some(first), _) if x < *first && x >= first - self.rounding_room => *first,
            (_, Some(last)) if x > *last && x <= last + self.rounding_room => *last,
            _ => x,
        }
    }

    /// The table with values and points exchanged, if the values rise or fall strictly. A value at an end of the table may have been
    /// rounded on its way.
    pub(crate) fn inverse(&self) -> Option<Self> {
        let (mut axis, mut values) = (self.values.clone(), self.axis.clone());
        if sort_ascending(&mut axis, &WcsLimits { table: usize::MAX, ..WcsLimits::default() }).ok()? {
            values.reverse();
        }
        let largest = axis.iter().fold(0.0f64, |most, value| most.max(value.abs()));
        let rounding_room = 64.0 * f64::EPSILON * largest;
        Some(Self { axis, values, interpolation: self.interpolation, out_of_bounds: self.out_of_bounds, rounding_room })
    }
}

/// A table of two axes.
#[derive(Debug, Clone, PartialEq)]
pub struct Tabular2D {
    axes: [Vec<f64>; 2],
    values: Vec<f64>,
    interpolation: Interpolation,
    out_of_bounds: OutOfBounds,
}

impl Tabular2D {
    /// Returns a table of values, the last axis of which varies fastest, at the points of two axes.
    ///
    /// # Errors
    /// Returns the errors of [`Tabular1D::new`].
    pub fn new(
        mut axes: [Vec<f64>; 2],
        mut values: Vec<f64>,
        method: Interpolation,
        outside: OutOfBounds,
        limits: &WcsLimits,
    ) -> Result<Self> {
        let [rows, columns] = [axes[0].len(), axes[1].len()];
        if rows.checked_mul(columns) != Some(values.len()) || values.len() > limits.table {
            return Err(Error::Invalid(format!("a table of {} values at {rows} x {columns} points", values.len())));
        }
        if sort_ascending(&mut axes[0], limits)? {
            values = values.rchunks(columns.max(1)).flatten().copied().collect();
        }
        if sort_ascending(&mut axes[1], limits)? {
            values.chunks_mut(columns.max(1)).for_each(<[f64]>::reverse);
        }
        Ok(Self { axes, values, interpolation: method, out_of_bounds: outside })
    }

    pub(crate) fn value_at(&self, x: f64, y: f64) -> f64 {
        let [rows, columns] = &self.axes;
        let (Some((i, p)), Some((j, q))) = (locate(rows, x, self.out_of_bounds), locate(columns, y, self.out_of_bounds)) else {
            return out_of_bounds_value(x + y, self.out_of_bounds);
        };
        let value = |i: usize, j: usize| self.values.get(i * columns.len() + j).copied().unwrap_or(f64::NAN);
        match self.interpolation {
            Interpolation::Nearest => value(if p <= 0.5 { i } else { i + 1 }, if q <= 0.5 { j } else { j + 1 }),
            Interpolation::Linear => {
                (1.0 - p) * ((1.0 - q) * value(i, j) + q * value(i, j + 1))
                    + p * ((1.0 - q) * value(i + 1, j) + q * value(i + 1, j + 1))
            }
        }
    }
}

fn out_of_bounds_value(x: f64, outside: OutOfBounds) -> f64 {
    match outside {
        OutOfBounds::Fill(value) if !x.is_nan() => value,
        _ => f64::NAN,
    }
}

/// Brings points into rising order; whether they were falling.
fn sort_ascending(axis: &mut [f64], limits: &WcsLimits) -> Result<bool> {
    if axis.len() > limits.table {
        return Err(Error::Limit(format!("a table of {} points (at most {})", axis.len(), limits.table)));
    }
    let is_falling = matches!(&*axis, [first, .., last] if first > last);
    if is_falling {
        axis.reverse();
    }
    let is_rising = axis.windows(2).all(|pair| matches!(pair, [a, b] if a < b));
    if axis.len() < 2 || !is_rising {
        return Err(Error::Invalid("a table whose points neither rise nor fall strictly".to_owned()));
    }
    Ok(is_falling)
}

/// The point before a place, and how far the place is on the way to the next; None outside of a table that ends there.
fn locate(axis: &[f64], x: f64, outside: OutOfBounds) -> Option<(usize, f64)> {
    let ([first, .., last], false) = (axis, x.is_nan()) else { return None };
    if outside != OutOfBounds::Extrapolate && !(*first..=*last).contains(&x) {
        return None;
    }
    let at = axis.partition_point(|point| *point <= x).saturating_sub(1).min(axis.len() - 2);
    let (low, high) = (*axis.get(at)?, *axis.get(at + 1)?);
    Some((at, (x - low) / (high - low)))
}
