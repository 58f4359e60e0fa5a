//! Numbers of an item that a file has in the other byte order than the set of files.

use std::sync::Arc;

use crate::array::Datatype;
use crate::bytes::{Source, SourceRef, to_usize};
use crate::error::Result;
use crate::layout::Byteorder;

/// Numbers in one period of an item that are listed at most. An item with more is refused.
const MAX_WORDS: usize = 1 << 16;

/// The difference that the order of a file makes to an item.
#[derive(Debug, Clone)]
pub(super) enum ByteSwap {
    /// The order of a file makes no difference.
    None,
    /// These numbers have the other byte order.
    Words(Arc<SwappedWords>),
    /// Compressed arrays are not turned.
    Refused,
}

/// The numbers of an item that are turned: their offsets and sizes in bytes, in each period.
#[derive(Debug)]
pub(super) struct SwappedWords {
    period: u64,
    words: Vec<(u64, u64)>,
}

impl SwappedWords {
    /// Returns the numbers of an item of this shape whose byte order differs between its datatype and `other`, which it has with the
    /// other byte order. `strides` are in bytes. None if they are too many.
    pub(super) fn find(
        (datatype, order): (&Datatype, Byteorder),
        (other, other_order): (&Datatype, Byteorder),
        shape: &[u64],
        strides: &[u64],
    ) -> Option<Self> {
        let mut words = Vec::new();
        collect_words((datatype, order), (other, other_order), 0, &mut words)?;
        let size = datatype.item_size();
        let mut contiguous = size;
        let is_contiguous = shape.iter().zip(strides).rev().all(|(dim, stride)| {
            let is_next = *stride == contiguous || *dim == 1;
            contiguous = contiguous.saturating_mul(*dim);
            is_next
        });
        if is_contiguous {
            return Some(Self { period: size.max(1), words });
        }
        // A member of structs: the first axis counts these, the others are within one of them.
        let period = strides.first().copied().filter(|period| *period > 0)?;
        for (dim, stride) in shape.iter().zip(strides).skip(1).rev() {
            let count = usize::try_from(*dim).ok().filter(|dim| dim.saturating_mul(words.len()) <= MAX_WORDS)?;
            words = (0..count as u64)
                .flat_map(|at| {
                    words.iter().map(move |(offset, size)| (at.saturating_mul(*stride).saturating_add(*offset), *size))
                })
                .collect();
        }
        words.iter().all(|(offset, size)| offset + size <= period).then_some(Self { period, words })
    }
}

/// Adds the numbers of one element whose byte order differs. None if they are too many.
fn collect_words(
    (one, order): (&Datatype, Byteorder),
    (other, other_order): (&Datatype, Byteorder),
    start: u64,
    words: &mut Vec<(u64, u64)>,
) -> Option<()> {
    // Structs are nested as deeply as the parser allows.
    if let (Some(fields), Some(others)) = (one.as_struct(), other.as_struct()) {
        for (field, known) in fields.fields().iter().zip(others.fields()) {
            let (size, known_count) = (field.datatype.item_size(), words.len());
            for at in 0..field.count() {
                let start = start.checked_add(field.offset)?.checked_add(at.checked_mul(size)?)?;
                collect_words((&field.datatype, field.byteorder), (&known.datatype, known.byteorder), start, words)?;
                // A member whose first element has no numbers to turn has none.
                if words.len() == known_count {
                    break;
                }
            }
        }
        return Some(());
    }
    let (size, word) = (one.item_size(), word_size(one));
    if order == other_order || word < 2 {
        return Some(());
    }
    let count = usize::try_from(size / word).ok().filter(|count| words.len().saturating_add(*count) <= MAX_WORDS)?;
    words.extend((0..count as u64).map(|at| (start + at * word, word)));
    Some(())
}

/// Returns the number of bytes of each number of an element.
fn word_size(datatype: &Datatype) -> u64 {
    match datatype {
        Datatype::Ucs4(_) => 4,
        Datatype::Ucs2(_) => 2,
        Datatype::Ascii(_) | Datatype::Utf8(_) => 1,
        complex if complex.is_complex() => complex.item_size() / 2,
        other => other.item_size(),
    }
}

/// A file with the numbers of an item in the other byte order.
pub(super) struct SwappedSource {
    pub inner: SourceRef,
    /// The byte at which the item begins.
    pub start: u64,
    pub words: Arc<SwappedWords>,
}

impl Source for SwappedSource {
    fn len(&self) -> u64 {
        self.inner.len()
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        let SwappedWords { period, words } = &*self.words;
        if into.is_empty() {
            return Ok(());
        }
        // The swap needs full numbers, so their periods are read, and the requested part is copied.
        let skip = offset.saturating_sub(self.start) % period;
        let from = offset - skip;
        let end = skip.saturating_add(into.len() as u64);
        let end = end.checked_next_multiple_of(*period).unwrap_or(end).min(self.inner.len().saturating_sub(from)).max(end);
        let mut bytes = vec![0; to_usize(end)?];
        self.inner.read_at(from, &mut bytes)?;
        for period in bytes.chunks_mut(to_usize(*period)?) {
            for (offset, size) in words {
                let word = to_usize(*offset)?..to_usize(offset + size)?;
                period.get_mut(word).into_iter().for_each(<[u8]>::reverse);
            }
        }
        let wanted = bytes.get(to_usize(skip)?..).unwrap_or(&[]);
        into.iter_mut().zip(wanted).for_each(|(to, from)| *to = *from);
        Ok(())
    }

    fn name(&self) -> &str {
        self.inner.name()
    }
}
