//! Blocks that are left of a file, and the readable part of each.

use std::sync::Arc;

use crate::asdf::{Block, Header, block, checksum, find_content, index, next_block};
use crate::bytes::{Source, SourceRef, WindowSource};
use crate::codec::{self, CodecId};
use crate::error::{Error, Result};
use crate::limits::Limits;

/// The readable part of a block.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum BlockState {
    /// The whole block.
    Whole,
    /// The whole block by its size, but its checksum is wrong.
    Damaged,
    /// The first bytes, decoded: their number, and that of all.
    Truncated {
        /// Bytes that can be read.
        recovered: u64,
        /// Bytes that there were.
        total: u64,
    },
    /// No readable bytes, for this reason.
    Lost(String),
}

impl BlockState {
    /// Returns `true` if the stored bytes are kept unchanged.
    pub(super) fn is_kept(&self) -> bool {
        matches!(self, Self::Whole | Self::Damaged)
    }
}

/// The outcome for one block.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlockRepairReport {
    /// Number of the block.
    pub number: usize,
    /// Offset of the block in the damaged file; `None` if it was not found.
    pub offset: Option<u64>,
    /// The outcome.
    pub fate: BlockState,
}

/// A block and what is left of it.
pub(super) struct RecoveredBlock {
    pub(super) block: Option<Block>,
    pub(super) fate: BlockRepairReport,
    /// The decoded bytes that can be read, if that is not all of the block.
    pub(super) data: Option<SourceRef>,
}

impl RecoveredBlock {
    /// Returns the number of decoded bytes.
    pub(super) fn uncompressed_len(&self) -> u64 {
        match (&self.data, &self.block) {
            (Some(data), _) => data.len(),
            (None, Some(block)) => block.decoded_len(),
            (None, None) => 0,
        }
    }

    fn unrecoverable(why: &str) -> Self {
        let fate = BlockRepairReport { number: 0, offset: None, fate: BlockState::Lost(why.to_owned()) };
        Self { block: None, fate, data: None }
    }
}

/// Finds every block after offset `from`, in the order of their numbers.
pub(super) fn find_blocks(
    source: &SourceRef,
    header: &Header,
    from: u64,
    limits: &Limits,
    notes: &mut Vec<String>,
) -> Result<Vec<RecoveredBlock>> {
    let index = index::find_backwards(&**source, from, limits)?;
    let end = index.as_ref().map_or(source.len(), |index| index.offset);
    let mut rows = header.candidate_generations.clone();
    let mut found: Vec<RecoveredBlock> = Vec::new();
    let mut at = next_block(source, &rows, from, limits)?;
    while let Some(mark) = at.filter(|mark| *mark < end) {
        let Ok(mut block) = block::read_block_header(&**source, &rows, mark, found.len()) else {
            at = next_block(source, &rows, mark + 1, limits)?;
            continue;
        };
        rows = vec![block.generation];
        if block.is_streamed() {
            let behind = block.data_offset.saturating_add(block.allocated);
            let fits = block.allocated > 0 && (behind == end || next_block(source, &rows, behind, limits)? == Some(behind));
            repair_streamed_block(&mut block, fits, end, notes);
        }
        let right = block.check(source.len()).is_ok() && block.data_offset <= source.len();
        let behind = match block.end() {
            Some(behind) if right => behind.min(end),
            // The sizes are wrong, or the file is cut: what is here goes on to the next block.
            _ => next_sound(source, &rows, mark + 4, end, limits)?.unwrap_or(end),
        };
        found.push(recover_block(source, block, right, behind, limits)?);
        at = next_block(source, &rows, behind.max(mark + 4), limits)?;
        let gap = at.unwrap_or(end).min(end);
        if right && index.is_none() && find_content(source, behind, gap, b"\0 ", limits)?.is_some() {
            notes.push(format!("{} bytes from byte {behind} on belong to no block: a block is lost there", gap - behind));
            found.push(RecoveredBlock::unrecoverable("its header is damaged"));
        }
    }
    if let Some(Ok(entries)) = index.map(|index| index.entries) {
        found = by_index(found, &entries, notes);
    }
    for (number, piece) in found.iter_mut().enumerate() {
        piece.fate.number = number;
    }
    Ok(found)
}

/// A streamed block is the last thing in its file and states no sizes. One whose sizes fit has a wrong flag, and
/// an index, which begins at byte `end`, is not data.
fn repair_streamed_block(block: &mut Block, fits: bool, end: u64, notes: &mut Vec<String>) {
    if fits {
        block.flags &= !block::STREAMED;
        block.stored_size = None;
        notes.push(format!("the block at byte {} is not streamed, although its flag is set: its sizes fit", block.offset));
    } else if let Some(size) = block.stored_size.as_mut() {
        *size = (*size).min(end.saturating_sub(block.data_offset));
    }
}

/// The blocks in the order of the index, if it lists all of them: missing ones keep their numbers.
fn by_index(found: Vec<RecoveredBlock>, entries: &[u64], notes: &mut Vec<String>) -> Vec<RecoveredBlock> {
    let known = |piece: &RecoveredBlock| piece.fate.offset.is_some_and(|at| entries.contains(&at));
    let sound = entries.windows(2).all(|pair| pair[0] < pair[1]) && entries.len() as u64 <= 1 << 24;
    if !sound || !found.iter().all(known) {
        notes.push("the block index does not fit the blocks; they are numbered as they come".to_owned());
        return found;
    }
    let mut found = found.into_iter().peekable();
    entries
        .iter()
        .map(|entry| {
            found.next_if(|piece| piece.fate.offset == Some(*entry)).unwrap_or_else(|| {
                RecoveredBlock::unrecoverable(&format!("there is no block at byte {entry}, although the index lists it"))
            })
        })
        .collect()
}

/// The next mark whose header makes sense: its sizes fit into the file.
fn next_sound(
    source: &SourceRef,
    rows: &[&'static crate::asdf::Generation],
    from: u64,
    end: u64,
    limits: &Limits,
) -> Result<Option<u64>> {
    let mut at = next_block(source, rows, from, limits)?;
    while let Some(mark) = at.filter(|mark| *mark < end) {
        if block::read_block_header(&**source, rows, mark, 0).is_ok_and(|block| block.check(source.len()).is_ok()) {
            return Ok(Some(mark));
        }
        at = next_block(source, rows, mark + 1, limits)?;
    }
    Ok(None)
}

/// Returns the readable part of a block, which other content follows from byte `behind` on.
///
/// # Errors
/// Returns [`ErrorKind::Limit`](crate::ErrorKind::Limit) if finding out is more work than the command may do: that
/// is not damage.
fn recover_block(source: &SourceRef, block: Block, right: bool, behind: u64, limits: &Limits) -> Result<RecoveredBlock> {
    let found = recover_data(source, &block, right, behind, limits);
    limits.check_work(0)?;
    let (fate, data) = match found {
        Ok((fate, data)) => (fate, data),
        Err(error) => (BlockState::Lost(error.to_string()), None),
    };
    Ok(RecoveredBlock { fate: BlockRepairReport { number: 0, offset: Some(block.offset), fate }, block: Some(block), data })
}

fn recover_data(
    source: &SourceRef,
    block: &Block,
    right: bool,
    behind: u64,
    limits: &Limits,
) -> Result<(BlockState, Option<SourceRef>)> {
    let of = block.decoded_len();
    let is_chain = block.has_encoding_chain() || block.encoding_codes != [0; 16];
    if right {
        let stored: SourceRef = Arc::new(block.stored_window(source)?);
        let same = match block.checksum_rule().filter(|_| !block.is_streamed()) {
            Some(sum) => checksum::compare_checksum(&sum, &checksum::md5_of(&*stored)?, stored.clone(), limits).is_ok(),
            None => true,
        };
        if block.is_uncompressed() || is_chain {
            return Ok((if same { BlockState::Whole } else { BlockState::Damaged }, None));
        }
        let decoded = codec::decoder(CodecId(block.compression), stored, block.data_size, limits)?;
        let have = find_readable_len(&*decoded, limits);
        if have == of {
            return Ok((if same { BlockState::Whole } else { BlockState::Damaged }, None));
        }
        return truncated(decoded, have, of);
    }
    if is_chain {
        return Err(Error::malformed("it is cut, and an encoding chain cannot be decoded in part"));
    }
    let have = behind.saturating_sub(block.data_offset);
    let stored: SourceRef = Arc::new(WindowSource::new(source.clone(), block.data_offset.min(source.len()), have)?);
    if block.is_uncompressed() {
        let have = have.min(of);
        return truncated(stored, have, of);
    }
    let id = CodecId(block.compression);
    // The size that the block has as a whole is not a claim about these bytes, which the limits would refuse.
    let most = codec::max_decoded_len(id, stored.len(), limits)?;
    let decoded = codec::decoder(id, stored, block.data_size.min(most), limits)?;
    let have = find_readable_len(&*decoded, limits);
    truncated(decoded, have, of)
}

fn truncated(data: SourceRef, have: u64, of: u64) -> Result<(BlockState, Option<SourceRef>)> {
    if have == 0 {
        return Err(Error::malformed("unreadable"));
    }
    Ok((BlockState::Truncated { recovered: have, total: of }, Some(Arc::new(WindowSource::new(data, 0, have)?))))
}

/// Returns the number of bytes that can be read from the start on.
///
/// Work beyond the limit is not begun. The budget is used up then, and [`recover_block`] notices it.
fn find_readable_len(source: &dyn Source, limits: &Limits) -> u64 {
    if limits.check_work(source.len()).is_err() {
        return 0;
    }
    let (mut at, mut piece) = (0, 1u64 << 20);
    let mut buffer = vec![0; 1 << 20];
    while at < source.len() {
        let len = piece.min(source.len() - at);
        let into = buffer.get_mut(..len as usize).unwrap_or_default();
        if source.read_at(at, into).is_ok() {
            at += len;
        } else if piece > 64 {
            piece /= 4;
        } else {
            break;
        }
    }
    at
}
