//! Polynomials in one and two variables, in four bases.

use crate::{Error, Result, WcsLimits};

/// Points that are evaluated together.
const LANES: usize = 8;

/// Functions that a polynomial is a sum of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PolynomialBasis {
    /// Powers.
    Power,
    /// Chebyshev polynomials of the first kind.
    Chebyshev,
    /// Legendre polynomials.
    Legendre,
    /// Hermite polynomials of physicists: H₁ = 2x.
    Hermite,
}

/// A polynomial in one or two variables.
///
/// Row `i` of the coefficients belongs to the `i`th function of the first variable, and its column `j` to the `j`th
/// of the second variable. With one variable there is one row, of its functions.
#[derive(Debug, Clone, PartialEq)]
pub struct Polynomial {
    basis: PolynomialBasis,
    rows: Vec<Vec<f64>>,
    /// Factor and offset of each variable, which map its domain to its window.
    maps: Vec<(f64, f64)>,
}

/// An interval of a variable, and the one that it is mapped to before the functions are evaluated.
pub type DomainMap = ((f64, f64), (f64, f64));

impl Polynomial {
    /// Returns a polynomial of one variable.
    ///
    /// # Errors
    /// Returns [`Error::Limit`] for a degree above the limit, and [`Error::Invalid`] for no coefficients or an empty domain.
    pub fn univariate(basis: PolynomialBasis, coefficients: &[f64], map: Option<DomainMap>, limits: &WcsLimits) -> Result<Self> {
        Self::new(basis, vec![coefficients.to_vec()], &[map], limits)
    }

    /// Returns a polynomial of two variables: `columns` coefficients a row.
    ///
    /// For powers, only terms up to the degree of the first variable count: terms with `i + j` above it are left out, as the ASDF
    /// transform schemas define.
    ///
    /// # Errors
    /// Returns the errors of [`Polynomial::univariate`].
    pub fn bivariate(
        basis: PolynomialBasis,
        coefficients: &[f64],
        columns: usize,
        maps: [Option<DomainMap>; 2],
        limits: &WcsLimits,
    ) -> Result<Self> {
        let mut rows: Vec<Vec<f64>> = coefficients.chunks(columns.max(1)).map(<[f64]>::to_vec).collect();
        if basis == PolynomialBasis::Power {
            let count = rows.len();
            for (i, row) in rows.iter_mut().enumerate() {
                row.truncate(count - i);
            }
        }
        Self::new(basis, rows, &maps, limits)
    }

    fn new(basis: PolynomialBasis, rows: Vec<Vec<f64>>, maps: &[Option<DomainMap>], limits: &WcsLimits) -> Result<Self> {
        let degree = rows.len().max(rows.iter().map(Vec::len).max().unwrap_or(0)).saturating_sub(1);
        if degree > limits.degree {
            return Err(Error::Limit(format!("a polynomial of degree {degree} (at most {})", limits.degree)));
        }
        if rows.iter().all(Vec::is_empty) {
            return Err(Error::Invalid("a polynomial without coefficients".to_owned()));
        }
        let map = |map: &Option<DomainMap>| match map {
            None => Ok((1.0, 0.0)),
            Some((domain, window)) if domain == window => Ok((1.0, 0.0)),
            Some(((low, high), (to_low, to_high))) if high != low => {
                Ok(((to_high - to_low) / (high - low), (to_low * high - to_high * low) / (high - low)))
            }
            Some((domain, _)) => Err(Error::Invalid(format!("a polynomial with the empty domain {domain:?}"))),
        };
        Ok(Self { basis, rows, maps: maps.iter().map(map).collect::<Result<_>>()? })
    }

    /// Number of variables.
    pub fn input_count(&self) -> usize {
        self.maps.len()
    }

    /// Highest degree in one variable.
    pub fn degree(&self) -> usize {
        self.rows.len().max(self.rows.iter().map(Vec::len).max().unwrap_or(0)).saturating_sub(1)
    }

    /// Adds a multiple of the first variable, for polynomials of powers without a domain.
    pub(crate) fn add_term(&mut self, i: usize, j: usize, value: f64) {
        while self.rows.len() <= i {
            self.rows.push(Vec::new());
        }
        if let Some(row) = self.rows.get_mut(i) {
            if row.len() <= j {
                row.resize(j + 1, 0.0);
            }
            if let Some(term) = row.get_mut(j) {
                *term += value;
            }
        }
    }

    /// Writes the values at points into `out`; all slices have its length.
    pub(crate) fn evaluate_into(&self, variables: &[&[f64]], out: &mut [f64]) {
        let count = out.len();
        let mapped = |axis: usize| self.maps.get(axis).copied().unwrap_or((1.0, 0.0));
        let [x, y] = [variables.first(), variables.get(1)].map(|points| points.copied().unwrap_or(&[]));
        if self.basis == PolynomialBasis::Power {
            // With one variable there is one row, of its powers.
            let (rows, columns) =
                if self.maps.len() == 1 { ((&[][..], (1.0, 0.0)), (x, mapped(0))) } else { ((x, mapped(0)), (y, mapped(1))) };
            self.evaluate_power_basis(rows, columns, out);
            return;
        }
        let (fx, fy) = (self.degree() + 1, self.rows.iter().map(Vec::len).max().unwrap_or(0));
        let mut at_x = vec![0.0; fx];
        let mut at_y = vec![0.0; fy];
        for point in 0..count {
            let turned =
                |points: &[f64], axis: usize| points.get(point).map_or(f64::NAN, |at| at * mapped(axis).0 + mapped(axis).1);
            self.evaluate_basis_functions(turned(x, 0), &mut at_x);
            let value = if self.maps.len() == 1 {
                self.rows.first().map_or(0.0, |row| row.iter().zip(&at_x).map(|(term, f)| term * f).sum())
            } else {
                self.evaluate_basis_functions(turned(y, 1), &mut at_y);
                let row = |row: &Vec<f64>| row.iter().zip(&at_y).map(|(term, f)| term * f).sum::<f64>();
                self.rows.iter().zip(&at_x).map(|(terms, f)| f * row(terms)).sum()
            };
            if let Some(place) = out.get_mut(point) {
                *place = value;
            }
        }
    }

    /// Horner's scheme in the variables of rows and columns, for some points at a time, whose sums stay in registers.
    fn evaluate_power_basis(&self, rows: MappedPoints<'_>, columns: MappedPoints<'_>, out: &mut [f64]) {
        for (number, out) in out.chunks_mut(LANES).enumerate() {
            let (x, y) = (load_lanes(rows, number * LANES), load_lanes(columns, number * LANES));
            let mut terms = self.rows.iter().rev().skip_while(|row| row.is_empty());
            // A constant needs no variable, which may be NaN.
            let mut sums = terms.next().map_or([0.0; LANES], |row| horner(row, &y));
            for row in terms {
                if row.is_empty() {
                    sums.iter_mut().zip(&x).for_each(|(sum, x)| *sum *= x);
                } else {
                    let row = horner(row, &y);
                    sums.iter_mut().zip(&x).zip(&row).for_each(|((sum, x), row)| *sum = *sum * x + row);
                }
            }
            out.iter_mut().zip(sums).for_each(|(place, sum)| *place = sum);
        }
    }

    /// The functions of the basis at a place.
    fn evaluate_basis_functions(&self, x: f64, out: &mut [f64]) {
        for n in 0..out.len() {
            let before = |k: usize| n.checked_sub(k).and_then(|at| out.get(at)).copied().unwrap_or(0.0);
            let (one, two, m) = (before(1), before(2), n as f64 - 1.0);
            let value = match (n, self.basis) {
                (0, _) => 1.0,
                (1, PolynomialBasis::Hermite) => 2.0 * x,
                (1, _) => x,
                (_, PolynomialBasis::Power) => one * x,
                (_, PolynomialBasis::Chebyshev) => 2.0 * x * one - two,
                (_, PolynomialBasis::Legendre) => ((2.0 * m + 1.0) * x * one - m * two) / (m + 1.0),
                (_, PolynomialBasis::Hermite) => 2.0 * x * one - 2.0 * m * two,
            };
            if let Some(place) = out.get_mut(n) {
                *place = value;
            }
        }
    }
}

/// The points of a variable, with the factor and the offset that map its domain.
type MappedPoints<'p> = (&'p [f64], (f64, f64));

/// The mapped points from a place on; 0 where there is none.
fn load_lanes((points, (factor, offset)): MappedPoints<'_>, start: usize) -> [f64; LANES] {
    let rest = points.get(start..).unwrap_or(&[]);
    let mut lanes = [0.0; LANES];
    match rest.first_chunk::<LANES>() {
        Some(whole) => lanes = *whole,
        None => lanes.iter_mut().zip(rest).for_each(|(lane, x)| *lane = *x),
    }
    if (factor, offset) != (1.0, 0.0) {
        lanes.iter_mut().for_each(|x| *x = *x * factor + offset);
    }
    lanes
}

/// Horner's scheme in one variable.
fn horner(terms: &[f64], x: &[f64; LANES]) -> [f64; LANES] {
    let Some((highest, lower)) = terms.split_last() else { return [0.0; LANES] };
    let mut sums = [*highest; LANES];
    for term in lower.iter().rev() {
        sums.iter_mut().zip(x).for_each(|(sum, x)| *sum = *sum * x + term);
    }
    sums
}
