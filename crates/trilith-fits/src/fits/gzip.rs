//! Tiles of GZIP_1 and GZIP_2.

use crate::bytes;
use crate::error::{Error, Result};

/// Unpacks a GZIP_1 tile of `count` values; gives back how many bytes each has.
pub(super) fn decode_gzip_tile(packed: &[u8], count: usize) -> Result<(Vec<u8>, usize)> {
    let most = count as u64 * 8;
    let out = bytes::gunzipped(packed, most)?;
    if out.len() as u64 > most || count == 0 || !out.len().is_multiple_of(count) {
        return Err(Error::malformed(format!("{} bytes for {count} values", out.len())));
    }
    let width = out.len() / count;
    Ok((out, width))
}

/// Does the same as [`decode_gzip_tile`] for a GZIP_2 tile: the first bytes of all values, then the second ones, and so on.
pub(super) fn decode_shuffled_gzip_tile(packed: &[u8], count: usize) -> Result<(Vec<u8>, usize)> {
    let (shuffled, width) = decode_gzip_tile(packed, count)?;
    let planes: Vec<&[u8]> = shuffled.chunks_exact(count).collect();
    let out = (0..count).flat_map(|i| planes.iter().filter_map(move |plane| plane.get(i).copied())).collect();
    Ok((out, width))
}
