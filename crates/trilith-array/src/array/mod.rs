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
mod grid;
mod handle;
mod index;
mod kept;
mod literal;
mod manifest;
mod mask;
mod meaning;
mod npy;
mod number;
mod pages;
mod program;
mod ragged;
mod scalar;
mod shape;
mod small;
mod stack;
mod structure;
#[cfg(test)]
mod tests;
mod text;
mod tiles;
mod turn;
#[cfg(feature = "ndarray")]
mod view;

#[doc(hidden)]
pub use applied::physical;
pub use datatype::{Byteorder, Datatype};
pub use element::Element;
#[doc(hidden)]
pub use element::Value;
pub use fetch::RowBlocks;
#[doc(hidden)]
pub use fetch::announce_all;
#[doc(hidden)]
pub use fetch::read_all;
#[doc(hidden)]
pub use grid::{ChunkedSource, Chunks, Cut, from_columns};
pub use handle::Array;
pub use index::Index;
#[doc(hidden)]
pub use index::{Taken, taken};
#[doc(hidden)]
pub use literal::Literal;
#[doc(hidden)]
pub use manifest::Manifest;
pub use mask::Mask;
#[doc(hidden)]
pub use meaning::{Declared, Meaning, Missing, Reading};
#[cfg(feature = "gzip")]
#[doc(hidden)]
pub use npy::npy_header_len;
#[doc(hidden)]
pub use npy::{Named, NamedKind, Partly, npy_header, number_descr, numpy_datatype, numpy_descr, numpy_name};
#[doc(hidden)]
pub use pages::Pages;
pub use ragged::Strings;
pub use scalar::ElementValue;
#[cfg(test)]
use scalar::float_text;
#[doc(hidden)]
pub use scalar::{FloatText, Nested, Precision, complex_text, json_text};
#[doc(hidden)]
pub use shape::{c_strides, element_count, extent, fortran_strides, stream_rows, unravel};
#[doc(hidden)]
pub use small::SmallFloat;
#[doc(hidden)]
pub use structure::FIELD_COST;
pub use structure::{Field, StructType};
#[doc(hidden)]
pub use text::{CP1252, Text, check_texts, cp1252_text, undeclared_text};
