//! [`Array`]: the resolved description of an array, and the bytes that hold its elements.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, LazyLock};

use super::chunking::Chunking;
use super::datatype::{Byteorder, Datatype};
use super::element::ArrayElement;
use super::mask::Mask;
use super::shape;
use crate::bytes::{MemorySource, Source, SourceRef, to_usize, verify_backing};
use crate::error::{Error, Result, count_noun};
use crate::limits::Limits;

/// An n-dimensional array: source of bytes + offset + datatype + byteorder + shape + strides + mask.
///
/// Cheap to clone and lazy: making one reads nothing, but checks that every element is inside the
/// source. Reading copies ([`load`](Array::load), [`read_bytes_into`](Array::read_bytes_into)),
/// borrows ([`view`](Array::view)) or goes piece by piece ([`for_each_piece`](Array::for_each_piece)).
///
/// ```
/// use trilith_array::array::{Array, Byteorder, Datatype};
/// let array = Array::from_bytes(vec![0, 1, 0, 2, 0, 3, 0, 4], Datatype::Int16, Byteorder::Big, vec![2, 2])?;
/// assert_eq!(array.load::<i16>()?, [1, 2, 3, 4]);
/// assert_eq!(array.transpose(None)?.load::<i16>()?, [1, 3, 2, 4]);
/// # Ok::<(), trilith_array::Error>(())
/// ```
#[derive(Clone)]
pub struct Array {
    pub(super) source: SourceRef,
    /// The chunks of the source; None if it has none.
    pub(super) chunking: Option<Arc<Chunking>>,
    pub(super) offset: u64,
    pub(super) datatype: Datatype,
    pub(super) byteorder: Byteorder,
    pub(super) shape: Vec<u64>,
    pub(super) strides: Vec<i64>,
    pub(super) mask: Option<Mask>,
    /// `true` if nothing is stored under the mask: a file declares these elements missing.
    pub(super) is_void: bool,
    pub(super) limits: Arc<Limits>,
    /// The file and the path of the item, which errors of reading name.
    pub(super) item: Option<Arc<(String, String)>>,
}

static DEFAULT_LIMITS: LazyLock<Arc<Limits>> = LazyLock::new(|| Arc::new(Limits::default()));

impl Array {
    /// Creates an array of contiguous elements in C order from byte `offset` of `source` on.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if they are not all inside the source.
    pub fn new(source: SourceRef, offset: u64, datatype: Datatype, byteorder: Byteorder, shape: Vec<u64>) -> Result<Self> {
        let strides = shape::c_strides(&shape, datatype.item_size())?;
        Self::strided(source, offset, datatype, byteorder, shape, strides)
    }

    /// Elements `strides` bytes apart along each axis; strides may be negative or 0, the first
    /// element (all indices 0) is at `offset`.
    ///
    /// # Errors
    /// Returns the errors of [`Array::new`], and an error if there are not as many strides as axes.
    pub fn strided(
        source: SourceRef,
        offset: u64,
        datatype: Datatype,
        byteorder: Byteorder,
        shape: Vec<u64>,
        strides: Vec<i64>,
    ) -> Result<Self> {
        let limits = Arc::clone(&DEFAULT_LIMITS);
        let (chunking, mask, is_void) = (None, None, false);
        let array = Self { source, chunking, offset, datatype, byteorder, shape, strides, mask, is_void, limits, item: None };
        array.check_bounds()
    }

    /// Creates a streamed array (`shape: ['*', …]`), with the whole rows that the source has.
    ///
    /// # Errors
    /// Returns the errors of [`Array::new`], and an error for rows without bytes.
    pub fn streamed(source: SourceRef, offset: u64, datatype: Datatype, byteorder: Byteorder, row_shape: &[u64]) -> Result<Self> {
        let rows = shape::stream_rows(source.len().saturating_sub(offset), row_shape, datatype.item_size())?;
        let mut shape = vec![rows];
        shape.extend_from_slice(row_shape);
        Self::new(source, offset, datatype, byteorder, shape)
    }

    /// Creates an array from bytes in memory, in C order.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if `bytes` are too few.
    pub fn from_bytes(bytes: Vec<u8>, datatype: Datatype, byteorder: Byteorder, shape: Vec<u64>) -> Result<Self> {
        Self::new(Arc::new(MemorySource::new(bytes, "memory")), 0, datatype, byteorder, shape)
    }

    /// Creates an array from a copy of numbers, in C order.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if `shape` has another number of elements.
    pub fn from_slice<T: ArrayElement>(elements: &[T], shape: &[u64]) -> Result<Self> {
        if shape::element_count(shape)? != elements.len() as u64 {
            return Err(Error::invalid_input(format!("{} elements do not make an array of shape {shape:?}", elements.len())));
        }
        let bytes = match T::bytes(elements) {
            Cow::Borrowed(bytes) => MemorySource::copy_of(bytes, "memory"),
            Cow::Owned(bytes) => MemorySource::new(bytes, "memory"),
        };
        Self::new(Arc::new(bytes), 0, T::DATATYPE, Byteorder::NATIVE, shape.to_vec())
    }

    /// Returns the array with a mask. A mask array is broadcast to the shape of this array. For structures it may
    /// be an array of structures that has, in the same fields, a boolean for each value.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if the shapes do not fit, or if a mask array
    /// holds neither booleans nor numbers.
    pub fn with_mask(mut self, mask: Mask) -> Result<Self> {
        self.mask = Some(mask.checked_for(&self)?);
        Ok(self)
    }

    /// Returns the array with a mask of the elements that a file declares missing. Elements under it have no value.
    ///
    /// # Errors
    /// Returns the errors of [`Array::with_mask`].
    pub(super) fn with_missing(self, mask: Mask) -> Result<Self> {
        Ok(Self { is_void: true, ..self.with_mask(mask)? })
    }

    /// Returns `true` if the file declares the masked elements missing. The stored numbers of these elements then have no
    /// meaning.
    #[doc(hidden)]
    pub fn mask_means_missing(&self) -> bool {
        self.is_void
    }

    /// The array in memory: packed, in C order, in this byte order, with its mask. Its bytes are counted here, and not when the
    /// copy is read.
    ///
    /// # Errors
    /// Returns the errors of [`Array::load`].
    #[doc(hidden)]
    pub fn to_memory(&self, order: Byteorder) -> Result<Self> {
        let copy = Self::from_bytes(self.read_bytes(order)?, self.datatype.packed(order), order, self.shape.clone())?;
        match &self.mask {
            Some(mask) => copy.with_mask(mask.clone()),
            None => Ok(copy),
        }
    }

    /// Returns the array without its mask.
    #[must_use]
    pub fn without_mask(mut self) -> Self {
        (self.mask, self.is_void) = (None, false);
        self
    }

    /// Returns the array with other limits on its allocations.
    #[must_use]
    pub fn with_limits(mut self, limits: Arc<Limits>) -> Self {
        self.limits = limits;
        self
    }

    /// Returns the array with the names of its file and of its path there, which errors of reading then have.
    #[doc(hidden)]
    #[must_use]
    pub fn with_item_name(mut self, file: &str, path: &str) -> Self {
        self.item = Some(Arc::new((file.to_owned(), path.to_owned())));
        self
    }

    /// Names file and path in an error of reading, if they are known.
    pub(super) fn name_error(&self, error: Error) -> Error {
        match &self.item {
            Some(item) => error.in_item(&item.0, &item.1),
            None => error,
        }
    }

    /// Compares the checksums of the bytes that the array is made of.
    ///
    /// # Errors
    /// Returns the errors of [`SourceBacking::verify_checksum`](crate::bytes::SourceBacking::verify_checksum).
    #[doc(hidden)]
    pub fn verify_checksum(&self) -> Result<()> {
        verify_backing(&*self.source).map_err(|error| self.name_error(error))
    }

    /// Returns the source of the bytes.
    pub fn source(&self) -> &SourceRef {
        &self.source
    }

    /// Returns the byte offset in the source of the first element (all indices 0).
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the datatype of an element.
    pub fn datatype(&self) -> &Datatype {
        &self.datatype
    }

    /// Returns the byte order of the elements; the fields of a struct have their own.
    pub fn byteorder(&self) -> Byteorder {
        self.byteorder
    }

    /// Returns the lengths of the axes, the slowest first; empty for a single element.
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// Returns the bytes from one index to the next, for each axis.
    pub fn strides(&self) -> &[i64] {
        &self.strides
    }

    /// Returns the mask of elements that do not count, if there is one.
    pub fn mask(&self) -> Option<&Mask> {
        self.mask.as_ref()
    }

    /// Returns the limits in force.
    pub fn limits(&self) -> &Arc<Limits> {
        &self.limits
    }

    /// Returns the number of elements.
    pub fn element_count(&self) -> u64 {
        // Checked when the array was made; a zero counts even where the product before it is huge.
        if self.shape.contains(&0) { 0 } else { self.shape.iter().fold(1, |n: u64, len| n.saturating_mul(*len)) }
    }

    /// Returns `true` if there are no elements.
    pub fn is_empty(&self) -> bool {
        self.shape.contains(&0)
    }

    /// Returns the number of bytes of all elements, packed.
    pub fn nbytes(&self) -> u64 {
        self.element_count().saturating_mul(self.datatype.packed_size())
    }

    /// Returns the number of bytes of all elements with the padding of structs.
    #[doc(hidden)]
    pub fn nbytes_stored(&self) -> u64 {
        self.element_count().saturating_mul(self.datatype.item_size())
    }

    /// Returns the range of the source from the first to the last byte that belongs to an element.
    pub fn byte_range(&self) -> Range<u64> {
        // Checked when the array was made.
        shape::element_byte_range(self.offset, &self.shape, &self.strides, self.datatype.item_size(), self.source.len())
            .unwrap_or(self.offset..self.offset)
    }

    /// Returns `true` if the elements are contiguous in C order.
    pub fn is_c_contiguous(&self) -> bool {
        shape::is_c_contiguous(&self.shape, &self.strides, self.datatype.item_size())
    }

    /// Returns `true` if the elements are contiguous in Fortran order.
    pub fn is_fortran_contiguous(&self) -> bool {
        shape::is_fortran_contiguous(&self.shape, &self.strides, self.datatype.item_size())
    }

    /// The array after the checks that everything else relies on.
    pub(super) fn check_bounds(self) -> Result<Self> {
        shape::element_byte_range(self.offset, &self.shape, &self.strides, self.datatype.item_size(), self.source.len())?;
        let size = shape::element_count(&self.shape)?.checked_mul(self.datatype.packed_size());
        if size.is_none_or(|size| size > i64::MAX as u64) {
            return Err(Error::malformed(format!("an array of shape {:?} has more than 2^63 bytes", self.shape)));
        }
        Ok(self)
    }

    /// Bytes of all elements, charged to the limits.
    pub(super) fn charged_size(&self) -> Result<usize> {
        self.charge()?;
        to_usize(self.nbytes())
    }

    /// Refuses to load an array that needs more than [`Limits::memory`], or is made of few bytes and needs
    /// more than [`Limits::overlap`].
    ///
    /// # Errors
    /// Returns [`ErrorKind::Limit`](crate::ErrorKind::Limit) if the limits do not allow it.
    pub fn charge(&self) -> Result<()> {
        self.charge_overlap()?;
        self.limits.charge_memory(self.nbytes(), "an array")
    }

    /// Refuses to go through an array of few bytes that claims to have more than [`Limits::overlap`], by elements
    /// that share bytes, or more elements without any than [`Limits::nodes`].
    ///
    /// # Errors
    /// Returns [`ErrorKind::Limit`](crate::ErrorKind::Limit) if the limits do not allow it.
    pub fn charge_element_visits(&self) -> Result<()> {
        if self.nbytes() == 0 && self.element_count() > self.limits.nodes {
            return Err(Limits::exceeded_error(
                "nodes",
                self.limits.nodes,
                format_args!("{} elements without bytes", self.element_count()),
            ));
        }
        self.charge_overlap()
    }

    /// Returns the number of rows of the first axis that end before byte `end` of the source, or None if all do.
    /// The number is 0 for an array without axes, and for one whose rows do not follow each other.
    #[doc(hidden)]
    pub fn rows_within(&self, end: u64) -> Option<u64> {
        let item = self.datatype.item_size();
        if shape::element_byte_range(self.offset, &self.shape, &self.strides, item, end).is_ok() {
            return None;
        }
        let (Some((_, rest)), Some((step, strides))) = (self.shape.split_first(), self.strides.split_first()) else {
            return Some(0);
        };
        let row = shape::element_byte_range(self.offset, rest, strides, item, end).ok().filter(|_| *step > 0);
        let more = row.and_then(|row| end.checked_sub(row.end)?.checked_div(step.unsigned_abs()));
        Some(more.map_or(0, |more| more.saturating_add(1)))
    }

    /// Refuses elements that are after the end of a source that was cut off.
    #[doc(hidden)]
    pub fn check_present(&self) -> Result<()> {
        let there = self.source.available_len();
        if there >= self.source.len() {
            return Ok(());
        }
        let item = self.datatype.item_size();
        shape::element_byte_range(self.offset, &self.shape, &self.strides, item, there).map(drop).map_err(|error| {
            let all = self.shape.first().copied().unwrap_or(1);
            // The end of the file itself, below sources that are made of it.
            let mut file: &dyn Source = &*self.source;
            while let Some(origin) = file.origin().filter(|_| file.available_len() < file.len()) {
                file = origin.source();
            }
            let (name, end) = (file.name(), file.len());
            match self.rows_within(there) {
                None | Some(0) => error.hint(format!("{name} is truncated at byte {end}, or not the file that is described")),
                Some(rows) => Error::new(error.kind(), format!("{name} is truncated at byte {end}: {}", error.message()))
                    .hint(format!("{rows} of {} can be read as a slice", count_noun(all, "row"))),
            }
        })
    }

    pub(super) fn charge_overlap(&self) -> Result<()> {
        self.check_present()?;
        let (bytes, limit) = (self.nbytes(), self.limits.overlap);
        if bytes > limit && bytes > self.source.len() {
            let len = self.source.len();
            let what = format_args!("an array of {bytes} bytes with overlapping elements is made of {len}");
            return Err(Limits::exceeded_error("overlap", limit, what));
        }
        Ok(())
    }
}

impl fmt::Debug for Array {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Array")
            .field("source", &self.source.name())
            .field("offset", &self.offset)
            .field("datatype", &format_args!("{}", self.datatype))
            .field("byteorder", &self.byteorder)
            .field("shape", &self.shape)
            .field("strides", &self.strides)
            .field("mask", &self.mask)
            .finish_non_exhaustive()
    }
}
