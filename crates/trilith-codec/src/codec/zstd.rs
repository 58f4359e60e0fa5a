//! `zstd`: Zstandard frames (RFC 8878), one or several in a row.
//!
//! The output is one frame that states its length, since Python's one-shot functions read only the first. With
//! [`EncodeOptions::frames`] the data is cut into frames of at most 4 MiB instead, which are encoded, decoded and
//! sliced in parallel. Several frames that state their lengths are read that way, whichever program wrote them.
//!
//! Readers: Python asdf with the package `asdf-compression`, asdf-cxx.

use std::io::{Read, Write};
use std::sync::Arc;

use zstd::stream::{read, write};

use super::chunks::{Chunk, Chunked, Coding};
use super::maybe_chunked::Framed;
use super::parallel_encode::{Pieces, encode_each, piece_len, put};
use super::stored_reader::{Input, file_byte, from_library};
use super::stream::{Opens, Pull};
use super::{Encode, EncodeOptions, level_in, told_right};
use crate::bytes::{SourceRef, read_vec};
use crate::error::{Error, Result};
use crate::interrupt::check;
use crate::limits::Limits;

const MAGIC: u32 = 0xfd2f_b528;
/// Frames of other programs' data, which decoders pass over: sixteen magics from here on.
const SKIPPED: u32 = 0x184d_2a50;
/// Decoded bytes of a frame, if there are several: at most this many are written.
const FRAME: u64 = 4 << 20;
/// Bytes that are encoded before it is asked whether to go on: one block of a frame, for which the highest levels
/// take some 50 ms.
const STEP: usize = 128 << 10;
/// The highest level at which a whole frame takes less than that by far.
const QUICK: i32 = 9;

/// The decoded bytes.
pub(super) fn decode(stored: SourceRef, len: u64, limits: &Limits) -> Result<SourceRef> {
    Ok(Arc::new(Framed::new(look, Box::new(Zstd), stored, len, limits)))
}

/// Decodes what is in memory; how many bytes that gave, if it is valid.
#[allow(clippy::unnecessary_wraps, reason = "without the feature it fails")]
pub(super) fn unpack(bytes: &[u8], into: &mut [u8]) -> Result<Option<usize>> {
    Ok(zstd::bulk::decompress_to_buffer(bytes, into).ok())
}

/// Encodes what is in memory, to the end of `out`.
pub(super) fn pack(level: i32, bytes: &[u8], out: &mut Vec<u8>) -> std::io::Result<()> {
    out.extend_from_slice(&zstd::bulk::compress(bytes, level)?);
    Ok(())
}

/// Opens frames.
struct Zstd;

impl Opens for Zstd {
    fn word(&self) -> Option<&'static str> {
        Some("zstd")
    }

    fn open(&self, stored: &SourceRef, _len: u64, _limits: &Limits) -> Result<Box<dyn Pull>> {
        let state = read::Decoder::with_buffer(Input::new(stored.clone())).map_err(|error| from_library(error, stored, 0))?;
        Ok(Box::new(Stream { stored: stored.clone(), state }))
    }

    fn whole(&self, stored: &SourceRef, into: &mut [u8]) -> Option<Result<()>> {
        let bytes = stored.view(0, stored.len())?;
        // The other path handles what this one refuses, and reports place and reason.
        match zstd::bulk::decompress_to_buffer(bytes, into) {
            Ok(n) if n == into.len() => Some(Ok(())),
            _ => None,
        }
    }
}

/// Frames being decoded in order.
struct Stream {
    stored: SourceRef,
    state: read::Decoder<'static, Input>,
}

impl Pull for Stream {
    fn pull(&mut self, into: &mut [u8]) -> Result<usize> {
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
struct Frames;

/// Returns the decoder by chunks if the first frame states a length that is less than that of the block. If it
/// states the whole length, only its header is read.
fn look(stored: &SourceRef, len: u64, limits: &Limits) -> Result<Option<Box<dyn Chunked>>> {
    let head = read_vec(&**stored, 0, stored.len().min(18), limits)?;
    let magic = head.get(..4).map_or(0, number) as u32;
    let several = match frame_header(&head) {
        Some((_, stated, _)) if magic == MAGIC => stated < len,
        _ => magic & !15 == SKIPPED,
    };
    Ok(several.then(|| Box::new(Frames) as Box<dyn Chunked>))
}

impl Chunked for Frames {
    fn coding(&self) -> Coding {
        Coding::Chunks("zstd", 0)
    }

    fn locate(&self, stored: &SourceRef, at: u64, before: &Chunk, limits: &Limits) -> Result<Option<(Chunk, u64)>> {
        let mut at = at;
        loop {
            let left = stored.len().saturating_sub(at);
            if left == 0 {
                return Ok(None);
            }
            let fail = |message: String| Error::malformed(message).at_byte(file_byte(stored, at));
            let head = read_vec(&**stored, at, left.min(18), limits)?;
            let magic = number(head.get(..4).ok_or_else(|| fail("the zstd frame is cut short".into()))?) as u32;
            if magic & !15 == SKIPPED {
                let len = number(head.get(4..8).ok_or_else(|| fail("the zstd frame is cut short".into()))?);
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
                return Err(Limits::exceeded("ratio", limits.ratio, what).at_byte(file_byte(stored, at)));
            }
            let start = before.decoded.0.saturating_add(before.decoded.1);
            return Ok(Some((
                Chunk { index: before.index.wrapping_add(1), stored: (at, bytes), decoded: (start, decoded) },
                end,
            )));
        }
    }

    fn decode(&self, _chunk: &Chunk, bytes: &[u8], into: &mut [u8]) -> Result<()> {
        let len = into.len();
        match zstd::bulk::decompress_to_buffer(bytes, into) {
            Ok(n) if n == len => Ok(()),
            Ok(n) => Err(Error::malformed(format!("decodes to {n} bytes, expected {len}"))),
            Err(error) => Err(Error::malformed(format!("no valid zstd data: {error}"))),
        }
    }
}

/// A little-endian number of up to eight bytes.
fn number(bytes: &[u8]) -> u64 {
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
    let stated = number(bytes.get(from..from + size)?) + if size == 2 { 256 } else { 0 };
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
        let head = number(&head);
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
pub(super) fn encoder(options: &EncodeOptions) -> Result<Box<dyn Encode>> {
    let level = level_in("zstd", options, zstd::compression_level_range(), zstd::DEFAULT_COMPRESSION_LEVEL)?;
    if options.frames {
        return Ok(Box::new(Several { pieces: Pieces::new(piece_len(options, FRAME)?), level, any: false }));
    }
    Ok(Box::new(One { state: Some(frame(level, options.total)?), total: options.total, written: 0 }))
}

/// An encoder of one frame, which states its length if that is known.
fn frame(level: i32, total: Option<u64>) -> Result<write::Encoder<'static, Vec<u8>>> {
    let mut state = write::Encoder::new(Vec::new(), level).map_err(failed)?;
    state.set_pledged_src_size(total).map_err(failed)?;
    state.include_contentsize(true).map_err(failed)?;
    Ok(state)
}

/// Compresses a piece into one frame.
fn compress(level: i32, piece: &[u8]) -> Result<Vec<u8>> {
    if level <= QUICK {
        return zstd::bulk::compress(piece, level).map_err(failed);
    }
    let mut state = frame(level, Some(piece.len() as u64))?;
    for part in piece.chunks(STEP) {
        check()?;
        state.write_all(part).map_err(failed)?;
    }
    state.finish().map_err(failed)
}

#[allow(clippy::needless_pass_by_value, reason = "it is what map_err hands over")]
fn failed(error: std::io::Error) -> Error {
    Error::unsupported(format!("zstd failed to encode: {error}"))
}

/// Writes one frame.
struct One {
    /// Gone after the end.
    state: Option<write::Encoder<'static, Vec<u8>>>,
    total: Option<u64>,
    written: u64,
}

impl Encode for One {
    fn write(&mut self, data: &[u8], out: &mut dyn Write) -> Result<()> {
        self.written += data.len() as u64;
        if self.total.is_some_and(|total| total < self.written) {
            return told_right(self.total, self.written);
        }
        let Some(state) = &mut self.state else { return Err(Error::invalid_input("the encoder is finished")) };
        // So that encoded data do not pile up, and a cancelled caller does not wait for long.
        for part in data.chunks(STEP) {
            check()?;
            state.write_all(part).map_err(failed)?;
            put(out, state.get_ref())?;
            state.get_mut().clear();
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut dyn Write) -> Result<()> {
        told_right(self.total, self.written)?;
        let Some(state) = self.state.take() else { return Ok(()) };
        put(out, &state.finish().map_err(failed)?)
    }
}

/// Writes frames of whole rows if a row fits.
struct Several {
    pieces: Pieces,
    level: i32,
    any: bool,
}

impl Several {
    fn flush(level: i32, pieces: &[&[u8]], out: &mut dyn Write) -> Result<()> {
        encode_each(pieces.to_vec(), out, |piece| compress(level, piece))
    }
}

impl Encode for Several {
    fn write(&mut self, data: &[u8], out: &mut dyn Write) -> Result<()> {
        self.any |= !data.is_empty();
        let level = self.level;
        self.pieces.write(data, |pieces| Self::flush(level, pieces, out))
    }

    fn finish(&mut self, out: &mut dyn Write) -> Result<()> {
        let level = self.level;
        self.pieces.finish(|pieces| Self::flush(level, pieces, out))?;
        if self.any { Ok(()) } else { Self::flush(level, &[&[]], out) }
    }
}
