//! Bytes between and after the HDUs of a file: filling, or more than that.

use super::fits_file::FitsFile;
use super::hdu::Hdu;
use crate::error::Result;

/// Bytes of the file that are read at once to see whether they are filling.
const BUFFER_SIZE: u64 = 1 << 20;

/// Returns `true` if only blanks follow END in the header of an HDU.
///
/// # Errors
/// Returns the errors of [`Source::read_at`](crate::bytes::Source::read_at).
pub(super) fn is_blank_after_end(fits: &FitsFile, hdu: &Hdu) -> Result<bool> {
    let cards: u64 = hdu.header().cards().iter().map(|card| card.bytes().len() as u64).sum();
    is_padding(fits, hdu.start() + cards + "END".len() as u64, hdu.data().start, b' ')
}

/// Returns `true` if the bytes of a range, as far as they are in the file, are all `blank`.
pub(super) fn is_padding(fits: &FitsFile, from: u64, to: u64, blank: u8) -> Result<bool> {
    let (mut at, to) = (from, to.min(fits.source().len()));
    let mut piece = Vec::new();
    while at < to {
        piece.resize((to - at).min(BUFFER_SIZE) as usize, 0);
        fits.source().read_at(at, &mut piece)?;
        if piece.iter().any(|byte| *byte != blank) {
            return Ok(false);
        }
        at += piece.len() as u64;
    }
    Ok(true)
}
