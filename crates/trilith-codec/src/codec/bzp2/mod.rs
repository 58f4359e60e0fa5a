//! `bzp2`: bzip2, one stream or several in a row.
//!
//! A bzip2 stream is a sequence of blocks that decode independently but do not begin at byte boundaries. They are
//! found by the 48-bit mark at their start, wrapped as streams of one block each, and decoded on all cores
//! ([`parallel`]). The mark may also occur inside of a block. Then the pieces around it do not decode, and the
//! whole is decoded in order instead, so that the result is always that of the sequential decoder.
//!
//! The output is one stream, since Python asdf stops after the first, and it has exactly the bytes that libbz2
//! makes of the same data: blocks are cut at the same places, compressed on all cores, and joined bit by bit.
//!
//! Readers: all of them.

mod block_magic;
mod encode;
mod parallel;

use std::sync::Arc;

use bzip2::{Decompress, Status};
pub(super) use encode::new_encoder;

use self::block_magic::MagicScanner;
use super::stream::{DecoderEngine, EngineDecoder, PullDecoder, StreamCodec, StreamSource};
use crate::bytes::SourceRef;
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::threads::threads;

/// A stored block shorter than this holds one bzip2 block or two: nothing to share.
const MIN_PARALLEL_BYTES: u64 = 100_000;

/// Cost of a decoded byte, and of one that was sorted, in bytes that are copied. The transform sorts at most
/// [`BLOCK_LEN`] bytes a block, even for runs that are far longer after decoding.
const COST_PER_BYTE: u64 = 2;
const COST_PER_SORTED_BYTE: u64 = 12;
/// Bytes that a block of level 9 holds in the form that is sorted.
const BLOCK_LEN: u64 = 900_000;

/// Counts what decoding costs, as much of it as is not the length that everybody counts.
fn charge_decoding(limits: &Limits, made: u64, sorted: u64) -> Result<()> {
    limits.charge_decoding(made.saturating_mul(COST_PER_BYTE - 1).saturating_add(sorted.saturating_mul(COST_PER_SORTED_BYTE)))
}

/// The decoded bytes.
pub(super) fn decode(stored: SourceRef, len: u64, limits: &Limits) -> Result<SourceRef> {
    Ok(Arc::new(StreamSource::new(Box::new(Bzip2), stored, len, limits)))
}

/// A stream whose length is not known is opened.
pub(super) fn open_stream(stored: &SourceRef, most: u64, limits: &Limits) -> Result<Box<dyn PullDecoder>> {
    Bzip2.open_stream(stored, most, limits)
}

/// Opens bzip2 streams.
struct Bzip2;

impl StreamCodec for Bzip2 {
    fn external_name(&self) -> Option<&'static str> {
        Some("bzip2")
    }

    fn open_stream(&self, stored: &SourceRef, len: u64, limits: &Limits) -> Result<Box<dyn PullDecoder>> {
        if threads() > 1 && stored.len() >= MIN_PARALLEL_BYTES {
            return Ok(Box::new(parallel::ParallelDecoder::new(stored.clone(), len, limits)));
        }
        Ok(Box::new(new_serial_decoder(stored.clone(), limits)))
    }
}

/// The level digit of a stream header (`BZh1` to `BZh9`), if there is one.
fn stream_level(header: &[u8]) -> Option<u8> {
    match header {
        [b'B', b'Z', b'h', level @ b'1'..=b'9', ..] => Some(*level),
        _ => None,
    }
}

/// Streams decoded in order by one thread.
type SerialDecoder = EngineDecoder<Bzip2Stream>;

/// Decoder of bzip2 streams, one after the other, with the counts that are charged to the limits.
struct Bzip2Stream {
    stream: Decompress,
    limits: Limits,
    /// Finds the blocks in what was taken, whose number bounds what had to be sorted.
    marks: MagicScanner,
    blocks: u64,
    decoded: u64,
    /// Number of bytes of `made` that were counted as sorted.
    sorted_bytes: u64,
}

/// Streams from the start of `stored` on, decoded in order.
fn new_serial_decoder(stored: SourceRef, limits: &Limits) -> SerialDecoder {
    let (stream, limits, marks) = (Decompress::new(false), limits.clone(), MagicScanner::default());
    EngineDecoder::new(stored, Bzip2Stream { stream, limits, marks, blocks: 0, decoded: 0, sorted_bytes: 0 })
}

impl Bzip2Stream {
    /// Counts what the bytes that were taken and made cost.
    fn charge_decoding(&mut self, taken: &[u8], made: u64) -> Result<()> {
        let blocks = &mut self.blocks;
        self.marks.scan(taken, |_, is_end| *blocks += u64::from(!is_end));
        self.decoded = self.decoded.saturating_add(made);
        let sorted = self.decoded.min(self.blocks.saturating_mul(BLOCK_LEN));
        let more = sorted.saturating_sub(self.sorted_bytes);
        self.sorted_bytes = sorted.max(self.sorted_bytes);
        charge_decoding(&self.limits, made, more)
    }
}

impl DecoderEngine for Bzip2Stream {
    const NAME: &'static str = "bzip2";

    fn decode_step(&mut self, from: &[u8], into: &mut [u8]) -> (usize, usize, Result<bool>) {
        let before = (self.stream.total_in(), self.stream.total_out());
        let status = self.stream.decompress(from, into);
        let (taken, made) = ((self.stream.total_in() - before.0) as usize, (self.stream.total_out() - before.1) as usize);
        if let Err(error) = self.charge_decoding(from.get(..taken).unwrap_or(from), made as u64) {
            return (taken, made, Err(error));
        }
        let ended = match status {
            Ok(Status::MemNeeded) => Err(Error::limit("bzip2 found no memory to decode with")),
            Ok(status) => Ok(status == Status::StreamEnd),
            Err(bzip2::Error::DataMagic) => Err(Error::malformed("no bzip2 stream: it does not begin with \"BZh\"")),
            Err(_) => Err(Error::malformed("no valid bzip2 data, or its checksum is wrong")),
        };
        (taken, made, ended)
    }

    /// Goes on with the next stream if there is one. Anything else is left alone, as the bzip2 program does.
    fn next_stream(&mut self, stored: &SourceRef, at: u64) -> Result<bool> {
        let mut header = [0; 4];
        if stored.len().saturating_sub(at) >= 4 {
            stored.read_at(at, &mut header)?;
        }
        let follows = stream_level(&header).is_some();
        if follows {
            self.stream = Decompress::new(false);
        }
        Ok(follows)
    }
}
