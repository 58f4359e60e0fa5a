//! The block index, and what else may follow the last block.

use memchr::memmem;

use super::AsdfRules;
use super::report::{FindingLocation, Findings};
use super::rule::Check;
use crate::asdf::index::{EARLY_HEADER, INDEX_HEADER};
use crate::asdf::{AsdfSections, Block};
use crate::bytes::{SourceRef, read_vec};
use crate::error::Result;
use crate::limits::Limits;
use crate::tree::{TextOrigin, Tree, TreeRule};

/// Checks the bytes after the last block; `is_sound` is `true` if all blocks were found.
pub(super) fn check_block_index(
    source: &SourceRef,
    sections: &AsdfSections,
    law: &AsdfRules,
    is_sound: bool,
    limits: &Limits,
    found: &mut Findings,
) -> Result<()> {
    let blocks = if is_sound { sections.blocks()? } else { Vec::new() };
    let Some(last) = blocks.last() else {
        if let (Some(at), None) = (sections.index_offset(), sections.first_block()) {
            found.add_deviation(Check::IndexAlone, FindingLocation::from_byte(at), "a block index in a file without blocks");
        }
        return Ok(());
    };
    if last.is_streamed() {
        if let Some(at) = sections.index_offset() {
            found.add_deviation(Check::IndexStreamed, FindingLocation::from_byte(at), "a block index after a streamed block");
        }
        return Ok(());
    }
    let Some(end) = last.end().filter(|end| *end < source.len()) else {
        // An index within a block is not after it.
        if let Some(at) = sections.index_offset().filter(|_| law.index) {
            found.add_deviation(
                Check::IndexAtEnd,
                FindingLocation::from_byte(at),
                "the block index is inside the allocated space of the last block",
            );
        }
        return Ok(());
    };
    let at = sections.index_offset().unwrap_or(end);
    let rest = read_vec(&**source, end, source.len() - end, limits)?;
    if !law.index {
        let what = if rest.starts_with(INDEX_HEADER) {
            "a block index, which this specification does not have"
        } else {
            "bytes that belong to no block"
        };
        found.add_deviation(Check::VersionParts, FindingLocation::from_byte(end), format!("after the last block: {what}"));
        return Ok(());
    }
    if at != end && at > end {
        let message = format!("{} bytes between the last block and the block index, expected none", at - end);
        found.add_deviation(Check::IndexAtEnd, FindingLocation::from_byte(end), message);
    } else if at < end {
        found.add_deviation(
            Check::IndexAtEnd,
            FindingLocation::from_byte(at),
            "the block index is inside the allocated space of the last block",
        );
    }
    let text = read_vec(&**source, at, source.len() - at, limits)?;
    if text.starts_with(INDEX_HEADER) {
        return check_index_text(&text, at, &blocks, limits, found);
    }
    let message = match () {
        () if text.starts_with(EARLY_HEADER) => "the block index begins with other magic bytes, as on one branch of 2015",
        () if is_misspelt(&text) => "the header of the block index is another",
        () => {
            found.add_deviation(
                Check::VersionParts,
                FindingLocation::from_byte(end),
                "the bytes after the last block are neither a block nor a block index",
            );
            return Ok(());
        }
    };
    found.add_deviation(Check::IndexHeader, FindingLocation::from_byte(at), format!("{message}, expected \"#ASDF BLOCK INDEX\""));
    Ok(())
}

/// Returns `true` if this begins like the header of a block index, which it is not.
pub(super) fn is_misspelt(text: &[u8]) -> bool {
    let start = text.get(..text.len().min(64)).unwrap_or(&[]);
    memmem::find(&start.to_ascii_uppercase(), b"BLOCK INDEX").is_some()
}

/// The text of an index.
fn check_index_text(text: &[u8], at: u64, blocks: &[&Block], limits: &Limits, found: &mut Findings) -> Result<()> {
    let rest = text.get(INDEX_HEADER.len()..).unwrap_or(&[]);
    let place = |offset: usize| FindingLocation::from_byte(at + offset as u64);
    let body = match rest {
        [b'\n', body @ ..] | [b'\r', b'\n', body @ ..] => body,
        _ => {
            let message = "the header of the block index is not followed by a line end";
            let line_end = memchr::memchr2(b'\r', b'\n', rest).unwrap_or(0);
            let check = if line_end == 0 { Check::IndexLineEnd } else { Check::IndexHeader };
            found.add_deviation(check, place(INDEX_HEADER.len()), message);
            return Ok(());
        }
    };
    let start = text.len() - body.len();
    let end = memmem::find_iter(body, b"\n...").find_map(|at| match body.get(at + 4..)? {
        [b'\n', ..] => Some(at + 5),
        [b'\r', b'\n', ..] => Some(at + 6),
        [] => Some(at + 4),
        _ => None,
    });
    let Some(end) = end else {
        found.add_deviation(Check::IndexYaml, place(start), "the YAML of the block index has no end marker (...)");
        return Ok(());
    };
    let behind = body.get(end..).unwrap_or(&[]);
    if let Some(other) = behind.iter().position(|byte| *byte != 0) {
        found.add_deviation(Check::IndexEnd, place(start + end + other), "bytes that are not zero after the block index");
    }
    let yaml = body.get(..end).unwrap_or(&[]).to_vec();
    let tree = match Tree::parse_bytes(yaml, TextOrigin::new(at + start as u64, 1), limits) {
        Ok(tree) => tree,
        Err(error) => return found.record_error(Check::IndexYaml, place(start), error),
    };
    if let Some(warning) = tree
        .warnings()
        .iter()
        .find(|warning| [TreeRule::Version, TreeRule::Marker].iter().any(|rule| rule.name() == warning.code))
    {
        found.add_deviation(Check::IndexYaml, place(start), format!("in the block index, {}", warning.message));
    }
    let offsets: Option<Vec<u64>> = tree.root().items().map(|item| item.as_u64()).collect();
    let Some(offsets) = offsets.filter(|_| tree.root().is_sequence()) else {
        found.add_deviation(Check::IndexYaml, place(start), "the YAML of the block index is not a list of integers");
        return Ok(());
    };
    check_index_offsets(&offsets, blocks, place(start), found);
    Ok(())
}

/// The offsets that an index lists.
fn check_index_offsets(offsets: &[u64], blocks: &[&Block], place: FindingLocation, found: &mut Findings) {
    for pair in offsets.windows(2) {
        let [first, second] = pair else { continue };
        let header = blocks.iter().find(|block| block.offset == *first).map_or(54, |block| block.data_offset - block.offset);
        if *second < first.saturating_add(header) {
            let message = format!("the offset {second} follows {first}, expected at least a block header more");
            found.add_deviation(Check::IndexOrder, place, message);
            return;
        }
    }
    let expected: Vec<u64> = blocks.iter().map(|block| block.offset).collect();
    if offsets != expected {
        let wrong = offsets.iter().zip(&expected).position(|(stated, is)| stated != is);
        let message = match wrong.and_then(|at| Some((at, offsets.get(at)?, expected.get(at)?))) {
            Some((number, stated, is)) => format!("the block index has byte {stated} for block {number}, which is at byte {is}"),
            None => format!("the block index lists {} blocks, the file has {}", offsets.len(), expected.len()),
        };
        found.add_deviation(Check::IndexOffsets, place, message);
    }
}
