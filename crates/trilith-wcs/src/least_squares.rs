//! Least squares.

/// Solves `matrix * x = values` for the smallest sum of squares, by Householder reflections, for several columns of values.
///
/// The matrix is given row by row. Returns `None` if its columns depend on each other.
pub(crate) fn least_squares<const N: usize>(columns: usize, matrix: &[f64], mut values: [Vec<f64>; N]) -> Option<[Vec<f64>; N]> {
    let rows = matrix.len().checked_div(columns)?;
    if rows < columns || values.iter().any(|column| column.len() != rows) {
        return None;
    }
    let mut diagonal = vec![0.0; columns];
    // Column by column, as it is gone through.
    let column = |at: usize| -> Vec<f64> { matrix.iter().skip(at).step_by(columns).copied().collect() };
    let mut matrix: Vec<Vec<f64>> = (0..columns).map(column).collect();
    for pivot in 0..columns {
        let (before, after) = matrix.split_at_mut(pivot + 1);
        let reflection = before[pivot].as_mut_slice();
        let norm = reflection[pivot..].iter().map(|value| value.powi(2)).sum::<f64>().sqrt();
        let scale = reflection.iter().map(|value| value.abs()).fold(0.0, f64::max);
        if !(norm > 1e-14 * scale.max(f64::MIN_POSITIVE)) {
            return None;
        }
        let head = reflection[pivot];
        let alpha = if head > 0.0 { -norm } else { norm };
        // The reflection is stored in the column, from its diagonal on.
        reflection[pivot] = head - alpha;
        let half = alpha * (alpha - head);
        let reflection = &reflection[pivot..];
        for column in after.iter_mut().chain(&mut values) {
            let column = &mut column[pivot..];
            let sum: f64 = reflection.iter().zip(column.iter()).map(|(a, b)| a * b).sum();
            let factor = sum / half;
            column.iter_mut().zip(reflection).for_each(|(value, by)| *value -= factor * by);
        }
        diagonal[pivot] = alpha;
    }
    Some(values.map(|column| {
        let mut found = vec![0.0; columns];
        for row in (0..columns).rev() {
            let known: f64 = (row + 1..columns).map(|at| matrix[at][row] * found[at]).sum();
            found[row] = (column[row] - known) / diagonal[row];
        }
        found
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_fit_matches_points() {
        let points = [(0.0, 1.0), (1.0, 3.0), (2.0, 5.0), (3.0, 7.5)];
        let matrix: Vec<f64> = points.iter().flat_map(|(x, _)| [1.0, *x]).collect();
        let [found] = least_squares(2, &matrix, [points.iter().map(|(_, y)| *y).collect()]).unwrap();
        assert!((found[0] - 0.9).abs() < 1e-12 && (found[1] - 2.15).abs() < 1e-12, "{found:?}");
        assert!(least_squares(2, &[1.0, 1.0, 2.0, 2.0], [vec![1.0, 2.0]]).is_none());
    }
}
