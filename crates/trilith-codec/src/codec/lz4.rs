//! `lz4`: raw LZ4 blocks in the framing of Python asdf.
//!
//! The stored bytes are a sequence of sub-blocks: a `u32` big-endian count n, then n bytes, which
//! are a `u32` little-endian decoded length and one raw LZ4 block. Python writes sub-blocks of 4 MiB
//! decoded, any other length is read as well. Since the lengths can be hopped over, a slice decodes
//! only the sub-blocks that hold it, and these decode in parallel. Those that are written here are smaller,
//! so that a slice decodes less that it does not need; a match reaches back 64 KiB at most, so that this costs no space.
//!
//! The standard does not define `lz4`; the reference implementation does (`asdf/_compression.py`).
//! Readers: Python asdf, asdf-cxx, libasdf, asdf-rs.

use std::io::Write;
use std::ops::RangeInclusive;
use std::sync::Arc;

use super::chunks::{BlockChunk, ChunkedCodec, ChunkedSource, ExternalCodec};
use super::parallel_encode::{PieceSplitter, encode_each, piece_len};
use super::stored_reader::file_byte;
use super::{EncodeOptions, Encoder, no_level};
use crate::bytes::SourceRef;
use crate::error::{Error, Result};
use crate::limits::Limits;

/// Decoded bytes of a sub-block: about this number is written, more if a row has more. The fewer, the less is decoded in
/// vain for a slice, and the sooner a processor's own memory holds them.
const SUB_BLOCK: RangeInclusive<u64> = 256 << 10..=1 << 20;

/// Number of sub-blocks of a block, unless they must be small: looking for one hops over those before it.
const MAX_SUB_BLOCKS: u64 = 256;

/// A row of at most this number of bytes is not cut.
const MAX_WHOLE_ROW: u64 = 4 << 20;

/// The longest sub-block that the format can hold.
const MAX_SUB_BLOCK: u64 = 0x7e00_0000;

/// The decoded bytes.
pub(super) fn decode(stored: SourceRef, len: u64, limits: &Limits) -> Result<SourceRef> {
    Ok(Arc::new(ChunkedSource::new(Box::new(SubBlockDecoder), stored, len, limits)))
}

/// Reads sub-blocks.
struct SubBlockDecoder;

impl ChunkedCodec for SubBlockDecoder {
    fn coding(&self) -> ExternalCodec {
        // The decoded length is right before each.
        ExternalCodec::Chunks("lz4size", 4)
    }

    fn locate_chunk(
        &self,
        stored: &SourceRef,
        at: u64,
        before: &BlockChunk,
        limits: &Limits,
    ) -> Result<Option<(BlockChunk, u64)>> {
        let left = stored.len().saturating_sub(at);
        if left == 0 {
            return Ok(None);
        }
        let index = before.index.wrapping_add(1);
        let fail =
            |message: String| Error::malformed(message).at_byte(file_byte(stored, at)).context(format!("sub-block {index}"));
        if left < 8 {
            return Err(fail(format!("expected 8 bytes of lengths, found {left}")));
        }
        let mut lengths = [0; 8];
        stored.read_at(at, &mut lengths)?;
        let [a, b, c, d, e, f, g, h] = lengths;
        let (count, decoded) = (u64::from(u32::from_be_bytes([a, b, c, d])), u64::from(u32::from_le_bytes([e, f, g, h])));
        if count < 4 || count > left - 4 {
            return Err(fail(format!("stored length {count}, expected 4 to {}", left - 4)));
        }
        let bytes = count - 4;
        if decoded > bytes.saturating_mul(limits.lz4_ratio) {
            let what = format!("sub-block {index} claims to decode from {bytes} to {decoded} bytes");
            return Err(Limits::exceeded_error("lz4_ratio", limits.lz4_ratio, what).at_byte(file_byte(stored, at)));
        }
        let start = before.decoded.0.saturating_add(before.decoded.1);
        Ok(Some((BlockChunk { index, stored: (at + 8, bytes), decoded: (start, decoded) }, at + 4 + count)))
    }

    fn decode_chunk(&self, _chunk: &BlockChunk, bytes: &[u8], into: &mut [u8]) -> Result<()> {
        let len = into.len();
        match lz4_flex::block::decompress_into(bytes, into) {
            Ok(n) if n == len => Ok(()),
            Ok(n) => Err(Error::malformed(format!("decodes to {n} bytes, expected {len}"))),
            Err(error) => Err(Error::malformed(format!("no valid lz4 data: {error}"))),
        }
    }
}

/// Writes sub-blocks of whole rows if a row fits, else of whole items.
pub(super) struct Lz4Encoder {
    pieces: PieceSplitter,
}

/// A writer of sub-blocks.
pub(super) fn new_encoder(options: &EncodeOptions) -> Result<Box<dyn Encoder>> {
    no_level("lz4", options)?;
    let len = match options.rows {
        Some(rows) => by_rows(rows, options)?,
        None => {
            let about =
                options.total_len.unwrap_or(u64::MAX).div_ceil(MAX_SUB_BLOCKS).clamp(*SUB_BLOCK.start(), *SUB_BLOCK.end());
            piece_len(options, options.row_bytes.filter(|row| *row <= MAX_WHOLE_ROW).map_or(about, |row| row.max(about)))?
        }
    };
    Ok(Box::new(Lz4Encoder { pieces: PieceSplitter::new(len) }))
}

/// The bytes of this number of rows.
fn by_rows(rows: u64, options: &EncodeOptions) -> Result<usize> {
    let row = options.row_bytes.unwrap_or(options.item_size as u64).max(1);
    let len = rows.checked_mul(row).filter(|len| (1..=MAX_SUB_BLOCK).contains(len));
    let len = len.ok_or_else(|| {
        Error::invalid_input(format!("pieces of {rows} rows of {row} bytes: lz4 holds 1 to {MAX_SUB_BLOCK} bytes in each"))
            .hint(format!("take at most {} rows", (MAX_SUB_BLOCK / row).max(1)))
    })?;
    crate::bytes::to_usize(len)
}

impl Lz4Encoder {
    fn encode_pieces(pieces: &[&[u8]], out: &mut dyn Write) -> Result<()> {
        encode_each(pieces.to_vec(), out, |piece| {
            let mut bytes = vec![0; 8 + lz4_flex::block::get_maximum_output_size(piece.len())];
            let body = bytes.get_mut(8..).unwrap_or_default();
            let n = lz4_flex::block::compress_into(piece, body).map_err(|error| Error::unsupported(format!("lz4: {error}")))?;
            let [count, len] = [n + 4, piece.len()].map(|n| u32::try_from(n).unwrap_or(u32::MAX));
            bytes.truncate(8 + n);
            for (to, byte) in bytes.iter_mut().zip(count.to_be_bytes().into_iter().chain(len.to_le_bytes())) {
                *to = byte;
            }
            Ok(bytes)
        })
    }
}

impl Encoder for Lz4Encoder {
    fn write(&mut self, data: &[u8], out: &mut dyn Write) -> Result<()> {
        self.pieces.push_data(data, |pieces| Self::encode_pieces(pieces, out))
    }

    fn finish(&mut self, out: &mut dyn Write) -> Result<()> {
        self.pieces.finish(|pieces| Self::encode_pieces(pieces, out))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::bytes::{MemorySource, stored_ranges};
    use crate::codec::{CodecId, decoder, encode};

    proptest! {
        #[test]
        fn each_piece_has_so_many_rows(rows in 1..20u64, row in 1..50u64, count in 1..100u64) {
            let data: Vec<u8> = (0..rows * row * count / 3 + 1).map(|n| (n * 7 % 251) as u8).collect();
            let options = EncodeOptions { rows: Some(rows), row_bytes: Some(row), ..EncodeOptions::default() };
            let stored: SourceRef = Arc::new(MemorySource::new(encode(CodecId(*b"lz4\0"), &data, &options).unwrap(), "lz4"));
            let decoded = decoder(CodecId(*b"lz4\0"), stored, data.len() as u64, &Limits::default()).unwrap();
            let mut all = vec![0; data.len()];
            decoded.read_at(0, &mut all).unwrap();
            prop_assert_eq!(&all, &data);
            let piece = rows * row;
            for at in (0..data.len() as u64).step_by(piece as usize) {
                let end = (at + piece).min(data.len() as u64);
                let first = stored_ranges(&*decoded, at..at + 1).unwrap();
                prop_assert_eq!(&first, &stored_ranges(&*decoded, at..end).unwrap(), "it decodes as one piece");
                prop_assert!(end == data.len() as u64 || first != stored_ranges(&*decoded, end..end + 1).unwrap(), "and ends with its rows");
            }
        }
    }

    #[test]
    fn encoder_rejects_oversized_pieces() {
        let options = EncodeOptions { rows: Some(u64::MAX), row_bytes: Some(16), ..EncodeOptions::default() };
        assert!(new_encoder(&options).err().unwrap().to_string().contains("rows of 16 bytes"));
    }
}
