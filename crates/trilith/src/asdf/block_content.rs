//! Elements that will be a block of a new file: where they are, and how they get into it.

use std::collections::BTreeMap;

use super::array_options::ArrayOptions;
use super::stored_block::{BlockOptions, BorrowedSource, unchanged_bytes};
use crate::array::{Array, Byteorder, Datatype};
use crate::bytes::Source;
use crate::codec::EncodeOptions;
use crate::error::{Error, Result};

/// A function that hands over the bytes of an array piece by piece.
type PieceProducer<'a> = Box<dyn FnOnce(&mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> + 'a>;

/// The elements of a block.
pub(super) enum BlockContent<'a> {
    Array(Array, Byteorder),
    /// Elements in memory as they are to be stored.
    Bytes {
        bytes: &'a [u8],
        row: u64,
        item: u64,
    },
    Pieces {
        len: u64,
        row: u64,
        item: u64,
        streamed: bool,
        pieces: PieceProducer<'a>,
    },
    /// Space of this number of bytes that other processes write into.
    Reserved(u64),
}

/// Smaller blocks are hashed as fast on their way into the file, where their header can still be filled in without a seek.
const MIN_RESIDENT_BLOCK: u64 = 64 << 10;
/// Fewer bytes are hashed as fast as a thread starts.
const MIN_RESIDENT_BYTES: u64 = 1 << 20;

/// Returns the bytes of the blocks whose checksums are computed while they are written, in place and several at once, by number of
/// the block. All others are hashed on their way into the file.
pub(super) fn resident_blocks<'a>(blocks: &[(BlockContent<'a>, ArrayOptions)]) -> BTreeMap<usize, Box<dyn Source + 'a>> {
    let mut found = BTreeMap::new();
    for (number, (content, options)) in blocks.iter().enumerate() {
        let is_unchanged = options.block_codec().is_none() && !options.streamed;
        let bytes = if is_unchanged { content.resident_bytes() } else { None };
        if let Some(bytes) = bytes.filter(|bytes| bytes.len() >= MIN_RESIDENT_BLOCK) {
            found.insert(number, bytes);
        }
    }
    if found.values().map(|bytes| bytes.len()).sum::<u64>() < MIN_RESIDENT_BYTES {
        found.clear();
    }
    found
}

impl<'a> BlockContent<'a> {
    /// Returns the options for its block.
    pub(super) fn block_options(&self, options: &ArrayOptions) -> BlockOptions {
        let (len, row, item) = match self {
            Self::Array(array, _) => {
                let item = array.datatype().packed_size();
                let row = array.shape().first().map_or(item, |rows| array.nbytes().checked_div(*rows).unwrap_or(0));
                (array.nbytes(), row, item)
            }
            Self::Bytes { bytes, row, item } => (bytes.len() as u64, *row, *item),
            Self::Pieces { len, row, item, .. } => (*len, *row, *item),
            Self::Reserved(len) => (*len, 0, 1),
        };
        let mut encode = EncodeOptions::default();
        encode.level = options.level;
        encode.blosc = options.blosc;
        encode.total_len = Some(len);
        encode.row_bytes = Some(row).filter(|row| *row > 0);
        encode.item_size = usize::try_from(item).unwrap_or(1).max(1);
        BlockOptions { codec: options.block_codec(), streamed: options.streamed, encode }
    }

    /// Returns the elements where they are in memory, if they are as they will be stored.
    fn resident_bytes(&self) -> Option<Box<dyn Source + 'a>> {
        match self {
            Self::Array(array, order) if array.source().backing().is_none() => {
                let stored = unchanged_bytes(array, *order)?;
                stored.view(0, stored.len())?;
                Some(Box::new(stored))
            }
            Self::Bytes { bytes, .. } => Some(Box::new(BorrowedSource(bytes))),
            Self::Array(..) | Self::Pieces { .. } | Self::Reserved(_) => None,
        }
    }

    /// Hands over its elements.
    pub(super) fn write_elements(self, out: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let (len, pieces, streamed) = match self {
            Self::Array(array, order) => {
                array.verify_checksum()?;
                return array.for_each_piece_in(order, 4 << 20, out);
            }
            Self::Bytes { bytes, .. } => return bytes.chunks(4 << 20).try_for_each(out),
            Self::Pieces { len, pieces, streamed, .. } => (len, pieces, streamed),
            Self::Reserved(_) => {
                return Err(Error::invalid_input(
                    "an array is reserved for other processes, and this file is written by one alone",
                )
                .hint("create it with ParallelWriter (in Python with trilith.create)"));
            }
        };
        let mut written = 0u64;
        pieces(&mut |bytes| {
            written = written.saturating_add(bytes.len() as u64);
            out(bytes)
        })?;
        if streamed { Ok(()) } else { check_len(len, written) }
    }
}

/// Compares the length of an array with the number of bytes that are handed over.
pub(super) fn check_len(len: u64, found: u64) -> Result<()> {
    if found == len {
        return Ok(());
    }
    Err(Error::invalid_input(format!("an array of {len} bytes was announced, but {found} were handed over")))
}

/// The number of bytes of an array, of one of its rows, and of an element.
pub(super) fn element_sizes(datatype: &Datatype, shape: &[u64]) -> Result<(u64, u64, u64)> {
    let len = shape.iter().try_fold(datatype.packed_size(), |n, dim| n.checked_mul(*dim));
    let len = len.ok_or_else(|| Error::invalid_input(format!("an array of shape {shape:?} is larger than 2^64 bytes")))?;
    let row = shape.first().map_or(len, |rows| len.checked_div(*rows).unwrap_or(0));
    Ok((len, row, datatype.packed_size()))
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use md5::{Digest as _, Md5};

    use super::*;
    use crate::asdf::{AsdfBuilder, AsdfFile, TARGETS, Target, WriteOptions};
    use crate::bytes::{MemorySource, read_vec};
    use crate::limits::Limits;
    use crate::threads::set_threads;
    use crate::tree::Value;

    /// Numbers of bytes around the limits of resident blocks: five of about one length, one by itself, small ones.
    const LENS: [usize; 9] = [300_000, 1_000_000, 2_000_008, 1_000_008, 100, 990_000, 64 << 10, (64 << 10) - 8, 970_000];

    fn noise(len: usize) -> Vec<u8> {
        (0..len as u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
    }

    /// A file of all lengths, whose bytes are lent, are an array, or are handed over in pieces.
    fn write_all(target: &'static Target, arrays: &[Vec<u8>], checksums: bool, kind: usize) -> Vec<u8> {
        let mut options = WriteOptions::default();
        options.checksums = checksums;
        let mut builder = AsdfBuilder::new(target).with_options(options);
        let mut nodes = Vec::new();
        for (n, bytes) in arrays.iter().enumerate() {
            let codec = if n == 3 && target.generation().fields.compression.is_some() { "zlib" } else { "none" };
            let (how, shape) = (ArrayOptions::codec(codec).unwrap(), [bytes.len() as u64]);
            let node = match (kind + n * usize::from(kind > 2)) % 3 {
                0 => builder.array_of_bytes(&Datatype::Uint8, Byteorder::Little, &shape, &how, bytes),
                1 => {
                    let array = Array::from_bytes(bytes.clone(), Datatype::Uint8, Byteorder::Little, shape.to_vec());
                    builder.array(&array.unwrap(), &how)
                }
                _ => builder.array_in_pieces(&Datatype::Uint8, Byteorder::Little, &shape, &how, |take| take(bytes)),
            };
            nodes.push(node.unwrap());
        }
        let mut out = Cursor::new(Vec::new());
        builder.write_to(&mut out, Value::map([("all", Value::seq(nodes))])).unwrap();
        out.into_inner()
    }

    #[test]
    fn checksums_do_not_depend_on_where_bytes_are() {
        let arrays = LENS.map(noise);
        for target in [TARGETS.first(), TARGETS.last()].into_iter().flatten() {
            for checksums in [true, false] {
                let expected = write_all(target, &arrays, checksums, 2);
                for (kind, threads) in [(0, None), (1, None), (3, None), (0, Some(1)), (3, Some(1)), (0, Some(4))] {
                    set_threads(threads);
                    let found = write_all(target, &arrays, checksums, kind);
                    set_threads(None);
                    assert!(found == expected, "{} {checksums} {kind} {threads:?}", target.name);
                }
            }
        }
    }

    #[test]
    fn checksum_is_that_of_other_implementation() {
        let bytes = write_all(Target::latest(), &LENS.map(noise), true, 0);
        let file = AsdfFile::open(std::sync::Arc::new(MemorySource::new(bytes, "written")), &Limits::default()).unwrap();
        let blocks = file.sections().blocks().unwrap();
        assert_eq!(blocks.len(), LENS.len());
        for block in blocks.iter() {
            let stored = read_vec(&**file.sections().source(), block.data_offset, block.used, &Limits::default()).unwrap();
            assert_eq!(block.checksum.as_deref(), Some(&Md5::digest(&stored)[..]), "block {}", block.index);
        }
    }

    #[test]
    fn error_of_pieces_ends_hashing() {
        let (bytes, how) = (noise(2 << 20), ArrayOptions::default());
        let mut builder = AsdfBuilder::new(Target::latest());
        let shape = [bytes.len() as u64];
        let lent = builder.array_of_bytes(&Datatype::Uint8, Byteorder::Little, &shape, &how, &bytes).unwrap();
        let broken = |_: &mut dyn FnMut(&[u8]) -> Result<()>| Err(Error::invalid_input("no more"));
        let failing = builder.array_in_pieces(&Datatype::Uint8, Byteorder::Little, &[5], &how, broken).unwrap();
        let error = builder.write_to(Cursor::new(Vec::new()), Value::map([("lent", lent), ("failing", failing)])).unwrap_err();
        assert_eq!(error.message(), "no more");
    }

    #[test]
    fn wrong_number_of_bytes_is_refused() {
        let mut builder = AsdfBuilder::new(Target::latest());
        let refused = builder.array_of_bytes(&Datatype::Int32, Byteorder::Little, &[3], &ArrayOptions::default(), &[0; 8]);
        assert_eq!(refused.unwrap_err().message(), "an array of 12 bytes was announced, but 8 were handed over");
    }
}
