//! Headers of blocks that other processes write into, before and after.

use super::block::{Block, BlockHeaderValues, fill_fields};

/// Returns the offset of the fields of a block, and their bytes while it is written.
pub(crate) fn unsealed_fields(block: &Block) -> (u64, Vec<u8>) {
    encode_block_fields(block, block.flags, block.checksum.as_deref())
}

/// Returns the offset of the fields of a complete block, and their bytes with its checksum.
pub(crate) fn sealed_fields(block: &Block, checksum: &[u8; 16]) -> (u64, Vec<u8>) {
    encode_block_fields(block, 0, Some(checksum))
}

fn encode_block_fields(block: &Block, flags: u32, checksum: Option<&[u8]>) -> (u64, Vec<u8>) {
    let values = BlockHeaderValues {
        flags,
        compression: block.compression,
        codes: block.encoding_codes,
        allocated: block.allocated,
        used: block.used,
        data_size: block.data_size,
        checksum,
    };
    let bytes = fill_fields(&block.generation.fields, block.header_size, &values);
    (block.data_offset - u64::from(block.header_size), bytes)
}
