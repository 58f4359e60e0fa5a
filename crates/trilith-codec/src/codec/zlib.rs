//! `zlib`: one zlib stream (RFC 1950), as the standard's compression `zlib`.
//!
//! Decoding is bound to one core by the format. Encoding is not: pieces of 256 KiB are deflated on
//! all cores, each with the 32 KiB before it as dictionary, flushed to a byte boundary, and joined
//! into one stream with the Adler-32 of the whole, which any reader takes.
//!
//! Readers: all of them.

use std::io::Write;
use std::sync::Arc;

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

use super::crc::differs;
use super::parallel_encode::{PieceSplitter, encode_each, write_all};
use super::stream::{DecoderEngine, EngineDecoder, PullDecoder, StreamCodec, StreamSource};
use super::{EncodeOptions, Encoder, check_level};
use crate::bytes::SourceRef;
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::threads::map_parallel;

/// Bytes that are deflated at once, and how many before them serve as dictionary.
const BUFFER_SIZE: usize = 256 << 10;
const WINDOW_SIZE: usize = 32 << 10;

/// The decoded bytes.
pub(super) fn decode(stored: SourceRef, len: u64, limits: &Limits) -> Result<SourceRef> {
    Ok(Arc::new(StreamSource::new(Box::new(Zlib), stored, len, limits)))
}

/// A stream whose length is not known is opened.
pub(super) fn open_stream(stored: &SourceRef, most: u64, limits: &Limits) -> Result<Box<dyn PullDecoder>> {
    Zlib.open_stream(stored, most, limits)
}

/// Decodes what is in memory; how many bytes that gave, if it is valid.
#[allow(clippy::unnecessary_wraps, reason = "without the feature it fails")]
pub(super) fn decompress(bytes: &[u8], into: &mut [u8]) -> Result<Option<usize>> {
    #[cfg(feature = "libdeflate")]
    if let Ok(len) = libdeflater::Decompressor::new().zlib_decompress(bytes, into) {
        return Ok(Some(len));
    }
    let mut state = Decompress::new(true);
    let ended = state.decompress(bytes, into, FlushDecompress::Finish).is_ok_and(|status| status == Status::StreamEnd);
    Ok(ended.then(|| state.total_out() as usize))
}

/// Encodes what is in memory, to the end of `out`.
pub(super) fn compress(level: i32, bytes: &[u8], out: &mut Vec<u8>) -> std::io::Result<()> {
    let mut state = flate2::write::ZlibEncoder::new(out, Compression::new(level.max(0).cast_unsigned()));
    state.write_all(bytes)?;
    state.finish().map(drop)
}

/// Opens zlib streams.
struct Zlib;

impl StreamCodec for Zlib {
    fn external_name(&self) -> Option<&'static str> {
        Some("deflate")
    }

    fn open_stream(&self, stored: &SourceRef, _len: u64, _limits: &Limits) -> Result<Box<dyn PullDecoder>> {
        Ok(Box::new(EngineDecoder::new(stored.clone(), ZlibStream(Decompress::new(true)))))
    }

    #[cfg(feature = "libdeflate")]
    fn decode_all(&self, stored: &SourceRef, into: &mut [u8]) -> Option<Result<()>> {
        let bytes = stored.view(0, stored.len())?;
        // The other path handles what this one refuses, and reports place and reason.
        match libdeflater::Decompressor::new().zlib_decompress(bytes, into) {
            Ok(n) if n == into.len() => Some(Ok(())),
            _ => None,
        }
    }
}

/// Decoder of one zlib stream.
struct ZlibStream(Decompress);

impl DecoderEngine for ZlibStream {
    const NAME: &'static str = "zlib";

    fn decode_step(&mut self, from: &[u8], into: &mut [u8]) -> (usize, usize, Result<bool>) {
        let before = (self.0.total_in(), self.0.total_out());
        let status = self.0.decompress(from, into, FlushDecompress::None);
        let (taken, made) = ((self.0.total_in() - before.0) as usize, (self.0.total_out() - before.1) as usize);
        let ended = match status {
            Ok(status) => Ok(status == Status::StreamEnd),
            Err(error) if error.needs_dictionary().is_some() => {
                Err(Error::malformed("the zlib stream needs a preset dictionary, which no block has"))
            }
            Err(error) => Err(Error::malformed(format!("no valid zlib data: {}", error.message().unwrap_or("bad stream")))),
        };
        (taken, made, ended)
    }
}

/// The decoded bytes of a deflated member of an archive: a stream without header, whose CRC-32 is stated next to it.
pub fn member(stored: SourceRef, len: u64, crc: u32, limits: &Limits) -> SourceRef {
    Arc::new(StreamSource::new(Box::new(Member { crc }), stored, len, limits))
}

/// Opens deflated members.
struct Member {
    crc: u32,
}

impl StreamCodec for Member {
    fn open_stream(&self, stored: &SourceRef, _len: u64, _limits: &Limits) -> Result<Box<dyn PullDecoder>> {
        let engine = Deflated { inflate: ZlibStream(Decompress::new(false)), crc: flate2::Crc::new(), stated: self.crc };
        Ok(Box::new(EngineDecoder::new(stored.clone(), engine)))
    }

    #[cfg(feature = "libdeflate")]
    fn decode_all(&self, stored: &SourceRef, into: &mut [u8]) -> Option<Result<()>> {
        let bytes = stored.view(0, stored.len())?;
        let mut crc = flate2::Crc::new();
        // The CRC-32 of the elements is compared here, because libdeflate knows none of a ZIP member.
        let len = libdeflater::Decompressor::new().deflate_decompress(bytes, into).ok()?;
        crc.update(into);
        (len == into.len() && crc.sum() == self.crc).then_some(Ok(()))
    }
}

/// A member that is being decoded.
struct Deflated {
    inflate: ZlibStream,
    crc: flate2::Crc,
    stated: u32,
}

impl DecoderEngine for Deflated {
    const NAME: &'static str = "deflate";

    fn decode_step(&mut self, from: &[u8], into: &mut [u8]) -> (usize, usize, Result<bool>) {
        let (taken, made, ended) = self.inflate.decode_step(from, into);
        self.crc.update(into.get(..made).unwrap_or_default());
        let ended = match ended {
            Ok(true) if self.crc.sum() != self.stated => Err(differs(self.stated, self.crc.sum())),
            ended => ended,
        };
        (taken, made, ended)
    }
}

/// Writes one zlib stream from pieces deflated in parallel.
struct ZlibEncoder {
    pieces: PieceSplitter,
    join: ZlibAssembler,
}

/// State that is carried from piece to piece.
struct ZlibAssembler {
    level: u32,
    has_started: bool,
    /// The last bytes of what has been deflated, at most a window.
    dictionary: Vec<u8>,
    adler: u32,
}

/// A writer of one zlib stream; levels 0 to 9, 6 unless given.
pub(super) fn new_encoder(options: &EncodeOptions) -> Result<Box<dyn Encoder>> {
    let level = check_level("zlib", options, 0..=9, 6)? as u32;
    Ok(Box::new(ZlibEncoder {
        pieces: PieceSplitter::new(BUFFER_SIZE),
        join: ZlibAssembler { level, has_started: false, dictionary: Vec::new(), adler: 1 },
    }))
}

impl Encoder for ZlibEncoder {
    fn write(&mut self, data: &[u8], out: &mut dyn Write) -> Result<()> {
        self.pieces.push_data(data, |pieces| self.join.encode_pieces(pieces, out))
    }

    fn finish(&mut self, out: &mut dyn Write) -> Result<()> {
        self.pieces.finish(|pieces| self.join.encode_pieces(pieces, out))?;
        self.join.write_zlib_header(out)?;
        // An empty last block with fixed codes, filled up to the byte, and the checksum.
        write_all(out, &[0x03, 0x00])?;
        write_all(out, &self.join.adler.to_be_bytes())
    }
}

impl ZlibAssembler {
    /// The two bytes before the first piece: deflate with a 32 KiB window, and how hard was tried.
    fn write_zlib_header(&mut self, out: &mut dyn Write) -> Result<()> {
        if self.has_started {
            return Ok(());
        }
        self.has_started = true;
        let effort = match self.level {
            0 | 1 => 0x01,
            2..=5 => 0x5e,
            6 => 0x9c,
            _ => 0xda,
        };
        write_all(out, &[0x78, effort])
    }

    fn encode_pieces(&mut self, pieces: &[&[u8]], out: &mut dyn Write) -> Result<()> {
        self.write_zlib_header(out)?;
        let tail = std::mem::take(&mut self.dictionary);
        let mut before: &[u8] = &tail;
        let mut jobs = Vec::with_capacity(pieces.len());
        for piece in pieces {
            jobs.push((before, *piece));
            before = last_bytes(piece, WINDOW_SIZE);
        }
        let level = self.level;
        encode_each(jobs, out, |(before, piece)| deflate_piece(level, before, piece))?;
        for (sum, len) in map_parallel(pieces.to_vec(), |piece| Ok((adler32(piece), piece.len())))? {
            self.adler = adler32_join(self.adler, sum, len as u64);
        }
        self.dictionary = before.to_vec();
        Ok(())
    }
}

fn last_bytes(bytes: &[u8], n: usize) -> &[u8] {
    bytes.get(bytes.len().saturating_sub(n)..).unwrap_or(bytes)
}

/// Deflates one piece, up to a byte boundary, without marking an end.
fn deflate_piece(level: u32, before: &[u8], piece: &[u8]) -> Result<Vec<u8>> {
    let fail = |what: &dyn std::fmt::Display| Error::unsupported(format!("deflate failed: {what}"));
    let mut state = Compress::new(Compression::new(level), false);
    if !before.is_empty() && level > 0 {
        state.set_dictionary(before).map_err(|e| fail(&e))?;
    }
    let mut out = Vec::with_capacity(piece.len() + piece.len() / 8 + 256);
    loop {
        let taken = state.total_in() as usize;
        let rest = piece.get(taken..).unwrap_or(&[]);
        state.compress_vec(rest, &mut out, FlushCompress::Sync).map_err(|e| fail(&e))?;
        // A flush is done when it leaves room in the output.
        if state.total_in() as usize == piece.len() && out.len() < out.capacity() {
            return Ok(out);
        }
        out.reserve(piece.len() / 2 + 256);
    }
}

/// The modulus of Adler-32.
const ADLER_MOD: u32 = 65_521;

/// Adler-32 of some bytes.
pub(super) fn adler32(bytes: &[u8]) -> u32 {
    let (mut a, mut b) = (1u32, 0u32);
    // The sums of 5552 bytes cannot overflow 32 bits before the remainder is taken.
    for run in bytes.chunks(5552) {
        for byte in run {
            a += u32::from(*byte);
            b += a;
        }
        a %= ADLER_MOD;
        b %= ADLER_MOD;
    }
    b << 16 | a
}

/// Adler-32 of two pieces in a row from those of each; `len` is the length of the second.
pub(super) fn adler32_join(first: u32, second: u32, len: u64) -> u32 {
    let (a1, b1, a2, b2) = (first & 0xffff, first >> 16, second & 0xffff, second >> 16);
    let modulus = u64::from(ADLER_MOD);
    let a = (a1 + a2 + ADLER_MOD - 1) % ADLER_MOD;
    let b = (u64::from(b1) + u64::from(b2) + (len % modulus) * ((u64::from(a1) + modulus - 1) % modulus)) % modulus;
    (b as u32) << 16 | a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joined_adler32_eq_adler32_of_whole() {
        let bytes: Vec<u8> = (0..100_000u32).map(|n| (n.wrapping_mul(n) >> 7) as u8).collect();
        assert_eq!(adler32(b"Wikipedia"), 0x11e6_0398);
        for cut in [0, 1, 5552, 65_521, 99_999, 100_000] {
            let (a, b) = bytes.split_at(cut);
            assert_eq!(adler32_join(adler32(a), adler32(b), b.len() as u64), adler32(&bytes), "cut at {cut}");
        }
    }
}
