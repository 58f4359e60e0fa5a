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

use bzip2::{Decompress, Status};

pub(super) use encode::encoder;

use super::input::{Input, file_byte};
use super::stream::{Opens, Pull};
use super::threads::threads;
use crate::bytes::SourceRef;
use crate::error::{Error, Result};
use crate::limits::Limits;

/// The mark at the start of every block, and the one at the end of a stream: 48 bits each.
const BLOCK: u64 = 0x3141_5926_5359;
const END: u64 = 0x1772_4538_5090;

/// A stored block shorter than this holds one bzip2 block or two: nothing to share.
const PARALLEL: u64 = 100_000;

/// Opens bzip2 streams.
pub(super) struct Bzip2;

impl Opens for Bzip2 {
    fn open(&self, stored: &SourceRef, len: u64, _limits: &Limits) -> Result<Box<dyn Pull>> {
        if threads() > 1 && stored.len() >= PARALLEL {
            return Ok(Box::new(parallel::Parallel::new(stored.clone(), len)));
        }
        Ok(Box::new(Serial::new(stored.clone())))
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
struct Serial {
    input: Input,
    stored: SourceRef,
    state: Decompress,
    ended: bool,
}

impl Serial {
    fn new(stored: SourceRef) -> Self {
        Self { input: Input::new(stored.clone()), stored, state: Decompress::new(false), ended: false }
    }

    /// After the end of a stream: goes on with the next where there is one. Anything else is left
    /// alone, as the bzip2 program does.
    fn next_stream(&mut self) -> Result<()> {
        let at = self.input.position();
        let mut header = [0; 4];
        if self.stored.len().saturating_sub(at) >= 4 {
            self.stored.read_at(at, &mut header)?;
        }
        match stream_level(&header) {
            Some(_) => self.state = Decompress::new(false),
            None => self.ended = true,
        }
        Ok(())
    }
}

impl Pull for Serial {
    fn pull(&mut self, into: &mut [u8]) -> Result<usize> {
        let mut filled = 0;
        while !self.ended {
            let Some(rest) = into.get_mut(filled..).filter(|rest| !rest.is_empty()) else { break };
            let next = self.input.next()?;
            let last = next.is_empty();
            let (before_in, before_out) = (self.state.total_in(), self.state.total_out());
            let status = self.state.decompress(next, rest);
            let taken = (self.state.total_in() - before_in) as usize;
            let made = (self.state.total_out() - before_out) as usize;
            self.input.skip(taken);
            filled += made;
            let fail = |message: &str| Error::malformed(message).at_byte(file_byte(&self.stored, self.input.position()));
            match status {
                Ok(Status::StreamEnd) => self.next_stream()?,
                Ok(Status::MemNeeded) => return Err(Error::limit("bzip2 found no memory to decode with")),
                Ok(_) if taken > 0 || made > 0 => {}
                Ok(_) if last => return Err(fail("the bzip2 stream is cut short")),
                Ok(_) => return Err(fail("the bzip2 stream makes no progress")),
                Err(bzip2::Error::DataMagic) => return Err(fail("no bzip2 stream: it does not begin with \"BZh\"")),
                Err(_) => return Err(fail("no valid bzip2 data, or its checksum is wrong")),
            }
        }
        Ok(filled)
    }

    fn position(&self) -> u64 {
        self.input.position()
    }
}
