//! Bytes between and after the HDUs of a file: filling, or more than that.

use super::fits_file::FitsFile;
use super::hdu::Hdu;
use super::header::BLOCK_LEN;
use crate::bytes::to_usize;
use crate::error::Result;

/// Bytes of the file that are read at once to see whether they are filling.
const BUFFER_SIZE: u64 = 1 << 20;

/// Returns `true` if only blanks follow END in the header of an HDU, or NULs, which some programs write instead.
///
/// # Errors
/// Returns the errors of [`Source::read_at`](crate::bytes::Source::read_at).
pub(super) fn is_blank_after_end(fits: &FitsFile, hdu: &Hdu) -> Result<bool> {
    let cards: u64 = hdu.header().cards().iter().map(|card| card.bytes().len() as u64).sum();
    let end = hdu.start() + cards + "END".len() as u64;
    Ok(is_padding(fits, end, hdu.data().start, b' ')? || has_nul_filling(fits, hdu)?)
}

/// Returns `true` if NULs and blanks follow END in the header of an HDU, where only blanks may be (FITS Standard 4.0, section 4.4.1).
pub(super) fn has_nul_filling(fits: &FitsFile, hdu: &Hdu) -> Result<bool> {
    let cards: u64 = hdu.header().cards().iter().map(|card| card.bytes().len() as u64).sum();
    let (start, end) = (hdu.start() + cards + "END".len() as u64, hdu.data().start.min(fits.source().len()));
    let mut filling = vec![0; to_usize(end.saturating_sub(start).min(BLOCK_LEN))?];
    fits.source().read_at(start, &mut filling)?;
    Ok(end.saturating_sub(start) <= BLOCK_LEN && filling.contains(&0) && filling.iter().all(|byte| matches!(byte, 0 | b' ')))
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
