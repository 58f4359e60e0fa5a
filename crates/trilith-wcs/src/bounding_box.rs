//! Bounding boxes of pixels.

/// Intervals of the pixel axes in which a transform is valid, ends included; an axis without one is free.
#[derive(Debug, Clone, PartialEq)]
pub struct BoundingBox(BoundingBoxKind);

/// An interval for each pixel axis, x first.
type AxisIntervals = Vec<Option<(f64, f64)>>;

#[derive(Debug, Clone, PartialEq)]
enum BoundingBoxKind {
    Single(AxisIntervals),
    /// A box for each value of some inputs.
    Compound {
        inputs: Vec<usize>,
        cases: Vec<(Vec<f64>, AxisIntervals)>,
    },
}

impl BoundingBox {
    /// Returns a box of an interval for each pixel axis, x first.
    pub fn new(intervals: AxisIntervals) -> Self {
        Self(BoundingBoxKind::Single(intervals))
    }

    /// Returns one box for each combination of values of some inputs, as `compound_bounding_box` has them. A point with other
    /// values is outside.
    pub fn compound(inputs: Vec<usize>, cases: Vec<(Vec<f64>, AxisIntervals)>) -> Self {
        Self(BoundingBoxKind::Compound { inputs, cases })
    }

    /// Interval of each axis, which of several boxes holds them all.
    pub fn intervals(&self) -> AxisIntervals {
        match &self.0 {
            BoundingBoxKind::Single(intervals) => intervals.clone(),
            BoundingBoxKind::Compound { cases, .. } => {
                let mut all: AxisIntervals = cases.first().map(|case| case.1.clone()).unwrap_or_default();
                for (_, intervals) in cases {
                    for (sum, one) in all.iter_mut().zip(intervals) {
                        *sum = sum.zip(*one).map(|(a, b)| (a.0.min(b.0), a.1.max(b.1)));
                    }
                }
                all
            }
        }
    }

    /// Returns the numbers of the points that are outside: a slice for each pixel axis, x first.
    pub(crate) fn find_outside(&self, pixels: &[&[f64]]) -> Vec<usize> {
        let count = pixels.first().map_or(0, |column| column.len());
        let mut is_inside = vec![true; count];
        if let BoundingBoxKind::Single(intervals) = &self.0 {
            for (column, interval) in pixels.iter().zip(intervals) {
                let (low, high) = interval.unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
                is_inside.iter_mut().zip(*column).for_each(|(is_inside, x)| *is_inside &= *x >= low && *x <= high);
            }
        } else {
            let mut point = vec![0.0; pixels.len()];
            for (at, is_inside) in is_inside.iter_mut().enumerate() {
                point.iter_mut().zip(pixels).for_each(|(x, column)| *x = column.get(at).copied().unwrap_or(f64::NAN));
                *is_inside = self.clamp_to_edge(&mut point, &[]);
            }
        }
        (0..count).filter(|at| is_inside.get(*at) == Some(&false)).collect()
    }

    /// Brings a point that is outside by less than `room` for each axis to the edge. Returns whether it is inside then.
    pub(crate) fn clamp_to_edge(&self, point: &mut [f64], room: &[f64]) -> bool {
        let intervals = match &self.0 {
            BoundingBoxKind::Single(intervals) => intervals,
            BoundingBoxKind::Compound { inputs, cases } => {
                let is_it = |key: &[f64]| {
                    inputs.iter().zip(key).all(|(input, wanted)| point.get(*input).is_some_and(|found| found == wanted))
                };
                let Some((_, intervals)) = cases.iter().find(|(key, _)| is_it(key)) else { return false };
                intervals
            }
        };
        point.iter_mut().zip(intervals).enumerate().all(|(axis, (x, interval))| {
            let Some((low, high)) = *interval else { return !x.is_nan() };
            let room = room.get(axis).copied().unwrap_or(0.0);
            let is_near = *x >= low - room && *x <= high + room;
            if is_near && low <= high {
                *x = x.clamp(low, high);
            }
            is_near
        })
    }
}
