//! `blsc`: one Blosc buffer (format 2 of c-blosc 1), as the Python package `blosc` writes it.
//!
//! A header of 16 bytes, a table of where the blocks begin, and the blocks, each rearranged
//! (shuffled) and compressed on its own, perhaps in as many parts as an item has bytes. So slices
//! decode only their blocks, and blocks decode on all cores. All inner formats are read (BloscLZ,
//! LZ4, Snappy, and zlib and zstd if their features are on); LZ4, zlib and zstd are written.
//!
//! A buffer holds less than 2 GiB, and a block of a file is one buffer: larger arrays need another
//! codec. Since sizes are at its front, it is held in memory until the end.
//!
//! Readers: Python asdf with the package `asdf-compression`, asdf-cxx.

mod blosclz_snappy;

use std::io::Write;
use std::sync::{Arc, OnceLock};

use super::chunks::{BlockChunk, ChunkedCodec, ChunkedSource, ExternalCodec};
use super::parallel_encode::{PieceSplitter, write_all};
use super::shuffle;
use super::stored_reader::file_byte;
use super::{BloscCodec, EncodeOptions, Encoder, ShuffleMode, check_level, check_total};
use crate::bytes::{SourceRef, read_vec};
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::threads::map_parallel;

/// Bytes of the header.
const HEADER_LEN: usize = 16;
/// The largest buffer, header and all.
const MAX_BUFFER_LEN: u64 = (1 << 31) - 1;
/// Bits of the flags: shuffled bytes, stored uncompressed, shuffled bits, of the future, in one part.
const FLAG_BYTE_SHUFFLE: u8 = 1;
const FLAG_MEMCPYED: u8 = 2;
const FLAG_BIT_SHUFFLE: u8 = 4;
const FLAG_RESERVED: u8 = 8;
const FLAG_DONT_SPLIT: u8 = 16;
/// Blocks are cut in parts only if items are at most this long, and parts at least this long.
const MAX_SPLITS: usize = 16;
const MIN_SPLIT_LEN: usize = 128;
/// Decoded bytes of a block that is written.
const BLOCK_LEN: usize = 256 << 10;

/// The header at the front of a buffer.
#[derive(Debug)]
struct BloscHeader {
    flags: u8,
    item: usize,
    /// Decoded bytes in all, and of each block but the last.
    len: u64,
    block: u64,
    /// The start of each block, in the order of the data, and the same in the order of the stored bytes with the
    /// end of the buffer: a block ends at the start of another.
    starts: Vec<u32>,
    bounds: Vec<u32>,
}

impl BloscHeader {
    fn read(stored: &SourceRef, limits: &Limits) -> Result<Self> {
        let fail = |message: String| Error::malformed(message).at_byte(file_byte(stored, 0));
        let mut head = [0; HEADER_LEN];
        if stored.len() < HEADER_LEN as u64 {
            return Err(fail(format!("expected a blosc header of 16 bytes, found {}", stored.len())));
        }
        stored.read_at(0, &mut head)?;
        let [version, _, flags, item, sizes @ ..] = head;
        let [len, block, total] = [0, 4, 8].map(|at| sizes.iter().skip(at).take(4).rev().fold(0, |n, b| n << 8 | u64::from(*b)));
        if version != 2 || flags & FLAG_RESERVED != 0 {
            let found = format!("blosc format {version} with flags {flags:02x}, expected format 2");
            return Err(Error::unsupported(found).at_byte(file_byte(stored, 0)));
        }
        if total > stored.len() || total > MAX_BUFFER_LEN || len > MAX_BUFFER_LEN {
            return Err(fail(format!("a blosc buffer of {total} bytes in {} stored bytes", stored.len())));
        }
        let mut header =
            Self { flags, item: usize::from(item).max(1), len, block: block.max(1), starts: Vec::new(), bounds: Vec::new() };
        if block == 0 && len > 0 || item == 0 {
            return Err(fail(format!("blosc blocks of {block} bytes and items of {item}")));
        }
        if flags & FLAG_MEMCPYED != 0 {
            return if total == len + HEADER_LEN as u64 {
                Ok(header)
            } else {
                Err(fail(format!("{total} bytes stored for {len}")))
            };
        }
        let count = len.div_ceil(header.block);
        if HEADER_LEN as u64 + 4 * count > total {
            return Err(fail(format!("the table of {count} blosc blocks does not fit into {total} bytes")));
        }
        let table = read_vec(&**stored, HEADER_LEN as u64, 4 * count, limits)?;
        header.starts = table.as_chunks::<4>().0.iter().map(|start| u32::from_le_bytes(*start)).collect();
        if let Some(start) =
            header.starts.iter().find(|start| u64::from(**start) < HEADER_LEN as u64 || u64::from(**start) >= total)
        {
            return Err(fail(format!("a blosc block at byte {start} of {total}")));
        }
        header.bounds.clone_from(&header.starts);
        header.bounds.push(total as u32);
        header.bounds.sort_unstable();
        Ok(header)
    }

    /// Returns the place of block `index`: from its start to the next one.
    fn block_range(&self, index: u64) -> Option<(u64, u64)> {
        let index = usize::try_from(index).ok()?;
        if self.flags & FLAG_MEMCPYED != 0 {
            let start = self.block.checked_mul(index as u64)?;
            return Some((HEADER_LEN as u64 + start, self.block.min(self.len.checked_sub(start)?)));
        }
        let start = *self.starts.get(index)?;
        let end = *self.bounds.get(self.bounds.partition_point(|bound| *bound <= start))?;
        Some((u64::from(start), u64::from(end - start)))
    }

    /// Decodes one block.
    fn decode_block(&self, bytes: &[u8], into: &mut [u8]) -> Result<()> {
        let len = into.len();
        if self.flags & FLAG_MEMCPYED != 0 {
            let bytes = bytes.get(..len).ok_or_else(|| Error::malformed("the blosc buffer is cut short"))?;
            into.copy_from_slice(bytes);
            return Ok(());
        }
        let shuffled = self.flags & FLAG_BYTE_SHUFFLE != 0 && self.item > 1;
        let bits = !shuffled && self.flags & FLAG_BIT_SHUFFLE != 0 && len >= self.item;
        if !shuffled && !bits {
            return self.decode_splits(bytes, into);
        }
        let mut plain = vec![0; len];
        self.decode_splits(bytes, &mut plain)?;
        if shuffled {
            shuffle::unshuffle(self.item, &plain, into);
        } else {
            shuffle::bit_unshuffle(self.item, &plain, into);
        }
        Ok(())
    }

    /// Decompresses the parts of one block.
    fn decode_splits(&self, mut bytes: &[u8], into: &mut [u8]) -> Result<()> {
        let len = into.len();
        let splits = self.flags & FLAG_DONT_SPLIT == 0 && self.item <= MAX_SPLITS && len as u64 == self.block;
        // Blosc 2 cuts shorter blocks, too, in buffers that are otherwise as Blosc 1 writes them.
        let parts = if splits && (len / self.item >= MIN_SPLIT_LEN || is_split(bytes, self.item)) { self.item } else { 1 };
        let part = len / parts;
        if part * parts != len {
            return Err(Error::malformed(format!("a blosc block of {len} bytes in {parts} parts")));
        }
        for to in into.chunks_mut(part.max(1)) {
            let cut = || Error::malformed("a blosc block is cut short");
            let (size, rest) = bytes.split_first_chunk::<4>().ok_or_else(cut)?;
            let (body, rest) = rest.split_at_checked(u32::from_le_bytes(*size) as usize).ok_or_else(cut)?;
            bytes = rest;
            if body.len() == to.len() {
                to.copy_from_slice(body);
            } else {
                self.decompress_part(body, to)?;
            }
        }
        Ok(())
    }

    /// Decompresses one part with the format that the header names.
    fn decompress_part(&self, body: &[u8], to: &mut [u8]) -> Result<()> {
        let len = to.len();
        let (name, done) = match self.flags >> 5 {
            0 => ("blosclz", blosclz_snappy::decode_blosclz(body, to)),
            1 => ("lz4", lz4_flex::block::decompress_into(body, to).ok()),
            2 => ("snappy", blosclz_snappy::decode_snappy(body, to)),
            3 => ("zlib", super::zlib::decompress(body, to)?),
            4 => ("zstd", super::zstd::decompress(body, to)?),
            other => return Err(Error::unsupported(format!("blosc inner format {other}"))),
        };
        match done {
            Some(n) if n == len => Ok(()),
            _ => Err(Error::malformed(format!("no valid {name} data for {len} bytes"))),
        }
    }
}

/// Returns `true` if exactly this number of parts, each with its size before it, fill these bytes.
fn is_split(mut bytes: &[u8], parts: usize) -> bool {
    for _ in 0..parts {
        let Some((size, rest)) = bytes.split_first_chunk::<4>() else { return false };
        let Some(rest) = rest.get(u32::from_le_bytes(*size) as usize..) else { return false };
        bytes = rest;
    }
    bytes.is_empty()
}

/// The decoded bytes.
pub(super) fn decode(stored: SourceRef, len: u64, limits: &Limits) -> Result<SourceRef> {
    Ok(Arc::new(ChunkedSource::new(Box::new(BloscChunks::new(len)), stored, len, limits)))
}

/// Reads the blocks of a buffer.
struct BloscChunks {
    len: u64,
    header: OnceLock<BloscHeader>,
}

impl BloscChunks {
    /// The buffer should decode to `len` bytes.
    pub(super) fn new(len: u64) -> Self {
        Self { len, header: OnceLock::new() }
    }

    fn get_or_read_header(&self, stored: &SourceRef, limits: &Limits) -> Result<&BloscHeader> {
        if let Some(header) = self.header.get() {
            return Ok(header);
        }
        let header = BloscHeader::read(stored, limits)?;
        if header.len != self.len {
            let found = format!("the blosc buffer decodes to {} bytes, expected {}", header.len, self.len);
            return Err(Error::malformed(found).at_byte(file_byte(stored, 4)));
        }
        Ok(self.header.get_or_init(|| header))
    }
}

impl ChunkedCodec for BloscChunks {
    fn coding(&self) -> ExternalCodec {
        ExternalCodec::Whole("blosc")
    }

    fn locate_chunk(
        &self,
        stored: &SourceRef,
        _at: u64,
        before: &BlockChunk,
        limits: &Limits,
    ) -> Result<Option<(BlockChunk, u64)>> {
        let header = self.get_or_read_header(stored, limits)?;
        let start = before.decoded.0.saturating_add(before.decoded.1);
        if start >= header.len {
            return Ok(None);
        }
        let index = before.index.wrapping_add(1);
        let place = header.block_range(index).ok_or_else(|| Error::malformed(format!("blosc block {index} has no place")))?;
        let decoded = (start, header.block.min(header.len - start));
        Ok(Some((BlockChunk { index, stored: place, decoded }, 0)))
    }

    fn decode_chunk(&self, _chunk: &BlockChunk, bytes: &[u8], into: &mut [u8]) -> Result<()> {
        let header = self.header.get().ok_or_else(|| Error::malformed("the blosc header was not read"))?;
        header.decode_block(bytes, into)
    }
}

/// Writes one buffer.
struct BloscEncoder {
    pieces: PieceSplitter,
    plan: BloscParams,
    total: Option<u64>,
    /// Decoded bytes so far, and the encoded blocks with where each begins.
    len: u64,
    starts: Vec<u32>,
    body: Vec<u8>,
}

/// Parameters for making blocks.
#[derive(Clone, Copy)]
struct BloscParams {
    item: usize,
    block: usize,
    level: i32,
    inner: BloscCodec,
    shuffle: ShuffleMode,
}

/// A writer of one buffer; levels 1 to 9, 5 unless given.
pub(super) fn new_encoder(options: &EncodeOptions) -> Result<Box<dyn Encoder>> {
    let level = check_level("blsc", options, 1..=9, 5)?;
    // Refused at once where that one was left out of the build.
    match options.blosc {
        BloscCodec::Lz4 => {}
        BloscCodec::Zlib => drop(super::zlib::new_encoder(&EncodeOptions::default())?),
        BloscCodec::Zstd => drop(super::zstd::new_encoder(&EncodeOptions::default())?),
    }
    let item = if (1..256).contains(&options.item_size) { options.item_size } else { 1 };
    // Bits are shuffled by groups of eight items.
    let block = BLOCK_LEN - BLOCK_LEN % (8 * item);
    let plan = BloscParams { item, block, level, inner: options.blosc, shuffle: options.shuffle };
    if let Some(total) = options.total_len {
        fits(total)?;
    }
    Ok(Box::new(BloscEncoder {
        pieces: PieceSplitter::new(block),
        plan,
        total: options.total_len,
        len: 0,
        starts: Vec::new(),
        body: Vec::new(),
    }))
}

/// Refuses more than a buffer can hold.
fn fits(len: u64) -> Result<()> {
    if len > MAX_BUFFER_LEN - HEADER_LEN as u64 {
        return Err(Error::unsupported(format!("blsc holds less than 2 GiB in a block, not {len} bytes"))
            .hint("use lz4 or zstd, or store the array in several blocks"));
    }
    Ok(())
}

impl BloscParams {
    fn part_count(&self, len: usize) -> usize {
        if self.one_part() || len != self.block { 1 } else { self.item }
    }

    fn one_part(&self) -> bool {
        self.inner == BloscCodec::Zstd || self.item > MAX_SPLITS || self.block / self.item < MIN_SPLIT_LEN
    }

    fn header_flags(&self) -> u8 {
        let shuffle = match self.shuffle {
            ShuffleMode::None => 0,
            ShuffleMode::Bytes => FLAG_BYTE_SHUFFLE,
            ShuffleMode::Bits => FLAG_BIT_SHUFFLE,
        };
        let inner = match self.inner {
            BloscCodec::Lz4 => 1,
            BloscCodec::Zlib => 3,
            BloscCodec::Zstd => 4,
        };
        shuffle | inner << 5 | if self.one_part() { FLAG_DONT_SPLIT } else { 0 }
    }

    fn encode_block(&self, piece: &[u8]) -> Result<Vec<u8>> {
        let mut moved = Vec::new();
        let bytes = match self.shuffle {
            ShuffleMode::Bytes if self.item > 1 => {
                moved.resize(piece.len(), 0);
                shuffle::shuffle(self.item, piece, &mut moved);
                &moved
            }
            ShuffleMode::Bits if piece.len() >= self.item => {
                moved.resize(piece.len(), 0);
                shuffle::bit_shuffle(self.item, piece, &mut moved);
                &moved
            }
            _ => piece,
        };
        let mut out = Vec::with_capacity(piece.len() / 2 + 64);
        for part in bytes.chunks((piece.len() / self.part_count(piece.len())).max(1)) {
            let start = out.len();
            out.extend_from_slice(&[0; 4]);
            self.compress_part(part, &mut out)?;
            // A part that does not become shorter is stored uncompressed; its length tells so.
            if out.len() - start - 4 >= part.len() {
                out.truncate(start + 4);
                out.extend_from_slice(part);
            }
            let size = (out.len() - start - 4) as u32;
            if let Some(to) = out.get_mut(start..start + 4) {
                to.copy_from_slice(&size.to_le_bytes());
            }
        }
        Ok(out)
    }

    /// Compresses a part to the end of `out`.
    fn compress_part(&self, part: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let failed = |error: std::io::Error| Error::unsupported(format!("blosc failed to encode: {error}"));
        match self.inner {
            BloscCodec::Lz4 => {
                let start = out.len();
                out.resize(start + lz4_flex::block::get_maximum_output_size(part.len()), 0);
                let n = lz4_flex::block::compress_into(part, out.get_mut(start..).unwrap_or_default())
                    .map_err(|error| Error::unsupported(format!("lz4: {error}")))?;
                out.truncate(start + n);
            }
            BloscCodec::Zlib => super::zlib::compress(self.level, part, out).map_err(failed)?,
            // c-blosc maps its nine levels to those of zstd in this way.
            BloscCodec::Zstd => {
                let level = if self.level < 9 { 2 * self.level - 1 } else { 22 };
                super::zstd::compress_bulk(level, part, out).map_err(failed)?;
            }
        }
        Ok(())
    }
}

impl BloscEncoder {
    fn encode_pieces(plan: BloscParams, pieces: &[&[u8]], starts: &mut Vec<u32>, body: &mut Vec<u8>) -> Result<()> {
        for block in map_parallel(pieces.to_vec(), |piece| plan.encode_block(piece))? {
            // Counted from the start of the blocks until the length of the table is known.
            starts.push(u32::try_from(body.len()).map_err(|_| Error::unsupported("blsc holds less than 2 GiB in a block"))?);
            body.extend_from_slice(&block);
        }
        Ok(())
    }
}

impl Encoder for BloscEncoder {
    fn write(&mut self, data: &[u8], _out: &mut dyn Write) -> Result<()> {
        self.len += data.len() as u64;
        fits(self.len)?;
        let (plan, starts, body) = (self.plan, &mut self.starts, &mut self.body);
        self.pieces.push_data(data, |pieces| Self::encode_pieces(plan, pieces, starts, body))
    }

    fn finish(&mut self, out: &mut dyn Write) -> Result<()> {
        check_total(self.total, self.len)?;
        let (plan, starts, body) = (self.plan, &mut self.starts, &mut self.body);
        self.pieces.finish(|pieces| Self::encode_pieces(plan, pieces, starts, body))?;
        let front = HEADER_LEN + 4 * self.starts.len();
        let total = (front + self.body.len()) as u64;
        if total > MAX_BUFFER_LEN {
            return Err(Error::unsupported(format!("blsc holds less than 2 GiB in a block, not {total} encoded bytes")));
        }
        let block = (self.plan.block as u64).min(self.len.max(1));
        // A buffer of one short block has a flag, otherwise it would be taken for a full one in parts.
        let whole = if self.len < self.plan.block as u64 { FLAG_DONT_SPLIT } else { 0 };
        let mut head = vec![2, 1, self.plan.header_flags() | whole, self.plan.item as u8];
        for size in [self.len, block, total] {
            head.extend_from_slice(&(size as u32).to_le_bytes());
        }
        for start in &self.starts {
            head.extend_from_slice(&(*start + front as u32).to_le_bytes());
        }
        write_all(out, &head)?;
        write_all(out, &self.body)
    }
}
