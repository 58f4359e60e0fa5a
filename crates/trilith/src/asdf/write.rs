//! Writing a file of any generation: header, tree, blocks, index.
//!
//! [`FileWriter`] takes the parts in the order of the file and only ever moves forward, but for one
//! step back at the end of each block whose size was not known when it began. The fields of a block
//! header come from the generation table.

use std::collections::VecDeque;
use std::io::{Seek, SeekFrom, Write};
use std::ops::Range;

use super::block::{Block, BlockHeaderValues, ENCODED, RESERVED, STREAMED, fill_fields};
use super::checksum::{self, DAMAGED_BLOCK_HINT};
use super::generation::{DRAFT_BLOCK_VERSION, Generation};
use super::index;
use super::sections::{AsdfSections, UnusedContent};
use super::stored_block::{BlockEncoder, BlockOptions, StoredBlock};
use crate::bytes::{PieceAccess, Source, SourceRef, for_each_piece, verify_backing};
use crate::codec;
use crate::diagnostic::Diagnostic;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;

/// Options for the layout of a file.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct WriteOptions {
    /// Data of uncompressed blocks begin at a multiple of this many bytes, so that they can be
    /// viewed in place: 64 suits every datatype, 4096 direct I/O. None is 64, and 1 before ASDF 1.0, where blocks
    /// follow one another.
    pub align: Option<u64>,
    /// `true` if to write MD5 checksums of the stored bytes.
    pub checksums: bool,
    /// `true` if a streamed block that is copied keeps its MD5, which more rows would make wrong.
    pub stream_checksum: bool,
    /// `true` to write a block index (if the generation has one).
    pub index: bool,
    /// Spare bytes after the tree, for growing it in place later.
    pub tree_padding: u64,
    /// `true` if the content of unused space of the file that is rewritten is written again, because the new file takes its place.
    pub keep_unused: bool,
    /// Writes the block mark as the document of the generation spells it, which before 2015 was 0x89, instead of
    /// as programs did (0xd3).
    pub as_documented: bool,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self {
            align: None,
            checksums: true,
            stream_checksum: true,
            index: true,
            tree_padding: 0,
            keep_unused: false,
            as_documented: false,
        }
    }
}

/// The place of a written block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlockLocation {
    /// First byte of the mark.
    pub offset: u64,
    /// Bytes on disk.
    pub used: u64,
    /// Bytes when decoded.
    pub data_size: u64,
}

/// The position of a copied block in the new file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BlockPosition {
    /// Any position, where a streamed block gets sizes.
    Any,
    /// The last position, where a streamed block stays streamed.
    Last,
}

/// Writes a file from its first to its last byte.
///
/// ```
/// use trilith::asdf::{FileWriter, WriteOptions, GENERATIONS, BlockOptions};
/// use trilith::bytes::MemorySource;
/// let mut out = std::io::Cursor::new(Vec::new());
/// let newest = GENERATIONS.last().unwrap();
/// let mut writer = FileWriter::new(&mut out, newest, WriteOptions::default());
/// writer.header("#ASDF 1.0.0", &["#ASDF_STANDARD 1.6.0".to_owned()], Some("%YAML 1.1\n---\na: 1\n...\n"))?;
/// writer.block(&MemorySource::new(vec![1, 2, 3], "data"), &BlockOptions::default())?;
/// writer.finish()?;
/// assert!(out.into_inner().starts_with(b"#ASDF 1.0.0\n"));
/// # Ok::<(), trilith::Error>(())
/// ```
pub struct FileWriter<W: Write + Seek> {
    output: W,
    position: u64,
    /// The last bytes of what was written, held back so that a header can be filled in without going back in the file.
    buffer: Vec<u8>,
    generation: &'static Generation,
    options: WriteOptions,
    offsets: Vec<u64>,
    /// The place that may still get spare space: after the tree, or after the last block.
    pending_padding: PendingPadding,
    /// The spaces after the tree: where they begin and how many there are.
    fill_byte: (u64, u64),
    has_tree: bool,
    streamed: bool,
    keeps_padding: bool,
    /// Content of unused space, with the number of blocks before it.
    unused: VecDeque<(usize, SourceRef, Range<u64>)>,
    damaged: Vec<Diagnostic>,
}

/// Bytes held back at most. A larger buffer costs small files more than it saves large ones, since its memory is new for each file.
const MAX_BUFFERED: usize = 128 << 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PendingPadding {
    /// Spaces may follow the tree.
    Tree,
    /// The last block, of which this is the place of its `allocated` field and its value.
    Block { field: u64, allocated: u64 },
    /// Zeros may follow the content of unused space.
    Unused,
    /// Spare bytes have no place, because nothing may follow the header line and its comments.
    Header,
}

impl<W: Write + Seek> FileWriter<W> {
    /// A writer at the start of `out`.
    pub fn new(out: W, generation: &'static Generation, options: WriteOptions) -> Self {
        let (offsets, spare) = (Vec::new(), PendingPadding::Header);
        Self {
            output: out,
            position: 0,
            buffer: Vec::new(),
            generation,
            options,
            offsets,
            pending_padding: spare,
            fill_byte: (0, 0),
            has_tree: false,
            streamed: false,
            keeps_padding: false,
            unused: VecDeque::new(),
            damaged: Vec::new(),
        }
    }

    /// Spells the new file as an existing one that it takes the place of: the magic number of its blocks, if that is the one of
    /// the document, and spaces after the tree, which otherwise become zeros if the generation has an index.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Io`] if the existing file cannot be read.
    pub fn match_existing(&mut self, sections: &AsdfSections) -> Result<()> {
        self.keeps_padding |= sections.filling()? == b' ';
        self.set_magic(sections.is_as_documented()?);
        Ok(())
    }

    /// Takes the content of unused space of an existing file that the new one takes the place of, if the options ask for it. Content
    /// between blocks stays after the same number of blocks if others follow. Otherwise it comes after the tree. `blocks` is the
    /// number of blocks of the new file.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Unsupported`] if the new file has no place for it, and the errors of
    /// [`AsdfSections::unused_content`].
    pub(crate) fn keep_unused(&mut self, sections: &AsdfSections, blocks: usize) -> Result<()> {
        if !self.options.keep_unused {
            return Ok(());
        }
        let mut kept = Vec::new();
        for UnusedContent { block, range } in sections.unused_content()? {
            let before = block.map_or(0, |block| block + 1);
            let before = if before < blocks && self.generation.index { before } else { 0 };
            if before == 0 && (blocks == 0 || !self.has_tree) {
                let message = "the content of unused space would be lost: the new file has no tree with blocks after it";
                return Err(Error::unsupported(message).at_byte(range.start).hint("write to another file, which leaves it out"));
            }
            kept.push((before, sections.source().clone(), range));
        }
        kept.sort_by_key(|(before, ..)| *before);
        self.unused = kept.into();
        Ok(())
    }

    /// Writes the content of unused space that comes before the next block.
    fn write_unused(&mut self) -> Result<()> {
        while self.unused.front().is_some_and(|(before, ..)| *before <= self.offsets.len()) {
            let Some((_, source, range)) = self.unused.pop_front() else { break };
            for_each_piece(&*source, range, 8 << 20, PieceAccess::Copy, &mut |piece| self.write_bytes(piece))?;
            self.pending_padding = PendingPadding::Unused;
        }
        Ok(())
    }

    /// Writes the magic number of the document, if `documented`, and not that of the programs.
    pub(crate) fn set_magic(&mut self, documented: bool) {
        self.options.as_documented |= documented;
    }

    /// Writes header line, comments and tree (the whole YAML document, `%YAML` to `...`).
    ///
    /// # Errors
    /// Returns [`ErrorKind::Io`] if the operating system reports an error.
    pub fn header(&mut self, line: &str, comments: &[String], tree: Option<&str>) -> Result<()> {
        self.header_of_bytes(line, comments, tree)
    }

    /// Does the same as [`FileWriter::header`], with comments in any encoding.
    pub(crate) fn header_of_bytes(&mut self, line: &str, comments: &[impl AsRef<[u8]>], tree: Option<&str>) -> Result<()> {
        let mut head = Vec::with_capacity(line.len() + 2);
        // A file has one kind of line end.
        let is_dos = tree.is_some_and(|tree| tree.split_once('\n').is_some_and(|(first, _)| first.ends_with('\r')));
        let line_end = if is_dos { "\r\n" } else { "\n" };
        // Blank comments were filling, see `align`.
        let is_blank = |text: &[u8]| text.iter().all(|b| matches!(b, b'#' | b' '));
        let comments = comments.iter().map(AsRef::as_ref).filter(|text| tree.is_some() || !is_blank(text));
        for text in std::iter::once(line.as_bytes()).chain(comments) {
            head.extend_from_slice(text);
            head.extend_from_slice(line_end.as_bytes());
        }
        self.write_bytes(&head)?;
        if let Some(tree) = tree {
            self.write_bytes(tree.as_bytes())?;
            if !tree.ends_with('\n') {
                self.write_bytes(line_end.as_bytes())?;
            }
            self.write_spaces(self.options.tree_padding)?;
            self.pending_padding = PendingPadding::Tree;
            self.has_tree = true;
        }
        Ok(())
    }

    /// Writes a block with the bytes of `data`.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Io`] if the operating system reports an error, the errors of the
    /// codec, and an error if `data` cannot be read.
    pub fn block(&mut self, data: &dyn Source, options: &BlockOptions) -> Result<BlockLocation> {
        let mut sized = options.clone();
        sized.encode.total_len = Some(data.len());
        let mut block = self.begin_block(&sized)?;
        block.write_all(data)?;
        block.finish()
    }

    /// Writes a block of bytes that nothing vouches for: without a checksum.
    pub(crate) fn mark_unverified(&mut self, data: &dyn Source) -> Result<BlockLocation> {
        let mut encoding = BlockEncoder::for_options(self.generation, &BlockOptions::default())?;
        encoding.disable_checksum();
        let mut block = self.begin_with(encoding, &[])?;
        block.copy_all(data)?;
        block.finish()
    }

    /// Copies the stored bytes of a block (`stored`), without decoding them. They are compared with the checksum in the header of
    /// the block. If they differ, the block keeps its wrong checksum, and [`FileWriter::finish`] reports the block.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`] if this generation cannot hold the block as it is, [`ErrorKind::Malformed`] if its bytes
    /// differ from its checksum and this generation has no place for one, [`ErrorKind::Io`], and what reading `stored` returns.
    pub fn copy(&mut self, stored: &SourceRef, block: &Block) -> Result<BlockLocation> {
        self.copy_as(stored, block, BlockPosition::Any)
    }

    /// Writes a block that is in no file yet. One in memory is not hashed again.
    ///
    /// # Errors
    /// Returns the errors of [`FileWriter::copy`].
    pub(crate) fn write_stored_block(&mut self, new: &StoredBlock) -> Result<BlockLocation> {
        let block = &new.block;
        let bytes = if new.is_in_memory { new.stored.view(0, new.stored.len()) } else { None };
        let Some(bytes) = bytes.filter(|_| block.generation == self.generation) else { return self.copy(&new.stored, block) };
        let checksum = block.checksum.as_deref().filter(|_| self.options.checksums);
        let mut copy = self.begin_with(BlockEncoder::new(block.compression, block.flags, None, false), &[])?;
        (copy.encoding.used, copy.encoding.data_size) = (bytes.len() as u64, block.data_size);
        // All fields are known, and the header is still held back.
        let location = copy.patch_header(checksum)?;
        self.write_bytes(bytes)?;
        Ok(location)
    }

    /// Copies the last block of a file. A streamed block stays streamed.
    ///
    /// # Errors
    /// Returns the errors of [`FileWriter::copy`], and [`ErrorKind::InvalidInput`] if this generation has no streamed blocks.
    pub fn copy_last_block(&mut self, stored: &SourceRef, block: &Block) -> Result<BlockLocation> {
        self.copy_as(stored, block, BlockPosition::Last)
    }

    fn copy_as(&mut self, stored: &SourceRef, block: &Block, position: BlockPosition) -> Result<BlockLocation> {
        if !block.is_within(self.generation) {
            return Err(Error::invalid_input(format!(
                "{} cannot hold block {} in its stored form",
                self.generation.name, block.index
            )));
        }
        let streams = position == BlockPosition::Last && block.is_streamed();
        // Undefined fields are kept if the row stays the same.
        let is_same = block.generation == self.generation;
        let unknown = if is_same { block.unknown_flags() } else { 0 };
        let flags = unknown | if block.has_encoding_chain() { ENCODED } else { 0 } | if streams { STREAMED } else { 0 };
        let extra = if is_same { block.extra_header.as_slice() } else { &[] };
        let stated = block.checksum_rule();
        let mut copy = self.begin_raw(block.compression, flags, None, extra)?;
        copy.encoding.codes = block.encoding_codes;
        if is_same {
            (copy.version, copy.unknown_sizes) = (block.version, (block.allocated, block.used, block.data_size));
        }
        let is_hashed = copy.encoding.is_hashed() || (streams && copy.file.options.stream_checksum);
        if stated.is_some() {
            copy.encoding.enable_checksum();
        }
        copy.copy_all(&**stored)?;
        copy.encoding.data_size = block.decoded_len();
        let found = copy.encoding.finish(&mut AppendedTail(copy.file))?;
        let compared = match (&stated, &found) {
            (Some(stated), Some(found)) => Some(checksum::compare_checksum(stated, found, stored.clone(), &Limits::default())),
            _ => None,
        };
        let Some(Err(error)) = compared else {
            let kept = block.checksum.as_deref().filter(|_| is_same && stated.is_none());
            return copy.patch_header(found.as_ref().filter(|_| is_hashed).map(<[u8; 16]>::as_slice).or(kept));
        };
        if error.kind() != ErrorKind::Malformed || copy.file.generation.fields.checksum.len != 16 {
            return Err(error.at_byte(block.offset).hint(DAMAGED_BLOCK_HINT).context(format!(
                "block {} of {}",
                block.index,
                stored.name()
            )));
        }
        let message = format!("block {} of {} is damaged: {}", block.index, stored.name(), error.message());
        copy.file.damaged.push(Diagnostic::loss_without_path(message));
        copy.patch_header(stated.as_ref().map(|stated| stated.md5.as_slice()))
    }

    /// Writes a block whose encoding chain was applied already: `stored` is its YAML and the data (generation E).
    ///
    /// # Errors
    /// Returns the errors of [`FileWriter::copy`].
    pub fn encoded(&mut self, stored: &dyn Source, memory_size: u64) -> Result<BlockLocation> {
        if !self.generation.encoded {
            return Err(Error::invalid_input(format!("{} has no encoding chains", self.generation.name)));
        }
        let mut block = self.begin_raw([0; 4], ENCODED, None, &[])?;
        block.write_all(stored)?;
        block.encoding.data_size = memory_size;
        block.finish()
    }

    /// Begins a block that is then written piece by piece, for arrays larger than memory.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`] after a streamed block, or if the generation lacks the
    /// field for the codec.
    pub fn begin_block(&mut self, options: &BlockOptions) -> Result<BlockWriter<'_, W>> {
        let streams = options.streamed && options.codec.is_none();
        let (mut encoding, hashed) = (BlockEncoder::for_options(self.generation, options)?, self.options.checksums && !streams);
        encoding.flags = if streams { STREAMED } else { 0 };
        if !hashed {
            encoding.disable_checksum();
        }
        self.begin_with(encoding, &[])
    }

    /// Begins a block with an encoding chain (generation E): `text` is its YAML, end marker included, and
    /// `encoder` applies its steps.
    ///
    /// # Errors
    /// Returns the errors of [`FileWriter::begin_block`].
    pub fn begin_encoded(&mut self, text: &str, encoder: Box<dyn codec::Encoder>) -> Result<BlockWriter<'_, W>> {
        if !self.generation.encoded {
            return Err(Error::invalid_input(format!("{} has no encoding chains", self.generation.name)));
        }
        let mut block = self.begin_raw([0; 4], ENCODED, Some(encoder), &[])?;
        block.store_bytes(text.as_bytes()).map_err(write_error)?;
        Ok(block)
    }

    fn begin_raw(
        &mut self,
        compression: [u8; 4],
        flags: u32,
        encoder: Option<Box<dyn codec::Encoder>>,
        extra: &[u8],
    ) -> Result<BlockWriter<'_, W>> {
        let hashed = self.options.checksums && self.generation.fields.checksum.len == 16 && flags & STREAMED == 0;
        self.begin_with(BlockEncoder::new(compression, flags, encoder, hashed), extra)
    }

    /// Begins a block; `extra` goes after the fields of its header.
    fn begin_with(&mut self, encoding: BlockEncoder, extra: &[u8]) -> Result<BlockWriter<'_, W>> {
        if self.streamed {
            return Err(Error::invalid_input("no block can follow a streamed block"));
        }
        let (fields, flags) = (self.generation.fields, encoding.flags);
        if flags & STREAMED != 0 && fields.flags.is_none() {
            return Err(Error::invalid_input(format!("{} has no streamed blocks", self.generation.name)));
        }
        self.write_unused()?;
        let plain = encoding.compression == [0; 4] && flags & ENCODED == 0;
        let align = self.options.align.unwrap_or(if self.generation.major_version == 0 { 1 } else { 64 });
        self.align_block_data(if plain { align } else { 1 }, extra.len() as u64)?;
        let too_long = || Error::invalid_input("a block header of more than 65535 bytes");
        let header_size = u16::try_from(extra.len()).ok().and_then(|more| fields.size.checked_add(more)).ok_or_else(too_long)?;
        let magic = if self.options.as_documented { self.generation.magic_documented } else { self.generation.magic };
        let offset = self.position;
        let mut header = magic.to_vec();
        header.extend_from_slice(&header_size.to_be_bytes());
        let fields_at = offset + header.len() as u64;
        header.resize(header.len() + usize::from(fields.size), 0);
        header.extend_from_slice(extra);
        self.write_bytes(&header)?;
        self.offsets.push(offset);
        self.streamed = flags & STREAMED != 0;
        let (version, open_sizes) = (DRAFT_BLOCK_VERSION, (0, 0, 0));
        Ok(BlockWriter {
            file: self,
            offset,
            fields_offset: fields_at,
            header_size: fields.size,
            encoding,
            version,
            unknown_sizes: open_sizes,
        })
    }

    /// Leaves room for a block that other processes write into; `id` identifies the file until it is finished.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Io`] if the operating system reports an error.
    pub(super) fn reserve_block(&mut self, len: u64, id: &[u8; 16]) -> Result<BlockLocation> {
        let mut block = self.begin_with(BlockEncoder::new([0; 4], RESERVED, None, false), &[])?;
        block.file.skip_zeroed(len)?;
        (block.encoding.used, block.encoding.data_size) = (len, len);
        block.patch_header(Some(id.as_slice()))
    }

    /// Goes on this number of bytes further on, which become zeros.
    fn skip_zeroed(&mut self, len: u64) -> Result<()> {
        let Some(more) = len.checked_sub(1) else { return Ok(()) };
        self.flush_tail().map_err(write_error)?;
        self.position =
            self.position.checked_add(len).ok_or_else(|| Error::invalid_input("the file would be larger than 2^64 bytes"))?;
        let more = i64::try_from(more).map_err(|_| Error::invalid_input("a block of more than 2^63 bytes"))?;
        self.output.seek(SeekFrom::Current(more)).map_err(write_error)?;
        self.output.write_all(&[0]).map_err(write_error)
    }

    /// Makes the data of the next block, whose header has this number of bytes more than others, begin at a multiple of `align`, if
    /// there can be spare space before it.
    fn align_block_data(&mut self, align: u64, more: u64) -> Result<()> {
        let least = self.generation.fields.size;
        let before = self.generation.magic.len() as u64 + 2 + u64::from(least) + more;
        let align = align.max(1);
        let missing = (align - (self.position + before) % align) % align;
        if missing == 0 {
            return Ok(());
        }
        match self.pending_padding {
            PendingPadding::Tree => self.write_spaces(missing)?,
            PendingPadding::Unused => self.write_zeros(missing)?,
            PendingPadding::Block { field, allocated } => {
                self.write_zeros(missing)?;
                self.overwrite_bytes(field, &(allocated + missing).to_be_bytes())?;
            }
            // Without a tree the first block begins at once (1.x, "Blocks": "with no padding").
            PendingPadding::Header => {}
        }
        Ok(())
    }

    /// Fills in the checksum of a block that was written without it, if its header has a field for it.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Io`] if the operating system reports an error.
    pub(super) fn fill_checksum(&mut self, block: &BlockLocation, md5: &[u8; 16]) -> Result<()> {
        let slot = self.generation.fields.checksum;
        let fields = block.offset + self.generation.magic.len() as u64 + 2;
        let len = usize::from(slot.len).min(md5.len());
        self.overwrite_bytes(fields + u64::from(slot.offset), &md5[..len])
    }

    /// Writes the block index, and flushes the output. Returns a diagnostic for each copied block that differs from its checksum.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Io`] if the operating system reports an error.
    pub fn finish(mut self) -> Result<Vec<Diagnostic>> {
        if self.options.index && self.generation.index && !self.streamed && !self.offsets.is_empty() {
            let text = index::print(&self.offsets);
            self.write_bytes(text.as_bytes())?;
        }
        if !self.offsets.is_empty() && self.generation.index && !self.keeps_padding {
            // The standard recommends spaces after the tree. But Python asdf 3 and 4 look for the first block
            // right there if there is no index, or with lazy_load=False, and step over zeros only.
            let (from, count) = self.fill_byte;
            let zeros = [0; 4096];
            for at in (from..from + count).step_by(zeros.len()) {
                let n = (from + count - at).min(zeros.len() as u64);
                self.overwrite_bytes(at, &zeros[..n as usize])?;
            }
        }
        self.flush_tail().map_err(write_error)?;
        self.output.flush().map_err(write_error)?;
        Ok(self.damaged)
    }

    /// Returns the offset of each block.
    pub fn offsets(&self) -> &[u64] {
        &self.offsets
    }

    fn write_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        self.append_bytes(bytes).map_err(write_error)
    }

    fn append_bytes(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        if self.buffer.len() + bytes.len() > MAX_BUFFERED {
            self.flush_tail()?;
        }
        if bytes.len() > MAX_BUFFERED / 4 {
            self.flush_tail()?;
            self.output.write_all(bytes)?;
        } else {
            self.buffer.extend_from_slice(bytes);
        }
        self.position += bytes.len() as u64;
        Ok(())
    }

    /// Writes what is held back.
    fn flush_tail(&mut self) -> std::io::Result<()> {
        self.output.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }

    fn write_spaces(&mut self, count: u64) -> Result<()> {
        self.fill_byte =
            if self.fill_byte.1 == 0 { (self.position, count) } else { (self.fill_byte.0, self.fill_byte.1 + count) };
        self.write_repeated(b' ', count)
    }

    fn write_zeros(&mut self, count: u64) -> Result<()> {
        self.write_repeated(0, count)
    }

    fn write_repeated(&mut self, byte: u8, mut count: u64) -> Result<()> {
        let filling = if byte == 0 { &[0; 4096] } else { &[b' '; 4096] };
        while count > 0 {
            let n = count.min(filling.len() as u64);
            self.write_bytes(&filling[..n as usize])?;
            count -= n;
        }
        Ok(())
    }

    fn overwrite_bytes(&mut self, at: u64, bytes: &[u8]) -> Result<()> {
        let held = at.checked_sub(self.position - self.buffer.len() as u64).and_then(|from| usize::try_from(from).ok());
        if let Some(place) = held.and_then(|from| self.buffer.get_mut(from..from.checked_add(bytes.len())?)) {
            place.copy_from_slice(bytes);
            return Ok(());
        }
        self.flush_tail().map_err(write_error)?;
        self.output.seek(SeekFrom::Start(at)).map_err(write_error)?;
        self.output.write_all(bytes).map_err(write_error)?;
        self.output.seek(SeekFrom::Start(self.position)).map_err(write_error)?;
        Ok(())
    }
}

#[cold]
fn write_error(error: std::io::Error) -> Error {
    Error::io("writing", error)
}

/// A block that is being written. It is part of the file only after [`BlockWriter::finish`].
pub struct BlockWriter<'a, W: Write + Seek> {
    file: &'a mut FileWriter<W>,
    offset: u64,
    fields_offset: u64,
    /// Bytes of the fields.
    header_size: u16,
    encoding: BlockEncoder,
    /// The version, where the header has one.
    version: [u8; 3],
    /// The sizes that the header of a streamed block states, which no reader uses.
    unknown_sizes: (u64, u64, u64),
}

impl<W: Write + Seek> BlockWriter<'_, W> {
    /// Adds decoded bytes.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Io`] if the operating system reports an error, and the errors of
    /// the codec.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.encoding.encode_bytes(bytes, &mut AppendedTail(self.file))
    }

    /// Leaves the checksum to [`FileWriter::fill_checksum`].
    pub(super) fn skip_checksum(&mut self) {
        self.encoding.disable_checksum();
    }

    /// Adds all bytes of a source, copied a few MiB at a time: a map of it would count as memory used.
    ///
    /// # Errors
    /// Returns the errors of [`BlockWriter::write`] and [`verify_backing`], and an error if `data` cannot be
    /// read.
    pub fn write_all(&mut self, data: &dyn Source) -> Result<()> {
        verify_backing(data)?;
        self.copy_all(data)
    }

    /// Adds all bytes of a source even if they may be damaged.
    fn copy_all(&mut self, data: &dyn Source) -> Result<()> {
        for_each_piece(data, 0..data.len(), 8 << 20, PieceAccess::Copy, &mut |piece| self.write(piece))
    }

    fn store_bytes(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.encoding.store_bytes(bytes, &mut AppendedTail(self.file))
    }

    /// Ends the block and fills in its header.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Io`] if the operating system reports an error, and the errors of
    /// the codec.
    pub fn finish(mut self) -> Result<BlockLocation> {
        let checksum = self.encoding.finish(&mut AppendedTail(self.file))?;
        self.patch_header(checksum.as_ref().map(<[u8; 16]>::as_slice))
    }

    /// Fills in the header.
    fn patch_header(self, checksum: Option<&[u8]>) -> Result<BlockLocation> {
        let BlockEncoder { used, data_size, flags, compression, codes, .. } = self.encoding;
        let fields = self.file.generation.fields;
        let mut values = BlockHeaderValues { flags, compression, codes, allocated: used, used, data_size, checksum };
        if flags & STREAMED != 0 {
            (values.allocated, values.used, values.data_size) = self.unknown_sizes;
        }
        let mut header = fill_fields(&fields, self.header_size, &values);
        if let Some(slot) = fields.version {
            let place = header.get_mut(usize::from(slot.offset)..).and_then(|rest| rest.first_chunk_mut());
            place.into_iter().for_each(|place| *place = self.version);
        }
        self.file.overwrite_bytes(self.fields_offset, &header)?;
        let field = self.fields_offset + u64::from(fields.allocated.offset);
        self.file.pending_padding = PendingPadding::Block { field, allocated: used };
        Ok(BlockLocation { offset: self.offset, used, data_size })
    }
}

/// The end of a file, to be written to.
struct AppendedTail<'a, W: Write + Seek>(&'a mut FileWriter<W>);

impl<W: Write + Seek> Write for AppendedTail<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.append_bytes(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
