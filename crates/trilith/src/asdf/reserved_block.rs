//! Headers of blocks that other processes write into, before and after.

use super::block::{Block, fill_fields};

/// Returns the offset of the fields of a block, and their bytes while it is written.
pub(crate) fn unsealed(block: &Block) -> (u64, Vec<u8>) {
    fields(block, block.flags, block.checksum.as_deref())
}

/// Returns the offset of the fields of a complete block, and their bytes with its checksum.
pub(crate) fn sealed(block: &Block, checksum: &[u8; 16]) -> (u64, Vec<u8>) {
    fields(block, 0, Some(checksum))
}

fn fields(block: &Block, flags: u32, checksum: Option<&[u8]>) -> (u64, Vec<u8>) {
    let kind = (flags, block.compression, block.codes);
    let sizes = (block.allocated, block.used, block.data_size);
    let bytes = fill_fields(&block.generation.fields, block.header_size, kind, sizes, checksum);
    (block.data_offset - u64::from(block.header_size), bytes)
}
