//! Choice of a codec for a block: a rule that can be stated, on a sample of its bytes.

use super::BlockHint;
use crate::bytes::{SourceRef, read_vec};
use crate::codec::{CodecId, EncodeOptions, encode};
use crate::error::Result;

/// Bytes sampled at each of three places.
const SAMPLE_SIZE: u64 = 256 << 10;
/// A block with fewer bytes is not worth a codec.
const MIN_COMPRESSED_SIZE: u64 = 4096;

/// Chooses a codec for a block, from 256 KiB at its start, its middle and its end:
///
/// - `lz4` if the sample shrinks to nine tenths or less, because it can be sliced and nearly every library reads it;
/// - `blsc` (the same after a shuffle of bytes), which fewer libraries read, if the sample shrinks to seven tenths
///   or less and to three quarters or less of what `lz4` makes of it;
/// - none otherwise, so that noise stays uncompressed and can be viewed and sliced in place. Nor for less than 4 KiB.
///
/// # Errors
/// Returns an error if the block cannot be read.
pub fn choose(data: &SourceRef, hint: Option<&BlockHint>) -> Result<Option<CodecId>> {
    let len = data.len();
    if len < MIN_COMPRESSED_SIZE {
        return Ok(None);
    }
    let item = hint.map_or(1, |hint| hint.item.max(1));
    let limits = crate::Limits::default();
    let mut sample = Vec::new();
    let mut places = vec![0];
    if len > 3 * SAMPLE_SIZE {
        places.extend([len / 2, len - SAMPLE_SIZE]);
    }
    let most = if len > 3 * SAMPLE_SIZE { SAMPLE_SIZE } else { len };
    for at in places {
        let at = at / item * item;
        sample.extend(read_vec(&**data, at, most.min(len - at), &limits)?);
    }
    let mut options = EncodeOptions::default();
    options.item_size = usize::try_from(item).unwrap_or(1);
    options.total_len = Some(sample.len() as u64);
    let shrunk = |name: &[u8; 4]| encode(CodecId(*name), &sample, &options).map(|stored| stored.len());
    let (whole, lz4) = (sample.len(), shrunk(b"lz4\0")?);
    if item > 1 {
        let blosc = shrunk(b"blsc")?;
        if blosc * 10 <= whole * 7 && blosc * 4 <= lz4 * 3 {
            return Ok(Some(CodecId(*b"blsc")));
        }
    }
    Ok((lz4 * 10 <= whole * 9).then_some(CodecId(*b"lz4\0")))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::bytes::MemorySource;

    fn chosen(bytes: Vec<u8>, item: u64) -> Option<String> {
        let hint = BlockHint { item, row: None, is_float: false, fills_block: false };
        choose(&(Arc::new(MemorySource::new(bytes, "sample")) as SourceRef), Some(&hint)).unwrap().map(|id| id.to_string())
    }

    /// Numbers between 0 and 1 that nothing foretells.
    fn random() -> impl Iterator<Item = f64> {
        let mut state = 88_172_645_463_325_252u64;
        std::iter::repeat_with(move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1u64 << 53) as f64
        })
    }

    #[test]
    fn chosen_codec_depends_on_content() {
        let noise = random().take(100_000).flat_map(|x| ((x * 10.0 + 100.0) as f32).to_le_bytes()).collect();
        assert_eq!(chosen(noise, 4), None, "noise in every bit of the fraction");
        let labels = random().take(100_000).flat_map(|x| [(x * 3.0) as u8 * 100; 8]).collect();
        assert_eq!(chosen(labels, 1).as_deref(), Some("lz4"), "long runs");
        let counts = (0..100_000u32).flat_map(|n| (n * 7 + 1_000_000).to_le_bytes()).collect();
        assert_eq!(chosen(counts, 4).as_deref(), Some("blsc"), "only the low bytes change");
        assert_eq!(chosen(vec![0; 1000], 4), None, "too little");
        assert_eq!(chosen(vec![0; 5 << 20], 8).as_deref(), Some("lz4"), "zeros, of which lz4 keeps next to nothing");
    }
}
