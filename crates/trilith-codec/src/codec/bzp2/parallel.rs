//! bzip2 blocks found by their marks and decoded in parallel.
//!
//! The result is that of the sequential decoder, because a block is decoded as a separate stream that ends at the
//! next mark. Decoding succeeds only if the block's data ends exactly there, and there the sequential decoder would
//! look for a mark, too, and find this one. A mark inside of a block cuts it in two pieces that do not decode. The
//! first mismatch hands everything over to the sequential decoder, which then also words the error.

use std::collections::VecDeque;

use bzip2::{Decompress, Status};

use super::super::bit_io::{BitWriter, bits_at};
use super::super::stream::Pull;
use super::block_magic::{END, Marks};
use super::{SORTED, Serial, charge, serial, stream_level};
use crate::bytes::{SourceRef, copy, to_usize};
use crate::error::Result;
use crate::limits::Limits;
use crate::threads::{each, threads};

/// Stored bytes read at once for each thread.
const READ: u64 = 1 << 20;
/// A block of level 9 stores at most about 1.2 MB: without a mark for so long, there is none.
const LONGEST: u64 = 8 * (4 << 20);

/// A mark in the stored bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Mark {
    bit: u64,
    end: bool,
}

/// A step after the blocks of a batch are decoded.
enum Step {
    /// The next decoded block in order, with its CRC.
    Block { crc: u32 },
    /// A stream ends here; so its CRC over all blocks should be.
    End { crc: u32 },
}

/// A block to decode: its bits in the window, and the level of its stream.
struct Job {
    from: u64,
    to: u64,
    level: u8,
    crc: u32,
}

/// A decoder that works on several blocks at once.
pub(super) struct Parallel {
    stored: SourceRef,
    len: u64,
    limits: Limits,
    /// Stored bytes from byte `window_at` on, and the marks in them.
    window: Vec<u8>,
    window_at: u64,
    marks: VecDeque<Mark>,
    /// The bit at which the next header, mark or block begins.
    at: u64,
    /// The level of the stream that `at` is inside of; `None` before a header.
    level: Option<u8>,
    first: bool,
    sum: u32,
    /// Decoded and not yet handed out.
    ready: VecDeque<Vec<u8>>,
    taken: usize,
    made: u64,
    ended: bool,
    serial: Option<Serial>,
}

impl Parallel {
    pub(super) fn new(stored: SourceRef, len: u64, limits: &Limits) -> Self {
        Self {
            stored,
            len,
            limits: limits.clone(),
            window: Vec::new(),
            window_at: 0,
            marks: VecDeque::new(),
            at: 0,
            level: None,
            first: true,
            sum: 0,
            ready: VecDeque::new(),
            taken: 0,
            made: 0,
            ended: false,
            serial: None,
        }
    }

    fn window_end(&self) -> u64 {
        self.window_at + self.window.len() as u64
    }

    /// Reads more stored bytes and finds the marks in them; false at the end.
    fn more(&mut self) -> Result<bool> {
        let end = self.window_end();
        let take = (self.stored.len() - end).min(READ * threads() as u64);
        if take == 0 {
            return Ok(false);
        }
        let old = self.window.len();
        self.window.resize(old + to_usize(take)?, 0);
        let Some(fresh) = self.window.get_mut(old..) else { return Ok(false) };
        self.stored.read_at(end, fresh)?;
        // A mark may begin in the last six bytes before.
        let from = old.saturating_sub(6);
        let base = 8 * (self.window_at + from as u64);
        let known = self.marks.back().map_or(0, |mark| mark.bit + 1);
        Marks::default().find(self.window.get(from..).unwrap_or(&[]), |bit, end| {
            if base + bit >= known {
                self.marks.push_back(Mark { bit: base + bit, end });
            }
        });
        Ok(true)
    }

    /// The mark exactly at `bit`, reading on if the window ends before it would.
    fn mark_at(&mut self, bit: u64) -> Result<Option<Mark>> {
        while self.window_end() * 8 < bit + 80 && self.more()? {}
        let at = self.marks.partition_point(|mark| mark.bit < bit);
        Ok(self.marks.get(at).copied().filter(|mark| mark.bit == bit))
    }

    /// The first mark after `bit`.
    fn mark_after(&mut self, bit: u64) -> Result<Option<Mark>> {
        loop {
            let at = self.marks.partition_point(|mark| mark.bit <= bit);
            if let Some(mark) = self.marks.get(at) {
                return Ok(Some(*mark));
            }
            if self.window_end() * 8 > bit + LONGEST || !self.more()? {
                return Ok(None);
            }
        }
    }

    fn bits(&self, at: u64, n: u32) -> Option<u64> {
        bits_at(&self.window, at.checked_sub(8 * self.window_at)?, n)
    }

    /// Plans what to decode next, at most `most` blocks. Returns `None` if the marks do not fit together.
    fn plan(&mut self, most: usize) -> Result<Option<(Vec<Job>, Vec<Step>)>> {
        let (mut jobs, mut steps) = (Vec::new(), Vec::new());
        while jobs.len() < most && !self.ended {
            let Some(level) = self.level else {
                while self.window_end() * 8 < self.at + 32 && self.more()? {}
                let header = self.bits(self.at, 32).map_or([0; 4], |bits| (bits as u32).to_be_bytes());
                self.level = stream_level(&header);
                match self.level {
                    Some(_) => self.at += 32,
                    None if self.first => return Ok(None),
                    None => self.ended = true,
                }
                self.first = false;
                continue;
            };
            let Some(mark) = self.mark_at(self.at)? else { return Ok(None) };
            let Some(crc) = self.bits(self.at + 48, 32) else { return Ok(None) };
            let crc = crc as u32;
            if mark.end {
                steps.push(Step::End { crc });
                self.at = (self.at + 80).next_multiple_of(8);
                self.level = None;
            } else {
                let Some(next) = self.mark_after(self.at)? else { return Ok(None) };
                jobs.push(Job { from: self.at, to: next.bit, level, crc });
                steps.push(Step::Block { crc });
                self.at = next.bit;
            }
        }
        Ok(Some((jobs, steps)))
    }

    /// Decodes the next blocks; false if only the sequential decoder can go on.
    fn batch(&mut self) -> Result<bool> {
        let Some((jobs, steps)) = self.plan(2 * threads())? else { return Ok(false) };
        let (window, base) = (&self.window, 8 * self.window_at);
        let most = self.len.saturating_sub(self.made).saturating_add(1);
        let blocks = each(jobs, |job| Ok(decode_block(window, base, &job, most)))?;
        let mut blocks = blocks.into_iter();
        for step in steps {
            match step {
                Step::Block { crc } => {
                    let Some(Some(block)) = blocks.next() else { return Ok(false) };
                    charge(&self.limits, block.len() as u64, (block.len() as u64).min(SORTED))?;
                    self.sum = self.sum.rotate_left(1) ^ crc;
                    self.ready.push_back(block);
                }
                Step::End { crc } if crc == self.sum => self.sum = 0,
                Step::End { .. } => return Ok(false),
            }
        }
        let done = (self.at / 8).min(self.window_end());
        let drop = (done - self.window_at) as usize;
        self.window.drain(..drop);
        self.window_at = done;
        while self.marks.front().is_some_and(|mark| mark.bit < self.at) {
            self.marks.pop_front();
        }
        Ok(true)
    }

    /// Goes on in order, from the start up to what has been handed out already, and then beyond.
    fn hand_over(&mut self) -> Result<&mut Serial> {
        self.ready.clear();
        self.window = Vec::new();
        let mut serial = serial(self.stored.clone(), &self.limits);
        let mut scratch = vec![0; 256 << 10];
        let mut left = self.made;
        while left > 0 {
            let take = (scratch.len() as u64).min(left) as usize;
            let n = serial.pull(scratch.get_mut(..take).unwrap_or_default())?;
            if n == 0 {
                break;
            }
            left -= n as u64;
        }
        Ok(self.serial.insert(serial))
    }
}

impl Pull for Parallel {
    fn pull(&mut self, into: &mut [u8]) -> Result<usize> {
        let mut filled = 0;
        while let Some(rest) = into.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            if let Some(serial) = &mut self.serial {
                return Ok(filled + serial.pull(rest)?);
            }
            if let Some(block) = self.ready.front() {
                let found = block.get(self.taken..).unwrap_or(&[]);
                let n = copy(found, rest);
                self.taken += n;
                self.made += n as u64;
                filled += n;
                if n == found.len() {
                    self.ready.pop_front();
                    self.taken = 0;
                }
                continue;
            }
            if self.ended {
                break;
            }
            if !self.batch()? {
                self.hand_over()?;
            }
        }
        Ok(filled)
    }

    fn position(&self) -> u64 {
        self.serial.as_ref().map_or(self.at / 8, Pull::position)
    }
}

/// Decodes one block as a separate stream. Returns `None` if that is not exactly possible, or if it would be longer
/// than `most` bytes.
fn decode_block(window: &[u8], base: u64, job: &Job, most: u64) -> Option<Vec<u8>> {
    let mut writer = BitWriter::default();
    writer.put(u64::from(u32::from_be_bytes([b'B', b'Z', b'h', job.level])), 32);
    writer.copy(window, job.from - base, job.to - base);
    writer.put(END, 48);
    writer.put(u64::from(job.crc), 32);
    let stream = writer.finish();
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let mut out = Vec::with_capacity((usize::from(job.level - b'0') * 102_400).min(most));
    let mut state = Decompress::new(false);
    loop {
        let rest = stream.get(state.total_in() as usize..)?;
        match state.decompress_vec(rest, &mut out) {
            Ok(Status::StreamEnd) => break,
            Ok(Status::Ok) if out.len() == out.capacity() && out.len() < most => {
                out.reserve_exact(out.len().max(1 << 16).min(most - out.len()));
            }
            _ => return None,
        }
    }
    (state.total_in() as usize == stream.len()).then_some(out)
}
