//! `zstd`: Zstandard frames (RFC 8878), one or several in a row.
//!
//! The output is one frame that states its length, since Python's one-shot functions read only the first. With
//! [`EncodeOptions::multiple_frames`] the data is cut into frames of at most 4 MiB instead, which are encoded, decoded and
//! sliced in parallel. Several frames that state their lengths are read that way, whichever program wrote them.
//!
//! Readers: Python asdf with the package `asdf-compression`, asdf-cxx.

use std::io::{Read, Write};
use std::sync::Arc;

use zstd::stream::{read, write};

use super::chunks::{BlockChunk, ChunkedCodec, ExternalCodec};
use super::maybe_chunked::MaybeChunkedSource;
use super::parallel_encode::{PieceSplitter, encode_each, piece_len, write_all};
use super::stored_reader::{StoredReader, file_byte, from_library};
use super::stream::{PullDecoder, StreamCodec};
use super::{EncodeOptions, Encoder, check_level, check_total};
use crate::bytes::{SourceRef, read_vec};
use crate::error::{Error, Result};
use crate::interrupt::check;
use crate::limits::Limits;

const MAGIC: u32 = 0xfd2f_b528;
/// Frames of other programs' data, which decoders pass over: sixteen magics from here on.
const SKIPPABLE_MAGIC: u32 = 0x184d_2a50;
/// Decoded bytes of a frame, if there are several: at most this many are written.
const MAX_FRAME_LEN: u64 = 4 << 20;
/// Bytes that are encoded before it is asked whether to go on: one block of a frame, for which the highest levels
/// take some 50 ms.
const CANCEL_CHECK_BYTES: usize = 128 << 10;
/// The highest level at which a whole frame takes less than that by far.
const MAX_FAST_LEVEL: i32 = 9;

/// The decoded bytes.
pub(super) fn decode(stored: SourceRef, len: u64, limits: &Limits) -> Result<SourceRef> {
    Ok(Arc::new(MaybeChunkedSource::new(detect_chunks, Box::new(Zstd), stored, len, limits)))
}

/// Decodes what is in memory; how many bytes that gave, if it is valid.
#[allow(clippy::unnecessary_wraps, reason = "without the feature it fails")]
pub(super) fn decompress(bytes: &[u8], into: &mut [u8]) -> Result<Option<usize>> {
    Ok(zstd::bulk::decompress_to_buffer(bytes, into).ok())
}

/// Encodes what is in memory, to the end of `out`.
pub(super) fn compress_bulk(level: i32, bytes: &[u8], out: &mut Vec<u8>) -> std::io::Result<()> {
    out.extend_from_slice(&zstd::bulk::compress(bytes, level)?);
    Ok(())
}

/// Opens frames.
struct Zstd;

impl StreamCodec for Zstd {
    fn external_name(&self) -> Option<&'static str> {
        Some("zstd")
    }

    fn open_stream(&self, stored: &SourceRef, _len: u64, _limits: &Limits) -> Result<Box<dyn PullDecoder>> {
        let state =
            read::Decoder::with_buffer(StoredReader::new(stored.clone())).map_err(|error| from_library(error, stored, 0))?;
        Ok(Box::new(ZstdStream { stored: stored.clone(), state }))
    }

    fn decode_all(&self, stored: &SourceRef, into: &mut [u8]) -> Option<Result<()>> {
        let bytes = stored.view(0, stored.len())?;
        // The other path handles what this one refuses, and reports place and reason.
        match zstd::bulk::decompress_to_buffer(bytes, into) {
            Ok(n) if n == into.len() => Some(Ok(())),
            _ => None,
        }
    }
}

/// Frames being decoded in order.
struct ZstdStream {
    stored: SourceRef,
    state: read::Decoder<'static, StoredReader>,
}

impl PullDecoder for ZstdStream {
    fn decode_next(&mut self, into: &mut [u8]) -> Result<usize> {
        let mut filled = 0;
        while let Some(rest) = into.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match self.state.read(rest) {
                Ok(0) => break,
                Ok(n) => filled += n,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => {
                    let at = self.position();
                    return Err(from_library(error, &self.stored, at).context("decoding zstd"));
                }
            }
        }
        Ok(filled)
    }

    fn position(&self) -> u64 {
        self.state.get_ref().position()
    }
}

/// Several frames that state their lengths.
struct ZstdFrames;

/// Returns the decoder by chunks if the first frame states a length that is less than that of the block. If it
/// states the whole length, only its header is read.
fn detect_chunks(stored: &SourceRef, len: u64, limits: &Limits) -> Result<Option<Box<dyn ChunkedCodec>>> {
    let head = read_vec(&**stored, 0, stored.len().min(18), limits)?;
    let magic = head.get(..4).map_or(0, decode_le_number) as u32;
    let several = match frame_header(&head) {
        Some((_, stated, _)) if magic == MAGIC => stated < len,
        _ => magic & !15 == SKIPPABLE_MAGIC,
    };
    Ok(several.then(|| Box::new(ZstdFrames) as Box<dyn ChunkedCodec>))
}

impl ChunkedCodec for ZstdFrames {
    fn coding(&self) -> ExternalCodec {
        ExternalCodec::Chunks("zstd", 0)
    }

    fn locate_chunk(
        &self,
        stored: &SourceRef,
        at: u64,
        before: &BlockChunk,
        limits: &Limits,
    ) -> Result<Option<(BlockChunk, u64)>> {
        let mut at = at;
        loop {
            let left = stored.len().saturating_sub(at);
            if left == 0 {
                return Ok(None);
            }
            let fail = |message: String| Error::malformed(message).at_byte(file_byte(stored, at));
            let head = read_vec(&**stored, at, left.min(18), limits)?;
            let magic = decode_le_number(head.get(..4).ok_or_else(|| fail("the zstd frame is cut short".into()))?) as u32;
            if magic & !15 == SKIPPABLE_MAGIC {
                let len = decode_le_number(head.get(4..8).ok_or_else(|| fail("the zstd frame is cut short".into()))?);
                at = at.saturating_add(8 + len);
                continue;
            }
            if magic != MAGIC {
                return Err(fail(format!("no zstd frame: it begins with {magic:08x}")));
            }
            let (header, decoded, sum) =
                frame_header(&head).ok_or_else(|| fail("the zstd frame does not state its length".into()))?;
            let end = frame_end(stored, at + header, sum)?;
            let bytes = end - at;
            if decoded > bytes.saturating_mul(limits.ratio) {
                let what = format!("a zstd frame claims to decode from {bytes} to {decoded} bytes");
                return Err(Limits::exceeded_error("ratio", limits.ratio, what).at_byte(file_byte(stored, at)));
            }
            let start = before.decoded.0.saturating_add(before.decoded.1);
            return Ok(Some((
                BlockChunk { index: before.index.wrapping_add(1), stored: (at, bytes), decoded: (start, decoded) },
                end,
            )));
        }
    }

    fn decode_chunk(&self, _chunk: &BlockChunk, bytes: &[u8], into: &mut [u8]) -> Result<()> {
        let len = into.len();
        match zstd::bulk::decompress_to_buffer(bytes, into) {
            Ok(n) if n == len => Ok(()),
            Ok(n) => Err(Error::malformed(format!("decodes to {n} bytes, expected {len}"))),
            Err(error) => Err(Error::malformed(format!("no valid zstd data: {error}"))),
        }
    }
}

/// A little-endian number of up to eight bytes.
fn decode_le_number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |all, byte| all << 8 | u64::from(*byte))
}

/// Reads a frame header (RFC 8878, 3.1.1.1). Returns its length, the decoded length that it states, and
/// whether a checksum follows the blocks.
fn frame_header(bytes: &[u8]) -> Option<(u64, u64, bool)> {
    let flags = *bytes.get(4)?;
    let single = flags & 0x20 != 0;
    let dictionary = [0, 1, 2, 4].get(usize::from(flags & 3)).copied()?;
    let size = match flags >> 6 {
        0 if single => 1,
        0 => return None,
        n => 1 << n,
    };
    let from = 5 + usize::from(!single) + dictionary;
    let stated = decode_le_number(bytes.get(from..from + size)?) + if size == 2 { 256 } else { 0 };
    Some(((from + size) as u64, stated, flags & 4 != 0))
}

/// Returns the end of a frame whose blocks begin at `at`: every block states its length.
fn frame_end(stored: &SourceRef, mut at: u64, sum: bool) -> Result<u64> {
    loop {
        let left = stored.len().saturating_sub(at);
        let cut = || Error::malformed("the zstd frame is cut short").at_byte(file_byte(stored, at));
        if left < 3 {
            return Err(cut());
        }
        let mut head = [0; 3];
        stored.read_at(at, &mut head)?;
        let head = decode_le_number(&head);
        let (last, kind, size) = (head & 1 == 1, head >> 1 & 3, head >> 3);
        let bytes = 3 + if kind == 1 { 1 } else { size };
        let after = if last && sum { 4 } else { 0 };
        if left < bytes + after {
            return Err(cut());
        }
        at += bytes + after;
        if last {
            return Ok(at);
        }
    }
}

/// A writer of one frame, or of several; levels as the library has them, 3 unless given.
pub(super) fn new_encoder(options: &EncodeOptions) -> Result<Box<dyn Encoder>> {
    let level = check_level("zstd", options, zstd::compression_level_range(), zstd::DEFAULT_COMPRESSION_LEVEL)?;
    if options.multiple_frames {
        return Ok(Box::new(MultiFrameEncoder {
            pieces: PieceSplitter::new(piece_len(options, MAX_FRAME_LEN)?),
            level,
            any: false,
        }));
    }
    Ok(Box::new(SingleFrameEncoder {
        state: Some(new_frame_encoder(level, options.total_len)?),
        total: options.total_len,
        written: 0,
    }))
}

/// An encoder of one frame, which states its length if that is known.
fn new_frame_encoder(level: i32, total: Option<u64>) -> Result<write::Encoder<'static, Vec<u8>>> {
    let mut state = write::Encoder::new(Vec::new(), level).map_err(encode_error)?;
    state.set_pledged_src_size(total).map_err(encode_error)?;
    state.include_contentsize(true).map_err(encode_error)?;
    Ok(state)
}

/// Compresses a piece into one frame.
fn compress_frame(level: i32, piece: &[u8]) -> Result<Vec<u8>> {
    if level <= MAX_FAST_LEVEL {
        return zstd::bulk::compress(piece, level).map_err(encode_error);
    }
    let mut state = new_frame_encoder(level, Some(piece.len() as u64))?;
    for part in piece.chunks(CANCEL_CHECK_BYTES) {
        check()?;
        state.write_all(part).map_err(encode_error)?;
    }
    state.finish().map_err(encode_error)
}

#[allow(clippy::needless_pass_by_value, reason = "it is what map_err hands over")]
fn encode_error(error: std::io::Error) -> Error {
    Error::unsupported(format!("zstd failed to encode: {error}"))
}

/// Writes one frame.
struct SingleFrameEncoder {
    /// Gone after the end.
    state: Option<write::Encoder<'static, Vec<u8>>>,
    total: Option<u64>,
    written: u64,
}

impl Encoder for SingleFrameEncoder {
    fn write(&mut self, data: &[u8], out: &mut dyn Write) -> Result<()> {
        self.written += data.len() as u64;
        if self.total.is_some_and(|total| total < self.written) {
            return check_total(self.total, self.written);
        }
        let Some(state) = &mut self.state else { return Err(Error::invalid_input("the encoder is finished")) };
        // So that encoded data do not pile up, and a cancelled caller does not wait for long.
        for part in data.chunks(CANCEL_CHECK_BYTES) {
            check()?;
            state.write_all(part).map_err(encode_error)?;
            write_all(out, state.get_ref())?;
            state.get_mut().clear();
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut dyn Write) -> Result<()> {
        check_total(self.total, self.written)?;
        let Some(state) = self.state.take() else { return Ok(()) };
        write_all(out, &state.finish().map_err(encode_error)?)
    }
}

/// Writes frames of whole rows if a row fits.
struct MultiFrameEncoder {
    pieces: PieceSplitter,
    level: i32,
    any: bool,
}

impl MultiFrameEncoder {
    fn encode_pieces(level: i32, pieces: &[&[u8]], out: &mut dyn Write) -> Result<()> {
        encode_each(pieces.to_vec(), out, |piece| compress_frame(level, piece))
    }
}

impl Encoder for MultiFrameEncoder {
    fn write(&mut self, data: &[u8], out: &mut dyn Write) -> Result<()> {
        self.any |= !data.is_empty();
        let level = self.level;
        self.pieces.push_data(data, |pieces| Self::encode_pieces(level, pieces, out))
    }

    fn finish(&mut self, out: &mut dyn Write) -> Result<()> {
        let level = self.level;
        self.pieces.finish(|pieces| Self::encode_pieces(level, pieces, out))?;
        if self.any { Ok(()) } else { Self::encode_pieces(level, &[&[]], out) }
    }
}
