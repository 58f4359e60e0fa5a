//! Lazy n-dimensional arrays over any source of bytes: slices, masks, structs, scaling and chunk grids.
//!
//! An [`Array`] is a source of bytes, an offset, a [`Datatype`], a shape, strides, a byte order and a mask. A slice is another such
//! description, and no byte is read until you ask for elements.
//!
//! ```
//! use trilith_array::{Array, s};
//! let image = Array::from_slice(&[1i32, 2, 3, 4, 5, 6], &[2, 3])?;
//! let column = image.slice(s![.., 1])?;
//! assert_eq!(column.load::<i32>()?, [2, 5]);
//! # Ok::<(), trilith_array::Error>(())
//! ```

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod array;

pub use array::{Array, Datatype, Index};
pub use trilith_io::{Diagnostic, Error, ErrorKind, Limits, Location, Result, Span};
use trilith_io::{byteorder, bytes, error, index, limits, threads};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
