//! Block headers, and whether the bytes after them are what they say.

use super::report::{FindingLocation, Findings};
use super::rule::Check;
use super::{AsdfRules, chain, index};
use crate::asdf::block::{self, ENCODED, STREAMED};
use crate::asdf::generation::Generation;
use crate::asdf::{AsdfFile, AsdfSections, Block, md5};
use crate::bytes::{Source, SourceRef, read_vec};
use crate::codec::{self, CodecId};
use crate::error::Result;
use crate::limits::Limits;
use crate::progress::Progress;

/// Remedy for a codec that this library does not have.
const REMEDY_UNKNOWN_CODEC: &str = "compress the block with zlib or bzp2 in the program that wrote it";
/// Remedy for a checksum of the decoded bytes.
const REMEDY_DECODED_CHECKSUM: &str = "write it again with repack";

/// The compressions that the standard lists.
const LISTED_CODECS: [(CodecId, Check); 2] = [(CodecId(*b"zlib"), Check::Zlib), (CodecId(*b"bzp2"), Check::Bzip2)];

/// Looks at every block. False if they could not all be found.
pub(super) fn check_blocks(
    source: &SourceRef,
    sections: &AsdfSections,
    file: Option<&AsdfFile>,
    law: &AsdfRules,
    limits: &Limits,
    found: &mut Findings,
) -> Result<bool> {
    let row = law.generation()?;
    if let Some(other) = mark_in_padding(source, sections, row)? {
        let first = sections.first_block().unwrap_or(0);
        let message =
            format!("the block mark in unused space: no readable block header follows it, and a block begins at byte {other}");
        found.add_deviation(Check::Padding, FindingLocation::from_byte(first), message);
        return Ok(false);
    }
    let blocks = sections.blocks()?;
    let stored: Vec<Option<SourceRef>> = blocks.iter().map(|block| checksum_source(source, block)).collect();
    let sources: Vec<&dyn Source> = stored.iter().flatten().map(|source| &**source).collect();
    let mut sums = md5::digest_many(&sources, Progress::default()).into_iter();
    let mut end = None;
    for (block, stored) in blocks.iter().zip(&stored) {
        if let Some(before) = end.filter(|end| *end < block.offset && !law.index) {
            let message =
                format!("{} unused bytes before the block, expected it right after the previous one", block.offset - before);
            found.add_deviation(Check::VersionParts, FindingLocation::from_block(block.index, before), message);
        }
        end = block.end();
        check_magic(source, block, law, found)?;
        if block.data_offset > source.len() {
            let message = format!("header_size is {}, but the file ends at byte {}", block.header_size, source.len());
            found.add_deviation(Check::HeaderSize, FindingLocation::from_block(block.index, block.offset), message);
            return Ok(false);
        }
        let sum = stored.as_ref().and_then(|_| sums.next()).transpose()?;
        if !has_other_fields(block, row) {
            check_block(source, block, file, limits, found)?;
            check_checksum(block, sum.as_ref(), file, found);
        }
    }
    foreign_fields(&blocks, row, found);
    first_violation(source, sections, &blocks, row, found)
}

/// The block that follows, if the first mark after the tree belongs to no readable block header.
fn mark_in_padding(source: &SourceRef, sections: &AsdfSections, row: &'static Generation) -> Result<Option<u64>> {
    let Some(first) = sections.first_block().filter(|_| sections.tree().is_some()) else { return Ok(None) };
    let rows = [row];
    if sections.block(0).is_ok_and(|block| block.check(source.len()).is_ok()) {
        return Ok(None);
    }
    let mut at = first + 1;
    while let Some(next) = crate::asdf::next_block(source, &rows, at, &Limits::default())? {
        if block::is_credible(&**source, &rows, next) {
            return Ok((!block::is_credible(&**source, &rows, first)).then_some(next));
        }
        at = next + 1;
    }
    Ok(None)
}

/// Returns `true` if the header of a block has other fields than those of the document.
fn has_other_fields(block: &Block, row: &Generation) -> bool {
    block.generation.fields != row.fields
}

fn foreign_fields(blocks: &[&Block], row: &Generation, found: &mut Findings) {
    let foreign: Vec<&&Block> = blocks.iter().filter(|block| has_other_fields(block, row)).collect();
    if let Some(first) = foreign.first() {
        let others = if foreign.len() > 1 { format!(", and of {} other blocks", foreign.len() - 1) } else { String::new() };
        let name = first.generation.name;
        let message = format!("the fields of its header{others} are those of {name}, expected those of {}", row.name);
        found.add_deviation(Check::BlockFields, FindingLocation::from_block(first.index, first.offset), message);
    }
}

fn check_magic(source: &SourceRef, block: &Block, law: &AsdfRules, found: &mut Findings) -> Result<()> {
    let bytes = read_vec(&**source, block.offset, source.len().saturating_sub(block.offset).min(8), &Limits::default())?;
    let len = block::magic_len(&bytes).unwrap_or(0);
    let mark = bytes.get(..len).unwrap_or(&[]);
    if mark != law.block_magic {
        let message = format!("the mark is {}, expected {}", format_hex(mark), format_hex(law.block_magic));
        found.add_deviation(Check::BlockMagic, FindingLocation::from_block(block.index, block.offset), message);
    }
    Ok(())
}

/// The fields of one block header, and the data after it.
fn check_block(source: &SourceRef, block: &Block, file: Option<&AsdfFile>, limits: &Limits, found: &mut Findings) -> Result<()> {
    let place = || FindingLocation::from_block(block.index, block.offset);
    let known =
        if block.generation.fields.flags.is_some() { STREAMED | if block.generation.encoded { ENCODED } else { 0 } } else { 0 };
    if block.flags & !known != 0 {
        found.add_deviation(Check::Flags, place(), format!("the flags {:#x} are not defined", block.flags & !known));
    }
    if block.is_streamed() && block.has_encoding_chain() {
        found.add_deviation(Check::Exclusive, place(), "the flags STREAMED and ENCODED are both set");
        return Ok(());
    }
    if block.encoding_codes != [0; 16] {
        let codes = block.encoding_codes.iter().copied().filter(|byte| *byte != 0).collect::<Vec<_>>();
        found.leave_undecided(
            place(),
            format!("the field encoding is {:?}, whose meaning the document leaves open", codes.escape_ascii().to_string()),
        );
    }
    if !check_sizes(source, block, found) {
        return Ok(());
    }
    let codec = CodecId(block.compression);
    if codec.is_none() && block.encoding_codes == [0; 16] && !block.has_encoding_chain() {
        return Ok(());
    }
    if block.is_streamed() {
        found.leave_undecided(
            place(),
            format!("a streamed block with the compression {codec}: the specification does not define it"),
        );
        return Ok(());
    }
    if block.has_encoding_chain() {
        return chain::check_encoded_block(source, block, file, limits, found);
    }
    check_compression(source, block, codec, limits, found)
}

/// Returns `true` if the sizes make sense, so that the data can be looked at.
fn check_sizes(source: &SourceRef, block: &Block, found: &mut Findings) -> bool {
    let place = || FindingLocation::from_block(block.index, block.offset);
    if block.is_streamed() {
        return true;
    }
    let mut sound = true;
    if block.end().is_none_or(|end| end > source.len()) {
        let room = source.len() - block.data_offset;
        let message = format!("{} bytes are allocated, but {room} follow the block header", block.allocated);
        found.add_deviation(Check::AllocatedSize, place(), message);
        sound &= block.used <= room;
    }
    if block.used > block.allocated {
        found.add_deviation(
            Check::UsedSize,
            place(),
            format!("{} bytes are used, but only {} allocated", block.used, block.allocated),
        );
        sound = false;
    }
    if block.is_uncompressed() && block.generation.fields.data_size.is_some() && block.data_size != block.used {
        let message =
            format!("{} bytes are used, but they should decode to {}, and nothing encodes them", block.used, block.data_size);
        found.add_deviation(Check::PlainSize, place(), message);
        sound = false;
    }
    sound
}

/// Compressed data: a codec that the document lists, and the size that the header states.
fn check_compression(source: &SourceRef, block: &Block, codec: CodecId, limits: &Limits, found: &mut Findings) -> Result<()> {
    let place = || FindingLocation::from_block(block.index, block.offset);
    let Some((_, check)) = LISTED_CODECS.iter().find(|(id, _)| *id == codec) else {
        if !codec.is_none() {
            let mend = codec::decoder(codec, block.stored_source(source)?, block.data_size, limits)
                .is_err()
                .then_some(REMEDY_UNKNOWN_CODEC);
            let message = format!("the compression {:?} is not one of zlib and bzp2", codec.to_string());
            found.add_with_remedy(Check::KnownCodecs, place(), message, mend);
        }
        return Ok(());
    };
    match codec::decoded_len(codec, &block.stored_source(source)?, limits) {
        Ok((len, taken)) => {
            if len != block.data_size {
                let message = format!("the data decode to {len} bytes, data_size is {}", block.data_size);
                found.add_deviation(Check::DecodedSize, place(), message);
            }
            if taken < block.used {
                let message = format!("{} bytes follow the stream of {codec} within used_size", block.used - taken);
                found.add_deviation(*check, FindingLocation::from_block(block.index, block.data_offset + taken), message);
            }
            Ok(())
        }
        Err(error) => found.record_error(*check, place(), error),
    }
}

/// The bytes whose MD5 a block states.
fn checksum_source(source: &SourceRef, block: &Block) -> Option<SourceRef> {
    let is_md5 = block.checksum.as_ref().is_some_and(|sum| sum.len() == 16);
    block.stored_source(source).ok().filter(|_| is_md5)
}

/// Compares the checksum with that of the used bytes.
fn check_checksum(block: &Block, sum: Option<&[u8; 16]>, file: Option<&AsdfFile>, found: &mut Findings) {
    let place = FindingLocation::from_block(block.index, block.offset);
    let Some(stated) = block.checksum.as_deref() else { return };
    let Some(sum) = sum else {
        if stated.len() < 16 {
            let message = format!(
                "the checksum is {}: the specification does not define how an MD5 of 16 bytes is stored in 8",
                format_hex(stated)
            );
            found.leave_undecided(place, message);
        }
        return;
    };
    if stated == sum {
        return;
    }
    let decoded = || {
        let file = file.filter(|_| !block.is_uncompressed())?;
        let data = file.block_data(i64::try_from(block.index).ok()?).ok()?;
        crate::asdf::checksum::md5_of(&*data).ok()
    };
    if decoded().is_some_and(|sum| sum == stated) {
        let message = "the checksum is that of the decoded bytes, as Python asdf wrote it until 5.2";
        found.add_with_remedy(Check::Checksum, place, message, Some(REMEDY_DECODED_CHECKSUM));
    } else {
        found.add_deviation(
            Check::Checksum,
            place,
            format!("the checksum is {}, but the used bytes have {}", format_hex(stated), format_hex(sum)),
        );
    }
}

/// Finds the rule that a file departs from whose blocks cannot all be found.
fn first_violation(
    source: &SourceRef,
    sections: &AsdfSections,
    blocks: &[&Block],
    row: &Generation,
    found: &mut Findings,
) -> Result<bool> {
    let Some(error) = sections.incomplete() else { return Ok(true) };
    let next = blocks.last().map_or(sections.first_block(), |last| last.end().filter(|end| *end <= source.len()));
    let Some(at) = next else {
        // The last block is truncated, which was reported.
        if !found.has_blocks() {
            found.leave_undecided(FindingLocation::default(), error.to_string());
        }
        return Ok(false);
    };
    let bytes = read_vec(&**source, at, source.len().saturating_sub(at).min(64), &Limits::default())?;
    let place = FindingLocation::from_block(blocks.len(), at);
    let Some(mark) = block::magic_len(&bytes) else {
        let check = if index::is_misspelt(&bytes) && found.has_rule(Check::IndexHeader) {
            Check::IndexHeader
        } else {
            Check::VersionParts
        };
        found.add_deviation(check, FindingLocation::from_byte(at), error.message());
        return Ok(false);
    };
    let size = bytes.get(mark..mark + 2).and_then(|size| size.try_into().ok()).map(u16::from_be_bytes);
    match size {
        None => found.add_deviation(Check::HeaderSize, place, "the file ends in a block header"),
        Some(size) if size < row.documented_min_header_size => {
            found.add_deviation(
                Check::MinHeaderSize,
                place,
                format!("header_size is {size}, expected at least {}", row.documented_min_header_size),
            );
        }
        Some(size) if size < row.fields.size => {
            found.add_deviation(
                Check::BlockFields,
                place,
                format!("header_size is {size}, but the fields take {} bytes", row.fields.size),
            );
        }
        Some(size) if at + (mark as u64) + 2 + u64::from(size) > source.len() => {
            found.add_deviation(
                Check::HeaderSize,
                place,
                format!("header_size is {size}, but the file ends at byte {}", source.len()),
            );
        }
        Some(_) => found.leave_undecided(place, error.to_string()),
    }
    Ok(false)
}

/// Bytes as people write them.
pub(super) fn format_hex(bytes: &[u8]) -> String {
    let bytes: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    bytes.join(if bytes.len() > 8 { "" } else { " " })
}
