//! Encoder of one bzip2 stream, whose blocks are compressed in parallel.

use std::io::Write;

use bzip2::{Action, Compress, Compression, Status};

use super::super::bit_io::{BitWriter, bits_at};
use super::super::parallel_encode::write_all;
use super::super::{EncodeOptions, Encoder, check_level};
use super::block_magic::{BLOCK_MAGIC, END_OF_STREAM_MAGIC};
use crate::error::{Error, Result};
use crate::threads::{map_parallel, threads};

/// A writer of one bzip2 stream; levels 1 to 9, 9 unless given.
pub(in super::super) fn new_encoder(options: &EncodeOptions) -> Result<Box<dyn Encoder>> {
    let level = check_level("bzp2", options, 1..=9, 9)? as u8;
    Ok(Box::new(Bzip2Encoder {
        cutter: BlockSplitter::new(level),
        pending: Vec::new(),
        cuts: Vec::new(),
        join: StreamAssembler { level, has_started: false, bits: BitWriter::default(), combined_crc: 0 },
    }))
}

/// Finds where libbz2 ends its blocks: each holds a fixed number of bytes *after* the run-length
/// coding that comes first, in which four equal bytes are followed by a count of more of them, and
/// a run that is still open when the block is full belongs to the next.
struct BlockSplitter {
    max_len: u32,
    filled: u32,
    byte: u8,
    /// Length of the open run, 0 before the first byte.
    run: u32,
}

impl BlockSplitter {
    fn new(level: u8) -> Self {
        Self { max_len: u32::from(level) * 100_000 - 19, filled: 0, byte: 0, run: 0 }
    }

    /// Looks at `data`; where a block ends, says how many of the bytes seen so far, counted from
    /// the first of `data`, come before the open run. `seen` counts bytes looked at.
    fn scan_block(&mut self, data: &[u8], seen: &mut usize) -> bool {
        let (mut filled, mut byte, mut run) = (self.filled, self.byte, self.run);
        let mut full = false;
        for next in data {
            *seen += 1;
            if *next == byte && run > 0 && run < 255 {
                run += 1;
                continue;
            }
            filled += if run < 4 { run } else { 5 };
            (byte, run) = (*next, 1);
            if filled >= self.max_len {
                filled = 0;
                full = true;
                break;
            }
        }
        (self.filled, self.byte, self.run) = (filled, byte, run);
        full
    }
}

struct Bzip2Encoder {
    cutter: BlockSplitter,
    pending: Vec<u8>,
    /// The ends of blocks in `pending`.
    cuts: Vec<usize>,
    join: StreamAssembler,
}

impl Bzip2Encoder {
    /// Compresses the blocks found so far and keeps what comes after them.
    fn flush_blocks(&mut self, out: &mut dyn Write) -> Result<()> {
        let mut blocks = Vec::with_capacity(self.cuts.len());
        let mut from = 0;
        for cut in self.cuts.drain(..) {
            blocks.push(self.pending.get(from..cut).unwrap_or(&[]));
            from = cut;
        }
        self.join.write_blocks(blocks, out)?;
        self.pending.drain(..from);
        Ok(())
    }
}

impl Encoder for Bzip2Encoder {
    fn write(&mut self, mut data: &[u8], out: &mut dyn Write) -> Result<()> {
        while !data.is_empty() {
            let mut seen = 0;
            let full = self.cutter.scan_block(data, &mut seen);
            let (now, later) = data.split_at(seen.min(data.len()));
            self.pending.extend_from_slice(now);
            data = later;
            if full {
                // The byte that begins the open run is the last one seen.
                self.cuts.push(self.pending.len() - 1);
                if self.cuts.len() >= 2 * threads() {
                    self.flush_blocks(out)?;
                }
            }
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut dyn Write) -> Result<()> {
        if self.cuts.last().copied().unwrap_or(0) < self.pending.len() {
            self.cuts.push(self.pending.len());
        }
        self.flush_blocks(out)?;
        self.join.finish(out)
    }
}

/// The one stream that the blocks go into.
struct StreamAssembler {
    level: u8,
    has_started: bool,
    bits: BitWriter,
    /// The CRC of the stream, made of those of its blocks.
    combined_crc: u32,
}

impl StreamAssembler {
    fn write_header(&mut self) {
        if !self.has_started {
            self.has_started = true;
            self.bits.write_bits(u64::from(u32::from_be_bytes([b'B', b'Z', b'h', b'0' + self.level])), 32);
        }
    }

    fn write_blocks(&mut self, blocks: Vec<&[u8]>, out: &mut dyn Write) -> Result<()> {
        self.write_header();
        let level = self.level;
        for stream in map_parallel(blocks, |block| compress_block(level, block))? {
            let end = stream_end(&stream).ok_or_else(|| Error::unsupported("libbz2 wrote a stream of an unknown form"))?;
            let crc = bits_at(&stream, 32 + 48, 32).unwrap_or(0) as u32;
            self.combined_crc = self.combined_crc.rotate_left(1) ^ crc;
            self.bits.copy_bits(&stream, 32, end);
            write_all(out, &self.bits.take_bytes())?;
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut dyn Write) -> Result<()> {
        self.write_header();
        let mut bits = std::mem::take(&mut self.bits);
        bits.write_bits(END_OF_STREAM_MAGIC, 48);
        bits.write_bits(u64::from(self.combined_crc), 32);
        write_all(out, &bits.into_bytes())
    }
}

/// Returns the start of the end mark of a stream of one block: 80 bits and up to 7 of padding before its last bit.
fn stream_end(stream: &[u8]) -> Option<u64> {
    let bits = 8 * stream.len() as u64;
    if bits_at(stream, 32, 48) != Some(BLOCK_MAGIC) {
        return None;
    }
    (80..88).filter_map(|back| bits.checked_sub(back)).find(|at| bits_at(stream, *at, 48) == Some(END_OF_STREAM_MAGIC))
}

/// Compresses one block as a separate stream.
fn compress_block(level: u8, block: &[u8]) -> Result<Vec<u8>> {
    let fail = || Error::unsupported("bzip2 failed to compress a block");
    let mut state = Compress::new(Compression::new(u32::from(level)), 0);
    let mut out = Vec::with_capacity(block.len() / 2 + 1024);
    loop {
        let rest = block.get(state.total_in() as usize..).unwrap_or(&[]);
        match state.compress_vec(rest, &mut out, Action::Finish).map_err(|_| fail())? {
            Status::StreamEnd => return Ok(out),
            _ => out.reserve(block.len() / 2 + 1024),
        }
    }
}
