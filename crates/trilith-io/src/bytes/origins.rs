//! Questions about a source whose answers are those of the sources that its bytes come from.

use std::ops::Range;

use super::backing::SourceBacking;
use super::pieces::{SourceEncoding, refuse_computed};
use super::source::{Source, SourceOrigin, shift_range};
use crate::error::{Error, Result};

/// Returns `true` if offsets do not map to file offsets, because the bytes are a part of the file, or were decompressed or
/// extracted. Writing at such an offset would spoil the file.
pub fn is_detached(source: &dyn Source) -> bool {
    match source.origin() {
        Some(SourceOrigin::Same(inner)) => is_detached(inner),
        origin => origin.is_some(),
    }
}

/// Returns the ranges of the file that must be read to fill a range of a source: the same range for uncompressed bytes, the
/// pieces that hold it for a compressed block.
///
/// # Errors
/// Returns the errors of [`PieceDecoding::stored_ranges`](super::PieceDecoding::stored_ranges).
pub fn stored_ranges(source: &dyn Source, range: Range<u64>) -> Result<Vec<Range<u64>>> {
    // A source with pieces may have to decode to find its origin.
    if let Some(pieces) = source.pieces() {
        return pieces.stored_ranges(range);
    }
    match source.origin() {
        Some(SourceOrigin::Same(inner)) => stored_ranges(inner, range),
        Some(SourceOrigin::Part(inner, start)) => stored_ranges(inner, shift_range(&range, start)),
        Some(SourceOrigin::Made(_)) | None => Ok(vec![range]),
    }
}

/// Returns the ranges of the file that [`stored_ranges`] probably reads to find a range of a source.
///
/// # Errors
/// Returns the errors of [`PieceDecoding::index`](super::PieceDecoding::index).
pub fn index_ranges(source: &dyn Source, range: Range<u64>) -> Result<Vec<Range<u64>>> {
    if let Some(pieces) = source.pieces() {
        return pieces.index(range);
    }
    match source.origin() {
        Some(SourceOrigin::Same(inner)) => index_ranges(inner, range),
        _ => Ok(Vec::new()),
    }
}

/// Returns the number of bytes of a source that are decoded together, if it has it for all pieces that hold `range`.
///
/// # Errors
/// Returns the errors of [`PieceDecoding::piece_len`](super::PieceDecoding::piece_len).
pub fn decode_unit_len(source: &dyn Source, range: Range<u64>) -> Result<Option<u64>> {
    source.pieces().map_or(Ok(None), |pieces| pieces.piece_len(range))
}

/// Returns in what form the bytes of a source are in the file, for programs that read it without this library.
///
/// # Errors
/// Returns the errors of [`PieceDecoding::encoding`](super::PieceDecoding::encoding).
pub fn encoding(source: &dyn Source) -> Result<SourceEncoding> {
    if let Some(pieces) = source.pieces() {
        return pieces.encoding();
    }
    match source.origin() {
        Some(SourceOrigin::Same(inner)) => encoding(inner),
        Some(SourceOrigin::Part(inner, start)) => match encoding(inner)? {
            SourceEncoding::Plain(at) => Ok(SourceEncoding::Plain(at.saturating_add(start))),
            SourceEncoding::Coded { .. } => Err(Error::unsupported("it is a part of data that is compressed as a whole")),
        },
        None if source.backing().is_some() => Ok(SourceEncoding::Plain(0)),
        Some(SourceOrigin::Made(_)) | None => refuse_computed(),
    }
}

/// Compares all bytes that a source is made of with the checksum that the file states for them, once. Code that writes them
/// under a new checksum calls this first, because a new checksum would vouch for damaged bytes.
///
/// # Errors
/// Returns the errors of [`SourceBacking::verify_checksum`].
pub fn verify_backing(source: &dyn Source) -> Result<()> {
    source.backing().map_or(Ok(()), SourceBacking::verify_checksum)
}
