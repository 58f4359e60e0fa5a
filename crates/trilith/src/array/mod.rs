//! Arrays: what they are made of, how parts of them are taken, and how their elements come out.
//!
//! An [`Array`] is a source of bytes, an offset, a [`Datatype`], a [`Byteorder`], a shape, strides
//! and perhaps a [`Mask`]. It knows nothing of trees, blocks and codecs: a decoded block is a source
//! like any other.
//!
//! Elements leave an array in four ways: copied as numbers ([`Array::load`], [`Array::load_as`]),
//! copied as packed bytes ([`Array::read_bytes`]), borrowed ([`Array::view`]), or piece by piece as
//! canonical bytes ([`Array::for_each_piece`]), which is what digests are made of.

mod applied;
mod by_pieces;
mod chunking;
mod csv;
mod datatype;
mod element;
mod encode;
mod fetch;
mod gather;
pub(crate) mod grid;
mod handle;
mod index;
mod kept;
mod literal;
mod manifest;
mod mask;
pub(crate) mod meaning;
mod npy;
mod number;
mod pages;
mod program;
mod ragged;
mod scalar;
mod shape;
pub(crate) mod small;
mod stack;
mod structure;
#[cfg(test)]
mod tests;
mod text;
mod tiles;
mod turn;
#[cfg(feature = "ndarray")]
mod view;

pub(crate) use applied::physical;
pub use datatype::{Byteorder, Datatype};
pub use element::Element;
pub use fetch::RowBlocks;
#[doc(hidden)]
pub(crate) use fetch::announce_all;
pub use fetch::read_all;
pub use handle::Array;
pub use index::Index;
pub(crate) use index::taken;
pub(crate) use literal::Literal;
#[doc(hidden)]
pub use manifest::Manifest;
pub use mask::Mask;
#[doc(hidden)]
pub use npy::npy_header;
#[cfg(feature = "zlib")]
pub(crate) use npy::npy_header_len;
pub(crate) use npy::{Named, NamedKind, Partly};
pub(crate) use npy::{number_descr, numpy_datatype, numpy_descr, numpy_name};
#[doc(hidden)]
pub use pages::Pages;
pub use scalar::ElementValue;
#[cfg(test)]
use scalar::float_text;
pub(crate) use scalar::json_text;
#[doc(hidden)]
pub use scalar::{FloatText, Nested, Precision, complex_text};
pub(crate) use shape::unravel;
#[doc(hidden)]
pub use shape::{c_strides, element_count, extent};
pub(crate) use shape::{fortran_strides, stream_rows};
pub(crate) use structure::FIELD_COST;
pub use structure::{Field, StructType};
pub(crate) use text::{CP1252, Text, check_texts, cp1252_text, undeclared_text};
