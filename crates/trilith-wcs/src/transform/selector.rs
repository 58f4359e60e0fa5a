//! Transforms that are chosen by a label: the slices of an integral field unit, the regions of a detector.

use super::{ColumnStack, Node, Transform};
use crate::{Error, Result, WcsLimits};

/// The relative tolerance with which `numpy.isclose` compares, as gwcs does.
const CLOSE: f64 = 1e-5;

/// Values of an input that select a transform.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum SelectorKey {
    /// The value, as near as `numpy.isclose` asks with this absolute tolerance.
    Value(f64, f64),
    /// The values between two, without these.
    Between(f64, f64),
    /// The value alone.
    Label(f64),
}

impl SelectorKey {
    fn matches(self, value: f64) -> bool {
        match self {
            Self::Value(key, tolerance) => (key - value).abs() <= tolerance + CLOSE * value.abs(),
            Self::Between(low, high) => value > low && value < high,
            Self::Label(label) => value == label,
        }
    }
}

/// An array of labels of pixels, rows of `width`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LabelArray {
    width: usize,
    labels: Vec<f64>,
}

impl LabelArray {
    /// The label of the pixel that holds a place; 0 outside of the array.
    pub(super) fn label_at(&self, x: f64, y: f64) -> f64 {
        let [column, row] = [x, y].map(|place| (place + 0.5).floor());
        if !(column >= 0.0 && row >= 0.0 && column < self.width as f64) {
            return 0.0;
        }
        let at = (row as usize).saturating_mul(self.width).saturating_add(column as usize);
        self.labels.get(at).copied().unwrap_or(0.0)
    }
}

/// A transform for each of some keys, by the value of another transform of the same inputs.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Selector {
    pub(super) key: Transform,
    pub(super) cases: Vec<(SelectorKey, Transform)>,
    /// The value of all outputs at points without a case.
    pub(super) fallback: f64,
}

impl Selector {
    pub(super) fn run(&self, stack: &mut ColumnStack, at: usize, outputs: usize) {
        let inputs = self.key.inputs;
        stack.replace_columns(at, inputs, outputs, |columns, results| {
            results.iter_mut().for_each(|column| column.fill(self.fallback));
            let slices: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
            let Some(keys) = self.key.evaluate(&slices).ok().and_then(|found| found.into_iter().next()) else { return };
            for (key, case) in &self.cases {
                let points: Vec<usize> =
                    keys.iter().enumerate().filter(|(_, value)| key.matches(**value)).map(|(point, _)| point).collect();
                if points.is_empty() {
                    continue;
                }
                let part = |column: &Vec<f64>| points.iter().filter_map(|point| column.get(*point).copied()).collect();
                let chosen: Vec<Vec<f64>> = columns.iter().map(part).collect();
                let slices: Vec<&[f64]> = chosen.iter().map(Vec::as_slice).collect();
                let Ok(found) = case.evaluate(&slices) else { continue };
                for (column, values) in results.iter_mut().zip(found) {
                    for (point, value) in points.iter().zip(values) {
                        if let Some(place) = column.get_mut(*point) {
                            *place = value;
                        }
                    }
                }
            }
        });
    }
}

impl Transform {
    /// Returns the label of each pixel: `labels` are rows of `width`. Pixels outside have the label 0.
    ///
    /// # Errors
    /// Returns [`Error::Invalid`] if the labels are not whole rows, and [`Error::Limit`] if there are too many.
    pub fn label_array(width: usize, labels: Vec<f64>, limits: &WcsLimits) -> Result<Self> {
        if width == 0 || !labels.len().is_multiple_of(width) {
            return Err(Error::Invalid(format!("{} labels in rows of {width}", labels.len())));
        }
        if labels.len() > limits.table {
            return Err(Error::Limit(format!("an array of {} labels (at most {})", labels.len(), limits.table)));
        }
        Ok(Self::new(Node::LabelArray(LabelArray { width, labels }), 2, 1))
    }

    /// Returns one of several transforms for each point: the last one whose key the value of `key` has. All outputs of points
    /// without one are `fallback`.
    ///
    /// # Errors
    /// Returns [`Error::Invalid`] if there are no transforms, or if they differ in inputs or outputs.
    pub fn selector(key: Self, cases: Vec<(SelectorKey, Self)>, fallback: f64) -> Result<Self> {
        let Some((_, first)) = cases.first() else {
            return Err(Error::Invalid("a selection of no transforms".to_owned()));
        };
        let (inputs, outputs) = (first.inputs, first.outputs);
        if key.outputs != 1
            || key.inputs != inputs
            || cases.iter().any(|(_, case)| (case.inputs, case.outputs) != (inputs, outputs))
        {
            return Err(Error::Invalid("transforms of a selection that differ in inputs or outputs".to_owned()));
        }
        Ok(Self::new(Node::Selector(Box::new(Selector { key, cases, fallback })), inputs, outputs))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// First tier. gwcs 1.0.3: labels are those of the rounded pixel; a key matches as numpy.isclose; ranges leave their ends out.
    #[test]
    fn labels_choose_transforms() {
        let limits = WcsLimits::default();
        let labels = Transform::label_array(3, vec![0.0, 1.0, 2.0, 0.0, 2.0, 2.0], &limits).unwrap();
        let case = |label: f64, shift: f64| {
            (SelectorKey::Label(label), Transform::parallel(vec![Transform::shift(shift), Transform::identity(1)]))
        };
        let chosen = Transform::selector(labels, vec![case(1.0, 10.0), case(2.0, 20.0)], f64::NAN).unwrap();
        let found = chosen.evaluate(&[&[0.5, 2.49, 0.0, 1.0, 9.0], &[-0.5, 1.0, 0.0, 1.0, 0.0]]).unwrap();
        assert_eq!(found[0][0], 10.5);
        assert!((found[0][1] - 22.49).abs() < 1e-14);
        assert!(found[0][2].is_nan() && found[0][4].is_nan());
        assert_eq!(found[0][3], 21.0);
        let back = chosen.inverse();
        assert!(back.is_err());

        let key = Transform::identity(1);
        let by_range = Transform::selector(
            key.clone(),
            vec![
                (SelectorKey::Between(1.0, 2.0), Transform::constant(7.0, 1)),
                (SelectorKey::Value(3.0, 1e-2), Transform::constant(8.0, 1)),
            ],
            0.0,
        )
        .unwrap();
        assert_eq!(by_range.evaluate(&[&[1.0, 1.5, 2.0, 3.005, 3.1, f64::NAN]]).unwrap()[0], [0.0, 7.0, 0.0, 8.0, 0.0, 0.0]);
        assert!(Transform::selector(key, Vec::new(), 0.0).is_err());
    }
}
