//! A first look at a large plane: some of its rows, which cost little to read.

use serde_json::{Value, json};
use trilith::bytes::AccessCost;
use trilith::{Array, Index, Result};

use super::arrays::array_of;
use super::{ViewerRequest, ViewerSession};
use crate::PixelRegion;

/// Smallest number of elements of a plane that has a first look.
const MIN_SAMPLED_ELEMENTS: u64 = 1 << 25;
/// Maximum number of rows.
const MAX_ROWS: u64 = 256;
/// Maximum number of stored bytes: for a local file, and for one that is fetched.
const MAX_COST_LOCAL: u64 = 256 << 20;
const MAX_COST_REMOTE: u64 = 24 << 20;
/// Number of stored bytes that are fetched unasked.
const MAX_EAGER_FETCH: u64 = 64 << 20;
/// Ranges that are this near are read together.
const MERGE_GAP: u64 = 16 << 10;

/// A sample of the rows of a plane.
pub(super) struct RowSample {
    /// The rows.
    pub(super) array: Array,
    /// The rows.
    pub(super) rows: Index,
    /// Share of the rows of the plane that are in the sample.
    pub(super) row_share: f64,
}

impl RowSample {
    /// The first look at a plane: rows that are equally far apart.
    pub(super) fn new(array: &Array) -> Result<Self> {
        let all = PixelRegion::full(array)?;
        let most = if is_remote(array) { MAX_COST_REMOTE } else { MAX_COST_LOCAL };
        let mut rows = all.height.min(MAX_ROWS);
        loop {
            let found = Self::from_spaced_rows(array, all.height, rows)?;
            if rows <= 1 || found.array.read_cost(MERGE_GAP)? <= most {
                return Ok(found);
            }
            rows /= 2;
        }
    }

    fn from_spaced_rows(array: &Array, height: u64, rows: u64) -> Result<Self> {
        let step = height.div_ceil(rows.max(1)).max(1);
        let number = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        let rows = Index::Slice { start: Some(number(step / 2)), stop: None, step: number(step) };
        let array = array.slice([rows])?;
        let taken = array.shape().first().copied().unwrap_or(0);
        Ok(Self { row_share: taken as f64 / height.max(1) as f64, rows, array })
    }
}

/// Returns `true` if reading an array fetches it from elsewhere.
fn is_remote(array: &Array) -> bool {
    array.source().access().cost == AccessCost::Request
}

/// `look`: the share of its rows that a first look at a plane takes, 1 if there is none; what all of it costs to read,
/// and whether that is done unasked.
pub(super) fn handle_look(session: &ViewerSession, request: &ViewerRequest) -> Result<Value> {
    let (_, array) = array_of(session, request)?;
    if array.shape().len() != 2 || array.element_count() < MIN_SAMPLED_ELEMENTS {
        return Ok(json!({"share": 1.0, "unasked": true, "bytes": array.nbytes()}));
    }
    let (found, all) = (RowSample::new(&array)?, array.read_cost(MERGE_GAP)?);
    let unasked = !is_remote(&array) || all <= MAX_EAGER_FETCH;
    // If a few rows cost as much as all of them, the few are not worth it.
    let is_cheap = found.array.read_cost(MERGE_GAP)?.saturating_mul(2) <= all;
    Ok(json!({"share": if is_cheap { found.row_share } else { 1.0 }, "unasked": unasked, "bytes": all}))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]

    use super::*;

    #[test]
    fn rows_are_equally_spaced() {
        for height in [1u64, 2, 255, 256, 257, 1000, 16_384] {
            let numbers: Vec<u32> = (0..height).flat_map(|row| [row as u32; 3]).collect();
            let array = Array::from_slice(&numbers, &[height, 3]).unwrap();
            let look = RowSample::new(&array).unwrap();
            let rows = look.array.shape()[0];
            assert!(rows <= MAX_ROWS && rows * 2 >= height.min(MAX_ROWS), "{height} rows: {rows}");
            assert_eq!(look.row_share, rows as f64 / height as f64);
            let first: Vec<u32> = look.array.load::<u32>().unwrap().iter().step_by(3).copied().collect();
            assert!(first.windows(2).all(|pair| pair[1] - pair[0] == first.get(1).unwrap_or(&0) - first[0]), "{height}");
        }
    }
}
