//! Arrays that are put together from parts of other ones: the attributes of sources and of their slabs.

use std::ops::Range;

use crate::array::element_count;
use crate::bytes::{Access, PieceDecoding, Source, SourceBacking, SourceRef, end_in, stored_ranges, to_usize, verify_backing};
use crate::error::{Error, Result};

/// Elements along one axis: `count` blocks of `block`, the first one at `start`, each `stride` after the one before.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Hyperslab1D {
    start: u64,
    stride: u64,
    count: u64,
    block: u64,
}

/// Source of a virtual array: its path, its elements in the array, and the same elements in the source, in the same order.
#[derive(Debug)]
pub(super) struct VirtualSource {
    pub path: String,
    pub to: Vec<Hyperslab1D>,
    pub from: Vec<Hyperslab1D>,
}

impl VirtualSource {
    /// Reads the numbers of the attribute: for each source four numbers for each axis of the array, how many axes the source has,
    /// and four numbers for each of these.
    ///
    /// # Errors
    /// Returns `Malformed` if they do not fit.
    pub(super) fn parse_spans(paths: &[String], numbers: &[u64], rank: usize) -> Result<Vec<Self>> {
        let wrong = || Error::malformed("the selected elements of an array do not fit the arrays of which it is made");
        let mut rest = numbers;
        let mut take = |count: usize| -> Result<&[u64]> {
            let (now, later) = rest.split_at_checked(count).ok_or_else(wrong)?;
            rest = later;
            Ok(now)
        };
        let spans = |numbers: &[u64]| -> Vec<Hyperslab1D> {
            let four = numbers.as_chunks::<4>().0.iter();
            four.map(|[start, stride, count, block]| Hyperslab1D { start: *start, stride: *stride, count: *count, block: *block })
                .collect()
        };
        let mut slabs = Vec::new();
        for path in paths {
            let to = spans(take(rank.saturating_mul(4))?);
            let axes = to_usize(take(1)?.first().copied().unwrap_or(0))?;
            slabs.push(Self { path: path.clone(), to, from: spans(take(axes.saturating_mul(4))?) });
        }
        if rest.is_empty() { Ok(slabs) } else { Err(wrong()) }
    }
}

/// Selected elements of an array, in C order.
#[derive(Debug)]
struct ElementSelection {
    spans: Vec<Hyperslab1D>,
    /// Elements from one to the next along each axis.
    steps: Vec<u64>,
}

impl ElementSelection {
    /// The elements of an array of a shape, with as few axes as can be.
    fn new(spans: &[Hyperslab1D], shape: &[u64]) -> Result<Self> {
        let wrong = || Error::malformed("an array is made of elements that another array does not have");
        if spans.len() != shape.len() {
            return Err(wrong());
        }
        element_count(shape)?;
        let (mut made, mut steps) = (Vec::new(), Vec::new());
        let mut step = 1u64;
        // The selection and the length of the axes that were merged into the last one.
        let mut merged: Option<(Hyperslab1D, u64)> = None;
        for (span, len) in spans.iter().zip(shape).rev() {
            let mut span = *span;
            let last = span.count.checked_sub(1).and_then(|count| count.checked_mul(span.stride));
            let end = last.and_then(|last| last.checked_add(span.start)?.checked_add(span.block));
            if span.block == 0 || end.is_none_or(|end| end > *len) || (span.count > 1 && span.stride < span.block) {
                return Err(wrong());
            }
            if span.count == 1 || span.stride == span.block {
                span = Hyperslab1D { block: span.block.saturating_mul(span.count), count: 1, stride: 1, ..span };
            }
            merged = Some(match merged {
                // The selection spans all following axes, so rows are contiguous.
                Some((behind, length)) if behind.count == 1 && behind.block == length => {
                    let wide = |n: u64| n.saturating_mul(length);
                    let count = span.count;
                    let span = Hyperslab1D { start: wide(span.start), stride: wide(span.stride), count, block: wide(span.block) };
                    (span, wide(*len))
                }
                Some((behind, length)) => {
                    made.push(behind);
                    steps.push(step);
                    step = step.saturating_mul(length);
                    (span, *len)
                }
                None => (span, *len),
            });
        }
        if let Some((span, _)) = merged {
            made.push(span);
            steps.push(step);
        }
        made.reverse();
        steps.reverse();
        Ok(Self { spans: made, steps })
    }

    fn count_elements(&self) -> u64 {
        self.spans.iter().fold(1, |n, span| n.saturating_mul(span.count).saturating_mul(span.block))
    }

    /// The number in its array of the element that has a number here, and how many follow it there and here.
    fn locate_element(&self, number: u64) -> (u64, u64) {
        let (mut rest, mut at, mut run) = (number, 0u64, 1);
        for (axis, (span, step)) in self.spans.iter().zip(&self.steps).enumerate().rev() {
            let all = span.count.saturating_mul(span.block).max(1);
            let (here, inside) = (rest % all, rest % all % span.block.max(1));
            let place = (here / span.block.max(1)).saturating_mul(span.stride).saturating_add(inside).saturating_add(span.start);
            at = at.saturating_add(place.saturating_mul(*step));
            if axis + 1 == self.spans.len() {
                run = span.block - inside;
            }
            rest /= all;
        }
        (at, run)
    }

    /// The first element here that is not before an element of the array.
    fn first_at_or_after(&self, at: u64) -> u64 {
        let (mut low, mut high) = (0, self.count_elements());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.locate_element(middle).0 < at { low = middle + 1 } else { high = middle }
        }
        low
    }
}

/// A source: its elements in C order begin at a byte.
struct SourcePiece {
    to: ElementSelection,
    from: ElementSelection,
    source: SourceRef,
    offset: u64,
}

/// Takes a source and the bytes of it that are needed.
type RangeSink<'t> = dyn FnMut(&SourceRef, Vec<Range<u64>>) -> Result<()> + 't;

/// The elements of an array in C order: those that a source has, and others for all the rest.
pub(super) struct VirtualArraySource {
    name: String,
    len: u64,
    /// Bytes of an element.
    item: u64,
    fill_element: Vec<u8>,
    pieces: Vec<SourcePiece>,
}

impl VirtualArraySource {
    /// An array of a shape, without sources. `fill` is an element that no source has.
    pub(super) fn new(name: &str, shape: &[u64], fill: Vec<u8>) -> Result<Self> {
        let item = fill.len() as u64;
        let len = element_count(shape)?.checked_mul(item).filter(|len| *len < 1 << 63);
        let len = len.ok_or_else(|| Error::malformed("an array of over 2^63 bytes"))?;
        Ok(Self { name: name.to_owned(), len, item, fill_element: fill, pieces: Vec::new() })
    }

    /// Adds a source, whose elements are in C order from a byte on.
    ///
    /// # Errors
    /// Returns `Malformed` if the two selections have different numbers of elements, or elements that are not there.
    pub(super) fn push(
        &mut self,
        slab: &VirtualSource,
        shape: &[u64],
        source: SourceRef,
        (offset, own): (u64, &[u64]),
    ) -> Result<()> {
        let (to, from) = (ElementSelection::new(&slab.to, shape)?, ElementSelection::new(&slab.from, own)?);
        if to.count_elements() != from.count_elements() {
            let (to, from) = (to.count_elements(), from.count_elements());
            return Err(Error::malformed(format!("{from} elements of {} are put at the places of {to}", slab.path)));
        }
        self.pieces.push(SourcePiece { to, from, source, offset });
        Ok(())
    }

    /// Reads whole elements.
    fn read_elements(&self, first: u64, into: &mut [u8]) -> Result<()> {
        let end = first.saturating_add(into.len() as u64 / self.item.max(1));
        match self.fill_element.as_slice() {
            [one, rest @ ..] if rest.iter().all(|byte| byte == one) => into.fill(*one),
            fill => into.chunks_exact_mut(fill.len().max(1)).for_each(|element| element.copy_from_slice(fill)),
        }
        for piece in &self.pieces {
            self.for_each_source_run(piece, first..end, &mut |from, to| {
                let start = to_usize((to - first).saturating_mul(self.item))?;
                let bytes = into.get_mut(start..).and_then(|into| into.get_mut(..usize::try_from(from.end - from.start).ok()?));
                let bytes = bytes.ok_or_else(|| Error::malformed("elements after the end of their array"))?;
                piece.source.read_at(from.start, bytes)
            })?;
        }
        Ok(())
    }

    /// Gives the bytes of a source that are some elements of the array, and the number of the first of these elements. Those that
    /// follow each other on both sides come together.
    fn for_each_source_run(
        &self,
        piece: &SourcePiece,
        elements: Range<u64>,
        take: &mut dyn FnMut(Range<u64>, u64) -> Result<()>,
    ) -> Result<()> {
        let mut take = |(from, to, len): (u64, u64, u64)| {
            let start = piece.offset.saturating_add(from.saturating_mul(self.item));
            take(start..start.saturating_add(len.saturating_mul(self.item)), to)
        };
        let (mut number, all) = (piece.to.first_at_or_after(elements.start), piece.to.count_elements());
        let mut open: Option<(u64, u64, u64)> = None;
        while number < all {
            let ((to, there), (from, here)) = (piece.to.locate_element(number), piece.from.locate_element(number));
            if to >= elements.end {
                break;
            }
            let len = there.min(here).min(elements.end - to);
            open = match open {
                Some((start, at, count)) if start + count == from && at + count == to => Some((start, at, count + len)),
                before => {
                    before.map_or(Ok(()), &mut take)?;
                    Some((from, to, len))
                }
            };
            number += len;
        }
        open.map_or(Ok(()), &mut take)
    }

    /// Gives each source and its bytes that are needed for ranges of the array, with small gaps between them.
    fn for_each_needed(&self, ranges: &[Range<u64>], take: &mut RangeSink<'_>) -> Result<()> {
        const MERGE_GAP: u64 = 4096;
        let item = self.item.max(1);
        for piece in &self.pieces {
            let mut needed: Vec<Range<u64>> = Vec::new();
            for range in ranges {
                self.for_each_source_run(piece, range.start / item..range.end.div_ceil(item), &mut |from, _| {
                    match needed
                        .last_mut()
                        .filter(|last| last.start <= from.start && from.start <= last.end.saturating_add(MERGE_GAP))
                    {
                        Some(last) => last.end = last.end.max(from.end),
                        None => needed.push(from),
                    }
                    Ok(())
                })?;
            }
            if !needed.is_empty() {
                take(&piece.source, needed)?;
            }
        }
        Ok(())
    }
}

impl SourceBacking for VirtualArraySource {
    fn is_changed(&self) -> bool {
        self.pieces.iter().any(|piece| piece.source.backing().is_some_and(SourceBacking::is_changed))
    }

    fn verify_checksum(&self) -> Result<()> {
        self.pieces.iter().try_for_each(|piece| verify_backing(&*piece.source))
    }
}

impl PieceDecoding for VirtualArraySource {
    fn stored_ranges(&self, range: Range<u64>) -> Result<Vec<Range<u64>>> {
        let mut stored = Vec::new();
        self.for_each_needed(&[range], &mut |source, needed| {
            for range in needed {
                stored.extend(stored_ranges(&**source, range)?);
            }
            Ok(())
        })?;
        Ok(stored)
    }
}

impl Source for VirtualArraySource {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        let end = end_in("array", offset, into.len() as u64, self.len)?;
        let item = self.item.max(1);
        if offset.is_multiple_of(item) && end.is_multiple_of(item) {
            return self.read_elements(offset / item, into);
        }
        let first = offset / item;
        let mut whole = vec![0; to_usize((end.div_ceil(item) - first) * item)?];
        self.read_elements(first, &mut whole)?;
        let from = to_usize(offset - first * item)?;
        into.copy_from_slice(whole.get(from..from + into.len()).unwrap_or_default());
        Ok(())
    }

    fn backing(&self) -> Option<&dyn SourceBacking> {
        Some(self)
    }

    fn prefetch(&self, ranges: &[Range<u64>]) -> Result<()> {
        self.for_each_needed(ranges, &mut |source, needed| source.prefetch(&needed))
    }

    fn access(&self) -> Access {
        Access::join(self.pieces.iter().map(|piece| &piece.source))
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn pieces(&self) -> Option<&dyn PieceDecoding> {
        Some(self)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::bytes::{MemorySource, read_vec};
    use crate::limits::Limits;

    /// The numbers of the elements that spans select, by going through them all.
    fn slowly(spans: &[Hyperslab1D], shape: &[u64]) -> Vec<u64> {
        let mut found = vec![0];
        for (span, len) in spans.iter().zip(shape) {
            let places = (0..span.count).flat_map(|n| (0..span.block).map(move |inside| span.start + n * span.stride + inside));
            let places: Vec<u64> = places.collect();
            found = found.iter().flat_map(|at| places.iter().map(move |place| at * len + place)).collect();
        }
        found
    }

    #[test]
    fn selection_iterates_in_row_major_order() {
        let span = |start, stride, count, block| Hyperslab1D { start, stride, count, block };
        let axes = [span(0, 1, 1, 4), span(1, 2, 2, 1), span(0, 2, 2, 2), span(2, 1, 1, 1), span(0, 1, 4, 1), span(0, 3, 2, 1)];
        for (a, b, c) in (0..216).map(|n| (axes[n % 6], axes[n / 6 % 6], axes[n / 36])) {
            let (spans, shape) = ([a, b, c], [4, 5, 4]);
            let wanted = slowly(&spans, &shape);
            let selection = ElementSelection::new(&spans, &shape).unwrap();
            let mut found = Vec::new();
            while (found.len() as u64) < selection.count_elements() {
                let (at, run) = selection.locate_element(found.len() as u64);
                found.extend(at..at + run);
            }
            assert_eq!(found, wanted, "{spans:?}");
            for at in [0, 7, 33, 79] {
                assert_eq!(selection.first_at_or_after(at), wanted.iter().filter(|place| **place < at).count() as u64);
            }
        }
        for wrong in [span(0, 1, 1, 5), span(1, 0, 2, 2), span(0, 1, 0, 1), span(4, 1, 1, 1), span(u64::MAX, 2, 2, 1)] {
            assert!(ElementSelection::new(&[wrong], &[4]).is_err());
        }
        assert_eq!(ElementSelection::new(&[], &[]).unwrap().locate_element(0), (0, 1));
    }

    #[test]
    fn source_elements_are_copied_and_rest_is_filled() {
        let source: SourceRef = Arc::new(MemorySource::new((0u16..12).flat_map(u16::to_le_bytes).collect(), "x"));
        let numbers = [0, 1, 1, 1, 0, 2, 3, 1, 2, 1, 1, 1, 1, 1, 1, 1, 3];
        let slabs = VirtualSource::parse_spans(&["/a".to_owned()], &numbers, 2).unwrap();
        let mut mapped = VirtualArraySource::new("x", &[2, 5], vec![0xff, 1]).unwrap();
        mapped.push(&slabs[0], &[2, 5], Arc::clone(&source), (0, &[3, 4])).unwrap();
        let bytes = read_vec(&mapped, 0, 20, &Limits::default()).unwrap();
        let read: Vec<u16> = bytes.as_chunks::<2>().0.iter().map(|pair| u16::from_le_bytes(*pair)).collect();
        assert_eq!(read, [5, 511, 6, 511, 7, 511, 511, 511, 511, 511]);
        for (from, len) in [(0, 1), (3, 6), (4, 2), (9, 11), (19, 1)] {
            assert_eq!(read_vec(&mapped, from, len, &Limits::default()).unwrap(), bytes[from as usize..(from + len) as usize]);
        }
        assert_eq!((mapped.stored_ranges(0..10).unwrap(), mapped.stored_ranges(10..20).unwrap()), (vec![10..16], vec![]));
        assert!(mapped.push(&slabs[0], &[2, 5], source, (0, &[3, 3])).is_err());
        assert!(
            VirtualSource::parse_spans(&[String::new()], &numbers[..16], 2).is_err()
                && VirtualSource::parse_spans(&[], &[1], 2).is_err()
        );
    }
}
