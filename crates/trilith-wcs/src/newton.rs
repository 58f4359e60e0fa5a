//! The exact inverse: Newton's method on the forward transform.

mod split_solver;

use crate::wcs::{Wcs, sky_offset};
use crate::{Error, Result};

/// Points that are solved together.
const BATCH_SIZE: usize = 1024;
/// Length of the step with which derivatives are taken, in pixels.
const DERIVATIVE_STEP: f64 = 0.05;
/// A smaller step changes no pixel that anybody could measure.
const STEP_TOLERANCE: f64 = 1e-10;
/// A step that is not taken any more.
const SMALLEST: f64 = 1e-11;
/// The room that rounding gets at the edges of a box, in pixels: at least, and at most.
const EDGE_TOLERANCE: (f64, f64) = (1e-8, 1e-2);
/// Difference of coordinates that is never one of rounding, in units of a coordinate that is at least 1.
const MAX_ROUNDING_DIFFERENCE: f64 = 1e-9;
/// The most by which rounded coordinates that are more than pixel axes may contradict each other, in pixels.
const MAX_SHARED_STEP: f64 = 1e-6;
/// Points along each axis of a grid from which to start.
const START_GRID_POINTS: usize = 25;

/// State of a point in the iteration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Active,
    Converged,
    Failed,
}

impl Wcs {
    /// Pixels of world coordinates, and for each the room that rounding needs at the edges of a box.
    pub(crate) fn solve_world_to_pixel(&self, world: &[&[f64]]) -> Result<(Vec<Vec<f64>>, Vec<f64>)> {
        let axes = self.pixel_axes();
        if axes > self.world_axes() && self.approximate_inverse().is_none() {
            return Err(Error::Unsupported(format!("no inverse: {} world coordinates of {axes} pixel axes", self.world_axes())));
        }
        if self.approximate_inverse().is_none() && self.pixel_range().is_none() {
            return Err(Error::Unsupported("no inverse: none is given, and neither a bounding box nor a shape".to_owned()));
        }
        if self.approximate_inverse().is_none() && axes > 2 {
            return Err(Error::Unsupported(format!("no inverse: none is given for {axes} axes")));
        }
        let count = world.first().map_or(0, |column| column.len());
        let (mut pixels, mut rooms) = (vec![Vec::with_capacity(count); axes], Vec::with_capacity(count));
        let mut grid = None;
        let mut start = 0;
        while start < count {
            let end = count.min(start + BATCH_SIZE);
            let part: Vec<&[f64]> = world.iter().map(|column| column.get(start..end).unwrap_or(&[])).collect();
            let (mut found, open) = match self.split_inverse() {
                Some(split) => self.solve_split(split, &part)?,
                None => (vec![vec![f64::NAN; end - start]; axes], (0..end - start).collect()),
            };
            rooms.resize(end, EDGE_TOLERANCE.0);
            if !open.is_empty() {
                let (solved, room) = self.solve_by_iteration(&part, &open, &mut grid)?;
                for (n, at) in open.iter().enumerate() {
                    found.iter_mut().zip(&solved).for_each(|(column, solved)| column[*at] = solved[n]);
                    rooms[start + at] = room[n];
                }
            }
            pixels.iter_mut().zip(found).for_each(|(column, found)| column.extend(found));
            start = end;
        }
        Ok((pixels, rooms))
    }

    /// Pixels of some points of world coordinates, and the room that rounding needs, by an iteration over the whole transform.
    fn solve_by_iteration(
        &self,
        world: &[&[f64]],
        points: &[usize],
        grid: &mut Option<Vec<(Vec<f64>, Vec<f64>)>>,
    ) -> Result<(Vec<Vec<f64>>, Vec<f64>)> {
        let axes = self.pixel_axes();
        let wanted: Vec<Vec<f64>> = world.iter().map(|column| points.iter().map(|at| column[*at]).collect()).collect();
        let wanted: Vec<&[f64]> = wanted.iter().map(Vec::as_slice).collect();
        let starts = match self.approximate_inverse() {
            Some(rough) => rough.evaluate(&wanted)?,
            None => vec![vec![f64::NAN; points.len()]; axes],
        };
        let mut newton = NewtonSolver::new(self, &wanted, &starts);
        newton.run(self.iterations);
        let lost: Vec<usize> = (0..points.len()).filter(|at| newton.state[*at] == State::Failed).collect();
        if !lost.is_empty() && axes <= 2 {
            let grid = grid.get_or_insert_with(|| self.sample_start_grid());
            newton.restart(&lost, grid);
            newton.run(self.iterations);
        }
        let (mut pixels, mut rooms) = (vec![Vec::with_capacity(points.len()); axes], Vec::with_capacity(points.len()));
        newton.finish(&mut pixels, &mut rooms);
        Ok((pixels, rooms))
    }

    /// Coordinates whose differences are distances: on the sky those of a vector.
    fn to_metric(&self, world: &[f64]) -> Vec<f64> {
        let Some((longitude, latitude, [turn, rise])) = self.sky else { return world.to_vec() };
        let ((sin_lon, cos_lon), (sin, cos)) =
            ((world[longitude] * turn).to_radians().sin_cos(), (world[latitude] * rise).to_radians().sin_cos());
        let others =
            world.iter().enumerate().filter(|(axis, _)| *axis != longitude && *axis != latitude).map(|(_, value)| *value);
        [cos * cos_lon, cos * sin_lon, sin].into_iter().chain(others).collect()
    }

    /// Pixels of a grid over the extent, with the places of their world coordinates.
    fn sample_start_grid(&self) -> Vec<(Vec<f64>, Vec<f64>)> {
        let Some(extent) = self.pixel_range() else { return Vec::new() };
        let share = |at: usize| (at as f64 + 0.5) / START_GRID_POINTS as f64;
        let place = |(low, high): &(f64, f64), at: usize| low + (high - low) * share(at);
        let count = START_GRID_POINTS.pow(extent.len().min(2) as u32);
        let first = self.image_axes().map_or(0, |[x, _]| x);
        let columns: Vec<Vec<f64>> = extent
            .iter()
            .enumerate()
            .map(|(axis, interval)| {
                (0..count)
                    .map(|n| place(interval, if axis == first { n % START_GRID_POINTS } else { n / START_GRID_POINTS }))
                    .collect()
            })
            .collect();
        let slices: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
        let world = self.forward.evaluate(&slices).unwrap_or_default();
        let row = |columns: &[Vec<f64>], at: usize| columns.iter().map(|column| column[at]).collect::<Vec<f64>>();
        (0..count).map(|at| (row(&columns, at), self.to_metric(&row(&world, at)))).collect()
    }

    /// Computes the distance of a point from its goal: on the sky east and north, in the unit of the axes.
    fn residual(&self, wanted: &[f64], found: &[f64], out: &mut [f64]) {
        for (place, (found, wanted)) in out.iter_mut().zip(found.iter().zip(wanted)) {
            *place = found - wanted;
        }
        if let Some((longitude, latitude, [turn, rise])) = self.sky {
            let [east, north] = sky_offset(
                [wanted[longitude] * turn, wanted[latitude] * rise],
                [found[longitude] * turn, found[latitude] * rise],
            );
            (out[longitude], out[latitude]) = (east / turn, north / rise);
        }
    }

    /// The size of the numbers that a coordinate is rounded as. That of one on the sky is at most a radian smaller.
    fn coordinate_magnitude(&self, wanted: &[f64], axis: usize) -> f64 {
        match self.sky {
            Some((longitude, latitude, units)) if axis == longitude || axis == latitude => {
                let own = units[usize::from(axis != longitude)];
                (wanted[longitude] * units[0] / own).abs().max((wanted[latitude] * units[1] / own).abs())
            }
            _ => wanted[axis].abs(),
        }
    }

    /// The faults that rounding alone may make: two units in the last place of each coordinate.
    fn rounding_tolerance(&self, wanted: &[f64], axis: usize) -> f64 {
        2.0 * f64::EPSILON * self.coordinate_magnitude(wanted, axis)
    }

    /// The size of the numbers that a coordinate is rounded as on the way. Positions come out of trigonometry, which rounds as
    /// numbers of the size of a radian.
    fn rounding_magnitude(&self, wanted: &[f64], axis: usize) -> f64 {
        let own = self.sky.and_then(|(longitude, latitude, units)| {
            [longitude, latitude].iter().zip(units).find(|(known, _)| **known == axis).map(|(_, unit)| unit)
        });
        let radian = own.map_or(0.0, |unit| 1f64.to_degrees() / unit);
        self.coordinate_magnitude(wanted, axis).max(radian)
    }

    /// Returns `true` if faults are those of rounding where no derivatives are: the number of a slit, for example, has none.
    fn is_at_target(&self, wanted: &[f64], faults: &[f64]) -> bool {
        faults.iter().enumerate().all(|(axis, fault)| fault.abs() <= 64.0 * f64::EPSILON * self.rounding_magnitude(wanted, axis))
    }

    /// Returns `true` if faults are those of rounding: of the coordinates and of numbers on the way, or by so little that no pixel
    /// changes.
    fn is_rounded(&self, wanted: &[f64], faults: &[f64], at: &[f64], derivatives: &[f64]) -> bool {
        let axes = at.len();
        (0..faults.len()).all(|axis| {
            let size = self.rounding_magnitude(wanted, axis);
            let row = derivatives.get(axis * axes..(axis + 1) * axes).unwrap_or(&[]);
            let step = |x: &f64| STEP_TOLERANCE.max(64.0 * f64::EPSILON * x.abs());
            let moved: f64 = row.iter().zip(at).map(|(slope, x)| slope.abs() * step(x)).sum();
            faults[axis].abs() <= 64.0 * f64::EPSILON * size + moved.min(MAX_ROUNDING_DIFFERENCE * size.max(1.0))
        })
    }

    /// Returns `true` if faults are those of coordinates that were rounded, and of which there are more than pixel axes that they depend
    /// on: the rounding of one coordinate moves the pixel that another one gives. `slopes` are the inverse of the derivatives.
    fn is_rounded_contradiction(&self, wanted: &[f64], faults: &[f64], derivatives: &[f64], slopes: &[f64]) -> bool {
        let (worlds, axes) = (faults.len(), slopes.len() / faults.len().max(1));
        let is_used = |axis: &usize| derivatives.iter().skip(*axis).step_by(axes).any(|slope| *slope != 0.0);
        if worlds <= (0..axes).filter(is_used).count() {
            return false;
        }
        let rounding = |axis: usize| 64.0 * f64::EPSILON * self.rounding_magnitude(wanted, axis);
        let steps = slopes.chunks(worlds).map(|row| {
            let moved: f64 = row.iter().enumerate().map(|(axis, slope)| slope.abs() * rounding(axis)).sum();
            moved.clamp(STEP_TOLERANCE, MAX_SHARED_STEP)
        });
        let steps: Vec<f64> = steps.collect();
        (0..worlds).all(|axis| {
            let row = derivatives.get(axis * axes..(axis + 1) * axes).unwrap_or(&[]);
            faults[axis].abs() <= rounding(axis) + row.iter().zip(&steps).map(|(slope, step)| slope.abs() * step).sum::<f64>()
        })
    }
}

/// The iteration of some points. Lists have a number for each axis of a point, point after point.
///
/// With more world axes than pixel axes each step is that of least squares.
struct NewtonSolver<'w> {
    wcs: &'w Wcs,
    /// Number of the pixel axes.
    axes: usize,
    /// Number of the world axes.
    worlds: usize,
    target: Vec<f64>,
    current: Vec<f64>,
    previous: Vec<f64>,
    /// Derivatives of the world coordinates.
    derivatives: Vec<f64>,
    /// Inverse of the derivatives.
    slopes: Vec<f64>,
    /// The length of the last step.
    step: Vec<f64>,
    has_jacobian: Vec<bool>,
    halvings: Vec<u8>,
    state: Vec<State>,
    tolerance: Vec<f64>,
}

impl<'w> NewtonSolver<'w> {
    fn new(wcs: &'w Wcs, world: &[&[f64]], starts: &[Vec<f64>]) -> Self {
        let (axes, worlds, count) = (starts.len(), world.len(), starts.first().map_or(0, Vec::len));
        let rows = |columns: &[&[f64]]| (0..count).flat_map(|at| columns.iter().map(move |c| c[at])).collect::<Vec<f64>>();
        let starts: Vec<&[f64]> = starts.iter().map(Vec::as_slice).collect();
        let (wanted, at) = (rows(world), rows(&starts));
        let state = at.chunks(axes).zip(wanted.chunks(worlds)).map(|(x, wanted)| {
            let is_good = x.iter().chain(wanted).all(|number| number.is_finite());
            if is_good { State::Active } else { State::Failed }
        });
        let state = state.collect();
        let before = at.clone();
        Self {
            wcs,
            axes,
            worlds,
            target: wanted,
            current: at,
            previous: before,
            derivatives: vec![0.0; count * worlds * axes],
            slopes: vec![0.0; count * axes * worlds],
            step: vec![f64::INFINITY; count],
            has_jacobian: vec![false; count],
            halvings: vec![0; count],
            state,
            tolerance: vec![EDGE_TOLERANCE.0; count],
        }
    }

    /// The world coordinates that a point has to reach.
    fn goal(&self, point: usize) -> &[f64] {
        &self.target[point * self.worlds..(point + 1) * self.worlds]
    }

    /// Starts points again from the places of a grid that are nearest.
    fn restart(&mut self, lost: &[usize], grid: &[(Vec<f64>, Vec<f64>)]) {
        let axes = self.axes;
        for point in lost {
            let wanted = self.goal(*point);
            if wanted.iter().any(|number| !number.is_finite()) {
                continue;
            }
            let wanted = self.wcs.to_metric(wanted);
            let mut best = (f64::INFINITY, None);
            for (pixel, place) in grid {
                let far = place.iter().zip(&wanted).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
                if far < best.0 {
                    best = (far, Some(pixel));
                }
            }
            if let Some(pixel) = best.1 {
                self.current[point * axes..(point + 1) * axes].copy_from_slice(pixel);
                self.previous[point * axes..(point + 1) * axes].copy_from_slice(pixel);
                (self.state[*point], self.step[*point], self.has_jacobian[*point]) = (State::Active, f64::INFINITY, false);
                self.halvings[*point] = 0;
            }
        }
    }

    /// World coordinates of some points, each moved along an axis; axis after axis.
    fn evaluate_points(&self, points: &[usize], moved: Option<(usize, f64)>) -> Vec<Vec<f64>> {
        let by = |axis: usize| moved.filter(|(along, _)| *along == axis).map_or(0.0, |(_, by)| by);
        let columns: Vec<Vec<f64>> =
            (0..self.axes).map(|axis| points.iter().map(|p| self.current[p * self.axes + axis] + by(axis)).collect()).collect();
        let slices: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
        self.wcs.forward.evaluate(&slices).unwrap_or_default()
    }

    /// The faults of some points, point after point.
    fn residuals(&self, points: &[usize], moved: Option<(usize, f64)>) -> Vec<f64> {
        let (worlds, world) = (self.worlds, self.evaluate_points(points, moved));
        let mut faults = vec![f64::NAN; points.len() * worlds];
        let mut found = vec![f64::NAN; worlds];
        for (n, point) in points.iter().enumerate() {
            found.iter_mut().zip(&world).for_each(|(place, column)| *place = column[n]);
            self.wcs.residual(self.goal(*point), &found, &mut faults[n * worlds..(n + 1) * worlds]);
        }
        faults
    }

    fn run(&mut self, iterations: usize) {
        let started: Vec<usize> = (0..self.state.len()).filter(|at| self.state[*at] == State::Active).collect();
        for _ in 0..iterations {
            let active: Vec<usize> = (0..self.state.len()).filter(|at| self.state[*at] == State::Active).collect();
            if active.is_empty() {
                break;
            }
            let faults = self.residuals(&active, None);
            self.update_jacobian(&active, &faults);
            for (n, point) in active.iter().enumerate() {
                self.step_point(*point, &faults[n * self.worlds..(n + 1) * self.worlds]);
            }
        }
        let open: Vec<usize> = started.into_iter().filter(|at| self.state[*at] != State::Converged).collect();
        self.accept_rounded_contradictions(&open);
    }

    /// Ends the iteration of points: those whose coordinates contradict each other by their rounding alone have converged.
    fn accept_rounded_contradictions(&mut self, open: &[usize]) {
        if open.is_empty() {
            return;
        }
        let (axes, worlds, faults) = (self.axes, self.worlds, self.residuals(open, None));
        for (point, faults) in open.iter().zip(faults.chunks(worlds)) {
            let matrix = point * worlds * axes..(point + 1) * worlds * axes;
            let (derivatives, slopes) = (&self.derivatives[matrix.clone()], &self.slopes[matrix]);
            let is_rounded = self.wcs.is_rounded_contradiction(self.goal(*point), faults, derivatives, slopes);
            self.state[*point] = if is_rounded { State::Converged } else { State::Failed };
        }
    }

    /// Takes derivatives at the points that need them.
    fn update_jacobian(&mut self, active: &[usize], faults: &[f64]) {
        let (axes, worlds) = (self.axes, self.worlds);
        let is_due = |(n, point): &(usize, &usize)| {
            !self.has_jacobian[**point] && faults[n * worlds..(n + 1) * worlds].iter().all(|fault| fault.is_finite())
        };
        let (places, points): (Vec<usize>, Vec<usize>) =
            active.iter().enumerate().filter(is_due).map(|(n, point)| (n, *point)).unzip();
        if points.is_empty() {
            return;
        }
        for axis in 0..axes {
            let there = self.residuals(&points, Some((axis, DERIVATIVE_STEP)));
            let mut back: Option<Vec<f64>> = None;
            for (n, place) in places.iter().enumerate() {
                for row in 0..worlds {
                    let here = faults[place * worlds + row];
                    let mut slope = (there[n * worlds + row] - here) / DERIVATIVE_STEP;
                    if !slope.is_finite() {
                        // At the edge of the domain, the slope is taken in the other direction.
                        let back = back.get_or_insert_with(|| self.residuals(&points, Some((axis, -DERIVATIVE_STEP))));
                        slope = (here - back[n * worlds + row]) / DERIVATIVE_STEP;
                    }
                    self.derivatives[(points[n] * worlds + row) * axes + axis] = slope;
                }
                let column = |row: usize| (points[n] * worlds + row) * axes + axis;
                // A label, such as the number of a slit, has no values next to it: the pixel stays where it is on that axis.
                if (0..worlds).any(|row| !self.derivatives[column(row)].is_finite()) {
                    (0..worlds).for_each(|row| self.derivatives[column(row)] = 0.0);
                }
            }
        }
        for (n, point) in points.iter().enumerate() {
            let range = point * worlds * axes..(point + 1) * worlds * axes;
            let is_inverted = invert_derivatives(&self.derivatives[range.clone()], &mut self.slopes[range], worlds, axes);
            if is_inverted {
                self.has_jacobian[*point] = true;
            } else if self.wcs.is_at_target(self.goal(*point), &faults[places[n] * worlds..(places[n] + 1) * worlds]) {
                self.state[*point] = State::Converged;
            } else {
                self.state[*point] = State::Failed;
            }
        }
    }

    /// Moves a point by one step, or ends its iteration.
    fn step_point(&mut self, point: usize, faults: &[f64]) {
        let (axes, worlds) = (self.axes, self.worlds);
        if self.state[point] != State::Active {
            return;
        }
        let matrix = point * worlds * axes..(point + 1) * worlds * axes;
        let (slopes, derivatives) = (&self.slopes[matrix.clone()], &self.derivatives[matrix]);
        let step: Vec<f64> =
            slopes.chunks(worlds).map(|row| -row.iter().zip(faults).map(|(slope, fault)| slope * fault).sum::<f64>()).collect();
        let length = step.iter().fold(0.0, |most: f64, x| if x.is_nan() { f64::NAN } else { most.max(x.abs()) });
        let range = point * axes..(point + 1) * axes;
        let is_worse = !length.is_finite() || length > 2.0 * self.step[point];
        if is_worse && self.step[point].is_finite() {
            // Back half of the way.
            self.halvings[point] += 1;
            if self.halvings[point] > 30 {
                self.state[point] = State::Failed;
                return;
            }
            for (at, before) in self.current[range.clone()].iter_mut().zip(&self.previous[range]) {
                *at = (*at + before) / 2.0;
            }
            self.has_jacobian[point] = false;
            return;
        }
        if !length.is_finite() {
            self.state[point] = State::Failed;
            return;
        }
        let wanted = self.goal(point);
        let is_exact = (0..worlds).all(|axis| faults[axis].abs() <= self.wcs.rounding_tolerance(wanted, axis));
        // Distance that rounding of the coordinates alone moves the pixel.
        let noise = slopes.chunks(worlds).map(|row| {
            row.iter().enumerate().map(|(axis, slope)| slope.abs() * self.wcs.rounding_tolerance(wanted, axis)).sum::<f64>()
        });
        let noise = noise.fold(0.0, f64::max);
        let is_still = length <= SMALLEST || (length > self.step[point] / 2.0 && length <= STEP_TOLERANCE.max(4.0 * noise));
        // If derivatives are nearly zero or enormous, a small step does not mean a small fault.
        if is_exact || (is_still && self.wcs.is_rounded(wanted, faults, &self.current[range.clone()], derivatives)) {
            self.tolerance[point] = (4.0 * noise).clamp(EDGE_TOLERANCE.0, EDGE_TOLERANCE.1);
            self.state[point] = State::Converged;
            return;
        }
        self.previous[range.clone()].copy_from_slice(&self.current[range.clone()]);
        self.current[range].iter_mut().zip(&step).for_each(|(at, step)| *at += step);
        // Derivatives hardly change over a small step.
        self.has_jacobian[point] = length < 0.1 && !is_still;
        self.step[point] = length;
    }

    fn finish(self, pixels: &mut [Vec<f64>], rooms: &mut Vec<f64>) {
        for (point, state) in self.state.iter().enumerate() {
            let row = &self.current[point * self.axes..(point + 1) * self.axes];
            for (column, x) in pixels.iter_mut().zip(row) {
                column.push(if *state == State::Converged { *x } else { f64::NAN });
            }
        }
        rooms.extend(self.tolerance);
    }
}

/// The inverse of derivatives, row by row; that of least squares if there are more rows than columns. False if there is none.
///
/// A column without derivatives, as the number of a slit has, gets a row of zeros: the pixel stays where it is on that axis.
fn invert_derivatives(derivatives: &[f64], out: &mut [f64], rows: usize, columns: usize) -> bool {
    if rows == columns && invert_matrix(&mut derivatives.to_vec(), out, columns) {
        return true;
    }
    let is_flat = |column: usize| derivatives.iter().skip(column).step_by(columns).all(|slope| *slope == 0.0);
    let flat = (0..columns).filter(|column| is_flat(*column)).count();
    if rows < columns || (rows == columns && flat == 0) || flat == columns {
        return false;
    }
    // Rows of one length, since units differ.
    let weights: Vec<f64> = derivatives
        .chunks(columns)
        .map(|row| row.iter().map(|slope| slope * slope).sum::<f64>())
        .map(|square| if square > 0.0 { 1.0 / square } else { 0.0 })
        .collect();
    let at = |row: usize, column: usize| derivatives[row * columns + column];
    let mut normal = vec![0.0; columns * columns];
    for (n, place) in normal.iter_mut().enumerate() {
        let (i, j) = (n / columns, n % columns);
        *place = weights.iter().enumerate().map(|(row, weight)| weight * at(row, i) * at(row, j)).sum();
        if i == j && is_flat(i) {
            *place = 1.0;
        }
    }
    let mut inverse = vec![0.0; columns * columns];
    if !invert_matrix(&mut normal, &mut inverse, columns) {
        return false;
    }
    for (n, place) in out.iter_mut().enumerate() {
        let (i, row) = (n / rows, n % rows);
        *place = weights[row] * (0..columns).map(|j| inverse[i * columns + j] * at(row, j)).sum::<f64>();
    }
    out.iter().all(|slope| slope.is_finite())
}

/// The inverse of a matrix, which is used up; false for one that has none.
fn invert_matrix(matrix: &mut [f64], out: &mut [f64], n: usize) -> bool {
    if let ([a, b, c, d], 2) = (&*matrix, n) {
        let determinant = a * d - b * c;
        let found = [d / determinant, -b / determinant, -c / determinant, a / determinant];
        out.copy_from_slice(&found);
        return found.iter().all(|x| x.is_finite());
    }
    out.fill(0.0);
    (0..n).for_each(|i| out[i * n + i] = 1.0);
    for pivot in 0..n {
        let best = (pivot..n).max_by(|a, b| matrix[a * n + pivot].abs().total_cmp(&matrix[b * n + pivot].abs())).unwrap_or(pivot);
        for column in 0..n {
            matrix.swap(pivot * n + column, best * n + column);
            out.swap(pivot * n + column, best * n + column);
        }
        let scale = matrix[pivot * n + pivot];
        if scale == 0.0 || !scale.is_finite() {
            return false;
        }
        for column in 0..n {
            matrix[pivot * n + column] /= scale;
            out[pivot * n + column] /= scale;
        }
        for row in (0..n).filter(|row| *row != pivot) {
            let factor = matrix[row * n + pivot];
            for column in 0..n {
                matrix[row * n + column] -= factor * matrix[pivot * n + column];
                out[row * n + column] -= factor * out[pivot * n + column];
            }
        }
    }
    out.iter().all(|x| x.is_finite())
}

#[cfg(test)]
mod tests {
    use crate::wcs::{Frame, PipelineStep, Wcs, WcsOptions};
    use crate::{Polynomial, PolynomialBasis, SelectorKey, Transform, WcsLimits};

    /// Numbers from -1 to 1.
    fn random(state: &mut u64) -> f64 {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    /// The most that a coordinate of a pixel that is returned differs from the one that was asked for, and how many are returned.
    fn worst(transform: Transform, state: &mut u64) -> (f64, usize) {
        let steps = vec![
            PipelineStep { frame: Frame::unknown_frame("pixel"), transform: Some(transform) },
            PipelineStep { frame: Frame::unknown_frame("world"), transform: None },
        ];
        let wcs = Wcs::new("", steps, None, Some(vec![40, 40]), &WcsLimits::default()).unwrap();
        let column = |state: &mut u64| (0..100).map(|_| 19.5 + 19.5 * random(state)).collect::<Vec<f64>>();
        let (x, y) = (column(state), column(state));
        let world = wcs.forward().evaluate(&[&x, &y]).unwrap();
        let pixels = wcs.world_to_pixel(&[&world[0], &world[1]], WcsOptions::default().with_bounding_box(false)).unwrap();
        let found = wcs.forward().evaluate(&[&pixels[0], &pixels[1]]).unwrap();
        let (mut worst, mut count) = (0.0f64, 0);
        for at in (0..x.len()).filter(|at| pixels[0][*at].is_finite()) {
            count += 1;
            for (found, world) in found.iter().zip(&world) {
                let off = (found[at] - world[at]).abs() / world[at].abs().max(1.0);
                worst = worst.max(if off.is_nan() { f64::INFINITY } else { off });
            }
        }
        (worst, count)
    }

    #[test]
    fn returned_pixels_map_back_to_coordinates() {
        let mut state = 5;
        let polynomial = |degree: usize, size: f64, state: &mut u64| {
            let columns = degree + 1;
            let terms: Vec<f64> = (0..columns * columns)
                .map(|n| if n / columns + n % columns <= degree { size * random(state) } else { 0.0 })
                .collect();
            Transform::polynomial(
                Polynomial::bivariate(PolynomialBasis::Power, &terms, columns, [None, None], &WcsLimits::default()).unwrap(),
            )
        };
        let both = || Transform::remap(vec![0, 1, 0, 1], 2).unwrap();
        let turn = |angle: f64| {
            let (sin, cos) = angle.sin_cos();
            Transform::matrix(vec![cos, -sin, sin, cos], vec![0.3, -0.2]).unwrap()
        };
        let function = |name: &str| Transform::function(name).unwrap();
        let mut returned = 0;
        for case in 0..60 {
            let parts = match case % 6 {
                // All coordinates are on a line.
                0 => vec![
                    both(),
                    Transform::parallel(vec![Transform::constant(2.5, 2), polynomial(2, 1.0, &mut state)]),
                    turn(0.7),
                ],
                1 => vec![both(), Transform::parallel(vec![polynomial(4, 1.0, &mut state), polynomial(4, 1.0, &mut state)])],
                2 => vec![
                    turn(random(&mut state)),
                    both(),
                    Transform::parallel(vec![polynomial(4, 1e-3, &mut state), polynomial(4, 1e-3, &mut state)]),
                    Transform::parallel(vec![function("sin"), function("exp")]),
                ],
                3 => vec![Transform::parallel(vec![function("exp"), function("exp")]), turn(0.4)],
                4 => vec![Transform::matrix(vec![1.0, 1.0, 1.0, 1.0 + 1e-15], vec![0.0; 2]).unwrap()],
                _ => vec![both(), Transform::parallel(vec![polynomial(1, 1.0, &mut state), polynomial(1, 1.0, &mut state)])],
            };
            let (off, count) = worst(Transform::chain(parts).unwrap(), &mut state);
            assert!(off < 1e-8, "case {case}: {off:e} of {count}");
            returned += count;
        }
        assert!(returned > 1000, "{returned}");
    }

    /// Coordinates of a transform of pixels without a box, whose inverse is given.
    fn with_given_inverse(forward: Transform, inverse: Transform) -> Wcs {
        let steps = vec![
            PipelineStep { frame: Frame::unknown_frame("pixel"), transform: Some(forward.with_inverse(inverse)) },
            PipelineStep { frame: Frame::unknown_frame("world"), transform: None },
        ];
        Wcs::new("", steps, None, None, &WcsLimits::default()).unwrap()
    }

    fn pixels_of(wcs: &Wcs, world: &[&[f64]]) -> Vec<Vec<f64>> {
        wcs.world_to_pixel(world, WcsOptions::default()).unwrap()
    }

    /// The rule of the exact inverse where numbers of axes differ: a pixel counts only if its forward value is the position.
    #[test]
    fn more_world_axes_are_all_compared() {
        // Three coordinates of two pixel axes, as a spectrum along a slit has. The given inverse is a little off.
        let matrix = || Transform::matrix(vec![0.1, 0.02, -0.01, 0.2], vec![0.3, 2.0]).unwrap();
        let copies = Transform::remap(vec![0, 1, 0], 2).unwrap();
        let forward = Transform::chain(vec![copies, Transform::parallel(vec![matrix(), Transform::scale(3e4)])]);
        let (sin, near) = (Transform::function("sin").unwrap(), matrix().inverse().unwrap());
        let forward = Transform::chain(vec![
            forward.unwrap(),
            Transform::parallel(vec![sin, Transform::identity(1), Transform::identity(1)]),
        ])
        .unwrap();
        let back = Transform::chain(vec![Transform::remap(vec![0, 1], 3).unwrap(), near]).unwrap();
        let wcs = with_given_inverse(forward, back);
        let (x, y) = ([0.5, -1.0, 2.0], [0.3, 0.7, -0.4]);
        let world = wcs.forward().evaluate(&[&x, &y]).unwrap();
        let found = pixels_of(&wcs, &[&world[0], &world[1], &world[2]]);
        for at in 0..x.len() {
            assert!((found[0][at] - x[at]).abs() < 1e-9 && (found[1][at] - y[at]).abs() < 1e-9, "{found:?}");
        }
        // The third coordinate contradicts the others.
        let other: Vec<f64> = world[2].iter().map(|z| z + 1.0).collect();
        assert!(pixels_of(&wcs, &[&world[0], &world[1], &other]).iter().flatten().all(|x| x.is_nan()));
    }

    #[test]
    fn fewer_world_axes_need_given_inverse() {
        // One coordinate for two pixel axes: rows of three pixels, one after the other.
        let forward = Transform::ravel(vec![3, 3], true).unwrap();
        let wcs = with_given_inverse(forward.clone(), forward.inverse().unwrap());
        let found = pixels_of(&wcs, &[&[0.0, 5.0, 7.0]]);
        assert_eq!(wcs.forward().evaluate(&[&found[0], &found[1]]).unwrap(), [[0.0, 5.0, 7.0]]);
        let wrong = Transform::chain(vec![Transform::shift(1.0), forward.inverse().unwrap()]).unwrap();
        assert!(pixels_of(&with_given_inverse(forward, wrong), &[&[1.0]]).iter().flatten().all(|x| x.is_nan()));
    }

    /// Tier: first. The files of NIRSpec: the third axis of pixels is the number of a slit, and the given inverse is a little off.
    #[test]
    fn label_axis_keeps_its_start() {
        let of_slit = |scale: f64| {
            let matrix = Transform::matrix(vec![0.1 * scale, 0.02, -0.01, 0.2], vec![0.3, 2.0]).unwrap();
            let curve = Transform::parallel(vec![Transform::function("sinh").unwrap(), Transform::identity(1)]);
            Transform::parallel(vec![Transform::chain(vec![matrix, curve]).unwrap(), Transform::identity(1)])
        };
        let cases = vec![(SelectorKey::Label(3.0), of_slit(1.0)), (SelectorKey::Label(7.0), of_slit(2.0))];
        let forward = Transform::selector(Transform::remap(vec![2], 3).unwrap(), cases, f64::NAN).unwrap();
        let pixels: [&[f64]; 3] = [&[0.5, -1.0, 2.0], &[0.3, 0.7, -0.4], &[3.0, 7.0, 7.0]];
        let world = forward.evaluate(&pixels).unwrap();
        let near = Transform::parallel(vec![Transform::constant(0.4, 1), Transform::constant(0.2, 1), Transform::identity(1)]);
        let found = pixels_of(&with_given_inverse(forward, near), &[&world[0], &world[1], &world[2]]);
        for (found, wanted) in found.iter().zip(pixels) {
            assert!(found.iter().zip(wanted).all(|(found, wanted)| (found - wanted).abs() < 1e-9), "{found:?}, not {wanted:?}");
        }
    }

    /// Tier: first. Coordinates that another program rounded contradict each other in the last places: VISP of DKIST has a time for
    /// each position of its slit.
    #[test]
    fn rounded_coordinates_do_not_contradict() {
        let place = Transform::matrix(vec![0.05, 0.001, -0.001, 0.03], vec![-9e5, 4e5]).unwrap();
        let both = Transform::parallel(vec![place.clone(), Transform::scale(12.0)]);
        let forward = Transform::chain(vec![Transform::remap(vec![0, 1, 0], 2).unwrap(), both]).unwrap();
        let rough = Transform::chain(vec![Transform::remap(vec![0, 1], 3).unwrap(), place.inverse().unwrap()]).unwrap();
        let (x, y) = ([10.0, 57.25, 99.5], [3.0, 800.5, 411.0]);
        let world = forward.evaluate(&[&x, &y]).unwrap();
        let wcs = with_given_inverse(forward, rough);
        let off = |by: f64| world[0].iter().map(|value| value + by).collect::<Vec<f64>>();
        let found = pixels_of(&wcs, &[&off(5e-9), &world[1], &world[2]]);
        for at in 0..x.len() {
            assert!((found[0][at] - x[at]).abs() < 1e-6 && (found[1][at] - y[at]).abs() < 1e-6, "{found:?}");
        }
        assert!(pixels_of(&wcs, &[&off(1e-3), &world[1], &world[2]]).iter().flatten().all(|x| x.is_nan()));
    }

    #[test]
    fn flat_axis_keeps_its_start() {
        // The second axis chooses a row, and so has no derivatives; the given inverse of the first one is a little off.
        let row = Transform::ravel(vec![1, 4], true).unwrap();
        let copies = Transform::remap(vec![0, 0, 1], 2).unwrap();
        let steps =
            Transform::chain(vec![Transform::parallel(vec![Transform::scale(0.0), Transform::identity(1)]), row]).unwrap();
        let forward =
            Transform::chain(vec![copies, Transform::parallel(vec![Transform::function("sinh").unwrap(), steps])]).unwrap();
        let wcs = with_given_inverse(forward, Transform::identity(2));
        let found = pixels_of(&wcs, &[&[0.3f64.sinh(), 0.5f64.sinh()], &[2.0, 3.0]]);
        assert!((found[0][0] - 0.3).abs() < 1e-9 && (found[0][1] - 0.5).abs() < 1e-9, "{found:?}");
        assert_eq!(found[1], [2.0, 3.0]);
    }
}
