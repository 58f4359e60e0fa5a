//! Least squares.

/// Solves `matrix * x = values` for the smallest sum of squares, by Householder reflections, for several columns of values.
///
/// The matrix is given row by row. Returns `None` if its columns depend on each other.
pub(crate) fn least_squares<const N: usize>(
    columns: usize,
    mut matrix: Vec<f64>,
    mut values: [Vec<f64>; N],
) -> Option<[Vec<f64>; N]> {
    let rows = matrix.len().checked_div(columns)?;
    if rows < columns || values.iter().any(|column| column.len() != rows) {
        return None;
    }
    let mut diagonal = vec![0.0; columns];
    for pivot in 0..columns {
        let norm = (pivot..rows).map(|row| matrix[row * columns + pivot].powi(2)).sum::<f64>().sqrt();
        let scale = (0..rows).map(|row| matrix[row * columns + pivot].abs()).fold(0.0, f64::max);
        if !(norm > 1e-14 * scale.max(f64::MIN_POSITIVE)) {
            return None;
        }
        let head = matrix[pivot * columns + pivot];
        let alpha = if head > 0.0 { -norm } else { norm };
        // The reflection is stored in the column, from its diagonal on.
        matrix[pivot * columns + pivot] = head - alpha;
        let half = alpha * (alpha - head);
        for column in pivot + 1..columns {
            let sum: f64 = (pivot..rows).map(|row| matrix[row * columns + pivot] * matrix[row * columns + column]).sum();
            let factor = sum / half;
            (pivot..rows).for_each(|row| matrix[row * columns + column] -= factor * matrix[row * columns + pivot]);
        }
        for column in &mut values {
            let sum: f64 = (pivot..rows).map(|row| matrix[row * columns + pivot] * column[row]).sum();
            let factor = sum / half;
            (pivot..rows).for_each(|row| column[row] -= factor * matrix[row * columns + pivot]);
        }
        diagonal[pivot] = alpha;
    }
    Some(values.map(|column| {
        let mut found = vec![0.0; columns];
        for row in (0..columns).rev() {
            let known: f64 = (row + 1..columns).map(|at| matrix[row * columns + at] * found[at]).sum();
            found[row] = (column[row] - known) / diagonal[row];
        }
        found
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_through_points_is_found() {
        let points = [(0.0, 1.0), (1.0, 3.0), (2.0, 5.0), (3.0, 7.5)];
        let matrix = points.iter().flat_map(|(x, _)| [1.0, *x]).collect();
        let [found] = least_squares(2, matrix, [points.iter().map(|(_, y)| *y).collect()]).unwrap();
        assert!((found[0] - 0.9).abs() < 1e-12 && (found[1] - 2.15).abs() < 1e-12, "{found:?}");
        assert!(least_squares(2, vec![1.0, 1.0, 2.0, 2.0], [vec![1.0, 2.0]]).is_none());
    }
}
