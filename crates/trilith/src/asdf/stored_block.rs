//! Blocks on their way into a file: encoding what they hold, and blocks that are in no file yet.

use std::io::{self, Write};
use std::sync::Arc;

use super::block::Block;
use super::checksum::{Md5Thread, md5_of};
use super::generation::{DRAFT_BLOCK_VERSION, Generation};
use super::md5;
use crate::array::{Array, Byteorder, Datatype};
use crate::bytes::{Source, SourceBacking, SourceRef, SpoolBuffer, WindowSource, is_detached, verify_backing};
use crate::codec::{self, CodecId, EncodeOptions, Encoder};
use crate::error::{Error, Result};

/// Options for storing one block.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct BlockOptions {
    /// The codec; None stores the bytes uncompressed.
    pub codec: Option<CodecId>,
    /// Parameters of the codec: level, item size, row size.
    pub encode: EncodeOptions,
    /// Written as a streamed block: the last of the file, without sizes.
    pub streamed: bool,
}

/// The bytes of one block while they are encoded: what its header will say of them.
pub(super) struct BlockEncoder {
    pub compression: [u8; 4],
    pub codes: [u8; 16],
    pub flags: u32,
    encoder: Option<Box<dyn Encoder>>,
    md5: Option<Md5Thread>,
    pub used: u64,
    pub data_size: u64,
}

impl BlockEncoder {
    /// Creates an encoding of no bytes yet. If `hashed` is `true`, it computes the checksum.
    pub(super) fn new(compression: [u8; 4], flags: u32, encoder: Option<Box<dyn Encoder>>, hashed: bool) -> Self {
        let md5 = hashed.then(Md5Thread::new);
        Self { compression, codes: [0; 16], flags, encoder, md5, used: 0, data_size: 0 }
    }

    /// By the options of a block that is not streamed.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if the row lacks the field for the codec, and the
    /// errors of [`codec::encoder`].
    pub(super) fn for_options(row: &Generation, options: &BlockOptions) -> Result<Self> {
        let hashed = row.fields.checksum.len == 16;
        let Some(id) = options.codec else { return Ok(Self::new([0; 4], 0, None, hashed)) };
        if row.fields.compression.is_none() {
            return Err(Error::invalid_input(format!("{} cannot hold a block compressed with {id}", row.name)));
        }
        Ok(Self::new(id.0, 0, Some(codec::encoder(id, &options.encode)?), hashed))
    }

    /// Returns `true` if the checksum is computed.
    pub(super) fn is_hashed(&self) -> bool {
        self.md5.is_some()
    }

    /// Computes the checksum of what comes from now on.
    pub(super) fn enable_checksum(&mut self) {
        self.md5.get_or_insert_default();
    }

    /// Turns the checksum off.
    pub(super) fn disable_checksum(&mut self) {
        self.md5 = None;
    }

    /// Takes decoded bytes; what is ready goes to `out`.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Io`](crate::ErrorKind::Io) if the operating system reports an error, and the errors of
    /// the codec.
    pub(super) fn encode_bytes(&mut self, bytes: &[u8], out: &mut dyn Write) -> Result<()> {
        crate::interrupt::check()?;
        self.data_size += bytes.len() as u64;
        match self.encoder.take() {
            Some(mut encoder) => {
                let done = encoder.write(bytes, &mut HashingTee { encoding: self, out });
                self.encoder = Some(encoder);
                done
            }
            None => self.store_bytes(bytes, out).map_err(|e| Error::io("writing", e)),
        }
    }

    /// Takes bytes as they are to be stored.
    pub(super) fn store_bytes(&mut self, bytes: &[u8], out: &mut dyn Write) -> io::Result<()> {
        if let Some(md5) = &mut self.md5 {
            md5.update(bytes);
        }
        out.write_all(bytes)?;
        self.used += bytes.len() as u64;
        Ok(())
    }

    /// Encodes what is left, and gives back the checksum.
    ///
    /// # Errors
    /// Returns the errors of [`BlockEncoder::encode_bytes`].
    pub(super) fn finish(&mut self, out: &mut dyn Write) -> Result<Option<[u8; 16]>> {
        if let Some(mut encoder) = self.encoder.take() {
            encoder.finish(&mut HashingTee { encoding: self, out })?;
        }
        Ok(self.md5.take().map(Md5Thread::finish))
    }
}

/// The output of an encoder, hashed on the way.
struct HashingTee<'a> {
    encoding: &'a mut BlockEncoder,
    out: &'a mut dyn Write,
}

impl Write for HashingTee<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.encoding.store_bytes(bytes, self.out)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A block that is in no file yet: its bytes as they will be stored, and what its header will say.
#[derive(Clone)]
#[non_exhaustive]
pub struct StoredBlock {
    /// Header of the block. Its offsets are not valid yet.
    pub block: Block,
    /// Used bytes of the block.
    pub stored: SourceRef,
    /// `true` if they are in memory, where they were hashed.
    pub(super) is_in_memory: bool,
    /// `true` if they are in memory, and the block gets its checksum with others: [`StoredBlock::add_checksums`].
    needs_checksum: bool,
}

/// A block up to this size is hashed with others once its bytes are in memory. A larger one is hashed by a thread while it is encoded.
const MAX_HASHED_LATER: u64 = 1 << 20;

impl std::fmt::Debug for StoredBlock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StoredBlock").field("block", &self.block).finish_non_exhaustive()
    }
}

impl StoredBlock {
    /// Encodes what `pieces` hands over; much of it waits in a temporary file.
    pub(crate) fn encode_pieces(
        row: &'static Generation,
        options: &BlockOptions,
        pieces: impl FnOnce(&mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()>,
    ) -> Result<Self> {
        let mut block = Self::encode_unhashed(row, options, pieces)?;
        Self::add_checksums(std::slice::from_mut(&mut block))?;
        Ok(block)
    }

    /// Does the same as [`StoredBlock::encode_pieces`], but leaves the checksum of a small block to [`StoredBlock::add_checksums`].
    pub(crate) fn encode_unhashed(
        row: &'static Generation,
        options: &BlockOptions,
        pieces: impl FnOnce(&mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()>,
    ) -> Result<Self> {
        let (mut encoding, mut out) = (BlockEncoder::for_options(row, options)?, SpoolBuffer::default());
        let is_small = options.encode.total_len.is_some_and(|len| len <= MAX_HASHED_LATER);
        let needs_checksum = is_small && encoding.is_hashed();
        if needs_checksum {
            encoding.disable_checksum();
        }
        pieces(&mut |bytes| encoding.encode_bytes(bytes, &mut out))?;
        let checksum = encoding.finish(&mut out)?;
        let (is_in_memory, stored) = (out.is_in_memory(), out.into_source("a new block")?);
        let block = new_block_header(row, encoding.compression, stored.len(), encoding.data_size, checksum);
        Ok(Self { block, stored, is_in_memory, needs_checksum })
    }

    /// Computes the checksums of the blocks that have none yet, of several at a time.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Cancelled`](crate::ErrorKind::Cancelled).
    pub(crate) fn add_checksums(blocks: &mut [Self]) -> Result<()> {
        let mut unhashed: Vec<&mut Self> = blocks.iter_mut().filter(|block| block.needs_checksum).collect();
        let stored: Vec<SourceRef> = unhashed.iter().map(|block| block.stored.clone()).collect();
        let views: Vec<&[u8]> = stored.iter().map(|bytes| bytes.view(0, bytes.len()).unwrap_or_default()).collect();
        for ((block, digest), view) in unhashed.iter_mut().zip(md5::digest_slices(&views)?).zip(&views) {
            // Bytes in a file are hashed when they are written.
            if view.len() as u64 == block.stored.len() {
                block.block.checksum = Some(digest.to_vec());
            }
            block.needs_checksum = false;
        }
        Ok(())
    }

    /// The elements of an array where they are, if they are in a file on this machine just as they are to be stored, and
    /// not in the one that `target` is made of, in which they may be written over before they are read.
    pub(super) fn of_file(
        row: &'static Generation,
        array: &Array,
        order: Byteorder,
        target: &dyn Source,
    ) -> Result<Option<Self>> {
        let source = array.source();
        let is_elsewhere =
            match (source.backing().and_then(SourceBacking::local_file), target.backing().and_then(SourceBacking::local_file)) {
                (Some(here), Some(there)) => !here.is_same_file(there),
                (Some(_), None) => true,
                (None, _) => false,
            };
        let stored = unchanged_bytes(array, order).filter(|_| is_elsewhere && !array.is_empty() && !is_detached(&**source));
        let Some(stored) = stored else { return Ok(None) };
        verify_backing(&**source)?;
        let len = array.nbytes();
        array.limits().charge_work(len)?;
        let stored: SourceRef = Arc::new(stored);
        let checksum = if row.fields.checksum.len == 16 { Some(md5_of(&*stored)?) } else { None };
        Ok(Some(Self {
            block: new_block_header(row, [0; 4], len, len, checksum),
            stored,
            is_in_memory: false,
            needs_checksum: false,
        }))
    }
}

/// Returns the elements of an array where they are, if they are contiguous, packed and in this byte order, so that a block
/// stores the same bytes.
pub(super) fn unchanged_bytes(array: &Array, order: Byteorder) -> Option<WindowSource> {
    let is_unchanged = array.is_c_contiguous() && array.byteorder() == order && !matches!(array.datatype(), Datatype::Struct(_));
    if !is_unchanged {
        return None;
    }
    WindowSource::new(array.source().clone(), array.offset(), array.nbytes()).ok()
}

/// Bytes in memory that belong to somebody else.
pub(super) struct BorrowedSource<'a>(pub(super) &'a [u8]);

impl Source for BorrowedSource<'_> {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        let found = self.view(offset, into.len() as u64);
        into.copy_from_slice(found.ok_or_else(|| Error::malformed("the array is too short").at_byte(offset))?);
        Ok(())
    }

    fn view(&self, offset: u64, len: u64) -> Option<&[u8]> {
        let (start, len) = (usize::try_from(offset).ok()?, usize::try_from(len).ok()?);
        self.0.get(start..start.checked_add(len)?)
    }
}

/// The header of a block that has no place yet.
fn new_block_header(
    row: &'static Generation,
    compression: [u8; 4],
    used: u64,
    data_size: u64,
    checksum: Option<[u8; 16]>,
) -> Block {
    Block {
        index: 0,
        generation: row,
        offset: 0,
        header_size: row.fields.size,
        data_offset: 0,
        version: DRAFT_BLOCK_VERSION,
        flags: 0,
        compression,
        encoding_codes: [0; 16],
        allocated: used,
        used,
        data_size,
        checksum: checksum.map(Vec::from),
        stored_size: None,
        extra_header: Vec::new(),
    }
}
