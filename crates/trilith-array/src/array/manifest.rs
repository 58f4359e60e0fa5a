//! Places of the chunks of an array in its file, for programs that read and decode them without this library.
//!
//! Such programs, those of Zarr, see an array as a grid of chunks that all have one shape, each a range of bytes in
//! a file. Many arrays fit this form without being rewritten. The others are refused with the reason.

use std::ops::Range;

use super::chunk_grid::ChunkRanges;
use super::datatype::{Byteorder, Datatype};
use super::handle::Array;
use super::shape::{element_count, unravel};
use super::struct_type::StructType;
use crate::bytes::{CodedPiece, CodingStep, LocalFile, SourceBacking, SourceEncoding, encoding};
use crate::error::{Error, Result};

/// Bytes of a chunk that is cut out of uncompressed elements, as nearly as the shape allows.
const TARGET_CHUNK_BYTES: u64 = 4 << 20;
/// Factor by which such a chunk may be larger or smaller before another cut is preferred.
const MAX_CHUNK_RATIO: u64 = 8;

/// The chunks of an array.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Manifest {
    /// The file: its path as it was given, or its address.
    pub file: String,
    /// The lengths of a chunk. All have these; if one reaches over the end of an axis, what is there does not count.
    pub chunk: Vec<u64>,
    /// `true` if elements are in Fortran order within a chunk.
    pub is_column_major: bool,
    /// The encoding steps of each chunk when it was written, in this order.
    pub steps: Vec<CodingStep>,
    /// The place of each chunk in the file, in row-major order; None if it was never written.
    pub ranges: Vec<Option<Range<u64>>>,
    /// The bytes of an element that was never written.
    pub fill_value: Vec<u8>,
}

impl Manifest {
    /// Returns one chunk that has all elements of an array, without a place.
    pub fn single_chunk(array: &Array) -> Self {
        let chunk = array.shape().iter().map(|len| (*len).max(1)).collect();
        Self {
            file: array.source_file_name(),
            chunk,
            is_column_major: false,
            steps: Vec::new(),
            ranges: Vec::new(),
            fill_value: array.zero_element(),
        }
    }
}

/// Axes from the slowest to the fastest, as the elements are.
struct StoredAxes {
    lengths: Vec<u64>,
    strides: Vec<u64>,
    item: u64,
    is_column_major: bool,
}

impl Array {
    /// Returns the places of the chunks of the array in the file that [`Array::source`] names. Reads no element.
    ///
    /// Uncompressed elements can be cut into any chunks. `rows` is the number of rows of the first axis in each
    /// chunk, and must divide their total number. Without it chunks have about 4 MiB.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) if the array is not such a grid, with the
    /// reason, and [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for a number of rows that does not divide those of
    /// the array.
    ///
    /// ```
    /// use trilith_array::array::{Array, Byteorder, Datatype};
    /// # let folder = std::env::temp_dir().join(format!("trilith-manifest-{}", std::process::id()));
    /// # std::fs::create_dir_all(&folder)?;
    /// let path = folder.join("x.raw");
    /// std::fs::write(&path, [0; 100])?;
    /// let source = trilith_io::bytes::open(&path, Default::default())?;
    /// let array = Array::new(source, 20, Datatype::Float32, Byteorder::Little, vec![4, 5])?;
    /// let manifest = array.manifest(Some(2))?;
    /// assert_eq!(manifest.chunk, [2, 5]);
    /// assert_eq!(manifest.ranges, [Some(20..60), Some(60..100)]);
    /// # std::fs::remove_dir_all(&folder)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn manifest(&self, rows: Option<u64>) -> Result<Manifest> {
        self.check_present()?;
        if self
            .source()
            .backing()
            .and_then(SourceBacking::local_file)
            .and_then(LocalFile::given_path)
            .is_some_and(|path| path.to_str().is_none())
        {
            return Err(Error::unsupported(format!(
                "{}: references cannot name a file whose name is not UTF-8",
                self.source().name()
            ))
            .hint("rename it"));
        }
        if self.is_empty() {
            return Ok(Manifest::single_chunk(self));
        }
        let rows = rows.filter(|_| !self.shape().is_empty());
        if let Some(source) = self.chunked_source() {
            return self.build_chunk_manifest(source.chunk_ranges()?);
        }
        match encoding(&**self.source())? {
            SourceEncoding::Plain(at) => self.chunk_uncompressed(at, rows),
            SourceEncoding::Coded { codec, pieces } => self.encoded_chunks(codec, &pieces),
        }
    }

    /// The byte order of the parts of an element; None if they differ, or if there is padding.
    pub fn uniform_byteorder(&self) -> Option<Byteorder> {
        match self.datatype() {
            Datatype::Struct(fields) => packed_record_byteorder(fields),
            _ => Some(self.byteorder()),
        }
    }

    /// Returns the name of its file.
    fn source_file_name(&self) -> String {
        let path = self
            .source()
            .backing()
            .and_then(SourceBacking::local_file)
            .and_then(LocalFile::given_path)
            .map(|path| path.display().to_string());
        path.unwrap_or_else(|| self.source().name().to_owned())
    }

    /// The bytes of an element that is all zeros.
    fn zero_element(&self) -> Vec<u8> {
        vec![0; usize::try_from(self.datatype().item_size()).unwrap_or(0)]
    }

    /// The axes in the order of the elements; None if some share bytes or go backwards.
    fn axes_as_stored(&self) -> Option<StoredAxes> {
        let columns = !self.is_c_contiguous() && self.is_fortran_contiguous();
        let strides = self.shape().iter().zip(self.strides());
        // The stride of an axis of length 1 is never used.
        let strides: Option<Vec<u64>> =
            strides.map(|(len, n)| if *len == 1 { Some(0) } else { u64::try_from(*n).ok() }).collect();
        let (mut lengths, mut strides) = (self.shape().to_vec(), strides?);
        if columns {
            lengths.reverse();
            strides.reverse();
        }
        let item = self.datatype().item_size();
        let apart = lengths.iter().zip(&strides).all(|(len, stride)| *len == 1 || *stride >= item);
        apart.then_some(StoredAxes { lengths, strides, item, is_column_major: columns })
    }

    /// Uncompressed elements, from byte `at` of the file on.
    fn chunk_uncompressed(&self, at: u64, rows: Option<u64>) -> Result<Manifest> {
        let apart = || Error::unsupported(format!("its elements are not contiguous: their strides are {:?}", self.strides()));
        let axes = self.axes_as_stored().ok_or_else(apart)?;
        // The last axes whose elements are contiguous.
        let mut inner = axes.lengths.len();
        let mut run = axes.item;
        while let Some(axis) = inner.checked_sub(1).filter(|axis| axes.lengths[*axis] == 1 || axes.strides[*axis] == run) {
            run = run.saturating_mul(axes.lengths[axis]);
            inner = axis;
        }
        if inner == axes.lengths.len() && axes.lengths.iter().any(|len| *len > 1) {
            return Err(apart());
        }
        let mut chunk = vec![1; axes.lengths.len()];
        let together = axes.lengths.get(inner..).unwrap_or_default();
        let cut = match rows {
            Some(rows) if !axes.is_column_major => {
                let all = self.shape().first().copied().unwrap_or(1);
                let reason =
                    || format!("{rows} rows to a chunk, but only numbers that divide {all} make chunks that are all alike");
                if rows == 0 || !all.is_multiple_of(rows) {
                    return Err(Error::invalid_input(reason()).hint(format!("try {}", nearest_divisors(all, rows))));
                }
                if inner > 0 && rows > 1 {
                    return Err(apart());
                }
                let mut cut = together.to_vec();
                if let (Some(first), 0) = (cut.first_mut(), inner) {
                    *first = rows;
                }
                cut
            }
            _ => chunk_lengths(together, axes.item),
        };
        if let Some(to) = chunk.get_mut(inner..) {
            to.copy_from_slice(&cut);
        }
        let places = self.places_of(&axes, &chunk, at.saturating_add(self.offset()))?;
        if axes.is_column_major {
            chunk.reverse();
        }
        Ok(Manifest { ranges: places, is_column_major: axes.is_column_major, chunk, ..Manifest::single_chunk(self) })
    }

    /// Returns the places of chunks that divide the axes, in row-major order of the array's axes.
    fn places_of(&self, axes: &StoredAxes, chunk: &[u64], start: u64) -> Result<Vec<Option<Range<u64>>>> {
        let mut counts: Vec<u64> = axes.lengths.iter().zip(chunk).map(|(len, chunk)| len / (*chunk).max(1)).collect();
        let mut steps: Vec<u64> = axes.strides.iter().zip(chunk).map(|(stride, chunk)| stride.saturating_mul(*chunk)).collect();
        if axes.is_column_major {
            counts.reverse();
            steps.reverse();
        }
        let count = element_count(&counts)?;
        self.limits().charge_memory(count.saturating_mul(24), "the places of chunks")?;
        let size = chunk.iter().fold(axes.item, |n, len| n.saturating_mul(*len));
        let place = |number: u64| {
            let (mut rest, mut at) = (number, start);
            for (count, step) in counts.iter().zip(&steps).rev() {
                at = at.saturating_add((rest % count).saturating_mul(*step));
                rest /= count;
            }
            Some(at..at.saturating_add(size))
        };
        Ok((0..count).map(place).collect())
    }

    /// Elements in pieces that decode by themselves.
    fn encoded_chunks(&self, codec: Option<CodingStep>, pieces: &[CodedPiece]) -> Result<Manifest> {
        let axes = self.axes_as_stored().filter(|_| self.is_c_contiguous() || self.is_fortran_contiguous());
        let axes =
            axes.ok_or_else(|| Error::unsupported("it is a part of a compressed block, and its elements are not contiguous"))?;
        let (start, end) = (self.offset(), self.offset().saturating_add(self.nbytes_stored()));
        let own: Vec<&CodedPiece> =
            pieces.iter().filter(|piece| piece.decoded.start < end && piece.decoded.end > start).collect();
        let (Some(first), Some(last)) = (own.first(), own.last()) else {
            return Err(Error::unsupported("its block has no pieces"));
        };
        if first.decoded.start != start || last.decoded.end != end {
            return Err(Error::unsupported(match own.len() {
                1 => "it is a part of a block that is compressed as a whole",
                _ => "it begins or ends within a compressed piece of its block",
            }));
        }
        let size = first.decoded.end - first.decoded.start;
        let mut chunk = whole_rows(&axes, size)?;
        if own.iter().any(|piece| piece.decoded.end - piece.decoded.start != size) {
            let rows = chunk.first().copied().unwrap_or(1);
            return Err(Error::unsupported(format!(
                "not all of its {} pieces are of one length: the first has {rows} of {} rows",
                own.len(),
                axes.lengths.first().copied().unwrap_or(1)
            )));
        }
        if axes.is_column_major {
            chunk.reverse();
        }
        let places = self.to_c_order(&axes, &chunk, own.into_iter().map(|piece| Some(piece.stored.clone())).collect());
        Ok(Manifest {
            ranges: places,
            is_column_major: axes.is_column_major,
            chunk,
            steps: codec.into_iter().collect(),
            ..Manifest::single_chunk(self)
        })
    }

    /// Places in the order in which the elements are, in row-major order of the array's own axes.
    fn to_c_order(&self, axes: &StoredAxes, chunk: &[u64], places: Vec<Option<Range<u64>>>) -> Vec<Option<Range<u64>>> {
        // In storage order all axes before the innermost cut one have pieces of length 1, so only columns change the order.
        let cut_axes = self.shape().iter().zip(chunk).filter(|(len, chunk)| len > chunk).count();
        if !axes.is_column_major || cut_axes < 2 {
            return places;
        }
        let counts: Vec<u64> = self.shape().iter().zip(chunk).map(|(len, chunk)| len / (*chunk).max(1)).collect();
        let number = |at: usize| {
            let (mut found, mut step) = (0u64, 1u64);
            for (index, count) in unravel(at as u64, &counts).iter().zip(&counts) {
                found = found.saturating_add(index.saturating_mul(step));
                step = step.saturating_mul(*count);
            }
            usize::try_from(found).unwrap_or(usize::MAX)
        };
        (0..places.len()).map(|at| places.get(number(at)).cloned().flatten()).collect()
    }

    /// A grid of chunks.
    fn build_chunk_manifest(&self, grid: ChunkRanges) -> Result<Manifest> {
        let is_scalar = self.shape().is_empty() && grid.shape == [1];
        let is_whole = self.offset() == 0 && self.is_c_contiguous() && (grid.shape == self.shape() || is_scalar);
        if !is_whole || grid.item != self.datatype().item_size() {
            return Err(Error::unsupported("it is a part of an array in chunks"));
        }
        if grid.cut_edges && grid.shape.iter().zip(&grid.chunk).any(|(len, chunk)| !len.is_multiple_of((*chunk).max(1))) {
            return Err(Error::unsupported("its chunks at the far edges are smaller than the others"));
        }
        let mut steps = grid.steps;
        if let Some(first) = grid.left_out.first().copied() {
            let written = grid.places.iter().enumerate().filter(|(_, place)| place.is_some());
            if written.map(|(at, _)| grid.left_out.get(at).copied().unwrap_or(0)).any(|left_out| left_out != first) {
                return Err(Error::unsupported("some of its chunks went through fewer filters than the others"));
            }
            let mut number = 0;
            steps.retain(|_| {
                number += 1;
                number > 64 || first & (1 << (number - 1)) == 0
            });
        }
        let chunk = if is_scalar { Vec::new() } else { grid.chunk };
        Ok(Manifest {
            file: self.source_file_name(),
            chunk,
            is_column_major: grid.columns,
            steps,
            ranges: grid.places,
            fill_value: grid.fill,
        })
    }
}

/// The byte order of all fields of a record without gaps. Records nest no deeper than the library allows.
fn packed_record_byteorder(fields: &StructType) -> Option<Byteorder> {
    let mut orders = Vec::new();
    let mut end = 0;
    for field in fields.fields() {
        if field.offset != end {
            return None;
        }
        end = end.saturating_add(field.count().saturating_mul(field.datatype.item_size()));
        match &field.datatype {
            Datatype::Struct(inner) => orders.push(packed_record_byteorder(inner)?),
            Datatype::Int8 | Datatype::Uint8 | Datatype::Bool8 | Datatype::Ascii(_) | Datatype::Utf8(_) => {}
            _ => orders.push(field.byteorder),
        }
    }
    let first = orders.first().copied().unwrap_or(Byteorder::Little);
    (end == fields.item_size() && orders.iter().all(|order| *order == first)).then_some(first)
}

/// The lengths of chunks of `size` bytes each, if these are whole rows of some axis.
fn whole_rows(axes: &StoredAxes, size: u64) -> Result<Vec<u64>> {
    let mut row = axes.item;
    let mut chunk = vec![1; axes.lengths.len()];
    if axes.lengths.is_empty() && size == axes.item {
        return Ok(chunk);
    }
    for (axis, length) in axes.lengths.iter().enumerate().rev() {
        let rows = size / row.max(1);
        if !size.is_multiple_of(row.max(1)) {
            break;
        }
        if rows <= *length {
            if !length.is_multiple_of(rows.max(1)) {
                return Err(Error::unsupported(format!(
                    "its compressed pieces hold {rows} rows each, which does not divide {length}"
                )));
            }
            if let Some(to) = chunk.get_mut(axis) {
                *to = rows;
            }
            return Ok(chunk);
        }
        if let Some(to) = chunk.get_mut(axis) {
            *to = *length;
        }
        row = row.saturating_mul(*length);
    }
    Err(Error::unsupported(format!("its compressed pieces of {size} bytes do not end where rows end")))
}

/// The lengths of chunks of about [`TARGET_CHUNK_BYTES`] bytes that divide these axes, cut along the slowest.
fn chunk_lengths(lengths: &[u64], item: u64) -> Vec<u64> {
    let mut chunk = lengths.to_vec();
    for axis in 0..lengths.len() {
        let row = lengths.iter().skip(axis + 1).fold(item, |n, len| n.saturating_mul(*len)).max(1);
        let length = lengths[axis];
        if row.saturating_mul(length) <= TARGET_CHUNK_BYTES {
            break;
        }
        chunk[axis] = find_nearest_divisor(length, (TARGET_CHUNK_BYTES / row).max(1), row);
        if row <= TARGET_CHUNK_BYTES {
            break;
        }
    }
    chunk
}

/// The divisor of a length that makes chunks nearest to `wanted` rows of this number of bytes.
fn find_nearest_divisor(length: u64, wanted: u64, row: u64) -> u64 {
    let all = collect_divisors(length);
    let below = all.iter().copied().filter(|n| *n <= wanted).max().unwrap_or(1);
    if below >= wanted / MAX_CHUNK_RATIO || row > TARGET_CHUNK_BYTES {
        return below;
    }
    let above = all.iter().copied().filter(|n| *n > wanted).min().unwrap_or(length);
    if above <= wanted.saturating_mul(MAX_CHUNK_RATIO) { above } else { below }
}

fn collect_divisors(length: u64) -> Vec<u64> {
    let mut found = Vec::new();
    let mut n = 1;
    while n * n <= length {
        if length.is_multiple_of(n) {
            found.extend([n, length / n]);
        }
        n += 1;
    }
    found
}

/// The divisors on either side of a number, in words.
fn nearest_divisors(length: u64, wanted: u64) -> String {
    let all = collect_divisors(length);
    let below = all.iter().copied().filter(|n| *n < wanted).max();
    let above = all.iter().copied().filter(|n| *n > wanted).min();
    let words: Vec<String> = below.into_iter().chain(above).map(|n| n.to_string()).collect();
    words.join(" or ")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use crate::bytes::{MemorySource, PieceDecoding, Source};

    /// Bytes that are stored verbatim in a file, from byte 1000 on, or in pieces.
    struct Placed(MemorySource, Option<u64>);

    impl PieceDecoding for Placed {
        fn stored_ranges(&self, range: Range<u64>) -> Result<Vec<Range<u64>>> {
            Ok(vec![range])
        }

        fn encoding(&self) -> Result<SourceEncoding> {
            let Some(size) = self.1 else { return Ok(SourceEncoding::Plain(1000)) };
            let starts = (0..self.len()).step_by(size as usize);
            let piece = |start: u64| {
                let end = (start + size).min(self.len());
                CodedPiece::new(1000 + start..1000 + end, start..end)
            };
            Ok(SourceEncoding::Coded { codec: None, pieces: starts.map(piece).collect() })
        }
    }

    impl Source for Placed {
        fn len(&self) -> u64 {
            self.0.len()
        }

        fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<()> {
            self.0.read_at(offset, into)
        }

        fn pieces(&self) -> Option<&dyn PieceDecoding> {
            Some(self)
        }

        fn name(&self) -> &str {
            self.0.name()
        }
    }

    fn bytes(len: u64) -> Vec<u8> {
        (0..len).map(|n| (n * 7 + n / 251) as u8).collect()
    }

    /// The elements that the chunks of a manifest make, in C order.
    fn assembled(manifest: &Manifest, shape: &[u64], file: &[u8], item: usize) -> Vec<u8> {
        let counts: Vec<u64> = shape.iter().zip(&manifest.chunk).map(|(len, chunk)| len.div_ceil(*chunk)).collect();
        let count: u64 = shape.iter().product();
        let joined = |at: &[u64], lens: &[u64]| at.iter().zip(lens).fold(0, |n, (at, len)| n * len + at);
        (0..count)
            .flat_map(|element| {
                let at = unravel(element, shape);
                let chunk: Vec<u64> = at.iter().zip(&manifest.chunk).map(|(at, chunk)| at / chunk).collect();
                let (mut inside, mut lens): (Vec<u64>, Vec<u64>) =
                    (at.iter().zip(&manifest.chunk).map(|(at, chunk)| at % chunk).collect(), manifest.chunk.clone());
                if manifest.is_column_major {
                    inside.reverse();
                    lens.reverse();
                }
                let place = manifest.ranges[joined(&chunk, &counts) as usize].clone().unwrap();
                let start = (place.start - 1000) as usize + joined(&inside, &lens) as usize * item;
                assert!(start + item <= (place.end - 1000) as usize);
                file[start..start + item].to_vec()
            })
            .collect()
    }

    proptest! {
        #[test]
        fn chunks_reassemble_to_array(
            shape in proptest::collection::vec(1u64..7, 0..4),
            gap in 0u64..3,
            offset in 0u64..9,
            columns: bool,
            rows in proptest::option::of(1u64..7),
            piece in proptest::option::of(1u64..200),
        ) {
            let mut strides = vec![0i64; shape.len()];
            let mut step = 2;
            let axes: Vec<usize> = if columns { (0..shape.len()).collect() } else { (0..shape.len()).rev().collect() };
            for (number, axis) in axes.iter().enumerate() {
                // Rows of the slowest axis may be apart.
                let apart = if number + 1 == shape.len() { gap * 2 } else { 0 };
                strides[*axis] = step + apart as i64;
                step *= shape[*axis] as i64;
            }
            let len = offset + 2 + shape.iter().zip(&strides).map(|(len, stride)| (len - 1) * *stride as u64).sum::<u64>();
            let file = bytes(len);
            let source = Arc::new(Placed(MemorySource::new(file.clone(), "x"), piece));
            let array = Array::strided(source, offset, Datatype::Uint16, Byteorder::Little, shape.clone(), strides).unwrap();
            match array.manifest(rows) {
                Ok(manifest) => {
                    let expected = array.read_bytes(Byteorder::Little).unwrap();
                    prop_assert_eq!(assembled(&manifest, &shape, &file, 2), expected);
                    let whole = shape.iter().zip(&manifest.chunk).all(|(len, chunk)| len.is_multiple_of(*chunk));
                    prop_assert!(whole, "{:?} of {shape:?}", manifest.chunk);
                }
                Err(error) => {
                    let refused = error.kind() == crate::ErrorKind::Unsupported && (piece.is_some() || gap > 0 || rows.is_some());
                    let wrong = error.kind() == crate::ErrorKind::InvalidInput && rows.is_some_and(|rows| !shape[0].is_multiple_of(rows));
                    prop_assert!(refused || wrong, "{error}");
                }
            }
        }

        #[test]
        fn cuts_divide_and_are_near_what_is_wanted(shape in proptest::collection::vec(1u64..5000, 1..4), item in 1u64..17) {
            let chunk = chunk_lengths(&shape, item);
            prop_assert!(shape.iter().zip(&chunk).all(|(len, chunk)| len.is_multiple_of(*chunk)));
            let size = chunk.iter().product::<u64>() * item;
            prop_assert!(size <= MAX_CHUNK_RATIO * TARGET_CHUNK_BYTES, "{chunk:?} of {shape:?}");
        }
    }

    #[test]
    fn zero_and_negative_strides_err() {
        let source = Arc::new(Placed(MemorySource::new(bytes(100), "x"), None));
        for (offset, strides) in [(0, vec![0, 1]), (90, vec![-3, 1])] {
            let array = Array::strided(source.clone(), offset, Datatype::Uint8, Byteorder::Little, vec![4, 3], strides).unwrap();
            assert_eq!(array.manifest(None).unwrap_err().kind(), crate::ErrorKind::Unsupported);
        }
    }
}
