//! In what form bytes are in their file, for programs that read and decode them without this library.

use std::ops::Range;

use crate::error::{Error, Result};

/// In what form the bytes of a [`Source`](super::Source) are in the file that they come from.
///
/// Codecs are named by the words of [`Step`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Form {
    /// Unencoded, one after the other, from this byte of the file on.
    Plain(u64),
    /// In pieces, each of which decodes by itself.
    Coded {
        /// The encoding of each piece; None if it is stored unencoded.
        codec: Option<Step>,
        /// The pieces, in the order of the bytes that they decode to.
        pieces: Vec<CodedPiece>,
    },
    /// The elements of an array in a grid of chunks.
    Grid(Box<GridForm>),
}

/// A piece that decodes by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CodedPiece {
    /// Byte range in the file.
    pub stored: Range<u64>,
    /// Byte range after decoding.
    pub decoded: Range<u64>,
}

impl CodedPiece {
    /// A piece of the file that decodes to a range of the bytes.
    pub fn new(stored: Range<u64>, decoded: Range<u64>) -> Self {
        Self { stored, decoded }
    }
}

/// One step of coding: the name of a filter as a layout writes it, and the numbers in its parentheses. Besides the words
/// of layouts there is `lz4size`, a raw LZ4 block after the length that it decodes to in four bytes, the least
/// significant first.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Step {
    /// The word, such as `shuffle` or `deflate`.
    pub name: String,
    /// The numbers.
    pub arguments: Vec<u64>,
}

impl Step {
    /// A step of this name.
    pub fn new(name: impl Into<String>, arguments: Vec<u64>) -> Self {
        Self { name: name.into(), arguments }
    }
}

/// The layout of a grid of chunks in a file.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct GridForm {
    /// The lengths of the axes.
    pub shape: Vec<u64>,
    /// The lengths of a whole chunk.
    pub chunk: Vec<u64>,
    /// Bytes of an element.
    pub item: u64,
    /// `true` if the chunks at the far edges have only the elements that are in the array.
    pub cut_edges: bool,
    /// `true` if elements are in Fortran order within a chunk.
    pub columns: bool,
    /// The encoding steps of each chunk when it was written, in this order.
    pub steps: Vec<Step>,
    /// For each chunk the steps that it did not go through, as bits; empty if each went through all.
    pub left_out: Vec<u64>,
    /// The place of each chunk in the file, in row-major order; None if it was never written.
    pub places: Vec<Option<Range<u64>>>,
    /// The bytes of an element that was never written.
    pub fill: Vec<u8>,
}

/// Returns the error for a source that is computed from others.
#[cold]
pub(super) fn computed<T>() -> Result<T> {
    Err(Error::unsupported("its elements are computed from stored values"))
}
