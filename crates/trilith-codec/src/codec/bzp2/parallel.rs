//! bzip2 blocks found by their marks and decoded in parallel.
//!
//! The result is that of the sequential decoder, because a block is decoded as a separate stream that ends at the
//! next mark. Decoding succeeds only if the block's data ends exactly there, and there the sequential decoder would
//! look for a mark, too, and find this one. A mark inside of a block cuts it in two pieces that do not decode. The
//! first mismatch hands everything over to the sequential decoder, which then also words the error.

use std::collections::VecDeque;

use bzip2::{Decompress, Status};

use super::super::bit_io::{BitWriter, bits_at};
use super::super::stream::PullDecoder;
use super::block_magic::{END_OF_STREAM_MAGIC, MagicScanner};
use super::{BLOCK_LEN, SerialDecoder, charge_decoding, new_serial_decoder, stream_level};
use crate::bytes::{SourceRef, copy, to_usize};
use crate::error::Result;
use crate::limits::Limits;
use crate::threads::{map_parallel, threads};

/// Stored bytes read at once for each thread.
const READ_SIZE: u64 = 1 << 20;
/// A block of level 9 stores at most about 1.2 MB: without a mark for so long, there is none.
const MAX_BLOCK_BITS: u64 = 8 * (4 << 20);

/// A mark in the stored bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct BlockMagic {
    bit: u64,
    end: bool,
}

/// A step after the blocks of a batch are decoded.
enum BatchStep {
    /// The next decoded block in order, with its CRC.
    Block { crc: u32 },
    /// A stream ends here; so its CRC over all blocks should be.
    End { crc: u32 },
}

/// A block to decode: its bits in the window, and the level of its stream.
struct BlockJob {
    from: u64,
    to: u64,
    level: u8,
    crc: u32,
}

/// A decoder that works on several blocks at once.
pub(super) struct ParallelDecoder {
    stored: SourceRef,
    len: u64,
    limits: Limits,
    /// Stored bytes from byte `window_offset` on, and the marks in them.
    window: Vec<u8>,
    window_offset: u64,
    marks: VecDeque<BlockMagic>,
    /// The bit at which the next header, mark or block begins.
    bit_position: u64,
    /// The level of the stream that `at` is inside of; `None` before a header.
    level: Option<u8>,
    is_first_stream: bool,
    combined_crc: u32,
    /// Decoded and not yet handed out.
    ready: VecDeque<Vec<u8>>,
    next_block: usize,
    decoded: u64,
    ended: bool,
    serial: Option<SerialDecoder>,
}

impl ParallelDecoder {
    pub(super) fn new(stored: SourceRef, len: u64, limits: &Limits) -> Self {
        Self {
            stored,
            len,
            limits: limits.clone(),
            window: Vec::new(),
            window_offset: 0,
            marks: VecDeque::new(),
            bit_position: 0,
            level: None,
            is_first_stream: true,
            combined_crc: 0,
            ready: VecDeque::new(),
            next_block: 0,
            decoded: 0,
            ended: false,
            serial: None,
        }
    }

    fn window_end(&self) -> u64 {
        self.window_offset + self.window.len() as u64
    }

    /// Reads more stored bytes and finds the marks in them; false at the end.
    fn read_more(&mut self) -> Result<bool> {
        let end = self.window_end();
        let take = (self.stored.len() - end).min(READ_SIZE * threads() as u64);
        if take == 0 {
            return Ok(false);
        }
        let old = self.window.len();
        self.window.resize(old + to_usize(take)?, 0);
        let Some(fresh) = self.window.get_mut(old..) else { return Ok(false) };
        self.stored.read_at(end, fresh)?;
        // A mark may begin in the last six bytes before.
        let from = old.saturating_sub(6);
        let base = 8 * (self.window_offset + from as u64);
        let known = self.marks.back().map_or(0, |mark| mark.bit + 1);
        MagicScanner::default().scan(self.window.get(from..).unwrap_or(&[]), |bit, end| {
            if base + bit >= known {
                self.marks.push_back(BlockMagic { bit: base + bit, end });
            }
        });
        Ok(true)
    }

    /// The mark exactly at `bit`, reading on if the window ends before it would.
    fn mark_at(&mut self, bit: u64) -> Result<Option<BlockMagic>> {
        while self.window_end() * 8 < bit + 80 && self.read_more()? {}
        let at = self.marks.partition_point(|mark| mark.bit < bit);
        Ok(self.marks.get(at).copied().filter(|mark| mark.bit == bit))
    }

    /// The first mark after `bit`.
    fn mark_after(&mut self, bit: u64) -> Result<Option<BlockMagic>> {
        loop {
            let at = self.marks.partition_point(|mark| mark.bit <= bit);
            if let Some(mark) = self.marks.get(at) {
                return Ok(Some(*mark));
            }
            if self.window_end() * 8 > bit + MAX_BLOCK_BITS || !self.read_more()? {
                return Ok(None);
            }
        }
    }

    fn peek_bits(&self, at: u64, n: u32) -> Option<u64> {
        bits_at(&self.window, at.checked_sub(8 * self.window_offset)?, n)
    }

    /// Plans what to decode next, at most `most` blocks. Returns `None` if the marks do not fit together.
    fn plan_batch(&mut self, most: usize) -> Result<Option<(Vec<BlockJob>, Vec<BatchStep>)>> {
        let (mut jobs, mut steps) = (Vec::new(), Vec::new());
        while jobs.len() < most && !self.ended {
            let Some(level) = self.level else {
                while self.window_end() * 8 < self.bit_position + 32 && self.read_more()? {}
                let header = self.peek_bits(self.bit_position, 32).map_or([0; 4], |bits| (bits as u32).to_be_bytes());
                self.level = stream_level(&header);
                match self.level {
                    Some(_) => self.bit_position += 32,
                    None if self.is_first_stream => return Ok(None),
                    None => self.ended = true,
                }
                self.is_first_stream = false;
                continue;
            };
            let Some(mark) = self.mark_at(self.bit_position)? else { return Ok(None) };
            let Some(crc) = self.peek_bits(self.bit_position + 48, 32) else { return Ok(None) };
            let crc = crc as u32;
            if mark.end {
                steps.push(BatchStep::End { crc });
                self.bit_position = (self.bit_position + 80).next_multiple_of(8);
                self.level = None;
            } else {
                let Some(next) = self.mark_after(self.bit_position)? else { return Ok(None) };
                jobs.push(BlockJob { from: self.bit_position, to: next.bit, level, crc });
                steps.push(BatchStep::Block { crc });
                self.bit_position = next.bit;
            }
        }
        Ok(Some((jobs, steps)))
    }

    /// Decodes the next blocks; false if only the sequential decoder can go on.
    fn decode_batch(&mut self) -> Result<bool> {
        let Some((jobs, steps)) = self.plan_batch(2 * threads())? else { return Ok(false) };
        let (window, base) = (&self.window, 8 * self.window_offset);
        let most = self.len.saturating_sub(self.decoded).saturating_add(1);
        let blocks = map_parallel(jobs, |job| Ok(decode_block(window, base, &job, most)))?;
        let mut blocks = blocks.into_iter();
        for step in steps {
            match step {
                BatchStep::Block { crc } => {
                    let Some(Some(block)) = blocks.next() else { return Ok(false) };
                    charge_decoding(&self.limits, block.len() as u64, (block.len() as u64).min(BLOCK_LEN))?;
                    self.combined_crc = self.combined_crc.rotate_left(1) ^ crc;
                    self.ready.push_back(block);
                }
                BatchStep::End { crc } if crc == self.combined_crc => self.combined_crc = 0,
                BatchStep::End { .. } => return Ok(false),
            }
        }
        let done = (self.bit_position / 8).min(self.window_end());
        let drop = (done - self.window_offset) as usize;
        self.window.drain(..drop);
        self.window_offset = done;
        while self.marks.front().is_some_and(|mark| mark.bit < self.bit_position) {
            self.marks.pop_front();
        }
        Ok(true)
    }

    /// Goes on in order, from the start up to what has been handed out already, and then beyond.
    fn fall_back_serial(&mut self) -> Result<&mut SerialDecoder> {
        self.ready.clear();
        self.window = Vec::new();
        let mut serial = new_serial_decoder(self.stored.clone(), &self.limits);
        let mut scratch = vec![0; 256 << 10];
        let mut left = self.decoded;
        while left > 0 {
            let take = (scratch.len() as u64).min(left) as usize;
            let n = serial.decode_next(scratch.get_mut(..take).unwrap_or_default())?;
            if n == 0 {
                break;
            }
            left -= n as u64;
        }
        Ok(self.serial.insert(serial))
    }
}

impl PullDecoder for ParallelDecoder {
    fn decode_next(&mut self, into: &mut [u8]) -> Result<usize> {
        let mut filled = 0;
        while let Some(rest) = into.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            if let Some(serial) = &mut self.serial {
                return Ok(filled + serial.decode_next(rest)?);
            }
            if let Some(block) = self.ready.front() {
                let found = block.get(self.next_block..).unwrap_or(&[]);
                let n = copy(found, rest);
                self.next_block += n;
                self.decoded += n as u64;
                filled += n;
                if n == found.len() {
                    self.ready.pop_front();
                    self.next_block = 0;
                }
                continue;
            }
            if self.ended {
                break;
            }
            if !self.decode_batch()? {
                self.fall_back_serial()?;
            }
        }
        Ok(filled)
    }

    fn position(&self) -> u64 {
        self.serial.as_ref().map_or(self.bit_position / 8, PullDecoder::position)
    }
}

/// Decodes one block as a separate stream. Returns `None` if that is not exactly possible, or if it would be longer
/// than `most` bytes.
fn decode_block(window: &[u8], base: u64, job: &BlockJob, most: u64) -> Option<Vec<u8>> {
    let mut writer = BitWriter::default();
    writer.write_bits(u64::from(u32::from_be_bytes([b'B', b'Z', b'h', job.level])), 32);
    writer.copy_bits(window, job.from - base, job.to - base);
    writer.write_bits(END_OF_STREAM_MAGIC, 48);
    writer.write_bits(u64::from(job.crc), 32);
    let stream = writer.into_bytes();
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
