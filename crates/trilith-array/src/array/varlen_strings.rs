//! Strings of variable length, which their source pads to the length of the longest: read without what pads them.

use std::ops::Range;

use super::handle::Array;
use super::read::RowBlocks;
use super::scalar::{ElementValue, SCALAR_COST, element_from_text_bytes};
use super::shape::unravel;
use super::{Byteorder, Datatype};
use crate::bytes::{stored_ranges, to_usize};
use crate::error::{Error, Result};

/// Elements that are read together.
const BATCH_ELEMENTS: u64 = 4096;
/// Bytes of elements without padding that are read together.
const BUFFER_SIZE: u64 = 1 << 20;
/// Padding of fewer bytes than this does not justify doing without an array.
const MIN_PADDING_BYTES: u64 = 1 << 20;
/// Padding is much if it makes strings this many times as large.
const MAX_PADDING_RATIO: u64 = 4;

impl Array {
    /// Returns `true` if its elements are strings of variable length, which the source pads to the length of the longest.
    pub fn is_padded(&self) -> bool {
        let at = if self.is_empty() { 0 } else { self.offset };
        self.datatype.is_text()
            && self.chunked_source().is_some_and(|source| source.string_at(at, self.datatype.item_size()).is_some())
    }

    /// Returns how many bytes the strings of the array take without padding, if the array is that of a file with strings of
    /// variable length and padding them makes several times as many bytes. `None` for all other arrays.
    ///
    /// # Errors
    /// Returns the errors of [`Array::read_cost`].
    pub fn much_padded(&self) -> Result<Option<u64>> {
        if self.nbytes() <= MIN_PADDING_BYTES || self.is_empty() || !self.is_padded() {
            return Ok(None);
        }
        let mut sum = 0u64;
        self.for_each_offset(&mut |offsets| {
            for offset in offsets {
                let stored = stored_ranges(&*self.source, *offset..offset.saturating_add(self.datatype.item_size()))?;
                sum = stored.iter().fold(sum, |sum, range| sum.saturating_add(range.end - range.start));
            }
            Ok(())
        })?;
        Ok(self.is_much_larger(sum).then_some(sum))
    }

    /// Returns `true` if the elements are UTF-8 strings or of variable length, and padding makes several times as many bytes
    /// of them. That depends on the strings alone, not on the form in which the file stores them.
    ///
    /// # Errors
    /// Returns the errors of [`Array::load`].
    pub fn is_mostly_padding(&self) -> Result<bool> {
        let may_be = || matches!(self.datatype, Datatype::Utf8(_)) || self.is_padded();
        if self.nbytes() <= MIN_PADDING_BYTES || !may_be() {
            return Ok(false);
        }
        let sum = self.strings().try_fold(0u64, |sum, text| Ok::<_, Error>(sum.saturating_add(text?.len() as u64)))?;
        Ok(self.is_much_larger(sum))
    }

    /// Returns `true` if the array has several times as many bytes as its strings.
    fn is_much_larger(&self, strings: u64) -> bool {
        // The overhead of an element counts as 8 bytes, however short its string is.
        let needed = strings.saturating_add(self.element_count().saturating_mul(8));
        self.nbytes() > needed.saturating_mul(MAX_PADDING_RATIO).saturating_add(MIN_PADDING_BYTES)
    }

    /// Returns the strings in C order, each without the NULs at its end. Strings that the source pads are read without
    /// padding. The mask does not count.
    pub fn strings(&self) -> ArrayStrings {
        let array = self.clone().without_mask();
        let blocks = (!self.is_padded()).then(|| array.row_blocks(BUFFER_SIZE));
        ArrayStrings { array, blocks, bytes: Vec::new().into_iter(), offsets: Vec::new().into_iter(), next: 0 }
    }

    /// Reads all elements, and calls `progress` with the number of bytes of each part. Strings that the source pads are
    /// read without padding.
    ///
    /// # Errors
    /// Returns the errors of [`Array::load`].
    pub fn read_through(&self, mut progress: impl FnMut(u64)) -> Result<()> {
        if self.is_padded() {
            return self.strings().try_for_each(|text| text.map(|text| progress(text.len() as u64)));
        }
        self.for_each_piece(to_usize(BUFFER_SIZE)?, |piece| {
            progress(piece.len() as u64);
            Ok(())
        })
    }

    /// Hands the offsets of the elements in the source to `take`, some at a time, in C order.
    fn for_each_offset(&self, take: &mut dyn FnMut(&[u64]) -> Result<()>) -> Result<()> {
        for first in (0..self.element_count()).step_by(to_usize(BATCH_ELEMENTS)?) {
            take(&self.element_offsets(first..self.element_count().min(first + BATCH_ELEMENTS)))?;
        }
        Ok(())
    }

    /// Returns the offsets in the source of elements, which are counted in C order.
    fn element_offsets(&self, numbers: Range<u64>) -> Vec<u64> {
        let offset = |number| {
            let index = unravel(number, &self.shape);
            let steps = index.iter().zip(&self.strides).map(|(at, stride)| i64::try_from(*at).unwrap_or(0).wrapping_mul(*stride));
            self.offset.wrapping_add_signed(steps.fold(0, i64::wrapping_add))
        };
        numbers.map(offset).collect()
    }

    /// Works as [`Array::for_each_scalar`] for strings that the source pads: each costs what it holds.
    pub(super) fn for_each_unpadded(&self, take: &mut dyn FnMut(ElementValue, bool) -> Result<()>) -> Result<()> {
        let mask = self.mask_bytes()?;
        for (number, bytes) in self.strings().enumerate() {
            let is_masked = mask.as_ref().and_then(|mask| mask.get(number)) == Some(&1);
            take(element_from_text_bytes(&self.datatype, bytes?), is_masked)?;
        }
        Ok(())
    }
}

/// The strings of an array, as [`Array::strings`] returns them.
#[derive(Debug)]
pub struct ArrayStrings {
    array: Array,
    /// The parts of an array that the source does not pad.
    blocks: Option<RowBlocks>,
    /// The elements of the present part that are left.
    bytes: std::vec::IntoIter<u8>,
    /// The offsets of the next padded elements.
    offsets: std::vec::IntoIter<u64>,
    /// The number of the first element after these.
    next: u64,
}

impl ArrayStrings {
    /// Returns the next string of an array that the source does not pad.
    fn next_string(&mut self) -> Result<Option<Vec<u8>>> {
        let size = to_usize(self.array.datatype.packed_size())?;
        if self.bytes.len() == 0 {
            let Some(block) = self.blocks.as_mut().and_then(Iterator::next) else { return Ok(None) };
            self.bytes = block.read_bytes(Byteorder::Little)?.into_iter();
        }
        let text: Vec<u8> = self.bytes.by_ref().take(size).collect();
        Ok(Some(text).filter(|_| size > 0))
    }

    /// Returns the next string of an array that the source pads.
    fn next_unpadded(&mut self) -> Result<Option<Vec<u8>>> {
        let (array, size) = (&self.array, self.array.datatype.item_size());
        if self.offsets.len() == 0 {
            let end = array.element_count().min(self.next.saturating_add(BATCH_ELEMENTS));
            let offsets = array.element_offsets(self.next..end);
            if array.source.access().prefetch_helps {
                let ranges: Vec<Range<u64>> = offsets.iter().map(|at| *at..at.saturating_add(size)).collect();
                array.source.prefetch(&ranges)?;
            }
            (self.offsets, self.next) = (offsets.into_iter(), end);
        }
        let Some(offset) = self.offsets.next() else { return Ok(None) };
        let bytes = array.chunked_source().and_then(|source| source.string_at(offset, size)).transpose()?.unwrap_or_default();
        // A string that is read by itself costs many times more than its bytes.
        array.limits.charge_work(SCALAR_COST.saturating_add(bytes.len() as u64))?;
        Ok(Some(bytes))
    }
}

impl Iterator for ArrayStrings {
    type Item = Result<Vec<u8>>;

    fn next(&mut self) -> Option<Self::Item> {
        let text = if self.blocks.is_some() { self.next_string() } else { self.next_unpadded() };
        text.transpose().map(|text| {
            text.map(|mut text| {
                text.truncate(text.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1));
                text
            })
        })
    }
}
