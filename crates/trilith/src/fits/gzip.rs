//! Tiles of GZIP_1 and GZIP_2.

use std::io::Read;

use flate2::read::MultiGzDecoder;

use crate::error::{Error, Result};

/// Unpacks a gzip tile of `count` values; gives back how many bytes each has.
pub(super) fn gunzipped(bytes: &[u8], count: usize, shuffled: bool) -> Result<(Vec<u8>, usize)> {
    let most = count as u64 * 8;
    let mut out = Vec::new();
    let read = MultiGzDecoder::new(bytes).take(most + 1).read_to_end(&mut out);
    read.map_err(|e| Error::malformed(format!("no valid gzip data: {e}")))?;
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
