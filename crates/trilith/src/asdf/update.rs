//! Changes in place: the tree of a file, and single blocks. Every other block stays in its place.
//!
//! The file layout of the family leaves space for it: unused space may follow the tree, and a block may have more
//! space than it uses (ASDF 1.x, "Tree" and "Block content"). Overwritten bytes are saved in a rollback journal
//! first, so that a crash leaves the old file or the new one.
//!
//! A block that is given up keeps its place and number and is marked as empty. A later block that fits takes it
//! over. Other new blocks are appended, and the block index is rewritten after them.

use std::collections::BTreeSet;
use std::io::Write;
use std::ops::Range;

use super::asdf_file::AsdfFile;
use super::block::{Block, BlockHeaderValues, fill_fields};
use super::generation::Generation;
use super::index;
use super::sections::{AsdfSections, find_content};
use super::stored_block::StoredBlock;
use crate::bytes::{FileUpdate, PieceAccess, Source, SourceBacking, for_each_piece, is_detached, to_usize};
use crate::error::{Error, Result};
use crate::limits::Limits;

/// Bytes that an update saves before it overwrites them; if more would be, the new block is appended.
const MAX_JOURNALED_BYTES: u64 = 64 << 20;

/// Data of appended uncompressed blocks begin at a multiple of this.
const DATA_ALIGNMENT: u64 = 64;

/// Returns `true` if the file is inside another, or was unpacked: it has no place that could be written to.
fn has_no_place(file: &AsdfFile) -> bool {
    file.container().is_some() || is_detached(&**file.sections().source())
}

/// Room for a tree in a file: the bytes from its start to the first block, or to the content of the unused space before it, or to
/// the end of a file without blocks if only blanks follow the tree. `None` if it has no tree or no room.
///
/// # Errors
/// Returns the errors of [`Source::read_at`].
fn tree_capacity(file: &AsdfFile) -> Result<Option<u64>> {
    let sections = file.sections();
    let (Some(tree), size) = (sections.tree(), sections.source().len()) else { return Ok(None) };
    if sections.first_block().is_some() {
        let content = sections.content_after_tree()?;
        return Ok(sections.block(0).ok().map(|first| content.unwrap_or(first.offset) - tree.start));
    }
    let is_blank = tree.end < size && find_content(sections.source(), tree.end, size, b"\0 ", &Limits::default())?.is_none();
    Ok(is_blank.then(|| size - tree.start))
}

/// Overwrites the tree in place if the new text fits, and returns whether it fit. Files inside another file, and files that were
/// unpacked, are never changed in place. The rest of the space is filled with zeros (spaces before ASDF 1.0).
///
/// # Errors
/// Returns the errors of [`FileUpdate::commit`](crate::bytes::FileUpdate::commit). After an
/// [`ErrorKind::Io`](crate::ErrorKind::Io) the file has its old content, at once or after the next opening.
pub fn tree_in_place(file: &AsdfFile, text: &str) -> Result<bool> {
    match tree_update(file, text)? {
        Some(update) => update.commit(&**file.sections().source()).map(|_| true),
        None => Ok(false),
    }
}

/// Returns the update by which [`tree_in_place`] overwrites the tree; None if the new text does not fit.
///
/// # Errors
/// Returns the errors of [`Source::read_at`].
pub(crate) fn tree_update(file: &AsdfFile, text: &str) -> Result<Option<FileUpdate>> {
    if has_no_place(file) || tree_capacity(file)?.is_none() {
        return Ok(None);
    }
    BlockPlacement::default().build_update(file, text)
}

/// Writes a copy of `file` with another tree into `out`, if the new text fits into the room of the old one;
/// whether it did. Every byte after that room is as it was, whatever it is.
///
/// # Errors
/// Returns [`ErrorKind::Io`](crate::ErrorKind::Io) if the operating system reports an error.
pub(crate) fn tree_in_copy<W: Write + ?Sized>(file: &AsdfFile, text: &str, out: &mut W) -> Result<bool> {
    let (Some(tree), Some(room)) = (file.sections().tree(), tree_capacity(file)?) else { return Ok(false) };
    if file.container().is_some() {
        return Ok(false);
    }
    let has_blocks = file.sections().first_block().is_some();
    let Some(bytes) = pad_tree(file, text, room, has_blocks)? else { return Ok(false) };
    let source = file.sections().source();
    copy_out(&**source, 0..tree.start, out)?;
    out.write_all(&bytes).map_err(|e| Error::io("writing", e))?;
    copy_out(&**source, tree.start + room..source.len(), out)?;
    Ok(true)
}

/// The text of a tree with the unused space that fills its room; None if it does not fit.
fn pad_tree(file: &AsdfFile, text: &str, room: u64, has_blocks: bool) -> Result<Option<Vec<u8>>> {
    let mut bytes = text.as_bytes().to_vec();
    if !bytes.ends_with(b"\n") {
        bytes.push(b'\n');
    }
    if bytes.len() as u64 > room {
        return Ok(None);
    }
    // The padding byte is that of the file, or that of a new file: see `FileWriter::finish`.
    let has_row = has_blocks && file.sections().generation().is_some_and(|row| row.index);
    bytes.resize(to_usize(room)?, if has_row { file.sections().filling()? } else { b' ' });
    Ok(Some(bytes))
}

fn copy_out<W: Write + ?Sized>(source: &dyn Source, part: Range<u64>, out: &mut W) -> Result<()> {
    for_each_piece(source, part, 4 << 20, PieceAccess::Copy, &mut |piece| {
        out.write_all(piece).map_err(|e| Error::io("writing", e))
    })
}

/// Places of the new blocks of a file, and the fate of those given up.
#[derive(Debug, Default)]
#[non_exhaustive]
pub(crate) struct BlockPlacement<'b> {
    /// The number that each new block gets, in their order.
    pub block_numbers: Vec<usize>,
    /// New blocks in the place of old ones: number of the old one, the new one, whether the old data must be saved.
    reused: Vec<(usize, &'b StoredBlock, bool)>,
    /// Blocks that become empty.
    freed: Vec<usize>,
    appended: Vec<&'b StoredBlock>,
}

impl<'b> BlockPlacement<'b> {
    /// Finds places for `added` blocks if those in `freed` are given up; None if the file cannot be
    /// changed in place: it is in another, its blocks do not follow one another, or a streamed one is in the way.
    ///
    /// # Errors
    /// Returns an error if the block headers cannot be read.
    pub(crate) fn plan_in_place(file: &AsdfFile, freed: &BTreeSet<usize>, added: &'b [StoredBlock]) -> Result<Option<Self>> {
        if has_no_place(file) {
            return Ok(None);
        }
        let blocks = file.sections().blocks()?;
        let row = file.sections().generation();
        let is_streamed = |number: &usize| blocks.get(*number).is_none_or(|block| block.is_streamed());
        let is_foreign = |new: &StoredBlock| Some(new.block.generation) != row || new.block.is_streamed();
        if freed.iter().any(is_streamed) || added.iter().any(is_foreign) {
            return Ok(None);
        }
        let moves = !freed.is_empty() || !added.is_empty();
        if moves && !is_chain(file, &blocks) {
            return Ok(None);
        }
        // Empty blocks hold nothing that would have to be saved.
        let used = used_blocks(file)?;
        let is_idle = |block: &&&Block| block.used == 0 && !block.is_streamed() && !used.contains(&block.index);
        let mut free: Vec<(u64, usize, bool)> =
            blocks.iter().filter(is_idle).map(|block| (block.allocated, block.index, false)).collect();
        free.extend(freed.iter().filter_map(|n| blocks.get(*n)).map(|block| (block.allocated, block.index, true)));
        free.sort_unstable();
        // Views of this process go on showing what they showed.
        let local = file.sections().source().backing().and_then(SourceBacking::local_file);
        let is_shown = |number: usize| {
            let range = blocks.get(number).map(|block| block.data_offset..block.end().unwrap_or(u64::MAX));
            range.is_some_and(|range| local.is_some_and(|local| local.is_borrowed(&range)))
        };
        let mut placement = Self::default();
        for new in added {
            let size = new.block.used;
            let fits = |(space, number, saved): &(u64, usize, bool)| {
                *space >= size && (!saved || size <= MAX_JOURNALED_BYTES) && !is_shown(*number)
            };
            match free.iter().position(fits) {
                Some(at) => {
                    let (_, number, saved) = free.remove(at);
                    placement.block_numbers.push(number);
                    placement.reused.push((number, new, saved));
                }
                None => {
                    placement.block_numbers.push(blocks.len() + placement.appended.len());
                    placement.appended.push(new);
                }
            }
        }
        placement.freed = free.into_iter().filter(|(_, _, is_freed)| *is_freed).map(|(_, number, _)| number).collect();
        let streamed = blocks.last().is_some_and(|block| block.is_streamed());
        Ok(Some(placement).filter(|placement| placement.appended.is_empty() || !streamed))
    }

    /// Everything that is written, in the order of writing; None if the tree does not fit.
    ///
    /// # Errors
    /// Returns an error if the block headers cannot be read.
    pub(crate) fn build_update(&self, file: &AsdfFile, text: &str) -> Result<Option<FileUpdate>> {
        let sections = file.sections();
        let Some(tree) = sections.tree() else { return Ok(None) };
        let touches_none = self.reused.is_empty() && self.freed.is_empty() && self.appended.is_empty();
        let (blocks, old_len) = (if touches_none { Vec::new() } else { sections.blocks()? }, sections.source().len());
        let is_first = sections.first_block().is_none() && !self.appended.is_empty();
        let old_room = if is_first { None } else { tree_capacity(file)? };
        let has_row = sections.generation().is_some_and(|row| row.index);
        let len = text.len() as u64 + u64::from(!text.ends_with('\n'));
        // A file without blocks gets room for its tree to grow.
        let room = old_room.unwrap_or(if self.appended.is_empty() { len } else { len + len / 4 + 1024 });
        if old_room.is_none() && tree.start + room < old_len {
            return Ok(None);
        }
        let has_blocks = is_first || sections.first_block().is_some();
        let Some(bytes) = pad_tree(file, text, room, has_blocks)? else { return Ok(None) };
        let has_index = sections.index_offset().is_some() || (old_room.is_none() && has_row);
        let mut update = FileUpdate::new();
        // The text that the new one was made from must be what is there.
        let old = file.tree().text();
        if old.len() as u64 == tree.end - tree.start {
            update.expect(tree.start, old.as_bytes().to_vec());
        }
        update.write(tree.start, bytes);
        for (number, new, saved) in &self.reused {
            let Some(old) = blocks.get(*number) else { return Ok(None) };
            if !*saved {
                update.scratch(old.data_offset..old.data_offset + new.block.used);
            }
            update.write(fields_at(old), fields_of(old, old.allocated, Some(&new.block)));
            update.write(old.data_offset, new.stored.clone());
        }
        for old in self.freed.iter().filter_map(|number| blocks.get(*number)) {
            update.write(fields_at(old), fields_of(old, old.allocated, None));
        }
        if !self.appended.is_empty() {
            let end = blocks.last().and_then(|block| block.end()).unwrap_or(tree.start + room);
            self.append_blocks(&mut update, sections, (end, has_index))?;
        }
        Ok(Some(update))
    }

    /// The new blocks after the last one, which ends at a byte, and after them the index, if there is one.
    fn append_blocks(&self, update: &mut FileUpdate, sections: &AsdfSections, (end, has_index): (u64, bool)) -> Result<()> {
        let (blocks, documented) = (sections.blocks()?, sections.is_as_documented()?);
        let mut offsets: Vec<u64> = blocks.iter().map(|block| block.offset).collect();
        let mut at = end;
        for (i, new) in self.appended.iter().enumerate() {
            let row = new.block.generation;
            let head = row.magic.len() as u64 + 2 + u64::from(row.fields.size);
            let padding =
                if new.block.is_uncompressed() { (at + head).next_multiple_of(DATA_ALIGNMENT) - (at + head) } else { 0 };
            // The block before it is given the space in between.
            match (i.checked_sub(1).and_then(|before| self.appended.get(before)), blocks.last()) {
                _ if padding == 0 => {}
                (Some(before), _) => {
                    write_allocated_size(
                        update,
                        at - before.block.used - u64::from(row.fields.size),
                        row,
                        before.block.used + padding,
                    );
                }
                (None, Some(last)) => {
                    write_allocated_size(update, fields_at(last), last.generation, last.allocated + padding);
                }
                (None, None) => {}
            }
            if padding > 0 {
                update.write(at, vec![0; padding as usize]);
            }
            at += padding;
            offsets.push(at);
            let mut header = if documented { row.magic_documented } else { row.magic }.to_vec();
            header.extend_from_slice(&row.fields.size.to_be_bytes());
            header.extend(new_fields(row.fields.size, &new.block, new.block.used));
            update.write(at, header);
            update.write(at + head, new.stored.clone());
            at += head + new.block.used;
        }
        if has_index {
            update.write(at, index::print(&offsets).into_bytes());
        }
        Ok(())
    }
}

/// Gives a block whose fields begin at a byte another allocated size.
fn write_allocated_size(update: &mut FileUpdate, fields: u64, row: &Generation, allocated: u64) {
    update.write(fields + u64::from(row.fields.allocated.offset), allocated.to_be_bytes().to_vec());
}

/// First byte after `header_size`.
fn fields_at(block: &Block) -> u64 {
    block.data_offset - u64::from(block.header_size)
}

/// The fields of an old block that holds a new one, or nothing.
fn fields_of(old: &Block, allocated: u64, new: Option<&Block>) -> Vec<u8> {
    match new {
        Some(new) => new_fields(old.generation.fields.size, new, allocated),
        None => {
            let values = BlockHeaderValues { allocated, ..BlockHeaderValues::default() };
            fill_fields(&old.generation.fields, old.generation.fields.size, &values)
        }
    }
}

fn new_fields(size: u16, new: &Block, allocated: u64) -> Vec<u8> {
    let values = BlockHeaderValues {
        flags: new.flags,
        compression: new.compression,
        codes: new.encoding_codes,
        allocated,
        used: new.used,
        data_size: new.data_size,
        checksum: new.checksum.as_deref(),
    };
    fill_fields(&new.generation.fields, size, &values)
}

/// Returns `true` if every block begins where the one before it ends, and only an index or zeros follow the last.
fn is_chain(file: &AsdfFile, blocks: &[&Block]) -> bool {
    let sections = file.sections();
    let report = sections.index_report();
    let follows = blocks.windows(2).all(|pair| matches!(pair, [a, b] if a.end() == Some(b.offset)));
    let end = blocks.last().map(|block| block.end());
    let closed = match (end, sections.index_offset()) {
        (None, _) => true,
        (Some(end), Some(index)) => end == Some(index),
        (Some(end), None) => end == Some(sections.source().len()),
    };
    report.valid != Some(false) && follows && closed
}

/// The blocks that arrays of the file's own tree refer to.
fn used_blocks(file: &AsdfFile) -> Result<BTreeSet<usize>> {
    let mut used = super::chunked_array::NamedBlocks::of_tree(file, file.tree())?.blocks;
    for (_, source) in super::walk::ndarrays_with_source(file)? {
        if let Some(number) = source.as_i64()
            && let Ok(block) = file.sections().block(number)
        {
            used.insert(block.index);
        }
    }
    Ok(used)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::array::Array;
    use crate::asdf::{ArrayOptions, AsdfBuilder, Target, WriteOptions};
    use crate::bytes::{JournaledUpdate, LocalOptions, MemorySource, open};
    use crate::limits::Limits;
    use crate::tree::Value;

    fn numbers(count: i32) -> Array {
        Array::from_slice(&(0..count).collect::<Vec<_>>(), &[count as u64]).unwrap()
    }

    fn opened(path: &Path) -> AsdfFile {
        AsdfFile::open(open(path, LocalOptions::default()).unwrap(), &Limits::default()).unwrap()
    }

    /// `a`, `b`, `c` with an empty block between, and room after the tree.
    fn sample(path: &Path, target: &'static Target) {
        let mut layout = WriteOptions::default();
        layout.tree_padding = 2000;
        let mut builder = AsdfBuilder::new(target).with_options(layout);
        let mut tree = Value::map::<&str, Value>([]);
        for name in ["a", "idle", "b", "c"] {
            tree.set(name, builder.array(&numbers(50), &ArrayOptions::default()).unwrap());
        }
        builder.write(path, tree).unwrap();
        let file = opened(path);
        let mut edit = file.tree().edit();
        edit.set(&crate::tree::TreePath::parse("/idle").unwrap(), &1.into()).unwrap();
        let placement = BlockPlacement::plan_in_place(&file, &BTreeSet::from([1]), &[]).unwrap().unwrap();
        let update = placement.build_update(&file, edit.finish(file.limits()).unwrap().text()).unwrap().unwrap();
        update.commit(&**file.sections().source()).unwrap();
    }

    #[test]
    fn kill_after_any_write_keeps_old_arrays() {
        for target in ["finf-0.1", "asdf-0.1", "asdf-1.6"].map(|name| Target::from_name(name).unwrap()) {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("x.asdf");
            // New blocks: one for the empty place, one for that of `b`, one at the end.
            let mut builder = AsdfBuilder::new(target);
            for count in [40, 45, 300] {
                builder.array(&numbers(count), &ArrayOptions::default()).unwrap();
            }
            let added = builder.into_blocks(target.generation(), &MemorySource::new(Vec::new(), "none")).unwrap();
            for kill_after in 0usize.. {
                sample(&path, target);
                let file = opened(&path);
                let placement = BlockPlacement::plan_in_place(&file, &BTreeSet::from([2]), &added).unwrap().unwrap();
                assert_eq!(placement.block_numbers, [1, 2, 4], "{}", target.name);
                let text = file.tree().text().replace("idle: 1", "idle: 2");
                let update = placement.build_update(&file, &text).unwrap().unwrap();
                let mut journal = update.begin_commit(&**file.sections().source()).unwrap();
                if journal.write_pieces(kill_after).unwrap() {
                    break;
                }
                drop((journal, file));
                for recovered in [false, true] {
                    if recovered {
                        assert!(JournaledUpdate::recover(&path).unwrap());
                    }
                    let file = opened(&path);
                    for name in ["/a", "/b", "/c"] {
                        let values = file.array_at(name).unwrap().load::<i32>().unwrap();
                        assert_eq!(values, (0..50).collect::<Vec<_>>(), "{} {kill_after} {recovered} {name}", target.name);
                    }
                    assert_eq!(file.tree().node_at_pointer("/idle").unwrap().as_i64(), Some(1));
                    assert_eq!(file.sections().blocks().unwrap().len(), 4);
                    assert_ne!(file.sections().index_report().valid, Some(false));
                }
                std::fs::remove_file(&path).unwrap();
            }
        }
    }
}
