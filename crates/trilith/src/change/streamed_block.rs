//! The streamed block of a file: how one is begun in a file that is there, and how it gets sizes at the end.

use crate::bytes::shown_path;
use std::collections::BTreeMap;
use std::path::Path;

use super::{Change, target_of};
use crate::array::{Byteorder, Datatype};
use crate::asdf::{
    ArrayOptions, AsdfBuilder, AsdfFile, Block, BlockOptions, FileWriter, Generation, Target, WriteOptions, ndarray, row_bytes,
    walk,
};
use crate::assemble::{NewSource, with_sources};
use crate::bytes::{NewFile, WriteBasis, WriteSeek, is_detached};
use crate::error::{Error, Result};
use crate::tree::{Tree, TreePath, Value};

/// Refuses a generation whose block headers have no flags.
pub(super) fn check_streams(row: Option<&Generation>, name: &str) -> Result<()> {
    if row.is_some_and(|row| row.fields.flags.is_some()) {
        return Ok(());
    }
    Err(Error::unsupported(format!("{name} has no streamed blocks")).hint(format!("{} has them", Target::latest().name)))
}

/// The elements of each row of a streamed array.
#[derive(Clone, Copy)]
pub(super) struct StreamRow<'a> {
    /// Datatype of the elements.
    pub(super) datatype: &'a Datatype,
    /// Byte order of the elements.
    pub(super) byteorder: Byteorder,
    /// Lengths of all axes but the first, which counts the rows.
    pub(super) shape: &'a [u64],
}

/// Begins a streamed array in a file that has none: rewrites the file with an empty block at its end.
pub(super) fn create_stream(file: &AsdfFile, path: &Path, item: &str, row: StreamRow<'_>) -> Result<()> {
    let sections = file.sections();
    let generation = sections.generation();
    check_streams(generation, generation.map_or("this file", |row| row.name))?;
    if sections.all_blocks()?.last().is_some_and(|block| block.is_streamed()) {
        return Err(Error::invalid_input(format!("{} has a streamed block already, and can have one only", shown_path(path)))
            .hint("finalise that array first, or use another file"));
    }
    let StreamRow { datatype, byteorder, shape } = row;
    let shape = [&[0], shape].concat();
    let mut node =
        AsdfBuilder::new(target_of(file)).array_in_pieces(datatype, byteorder, &shape, &ArrayOptions::streamed(), |_| Ok(()))?;
    // "The last block" is another now.
    let tree = Tree::parse_at(text_with_absolute_numbers(file)?, file.tree().origin(), file.limits())?;
    Change::new(file).match_dialect(&mut node);
    let mut edit = tree.edit();
    edit.set(&TreePath::parse(item)?, &node)?;
    rewrite_with(file, path, edit.finish(file.limits())?.text(), |writer| {
        let mut how = BlockOptions::default();
        how.streamed = true;
        writer.begin_block(&how)?.finish().map(drop)
    })
    .map(drop)
}

/// The text of a tree that names blocks from the start instead of from the end.
fn text_with_absolute_numbers(file: &AsdfFile) -> Result<String> {
    let mut sources = BTreeMap::new();
    for (node, source) in walk::ndarrays_with_source(file)? {
        if let Some(number) = source.as_i64().filter(|number| *number < 0) {
            sources.insert(node.id(), NewSource::Block(file.sections().block(number)?.index));
        }
    }
    with_sources(file, &sources)
}

/// Turns a streamed block into one with sizes and a checksum, and adds a block index, for readers that do not support streamed
/// blocks. `options` may set a codec. Returns the number of rows of the array at `item`, and the size of the file.
///
/// # Errors
/// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if the array is not streamed,
/// [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if its last row is not whole,
/// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) if it is in another file or this file is in a FITS
/// file, and the errors of [`NewFile::commit`].
pub fn finalise(file: &AsdfFile, path: impl AsRef<Path>, item: &str, options: &ArrayOptions) -> Result<(u64, u64)> {
    let found = walk::find(file, item)?;
    let node = found.node(file);
    let number = Some(node).filter(|node| ndarray::is_ndarray(*node)).and_then(|node| node.get("source")?.as_i64());
    let Some(number) = number.filter(|_| found.external_file().is_none()) else {
        return Err(Error::unsupported("this is not an array in a block of this file")
            .at_path(item)
            .hint("an array in another file is finalised there"));
    };
    let block = file.sections().block(number)?;
    if !block.is_streamed() {
        return Err(Error::invalid_input("the array is not streamed: its block has sizes already").at_path(item));
    }
    let (array, data) = (file.stored_array(node)?, file.block_data(number)?);
    let row = row_bytes(array.datatype(), array.shape().get(1..).unwrap_or_default())?;
    let rest = data.len() - array.byte_range().end.min(data.len());
    if array.is_c_contiguous() && rest > 0 && rest < row {
        return Err(Error::malformed(format!("{rest} bytes of an unfinished row of {row} are at the end")));
    }
    if let Some(codec) = options.codec
        && block.generation.fields.compression.is_none()
    {
        let message = format!("{} cannot hold a block compressed with {codec}", block.generation.name);
        return Err(Error::invalid_input(message)
            .at_path(item)
            .hint("leave out the codec; convert the file to a newer generation to compress it"));
    }
    let text = text_with_fixed_shapes(file, block)?;
    let size = rewrite_with(file, path.as_ref(), &text, |writer| {
        let mut how = BlockOptions::default();
        how.codec = options.codec;
        how.encode.level = options.level;
        how.encode.blosc = options.blosc;
        how.encode.item_size = usize::try_from(array.datatype().packed_size()).unwrap_or(1).max(1);
        how.encode.row_bytes = Some(row);
        writer.block(&*data, &how).map(drop)
    })?;
    Ok((array.shape().first().copied().unwrap_or(0), size))
}

/// The text of the tree in which the arrays of a streamed block have the shapes that they have now, and name the block
/// by its number from the start.
fn text_with_fixed_shapes(file: &AsdfFile, block: &Block) -> Result<String> {
    let mut edit = file.tree().edit();
    for (node, source) in walk::ndarrays_with_source(file)? {
        let number = source.as_i64().and_then(|number| Some(file.sections().block(number).ok()?.index));
        if number != Some(block.index) {
            continue;
        }
        edit.replace_node(source, &Value::from(block.index as u64));
        if let Some(open) = node.get("shape").and_then(|shape| shape.items().next()).filter(|first| first.text() == "*") {
            let rows = file.stored_array(node)?.shape().first().copied().unwrap_or(0);
            edit.replace_node(open, &Value::from(rows));
        }
    }
    Ok(edit.finish(file.limits())?.into_text())
}

/// Rewrites a file at its path with this tree, its sized blocks in their stored form, and the output of `last`
/// after them. Returns its size.
fn rewrite_with(
    file: &AsdfFile,
    path: &Path,
    text: &str,
    last: impl FnOnce(&mut FileWriter<&mut dyn WriteSeek>) -> Result<()>,
) -> Result<u64> {
    let sections = file.sections();
    let source = sections.source();
    if file.container().is_some() || is_detached(&**source) {
        return Err(Error::unsupported("a file inside a FITS file, or compressed as a whole, cannot have a streamed block")
            .hint("convert writes it as a separate file"));
    }
    let blocks: Vec<&Block> = sections.all_blocks()?;
    let row = blocks.first().map(|block| block.generation).or_else(|| sections.generation());
    let row = row.ok_or_else(|| Error::unsupported("a file of an unknown generation"))?;
    let mut out = NewFile::create(path, WriteBasis::LockedBy(&**source))?.with_limits(file.limits());
    let mut how = WriteOptions::default();
    (how.tree_padding, how.keep_unused) = (sections.padding().min(1 << 20), true);
    let mut writer = FileWriter::new(out.writer(), row, how);
    writer.match_existing(sections)?;
    let header = sections.header();
    writer.header_of_bytes(&header.line, &header.raw_comments, Some(text))?;
    // `last` writes a block, too.
    writer.keep_unused(sections, blocks.iter().filter(|block| !block.is_streamed()).count() + 1)?;
    for block in blocks.into_iter().filter(|block| !block.is_streamed()) {
        writer.copy(&block.stored_source(source)?, block)?;
    }
    last(&mut writer)?;
    super::exploded::refuse_damaged(&writer.finish()?)?;
    Ok(out.commit()?.size)
}
