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
use super::parallel_encode::{Pieces, encode_each, put};
use super::stream::{Engine, Opens, Pull, Pulling, Streamed};
use super::{Encode, EncodeOptions, level_in};
use crate::bytes::SourceRef;
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::threads::each;

/// Bytes that are deflated at once, and how many before them serve as dictionary.
const PIECE: usize = 256 << 10;
const WINDOW: usize = 32 << 10;

/// The decoded bytes.
pub(super) fn decode(stored: SourceRef, len: u64, limits: &Limits) -> Result<SourceRef> {
    Ok(Arc::new(Streamed::new(Box::new(Zlib), stored, len, limits)))
}

/// A stream whose length is not known is opened.
pub(super) fn open(stored: &SourceRef, most: u64, limits: &Limits) -> Result<Box<dyn Pull>> {
    Zlib.open(stored, most, limits)
}

/// Decodes what is in memory; how many bytes that gave, if it is valid.
#[allow(clippy::unnecessary_wraps, reason = "without the feature it fails")]
pub(super) fn unpack(bytes: &[u8], into: &mut [u8]) -> Result<Option<usize>> {
    #[cfg(feature = "libdeflate")]
    if let Ok(len) = libdeflater::Decompressor::new().zlib_decompress(bytes, into) {
        return Ok(Some(len));
    }
    let mut state = Decompress::new(true);
    let ended = state.decompress(bytes, into, FlushDecompress::Finish).is_ok_and(|status| status == Status::StreamEnd);
    Ok(ended.then(|| state.total_out() as usize))
}

/// Encodes what is in memory, to the end of `out`.
pub(super) fn pack(level: i32, bytes: &[u8], out: &mut Vec<u8>) -> std::io::Result<()> {
    let mut state = flate2::write::ZlibEncoder::new(out, Compression::new(level.max(0).cast_unsigned()));
    state.write_all(bytes)?;
    state.finish().map(drop)
}

/// Opens zlib streams.
struct Zlib;

impl Opens for Zlib {
    fn word(&self) -> Option<&'static str> {
        Some("deflate")
    }

    fn open(&self, stored: &SourceRef, _len: u64, _limits: &Limits) -> Result<Box<dyn Pull>> {
        Ok(Box::new(Pulling::new(stored.clone(), Inflate(Decompress::new(true)))))
    }

    #[cfg(feature = "libdeflate")]
    fn whole(&self, stored: &SourceRef, into: &mut [u8]) -> Option<Result<()>> {
        let bytes = stored.view(0, stored.len())?;
        // The other path handles what this one refuses, and reports place and reason.
        match libdeflater::Decompressor::new().zlib_decompress(bytes, into) {
            Ok(n) if n == into.len() => Some(Ok(())),
            _ => None,
        }
    }
}

/// Decoder of one zlib stream.
struct Inflate(Decompress);

impl Engine for Inflate {
    const NAME: &'static str = "zlib";

    fn step(&mut self, from: &[u8], into: &mut [u8]) -> (usize, usize, Result<bool>) {
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
    Arc::new(Streamed::new(Box::new(Member { crc }), stored, len, limits))
}

/// Opens deflated members.
struct Member {
    crc: u32,
}

impl Opens for Member {
    fn open(&self, stored: &SourceRef, _len: u64, _limits: &Limits) -> Result<Box<dyn Pull>> {
        let engine = Deflated { inflate: Inflate(Decompress::new(false)), crc: flate2::Crc::new(), stated: self.crc };
        Ok(Box::new(Pulling::new(stored.clone(), engine)))
    }
}

/// A member that is being decoded.
struct Deflated {
    inflate: Inflate,
    crc: flate2::Crc,
    stated: u32,
}

impl Engine for Deflated {
    const NAME: &'static str = "deflate";

    fn step(&mut self, from: &[u8], into: &mut [u8]) -> (usize, usize, Result<bool>) {
        let (taken, made, ended) = self.inflate.step(from, into);
        self.crc.update(into.get(..made).unwrap_or_default());
        let ended = match ended {
            Ok(true) if self.crc.sum() != self.stated => Err(differs(self.stated, self.crc.sum())),
            ended => ended,
        };
        (taken, made, ended)
    }
}

/// Writes one zlib stream from pieces deflated in parallel.
struct Writer {
    pieces: Pieces,
    join: Join,
}

/// State that is carried from piece to piece.
struct Join {
    level: u32,
    begun: bool,
    /// The last bytes of what has been deflated, at most a window.
    tail: Vec<u8>,
    adler: u32,
}

/// A writer of one zlib stream; levels 0 to 9, 6 unless given.
pub(super) fn encoder(options: &EncodeOptions) -> Result<Box<dyn Encode>> {
    let level = level_in("zlib", options, 0..=9, 6)? as u32;
    Ok(Box::new(Writer { pieces: Pieces::new(PIECE), join: Join { level, begun: false, tail: Vec::new(), adler: 1 } }))
}

impl Encode for Writer {
    fn write(&mut self, data: &[u8], out: &mut dyn Write) -> Result<()> {
        self.pieces.write(data, |pieces| self.join.flush(pieces, out))
    }

    fn finish(&mut self, out: &mut dyn Write) -> Result<()> {
        self.pieces.finish(|pieces| self.join.flush(pieces, out))?;
        self.join.head(out)?;
        // An empty last block with fixed codes, filled up to the byte, and the checksum.
        put(out, &[0x03, 0x00])?;
        put(out, &self.join.adler.to_be_bytes())
    }
}

impl Join {
    /// The two bytes before the first piece: deflate with a 32 KiB window, and how hard was tried.
    fn head(&mut self, out: &mut dyn Write) -> Result<()> {
        if self.begun {
            return Ok(());
        }
        self.begun = true;
        let effort = match self.level {
            0 | 1 => 0x01,
            2..=5 => 0x5e,
            6 => 0x9c,
            _ => 0xda,
        };
        put(out, &[0x78, effort])
    }

    fn flush(&mut self, pieces: &[&[u8]], out: &mut dyn Write) -> Result<()> {
        self.head(out)?;
        let tail = std::mem::take(&mut self.tail);
        let mut before: &[u8] = &tail;
        let mut jobs = Vec::with_capacity(pieces.len());
        for piece in pieces {
            jobs.push((before, *piece));
            before = last_bytes(piece, WINDOW);
        }
        let level = self.level;
        encode_each(jobs, out, |(before, piece)| deflate(level, before, piece))?;
        for (sum, len) in each(pieces.to_vec(), |piece| Ok((adler32(piece), piece.len())))? {
            self.adler = adler32_join(self.adler, sum, len as u64);
        }
        self.tail = before.to_vec();
        Ok(())
    }
}

fn last_bytes(bytes: &[u8], n: usize) -> &[u8] {
    bytes.get(bytes.len().saturating_sub(n)..).unwrap_or(bytes)
}

/// Deflates one piece, up to a byte boundary, without marking an end.
fn deflate(level: u32, before: &[u8], piece: &[u8]) -> Result<Vec<u8>> {
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
const ADLER: u32 = 65_521;

/// Adler-32 of some bytes.
pub(super) fn adler32(bytes: &[u8]) -> u32 {
    let (mut a, mut b) = (1u32, 0u32);
    // The sums of 5552 bytes cannot overflow 32 bits before the remainder is taken.
    for run in bytes.chunks(5552) {
        for byte in run {
            a += u32::from(*byte);
            b += a;
        }
        a %= ADLER;
        b %= ADLER;
    }
    b << 16 | a
}

/// Adler-32 of two pieces in a row from those of each; `len` is the length of the second.
pub(super) fn adler32_join(first: u32, second: u32, len: u64) -> u32 {
    let (a1, b1, a2, b2) = (first & 0xffff, first >> 16, second & 0xffff, second >> 16);
    let modulus = u64::from(ADLER);
    let a = (a1 + a2 + ADLER - 1) % ADLER;
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
