//! Reasons why there are no coordinates.

use std::fmt;

/// Reason why a coordinate system cannot be built or evaluated.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The description is valid, but uses something that this crate does not evaluate.
    Unsupported(String),
    /// The description contradicts itself.
    Invalid(String),
    /// The description needs more than the [`WcsLimits`] allow.
    Limit(String),
}

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// The error with the keyword that it is about.
    pub(crate) fn in_keyword(self, keyword: &str) -> Self {
        match self {
            Self::Unsupported(text) => Self::Unsupported(format!("{keyword}: {text}")),
            Self::Invalid(text) => Self::Invalid(format!("{keyword}: {text}")),
            Self::Limit(text) => Self::Limit(format!("{keyword}: {text}")),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsupported(text) | Self::Invalid(text) | Self::Limit(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for Error {}

/// Upper bounds for what a description may ask for.
///
/// ```
/// assert_eq!(trilith_wcs::WcsLimits::default().degree, 64);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct WcsLimits {
    /// Nodes of a transform, each use of a shared node counted.
    pub nodes: usize,
    /// Nodes above each other.
    pub depth: usize,
    /// Inputs or outputs of a transform.
    pub axes: usize,
    /// Degree of a polynomial in one variable.
    pub degree: usize,
    /// Terms of all polynomials together.
    pub terms: usize,
    /// Elements of a table.
    pub table: usize,
    /// Steps of an iteration.
    pub iterations: usize,
}

impl Default for WcsLimits {
    fn default() -> Self {
        Self { nodes: 200_000, depth: 64, axes: 32, degree: 64, terms: 100_000, table: 16 << 20, iterations: 40 }
    }
}
