//! Several arrays of one form as one array with a leading axis.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use super::{Array, Byteorder};
use crate::bytes::{PieceDecoding, Source, SourceBacking, SourceOrigin, split_runs, stored_ranges, to_usize};
use crate::error::{Error, Result};
use crate::threads::lock;

impl Array {
    /// Joins arrays of one datatype and shape into one array, whose first axis counts them. No element is read.
    ///
    /// ```
    /// use trilith_array::Array;
    /// let rows = [[1i16, 2], [3, 4]].map(|row| Array::from_slice(&row, &[2]).unwrap());
    /// let stacked = Array::stack(rows.to_vec())?;
    /// assert_eq!((stacked.shape(), stacked.load::<i16>()?), (&[2, 2][..], vec![1, 2, 3, 4]));
    /// # Ok::<(), trilith_array::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for no arrays, and for arrays that differ in datatype
    /// or shape. Returns [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for masked arrays, and for
    /// padded structures that are not stored in C order.
    pub fn stack(arrays: Vec<Array>) -> Result<Array> {
        let mut shape = vec![arrays.len() as u64];
        shape.extend_from_slice(arrays.first().map_or(&[], |first| first.shape()));
        join_arrays(arrays, shape, 0)
    }

    /// Joins arrays along their first axis; datatype and all other axes are the same. No element is read.
    ///
    /// ```
    /// use trilith_array::Array;
    /// let parts = vec![Array::from_slice(&[1u8, 2], &[2])?, Array::from_slice(&[3u8], &[1])?];
    /// assert_eq!(Array::concatenate(parts)?.load::<u8>()?, [1, 2, 3]);
    /// # Ok::<(), trilith_array::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`Array::stack`].
    pub fn concatenate(arrays: Vec<Array>) -> Result<Array> {
        let mut rows = arrays.iter().map(|array| array.shape().first().copied());
        let rows = rows.try_fold(0u64, |sum, rows| sum.checked_add(rows?));
        let rows = rows.ok_or_else(|| Error::invalid_input("a number has no axis along which it could be joined"))?;
        let mut shape = vec![rows];
        shape.extend(arrays.first().into_iter().flat_map(|first| first.shape().iter().skip(1)));
        join_arrays(arrays, shape, 1)
    }
}

/// The arrays one after the other, which agree in datatype and in the axes from `from` on.
fn join_arrays(arrays: Vec<Array>, shape: Vec<u64>, from: usize) -> Result<Array> {
    let Some(first) = arrays.first() else { return Err(Error::invalid_input("an empty list has no datatype")) };
    let axes = |array: &Array| array.shape().iter().skip(from).copied().collect::<Vec<_>>();
    let mut starts = Vec::with_capacity(arrays.len());
    let mut len = 0u64;
    for (n, array) in arrays.iter().enumerate() {
        if array.datatype() != first.datatype() || array.shape().len() != first.shape().len() || axes(array) != axes(first) {
            let (a, b) = (first.datatype(), array.datatype());
            let message = format!("item 0 is {a} {:?}, item {n} is {b} {:?}", first.shape(), array.shape());
            return Err(Error::invalid_input(message).hint("only equal items can be taken as one array"));
        }
        if array.mask().is_some() {
            return Err(Error::unsupported(format!("item {n} is a masked array")).hint("read the items one by one"));
        }
        starts.push(len);
        len = len.checked_add(array.nbytes()).ok_or_else(|| Error::invalid_input("the items have over 2^64 bytes"))?;
    }
    let (datatype, byteorder) = (first.datatype().clone(), first.byteorder());
    if let Some(n) = arrays.iter().position(|array| !is_direct(array, byteorder))
        && datatype.packed_size() != datatype.item_size()
    {
        let message = format!("item {n} is an array of padded structures that is not stored in C order");
        return Err(Error::unsupported(message).hint("read the items one by one"));
    }
    let limits = Arc::clone(first.limits());
    limits.charge_memory((arrays.len() as u64).saturating_mul(size_of::<Array>() as u64), "the items of a list")?;
    let name = first.source().name().to_owned();
    let source = StackedSource { arrays, byteorder, starts, len, name, decoded: Mutex::new(None) };
    Ok(Array::new(Arc::new(source), 0, datatype, byteorder, shape)?.with_limits(limits))
}

/// Returns `true` if the elements are the bytes of the source, one after the other.
fn is_direct(array: &Array, byteorder: Byteorder) -> bool {
    array.is_c_contiguous() && array.byteorder() == byteorder
}

/// The number of an item and its bytes.
type CachedItem = Option<(usize, Arc<Vec<u8>>)>;

/// The bytes of the items, one after the other.
struct StackedSource {
    arrays: Vec<Array>,
    byteorder: Byteorder,
    /// The start of each item.
    starts: Vec<u64>,
    len: u64,
    name: String,
    /// The last item that had to be put into order as a whole.
    decoded: Mutex<CachedItem>,
}

impl StackedSource {
    /// The item that holds a byte: its number, its array, the byte within it, and how many bytes it has from there.
    fn locate_byte(&self, offset: u64) -> Option<(usize, &Array, u64, u64)> {
        let number = self.starts.partition_point(|start| *start <= offset).checked_sub(1)?;
        let (array, start) = (self.arrays.get(number)?, self.starts.get(number)?);
        let inside = offset.checked_sub(*start)?;
        let left = array.nbytes().checked_sub(inside).filter(|left| *left > 0)?;
        Some((number, array, inside, left))
    }

    fn decoded_item(&self, number: usize, array: &Array) -> Result<Arc<Vec<u8>>> {
        let mut decoded = lock(&self.decoded);
        if let Some((known, bytes)) = &*decoded
            && *known == number
        {
            return Ok(Arc::clone(bytes));
        }
        array.limits().charge_memory(array.nbytes(), "an item of a list")?;
        let mut bytes = Vec::with_capacity(to_usize(array.nbytes())?);
        array.for_each_piece_in(self.byteorder, 1 << 20, &mut |piece| {
            bytes.extend_from_slice(piece);
            Ok(())
        })?;
        let bytes = Arc::new(bytes);
        *decoded = Some((number, Arc::clone(&bytes)));
        Ok(bytes)
    }

    /// The ranges of the items' own sources that hold a range of these bytes, for each item that is stored in order;
    /// all of an item that is not.
    fn item_ranges(&self, range: &Range<u64>) -> Vec<(&Array, Range<u64>)> {
        let (mut found, mut from) = (Vec::new(), range.start);
        while from < range.end {
            let Some((_, array, inside, left)) = self.locate_byte(from) else { break };
            let count = left.min(range.end - from);
            let start = array.offset().saturating_add(inside);
            let direct = is_direct(array, self.byteorder);
            found.push((array, if direct { start..start.saturating_add(count) } else { array.byte_range() }));
            from = from.saturating_add(count.max(1));
        }
        found
    }
}

impl SourceBacking for StackedSource {
    fn inner_backing(&self) -> Option<&dyn SourceBacking> {
        self.arrays.first()?.source().backing()
    }

    fn verify_checksum(&self) -> Result<()> {
        self.arrays.iter().try_for_each(|array| array.verify_checksum())
    }
}

impl PieceDecoding for StackedSource {
    fn stored_ranges(&self, range: Range<u64>) -> Result<Vec<Range<u64>>> {
        let mut stored = Vec::new();
        for (array, range) in self.item_ranges(&range) {
            stored.extend(stored_ranges(&**array.source(), range)?);
        }
        Ok(stored)
    }
}

impl Source for StackedSource {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        let behind = || Error::malformed("the list ends before the requested bytes");
        let item = |offset, wanted| {
            let (number, array, inside, left) = self.locate_byte(offset).ok_or_else(behind)?;
            Ok(((number, array, inside), left.min(wanted)))
        };
        split_runs(offset, into, item, |(number, array, inside), now| {
            if is_direct(array, self.byteorder) {
                return array.source().read_at(array.offset().saturating_add(inside), now);
            }
            let bytes = self.decoded_item(number, array)?;
            let from = to_usize(inside)?;
            now.copy_from_slice(bytes.get(from..from.saturating_add(now.len())).ok_or_else(behind)?);
            Ok(())
        })
    }

    fn prefetch(&self, ranges: &[Range<u64>]) -> Result<()> {
        // Neighbours of one source are requested at once.
        let mut wanted: Vec<(&Array, Vec<Range<u64>>)> = Vec::new();
        for (array, range) in ranges.iter().flat_map(|range| self.item_ranges(range)) {
            match wanted.last_mut() {
                Some((last, list)) if Arc::ptr_eq(last.source(), array.source()) => list.push(range),
                _ => wanted.push((array, vec![range])),
            }
        }
        wanted.into_iter().try_for_each(|(array, list)| array.source().prefetch(&list))
    }

    fn origin(&self) -> Option<SourceOrigin<'_>> {
        self.arrays.first().map(|array| SourceOrigin::Made(&**array.source()))
    }

    fn backing(&self) -> Option<&dyn SourceBacking> {
        Some(self)
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
    use super::*;
    use crate::array::Index;

    #[test]
    fn joined_arrays_keep_elements_of_differently_stored_parts() {
        let part = |from: i32| Array::from_slice(&(from..from + 6).collect::<Vec<_>>(), &[2, 3]).unwrap();
        let turned = part(10).transpose(None).unwrap();
        let big: Vec<u8> = (20..26i32).flat_map(i32::to_be_bytes).collect();
        let big = Array::from_bytes(big, crate::Datatype::Int32, Byteorder::Big, vec![2, 3]).unwrap();
        let stacked = Array::stack(vec![part(0), big, part(30)]).unwrap();
        assert_eq!(stacked.shape(), [3, 2, 3]);
        let all: Vec<i32> = [0, 20, 30].iter().flat_map(|from| *from..from + 6).collect();
        assert_eq!(stacked.load::<i32>().unwrap(), all);
        let cut = stacked.slice(Index::parse_list("1:,1,::2").unwrap()).unwrap();
        assert_eq!(cut.load::<i32>().unwrap(), [23, 25, 33, 35]);
        let joined = Array::concatenate(vec![turned.clone(), turned]).unwrap();
        assert_eq!((joined.shape(), joined.load::<i32>().unwrap()), (&[6, 2][..], [10, 13, 11, 14, 12, 15].repeat(2)));
    }

    #[test]
    fn what_is_not_equal_is_refused() {
        let (a, b) = (Array::from_slice(&[1u8], &[1]).unwrap(), Array::from_slice(&[1i8], &[1]).unwrap());
        assert!(Array::stack(vec![a.clone(), b]).is_err());
        assert!(Array::stack(vec![a.clone(), Array::from_slice(&[1u8, 2], &[2]).unwrap()]).is_err());
        assert!(Array::stack(Vec::new()).is_err());
        assert!(Array::concatenate(vec![a, Array::from_slice(&[1u8], &[]).unwrap()]).is_err());
    }
}
