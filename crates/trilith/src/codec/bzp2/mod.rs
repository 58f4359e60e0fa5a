//! `bzp2`: bzip2, one stream or several in a row.
//!
//! A bzip2 stream is a sequence of blocks that decode on their own but do not begin at byte
//! boundaries. They are found by the 48-bit mark at their start, wrapped as streams of one block
//! each, and decoded on all cores ([`parallel`]). That the mark also turns up inside of a block is
//! possible; then the pieces around it do not decode, and the whole is decoded in order instead, so
//! that the result is always that of the sequential decoder.
//!
//! What is written is one stream, since Python asdf stops after the first, and exactly the bytes
//! that libbz2 makes of the same data: blocks are cut at the same places, compressed on all cores,
//! and joined bit by bit.
//!
//! Readers: all of them.

mod encode;
mod parallel;

use std::sync::Arc;

use bzip2::{Decompress, Status};
pub(super) use encode::encoder;

use super::stream::{Engine, Opens, Pull, Pulling, Streamed};
use crate::bytes::SourceRef;
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::threads::threads;

/// The mark at the start of every block, and the one at the end of a stream: 48 bits each.
const BLOCK: u64 = 0x3141_5926_5359;
const END: u64 = 0x1772_4538_5090;

/// A stored block shorter than this holds one bzip2 block or two: nothing to share.
const PARALLEL: u64 = 100_000;

/// The decoded bytes.
pub(super) fn decode(stored: SourceRef, len: u64, limits: &Limits) -> Result<SourceRef> {
    Ok(Arc::new(Streamed::new(Box::new(Bzip2), stored, len, limits)))
}

/// A stream whose length is not known is opened.
pub(super) fn open(stored: &SourceRef, most: u64, limits: &Limits) -> Result<Box<dyn Pull>> {
    Bzip2.open(stored, most, limits)
}

/// Opens bzip2 streams.
struct Bzip2;

impl Opens for Bzip2 {
    fn open(&self, stored: &SourceRef, len: u64, _limits: &Limits) -> Result<Box<dyn Pull>> {
        if threads() > 1 && stored.len() >= PARALLEL {
            return Ok(Box::new(parallel::Parallel::new(stored.clone(), len)));
        }
        Ok(Box::new(serial(stored.clone())))
    }
}

/// The level digit of a stream header (`BZh1` to `BZh9`), where there is one.
fn stream_level(header: &[u8]) -> Option<u8> {
    match header {
        [b'B', b'Z', b'h', level @ b'1'..=b'9', ..] => Some(*level),
        _ => None,
    }
}

/// Streams decoded in order by one thread.
type Serial = Pulling<Bunzip>;

/// One stream of them.
struct Bunzip(Decompress);

/// Streams from the start of `stored` on, decoded in order.
fn serial(stored: SourceRef) -> Serial {
    Pulling::new(stored, Bunzip(Decompress::new(false)))
}

impl Engine for Bunzip {
    const NAME: &'static str = "bzip2";

    fn step(&mut self, from: &[u8], into: &mut [u8]) -> (usize, usize, Result<bool>) {
        let before = (self.0.total_in(), self.0.total_out());
        let status = self.0.decompress(from, into);
        let (taken, made) = ((self.0.total_in() - before.0) as usize, (self.0.total_out() - before.1) as usize);
        let ended = match status {
            Ok(Status::MemNeeded) => Err(Error::limit("bzip2 found no memory to decode with")),
            Ok(status) => Ok(status == Status::StreamEnd),
            Err(bzip2::Error::DataMagic) => Err(Error::malformed("no bzip2 stream: it does not begin with \"BZh\"")),
            Err(_) => Err(Error::malformed("no valid bzip2 data, or its checksum is wrong")),
        };
        (taken, made, ended)
    }

    /// Goes on with the next stream where there is one. Anything else is left alone, as the bzip2 program does.
    fn another(&mut self, stored: &SourceRef, at: u64) -> Result<bool> {
        let mut header = [0; 4];
        if stored.len().saturating_sub(at) >= 4 {
            stored.read_at(at, &mut header)?;
        }
        let follows = stream_level(&header).is_some();
        if follows {
            self.0 = Decompress::new(false);
        }
        Ok(follows)
    }
}
