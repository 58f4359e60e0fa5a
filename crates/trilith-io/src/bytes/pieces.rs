//! Bytes that are decoded from other bytes, piece by piece: which bytes of the file each needs, and in what form they are there.

use std::ops::Range;

use crate::error::{Error, Result};

/// The way in which the bytes of a [`Source`](super::Source) are decoded from those of their file.
///
/// A source that passes on the bytes of another one needs none, because
/// [`stored_ranges`](super::stored_ranges) and [`encoding`](super::encoding) follow [`Source::origin`](super::Source::origin).
pub trait PieceDecoding {
    /// Returns the ranges of the *file* that must be read to fill `range` of this source.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if finding out needs bytes that are broken.
    fn stored_ranges(&self, range: Range<u64>) -> Result<Vec<Range<u64>>>;

    /// Returns the ranges of the file that [`PieceDecoding::stored_ranges`] probably reads to find `range`, so that they can be announced for
    /// several sources together. It is a guess, and empty if nothing has to be read.
    ///
    /// # Errors
    /// Returns the errors of [`PieceDecoding::stored_ranges`].
    fn index(&self, range: Range<u64>) -> Result<Vec<Range<u64>>> {
        let _ = range;
        Ok(Vec::new())
    }

    /// Returns the number of bytes that are decoded together, if the source has it. All pieces that hold `range`
    /// begin at multiples of it and have that length, except the last of the source.
    ///
    /// # Errors
    /// Returns the errors of [`PieceDecoding::stored_ranges`].
    fn piece_len(&self, range: Range<u64>) -> Result<Option<u64>> {
        let _ = range;
        Ok(None)
    }

    /// Returns in what form the bytes are in the file, for programs that read it without this library. Lengths of pieces are
    /// read; nothing is decoded.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) if no other program could make them of
    /// the content of the file, with the reason, and the errors of [`PieceDecoding::stored_ranges`].
    fn encoding(&self) -> Result<SourceEncoding> {
        refuse_computed()
    }
}

/// The form in which the bytes of a [`Source`](super::Source) are in the file that they come from.
///
/// Codecs are named by the words of [`CodingStep`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceEncoding {
    /// Unencoded, one after the other, from this byte of the file on.
    Plain(u64),
    /// Stored in pieces, each of which decodes by itself.
    Coded {
        /// The encoding of each piece; None if it is stored unencoded.
        codec: Option<CodingStep>,
        /// The pieces, in the order of the bytes that they decode to.
        pieces: Vec<CodedPiece>,
    },
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
pub struct CodingStep {
    /// The word, such as `shuffle` or `deflate`.
    pub name: String,
    /// The numbers.
    pub arguments: Vec<u64>,
}

impl CodingStep {
    /// A step of this name.
    pub fn new(name: impl Into<String>, arguments: Vec<u64>) -> Self {
        Self { name: name.into(), arguments }
    }

    /// Reads the steps that a layout names: `shuffle(4) deflate`.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) for a string that is not such a list.
    #[doc(hidden)]
    pub fn parse_list(text: &str) -> Result<Vec<Self>> {
        let wrong = || Error::malformed(format!("{text:?} does not name filters: expected words as \"shuffle(4) deflate\""));
        let mut steps = Vec::new();
        let mut rest = text.trim();
        while !rest.is_empty() {
            let end = rest.find([' ', '(']).unwrap_or(rest.len());
            let (name, behind) = rest.split_at(end);
            let (arguments, behind) = match behind.strip_prefix('(') {
                Some(inside) => inside.split_once(')').ok_or_else(wrong)?,
                None => ("", behind),
            };
            let number = |word: &str| word.trim().parse().map_err(|_| wrong());
            let words = arguments.split(',').filter(|word| !word.trim().is_empty());
            steps.push(Self::new(name, words.map(number).collect::<Result<_>>()?));
            if name.is_empty() {
                return Err(wrong());
            }
            rest = behind.trim_start();
        }
        Ok(steps)
    }
}

/// Writes the step as a layout names it: `shuffle(4)`.
impl std::fmt::Display for CodingStep {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name)?;
        for (number, argument) in self.arguments.iter().enumerate() {
            write!(f, "{}{argument}", if number == 0 { '(' } else { ',' })?;
        }
        if self.arguments.is_empty() { Ok(()) } else { f.write_str(")") }
    }
}

/// Pieces of a source whose bytes no other program can find in a file, for this reason.
pub(crate) struct Opaque(pub &'static str);

impl PieceDecoding for Opaque {
    fn stored_ranges(&self, range: Range<u64>) -> Result<Vec<Range<u64>>> {
        Ok(vec![range])
    }

    fn encoding(&self) -> Result<SourceEncoding> {
        Err(Error::unsupported(self.0))
    }
}

/// Returns the error for a source that is computed from others.
#[cold]
pub(super) fn refuse_computed<T>() -> Result<T> {
    Err(Error::unsupported("its elements are computed from stored values"))
}
