//! The packed elements of an array as bytes that are made when they are read.

use std::sync::{Arc, Mutex, PoisonError};

use super::read::RowBlocks;
use super::{Array, Byteorder};
use crate::bytes::{Source, SourceOrigin, split_runs, to_usize};
use crate::error::{Error, Result};

/// Number of bytes that are made at once, unless the chunks of the array are larger.
const BLOCK_SIZE: u64 = 4 << 20;

/// The elements of an array in C order, without gaps, in one byte order. The source keeps the last block, so reading from front
/// to back computes each block once.
pub struct PackedSource {
    array: Array,
    order: Byteorder,
    blocks: RowBlocks,
    last: Mutex<Option<(u64, Arc<Vec<u8>>)>>,
}

impl PackedSource {
    /// The elements of an array in a byte order. Its mask is not a part of them.
    pub fn new(array: Array, order: Byteorder) -> Self {
        let array = array.without_mask();
        let layer = Some(array.layer_bytes()).filter(|bytes| *bytes <= array.limits().memory / 8);
        let blocks = array.row_blocks(BLOCK_SIZE.max(layer.unwrap_or(0)));
        Self { array, order, blocks, last: Mutex::new(None) }
    }

    /// The bytes of the block with this number.
    fn block(&self, number: u64) -> Result<Arc<Vec<u8>>> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, bytes)) = last.as_ref().filter(|(known, _)| *known == number) {
            return Ok(bytes.clone());
        }
        let part = self.blocks.get(number).ok_or_else(|| Error::malformed("the array has no such elements"))?;
        let bytes = Arc::new(part.read_bytes(self.order)?);
        *last = Some((number, bytes.clone()));
        Ok(bytes)
    }
}

impl Source for PackedSource {
    fn len(&self) -> u64 {
        self.array.nbytes()
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        let end = offset.checked_add(into.len() as u64).filter(|end| *end <= self.len());
        end.ok_or_else(|| Error::malformed("the array has fewer bytes").at_byte(offset))?;
        let run = |at: u64, wanted: u64| {
            let (number, start) = self.blocks.find(at);
            let bytes = self.block(number)?;
            let count = (bytes.len() as u64).saturating_sub(at - start).min(wanted);
            if count == 0 {
                return Err(Error::malformed("the array has fewer bytes").at_byte(at));
            }
            Ok(((bytes, at - start), count))
        };
        split_runs(offset, into, run, |(bytes, from), now| {
            let from = to_usize(from)?;
            let part = bytes.get(from..from + now.len()).ok_or_else(|| Error::malformed("the array has fewer bytes"))?;
            now.copy_from_slice(part);
            Ok(())
        })?;
        if end == Some(self.len()) {
            // A file may have very many arrays, each of which is read to its end once.
            *self.last.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
        Ok(())
    }

    fn origin(&self) -> Option<SourceOrigin<'_>> {
        Some(SourceOrigin::Made(&**self.array.source()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::Index;

    /// First tier.
    #[test]
    fn any_range_equals_packed_elements() {
        let numbers: Vec<i16> = (0..3 * 700 * 5).map(|n| n as i16).collect();
        let array = Array::from_slice(&numbers, &[3, 700, 5]).unwrap();
        let every_second = Index::Slice { start: Some(1), stop: None, step: 2 };
        let whole = Index::Slice { start: None, stop: None, step: 1 };
        let views = [array.clone(), array.slice([whole, every_second]).unwrap(), array.slice([Index::Integer(1)]).unwrap()];
        for (view, order) in views.iter().flat_map(|view| [(view, Byteorder::Big), (view, Byteorder::Little)]) {
            let expected = view.read_bytes(order).unwrap();
            for size in [2, 10, 1000, 1 << 20] {
                let mut source = PackedSource::new(view.clone(), order);
                source.blocks = view.row_blocks(size);
                assert_eq!(source.len(), expected.len() as u64);
                for (from, len) in [(0, expected.len()), (1, 3), (9, 1500), (expected.len() - 7, 7), (5, 0)] {
                    let mut found = vec![0; len];
                    source.read_at(from as u64, &mut found).unwrap();
                    assert_eq!(found, expected[from..from + len], "{size} {from} {len}");
                }
                assert!(source.read_at(expected.len() as u64 - 1, &mut [0; 2]).is_err());
            }
        }
    }
}
