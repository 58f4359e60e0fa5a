//! `lz4f`: LZ4 frames (the LZ4 frame format 1.6).
//!
//! Frames with linked blocks, which the Python package `lz4` writes unless told otherwise, are
//! decoded in order. Frames with independent blocks, which is what is written here, decode on all
//! cores and by slices: all blocks but the last are then as long as the frame says.
//!
//! Readers: Python asdf with the package `asdf-compression`.

use std::hash::Hasher as _;
use std::io::Write;
use std::sync::Arc;

use twox_hash::XxHash32;

use super::chunks::{BlockChunk, ChunkedCodec};
use super::maybe_chunked::MaybeChunkedSource;
use super::parallel_encode::{PieceSplitter, encode_each, write_all};
use super::stored_reader::file_byte;
use super::stream::{PullDecoder, StreamCodec};
use super::{EncodeOptions, Encoder, no_level};
use crate::bytes::{SourceRef, copy, read_vec};
use crate::error::{Error, Result};
use crate::limits::Limits;

const MAGIC: u32 = 0x184d_2204;
/// Frames of other programs' data, which decoders pass over: sixteen magics from here on.
const SKIPPABLE_MAGIC: u32 = 0x184d_2a50;
/// Distance that a linked block may refer back.
const WINDOW_SIZE: usize = 64 << 10;
/// The high bit of a block's length: it is stored uncompressed.
const UNCOMPRESSED_FLAG: u32 = 1 << 31;

/// The descriptor at the start of a frame.
#[derive(Clone, Copy, Debug)]
struct FrameDescriptor {
    independent: bool,
    block_sums: bool,
    content_sum: bool,
    /// The longest that a block decodes to.
    block: usize,
    /// Decoded bytes of the frame, if it states them.
    content: Option<u64>,
    /// Bytes of magic and descriptor.
    header: u64,
}

impl FrameDescriptor {
    /// Reads the frame header at byte `at` of `stored`.
    fn read_header(stored: &SourceRef, at: u64) -> Result<Self> {
        let fail = |message: String| Error::malformed(message).at_byte(file_byte(stored, at));
        let left = stored.len().saturating_sub(at);
        let bytes = read_vec(&**stored, at, left.min(19), &Limits::default())?;
        let [a, b, c, d, flags, sizes, ref rest @ ..] = bytes[..] else {
            return Err(fail(format!("expected an lz4 frame header, found {left} bytes")));
        };
        if u32::from_le_bytes([a, b, c, d]) != MAGIC {
            return Err(fail(format!("no lz4 frame: it begins with {a:02x} {b:02x} {c:02x} {d:02x}")));
        }
        if flags >> 6 != 1 || flags & 2 != 0 || sizes & 0x8f != 0 || sizes >> 4 < 4 {
            return Err(fail(format!("lz4 frame flags {flags:02x} {sizes:02x} are not those of version 1")));
        }
        if flags & 1 != 0 {
            return Err(Error::unsupported("an lz4 frame that needs a dictionary").at_byte(file_byte(stored, at)));
        }
        let sized = flags & 8 != 0;
        let n = if sized { 8 } else { 0 };
        let (Some(size), Some(sum)) = (rest.get(..n), rest.get(n)) else {
            return Err(fail("the lz4 frame header is cut short".into()));
        };
        let expected = (XxHash32::oneshot(0, bytes.get(4..6 + n).unwrap_or(&[])) >> 8) as u8;
        if *sum != expected {
            return Err(fail(format!("lz4 frame header checksum {sum:02x}, expected {expected:02x}")));
        }
        Ok(Self {
            independent: flags & 0x20 != 0,
            block_sums: flags & 0x10 != 0,
            content_sum: flags & 4 != 0,
            block: 1 << (8 + 2 * (sizes >> 4)),
            content: sized.then(|| size.iter().rev().fold(0, |all, byte| all << 8 | u64::from(*byte))),
            header: 7 + n as u64,
        })
    }

    /// Checks and decodes one block: its bytes, its length field, and its checksum if it has one.
    fn block_into(&self, body: &[u8], field: u32, sum: Option<u32>, before: &[u8], into: &mut [u8]) -> Result<usize> {
        if let Some(sum) = sum
            && sum != XxHash32::oneshot(0, body)
        {
            return Err(Error::malformed(format!("lz4 block checksum {sum:08x}, expected {:08x}", XxHash32::oneshot(0, body))));
        }
        if field & UNCOMPRESSED_FLAG != 0 {
            let to = into.get_mut(..body.len()).ok_or_else(|| Error::malformed("a stored lz4 block is longer than expected"))?;
            to.copy_from_slice(body);
            return Ok(body.len());
        }
        let done = if before.is_empty() {
            lz4_flex::block::decompress_into(body, into)
        } else {
            lz4_flex::block::decompress_into_with_dict(body, into, before)
        };
        done.map_err(|error| Error::malformed(format!("no valid lz4 data: {error}")))
    }
}

fn u32_at(stored: &SourceRef, at: u64) -> Result<u32> {
    let mut bytes = [0; 4];
    stored.read_at(at, &mut bytes)?;
    Ok(u32::from_le_bytes(bytes))
}

/// The decoded bytes.
pub(super) fn decode(stored: SourceRef, len: u64, limits: &Limits) -> Result<SourceRef> {
    Ok(Arc::new(MaybeChunkedSource::new(detect_chunks, Box::new(Lz4FrameCodec), stored, len, limits)))
}

/// Opens frames.
struct Lz4FrameCodec;

impl StreamCodec for Lz4FrameCodec {
    fn open_stream(&self, stored: &SourceRef, _len: u64, _limits: &Limits) -> Result<Box<dyn PullDecoder>> {
        Ok(Box::new(FrameDecoder {
            stored: stored.clone(),
            at: 0,
            frame: None,
            sum: XxHash32::with_seed(0),
            decoded: 0,
            first: true,
            ended: false,
            body: Vec::new(),
            pending: Vec::new(),
            consumed: 0,
            dictionary: Vec::new(),
        }))
    }
}

/// Frames being decoded block by block.
struct FrameDecoder {
    stored: SourceRef,
    at: u64,
    frame: Option<FrameDescriptor>,
    sum: XxHash32,
    /// Decoded bytes of this frame.
    decoded: u64,
    first: bool,
    ended: bool,
    body: Vec<u8>,
    /// A decoded block of which `consumed` bytes have been handed out.
    pending: Vec<u8>,
    consumed: usize,
    /// The last bytes decoded, for linked blocks.
    dictionary: Vec<u8>,
}

impl FrameDecoder {
    fn error_at_position(&self, error: Error) -> Error {
        error.at_byte(file_byte(&self.stored, self.at))
    }

    /// Goes on to the next frame; other data after the first frame is left alone.
    fn next_frame(&mut self) -> Result<()> {
        while self.stored.len().saturating_sub(self.at) >= 8 && u32_at(&self.stored, self.at)? & !15 == SKIPPABLE_MAGIC {
            let len = u64::from(u32_at(&self.stored, self.at + 4)?);
            self.at = self.at.saturating_add(8 + len);
        }
        match FrameDescriptor::read_header(&self.stored, self.at) {
            Ok(frame) => {
                self.at += frame.header;
                self.frame = Some(frame);
                self.sum = XxHash32::with_seed(0);
                self.decoded = 0;
                self.dictionary.clear();
            }
            Err(error) if self.first => return Err(error),
            Err(_) => self.ended = true,
        }
        self.first = false;
        Ok(())
    }

    /// Decodes the next block of `frame` into `into`, which is long enough; 0 at the end of the frame.
    fn decode_block(&mut self, frame: &FrameDescriptor, into: &mut [u8]) -> Result<Option<usize>> {
        let cut = || Error::malformed("the lz4 frame is cut short");
        let left = self.stored.len().saturating_sub(self.at);
        if left < 4 {
            return Err(self.error_at_position(cut()));
        }
        let field = u32_at(&self.stored, self.at)?;
        if field == 0 {
            return self.finish_frame(frame).map(|()| None);
        }
        let len = field & !UNCOMPRESSED_FLAG;
        if len as usize > frame.block {
            return Err(self
                .error_at_position(Error::malformed(format!("lz4 block of {len} bytes, at most {} are allowed", frame.block))));
        }
        let sums = if frame.block_sums { 4 } else { 0 };
        if left - 4 < u64::from(len) + sums {
            return Err(self.error_at_position(cut()));
        }
        let sum = if frame.block_sums { Some(u32_at(&self.stored, self.at + 4 + u64::from(len))?) } else { None };
        let mut scratch = std::mem::take(&mut self.body);
        let body = match self.stored.view(self.at + 4, u64::from(len)) {
            Some(body) => body,
            None => {
                scratch.resize(len as usize, 0);
                self.stored.read_at(self.at + 4, &mut scratch)?;
                &scratch
            }
        };
        let before: &[u8] = if frame.independent { &[] } else { &self.dictionary };
        let n = frame.block_into(body, field, sum, before, into).map_err(|error| self.error_at_position(error))?;
        self.body = scratch;
        self.at += 4 + u64::from(len) + sums;
        self.decoded += n as u64;
        let fresh = into.get(..n).unwrap_or(&[]);
        if frame.content_sum {
            self.sum.write(fresh);
        }
        if !frame.independent {
            self.dictionary.extend_from_slice(fresh.get(n.saturating_sub(WINDOW_SIZE)..).unwrap_or(&[]));
            let extra = self.dictionary.len().saturating_sub(WINDOW_SIZE);
            self.dictionary.drain(..extra);
        }
        Ok(Some(n))
    }

    /// Checks the length and the checksum of a frame after its end mark.
    fn finish_frame(&mut self, frame: &FrameDescriptor) -> Result<()> {
        self.at += 4;
        if let Some(content) = frame.content
            && content != self.decoded
        {
            return Err(self
                .error_at_position(Error::malformed(format!("the lz4 frame holds {} bytes, expected {content}", self.decoded))));
        }
        if frame.content_sum {
            if self.stored.len().saturating_sub(self.at) < 4 {
                return Err(self.error_at_position(Error::malformed("the lz4 frame is cut short")));
            }
            let (found, made) = (u32_at(&self.stored, self.at)?, self.sum.finish_32());
            if found != made {
                return Err(
                    self.error_at_position(Error::malformed(format!("lz4 frame checksum {found:08x}, expected {made:08x}")))
                );
            }
            self.at += 4;
        }
        self.frame = None;
        Ok(())
    }
}

impl PullDecoder for FrameDecoder {
    fn decode_next(&mut self, into: &mut [u8]) -> Result<usize> {
        let mut filled = 0;
        while let Some(rest) = into.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            if let Some(found) = self.pending.get(self.consumed..).filter(|found| !found.is_empty()) {
                let n = copy(found, rest);
                self.consumed += n;
                filled += n;
                continue;
            }
            if self.ended {
                break;
            }
            let Some(frame) = self.frame else {
                self.next_frame()?;
                continue;
            };
            if rest.len() >= frame.block {
                let to = rest.get_mut(..frame.block).unwrap_or_default();
                filled += self.decode_block(&frame, to)?.unwrap_or(0);
            } else {
                let mut open = std::mem::take(&mut self.pending);
                open.resize(frame.block, 0);
                let n = self.decode_block(&frame, &mut open)?.unwrap_or(0);
                open.truncate(n);
                (self.pending, self.consumed) = (open, 0);
            }
        }
        Ok(filled)
    }

    fn position(&self) -> u64 {
        self.at
    }
}

/// One frame of independent blocks, all but the last of full length.
struct IndependentFrame {
    frame: FrameDescriptor,
    len: u64,
}

/// Returns the decoder by chunks if the block is probably such a frame.
fn detect_chunks(stored: &SourceRef, len: u64, _limits: &Limits) -> Result<Option<Box<dyn ChunkedCodec>>> {
    let frame = FrameDescriptor::read_header(stored, 0)?;
    let right = frame.independent && !frame.content_sum && frame.content.is_none_or(|content| content == len);
    Ok(right.then(|| Box::new(IndependentFrame { frame, len }) as Box<dyn ChunkedCodec>))
}

impl ChunkedCodec for IndependentFrame {
    fn locate_chunk(
        &self,
        stored: &SourceRef,
        at: u64,
        before: &BlockChunk,
        _limits: &Limits,
    ) -> Result<Option<(BlockChunk, u64)>> {
        let at = at.max(self.frame.header);
        let left = stored.len().saturating_sub(at);
        let cut = || Error::malformed("the lz4 frame is cut short").at_byte(file_byte(stored, at));
        if left < 4 {
            return Err(cut());
        }
        let field = u32_at(stored, at)?;
        if field == 0 {
            return Ok(None);
        }
        let len = u64::from(field & !UNCOMPRESSED_FLAG) + if self.frame.block_sums { 4 } else { 0 };
        if left - 4 < len || len > self.frame.block as u64 + 4 {
            return Err(cut());
        }
        let start = before.decoded.0.saturating_add(before.decoded.1);
        let decoded = (self.frame.block as u64).min(self.len.saturating_sub(start));
        if decoded == 0 {
            return Err(Error::malformed("the lz4 frame has more blocks than expected").at_byte(file_byte(stored, at)));
        }
        let index = before.index.wrapping_add(1);
        // The length field is needed again for decoding: it belongs to the chunk.
        Ok(Some((BlockChunk { index, stored: (at, 4 + len), decoded: (start, decoded) }, at + 4 + len)))
    }

    fn decode_chunk(&self, _chunk: &BlockChunk, bytes: &[u8], into: &mut [u8]) -> Result<()> {
        let cut = || Error::malformed("the lz4 block is cut short");
        let (field, body) = bytes.split_first_chunk::<4>().ok_or_else(cut)?;
        let (body, sum) = if self.frame.block_sums {
            let (body, sum) = body.split_last_chunk::<4>().ok_or_else(cut)?;
            (body, Some(u32::from_le_bytes(*sum)))
        } else {
            (body, None)
        };
        let len = into.len();
        match self.frame.block_into(body, u32::from_le_bytes(*field), sum, &[], into)? {
            n if n == len => Ok(()),
            n => Err(Error::malformed(format!("decodes to {n} bytes, expected {len}"))),
        }
    }
}

/// Writes one frame of independent blocks of 4 MiB.
struct Lz4FrameEncoder {
    pieces: PieceSplitter,
    total: Option<u64>,
    written: u64,
    begun: bool,
}

const BLOCK_LEN: usize = 4 << 20;

/// A writer of one frame; the length of the content is in it if it is known.
pub(super) fn new_encoder(options: &EncodeOptions) -> Result<Box<dyn Encoder>> {
    no_level("lz4f", options)?;
    Ok(Box::new(Lz4FrameEncoder { pieces: PieceSplitter::new(BLOCK_LEN), total: options.total_len, written: 0, begun: false }))
}

impl Lz4FrameEncoder {
    fn write_frame_header(&mut self, out: &mut dyn Write) -> Result<()> {
        if self.begun {
            return Ok(());
        }
        self.begun = true;
        // Version 1, independent blocks, content size; blocks of 4 MiB.
        let mut descriptor = vec![if self.total.is_some() { 0x68 } else { 0x60 }, 0x70];
        if let Some(total) = self.total {
            descriptor.extend_from_slice(&total.to_le_bytes());
        }
        write_all(out, &MAGIC.to_le_bytes())?;
        write_all(out, &descriptor)?;
        write_all(out, &[(XxHash32::oneshot(0, &descriptor) >> 8) as u8])
    }

    fn encode_pieces(pieces: &[&[u8]], out: &mut dyn Write) -> Result<()> {
        encode_each(pieces.to_vec(), out, |piece| {
            let mut bytes = vec![0; 4 + lz4_flex::block::get_maximum_output_size(piece.len())];
            let body = bytes.get_mut(4..).unwrap_or_default();
            let n = lz4_flex::block::compress_into(piece, body).map_err(|error| Error::unsupported(format!("lz4: {error}")))?;
            let field = if n < piece.len() {
                bytes.truncate(4 + n);
                n as u32
            } else {
                bytes.truncate(4);
                bytes.extend_from_slice(piece);
                piece.len() as u32 | UNCOMPRESSED_FLAG
            };
            if let Some(head) = bytes.first_chunk_mut::<4>() {
                *head = field.to_le_bytes();
            }
            Ok(bytes)
        })
    }
}

impl Encoder for Lz4FrameEncoder {
    fn write(&mut self, data: &[u8], out: &mut dyn Write) -> Result<()> {
        self.write_frame_header(out)?;
        self.written += data.len() as u64;
        self.pieces.push_data(data, |pieces| Self::encode_pieces(pieces, out))
    }

    fn finish(&mut self, out: &mut dyn Write) -> Result<()> {
        self.write_frame_header(out)?;
        self.pieces.finish(|pieces| Self::encode_pieces(pieces, out))?;
        super::check_total(self.total, self.written)?;
        write_all(out, &[0; 4])
    }
}
