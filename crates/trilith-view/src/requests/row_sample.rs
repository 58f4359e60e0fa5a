//! A first look at a large plane: some of its rows, which cost little to read.

use serde_json::{Value, json};
use trilith::bytes::Cost;
use trilith::{Array, Index, Result};

use super::arrays::array_of;
use super::{Request, Session};
use crate::Region;

/// Smallest number of elements of a plane that has a first look.
const LARGE: u64 = 1 << 25;
/// Maximum number of rows.
const ROWS: u64 = 256;
/// Maximum number of stored bytes: for a local file, and for one that is fetched.
const COST: u64 = 256 << 20;
const COST_FETCHED: u64 = 24 << 20;
/// Number of stored bytes that are fetched unasked.
const UNASKED: u64 = 64 << 20;
/// Ranges that are this near are read together.
const GAP: u64 = 16 << 10;

/// A sample of the rows of a plane.
pub(super) struct Look {
    /// The rows.
    pub(super) array: Array,
    /// The rows.
    pub(super) rows: Index,
    /// Share of the rows of the plane that are in the sample.
    pub(super) share: f64,
}

impl Look {
    /// The first look at a plane: rows that are equally far apart.
    pub(super) fn of(array: &Array) -> Result<Self> {
        let all = Region::all(array)?;
        let most = if is_fetched(array) { COST_FETCHED } else { COST };
        let mut rows = all.height.min(ROWS);
        loop {
            let found = Self::rows(array, all.height, rows)?;
            if rows <= 1 || found.array.cost(GAP)? <= most {
                return Ok(found);
            }
            rows /= 2;
        }
    }

    fn rows(array: &Array, height: u64, rows: u64) -> Result<Self> {
        let step = height.div_ceil(rows.max(1)).max(1);
        let number = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        let rows = Index::Range { start: Some(number(step / 2)), stop: None, step: number(step) };
        let array = array.slice([rows])?;
        let taken = array.shape().first().copied().unwrap_or(0);
        Ok(Self { share: taken as f64 / height.max(1) as f64, rows, array })
    }
}

/// Returns `true` if reading an array fetches it from elsewhere.
fn is_fetched(array: &Array) -> bool {
    array.source().access().cost == Cost::Request
}

/// `look`: the share of its rows that a first look at a plane takes, 1 if there is none; what all of it costs to read,
/// and whether that is done unasked.
pub(super) fn look(session: &Session, request: &Request) -> Result<Value> {
    let (_, array) = array_of(session, request)?;
    if array.shape().len() != 2 || array.len() < LARGE {
        return Ok(json!({"share": 1.0, "unasked": true, "bytes": array.nbytes()}));
    }
    let (found, all) = (Look::of(&array)?, array.cost(GAP)?);
    let unasked = !is_fetched(&array) || all <= UNASKED;
    // If a few rows cost as much as all of them, the few are not worth it.
    let is_cheap = found.array.cost(GAP)?.saturating_mul(2) <= all;
    Ok(json!({"share": if is_cheap { found.share } else { 1.0 }, "unasked": unasked, "bytes": all}))
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
            let look = Look::of(&array).unwrap();
            let rows = look.array.shape()[0];
            assert!(rows <= ROWS && rows * 2 >= height.min(ROWS), "{height} rows: {rows}");
            assert_eq!(look.share, rows as f64 / height as f64);
            let first: Vec<u32> = look.array.load::<u32>().unwrap().iter().step_by(3).copied().collect();
            assert!(first.windows(2).all(|pair| pair[1] - pair[0] == first.get(1).unwrap_or(&0) - first[0]), "{height}");
        }
    }
}
