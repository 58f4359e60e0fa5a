//! Masks: the elements that do not count ([`Mask`]).

use std::sync::Arc;

use super::datatype::{Byteorder, Datatype};
use super::handle::Array;
use super::numeric;
use crate::bytes::to_usize;
use crate::error::{Error, Result};

/// A mark for missing elements (ndarray-1.1.0, `mask`).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Mask {
    /// Elements that are not a number.
    Nan,
    /// Elements equal to this whole number.
    Integer(i128),
    /// Elements equal to this number, after it is rounded to their precision.
    Float(f64),
    /// Elements equal to this complex number (re, im), after it is rounded to their precision.
    Complex(f64, f64),
    /// Masks the elements for which this array of booleans or numbers is not zero. It is broadcast to the array's
    /// shape. For structures it may have structures of the same fields, with a boolean for each value.
    Array(Arc<Array>),
}

impl Mask {
    /// The mask of this array.
    pub(super) fn checked_for(self, array: &Array) -> Result<Self> {
        let shape = array.shape();
        match self {
            Self::Array(mask) => {
                let datatype = mask.datatype();
                let is_by_field = datatype.as_struct().is_some() && datatype.is_equivalent(&array.datatype.flags()?);
                if !is_by_field
                    && *datatype != Datatype::Bool8
                    && !datatype.is_integer()
                    && !datatype.is_float()
                    && !datatype.is_complex()
                {
                    return Err(Error::malformed(format!("a mask of datatype {datatype}, expected bool8 or numbers")));
                }
                let mask = mask.broadcast_to(shape).map_err(|_| {
                    Error::malformed(format!("a mask of shape {:?} for an array of shape {shape:?}", mask.shape()))
                })?;
                Ok(Self::Array(Arc::new(mask)))
            }
            Self::Float(value) if value.is_nan() => Ok(Self::Nan),
            Self::Complex(re, im) if re.is_nan() || im.is_nan() => Ok(Self::Nan),
            other => Ok(other),
        }
    }

    /// Returns `true` if it has a boolean for each value of a structure.
    pub(super) fn is_by_field(&self) -> bool {
        matches!(self, Self::Array(mask) if mask.datatype().as_struct().is_some())
    }

    /// Returns `true` if it is an array of single bytes, which are stored booleans.
    fn is_of_bytes(&self) -> bool {
        let Self::Array(mask) = self else { return false };
        matches!(mask.datatype(), Datatype::Bool8 | Datatype::Uint8 | Datatype::Int8)
    }

    /// The mask after the same operation on its array, if it is one.
    pub(super) fn map_array(&self, f: impl FnOnce(&Array) -> Result<Array>) -> Result<Self> {
        match self {
            Self::Array(mask) => Ok(Self::Array(Arc::new(f(mask)?))),
            other => Ok(other.clone()),
        }
    }
}

impl Array {
    /// The array with another mask in addition to the one that it has, as inline data have of their nulls.
    ///
    /// # Errors
    /// Returns the errors of [`Array::with_mask`] and [`Array::mask_bytes`].
    pub fn or_mask(self, mask: Mask) -> Result<Self> {
        let Some(mut marks) = self.mask_bytes()? else { return self.with_mask(mask) };
        let array = self.with_mask(mask)?;
        let others = array.mask_bytes()?.unwrap_or_default();
        marks.iter_mut().zip(others).for_each(|(mark, other)| *mark |= other);
        let marks = Self::from_bytes(marks, Datatype::Bool8, Byteorder::Little, array.shape.clone())?;
        array.with_mask(Mask::Array(Arc::new(marks)))
    }

    /// Returns the number of masked elements. For structures with a mask for each field it counts their values.
    ///
    /// ```
    /// use trilith_array::array::{Array, Mask};
    /// let array = Array::from_slice(&[1i32, -1, -1], &[3])?.with_mask(Mask::Integer(-1))?;
    /// assert_eq!(array.masked_count()?, 2);
    /// # Ok::<(), trilith_array::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`Array::for_each_mask_piece`].
    pub fn masked_count(&self) -> Result<u64> {
        let mut count = 0;
        self.for_each_mask_piece(1 << 18, |piece| {
            count += piece.iter().map(|masked| u64::from(*masked)).sum::<u64>();
            Ok(())
        })?;
        Ok(count)
    }

    /// Checks that no element is masked, for a `place` that cannot store a mask. Masked elements would otherwise be taken for
    /// data.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) if elements are masked, and the errors of
    /// [`Array::masked_count`].
    pub fn check_unmasked(&self, place: &str) -> Result<()> {
        if self.masked_count()? == 0 {
            return Ok(());
        }
        Err(Error::unsupported(format!("masks have no place in {place}")).hint("store the mask as a separate array"))
    }

    /// The mask as an array of `bool8` of this array's shape; nothing if there is no mask. A mask with a boolean for each
    /// field is an array of structures of `bool8`.
    ///
    /// A mask by value reads the elements, and an array of numbers as mask is read too; one of single bytes is
    /// broadcast without reading it.
    ///
    /// # Errors
    /// Returns the errors of [`Array::mask_bytes`].
    pub fn mask_array(&self) -> Result<Option<Self>> {
        if let Some(Mask::Array(mask)) = self.mask.as_ref().filter(|mask| mask.is_of_bytes()) {
            return Ok(Some(Self { datatype: Datatype::Bool8, ..(**mask).clone() }));
        }
        if let Some(Mask::Array(mask)) = self.mask.as_ref().filter(|mask| mask.is_by_field()) {
            return Ok(Some((**mask).clone()));
        }
        let Some(bytes) = self.mask_bytes()? else { return Ok(None) };
        Self::from_bytes(bytes, Datatype::Bool8, Byteorder::Little, self.shape.clone()).map(Some)
    }

    /// The mask as one byte 0 or 1 for each element in C order; nothing if there is no mask. Structures with a mask for
    /// each field have one byte for each of their values.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for a mask by value of elements that are
    /// not numbers, [`ErrorKind::Limit`](crate::ErrorKind::Limit) if the limits do not allow its size, and the
    /// errors of [`Array::load`].
    pub fn mask_bytes(&self) -> Result<Option<Vec<u8>>> {
        if self.mask.is_none() {
            return Ok(None);
        }
        self.limits.charge_memory(self.element_count().saturating_mul(self.mask_bytes_per_element()), "a mask")?;
        let mut bytes = Vec::new();
        self.for_each_mask_piece(1 << 18, |piece| {
            bytes.extend_from_slice(piece);
            Ok(())
        })?;
        Ok(Some(bytes))
    }

    /// Returns how many bytes of a mask an element has: 1, or one for each value of a structure.
    pub fn mask_bytes_per_element(&self) -> u64 {
        match &self.mask {
            Some(Mask::Array(mask)) if mask.datatype().as_struct().is_some() => mask.datatype().packed_size(),
            _ => 1,
        }
    }

    /// Gives the mask to `take`, one byte 0 or 1 for each element in C order, in pieces of at most
    /// `max_elements`; nothing if there is no mask. Structures with a mask for each field have one byte for each value.
    ///
    /// # Errors
    /// Returns the errors of [`Array::mask_bytes`], and those of `take`.
    pub fn for_each_mask_piece(&self, max_elements: usize, mut take: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        match &self.mask {
            None => Ok(()),
            Some(Mask::Array(mask)) => {
                self.charge_overlap()?;
                // A mask of one element may be spread over all of an honest array.
                let mut limits = (*self.limits).clone();
                limits.overlap = limits.overlap.max(self.nbytes()).max(mask.nbytes());
                let mut mask = Self { limits: Arc::new(limits), mask: None, ..(**mask).clone() };
                if matches!(mask.datatype, Datatype::Uint8 | Datatype::Int8) {
                    mask.datatype = Datatype::Bool8;
                }
                if mask.datatype == Datatype::Bool8 {
                    return mask.for_each_piece(max_elements, take);
                }
                if mask.datatype.as_struct().is_some() {
                    let size = max_elements.max(1).saturating_mul(to_usize(mask.datatype.packed_size())?.max(1));
                    return mask.for_each_piece(size, take);
                }
                mask.for_each_truth(max_elements, &mut take)
            }
            Some(mask) => {
                // Said even where there are no elements.
                numeric::append_mask(&self.datatype, mask, &[], &mut Vec::new())?;
                let mut marks = Vec::new();
                let size = max_elements.max(1).saturating_mul(self.datatype.packed_size().max(1) as usize);
                self.for_each_piece_in(Byteorder::NATIVE, size, &mut |elements| {
                    marks.clear();
                    numeric::append_mask(&self.datatype, mask, elements, &mut marks)?;
                    take(&marks)
                })
            }
        }
    }

    /// Gives one byte for each number, in pieces of at most `max_elements`: 1 if it is not zero.
    fn for_each_truth(&self, max_elements: usize, take: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let size = max_elements.max(1).saturating_mul(self.datatype.packed_size().max(1) as usize);
        let mut marks = Vec::new();
        self.for_each_piece_in(Byteorder::NATIVE, size, &mut |elements| {
            marks.clear();
            numeric::append_mask(&self.datatype, &Mask::Integer(0), elements, &mut marks)?;
            marks.iter_mut().for_each(|is_zero| *is_zero ^= 1);
            take(&marks)
        })
    }
}
