//! Tiles of GZIP_1 and GZIP_2.

use crate::bytes;
use crate::error::{Error, Result};

/// Unpacks a gzip tile of `count` values; gives back how many bytes each has.
pub(super) fn decode_gzip_tile(packed: &[u8], count: usize, shuffled: bool) -> Result<(Vec<u8>, usize)> {
    let most = count as u64 * 8;
    let mut out = bytes::gunzipped(packed, most)?;
    if out.len() as u64 > most || count == 0 || !out.len().is_multiple_of(count) {
        return Err(Error::malformed(format!("{} bytes for {count} values", out.len())));
    }
    let width = out.len() / count;
    if shuffled {
        let planes: Vec<&[u8]> = out.chunks_exact(count).collect();
        out = (0..count).flat_map(|i| planes.iter().filter_map(move |plane| plane.get(i).copied())).collect();
    }
    Ok((out, width))
}
