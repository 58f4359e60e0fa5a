//! Arrays: what they are made of, how parts of them are taken, and how their elements come out.
//!
//! An [`Array`] is a source of bytes, an offset, a [`Datatype`], a [`Byteorder`], a shape, strides
//! and perhaps a [`Mask`]. It knows nothing of trees, blocks and codecs: a decoded block is a source
//! like any other.
//!
//! Elements leave an array in four ways: copied as numbers ([`Array::load`], [`Array::load_as`]),
//! copied as packed bytes ([`Array::read_bytes`]), borrowed ([`Array::view`]), or piece by piece as
//! canonical bytes ([`Array::for_each_piece`]), which is what digests are made of.

pub mod attribute;
mod block_rows;
mod chunk_cache;
mod chunk_grid;
mod chunking;
mod copy_program;
mod csv;
mod datatype;
mod element;
mod encode;
mod handle;
mod index;
mod large_buffer;
mod manifest;
mod mask;
mod npy;
mod numeric;
mod packed;
mod physical;
mod python_literal;
mod read;
mod scalar;
mod shape;
mod small_float;
mod stack;
mod strided_copy;
mod string_check;
mod struct_type;
#[cfg(test)]
mod tests;
mod tiles;
mod transpose;
mod value_decoding;
mod varlen_strings;
#[cfg(feature = "ndarray")]
mod view;

#[doc(hidden)]
pub use chunk_grid::{ChunkProvider, ChunkShape, ChunkedSource, from_columns};
pub use datatype::{Byteorder, Datatype};
pub use element::ArrayElement;
#[doc(hidden)]
pub use element::NumericValue;
pub use handle::Array;
pub use index::Index;
#[doc(hidden)]
pub use index::{AxisSelection, resolve_axes};
#[doc(hidden)]
pub use large_buffer::LargeBuffer;
#[doc(hidden)]
pub use manifest::Manifest;
pub use mask::Mask;
#[cfg(feature = "gzip")]
#[doc(hidden)]
pub use npy::npy_header_len;
#[doc(hidden)]
pub use npy::{
    PartialArray, UnsupportedDtype, UnsupportedKind, npy_header, number_descr, numpy_datatype, numpy_descr, numpy_name,
};
#[doc(hidden)]
pub use packed::PackedSource;
#[doc(hidden)]
pub use physical::physical;
#[doc(hidden)]
pub use python_literal::PyLiteral;
pub use read::RowBlocks;
#[doc(hidden)]
pub use read::announce_all;
#[doc(hidden)]
pub use read::read_all;
pub use scalar::ElementValue;
#[cfg(test)]
use scalar::float_text;
#[doc(hidden)]
pub use scalar::{FloatPrecision, FloatText, NestedEvent, complex_text, json_text};
#[doc(hidden)]
pub use shape::{c_strides, element_byte_range, element_count, fortran_strides, stream_rows, unravel};
#[doc(hidden)]
pub use small_float::SmallFloat;
#[doc(hidden)]
pub use string_check::{
    CP1252, StringEncoding, TextType, check_texts, cp1252_text, has_undecodable_text, undeclared_text, utf8_as_bytes,
};
#[doc(hidden)]
pub use struct_type::FIELD_COST;
pub use struct_type::{Field, StructType};
#[doc(hidden)]
pub use value_decoding::{DeclaredNumber, MissingRule, ValueDecoding, ValueTransform};
pub use varlen_strings::ArrayStrings;
