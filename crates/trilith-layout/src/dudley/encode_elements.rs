//! Elements as a layout stores them: in its byte order, struct members at their offsets.

use std::sync::{Arc, OnceLock};

use crate::array::{Array, Byteorder, Datatype};
use crate::bytes::{Source, SourceRef, to_usize};
use crate::error::{Error, Result};

/// Maximum number of word runs of an element: arrays of structs are expanded.
const MAX_PIECES: usize = 1 << 16;

/// Run of words of an element, with its offsets in the packed and in the stored element.
struct LeafWords {
    from: usize,
    to: usize,
    word_size: usize,
    count: usize,
    is_big_endian: bool,
}

/// Gives the bytes of `array` to `take` as `datatype` in `order` stores them; padding is 0.
///
/// # Errors
/// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if the array has another datatype or shape, an error if it
/// cannot be read, and the errors of `take`.
pub(super) fn write_array_bytes(
    array: &Array,
    datatype: &Datatype,
    order: Byteorder,
    shape: &[u64],
    take: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    array.check_unmasked("a Dudley stream")?;
    array.verify_checksum()?;
    if !array.datatype().is_equivalent(datatype) || array.shape() != shape {
        if let Some(fitted) = super::char_sets::fit_width(array, datatype, shape)? {
            return write_array_bytes(&fitted, datatype, order, shape, take);
        }
        return Err(shape_error(array, datatype, shape));
    }
    if array.is_empty() || datatype.item_size() == 0 {
        return Ok(());
    }
    if datatype.as_struct().is_none() {
        return array.for_each_piece_in(order, 1 << 20, take);
    }
    let mut leaves = Vec::new();
    let mut packed = 0;
    collect_leaves(datatype, order, 0, &mut packed, &mut leaves)?;
    let size = to_usize(datatype.item_size())?;
    let mut element = vec![0u8; size];
    let mut stored = Vec::new();
    array.for_each_piece_in(Byteorder::Little, 1 << 20, &mut |piece| {
        stored.clear();
        for from in piece.chunks_exact(packed.max(1)) {
            for leaf in &leaves {
                store_leaf(leaf, from, &mut element)?;
            }
            stored.extend_from_slice(&element);
        }
        take(&stored)
    })
}

/// The error for an array of another datatype or shape.
#[cold]
fn shape_error(array: &Array, datatype: &Datatype, shape: &[u64]) -> Error {
    let given = format!("{} {:?}", array.datatype(), array.shape());
    Error::invalid_input(format!("the data are {given}, but the layout has {datatype} {shape:?}"))
}

/// Zeros without end, of which [`reserved`] arrays are made.
struct ZeroSource;

impl Source for ZeroSource {
    fn len(&self) -> u64 {
        i64::MAX as u64
    }

    fn read_at(&self, _: u64, into: &mut [u8]) -> Result<()> {
        into.fill(0);
        Ok(())
    }

    fn name(&self) -> &str {
        "a reserved array"
    }
}

fn zero_source() -> &'static SourceRef {
    static ZEROS: OnceLock<SourceRef> = OnceLock::new();
    ZEROS.get_or_init(|| Arc::new(ZeroSource))
}

/// Returns an array that only reserves the space of its elements, for
/// `ParallelWriter::create_under`. Other writers refuse it.
///
/// # Errors
/// Returns the errors of [`Array::new`].
pub fn reserved(datatype: Datatype, order: Byteorder, shape: Vec<u64>) -> Result<Array> {
    Array::new(Arc::clone(zero_source()), 0, datatype, order, shape)
}

/// Returns `true` for [`reserved`] arrays and parts of them.
pub(super) fn is_reserved(array: &Array) -> bool {
    Arc::ptr_eq(array.source(), zero_source())
}

/// Returns the number of bytes of a reserved array as the layout stores it.
///
/// # Errors
/// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if the array has another datatype or shape.
pub(super) fn reserved_size(array: &Array, datatype: &Datatype, shape: &[u64]) -> Result<u64> {
    if !array.datatype().is_equivalent(datatype) || array.shape() != shape {
        return Err(shape_error(array, datatype, shape));
    }
    let size = shape.iter().try_fold(datatype.item_size(), |size, len| size.checked_mul(*len));
    size.ok_or_else(|| Error::invalid_input("E406: it is too large"))
}

fn store_leaf(leaf: &LeafWords, from: &[u8], to: &mut [u8]) -> Result<()> {
    let len = leaf.word_size * leaf.count;
    let (Some(from), Some(to)) = (from.get(leaf.from..leaf.from + len), to.get_mut(leaf.to..leaf.to + len)) else {
        return Err(Error::invalid_input("a field is outside its element"));
    };
    to.copy_from_slice(from);
    if leaf.is_big_endian && leaf.word_size > 1 {
        to.chunks_exact_mut(leaf.word_size).for_each(<[u8]>::reverse);
    }
    Ok(())
}

/// The words of an element; as deep as structs nest.
fn collect_leaves(datatype: &Datatype, order: Byteorder, at: usize, packed: &mut usize, out: &mut Vec<LeafWords>) -> Result<()> {
    let Some(fields) = datatype.as_struct() else {
        return push_leaf(datatype, order, at, 1, packed, out);
    };
    for field in fields.fields() {
        let count = to_usize(field.count())?;
        let at = at + to_usize(field.offset)?;
        if field.datatype.as_struct().is_none() {
            push_leaf(&field.datatype, field.byteorder, at, count, packed, out)?;
            continue;
        }
        let size = to_usize(field.datatype.item_size())?;
        for n in 0..count {
            collect_leaves(&field.datatype, field.byteorder, at + n * size, packed, out)?;
        }
    }
    Ok(())
}

fn push_leaf(
    datatype: &Datatype,
    order: Byteorder,
    to: usize,
    count: usize,
    packed: &mut usize,
    out: &mut Vec<LeafWords>,
) -> Result<()> {
    let size = to_usize(datatype.item_size())?;
    let word = match datatype {
        Datatype::Ascii(_) | Datatype::Utf8(_) => 1,
        Datatype::Ucs2(_) => 2,
        Datatype::Ucs4(_) => 4,
        complex if complex.is_complex() => size / 2,
        _ => size,
    };
    if out.len() >= MAX_PIECES {
        return Err(Error::unsupported(format!("a struct of more than {MAX_PIECES} pieces is not written")));
    }
    let words = size.checked_div(word).unwrap_or(0) * count;
    out.push(LeafWords { from: *packed, to, word_size: word, count: words, is_big_endian: order == Byteorder::Big });
    *packed += word * words;
    Ok(())
}
