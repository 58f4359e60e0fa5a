//! Tables that are interpolated.

use crate::{Error, Limits, Result};

/// Way from the points of a table to the places between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Method {
    /// Straight lines.
    Linear,
    /// The value of the nearest point; of the lower one in the middle.
    Nearest,
}

/// Value of a table beyond its points.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Outside {
    /// The line through the last two points goes on.
    Extrapolate,
    /// A fixed number.
    Fill(f64),
}

/// A table of one axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    axis: Vec<f64>,
    values: Vec<f64>,
    method: Method,
    outside: Outside,
}

impl Table {
    /// Returns a table of values at points, which rise or fall strictly.
    ///
    /// # Errors
    /// Returns [`Error::Limit`] if it has too many points, and [`Error::Invalid`] if they are fewer than two, are in no order, or
    /// are not as many as the values.
    pub fn new(mut axis: Vec<f64>, mut values: Vec<f64>, method: Method, outside: Outside, limits: &Limits) -> Result<Self> {
        if axis.len() != values.len() {
            return Err(Error::Invalid(format!("a table of {} values at {} points", values.len(), axis.len())));
        }
        if order(&mut axis, limits)? {
            values.reverse();
        }
        Ok(Self { axis, values, method, outside })
    }

    pub(crate) fn value(&self, x: f64) -> f64 {
        let Some((at, share)) = place(&self.axis, x, self.outside) else { return fill(x, self.outside) };
        let value = |at: usize| self.values.get(at).copied().unwrap_or(f64::NAN);
        match self.method {
            Method::Nearest => value(if share <= 0.5 { at } else { at + 1 }),
            Method::Linear => value(at) * (1.0 - share) + value(at + 1) * share,
        }
    }

    /// The table with values and points exchanged, if the values rise or fall strictly.
    pub(crate) fn inverse(&self) -> Option<Self> {
        let (mut axis, mut values) = (self.values.clone(), self.axis.clone());
        if order(&mut axis, &Limits { table: usize::MAX, ..Limits::default() }).ok()? {
            values.reverse();
        }
        Some(Self { axis, values, method: self.method, outside: self.outside })
    }
}

/// A table of two axes.
#[derive(Debug, Clone, PartialEq)]
pub struct Table2 {
    axes: [Vec<f64>; 2],
    values: Vec<f64>,
    method: Method,
    outside: Outside,
}

impl Table2 {
    /// Returns a table of values, the last axis of which varies fastest, at the points of two axes.
    ///
    /// # Errors
    /// Returns the errors of [`Table::new`].
    pub fn new(mut axes: [Vec<f64>; 2], mut values: Vec<f64>, method: Method, outside: Outside, limits: &Limits) -> Result<Self> {
        let [rows, columns] = [axes[0].len(), axes[1].len()];
        if rows.checked_mul(columns) != Some(values.len()) || values.len() > limits.table {
            return Err(Error::Invalid(format!("a table of {} values at {rows} x {columns} points", values.len())));
        }
        if order(&mut axes[0], limits)? {
            values = values.rchunks(columns.max(1)).flatten().copied().collect();
        }
        if order(&mut axes[1], limits)? {
            values.chunks_mut(columns.max(1)).for_each(<[f64]>::reverse);
        }
        Ok(Self { axes, values, method, outside })
    }

    pub(crate) fn value(&self, x: f64, y: f64) -> f64 {
        let [rows, columns] = &self.axes;
        let (Some((i, p)), Some((j, q))) = (place(rows, x, self.outside), place(columns, y, self.outside)) else {
            return fill(x + y, self.outside);
        };
        let value = |i: usize, j: usize| self.values.get(i * columns.len() + j).copied().unwrap_or(f64::NAN);
        match self.method {
            Method::Nearest => value(if p <= 0.5 { i } else { i + 1 }, if q <= 0.5 { j } else { j + 1 }),
            Method::Linear => {
                (1.0 - p) * ((1.0 - q) * value(i, j) + q * value(i, j + 1))
                    + p * ((1.0 - q) * value(i + 1, j) + q * value(i + 1, j + 1))
            }
        }
    }
}

fn fill(x: f64, outside: Outside) -> f64 {
    match outside {
        Outside::Fill(value) if !x.is_nan() => value,
        _ => f64::NAN,
    }
}

/// Brings points into rising order; whether they were falling.
fn order(axis: &mut [f64], limits: &Limits) -> Result<bool> {
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
fn place(axis: &[f64], x: f64, outside: Outside) -> Option<(usize, f64)> {
    let ([first, .., last], false) = (axis, x.is_nan()) else { return None };
    if outside != Outside::Extrapolate && !(*first..=*last).contains(&x) {
        return None;
    }
    let at = axis.partition_point(|point| *point <= x).saturating_sub(1).min(axis.len() - 2);
    let (low, high) = (*axis.get(at)?, *axis.get(at + 1)?);
    Some((at, (x - low) / (high - low)))
}
