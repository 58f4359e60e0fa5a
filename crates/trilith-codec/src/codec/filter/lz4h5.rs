//! The lz4 of HDF5 (filter 32004): blocks with their lengths in front, in big-endian order.

use crate::error::{Error, Result};

/// Decodes at most `most` bytes.
pub(super) fn decode(bytes: &[u8], most: usize) -> Result<Vec<u8>> {
    let cut = || Error::malformed("the lz4 chunk is cut short");
    let (total, rest) = bytes.split_first_chunk::<8>().ok_or_else(cut)?;
    let (block, mut rest) = rest.split_first_chunk::<4>().ok_or_else(cut)?;
    let (total, block) = (u64::from_be_bytes(*total), u32::from_be_bytes(*block) as usize);
    let total = usize::try_from(total).ok().filter(|total| *total <= most);
    let total = total.ok_or_else(|| Error::malformed(format!("an lz4 chunk of more than {most} bytes")))?;
    let mut out = vec![0; total];
    for into in out.chunks_mut(block.max(1)) {
        let (size, behind) = rest.split_first_chunk::<4>().ok_or_else(cut)?;
        let (body, behind) = behind.split_at_checked(u32::from_be_bytes(*size) as usize).ok_or_else(cut)?;
        rest = behind;
        if body.len() == into.len() {
            into.copy_from_slice(body);
        } else if lz4_flex::block::decompress_into(body, into).ok() != Some(into.len()) {
            return Err(Error::malformed(format!("no valid lz4 data for {} bytes", into.len())));
        }
    }
    Ok(out)
}
