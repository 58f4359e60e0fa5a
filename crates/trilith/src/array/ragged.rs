//! Strings of variable length, which their source pads to the length of the longest: read without what pads them.

use std::ops::Range;

use super::handle::Array;
use super::scalar::{ElementValue, string};
use super::shape::unravel;
use crate::bytes::{Access, to_usize};
use crate::error::Result;

/// Elements that are read together.
const TOGETHER: u64 = 4096;
/// Padding of fewer bytes than this is no reason to do without an array.
const LITTLE: u64 = 1 << 20;
/// Padding is much if it makes strings this many times as large.
const TIMES: u64 = 4;

impl Array {
    /// Returns `true` if its elements are strings that the source pads.
    pub(super) fn is_padded(&self) -> bool {
        let size = self.datatype.item_size();
        self.datatype.is_text() && !self.is_empty() && self.source.unpadded(self.offset, size).is_some()
    }

    /// Returns how many bytes the strings of the array take without padding, if the array is that of a file with strings of
    /// variable length and padding them makes several times as many bytes. `None` for all other arrays.
    ///
    /// # Errors
    /// Returns the errors of [`Array::cost`].
    pub fn much_padded(&self) -> Result<Option<u64>> {
        if self.nbytes() <= LITTLE || !self.is_padded() {
            return Ok(None);
        }
        let mut sum = 0u64;
        self.for_each_offset(&mut |offsets| {
            for offset in offsets {
                let stored = self.source.stored(*offset..offset.saturating_add(self.datatype.item_size()))?;
                sum = stored.iter().fold(sum, |sum, range| sum.saturating_add(range.end - range.start));
            }
            Ok(())
        })?;
        // Each element needs some bytes, however short it is.
        let needed = sum.saturating_add(self.len().saturating_mul(8));
        Ok((self.nbytes() > needed.saturating_mul(TIMES).saturating_add(LITTLE)).then_some(sum))
    }

    /// Hands the offsets of the elements in the source to `take`, some at a time, in C order.
    fn for_each_offset(&self, take: &mut dyn FnMut(&[u64]) -> Result<()>) -> Result<()> {
        let mut offsets = Vec::new();
        for first in (0..self.len()).step_by(to_usize(TOGETHER)?) {
            offsets.clear();
            for number in first..self.len().min(first + TOGETHER) {
                let index = unravel(number, &self.shape);
                let steps =
                    index.iter().zip(&self.strides).map(|(at, stride)| i64::try_from(*at).unwrap_or(0).wrapping_mul(*stride));
                offsets.push(self.offset.wrapping_add_signed(steps.fold(0, i64::wrapping_add)));
            }
            take(&offsets)?;
        }
        Ok(())
    }

    /// As [`Array::for_each_scalar`] of strings that the source pads: each costs what it holds.
    pub(super) fn for_each_unpadded(&self, take: &mut dyn FnMut(ElementValue, bool) -> Result<()>) -> Result<()> {
        let mask = self.mask_bytes()?;
        let (size, mut number) = (self.datatype.item_size(), 0usize);
        self.for_each_offset(&mut |offsets| {
            if self.source.access() == Access::Requests {
                let ranges: Vec<Range<u64>> = offsets.iter().map(|at| *at..at.saturating_add(size)).collect();
                self.source.prefetch(&ranges)?;
            }
            for offset in offsets {
                let bytes = self.source.unpadded(*offset, size).transpose()?.unwrap_or_default();
                self.limits.charge_work(bytes.len() as u64)?;
                let is_masked = mask.as_ref().and_then(|mask| mask.get(number)) == Some(&1);
                take(string(&self.datatype, bytes), is_masked)?;
                number += 1;
            }
            Ok(())
        })
    }
}
