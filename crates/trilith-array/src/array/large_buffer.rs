//! Elements in large fresh memory: [`Array::load_pages`].

use std::fmt;
use std::ops::{Deref, DerefMut};

use super::element::ArrayElement;
use super::handle::Array;
use crate::bytes::{HugePageBuffer, large_pages, to_usize};
use crate::error::Result;

/// Elements in separate memory: a slice of `T`, on large pages if the system has them.
pub struct LargeBuffer<T>(Memory<T>);

enum Memory<T> {
    Vec(Vec<T>),
    Map(HugePageBuffer),
}

impl<T: ArrayElement> LargeBuffer<T> {
    /// Allocates this many elements, all of them zero bytes.
    fn allocate_zeroed(count: usize) -> Result<Self> {
        let size = count.saturating_mul(size_of::<T>());
        if T::ANY_BITS_VALID
            && let Some(map) = large_pages(size)
        {
            return Ok(Self(Memory::Map(map)));
        }
        T::zeroed(count).map(|elements| Self(Memory::Vec(elements)))
    }

    /// The elements as a `Vec`, copied if they are in large pages.
    pub fn into_vec(self) -> Vec<T> {
        match self.0 {
            Memory::Vec(elements) => elements,
            Memory::Map(_) => self.to_vec(),
        }
    }
}

impl<T: ArrayElement> Deref for LargeBuffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match &self.0 {
            Memory::Vec(elements) => elements,
            Memory::Map(map) => T::view(map).unwrap_or_default(),
        }
    }
}

impl<T: ArrayElement> DerefMut for LargeBuffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        match &mut self.0 {
            Memory::Vec(elements) => elements,
            Memory::Map(map) => T::view_mut(map).unwrap_or_default(),
        }
    }
}

impl<T: ArrayElement + fmt::Debug> fmt::Debug for LargeBuffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl Array {
    /// [`Array::load`] into large pages: several times faster for arrays of many megabytes.
    ///
    /// ```
    /// use trilith_array::array::Array;
    /// let pages = Array::from_slice(&[1f32, 2.0], &[2])?.load_pages::<f32>()?;
    /// assert_eq!(pages[1], 2.0);
    /// # Ok::<(), trilith_array::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`Array::load`].
    pub fn load_pages<T: ArrayElement>(&self) -> Result<LargeBuffer<T>> {
        self.ensure_datatype::<T>()?;
        self.charge()?;
        let mut pages = LargeBuffer::allocate_zeroed(to_usize(self.element_count())?)?;
        self.read_into(&mut pages)?;
        Ok(pages)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loaded_elements_eq_vec() {
        let numbers: Vec<f64> = (0..2u32 << 20).map(f64::from).collect();
        let array = Array::from_slice(&numbers, &[2, 1 << 20]).unwrap();
        let pages = array.load_pages::<f64>().unwrap();
        assert!(matches!(pages.0, Memory::Map(_)));
        assert!(pages[..] == numbers[..] && pages.into_vec() == numbers);
        let truths = Array::from_slice(&vec![true; 8 << 20], &[8 << 20]).unwrap();
        assert!(truths.load_pages::<bool>().unwrap().iter().all(|x| *x));
    }
}
