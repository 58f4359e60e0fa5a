//! Parts of an array without reading it: slices, fields, other orders of the axes.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::datatype::Datatype;
use super::handle::Array;
use super::mask::Mask;
use super::shape;
use super::struct_type::Field;
use crate::error::{Error, Result};

/// The index of one axis, with the meaning that it has in Python and numpy.
///
/// ```
/// use trilith_array::array::{Array, Index};
/// let array = Array::from_slice(&[0i32, 1, 2, 3, 4, 5], &[2, 3])?;
/// let part = array.slice(&Index::parse_list("1,::-2")?)?;
/// assert_eq!(part.shape(), [2]);
/// assert_eq!(part.load::<i32>()?, [5, 3]);
/// # Ok::<(), trilith_array::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Index {
    /// A single index, counted from the end if it is negative; it removes the axis.
    Integer(i64),
    /// `start:stop:step`; what is missing means everything in the direction of the step.
    Slice {
        /// The first index, from the end if negative.
        start: Option<i64>,
        /// The index before which to stop, from the end if negative.
        stop: Option<i64>,
        /// Distance from one index to the next, not 0.
        step: i64,
    },
    /// `...`: all of as many axes as the others leave.
    Ellipsis,
}

impl Index {
    /// Selects a whole axis.
    pub const ALL: Self = Self::Slice { start: None, stop: None, step: 1 };

    /// Reads a list such as `0:10,5,::2` or `...,-1`; brackets around it may stay.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if the text is not a list of indices.
    pub fn parse_list(text: &str) -> Result<Vec<Self>> {
        let text = text.trim();
        let text = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')).unwrap_or(text);
        if text.trim().is_empty() {
            return Ok(Vec::new());
        }
        // A list may end with one comma, as in Python.
        text.trim().strip_suffix(',').unwrap_or(text).split(',').map(Self::from_str).collect()
    }
}

macro_rules! indices {
    ($($type:ty),+) => {
        $(impl From<$type> for Index {
            fn from(at: $type) -> Self {
                Self::Integer(i64::from(at))
            }
        }

        impl From<std::ops::Range<$type>> for Index {
            fn from(range: std::ops::Range<$type>) -> Self {
                Self::Slice { start: Some(range.start.into()), stop: Some(range.end.into()), step: 1 }
            }
        }

        impl From<std::ops::RangeFrom<$type>> for Index {
            fn from(range: std::ops::RangeFrom<$type>) -> Self {
                Self::Slice { start: Some(range.start.into()), stop: None, step: 1 }
            }
        }

        impl From<std::ops::RangeTo<$type>> for Index {
            fn from(range: std::ops::RangeTo<$type>) -> Self {
                Self::Slice { start: None, stop: Some(range.end.into()), step: 1 }
            }
        })+
    };
}

indices!(i32, i64, u32);

impl From<std::ops::RangeFull> for Index {
    fn from(_: std::ops::RangeFull) -> Self {
        Self::ALL
    }
}

impl Index {
    /// Returns the range with this step; an index stays unchanged.
    #[must_use]
    pub fn with_step(self, step: i64) -> Self {
        match self {
            Self::Slice { start, stop, .. } => Self::Slice { start, stop, step },
            other => other,
        }
    }
}

/// Indices for [`Array::slice`](crate::Array::slice), one for each axis: `s![0..10, 5, .., ..;2, -1]`. Negative numbers
/// count from the end, `;` gives a step.
///
/// ```
/// use trilith_array::{Array, s};
/// let array = Array::from_slice(&(0..12).collect::<Vec<i32>>(), &[3, 4])?;
/// assert_eq!(array.slice(s![1.., ..;2])?.load::<i32>()?, [4, 6, 8, 10]);
/// assert_eq!(array.slice(s![-1, 1..3])?.load::<i32>()?, [9, 10]);
/// assert_eq!(array.slice(s![..;-2, 0])?.load::<i32>()?, [8, 0]);
/// # Ok::<(), trilith_array::Error>(())
/// ```
#[macro_export]
macro_rules! s {
    (@list [$($done:expr,)*]) => { [$($done),*] };
    (@list [$($done:expr,)*] $at:expr; $step:expr, $($rest:tt)*) => {
        $crate::s![@list [$($done,)* $crate::Index::from($at).with_step($step),] $($rest)*]
    };
    (@list [$($done:expr,)*] $at:expr; $step:expr) => { $crate::s![@list [$($done,)* $crate::Index::from($at).with_step($step),]] };
    (@list [$($done:expr,)*] $at:expr, $($rest:tt)*) => { $crate::s![@list [$($done,)* $crate::Index::from($at),] $($rest)*] };
    (@list [$($done:expr,)*] $at:expr) => { $crate::s![@list [$($done,)* $crate::Index::from($at),]] };
    ($($rest:tt)*) => { $crate::s![@list [] $($rest)*] };
}

impl FromStr for Index {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let text = text.trim();
        let wrong =
            || Error::invalid_input(format!("{text:?} is not an index")).hint("write 5, 0:10, ::2 or ..., one for each axis");
        let number = |part: &str| match part.trim() {
            "" => Ok(None),
            digits => digits.parse::<i64>().map(Some).map_err(|_| wrong()),
        };
        if text == "..." {
            return Ok(Self::Ellipsis);
        }
        let parts: Vec<&str> = text.split(':').collect();
        match parts[..] {
            [at] => number(at)?.map(Self::Integer).ok_or_else(wrong),
            [start, stop] => Ok(Self::Slice { start: number(start)?, stop: number(stop)?, step: 1 }),
            [start, stop, step] => {
                let step = number(step)?.unwrap_or(1);
                if step == 0 {
                    return Err(Error::invalid_input(format!("the step of {text:?} is 0")));
                }
                Ok(Self::Slice { start: number(start)?, stop: number(stop)?, step })
            }
            _ => Err(wrong()),
        }
    }
}

impl fmt::Display for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Integer(at) => at.fmt(f),
            Self::Ellipsis => f.write_str("..."),
            Self::Slice { start, stop, step } => {
                start.map_or(Ok(()), |n| n.fmt(f))?;
                f.write_str(":")?;
                stop.map_or(Ok(()), |n| n.fmt(f))?;
                if step == 1 { Ok(()) } else { write!(f, ":{step}") }
            }
        }
    }
}

/// The first index and the number of indices of `start:stop:step` on an axis of `len`.
fn resolve_index_range(start: Option<i64>, stop: Option<i64>, step: i64, len: u64) -> (u64, u64) {
    let (len, step) = (i128::from(len), i128::from(step));
    // Outermost stop: after the last index, or before the first.
    let (low, high) = if step > 0 { (0, len) } else { (-1, len - 1) };
    let clamp = |at: i64| (if at < 0 { i128::from(at) + len } else { i128::from(at) }).clamp(low, high);
    let start = start.map_or(if step > 0 { low } else { high }, clamp);
    let stop = stop.map_or(if step > 0 { high } else { low }, clamp);
    let span = if step > 0 { stop - start } else { start - stop };
    if span <= 0 {
        return (0, 0);
    }
    let count = (span - 1) / step.abs() + 1;
    (u64::try_from(start).unwrap_or(0), u64::try_from(count).unwrap_or(0))
}

/// The part of one axis that an index takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AxisSelection {
    /// The first index.
    pub start: u64,
    /// Number of indices.
    pub count: u64,
    /// The distance between two indices.
    pub step: i64,
    /// `true` if the part has the axis, too.
    pub keeps_axis: bool,
}

/// Returns the part that the indices take of each axis of an array of this shape.
///
/// # Errors
/// Returns the errors of [`Array::slice`].
pub fn resolve_axes(shape: &[u64], indices: &[Index]) -> Result<Vec<AxisSelection>> {
    let given = indices.iter().filter(|index| **index != Index::Ellipsis).count();
    let axes = shape.len();
    if given > axes {
        return Err(Error::invalid_input(match (given, axes) {
            (_, 0) => "this is a single value, which has no axes to slice".to_owned(),
            (_, 1) => format!("{given} indices for an array of 1 axis (shape {shape:?})"),
            _ => format!("{given} indices for an array of {axes} axes (shape {shape:?})"),
        }));
    }
    if indices.len() > given + 1 {
        return Err(Error::invalid_input("an index list may have one `...` only"));
    }
    let before = indices.iter().position(|index| *index == Index::Ellipsis).unwrap_or(indices.len());
    let mut full: Vec<Index> = indices[..before].to_vec();
    full.resize(before + axes - given, Index::ALL);
    full.extend(indices.iter().skip(before + 1));
    full.iter().zip(shape).enumerate().map(|(axis, (index, len))| index.resolve_axis(axis, *len)).collect()
}

impl Index {
    /// Returns the part that it takes of an axis of this length.
    fn resolve_axis(self, axis: usize, len: u64) -> Result<AxisSelection> {
        match self {
            Self::Integer(at) => {
                let inside = if at < 0 { i128::from(at) + i128::from(len) } else { i128::from(at) };
                match u64::try_from(inside).ok().filter(|inside| *inside < len) {
                    Some(first) => Ok(AxisSelection { start: first, count: 1, step: 1, keeps_axis: false }),
                    None => Err(Error::invalid_input(format!("index {at} is outside axis {axis} of length {len}"))),
                }
            }
            Self::Slice { step: 0, .. } => Err(Error::invalid_input("the step of an index is 0")),
            Self::Slice { start, stop, step } => {
                let (first, count) = resolve_index_range(start, stop, step, len);
                Ok(AxisSelection { start: first, count, step, keeps_axis: true })
            }
            Self::Ellipsis => Ok(AxisSelection { start: 0, count: len, step: 1, keeps_axis: true }),
        }
    }
}

impl Array {
    /// A part of the array, as numpy's basic indexing takes it; axes without an index are taken whole.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for too many indices, two ellipses, or an index
    /// outside its axis.
    pub fn slice(&self, indices: impl AsRef<[Index]>) -> Result<Self> {
        let indices = indices.as_ref();
        let (mut offset, mut shape, mut strides) = (i128::from(self.offset), Vec::new(), Vec::new());
        for (taken, stride) in resolve_axes(&self.shape, indices)?.iter().zip(&self.strides) {
            if taken.count > 0 {
                offset += i128::from(taken.start) * i128::from(*stride);
            }
            if taken.keeps_axis {
                shape.push(taken.count);
                // The stride of an axis of one index is never used, so it may not overflow either.
                let far = i128::from(*stride) * i128::from(taken.step);
                strides.push(if taken.count > 1 { i64::try_from(far).unwrap_or(0) } else { *stride });
            }
        }
        // An empty array stays where it was: its corners may be anywhere.
        let offset =
            if self.is_empty() || shape.contains(&0) { self.offset } else { u64::try_from(offset).unwrap_or(self.offset) };
        let mask = self.map_mask(|mask| mask.slice(indices))?;
        Self { offset, shape, strides, mask, ..self.metadata_only() }.check_bounds()
    }

    /// One element as an array without axes.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if there are not as many indices as axes or one is
    /// outside.
    pub fn scalar_at(&self, index: &[u64]) -> Result<Self> {
        if index.len() != self.shape.len() {
            return Err(Error::invalid_input(format!("{} indices for an array of {} axes", index.len(), self.shape.len())));
        }
        let index: Vec<Index> = index.iter().map(|at| Index::Integer(i64::try_from(*at).unwrap_or(i64::MAX))).collect();
        self.slice(&index)
    }

    /// The rows `start..start + count` of the first axis.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if there are no such rows.
    pub fn rows(&self, start: u64, count: u64) -> Result<Self> {
        match (self.shape.first(), start.checked_add(count)) {
            (Some(len), Some(stop)) if stop <= *len => {
                let bound = |n| i64::try_from(n).unwrap_or(i64::MAX);
                self.slice([Index::Slice { start: Some(bound(start)), stop: Some(bound(stop)), step: 1 }])
            }
            _ => Err(Error::invalid_input(format!("{count} rows from row {start} on of an array of shape {:?}", self.shape))),
        }
    }

    /// Returns one field of a structured array. A path `outer.inner` selects a field of a struct in it.
    ///
    /// If a field is an array, its axes come last. Fields without a name are `f0`, `f1`, … by their position. The result has no
    /// mask by value, because such a mask is about whole elements.
    ///
    /// # Errors
    /// Returns [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) if there is no such field, and
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if the elements are not structures.
    pub fn field(&self, name: &str) -> Result<Self> {
        let Some(fields) = self.datatype.as_struct() else {
            return Err(Error::invalid_input(format!("an array of {} has no field {name:?}", self.datatype)));
        };
        // Names are compared without copies: there may be tens of thousands of fields, and a caller may look up all of them.
        let named = |name: &str| {
            fields.fields().iter().enumerate().find(|(i, field)| match &field.name {
                Some(own) => own == name,
                None => field.name_or(*i) == name,
            })
        };
        // A dot may be part of a name: the longest name that fits wins.
        let mut splits = std::iter::once(name.len()).chain(name.rmatch_indices('.').map(|(at, _)| at));
        let Some((end, (position, field))) = splits.find_map(|end| named(&name[..end]).map(|found| (end, found))) else {
            let known: Vec<String> = fields.fields().iter().enumerate().map(|(i, field)| field.name_or(i)).collect();
            return Err(
                Error::not_found(format!("there is no field {name:?}")).hint(format!("the fields are {}", known.join(", ")))
            );
        };
        let array = self.field_with_mask(position, field)?;
        match name.get(end + 1..) {
            Some(rest) => array.field(rest),
            None => Ok(array),
        }
    }

    /// [`Array::field`] by its place among the fields.
    ///
    /// # Errors
    /// Returns the errors of [`Array::field`].
    #[doc(hidden)]
    pub fn field_at(&self, position: usize) -> Result<Self> {
        let field = self.datatype.as_struct().and_then(|fields| fields.fields().get(position));
        let field = field.ok_or_else(|| Error::not_found(format!("there is no field with the number {position}")))?;
        self.field_with_mask(position, field)
    }

    /// Returns one field as an array with its part of the mask.
    fn field_with_mask(&self, position: usize, field: &Field) -> Result<Self> {
        let part = self.unmasked_field(field)?;
        let shape = part.shape.clone();
        let mask = match &self.mask {
            Some(Mask::Array(mask)) if mask.datatype.as_struct().is_some() => {
                let part = mask.datatype.as_struct().and_then(|flags| flags.fields().get(position));
                part.map(|part| mask.unmasked_field(part).map(|part| Mask::Array(Arc::new(part)))).transpose()?
            }
            Some(Mask::Array(mask)) => {
                let mut strides = mask.strides.clone();
                strides.resize(shape.len(), 0);
                let wide = Self { shape: shape.clone(), strides, ..(**mask).clone() }.check_bounds()?;
                Some(Mask::Array(Arc::new(wide)))
            }
            _ => None,
        };
        Ok(Self { mask, is_void: self.is_void, ..part })
    }

    /// Returns one field as an array without a mask.
    fn unmasked_field(&self, field: &Field) -> Result<Self> {
        let (mut shape, mut strides) = (self.shape.clone(), self.strides.clone());
        shape.extend_from_slice(&field.shape);
        strides.extend(shape::c_strides(&field.shape, field.datatype.item_size())?);
        let offset = if self.is_empty() { self.offset } else { self.offset.saturating_add(field.offset) };
        let (datatype, byteorder) = (field.datatype.clone(), field.byteorder);
        Self { offset, datatype, byteorder, shape, strides, is_void: false, ..self.metadata_only() }.check_bounds()
    }

    /// The axes in another order; all of them turned round if none is given.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if `order` does not name every axis once.
    pub fn transpose(&self, order: Option<&[usize]>) -> Result<Self> {
        let axes = self.shape.len();
        let order: Vec<usize> = order.map_or_else(|| (0..axes).rev().collect(), <[usize]>::to_vec);
        let mut sorted = order.clone();
        sorted.sort_unstable();
        if !sorted.into_iter().eq(0..axes) {
            return Err(Error::invalid_input(format!("{order:?} is not an order of {axes} axes")));
        }
        let mask = self.map_mask(|mask| mask.transpose(Some(&order)))?;
        let shape = order.iter().map(|axis| self.shape[*axis]).collect();
        let strides = order.iter().map(|axis| self.strides[*axis]).collect();
        Self { shape, strides, mask, ..self.metadata_only() }.check_bounds()
    }

    /// The array as one of this shape that repeats along new axes and those of length 1.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if the shapes do not fit.
    pub fn broadcast_to(&self, shape: &[u64]) -> Result<Self> {
        let wrong = || Error::invalid_input(format!("an array of shape {:?} cannot be broadcast to {shape:?}", self.shape));
        let new = shape.len().checked_sub(self.shape.len()).ok_or_else(wrong)?;
        let mut strides = vec![0; new];
        for ((have, want), stride) in self.shape.iter().zip(&shape[new..]).zip(&self.strides) {
            match (*have, *want) {
                (have, want) if have == want => strides.push(*stride),
                (1, _) => strides.push(0),
                _ => return Err(wrong()),
            }
        }
        let mask = self.map_mask(|mask| mask.broadcast_to(shape))?;
        Self { shape: shape.to_vec(), strides, mask, ..self.metadata_only() }.check_bounds()
    }

    /// Returns the elements, which must be in C order, in another shape.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if the number of elements differs or they are not
    /// in C order.
    pub fn reshape(&self, shape: &[u64]) -> Result<Self> {
        if shape::element_count(shape)? != self.element_count() {
            return Err(Error::invalid_input(format!("an array of shape {:?} cannot take the shape {shape:?}", self.shape)));
        }
        if !self.is_c_contiguous() {
            return Err(Error::invalid_input("only a C-contiguous array can be reshaped without a copy"));
        }
        let mask = match &self.mask {
            Some(Mask::Array(mask)) if !mask.is_c_contiguous() => {
                let bytes = self.mask_bytes()?.unwrap_or_default();
                let datatype =
                    if mask.datatype.as_struct().is_some() { mask.datatype.packed(self.byteorder) } else { Datatype::Bool8 };
                let flat = Self::from_bytes(bytes, datatype, self.byteorder, shape.to_vec())?;
                Some(Mask::Array(Arc::new(flat)))
            }
            _ => self.map_mask(|mask| mask.reshape(shape))?,
        };
        let strides = shape::c_strides(shape, self.datatype.item_size())?;
        Self { shape: shape.to_vec(), strides, mask, ..self.metadata_only() }.check_bounds()
    }

    fn map_mask(&self, f: impl FnOnce(&Self) -> Result<Self>) -> Result<Option<Mask>> {
        self.mask.as_ref().map(|mask| mask.map_array(f)).transpose()
    }

    /// Copies source, datatype and limits. Shape, strides and mask are left empty.
    pub(super) fn metadata_only(&self) -> Self {
        Self {
            source: Arc::clone(&self.source),
            chunking: self.chunking.clone(),
            datatype: self.datatype.clone(),
            limits: Arc::clone(&self.limits),
            item: self.item.clone(),
            shape: Vec::new(),
            strides: Vec::new(),
            mask: None,
            ..*self
        }
    }
}
