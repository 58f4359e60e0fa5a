//! Codecs: how the bytes of a block are stored, and decoded again.
//!
//! A codec is named by the four bytes in a block's header ([`CodecId`]). [`decoder`] makes a
//! [`Source`] of the decoded bytes, which decodes nothing until it is read and
//! then, if the format allows it, only what is asked for; [`encoder`] encodes what is written to
//! it, piece by piece, in bounded memory and on all cores, to the same bytes however it is cut.
//! [`encoding_chain`] holds the encoding chains of ASDF 0.1.0.
//!
//! | codec | slices | encodes / decodes on all cores | who reads it |
//! |---|---|---|---|
//! | `zlib` | decode what comes before | yes / no | every ASDF library |
//! | `bzp2` | decode what comes before | yes / yes | every ASDF library |
//! | `lz4` | decode their sub-blocks | yes / yes | Python asdf, asdf-cxx, libasdf, asdf-rs |
//! | `lz4f` | decode their blocks, if these are independent | yes / if they are independent | Python asdf with `asdf-compression` |
//! | `zstd` | decode their frames, if there are several | with [`EncodeOptions::multiple_frames`] / if there are several | the same, asdf-cxx |
//! | `blsc` | decode their blocks | yes / yes | the same, asdf-cxx |
//!
//! Which to choose: noise in floats hardly compresses; `zlib` is read by everybody, `lz4` is fast
//! and sliceable but gains nothing on floats, `blsc` is as fast and gains (its shuffle puts bytes of
//! the same weight together), `zstd` is the middle, `bzp2` the smallest and slowest.
//!
//! To add a codec, write a file in this folder and a row in [`CODECS`].

pub mod bit_io;
#[cfg(feature = "blosc")]
mod blsc;
#[cfg(feature = "bzip2")]
mod bzp2;
mod chunks;
pub mod crc;
pub mod encoding_chain;
pub mod filter;
pub mod global_heap;
#[cfg(feature = "jpeg")]
pub mod jpeg;
#[cfg(feature = "lz4")]
mod lz4;
#[cfg(feature = "lz4")]
mod lz4f;
mod maybe_chunked;
mod names;
mod parallel_encode;
mod shuffle;
mod stored_reader;
mod stream;
mod unsupported;
#[cfg(feature = "zlib")]
pub mod zlib;
#[cfg(feature = "zstd")]
mod zstd;

use std::fmt;
use std::io::Write;
use std::ops::RangeInclusive;
use std::sync::Arc;

pub use self::names::unknown as unknown_name;
pub use self::names::{known_names, parse_name};
pub use crate::threads::{set_threads, threads};

#[allow(unused_imports, reason = "empty where nothing was left out")]
use unsupported::*;

use crate::bytes::{MemorySource, Source, SourceRef, to_usize};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;

/// The four bytes that name a codec in a block header, as they are stored.
///
/// ```
/// use trilith_codec::codec::CodecId;
/// let id = CodecId(*b"lz4\0");
/// assert_eq!(id.to_string(), "lz4");
/// assert_eq!(CodecId::from_name("lz4"), Some(id));
/// assert!(CodecId::NONE.is_none());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CodecId(pub [u8; 4]);

impl CodecId {
    /// Id of uncompressed bytes.
    pub const NONE: Self = Self([0; 4]);

    /// The id of this name, filled up with NULs; nothing if it is longer than four bytes.
    pub fn from_name(name: &str) -> Option<Self> {
        let mut id = [0; 4];
        id.get_mut(..name.len())?.copy_from_slice(name.as_bytes());
        Some(Self(id))
    }

    /// Returns `true` if the bytes are stored uncompressed.
    pub fn is_none(self) -> bool {
        self == Self::NONE
    }
}

impl fmt::Display for CodecId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = self.0.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        write!(f, "{}", self.0.get(..end).unwrap_or(&[]).escape_ascii())
    }
}

impl fmt::Debug for CodecId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CodecId({self})")
    }
}

/// One row of the table of codecs.
#[non_exhaustive]
pub struct Codec {
    /// The four bytes that name it.
    pub id: CodecId,
    /// The id as a string.
    pub name: &'static str,
    /// A short description.
    pub description: &'static str,
    /// `true` if a slice decodes only a part of the block.
    pub seekable: bool,
    /// Other programs that read the codec.
    pub readers: &'static str,
    decode: DecodeFn,
    encode: fn(&EncodeOptions) -> Result<Box<dyn Encoder>>,
    /// Decoded bytes for each stored byte, at most: the limit's name and its value.
    ratio: fn(&Limits) -> (&'static str, u64),
}

impl fmt::Debug for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Codec({})", self.id)
    }
}

type DecodeFn = fn(SourceRef, u64, &Limits) -> Result<SourceRef>;

/// The codecs of this library.
pub static CODECS: &[Codec] = &[
    Codec {
        id: CodecId(*b"zlib"),
        name: "zlib",
        description: "one zlib stream",
        seekable: false,
        readers: "every ASDF library",
        decode: zlib::decode,
        encode: zlib::new_encoder,
        ratio: |limits| ("zlib_ratio", limits.zlib_ratio),
    },
    Codec {
        id: CodecId(*b"bzp2"),
        name: "bzp2",
        description: "bzip2",
        seekable: false,
        readers: "every ASDF library",
        decode: bzp2::decode,
        encode: bzp2::new_encoder,
        ratio: |limits| ("bzip2_ratio", limits.bzip2_ratio),
    },
    Codec {
        id: CodecId(*b"lz4\0"),
        name: "lz4",
        description: "raw LZ4 blocks in the framing of Python asdf",
        seekable: true,
        readers: "Python asdf, asdf-cxx, libasdf, asdf-rs",
        decode: lz4::decode,
        encode: lz4::new_encoder,
        ratio: |limits| ("lz4_ratio", limits.lz4_ratio),
    },
    Codec {
        id: CodecId(*b"lz4f"),
        name: "lz4f",
        description: "LZ4 frames",
        seekable: true,
        readers: "Python asdf with asdf-compression",
        decode: lz4f::decode,
        encode: lz4f::new_encoder,
        ratio: |limits| ("lz4_ratio", limits.lz4_ratio),
    },
    Codec {
        id: CodecId(*b"zstd"),
        name: "zstd",
        description: "Zstandard frames",
        seekable: true,
        readers: "Python asdf with asdf-compression, asdf-cxx",
        decode: zstd::decode,
        encode: zstd::new_encoder,
        ratio: |limits| ("ratio", limits.ratio),
    },
    Codec {
        id: CodecId(*b"blsc"),
        name: "blsc",
        description: "one Blosc buffer",
        seekable: true,
        readers: "Python asdf with asdf-compression, asdf-cxx",
        decode: blsc::decode,
        encode: blsc::new_encoder,
        ratio: |limits| ("ratio", limits.ratio),
    },
];

/// Returns the codec of this id, if there is one.
pub fn opt_codec(id: CodecId) -> Option<&'static Codec> {
    CODECS.iter().find(|codec| codec.id == id)
}

/// The codec of this id.
///
/// # Errors
/// Returns [`ErrorKind::Unsupported`] for an id that no codec here has.
pub fn codec(id: CodecId) -> Result<&'static Codec> {
    opt_codec(id).ok_or_else(|| {
        Error::unknown("compression", &id.to_string(), CODECS.iter().map(|codec| codec.name)).with_kind(ErrorKind::Unsupported)
    })
}

/// The decoded bytes of a block, as a source of exactly `decoded_len` bytes.
///
/// `stored` is exactly the used bytes of the block. Nothing is decoded until the source is read.
/// Reading a range of a seekable codec decodes the chunks that hold it, in parallel, straight into
/// the destination; reading everything at once does so for every codec. Reads of other codecs that
/// go forward share one running decoder and hold nothing; the first that goes back decodes the
/// block once and keeps it. [`stored_ranges`](crate::bytes::stored_ranges) returns the bytes of the file
/// that a range needs.
///
/// # Errors
/// Returns [`ErrorKind::Unsupported`] for an unknown codec, [`ErrorKind::Limit`] if the block claims to decode to
/// more than the limits' ratio allows, and [`ErrorKind::Malformed`] if a block that is not compressed has another
/// length.
///
/// ```
/// use std::sync::Arc;
/// use trilith_io::bytes::MemorySource;
/// use trilith_codec::codec::{CodecId, EncodeOptions, decoder, encode};
/// use trilith_codec::Limits;
///
/// let id = CodecId(*b"zlib");
/// let stored = encode(id, b"three stones", &EncodeOptions::default())?;
/// let source = decoder(id, Arc::new(MemorySource::new(stored, "memory")), 12, &Limits::default())?;
/// let mut word = [0; 6];
/// source.read_at(6, &mut word)?;
/// assert_eq!(&word, b"stones");
/// # Ok::<(), trilith_codec::Error>(())
/// ```
pub fn decoder(id: CodecId, stored: SourceRef, decoded_len: u64, limits: &Limits) -> Result<SourceRef> {
    if id.is_none() {
        return match stored.len() {
            len if len == decoded_len => Ok(stored),
            len => Err(Error::malformed(format!("the block is not compressed and holds {len} bytes, expected {decoded_len}"))
                .at_byte(stored_reader::file_byte(&stored, 0))),
        };
    }
    let codec = codec(id)?;
    if decoded_len == 0 && stored.len() == 0 {
        return Ok(Arc::new(MemorySource::new(Vec::new(), stored.name())));
    }
    let (name, ratio) = (codec.ratio)(limits);
    if decoded_len > stored.len().saturating_mul(ratio) {
        let what = format!("{} stored bytes claim to decode to {decoded_len} bytes with {id}", stored.len());
        return Err(Limits::exceeded_error(name, ratio, what).at_byte(stored_reader::file_byte(&stored, 0)));
    }
    (codec.decode)(stored, decoded_len, limits)
}

/// Returns the maximum number of bytes that `stored_len` bytes decode to by the limits.
///
/// # Errors
/// Returns [`ErrorKind::Unsupported`] for an unknown codec.
pub fn max_decoded_len(id: CodecId, stored_len: u64, limits: &Limits) -> Result<u64> {
    let (_, ratio) = (codec(id)?.ratio)(limits);
    Ok(stored_len.saturating_mul(ratio))
}

/// Returns the number of bytes that a block decodes to, whatever its header states, and the number of stored bytes
/// that took, for comparison.
///
/// # Errors
/// Returns [`ErrorKind::Unsupported`] for a codec other than zlib and bzip2, [`ErrorKind::Limit`] if the block
/// decodes to more than the limits' ratio allows, [`ErrorKind::Malformed`] if it does not decode.
pub fn decoded_len(id: CodecId, stored: &SourceRef, limits: &Limits) -> Result<(u64, u64)> {
    let (name, ratio) = (codec(id)?.ratio)(limits);
    let most = stored.len().saturating_mul(ratio);
    let mut pull = match &id.0 {
        b"zlib" => zlib::open_stream(stored, most, limits)?,
        b"bzp2" => bzp2::open_stream(stored, most, limits)?,
        _ => return Err(Error::unsupported(format!("{id} does not state its decoded size"))),
    };
    let mut piece = vec![0; 256 << 10];
    let mut len = 0u64;
    loop {
        let made = pull.decode_next(&mut piece)? as u64;
        if made == 0 {
            return Ok((len, pull.position()));
        }
        limits.charge_decoding(made)?;
        len += made;
        if len > most {
            let what = format!("{} stored bytes decode to more than {most} bytes with {id}", stored.len());
            return Err(Limits::exceeded_error(name, ratio, what).at_byte(stored_reader::file_byte(stored, 0)));
        }
    }
}

/// Reads a source from front to back, handing over a few MiB at a time: the pieces are large enough
/// to keep every core busy on chunks, and at most 64 MiB.
///
/// # Errors
/// Returns the errors of reading, and those of `sink`.
pub fn stream_source(source: &dyn Source, sink: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
    let piece = (threads() as u64).clamp(1, 16) * (4 << 20);
    let mut buffer = vec![0; to_usize(piece.min(source.len()))?];
    let mut at = 0;
    while at < source.len() {
        let take = to_usize((source.len() - at).min(piece))?;
        let part = buffer.get_mut(..take).unwrap_or_default();
        source.read_at(at, part)?;
        sink(part)?;
        at += take as u64;
    }
    Ok(())
}

/// Rearrangement of items before compression, if the codec supports it (`blsc`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum ShuffleMode {
    /// No rearrangement.
    None,
    /// The first bytes of all items, then the second bytes, and so on.
    #[default]
    Bytes,
    /// The lowest bits of the first bytes of all items, then the next bits, and so on.
    Bits,
}

/// The codec for the parts of a Blosc buffer (`blsc`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum BloscCodec {
    /// LZ4: fast.
    #[default]
    Lz4,
    /// zlib: small and slow.
    Zlib,
    /// Zstandard: small, and fast to decode.
    Zstd,
}

/// Parameters of an encoder.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct EncodeOptions {
    /// Level on the codec's scale; its usual level unless given.
    pub level: Option<i32>,
    /// Bytes of one item.
    pub item_size: usize,
    /// Bytes of one row: chunks are cut between rows if a row fits into one.
    pub row_bytes: Option<u64>,
    /// Number of rows in each piece, however many bytes these are, if the codec stores pieces that decode by themselves
    /// and that every reader joins (`lz4`).
    pub rows: Option<u64>,
    /// Bytes that will be written in all, if that is known.
    pub total_len: Option<u64>,
    /// Rearrangement of items before compression (`blsc`).
    pub shuffle: ShuffleMode,
    /// The codec after that (`blsc`).
    pub blosc: BloscCodec,
    /// Several frames instead of one (`zstd`): they are encoded, decoded and sliced side by side, but
    /// Python's one-shot functions, and asdf-compression, read only the first.
    pub multiple_frames: bool,
}

impl Default for EncodeOptions {
    fn default() -> Self {
        Self {
            level: None,
            item_size: 1,
            row_bytes: None,
            rows: None,
            total_len: None,
            shuffle: ShuffleMode::default(),
            blosc: BloscCodec::default(),
            multiple_frames: false,
        }
    }
}

/// An encoder in the middle of its work.
///
/// The output depends on the written bytes alone: neither on their division into writes nor on the number of
/// threads.
pub trait Encoder: Send {
    /// Encodes more bytes; what is ready goes to `out`.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Io`] if `out` fails, [`ErrorKind::Unsupported`] for data that the codec cannot hold.
    fn write(&mut self, data: &[u8], out: &mut dyn Write) -> Result<()>;

    /// Encodes what is left; nothing may be written afterwards.
    ///
    /// # Errors
    /// Returns the errors of [`Encoder::write`].
    fn finish(&mut self, out: &mut dyn Write) -> Result<()>;
}

/// An encoder of this codec.
///
/// # Errors
/// Returns [`ErrorKind::Unsupported`] for an unknown codec, [`ErrorKind::InvalidInput`] for a level that the codec does
/// not have.
///
/// ```
/// use trilith_codec::codec::{CodecId, EncodeOptions, encoder};
/// let mut stored = Vec::new();
/// let mut encoder = encoder(CodecId(*b"bzp2"), &EncodeOptions::default())?;
/// encoder.write(b"one ", &mut stored)?;
/// encoder.write(b"stone", &mut stored)?;
/// encoder.finish(&mut stored)?;
/// assert!(stored.starts_with(b"BZh9"));
/// # Ok::<(), trilith_codec::Error>(())
/// ```
pub fn encoder(id: CodecId, options: &EncodeOptions) -> Result<Box<dyn Encoder>> {
    if id.is_none() {
        return Ok(Box::new(PlainEncoder));
    }
    (codec(id)?.encode)(options)
}

/// Encodes bytes in memory.
///
/// # Errors
/// Returns the errors of [`encoder`].
pub fn encode(id: CodecId, data: &[u8], options: &EncodeOptions) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    let mut encoder = encoder(id, &EncodeOptions { total_len: Some(data.len() as u64), ..options.clone() })?;
    encoder.write(data, &mut out)?;
    encoder.finish(&mut out)?;
    Ok(out)
}

/// The encoder of blocks that are not compressed.
struct PlainEncoder;

impl Encoder for PlainEncoder {
    fn write(&mut self, data: &[u8], out: &mut dyn Write) -> Result<()> {
        parallel_encode::write_all(out, data)
    }

    fn finish(&mut self, _out: &mut dyn Write) -> Result<()> {
        Ok(())
    }
}

/// Refuses to end a block whose length was announced otherwise.
fn check_total(total: Option<u64>, written: u64) -> Result<()> {
    match total {
        Some(total) if total != written => {
            Err(Error::invalid_input(format!("{written} bytes were written, but {total} announced")))
        }
        _ => Ok(()),
    }
}

/// The level that was asked for, if the codec has it.
fn check_level(name: &str, options: &EncodeOptions, levels: RangeInclusive<i32>, usual: i32) -> Result<i32> {
    match options.level {
        None => Ok(usual),
        Some(level) if levels.contains(&level) => Ok(level),
        Some(level) => {
            Err(Error::invalid_input(format!("{name} has levels {} to {}, not {level}", levels.start(), levels.end())))
        }
    }
}

/// Refuses a level if the codec has none.
fn no_level(name: &str, options: &EncodeOptions) -> Result<()> {
    match options.level {
        None => Ok(()),
        Some(level) => Err(Error::invalid_input(format!("{name} has no levels, but level {level} was asked for"))),
    }
}

#[cfg(test)]
mod tests;
