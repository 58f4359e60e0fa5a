//! One block: its header, as every generation wrote it.
//!
//! ASDF 1.x, "Block header"; ASDF 0.1.0, "Block header" and "Block encoding"; FINF 0.1, "Blocks".

use super::checksum::{self, BlockMd5};
use super::generation::{self, BlockFields, DRAFT_BLOCK_VERSION, FieldSlot, Generation};
use crate::bytes::{Cursor, Source, SourceRef, WindowSource, read_vec};
use crate::codec::CodecId;
use crate::error::{Error, Result};
use crate::limits::Limits;

/// Flag: the block is the last and extends to the end of the file.
pub(crate) const STREAMED: u32 = 0x1;
/// Flag (generation E only): the data begins with the YAML of an encoding chain.
pub(crate) const ENCODED: u32 = 0x2;
/// Flag of a file that is not finished: other processes write into the block, and the field of its checksum tells the
/// file from every other. No file that was finished has it.
pub(crate) const RESERVED: u32 = 0x8000_0000;

/// A block as its header describes it; its data are not read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Block {
    /// Number in the file, from 0.
    pub index: usize,
    /// The row of the generation table whose fields the header has.
    pub generation: &'static Generation,
    /// First byte of the mark.
    pub offset: u64,
    /// Size of the header after `header_size` itself.
    pub header_size: u16,
    /// First byte after the header.
    pub data_offset: u64,
    /// The version that the header of the first FINF draft states; 0.1.0 where the header has none.
    pub version: [u8; 3],
    /// Flag bits as stored.
    pub flags: u32,
    /// Codec id as stored; zeros mean none.
    pub compression: [u8; 4],
    /// The 16 bytes `encoding` of generations A to D; zeros mean none.
    pub encoding_codes: [u8; 16],
    /// Space on disk, as stored.
    pub allocated: u64,
    /// Space in use, as stored.
    pub used: u64,
    /// Size when decoded, as stored; equal to `used` if the header has no such field.
    pub data_size: u64,
    /// The checksum as stored: 16 or 8 bytes; None if it is all zero.
    pub checksum: Option<Vec<u8>>,
    /// Number of bytes from `data_offset` to the end of the file, if the block is streamed.
    pub stored_size: Option<u64>,
    /// Bytes of the header after the fields that its generation defines. A later version may give them a meaning.
    pub extra_header: Vec<u8>,
}

/// Returns the name of the codec of a block: `lz4`, or `plain` if it is uncompressed.
pub fn codec_name(block: &Block) -> String {
    match block.compression {
        [0, 0, 0, 0] => "plain".to_owned(),
        id => String::from_utf8_lossy(&id).trim_end_matches('\0').to_owned(),
    }
}

impl Block {
    /// Returns `true` if the block extends to the end of the file.
    pub fn is_streamed(&self) -> bool {
        self.flags & STREAMED != 0
    }

    /// Returns `true` if other processes write into the block, of a file that is not finished.
    pub(crate) fn is_reserved(&self) -> bool {
        self.flags & RESERVED != 0
    }

    /// Returns `true` if the data begin with the YAML of an encoding chain.
    pub fn has_encoding_chain(&self) -> bool {
        self.generation.encoded && self.flags & ENCODED != 0
    }

    /// Returns `true` if the data are stored uncompressed, so that they can be viewed in place.
    pub fn is_uncompressed(&self) -> bool {
        !self.has_encoding_chain() && self.compression == [0; 4] && self.encoding_codes == [0; 16]
    }

    /// Returns `true` if the header of another generation can describe the stored bytes of this block.
    pub fn is_within(&self, row: &Generation) -> bool {
        (self.compression == [0; 4] || row.fields.compression.is_some())
            && (self.encoding_codes == [0; 16] || row.fields.encoding.is_some())
            && (!self.has_encoding_chain() || row.encoded)
    }

    /// The flag bits that the block's generation does not define.
    pub fn unknown_flags(&self) -> u32 {
        self.flags & !(STREAMED | if self.generation.encoded { ENCODED } else { 0 })
    }

    /// An empty block in the place of this one: it keeps the number.
    pub(crate) fn to_empty(&self) -> Self {
        Self {
            flags: 0,
            compression: [0; 4],
            encoding_codes: [0; 16],
            allocated: 0,
            used: 0,
            data_size: 0,
            checksum: None,
            stored_size: None,
            extra_header: Vec::new(),
            ..self.clone()
        }
    }

    /// Returns the number of bytes in use on disk.
    pub fn stored_len(&self) -> u64 {
        self.stored_size.unwrap_or(self.used)
    }

    /// Returns the number of bytes after decoding.
    pub fn decoded_len(&self) -> u64 {
        self.stored_size.unwrap_or(if self.is_uncompressed() { self.used } else { self.data_size })
    }

    /// Returns the offset after the last byte of the block; `None` if the sizes overflow.
    pub fn end(&self) -> Option<u64> {
        self.data_offset.checked_add(self.stored_size.unwrap_or(self.allocated))
    }

    /// The bytes in use on disk, checked against the file.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if the sizes contradict each other or the file
    /// is too short.
    pub fn stored_source(&self, source: &SourceRef) -> Result<SourceRef> {
        let stored = self.stored_window(source)?;
        match self.checksum_rule().filter(|_| !self.is_streamed()) {
            Some(sum) => Ok(checksum::with_checksum_check(stored, sum)),
            None => Ok(std::sync::Arc::new(stored)),
        }
    }

    /// The MD5 that the block states; `None` if it states none.
    pub(crate) fn checksum_rule(&self) -> Option<BlockMd5> {
        let md5 = self.checksum.as_deref()?.try_into().ok()?;
        // Encoding chains are younger than the writers that hashed decoded bytes.
        let is_coded = !self.is_uncompressed() && !self.has_encoding_chain() && self.encoding_codes == [0; 16];
        let codec = is_coded.then_some((CodecId(self.compression), self.data_size));
        Some(BlockMd5 { md5, codec, index: self.index, offset: self.offset })
    }

    /// Returns the bytes in use on disk, but never compares them with the checksum that the block states.
    ///
    /// # Errors
    /// Returns the errors of [`Block::stored_source`].
    pub(crate) fn stored_window(&self, source: &SourceRef) -> Result<WindowSource> {
        self.check(source.len()).map_err(|e| e.context(format!("block {}", self.index)))?;
        WindowSource::new(source.clone(), self.data_offset, self.stored_len())
    }

    /// Checks that the sizes make sense in a file of `size` bytes.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) with the size that does not.
    pub fn check(&self, size: u64) -> Result<()> {
        let at = self.offset;
        if self.is_streamed() {
            if self.has_encoding_chain() {
                return Err(Error::malformed("the flags STREAMED and ENCODED exclude each other").at_byte(at));
            }
            if !self.is_uncompressed() {
                let codec = self.compression.iter().chain(&self.encoding_codes).copied().filter(|byte| *byte != 0);
                let codec = codec.collect::<Vec<_>>().escape_ascii().to_string();
                let message = format!("a streamed block with the compression {codec:?}, whose decoded size is not recorded");
                return Err(Error::unsupported(message).at_byte(at));
            }
            return Ok(());
        }
        if self.used > self.allocated {
            let message = format!("{} bytes used, but only {} allocated", self.used, self.allocated);
            return Err(Error::malformed(message).at_byte(at));
        }
        let end = self.data_offset.checked_add(self.used);
        if end.is_none_or(|end| end > size) {
            let message = format!(
                "{} bytes are used from byte {} on, but the file ends at byte {size}: it is truncated or the sizes are wrong",
                self.used, self.data_offset
            );
            return Err(Error::malformed(message).at_byte(at).hint("trilith repair FILE -o OUT recovers what is left"));
        }
        if self.is_uncompressed() && self.generation.fields.data_size.is_some() && self.data_size != self.used {
            let message = format!("an uncompressed block of {} bytes states a data size of {}", self.used, self.data_size);
            return Err(Error::malformed(message).at_byte(at));
        }
        Ok(())
    }
}

/// Length of the block mark at the start of `bytes`, or None if there is none.
pub fn magic_len(bytes: &[u8]) -> Option<usize> {
    [
        &generation::BLOCK_MAGIC[..],
        &generation::BLOCK_MAGIC_DOCUMENTED,
        &generation::DRAFT_MAGIC,
        &generation::DRAFT_MAGIC_DOCUMENTED,
    ]
    .into_iter()
    .find(|magic| bytes.starts_with(magic))
    .map(<[u8]>::len)
}

/// Returns `true` if a block header whose sizes make sense begins at byte `offset`.
pub(crate) fn is_credible(source: &dyn Source, rows: &[&'static Generation], offset: u64) -> bool {
    read_block_header(source, rows, offset, 0).is_ok_and(|block| is_plausible(&block, source))
}

/// Returns `true` if the bytes at `offset` are those of a block header whose magic number is damaged.
pub(super) fn is_header_without_mark(source: &dyn Source, row: &'static Generation, offset: u64) -> bool {
    let magic = row.magic.len() as u64;
    let mut bytes = [0; 2 + 48];
    let at = offset.saturating_add(magic);
    let bytes = &mut bytes[..source.len().saturating_sub(at).min(2 + 48) as usize];
    if source.read_at(at, bytes).is_err() {
        return false;
    }
    let Some((size, fields)) = bytes.split_first_chunk::<2>() else { return false };
    let header_size = u16::from_be_bytes(*size);
    let data_offset = at.saturating_add(2 + u64::from(header_size));
    header_size >= row.fields.size
        && parse_block_header(row, fields, offset, header_size, data_offset, 0, source.len())
            .is_ok_and(|block| block.allocated > 0 && is_plausible(&block, source))
}

/// The row of a file, as its blocks from byte `first` on tell it; None if none of them makes sense in any row.
///
/// An enlarged header may be that of several rows, and a block without data may make sense in all of them: then the next
/// block decides. If the fields of several rows make sense, `preferred` counts first, then a block that has an end, then
/// a row whose second size agrees with the first, then the row with the most fields.
pub(super) fn generation_of_magic(
    source: &dyn Source,
    rows: &[&'static Generation],
    preferred: Option<&'static Generation>,
    first: u64,
) -> Option<&'static Generation> {
    let mut left = rows.to_vec();
    left.sort_by_key(|row| {
        (preferred.is_none_or(|preferred| !std::ptr::eq(*row, preferred)), std::cmp::Reverse(row.fields.size))
    });
    let mut at = first;
    let mut fallback = None;
    while left.len() > 1 {
        let read: Vec<Block> = left.iter().filter_map(|row| read_inner(source, &[*row], at, 0).ok()).collect();
        let mut found: Vec<&Block> = read.iter().filter(|block| is_plausible(block, source)).collect();
        if found.is_empty() && at == first {
            // A file that was cut off, or bytes that follow the block and do not belong to the file.
            found = read.iter().filter(|block| is_sound(block, source)).collect();
            let least = read.iter().filter(|block| is_consistent(block)).min_by_key(|block| block.allocated);
            fallback = least.map(|block| block.generation);
        }
        let Some(best) = found.iter().min_by_key(|block| {
            let is_preferred = preferred.is_some_and(|preferred| std::ptr::eq(block.generation, preferred));
            // A stream states no sizes, so this is the row without unknown bytes.
            let is_enlarged = block.is_streamed() && block.header_size != block.generation.fields.size;
            (!is_preferred, block.is_streamed(), is_enlarged, block.generation.fields.data_size.is_none())
        }) else {
            break;
        };
        // Only a block without data can mean the same in several rows.
        let next = best.end().filter(|end| best.allocated == 0 && !best.is_streamed() && *end < source.len());
        let Some(next) = next else { return Some(best.generation) };
        left = found.iter().filter(|block| block.end() == Some(next)).map(|block| block.generation).collect();
        (at, fallback) = (next, left.first().copied());
        if !super::block_magic::is_block(source, Some(at)) {
            break;
        }
    }
    if left.len() == 1 { left.first().copied() } else { fallback }
}

/// Reads the header of block number `index`, whose mark is expected at byte `offset`.
///
/// `rows` are the generations that the header line allows, or the one that an earlier block showed.
///
/// # Errors
/// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if there is no mark or the header is too short.
pub(crate) fn read_block_header(source: &dyn Source, rows: &[&'static Generation], offset: u64, index: usize) -> Result<Block> {
    read_inner(source, rows, offset, index).map_err(|e| e.at_byte(offset).context(format!("block {index}")))
}

fn read_inner(source: &dyn Source, rows: &[&'static Generation], offset: u64, index: usize) -> Result<Block> {
    const MAX_HEADER_LEN: usize = 8 + 2 + 48;
    let mut bytes = [0; MAX_HEADER_LEN];
    let bytes = &mut bytes[..source.len().saturating_sub(offset).min(MAX_HEADER_LEN as u64) as usize];
    source.read_at(offset, bytes)?;
    let bytes = &*bytes;
    let magic = magic_len(bytes).ok_or_else(|| Error::malformed("expected the magic bytes of a block (d3 42 4c 4b)"))?;
    let mut at = Cursor::new(bytes, offset);
    at.take(magic)?;
    let header_size = at.u16()?;
    let fields = at.remaining();
    let data_offset = offset.saturating_add(magic as u64 + 2 + u64::from(header_size));
    let parse = |row: &'static Generation| parse_block_header(row, fields, offset, header_size, data_offset, index, source.len());
    let with_extra = |mut block: Block| {
        let len = u64::from(header_size.saturating_sub(block.generation.fields.size));
        if len > 0 && data_offset <= source.len() {
            block.extra_header = read_vec(source, data_offset - len, len, &Limits::default())?;
        }
        Ok(block)
    };
    // After the first block of a file only one row is left, which needs no list of candidates.
    if let [row] = rows
        && generation::may_have_header_size(row, magic, header_size)
    {
        return parse(row).and_then(with_extra);
    }
    let candidates = generation::by_header_size(rows, magic, header_size);
    let smallest = || rows.iter().filter(|g| g.magic.len() == magic).map(|g| g.fields.size).min();
    let Some(&first) = candidates.first() else {
        return Err(Error::malformed(match smallest() {
            Some(least) => format!("block header of {header_size} bytes, expected at least {least}"),
            None => "this mark does not belong to the generation of the header line".to_owned(),
        }));
    };
    // An enlarged header may be that of several rows: the one whose sizes make sense is meant.
    if candidates.len() > 1 {
        for &row in &candidates {
            if let Ok(block) = parse(row)
                && is_plausible(&block, source)
            {
                return with_extra(block);
            }
        }
    }
    parse(first).and_then(with_extra)
}

fn parse_block_header(
    row: &'static Generation,
    bytes: &[u8],
    offset: u64,
    header_size: u16,
    data_offset: u64,
    index: usize,
    size: u64,
) -> Result<Block> {
    let f = &row.fields;
    let field = |slot: FieldSlot| {
        bytes.get(usize::from(slot.offset)..usize::from(slot.offset) + usize::from(slot.len)).ok_or_else(|| {
            Error::malformed(format!("the file ends inside a block header: {} bytes, expected {}", bytes.len(), f.size))
        })
    };
    let number = |slot: FieldSlot| {
        field(slot).map(|bytes| match bytes.try_into() {
            Ok(bytes) => u64::from_be_bytes(bytes),
            Err(_) => bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)),
        })
    };
    let flags = f.flags.map(number).transpose()?.unwrap_or(0) as u32;
    let used = number(f.used)?;
    let mut block = Block {
        index,
        generation: row,
        offset,
        header_size,
        data_offset,
        version: f.version.map(field).transpose()?.and_then(|bytes| bytes.try_into().ok()).unwrap_or(DRAFT_BLOCK_VERSION),
        flags,
        compression: [0; 4],
        encoding_codes: [0; 16],
        allocated: number(f.allocated)?,
        used,
        data_size: f.data_size.map(number).transpose()?.unwrap_or(used),
        checksum: Some(field(f.checksum)?.to_vec()).filter(|sum| sum.iter().any(|b| *b != 0)),
        stored_size: (flags & STREAMED != 0).then(|| size.saturating_sub(data_offset)),
        extra_header: Vec::new(),
    };
    if let Some(slot) = f.compression {
        block.compression.copy_from_slice(field(slot)?);
    }
    if let Some(slot) = f.encoding {
        block.encoding_codes.copy_from_slice(field(slot)?);
    }
    Ok(block)
}

/// Returns `true` if the fields agree with each other: flags that the row defines, sizes in order, and one size if
/// nothing encodes the data.
fn is_consistent(block: &Block) -> bool {
    if block.unknown_flags() != 0 || (block.is_streamed() && !block.is_uncompressed()) {
        return false;
    }
    let is_one_size = !block.is_uncompressed() || block.generation.fields.data_size.is_none() || block.data_size == block.used;
    block.is_streamed() || (block.used <= block.allocated && is_one_size)
}

/// Returns `true` if the fields agree with each other and with the size of the file.
pub(super) fn is_sound(block: &Block, source: &dyn Source) -> bool {
    is_consistent(block) && block.end().is_some_and(|end| end <= source.len())
}

/// Returns `true` if the fields agree with each other, and another block, an index or the end of the file follows.
fn is_plausible(block: &Block, source: &dyn Source) -> bool {
    if !is_sound(block, source) {
        return false;
    }
    let Some(end) = block.end().filter(|_| !block.is_streamed()) else { return true };
    if end == source.len() {
        return true;
    }
    let mut next = [0; 8];
    let ahead = (source.len() - end).min(8) as usize;
    if source.read_at(end, &mut next[..ahead]).is_err() {
        return false;
    }
    magic_len(&next[..ahead]).is_some() || next.starts_with(b"#ASDF BL") || next[..ahead].iter().all(|b| *b == 0)
}

/// Values of the fields of a block header after `header_size`.
#[derive(Default)]
pub(super) struct BlockHeaderValues<'a> {
    /// Flags of the block.
    pub(super) flags: u32,
    /// Identifier of the codec.
    pub(super) compression: [u8; 4],
    /// Codes of the encoding.
    pub(super) codes: [u8; 16],
    /// Bytes that the block may fill.
    pub(super) allocated: u64,
    /// Bytes that the block fills.
    pub(super) used: u64,
    /// Bytes when decoded.
    pub(super) data_size: u64,
    /// The checksum, if there is one.
    pub(super) checksum: Option<&'a [u8]>,
}

/// The bytes after `header_size`: flags, codec and codes; sizes allocated, used and decoded; the checksum.
pub(super) fn fill_fields(fields: &BlockFields, header_size: u16, values: &BlockHeaderValues<'_>) -> Vec<u8> {
    let mut bytes = vec![0; usize::from(header_size)];
    let mut set = |slot: Option<FieldSlot>, value: &[u8]| {
        if let Some(place) = slot.and_then(|s| bytes.get_mut(usize::from(s.offset)..usize::from(s.offset) + usize::from(s.len))) {
            place.copy_from_slice(value);
        }
    };
    set(fields.version, &DRAFT_BLOCK_VERSION);
    set(fields.flags, &values.flags.to_be_bytes());
    set(fields.compression, &values.compression);
    set(Some(fields.allocated), &values.allocated.to_be_bytes());
    set(Some(fields.used), &values.used.to_be_bytes());
    set(fields.encoding, &values.codes);
    set(fields.data_size, &values.data_size.to_be_bytes());
    if let Some(checksum) = values.checksum.filter(|checksum| checksum.len() == usize::from(fields.checksum.len)) {
        set(Some(fields.checksum), checksum);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::MemorySource;

    /// A header assembled field by field, as the table of section 1 lists them.
    fn file(fields: &[&[u8]], header_size: u16, data: &[u8]) -> MemorySource {
        let mut bytes = b"\xd3BLK".to_vec();
        bytes.extend_from_slice(&header_size.to_be_bytes());
        let start = bytes.len();
        for field in fields {
            bytes.extend_from_slice(field);
        }
        bytes.resize(start + usize::from(header_size), 0);
        bytes.extend_from_slice(data);
        MemorySource::new(bytes, "test")
    }

    fn rows(token: &str, version: (u32, u32, u32)) -> Vec<&'static Generation> {
        generation::find_candidate_generations(token, version).unwrap()
    }

    #[test]
    fn asdf_1_header_reads_every_field() {
        let size = 3u64.to_be_bytes();
        let source = file(&[&[0; 4], b"zlib", &5u64.to_be_bytes(), &size, &9u64.to_be_bytes(), &[7; 16]], 48, b"abcde");
        let block = read_block_header(&source, &rows("#ASDF", (1, 0, 0)), 0, 0).unwrap();
        assert_eq!((block.allocated, block.used, block.data_size), (5, 3, 9));
        assert_eq!((&block.compression, block.data_offset), (b"zlib", 54));
        assert_eq!(block.checksum.as_deref(), Some(&[7; 16][..]));
    }

    #[test]
    fn plausible_sizes_identify_enlarged_asdf_0_1_header() {
        let three = 3u64.to_be_bytes();
        // D# (44 bytes of fields) enlarged to 64: read as G, `allocated` would be absurd.
        let source = file(&[&[0; 4], &three, &three, &[0; 8], &[0; 16]], 64, b"abc");
        let block = read_block_header(&source, &rows("#ASDF", (0, 1, 0)), 0, 0).unwrap();
        assert_eq!(block.generation.name, "asdf-0.1-hs44");
        assert_eq!(block.used, 3);
        // G enlarged to the same size.
        let source = file(&[&[0; 4], &[0; 4], &three, &three, &three, &[0; 16]], 64, b"abc");
        assert_eq!(read_block_header(&source, &rows("#ASDF", (0, 1, 0)), 0, 0).unwrap().generation.name, "asdf-0.1-hs48");
    }

    #[test]
    fn too_small_header_error_has_expected_size() {
        let source = file(&[&[0; 44]], 44, b"");
        let error = read_block_header(&source, &rows("#ASDF", (1, 0, 0)), 0, 0).unwrap_err();
        assert!(error.to_string().contains("44 bytes, expected at least 48"), "{error}");
    }

    #[test]
    fn check_rejects_contradicting_sizes() {
        let source =
            file(&[&[0; 4], &[0; 4], &3u64.to_be_bytes(), &4u64.to_be_bytes(), &4u64.to_be_bytes(), &[0; 16]], 48, b"abcd");
        let block = read_block_header(&source, &rows("#ASDF", (1, 0, 0)), 0, 2).unwrap();
        let error = block.check(source.len()).unwrap_err();
        assert!(error.to_string().contains("4 bytes used, but only 3 allocated"), "{error}");
    }
}
