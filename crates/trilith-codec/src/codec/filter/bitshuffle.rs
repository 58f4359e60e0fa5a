//! The bitshuffle of HDF5 (filter 32008): bits of one weight together in blocks, which may be compressed.

use crate::bytes::to_usize;
use crate::codec::shuffle;
use crate::error::{Error, Result};

/// Bytes of a block if the arguments give no length.
const DEFAULT_BLOCK_LEN: usize = 8192;
/// Bytes of an element at most.
const MAX_ITEM_LEN: usize = 1 << 20;
/// Elements that are shuffled together at least.
const MIN_ELEMENTS: usize = 8;

/// Decodes at most `most` bytes. The arguments are those of the filter: two versions, bytes of an element, elements of a block,
/// the codec.
pub(super) fn decode(bytes: &[u8], arguments: &[u64], most: usize) -> Result<Vec<u8>> {
    let argument = |at: usize| arguments.get(at).copied().unwrap_or(0);
    let item = to_usize(argument(2))?.max(1);
    if item > MAX_ITEM_LEN {
        return Err(Error::unsupported(format!("bitshuffle of elements of {item} bytes")));
    }
    let codec = argument(4);
    if codec == 0 {
        let block = match to_usize(argument(3))? {
            0 => (DEFAULT_BLOCK_LEN / item / MIN_ELEMENTS * MIN_ELEMENTS).max(128),
            block => block,
        };
        return Ok(unshuffle(bytes, item, block.saturating_mul(item)));
    }
    let cut = || Error::malformed("the bitshuffle chunk is cut short");
    let (total, rest) = bytes.split_first_chunk::<8>().ok_or_else(cut)?;
    let (block, mut rest) = rest.split_first_chunk::<4>().ok_or_else(cut)?;
    let total = usize::try_from(u64::from_be_bytes(*total)).ok().filter(|total| *total <= most);
    let total = total.ok_or_else(|| Error::malformed(format!("a bitshuffle chunk of more than {most} bytes")))?;
    let block = (u32::from_be_bytes(*block) as usize).max(1);
    let mut out = vec![0; total];
    let shuffled = total / (item * MIN_ELEMENTS) * (item * MIN_ELEMENTS);
    let (blocks, tail) = out.split_at_mut(shuffled);
    let mut packed = Vec::new();
    for into in blocks.chunks_mut(block) {
        let (size, behind) = rest.split_first_chunk::<4>().ok_or_else(cut)?;
        let (body, behind) = behind.split_at_checked(u32::from_be_bytes(*size) as usize).ok_or_else(cut)?;
        rest = behind;
        packed.resize(into.len(), 0);
        if decompress_block(codec, body, &mut packed)? != Some(into.len()) {
            return Err(Error::malformed(format!("no valid data for {} bytes", into.len())));
        }
        shuffle::bit_unshuffle(item, &packed, into);
    }
    let left = rest.get(..tail.len()).ok_or_else(cut)?;
    tail.copy_from_slice(left);
    Ok(out)
}

/// Bytes that are shuffled and not compressed; fewer than eight elements at the end are as they were.
fn unshuffle(bytes: &[u8], item: usize, block: usize) -> Vec<u8> {
    let mut out = bytes.to_vec();
    let shuffled = bytes.len() / (item * MIN_ELEMENTS) * (item * MIN_ELEMENTS);
    let (from, to) = (bytes.get(..shuffled).unwrap_or(bytes), out.get_mut(..shuffled).unwrap_or_default());
    for (from, to) in from.chunks(block.max(1)).zip(to.chunks_mut(block.max(1))) {
        shuffle::bit_unshuffle(item, from, to);
    }
    out
}

#[allow(unused_variables, reason = "codecs may be left out of a build")]
fn decompress_block(codec: u64, bytes: &[u8], into: &mut [u8]) -> Result<Option<usize>> {
    match codec {
        #[cfg(feature = "lz4")]
        2 => Ok(lz4_flex::block::decompress_into(bytes, into).ok()),
        #[cfg(feature = "zstd")]
        3 => crate::codec::zstd::decompress(bytes, into),
        #[cfg(not(feature = "lz4"))]
        2 => Err(crate::codec::unsupported::missing_feature_error("lz4")),
        #[cfg(not(feature = "zstd"))]
        3 => Err(crate::codec::unsupported::missing_feature_error("zstd")),
        other => Err(Error::unsupported(format!(
            "cannot decode bitshuffle with the codec {other}: known are 2 (LZ4) and 3 (Zstandard)"
        ))),
    }
}
