//! Block headers, and whether the bytes after them are what they say.

use super::report::{Found, Place};
use super::rule::Check;
use super::{AsdfLaw, chain, index};
use crate::asdf::block::{self, ENCODED, STREAMED};
use crate::asdf::generation::Generation;
use crate::asdf::{AsdfFile, Block, Sections, md5};
use crate::bytes::{SourceRef, read_vec};
use crate::codec::{self, CodecId};
use crate::error::Result;
use crate::limits::Limits;
use crate::progress::Progress;

/// Remedy for a codec that this library does not have.
const UNKNOWN: &str = "compress the block with zlib or bzp2 in the program that wrote it";
/// Remedy for a checksum of the decoded bytes.
const DECODED: &str = "write it again with repack";

/// The compressions that the standard lists.
const CODECS: [(CodecId, Check); 2] = [(CodecId(*b"zlib"), Check::Zlib), (CodecId(*b"bzp2"), Check::Bzip2)];

/// Looks at every block. False if they could not all be found.
pub(super) fn check(
    source: &SourceRef,
    sections: &Sections,
    file: Option<&AsdfFile>,
    law: &AsdfLaw,
    limits: &Limits,
    found: &mut Found,
) -> Result<bool> {
    let row = law.row()?;
    if let Some(other) = mark_in_padding(source, sections, row)? {
        let first = sections.first_block().unwrap_or(0);
        let message =
            format!("the block mark in unused space: no readable block header follows it, and a block begins at byte {other}");
        found.add(Check::Padding, Place::byte(first), message);
        return Ok(false);
    }
    let blocks = sections.blocks()?;
    let stored: Vec<Option<SourceRef>> = blocks.iter().map(|block| summed(source, block)).collect();
    let mut sums = md5::many(&stored.iter().flatten().collect::<Vec<_>>(), Progress::default()).into_iter();
    let mut end = None;
    for (block, stored) in blocks.iter().zip(&stored) {
        if let Some(before) = end.filter(|end| *end < block.offset && !law.index) {
            let message =
                format!("{} unused bytes before the block, expected it right after the previous one", block.offset - before);
            found.add(Check::Parts, Place::block(block.index, before), message);
        }
        end = block.end();
        mark(source, block, law, found)?;
        if block.data_offset > source.len() {
            let message = format!("header_size is {}, but the file ends at byte {}", block.header_size, source.len());
            found.add(Check::HeaderSize, Place::block(block.index, block.offset), message);
            return Ok(false);
        }
        let sum = stored.as_ref().and_then(|_| sums.next()).transpose()?;
        if !other_fields(block, row) {
            one(source, block, file, limits, found)?;
            checksum(block, sum.as_ref(), file, found);
        }
    }
    foreign_fields(&blocks, row, found);
    broken(source, sections, &blocks, row, found)
}

/// The block that follows, if the first mark after the tree belongs to no readable block header.
fn mark_in_padding(source: &SourceRef, sections: &Sections, row: &'static Generation) -> Result<Option<u64>> {
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
fn other_fields(block: &Block, row: &Generation) -> bool {
    block.generation.fields != row.fields
}

fn foreign_fields(blocks: &[&Block], row: &Generation, found: &mut Found) {
    let foreign: Vec<&&Block> = blocks.iter().filter(|block| other_fields(block, row)).collect();
    if let Some(first) = foreign.first() {
        let others = if foreign.len() > 1 { format!(", and of {} other blocks", foreign.len() - 1) } else { String::new() };
        let name = first.generation.name;
        let message = format!("the fields of its header{others} are those of {name}, expected those of {}", row.name);
        found.add(Check::Fields, Place::block(first.index, first.offset), message);
    }
}

fn mark(source: &SourceRef, block: &Block, law: &AsdfLaw, found: &mut Found) -> Result<()> {
    let bytes = read_vec(&**source, block.offset, source.len().saturating_sub(block.offset).min(8), &Limits::default())?;
    let len = block::magic_len(&bytes).unwrap_or(0);
    let mark = bytes.get(..len).unwrap_or(&[]);
    if mark != law.mark {
        let message = format!("the mark is {}, expected {}", hex(mark), hex(law.mark));
        found.add(Check::Mark, Place::block(block.index, block.offset), message);
    }
    Ok(())
}

/// The fields of one block header, and the data after it.
fn one(source: &SourceRef, block: &Block, file: Option<&AsdfFile>, limits: &Limits, found: &mut Found) -> Result<()> {
    let place = || Place::block(block.index, block.offset);
    let known =
        if block.generation.fields.flags.is_some() { STREAMED | if block.generation.encoded { ENCODED } else { 0 } } else { 0 };
    if block.flags & !known != 0 {
        found.add(Check::Flags, place(), format!("the flags {:#x} are not defined", block.flags & !known));
    }
    if block.is_streamed() && block.is_encoded() {
        found.add(Check::Exclusive, place(), "the flags STREAMED and ENCODED are both set");
        return Ok(());
    }
    if block.codes != [0; 16] {
        let codes = block.codes.iter().copied().filter(|byte| *byte != 0).collect::<Vec<_>>();
        found.leave(
            place(),
            format!("the field encoding is {:?}, whose meaning the document leaves open", codes.escape_ascii().to_string()),
        );
    }
    if !sizes(source, block, found) {
        return Ok(());
    }
    let codec = CodecId(block.compression);
    if codec.is_none() && block.codes == [0; 16] && !block.is_encoded() {
        return Ok(());
    }
    if block.is_streamed() {
        found.leave(place(), format!("a streamed block with the compression {codec}: the specification does not define it"));
        return Ok(());
    }
    if block.is_encoded() {
        return chain::check(source, block, file, limits, found);
    }
    compressed(source, block, codec, limits, found)
}

/// Returns `true` if the sizes make sense, so that the data can be looked at.
fn sizes(source: &SourceRef, block: &Block, found: &mut Found) -> bool {
    let place = || Place::block(block.index, block.offset);
    if block.is_streamed() {
        return true;
    }
    let mut sound = true;
    if block.end().is_none_or(|end| end > source.len()) {
        let room = source.len() - block.data_offset;
        let message = format!("{} bytes are allocated, but {room} follow the block header", block.allocated);
        found.add(Check::Allocated, place(), message);
        sound &= block.used <= room;
    }
    if block.used > block.allocated {
        found.add(Check::Used, place(), format!("{} bytes are used, but only {} allocated", block.used, block.allocated));
        sound = false;
    }
    if block.is_plain() && block.generation.fields.data_size.is_some() && block.data_size != block.used {
        let message =
            format!("{} bytes are used, but they should decode to {}, and nothing encodes them", block.used, block.data_size);
        found.add(Check::PlainSize, place(), message);
        sound = false;
    }
    sound
}

/// Compressed data: a codec that the document lists, and the size that the header states.
fn compressed(source: &SourceRef, block: &Block, codec: CodecId, limits: &Limits, found: &mut Found) -> Result<()> {
    let place = || Place::block(block.index, block.offset);
    let Some((_, check)) = CODECS.iter().find(|(id, _)| *id == codec) else {
        if !codec.is_none() {
            let mend = codec::decoder(codec, block.stored(source)?, block.data_size, limits).is_err().then_some(UNKNOWN);
            let message = format!("the compression {:?} is not one of zlib and bzp2", codec.to_string());
            found.add_mended(Check::Codecs, place(), message, mend);
        }
        return Ok(());
    };
    match codec::decoded_len(codec, &block.stored(source)?, limits) {
        Ok((len, taken)) => {
            if len != block.data_size {
                let message = format!("the data decode to {len} bytes, data_size is {}", block.data_size);
                found.add(Check::DecodedSize, place(), message);
            }
            if taken < block.used {
                let message = format!("{} bytes follow the stream of {codec} within used_size", block.used - taken);
                found.add(*check, Place::block(block.index, block.data_offset + taken), message);
            }
            Ok(())
        }
        Err(error) => found.judge(*check, place(), error),
    }
}

/// The bytes whose MD5 a block states.
fn summed(source: &SourceRef, block: &Block) -> Option<SourceRef> {
    let is_md5 = block.checksum.as_ref().is_some_and(|sum| sum.len() == 16);
    block.stored(source).ok().filter(|_| is_md5)
}

/// Compares the checksum with that of the used bytes.
fn checksum(block: &Block, sum: Option<&[u8; 16]>, file: Option<&AsdfFile>, found: &mut Found) {
    let place = Place::block(block.index, block.offset);
    let Some(stated) = block.checksum.as_deref() else { return };
    let Some(sum) = sum else {
        if stated.len() < 16 {
            let message = format!(
                "the checksum is {}: the specification does not define how an MD5 of 16 bytes is stored in 8",
                hex(stated)
            );
            found.leave(place, message);
        }
        return;
    };
    if stated == sum {
        return;
    }
    let decoded = || {
        let file = file.filter(|_| !block.is_plain())?;
        let data = file.block_data(i64::try_from(block.index).ok()?).ok()?;
        crate::asdf::checksum::md5_of(&*data).ok()
    };
    if decoded().is_some_and(|sum| sum == stated) {
        let message = "the checksum is that of the decoded bytes, as Python asdf wrote it until 5.2";
        found.add_mended(Check::Checksum, place, message, Some(DECODED));
    } else {
        found.add(Check::Checksum, place, format!("the checksum is {}, but the used bytes have {}", hex(stated), hex(sum)));
    }
}

/// Finds the rule that a file departs from whose blocks cannot all be found.
fn broken(source: &SourceRef, sections: &Sections, blocks: &[&Block], row: &Generation, found: &mut Found) -> Result<bool> {
    let Some(error) = sections.incomplete() else { return Ok(true) };
    let next = blocks.last().map_or(sections.first_block(), |last| last.end().filter(|end| *end <= source.len()));
    let Some(at) = next else {
        // The last block is truncated, which was reported.
        if !found.has_blocks() {
            found.leave(Place::default(), error.to_string());
        }
        return Ok(false);
    };
    let bytes = read_vec(&**source, at, source.len().saturating_sub(at).min(64), &Limits::default())?;
    let place = Place::block(blocks.len(), at);
    let Some(mark) = block::magic_len(&bytes) else {
        let check = if index::is_misspelt(&bytes) && found.asks(Check::IndexHeader) { Check::IndexHeader } else { Check::Parts };
        found.add(check, Place::byte(at), error.message());
        return Ok(false);
    };
    let size = bytes.get(mark..mark + 2).and_then(|size| size.try_into().ok()).map(u16::from_be_bytes);
    match size {
        None => found.add(Check::HeaderSize, place, "the file ends in a block header"),
        Some(size) if size < row.documented_minimum => {
            found.add(Check::LeastSize, place, format!("header_size is {size}, expected at least {}", row.documented_minimum));
        }
        Some(size) if size < row.fields.size => {
            found.add(Check::Fields, place, format!("header_size is {size}, but the fields take {} bytes", row.fields.size));
        }
        Some(size) if at + (mark as u64) + 2 + u64::from(size) > source.len() => {
            found.add(Check::HeaderSize, place, format!("header_size is {size}, but the file ends at byte {}", source.len()));
        }
        Some(_) => found.leave(place, error.to_string()),
    }
    Ok(false)
}

/// Bytes as people write them.
pub(super) fn hex(bytes: &[u8]) -> String {
    let bytes: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    bytes.join(if bytes.len() > 8 { "" } else { " " })
}
