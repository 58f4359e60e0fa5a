//! The fast way to pixels: the exact inverse of the end of a transform, and an iteration over the distortions before it.
//!
//! A pixel counts only after its forward value has been compared, so that the general iteration gets the points that fail here.

use super::{DERIVATIVE_STEP, EDGE_TOLERANCE, STEP_TOLERANCE};
use crate::transform::SplitInverse;
use crate::wcs::Wcs;
use crate::{Result, Transform};

/// Steps until a distortion is solved, at most. It needs four or five.
const MAX_STEPS: usize = 12;
/// Steps in which derivatives may be taken.
const DERIVATIVE_STEPS: usize = 3;
/// A shorter step, in pixels, hardly changes the derivatives.
const SHORT_STEP: f64 = 64.0;
/// Difference of angles that rounding alone makes, in degrees: 64 units in the last place of a radian.
const ANGLE_TOLERANCE: f64 = 64.0 * f64::EPSILON * 57.3;

impl Wcs {
    /// Pixels of world coordinates, and the points that the general iteration has to solve.
    pub(super) fn solve_split(&self, split: &SplitInverse, world: &[&[f64]]) -> Result<(Vec<Vec<f64>>, Vec<usize>)> {
        let target = split.tail_inverse.evaluate(world)?;
        let pixels = match &split.head {
            None => target,
            Some((forward, rough)) => solve_distortion(forward, rough, &target)?,
        };
        let slices: Vec<&[f64]> = pixels.iter().map(Vec::as_slice).collect();
        let found = self.forward.evaluate(&slices)?;
        let count = world.first().map_or(0, |column| column.len());
        let mut is_good = vec![true; count];
        for (axis, (found, wanted)) in found.iter().zip(world).enumerate() {
            let sky = self.sky.filter(|(longitude, latitude, _)| axis == *longitude || axis == *latitude);
            for ((good, found), wanted) in is_good.iter_mut().zip(found).zip(*wanted) {
                *good &= match sky {
                    // A difference of longitudes is at least a distance on the sky.
                    Some((longitude, _, units)) => {
                        let off = (found - wanted).abs() * units[usize::from(axis != longitude)];
                        let off = if axis == longitude && off > 180.0 { (off - 360.0).abs() } else { off };
                        off <= ANGLE_TOLERANCE
                    }
                    None => (found - wanted).abs() <= 64.0 * f64::EPSILON * wanted.abs(),
                };
            }
        }
        if let Some(bounds) = self.bounding_box() {
            let intervals = bounds.intervals();
            for (column, interval) in pixels.iter().zip(intervals) {
                let Some((low, high)) = interval else { continue };
                let is_at_edge = |x: f64| (x < low && x >= low - EDGE_TOLERANCE.1) || (x > high && x <= high + EDGE_TOLERANCE.1);
                is_good.iter_mut().zip(column).for_each(|(good, x)| *good &= !is_at_edge(*x));
            }
        }
        let open = is_good.iter().enumerate().filter(|(_, good)| !**good).map(|(at, _)| at).collect();
        Ok((pixels, open))
    }
}

/// Solves a distortion of two axes for all points together, as far as it converges.
fn solve_distortion(forward: &Transform, rough: &Transform, target: &[Vec<f64>]) -> Result<Vec<Vec<f64>>> {
    let slices: Vec<&[f64]> = target.iter().map(Vec::as_slice).collect();
    let mut pixels = rough.evaluate(&slices)?;
    let [goal_x, goal_y] = target else { return Ok(pixels) };
    let mut inverse: Vec<[f64; 4]> = vec![[f64::NAN; 4]; goal_x.len()];
    let mut longest = f64::INFINITY;
    for step in 0..MAX_STEPS {
        let found = evaluate_moved(forward, &pixels, [0.0; 2])?;
        if step < DERIVATIVE_STEPS && longest > SHORT_STEP {
            let along_x = evaluate_moved(forward, &pixels, [DERIVATIVE_STEP, 0.0])?;
            let along_y = evaluate_moved(forward, &pixels, [0.0, DERIVATIVE_STEP])?;
            for (at, place) in inverse.iter_mut().enumerate() {
                let slope = |moved: &[Vec<f64>], axis: usize| moved[axis][at] - found[axis][at];
                let (a, c) = (slope(&along_x, 0), slope(&along_x, 1));
                let (b, d) = (slope(&along_y, 0), slope(&along_y, 1));
                let factor = DERIVATIVE_STEP / (a * d - b * c);
                *place = [d * factor, -b * factor, -c * factor, a * factor];
            }
        }
        longest = 0.0;
        for (at, [a, b, c, d]) in inverse.iter().enumerate() {
            let (off_x, off_y) = (goal_x[at] - found[0][at], goal_y[at] - found[1][at]);
            let (by_x, by_y) = (a * off_x + b * off_y, c * off_x + d * off_y);
            pixels[0][at] += by_x;
            pixels[1][at] += by_y;
            // NaN is not a step.
            longest = longest.max(by_x.abs()).max(by_y.abs());
        }
        // The last step makes the fault smaller by several digits.
        if longest < STEP_TOLERANCE {
            break;
        }
    }
    Ok(pixels)
}

fn evaluate_moved(forward: &Transform, pixels: &[Vec<f64>], by: [f64; 2]) -> Result<Vec<Vec<f64>>> {
    if by == [0.0; 2] {
        return forward.evaluate(&pixels.iter().map(Vec::as_slice).collect::<Vec<_>>());
    }
    let moved: Vec<Vec<f64>> = pixels.iter().zip(by).map(|(column, by)| column.iter().map(|x| x + by).collect()).collect();
    forward.evaluate(&moved.iter().map(Vec::as_slice).collect::<Vec<_>>())
}
