//! Borrowed elements as views of the `ndarray` crate.

use ndarray::{ArrayD, ArrayViewD, Axis, IxDyn, ShapeBuilder};

use super::datatype::Byteorder;
use super::element::ArrayElement;
use super::handle::Array;
use crate::bytes::to_usize;
use crate::error::{Error, Result};

impl Array {
    /// The elements where they are, at whatever strides, without a copy.
    ///
    /// Nothing if they are not of the datatype that `T` holds, not in the byte order of this
    /// machine, not aligned, not in memory, or repeated by strides of 0.
    ///
    /// ```
    /// use trilith_array::array::Array;
    /// let array = Array::from_slice(&[1f64, 2.0, 3.0, 4.0], &[2, 2])?;
    /// let across = array.transpose(None)?;
    /// assert_eq!(across.as_ndarray::<f64>().unwrap()[[0, 1]], 3.0);
    /// # Ok::<(), trilith_array::Error>(())
    /// ```
    pub fn as_ndarray<T: ArrayElement>(&self) -> Option<ArrayViewD<'_, T>> {
        let native = self.byteorder == Byteorder::NATIVE || size_of::<T>() == 1;
        if self.datatype != T::DATATYPE || !native {
            return None;
        }
        let shape: Vec<usize> = self.shape.iter().map(|len| usize::try_from(*len).ok()).collect::<Option<_>>()?;
        if self.is_empty() {
            return ArrayViewD::from_shape(IxDyn(&shape), &[]).ok();
        }
        let extent = self.byte_range();
        let elements = T::view(self.source.view(extent.start, extent.end - extent.start)?)?;
        let size = size_of::<T>() as u64;
        let stride = |(len, stride): (&u64, &i64)| {
            let distance = stride.unsigned_abs();
            // Along an axis of one index no stride is used, and ndarray refuses one that looks repeated.
            if *len == 1 { Some(1) } else { usize::try_from(distance / size).ok().filter(|_| distance.is_multiple_of(size)) }
        };
        let strides: Vec<usize> = self.shape.iter().zip(&self.strides).map(stride).collect::<Option<_>>()?;
        let mut view = ArrayViewD::from_shape(IxDyn(&shape).strides(IxDyn(&strides)), elements).ok()?;
        // The view starts at the lowest element; axes that run backwards are turned round.
        for (axis, stride) in self.strides.iter().enumerate() {
            if *stride < 0 && shape[axis] > 1 {
                view.invert_axis(Axis(axis));
            }
        }
        Some(view)
    }

    /// A copy of the elements as an owned array of the `ndarray` crate, in C order.
    ///
    /// # Errors
    /// Returns the errors of [`Array::load`].
    pub fn to_ndarray<T: ArrayElement>(&self) -> Result<ArrayD<T>> {
        self.elements_to_ndarray(self.load()?)
    }

    /// Does the same as [`Array::to_ndarray`], converted to `T`. It is an error if a number does not fit.
    ///
    /// ```
    /// use trilith_array::Array;
    /// let array = Array::from_slice(&[1i16, 2], &[2])?;
    /// assert_eq!(array.to_ndarray_as::<f64>()?.sum(), 3.0);
    /// # Ok::<(), trilith_array::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`Array::load_as`].
    pub fn to_ndarray_as<T: ArrayElement>(&self) -> Result<ArrayD<T>> {
        self.elements_to_ndarray(self.load_as()?)
    }

    /// Elements in C order, in the shape of this array.
    fn elements_to_ndarray<T>(&self, elements: Vec<T>) -> Result<ArrayD<T>> {
        let shape: Vec<usize> = self.shape.iter().map(|len| to_usize(*len)).collect::<Result<_>>()?;
        ArrayD::from_shape_vec(IxDyn(&shape), elements).map_err(|e| Error::unsupported(e.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::Index;

    #[test]
    fn strided_views_equal_copies() {
        let numbers: Vec<i32> = (0..60).collect();
        let cube = Array::from_slice(&numbers, &[3, 4, 5]).unwrap();
        for list in ["...", "::-1", "1:,::-2,1", "0,0:0", "::2,:,::-1", "2:3,1:2,3:4", "-1,-1,-1"] {
            let part = cube.slice(Index::parse_list(list).unwrap()).unwrap();
            for part in [part.transpose(None).unwrap(), part] {
                let view = part.as_ndarray::<i32>().unwrap_or_else(|| panic!("no view of {list}"));
                assert_eq!(view, part.to_ndarray::<i32>().unwrap(), "{list}");
            }
        }
        assert!(cube.as_ndarray::<u32>().is_none());
        let repeated = Array::from_slice(&[1i32], &[1]).unwrap().broadcast_to(&[3]).unwrap();
        assert!(repeated.as_ndarray::<i32>().is_none_or(|view| view.len() == 3));
    }
}
